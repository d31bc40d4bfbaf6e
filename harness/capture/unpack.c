/* libarchive is loaded when the first compressed capture comes: it and what it needs take longer to load than
 * many captures to read. It does not compare the check value of gzip, which gunzip.c unpacks. */
#include "gunzip.h"

#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libarchive.so.13"
enum { PIECE = UNPACK_HEAD, WHY = 256 };

#define CALLS(CALL)                                                                                          \
    CALL(archive_read_new)                                                                                   \
    CALL(archive_read_append_filter)                                                                         \
    CALL(archive_read_support_format_raw)                                                                    \
    CALL(archive_read_open)                                                                                  \
    CALL(archive_read_next_header)                                                                           \
    CALL(archive_read_data)                                                                                  \
    CALL(archive_read_free)                                                                                  \
    CALL(archive_error_string)

struct unpack {
    void *library;
#define FUNCTION(name) __typeof__(&(name)) name;
    CALLS(FUNCTION)
#undef FUNCTION
    struct archive *archive;
    struct gunzip *gunzip; /* NULL: libarchive does it */
    unpack_read *read;
    void *context;
    size_t head; /* bytes of piece that were read before */
    uint8_t piece[PIECE];
    char why[WHY];
};

/* The filter of libarchive for what begins so; -1: it is not compressed. */
static int filter_of(const uint8_t *b, size_t length)
{
    static const struct {
        size_t length;
        const char *bytes;
        int filter;
    } magic[] = {
        {2, "\x1f\x8b", ARCHIVE_FILTER_GZIP},  {4, "\x28\xb5\x2f\xfd", ARCHIVE_FILTER_ZSTD},
        {6, "\xfd\x37zXZ", ARCHIVE_FILTER_XZ}, {4, "\x04\x22\x4d\x18", ARCHIVE_FILTER_LZ4},
        {3, "BZh", ARCHIVE_FILTER_BZIP2},
    };
    for (size_t i = 0; i < sizeof magic / sizeof *magic; i++)
        if (length >= magic[i].length && memcmp(b, magic[i].bytes, magic[i].length) == 0)
            return magic[i].filter;
    return -1;
}

bool fcvi_unpack_knows(const uint8_t *b, size_t length)
{
    return filter_of(b, length) >= 0;
}

static la_ssize_t more(struct archive *a, void *context, const void **out)
{
    struct unpack *u = context;
    (void)a;
    *out = u->piece;
    if (u->head != 0) {
        size_t n = u->head;
        u->head = 0;
        return (la_ssize_t)n;
    }
    return u->read(u->context, u->piece, PIECE);
}

static bool load(struct unpack *u)
{
    u->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (u->library == NULL)
        return false;
#define FIND(name) *(void **)(&u->name) = dlsym(u->library, #name);
    CALLS(FIND)
#undef FIND
#define FOUND(name) &&u->name != NULL
    return true CALLS(FOUND);
#undef FOUND
}

/* One filter and no more: a few bytes that were packed again and again unpack to any size. */
static bool begin(struct unpack *u)
{
    struct archive_entry *entry;
    int filter = filter_of(u->piece, u->head);
    u->archive = u->archive_read_new();
    return u->archive != NULL && u->archive_read_append_filter(u->archive, filter) >= ARCHIVE_WARN &&
           u->archive_read_support_format_raw(u->archive) == ARCHIVE_OK &&
           u->archive_read_open(u->archive, u, NULL, more, NULL) == ARCHIVE_OK &&
           u->archive_read_next_header(u->archive, &entry) == ARCHIVE_OK;
}

static void explain(struct unpack *u)
{
    const char *words = u->archive != NULL ? u->archive_error_string(u->archive) : NULL;
    snprintf(u->why, sizeof u->why, "cannot be unpacked: %s", words != NULL ? words : "it is broken");
    u->why[strcspn(u->why, "\n")] = '\0';
}

/* False, with a line. */
static bool start(struct unpack *u)
{
    if (filter_of(u->piece, u->head) != ARCHIVE_FILTER_GZIP) {
        if (!load(u))
            snprintf(u->why, sizeof u->why, "is compressed; to read it install libarchive13 (%s)", LIBRARY);
        else if (!begin(u))
            explain(u);
        else
            return true;
        return false;
    }
    u->gunzip = fcvi_gunzip_open();
    if (u->gunzip == NULL) {
        snprintf(u->why, sizeof u->why, "out of memory");
        return false;
    }
    fcvi_gunzip_feed(u->gunzip, u->piece, u->head);
    return true;
}

struct unpack *fcvi_unpack_open(const struct unpack_from *from, char *why, size_t size)
{
    struct unpack *u = calloc(1, sizeof *u);
    if (u == NULL) {
        snprintf(why, size, "out of memory");
        return NULL;
    }
    u->read = from->read;
    u->context = from->context;
    u->head = from->length < PIECE ? from->length : PIECE;
    memcpy(u->piece, from->head, u->head);
    if (start(u))
        return u;
    snprintf(why, size, "%s", u->why);
    fcvi_unpack_close(u);
    return NULL;
}

static ssize_t fail(struct unpack *u, const char *words)
{
    snprintf(u->why, sizeof u->why, "cannot be unpacked: %s", words);
    errno = EIO;
    return -1;
}

static ssize_t next_of_gzip(struct unpack *u, uint8_t *out, size_t capacity)
{
    const char *why = "";
    for (;;) {
        ssize_t n = fcvi_gunzip_next(u->gunzip, out, capacity, &why);
        if (n < 0)
            return fail(u, why);
        if (n != 0)
            return n;
        n = fcvi_gunzip_hungry(u->gunzip) ? u->read(u->context, u->piece, PIECE) : 0;
        if (n < 0 && errno != EINTR)
            snprintf(u->why, sizeof u->why, "%s", strerror(errno));
        if (n < 0)
            return -1;
        if (n == 0 && fcvi_gunzip_ended(u->gunzip))
            return 0;
        if (n == 0)
            return fail(u, "it ends early");
        fcvi_gunzip_feed(u->gunzip, u->piece, (size_t)n);
    }
}

ssize_t fcvi_unpack_next(struct unpack *u, uint8_t *out, size_t capacity)
{
    if (u->gunzip != NULL)
        return next_of_gzip(u, out, capacity);
    la_ssize_t n = u->archive_read_data(u->archive, out, capacity);
    if (n >= 0)
        return (ssize_t)n;
    explain(u);
    errno = EIO;
    return -1;
}

const char *fcvi_unpack_why(const struct unpack *u)
{
    return u->why;
}

void fcvi_unpack_close(struct unpack *u)
{
    fcvi_gunzip_close(u->gunzip);
    if (u->archive != NULL)
        u->archive_read_free(u->archive);
    if (u->library != NULL)
        dlclose(u->library);
    free(u);
}
