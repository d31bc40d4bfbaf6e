/* Disconnect: 6.12, 6.13, 8.6 and Annex D. */
#include "../block/timers.h"
#include "../vi/events.h"
#include "setup.h"

enum { CONN_STS = 1, VI_APP_DISCON = 2, CONN_SETUP_ABORT = 4 }; /* Table 10 */

/* 6.12.2, 6.13.2: the last Message completed here; received ones first (E28), 0 when there is none. */
static uint32_t last_completed(const struct vi *vi)
{
    return vi->rx.last_completed != 0 ? vi->rx.last_completed : vi->tx.last_completed;
}

/* ---- the side that disconnects ---- */

static void send_rqst(struct fcvi_port *p, struct vi *vi, struct exchange *x)
{
    const struct connection *c = &vi->connection;
    uint8_t reason = c->failure;
    vi->disconnect_exchange = exchange_index(p, x);
    vi->disconnect = DISCONNECT_AWAIT_RESP;
    fcvi_timer_start(p, TIMER_DISCONNECT, vi_index(p, vi), p->config.r_a_tov_us);
    if (rev1(p)) {
        fcvi_rev1_disconnect_ask(p, vi, x);
        return;
    }
    struct iu iu = {
        .iu = FCVI_IU_DISCONNECT_RQST,
        .exchange = x,
        .handle = c->remote_handle, /* FFFFFFFFh while it is not known (E04) */
        .connection_id = c->established ? 0 : c->connection_id,
        .msg_id = c->established ? last_completed(vi) : 0,
        .flags = (uint8_t)(VI_APP_DISCON | (c->established ? 0 : CONN_SETUP_ABORT) | (reason != 0)),
        .reason = reason,
    };
    fcvi_fc2_send_iu(p, &iu);
}

/* A setup that is still open ends with the Disconnect: its Exchange is aborted by the originator (E115). In
 * Rev 1.0 nothing else would tell the other side, whoever has begun. */
static void end_setup(struct fcvi_port *p, struct vi *vi)
{
    struct setup *s = vi->setup != NONE ? setup_at(p, vi->setup) : NULL;
    fcvi_timer_stop(p, TIMER_T1, vi_index(p, vi));
    fcvi_peer_answer(p, vi, NO_WAITING);
    if (vi->inbound != NONE && rev1(p))
        fcvi_rev1_setup_abort(p, setup_at(p, vi->inbound));
    else if (vi->inbound != NONE)
        fcvi_setup_free(p, setup_at(p, vi->inbound));
    if (s == NULL)
        return;
    vi->setup = NONE; /* what waits for RESP3 or BA_ACC goes on without the Endpoint */
    if (s->phase < SETUP_AWAIT_RESP1)
        fcvi_setup_free(p, s);
    else if (s->phase == SETUP_AWAIT_RESP1)
        fcvi_originator_failed(p, s);
}

int fcvi_disconnect_start(struct fcvi_port *p, struct vi *vi, uint64_t token)
{
    if (vi->disconnect == DISCONNECT_AWAIT_RESP)
        return VIP_ERROR_RESOURCE;
    /* no connection: nothing to say to anybody (E76), or nobody to say it to after a logout (E86); in Rev 1.0
     * a Disconnect ends no setup */
    bool silent =
        vi->state == FCVI_STATE_IDLE || !vi->connection.known || (rev1(p) && !vi->connection.established);
    struct exchange *x =
        silent ? NULL : fcvi_fc2_exchange_open(p, X_DISCONNECT, vi_index(p, vi), vi->connection.peer);
    if (!silent && x == NULL)
        return VIP_ERROR_RESOURCE; /* before anything has changed: the call can be made again */
    fcvi_vi_connect_undone(p, vi);
    end_setup(p, vi);
    vi->connection.receiving = false;
    fcvi_vi_set_state(p, vi,
                      silent ? FCVI_STATE_IDLE : FCVI_STATE_ERROR); /* until it is answered (D.1 rule 1c) */
    fcvi_vi_flush(p, vi);                                           /* all, as it is not Connected any more */
    if (silent)
        return VIP_SUCCESS;
    vi->disconnect_token = token;
    vi->disconnect_again = false;
    send_rqst(p, vi, x);
    return FCVI_VIP_PENDING;
}

static void disconnected(struct fcvi_port *p, struct vi *vi)
{
    fcvi_timer_stop(p, TIMER_DISCONNECT, vi_index(p, vi));
    vi->disconnect = DISCONNECT_NONE;
}

void fcvi_disconnect_resp(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f)
{
    uint32_t exchange = vi->disconnect_exchange;
    FCVI_ASSERT(vi->disconnect == DISCONNECT_AWAIT_RESP);
    if (!fcvi_fc2_sequence_ok(exchange_at(p, exchange), f)) {
        fcvi_disconnect_timeout(p, vi); /* 8.6.2 a */
        return;
    }
    fcvi_fc2_exchange_free(p, exchange);
    disconnected(p, vi);
    fcvi_vi_set_state(p, vi, FCVI_STATE_IDLE);
    fcvi_event_call(p, vi->disconnect_token, VIP_SUCCESS);
}

/* No answer, or a faulty one: abort the Exchange (8.6.3 a), and ask once more in another (E59), but not in
 * Rev 1.0. */
void fcvi_disconnect_timeout(struct fcvi_port *p, struct vi *vi)
{
    FCVI_ASSERT(vi->disconnect == DISCONNECT_AWAIT_RESP);
    struct exchange *x = vi->disconnect_again || rev1(p)
                             ? NULL
                             : fcvi_fc2_exchange_open(p, X_DISCONNECT, vi_index(p, vi), vi->connection.peer);
    if (x == NULL) {
        fcvi_disconnect_failed(p, vi);
        return;
    }
    fcvi_fc2_exchange_abort(p, vi->disconnect_exchange);
    vi->disconnect_again = true;
    send_rqst(p, vi, x);
}

/* 8.6.3 a: abort the Exchange, stay in Error, VIP_NOT_REACHABLE. When the next VipDisconnect ends so as well,
 * the port logs out: that ends what no Disconnect can (Annex B rule 1c), and a third one leads to Idle, as
 * VI-DG 3.3.5 has it for every state. */
void fcvi_disconnect_failed(struct fcvi_port *p, struct vi *vi)
{
    const bool again = vi->connection.unanswered;
    FCVI_ASSERT(vi->disconnect == DISCONNECT_AWAIT_RESP);
    fcvi_fc2_exchange_abort(p, vi->disconnect_exchange);
    disconnected(p, vi);
    vi->connection.unanswered = true;
    fcvi_event_call(p, vi->disconnect_token, VIP_NOT_REACHABLE);
    struct remote_port *r = again ? fcvi_fc2_remote_find(p, vi->connection.peer) : NULL;
    if (r != NULL)
        fcvi_fc2_logout_explicit(p, r);
}

/* A logout: the Exchange is gone with the login, and so is what it was to end (E86). */
void fcvi_disconnect_abandon(struct fcvi_port *p, struct vi *vi)
{
    if (vi->disconnect == DISCONNECT_NONE)
        return;
    fcvi_fc2_exchange_free(p, vi->disconnect_exchange);
    disconnected(p, vi);
    fcvi_vi_set_state(p, vi, FCVI_STATE_IDLE);
    fcvi_event_call(p, vi->disconnect_token, VIP_SUCCESS);
}

/* ---- the side that is told ---- */

struct answer {
    uint32_t handle;
    uint8_t reason; /* 0: no status, which means success (E41) */
    uint32_t msg_id;
};

static void send_resp(struct fcvi_port *p, const struct fcvi_frame *f, const struct answer *a)
{
    struct exchange x = {.peer = (uint32_t)fcvi_FC_S_ID(f->fc),
                         .ox_id = (uint16_t)fcvi_FC_OX_ID(f->fc),
                         .rx_id = fcvi_fc2_transient_rx_id(p)};
    uint8_t echo = (uint8_t)(fcvi_DH_FCVI_FLAGS(f->dh) & (VI_APP_DISCON | CONN_SETUP_ABORT));
    struct iu iu = {
        .iu = FCVI_IU_DISCONNECT_RESP,
        .exchange = &x,
        .handle = a->handle,
        .connection_id = (uint32_t)fcvi_DH_FCVI_CONNECTION_ID(f->dh), /* repeated always (E05) */
        .msg_id = echo & CONN_SETUP_ABORT ? 0 : a->msg_id,
        .flags = (uint8_t)(echo | (a->reason != 0)),
        .reason = a->reason,
    };
    fcvi_fc2_send_iu(p, &iu);
}

/* The Endpoint goes to Error and its application hears of it, unless it had let go before (D.2). */
void fcvi_disconnect_lose(struct fcvi_port *p, struct vi *vi)
{
    if (vi->state == FCVI_STATE_IDLE || vi->state == FCVI_STATE_ERROR)
        return;
    fcvi_vi_connect_done(p, vi, vi->peer.phase == PEER_PENDING ? VIP_NOT_REACHABLE : VIP_TIMEOUT, NULL);
    end_setup(p, vi); /* C.5.9.2: T2 is cleared */
    fcvi_connection_fail(p, vi, true);
}

/* The party that a setup of that FCVI_CONNECTION_ID is for: a request not accepted yet, or a VI. */
static uint32_t party_of_id(struct fcvi_port *p, uint32_t peer, uint32_t id, struct vi *named)
{
    if (named != NULL && named->connection.connection_id == id)
        return p->limits.setups + vi_index(p, named);
    return fcvi_connection_party_find(p, true, peer, id, NONE);
}

/* An aborted setup: by FCVI_CONNECTION_ID (6.12.2); rules 3 and 6 for what is not known. */
static struct answer abort_setup(struct fcvi_port *p, uint32_t peer, uint32_t id, struct vi *named)
{
    uint32_t party = party_of_id(p, peer, id, named);
    if (party == NONE && named != NULL)
        return (struct answer){named->connection.remote_handle, PROTOCOL_ERROR, 0};
    if (party == NONE)
        return (struct answer){FCVI_UNASSIGNED, DOES_NOT_EXIST, 0};
    if (party < p->limits.setups) {
        struct answer a = {setup_at(p, party)->remote_handle, 0, 0};
        fcvi_setup_free(p, setup_at(p, party)); /* offered to the application: its answer will find nothing */
        return a;
    }
    struct vi *vi = vi_at(p, party - p->limits.setups);
    fcvi_disconnect_lose(p, vi);
    return (struct answer){vi->connection.remote_handle, 0, 0};
}

void fcvi_disconnect_rqst(struct fcvi_port *p, const struct fcvi_frame *f)
{
    uint32_t peer = (uint32_t)fcvi_FC_S_ID(f->fc);
    bool intact = fcvi_FC_SEQ_CNT(f->fc) == 0 && fcvi_FC_First_Sequence(f->fc) &&
                  fcvi_FC_End_Sequence(f->fc) && !fcvi_FC_Exchange_Context(f->fc) && f->payload_length == 0;
    if (!intact)
        return; /* 8.6.3 b */
    struct vi *vi = fcvi_connection_of_handle(p, (uint32_t)fcvi_DH_FCVI_HANDLE(f->dh), peer);
    struct answer a = {FCVI_UNASSIGNED, DOES_NOT_EXIST, 0};
    if (fcvi_DH_CONN_SETUP_ABORT(f->dh)) {
        a = abort_setup(p, peer, (uint32_t)fcvi_DH_FCVI_CONNECTION_ID(f->dh), vi);
    } else if (vi != NULL) {
        a = (struct answer){vi->connection.remote_handle, 0, last_completed(vi)};
        fcvi_disconnect_lose(p, vi);
    }
    send_resp(p, f, &a);
}
