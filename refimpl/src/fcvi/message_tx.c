/* The originator of Messages: which Descriptor is next, how many may be open, and when each is over
 * (5.2, 7.3, Annex E, VI-ARCH 6.3.1). */
#include "../block/timers.h"
#include "message.h"
#include "setup.h"

/* ---- the next Message ---- */

/* The status bit with which a Descriptor fails before anything of it is sent (VI-DG 5.2). */
static uint32_t fault_of(struct fcvi_port *p, const struct vi *vi, const struct entry *e)
{
    if (e->fault != 0)
        return e->fault;
    if (e->op == FCVI_RDMA_READ && !reliable(vi))
        return FCVI_STATUS_FORMAT_ERROR; /* 5.2.4: Reliable Delivery and Reliable Reception only */
    if (e->length > vi->attributes.max_transfer_size)
        return FCVI_STATUS_LENGTH_ERROR;
    return fcvi_vi_descriptor_in_memory(p, vi, e, UINT32_MAX) ? 0 : FCVI_STATUS_PROTECTION_ERROR;
}

/* A RDMA Read may be passed, but not on Reliable Reception: what follows it must have no effect if it fails.
 */
static bool must_wait(const struct fcvi_port *p, const struct vi *vi, const struct entry *e)
{
    bool fenced =
        e->fence || (vi->attributes.reliability == FCVI_RELIABLE_RECEPTION && e->op != FCVI_RDMA_READ);
    bool full = !rev1(p) && vi->tx.open > vi->attributes.pipeline_depth; /* Rev 1.0 has no such limit (R25) */
    return full || (fenced && vi->tx.reads > 0);
}

/* Begin the Message of the next Descriptor; false when none may begin now. */
static bool message_begin(struct fcvi_port *p, struct vi *vi)
{
    struct entry *e;
    while ((e = fcvi_vi_queue_head(p, &vi->send)) != NULL && !must_wait(p, vi, e)) {
        uint32_t fault = fault_of(p, vi, e);
        if (fault != 0) {
            if (reliable(vi) && vi->tx.open > 0)
                return false; /* those before it come to their end first */
            fcvi_vi_queue_take(p, &vi->send);
            fcvi_vi_entry_finish(p, vi, false, e, fault, 0);
            if (reliable(vi)) {
                fcvi_message_error(p, vi, NULL, 0, true);
                return false;
            }
            continue;
        }
        bool room = fcvi_fc2_sequences_left(p) && fcvi_fc2_exchanges_left(p);
        struct exchange *x =
            room ? fcvi_fc2_exchange_open(p, X_MESSAGE, vi_index(p, vi), vi->connection.peer) : NULL;
        if (x == NULL) {
            fcvi_schedule_starve(p, vi);
            return false;
        }
        uint32_t index = exchange_index(p, x);
        struct message *m = message_at(p, index);
        *m = (struct message){
            .phase = SENDING,
            .op = e->op,
            .vi = vi_index(p, vi),
            .id = vi->tx.next_msg_id++,
            .entry = vi->send.fresh,
            .total = e->length,
            .rmt_va = e->remote_va,
            .rmt_va_handle = e->remote_handle,
            .immediate = e->has_immediate && e->op != FCVI_RDMA_READ,
            .value = e->immediate,
            .runs = NONE,
        };
        fcvi_vi_queue_take(p, &vi->send);
        e->begun = true;
        e->msg_id = m->id;
        vi->tx.open++;
        vi->tx.reads += m->op == FCVI_RDMA_READ;
        vi->tx.current = index;
        fcvi_message_list_append(p, &vi->tx.list, index);
        return true;
    }
    return false;
}

/* ---- frames ---- */

static size_t request_frame(struct fcvi_port *p, struct vi *vi, uint8_t *out, struct fcvi_transmitted *meta)
{
    while (vi->tx.current != NONE || message_begin(p, vi)) {
        uint32_t current = vi->tx.current;
        size_t length = fcvi_message_data_frame(p, vi, exchange_at(p, current), out, meta);
        if (length > 0 || vi->tx.current == current)
            return length;
    } /* it failed for want of its memory: the next one */
    return 0;
}

static size_t job_frame(struct fcvi_port *p, struct vi *vi, uint8_t *out, struct fcvi_transmitted *meta)
{
    uint32_t job = vi->tx.jobs.head;
    while (job != NONE && message_at(p, job)->phase != RESPONDING)
        job = message_at(p, job)->next;
    return job != NONE ? fcvi_message_data_frame(p, vi, exchange_at(p, job), out, meta) : 0;
}

static size_t again(struct fcvi_port *p, struct vi *vi, uint8_t *out, struct fcvi_transmitted *meta)
{
    const uint32_t lists[] = {vi->tx.list.head, vi->tx.jobs.head};
    for (unsigned k = 0; k < 2; k++)
        for (uint32_t i = lists[k]; i != NONE; i = message_at(p, i)->next)
            if (exchange_at(p, i)->resend != 0)
                return fcvi_message_data_again(p, vi, exchange_at(p, i), out, meta);
    vi->tx.resend = false;
    return 0;
}

/* The next frame of this VI: of a FCVI_READ_RESP that it owes or of a request of its own, in turn. */
static size_t frame_of(struct fcvi_port *p, struct vi *vi, uint8_t *out, struct fcvi_transmitted *meta)
{
    if (!fcvi_fc2_may_send_to(p, vi->connection.peer))
        return 0;
    size_t length = vi->tx.resend ? again(p, vi, out, meta) : 0;
    for (unsigned turn = 0; turn < 2 && length == 0; turn++) {
        bool job = vi->tx.job_turn != (turn == 1);
        length = job ? job_frame(p, vi, out, meta) : request_frame(p, vi, out, meta);
        if (length > 0)
            vi->tx.job_turn = job != (fcvi_FC_End_Sequence(out) != 0);
    }
    return length;
}

/* The next frame of the VI whose turn it is; the turn goes on after a Sequence (4.1). */
size_t fcvi_schedule_frame(struct fcvi_port *p, uint8_t *out, struct fcvi_transmitted *meta)
{
    while (p->ready != NONE) {
        struct vi *vi = vi_at(p, p->ready);
        size_t length = vi->state == FCVI_STATE_CONNECTED ? frame_of(p, vi, out, meta) : 0;
        if (length > 0) {
            if (fcvi_FC_End_Sequence(out))
                p->ready = vi->ring_next;
            return length;
        }
        fcvi_schedule_rest(p, vi);
    }
    return 0;
}

/* ---- the end of a Message ---- */

/* C.5.1: a client's send Descriptors do not complete before FCVI_CONNECT_RESP3 has come. */
bool fcvi_message_withheld(const struct vi *vi, bool recv)
{
    return !recv && vi->state == FCVI_STATE_CONNECTED && !vi->connection.confirmed;
}

/* The application is told of a Descriptor's end: the next Message may begin (7.3). */
void fcvi_message_completed(struct fcvi_port *p, struct vi *vi, const struct entry *e)
{
    FCVI_ASSERT(vi->tx.open >= e->begun);
    vi->tx.open -= e->begun;
    if (e->begun && (e->completion.status & FCVI_STATUS_ERROR_MASK) == 0)
        vi->tx.last_completed = e->msg_id;
    fcvi_schedule_wake(p, vi);
}

static bool answered(const struct vi *vi, const struct message *m)
{
    return m->op == FCVI_RDMA_READ || vi->attributes.reliability == FCVI_RELIABLE_RECEPTION;
}

/* All frames of a Message are out (class 3) or acknowledged (class 2). */
void fcvi_message_sent(struct fcvi_port *p, struct vi *vi, struct exchange *x)
{
    struct message *m = message_at(p, exchange_index(p, x));
    if (x->unacked != 0 || m->phase != AWAIT_ACK)
        return;
    if (!x->originator) {
        fcvi_message_read_sent(p, vi, x);
    } else if (answered(vi, m)) {
        m->phase = AWAIT_RESPONSE; /* 8.3 */
        fcvi_timer_start(p, TIMER_EXCHANGE, exchange_index(p, x), p->config.r_a_tov_us);
    } else {
        struct entry *e = entry_at(p, m->entry);
        uint32_t length = m->total;
        fcvi_message_closed(p, vi, x);
        fcvi_vi_entry_finish(p, vi, false, e, 0, length);
    }
}

/* C.5.1: a client's Descriptors complete once RESP3 has come. */
void fcvi_message_release_sent(struct fcvi_port *p, struct vi *vi)
{
    fcvi_vi_release(p, vi, false);
}

/* ---- class 2 (Annex B rules 8) ---- */

/* Rules 8a, 8c, 8d, 8e: the Exchange is aborted; a reliable connection is lost with it. */
void fcvi_message_class2_failed(struct fcvi_port *p, struct exchange *x)
{
    FCVI_ASSERT(x->kind == X_MESSAGE);
    struct message *m = message_at(p, exchange_index(p, x));
    struct vi *vi = vi_at(p, x->owner);
    if (reliable(vi)) {
        fcvi_message_error(p, vi, x, TRANSPORT_ERROR, true);
        return;
    }
    struct entry *e = entry_at(p, m->entry);
    bool sent = m->phase == AWAIT_ACK; /* all of it is in flight: that is all this level promises */
    fcvi_fc2_exchange_abort(p, exchange_index(p, x));
    fcvi_vi_entry_finish(p, vi, false, e, sent ? 0 : FCVI_STATUS_TRANSPORT_ERROR | FCVI_STATUS_PARTIAL_ERROR,
                         sent ? m->total : 0);
    fcvi_message_closed(p, vi, x);
}

/* All frames of an Exchange that were sent are acknowledged. */
void fcvi_message_acknowledged(struct fcvi_port *p, struct exchange *x)
{
    const struct message *m = message_at(p, exchange_index(p, x));
    if (m->phase == AWAIT_ACK || m->offset == m->iu_end) /* all of the Sequence is out */
        fcvi_fc2_sequence_close(p, x);
    fcvi_message_sent(p, vi_at(p, x->owner), x);
}
