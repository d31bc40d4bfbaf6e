/* AFL++ persistent mode with shared-memory test cases, around the same entry point as libFuzzer's. */
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

__AFL_FUZZ_INIT();

int main(void)
{
    __AFL_INIT();
    unsigned char *input = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(100000))
        LLVMFuzzerTestOneInput(input, (size_t)__AFL_FUZZ_TESTCASE_LEN);
    return 0;
}
