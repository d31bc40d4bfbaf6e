/* Structures of the field table as values. */
#ifndef FCVI_CODEC_VALUES_H
#define FCVI_CODEC_VALUES_H

#include <fcvi/codec.h>
#include <fcvi/table.h>

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

/** Add the leaves of one structure, and of those nested in it, that exist in the IU. */
void fcvi_take(struct fcvi_values *out, enum fcvi_structure structure, uint8_t iu, size_t base,
               const uint8_t *bytes);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
