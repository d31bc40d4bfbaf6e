/* What goes out on a stream next, segment by segment (3.1). */
#include "stream.h"

struct segment {
    enum fcvi_pdu_type pdu;
    uint16_t headers, data;
    uint32_t offset, number;
    bool end;
};

/* The Segment Header of what goes out now. Message ACK and Rx Descriptors Posted are those of this moment;
 * a NOP and a CE PDU have a Message Number that they do not consume (V17), and End of Message (V60). */
static uint8_t *put(struct fcvi_port *p, struct stream *s, const struct segment *g)
{
    struct stream_tx *tx = &s->tx;
    const struct fcvi_profile *profile = profile_of(p);
    uint8_t *h = memset(tx->header, 0, sizeof tx->header);
    fcvi_set_SEG_Version(h, profile->version);
    fcvi_profile_put(profile, FCVI_P_SEG_Type, h, profile->types[g->pdu]);
    fcvi_profile_put(profile, FCVI_P_SEG_End_of_Message, h, g->end);
    fcvi_set_SEG_Segment_Length(h, (uint64_t)g->headers + g->data);
    fcvi_set_SEG_Data_Offset(h, g->offset);
    fcvi_set_SEG_Message_Number(h, g->number);
    fcvi_set_SEG_Message_ACK(h, tx->acknowledged);
    fcvi_set_SEG_Rx_Descriptors_Posted(h, tx->posted);
    fcvi_profile_put(profile, FCVI_P_SEG_VI_Error_Type, h, profile->errors[FCVI_VI_ERROR_NONE]);
    tx->headers = (uint8_t)g->headers;
    tx->gone = 0;
    tx->left = g->data;
    tx->told = tx->posted;
    tx->ack_due = tx->failed = tx->last = tx->response = false;
    return h;
}

static void put_rdma(uint8_t *h, uint64_t va, uint32_t handle, uint32_t length)
{
    uint8_t *rdma = h + SEGMENT_HEADER;
    fcvi_set_RDMA_RDMA_Address(rdma, va);
    fcvi_set_RDMA_Registered_Memory_Handle(rdma, handle);
    fcvi_set_RDMA_RDMA_Length(rdma, length);
}

/* How many bytes of `remaining` fit behind headers, and whether that is all. */
static void divide(const struct fcvi_port *p, struct segment *g, uint32_t remaining)
{
    uint32_t most = p->config.vitcp.segment_size - g->headers;
    g->data = (uint16_t)(remaining < most ? remaining : most);
    g->end = g->data == remaining;
}

static void put_response(struct fcvi_port *p, struct stream *s)
{
    const struct read_job *job = fcvi_vitcp_job(p, s, 0);
    struct segment g = {.pdu = FCVI_PDU_READ_RESPONSE,
                        .headers = RDMA_HEADERS,
                        .offset = s->tx.job_offset,
                        .number = job->number};
    divide(p, &g, job->length - s->tx.job_offset);
    put_rdma(put(p, s, &g), job->va, job->handle, job->length); /* those of the request (V11) */
    s->tx.response = true;
    s->tx.last = g.end;
}

/* A segment of the Descriptor that is being sent. Memory that is gone is told by Transmit Error. */
static void put_message(struct fcvi_port *p, struct stream *s)
{
    static const uint8_t pdus[] = {
        [FCVI_SEND] = FCVI_PDU_SEND,
        [FCVI_RDMA_WRITE] = FCVI_PDU_WRITE,
        [FCVI_RDMA_READ] = FCVI_PDU_READ_REQUEST,
    };
    const struct entry *e = entry_at(p, s->tx.entry);
    bool there = fcvi_vi_descriptor_in_memory(p, vi_at(p, s->vi), e, UINT32_MAX);
    struct segment g = {.pdu = (enum fcvi_pdu_type)pdus[e->op],
                        .headers = e->op == FCVI_SEND ? SEGMENT_HEADER : RDMA_HEADERS,
                        .offset = s->tx.offset,
                        .number = e->msg_id,
                        .end = true};
    if (there && e->op != FCVI_RDMA_READ)
        divide(p, &g, e->length - s->tx.offset);
    uint8_t *h = put(p, s, &g);
    if (e->has_immediate && e->op != FCVI_RDMA_READ) { /* in each segment (V19) */
        fcvi_profile_put(profile_of(p), FCVI_P_SEG_Immediate_Data_Valid, h, 1);
        fcvi_set_SEG_Immediate_Data(h, e->immediate);
    }
    if (e->op != FCVI_SEND)
        put_rdma(h, e->remote_va, e->remote_handle, e->length);
    fcvi_profile_put(profile_of(p), FCVI_P_SEG_Transmit_Error, h, !there);
    s->tx.failed = !there;
    s->tx.last = g.end;
}

/* A segment of its own for a CE PDU, for an ACK or a count, or for an error (3.1 Notes on NOP). */
static bool put_notice(struct fcvi_port *p, struct stream *s)
{
    struct stream_tx *tx = &s->tx;
    struct segment g = {
        .pdu = (enum fcvi_pdu_type)tx->notice, .headers = CE_HEADERS, .number = tx->next_number, .end = true};
    if (tx->notice == FCVI_PDU_NONE)
        return false;
    fcvi_vitcp_put_ce(p, s, g.pdu, put(p, s, &g));
    tx->notice = FCVI_PDU_NONE;
    return true;
}

static uint8_t *put_nop(struct fcvi_port *p, struct stream *s)
{
    struct segment g = {
        .pdu = FCVI_PDU_NOP, .headers = SEGMENT_HEADER, .number = s->tx.next_number, .end = true};
    return put(p, s, &g);
}

static void put_error(struct fcvi_port *p, struct stream *s)
{
    uint8_t *h = put_nop(p, s);
    fcvi_set_SEG_Message_ACK(h, s->tx.error_number);
    fcvi_profile_put(profile_of(p), FCVI_P_SEG_VI_Error_Type, h, profile_of(p)->errors[s->tx.error]);
    s->tx.error = FCVI_VI_ERROR_NONE;
}

/* The next segment of a message or of a response, in turn (2.2.2.2.3). */
static bool put_data(struct fcvi_port *p, struct stream *s)
{
    struct stream_tx *tx = &s->tx;
    for (unsigned k = 0; k < 2; k++) {
        tx->job_turn = !tx->job_turn;
        if (tx->job_turn && tx->jobs > 0) {
            put_response(p, s);
            return true;
        }
        if (!tx->job_turn && (tx->entry != NONE || fcvi_vitcp_message_begin(p, s))) {
            put_message(p, s);
            return true;
        }
        if (s->state != STREAM_CONNECTED)
            return false;
    }
    return false;
}

/* Begin the next segment; false when there is none. */
static bool segment_begin(struct fcvi_port *p, struct stream *s)
{
    bool connected = s->state == STREAM_CONNECTED;
    s->tx.headers = s->tx.gone = 0;
    if (put_notice(p, s) || (connected && put_data(p, s)))
        return true;
    if (s->tx.ack_due || (s->state == STREAM_CONNECTED && fcvi_vitcp_nop_due(s))) {
        put_nop(p, s);
        return true;
    }
    if (s->tx.error != FCVI_VI_ERROR_NONE) {
        put_error(p, s);
        return true;
    }
    return false;
}

static void add(struct fcvi_stream_bytes *out, uint8_t *bytes, uint32_t length)
{
    out->piece[out->pieces++] = (struct fcvi_stream_piece){bytes, length};
}

/* Data of the segment, as much as there is room for pieces; 0 when the memory is gone, with which the stream
 * cannot go on. */
static uint16_t fetch(struct fcvi_port *p, struct stream *s, struct fcvi_stream_bytes *out, uint16_t length)
{
    struct stream_tx *tx = &s->tx;
    const struct vi *vi = vi_at(p, s->vi);
    if (tx->response) {
        const struct read_job *job = fcvi_vitcp_job(p, s, 0);
        const struct remote_range range = {.va = job->va, .handle = job->handle, .write = false};
        uint8_t *at = fcvi_vi_remote_memory(p, vi, &range, tx->job_offset, length);
        if (at == NULL)
            return 0;
        add(out, at, length);
        tx->job_offset += length;
        return length;
    }
    const struct entry *e = entry_at(p, tx->entry);
    if (!fcvi_vi_descriptor_in_memory(p, vi, e, UINT32_MAX))
        return 0;
    uint32_t done = 0, piece = 0;
    for (; done < length && out->pieces < FCVI_STREAM_PIECES; done += piece) {
        uint8_t *at = fcvi_vi_descriptor_piece(p, e, tx->offset + done, length - done, &piece);
        add(out, at, piece);
    }
    tx->offset += done;
    return (uint16_t)done;
}

/* Wrong bytes never go out: the stream ends in the middle of a segment (2.2.2.2.5, 2.2.2.2.6). */
static void lost_memory(struct fcvi_port *p, struct stream *s)
{
    struct vi *vi = vi_at(p, s->vi);
    if (!s->tx.response)
        fcvi_vi_entry_finish(p, vi, false, entry_at(p, s->tx.entry), FCVI_STATUS_PROTECTION_ERROR, 0);
    fcvi_vitcp_fail(p, s, true);
    fcvi_vitcp_abort(p, s);
}

static void segment_sent(struct fcvi_port *p, struct stream *s)
{
    struct stream_tx *tx = &s->tx;
    if (s->state != STREAM_CONNECTED || !tx->last)
        return;
    if (tx->response) {
        tx->response = tx->last = false;
        tx->job_offset = 0;
        tx->job = (uint16_t)((tx->job + 1u) % p->limits.stream_reads);
        if (--tx->jobs == 0)
            fcvi_vitcp_reads_answered(p, s);
    } else if (tx->entry != NONE) {
        tx->last = false;
        fcvi_vitcp_message_sent(p, s);
    }
}

/* Bytes of one segment, at most `room`; 0 when nothing is to be sent. */
size_t fcvi_vitcp_segment(struct fcvi_port *p, struct stream *s, struct fcvi_stream_bytes *out, size_t room)
{
    struct stream_tx *tx = &s->tx;
    _Static_assert(sizeof tx->header <= sizeof out->head, "the headers of every PDU");
    out->head_length = out->pieces = 0;
    if (tx->gone == tx->headers && tx->left == 0 && !segment_begin(p, s))
        return 0;
    size_t length = (size_t)(tx->headers - tx->gone) < room ? (size_t)(tx->headers - tx->gone) : room;
    memcpy(out->head, tx->header + tx->gone, length);
    out->head_length = length;
    tx->gone = (uint8_t)(tx->gone + length);
    uint16_t piece = tx->left < room - length ? tx->left : (uint16_t)(room - length);
    if (piece > 0 && (piece = fetch(p, s, out, piece)) == 0) {
        lost_memory(p, s);
        return 0;
    }
    tx->left = (uint16_t)(tx->left - piece);
    if (tx->gone == tx->headers && tx->left == 0)
        segment_sent(p, s);
    return length + piece;
}
