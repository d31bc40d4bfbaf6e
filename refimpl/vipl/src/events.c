/* What the port has to say, routed to calls, work queues and the error handler. */
#include "internal.h"

static struct vi *vi_of_teardown(struct device *d, uint64_t token)
{
    for (struct nic *nic = d->nics; nic != NULL; nic = nic->next)
        for (struct vi *vi = nic->vis; vi != NULL; vi = vi->next)
            if (vi->teardown == token)
                return vi;
    return NULL;
}

static void on_call(struct device *d, const struct fcvi_event *e)
{
    for (struct call *c = d->calls; c != NULL; c = c->next)
        if (c->token == e->token) {
            c->done = true;
            c->event = *e;
            return;
        }
    if (vipl_token_is_connect_wait(e->token)) { /* nobody waits any more: the client shall not wait either */
        if (e->vip == VIP_SUCCESS)
            (void)fcvi_vip_connect_reject(vipl_device_port(d), vipl_device_now(d), e->conn);
        return;
    }
    struct vi *vi = vi_of_teardown(d, e->token);
    if (vi != NULL)
        vi->teardown = 0;
}

static void on_completion(struct device *d, const struct fcvi_event *e)
{
    struct vi *vi = vipl_vi_of_number(d, e->vi);
    if (vi == NULL)
        return;
    vipl_queue_complete(vi, e->recv ? &vi->recv : &vi->send, &e->completion);
    vipl_queue_collect(vi);
}

/* The port's ring of events overflowed: the work queues themselves still have every completion. */
static void recover(struct device *d)
{
    struct fcvi_port_counts counts;
    fcvi_port_count(vipl_device_port(d), &counts);
    if (counts.events_lost == d->events_lost)
        return;
    d->events_lost = counts.events_lost;
    for (struct nic *nic = d->nics; nic != NULL; nic = nic->next)
        for (struct vi *vi = nic->vis; vi != NULL; vi = vi->next)
            vipl_queue_collect(vi);
}

/* True when there was anything. */
bool vipl_drain(struct device *d)
{
    struct fcvi_event e;
    bool any = false;
    recover(d);
    while (fcvi_port_event(vipl_device_port(d), &e)) {
        any = true;
        switch (e.kind) {
        case FCVI_EVENT_CALL:
            on_call(d, &e);
            break;
        case FCVI_EVENT_COMPLETION:
            on_completion(d, &e);
            break;
        case FCVI_EVENT_ERROR:
            vipl_raise_port_error(d, e.vi, (enum fcvi_vip_error)e.vip);
            break;
        default: /* a state: VipQueryVi asks the port */
            break;
        }
    }
    return any;
}
