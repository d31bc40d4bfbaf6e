/* The application on each port: its script, what it is told, and the rules on what it may be told. */
#include "explore.h"

#include <string.h>

const char *const fcvi_explore_op_names[] = {"end",
                                             "VipConnectWait",
                                             "VipConnectAccept",
                                             "VipConnectReject",
                                             "VipConnectRequest",
                                             "VipConnectPeerRequest",
                                             "VipPostSend (Send)",
                                             "VipPostSend (RDMA Write)",
                                             "VipPostSend (RDMA Read)",
                                             "VipPostRecv",
                                             "VipDisconnect",
                                             "VipDisconnect",
                                             "VipDisconnect"};

static struct fcvi_address address(unsigned port)
{
    return (struct fcvi_address){.host = {0xfe, 0x80, [15] = (uint8_t)(0xa1 + port)},
                                 .discriminator_length = 16,
                                 .discriminator = {0xdd}};
}

/* ---- Messages ----
 * Memory, in slots: two that are sent from or read into, in turn; what RDMA of the other side reaches; two to
 * receive into, in turn. */

enum { SLOT_SEND, SLOT_TARGET = 2, SLOT_RECEIVE = 3, SLOTS = 2 };

/* Byte i of Message `number` (1 to 7), and of what lies in the target before anybody writes there (number 0).
 */
static uint8_t byte_of(unsigned number, uint32_t i)
{
    return (uint8_t)(number * 32 + i * 3);
}

static uint32_t message_length(const struct system *s)
{
    return !s->scenario->small_frames ? 20 : s->scenario->streams ? 150 : 300;
}

/* op: OP_END posts a receive Descriptor. The cookie is the number of the Descriptor in its queue. */
bool fcvi_explore_app_post(const struct system *s, uint8_t *block, unsigned port, enum op op)
{
    static struct fcvi_descriptor d;
    struct world *w = world_of(block);
    struct fcvi_port *p = port_of(s, block, port);
    struct app *a = &w->app[port];
    bool recv = op == OP_END;
    unsigned number = ++a->posted[recv];
    memset(&d, 0, offsetof(struct fcvi_descriptor, segment));
    d.op = (uint8_t)(recv             ? FCVI_RECV
                     : op == OP_WRITE ? FCVI_RDMA_WRITE
                     : op == OP_READ  ? FCVI_RDMA_READ
                                      : FCVI_SEND);
    d.segments = 1;
    d.cookie = number;
    d.remote_va = s->va[!port] + (uint64_t)SLOT_TARGET * SLOT;
    d.remote_handle = s->handle[!port];
    if (op == OP_SEND)
        a->sends |= (uint8_t)(1u << number);
    uint32_t slot = (recv ? SLOT_RECEIVE : SLOT_SEND) + number % SLOTS;
    uint32_t length = recv ? SLOT : message_length(s);
    d.segment[0] = (struct fcvi_segment){s->mem[port], slot * SLOT, length};
    uint8_t *bytes = fcvi_port_memory(p, s->mem[port], slot * SLOT, length);
    for (uint32_t i = 0; !recv && op != OP_READ && i < length; i++)
        bytes[i] = byte_of(number, i);
    return fcvi_vip_post(p, w->now, s->vi[port], &d) == VIP_SUCCESS;
}

void fcvi_explore_app_target(const struct system *s, uint8_t *block, unsigned port)
{
    uint8_t *bytes = fcvi_port_memory(port_of(s, block, port), s->mem[port], SLOT_TARGET * SLOT, SLOT);
    for (uint32_t i = 0; i < SLOT; i++)
        bytes[i] = byte_of(0, i);
}

/* Messages arrive once and in the order in which they were sent; on a reliable Connection none is passed over
 * (VI-ARCH 2.5). */
static void received(const struct system *s, uint8_t *block, unsigned port, const struct fcvi_completion *c,
                     struct breach *b)
{
    struct app *a = &world_of(block)->app[port];
    uint32_t offset = (uint32_t)(SLOT_RECEIVE + c->cookie % SLOTS) * SLOT, length = message_length(s);
    const uint8_t *bytes = fcvi_port_memory(port_of(s, block, port), s->mem[port], offset, length);
    unsigned number = bytes[0] / 32;
    if (c->length != length)
        fcvi_explore_breach(b, "data", "a Message of %u bytes completes with %u", length, c->length);
    for (uint32_t i = 0; i < length; i++)
        if (bytes[i] != byte_of(number, i)) {
            fcvi_explore_breach(b, "data", "byte %u of Message %u is %02x when received", i, number,
                                bytes[i]);
            return;
        }
    unsigned sends = world_of(block)->app[!port].sends;
    bool passed_over = (sends & ((1u << number) - 1) & ~((2u << a->arrived) - 1)) != 0;
    if (number <= a->arrived || (passed_over && s->scenario->level != FCVI_UNRELIABLE))
        fcvi_explore_breach(b, "message-order", "Message %u is received after %u", number, a->arrived);
    if ((sends & 1u << number) == 0)
        fcvi_explore_breach(b, "data", "Message %u is received and was never sent", number);
    a->arrived = (uint8_t)number;
}

/* What a send Descriptor that completes well says of the memory on either side. */
static void sent(const struct system *s, uint8_t *block, unsigned port, const struct fcvi_completion *c,
                 struct breach *b)
{
    struct world *w = world_of(block);
    uint32_t op = c->status & FCVI_STATUS_OP_RDMA_READ, length = message_length(s);
    unsigned number = (unsigned)c->cookie;
    bool arrives = s->scenario->level == FCVI_RELIABLE_RECEPTION,
         write = (c->status & 7u << 16) == FCVI_STATUS_OP_RDMA_WRITE;
    if (!w->past[port].own_confirmed && !w->past[port].other_confirmed)
        fcvi_explore_breach(b, "half-open", "a send Descriptor completes well before the Connection exists");
    if (!s->scenario->streams && w->past[port].own_confirmed && !w->past[port].resp3_seen)
        fcvi_explore_breach(b, "half-open",
                            "a send Descriptor completes well before FCVI_CONNECT_RESP3 (C.5.1)");
    if (op == 0 && !write && arrives && w->app[!port].arrived < number)
        fcvi_explore_breach(b, "reliability", "Message %u completes well and was not received (7.3)", number);
    const uint8_t *here =
        fcvi_port_memory(port_of(s, block, port), s->mem[port], (SLOT_SEND + number % SLOTS) * SLOT, length);
    const uint8_t *there =
        fcvi_port_memory(port_of(s, block, !port), s->mem[!port], SLOT_TARGET * SLOT, length);
    for (uint32_t i = 0; i < length; i++) {
        if (op != 0 && here[i] != byte_of(0, i))
            fcvi_explore_breach(b, "data", "byte %u of an RDMA Read is %02x", i, here[i]);
        if (write && arrives && there[i] != byte_of(number, i))
            fcvi_explore_breach(b, "reliability",
                                "byte %u of an RDMA Write that completes well is %02x there", i, there[i]);
    }
}

static void completed(const struct system *s, uint8_t *block, unsigned port, const struct fcvi_event *e,
                      struct breach *b)
{
    struct world *w = world_of(block);
    struct app *a = &w->app[port];
    const struct fcvi_completion *c = &e->completion;
    struct fcvi_completion out;
    if (c->cookie != (uint64_t)a->done[e->recv] + 1)
        fcvi_explore_breach(b, "completion-order", "Descriptor %u of the %s queue completes after %u",
                            (unsigned)c->cookie, e->recv ? "receive" : "send", a->done[e->recv]);
    a->done[e->recv]++;
    fcvi_vip_done(port_of(s, block, port), w->now, s->vi[port], e->recv, &out);
    if (out.cookie != c->cookie || out.status != c->status)
        fcvi_explore_breach(b, "completion-order", "the completion told is not the one in the queue");
    if ((c->status & FCVI_STATUS_ERROR_MASK) != 0)
        return;
    a->good[e->recv]++;
    if (e->recv)
        received(s, block, port, c, b);
    else
        sent(s, block, port, c, b);
}

/* ---- calls ---- */

static void set_up(struct app *a, int vip)
{
    a->offered = false;
    a->set_up = true;
    a->joined = vip == VIP_SUCCESS;
}

static void returned(struct app *a, enum token token, int vip, struct breach *b)
{
    if ((a->pending & 1u << token) == 0)
        fcvi_explore_breach(b, "call-returns-once", "a call that is not pending returns %s",
                            fcvi_vip_name(vip));
    a->pending &= (uint8_t) ~(1u << token);
    a->result[token] = (uint8_t)vip;
    if (token == TOKEN_WAIT && vip == VIP_SUCCESS)
        a->offered = true;
    else if (token == TOKEN_WAIT)
        set_up(a, vip);
    if (token == TOKEN_ACCEPT || token == TOKEN_REQUEST || token == TOKEN_PEER)
        set_up(a, vip);
}

static void told(const struct system *s, uint8_t *block, unsigned port, const struct fcvi_event *e,
                 struct breach *b)
{
    struct app *a = &world_of(block)->app[port];
    switch (e->kind) {
    case FCVI_EVENT_CALL:
        if (e->token == TOKEN_WAIT)
            a->conn = e->conn;
        returned(a, (enum token)e->token, e->vip, b);
        break;
    case FCVI_EVENT_COMPLETION:
        completed(s, block, port, e, b);
        break;
    case FCVI_EVENT_ERROR:
        if (e->vip == VIP_ERROR_CONN_LOST)
            a->lost = true;
        break;
    default:
        a->state = e->state;
        break;
    }
}

void fcvi_explore_app_events(const struct system *s, uint8_t *block, unsigned port, struct breach *b)
{
    struct fcvi_event e;
    while (fcvi_port_event(port_of(s, block, port), &e)) {
        fcvi_explore_trace_event(s, world_of(block)->now, port, &e);
        told(s, block, port, &e, b);
    }
}

/* A further setup, as far as the application goes. */
static void begin(struct world *w, unsigned port)
{
    struct app *a = &w->app[port];
    w->past[port] = (struct past){0};
    a->set_up = a->joined = a->lost = a->let_go = false;
    a->clean_ups = 0;
}

/* A call was made; what did not return at once is pending. */
static void called(struct app *a, enum token token, int vip, struct breach *b)
{
    if ((a->pending & 1u << token) != 0 && vip == FCVI_VIP_PENDING)
        fcvi_explore_breach(b, "call-returns-once",
                            "a second call is taken while the first has not returned");
    a->pending |= (uint8_t)(1u << token);
    if (vip != FCVI_VIP_PENDING)
        returned(a, token, vip, b);
}

static int peer_request(const struct system *s, struct fcvi_port *p, uint64_t now, unsigned port)
{
    struct fcvi_address here = address(port), there = address(!port);
    struct fcvi_attributes out;
    int vip = fcvi_vip_connect_peer_request(p, now, s->vi[port], &here, &there, s->scenario->timeout);
    if (vip != VIP_SUCCESS)
        return vip;
    return fcvi_vip_connect_peer_wait(p, now, s->vi[port], TOKEN_PEER, &out);
}

static void disconnect(const struct system *s, uint8_t *block, unsigned port, struct breach *b)
{
    struct world *w = world_of(block);
    struct app *a = &w->app[port];
    a->let_go = true;
    called(a, TOKEN_DISCONNECT,
           fcvi_vip_disconnect(port_of(s, block, port), w->now, s->vi[port], TOKEN_DISCONNECT), b);
}

/* Steps that could not be done are left behind. */
static void take_step(const struct system *s, struct app *a, unsigned port, enum op op)
{
    while (a->step < STEPS && s->scenario->script[port][a->step++] != op)
        ;
}

void fcvi_explore_app_call(const struct system *s, uint8_t *block, unsigned port, enum op op,
                           struct breach *b)
{
    struct world *w = world_of(block);
    struct app *a = &w->app[port];
    struct fcvi_port *p = port_of(s, block, port);
    struct fcvi_address here = address(port), there = address(!port);
    uint64_t timeout = s->scenario->timeout;
    if (op == OP_CLEAN_UP)
        a->clean_ups++;
    else
        take_step(s, a, port, op);
    switch (op) {
    case OP_WAIT:
        begin(w, port);
        called(a, TOKEN_WAIT, fcvi_vip_connect_wait(p, w->now, &here, timeout, TOKEN_WAIT), b);
        break;
    case OP_ACCEPT:
        a->offered = false;
        called(a, TOKEN_ACCEPT, fcvi_vip_connect_accept(p, w->now, a->conn, s->vi[port], TOKEN_ACCEPT), b);
        break;
    case OP_REJECT:
        fcvi_vip_connect_reject(p, w->now, a->conn);
        set_up(a, VIP_REJECT);
        break;
    case OP_REQUEST:
        begin(w, port);
        called(a, TOKEN_REQUEST,
               fcvi_vip_connect_request(p, w->now, s->vi[port], &here, &there, timeout, TOKEN_REQUEST), b);
        break;
    case OP_PEER:
        begin(w, port);
        called(a, TOKEN_PEER, peer_request(s, p, w->now, port), b);
        break;
    case OP_SEND:
    case OP_WRITE:
    case OP_READ:
        fcvi_explore_app_post(s, block, port, op);
        break;
    case OP_RECEIVE:
        fcvi_explore_app_post(s, block, port, OP_END);
        break;
    default:
        disconnect(s, block, port, b);
        break;
    }
}

/* ---- what it does next ---- */

enum readiness { NOW, LATER, NEVER };

static enum readiness ready(const struct app *a, enum op op)
{
    switch (op) {
    case OP_ACCEPT:
    case OP_REJECT:
        return a->offered ? NOW : (a->pending & 1u << TOKEN_WAIT) != 0 ? LATER : NEVER;
    case OP_WAIT:
    case OP_REQUEST:
    case OP_PEER:
        return a->pending == 0 && a->state == FCVI_STATE_IDLE ? NOW : LATER;
    case OP_SEND:
    case OP_WRITE:
    case OP_READ:
    case OP_RECEIVE:
        if (a->joined && a->state == FCVI_STATE_CONNECTED)
            return NOW;
        return a->set_up ? NEVER : LATER;
    case OP_LEAVE:
        return !a->set_up ? LATER : a->state == FCVI_STATE_IDLE ? NEVER : NOW;
    case OP_INTERRUPT:
        return NOW;
    default:
        return NEVER;
    }
}

/* OP_END: nothing that it could do now. A step that can never be done is passed over. */
enum op fcvi_explore_app_next(const struct system *s, const struct world *w, unsigned port)
{
    const struct app *a = &w->app[port];
    for (unsigned step = a->step; step < STEPS && s->scenario->script[port][step] != OP_END; step++) {
        enum op op = (enum op)s->scenario->script[port][step];
        enum readiness r = ready(a, op);
        if (r == NOW)
            return op;
        if (r == LATER)
            break;
    }
    bool idle = a->pending == 0 && a->state == FCVI_STATE_ERROR;
    return idle && a->clean_ups == 0 ? OP_CLEAN_UP : OP_END;
}
