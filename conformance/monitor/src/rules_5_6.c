/* 5.6, 5.8.6, 5.8.7: SEQ_CNT and Relative Offset go on from frame to frame of one side of an Exchange, over
 * all its Sequences (E18, E19: each side counts for itself, from 0). */
#include "rules.h"

enum { FAR_APART = 1 << 22 }; /* 32,768 frames of 128 bytes: beyond that SEQ_CNT may have wrapped unseen */

static bool has_offset(const struct judged_frame *s)
{
    return s->f->payload_length != 0 && fcvi_FC_Relative_Offset_Present(s->fc);
}

static void remember(struct judged_frame *s)
{
    struct side *own = s->own;
    uint16_t cnt = (uint16_t)fcvi_FC_SEQ_CNT(s->fc);
    own->strays |= cnt != (own->frame == 0 ? 0 : (uint16_t)(own->cnt + 1));
    own->most = own->frame == 0 || (int16_t)(cnt - own->most) > 0 ? cnt : own->most;
    own->cnt = cnt;
    if (!has_offset(s))
        return;
    /* the parts of a connect IU are read where they stand, be their Relative Offsets right or not */
    bool counted = s->group == G_SETUP && mon_exact(s->m, s->x);
    own->offset = !counted       ? (uint32_t)fcvi_FC_Parameter(s->fc)
                  : own->payload ? own->offset + own->length
                                 : 0;
    own->payload = true;
    own->payload_cnt = own->cnt;
    own->length = s->f->payload_length;
}

/* ---- seen exactly ---- */

/* E18: the number goes on from the other side's. Which of its frames was the last to arrive, and which of
 * them arrived at all, is not known where they did not come in their order. */
static bool goes_on_from(const struct side *far, uint16_t cnt)
{
    if (far->frame == 0)
        return false;
    return far->strays ? cnt != 0 && (int16_t)(cnt - 1 - far->most) <= 0 : cnt == (uint16_t)(far->cnt + 1);
}

/* FCVI-5.6-01, 5.8.6-01: the sender's next frame has the next SEQ_CNT, whatever becomes of its frames. A
 * frame that busy or reject sent back may come again. False: it did. */
static bool count_exactly(struct judged_frame *s)
{
    struct side *own = s->own;
    uint16_t cnt = (uint16_t)fcvi_FC_SEQ_CNT(s->fc);
    uint16_t wanted = own->frame == 0 ? 0 : (uint16_t)(own->cnt + 1);
    if (cnt == wanted)
        return true;
    if (own->refused != 0 && own->frame != 0 && (int16_t)(cnt - own->cnt) <= 0) {
        own->refused--;
        return false;
    }
    /* E18: one count for both sides is tolerated where the responder takes it up */
    bool takes_up = !own->open && goes_on_from(s->far, cnt) && (s->who == 1 || s->x->shared_count);
    if (takes_up && s->x->shared_count)
        return true;
    struct fcvi_rule rule =
        takes_up
            ? FCVI_TOLERATED("FCVI-5.6-01", "E18", "SEQ_CNT goes on from the originator's frames", wanted)
            : FCVI_BREACH(own->frame == 0 ? "FCVI-5.6-01" : "FCVI-5.8.6-01",
                          "SEQ_CNT does not go on from the sender's previous frame of the Exchange", wanted);
    s->x->shared_count |= takes_up;
    mon_report(s, FC(SEQ_CNT), cnt, rule, own->frame);
    return true;
}

static void offset_exactly(struct judged_frame *s)
{
    const struct side *own = s->own;
    uint32_t offset = (uint32_t)fcvi_FC_Parameter(s->fc);
    uint32_t wanted = own->payload ? own->offset + own->length : 0;
    const unsigned first_normal = 0x30; /* below it a SOF is SOFix, or not known */
    bool codec_says_so = s->f->input.sof < first_normal && !own->payload && fcvi_FC_First_Sequence(s->fc) &&
                         fcvi_FC_SEQ_CNT(s->fc) == 0;
    if (offset == wanted || codec_says_so)
        return;
    const char *id = !own->payload ? "FCVI-5.8.7-01" : own->open ? "FCVI-5.8.7-02" : "FCVI-5.6-09";
    mon_report(s, FC(Parameter), offset,
               FCVI_BREACH(id, "Relative Offset does not go on from the sender's previous payload", wanted),
               own->frame);
}

/* ---- seen in part ---- */

/* Of two payloads of one Message or setup, SEQ_CNT and Relative Offset say the same order and, when one
 * follows the other, fit without gap; equal SEQ_CNTs are one frame seen twice. That holds for any loss and
 * any order, as long as SEQ_CNT did not wrap between them. False: the frame was seen before. */
static bool compare(struct judged_frame *s)
{
    const struct side *own = s->own;
    uint32_t offset = (uint32_t)fcvi_FC_Parameter(s->fc), length = s->f->payload_length;
    int16_t later = (int16_t)((uint16_t)fcvi_FC_SEQ_CNT(s->fc) - own->payload_cnt);
    int64_t gap = later > 0 ? (int64_t)offset - ((int64_t)own->offset + own->length)
                            : (int64_t)own->offset - ((int64_t)offset + length);
    if (offset == own->offset && length == own->length && later == 0)
        return false;
    if (gap > FAR_APART || gap < -FAR_APART)
        return true;
    bool same = own->seq_id == fcvi_FC_SEQ_ID(s->fc);
    if (later == 0 || (gap < 0 && (later < 0) == (offset >= own->offset)))
        mon_report(
            s, FC(SEQ_CNT), fcvi_FC_SEQ_CNT(s->fc),
            FCVI_BREACH_IN_WORDS(later == 0 && same ? "FCVI-5.8.6-02" : "FCVI-5.8.6-01",
                                 "SEQ_CNT and Relative Offset disagree with another frame of the Exchange",
                                 "both rise together"),
            own->frame);
    else if (gap < 0 || ((later == 1 || later == -1) && gap != 0))
        mon_report(s, FC(Parameter), offset,
                   FCVI_BREACH(same ? "FCVI-5.8.7-02" : "FCVI-5.6-09",
                               "Relative Offset does not fit the frame whose SEQ_CNT is next to it",
                               later > 0 ? own->offset + own->length : own->offset - length),
                   own->frame);
    return true;
}

bool mon_rules_5_6(struct judged_frame *s)
{
    bool fresh = true;
    if (mon_exact(s->m, s->x)) {
        fresh = count_exactly(s);
        if (fresh && has_offset(s))
            offset_exactly(s);
    } else {
        mon_unjudged(s->m, FCVI_UNJUDGED_MISSING, s->in->number);
        if (has_offset(s) && s->own->payload)
            fresh = compare(s);
        else if (s->own->frame != 0 && !has_offset(s))
            fresh = s->own->cnt != fcvi_FC_SEQ_CNT(s->fc) || s->own->seq_id != fcvi_FC_SEQ_ID(s->fc);
    }
    if (fresh)
        remember(s);
    return fresh;
}

/* ---- login ---- */

/* FCVI-5.6-03, -04, -08: an FC-VI Port, which this one is, since it takes part in a setup, logs in with S and
 * C. E17: C is bit 31. */
static void check_own_login(struct judged_frame *s, struct login *l)
{
    if (l->lacks == 0 || l->told || l->frame <= s->m->last_gap)
        return;
    l->told = true;
    struct fcvi_rule rule =
        FCVI_BREACH_IN_WORDS("FCVI-5.6-03", "the sender's PLOGI or ACC has not S", "S, and C in bit 31");
    if ((l->lacks & LACKS_S) == 0) {
        rule.requirement = "FCVI-5.6-08";
        rule.message = "the sender's PLOGI or ACC has not C";
        rule.erratum = l->lacks & LACKS_C_NOT_RANDOM ? "E17" : NULL;
    }
    uint8_t tainted = s->x->tainted; /* nothing is wrong with the Exchange */
    mon_report(s, FC(S_ID), s->s_id, rule, l->frame);
    s->x->tainted = tainted;
}

/* FCVI-5.6-06, -11: no setup is originated towards a port whose PLOGI or ACC lacked S or C, and (-05, -10)
 * one from such a port is refused with 20h. The sender has that port's PLOGI or ACC, else it were not logged
 * in. That an application rejects what is to be refused anyway (04h) is no excuse; what is wrong beside it
 * may have been seen first. */
void mon_rules_5_6_login(struct judged_frame *s)
{
    struct pair *p = mon_pair_here(s);
    bool status = s->iu != FCVI_IU_CONNECT_RQST && fcvi_DH_CONN_STS(s->dh);
    bool answer = s->iu == FCVI_IU_CONNECT_RESP1;
    if (p == NULL || (s->iu != FCVI_IU_CONNECT_RQST && !answer) || !mon_exact(s->m, s->x))
        return;
    check_own_login(s, &p->login[mon_pair_index(s->s_id, s->d_id)]);
    unsigned far = mon_pair_index(s->d_id, s->s_id);
    uint8_t lacks = p->login[far].lacks & (LACKS_S | LACKS_C);
    if (lacks == 0 || p->login[far].frame <= s->m->last_gap)
        return;
    bool rejected = status && fcvi_DH_Reason_Code(s->dh) == FCVI_REASON_CONNECT_REJECT &&
                    s->x->setup.mode == 1 && mon_far_good(s);
    if (status && !rejected)
        return;
    const char *id = answer ? (lacks & LACKS_S ? "FCVI-5.6-05" : "FCVI-5.6-10")
                            : (lacks & LACKS_S ? "FCVI-5.6-06" : "FCVI-5.6-11");
    struct fcvi_place place = rejected ? DH(s, Reason_Code) : DH(s, FCVI_OPCODE);
    mon_report(s, place, rejected ? FCVI_REASON_CONNECT_REJECT : fcvi_DH_FCVI_OPCODE(s->dh),
               FCVI_BREACH_IN_WORDS(id, "the port's login lacks what a Connection needs",
                                    answer ? "a refusal with 20h" : "no Connection Setup"),
               p->login[far].frame);
}
