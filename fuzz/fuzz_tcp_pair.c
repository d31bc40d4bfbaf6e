/* Two reference ports of VI/TCP on TCP connections that cut, hold back, refuse and reset: the input is a
 * program of VIPL calls on both, bytes that come to their ends, losses of connections and time.
 *
 * Demands: every PDU that a port sends is clean; Endpoints change their states as they may; Descriptors
 * complete once each and in order; one that completes well at the receiver has the bytes that were sent, and
 * none before it is missing on a reliable Connection; everybody disconnects, and no stream and no timer is
 * left. When the program has done nothing that a Connection could end by, none does, and every Descriptor
 * that was posted to send completes. A program may also change a byte under way. Then it is a hostile peer
 * that speaks: a port still completes and ends everything, but what the data are and what it answers is no
 * longer asked. */
#include "application.h"
#include <fcvi/pdu.h>
#include <fcvi/vitcp.h>

const char fcvi_fuzz_allocates = 1;

enum { LINKS = 8, POINTS = 3, MS = 1000, FIFO = 2 * FCVI_STREAM_WINDOW, MOST_STEPS = 250, SETTINGS = 256 };

static const struct fcvi_port_limits port_limits = {.vis = VIS,
                                                    .connectionpoints = POINTS,
                                                    .exchanges = 1,
                                                    .regions = 2,
                                                    .descriptors = 4,
                                                    .events = 128,
                                                    .memory = REGION,
                                                    .max_transfer_size = 2048,
                                                    .streams = 6,
                                                    .stream_reads = 2};

/* One direction of a TCP connection. What the port has sent is looked at as soon as it is a whole PDU. */
struct way {
    size_t first, count; /* in the FIFO: under way */
    size_t gathered;     /* in the PDU that is being sent */
    bool fin, told;      /* the port has ended its sending side; the other port knows */
};

/* One TCP connection. A stream that its port has forgotten is NO_STREAM. */
struct link {
    bool used;
    uint32_t stream[PORTS];
    struct way way[PORTS]; /* from each port */
};

/* The requests that a port has handed out. */
struct asked {
    uint32_t conn[MOST_STEPS + 2], count;
};

struct pair {
    struct side side[PORTS];
    struct asked asked[PORTS];
    struct link link[LINKS];
    struct program program;
    uint64_t now;
    uint16_t next_port;
    bool refuse, hostile, credits;
    bool tame;    /* the program does nothing of that: */
    bool spoiled; /* something was done that a Connection may end by, or wait for */
};

enum { NO_STREAM = UINT32_MAX };

static uint8_t fifo[LINKS][PORTS][FIFO], sent[LINKS][PORTS][UINT16_MAX];

static void host_of(uint8_t out[16], unsigned i)
{
    memset(out, 0, 16);
    out[10] = out[11] = 0xff;
    out[12] = 10;
    out[15] = (uint8_t)(1 + i);
}

static struct fcvi_port_config port_config(unsigned i, uint8_t setting)
{
    struct fcvi_port_config c = {.wire = FCVI_WIRE_VITCP,
                                 .self = {.hosts = 1},
                                 .seed = 7 + i,
                                 .vitcp = {.flow_control = (setting & 1) || (i == 0 && (setting & 2)),
                                           .segment_size = setting >> (2 + i) & 1 ? 128 : 0}};
    host_of(c.self.host[0], i);
    if (setting >> 4 & 1)
        c.vitcp.incoming_timeout_us = c.vitcp.linger_us = 5 * MS;
    return c;
}

/* ---- what the ports send ---- */

static void look(struct pair *p, unsigned which, unsigned from, const uint8_t *bytes, size_t count)
{
    struct way *w = &p->link[which].way[from];
    for (; count > 0 && !p->hostile; bytes++, count--) {
        struct fcvi_finding list[4];
        struct fcvi_findings findings = {list, 4, 0, 0};
        struct fcvi_pdu pdu;
        sent[which][from][w->gathered++] = *bytes;
        if (w->gathered < 4 || w->gathered < fcvi_load(sent[which][from] + 2, 2))
            continue;
        enum fcvi_stream_step step =
            fcvi_pdu_first(fcvi_profile_t0(), sent[which][from], w->gathered, &pdu, &findings);
        if (findings.worst > 1 + FCVI_NOTICE)
            fprintf(stderr, "%s: %s\n", list[0].requirement, list[0].message);
        DEMAND(step == FCVI_STREAM_PDU && findings.worst <= 1 + FCVI_NOTICE);
        w->gathered = 0;
    }
}

static struct link *link_of(struct pair *p, unsigned side, uint32_t stream)
{
    for (unsigned i = 0; i < LINKS; i++)
        if (p->link[i].used && p->link[i].stream[side] == stream)
            return &p->link[i];
    return NULL;
}

/* A port forgets a stream when both directions have ended, and the connection is over when both ports have.
 */
static void forget(struct link *l)
{
    for (unsigned i = 0; i < PORTS; i++)
        if (l->way[i].fin && l->way[!i].told)
            l->stream[i] = NO_STREAM;
    l->used = l->stream[0] != NO_STREAM || l->stream[1] != NO_STREAM;
}

static void open_link(struct pair *p, unsigned from, const struct fcvi_stream_out *what)
{
    struct fcvi_endpoint caller = what->local, called = what->remote;
    uint32_t stream;
    unsigned free = 0;
    while (free < LINKS && p->link[free].used)
        free++;
    caller.port = (uint16_t)(1024 + p->next_port++);
    called.port = 1;
    if (free == LINKS || p->refuse ||
        !fcvi_stream_incoming(p->side[!from].port, p->now, &caller, &called, &stream)) {
        p->refuse = false;
        fcvi_stream_opened(p->side[from].port, p->now, what->stream, false, NULL);
        return;
    }
    struct link *l = &p->link[free];
    *l = (struct link){.used = true};
    l->stream[from] = what->stream;
    l->stream[!from] = stream;
    fcvi_stream_opened(p->side[from].port, p->now, what->stream, true, &caller);
}

/* The connection is gone: the ports learn it, but for one that has said so itself. */
static void reset(struct pair *p, struct link *l, unsigned by)
{
    l->used = false;
    for (unsigned i = 0; i < PORTS; i++)
        if (i != by && l->stream[i] != NO_STREAM)
            fcvi_stream_closed(p->side[i].port, p->now, l->stream[i], FCVI_CLOSE_RESET);
}

static void send_bytes(struct pair *p, struct link *l, unsigned from, const uint8_t *bytes, size_t count)
{
    unsigned which = (unsigned)(l - p->link);
    struct way *w = &l->way[from];
    DEMAND(!w->fin);
    look(p, which, from, bytes, count);
    if (l->stream[!from] == NO_STREAM)
        return; /* nobody takes it */
    DEMAND(w->count + count <= FCVI_STREAM_WINDOW);
    for (size_t i = 0; i < count; i++)
        fifo[which][from][(w->first + w->count + i) % FIFO] = bytes[i];
    w->count += count;
}

static bool act(struct pair *p, unsigned from, size_t capacity)
{
    static uint8_t out[FCVI_STREAM_WINDOW];
    struct fcvi_stream_out what;
    size_t count = fcvi_stream_transmit(p->side[from].port, p->now, out, capacity, &what);
    DEMAND((what.kind == FCVI_STREAM_DATA) == (count > 0) && count <= capacity);
    if (what.kind == FCVI_STREAM_NONE)
        return false;
    if (what.kind == FCVI_STREAM_OPEN) {
        open_link(p, from, &what);
        return true;
    }
    struct link *l = link_of(p, from, what.stream);
    DEMAND(l != NULL);
    if (what.kind == FCVI_STREAM_DATA)
        send_bytes(p, l, from, out, count);
    if (what.kind == FCVI_STREAM_RESET)
        reset(p, l, from);
    if (what.kind == FCVI_STREAM_FIN) {
        DEMAND(!l->way[from].fin);
        l->way[from].fin = true;
        forget(l);
    }
    return true;
}

/* ---- what the ports say to their applications ---- */

static void on_event(struct pair *p, unsigned port, const struct fcvi_event *e)
{
    struct side *s = &p->side[port];
    struct asked *asked = &p->asked[port];
    if (e->kind == FCVI_EVENT_CALL && e->token == 1 && e->vip == VIP_SUCCESS)
        s->conn = asked->conn[asked->count++ % (MOST_STEPS + 2)] = e->conn;
    if (e->kind == FCVI_EVENT_STATE) {
        if (e->state == FCVI_STATE_CONNECTED && s->state[e->vi] == FCVI_STATE_IDLE)
            s->state[e->vi] = FCVI_STATE_PENDING_CONNECT; /* an accept connects at once (4.3) */
        demand_state(s, e);
    }
    DEMAND(e->kind != FCVI_EVENT_ERROR || p->spoiled);
    if (e->kind != FCVI_EVENT_COMPLETION)
        return;
    s->sending[e->vi] -= !e->recv;
    demand_next(&s->next[e->vi][e->recv], e->completion.cookie);
    if ((e->completion.status & FCVI_STATUS_ERROR_MASK) == 0 && e->recv && !p->hostile)
        demand_received(s, e);
}

static void settle(struct pair *p, size_t capacity)
{
    struct fcvi_event e;
    while (act(p, 0, capacity) || act(p, 1, capacity))
        continue;
    for (unsigned i = 0; i < PORTS; i++)
        while (fcvi_port_event(p->side[i].port, &e))
            on_event(p, i, &e);
}

/* ---- bytes and time ---- */

/* Bytes that are under way come to their end, in a block of their length; behind the last of them the end. */
static bool arrive(struct pair *p, unsigned which, unsigned from, size_t most)
{
    struct link *l = &p->link[which];
    struct way *w = &l->way[from];
    uint32_t stream = l->stream[!from];
    if (!l->used || stream == NO_STREAM || (w->count == 0 && (!w->fin || w->told)))
        return false;
    size_t count = w->count < most ? w->count : most;
    if (count == 0) {
        w->told = true;
        fcvi_stream_closed(p->side[!from].port, p->now, stream, FCVI_CLOSE_FIN);
        forget(l);
        return true;
    }
    uint8_t *piece = malloc(count);
    DEMAND(piece != NULL);
    for (size_t i = 0; i < count; i++)
        piece[i] = fifo[which][from][(w->first + i) % FIFO];
    w->first = (w->first + count) % FIFO;
    w->count -= count;
    fcvi_stream_receive(p->side[!from].port, p->now, stream, piece, count);
    free(piece);
    if (l->used && l->stream[from] != NO_STREAM)
        fcvi_stream_window(p->side[from].port, p->now, l->stream[from], (int64_t)count);
    return true;
}

static void flow(struct pair *p, size_t piece)
{
    bool moved = true;
    while (moved) {
        moved = false;
        settle(p, piece);
        for (unsigned i = 0; i < LINKS * PORTS; i++)
            moved |= arrive(p, i / PORTS, i % PORTS, piece);
    }
    settle(p, piece);
}

static void pass(struct pair *p, uint64_t us, size_t piece)
{
    uint64_t end = p->now + us;
    for (;;) {
        flow(p, piece);
        uint64_t first = fcvi_port_deadline(p->side[0].port), other = fcvi_port_deadline(p->side[1].port);
        first = first < other ? first : other;
        if (first > end)
            break;
        p->now = first > p->now ? first : p->now;
        for (unsigned i = 0; i < PORTS; i++)
            fcvi_port_run(p->side[i].port, p->now);
    }
    p->now = end;
}

/* ---- what the program does ---- */

static struct fcvi_address address(unsigned i)
{
    struct fcvi_address a = {.discriminator_length = 16};
    host_of(a.host, i);
    return a;
}

static bool post(struct pair *p, struct side *s, uint32_t vi, uint8_t how, uint8_t length)
{
    return side_post(p->side, p->now, s, vi, how, length);
}

static void meanwhile(struct pair *p, struct side *s, uint32_t vi)
{
    flow(p, FCVI_STREAM_WINDOW);
    p->spoiled |= !post(p, s, vi, FCVI_RECV, 0);
}

/* Messages one after the other, each with its number, and a Descriptor to receive each that takes one. With
 * Descriptor Flow Control the Descriptor may come later than the Message is posted (3.2). */
static void exchange(struct pair *p, struct side *s, uint32_t vi)
{
    static const uint8_t ops[] = {FCVI_SEND, FCVI_RDMA_WRITE, FCVI_RDMA_READ, FCVI_SEND};
    /* half of what fills one or two segments of 128 bytes, and a little more and less */
    static const uint8_t edges[] = {52, 44, 104, 88, 51, 53, 43, 45};
    struct side *other = &p->side[s == &p->side[0]];
    uint8_t how = next_byte(&p->program), length = next_byte(&p->program);
    if (how >> 6 & 1)
        length = edges[length % sizeof edges];
    uint8_t op = vi < VIS && s->reliable[vi] ? ops[how & 3] : FCVI_SEND;
    uint8_t bits = IMMEDIATE | op | (how >> 4 & FENCE);
    bool late = p->credits && (how >> 5 & 1);
    for (unsigned i = 0; i <= (how >> 2 & 3u); i++)
        if (op == FCVI_RDMA_READ)
            post(p, s, vi, op, length);
        else if (late && post(p, s, vi, bits, length))
            meanwhile(p, other, vi);
        else if (!late && post(p, other, vi, FCVI_RECV, 0))
            post(p, s, vi, bits, length);
}

static struct fcvi_attributes attributes(uint8_t how)
{
    struct fcvi_attributes a = {
        .reliability = (uint8_t)(1 + how % 3), .max_transfer_size = 2048, .rdma_write = how >> 2 & 1};
    a.rdma_read = a.reliability > 1 && (how >> 3 & 1);
    return a;
}

static void call(struct pair *p, struct side *s)
{
    unsigned own = (unsigned)(s - p->side);
    struct fcvi_address here = address(own), there = address(!own);
    struct fcvi_attributes a;
    struct fcvi_completion c;
    uint8_t how = next_byte(&p->program);
    uint32_t vi = how >> 4 & 3;
    enum { DONE = 8, EXCHANGE = 10 };
    unsigned what = p->tame ? EXCHANGE : how % 16;
    p->spoiled |= what != EXCHANGE && what != DONE;
    switch (what) {
    case 0:
        a = attributes(next_byte(&p->program));
        side_create_vi(s, p->now, &a);
        break;
    case 1:
        fcvi_vip_connect_wait(s->port, p->now, &here, next_byte(&p->program) * MS + 1, 1);
        break;
    case 2:
        fcvi_vip_connect_request(s->port, p->now, vi, &here, &there, next_byte(&p->program) * MS, 2);
        break;
    case 3:
        fcvi_vip_connect_accept(s->port, p->now, s->conn, vi, 3);
        break;
    case 4:
        fcvi_vip_connect_reject(s->port, p->now, s->conn);
        break;
    case 5:
        fcvi_vip_disconnect(s->port, p->now, vi, 4);
        break;
    case 6:
        fcvi_vip_connect_peer_request(s->port, p->now, vi, &here, &there, 1 + next_byte(&p->program) * MS);
        break;
    case 7:
        fcvi_vip_connect_peer_done(s->port, p->now, vi, &a);
        break;
    case DONE:
        fcvi_vip_done(s->port, p->now, vi, how >> 6 & 1, &c);
        break;
    case 9:
        if (fcvi_vip_destroy_vi(s->port, p->now, vi) == VIP_SUCCESS)
            s->state[vi] = FCVI_STATE_IDLE;
        break;
    case EXCHANGE:
        exchange(p, s, vi);
        break;
    default: {
        uint8_t bits = next_byte(&p->program);
        post(p, s, vi, bits, next_byte(&p->program));
        break;
    }
    }
}

/* Two VIs of the same number are connected, which the rest of the program can then use. */
static void meet(struct pair *p, size_t piece)
{
    uint8_t how = next_byte(&p->program);
    uint32_t vi = how % VIS;
    unsigned client = how >> 2 & 1;
    struct side *c = &p->side[client], *s = &p->side[!client];
    struct fcvi_address here = address(client), there = address(!client);
    fcvi_vip_connect_wait(s->port, p->now, &there, 50 * MS, 1);
    fcvi_vip_connect_request(c->port, p->now, vi, &here, &there, 400 * MS, 2);
    s->conn = UINT32_MAX;
    flow(p, piece);
    fcvi_vip_connect_accept(s->port, p->now, s->conn, vi, 3);
    flow(p, piece);
}

static void disturb(struct pair *p, uint8_t what)
{
    uint8_t where = next_byte(&p->program);
    unsigned which = where % LINKS, from = where >> 3 & 1;
    p->spoiled = true;
    struct link *l = &p->link[which];
    struct way *w = &l->way[from];
    if (what < 4)
        p->refuse = true;
    else if (what < 10 && l->used)
        reset(p, l, PORTS);
    else if (what >= 10 && l->used && w->count > 0) {
        p->hostile = true;
        size_t at = (w->first + (next_byte(&p->program) | (where >> 4) << 8) % w->count) % FIFO;
        fifo[which][from][at] ^= next_byte(&p->program) | 1;
    }
}

static void step(struct pair *p)
{
    uint8_t what = next_byte(&p->program);
    if (what < 32) {
        pass(p, (uint64_t)what * what * 100, 1 + (size_t)next_byte(&p->program) * 8);
    } else if (what < 64) {
        uint8_t where = next_byte(&p->program);
        settle(p, FCVI_STREAM_WINDOW);
        arrive(p, where % LINKS, where >> 3 & 1, 1 + (where >> 4) + (what & 31u) * 8);
        settle(p, FCVI_STREAM_WINDOW);
    } else if (what < 76 && !p->tame) {
        disturb(p, what - 64);
    } else if (what < 88) {
        meet(p, 1 + what % 4 * 200u);
    } else {
        call(p, &p->side[what & 1]);
        settle(p, FCVI_STREAM_WINDOW);
    }
}

/* Nothing stood in the way of the Messages. */
static void demand_done(struct pair *p)
{
    pass(p, 1000 * MS, 4000);
    for (unsigned i = 0; i < PORTS; i++)
        for (uint32_t vi = 0; vi < VIS; vi++)
            DEMAND(p->side[i].sending[vi] == 0);
}

/* Everybody disconnects, the requests that nobody has answered are refused, and everything comes to its end.
 */
static void end(struct pair *p)
{
    if (!p->spoiled)
        demand_done(p);
    p->spoiled = true;
    for (unsigned i = 0; i < PORTS; i++) {
        struct side *s = &p->side[i];
        for (uint32_t vi = 0; vi < VIS; vi++)
            fcvi_vip_disconnect(s->port, p->now, vi, 5);
    }
    pass(p, 60000 * MS, 4000);
    for (unsigned i = 0; i < PORTS; i++)
        for (uint32_t k = 0; k < p->asked[i].count; k++)
            fcvi_vip_connect_reject(p->side[i].port, p->now, p->asked[i].conn[k]);
    pass(p, 60000 * MS, 4000);
    for (unsigned i = 0; i < PORTS; i++) {
        struct fcvi_port_counts c;
        demand_quiet(p->side[i].port);
        fcvi_port_count(p->side[i].port, &c);
        DEMAND(c.events_lost == 0);
        DEMAND(c.streams == 0);
    }
}

/* ---- the ports before the program: one pair of each setting, in blocks that are copied ---- */

struct blocks {
    uint64_t *port[PORTS];
    struct side side[PORTS];
};

static void make(struct blocks *b, uint8_t setting)
{
    uint8_t level = setting >> 6;
    struct fcvi_attributes a = attributes((uint8_t)((level == 0 ? 0 : level - 1) | 12));
    size_t size = fcvi_port_size(&port_limits);
    for (unsigned i = 0; i < PORTS; i++) {
        struct fcvi_port_config c = port_config(i, setting);
        b->port[i] = zeroed(size);
        b->side[i].port = fcvi_port_init(b->port[i], size, &port_limits, &c);
        DEMAND(b->side[i].port != NULL);
        side_furnish(&b->side[i], i, &a);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct blocks fresh[SETTINGS], running;
    struct pair p = {.program = {data, data + size}};
    uint8_t setting = next_byte(&p.program);
    if (running.port[0] == NULL)
        make(&running, 0);
    if (fresh[setting].port[0] == NULL)
        make(&fresh[setting], setting);
    for (unsigned i = 0; i < PORTS; i++) {
        memcpy(running.port[i], fresh[setting].port[i], fcvi_port_size(&port_limits));
        p.side[i] = fresh[setting].side[i];
        p.side[i].port = running.side[i].port;
    }
    p.tame = setting >> 5 & 1;
    p.credits = setting & 1;
    if (setting >> 6 != 0)
        meet(&p, 300);
    for (int steps = 0; p.program.at < p.program.end && steps < MOST_STEPS; steps++)
        step(&p);
    end(&p);
    return 0;
}
