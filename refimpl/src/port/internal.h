/* The port's state and what its files share. One block, indices instead of pointers (snapshots). */
#ifndef FCVI_PORT_INTERNAL_H
#define FCVI_PORT_INTERNAL_H

#include <fcvi/port.h>
#include <string.h>

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

enum { NONE = UINT32_MAX };
enum { CONNECT_LENGTH = FCVI_CONN_LENGTH + FCVI_INFO_LENGTH, CONTROL_FRAME = 24 + 32 + CONNECT_LENGTH };
enum { DH32 = 32, DH16 = 16, LONGEST = 24 + 2112 };

/* Reason Codes of Table 12 that this port sends */
enum reason {
    NO_MATCH = 0x01,
    CONNECT_TIMEOUT = 0x02,
    NO_WAITING = 0x03,
    CONNECT_REJECT = 0x04,
    CONCURRENT_REQUESTS = 0x05,
    INVALID_SERVICE_PARM = 0x20,
    SETUP_PROTOCOL_ERROR = 0x21,
    TRANSPORT_ERROR = 0x40,
    PROTOCOL_ERROR = 0x48,
    SETUP_TIMEOUT = 0x49,
    DOES_NOT_EXIST = 0x4A
};

/* Well-known addresses (FC-FS) */
enum { BROADCAST = 0xFFFFFF, F_PORT = 0xFFFFFE, NAME_SERVER = 0xFFFFFC };

/* ---- timers (8.3) ---- */

enum timer_kind {
    TIMER_T0,         /* of a Connectionpoint: VipConnectWait */
    TIMER_SETUP,      /* of a setup: T3 of an originator, T2 of a responder, the wait for login or address */
    TIMER_T1,         /* of a VI: VipConnectRequest, VipConnectPeerRequest */
    TIMER_DISCONNECT, /* of a VI: wait for FCVI_DISCONNECT_RESP */
    TIMER_MISSING,    /* of a VI: frames or Messages that should have come (Annex B rule 7) */
    TIMER_EXCHANGE,   /* of an Exchange: Message Response, ACK, BA_ACC or ELS reply */
    TIMER_LINK,       /* of the port: FLOGI or FAN */
    TIMER_KINDS
};

struct timer {
    uint64_t due;
    uint64_t order; /* ties expire in the order in which they were set */
    uint32_t place; /* in the heap; NONE when it does not run */
};

/* ---- hash tables: buckets of chained indices ---- */

struct table {
    size_t buckets, links; /* offsets of uint32_t arrays */
    uint32_t mask;
};

/* ---- Exchanges (5.4, FC-FS) ---- */

enum exchange_kind {
    X_FREE,
    X_SETUP,      /* owner: a setup */
    X_DISCONNECT, /* owner: a VI */
    X_MESSAGE,    /* owner: a VI; the Message stands in the record of the same number */
    X_LOGIN,      /* an ELS request of ours; owner: a remote port; command says which */
    X_QUERY,      /* GID_IPP; owner: a setup */
    X_ABORTED,    /* ABTS sent, nothing but BA_ACC is expected */
    X_LATE        /* aborted: the OX_ID is not used again for R_A_TOV (E82) */
};

/** Each side counts its own frames (E18, E19). */
struct exchange {
    uint8_t kind;    /* enum exchange_kind */
    uint8_t command; /* of X_LOGIN */
    bool originator;
    bool rx_started; /* a frame of the other side has been seen: rx_cnt is what its next one must have */
    uint16_t ox_id, rx_id;
    uint16_t tx_cnt, rx_cnt;
    uint32_t tx_offset, rx_offset;
    uint32_t owner, peer;
    uint32_t next_free;
    /* class 2: frames sent and not acknowledged, from ack_base on */
    uint16_t ack_base;
    uint8_t seq_id;
    bool sequence_open;
    bool abts_due;            /* aborted, and its ABTS waits in a list through next_free */
    uint64_t unacked, resend; /* bit n: frame ack_base + n; those to be sent again (Annex B rule 8b) */
};

/* ---- Messages ---- */

enum message_phase {
    SENDING,   /* own request: frames are still to be sent */
    AWAIT_ACK, /* class 2: all sent, not all acknowledged */
    AWAIT_RESPONSE,
    RECEIVING, /* request of the other side: frames are still to come, or FCVI_CONNECT_RESP3 (C.5.10) */
    RECEIVED,  /* complete, but an earlier Message is not (Out-of-Order Fabric) */
    RESPONDING /* FCVI_READ_RESP is being sent */
};

enum message_fault { FAULT_NONE, FAULT_QUEUE_EMPTY, FAULT_DESCRIPTOR, FAULT_RDMA };

struct message {
    uint8_t phase;   /* enum message_phase */
    uint8_t op;      /* enum fcvi_op */
    uint8_t fault;   /* enum message_fault */
    bool bound;      /* received: it is settled which receive Descriptor it takes, if any */
    bool immediate;  /* IMM_DATA has been seen */
    bool ended;      /* received: the last frame has come */
    bool final_seen; /* the same of a frame that is held */
    uint32_t vi, id, entry;
    uint32_t total, offset;    /* bytes of the Message; how far sent or, in order, received */
    uint32_t iu_start, iu_end; /* of the Information Unit being sent */
    uint32_t value;            /* Immediate Data */
    uint32_t rmt_va_handle;
    uint64_t rmt_va;
    uint64_t since;      /* when its first frame came: Messages before it were missing from then on */
    uint64_t last_frame; /* when its last frame came */
    uint32_t runs;       /* received, Out-of-Order Fabric: what has come, in order of offset */
    uint32_t next;       /* in the list of its VI */
};

/** Bytes of a Message that have come: [start, end). */
struct run {
    uint32_t start, end, next;
    uint64_t since; /* when it came first, and with it the gap before it */
};

/** A frame kept until it is known which Descriptor its Message takes. */
struct held {
    uint32_t next;
    uint16_t length;
    uint64_t since;
    uint8_t bytes[LONGEST];
};

/* ---- Connection Setup ---- */

enum setup_phase {
    SETUP_FREE,
    /* originator */
    SETUP_AWAIT_LINK,    /* FLOGI or a validation is under way (7.7) */
    SETUP_AWAIT_ADDRESS, /* FARP or GID_IPP is under way (7.4) */
    SETUP_AWAIT_LOGIN,   /* PLOGI is under way */
    SETUP_AWAIT_RESP1,
    SETUP_AWAIT_RESP3,
    SETUP_AWAIT_BA_ACC, /* ABTS sent; a retry follows if the VI still waits for this setup */
    /* responder */
    SETUP_ASSEMBLING, /* FCVI_CONNECT_RQST has begun to arrive */
    SETUP_OFFERED,    /* handed to the application: VipConnectAccept or VipConnectReject is due */
    SETUP_HELD,       /* concurrent Peer: the answer waits for the FCVI_CONNECT_RESP1 to our own request */
    SETUP_AWAIT_RESP2
};

struct setup {
    uint8_t phase; /* enum setup_phase */
    bool originator, peer_mode, retry, listed;
    uint16_t generation; /* of its place in the table: an old conn names no new request */
    uint32_t vi;         /* NONE for a responder that has none */
    uint32_t exchange, peer;
    uint32_t connection_id;
    uint32_t local_handle, remote_handle;
    uint32_t next_free;
    uint8_t reason;                    /* with which it was refused, 0 for an accept */
    struct fcvi_address local, remote; /* addresses of the two Connectionpoints */
    struct fcvi_attributes attributes; /* ours, as the other side is told them */
    struct fcvi_attributes remote_attributes;
    uint32_t received; /* bytes in buffer */
    uint8_t flags;     /* FCVI_FLAGS of the IU being assembled */
    uint8_t reason_in; /* its Reason Code, 0 without CONN_STS */
    uint8_t buffer[CONNECT_LENGTH];
};

/** A Connectionpoint: one VipConnectWait that has not returned. */
struct point {
    uint64_t token;
    uint32_t next_free;
    struct fcvi_address local;
};

/* ---- endpoints ---- */

enum entry_state { ENTRY_POSTED, ENTRY_FINISHED, ENTRY_DONE };

/** A posted Descriptor. */
struct entry {
    uint8_t state, op; /* enum entry_state, enum fcvi_op */
    uint8_t segments;
    bool has_immediate, fence;
    bool begun;    /* its Message counts among the open ones (7.3) */
    uint8_t fault; /* status bit with which it will complete: malformed, or a wrong length */
    uint32_t immediate;
    uint32_t length; /* sum of the segments */
    uint32_t first;  /* segment node */
    uint32_t next;
    uint32_t remote_handle, msg_id;
    uint64_t remote_va;
    struct fcvi_completion completion;
};

struct segment_node {
    struct fcvi_segment segment;
    uint32_t next;
};

/** A work queue: entries in posting order. */
struct queue {
    uint32_t head, tail, count;
    uint32_t fresh;   /* the first that nothing has taken */
    uint32_t pending; /* the first that has not completed */
};

/** What is remembered of a connection, also after it ended (D.2: a late FCVI_DISCONNECT_RQST is answered). */
struct connection {
    bool known;       /* the handles below are those of a connection or setup, and in the tables of parties */
    bool established; /* a Disconnect aborts a connection, not a setup */
    bool receiving;   /* Messages are accepted (C.5.5); false is Herr (Annex B rule 1) */
    bool confirmed;   /* send Descriptors may complete (C.5.1) */
    bool originator;  /* it came from our own FCVI_CONNECT_RQST */
    uint8_t failure;  /* the Reason Code that a Disconnect gives, 0 for none */
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

enum disconnect_phase { DISCONNECT_NONE, DISCONNECT_AWAIT_RESP };
enum peer_phase { PEER_NONE, PEER_PENDING, PEER_DONE };

struct peer_call {
    uint8_t phase; /* enum peer_phase; while PEER_PENDING it stands in the table of Connectionpoints */
    bool waiting;  /* a VipConnectPeerWait has not returned */
    int vip;
    uint64_t token;
    struct fcvi_attributes remote_attributes;
};

struct vi {
    bool used;
    uint8_t state;      /* enum fcvi_vi_state */
    uint8_t disconnect; /* enum disconnect_phase */
    bool blocked;       /* a VipConnectRequest or VipConnectAccept has not returned */
    bool ready;         /* it stands in the ring of VIs that have something to send */
    bool starved;       /* it stands in the list of those that wait for an Exchange */
    uint32_t next_free, ring_next, ring_previous, starved_next;
    uint32_t local_handle; /* FCVI_HANDLE of its own request for a connection */
    uint32_t generation;
    uint64_t generation_ended; /* when the last handle of the count was given out */
    uint64_t token;            /* of the blocked connect call */
    uint64_t disconnect_token; /* of VipDisconnect */
    uint32_t setup;            /* own request in progress, NONE */
    uint32_t inbound;          /* request of the other side that this VI accepted or holds, NONE */
    uint32_t disconnect_exchange;
    struct fcvi_attributes attributes;
    struct connection connection;
    struct peer_call peer;
    struct queue send, recv;
    struct sender tx;
    struct receiver rx;
    struct fcvi_address local, remote; /* of a Peer request */
};

struct region {
    bool used;
    uint32_t generation;
    size_t offset; /* in the memory arena; of the host's memory: 0 */
    struct fcvi_region spec;
};

struct control_frame {
    uint16_t length;
    uint8_t sof, eof;
    uint32_t next;
    uint8_t bytes[CONTROL_FRAME];
};

/** A port we know of, and whether it is logged in with usable service parameters (5.6). */
struct remote_port {
    bool used, logged_in, usable;
    bool suspended; /* after a LIP, until ADISC has validated it (7.7.3) */
    uint32_t id, next_free;
    uint32_t login; /* Exchange of our PLOGI or ADISC, NONE */
    uint32_t receive_size;
    uint64_t port_name, node_name;
};

/** <Host Address, N_Port Identifier> (7.4, 7.7). */
struct mapping {
    bool used;
    uint32_t id;
    uint8_t host[16];
};

enum link_state { LINK_UP, LINK_AWAIT_FLOGI, LINK_AWAIT_FAN, LINK_DOWN };

struct fcvi_port {
    struct fcvi_port_limits limits;
    struct fcvi_port_config config;
    uint64_t now;
    uint64_t timer_order;
    uint32_t heap_count;
    uint32_t next_connection_id;
    uint16_t next_ox_id, rx_id_base;
    uint8_t next_seq_id, open_sequences; /* class 2: of Messages */
    uint8_t handle_bits;                 /* of a FCVI_HANDLE that number the VI */
    uint8_t link;                        /* enum link_state */
    bool fabric_known;
    bool changed;    /* since the last FLOGI: the identifier by a LIP, or the Fabric by its FAN (7.7.4) */
    uint32_t lip_id; /* the identifier that the last LIP gave */
    uint64_t fabric_port_name, fabric_node_name; /* from FLOGI, to be compared later (7.7.4, 7.7.5) */
    uint32_t own_id;
    uint64_t seq_ids[4]; /* class 2: SEQ_IDs of Sequences that are open (5.5) */
    uint32_t events_head, events_count;
    uint32_t control_head, control_tail, control_free, control_count;
    uint32_t abts_due; /* aborted Exchanges whose ABTS has found no room yet */
    uint32_t ready;    /* ring of VIs that have something to send */
    uint32_t starved;  /* VIs that wait for an Exchange */
    uint32_t free_vi, free_setup, free_point, free_entry, free_segment, free_held, free_run, free_remote;
    uint32_t free_x_head, free_x_tail; /* Exchange records, longest unused first */
    struct fcvi_port_counts used;
    struct table by_exchange, by_connection_id, by_handle, by_point, by_port, by_host;
    uint32_t next_mapping; /* the Host Address that makes room next */
    /* offsets of the arrays behind this structure */
    size_t vis, setups, points, exchanges, messages, regions, entries, segments, runs, held, events, timers,
        heap, control, remotes, mappings, ox_bits, memory;
};

#define ARRAY(port, type, member, index) (((type *)(void *)((uint8_t *)(port) + (port)->member)) + (index))
/* Behind each array lies another one of the same block, where the sanitizers see nothing wrong. */
#ifdef __SANITIZE_ADDRESS__
#define IN_BOUNDS(i, count) ((i) < (count) ? (i) : (__builtin_trap(), 0u))
#else
#define IN_BOUNDS(i, count) (i)
#endif
#define AT(name, type, array, count)                                                                         \
    static inline type *name(struct fcvi_port *p, uint32_t i)                                                \
    {                                                                                                        \
        return ARRAY(p, type, array, IN_BOUNDS(i, p->limits.count));                                         \
    }
AT(vi_at, struct vi, vis, vis)
AT(setup_at, struct setup, setups, setups)
AT(point_at, struct point, points, connectionpoints)
AT(exchange_at, struct exchange, exchanges, exchanges)
AT(message_at, struct message, messages, exchanges)
AT(region_at, struct region, regions, regions)
AT(entry_at, struct entry, entries, entries)
AT(segment_at, struct segment_node, segments, segments)
AT(run_at, struct run, runs, runs)
AT(held_at, struct held, held, held_frames)
AT(remote_at, struct remote_port, remotes, remote_ports)
#undef AT
static inline struct mapping *mapping_at(struct fcvi_port *p, uint32_t i)
{
    return ARRAY(p, struct mapping, mappings, IN_BOUNDS(i, p->limits.remote_ports * FCVI_MAX_HOSTS));
}
static inline struct control_frame *control_at(struct fcvi_port *p, uint32_t i)
{
    return ARRAY(p, struct control_frame, control, i);
}

static inline uint32_t vi_index(struct fcvi_port *p, const struct vi *vi)
{
    return (uint32_t)(vi - vi_at(p, 0));
}
static inline uint32_t setup_index(struct fcvi_port *p, const struct setup *s)
{
    return (uint32_t)(s - setup_at(p, 0));
}
static inline uint32_t exchange_index(struct fcvi_port *p, const struct exchange *x)
{
    return (uint32_t)(x - exchange_at(p, 0));
}
static inline uint32_t remote_index(struct fcvi_port *p, const struct remote_port *r)
{
    return (uint32_t)(r - remote_at(p, 0));
}
/* FFxxxxh are well-known addresses and those that FC-FS keeps back */
static inline bool is_n_port_id(uint32_t id)
{
    return id != 0 && id < 0xFF0000;
}
static inline bool class2(const struct fcvi_port *p)
{
    return p->config.service_class == 2;
}
static inline bool reliable(const struct vi *vi)
{
    return vi->attributes.reliability != FCVI_UNRELIABLE;
}

/* layout.c */
bool fcvi_port_limits_valid(const struct fcvi_port_limits *limits);
void fcvi_port_layout_place(struct fcvi_port *p);
void fcvi_port_layout_clear(struct fcvi_port *p);

/* table.c */
uint32_t fcvi_table_hash(uint64_t a, uint64_t b);
uint32_t fcvi_table_first(struct fcvi_port *p, const struct table *t, uint32_t hash);
uint32_t fcvi_table_next(struct fcvi_port *p, const struct table *t, uint32_t index);
void fcvi_table_add(struct fcvi_port *p, const struct table *t, uint32_t hash, uint32_t index);
void fcvi_table_remove(struct fcvi_port *p, const struct table *t, uint32_t hash, uint32_t index);

/* timers.c */
uint32_t fcvi_timers_needed(const struct fcvi_port_limits *limits);
void fcvi_timer_start(struct fcvi_port *p, enum timer_kind kind, uint32_t index, uint64_t us);
void fcvi_timer_stop(struct fcvi_port *p, enum timer_kind kind, uint32_t index);
bool fcvi_timer_next(struct fcvi_port *p, uint64_t now, enum timer_kind *kind, uint32_t *index);

/* events.c */
struct fcvi_event *fcvi_event_new(struct fcvi_port *p, enum fcvi_event_kind kind);
void fcvi_event_call(struct fcvi_port *p, uint64_t token, int vip);
void fcvi_event_error(struct fcvi_port *p, uint32_t vi, enum fcvi_vip_error code);
void fcvi_vi_set_state(struct fcvi_port *p, struct vi *vi, enum fcvi_vi_state state);
void fcvi_vi_connect_done(struct fcvi_port *p, struct vi *vi, int vip, const struct fcvi_attributes *remote);

/* exchange.c: identifiers, tables, abort */
struct exchange *fcvi_fc2_exchange_open(struct fcvi_port *p, enum exchange_kind kind, uint32_t owner,
                                        uint32_t peer);
struct exchange *fcvi_fc2_exchange_accept(struct fcvi_port *p, enum exchange_kind kind, uint32_t owner,
                                          const struct fcvi_frame *f);
struct exchange *fcvi_fc2_exchange_find(struct fcvi_port *p, bool originator, uint32_t peer, uint16_t ox_id);
struct exchange *fcvi_fc2_exchange_of(struct fcvi_port *p, const struct fcvi_frame *f);
bool fcvi_fc2_exchanges_left(const struct fcvi_port *p);
void fcvi_fc2_exchange_ids_clear(struct fcvi_port *p);
void fcvi_fc2_exchange_free(struct fcvi_port *p, uint32_t index);
void fcvi_fc2_exchange_abort(struct fcvi_port *p, uint32_t index);
void fcvi_fc2_exchange_abts_due(struct fcvi_port *p);
void fcvi_fc2_exchange_late(struct fcvi_port *p, uint32_t index);
void fcvi_fc2_exchange_timeout(struct fcvi_port *p, struct exchange *x);
bool fcvi_fc2_sequence_ok(struct exchange *x, const struct fcvi_frame *f);
uint16_t fcvi_fc2_transient_rx_id(struct fcvi_port *p);

/* frames.c */
struct iu {
    enum fcvi_iu iu;
    struct exchange *exchange;
    uint32_t handle, connection_id, msg_id;
    uint8_t flags, reason;
    const uint8_t *payload;
    uint32_t payload_length;
};
void fcvi_fc2_send_iu(struct fcvi_port *p, const struct iu *iu);
void fcvi_fc2_send_response(struct fcvi_port *p, struct exchange *x, const struct message *m, uint32_t handle,
                            uint8_t flags);
void fcvi_fc2_send_abts(struct fcvi_port *p, const struct exchange *x);
void fcvi_fc2_send_ba_acc(struct fcvi_port *p, const struct fcvi_frame *abts);
uint8_t *fcvi_fc2_control_new(struct fcvi_port *p, uint16_t length, uint8_t eof);
size_t fcvi_fc2_control_next(struct fcvi_port *p, uint8_t *out, struct fcvi_transmitted *meta);
void fcvi_fc2_control_drop(struct fcvi_port *p, uint32_t d_id);
void fcvi_fc2_put_header(struct fcvi_port *p, uint8_t *out, uint8_t r_ctl, uint8_t type, uint32_t d_id);
void fcvi_fc2_put_exchange(uint8_t *out, const struct exchange *x, uint16_t count);
uint8_t fcvi_fc2_opcode_of(enum fcvi_iu iu, uint8_t *r_ctl);
void fcvi_fc2_class3_frame(uint8_t *frame);
uint8_t fcvi_fc2_sof_of(const struct fcvi_port *p, bool initiates);
uint8_t fcvi_fc2_eof_of(const struct fcvi_port *p, bool ends);
uint32_t fcvi_fc2_room_for(struct fcvi_port *p, uint32_t peer);

/* class2.c: ACK, busy and reject (Annex B rules 8) */
uint8_t *fcvi_fc2_ack(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_fc2_ack_abort(uint8_t *ack);
void fcvi_fc2_sequence_failed(struct fcvi_port *p, struct exchange *x);
void fcvi_fc2_link_control_receive(struct fcvi_port *p, const struct fcvi_frame *f);
bool fcvi_fc2_credit_left(const struct fcvi_port *p, const struct exchange *x);
void fcvi_fc2_frame_sent(struct fcvi_port *p, struct exchange *x, uint16_t count);
uint8_t fcvi_fc2_seq_id_new(struct fcvi_port *p);
bool fcvi_fc2_sequences_left(const struct fcvi_port *p);
bool fcvi_fc2_sequence_open(struct fcvi_port *p, struct exchange *x);
void fcvi_fc2_sequence_close(struct fcvi_port *p, struct exchange *x);

/* connect_payload.c */
uint32_t fcvi_setup_put_payload(const struct fcvi_port *p, uint8_t *out, const struct setup *s);
bool fcvi_setup_take_payload(struct setup *s);
bool fcvi_vi_address_valid(const struct fcvi_address *a);
bool fcvi_vi_address_is_own(const struct fcvi_port *p, const struct fcvi_address *a);

/* originator.c: 5.3.2, 8.5.3, 8.5.4, C rules 2 to 5 */
void fcvi_originator_begin(struct fcvi_port *p, struct setup *s);
void fcvi_originator_unreachable(struct fcvi_port *p, struct setup *s);
void fcvi_originator_resp1(struct fcvi_port *p, struct setup *s);
void fcvi_originator_resp3(struct fcvi_port *p, struct setup *s);
void fcvi_originator_failed(struct fcvi_port *p, struct setup *s);
void fcvi_originator_aborted(struct fcvi_port *p, struct setup *s);
void fcvi_originator_timeout(struct fcvi_port *p, struct setup *s);
void fcvi_originator_t1(struct fcvi_port *p, struct vi *vi);

/* responder.c: 5.3.2, 8.5.3 d, C rules 6 and 8 to 12 */
void fcvi_responder_rqst(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_responder_resp2(struct fcvi_port *p, struct setup *s, const struct fcvi_frame *f);
void fcvi_responder_t0(struct fcvi_port *p, uint32_t point);
void fcvi_responder_t2(struct fcvi_port *p, struct setup *s);
void fcvi_responder_accept(struct fcvi_port *p, struct setup *s, struct vi *vi);
void fcvi_responder_refuse(struct fcvi_port *p, struct setup *s, enum reason reason);

/* peer.c: 5.3.3, 5.3.4, Table 2, Annex A */
struct vi *fcvi_peer_match(struct fcvi_port *p, const struct setup *s);
void fcvi_peer_request(struct fcvi_port *p, struct setup *s, struct vi *vi);
void fcvi_peer_answer(struct fcvi_port *p, struct vi *vi, enum reason reason);
bool fcvi_peer_taken(const struct vi *vi);
bool fcvi_peer_won(struct fcvi_port *p, const struct setup *s, const struct vi *vi);
int fcvi_vi_attributes_match(const struct fcvi_attributes *a, const struct fcvi_attributes *b);

/* setup.c */
uint32_t fcvi_setup_conn_of(struct fcvi_port *p, const struct setup *s);
struct setup *fcvi_setup_offered(struct fcvi_port *p, uint32_t conn);
struct setup *fcvi_setup_new(struct fcvi_port *p);
void fcvi_setup_free(struct fcvi_port *p, struct setup *s);
void fcvi_setup_list(struct fcvi_port *p, struct setup *s);
void fcvi_setup_unlist(struct fcvi_port *p, struct setup *s);
void fcvi_setup_receive(struct fcvi_port *p, const struct fcvi_frame *f);

/* points.c: Connectionpoints and how a request finds its own (4.2, VI-DG 6.7) */
uint32_t fcvi_point_count(const struct fcvi_port *p);
void fcvi_point_list(struct fcvi_port *p, uint32_t index, const struct fcvi_address *a);
void fcvi_point_unlist(struct fcvi_port *p, uint32_t index, const struct fcvi_address *a);
struct point *fcvi_point_match(struct fcvi_port *p, const struct setup *s);
uint32_t fcvi_point_hash(const struct fcvi_address *a);
bool fcvi_point_same_discriminator(const struct fcvi_address *a, const struct fcvi_address *b);

/* disconnect.c: 6.12, 6.13, 8.6, Annex D */
int fcvi_disconnect_start(struct fcvi_port *p, struct vi *vi, uint64_t token);
void fcvi_disconnect_rqst(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_disconnect_resp(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f);
void fcvi_disconnect_timeout(struct fcvi_port *p, struct vi *vi);
void fcvi_disconnect_abandon(struct fcvi_port *p, struct vi *vi);

/* connection.c */
void fcvi_connection_begin(struct fcvi_port *p, struct vi *vi, const struct setup *s);
void fcvi_connection_rename(struct fcvi_port *p, struct vi *vi, uint32_t connection_id);
void fcvi_connection_forget(struct fcvi_port *p, struct vi *vi);
void fcvi_connection_fail(struct fcvi_port *p, struct vi *vi, bool notify);
struct vi *fcvi_connection_of_handle(struct fcvi_port *p, uint32_t handle, uint32_t peer);
bool fcvi_connection_new_handle(struct fcvi_port *p, struct vi *vi, uint32_t *handle);
uint32_t fcvi_connection_party_find(struct fcvi_port *p, bool by_id, uint32_t peer, uint32_t value,
                                    uint32_t after);

/* queues.c */
struct entry *fcvi_vi_queue_head(struct fcvi_port *p, const struct queue *q);
struct entry *fcvi_vi_queue_take(struct fcvi_port *p, struct queue *q);
void fcvi_vi_entry_finish(struct fcvi_port *p, struct vi *vi, bool recv, struct entry *e, uint32_t status,
                          uint32_t length);
void fcvi_vi_release(struct fcvi_port *p, struct vi *vi, bool recv);
void fcvi_vi_flush_queue(struct fcvi_port *p, struct vi *vi, bool recv);
void fcvi_vi_flush(struct fcvi_port *p, struct vi *vi);

/* descriptor.c: the memory that a Descriptor names */
bool fcvi_vi_descriptor_in_memory(struct fcvi_port *p, const struct vi *vi, const struct entry *e);
void fcvi_vi_descriptor_place(struct fcvi_port *p, const struct entry *e, uint32_t offset,
                              const uint8_t *bytes, uint32_t length);
void fcvi_vi_descriptor_fetch(struct fcvi_port *p, const struct entry *e, uint32_t offset, uint8_t *bytes,
                              uint32_t length);

/* memory.c */
uint8_t *fcvi_vi_remote_memory(struct fcvi_port *p, const struct vi *vi, const struct message *m,
                               uint32_t offset, uint32_t length);

/* scheduler.c: whose turn it is */
void fcvi_schedule_wake(struct fcvi_port *p, struct vi *vi);
void fcvi_schedule_wake_starved(struct fcvi_port *p);
void fcvi_schedule_forget(struct fcvi_port *p, struct vi *vi);
void fcvi_schedule_starve(struct fcvi_port *p, struct vi *vi);
size_t fcvi_schedule_frame(struct fcvi_port *p, uint8_t *out, struct fcvi_transmitted *meta);

/* message_tx.c: the originator of a Message (5.2, 6.2, 6.4, 6.6, Annex E) */
size_t fcvi_message_frame(struct fcvi_port *p, struct vi *vi, uint8_t *out, struct fcvi_transmitted *meta);
void fcvi_message_sent(struct fcvi_port *p, struct vi *vi, struct exchange *x);
void fcvi_message_release_sent(struct fcvi_port *p, struct vi *vi);
void fcvi_message_drop_all(struct fcvi_port *p, struct vi *vi);
void fcvi_message_closed(struct fcvi_port *p, struct vi *vi, struct exchange *x);

/* message_data.c: frames with Message Data (5.8, 5.9) */
size_t fcvi_message_data_frame(struct fcvi_port *p, struct vi *vi, struct exchange *x, uint8_t *out,
                               struct fcvi_transmitted *meta);
size_t fcvi_message_data_again(struct fcvi_port *p, struct vi *vi, struct exchange *x, uint8_t *out,
                               struct fcvi_transmitted *meta);

/* message_response.c: Message Responses at the originator, and their absence (8.4.1 a, Annex B rule 9) */
void fcvi_message_response_receive(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f);
void fcvi_message_response_missing(struct fcvi_port *p, struct exchange *x);

/* message_rx.c: the responder of a Message, on an In-Order Fabric (Annex B rules 1 to 7) */
bool fcvi_message_receive(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_message_error(struct fcvi_port *p, struct vi *vi, struct exchange *x, uint8_t reason, bool notify);
void fcvi_message_lost(struct fcvi_port *p, struct vi *vi, struct exchange *x);
void fcvi_message_missing(struct fcvi_port *p, struct vi *vi);
void fcvi_message_aborted(struct fcvi_port *p, struct exchange *x);

/* message_place.c: where the data of a received Message go, and how it completes (5.9.7.3, VI-ARCH 2.5) */
struct exchange *fcvi_message_rx_begin(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f);
void fcvi_message_rx_bind(struct fcvi_port *p, struct vi *vi, struct message *m);
bool fcvi_message_rx_fits(const struct message *m, const struct fcvi_frame *f);
void fcvi_message_rx_place(struct fcvi_port *p, struct vi *vi, struct message *m, uint32_t offset,
                           const uint8_t *bytes, uint32_t length);
bool fcvi_message_rx_final(const struct fcvi_frame *f);
void fcvi_message_rx_note(struct message *m, const struct fcvi_frame *f);
void fcvi_message_rx_done(struct fcvi_port *p, struct vi *vi, struct exchange *x);
void fcvi_message_rx_confirmed(struct fcvi_port *p, struct vi *vi);

/* message_order.c, runs.c: Messages and frames on an Out-of-Order Fabric (Annex B rules 4c, 5b, 6e, 7) */
bool fcvi_message_order_receive(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f);
void fcvi_message_order_timeout(struct fcvi_port *p, struct vi *vi);
void fcvi_message_order_drop_held(struct fcvi_port *p, struct vi *vi);
bool fcvi_message_run_add(struct fcvi_port *p, struct message *m, uint32_t start, uint32_t end);
bool fcvi_message_run_whole(struct fcvi_port *p, const struct message *m);
uint64_t fcvi_message_run_gap(struct fcvi_port *p, const struct message *m);
void fcvi_message_run_drop(struct fcvi_port *p, struct message *m);

/* list.c */
void fcvi_message_list_insert(struct fcvi_port *p, struct list *list, uint32_t after, uint32_t exchange);
void fcvi_message_list_append(struct fcvi_port *p, struct list *list, uint32_t exchange);
void fcvi_message_list_remove(struct fcvi_port *p, struct list *list, uint32_t exchange);

/* message_read.c: FCVI_READ_RQST at the responder (6.6, 6.7) */
void fcvi_message_read_start(struct fcvi_port *p, struct vi *vi, struct exchange *x);
void fcvi_message_read_sent(struct fcvi_port *p, struct vi *vi, struct exchange *x);
void fcvi_message_read_refused(struct fcvi_port *p, struct vi *vi, struct exchange *x);

/* remote.c: known ports and where a Host Address is (7.4) */
struct remote_port *fcvi_fc2_remote_find(struct fcvi_port *p, uint32_t id);
struct remote_port *fcvi_fc2_remote_get(struct fcvi_port *p, uint32_t id);
bool fcvi_fc2_host_find(struct fcvi_port *p, const uint8_t *host, uint32_t *id);
void fcvi_fc2_host_add(struct fcvi_port *p, const uint8_t *host, uint32_t id);
void fcvi_fc2_hosts_forget(struct fcvi_port *p, uint32_t id);

/* login.c: N_Port Login (5.6) and logout (7.7.1) */
void fcvi_fc2_put_fabric_parameters(const struct fcvi_port *p, uint8_t *out);
void fcvi_fc2_put_service_parameters(const struct fcvi_port *p, uint8_t *out);
uint8_t *fcvi_fc2_els_request(struct fcvi_port *p, struct remote_port *r, uint8_t command, uint16_t payload);
uint8_t *fcvi_fc2_els_reply(struct fcvi_port *p, const struct fcvi_frame *f, uint8_t command,
                            uint16_t payload);
void fcvi_fc2_els_reject(struct fcvi_port *p, const struct fcvi_frame *f, uint8_t reason,
                         uint8_t explanation);
void fcvi_fc2_login_start(struct fcvi_port *p, uint32_t id);
void fcvi_fc2_login_request(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_fc2_login_reply(struct fcvi_port *p, struct remote_port *r, const struct fcvi_frame *f);
void fcvi_fc2_login_timeout(struct fcvi_port *p, struct exchange *x);
void fcvi_fc2_login_forget(struct fcvi_port *p, struct remote_port *r);
void fcvi_fc2_logout(struct fcvi_port *p, uint32_t id);
void fcvi_fc2_logout_explicit(struct fcvi_port *p, struct remote_port *r);
void fcvi_fc2_logout_request(struct fcvi_port *p, const struct fcvi_frame *f);

/* els.c */
void fcvi_fc2_els_receive(struct fcvi_port *p, const struct fcvi_frame *f);

/* resolve.c: FARP (7.5) and GID_IPP (7.6) */
void fcvi_fc2_resolve(struct fcvi_port *p, struct setup *s);
void fcvi_fc2_resolve_name_server(struct fcvi_port *p, bool logged_in);
void fcvi_fc2_name_server_forgets(struct fcvi_port *p);
void fcvi_fc2_farp_request(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_fc2_farp_reply(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_fc2_ct_receive(struct fcvi_port *p, const struct fcvi_frame *f);

/* state_change.c: RSCN (7.7.1, 7.7.5) */
void fcvi_fc2_state_change(struct fcvi_port *p, const struct fcvi_frame *f);

/* link.c: FLOGI, FAN, ADISC and link events (7.7) */
void fcvi_fc2_link_start(struct fcvi_port *p);
void fcvi_fc2_flogi_reply(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_fc2_link_timeout(struct fcvi_port *p);
void fcvi_fc2_fan_receive(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_fc2_adisc_reply(struct fcvi_port *p, struct remote_port *r, const struct fcvi_frame *f);
void fcvi_fc2_adisc_timeout(struct fcvi_port *p, struct remote_port *r);
void fcvi_fc2_adisc_request(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_fc2_link_ready(struct fcvi_port *p);
void fcvi_fc2_remote_validate(struct fcvi_port *p, struct remote_port *r);
bool fcvi_fc2_may_send_to(struct fcvi_port *p, uint32_t id);

/* port.c */
void fcvi_port_receive_frame(struct fcvi_port *p, const struct fcvi_input *frame, bool own);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
