/* The responder of Messages on an In-Order Fabric, and what an error does on each Reliability Level: 8.4.1,
 * 8.4.2 and Annex B rules 1 to 7. Mexp is rx.expected; SCexp is the next SEQ_CNT of the open Message's
 * Exchange, and 0 when none is open. Merr is a FCVI_MSG_ID below Mexp: its frames are discarded (rule 2). */
#include "../block/timers.h"
#include "message.h"
#include "setup.h"

/* ---- errors ---- */

/* The Message is lost (Merr). Rule 3a, VI-DG 5.2: the Descriptor that it had taken completes in error. One
 * that is ahead of Mexp keeps its record until its turn: what still comes of it is discarded (rule 2), and it
 * takes no Descriptor before those before it have theirs. */
void fcvi_message_lost(struct fcvi_port *p, struct vi *vi, struct exchange *x)
{
    uint32_t index = exchange_index(p, x);
    struct message *m = message_at(p, index);
    bool ahead = p->config.out_of_order && m->id != vi->rx.expected;
    if (!m->bound && !ahead && (m->op == FCVI_SEND || m->immediate))
        fcvi_message_rx_bind(p, vi, m);
    struct entry *e = m->entry != NONE ? entry_at(p, m->entry) : NULL;
    m->entry = NONE;
    fcvi_message_run_drop(p, m);
    if (ahead) {
        m->phase = RECEIVED;
    } else {
        fcvi_message_list_remove(p, &vi->rx.list, index);
        fcvi_fc2_exchange_free(p, index);
    }
    if (e != NULL)
        fcvi_vi_entry_finish(p, vi, true, e, FCVI_STATUS_TRANSPORT_ERROR, 0);
}

static struct exchange *current(struct fcvi_port *p, const struct vi *vi)
{
    return vi->rx.list.head != NONE ? exchange_at(p, vi->rx.list.head) : NULL;
}

/* A Message Error at Mexp or before: the Messages up to `last` are lost, or the connection is. */
static bool broken(struct fcvi_port *p, struct vi *vi, uint32_t last, uint8_t reason)
{
    struct exchange *x = current(p, vi);
    if (x != NULL)
        fcvi_message_lost(p, vi, x);
    if (reliable(vi))
        fcvi_message_error(p, vi, NULL, reason, true);
    else
        vi->rx.expected = last + 1;
    return false;
}

/* ---- frames ---- */

/* Rules 4a, 4b and 5a: the Message is the one that is due, or becomes it. */
static bool due(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f)
{
    uint32_t message = (uint32_t)fcvi_DH_FCVI_MSG_ID(f->dh);
    int32_t ahead = (int32_t)(message - vi->rx.expected); /* modulo 2^32 (E93) */
    if (ahead == 0)
        return true;
    if (ahead < 0 && !reliable(vi))
        return false; /* rule 2 after a loss; rule 5a lets an unreliable VI discard it as well (E94) */
    broken(p, vi, message - 1, ahead < 0 ? PROTOCOL_ERROR : TRANSPORT_ERROR);
    return !reliable(vi);
}

/* Whether the frame is the next one of its Message. */
static bool next_in_order(const struct fcvi_port *p, struct message *m, const struct fcvi_frame *f)
{
    if (rev1(p))
        return fcvi_rev1_message_next(m, f);
    bool next = f->payload_length == 0 || fcvi_FC_Parameter(f->fc) == m->offset;
    return next && fcvi_message_rx_fits(m, f);
}

static bool take(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f)
{
    if (!due(p, vi, f))
        return false;
    uint32_t message = vi->rx.expected;
    struct exchange *x = current(p, vi);
    uint16_t expected = x != NULL ? x->rx_cnt : 0;
    if (fcvi_FC_SEQ_CNT(f->fc) !=
        expected) /* rules 4a b, 6c, 6d; also when the first frame is missing (E89) */
        return broken(p, vi, message, TRANSPORT_ERROR);
    if (x == NULL) {
        x = fcvi_message_rx_begin(p, vi, f);
        if (x == NULL)
            return broken(p, vi, message, TRANSPORT_ERROR);
        fcvi_message_list_append(p, &vi->rx.list, exchange_index(p, x));
    }
    struct message *m = message_at(p, exchange_index(p, x));
    if (!next_in_order(p, m, f) || fcvi_FC_OX_ID(f->fc) != x->ox_id)
        return broken(p, vi, message, PROTOCOL_ERROR); /* rules 6a and 6b: a Sequence error */
    fcvi_message_rx_note(m, f);
    if (!m->bound && m->op != FCVI_RDMA_WRITE)
        fcvi_message_rx_bind(p, vi, m);
    if (rev1(p))
        fcvi_rev1_message_grown(p, vi, m);
    fcvi_message_rx_place(p, vi, m, m->offset, f->payload, f->payload_length);
    x->rx_cnt++;
    m->offset += f->payload_length;
    m->last_frame = p->now;
    if (!m->ended) {
        fcvi_message_missing(p, vi);
        return true;
    }
    if (m->offset != m->total && m->op != FCVI_RDMA_READ) /* the rest never came (5.2.1) */
        return broken(p, vi, message, TRANSPORT_ERROR);
    fcvi_timer_stop(p, TIMER_MISSING, vi_index(p, vi));
    fcvi_message_rx_done(p, vi, x);
    return true;
}

/* Rev 1.0 has no Annex B, and FC-PH lets the frames of two Exchanges take turns. Those of a later Message
 * then wait until the one that is open has come or is given up. */
static bool waits(struct fcvi_port *p, const struct vi *vi, uint32_t message)
{
    return rev1(p) && current(p, vi) != NULL && (int32_t)(message - vi->rx.expected) > 0;
}

/* Takes the frames that have waited long enough, in the order in which they came. */
static void take_held(struct fcvi_port *p, struct vi *vi)
{
    uint32_t *link = &vi->rx.held;
    while (*link != NONE) {
        uint32_t i = *link;
        struct held *h = held_at(p, i);
        struct fcvi_frame f;
        fcvi_message_held_frame(p, h, &f);
        if (waits(p, vi, (uint32_t)fcvi_DH_FCVI_MSG_ID(f.dh))) {
            link = &h->next;
            continue;
        }
        *link = h->next;
        take(p, vi, &f);
        fcvi_message_held_free(p, i);
        link = &vi->rx.held;
    }
}

/* A frame of a request, on an In-Order Fabric. */
bool fcvi_message_in_order(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f)
{
    if (waits(p, vi, (uint32_t)fcvi_DH_FCVI_MSG_ID(f->dh))) {
        fcvi_message_hold(p, vi, f);
        return true;
    }
    bool taken = take(p, vi, f);
    take_held(p, vi);
    return taken;
}

/* 8.4.1 Note 1: the rest of an open Message is waited for, R_A_TOV from its last frame on. Called by each
 * frame and by the timer, which is not set anew for each frame. */
void fcvi_message_missing(struct fcvi_port *p, struct vi *vi)
{
    const struct exchange *x = current(p, vi);
    if (p->config.out_of_order) {
        fcvi_message_order_timeout(p, vi);
        return;
    }
    if (x == NULL) {
        take_held(p, vi);
        return;
    }
    uint64_t end = message_at(p, exchange_index(p, x))->last_frame + p->config.r_a_tov_us;
    if (end > p->now) {
        fcvi_timer_start(p, TIMER_MISSING, vi_index(p, vi), end - p->now);
        return;
    }
    broken(p, vi, vi->rx.expected, TRANSPORT_ERROR); /* rules 7a and 7b */
    take_held(p, vi);
}

/* The originator has aborted the Exchange of a Message that is open here, or that is being answered. */
void fcvi_message_aborted(struct fcvi_port *p, struct exchange *x)
{
    struct vi *vi = vi_at(p, x->owner);
    uint32_t id = message_at(p, exchange_index(p, x))->id;
    if (reliable(vi)) {
        if (x == current(p, vi))
            fcvi_message_lost(p, vi, x);
        fcvi_message_error(p, vi, NULL, TRANSPORT_ERROR, true);
        return;
    }
    fcvi_message_lost(p, vi, x);
    if (vi->rx.expected == id)
        vi->rx.expected = id + 1;
    fcvi_message_missing(p, vi);
}
