/* RDMA Reads: requests that are to be answered, and answers to our own (2.2.2.2.6, 3.1, 3.2.1). */
#include "../vi/events.h"
#include "stream.h"

/* The nth of the requests that are to be answered, the oldest first. */
struct read_job *fcvi_vitcp_job(struct fcvi_port *p, const struct stream *s, uint32_t nth)
{
    uint32_t window = p->limits.stream_reads;
    FCVI_ASSERT(nth < window);
    uint32_t at = stream_index(p, s) * window + (s->tx.job + nth) % window;
    return ARRAY(p, struct read_job, reads, at);
}

/* An RDMA Read Request has come; false when the connection ends with it. */
bool fcvi_vitcp_read_requested(struct fcvi_port *p, struct stream *s)
{
    const struct stream_rx *rx = &s->rx;
    const struct remote_range range = {.va = rx->va, .handle = rx->handle, .write = false};
    if (s->tx.jobs == p->limits.stream_reads || rx->fault == RX_FAULT_TRANSMIT) {
        fcvi_vitcp_fail(p, s, true); /* more than the window (V24) */
        return false;
    }
    bool allowed = rx->total == 0 || fcvi_vi_remote_memory(p, vi_at(p, s->vi), &range, 0, rx->total) != NULL;
    if (!allowed) {
        fcvi_event_error(p, s->vi, VIP_ERROR_RDMAR_PROT);
        fcvi_vitcp_report(p, s, FCVI_VI_ERROR_MEMORY_PROTECTION, rx->number, false);
        return false;
    }
    *fcvi_vitcp_job(p, s, s->tx.jobs) =
        (struct read_job){.va = rx->va, .handle = rx->handle, .length = rx->total, .number = rx->number};
    s->tx.jobs++;
    return true;
}

/* ---- the answer ---- */

/* The own Read of that number that is under way. */
static uint32_t read_of(struct fcvi_port *p, const struct vi *vi, uint32_t number)
{
    for (uint32_t i = vi->send.pending; i != NONE && i != vi->send.fresh; i = entry_at(p, i)->next) {
        const struct entry *e = entry_at(p, i);
        if (e->op == FCVI_RDMA_READ && e->begun && e->state == ENTRY_POSTED && e->msg_id == number)
            return i;
    }
    return NONE;
}

/* The data of a response are contiguous, of one response after the other, and no more than was asked for. */
void fcvi_vitcp_response_header(struct fcvi_port *p, struct stream *s)
{
    struct stream_rx *rx = &s->rx;
    uint32_t number = (uint32_t)fcvi_SEG_Message_Number(rx->header);
    uint64_t total = fcvi_RDMA_RDMA_Length(rx->header + SEGMENT_HEADER);
    if (rx->read_entry == NONE) {
        rx->read_entry = read_of(p, vi_at(p, s->vi), number);
        rx->read_offset = 0;
    }
    const struct entry *e = rx->read_entry != NONE ? entry_at(p, rx->read_entry) : NULL;
    bool right = e != NULL && rx->read_entry != s->tx.entry && e->msg_id == number &&
                 rx->read_offset == fcvi_SEG_Data_Offset(rx->header) &&
                 rx->left <= e->length - rx->read_offset && (total == 0 || total == e->length); /* V11 */
    if (!right)
        fcvi_vitcp_fail(p, s, true);
    rx->skip = !right;
}

void fcvi_vitcp_response_data(struct fcvi_port *p, struct stream *s, const uint8_t *bytes, uint16_t length)
{
    fcvi_vi_descriptor_place(p, entry_at(p, s->rx.read_entry), s->rx.read_offset, bytes, length);
    s->rx.read_offset += length;
}

void fcvi_vitcp_response_end(struct fcvi_port *p, struct stream *s)
{
    struct stream_rx *rx = &s->rx;
    struct vi *vi = vi_at(p, s->vi);
    struct entry *e = entry_at(p, rx->read_entry);
    bool bad = segment_get(p, rx->header, FCVI_P_SEG_Transmit_Error) != 0;
    if (!bad && segment_get(p, rx->header, FCVI_P_SEG_End_of_Message) == 0)
        return;
    rx->read_entry = NONE;
    s->tx.reads--;
    uint32_t status = bad || rx->read_offset != e->length                  ? FCVI_STATUS_TRANSPORT_ERROR
                      : fcvi_vi_descriptor_in_memory(p, vi, e, UINT32_MAX) ? 0
                                                                           : FCVI_STATUS_PROTECTION_ERROR;
    fcvi_vi_entry_finish(p, vi, false, e, status, status == 0 ? e->length : 0);
    if (status != 0)
        fcvi_vitcp_fail(p, s, true);
    else
        fcvi_vitcp_talk(p, s);
}
