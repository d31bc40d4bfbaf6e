/* Records of a capture, read and judged by two threads in turn: whoever reads a block of them judges it too,
 * and the blocks are judged one after the other. What is found is what one thread would find. What needs the
 * order of the records, but not the caller, is done in a turn of its own: while one block is judged, the next
 * one is watched. */
#ifndef FCVI_JUDGE_AHEAD_H
#define FCVI_JUDGE_AHEAD_H

#include "entry.h"

#include <stddef.h>

struct ahead;

/** Shows decoded records in their order to the monitor, and marks them as watched. It stops before one that
 * only `take` can judge, and behind one that breaks something, with what was found. Returns how many it
 * watched. It is called by either thread, but never by both at once, and also while the caller looks at a
 * record that it was shown before. */
typedef size_t fcvi_ahead_watch(void *context, struct judge_entry *first, size_t count,
                                struct fcvi_monitor_findings *found);

/** Judges decoded records in their order, up to the first that the caller is to see. Returns how many it
 * took. found: of the last of them, where it is marked with JUDGE_BROKEN. *shown: whether the last of them is
 * to be seen. It is called by either thread, but never by both at once, and only while fcvi_ahead_next has
 * not returned. What is not marked as watched is judged while no other record is watched. */
typedef size_t fcvi_ahead_take(void *context, struct judge_entry *first, size_t count,
                               const struct fcvi_monitor_findings *found, bool *shown);

/** Starts the second thread. Until fcvi_ahead_close nothing else uses the capture. monitor: whose hints the
 * records get, where they are frames; NULL: none. Of the monitor both threads use fcvi_monitor_where at any
 * time, and all else in `watch` and `take` alone. watch: NULL where `take` does it all. Returns NULL: there
 * is no thread to be had, or no memory; the capture is as it was. */
struct ahead *fcvi_ahead_open(struct capture *capture, const struct fcvi_monitor *monitor,
                              fcvi_ahead_watch *watch, fcvi_ahead_take *take, void *context);

/** Goes on to the next record that is to be seen. Returns 1: *shown is that record, which with its bytes
 * stays until the next call; 2: nothing was to be seen for a while; else, and with error, as
 * fcvi_capture_next. */
int fcvi_ahead_next(struct ahead *ahead, struct judge_entry **shown, char *error, size_t size);

/** As fcvi_capture_progress, of what was judged. */
void fcvi_ahead_progress(const struct ahead *ahead, uint64_t *read, uint64_t *size);

/** Ends the thread; the capture can be closed then. NULL is allowed. */
void fcvi_ahead_close(struct ahead *ahead);

#endif
