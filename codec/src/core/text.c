/* What prints: bounded output, and values of the field table in words. */
#include "text.h"
#include "assert.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put(struct fcvi_text *t, const char *text, size_t length)
{
    if (t->length < t->capacity) {
        size_t room = t->capacity - t->length - 1;
        size_t fits = length < room ? length : room;
        memcpy(t->out + t->length, text, fits);
        t->out[t->length + fits] = '\0';
    }
    t->length += length;
}

void fcvi_say(struct fcvi_text *t, const char *format, ...)
{
    size_t room = t->length < t->capacity ? t->capacity - t->length : 0;
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(room > 0 ? t->out + t->length : NULL, room, format, arguments);
    va_end(arguments);
    FCVI_ASSERT(n >= 0);
    t->length += (size_t)n;
}

void fcvi_say_text(struct fcvi_text *t, const char *text)
{
    put(t, text, strlen(text));
}

/* Digits at the end of a text; returns where they begin. */
static char *put_before(char *end, uint64_t u)
{
    do
        *--end = (char)('0' + u % 10);
    while ((u /= 10) > 0);
    return end;
}

void fcvi_say_decimal(struct fcvi_text *t, uint64_t u)
{
    char digits[20]; /* 2^64 - 1 has so many */
    char *at = put_before(digits + sizeof digits, u);
    put(t, at, (size_t)(digits + sizeof digits - at));
}

void fcvi_say_digits(struct fcvi_text *t, uint64_t u, unsigned width)
{
    char digits[16]; /* 2^64 - 1 has so many */
    size_t at = sizeof digits;
    FCVI_ASSERT(width <= sizeof digits);
    for (; u > 0 || sizeof digits - at < width; u >>= 4)
        digits[--at] = "0123456789ABCDEF"[u & 15];
    put(t, digits + at, sizeof digits - at);
}

void fcvi_say_hex(struct fcvi_text *t, const uint8_t *bytes, size_t length)
{
    enum { AT_ONCE = 32 };
    static const char digits[] = "0123456789abcdef";
    char text[2 * AT_ONCE];
    for (size_t i = 0; i < length; i += AT_ONCE) {
        const size_t some = length - i < AT_ONCE ? length - i : AT_ONCE;
        for (size_t j = 0; j < some; j++) {
            text[2 * j] = digits[bytes[i + j] >> 4];
            text[2 * j + 1] = digits[bytes[i + j] & 15];
        }
        put(t, text, 2 * some);
    }
}

void fcvi_say_number(struct fcvi_text *t, const struct fcvi_field *field, uint64_t u)
{
    FCVI_ASSERT(field->lo <= field->hi && field->hi < 64);
    unsigned bits = field->hi - field->lo + 1u;
    if (field->kind == FCVI_F_DEC || bits < 4) {
        fcvi_say_decimal(t, u);
    } else {
        fcvi_say_digits(t, u, (bits + 3) / 4);
        put(t, "h", 1);
    }
}

/* A long run of zeros tells nobody anything; how long it is does. */
void fcvi_say_bytes(struct fcvi_text *t, const uint8_t *bytes, size_t size)
{
    enum { SHORT = 16 };
    size_t shown = size;
    while (size > SHORT && shown > 0 && bytes[shown - 1] == 0)
        shown--;
    fcvi_say_hex(t, bytes, shown);
    if (shown == 0)
        fcvi_say(t, "%zu bytes 00h", size);
    else if (shown < size)
        fcvi_say(t, " (%zu bytes 00h follow)", size - shown);
}

static void json_of_bytes(struct fcvi_text *t, const uint8_t *bytes, size_t size,
                          const struct fcvi_value_words *w)
{
    fcvi_say(t, "\"bits\":null,\"value\":\"");
    fcvi_say_hex(t, bytes, size);
    fcvi_say(t, w->length > 0 ? "\",\"text\":\"" : "\",\"text\":null");
    for (size_t i = 0; i < w->length; i++)
        fcvi_say(t, w->words[i] == '"' || w->words[i] == '\\' ? "\\%c" : "%c", w->words[i]);
    fcvi_say(t, w->length > 0 ? "\"" : "");
}

void fcvi_say_json(struct fcvi_text *t, const struct fcvi_field *field, const struct fcvi_value *v,
                   const struct fcvi_value_words *w)
{
    enum { EXACT = 53 }; /* bits of a number that every JSON reader keeps */
    fcvi_say(t, "{\"name\":\"%s\",\"structure\":\"%s\",", field->name, w->structure);
    fcvi_say(t, w->within != NULL ? "\"within\":\"%s\"," : "\"within\":null,", w->within);
    fcvi_say(t, "\"byte\":%u,\"size\":%u,", v->base + field->byte, field->size);
    if (field->kind == FCVI_F_BLOB) {
        json_of_bytes(t, v->bytes, field->size, w);
    } else {
        fcvi_say(t, "\"bits\":\"%u-%u\",", field->hi, field->lo);
        /* the field decides, not its value: a reader meets one type */
        if (field->hi - field->lo < EXACT)
            fcvi_say(t, "\"value\":%" PRIu64 ",", v->u);
        else
            fcvi_say(t, "\"value\":\"%016" PRIx64 "\",", v->u);
        fcvi_say(t, w->meaning != NULL ? "\"text\":\"%s\"" : "\"text\":null", w->meaning);
    }
    fcvi_say(t, ",\"clause\":\"%s\"}", field->clause);
}

/* The line has so many parts that they are put together in place; the digits are written backwards. */
void fcvi_say_field(struct fcvi_text *t, const struct fcvi_field *field, unsigned base)
{
    enum { BYTE = 6, BITS = 7, NAME = 28 }; /* columns */
    char text[BYTE + BITS + NAME + 1], bits[BITS];
    const unsigned last = field->size * 8u - 1u;
    FCVI_ASSERT(base <= UINT16_MAX); /* a byte of a structure there has six digits at most */
    memset(text, ' ', sizeof text);
    put_before(text + BYTE, base + field->byte);
    if (field->kind != FCVI_F_BLOB && (field->hi != last || field->lo != 0)) {
        char *at = bits + BITS;
        if (field->hi != field->lo) {
            at = put_before(at, field->lo);
            *--at = '-';
        }
        at = put_before(at, field->hi);
        *--at = '.';
        memcpy(text + BYTE, at, (size_t)(bits + BITS - at));
    }
    const size_t length = strlen(field->name);
    if (length <= NAME) {
        memcpy(text + BYTE + BITS, field->name, length);
        put(t, text, sizeof text);
    } else { /* some reach beyond the column */
        put(t, text, BYTE + BITS);
        put(t, field->name, length);
        put(t, " ", 1);
    }
}
