/* Registered memory: regions of the block's own arena, first fit (VI-DG 3.4). */
#include "internal.h"

static bool overlaps(struct fcvi_port *p, uint32_t offset, uint32_t length, uint32_t *past)
{
    for (uint32_t i = 0; i < p->limits.regions; i++) {
        const struct region *r = region_at(p, i);
        if (r->used && offset < r->offset + r->length && r->offset < offset + length) {
            *past = r->offset + r->length;
            return true;
        }
    }
    return false;
}

int fcvi_vip_register_mem(struct fcvi_port *port, uint64_t now, uint32_t length, bool rdma_write,
                          bool rdma_read, uint32_t *mem, uint64_t *va, uint32_t *handle)
{
    fcvi_port_run(port, now);
    if (rdma_read)
        return VIP_INVALID_RDMAREAD; /* not offered */
    (void)rdma_write;
    uint32_t offset = 0, index = 0;
    while (index < port->limits.regions && region_at(port, index)->used)
        index++;
    if (length == 0)
        return VIP_INVALID_PARAMETER;
    if (index == port->limits.regions || length > port->limits.memory)
        return VIP_ERROR_RESOURCE;
    while (overlaps(port, offset, length, &offset))
        if (offset > port->limits.memory - length)
            return VIP_ERROR_RESOURCE;
    if (offset > port->limits.memory - length)
        return VIP_ERROR_RESOURCE;
    *region_at(port, index) = (struct region){true, offset, length};
    *mem = index;
    *va = 0x100000000ULL + offset;
    *handle = 0x4D000000u | index;
    return VIP_SUCCESS;
}

int fcvi_vip_deregister_mem(struct fcvi_port *port, uint64_t now, uint32_t mem)
{
    fcvi_port_run(port, now);
    if (mem >= port->limits.regions || !region_at(port, mem)->used)
        return VIP_INVALID_PARAMETER;
    region_at(port, mem)->used = false;
    return VIP_SUCCESS;
}

uint8_t *fcvi_port_memory(struct fcvi_port *port, uint32_t mem, uint32_t offset, uint32_t length)
{
    if (mem >= port->limits.regions || !region_at(port, mem)->used)
        return NULL;
    const struct region *r = region_at(port, mem);
    if (offset > r->length || length > r->length - offset)
        return NULL;
    return (uint8_t *)port + port->memory + r->offset + offset;
}
