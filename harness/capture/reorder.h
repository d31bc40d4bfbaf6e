/* Records by their time stamps: within a window they change places, and the clocks of senders are put right.
 */
#ifndef FCVI_REORDER_H
#define FCVI_REORDER_H

#include "capture.h"

#ifdef __cplusplus
extern "C" {
#endif

struct reorder;

/** NULL without memory. The order is copied. */
struct reorder *fcvi_reorder_open(const struct capture_order *order);
void fcvi_reorder_close(struct reorder *reorder);

/** Keep a copy of a record. False without memory. */
bool fcvi_reorder_put(struct reorder *reorder, const struct capture_record *record);
/** The oldest record, when none that could still come is older, or is_over: none comes. It stays good until
 * the next call. */
bool fcvi_reorder_take(struct reorder *reorder, bool is_over, struct capture_record *out);
/** As fcvi_capture_numbers. */
const uint64_t *fcvi_reorder_numbers(const struct reorder *reorder, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
