/* pcap files as nearly all are, read in place: this machine's byte order, version 2.4. The rest is libpcap's.
 */
#ifndef FCVI_CLASSIC_H
#define FCVI_CLASSIC_H

#include "source.h"

enum { CLASSIC_HEADER = 24 };

struct classic {
    struct source *source;
    uint32_t linktype, snaplen, most;
    uint32_t unit; /* of the second part of a time: 1 us or 1000 ns */
};

/** Takes the file header, which is in the buffer; false when libpcap is to read this one. */
bool fcvi_classic_begin(struct classic *classic, struct source *source);

struct classic_record {
    const uint8_t *bytes;
    uint64_t time_us;
    uint32_t length, original;
};
/** 1 there is one, 0 the end, -1 broken with a line in error, 2 interrupted. */
int fcvi_classic_next(const struct classic *classic, struct classic_record *out, char *error, size_t size);

#endif
