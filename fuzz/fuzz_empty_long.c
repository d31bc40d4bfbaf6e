/* Nothing but a branch for each length that frames have, so that the engine keeps inputs as long as those of
 * the frame target. The other baseline of fuzz/throughput.py. */
#include "oracle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static volatile int longest;
    static const size_t lengths[] = {26, 42, 58, 74, 90, 122, 154, 186, 250, 314, 378, 398};
#pragma clang loop unroll(full)
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        if (size >= lengths[i] && data[lengths[i] - 1] != 0x5A)
            longest = (int)i;
    return 0;
}
