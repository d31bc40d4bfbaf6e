/* A frame as values of the field table, and back. Nothing is copied from the frame but through its fields. */
#include "internal.h"

static void add(struct fcvi_values *out, const struct fcvi_field *field, size_t index, size_t base,
                const uint8_t *bytes)
{
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

/* The structures after the Device_Header; returns where what they describe ends. */
static size_t take_payload(struct fcvi_values *out, const struct fcvi_frame *frame)
{
    const uint8_t *bytes = frame->input.bytes;
    size_t base = (size_t)(frame->payload - bytes);
    size_t length = frame->input.length - base;
    uint64_t r_ctl = fcvi_FC_R_CTL(bytes);
    bool connect = (FCVI_IUS_CONNECT_RQST | FCVI_IUS_CONNECT_RESP1) >> frame->iu & 1u;
    if (connect && length >= FCVI_CONN_LENGTH && fcvi_is_whole_iu(frame)) {
        fcvi_take(out, FCVI_S_CONN, frame->iu, base, bytes);
        base += FCVI_CONN_LENGTH;
        if (length >= FCVI_CONN_LENGTH + FCVI_INFO_LENGTH) {
            fcvi_take(out, FCVI_S_INFO, frame->iu, base, bytes);
            base += FCVI_INFO_LENGTH;
        }
    } else if (frame->kind == FCVI_KIND_BLS && r_ctl == FC_BA_ACC && length >= FCVI_BA_ACC_LENGTH) {
        fcvi_take(out, FCVI_S_BA_ACC, FCVI_IU_NONE, base, bytes);
        base += FCVI_BA_ACC_LENGTH;
    } else if (frame->kind == FCVI_KIND_BLS && r_ctl == FC_BA_RJT && length >= FCVI_BA_RJT_LENGTH) {
        fcvi_take(out, FCVI_S_BA_RJT, FCVI_IU_NONE, base, bytes);
        base += FCVI_BA_RJT_LENGTH;
    } else if (frame->kind == FCVI_KIND_ELS) {
        return fcvi_take_els(out, frame, base);
    } else if (fcvi_has_ct(frame)) {
        return fcvi_take_ct(out, frame, base);
    }
    return base;
}

int fcvi_values_of(const struct fcvi_frame *frame, struct fcvi_values *out)
{
    const struct fcvi_input *in = &frame->input;
    out->count = 0;
    out->length = in->length;
    if (frame->kind == FCVI_KIND_MALFORMED)
        return -1;
    fcvi_take(out, FCVI_S_FC, frame->iu, 0, in->bytes);
    size_t at = FC_HEADER;
    /* behind a Network_Header or Association_Header everything stays as it is */
    bool plain = frame->network == NULL && frame->association == NULL && !fcvi_FC_Network_Header(frame->fc) &&
                 !fcvi_FC_Association_Header(frame->fc);
    bool whole_dh =
        frame->iu != FCVI_IU_NONE && frame->dh_length == fcvi_iu_row((enum fcvi_iu)frame->iu)->dh_size;
    if (plain && whole_dh) {
        fcvi_take(out, FCVI_S_DH, frame->iu, at, in->bytes);
        at = take_payload(out, frame);
    } else if (plain && fcvi_FC_Device_Header(frame->fc) == 0 &&
               (frame->kind == FCVI_KIND_BLS || frame->kind == FCVI_KIND_ELS || fcvi_has_ct(frame))) {
        at = take_payload(out, frame);
    }
    out->rest = in->bytes + at;
    out->rest_offset = at;
    out->rest_length = in->length - at;
    return 0;
}

static void put(const struct fcvi_value *value, const struct fcvi_field *field, uint8_t *out)
{
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
    if (values->length > capacity)
        return 0;
    size_t count;
    const struct fcvi_field *table = fcvi_field_table(&count);
    for (size_t i = 0; i < values->rest_offset; i++)
        out[i] = 0;
    for (size_t i = 0; i < values->count; i++)
        put(&values->list[i], &table[values->list[i].field], out);
    for (size_t i = 0; i < values->rest_length; i++)
        out[values->rest_offset + i] = values->rest[i];
    return values->length;
}
