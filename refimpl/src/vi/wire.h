/* What the VI asks its wire, which carries its Messages. port/wires.c has the answers of each wire. */
#ifndef FCVI_VI_WIRE_H
#define FCVI_VI_WIRE_H

#include "vi.h"

/** A connect request of the application. */
struct wire_request {
    const struct fcvi_address *local, *remote;
    bool peer_mode; /* VipConnectPeerRequest */
};

struct wire {
    /* 1. A VI begins and ends. */
    void (*vi_begin)(struct fcvi_port *p, struct vi *vi);
    void (*vi_end)(struct fcvi_port *p, struct vi *vi);
    /* 2. Make a setup ready; false when the wire has no room. T1 runs when `connect` begins it; `timeout` is
     * its end by T1. */
    bool (*prepare)(struct fcvi_port *p, struct vi *vi, const struct wire_request *r);
    void (*connect)(struct fcvi_port *p, struct vi *vi);
    void (*timeout)(struct fcvi_port *p, struct vi *vi);
    /* 3. A request of the other side, by the number that VipConnectWait gave: what it asks for (NULL when
     * there is none), whether a VI may accept it (the VIP_ code of what differs), its acceptance
     * (FCVI_VIP_PENDING; the call of the VI is blocked already and may have returned), its refusal (false
     * when there is none). */
    const struct fcvi_attributes *(*offered)(struct fcvi_port *p, uint32_t conn);
    int (*match)(const struct fcvi_port *p, const struct vi *vi, const struct fcvi_attributes *remote);
    int (*accept)(struct fcvi_port *p, uint32_t conn, struct vi *vi);
    bool (*refuse)(struct fcvi_port *p, uint32_t conn);
    /* The most bytes of a Message between the two ends: the VI's own MaxTransferSize, or less where the wire
     * agrees on a size with the other end. */
    uint32_t (*transfer_size)(struct fcvi_port *p, const struct vi *vi);
    /* 4. VipDisconnect. */
    int (*disconnect)(struct fcvi_port *p, struct vi *vi, uint64_t token);
    /* 5. A Descriptor was posted and is not flushed at once. */
    void (*posted)(struct fcvi_port *p, struct vi *vi, bool recv);
    /* 6. Must what is finished wait before the application may see it? 7. It has been shown. */
    bool (*withheld)(struct fcvi_port *p, const struct vi *vi, bool recv);
    void (*completed)(struct fcvi_port *p, struct vi *vi, const struct entry *e);
    /* 8. The Messages under way are over, with the connection. */
    void (*drop)(struct fcvi_port *p, struct vi *vi);
};

#endif
