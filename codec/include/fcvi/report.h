/* Findings: where, what was seen and what was required. For who adds rules of its own: the monitor. */
#ifndef FCVI_REPORT_H
#define FCVI_REPORT_H

#include <fcvi/codec.h>
#include <fcvi/index.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/** What was required: a value, or words. */
struct fcvi_rule {
    enum fcvi_class cls;
    const char *requirement, *erratum, *message, *required;
    uint64_t required_value;
};

/** What Table 12 has against a Reason Code beside CONN_STS 1, in an IU of Connect Response (true) or
 * Disconnect (false). Nothing where the requirement is NULL. In CONNECT_RESP2 and CONNECT_RESP3 it may repeat
 * the code of the refusal (E40), which a single frame does not show. */
struct fcvi_rule fcvi_reason_rule(uint8_t reason, bool connect);

/** Add one finding to the list, which is not NULL; it is counted even if the list is full. */
void fcvi_report_parts(struct fcvi_findings *findings, struct fcvi_place place, uint64_t seen,
                       enum fcvi_class cls, const char *requirement, const char *erratum, const char *message,
                       const char *required, uint64_t required_value);

/** In parts, so that no caller keeps a rule in memory for a report that it rarely makes. */
static inline void fcvi_report(struct fcvi_findings *findings, struct fcvi_place place, uint64_t seen,
                               struct fcvi_rule rule)
{
    fcvi_report_parts(findings, place, seen, rule.cls, rule.requirement, rule.erratum, rule.message,
                      rule.required, rule.required_value);
}

#define FCVI_BREACH(id, words, value) ((struct fcvi_rule){FCVI_VIOLATION, (id), NULL, (words), NULL, (value)})
#define FCVI_BREACH_IN_WORDS(id, words, wanted)                                                              \
    ((struct fcvi_rule){FCVI_VIOLATION, (id), NULL, (words), (wanted), 0})
#define FCVI_TOLERATED(id, erratum, words, value)                                                            \
    ((struct fcvi_rule){FCVI_NOTICE, (id), (erratum), (words), NULL, (value)})
#define FCVI_BROKEN(id, words, wanted) ((struct fcvi_rule){FCVI_MALFORMED, (id), NULL, (words), (wanted), 0})

#ifdef __cplusplus
}
#endif

#endif
