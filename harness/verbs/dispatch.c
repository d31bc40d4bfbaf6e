/* Requests: which call each is, in which thread it is made, and how a reset ends it. */
#include "agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct method {
    const char *name;
    verbs_call *call;
    enum { AT_ONCE, WAITS, WAITS_WITH_TIMEOUT } kind;
};

static const struct method methods[] = {{"verbs.OpenRnic", verb_open_rnic, AT_ONCE},
                                        {"verbs.QueryRnic", verb_query_rnic, AT_ONCE},
                                        {"verbs.CloseRnic", verb_close_rnic, AT_ONCE},
                                        {"verbs.AllocatePd", verb_allocate_pd, AT_ONCE},
                                        {"verbs.DeallocatePd", verb_deallocate_pd, AT_ONCE},
                                        {"verbs.SetCompletionEventHandler", verb_set_handler, AT_ONCE},
                                        {"verbs.ClearCompletionEventHandler", verb_clear_handler, AT_ONCE},
                                        {"verbs.GetEvent", verb_get_event, WAITS_WITH_TIMEOUT},
                                        {"verbs.CreateCq", verb_create_cq, AT_ONCE},
                                        {"verbs.QueryCq", verb_query_cq, AT_ONCE},
                                        {"verbs.ResizeCq", verb_resize_cq, AT_ONCE},
                                        {"verbs.DestroyCq", verb_destroy_cq, AT_ONCE},
                                        {"verbs.CreateQp", verb_create_qp, AT_ONCE},
                                        {"verbs.QueryQp", verb_query_qp, AT_ONCE},
                                        {"verbs.ModifyQp", verb_modify_qp, AT_ONCE},
                                        {"verbs.DestroyQp", verb_destroy_qp, AT_ONCE},
                                        {"mem.new", verb_mem_new, AT_ONCE},
                                        {"mem.read", verb_mem_read, AT_ONCE},
                                        {"mem.write", verb_mem_write, AT_ONCE},
                                        {"mem.pattern", verb_mem_pattern, AT_ONCE},
                                        {"mem.poll", verb_mem_poll, WAITS},
                                        {"verbs.RegisterMr", verb_register_mr, AT_ONCE},
                                        {"verbs.ReregisterMr", verb_reregister_mr, AT_ONCE},
                                        {"verbs.DeregisterMr", verb_deregister_mr, AT_ONCE},
                                        {"verbs.AllocateMw", verb_allocate_mw, AT_ONCE},
                                        {"verbs.BindMw", verb_bind_mw, AT_ONCE},
                                        {"verbs.DeallocateMw", verb_deallocate_mw, AT_ONCE},
                                        {"verbs.CreateSrq", verb_create_srq, AT_ONCE},
                                        {"verbs.QuerySrq", verb_query_srq, AT_ONCE},
                                        {"verbs.ModifySrq", verb_modify_srq, AT_ONCE},
                                        {"verbs.DestroySrq", verb_destroy_srq, AT_ONCE},
                                        {"verbs.PostSq", verb_post_sq, AT_ONCE},
                                        {"verbs.PostRq", verb_post_rq, AT_ONCE},
                                        {"verbs.PostSrq", verb_post_srq, AT_ONCE},
                                        {"verbs.PollCq", verb_poll_cq, WAITS_WITH_TIMEOUT},
                                        {"verbs.RequestNotification", verb_request_notification, AT_ONCE},
                                        {"verbs.Listen", verb_listen, AT_ONCE},
                                        {"verbs.Unlisten", verb_unlisten, AT_ONCE},
                                        {"verbs.Connect", verb_connect, WAITS},
                                        {"verbs.Accept", verb_accept, WAITS},
                                        {"verbs.Reject", verb_reject, AT_ONCE},
                                        {"verbs.Disconnect", verb_disconnect, AT_ONCE},
                                        {"agent.devices", verb_devices, AT_ONCE},
                                        {"agent.loop", verb_loop, AT_ONCE},
                                        {"agent.stop", verb_stop, WAITS},
                                        {"agent.state", verb_state, AT_ONCE},
                                        {"agent.hold", verb_hold, AT_ONCE},
                                        {"agent.exit", verb_exit, AT_ONCE}};

/* A request on its way in a thread of its own or in a numbered one. */
struct open_call {
    struct open_call *next, *next_in_lane;
    struct verbs *v;
    const struct method *method;
    json_t *message;
    bool answered; /* by a reset */
};

static const struct method *find(const char *name)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    return NULL;
}

static void refuse(struct verbs *v, const json_t *id, const struct params *p)
{
    client_refuse(&v->client, id, p->room ? LINE_ROOM : LINE_PARAMS, p->why);
}

/* ---- calls in other threads ---- */

static void finish(struct open_call *call)
{
    struct verbs *v = call->v;
    pthread_mutex_lock(&v->lock);
    struct open_call **at = &v->open;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    v->open_count--;
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
    json_decref(call->message);
    free(call);
}

static void carry_out(struct open_call *call)
{
    struct verbs *v = call->v;
    const json_t *id = json_object_get(call->message, "id");
    struct params p = {.object = json_object_get(call->message, "params")};
    json_t *result = v->ending ? NULL : call->method->call(v, &p);
    pthread_mutex_lock(&v->lock);
    bool ended = v->ending, answered = call->answered;
    call->answered = true;
    pthread_mutex_unlock(&v->lock);
    if (answered || ended) {
        json_decref(result);
        if (!answered)
            client_refuse(&v->client, id, LINE_RESET, "the reset ended it");
    } else if (p.why[0] != '\0') {
        json_decref(result);
        refuse(v, id, &p);
    } else {
        client_answer(&v->client, id, result);
    }
    finish(call);
}

static void *alone(void *context)
{
    carry_out(context);
    return NULL;
}

/* One call after another, until the agent ends. */
static void *lane(void *context)
{
    struct lane *l = context;
    struct verbs *v = l->v;
    pthread_mutex_lock(&v->lock);
    while (l->runs) {
        struct open_call *call = l->first;
        if (call == NULL) {
            pthread_cond_wait(&v->changed, &v->lock);
            continue;
        }
        l->first = call->next_in_lane;
        pthread_mutex_unlock(&v->lock);
        carry_out(call);
        pthread_mutex_lock(&v->lock);
    }
    pthread_mutex_unlock(&v->lock);
    return NULL;
}

/* Under the lock. */
static bool queue(struct lane *l, struct open_call *call)
{
    if (!l->runs) {
        l->runs = true;
        if (pthread_create(&l->thread, NULL, lane, l) != 0) {
            l->runs = false;
            return false;
        }
    }
    struct open_call **at = &l->first;
    while (*at != NULL)
        at = &(*at)->next_in_lane;
    *at = call;
    pthread_cond_broadcast(&l->v->changed);
    return true;
}

static void elsewhere(struct verbs *v, const struct method *m, json_t *message, struct lane *l)
{
    const json_t *id = json_object_get(message, "id");
    struct open_call *call = calloc(1, sizeof *call);
    pthread_t thread;
    pthread_mutex_lock(&v->lock);
    bool good = call != NULL && v->open_count < VERBS_OPEN_CALLS;
    if (good) {
        *call = (struct open_call){v->open, NULL, v, m, json_incref(message), false};
        v->open = call;
        v->open_count++;
        if (l != NULL)
            good = queue(l, call);
        else if ((good = pthread_create(&thread, NULL, alone, call) == 0))
            pthread_detach(thread);
        if (!good) {
            v->open = call->next;
            v->open_count--;
            json_decref(message);
        }
    }
    pthread_mutex_unlock(&v->lock);
    if (!good) {
        free(call);
        client_refuse(&v->client, id, LINE_ROOM,
                      "the agent itself has no room for more calls that have not returned");
    }
}

bool verbs_end_calls(struct verbs *v)
{
    const uint64_t until = verbs_now_us() + VERBS_CLEAN_MS * 1000ull;
    const struct timespec end = {(time_t)(until / 1000000), (long)(until % 1000000) * 1000};
    v->ending = true;
    pthread_mutex_lock(&v->lock);
    pthread_cond_broadcast(&v->changed);
    while (v->open_count > 0 && pthread_cond_timedwait(&v->changed, &v->lock, &end) != ETIMEDOUT)
        ;
    for (struct open_call *call = v->open; call != NULL; call = call->next) {
        if (!call->answered)
            client_refuse(&v->client, json_object_get(call->message, "id"), LINE_RESET, "the reset ended it");
        call->answered = true;
    }
    bool ended = v->open_count == 0;
    pthread_mutex_unlock(&v->lock);
    return ended;
}

/* ---- hello and reset ---- */

static json_t *hello(struct verbs *v, struct params *p)
{
    const uint64_t version = params_number(p, "protocol", 2, false, 0);
    if (p->why[0] == '\0' && version == 0)
        params_wrong(p, "protocol", "1 or 2");
    if (p->why[0] != '\0')
        return NULL;
    if (!client_knows(&v->client, json_object_get(p->object, "token"))) {
        params_wrong(p, "token", "the one that the agent was started with");
        return NULL;
    }
    const struct devices *d = v->devices;
    json_t *pics = d->count > 0 ? json_incref(d->at[0].pics) : json_pack("{s:s}", "flavour", "iwarp");
    return json_pack("{s:s, s:s, s:s, s:o, s:I, s:[s], s:o, s:o}", "implementation",
                     "libibverbs behind fcvi-verbs-agent", "version", "1", "clock", "real", "pics", pics,
                     "protocol", (json_int_t)version, "wires", "verbs", "devices", devices_names(d),
                     "addresses", devices_addresses(d));
}

static json_t *reset(struct verbs *v, struct params *p)
{
    static const char *const wires[] = {"verbs", NULL};
    params_choice(p, "wire", wires);
    params_number(p, "seed", (1ull << 53) - 1, true, 0);
    if (p->why[0] != '\0')
        return NULL;
    v->started = false;
    if (!verbs_end_calls(v)) {
        params_cannot(p, "nothing can be reset: a call of the provider's has not returned");
        return NULL;
    }
    const char *left = verbs_destroy_all(v);
    if (left != NULL) {
        char words[sizeof p->why];
        snprintf(words, sizeof words, "the reset could not destroy everything: %s", left);
        params_cannot(p, words);
        return NULL;
    }
    verbs_unwatch(v);
    v->ending = false;
    if (!verbs_watch(v)) {
        params_no_room(p, "threads");
        return NULL;
    }
    v->started = true;
    return json_object();
}

/* ---- lines ---- */

static void now(struct verbs *v, const json_t *id, struct params *p, verbs_call *call)
{
    json_t *result = call(v, p);
    if (p->why[0] == '\0') {
        client_answer(&v->client, id, result);
    } else {
        json_decref(result);
        refuse(v, id, p);
    }
}

static void begin(struct verbs *v, const json_t *id, const struct method *m, json_t *message,
                  struct params *p)
{
    bool numbered = params_has(p, "thread");
    uint64_t number = params_number(p, "thread", VERBS_LANES - 1, true, 0);
    const json_t *timeout = json_object_get(p->object, "Timeout");
    bool waits = m->kind == WAITS || (m->kind == WAITS_WITH_TIMEOUT && json_integer_value(timeout) > 0);
    if (p->why[0] != '\0')
        refuse(v, id, p);
    else if (numbered || waits)
        elsewhere(v, m, message, numbered ? &v->lanes[number] : NULL);
    else
        now(v, id, p, m->call);
}

static void request(struct verbs *v, json_t *message, const char *method, struct params *p)
{
    const json_t *id = json_object_get(message, "id");
    const struct method *m = find(method);
    const bool is_hello = strcmp(method, "hello") == 0, is_reset = strcmp(method, "reset") == 0;
    if (m == NULL && !is_hello && !is_reset)
        client_refuse(&v->client, id, LINE_METHOD, "no such method");
    else if (v->client.closed && !is_hello)
        client_refuse(&v->client, id, LINE_NOT_RESET, "hello has to name the token first");
    else if (!json_is_object(p->object))
        client_refuse(&v->client, id, LINE_PARAMS, "params must be an object");
    else if (m == NULL)
        now(v, id, p, is_hello ? hello : reset);
    else if (!v->started && m->call != verb_exit && m->call != verb_devices)
        client_refuse(&v->client, id, LINE_NOT_RESET, "before the first reset");
    else
        begin(v, id, m, message, p);
}

static void take_line(struct client *c, const char *line, size_t length)
{
    struct verbs *v = verbs_of(c);
    json_t *message = client_message(c, line, length);
    if (message == NULL)
        return;
    const json_t *id = json_object_get(message, "id");
    const char *method = json_string_value(json_object_get(message, "method"));
    bool stranger = !c->spoken && method == NULL; /* it speaks another protocol, so it is let go */
    c->spoken = c->spoken || method != NULL;
    if (json_is_object(message) && json_is_null(json_object_get(message, "params")))
        json_object_del(message, "params");
    if (json_is_object(message) && json_object_get(message, "params") == NULL)
        json_object_set_new(message, "params", json_object());
    struct params p = {.object = json_object_get(message, "params")};
    if (method == NULL || (id != NULL && !json_is_integer(id) && !json_is_string(id) && !json_is_null(id)))
        client_refuse(c, NULL, LINE_REQUEST, "not a request");
    else if (id != NULL) /* there is no notification that the agent takes */
        request(v, message, method, &p);
    if (c->refused || stranger)
        c->failed = true;
    json_decref(message);
}

/* ---- the agent ---- */

struct verbs *verbs_of(struct client *c)
{
    return (struct verbs *)(void *)((char *)c - offsetof(struct verbs, client));
}

struct verbs *verbs_new(int sink, const struct layer *layer, const struct devices *devices)
{
    struct verbs *v = calloc(1, sizeof *v);
    pthread_condattr_t monotonic;
    if (v == NULL)
        return NULL;
    client_begin(&v->client, sink, take_line);
    v->layer = layer;
    v->devices = devices;
    v->wake = -1;
    v->count = 1; /* 0 is no number */
    v->room = 64;
    v->things = calloc(v->room, sizeof(struct thing *));
    pthread_mutex_init(&v->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&v->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    for (size_t i = 0; i < VERBS_LANES; i++)
        v->lanes[i].v = v;
    return v;
}

void verbs_free(struct verbs *v)
{
    if (!verbs_end_calls(v) || verbs_destroy_all(v) != NULL) {
        v->client.failed = true; /* the next client may get the same descriptor: nothing more goes there */
        return;                  /* a thread is caught, or something is left: they keep what they use */
    }
    verbs_unwatch(v);
    pthread_mutex_lock(&v->lock);
    bool ran[VERBS_LANES];
    for (size_t i = 0; i < VERBS_LANES; i++) {
        ran[i] = v->lanes[i].runs;
        v->lanes[i].runs = false;
    }
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
    for (size_t i = 0; i < VERBS_LANES; i++)
        if (ran[i])
            pthread_join(v->lanes[i].thread, NULL);
    if (v->wake >= 0)
        close(v->wake);
    pthread_cond_destroy(&v->changed);
    pthread_mutex_destroy(&v->lock);
    client_end(&v->client);
    free(v->things);
    free(v);
}
