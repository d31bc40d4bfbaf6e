/* Taking FC-2 frames out of their envelopes, and putting them in. */
#ifndef FCVI_ENVELOPE_H
#define FCVI_ENVELOPE_H

#include "capture.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of a capture from the records before: which are counted, and how many bytes follow FCoE's
 * trailer: an FCS, or what a tap appends. */
struct envelope_counter {
    uint64_t source; /* Ethernet address */
    uint16_t last;
};
enum { ENVELOPE_COUNTERS = 8 };
struct envelope {
    uint8_t counters, behind;
    bool is_measured;
    uint64_t source; /* of the record at hand */
    struct envelope_counter counter[ENVELOPE_COUNTERS];
};

/** A record that is still to be looked into. original: bytes that it had before the capture cut it to length.
 */
struct envelope_bytes {
    const uint8_t *at;
    size_t length, original;
};

/** A segment of TCP port 3225 comes as CAPTURE_PART, frame then is its IP packet. */
void fcvi_envelope_open(struct envelope *envelope, int linktype, struct envelope_bytes bytes,
                        struct capture_record *out);

/** A whole Ethernet frame of FCoE; gives its length, 0 when it does not fit. */
size_t fcvi_envelope_fcoe(const struct fcvi_input *frame, uint8_t *out, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
