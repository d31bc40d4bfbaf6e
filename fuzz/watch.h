/* What is demanded of all frames of reference ports together: the monitor, which judges them as those of any
 * port, and that no Descriptor completes well before its Message Request is out. */
#ifndef FCVI_FUZZ_WATCH_H
#define FCVI_FUZZ_WATCH_H

#include "oracle.h"

#include <fcvi/monitor.h>

static const struct fcvi_monitor_limits watch_limits = {
    .exchanges = 64, .endpoints = 16, .setups = 16, .sequences = 64, .pairs = 8};

struct watch {
    struct fcvi_monitor *monitor;
    uint64_t frames;
    bool outlived; /* frames may be under way for R_A_TOV and more: no rule can be judged then */
};

/* It sees every frame of the ports, in the order in which each port sends them. */
static inline void watch_begin(struct watch *w, void *memory, uint64_t r_a_tov_us)
{
    struct fcvi_monitor_config config = {.limits = watch_limits,
                                         .trust = FCVI_TRUST_ALL | FCVI_TRUST_START | FCVI_TRUST_ORDER,
                                         .r_a_tov_us = r_a_tov_us};
    w->frames = 0;
    w->outlived = false;
    w->monitor = fcvi_monitor_init(memory, fcvi_monitor_size(&watch_limits), &config);
    DEMAND(w->monitor != NULL);
}

static inline void demand_unbroken(struct watch *w, const struct fcvi_frame *frame, uint64_t now)
{
    struct fcvi_monitor_finding list[2];
    struct fcvi_monitor_findings found = {list, 2, 0};
    if (w->outlived)
        return;
    struct fcvi_monitor_frame shown = {frame, ++w->frames, now, 0, false};
    fcvi_monitor_frame(w->monitor, &shown, &found);
    if (found.count != 0)
        fprintf(stderr, "%s: %s (seen %llx, required %llx)\n", list[0].what.requirement, list[0].what.message,
                (unsigned long long)list[0].what.seen, (unsigned long long)list[0].what.required_value);
    DEMAND(found.count == 0);
}

/* Message Requests of one port: how many are out to their last frame, and how many Descriptors of the send
 * queues have completed well. */
struct requests {
    uint64_t out, completed;
    uint64_t latest[16]; /* a frame that came back busy is sent again (Annex B rule 8b) */
};

static inline void note_request(struct requests *r, const struct fcvi_frame *f)
{
    const unsigned requests = 1u << FCVI_IU_SEND_RQST | 1u << FCVI_IU_WRITE_RQST | 1u << FCVI_IU_READ_RQST;
    if (f->kind != FCVI_KIND_IU || (requests >> f->iu & 1u) == 0 || !fcvi_FC_End_Sequence(f->fc) ||
        !(fcvi_FC_Last_Sequence(f->fc) || fcvi_FC_Sequence_Initiative(f->fc)))
        return; /* not the last frame of one (5.2.1) */
    uint64_t name = fcvi_FC_OX_ID(f->fc) << 32 | fcvi_DH_FCVI_MSG_ID(f->dh);
    for (size_t i = 0; i < sizeof r->latest / sizeof r->latest[0]; i++)
        if (r->latest[i] == name)
            return;
    r->latest[r->out++ % (sizeof r->latest / sizeof r->latest[0])] = name;
}

static inline void demand_sent(struct requests *r)
{
    DEMAND(++r->completed <= r->out);
}

#endif
