/* Records of a capture, read ahead by a thread: the frames come in the same order and with the same values as
 * fcvi_capture_next gives them, while the caller judges those before. */
#ifndef FCVI_JUDGE_AHEAD_H
#define FCVI_JUDGE_AHEAD_H

#include "entry.h"

#include <stddef.h>

struct ahead;

/** Starts the thread, which alone uses the capture until fcvi_ahead_close. monitor: whose hints the records
 * get, where they are frames; NULL: none. Of the monitor the thread uses fcvi_monitor_where alone. Returns
 * NULL: there is no thread to be had, or no memory; the capture is as it was. */
struct ahead *fcvi_ahead_open(struct capture *capture, const struct fcvi_monitor *monitor);

/** The next records, decoded; they and their bytes stay until the next call. Returns how many, at most most;
 * 0 at the end, and then *status and error are as of fcvi_capture_next. */
size_t fcvi_ahead_next(struct ahead *ahead, struct judge_entry **first, size_t most, int *status, char *error,
                       size_t size);

/** As fcvi_capture_progress, of what was read ahead. */
void fcvi_ahead_progress(struct ahead *ahead, uint64_t *read, uint64_t *size);

/** Ends the thread; the capture can be closed then. NULL is allowed. */
void fcvi_ahead_close(struct ahead *ahead);

#endif
