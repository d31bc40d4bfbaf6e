/** Packing for the pages of a report. Not part of the product's interface. */
#ifndef FCVI_HARNESS_DEFLATE_H
#define FCVI_HARNESS_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

/** Bytes that calls_deflate needs at most beside those that it packs, for each begun 64 KiB of them and once
 * more. */
enum { CALLS_DEFLATE_MORE = 32 };

/** Bytes that it works with: CALLS_DEFLATE_ROOM. */
enum { CALLS_DEFLATE_ROOM = 1 << 20 };

/** In the format of zlib (RFC 1950), as DecompressionStream("deflate") of a browser takes it. room: so many
 * bytes, whatever is in them; the caller has them once for many calls, since fresh memory takes as long as
 * packing. Returns the length; 0 when there is no room in out. */
size_t calls_deflate(const uint8_t *bytes, size_t length, uint8_t *out, size_t capacity, uint64_t *room);

#endif
