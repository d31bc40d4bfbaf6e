/* Rev 1.0: the direction of a Connection that a frame goes in. */
#include "rev1.h"

struct r1_end *mon_rev1_end(struct judged_frame *s, uint32_t from, uint32_t to, uint32_t handle)
{
    return mon_pool_find(s->m, &s->m->rev1_ends, (uint64_t)s->in->network << 32 | handle,
                         (uint64_t)from << 24 | to);
}

struct r1_end *mon_rev1_target(struct r1_judged_frame *r)
{
    struct judged_frame *s = r->s;
    struct r1_end *end = mon_rev1_end(s, s->s_id, s->d_id, (uint32_t)fcvi_DH_REV1_VI_HANDLE(s->dh));
    const struct pair *p = s->m->voided == 0 ? NULL : mon_pair_here(s);
    if (end != NULL && end->left && end->made > s->m->last_gap) {
        if (s->iu != FCVI_IU_DISCONNECT_RESP) /* which the other port's Disconnect asks for */
            mon_unjudged(s->m, FCVI_UNJUDGED_UNSAID, s->in->number);
        return NULL;
    }
    if (end == NULL || end->unsure || end->made <= s->m->last_gap || (p != NULL && p->voided > end->made)) {
        mon_unjudged(s->m, FCVI_UNJUDGED_SETUP, s->in->number);
        return NULL;
    }
    return end;
}

void mon_rev1_pref(struct r1_judged_frame *r, struct r1_end *end)
{
    struct judged_frame *s = r->s;
    if (fcvi_FC_Priority_Enable(s->fc)) /* the byte is no CS_CTL then (FC-FS) */
        return;
    const bool pref = fcvi_FC_PREF(s->fc) != 0;
    const bool of_setup = end->of_setup;
    end->of_setup = false;
    if (!end->has_pref || end->pref == pref)
        return;
    if (of_setup && pref) { /* R26: the IUs of a setup are before the Connection */
        end->pref = true;
        return;
    }
    mon_report(s, FC(PREF), pref,
               FCVI_BREACH(end->pref ? "REV1-5.6.2-01" : "REV1-5.6.2-02",
                           "PREF is not what it was in the sender's frames of the Connection before",
                           end->pref),
               end->made);
    end->has_pref = false; /* it is told once of a Connection */
}
