/* What holds for every FC-2 frame (5.8.1, FC-FS), and the way to the checks of its kind. */
#include "../core/report.h"
#include "fc.h"

static struct fcvi_place whole(const char *name, size_t length)
{
    return (struct fcvi_place){name, 0, (uint16_t)(length > 0xFFFF ? 0xFFFF : length), 0, 0};
}

/* Other FC-4s and ELSs are not this standard's to judge. */
static void check_length(const struct fcvi_input *in, struct fcvi_findings *f)
{
    if (in->length > FC_HEADER + FC_MAX_DATA_FIELD)
        fcvi_report(
            f, whole("Data_Field", in->length), in->length - FC_HEADER,
            FCVI_BREACH_IN_WORDS("FCVI-5.8.1-01", "the Data_Field is too long", "at most 2112 bytes"));
    if (in->length % 4 != 0)
        fcvi_report(f, whole("Data_Field", in->length), in->length - FC_HEADER,
                    FCVI_BREACH_IN_WORDS("FCVI-5.8.1-01", "the Data_Field does not end on a word",
                                         "a multiple of 4 bytes"));
}

static void check_validity(const struct fcvi_input *in, struct fcvi_findings *f)
{
    if (in->crc == FCVI_CRC_BAD)
        fcvi_report(
            f, whole("CRC", in->length), in->crc,
            FCVI_BROKEN("FCVI-5.8.1-01", "the CRC is wrong: the receiver drops the frame", "a good CRC"));
    if (in->eof == FCVI_EOF_NI || in->eof == FCVI_EOF_DTI || in->eof == FCVI_EOF_RTI || in->eof == FCVI_EOF_A)
        fcvi_report(f, whole("EOF", in->length), in->eof,
                    FCVI_BROKEN("FCVI-5.8.1-01", "the EOF marks the frame as invalid: the receiver drops it",
                                "EOFn or EOFt"));
}

static void check_fill(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    uint64_t fill = fcvi_FC_Fill_Bytes(frame->fc);
    if (fill == 0)
        return;
    if (frame->fill == 0)
        fcvi_report(
            f, FCVI_AT(0, FC, Fill_Bytes), fill,
            FCVI_BROKEN("FCVI-5.8.1-01", "more fill bytes than payload", "at most the payload's length"));
    else if (frame->kind == FCVI_KIND_IU && !fcvi_FC_End_Sequence(frame->fc))
        fcvi_report(f, FCVI_AT(0, FC, Fill_Bytes), fill,
                    FCVI_BREACH("FCVI-5.8.1-01", "fill bytes in a frame that does not end its Sequence", 0));
}

void fcvi_check_fc2(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    const struct fcvi_input *in = &frame->input;
    check_validity(in, f);
    if (frame->kind == FCVI_KIND_MALFORMED) {
        fcvi_report(f, whole("Frame_Header", in->length), in->length,
                    FCVI_BROKEN("FCVI-5.8.1-01", "the frame is shorter than a Frame_Header", "24 bytes"));
        return;
    }
    if (frame->kind == FCVI_KIND_IU || frame->kind == FCVI_KIND_BLS) {
        check_length(in, f);
        check_fill(frame, f);
    }
    if (frame->kind == FCVI_KIND_BLS || frame->kind == FCVI_KIND_LINK_CONTROL || frame->kind == FCVI_KIND_ELS)
        fcvi_check_link_service(frame, f);
}

__attribute__((noinline)) void fcvi_check_frame(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    fcvi_check_fc2(frame, f);
    if (frame->kind != FCVI_KIND_IU)
        return;
    fcvi_check_header(frame, f);
    fcvi_check_device_header(frame, f);
}
