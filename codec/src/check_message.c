/* A quick look that passes nearly every good frame of a Message: what passes has no finding, what does not
 * goes through every check in its turn. It knows fewer things to be right than they do, never more. */
#include "internal.h"

#define F_CTL(F) (1u << FCVI_FC_##F##_LO)

enum {
    SIDES = F_CTL(Exchange_Context) | F_CTL(Sequence_Context),
    ALONE = SIDES | F_CTL(First_Sequence) | F_CTL(Last_Sequence) | F_CTL(End_Sequence),
    READ = ALONE | F_CTL(Sequence_Initiative),
    RESPONSE = F_CTL(Exchange_Context),
    LAST_RESPONSE = RESPONSE | F_CTL(Last_Sequence) | F_CTL(End_Sequence),
    FIRST_READ = F_CTL(First_Sequence) | F_CTL(End_Sequence) | F_CTL(Sequence_Initiative)
};

/* Table 1 with 5.8.4 and clause 6: of F_CTL the bits that the IU fixes, and their values; R_CTL; the
 * Device_Header; the flags that may be set. */
struct shape {
    uint32_t mask, value;
    uint8_t r_ctl, dh_length, flags;
    bool payload;   /* it may have one */
    bool one_frame; /* it is one frame */
    bool no_va;     /* FCVI_RMT_VA and FCVI_RMT_VA_HANDLE are zero */
    bool total;     /* FCVI_TOT_LEN counts this payload */
};
static const struct shape shapes[] = {
    [FCVI_IU_SEND_RQST] = {SIDES, 0, 0x01, 32, 1u << FCVI_DH_IMM_DATA_LO, true, false, true, true},
    [FCVI_IU_WRITE_RQST] = {SIDES, 0, 0x01, 32, 1u << FCVI_DH_IMM_DATA_LO, true, false, false, true},
    [FCVI_IU_READ_RQST] = {READ, FIRST_READ, 0x06, 32, 0, false, true, false, false},
    [FCVI_IU_SEND_RESP] = {ALONE, LAST_RESPONSE, 0x07, 16, 0, false, true, false, false},
    [FCVI_IU_WRITE_RESP] = {ALONE, LAST_RESPONSE, 0x07, 16, 0, false, true, false, false},
    [FCVI_IU_READ_RESP] = {SIDES | F_CTL(First_Sequence), RESPONSE, 0x01, 32, 0, true, false, false, false},
};

/* 4.2, 5.8.1: delimiters of class 2 or 3, or none, that fit the frame; and a CRC that is not wrong. */
static bool delimited(const struct fcvi_input *in, const struct shape *shape, bool end)
{
    bool ends = in->eof == FCVI_EOF_T, eof = ends || in->eof == FCVI_EOF_N;
    bool first = in->sof == FCVI_SOF_I3 || in->sof == FCVI_SOF_I2;
    bool other = in->sof == FCVI_SOF_N3 || in->sof == FCVI_SOF_N2;
    bool class_3 = in->sof == FCVI_SOF_I3 || in->sof == FCVI_SOF_N3;
    bool sof = first || (other && !shape->one_frame) || in->sof == FCVI_SOF_NONE;
    bool fits = in->eof == FCVI_EOF_NONE || (eof && (!class_3 || ends == end));
    return sof && fits && in->crc != FCVI_CRC_BAD;
}

/* 5.8.7, 5.9.10: Relative Offset and FCVI_TOT_LEN of a frame with data. */
static bool placed(const struct fcvi_frame *frame, const struct shape *shape, uint32_t f_ctl)
{
    uint64_t offset = fcvi_FC_Parameter(frame->fc), end = offset + frame->payload_length;
    bool first = (f_ctl & F_CTL(First_Sequence)) != 0 && fcvi_FC_SEQ_CNT(frame->fc) == 0;
    bool known = (f_ctl & F_CTL(Relative_Offset_Present)) != 0 && (!first || offset == 0);
    return shape->payload && known && (!shape->total || end <= fcvi_DH_FCVI_TOT_LEN(frame->dh));
}

bool fcvi_is_good_message(const struct fcvi_frame *frame)
{
    if (frame->iu > FCVI_IU_READ_RESP || frame->dh_length != shapes[frame->iu].dh_length)
        return false;
    const struct shape *shape = &shapes[frame->iu];
    const uint8_t *fc = frame->fc, *dh = frame->dh;
    uint32_t f_ctl = (uint32_t)fcvi_FC_F_CTL(fc), flags = (uint32_t)fcvi_DH_FCVI_FLAGS(dh);
    uint64_t fill = fcvi_FC_Fill_Bytes(fc);
    bool end = (f_ctl & F_CTL(End_Sequence)) != 0;
    uint64_t wrong = ((f_ctl & shape->mask) ^ shape->value) | (fcvi_FC_R_CTL(fc) ^ shape->r_ctl);
    wrong |= (frame->input.length % 4) | (frame->input.length > FC_HEADER + FC_MAX_DATA_FIELD);
    wrong |= (fill ^ frame->fill) | (fill != 0 && !end);
    wrong |= (flags & ~(uint32_t)shape->flags) | fcvi_DH_DH_RSVD(dh);
    wrong |= (flags == 0 ? fcvi_DH_MSG_PARAMETER(dh) : 0) | (fcvi_DH_FCVI_HANDLE(dh) == FCVI_UNASSIGNED);
    if (shape->no_va)
        wrong |= fcvi_DH_FCVI_RMT_VA(dh) | fcvi_DH_FCVI_RMT_VA_HANDLE(dh);
    return wrong == 0 && delimited(&frame->input, shape, end) &&
           (frame->payload_length == 0 || placed(frame, shape, f_ctl));
}
