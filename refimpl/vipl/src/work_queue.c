/* Work queues: posting, completion in any order, dequeuing in posting order (VI-DG 3.5). */
#include "internal.h"

#include <stdlib.h>

static void append(struct work_queue *q, struct entry *e)
{
    if (q->first == NULL)
        q->first = e;
    else
        q->last->next = e;
    q->last = e;
    q->count++;
}

/* VI-DG 6.1: entries come in the order of the work queue, whatever completed first. */
static void list_completed(struct vi *vi, struct work_queue *q)
{
    for (struct entry *e = q->first; e != NULL && e->done; e = e->next) {
        if (!e->listed && q->cq != NULL)
            vipl_cq_push(q->cq, vi->object.handle, q->recv ? VIP_TRUE : VIP_FALSE);
        e->listed = true;
    }
}

/* Give what has completed to the requests that wait; those of an empty queue get NULL. */
void vipl_queue_serve(struct vi *vi, struct work_queue *q)
{
    while (q->notify.first != NULL && (q->first == NULL || q->first->done)) {
        struct callback *c = vipl_callbacks_pop(&q->notify);
        (void)vipl_queue_take(q, &c->descriptor);
        vipl_callbacks_append(&vi->object.device->ready, c);
    }
}

static void finish(struct vi *vi, struct work_queue *q, struct entry *e, const struct fcvi_completion *c)
{
    e->done = true;
    e->status = c->status;
    if (vipl_descriptor_readable(vi, e->descriptor, e->handle)) {
        vipl_descriptor_write_back(e->descriptor, c);
    } else { /* VI-DG 3.8.1: its memory was deregistered after it was posted */
        e->status |= VIP_STATUS_PROTECTION_ERROR;
        vipl_raise_on_descriptor(vi, VIP_ERROR_COMP_PROT, e->descriptor, c->status & VIP_STATUS_OP_MASK);
        if (vi->attributes.reliability != FCVI_UNRELIABLE)
            vipl_vi_break(vi);
    }
    list_completed(vi, q);
    vipl_queue_serve(vi, q);
}

void vipl_queue_complete(struct vi *vi, struct work_queue *q, const struct fcvi_completion *c)
{
    struct entry *e = q->first;
    while (e != NULL && e->cookie != c->cookie)
        e = e->next;
    if (e != NULL && !e->done)
        finish(vi, q, e, c);
}

static void collect(struct vi *vi, struct work_queue *q)
{
    struct device *d = vi->object.device;
    struct fcvi_completion c = {0};
    int vip = fcvi_vip_done(vipl_device_port(d), vipl_device_now(d), vi->number, q->recv, &c);
    while ((vip == VIP_SUCCESS || vip == VIP_DESCRIPTOR_ERROR) && (c.status & VIP_STATUS_DONE)) {
        vipl_queue_complete(vi, q, &c);
        c = (struct fcvi_completion){0};
        vip = fcvi_vip_done(vipl_device_port(d), vipl_device_now(d), vi->number, q->recv, &c);
    }
}

/* Empty the port's own queues of what has completed. */
void vipl_queue_collect(struct vi *vi)
{
    collect(vi, &vi->send);
    collect(vi, &vi->recv);
}

static void refuse(struct vi *vi, enum fcvi_vip_error code, VIP_DESCRIPTOR *descriptor, uint32_t op)
{
    vipl_raise_on_descriptor(vi, code, descriptor, op);
    vipl_vi_break(vi);
}

static bool submit(struct vi *vi, struct work_queue *q, struct entry *e)
{
    struct device *d = vi->object.device;
    struct fcvi_descriptor descriptor;
    if (vi->broken) /* VI-ARCH 5: completes in error, flushed */
        return true;
    vipl_descriptor_translate(vi, q->recv, e->descriptor, &descriptor);
    descriptor.cookie = e->cookie;
    return fcvi_vip_post(vipl_device_port(d), vipl_device_now(d), vi->number, &descriptor) == VIP_SUCCESS;
}

/* Everything that is wrong with a Descriptor is reported later (VI-DG 3.5.1). */
void vipl_queue_post(struct vi *vi, struct work_queue *q, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle)
{
    struct device *d = vi->object.device;
    if (!vipl_descriptor_readable(vi, descriptor, handle)) {
        refuse(vi, VIP_ERROR_POST_DESC, descriptor, q->recv ? VIP_STATUS_OP_RECEIVE : VIP_STATUS_OP_SEND);
        return;
    }
    uint32_t op = vipl_descriptor_op(descriptor, q->recv);
    struct entry *e = q->count < d->info.max_descriptors_per_queue ? calloc(1, sizeof *e) : NULL;
    if (e == NULL) {
        refuse(vi, VIP_ERROR_VI_OVERRUN, descriptor, op);
        return;
    }
    *e = (struct entry){.descriptor = descriptor, .handle = handle, .cookie = ++d->serial};
    descriptor->CS.Status = 0;
    if (!submit(vi, q, e)) {
        free(e);
        refuse(vi, VIP_ERROR_VI_OVERRUN, descriptor, op);
        return;
    }
    append(q, e);
    if (vi->broken) {
        uint32_t status = VIP_STATUS_DONE | VIP_STATUS_DESC_FLUSHED_ERROR | op;
        finish(vi, q, e, &(struct fcvi_completion){.status = status});
    }
}

int vipl_queue_take(struct work_queue *q, VIP_DESCRIPTOR **descriptor)
{
    struct entry *e = q->first;
    *descriptor = NULL;
    if (e == NULL)
        return VIP_DESCRIPTOR_ERROR;
    if (!e->done)
        return VIP_NOT_DONE;
    *descriptor = e->descriptor;
    int vip = e->status & VIP_STATUS_ERROR_MASK ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS;
    q->first = e->next;
    q->count--;
    free(e);
    return vip;
}

void vipl_queue_free(struct work_queue *q, const void *vi)
{
    while (q->first != NULL) {
        struct entry *e = q->first;
        q->first = e->next;
        free(e);
    }
    vipl_callbacks_free(&q->notify);
    if (q->cq == NULL)
        return;
    q->cq->attached--;
    vipl_cq_forget(q->cq, vi);
}
