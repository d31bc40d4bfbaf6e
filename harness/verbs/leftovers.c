/* What a reset finds open: destroyed in an order that works, in a thread of its own, so that a call that
 * never returns leaves the agent alive. */
#include "agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { AGAIN_US = 20 * 1000 };

/* An object is destroyed before those that it was made of: a QP before its CQs, a region before its PD.
 * Windows go before QPs: a provider may refuse to destroy a QP while a window is bound through it (6.1.4),
 * and rxe does not return from the call before the window is gone. */
static const enum kind order[] = {KIND_LOOP, KIND_REQUEST, KIND_MW,      KIND_QP, KIND_LISTENER, KIND_MR,
                                  KIND_SRQ,  KIND_CQ,      KIND_HANDLER, KIND_PD, KIND_RNIC,     KIND_MEM};

static bool destroy(struct verbs *v, struct thing *t)
{
    int returned = 0;
    switch (t->kind) {
    case KIND_LOOP:
        loop_end(v, t->loop);
        break;
    case KIND_REQUEST:
    case KIND_LISTENER:
        connection_end(v, t->connection);
        break;
    case KIND_QP:
        returned = ibv_destroy_qp(t->qp);
        if (returned == 0)
            connection_end(v, t->to);
        break;
    case KIND_MW:
        returned = ibv_dealloc_mw(t->mw);
        break;
    case KIND_MR:
        returned = ibv_dereg_mr(t->mr);
        break;
    case KIND_SRQ:
        returned = ibv_destroy_srq(t->srq);
        break;
    case KIND_CQ:
        returned = ibv_destroy_cq(t->cq);
        break;
    case KIND_HANDLER:
        returned = ibv_destroy_comp_channel(t->channel);
        break;
    case KIND_PD:
        returned = ibv_dealloc_pd(t->pd);
        break;
    case KIND_RNIC:
        returned = ibv_close_device(t->context);
        break;
    case KIND_MEM:
        munmap(t->pages, t->pages_length);
        break;
    case KINDS:
        break;
    }
    return returned == 0;
}

/* The next of a kind, when nobody uses it any more, taken out; NULL: none. */
static struct thing *next_free(struct verbs *v, enum kind kind, size_t *at)
{
    pthread_mutex_lock(&v->lock);
    struct thing *t = things_next(v, kind, at);
    if (t != NULL) {
        t->going = true;
        verbs_wake(v);
        while (t->users > 0) /* by the watcher alone: all calls have ended */
            pthread_cond_wait(&v->changed, &v->lock);
    }
    pthread_mutex_unlock(&v->lock);
    return t;
}

/* Tries to destroy each object of a kind once. Returns how many are left. */
static size_t pass(struct verbs *v, enum kind kind)
{
    size_t stay = 0, at = 0;
    for (struct thing *t = next_free(v, kind, &at); t != NULL; t = next_free(v, kind, &at)) {
        if (destroy(v, t))
            things_forget(v, t);
        else
            stay++;
    }
    return stay;
}

struct cleaning {
    struct verbs *v;
    bool ended;
    char left[64];
};

static void *clean(void *context)
{
    struct cleaning *c = context;
    struct verbs *v = c->v;
    const uint64_t until = verbs_now_us() + (VERBS_CLEAN_MS - 500) * 1000ull;
    char left[64] = "";
    for (;;) {
        size_t stay = 0;
        left[0] = '\0';
        for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
            size_t of_kind = pass(v, order[i]);
            if (of_kind > 0 && left[0] == '\0')
                snprintf(left, sizeof left, "%zu %s", of_kind, kind_names[order[i]]);
            stay += of_kind;
        }
        if (stay == 0 || verbs_now_us() >= until)
            break;
        usleep(AGAIN_US);
    }
    pthread_mutex_lock(&v->lock);
    memcpy(c->left, left, sizeof left);
    c->ended = true;
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
    return NULL;
}

const char *verbs_destroy_all(struct verbs *v)
{
    static const char caught[] = "a call of the provider's that destroys something has not returned";
    pthread_t thread;
    struct cleaning *c = v->cleaning;
    if (c == NULL) {
        c = calloc(1, sizeof *c);
        if (c == NULL)
            return "no room to destroy anything";
        c->v = v;
        v->cleaning = c;
        if (pthread_create(&thread, NULL, clean, c) != 0) {
            free(c);
            v->cleaning = NULL;
            return "no thread to destroy anything in";
        }
        pthread_detach(thread);
    }
    const uint64_t until = verbs_now_us() + VERBS_CLEAN_MS * 1000ull;
    const struct timespec end = {(time_t)(until / 1000000), (long)(until % 1000000) * 1000};
    pthread_mutex_lock(&v->lock);
    while (!c->ended && pthread_cond_timedwait(&v->changed, &v->lock, &end) != ETIMEDOUT)
        ;
    bool ended = c->ended;
    pthread_mutex_unlock(&v->lock);
    if (!ended)
        return caught;
    memcpy(v->left, c->left, sizeof v->left);
    free(c);
    v->cleaning = NULL;
    if (v->left[0] != '\0')
        return v->left;
    v->count = 1; /* numbers begin anew */
    v->memory = 0;
    v->hold_async = false;
    return NULL;
}
