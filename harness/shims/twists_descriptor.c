/* Twists that read a Descriptor otherwise than the guide's chapter 5 has it, or tell its outcome wrongly. */
#include "twist.h"

#include <stddef.h>

static bool good(const VIP_DESCRIPTOR *d)
{
    return (d->CS.Status & VIP_STATUS_ERROR_MASK) == 0;
}

static unsigned operation(const VIP_DESCRIPTOR *d)
{
    return d->CS.Control & VIP_CONTROL_OP_MASK;
}

static bool is_rdma(bool recv, const VIP_DESCRIPTOR *d)
{
    return !recv && (operation(d) == VIP_CONTROL_OP_RDMAWRITE || operation(d) == VIP_CONTROL_OP_RDMAREAD);
}

static bool of_queue(unsigned long which, bool recv)
{
    return which == 2 || which == (recv ? 1UL : 0UL);
}

/* bits QUEUE FROM TO LEVELS: FROM 0: of what is a success. An error that has no bit left is told as a
 * success. */
static void bits(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    VIP_ULONG from = (VIP_ULONG)vipl_twist_argument(1), to = (VIP_ULONG)vipl_twist_argument(2);
    unsigned long levels = vipl_twist_argument(3);
    bool fits = from == 0 ? good(d) : (d->CS.Status & from) != 0;
    if (!of_queue(vipl_twist_argument(0), recv) || !fits ||
        (levels != 0 && (levels & n->attributes.ReliabilityLevel) == 0))
        return;
    d->CS.Status = (d->CS.Status & ~from) | to;
    *code = good(d) ? VIP_SUCCESS : VIP_DESCRIPTOR_ERROR;
}

static bool refuse_if(bool wrong, VIP_DESCRIPTOR *d)
{
    if (wrong)
        vipl_spoil(d);
    return true;
}

/* refuse-segments QUEUE LEAST MOST */
static bool refuse_segments(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)handle;
    return refuse_if(of_queue(vipl_twist_argument(0), recv) && d->CS.SegCount >= vipl_twist_argument(1) &&
                         d->CS.SegCount <= vipl_twist_argument(2),
                     d);
}

static bool refuse_empty_segment(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)recv, (void)handle;
    bool found = false;
    VIP_DATA_SEGMENT *s = NULL;
    for (unsigned i = 0; i < 2 && (s = vipl_data(d, i)) != NULL; i++)
        found = found || s->Length == 0;
    return refuse_if(found, d);
}

/* refuse-length QUEUE LEAST MOST */
static bool refuse_length(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)handle;
    return refuse_if(of_queue(vipl_twist_argument(0), recv) && d->CS.Length >= vipl_twist_argument(1) &&
                         d->CS.Length <= vipl_twist_argument(2),
                     d);
}

/* refuse-control QUEUE OPERATION BITS */
static bool refuse_control(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)handle;
    return refuse_if(of_queue(vipl_twist_argument(0), recv) && operation(d) == vipl_twist_argument(1) &&
                         (d->CS.Control & vipl_twist_argument(2)) == vipl_twist_argument(2),
                     d);
}

static bool refuse_next(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)recv, (void)handle;
    return refuse_if(d->CS.Next.AddressBits != 0 || d->CS.NextHandle != 0, d);
}

/* mask-control QUEUE BITS: bits that are not looked at */
static bool mask_control(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)handle;
    if (of_queue(vipl_twist_argument(0), recv))
        d->CS.Control &= (VIP_UINT16)~vipl_twist_argument(1);
    return true;
}

static bool mask_reserved(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)recv, (void)handle;
    d->CS.Reserved = 0;
    return true;
}

static bool mask_address(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)handle;
    if (is_rdma(recv, d) && d->CS.SegCount > 0)
        d->DS[0].Remote.Reserved = 0;
    return true;
}

/* operation 11 is taken for 00 */
static bool any_operation(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)handle;
    if (of_queue(vipl_twist_argument(0), recv) && operation(d) == vipl_twist_argument(1))
        d->CS.Control &= (VIP_UINT16)~VIP_CONTROL_OP_MASK;
    return true;
}

/* the length is what the segments have */
static bool any_length(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)handle;
    VIP_ULONG sum = 0;
    const VIP_DATA_SEGMENT *s;
    if (recv || d->CS.SegCount > 2)
        return true;
    for (unsigned i = 0; i < 2 && (s = vipl_data(d, i)) != NULL; i++)
        sum += s->Length;
    d->CS.Length = sum;
    return true;
}

/* immediate-added OPERATION, immediate-dropped OPERATION */
static bool immediate_added(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)handle;
    if (!recv && operation(d) == vipl_twist_argument(0))
        d->CS.Control |= VIP_CONTROL_IMMEDIATE;
    return true;
}

static bool immediate_dropped(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)handle;
    if (!recv && operation(d) == vipl_twist_argument(0))
        d->CS.Control &= (VIP_UINT16)~VIP_CONTROL_IMMEDIATE;
    return true;
}

static void immediate_other(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    if (recv && (d->CS.Status & VIP_STATUS_IMMEDIATE) != 0)
        d->CS.ImmediateData = __builtin_bswap32(d->CS.ImmediateData) ^ 1;
}

static void immediate_counts(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)recv, (void)code;
    if ((d->CS.Control & VIP_CONTROL_IMMEDIATE) != 0 || (d->CS.Status & VIP_STATUS_IMMEDIATE) != 0)
        d->CS.Length += (VIP_UINT32)sizeof d->CS.ImmediateData;
}

/* length-told OPERATION LENGTH: of what is a success with this operation in its status */
static void length_told(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)recv, (void)code;
    if (good(d) && (d->CS.Status & VIP_STATUS_OP_MASK) >> 16 == vipl_twist_argument(0))
        d->CS.Length = (VIP_UINT32)vipl_twist_argument(1);
}

static void overrun_length(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    if (recv && (d->CS.Status & VIP_STATUS_LENGTH_ERROR) != 0)
        d->CS.Length = 17;
}

/* operation-told WAS TOLD */
static void operation_told(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)recv, (void)code;
    if (good(d) && (d->CS.Status & VIP_STATUS_OP_MASK) >> 16 == vipl_twist_argument(0))
        d->CS.Status = (d->CS.Status & ~VIP_STATUS_OP_MASK) | (VIP_UINT32)vipl_twist_argument(1) << 16;
}

/* What the status held at the post is still in it: the post keeps it in n->kept_code, which no other twist
 * has. */
static bool stale_keep(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)handle;
    if (d->CS.Status == 0xFFFFFFFFu)
        n->kept[recv] = d;
    return true;
}

static void stale_tell(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    if (n->kept[recv] != d)
        return;
    d->CS.Status |= VIP_STATUS_FORMAT_ERROR;
    *code = VIP_DESCRIPTOR_ERROR;
}

static void written_later(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)recv, (void)code;
    static const unsigned char other[] = {0x5A, 0x5A, 0x5A, 0x5A};
    vipl_poke_later(5, &d->CS.Reserved, other, sizeof other);
}

/* One post in 200 does not go to the queue, and never comes back. */
static bool post_lost(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)d, (void)handle;
    return recv || n->posts[recv] % vipl_twist_argument(0) != 0;
}

const struct twist vipl_twists_descriptor[] = {
    {.name = "bits", .brought = bits},
    {.name = "refuse-segments", .post = refuse_segments},
    {.name = "refuse-empty-segment", .post = refuse_empty_segment},
    {.name = "refuse-length", .post = refuse_length},
    {.name = "refuse-control", .post = refuse_control},
    {.name = "refuse-next", .post = refuse_next},
    {.name = "mask-control", .post = mask_control},
    {.name = "mask-reserved", .post = mask_reserved},
    {.name = "mask-address", .post = mask_address},
    {.name = "any-operation", .post = any_operation},
    {.name = "any-length", .post = any_length},
    {.name = "immediate-added", .post = immediate_added},
    {.name = "immediate-dropped", .post = immediate_dropped},
    {.name = "immediate-other", .brought = immediate_other},
    {.name = "immediate-counts", .brought = immediate_counts},
    {.name = "length-told", .brought = length_told},
    {.name = "overrun-length", .brought = overrun_length},
    {.name = "operation-told", .brought = operation_told},
    {.name = "stale-status", .post = stale_keep, .brought = stale_tell},
    {.name = "written-later", .brought = written_later},
    {.name = "post-lost", .post = post_lost},
    {.name = NULL},
};
