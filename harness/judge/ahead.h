/* Records of a capture, read and judged by two threads in turn: whoever reads a block of them judges it too,
 * and the blocks are judged one after the other. What is found is what one thread would find. */
#ifndef FCVI_JUDGE_AHEAD_H
#define FCVI_JUDGE_AHEAD_H

#include "entry.h"

#include <stddef.h>

struct ahead;

/** Judges decoded records in their order, up to the first that the caller is to see. Returns how many it
 * took. *shown: whether the last of these is to be seen. It is called by either thread, but never by both at
 * once, and only while fcvi_ahead_next has not returned. */
typedef size_t fcvi_ahead_take(void *context, struct judge_entry *first, size_t count, bool *shown);

/** Starts the second thread. Until fcvi_ahead_close nothing else uses the capture. monitor: whose hints the
 * records get, where they are frames; NULL: none. Of the monitor both threads use fcvi_monitor_where at any
 * time, and all else in `take` alone. Returns NULL: there is no thread to be had, or no memory; the capture
 * is as it was. */
struct ahead *fcvi_ahead_open(struct capture *capture, const struct fcvi_monitor *monitor,
                              fcvi_ahead_take *take, void *context);

/** Goes on to the next record that is to be seen. Returns 1: *shown is that record, which with its bytes
 * stays until the next call; 2: nothing was to be seen for a while; else, and with error, as
 * fcvi_capture_next. */
int fcvi_ahead_next(struct ahead *ahead, struct judge_entry **shown, char *error, size_t size);

/** As fcvi_capture_progress, of what was judged. */
void fcvi_ahead_progress(const struct ahead *ahead, uint64_t *read, uint64_t *size);

/** Ends the thread; the capture can be closed then. NULL is allowed. */
void fcvi_ahead_close(struct ahead *ahead);

#endif
