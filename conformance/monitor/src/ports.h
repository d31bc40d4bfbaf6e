/* What is known of ports, and of two that talk to each other. */
#ifndef FCVI_MONITOR_PORTS_H
#define FCVI_MONITOR_PORTS_H

#include "pools.h"

/* Everything here is the monitor's own: calls need not go through the tables of a shared library. */
#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

enum lacks { LACKS_S = 1, LACKS_C = 2, LACKS_C_NOT_RANDOM = 4 }; /* the last: C, but not bit 30 (E17) */

/** What a port said of itself in a PLOGI or its ACC. */
struct login {
    uint64_t frame; /* 0: not known */
    uint16_t size;  /* largest Data_Field that it takes; 0: not known */
    uint8_t lacks;  /* bits of enum lacks (5.6) */
    bool told;      /* that it lacks something */
};

/** The Port_Name of a port. */
struct name {
    uint64_t port_name;
    uint64_t frame; /* that said so; 0: not known */
};

/** Two ports that talk to each other; index 0 is the lower N_Port Identifier. */
struct pair {
    struct node node;
    uint64_t logged_out[2];  /* frame in which that port ended the login; 0: or they logged in again */
    uint64_t left[2];        /* frame in which it last ended one that certainly was theirs */
    uint64_t plogi_time;     /* of the latest PLOGI or ACC of either */
    uint64_t disconnected;   /* frame of the last Disconnect IU between them */
    uint64_t voided;         /* frame of the last PLOGI or LOGO: it ended all Connections before it */
    uint64_t confirmed;      /* frame of the last RESP2 or RESP3 that completed a setup */
    uint64_t epoch;          /* frame of the last IU or ELS that sets up or ends anything */
    struct login offered[2]; /* by a PLOGI that was not accepted yet */
    struct login login[2];   /* both sides know it */
    struct name name[2];
    uint32_t connections;
    uint64_t untold[2]; /* frame that began a CONNECT_RQST of that port whose handle was not sent; 0: none */
    uint64_t unfollowed[2]; /* frame of a setup IU of that port that stood where none may; 0: none */
    uint64_t peer_asked[2]; /* frame of that port's latest CONNECT_RQST of Peer-to-Peer; 0: none */
    uint16_t peer_ox_id[2]; /* its Exchange */
    bool crowded[2];        /* it had several under way at once */
    uint16_t els_ox_id[2];
    uint8_t els[2]; /* command that waits for an answer */
    bool used;      /* the login that a LOGO ended had a Connection, so no PLOGI was under way */
};

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
