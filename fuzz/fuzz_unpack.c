/* What is under a capture: bytes of a file or a stream, unpacked where they are compressed. The first two
 * bytes say how it is cut into reads and how much is asked for at a time. However it is cut, the same bytes
 * come, and the same end; of what is not compressed, its own bytes. */
#define _GNU_SOURCE
#include "source.h"

#include "deliver.h"
#include "oracle.h"
#include "unpack.h"

enum { LONGEST = 1 << 20, ERROR = 256, MOST = 4 << 20, CAPTURE_HEADER = 24 };

const char fcvi_fuzz_allocates = 1;

struct outcome {
    uint64_t bytes, hash;
    enum source_status status;
    bool opened;
};

static void take(struct outcome *o, struct window w)
{
    for (size_t i = 0; i < w.length; i++)
        o->hash = (o->hash ^ w.bytes[i]) * 0x100000001B3u;
    o->bytes += w.length;
}

static struct outcome read_all(const char *name, uint32_t seed, bool whole)
{
    struct outcome o = {0, 0xCBF29CE484222325u, SOURCE_READY, true};
    char error[ERROR] = "";
    struct source *s = fcvi_source_open(name, error, sizeof error);
    if (s == NULL) {
        DEMAND(error[0] != '\0' && strchr(error, '\n') == NULL);
        o.opened = false;
        return o;
    }
    fcvi_source_limit(s, MOST);
    for (bool first = true; o.status == SOURCE_READY; first = false) {
        seed = seed * 1664525u + 1013904223u;
        size_t count = whole ? SOURCE_MOST : 1 + (seed >> 8) % (1u << (seed >> 28));
        count = first && count < CAPTURE_HEADER ? CAPTURE_HEADER : count;
        o.status = fcvi_source_have(s, count);
        struct window w = fcvi_source_window(s);
        DEMAND(o.status != SOURCE_READY || w.length >= count);
        if (o.status == SOURCE_READY && w.length > count)
            w.length = count;
        if (o.status != SOURCE_BROKEN)
            take(&o, w);
        fcvi_source_skip(s, w.length);
    }
    DEMAND(o.status != SOURCE_BROKEN ||
           (fcvi_source_why(s)[0] != '\0' && strchr(fcvi_source_why(s), '\n') == NULL));
    fcvi_source_close(s);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3 || size > LONGEST)
        return 0;
    char name[DELIVER_NAME];
    const uint32_t seed = data[0];
    const unsigned scale = data[1] % 16;
    deliver_file(data + 2, size - 2, name);
    struct outcome of_file = read_all(name, seed, true);
    if (!of_file.opened || !deliver_pieces(data + 2, size - 2, seed, scale))
        return 0;
    struct outcome of_stream = read_all("-", seed, false);
    DEMAND(of_stream.opened && of_stream.status == of_file.status);
    if (of_file.status == SOURCE_SHORT) {
        DEMAND(of_stream.bytes == of_file.bytes && of_stream.hash == of_file.hash);
        struct outcome plain = {0, 0xCBF29CE484222325u, SOURCE_SHORT, true};
        take(&plain, (struct window){data + 2, size - 2});
        DEMAND(fcvi_unpack_knows(data + 2, size - 2) || of_file.hash == plain.hash);
    }
    return 0;
}
