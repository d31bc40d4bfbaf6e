/* Twists of the bytes that are moved: the wrong ones, one too many, too late, twice, in another order. */
#include "twist.h"

#include <stddef.h>
#include <string.h>

static bool good(const VIP_DESCRIPTOR *d)
{
    return (d->CS.Status & VIP_STATUS_ERROR_MASK) == 0;
}

static unsigned operation(const VIP_DESCRIPTOR *d)
{
    return d->CS.Control & VIP_CONTROL_OP_MASK;
}

static void flip(void *address)
{
    unsigned char byte;
    if (vipl_poke(&byte, address, 1)) {
        byte ^= 0xFF;
        (void)vipl_poke(address, &byte, 1);
    }
}

static unsigned char *start(const VIP_DATA_SEGMENT *s)
{
    return s->Data.Address;
}

/* the byte after the last data segment of a receive */
static void byte_beyond(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    if (recv && good(d) && d->CS.SegCount > 0) {
        const VIP_DATA_SEGMENT *s = &d->DS[d->CS.SegCount - 1].Local;
        flip(start(s) + s->Length);
    }
}

static void byte_before(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    if (recv && good(d) && d->CS.SegCount > 0)
        flip(start(&d->DS[0].Local) - 1);
}

/* the last byte that a receive brought, where it has one segment */
static void last_byte(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    if (recv && good(d) && d->CS.Length > 0 && d->CS.SegCount == 1 &&
        (d->CS.Status & VIP_STATUS_OP_MASK) == VIP_STATUS_OP_RECEIVE)
        flip(start(&d->DS[0].Local) + d->CS.Length - 1);
}

/* the first two segments of a receive or an RDMA Read have each the other's first byte */
static void segments_swapped(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    const VIP_DATA_SEGMENT *a = vipl_data(d, 0), *b = vipl_data(d, 1);
    if (!good(d) || a == NULL || b == NULL || a->Length == 0 || b->Length == 0 ||
        (!recv && operation(d) != VIP_CONTROL_OP_RDMAREAD))
        return;
    unsigned char one = *start(a);
    *start(a) = *start(b);
    *start(b) = one;
}

/* the byte after (1) or at the start of (0) the target of an RDMA Write, or of the source of an RDMA Read */
static void remote_byte(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    if (!recv && good(d) && d->CS.SegCount > 0 && operation(d) == vipl_twist_argument(0))
        flip((unsigned char *)d->DS[0].Remote.Data.Address +
             (vipl_twist_argument(1) != 0 ? d->CS.Length : 0));
}

/* An RDMA Write (or Read) goes elsewhere: a byte further on. */
static bool remote_offset(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)handle;
    if (!recv && operation(d) == vipl_twist_argument(0) && d->CS.SegCount > 1)
        d->DS[0].Remote.Data.AddressBits += 1;
    return true;
}

/* DONE is told while the data are not there: they come 20 ms later. late-data QUEUE OPERATION */
static void late_data(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    const VIP_DATA_SEGMENT *s = vipl_data(d, 0);
    if (recv != (vipl_twist_argument(0) != 0) || !good(d) || operation(d) != vipl_twist_argument(1) ||
        s == NULL || s->Length == 0 || d->CS.Length == 0)
        return;
    unsigned char bytes[64] = {0}, none[64] = {0};
    size_t length = d->CS.Length < s->Length ? d->CS.Length : s->Length;
    length = length < sizeof bytes ? length : sizeof bytes;
    memcpy(bytes, start(s), length);
    for (size_t i = 0; i < length; i++)
        none[i] = (unsigned char)~bytes[i];
    memcpy(start(s), none, length);
    vipl_poke_later(20, start(s), bytes, length);
}

/* The target of an RDMA Write is written 300 ms after its success. */
static void late_write(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    unsigned char bytes[64] = {0}, none[64] = {0};
    size_t length = d->CS.Length < sizeof bytes ? d->CS.Length : sizeof bytes;
    if (recv || operation(d) != VIP_CONTROL_OP_RDMAWRITE || !good(d) || d->CS.SegCount < 2 || length == 0 ||
        !vipl_poke(bytes, d->DS[0].Remote.Data.Address, length))
        return;
    for (size_t i = 0; i < length; i++)
        none[i] = (unsigned char)~bytes[i];
    (void)vipl_poke(d->DS[0].Remote.Data.Address, none, length);
    vipl_poke_later(300, d->DS[0].Remote.Data.Address, bytes, length);
}

/* Each message arrives twice. */
static bool twice(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)handle;
    if (!recv && (operation(d) == VIP_CONTROL_OP_SENDRECV || (d->CS.Control & VIP_CONTROL_IMMEDIATE) != 0) &&
        (vipl_twist_argument(0) == 0 || n->posts[0] % vipl_twist_argument(0) == 0))
        vipl_post_copy(n, false, d);
    return true;
}

/* Two posts of one queue change places, from the second one of the VI on: the first of them waits for the
 * second, or for the next call that asks for a completion. */
static bool swapped(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    if (recv != (vipl_twist_argument(0) != 0) || n->kept[recv] != NULL || n->posts[recv] % 2 != 0)
        return true;
    n->kept[recv] = d;
    n->kept_handle[recv] = handle;
    return false;
}

static void release(struct vi_note *n, bool recv)
{
    VIP_DESCRIPTOR *d = n->kept[recv];
    n->kept[recv] = NULL;
    if (d != NULL)
        (void)(recv ? vipl_real.VipPostRecv : vipl_real.VipPostSend)(n->vi, d, n->kept_handle[recv]);
}

static VIP_RETURN swapped_post(bool recv, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    struct vi_note *n = vipl_note(vi);
    bool second = n != NULL && n->kept[recv] != NULL;
    VIP_RETURN code =
        recv ? vipl_twist_base.VipPostRecv(vi, d, handle) : vipl_twist_base.VipPostSend(vi, d, handle);
    if (second)
        release(n, recv);
    return code;
}

static VIP_RETURN swapped_post_send(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    return swapped_post(false, vi, d, handle);
}

static VIP_RETURN swapped_post_recv(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    return swapped_post(true, vi, d, handle);
}

static void release_of(VIP_VI_HANDLE vi, bool recv)
{
    struct vi_note *n = vipl_note(vi);
    if (n != NULL)
        release(n, recv);
}

static VIP_RETURN release_send_done(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)
{
    release_of(vi, false);
    return vipl_twist_base.VipSendDone(vi, d);
}

static VIP_RETURN release_send_wait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **d)
{
    release_of(vi, false);
    return vipl_twist_base.VipSendWait(vi, timeout, d);
}

static VIP_RETURN release_recv_done(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)
{
    release_of(vi, true);
    return vipl_twist_base.VipRecvDone(vi, d);
}

static VIP_RETURN release_recv_wait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **d)
{
    release_of(vi, true);
    return vipl_twist_base.VipRecvWait(vi, timeout, d);
}

/* A post starts nothing before the next call for the queue. needs-call QUEUE */
static bool needs_call(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    if (recv != (vipl_twist_argument(0) != 0) || n->kept[recv] != NULL)
        return true;
    n->kept[recv] = d;
    n->kept_handle[recv] = handle;
    return false;
}

/* The first Send on a new connection has the last one of the old before it. */
static struct {
    unsigned char bytes[512];
    size_t length;
} stale_one;

static bool stale(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)handle;
    const VIP_DATA_SEGMENT *s = vipl_data(d, 0);
    if (recv || operation(d) != VIP_CONTROL_OP_SENDRECV || s == NULL || s->Length > sizeof stale_one.bytes)
        return true;
    if (n->struck)
        vipl_post_bytes(n, stale_one.bytes, stale_one.length);
    n->struck = false;
    stale_one.length = s->Length;
    (void)vipl_poke(stale_one.bytes, s->Data.Address, s->Length);
    return true;
}

static VIP_RETURN stale_disconnect(VIP_VI_HANDLE vi)
{
    struct vi_note *n = vipl_note(vi);
    if (n != NULL)
        n->struck = true;
    return vipl_real.VipDisconnect(vi);
}

#define RELEASES                                                                                             \
    .VipPostSend = swapped_post_send, .VipPostRecv = swapped_post_recv, .VipSendDone = release_send_done,    \
    .VipSendWait = release_send_wait, .VipRecvDone = release_recv_done, .VipRecvWait = release_recv_wait

const struct twist vipl_twists_data[] = {
    {.name = "byte-beyond", .brought = byte_beyond},
    {.name = "byte-before", .brought = byte_before},
    {.name = "last-byte", .brought = last_byte},
    {.name = "segments-swapped", .brought = segments_swapped},
    {.name = "remote-byte", .brought = remote_byte},
    {.name = "remote-offset", .post = remote_offset},
    {.name = "late-data", .brought = late_data},
    {.name = "late-write", .brought = late_write},
    {.name = "twice", .post = twice},
    {.name = "swapped", .calls = {RELEASES}, .post = swapped},
    {.name = "needs-call", .calls = {RELEASES}, .post = needs_call},
    {.name = "stale", .calls = {.VipDisconnect = stale_disconnect}, .post = stale},
    {.name = NULL},
};
