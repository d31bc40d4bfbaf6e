/* Packing with ISA-L, which takes a fifth of zlib's time at its quickest, and packs a little better. */
#include "deflate.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>

enum { LEVEL = 2, ROOM = ISAL_DEF_LVL2_DEFAULT };

size_t calls_deflate(const uint8_t *bytes, size_t length, uint8_t *out, size_t capacity)
{
    if (length > UINT32_MAX || capacity > UINT32_MAX)
        return 0;
    uint8_t *room = malloc(ROOM);
    if (room == NULL)
        return 0;
    struct isal_zstream z;
    isal_deflate_stateless_init(&z);
    z.level = LEVEL;
    z.level_buf = room;
    z.level_buf_size = ROOM;
    z.gzip_flag = IGZIP_ZLIB;
    z.end_of_stream = 1;
    z.flush = NO_FLUSH;
    z.next_in = (uint8_t *)(uintptr_t)bytes; /* it is only read */
    z.avail_in = (uint32_t)length;
    z.next_out = out;
    z.avail_out = (uint32_t)capacity;
    const int status = isal_deflate_stateless(&z);
    free(room);
    return status == COMP_OK ? z.total_out : 0;
}
