/* Two NICs, VINIC0 and VINIC1, on two reference ports of a simulated Fabric, or of TCP, with virtual time,
 * and two programs that take turns: one runs until it waits in a VIPL call and nothing has happened for it,
 * so a run is the same every time. Time goes on only when both wait. */
#ifndef FCVI_VIPL_TEST_NET_H
#define FCVI_VIPL_TEST_NET_H

#include "programs.h"

#include <fcvi/fabric.h>

/** What the ports are attached to, and what they know of it. */
struct net {
    const char *name;
    struct fcvi_fabric_config fabric;
    uint8_t service_class; /* 2 or 3 */
    bool strangers;        /* the ports log in, and resolve each other's Host Address */
    bool name_server;      /* by GID_IPP (7.6), otherwise by FARP (7.5) */
    uint32_t n_port_id;    /* of the first port, the other's is one more; 0: FLOGI assigns both */
    enum fcvi_fabric_place place;
    bool tcp;  /* VI/TCP instead: streams of bytes between the two, and no Fabric */
    bool rev1; /* the edition of 1999 */
};

/** The host addresses that the ports have, and the names "alpha" and "beta" of the name service. */
extern const unsigned char net_host[2][16];

/** Run a on VINIC0 and b on VINIC1 at `level` (VIP_SERVICE_...). Returns NULL, or what went wrong, in memory
 * that the next run uses again. */
const char *net_run(const struct net *net, program *a, program *b, unsigned short level);

#endif
