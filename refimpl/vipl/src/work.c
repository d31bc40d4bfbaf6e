/* Posting Descriptors and taking those that have completed (VI-DG 3.5.1 to 3.5.6). */
#include "internal.h"

static VIP_RETURN post_call(void *handle, bool recv, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE memory)
{
    struct vi *vi = vipl_enter(handle, KIND_VI);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    vipl_queue_post(vi, recv ? &vi->recv : &vi->send, descriptor, memory);
    return (recv ? vipl_leave_soon : vipl_leave)(vi->object.device, VIP_SUCCESS);
}

VIP_RETURN VipPostSend(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr, VIP_MEM_HANDLE MemoryHandle)
{
    return post_call(ViHandle, false, DescriptorPtr, MemoryHandle);
}

VIP_RETURN VipPostRecv(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr, VIP_MEM_HANDLE MemoryHandle)
{
    return post_call(ViHandle, true, DescriptorPtr, MemoryHandle);
}

static int take(struct vi *vi, bool recv, VIP_DESCRIPTOR **descriptor)
{
    struct work_queue *q = recv ? &vi->recv : &vi->send;
    int vip = vipl_queue_take(q, descriptor);
    vipl_queue_serve(vi, q); /* requests of an emptied queue are told so */
    return vip;
}

/* One look, then the pump until the time is over; a poll has one look more. */
static int take_until(struct vi *vi, bool recv, struct patience *patience, VIP_DESCRIPTOR **descriptor)
{
    struct device *d = vi->object.device;
    void *handle = vi->object.handle;
    bool goes_on = true;
    vipl_patience_begin(d, patience);
    int vip = take(vi, recv, descriptor);
    if (patience->timeout == 0 && vip == VIP_DESCRIPTOR_ERROR && *descriptor == NULL)
        (void)vipl_patience_step(d, patience); /* who polls drives the port, with an empty queue, too */
    while (vip == VIP_NOT_DONE && goes_on) {
        goes_on = vipl_patience_step(d, patience);
        vi = vipl_registry_find(handle, KIND_VI, d);
        vip = vi != NULL ? take(vi, recv, descriptor) : VIP_INVALID_PARAMETER;
    }
    return vip;
}

static VIP_RETURN done_call(void *handle, bool recv, VIP_DESCRIPTOR **descriptor)
{
    struct vi *vi = vipl_enter(handle, KIND_VI);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = vi->object.device;
    struct patience none = {.timeout = 0};
    int vip = descriptor != NULL ? take_until(vi, recv, &none, descriptor) : VIP_INVALID_PARAMETER;
    return (vip == VIP_SUCCESS ? vipl_leave_soon : vipl_leave)(d, vip);
}

static VIP_RETURN wait_a_while(void *handle, bool recv, struct patience *patience,
                               VIP_DESCRIPTOR **descriptor)
{
    struct vi *vi = vipl_enter(handle, KIND_VI);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = vi->object.device;
    if (descriptor == NULL)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    *descriptor = NULL;
    if ((recv ? vi->recv.cq : vi->send.cq) != NULL)
        return vipl_leave(d, VIP_ERROR_RESOURCE);
    int vip = take_until(vi, recv, patience, descriptor);
    if (vip == VIP_SUCCESS)
        return vipl_leave_soon(d, vip);
    return vipl_leave(d, vip == VIP_NOT_DONE ? VIP_TIMEOUT : vip);
}

static VIP_RETURN wait_call(void *handle, bool recv, VIP_ULONG timeout, VIP_DESCRIPTOR **descriptor)
{
    struct patience patience = {.timeout = timeout};
    VIP_RETURN vip;
    do
        vip = wait_a_while(handle, recv, &patience, descriptor);
    while (vip == VIP_TIMEOUT && vipl_patience_rest(&patience));
    return vip;
}

VIP_RETURN VipSendDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr)
{
    return done_call(ViHandle, false, DescriptorPtr);
}

VIP_RETURN VipRecvDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr)
{
    return done_call(ViHandle, true, DescriptorPtr);
}

VIP_RETURN VipSendWait(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut, VIP_DESCRIPTOR **DescriptorPtr)
{
    return wait_call(ViHandle, false, TimeOut, DescriptorPtr);
}

VIP_RETURN VipRecvWait(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut, VIP_DESCRIPTOR **DescriptorPtr)
{
    return wait_call(ViHandle, true, TimeOut, DescriptorPtr);
}
