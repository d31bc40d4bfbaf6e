/* Segments from a stream of bytes in any cut (2.2.2.2.3, 3). No segment is ever kept: a header is gathered,
 * data go on as they come. */
#include "stream.h"

enum { TO_LENGTH = 4 }; /* bytes of a Segment Header up to Segment Length */

/* What does not belong here ends the connection, without a word (V37 to V40, V67). */
static void breach(struct fcvi_port *p, struct stream *s)
{
    if (s->state == STREAM_CONNECTED)
        fcvi_vitcp_fail(p, s, true);
    else if (s->state == STREAM_REQUESTED)
        fcvi_vitcp_answer(p, s);
    else if (s->state == STREAM_OFFERED)
        fcvi_vitcp_end_sending(p, s); /* the application has still to answer (V59) */
    else if (s->state == STREAM_INCOMING)
        fcvi_vitcp_close(p, s);
}

/* Whether a stream in this state may bring this PDU. */
static bool expected(const struct stream *s)
{
    enum fcvi_pdu_type pdu = (enum fcvi_pdu_type)s->rx.pdu;
    bool ce = pdu >= FCVI_PDU_CONNECT_REQUEST && pdu <= FCVI_PDU_CONNECT_NO_MATCH;
    if (s->state == STREAM_INCOMING)
        return pdu == FCVI_PDU_CONNECT_REQUEST && s->rx.headers == CE_HEADERS;
    if (s->state == STREAM_REQUESTED)
        return ce && pdu != FCVI_PDU_CONNECT_REQUEST;
    if (s->state != STREAM_CONNECTED || ce)
        return false;
    bool rdma = pdu == FCVI_PDU_WRITE || pdu == FCVI_PDU_READ_REQUEST || pdu == FCVI_PDU_READ_RESPONSE;
    return pdu != FCVI_PDU_NONE && (!rdma || s->rx.headers == RDMA_HEADERS);
}

/* All headers of a segment are here. */
static void header_in(struct fcvi_port *p, struct stream *s)
{
    if (fcvi_SEG_Version(s->rx.header) != profile_of(p)->version || !expected(s)) {
        s->rx.pdu = FCVI_PDU_NONE;
        breach(p, s);
        return;
    }
    s->rx.left = (uint16_t)(fcvi_SEG_Segment_Length(s->rx.header) - s->rx.headers);
    s->rx.skip = true;
    if (s->state != STREAM_CONNECTED)
        return; /* what follows is Security Information (V07) */
    fcvi_vitcp_heard(p, s);
    if (s->state != STREAM_CONNECTED || s->rx.pdu == FCVI_PDU_NOP)
        return;
    if (s->rx.pdu == FCVI_PDU_READ_RESPONSE)
        fcvi_vitcp_response_header(p, s);
    else
        fcvi_vitcp_message_header(p, s);
}

/* A whole segment was here. */
static void segment_end(struct fcvi_port *p, struct stream *s)
{
    enum fcvi_pdu_type pdu = (enum fcvi_pdu_type)s->rx.pdu;
    if (s->state == STREAM_INCOMING)
        fcvi_vitcp_request(p, s);
    else if (s->state == STREAM_REQUESTED)
        fcvi_vitcp_answer(p, s);
    else if (s->state == STREAM_CONNECTED && pdu == FCVI_PDU_READ_RESPONSE)
        fcvi_vitcp_response_end(p, s);
    else if (s->state == STREAM_CONNECTED && pdu != FCVI_PDU_NOP)
        fcvi_vitcp_message_end(p, s);
}

static bool listens(const struct stream *s)
{
    return s->state == STREAM_INCOMING || s->state == STREAM_REQUESTED || s->state == STREAM_CONNECTED ||
           (s->state == STREAM_OFFERED && !s->fin);
}

/* Bytes for the header, as many as are needed to go on; how many were taken. */
static size_t gather(struct fcvi_port *p, struct stream *s, const uint8_t *bytes, size_t length)
{
    struct stream_rx *rx = &s->rx;
    struct fcvi_pdu pdu;
    size_t wanted = TO_LENGTH;
    if (rx->have >= TO_LENGTH)
        wanted = fcvi_pdu_headers((enum fcvi_pdu_type)rx->pdu, (uint16_t)fcvi_SEG_Segment_Length(rx->header));
    size_t taken = wanted - rx->have < length ? wanted - rx->have : length;
    memcpy(rx->header + rx->have, bytes, taken);
    rx->have = (uint8_t)(rx->have + taken);
    if (rx->have < TO_LENGTH)
        return taken;
    if (fcvi_pdu_first(profile_of(p), rx->header, rx->have, &pdu, NULL) == FCVI_STREAM_BROKEN) {
        rx->pdu = FCVI_PDU_NONE;
        breach(p, s); /* V39 */
        return taken;
    }
    rx->pdu = pdu.pdu;
    rx->headers = pdu.headers;
    if (pdu.headers != 0)
        header_in(p, s);
    return taken;
}

static size_t take_data(struct fcvi_port *p, struct stream *s, const uint8_t *bytes, size_t length)
{
    uint16_t taken = length < s->rx.left ? (uint16_t)length : s->rx.left;
    s->rx.left = (uint16_t)(s->rx.left - taken);
    if (s->rx.skip)
        return taken;
    if (s->rx.pdu == FCVI_PDU_READ_RESPONSE)
        fcvi_vitcp_response_data(p, s, bytes, taken);
    else
        fcvi_vitcp_message_data(p, s, bytes, taken);
    return taken;
}

static void end_when_whole(struct fcvi_port *p, struct stream *s)
{
    if (!listens(s) || s->rx.headers == 0 || s->rx.left != 0)
        return;
    segment_end(p, s);
    s->rx.have = s->rx.headers = 0;
}

/* At most what is left of the segment. */
void fcvi_vitcp_placed(struct fcvi_port *p, struct stream *s, size_t length)
{
    (void)take_data(p, s, NULL, length);
    end_when_whole(p, s);
}

void fcvi_vitcp_receive(struct fcvi_port *p, struct stream *s, const uint8_t *bytes, size_t length)
{
    while (length > 0 && listens(s)) {
        size_t taken = s->rx.headers == 0 ? gather(p, s, bytes, length) : take_data(p, s, bytes, length);
        bytes += taken;
        length -= taken;
        end_when_whole(p, s);
    }
}
