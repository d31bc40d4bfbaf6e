/* The numbers that the agent gave, and what stands behind them. */
#include "agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const kind_names[KINDS] = {"rnic", "pd", "handler", "cq",       "qp",      "srq",
                                       "mr",   "mw", "mem",     "listener", "request", "loop"};

void verbs_wake(struct verbs *v)
{
    const uint64_t one = 1;
    if (v->wake >= 0)
        (void)!write(v->wake, &one, sizeof one);
}

/* Under the lock. */
static struct thing *known(struct verbs *v, struct params *p, const char *name, enum kind kind)
{
    uint64_t number = params_number(p, name, VERBS_NUMBERS, false, 0);
    struct thing *t = p->why[0] == '\0' && number < v->count ? v->things[number] : NULL;
    if (p->why[0] == '\0' && (t == NULL || t->kind != kind || t->going)) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "the number of a %s that is there", kind_names[kind]);
        params_wrong(p, name, wanted);
        return NULL;
    }
    return p->why[0] == '\0' ? t : NULL;
}

struct thing *things_take(struct verbs *v, struct params *p, const char *name, enum kind kind)
{
    pthread_mutex_lock(&v->lock);
    struct thing *t = known(v, p, name, kind);
    if (t != NULL)
        t->users++;
    pthread_mutex_unlock(&v->lock);
    return t;
}

struct thing *things_take_or_none(struct verbs *v, struct params *p, const char *name, enum kind kind)
{
    return params_has(p, name) ? things_take(v, p, name, kind) : NULL;
}

void things_drop(struct verbs *v, struct thing *t)
{
    if (t == NULL)
        return;
    pthread_mutex_lock(&v->lock);
    if (--t->users == 0)
        pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
}

struct thing *things_take_out(struct verbs *v, struct params *p, const char *name, enum kind kind)
{
    pthread_mutex_lock(&v->lock);
    struct thing *t = known(v, p, name, kind);
    if (t != NULL) {
        t->going = true; /* whoever waits with it gives up, and nobody else takes it */
        verbs_wake(v);
        const uint64_t until = verbs_now_us() + VERBS_CLEAN_MS * 1000ull;
        const struct timespec end = {(time_t)(until / 1000000), (long)(until % 1000000) * 1000};
        pthread_cond_broadcast(&v->changed);
        while (t->users > 0 && pthread_cond_timedwait(&v->changed, &v->lock, &end) != ETIMEDOUT)
            ;
        if (t->users > 0) {
            t->going = false;
            t = NULL;
            params_cannot(p, "the object is in use: a call with it has not returned");
        }
    }
    pthread_mutex_unlock(&v->lock);
    return t;
}

void things_forget(struct verbs *v, struct thing *t)
{
    pthread_mutex_lock(&v->lock);
    v->things[t->number] = NULL;
    pthread_mutex_unlock(&v->lock);
    free(t);
}

void things_put_out(struct verbs *v, struct thing *t, bool destroyed)
{
    if (destroyed) {
        things_forget(v, t);
        return;
    }
    pthread_mutex_lock(&v->lock);
    t->going = false;
    pthread_mutex_unlock(&v->lock);
}

/* A place for one more. Under the lock. */
static bool place(struct verbs *v)
{
    if (v->count < v->room)
        return true;
    size_t room = v->room == 0 ? 256 : 2 * v->room;
    struct thing **things =
        v->count < VERBS_NUMBERS ? realloc(v->things, room * sizeof(struct thing *)) : NULL;
    if (things == NULL)
        return false;
    v->things = things;
    v->room = room;
    return true;
}

struct thing *things_new(struct verbs *v, struct params *p, enum kind kind)
{
    struct thing *t = calloc(1, sizeof *t);
    pthread_mutex_lock(&v->lock);
    if (t == NULL || !place(v)) {
        params_no_room(p, "numbers");
        free(t);
        t = NULL;
    } else {
        t->kind = kind;
        t->going = true;
        t->number = v->count;
        v->things[v->count++] = t;
    }
    pthread_mutex_unlock(&v->lock);
    return t;
}

json_t *things_publish(struct verbs *v, struct thing *t, void *native)
{
    pthread_mutex_lock(&v->lock);
    t->any = native;
    t->going = false;
    pthread_mutex_unlock(&v->lock);
    return json_integer((json_int_t)t->number);
}

struct thing *things_next(struct verbs *v, enum kind kind, size_t *from)
{
    while (*from < v->count) {
        struct thing *t = v->things[(*from)++];
        if (t != NULL && t->kind == kind)
            return t;
    }
    return NULL;
}

json_t *things_number(struct verbs *v, enum kind kind, const void *native)
{
    json_t *number = NULL;
    pthread_mutex_lock(&v->lock);
    for (size_t at = 0; native != NULL && number == NULL;) {
        const struct thing *t = things_next(v, kind, &at);
        if (t == NULL)
            break;
        if (t->any == native)
            number = json_integer((json_int_t)t->number);
    }
    pthread_mutex_unlock(&v->lock);
    return number != NULL ? number : json_null();
}

json_t *things_number_of_qp(struct verbs *v, const struct ibv_context *context, uint32_t qp_num)
{
    json_t *number = NULL;
    pthread_mutex_lock(&v->lock);
    for (size_t at = 0; number == NULL;) {
        const struct thing *t = things_next(v, KIND_QP, &at);
        if (t == NULL)
            break;
        if (t->qp != NULL && t->qp->context == context && t->qp->qp_num == qp_num)
            number = json_integer((json_int_t)t->number);
    }
    pthread_mutex_unlock(&v->lock);
    return number != NULL ? number : json_null();
}

void things_post_bind(struct verbs *v, const struct ibv_send_wr *wr)
{
    pthread_mutex_lock(&v->lock);
    for (size_t at = 0; wr->opcode == IBV_WR_BIND_MW;) {
        struct thing *t = things_next(v, KIND_MW, &at);
        if (t == NULL)
            break;
        if (t->mw == wr->bind_mw.mw) {
            t->bind = wr->wr_id;
            t->bind_rkey = wr->bind_mw.rkey;
            break;
        }
    }
    pthread_mutex_unlock(&v->lock);
}

void things_end_bind(struct verbs *v, uint64_t wr_id)
{
    pthread_mutex_lock(&v->lock);
    for (size_t at = 0;;) {
        struct thing *t = things_next(v, KIND_MW, &at);
        if (t == NULL)
            break;
        if (t->mw != NULL && t->bind_rkey != 0 && t->bind == wr_id) {
            t->mw->rkey = t->bind_rkey;
            t->bind_rkey = 0;
            break;
        }
    }
    pthread_mutex_unlock(&v->lock);
}
