/* The frame of the twists: which one is in force, and the calls that keep the notes and ask its hooks. */
#define _GNU_SOURCE /* process_vm_writev; NOLINT(bugprone-reserved-identifier) */
#include "twist.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { NOTES = 4096, SAVED = 4096, COPIES = 64, ARGUMENTS = 4, COPY_BYTES = 4096 };

struct saved {
    VIP_DESCRIPTOR *at;
    VIP_DESCRIPTOR was;
};

struct handler {
    VIP_PVOID context;
    bool recv;
    void (*on_descriptor)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_DESCRIPTOR *);
    void (*on_error)(VIP_PVOID, VIP_ERROR_DESCRIPTOR *);
};

const struct twist *vipl_twist;
static struct vipl_calls merged;
static unsigned long arguments[ARGUMENTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vi_note notes[NOTES];
static struct saved saved[SAVED];
static struct {
    struct vi_note *of;
    VIP_DESCRIPTOR *at;
} copies[COPIES];

unsigned long vipl_twist_argument(int index)
{
    return arguments[index];
}

unsigned vipl_count(unsigned *counter)
{
    return __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

static const struct twist *named(const char *name)
{
    const struct twist *lists[] = {vipl_twists_data,     vipl_twists_descriptor, vipl_twists_queue,
                                   vipl_twists_callback, vipl_twists_connect,    vipl_twists_memory,
                                   vipl_twists_nic,      vipl_twists_odd};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const struct twist *t = lists[i]; t->name != NULL; t++)
            if (strcmp(t->name, name) == 0)
                return t;
    return NULL;
}

/* The twist's call where it has one, else that of the frame. */
static void merge(void)
{
    typedef void (*any)(void);
    enum { CALLS = sizeof(struct vipl_calls) / sizeof(any) };
    any base[CALLS], own[CALLS];
    memcpy(base, &vipl_twist_base, sizeof base);
    memcpy(own, &vipl_twist->calls, sizeof own);
    for (int i = 0; i < CALLS; i++)
        if (own[i] == NULL)
            own[i] = base[i];
    memcpy(&merged, own, sizeof merged);
}

__attribute__((constructor)) static void choose(void)
{
    const char *fault = getenv("FCVI_VIPL_FAULT");
    char name[40];
    int end = 0;
    if (fault == NULL || sscanf(fault, "twist %39s%n", name, &end) != 1)
        return;
    const char *rest = fault + end;
    for (int i = 0; i < ARGUMENTS; i++) {
        char *after;
        arguments[i] = strtoul(rest, &after, 0);
        rest = after;
    }
    vipl_twist = named(name);
    if (vipl_twist == NULL) {
        fprintf(stderr, "vipl-shim: there is no twist '%s'\n", name);
        _exit(2);
    }
    merge();
}

const struct vipl_calls *vipl_shim_twisted(void)
{
    return vipl_twist != NULL ? &merged : NULL;
}

/* ---- notes ---- */

static struct vi_note *slot_of(VIP_VI_HANDLE vi)
{
    for (size_t i = 0; i < NOTES; i++)
        if (notes[i].vi == vi)
            return &notes[i];
    return NULL;
}

struct vi_note *vipl_note(VIP_VI_HANDLE vi)
{
    pthread_mutex_lock(&lock);
    struct vi_note *found = vi != NULL ? slot_of(vi) : NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

static void save(VIP_DESCRIPTOR *d, const VIP_DESCRIPTOR *was)
{
    pthread_mutex_lock(&lock);
    struct saved *free_one = NULL;
    for (size_t i = 0; i < SAVED && (free_one == NULL || free_one->at != d); i++)
        if (saved[i].at == d || (free_one == NULL && saved[i].at == NULL))
            free_one = &saved[i];
    if (free_one != NULL)
        *free_one = (struct saved){d, *was};
    pthread_mutex_unlock(&lock);
}

/* What the program wrote comes back; what the provider writes stays. */
static void restore(VIP_DESCRIPTOR *d)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SAVED; i++) {
        const VIP_DESCRIPTOR *was = &saved[i].was;
        if (saved[i].at != d)
            continue;
        d->CS.SegCount = was->CS.SegCount;
        d->CS.Control = was->CS.Control;
        d->CS.Reserved = was->CS.Reserved;
        memcpy(d->DS, was->DS,
               sizeof(VIP_DESCRIPTOR_SEGMENT) * (was->CS.SegCount < 2 ? was->CS.SegCount : 2));
        saved[i].at = NULL;
        break;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- what twists use ---- */

bool vipl_poke(void *address, const void *bytes, size_t length)
{
    struct iovec from = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length},
                 to = {.iov_base = address, .iov_len = length};
    return process_vm_writev(getpid(), &from, 1, &to, 1, 0) == (ssize_t)length;
}

void vipl_sleep(unsigned milliseconds)
{
    struct timespec t = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    nanosleep(&t, NULL);
}

struct poke {
    unsigned milliseconds;
    void *address;
    size_t length;
    unsigned char bytes[64];
};

static void *poke_late(void *context)
{
    struct poke *p = context;
    vipl_sleep(p->milliseconds);
    (void)vipl_poke(p->address, p->bytes, p->length);
    free(p);
    return NULL;
}

void vipl_poke_later(unsigned milliseconds, void *address, const void *bytes, size_t length)
{
    struct poke *p = calloc(1, sizeof *p);
    pthread_t thread;
    if (p == NULL || length > sizeof p->bytes) {
        free(p);
        return;
    }
    *p = (struct poke){.milliseconds = milliseconds, .address = address, .length = length};
    memcpy(p->bytes, bytes, length);
    if (pthread_create(&thread, NULL, poke_late, p) == 0)
        pthread_detach(thread);
    else
        free(p);
}

void vipl_spoil(VIP_DESCRIPTOR *d)
{
    d->CS.Control = VIP_CONTROL_OP_RESERVED;
}

VIP_DATA_SEGMENT *vipl_data(VIP_DESCRIPTOR *d, unsigned index)
{
    unsigned op = d->CS.Control & VIP_CONTROL_OP_MASK;
    unsigned first = op == VIP_CONTROL_OP_RDMAWRITE || op == VIP_CONTROL_OP_RDMAREAD ? 1 : 0;
    return first + index < d->CS.SegCount ? &d->DS[first + index].Local : NULL;
}

/* A page of the shim's own, registered for the VI. */
static VIP_DESCRIPTOR *own_page(const struct vi_note *n, VIP_MEM_HANDLE *handle)
{
    VIP_DESCRIPTOR *page = NULL;
    VIP_MEM_ATTRIBUTES attributes = {.Ptag = n->attributes.Ptag};
    if (posix_memalign((void **)&page, COPY_BYTES, COPY_BYTES) != 0)
        return NULL;
    if (vipl_real.VipRegisterMem(n->nic, page, COPY_BYTES, &attributes, handle) == VIP_SUCCESS)
        return page;
    free(page);
    return NULL;
}

static void post_own(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < COPIES; i++)
        if (copies[i].at == NULL) {
            copies[i].of = n;
            copies[i].at = d;
            break;
        }
    pthread_mutex_unlock(&lock);
    (void)(recv ? vipl_real.VipPostRecv : vipl_real.VipPostSend)(n->vi, d, handle);
}

void vipl_post_copy(struct vi_note *n, bool recv, const VIP_DESCRIPTOR *d)
{
    VIP_MEM_HANDLE handle;
    size_t bytes = sizeof d->CS + d->CS.SegCount * sizeof *d->DS;
    VIP_DESCRIPTOR *copy = bytes <= COPY_BYTES ? own_page(n, &handle) : NULL;
    if (copy == NULL)
        return;
    memcpy(copy, d, bytes);
    post_own(n, recv, copy, handle);
}

void vipl_post_bytes(struct vi_note *n, const void *bytes, size_t length)
{
    VIP_MEM_HANDLE handle;
    VIP_DESCRIPTOR *d = length <= COPY_BYTES / 2 ? own_page(n, &handle) : NULL;
    if (d == NULL)
        return;
    memset(d, 0, sizeof *d);
    d->CS.SegCount = 1;
    d->CS.Length = (VIP_UINT32)length;
    d->DS[0].Local.Data.Address = (unsigned char *)d + COPY_BYTES / 2;
    d->DS[0].Local.Handle = handle;
    d->DS[0].Local.Length = (VIP_UINT32)length;
    memcpy(d->DS[0].Local.Data.Address, bytes, length);
    post_own(n, false, d, handle);
}

static bool is_copy(VIP_DESCRIPTOR *d)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < COPIES && !found; i++)
        if (copies[i].at == d) {
            copies[i].at = NULL; /* its memory stays registered until the process ends */
            found = true;
        }
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- the calls ---- */

static VIP_RETURN create_vi(VIP_NIC_HANDLE nic, VIP_VI_ATTRIBUTES *a, VIP_CQ_HANDLE send, VIP_CQ_HANDLE recv,
                            VIP_VI_HANDLE *vi)
{
    VIP_RETURN code = vipl_real.VipCreateVi(nic, a, send, recv, vi);
    if (code != VIP_SUCCESS)
        return code;
    pthread_mutex_lock(&lock);
    struct vi_note *n = slot_of(NULL);
    if (n != NULL)
        *n = (struct vi_note){.vi = *vi, .nic = nic, .attributes = *a, .cq = {send, recv}};
    pthread_mutex_unlock(&lock);
    return code;
}

static VIP_RETURN destroy_vi(VIP_VI_HANDLE vi)
{
    VIP_RETURN code = vipl_real.VipDestroyVi(vi);
    pthread_mutex_lock(&lock);
    struct vi_note *n = code == VIP_SUCCESS && vi != NULL ? slot_of(vi) : NULL;
    if (n != NULL)
        *n = (struct vi_note){0};
    pthread_mutex_unlock(&lock);
    return code;
}

static VIP_RETURN set_vi(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *a)
{
    VIP_RETURN code = vipl_real.VipSetViAttributes(vi, a);
    struct vi_note *n = vipl_note(vi);
    if (n != NULL && code == VIP_SUCCESS)
        n->attributes = *a;
    return code;
}

static VIP_RETURN post(bool recv, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    struct vi_note *n = vipl_note(vi);
    VIP_DESCRIPTOR was;
    if (n != NULL && vipl_poke(&was, d, sizeof was)) { /* else it is no memory: the provider is to say so */
        n->posts[recv]++;
        bool go = vipl_twist->post == NULL || vipl_twist->post(n, recv, d, handle);
        if (memcmp(&was, d, sizeof was) != 0)
            save(d, &was);
        if (!go)
            return VIP_SUCCESS;
    }
    return (recv ? vipl_real.VipPostRecv : vipl_real.VipPostSend)(vi, d, handle);
}

static VIP_RETURN post_send(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    return post(false, vi, d, handle);
}

static VIP_RETURN post_recv(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    return post(true, vi, d, handle);
}

static void bring(bool recv, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    struct vi_note *n = vipl_note(vi);
    restore(d);
    if (n != NULL && vipl_twist->brought != NULL)
        vipl_twist->brought(n, recv, d, code);
}

static bool has(VIP_RETURN code, VIP_DESCRIPTOR *const *d)
{
    return (code == VIP_SUCCESS || code == VIP_DESCRIPTOR_ERROR) && d != NULL && *d != NULL;
}

static VIP_RETURN done(bool recv, VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)
{
    VIP_RETURN code;
    do
        code = (recv ? vipl_real.VipRecvDone : vipl_real.VipSendDone)(vi, d);
    while (has(code, d) && is_copy(*d));
    if (has(code, d))
        bring(recv, vi, *d, &code);
    return code;
}

static VIP_RETURN waited(bool recv, VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **d)
{
    VIP_RETURN code;
    do
        code = (recv ? vipl_real.VipRecvWait : vipl_real.VipSendWait)(vi, timeout, d);
    while (has(code, d) && is_copy(*d));
    if (has(code, d))
        bring(recv, vi, *d, &code);
    return code;
}

DONE_OF_BOTH(send_done, recv_done, done)

static VIP_RETURN send_wait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **d)
{
    return waited(false, vi, timeout, d);
}

static VIP_RETURN recv_wait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **d)
{
    return waited(true, vi, timeout, d);
}

static void on_descriptor(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
    struct handler *h = context;
    VIP_RETURN code = VIP_SUCCESS;
    if (d != NULL)
        bring(h->recv, vi, d, &code);
    int times = vipl_twist->notify != NULL ? vipl_twist->notify(&d) : 1;
    for (int i = 0; i < times; i++)
        h->on_descriptor(h->context, nic, vi, d);
    free(h);
}

static VIP_RETURN notify(bool recv, VIP_VI_HANDLE vi, VIP_PVOID context,
                         void (*handler)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_DESCRIPTOR *))
{
    VIP_RETURN(*call)
    (VIP_VI_HANDLE, VIP_PVOID, void (*)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_DESCRIPTOR *)) =
        recv ? vipl_real.VipRecvNotify : vipl_real.VipSendNotify;
    struct handler *h = handler != NULL ? calloc(1, sizeof *h) : NULL;
    if (h == NULL)
        return call(vi, context, handler);
    *h = (struct handler){.context = context, .recv = recv, .on_descriptor = handler};
    return call(vi, h, on_descriptor); /* the provider calls it within, too: what it refuses is lost */
}

static VIP_RETURN send_notify(VIP_VI_HANDLE vi, VIP_PVOID context,
                              void (*handler)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_DESCRIPTOR *))
{
    return notify(false, vi, context, handler);
}

static VIP_RETURN recv_notify(VIP_VI_HANDLE vi, VIP_PVOID context,
                              void (*handler)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_DESCRIPTOR *))
{
    return notify(true, vi, context, handler);
}

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    const struct handler *h =
        context; /* errors that are under way may still come after another handler's: it stays */
    if (vipl_twist->error == NULL || vipl_twist->error(error))
        h->on_error(h->context, error);
}

static VIP_RETURN error_callback(VIP_NIC_HANDLE nic, VIP_PVOID context,
                                 void (*handler)(VIP_PVOID, VIP_ERROR_DESCRIPTOR *))
{
    struct handler *h = handler != NULL ? calloc(1, sizeof *h) : NULL;
    if (h == NULL)
        return vipl_real.VipErrorCallback(nic, context, handler);
    *h = (struct handler){.context = context, .on_error = handler};
    return vipl_real.VipErrorCallback(nic, h, on_error);
}

const struct vipl_calls vipl_twist_base = {
    .VipCreateVi = create_vi,
    .VipDestroyVi = destroy_vi,
    .VipSetViAttributes = set_vi,
    .VipPostSend = post_send,
    .VipPostRecv = post_recv,
    .VipSendDone = send_done,
    .VipRecvDone = recv_done,
    .VipSendWait = send_wait,
    .VipRecvWait = recv_wait,
    .VipSendNotify = send_notify,
    .VipRecvNotify = recv_notify,
    .VipErrorCallback = error_callback,
};
