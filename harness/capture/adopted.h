/* A packet socket that another process has opened and handed over (harness/opener): frames through a ring of
 * the kernel. */
#ifndef FCVI_ADOPTED_H
#define FCVI_ADOPTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adopted;

/** One Ethernet frame, without the tag of its VLAN. bytes stay until the next call of fcvi_adopted_next. */
struct adopted_frame {
    const uint8_t *bytes;
    uint32_t length, whole; /* what is there, and how long it was on the wire */
    uint64_t time_us;
    uint16_t vlan; /* 0: no tag */
};

/** Takes the socket over, also when it fails: NULL, with errno. index: of the interface that it has to be
 * bound to. */
struct adopted *fcvi_adopted_open(int fd, uint32_t index);
int fcvi_adopted_fd(const struct adopted *adopted);
/** The next frame; false when none has come. */
bool fcvi_adopted_next(struct adopted *adopted, struct adopted_frame *out);
/** Send a whole Ethernet frame. 0, or -1 with errno. */
int fcvi_adopted_send(struct adopted *adopted, const uint8_t *bytes, size_t length);
/** Frames that were lost for want of room since it was opened. */
uint64_t fcvi_adopted_lost(struct adopted *adopted);
/** NULL is allowed. */
void fcvi_adopted_close(struct adopted *adopted);

#endif
