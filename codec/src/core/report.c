/* Findings: where, what was seen and what was required. */
#include "report.h"
#include "assert.h"

void fcvi_report_parts(struct fcvi_findings *findings, struct fcvi_place place, uint64_t seen,
                       enum fcvi_class cls, const char *requirement, const char *erratum, const char *message,
                       const char *required, uint64_t required_value)
{
    FCVI_ASSERT(cls <= FCVI_MALFORMED && requirement != NULL && message != NULL);
    FCVI_ASSERT(findings->capacity == 0 || findings->list != NULL);
    if (findings->worst < 1u + (unsigned)cls)
        findings->worst = 1u + (unsigned)cls;
    if (findings->count++ >= findings->capacity)
        return;
    if (place.field == NULL) {
        const struct fcvi_field *field = fcvi_field_row(place.size);
        place.field = field->name;
        place.size = field->size;
        place.hi = field->hi;
        place.lo = field->lo;
    }
    findings->list[findings->count - 1] = (struct fcvi_finding){
        .requirement = requirement,
        .erratum = erratum,
        .field = place.field,
        .message = message,
        .required = required,
        .seen = seen,
        .required_value = required_value,
        .byte = place.byte,
        .size = place.size,
        .hi = place.hi,
        .lo = place.lo,
        .cls = (uint8_t)cls,
    };
}

/* The reserved bits alone: every frame is searched for them. */
struct reserved {
    const char *requirement;
    uint32_t mask;
    uint16_t index, ius, byte;
    uint8_t size, lo;
};

static const struct reserved reserved[] = {
#define RSVD(S, F, BYTE, SIZE, HI, LO, IUS, CLAUSE, REQ)                                                     \
    {REQ, FCVI_MASK(HI, LO), FCVI_INDEX_##S##_##F, FCVI_IUS_##IUS, BYTE, SIZE, LO},
#include <fcvi/fields.def>
};

/* Of each structure, the first; the next structure's ends them. */
enum {
#define STRUCT(S, NAME, LENGTH, CLAUSE) FIRST_##S, BEFORE_##S = FIRST_##S - 1,
#define RSVD(S, F, BYTE, SIZE, HI, LO, IUS, CLAUSE, REQ) AT_##S##_##F,
#include <fcvi/fields.def>
};
static const uint8_t first_of[] = {
#define STRUCT(S, NAME, LENGTH, CLAUSE) FIRST_##S,
#include <fcvi/fields.def>
    sizeof reserved / sizeof reserved[0],
};

void fcvi_check_reserved(enum fcvi_structure structure, enum fcvi_iu iu, const uint8_t *bytes, uint16_t base,
                         struct fcvi_findings *findings)
{
    FCVI_ASSERT(structure < FCVI_S_COUNT);
    FCVI_ASSERT(iu <= FCVI_IU_NONE);
    const struct reserved *end = &reserved[first_of[structure + 1]];
    for (const struct reserved *r = &reserved[first_of[structure]]; r < end; r++) {
        if ((r->ius >> iu & 1u) == 0)
            continue;
        uint64_t seen = fcvi_load(bytes + r->byte, r->size) & r->mask;
        if (seen == 0)
            continue;
        struct fcvi_place place = {.byte = (uint16_t)(base + r->byte), .size = r->index};
        fcvi_report(findings, place, seen >> r->lo,
                    FCVI_TOLERATED(r->requirement, NULL, "reserved bits are not zero", 0));
    }
}
