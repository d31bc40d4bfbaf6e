/* The control part of the DUT protocol (sections 4 to 6) over the calls of api_*.c: the agent opens the NIC,
 * one thread takes what completes off its queue and tells it, and what the client has not taken is kept.
 * Numbers that name nothing are refused here, so that no provider gets a handle of what is gone.
 *
 * What is kept is guarded by the agent's order. */
#include "api.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CQ_ENTRIES = 4096,
    WATCH_US = 50 * 1000,
    MOST_DONE = 65536, /* completions that the client has not taken */
    MOST_SEGMENTS = 252
};

struct queue {
    json_t *done; /* what completed, the oldest first */
    unsigned posted;
};

struct control {
    struct queue (*vi)[2]; /* by number: send, receive */
    size_t vis, done;
};

struct control_method {
    const char *name;
    api_function *call;  /* NULL: answered from what is kept */
    const char *members; /* of the parameters, each with a space behind it */
    /** Looks at p and completes what the call is given; an answer ends it. NULL: nothing to do. */
    json_t *(*before)(struct api *api, struct params *p, json_t *given);
    void (*after)(struct api *api, const json_t *given, const json_t *result);
    bool waits;
};

static bool succeeded(const json_t *result)
{
    const char *word = json_string_value(json_object_get(result, "return"));
    return word != NULL && strcmp(word, "VIP_SUCCESS") == 0;
}

static struct queue *queues_of(struct api *api, const json_t *given)
{
    return api->control->vi[json_integer_value(json_object_get(given, "vi"))];
}

/* ---- VIs ---- */

static json_t *before_create(struct api *api, struct params *p, json_t *given)
{
    struct params attributes = params_table(p, "ViAttribs");
    struct provider_qos room;
    VIP_QOS qos;
    (void)api;
    if (p->why[0] != '\0')
        return NULL;
    if (json_is_integer(json_object_get(attributes.object, "ReliabilityLevel")))
        params_wrong(p, "ReliabilityLevel", "a VIP_SERVICE_ name");
    if (params_has(&attributes, "QoS")) {
        struct params table = params_table(&attributes, "QoS");
        const bool preference = params_flag(&table, "Preference");
        const uint32_t depth = (uint32_t)params_number(&table, "PipelineDepth", UINT32_MAX, true, 0);
        memcpy(p->why, attributes.why[0] != '\0' ? attributes.why : table.why, sizeof p->why);
        if (p->why[0] == '\0' && !provider_qos(&room, preference, depth, &qos))
            return api_result(VIP_INVALID_QOS);
    }
    json_t *wanted = json_copy((json_t *)(uintptr_t)attributes.object);
    if (json_integer_value(json_object_get(wanted, "MaxTransferSize")) == 0)
        json_object_del(wanted, "MaxTransferSize");
    if (!params_has(&attributes, "QoS"))
        json_object_set_new(wanted, "QoS", json_object());
    json_object_set_new(given, "ViAttribs", wanted);
    json_object_set_new(given, "SendCQHandle", json_integer(0));
    json_object_set_new(given, "RecvCQHandle", json_integer(0));
    return NULL;
}

static void after_create(struct api *api, const json_t *given, const json_t *result)
{
    struct control *c = api->control;
    (void)given;
    if (!succeeded(result))
        return;
    const size_t vis = (size_t)json_integer_value(json_object_get(result, "vi")) + 1;
    struct queue(*more)[2] = realloc(c->vi, vis * sizeof *more);
    if (more == NULL)
        abort(); /* nothing could be told of this VI */
    memset(more + c->vis, 0, (vis - c->vis) * sizeof *more);
    c->vi = more;
    c->vis = vis;
}

static bool is_empty(const struct queue *q)
{
    return q->posted == 0 && json_array_size(q->done) == 0;
}

/* Done, yet not taken by the client. */
static json_t *before_destroy(struct api *api, struct params *p, json_t *given)
{
    const struct queue *q = queues_of(api, given);
    (void)p;
    return is_empty(&q[0]) && is_empty(&q[1]) ? NULL : api_result(VIP_INVALID_STATE);
}

static void after_query(struct api *api, const json_t *given, const json_t *result)
{
    const struct queue *q = queues_of(api, given);
    json_t *said = (json_t *)(uintptr_t)result;
    if (!succeeded(result))
        return;
    json_object_set_new(said, "ViSendQEmpty", json_boolean(is_empty(&q[0])));
    json_object_set_new(said, "ViRecvQEmpty", json_boolean(is_empty(&q[1])));
}

/* ---- memory ---- */

static void after_register(struct api *api, const json_t *given, const json_t *result)
{
    (void)given;
    if (!succeeded(result))
        api_release(api, api->things[KIND_MEM].count - 1);
}

static void after_deregister(struct api *api, const json_t *given, const json_t *result)
{
    if (succeeded(result))
        api_release(api, (size_t)json_integer_value(json_object_get(given, "mem")));
}

/* ---- work ---- */

static bool is_open(const struct api *api, enum kind kind, const json_t *number)
{
    const struct things *t = &api->things[kind];
    json_int_t n = json_integer_value(number);
    return n >= 0 && (uint64_t)n < t->count && t->at[n].open;
}

/* A mem that does not exist becomes a handle that VIPL refuses. */
static json_t *segments_of(struct api *api, struct params *descriptor)
{
    const json_t *segments = json_object_get(descriptor->object, "segments");
    json_t *list = json_array();
    if (!json_is_array(segments) || json_array_size(segments) > MOST_SEGMENTS)
        params_wrong(descriptor, "segments", "an array of at most 252 objects");
    for (size_t i = 0; descriptor->why[0] == '\0' && i < json_array_size(segments); i++) {
        struct params s = {.object = json_array_get(segments, i)};
        const uint64_t mem = params_number(&s, "mem", INT64_MAX, false, 0),
                       offset = params_number(&s, "offset", UINT32_MAX, true, 0),
                       length = params_number(&s, "length", UINT32_MAX, false, 0);
        json_t *number = json_integer((json_int_t)mem);
        json_array_append_new(list, is_open(api, KIND_MEM, number)
                                        ? json_pack("{s:O, s:I, s:I}", "mem", number, "offset",
                                                    (json_int_t)offset, "length", (json_int_t)length)
                                        : json_pack("{s:o, s:I, s:I}", "va", api_hex(offset), "handle",
                                                    (json_int_t)UINT32_MAX, "length", (json_int_t)length));
        json_decref(number);
        memcpy(descriptor->why, s.why, sizeof s.why);
    }
    return list;
}

static json_t *only(const json_t *object, const char *members);

static json_t *before_post(struct api *api, struct params *p, json_t *given)
{
    struct params descriptor = params_table(p, "descriptor");
    if (api->control->done >= MOST_DONE)
        params_no_room(p, "Descriptors");
    if (p->why[0] != '\0')
        return NULL;
    json_t *plain = only(descriptor.object, "op remote immediate ");
    json_object_set_new(plain, "segments", segments_of(api, &descriptor));
    json_object_set_new(given, "descriptor", plain);
    memcpy(p->why, descriptor.why, sizeof p->why);
    return NULL;
}

/* The thread that tells completions waits for the agent's order, which is held until this is answered. */
static void after_send(struct api *api, const json_t *given, const json_t *result)
{
    queues_of(api, given)[0].posted += succeeded(result);
}

static void after_receive(struct api *api, const json_t *given, const json_t *result)
{
    queues_of(api, given)[1].posted += succeeded(result);
}

static json_t *take(struct api *api, struct queue *q)
{
    json_t *d = json_array_get(q->done, 0);
    const json_int_t status = json_integer_value(json_object_get(d, "Status"));
    if (d == NULL && q->posted > 0)
        return api_result(VIP_NOT_DONE);
    json_t *result = api_result(
        d == NULL || ((VIP_UINT32)status & VIP_STATUS_ERROR_MASK) != 0 ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS);
    json_object_set_new(result, "DescriptorPtr",
                        d != NULL ? only(d, "status length immediate ") : json_null());
    if (d != NULL) {
        json_array_remove(q->done, 0);
        api->control->done--;
    }
    return result;
}

static json_t *send_done(struct api *api, struct params *p, json_t *given)
{
    (void)p;
    return take(api, &queues_of(api, given)[0]);
}

static json_t *recv_done(struct api *api, struct params *p, json_t *given)
{
    (void)p;
    return take(api, &queues_of(api, given)[1]);
}

/* ---- requests ---- */

static const struct control_method control_methods[] = {
    {"VipCreateVi", api_create_vi, "ViAttribs ", before_create, after_create, false},
    {"VipDestroyVi", api_destroy_vi, "vi ", before_destroy, NULL, false},
    {"VipQueryVi", api_query_vi, "vi ", NULL, after_query, false},
    {"VipConnectWait", api_connect_wait, "LocalAddr Timeout ", NULL, NULL, true},
    {"VipConnectAccept", api_connect_accept, "conn vi ", NULL, NULL, true},
    {"VipConnectReject", api_connect_reject, "conn ", NULL, NULL, false},
    {"VipConnectRequest", api_connect_request, "vi LocalAddr RemoteAddr Timeout ", NULL, NULL, true},
    {"VipConnectPeerRequest", api_peer_request, "vi LocalAddr RemoteAddr Timeout ", NULL, NULL, false},
    {"VipConnectPeerDone", api_peer_done, "vi ", NULL, NULL, false},
    {"VipConnectPeerWait", api_peer_wait, "vi ", NULL, NULL, true},
    {"VipDisconnect", api_disconnect, "vi ", NULL, NULL, true},
    {"VipRegisterMem", api_register_mem, "length rdma_write rdma_read fill ", NULL, after_register, false},
    {"VipDeregisterMem", api_deregister_mem, "mem ", NULL, after_deregister, false},
    {"mem.read", api_mem_read, "mem offset length ", NULL, NULL, false},
    {"mem.write", api_mem_write, "mem offset hex ", NULL, NULL, false},
    {"VipPostSend", api_post_send, "vi descriptor ", before_post, after_send, false},
    {"VipPostRecv", api_post_recv, "vi descriptor ", before_post, after_receive, false},
    {"VipSendDone", NULL, "vi ", send_done, NULL, false},
    {"VipRecvDone", NULL, "vi ", recv_done, NULL, false}};

const struct control_method *control_find(const char *name)
{
    for (size_t i = 0; i < sizeof control_methods / sizeof *control_methods; i++)
        if (strcmp(control_methods[i].name, name) == 0)
            return &control_methods[i];
    return NULL;
}

bool control_waits(const struct control_method *m)
{
    return m->waits;
}

/* What of an object has these names. */
static json_t *only(const json_t *object, const char *members)
{
    json_t *some = json_object(), *value;
    const char *name;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const char *at = strstr(members, name);
        if (at != NULL && at[strlen(name)] == ' ' && (at == members || at[-1] == ' '))
            json_object_set(some, name, value);
    }
    return some;
}

/* VIP_INVALID_PARAMETER for the number of something that is not there. */
static json_t *refuse_unknown(struct api *api, const struct control_method *m, struct params *p)
{
    static const struct {
        const char *name;
        enum kind kind;
    } kinds[] = {{"vi", KIND_VI}, {"conn", KIND_CONN}, {"mem", KIND_MEM}};
    bool known = true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *at = strstr(m->members, kinds[i].name);
        if (at == NULL || at[strlen(kinds[i].name)] != ' ')
            continue;
        (void)params_number(p, kinds[i].name, INT64_MAX, false, 0);
        pthread_mutex_lock(&api->lock);
        known = known && is_open(api, kinds[i].kind, json_object_get(p->object, kinds[i].name));
        pthread_mutex_unlock(&api->lock);
    }
    return known || p->why[0] != '\0' || m->call == api_mem_read || m->call == api_mem_write
               ? NULL
               : api_result(VIP_INVALID_PARAMETER);
}

/* What sections 5 and 6 do not have. */
static void simplify(json_t *result)
{
    static const char *const members[] = {"value", "guard", "descriptor"}, *const attributes[] = {
                                                                               "ViAttribs",
                                                                               "RemoteViAttribs"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        json_object_del(result, members[i]);
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        json_t *v = json_object_get(result, attributes[i]);
        json_object_del(v, "Ptag");
        if (json_is_null(json_object_get(v, "QoS")))
            json_object_set_new(v, "QoS", json_pack("{s:i, s:b}", "PipelineDepth", 0, "Preference", 0));
    }
    if (!succeeded(result))
        json_object_del(result, "handle"), json_object_del(result, "va");
}

json_t *control_perform(void *context, const void *method, struct params *p)
{
    struct api *api = context;
    const struct control_method *m = method;
    json_t *given = only(p->object, m->members), *result = refuse_unknown(api, m, p);
    struct params inner = {.object = given};
    if (result == NULL && p->why[0] == '\0' && m->before != NULL)
        result = m->before(api, p, given);
    if (result == NULL && p->why[0] == '\0') {
        result = m->call(api, &inner);
        memcpy(p->why, inner.why, sizeof p->why);
        p->room = inner.room;
        if (p->why[0] == '\0' && result != NULL && m->after != NULL)
            m->after(api, given, result);
        if (result != NULL)
            simplify(result);
    }
    json_decref(given);
    return result;
}

/* ---- completions ---- */

/* A Descriptor completed: take it off its queue, so that the client hears of it, and keep what it says. */
static void completed(struct api *api, const json_t *entry)
{
    struct control *c = api->control;
    json_t *number = json_object_get(entry, "vi");
    const bool recv = json_is_true(json_object_get(entry, "RecvQueue"));
    if (!json_is_integer(number) || (size_t)json_integer_value(number) >= c->vis)
        return;
    struct queue *q = &c->vi[json_integer_value(number)][recv];
    json_t *given = json_pack("{s:O}", "vi", number);
    struct params p = {.object = given};
    json_t *result = (recv ? api_recv_done : api_send_done)(api, &p);
    json_t *d = json_object_get(result, "DescriptorPtr");
    if (json_object_get(d, "status") != NULL) {
        if (q->done == NULL)
            q->done = json_array();
        json_array_append(q->done, d);
        q->posted -= q->posted > 0;
        c->done++;
        json_t *said = only(d, "status length immediate ");
        json_object_set(said, "vi", number);
        json_object_set_new(said, "queue", json_string(recv ? "recv" : "send"));
        client_notify(&api->a->client, "completion", said);
    }
    json_decref(result);
    json_decref(given);
}

static void *watch(void *context)
{
    struct api *api = context;
    const struct timespec pause = {.tv_nsec = WATCH_US * 1000 / 5};
    json_t *given = json_pack("{s:i, s:i}", "cq", 0, "Timeout", WATCH_US);
    while (!api->calls.ending) {
        struct params p = {.object = given};
        json_t *entry = api_cq_wait(api, &p);
        const char *word = json_string_value(json_object_get(entry, "return"));
        const bool timeout = word != NULL && strcmp(word, "VIP_TIMEOUT") == 0, any = succeeded(entry);
        pthread_mutex_lock(&api->a->order);
        if (any)
            completed(api, entry);
        pthread_mutex_unlock(&api->a->order);
        json_decref(entry);
        if (!any && !timeout && !api->calls.ending) /* it may pass: completions are still to come */
            nanosleep(&pause, NULL);
    }
    json_decref(given);
    calls_left(&api->calls);
    return NULL;
}

/* ---- the NIC ---- */

/* A call of the agent's own; NULL when it fails. Steals given. */
static json_t *made(struct api *api, api_function *call, json_t *given)
{
    json_t *result = call(api, &(struct params){.object = given});
    json_decref(given);
    if (result != NULL && succeeded(result))
        return result;
    json_decref(result);
    return NULL;
}

static const char *open_nic(struct api *api, const char *device)
{
    static const struct {
        api_function *call;
        const char *why;
    } steps[] = {{api_error_callback, "VipErrorCallback failed"}, {api_create_ptag, "VipCreatePtag failed"}};
    json_int_t entries = CQ_ENTRIES;
    json_t *result = made(api, api_open_nic, json_pack("{s:s}", "DeviceName", device));
    if (result == NULL)
        return "VipOpenNic failed";
    for (size_t i = 0; result != NULL && i < sizeof steps / sizeof *steps; i++) {
        json_decref(result);
        result = made(api, steps[i].call, json_object());
        if (result == NULL)
            return steps[i].why;
    }
    json_decref(result);
    result = made(api, api_query_nic, json_object());
    if (result == NULL)
        return "VipQueryNic failed";
    const json_t *said = json_object_get(result, "NicAttribs");
    const json_int_t most = json_integer_value(json_object_get(said, "MaxCQEntries"));
    const bool fits = json_integer_value(json_object_get(said, "NicAddressLen")) <= API_HOST &&
                      json_integer_value(json_object_get(said, "MaxDiscriminatorLen")) <= API_DISCRIMINATOR;
    entries = most > 0 && most < entries ? most : entries;
    json_decref(result);
    if (!fits)
        return "its addresses are longer than the agent has room for";
    result = made(api, api_create_cq, json_pack("{s:I}", "EntryCount", entries));
    json_decref(result);
    return result != NULL ? NULL : "VipCreateCQ failed";
}

bool control_start(struct api *api, const char *device, const char **why)
{
    api->control = calloc(1, sizeof *api->control);
    *why = api->control != NULL ? open_nic(api, device) : "no memory";
    if (*why == NULL && !calls_spawn(&api->calls, watch, api))
        *why = "no thread to watch completions";
    return *why == NULL;
}

void control_free(struct control *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < 2 * c->vis; i++)
        json_decref(c->vi[i / 2][i % 2].done);
    free(c->vi);
    free(c);
}
