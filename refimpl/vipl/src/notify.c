/* Notify requests (VI-DG 3.5.9 to 3.5.12): each is for one Descriptor or one entry, in their order. No thread
 * is started for them: their handlers run as callback.c says. */
#include "internal.h"

#include <stdlib.h>

/* Give what has completed to the requests that wait; those of an empty queue get NULL. */
void vipl_notify_serve(struct vi *vi, struct work_queue *q)
{
    while (q->notify.first != NULL && (q->first == NULL || q->first->done)) {
        struct callback *c = vipl_callbacks_pop(&q->notify);
        (void)vipl_queue_take(q, &c->descriptor);
        vipl_callbacks_append(&vi->object.device->ready, c);
    }
}

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
    vipl_notify_serve(vi, q);
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
