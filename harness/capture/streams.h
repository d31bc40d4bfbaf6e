/* TCP streams put together by libtins, in a library that is loaded when the first segment comes. */
#ifndef FCVI_STREAMS_H
#define FCVI_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct streams;

enum { STREAMS_ADDRESS = 16, STREAMS_MOST = 256 /* directions of FCIP that are followed at once */ };
enum streams_flag { STREAMS_FIN = 0x01, STREAMS_SYN = 0x02, STREAMS_RST = 0x04, STREAMS_ACK = 0x10 };

/* Bytes of a stream, and what is known of the segment that they came in. */
struct streams_piece {
    uint64_t record, time_us; /* the caller's */
    uint32_t sequence, end, acknowledged;
    uint32_t offset; /* of the bytes given in the data of the segment */
    uint8_t flags;
    uint32_t link; /* number of the two addresses (in its VLANs) */
    const uint8_t *bytes;
    size_t length;
};
/* A stream that begins. */
struct streams_opening {
    uint32_t other; /* the other direction of its connection; the most there are: not seen */
    uint32_t first; /* sequence number of its first byte */
    int syn;        /* the SYN was seen (1) or nothing but data (0) */
};
/* What becomes of the data of a segment. */
enum streams_fate { STREAMS_GIVEN, STREAMS_WAITS, STREAMS_REPEATED };

/* One segment; of an IPv4 address the first four bytes are used. missing: bytes of its data that the capture
 * lacks. */
struct streams_segment {
    uint8_t from[STREAMS_ADDRESS], to[STREAMS_ADDRESS];
    uint16_t from_port, to_port;
    uint32_t network; /* the VLANs that it came in, as the record has them; 0 without */
    uint32_t sequence, acknowledged;
    uint8_t flags;
    uint16_t window; /* as it stands there, not scaled */
    const uint8_t *data;
    size_t length, missing;
    uint64_t record, time_us; /* what streams_piece tells of it */
    uint32_t stream;          /* set by take: where its data goes, the most there are when it has none */
    uint8_t fate;             /* set by take where there are data: enum streams_fate */
};

/* What the streams give. stream: a direction of a connection, below most. */
struct streams_events {
    void *context;
    uint32_t most; /* directions that are followed at once */
    void (*data)(void *context, uint32_t stream, const struct streams_piece *piece);
    /* The stream begins here; lost: after bytes of it that are missing. */
    void (*begins)(void *context, uint32_t stream, int lost);
    /* After a beginning. NULL: not wanted. */
    void (*opened)(void *context, uint32_t stream, const struct streams_opening *opening);
    /* These bytes of the segment came before; without bytes: the segment waited and is over. NULL: not
     * wanted. */
    void (*repeated)(void *context, uint32_t stream, const struct streams_piece *piece);
};

struct streams_calls {
    struct streams *(*open)(const struct streams_events *events);
    int (*take)(struct streams *streams, struct streams_segment *segment); /* 0, -1 without memory */
    int (*flush)(struct streams *streams); /* the capture ends: what was missing does not come any more */
    void (*close)(struct streams *streams);
};
/* The library's one symbol. */
extern const struct streams_calls fcvi_streams_calls;

#ifdef __cplusplus
}
#endif

#endif
