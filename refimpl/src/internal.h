/* The port's state and what its files share. One block, indices instead of pointers (snapshots). */
#ifndef FCVI_PORT_INTERNAL_H
#define FCVI_PORT_INTERNAL_H

#include <fcvi/port.h>
#include <string.h>

enum { NONE = UINT32_MAX };
enum { CONTROL_FRAME = 24 + 32 + 340, CONNECT_BUFFER = 340 + 256, REMOTE_PORTS = 8 };

/* ---- timers (8.3) ---- */

enum timer_kind {
    TIMER_T0,         /* VipConnectWait */
    TIMER_T1,         /* VipConnectRequest */
    TIMER_SETUP,      /* T3 of an originator, T2 of a responder, or the wait for BA_ACC */
    TIMER_DISCONNECT, /* wait for FCVI_DISCONNECT_RESP, or for BA_ACC after it */
    TIMER_KINDS
};

struct timer {
    uint64_t due;
    uint64_t order; /* ties expire in the order in which they were set */
    uint32_t place; /* in the heap; NONE when it does not run */
};

/* ---- Exchanges ---- */

/** One Exchange of a Connection Setup or a Disconnect. Each side counts its own frames (E18, E19). */
struct exchange {
    bool open, originator;
    bool rx_started; /* a frame of the other side has been seen: rx_cnt is what its next one must have */
    uint32_t peer;   /* N_Port Identifier of the other side */
    uint16_t ox_id, rx_id;
    uint16_t tx_cnt, rx_cnt;
    uint32_t tx_offset, rx_offset;
};

/* ---- Connection Setup ---- */

enum setup_phase {
    SETUP_FREE,
    /* originator */
    SETUP_AWAIT_LOGIN, /* PLOGI is under way */
    SETUP_AWAIT_RESP1,
    SETUP_AWAIT_RESP3,
    SETUP_AWAIT_BA_ACC, /* ABTS sent; with `retry_next` a retry follows */
    /* responder */
    SETUP_ASSEMBLING, /* FCVI_CONNECT_RQST has begun to arrive */
    SETUP_OFFERED,    /* handed to the application: VipConnectAccept or VipConnectReject is due */
    SETUP_AWAIT_RESP2
};

struct setup {
    uint8_t phase; /* enum setup_phase */
    bool originator, retry, refused, retry_next, aborted_by_peer;
    uint32_t vi; /* NONE for a responder that has none */
    uint32_t connection_id;
    uint32_t local_handle, remote_handle;
    uint8_t reason; /* with refused */
    struct exchange exchange;
    struct fcvi_address local, remote; /* addresses of the two Connectionpoints */
    struct fcvi_attributes remote_attributes;
    uint32_t received; /* bytes in buffer */
    uint8_t flags;     /* FCVI_FLAGS of the IU being assembled */
    uint8_t reason_in; /* its Reason Code, 0 without CONN_STS */
    uint8_t buffer[CONNECT_BUFFER];
};

/** A Connectionpoint: one VipConnectWait that has not returned. */
struct point {
    bool used;
    uint64_t token;
    struct fcvi_address local;
};

/* ---- endpoints ---- */

enum entry_state { ENTRY_POSTED, ENTRY_SENT, ENTRY_DONE };

struct entry {
    uint8_t state; /* enum entry_state */
    struct fcvi_descriptor descriptor;
    struct fcvi_completion completion;
};

struct queue {
    uint32_t head, count; /* ring of limits.descriptors entries */
};

/** What is remembered of a connection, also after it ended (D.2: a late FCVI_DISCONNECT_RQST is answered). */
struct connection {
    bool known;       /* the handles below are those of a connection or setup */
    bool established; /* a Disconnect aborts a connection, not a setup */
    bool receiving;   /* Messages are accepted (C.5.5) */
    bool confirmed;   /* send Descriptors may complete (C.5.1) */
    bool originator;  /* this side sent FCVI_CONNECT_RQST */
    bool timed_out;   /* an IU of the setup never came: the reason given in a Disconnect */
    uint32_t peer;
    uint32_t local_handle, remote_handle, connection_id;
};

struct sender {
    uint32_t next_msg_id;
    uint32_t offset; /* of the data of the Descriptor being sent */
    uint8_t seq_id;
    uint16_t seq_cnt, ox_id;
    bool active;
    uint32_t last_completed;
};

/** Receive side of Unreliable Delivery (Annex B, In-Order Fabric). */
struct receiver {
    uint32_t expected; /* Mexp */
    uint16_t seq_cnt;  /* SCexp */
    uint32_t offset, total;
    bool active;  /* a Message is open: its first frame has been processed */
    bool placing; /* its data go to the head receive Descriptor */
    bool too_long;
    uint32_t last_completed;
};

enum disconnect_phase { DISCONNECT_NONE, DISCONNECT_AWAIT_RESP, DISCONNECT_AWAIT_BA_ACC };

struct vi {
    bool used;
    uint8_t state;      /* enum fcvi_vi_state */
    uint8_t disconnect; /* enum disconnect_phase */
    bool blocked;       /* a VipConnectRequest or VipConnectAccept has not returned */
    uint16_t generation;
    uint64_t token;            /* of the blocked connect call */
    uint64_t disconnect_token; /* of VipDisconnect */
    uint32_t setup;            /* of the setup in progress, NONE */
    struct fcvi_attributes attributes;
    struct connection connection;
    struct exchange disconnect_exchange;
    struct queue send, recv;
    struct sender tx;
    struct receiver rx;
};

struct region {
    bool used;
    uint32_t offset, length; /* in the memory arena */
};

struct control_frame {
    uint16_t length;
    uint8_t sof, eof;
    uint8_t bytes[CONTROL_FRAME];
};

/** A port we know of, and whether it is logged in with usable service parameters (5.6). */
struct remote_port {
    bool used, logged_in, usable;
    bool plogi_sent;
    uint32_t id;
    uint16_t plogi_ox_id;
};

struct fcvi_port {
    struct fcvi_port_limits limits;
    struct fcvi_port_config config;
    uint64_t now;
    uint64_t timer_order;
    uint32_t heap_count;
    uint32_t next_connection_id;
    uint16_t next_ox_id, next_rx_id;
    uint8_t next_seq_id;
    uint32_t next_sender; /* VI whose turn it is to send data */
    uint32_t events_head, events_count, events_lost;
    uint32_t control_head, control_count, control_size;
    struct remote_port remote[REMOTE_PORTS];
    /* offsets of the arrays behind this structure */
    size_t vis, setups, points, regions, entries, events, timers, heap, control, memory;
};

#define ARRAY(port, type, member, index) (((type *)(void *)((uint8_t *)(port) + (port)->member)) + (index))
static inline struct vi *vi_at(struct fcvi_port *p, uint32_t i)
{
    return ARRAY(p, struct vi, vis, i);
}
static inline struct setup *setup_at(struct fcvi_port *p, uint32_t i)
{
    return ARRAY(p, struct setup, setups, i);
}
static inline struct point *point_at(struct fcvi_port *p, uint32_t i)
{
    return ARRAY(p, struct point, points, i);
}
static inline struct region *region_at(struct fcvi_port *p, uint32_t i)
{
    return ARRAY(p, struct region, regions, i);
}

static inline uint32_t vi_index(struct fcvi_port *p, const struct vi *vi)
{
    return (uint32_t)(vi - vi_at(p, 0));
}
static inline uint32_t setup_index(struct fcvi_port *p, const struct setup *s)
{
    return (uint32_t)(s - setup_at(p, 0));
}
static inline uint32_t setup_count(const struct fcvi_port *p)
{
    return p->limits.vis + p->limits.connectionpoints;
}

/* timers.c */
uint32_t timers_needed(const struct fcvi_port_limits *limits);
void timer_start(struct fcvi_port *p, enum timer_kind kind, uint32_t index, uint64_t us);
void timer_stop(struct fcvi_port *p, enum timer_kind kind, uint32_t index);
bool timer_next(struct fcvi_port *p, uint64_t now, enum timer_kind *kind, uint32_t *index);

/* events.c */
struct fcvi_event *event_new(struct fcvi_port *p, enum fcvi_event_kind kind);
void event_call(struct fcvi_port *p, uint64_t token, int vip);
void event_error(struct fcvi_port *p, uint32_t vi, enum fcvi_vip_error code);
void set_state(struct fcvi_port *p, struct vi *vi, enum fcvi_vi_state state);
void finish_connect(struct fcvi_port *p, struct vi *vi, int vip);

/* frames.c */
struct iu {
    enum fcvi_iu iu;
    struct exchange *exchange;
    uint32_t handle, connection_id, msg_id;
    uint8_t flags, reason;
    const uint8_t *payload;
    uint32_t payload_length;
};
void send_iu(struct fcvi_port *p, const struct iu *iu);
void send_abts(struct fcvi_port *p, const struct exchange *x);
void send_ba_acc(struct fcvi_port *p, const struct fcvi_frame *abts);
uint8_t *control_new(struct fcvi_port *p, uint16_t length, uint8_t eof);
void put_header(struct fcvi_port *p, uint8_t *out, uint8_t r_ctl, uint8_t type, uint32_t d_id);
struct exchange exchange_open(struct fcvi_port *p, uint32_t peer);
uint16_t new_seq_id(struct fcvi_port *p);

/* connect_payload.c */
uint32_t put_connect(uint8_t *out, const struct fcvi_address *local, const struct fcvi_address *remote,
                     const struct fcvi_attributes *attributes, uint32_t handle);
bool take_connect(struct setup *s);
bool address_valid(const struct fcvi_address *a);
bool address_is_own(const struct fcvi_port *p, const struct fcvi_address *a);

/* originator.c: 5.3.2, 8.5.3, 8.5.4, C rules 2 to 5 */
void originator_begin(struct fcvi_port *p, struct setup *s);
void originator_unreachable(struct fcvi_port *p, struct setup *s);
void originator_start(struct fcvi_port *p, struct setup *s);
void originator_resp1(struct fcvi_port *p, struct setup *s);
void originator_resp3(struct fcvi_port *p, struct setup *s);
void originator_t1(struct fcvi_port *p, struct setup *s);
void originator_failed(struct fcvi_port *p, struct setup *s);
void originator_aborted(struct fcvi_port *p, struct setup *s);

/* responder.c: 5.3.2, 8.5.3 d, C rules 6 and 8 to 12 */
void responder_rqst(struct fcvi_port *p, const struct fcvi_frame *f);
void responder_resp2(struct fcvi_port *p, struct setup *s, const struct fcvi_frame *f);
void responder_t0(struct fcvi_port *p, uint32_t point);
void responder_t2(struct fcvi_port *p, struct setup *s);
void responder_answer(struct fcvi_port *p, struct setup *s);

/* setup.c */
struct setup *setup_new(struct fcvi_port *p);
void setup_free(struct fcvi_port *p, struct setup *s);
struct setup *setup_of_exchange(struct fcvi_port *p, bool originator, uint32_t peer, uint16_t ox_id);
bool sequence_ok(struct exchange *x, const struct fcvi_frame *f);

/* disconnect.c: 6.12, 6.13, 8.6, Annex D */
int disconnect_start(struct fcvi_port *p, struct vi *vi, uint64_t token);
void disconnect_rqst(struct fcvi_port *p, const struct fcvi_frame *f);
void disconnect_resp(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f);
void disconnect_timeout(struct fcvi_port *p, struct vi *vi);
void disconnect_aborted(struct fcvi_port *p, struct vi *vi);

/* connection.c */
void connection_begin(struct vi *vi, const struct setup *s);
void connection_fail(struct fcvi_port *p, struct vi *vi, bool notify);
struct vi *vi_of_handle(struct fcvi_port *p, uint32_t handle, uint32_t peer);
uint32_t new_handle(struct fcvi_port *p, struct vi *vi);

/* queues.c */
struct entry *queue_entry(struct fcvi_port *p, struct vi *vi, bool recv, uint32_t nth);
struct entry *queue_first(struct fcvi_port *p, struct vi *vi, bool recv, enum entry_state state);
void complete(struct fcvi_port *p, struct vi *vi, bool recv, struct entry *e, uint32_t status,
              uint32_t length);
void flush_queue(struct fcvi_port *p, struct vi *vi, bool recv);
void flush(struct fcvi_port *p, struct vi *vi);
uint64_t descriptor_length(const struct fcvi_descriptor *d);
bool descriptor_in_memory(struct fcvi_port *p, const struct fcvi_descriptor *d);
void descriptor_place(struct fcvi_port *p, const struct fcvi_descriptor *d, uint32_t offset,
                      const uint8_t *bytes, uint32_t length);
void descriptor_fetch(struct fcvi_port *p, const struct fcvi_descriptor *d, uint32_t offset, uint8_t *bytes,
                      uint32_t length);

/* message_tx.c, message_rx.c: Send in Unreliable Delivery (5.2.2, 6.2, Annex B) */
size_t message_frame(struct fcvi_port *p, uint8_t *out, struct fcvi_transmitted *meta);
void release_sent(struct fcvi_port *p, struct vi *vi);
void message_receive(struct fcvi_port *p, const struct fcvi_frame *f);

/* login.c */
struct remote_port *remote_port(struct fcvi_port *p, uint32_t id, bool make);
void login_start(struct fcvi_port *p, uint32_t id);
void login_els(struct fcvi_port *p, const struct fcvi_frame *f);
void logout(struct fcvi_port *p, uint32_t id);

#endif
