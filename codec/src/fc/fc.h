/* Frames of FC-2 and the IUs in them: constants of FC-FS, and what the files of this folder share. */
#ifndef FCVI_CODEC_FC_H
#define FCVI_CODEC_FC_H

#include <fcvi/codec.h>
#include <fcvi/codes.h>
#include <fcvi/table.h>

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

/* What a Frame_Header is long, and the most that a Data_Field is (FC-FS). */
enum { FC_HEADER = 24, FC_MAX_DATA_FIELD = 2112 };

/* R_CTL routing, bits 7-4 */
enum {
    FC_DEVICE_DATA = 0x0,
    FC_EXTENDED_LINK = 0x2,
    FC_4_LINK = 0x3,
    FC_BASIC_LINK = 0x8,
    FC_LINK_CONTROL = 0xC
};

/** The SOF of the frame that begins a Sequence: SOFix; also when it is not known. */
static inline bool fcvi_sof_initiates(uint8_t sof)
{
    enum { FIRST_OF_SOF_NORMAL = 0x30 };
    return sof < FIRST_OF_SOF_NORMAL;
}

/** What the frame is: an IU, a link service, another FC-4. */
const char *fcvi_title(const struct fcvi_frame *frame);

/** What a value of the frame means; NULL when it has no name there. */
const char *fcvi_meaning(const struct fcvi_frame *frame, const struct fcvi_field *field, uint64_t u);

/* ---- IUs ---- */

/** Whether it is one of these: a bit for each. */
static inline bool fcvi_iu_is_in(uint8_t iu, unsigned ius)
{
    return ius >> iu & 1u;
}

/** The IU of Rev 1.0 that a frame with a Device_Header is; FCVI_IU_NONE: none. */
enum fcvi_iu fcvi_rev1_iu(const struct fcvi_frame *frame);

/** Whether the frame is all of its Sequence: it ends it, and nothing says that it is not the first. */
bool fcvi_is_whole_iu(const struct fcvi_frame *frame);

/* ---- the checks, by layer ---- */

void fcvi_check_frame(const struct fcvi_frame *frame, struct fcvi_findings *findings);
/** Nothing is wrong with it, for certain: a frame of a Message in which the other checks find nothing. */
bool fcvi_is_good_message(const struct fcvi_frame *frame);
/** What holds for every frame, whatever the edition. */
void fcvi_check_fc2(const struct fcvi_frame *frame, struct fcvi_findings *findings);
void fcvi_check_header(const struct fcvi_frame *frame, struct fcvi_findings *findings);
/** The same of an IU of Rev 1.0: F_CTL, RLTV_OFF, SEQ_CNT where an Exchange begins, and delimiters. */
void fcvi_check_header_rev1(const struct fcvi_frame *frame, struct fcvi_findings *findings);
void fcvi_check_device_header(const struct fcvi_frame *frame, struct fcvi_findings *findings);
/** What Rev 1.0 demands of a frame that was taken apart by its tables. */
void fcvi_check_rev1(const struct fcvi_frame *frame, struct fcvi_findings *findings);
/** The lengths of link services and ACKs. */
void fcvi_check_link_service(const struct fcvi_frame *frame, struct fcvi_findings *findings);

/* ---- values ---- */

/** Add what a frame with an ELS or a CT header holds from `base` on; returns where that ends. */
size_t fcvi_take_els(struct fcvi_values *out, const struct fcvi_frame *frame, size_t base);
size_t fcvi_take_ct(struct fcvi_values *out, const struct fcvi_frame *frame, size_t base);

/** The least bytes of an ELS, its command word included; what an LS_ACC has depends on what it answers. */
size_t fcvi_els_least(uint16_t command);
/** Bytes of a page of PRLI, PRLO and RSCN, which have one at least behind the command (FC-LS); 0: no pages.
 */
size_t fcvi_els_page(uint16_t command);

/** Whether the payload begins with a CT header; whether that one belongs to the Name Server. */
bool fcvi_has_ct(const struct fcvi_frame *frame);
bool fcvi_is_name_server(const uint8_t *ct);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
