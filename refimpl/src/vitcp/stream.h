/* A stream: what VI/TCP keeps of one TCP connection, and of the VI's connection on it. */
#ifndef FCVI_VITCP_STREAM_H
#define FCVI_VITCP_STREAM_H

#include "../vi/wire.h"
#include <fcvi/access.h>
#include <fcvi/pdu.h>
#include <fcvi/vitcp.h>

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

enum {
    SEGMENT_HEADER = 24,
    RDMA_HEADERS = 24 + 16,
    CE_HEADERS = 24 + 44,
    DISCRIMINATOR = 16 /* bytes of each Discriminator in a CE Header */
};

/** The states of 4.2 and 4.3. Disconnected is none, and Matching does not last. */
enum stream_state {
    STREAM_FREE,
    STREAM_WAITING,    /* active: no TCP now, the next attempt comes with the timer */
    STREAM_CONNECTING, /* active: Connecting */
    STREAM_REQUESTED,  /* active: Pending Accept */
    STREAM_INCOMING,   /* passive: Incoming */
    STREAM_OFFERED,    /* passive: Pending Accept; the TCP connection may be over already (V59) */
    STREAM_CONNECTED,
    STREAM_CLOSING /* no VI has to do with it: what waits goes out, then FIN; what comes in is discarded */
};

enum tcp_state {
    TCP_NONE,
    TCP_ASKED, /* OPEN is with the host */
    TCP_OPEN
};

/** An RDMA Read Request that is to be answered. */
struct read_job {
    uint64_t va;
    uint32_t handle, length, number, zero;
};

enum rx_fault { RX_FAULT_NONE, RX_FAULT_QUEUE_EMPTY, RX_FAULT_DESCRIPTOR, RX_FAULT_RDMA, RX_FAULT_TRANSMIT };

/** The direction from the other side. */
struct stream_rx {
    uint8_t header[CE_HEADERS]; /* of the segment that is coming */
    uint8_t have;               /* bytes of it */
    uint8_t headers;            /* how many there are, once all of them have come; else 0 */
    uint8_t pdu;                /* enum fcvi_pdu_type */
    bool skip;                  /* the data of the segment mean nothing */
    uint16_t left;              /* data of the segment that have not come */
    /* the Send, RDMA Write or RDMA Read Request under way */
    bool open, immediate, discard;
    uint8_t message; /* enum fcvi_pdu_type */
    uint8_t fault;   /* enum rx_fault */
    bool numbered;   /* a message has come: `expected` holds */
    uint32_t expected;
    uint32_t number, offset, total, entry, value, handle;
    uint64_t va;
    /* the RDMA Read Response under way */
    uint32_t read_entry, read_offset;
};

/** The direction to the other side. */
struct stream_tx {
    uint8_t header[CE_HEADERS]; /* of the segment that goes out */
    uint8_t headers, gone;      /* how many bytes there are, and how many are out */
    bool last;                  /* it is the last of its message */
    bool failed;                /* its memory is gone: it says Transmit Error */
    bool response;              /* it is of an RDMA Read Response */
    uint16_t left;              /* data of it that are not out */
    uint8_t notice;             /* CE PDU that is to go out, FCVI_PDU_NONE */
    uint8_t error;              /* enum fcvi_vi_error that is to be reported */
    bool ack_due;
    bool ack_held; /* the ACK of `received` waits for the data of RDMA Reads */
    bool job_turn;
    uint16_t jobs, job; /* RDMA Reads to be answered: how many, and which is the oldest */
    uint16_t reads;     /* own RDMA Reads under way */
    uint16_t window;    /* how many of them the other side takes */
    uint32_t error_number;
    uint32_t job_offset;
    uint32_t entry, offset; /* the Descriptor being sent, NONE */
    uint32_t next_number;
    uint32_t acknowledged; /* Message ACK: the last message received without error */
    uint32_t received;     /* the same, where its ACK waits */
    uint16_t posted;       /* Rx Descriptors Posted */
    uint16_t told;         /* as the last segment said it */
    uint16_t consumed;     /* of them */
    uint16_t threshold;    /* of unused credits (3.1 Notes on NOP) */
    uint16_t credit;       /* Rx Descriptors Posted of the other side */
    uint16_t used;         /* messages sent that consume one */
};

struct stream {
    uint8_t state; /* enum stream_state */
    uint8_t tcp;   /* enum tcp_state */
    bool talking;  /* in the ring of those that have something to send */
    bool ask_open, ask_reset;
    bool fin, fin_sent; /* FIN goes out when nothing is left to send */
    bool ended;         /* the other side's FIN has come */
    bool peer_mode, flow_control, reliable;
    uint8_t calling_length, called_length;
    uint16_t generation;
    uint32_t vi, next_free, ring_next, ring_previous;
    uint32_t mtu;
    int64_t room; /* bytes that the host takes; FCVI_STREAM_UNLIMITED */
    struct fcvi_endpoint local, remote;
    uint8_t calling[DISCRIMINATOR], called[DISCRIMINATOR]; /* as in the Connect Request */
    struct fcvi_attributes attributes;                     /* of the other side */
    struct stream_rx rx;
    struct stream_tx tx;
};

FCVI_BLOCK_ARRAY(stream_at, struct stream, streams, streams)

static inline uint32_t stream_index(struct fcvi_port *p, const struct stream *s)
{
    return (uint32_t)(s - stream_at(p, 0));
}

static inline const struct fcvi_profile *profile_of(const struct fcvi_port *p)
{
    return &p->config.vitcp.profile;
}

/** The flag of Type/Flags, or the field of another container, that a profile gives a place. */
static inline uint64_t segment_get(const struct fcvi_port *p, const uint8_t *header,
                                   enum fcvi_profile_field field)
{
    return fcvi_profile_get(profile_of(p), field, header);
}

/* stream.c: the table, and the life of a stream */
bool fcvi_vitcp_config_valid(const struct fcvi_port_config *config);
void fcvi_vitcp_begin(struct fcvi_port *p);
struct stream *fcvi_vitcp_new(struct fcvi_port *p);
void fcvi_vitcp_unused(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_talk(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_be_quiet(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_close(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_end_sending(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_abort(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_forget(struct fcvi_port *p, struct stream *s);

/* stream_host.c */
void fcvi_vitcp_timeout(struct fcvi_port *p, struct stream *s);

/* connection.c: a VI on a stream, from Connected to its end */
void fcvi_vitcp_none(struct vi *vi);
int fcvi_vitcp_match(const struct vi *vi, const struct fcvi_attributes *remote);
int fcvi_vitcp_disconnect(struct fcvi_port *p, struct vi *vi);
void fcvi_vitcp_connected(struct fcvi_port *p, struct stream *s, struct vi *vi);
void fcvi_vitcp_count_posted(struct fcvi_port *p, struct stream *s, const struct vi *vi);
void fcvi_vitcp_fail(struct fcvi_port *p, struct stream *s, bool notify);

/* ce.c: CE PDUs */
void fcvi_vitcp_put_ce(struct fcvi_port *p, const struct stream *s, enum fcvi_pdu_type pdu, uint8_t *out);
void fcvi_vitcp_take_ce(const struct fcvi_port *p, struct stream *s, const uint8_t *header);
bool fcvi_vitcp_take_addresses(struct stream *s, const uint8_t *header);
void fcvi_vitcp_take_address(struct fcvi_address *out, const struct fcvi_endpoint *from,
                             const uint8_t *discriminator, uint8_t length);

/* active.c */
bool fcvi_vitcp_prepare(struct fcvi_port *p, struct vi *vi, const struct wire_request *r);
void fcvi_vitcp_connect(struct fcvi_port *p, struct vi *vi);
void fcvi_vitcp_again(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_open(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_refused(struct fcvi_port *p, struct stream *s, bool answered);
void fcvi_vitcp_established(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_answer(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_give_up(struct fcvi_port *p, struct stream *s, int vip);
void fcvi_vitcp_t1(struct fcvi_port *p, struct vi *vi);

/* passive.c */
const struct fcvi_attributes *fcvi_vitcp_offered(struct fcvi_port *p, uint32_t conn);
uint32_t fcvi_vitcp_transfer_size(struct fcvi_port *p, const struct vi *vi);
int fcvi_vitcp_accept(struct fcvi_port *p, uint32_t conn, struct vi *vi);
bool fcvi_vitcp_refuse(struct fcvi_port *p, uint32_t conn);
void fcvi_vitcp_request(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_say(struct fcvi_port *p, struct stream *s, enum fcvi_pdu_type refusal);
void fcvi_vitcp_accept_for(struct fcvi_port *p, struct stream *s, struct vi *vi);

/* peer.c */
void fcvi_vitcp_peer_request(struct fcvi_port *p, struct stream *s);

/* segment_rx.c, segment_tx.c: segments from bytes, and bytes of segments */
void fcvi_vitcp_receive(struct fcvi_port *p, struct stream *s, const uint8_t *bytes, size_t length);
size_t fcvi_vitcp_segment(struct fcvi_port *p, struct stream *s, struct fcvi_stream_bytes *out, size_t room);
void fcvi_vitcp_placed(struct fcvi_port *p, struct stream *s, size_t length);

/* message_rx.c, message_tx.c, read.c */
void fcvi_vitcp_message_header(struct fcvi_port *p, struct stream *s);
/* bytes: NULL when they are there already. */
void fcvi_vitcp_message_data(struct fcvi_port *p, struct stream *s, const uint8_t *bytes, uint16_t length);
void fcvi_vitcp_message_end(struct fcvi_port *p, struct stream *s);
bool fcvi_vitcp_message_begin(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_message_sent(struct fcvi_port *p, struct stream *s);
bool fcvi_vitcp_read_requested(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_response_header(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_response_data(struct fcvi_port *p, struct stream *s, const uint8_t *bytes, uint16_t length);
void fcvi_vitcp_response_end(struct fcvi_port *p, struct stream *s);
struct read_job *fcvi_vitcp_job(struct fcvi_port *p, const struct stream *s, uint32_t nth);

/* acknowledge.c: credits, Message ACK and errors */
void fcvi_vitcp_posted(struct fcvi_port *p, struct vi *vi, bool recv);
bool fcvi_vitcp_withheld(struct fcvi_port *p, const struct vi *vi, bool recv);
void fcvi_vitcp_heard(struct fcvi_port *p, struct stream *s);
void fcvi_vitcp_acknowledge(struct fcvi_port *p, struct stream *s, uint32_t n);
void fcvi_vitcp_reads_answered(struct fcvi_port *p, struct stream *s);
bool fcvi_vitcp_nop_due(const struct stream *s);
bool fcvi_vitcp_credit_left(const struct stream *s);
void fcvi_vitcp_report(struct fcvi_port *p, struct stream *s, enum fcvi_vi_error error, uint32_t number,
                       bool notify);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
