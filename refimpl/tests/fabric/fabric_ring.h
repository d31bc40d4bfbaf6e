/* Three ports in a ring, each connected with the next, that post what a seed tells them to over a Fabric
 * whose faults it chooses. */
#ifndef FCVI_TEST_FABRIC_RING_H
#define FCVI_TEST_FABRIC_RING_H

#include "fabric_world.h"

enum { PORTS = 3, POSTS = 6, SLOT = 6144, ENDS = 2 * PORTS, ROOM = 6 * POSTS * SLOT };

static const struct fcvi_port_limits limits = {.vis = 2,
                                               .connectionpoints = 2,
                                               .exchanges = 64,
                                               .regions = 2,
                                               .descriptors = POSTS,
                                               .events = 512,
                                               .memory = F_ROOM + ROOM + 4096,
                                               .max_transfer_size = SLOT,
                                               .held_frames = 16,
                                               .runs = 64};

static const struct fcvi_fabric_limits fabric_limits = {.ports = PORTS, .frames = 1024, .rules = 1};

struct plan {
    uint8_t op;
    bool immediate;
    uint32_t length;
};

struct completions {
    struct fcvi_completion completion[POSTS];
    unsigned count;
};

/* One end of a Connection, and what it sends; side 2k is connected with side 2k + 1. */
struct side {
    struct end end;
    struct plan plan[POSTS];
    struct completions sent, received;
};

struct run {
    struct fworld *w;
    uint64_t random;
    uint8_t level, service_class;
    uint32_t mem[PORTS], handle[PORTS];
    uint64_t va[PORTS];
    struct side side[ENDS];
};

static inline uint64_t roll(struct run *r, uint64_t below)
{
    r->random += 0x9E3779B97F4A7C15u; /* SplitMix64 */
    uint64_t z = r->random;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (z ^ z >> 31) % below;
}

/* A byte of Message n of a side. */
static inline uint8_t pattern(unsigned side, unsigned n, uint32_t at)
{
    return (uint8_t)(side * 101 + n * 37 + at * 13 + (at >> 8));
}

/* Where a side has the bytes that it sends or reads into, those that it receives, and those that the other
 * side writes and reads. Of the two sides on a port one number is even. */
enum area { OUT, IN, REMOTE };
static inline uint32_t offset(unsigned side, enum area area, unsigned n)
{
    return ((side % 2 * 3 + (unsigned)area) * POSTS + n) * SLOT;
}

static inline uint8_t *bytes(const struct run *r, unsigned side, enum area area, unsigned n)
{
    uint32_t port = r->side[side].end.port;
    return fcvi_port_memory(r->w->port[port], r->mem[port], offset(side, area, n), SLOT);
}

/* ---- the run ---- */

/* While this rule is there nothing is left to chance. */
static inline void spare(struct run *r, bool on)
{
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(FCVI_ACT_DELAY);
    if (on)
        ck_assert_uint_eq(fcvi_fabric_rule_add(r->w->fabric, &rule), 0);
    else
        ck_assert(fcvi_fabric_rule_clear(r->w->fabric, f_now(r->w), 0));
}

static inline void make_plan(struct run *r, unsigned side)
{
    for (unsigned n = 0; n < POSTS; n++) {
        struct plan *m = &r->side[side].plan[n];
        m->op = (uint8_t)roll(r, r->level == FCVI_UNRELIABLE ? 2 : 3);
        m->immediate = m->op != FCVI_RDMA_READ && roll(r, 3) == 0;
        m->length = (uint32_t)(roll(r, 4) == 0 ? roll(r, 3) : roll(r, SLOT));
    }
}

static inline struct run ring_begin(uint64_t seed)
{
    struct run r = {.random = seed};
    struct fcvi_fabric_config config = f_config(FCVI_FABRIC);
    r.level = (uint8_t)(1 + roll(&r, 3));
    config.seed = seed;
    config.out_of_order = roll(&r, 2);
    config.jitter_us = roll(&r, 2000);
    config.loss = roll(&r, 2) ? 20000 : 0;
    config.duplication = roll(&r, 2) ? 20000 : 0;
    config.corruption = roll(&r, 3) ? 0 : 10000;
    r.w = f_begin(&fabric_limits, &config);
    spare(&r, true);
    r.service_class = (uint8_t)(2 + roll(&r, 2));
    for (uint32_t i = 0; i < PORTS; i++) {
        struct fcvi_port_config c = w_config(i);
        c.service_class = r.service_class;
        c.out_of_order = config.out_of_order;
        c.explicit_login = c.fabric_login = c.name_server = true;
        c.iu_size = roll(&r, 2) ? 2080 : 0;
        c.ack_0 = roll(&r, 2);
        c.peer = c.self;
        f_add(r.w, &limits, &c, c.self.n_port_id, FCVI_PLACE_FABRIC);
        fcvi_port_link(r.w->port[i], 0, FCVI_LINK_UP);
        ck_assert_int_eq(
            fcvi_vip_register_mem(r.w->port[i], 0, ROOM, true, true, &r.mem[i], &r.va[i], &r.handle[i]),
            VIP_SUCCESS);
    }
    f_settle(r.w);
    for (uint32_t i = 0; i < ENDS; i++) {
        r.side[i].end = f_end(r.w, (i + 1) / 2 % PORTS, r.level);
        make_plan(&r, i);
    }
    for (uint32_t i = 0; i < ENDS; i += 2)
        ck_assert_int_eq(f_connect(r.w, r.side[i].end, r.side[i + 1].end), VIP_SUCCESS);
    spare(&r, false);
    return r;
}

static inline void post(struct run *r, unsigned side, const struct plan *m, unsigned n)
{
    static struct fcvi_descriptor d;
    const struct side *s = &r->side[side];
    uint32_t other = r->side[side ^ 1].end.port;
    memset(&d, 0, offsetof(struct fcvi_descriptor, segment));
    d.op = m != NULL ? m->op : FCVI_RECV;
    d.segments = 1;
    d.cookie = n;
    d.has_immediate = m != NULL && m->immediate;
    d.immediate = 0x1000 + n;
    d.segment[0] = (struct fcvi_segment){r->mem[s->end.port], offset(side, m != NULL ? OUT : IN, n),
                                         m != NULL ? m->length : SLOT};
    d.remote_va = r->va[other] + offset(side ^ 1, REMOTE, n);
    d.remote_handle = r->handle[other];
    ck_assert_int_eq(fcvi_vip_post(r->w->port[s->end.port], f_now(r->w), s->end.vi, &d), VIP_SUCCESS);
}

static inline void post_all(struct run *r)
{
    for (unsigned i = 0; i < ENDS; i++)
        for (unsigned n = 0; n < POSTS; n++) {
            const struct plan *m = &r->side[i].plan[n];
            uint8_t *at = m->op == FCVI_RDMA_READ ? bytes(r, i ^ 1, REMOTE, n) : bytes(r, i, OUT, n);
            for (uint32_t k = 0; k < m->length; k++)
                at[k] = pattern(i, n, k);
            post(r, i, NULL, n);
        }
    for (unsigned n = 0; n < POSTS; n++)
        for (unsigned i = 0; i < ENDS; i++)
            post(r, i, &r->side[i].plan[n], n);
}

#endif
