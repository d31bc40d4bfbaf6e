/* Any bytes as an FC-2 frame: strict decoding is total, every finding points at what it is about, and what
 * finds no room is counted all the same. */
#include "oracle.h"
#include <fcvi_mutator.h>

enum { LONGEST = 4096, MOST_FINDINGS = 4 };

const struct fcvi_mutator_format fcvi_fuzz_format = {.trailer = 2};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fcvi_finding list[MOST_FINDINGS];
    static struct fcvi_frame frame;
    if (size < 2 || size > LONGEST)
        return 0;
    /* the last two bytes choose delimiters, CRC state and room, so that the frame starts where the input does
     */
    uint8_t tail = data[size - 1];
    static struct fcvi_findings findings;
    static struct fcvi_input in;
    findings = (struct fcvi_findings){list, 1 + tail / 3 % MOST_FINDINGS, 0, 0};
    in = (struct fcvi_input){data, size - 2, data[size - 2], tail, tail % 3};
    fcvi_decode(&in, &frame, &findings);
    DEMAND((findings.count == 0) == (findings.worst == 0));
    for (size_t i = 0; i < findings.count && i < findings.capacity; i++) {
        const struct fcvi_finding *f = &list[i];
        DEMAND(f->requirement != NULL && f->field != NULL && f->message != NULL && f->lo <= f->hi);
        DEMAND(findings.worst > f->cls);
    }
    return 0;
}
