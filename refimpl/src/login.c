/* N_Port Login as far as FC-VI needs it: service parameters (5.6), LOGO (7.7.1). */
#include "internal.h"

enum { LS_RJT = 0x01, LS_ACC = 0x02, PLOGI = 0x03, LOGO = 0x05 };
enum { ELS_REQUEST = 0x22, ELS_REPLY = 0x23 };

struct remote_port *remote_port(struct fcvi_port *p, uint32_t id, bool make)
{
    struct remote_port *free_place = NULL;
    for (uint32_t i = 0; i < REMOTE_PORTS; i++) {
        struct remote_port *r = &p->remote[i];
        if (r->used && r->id == id)
            return r;
        if (free_place == NULL && (!r->used || !r->logged_in))
            free_place = r;
    }
    if (!make || free_place == NULL)
        return NULL;
    *free_place = (struct remote_port){.used = true, .id = id};
    return free_place;
}

/* Common Service Parameters with C and S set: bit 31, as FC-FS defines it, not 30 (E17). */
static void put_service_parameters(const struct fcvi_port *p, uint8_t *out)
{
    fcvi_set_LOGIN_FC_PH_Version(out, 0x2020);
    fcvi_set_LOGIN_BB_Credit(out, 16);
    fcvi_set_LOGIN_CIRO(out, 1);
    fcvi_set_LOGIN_SEQ_CNT_S(out, 1);
    fcvi_set_LOGIN_Receive_Data_Field_Size(out, p->config.receive_size);
    fcvi_set_LOGIN_Word_2(out, 0x00FF00CE); /* 255 Sequences; offsets for categories 1, 2, 3, 6 and 7 */
    fcvi_set_LOGIN_E_D_TOV(out, p->config.e_d_tov_us / 1000);
    fcvi_set_LOGIN_Port_Name(out, p->config.self.port_name);
    fcvi_set_LOGIN_Node_Name(out, p->config.self.node_name);
    uint8_t *class = out + (p->config.service_class == 2 ? FCVI_LOGIN_Class_2_BYTE : FCVI_LOGIN_Class_3_BYTE);
    fcvi_store(class, 2, 0x8800); /* valid, sequential delivery */
    fcvi_store(class + 6, 2, p->config.receive_size);
    fcvi_store(class + 8, 2, 255);
    class[13] = 1; /* open Sequences per Exchange */
}

static uint8_t *els_frame(struct fcvi_port *p, uint8_t r_ctl, uint32_t d_id, uint8_t command,
                          uint16_t payload)
{
    uint8_t *out =
        control_new(p, (uint16_t)(24 + payload), p->config.service_class == 3 ? FCVI_EOF_T : FCVI_EOF_N);
    if (out == NULL)
        return NULL;
    put_header(p, out, r_ctl, 0x01, d_id);
    fcvi_set_ELS_ELS_Command(out + 24, command);
    return out;
}

static uint8_t *els_reply(struct fcvi_port *p, const struct fcvi_frame *f, uint8_t command, uint16_t payload)
{
    uint8_t *out = els_frame(p, ELS_REPLY, (uint32_t)fcvi_FC_S_ID(f->fc), command, payload);
    if (out == NULL)
        return NULL;
    fcvi_set_FC_Exchange_Context(out, 1);
    fcvi_set_FC_Last_Sequence(out, 1);
    fcvi_set_FC_OX_ID(out, fcvi_FC_OX_ID(f->fc));
    return out;
}

void login_start(struct fcvi_port *p, uint32_t id)
{
    struct remote_port *r = remote_port(p, id, true);
    uint8_t *out = r != NULL ? els_frame(p, ELS_REQUEST, id, PLOGI, 4 + FCVI_LOGIN_LENGTH) : NULL;
    if (out == NULL)
        return;
    r->plogi_ox_id = exchange_open(p, id).ox_id;
    r->plogi_sent = true;
    fcvi_set_FC_First_Sequence(out, 1);
    fcvi_set_FC_OX_ID(out, r->plogi_ox_id);
    put_service_parameters(p, out + 28);
}

/* 5.6: without S and C no connection is set up. Either bit counts as C, since the standard names both (E17).
 */
static bool parameters_usable(const uint8_t *login)
{
    return fcvi_LOGIN_SEQ_CNT_S(login) && (fcvi_LOGIN_CIRO(login) || fcvi_LOGIN_Random_Offset(login));
}

static void receive_plogi(struct fcvi_port *p, const struct fcvi_frame *f)
{
    if (f->payload_length < 4 + FCVI_LOGIN_LENGTH) {
        uint8_t *out = els_reply(p, f, LS_RJT, 8);
        if (out != NULL)
            fcvi_store(out + 28, 4, 0x00072D00); /* protocol error, invalid payload length */
        return;
    }
    logout(p, (uint32_t)fcvi_FC_S_ID(f->fc));
    struct remote_port *r = remote_port(p, (uint32_t)fcvi_FC_S_ID(f->fc), true);
    uint8_t *out = r != NULL ? els_reply(p, f, LS_ACC, 4 + FCVI_LOGIN_LENGTH) : NULL;
    if (out == NULL)
        return;
    put_service_parameters(p, out + 28);
    r->logged_in = true;
    r->usable = parameters_usable(f->payload + 4);
}

/* The setups that waited for the login begin, or fail when the parameters do not allow them (5.6). */
static void login_done(struct fcvi_port *p, const struct remote_port *r)
{
    for (uint32_t i = 0; i < setup_count(p); i++) {
        struct setup *s = setup_at(p, i);
        if (s->phase != SETUP_AWAIT_LOGIN || s->exchange.peer != r->id)
            continue;
        if (r->logged_in && r->usable)
            originator_start(p, s);
        else
            originator_unreachable(p, s);
    }
}

static void receive_reply(struct fcvi_port *p, const struct fcvi_frame *f)
{
    struct remote_port *r = remote_port(p, (uint32_t)fcvi_FC_S_ID(f->fc), false);
    if (r == NULL || !r->plogi_sent || r->plogi_ox_id != fcvi_FC_OX_ID(f->fc))
        return;
    r->plogi_sent = false;
    r->logged_in = f->payload[0] == LS_ACC && f->payload_length >= 4 + FCVI_LOGIN_LENGTH;
    r->usable = r->logged_in && parameters_usable(f->payload + 4);
    login_done(p, r);
}

void login_els(struct fcvi_port *p, const struct fcvi_frame *f)
{
    if (f->payload_length < 4)
        return;
    if (fcvi_FC_R_CTL(f->fc) == ELS_REPLY) {
        receive_reply(p, f);
        return;
    }
    switch (f->payload[0]) {
    case PLOGI:
        receive_plogi(p, f);
        break;
    case LOGO:
        logout(p, (uint32_t)fcvi_FC_S_ID(f->fc));
        els_reply(p, f, LS_ACC, 4);
        break;
    default: {
        uint8_t *out = els_reply(p, f, LS_RJT, 8);
        if (out != NULL)
            fcvi_store(out + 28, 4, 0x000B0000); /* command not supported */
    }
    }
}

/* 7.7.1: a logout in either direction ends every connection with that port, without Disconnect IUs (E86). */
void logout(struct fcvi_port *p, uint32_t id)
{
    struct remote_port *r = remote_port(p, id, false);
    if (r != NULL)
        r->logged_in = r->usable = r->plogi_sent = false;
    for (uint32_t i = 0; i < setup_count(p); i++) {
        struct setup *s = setup_at(p, i);
        if (s->phase != SETUP_FREE && s->phase != SETUP_AWAIT_LOGIN && s->exchange.peer == id)
            setup_free(p, s);
    }
    for (uint32_t i = 0; i < p->limits.vis; i++) {
        struct vi *vi = vi_at(p, i);
        struct connection *c = &vi->connection;
        if (!vi->used || !c->known || c->peer != id)
            continue;
        bool alive = vi->state != FCVI_STATE_IDLE && vi->state != FCVI_STATE_ERROR;
        c->known = false;
        finish_connect(p, vi, VIP_NOT_REACHABLE);
        if (vi->disconnect == DISCONNECT_AWAIT_RESP)
            event_call(p, vi->disconnect_token, VIP_NOT_REACHABLE);
        disconnect_aborted(p, vi);
        if (alive)
            connection_fail(p, vi, true);
    }
}
