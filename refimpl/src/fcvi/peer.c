/* Peer-to-Peer Connection Setup: matching, and the arbitration of concurrent requests (5.3.3, 5.3.4, Table 2,
 * Annex A, VI-DG 6.7). */
#include "../block/table.h"
#include "../block/timers.h"
#include "../vi/events.h"
#include "setup.h"

/* ---- matching ---- */

static bool same_host(const struct fcvi_address *a, const struct fcvi_address *b)
{
    return memcmp(a->host, b->host, sizeof a->host) == 0;
}

/* The VI whose Peer request names the other one's hosts and Discriminator. A request that a port makes to
 * itself does not match the VI that made it. */
struct vi *fcvi_peer_match(struct fcvi_port *p, const struct setup *s)
{
    const struct table *t = &p->by_point;
    for (uint32_t i = fcvi_table_first(p, t, fcvi_point_hash(&s->local)); i != NONE;
         i = fcvi_table_next(p, t, i)) {
        if (i < fcvi_point_count(p))
            continue;
        struct vi *vi = vi_at(p, i - fcvi_point_count(p));
        bool itself = s->peer == p->own_id && vi->local_handle == s->remote_handle;
        if (vi->inbound == NONE && !itself && fcvi_point_same_discriminator(&vi->remote, &s->local) &&
            same_host(&vi->remote, &s->remote) && same_host(&vi->local, &s->local))
            return vi;
    }
    return NULL;
}

/* ---- arbitration ---- */

/* 5.3.4: less than 0 when ours is the numerically lower Port_Name. A port that meets itself goes by the
 * handles of the two Endpoints instead. */
static int compare_names(struct fcvi_port *p, const struct setup *s, const struct vi *vi)
{
    bool itself = s->peer == p->own_id;
    uint64_t mine = itself ? vi->local_handle : p->config.self.port_name;
    uint64_t theirs = itself ? s->remote_handle : fcvi_fc2_remote_find(p, s->peer)->port_name;
    return mine < theirs ? -1 : mine > theirs;
}

/* Of two concurrent requests ours, of the Peer with the lower Port_Name, has made the connection, and theirs
 * comes late. It is a second one and no repetition of the first: Table 2 row 1 holds, not C rule 9 (E117). */
bool fcvi_peer_won(struct fcvi_port *p, const struct setup *s, const struct vi *vi)
{
    return s->peer_mode && vi->connection.originator && compare_names(p, s, vi) < 0;
}

static void accept(struct fcvi_port *p, struct setup *s, struct vi *vi)
{
    struct setup *own = vi->setup != NONE ? setup_at(p, vi->setup) : NULL;
    if (own != NULL && own->phase < SETUP_AWAIT_RESP1)
        fcvi_setup_free(p, own); /* our request has not gone out, and is not needed */
    fcvi_timer_stop(p, TIMER_T1, vi_index(p, vi));
    s->local_handle = vi->local_handle;
    fcvi_responder_accept(p, s, vi);
}

/* Unequal attributes: both Peers leave the pool with an error (VI-DG 6.7, E77). */
static void mismatch(struct fcvi_port *p, struct setup *s, struct vi *vi, int vip)
{
    struct setup *own = vi->setup != NONE ? setup_at(p, vi->setup) : NULL;
    s->attributes = vi->attributes; /* so that the other Peer sees why */
    fcvi_responder_refuse(p, s, CONNECT_REJECT);
    vi->setup = NONE;
    fcvi_timer_stop(p, TIMER_T1, vi_index(p, vi));
    fcvi_connection_forget(p, vi);
    fcvi_vi_set_state(p, vi, FCVI_STATE_IDLE);
    fcvi_vi_connect_done(p, vi, vip, NULL);
    if (own != NULL && own->phase < SETUP_AWAIT_RESP1)
        fcvi_setup_free(p, own);
}

/* A FCVI_CONNECT_RQST that matches the request of this VI. */
void fcvi_peer_request(struct fcvi_port *p, struct setup *s, struct vi *vi)
{
    int vip = fcvi_setup_match(p, vi, &s->remote_attributes);
    if (vip != VIP_SUCCESS) {
        mismatch(p, s, vi, vip);
        return;
    }
    bool concurrent = vi->setup != NONE && setup_at(p, vi->setup)->phase == SETUP_AWAIT_RESP1;
    int order = !concurrent ? 1 : rev1(p) ? fcvi_rev1_order(s) : compare_names(p, s, vi);
    if (order > 0) { /* 5.3.4 a) */
        accept(p, s, vi);
    } else if (order == 0) { /* 5.3.4 c) */
        fcvi_responder_refuse(p, s, rev1(p) ? DUPLICATE_ADDRESSES : SETUP_PROTOCOL_ERROR);
    } else if (rev1(p)) { /* its 5.3.4 step 2: at once */
        fcvi_responder_refuse(p, s, CONCURRENT_REQUESTS);
    } else { /* 5.3.4 b): wait for FCVI_CONNECT_RESP1 */
        s->phase = SETUP_HELD;
        s->vi = vi_index(p, vi);
        vi->inbound = setup_index(p, s);
    }
}

/* The answer to our own request has come, or never will: so the request held back is answered. reason 0
 * accepts it. */
void fcvi_peer_answer(struct fcvi_port *p, struct vi *vi, enum reason reason)
{
    struct setup *s = vi->inbound != NONE ? setup_at(p, vi->inbound) : NULL;
    if (s == NULL || s->phase != SETUP_HELD)
        return;
    if (reason != 0)
        fcvi_responder_refuse(p, s, reason);
    else
        accept(p, s, vi);
}
