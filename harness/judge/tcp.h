/* VI/TCP in captures: TCP segments become streams, streams PDUs, and each PDU is judged by itself and by its
 * connection. */
#ifndef FCVI_JUDGE_TCP_H
#define FCVI_JUDGE_TCP_H

#include <capture.h>
#include <fcvi/vitcp_monitor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tcp_judge;

/** Which connections are VI/TCP: those of a port, all, or those that begin like one. */
struct tcp_options {
    const struct fcvi_profile *profile; /* stays the caller's */
    uint16_t port;                      /* 0: none */
    bool every;
    bool keep; /* report each PDU, with all of its bytes; else only those in which something is found */
    bool connections; /* keep what is over for fcvi_tcp_over */
};

/** NULL when there is no memory. libtins is loaded when the first TCP segment comes. */
struct tcp_judge *fcvi_tcp_open(const struct tcp_options *options);

/** Take a record of CAPTURE_TCP, whose frame is its IP packet. number: of the record in its stream. Returns
 * how many reports there are, or -1 when there is no memory. The reports before are gone. */
int fcvi_tcp_take(struct tcp_judge *tcp, const struct capture_record *record, uint64_t number);

/** The capture ends: what waits does not come any more. As fcvi_tcp_take. */
int fcvi_tcp_flush(struct tcp_judge *tcp);

enum { TCP_FINDINGS = 12, TCP_ADDRESS = 16, TCP_HEADERS = 68 };

/** Where a byte came. */
struct tcp_place {
    uint64_t record, time_us;
    uint32_t byte; /* of the data of its TCP segment */
};
struct tcp_report {
    struct tcp_place place;            /* of its first byte */
    struct tcp_place at[TCP_FINDINGS]; /* of each finding */
    struct fcvi_finding finding[TCP_FINDINGS];
    size_t findings;     /* more than TCP_FINDINGS: only those are there */
    uint32_t connection; /* number, from 1 */
    uint8_t direction;   /* 0: of who opened the connection, as far as that is known */
    uint8_t step;        /* enum fcvi_stream_step: FCVI_STREAM_PDU or FCVI_STREAM_BROKEN */
    uint64_t offset;     /* byte of the stream that the PDU begins at */
    uint32_t length;     /* Segment Length */
    uint32_t there;      /* bytes of it that are there: all with keep, else those of its headers */
    uint8_t headers[TCP_HEADERS];
};
/** A report of the last call; false behind the last. */
bool fcvi_tcp_report(const struct tcp_judge *tcp, size_t index, struct tcp_report *out);
/** Its bytes, until the next call. */
const uint8_t *fcvi_tcp_bytes(const struct tcp_judge *tcp, size_t index);

/** Why a record of VI/TCP is not judged. */
enum tcp_reason {
    TCP_MISSING,    /* bytes of the stream are missing before it */
    TCP_CUT,        /* its data is cut off in the capture */
    TCP_UNFINISHED, /* it holds a part of a PDU that does not end */
    TCP_BEGUN,      /* the stream began before the capture */
    TCP_BEHIND,     /* it comes behind a Segment Length that ends the stream */
    TCP_LIBRARY,    /* libtins is not there */
    TCP_REASONS
};
struct tcp_count {
    uint64_t records, first;
};
/** Each record that was taken is judged, not judged, without data, or foreign. */
struct tcp_tally {
    uint64_t records, judged, without, foreign;
    struct tcp_count unjudged[TCP_REASONS];
    uint64_t connections, pdus;
    struct tcp_count monitor[FCVI_VITCP_UNJUDGED_COUNT]; /* PDUs that only the codec judged */
    uint64_t repeated;                                   /* segments of which all data had come before */
};
/** What there is so far. After fcvi_tcp_flush the records add up. */
const struct tcp_tally *fcvi_tcp_tally(const struct tcp_judge *tcp);

/** Segments of a side of which each says window 0, up to its latest one; none where that one has room. */
struct tcp_shut {
    uint64_t record, since_us, until_us;
    uint32_t segments;
};

/** A connection, when it is over. */
struct tcp_connection {
    uint32_t number;
    bool six; /* IPv6 */
    uint8_t address[2][TCP_ADDRESS];
    uint16_t port[2];
    uint64_t first_record, last_record, first_us, last_us, answer_us;
    bool fin[2], reset[2];
    bool foreign[2]; /* the reset came another way than what the side sent before: by its hop limit */
    bool stale[2];   /* its sequence number is below what the other side had acknowledged */
    bool bare[2];    /* the reset has no ACK: of a host that does not know the connection (RFC 9293, 3.5.2) */
    uint32_t unacknowledged[2]; /* bytes of a side that the other had not acknowledged when it reset */
    uint32_t repeated[2]; /* how often a side sent old data again since the other one's latest segment */
    uint32_t deaf[2]; /* likewise, since it sent or heard anything new, what the other one had acknowledged */
    uint32_t probes[2]; /* keep-alives of a side since the other one's latest segment */
    struct tcp_shut shut[2];
    struct fcvi_vitcp_side side[2];
    uint64_t violations, notices;
};
/** The next that is over since the calls before; false when there is none. */
bool fcvi_tcp_over(struct tcp_judge *tcp, struct tcp_connection *out);

/** A SYN, once or again, that no SYN answered. */
struct tcp_attempt {
    bool six;
    uint8_t address[2][TCP_ADDRESS];
    uint16_t port[2];
    uint32_t network, syns;
    bool refused; /* by a reset of the called */
    uint64_t first_record, last_record, first_us, last_us;
};
/** With connections, one of those that are kept: the latest. */
bool fcvi_tcp_attempt(const struct tcp_judge *tcp, size_t index, struct tcp_attempt *out);

/** The number of a connection of which a segment of the end in whose name a reset came stands behind it; 0
 * behind the last. Of very many resets the latest are watched. */
uint32_t fcvi_tcp_spoke_on(const struct tcp_judge *tcp, size_t index);

void fcvi_tcp_close(struct tcp_judge *tcp);

#ifdef __cplusplus
}
#endif

#endif
