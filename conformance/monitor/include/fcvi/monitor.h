/* The always-on monitor: follows every login, Exchange, Sequence, Connection and Message that it can see in a
 * stream of decoded frames, and reports what no sender may do whatever happened to frames that it cannot see.
 *
 * One block of memory that the caller owns, without pointers: a copy is a checkpoint. Nothing is allocated,
 * no clock is read. When a table is full the entry that was idle longest makes room, and what it knew is then
 * counted as not judged. */
#ifndef FCVI_MONITOR_H
#define FCVI_MONITOR_H

#include <fcvi/codec.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fcvi_monitor;

/** What the caller knows of the stream. With none of these the stream is taken for a capture that may begin
 *  anywhere, miss frames and show them out of order: then only what contradicts itself is reported. */
enum fcvi_monitor_trust {
    FCVI_TRUST_ALL = 1,   /* between the first frame and the last none is missing */
    FCVI_TRUST_START = 2, /* no Exchange and no Connection is older than the first frame */
    FCVI_TRUST_ORDER = 4, /* the frames of a port come in the order in which it sent them */
    FCVI_TRUST_ONCE = 8   /* the Fabric delivers no frame twice */
};

/** Entries of each table, 2..2^20; 0 takes the default. */
struct fcvi_monitor_limits {
    uint32_t exchanges; /* 4096 */
    uint32_t endpoints; /* 2048: FCVI_HANDLEs of one port */
    uint32_t setups;    /* 1024: FCVI_CONNECTION_IDs */
    uint32_t sequences; /* 1024 */
    uint32_t pairs;     /* 512: ports that talk to each other */
};

struct fcvi_monitor_config {
    struct fcvi_monitor_limits limits;
    uint8_t trust;       /* of enum fcvi_monitor_trust */
    uint64_t r_a_tov_us; /* 0: not known; then 10 s. Without FCVI_TRUST_ALL what is older is not compared with
                            what is new. Nor is anything, unless it comes within twice the shortest time of an
                            answer: sooner no login can have given names another meaning (8.4.2 g) */
    uint64_t seed;       /* of the hash tables, against streams that were made to collide */
};

/** Bytes of memory that a monitor of these limits needs; 0 when one is out of range. */
size_t fcvi_monitor_size(const struct fcvi_monitor_limits *limits);

/** Make a monitor in memory (size bytes, aligned for uint64_t). NULL when size or a limit is wrong. */
struct fcvi_monitor *fcvi_monitor_init(void *memory, size_t size, const struct fcvi_monitor_config *config);

/** One frame as the monitor is given it. */
struct fcvi_monitor_frame {
    const struct fcvi_frame *view; /* of fcvi_decode */
    uint64_t number;               /* the caller's, rising; never 0 */
    uint64_t time_us;
    uint32_t network; /* frames of different numbers never belong together (VLAN, fabric) */
    bool broken;      /* fcvi_decode found a violation in it: what follows from it is not judged */
};

/** A breach. other: number of the earlier frame that it contradicts, 0 when it is alone. */
struct fcvi_monitor_finding {
    struct fcvi_finding what;
    uint64_t frame, other;
    uint32_t sender; /* S_ID */
};

/** A list the caller owns. count goes on beyond capacity. */
struct fcvi_monitor_findings {
    struct fcvi_monitor_finding *list;
    size_t capacity;
    size_t count;
};

/** Follow one frame and judge it. findings->count is not reset. */
void fcvi_monitor_frame(struct fcvi_monitor *monitor, const struct fcvi_monitor_frame *frame,
                        struct fcvi_monitor_findings *findings);

/** The port with this N_Port Identifier has this Port_Name, which a login of the two ports need not tell
 * (5.3.4). other: a port that it talks to. */
void fcvi_monitor_name(struct fcvi_monitor *monitor, uint32_t network, uint32_t port, uint32_t other,
                       uint64_t port_name);

/** Frames are missing here (a record that was cut, a buffer that ran over). */
void fcvi_monitor_gap(struct fcvi_monitor *monitor);

/** Of a setup or a login that was followed the payload was not all there: what Connections have is not known
 * from it. Where the whole stream is trusted, what it shows in Frame_Headers and Device_Headers goes on to be
 * judged; else this is a gap. */
void fcvi_monitor_veiled(struct fcvi_monitor *monitor);

/** A link event ended logins without a frame that shows it (7.7): Connections and Exchanges are void. */
void fcvi_monitor_forget(struct fcvi_monitor *monitor);

/** Why something could not be judged. */
enum fcvi_monitor_unjudged {
    FCVI_UNJUDGED_SETUP,    /* the Connection's setup may not be in the capture */
    FCVI_UNJUDGED_EXCHANGE, /* the beginning of the Exchange may not be in the capture */
    FCVI_UNJUDGED_REQUEST,  /* what the IU answers may not be in the capture */
    FCVI_UNJUDGED_MISSING,  /* frames may be missing or out of order: counts are not judged exactly */
    FCVI_UNJUDGED_DAMAGED,  /* the frame is damaged, or not understood */
    FCVI_UNJUDGED_BREACH,   /* the other side had broken a rule before */
    FCVI_UNJUDGED_EVICTED,  /* more goes on at once than the monitor has room for */
    FCVI_UNJUDGED_UNSAID,   /* the edition does not say whether the IU may be sent then */
    FCVI_UNJUDGED_COUNT
};

/** Frames of which something could not be judged for a reason, and the first of them. */
struct fcvi_monitor_count {
    uint64_t frames, first;
};
/** How many frames could not be judged for this reason, and the number of the first of them. */
struct fcvi_monitor_count fcvi_monitor_unjudged(const struct fcvi_monitor *monitor,
                                                enum fcvi_monitor_unjudged reason);
/** The reason in words. */
const char *fcvi_monitor_unjudged_text(enum fcvi_monitor_unjudged reason);

#ifdef __cplusplus
}
#endif

#endif
