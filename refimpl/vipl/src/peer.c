/* Peer-to-peer connections (VI-DG 3.3.6 to 3.3.8). */
#include "internal.h"

VIP_RETURN VipConnectPeerRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS *LocalAddr,
                                 VIP_NET_ADDRESS *RemoteAddr, VIP_ULONG Timeout)
{
    struct vi *vi = vipl_enter(ViHandle, KIND_VI);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = vi->object.device;
    struct fcvi_address local, remote;
    VIP_VI_STATE state;
    if (Timeout == 0 || !vipl_address_in(vi->object.nic, LocalAddr, &local) ||
        !vipl_address_in(vi->object.nic, RemoteAddr, &remote) || !vipl_address_is_own(vi->object.nic, &local))
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    int vip = vipl_vi_state(vi, &state);
    if (vip == VIP_SUCCESS && state != VIP_STATE_IDLE)
        vip = VIP_INVALID_STATE;
    if (vip == VIP_SUCCESS)
        vip = fcvi_vip_connect_peer_request(vipl_device_port(d), vipl_device_now(d), vi->number, &local,
                                            &remote, vipl_microseconds(Timeout));
    return vipl_leave(d, vip);
}

VIP_RETURN VipConnectPeerDone(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES *RemoteViAttribs)
{
    struct vi *vi = vipl_enter(ViHandle, KIND_VI);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = vi->object.device;
    struct fcvi_attributes remote = {0};
    if (RemoteViAttribs == NULL)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    int vip = fcvi_vip_connect_peer_done(vipl_device_port(d), vipl_device_now(d), vi->number, &remote);
    if (vip == VIP_NOT_DONE) {
        (void)vipl_wait_step(d, vipl_device_now(d));
        vi = vipl_registry_find(ViHandle, KIND_VI, d);
        vip = vi == NULL
                  ? VIP_INVALID_PARAMETER
                  : fcvi_vip_connect_peer_done(vipl_device_port(d), vipl_device_now(d), vi->number, &remote);
    }
    if (vip == VIP_SUCCESS)
        vipl_attributes_out(&remote, &vi->remote_qos, RemoteViAttribs);
    return vipl_leave(d, vip);
}

struct wait {
    struct device *d;
    const void *handle;
};

/* The result is for the next one that asks. */
static void end_wait(void *context, const struct call *call)
{
    const struct wait *w = context;
    const struct vi *vi = vipl_registry_find(w->handle, KIND_VI, w->d);
    if (!call->done && vi != NULL)
        fcvi_vip_connect_peer_unwait(vipl_device_port(w->d), vi->number, call->token);
}

VIP_RETURN VipConnectPeerWait(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES *RemoteViAttribs)
{
    struct vi *vi = vipl_enter(ViHandle, KIND_VI);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = vi->object.device;
    struct fcvi_attributes remote = {0};
    struct call call;
    if (RemoteViAttribs == NULL)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    uint64_t token = vipl_call_begin(d, &call, false);
    int vip = fcvi_vip_connect_peer_wait(vipl_device_port(d), vipl_device_now(d), vi->number, token, &remote);
    struct wait w = {d, ViHandle};
    vip = vipl_call_await_or_undo(d, &call, vip, &vi->object, &(struct undo){end_wait, &w});
    if (call.done)
        remote = call.event.remote_attributes;
    if (vip == VIP_SUCCESS)
        vipl_attributes_out(&remote, &vi->remote_qos, RemoteViAttribs);
    return vipl_leave(d, vip);
}
