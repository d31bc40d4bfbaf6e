/* The lock and the clock of a device, and its port. */
#include "internal.h"

void vipl_device_lock(struct device *d)
{
    if (d->ops.lock != NULL)
        d->ops.lock(d->context);
}

void vipl_device_unlock(struct device *d)
{
    if (d->ops.unlock != NULL)
        d->ops.unlock(d->context);
}

struct fcvi_port *vipl_device_port(struct device *d)
{
    return d->ops.port(d->context);
}

uint64_t vipl_device_now(struct device *d)
{
    return d->ops.now(d->context);
}

/* ---- its VIs by their numbers, and its calls by their tokens ---- */

struct vi *vipl_vi_of_number(struct device *d, uint32_t number)
{
    struct vi *vi = d->bucket[number % BUCKETS];
    while (vi != NULL && vi->number != number)
        vi = vi->in_bucket;
    return vi;
}

enum { CONNECT_WAIT_TOKEN = 1 }; /* lowest bit of a token */

/* A token for a call of the port. With a call, call_await is to follow. */
uint64_t vipl_call_begin(struct device *d, struct call *call, bool waits_for_connection)
{
    uint64_t token = ++d->serial << 1 | (waits_for_connection ? CONNECT_WAIT_TOKEN : 0);
    if (call != NULL) {
        *call = (struct call){.next = d->calls, .token = token};
        d->calls = call;
    }
    return token;
}

bool vipl_token_is_connect_wait(uint64_t token)
{
    return token & CONNECT_WAIT_TOKEN;
}
