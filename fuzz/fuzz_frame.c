/* Any bytes as an FC-2 frame: strict decoding is total, and every finding points at what it is about. */
#include "mutator/fcvi_mutator.h"
#include "oracle.h"

enum { LONGEST = 4096, FINDINGS = 16 };

const struct fcvi_mutator_format fcvi_fuzz_format = {.trailer = 2};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fcvi_finding list[FINDINGS];
    struct fcvi_findings findings = {list, FINDINGS, 0, 0};
    struct fcvi_frame frame;
    if (size < 2 || size > LONGEST)
        return 0;
    /* the last two bytes choose delimiters and CRC state, so that the frame starts where the input does */
    struct fcvi_input in = {data, size - 2, data[size - 2], data[size - 1], data[size - 1] % 3};
    fcvi_decode(&in, &frame, &findings);
    if (findings.count > 0) {
        const struct fcvi_finding *f = &list[(findings.count < FINDINGS ? findings.count : FINDINGS) - 1];
        DEMAND(f->requirement != NULL && f->field != NULL && f->message != NULL && f->lo <= f->hi);
        DEMAND(findings.worst > f->cls);
    }
    return 0;
}
