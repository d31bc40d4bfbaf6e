/* Hash tables of chained indices. */
#ifndef FCVI_BLOCK_TABLE_H
#define FCVI_BLOCK_TABLE_H

#include "block.h"

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

/* table.c */
uint32_t fcvi_table_hash(uint64_t a, uint64_t b);
uint32_t fcvi_table_first(struct fcvi_port *p, const struct table *t, uint32_t hash);
uint32_t fcvi_table_next(struct fcvi_port *p, const struct table *t, uint32_t index);
void fcvi_table_add(struct fcvi_port *p, const struct table *t, uint32_t hash, uint32_t index);
void fcvi_table_remove(struct fcvi_port *p, const struct table *t, uint32_t hash, uint32_t index);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
