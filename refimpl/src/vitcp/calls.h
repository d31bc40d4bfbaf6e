/* What the VI may ask of VI/TCP, by way of vi/wire.c: no more than this is in its sight. */
#ifndef FCVI_VITCP_CALLS_H
#define FCVI_VITCP_CALLS_H

#include "../port/block.h"

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

struct vi;

void fcvi_vitcp_none(struct vi *vi);
bool fcvi_vitcp_prepare(struct fcvi_port *p, struct vi *vi, const struct fcvi_address *local,
                        const struct fcvi_address *remote, bool peer_mode);
void fcvi_vitcp_connect(struct fcvi_port *p, struct vi *vi);
const struct fcvi_attributes *fcvi_vitcp_offered(struct fcvi_port *p, uint32_t conn);
int fcvi_vitcp_match(const struct vi *vi, const struct fcvi_attributes *remote);
uint32_t fcvi_vitcp_transfer_size(struct fcvi_port *p, const struct vi *vi);
int fcvi_vitcp_accept(struct fcvi_port *p, uint32_t conn, struct vi *vi);
bool fcvi_vitcp_refuse(struct fcvi_port *p, uint32_t conn);
int fcvi_vitcp_disconnect(struct fcvi_port *p, struct vi *vi);
bool fcvi_vitcp_withheld(struct fcvi_port *p, const struct vi *vi, bool recv);
void fcvi_vitcp_posted(struct fcvi_port *p, struct vi *vi, bool recv);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
