/* How far what was seen can be trusted: gaps, evictions, and sides that broke a rule. It calls no rule. */
#include "judged_frame.h"

void fcvi_monitor_gap(struct fcvi_monitor *m)
{
    m->last_gap = m->latest + 1;
}

void fcvi_monitor_veiled(struct fcvi_monitor *m)
{
    if (!m->whole) {
        fcvi_monitor_gap(m);
        return;
    }
    m->veiled = true;
    if (m->endpoints.newest != NONE) /* a handle may have got another meaning */
        mon_pool_clear(m, &m->endpoints);
}

bool mon_knows_all(const struct fcvi_monitor *m)
{
    return !m->veiled && mon_knows_exchanges(m);
}

bool mon_knows_exchanges(const struct fcvi_monitor *m)
{
    const unsigned whole = FCVI_TRUST_ALL | FCVI_TRUST_START | FCVI_TRUST_ORDER;
    return (m->config.trust & whole) == whole && m->last_gap == 0 && m->exchanges.evicted == 0 &&
           m->endpoints.evicted == 0 && m->setups.evicted == 0;
}

bool mon_far_good(struct judged_frame *s)
{
    unsigned tainted = s->x->tainted;
    bool good = (tainted >> (1u - s->who) & 1u) == 0;
    if (!good)
        mon_unjudged(s->m, FCVI_UNJUDGED_BREACH, s->in->number);
    return good;
}
