/* Any bytes as an FC-2 frame: decoding is total, and what a frame's values encode to is the frame. */
#include <fcvi/codec.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4096, FINDINGS = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[1 << 16];
    static uint8_t out[LONGEST];
    struct fcvi_finding list[FINDINGS];
    struct fcvi_findings findings = {list, FINDINGS, 0, 0};
    struct fcvi_frame frame;
    struct fcvi_values values;
    if (size < 2 || size > LONGEST)
        return 0;
    /* the last two bytes choose delimiters and CRC state, so that the frame starts where the input does */
    struct fcvi_input in = {data, size - 2, data[size - 2], data[size - 1], data[size - 1] % 3};
    fcvi_decode(&in, &frame, &findings);
    fcvi_print_text(&frame, text, sizeof text);
    fcvi_print_json(&frame, text, sizeof text);
    fcvi_print_summary(&frame, text, sizeof text);
    if (fcvi_values_of(&frame, &values) != 0)
        return 0;
    if (fcvi_encode(&values, out, sizeof out) != in.length || memcmp(out, data, in.length) != 0)
        abort();
    return 0;
}
