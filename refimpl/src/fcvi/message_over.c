/* How a Message ends, and the connection with one that failed (5.2, 8.4.2, Annex B). */
#include "message.h"
#include "setup.h"

/* The Message needs its Exchange no longer. */
void fcvi_message_closed(struct fcvi_port *p, struct vi *vi, struct exchange *x)
{
    uint32_t index = exchange_index(p, x);
    struct message *m = message_at(p, index);
    if (vi->tx.current == index)
        vi->tx.current = NONE;
    vi->tx.reads -= m->op == FCVI_RDMA_READ;
    fcvi_message_list_remove(p, &vi->tx.list, index);
    fcvi_message_run_drop(p, m);
    if (x->kind == X_MESSAGE)
        fcvi_fc2_exchange_free(p, index);
    fcvi_schedule_wake(p, vi);
}

/* 8.4.2 e, rules 4b, 5a, 6b, 6d, 7b, 8 and 9: the connection is in error (Herr); only a Disconnect helps. x,
 * if any, is the own Message that failed. reason: what a Disconnect will say of it. */
void fcvi_message_error(struct fcvi_port *p, struct vi *vi, struct exchange *x, uint8_t reason, bool notify)
{
    if (vi->state == FCVI_STATE_ERROR)
        return;
    vi->connection.failure = reason;
    if (x != NULL && x->originator) {
        const struct message *m = message_at(p, exchange_index(p, x));
        struct entry *e = entry_at(p, m->entry);
        bool unanswered = m->op == FCVI_RDMA_READ || vi->attributes.reliability == FCVI_RELIABLE_RECEPTION;
        fcvi_fc2_exchange_abort(p, exchange_index(p, x)); /* 8.4.2 a and b */
        fcvi_message_closed(p, vi, x);
        if (unanswered)
            fcvi_vi_entry_finish(p, vi, false, e, FCVI_STATUS_TRANSPORT_ERROR, 0);
    }
    fcvi_connection_fail(p, vi, notify);
}
