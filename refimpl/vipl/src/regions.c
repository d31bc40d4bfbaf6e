/* The regions of a NIC by their Memory Handles. */
#include "internal.h"

#include <stdlib.h>

struct region *vipl_region_find(struct nic *nic, uint32_t handle)
{
    struct region *r = nic->bucket[handle % BUCKETS];
    while (r != NULL && r->handle != handle)
        r = r->next;
    return r;
}

bool vipl_region_covers(const struct region *r, const void *address, uint64_t length)
{
    uintptr_t at = (uintptr_t)address, base = (uintptr_t)r->address;
    return at >= base && at - base <= r->length && length <= r->length - (at - base);
}

/* Everything but the port's region. */
void vipl_region_free(struct nic *nic, struct region *r)
{
    struct region **place = &nic->bucket[r->handle % BUCKETS];
    while (*place != r)
        place = &(*place)->next;
    *place = r->next;
    r->ptag->users--;
    nic->object.device->regions--;
    nic->object.device->region_bytes -= r->length;
    free(r);
}
