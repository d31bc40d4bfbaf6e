/* A quick look that passes nearly every good frame of a Message: what passes has no finding, what does not
 * goes through every check in its turn. It knows fewer things to be right than they do, never more. */
#include "../core/assert.h"
#include "../core/report.h"
#include "f_ctl.h"
#include "fc.h"

/* The bits of F_CTL that a rule fixes, and their values. What holds of the frame that ends the Sequence is
 * asked of all: no more passes for it. */
#define FIXED(F, RULE) (FCVI_##RULE != FCVI_ANY ? F_CTL(F) : 0)
#define SET(F, RULE) (FCVI_##RULE == FCVI_ONE ? F_CTL(F) : 0)

struct shape {
    uint32_t mask, value; /* F_CTL: which bits the IU fixes, and their values */
    uint8_t r_ctl, dh_length;
    uint8_t flags;  /* those that may be set */
    bool payload;   /* it may have one */
    bool one_frame; /* it is one frame */
    bool no_va;     /* FCVI_RMT_VA and FCVI_RMT_VA_HANDLE are zero */
    bool total;     /* FCVI_TOT_LEN counts this payload */
};
static const struct shape shapes[] = {
    /* 5.9.4.2, 6.2.2, 5.9.10; Immediate Data is nothing for an RDMA Read (6.6.2) */
    [FCVI_IU_SEND_RQST].flags = 1u << FCVI_DH_IMM_DATA_LO,
    [FCVI_IU_SEND_RQST].no_va = true,
    [FCVI_IU_SEND_RQST].total = true,
    [FCVI_IU_WRITE_RQST].flags = 1u << FCVI_DH_IMM_DATA_LO,
    [FCVI_IU_WRITE_RQST].total = true,
#define ROW(ident, OPCODE, R_CTL, DH_SIZE, PAYLOAD, CATEGORY)                                                \
    [FCVI_IU_##ident].r_ctl = (R_CTL), [FCVI_IU_##ident].dh_length = (DH_SIZE),                              \
    [FCVI_IU_##ident].payload = (PAYLOAD),
    FCVI_IU_TABLE(ROW)
#undef ROW
#define ROW(ident, RESPONDER, FIRST, LAST, INITIATIVE, ONE_FRAME, ...)                                       \
    [FCVI_IU_##ident].mask = F_CTL(Sequence_Context) | FIXED(Exchange_Context, RESPONDER) |                  \
                             FIXED(First_Sequence, FIRST) | FIXED(Last_Sequence, LAST) |                     \
                             FIXED(Sequence_Initiative, INITIATIVE) | (ONE_FRAME ? F_CTL(End_Sequence) : 0), \
    [FCVI_IU_##ident].value = SET(Exchange_Context, RESPONDER) | SET(First_Sequence, FIRST) |                \
                              SET(Last_Sequence, LAST) | SET(Sequence_Initiative, INITIATIVE) |              \
                              (ONE_FRAME ? F_CTL(End_Sequence) : 0),                                         \
    [FCVI_IU_##ident].one_frame = (ONE_FRAME),
        FCVI_F_CTL_TABLE(ROW)
#undef ROW
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
    FCVI_ASSERT(frame->kind == FCVI_KIND_IU && frame->dh != NULL);
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
