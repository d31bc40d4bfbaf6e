/* What must never be sent. */
#include "explore.h"

/* ---- frames as they are sent ---- */

static bool message_request(enum fcvi_iu iu)
{
    return iu == FCVI_IU_SEND_RQST || iu == FCVI_IU_WRITE_RQST || iu == FCVI_IU_READ_RQST;
}

enum { MEMORY_OF_ABORTS = sizeof((struct past *)0)->aborted / sizeof(uint16_t) };

/* The port has accepted a request of the other one, which has not aborted it: an accept that crosses the ABTS
 * is void (8.5.3 a, C rule 1). */
static bool accepts(const struct world *w, unsigned port)
{
    const struct past *other = &w->past[!port];
    bool valid = w->past[port].accept_sent;
    for (unsigned i = 0; i < other->aborts && i < MEMORY_OF_ABORTS; i++)
        valid = valid && other->aborted[i] != w->past[port].accepted;
    return valid;
}

void fcvi_explore_rule_frame(const struct system *s, uint8_t *block, unsigned from,
                             const struct fcvi_frame *f, struct breach *b)
{
    struct world *w = world_of(block);
    struct past *past = &w->past[from];
    bool refused = f->dh != NULL && f->dh_length >= 16 && fcvi_DH_CONN_STS(f->dh);
    if (fcvi_FC_R_CTL(f->fc) == FCVI_R_CTL_ABTS && !fcvi_FC_Exchange_Context(f->fc))
        past->aborted[past->aborts++ % MEMORY_OF_ABORTS] = (uint16_t)fcvi_FC_OX_ID(f->fc);
    if (f->iu == FCVI_IU_CONNECT_RESP1 && !refused) {
        past->accept_sent = true;
        past->accepted = (uint16_t)fcvi_FC_OX_ID(f->fc);
    }
    if (s->scenario->peer && accepts(w, 0) && accepts(w, 1))
        fcvi_explore_breach(b, "one-accept",
                            "both of two concurrent Peers accept the other one's request (5.3.4)");
    if (f->iu == FCVI_IU_CONNECT_RESP2 && !refused && past->accept_seen)
        past->own_confirmed = true;
    if (past->own_confirmed && past->other_confirmed && s->scenario->peer)
        fcvi_explore_breach(b, "one-accept", "two Connection Setups of concurrent Peers succeed (5.3.4)");
    if (message_request(f->iu) && !past->own_confirmed && !past->other_confirmed)
        fcvi_explore_breach(b, "half-open", "a Message Request is sent before the Connection exists (C.5.4)");
    if (message_request(f->iu) && w->app[from].state != FCVI_STATE_CONNECTED)
        fcvi_explore_breach(b, "half-open", "a Message Request is sent in state %s",
                            fcvi_vi_state_name(w->app[from].state));
}

/* ---- PDUs as they are sent ---- */

/* TCP connections with a Connect Accept that neither end has given up. */
static unsigned accepted_links(const struct world *w)
{
    unsigned n = 0;
    for (unsigned i = 0; i < LINKS; i++) {
        const struct link *l = &w->link[i];
        n += l->used && l->accepted && !l->gone && !l->end[0].over && !l->end[1].over &&
             !l->end[0].fin_sent && !l->end[1].fin_sent;
    }
    return n;
}

void fcvi_explore_rule_pdu(const struct system *s, uint8_t *block, unsigned from, struct link *link,
                           const struct fcvi_pdu *pdu, struct breach *b)
{
    struct world *w = world_of(block);
    struct past *past = &w->past[from];
    if (pdu->pdu == FCVI_PDU_CONNECT_ACCEPT) {
        link->accepted = true;
        past->other_confirmed = true;
    }
    if (s->scenario->peer && accepted_links(w) > 1)
        fcvi_explore_breach(b, "one-accept", "two Connection Setups of concurrent Peers are accepted (4)");
    if (pdu->pdu != FCVI_PDU_SEND && pdu->pdu != FCVI_PDU_WRITE && pdu->pdu != FCVI_PDU_READ_REQUEST)
        return;
    if (!past->other_confirmed)
        fcvi_explore_breach(b, "half-open", "a message is sent before the connection exists (4.1)");
    if (w->app[from].state != FCVI_STATE_CONNECTED)
        fcvi_explore_breach(b, "half-open", "a message is sent in state %s",
                            fcvi_vi_state_name(w->app[from].state));
}
