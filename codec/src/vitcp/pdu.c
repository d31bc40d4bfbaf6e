/* A stream of bytes divided into PDUs, and where the parts of each begin (3). */
#include "../core/assert.h"
#include "../core/report.h"
#include "vitcp.h"

_Static_assert(FCVI_SEG_LENGTH + FCVI_CE_LENGTH <= UINT8_MAX, "headers fit into their member");

uint8_t fcvi_pdu_headers(enum fcvi_pdu_type pdu, uint16_t segment_length)
{
    size_t more = fcvi_pdu_takes_ce(pdu) ? FCVI_CE_LENGTH : fcvi_pdu_needs_rdma(pdu) ? FCVI_RDMA_LENGTH : 0;
    return (uint8_t)(FCVI_SEG_LENGTH + (segment_length >= FCVI_SEG_LENGTH + more ? more : 0));
}

/* The headers are there: what follows them, as far as it has come. */
static void divide(struct fcvi_pdu *out, uint8_t headers, size_t there)
{
    out->headers = headers;
    if (headers == FCVI_SEG_LENGTH + FCVI_CE_LENGTH)
        out->ce = out->bytes + FCVI_SEG_LENGTH;
    if (headers == FCVI_SEG_LENGTH + FCVI_RDMA_LENGTH)
        out->rdma = out->bytes + FCVI_SEG_LENGTH;
    out->data = out->bytes + headers;
    out->data_length = (uint32_t)(there - headers);
}

enum fcvi_stream_step fcvi_pdu_first(const struct fcvi_profile *profile, const uint8_t *bytes, size_t length,
                                     struct fcvi_pdu *out, struct fcvi_findings *findings)
{
    FCVI_ASSERT(profile != NULL && (bytes != NULL || length == 0));
    enum { KNOWN = FCVI_SEG_Segment_Length_BYTE + 2 };
    *out = (struct fcvi_pdu){.profile = profile, .bytes = bytes, .pdu = FCVI_PDU_NONE};
    if (length >= 2)
        out->pdu = (uint8_t)fcvi_pdu_of_type(profile, fcvi_profile_get(profile, FCVI_P_SEG_Type, bytes));
    if (length < KNOWN) {
        out->there = (uint16_t)length;
        out->length = KNOWN;
        return FCVI_STREAM_MORE;
    }
    out->length = (uint16_t)fcvi_SEG_Segment_Length(bytes);
    if (out->length < FCVI_SEG_LENGTH) {
        out->there = (uint16_t)(length < FCVI_SEG_LENGTH ? length : FCVI_SEG_LENGTH);
        if (findings != NULL)
            fcvi_report(
                findings, FCVI_AT(0, SEG, Segment_Length), out->length,
                FCVI_BROKEN("VITCP-3-02", "Segment Length is less than a Segment Header", "24 or more"));
        return FCVI_STREAM_BROKEN;
    }
    out->there = (uint16_t)(length < out->length ? length : out->length);
    uint8_t headers = fcvi_pdu_headers((enum fcvi_pdu_type)out->pdu, out->length);
    if (out->there >= headers)
        divide(out, headers, out->there);
    if (out->there < out->length)
        return FCVI_STREAM_MORE;
    if (findings != NULL)
        fcvi_pdu_check(out, findings);
    return FCVI_STREAM_PDU;
}
