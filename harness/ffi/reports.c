/* The frames of a case as a capture and in words. */
#include "reports.h"
#include "capture.h"
#include "eight.h"
#include "fcvi/codec.h"

#include <string.h>

static struct fcvi_input input_of_traced(const struct calls_traced *f, const uint8_t *bytes, uint8_t crc)
{
    return (struct fcvi_input){bytes, f->length, f->sof, f->eof, crc};
}

/* ---- pcapng: draft-ietf-opsawg-pcapng, little-endian ---- */

enum { BLOCK_PACKET = 6, OPTION_FLAGS = 2, FLAGS_IN = 1, FLAGS_OUT = 2 };

static uint8_t *put32(uint8_t *out, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        out[i] = (uint8_t)(value >> 8 * i);
    return out + 4;
}

/* One Enhanced Packet Block; returns its end. The interface of the tester is 0, that of the device 1. */
static uint8_t *put_packet(const struct calls_traced *f, const uint8_t *bytes, const uint8_t *options,
                           uint8_t *start, size_t capacity)
{
    enum { HEAD = 28 };
    const struct fcvi_input input = input_of_traced(f, bytes, f->crc);
    size_t length = fcvi_capture_delimited(&input, start + HEAD, capacity - HEAD);
    size_t padded = (length + 3) & ~(size_t)3;
    uint32_t block = (uint32_t)(HEAD + padded + f->comments + 16);
    uint8_t *at = put32(start, BLOCK_PACKET);
    at = put32(at, block);
    at = put32(at, f->outbound);
    at = put32(at, (uint32_t)(f->time_us >> 32));
    at = put32(at, (uint32_t)f->time_us);
    at = put32(at, (uint32_t)length);
    at = put32(at, (uint32_t)length);
    memset(at + length, 0, padded - length);
    at += padded;
    if (f->comments > 0)
        memcpy(at, options, f->comments);
    at = put32(at + f->comments, OPTION_FLAGS | 4u << 16);
    at = put32(at, f->outbound ? FLAGS_IN : FLAGS_OUT);
    at = put32(at, 0);
    return put32(at, block);
}

size_t calls_packets(const struct calls_traced *frames, size_t count, const uint8_t *bytes,
                     const uint8_t *options, uint8_t *out, size_t capacity)
{
    uint8_t *at = out;
    for (const struct calls_traced *f = frames; f < frames + count; f++) {
        size_t room = capacity - (size_t)(at - out);
        if (room < (size_t)f->length + f->comments + CALLS_BLOCK)
            return 0;
        at = put_packet(f, bytes, options, at, room);
        bytes += f->length;
        options += f->comments;
    }
    return (size_t)(at - out);
}

/* ---- words ---- */

struct brief {
    char *out;
    size_t capacity, length;
};

static void put(struct brief *b, const char *text, size_t length)
{
    if (b->length + length <= b->capacity)
        memcpy(b->out + b->length, text, length);
    b->length += length;
}

static void put_escaped(struct brief *b, const char *text, size_t length)
{
    for (;;) {
        const size_t plain = eight_unescaped(text, length);
        put(b, text, plain);
        if (plain == length)
            return;
        const char *escape = eight_escape(text[plain]);
        put(b, escape, strlen(escape));
        text += plain + 1;
        length -= plain + 1;
    }
}

enum { LONGEST_LINE = 110 };

/* Cuts off the ends of long lines, and the last line break. Returns the length that is left. */
static size_t cut_lines(char *text, size_t length)
{
    char *out = text;
    const char *at = text, *const end = text + length;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const size_t line = (size_t)((line_end != NULL ? line_end : end) - at);
        const size_t shown = line < LONGEST_LINE ? line : LONGEST_LINE;
        if (out != at)
            memmove(out, at, shown);
        out += shown;
        at += line + 1;
        if (at < end)
            *out++ = '\n';
    }
    return (size_t)(out - text);
}

size_t calls_brief(const struct calls_traced *frames, size_t count, const uint8_t *bytes, int fields,
                   char *out, size_t capacity)
{
    char text[16384]; /* the longest frame has 2,136 bytes, its text as hexadecimal less than 8 KiB */
    struct brief b = {out, capacity, 0};
    for (const struct calls_traced *f = frames; f < frames + count; f++) {
        const struct fcvi_input input = input_of_traced(f, bytes, FCVI_CRC_ABSENT);
        struct fcvi_frame view;
        fcvi_decode(&input, &view, NULL);
        put_escaped(&b, text, fcvi_print_summary(&view, text, sizeof text));
        put(&b, "", 1);
        if (fields)
            put_escaped(&b, text, cut_lines(text, fcvi_print_set(&view, text, sizeof text)));
        put(&b, "", 1);
        bytes += f->length;
    }
    return b.length;
}
