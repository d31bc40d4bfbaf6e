/* The table of open Connection Setups. */
#include "setup.h"
#include "../block/table.h"
#include "../block/timers.h"

/* Whether a VI may be connected with one of these attributes: a code of VIPL. Rev 1.0 has no pipeline depth,
 * and the Precedence is one of its attributes (its 4.2, 7.2, Annex B, R29). */
int fcvi_setup_match(const struct fcvi_port *p, const struct vi *vi, const struct fcvi_attributes *other)
{
    struct fcvi_attributes own = vi->attributes;
    if (!rev1(p))
        return fcvi_vi_attributes_match(&own, other);
    own.pipeline_depth = other->pipeline_depth;
    int code = fcvi_vi_attributes_match(&own, other);
    return code == VIP_SUCCESS && own.preference != other->preference ? VIP_INVALID_QOS : code;
}

enum { CONN_BITS = 20, CONN_GENERATIONS = 0x7FF }; /* of a conn: the place, and how often it was used */

uint32_t fcvi_setup_conn_of(struct fcvi_port *p, const struct setup *s)
{
    return (uint32_t)s->generation << CONN_BITS | setup_index(p, s);
}

/* The request that VipConnectWait has handed out under that number and that has not been answered. */
struct setup *fcvi_setup_offered(struct fcvi_port *p, uint32_t conn)
{
    uint32_t index = conn & ((1u << CONN_BITS) - 1);
    struct setup *s = index < p->limits.setups ? setup_at(p, index) : NULL;
    return s != NULL && s->phase == SETUP_OFFERED && fcvi_setup_conn_of(p, s) == conn ? s : NULL;
}

struct setup *fcvi_setup_new(struct fcvi_port *p)
{
    uint32_t index = p->free_setup;
    if (index == NONE)
        return NULL;
    struct setup *s = setup_at(p, index);
    p->free_setup = s->next_free;
    uint16_t generation = (uint16_t)((s->generation + 1) & CONN_GENERATIONS);
    memset(s, 0, sizeof *s);
    s->generation = generation;
    s->vi = s->exchange = NONE;
    s->remote_handle = s->local_handle = FCVI_UNASSIGNED;
    p->used.setups++;
    return s;
}

void fcvi_setup_free(struct fcvi_port *p, struct setup *s)
{
    uint32_t index = setup_index(p, s);
    fcvi_timer_stop(p, TIMER_SETUP, index);
    FCVI_ASSERT(p->used.setups > 0);
    fcvi_setup_unlist(p, s);
    if (s->vi != NONE && vi_at(p, s->vi)->setup == index)
        vi_at(p, s->vi)->setup = NONE;
    if (s->vi != NONE && vi_at(p, s->vi)->inbound == index)
        vi_at(p, s->vi)->inbound = NONE;
    if (s->exchange != NONE)
        fcvi_fc2_exchange_free(p, s->exchange);
    s->phase = SETUP_FREE;
    s->next_free = p->free_setup;
    p->free_setup = index;
    p->used.setups--;
}

/* A request that waits for an answer is found by its FCVI_CONNECTION_ID (6.12.2) and, when it is retried, by
 * its FCVI_RQST_HANDLE (C rule 8). */
void fcvi_setup_list(struct fcvi_port *p, struct setup *s)
{
    FCVI_ASSERT(!s->listed);
    uint32_t index = setup_index(p, s);
    fcvi_table_add(p, &p->by_connection_id, fcvi_table_hash(s->peer, s->connection_id), index);
    fcvi_table_add(p, &p->by_handle, fcvi_table_hash(s->peer, s->remote_handle), index);
    s->listed = true;
}

void fcvi_setup_unlist(struct fcvi_port *p, struct setup *s)
{
    uint32_t index = setup_index(p, s);
    if (!s->listed)
        return;
    fcvi_table_remove(p, &p->by_connection_id, fcvi_table_hash(s->peer, s->connection_id), index);
    fcvi_table_remove(p, &p->by_handle, fcvi_table_hash(s->peer, s->remote_handle), index);
    s->listed = false;
}
