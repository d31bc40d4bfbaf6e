/* 5.5: an IU is one Sequence, and a SEQ_ID names one Sequence at a time between two ports. */
#include "rules.h"

static struct sequence *sequence_of(struct judged_frame *s, uint8_t seq_id)
{
    uint64_t k0 = (uint64_t)s->in->network << 8 | seq_id, k1 = (uint64_t)s->s_id << 24 | s->d_id;
    struct sequence *q = mon_pool_find(s->m, &s->m->sequences, k0, k1);
    return q != NULL ? q : mon_pool_add(s->m, &s->m->sequences, k0, k1);
}

/* FCVI-5.5-06, 7.7.1: an abort of its Exchange, or a logout, has closed the Sequence, be it the last of its
 * side or an earlier one; frames of the Sequence that were under way when the ABTS was sent change nothing.
 * Nobody knows it of an Exchange that was forgotten to make room, or that was answered twice. Where its side
 * broke a rule in the Exchange, that may be why the Sequence looks open. */
static bool ended_with_exchange(struct judged_frame *s, const struct sequence *q)
{
    const struct exchange *x = mon_pool_find(s->m, &s->m->exchanges, q->x0, q->x1);
    const struct pair *p = mon_pair_here(s);
    if (x != NULL && (x->tainted >> (x->originator == s->s_id ? 0 : 1) & 1u))
        return true;
    return x == NULL || x->born > q->frame || x->aborted != 0 || x->headless ||
           (p != NULL && p->voided > q->frame);
}

/* FCVI-5.5-02, -04, -05: class 3: closed when the last frame was sent; class 2: when every frame has its ACK.
 * The sender knows both of its own Sequences, so this holds whatever was lost, but only a whole view shows
 * that no last frame and no ACK is missing from it. */
static void check_seq_id(struct judged_frame *s, const struct sequence *q, uint8_t seq_id)
{
    bool mine = q->x0 == s->x->node.k0 && q->x1 == s->x->node.k1;
    bool waits = q->cls == 2 && q->unacknowledged > 0;
    if (q->frame <= s->m->last_gap || !mon_exact(s->m, s->x) || (mine && s->x->born > q->frame))
        return;
    if (((q->open && !mine) || (waits && (!mine || !q->open))) && !ended_with_exchange(s, q))
        mon_report(s, FC(SEQ_ID), seq_id,
                   FCVI_BREACH_IN_WORDS(q->open ? "FCVI-5.5-02" : "FCVI-5.5-05",
                                        "the SEQ_ID is that of a Sequence which is not closed",
                                        "a SEQ_ID that is not in use"),
                   q->frame);
}

static uint8_t class_of(const struct fcvi_frame *f)
{
    uint8_t sof = f->input.sof;
    if (sof == FCVI_SOF_I2 || sof == FCVI_SOF_N2)
        return 2;
    return sof == FCVI_SOF_I3 || sof == FCVI_SOF_N3 ? 3 : 0;
}

/* FC-FS (FCVI-5.8.1-01): all frames of a Sequence are of one class of service. FCVI-5.6-02: SEQ_CNT does not
 * repeat in an IU, so that this has 65,536 frames at most. */
static void check_within(struct judged_frame *s, bool begins)
{
    enum { MOST = 65536 };
    struct side *own = s->own;
    uint8_t cls = class_of(s->f);
    if (begins) {
        own->frames = 1;
        own->cls = cls;
        return;
    }
    own->frames++;
    if (cls != 0 && own->cls != 0 && cls != own->cls)
        mon_report(s, (struct fcvi_place){"SOF", 0, 0, 0, 0}, s->f->input.sof,
                   FCVI_BREACH_IN_WORDS("FCVI-5.8.1-01", "the class of service changes within the Sequence",
                                        own->cls == 2 ? "class 2" : "class 3"),
                   own->frame);
    if (own->frames == MOST + 1)
        mon_report(s, FC(SEQ_CNT), fcvi_FC_SEQ_CNT(s->fc),
                   FCVI_BREACH_IN_WORDS("FCVI-5.6-02", "SEQ_CNT repeats within the IU",
                                        "at most 65,536 frames in one IU"),
                   own->frame);
}

static void check_start(struct judged_frame *s, bool begins)
{
    uint8_t sof = s->f->input.sof;
    bool initiates = sof == FCVI_SOF_I2 || sof == FCVI_SOF_I3,
         normal = sof == FCVI_SOF_N2 || sof == FCVI_SOF_N3;
    struct fcvi_place place = {"SOF", 0, 0, 0, 0};
    bool multi = fcvi_iu_row((enum fcvi_iu)s->iu)->has_payload;
    if (multi && ((begins && normal) || (!begins && initiates)))
        mon_report(s, place, sof,
                   FCVI_BREACH_IN_WORDS("FCVI-4.2-04",
                                        begins ? "the first frame of a Sequence does not start it"
                                               : "a frame within a Sequence starts one",
                                        begins ? "SOFi2 or SOFi3" : "SOFn2 or SOFn3"),
                   s->own->frame);
}

/* FCVI-T01-*-pos: First_Sequence is set in the frames of the first Sequence of an Exchange and in no other.
 * The codec knows it of IUs that have one place only. */
static void check_first(struct judged_frame *s)
{
    bool first = s->own->sequences == 1, seen = fcvi_FC_First_Sequence(s->fc);
    if (s->who == 0 && mon_is(s->iu, FCVI_BIT(SEND_RQST) | FCVI_BIT(WRITE_RQST)) && first != seen)
        mon_report(s, FC(First_Sequence), seen,
                   FCVI_BREACH(fcvi_iu_row((enum fcvi_iu)s->iu)->position,
                               "First_Sequence does not fit the Sequence's place in its Exchange", first),
                   s->own->frame);
}

void mon_rules_5_5(struct judged_frame *s)
{
    uint8_t seq_id = (uint8_t)fcvi_FC_SEQ_ID(s->fc);
    bool exact = mon_exact(s->m, s->x);
    bool begins = !s->own->open || s->own->seq_id != seq_id;
    if (exact && s->own->open && s->own->seq_id != seq_id) {
        begins = false;
        mon_report(s, FC(SEQ_ID), seq_id,
                   FCVI_BREACH("FCVI-4.2-04", "the SEQ_ID changes before End_Sequence", s->own->seq_id),
                   s->own->frame);
    }
    s->part = !begins;
    s->own->sequences += begins;
    if (exact) {
        check_start(s, begins);
        check_first(s);
        check_within(s, begins);
    }
    s->own->open = !s->end_sequence;
    s->own->seq_id = seq_id;
    if (!s->m->whole)
        return; /* which Sequence a SEQ_ID names is judged only where nothing is missing */
    struct sequence *q = sequence_of(s, seq_id);
    if (q->frame != 0 && begins)
        check_seq_id(s, q, seq_id);
    if (begins)
        q->unacknowledged = 0;
    q->unacknowledged++;
    q->x0 = s->x->node.k0;
    q->x1 = s->x->node.k1;
    q->frame = s->in->number;
    q->open = !s->end_sequence;
    q->cls = class_of(s->f);
}

void mon_sequence_acknowledged(struct judged_frame *s, struct exchange *x, unsigned whose, bool all)
{
    uint32_t from = whose == 0 ? x->originator : x->responder, to = whose == 0 ? x->responder : x->originator;
    uint64_t k0 = (uint64_t)s->in->network << 8 | (uint64_t)fcvi_FC_SEQ_ID(s->fc);
    struct sequence *q = mon_pool_find(s->m, &s->m->sequences, k0, (uint64_t)from << 24 | to);
    if (q == NULL || q->x0 != x->node.k0 || q->x1 != x->node.k1)
        return;
    uint64_t kind = fcvi_FC_R_CTL(s->fc);
    if ((kind == FCVI_R_CTL_ACK_1 || kind == FCVI_R_CTL_ACK_0) && q->cls == 3 && !x->reused &&
        mon_exact(s->m, x))
        mon_report(s, FC(R_CTL), kind,
                   FCVI_BREACH_IN_WORDS("FCVI-5.8.1-01", "an ACK for a Sequence of class 3", "no ACK"),
                   q->frame);
    q->unacknowledged = all || q->unacknowledged == 0 ? 0 : q->unacknowledged - 1;
}
