/* The field table within the codec: rows by index, and names of values. */
#ifndef FCVI_CODEC_TABLE_H
#define FCVI_CODEC_TABLE_H

#include <fcvi/index.h>
#include <fcvi/table.h>

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

/** Row of the field table. */
const struct fcvi_field *fcvi_field_row(size_t index);

/** Name of a value; NULL when it has none. */
const char *fcvi_code_name(const struct fcvi_code *codes, uint64_t value);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
