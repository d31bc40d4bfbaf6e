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
    struct envelope_counter counter[ENVELOPE_COUNTERS];
};

/** original: bytes that the record had before the capture cut it to length. A segment of TCP port 3225 comes
 * as CAPTURE_PART, frame then is its IP packet. */
void fcvi_envelope_open(struct envelope *envelope, int linktype, const uint8_t *bytes, size_t length,
                        size_t original, struct capture_record *out);
/** Whether records of a linktype are looked into. */
bool fcvi_envelope_knows(uint32_t linktype);

/* ---- of the parts of the envelope ---- */

/** A record that is still to be looked into. */
struct envelope_bytes {
    const uint8_t *at;
    size_t length, original;
};
void fcvi_envelope_frame(struct capture_record *out, const uint8_t *bytes, size_t length);
void fcvi_envelope_cut(struct capture_record *out, const uint8_t *bytes, size_t length, size_t whole);
void fcvi_envelope_malformed(struct capture_record *out, const char *problem);
enum fcvi_crc fcvi_envelope_crc(const uint8_t *frame, size_t length);
/** Steps over VFT, EISL and IFR headers of a frame whose CRC was looked at. */
void fcvi_envelope_tags(struct capture_record *out);
void fcvi_envelope_vsan(struct capture_record *out, unsigned vsan);
void fcvi_envelope_link(struct envelope *envelope, int linktype, struct envelope_bytes b,
                        struct capture_record *out);
void fcvi_envelope_fcoe_read(struct envelope *envelope, struct envelope_bytes b, struct capture_record *out);
void fcvi_envelope_boardwalk(struct envelope *envelope, uint64_t source, struct envelope_bytes b,
                             struct capture_record *out);
void fcvi_envelope_mds(struct envelope_bytes b, struct capture_record *out);

size_t fcvi_envelope_fcoe(const struct fcvi_input *frame, uint8_t *out, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
