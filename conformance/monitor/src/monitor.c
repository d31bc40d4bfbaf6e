/* The monitor's block, and the way of a frame through the rules. */
#include "rev1/rev1.h"
#include "rules.h"

static uint64_t lay(uint64_t *end, uint64_t bytes)
{
    uint64_t start = *end;
    *end = (start + bytes + 63) & ~(uint64_t)63; /* lines of the caches, when the block begins with one */
    return start;
}

static void place(struct pool *p, uint64_t *end, uint32_t count, size_t size)
{
    uint32_t slots = 16;
    while (
        slots <
        4 * count) /* three quarters of them are empty, or more: what is looked for is mostly found at once */
        slots *= 2;
    p->size = (uint32_t)size;
    p->mask = slots - 1;
    p->items = (uint32_t)lay(end, (uint64_t)count * size);
    p->bound = p->items + count * p->size;
    p->slots = lay(end, (uint64_t)slots * sizeof(uint64_t));
    FCVI_ASSERT(p->bound > p->items && count < slots); /* a search ends at an empty slot */
}

enum { REV1_SHARE = 4 }; /* such devices are few: they have one place for so many of 2007 */

static bool limit(uint32_t *value, uint32_t normal)
{
    if (*value == 0)
        *value = normal;
    return *value >= 2 && *value <= 1u << 20;
}

/* Offsets of all tables; the size of the block, 0 when a limit is out of range. */
static uint64_t layout(struct fcvi_monitor *m, const struct fcvi_monitor_limits *limits)
{
    struct fcvi_monitor_limits l = *limits;
    if (!limit(&l.exchanges, 4096) || !limit(&l.endpoints, 2048) || !limit(&l.setups, 1024) ||
        !limit(&l.sequences, 1024) || !limit(&l.pairs, 512))
        return 0;
    uint64_t end = sizeof *m;
    lay(&end, 0);
    place(&m->exchanges, &end, l.exchanges, sizeof(struct exchange));
    place(&m->endpoints, &end, l.endpoints, sizeof(struct endpoint));
    place(&m->setups, &end, l.setups, sizeof(struct setup));
    place(&m->sequences, &end, l.sequences, sizeof(struct sequence));
    place(&m->pairs, &end, l.pairs, sizeof(struct pair));
    place(&m->rev1_exchanges, &end, l.exchanges / REV1_SHARE + 2, sizeof(struct r1_exchange));
    place(&m->rev1_ends, &end, l.endpoints / REV1_SHARE + 2, sizeof(struct r1_end));
    return end;
}

size_t fcvi_monitor_size(const struct fcvi_monitor_limits *limits)
{
    struct fcvi_monitor m = {0};
    return layout(&m, limits);
}

struct fcvi_monitor *fcvi_monitor_init(void *memory, size_t size, const struct fcvi_monitor_config *config)
{
    struct fcvi_monitor *m = memory;
    size_t needed = fcvi_monitor_size(&config->limits);
    if (needed == 0 || size < needed)
        return NULL;
    memset(m, 0, sizeof *m);
    m->config = *config;
    m->knows_r_a_tov = config->r_a_tov_us != 0;
    const unsigned both = FCVI_TRUST_ALL | FCVI_TRUST_ORDER;
    m->whole = (config->trust & both) == both;
    if (m->config.r_a_tov_us == 0)
        m->config.r_a_tov_us = 10000000;
    layout(m, &config->limits);
    fcvi_monitor_forget(m);
    return m;
}

void fcvi_monitor_forget(struct fcvi_monitor *m)
{
    mon_pool_clear(m, &m->exchanges);
    mon_pool_clear(m, &m->endpoints);
    mon_pool_clear(m, &m->setups);
    mon_pool_clear(m, &m->sequences);
    mon_pool_clear(m, &m->pairs);
    mon_pool_clear(m, &m->rev1_exchanges);
    mon_pool_clear(m, &m->rev1_ends);
    if (m->latest != 0) /* what was sent before the event may still come */
        fcvi_monitor_gap(m);
}

void fcvi_monitor_name(struct fcvi_monitor *m, uint32_t network, uint32_t port, uint32_t other,
                       uint64_t port_name)
{
    struct pair *p = mon_pair_of(m, network, port, other, true);
    p->name[mon_pair_index(port, other)] = (struct name){port_name, UINT64_MAX};
}

/* ---- a frame ---- */

static void judge_message(struct judged_frame *s)
{
    FCVI_ASSERT(mon_is(s->iu, FCVI_IUS_MSG_RQST) == (s->who == 0));
    mon_rules_5_9(s);
    mon_rules_5_8_2(s);
    mon_rules_7_3_rights(s);
    mon_rules_7_3_depth(s);
    if (mon_rules_5_2(s))
        mon_rules_6_2(s);
}

static void judge_setup(struct judged_frame *s)
{
    mon_rules_5_6_login(s);
    mon_connection_payload(s);
    mon_rules_6_8(s);
    mon_rules_7_3(s);
    mon_rules_5_3_4(s);
    mon_rules_8_4(s);
    mon_rules_8_5(s);
    mon_connection_note(s);
}

/* RESP2 or RESP3 names the Connection by the receiver's handle: both may take it for set up. */
static void leave_confirmed(struct judged_frame *s)
{
    struct endpoint *far =
        mon_is(s->iu, FCVI_BIT(CONNECT_RESP2) | FCVI_BIT(CONNECT_RESP3)) ? mon_endpoint_here(s) : NULL;
    if (far == NULL || far->bound == 0 || far->peer != s->s_id)
        return;
    struct endpoint *mine = mon_endpoint_beside(s->m, s->in->network, s->s_id, far);
    far->tainted |= TAINT_BREACH;
    if (mine != NULL && mine->peer == s->d_id && mine->peer_handle == far->handle)
        mine->tainted |= TAINT_BREACH;
}

/* The monitor does not follow a setup IU out of its place. Its receiver may still take the handle that it
 * gives, or the setup that it asks for (5.3.1, 5.4). */
static void leave_unfollowed(struct judged_frame *s)
{
    leave_confirmed(s);
    if (s->group == G_SETUP)
        mon_pair_of(s->m, s->in->network, s->s_id, s->d_id, true)
            ->unfollowed[mon_pair_index(s->s_id, s->d_id)] = s->in->number;
}

static void judge_in_place(struct judged_frame *s)
{
    FCVI_ASSERT(s->group == s->x->group && s->own == &s->x->side[s->who] && s->far != s->own);
    mon_rules_5_5(s);
    if (s->group == G_SETUP && !mon_rules_5_3(s)) {
        leave_unfollowed(s); /* no other rule can be asked of an IU out of its place */
        return;
    }
    mon_rules_5_8(s);
    mon_rules_7_7(s);
    if (s->x->headless && s->group == G_SETUP && s->x->setup.rqst == 0 && s->x->setup.resp1 == 0)
        leave_confirmed(s);
    if (s->group == G_MESSAGE)
        judge_message(s);
    else if (s->group == G_SETUP)
        judge_setup(s);
    else
        mon_rules_6_12(s);
}

static void judge_iu(struct judged_frame *s)
{
    if (!mon_exchange_of(s)) {
        leave_unfollowed(s);
        return;
    }
    if (mon_rules_5_6(s)) {
        if (mon_rules_5_4(s))
            judge_in_place(s);
        else
            leave_unfollowed(s);
    }
    mon_exchange_note(s);
}

/* The receiver drops such a frame, and its bytes cannot be trusted. */
static bool damaged(const struct fcvi_frame *f)
{
    return f->kind == FCVI_KIND_MALFORMED || f->input.crc == FCVI_CRC_BAD || f->input.eof == FCVI_EOF_NI ||
           f->input.eof == FCVI_EOF_A;
}

/* Its Device_Header is whole, and it comes from the side of the Exchange that may send it. */
static bool understood(const struct judged_frame *s)
{
    const unsigned of_responder =
        FCVI_IUS_MSG_RESP | FCVI_BIT(CONNECT_RESP1) | FCVI_BIT(CONNECT_RESP3) | FCVI_BIT(DISCONNECT_RESP);
    const struct fcvi_frame *f = s->f;
    return f->iu != FCVI_IU_NONE && f->dh != NULL && (f->dh_length >= 32 || mon_is(f->iu, FCVI_IUS_DH16)) &&
           mon_is(f->iu, of_responder) == (s->who == 1);
}

static uint64_t identity(const struct judged_frame *s)
{
    if (s->group == G_MESSAGE)
        return fcvi_DH_FCVI_HANDLE(s->dh) << 32 | fcvi_DH_FCVI_MSG_ID(s->dh);
    return fcvi_DH_FCVI_CONNECTION_ID(s->dh);
}

static inline void take_iu(struct judged_frame *s)
{
    if (!understood(s)) { /* what it would have changed is not known */
        mon_unjudged(s->m, FCVI_UNJUDGED_DAMAGED, s->in->number);
        fcvi_monitor_gap(s->m);
        return;
    }
    s->dh = s->f->dh;
    s->base = (uint16_t)(s->dh - s->fc);
    s->iu = s->f->iu;
    s->group = (uint8_t)mon_group(s->iu);
    s->id = identity(s);
    s->end_sequence = fcvi_FC_End_Sequence(s->fc);
    s->last = fcvi_FC_Last_Sequence(s->fc);
    judge_iu(s);
}

/* FCVI-5.8.3-01: the next frame of an FC-VI Sequence that is open has another TYPE. Both ends have given the
 * OX_ID and the SEQ_ID to that Sequence, so no other FC-4 can use them. It is followed as what it stands for.
 */
__attribute__((noinline, cold)) static bool follows_on(struct judged_frame *s, struct fcvi_frame *view)
{
    if (s->f->dh_length < 16 || fcvi_FC_R_CTL(s->fc) > 0xF || fcvi_FC_TYPE(s->fc) == FCVI_TYPE)
        return false;
    struct exchange *x = mon_exchange_find(s->m, s->in->network, s->who == 0 ? s->s_id : s->d_id,
                                           s->who == 0 ? s->d_id : s->s_id, (uint16_t)fcvi_FC_OX_ID(s->fc));
    if (x == NULL || !mon_exact(s->m, x) || x->over != 0 || x->aborted != 0)
        return false;
    const struct side *own = &x->side[s->who];
    const struct pair *p = mon_pair_here(s);
    if (!own->open || own->seq_id != fcvi_FC_SEQ_ID(s->fc) || (p != NULL && p->voided > own->frame) ||
        (uint16_t)(own->cnt + 1) != fcvi_FC_SEQ_CNT(s->fc))
        return false;
    *view = *s->f;
    view->kind = FCVI_KIND_IU;
    view->iu = (uint8_t)fcvi_iu_of_opcode((uint8_t)fcvi_DH_FCVI_OPCODE(view->dh));
    s->x = x;
    mon_report(s, FC(TYPE), fcvi_FC_TYPE(s->fc),
               FCVI_BREACH("FCVI-5.8.3-01", "TYPE changes within an FC-VI Sequence", FCVI_TYPE), own->frame);
    return true;
}

/* How fast the ports are: a frame that answers the one before it. */
static void note_answer(const struct judged_frame *s)
{
    struct fcvi_monitor *m = s->m;
    struct asked *before = &m->asked;
    uint64_t now = s->in->time_us;
    uint16_t ox_id = (uint16_t)fcvi_FC_OX_ID(s->fc);
    if (before->ox_id == ox_id && before->from == s->d_id && before->to == s->s_id && before->who != s->who &&
        before->network == s->in->network && now >= before->time) {
        if (m->answers == 0 || now - before->time < m->answer_us)
            m->answer_us = now - before->time;
        m->answers += m->answers < MON_ENOUGH_ANSWERS;
    }
    before->time = now;
    before->network = s->in->network;
    before->from = s->s_id;
    before->to = s->d_id;
    before->ox_id = ox_id;
    before->who = s->who;
}

void fcvi_monitor_frame(struct fcvi_monitor *m, const struct fcvi_monitor_frame *frame,
                        struct fcvi_monitor_findings *findings)
{
    struct judged_frame s = {.m = m, .in = frame, .f = frame->view, .out = findings, .fc = frame->view->fc};
    FCVI_ASSERT(frame->number != 0);
    if (m->latest < m->last_gap || (m->latest == 0 && (m->config.trust & FCVI_TRUST_START) == 0)) {
        m->resumed = frame->time_us;
        m->partial = true;
    }
    m->latest = frame->number;
    if (damaged(s.f)) {
        mon_unjudged(m, FCVI_UNJUDGED_DAMAGED, frame->number);
        fcvi_monitor_gap(m);
        return;
    }
    FCVI_ASSERT(s.fc != NULL);
    s.s_id = mon_port_at(s.fc + FCVI_FC_S_ID_BYTE);
    s.d_id = mon_port_at(s.fc + FCVI_FC_D_ID_BYTE);
    s.who = fcvi_FC_Exchange_Context(s.fc) ? 1 : 0;
    struct fcvi_frame view;
    if (s.f->kind == FCVI_KIND_OTHER && follows_on(&s, &view))
        s.f = &view;
    if (s.f->kind == FCVI_KIND_IU && s.f->edition == FCVI_EDITION_2007)
        take_iu(&s);
    else if (s.f->kind == FCVI_KIND_IU)
        mon_rev1_iu(&s);
    else if (s.f->kind == FCVI_KIND_BLS)
        mon_link_services(&s);
    else if (s.f->kind == FCVI_KIND_LINK_CONTROL)
        mon_link_control(&s);
    else if (s.f->kind == FCVI_KIND_ELS)
        mon_login_services(&s);
    const unsigned answerable = 1u << FCVI_KIND_IU | 1u << FCVI_KIND_BLS | 1u << FCVI_KIND_ELS;
    if ((!m->whole || m->last_gap != 0) && (answerable >> s.f->kind & 1u))
        note_answer(&s);
}
