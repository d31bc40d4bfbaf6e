/* Registered memory: regions of the block's own arena, first fit, or of the host's memory (VI-DG 3.4), and
 * what the other side may do with them (VI-ARCH 3.2). */
#include "vi.h"

enum { HANDLE_BASE = 0x4D000000, INDEX_BITS = 20 };
static const uint64_t first_va = 0x100000000u;

static uint32_t handle_of(struct fcvi_port *p, uint32_t index)
{
    return (uint32_t)HANDLE_BASE ^ (region_at(p, index)->generation << INDEX_BITS | index);
}

bool fcvi_port_region(const struct fcvi_port *port, uint32_t handle, uint32_t *mem)
{
    struct fcvi_port *p = (struct fcvi_port *)(uintptr_t)port;
    uint32_t index = (handle ^ HANDLE_BASE) & ((1u << INDEX_BITS) - 1);
    if (index >= p->limits.regions || !region_at(p, index)->used || handle_of(p, index) != handle)
        return false;
    *mem = index;
    return true;
}

static bool overlaps(struct fcvi_port *p, size_t offset, uint32_t length, size_t *past)
{
    for (uint32_t i = 0; i < p->limits.regions; i++) {
        const struct region *r = region_at(p, i);
        if (r->used && r->spec.bytes == NULL && offset < r->offset + r->spec.length &&
            r->offset < offset + length) {
            *past = r->offset + r->spec.length;
            return true;
        }
    }
    return false;
}

static bool find_room(struct fcvi_port *p, uint32_t length, size_t *offset)
{
    *offset = 0;
    while (*offset + length <= p->limits.memory)
        if (!overlaps(p, *offset, length, offset))
            return true;
    return false;
}

int fcvi_vip_register_region(struct fcvi_port *port, uint64_t now, const struct fcvi_region *spec,
                             uint32_t *mem, uint32_t *handle)
{
    fcvi_port_run(port, now);
    uint32_t index = 0;
    size_t offset = 0;
    if (spec->length == 0)
        return VIP_INVALID_PARAMETER;
    while (index < port->limits.regions && region_at(port, index)->used)
        index++;
    if (index == port->limits.regions || (spec->bytes == NULL && !find_room(port, spec->length, &offset)))
        return VIP_ERROR_RESOURCE;
    struct region *r = region_at(port, index);
    *r = (struct region){true, (r->generation + 1) & 0xFFF, offset, *spec};
    if (spec->bytes == NULL) {
        r->spec.va = first_va + offset;
        memset((uint8_t *)port + port->memory + offset, 0, spec->length);
    }
    *mem = index;
    *handle = handle_of(port, index);
    return VIP_SUCCESS;
}

int fcvi_vip_register_mem(struct fcvi_port *port, uint64_t now, uint32_t length, bool rdma_write,
                          bool rdma_read, uint32_t *mem, uint64_t *va, uint32_t *handle)
{
    struct fcvi_region spec = {.length = length, .rdma_write = rdma_write, .rdma_read = rdma_read};
    int code = fcvi_vip_register_region(port, now, &spec, mem, handle);
    if (code == VIP_SUCCESS)
        *va = region_at(port, *mem)->spec.va;
    return code;
}

static struct region *region_find(struct fcvi_port *p, uint32_t mem)
{
    return mem < p->limits.regions && region_at(p, mem)->used ? region_at(p, mem) : NULL;
}

int fcvi_vip_deregister_mem(struct fcvi_port *port, uint64_t now, uint32_t mem)
{
    fcvi_port_run(port, now);
    struct region *r = region_find(port, mem);
    if (r == NULL)
        return VIP_INVALID_PARAMETER;
    r->used = false;
    return VIP_SUCCESS;
}

int fcvi_vip_set_mem(struct fcvi_port *port, uint64_t now, uint32_t mem, const struct fcvi_region *spec)
{
    fcvi_port_run(port, now);
    struct region *r = region_find(port, mem);
    if (r == NULL)
        return VIP_INVALID_PARAMETER;
    r->spec.ptag = spec->ptag;
    r->spec.rdma_write = spec->rdma_write;
    r->spec.rdma_read = spec->rdma_read;
    return VIP_SUCCESS;
}

int fcvi_vip_query_mem(struct fcvi_port *port, uint64_t now, uint32_t mem, struct fcvi_region *out)
{
    fcvi_port_run(port, now);
    const struct region *r = region_find(port, mem);
    if (r == NULL)
        return VIP_INVALID_PARAMETER;
    *out = r->spec;
    return VIP_SUCCESS;
}

static uint8_t *inside(struct fcvi_port *port, uint32_t mem, uint32_t offset, uint32_t length, bool local)
{
    const struct region *r = region_find(port, mem);
    const uint64_t there = r != NULL ? (uint64_t)r->spec.length + (local ? r->spec.behind : 0) : 0;
    if (r == NULL || offset > there || length > there - offset)
        return NULL;
    uint8_t *base = r->spec.bytes != NULL ? r->spec.bytes : (uint8_t *)port + port->memory + r->offset;
    return base + offset;
}

uint8_t *fcvi_port_memory(struct fcvi_port *port, uint32_t mem, uint32_t offset, uint32_t length)
{
    return inside(port, mem, offset, length, false);
}

/* For the Descriptors of the port's own VIs, to the end of the last page. */
uint8_t *fcvi_vi_local_memory(struct fcvi_port *p, uint32_t mem, uint32_t offset, uint32_t length)
{
    return inside(p, mem, offset, length, true);
}

/* Of an RDMA Write each word is seen before those behind it: who waits for the last one finds the others
 * there. The texts do not ask for it, and programs count on it. */
void fcvi_vi_place_ascending(uint8_t *at, const uint8_t *bytes, uint32_t length)
{
    while (length > 0) {
        uint32_t size = length >= 8 ? 8 : length >= 4 ? 4 : length >= 2 ? 2 : 1;
        uint64_t eight;
        uint32_t four;
        uint16_t two;
        while (((uintptr_t)at & (size - 1)) != 0)
            size /= 2;
        switch (size) {
        case 8:
            memcpy(&eight, bytes, size);
            __atomic_store_n((uint64_t *)(void *)at, eight, __ATOMIC_RELEASE);
            break;
        case 4:
            memcpy(&four, bytes, size);
            __atomic_store_n((uint32_t *)(void *)at, four, __ATOMIC_RELEASE);
            break;
        case 2:
            memcpy(&two, bytes, size);
            __atomic_store_n((uint16_t *)(void *)at, two, __ATOMIC_RELEASE);
            break;
        default:
            __atomic_store_n(at, *bytes, __ATOMIC_RELEASE);
        }
        at += size;
        bytes += size;
        length -= size;
    }
}

/* Where the data of an RDMA operation of the other side go or come from; NULL when VI, region, range or
 * protection tag do not allow it (VI-ARCH 3.2.2, 5.9.8, 5.9.9). */
uint8_t *fcvi_vi_remote_memory(struct fcvi_port *p, const struct vi *vi, const struct remote_range *range,
                               uint32_t offset, uint32_t length)
{
    uint32_t mem;
    if (!fcvi_port_region(p, range->handle, &mem))
        return NULL;
    const struct fcvi_region *r = &region_at(p, mem)->spec;
    bool enabled =
        range->write ? vi->attributes.rdma_write && r->rdma_write : vi->attributes.rdma_read && r->rdma_read;
    uint64_t start = range->va - r->va;
    if (!enabled || r->ptag != vi->attributes.ptag || range->va < r->va || start > r->length ||
        offset > r->length - start)
        return NULL;
    return fcvi_port_memory(p, mem, (uint32_t)start + offset, length);
}
