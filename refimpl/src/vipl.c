/* VIPL calls on VIs and connections (VI-DG 3). */
#include "internal.h"

static struct vi *find(struct fcvi_port *p, uint32_t vi)
{
    return vi < p->limits.vis && vi_at(p, vi)->used ? vi_at(p, vi) : NULL;
}

int fcvi_vip_create_vi(struct fcvi_port *port, uint64_t now, const struct fcvi_attributes *a, uint32_t *out)
{
    fcvi_port_run(port, now);
    if (a->reliability != FCVI_UNRELIABLE)
        return VIP_INVALID_RELIABILITY_LEVEL; /* this port offers Unreliable Delivery */
    if (a->max_transfer_size > port->limits.max_transfer_size)
        return VIP_INVALID_MTU;
    for (uint32_t i = 0; i < port->limits.vis; i++) {
        struct vi *vi = vi_at(port, i);
        if (vi->used)
            continue;
        uint16_t generation = vi->generation; /* handles go on where the last VI here stopped */
        *vi = (struct vi){.used = true, .setup = NONE, .generation = generation, .attributes = *a};
        if (vi->attributes.max_transfer_size == 0)
            vi->attributes.max_transfer_size = port->limits.max_transfer_size;
        *out = i;
        return VIP_SUCCESS;
    }
    return VIP_ERROR_RESOURCE;
}

int fcvi_vip_destroy_vi(struct fcvi_port *port, uint64_t now, uint32_t number)
{
    fcvi_port_run(port, now);
    struct vi *vi = find(port, number);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    if (vi->state != FCVI_STATE_IDLE || vi->send.count > 0 || vi->recv.count > 0)
        return VIP_INVALID_STATE;
    vi->used = false;
    return VIP_SUCCESS;
}

int fcvi_vip_query_vi(struct fcvi_port *port, uint64_t now, uint32_t number, struct fcvi_vi_info *out)
{
    fcvi_port_run(port, now);
    const struct vi *vi = find(port, number);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    *out = (struct fcvi_vi_info){vi->state, vi->send.count == 0, vi->recv.count == 0, vi->attributes};
    return VIP_SUCCESS;
}

int fcvi_vip_connect_wait(struct fcvi_port *port, uint64_t now, const struct fcvi_address *local,
                          uint64_t timeout_us, uint64_t token)
{
    fcvi_port_run(port, now);
    if (!address_valid(local) || !address_is_own(port, local))
        return VIP_INVALID_PARAMETER;
    if (timeout_us == 0)
        return VIP_TIMEOUT; /* a poll: no request is ever kept waiting for a Connectionpoint */
    for (uint32_t i = 0; i < port->limits.connectionpoints; i++) {
        struct point *point = point_at(port, i);
        if (point->used)
            continue;
        *point = (struct point){.used = true, .token = token, .local = *local};
        timer_start(port, TIMER_T0, i, timeout_us);
        return FCVI_VIP_PENDING;
    }
    return VIP_ERROR_RESOURCE;
}

static struct setup *offered(struct fcvi_port *p, uint32_t conn)
{
    struct setup *s = conn < setup_count(p) ? setup_at(p, conn) : NULL;
    return s != NULL && s->phase == SETUP_OFFERED ? s : NULL;
}

int fcvi_vip_connect_accept(struct fcvi_port *port, uint64_t now, uint32_t conn, uint32_t number,
                            uint64_t token)
{
    fcvi_port_run(port, now);
    struct vi *vi = find(port, number);
    struct setup *s = offered(port, conn);
    if (vi == NULL || s == NULL)
        return VIP_INVALID_PARAMETER;
    if (vi->state != FCVI_STATE_IDLE)
        return VIP_INVALID_STATE;
    const struct fcvi_attributes *a = &vi->attributes, *b = &s->remote_attributes;
    if (a->reliability != b->reliability) /* nothing is sent, the request stays (E77) */
        return VIP_INVALID_RELIABILITY_LEVEL;
    if (a->max_transfer_size != b->max_transfer_size)
        return VIP_INVALID_MTU;
    if (a->pipeline_depth != b->pipeline_depth)
        return VIP_INVALID_QOS; /* FCVI_PREF may differ (5.8.2, E34) */
    s->vi = number;
    s->local_handle = new_handle(port, vi);
    vi->setup = conn;
    vi->blocked = true;
    vi->token = token;
    responder_answer(port, s);
    return FCVI_VIP_PENDING;
}

int fcvi_vip_connect_reject(struct fcvi_port *port, uint64_t now, uint32_t conn)
{
    fcvi_port_run(port, now);
    struct setup *s = offered(port, conn);
    if (s == NULL)
        return VIP_INVALID_PARAMETER;
    s->reason = 0x04; /* Connect Reject */
    responder_answer(port, s);
    return VIP_SUCCESS;
}

int fcvi_vip_connect_request(struct fcvi_port *port, uint64_t now, uint32_t number,
                             const struct fcvi_address *local, const struct fcvi_address *remote,
                             uint64_t timeout_us, uint64_t token)
{
    fcvi_port_run(port, now);
    struct vi *vi = find(port, number);
    if (vi == NULL || !address_valid(local) || !address_valid(remote) || !address_is_own(port, local) ||
        timeout_us == 0)
        return VIP_INVALID_PARAMETER;
    if (vi->state != FCVI_STATE_IDLE)
        return VIP_INVALID_STATE;
    bool known = false; /* 7.4: the N_Port Identifier has to be known; this port does not resolve addresses */
    for (uint32_t i = 0; i < port->config.peer.hosts; i++)
        known |= memcmp(port->config.peer.host[i], remote->host, sizeof remote->host) == 0;
    struct setup *s = known ? setup_new(port) : NULL;
    if (s == NULL)
        return known ? VIP_ERROR_RESOURCE : VIP_NOT_REACHABLE;
    s->originator = true;
    s->vi = number;
    s->local = *local;
    s->remote = *remote;
    s->local_handle = new_handle(port, vi);
    s->exchange.peer = port->config.peer.n_port_id;
    vi->setup = setup_index(port, s);
    vi->blocked = true;
    vi->token = token;
    timer_start(port, TIMER_T1, vi->setup, timeout_us);
    originator_begin(port, s);
    return FCVI_VIP_PENDING;
}

int fcvi_vip_disconnect(struct fcvi_port *port, uint64_t now, uint32_t number, uint64_t token)
{
    fcvi_port_run(port, now);
    struct vi *vi = find(port, number);
    return vi != NULL ? disconnect_start(port, vi, token) : VIP_INVALID_PARAMETER;
}
