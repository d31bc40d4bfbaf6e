/* VIs (VI-DG 3.2, 3.7.2, 3.7.3). */
#include "internal.h"

#include <stdlib.h>

int vipl_vi_state(struct vi *vi, VIP_VI_STATE *state)
{
    struct device *d = vi->object.device;
    struct fcvi_vi_info info;
    int vip = fcvi_vip_query_vi(vipl_device_port(d), vipl_device_now(d), vi->number, &info);
    if (vip != VIP_SUCCESS)
        return vip;
    vi->attributes = info.attributes;
    if (vi->broken || info.state == FCVI_STATE_ERROR)
        *state = VIP_STATE_ERROR;
    else if (info.state == FCVI_STATE_CONNECTED)
        *state = VIP_STATE_CONNECTED;
    else if (info.state == FCVI_STATE_IDLE)
        *state = VIP_STATE_IDLE;
    else /* Pending Connect Retry (8.2) has no name in VIPL */
        *state = VIP_STATE_CONNECT_PENDING;
    return VIP_SUCCESS;
}

static int cq_of(struct nic *nic, VIP_CQ_HANDLE handle, struct cq **cq)
{
    *cq = handle != NULL ? vipl_registry_find(handle, KIND_CQ, nic->object.device) : NULL;
    if (handle == NULL)
        return VIP_SUCCESS;
    return *cq != NULL && (*cq)->object.nic == nic ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

static void link_vi(struct vi *vi)
{
    struct nic *nic = vi->object.nic;
    struct device *d = vi->object.device;
    vi->next = nic->vis;
    nic->vis = vi;
    vi->in_bucket = d->bucket[vi->number % BUCKETS];
    d->bucket[vi->number % BUCKETS] = vi;
    d->vis++;
    vi->ptag->users++;
    if (vi->send.cq != NULL)
        vi->send.cq->attached++;
    if (vi->recv.cq != NULL)
        vi->recv.cq->attached++;
}

/* Everything but the port's VI. */
void vipl_vi_free(struct vi *vi)
{
    struct device *d = vi->object.device;
    struct vi **place = &vi->object.nic->vis;
    while (*place != vi)
        place = &(*place)->next;
    *place = vi->next;
    place = &d->bucket[vi->number % BUCKETS];
    while (*place != vi)
        place = &(*place)->in_bucket;
    *place = vi->in_bucket;
    d->vis--;
    vi->ptag->users--;
    vipl_queue_free(&vi->send, vi->object.handle);
    vipl_queue_free(&vi->recv, vi->object.handle);
    free(vi);
}

static int create(struct nic *nic, struct vi *vi)
{
    struct device *d = nic->object.device;
    if (d->vis >= d->info.max_vi)
        return VIP_ERROR_RESOURCE;
    vi->object = (struct object){.kind = KIND_VI, .device = d, .nic = nic};
    vi->recv.recv = true;
    int vip = fcvi_vip_create_vi(vipl_device_port(d), vipl_device_now(d), &vi->attributes, &vi->number);
    if (vip != VIP_SUCCESS)
        return vip;
    if (!vipl_registry_add(&vi->object)) {
        (void)fcvi_vip_destroy_vi(vipl_device_port(d), vipl_device_now(d), vi->number);
        return VIP_ERROR_RESOURCE;
    }
    link_vi(vi);
    return VIP_SUCCESS;
}

VIP_RETURN VipCreateVi(VIP_NIC_HANDLE NicHandle, VIP_VI_ATTRIBUTES *ViAttribs, VIP_CQ_HANDLE SendCQHandle,
                       VIP_CQ_HANDLE RecvCQHandle, VIP_VI_HANDLE *ViHandle)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = nic->object.device;
    struct vi *vi = calloc(1, sizeof *vi);
    if (vi == NULL)
        return vipl_leave(d, VIP_ERROR_RESOURCE);
    int vip = ViHandle != NULL ? vipl_attributes_in(nic, ViAttribs, &vi->attributes, &vi->ptag)
                               : VIP_INVALID_PARAMETER;
    if (vip == VIP_SUCCESS)
        vip = cq_of(nic, SendCQHandle, &vi->send.cq);
    if (vip == VIP_SUCCESS)
        vip = cq_of(nic, RecvCQHandle, &vi->recv.cq);
    if (vip == VIP_SUCCESS)
        vip = create(nic, vi);
    if (vip == VIP_SUCCESS)
        *ViHandle = vi->object.handle;
    else
        free(vi);
    return vipl_leave(d, vip);
}

VIP_RETURN VipDestroyVi(VIP_VI_HANDLE ViHandle)
{
    struct vi *vi = vipl_enter(ViHandle, KIND_VI);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = vi->object.device;
    VIP_VI_STATE state;
    int vip = vipl_vi_state(vi, &state);
    if (vip == VIP_SUCCESS && (state != VIP_STATE_IDLE || vi->send.count > 0 || vi->recv.count > 0))
        vip = VIP_INVALID_STATE;
    if (vip == VIP_SUCCESS)
        vip = fcvi_vip_destroy_vi(vipl_device_port(d), vipl_device_now(d), vi->number);
    if (vip != VIP_SUCCESS)
        return vipl_leave(d, vip);
    vipl_callbacks_cancel(d, ViHandle, NULL);
    vipl_registry_remove(&vi->object);
    vipl_vi_free(vi);
    return vipl_leave(d, VIP_SUCCESS);
}

VIP_RETURN VipSetViAttributes(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES *ViAttribs)
{
    struct vi *vi = vipl_enter(ViHandle, KIND_VI);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = vi->object.device;
    struct fcvi_attributes attributes;
    struct ptag *ptag;
    VIP_VI_STATE state;
    int vip = vipl_vi_state(vi, &state);
    if (vip == VIP_SUCCESS && state != VIP_STATE_IDLE)
        vip = VIP_INVALID_STATE;
    if (vip == VIP_SUCCESS)
        vip = vipl_attributes_in(vi->object.nic, ViAttribs, &attributes, &ptag);
    if (vip == VIP_SUCCESS)
        vip = fcvi_vip_set_vi(vipl_device_port(d), vipl_device_now(d), vi->number, &attributes);
    if (vip == VIP_SUCCESS) {
        vi->attributes = attributes;
        vi->ptag->users--;
        vi->ptag = ptag;
        ptag->users++;
    }
    return vipl_leave(d, vip);
}

VIP_RETURN VipQueryVi(VIP_VI_HANDLE ViHandle, VIP_VI_STATE *State, VIP_VI_ATTRIBUTES *ViAttribs,
                      VIP_BOOLEAN *ViSendQEmpty, VIP_BOOLEAN *ViRecvQEmpty)
{
    struct vi *vi = vipl_enter(ViHandle, KIND_VI);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = vi->object.device;
    if (State == NULL || ViAttribs == NULL || ViSendQEmpty == NULL || ViRecvQEmpty == NULL)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    int vip = vipl_vi_state(vi, State);
    if (vip != VIP_SUCCESS)
        return vipl_leave(d, vip);
    vipl_attributes_out(&vi->attributes, &vi->qos, ViAttribs);
    ViAttribs->Ptag = vi->ptag->object.handle;
    *ViSendQEmpty = vi->send.count == 0 ? VIP_TRUE : VIP_FALSE;
    *ViRecvQEmpty = vi->recv.count == 0 ? VIP_TRUE : VIP_FALSE;
    return vipl_leave(d, VIP_SUCCESS);
}
