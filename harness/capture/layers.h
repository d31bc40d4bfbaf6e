/* What an envelope is made of, from the outside to the inside: each part asks only those below it. */
#ifndef FCVI_LAYERS_H
#define FCVI_LAYERS_H

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

/** A record that is still to be looked into. original: bytes that it had before the capture cut it to length;
 * ENVELOPE_UNKNOWN: more than there are. */
struct envelope_bytes {
    const uint8_t *at;
    size_t length, original;
};
#define ENVELOPE_UNKNOWN SIZE_MAX
/* What an address begins with that the Fabric gives; behind it stands the N_Port_ID (FC-BB). */
#define ENVELOPE_FC_MAP 0x0EFC00u

struct envelope;
/* Opens what only wraps another frame, behind an EtherType or an IP protocol; leaves out as it is when it is
 * nothing of the kind. */
struct envelope_tunnels {
    void (*type)(struct envelope *envelope, uint64_t type, struct envelope_bytes bytes,
                 struct capture_record *out);
    void (*ip)(struct envelope *envelope, uint8_t protocol, struct envelope_bytes bytes,
               struct capture_record *out);
};

struct envelope {
    uint8_t counters, behind, depth; /* depth: tunnels around what is looked at */
    bool is_measured;
    const struct envelope_tunnels *tunnels; /* NULL: what is wrapped is foreign */
    const uint8_t *source; /* of the record at hand: its Ethernet address, and before it the receiver's, if
                              is_ethernet; NULL: of bare IP, and in no Ethernet that it wraps */
    bool is_ethernet;
    struct envelope_counter counter[ENVELOPE_COUNTERS];
};

/** The bytes behind the first `count`, which are there. */
static inline struct envelope_bytes fcvi_envelope_behind(struct envelope_bytes b, size_t count)
{
    const size_t original = b.original == ENVELOPE_UNKNOWN ? ENVELOPE_UNKNOWN : b.original - count;
    return (struct envelope_bytes){b.at + count, b.length - count, original};
}

/* ---- ethernet.c ---- */

/** An Ethernet frame. */
void fcvi_envelope_ethernet(struct envelope *envelope, struct envelope_bytes b, struct capture_record *out);
/** What stands behind an EtherType. envelope->source says who sent it, if anybody does. */
void fcvi_envelope_type(struct envelope *envelope, uint64_t type, struct envelope_bytes b,
                        struct capture_record *out);
/** An IP packet. A segment of TCP port 3225 comes as CAPTURE_PART; so does a fragment, as CAPTURE_FRAGMENT.
 */
void fcvi_envelope_ip(struct envelope *envelope, struct envelope_bytes b, struct capture_record *out);

/* ---- fcoe.c, cisco.c, delimited.c ---- */

void fcvi_envelope_fcoe_open(struct envelope *envelope, struct envelope_bytes b, struct capture_record *out);
void fcvi_envelope_boardwalk(struct envelope *envelope, struct envelope_bytes b, struct capture_record *out);
void fcvi_envelope_mds(struct envelope_bytes b, struct capture_record *out);
void fcvi_envelope_delimited(struct envelope_bytes b, struct capture_record *out);

/* ---- frames.c: what the record is ---- */

void fcvi_envelope_frame(struct capture_record *out, const uint8_t *bytes, size_t length);
void fcvi_envelope_cut(struct capture_record *out, const uint8_t *bytes, size_t length, size_t whole);
void fcvi_envelope_malformed(struct capture_record *out, const char *problem);
void fcvi_envelope_foreign(struct capture_record *out, enum capture_protocol family, uint64_t number);
/** Whether the four bytes behind a frame are its CRC. */
enum fcvi_crc fcvi_envelope_crc(const uint8_t *frame, size_t length);
/** Say so of a frame that came whole: what stands behind it is kept when it is no CRC. */
void fcvi_envelope_told_crc(struct capture_record *out, enum fcvi_crc crc);
/** Steps over VFT, EISL and IFR headers of a frame whose CRC was looked at. */
void fcvi_envelope_tags(struct capture_record *out);
void fcvi_envelope_vsan(struct capture_record *out, unsigned vsan);

/** A delimiter as it is given, else as the header of the frame has it. */
uint8_t fcvi_envelope_sof(const struct fcvi_input *frame);
uint8_t fcvi_envelope_eof(const struct fcvi_input *frame);
void fcvi_envelope_put_crc(const struct fcvi_input *frame, uint8_t *out);

/** A whole Ethernet frame of FCoE; gives its length, 0 when it does not fit. */
size_t fcvi_envelope_fcoe(const struct fcvi_input *frame, uint8_t *out, size_t capacity);
/** The tunnels that captures have. */
extern const struct envelope_tunnels fcvi_envelope_tunnels;

#ifdef __cplusplus
}
#endif

#endif
