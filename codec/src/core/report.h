/* Findings within the codec. */
#ifndef FCVI_CODEC_REPORT_H
#define FCVI_CODEC_REPORT_H

#include "table.h"

#include <fcvi/report.h>

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

/** Report every reserved field of a structure that is not zero (5.9.5). */
void fcvi_check_reserved(enum fcvi_structure structure, enum fcvi_iu iu, const uint8_t *bytes, uint16_t base,
                         struct fcvi_findings *findings);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
