/* Client/server connections (VI-DG 3.3.1 to 3.3.5). */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { POLL_US = 1000 };

void vipl_conn_free(struct conn *c)
{
    struct conn **place = &c->object.nic->conns;
    while (*place != c)
        place = &(*place)->next;
    *place = c->next;
    free(c);
}

static void conn_end(struct conn *c)
{
    vipl_registry_remove(&c->object);
    vipl_conn_free(c);
}

static struct conn *conn_new(struct nic *nic, uint32_t number)
{
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->object = (struct object){.kind = KIND_CONN, .device = nic->object.device, .nic = nic};
    if (!vipl_registry_add(&c->object)) {
        free(c);
        return NULL;
    }
    c->number = number;
    c->next = nic->conns;
    nic->conns = c;
    return c;
}

/* The request that was waited for is here; vip: what the wait came to. */
static int offered(struct device *d, struct nic *nic, const struct call *call, int vip, struct conn **conn)
{
    if (!call->done || call->event.vip != VIP_SUCCESS)
        return vip;
    *conn = vip == VIP_SUCCESS ? conn_new(nic, call->event.conn) : NULL;
    if (*conn != NULL)
        return VIP_SUCCESS;
    (void)fcvi_vip_connect_reject(vipl_device_port(d), vipl_device_now(d), call->event.conn);
    return vip == VIP_SUCCESS ? VIP_ERROR_RESOURCE : vip;
}

struct wait {
    struct device *d;
    const struct fcvi_address *local;
    uint64_t token;
};

/* Nobody waits any more; who was found meanwhile is sent away. */
static void end_wait(void *context, const struct call *call)
{
    const struct wait *w = context;
    if (!call->done)
        fcvi_vip_connect_unwait(vipl_device_port(w->d), vipl_device_now(w->d), w->local, w->token);
    else if (call->event.vip == VIP_SUCCESS)
        (void)fcvi_vip_connect_reject(vipl_device_port(w->d), vipl_device_now(w->d), call->event.conn);
}

static int wait_for_request(struct nic *nic, const struct fcvi_address *local, VIP_ULONG timeout,
                            struct call *call, struct conn **conn)
{
    struct device *d = nic->object.device;
    uint64_t token = vipl_call_begin(d, call, true);
    /* no request is kept for who does not wait (VI-DG 6.7): one that polls waits for a moment, too */
    int vip = fcvi_vip_connect_wait(vipl_device_port(d), vipl_device_now(d), local,
                                    timeout > 0 ? vipl_microseconds(timeout) : POLL_US, token);
    struct wait w = {d, local, token};
    vip = vipl_call_await_or_undo(d, call, vip, &nic->object, &(struct undo){end_wait, &w});
    if (!call->done) /* the NIC was closed */
        fcvi_vip_connect_unwait(vipl_device_port(d), vipl_device_now(d), local, token);
    return offered(d, nic, call, vip, conn);
}

VIP_RETURN VipConnectWait(VIP_NIC_HANDLE NicHandle, VIP_NET_ADDRESS *LocalAddr, VIP_ULONG Timeout,
                          VIP_NET_ADDRESS *RemoteAddr, VIP_VI_ATTRIBUTES *RemoteViAttribs,
                          VIP_CONN_HANDLE *ConnHandle)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = nic->object.device;
    struct fcvi_address local;
    struct call call;
    struct conn *conn = NULL;
    if (RemoteAddr == NULL || RemoteViAttribs == NULL || ConnHandle == NULL ||
        !vipl_address_in(nic, LocalAddr, &local) || !vipl_address_is_own(nic, &local))
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    const uint16_t own_length = LocalAddr->DiscriminatorLen;
    int vip = wait_for_request(nic, &local, Timeout, &call, &conn);
    if (vip == VIP_SUCCESS && conn != NULL) {
        vipl_address_out(&call.event.remote_address, own_length, RemoteAddr);
        vipl_attributes_out(&call.event.remote_attributes, &conn->remote_qos, RemoteViAttribs);
        *ConnHandle = conn->object.handle;
    }
    return vipl_leave(d, vip);
}

/* VI-DG 3.3.2: after these the request is still there, for another VI or for a rejection. */
static bool may_try_again(int vip)
{
    return vip == VIP_INVALID_RELIABILITY_LEVEL || vip == VIP_INVALID_MTU || vip == VIP_INVALID_QOS ||
           vip == VIP_INVALID_STATE || vip == VIP_ERROR_RESOURCE;
}

static int accept_with(struct conn *conn, struct vi *vi)
{
    struct device *d = vi->object.device;
    void *handle = conn->object.handle;
    struct call call;
    conn->busy = true;
    uint64_t token = vipl_call_begin(d, &call, false);
    int vip =
        fcvi_vip_connect_accept(vipl_device_port(d), vipl_device_now(d), conn->number, vi->number, token);
    if (vip == VIP_INVALID_PARAMETER) /* the port forgot the request: the client has given up */
        vip = VIP_TIMEOUT;
    vip = vipl_call_await(d, &call, vip, &vi->object, VIP_TIMEOUT);
    conn = vipl_registry_find(handle, KIND_CONN, d);
    if (conn != NULL && may_try_again(vip))
        conn->busy = false;
    else if (conn != NULL)
        conn_end(conn);
    return vip;
}

VIP_RETURN VipConnectAccept(VIP_CONN_HANDLE ConnHandle, VIP_VI_HANDLE ViHandle)
{
    struct conn *conn = vipl_enter(ConnHandle, KIND_CONN);
    if (conn == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = conn->object.device;
    struct vi *vi = vipl_registry_find(ViHandle, KIND_VI, d);
    VIP_VI_STATE state;
    if (vi == NULL || vi->object.nic != conn->object.nic || conn->busy)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    int vip = vipl_vi_state(vi, &state);
    if (vip == VIP_SUCCESS)
        vip = state == VIP_STATE_IDLE ? accept_with(conn, vi) : VIP_INVALID_STATE;
    return vipl_leave(d, vip);
}

VIP_RETURN VipConnectReject(VIP_CONN_HANDLE ConnHandle)
{
    struct conn *conn = vipl_enter(ConnHandle, KIND_CONN);
    if (conn == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = conn->object.device;
    if (conn->busy)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    int vip = fcvi_vip_connect_reject(vipl_device_port(d), vipl_device_now(d), conn->number);
    if (vip == VIP_INVALID_PARAMETER) /* the client has given up: VI-DG 6.7 calls that a success */
        vip = VIP_SUCCESS;
    conn_end(conn);
    return vipl_leave(d, vip);
}

struct request {
    struct device *d;
    const void *handle;
};

/* Nobody learns of the Connection any more: the VI is Idle again, as after VipDisconnect. */
static void end_request(void *context, const struct call *call)
{
    const struct request *r = context;
    const struct vi *vi = vipl_registry_find(r->handle, KIND_VI, r->d);
    if (vi != NULL && (!call->done || call->event.vip == VIP_SUCCESS))
        (void)fcvi_vip_disconnect(vipl_device_port(r->d), vipl_device_now(r->d), vi->number, call->token);
}

VIP_RETURN VipConnectRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS *LocalAddr, VIP_NET_ADDRESS *RemoteAddr,
                             VIP_ULONG Timeout, VIP_VI_ATTRIBUTES *RemoteViAttribs)
{
    struct vi *vi = vipl_enter(ViHandle, KIND_VI);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = vi->object.device;
    struct fcvi_address local, remote;
    struct call call;
    VIP_VI_STATE state;
    if (Timeout == 0 || RemoteViAttribs == NULL || !vipl_address_in(vi->object.nic, LocalAddr, &local) ||
        !vipl_address_in(vi->object.nic, RemoteAddr, &remote) || !vipl_address_is_own(vi->object.nic, &local))
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    int vip = vipl_vi_state(vi, &state);
    if (vip == VIP_SUCCESS && state != VIP_STATE_IDLE)
        vip = VIP_INVALID_STATE;
    if (vip != VIP_SUCCESS)
        return vipl_leave(d, vip);
    uint64_t token = vipl_call_begin(d, &call, false);
    vip = fcvi_vip_connect_request(vipl_device_port(d), vipl_device_now(d), vi->number, &local, &remote,
                                   vipl_microseconds(Timeout), token);
    struct request r = {d, vi->object.handle};
    vip = vipl_call_await_or_undo(d, &call, vip, &vi->object, &(struct undo){end_request, &r});
    if (vip == VIP_SUCCESS)
        vipl_attributes_out(&call.event.remote_attributes, &vi->remote_qos, RemoteViAttribs);
    return vipl_leave(d, vip);
}

/* A VI in the Error state after a catastrophic error is disconnected already, or about to be. */
static int repair(struct vi *vi)
{
    struct device *d = vi->object.device;
    void *handle = vi->object.handle;
    bool alive = true;
    while (vi->teardown != 0 && alive) {
        alive = vipl_wait_step(d, FCVI_NEVER);
        if (vipl_registry_find(handle, KIND_VI, d) == NULL)
            return VIP_INVALID_PARAMETER;
    }
    if (vi->teardown != 0)
        return VIP_NOT_REACHABLE;
    vi->broken = false;
    return VIP_SUCCESS;
}

VIP_RETURN VipDisconnect(VIP_VI_HANDLE ViHandle)
{
    struct vi *vi = vipl_enter(ViHandle, KIND_VI);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = vi->object.device;
    if (vi->broken) {
        int repaired = repair(vi);
        VIP_VI_STATE state;
        /* that disconnect may have stayed unanswered: the VI is in Error then (8.6.3 a) */
        if (repaired != VIP_SUCCESS || vipl_vi_state(vi, &state) != VIP_SUCCESS || state == VIP_STATE_IDLE)
            return vipl_leave(d, repaired);
    }
    struct call call;
    uint64_t token = vipl_call_begin(d, &call, false);
    int vip = fcvi_vip_disconnect(vipl_device_port(d), vipl_device_now(d), vi->number, token);
    vip = vipl_call_await(d, &call, vip, &vi->object, VIP_NOT_REACHABLE);
    vi = vipl_registry_find(ViHandle, KIND_VI, d);
    if (vi != NULL)
        vi->unanswered = vip == VIP_NOT_REACHABLE;
    /* what was flushed by it may have lain in memory that is gone: this call ends that Error, too */
    vi = vip == VIP_SUCCESS ? vi : NULL;
    return vipl_leave(d, vi != NULL && vi->broken ? repair(vi) : vip);
}
