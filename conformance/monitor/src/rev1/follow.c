/* Rev 1.0: which Exchange a frame belongs to, and how far it is judged. */
#include "rev1.h"

static bool exact(const struct judged_frame *s, const struct r1_exchange *x)
{
    return s->m->whole && !x->unsure && x->born > s->m->last_gap;
}

static uint64_t name_of(uint32_t network, uint16_t ox_id)
{
    return (uint64_t)network << 16 | ox_id;
}

static struct r1_exchange *find(struct judged_frame *s)
{
    const uint32_t from = s->who == 0 ? s->s_id : s->d_id, to = s->who == 0 ? s->d_id : s->s_id;
    return mon_pool_find(s->m, &s->m->rev1_exchanges, name_of(s->in->network, (uint16_t)fcvi_FC_OX_ID(s->fc)),
                         (uint64_t)from << 24 | to);
}

static struct r1_exchange *begin(struct judged_frame *s, struct r1_exchange *x)
{
    if (x != NULL)
        memset((uint8_t *)x + sizeof x->node, 0, sizeof *x - sizeof x->node);
    else
        x = mon_pool_add(s->m, &s->m->rev1_exchanges, name_of(s->in->network, (uint16_t)fcvi_FC_OX_ID(s->fc)),
                         (uint64_t)s->s_id << 24 | s->d_id);
    x->born = s->in->number;
    x->originator = s->s_id;
    x->responder = s->d_id;
    x->network = s->in->network;
    x->group = s->group;
    x->iu = s->iu;
    x->id = (uint32_t)fcvi_DH_REV1_VI_MSG_ID(s->dh);
    x->handle = (uint32_t)fcvi_DH_REV1_VI_HANDLE(s->dh);
    x->pref = fcvi_FC_PREF(s->fc) != 0;
    x->has_pref = !fcvi_FC_Priority_Enable(s->fc);
    return x;
}

/* R23: a Disconnect begins an Exchange whether First_Sequence says so or not. */
static bool looks_first(const struct judged_frame *s)
{
    const bool first = fcvi_FC_First_Sequence(s->fc) || s->iu == FCVI_IU_DISCONNECT_RQST;
    return s->who == 0 && first && fcvi_FC_SEQ_CNT(s->fc) == 0;
}

/* A Fabric may deliver a frame twice, and class 2 may send it again: its Device_Header is that of the first.
 */
static bool comes_again(const struct judged_frame *s, const struct r1_exchange *x)
{
    const struct r1_side *own = &x->side[0];
    return own->frame != 0 && own->dh_length == s->f->dh_length &&
           memcmp(own->dh, s->dh, own->dh_length) == 0;
}

/* 5.4, 5.7.5: another Message of the Connection has another VI_MSG_ID, so an IU of the same one goes on in
 * its Exchange, whatever it says of itself. Delivered twice it would be its first frame. */
static bool goes_on(struct judged_frame *s, const struct r1_exchange *x)
{
    const struct r1_end *end = mon_rev1_end(s, s->s_id, s->d_id, x->handle);
    return mon_rev1_once(s) && exact(s, x) && !x->over && x->group == G_MESSAGE && s->iu == x->iu &&
           x->id == (uint32_t)fcvi_DH_REV1_VI_MSG_ID(s->dh) &&
           x->handle == (uint32_t)fcvi_DH_REV1_VI_HANDLE(s->dh) && end != NULL && !end->closed &&
           !end->unsure && end->made < x->born;
}

/* What an answer is that answers nothing. */
static const char *orphan(uint8_t iu)
{
    switch (iu) {
    case FCVI_IU_SEND_RESP:
        return "FCVI-6.3.1-01";
    case FCVI_IU_WRITE_RESP:
        return "FCVI-6.5.1-01";
    case FCVI_IU_READ_RESP:
        return "REV1-6.6-01";
    case FCVI_IU_CONNECT_RESP1:
        return "REV1-5.3-02";
    case FCVI_IU_CONNECT_RESP2:
        return "REV1-5.3-03";
    case FCVI_IU_DISCONNECT_RESP:
        return "REV1-6.11-01";
    default:
        return NULL;
    }
}

/* The beginning was not seen: with the whole stream in view there was none. */
static void judge_headless(struct r1_judged_frame *r)
{
    struct judged_frame *s = r->s;
    const char *id = orphan(s->iu);
    if (mon_rev1_knows_all(s) && id != NULL)
        mon_rev1_report(r, DH1(r, VI_OPCODE), fcvi_DH_REV1_VI_OPCODE(s->dh),
                        FCVI_BREACH_IN_WORDS(id, "the IU answers nothing that was sent in its Exchange",
                                             "a request before"),
                        0);
    else
        mon_unjudged(s->m, FCVI_UNJUDGED_EXCHANGE, s->in->number);
    s->m->rev1_blind |= s->group == G_SETUP;
}

/* Frames of the originator that came before the first one of the Exchange: what goes on from them is right.
 */
static void keep_headless(struct judged_frame *s, struct r1_exchange *x)
{
    const uint16_t cnt = (uint16_t)fcvi_FC_SEQ_CNT(s->fc);
    if (s->who != 0)
        return;
    if (x == NULL) {
        x = begin(s, NULL);
        x->headless = true;
    }
    if (!x->side[0].strays || (int16_t)(cnt - x->side[0].most) > 0)
        x->side[0].most = cnt;
    x->side[0].strays = true;
}

static struct r1_exchange *begin_behind(struct judged_frame *s, struct r1_exchange *x)
{
    const uint16_t most = x->side[0].most;
    x = begin(s, x);
    x->side[0].strays = true;
    x->side[0].most = most;
    return x;
}

/* A login ended all that was before it. */
static bool voided(struct judged_frame *s, const struct r1_exchange *x)
{
    const struct pair *p = s->m->voided <= x->born ? NULL : mon_pair_here(s);
    return p != NULL && p->voided > x->born;
}

/* The Exchange of the frame; NULL: it is not followed. */
static struct r1_exchange *exchange_of(struct r1_judged_frame *r)
{
    struct judged_frame *s = r->s;
    struct r1_exchange *x = find(s);
    if (x != NULL && voided(s, x))
        x->over = x->unsure = true;
    r->starts = looks_first(s);
    if (x != NULL && r->starts && x->side[0].open && x->side[0].cnt == UINT16_MAX)
        r->starts = false; /* SEQ_CNT has wrapped in a long Message */
    if (!r->starts) {
        if (x != NULL && !x->headless)
            return x;
        judge_headless(r);
        keep_headless(s, x);
        return NULL;
    }
    if (x == NULL)
        return begin(s, NULL);
    if (x->headless)
        return begin_behind(s, x);
    if (goes_on(s, x)) {
        r->starts = false;
        return x;
    }
    if ((!x->over || !mon_rev1_once(s)) && comes_again(s, x))
        return NULL;
    const bool open = !x->over;
    r->x = x;
    if (open && exact(s, x) && s->group == G_MESSAGE)
        mon_rev1_reuse(r);
    r->x = NULL;
    x = begin(s, x);
    x->unsure = open; /* frames of the one before may still come */
    return x;
}

/* 5.1, 5.2: an Exchange is of one Message, one setup or one Disconnect. */
static bool belongs(struct r1_judged_frame *r)
{
    struct judged_frame *s = r->s;
    if (r->x->group == s->group)
        return true;
    mon_rev1_report(r, DH1(r, VI_OPCODE), fcvi_DH_REV1_VI_OPCODE(s->dh),
                    FCVI_BREACH_IN_WORDS(r->x->group == G_SETUP ? "REV1-5.1-09" : "FCVI-4.2-02",
                                         "the IU has no place in the Exchange that it is sent in",
                                         "an Exchange of its own"),
                    r->x->born);
    return false;
}

static void note(struct r1_judged_frame *r)
{
    const struct judged_frame *s = r->s;
    struct r1_side *own = r->own;
    const uint16_t cnt = (uint16_t)fcvi_FC_SEQ_CNT(s->fc);
    const uint16_t next = (uint16_t)(own->cnt + 1);
    own->strays |= own->frame != 0 && cnt != next && (!r->begins || r->far->frame == 0);
    own->most = (own->frame == 0 && !own->strays) || (int16_t)(cnt - own->most) > 0 ? cnt : own->most;
    own->frame = s->in->number;
    own->cnt = cnt;
    own->sent++;
    own->open = !s->end_sequence;
    own->seq_id = (uint8_t)fcvi_FC_SEQ_ID(s->fc);
    own->passed = s->end_sequence && !s->last && fcvi_FC_Sequence_Initiative(s->fc);
    own->dh_length = s->f->dh_length > R1_DH_MOST ? R1_DH_MOST : (uint8_t)s->f->dh_length;
    memcpy(own->dh, s->dh, own->dh_length);
    if (s->f->payload_length != 0 && fcvi_FC_Relative_Offset_Present(s->fc)) {
        own->offset = (uint32_t)fcvi_FC_Parameter(s->fc);
        own->length = s->f->payload_length;
        own->payload = true;
    }
    own->unplaced |= s->f->payload_length != 0 && !fcvi_FC_Relative_Offset_Present(s->fc); /* R22 */
    if (s->in->broken)
        r->x->tainted |= (uint8_t)(1u << s->who);
    r->x->over |= s->end_sequence && s->last;
}

static void judge_exactly(struct r1_judged_frame *r)
{
    if (!belongs(r))
        return;
    if (r->s->group == G_SETUP)
        mon_rev1_setup(r);
    else if (r->s->group == G_MESSAGE)
        mon_rev1_message(r);
    else
        mon_rev1_disconnect(r);
    mon_rev1_sequence(r);
}

/* Sent by the side of the Exchange that may send it. */
static bool right_side(const struct judged_frame *s)
{
    const unsigned of_responder = FCVI_IUS_MSG_RESP | FCVI_BIT(CONNECT_RESP1) | FCVI_BIT(DISCONNECT_RESP);
    return mon_is(s->iu, of_responder) == (s->who == 1);
}

__attribute__((noinline, cold)) void mon_rev1_iu(struct judged_frame *s)
{
    s->iu = s->f->iu;
    s->dh = s->f->dh;
    if (s->m->rev1_first == 0)
        s->m->rev1_first = s->in->number;
    if (s->iu == FCVI_IU_NONE || s->dh == NULL || !right_side(s)) {
        mon_unjudged(s->m, FCVI_UNJUDGED_DAMAGED, s->in->number);
        fcvi_monitor_gap(s->m); /* what it would have changed is not known */
        return;
    }
    s->base = (uint16_t)(s->dh - s->fc);
    s->group = (uint8_t)mon_group(s->iu);
    s->end_sequence = fcvi_FC_End_Sequence(s->fc);
    s->last = fcvi_FC_Last_Sequence(s->fc);
    struct r1_judged_frame r = {.s = s};
    r.x = exchange_of(&r);
    if (r.x == NULL)
        return;
    r.own = &r.x->side[s->who];
    r.far = &r.x->side[1u - s->who];
    r.begins = !r.own->open;
    const bool judged = exact(s, r.x) && !r.x->aborted;
    s->m->rev1_blind |= !judged && s->group == G_SETUP;
    if (!judged)
        mon_unjudged(s->m, r.x->aborted ? FCVI_UNJUDGED_EXCHANGE : FCVI_UNJUDGED_MISSING, s->in->number);
    else if (mon_rev1_counts(&r))
        judge_exactly(&r);
    else
        return; /* it came before */
    note(&r);
}

static void close(struct r1_end *end)
{
    if (end != NULL)
        end->closed = end->unsure = true;
}

/* FC-PH (FCVI-5.8.1-01), as mon_rules_5_8_abort has it for 2007: the name that the responder gave, or none.
 */
static void check_abort(struct judged_frame *s, const struct r1_exchange *x)
{
    const uint16_t seen = (uint16_t)fcvi_FC_RX_ID(s->fc);
    const bool named = x->rx_id != 0 && x->rx_id - 1 != FC_X_ID_UNASSIGNED;
    const bool known = named && !x->unsure && !x->headless && !x->aborted && x->tainted == 0 &&
                       x->born > s->m->last_gap && mon_rev1_once(s) && mon_knows_all(s->m);
    if (known && seen != FC_X_ID_UNASSIGNED && seen != x->rx_id - 1)
        mon_report(s, FC(RX_ID), seen,
                   FCVI_BREACH("FCVI-5.8.1-01", "RX_ID of an ABTS is not that of its Exchange", x->rx_id - 1),
                   x->side[1].frame);
}

__attribute__((noinline, cold)) void mon_rev1_abort(struct judged_frame *s)
{
    struct r1_exchange *x = find(s);
    if (x == NULL)
        return;
    check_abort(s, x);
    x->over = x->aborted = true;
    if (x->group != G_SETUP || !x->accepted) /* a Message that is aborted takes its VI_MSG_ID with it */
        return;
    close(mon_rev1_end(s, x->originator, x->responder, x->resp_handle));
    close(mon_rev1_end(s, x->responder, x->originator, x->rqst_handle));
}
