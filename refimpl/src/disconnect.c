/* Disconnect: 6.12, 6.13, 8.6 and Annex D. */
#include "internal.h"

enum { TRANSPORT_ERROR = 0x40, PROTOCOL_ERROR = 0x48, SETUP_TIMEOUT = 0x49, DOES_NOT_EXIST = 0x4A };
enum { CONN_STS = 1, VI_APP_DISCON = 2, CONN_SETUP_ABORT = 4 }; /* Table 10 */

/* 6.12.2, 6.13.2: the last Message completed here; received ones first (E28), 0 when there is none. */
static uint32_t last_completed(const struct vi *vi)
{
    return vi->rx.last_completed != 0 ? vi->rx.last_completed : vi->tx.last_completed;
}

/* ---- the side that disconnects ---- */

static void send_rqst(struct fcvi_port *p, struct vi *vi)
{
    const struct connection *c = &vi->connection;
    uint8_t reason = 0;
    if (c->timed_out) /* 5.9.7.3.2: 49h is for an originator that waited for RESP3 in vain (E116) */
        reason = c->originator && !c->established ? SETUP_TIMEOUT : TRANSPORT_ERROR;
    vi->disconnect_exchange = exchange_open(p, c->peer);
    struct iu iu = {
        .iu = FCVI_IU_DISCONNECT_RQST,
        .exchange = &vi->disconnect_exchange,
        .handle = c->remote_handle, /* FFFFFFFFh while it is not known (E04) */
        .connection_id = c->established ? 0 : c->connection_id,
        .msg_id = c->established ? last_completed(vi) : 0,
        .flags = (uint8_t)(VI_APP_DISCON | (c->established ? 0 : CONN_SETUP_ABORT) | (reason != 0)),
        .reason = reason,
    };
    send_iu(p, &iu);
    vi->disconnect = DISCONNECT_AWAIT_RESP;
    timer_start(p, TIMER_DISCONNECT, vi_index(p, vi), p->config.r_a_tov_us);
}

/* A setup that is still open ends with the Disconnect: its Exchange is aborted by the originator (E115). */
static void end_setup(struct fcvi_port *p, struct vi *vi)
{
    struct setup *s = vi->setup != NONE ? setup_at(p, vi->setup) : NULL;
    if (s == NULL)
        return;
    vi->setup = NONE;
    if (!s->originator) {
        setup_free(p, s);
    } else if (s->phase == SETUP_AWAIT_RESP1) {
        s->refused = true;
        originator_failed(p, s);
    } else {
        s->retry_next = false; /* waiting for RESP3 or BA_ACC goes on without the Endpoint */
        s->refused = true;
    }
}

int disconnect_start(struct fcvi_port *p, struct vi *vi, uint64_t token)
{
    if (vi->disconnect == DISCONNECT_AWAIT_RESP)
        return VIP_ERROR_RESOURCE;
    finish_connect(p, vi, VIP_ERROR_RESOURCE);
    if (vi->state == FCVI_STATE_IDLE || !vi->connection.known) {
        /* no connection: nothing to say to anybody (E76), or nobody to say it to after a logout (E86) */
        set_state(p, vi, FCVI_STATE_IDLE);
        flush(p, vi);
        return VIP_SUCCESS;
    }
    end_setup(p, vi);
    vi->connection.receiving = false;
    flush(p, vi);
    vi->disconnect_token = token;
    send_rqst(p, vi);
    set_state(p, vi, FCVI_STATE_ERROR); /* until it is answered (D.1 rule 1c) */
    return FCVI_VIP_PENDING;
}

void disconnect_resp(struct fcvi_port *p, struct vi *vi, const struct fcvi_frame *f)
{
    if (!sequence_ok(&vi->disconnect_exchange, f)) {
        disconnect_timeout(p, vi); /* 8.6.2 a, 8.6.3 a */
        return;
    }
    timer_stop(p, TIMER_DISCONNECT, vi_index(p, vi));
    vi->disconnect = DISCONNECT_NONE;
    flush(p, vi);
    set_state(p, vi, FCVI_STATE_IDLE);
    event_call(p, vi->disconnect_token, VIP_SUCCESS);
}

/* 8.6.3 a: abort the Exchange, stay in Error, VIP_NOT_REACHABLE. This port does not retry (E59). */
void disconnect_timeout(struct fcvi_port *p, struct vi *vi)
{
    if (vi->disconnect == DISCONNECT_AWAIT_BA_ACC) {
        disconnect_aborted(p, vi);
        return;
    }
    send_abts(p, &vi->disconnect_exchange);
    vi->disconnect = DISCONNECT_AWAIT_BA_ACC;
    timer_start(p, TIMER_DISCONNECT, vi_index(p, vi), p->config.r_a_tov_us);
    event_call(p, vi->disconnect_token, VIP_NOT_REACHABLE);
}

void disconnect_aborted(struct fcvi_port *p, struct vi *vi)
{
    timer_stop(p, TIMER_DISCONNECT, vi_index(p, vi));
    vi->disconnect = DISCONNECT_NONE;
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
                         .rx_id = p->next_rx_id};
    p->next_rx_id = (uint16_t)(p->next_rx_id % 0xFFFE + 1);
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
    send_iu(p, &iu);
}

/* The Endpoint goes to Error and its application hears of it, unless it had let go before (D.2). */
static void lose(struct fcvi_port *p, struct vi *vi)
{
    vi->connection.receiving = false;
    if (vi->state == FCVI_STATE_IDLE || vi->state == FCVI_STATE_ERROR)
        return;
    end_setup(p, vi); /* C.5.9.2: T2 is cleared */
    finish_connect(p, vi, VIP_TIMEOUT);
    connection_fail(p, vi, true);
}

static struct setup *setup_of_id(struct fcvi_port *p, uint32_t peer, uint32_t id)
{
    for (uint32_t i = 0; i < setup_count(p); i++) {
        struct setup *s = setup_at(p, i);
        bool open = s->phase == SETUP_OFFERED || s->phase == SETUP_AWAIT_RESP2;
        if (open && !s->originator && s->exchange.peer == peer && s->connection_id == id)
            return s;
    }
    return NULL;
}

static struct vi *vi_of_id(struct fcvi_port *p, uint32_t peer, uint32_t id)
{
    for (uint32_t i = 0; i < p->limits.vis; i++) {
        struct vi *vi = vi_at(p, i);
        const struct connection *c = &vi->connection;
        if (vi->used && c->known && !c->originator && c->peer == peer && c->connection_id == id)
            return vi;
    }
    return NULL;
}

/* An aborted setup: by FCVI_CONNECTION_ID (6.12.2); rules 3 and 6 for what is not known. */
static struct answer abort_setup(struct fcvi_port *p, uint32_t peer, uint32_t id, struct vi *named)
{
    struct setup *s = setup_of_id(p, peer, id);
    struct vi *vi = s != NULL && s->vi != NONE ? vi_at(p, s->vi) : vi_of_id(p, peer, id);
    if (s != NULL && s->vi == NONE) {
        struct answer a = {s->remote_handle, 0, 0};
        setup_free(p, s); /* offered to the application: its answer will find nothing */
        return a;
    }
    if (vi != NULL) {
        lose(p, vi);
        return (struct answer){vi->connection.remote_handle, 0, 0};
    }
    if (named != NULL)
        return (struct answer){named->connection.remote_handle, PROTOCOL_ERROR, 0};
    return (struct answer){FCVI_UNASSIGNED, DOES_NOT_EXIST, 0};
}

void disconnect_rqst(struct fcvi_port *p, const struct fcvi_frame *f)
{
    uint32_t peer = (uint32_t)fcvi_FC_S_ID(f->fc);
    bool intact = fcvi_FC_SEQ_CNT(f->fc) == 0 && fcvi_FC_First_Sequence(f->fc) &&
                  fcvi_FC_End_Sequence(f->fc) && !fcvi_FC_Exchange_Context(f->fc) && f->payload_length == 0;
    if (!intact)
        return; /* 8.6.3 b */
    struct vi *vi = vi_of_handle(p, (uint32_t)fcvi_DH_FCVI_HANDLE(f->dh), peer);
    struct answer a = {FCVI_UNASSIGNED, DOES_NOT_EXIST, 0};
    if (fcvi_DH_CONN_SETUP_ABORT(f->dh)) {
        a = abort_setup(p, peer, (uint32_t)fcvi_DH_FCVI_CONNECTION_ID(f->dh), vi);
    } else if (vi != NULL) {
        a = (struct answer){vi->connection.remote_handle, 0, last_completed(vi)};
        lose(p, vi);
    }
    send_resp(p, f, &a);
}
