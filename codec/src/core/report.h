/* Findings within the codec. */
#ifndef FCVI_CODEC_REPORT_H
#define FCVI_CODEC_REPORT_H

#include "table.h"

#include <fcvi/report.h>

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

/** Report a field that is to be zero, and is not. id: NULL where no rule says so. */
static inline void fcvi_check_zero(struct fcvi_findings *f, struct fcvi_place place, uint64_t seen,
                                   const char *id, const char *message)
{
    if (id != NULL && seen != 0)
        fcvi_report(f, place, seen, FCVI_BREACH(id, message, 0));
}

/** Report every reserved field of a structure that is not zero (5.9.5). */
void fcvi_check_reserved(enum fcvi_structure structure, enum fcvi_iu iu, const uint8_t *bytes, uint16_t base,
                         struct fcvi_findings *findings);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
