/* pcapng out of the reader's own buffer: libpcap refuses a file whose interfaces have several linktypes. */
#include "pcapng.h"

#include <stdio.h>
#include <string.h>

enum { SECTION = PCAPNG_MAGIC, INTERFACE = 1, PACKET = 2, SIMPLE = 3, ENHANCED = 6 };
enum { HEAD = 8, FOOT = 4, LEAST = HEAD + FOOT, MOST = 262144, MOST_BLOCK = 1 << 24 };
enum { OPTION_END = 0, OPTION_RESOLUTION = 9, OPTION_OFFSET = 14, OPTION_DROPS = 4 };
static const uint32_t order = 0x1A2B3C4D;

static uint32_t word(const struct pcapng *ng, const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return ng->swapped ? __builtin_bswap32(v) : v;
}

static uint16_t half(const struct pcapng *ng, const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return ng->swapped ? __builtin_bswap16(v) : v;
}

static int broken(char *error, size_t size, const char *why, uint64_t number)
{
    snprintf(error, size, "pcapng: %s (%llu)", why, (unsigned long long)number);
    return -1;
}

/* Have count bytes; 1 they are there, else what fcvi_pcapng_next returns. */
static int have(struct source *source, size_t count, bool begun, char *error, size_t size)
{
    if (fcvi_source_window(source).length >= count)
        return 1;
    enum source_status status = fcvi_source_have(source, count);
    if (status == SOURCE_READY)
        return 1;
    if (status == SOURCE_INTERRUPTED)
        return 2;
    size_t there = fcvi_source_window(source).length;
    if (status == SOURCE_SHORT && there == 0 && !begun)
        return 0;
    if (status == SOURCE_BROKEN)
        snprintf(error, size, "%s", fcvi_source_why(source));
    else
        snprintf(error, size, "truncated pcapng dump file; tried to read %zu bytes, only got %zu", count,
                 there);
    return -1;
}

/* ---- options ---- */

struct option {
    const uint8_t *value;
    uint16_t length;
};
static struct option find(const struct pcapng *ng, const uint8_t *at, const uint8_t *end, uint16_t wanted)
{
    while (end - at >= 4) {
        uint16_t code = half(ng, at), length = half(ng, at + 2);
        at += 4;
        if (code == OPTION_END || length > end - at)
            break;
        if (code == wanted)
            return (struct option){at, length};
        size_t padded = ((size_t)length + 3) & ~(size_t)3;
        at += padded < (size_t)(end - at) ? padded : (size_t)(end - at);
    }
    return (struct option){NULL, 0};
}

static uint64_t long_word(const struct pcapng *ng, const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return ng->swapped ? __builtin_bswap64(v) : v;
}

/* ---- blocks ---- */

static uint64_t resolution(uint8_t code)
{
    uint64_t units = 1;
    unsigned base = code & 0x80 ? 2 : 10, power = code & 0x7F;
    while (power-- > 0 && units < UINT64_MAX / 20)
        units *= base;
    return units;
}

/* Whatever a file says: two times of it are never farther apart than 64 bits of microseconds can say. */
#define LATEST_S (INT64_C(1) << 40)

static int64_t bounded(int64_t seconds, int64_t least)
{
    return seconds < least ? least : seconds < LATEST_S ? seconds : LATEST_S;
}

static int take_interface(struct pcapng *ng, const uint8_t *b, size_t length, char *error, size_t size)
{
    if (length < 8)
        return broken(error, size, "an Interface Description Block is too short", length);
    if (ng->interfaces == PCAPNG_INTERFACES)
        return broken(error, size, "the file has more interfaces than are read", PCAPNG_INTERFACES);
    struct pcapng_interface *i = &ng->list[ng->interfaces++];
    *i = (struct pcapng_interface){half(ng, b), word(ng, b + 4), 1000000, 0};
    struct option r = find(ng, b + 8, b + length, OPTION_RESOLUTION);
    struct option o = find(ng, b + 8, b + length, OPTION_OFFSET);
    if (r.length == 1)
        i->per_second = resolution(*r.value);
    if (o.length == 8)
        i->offset = bounded((int64_t)long_word(ng, o.value), -LATEST_S);
    return 1;
}

static uint64_t time_of(const struct pcapng_interface *i, uint64_t units)
{
    uint64_t seconds = units / i->per_second, part = units % i->per_second;
    uint64_t us =
        i->per_second <= 1000000 ? part * (1000000 / i->per_second) : part / (i->per_second / 1000000);
    if (i->per_second < 1000000 && 1000000 % i->per_second != 0)
        us = part * 1000000 / i->per_second;
    else if (i->per_second > 1000000 && i->per_second % 1000000 != 0)
        us = (uint64_t)((double)part * 1e6 / (double)i->per_second);
    const int64_t whole = seconds < (uint64_t)LATEST_S ? (int64_t)seconds : LATEST_S;
    return (uint64_t)bounded(whole + i->offset, 0) * 1000000u + us;
}

/* A packet's bytes begin at `at` of its block. */
static int take_bytes(struct pcapng_record *out, const struct pcapng_interface *i, const uint8_t *b,
                      size_t length, size_t at, uint32_t captured, char *error, size_t size)
{
    if (captured > MOST)
        return broken(error, size, "a packet is longer than any that is read", captured);
    if (at + captured > length)
        return broken(error, size, "a packet is longer than its block", captured);
    out->record.bytes = b + at;
    out->record.length = captured;
    out->linktype = i->linktype;
    return 1;
}

static int take_packet(struct pcapng *ng, uint32_t type, const uint8_t *b, size_t length,
                       struct pcapng_record *out, char *error, size_t size)
{
    enum { FIXED = 20 };
    bool simple = type == SIMPLE;
    if (length < (simple ? 4u : (unsigned)FIXED))
        return broken(error, size, "a packet block is too short", length);
    uint32_t interface = simple ? 0 : type == ENHANCED ? word(ng, b) : half(ng, b);
    if (interface >= ng->interfaces)
        return broken(error, size, "a packet is of an interface that is not described", interface);
    const struct pcapng_interface *i = &ng->list[interface];
    out->gap = false;
    if (simple) {
        uint32_t original = word(ng, b), most = (uint32_t)length - 4;
        uint32_t captured = i->snaplen != 0 && i->snaplen < original ? i->snaplen : original;
        out->record.original = original;
        out->record.time_us = 0;
        return take_bytes(out, i, b, length, 4, captured < most ? captured : most, error, size);
    }
    uint32_t captured = word(ng, b + 12);
    out->record.original = word(ng, b + 16);
    out->record.time_us = time_of(i, (uint64_t)word(ng, b + 4) << 32 | word(ng, b + 8));
    if (type == PACKET) {
        uint16_t drops = half(ng, b + 2);
        out->gap = drops != 0 && drops != 0xFFFF;
    }
    int status = take_bytes(out, i, b, length, FIXED, captured, error, size);
    size_t options = FIXED + (((size_t)captured + 3) & ~(size_t)3);
    if (status == 1 && type == ENHANCED && options < length) {
        struct option d = find(ng, b + options, b + length, OPTION_DROPS);
        out->gap = d.length == 8 && long_word(ng, d.value) != 0;
    }
    return status;
}

/* ---- any ---- */

/* The byte order of a section stands behind the length of its first block. */
static int begin_section(struct pcapng *ng, struct source *source, char *error, size_t size)
{
    int status = have(source, HEAD + 8, true, error, size);
    if (status != 1)
        return status;
    uint32_t magic;
    memcpy(&magic, fcvi_source_window(source).bytes + HEAD, sizeof magic);
    if (magic != order && magic != __builtin_bswap32(order))
        return broken(error, size, "the byte-order magic is wrong", magic);
    ng->swapped = magic != order;
    const uint16_t major = half(ng, fcvi_source_window(source).bytes + HEAD + 4);
    if (major != 1)
        return broken(error, size, "only version 1 is read, and this is another", major);
    ng->interfaces = 0;
    return 1;
}

/* What is longer than the buffer and holds no packet. */
static int pass_over(struct source *source, size_t length, char *error, size_t size)
{
    while (length > 0) {
        size_t step = length < SOURCE_MOST / 2 ? length : SOURCE_MOST / 2;
        int status = have(source, step, true, error, size);
        if (status == 2)
            continue;
        if (status != 1)
            return status;
        fcvi_source_skip(source, step);
        length -= step;
    }
    return 1;
}

static bool is_packet(uint32_t type)
{
    return type == PACKET || type == SIMPLE || type == ENHANCED;
}

static int next_block(struct pcapng *ng, struct pcapng_record *out, bool *packet, char *error, size_t size)
{
    struct source *source = ng->source;
    int status = have(source, HEAD, false, error, size);
    if (status == 1 && word(ng, fcvi_source_window(source).bytes) == SECTION)
        status = begin_section(ng, source, error, size);
    if (status != 1)
        return status;
    uint32_t type = word(ng, fcvi_source_window(source).bytes);
    uint32_t length = word(ng, fcvi_source_window(source).bytes + 4);
    if (length < LEAST || length % 4 != 0 || length > MOST_BLOCK)
        return broken(error, size, "the length of a block is wrong", length);
    *packet = is_packet(type);
    if (length > SOURCE_MOST) {
        if (*packet || type == INTERFACE)
            return broken(error, size, "a block is longer than any that is read", length);
        return pass_over(source, length, error, size);
    }
    status = have(source, length, true, error, size);
    if (status != 1)
        return status;
    const uint8_t *block = fcvi_source_window(source).bytes;
    if (word(ng, block + length - FOOT) != length)
        return broken(error, size, "the two lengths of a block differ", length);
    if (*packet)
        status = take_packet(ng, type, block + HEAD, length - LEAST, out, error, size);
    else if (type == INTERFACE)
        status = take_interface(ng, block + HEAD, length - LEAST, error, size);
    if (status == 1)
        fcvi_source_skip(source, length);
    return status;
}

int fcvi_pcapng_next(struct pcapng *ng, struct pcapng_record *out, char *error, size_t size)
{
    bool packet = false;
    int status = 1;
    while (status == 1 && !packet)
        status = next_block(ng, out, &packet, error, size);
    return status;
}
