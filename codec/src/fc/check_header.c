/* The Frame_Header of an FC-VI IU: R_CTL, F_CTL, DF_CTL, CS_CTL, Parameter and delimiters (Table 1, 5.8).
 * What the editions have otherwise stands in tables of theirs; a check asks no edition. */
#include "../core/report.h"
#include "f_ctl.h"
#include "fc.h"

struct f_ctl_rule {
    const char *first_id;
    uint8_t responder, first, last, initiative, one_frame;
    const char *last_id, *initiative_id, *one_frame_id;
};

static const struct f_ctl_rule rules[FCVI_EDITION_COUNT][FCVI_IU_COUNT] = {
#define ROW(ident, responder, first, last, initiative, ...)                                                  \
    [FCVI_EDITION_2007][FCVI_IU_##ident] = {                                                                 \
        "FCVI-T01-" #ident "-pos", FCVI_##responder, FCVI_##first, FCVI_##last,                              \
        FCVI_##initiative,         __VA_ARGS__},
    FCVI_F_CTL_TABLE(ROW)
#undef ROW
#define ROW(ident, first_id, responder, first, last, initiative, ...)                                        \
    [FCVI_EDITION_REV1][FCVI_IU_##ident] = {first_id,    FCVI_##responder,  FCVI_##first,                    \
                                            FCVI_##last, FCVI_##initiative, __VA_ARGS__},
        FCVI_REV1_F_CTL_TABLE(ROW)
#undef ROW
};

/* What is wrong with the Relative Offset: it is not marked as one; it does not begin with zero. */
static const struct {
    struct fcvi_rule unmarked, first;
} offsets[FCVI_EDITION_COUNT] = {
    [FCVI_EDITION_2007] = {{FCVI_VIOLATION, "FCVI-5.8.7-01", NULL,
                            "Parameter is not marked as a Relative Offset", NULL, 1},
                           {FCVI_VIOLATION, "FCVI-5.8.7-01", NULL,
                            "the first Relative Offset of an Exchange is not zero", NULL, 0}},
    [FCVI_EDITION_REV1] = {{FCVI_NOTICE, "REV1-5.6.6-01", "R22",
                            "RLTV_OFF is not marked as a Relative Offset", NULL, 1},
                           {FCVI_VIOLATION, "REV1-5.6.6-01", NULL,
                            "the first RLTV_OFF of an Exchange is not zero", NULL, 0}},
};

static const struct f_ctl_rule *rule_of(const struct fcvi_frame *frame)
{
    return &rules[frame->edition][frame->iu];
}

static void bit(struct fcvi_findings *f, struct fcvi_place place, bool seen, uint8_t wanted, const char *id,
                const char *message)
{
    if (wanted != FCVI_ANY && seen != (wanted == FCVI_ONE))
        fcvi_report(f, place, seen, FCVI_BREACH(id, message, wanted == FCVI_ONE));
}

static void check_f_ctl(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    const struct f_ctl_rule *rule = rule_of(frame);
    uint64_t f_ctl = fcvi_FC_F_CTL(frame->fc);
    bool end = (f_ctl & F_CTL(End_Sequence)) != 0;
    bit(f, FCVI_AT(0, FC, Exchange_Context), (f_ctl & F_CTL(Exchange_Context)) != 0, rule->responder,
        "FCVI-5.8.1-01", "Exchange Context does not fit the IU's sender");
    bit(f, FCVI_AT(0, FC, Sequence_Context), (f_ctl & F_CTL(Sequence_Context)) != 0, FCVI_ZERO,
        "FCVI-5.8.1-01", "a data frame comes from the Sequence Initiator");
    bit(f, FCVI_AT(0, FC, First_Sequence), (f_ctl & F_CTL(First_Sequence)) != 0, rule->first, rule->first_id,
        "First_Sequence does not fit the IU's place in its Exchange");
    if (rule->one_frame && !end)
        fcvi_report(
            f, FCVI_AT(0, FC, End_Sequence), 0,
            FCVI_BREACH(rule->one_frame_id, "the IU has one frame, so that frame ends the Sequence", 1));
    /* Last_Sequence may be set before the last frame of the last Sequence, but has to be set there (FC-FS) */
    if (rule->last == FCVI_ZERO || (rule->last == FCVI_ONE && end))
        bit(f, FCVI_AT(0, FC, Last_Sequence), (f_ctl & F_CTL(Last_Sequence)) != 0, rule->last, rule->last_id,
            "Last_Sequence does not fit the IU's place in its Exchange");
    if (!end)
        return;
    bool initiative = (f_ctl & F_CTL(Sequence_Initiative)) != 0;
    if (rule->initiative == FCVI_ONE)
        bit(f, FCVI_AT(0, FC, Sequence_Initiative), initiative, FCVI_ONE, rule->initiative_id,
            "Sequence Initiative is not passed");
    if (rule->initiative == FCVI_ZERO && initiative)
        fcvi_report(
            f, FCVI_AT(0, FC, Sequence_Initiative), initiative,
            FCVI_TOLERATED(rule->initiative_id, "E16", "Sequence Initiative on the last Sequence", 0));
}

static void check_r_ctl(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    const struct fcvi_iu_info *row = fcvi_iu_row((enum fcvi_iu)frame->iu);
    uint64_t seen = fcvi_FC_R_CTL(frame->fc);
    if (seen != row->r_ctl)
        fcvi_report(f, FCVI_AT(0, FC, R_CTL), seen,
                    FCVI_BREACH(row->encoding, "R_CTL is not that of the IU in Table 1", row->r_ctl));
}

static void check_df_ctl(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    uint64_t seen = fcvi_FC_Device_Header(frame->fc);
    uint8_t wanted = fcvi_iu_row((enum fcvi_iu)frame->iu)->dh_size == 16 ? 1 : 2;
    if (seen != wanted)
        fcvi_report(
            f, FCVI_AT(0, FC, Device_Header), seen,
            FCVI_BREACH("FCVI-5.8.5-01", "DF_CTL announces another Device_Header than Table 1", wanted));
}

/* 5.8.2: Preference is for Message Transfer only. With Priority Enable the byte is not CS_CTL. */
static void check_cs_ctl(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    bool connection = FCVI_IUS_CONNECTION >> frame->iu & 1u;
    if (connection && fcvi_FC_PREF(frame->fc) && !fcvi_FC_Priority_Enable(frame->fc))
        fcvi_report(f, FCVI_AT(0, FC, PREF), 1,
                    FCVI_BREACH("FCVI-5.8.2-06", "PREF is set in a connection IU", 0));
}

static void check_offset(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    const uint8_t *fc = frame->fc;
    if (frame->payload_length == 0 ||
        !fcvi_edition_iu((enum fcvi_edition)frame->edition, (enum fcvi_iu)frame->iu)->has_payload)
        return; /* E19: an empty frame's Parameter says nothing */
    if (!fcvi_FC_Relative_Offset_Present(fc))
        fcvi_report(f, FCVI_AT(0, FC, Relative_Offset_Present), 0, offsets[frame->edition].unmarked);
    else if (fcvi_FC_First_Sequence(fc) && fcvi_FC_SEQ_CNT(fc) == 0 && fcvi_FC_Parameter(fc) != 0 &&
             fcvi_sof_initiates(frame->input.sof)) /* SEQ_CNT may have wrapped in a long Sequence */
        fcvi_report(f, FCVI_AT(0, FC, Parameter), fcvi_FC_Parameter(fc), offsets[frame->edition].first);
}

static bool is_class2(uint8_t sof)
{
    return sof == FCVI_SOF_I2 || sof == FCVI_SOF_N2;
}

static void check_delimiters(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    const struct fcvi_input *in = &frame->input;
    struct fcvi_place sof = {"SOF", 0, 0, 0, 0}, eof = {"EOF", (uint16_t)in->length, 0, 0, 0};
    bool known = is_class2(in->sof) || in->sof == FCVI_SOF_I3 || in->sof == FCVI_SOF_N3;
    if (in->sof != FCVI_SOF_NONE && !known)
        fcvi_report(f, sof, in->sof,
                    FCVI_BREACH_IN_WORDS("FCVI-4.2-17", "the SOF is not one of class 2 or class 3",
                                         "SOFi2, SOFn2, SOFi3 or SOFn3"));
    if (rule_of(frame)->one_frame && (in->sof == FCVI_SOF_N2 || in->sof == FCVI_SOF_N3))
        fcvi_report(f, sof, in->sof,
                    FCVI_BREACH_IN_WORDS(rule_of(frame)->one_frame_id,
                                         "the IU's only frame does not start it", "SOFi2 or SOFi3"));
    bool terminates = in->eof == FCVI_EOF_T;
    if ((terminates || in->eof == FCVI_EOF_N) && known && !is_class2(in->sof) &&
        terminates != (fcvi_FC_End_Sequence(frame->fc) != 0))
        fcvi_report(f, eof, in->eof,
                    FCVI_BREACH("FCVI-5.8.1-01", "the EOF and End_Sequence disagree in class 3",
                                fcvi_FC_End_Sequence(frame->fc) ? FCVI_EOF_T : FCVI_EOF_N));
}

void fcvi_check_header(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    if (frame->iu == FCVI_IU_NONE)
        return; /* what Table 1 wants of it is not known; check_device_header says so */
    check_r_ctl(frame, f);
    check_cs_ctl(frame, f);
    check_f_ctl(frame, f);
    check_df_ctl(frame, f);
    check_offset(frame, f);
    check_delimiters(frame, f);
}

/* A connect payload that is cut breaks 6.7, and its second frame begins nothing. */
static bool is_whole(const struct fcvi_frame *frame)
{
    bool connects = fcvi_edition_iu((enum fcvi_edition)frame->edition, (enum fcvi_iu)frame->iu)->has_payload;
    return fcvi_FC_End_Sequence(frame->fc) &&
           frame->payload_length == (connects ? (size_t)FCVI_CONN_REV1_LENGTH : 0);
}

/* 5.4 of the draft: the frame that begins an Exchange. The SOF tells it, and a whole IU of one frame needs
 * none.
 */
static void check_start(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    const uint8_t *fc = frame->fc;
    uint8_t sof = frame->input.sof;
    bool starts = sof == FCVI_SOF_I2 || sof == FCVI_SOF_I3 ||
                  (rule_of(frame)->one_frame && is_whole(frame) && sof == FCVI_SOF_NONE);
    if (starts && fcvi_FC_First_Sequence(fc) && fcvi_FC_SEQ_CNT(fc) != 0)
        fcvi_report(f, FCVI_AT(0, FC, SEQ_CNT), fcvi_FC_SEQ_CNT(fc),
                    FCVI_BREACH("REV1-5.4-02", "SEQ_CNT is not zero at the start of the Exchange", 0));
}

void fcvi_check_header_rev1(const struct fcvi_frame *frame, struct fcvi_findings *f)
{
    check_f_ctl(frame, f);
    check_offset(frame, f);
    check_start(frame, f);
    check_delimiters(frame, f);
}
