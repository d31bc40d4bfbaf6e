/* VIPL calls on VIs and connections (VI-DG 3). */
#include "../block/timers.h"
#include "wire.h"

static struct vi *vi_find(struct fcvi_port *p, uint32_t vi)
{
    return vi < p->limits.vis && vi_at(p, vi)->used ? vi_at(p, vi) : NULL;
}

/* ---- VIs ---- */

/* VI-DG 3.3.2, E77: what has to be equal. FCVI_PREF may differ (5.8.2, E34). */
int fcvi_vi_attributes_match(const struct fcvi_attributes *a, const struct fcvi_attributes *b)
{
    if (a->reliability != b->reliability)
        return VIP_INVALID_RELIABILITY_LEVEL;
    if (a->max_transfer_size != b->max_transfer_size)
        return VIP_INVALID_MTU;
    return a->pipeline_depth != b->pipeline_depth ? VIP_INVALID_QOS : VIP_SUCCESS;
}

/* VI-DG 3.2.1: the codes for attributes that the NIC does not have. */
static int attributes_valid(const struct fcvi_port *p, const struct fcvi_attributes *a)
{
    if (a->reliability < FCVI_UNRELIABLE || a->reliability > FCVI_RELIABLE_RECEPTION)
        return VIP_INVALID_RELIABILITY_LEVEL;
    if (a->max_transfer_size > p->limits.max_transfer_size)
        return VIP_INVALID_MTU;
    return a->rdma_read && a->reliability == FCVI_UNRELIABLE ? VIP_INVALID_RDMAREAD : VIP_SUCCESS;
}

static void set_attributes(const struct fcvi_port *p, struct vi *vi, const struct fcvi_attributes *a)
{
    vi->attributes = *a;
    if (vi->attributes.max_transfer_size == 0)
        vi->attributes.max_transfer_size = p->limits.max_transfer_size;
}

int fcvi_vip_create_vi(struct fcvi_port *port, uint64_t now, const struct fcvi_attributes *a, uint32_t *out)
{
    fcvi_port_run(port, now);
    int code = attributes_valid(port, a);
    if (code != VIP_SUCCESS)
        return code;
    uint32_t index = port->free_vi;
    if (index == NONE)
        return VIP_ERROR_RESOURCE;
    const struct queue queue = {NONE, NONE, 0, NONE, NONE};
    struct vi *vi = vi_at(port, index);
    port->free_vi = vi->next_free;
    *vi = (struct vi){
        .used = true,
        .generation = vi->generation, /* handles go on where the last VI here stopped */
        .generation_ended = vi->generation_ended,
        .send = queue,
        .recv = queue,
    };
    port->wire->vi_begin(port, vi);
    set_attributes(port, vi, a);
    port->used.vis++;
    *out = index;
    return VIP_SUCCESS;
}

int fcvi_vip_destroy_vi(struct fcvi_port *port, uint64_t now, uint32_t number)
{
    fcvi_port_run(port, now);
    struct vi *vi = vi_find(port, number);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    if (vi->state != FCVI_STATE_IDLE || vi->send.count > 0 || vi->recv.count > 0)
        return VIP_INVALID_STATE;
    port->wire->vi_end(port, vi);
    vi->used = false;
    vi->next_free = port->free_vi;
    port->free_vi = number;
    port->used.vis--;
    return VIP_SUCCESS;
}

int fcvi_vip_set_vi(struct fcvi_port *port, uint64_t now, uint32_t number, const struct fcvi_attributes *a)
{
    fcvi_port_run(port, now);
    struct vi *vi = vi_find(port, number);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    if (vi->state != FCVI_STATE_IDLE)
        return VIP_INVALID_STATE;
    int code = attributes_valid(port, a);
    if (code == VIP_SUCCESS)
        set_attributes(port, vi, a);
    return code;
}

int fcvi_vip_query_vi(struct fcvi_port *port, uint64_t now, uint32_t number, struct fcvi_vi_info *out)
{
    fcvi_port_run(port, now);
    const struct vi *vi = vi_find(port, number);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    *out = (struct fcvi_vi_info){vi->state, vi->send.count == 0, vi->recv.count == 0, vi->attributes};
    out->attributes.max_transfer_size = port->wire->transfer_size(port, vi);
    return VIP_SUCCESS;
}

/* ---- Client-Server (VI-DG 3.3.1 to 3.3.4) ---- */

int fcvi_vip_connect_wait(struct fcvi_port *port, uint64_t now, const struct fcvi_address *local,
                          uint64_t timeout_us, uint64_t token)
{
    fcvi_port_run(port, now);
    if (!fcvi_vi_address_valid(port, local) || !fcvi_vi_address_is_own(port, local))
        return VIP_INVALID_PARAMETER;
    if (timeout_us == 0)
        return VIP_TIMEOUT; /* a poll: no request is ever kept waiting for a Connectionpoint */
    uint32_t index = port->free_point;
    if (index == NONE)
        return VIP_ERROR_RESOURCE;
    struct point *point = point_at(port, index);
    port->free_point = point->next_free;
    *point = (struct point){.token = token, .local = *local};
    fcvi_point_list(port, index, local);
    fcvi_timer_start(port, TIMER_T0, index, timeout_us);
    return FCVI_VIP_PENDING;
}

int fcvi_vip_connect_accept(struct fcvi_port *port, uint64_t now, uint32_t conn, uint32_t number,
                            uint64_t token)
{
    fcvi_port_run(port, now);
    struct vi *vi = vi_find(port, number);
    const struct fcvi_attributes *remote = port->wire->offered(port, conn);
    if (vi == NULL || remote == NULL)
        return VIP_INVALID_PARAMETER;
    if (vi->state != FCVI_STATE_IDLE)
        return VIP_INVALID_STATE;
    int code = port->wire->match(port, vi, remote);
    if (code != VIP_SUCCESS) /* nothing is sent, the request stays (E77) */
        return code;
    vi->blocked = true;
    vi->token = token;
    code = port->wire->accept(port, conn, vi);
    if (code != FCVI_VIP_PENDING)
        vi->blocked = false;
    return code;
}

int fcvi_vip_connect_reject(struct fcvi_port *port, uint64_t now, uint32_t conn)
{
    fcvi_port_run(port, now);
    return port->wire->refuse(port, conn) ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

/* What both kinds of connect request have alike: the checks, a setup of the wire's, T1. */
static int request(struct fcvi_port *p, uint32_t number, const struct wire_request *r, uint64_t timeout_us)
{
    struct vi *vi = vi_find(p, number);
    if (vi == NULL || !fcvi_vi_address_valid(p, r->local) || !fcvi_vi_address_valid(p, r->remote) ||
        !fcvi_vi_address_is_own(p, r->local) || timeout_us == 0)
        return VIP_INVALID_PARAMETER;
    if (vi->state != FCVI_STATE_IDLE)
        return VIP_INVALID_STATE;
    if (!p->wire->prepare(p, vi, r))
        return VIP_ERROR_RESOURCE;
    fcvi_timer_start(p, TIMER_T1, number, timeout_us);
    return VIP_SUCCESS;
}

int fcvi_vip_connect_request(struct fcvi_port *port, uint64_t now, uint32_t number,
                             const struct fcvi_address *local, const struct fcvi_address *remote,
                             uint64_t timeout_us, uint64_t token)
{
    fcvi_port_run(port, now);
    const struct wire_request r = {.local = local, .remote = remote, .peer_mode = false};
    int code = request(port, number, &r, timeout_us);
    if (code != VIP_SUCCESS)
        return code;
    struct vi *vi = vi_at(port, number);
    vi->peer.phase = PEER_NONE;
    vi->blocked = true;
    vi->token = token;
    port->wire->connect(port, vi);
    return FCVI_VIP_PENDING;
}

/* ---- Peer-to-Peer (VI-DG 3.3.6 to 3.3.8) ---- */

int fcvi_vip_connect_peer_request(struct fcvi_port *port, uint64_t now, uint32_t number,
                                  const struct fcvi_address *local, const struct fcvi_address *remote,
                                  uint64_t timeout_us)
{
    fcvi_port_run(port, now);
    const struct wire_request r = {.local = local, .remote = remote, .peer_mode = true};
    int code = request(port, number, &r, timeout_us);
    if (code != VIP_SUCCESS)
        return code;
    struct vi *vi = vi_at(port, number);
    vi->peer = (struct peer_call){.phase = PEER_PENDING};
    vi->local = *local;
    vi->remote = *remote;
    fcvi_point_list(port, fcvi_point_count(port) + number, remote);
    port->wire->connect(port, vi);
    return VIP_SUCCESS;
}

int fcvi_vip_connect_peer_done(struct fcvi_port *port, uint64_t now, uint32_t number,
                               struct fcvi_attributes *out)
{
    fcvi_port_run(port, now);
    struct vi *vi = vi_find(port, number);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    if (vi->peer.phase == PEER_NONE)
        return VIP_INVALID_STATE;
    if (vi->peer.phase == PEER_PENDING)
        return VIP_NOT_DONE;
    vi->peer.phase = PEER_NONE;
    *out = vi->peer.remote_attributes;
    return vi->peer.vip;
}

int fcvi_vip_connect_peer_wait(struct fcvi_port *port, uint64_t now, uint32_t number, uint64_t token,
                               struct fcvi_attributes *out)
{
    int code = fcvi_vip_connect_peer_done(port, now, number, out);
    if (code != VIP_NOT_DONE)
        return code;
    struct vi *vi = vi_at(port, number);
    if (vi->peer.waiting)
        return VIP_ERROR_RESOURCE;
    vi->peer.waiting = true;
    vi->peer.token = token;
    return FCVI_VIP_PENDING;
}

void fcvi_vip_connect_peer_unwait(struct fcvi_port *port, uint32_t number, uint64_t token)
{
    struct vi *vi = vi_find(port, number);
    if (vi != NULL && vi->peer.waiting && vi->peer.token == token)
        vi->peer.waiting = false;
}

int fcvi_vip_disconnect(struct fcvi_port *port, uint64_t now, uint32_t number, uint64_t token)
{
    fcvi_port_run(port, now);
    struct vi *vi = vi_find(port, number);
    return vi != NULL ? port->wire->disconnect(port, vi, token) : VIP_INVALID_PARAMETER;
}
