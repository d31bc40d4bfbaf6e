/* TCP streams put together by libtins, in a library that is loaded when the first segment of FCIP comes. */
#ifndef FCVI_STREAMS_H
#define FCVI_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct streams;

enum { STREAMS_ADDRESS = 16, STREAMS_MOST = 256 /* directions that are followed at once */ };

/* One segment; of an IPv4 address the first four bytes are used. missing: bytes of its data that the capture
 * lacks. */
struct streams_segment {
    uint8_t from[STREAMS_ADDRESS], to[STREAMS_ADDRESS];
    uint16_t from_port, to_port;
    uint32_t sequence, acknowledged;
    uint8_t flags;
    const uint8_t *data;
    size_t length, missing;
    uint32_t stream; /* set by take: where its data goes, STREAMS_MOST when it has none */
};

/* What the streams give. stream: a direction of a connection, below STREAMS_MOST; link: number of its two
 * addresses. */
struct streams_events {
    void *context;
    void (*data)(void *context, uint32_t stream, uint32_t link, const uint8_t *bytes, size_t length);
    /* The stream begins here; lost: after bytes of it that are missing. */
    void (*begins)(void *context, uint32_t stream, int lost);
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
