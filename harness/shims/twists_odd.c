/* Providers that are odd and right: what they do the text permits, so no case may fail for them. */
#include "twist.h"

#include <stddef.h>
#include <string.h>

static bool good(const VIP_DESCRIPTOR *d)
{
    return (d->CS.Status & VIP_STATUS_ERROR_MASK) == 0;
}

/* deliberate: every post and every Done takes three milliseconds. */
static VIP_RETURN deliberate_post_send(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    vipl_sleep(3);
    return vipl_twist_base.VipPostSend(vi, d, handle);
}

static VIP_RETURN deliberate_recv_done(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)
{
    vipl_sleep(3);
    return vipl_twist_base.VipRecvDone(vi, d);
}

/* roomy: more entries than asked for (VI-DG 3.6.1: at least). */
static VIP_RETURN roomy_cq(VIP_NIC_HANDLE nic, VIP_ULONG entries, VIP_CQ_HANDLE *cq)
{
    VIP_RETURN code = entries > 0 ? vipl_real.VipCreateCQ(nic, entries * 2, cq) : VIP_ERROR_RESOURCE;
    return code == VIP_SUCCESS ? code : vipl_real.VipCreateCQ(nic, entries, cq);
}

/* scribbles: the buffers of a receive belong to the provider until it is done, and what the message did not
 * fill is nobody's (VI-DG 5.5). */
static void scribbles(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    unsigned char byte = 0x3C;
    const VIP_DATA_SEGMENT *s = vipl_data(d, 0);
    if (!recv || s == NULL || d->CS.SegCount > 1 || s->Length == 0)
        return;
    if ((d->CS.Status & (VIP_STATUS_DESC_FLUSHED_ERROR | VIP_STATUS_LENGTH_ERROR)) != 0 ||
        (good(d) && d->CS.Length < s->Length))
        (void)vipl_poke((unsigned char *)s->Data.Address + s->Length - 1, &byte, 1);
}

/* lengths: Length is undefined after an error other than a receive overrun (VI-DG 5.2). */
static void lengths(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    if (!good(d) && (!recv || (d->CS.Status & VIP_STATUS_LENGTH_ERROR) == 0))
        d->CS.Length = 0x12345678;
}

/* links: Next and NextHandle are the library's (VI-DG 5.2). */
static bool links_posted(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)recv;
    d->CS.Next.AddressBits = (uint64_t)(uintptr_t)d;
    d->CS.NextHandle = handle;
    return true;
}

static void links_brought(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)recv, (void)code;
    d->CS.Next.AddressBits = 0xFEEDFACEu;
    d->CS.NextHandle = 0xABCD;
}

/* partial: PARTIAL beside the bit of the cause on the send queue (VI-DG 5.2). */
static void partial(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    if (!recv && (d->CS.Status & (VIP_STATUS_PROTECTION_ERROR | VIP_STATUS_TRANSPORT_ERROR)) != 0)
        d->CS.Status |= VIP_STATUS_PARTIAL_ERROR;
}

/* quiet: a lost connection is not told by the handler (A17: it need not be). */
static bool quiet(VIP_ERROR_DESCRIPTOR *e)
{
    return e->ErrorCode != VIP_ERROR_CONN_LOST;
}

/* fresh-immediate: ImmediateData is nothing where bit 19 is not set (VI-DG 5.2). */
static void fresh_immediate(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    if (recv && (d->CS.Status & VIP_STATUS_IMMEDIATE) == 0)
        d->CS.ImmediateData = 0x77777777;
}

/* operation-of-errors: the operation of a Descriptor in error is not judged (VI-DG 5.2). */
static void operation_of_errors(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)recv, (void)code;
    if (!good(d))
        d->CS.Status &= ~(VIP_UINT32)VIP_STATUS_OP_MASK;
}

const struct twist vipl_twists_odd[] = {
    {.name = "deliberate",
     .calls = {.VipPostSend = deliberate_post_send, .VipRecvDone = deliberate_recv_done}},
    {.name = "roomy", .calls = {.VipCreateCQ = roomy_cq}},
    {.name = "scribbles", .brought = scribbles},
    {.name = "lengths", .brought = lengths},
    {.name = "links", .post = links_posted, .brought = links_brought},
    {.name = "partial", .brought = partial},
    {.name = "quiet", .error = quiet},
    {.name = "fresh-immediate", .brought = fresh_immediate},
    {.name = "operation-of-errors", .brought = operation_of_errors},
    {.name = NULL},
};
