/* Connectionpoints: where a Connect Request finds the application that waits for it (4.2, VI-DG 6.7, E78).
 *
 * The table holds the VipConnectWait calls first, by the Discriminator they listen on, and then the VIs with
 * a Peer request, by the Discriminator of their remote address: that is the one both Peers name. */
#include "../block/table.h"
#include "../block/timers.h"
#include "events.h"
#include "vi.h"

uint32_t fcvi_point_count(const struct fcvi_port *p)
{
    return p->limits.connectionpoints;
}

uint32_t fcvi_point_hash(const struct fcvi_address *a)
{
    FCVI_ASSERT(a->discriminator_length <= FCVI_MAX_DISCRIMINATOR);
    uint64_t h = 14695981039346656037u;
    for (uint32_t i = 0; i < a->discriminator_length; i++)
        h = (h ^ a->discriminator[i]) * 1099511628211u;
    return fcvi_table_hash(h, a->discriminator_length);
}

bool fcvi_point_same_discriminator(const struct fcvi_address *a, const struct fcvi_address *b)
{
    return a->discriminator_length == b->discriminator_length &&
           memcmp(a->discriminator, b->discriminator, a->discriminator_length) == 0;
}

void fcvi_point_list(struct fcvi_port *p, uint32_t index, const struct fcvi_address *a)
{
    FCVI_ASSERT(index < p->limits.connectionpoints + p->limits.vis);
    fcvi_table_add(p, &p->by_point, fcvi_point_hash(a), index);
    p->used.points++;
}

void fcvi_point_unlist(struct fcvi_port *p, uint32_t index, const struct fcvi_address *a)
{
    FCVI_ASSERT(p->used.points > 0);
    fcvi_table_remove(p, &p->by_point, fcvi_point_hash(a), index);
    p->used.points--;
}

/* Its VipConnectWait returns. */
void fcvi_point_free(struct fcvi_port *p, uint32_t index)
{
    struct point *point = point_at(p, index);
    fcvi_timer_stop(p, TIMER_T0, index);
    fcvi_point_unlist(p, index, &point->local);
    point->next_free = p->free_point;
    p->free_point = index;
}

/* Its VipConnectWait has nobody any more. */
void fcvi_vip_connect_unwait(struct fcvi_port *p, uint64_t now, const struct fcvi_address *local,
                             uint64_t token)
{
    fcvi_port_run(p, now);
    const struct table *t = &p->by_point;
    uint32_t i = fcvi_table_first(p, t, fcvi_point_hash(local));
    while (i != NONE && (i >= fcvi_point_count(p) || point_at(p, i)->token != token))
        i = fcvi_table_next(p, t, i);
    if (i != NONE)
        fcvi_point_free(p, i);
}

/* T0 */
void fcvi_point_timeout(struct fcvi_port *p, uint32_t index)
{
    fcvi_point_free(p, index);
    fcvi_event_call(p, point_at(p, index)->token, VIP_TIMEOUT);
}

/* The oldest VipConnectWait on the address that the request names as remote. */
struct point *fcvi_point_match(struct fcvi_port *p, const struct fcvi_address *a)
{
    const struct table *t = &p->by_point;
    for (uint32_t i = fcvi_table_first(p, t, fcvi_point_hash(a)); i != NONE; i = fcvi_table_next(p, t, i)) {
        if (i >= fcvi_point_count(p))
            continue;
        struct point *point = point_at(p, i);
        if (fcvi_point_same_discriminator(&point->local, a) &&
            memcmp(point->local.host, a->host, sizeof a->host) == 0)
            return point;
    }
    return NULL;
}

/* ---- addresses (7.2) ---- */

bool fcvi_vi_address_valid(const struct fcvi_port *p, const struct fcvi_address *a)
{
    if (p->config.wire == FCVI_WIRE_VITCP)
        return a->discriminator_length <= FCVI_MAX_DISCRIMINATOR_VITCP;
    uint8_t least = p->config.revision == FCVI_EDITION_REV1 ? 0 : FCVI_MIN_DISCRIMINATOR;
    return a->discriminator_length >= least && a->discriminator_length <= FCVI_MAX_DISCRIMINATOR;
}

bool fcvi_vi_address_is_own(const struct fcvi_port *p, const struct fcvi_address *a)
{
    for (uint32_t i = 0; i < p->config.self.hosts; i++)
        if (memcmp(p->config.self.host[i], a->host, sizeof a->host) == 0)
            return true;
    return false;
}
