/* Bounded output, and values of the field table in words. */
#ifndef FCVI_CODEC_TEXT_H
#define FCVI_CODEC_TEXT_H

#include <fcvi/table.h>
#include <stddef.h>
#include <stdint.h>

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

/* A bounded output that goes on counting past its end, as snprintf does, and ends with a NUL as its does. */
struct fcvi_text {
    char *out;
    size_t capacity, length;
};

/** Say as printf does. */
__attribute__((format(printf, 2, 3))) void fcvi_say(struct fcvi_text *t, const char *format, ...);

/** Say what printf's %s, %u and %0*X would, in a tenth of its time: every report has millions of them. */
void fcvi_say_text(struct fcvi_text *t, const char *text);
void fcvi_say_decimal(struct fcvi_text *t, uint64_t u);
void fcvi_say_digits(struct fcvi_text *t, uint64_t u, unsigned width);

/** Say bytes as hexadecimal digits. */
void fcvi_say_hex(struct fcvi_text *t, const uint8_t *bytes, size_t length);

/** Say a number as its field has it: decimal, or as many hexadecimal digits as it has bits for. */
void fcvi_say_number(struct fcvi_text *t, const struct fcvi_field *field, uint64_t u);

/** Say a byte string; the zeros that end a long one are counted. */
void fcvi_say_bytes(struct fcvi_text *t, const uint8_t *bytes, size_t size);

/** Say where the field lies, and its name, in columns: byte, or byte.bits where the field is a part of its
 * bytes. */
void fcvi_say_field(struct fcvi_text *t, const struct fcvi_field *field, unsigned base);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
