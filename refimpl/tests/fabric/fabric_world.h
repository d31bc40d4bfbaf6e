/* Reference ports on the simulated Fabric. Every frame that a port sends is checked strictly, and everything
 * that happens goes into a digest. */
#ifndef FCVI_TEST_FABRIC_WORLD_H
#define FCVI_TEST_FABRIC_WORLD_H

#include "../world.h"

#include <fcvi/fabric.h>

enum { F_PORTS = 5, F_ROOM = 16384, F_EVENTS = 2048 };

struct fworld {
    struct fcvi_fabric *fabric;
    size_t fabric_size;
    struct fcvi_port *port[F_PORTS];
    size_t size[F_PORTS];
    uint32_t ports;
    uint32_t mem[F_PORTS], handle[F_PORTS]; /* F_ROOM bytes of each port's own memory, at va 1000h */
    uint64_t va[F_PORTS];
    uint64_t digest; /* when the test wants one */
    bool digesting;
    unsigned els[F_PORTS][256], iu[F_PORTS][32], queries[F_PORTS]; /* sent: by command, by IU, FC-CT */
    struct fcvi_event event[F_PORTS][F_EVENTS];
    unsigned events[F_PORTS];
};

static const struct fcvi_port_limits f_port_limits = {.vis = 8,
                                                      .connectionpoints = 8,
                                                      .exchanges = 64,
                                                      .regions = 4,
                                                      .descriptors = 16,
                                                      .events = 512,
                                                      .memory = 2 * F_ROOM,
                                                      .max_transfer_size = F_ROOM,
                                                      .held_frames = 16,
                                                      .runs = 64};
static const struct fcvi_fabric_limits f_limits = {.ports = F_PORTS, .frames = 4096, .rules = 8};

static inline struct fcvi_fabric_config f_config(enum fcvi_topology topology)
{
    return (struct fcvi_fabric_config){.topology = (uint8_t)topology,
                                       .seed = 1,
                                       .latency_us = 100,
                                       .r_a_tov_us = W_R_A_TOV,
                                       .e_d_tov_us = W_E_D_TOV,
                                       .port_name = 0x10000000f0000001,
                                       .node_name = 0x20000000f0000001,
                                       .fan_delay_us = 1000};
}

/* ---- what happens ---- */

static inline void f_note(struct fworld *w, const void *bytes, size_t length)
{
    uint64_t h = w->digest;
    for (size_t i = 0; w->digesting && i < length; i++)
        h = (h ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    w->digest = h;
}

static inline void f_sent(void *context, uint64_t now, uint32_t from, const struct fcvi_input *in)
{
    struct fworld *w = context;
    struct fcvi_frame view;
    w_check(in, &view);
    if (w_watch != NULL)
        w_watch(now, &view);
    f_note(w, &now, sizeof now);
    f_note(w, in->bytes, in->length);
    bool request = view.kind == FCVI_KIND_ELS && fcvi_FC_R_CTL(view.fc) == 0x22;
    w->els[from][request ? view.payload[0] : 0]++;
    w->iu[from][view.iu]++;
    w->queries[from] += fcvi_FC_TYPE(view.fc) == 0x20;
}

static inline void f_delivered(void *context, uint64_t now, uint32_t from, uint32_t to,
                               const struct fcvi_input *in)
{
    struct fworld *w = context;
    const uint64_t what[] = {now, from, to, in->sof, in->eof, in->crc};
    f_note(w, what, sizeof what);
    f_note(w, in->bytes, in->length);
}

static inline void f_event(void *context, uint64_t now, uint32_t port, const struct fcvi_event *event)
{
    struct fworld *w = context;
    const uint64_t what[] = {now,
                             port,
                             event->kind,
                             event->vi,
                             event->token,
                             (uint64_t)event->vip,
                             event->state,
                             event->completion.status,
                             event->completion.length,
                             event->completion.cookie};
    f_note(w, what, sizeof what);
    if (w->events[port] == F_EVENTS)
        ck_abort_msg("too many events");
    w->event[port][w->events[port]++] = *event;
}

static inline struct fcvi_fabric_observer f_observer(struct fworld *w)
{
    return (struct fcvi_fabric_observer){w, f_sent, f_delivered, f_event};
}

static inline uint64_t f_now(const struct fworld *w)
{
    return fcvi_fabric_now(w->fabric);
}

static inline void f_run(struct fworld *w, uint64_t us)
{
    struct fcvi_fabric_observer o = f_observer(w);
    fcvi_fabric_run(w->fabric, w->port, w->ports, f_now(w) + us, &o);
}

/* Frames only: no timer but those due before the last frame has come. */
static inline void f_settle(struct fworld *w)
{
    struct fcvi_fabric_observer o = f_observer(w);
    f_run(w, 0);
    while (fcvi_fabric_deadline(w->fabric) != FCVI_NEVER)
        fcvi_fabric_step(w->fabric, w->port, w->ports, FCVI_NEVER, &o);
}

/* ---- life ---- */

static inline struct fworld *f_begin(const struct fcvi_fabric_limits *l, const struct fcvi_fabric_config *c)
{
    struct fworld *w = calloc(1, sizeof *w);
    w->fabric_size = fcvi_fabric_size(l);
    w->fabric = fcvi_fabric_init(malloc(w->fabric_size), w->fabric_size, l, c);
    ck_assert_ptr_nonnull(w->fabric);
    return w;
}

/* A port that the Fabric knows by n_port_id. */
static inline void f_add(struct fworld *w, const struct fcvi_port_limits *l, const struct fcvi_port_config *c,
                         uint32_t n_port_id, enum fcvi_fabric_place place)
{
    uint32_t i = w->ports++;
    struct fcvi_port_identity identity = c->self;
    identity.n_port_id = n_port_id;
    ck_assert_uint_eq(fcvi_fabric_attach(w->fabric, &identity, place), i);
    w->size[i] = fcvi_port_size(l);
    ck_assert_uint_ne(w->size[i], 0);
    w->port[i] = fcvi_port_init(malloc(w->size[i]), w->size[i], l, c);
    ck_assert_ptr_nonnull(w->port[i]);
    if (l->memory >= F_ROOM)
        ck_assert_int_eq(
            fcvi_vip_register_mem(w->port[i], 0, F_ROOM, true, true, &w->mem[i], &w->va[i], &w->handle[i]),
            VIP_SUCCESS);
}

static inline void f_free(struct fworld *w)
{
    struct fcvi_fabric_counters c;
    fcvi_fabric_count(w->fabric, &c);
    ck_assert_uint_eq(c.sent + c.own + c.copied + c.duplicated,
                      c.delivered + c.served + c.dropped + c.overflow + c.under_way);
    for (uint32_t i = 0; i < w->ports; i++)
        free(w->port[i]);
    free(w->fabric);
    free(w);
}

static inline void *f_duplicate(const void *block, size_t size)
{
    return memcpy(malloc(size), block, size);
}

/* A checkpoint of everything: Fabric, ports, and what has been noted. */
static inline struct fworld *f_copy(const struct fworld *w)
{
    struct fworld *copy = f_duplicate(w, sizeof *w);
    copy->fabric = f_duplicate(w->fabric, w->fabric_size);
    for (uint32_t i = 0; i < w->ports; i++)
        copy->port[i] = f_duplicate(w->port[i], w->size[i]);
    return copy;
}

static inline void f_same(const struct fworld *a, const struct fworld *b)
{
    ck_assert_uint_eq(a->digest, b->digest);
    ck_assert_mem_eq(a->fabric, b->fabric, a->fabric_size);
    for (uint32_t i = 0; i < a->ports; i++)
        ck_assert_mem_eq(a->port[i], b->port[i], a->size[i]);
}

/* Long after the last Connection ended nothing is held any more. */
static inline void f_nothing_left(struct fworld *w)
{
    f_run(w, 20 * (uint64_t)W_R_A_TOV);
    ck_assert_uint_eq(fcvi_fabric_deadline(w->fabric), FCVI_NEVER);
    for (uint32_t i = 0; i < w->ports; i++) {
        struct fcvi_port_counts c;
        fcvi_port_count(w->port[i], &c);
        ck_assert_uint_eq(c.setups, 0);
        ck_assert_uint_eq(c.exchanges, 0);
        ck_assert_uint_eq(c.timers, 0);
        ck_assert_uint_eq(c.frames, 0);
        ck_assert_uint_eq(c.held_frames, 0);
        ck_assert_uint_eq(c.points, 0);
        ck_assert_uint_eq(c.entries, 0);
        ck_assert_uint_eq(c.segments, 0);
        ck_assert_uint_eq(c.events_lost, 0);
    }
}

/* ---- Connections ---- */

static inline const struct fcvi_event *f_return(const struct fworld *w, uint32_t port, uint64_t token)
{
    for (unsigned k = w->events[port]; k-- > 0;)
        if (w->event[port][k].kind == FCVI_EVENT_CALL && w->event[port][k].token == token)
            return &w->event[port][k];
    return NULL;
}

static inline unsigned f_errors(const struct fworld *w, uint32_t port, uint32_t vi, int code)
{
    unsigned count = 0;
    for (unsigned k = 0; k < w->events[port]; k++)
        count += w->event[port][k].kind == FCVI_EVENT_ERROR && w->event[port][k].vi == vi &&
                 w->event[port][k].vip == code;
    return count;
}

static inline uint8_t f_state(struct fworld *w, uint32_t port, uint32_t vi)
{
    struct fcvi_vi_info info;
    ck_assert_int_eq(fcvi_vip_query_vi(w->port[port], f_now(w), vi, &info), VIP_SUCCESS);
    return info.state;
}

static inline uint32_t f_vi(struct fworld *w, uint32_t port, uint8_t level)
{
    struct fcvi_attributes a = {
        .reliability = level, .rdma_write = true, .rdma_read = level != FCVI_UNRELIABLE};
    uint32_t vi;
    ck_assert_int_eq(fcvi_vip_create_vi(w->port[port], f_now(w), &a, &vi), VIP_SUCCESS);
    return vi;
}

/* One side of a Connection: a VI of a port. */
struct end {
    uint32_t port, vi;
};

static inline struct end f_end(struct fworld *w, uint32_t port, uint8_t level)
{
    return (struct end){port, f_vi(w, port, level)};
}

static inline uint64_t f_token(struct fworld *w, struct end e)
{
    return f_now(w) * 1000 + e.port * 100 + e.vi;
}

/* VipConnectRequest of a to b, which waits for it; the result of the request. */
static inline int f_connect(struct fworld *w, struct end a, struct end b)
{
    struct fcvi_address here = w_address(a.port, 0xDD), there = w_address(b.port, (uint8_t)(b.vi + 1));
    uint64_t wait = f_token(w, b), request = f_token(w, a), accept;
    ck_assert_int_eq(fcvi_vip_connect_wait(w->port[b.port], f_now(w), &there, 4 * (uint64_t)W_R_A_TOV, wait),
                     FCVI_VIP_PENDING);
    ck_assert_int_eq(
        fcvi_vip_connect_request(w->port[a.port], f_now(w), a.vi, &here, &there, FCVI_NEVER, request),
        FCVI_VIP_PENDING);
    f_settle(w);
    if (f_return(w, b.port, wait) == NULL) {
        f_run(w, 8 * (uint64_t)W_R_A_TOV);
        ck_assert_ptr_nonnull(f_return(w, a.port, request));
        return f_return(w, a.port, request)->vip;
    }
    accept = f_token(w, b);
    ck_assert_int_eq(
        fcvi_vip_connect_accept(w->port[b.port], f_now(w), f_return(w, b.port, wait)->conn, b.vi, accept),
        FCVI_VIP_PENDING);
    f_settle(w);
    ck_assert_int_eq(f_return(w, b.port, accept)->vip, VIP_SUCCESS);
    return f_return(w, a.port, request)->vip;
}

/* VipConnectPeerRequest of both. */
static inline void f_connect_peers(struct fworld *w, struct end a, struct end b)
{
    struct fcvi_address x = w_address(a.port, 0xEE), y = w_address(b.port, 0xEE);
    struct fcvi_attributes remote;
    ck_assert_int_eq(fcvi_vip_connect_peer_request(w->port[a.port], f_now(w), a.vi, &x, &y, FCVI_NEVER),
                     VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(w->port[b.port], f_now(w), b.vi, &y, &x, FCVI_NEVER),
                     VIP_SUCCESS);
    f_settle(w);
    ck_assert_int_eq(fcvi_vip_connect_peer_done(w->port[a.port], f_now(w), a.vi, &remote), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_peer_done(w->port[b.port], f_now(w), b.vi, &remote), VIP_SUCCESS);
}

static inline void f_both_are(struct fworld *w, struct end a, struct end b, enum fcvi_vi_state state)
{
    ck_assert_uint_eq(f_state(w, a.port, a.vi), state);
    ck_assert_uint_eq(f_state(w, b.port, b.vi), state);
}

/* VipDisconnect of a; b finds it lost and does the same. */
static inline void f_disconnect(struct fworld *w, struct end a, struct end b)
{
    fcvi_vip_disconnect(w->port[a.port], f_now(w), a.vi, 7);
    f_settle(w);
    fcvi_vip_disconnect(w->port[b.port], f_now(w), b.vi, 8);
    f_settle(w);
    f_both_are(w, a, b, FCVI_STATE_IDLE);
}

/* ---- Messages ---- */

static inline void f_post(struct fworld *w, struct end e, enum fcvi_op op, struct fcvi_segment segment,
                          uint64_t va, uint32_t handle)
{
    static struct fcvi_descriptor d;
    memset(&d, 0, offsetof(struct fcvi_descriptor, segment));
    d.op = (uint8_t)op;
    d.segments = 1;
    d.segment[0] = segment;
    d.remote_va = va;
    d.remote_handle = handle;
    ck_assert_int_eq(fcvi_vip_post(w->port[e.port], f_now(w), e.vi, &d), VIP_SUCCESS);
}

static inline void f_done(struct fworld *w, struct end e, bool recv, uint32_t status, uint32_t length)
{
    struct fcvi_completion c;
    int code = fcvi_vip_done(w->port[e.port], f_now(w), e.vi, recv, &c);
    ck_assert_msg(code == VIP_SUCCESS || code == VIP_DESCRIPTOR_ERROR, "%s", fcvi_vip_name(code));
    ck_assert_uint_eq(c.status, status | FCVI_STATUS_DONE);
    ck_assert_uint_eq(c.length, length);
}

/* A Send of a few frames from a to b, in the upper half of their memories. */
static inline void f_message(struct fworld *w, struct end a, struct end b)
{
    enum { LENGTH = 5000, OFFSET = F_ROOM / 2 };
    uint8_t *out = fcvi_port_memory(w->port[a.port], w->mem[a.port], OFFSET, LENGTH);
    uint8_t *in = fcvi_port_memory(w->port[b.port], w->mem[b.port], OFFSET, LENGTH);
    for (unsigned k = 0; k < LENGTH; k++)
        out[k] = (uint8_t)(k * 7 + k / 251 + f_now(w));
    if (in != out)
        memset(in, 0x5A, LENGTH);
    f_post(w, b, FCVI_RECV, (struct fcvi_segment){w->mem[b.port], OFFSET, LENGTH}, 0, 0);
    f_post(w, a, FCVI_SEND, (struct fcvi_segment){w->mem[a.port], OFFSET, LENGTH}, 0, 0);
    f_settle(w);
    f_done(w, a, false, 0, LENGTH);
    f_done(w, b, true, FCVI_STATUS_OP_RECEIVE, LENGTH);
    ck_assert_mem_eq(in, out, LENGTH);
}

#endif
