/* The port as a whole: its beginning, what a timer ends, and the way of frames in and out. */
#include "../block/timers.h"
#include "../fcvi/message.h"
#include "../fcvi/setup.h"
#include "../vitcp/stream.h"
#include "port_internal.h"

/* What Rev 1.0 does not have, and the one frame of its connection IUs (6.7, 6.8). */
static bool revision_valid(const struct fcvi_port_config *c)
{
    return c->revision == FCVI_EDITION_2007 ||
           (c->revision == FCVI_EDITION_REV1 && !c->connect_info && !c->resp3_is_message_0 &&
            c->receive_size >= REV1_LEAST_DATA_FIELD);
}

static bool fc_valid(const struct fcvi_port_config *c)
{
    return c->self.n_port_id <= 0xFFFFFF && c->peer.n_port_id <= 0xFFFFFF && c->self.hosts >= 1 &&
           c->self.hosts <= FCVI_MAX_HOSTS && c->peer.hosts <= FCVI_MAX_HOSTS && c->topology <= FCVI_FABRIC &&
           (c->service_class == 2 || c->service_class == 3) && c->r_a_tov_us >= 1 && c->receive_size >= 256 &&
           c->receive_size <= 2112 && revision_valid(c);
}

static bool config_valid(const struct fcvi_port_config *c, const struct fcvi_port_limits *limits)
{
    if (c->wire == FCVI_WIRE_VITCP)
        return limits->streams != 0 && fcvi_vitcp_config_valid(c);
    return c->wire == FCVI_WIRE_FC && limits->streams == 0 && fc_valid(c);
}

/* What a port of FC knows at first. */
static void begin_fc(struct fcvi_port *p, const struct fcvi_port_config *config)
{
    /* what the standard leaves open differs from seed to seed */
    p->next_connection_id = (uint32_t)(config->seed * 2654435761u) | 1u;
    p->next_ox_id = (uint16_t)(config->seed * 40503u + 1);
    p->rx_id_base = (uint16_t)(config->seed * 30011u + 1);
    p->own_id = config->self.n_port_id;
    fcvi_port_know(p, 0, &config->self);
    fcvi_port_know(p, 0, &config->peer);
    if (config->fabric_login)
        p->link = LINK_DOWN;
}

static void expire(struct fcvi_port *p, unsigned kind, uint32_t index)
{
    switch ((enum timer_kind)kind) {
    case TIMER_T0:
        fcvi_point_timeout(p, index);
        break;
    case TIMER_T1:
        p->wire->timeout(p, vi_at(p, index));
        break;
    case TIMER_STREAM:
        fcvi_vitcp_timeout(p, stream_at(p, index));
        break;
    case TIMER_SETUP:
        if (setup_at(p, index)->originator)
            fcvi_originator_timeout(p, setup_at(p, index));
        else
            fcvi_responder_t2(p, setup_at(p, index));
        break;
    case TIMER_DISCONNECT:
        fcvi_disconnect_timeout(p, vi_at(p, index));
        break;
    case TIMER_MISSING:
        fcvi_message_missing(p, vi_at(p, index));
        break;
    case TIMER_EXCHANGE:
        fcvi_fc2_exchange_timeout(p, exchange_at(p, index));
        break;
    default:
        fcvi_fc2_link_timeout(p);
        break;
    }
}

struct fcvi_port *fcvi_port_init(void *memory, size_t size, const struct fcvi_port_limits *limits,
                                 const struct fcvi_port_config *config)
{
    if (!fcvi_port_limits_valid(limits) || !config_valid(config, limits) || size < fcvi_port_size(limits))
        return NULL;
    struct fcvi_port *p = memory;
    memset(p, 0, sizeof *p); /* its padding too: equal ports are equal bytes */
    p->limits = *limits;
    p->config = *config;
    p->wire = config->wire == FCVI_WIRE_VITCP ? &fcvi_port_tcp : &fcvi_port_fc;
    p->fc4 = &fcvi_fc4;
    p->expire = expire;
    fcvi_port_layout_place(p);
    /* the arena of registered memory, which is last and large, is cleared region by region */
    memset((uint8_t *)memory + sizeof *p, 0, p->memory - sizeof *p);
    fcvi_port_layout_clear(p);
    while (1ULL << p->handle_bits < p->limits.vis)
        p->handle_bits++;
    if (config->wire == FCVI_WIRE_VITCP) {
        p->link = LINK_DOWN; /* no frame comes in */
        fcvi_vitcp_begin(p);
    } else {
        begin_fc(p, config);
    }
    return p;
}

void fcvi_port_count(const struct fcvi_port *port, struct fcvi_port_counts *out)
{
    *out = port->used;
    out->timers = port->heap_count;
}

/* ---- frames in ---- */

static void receive_disconnect(struct fcvi_port *p, const struct fcvi_frame *f)
{
    if (f->iu == FCVI_IU_DISCONNECT_RQST) {
        if (rev1(p))
            fcvi_rev1_disconnect_rqst(p, f);
        else
            fcvi_disconnect_rqst(p, f);
        return;
    }
    const struct exchange *x = fcvi_fc2_exchange_of(p, f);
    if (x != NULL && x->kind == X_DISCONNECT)
        fcvi_disconnect_resp(p, vi_at(p, x->owner), f);
}

static void receive_setup(struct fcvi_port *p, const struct fcvi_frame *f)
{
    bool rqst = f->iu == FCVI_IU_CONNECT_RQST;
    if (rev1(p) && rqst)
        fcvi_rev1_setup_rqst(p, f);
    else if (rev1(p))
        fcvi_rev1_setup_receive(p, f);
    else if (rqst)
        fcvi_responder_rqst(p, f);
    else
        fcvi_setup_receive(p, f);
}

/* E45: what fits nowhere is discarded. */
static void receive_iu(struct fcvi_port *p, const struct fcvi_frame *f, uint8_t *ack)
{
    unsigned bit = 1u << f->iu;
    if (f->iu == FCVI_IU_NONE || f->dh_length < fcvi_fc2_row_of(p, (enum fcvi_iu)f->iu)->dh)
        return;
    if (bit & FCVI_IUS_DISCONNECT)
        receive_disconnect(p, f);
    else if (bit & FCVI_IUS_CONNECTION)
        receive_setup(p, f);
    else if (!fcvi_message_receive(p, f))
        fcvi_fc2_ack_abort(ack);
}

static void aborted_by_peer(struct fcvi_port *p, struct exchange *x)
{
    uint32_t index = exchange_index(p, x);
    if (x->kind == X_MESSAGE && x->originator) {
        fcvi_message_class2_failed(p, x);
    } else if (x->kind == X_MESSAGE) {
        fcvi_message_aborted(p, x);
    } else if (x->kind == X_CONFIRMED) {
        fcvi_rev1_unconfirmed(p, x);
    } else if (x->kind == X_SETUP && rev1(p)) {
        fcvi_rev1_setup_aborted(p, setup_at(p, x->owner));
    } else if (x->kind == X_SETUP && x->originator) {
        if (setup_at(p, x->owner)->phase != SETUP_AWAIT_BA_ACC)
            fcvi_originator_failed(p, setup_at(p, x->owner));
    } else if (x->kind == X_SETUP) {
        struct setup *s = setup_at(p, x->owner);
        s->exchange = NONE;
        fcvi_fc2_exchange_free(p, index);
        if (s->phase == SETUP_ASSEMBLING || s->phase == SETUP_HELD)
            fcvi_setup_free(p, s); /* nobody has seen it yet; a retry comes as a new request */
    }
}

/* FC-FS: an RX_ID that goes with no OX_ID here, and a responder of an Exchange that was never opened, name no
 * Exchange. An originator that has heard nothing of us knows no RX_ID: the Exchange is accepted as aborted,
 * known here or not (C.5.7.1). */
static bool names_no_exchange(const struct exchange *x, const struct fcvi_frame *abts)
{
    uint16_t rx_id = (uint16_t)fcvi_FC_RX_ID(abts->fc);
    if (x == NULL)
        return fcvi_FC_Exchange_Context(abts->fc) || rx_id != FC_X_ID_UNASSIGNED;
    return rx_id != FC_X_ID_UNASSIGNED && x->rx_id != FC_X_ID_UNASSIGNED && rx_id != x->rx_id;
}

static void receive_bls(struct fcvi_port *p, const struct fcvi_frame *f)
{
    uint8_t r_ctl = (uint8_t)fcvi_FC_R_CTL(f->fc);
    struct exchange *x = fcvi_fc2_exchange_of(p, f);
    if (r_ctl == FCVI_R_CTL_ABTS) {
        if (names_no_exchange(x, f)) {
            fcvi_fc2_send_ba_rjt(p, f);
            return;
        }
        fcvi_fc2_send_ba_acc(p, f);
        if (x != NULL)
            aborted_by_peer(p, x);
        return;
    }
    if ((r_ctl != FCVI_R_CTL_BA_ACC && r_ctl != FCVI_R_CTL_BA_RJT) || x == NULL)
        return;
    bool setup = x->kind == X_SETUP && x->originator && setup_at(p, x->owner)->phase == SETUP_AWAIT_BA_ACC;
    if (!setup && x->kind != X_ABORTED)
        return; /* nobody asked */
    if (r_ctl == FCVI_R_CTL_BA_ACC)
        fcvi_fc2_exchange_qualify(x, f);
    if (setup)
        fcvi_originator_aborted(p, setup_at(p, x->owner));
    else
        fcvi_fc2_exchange_late(p, exchange_index(p, x));
}

/* FC-2: a frame that is not whole, or for another port, is dropped without a word; so is one that somebody
 * else sends in our name. */
static bool accepted(const struct fcvi_port *p, const struct fcvi_frame *f, bool own)
{
    const struct fcvi_input *in = &f->input;
    bool intact = in->crc != FCVI_CRC_BAD &&
                  (in->eof == FCVI_EOF_NONE || in->eof == FCVI_EOF_N || in->eof == FCVI_EOF_T);
    if (f->kind == FCVI_KIND_MALFORMED || !intact || p->link == LINK_DOWN)
        return false; /* before Fabric Login there is nobody to talk to */
    if (p->link == LINK_AWAIT_FLOGI && p->flogi_repeats > 0 && fcvi_FC_S_ID(f->fc) != F_PORT)
        return false; /* nor while nobody answers that */
    uint32_t d_id = (uint32_t)fcvi_FC_D_ID(f->fc);
    bool els = f->kind == FCVI_KIND_ELS;
    if (!own && fcvi_FC_S_ID(f->fc) == p->own_id)
        return false;
    return d_id == p->own_id || (els && d_id == BROADCAST) ||
           (els && p->link != LINK_UP && fcvi_FC_S_ID(f->fc) == F_PORT); /* our identifier may be another */
}

/* An IU of a port that this one has never heard of: that port has a login with who was here before. A logout,
 * once, tells it that its connections are gone (7.7.1). */
static void refuse_stranger(struct fcvi_port *p, const struct fcvi_frame *f)
{
    const uint32_t id = (uint32_t)fcvi_FC_S_ID(f->fc);
    struct remote_port *r = fcvi_fc2_remote_find(p, id);
    fcvi_fc2_reject(p, f, RJT_LOGIN_REQUIRED);
    if (!p->config.logs_out_strangers || r != NULL || f->kind != FCVI_KIND_IU || p->link != LINK_UP)
        return;
    r = fcvi_fc2_remote_get(p, id);
    if (r != NULL)
        fcvi_fc2_logout_explicit(p, r);
}

static void receive_frame(struct fcvi_port *p, const struct fcvi_input *frame, bool own)
{
    struct fcvi_frame f;
    fcvi_decode_edition(frame, (enum fcvi_edition)p->config.revision, &f, NULL);
    if (!accepted(p, &f, own))
        return;
    if (f.kind == FCVI_KIND_ELS) {
        fcvi_fc2_ack(p, &f);
        fcvi_fc2_els_receive(p, &f);
        return;
    }
    if (f.kind == FCVI_KIND_LINK_CONTROL) {
        fcvi_fc2_link_control_receive(p, &f);
        return;
    }
    const struct remote_port *r = fcvi_fc2_remote_find(p, (uint32_t)fcvi_FC_S_ID(f.fc));
    if (r == NULL || !r->logged_in) {
        refuse_stranger(p, &f);
        return;
    }
    if (f.kind == FCVI_KIND_OTHER && fcvi_FC_TYPE(f.fc) != FCVI_TYPE_CT) {
        fcvi_fc2_reject(p, &f, RJT_TYPE_NOT_SUPPORTED);
        return;
    }
    uint8_t *ack = fcvi_fc2_ack(p, &f);
    if (f.kind == FCVI_KIND_BLS)
        receive_bls(p, &f);
    else if (f.kind == FCVI_KIND_IU)
        receive_iu(p, &f, ack);
    else if (fcvi_FC_TYPE(f.fc) == FCVI_TYPE_CT)
        fcvi_fc2_ct_receive(p, &f);
}

void fcvi_port_receive(struct fcvi_port *port, uint64_t now, const struct fcvi_input *frame)
{
    fcvi_port_run(port, now);
    receive_frame(port, frame, false);
}

/* ---- frames out ---- */

/* An ABTS that found no room before, or the oldest frame that may go. */
static size_t control_frame(struct fcvi_port *p, uint8_t *out, struct fcvi_transmitted *meta)
{
    fcvi_fc2_exchange_abts_due(p);
    return fcvi_fc2_control_next(p, out, meta);
}

/* Frames to the port itself (loopback, 5.3.4) do not leave it. */
size_t fcvi_port_transmit(struct fcvi_port *port, uint64_t now, uint8_t *out, size_t capacity,
                          struct fcvi_transmitted *meta)
{
    fcvi_port_run(port, now);
    if (capacity < LONGEST)
        return 0;
    for (;;) {
        size_t length = control_frame(port, out, meta);
        if (length == 0)
            length = fcvi_schedule_frame(port, out, meta);
        if (length == 0) /* a Message that failed just now has left its ABTS or its response */
            length = control_frame(port, out, meta);
        if (length == 0 || fcvi_FC_D_ID(out) != port->own_id)
            return length;
        struct fcvi_input own = {out, length, meta->sof, meta->eof, FCVI_CRC_OK};
        receive_frame(port, &own, true);
    }
}
