/* Class 2: ACK, busy and reject (5.5, 8.4.2 b and h, Annex B rules 8). */
#include "../block/timers.h"
#include "fc2.h"

enum { WINDOW = 64 };

/* ---- the recipient ---- */

static bool is_class2(const struct fcvi_port *p, const struct fcvi_frame *f)
{
    uint8_t sof = f->input.sof;
    return sof == FCVI_SOF_NONE ? class2(p) : sof == FCVI_SOF_I2 || sof == FCVI_SOF_N2;
}

/* A Link_Control frame about frame f: Exchange, SEQ_ID and SEQ_CNT are those of f (FC-FS). */
static uint8_t *link_control(struct fcvi_port *p, const struct fcvi_frame *f, uint8_t r_ctl,
                             uint32_t parameter)
{
    const uint8_t *in = f->fc;
    uint8_t *out = fcvi_fc2_control_new(p, 24, fcvi_FC_End_Sequence(in) ? FCVI_EOF_T : FCVI_EOF_N);
    if (out == NULL)
        return NULL;
    /* FC-FS: a Link_Control frame begins no Sequence */
    ((struct control_frame *)(void *)(out - offsetof(struct control_frame, bytes)))->sof = FCVI_SOF_N2;
    memcpy(out, in, 24);
    fcvi_set_FC_R_CTL(out, r_ctl);
    fcvi_set_FC_D_ID(out, fcvi_FC_S_ID(in));
    fcvi_set_FC_S_ID(out, p->own_id);
    fcvi_set_FC_CS_CTL(out, 0);
    fcvi_set_FC_TYPE(out, 0);
    fcvi_set_FC_Exchange_Context(out, !fcvi_FC_Exchange_Context(in));
    fcvi_set_FC_Sequence_Context(out, 1);
    fcvi_set_FC_ACK_Form(out, 0);
    fcvi_set_FC_Continue_Sequence_Condition(out, 0);
    fcvi_set_FC_Abort_Sequence_Condition(out, 0);
    fcvi_set_FC_Relative_Offset_Present(out, 0);
    fcvi_set_FC_Fill_Bytes(out, 0);
    fcvi_set_FC_DF_CTL(out, 0);
    fcvi_set_FC_Parameter(out, parameter);
    return out;
}

/* The acknowledgement of a data frame, queued before anything that the frame causes; NULL in class 3. On an
 * Out-of-Order Fabric a Sequence's last frame may not be the last to come, so each frame gets its ACK_1. */
uint8_t *fcvi_fc2_ack(struct fcvi_port *p, const struct fcvi_frame *f)
{
    bool whole = p->config.ack_0 && !p->config.out_of_order;
    if (!is_class2(p, f) || (whole && !fcvi_FC_End_Sequence(f->fc)))
        return NULL;
    return link_control(p, f, whole ? FCVI_R_CTL_ACK_0 : FCVI_R_CTL_ACK_1, whole ? 0 : 1);
}

/* P_RJT in place of the acknowledgement; in class 3 such a frame is dropped without a word (FC-FS). */
void fcvi_fc2_reject(struct fcvi_port *p, const struct fcvi_frame *f, uint32_t why)
{
    if (is_class2(p, f))
        link_control(p, f, FCVI_R_CTL_P_RJT, why);
}

/* 8.4.2 h: abort the Sequence, perform ABTS. */
void fcvi_fc2_ack_abort(uint8_t *ack)
{
    if (ack != NULL)
        fcvi_set_FC_Abort_Sequence_Condition(ack, 1);
}

/* ---- the initiator ---- */

/* May the next frame of the Exchange go, or does it wait for acknowledgements? */
bool fcvi_fc2_credit_left(const struct fcvi_port *p, const struct exchange *x)
{
    uint8_t credit = p->config.end_to_end_credit != 0 ? p->config.end_to_end_credit : 16;
    uint16_t under_way = x->unacked == 0 ? 0 : (uint16_t)(x->tx_cnt - x->ack_base);
    return !class2(p) || under_way < (credit < WINDOW ? credit : WINDOW);
}

void fcvi_fc2_frame_sent(struct fcvi_port *p, struct exchange *x, uint16_t count)
{
    if (!class2(p))
        return;
    if (x->unacked == 0)
        x->ack_base = count;
    x->unacked |= 1ULL << (uint16_t)(count - x->ack_base);
    FCVI_ASSERT((x->unacked & 1) == 1);
    fcvi_timer_start(p, TIMER_EXCHANGE, exchange_index(p, x), p->config.e_d_tov_us);
}

static void acknowledged(struct fcvi_port *p, struct exchange *x, const uint8_t *fc)
{
    uint16_t at = (uint16_t)(fcvi_FC_SEQ_CNT(fc) - x->ack_base);
    if (x->kind != X_MESSAGE || x->unacked == 0 || at >= WINDOW)
        return;
    bool whole = fcvi_FC_R_CTL(fc) == FCVI_R_CTL_ACK_0;
    x->unacked &= whole ? ~(~0ULL >> (63 - at)) : ~(1ULL << at);
    x->resend &= x->unacked;
    while (x->unacked != 0 && (x->unacked & 1) == 0) {
        x->unacked >>= 1;
        x->resend >>= 1;
        x->ack_base++;
    }
    if (x->unacked != 0) {
        fcvi_timer_start(p, TIMER_EXCHANGE, exchange_index(p, x), p->config.e_d_tov_us);
    } else {
        fcvi_timer_stop(p, TIMER_EXCHANGE, exchange_index(p, x));
        p->fc4->acknowledged(p, x);
    }
    p->fc4->wake(p, x);
}

/* A frame of a setup, Disconnect or login came back: what its absence would do, at once (8.5.2 a, 8.6.2 a).
 */
static void control_rejected(struct fcvi_port *p, struct exchange *x)
{
    if (x->kind == X_LOGIN)
        fcvi_fc2_login_timeout(p, x);
    else
        p->fc4->rejected(p, x);
}

/* Rule 8b: on an Out-of-Order Fabric the busy frame is sent again. */
static void busy(struct fcvi_port *p, struct exchange *x, const uint8_t *fc)
{
    if (x->kind != X_MESSAGE || x->unacked == 0)
        return; /* a lost frame: the timers of the connection rules see to it */
    if (!p->config.out_of_order) {
        p->fc4->message_failed(p, x);
        return;
    }
    uint16_t count = (uint16_t)fcvi_FC_SEQ_CNT(fc), at = (uint16_t)(count - x->ack_base);
    if (at >= WINDOW || (x->unacked >> at & 1u) == 0)
        return;
    x->resend |= 1ULL << at;
    p->fc4->resend(p, x);
}

void fcvi_fc2_link_control_receive(struct fcvi_port *p, const struct fcvi_frame *f)
{
    struct exchange *x = fcvi_fc2_exchange_of(p, f);
    if (x == NULL)
        return;
    switch (fcvi_FC_R_CTL(f->fc)) {
    case FCVI_R_CTL_ACK_0:
    case FCVI_R_CTL_ACK_1:
        if (x->originator && x->rx_id == FC_X_ID_UNASSIGNED)
            x->rx_id = (uint16_t)fcvi_FC_RX_ID(f->fc);
        if (x->kind == X_MESSAGE && x->unacked != 0 && fcvi_FC_Abort_Sequence_Condition(f->fc) == 1)
            p->fc4->message_failed(p, x); /* rule 8d */
        else
            acknowledged(p, x, f->fc);
        break;
    case FCVI_R_CTL_P_RJT:
    case FCVI_R_CTL_F_RJT:
        if (x->kind == X_MESSAGE && x->unacked != 0)
            p->fc4->message_failed(p, x); /* rule 8c */
        else
            control_rejected(p, x);
        break;
    case FCVI_R_CTL_P_BSY:
    case FCVI_R_CTL_F_BSY_TO_DATA:
        busy(p, x, f->fc);
        break;
    default:
        break;
    }
}
