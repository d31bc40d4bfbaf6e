/* FC-2: Exchanges, frames, logins and the link (FC-FS, clauses 5 and 7). */
#ifndef FCVI_FC2_FC2_H
#define FCVI_FC2_FC2_H

#include "../block/block.h"

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

enum { CONNECT_LENGTH = FCVI_CONN_LENGTH + FCVI_INFO_LENGTH, CONTROL_FRAME = 24 + 32 + CONNECT_LENGTH };
enum { DH32 = 32, DH16 = 16, LONGEST = 24 + 2112 };
/* Rev 1.0: FCVI_CONNECT_RQST and RESP1 are one frame (6.7, 6.8) */
enum { REV1_LEAST_DATA_FIELD = DH16 + FCVI_CONN_REV1_LENGTH };

/* Well-known addresses (FC-FS) */
enum { BROADCAST = 0xFFFFFF, F_PORT = 0xFFFFFE, NAME_SERVER = 0xFFFFFC };

/* Parameter of P_RJT: action 1, the frame may come again when that is mended, or 2, it may not; reason
 * (FC-FS) */
enum { RJT_LOGIN_REQUIRED = 0x01160000, RJT_TYPE_NOT_SUPPORTED = 0x02070000 };

enum exchange_kind {
    X_FREE,
    X_SETUP,      /* owner: a setup */
    X_DISCONNECT, /* owner: a VI */
    X_MESSAGE,    /* owner: a VI; the Message stands in the record of the same number */
    X_LOGIN,      /* an ELS request of ours; owner: a remote port; command says which */
    X_QUERY,      /* GID_IPP; owner: a setup */
    X_ABORTED,    /* ABTS sent, nothing but BA_ACC is expected */
    X_LATE,       /* aborted: the OX_ID is not used again for R_A_TOV (E82) */
    X_CONFIRMED   /* Rev 1.0, R01: FCVI_CONNECT_RESP2 is out, and may be lost; owner: the VI of the setup */
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
    bool qualified;           /* BA_ACC has set a Recovery_Qualifier, which RRQ ends (FC-FS) */
    uint64_t unacked, resend; /* bit n: frame ack_base + n; those to be sent again (Annex B rule 8b) */
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

FCVI_BLOCK_ARRAY(exchange_at, struct exchange, exchanges, exchanges)
FCVI_BLOCK_ARRAY(remote_at, struct remote_port, remotes, remote_ports)

static inline struct mapping *mapping_at(struct fcvi_port *p, uint32_t i)
{
    FCVI_ASSERT(i < p->limits.remote_ports * FCVI_MAX_HOSTS);
    return ARRAY(p, struct mapping, mappings, i);
}

static inline struct control_frame *control_at(struct fcvi_port *p, uint32_t i)
{
    return ARRAY(p, struct control_frame, control, i);
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

static inline bool rev1(const struct fcvi_port *p)
{
    return p->config.revision == FCVI_EDITION_REV1;
}

/* exchange.c: identifiers, tables, abort */
struct exchange *fcvi_fc2_exchange_open(struct fcvi_port *p, enum exchange_kind kind, uint32_t owner,
                                        uint32_t peer);
struct exchange *fcvi_fc2_exchange_accept(struct fcvi_port *p, enum exchange_kind kind, uint32_t owner,
                                          const struct fcvi_frame *f);
struct exchange *fcvi_fc2_exchange_of(struct fcvi_port *p, const struct fcvi_frame *f);
bool fcvi_fc2_exchanges_left(const struct fcvi_port *p);
void fcvi_fc2_exchange_ids_clear(struct fcvi_port *p);
void fcvi_fc2_exchange_free(struct fcvi_port *p, uint32_t index);
void fcvi_fc2_exchange_abort(struct fcvi_port *p, uint32_t index);
void fcvi_fc2_exchange_abts_due(struct fcvi_port *p);
void fcvi_fc2_exchange_late(struct fcvi_port *p, uint32_t index);
void fcvi_fc2_exchange_qualify(struct exchange *x, const struct fcvi_frame *ba_acc);
bool fcvi_fc2_count_ok(struct exchange *x, const struct fcvi_frame *f);
bool fcvi_fc2_sequence_ok(struct exchange *x, const struct fcvi_frame *f);
uint16_t fcvi_fc2_transient_rx_id(struct fcvi_port *p);

/* frames.c */
struct iu {
    enum fcvi_iu iu;
    struct exchange *exchange;
    uint32_t handle, connection_id, msg_id;
    uint8_t flags, reason;
    bool pref; /* Rev 1.0, 5.6.2: in every frame of the connection */
    const uint8_t *payload;
    uint32_t payload_length;
};
void fcvi_fc2_send_iu(struct fcvi_port *p, const struct iu *iu);
void fcvi_fc2_send_abts(struct fcvi_port *p, const struct exchange *x);
void fcvi_fc2_send_ba_acc(struct fcvi_port *p, const struct fcvi_frame *abts);
void fcvi_fc2_send_ba_rjt(struct fcvi_port *p, const struct fcvi_frame *abts);
uint8_t *fcvi_fc2_control_new(struct fcvi_port *p, uint16_t length, uint8_t eof);
size_t fcvi_fc2_control_next(struct fcvi_port *p, uint8_t *out, struct fcvi_transmitted *meta);
void fcvi_fc2_control_drop(struct fcvi_port *p, uint32_t d_id);
void fcvi_fc2_put_header(struct fcvi_port *p, uint8_t *out, uint8_t r_ctl, uint8_t type, uint32_t d_id);
void fcvi_fc2_put_exchange(uint8_t *out, const struct exchange *x, uint16_t count);
/** Row of Table 1. */
struct iu_row {
    uint8_t opcode, r_ctl;
    uint8_t dh; /* bytes of Device_Header */
    bool total; /* it tells the length of the Message */
};
const struct iu_row *fcvi_fc2_row_of(const struct fcvi_port *p, enum fcvi_iu iu);
void fcvi_fc2_class3_frame(uint8_t *frame);
uint8_t fcvi_fc2_sof_of(const struct fcvi_port *p, bool initiates);
uint8_t fcvi_fc2_eof_of(const struct fcvi_port *p, bool ends);
uint32_t fcvi_fc2_room_for(struct fcvi_port *p, uint32_t peer);
/** Setups are possible with the port: its service parameters allow them, and those of Rev 1.0, whose IUs with
 * a payload have one frame each (6.7, 6.8), fit into what both logins allow. */
bool fcvi_fc2_usable(struct fcvi_port *p, const struct remote_port *r);

/* class2.c: ACK, busy and reject (Annex B rules 8) */
uint8_t *fcvi_fc2_ack(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_fc2_ack_abort(uint8_t *ack);
void fcvi_fc2_reject(struct fcvi_port *p, const struct fcvi_frame *f, uint32_t why);
void fcvi_fc2_link_control_receive(struct fcvi_port *p, const struct fcvi_frame *f);
bool fcvi_fc2_credit_left(const struct fcvi_port *p, const struct exchange *x);
void fcvi_fc2_frame_sent(struct fcvi_port *p, struct exchange *x, uint16_t count);

/* sequence.c: SEQ_IDs (5.5) */
uint8_t fcvi_fc2_seq_id_new(struct fcvi_port *p);
bool fcvi_fc2_sequences_left(const struct fcvi_port *p);
bool fcvi_fc2_sequence_open(struct fcvi_port *p, struct exchange *x);
void fcvi_fc2_sequence_close(struct fcvi_port *p, struct exchange *x);

/* remote.c: known ports and where a Host Address is (7.4) */
struct remote_port *fcvi_fc2_remote_find(struct fcvi_port *p, uint32_t id);
struct remote_port *fcvi_fc2_remote_get(struct fcvi_port *p, uint32_t id);
void fcvi_fc2_name_server_forgets(struct fcvi_port *p);
bool fcvi_fc2_may_send_to(struct fcvi_port *p, uint32_t id);
bool fcvi_fc2_host_find(struct fcvi_port *p, const uint8_t *host, uint32_t *id);
void fcvi_fc2_host_add(struct fcvi_port *p, const uint8_t *host, uint32_t id);
void fcvi_fc2_hosts_forget(struct fcvi_port *p, uint32_t id);

/* login.c: N_Port Login (5.6) and logout (7.7.1) */
void fcvi_fc2_put_fabric_parameters(const struct fcvi_port *p, uint8_t *out);
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
void fcvi_fc2_exchange_timeout(struct fcvi_port *p, struct exchange *x);

/* els.c */
void fcvi_fc2_els_receive(struct fcvi_port *p, const struct fcvi_frame *f);

/* resolve.c: FARP (7.5) and GID_IPP (7.6) */
/** Who asks where a Host Address is. */
struct resolution {
    uint32_t owner;                 /* a setup */
    const uint8_t *own_host, *host; /* 16 bytes each */
};
bool fcvi_fc2_name_server_ready(struct fcvi_port *p);
uint32_t fcvi_fc2_query(struct fcvi_port *p, const struct resolution *r);
void fcvi_fc2_farp_ask(struct fcvi_port *p, const struct resolution *r);
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
void fcvi_fc2_remote_validate(struct fcvi_port *p, struct remote_port *r);

/** What FC-2 tells FC-4, the level above it (FC-FS): fcvi/fc4.c has what FC-VI does then. */
struct fc4 {
    /* an Exchange, and with it a SEQ_ID, is free again */
    void (*exchange_left)(struct fcvi_port *p);
    /* Messages: no frame or answer came in time, they failed, all frames are acknowledged, one was, or some
     * are to be sent again (Annex B rules 8 and 9) */
    void (*message_timeout)(struct fcvi_port *p, struct exchange *x);
    void (*message_failed)(struct fcvi_port *p, struct exchange *x);
    void (*acknowledged)(struct fcvi_port *p, struct exchange *x);
    void (*wake)(struct fcvi_port *p, const struct exchange *x);
    void (*resend)(struct fcvi_port *p, const struct exchange *x);
    /* a frame of a setup or Disconnect came back */
    void (*rejected)(struct fcvi_port *p, const struct exchange *x);
    /* what a setup or connection waits for or stands on (5.6, 7.4, 7.7) */
    void (*link_ready)(struct fcvi_port *p);
    void (*login_done)(struct fcvi_port *p, const struct remote_port *r);
    void (*logged_out)(struct fcvi_port *p, uint32_t id);
    void (*host_found)(struct fcvi_port *p, const uint8_t *host, uint32_t id);
    void (*query_answered)(struct fcvi_port *p, const struct exchange *x, uint32_t id);
    void (*name_server)(struct fcvi_port *p, bool logged_in);
};

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
