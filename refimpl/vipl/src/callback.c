/* Handlers of the program: queued when they become due, run when a call has nothing more to do under the
 * lock, one at a time. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void vipl_callbacks_append(struct callbacks *list, struct callback *c)
{
    c->next = NULL;
    if (list->first == NULL)
        list->first = c;
    else
        list->last->next = c;
    list->last = c;
}

struct callback *vipl_callbacks_pop(struct callbacks *list)
{
    struct callback *c = list->first;
    if (c != NULL)
        list->first = c->next;
    return c;
}

void vipl_callbacks_free(struct callbacks *list)
{
    for (struct callback *c = vipl_callbacks_pop(list); c != NULL; c = vipl_callbacks_pop(list))
        free(c);
}

/* VI-DG 3.5.9, 3.5.11: with the VI or the Completion Queue its Notify requests go. */
void vipl_callbacks_cancel(struct device *d, const void *vi, const void *cq)
{
    struct callbacks kept = {NULL, NULL};
    for (struct callback *c = vipl_callbacks_pop(&d->ready); c != NULL; c = vipl_callbacks_pop(&d->ready)) {
        bool notify = c->on_descriptor != NULL || c->on_entry != NULL;
        if (notify && ((vi != NULL && c->vi == vi) || (cq != NULL && c->cq == cq)))
            free(c);
        else
            vipl_callbacks_append(&kept, c);
    }
    d->ready = kept;
}

/* VI-DG 3.8.1: the default handler logs the error. */
static void log_error(const struct device *d, const VIP_ERROR_DESCRIPTOR *e)
{
    fprintf(stderr, "%s: %s, VI %p, Descriptor %p\n", d->name, fcvi_vip_error_name((int)e->ErrorCode),
            e->ViHandle, (void *)e->DescriptorPtr);
}

static void run(struct device *d, struct callback *c)
{
    const struct nic *nic = vipl_registry_find(c->nic, KIND_NIC, d);
    if (nic == NULL)
        return;
    void (*on_error)(VIP_PVOID, VIP_ERROR_DESCRIPTOR *) = nic->on_error;
    void *error_context = nic->error_context;
    d->dispatcher = pthread_self();
    d->dispatched_nic = c->nic;
    vipl_device_unlock(d);
    if (c->on_descriptor != NULL)
        c->on_descriptor(c->context, c->nic, c->vi, c->descriptor);
    else if (c->on_entry != NULL)
        c->on_entry(c->context, c->nic, c->vi, c->recv);
    else if (on_error != NULL)
        on_error(error_context, &c->error);
    else
        log_error(d, &c->error);
    vipl_device_lock(d);
    d->dispatched_nic = NULL;
}

/* VI-DG 3.1.2: when the NIC is closed the program may take away what its handlers use. A handler that closes
 * the NIC itself is not waited for. Any other one runs in another thread and needs the lock to come to its
 * end, so the lock is released here, whatever the host's pump does. */
void vipl_callbacks_await(struct device *d, const void *nic)
{
    static const struct timespec look = {.tv_nsec = 100000};
    while (d->dispatched_nic == nic && !pthread_equal(d->dispatcher, pthread_self())) {
        vipl_device_unlock(d);
        (void)nanosleep(&look, NULL);
        vipl_device_lock(d);
    }
}

/* At the end of a call, or while it waits. A call that a handler makes comes here too and leaves the rest to
 * what runs it. */
void vipl_dispatch(struct device *d)
{
    if (d->dispatching || d->ready.first == NULL)
        return;
    if (d->ops.due == NULL || !d->ops.due(d->context))
        vipl_run_handlers(d);
}

void vipl_run_handlers(struct device *d)
{
    if (d->dispatching)
        return;
    d->dispatching = true;
    for (struct callback *c = vipl_callbacks_pop(&d->ready); c != NULL; c = vipl_callbacks_pop(&d->ready)) {
        run(d, c);
        free(c);
    }
    d->dispatching = false;
}
