/* Any bytes as a VI/TCP stream that comes in pieces: how it is cut decides nothing, every step goes forward,
 * and what is known of a PDU that is not whole stays true. */
#include "oracle.h"
#include <fcvi/pdu.h>
#include <fcvi_mutator.h>

enum { LONGEST = 4096 };

const struct fcvi_mutator_format fcvi_fuzz_format = {.pdus = true, .trailer = 1};

/* Take the PDU at the beginning of what is left, though it comes in pieces; returns how the last look ended.
 */
static enum fcvi_stream_step take(const uint8_t *bytes, size_t left, size_t piece, struct fcvi_pdu *pdu)
{
    struct fcvi_pdu before = {.pdu = FCVI_PDU_NONE};
    enum fcvi_stream_step step = FCVI_STREAM_MORE;
    for (size_t there = 0; step == FCVI_STREAM_MORE && there < left;) {
        there = there + piece < left ? there + piece : left;
        step = fcvi_pdu_first(fcvi_profile_t0(), bytes, there, pdu, NULL);
        DEMAND(before.there < 2 || pdu->pdu == before.pdu);
        DEMAND(before.there < 4 || pdu->length == before.length);
        DEMAND(before.headers == 0 || (pdu->headers == before.headers && pdu->data == before.data &&
                                       pdu->ce == before.ce && pdu->rdma == before.rdma));
        DEMAND(step != FCVI_STREAM_MORE || (pdu->length > there && pdu->there == there));
        before = *pdu;
    }
    return step;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fcvi_pdu whole, pieces;
    if (size < 2 || size > LONGEST)
        return 0;
    size_t piece = 1u + data[--size] % 80u;
    enum fcvi_stream_step step = FCVI_STREAM_PDU;
    for (size_t at = 0; at < size && step == FCVI_STREAM_PDU; at += whole.there) {
        step = fcvi_pdu_first(fcvi_profile_t0(), data + at, size - at, &whole, NULL);
        DEMAND(take(data + at, size - at, piece, &pieces) == step);
        DEMAND(whole.there > 0 && whole.length == pieces.length && whole.pdu == pieces.pdu &&
               whole.headers == pieces.headers);
        DEMAND(step == FCVI_STREAM_BROKEN || whole.there == pieces.there);
        DEMAND(step != FCVI_STREAM_PDU ||
               (whole.data == pieces.data && whole.data_length == pieces.data_length));
    }
    return 0;
}
