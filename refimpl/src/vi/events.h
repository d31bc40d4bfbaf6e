/* What the host is told. */
#ifndef FCVI_VI_EVENTS_H
#define FCVI_VI_EVENTS_H

#include "../block/block.h"

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

struct vi;

/* events.c */
struct fcvi_event *fcvi_event_new(struct fcvi_port *p, enum fcvi_event_kind kind);
void fcvi_event_call(struct fcvi_port *p, uint64_t token, int vip);
void fcvi_event_error(struct fcvi_port *p, uint32_t vi, enum fcvi_vip_error code);
void fcvi_vi_set_state(struct fcvi_port *p, struct vi *vi, enum fcvi_vi_state state);
void fcvi_vi_connect_done(struct fcvi_port *p, struct vi *vi, int vip, const struct fcvi_attributes *remote);
void fcvi_vi_connect_undone(struct fcvi_port *p, struct vi *vi);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
