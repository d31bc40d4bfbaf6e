/* The frames of a capture judged: what the codec and the monitor find in them. */
#ifndef FCVI_JUDGE_H
#define FCVI_JUDGE_H

#include "editions.h"
#include "tcp.h"

#include <capture.h>
#include <fcvi/monitor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct judge;

/** Judge a capture that stays open as long as the judge. before: records of the files that this one goes on
 * from; only the monitor counts them. NULL when there is no memory. */
struct judge *fcvi_judge_open(struct capture *capture, uint64_t before);

/** From now on a second thread takes its turns at reading and judging, of a file on a disk; what is found is
 * the same. It works only while fcvi_judge_next does, but for reading. monitor: the one that fcvi_judge_next
 * will get; NULL: none. False: there is no thread. fcvi_judge_close ends it. */
bool fcvi_judge_ahead(struct judge *judge, const struct fcvi_monitor *monitor);

/** From now on IUs are read by the edition that their ports speak. Those of Rev 1.0 are checked by its
 * tables, and the monitor follows them by its rules. Without this all are read by that of 2007. */
void fcvi_judge_editions(struct judge *judge, struct editions *editions);

/** From now on TCP, but that of port 3225, goes to `tcp`, which has a tally of its own. A record in which it
 * finds something is returned as one of CAPTURE_FOREIGN; its reports are those of the last call. Without this
 * TCP is foreign. */
void fcvi_judge_streams(struct judge *judge, struct tcp_judge *tcp);

/** As fcvi_capture_progress. */
void fcvi_judge_progress(const struct judge *judge, uint64_t *read, uint64_t *size);

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

/** What was seen. Each record is judged, not judged or foreign: what is missing in the sum of the three is
 * TCP segments of frames that never were whole. */
struct judge_tally {
    uint64_t records, frames, fcvi, skipped;
    uint64_t first_us; /* when the first record was taken, 0 before there is one */
    uint64_t services; /* frames of FARP: of FC-VI, though no IU (7.5) */
    struct judge_count judged;
    uint64_t undecided; /* IUs that either edition has, of ports of which nothing else is known */
    uint64_t rev1;      /* IUs of ports that speak Rev 1.0 */
    uint64_t setups[FCVI_EDITION_COUNT]; /* connect requests by edition, each try */
    struct judge_count part;             /* frames of which the headers were judged, the rest is cut off */
    struct judge_count gaps;             /* places where the capture itself says that frames are missing */
    struct judge_count appended;         /* FCoE frames behind which a tap, or their sender, put bytes */
    struct judge_count unjudged[JUDGE_REASONS];
    struct judge_count others; /* foreign, of protocols beyond the list */
    uint32_t protocols;        /* entries of foreign */
    struct judge_foreign foreign[JUDGE_PROTOCOLS];
};

/** As fcvi_capture_next, but passes over records in which neither the codec nor the monitor finds anything;
 * tallies what it passes over, always in the same tally. frame, findings and breaches describe the record
 * returned. Without a monitor (NULL) breaches is not used. 2 also when nothing was found for a while. */
int fcvi_judge_next(struct judge *judge, struct capture_record *out, struct fcvi_frame *frame,
                    struct fcvi_findings *findings, struct fcvi_monitor *monitor,
                    struct fcvi_monitor_findings *breaches, struct judge_tally *tally, char *error,
                    size_t size);

void fcvi_judge_close(struct judge *judge);

#ifdef __cplusplus
}
#endif

#endif
