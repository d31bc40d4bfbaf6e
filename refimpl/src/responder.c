/* The Connect Request responder: 4.2, 5.3.2, 8.5.3 d and Annex C rules 6 and 8 to 12. */
#include "internal.h"

enum {
    NO_MATCH = 0x01,
    NO_WAITING = 0x03,
    REJECT = 0x04,
    INVALID_SERVICE_PARM = 0x20,
    PROTOCOL_ERROR = 0x21
};

/* RETRY of the request is bit 4, of the responses bit 2 (E23). */
static uint8_t retry_flag(const struct setup *s)
{
    return s->retry ? 4 : 0;
}

/* FCVI_CONNECT_RESP1, accepting (reason 0) or refusing; T2 starts here (C.5.2, E55). */
static void send_resp1(struct fcvi_port *p, struct setup *s, uint8_t reason)
{
    uint8_t payload[FCVI_CONN_LENGTH];
    struct fcvi_attributes none = {.reliability = FCVI_UNRELIABLE};
    const struct fcvi_attributes *attributes = s->vi != NONE ? &vi_at(p, s->vi)->attributes : &none;
    struct iu iu = {
        .iu = FCVI_IU_CONNECT_RESP1,
        .exchange = &s->exchange,
        .handle = FCVI_UNASSIGNED,
        .connection_id = s->connection_id,
        .flags = (uint8_t)(retry_flag(s) | (reason != 0)),
        .reason = reason,
        .payload = payload,
    };
    iu.payload_length = put_connect(payload, &s->local, &s->remote, attributes, s->local_handle);
    send_iu(p, &iu);
    s->refused = reason != 0;
    s->reason = reason;
    s->phase = SETUP_AWAIT_RESP2;
    timer_start(p, TIMER_SETUP, setup_index(p, s), 2 * p->config.r_a_tov_us);
}

static void send_resp3(struct fcvi_port *p, struct setup *s)
{
    struct iu iu = {
        .iu = FCVI_IU_CONNECT_RESP3,
        .exchange = &s->exchange,
        .handle = s->remote_handle,
        .connection_id = s->connection_id,
        .flags = retry_flag(s),
    };
    send_iu(p, &iu);
}

/* The application has decided: the VI of the setup accepts, or s->reason refuses. */
void responder_answer(struct fcvi_port *p, struct setup *s)
{
    if (s->vi != NONE) { /* 4.2, C.5.5: bound and able to receive before RESP1 goes out */
        struct vi *vi = vi_at(p, s->vi);
        connection_begin(vi, s);
        vi->connection.receiving = true;
        set_state(p, vi, FCVI_STATE_PENDING_CONNECT);
    }
    send_resp1(p, s, s->vi != NONE ? 0 : s->reason);
}

/* ---- matching (4.2, VI-DG 6.7, E78) ---- */

static bool same_point(const struct fcvi_address *a, const struct fcvi_address *b)
{
    return a->discriminator_length == b->discriminator_length &&
           memcmp(a->discriminator, b->discriminator, a->discriminator_length) == 0 &&
           memcmp(a->host, b->host, sizeof a->host) == 0;
}

static struct point *match(struct fcvi_port *p, const struct setup *s, bool *any)
{
    *any = false;
    for (uint32_t i = 0; i < p->limits.connectionpoints; i++) {
        struct point *point = point_at(p, i);
        *any |= point->used;
        if (point->used && same_point(&point->local, &s->local))
            return point;
    }
    return NULL;
}

static void offer(struct fcvi_port *p, struct setup *s, struct point *point)
{
    point->used = false;
    timer_stop(p, TIMER_T0, (uint32_t)(point - point_at(p, 0)));
    s->phase = SETUP_OFFERED;
    struct fcvi_event *e = event_new(p, FCVI_EVENT_CALL);
    e->token = point->token;
    e->vip = VIP_SUCCESS;
    e->conn = setup_index(p, s);
    e->remote_address = s->remote;
    e->remote_attributes = s->remote_attributes;
}

/* ---- C rules 8 to 11 ---- */

/* The setup that a request with RETRY repeats: the same remote port and FCVI_RQST_HANDLE (E47). */
static struct setup *earlier(struct fcvi_port *p, const struct setup *retry)
{
    for (uint32_t i = 0; i < setup_count(p); i++) {
        struct setup *s = setup_at(p, i);
        bool open = s->phase == SETUP_OFFERED || s->phase == SETUP_AWAIT_RESP2;
        if (s != retry && open && !s->originator && s->exchange.peer == retry->exchange.peer &&
            s->remote_handle == retry->remote_handle)
            return s;
    }
    return NULL;
}

/* Rule 8: the open setup goes on in the Exchange, and with the FCVI_CONNECTION_ID, of the retry. */
static void continue_setup(struct fcvi_port *p, struct setup *old, struct setup *retry)
{
    old->exchange = retry->exchange;
    old->connection_id = retry->connection_id;
    old->retry = true;
    old->aborted_by_peer = false;
    setup_free(p, retry);
    if (old->vi != NONE)
        vi_at(p, old->vi)->connection.connection_id = old->connection_id;
    if (old->phase == SETUP_AWAIT_RESP2)
        send_resp1(p, old, old->refused ? old->reason : 0);
}

/* Rule 9: the connection that the retry asks for exists already. */
static bool connected_already(struct fcvi_port *p, struct setup *retry)
{
    for (uint32_t i = 0; i < p->limits.vis; i++) {
        struct vi *vi = vi_at(p, i);
        const struct connection *c = &vi->connection;
        if (!vi->used || vi->state != FCVI_STATE_CONNECTED || c->peer != retry->exchange.peer ||
            c->remote_handle != retry->remote_handle)
            continue;
        retry->vi = i;
        retry->local_handle = c->local_handle;
        vi->connection.connection_id = retry->connection_id;
        send_resp1(p, retry, 0);
        return true;
    }
    return false;
}

/* ---- FCVI_CONNECT_RQST ---- */

static bool login_usable(struct fcvi_port *p, uint32_t peer)
{
    const struct remote_port *r = remote_port(p, peer, false);
    return r != NULL && r->usable;
}

static void request_complete(struct fcvi_port *p, struct setup *s)
{
    uint8_t mode = s->flags & 7u;
    s->retry = s->flags >> 4 & 1u;
    bool understood = take_connect(s);
    bool any;
    if (!login_usable(p, s->exchange.peer))
        s->reason = INVALID_SERVICE_PARM; /* 5.6 */
    else if (!understood || s->remote_handle == FCVI_UNASSIGNED || (mode != 1 && mode != 2))
        s->reason = PROTOCOL_ERROR; /* E12, E25, E45 */
    else {
        struct setup *old = s->retry ? earlier(p, s) : NULL;
        if (old != NULL) {
            continue_setup(p, old, s);
            return;
        }
        if (s->retry && connected_already(p, s))
            return;
        struct point *point = match(p, s, &any);
        if (mode == 1 && point != NULL) {
            offer(p, s, point);
            return;
        }
        s->reason = any ? NO_MATCH : NO_WAITING; /* a Peer never meets a Server (VI-DG 3.3) */
    }
    responder_answer(p, s);
}

void responder_rqst(struct fcvi_port *p, const struct fcvi_frame *f)
{
    uint32_t peer = (uint32_t)fcvi_FC_S_ID(f->fc);
    uint16_t ox_id = (uint16_t)fcvi_FC_OX_ID(f->fc);
    struct setup *s = setup_of_exchange(p, false, peer, ox_id);
    bool starts = fcvi_FC_SEQ_CNT(f->fc) == 0 && fcvi_FC_Parameter(f->fc) == 0;
    if (s != NULL && s->phase != SETUP_ASSEMBLING)
        return; /* Table 1: never on an Exchange that is open */
    if (s == NULL) {
        s = starts && fcvi_FC_First_Sequence(f->fc) ? setup_new(p) : NULL;
        if (s == NULL)
            return; /* no room: the originator's T3 and retry recover it */
        s->phase = SETUP_ASSEMBLING;
        s->exchange = (struct exchange){.open = true, .peer = peer, .ox_id = ox_id, .rx_id = p->next_rx_id};
        p->next_rx_id = (uint16_t)(p->next_rx_id % 0xFFFE + 1);
        s->connection_id = (uint32_t)fcvi_DH_FCVI_CONNECTION_ID(f->dh);
        timer_start(p, TIMER_SETUP, setup_index(p, s), 2 * p->config.r_a_tov_us);
    }
    if (!sequence_ok(&s->exchange, f) || s->received + f->payload_length > CONNECT_BUFFER) {
        setup_free(p, s);
        return;
    }
    memcpy(s->buffer + s->received, f->payload, f->payload_length);
    s->received += f->payload_length;
    s->flags = (uint8_t)fcvi_DH_FCVI_FLAGS(f->dh);
    if (fcvi_FC_End_Sequence(f->fc)) {
        timer_stop(p, TIMER_SETUP, setup_index(p, s));
        request_complete(p, s);
    }
}

/* ---- FCVI_CONNECT_RESP2, T0 and T2 ---- */

void responder_resp2(struct fcvi_port *p, struct setup *s, const struct fcvi_frame *f)
{
    struct vi *vi = s->vi != NONE ? vi_at(p, s->vi) : NULL;
    bool gave_up = fcvi_DH_CONN_STS(f->dh);
    if (!s->refused && fcvi_DH_FCVI_HANDLE(f->dh) != s->local_handle)
        return; /* C rule 12 */
    send_resp3(p, s);
    if (vi != NULL && vi->state != FCVI_STATE_CONNECTED && gave_up) { /* C.5.6 */
        vi->connection.known = vi->connection.receiving = false;
        set_state(p, vi, FCVI_STATE_IDLE);
        finish_connect(p, vi, VIP_TIMEOUT);
    } else if (vi != NULL && vi->state == FCVI_STATE_PENDING_CONNECT) { /* C.5.4: one step with RESP3 */
        vi->connection.established = vi->connection.confirmed = true;
        set_state(p, vi, FCVI_STATE_CONNECTED);
        finish_connect(p, vi, VIP_SUCCESS);
    }
    setup_free(p, s);
}

void responder_t0(struct fcvi_port *p, uint32_t point)
{
    point_at(p, point)->used = false;
    event_call(p, point_at(p, point)->token, VIP_TIMEOUT);
}

/* No RESP2 for 2 x FCVI_ULP_TIMEOUT, or a Sequence error (8.5.3 d, C rule 6b, C.5.2). */
void responder_t2(struct fcvi_port *p, struct setup *s)
{
    struct vi *vi = s->vi != NONE ? vi_at(p, s->vi) : NULL;
    if (vi != NULL && vi->state == FCVI_STATE_PENDING_CONNECT) {
        vi->connection.timed_out = true;
        finish_connect(p, vi, VIP_TIMEOUT);
        connection_fail(p, vi, true);
    }
    setup_free(p, s);
}
