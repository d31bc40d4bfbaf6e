/* Records of a pcap file out of the reader's own buffer. What is broken is told in libpcap's words. */
#include "classic.h"

#include "capture.h"

#include <stdio.h>
#include <string.h>

enum { RECORD = 16, MOST = 262144 /* of nearly every linktype, as libpcap has it */ };

static uint32_t word(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

bool fcvi_classic_begin(struct classic *c, struct source *source)
{
    const uint8_t *h = fcvi_source_window(source).bytes;
    uint32_t magic = word(h), snaplen = word(h + 16);
    uint16_t version[2];
    memcpy(version, h + 4, sizeof version);
    c->source = source;
    c->linktype = word(h + 20);
    c->unit = magic == 0xA1B23C4D ? 1000 : 1;
    c->snaplen = snaplen == 0 || snaplen > INT32_MAX ? MOST : snaplen;
    if ((magic != 0xA1B2C3D4 && magic != 0xA1B23C4D) || version[0] != 2 || version[1] != 4 ||
        c->linktype > UINT16_MAX) /* above that are the FCS length and more, which libpcap knows */
        return false;
    fcvi_source_skip(source, CLASSIC_HEADER);
    return true;
}

static int without(struct source *source, enum source_status status, size_t wanted, size_t before,
                   const char *what, char *error, size_t size)
{
    size_t there = fcvi_source_window(source).length;
    if (status == SOURCE_INTERRUPTED)
        return 2;
    if (status == SOURCE_BROKEN)
        snprintf(error, size, "%s", fcvi_source_why(source));
    else if (there == 0 && before == 0)
        return 0;
    else
        snprintf(error, size, "truncated dump file; tried to read %zu %s bytes, only got %zu", wanted, what,
                 there - before);
    return -1;
}

int fcvi_classic_next(const struct classic *c, struct classic_record *out, char *error, size_t size)
{
    struct source *source = c->source;
    struct window w = fcvi_source_window(source);
    if (w.length < RECORD) {
        enum source_status status = fcvi_source_have(source, RECORD);
        if (status != SOURCE_READY)
            return without(source, status, RECORD, 0, "header", error, size);
        w = fcvi_source_window(source);
    }
    uint32_t length = word(w.bytes + 8);
    if (length > MOST) {
        snprintf(error, size, "invalid packet capture length %u, bigger than maximum of %u", length,
                 (unsigned)MOST);
        return -1;
    }
    if (w.length < RECORD + (size_t)length) {
        enum source_status status = fcvi_source_have(source, RECORD + (size_t)length);
        if (status != SOURCE_READY)
            return without(source, status, length, RECORD, "captured", error, size);
        w = fcvi_source_window(source);
    }
    int32_t seconds = (int32_t)word(w.bytes), part = (int32_t)word(w.bytes + 4);
    out->time_us =
        (uint64_t)(int64_t)seconds * 1000000u + (uint64_t)(int64_t)(c->unit == 1 ? part : part / 1000);
    out->bytes = w.bytes + RECORD;
    out->length = length > c->snaplen ? c->snaplen : length;
    out->original = word(w.bytes + 12);
    fcvi_source_skip(source, RECORD + (size_t)length);
    return 1;
}
