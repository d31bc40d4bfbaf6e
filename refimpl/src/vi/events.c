/* What the host is told: returns of blocked calls, completions, errors and states. */
#include "events.h"
#include "vi.h"

/* The ring is sized by the host. When it is full the oldest event makes room, which is counted. */
struct fcvi_event *fcvi_event_new(struct fcvi_port *p, enum fcvi_event_kind kind)
{
    FCVI_ASSERT(p->events_count <= p->limits.events);
    if (p->events_count == p->limits.events) {
        p->events_head = (p->events_head + 1) % p->limits.events;
        p->events_count--;
        p->used.events_lost++;
    }
    uint32_t at = (p->events_head + p->events_count++) % p->limits.events;
    struct fcvi_event *e = ARRAY(p, struct fcvi_event, events, at);
    memset(e, 0, sizeof *e);
    e->kind = (uint8_t)kind;
    return e;
}

void fcvi_event_call(struct fcvi_port *p, uint64_t token, int vip)
{
    struct fcvi_event *e = fcvi_event_new(p, FCVI_EVENT_CALL);
    e->token = token;
    e->vip = vip;
}

void fcvi_event_error(struct fcvi_port *p, uint32_t vi, enum fcvi_vip_error code)
{
    struct fcvi_event *e = fcvi_event_new(p, FCVI_EVENT_ERROR);
    e->vi = vi;
    e->vip = (int)code;
}

void fcvi_vi_set_state(struct fcvi_port *p, struct vi *vi, enum fcvi_vi_state state)
{
    if (vi->state == state)
        return;
    vi->state = (uint8_t)state;
    FCVI_ASSERT(vi->used);
    struct fcvi_event *e = fcvi_event_new(p, FCVI_EVENT_STATE);
    e->vi = vi_index(p, vi);
    e->state = (uint8_t)state;
}

/* The connect call of a VI is over: the blocked one returns, or a Peer request has its result. */
void fcvi_vi_connect_done(struct fcvi_port *p, struct vi *vi, int vip, const struct fcvi_attributes *remote)
{
    struct fcvi_event *e;
    if (vi->blocked) {
        vi->blocked = false;
        e = fcvi_event_new(p, FCVI_EVENT_CALL);
        e->token = vi->token;
    } else if (vi->peer.phase == PEER_PENDING) {
        fcvi_point_unlist(p, fcvi_point_count(p) + vi_index(p, vi),
                          &vi->remote); /* it is no longer to be found */
        vi->peer.phase = vi->peer.waiting ? PEER_NONE : PEER_DONE;
        vi->peer.vip = vip;
        if (remote != NULL)
            vi->peer.remote_attributes = *remote;
        if (!vi->peer.waiting)
            return;
        vi->peer.waiting = false;
        e = fcvi_event_new(p, FCVI_EVENT_CALL);
        e->token = vi->peer.token;
    } else {
        return;
    }
    e->vip = vip;
    e->vi = vi_index(p, vi);
    if (remote != NULL)
        e->remote_attributes = *remote;
}

/* VipDisconnect ends it. Nobody lacks resources then: of a Peer request no result is left, as its VI is in
 * Pending Connect no more (VI-DG 3.3.7). */
void fcvi_vi_connect_undone(struct fcvi_port *p, struct vi *vi)
{
    const bool blocked = vi->blocked;
    fcvi_vi_connect_done(p, vi, blocked ? VIP_ERROR_RESOURCE : VIP_INVALID_STATE, NULL);
    vi->peer.phase = PEER_NONE;
}

bool fcvi_port_event(struct fcvi_port *port, struct fcvi_event *out)
{
    if (port->events_count == 0)
        return false;
    *out = *ARRAY(port, struct fcvi_event, events, port->events_head);
    port->events_head = (port->events_head + 1) % port->limits.events;
    port->events_count--;
    return true;
}
