/* What the codec's files share. */
#ifndef FCVI_CODEC_INTERNAL_H
#define FCVI_CODEC_INTERNAL_H

#include <fcvi/codec.h>
#include <fcvi/table.h>

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

#define FCVI_VERSION "0.1.0"

enum { FC_HEADER = 24, FC_MAX_DATA_FIELD = 2112 };

/* R_CTL routing, bits 7-4 */
enum {
    FC_DEVICE_DATA = 0x0,
    FC_EXTENDED_LINK = 0x2,
    FC_4_LINK = 0x3,
    FC_BASIC_LINK = 0x8,
    FC_LINK_CONTROL = 0xC
};
enum { FC_TYPE_ELS = 0x01, FC_TYPE_CT = 0x20 };
enum { FC_ABTS = 0x81, FC_BA_ACC = 0x84, FC_BA_RJT = 0x85 };

/** Row of Table 1. */
const struct fcvi_iu_info *fcvi_iu_row(enum fcvi_iu iu);

/** Row of the field table. */
const struct fcvi_field *fcvi_field_row(size_t index);

/** Name of a value; NULL when it has none. */
const char *fcvi_code_name(const struct fcvi_code *codes, uint64_t value);

/** What the frame is: an IU, a link service, another FC-4. */
const char *fcvi_title(const struct fcvi_frame *frame);

/** What a value of the frame means; NULL when it has no name there. */
const char *fcvi_meaning(const struct fcvi_frame *frame, const struct fcvi_field *field, uint64_t u);

/* ---- reporting ---- */

/** Where in a frame: container bytes and the bits in them, as fields.def has them. Without a name `size` is
 * the index of a field in the table, and the rest is looked up only for what is reported. */
struct fcvi_place {
    const char *field;
    uint16_t byte, size;
    uint8_t hi, lo;
};

/** Place of a field of the table, in a structure that starts at `base` bytes into the frame. */
#define FCVI_AT(base, S, F)                                                                                  \
    ((struct fcvi_place){NULL, (uint16_t)((base) + FCVI_##S##_##F##_BYTE), FCVI_INDEX_##S##_##F, 0, 0})
enum fcvi_index {
#define STRUCT(S, NAME, LENGTH, CLAUSE) FCVI_FIRST_##S, FCVI_BEFORE_##S = FCVI_FIRST_##S - 1,
#define FIELD(S, F, NAME, BYTE, SIZE, HI, LO, KIND, VALUES, IUS, CLAUSE, REQ) FCVI_INDEX_##S##_##F,
#define RSVD(S, F, BYTE, SIZE, HI, LO, IUS, CLAUSE, REQ) FCVI_INDEX_##S##_##F,
#define GROUP(S, F, NAME, BYTE, SIZE, IUS, CLAUSE) FCVI_INDEX_##S##_##F,
#define BLOB(S, F, NAME, BYTE, SIZE, IUS, CLAUSE, REQ) FCVI_INDEX_##S##_##F,
#define NEST(S, F, NAME, BYTE, SIZE, SUB, IUS, CLAUSE, REQ) FCVI_INDEX_##S##_##F,
#include <fcvi/fields.def>
#undef STRUCT
#undef FIELD
#undef RSVD
#undef GROUP
#undef BLOB
#undef NEST
};

/** What was required: a value, or words. */
struct fcvi_rule {
    enum fcvi_class class;
    const char *requirement, *erratum, *message, *required;
    uint64_t required_value;
};

void fcvi_report_parts(struct fcvi_findings *findings, struct fcvi_place place, uint64_t seen,
                       enum fcvi_class class, const char *requirement, const char *erratum,
                       const char *message, const char *required, uint64_t required_value);

/** In parts, so that no caller keeps a rule in memory for a report that it rarely makes. */
static inline void fcvi_report(struct fcvi_findings *findings, struct fcvi_place place, uint64_t seen,
                               struct fcvi_rule rule)
{
    fcvi_report_parts(findings, place, seen, rule.class, rule.requirement, rule.erratum, rule.message,
                      rule.required, rule.required_value);
}

#define FCVI_BREACH(id, words, value) ((struct fcvi_rule){FCVI_VIOLATION, (id), NULL, (words), NULL, (value)})
#define FCVI_BREACH_IN_WORDS(id, words, wanted)                                                              \
    ((struct fcvi_rule){FCVI_VIOLATION, (id), NULL, (words), (wanted), 0})
#define FCVI_TOLERATED(id, erratum, words, value)                                                            \
    ((struct fcvi_rule){FCVI_NOTICE, (id), (erratum), (words), NULL, (value)})
#define FCVI_BROKEN(id, words, wanted) ((struct fcvi_rule){FCVI_MALFORMED, (id), NULL, (words), (wanted), 0})

/** Report every reserved field of a structure that is not zero (5.9.5). */
void fcvi_check_reserved(enum fcvi_structure structure, enum fcvi_iu iu, const uint8_t *bytes, uint16_t base,
                         struct fcvi_findings *findings);

/* ---- the checks, by layer ---- */

void fcvi_check_frame(const struct fcvi_frame *frame, struct fcvi_findings *findings);
/** Nothing is wrong with it, for certain: a frame of a Message in which the other checks find nothing. */
bool fcvi_is_good_message(const struct fcvi_frame *frame);
void fcvi_check_header(const struct fcvi_frame *frame, struct fcvi_findings *findings);
void fcvi_check_device_header(const struct fcvi_frame *frame, struct fcvi_findings *findings);
void fcvi_check_bls(const struct fcvi_frame *frame, struct fcvi_findings *findings);

/* ---- values ---- */

/** Add the leaves of one structure, and of those nested in it, that exist in the IU. */
void fcvi_take(struct fcvi_values *out, enum fcvi_structure structure, uint8_t iu, size_t base,
               const uint8_t *bytes);

/** Add what a frame with an ELS or a CT header holds from `base` on; returns where that ends. */
size_t fcvi_take_els(struct fcvi_values *out, const struct fcvi_frame *frame, size_t base);
size_t fcvi_take_ct(struct fcvi_values *out, const struct fcvi_frame *frame, size_t base);

/** Whether the payload begins with a CT header; whether that one belongs to the Name Server. */
bool fcvi_has_ct(const struct fcvi_frame *frame);
bool fcvi_is_name_server(const uint8_t *ct);

/** Whether the frame is all of its Sequence: it ends it, and nothing says that it is not the first. */
bool fcvi_is_whole_iu(const struct fcvi_frame *frame);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
