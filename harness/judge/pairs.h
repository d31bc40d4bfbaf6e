/* Two ports whose edition is known, for who asks at every frame. */
#ifndef FCVI_JUDGE_PAIRS_H
#define FCVI_JUDGE_PAIRS_H

#include "editions.h"

#include <string.h>

/** Two ports of the edition of 2007, whose frame came last: the addresses in both directions. */
struct editions_last {
    uint64_t forth, back;
    uint32_t network;
    bool is_there;
};

struct editions {
    struct editions_last last;
    struct editions_rest *rest;
};

/** D_ID and S_ID of a Frame_Header, as a value to compare. */
static inline uint64_t fcvi_editions_way(const uint8_t *fc)
{
    static const uint8_t addresses[8] = {0, 0xFF, 0xFF, 0xFF, 0, 0xFF, 0xFF, 0xFF};
    uint64_t way, mask;
    memcpy(&way, fc, sizeof way);
    memcpy(&mask, addresses, sizeof mask);
    return way & mask;
}

/** A frame in which that of 2007 has nothing to find, of ports that are known to speak it: most are. False
 * says nothing. */
static inline bool fcvi_editions_usual(const struct editions *editions, const struct fcvi_frame *frame,
                                       uint32_t network)
{
    const struct editions_last *last = &editions->last;
    const uint64_t way = fcvi_editions_way(frame->fc);
    return (way == last->forth || way == last->back) && network == last->network && last->is_there;
}

#endif
