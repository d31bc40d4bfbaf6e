/* Rev 1.0 (1999): what its Connection Setup has otherwise than that of 2007. Three IUs of one frame each, no
 * retry, and an Exchange that is aborted when the next IU does not come (5.3, 6.7 to 6.9, 8). The clauses in
 * this file are the draft's; R.. is its register of errata. */
#include "../block/timers.h"
#include "../vi/events.h"
#include "setup.h"

/* Table 7 */
enum { MODE_CLIENT_SERVER = FCVI_REV1_MODE_CLIENT_SERVER, MODE_PEER_TO_PEER = FCVI_REV1_MODE_PEER_TO_PEER };

/* 6.7, 6.8: the payload, of one frame. A longer one than any is not kept, but its length is. */
static void take_payload(struct setup *s, const struct fcvi_frame *f)
{
    s->received = f->payload_length;
    if (f->payload_length <= sizeof s->buffer)
        memcpy(s->buffer, f->payload, f->payload_length);
    s->msg_id = (uint32_t)fcvi_DH_REV1_VI_MSG_ID(f->dh);
}

/* ---- FCVI_CONNECT_RQST ---- */

static void request_complete(struct fcvi_port *p, struct setup *s, uint8_t mode)
{
    bool understood = fcvi_setup_take_payload(p, s);
    s->peer_mode = mode == MODE_PEER_TO_PEER;
    if (!fcvi_fc2_usable(p, fcvi_fc2_remote_find(p, s->peer)))
        fcvi_setup_free(p, s); /* no answer fits into its frames */
    else if (!understood || s->remote_handle == FCVI_UNASSIGNED ||
             (mode != MODE_CLIENT_SERVER && mode != MODE_PEER_TO_PEER))
        fcvi_responder_refuse(p, s, CONNECT_REJECT); /* R27 */
    else
        fcvi_responder_find(p, s);
}

/* One frame, the first of its Exchange (5.3, 6.7); a second one in an Exchange that is open comes again. */
void fcvi_rev1_setup_rqst(struct fcvi_port *p, const struct fcvi_frame *f)
{
    const struct exchange *x = fcvi_fc2_exchange_of(p, f);
    bool intact = fcvi_FC_SEQ_CNT(f->fc) == 0 && fcvi_FC_Parameter(f->fc) == 0 &&
                  fcvi_FC_First_Sequence(f->fc) && fcvi_FC_End_Sequence(f->fc) &&
                  !fcvi_FC_Exchange_Context(f->fc);
    struct setup *s = intact && (x == NULL || x->kind != X_SETUP) ? fcvi_responder_begin(p, f) : NULL;
    if (s == NULL)
        return;
    fcvi_fc2_sequence_ok(exchange_at(p, s->exchange), f);
    fcvi_timer_stop(p, TIMER_SETUP, setup_index(p, s));
    take_payload(s, f);
    request_complete(p, s, (uint8_t)fcvi_DH_REV1_MODE(f->dh));
}

/* ---- FCVI_CONNECT_RESP1, FCVI_CONNECT_RESP2 ---- */

/* R06: the other side counts its own frames, or those of both sides. */
static bool sequence_ok(struct exchange *x, const struct fcvi_frame *f)
{
    uint16_t both = (uint16_t)(x->rx_cnt + x->tx_cnt);
    if (x->rx_started && fcvi_FC_SEQ_CNT(f->fc) == both)
        x->rx_cnt = both;
    return fcvi_fc2_sequence_ok(x, f);
}

/* The Exchange names the setup: no handle is compared (R03). */
void fcvi_rev1_setup_receive(struct fcvi_port *p, const struct fcvi_frame *f)
{
    struct exchange *x = fcvi_fc2_exchange_of(p, f);
    if (x == NULL || x->kind != X_SETUP)
        return;
    struct setup *s = setup_at(p, x->owner);
    if (s->phase != (f->iu == FCVI_IU_CONNECT_RESP1 ? SETUP_AWAIT_RESP1 : SETUP_AWAIT_RESP2))
        return;
    bool intact = sequence_ok(x, f) && fcvi_FC_End_Sequence(f->fc);
    if (s->originator && !intact) {
        fcvi_rev1_setup_failed(p, s);
    } else if (s->originator) {
        take_payload(s, f);
        s->flags = (uint8_t)fcvi_DH_REV1_VI_FLAGS(f->dh);
        s->reason_in = (uint8_t)fcvi_DH_REV1_Reason_Code(f->dh);
        fcvi_originator_resp1(p, s);
    } else if (!intact) {
        fcvi_responder_t2(p, s);
    } else {
        fcvi_responder_confirmed(p, s, fcvi_DH_REV1_CONN_ERR(f->dh));
    }
}

/* ---- the other side gives up ---- */

/* The other side has aborted the Exchange. A request that the application has not answered yet stays: its
 * answer will find that the other side is gone. */
void fcvi_rev1_setup_aborted(struct fcvi_port *p, struct setup *s)
{
    fcvi_fc2_exchange_free(p, s->exchange);
    s->exchange = NONE;
    if (s->originator)
        fcvi_rev1_setup_failed(p, s);
    else if (s->phase == SETUP_AWAIT_RESP2)
        fcvi_responder_t2(p, s);
}
