/* The frames of a case as a capture and in words. */
#include "reports.h"
#include "capture.h"
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
    static const char *const escapes[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&#34;", ['\''] = "&#39;"};
    size_t from = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        const char *escape = c < sizeof escapes / sizeof *escapes ? escapes[c] : NULL;
        if (escape != NULL) {
            put(b, text + from, i - from);
            put(b, escape, strlen(escape));
            from = i + 1;
        }
    }
    put(b, text + from, length - from);
}

/* Whether a line of fcvi_print_text ends with a value of zero: a zero digit at its end, and nothing but zeros
 * and the "h" of hexadecimal up to the blank before it. */
static int is_zero(const char *line, size_t length)
{
    if (length == 0 ||
        (line[length - 1] != '0' && (length < 2 || line[length - 2] != '0' || line[length - 1] != 'h')))
        return 0;
    while (length > 0 && (line[length - 1] == '0' || line[length - 1] == 'h'))
        length--;
    return length > 0 && line[length - 1] == ' ';
}

static void put_fields(struct brief *b, const char *text)
{
    enum { LONGEST_LINE = 110 };
    int some = 0;
    while (*text != '\0') {
        const char *end = strchr(text, '\n');
        size_t length = end != NULL ? (size_t)(end - text) : strlen(text);
        if (!is_zero(text, length)) {
            if (some)
                put(b, "\n", 1);
            put_escaped(b, text, length < LONGEST_LINE ? length : LONGEST_LINE);
            some = 1;
        }
        text += length + (end != NULL);
    }
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
        fcvi_print_summary(&view, text, sizeof text);
        put_escaped(&b, text, strlen(text));
        put(&b, "", 1);
        if (fields) {
            fcvi_print_text(&view, text, sizeof text);
            put_fields(&b, text);
        }
        put(&b, "", 1);
        bytes += f->length;
    }
    return b.length;
}
