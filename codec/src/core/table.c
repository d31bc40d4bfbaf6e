/* The field table as data, from fields.def, and the names of values, from codes.def. */
#include "table.h"
#include "assert.h"
#include <fcvi/iu_rev1.h>

#define CODES(LIST) static const struct fcvi_code codes_##LIST[] = {
#define CODE(LIST, IDENT, VALUE, TEXT) {VALUE, TEXT},
#define CODES_END                                                                                            \
    {                                                                                                        \
        0, NULL                                                                                              \
    }                                                                                                        \
    }                                                                                                        \
    ;
#include <fcvi/codes.def>
static const struct fcvi_code codes_OPCODE[] = {
#define OPCODE(ident, opcode, r_ctl, dh, payload, category) {opcode, "FCVI_" #ident},
    FCVI_IU_TABLE(OPCODE)
#undef OPCODE
        {0, NULL},
};
static const struct fcvi_code codes_REV1_OPCODE[] = {
#define OPCODE(ident, opcode, r_ctl, dh, payload, requirement) {opcode, "FCVI_" #ident},
    FCVI_REV1_IU_TABLE(OPCODE)
#undef OPCODE
        {0, NULL},
};
#define codes_NONE NULL

static const struct fcvi_field fields[] = {
#define FIELD(S, F, NAME, BYTE, SIZE, HI, LO, KIND, VALUES, IUS, CLAUSE, REQ)                                \
    {#F,   NAME, CLAUSE, REQ, codes_##VALUES, FCVI_S_##S,    FCVI_S_COUNT,                                   \
     BYTE, SIZE, HI,     LO,  FCVI_F_##KIND,  FCVI_IUS_##IUS},
#define RSVD(S, F, BYTE, SIZE, HI, LO, IUS, CLAUSE, REQ)                                                     \
    {#F,   "Reserved", CLAUSE, REQ, NULL,        FCVI_S_##S,    FCVI_S_COUNT,                                \
     BYTE, SIZE,       HI,     LO,  FCVI_F_RSVD, FCVI_IUS_##IUS},
#define GROUP(S, F, NAME, BYTE, SIZE, IUS, CLAUSE)                                                           \
    {#F,   NAME, CLAUSE,       "", NULL,         FCVI_S_##S,    FCVI_S_COUNT,                                \
     BYTE, SIZE, 8 * (SIZE)-1, 0,  FCVI_F_GROUP, FCVI_IUS_##IUS},
#define BLOB(S, F, NAME, BYTE, SIZE, IUS, CLAUSE, REQ)                                                       \
    {#F, NAME, CLAUSE, REQ, NULL, FCVI_S_##S, FCVI_S_COUNT, BYTE, SIZE, 0, 0, FCVI_F_BLOB, FCVI_IUS_##IUS},
#define NEST(S, F, NAME, BYTE, SIZE, SUB, IUS, CLAUSE, REQ)                                                  \
    {#F, NAME, CLAUSE, REQ, NULL, FCVI_S_##S, FCVI_S_##SUB, BYTE, SIZE, 0, 0, FCVI_F_NEST, FCVI_IUS_##IUS},
#include <fcvi/fields.def>
    {.structure = FCVI_S_COUNT}, /* ends the last structure */
};

static const struct fcvi_structure_info structures[] = {
#define STRUCT(S, NAME, LENGTH, CLAUSE) {#S, NAME, CLAUSE, LENGTH, FCVI_FIRST_##S},
#include <fcvi/fields.def>
};

const struct fcvi_field *fcvi_field_row(size_t index)
{
    FCVI_ASSERT(index < sizeof fields / sizeof fields[0]);
    return &fields[index];
}

const struct fcvi_field *fcvi_field_table(size_t *count)
{
    *count = sizeof fields / sizeof fields[0] - 1;
    return fields;
}

const struct fcvi_structure_info *fcvi_structure_table(size_t *count)
{
    *count = sizeof structures / sizeof structures[0];
    return structures;
}
