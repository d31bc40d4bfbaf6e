/* The Connect Request responder: 4.2, 5.3.2, 8.5.3 d and Annex C rules 6 and 8 to 12. */
#include "../block/timers.h"
#include "../vi/events.h"
#include "setup.h"

enum { CLIENT_SERVER = 1, PEER_TO_PEER = 2 };

/* RETRY of the request is bit 4, of the responses bit 2 (E23). */
static uint8_t retry_flag(const struct setup *s)
{
    return s->retry ? 4 : 0;
}

/* Rev 1.0 6.8: the IU has one frame. A new login may have left too little room for it. */
static bool has_room(struct fcvi_port *p, const struct setup *s)
{
    const struct remote_port *r = fcvi_fc2_remote_find(p, s->peer);
    return !rev1(p) || (r != NULL && fcvi_fc2_usable(p, r));
}

/* FCVI_CONNECT_RESP1, accepting (reason 0) or refusing; T2 starts here (C.5.2, E55; Rev 1.0 8). */
static void send_resp1(struct fcvi_port *p, struct setup *s, uint8_t reason)
{
    uint8_t payload[CONNECT_LENGTH];
    s->reason = reason;
    s->phase = SETUP_AWAIT_RESP2;
    fcvi_timer_start(p, TIMER_SETUP, setup_index(p, s), (rev1(p) ? 1 : 2) * p->config.r_a_tov_us);
    if (s->exchange == NONE)
        return; /* aborted by the originator: its retry will ask again (E56) */
    if (!has_room(p, s))
        return; /* as if it was lost: T2 ends the setup */
    struct iu iu = {
        .iu = FCVI_IU_CONNECT_RESP1,
        .exchange = exchange_at(p, s->exchange),
        .handle = FCVI_UNASSIGNED,
        .connection_id = s->connection_id,
        .msg_id = s->msg_id,
        .flags = (uint8_t)(retry_flag(s) | (p->config.connect_info ? 2u : 0) | (reason != 0)),
        .reason = fcvi_setup_reason_out(p, reason),
        .pref = rev1(p) && s->attributes.preference,
        .payload = payload,
    };
    iu.payload_length = fcvi_setup_put_payload(p, payload, s);
    fcvi_fc2_send_iu(p, &iu);
}

/* 5.3.3, E14: FFFFFFFFh tells a Peer that found nobody waiting that there is no connection. */
static void send_resp3(struct fcvi_port *p, struct setup *s)
{
    bool nobody = s->peer_mode && s->reason == NO_WAITING;
    struct iu iu = {
        .iu = FCVI_IU_CONNECT_RESP3,
        .exchange = exchange_at(p, s->exchange),
        .handle = nobody ? FCVI_UNASSIGNED : s->remote_handle,
        .connection_id = s->connection_id,
        .flags = retry_flag(s),
    };
    fcvi_fc2_send_iu(p, &iu);
}

/* ---- the answer ---- */

/* 4.2, C.5.5: the Endpoint is bound and able to receive before RESP1 goes out. */
void fcvi_responder_accept(struct fcvi_port *p, struct setup *s, struct vi *vi)
{
    FCVI_ASSERT(!s->originator);
    fcvi_setup_unlist(p, s);
    s->vi = vi_index(p, vi);
    s->attributes = vi->attributes;
    vi->inbound = setup_index(p, s);
    fcvi_connection_begin(p, vi, s);
    vi->connection.receiving = true;
    fcvi_vi_set_state(p, vi, FCVI_STATE_PENDING_CONNECT);
    send_resp1(p, s, 0);
}

void fcvi_responder_refuse(struct fcvi_port *p, struct setup *s, enum reason reason)
{
    FCVI_ASSERT(!s->originator && reason != 0);
    send_resp1(p, s, (uint8_t)reason);
    if (s->vi != NONE)
        vi_at(p, s->vi)->inbound = NONE;
    s->vi = NONE;
}

/* ---- what the application says to an offer ---- */

const struct fcvi_attributes *fcvi_responder_offered(struct fcvi_port *p, uint32_t conn)
{
    const struct setup *s = fcvi_setup_offered(p, conn);
    return s != NULL ? &s->remote_attributes : NULL;
}

int fcvi_responder_accept_offer(struct fcvi_port *p, uint32_t conn, struct vi *vi)
{
    struct setup *s = fcvi_setup_offered(p, conn);
    if (s == NULL || !fcvi_connection_new_handle(p, vi, &s->local_handle))
        return VIP_ERROR_RESOURCE;
    fcvi_responder_accept(p, s, vi);
    return FCVI_VIP_PENDING;
}

bool fcvi_responder_refuse_offer(struct fcvi_port *p, uint32_t conn)
{
    struct setup *s = fcvi_setup_offered(p, conn);
    if (s == NULL)
        return false;
    fcvi_responder_refuse(p, s, CONNECT_REJECT);
    return true;
}

static void offer(struct fcvi_port *p, struct setup *s, struct point *point)
{
    uint32_t index = (uint32_t)(point - point_at(p, 0));
    fcvi_point_free(p, index);
    s->phase = SETUP_OFFERED;
    struct fcvi_event *e = fcvi_event_new(p, FCVI_EVENT_CALL);
    e->token = point->token;
    e->vip = VIP_SUCCESS;
    e->conn = fcvi_setup_conn_of(p, s);
    e->remote_address = s->remote;
    e->remote_attributes = s->remote_attributes;
}

/* ---- C rules 8 to 11 ---- */

/* Rule 8: the setup that a request with RETRY repeats goes on in the Exchange, and with the
 * FCVI_CONNECTION_ID, of the retry (E47). */
static bool continue_setup(struct fcvi_port *p, struct setup *retry)
{
    uint32_t i = fcvi_connection_party_find(p, false, retry->peer, retry->remote_handle, NONE), number;
    struct setup *old = NULL;
    for (; i != NONE && old == NULL;
         i = fcvi_connection_party_find(p, false, retry->peer, retry->remote_handle, i)) {
        number = i < p->limits.setups ? i : vi_at(p, i - p->limits.setups)->inbound;
        if (number != NONE)
            old = setup_at(p, number);
    }
    if (old == NULL)
        return false;
    bool listed = old->listed;
    fcvi_setup_unlist(p, old);
    if (old->exchange != NONE)
        fcvi_fc2_exchange_free(p, old->exchange);
    old->exchange = retry->exchange;
    exchange_at(p, old->exchange)->owner = setup_index(p, old);
    old->connection_id = retry->connection_id;
    old->retry = true;
    retry->exchange = NONE;
    fcvi_setup_free(p, retry);
    if (listed)
        fcvi_setup_list(p, old);
    if (old->phase != SETUP_AWAIT_RESP2)
        return true; /* not answered yet: the answer will go to the retry (E56) */
    if (old->vi != NONE)
        fcvi_connection_rename(p, vi_at(p, old->vi), old->connection_id);
    send_resp1(p, old, old->reason);
    return true;
}

/* Rule 9: the connection that the retry asks for exists already. */
static bool connected_already(struct fcvi_port *p, struct setup *retry)
{
    uint32_t i = fcvi_connection_party_find(p, false, retry->peer, retry->remote_handle, NONE);
    for (; i != NONE; i = fcvi_connection_party_find(p, false, retry->peer, retry->remote_handle, i)) {
        struct vi *vi = vi_at(p, i - p->limits.setups); /* no setup: rule 8 would have applied */
        if (vi->state != FCVI_STATE_CONNECTED)
            continue;
        if (fcvi_peer_won(p, retry, vi)) {
            fcvi_responder_refuse(p, retry, CONCURRENT_REQUESTS);
            return true;
        }
        retry->local_handle = vi->connection.local_handle;
        retry->attributes = vi->attributes;
        fcvi_connection_rename(p, vi, retry->connection_id);
        send_resp1(p, retry, 0);
        return true;
    }
    return false;
}

/* ---- FCVI_CONNECT_RQST ---- */

/* Who waits for the request: a Server, or a Peer, or nobody. Rev 1.0: a Peer whose application has not called
 * says so (its 5.3.3); whether a Server waits at another Discriminator or at none is open (R24). */
void fcvi_responder_find(struct fcvi_port *p, struct setup *s)
{
    /* a Peer never meets a Server (VI-DG 3.3) */
    struct point *point = s->peer_mode ? NULL : fcvi_point_match(p, &s->local);
    struct vi *peer = s->peer_mode ? fcvi_peer_match(p, s) : NULL;
    bool others = rev1(p) ? !s->peer_mode : p->used.points > 0;
    if (point != NULL)
        offer(p, s, point);
    else if (peer != NULL)
        fcvi_peer_request(p, s, peer);
    else
        fcvi_responder_refuse(p, s, others ? NO_MATCH : NO_WAITING);
}

static void request_complete(struct fcvi_port *p, struct setup *s)
{
    uint8_t mode = s->flags & 7u;
    s->retry = s->flags >> 4 & 1u;
    s->peer_mode = mode == PEER_TO_PEER;
    bool understood = fcvi_setup_take_payload(p, s);
    if (!fcvi_fc2_remote_find(p, s->peer)
             ->usable) { /* logged in it is, or the frame would not have come here */
        fcvi_responder_refuse(p, s, INVALID_SERVICE_PARM); /* 5.6 */
        return;
    }
    if (!understood || s->remote_handle == FCVI_UNASSIGNED ||
        (mode != CLIENT_SERVER && mode != PEER_TO_PEER)) {
        fcvi_responder_refuse(p, s, SETUP_PROTOCOL_ERROR); /* E12, E25, E45 */
        return;
    }
    if (s->retry && (continue_setup(p, s) || connected_already(p, s)))
        return;
    fcvi_setup_list(p, s);
    fcvi_responder_find(p, s);
}

struct setup *fcvi_responder_begin(struct fcvi_port *p, const struct fcvi_frame *f)
{
    struct setup *s = fcvi_setup_new(p);
    if (s == NULL)
        return NULL; /* no room: the originator's T3 and retry recover it */
    struct exchange *x = fcvi_fc2_exchange_accept(p, X_SETUP, setup_index(p, s), f);
    if (x == NULL) {
        fcvi_setup_free(p, s);
        return NULL;
    }
    s->exchange = exchange_index(p, x);
    s->phase = SETUP_ASSEMBLING;
    s->peer = x->peer;
    s->attributes.reliability = FCVI_UNRELIABLE; /* a refusal without an Endpoint has to say something */
    if (!rev1(p))
        s->connection_id = (uint32_t)fcvi_DH_FCVI_CONNECTION_ID(f->dh);
    fcvi_timer_start(p, TIMER_SETUP, setup_index(p, s), 2 * p->config.r_a_tov_us);
    return s;
}

void fcvi_responder_rqst(struct fcvi_port *p, const struct fcvi_frame *f)
{
    if (fcvi_FC_Exchange_Context(f->fc))
        return; /* Table 1: it comes from the originator of its Exchange */
    struct exchange *x = fcvi_fc2_exchange_of(p, f);
    bool starts =
        fcvi_FC_SEQ_CNT(f->fc) == 0 && fcvi_FC_Parameter(f->fc) == 0 && fcvi_FC_First_Sequence(f->fc);
    struct setup *s = x != NULL && x->kind == X_SETUP ? setup_at(p, x->owner) : NULL;
    if (s != NULL && s->phase != SETUP_ASSEMBLING)
        return; /* Table 1: never on an Exchange that is open */
    if (s == NULL)
        s = starts ? fcvi_responder_begin(p, f) : NULL;
    if (s == NULL)
        return;
    if (!fcvi_fc2_sequence_ok(exchange_at(p, s->exchange), f) ||
        s->received + f->payload_length > CONNECT_LENGTH) {
        fcvi_setup_free(p, s);
        return;
    }
    memcpy(s->buffer + s->received, f->payload, f->payload_length);
    s->received += f->payload_length;
    s->flags = (uint8_t)fcvi_DH_FCVI_FLAGS(f->dh);
    if (fcvi_FC_End_Sequence(f->fc)) {
        fcvi_timer_stop(p, TIMER_SETUP, setup_index(p, s));
        request_complete(p, s);
    }
}

/* ---- FCVI_CONNECT_RESP2, T0 and T2 ---- */

/* The Endpoint that waits for the FCVI_CONNECT_RESP2 of this setup: Pending Connect, or in Error after a
 * faulty Message that overtook it (E74). NULL for a request that was refused or not answered yet. */
static struct vi *accepted_by(struct fcvi_port *p, const struct setup *s)
{
    struct vi *vi = s->phase == SETUP_AWAIT_RESP2 && s->vi != NONE ? vi_at(p, s->vi) : NULL;
    return vi != NULL && vi->inbound == setup_index(p, s) ? vi : NULL;
}

void fcvi_responder_resp2(struct fcvi_port *p, struct setup *s, const struct fcvi_frame *f)
{
    if (s->reason == 0 && fcvi_DH_FCVI_HANDLE(f->dh) != s->local_handle)
        return; /* C rule 12 */
    send_resp3(p, s);
    fcvi_responder_confirmed(p, s, fcvi_DH_CONN_STS(f->dh));
}

/* The setup is over: with an error, or with a connection where it was accepted. */
void fcvi_responder_confirmed(struct fcvi_port *p, struct setup *s, bool error)
{
    struct vi *vi = accepted_by(p, s);
    bool failed = vi != NULL && vi->state == FCVI_STATE_ERROR;
    if (vi != NULL && error) { /* C.5.6 */
        vi->setup = NONE;      /* an answer to a Peer's own request no longer concerns it (8.2) */
        fcvi_connection_forget(p, vi);
        if (!failed)
            fcvi_vi_set_state(p, vi, FCVI_STATE_IDLE);
        fcvi_vi_connect_done(p, vi, VIP_TIMEOUT, NULL);
        fcvi_vi_flush(p, vi); /* as at the client (C.5.5, E62): a Message may have begun */
    } else if (vi != NULL) {  /* C.5.4: one step with RESP3 */
        vi->connection.established = vi->connection.confirmed = true;
        if (!failed)
            fcvi_vi_set_state(p, vi, FCVI_STATE_CONNECTED);
        fcvi_vi_connect_done(p, vi, VIP_SUCCESS, &s->remote_attributes);
    }
    fcvi_setup_free(p, s);
}

/* No RESP2 for 2 x FCVI_ULP_TIMEOUT, or a Sequence error (8.5.3 d, C rule 6b, C.5.2). A Peer that is
 * connected through its own request stays so (C rule 6a): then this setup has no VI. In Rev 1.0 who waits for
 * RESP2 in vain aborts the Exchange (its 8). */
void fcvi_responder_t2(struct fcvi_port *p, struct setup *s)
{
    struct vi *vi = accepted_by(p, s);
    if (vi != NULL) {
        bool peer = vi->peer.phase == PEER_PENDING, failed = vi->state == FCVI_STATE_ERROR;
        fcvi_vi_connect_done(p, vi, peer ? VIP_NOT_REACHABLE : VIP_TIMEOUT, NULL);
        if (!failed) {
            vi->connection.failure = TRANSPORT_ERROR;
            fcvi_connection_fail(p, vi, true);
        }
    }
    if (rev1(p))
        fcvi_rev1_setup_abort(p, s);
    else
        fcvi_setup_free(p, s);
}
