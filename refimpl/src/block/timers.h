/* Timers, numbered by their kind and the object that owns them (8.3). */
#ifndef FCVI_BLOCK_TIMERS_H
#define FCVI_BLOCK_TIMERS_H

#include "block.h"

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

enum timer_kind {
    TIMER_T0,         /* of a Connectionpoint: VipConnectWait */
    TIMER_SETUP,      /* of a setup: T3 of an originator, T2 of a responder, the wait for login or address */
    TIMER_T1,         /* of a VI: VipConnectRequest, VipConnectPeerRequest */
    TIMER_DISCONNECT, /* of a VI: wait for FCVI_DISCONNECT_RESP */
    TIMER_MISSING,    /* of a VI: frames or Messages that should have come (Annex B rule 7) */
    TIMER_EXCHANGE,   /* of an Exchange: Message Response, ACK, BA_ACC or ELS reply */
    TIMER_STREAM,     /* of a stream of VI/TCP: Incoming, the next attempt, the end of lingering */
    TIMER_LINK,       /* of the port: FLOGI or FAN */
    TIMER_KINDS
};

struct timer {
    uint64_t due;
    uint64_t order; /* ties expire in the order in which they were set */
    uint32_t place; /* in the heap; NONE when it does not run */
};

/* timers.c */
uint32_t fcvi_timers_needed(const struct fcvi_port_limits *limits);
void fcvi_timer_start(struct fcvi_port *p, enum timer_kind kind, uint32_t index, uint64_t us);
void fcvi_timer_stop(struct fcvi_port *p, enum timer_kind kind, uint32_t index);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
