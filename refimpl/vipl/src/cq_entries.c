/* The entries of a Completion Queue, each of which names a VI and one of its work queues (VI-ARCH 6.4.1). */
#include "internal.h"

bool vipl_cq_pop(struct cq *cq, struct cq_entry *out)
{
    if (cq->count == 0)
        return false;
    *out = cq->ring[cq->head];
    cq->head = (cq->head + 1) % cq->capacity;
    cq->count--;
    return true;
}

/* The oldest request is served: its handler gets the entry. */
void vipl_cq_tell(struct cq *cq, const struct cq_entry *e)
{
    struct callback *c = vipl_callbacks_pop(&cq->notify);
    c->vi = e->vi;
    c->recv = e->recv;
    vipl_callbacks_append(&cq->object.device->ready, c);
}

/* An entry for which there is no room is lost (VI-ARCH 6.4.1). */
void vipl_cq_push(struct cq *cq, void *vi, VIP_BOOLEAN recv)
{
    struct cq_entry e = {vi, recv};
    if (cq->notify.first != NULL)
        vipl_cq_tell(cq, &e);
    else if (cq->count < cq->capacity)
        cq->ring[(cq->head + cq->count++) % cq->capacity] = e;
}

/* Drop the entries of a VI that ends: its handle will mean nothing. */
void vipl_cq_forget(struct cq *cq, const void *vi)
{
    struct cq_entry e;
    for (uint32_t i = cq->count; i > 0 && vipl_cq_pop(cq, &e); i--)
        if (e.vi != vi)
            cq->ring[(cq->head + cq->count++) % cq->capacity] = e;
}
