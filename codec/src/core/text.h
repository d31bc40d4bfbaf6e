/* Bounded output, and values of the field table in words. */
#ifndef FCVI_CODEC_TEXT_H
#define FCVI_CODEC_TEXT_H

#include <fcvi/codec.h>
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

/** What a value is beside its number or its bytes. within: the field that its structure is, as FCVI_LOC_ADDR
 * is a FCVI_NET_ADDRESS; NULL: it stands for itself. meaning: of the number; NULL: none. words: of the bytes.
 */
struct fcvi_value_words {
    const char *structure, *within, *meaning, *words;
    size_t length; /* of words; 0: they are none */
};

/** Say a value as JSON. */
void fcvi_say_json(struct fcvi_text *t, const struct fcvi_field *field, const struct fcvi_value *v,
                   const struct fcvi_value_words *w);

/** Say where the field lies, and its name, in columns: byte, or byte.bits where the field is a part of its
 * bytes. */
void fcvi_say_field(struct fcvi_text *t, const struct fcvi_field *field, unsigned base);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
