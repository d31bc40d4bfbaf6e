/* Twists of the handlers: called twice, never, late, with something else, by another thread, after their end.
 */
#include "twist.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

typedef void (*on_descriptor)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_DESCRIPTOR *);
typedef void (*on_entry)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_BOOLEAN);
typedef void (*on_error)(VIP_PVOID, VIP_ERROR_DESCRIPTOR *);

static unsigned counter;

/* notify-times WITH WITHOUT: how often a handler is called with a Descriptor, and how often with NULL */
static int notify_times(VIP_DESCRIPTOR **d)
{
    return (int)vipl_twist_argument(*d != NULL ? 0 : 1);
}

static int notify_other(VIP_DESCRIPTOR **d)
{
    if (*d != NULL)
        *d = (VIP_DESCRIPTOR *)((char *)*d + VIP_DESCRIPTOR_ALIGNMENT);
    return 1;
}

static int notify_unflushed(VIP_DESCRIPTOR **d)
{
    return *d == NULL || ((*d)->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR) == 0;
}

/* notify-context: every handler gets the context of the first. */
static VIP_PVOID first_context;

static VIP_PVOID context_of_first(VIP_PVOID context)
{
    if (first_context == NULL)
        first_context = context;
    return first_context;
}

static VIP_RETURN context_send_notify(VIP_VI_HANDLE vi, VIP_PVOID context, on_descriptor handler)
{
    return vipl_twist_base.VipSendNotify(vi, context_of_first(context), handler);
}

static VIP_RETURN context_recv_notify(VIP_VI_HANDLE vi, VIP_PVOID context, on_descriptor handler)
{
    return vipl_twist_base.VipRecvNotify(vi, context_of_first(context), handler);
}

static VIP_RETURN context_cq_notify(VIP_CQ_HANDLE cq, VIP_PVOID context, on_entry handler)
{
    return vipl_real.VipCQNotify(cq, context_of_first(context), handler);
}

static VIP_RETURN context_error(VIP_NIC_HANDLE nic, VIP_PVOID context, on_error handler)
{
    return vipl_twist_base.VipErrorCallback(nic, (char *)context + 1, handler);
}

/* notify-kept: what the handler got is given by Done once more. */
static int notify_kept(VIP_DESCRIPTOR **d)
{
    (void)d;
    return 1;
}

static void keep(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)code;
    n->kept[recv] = d;
}

static VIP_RETURN kept_done(bool recv, VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)
{
    struct vi_note *n = vipl_note(vi);
    if (n != NULL && n->kept[recv] != NULL) {
        *d = n->kept[recv];
        n->kept[recv] = NULL;
        return VIP_SUCCESS;
    }
    VIP_RETURN code = recv ? vipl_twist_base.VipRecvDone(vi, d) : vipl_twist_base.VipSendDone(vi, d);
    if (n != NULL)
        n->kept[recv] = NULL; /* this one was taken by Done */
    return code;
}

DONE_OF_BOTH(kept_send_done, kept_recv_done, kept_done)

/* notify-at-once: a handler is called with NULL instead of waiting for the Descriptor that is not done. */
static VIP_RETURN at_once_recv_notify(VIP_VI_HANDLE vi, VIP_PVOID context, on_descriptor handler)
{
    struct vi_note *n = vipl_note(vi);
    if (n == NULL || handler == NULL)
        return vipl_real.VipRecvNotify(vi, context, handler);
    handler(context, n->nic, vi, NULL);
    return VIP_SUCCESS;
}

/* notify-after-end: a registration lives on when its VI (or completion queue) has ended. */
struct ended {
    unsigned milliseconds;
    VIP_PVOID context;
    VIP_NIC_HANDLE nic;
    void *of; /* the VI or the completion queue */
    on_descriptor descriptor;
    on_entry entry;
};
static struct ended last;

static void *call_late(void *context)
{
    struct ended *e = context;
    vipl_sleep(e->milliseconds);
    if (e->descriptor != NULL)
        e->descriptor(e->context, e->nic, e->of, NULL);
    else
        e->entry(e->context, e->nic, e->of, VIP_TRUE);
    free(e);
    return NULL;
}

static void in_a_thread(const struct ended *what)
{
    struct ended *e = malloc(sizeof *e);
    pthread_t thread;
    if (e == NULL)
        return;
    *e = *what;
    if (pthread_create(&thread, NULL, call_late, e) == 0)
        pthread_detach(thread);
    else
        free(e);
}

static VIP_RETURN ended_recv_notify(VIP_VI_HANDLE vi, VIP_PVOID context, on_descriptor handler)
{
    struct vi_note *n = vipl_note(vi);
    VIP_RETURN code = vipl_real.VipRecvNotify(vi, context, handler);
    if (n != NULL && code == VIP_SUCCESS)
        last = (struct ended){
            .milliseconds = 5, .context = context, .nic = n->nic, .of = vi, .descriptor = handler};
    return code;
}

static VIP_RETURN ended_send_notify(VIP_VI_HANDLE vi, VIP_PVOID context, on_descriptor handler)
{
    struct vi_note *n = vipl_note(vi);
    VIP_RETURN code = vipl_real.VipSendNotify(vi, context, handler);
    if (n != NULL && code == VIP_SUCCESS)
        last = (struct ended){
            .milliseconds = 5, .context = context, .nic = n->nic, .of = vi, .descriptor = handler};
    return code;
}

static VIP_RETURN ended_cq_notify(VIP_CQ_HANDLE cq, VIP_PVOID context, on_entry handler)
{
    VIP_RETURN code = vipl_real.VipCQNotify(cq, context, handler);
    if (code == VIP_SUCCESS)
        last = (struct ended){.milliseconds = 5, .context = context, .of = cq, .entry = handler};
    return code;
}

static VIP_RETURN ended_destroy_vi(VIP_VI_HANDLE vi)
{
    VIP_RETURN code = vipl_twist_base.VipDestroyVi(vi);
    if (code == VIP_SUCCESS && last.of == vi && last.descriptor != NULL)
        in_a_thread(&last);
    return code;
}

static VIP_RETURN ended_destroy_cq(VIP_CQ_HANDLE cq)
{
    VIP_RETURN code = vipl_real.VipDestroyCQ(cq);
    if (code == VIP_SUCCESS && last.of == cq && last.entry != NULL)
        in_a_thread(&last);
    return code;
}

/* notify-thread: every call of a handler has a thread of its own. */
struct threaded {
    VIP_PVOID context;
    VIP_NIC_HANDLE nic;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    VIP_BOOLEAN recv;
    on_descriptor descriptor;
    on_entry entry;
};

static void *call_threaded(void *context)
{
    const struct threaded *t = context;
    if (t->descriptor != NULL)
        t->descriptor(t->context, t->nic, t->vi, t->d);
    else
        t->entry(t->context, t->nic, t->vi, t->recv);
    return NULL;
}

static void join_a_thread(struct threaded *t)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, call_threaded, t) == 0)
        pthread_join(thread, NULL);
}

static void threaded_descriptor(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
    struct threaded *t = context;
    t->nic = nic;
    t->vi = vi;
    t->d = d;
    join_a_thread(t);
    free(t);
}

static VIP_RETURN threaded_recv_notify(VIP_VI_HANDLE vi, VIP_PVOID context, on_descriptor handler)
{
    struct threaded *t = calloc(1, sizeof *t);
    if (t == NULL || handler == NULL) {
        free(t);
        return vipl_real.VipRecvNotify(vi, context, handler);
    }
    *t = (struct threaded){.context = context, .descriptor = handler};
    return vipl_real.VipRecvNotify(vi, t, threaded_descriptor);
}

/* entry-notify HOW: 0 never, 1 twice, 2 with the other queue, 3 with no VI */
struct entry_handler {
    VIP_PVOID context;
    on_entry handler;
};

static void entry_handled(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_BOOLEAN recv)
{
    struct entry_handler *h = context;
    unsigned long how = vipl_twist_argument(0);
    if (how == 1)
        h->handler(h->context, nic, vi, recv);
    if (how != 0)
        h->handler(h->context, nic, how == 3 ? (VIP_VI_HANDLE)((char *)vi + 1) : vi, how == 2 ? !recv : recv);
    free(h);
}

static VIP_RETURN entry_notify(VIP_CQ_HANDLE cq, VIP_PVOID context, on_entry handler)
{
    struct entry_handler *h = handler != NULL ? calloc(1, sizeof *h) : NULL;
    if (h == NULL)
        return vipl_real.VipCQNotify(cq, context, handler);
    *h = (struct entry_handler){context, handler};
    return vipl_real.VipCQNotify(cq, h, entry_handled);
}

/* ---- asynchronous errors ---- */

static bool error_silent(VIP_ERROR_DESCRIPTOR *e)
{
    (void)e;
    return false;
}

/* error-code WAS TOLD */
static bool error_code(VIP_ERROR_DESCRIPTOR *e)
{
    if ((unsigned long)e->ErrorCode == vipl_twist_argument(0))
        e->ErrorCode = (VIP_ERROR_CODE)vipl_twist_argument(1);
    return true;
}

/* error-field WHICH: 0 NicHandle, 1 ViHandle, 2 ResourceCode, 3 OpCode, 4 CQHandle */
static bool error_field(VIP_ERROR_DESCRIPTOR *e)
{
    switch (vipl_twist_argument(0)) {
    case 0:
        e->NicHandle = (char *)e->NicHandle + 1;
        break;
    case 1:
        e->ViHandle = (char *)e->ViHandle + 1;
        break;
    case 2:
        e->ResourceCode = (VIP_RESOURCE_CODE)9;
        break;
    case 3:
        e->OpCode = 0x00770000u;
        break;
    default:
        e->CQHandle = (VIP_CQ_HANDLE)(uintptr_t)0x77;
    }
    return true;
}

/* error-stays: VipErrorCallback with NULL changes nothing. */
static VIP_RETURN error_stays(VIP_NIC_HANDLE nic, VIP_PVOID context, on_error handler)
{
    return handler == NULL && nic != NULL && vipl_count(&counter) > 0
               ? VIP_SUCCESS
               : vipl_twist_base.VipErrorCallback(nic, context, handler);
}

/* error-on-disconnect: the end that disconnects is told, too. */
static on_error noted;
static VIP_PVOID noted_context;

static VIP_RETURN noting_error_callback(VIP_NIC_HANDLE nic, VIP_PVOID context, on_error handler)
{
    noted = handler;
    noted_context = context;
    return vipl_real.VipErrorCallback(nic, context, handler);
}

static VIP_RETURN telling_disconnect(VIP_VI_HANDLE vi)
{
    VIP_RETURN code = vipl_real.VipDisconnect(vi);
    struct vi_note *n = vipl_note(vi);
    if (code == VIP_SUCCESS && n != NULL && noted != NULL) {
        VIP_ERROR_DESCRIPTOR e = {.NicHandle = n->nic,
                                  .ViHandle = vi,
                                  .ResourceCode = VIP_RESOURCE_VI,
                                  .ErrorCode = VIP_ERROR_CONN_LOST};
        noted(noted_context, &e);
    }
    return code;
}

/* error-and-status LEVEL: an error that the Descriptor tells comes by the handler only, or (UD) by both */
static void error_instead(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    if (recv || (d->CS.Status & VIP_STATUS_ERROR_MASK) == 0 || noted == NULL ||
        (n->attributes.ReliabilityLevel & vipl_twist_argument(0)) == 0)
        return;
    VIP_ERROR_DESCRIPTOR e = {.NicHandle = n->nic,
                              .ViHandle = n->vi,
                              .DescriptorPtr = d,
                              .ResourceCode = VIP_RESOURCE_DESCRIPTOR,
                              .ErrorCode = VIP_ERROR_CONN_LOST};
    d->CS.Status &= ~(VIP_UINT32)VIP_STATUS_ERROR_MASK;
    *code = VIP_SUCCESS;
    noted(noted_context, &e);
}

const struct twist vipl_twists_callback[] = {
    {.name = "notify-times", .notify = notify_times},
    {.name = "notify-other", .notify = notify_other},
    {.name = "notify-unflushed", .notify = notify_unflushed},
    {.name = "notify-context",
     .calls = {.VipSendNotify = context_send_notify,
               .VipRecvNotify = context_recv_notify,
               .VipCQNotify = context_cq_notify}},
    {.name = "notify-kept",
     .calls = {.VipSendDone = kept_send_done, .VipRecvDone = kept_recv_done},
     .brought = keep,
     .notify = notify_kept},
    {.name = "notify-at-once", .calls = {.VipRecvNotify = at_once_recv_notify}},
    {.name = "notify-after-end",
     .calls = {.VipSendNotify = ended_send_notify,
               .VipRecvNotify = ended_recv_notify,
               .VipCQNotify = ended_cq_notify,
               .VipDestroyVi = ended_destroy_vi,
               .VipDestroyCQ = ended_destroy_cq}},
    {.name = "notify-thread", .calls = {.VipRecvNotify = threaded_recv_notify}},
    {.name = "entry-notify", .calls = {.VipCQNotify = entry_notify}},
    {.name = "error-silent", .error = error_silent},
    {.name = "error-code", .error = error_code},
    {.name = "error-field", .error = error_field},
    {.name = "error-context", .calls = {.VipErrorCallback = context_error}},
    {.name = "error-stays", .calls = {.VipErrorCallback = error_stays}},
    {.name = "error-on-disconnect",
     .calls = {.VipErrorCallback = noting_error_callback, .VipDisconnect = telling_disconnect}},
    {.name = "error-instead", .calls = {.VipErrorCallback = noting_error_callback}, .brought = error_instead},
    {.name = NULL},
};
