/* Exchanges: which one an IU belongs to, where one begins, and what a frame leaves behind. */
#include "rules.h"

static uint64_t x_key(uint32_t network, uint16_t ox_id)
{
    return (uint64_t)network << 16 | ox_id;
}

static uint64_t port_key(uint32_t originator, uint32_t responder)
{
    return (uint64_t)originator << 24 | responder;
}

struct exchange *mon_exchange_find(struct fcvi_monitor *m, uint32_t network, uint32_t originator,
                                   uint32_t responder, uint16_t ox_id)
{
    return mon_pool_find(m, &m->exchanges, x_key(network, ox_id), port_key(originator, responder));
}

/* The frame looks like the first of its Exchange. */
static bool looks_first(const struct judged_frame *s)
{
    return s->who == 0 && fcvi_FC_First_Sequence(s->fc) && fcvi_FC_SEQ_CNT(s->fc) == 0 &&
           (s->f->payload_length == 0 || !fcvi_FC_Relative_Offset_Present(s->fc) ||
            fcvi_FC_Parameter(s->fc) == 0);
}

/* The Exchange idle longest is forgotten: what others wait for of it does not come. */
static void make_room(struct fcvi_monitor *m)
{
    const struct exchange *x = mon_pool_oldest(m, &m->exchanges);
    if (x == NULL)
        return;
    if (x->group == G_MESSAGE && x->waits)
        mon_depth_lost(m, x);
    if (x->group == G_SETUP && x->over == 0)
        mon_connection_lost(m, x);
}

static struct exchange *begin(struct judged_frame *s, bool headless)
{
    uint32_t network = s->in->network;
    uint32_t from = s->who == 0 ? s->s_id : s->d_id, to = s->who == 0 ? s->d_id : s->s_id;
    uint16_t ox_id = (uint16_t)fcvi_FC_OX_ID(s->fc);
    struct exchange *x = s->x;
    bool reused = x != NULL;
    if (reused) {
        memset((uint8_t *)x + sizeof x->node, 0, sizeof *x - sizeof x->node);
    } else {
        make_room(s->m);
        x = mon_pool_add(s->m, &s->m->exchanges, x_key(network, ox_id), port_key(from, to));
    }
    FCVI_ASSERT(x->node.k0 == x_key(network, ox_id) && x->node.k1 == port_key(from, to));
    x->born = s->in->number;
    x->touched = s->in->time_us;
    x->originator = from;
    x->responder = to;
    x->network = network;
    x->ox_id = ox_id;
    x->group = s->group;
    x->headless = headless;
    x->reused = reused;
    return x;
}

/* The frame names the same Message or setup as those seen before. */
static bool fits(const struct judged_frame *s, const struct exchange *x)
{
    const struct side *own = &x->side[s->who], *far = &x->side[1u - s->who];
    if (x->group != s->group || (own->frame != 0 && own->id != s->id))
        return false;
    return far->frame == 0 || (uint32_t)far->id == (uint32_t)s->id;
}

/* A request that the Fabric delivered twice is answered twice: the responder begins again. */
static bool answers_again(const struct judged_frame *s)
{
    const unsigned answers = FCVI_IUS_MSG_RESP | FCVI_BIT(CONNECT_RESP1) | FCVI_BIT(DISCONNECT_RESP);
    bool first = s->f->payload_length == 0 || fcvi_FC_Parameter(s->fc) == 0;
    return (s->m->config.trust & FCVI_TRUST_ONCE) == 0 && mon_is(s->iu, answers) && first &&
           fcvi_FC_SEQ_CNT(s->fc) == 0 && s->x->side[1].frame != 0 && s->x->group == s->group;
}

/* How the two answers fit together nobody can tell. */
static void begin_answer(struct judged_frame *s)
{
    memset(&s->x->side[1], 0, sizeof s->x->side[1]);
    s->x->headless = s->x->two_answers = true;
}

/* A login or logout after its last frame ended it (7.7.1, 8.4.2 g, 8.5.3 c). */
static bool logged_out(struct judged_frame *s)
{
    const struct exchange *x = s->x;
    if (s->m->voided <= x->born)
        return false;
    uint64_t last = x->side[0].frame > x->side[1].frame ? x->side[0].frame : x->side[1].frame;
    const struct pair *p = s->m->voided > last ? mon_pair_here(s) : NULL;
    return p != NULL && p->voided > last;
}

/* A login frees every name (8.4.2 g, 8.5.3 c), and OX_IDs are free at once (5.4), so that a port that logs in
 * again may give a new Message or setup all the names of an old one. Neither the login nor the beginning of
 * what follows need be in the capture. But ACC, RESP1 and RESP2 answer each other before the next Message:
 * what comes sooner than two answers of these ports take belongs to what was seen before. */
static bool renamed(const struct judged_frame *s)
{
    const struct fcvi_monitor *m = s->m;
    const struct side *side = s->x->side;
    uint64_t last = side[0].frame > side[1].frame ? side[0].frame : side[1].frame;
    uint64_t now = s->in->time_us, then = s->x->touched;
    if ((m->config.trust & FCVI_TRUST_ALL) != 0 && last > m->last_gap)
        return now - then >= m->config.r_a_tov_us;
    uint64_t since = now >= then ? now - then : then - now;
    return m->answers < MON_ENOUGH_ANSWERS || since >= 2 * m->answer_us || since >= m->config.r_a_tov_us;
}

/* The first frame of an Exchange of which later ones were seen first: busy may have sent it back, before the
 * capture began, and it is no beginning. */
static bool comes_again(const struct judged_frame *s)
{
    const struct exchange *x = s->x;
    return x->headless && x->side[0].frame != 0 && x->over == 0 && x->aborted == 0 && fits(s, x);
}

/* Without a whole view an OX_ID may have been used again unseen: only what names the same Message or setup,
 * and certainly means it, is compared, and what looks like a beginning begins. */
static bool take_loosely(struct judged_frame *s)
{
    if (s->starts || renamed(s) || !fits(s, s->x) || logged_out(s))
        s->x = begin(s, !s->starts || comes_again(s));
    else if (answers_again(s) && s->x->has_rx_id && s->x->rx_id != fcvi_FC_RX_ID(s->fc))
        s->x->two_answers = true;
    return true;
}

static bool take_exactly(struct judged_frame *s)
{
    struct exchange *x = s->x;
    bool other = x->side[s->who].frame != 0 && x->side[s->who].id != s->id;
    if (x->group == s->group && !other && x->side[s->who].refused != 0)
        return true; /* a frame that was sent back may come again */
    if (answers_again(s)) {
        begin_answer(s);
        return true;
    }
    bool ended = x->over != 0 || x->aborted != 0 || (s->starts && logged_out(s));
    bool again = s->who == 0 && fcvi_FC_SEQ_CNT(s->fc) == 0 && other && ended;
    if (s->starts && !ended && (other || x->group != s->group))
        mon_rules_5_4_reuse(s);
    if (again || (s->starts && (ended || other || x->group != s->group))) {
        s->x = begin(s, false);
        return true;
    }
    if (x->group == s->group)
        return true;
    mon_report(s, DH(s, FCVI_OPCODE), fcvi_DH_FCVI_OPCODE(s->dh),
               FCVI_BREACH_IN_WORDS(fcvi_iu_row((enum fcvi_iu)s->iu)->position,
                                    "the IU has no place in the Exchange that it is sent in",
                                    "an Exchange of its own"),
               x->side[s->who].frame);
    return false;
}

bool mon_exchange_of(struct judged_frame *s)
{
    uint32_t from = s->who == 0 ? s->s_id : s->d_id, to = s->who == 0 ? s->d_id : s->s_id;
    s->starts = looks_first(s);
    s->x = mon_exchange_find(s->m, s->in->network, from, to, (uint16_t)fcvi_FC_OX_ID(s->fc));
    if (s->x == NULL)
        s->x = begin(s, !s->starts && !mon_knows_exchanges(s->m));
    else if (!(mon_exact(s->m, s->x) ? take_exactly(s) : take_loosely(s)))
        return false;
    struct exchange *x = s->x;
    s->own = s->who == 0 ? &x->side[0] : &x->side[1];
    s->far = s->who == 0 ? &x->side[1] : &x->side[0];
    if (x->headless)
        mon_unjudged(s->m, FCVI_UNJUDGED_EXCHANGE, s->in->number);
    return true;
}

void mon_exchange_note(struct judged_frame *s)
{
    struct exchange *x = s->x;
    FCVI_ASSERT(s->own == &x->side[s->who]);
    if (s->own->frame == 0 || !x->headless)
        s->own->id = s->id;
    s->own->frame = s->in->number;
    x->touched = s->in->time_us;
    if (s->in->broken)
        x->tainted |= (uint8_t)(1u << s->who);
    if (s->end_sequence && s->last) {
        x->over = s->in->number;
        x->over_side = s->who;
        x->over_cnt = (uint16_t)fcvi_FC_SEQ_CNT(s->fc);
    }
}
