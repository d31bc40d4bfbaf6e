/* The frame that is judged, and how far it may be judged. */
#ifndef FCVI_MONITOR_JUDGED_FRAME_H
#define FCVI_MONITOR_JUDGED_FRAME_H

#include "exchanges.h"
#include "ports.h"

#include <fcvi/report.h>

struct endpoint;

/* Everything here is the monitor's own: calls need not go through the tables of a shared library. */
#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

/** An N_Port Identifier of a Frame_Header, with one load: a byte of the header stands before each. */
static inline uint32_t mon_port_at(const uint8_t *field)
{
    return (uint32_t)fcvi_load(field - 1, 4) & 0xFFFFFFu;
}

static inline bool mon_is(uint8_t iu, unsigned ius)
{
    return ius >> iu & 1u;
}
static inline enum group mon_group(uint8_t iu)
{
    if (mon_is(iu, FCVI_IUS_MSG_RQST | FCVI_IUS_MSG_RESP))
        return G_MESSAGE;
    return mon_is(iu, FCVI_IUS_DISCONNECT) ? G_DISCONNECT : G_SETUP;
}

struct judged_frame {
    struct fcvi_monitor *m;
    const struct fcvi_monitor_frame *in;
    const struct fcvi_frame *f;
    struct fcvi_monitor_findings *out;
    const uint8_t *fc, *dh;
    struct exchange *x;
    struct side *own, *far;
    struct endpoint *target; /* what mon_endpoint_known found */
    struct pair *between;    /* the two ports; NULL: not looked for, or not there */
    uint64_t id;             /* what names the Message or setup; the low half is the same on both sides */
    uint32_t s_id, d_id;
    uint16_t base;                /* of the Device_Header in the frame */
    uint16_t handle_at, level_at; /* in it, of a connect payload; 0: not in this frame (E44) */
    uint8_t iu, who, group;
    bool end_sequence, last, starts; /* End_Sequence, Last_Sequence, begins an Exchange */
    bool misplaced;                  /* 5.6 found its SEQ_CNT or Relative Offset wrong */
    bool part;                       /* of a Sequence that was open before this frame */
    bool asked, certain;             /* mon_endpoint_known has been asked; it is the sender's peer */
};

/** Report a breach of the frame at hand; other: the frame it contradicts. */
void mon_report(struct judged_frame *s, struct fcvi_place place, uint64_t seen, struct fcvi_rule rule,
                uint64_t other);
static inline void mon_unjudged(struct fcvi_monitor *m, enum fcvi_monitor_unjudged reason, uint64_t frame)
{
    FCVI_ASSERT(reason < FCVI_UNJUDGED_COUNT);
    struct fcvi_monitor_count *c = &m->unjudged[reason];
    if (c->frames++ == 0)
        c->first = frame;
}

#define DH(s, F) FCVI_AT((s)->base, DH, F)
#define FC(F) FCVI_AT(0, FC, F)

/** Nothing is missing and nothing out of order since the Exchange began. */
static inline bool mon_exact(const struct fcvi_monitor *m, const struct exchange *x)
{
    return m->whole && !x->headless && x->born > m->last_gap;
}
/** Whatever goes on was seen from its beginning. */
bool mon_knows_all(const struct fcvi_monitor *m);
/** The same, but for what only the payload of a setup or a login tells. */
bool mon_knows_exchanges(const struct fcvi_monitor *m);
/** What this side does may be compared with what the other side sent: it broke no rule before. */
bool mon_far_good(struct judged_frame *s);

/* ---- the two ports ---- */

static inline struct pair *mon_pair_of(struct fcvi_monitor *m, uint32_t network, uint32_t a, uint32_t b,
                                       bool make)
{
    uint64_t low = a < b ? a : b, high = a < b ? b : a;
    struct pair *p = mon_pool_find(m, &m->pairs, network, low << 24 | high);
    if (p != NULL || !make)
        return p;
    p = mon_pool_add(m, &m->pairs, network, low << 24 | high);
    if (m->pairs.evicted != 0) /* what is known no more may have ended all that was before */
        p->disconnected = p->voided = p->epoch = m->voided = m->latest;
    return p;
}
/** The two ports of the frame at hand. */
static inline struct pair *mon_pair_here(struct judged_frame *s)
{
    if (s->between == NULL)
        s->between = mon_pair_of(s->m, s->in->network, s->s_id, s->d_id, false);
    return s->between;
}
static inline unsigned mon_pair_index(uint32_t port, uint32_t other)
{
    return port > other;
}

/* ---- its Exchange (mon_exchange.c) and Sequences ---- */

struct exchange *mon_exchange_find(struct fcvi_monitor *m, uint32_t network, uint32_t originator,
                                   uint32_t responder, uint16_t ox_id);
/** The Exchange of an IU: found, begun, or taken up in its middle. False: the frame says nothing more. */
bool mon_exchange_of(struct judged_frame *s);
/** After all rules: what the frame leaves behind. */
void mon_exchange_note(struct judged_frame *s);

/** An acknowledgement or refusal of a frame of a Sequence. */
void mon_sequence_acknowledged(struct judged_frame *s, struct exchange *x, unsigned whose, bool all);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
