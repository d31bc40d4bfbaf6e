/** What the Python harness asks of the C libraries for each frame, in one call instead of a Python object for
 * every struct, pointer and field. Not part of the product's interface. */
#ifndef FCVI_HARNESS_CALLS_H
#define FCVI_HARNESS_CALLS_H

#include "fcvi/codec.h"
#include "fcvi/monitor.h"
#include "fcvi/port.h"

/** Where the parts of a decoded frame are, and what it is; without the part: offsets of -1. */
enum {
    CALLS_KIND,
    CALLS_IU,
    CALLS_DH_OFFSET,
    CALLS_DH_LENGTH,
    CALLS_PAYLOAD_OFFSET,
    CALLS_PAYLOAD_LENGTH,
    CALLS_FILL,
    CALLS_PARTS
};

/** Decode a frame that stays where it is as long as the view. Returns how many findings there are. */
size_t calls_decode(const uint8_t *bytes, size_t length, unsigned sof, unsigned eof, unsigned crc,
                    struct fcvi_frame *view, struct fcvi_findings *findings, int32_t *parts);

/** The same by the tables of an edition (enum fcvi_edition). */
size_t calls_decode_edition(const uint8_t *bytes, size_t length, unsigned sof, unsigned eof, unsigned crc,
                            unsigned edition, struct fcvi_frame *view, struct fcvi_findings *findings,
                            int32_t *parts);

/** A frame arrives at the port. */
void calls_receive(struct fcvi_port *port, uint64_t now, const uint8_t *bytes, size_t length, unsigned sof,
                   unsigned eof, unsigned crc);

enum { CALLS_QUIET = 0, CALLS_EVENT = 1 };

/** What comes out of the port next: CALLS_EVENT with an event, the length of a frame in out, or CALLS_QUIET.
 * due: when the next timer fires, where the port is quiet. Whoever gets a frame hands out the events that are
 * there before it. */
size_t calls_next(struct fcvi_port *port, uint64_t now, struct fcvi_event *event, uint8_t *out,
                  size_t capacity, struct fcvi_transmitted *meta, uint64_t *due);

/** Let the monitor follow a frame that is not judged itself. */
void calls_follow(struct fcvi_monitor *monitor, const uint8_t *bytes, size_t length, unsigned sof,
                  unsigned eof, unsigned crc, uint64_t number, uint64_t time_us);

/** Let the monitor follow a decoded frame. Returns how many findings there are. */
size_t calls_judge(struct fcvi_monitor *monitor, const struct fcvi_frame *view, uint64_t number,
                   uint64_t time_us, uint32_t network, bool broken, struct fcvi_monitor_findings *found);

/** An IPv6 address of 16 bytes in words. out: room for CALLS_ADDRESS characters, the last a NUL. */
enum { CALLS_ADDRESS = 46 };
void calls_address(const uint8_t *bytes, char *out);

#endif
