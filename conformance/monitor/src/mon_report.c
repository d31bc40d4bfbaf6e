/* Findings, and what could not be judged. */
#include "judged_frame.h"

void mon_report(struct judged_frame *s, struct fcvi_place place, uint64_t seen, struct fcvi_rule rule,
                uint64_t other)
{
    FCVI_ASSERT(s->s_id <= 0xFFFFFF && other <= s->in->number);
    s->misplaced |= place.byte == FCVI_FC_SEQ_CNT_BYTE || place.byte == FCVI_FC_Parameter_BYTE;
    if (s->x != NULL && rule.cls != FCVI_NOTICE)
        s->x->tainted |= (uint8_t)(1u << s->who);
    if (s->out == NULL || s->out->count++ >= s->out->capacity)
        return;
    struct fcvi_monitor_finding *f = &s->out->list[s->out->count - 1];
    struct fcvi_findings one = {&f->what, 1, 0, 0};
    fcvi_report(&one, place, seen, rule);
    f->frame = s->in->number;
    f->other = other;
    f->sender = s->s_id;
}

struct fcvi_monitor_count fcvi_monitor_unjudged(const struct fcvi_monitor *m,
                                                enum fcvi_monitor_unjudged reason)
{
    FCVI_ASSERT(reason < FCVI_UNJUDGED_COUNT);
    if (reason != FCVI_UNJUDGED_EVICTED)
        return m->unjudged[reason];
    uint64_t evicted = m->exchanges.evicted + m->endpoints.evicted + m->setups.evicted +
                       m->sequences.evicted + m->pairs.evicted + m->rev1_exchanges.evicted +
                       m->rev1_ends.evicted;
    return (struct fcvi_monitor_count){evicted, 0};
}

const char *fcvi_monitor_unjudged_text(enum fcvi_monitor_unjudged reason)
{
    static const char *const words[] = {
        [FCVI_UNJUDGED_SETUP] = "the Connection's setup may not be in the capture",
        [FCVI_UNJUDGED_EXCHANGE] = "the beginning of the Exchange may not be in the capture",
        [FCVI_UNJUDGED_REQUEST] = "what the IU answers may not be in the capture",
        [FCVI_UNJUDGED_MISSING] = "frames may be missing or out of order, so counts are not judged exactly",
        [FCVI_UNJUDGED_DAMAGED] = "the frame is damaged or not understood",
        [FCVI_UNJUDGED_BREACH] = "the other side had broken a rule in this Exchange",
        [FCVI_UNJUDGED_EVICTED] = "more goes on at once than the monitor has room for",
        [FCVI_UNJUDGED_UNSAID] =
            ("Rev 1.0 does not say whether a Message may go before FCVI_CONNECT_RESP2, or "
             "an IU behind its sender's Disconnect"),
    };
    FCVI_ASSERT(reason < FCVI_UNJUDGED_COUNT);
    return words[reason];
}
