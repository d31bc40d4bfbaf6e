/* Extended Link Services: what is answered, and by whom (5.6, 7.5, 7.7). */
#include "fc2.h"

enum {
    LS_ACC = 0x02,
    PLOGI = 0x03,
    FLOGI = 0x04,
    LOGO = 0x05,
    RRQ = 0x12,
    ADISC = 0x52,
    FARP_REQ = 0x54,
    FARP_REPLY = 0x55,
    FAN = 0x60,
    RSCN = 0x61
};
enum { ELS_REPLY = 0x23 };

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
    if (command == PLOGI)
        fcvi_fc2_login_reply(p, r, f);
    else if (command == FLOGI)
        fcvi_fc2_flogi_reply(p, f);
    else if (command == ADISC)
        fcvi_fc2_adisc_reply(p, r, f);
}

void fcvi_fc2_els_receive(struct fcvi_port *p, const struct fcvi_frame *f)
{
    bool broadcast = fcvi_FC_D_ID(f->fc) == BROADCAST;
    if (f->payload_length < 4 || (broadcast && f->payload[0] != FARP_REQ))
        return;
    if (fcvi_FC_R_CTL(f->fc) == ELS_REPLY) {
        reply(p, f);
        return;
    }
    switch (f->payload[0]) {
    case PLOGI:
        fcvi_fc2_login_request(p, f);
        break;
    case LOGO:
        fcvi_fc2_logout_request(p, f);
        break;
    case ADISC:
        fcvi_fc2_adisc_request(p, f);
        break;
    case RRQ: /* this port keeps no Recovery Qualifier: an aborted Exchange is over as a whole */
        fcvi_fc2_els_reply(p, f, LS_ACC, 4);
        break;
    case FARP_REQ:
        fcvi_fc2_farp_request(p, f);
        break;
    case FARP_REPLY:
        fcvi_fc2_farp_reply(p, f);
        break;
    case FAN:
        fcvi_fc2_fan_receive(p, f);
        break;
    case RSCN:
        fcvi_fc2_state_change(p, f);
        break;
    default:
        fcvi_fc2_els_reject(p, f, 0x0B, 0x00); /* command not supported */
        break;
    }
}
