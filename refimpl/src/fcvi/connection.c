/* Connections of endpoints: handles, the beginning and the end (4.2, 8.2, 8.4.2). */
#include "../block/table.h"
#include "../vi/events.h"
#include "message.h"
#include "setup.h"

/* ---- handles ---- */

/* A handle names its VI and how many connections that VI has had, so that none comes back before all others
 * have been used and R_A_TOV has passed since the last of them was given out, with which the connections of
 * the others were over (8.4.2 f). False while that is not so. */
bool fcvi_connection_new_handle(struct fcvi_port *p, struct vi *vi, uint32_t *handle)
{
    uint32_t bits = 32u - p->handle_bits, last = (uint32_t)((1ULL << bits) - 1);
    do {
        if (vi->generation == last && p->now - vi->generation_ended < p->config.r_a_tov_us)
            return false;
        vi->generation = vi->generation == last ? 1 : vi->generation + 1;
        if (vi->generation == last)
            vi->generation_ended = p->now;
        uint32_t number = vi->generation ^ ((uint32_t)p->config.seed & last >> 1);
        *handle = number << p->handle_bits | vi_index(p, vi);
    } while (*handle == FCVI_UNASSIGNED);
    return true;
}

/* Only the port that the connection is with may use its handle (E45). */
struct vi *fcvi_connection_of_handle(struct fcvi_port *p, uint32_t handle, uint32_t peer)
{
    uint32_t index = handle & (uint32_t)((1ULL << p->handle_bits) - 1);
    if (index >= p->limits.vis)
        return NULL;
    struct vi *vi = vi_at(p, index);
    const struct connection *c = &vi->connection;
    return c->known && c->local_handle == handle && c->peer == peer ? vi : NULL;
}

/* ---- parties: setups and then VIs, by what the other side calls them ---- */

static uint32_t party(struct fcvi_port *p, const struct vi *vi)
{
    return p->limits.setups + vi_index(p, vi);
}

static bool party_is(struct fcvi_port *p, uint32_t i, bool by_id, uint32_t peer, uint32_t value)
{
    if (i < p->limits.setups) {
        const struct setup *s = setup_at(p, i);
        return s->peer == peer && (by_id ? s->connection_id : s->remote_handle) == value;
    }
    const struct connection *c = &vi_at(p, i - p->limits.setups)->connection;
    return c->peer == peer && (by_id ? c->connection_id : c->remote_handle) == value;
}

/* The next setup or VI of `peer` after `after` (NONE: the first) whose FCVI_CONNECTION_ID (by_id) or handle
 * at the other side is `value`. */
uint32_t fcvi_connection_party_find(struct fcvi_port *p, bool by_id, uint32_t peer, uint32_t value,
                                    uint32_t after)
{
    const struct table *t = by_id ? &p->by_connection_id : &p->by_handle;
    uint32_t i =
        after == NONE ? fcvi_table_first(p, t, fcvi_table_hash(peer, value)) : fcvi_table_next(p, t, after);
    while (i != NONE && !party_is(p, i, by_id, peer, value))
        i = fcvi_table_next(p, t, i);
    return i;
}

/* ---- the beginning ---- */

/* Our own FCVI_CONNECTION_IDs are not what the other side may mean (E47), and Rev 1.0 has none. */
static bool has_id(const struct fcvi_port *p, const struct connection *c)
{
    return !c->originator && !rev1(p);
}

/* A VI that has had no connection yet. */
void fcvi_connection_none(struct vi *vi)
{
    const struct list empty = {NONE, NONE};
    vi->setup = vi->inbound = NONE;
    vi->tx.current = NONE;
    vi->tx.list = vi->tx.jobs = empty;
    vi->rx.list = vi->rx.unanswered = empty;
    vi->rx.held = NONE;
}

void fcvi_connection_begin(struct fcvi_port *p, struct vi *vi, const struct setup *s)
{
    fcvi_connection_forget(p, vi);
    vi->connection = (struct connection){
        .known = true,
        .originator = s->originator,
        .peer = s->peer,
        .local_handle = s->local_handle,
        .remote_handle = s->remote_handle,
        .connection_id = s->connection_id,
    };
    const struct list empty = {NONE, NONE};
    uint32_t first = rev1(p) ? 0 : 1; /* 5.9.6; Rev 1.0 5.7.5 */
    vi->tx = (struct sender){.next_msg_id = first, .current = NONE, .list = empty, .jobs = empty};
    vi->rx = (struct receiver){.expected = first, .list = empty, .unanswered = empty, .held = NONE};
    if (has_id(p, &vi->connection))
        fcvi_table_add(p, &p->by_connection_id, fcvi_table_hash(s->peer, s->connection_id), party(p, vi));
    if (s->remote_handle != FCVI_UNASSIGNED)
        fcvi_table_add(p, &p->by_handle, fcvi_table_hash(s->peer, s->remote_handle), party(p, vi));
}

/* C rules 8 and 9: a retry brings a new FCVI_CONNECTION_ID. */
void fcvi_connection_rename(struct fcvi_port *p, struct vi *vi, uint32_t connection_id)
{
    struct connection *c = &vi->connection;
    if (c->originator)
        return;
    fcvi_table_remove(p, &p->by_connection_id, fcvi_table_hash(c->peer, c->connection_id), party(p, vi));
    c->connection_id = connection_id;
    fcvi_table_add(p, &p->by_connection_id, fcvi_table_hash(c->peer, c->connection_id), party(p, vi));
}

/* ---- the end ---- */

/* What no longer needs an answer: a new connection begins, or the ports are logged out. */
void fcvi_connection_forget(struct fcvi_port *p, struct vi *vi)
{
    struct connection *c = &vi->connection;
    if (c->known && has_id(p, c))
        fcvi_table_remove(p, &p->by_connection_id, fcvi_table_hash(c->peer, c->connection_id), party(p, vi));
    if (c->known && c->remote_handle != FCVI_UNASSIGNED)
        fcvi_table_remove(p, &p->by_handle, fcvi_table_hash(c->peer, c->remote_handle), party(p, vi));
    c->known = c->receiving = false;
    fcvi_message_drop_all(p, vi);
}

/* The connection is over but for a Disconnect: Error, queues flushed; the application hears of it (8.2 d). */
void fcvi_connection_fail(struct fcvi_port *p, struct vi *vi, bool notify)
{
    vi->connection.receiving = false;
    fcvi_vi_set_state(p, vi, FCVI_STATE_ERROR);
    if (notify)
        fcvi_event_error(p, vi_index(p, vi), VIP_ERROR_CONN_LOST);
    fcvi_vi_flush(p, vi);
}
