/* Taking a frame apart: where each layer starts and what kind of frame it is. */
#include "../core/assert.h"
#include "fc.h"
#include <string.h>

static enum fcvi_kind kind_of(const uint8_t *fc)
{
    uint8_t routing = (uint8_t)(fcvi_FC_R_CTL(fc) >> 4);
    uint8_t type = (uint8_t)fcvi_FC_TYPE(fc);
    switch (routing) {
    case FC_BASIC_LINK:
        return FCVI_KIND_BLS;
    case FC_LINK_CONTROL:
        return FCVI_KIND_LINK_CONTROL;
    case FC_EXTENDED_LINK:
        return type == FCVI_TYPE_ELS ? FCVI_KIND_ELS : FCVI_KIND_OTHER;
    case FC_DEVICE_DATA:
        /* behind an ESP_Header the Data_Field is not ours to read */
        return type == FCVI_TYPE && !fcvi_FC_ESP_Header(fc) ? FCVI_KIND_IU : FCVI_KIND_OTHER;
    default:
        return FCVI_KIND_OTHER;
    }
}

/* Step over an optional header of `size` bytes; NULL and the end when it is cut off. */
static const uint8_t *step(const uint8_t **at, const uint8_t *end, size_t size)
{
    const uint8_t *start = *at;
    FCVI_ASSERT(start <= end);
    if ((size_t)(end - start) < size) {
        *at = end;
        return NULL;
    }
    *at = start + size;
    return start;
}

/* Find the optional headers that DF_CTL announces; the payload starts after them. */
static const uint8_t *optional_headers(struct fcvi_frame *out, const uint8_t *fc, const uint8_t *end)
{
    static const uint8_t sizes[] = {0, 16, 32, 64};
    const uint8_t *at = fc + FC_HEADER;
    if (fcvi_FC_Network_Header(fc))
        out->network = step(&at, end, 16);
    if (fcvi_FC_Association_Header(fc))
        out->association = step(&at, end, 32);
    uint8_t size = sizes[fcvi_FC_Device_Header(fc)];
    const uint8_t *dh = size != 0 ? step(&at, end, size) : NULL;
    out->dh = dh;
    out->dh_length = dh != NULL ? size : 0;
    return at;
}

static void take_apart(struct fcvi_frame *out, const uint8_t *fc, const uint8_t *end)
{
    enum fcvi_kind kind = kind_of(fc);
    const uint8_t *payload = fc + FC_HEADER;
    /* link control and extended headers have no Data_Field layout that DF_CTL describes */
    if (kind != FCVI_KIND_LINK_CONTROL && fcvi_FC_R_CTL(fc) >> 4 != 5)
        payload = optional_headers(out, fc, end);
    uint32_t length = (uint32_t)(end - payload);
    uint8_t fill = (uint8_t)fcvi_FC_Fill_Bytes(fc);
    if (fill > length || kind == FCVI_KIND_LINK_CONTROL)
        fill = 0;
    FCVI_ASSERT(payload + length == end && fill <= length);
    out->fc = fc;
    out->kind = (uint8_t)kind;
    out->payload = payload;
    out->payload_length = length - fill;
    out->fill = fill;
    if (kind == FCVI_KIND_IU && out->dh_length >= 16)
        out->iu = (uint8_t)fcvi_iu_of_opcode((uint8_t)fcvi_DH_FCVI_OPCODE(out->dh));
}

void fcvi_decode(const struct fcvi_input *in, struct fcvi_frame *out, struct fcvi_findings *findings)
{
    FCVI_ASSERT(in->bytes != NULL || in->length == 0);
    memset(out, 0, offsetof(struct fcvi_frame, input));
    out->kind = FCVI_KIND_MALFORMED;
    out->iu = FCVI_IU_NONE;
    out->input = *in;
    if (in->length >= FC_HEADER)
        take_apart(out, in->bytes, in->bytes + in->length);
    if (findings != NULL && !fcvi_is_good_message(out))
        fcvi_check_frame(out, findings);
}
