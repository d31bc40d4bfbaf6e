/* A frame as values: which structures it holds, and where. */
#include "../core/values.h"
#include "fc.h"

/* What an edition puts into its frames. */
static const struct {
    uint16_t header, connect, info; /* enum fcvi_structure; FCVI_S_COUNT: it has none */
    size_t connect_length;
} editions[] = {
    [FCVI_EDITION_2007] = {FCVI_S_DH, FCVI_S_CONN, FCVI_S_INFO, FCVI_CONN_LENGTH},
    [FCVI_EDITION_REV1] = {FCVI_S_DH_REV1, FCVI_S_CONN_REV1, FCVI_S_COUNT, FCVI_CONN_REV1_LENGTH},
};

/* The connect payload; returns where what it describes ends. */
static size_t take_connect(struct fcvi_values *out, const struct fcvi_frame *frame, size_t base,
                           size_t length)
{
    const uint8_t *bytes = frame->input.bytes;
    size_t plain = editions[frame->edition].connect_length;
    enum fcvi_structure info = (enum fcvi_structure)editions[frame->edition].info;
    fcvi_take(out, (enum fcvi_structure)editions[frame->edition].connect, frame->iu, base, bytes);
    if (info == FCVI_S_COUNT || length < plain + FCVI_INFO_LENGTH)
        return base + plain;
    fcvi_take(out, info, frame->iu, base + plain, bytes);
    return base + plain + FCVI_INFO_LENGTH;
}

/* The structures after the Device_Header; returns where what they describe ends. */
static size_t take_payload(struct fcvi_values *out, const struct fcvi_frame *frame)
{
    const uint8_t *bytes = frame->input.bytes;
    size_t base = (size_t)(frame->payload - bytes);
    size_t length = frame->input.length - base;
    uint64_t r_ctl = fcvi_FC_R_CTL(bytes);
    bool connect = (FCVI_IUS_CONNECT_RQST | FCVI_IUS_CONNECT_RESP1) >> frame->iu & 1u;
    if (connect && length >= editions[frame->edition].connect_length && fcvi_is_whole_iu(frame)) {
        return take_connect(out, frame, base, length);
    } else if (frame->kind == FCVI_KIND_BLS && r_ctl == FCVI_R_CTL_BA_ACC && length >= FCVI_BA_ACC_LENGTH) {
        fcvi_take(out, FCVI_S_BA_ACC, FCVI_IU_NONE, base, bytes);
        base += FCVI_BA_ACC_LENGTH;
    } else if (frame->kind == FCVI_KIND_BLS && r_ctl == FCVI_R_CTL_BA_RJT && length >= FCVI_BA_RJT_LENGTH) {
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
    bool whole_dh = frame->iu != FCVI_IU_NONE &&
                    frame->dh_length ==
                        fcvi_edition_iu((enum fcvi_edition)frame->edition, (enum fcvi_iu)frame->iu)->dh_size;
    if (plain && whole_dh) {
        fcvi_take(out, (enum fcvi_structure)editions[frame->edition].header, frame->iu, at, in->bytes);
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
