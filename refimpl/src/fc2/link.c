/* Fabric Login, and what is still valid after a link event (7.7). */
#include "../block/timers.h"
#include "fc2.h"

/* The link can be used: what waited for it goes on. */
static void link_ready(struct fcvi_port *p)
{
    p->link = LINK_UP;
    p->fc4->link_ready(p);
}

/* ---- all ports at once ---- */

static bool is_remote(const struct fcvi_port *p, const struct remote_port *r)
{
    return r->logged_in && r->id != p->own_id;
}

static void logout_all(struct fcvi_port *p, bool explicitly)
{
    for (uint32_t i = 0; i < p->limits.remote_ports; i++) {
        struct remote_port *r = remote_at(p, i);
        if (is_remote(p, r) && explicitly)
            fcvi_fc2_logout_explicit(p, r);
        else if (is_remote(p, r))
            fcvi_fc2_logout(p, r->id);
    }
}

static void take_id(struct fcvi_port *p, uint32_t id)
{
    if (id != p->own_id) {
        fcvi_fc2_logout(p, p->own_id); /* connections with ourselves */
        fcvi_fc2_logout(p, id);        /* who had this identifier has another one now */
    }
    p->own_id = id;
    struct remote_port *self = fcvi_fc2_remote_get(p, id); /* the old one made room */
    fcvi_fc2_login_forget(p, self);
    self->logged_in = self->usable = true;
}

/* The port has another N_Port Identifier, or another Fabric: no mapping holds any more. */
static void start_over(struct fcvi_port *p, uint32_t id)
{
    take_id(p, id);
    fcvi_fc2_hosts_forget(p, NONE);
    logout_all(p, true);
}

/* ---- Fabric Login (7.7.4, 7.7.5) ---- */

/* No Fabric: nobody can be reached. The next request for a connection tries again. */
static void link_lost(struct fcvi_port *p)
{
    p->link = LINK_DOWN;
    logout_all(p, false);
}

enum { FLOGI_REPEATS = 3 };

static void ask_fabric(struct fcvi_port *p, unsigned repeats)
{
    struct remote_port *r = fcvi_fc2_remote_get(p, F_PORT);
    uint8_t *out = r != NULL && r->login == NONE
                       ? fcvi_fc2_els_request(p, r, FCVI_ELS_FLOGI, 4 + FCVI_LOGIN_LENGTH)
                       : NULL;
    if (out == NULL && (r == NULL || r->login == NONE))
        link_lost(p); /* no room to ask */
    if (out == NULL)
        return;
    p->link = LINK_AWAIT_FLOGI;
    p->flogi_repeats = (uint8_t)repeats;
    fcvi_fc2_put_fabric_parameters(p, out + 28);
    if (p->config.topology == FCVI_FABRIC)
        fcvi_set_FC_S_ID(out, 0);
    else if (p->config.topology == FCVI_PUBLIC_LOOP) /* FC-AL: the AL_PA is all that it has for sure */
        fcvi_set_FC_S_ID(out, (p->changed ? p->lip_id : p->own_id) & 0xFF);
}

void fcvi_fc2_link_start(struct fcvi_port *p)
{
    ask_fabric(p, 0);
}

/* Word 2 of a FLOGI LS_ACC is R_A_TOV in milliseconds; E_D_TOV is in nanoseconds with bit 26 of Word 1
 * (FC-FS). */
static void take_timeouts(struct fcvi_port *p, const uint8_t *login)
{
    uint64_t e_d_tov = fcvi_LOGIN_E_D_TOV(login);
    e_d_tov = fcvi_LOGIN_E_D_TOV_Resolution(login) ? e_d_tov / 1000 : e_d_tov * 1000;
    if (fcvi_LOGIN_Word_2(login) != 0)
        p->config.r_a_tov_us = fcvi_LOGIN_Word_2(login) * 1000;
    if (e_d_tov != 0)
        p->config.e_d_tov_us = e_d_tov;
}

void fcvi_fc2_flogi_reply(struct fcvi_port *p, const struct fcvi_frame *f)
{
    uint32_t id = (uint32_t)fcvi_FC_D_ID(f->fc);
    if (f->payload[0] != FCVI_ELS_LS_ACC || f->payload_length < 4 + FCVI_LOGIN_LENGTH || !is_n_port_id(id)) {
        link_lost(p);
        return;
    }
    const uint8_t *login = f->payload + 4;
    uint64_t port_name = fcvi_LOGIN_Port_Name(login), node_name = fcvi_LOGIN_Node_Name(login);
    bool same = p->fabric_known && !p->changed && id == p->own_id && port_name == p->fabric_port_name &&
                node_name == p->fabric_node_name;
    bool first = !p->fabric_known && (id == p->own_id || p->own_id == 0); /* there is nothing to compare */
    take_timeouts(p, login);
    p->fabric_known = true;
    p->changed = false;
    p->fabric_port_name = port_name;
    p->fabric_node_name = node_name;
    if (first)
        take_id(p, id);
    else if (!same)
        start_over(p, id);
    fcvi_fc2_name_server_forgets(p);
    link_ready(p);
}

/* No FAN: then FLOGI instead (E83). No FLOGI reply: what there was is over, and FLOGI is repeated, since
 * nobody may ever ask a port that only waits for a connection. */
void fcvi_fc2_link_timeout(struct fcvi_port *p)
{
    if (p->link != LINK_AWAIT_FAN)
        link_lost(p);
    if (p->link == LINK_AWAIT_FAN || p->flogi_repeats < FLOGI_REPEATS)
        ask_fabric(p, p->link == LINK_AWAIT_FAN ? 0 : p->flogi_repeats + 1u);
}

/* ---- loops (7.7.3, 7.7.4) ---- */

/* 7.7.3: no FC-VI IU goes to that port before ADISC has shown that it is the same. */
void fcvi_fc2_remote_validate(struct fcvi_port *p, struct remote_port *r)
{
    r->suspended = true;
    if (r->login != NONE)
        return; /* a PLOGI or ADISC is under way: its end decides */
    uint8_t *out = fcvi_fc2_els_request(p, r, FCVI_ELS_ADISC, 4 + FCVI_ADISC_LENGTH);
    if (out == NULL) {
        fcvi_fc2_logout(p, r->id); /* no room to ask */
        return;
    }
    fcvi_set_ADISC_ADISC_Port_Name(out + 28, p->config.self.port_name);
    fcvi_set_ADISC_ADISC_Node_Name(out + 28, p->config.self.node_name);
    fcvi_set_ADISC_ADISC_N_Port_Identifier(out + 28, p->own_id);
}

static bool same_port(const struct remote_port *r, const struct fcvi_frame *f)
{
    const uint8_t *a = f->payload + 4;
    return f->payload_length >= 4 + FCVI_ADISC_LENGTH && fcvi_ADISC_ADISC_Port_Name(a) == r->port_name &&
           fcvi_ADISC_ADISC_Node_Name(a) == r->node_name && fcvi_ADISC_ADISC_N_Port_Identifier(a) == r->id;
}

static void validated(struct fcvi_port *p, struct remote_port *r)
{
    r->suspended = false;
    link_ready(p);
}

/* Nobody knows who is there: what leads there is no mapping any more. */
static void invalid(struct fcvi_port *p, struct remote_port *r)
{
    fcvi_fc2_hosts_forget(p, r->id);
    fcvi_fc2_logout_explicit(p, r);
}

void fcvi_fc2_adisc_reply(struct fcvi_port *p, struct remote_port *r, const struct fcvi_frame *f)
{
    if (!r->logged_in)
        return;
    if (f->payload[0] == FCVI_ELS_LS_ACC && same_port(r, f))
        validated(p, r);
    else
        invalid(p, r);
}

/* No reply. When the other side has asked in the meantime, our ACC has validated it. */
void fcvi_fc2_adisc_timeout(struct fcvi_port *p, struct remote_port *r)
{
    if (r->suspended)
        invalid(p, r);
}

/* Sending the ACC validates as much as receiving one (7.7.3). */
void fcvi_fc2_adisc_request(struct fcvi_port *p, const struct fcvi_frame *f)
{
    struct remote_port *r = fcvi_fc2_remote_find(p, (uint32_t)fcvi_FC_S_ID(f->fc));
    if (f->payload_length < 4 + FCVI_ADISC_LENGTH) {
        fcvi_fc2_els_reject(p, f, 0x07, 0x2D); /* protocol error, invalid payload length */
        return;
    }
    if (r == NULL || !r->logged_in) {
        fcvi_fc2_els_reject(p, f, 0x03, 0x1E); /* logical error, N_Port Login required */
        return;
    }
    uint8_t *out = fcvi_fc2_els_reply(p, f, FCVI_ELS_LS_ACC, 4 + FCVI_ADISC_LENGTH);
    if (out == NULL)
        return;
    fcvi_set_ADISC_ADISC_Port_Name(out + 28, p->config.self.port_name);
    fcvi_set_ADISC_ADISC_Node_Name(out + 28, p->config.self.node_name);
    fcvi_set_ADISC_ADISC_N_Port_Identifier(out + 28, p->own_id);
    if (!r->suspended)
        return;
    if (same_port(r, f))
        validated(p, r);
    else
        invalid(p, r);
}

static void validate_all(struct fcvi_port *p, bool local_only)
{
    for (uint32_t i = 0; i < p->limits.remote_ports; i++) {
        struct remote_port *r = remote_at(p, i);
        bool local = r->id >> 8 == 0; /* 7.7.4: Domain and Area 00-00 */
        if (is_remote(p, r) && (local || !local_only))
            fcvi_fc2_remote_validate(p, r);
    }
}

/* 7.7.4: the FL_Port says which Fabric this is. */
void fcvi_fc2_fan_receive(struct fcvi_port *p, const struct fcvi_frame *f)
{
    if (p->link != LINK_AWAIT_FAN || f->payload_length < 4 + FCVI_FAN_LENGTH)
        return;
    fcvi_timer_stop(p, TIMER_LINK, 0);
    const uint8_t *fan = f->payload + 4;
    bool same = p->fabric_known && !p->changed && fcvi_FAN_FAN_Port_Name(fan) == p->fabric_port_name &&
                fcvi_FAN_FAN_Node_Name(fan) == p->fabric_node_name;
    if (!same) {
        p->changed |= p->fabric_known; /* whatever the LS_ACC says then */
        fcvi_fc2_link_start(p);
        return;
    }
    validate_all(p, true);
    link_ready(p);
}

/* ---- events ---- */

void fcvi_port_lip(struct fcvi_port *port, uint64_t now, uint32_t n_port_id)
{
    fcvi_port_run(port, now);
    if (!is_n_port_id(n_port_id) || port->config.wire != FCVI_WIRE_FC)
        return;
    bool changed = n_port_id != port->own_id;
    if (port->config.topology == FCVI_PRIVATE_LOOP) {
        if (changed)
            start_over(port, n_port_id); /* 7.7.3 */
        else
            validate_all(port, false);
    } else if (port->config.topology == FCVI_PUBLIC_LOOP) {
        port->changed |= changed;
        port->lip_id = n_port_id;
        port->link = LINK_AWAIT_FAN;
        fcvi_timer_start(port, TIMER_LINK, 0, 2 * port->config.r_a_tov_us);
    }
}

void fcvi_port_link(struct fcvi_port *port, uint64_t now, enum fcvi_link event)
{
    fcvi_port_run(port, now);
    if (port->config.wire != FCVI_WIRE_FC)
        return;
    switch (event) {
    case FCVI_LINK_LIP:
        fcvi_port_lip(port, now, port->own_id);
        break;
    case FCVI_LINK_LOGO:
        logout_all(port, true);
        break;
    case FCVI_LINK_UP:
        if (port->config.fabric_login)
            fcvi_fc2_link_start(port);
        break;
    case FCVI_LINK_NOS:
        if (port->config.topology == FCVI_FABRIC)
            fcvi_fc2_link_start(port); /* 7.7.5: what the reply says decides */
        else
            logout_all(port, false); /* 7.7.2: NOS/OLS logs out implicitly */
        break;
    default:
        break; /* 7.7.1: LR changes no identifier */
    }
}

uint32_t fcvi_port_id(const struct fcvi_port *port)
{
    return port->own_id;
}
