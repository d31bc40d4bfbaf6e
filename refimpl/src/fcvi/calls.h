/* What the VI may ask of FC-VI, by way of vi/wire.c: no more than this is in its sight. */
#ifndef FCVI_FCVI_CALLS_H
#define FCVI_FCVI_CALLS_H

#include "../port/block.h"

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

struct entry;
struct vi;

void fcvi_connection_none(struct vi *vi);
void fcvi_connection_forget(struct fcvi_port *p, struct vi *vi);
void fcvi_schedule_forget(struct fcvi_port *p, struct vi *vi);
bool fcvi_originator_prepare(struct fcvi_port *p, struct vi *vi, const struct fcvi_address *local,
                             const struct fcvi_address *remote, bool peer_mode);
void fcvi_originator_connect(struct fcvi_port *p, struct vi *vi);
const struct fcvi_attributes *fcvi_responder_offered(struct fcvi_port *p, uint32_t conn);
bool fcvi_responder_accept_offer(struct fcvi_port *p, uint32_t conn, struct vi *vi);
int fcvi_setup_match(const struct fcvi_port *p, const struct fcvi_attributes *own,
                     const struct fcvi_attributes *other);
bool fcvi_responder_refuse_offer(struct fcvi_port *p, uint32_t conn);
int fcvi_disconnect_start(struct fcvi_port *p, struct vi *vi, uint64_t token);
void fcvi_schedule_wake(struct fcvi_port *p, struct vi *vi);
bool fcvi_message_withheld(const struct vi *vi, bool recv);
void fcvi_message_completed(struct fcvi_port *p, struct vi *vi, const struct entry *e);
void fcvi_message_drop_all(struct fcvi_port *p, struct vi *vi);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
