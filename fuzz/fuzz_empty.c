/* Nothing: what the engine itself costs. The baseline of fuzz/throughput.py. */
#include "oracle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    return 0;
}
