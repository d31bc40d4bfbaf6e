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

/** A record that is still to be looked into. original: bytes that it had before the capture cut it to length;
 * ENVELOPE_UNKNOWN: more than there are. */
struct envelope_bytes {
    const uint8_t *at;
    size_t length, original;
};
#define ENVELOPE_UNKNOWN SIZE_MAX

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
                              is_ethernet */
    bool is_ethernet;
    struct envelope_counter counter[ENVELOPE_COUNTERS];
};

/** A segment of TCP port 3225 and a fragment of IP come as CAPTURE_PART, frame then is the IP packet. */
void fcvi_envelope_open(struct envelope *envelope, int linktype, struct envelope_bytes bytes,
                        struct capture_record *out);
/** What a datagram holds that was put together of its fragments: a record of fcvi_envelope_open goes on. */
void fcvi_envelope_datagram(struct envelope *envelope, struct envelope_bytes packet,
                            struct capture_record *out);
/** The tunnels that captures have. */
extern const struct envelope_tunnels fcvi_envelope_tunnels;

/** A whole Ethernet frame of FCoE; gives its length, 0 when it does not fit. */
size_t fcvi_envelope_fcoe(const struct fcvi_input *frame, uint8_t *out, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
