/* Rx Descriptors Posted, Message ACK and Remote Error Code (3.1). */
#include "../vi/events.h"
#include "stream.h"

/* Modulo 2^16, and never backwards. */
static void take_count(struct stream *s)
{
    uint16_t count = (uint16_t)fcvi_SEG_Rx_Descriptors_Posted(s->rx.header);
    if ((uint16_t)(count - s->tx.credit) <= INT16_MAX)
        s->tx.credit = count;
}

bool fcvi_vitcp_credit_left(const struct stream *s)
{
    return !s->flow_control || s->tx.credit != s->tx.used;
}

/* A count that has changed has to be conveyed before the other side is at the end of what it knows (V20). */
bool fcvi_vitcp_nop_due(const struct stream *s)
{
    int16_t unused = (int16_t)(s->tx.told - s->tx.consumed);
    return s->tx.posted != s->tx.told && unused < (int32_t)s->tx.threshold;
}

/* All of the messages up to number n were received (3.1): Sends and RDMA Writes complete, Reads wait for
 * their data. A number that is not outstanding completes nothing (V16). */
static void acknowledged(struct fcvi_port *p, struct stream *s, uint32_t n)
{
    struct vi *vi = vi_at(p, s->vi);
    uint32_t next = s->tx.entry != NONE ? entry_at(p, s->tx.entry)->msg_id : s->tx.next_number;
    if ((int32_t)(n - next) >= 0)
        return;
    for (uint32_t i = vi->send.pending; i != NONE && i != vi->send.fresh; i = entry_at(p, i)->next) {
        struct entry *e = entry_at(p, i);
        if (e->begun && (int32_t)(n - e->msg_id) < 0)
            break;
        if (e->begun && e->state == ENTRY_POSTED && e->op != FCVI_RDMA_READ)
            fcvi_vi_entry_finish(p, vi, false, e, 0, e->length);
    }
    fcvi_vitcp_talk(p, s);
}

static struct entry *outstanding(struct fcvi_port *p, const struct vi *vi, uint32_t n)
{
    for (uint32_t i = vi->send.pending; i != NONE && i != vi->send.fresh; i = entry_at(p, i)->next) {
        struct entry *e = entry_at(p, i);
        if (e->begun && e->msg_id == n && e->state == ENTRY_POSTED)
            return e;
    }
    return NULL;
}

/* What a report says as status of the Descriptor. At Reliable Delivery the bits of the other end have no
 * meaning in Sends and Writes (VI-DG 5.2): these are flushed. */
static uint32_t status_of(const struct fcvi_port *p, const struct vi *vi, const struct entry *e,
                          uint64_t error)
{
    const uint16_t *errors = profile_of(p)->errors;
    if (vi->attributes.reliability != FCVI_RELIABLE_RECEPTION && e->op != FCVI_RDMA_READ)
        return FCVI_STATUS_DESC_FLUSHED_ERROR;
    if (error == errors[FCVI_VI_ERROR_MEMORY_PROTECTION])
        return FCVI_STATUS_RDMA_PROT_ERROR;
    return error == errors[FCVI_VI_ERROR_DESCRIPTOR] ? FCVI_STATUS_REMOTE_DESC_ERROR
                                                     : FCVI_STATUS_TRANSPORT_ERROR;
}

/* The other side reports an error of message n, with which the connection is broken (VI-ARCH 2.5.3). */
static void reported(struct fcvi_port *p, struct stream *s, uint64_t error, uint32_t n)
{
    struct vi *vi = vi_at(p, s->vi);
    if (outstanding(p, vi, n) == NULL)
        return;
    acknowledged(p, s, n - 1); /* messages are not reordered */
    struct entry *e = outstanding(p, vi, n);
    fcvi_vi_entry_finish(p, vi, false, e, status_of(p, vi, e, error), 0);
    fcvi_vitcp_fail(p, s, true);
}

/* What every segment says besides its own message. */
void fcvi_vitcp_heard(struct fcvi_port *p, struct stream *s)
{
    const uint8_t *h = s->rx.header;
    uint64_t error = segment_get(p, h, FCVI_P_SEG_VI_Error_Type);
    take_count(s);
    fcvi_vitcp_talk(p, s); /* there may be a credit */
    if (!s->reliable)
        return;
    if (error == profile_of(p)->errors[FCVI_VI_ERROR_NONE])
        acknowledged(p, s, (uint32_t)fcvi_SEG_Message_ACK(h));
    else
        reported(p, s, error, (uint32_t)fcvi_SEG_Message_ACK(h));
}

/* On Reliable Reception nothing that came behind an RDMA Read is received before the data of the Read are out
 * (VI-ARCH 6.3.1): its completion waits, and so does its ACK. */
static bool held_by_reads(const struct stream *s, const struct vi *vi)
{
    return s->tx.jobs > 0 && vi->attributes.reliability == FCVI_RELIABLE_RECEPTION;
}

bool fcvi_vitcp_withheld(struct fcvi_port *p, const struct vi *vi, bool recv)
{
    return recv && vi->state == FCVI_STATE_CONNECTED && vi->stream != NONE &&
           held_by_reads(stream_at(p, vi->stream), vi);
}

/* Message n was received without error. */
void fcvi_vitcp_acknowledge(struct fcvi_port *p, struct stream *s, uint32_t n)
{
    s->tx.received = n;
    s->tx.ack_held = s->reliable && held_by_reads(s, vi_at(p, s->vi));
    if (s->tx.ack_held)
        return;
    s->tx.acknowledged = n;
    s->tx.ack_due = s->reliable;
}

/* The last Read is answered. */
void fcvi_vitcp_reads_answered(struct fcvi_port *p, struct stream *s)
{
    fcvi_vi_release(p, vi_at(p, s->vi), true);
    if (s->tx.ack_held)
        fcvi_vitcp_acknowledge(p, s, s->tx.received);
    fcvi_vitcp_talk(p, s);
}

/* A message of the other side has failed on a reliable connection: it hears of it, and TCP ends. */
void fcvi_vitcp_report(struct fcvi_port *p, struct stream *s, enum fcvi_vi_error error, uint32_t number,
                       bool notify)
{
    s->tx.error = (uint8_t)error;
    s->tx.error_number = number;
    fcvi_vitcp_fail(p, s, notify);
}
