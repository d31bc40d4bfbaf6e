/* Handlers: Notify requests (VI-DG 3.5.9 to 3.5.12), each for one Descriptor or one entry, in their order,
 * and that of errors (3.8). No thread is started for them: they run as callback.c says. */
#include "internal.h"

#include <stdlib.h>

static VIP_RETURN notify_call(void *handle, bool recv, const struct callback *request)
{
    struct vi *vi = vipl_enter(handle, KIND_VI);
    if (vi == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = vi->object.device;
    struct work_queue *q = recv ? &vi->recv : &vi->send;
    if (request->on_descriptor == NULL)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    if (q->cq != NULL)
        return vipl_leave(d, VIP_ERROR_RESOURCE);
    if (q->first == NULL)
        return vipl_leave(d, VIP_DESCRIPTOR_ERROR);
    struct callback *c = malloc(sizeof *c);
    if (c == NULL)
        return vipl_leave(d, VIP_ERROR_RESOURCE);
    *c = *request;
    c->nic = vi->object.nic->object.handle;
    c->vi = vi->object.handle;
    vipl_callbacks_append(&q->notify, c);
    vipl_queue_serve(vi, q);
    return vipl_leave(d, VIP_SUCCESS);
}

VIP_RETURN VipSendNotify(VIP_VI_HANDLE ViHandle, VIP_PVOID Context,
                         void (*Handler)(VIP_PVOID Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
                                         VIP_DESCRIPTOR *DescriptorPtr))
{
    return notify_call(ViHandle, false, &(struct callback){.context = Context, .on_descriptor = Handler});
}

VIP_RETURN VipRecvNotify(VIP_VI_HANDLE ViHandle, VIP_PVOID Context,
                         void (*Handler)(VIP_PVOID Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
                                         VIP_DESCRIPTOR *DescriptorPtr))
{
    return notify_call(ViHandle, true, &(struct callback){.context = Context, .on_descriptor = Handler});
}

VIP_RETURN VipErrorCallback(VIP_NIC_HANDLE NicHandle, VIP_PVOID Context,
                            void (*Handler)(VIP_PVOID Context, VIP_ERROR_DESCRIPTOR *ErrorDesc))
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    nic->on_error = Handler;
    nic->error_context = Context;
    return vipl_leave(nic->object.device, VIP_SUCCESS);
}
