/* The way of the IUs of a Connection Setup: to its originator or its responder. */
#include "setup.h"

static void receive_resp1(struct fcvi_port *p, struct setup *s, const struct fcvi_frame *f)
{
    if (s->received + f->payload_length > CONNECT_LENGTH) {
        fcvi_originator_failed(p, s);
        return;
    }
    memcpy(s->buffer + s->received, f->payload, f->payload_length);
    s->received += f->payload_length;
    s->flags = (uint8_t)fcvi_DH_FCVI_FLAGS(f->dh);
    s->reason_in = (uint8_t)fcvi_DH_Reason_Code(f->dh);
    if (fcvi_FC_End_Sequence(f->fc))
        fcvi_originator_resp1(p, s);
}

/* FCVI_CONNECT_RESP1, RESP2 or RESP3. C rule 1: those of a setup that failed are discarded. */
void fcvi_setup_receive(struct fcvi_port *p, const struct fcvi_frame *f)
{
    struct exchange *x = fcvi_fc2_exchange_of(p, f);
    if (x == NULL || x->kind != X_SETUP)
        return;
    struct setup *s = setup_at(p, x->owner);
    bool due = s->phase == (f->iu == FCVI_IU_CONNECT_RESP1   ? SETUP_AWAIT_RESP1
                            : f->iu == FCVI_IU_CONNECT_RESP2 ? SETUP_AWAIT_RESP2
                                                             : SETUP_AWAIT_RESP3);
    if (s->phase == SETUP_AWAIT_BA_ACC || fcvi_DH_FCVI_CONNECTION_ID(f->dh) != s->connection_id)
        return;
    if (!fcvi_fc2_sequence_ok(x, f)) {
        if (s->originator)
            fcvi_originator_failed(p, s); /* 8.5.2 a, 8.5.3 a */
        else
            fcvi_responder_t2(p, s); /* 8.5.3 d */
        return;
    }
    if (!due)
        return;
    if (f->iu == FCVI_IU_CONNECT_RESP1)
        receive_resp1(p, s, f);
    else if (f->iu == FCVI_IU_CONNECT_RESP2)
        fcvi_responder_resp2(p, s, f);
    else
        fcvi_originator_resp3(p, s);
}
