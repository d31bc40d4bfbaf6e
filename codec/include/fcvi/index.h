/* Every field of the field table by its place there: FCVI_INDEX_<structure>_<field>. */
#ifndef FCVI_INDEX_H
#define FCVI_INDEX_H

enum fcvi_index {
#define STRUCT(S, NAME, LENGTH, CLAUSE) FCVI_FIRST_##S, FCVI_BEFORE_##S = FCVI_FIRST_##S - 1,
#define FIELD(S, F, NAME, BYTE, SIZE, HI, LO, KIND, VALUES, IUS, CLAUSE, REQ) FCVI_INDEX_##S##_##F,
#define RSVD(S, F, BYTE, SIZE, HI, LO, IUS, CLAUSE, REQ) FCVI_INDEX_##S##_##F,
#define GROUP(S, F, NAME, BYTE, SIZE, IUS, CLAUSE) FCVI_INDEX_##S##_##F,
#define BLOB(S, F, NAME, BYTE, SIZE, IUS, CLAUSE, REQ) FCVI_INDEX_##S##_##F,
#define NEST(S, F, NAME, BYTE, SIZE, SUB, IUS, CLAUSE, REQ) FCVI_INDEX_##S##_##F,
#include <fcvi/fields.def>
};

#endif
