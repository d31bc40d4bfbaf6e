/* The table of open Connection Setups, and the rules of a Sequence in their Exchanges. */
#include "internal.h"

struct setup *setup_new(struct fcvi_port *p)
{
    for (uint32_t i = 0; i < setup_count(p); i++) {
        struct setup *s = setup_at(p, i);
        if (s->phase == SETUP_FREE) {
            memset(s, 0, sizeof *s);
            s->vi = NONE;
            s->remote_handle = FCVI_UNASSIGNED;
            s->local_handle = FCVI_UNASSIGNED;
            return s;
        }
    }
    return NULL;
}

void setup_free(struct fcvi_port *p, struct setup *s)
{
    uint32_t index = setup_index(p, s);
    timer_stop(p, TIMER_T1, index);
    timer_stop(p, TIMER_SETUP, index);
    if (s->vi != NONE && vi_at(p, s->vi)->setup == index)
        vi_at(p, s->vi)->setup = NONE;
    s->phase = SETUP_FREE;
}

/* Two remote ports may use the same numbers at once: the key has the S_ID in it (E47). */
struct setup *setup_of_exchange(struct fcvi_port *p, bool originator, uint32_t peer, uint16_t ox_id)
{
    for (uint32_t i = 0; i < setup_count(p); i++) {
        struct setup *s = setup_at(p, i);
        if (s->phase != SETUP_FREE && s->originator == originator && s->exchange.peer == peer &&
            s->exchange.ox_id == ox_id && !s->aborted_by_peer)
            return s;
    }
    return NULL;
}

/* 8.5.2 a: within an Exchange SEQ_CNT and Relative Offset of the other side go on without a break. */
bool sequence_ok(struct exchange *x, const struct fcvi_frame *f)
{
    uint16_t count = (uint16_t)fcvi_FC_SEQ_CNT(f->fc);
    /* E18: a responder may go on from our own count */
    bool starts = !x->rx_started && (count == 0 || (x->originator && count == x->tx_cnt));
    if (!starts && (!x->rx_started || count != x->rx_cnt))
        return false;
    x->rx_started = true;
    x->rx_cnt = (uint16_t)(count + 1);
    if (f->payload_length > 0 && fcvi_FC_Relative_Offset_Present(f->fc)) {
        if (fcvi_FC_Parameter(f->fc) != x->rx_offset)
            return false;
        x->rx_offset += f->payload_length;
    }
    return true;
}
