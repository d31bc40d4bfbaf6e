/* Connection Setups, connections and their end (5.3, 8.5, 8.6, Annexes A, C and D). */
#ifndef FCVI_FCVI_SETUP_H
#define FCVI_FCVI_SETUP_H

#include "../fc2/fc2.h"
#include "../vi/wire.h"

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

/* Reason Codes of Table 12 that this port sends */
enum reason {
    NO_MATCH = FCVI_REASON_NO_DISCRIMINATOR_MATCH,
    CONNECT_TIMEOUT = FCVI_REASON_CONNECT_TIMEOUT,
    NO_WAITING = FCVI_REASON_NO_WAITING_REMOTE_CONNECTIONPOINT,
    CONNECT_REJECT = FCVI_REASON_CONNECT_REJECT,
    CONCURRENT_REQUESTS = FCVI_REASON_CONNECT_REJECT_CONCURRENT_MATCHING_PEER_REQUESTS,
    INVALID_SERVICE_PARM = FCVI_REASON_CONNECT_REJECT_INVALID_SERVICE_PARM,
    SETUP_PROTOCOL_ERROR = FCVI_REASON_CONNECT_REJECT_PROTOCOL_ERROR,
    TRANSPORT_ERROR = FCVI_REASON_TRANSPORT_ERROR,
    PROTOCOL_ERROR = FCVI_REASON_PROTOCOL_ERROR,
    SETUP_TIMEOUT = FCVI_REASON_CONNECTION_SETUP_TIMEOUT,
    DOES_NOT_EXIST = FCVI_REASON_CONNECTION_DOES_NOT_EXIST,
    /* of Rev 1.0 alone: no code of 2007 is 06h, and none of these numbers is on a wire of Rev 1.0 */
    DUPLICATE_ADDRESSES = 0x06
};

enum setup_phase {
    SETUP_FREE,
    /* originator */
    SETUP_AWAIT_LINK,    /* FLOGI or a validation is under way (7.7) */
    SETUP_AWAIT_ADDRESS, /* FARP or GID_IPP is under way (7.4) */
    SETUP_AWAIT_LOGIN,   /* PLOGI is under way */
    SETUP_REST,          /* a Peer whose other one is not there looks again later */
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
    uint64_t until;      /* the wait for link, address or login lasts */
    uint16_t generation; /* of its place in the table: an old conn names no new request */
    uint32_t vi;         /* NONE for a responder that has none */
    uint32_t exchange, peer;
    uint32_t connection_id;
    uint32_t msg_id; /* Rev 1.0: of the IU that is answered next (6.8, 6.9) */
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

FCVI_BLOCK_ARRAY(setup_at, struct setup, setups, setups)

static inline uint32_t setup_index(struct fcvi_port *p, const struct setup *s)
{
    return (uint32_t)(s - setup_at(p, 0));
}

/* What it needs to know of where the other side is. */
static inline struct resolution resolution_of(struct fcvi_port *p, const struct setup *s)
{
    return (struct resolution){setup_index(p, s), s->local.host, s->remote.host};
}

/* connect_payload.c */
uint32_t fcvi_setup_put_payload(const struct fcvi_port *p, uint8_t *out, const struct setup *s);
bool fcvi_setup_take_payload(const struct fcvi_port *p, struct setup *s);
uint8_t fcvi_setup_reason_out(const struct fcvi_port *p, uint8_t reason);

/* rev1_payload.c: the same in Rev 1.0, its Tables 10 to 15 */
uint32_t fcvi_rev1_put_payload(uint8_t *out, const struct setup *s);
bool fcvi_rev1_take_payload(struct setup *s);
uint8_t fcvi_rev1_reason_out(uint8_t reason);

/* rev1_setup.c: what Rev 1.0 has otherwise, its 5.3, 6.7 to 6.9 and 8 */
void fcvi_rev1_setup_rqst(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_rev1_setup_receive(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_rev1_setup_aborted(struct fcvi_port *p, struct setup *s);

/* rev1_setup_end.c */
void fcvi_rev1_setup_over(struct fcvi_port *p, struct setup *s);
void fcvi_rev1_setup_abort(struct fcvi_port *p, struct setup *s);
void fcvi_rev1_setup_failed(struct fcvi_port *p, struct setup *s);
void fcvi_rev1_unconfirmed(struct fcvi_port *p, const struct exchange *x);
int fcvi_rev1_order(const struct setup *s);

/* rev1_disconnect.c: its 6.10 and 6.11 */
void fcvi_rev1_disconnect_rqst(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_rev1_disconnect_ask(struct fcvi_port *p, struct vi *vi, struct exchange *x);

/* originator.c: 5.3.2, 8.5.3, 8.5.4, C rules 2 to 5 */
bool fcvi_originator_prepare(struct fcvi_port *p, struct vi *vi, const struct wire_request *r);
void fcvi_originator_connect(struct fcvi_port *p, struct vi *vi);
void fcvi_originator_begin(struct fcvi_port *p, struct setup *s);
void fcvi_originator_query(struct fcvi_port *p, struct setup *s);
void fcvi_originator_ask(struct fcvi_port *p, struct setup *s);
void fcvi_originator_unreachable(struct fcvi_port *p, struct setup *s);
void fcvi_originator_resp1(struct fcvi_port *p, struct setup *s);
void fcvi_originator_resp3(struct fcvi_port *p, struct setup *s);
void fcvi_originator_failed(struct fcvi_port *p, struct setup *s);
void fcvi_originator_aborted(struct fcvi_port *p, struct setup *s);
void fcvi_originator_timeout(struct fcvi_port *p, struct setup *s);
void fcvi_originator_t1(struct fcvi_port *p, struct vi *vi);

/* responder.c: 5.3.2, 8.5.3 d, C rules 6 and 8 to 12 */
const struct fcvi_attributes *fcvi_responder_offered(struct fcvi_port *p, uint32_t conn);
int fcvi_responder_accept_offer(struct fcvi_port *p, uint32_t conn, struct vi *vi);
bool fcvi_responder_refuse_offer(struct fcvi_port *p, uint32_t conn);
void fcvi_responder_rqst(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_responder_resp2(struct fcvi_port *p, struct setup *s, const struct fcvi_frame *f);
void fcvi_responder_t2(struct fcvi_port *p, struct setup *s);
void fcvi_responder_accept(struct fcvi_port *p, struct setup *s, struct vi *vi);
void fcvi_responder_refuse(struct fcvi_port *p, struct setup *s, enum reason reason);
struct setup *fcvi_responder_begin(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_responder_find(struct fcvi_port *p, struct setup *s);
void fcvi_responder_confirmed(struct fcvi_port *p, struct setup *s, bool error);

/* fc4.c: what FC-2 tells, and Message IUs */
bool fcvi_message_receive(struct fcvi_port *p, const struct fcvi_frame *f);
extern const struct fc4 fcvi_fc4;

/* peer.c: 5.3.3, 5.3.4, Table 2, Annex A */
struct vi *fcvi_peer_match(struct fcvi_port *p, const struct setup *s);
void fcvi_peer_request(struct fcvi_port *p, struct setup *s, struct vi *vi);
void fcvi_peer_answer(struct fcvi_port *p, struct vi *vi, enum reason reason);
/* Connected, or about to be, or in Error after that, through the request of the other side. */
static inline bool fcvi_peer_taken(const struct vi *vi)
{
    return vi->connection.known && !vi->connection.originator;
}
bool fcvi_peer_won(struct fcvi_port *p, const struct setup *s, const struct vi *vi);

/* setup.c */
int fcvi_setup_match(const struct fcvi_port *p, const struct vi *vi, const struct fcvi_attributes *other);
uint32_t fcvi_setup_conn_of(struct fcvi_port *p, const struct setup *s);
struct setup *fcvi_setup_offered(struct fcvi_port *p, uint32_t conn);
struct setup *fcvi_setup_new(struct fcvi_port *p);
void fcvi_setup_free(struct fcvi_port *p, struct setup *s);
void fcvi_setup_list(struct fcvi_port *p, struct setup *s);
void fcvi_setup_unlist(struct fcvi_port *p, struct setup *s);

/* setup_receive.c */
void fcvi_setup_receive(struct fcvi_port *p, const struct fcvi_frame *f);

/* disconnect.c: 6.12, 6.13, 8.6, Annex D */
int fcvi_disconnect_start(struct fcvi_port *p, struct vi *vi, uint64_t token);
void fcvi_disconnect_rqst(struct fcvi_port *p, const struct fcvi_frame *f);
void fcvi_disconnect_resp(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f);
void fcvi_disconnect_timeout(struct fcvi_port *p, struct vi *vi);
void fcvi_disconnect_failed(struct fcvi_port *p, struct vi *vi);
void fcvi_disconnect_abandon(struct fcvi_port *p, struct vi *vi);
void fcvi_disconnect_lose(struct fcvi_port *p, struct vi *vi);

/* connection.c */
void fcvi_connection_none(struct vi *vi);
void fcvi_connection_forget(struct fcvi_port *p, struct vi *vi);
void fcvi_connection_begin(struct fcvi_port *p, struct vi *vi, const struct setup *s);
void fcvi_connection_rename(struct fcvi_port *p, struct vi *vi, uint32_t connection_id);
void fcvi_connection_fail(struct fcvi_port *p, struct vi *vi, bool notify);
struct vi *fcvi_connection_of_handle(struct fcvi_port *p, uint32_t handle, uint32_t peer);
bool fcvi_connection_new_handle(struct fcvi_port *p, struct vi *vi, uint32_t *handle);
uint32_t fcvi_connection_party_find(struct fcvi_port *p, bool by_id, uint32_t peer, uint32_t value,
                                    uint32_t after);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
