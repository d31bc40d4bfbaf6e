/* Bytes of a capture: read in large pieces, unpacked on the way when they begin like a compressed file. */
#include "source.h"

#include "unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* PIECE fits into the second cache with all else: a copy there costs less than the page faults of a mapping.
 */
enum { PIECE = UNPACK_HEAD, CAPACITY = SOURCE_MOST + PIECE, WHY = 256, WAIT_MS = 100 };

/* A capture is packed to a hundredth of its size, or to a thousandth where one frame is repeated. What
 * unpacks to far more was made to fill memories and days. */
enum { RATIO = 2000 };
#define UNPACKED_FREELY (1ull << 28)

struct source {
    int fd;
    bool file, over, brief;
    uint64_t read, size, unpacked;
    uint64_t given, most;  /* bytes that came, and that may come (0: any) */
    struct unpack *unpack; /* NULL: as it is */
    uint8_t *bytes;
    size_t begin, end;
    char why[WHY];
};

static int refuse(char *error, size_t size, const char *path, const char *why)
{
    snprintf(error, size, "%s: %s", path, why);
    return -1;
}

static int open_path(struct source *s, const char *path, char *error, size_t size)
{
    struct stat st;
    bool standard = strcmp(path, "-") == 0;
    s->fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0 || fstat(s->fd, &st) != 0)
        return refuse(error, size, path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return refuse(error, size, path, "is a directory; name a capture file");
    s->file = S_ISREG(st.st_mode);
    s->size = s->file ? (uint64_t)st.st_size : 0;
    if (s->file && st.st_size == 0)
        return refuse(error, size, path, "is empty; a capture has at least a file header");
    if (s->file)
        (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return 0;
}

struct source *fcvi_source_open(const char *path, char *error, size_t size)
{
    struct source *s = calloc(1, sizeof *s);
    uint8_t *bytes = malloc(CAPACITY);
    if (s == NULL || bytes == NULL) {
        refuse(error, size, path, "out of memory");
        free(s);
        free(bytes);
        return NULL;
    }
    s->bytes = bytes;
    if (open_path(s, path, error, size) == 0)
        return s;
    fcvi_source_close(s);
    return NULL;
}

/* A signal that comes right before a read is not seen by it, so that it would wait for ever. */
static bool nothing_yet(const struct source *s)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    return s->brief && !s->file && s->unpack == NULL && poll(&p, 1, WAIT_MS) <= 0;
}

/* What the file holds; -1 with errno. */
static ssize_t from_file(void *context, uint8_t *out, size_t capacity)
{
    struct source *s = context;
    if (nothing_yet(s)) {
        errno = EINTR;
        return -1;
    }
    ssize_t n = read(s->fd, out, capacity);
    s->read += n > 0 ? (uint64_t)n : 0;
    return n;
}

/* What comes out of a packed file. */
static enum source_status bounded(struct source *s, size_t count)
{
    bool first = s->unpacked < UNPACK_MAGIC;
    s->unpacked += count;
    if (first && fcvi_unpack_knows(s->bytes + s->begin, s->end - s->begin)) {
        snprintf(s->why, sizeof s->why, "is packed twice; unpack it once before");
        return SOURCE_BROKEN;
    }
    if (s->unpacked <= UNPACKED_FREELY || s->unpacked / RATIO <= s->read)
        return SOURCE_READY;
    snprintf(s->why, sizeof s->why,
             "unpacks to more than %d times its size; if that is meant, unpack it before", RATIO);
    return SOURCE_BROKEN;
}

static enum source_status fill(struct source *s)
{
    uint8_t *to = s->bytes + s->end;
    /* what a pipe gave before the compression was known is handed on in one piece */
    size_t room = s->read < UNPACK_MAGIC ? PIECE - s->end : PIECE;
    ssize_t n = s->unpack != NULL ? fcvi_unpack_next(s->unpack, to, PIECE) : from_file(s, to, room);
    if (n < 0 && errno == EINTR)
        return SOURCE_INTERRUPTED;
    if (n < 0) {
        snprintf(s->why, sizeof s->why, "%s",
                 s->unpack != NULL ? fcvi_unpack_why(s->unpack) : strerror(errno));
        return SOURCE_BROKEN;
    }
    s->over = n == 0;
    s->end += (size_t)n;
    s->given += (uint64_t)n;
    if (s->most != 0 && s->given > s->most) {
        snprintf(s->why, sizeof s->why, "has more than %llu MiB; --limits bytes=MIB reads more",
                 (unsigned long long)(s->most >> 20));
        return SOURCE_BROKEN;
    }
    return s->unpack == NULL ? SOURCE_READY : bounded(s, (size_t)n);
}

static enum source_status start_unpacking(struct source *s)
{
    const struct unpack_from from = {from_file, s, s->bytes, s->end};
    s->unpack = fcvi_unpack_open(&from, s->why, sizeof s->why);
    s->end = 0;
    s->over = false;
    return s->unpack != NULL ? SOURCE_READY : SOURCE_BROKEN;
}

enum source_status fcvi_source_have(struct source *s, size_t count)
{
    while (s->end - s->begin < count && !s->over) {
        if (s->begin != 0) {
            s->end -= s->begin;
            memmove(s->bytes, s->bytes + s->begin, s->end);
            s->begin = 0;
        }
        bool first = s->read == 0 || (s->unpack == NULL && s->read < UNPACK_MAGIC);
        enum source_status status = fill(s);
        if (status == SOURCE_READY && first && fcvi_unpack_knows(s->bytes, s->end))
            status = start_unpacking(s);
        if (status != SOURCE_READY)
            return status;
    }
    return s->end - s->begin < count ? SOURCE_SHORT : SOURCE_READY;
}

struct window fcvi_source_window(const struct source *s)
{
    return (struct window){s->bytes + s->begin, s->end - s->begin};
}

void fcvi_source_wait_briefly(struct source *s)
{
    s->brief = true;
}

void fcvi_source_limit(struct source *s, uint64_t bytes)
{
    s->most = bytes;
}

void fcvi_source_skip(struct source *s, size_t count)
{
    s->begin += count;
}

const char *fcvi_source_why(const struct source *s)
{
    return s->why;
}

void fcvi_source_progress(const struct source *s, uint64_t *read, uint64_t *size)
{
    *read = s->read;
    *size = s->size;
}

bool fcvi_source_is_file(const struct source *s)
{
    return s->file;
}

void fcvi_source_close(struct source *s)
{
    if (s->unpack != NULL)
        fcvi_unpack_close(s->unpack);
    if (s->fd >= 0)
        close(s->fd);
    free(s->bytes);
    free(s);
}
