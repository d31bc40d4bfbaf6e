/* What the VI asks its wire: the one way from this room to what carries its Messages.
 *
 * The answers are chosen by the port's configuration and not by pointers to functions, so that a block can
 * be copied and has one canonical form. */
#ifndef FCVI_VI_WIRE_H
#define FCVI_VI_WIRE_H

#include "vi.h"

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

/** A connect request of the application. */
struct wire_request {
    const struct fcvi_address *local, *remote;
    bool peer_mode; /* VipConnectPeerRequest */
};

/* 1. A VI begins and ends. */
void fcvi_wire_vi_begin(struct fcvi_port *p, struct vi *vi);
void fcvi_wire_vi_end(struct fcvi_port *p, struct vi *vi);

/* 2. Make a setup ready; false when the wire has no room. It is begun by fcvi_wire_connect, after T1. */
bool fcvi_wire_prepare(struct fcvi_port *p, struct vi *vi, const struct wire_request *r);
void fcvi_wire_connect(struct fcvi_port *p, struct vi *vi);

/* 3. A request of the other side, by the number that VipConnectWait gave: what it asks for (NULL when there
 * is none), whether a VI may accept it (the VIP_ code of what differs), its acceptance (FCVI_VIP_PENDING; the
 * call of the VI is blocked already and may have returned), its refusal (false when there is none). */
const struct fcvi_attributes *fcvi_wire_offered(struct fcvi_port *p, uint32_t conn);
int fcvi_wire_match(const struct fcvi_port *p, const struct vi *vi, const struct fcvi_attributes *remote);
int fcvi_wire_accept(struct fcvi_port *p, uint32_t conn, struct vi *vi);
bool fcvi_wire_refuse(struct fcvi_port *p, uint32_t conn);

/* The most bytes of a Message between the two ends: the VI's own MaxTransferSize, or less where the wire
 * agrees on a size with the other end. */
uint32_t fcvi_wire_transfer_size(struct fcvi_port *p, const struct vi *vi);

/* 4. VipDisconnect. */
int fcvi_wire_disconnect(struct fcvi_port *p, struct vi *vi, uint64_t token);

/* 5. A Descriptor was posted and is not flushed at once. */
void fcvi_wire_posted(struct fcvi_port *p, struct vi *vi, bool recv);

/* 6. Must what is finished wait before the application may see it? 7. It has been shown. */
bool fcvi_wire_withheld(struct fcvi_port *p, const struct vi *vi, bool recv);
void fcvi_wire_completed(struct fcvi_port *p, struct vi *vi, const struct entry *e);

/* 8. The Messages under way are over, with the connection. */
void fcvi_wire_drop(struct fcvi_port *p, struct vi *vi);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
