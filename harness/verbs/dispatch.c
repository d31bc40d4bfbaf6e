/* Requests: which call each is, in which thread it is made, and what a reset ends. */
#include "agent.h"

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

static const struct method *find(const char *name)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    return NULL;
}

static json_t *perform(void *context, const void *method, struct params *p)
{
    return ((const struct method *)method)->call(context, p);
}

static bool end_calls(struct verbs *v)
{
    calls_stop(&v->calls);
    pthread_mutex_lock(&v->lock);
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
    return calls_ended(&v->calls, VERBS_CLEAN_MS);
}

/* ---- hello and reset ---- */

static json_t *hello(struct verbs *v, struct params *p)
{
    const uint64_t version = params_number(p, "protocol", 2, false, 0);
    if (p->why[0] == '\0' && version == 0)
        params_wrong(p, "protocol", "1 or 2");
    if (p->why[0] != '\0')
        return NULL;
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
    if (!end_calls(v)) {
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
    calls_free(&v->calls);
    calls_begin(&v->calls);
    if (!verbs_watch(v)) {
        params_no_room(p, "threads");
        return NULL;
    }
    v->started = true;
    return json_object();
}

/* ---- lines ---- */

static bool waits(const struct method *m, const struct params *p)
{
    return m->kind == WAITS ||
           (m->kind == WAITS_WITH_TIMEOUT && json_integer_value(json_object_get(p->object, "Timeout")) > 0);
}

static void request(struct verbs *v, const json_t *message, const char *method, struct params *p)
{
    const json_t *id = json_object_get(message, "id");
    const struct method *m = find(method);
    const bool is_hello = strcmp(method, "hello") == 0, is_reset = strcmp(method, "reset") == 0;
    if (m == NULL && !is_hello && !is_reset)
        client_refuse(&v->client, id, LINE_METHOD, "no such method");
    else if (!json_is_object(p->object))
        client_refuse(&v->client, id, LINE_PARAMS, "params must be an object");
    else if (m == NULL)
        calls_answer(&v->calls, id, is_hello ? hello(v, p) : reset(v, p), p);
    else if (!v->started && m->call != verb_exit && m->call != verb_devices)
        client_refuse(&v->client, id, LINE_NOT_RESET, "before the first reset");
    else
        calls_request(&v->calls, id, m, p, waits(m, p));
}

static void take_line(struct client *c, const char *line, size_t length)
{
    struct verbs *v = verbs_of(c);
    json_t *message = client_message(c, line, length);
    if (message == NULL)
        return;
    const json_t *id = json_object_get(message, "id");
    const char *method = json_string_value(json_object_get(message, "method"));
    if (json_is_object(message) && json_is_null(json_object_get(message, "params")))
        json_object_del(message, "params");
    if (json_is_object(message) && json_object_get(message, "params") == NULL)
        json_object_set_new(message, "params", json_object());
    struct params p = {.object = json_object_get(message, "params")};
    if (method == NULL || (id != NULL && !json_is_integer(id) && !json_is_string(id) && !json_is_null(id)))
        client_refuse(c, NULL, LINE_REQUEST, "not a request");
    else if (id != NULL) /* there is no notification that the agent takes */
        request(v, message, method, &p);
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
    v->calls = (struct calls){.client = &v->client,
                              .perform = perform,
                              .context = v,
                              .most = VERBS_OPEN_CALLS,
                              .numbered = VERBS_THREADS};
    calls_begin(&v->calls);
    return v;
}

void verbs_free(struct verbs *v)
{
    if (!end_calls(v) || verbs_destroy_all(v) != NULL) {
        v->client.failed = true; /* the next client may get the same descriptor: nothing more goes there */
        return;                  /* a thread is caught, or something is left: they keep what they use */
    }
    verbs_unwatch(v);
    if (v->wake >= 0)
        close(v->wake);
    calls_free(&v->calls);
    pthread_cond_destroy(&v->changed);
    pthread_mutex_destroy(&v->lock);
    client_end(&v->client);
    free(v->things);
    free(v);
}
