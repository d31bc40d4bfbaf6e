/* Twists of what takes completions off: Done and Wait of the work queues, and the completion queues. */
#include "twist.h"

#include <stddef.h>

static unsigned counter;

/* ---- work queues ---- */

/* out-of-order QUEUE: of two that are completed the second comes first. */
static VIP_RETURN out_of_order(bool recv, VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)
{
    VIP_RETURN(*done)
    (VIP_VI_HANDLE, VIP_DESCRIPTOR **) = recv ? vipl_twist_base.VipRecvDone : vipl_twist_base.VipSendDone;
    struct vi_note *n = vipl_note(vi);
    if (n == NULL || recv != (vipl_twist_argument(0) != 0))
        return done(vi, d);
    if (n->kept[recv] != NULL) {
        *d = n->kept[recv];
        n->kept[recv] = NULL;
        return n->kept_code[recv];
    }
    VIP_DESCRIPTOR *second = NULL;
    VIP_RETURN code = done(vi, d);
    if ((code != VIP_SUCCESS && code != VIP_DESCRIPTOR_ERROR) || *d == NULL)
        return code;
    VIP_RETURN next = done(vi, &second);
    if ((next != VIP_SUCCESS && next != VIP_DESCRIPTOR_ERROR) || second == NULL)
        return code;
    n->kept[recv] = *d;
    n->kept_code[recv] = code;
    *d = second;
    return next;
}

DONE_OF_BOTH(send_out_of_order, recv_out_of_order, out_of_order)

static VIP_RETURN send_wait_as_done(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **d)
{
    struct vi_note *n = vipl_note(vi);
    return n != NULL && n->kept[0] != NULL ? send_out_of_order(vi, d)
                                           : vipl_twist_base.VipSendWait(vi, timeout, d);
}

static VIP_RETURN recv_wait_as_done(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **d)
{
    struct vi_note *n = vipl_note(vi);
    return n != NULL && n->kept[1] != NULL ? recv_out_of_order(vi, d)
                                           : vipl_twist_base.VipRecvWait(vi, timeout, d);
}

/* done-twice QUEUE: a Descriptor comes a second time. */
static VIP_RETURN done_twice(bool recv, VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)
{
    struct vi_note *n = vipl_note(vi);
    VIP_RETURN code = recv ? vipl_twist_base.VipRecvDone(vi, d) : vipl_twist_base.VipSendDone(vi, d);
    if (n == NULL || recv != (vipl_twist_argument(0) != 0))
        return code;
    if (code == VIP_SUCCESS && d != NULL)
        n->kept[recv] = *d;
    else if (code == VIP_DESCRIPTOR_ERROR && *d == NULL && n->kept[recv] != NULL) {
        *d = n->kept[recv];
        n->kept[recv] = NULL;
        return VIP_SUCCESS;
    }
    return code;
}

DONE_OF_BOTH(send_done_twice, recv_done_twice, done_twice)

/* flushed-lost: what a disconnection flushes is never given back. */
static VIP_RETURN without_flushed(bool recv, VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)
{
    for (;;) {
        VIP_RETURN code = recv ? vipl_twist_base.VipRecvDone(vi, d) : vipl_twist_base.VipSendDone(vi, d);
        if (code != VIP_DESCRIPTOR_ERROR || *d == NULL ||
            ((*d)->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR) == 0)
            return code;
    }
}

DONE_OF_BOTH(send_without_flushed, recv_without_flushed, without_flushed)

/* slow CALL MS: 0 SendDone, 1 RecvDone, 2 CQDone, 3 PostSend, 4 PostRecv, 5 SendWait, 6 RecvWait, 7 CQWait */
static void slow(unsigned long call)
{
    if (vipl_twist_argument(0) == call)
        vipl_sleep((unsigned)vipl_twist_argument(1));
}

static VIP_RETURN slow_send_done(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)
{
    slow(0);
    return vipl_twist_base.VipSendDone(vi, d);
}

static VIP_RETURN slow_recv_done(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)
{
    slow(1);
    return vipl_twist_base.VipRecvDone(vi, d);
}

static VIP_RETURN slow_cq_done(VIP_CQ_HANDLE cq, VIP_VI_HANDLE *vi, VIP_BOOLEAN *recv)
{
    slow(2);
    return vipl_real.VipCQDone(cq, vi, recv);
}

static VIP_RETURN slow_post_send(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    slow(3);
    return vipl_twist_base.VipPostSend(vi, d, handle);
}

static VIP_RETURN slow_post_recv(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    slow(4);
    return vipl_twist_base.VipPostRecv(vi, d, handle);
}

static VIP_RETURN slow_send_wait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **d)
{
    slow(5);
    return vipl_twist_base.VipSendWait(vi, timeout, d);
}

static VIP_RETURN slow_recv_wait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **d)
{
    slow(6);
    return vipl_twist_base.VipRecvWait(vi, timeout, d);
}

static VIP_RETURN slow_cq_wait(VIP_CQ_HANDLE cq, VIP_ULONG timeout, VIP_VI_HANDLE *vi, VIP_BOOLEAN *recv)
{
    slow(7);
    return vipl_real.VipCQWait(cq, timeout, vi, recv);
}

/* early-wait CALL (5 SendWait, 6 RecvWait, 7 CQWait): half of the time is enough. */
static VIP_ULONG shortened(unsigned long call, VIP_ULONG timeout)
{
    return vipl_twist_argument(0) != call ? timeout : timeout == VIP_INFINITE ? 1000 : timeout / 2;
}

static VIP_RETURN early_send_wait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **d)
{
    return vipl_twist_base.VipSendWait(vi, shortened(5, timeout), d);
}

static VIP_RETURN early_recv_wait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **d)
{
    return vipl_twist_base.VipRecvWait(vi, shortened(6, timeout), d);
}

static VIP_RETURN early_cq_wait(VIP_CQ_HANDLE cq, VIP_ULONG timeout, VIP_VI_HANDLE *vi, VIP_BOOLEAN *recv)
{
    return vipl_real.VipCQWait(cq, shortened(7, timeout), vi, recv);
}

/* overslept CALL: a wait that has begun ends with its time, whatever comes. */
static VIP_RETURN overslept_send_wait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **d)
{
    VIP_RETURN code = vipl_twist_base.VipSendDone(vi, d);
    if (code != VIP_NOT_DONE || vipl_twist_argument(0) != 5)
        return code == VIP_NOT_DONE ? vipl_twist_base.VipSendWait(vi, timeout, d) : code;
    vipl_sleep(timeout < 3000 ? timeout : 3000);
    return vipl_twist_base.VipSendWait(vi, 0, d);
}

static VIP_RETURN overslept_recv_wait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **d)
{
    VIP_RETURN code = vipl_twist_base.VipRecvDone(vi, d);
    if (code != VIP_NOT_DONE || vipl_twist_argument(0) != 6)
        return code == VIP_NOT_DONE ? vipl_twist_base.VipRecvWait(vi, timeout, d) : code;
    vipl_sleep(timeout < 3000 ? timeout : 3000);
    return VIP_TIMEOUT;
}

static VIP_RETURN overslept_cq_wait(VIP_CQ_HANDLE cq, VIP_ULONG timeout, VIP_VI_HANDLE *vi, VIP_BOOLEAN *recv)
{
    VIP_RETURN code = vipl_real.VipCQDone(cq, vi, recv);
    if (code != VIP_NOT_DONE || vipl_twist_argument(0) != 7)
        return code == VIP_NOT_DONE ? vipl_real.VipCQWait(cq, timeout, vi, recv) : code;
    vipl_sleep(timeout < 3000 ? timeout : 3000);
    return VIP_TIMEOUT;
}

/* ---- completion queues ---- */

/* Each entry that Done or Wait brings goes through this; false: it is lost. */
static bool entry_told(VIP_VI_HANDLE *vi, VIP_BOOLEAN *recv)
{
    VIP_DESCRIPTOR *d = NULL;
    switch (vipl_twist_argument(0)) {
    case 0: /* every fifth is lost */
        return vipl_count(&counter) % 5 != 0;
    case 1: /* of the other queue */
        *recv = *recv ? VIP_FALSE : VIP_TRUE;
        return true;
    case 2: /* of no VI */
        *vi = (char *)*vi + 1;
        return true;
    case 3: /* the Descriptor goes with the entry */
        (void)(*recv ? vipl_real.VipRecvDone : vipl_real.VipSendDone)(*vi, &d);
        return true;
    case 4: /* entries of the receive queue are lost */
        return *recv == VIP_FALSE;
    case 5: /* entries of the send queue are lost */
        return *recv != VIP_FALSE;
    default:
        return true;
    }
}

static VIP_RETURN entry_cq_done(VIP_CQ_HANDLE cq, VIP_VI_HANDLE *vi, VIP_BOOLEAN *recv)
{
    VIP_RETURN code;
    do
        code = vipl_real.VipCQDone(cq, vi, recv);
    while (code == VIP_SUCCESS && !entry_told(vi, recv));
    return code;
}

static VIP_RETURN entry_cq_wait(VIP_CQ_HANDLE cq, VIP_ULONG timeout, VIP_VI_HANDLE *vi, VIP_BOOLEAN *recv)
{
    VIP_RETURN code;
    do
        code = vipl_real.VipCQWait(cq, timeout, vi, recv);
    while (code == VIP_SUCCESS && !entry_told(vi, recv));
    return code;
}

/* entry-twice: an entry comes a second time. */
static VIP_VI_HANDLE again_vi;
static VIP_BOOLEAN again_recv;

static VIP_RETURN twice_cq_done(VIP_CQ_HANDLE cq, VIP_VI_HANDLE *vi, VIP_BOOLEAN *recv)
{
    if (again_vi != NULL && vi != NULL && recv != NULL) {
        *vi = again_vi;
        *recv = again_recv;
        again_vi = NULL;
        return VIP_SUCCESS;
    }
    VIP_RETURN code = vipl_real.VipCQDone(cq, vi, recv);
    if (code == VIP_SUCCESS && vi != NULL && recv != NULL) {
        again_vi = *vi;
        again_recv = *recv;
    }
    return code;
}

static VIP_RETURN twice_cq_wait(VIP_CQ_HANDLE cq, VIP_ULONG timeout, VIP_VI_HANDLE *vi, VIP_BOOLEAN *recv)
{
    VIP_RETURN code = twice_cq_done(cq, vi, recv);
    return code == VIP_NOT_DONE ? vipl_real.VipCQWait(cq, timeout, vi, recv) : code;
}

static VIP_RETURN small_cq(VIP_NIC_HANDLE nic, VIP_ULONG entries, VIP_CQ_HANDLE *cq)
{
    return vipl_real.VipCreateCQ(nic, entries > 3 ? entries / 2 : entries, cq);
}

static VIP_RETURN emptying_resize(VIP_CQ_HANDLE cq, VIP_ULONG entries)
{
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN recv;
    (void)vipl_real.VipCQDone(cq, &vi, &recv);
    return vipl_real.VipResizeCQ(cq, entries);
}

static VIP_RETURN idle_resize(VIP_CQ_HANDLE cq, VIP_ULONG entries)
{
    return cq == NULL ? vipl_real.VipResizeCQ(cq, entries) : VIP_SUCCESS;
}

/* cq-tied HOW: 0 the send queue's goes to both, 1 the receive queue's is forgotten, 2 the two are exchanged
 */
static VIP_RETURN tied(VIP_NIC_HANDLE nic, VIP_VI_ATTRIBUTES *a, VIP_CQ_HANDLE send, VIP_CQ_HANDLE recv,
                       VIP_VI_HANDLE *vi)
{
    switch (vipl_twist_argument(0)) {
    case 0:
        return vipl_twist_base.VipCreateVi(nic, a, send, send, vi);
    case 1:
        return vipl_twist_base.VipCreateVi(nic, a, send, NULL, vi);
    default:
        return vipl_twist_base.VipCreateVi(nic, a, recv, send, vi);
    }
}

#define SLOW                                                                                                 \
    .VipSendDone = slow_send_done, .VipRecvDone = slow_recv_done, .VipCQDone = slow_cq_done,                 \
    .VipPostSend = slow_post_send, .VipPostRecv = slow_post_recv, .VipSendWait = slow_send_wait,             \
    .VipRecvWait = slow_recv_wait, .VipCQWait = slow_cq_wait

const struct twist vipl_twists_queue[] = {
    {.name = "out-of-order",
     .calls = {.VipSendDone = send_out_of_order,
               .VipRecvDone = recv_out_of_order,
               .VipSendWait = send_wait_as_done,
               .VipRecvWait = recv_wait_as_done}},
    {.name = "done-twice", .calls = {.VipSendDone = send_done_twice, .VipRecvDone = recv_done_twice}},
    {.name = "flushed-lost",
     .calls = {.VipSendDone = send_without_flushed, .VipRecvDone = recv_without_flushed}},
    {.name = "slow", .calls = {SLOW}},
    {.name = "early-wait",
     .calls = {.VipSendWait = early_send_wait, .VipRecvWait = early_recv_wait, .VipCQWait = early_cq_wait}},
    {.name = "overslept",
     .calls = {.VipSendWait = overslept_send_wait,
               .VipRecvWait = overslept_recv_wait,
               .VipCQWait = overslept_cq_wait}},
    {.name = "entry", .calls = {.VipCQDone = entry_cq_done, .VipCQWait = entry_cq_wait}},
    {.name = "entry-twice", .calls = {.VipCQDone = twice_cq_done, .VipCQWait = twice_cq_wait}},
    {.name = "small-cq", .calls = {.VipCreateCQ = small_cq}},
    {.name = "emptying-resize", .calls = {.VipResizeCQ = emptying_resize}},
    {.name = "idle-resize", .calls = {.VipResizeCQ = idle_resize}},
    {.name = "cq-tied", .calls = {.VipCreateVi = tied}},
    {.name = NULL},
};
