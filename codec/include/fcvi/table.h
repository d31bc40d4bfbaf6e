/* The field table as data: what text, JSON, bindings, mutators and the dissector are driven by. */
#ifndef FCVI_TABLE_H
#define FCVI_TABLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum fcvi_field_kind {
    FCVI_F_UINT, /* number, shown in hexadecimal */
    FCVI_F_DEC,  /* number, shown in decimal */
    FCVI_F_FLAG,
    FCVI_F_ENUM,
    FCVI_F_ID24, /* N_Port Identifier */
    FCVI_F_RSVD,
    FCVI_F_GROUP, /* container of the bits that follow it; no leaf */
    FCVI_F_BLOB,
    FCVI_F_NEST
};

struct fcvi_code {
    uint64_t value;
    const char *name;
};

enum fcvi_structure {
#define STRUCT(S, NAME, LENGTH, CLAUSE) FCVI_S_##S,
#include <fcvi/fields.def>
    FCVI_S_COUNT
};

struct fcvi_field {
    const char *ident; /* identifier in fields.def, unique in its structure */
    const char *name;  /* as the standard prints it; "Reserved" for reserved bits */
    const char *clause;
    const char *requirement;
    const struct fcvi_code *codes; /* ended by a NULL name; NULL without named values */
    uint16_t structure;            /* enum fcvi_structure */
    uint16_t sub;                  /* NEST: the structure inside; else FCVI_S_COUNT */
    uint16_t byte, size;           /* container, relative to the structure */
    uint8_t hi, lo;                /* bits of the container; 0, 0 for BLOB and NEST */
    uint8_t kind;
    uint16_t ius; /* mask over enum fcvi_iu */
};

struct fcvi_structure_info {
    const char *ident, *name, *clause;
    uint16_t length;
    uint16_t
        first; /* its first field in fcvi_field_table(); the rest follow, while field.structure is the same */
};

/** Every field, structure by structure; behind the last stands one of structure FCVI_S_COUNT. */
const struct fcvi_field *fcvi_field_table(size_t *count);
/** The structures of the field table; *count is how many there are. The table is constant. */
const struct fcvi_structure_info *fcvi_structure_table(size_t *count);

#ifdef __cplusplus
}
#endif

#endif
