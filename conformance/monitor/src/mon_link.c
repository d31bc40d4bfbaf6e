/* Basic Link Services and link control (FC-FS, 5.8.1): what they do to Exchanges and Sequences. */
#include "rev1/rev1.h"
#include "rules.h"

static struct exchange *exchange_here(struct judged_frame *s)
{
    uint32_t from = s->who == 0 ? s->s_id : s->d_id, to = s->who == 0 ? s->d_id : s->s_id;
    struct exchange *x = mon_exchange_find(s->m, s->in->network, from, to, (uint16_t)fcvi_FC_OX_ID(s->fc));
    const struct pair *p = x == NULL ? NULL : mon_pair_here(s);
    bool over = p != NULL && p->voided > x->side[0].frame && p->voided > x->side[1].frame;
    return over ? NULL : x; /* a login ended the Exchange (7.7.1): its late frames say nothing */
}

/* The originator may use an OX_ID again at once (5.4). So the ABTS of a responder that has sent nothing in
 * this Exchange may mean the Exchange before, and nobody can tell whether this one goes on. */
static void abort_exchange(struct judged_frame *s, struct exchange *x)
{
    if (s->who == 1 && x->reused && x->side[1].frame == 0) {
        x->headless = true;
        return;
    }
    if (x->group == G_MESSAGE)
        mon_rules_8_4_abort(s);
    struct endpoint *e = x->group != G_DISCONNECT
                             ? NULL
                             : mon_endpoint_find(s->m, x->network, x->responder, x->disconnect.handle);
    if (e != NULL && s->who == 0) { /* its DISCONNECT_RQST may come again (E59) */
        e->left = false;
        e->owed = true;
    }
    x->aborted = s->in->number;
    x->aborter = s->who;
    if (mon_exact(s->m, x)) /* else it may mean another Exchange of that OX_ID, which was not seen */
        x->touched = s->in->time_us;
}

/* FCVI-5.8.1-01: BA_ACC names the Exchange of the ABTS that it answers. The answering side has the ABTS; its
 * OX_ID stands in both headers, so this holds whatever was lost. */
static void check_ba_acc(struct judged_frame *s)
{
    if (s->x->aborted == 0 && !s->x->reused && mon_exact(s->m, s->x))
        mon_report(s, FC(R_CTL), fcvi_FC_R_CTL(s->fc),
                   FCVI_BREACH_IN_WORDS("FCVI-5.8.1-01", "BA_ACC without an ABTS", "an ABTS before"), 0);
    uint64_t ox_id = fcvi_BA_ACC_BA_OX_ID(s->f->payload);
    if (ox_id != fcvi_FC_OX_ID(s->fc))
        mon_report(s, FCVI_AT(s->f->payload - s->fc, BA_ACC, BA_OX_ID), ox_id,
                   FCVI_BREACH("FCVI-5.8.1-01", "BA_ACC names another Exchange than its header",
                               fcvi_FC_OX_ID(s->fc)),
                   s->x->aborted);
    if (s->x->aborted == 0)
        s->x->headless = true; /* its sender took an ABTS of the Exchange before for one of this Exchange */
}

void mon_link_services(struct judged_frame *s)
{
    struct exchange *x = exchange_here(s);
    uint64_t r_ctl = fcvi_FC_R_CTL(s->fc);
    if (r_ctl == FCVI_R_CTL_ABTS)
        mon_rev1_abort(s);
    if (x == NULL)
        return; /* of another FC-4, or never seen */
    s->x = x;
    if (r_ctl == FCVI_R_CTL_ABTS) {
        mon_rules_5_8_abort(s);
        abort_exchange(s, x);
    } else if (r_ctl == FCVI_R_CTL_BA_ACC && s->f->payload_length >= FCVI_BA_ACC_LENGTH)
        check_ba_acc(s);
}

/* FCVI-5.8.1-01: what is acknowledged was sent (ABTS and its answer too, in class 2). Who acknowledges has
 * it; only a whole view shows it missing.
 */
static void check_ack(struct judged_frame *s, const struct exchange *x, const struct side *whose)
{
    uint16_t cnt = (uint16_t)fcvi_FC_SEQ_CNT(s->fc);
    bool sent = whose->frame != 0 && (int16_t)(cnt - whose->most) <= 0;
    if (!sent && !x->reused && x->aborted == 0 && mon_exact(s->m, x) &&
        ((unsigned)x->tainted >> (1u - s->who) & 1u) == 0)
        mon_report(s, FC(SEQ_CNT), cnt,
                   FCVI_BREACH_IN_WORDS("FCVI-5.8.1-01", "an ACK for a frame that was not sent",
                                        "the SEQ_CNT of a frame before"),
                   whose->frame);
}

void mon_link_control(struct judged_frame *s)
{
    struct exchange *x = exchange_here(s);
    uint64_t kind = fcvi_FC_R_CTL(s->fc);
    unsigned whose = 1u - s->who;
    if (x == NULL || kind < FCVI_R_CTL_ACK_1 || kind > FCVI_R_CTL_F_BSY_TO_DATA)
        return;
    s->x = x;
    struct side *side = &x->side[whose];
    mon_rules_5_8_rx_id(s);
    if (kind == FCVI_R_CTL_ACK_1 || kind == FCVI_R_CTL_ACK_0)
        check_ack(s, x, side);
    mon_sequence_acknowledged(s, x, whose, kind == FCVI_R_CTL_ACK_0);
    if (kind == FCVI_R_CTL_ACK_1 || kind == FCVI_R_CTL_ACK_0)
        return;
    side->refused++;
}
