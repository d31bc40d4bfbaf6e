/* A frame taken apart and put together again is the frame; and looking without judging sees the same. */
#include "oracle.h"
#include <fcvi_mutator.h>

enum { LONGEST = 4096, FINDINGS = 16 };

const struct fcvi_mutator_format fcvi_fuzz_format = {.trailer = 2};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t out[LONGEST];
    struct fcvi_finding list[FINDINGS];
    struct fcvi_findings findings = {list, FINDINGS, 0, 0};
    struct fcvi_frame frame;
    if (size < 2 || size > LONGEST)
        return 0;
    struct fcvi_input in = {data, size - 2, data[size - 2], data[size - 1], data[size - 1] % 3};
    fcvi_decode(&in, &frame, &findings);
    demand_same_view(&frame);
    /* what an LS_ACC or CT_ACC answers: nothing known, PLOGI, FLOGI, ADISC, RRQ, GID_IPP */
    static const uint16_t asked[] = {0, 0, 0, 0x03, 0x04, 0x52, 0x12, 0x01B1};
    frame.answers = asked[data[size - 1] / 3 % (sizeof asked / sizeof asked[0])];
    demand_round_trip(&frame, out, sizeof out);
    return 0;
}
