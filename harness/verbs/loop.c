/* agent.loop: a thread that posts one WR, waits for its WC, and begins again. */
#include "agent.h"
#include "words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct loop {
    struct verbs *v;
    pthread_t thread;
    struct thing *qp, *cq;
    struct send_list work;
    uint64_t times, timeout_us;
    atomic_bool stop;
    uint64_t done;
    bool failed;
    uint32_t status;
    int error;
};

static bool goes_on(const struct loop *l)
{
    return !l->stop && !l->v->calls.ending && !l->qp->going && !l->cq->going;
}

/* False: none came in time, or it is no success. */
static bool completes(struct loop *l)
{
    const struct timespec nap = {.tv_nsec = 20000};
    const uint64_t until = verbs_now_us() + l->timeout_us;
    struct ibv_wc wc;
    while (goes_on(l)) {
        memset(&wc, 0xa5, sizeof wc);
        int got = l->v->layer->poll_cq(l->cq->cq, 1, &wc);
        if (got == 1 && wc.status == IBV_WC_SUCCESS)
            return true;
        if (got == 1) {
            l->failed = true;
            l->status = (uint32_t)wc.status;
        }
        if (got != 0 || verbs_now_us() >= until)
            return false;
        nanosleep(&nap, NULL);
    }
    return false;
}

static void *run(void *context)
{
    struct loop *l = context;
    while (goes_on(l) && (l->times == 0 || l->done < l->times)) {
        struct ibv_send_wr *bad = NULL;
        errno = 0;
        int returned = l->v->layer->post_send(l->qp->qp, l->work.wrs, &bad);
        if (returned != 0) {
            l->error = returned == -1 && errno > 0 ? errno : returned > 0 ? returned : -returned;
            break;
        }
        if (!completes(l))
            break;
        l->done++;
    }
    return NULL;
}

static void release(struct verbs *v, struct loop *l)
{
    work_free_sends(v, &l->work);
    things_drop(v, l->cq);
    things_drop(v, l->qp);
    free(l);
}

json_t *verb_loop(struct verbs *v, struct params *p)
{
    const uint64_t patience = 5 * 1000000ull;
    struct outcome o;
    struct loop *l = calloc(1, sizeof *l);
    if (l == NULL) {
        params_no_room(p, "loops");
        return NULL;
    }
    l->v = v;
    l->times = params_number(p, "times", (1ull << 53) - 1, true, 0);
    l->timeout_us = params_timeout(p, patience);
    l->qp = things_take(v, p, "qp", KIND_QP);
    l->cq = things_take(v, p, "cq", KIND_CQ);
    json_t *wrs = json_pack("[O?]", json_object_get(p->object, "wr"));
    bool good = p->why[0] == '\0' && work_sends(v, p, wrs, &l->work);
    json_decref(wrs);
    if (good && l->work.count != 1)
        params_wrong(p, "times of the WR", "1");
    struct thing *t = p->why[0] == '\0' ? things_new(v, p, KIND_LOOP) : NULL;
    outcome_begin(&o);
    if (t != NULL && pthread_create(&l->thread, NULL, run, l) != 0) {
        things_forget(v, t);
        params_no_room(p, "threads");
        t = NULL;
    }
    if (t == NULL) {
        release(v, l);
        return NULL;
    }
    outcome_int(&o, 0);
    json_t *result = outcome_json(&o);
    json_object_set_new(result, "loop", things_publish(v, t, l));
    return result;
}

void loop_end(struct verbs *v, struct loop *l)
{
    l->stop = true;
    pthread_join(l->thread, NULL);
    release(v, l);
}

json_t *verb_stop(struct verbs *v, struct params *p)
{
    struct outcome o;
    struct thing *t = things_take_out(v, p, "loop", KIND_LOOP);
    if (t == NULL)
        return NULL;
    struct loop *l = t->loop;
    outcome_begin(&o);
    l->stop = true;
    pthread_join(l->thread, NULL);
    outcome_int(&o, 0);
    json_t *result = outcome_json(&o);
    json_object_set_new(result, "done", json_integer((json_int_t)l->done));
    json_object_set_new(result, "status", l->failed ? words_name(words_wc_status, l->status) : json_null());
    json_object_set_new(result, "errno", json_integer(l->error));
    release(v, l);
    things_put_out(v, t, true);
    return result;
}
