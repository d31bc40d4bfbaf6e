/* PDUs as values of the field table, and bytes of values: at the bits of a profile. */
#include "../core/assert.h"
#include "../core/table.h"
#include "../core/values.h"
#include "vitcp.h"

#include <fcvi/access.h>

int fcvi_pdu_values_of(const struct fcvi_pdu *pdu, struct fcvi_values *out)
{
    out->count = 0;
    if (!fcvi_pdu_is_whole(pdu))
        return -1;
    out->length = pdu->length;
    out->rest = pdu->data;
    out->rest_offset = pdu->headers;
    out->rest_length = pdu->data_length;
    fcvi_take(out, FCVI_S_SEG, FCVI_IU_NONE, 0, pdu->bytes);
    if (pdu->ce != NULL)
        fcvi_take(out, FCVI_S_CE, FCVI_IU_NONE, FCVI_SEG_LENGTH, pdu->bytes);
    if (pdu->rdma != NULL)
        fcvi_take(out, FCVI_S_RDMA, FCVI_IU_NONE, FCVI_SEG_LENGTH, pdu->bytes);
    for (size_t i = 0; i < out->count; i++) {
        struct fcvi_value *v = &out->list[i];
        uint16_t mask = fcvi_profile_mask(pdu->profile, v->field);
        const struct fcvi_field *row = fcvi_field_row(v->field);
        if (mask != 0)
            v->u = (fcvi_load(pdu->bytes + v->base + row->byte, row->size) & mask) >> fcvi_lowest_bit(mask);
    }
    return 0;
}

/* Bits that no run of a value fills, as the reserved ones of a profile may be, keep their places: the value
 * is their container, moved down. */
static void put(uint8_t *at, unsigned size, uint16_t mask, uint64_t u)
{
    uint64_t kept = fcvi_load(at, size) & ~(uint64_t)mask;
    fcvi_store(at, size, kept | (u << fcvi_lowest_bit(mask) & mask));
}

size_t fcvi_pdu_encode(const struct fcvi_profile *profile, const struct fcvi_values *values, uint8_t *out,
                       size_t capacity)
{
    size_t length = fcvi_encode(values, out, capacity);
    if (length == 0)
        return 0;
    for (size_t i = 0; i < values->count; i++) {
        const struct fcvi_value *v = &values->list[i];
        const struct fcvi_field *row = fcvi_field_row(v->field);
        uint16_t mask = fcvi_profile_mask(profile, v->field);
        if (mask != 0)
            put(out + v->base + row->byte, row->size, mask, v->u);
    }
    return length;
}
