/* Pairs of VIPL programs as an application would write them: vipl.h and nothing else of the project. */
#ifndef FCVI_VIPL_TEST_PROGRAMS_H
#define FCVI_VIPL_TEST_PROGRAMS_H

struct run {
    const char *device;   /* for VipOpenNic */
    const char *other;    /* name of the other host in the name service */
    unsigned short level; /* VIP_SERVICE_... of the connection */
    char failure[200];    /* what went wrong; empty when nothing did */
};

typedef void program(struct run *);

/** Send and receive: sizes from 0 to the maximum, gathered and scattered, with immediate data. */
program echo_server, echo_client;
/** The client ends the connection: the server hears CONN_LOST, its queues are flushed, and it recovers. */
program lost_server, lost_client;
/** Completion Queues: entries in order, Wait, Done and Notify. */
program cq_server, cq_client;
/** Requests that are rejected, do not match, are not answered in time, or have other attributes. */
program refuse_server, refuse_client;
/** Descriptors with every kind of fault (table 11.2 X1 to X4), each on a connection of its own. */
program format_server, format_client;
/** RDMA Write with and without immediate data. */
program write_server, write_client;
/** RDMA Read, and a fenced Send after it. */
program read_server, read_client;
/** Peer-to-peer connections, one side polling, the other waiting. */
program peer_one, peer_two;
/** Peers with other attributes, and a peer alone. */
program mismatch_one, mismatch_two;
/** A Send for which nothing is posted, on a reliable connection. */
program empty_server, empty_client;
/** An RDMA Write outside the remote region. */
program protect_server, protect_client;

#endif
