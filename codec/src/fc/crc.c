/* FC CRC-32: the polynomial of Ethernet, by ISA-L, which uses the CPU's carry-less multiplication. */
#include <fcvi/codec.h>
#include <isa-l/crc.h>

#if defined(__x86_64__)
#include <immintrin.h>

/* ISA-L leaves the upper halves of the vector registers dirty: until they are cleared every SSE instruction
 * of the caller waits for them, which costs more than the CRC itself. */
__attribute__((target("avx"))) static void clear_upper_halves(void)
{
    _mm256_zeroupper();
}

static void tidy(void)
{
    if (__builtin_cpu_supports("avx")) /* GCOVR_EXCL_BR_LINE: one CPU shows one side */
        clear_upper_halves();
}
#else
static void tidy(void) {}
#endif

uint32_t fcvi_crc32(const uint8_t *bytes, size_t length)
{
    uint32_t crc = crc32_gzip_refl(0, bytes, length);
    tidy();
    return crc;
}
