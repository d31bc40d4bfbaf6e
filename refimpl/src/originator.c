/* The Connect Request originator: 5.3.2, 8.5.2 to 8.5.4 and Annex C rules 2 to 5. */
#include "internal.h"

static struct vi *owner(struct fcvi_port *p, const struct setup *s)
{
    return vi_at(p, s->vi);
}

/* The request, after N_Port Login when the port is not logged in (5.6, 7.7). */
void originator_begin(struct fcvi_port *p, struct setup *s)
{
    const struct remote_port *r = remote_port(p, s->exchange.peer, false);
    if (r != NULL && r->logged_in && !r->usable) {
        originator_unreachable(p, s); /* 5.6: no setup with a port that lacks S or C */
        return;
    }
    if (r != NULL && r->logged_in) {
        originator_start(p, s);
        return;
    }
    s->phase = SETUP_AWAIT_LOGIN;
    set_state(p, owner(p, s), FCVI_STATE_PENDING_CONNECT);
    login_start(p, s->exchange.peer);
    timer_start(p, TIMER_SETUP, setup_index(p, s), 2 * p->config.r_a_tov_us);
}

/* Nobody there to connect with: the Endpoint is Idle again. */
void originator_unreachable(struct fcvi_port *p, struct setup *s)
{
    struct vi *vi = owner(p, s);
    if (vi->setup == setup_index(p, s)) {
        set_state(p, vi, FCVI_STATE_IDLE);
        finish_connect(p, vi, VIP_NOT_REACHABLE);
    }
    setup_free(p, s);
}

/* Transmit FCVI_CONNECT_RQST and start T3 (C.5.2). */
void originator_start(struct fcvi_port *p, struct setup *s)
{
    uint8_t payload[FCVI_CONN_LENGTH];
    struct vi *vi = owner(p, s);
    s->exchange = exchange_open(p, s->exchange.peer);
    s->phase = SETUP_AWAIT_RESP1;
    s->received = 0;
    do
        s->connection_id = p->next_connection_id++;
    while (s->connection_id == 0 || s->connection_id == FCVI_UNASSIGNED);
    struct iu iu = {
        .iu = FCVI_IU_CONNECT_RQST,
        .exchange = &s->exchange,
        .handle = FCVI_UNASSIGNED,
        .connection_id = s->connection_id,
        .flags = (uint8_t)(1u | (s->retry ? 1u << 4 : 0)), /* Client-Server, RETRY (Tables 7 and 8) */
        .payload = payload,
    };
    iu.payload_length = put_connect(payload, &s->local, &s->remote, &vi->attributes, s->local_handle);
    send_iu(p, &iu);
    connection_begin(vi, s);
    set_state(p, vi, s->retry ? FCVI_STATE_PENDING_CONNECT_RETRY : FCVI_STATE_PENDING_CONNECT);
    timer_start(p, TIMER_SETUP, setup_index(p, s), p->config.r_a_tov_us);
}

static void send_resp2(struct fcvi_port *p, struct setup *s, uint8_t reason)
{
    struct iu iu = {
        .iu = FCVI_IU_CONNECT_RESP2,
        .exchange = &s->exchange,
        .handle = s->remote_handle,
        .connection_id = s->connection_id,
        .flags = (uint8_t)((s->retry ? 4u : 0) | (reason != 0)), /* RETRY as in the request (5.9.4.5) */
        .reason = reason,
    };
    send_iu(p, &iu);
    s->phase = SETUP_AWAIT_RESP3;
}

/* A refusal: what the application gets and where the Endpoint goes (8.2 b and c, VI-DG 6.7). */
static void refused(struct fcvi_port *p, struct vi *vi, uint8_t reason)
{
    bool error = reason >= 0x20 && reason <= 0x3F;
    bool no_match = reason == 0x01 || reason == 0x03;
    if (error) {
        connection_fail(p, vi, false);
    } else {
        vi->connection.known = false;
        set_state(p, vi, FCVI_STATE_IDLE);
    }
    finish_connect(p, vi, error ? VIP_NOT_REACHABLE : no_match ? VIP_NO_MATCH : VIP_REJECT);
    vi->setup = NONE;
}

/* FCVI_CONNECT_RESP1 is complete. CONN_STS alone says whether it accepts (E07). */
void originator_resp1(struct fcvi_port *p, struct setup *s)
{
    struct vi *vi = owner(p, s);
    bool understood = take_connect(s);
    bool accept = (s->flags & 1u) == 0;
    if (!accept && s->received >= FCVI_CONN_LENGTH)
        understood = true; /* the rest of a refusal says nothing (E40) */
    if (!understood || (accept && s->remote_handle == FCVI_UNASSIGNED)) {
        originator_failed(p, s);
        return;
    }
    timer_stop(p, TIMER_T1, setup_index(p, s));
    if (vi->setup != setup_index(p, s) || !vi->blocked) {
        send_resp2(p, s, 0x02); /* the application has given up: Connect Timeout (C.5.2) */
        return;
    }
    if (!accept) {
        send_resp2(p, s, 0);
        s->refused = true;
        refused(p, vi, s->reason_in);
        return;
    }
    /* C.5.5: reception before RESP2; C.5.3: RESP2 and the return of the call are one step */
    connection_begin(vi, s);
    vi->connection.receiving = vi->connection.established = true;
    send_resp2(p, s, 0);
    set_state(p, vi, FCVI_STATE_CONNECTED);
    finish_connect(p, vi, VIP_SUCCESS);
}

/* FCVI_CONNECT_RESP3 ends the Exchange; the client's Descriptors may complete (C.5.1, Annex F). */
void originator_resp3(struct fcvi_port *p, struct setup *s)
{
    struct vi *vi = owner(p, s);
    bool connected = vi->setup == setup_index(p, s) && vi->state == FCVI_STATE_CONNECTED;
    setup_free(p, s);
    if (connected) {
        vi->connection.confirmed = true;
        release_sent(p, vi);
    }
}

/* T1: the application stops waiting; the Exchange goes on until T3 (C.5.2, C.5.7.1). */
void originator_t1(struct fcvi_port *p, struct setup *s)
{
    struct vi *vi = owner(p, s);
    set_state(p, vi, FCVI_STATE_IDLE);
    vi->connection.known = false;
    finish_connect(p, vi, VIP_TIMEOUT);
    flush(p, vi); /* C.5.5 (E62) */
    vi->setup = NONE;
    s->refused = true;
    s->retry_next = false;
    if (s->phase == SETUP_AWAIT_LOGIN)
        setup_free(p, s);
}

/* T3, or a Sequence error on the Exchange (8.5.3 a): abort it, then retry, give up or report the loss. */
void originator_failed(struct fcvi_port *p, struct setup *s)
{
    struct vi *vi = owner(p, s);
    uint32_t index = setup_index(p, s);
    bool owned = vi->setup == index;
    if (s->phase == SETUP_AWAIT_LOGIN) {
        originator_unreachable(p, s);
        return;
    }
    s->phase = SETUP_AWAIT_BA_ACC;
    s->retry_next = false;
    send_abts(p, &s->exchange);
    timer_start(p, TIMER_SETUP, index, p->config.r_a_tov_us); /* C rules 2b and 3b */
    if (!owned || s->refused)
        return; /* C rule 2: the Endpoint is Idle (or refused), there is no retry */
    if (vi->state == FCVI_STATE_PENDING_CONNECT) { /* C rule 3 */
        s->retry_next = true;
        set_state(p, vi, FCVI_STATE_PENDING_CONNECT_RETRY);
        return;
    }
    timer_stop(p, TIMER_T1, index);
    bool connected = vi->state == FCVI_STATE_CONNECTED;
    if (vi->state == FCVI_STATE_PENDING_CONNECT_RETRY) /* C rule 4 */
        finish_connect(p, vi, VIP_NOT_REACHABLE);
    vi->connection.timed_out = true;
    connection_fail(p, vi, connected); /* C rule 5 when it was Connected */
    vi->setup = NONE;
}

/* BA_ACC, BA_RJT, or none of them for R_A_TOV: the Exchange is over. */
void originator_aborted(struct fcvi_port *p, struct setup *s)
{
    if (!s->retry_next) {
        setup_free(p, s);
        return;
    }
    s->retry_next = false;
    s->retry = true;
    originator_start(p, s); /* 8.5.4 a: new Exchange, new FCVI_CONNECTION_ID, same handle */
}
