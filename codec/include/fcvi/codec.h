/* Strict, total, zero-copy codec for FC-VI frames (ISO/IEC 14165-331:2007).
 *
 * No function here allocates, keeps state, reads a clock or does I/O. Every byte string gives a result.
 * Pointers in a decoded frame point into the caller's buffer and live as long as it does. */
#ifndef FCVI_CODEC_H
#define FCVI_CODEC_H

#include <fcvi/access.h>
#include <fcvi/iu.h>
#include <fcvi/iu_rev1.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Delimiters by their one-byte codes (RFC 3643, FC-BB), as FCoE carries them. */
enum fcvi_sof {
    FCVI_SOF_NONE = 0,
    FCVI_SOF_I2 = 0x2D,
    FCVI_SOF_N2 = 0x35,
    FCVI_SOF_I3 = 0x2E,
    FCVI_SOF_N3 = 0x36,
    FCVI_SOF_F = 0x28
};
enum fcvi_eof {
    FCVI_EOF_NONE = 0,
    FCVI_EOF_N = 0x41,
    FCVI_EOF_T = 0x42,
    FCVI_EOF_NI = 0x49,
    FCVI_EOF_DTI = 0x4E,
    FCVI_EOF_RTI = 0x4F,
    FCVI_EOF_A = 0x50
};
enum fcvi_crc { FCVI_CRC_ABSENT, FCVI_CRC_OK, FCVI_CRC_BAD };

/** What is known of one FC-2 frame. bytes: first header byte to last byte of the Data_Field, fill bytes
 *  included, without SOF, CRC and EOF. A delimiter or CRC that was not captured is NONE or ABSENT and then
 *  nothing is said about it. */
struct fcvi_input {
    const uint8_t *bytes;
    size_t length;
    uint8_t sof; /* enum fcvi_sof, or any other code seen */
    uint8_t eof; /* enum fcvi_eof, or any other code seen */
    uint8_t crc; /* enum fcvi_crc */
};

enum fcvi_kind {
    FCVI_KIND_MALFORMED,    /* fewer than 24 bytes: nothing else is known */
    FCVI_KIND_IU,           /* TYPE 58h Device_Data: an FC-VI IU or a frame that claims to be one */
    FCVI_KIND_BLS,          /* ABTS, BA_ACC, BA_RJT and the other Basic Link Services */
    FCVI_KIND_LINK_CONTROL, /* ACK_1, ACK_0, P_RJT, F_RJT, P_BSY, F_BSY, ... */
    FCVI_KIND_ELS,
    FCVI_KIND_OTHER /* another FC-4, FC-CT, video, extended headers */
};

enum fcvi_class {
    FCVI_NOTICE,    /* the receiver must ignore it (reserved bits), or an erratum tolerates it */
    FCVI_VIOLATION, /* the sender broke a shall */
    FCVI_MALFORMED  /* the part named cannot be parsed */
};

/** One finding. byte: offset of the field's container from the first header byte; size: bytes of that
 *  container; hi..lo: the bits in it, numbered as in fields.def. */
struct fcvi_finding {
    const char *requirement; /* id in conformance/fcvi/requirements.tsv */
    const char *erratum;     /* "E03" where a register entry decided, or NULL */
    const char *field;       /* name as printed in the standard */
    const char *message;     /* what is wrong, one sentence without the values */
    const char *required;    /* what was required, in words; NULL: required_value */
    uint64_t seen;
    uint64_t required_value;
    uint16_t byte;
    uint16_t size;
    uint8_t hi, lo;
    uint8_t cls; /* enum fcvi_class */
};

/** A list the caller owns. count goes on beyond capacity, so that nothing is lost silently. */
struct fcvi_findings {
    struct fcvi_finding *list;
    size_t capacity;
    size_t count;
    unsigned worst; /* 1 + highest class found, 0: none */
};

/** A decoded frame: a view into the input. Pointers are NULL where the part is absent or cut off. */
struct fcvi_frame {
    const uint8_t *fc;          /* 24-byte header */
    const uint8_t *network;     /* 16-byte Network_Header */
    const uint8_t *association; /* 32-byte Association_Header */
    const uint8_t *dh;          /* Device_Header of dh_length bytes */
    const uint8_t *payload;     /* after all optional headers */
    uint32_t payload_length;    /* without fill bytes */
    uint8_t dh_length;          /* 0, 16, 32 or 64 */
    uint8_t fill;               /* fill bytes after the payload, 0 to 3 */
    uint8_t kind;               /* enum fcvi_kind */
    uint8_t iu;                 /* enum fcvi_iu; FCVI_IU_NONE unless kind is FCVI_KIND_IU */
    uint16_t answers;           /* what an LS_ACC or CT_ACC cannot say itself: the ELS or CT command of its
                                   request, filled in by a caller who has seen it; fcvi_decode leaves 0 */
    uint8_t edition;            /* enum fcvi_edition that it was read by */
    struct fcvi_input input;
};

/** Decode and check one frame. findings may be NULL when only the view is wanted (the receive path). */
void fcvi_decode(const struct fcvi_input *in, struct fcvi_frame *out, struct fcvi_findings *findings);

/** The same by the tables of an edition; fcvi_decode takes that of 2007. Nothing is read twice: an opcode or
 * a Device_Header that the edition does not have gives FCVI_IU_NONE, and a finding that says so. */
void fcvi_decode_edition(const struct fcvi_input *in, enum fcvi_edition edition, struct fcvi_frame *out,
                         struct fcvi_findings *findings);

/** The only edition that has an IU of this opcode with a Device_Header of this size; FCVI_EDITION_COUNT when
 * both have it, neither has, or it is no IU. A connect payload of Rev 1.0 has its length and VI_REVISION as
 * well. frame: by any edition. */
enum fcvi_edition fcvi_edition_shown(const struct fcvi_frame *frame);

/** "2007", "rev1"; "" for another value. */
const char *fcvi_edition_name(enum fcvi_edition edition);

/** Check the complete payload of a FCVI_CONNECT_RQST or FCVI_CONNECT_RESP1 (fcvi_decode does so itself when
 *  one frame holds the IU). dh: the IU's Device_Header; byte: what to add to the payload offsets reported. */
void fcvi_check_connect(enum fcvi_iu iu, const uint8_t *dh, const uint8_t *payload, size_t length,
                        uint16_t byte, struct fcvi_findings *findings);

/* ---- values: a frame taken apart by the field table, and put together again ---- */

enum { FCVI_MAX_VALUES = 128 };

/** One leaf field of a frame. Numbers in u; byte strings in bytes (into the decoded buffer). The other one is
 *  zero. */
struct fcvi_value {
    uint16_t field; /* index into fcvi_field_table() */
    uint16_t base;  /* offset of the structure it belongs to */
    uint64_t u;
    const uint8_t *bytes;
};

struct fcvi_values {
    struct fcvi_value list[FCVI_MAX_VALUES];
    size_t count;
    const uint8_t *rest; /* what no structure of the table describes: Message Data, fill, other FC-4s */
    size_t rest_offset, rest_length;
    size_t length; /* of the frame */
};

/** Take a frame apart. Returns 0, or -1 when it has fewer than 24 bytes. */
int fcvi_values_of(const struct fcvi_frame *frame, struct fcvi_values *out);

/** Build the frame from its values alone. Returns its length, 0 when it does not fit into capacity. */
size_t fcvi_encode(const struct fcvi_values *values, uint8_t *out, size_t capacity);

/* ---- text ---- */

/** One frame in words, several lines, each field with its byte offset, and with its bits where it is a part
 * of its bytes. Like snprintf: writes at most capacity bytes with the final NUL and returns the length that
 * the whole text has. */
size_t fcvi_print_text(const struct fcvi_frame *frame, char *out, size_t capacity);

/** One JSON object (no newline):
 * {"kind","iu","length","sof","eof","crc","fields":[{"name","structure","within","byte",
 *  "size","bits":"hi-lo","value","text","clause"}],"payload":{"byte","length"},...}. As fcvi_print_text.
 * "within" is the field that the structure is, such as FCVI_LOC_ADDR, or null. "value" is a number for a
 * field of up to 53 bits and hexadecimal text for a longer one, whatever it holds. */
size_t fcvi_print_json(const struct fcvi_frame *frame, char *out, size_t capacity);

/** One line: "FCVI_CONNECT_RQST 010100>010200 OX 1001 RX FFFF CNT 0 ID 00000001 RETRY". As fcvi_print_text.
 */
size_t fcvi_print_summary(const struct fcvi_frame *frame, char *out, size_t capacity);

/** Row of Table 1. */
struct fcvi_iu_info {
    uint8_t opcode, r_ctl, dh_size, has_payload;
    const char *encoding, *position; /* requirement ids */
};
/** The row of an IU other than FCVI_IU_NONE. */
const struct fcvi_iu_info *fcvi_iu_row(enum fcvi_iu iu);
/** The row of an IU in an edition; NULL where it has none. position is NULL for the edition of 1999. */
const struct fcvi_iu_info *fcvi_edition_iu(enum fcvi_edition edition, enum fcvi_iu iu);
/** The same as fcvi_iu_row, copied. */
void fcvi_iu_info(enum fcvi_iu iu, struct fcvi_iu_info *out);

const char *fcvi_iu_name(enum fcvi_iu iu);        /* "FCVI_SEND_RQST"; "" for FCVI_IU_NONE */
const char *fcvi_kind_name(enum fcvi_kind kind);  /* "iu", "bls", ... */
const char *fcvi_class_name(enum fcvi_class cls); /* "notice", "violation", "malformed" */
const char *fcvi_reason_name(uint8_t reason); /* Table 12, "Reserved" and "Vendor Unique Error" included */

/* ---- CRC ---- */

/** FC CRC-32 over header and Data_Field. The value stored little-endian is what stands on the wire. */
uint32_t fcvi_crc32(const uint8_t *bytes, size_t length);

const char *fcvi_version(void); /* of the library, "0.2.0" */

#ifdef __cplusplus
}
#endif

#endif
