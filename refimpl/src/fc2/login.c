/* N_Port Login as far as FC-VI needs it: service parameters (5.6), PLOGI, LOGO (7.7.1). */
#include "../block/timers.h"
#include "fc2.h"

/* ---- frames ---- */

static uint32_t class_at(const struct fcvi_port *p)
{
    return class2(p) ? FCVI_LOGIN_Class_2_BYTE : FCVI_LOGIN_Class_3_BYTE;
}

/* Service parameters of FLOGI: bits 31 and 17 and Words 2 and 3 have no or another meaning there (FC-FS). */
void fcvi_fc2_put_fabric_parameters(const struct fcvi_port *p, uint8_t *out)
{
    fcvi_set_LOGIN_FC_PH_Version(out, 0x2020);
    fcvi_set_LOGIN_BB_Credit(out, 16);
    fcvi_set_LOGIN_Receive_Data_Field_Size(out, p->config.receive_size);
    fcvi_set_LOGIN_Port_Name(out, p->config.self.port_name);
    fcvi_set_LOGIN_Node_Name(out, p->config.self.node_name);
    fcvi_store(out + class_at(p), 2, 0x8800); /* valid, sequential delivery */
}

/* Those of PLOGI, with C and S set: bit 31, as FC-FS defines it, not 30 (E17). */
static void put_service_parameters(const struct fcvi_port *p, uint8_t *out)
{
    fcvi_fc2_put_fabric_parameters(p, out);
    fcvi_set_LOGIN_CIRO(out, 1);
    fcvi_set_LOGIN_SEQ_CNT_S(out, 1);
    fcvi_set_LOGIN_Word_2(out, 0x00FF00CE); /* 255 Sequences; offsets for categories 1, 2, 3, 6 and 7 */
    fcvi_set_LOGIN_E_D_TOV(out, p->config.e_d_tov_us / 1000);
    uint8_t *class = out + class_at(p);
    fcvi_store(class + 6, 2, p->config.receive_size);
    fcvi_store(class + 8, 2, 255);
    class[13] = 1; /* open Sequences per Exchange */
    if (!class2(p))
        return;
    fcvi_store(class + 2, 2, p->config.ack_0 ? 0x0800 : 0); /* ACK_0, as initiator and as recipient */
    fcvi_store(class + 4, 2, p->config.ack_0 ? 0x8000 : 0);
    fcvi_store(class + 10, 2, 64); /* end-to-end credit */
}

static uint8_t *els_frame(struct fcvi_port *p, uint8_t r_ctl, uint32_t d_id, uint8_t command,
                          uint16_t payload)
{
    uint8_t *out = fcvi_fc2_control_new(p, (uint16_t)(24 + payload), fcvi_fc2_eof_of(p, true));
    if (out == NULL)
        return NULL;
    fcvi_fc2_put_header(p, out, r_ctl, FCVI_TYPE_ELS, d_id);
    fcvi_set_ELS_ELS_Command(out + 24, command);
    return out;
}

/* A request to that port in an Exchange of its own; NULL when there is no room. */
uint8_t *fcvi_fc2_els_request(struct fcvi_port *p, struct remote_port *r, uint8_t command, uint16_t payload)
{
    struct exchange *x = fcvi_fc2_exchange_open(p, X_LOGIN, remote_index(p, r), r->id);
    uint8_t *out = x != NULL ? els_frame(p, FCVI_R_CTL_ELS_REQUEST, r->id, command, payload) : NULL;
    if (x == NULL)
        return NULL;
    if (out == NULL) {
        fcvi_fc2_exchange_free(p, exchange_index(p, x));
        return NULL;
    }
    x->command = command;
    fcvi_set_FC_First_Sequence(out, 1);
    fcvi_set_FC_OX_ID(out, x->ox_id);
    fcvi_timer_start(p, TIMER_EXCHANGE, exchange_index(p, x), 2 * p->config.r_a_tov_us);
    if (command != FCVI_ELS_LOGO && command != FCVI_ELS_RRQ)
        r->login = exchange_index(p, x);
    return out;
}

uint8_t *fcvi_fc2_els_reply(struct fcvi_port *p, const struct fcvi_frame *f, uint8_t command,
                            uint16_t payload)
{
    uint8_t *out = els_frame(p, FCVI_R_CTL_ELS_REPLY, (uint32_t)fcvi_FC_S_ID(f->fc), command, payload);
    if (out == NULL)
        return NULL;
    fcvi_set_FC_Exchange_Context(out, 1);
    fcvi_set_FC_Last_Sequence(out, 1);
    fcvi_set_FC_OX_ID(out, fcvi_FC_OX_ID(f->fc));
    return out;
}

void fcvi_fc2_els_reject(struct fcvi_port *p, const struct fcvi_frame *f, uint8_t reason, uint8_t explanation)
{
    uint8_t *out = fcvi_fc2_els_reply(p, f, FCVI_ELS_LS_RJT, 4 + FCVI_LS_RJT_LENGTH);
    if (out == NULL)
        return;
    fcvi_set_LS_RJT_LS_Reason(out + 28, reason);
    fcvi_set_LS_RJT_LS_Explanation(out + 28, explanation);
}

/* ---- PLOGI ---- */

void fcvi_fc2_login_start(struct fcvi_port *p, uint32_t id)
{
    struct remote_port *r = fcvi_fc2_remote_get(p, id);
    if (r == NULL || r->login != NONE)
        return; /* under way, or no room: the setup's timer ends the wait */
    uint8_t *out = fcvi_fc2_els_request(p, r, FCVI_ELS_PLOGI, 4 + FCVI_LOGIN_LENGTH);
    if (out != NULL)
        put_service_parameters(p, out + 28);
}

/* 7.7.1: with another name it is another port, and no Host Address is known to lead there. Zero: a name that
 * the host did not know. */
static void take_names(struct fcvi_port *p, struct remote_port *r, uint64_t port_name, uint64_t node_name)
{
    if ((r->port_name != 0 && r->port_name != port_name) || (r->node_name != 0 && r->node_name != node_name))
        fcvi_fc2_hosts_forget(p, r->id);
    r->port_name = port_name;
    r->node_name = node_name;
}

/* 5.6: without S and C no connection is set up. Either bit counts as C, since the standard names both (E17).
 * Rev 1.0 asks nothing of PLOGI (fcvi_fc2_usable). */
static void take_service_parameters(struct fcvi_port *p, struct remote_port *r, const uint8_t *login)
{
    uint32_t size = (uint32_t)fcvi_LOGIN_Receive_Data_Field_Size(login);
    const uint8_t *class = login + class_at(p);
    uint32_t class_size = (uint32_t)fcvi_load(class + 6, 2);
    if (class[0] & 0x80 && class_size >= 256 && class_size < size)
        size = class_size;
    r->receive_size = size >= 256 && size <= 2112 ? size : 256;
    take_names(p, r, fcvi_LOGIN_Port_Name(login), fcvi_LOGIN_Node_Name(login));
    r->logged_in = true;
    r->suspended = false;
    r->usable = rev1(p) ||
                (fcvi_LOGIN_SEQ_CNT_S(login) && (fcvi_LOGIN_CIRO(login) || fcvi_LOGIN_Random_Offset(login)));
}

/* The setups that waited for the login go on, or fail when there is none. */
static void login_done(struct fcvi_port *p, const struct remote_port *r)
{
    if (r->suspended)
        fcvi_fc2_logout(p, r->id); /* 7.7.3: it has not been validated, and now will not be */
    if (r->id == NAME_SERVER) {
        p->fc4->name_server(p, r->logged_in);
        return;
    }
    p->fc4->login_done(p, r);
}

void fcvi_fc2_login_request(struct fcvi_port *p, const struct fcvi_frame *f)
{
    if (f->payload_length < 4 + FCVI_LOGIN_LENGTH) {
        fcvi_fc2_els_reject(p, f, 0x07, 0x2D); /* protocol error, invalid payload length */
        return;
    }
    fcvi_fc2_logout(p, (uint32_t)fcvi_FC_S_ID(f->fc));
    struct remote_port *r = fcvi_fc2_remote_get(p, (uint32_t)fcvi_FC_S_ID(f->fc));
    if (r == NULL) {
        fcvi_fc2_els_reject(p, f, 0x09, 0x29); /* insufficient resources for login */
        return;
    }
    uint8_t *out = fcvi_fc2_els_reply(p, f, FCVI_ELS_LS_ACC, 4 + FCVI_LOGIN_LENGTH);
    if (out == NULL)
        return;
    put_service_parameters(p, out + 28);
    take_service_parameters(p, r, f->payload + 4);
    login_done(p, r);
}

void fcvi_fc2_login_reply(struct fcvi_port *p, struct remote_port *r, const struct fcvi_frame *f)
{
    if (f->payload[0] == FCVI_ELS_LS_ACC && f->payload_length >= 4 + FCVI_LOGIN_LENGTH)
        take_service_parameters(p, r, f->payload + 4);
    login_done(p, r);
}

/* No reply to a request of ours. */
void fcvi_fc2_login_timeout(struct fcvi_port *p, struct exchange *x)
{
    struct remote_port *r = remote_at(p, x->owner);
    uint8_t command = x->command;
    uint32_t index = exchange_index(p, x);
    if (r->login == index)
        r->login = NONE;
    fcvi_fc2_exchange_late(p, index);
    if (command == FCVI_ELS_PLOGI) {
        if (!r->logged_in)
            fcvi_fc2_hosts_forget(p, r->id); /* 7.7.1: it may be somewhere else now */
        login_done(p, r);
    } else if (command == FCVI_ELS_ADISC)
        fcvi_fc2_adisc_timeout(p, r);
    else if (command == FCVI_ELS_FLOGI)
        fcvi_fc2_link_timeout(p);
}

/* Nobody waits for the reply to our request any more. */
void fcvi_fc2_login_forget(struct fcvi_port *p, struct remote_port *r)
{
    if (r->login != NONE)
        fcvi_fc2_exchange_late(p, r->login);
    r->login = NONE;
}

/* ---- logout ---- */

/* 7.7.1: a logout in either direction ends every connection with that port, without Disconnect IUs (E86). */
void fcvi_fc2_logout(struct fcvi_port *p, uint32_t id)
{
    struct remote_port *r = fcvi_fc2_remote_find(p, id);
    if (r != NULL) {
        r->logged_in = r->usable = r->suspended = false;
        if (r->login != NONE && exchange_at(p, r->login)->command == FCVI_ELS_ADISC)
            fcvi_fc2_login_forget(p, r); /* nothing is left to validate: the next request logs in */
    }
    fcvi_fc2_control_drop(p, id);
    p->fc4->logged_out(p, id);
}

void fcvi_fc2_logout_explicit(struct fcvi_port *p, struct remote_port *r)
{
    uint8_t *out = fcvi_fc2_els_request(p, r, FCVI_ELS_LOGO, 4 + FCVI_LOGO_LENGTH);
    if (out != NULL) {
        fcvi_set_LOGO_LOGO_N_Port_Identifier(out + 28, p->own_id);
        fcvi_set_LOGO_LOGO_Port_Name(out + 28, p->config.self.port_name);
    }
    fcvi_fc2_logout(p, r->id);
}

/* Its sender may have got another N_Port Identifier: then the Port_Name tells who it was (7.7.1, 7.7.3).
 * Zero: a name that the host did not know. */
static void logout_by_name(struct fcvi_port *p, uint64_t name)
{
    for (uint32_t i = 0; i < p->limits.remote_ports; i++) {
        struct remote_port *r = remote_at(p, i);
        if (!r->logged_in || r->id == p->own_id || r->port_name != name || name == 0)
            continue;
        fcvi_fc2_hosts_forget(p, r->id);
        fcvi_fc2_logout(p, r->id);
    }
}

void fcvi_fc2_logout_request(struct fcvi_port *p, const struct fcvi_frame *f)
{
    fcvi_fc2_logout(p, (uint32_t)fcvi_FC_S_ID(f->fc));
    if (f->payload_length >= 4 + FCVI_LOGO_LENGTH)
        logout_by_name(p, fcvi_LOGO_LOGO_Port_Name(f->payload + 4));
    fcvi_fc2_els_reply(p, f, FCVI_ELS_LS_ACC, 4);
}

/* ---- the timer of an Exchange ---- */

/* RRQ: both sides may use that range of SEQ_CNT again (FC-FS). Without room for it the other side's own timer
 * does that. */
static void reinstate(struct fcvi_port *p, const struct exchange *aborted)
{
    struct remote_port *r = fcvi_fc2_remote_find(p, aborted->peer);
    uint8_t *out =
        r != NULL && r->logged_in ? fcvi_fc2_els_request(p, r, FCVI_ELS_RRQ, 4 + FCVI_RRQ_LENGTH) : NULL;
    if (out == NULL)
        return;
    fcvi_set_RRQ_RRQ_S_ID(out + 28, aborted->originator ? p->own_id : aborted->peer);
    fcvi_set_RRQ_RRQ_OX_ID(out + 28, aborted->ox_id);
    fcvi_set_RRQ_RRQ_RX_ID(out + 28, aborted->rx_id);
}

/* R_A_TOV is over: no frame of it is under way any more. */
static void rested(struct fcvi_port *p, uint32_t index)
{
    const struct exchange aborted = *exchange_at(p, index);
    fcvi_fc2_exchange_free(p, index);
    if (aborted.kind == X_LATE && aborted.qualified)
        reinstate(p, &aborted);
}

void fcvi_fc2_exchange_timeout(struct fcvi_port *p, struct exchange *x)
{
    uint32_t index = exchange_index(p, x);
    switch (x->kind) {
    case X_MESSAGE:
        p->fc4->message_timeout(p, x);
        break;
    case X_LOGIN:
        fcvi_fc2_login_timeout(p, x);
        break;
    case X_ABORTED:
        fcvi_fc2_exchange_late(p, index);
        break;
    default:
        rested(p, index);
        break;
    }
}
