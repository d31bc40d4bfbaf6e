/* Extended Link Services: what is answered, and by whom (5.6, 7.5, 7.7). */
#include "../port/internal.h"

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
    struct exchange *x = exchange_of(p, f);
    if (x == NULL || x->kind != X_LOGIN)
        return;
    uint32_t index = exchange_index(p, x);
    uint8_t command = x->command;
    struct remote_port *r = remote_at(p, x->owner);
    if (r->login == index)
        r->login = NONE;
    exchange_free(p, index);
    if (command == PLOGI)
        login_reply(p, r, f);
    else if (command == FLOGI)
        flogi_reply(p, f);
    else if (command == ADISC)
        adisc_reply(p, r, f);
}

void receive_els(struct fcvi_port *p, const struct fcvi_frame *f)
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
        login_request(p, f);
        break;
    case LOGO:
        logout_request(p, f);
        break;
    case ADISC:
        adisc_request(p, f);
        break;
    case RRQ: /* this port keeps no Recovery Qualifier: an aborted Exchange is over as a whole */
        els_reply(p, f, LS_ACC, 4);
        break;
    case FARP_REQ:
        farp_request(p, f);
        break;
    case FARP_REPLY:
        farp_reply(p, f);
        break;
    case FAN:
        fan_receive(p, f);
        break;
    case RSCN:
        state_change(p, f);
        break;
    default:
        els_reject(p, f, 0x0B, 0x00); /* command not supported */
        break;
    }
}
