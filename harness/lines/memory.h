/* mem.pattern and mem.poll, which every agent serves: memory that is looked at from outside the provider. */
#ifndef FCVI_LINES_MEMORY_H
#define FCVI_LINES_MEMORY_H

#include "params.h"

/** What an agent gives for it: where its memory is, its clock, and whether it is told to end its calls. */
struct memory_owner {
    void *context;
    /** The place that `mem` and `offset` name, with `length` bytes behind it; NULL with p->why. */
    unsigned char *(*range)(void *context, struct params *p, size_t length, bool to_write);
    uint64_t (*now_us)(void *context);
    bool (*is_ending)(void *context);
};

/** The bytes of a seed, written or compared. */
json_t *memory_pattern(const struct memory_owner *owner, struct params *p);

/** Words that are awaited, each with the round of looks in which it had its value, until all have or the time
 * is up. */
json_t *memory_poll(const struct memory_owner *owner, struct params *p, uint64_t timeout_us);

#endif
