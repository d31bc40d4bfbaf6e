/* A frame in words: text, JSON and summary of any bytes are whole, and no byte of the input breaks the JSON.
 */
#include "oracle.h"
#include <fcvi_mutator.h>

enum { LONGEST = 4096, TEXT = 1 << 16, GUARD = '~' };

const struct fcvi_mutator_format fcvi_fuzz_format = {.trailer = 3};

typedef size_t printer(const struct fcvi_frame *frame, char *out, size_t capacity);

/* Braces and quotes are balanced, and every character can be printed. */
static void demand_json(const char *text)
{
    int depth = 0;
    bool quoted = false;
    for (; *text != '\0'; text++) {
        DEMAND((unsigned char)*text >= 0x20 && (unsigned char)*text < 0x7F);
        if (*text == '"')
            quoted = !quoted;
        depth += quoted ? 0 : (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
        DEMAND(depth >= 0);
    }
    DEMAND(depth == 0 && !quoted);
}

/* As snprintf: a smaller buffer gets the beginning of the same text, and nothing is written behind it. */
static void demand_prefix(printer *print, const struct fcvi_frame *frame, const char *whole, size_t length,
                          size_t room)
{
    static char part[TEXT];
    room %= length + 2;
    part[room] = GUARD;
    DEMAND(print(frame, part, room) == length);
    DEMAND(part[room] == GUARD);
    if (room > 0)
        DEMAND(strncmp(part, whole, room - 1) == 0 && part[room - 1 < length ? room - 1 : length] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[TEXT];
    static printer *const printers[] = {fcvi_print_text, fcvi_print_json, fcvi_print_summary};
    struct fcvi_frame frame;
    if (size < 3 || size > LONGEST)
        return 0;
    struct fcvi_input in = {data, size - 3, data[size - 3], data[size - 2],
                            data[size - 1] < 252 ? data[size - 1] % 3 : 3 /* no such state */};
    fcvi_decode(&in, &frame, NULL);
    printer *print = printers[data[size - 1] / 3 % 3];
    size_t length = print(&frame, text, sizeof text);
    DEMAND(length < sizeof text && strlen(text) == length);
    if (print == fcvi_print_json)
        demand_json(text);
    DEMAND(fcvi_reason_name(data[0])[0] != '\0' && fcvi_kind_name((enum fcvi_kind)data[0]) != NULL &&
           fcvi_class_name((enum fcvi_class)data[0]) != NULL);
    demand_prefix(print, &frame, text, length, (size_t)data[size - 1] << 4);
    return 0;
}
