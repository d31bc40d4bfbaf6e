/* Profiles: the numbers that VI/TCP (draft-dicecco-vitcp-00) leaves without a value, as data.
 *
 * T0 is the one of this project (vitcp_profile.def). A laboratory may have its own; what it may be is what
 * fcvi_profile_problem takes. A number that is not the profile's is a notice of the codec and never more. */
#ifndef FCVI_PROFILE_H
#define FCVI_PROFILE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The PDUs of 3.1, in the order of the draft. */
enum fcvi_pdu_type {
#define PROFILE_TYPE(IDENT, NUMBER, TEXT) FCVI_PDU_##IDENT,
#include <fcvi/vitcp_profile.def>
    FCVI_PDU_COUNT,
    FCVI_PDU_NONE = FCVI_PDU_COUNT /* a Type that the profile does not have */
};

/** The VI Error Types of 3.1, in the order of the draft. */
enum fcvi_vi_error {
#define PROFILE_ERROR(IDENT, NUMBER, TEXT) FCVI_VI_ERROR_##IDENT,
#include <fcvi/vitcp_profile.def>
    FCVI_VI_ERROR_COUNT
};

/** What a profile gives a place: FCVI_P_<structure>_<field> of the field table. */
enum fcvi_profile_field {
#define PROFILE_BITS_TYPE(S, F, ...) FCVI_P_##S##_##F,
#define PROFILE_BITS_ERROR(S, F, ...) FCVI_P_##S##_##F,
#define PROFILE_BITS_ATTRIBUTES(S, F, ...) FCVI_P_##S##_##F,
#include <fcvi/vitcp_profile.def>
    FCVI_P_COUNT
};

enum { FCVI_PROFILE_NAME_MAX = 31 };

struct fcvi_profile {
    char
        name[FCVI_PROFILE_NAME_MAX + 1]; /* 1 to 31 letters, digits, dots, underlines and hyphens, then NUL */
    uint8_t version;
    uint8_t types[FCVI_PDU_COUNT];        /* number of each PDU, 0 to 31 */
    uint16_t errors[FCVI_VI_ERROR_COUNT]; /* number of each VI Error Type */
    uint16_t bits[FCVI_P_COUNT];          /* mask in Type/Flags (one byte), Remote Error Code or Calling
                                             Attributes (two bytes each), bit 0 least significant */
};

/** Profile T0; constant. */
const struct fcvi_profile *fcvi_profile_t0(void);

/** What is wrong with a profile, in words; NULL when every PDU can be told from the others by it, and each
 * bit of Type/Flags and of Remote Error Code has one meaning. */
const char *fcvi_profile_problem(const struct fcvi_profile *profile);

/** Name of what a profile gives a place, as in vitcp_profile.def: "SEG_Type"; "" for none. */
const char *fcvi_profile_field_name(enum fcvi_profile_field field);

/** Read a field that the profile gives a place, from the first byte of its structure. */
uint64_t fcvi_profile_get(const struct fcvi_profile *profile, enum fcvi_profile_field field,
                          const uint8_t *structure);
/** Write it, cut to its width, and leave its neighbours alone. */
void fcvi_profile_put(const struct fcvi_profile *profile, enum fcvi_profile_field field, uint8_t *structure,
                      uint64_t value);

const char *fcvi_pdu_name(enum fcvi_pdu_type pdu);       /* "RDMA Read Request"; "" for FCVI_PDU_NONE */
const char *fcvi_vi_error_name(enum fcvi_vi_error type); /* "No Error"; "" for none */

#ifdef __cplusplus
}
#endif

#endif
