/* The streams of a reference port whose wire is VI/TCP (draft-dicecco-vitcp-00).
 *
 * The port speaks VI/TCP and no TCP: the host has the sockets, or anything that carries bytes in order. It
 * tells the port of connections that come, of bytes and of ends, and takes from it what fcvi_stream_transmit
 * says. VIPL's calls, events and time are those of port.h. A port is one of VI/TCP when its configuration
 * says FCVI_WIRE_VITCP and its limits have streams.
 *
 * A stream is a number that the port gives, from 0 to limits.streams - 1. It stands for one TCP connection
 * from fcvi_stream_incoming or FCVI_STREAM_OPEN until that connection is over, which it is
 *   - when the port has said FCVI_STREAM_RESET, or the host FCVI_CLOSE_RESET or "not opened", or
 *   - when the port has said FCVI_STREAM_FIN and the host FCVI_CLOSE_FIN, in either order.
 * After that the number may stand for another one. What the host says of a number that stands for nothing is
 * ignored. Times are as in port.h, and so is what a call does first: let timers expire that are due. */
#ifndef FCVI_VITCP_H
#define FCVI_VITCP_H

#include <fcvi/port.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An IP address, as IPv6 (version 4: ::ffff:a.b.c.d), and a TCP port. The port of VI/TCP that is reserved
 * for passive establishment (2.2.2.2.1) is the host's to know: a port asks for remote number 0. */
struct fcvi_endpoint {
    uint8_t host[16];
    uint16_t port;
};

enum {
    FCVI_STREAM_WINDOW = 65536, /* bytes that the port may send before the host says more */
    FCVI_STREAM_UNLIMITED = -1  /* of fcvi_stream_window: the window no longer counts */
};

enum fcvi_close {
    FCVI_CLOSE_FIN,  /* nothing more comes from the other side */
    FCVI_CLOSE_RESET /* the connection is gone, both ways */
};

enum fcvi_stream_kind {
    FCVI_STREAM_NONE,  /* nothing to do now */
    FCVI_STREAM_OPEN,  /* connect: fcvi_stream_opened has to follow */
    FCVI_STREAM_DATA,  /* send the bytes */
    FCVI_STREAM_FIN,   /* nothing more comes from the port: end the sending side after what was sent before */
    FCVI_STREAM_RESET, /* end the connection at once, or the attempt to open it */
};

/** What the host has to do. */
struct fcvi_stream_out {
    uint8_t kind; /* enum fcvi_stream_kind */
    uint32_t stream;
    struct fcvi_endpoint local,
        remote; /* OPEN: own address to connect from (port 0: any) and the other one */
};

/** The other side connects, from `remote` to `local`. On true the port takes the connection, which is
 * established, and stream is its number. On false it has to be refused: no VI has been created yet (4.3), or
 * there is no room. */
bool fcvi_stream_incoming(struct fcvi_port *port, uint64_t now, const struct fcvi_endpoint *remote,
                          const struct fcvi_endpoint *local, uint32_t *stream);

/** The answer to FCVI_STREAM_OPEN. With accepted, local is the own end of the connection; NULL when the host
 * does not know it. */
void fcvi_stream_opened(struct fcvi_port *port, uint64_t now, uint32_t stream, bool accepted,
                        const struct fcvi_endpoint *local);

/** Bytes of the other side, in any cut; they are not needed after the call. */
void fcvi_stream_receive(struct fcvi_port *port, uint64_t now, uint32_t stream, const uint8_t *bytes,
                         size_t length);

/** Memory that a program has registered. */
struct fcvi_stream_piece {
    uint8_t *bytes;
    size_t length;
};
enum { FCVI_STREAM_PIECES = 8 };

/** Where the next bytes of the other side belong, when they are data of a Send that is under way: a host may
 * receive them there and say so with fcvi_stream_placed. How many pieces; 0 when they are for
 * fcvi_stream_receive. The pieces are good until the next call. */
size_t fcvi_stream_place(struct fcvi_port *port, uint32_t stream,
                         struct fcvi_stream_piece piece[FCVI_STREAM_PIECES]);

/** So many bytes have come and are where fcvi_stream_place, the call before this one, said. */
void fcvi_stream_placed(struct fcvi_port *port, uint64_t now, uint32_t stream, size_t length);

/** The host can take that many bytes more of this stream; FCVI_STREAM_UNLIMITED for any number. */
void fcvi_stream_window(struct fcvi_port *port, uint64_t now, uint32_t stream, int64_t bytes);

/** The other side has ended the connection. */
void fcvi_stream_closed(struct fcvi_port *port, uint64_t now, uint32_t stream, enum fcvi_close how);

/** Take the next thing to do. Bytes (of DATA) go to out, at most capacity and at most what the window of the
 * stream allows: one segment or a part of one. Returns how many they are, 0 for other kinds. The host calls
 * it until what->kind is FCVI_STREAM_NONE. */
size_t fcvi_stream_transmit(struct fcvi_port *port, uint64_t now, uint8_t *out, size_t capacity,
                            struct fcvi_stream_out *what);

enum { FCVI_STREAM_HEAD = 68 };
/** Bytes of DATA where they lie: first the headers, then pieces. */
struct fcvi_stream_bytes {
    uint8_t head[FCVI_STREAM_HEAD];
    size_t head_length, pieces;
    struct fcvi_stream_piece piece[FCVI_STREAM_PIECES];
};

/** As fcvi_stream_transmit, without copying data. The pieces are good until the program that owns the memory
 * hears of a completion, which is not before the port's events are taken. */
size_t fcvi_stream_gather(struct fcvi_port *port, uint64_t now, size_t most, struct fcvi_stream_bytes *out,
                          struct fcvi_stream_out *what);

#ifdef __cplusplus
}
#endif

#endif
