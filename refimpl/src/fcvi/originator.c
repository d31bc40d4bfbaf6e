/* The Connect Request originator: 5.3.2, 8.5.2 to 8.5.4 and Annex C rules 2 to 5. */
#include "../block/timers.h"
#include "../vi/events.h"
#include "message.h"
#include "setup.h"

static struct vi *owner(struct fcvi_port *p, const struct setup *s)
{
    return vi_at(p, s->vi);
}

/* Whether the VI still waits for this setup; it has another one, or none, after a timeout or Disconnect. */
static bool owned(struct fcvi_port *p, const struct setup *s)
{
    return owner(p, s)->setup == setup_index(p, s);
}

/* ---- before the request: link, address, login (7.4, 7.7, 5.6) ---- */

static void await(struct fcvi_port *p, struct setup *s, enum setup_phase phase)
{
    const uint64_t longest = 2 * p->config.r_a_tov_us;
    s->phase = (uint8_t)phase;
    s->until = p->now + longest;
    fcvi_timer_start(p, TIMER_SETUP, setup_index(p, s), longest);
}

/* FARP (7.5). A broadcast is delivered to whoever is there and hears it, so it is sent again each E_D_TOV for
 * as long as the wait lasts: the first may be lost, or the other side not be there yet. */
void fcvi_originator_ask(struct fcvi_port *p, struct setup *s)
{
    const struct resolution wanted = resolution_of(p, s);
    const uint64_t left = s->until - p->now, pause = p->config.e_d_tov_us;
    FCVI_ASSERT(s->phase == SETUP_AWAIT_ADDRESS && p->now < s->until);
    fcvi_fc2_farp_ask(p, &wanted);
    fcvi_timer_start(p, TIMER_SETUP, setup_index(p, s), left < pause ? left : pause);
}

/* The Name Server (7.6), which is logged in. */
void fcvi_originator_query(struct fcvi_port *p, struct setup *s)
{
    const struct resolution wanted = resolution_of(p, s);
    fcvi_timer_start(p, TIMER_SETUP, setup_index(p, s), s->until - p->now);
    s->exchange = fcvi_fc2_query(p, &wanted);
}

/* 7.4: the Name Server where there is one, otherwise FARP. */
static void resolve(struct fcvi_port *p, struct setup *s)
{
    await(p, s, SETUP_AWAIT_ADDRESS);
    if (!p->config.name_server)
        fcvi_originator_ask(p, s);
    else if (fcvi_fc2_name_server_ready(p))
        fcvi_originator_query(p, s);
    else
        fcvi_fc2_login_start(p, NAME_SERVER);
}

static void start(struct fcvi_port *p, struct setup *s);
static void give_up(struct fcvi_port *p, struct setup *s, int vip);

/* The setup of a request of the application, and its handle; false when there is no room for them. */
bool fcvi_originator_prepare(struct fcvi_port *p, struct vi *vi, const struct wire_request *r)
{
    uint32_t handle;
    struct setup *s = fcvi_connection_new_handle(p, vi, &handle) ? fcvi_setup_new(p) : NULL;
    if (s == NULL)
        return false;
    fcvi_connection_forget(p, vi); /* the one before: its Disconnect can no longer be answered by name */
    s->originator = true;
    s->peer_mode = r->peer_mode;
    s->vi = vi_index(p, vi);
    s->attributes = vi->attributes;
    s->local = *r->local;
    s->remote = *r->remote;
    s->local_handle = vi->local_handle = handle;
    vi->setup = setup_index(p, s);
    return true;
}

void fcvi_originator_connect(struct fcvi_port *p, struct vi *vi)
{
    FCVI_ASSERT(vi->setup != NONE);
    fcvi_originator_begin(p, setup_at(p, vi->setup));
}

/* The next step towards the request. Called again whenever what it waited for is there. */
void fcvi_originator_begin(struct fcvi_port *p, struct setup *s)
{
    FCVI_ASSERT(s->originator && s->vi != NONE);
    fcvi_vi_set_state(p, owner(p, s),
                      s->retry ? FCVI_STATE_PENDING_CONNECT_RETRY : FCVI_STATE_PENDING_CONNECT);
    if (p->link != LINK_UP) {
        await(p, s, SETUP_AWAIT_LINK);
        if (p->link == LINK_DOWN)
            fcvi_fc2_link_start(p);
        return;
    }
    if (!fcvi_fc2_host_find(p, s->remote.host, &s->peer)) {
        resolve(p, s);
        return;
    }
    const struct remote_port *r = fcvi_fc2_remote_find(p, s->peer);
    if (r == NULL || !r->logged_in) {
        await(p, s, SETUP_AWAIT_LOGIN);
        fcvi_fc2_login_start(p, s->peer);
    } else if (!fcvi_fc2_usable(p, r)) {
        give_up(p, s, VIP_NOT_REACHABLE); /* 5.6: no setup with a port that lacks S or C */
    } else {
        start(p, s);
    }
}

/* The setup has failed for good: Error, until a Disconnect (C rules 4 and 5). */
static void lost(struct fcvi_port *p, struct vi *vi)
{
    bool connected = vi->state == FCVI_STATE_CONNECTED;
    fcvi_timer_stop(p, TIMER_T1, vi_index(p, vi));
    vi->setup = NONE;
    if (!connected)
        fcvi_vi_connect_done(p, vi, VIP_NOT_REACHABLE, NULL);
    fcvi_peer_answer(p, vi, CONNECT_REJECT);
    vi->connection.failure = vi->connection.established ? TRANSPORT_ERROR : SETUP_TIMEOUT; /* E116 */
    fcvi_connection_fail(p, vi, connected);
}

/* No request goes out. The first time the Endpoint is Idle again; a retry has failed (8.5.4). */
static void give_up(struct fcvi_port *p, struct setup *s, int vip)
{
    struct vi *vi = owner(p, s);
    if (s->retry) {
        lost(p, vi);
    } else {
        fcvi_timer_stop(p, TIMER_T1, s->vi);
        fcvi_vi_set_state(p, vi, FCVI_STATE_IDLE);
        fcvi_vi_connect_done(p, vi, vip, NULL);
    }
    fcvi_setup_free(p, s);
}

/* Nobody there to connect with. A Peer stays in the pool until its Timeout (VI-DG 6.7) and looks again later;
 * the other one may ask before. */
void fcvi_originator_unreachable(struct fcvi_port *p, struct setup *s)
{
    if (!s->peer_mode || s->retry) {
        give_up(p, s, VIP_NOT_REACHABLE);
        return;
    }
    if (s->exchange != NONE)
        fcvi_fc2_exchange_free(p, s->exchange);
    s->exchange = NONE;
    await(p, s, SETUP_REST);
}

/* ---- the request ---- */

/* Transmit FCVI_CONNECT_RQST and start T3 (C.5.2). */
static void start(struct fcvi_port *p, struct setup *s)
{
    uint8_t payload[CONNECT_LENGTH];
    struct vi *vi = owner(p, s);
    uint32_t index = setup_index(p, s);
    struct exchange *x = fcvi_fc2_exchange_open(p, X_SETUP, index, s->peer);
    if (x == NULL) {
        give_up(p, s, VIP_ERROR_RESOURCE);
        return;
    }
    s->exchange = exchange_index(p, x);
    s->phase = SETUP_AWAIT_RESP1;
    s->received = 0;
    do
        s->connection_id = p->next_connection_id++;
    while (s->connection_id == 0 || s->connection_id == FCVI_UNASSIGNED);
    struct iu iu = {
        .iu = FCVI_IU_CONNECT_RQST,
        .exchange = x,
        .handle = FCVI_UNASSIGNED,
        .connection_id = s->connection_id,
        .flags = (uint8_t)((s->peer_mode ? 2u : 1u) | (p->config.connect_info ? 8u : 0) |
                           (s->retry ? 16u : 0)), /* CONN_MODE, FCVI_CONN_INFO, RETRY (Tables 7 and 8) */
        .pref = rev1(p) && s->attributes.preference,
        .payload = payload,
    };
    iu.payload_length = fcvi_setup_put_payload(p, payload, s);
    fcvi_fc2_send_iu(p, &iu);
    fcvi_connection_begin(p, vi, s);
    fcvi_timer_start(p, TIMER_SETUP, index, p->config.r_a_tov_us);
}

/* ---- FCVI_CONNECT_RESP1 ---- */

static void send_resp2(struct fcvi_port *p, struct setup *s, uint8_t reason)
{
    struct iu iu = {
        .iu = FCVI_IU_CONNECT_RESP2,
        .exchange = exchange_at(p, s->exchange),
        .handle = s->remote_handle,
        .connection_id = s->connection_id,
        .msg_id = s->msg_id,
        .flags = (uint8_t)((s->retry ? 4u : 0) | (reason != 0)), /* RETRY as in the request (5.9.4.5) */
        .reason = fcvi_setup_reason_out(p, reason),
        .pref = rev1(p) && s->attributes.preference,
    };
    fcvi_fc2_send_iu(p, &iu);
    s->phase = SETUP_AWAIT_RESP3; /* Rev 1.0 waits for none: fcvi_rev1_setup_over follows */
}

/* What a refusal means to the application (VI-DG 6.7, 5.9.7.2). The attributes tell a Peer why (E77). */
static int code_of(const struct fcvi_port *p, const struct setup *s, const struct vi *vi)
{
    if (s->reason_in >= 0x20 && s->reason_in <= 0x3F)
        return VIP_NOT_REACHABLE;
    if (rev1(p) && s->reason_in == CONNECT_TIMEOUT)
        return VIP_TIMEOUT;
    if (!s->peer_mode)
        return s->reason_in == NO_MATCH || s->reason_in == NO_WAITING ? VIP_NO_MATCH : VIP_REJECT;
    int mismatch = fcvi_setup_match(p, vi, &s->remote_attributes);
    return s->reason_in == CONNECT_REJECT && mismatch != VIP_SUCCESS ? mismatch : VIP_ERROR_RESOURCE;
}

/* A refusal: what the application gets and where the Endpoint goes (8.2 b and c). A Peer that found nobody
 * waiting goes on waiting itself (5.3.3, E48), and one that accepted the other request is content (E50). In
 * Rev 1.0 the lower Peer refuses at once, perhaps before its own request is here: that is waited for, too. */
static void refused(struct fcvi_port *p, struct setup *s, struct vi *vi)
{
    bool error = s->reason_in >= 0x20 && s->reason_in <= 0x3F;
    bool nobody = s->reason_in == NO_MATCH || s->reason_in == NO_WAITING;
    if (fcvi_peer_taken(vi))
        return;
    vi->setup = NONE;
    if (s->peer_mode) {
        fcvi_peer_answer(p, vi,
                         nobody                                ? 0
                         : s->reason_in == CONCURRENT_REQUESTS ? SETUP_PROTOCOL_ERROR
                                                               : CONNECT_REJECT);
        if (nobody || (rev1(p) && s->reason_in == CONCURRENT_REQUESTS))
            return;
    }
    fcvi_timer_stop(p, TIMER_T1, s->vi);
    if (error) {
        fcvi_connection_fail(p, vi, false);
    } else {
        fcvi_connection_forget(p, vi);
        fcvi_vi_set_state(p, vi, FCVI_STATE_IDLE);
    }
    fcvi_vi_connect_done(p, vi, code_of(p, s, vi), NULL);
}

static void accepted(struct fcvi_port *p, struct setup *s, struct vi *vi)
{
    if (fcvi_peer_taken(vi)) { /* 5.3.4: never two; the other Peer had to refuse this one */
        send_resp2(p, s, rev1(p) ? CONCURRENT_REQUESTS : SETUP_PROTOCOL_ERROR);
        return;
    }
    /* C.5.5: reception before RESP2; C.5.3: RESP2 and the return of the call are one step */
    fcvi_timer_stop(p, TIMER_T1, s->vi);
    fcvi_connection_begin(p, vi, s);
    vi->connection.receiving = vi->connection.established = true;
    vi->connection.confirmed = rev1(p); /* R01 */
    send_resp2(p, s, 0);
    fcvi_vi_set_state(p, vi, FCVI_STATE_CONNECTED);
    fcvi_vi_connect_done(p, vi, VIP_SUCCESS, &s->remote_attributes);
    if (s->peer_mode)
        fcvi_peer_answer(p, vi, CONCURRENT_REQUESTS); /* 5.3.4 b)2) */
}

/* FCVI_CONNECT_RESP1 is complete. CONN_STS alone says whether it accepts (E07). */
void fcvi_originator_resp1(struct fcvi_port *p, struct setup *s)
{
    FCVI_ASSERT(s->phase == SETUP_AWAIT_RESP1);
    struct vi *vi = owner(p, s);
    bool understood = fcvi_setup_take_payload(p, s);
    bool accept = (s->flags & 1u) == 0;
    if (!accept && (rev1(p) || s->received >= FCVI_CONN_LENGTH))
        understood = true; /* the rest of a refusal says nothing (E40, R11) */
    if (!understood || (accept && s->remote_handle == FCVI_UNASSIGNED)) {
        fcvi_originator_failed(p, s);
        return;
    }
    if (!owned(p, s)) {
        send_resp2(p, s, CONNECT_TIMEOUT); /* the application has given up (C.5.2) */
    } else if (accept) {
        accepted(p, s, vi);
    } else {
        send_resp2(p, s, 0);
        refused(p, s, vi);
    }
    if (rev1(p))
        fcvi_rev1_setup_over(p, s);
}

/* FCVI_CONNECT_RESP3 ends the Exchange; the client's Descriptors may complete (C.5.1, Annex F). */
void fcvi_originator_resp3(struct fcvi_port *p, struct setup *s)
{
    FCVI_ASSERT(s->phase == SETUP_AWAIT_RESP3);
    struct vi *vi = owner(p, s);
    bool connected = owned(p, s) && !fcvi_peer_taken(vi) && vi->state == FCVI_STATE_CONNECTED;
    fcvi_setup_free(p, s);
    if (connected) {
        vi->connection.confirmed = true;
        fcvi_message_release_sent(p, vi);
        fcvi_message_rx_confirmed(p, vi);
    }
}

/* ---- timeouts and errors ---- */

/* T1: the application stops waiting; the Exchange goes on until T3 (C.5.2, C.5.7.1). Its Receives stay posted
 * for the next attempt (VI-ARCH 5.1), though C.5.5 flushes them (E62). */
void fcvi_originator_t1(struct fcvi_port *p, struct vi *vi)
{
    struct setup *s = vi->setup != NONE ? setup_at(p, vi->setup) : NULL;
    fcvi_vi_set_state(p, vi, FCVI_STATE_IDLE);
    fcvi_connection_forget(p, vi);
    fcvi_peer_answer(p, vi, NO_WAITING);
    fcvi_vi_connect_done(p, vi, VIP_TIMEOUT, NULL);
    vi->setup = NONE;
    if (s != NULL && s->phase < SETUP_AWAIT_RESP1)
        fcvi_setup_free(p, s);
}

/* T3, or a Sequence error on the Exchange (8.5.3 a): abort it, then retry, give up or report the loss. */
void fcvi_originator_failed(struct fcvi_port *p, struct setup *s)
{
    FCVI_ASSERT(s->originator && s->exchange != NONE);
    if (rev1(p)) {
        fcvi_rev1_setup_failed(p, s);
        return;
    }
    struct vi *vi = owner(p, s);
    s->phase = SETUP_AWAIT_BA_ACC;
    fcvi_fc2_send_abts(p, exchange_at(p, s->exchange));
    fcvi_timer_start(p, TIMER_SETUP, setup_index(p, s), p->config.r_a_tov_us); /* C rules 2b and 3b */
    if (!owned(p, s) || fcvi_peer_taken(vi))
        return; /* C rule 2: the Endpoint is Idle, or was refused. C rule 6a, E51: it has another connection
                 */
    if (vi->state == FCVI_STATE_PENDING_CONNECT) { /* C rule 3 */
        fcvi_vi_set_state(p, vi, FCVI_STATE_PENDING_CONNECT_RETRY);
        return;
    }
    lost(p, vi);
}

/* BA_ACC, BA_RJT, or none of them for R_A_TOV: the Exchange is over. */
void fcvi_originator_aborted(struct fcvi_port *p, struct setup *s)
{
    FCVI_ASSERT(s->phase == SETUP_AWAIT_BA_ACC && s->exchange != NONE);
    fcvi_fc2_exchange_late(p, s->exchange);
    s->exchange = NONE;
    if (!owned(p, s) || fcvi_peer_taken(owner(p, s))) {
        fcvi_setup_free(p, s);
        return;
    }
    s->retry = true;
    fcvi_originator_begin(p, s); /* 8.5.4 a: new Exchange, new FCVI_CONNECTION_ID, same handle */
}

void fcvi_originator_timeout(struct fcvi_port *p, struct setup *s)
{
    if (s->phase == SETUP_AWAIT_ADDRESS && s->exchange == NONE && p->now < s->until) {
        fcvi_originator_ask(p, s);
        return;
    }
    if (s->phase == SETUP_AWAIT_ADDRESS && s->exchange != NONE)
        fcvi_fc2_name_server_forgets(
            p); /* no answer: it may not know us, and the next query starts with PLOGI */
    if (s->phase == SETUP_REST)
        fcvi_originator_begin(p, s);
    else if (s->phase < SETUP_AWAIT_RESP1)
        fcvi_originator_unreachable(p, s);
    else if (s->phase == SETUP_AWAIT_BA_ACC)
        fcvi_originator_aborted(p, s);
    else
        fcvi_originator_failed(p, s);
}
