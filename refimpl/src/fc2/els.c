/* Extended Link Services: what is answered, and by whom (5.6, 7.5, 7.7). */
#include "fc2.h"

static void reply(struct fcvi_port *p, const struct fcvi_frame *f)
{
    struct exchange *x = fcvi_fc2_exchange_of(p, f);
    if (x == NULL || x->kind != X_LOGIN)
        return;
    uint32_t index = exchange_index(p, x);
    uint8_t command = x->command;
    struct remote_port *r = remote_at(p, x->owner);
    if (r->login == index)
        r->login = NONE;
    fcvi_fc2_exchange_free(p, index);
    if (command == FCVI_ELS_PLOGI)
        fcvi_fc2_login_reply(p, r, f);
    else if (command == FCVI_ELS_FLOGI)
        fcvi_fc2_flogi_reply(p, f);
    else if (command == FCVI_ELS_ADISC)
        fcvi_fc2_adisc_reply(p, r, f);
}

void fcvi_fc2_els_receive(struct fcvi_port *p, const struct fcvi_frame *f)
{
    bool broadcast = fcvi_FC_D_ID(f->fc) == BROADCAST;
    if (f->payload_length < 4 || (broadcast && f->payload[0] != FCVI_ELS_FARP_REQ))
        return;
    if (fcvi_FC_R_CTL(f->fc) == FCVI_R_CTL_ELS_REPLY) {
        reply(p, f);
        return;
    }
    switch (f->payload[0]) {
    case FCVI_ELS_PLOGI:
        fcvi_fc2_login_request(p, f);
        break;
    case FCVI_ELS_LOGO:
        fcvi_fc2_logout_request(p, f);
        break;
    case FCVI_ELS_ADISC:
        fcvi_fc2_adisc_request(p, f);
        break;
    case FCVI_ELS_RRQ: /* this port keeps no Recovery Qualifier: an aborted Exchange is over as a whole */
        fcvi_fc2_els_reply(p, f, FCVI_ELS_LS_ACC, 4);
        break;
    case FCVI_ELS_FARP_REQ:
        fcvi_fc2_farp_request(p, f);
        break;
    case FCVI_ELS_FARP_REPLY:
        fcvi_fc2_farp_reply(p, f);
        break;
    case FCVI_ELS_FAN:
        fcvi_fc2_fan_receive(p, f);
        break;
    case FCVI_ELS_RSCN:
        fcvi_fc2_state_change(p, f);
        break;
    default:
        fcvi_fc2_els_reject(p, f, 0x0B, 0x00); /* command not supported */
        break;
    }
}
