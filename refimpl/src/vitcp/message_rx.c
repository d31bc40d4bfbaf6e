/* Messages of the other side: where their data go and how they complete (3.1, 3.2.1, VI-DG 5.2). */
#include "../vi/events.h"
#include "stream.h"

/* ---- the beginning ---- */

/* Which receive Descriptor the message takes: a Send one, an RDMA Write one with Immediate Data only. */
static void bind(struct fcvi_port *p, struct stream *s)
{
    struct vi *vi = vi_at(p, s->vi);
    struct stream_rx *rx = &s->rx;
    rx->entry = vi->recv.fresh;
    const struct entry *e = fcvi_vi_queue_take(p, &vi->recv);
    s->tx.consumed = (uint16_t)(s->tx.consumed + (e != NULL));
    if (e == NULL)
        rx->fault = RX_FAULT_QUEUE_EMPTY;
    else if (e->fault != 0)
        rx->fault = RX_FAULT_DESCRIPTOR;
}

static bool range_allowed(struct fcvi_port *p, const struct stream *s, uint32_t offset, uint32_t length)
{
    const struct remote_range range = {.va = s->rx.va, .handle = s->rx.handle, .write = true};
    return length == 0 || fcvi_vi_remote_memory(p, vi_at(p, s->vi), &range, offset, length) != NULL;
}

static void message_begin(struct fcvi_port *p, struct stream *s)
{
    struct stream_rx *rx = &s->rx;
    const uint8_t *rdma = rx->header + SEGMENT_HEADER;
    rx->open = true;
    rx->message = rx->pdu;
    rx->number = (uint32_t)fcvi_SEG_Message_Number(rx->header);
    rx->offset = rx->total = 0;
    rx->entry = NONE;
    rx->fault = RX_FAULT_NONE;
    rx->immediate = false;
    if (rx->discard)
        return;
    if (rx->message == FCVI_PDU_SEND) {
        bind(p, s);
        return;
    }
    rx->va = fcvi_RDMA_RDMA_Address(rdma);
    rx->handle = (uint32_t)fcvi_RDMA_Registered_Memory_Handle(rdma);
    rx->total = (uint32_t)fcvi_RDMA_RDMA_Length(rdma);
    if (rx->message == FCVI_PDU_WRITE && rx->total > s->mtu)
        rx->fault = RX_FAULT_DESCRIPTOR;
    else if (rx->message == FCVI_PDU_WRITE && !range_allowed(p, s, 0, rx->total))
        rx->fault = RX_FAULT_RDMA; /* not a byte of it is written */
}

/* Whether a new message may begin here, and whether it is one that was here before: on an unreliable
 * connection it is not delivered twice (V58). */
static bool numbered(struct stream *s)
{
    struct stream_rx *rx = &s->rx;
    int32_t ahead = (int32_t)((uint32_t)fcvi_SEG_Message_Number(rx->header) - rx->expected);
    rx->discard = rx->numbered && !s->reliable && ahead < 0;
    return !rx->numbered || !s->reliable || ahead == 0;
}

/* The segment is the next one of the message under way, or begins one. Data are contiguous (V41). */
static bool fits(struct fcvi_port *p, struct stream *s)
{
    struct stream_rx *rx = &s->rx;
    const uint8_t *h = rx->header;
    bool begins = !rx->open;
    if (begins && !numbered(s))
        return false;
    if (begins)
        message_begin(p, s);
    bool same = rx->message == rx->pdu && rx->number == fcvi_SEG_Message_Number(h) &&
                rx->offset == fcvi_SEG_Data_Offset(h);
    if (!same || rx->left > UINT32_MAX - rx->offset)
        return false;
    if (rx->message == FCVI_PDU_READ_REQUEST) /* one segment (V12), never unreliable (V51) */
        return s->reliable;
    return rx->discard || rx->message == FCVI_PDU_SEND ||
           (fcvi_RDMA_RDMA_Length(h + SEGMENT_HEADER) == rx->total && rx->left <= rx->total - rx->offset);
}

void fcvi_vitcp_message_header(struct fcvi_port *p, struct stream *s)
{
    struct stream_rx *rx = &s->rx;
    if (!fits(p, s)) {
        fcvi_vitcp_fail(p, s, true); /* V67 */
        return;
    }
    rx->skip = rx->discard || rx->message == FCVI_PDU_READ_REQUEST;
    if (segment_get(p, rx->header, FCVI_P_SEG_Immediate_Data_Valid) != 0) { /* of any segment (V19) */
        rx->immediate = true;
        rx->value = (uint32_t)fcvi_SEG_Immediate_Data(rx->header);
    }
    if (rx->discard)
        rx->offset += rx->left;
    bool bound = rx->message == FCVI_PDU_SEND && rx->entry != NONE && rx->fault == RX_FAULT_NONE;
    uint32_t end = rx->offset + rx->left;
    if (bound && (end > entry_at(p, rx->entry)->length || end > s->mtu ||
                  !fcvi_vi_descriptor_in_memory(p, vi_at(p, s->vi), entry_at(p, rx->entry), end)))
        rx->fault = RX_FAULT_DESCRIPTOR;
}

/* ---- the data ---- */

void fcvi_vitcp_message_data(struct fcvi_port *p, struct stream *s, const uint8_t *bytes, uint16_t length)
{
    struct stream_rx *rx = &s->rx;
    uint32_t offset = rx->offset;
    rx->offset += length;
    if (rx->fault != RX_FAULT_NONE || bytes == NULL)
        return;
    if (rx->message == FCVI_PDU_SEND) {
        fcvi_vi_descriptor_place(p, entry_at(p, rx->entry), offset, bytes, length);
        return;
    }
    const struct remote_range range = {.va = rx->va, .handle = rx->handle, .write = true};
    uint8_t *at = fcvi_vi_remote_memory(p, vi_at(p, s->vi), &range, offset, length);
    if (at != NULL)
        fcvi_vi_place_ascending(at, bytes, length);
    else
        rx->fault = RX_FAULT_RDMA; /* deregistered meanwhile */
}

/* ---- the end ---- */

/* The status of the receive Descriptor (VI-DG 5.2). */
static uint32_t status_of(struct fcvi_port *p, const struct stream *s)
{
    const struct stream_rx *rx = &s->rx;
    const struct entry *e = entry_at(p, rx->entry);
    uint32_t operation = rx->message == FCVI_PDU_WRITE ? FCVI_STATUS_OP_REMOTE_RDMA_WRITE : 0;
    bool there =
        rx->message == FCVI_PDU_WRITE || fcvi_vi_descriptor_in_memory(p, vi_at(p, s->vi), e, rx->offset);
    if (rx->fault == RX_FAULT_NONE && there)
        return operation | (rx->immediate ? FCVI_STATUS_IMMEDIATE : 0);
    if (rx->fault == RX_FAULT_TRANSMIT)
        return operation | FCVI_STATUS_TRANSPORT_ERROR; /* V42 */
    if (rx->fault == RX_FAULT_RDMA)
        return operation | FCVI_STATUS_PROTECTION_ERROR;
    if (e->fault != 0)
        return operation | e->fault;
    return operation | (there ? FCVI_STATUS_LENGTH_ERROR : FCVI_STATUS_PROTECTION_ERROR);
}

/* Sum of the data against RDMA Length (3.2.1). A message that says Transmit Error may end before it. */
static bool complete(const struct stream_rx *rx)
{
    return rx->message != FCVI_PDU_WRITE || rx->discard || rx->fault == RX_FAULT_TRANSMIT ||
           rx->offset == rx->total;
}

/* What failed on a reliable connection ends it: both applications hear of it (3.1, VI-ARCH 2.5.3). */
static void failed(struct fcvi_port *p, struct stream *s, enum rx_fault fault, bool took_descriptor)
{
    uint32_t vi = s->vi, number = s->rx.number;
    if (fault == RX_FAULT_TRANSMIT) { /* the sender knows */
        fcvi_vitcp_fail(p, s, true);
        return;
    }
    if (fault == RX_FAULT_QUEUE_EMPTY) /* VI-DG 3.8.1 */
        fcvi_event_error(p, vi, VIP_ERROR_RECVQ_EMPTY);
    if (fault == RX_FAULT_RDMA && !took_descriptor)
        fcvi_event_error(p, vi, VIP_ERROR_RDMAW_PROT);
    bool silent = !took_descriptor && (fault == RX_FAULT_RDMA || fault == RX_FAULT_QUEUE_EMPTY); /* V75 */
    fcvi_vitcp_report(p, s,
                      fault == RX_FAULT_RDMA ? FCVI_VI_ERROR_MEMORY_PROTECTION : FCVI_VI_ERROR_DESCRIPTOR,
                      number, !silent);
}

/* The message is whole: its Descriptor completes, and after that it is acknowledged (V54). */
static void message_done(struct fcvi_port *p, struct stream *s)
{
    struct stream_rx *rx = &s->rx;
    if (rx->message == FCVI_PDU_WRITE && rx->immediate)
        bind(p, s);
    uint32_t entry = rx->entry, status = entry != NONE ? status_of(p, s) : 0;
    enum rx_fault fault = (enum rx_fault)rx->fault;
    if (fault == RX_FAULT_NONE && status & FCVI_STATUS_ERROR_MASK)
        fault = RX_FAULT_DESCRIPTOR;
    rx->entry = NONE;
    if (entry != NONE) {
        struct entry *e = entry_at(p, entry);
        e->completion.immediate = rx->immediate ? rx->value : 0;
        fcvi_vi_entry_finish(p, vi_at(p, s->vi), true, e, status, fault == RX_FAULT_NONE ? rx->offset : 0);
    }
    if (fault == RX_FAULT_NONE) {
        fcvi_vitcp_acknowledge(p, s, rx->number);
    } else if (s->reliable) {
        failed(p, s, fault, entry != NONE);
        return;
    }
    fcvi_vitcp_talk(p, s);
}

void fcvi_vitcp_message_end(struct fcvi_port *p, struct stream *s)
{
    struct stream_rx *rx = &s->rx;
    if (segment_get(p, rx->header, FCVI_P_SEG_Transmit_Error) != 0 && !rx->discard)
        rx->fault = RX_FAULT_TRANSMIT;
    bool read = rx->message == FCVI_PDU_READ_REQUEST; /* one segment, whatever the flag says (V12) */
    if (!read && segment_get(p, rx->header, FCVI_P_SEG_End_of_Message) == 0)
        return;
    if (!complete(rx)) {
        fcvi_vitcp_fail(p, s, true);
        return;
    }
    rx->open = false;
    if (rx->discard)
        return;
    rx->numbered = true;
    rx->expected = rx->number + 1;
    if (read && !fcvi_vitcp_read_requested(p, s))
        return;
    message_done(p, s);
}
