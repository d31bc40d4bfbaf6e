/* Rev 1.0, 4.2, 5.4 and 5.6 with FC-PH: Sequences, the Sequence Initiative, RX_ID and the end of an Exchange.
 */
#include "rev1.h"

/* 4.2, 5.4: an IU is one Sequence. */
static void check_seq_id(struct r1_judged_frame *r)
{
    const struct judged_frame *s = r->s;
    const uint8_t seq_id = (uint8_t)fcvi_FC_SEQ_ID(s->fc);
    if (!r->begins && seq_id != r->own->seq_id)
        mon_rev1_report(r, FC(SEQ_ID), seq_id,
                        FCVI_BREACH("FCVI-4.2-04", "the SEQ_ID changes before End_Sequence", r->own->seq_id),
                        r->own->frame);
}

/* FC-PH: who has passed the Sequence Initiative on begins no Sequence until it comes back. The answer to a
 * Message ends its Exchange, so it does not come back. That the responder has none is its own affair only
 * when the originator has said so, and is not asked. */
static void check_initiative(struct r1_judged_frame *r)
{
    const struct judged_frame *s = r->s;
    if (s->group == G_MESSAGE && s->who == 0 && r->begins && r->own->passed && r->far->frame == 0 &&
        mon_rev1_once(s))
        mon_rev1_report(r, FC(SEQ_ID), fcvi_FC_SEQ_ID(s->fc),
                        FCVI_BREACH_IN_WORDS("FCVI-5.8.1-01",
                                             "the sender has passed the Sequence Initiative on",
                                             "Sequence Initiative in the last IU alone"),
                        r->own->frame);
}

/* 6.2, 6.4: at Reliable Reception the response ends the Exchange. */
static void check_last(struct r1_judged_frame *r)
{
    const struct judged_frame *s = r->s;
    if (s->last && s->end_sequence && r->x->level == FCVI_REV1_RELIABILITY_RELIABLE_RECEPTION &&
        mon_is(s->iu, FCVI_BIT(SEND_RQST) | FCVI_BIT(WRITE_RQST)))
        mon_rev1_report(r, FC(Last_Sequence), 1,
                        FCVI_BREACH(s->iu == FCVI_IU_SEND_RQST ? "FCVI-6.2.1-05" : "FCVI-6.4.1-06",
                                    "the Exchange ends where a response is due", 0),
                        r->own->frame);
}

/* FC-PH: an RX_ID of FFFFh names nothing, so only two names break the rule; the responder may give its name
 * later than in its first frame. CONNECT_RESP2, whose sender has seen what was said, bears the name or FFFFh.
 * In class 2 an ACK may have named it before. The rule of 2007 (FC-FS) is the same. */
static void check_rx_id(struct r1_judged_frame *r)
{
    const struct judged_frame *s = r->s;
    struct r1_exchange *x = r->x;
    const uint16_t seen = (uint16_t)fcvi_FC_RX_ID(s->fc);
    const bool spoke = x->rx_id != 0, named = spoke && x->rx_id - 1 != FC_X_ID_UNASSIGNED;
    if (!mon_rev1_once(s) || s->in->broken)
        return;
    if (s->who == 1 && named && seen != FC_X_ID_UNASSIGNED && seen != x->rx_id - 1)
        mon_rev1_report(r, FC(RX_ID), seen,
                        FCVI_BREACH("FCVI-5.8.1-01", "RX_ID changes within the Exchange", x->rx_id - 1),
                        r->own->frame);
    else if (s->who == 0 && s->iu == FCVI_IU_CONNECT_RESP2 && spoke && seen != x->rx_id - 1 &&
             mon_rev1_far_good(r))
        mon_rev1_report(r, FC(RX_ID), seen,
                        FCVI_BREACH("FCVI-5.8.1-01", "RX_ID is not what the responder named", x->rx_id - 1),
                        r->far->frame);
    if (s->who == 1 && (!named || seen != FC_X_ID_UNASSIGNED))
        x->rx_id = seen + 1u;
}

/* 4.2: a Message has an Exchange of its own, and one OX_ID is not that of two. The originator knows whether
 * its own has ended. Without the Connection it may have ended by a Disconnect. */
void mon_rev1_reuse(struct r1_judged_frame *r)
{
    struct judged_frame *s = r->s;
    struct r1_exchange *x = r->x;
    const struct r1_end *end = mon_rev1_end(s, s->s_id, s->d_id, x->handle);
    if (x->group != G_MESSAGE || s->group != G_MESSAGE || !mon_rev1_once(s) || (x->tainted & 2u) != 0 ||
        x->unsure || x->born <= s->m->last_gap || end == NULL || end->closed || end->unsure ||
        end->made > x->born)
        return;
    mon_report(s, FC(OX_ID), fcvi_FC_OX_ID(s->fc),
               FCVI_BREACH_IN_WORDS("FCVI-4.2-02", "the OX_ID is that of an Exchange which has not ended",
                                    "an OX_ID that is not in use"),
               x->side[0].frame);
}

/* Behind the rules of Messages, which know the level. */
void mon_rev1_sequence(struct r1_judged_frame *r)
{
    check_seq_id(r);
    check_initiative(r);
    check_last(r);
    check_rx_id(r);
}
