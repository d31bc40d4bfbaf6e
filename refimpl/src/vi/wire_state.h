/* What the wire FC keeps in a VI. It stands here because a VI is one record; the VI reads nothing of it. */
#ifndef FCVI_VI_WIRE_STATE_H
#define FCVI_VI_WIRE_STATE_H

#include "../block/block.h"

/** What is remembered of a connection, also after it ended (D.2: a late FCVI_DISCONNECT_RQST is answered). */
struct connection {
    bool known;       /* the handles below are those of a connection or setup, and in the tables of parties */
    bool established; /* a Disconnect aborts a connection, not a setup */
    bool receiving;   /* Messages are accepted (C.5.5); false is Herr (Annex B rule 1) */
    bool confirmed;   /* send Descriptors may complete (C.5.1); Rev 1.0 has no IU to wait for */
    bool unanswered;  /* nothing answered its last Disconnect */
    bool originator;  /* it came from our own FCVI_CONNECT_RQST */
    uint8_t failure;  /* the Reason Code that a Disconnect gives, 0 for none */
    uint16_t setup_ox_id; /* Rev 1.0: of the setup, where it came from our own request (R01) */
    uint32_t peer;
    uint32_t local_handle, remote_handle, connection_id;
};

/** Exchanges, linked through the `next` of their Messages. */
struct list {
    uint32_t head, tail;
};

struct sender {
    uint32_t next_msg_id;
    uint32_t open;    /* Messages begun whose Descriptor has not completed (7.3) */
    uint32_t reads;   /* RDMA Reads among them */
    uint32_t current; /* Exchange of the Message being sent, NONE */
    struct list list; /* open Messages, oldest first */
    struct list jobs; /* Messages to be answered with FCVI_READ_RESP, oldest first */
    uint32_t last_completed;
    bool job_turn;
    bool resend; /* some Exchange has frames to send again */
};

/** The responder stream (Annex B): Mexp, and the Messages from Mexp on of which something has come. */
struct receiver {
    uint32_t expected;
    struct list list;       /* in order of FCVI_MSG_ID */
    struct list unanswered; /* those whose answer waits for FCVI_CONNECT_RESP3, oldest first */
    uint32_t held;          /* frames of Messages that cannot be bound yet, in order of arrival */
    uint32_t last_completed;
};

#endif
