/* 5.8.1, 5.8.2, 5.8.4: RX_ID, Sequence Initiative and Preference. */
#include "rules.h"

/* An ACK says nothing of itself but its OX_ID and SEQ_ID. A request that the Fabric delivered twice has two
 * ACKs, each perhaps with the name of an Exchange of its own; and of an OX_ID that was used again unseen the
 * ACK alone may have been captured. */
static bool names_are_certain(const struct judged_frame *s, bool ack)
{
    return (s->m->config.trust & FCVI_TRUST_ONCE) != 0 && (!ack || mon_exact(s->m, s->x));
}

/* FC-FS (FCVI-5.8.1-01): the responder names its RX_ID once; from then on both sides use it. The originator
 * has it from a frame that it answers here, so this holds whatever was lost; headless Exchanges are the same
 * one by their identity. FFFFh names nothing: before a name or behind it it breaks no rule of the
 * responder's. */
/* CONNECT_RESP2 answers a frame of the responder, so its sender knows whether there is a name, and which. */
static void check_resp2(struct judged_frame *s)
{
    uint64_t seen = fcvi_FC_RX_ID(s->fc);
    const struct exchange *x = s->x;
    bool once = (s->m->config.trust & FCVI_TRUST_ONCE) != 0;
    if (!once || x->reused || x->two_answers || !mon_exact(s->m, x) || !mon_far_good(s) || s->far->frame == 0)
        return;
    if (x->has_rx_id ? seen == FC_X_ID_UNASSIGNED && !x->rx_id_of_ack : seen != FC_X_ID_UNASSIGNED)
        mon_report(s, FC(RX_ID), seen,
                   FCVI_BREACH("FCVI-5.8.1-01", "RX_ID is not what the responder named",
                               x->has_rx_id ? x->rx_id : FC_X_ID_UNASSIGNED),
                   s->far->frame);
}

/* The first frame of the originator has a name that the responder cannot have given. An ACK may repeat it
 * where the next Sequence has the responder's own: that is the answer to an odd frame, which no rule is
 * about. */
static bool names_by_itself(const struct judged_frame *s, uint16_t seen)
{
    return s->who == 0 && seen != FC_X_ID_UNASSIGNED && fcvi_FC_First_Sequence(s->fc) &&
           fcvi_FC_SEQ_CNT(s->fc) == 0 && s->f->kind != FCVI_KIND_LINK_CONTROL && !s->x->has_rx_id;
}

void mon_rules_5_8_rx_id(struct judged_frame *s)
{
    struct exchange *x = s->x;
    uint16_t seen = (uint16_t)fcvi_FC_RX_ID(s->fc);
    bool answers = s->who == 1 || s->iu == FCVI_IU_CONNECT_RESP2;
    const struct side *own = &x->side[s->who], *far = &x->side[1u - s->who];
    if (names_by_itself(s, seen))
        x->two_answers = true;
    if (seen == FC_X_ID_UNASSIGNED || (s->who == 0 && !x->has_rx_id) || x->reused || x->two_answers)
        return;
    bool other = x->has_rx_id && x->rx_id != seen, ack = s->f->kind == FCVI_KIND_LINK_CONTROL;
    if (other && (ack || x->rx_id_of_ack) && !names_are_certain(s, ack)) {
        x->two_answers = true;
        return;
    }
    if (other && answers && mon_far_good(s))
        mon_report(s, FC(RX_ID), seen,
                   FCVI_BREACH("FCVI-5.8.1-01", "RX_ID changes within the Exchange", x->rx_id),
                   s->who == 1 ? own->frame : far->frame);
    if (s->who == 1) {
        x->has_rx_id = true;
        x->rx_id_of_ack = ack;
        x->rx_id = seen;
    }
}

/* FC-FS (FCVI-5.8.1-01): an ABTS has the name that the responder gave, or FFFFh where its sender does not
 * know it. Only a whole view shows which Exchange of that OX_ID is meant. */
void mon_rules_5_8_abort(struct judged_frame *s)
{
    const struct exchange *x = s->x;
    uint64_t seen = fcvi_FC_RX_ID(s->fc);
    bool known = x->has_rx_id && !x->rx_id_of_ack && !x->reused && !x->two_answers && mon_exact(s->m, x);
    if (known && seen != FC_X_ID_UNASSIGNED && seen != x->rx_id && mon_far_good(s))
        mon_report(s, FC(RX_ID), seen,
                   FCVI_BREACH("FCVI-5.8.1-01", "RX_ID of an ABTS is not that of its Exchange", x->rx_id),
                   x->side[1].frame);
}

/* FC-FS (FCVI-5.8.1-01): only the side that holds the Sequence Initiative sends Sequences. A side that uses
 * the initiative has received it, and a side always knows when it passed it on. Only a whole view shows that
 * it was not given back in between. E16: on the last Sequence the bit has no meaning. */
static void check_initiative(struct judged_frame *s)
{
    struct exchange *x = s->x;
    bool retry = s->own->refused != 0 || s->far->refused != 0;
    bool provoked = s->who == 1 && s->m->veiled; /* the payload that was cut may be what it answers */
    if (!provoked && mon_exact(s->m, x) && x->turn != s->who && !retry &&
        (s->who == 0 || s->far->frame != 0) && !mon_may_be_due(s) && mon_far_good(s))
        mon_report(s, FC(Exchange_Context), s->who,
                   FCVI_BREACH_IN_WORDS("FCVI-5.8.1-01", "the sender does not hold the Sequence Initiative",
                                        "a Sequence of the other side"),
                   s->own->frame);
    x->turn = s->who;
    if (s->end_sequence && !s->last && fcvi_FC_Sequence_Initiative(s->fc))
        x->turn = (uint8_t)(1u - s->who);
}

void mon_rules_5_8(struct judged_frame *s)
{
    mon_rules_5_8_rx_id(s);
    if (s->iu == FCVI_IU_CONNECT_RESP2)
        check_resp2(s);
    check_initiative(s);
}
