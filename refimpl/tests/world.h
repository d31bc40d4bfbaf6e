/* Two or more reference ports on a wire that loses, repeats, delays and reorders frames as it is told. Time
 * is the test's. Every frame that a port sends is checked strictly. */
#ifndef FCVI_TEST_WORLD_H
#define FCVI_TEST_WORLD_H

#include "../../codec/tests/quiet_check.h"
#include <fcvi/port.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { W_PORTS = 4, W_FRAME = 24 + 2112, W_EVENTS = 1024, W_R_A_TOV = 10000000, W_E_D_TOV = 2000000 };

struct flying {
    uint64_t due, serial;
    uint32_t to;
    size_t length;
    uint8_t sof, eof, crc;
    uint8_t bytes[W_FRAME];
};

struct world {
    struct fcvi_port *port[W_PORTS];
    size_t size[W_PORTS];
    unsigned ports;
    uint64_t now, serial, random;
    struct flying **heap;
    size_t flying, room;
    /* what the wire does, in parts per million of the frames */
    uint32_t loss, duplication, corruption;
    uint64_t latency, jitter; /* with jitter frames overtake each other */
    bool (*filter)(struct world *w, unsigned from, const struct fcvi_frame *f); /* false: the frame is lost */
    uint64_t sent, lost, sequences;
    struct fcvi_event event[W_PORTS][W_EVENTS];
    unsigned events[W_PORTS];
    bool keep_quiet;           /* do not check frames: the test sends nonsense itself */
    enum fcvi_edition edition; /* by whose tables frames are checked */
};

/* Sees every frame that a port sends, before anything happens to it; a test may set it. */
static void (*w_watch)(uint64_t now, const struct fcvi_frame *f);

static inline uint64_t w_random(struct world *w)
{
    w->random += 0x9E3779B97F4A7C15u;
    uint64_t z = w->random;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline bool w_chance(struct world *w, uint32_t ppm)
{
    return ppm != 0 && w_random(w) % 1000000 < ppm;
}

static inline struct fcvi_port_identity w_identity(unsigned i)
{
    struct fcvi_port_identity id = {
        0x10000000c9000001u + i, 0x20000000c9000001u + i, 0x010100u + i * 0x100u, 1, {{0}}};
    id.host[0][0] = 0xfe;
    id.host[0][1] = 0x80;
    id.host[0][15] = (uint8_t)(0xa1 + i);
    return id;
}

static inline struct fcvi_port_config w_config(unsigned i)
{
    struct fcvi_port_config c = {.topology = FCVI_FABRIC,
                                 .service_class = 3,
                                 .e_d_tov_us = W_E_D_TOV,
                                 .r_a_tov_us = W_R_A_TOV,
                                 .receive_size = 2112,
                                 .seed = i + 1};
    c.self = w_identity(i);
    c.peer = w_identity(i == 0 ? 1 : 0);
    return c;
}

static inline struct fcvi_address w_address(unsigned i, uint8_t discriminator)
{
    struct fcvi_address a = {.discriminator_length = 16};
    memcpy(a.host, w_identity(i).host[0], 16);
    memset(a.discriminator, discriminator, 16);
    return a;
}

static inline void w_add(struct world *w, const struct fcvi_port_limits *l, const struct fcvi_port_config *c)
{
    size_t size = fcvi_port_size(l);
    ck_assert_uint_ne(size, 0);
    void *memory = calloc(1, size);
    w->size[w->ports] = size;
    w->port[w->ports] = fcvi_port_init(memory, size, l, c);
    ck_assert_ptr_nonnull(w->port[w->ports]);
    w->ports++;
}

static inline void w_free(struct world *w)
{
    for (unsigned i = 0; i < w->ports; i++)
        free(w->port[i]);
    for (size_t i = 0; i < w->room; i++)
        free(w->heap[i]);
    free(w->heap);
    free(w);
}

/* ---- the wire ---- */

static inline bool w_before(const struct flying *a, const struct flying *b)
{
    return a->due != b->due ? a->due < b->due : a->serial < b->serial;
}

static inline struct flying *w_slot(struct world *w)
{
    if (w->flying == w->room) {
        size_t room = w->room == 0 ? 64 : w->room * 2;
        w->heap = realloc(w->heap, room * sizeof *w->heap);
        for (size_t i = w->room; i < room; i++)
            w->heap[i] = malloc(sizeof **w->heap);
        w->room = room;
    }
    return w->heap[w->flying];
}

static inline void w_push(struct world *w)
{
    size_t at = w->flying++;
    while (at > 0 && w_before(w->heap[at], w->heap[(at - 1) / 2])) {
        struct flying *t = w->heap[at];
        w->heap[at] = w->heap[(at - 1) / 2];
        w->heap[at = (at - 1) / 2] = t;
    }
}

static inline struct flying *w_pop(struct world *w)
{
    struct flying *top = w->heap[0], *last = w->heap[--w->flying];
    w->heap[0] = last;
    w->heap[w->flying] = top;
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= w->flying)
            break;
        if (child + 1 < w->flying && w_before(w->heap[child + 1], w->heap[child]))
            child++;
        if (!w_before(w->heap[child], w->heap[at]))
            break;
        struct flying *t = w->heap[at];
        w->heap[at] = w->heap[child];
        w->heap[child] = t;
        at = child;
    }
    return top;
}

static inline unsigned w_port_of(const struct world *w, uint32_t id)
{
    for (unsigned i = 0; i < w->ports; i++)
        if (fcvi_port_id(w->port[i]) == id)
            return i;
    return W_PORTS;
}

static inline void w_fly(struct world *w, unsigned to, const uint8_t *bytes, size_t n, uint8_t sof,
                         uint8_t eof)
{
    struct flying *s = w_slot(w);
    s->due = w->now + w->latency + (w->jitter != 0 ? w_random(w) % w->jitter : 0);
    s->serial = w->serial++;
    s->to = to;
    s->length = n;
    s->sof = sof;
    s->eof = eof;
    s->crc = w_chance(w, w->corruption) ? FCVI_CRC_BAD : FCVI_CRC_OK;
    memcpy(s->bytes, bytes, n);
    w_push(w);
}

static inline void w_check_edition(const struct fcvi_input *in, enum fcvi_edition edition,
                                   struct fcvi_frame *view)
{
    struct fcvi_finding list[8];
    struct fcvi_findings findings = {list, 8, 0, 0};
    fcvi_decode_edition(in, edition, view, &findings);
    if (findings.worst > 1 + FCVI_NOTICE) /* an assertion for each frame would take longer than the test */
        ck_abort_msg("%s %s", list[0].requirement, list[0].message);
}

static inline void w_check(const struct fcvi_input *in, struct fcvi_frame *view)
{
    w_check_edition(in, FCVI_EDITION_2007, view);
}

static inline void w_events(struct world *w, unsigned i)
{
    while (w->events[i] < W_EVENTS && fcvi_port_event(w->port[i], &w->event[i][w->events[i]]))
        w->events[i]++;
    ck_assert_uint_lt(w->events[i], W_EVENTS);
}

/* Take what port i has to say. True when it said something. */
static inline bool w_collect(struct world *w, unsigned i)
{
    uint8_t out[W_FRAME];
    struct fcvi_transmitted meta;
    bool any = false;
    size_t n;
    w_events(w, i);
    while ((n = fcvi_port_transmit(w->port[i], w->now, out, sizeof out, &meta)) > 0) {
        struct fcvi_input in = {out, n, meta.sof, meta.eof, FCVI_CRC_OK};
        struct fcvi_frame view;
        w_check_edition(&in, w->edition, &view);
        if (w_watch != NULL)
            w_watch(w->now, &view);
        any = true;
        w->sent++;
        unsigned first = w_port_of(w, (uint32_t)fcvi_FC_D_ID(out)), last = first + 1;
        if (fcvi_FC_D_ID(out) == 0xFFFFFF) {
            first = 0;
            last = w->ports;
        }
        bool lost = (w->filter != NULL && !w->filter(w, i, &view)) || w_chance(w, w->loss);
        w->lost += lost;
        for (unsigned to = first; !lost && to < last && to < w->ports; to++) {
            if (to == i)
                continue;
            w_fly(w, to, out, n, meta.sof, meta.eof);
            if (w_chance(w, w->duplication))
                w_fly(w, to, out, n, meta.sof, meta.eof);
        }
        w_events(w, i);
    }
    w_events(w, i);
    return any;
}

static inline void w_quiet(struct world *w)
{
    bool any = true;
    while (any) {
        any = false;
        for (unsigned i = 0; i < w->ports; i++)
            any |= w_collect(w, i);
    }
}

/* One step: the next frame or timer that is due by `until`. False when there is none. */
static inline bool w_step(struct world *w, uint64_t until)
{
    w_quiet(w);
    uint64_t due = w->flying > 0 ? w->heap[0]->due : FCVI_NEVER;
    unsigned timer = W_PORTS;
    for (unsigned i = 0; i < w->ports; i++)
        if (fcvi_port_deadline(w->port[i]) < due) {
            due = fcvi_port_deadline(w->port[i]);
            timer = i;
        }
    if (due == FCVI_NEVER || due > until)
        return false;
    w->now = due > w->now ? due : w->now;
    if (timer < W_PORTS) {
        fcvi_port_run(w->port[timer], w->now);
    } else {
        struct flying *f = w_pop(w);
        struct fcvi_input in = {f->bytes, f->length, f->sof, f->eof, f->crc};
        fcvi_port_receive(w->port[f->to], w->now, &in);
    }
    return true;
}

static inline void w_run(struct world *w, uint64_t us)
{
    uint64_t until = w->now + us;
    while (w_step(w, until))
        ;
    w->now = until;
    w_quiet(w);
}

/* Frames only: no timer but those due before the last frame has come. */
static inline void w_settle(struct world *w)
{
    w_quiet(w);
    while (w->flying > 0) {
        w_step(w, FCVI_NEVER);
        w_quiet(w);
    }
}

/* ---- shorthand ---- */

static inline const struct fcvi_event *w_last(const struct world *w, unsigned i, enum fcvi_event_kind kind)
{
    for (unsigned k = w->events[i]; k-- > 0;)
        if (w->event[i][k].kind == kind)
            return &w->event[i][k];
    return NULL;
}

static inline const struct fcvi_event *w_return(const struct world *w, unsigned i, uint64_t token)
{
    for (unsigned k = w->events[i]; k-- > 0;)
        if (w->event[i][k].kind == FCVI_EVENT_CALL && w->event[i][k].token == token)
            return &w->event[i][k];
    return NULL;
}

static inline const struct fcvi_event *w_error(const struct world *w, unsigned i, int code)
{
    for (unsigned k = 0; k < w->events[i]; k++)
        if (w->event[i][k].kind == FCVI_EVENT_ERROR && w->event[i][k].vip == code)
            return &w->event[i][k];
    return NULL;
}

static inline uint8_t w_state(struct world *w, unsigned i, uint32_t vi)
{
    struct fcvi_vi_info info;
    ck_assert_int_eq(fcvi_vip_query_vi(w->port[i], w->now, vi, &info), VIP_SUCCESS);
    return info.state;
}

static inline uint32_t w_vi(struct world *w, unsigned i, const struct fcvi_attributes *a)
{
    uint32_t vi;
    ck_assert_int_eq(fcvi_vip_create_vi(w->port[i], w->now, a, &vi), VIP_SUCCESS);
    return vi;
}

/* A region of the host's memory. */
static inline uint32_t w_region(struct world *w, unsigned i, uint8_t *bytes, uint32_t length, uint64_t va,
                                uint32_t *handle)
{
    struct fcvi_region r = {
        .va = va, .length = length, .rdma_write = true, .rdma_read = true, .bytes = bytes};
    uint32_t mem;
    ck_assert_int_eq(fcvi_vip_register_region(w->port[i], w->now, &r, &mem, handle), VIP_SUCCESS);
    return mem;
}

/* Connect vi a of port 0 with vi b of port 1, client to server. */
static inline void w_connect(struct world *w, uint32_t a, uint32_t b)
{
    struct fcvi_address here = w_address(0, 0xDD), there = w_address(1, 0xDD);
    ck_assert_int_eq(fcvi_vip_connect_wait(w->port[1], w->now, &there, FCVI_NEVER, 1001), FCVI_VIP_PENDING);
    ck_assert_int_eq(fcvi_vip_connect_request(w->port[0], w->now, a, &here, &there, FCVI_NEVER, 1002),
                     FCVI_VIP_PENDING);
    w_settle(w);
    const struct fcvi_event *e = w_return(w, 1, 1001);
    ck_assert_ptr_nonnull(e);
    ck_assert_int_eq(fcvi_vip_connect_accept(w->port[1], w->now, e->conn, b, 1003), FCVI_VIP_PENDING);
    w_settle(w);
    ck_assert_int_eq(w_return(w, 0, 1002)->vip, VIP_SUCCESS);
    ck_assert_int_eq(w_return(w, 1, 1003)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(w_state(w, 0, a), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(w_state(w, 1, b), FCVI_STATE_CONNECTED);
}

static inline int w_post(struct world *w, unsigned i, uint32_t vi, enum fcvi_op op, uint32_t mem,
                         uint32_t offset, uint32_t length, uint64_t va, uint32_t handle)
{
    static struct fcvi_descriptor d;
    memset(&d, 0, offsetof(struct fcvi_descriptor, segment));
    d.op = (uint8_t)op;
    d.segments = 1;
    d.segment[0] = (struct fcvi_segment){mem, offset, length};
    d.remote_va = va;
    d.remote_handle = handle;
    return fcvi_vip_post(w->port[i], w->now, vi, &d);
}

static inline void w_done(struct world *w, unsigned i, uint32_t vi, bool recv, uint32_t status,
                          uint32_t length)
{
    struct fcvi_completion c;
    int code = fcvi_vip_done(w->port[i], w->now, vi, recv, &c);
    ck_assert_msg(code == VIP_SUCCESS || code == VIP_DESCRIPTOR_ERROR, "%s", fcvi_vip_name(code));
    ck_assert_uint_eq(c.status, status | FCVI_STATUS_DONE);
    ck_assert_uint_eq(c.length, length);
}

#endif
