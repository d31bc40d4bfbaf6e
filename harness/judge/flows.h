/* The Connections of a capture: who talks to whom, how much, how fast, and what is out of the ordinary.
 *
 * In C the Message frames are counted. What a reader of the table has to see is said: all that is no Message,
 * and a Message frame that shows something missing, late, repeated or failed. */
#ifndef FCVI_FLOWS_H
#define FCVI_FLOWS_H

#include "cut.h"
#include "samples.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fcvi_flows;

#define FCVI_FLOW_NONE UINT32_MAX

/** Why a record is handed out; several may hold. */
enum fcvi_flow_why {
    FCVI_FLOW_CONTROL = 1, /* no Message frame: setup, Disconnect, BLS, ELS, CT, busy, reject */
    FCVI_FLOW_FOUND = 2,   /* the codec or the monitor found something */
    FCVI_FLOW_NEW = 4,     /* a Message of a Connection whose setup was not seen */
    FCVI_FLOW_FAILED = 8,  /* a Message Response that reports an error */
    FCVI_FLOW_GAP = 16,    /* the Relative Offset leaves out bytes of the Message */
    FCVI_FLOW_LATE = 32,   /* bytes of a Message that come after later ones */
    FCVI_FLOW_AGAIN = 64, /* of the Exchange, bytes or a Message that were there before: not for this alone */
    FCVI_FLOW_SKIP = 128, /* FCVI_MSG_ID leaves out Messages */
    FCVI_FLOW_LATE_MSG = 256, /* a Message that comes after later ones */
    FCVI_FLOW_UNASKED = 512,  /* a Message Response whose request was not seen */
    FCVI_FLOW_DAMAGED = 1024, /* the CRC is wrong, or EOFni */
    FCVI_FLOW_MERGED = 2048,  /* two halves turned out to be one Connection: other is gone */
    FCVI_FLOW_FIP = 4096,     /* a frame of the FCoE Initialization Protocol */
    FCVI_FLOW_REV1 = 8192     /* an IU of Rev 1.0 of 1999: not for this alone */
};

enum {
    FCVI_FLOW_FINE = 16,                   /* steps of latency in each power of two */
    FCVI_FLOW_STEPS = FCVI_FLOW_FINE * 30, /* the last step also holds what is longer */
    FCVI_FLOW_KINDS = 16
};

/** One way of a Connection: what one side sent. */
struct fcvi_flow_way {
    uint64_t frames, bytes;             /* of Messages and their Responses; payload bytes */
    uint64_t messages;                  /* requests begun */
    uint64_t responses;                 /* Message Responses begun */
    uint64_t failed;                    /* Message Responses with an error */
    uint64_t again, late, gaps;         /* frames */
    uint64_t latencies;                 /* requests of this side that were answered, both seen */
    uint64_t last_answered;             /* first frame of the latest request of this side that was answered */
    uint64_t fastest_us;                /* the shortest latency, where there is one */
    uint64_t slowest_us, slowest_frame; /* the longest latency, and the Response that had it */
    uint64_t stall_us, stall_frame;     /* the longest silence inside a Message, and the frame after it */
    uint64_t last, last_us;             /* frame, 0 without one */
    uint32_t next_id;                   /* FCVI_MSG_ID that follows */
    bool has_next;
    bool over, waited;                 /* the Connection ended; a request of this side had no answer then */
    struct fcvi_flow_samples *samples; /* of latency over time, when that is wanted; else NULL */
    uint32_t *histogram;               /* of latency in FCVI_FLOW_STEPS steps; NULL while there is none */
    struct fcvi_flow_slot *ring;
    uint32_t size; /* of the ring: a power of two */
};

/** A Message under way. */
struct fcvi_flow_slot {
    uint64_t time_us, number; /* of the latest frame of the request, and of the first */
    uint32_t id, next, total, got;
    uint16_t ox_id;
    uint8_t iu;
    uint8_t state;  /* enum fcvi_flow_state */
    bool ends;      /* its last frame ends the Exchange: there is no Response */
    uint8_t seq_id; /* of the latest frame of it, request or Response */
    uint16_t seq_cnt;
    uint64_t last_us;            /* the latest frame of it, request or Response */
    uint32_t answer_next;        /* Relative Offset that the next frame of an RDMA Read's data has */
    uint32_t answer_got;         /* bytes of that data */
    uint32_t answer_total;       /* bytes that the RDMA Read asks for */
    uint32_t hole_from, hole_to; /* Relative Offsets between which bytes were left out, 0 where none were */
};
enum fcvi_flow_state { FCVI_FLOW_FREE, FCVI_FLOW_PART, FCVI_FLOW_SENT, FCVI_FLOW_ANSWERED };

/** A Connection. Side 0 is the one that asked for it, or the sender of the first frame seen. */
struct fcvi_flow {
    uint32_t network, id[2], handle[2]; /* N_Port_ID and FCVI_HANDLE of each side; FFFFFFFFh: not known */
    bool gone;                          /* merged into another, or closed */
    uint64_t first, first_us;           /* frame */
    struct fcvi_flow_way way[2];
};

struct fcvi_flow_seen {
    uint32_t why, flow, other; /* enum fcvi_flow_why; FCVI_FLOW_NONE */
    uint8_t side;              /* of the sender */
    uint32_t missing;          /* GAP: bytes; SKIP: Messages */
    uint64_t earlier;          /* frame of the request, 0 when not known */
};

/** What the records were. */
struct fcvi_flow_tally {
    uint64_t records, frames, fcvi, damaged, acks;
    uint64_t part;                  /* of frames: cut off, and taken as far as their bytes go */
    uint64_t gaps;                  /* records before which the capture says that frames are missing */
    uint64_t kind[FCVI_FLOW_KINDS]; /* by enum capture_kind */
    uint64_t type[256];             /* frames by TYPE */
    uint64_t rev1;                  /* IUs of ports that speak Rev 1.0 of 1999 */
};

/** NULL without memory. seed: of the hash tables, against captures that were made to collide. */
struct fcvi_flows *fcvi_flows_open(uint64_t seed);
void fcvi_flows_close(struct fcvi_flows *flows);
/** Keep latencies over time from now on. */
void fcvi_flows_sample(struct fcvi_flows *flows);

/** A record that was judged. */
struct flows_unit {
    const struct capture_record *record;
    struct fcvi_frame *frame; /* of CAPTURE_FRAME and CAPTURE_CUT */
    uint64_t number;          /* of the record, over all captures */
    uint8_t extent;           /* of CAPTURE_CUT: enum judge_cut_extent */
    bool found;               /* the codec or the monitor found something */
    bool damaged;             /* its receiver drops it */
    bool rev1;                /* an IU of ports that speak Rev 1.0 of 1999 */
};

/** Take a record. Whether the reader of the table is to see it, as *seen says. */
bool fcvi_flows_take(struct fcvi_flows *flows, const struct flows_unit *unit, struct fcvi_flow_seen *seen);

/** A Connection that is being set up. Its number, counted from 0; FCVI_FLOW_NONE without memory. */
uint32_t fcvi_flows_add(struct fcvi_flows *flows, uint32_t network, uint32_t from, uint32_t to);
/** Messages to that side's port with this FCVI_HANDLE belong to the Connection from now on. */
void fcvi_flows_bind(struct fcvi_flows *flows, uint32_t flow, unsigned side, uint32_t handle);
/** An FCVI_HANDLE of a port. */
struct fcvi_flow_end {
    uint32_t network, port, handle;
};
/** Which Connection a frame to there belongs to; FCVI_FLOW_NONE. side: receiver's. */
uint32_t fcvi_flows_find(const struct fcvi_flows *flows, const struct fcvi_flow_end *end, uint8_t *side);
uint32_t fcvi_flows_count(const struct fcvi_flows *flows);
struct fcvi_flow *fcvi_flows_at(struct fcvi_flows *flows, uint32_t flow);
/** Requests of a side that are not answered, at most FCVI_FLOW_UNANSWERED, oldest first. Returns how many
 * there are. */
enum { FCVI_FLOW_UNANSWERED = 64 };
size_t fcvi_flows_unanswered(const struct fcvi_flows *flows, uint32_t flow, unsigned side,
                             struct fcvi_flow_slot out[FCVI_FLOW_UNANSWERED]);
/** The latest request of a side on an Exchange, answered or not; NULL without one. */
const struct fcvi_flow_slot *fcvi_flows_exchange(const struct fcvi_flows *flows, uint32_t flow, unsigned side,
                                                 uint32_t ox_id);
/** No more Messages are expected: the room for those under way is given back. */
void fcvi_flows_end(struct fcvi_flows *flows, uint32_t flow);
const struct fcvi_flow_tally *fcvi_flows_tally(const struct fcvi_flows *flows);
/** Microseconds that a share (0..1) of the latencies of a Connection's side stay within, right to one
 * sixteenth; 0 without any. side 2: both. */
uint64_t fcvi_flows_quantile(const struct fcvi_flows *flows, uint32_t flow, unsigned side, double share);

#ifdef __cplusplus
}
#endif

#endif
