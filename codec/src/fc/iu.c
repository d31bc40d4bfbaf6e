/* Which IUs the editions have: Table 1 of 2007 and of the draft of 1999. */
#include "../core/assert.h"
#include "fc.h"

const struct fcvi_iu_info *fcvi_iu_row(enum fcvi_iu iu)
{
    static const struct fcvi_iu_info rows[] = {
#define ROW(ident, opcode, r_ctl, dh, payload, category)                                                     \
    {opcode, r_ctl, dh, payload, "FCVI-T01-" #ident "-enc", "FCVI-T01-" #ident "-pos"},
        FCVI_IU_TABLE(ROW)
#undef ROW
    };
    FCVI_ASSERT(iu < FCVI_IU_COUNT);
    return &rows[iu];
}

void fcvi_iu_info(enum fcvi_iu iu, struct fcvi_iu_info *out)
{
    *out = *fcvi_iu_row(iu);
}

const char *fcvi_edition_name(enum fcvi_edition edition)
{
    static const char *const names[] = {"2007", "rev1"};
    return edition < FCVI_EDITION_COUNT ? names[edition] : "";
}

static const struct fcvi_iu_info rev1[FCVI_IU_COUNT] = {
#define ROW(ident, opcode, r_ctl, dh, payload, requirement)                                                  \
    [FCVI_IU_##ident] = {opcode, r_ctl, dh, payload, requirement, NULL},
    FCVI_REV1_IU_TABLE(ROW)
#undef ROW
};

const struct fcvi_iu_info *fcvi_edition_iu(enum fcvi_edition edition, enum fcvi_iu iu)
{
    FCVI_ASSERT(iu < FCVI_IU_COUNT);
    if (edition == FCVI_EDITION_2007)
        return fcvi_iu_row(iu);
    return rev1[iu].encoding != NULL ? &rev1[iu] : NULL;
}

/* Table 1 of the draft. Another Device_Header is not its IU (5.1, R20): its words would be another edition's.
 */
enum fcvi_iu fcvi_rev1_iu(const struct fcvi_frame *frame)
{
    uint8_t opcode = (uint8_t)fcvi_DH_REV1_VI_OPCODE(frame->dh);
    for (unsigned iu = 0; iu < FCVI_IU_COUNT; iu++)
        if (rev1[iu].encoding != NULL && rev1[iu].opcode == opcode)
            return rev1[iu].dh_size == frame->dh_length ? (enum fcvi_iu)iu : FCVI_IU_NONE;
    return FCVI_IU_NONE;
}

bool fcvi_is_whole_iu(const struct fcvi_frame *frame)
{
    bool initiates = fcvi_sof_initiates(frame->input.sof); /* not known, or one of the SOFi codes */
    return initiates && fcvi_FC_End_Sequence(frame->fc) && fcvi_FC_Parameter(frame->fc) == 0;
}
