/* Basic Link Services that FC-VI leans on: ABTS, BA_ACC and BA_RJT (8.5.3, FC-FS).
 *
 * Only what cannot be read otherwise is reported: FC-FS itself is not part of this standard. */
#include "../core/report.h"
#include "fc.h"

static void check_payload(const struct fcvi_frame *frame, uint32_t least, const char *message,
                          const char *required, struct fcvi_findings *f)
{
    struct fcvi_place place = {"Data_Field", FC_HEADER, (uint16_t)frame->payload_length, 0, 0};
    if (frame->payload_length < least)
        fcvi_report(f, place, frame->payload_length, FCVI_BROKEN("FCVI-5.8.1-01", message, required));
}

void fcvi_check_bls(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    switch (fcvi_FC_R_CTL(frame->fc)) {
    case FCVI_R_CTL_BA_ACC:
        check_payload(frame, FCVI_BA_ACC_LENGTH, "the payload of BA_ACC is cut off", "12 bytes", f);
        break;
    case FCVI_R_CTL_BA_RJT:
        check_payload(frame, FCVI_BA_RJT_LENGTH, "the payload of BA_RJT is cut off", "4 bytes", f);
        break;
    default:
        break;
    }
}
