/* Findings: where, what was seen and what was required. */
#include "internal.h"

struct fcvi_place fcvi_place_of(uint16_t base, enum fcvi_index index)
{
    size_t count;
    const struct fcvi_field *field = &fcvi_field_table(&count)[index];
    uint8_t hi = field->hi, lo = field->lo;
    return (struct fcvi_place){field->name, (uint16_t)(base + field->byte), field->size, hi, lo};
}

void fcvi_report(struct fcvi_findings *findings, struct fcvi_place place, uint64_t seen,
                 struct fcvi_rule rule)
{
    if (findings->worst < 1u + (unsigned)rule.class)
        findings->worst = 1u + (unsigned)rule.class;
    if (findings->count++ >= findings->capacity)
        return;
    findings->list[findings->count - 1] = (struct fcvi_finding){
        .requirement = rule.requirement,
        .erratum = rule.erratum,
        .field = place.field,
        .message = rule.message,
        .required = rule.required,
        .seen = seen,
        .required_value = rule.required_value,
        .byte = place.byte,
        .size = place.size,
        .hi = place.hi,
        .lo = place.lo,
        .cls = (uint8_t)rule.class,
    };
}

static uint64_t field_value(const struct fcvi_field *field, const uint8_t *bytes)
{
    uint64_t v = fcvi_load(bytes + field->byte, field->size);
    return (v & FCVI_MASK(field->hi, field->lo)) >> field->lo;
}

void fcvi_check_reserved(enum fcvi_structure structure, enum fcvi_iu iu, const uint8_t *bytes, uint16_t base,
                         struct fcvi_findings *findings)
{
    size_t count;
    const struct fcvi_structure_info *info = &fcvi_structure_table(&count)[structure];
    const struct fcvi_field *table = fcvi_field_table(&count);
    for (size_t i = info->first; table[i].structure == structure; i++) {
        const struct fcvi_field *field = &table[i];
        if (field->kind != FCVI_F_RSVD || (field->ius >> iu & 1u) == 0)
            continue;
        uint64_t seen = field_value(field, bytes);
        if (seen != 0)
            fcvi_report(findings, fcvi_place_of(base, (enum fcvi_index)i), seen,
                        FCVI_TOLERATED(field->requirement, NULL, "reserved bits are not zero", 0));
    }
}
