/* 5.4: a Message, a setup or a Disconnect begins an Exchange, and its last IU ends it. */
#include "rules.h"

/* 4.2, 5.4 (FCVI-4.2-02): an OX_ID names one Exchange at a time. The originator knows its own Exchanges, so
 * whatever was lost it cannot begin another while it has neither ended nor aborted the first, nor got an end.
 * Only a whole view shows that no end was seen; a Disconnect or a logout may have freed it, and so may an end
 * that the other side did not mark as one (6.3.1). */
void mon_rules_5_4_reuse(struct judged_frame *s)
{
    const struct exchange *x = s->x;
    struct pair *p = mon_pair_of(s->m, s->in->network, x->originator, x->responder, false);
    bool freed = p != NULL ? p->disconnected > x->born || p->voided > x->born : s->m->pairs.evicted != 0;
    if (x->side[0].frame == 0 || freed || (x->tainted & 2u) != 0)
        return;
    mon_report(s, FC(OX_ID), x->ox_id,
               FCVI_BREACH_IN_WORDS(s->group == G_MESSAGE ? "FCVI-4.2-02" : "FCVI-4.2-03",
                                    "the OX_ID is that of an Exchange which has not ended",
                                    "an OX_ID that is not in use"),
               x->side[0].frame);
}

/* Nothing follows the last frame of the last Sequence (FCVI-5.4-01). Seen exactly, any frame breaks that;
 * otherwise only one whose SEQ_CNT is beyond the last, since a late one may have overtaken nothing. */
static bool after_the_end(struct judged_frame *s)
{
    const struct exchange *x = s->x;
    if (x->over == 0 || (x->over_side != s->who && (x->tainted >> x->over_side & 1u)))
        return false; /* it may go on when the other side ended it by a breach */
    if (x->over_side == 0 && mon_may_be_due(s))
        return false;
    if (mon_exact(s->m, x))
        return true;
    int16_t beyond = (int16_t)((uint16_t)fcvi_FC_SEQ_CNT(s->fc) - x->over_cnt);
    return x->over_side == s->who && beyond > 0 && !x->headless;
}

bool mon_rules_5_4(struct judged_frame *s)
{
    const struct exchange *x = s->x;
    if (after_the_end(s)) {
        mon_report(
            s, FC(OX_ID), x->ox_id,
            FCVI_BREACH_IN_WORDS("FCVI-5.4-01", "a frame follows the end of its Exchange", "a new Exchange"),
            x->over);
        return false;
    }
    /* FC-FS: who has aborted an Exchange sends nothing more in it. Its own order shows that. */
    if (x->aborted != 0 && x->aborter == s->who && mon_exact(s->m, x)) {
        mon_report(s, FC(OX_ID), x->ox_id,
                   FCVI_BREACH_IN_WORDS("FCVI-5.8.1-01", "a frame follows the sender's ABTS in the Exchange",
                                        "none"),
                   x->aborted);
        return false;
    }
    return true;
}
