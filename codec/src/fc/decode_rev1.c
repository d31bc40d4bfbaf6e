/* Taking a frame apart by the tables of an edition: FC-VI Rev 1.0 of 1999 beside 2007. */
#include "../core/assert.h"
#include "fc.h"

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
        out->iu = (uint8_t)(out->dh_length >= 16 ? fcvi_rev1_iu(out) : FCVI_IU_NONE);
    if (findings != NULL)
        fcvi_check_rev1(out, findings);
}
