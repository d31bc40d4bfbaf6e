/* TCP segments out of IP packets, and the library that puts them in order. */
#ifndef FCVI_SEGMENTS_H
#define FCVI_SEGMENTS_H

#include "streams.h"

#include <stdbool.h>

#define SEGMENTS_LIBRARY "libfcvi-streams.so"

struct segments {
    void *library;
};

/** The headers and data of an IP packet that the envelope found to be TCP. original: bytes that it had before
 * the capture cut it to length. False where the headers are not all there. */
bool fcvi_segment_of(const uint8_t *ip, size_t length, size_t original, struct streams_segment *s);

/** The library's calls; NULL when it, or libtins, is not there. segments is all zeros before. */
const struct streams_calls *fcvi_segments_load(struct segments *segments);
void fcvi_segments_unload(struct segments *segments);

#endif
