/* Requests of wire "api": who runs them, in which thread, and how a reset ends them. */
#include "api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOMENT_NS = 5 * 1000 * 1000 };

struct api_method {
    const char *name;
    api_function *call;
    bool blocks;
};

static const struct api_method methods[] = {{"VipOpenNic", api_open_nic, false},
                                            {"VipCloseNic", api_close_nic, true},
                                            {"VipQueryNic", api_query_nic, false},
                                            {"VipErrorCallback", api_error_callback, false},
                                            {"VipCreatePtag", api_create_ptag, false},
                                            {"VipDestroyPtag", api_destroy_ptag, false},
                                            {"VipCreateVi", api_create_vi, false},
                                            {"VipDestroyVi", api_destroy_vi, false},
                                            {"VipQueryVi", api_query_vi, false},
                                            {"VipSetViAttributes", api_set_vi, false},
                                            {"VipConnectWait", api_connect_wait, true},
                                            {"VipConnectAccept", api_connect_accept, true},
                                            {"VipConnectReject", api_connect_reject, false},
                                            {"VipConnectRequest", api_connect_request, true},
                                            {"VipConnectPeerRequest", api_peer_request, false},
                                            {"VipConnectPeerDone", api_peer_done, false},
                                            {"VipConnectPeerWait", api_peer_wait, true},
                                            {"VipDisconnect", api_disconnect, true},
                                            {"VipRegisterMem", api_register_mem, false},
                                            {"VipDeregisterMem", api_deregister_mem, false},
                                            {"VipQueryMem", api_query_mem, false},
                                            {"VipSetMemAttributes", api_set_mem, false},
                                            {"VipCreateCQ", api_create_cq, false},
                                            {"VipDestroyCQ", api_destroy_cq, false},
                                            {"VipResizeCQ", api_resize_cq, false},
                                            {"VipCQDone", api_cq_done, false},
                                            {"VipCQWait", api_cq_wait, true},
                                            {"VipCQNotify", api_cq_notify, false},
                                            {"VipPostSend", api_post_send, false},
                                            {"VipPostRecv", api_post_recv, false},
                                            {"VipPostSendRaw", api_post_send_raw, false},
                                            {"VipPostRecvRaw", api_post_recv_raw, false},
                                            {"VipSendDone", api_send_done, false},
                                            {"VipRecvDone", api_recv_done, false},
                                            {"VipSendWait", api_send_wait, true},
                                            {"VipRecvWait", api_recv_wait, true},
                                            {"VipSendNotify", api_send_notify, false},
                                            {"VipRecvNotify", api_recv_notify, false},
                                            {"VipNSInit", api_ns_init, false},
                                            {"VipNSGetHostByName", api_ns_by_name, false},
                                            {"VipNSGetHostByAddr", api_ns_by_addr, false},
                                            {"VipNSShutdown", api_ns_shutdown, false},
                                            {"VipQuerySystemManagementInfo", api_query_smi, false},
                                            {"mem.read", api_mem_read, false},
                                            {"mem.write", api_mem_write, false},
                                            {"mem.pattern", api_mem_pattern, false},
                                            {"mem.poll", api_mem_poll, true},
                                            {"layout", api_layout, false},
                                            {"agent.state", api_state, false},
                                            {"agent.devices", api_devices, false},
                                            {"inject", api_inject, false}};

/* A request on its way. */
struct open_call {
    struct open_call *next, *next_in_lane;
    struct api *api;
    const struct api_method *method;
    json_t *id, *params;
    bool answered;
    uint64_t number;
};

struct api_lane {
    struct api *api;
    struct open_call *first;
    bool closing;
};

/* ---- threads and time ---- */

static atomic_int threads_seen;
static _Thread_local int own_number;
static _Thread_local const char *within;
static _Thread_local uint64_t inside_ns, returned_ns;

int api_thread(void)
{
    if (own_number == 0)
        own_number = atomic_fetch_add(&threads_seen, 1) + 1;
    return own_number;
}

const char *api_within(void)
{
    return within;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t api_now_us(const struct api *api)
{
    return (now_ns() - api->since_ns) / 1000;
}

const char *api_enter(const char *call)
{
    const char *before = within;
    within = call;
    inside_ns = now_ns();
    return before;
}

void api_leave(const char *before)
{
    within = before;
    returned_ns = now_ns();
    inside_ns = returned_ns - inside_ns;
}

/* ---- requests ---- */

/* A call that the vendor's vipl.h does not have is a method that the agent does not have. */
static bool is_missing(const char *name)
{
    const char *at = strstr(VIPL_MISSING_CALLS, name);
    return at != NULL && at[strlen(name)] == ' ';
}

static const struct api_method *find(const char *name)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, name) == 0)
            return is_missing(name) ? NULL : &methods[i];
    return NULL;
}

/* Make the call. NULL with p->why when its parameters are wrong. */
static json_t *perform(struct api *api, const struct api_method *m, struct params *p)
{
    returned_ns = 0;
    json_t *result = m->call(api, p);
    if (p->why[0] != '\0') {
        json_decref(result);
        return NULL;
    }
    if (result != NULL && returned_ns != 0) {
        json_object_set_new(result, "thread", json_integer(api_thread()));
        json_object_set_new(result, "us", json_integer((json_int_t)(inside_ns / 1000)));
        json_object_set_new(result, "at_us",
                            json_integer((json_int_t)((returned_ns - api->since_ns) / 1000)));
    }
    return result;
}

static void answer(struct agent *a, const json_t *id, json_t *result, const struct params *p)
{
    if (result != NULL)
        agent_answer(a, id, result);
    else
        agent_refuse(a, id, p->room ? LINE_ROOM : LINE_PARAMS, p->why[0] != '\0' ? p->why : "no memory");
}

static void let_go(struct open_call *c)
{
    json_decref(c->id);
    json_decref(c->params);
    free(c);
}

/* Answered unless a reset has done that already; called without the lock. */
static void conclude(struct open_call *c, json_t *result, const struct params *p)
{
    struct api *api = c->api;
    pthread_mutex_lock(&api->lock);
    struct open_call **place = &api->open;
    while (*place != NULL && *place != c)
        place = &(*place)->next;
    if (*place == c)
        *place = c->next;
    bool late = c->answered || api->closing;
    if (late && !c->answered)
        agent_refuse(api->a, c->id, LINE_RESET, "reset");
    pthread_mutex_unlock(&api->lock);
    if (late)
        json_decref(result);
    else
        answer(api->a, c->id, result, p);
    let_go(c);
}

static void leave(struct api *api)
{
    pthread_mutex_lock(&api->lock);
    api->busy--;
    pthread_cond_broadcast(&api->changed);
    pthread_mutex_unlock(&api->lock);
}

/* The newest call of a thread of its own that waits inside the provider, or has returned. */
static void passed(struct api *api, uint64_t number)
{
    pthread_mutex_lock(&api->lock);
    if (api->passed < number)
        api->passed = number;
    pthread_cond_broadcast(&api->changed);
    pthread_mutex_unlock(&api->lock);
}

static _Thread_local struct open_call *alone;

void api_waits(void)
{
    if (alone != NULL)
        passed(alone->api, alone->number);
}

static void run(struct open_call *c)
{
    struct params p = {.object = c->params};
    json_t *result = perform(c->api, c->method, &p);
    conclude(c, result, &p);
}

static void *run_alone(void *context)
{
    struct open_call *c = context;
    struct api *api = c->api;
    uint64_t number = c->number;
    alone = c;
    run(c);
    alone = NULL;
    passed(api, number);
    leave(api);
    return NULL;
}

static void *run_lane(void *context)
{
    struct api_lane *lane = context;
    struct api *api = lane->api;
    pthread_mutex_lock(&api->lock);
    for (;;) {
        while (lane->first == NULL && !api->closing)
            pthread_cond_wait(&api->changed, &api->lock);
        struct open_call *c = lane->first;
        if (c == NULL)
            break;
        lane->first = c->next_in_lane;
        pthread_mutex_unlock(&api->lock);
        if (api->closing)
            conclude(c, NULL, &(struct params){0});
        else
            run(c);
        pthread_mutex_lock(&api->lock);
    }
    free(lane);
    pthread_mutex_unlock(&api->lock);
    leave(api);
    return NULL;
}

static bool spawn(struct api *api, void *(*body)(void *), void *context)
{
    pthread_t thread;
    api->busy++;
    if (pthread_create(&thread, NULL, body, context) != 0) {
        api->busy--;
        return false;
    }
    pthread_detach(thread);
    return true;
}

/* With the lock held. */
static bool into_lane(struct api *api, size_t number, struct open_call *c)
{
    struct api_lane *lane = api->lanes[number];
    if (lane == NULL) {
        lane = calloc(1, sizeof *lane);
        if (lane == NULL)
            return false;
        lane->api = api;
        if (!spawn(api, run_lane, lane)) {
            free(lane);
            return false;
        }
        api->lanes[number] = lane;
    }
    struct open_call **last = &lane->first;
    while (*last != NULL)
        last = &(*last)->next_in_lane;
    *last = c;
    pthread_cond_broadcast(&api->changed);
    return true;
}

static struct open_call *opened(struct api *api, const json_t *id, const struct api_method *m,
                                const json_t *params)
{
    struct open_call *c = calloc(1, sizeof *c);
    if (c != NULL)
        *c = (struct open_call){
            .api = api, .method = m, .id = json_deep_copy(id), .params = json_deep_copy(params)};
    return c;
}

/* A client that starts a call which waits, and then another, means them in this order: it has begun, or the
 * moment is over that it takes to begin. With the lock held. */
static void await_begun(struct api *api, uint64_t number)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    moment.tv_nsec += MOMENT_NS;
    moment.tv_sec += moment.tv_nsec / 1000000000;
    moment.tv_nsec %= 1000000000;
    while (api->passed < number)
        if (pthread_cond_timedwait(&api->changed, &api->lock, &moment) != 0)
            break;
}

static void later(struct api *api, const json_t *id, const struct api_method *m, struct params *p, long lane)
{
    struct open_call *c = opened(api, id, m, p->object);
    bool good = c != NULL;
    pthread_mutex_lock(&api->lock);
    if (good) {
        uint64_t number = c->number = ++api->begun;
        c->next = api->open;
        api->open = c;
        good = lane >= 0 ? into_lane(api, (size_t)lane, c) : spawn(api, run_alone, c);
        if (!good)
            api->open = c->next;
        else if (lane < 0)
            await_begun(api, number);
    }
    pthread_mutex_unlock(&api->lock);
    if (!good) {
        agent_refuse(api->a, id, LINE_ROOM, "the agent itself has no room for another thread");
        if (c != NULL)
            let_go(c);
    }
}

bool api_request(struct agent *a, const json_t *id, const char *method, struct params *p)
{
    const struct api_method *m = find(method);
    struct api *api = a->api;
    if (m == NULL)
        return false;
    uint64_t lane = params_number(p, "thread", API_LANES - 1, true, API_LANES);
    if (p->why[0] != '\0') {
        agent_refuse(a, id, LINE_PARAMS, p->why);
        p->why[0] = '\0';
        return true;
    }
    if (!a->synchronous && (lane < API_LANES || m->blocks)) {
        later(api, id, m, p, lane < API_LANES ? (long)lane : -1);
        return true;
    }
    json_t *result = perform(api, m, p);
    answer(a, id, result, p);
    p->why[0] = '\0';
    return true;
}

bool api_has(const char *method)
{
    return find(method) != NULL;
}

void api_then(struct api *api, const json_t *then, json_t *into)
{
    const char *name = json_string_value(json_object_get(then, "method"));
    const struct api_method *m = name != NULL ? find(name) : NULL;
    struct params p = {.object = json_object_get(then, "params")};
    uint64_t inside = inside_ns, returned = returned_ns;
    json_t *result = m != NULL ? perform(api, m, &p) : NULL;
    inside_ns = inside;
    returned_ns = returned;
    if (result != NULL)
        json_object_set_new(into, "result", result);
    else
        json_object_set_new(into, "error",
                            json_pack("{s:i, s:s}", "code", m == NULL ? LINE_METHOD : LINE_PARAMS, "message",
                                      m == NULL ? "no such method" : p.why));
}

/* ---- from reset to reset ---- */

bool api_start(struct agent *a, const json_t *config, const char **why)
{
    struct api *api = calloc(1, sizeof *api);
    pthread_condattr_t monotonic;
    if (api == NULL || !provider_start_calls(a->devices, a->device_count, config, why)) {
        free(api);
        return false;
    }
    api->a = a;
    api->since_ns = now_ns();
    pthread_mutex_init(&api->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&api->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    a->api = api;
    a->started = true;
    return true;
}

static void *close_all(void *context)
{
    struct api *api = context;
    for (size_t i = 0;; i++) {
        pthread_mutex_lock(&api->lock);
        bool there = i < api->things[KIND_NIC].count, open = there && api->things[KIND_NIC].at[i].open;
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): VIPL handles are pointers */
        void *handle = there ? (void *)api->things[KIND_NIC].at[i].value : NULL;
        pthread_mutex_unlock(&api->lock);
        if (!there)
            break;
        if (open)
            (void)VipCloseNic(handle);
    }
    leave(api);
    return NULL;
}

static bool await_end(struct api *api)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += API_LONGEST_CLOSE_S;
    while (api->busy > 0)
        if (pthread_cond_timedwait(&api->changed, &api->lock, &until) == ETIMEDOUT)
            return api->busy == 0;
    return true;
}

bool api_stop(struct agent *a)
{
    struct api *api = a->api;
    if (api == NULL)
        return !a->caught;
    pthread_mutex_lock(&api->lock);
    api->closing = true;
    pthread_cond_broadcast(&api->changed);
    pthread_mutex_unlock(&api->lock);
    provider_cut();
    pthread_mutex_lock(&api->lock);
    bool closer = spawn(api, close_all, api);
    bool ended = await_end(api) && closer;
    for (struct open_call *c = api->open; c != NULL; c = c->next)
        if (!c->answered) {
            agent_refuse(a, c->id, LINE_RESET, "reset; the call has not returned");
            c->answered = true;
        }
    pthread_mutex_unlock(&api->lock);
    a->api = NULL;
    a->started = false;
    if (!ended) { /* somebody is inside: what it uses stays */
        a->caught = true;
        return false;
    }
    provider_stop();
    api_free_handlers(api);
    api_free_work(api);
    api_free_things(api);
    pthread_cond_destroy(&api->changed);
    pthread_mutex_destroy(&api->lock);
    free(api);
    return true;
}
