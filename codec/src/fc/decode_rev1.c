/* Taking a frame apart by the tables of an edition: FC-VI Rev 1.0 of 1999 beside 2007. */
#include "../core/assert.h"
#include "fc.h"
#include <string.h>

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
static enum fcvi_iu iu_of(const struct fcvi_frame *frame)
{
    uint8_t opcode = (uint8_t)fcvi_DH_REV1_VI_OPCODE(frame->dh);
    for (unsigned iu = 0; iu < FCVI_IU_COUNT; iu++)
        if (rev1[iu].encoding != NULL && rev1[iu].opcode == opcode)
            return rev1[iu].dh_size == frame->dh_length ? (enum fcvi_iu)iu : FCVI_IU_NONE;
    return FCVI_IU_NONE;
}

void fcvi_decode_edition(const struct fcvi_input *in, enum fcvi_edition edition, struct fcvi_frame *out,
                         struct fcvi_findings *findings)
{
    FCVI_ASSERT(edition < FCVI_EDITION_COUNT);
    if (edition == FCVI_EDITION_2007) {
        fcvi_decode(in, out, findings);
        return;
    }
    fcvi_decode(in, out, NULL);
    out->edition = (uint8_t)edition;
    if (out->kind == FCVI_KIND_IU)
        out->iu = (uint8_t)(out->dh_length >= 16 ? iu_of(out) : FCVI_IU_NONE);
    if (findings != NULL)
        fcvi_check_rev1(out, findings);
}
