/* The application on one of two ports of a fuzz target: it registers a region, posts Descriptors as a program
 * of bytes says, and demands of what completes what the port owes. */
#ifndef FCVI_FUZZ_APPLICATION_H
#define FCVI_FUZZ_APPLICATION_H

#include "oracle.h"

enum {
    PORTS = 2,
    VIS = 3,
    SLOT = 512,
    REGION = (2 + 4 * VIS) * SLOT,
    TARGET = SLOT,
    IMMEDIATE = 4,
    FENCE = 8
};

struct program {
    const uint8_t *at, *end;
};

static inline uint8_t next_byte(struct program *p)
{
    return p->at < p->end ? *p->at++ : 0;
}

/* Its region, in slots: what is sent, what RDMA may reach, and for each VI four to receive into, used in
 * turn. */
struct side {
    struct fcvi_port *port;
    uint32_t mem, handle, conn;
    uint64_t va, posted;
    uint64_t next[VIS][2], received[VIS];
    uint32_t sending[VIS];  /* Descriptors posted to send that have not completed */
    uint32_t numbered[VIS]; /* Messages posted that take a receive Descriptor: their Immediate Data */
    uint32_t heard[VIS], last[VIS],
        since[VIS]; /* receptions of this Connection; the last number among them, and when */
    bool reliable[VIS];
    uint8_t state[VIS];
};

/* Every Message is a run of bytes, each three more than the one before. */
static inline void demand_data(struct side *s, const struct fcvi_completion *c)
{
    uint32_t offset = (uint32_t)(c->cookie % 16) * SLOT;
    const uint8_t *bytes = fcvi_port_memory(s->port, s->mem, offset, c->length);
    DEMAND(c->length == 0 || bytes != NULL);
    for (uint32_t i = 1; i < c->length; i++)
        DEMAND(bytes[i] == (uint8_t)(bytes[i - 1] + 3));
}

/* Immediate Data number the Messages. A reliable Connection loses none, another one may, and none turns
 * around. */
static inline void demand_turn(struct side *s, const struct fcvi_event *e)
{
    uint32_t vi = e->vi, heard = ++s->heard[vi], number = e->completion.immediate;
    if ((e->completion.status & FCVI_STATUS_IMMEDIATE) == 0)
        return;
    if (s->since[vi] != 0 && s->reliable[vi])
        DEMAND(number - s->last[vi] == heard - s->since[vi]);
    if (s->since[vi] != 0)
        DEMAND(number - s->last[vi] >= heard - s->since[vi] && number > s->last[vi]);
    s->last[vi] = number;
    s->since[vi] = heard;
}

/* What a receiver has: its number, and where it was sent rather than written its bytes. */
static inline void demand_received(struct side *s, const struct fcvi_event *e)
{
    demand_turn(s, e);
    if ((e->completion.status & FCVI_STATUS_OP_REMOTE_RDMA_WRITE) == FCVI_STATUS_OP_RECEIVE)
        demand_data(s, &e->completion);
}

/* An Endpoint has another state. */
static inline void demand_state(struct side *s, const struct fcvi_event *e)
{
    demand_step(&s->state[e->vi], e->state);
    s->heard[e->vi] = s->since[e->vi] = 0;
}

/* A Descriptor. side: both. The cookie is the number of the Descriptor and its slot. */
static inline bool side_post(struct side side[PORTS], uint64_t now, struct side *s, uint32_t vi, uint8_t how,
                             uint8_t length)
{
    static struct fcvi_descriptor d;
    const struct side *other = &side[s == &side[0]];
    memset(&d, 0, offsetof(struct fcvi_descriptor, segment));
    d.op = how % 4;
    d.has_immediate = how >> 2 & 1;
    d.fence = how >> 3 & 1;
    d.segments = 1;
    d.remote_va = other->va + TARGET;
    d.remote_handle = other->handle + (how >> 4 == 15);
    bool recv = d.op == FCVI_RECV && vi < VIS;
    uint32_t slot = recv ? 2 + vi * 4 + (uint32_t)(s->received[vi] % 4) : d.op == FCVI_RDMA_READ;
    d.segment[0] = (struct fcvi_segment){s->mem, slot * SLOT, recv ? SLOT - length : length * 2u};
    d.cookie = s->posted * 16 + slot;
    bool takes_one = d.op == FCVI_SEND || (d.op == FCVI_RDMA_WRITE && d.has_immediate);
    d.immediate = vi < VIS ? s->numbered[vi] + 1 : 0;
    if (fcvi_vip_post(s->port, now, vi, &d) != VIP_SUCCESS)
        return false;
    s->posted++;
    s->numbered[vi] += takes_one;
    s->received[vi] += recv;
    s->sending[vi] += !recv;
    return true;
}

/* There is a VI. */
static inline void side_begin(struct side *s, uint32_t vi, const struct fcvi_attributes *a)
{
    s->state[vi] = FCVI_STATE_IDLE;
    s->next[vi][0] = s->next[vi][1] = s->sending[vi] = 0;
    s->reliable[vi] = a->reliability != FCVI_UNRELIABLE;
}

static inline void side_create_vi(struct side *s, uint64_t now, const struct fcvi_attributes *a)
{
    uint32_t vi;
    if (fcvi_vip_create_vi(s->port, now, a, &vi) == VIP_SUCCESS)
        side_begin(s, vi, a);
}

/* Memory full of Messages, and two VIs. */
static inline void side_furnish(struct side *s, unsigned i, const struct fcvi_attributes *a)
{
    fcvi_vip_register_mem(s->port, 0, REGION, true, true, &s->mem, &s->va, &s->handle);
    uint8_t *bytes = fcvi_port_memory(s->port, s->mem, 0, REGION);
    for (uint32_t k = 0; k < REGION; k++)
        bytes[k] = (uint8_t)(i * 50 + k * 3);
    for (unsigned k = 0; k + 1 < VIS; k++)
        side_create_vi(s, 0, a);
}

static inline uint64_t *zeroed(size_t size)
{
    uint64_t *block = calloc(1, size);
    DEMAND(block != NULL);
    return block;
}

#endif
