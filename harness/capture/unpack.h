/* Unpacking of what gzip, zstd, xz, lz4 and bzip2 wrote, by libarchive. */
#ifndef FCVI_UNPACK_H
#define FCVI_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { UNPACK_MAGIC = 6, UNPACK_HEAD = 1 << 17 };
/** The bytes begin like a compressed file; length at least UNPACK_MAGIC, or all there is. */
bool fcvi_unpack_knows(const uint8_t *bytes, size_t length);

typedef ssize_t unpack_read(void *context, uint8_t *out, size_t capacity);
struct unpack;
/** Compressed bytes. head: what was already taken of them (at most UNPACK_HEAD, copied); the rest comes from
 * read. */
struct unpack_from {
    unpack_read *read;
    void *context;
    const uint8_t *head;
    size_t length;
};
/** NULL on failure, with one line in why. */
struct unpack *fcvi_unpack_open(const struct unpack_from *from, char *why, size_t size);
/** At most capacity bytes; 0 at the end; -1 with fcvi_unpack_why, or with errno EINTR. */
ssize_t fcvi_unpack_next(struct unpack *unpack, uint8_t *out, size_t capacity);
/** One line. */
const char *fcvi_unpack_why(const struct unpack *unpack);
void fcvi_unpack_close(struct unpack *unpack);

#endif
