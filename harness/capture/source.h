/* The bytes of a capture, from a file, a pipe or standard input, unpacked where they are compressed. */
#ifndef FCVI_SOURCE_H
#define FCVI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source;

/** NULL on failure, with one line in error. "-" is standard input. */
struct source *fcvi_source_open(const char *path, char *error, size_t size);

enum source_status {
    SOURCE_READY,      /* there are so many bytes */
    SOURCE_SHORT,      /* the end comes before them */
    SOURCE_BROKEN,     /* error says how */
    SOURCE_INTERRUPTED /* by a signal, or nothing came for a while; what is there stays */
};
/** Have at least count bytes (at most SOURCE_MOST) at source_bytes(); fewer only at the end. The first
 * call asks for at least UNPACK_MAGIC: what is skipped before is not looked at for compression. */
enum { SOURCE_MOST = 1 << 19 };
enum source_status fcvi_source_have(struct source *source, size_t count);

/** From now on waiting for a pipe ends now and then, as by a signal: one that comes right before a read is
 * lost. */
void fcvi_source_wait_briefly(struct source *source);

/** Give no more than so many bytes in all; 0: all there are. */
void fcvi_source_limit(struct source *source, uint64_t bytes);

struct window {
    const uint8_t *bytes;
    size_t length;
};
/** What is there now, until the next fcvi_source_have. */
struct window fcvi_source_window(const struct source *source);
void fcvi_source_skip(struct source *source, size_t count);

/** One line, after SOURCE_BROKEN. */
const char *fcvi_source_why(const struct source *source);

/** Bytes read of the file as it is on the disk, and its size; 0 when that is not known. */
void fcvi_source_progress(const struct source *source, uint64_t *read, uint64_t *size);
/** It is a file on a disk: what it holds is there at once. */
bool fcvi_source_is_file(const struct source *source);

void fcvi_source_close(struct source *source);

#endif
