/* The responder of Messages on an Out-of-Order Fabric: Annex B rules 4c, 5b, 6e and 7.
 *
 * Several Messages may be open, each with what has come of it. Their data go straight to their places as soon
 * as it is settled which receive Descriptors the Messages before them take; until then their frames are held.
 * They complete in order. R_A_TOV after something was first seen to be missing it is given up. */
#include "../block/timers.h"
#include "message.h"
#include "setup.h"

static struct message *message_of(struct fcvi_port *p, uint32_t exchange)
{
    return message_at(p, exchange);
}

/* Lost ahead of its turn (message_lost): nothing more of it is wanted. */
static bool lost(const struct message *m)
{
    return m->phase == RECEIVED;
}

/* All of the Message has come; a FCVI_READ_RQST brings no data. */
static bool whole(struct fcvi_port *p, const struct message *m)
{
    return lost(m) || (m->op == FCVI_RDMA_READ ? m->ended : fcvi_message_run_whole(p, m));
}

/* ---- held frames ---- */

/* Keep a frame; when there is no room it counts as one that never came. */
void fcvi_message_hold(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f)
{
    uint32_t i = p->free_held, *link = &vi->rx.held;
    if (i == NONE || f->input.length > LONGEST)
        return;
    struct held *h = held_at(p, i);
    p->free_held = h->next;
    p->used.held_frames++;
    h->length = (uint16_t)f->input.length;
    h->since = p->now;
    h->next = NONE;
    memcpy(h->bytes, f->input.bytes, f->input.length);
    while (*link != NONE)
        link = &held_at(p, *link)->next;
    *link = i;
}

/* ---- one frame of a Message whose Descriptor is settled ---- */

static bool process(struct fcvi_port *p, struct vi *vi, struct message *m, const struct fcvi_frame *f)
{
    uint32_t offset = f->payload_length > 0 ? (uint32_t)fcvi_FC_Parameter(f->fc) : 0;
    if (lost(m))
        return true;
    if (f->payload_length > 0 && !fcvi_message_run_add(p, m, offset, offset + f->payload_length))
        return true; /* it has been here before */
    fcvi_message_rx_note(m, f);
    if (rev1(p))
        fcvi_rev1_message_grown(p, vi, m);
    fcvi_message_rx_place(p, vi, m, offset, f->payload, f->payload_length);
    /* the last frame may have no payload: then it says nothing of where the data end */
    return !fcvi_message_rx_final(f) || m->op == FCVI_RDMA_READ || f->payload_length == 0 ||
           offset + f->payload_length == m->total;
}

/* Frames of this Message that were held while it was not settled. What they show to be missing has been
 * missing since they came (rules 4c c and 6e a). */
static void process_held(struct fcvi_port *p, struct vi *vi, struct message *m)
{
    uint32_t *link = &vi->rx.held;
    uint64_t now = p->now;
    while (*link != NONE) {
        uint32_t i = *link;
        struct held *h = held_at(p, i);
        struct fcvi_frame f;
        fcvi_message_held_frame(p, h, &f);
        if (fcvi_DH_FCVI_MSG_ID(f.dh) != m->id) {
            link = &h->next;
            continue;
        }
        *link = h->next;
        p->now = h->since;
        process(p, vi, m, &f);
        p->now = now;
        fcvi_message_held_free(p, i);
    }
}

/* ---- in the order of the Messages ---- */

/* Whether it is known if the Message takes a Descriptor: an RDMA Write may show Immediate Data late (E43). */
static bool settled(const struct message *m)
{
    return m->op != FCVI_RDMA_WRITE || m->immediate || m->final_seen || lost(m);
}

/* Whether data may go to their place: those of a Send have a Descriptor of their own; those of an RDMA Write
 * may not be overtaken by an earlier one's. */
static bool placeable(const struct vi *vi, const struct message *m)
{
    return m->op == FCVI_RDMA_WRITE ? m->id == vi->rx.expected : m->bound;
}

static void bind_in_order(struct fcvi_port *p, struct vi *vi)
{
    uint32_t id = vi->rx.expected;
    for (uint32_t i = vi->rx.list.head; i != NONE; i = message_of(p, i)->next, id++) {
        struct message *m = message_of(p, i);
        if (m->id != id)
            return; /* nothing of the Message before it has come */
        if (!m->bound && settled(m))
            fcvi_message_rx_bind(p, vi, m);
        if (placeable(vi, m))
            process_held(p, vi, m);
        if (!m->bound)
            return;
        if (lost(m) && m->entry != NONE && m->id != vi->rx.expected)
            fcvi_message_lost(p, vi, exchange_at(p, i));
    }
}

/* Merr for the Message with FCVI_MSG_ID Mexp. */
static void end_lost(struct fcvi_port *p, struct vi *vi, uint32_t exchange)
{
    uint32_t id = message_of(p, exchange)->id;
    fcvi_message_lost(p, vi, exchange_at(p, exchange));
    vi->rx.expected = id + 1;
}

static void complete_in_order(struct fcvi_port *p, struct vi *vi)
{
    bind_in_order(p, vi);
    while (vi->rx.list.head != NONE && vi->connection.receiving) {
        uint32_t i = vi->rx.list.head;
        struct message *m = message_of(p, i);
        if (m->id != vi->rx.expected || !m->bound || !whole(p, m))
            return;
        if (lost(m))
            end_lost(p, vi, i);
        else
            fcvi_message_rx_done(p, vi, exchange_at(p, i));
        bind_in_order(p, vi);
    }
}

/* The Message of the frame, new when it is the first of it; in order of FCVI_MSG_ID modulo 2^32. */
static struct exchange *message_find(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f)
{
    uint32_t id = (uint32_t)fcvi_DH_FCVI_MSG_ID(f->dh), before = NONE;
    for (uint32_t i = vi->rx.list.head; i != NONE && (int32_t)(message_of(p, i)->id - id) <= 0;
         i = message_of(p, i)->next) {
        if (message_of(p, i)->id == id)
            return exchange_at(p, i);
        before = i;
    }
    struct exchange *x = fcvi_message_rx_begin(p, vi, f);
    if (x != NULL)
        fcvi_message_list_insert(p, &vi->rx.list, before, exchange_index(p, x));
    return x;
}

/* ---- what is missing (rules 4c, 6e and 7) ---- */

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Since when something has been missing that must come before a Message, or its end, is reached. All that is
 * complete is out of the list: whatever stands behind Mexp waits. */
static uint64_t missing_since(struct fcvi_port *p, const struct vi *vi)
{
    uint64_t since = FCVI_NEVER;
    for (uint32_t i = vi->rx.list.head; i != NONE; i = message_of(p, i)->next) {
        const struct message *m = message_of(p, i);
        if (m->id != vi->rx.expected)
            since = sooner(since, m->since); /* rules 4c a and b */
        if (!whole(p, m))
            since =
                sooner(since, sooner(fcvi_message_run_gap(p, m), m->last_frame)); /* 4c c, 6e; 8.4.1 Note 1 */
    }
    return since;
}

static void give_up(struct fcvi_port *p, struct vi *vi)
{
    uint32_t i = vi->rx.list.head;
    struct message *m = message_of(p, i);
    if (m->id != vi->rx.expected) {
        vi->rx.expected = m->id; /* rule 7a: Merr for the Messages before it */
        return;
    }
    end_lost(p, vi, i);
}

/* Rules 4b, 6b and 7b on a reliable VI: the Message that is due is the one that fails. */
static void fail(struct fcvi_port *p, struct vi *vi, uint8_t reason)
{
    uint32_t i = vi->rx.list.head;
    if (i != NONE && message_of(p, i)->id == vi->rx.expected)
        fcvi_message_lost(p, vi, exchange_at(p, i));
    fcvi_message_error(p, vi, NULL, reason, true);
}

/* What is whole completes. Rule 7 for the rest, and the timer for what will be given up next. */
void fcvi_message_order_timeout(struct fcvi_port *p, struct vi *vi)
{
    complete_in_order(p, vi);
    while (vi->rx.list.head != NONE) {
        uint64_t since = missing_since(p, vi);
        if (since == FCVI_NEVER)
            break;
        if (since + p->config.r_a_tov_us > p->now) {
            fcvi_timer_start(p, TIMER_MISSING, vi_index(p, vi), since + p->config.r_a_tov_us - p->now);
            return;
        }
        if (reliable(vi)) {
            fail(p, vi, TRANSPORT_ERROR);
            return;
        }
        give_up(p, vi);
        complete_in_order(p, vi);
    }
    fcvi_timer_stop(p, TIMER_MISSING, vi_index(p, vi));
}

bool fcvi_message_order_receive(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f)
{
    int32_t ahead = (int32_t)((uint32_t)fcvi_DH_FCVI_MSG_ID(f->dh) - vi->rx.expected);
    if (ahead < 0)
        return true; /* completed or given up (rule 2) */
    struct exchange *x = message_find(p, vi, f);
    if (x == NULL)
        return true; /* no room: it counts as one that never came */
    struct message *m = message_at(p, exchange_index(p, x));
    if (lost(m))
        return false; /* rule 2 */
    bool fits = (rev1(p) ? fcvi_rev1_message_fits(m, f) : fcvi_message_rx_fits(m, f)) &&
                fcvi_FC_OX_ID(f->fc) == x->ox_id;
    m->last_frame = p->now;
    if (fits && !m->bound) {
        m->immediate |= m->op == FCVI_RDMA_WRITE && fcvi_message_immediate(f);
        m->final_seen |= fcvi_message_rx_final(f);
        bind_in_order(p, vi);
    }
    if (fits && placeable(vi, m))
        fits = process(p, vi, m, f);
    else if (fits)
        fcvi_message_hold(p, vi, f);
    if (!fits && reliable(vi)) { /* rule 6b: a Sequence error */
        fail(p, vi, PROTOCOL_ERROR);
        return false;
    }
    if (!fits && m->id == vi->rx.expected) /* rule 6a */
        end_lost(p, vi, exchange_index(p, x));
    else if (!fits)
        fcvi_message_lost(p, vi, x);
    fcvi_message_order_timeout(p, vi);
    return fits;
}
