/* The frames of a capture judged: what the codec and the monitor find in them. */
#ifndef FCVI_JUDGE_H
#define FCVI_JUDGE_H

#include <capture.h>
#include <fcvi/monitor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct judge;

/** Judge a capture that stays open as long as the judge. before: records of the files that this one goes on
 * from; only the monitor counts them. NULL when there is no memory. */
struct judge *fcvi_judge_open(struct capture *capture, uint64_t before);

/** What was passed over, and what was not. */
struct judge_tally {
    uint64_t records, frames, fcvi, skipped;
};

/** As fcvi_capture_next, but passes over records in which neither the codec nor the monitor finds anything;
 * tallies what it passes over. frame, findings and breaches describe the record returned. Without a monitor
 * (NULL) breaches is not used. 2 also when nothing was found for a while. */
int fcvi_judge_next(struct judge *judge, struct capture_record *out, struct fcvi_frame *frame,
                    struct fcvi_findings *findings, struct fcvi_monitor *monitor,
                    struct fcvi_monitor_findings *breaches, struct judge_tally *tally, char *error,
                    size_t size);

void fcvi_judge_close(struct judge *judge);

#ifdef __cplusplus
}
#endif

#endif
