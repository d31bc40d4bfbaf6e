/* Completion Queues (VI-DG 3.5.7, 3.5.8, 3.5.11, 3.6). */
#include "internal.h"

#include <stdlib.h>

void vipl_cq_free(struct cq *cq)
{
    struct cq **place = &cq->object.nic->cqs;
    while (*place != cq)
        place = &(*place)->next;
    *place = cq->next;
    cq->object.device->cqs--;
    vipl_callbacks_free(&cq->notify);
    free(cq->ring);
    free(cq);
}

static struct cq *make(struct nic *nic, uint32_t capacity)
{
    struct device *d = nic->object.device;
    struct cq *cq = calloc(1, sizeof *cq);
    if (cq == NULL)
        return NULL;
    cq->capacity = capacity > 0 ? capacity : 1; /* EntryCount is a minimum */
    cq->ring = calloc(cq->capacity, sizeof *cq->ring);
    cq->object = (struct object){.kind = KIND_CQ, .device = d, .nic = nic};
    if (cq->ring == NULL || !vipl_registry_add(&cq->object)) {
        free(cq->ring);
        free(cq);
        return NULL;
    }
    cq->next = nic->cqs;
    nic->cqs = cq;
    d->cqs++;
    return cq;
}

VIP_RETURN VipCreateCQ(VIP_NIC_HANDLE NicHandle, VIP_ULONG EntryCount, VIP_CQ_HANDLE *CQHandle)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = nic->object.device;
    if (CQHandle == NULL)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    bool room = EntryCount <= d->info.max_cq_entries && d->cqs < d->info.max_cq;
    const struct cq *cq = room ? make(nic, (uint32_t)EntryCount) : NULL;
    if (cq == NULL)
        return vipl_leave(d, VIP_ERROR_RESOURCE);
    *CQHandle = cq->object.handle;
    return vipl_leave(d, VIP_SUCCESS);
}

VIP_RETURN VipDestroyCQ(VIP_CQ_HANDLE CQHandle)
{
    struct cq *cq = vipl_enter(CQHandle, KIND_CQ);
    if (cq == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = cq->object.device;
    if (cq->attached > 0)
        return vipl_leave(d, VIP_ERROR_RESOURCE);
    vipl_callbacks_cancel(d, NULL, CQHandle);
    vipl_registry_remove(&cq->object);
    vipl_cq_free(cq);
    return vipl_leave(d, VIP_SUCCESS);
}

static int resize(struct cq *cq, VIP_ULONG entries)
{
    if (entries > cq->object.device->info.max_cq_entries || entries < cq->count)
        return VIP_ERROR_RESOURCE;
    const uint32_t capacity = entries > 0 ? (uint32_t)entries : 1;
    struct cq_entry *ring = calloc(capacity, sizeof *ring);
    if (ring == NULL)
        return VIP_ERROR_RESOURCE;
    uint32_t count = 0;
    while (vipl_cq_pop(cq, &ring[count]))
        if (++count == capacity)
            break;
    free(cq->ring);
    cq->ring = ring;
    cq->capacity = capacity;
    cq->head = 0;
    cq->count = count;
    return VIP_SUCCESS;
}

VIP_RETURN VipResizeCQ(VIP_CQ_HANDLE CQHandle, VIP_ULONG EntryCount)
{
    struct cq *cq = vipl_enter(CQHandle, KIND_CQ);
    if (cq == NULL)
        return VIP_INVALID_PARAMETER;
    return vipl_leave(cq->object.device, resize(cq, EntryCount));
}

/* One look, then the pump until the time is over; a poll has one look more. */
static int take_until(struct cq *cq, struct patience *patience, struct cq_entry *out)
{
    struct device *d = cq->object.device;
    void *handle = cq->object.handle;
    bool goes_on = true;
    vipl_patience_begin(d, patience);
    while (!vipl_cq_pop(cq, out)) {
        if (!goes_on)
            return VIP_NOT_DONE;
        goes_on = vipl_patience_step(d, patience);
        cq = vipl_registry_find(handle, KIND_CQ, d);
        if (cq == NULL)
            return VIP_INVALID_PARAMETER;
    }
    return VIP_SUCCESS;
}

static VIP_RETURN take_call(void *handle, struct patience *patience, VIP_VI_HANDLE *vi, VIP_BOOLEAN *recv)
{
    struct cq *cq = vipl_enter(handle, KIND_CQ);
    if (cq == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = cq->object.device;
    struct cq_entry e;
    if (vi == NULL || recv == NULL)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    int vip = take_until(cq, patience, &e);
    if (vip != VIP_SUCCESS)
        return vipl_leave(d, vip);
    *vi = e.vi;
    *recv = e.recv;
    return vipl_leave_soon(d, vip);
}

VIP_RETURN VipCQDone(VIP_CQ_HANDLE CQHandle, VIP_VI_HANDLE *ViHandle, VIP_BOOLEAN *RecvQueue)
{
    struct patience none = {.timeout = 0};
    return take_call(CQHandle, &none, ViHandle, RecvQueue);
}

VIP_RETURN VipCQWait(VIP_CQ_HANDLE CQHandle, VIP_ULONG Timeout, VIP_VI_HANDLE *ViHandle,
                     VIP_BOOLEAN *RecvQueue)
{
    struct patience patience = {.timeout = Timeout};
    VIP_RETURN vip;
    do
        vip = take_call(CQHandle, &patience, ViHandle, RecvQueue);
    while (vip == VIP_NOT_DONE && vipl_patience_rest(&patience));
    return vip == VIP_NOT_DONE ? VIP_TIMEOUT : vip;
}

VIP_RETURN VipCQNotify(VIP_CQ_HANDLE CQHandle, VIP_PVOID Context,
                       void (*Handler)(VIP_PVOID Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
                                       VIP_BOOLEAN RecvQueue))
{
    struct cq *cq = vipl_enter(CQHandle, KIND_CQ);
    if (cq == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = cq->object.device;
    struct callback *c = Handler != NULL ? calloc(1, sizeof *c) : NULL;
    struct cq_entry e;
    if (c == NULL)
        return vipl_leave(d, Handler == NULL ? VIP_INVALID_PARAMETER : VIP_ERROR_RESOURCE);
    c->nic = cq->object.nic->object.handle;
    c->cq = CQHandle;
    c->context = Context;
    c->on_entry = Handler;
    vipl_callbacks_append(&cq->notify, c);
    if (vipl_cq_pop(cq, &e))
        vipl_cq_tell(cq, &e);
    return vipl_leave(d, VIP_SUCCESS);
}
