/* Which edition's IU a frame can be: the two give most opcodes a Device_Header of another size. */
#include "fc.h"

enum { OPCODES = 32 };

static const uint8_t size_2007[OPCODES] = {
#define SIZE(ident, opcode, r_ctl, dh, payload, category) [opcode] = (dh),
    FCVI_IU_TABLE(SIZE)
#undef SIZE
};

static const uint8_t size_rev1[OPCODES] = {
#define SIZE(ident, opcode, r_ctl, dh, payload, requirement) [opcode] = (dh),
    FCVI_REV1_IU_TABLE(SIZE)
#undef SIZE
};

/* Tables 11 and 12 of the draft. A wrong bit of DF_CTL makes no Rev 1.0 of a connect payload of 2007. */
static bool is_rev1_payload(const struct fcvi_frame *frame)
{
    return frame->payload_length == FCVI_CONN_REV1_LENGTH && fcvi_CONN_REV1_VI_REVISION(frame->payload) == 1;
}

enum fcvi_edition fcvi_edition_shown(const struct fcvi_frame *frame)
{
    if (frame->kind != FCVI_KIND_IU || frame->dh_length < 16)
        return FCVI_EDITION_COUNT;
    const uint64_t opcode = fcvi_DH_FCVI_OPCODE(frame->dh);
    if (opcode >= OPCODES || size_2007[opcode] == size_rev1[opcode])
        return FCVI_EDITION_COUNT;
    if (frame->dh_length == size_2007[opcode])
        return FCVI_EDITION_2007;
    if (frame->dh_length != size_rev1[opcode])
        return FCVI_EDITION_COUNT;
    const bool connects = opcode == FCVI_OP_CONNECT_RQST || opcode == FCVI_OP_CONNECT_RESP1;
    return !connects || is_rev1_payload(frame) ? FCVI_EDITION_REV1 : FCVI_EDITION_COUNT;
}
