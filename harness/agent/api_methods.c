/* Requests: which call each is, what its answer tells of it, and what is there from reset to reset. */
#include "../lines/clock.h"
#include "api.h"

#include <stdlib.h>
#include <string.h>

enum { MOMENT_NS = 5 * 1000 * 1000, CONTROL_MOMENT_NS = 50 * 1000 * 1000 };

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
static json_t *perform(void *context, const void *method, struct params *p)
{
    struct api *api = context;
    const struct api_method *m = method;
    struct api_span *span = api_span();
    span->returned_ns = 0;
    json_t *result = m->call(api, p);
    if (p->why[0] != '\0') {
        json_decref(result);
        return NULL;
    }
    if (result != NULL && span->returned_ns != 0) {
        json_object_set_new(result, "thread", json_integer(api_thread()));
        json_object_set_new(result, "us", json_integer((json_int_t)(span->inside_ns / 1000)));
        json_object_set_new(result, "at_us",
                            json_integer((json_int_t)((span->returned_ns - api->since_ns) / 1000)));
    }
    return result;
}

bool api_request(struct agent *a, const json_t *id, const char *method, struct params *p)
{
    struct api *api = a->api;
    if (api->control != NULL) {
        const struct control_method *c = control_find(method);
        if (c != NULL)
            calls_request(&api->calls, id, c, p, control_waits(c));
        return c != NULL;
    }
    const struct api_method *m = find(method);
    if (m != NULL)
        calls_request(&api->calls, id, m, p, m->blocks);
    return m != NULL;
}

bool api_has(const char *method)
{
    return find(method) != NULL;
}

/* A call from inside a handler: "result" or "error" into `into`. */
static void then_call(struct api *api, const json_t *then, json_t *into)
{
    const char *name = json_string_value(json_object_get(then, "method"));
    const struct api_method *m = name != NULL ? find(name) : NULL;
    struct params p = {.object = json_object_get(then, "params")};
    const struct api_span before = *api_span();
    json_t *result = m != NULL ? perform(api, m, &p) : NULL;
    *api_span() = before;
    if (result != NULL)
        json_object_set_new(into, "result", result);
    else
        json_object_set_new(into, "error",
                            json_pack("{s:i, s:s}", "code", m == NULL ? LINE_METHOD : LINE_PARAMS, "message",
                                      m == NULL ? "no such method" : p.why));
}

/* ---- from reset to reset ---- */

static struct api *api_new(struct agent *a, bool alone)
{
    struct api *api = calloc(1, sizeof *api);
    if (api == NULL)
        return NULL;
    api->a = a;
    api->then = then_call;
    api->since_ns = clock_ns();
    api->most_held = alone ? API_MOST_HELD : CONTROL_MOST_HELD;
    pthread_mutex_init(&api->lock, NULL);
    api->calls = (struct calls){.client = &a->client,
                                .perform = alone ? perform : control_perform,
                                .context = api,
                                .most = API_CALLS,
                                .numbered = alone ? CALLS_THREADS : 0,
                                .moment_ns = alone ? MOMENT_NS : CONTROL_MOMENT_NS};
    calls_begin(&api->calls);
    return api;
}

bool api_start(struct agent *a, const json_t *config, const char **why)
{
    const char *wire = json_string_value(json_object_get(config, "wire")), *device = NULL;
    const bool alone = wire != NULL && strcmp(wire, "api") == 0;
    bool good = alone ? provider_start_calls(a->devices, a->device_count, config, why)
                      : (device = provider_start(a->device, config, why)) != NULL;
    if (good)
        a->api = api_new(a, alone);
    return a->api != NULL && (alone || control_start(a->api, device, why));
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
    calls_left(&api->calls);
    return NULL;
}

/* Closing a NIC ends what is blocked in it (VI-DG 3.1.2). What completes meanwhile may be told. */
bool api_stop(struct agent *a)
{
    struct api *api = a->api;
    if (api == NULL)
        return !a->caught;
    calls_stop(&api->calls);
    provider_cut();
    bool closer = calls_spawn(&api->calls, close_all, api);
    pthread_mutex_unlock(&a->order);
    bool ended = calls_ended(&api->calls, API_LONGEST_CLOSE_MS) && closer;
    pthread_mutex_lock(&a->order);
    a->api = NULL;
    if (!ended) { /* somebody is inside: what it uses stays */
        a->caught = true;
        return false;
    }
    provider_stop();
    api_free_handlers(api);
    api_free_work(api);
    api_free_things(api);
    control_free(api->control);
    calls_free(&api->calls);
    pthread_mutex_destroy(&api->lock);
    free(api);
    return true;
}
