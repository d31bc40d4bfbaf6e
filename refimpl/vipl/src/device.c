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
