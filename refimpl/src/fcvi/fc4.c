/* What FC-VI makes of what FC-2 tells it: setups, VIs and Messages, which FC-2 itself does not know. */
#include "../block/timers.h"
#include "../vi/events.h"
#include "message.h"
#include "setup.h"

/* ---- Exchanges ---- */

/* An Exchange, and with it a SEQ_ID, is free again. */
static void exchange_left(struct fcvi_port *p)
{
    fcvi_schedule_wake_starved(p);
}

/* Its frames or its answer have not come (Annex B rules 8e and 9). */
static void message_timeout(struct fcvi_port *p, struct exchange *x)
{
    FCVI_ASSERT(x->kind == X_MESSAGE);
    if (x->unacked != 0)
        fcvi_message_class2_failed(p, x);
    else
        fcvi_message_response_missing(p, x);
}

/* Rules 8a, 8c and 8d. */
static void message_failed(struct fcvi_port *p, struct exchange *x)
{
    FCVI_ASSERT(x->kind == X_MESSAGE);
    fcvi_message_class2_failed(p, x);
}

static void acknowledged(struct fcvi_port *p, struct exchange *x)
{
    FCVI_ASSERT(x->kind == X_MESSAGE && x->unacked == 0);
    fcvi_message_acknowledged(p, x);
}

static void wake(struct fcvi_port *p, const struct exchange *x)
{
    FCVI_ASSERT(x->owner < p->limits.vis);
    fcvi_schedule_wake(p, vi_at(p, x->owner));
}

/* Some frames of the Exchange are to be sent again (rule 8b). */
static void resend(struct fcvi_port *p, const struct exchange *x)
{
    FCVI_ASSERT(x->kind == X_MESSAGE && x->resend != 0);
    vi_at(p, x->owner)->tx.resend = true;
    wake(p, x);
}

/* A frame of a setup or Disconnect came back. */
static void rejected(struct fcvi_port *p, const struct exchange *x)
{
    if (x->kind == X_DISCONNECT)
        fcvi_disconnect_failed(p, vi_at(p, x->owner));
    if (x->kind == X_CONFIRMED)
        fcvi_rev1_unconfirmed(p, x);
    if (x->kind != X_SETUP)
        return;
    struct setup *s = setup_at(p, x->owner);
    if (!s->originator)
        fcvi_responder_t2(p, s);
    else if (s->phase == SETUP_AWAIT_RESP1 || s->phase == SETUP_AWAIT_RESP3)
        fcvi_originator_failed(p, s);
}

/* ---- link and login ---- */

static void link_ready(struct fcvi_port *p)
{
    for (uint32_t i = 0; i < p->limits.setups; i++)
        if (setup_at(p, i)->phase == SETUP_AWAIT_LINK)
            fcvi_originator_begin(p, setup_at(p, i));
    for (uint32_t i = 0; i < p->limits.vis; i++)
        fcvi_schedule_wake(p, vi_at(p, i));
}

/* The setups that waited for the login go on, or fail when there is none. */
static void login_done(struct fcvi_port *p, const struct remote_port *r)
{
    for (uint32_t i = 0; i < p->limits.setups; i++) {
        struct setup *s = setup_at(p, i);
        if (s->phase != SETUP_AWAIT_LOGIN || s->peer != r->id)
            continue;
        if (r->logged_in)
            fcvi_originator_begin(p, s);
        else
            fcvi_originator_unreachable(p, s);
    }
}

/* A Peer that was told that nobody is there, and has no setup: it stays in the pool until its Timeout, and
 * the other one may come after a login of its own (VI-DG 6.7). */
static bool only_waits(const struct vi *vi)
{
    return vi->peer.phase == PEER_PENDING && vi->setup == NONE && vi->inbound == NONE &&
           vi->state == FCVI_STATE_PENDING_CONNECT;
}

/* 7.7.1: setups and connections with that port are over, without Disconnect IUs (E86). */
static void logged_out(struct fcvi_port *p, uint32_t id)
{
    for (uint32_t i = 0; i < p->limits.vis; i++) { /* before the setups end, which others have */
        struct vi *vi = vi_at(p, i);
        if (vi->connection.known && vi->connection.peer == id && only_waits(vi))
            fcvi_connection_forget(p, vi);
    }
    for (uint32_t i = 0; i < p->limits.setups; i++) {
        struct setup *s = setup_at(p, i);
        if (s->phase >= SETUP_AWAIT_RESP1 && s->peer == id)
            fcvi_setup_free(p, s);
    }
    for (uint32_t i = 0; i < p->limits.vis; i++) {
        struct vi *vi = vi_at(p, i);
        const struct connection *c = &vi->connection;
        if (!c->known || c->peer != id)
            continue;
        bool alive = vi->state != FCVI_STATE_IDLE && vi->state != FCVI_STATE_ERROR;
        fcvi_timer_stop(p, TIMER_T1, i);
        if (vi->setup != NONE)
            fcvi_setup_free(p, setup_at(p, vi->setup)); /* a retry that waited for link, address or login */
        fcvi_connection_forget(p, vi);
        fcvi_vi_connect_done(p, vi, VIP_NOT_REACHABLE, NULL);
        fcvi_disconnect_abandon(p, vi);
        if (alive)
            fcvi_connection_fail(p, vi, true);
    }
}

/* ---- where a Host Address is ---- */

/* The setups that waited for this Host Address go on. */
static void host_found(struct fcvi_port *p, const uint8_t *host, uint32_t id)
{
    for (uint32_t i = 0; i < p->limits.setups; i++) {
        struct setup *s = setup_at(p, i);
        if (s->phase != SETUP_AWAIT_ADDRESS || memcmp(s->remote.host, host, 16) != 0)
            continue;
        fcvi_fc2_host_add(p, host, id);
        if (s->exchange != NONE)
            fcvi_fc2_exchange_free(p, s->exchange);
        s->exchange = NONE;
        fcvi_originator_begin(p, s);
    }
}

/* The answer to a query; 0 when it names no port to connect to. */
static void query_answered(struct fcvi_port *p, const struct exchange *x, uint32_t id)
{
    FCVI_ASSERT(x->kind == X_QUERY);
    struct setup *s = setup_at(p, x->owner);
    if (id == 0) {
        fcvi_originator_unreachable(p, s);
        return;
    }
    const struct fcvi_address wanted = s->remote; /* the setup may end at once */
    host_found(p, wanted.host, id);
}

/* The login with the Name Server is there, or will not be: FARP has to do then. */
static void name_server(struct fcvi_port *p, bool logged_in)
{
    for (uint32_t i = 0; i < p->limits.setups; i++) {
        struct setup *s = setup_at(p, i);
        if (s->phase != SETUP_AWAIT_ADDRESS || s->exchange != NONE)
            continue;
        if (logged_in)
            fcvi_originator_query(p, s);
        else if (p->now < s->until)
            fcvi_originator_ask(p, s);
    }
}

/* ---- Messages ---- */

/* Annex F: on an In-Order Fabric a Message before FCVI_CONNECT_RESP3 shows that RESP3 is lost. */
static bool resp3_lost(struct fcvi_port *p, const struct vi *vi)
{
    const struct connection *c = &vi->connection;
    return p->config.resp3_is_message_0 && !p->config.out_of_order && c->originator && !c->confirmed &&
           vi->setup != NONE;
}

/* A Message IU. False when it is discarded because of an error: class 2 then asks for an ABTS (8.4.2 h). */
bool fcvi_message_receive(struct fcvi_port *p, const struct fcvi_frame *f)
{
    struct vi *vi =
        fcvi_connection_of_handle(p, (uint32_t)fcvi_DH_FCVI_HANDLE(f->dh), (uint32_t)fcvi_FC_S_ID(f->fc));
    bool response = FCVI_IUS_MSG_RESP >> f->iu & 1u;
    if (vi == NULL || !vi->connection.receiving)
        return response; /* rule 1: only the responder of a Message asks for an ABTS */
    if (response != (fcvi_FC_Exchange_Context(f->fc) != 0))
        return false; /* E45 */
    if (response) {
        fcvi_message_response_receive(p, vi, f);
        return true;
    }
    if (f->iu == FCVI_IU_READ_RQST && !reliable(vi))
        return false; /* 6.6.1 */
    if (resp3_lost(p, vi)) {
        fcvi_originator_failed(p, setup_at(p, vi->setup));
        return false;
    }
    return p->config.out_of_order ? fcvi_message_order_receive(p, vi, f) : fcvi_message_in_order(p, vi, f);
}

const struct fc4 fcvi_fc4 = {
    .exchange_left = exchange_left,
    .message_timeout = message_timeout,
    .message_failed = message_failed,
    .acknowledged = acknowledged,
    .wake = wake,
    .resend = resend,
    .rejected = rejected,
    .link_ready = link_ready,
    .login_done = login_done,
    .logged_out = logged_out,
    .host_found = host_found,
    .query_answered = query_answered,
    .name_server = name_server,
};
