/* Descriptors in the program's memory (VI-DG 5): checked, translated for the port, and written back. */
#include "internal.h"

#include <string.h>

/* VI-DG 3.8.1: aligned, in one registered region with the protection tag of the VI. Only then may it be read;
 * SegCount says how far it goes. */
bool vipl_descriptor_readable(struct vi *vi, const VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    const struct region *r = vipl_region_find(vi->object.nic, handle);
    if (d == NULL || (uintptr_t)d % VIP_DESCRIPTOR_ALIGNMENT != 0 || r == NULL || r->ptag != vi->ptag ||
        !vipl_region_covers(r, d, sizeof d->CS))
        return false;
    return vipl_region_covers(r, d, sizeof d->CS + (uint64_t)d->CS.SegCount * sizeof d->DS[0]);
}

/* The VIP_STATUS_OP_ value; a reserved operation counts as a send. */
uint32_t vipl_descriptor_op(const VIP_DESCRIPTOR *d, bool recv)
{
    uint32_t op = d->CS.Control & VIP_CONTROL_OP_MASK;
    if (recv)
        return VIP_STATUS_OP_RECEIVE;
    if (op == VIP_CONTROL_OP_RDMAWRITE)
        return VIP_STATUS_OP_RDMA_WRITE;
    return op == VIP_CONTROL_OP_RDMAREAD ? VIP_STATUS_OP_RDMA_READ : VIP_STATUS_OP_SEND;
}

/* Segments behind the two that VIP_DESCRIPTOR declares are there too (VI-DG 5.1). */
static VIP_DESCRIPTOR_SEGMENT segment_at(const VIP_DESCRIPTOR *d, unsigned nth)
{
    VIP_DESCRIPTOR_SEGMENT segment;
    memcpy(&segment, (const uint8_t *)d + sizeof d->CS + nth * sizeof segment, sizeof segment);
    return segment;
}

static bool rdma_read_offered(const struct vi *vi)
{
    uint32_t level = 1u << (vi->attributes.reliability - 1);
    return (level & vi->object.device->info.rdma_read_levels) != 0;
}

/* VI-DG 5.2: reserved fields, and operations that the queue does not have. */
static bool control_wrong(const struct vi *vi, const VIP_DESCRIPTOR *d, bool recv)
{
    uint32_t op = d->CS.Control & VIP_CONTROL_OP_MASK;
    if ((d->CS.Control & VIP_CONTROL_RESERVED) != 0 || d->CS.Reserved != 0 || op == VIP_CONTROL_OP_RESERVED)
        return true;
    if (recv)
        return op != VIP_CONTROL_OP_SENDRECV;
    return op == VIP_CONTROL_OP_RDMAREAD && !rdma_read_offered(vi);
}

/* A piece of the region that the segment names, which the port holds against what it uses of it; one that
 * begins elsewhere becomes a region that no port has. */
static struct fcvi_segment translate(struct vi *vi, const VIP_DATA_SEGMENT *s)
{
    const struct region *r = vipl_region_find(vi->object.nic, s->Handle);
    if (r == NULL || !vipl_region_covers(r, s->Data.Address, 0))
        return (struct fcvi_segment){UINT32_MAX, 0, s->Length};
    uint32_t offset = (uint32_t)((uintptr_t)s->Data.Address - (uintptr_t)r->address);
    return (struct fcvi_segment){r->mem, offset, s->Length};
}

static uint64_t take_segments(struct vi *vi, const VIP_DESCRIPTOR *d, unsigned first,
                              struct fcvi_descriptor *out)
{
    uint64_t sum = 0;
    for (unsigned i = first; i < d->CS.SegCount; i++) {
        VIP_DESCRIPTOR_SEGMENT s = segment_at(d, i);
        sum += s.Local.Length;
        if (s.Local.Length > 0) /* an empty one names no memory */
            out->segment[out->segments++] = translate(vi, &s.Local);
    }
    return sum;
}

static void take_address(const VIP_DESCRIPTOR *d, struct fcvi_descriptor *out)
{
    if (d->CS.SegCount == 0) {
        out->format_error = true;
        return;
    }
    VIP_DESCRIPTOR_SEGMENT s = segment_at(d, 0);
    out->remote_va = s.Remote.Data.AddressBits;
    out->remote_handle = s.Remote.Handle;
    if (s.Remote.Reserved != 0)
        out->format_error = true;
}

static enum fcvi_op port_op(uint32_t op)
{
    switch (op) {
    case VIP_STATUS_OP_RECEIVE:
        return FCVI_RECV;
    case VIP_STATUS_OP_RDMA_WRITE:
        return FCVI_RDMA_WRITE;
    case VIP_STATUS_OP_RDMA_READ:
        return FCVI_RDMA_READ;
    default:
        return FCVI_SEND;
    }
}

void vipl_descriptor_translate(struct vi *vi, bool recv, const VIP_DESCRIPTOR *d, struct fcvi_descriptor *out)
{
    uint32_t op = vipl_descriptor_op(d, recv);
    bool rdma = op == VIP_STATUS_OP_RDMA_WRITE || op == VIP_STATUS_OP_RDMA_READ;
    memset(out, 0, sizeof *out);
    out->op = (uint8_t)port_op(op);
    out->format_error = control_wrong(vi, d, recv);
    if (!recv) { /* both bits are ignored in a receive Descriptor, the first in an RDMA Read too */
        out->has_immediate = op != VIP_STATUS_OP_RDMA_READ && (d->CS.Control & VIP_CONTROL_IMMEDIATE) != 0;
        out->fence = (d->CS.Control & VIP_CONTROL_QFENCE) != 0;
        out->immediate = d->CS.ImmediateData;
    }
    if (rdma)
        take_address(d, out);
    if (d->CS.SegCount > MAX_SEGMENTS) {
        out->length_error = true;
        return;
    }
    uint64_t sum = take_segments(vi, d, rdma ? 1 : 0, out);
    if (!recv && (sum != d->CS.Length || sum > vi->attributes.max_transfer_size))
        out->length_error = true;
}

/* VI-ARCH 6.4.1: the status, and with it the Done bit, is seen last. */
void vipl_descriptor_write_back(VIP_DESCRIPTOR *d, const struct fcvi_completion *c)
{
    if (c->status & VIP_STATUS_IMMEDIATE)
        d->CS.ImmediateData = c->immediate;
    d->CS.Length = c->length;
    __atomic_store_n(&d->CS.Status, c->status, __ATOMIC_RELEASE);
}
