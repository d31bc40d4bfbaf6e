/* The frames of a capture judged: what the codec and the monitor find in them. */
#ifndef FCVI_JUDGE_H
#define FCVI_JUDGE_H

#include "connects.h"
#include "editions.h"
#include "flows.h"
#include "tcp.h"

#include <fcvi/monitor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct judge;

/** What goes on from one capture of a stream to the next; of each NULL: there is none. All stay as long as
 * the judge. */
struct judge_stream {
    struct fcvi_monitor *monitor; /* frames are judged by those before them */
    struct editions *editions; /* IUs are read by the edition that their ports speak; else by that of 2007 */
    struct connects *connects; /* connect IUs of several frames are put together */
    struct tcp_judge *tcp;     /* what TCP goes to, but that of port 3225; else it is foreign */
    struct fcvi_flows *flows;  /* Connections are counted, and say which records are to be seen */
    uint64_t before;           /* records of the captures before; only the monitor and flows count them */
};

/** Judge a capture that stays open as long as the judge. NULL when there is no memory. */
struct judge *fcvi_judge_open(struct capture *capture, const struct judge_stream *stream);
void fcvi_judge_close(struct judge *judge);

/** Why a record is not judged. */
enum judge_reason {
    JUDGE_CUT,     /* it ends before its headers do, or what a link service says is cut off */
    JUDGE_REASONS, /* a TCP segment that is part of no frame that came is in no count at all */
};
enum { JUDGE_PROTOCOLS = 24 };

struct judge_count {
    uint64_t records, first; /* first: number of the first of them in its file */
};
struct judge_foreign {
    uint32_t protocol; /* as fcvi_capture_protocol has it; 0 for FIP */
    struct judge_count count;
};

/** What the time stamps of records say of their order. */
struct judge_clock {
    uint64_t newest_us;        /* the latest time so far */
    uint64_t heard_us;         /* that of a frame of Fibre Channel or FIP, whatever it says */
    uint64_t late, first_late; /* records whose time is before that; number of the first in its file */
    uint64_t lag_us, pause_us; /* how far one came behind it, and how far one went on from it, at most */
};

/** What was seen. Each record is judged, not judged or foreign: what is missing in the sum of the three is
 * fragments of IP and TCP segments of frames that never were whole. */
struct judge_tally {
    uint64_t records, frames, fcvi, skipped;
    uint64_t first_us; /* when the first record was taken, 0 before there is one */
    struct judge_clock clock;
    uint64_t services; /* frames of FARP: of FC-VI, though no IU (7.5) */
    struct judge_count judged;
    uint64_t undecided; /* IUs that either edition has, of ports of which nothing else is known */
    uint64_t rev1;      /* IUs of ports that speak Rev 1.0 */
    uint64_t setups[FCVI_EDITION_COUNT]; /* connect requests by edition, each try */
    struct judge_count part;             /* frames of which the headers were judged, the rest is cut off */
    struct judge_count bare;     /* foreign records that begin as FC-2 frames do: is the linktype wrong? */
    struct judge_count gaps;     /* places where the capture itself says that frames are missing */
    struct judge_count appended; /* FCoE frames behind which a tap, or their sender, put bytes */
    struct judge_count unjudged[JUDGE_REASONS];
    struct judge_count others; /* foreign, of protocols beyond the list */
    uint64_t fragments;        /* of IP datagrams that are not whole; they are in no other count */
    uint32_t protocols;        /* entries of foreign */
    struct judge_foreign foreign[JUDGE_PROTOCOLS];
};

/** A record, and what is wrong in it. */
struct judge_seen {
    struct capture_record record;
    struct fcvi_frame frame;
    struct fcvi_findings findings;         /* of the codec */
    struct fcvi_monitor_findings breaches; /* of the monitor */
    struct fcvi_findings whole;            /* of a connect IU in several frames, which ends here */
    struct fcvi_flow_seen flow;            /* with flows */
};

/** Goes on to the next record that is to be seen. With flows they say which that is; without, it is one in
 * which something is found, an envelope that holds no FC-2 frame, or one in which `tcp` finds something: then
 * it is of CAPTURE_FOREIGN, and the reports are those of the last call. Returns 1: it is in fcvi_judge_seen
 * until the next call; 2: nothing was to be seen for a while; else, and with error, as fcvi_capture_next. */
int fcvi_judge_next(struct judge *judge, char *error, size_t size);
const struct judge_seen *fcvi_judge_seen(const struct judge *judge);
/** What was seen so far of the capture. */
const struct judge_tally *fcvi_judge_tally(const struct judge *judge);

#ifdef __cplusplus
}
#endif

#endif
