/** Packing for the pages of a report. Not part of the product's interface. */
#ifndef FCVI_HARNESS_DEFLATE_H
#define FCVI_HARNESS_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

/** Bytes that calls_deflate needs at most beside those that it packs, for each begun 64 KiB of them and once
 * more. */
enum { CALLS_DEFLATE_MORE = 32 };

/** In the format of zlib (RFC 1950), as DecompressionStream("deflate") of a browser takes it. Returns the
 * length; 0 when there is no memory or no room. */
size_t calls_deflate(const uint8_t *bytes, size_t length, uint8_t *out, size_t capacity);

#endif
