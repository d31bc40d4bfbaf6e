/* What the files of the port as a whole share. */
#ifndef FCVI_PORT_PORT_INTERNAL_H
#define FCVI_PORT_PORT_INTERNAL_H

#include "../block/block.h"

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

/* layout.c */
bool fcvi_port_limits_valid(const struct fcvi_port_limits *limits);
void fcvi_port_layout_place(struct fcvi_port *p);
void fcvi_port_layout_clear(struct fcvi_port *p);

/* wires.c */
extern const struct wire fcvi_port_fc, fcvi_port_tcp;

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
