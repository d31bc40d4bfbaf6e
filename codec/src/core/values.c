/* Structures as values of the field table, and bytes of values. Nothing is copied from the frame but through
 * its fields. */
#include "values.h"
#include "assert.h"

static void add(struct fcvi_values *out, const struct fcvi_field *field, size_t index, size_t base,
                const uint8_t *bytes)
{
    FCVI_ASSERT(out->count < FCVI_MAX_VALUES);
    FCVI_ASSERT(base + field->byte + field->size <= out->length);
    struct fcvi_value *value = &out->list[out->count++];
    const uint8_t *at = bytes + base + field->byte;
    *value = (struct fcvi_value){.field = (uint16_t)index, .base = (uint16_t)base};
    if (field->kind == FCVI_F_BLOB)
        value->bytes = at;
    else
        value->u = (fcvi_load(at, field->size) & FCVI_MASK(field->hi, field->lo)) >> field->lo;
}

static void take(struct fcvi_values *out, const struct fcvi_field *table,
                 const struct fcvi_structure_info *structures, enum fcvi_structure structure, uint8_t iu,
                 size_t base, const uint8_t *bytes)
{
    FCVI_ASSERT(structure < FCVI_S_COUNT && iu <= FCVI_IU_NONE);
    for (size_t i = structures[structure].first; table[i].structure == structure; i++) {
        const struct fcvi_field *field = &table[i];
        if (field->kind == FCVI_F_GROUP || (field->ius >> iu & 1u) == 0)
            continue;
        if (field->kind == FCVI_F_NEST)
            take(out, table, structures, (enum fcvi_structure)field->sub, iu, base + field->byte, bytes);
        else
            add(out, field, i, base, bytes);
    }
}

void fcvi_take(struct fcvi_values *out, enum fcvi_structure structure, uint8_t iu, size_t base,
               const uint8_t *bytes)
{
    size_t count;
    take(out, fcvi_field_table(&count), fcvi_structure_table(&count), structure, iu, base, bytes);
}

static void put(const struct fcvi_value *value, const struct fcvi_field *field, uint8_t *out)
{
    FCVI_ASSERT(field->kind != FCVI_F_BLOB || value->bytes != NULL);
    uint8_t *at = out + value->base + field->byte;
    if (field->kind == FCVI_F_BLOB) {
        for (size_t i = 0; i < field->size; i++)
            at[i] = value->bytes[i];
        return;
    }
    uint64_t mask = FCVI_MASK(field->hi, field->lo);
    uint64_t kept = fcvi_load(at, field->size) & ~mask;
    fcvi_store(at, field->size, kept | (value->u << field->lo & mask));
}

size_t fcvi_encode(const struct fcvi_values *values, uint8_t *out, size_t capacity)
{
    FCVI_ASSERT(values->count <= FCVI_MAX_VALUES);
    FCVI_ASSERT(values->rest_offset + values->rest_length <= values->length);
    if (values->length > capacity)
        return 0;
    size_t count;
    const struct fcvi_field *table = fcvi_field_table(&count);
    for (size_t i = 0; i < values->rest_offset; i++)
        out[i] = 0;
    for (size_t i = 0; i < values->count; i++) {
        FCVI_ASSERT(values->list[i].field < count);
        put(&values->list[i], &table[values->list[i].field], out);
    }
    for (size_t i = 0; i < values->rest_length; i++)
        out[values->rest_offset + i] = values->rest[i];
    return values->length;
}
