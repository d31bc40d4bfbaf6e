/* Rev 1.0: what is certain about the frame at hand, and what its sender is told. */
#include "rev1.h"

bool mon_rev1_knows_all(const struct judged_frame *s)
{
    const struct fcvi_monitor *m = s->m;
    const bool nothing_ended = m->voided < m->rev1_first; /* logins before the first IU ended nothing */
    return (m->config.trust & FCVI_TRUST_START) != 0 && m->whole && m->last_gap == 0 && !m->veiled &&
           nothing_ended && !m->rev1_blind && m->rev1_exchanges.evicted == 0 && m->rev1_ends.evicted == 0;
}

bool mon_rev1_far_good(const struct r1_judged_frame *r)
{
    const bool good = ((unsigned)r->x->tainted >> (1u - r->s->who) & 1u) == 0;
    if (!good)
        mon_unjudged(r->s->m, FCVI_UNJUDGED_BREACH, r->s->in->number);
    return good;
}

void mon_rev1_report(struct r1_judged_frame *r, struct fcvi_place place, uint64_t seen, struct fcvi_rule rule,
                     uint64_t other)
{
    mon_report(r->s, place, seen, rule, other);
    if (r->x != NULL && rule.cls != FCVI_NOTICE)
        r->x->tainted |= (uint8_t)(1u << r->s->who);
}

bool mon_rev1_once(const struct judged_frame *s)
{
    const uint8_t sof = s->f->input.sof;
    return (s->m->config.trust & FCVI_TRUST_ONCE) != 0 && (sof == FCVI_SOF_I3 || sof == FCVI_SOF_N3);
}
