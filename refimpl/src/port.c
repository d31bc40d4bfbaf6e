/* Layout of the block, time, and the way of frames in and out. */
#include "internal.h"

struct layout {
    size_t vis, setups, points, regions, entries, events, timers, heap, control, memory, size;
    uint32_t control_count;
};

static size_t lay(size_t *at, size_t count, size_t size)
{
    size_t start = *at;
    *at = (start + count * size + 15) & ~(size_t)15;
    return start;
}

static bool limits_valid(const struct fcvi_port_limits *l)
{
    return l->vis >= 1 && l->vis <= 0xFFFF && l->connectionpoints >= 1 && l->connectionpoints <= 1u << 20 &&
           l->exchanges >= 1 && l->exchanges <= 0xFFFF && l->regions >= 1 && l->regions <= 1u << 20 &&
           l->descriptors >= 1 && l->descriptors <= 1u << 16 && l->events >= 16 && l->events <= 1u << 24 &&
           l->memory <= 1u << 31 && l->max_transfer_size >= 1;
}

static struct layout layout_of(const struct fcvi_port_limits *l)
{
    struct layout y = {0};
    size_t at = (sizeof(struct fcvi_port) + 15) & ~(size_t)15;
    uint32_t setups = l->vis + l->connectionpoints;
    y.control_count = 4 * setups + 16;
    y.vis = lay(&at, l->vis, sizeof(struct vi));
    y.setups = lay(&at, setups, sizeof(struct setup));
    y.points = lay(&at, l->connectionpoints, sizeof(struct point));
    y.regions = lay(&at, l->regions, sizeof(struct region));
    y.entries = lay(&at, (size_t)l->vis * 2 * l->descriptors, sizeof(struct entry));
    y.events = lay(&at, l->events, sizeof(struct fcvi_event));
    y.timers = lay(&at, timers_needed(l), sizeof(struct timer));
    y.heap = lay(&at, timers_needed(l), sizeof(uint32_t));
    y.control = lay(&at, y.control_count, sizeof(struct control_frame));
    y.memory = lay(&at, l->memory, 1);
    y.size = at;
    return y;
}

size_t fcvi_port_size(const struct fcvi_port_limits *limits)
{
    return limits_valid(limits) ? layout_of(limits).size : 0;
}

static bool config_valid(const struct fcvi_port_config *c)
{
    return c->self.n_port_id <= 0xFFFFFF && c->peer.n_port_id <= 0xFFFFFF && c->self.hosts >= 1 &&
           c->self.hosts <= FCVI_MAX_HOSTS && c->peer.hosts <= FCVI_MAX_HOSTS && c->topology <= FCVI_FABRIC &&
           (c->service_class == 2 || c->service_class == 3) && c->r_a_tov_us >= 1 && c->receive_size >= 256 &&
           c->receive_size <= 2112;
}

static void place_arrays(struct fcvi_port *p, const struct layout *y)
{
    p->vis = y->vis;
    p->setups = y->setups;
    p->points = y->points;
    p->regions = y->regions;
    p->entries = y->entries;
    p->events = y->events;
    p->timers = y->timers;
    p->heap = y->heap;
    p->control = y->control;
    p->memory = y->memory;
    p->control_size = y->control_count;
}

struct fcvi_port *fcvi_port_init(void *memory, size_t size, const struct fcvi_port_limits *limits,
                                 const struct fcvi_port_config *config)
{
    if (!limits_valid(limits) || !config_valid(config) || size < fcvi_port_size(limits))
        return NULL;
    struct layout y = layout_of(limits);
    memset(memory, 0, y.size);
    struct fcvi_port *p = memory;
    p->limits = *limits;
    p->config = *config;
    place_arrays(p, &y);
    for (uint32_t i = 0; i < timers_needed(limits); i++)
        ARRAY(p, struct timer, timers, i)->place = NONE;
    /* what the standard leaves open differs from seed to seed */
    p->next_connection_id = (uint32_t)(config->seed * 2654435761u) | 1u;
    p->next_ox_id = (uint16_t)(config->seed * 40503u + 1);
    p->next_rx_id = (uint16_t)(config->seed * 30011u + 1);
    struct remote_port *peer = remote_port(p, config->peer.n_port_id, true);
    peer->logged_in = peer->usable = !config->explicit_login;
    return p;
}

/* ---- time ---- */

static void expire(struct fcvi_port *p, enum timer_kind kind, uint32_t index)
{
    struct setup *s;
    switch (kind) {
    case TIMER_T0:
        responder_t0(p, index);
        break;
    case TIMER_T1:
        originator_t1(p, setup_at(p, index));
        break;
    case TIMER_SETUP:
        s = setup_at(p, index);
        if (!s->originator)
            responder_t2(p, s);
        else if (s->phase == SETUP_AWAIT_BA_ACC)
            originator_aborted(p, s);
        else
            originator_failed(p, s);
        break;
    default:
        disconnect_timeout(p, vi_at(p, index));
        break;
    }
}

void fcvi_port_run(struct fcvi_port *port, uint64_t now)
{
    enum timer_kind kind;
    uint32_t index;
    while (timer_next(port, now, &kind, &index))
        expire(port, kind, index);
    if (now > port->now)
        port->now = now;
}

/* ---- frames in ---- */

static void receive_connection_iu(struct fcvi_port *p, const struct fcvi_frame *f)
{
    uint32_t peer = (uint32_t)fcvi_FC_S_ID(f->fc);
    bool from_responder = fcvi_FC_Exchange_Context(f->fc);
    if (f->iu == FCVI_IU_CONNECT_RQST) {
        responder_rqst(p, f);
        return;
    }
    struct setup *s = setup_of_exchange(p, from_responder, peer, (uint16_t)fcvi_FC_OX_ID(f->fc));
    if (s == NULL || s->phase == SETUP_AWAIT_BA_ACC || fcvi_DH_FCVI_CONNECTION_ID(f->dh) != s->connection_id)
        return; /* C rule 1: frames of a failed setup are discarded */
    if (!sequence_ok(&s->exchange, f)) {
        if (s->originator)
            originator_failed(p, s); /* 8.5.2 a, 8.5.3 a */
        else
            responder_t2(p, s); /* 8.5.3 d */
        return;
    }
    if (s->originator && s->exchange.rx_id == FC_X_ID_UNASSIGNED)
        s->exchange.rx_id = (uint16_t)fcvi_FC_RX_ID(f->fc);
    if (f->iu == FCVI_IU_CONNECT_RESP2) {
        if (s->phase == SETUP_AWAIT_RESP2)
            responder_resp2(p, s, f);
        return;
    }
    if (f->iu == FCVI_IU_CONNECT_RESP3) {
        if (s->phase == SETUP_AWAIT_RESP3)
            originator_resp3(p, s);
        return;
    }
    if (s->phase != SETUP_AWAIT_RESP1 || s->received + f->payload_length > CONNECT_BUFFER)
        return;
    memcpy(s->buffer + s->received, f->payload, f->payload_length);
    s->received += f->payload_length;
    s->flags = (uint8_t)fcvi_DH_FCVI_FLAGS(f->dh);
    s->reason_in = (uint8_t)fcvi_DH_Reason_Code(f->dh);
    if (fcvi_FC_End_Sequence(f->fc))
        originator_resp1(p, s);
}

static void receive_disconnect(struct fcvi_port *p, const struct fcvi_frame *f)
{
    if (f->iu == FCVI_IU_DISCONNECT_RQST) {
        disconnect_rqst(p, f);
        return;
    }
    for (uint32_t i = 0; i < p->limits.vis; i++) {
        struct vi *vi = vi_at(p, i);
        const struct exchange *x = &vi->disconnect_exchange;
        if (vi->disconnect == DISCONNECT_AWAIT_RESP && x->ox_id == fcvi_FC_OX_ID(f->fc) &&
            x->peer == fcvi_FC_S_ID(f->fc))
            disconnect_resp(p, vi, f);
    }
}

static void receive_iu(struct fcvi_port *p, const struct fcvi_frame *f)
{
    if (f->iu == FCVI_IU_NONE || f->dh_length < 32)
        return; /* E45: discarded; the 16-byte IUs answer Reliable Reception, which this port lacks */
    unsigned bit = 1u << f->iu;
    if (bit & FCVI_IUS_DISCONNECT)
        receive_disconnect(p, f);
    else if (bit & FCVI_IUS_CONNECTION)
        receive_connection_iu(p, f);
    else if (f->iu == FCVI_IU_SEND_RQST)
        message_receive(p, f);
}

static void receive_bls(struct fcvi_port *p, const struct fcvi_frame *f)
{
    uint8_t r_ctl = (uint8_t)fcvi_FC_R_CTL(f->fc);
    uint32_t peer = (uint32_t)fcvi_FC_S_ID(f->fc);
    uint16_t ox_id = (uint16_t)fcvi_FC_OX_ID(f->fc);
    bool from_responder = fcvi_FC_Exchange_Context(f->fc);
    struct setup *s = setup_of_exchange(p, from_responder, peer, ox_id);
    if (r_ctl == 0x81) {
        /* FC-FS: an Exchange unknown here is accepted as aborted, too (C.5.7.1) */
        if (s != NULL && !s->originator)
            s->aborted_by_peer = true;
        send_ba_acc(p, f);
        return;
    }
    if (r_ctl != 0x84 && r_ctl != 0x85)
        return;
    if (s != NULL && s->originator && s->phase == SETUP_AWAIT_BA_ACC)
        originator_aborted(p, s);
    for (uint32_t i = 0; i < p->limits.vis; i++) {
        struct vi *vi = vi_at(p, i);
        if (vi->disconnect == DISCONNECT_AWAIT_BA_ACC && vi->disconnect_exchange.ox_id == ox_id &&
            vi->disconnect_exchange.peer == peer)
            disconnect_aborted(p, vi);
    }
}

void fcvi_port_receive(struct fcvi_port *port, uint64_t now, const struct fcvi_input *frame)
{
    struct fcvi_frame f;
    fcvi_port_run(port, now);
    fcvi_decode(frame, &f, NULL);
    bool intact = frame->crc != FCVI_CRC_BAD &&
                  (frame->eof == FCVI_EOF_NONE || frame->eof == FCVI_EOF_N || frame->eof == FCVI_EOF_T);
    if (f.kind == FCVI_KIND_MALFORMED || !intact || fcvi_FC_D_ID(f.fc) != port->config.self.n_port_id)
        return; /* FC-2 drops it, in class 3 without a word */
    if (f.kind == FCVI_KIND_ELS) {
        login_els(port, &f);
        return;
    }
    const struct remote_port *r = remote_port(port, (uint32_t)fcvi_FC_S_ID(f.fc), false);
    if (r == NULL || !r->logged_in)
        return;
    if (f.kind == FCVI_KIND_BLS)
        receive_bls(port, &f);
    else if (f.kind == FCVI_KIND_IU)
        receive_iu(port, &f);
}

/* ---- frames out ---- */

size_t fcvi_port_transmit(struct fcvi_port *port, uint64_t now, uint8_t *out, size_t capacity,
                          struct fcvi_transmitted *meta)
{
    fcvi_port_run(port, now);
    if (capacity < 24 + 2112)
        return 0;
    if (port->control_count == 0)
        return message_frame(port, out, meta);
    const struct control_frame *c = ARRAY(port, struct control_frame, control, port->control_head);
    port->control_head = (port->control_head + 1) % port->control_size;
    port->control_count--;
    memcpy(out, c->bytes, c->length);
    meta->sof = c->sof;
    meta->eof = c->eof;
    return c->length;
}

void fcvi_port_link(struct fcvi_port *port, uint64_t now, enum fcvi_link event)
{
    fcvi_port_run(port, now);
    if (event != FCVI_LINK_LOGO && event != FCVI_LINK_NOS)
        return; /* 7.7.1: LR changes no identifier; this port is on no loop, so LIP does not occur */
    for (uint32_t i = 0; i < REMOTE_PORTS; i++) {
        struct remote_port *r = &port->remote[i];
        if (!r->used || !r->logged_in)
            continue;
        if (event != FCVI_LINK_NOS) { /* 7.7.2: NOS/OLS logs out implicitly */
            uint8_t *frame = control_new(port, 24 + 16, FCVI_EOF_T);
            if (frame != NULL) {
                put_header(port, frame, 0x22, 0x01, r->id);
                fcvi_set_FC_OX_ID(frame, exchange_open(port, r->id).ox_id);
                fcvi_set_FC_First_Sequence(frame, 1);
                fcvi_set_ELS_ELS_Command(frame + 24, 0x05);
                fcvi_store(frame + 29, 3, port->config.self.n_port_id);
                fcvi_store(frame + 32, 8, port->config.self.port_name);
            }
        }
        logout(port, r->id);
    }
}
