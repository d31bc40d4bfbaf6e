/* Registered memory (VI-DG 3.4.3, 3.4.4, 3.7.4, 3.7.5). The port works on the program's own bytes, under the
 * addresses that the program knows them by. */
#include "internal.h"

#include <stdlib.h>

static int attributes_check(struct nic *nic, const VIP_MEM_ATTRIBUTES *a, struct ptag **ptag)
{
    if (a == NULL)
        return VIP_INVALID_PARAMETER;
    *ptag = vipl_ptag_find(nic, a->Ptag);
    if (*ptag == NULL)
        return VIP_INVALID_PTAG;
    if (a->EnableRdmaRead != VIP_FALSE && nic->object.device->info.rdma_read_levels == 0)
        return VIP_INVALID_RDMAREAD;
    return VIP_SUCCESS;
}

static struct fcvi_region describe(const struct region *r)
{
    return (struct fcvi_region){.va = (uint64_t)(uintptr_t)r->address,
                                .length = r->length,
                                .ptag = r->ptag->number,
                                .rdma_write = r->rdma_write,
                                .rdma_read = r->rdma_read,
                                .bytes = r->address,
                                .behind = vipl_page_rest(r->address, r->length)};
}

static int enroll(struct nic *nic, struct region *r)
{
    struct device *d = nic->object.device;
    const struct fcvi_vipl_nic *info = &d->info;
    if (d->regions >= info->max_register_regions || r->length > info->max_register_bytes - d->region_bytes)
        return VIP_ERROR_RESOURCE;
    if (!vipl_pages_usable(r->address, r->length)) /* VI-DG 3.4.3: not allocated, or not to be written */
        return VIP_INVALID_PARAMETER;
    struct fcvi_region region = describe(r);
    int vip = fcvi_vip_register_region(vipl_device_port(d), vipl_device_now(d), &region, &r->mem, &r->handle);
    if (vip != VIP_SUCCESS)
        return vip;
    r->next = nic->bucket[r->handle % BUCKETS];
    nic->bucket[r->handle % BUCKETS] = r;
    r->ptag->users++;
    d->regions++;
    d->region_bytes += r->length;
    return VIP_SUCCESS;
}

VIP_RETURN VipRegisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress, VIP_ULONG Length,
                          VIP_MEM_ATTRIBUTES *MemAttribs, VIP_MEM_HANDLE *MemoryHandle)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = nic->object.device;
    struct ptag *ptag;
    if (MemoryHandle == NULL)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    *MemoryHandle = 0;
    if (VirtualAddress == NULL || Length == 0 || Length > UINTPTR_MAX - (uintptr_t)VirtualAddress)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    int vip = attributes_check(nic, MemAttribs, &ptag);
    if (vip != VIP_SUCCESS)
        return vipl_leave(d, vip);
    struct region *r = Length <= d->info.max_register_block_bytes ? calloc(1, sizeof *r) : NULL;
    if (r == NULL)
        return vipl_leave(d, VIP_ERROR_RESOURCE);
    *r = (struct region){.address = VirtualAddress,
                         .length = (uint32_t)Length,
                         .ptag = ptag,
                         .rdma_write = MemAttribs->EnableRdmaWrite != VIP_FALSE,
                         .rdma_read = MemAttribs->EnableRdmaRead != VIP_FALSE};
    vip = enroll(nic, r);
    if (vip == VIP_SUCCESS)
        *MemoryHandle = r->handle;
    else
        free(r);
    return vipl_leave(d, vip);
}

static struct region *named(struct nic *nic, VIP_MEM_HANDLE handle, const void *address)
{
    struct region *r = vipl_region_find(nic, handle);
    return r != NULL && r->address == address ? r : NULL;
}

VIP_RETURN VipDeregisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress, VIP_MEM_HANDLE MemoryHandle)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = nic->object.device;
    struct region *r = named(nic, MemoryHandle, VirtualAddress);
    int vip = r != NULL ? fcvi_vip_deregister_mem(vipl_device_port(d), vipl_device_now(d), r->mem)
                        : VIP_INVALID_PARAMETER;
    if (vip == VIP_SUCCESS)
        vipl_region_free(nic, r);
    return vipl_leave(d, vip);
}

static int set_attributes(struct nic *nic, struct region *r, const VIP_MEM_ATTRIBUTES *a)
{
    struct device *d = nic->object.device;
    struct ptag *ptag;
    int vip = attributes_check(nic, a, &ptag);
    if (vip != VIP_SUCCESS)
        return vip;
    struct region next = *r;
    next.ptag = ptag;
    next.rdma_write = a->EnableRdmaWrite != VIP_FALSE;
    next.rdma_read = a->EnableRdmaRead != VIP_FALSE;
    struct fcvi_region region = describe(&next);
    vip = fcvi_vip_set_mem(vipl_device_port(d), vipl_device_now(d), r->mem, &region);
    if (vip != VIP_SUCCESS)
        return vip;
    r->ptag->users--;
    ptag->users++;
    *r = next;
    return VIP_SUCCESS;
}

VIP_RETURN VipSetMemAttributes(VIP_NIC_HANDLE NicHandle, VIP_PVOID Address, VIP_MEM_HANDLE MemHandle,
                               VIP_MEM_ATTRIBUTES *MemAttribs)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct region *r = named(nic, MemHandle, Address);
    int vip = r != NULL ? set_attributes(nic, r, MemAttribs) : VIP_INVALID_PARAMETER;
    return vipl_leave(nic->object.device, vip);
}

VIP_RETURN VipQueryMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID Address, VIP_MEM_HANDLE MemHandle,
                       VIP_MEM_ATTRIBUTES *MemAttribs)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = nic->object.device;
    const struct region *r = named(nic, MemHandle, Address);
    if (r == NULL || MemAttribs == NULL)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    *MemAttribs = (VIP_MEM_ATTRIBUTES){.Ptag = r->ptag->object.handle,
                                       .EnableRdmaWrite = r->rdma_write ? VIP_TRUE : VIP_FALSE,
                                       .EnableRdmaRead = r->rdma_read ? VIP_TRUE : VIP_FALSE};
    return vipl_leave(d, VIP_SUCCESS);
}
