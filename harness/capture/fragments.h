/* IP datagrams out of their fragments (RFC 791, RFC 8200). */
#ifndef FCVI_FRAGMENTS_H
#define FCVI_FRAGMENTS_H

#include "capture.h"

struct fragments;

/** NULL without memory. */
struct fragments *fcvi_fragments_open(void);
/** Take a record of CAPTURE_FRAGMENT, whose frame is an IP packet. True when its datagram is whole: then
 * frame is the datagram as one packet, whose bytes stay until the next call, whole is its length, and parts
 * says how many records before have a part of it. parts before: those that the packet itself was made of.
 * Overlapping pieces, and what the capture cut off, make none whole. */
bool fcvi_fragments_take(struct fragments *fragments, struct capture_record *record);
void fcvi_fragments_close(struct fragments *fragments);

#endif
