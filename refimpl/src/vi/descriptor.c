/* The memory that a Descriptor names: gather and scatter (VI-DG 5.3). */
#include "vi.h"

/* The first `length` bytes lie in regions of the VI's protection tag (VI-ARCH 3.2.1, 3.2.2.1: what is
 * referenced has to). */
bool fcvi_vi_descriptor_in_memory(struct fcvi_port *p, const struct vi *vi, const struct entry *e,
                                  uint32_t length)
{
    for (uint32_t i = e->first; i != NONE && length > 0; i = segment_at(p, i)->next) {
        const struct fcvi_segment *s = &segment_at(p, i)->segment;
        const uint32_t used = s->length < length ? s->length : length;
        if (fcvi_vi_local_memory(p, s->mem, s->offset, used) == NULL ||
            region_at(p, s->mem)->spec.ptag != vi->attributes.ptag)
            return false;
        length -= used;
    }
    return true;
}

/* The longest piece of memory at `offset` of the Descriptor's data, at most `length` bytes; NULL when the
 * region was deregistered meanwhile. The caller has checked that the data go that far. */
uint8_t *fcvi_vi_descriptor_piece(struct fcvi_port *p, const struct entry *e, uint32_t offset,
                                  uint32_t length, uint32_t *piece)
{
    uint32_t node = e->first;
    while (offset >= segment_at(p, node)->segment.length) {
        FCVI_ASSERT(node != NONE);
        offset -= segment_at(p, node)->segment.length;
        node = segment_at(p, node)->next;
    }
    const struct fcvi_segment *s = &segment_at(p, node)->segment;
    *piece = s->length - offset < length ? s->length - offset : length;
    return fcvi_vi_local_memory(p, s->mem, s->offset + offset, *piece);
}

void fcvi_vi_descriptor_place(struct fcvi_port *p, const struct entry *e, uint32_t offset,
                              const uint8_t *bytes, uint32_t length)
{
    for (uint32_t done = 0, piece = 0; done < length; done += piece) {
        uint8_t *at = fcvi_vi_descriptor_piece(p, e, offset + done, length - done, &piece);
        if (at != NULL)
            memcpy(at, bytes + done, piece);
    }
}

/* The caller has seen to it that fcvi_vi_descriptor_in_memory. */
void fcvi_vi_descriptor_fetch(struct fcvi_port *p, const struct entry *e, uint32_t offset, uint8_t *bytes,
                              uint32_t length)
{
    for (uint32_t done = 0, piece = 0; done < length; done += piece) {
        const uint8_t *at = fcvi_vi_descriptor_piece(p, e, offset + done, length - done, &piece);
        memcpy(bytes + done, at, piece);
    }
}
