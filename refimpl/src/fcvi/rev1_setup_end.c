/* Rev 1.0 (1999): how its Connection Setup ends, and which of two Peers yields. The clauses in this file are
 * the draft's; R.. is its register of errata. */
#include "../block/timers.h"
#include "../vi/events.h"
#include "setup.h"

/* ---- the end of a setup at its originator ---- */

/* The Exchange ended with FCVI_CONNECT_RESP2. Should that be lost the Server aborts the Exchange, so it stays
 * known while that can come (R01); where Exchanges are short the Client learns of it by its first Message. */
void fcvi_rev1_setup_over(struct fcvi_port *p, struct setup *s)
{
    struct vi *vi = vi_at(p, s->vi);
    uint32_t index = s->exchange;
    struct exchange *x = exchange_at(p, index);
    bool connected = vi->state == FCVI_STATE_CONNECTED && vi->connection.originator &&
                     vi->connection.local_handle == s->local_handle;
    if (connected && p->used.exchanges <= p->limits.exchanges / 2) {
        x->kind = X_CONFIRMED;
        x->owner = s->vi;
        vi->connection.setup_ox_id = x->ox_id;
        s->exchange = NONE;
        fcvi_timer_start(p, TIMER_EXCHANGE, index, 2 * p->config.r_a_tov_us);
    }
    fcvi_setup_free(p, s);
}

/* The Server has not got FCVI_CONNECT_RESP2: there is no connection. */
void fcvi_rev1_unconfirmed(struct fcvi_port *p, const struct exchange *x)
{
    struct vi *vi = vi_at(p, x->owner);
    const struct connection *c = &vi->connection;
    bool same = c->known && c->originator && c->peer == x->peer && c->setup_ox_id == x->ox_id;
    fcvi_fc2_exchange_free(p, exchange_index(p, x));
    if (same && vi->state == FCVI_STATE_CONNECTED)
        fcvi_connection_fail(p, vi, true);
}

/* ---- timeouts and errors (8) ---- */

/* Nobody goes on with the setup, and the other side is told, where it has an Exchange. */
void fcvi_rev1_setup_abort(struct fcvi_port *p, struct setup *s)
{
    if (s->exchange != NONE)
        fcvi_fc2_exchange_abort(p, s->exchange);
    s->exchange = NONE;
    fcvi_setup_free(p, s);
}

/* No FCVI_CONNECT_RESP1 for FCVI_ULP_TIMEOUT, or none that can be read. There is no second attempt. A Peer
 * that is connected by the request of the other side stays so. */
void fcvi_rev1_setup_failed(struct fcvi_port *p, struct setup *s)
{
    struct vi *vi = vi_at(p, s->vi);
    bool waits = vi->setup == setup_index(p, s) && !fcvi_peer_taken(vi);
    fcvi_rev1_setup_abort(p, s);
    if (!waits)
        return;
    fcvi_timer_stop(p, TIMER_T1, vi_index(p, vi));
    fcvi_connection_forget(p, vi);
    fcvi_vi_set_state(p, vi, FCVI_STATE_IDLE);
    fcvi_vi_connect_done(p, vi, VIP_NOT_REACHABLE, NULL);
}

/* ---- concurrent Peers (5.3.4) ---- */

/* Less than 0 when our Host Address is the lower number: 128 bits without a sign. */
int fcvi_rev1_order(const struct setup *s)
{
    return memcmp(s->local.host, s->remote.host, sizeof s->local.host);
}
