/* See calls.h. */
#include "calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char ended_it[] = "the reset ended it";

/* A request on its way. */
struct open_call {
    struct open_call *next, *next_in_thread;
    struct calls *calls;
    const void *method;
    json_t *id, *params;
    bool answered;
    uint64_t number;
};

struct numbered_thread {
    struct calls *calls;
    struct open_call *first;
};

void calls_begin(struct calls *c)
{
    pthread_condattr_t monotonic; /* somebody may set the other clock */
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    memset(c->thread, 0, sizeof c->thread);
    c->ending = false;
}

void calls_free(struct calls *c)
{
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
}

static struct timespec in_ns(uint64_t ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    ns += (uint64_t)t.tv_nsec;
    return (struct timespec){t.tv_sec + (time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

void calls_answer(struct calls *c, const json_t *id, json_t *result, const struct params *p)
{
    if (p->why[0] == '\0' && result != NULL) {
        client_answer(c->client, id, result);
        return;
    }
    json_decref(result);
    client_refuse(c->client, id, p->why[0] == '\0' || p->room ? LINE_ROOM : LINE_PARAMS,
                  p->why[0] != '\0' ? p->why : "the agent itself has no memory");
}

/* ---- one call ---- */

static void let_go(struct open_call *call)
{
    json_decref(call->id);
    json_decref(call->params);
    free(call);
}

/* Answered unless a reset has done that already. */
static void conclude(struct open_call *call, json_t *result, const struct params *p)
{
    struct calls *c = call->calls;
    pthread_mutex_lock(&c->lock);
    struct open_call **place = &c->open;
    while (*place != call)
        place = &(*place)->next;
    *place = call->next;
    c->open_count--;
    bool late = call->answered || c->ending;
    if (late && !call->answered)
        client_refuse(c->client, call->id, LINE_RESET, ended_it);
    pthread_mutex_unlock(&c->lock);
    if (late)
        json_decref(result);
    else
        calls_answer(c, call->id, result, p);
    let_go(call);
}

static void carry_out(struct open_call *call)
{
    struct params p = {.object = call->params};
    json_t *result =
        call->calls->ending ? NULL : call->calls->perform(call->calls->context, call->method, &p);
    conclude(call, result, &p);
}

/* ---- threads ---- */

bool calls_spawn(struct calls *c, void *(*body)(void *), void *context)
{
    pthread_t thread;
    pthread_mutex_lock(&c->lock);
    c->busy++;
    pthread_mutex_unlock(&c->lock);
    if (pthread_create(&thread, NULL, body, context) != 0) {
        calls_left(c);
        return false;
    }
    pthread_detach(thread);
    return true;
}

void calls_left(struct calls *c)
{
    pthread_mutex_lock(&c->lock);
    c->busy--;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void passed(struct calls *c, uint64_t number)
{
    pthread_mutex_lock(&c->lock);
    if (c->passed < number)
        c->passed = number;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static _Thread_local struct open_call *alone;

void calls_wait_begins(void)
{
    if (alone != NULL)
        passed(alone->calls, alone->number);
}

static void *run_alone(void *context)
{
    struct open_call *call = context;
    struct calls *c = call->calls;
    uint64_t number = call->number;
    alone = call;
    carry_out(call);
    alone = NULL;
    passed(c, number);
    calls_left(c);
    return NULL;
}

/* One call after another, until the next reset. */
static void *run_numbered(void *context)
{
    struct numbered_thread *thread = context;
    struct calls *c = thread->calls;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (thread->first == NULL && !c->ending)
            pthread_cond_wait(&c->changed, &c->lock);
        struct open_call *call = thread->first;
        if (call == NULL)
            break;
        thread->first = call->next_in_thread;
        pthread_mutex_unlock(&c->lock);
        carry_out(call);
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    free(thread);
    calls_left(c);
    return NULL;
}

static bool into_thread(struct calls *c, size_t number, struct open_call *call)
{
    if (c->thread[number] == NULL) {
        struct numbered_thread *thread = calloc(1, sizeof *thread);
        if (thread == NULL)
            return false;
        thread->calls = c;
        if (!calls_spawn(c, run_numbered, thread)) {
            free(thread);
            return false;
        }
        c->thread[number] = thread;
    }
    pthread_mutex_lock(&c->lock);
    struct open_call **last = &c->thread[number]->first;
    while (*last != NULL)
        last = &(*last)->next_in_thread;
    *last = call;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return true;
}

/* A client that starts a call which waits, and then another, means them in this order: it has begun, or the
 * moment is over that it takes to begin. */
static void await_begun(struct calls *c, uint64_t number)
{
    if (c->moment_ns == 0)
        return;
    const struct timespec moment = in_ns((uint64_t)c->moment_ns);
    pthread_mutex_lock(&c->lock);
    while (c->passed < number)
        if (pthread_cond_timedwait(&c->changed, &c->lock, &moment) != 0)
            break;
    pthread_mutex_unlock(&c->lock);
}

/* False: there is no room. Only the thread that reads puts in, so the newest stays the first until it is. */
static bool open_one(struct calls *c, struct open_call *call)
{
    pthread_mutex_lock(&c->lock);
    bool room = call != NULL && c->open_count < c->most;
    if (room) {
        call->next = c->open;
        c->open = call;
        c->open_count++;
    }
    pthread_mutex_unlock(&c->lock);
    return room;
}

static void take_back(struct calls *c, struct open_call *call)
{
    pthread_mutex_lock(&c->lock);
    struct open_call **place = &c->open;
    while (*place != call)
        place = &(*place)->next;
    *place = call->next;
    c->open_count--;
    pthread_mutex_unlock(&c->lock);
}

static void later(struct calls *c, const json_t *id, const void *method, const struct params *p,
                  size_t number)
{
    struct open_call *call = calloc(1, sizeof *call);
    const bool own = number >= c->numbered;
    if (call != NULL)
        *call = (struct open_call){.calls = c,
                                   .method = method,
                                   .id = json_deep_copy(id),
                                   .params = json_deep_copy(p->object),
                                   .number = own ? ++c->begun : 0};
    bool good = open_one(c, call);
    const uint64_t begun = c->begun;
    if (good && !(own ? calls_spawn(c, run_alone, call) : into_thread(c, number, call))) {
        take_back(c, call);
        good = false;
    }
    if (good && own)
        await_begun(c, begun);
    if (!good) {
        client_refuse(c->client, id, LINE_ROOM,
                      "the agent itself has no room for more calls that have not returned");
        if (call != NULL)
            let_go(call);
    }
}

void calls_request(struct calls *c, const json_t *id, const void *method, struct params *p, bool waits)
{
    const size_t number =
        c->numbered > 0 ? (size_t)params_number(p, "thread", c->numbered - 1, true, c->numbered) : 0;
    if (p->why[0] != '\0')
        calls_answer(c, id, NULL, p);
    else if (waits || number < c->numbered)
        later(c, id, method, p, number);
    else
        calls_answer(c, id, c->perform(c->context, method, p), p);
}

/* ---- the end ---- */

void calls_stop(struct calls *c)
{
    pthread_mutex_lock(&c->lock);
    c->ending = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

bool calls_ended(struct calls *c, unsigned ms)
{
    const struct timespec until = in_ns(ms * 1000000ull);
    pthread_mutex_lock(&c->lock);
    while (c->busy > 0 && pthread_cond_timedwait(&c->changed, &c->lock, &until) != ETIMEDOUT)
        ;
    for (struct open_call *call = c->open; call != NULL; call = call->next) {
        if (!call->answered)
            client_refuse(c->client, call->id, LINE_RESET, ended_it);
        call->answered = true;
    }
    bool ended = c->busy == 0;
    pthread_mutex_unlock(&c->lock);
    return ended;
}
