/* FC CRC-32: the polynomial of Ethernet, by ISA-L, which uses the CPU's carry-less multiplication. */
#include <fcvi/codec.h>
#include <isa-l/crc.h>

uint32_t fcvi_crc32(const uint8_t *bytes, size_t length)
{
    return crc32_gzip_refl(0, bytes, length);
}
