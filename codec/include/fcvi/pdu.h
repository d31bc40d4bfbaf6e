/* Strict, total, zero-copy codec for the PDUs of VI/TCP (draft-dicecco-vitcp-00, clause 3): a stream of bytes
 * is divided into PDUs, and each is taken apart, checked and put together again.
 *
 * No function here allocates, keeps state, reads a clock or does I/O. Every byte string gives a result.
 * Pointers in a decoded PDU point into the caller's buffer and live as long as it does. A profile (profile.h)
 * that is given to a function is never NULL and has no fcvi_profile_problem. */
#ifndef FCVI_PDU_H
#define FCVI_PDU_H

#include <fcvi/codec.h>
#include <fcvi/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What stands at the beginning of a stream of bytes. */
enum fcvi_stream_step {
    FCVI_STREAM_MORE,  /* a part of a PDU: further bytes are needed */
    FCVI_STREAM_PDU,   /* a whole PDU; the next begins behind it */
    FCVI_STREAM_BROKEN /* Segment Length has no room for its own header (V39): nothing behind it can be read
                        */
};

/** A PDU: a view into the input. */
struct fcvi_pdu {
    const struct fcvi_profile *profile;
    const uint8_t *bytes; /* of the Segment Header */
    const uint8_t *ce;    /* 44-byte CE Header, or NULL: has none, or it is cut off */
    const uint8_t *rdma;  /* 16-byte RDMA Header, or NULL */
    const uint8_t *data;  /* what follows the headers: Consumer's Data, or Security Information where there
                             is a CE Header; NULL before the headers are there */
    uint32_t data_length; /* as much of it as there is */
    uint16_t length; /* MORE: bytes of the input that are needed to go on, at least one more than there are;
                        else Segment Length */
    uint16_t there;  /* bytes of the PDU that are there: Segment Length, or less with MORE */
    uint8_t headers; /* bytes of headers: 24, 40 or 68; 0 before all of them are there */
    uint8_t pdu;     /* enum fcvi_pdu_type; FCVI_PDU_NONE until two bytes are there */
    bool later; /* who follows the stream knows that it goes on with a message: its Data Offset alone does not
                   tell where the segments before it were empty */
};

/** Take the first PDU of a stream that begins at `bytes` and of which `length` bytes have come. findings may
 * be NULL; a PDU that is not whole is not checked. With MORE a caller who places data as they come has them
 * as soon as out->headers is not 0. With BROKEN out->length is the Segment Length that was seen, and
 * out->there as many bytes as there are, at most 24. */
enum fcvi_stream_step fcvi_pdu_first(const struct fcvi_profile *profile, const uint8_t *bytes, size_t length,
                                     struct fcvi_pdu *out, struct fcvi_findings *findings);

/** Check a PDU that is whole but for its data, which is not looked at: for who keeps none. The headers are
 * those of fcvi_pdu_first; data_length is set to what Segment Length leaves. */
void fcvi_pdu_check(const struct fcvi_pdu *pdu, struct fcvi_findings *findings);

/** Bytes of headers that a PDU has: 24, and 16 or 44 more where its Type has them and Segment Length has room
 * for them (3; a refusal may leave out its CE Header, V08). */
uint8_t fcvi_pdu_headers(enum fcvi_pdu_type pdu, uint16_t segment_length);

/** The PDU that a profile has for a number of Type; FCVI_PDU_NONE for a number without one. */
enum fcvi_pdu_type fcvi_pdu_of_type(const struct fcvi_profile *profile, uint64_t type);

/** Take a whole PDU apart. Returns 0, or -1 when it is not whole. With another profile than T0 a value of a
 * field that the profile gives a place is the one at that place; reserved Calling Attributes are what is left
 * over, moved down to bit 0. */
int fcvi_pdu_values_of(const struct fcvi_pdu *pdu, struct fcvi_values *out);

/** Build a PDU from its values alone. Returns its length, 0 when it does not fit into capacity. */
size_t fcvi_pdu_encode(const struct fcvi_profile *profile, const struct fcvi_values *values, uint8_t *out,
                       size_t capacity);

/** One PDU in words, as fcvi_print_text says a frame. One that is not whole is said in one line of its bytes.
 */
size_t fcvi_pdu_print_text(const struct fcvi_pdu *pdu, char *out, size_t capacity);

/** One JSON object (no newline): {"pdu","title","profile","length","whole","fields":[as fcvi_print_json],
 * "data":{"byte","length"},"rest":{"byte","hex"}}. */
size_t fcvi_pdu_print_json(const struct fcvi_pdu *pdu, char *out, size_t capacity);

/** One line: "Send MSG 7 OFFSET 0 DATA 64 ACK 6 RX 12 IMMEDIATE END". */
size_t fcvi_pdu_print_summary(const struct fcvi_pdu *pdu, char *out, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
