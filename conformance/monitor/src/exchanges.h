/* What is known of Exchanges and Sequences. */
#ifndef FCVI_MONITOR_EXCHANGES_H
#define FCVI_MONITOR_EXCHANGES_H

#include "pools.h"

/* Everything here is the monitor's own: calls need not go through the tables of a shared library. */
#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

enum group { G_NONE, G_MESSAGE, G_SETUP, G_DISCONNECT };

/** What one side of an Exchange sent. */
struct side {
    uint64_t frame;          /* number of its last frame; 0: none seen */
    uint64_t id;             /* what names its Message or setup */
    uint32_t offset, length; /* of its last payload */
    uint32_t sequences;      /* begun */
    uint32_t frames;         /* of its Sequence so far */
    uint16_t cnt;            /* SEQ_CNT of its last frame */
    uint16_t most;           /* its furthest SEQ_CNT */
    uint16_t payload_cnt;    /* SEQ_CNT of its last payload */
    uint16_t refused;        /* frames that busy or reject sent back and that did not come again */
    uint8_t seq_id;
    uint8_t cls;  /* of service of its Sequence; 0: not known */
    bool open;    /* its Sequence goes on */
    bool payload; /* it has sent one */
    bool strays;  /* its frames were not seen in the order of their SEQ_CNTs */
};

/** An FCVI_NET_ADDRESS: sums over the bytes of the host's address and of the Discriminator. */
struct address {
    uint64_t host, discriminator;
    uint8_t length, seen; /* DISCRIM_LEN; bytes seen before those of the Discriminator */
    uint8_t rest;         /* and bytes of that */
};

/** What one side says of its Endpoint in its connect payload; the bytes of a field may come in two frames. */
struct offer {
    struct address local, remote;
    uint32_t most;                                 /* FCVI_MAX_TRANS_SIZE */
    uint8_t handle_bytes, depth_bytes, most_bytes; /* bits: which bytes were seen */
    uint8_t flags;                                 /* FCVI_ATTR_FLAGS */
    bool has_flags;
};

struct setup_facts {
    struct offer rqst_offer, resp_offer;
    uint64_t rqst, resp1, resp2, resp3; /* frame numbers, 0: not seen */
    uint64_t first;                     /* of a retry: frame of the first try, 0: not known */
    uint32_t connection_id, rqst_handle, resp_handle, rqst_depth, resp_depth;
    uint8_t rqst_level, resp_level, rqst_pref, resp_pref;
    uint8_t mode, retry, refused, gave_up; /* gave_up: RESP2 with a status */
    uint16_t first_ox_id;                  /* Exchange of the first try */
    uint8_t reason, later_reason;          /* Reason Codes of RESP1 and of RESP2, with their CONN_STS */
    bool registered;                       /* the handle of its request is known to be asked for */
    bool has_rqst_handle, has_resp_handle, has_rqst_attributes, has_resp_attributes, bound;
    bool has_rqst_pref, has_resp_pref;
};

struct message_facts {
    uint64_t request; /* frame number of the latest, 0: not seen */
    uint64_t va;
    uint32_t handle, id, total, va_handle, immediate;
    uint32_t resp_handle, resp_id, resp_total, resp_va_handle;
    uint64_t resp_va;
    uint8_t iu, resp_iu;
    bool has_immediate;
    bool frame_has; /* IMM_DATA of the request's last frame, and FCVI_PARAMETER of it */
    uint32_t frame_value;
};

struct disconnect_facts {
    uint64_t rqst;
    uint32_t handle, connection_id;
    uint8_t abort, by_application;
};

struct exchange {
    struct node node;
    uint64_t born, touched;
    struct side side[2]; /* 0: of the originator */
    uint64_t over;       /* frame that ended it */
    uint64_t aborted;    /* ABTS; of either side */
    uint32_t originator, responder, network;
    uint16_t ox_id, rx_id, over_cnt;
    uint8_t over_side;
    uint8_t group;
    uint8_t tainted; /* bit of each side that broke a rule here */
    uint8_t turn;    /* side that has the Sequence Initiative */
    uint8_t aborter;
    bool reused;      /* its OX_ID was another Exchange's before, of which ACKs may still come */
    bool headless;    /* its beginning was not seen */
    bool two_answers; /* the responder answered twice: whose RX_ID holds is not known */
    bool has_rx_id;
    bool rx_id_of_ack; /* an ACK named it last */
    bool waits;        /* its request is counted among those that wait for their responses (7.3) */
    bool shared_count; /* the responder goes on from the originator's SEQ_CNT (E18) */
    union {
        struct setup_facts setup;
        struct message_facts message;
        struct disconnect_facts disconnect;
    };
};

struct sequence {
    struct node node;
    uint64_t x0, x1; /* key of its Exchange */
    uint64_t frame;
    uint32_t unacknowledged;
    bool open;   /* its last frame was not sent */
    uint8_t cls; /* of service; 0: not known */
};

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
