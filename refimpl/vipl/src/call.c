/* The frame of every VIPL call: find what the handle names, hold the lock of its device, bring the port up to
 * date, and at the end run the handlers that have become due. And how a call blocks: the host's pump. */
#include "internal.h"

enum { REST_US = 1000000 };

/* True when the port had something to say. */
static bool update(struct device *d)
{
    fcvi_port_run(vipl_device_port(d), vipl_device_now(d));
    return vipl_drain(d);
}

/* The object of a handle, with its device locked until leave; NULL when there is none. */
void *vipl_enter(const void *handle, enum kind kind)
{
    struct device *d = vipl_registry_pin(handle, kind);
    if (d == NULL)
        return NULL;
    vipl_device_lock(d);
    void *object = vipl_registry_find(handle, kind, d); /* another thread may have ended it before the lock */
    if (object == NULL) {
        vipl_device_unlock(d);
        vipl_registry_unpin(d);
        return NULL;
    }
    (void)update(d);
    return object;
}

static VIP_RETURN leave(struct device *d, int vip, bool soon)
{
    (void)vipl_drain(d);
    if (d->ops.kick != NULL)
        d->ops.kick(d->context, soon);
    vipl_dispatch(d);
    vipl_device_unlock(d);
    vipl_registry_unpin(d);
    return vip <= VIP_NOT_REACHABLE ? (VIP_RETURN)vip : VIP_ERROR_RESOURCE; /* the port cannot do it */
}

VIP_RETURN vipl_leave(struct device *d, int vip)
{
    return leave(d, vip, false);
}

/* Of a call behind which another one comes at once: the program has a Descriptor that has completed, or has
 * posted a receive. */
VIP_RETURN vipl_leave_soon(struct device *d, int vip)
{
    return leave(d, vip, true);
}

/* Let the world go on until something happened, at most until the deadline. The lock may be released
 * meanwhile: the caller looks up again all that it needs. False: nothing can ever happen.
 *
 * The port decides some things only when it is asked for a frame, and then there may be none (a faulty
 * Descriptor completes): so the port is asked, and has its say, before the pump may wait. */
bool vipl_wait_step(struct device *d, uint64_t deadline)
{
    int dead = 0;
    d->settled = false;
    (void)d->ops.pump(d->context, 0);
    if (!update(d) && !d->settled) {
        uint64_t timer = fcvi_port_deadline(vipl_device_port(d)), until = timer < deadline ? timer : deadline;
        dead = d->ops.pump(d->context, until > 0 ? until : 1);
        (void)update(d);
    }
    vipl_dispatch(d);
    return dead == 0;
}

uint64_t vipl_microseconds(VIP_ULONG timeout)
{
    return timeout >= VIP_INFINITE ? FCVI_NEVER : (uint64_t)timeout * 1000;
}

/* The time of a call that waits on a queue begins, or goes on after a rest. */
void vipl_patience_begin(struct device *d, struct patience *p)
{
    const uint64_t now = vipl_device_now(d);
    if (!p->begun)
        p->until = p->timeout >= VIP_INFINITE ? FCVI_NEVER : now + vipl_microseconds(p->timeout);
    p->begun = true;
    p->rest = now + REST_US;
}

/* One step; false: no further one now. */
bool vipl_patience_step(struct device *d, struct patience *p)
{
    p->over = !vipl_wait_step(d, p->until) || vipl_device_now(d) >= p->until;
    return !p->over && vipl_device_now(d) < p->rest;
}

/* Such a call leaves the NIC each second, so that its thread can be cancelled: it cannot be while it is
 * inside (harness/host/host.c). False: the time is over. */
bool vipl_patience_rest(const struct patience *p)
{
    pthread_testcancel();
    return !p->over;
}

static void forget(struct device *d, const struct call *call)
{
    struct call **c = &d->calls;
    while (*c != call)
        c = &(*c)->next;
    *c = call->next;
}

struct stay {
    struct device *d;
    struct call *call;
    const struct undo *undo;
};

static void cancelled(void *context)
{
    const struct stay *s = context;
    vipl_device_lock(s->d);
    s->undo->end(s->undo->context, s->call);
    forget(s->d, s->call);
    (void)vipl_leave(s->d, VIP_SUCCESS);
}

/* As a call that waits on a queue, one that waits for others lets go of the NIC each second. It has still its
 * place there: nobody who asks meanwhile is told that nobody waits. */
static void rest(struct stay *s)
{
    pthread_cleanup_push(cancelled, s);
    vipl_device_unlock(s->d);
    pthread_testcancel();
    vipl_device_lock(s->d);
    pthread_cleanup_pop(0);
}

static int await(struct stay *s, int vip, const struct object *of, int when_dead)
{
    void *handle = of != NULL ? of->handle : NULL;
    enum kind kind = of != NULL ? of->kind : KIND_NONE;
    struct call *call = s->call;
    uint64_t rests = vipl_device_now(s->d) + REST_US;
    (void)vipl_drain(s->d);
    while (vip == FCVI_VIP_PENDING) {
        if (!call->done && !vipl_wait_step(s->d, s->undo != NULL ? rests : FCVI_NEVER) && !call->done)
            vip = when_dead;
        else if (call->done)
            vip = call->event.vip;
        if (vip == FCVI_VIP_PENDING && s->undo != NULL && vipl_device_now(s->d) >= rests) {
            rest(s);
            rests = vipl_device_now(s->d) + REST_US;
        }
        if (handle != NULL && vipl_registry_find(handle, kind, s->d) == NULL)
            vip = VIP_INVALID_PARAMETER;
    }
    forget(s->d, call);
    return vip;
}

/* vip: what the port's call returned. When that is FCVI_VIP_PENDING, wait for its event; when_dead when none
 * can ever come. `of`, if not NULL, is the object of the call: when its handle ends meanwhile, the call
 * returns VIP_INVALID_PARAMETER and must not touch the object again. */
int vipl_call_await(struct device *d, struct call *call, int vip, const struct object *of, int when_dead)
{
    struct stay s = {d, call, NULL};
    return await(&s, vip, of, when_dead);
}

/* The same, and the thread can be cancelled meanwhile. When nothing can ever come the time is over. */
int vipl_call_await_or_undo(struct device *d, struct call *call, int vip, const struct object *of,
                            const struct undo *undo)
{
    struct stay s = {d, call, undo};
    return await(&s, vip, of, VIP_TIMEOUT);
}
