/* The lengths of link services that FC-VI leans on (FC-FS): ABTS, BA_ACC and BA_RJT (8.5.3), ACKs,
 * rejects and busies, and the ELSs of logins (5.6, 7.4 to 7.7).
 *
 * Only what cannot be read otherwise is reported: FC-FS itself is not part of this standard. */
#include "../core/report.h"
#include "fc.h"

static struct fcvi_place payload_of(const struct fcvi_frame *frame)
{
    return (struct fcvi_place){"Data_Field", FC_HEADER, (uint16_t)frame->payload_length, 0, 0};
}

static void is_cut_off(const struct fcvi_frame *frame, const char *message, const char *required,
                       struct fcvi_findings *f)
{
    fcvi_report(f, payload_of(frame), frame->payload_length, FCVI_BROKEN("FCVI-5.8.1-01", message, required));
}

static void check_most(const struct fcvi_frame *frame, uint32_t most, struct fcvi_findings *f)
{
    if (frame->payload_length > most)
        fcvi_report(f, payload_of(frame), frame->payload_length,
                    FCVI_BREACH("FCVI-5.8.1-01", "the link service is longer than its payload", most));
}

static void check_bls(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    switch (fcvi_FC_R_CTL(frame->fc)) {
    case FCVI_R_CTL_ABTS:
        check_most(frame, 0, f);
        break;
    case FCVI_R_CTL_BA_ACC:
        if (frame->payload_length < FCVI_BA_ACC_LENGTH)
            is_cut_off(frame, "the payload of BA_ACC is cut off", "12 bytes", f);
        check_most(frame, FCVI_BA_ACC_LENGTH, f);
        break;
    case FCVI_R_CTL_BA_RJT:
        if (frame->payload_length < FCVI_BA_RJT_LENGTH)
            is_cut_off(frame, "the payload of BA_RJT is cut off", "4 bytes", f);
        check_most(frame, FCVI_BA_RJT_LENGTH, f);
        break;
    default:
        break;
    }
}

/* ACKs, rejects and busies end with the Frame_Header: what they say stands in its Parameter field and TYPE.
 */
static bool is_answer(uint64_t r_ctl)
{
    return r_ctl >= FCVI_R_CTL_ACK_1 && r_ctl <= FCVI_R_CTL_F_BSY_TO_LINK_CONTROL;
}

/* Only the first frame of the Sequence has the command; without a SOF, SEQ_CNT has to tell. */
static bool has_command(const struct fcvi_frame *frame)
{
    uint8_t sof = frame->input.sof;
    return sof != FCVI_SOF_NONE ? fcvi_sof_initiates(sof) : fcvi_FC_SEQ_CNT(frame->fc) == 0;
}

static void check_els(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    if (!has_command(frame) || fcvi_FC_ESP_Header(frame->fc))
        return;
    if (frame->payload_length < FCVI_ELS_LENGTH)
        is_cut_off(frame, "the Extended Link Service has no command", "at least 4 bytes", f);
    else if (frame->payload_length < fcvi_els_least((uint16_t)fcvi_ELS_ELS_Command(frame->payload)))
        is_cut_off(frame, "the payload of the Extended Link Service is cut off", "the length of its command",
                   f);
    else if (fcvi_els_page((uint16_t)fcvi_ELS_ELS_Command(frame->payload)) != 0 &&
             fcvi_FC_End_Sequence(frame->fc) &&
             frame->payload_length < (fcvi_ELS_ELS_Word_0(frame->payload) & 0xFFFF))
        is_cut_off(frame, "the Extended Link Service has fewer pages than it says",
                   "its own payload length (bytes 2 and 3)", f);
}

void fcvi_check_link_service(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    if (frame->kind == FCVI_KIND_BLS)
        check_bls(frame, f);
    else if (frame->kind == FCVI_KIND_ELS)
        check_els(frame, f);
    else if (is_answer(fcvi_FC_R_CTL(frame->fc)))
        check_most(frame, 0, f);
}
