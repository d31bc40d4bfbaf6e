/** What a report needs of the frames of a whole case, in one call. Not part of the product's interface. */
#ifndef FCVI_HARNESS_REPORTS_H
#define FCVI_HARNESS_REPORTS_H

#include <stddef.h>
#include <stdint.h>

/** One frame of a case; its bytes follow those of the frame before it. */
struct calls_traced {
    uint64_t time_us;
    uint32_t length;
    uint32_t comments; /**< bytes of pcapng options that it has */
    uint8_t sof, eof, crc;
    uint8_t outbound; /**< the device sent it */
};

/** Bytes of a block of pcapng beside its frame and its comments, at most: CALLS_BLOCK. */
enum { CALLS_BLOCK = 80 };

/** The frames as Enhanced Packet Blocks of linktype 225, their comments taken from the options one after the
 * other. Returns the length, 0 when there is no room. */
size_t calls_packets(const struct calls_traced *frames, size_t count, const uint8_t *bytes,
                     const uint8_t *options, uint8_t *out, size_t capacity);

/** Two texts for each frame, each with a NUL behind it and its characters escaped for HTML: the summary, and,
 * with fields, those fields that are not zero, lines cut after 110 characters. Returns how long all of it is,
 * as snprintf does. */
size_t calls_brief(const struct calls_traced *frames, size_t count, const uint8_t *bytes, int fields,
                   char *out, size_t capacity);

#endif
