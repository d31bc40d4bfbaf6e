/* Taking FC-2 frames out of their envelopes, and putting them in. */
#ifndef FCVI_ENVELOPE_H
#define FCVI_ENVELOPE_H

#include "layers.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A segment of TCP port 3225 and a fragment of IP come as CAPTURE_PART, frame then is the IP packet. */
void fcvi_envelope_open(struct envelope *envelope, int linktype, struct envelope_bytes bytes,
                        struct capture_record *out);
/** What a datagram holds that was put together of its fragments: a record of fcvi_envelope_open goes on. */
void fcvi_envelope_datagram(struct envelope *envelope, struct envelope_bytes packet,
                            struct capture_record *out);

#ifdef __cplusplus
}
#endif

#endif
