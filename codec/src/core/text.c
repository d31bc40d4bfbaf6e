/* What prints: bounded output, and values of the field table in words. */
#include "text.h"
#include "assert.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void fcvi_say_hex(struct fcvi_text *t, const uint8_t *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < length; i++) {
        const char pair[] = {digits[bytes[i] >> 4], digits[bytes[i] & 15], '\0'};
        if (t->length + sizeof pair <= t->capacity) {
            memcpy(t->out + t->length, pair, sizeof pair);
            t->length += 2;
        } else {
            fcvi_say(t, "%s", pair);
        }
    }
}

void fcvi_say_number(struct fcvi_text *t, const struct fcvi_field *field, uint64_t u)
{
    FCVI_ASSERT(field->lo <= field->hi && field->hi < 64);
    unsigned bits = field->hi - field->lo + 1u;
    if (field->kind == FCVI_F_DEC || bits < 4)
        fcvi_say(t, "%" PRIu64, u);
    else
        fcvi_say(t, "%0*" PRIX64 "h", (int)((bits + 3) / 4), u);
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

/* byte, or byte.bits where the field is a part of its bytes */
void fcvi_say_where(struct fcvi_text *t, const struct fcvi_field *field, unsigned base)
{
    unsigned byte = base + field->byte, last = field->size * 8u - 1u;
    fcvi_say(t, "  %4u", byte);
    if (field->kind == FCVI_F_BLOB || (field->hi == last && field->lo == 0))
        fcvi_say(t, "       ");
    else if (field->hi == field->lo)
        fcvi_say(t, ".%-6u", field->hi);
    else
        fcvi_say(t, ".%u-%-*u", field->hi, field->hi > 9 ? 3 : 4, field->lo);
}
