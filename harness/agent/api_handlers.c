/* Handlers: they run in whatever thread the provider likes, and tell what they were called with. */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a handler gets as its context. It stays until the next reset, so that a call too many is seen. */
struct registration {
    struct registration *next;
    struct api *api;
    const char *what;
    uint64_t number, count;
    json_int_t context;
    json_t *then, *cq;
};

/* Whose handlers they are: there is one in a process. */
static struct api *registering;

static struct registration *registered(struct api *api, const char *what, struct params *p)
{
    const json_t *then = json_object_get(p->object, "then");
    json_int_t context = (json_int_t)params_number(p, "Context", INT64_MAX, true, 0);
    if (then != NULL && !json_is_null(then) && !json_is_object(then))
        params_wrong(p, "then", "an object with method and params, or null");
    enum { VALUE = 64 }; /* bytes of memory that a value takes, of two bytes in a line at least */
    size_t held = sizeof(struct registration) + json_dumpb(then, NULL, 0, JSON_COMPACT) * (VALUE / 2);
    pthread_mutex_lock(&api->lock);
    const bool room = p->why[0] == '\0' && api_hold(api, p, held, "handlers");
    pthread_mutex_unlock(&api->lock);
    struct registration *r = room ? calloc(1, sizeof *r) : NULL;
    if (r == NULL)
        return NULL;
    *r = (struct registration){.api = api,
                               .what = what,
                               .context = context,
                               .then = json_is_object(then) ? json_deep_copy(then) : NULL};
    pthread_mutex_lock(&api->lock);
    r->number = ++api->registration_count;
    r->next = api->registrations;
    api->registrations = r;
    registering = api;
    pthread_mutex_unlock(&api->lock);
    return r;
}

/* A provider may be in a handler still, though its NIC is closed: what it uses stays then, for good. */
void api_free_handlers(struct api *api)
{
    enum { LOOKS = 200, LOOK_US = 10000 };
    pthread_mutex_lock(&api->lock);
    for (int i = 0; i < LOOKS && api->handlers_running > 0; i++) {
        pthread_mutex_unlock(&api->lock);
        usleep(LOOK_US);
        pthread_mutex_lock(&api->lock);
    }
    if (api->handlers_running > 0)
        api->registrations = NULL;
    pthread_mutex_unlock(&api->lock);
    while (api->registrations != NULL) {
        struct registration *r = api->registrations;
        api->registrations = r->next;
        json_decref(r->then);
        json_decref(r->cq);
        free(r);
    }
}

/* The number of a handle, null for NULL, and -1 for one that the provider has not given out. */
static json_t *told_handle(const struct api *api, enum kind kind, const void *handle)
{
    json_t *number = api_number_of(api, kind, (uintptr_t)handle);
    if (handle == NULL || !json_is_null(number))
        return number;
    json_decref(number);
    return json_integer(-1);
}

/* The context that a handler was called with, if it is one of those that were registered: a provider that
 * mixes them up is not to take the agent down. */

static struct registration *known(void *context)
{
    struct registration *found = NULL;
    if (registering == NULL)
        return NULL;
    pthread_mutex_lock(&registering->lock);
    for (struct registration *r = registering->registrations; r != NULL && found == NULL; r = r->next)
        if (r == context)
            found = r;
    registering->handlers_running += found != NULL;
    pthread_mutex_unlock(&registering->lock);
    return found;
}

static void left(struct api *api)
{
    pthread_mutex_lock(&api->lock);
    api->handlers_running--;
    pthread_mutex_unlock(&api->lock);
}

static void tell_unknown(const char *method, const char *what)
{
    if (registering != NULL)
        client_notify(&registering->a->client, method,
                      json_pack("{s:s, s:i, s:i, s:i, s:n, s:n, s:I}",
                                strcmp(method, "error") == 0 ? "code" : "what", what, "Context", 0,
                                "registration", 0, "count", 1, "nic", "vi", "at_us",
                                (json_int_t)api_now_us(registering)));
}

static void add_where(struct api *api, json_t *said, const void *nic, const void *vi)
{
    const char *within = api_within();
    pthread_mutex_lock(&api->lock);
    json_object_set_new(said, "nic", told_handle(api, KIND_NIC, nic));
    json_object_set_new(said, "vi", told_handle(api, KIND_VI, vi));
    pthread_mutex_unlock(&api->lock);
    json_object_set_new(said, "at_us", json_integer((json_int_t)api_now_us(api)));
    json_object_set_new(said, "thread", json_integer(api_thread()));
    json_object_set_new(said, "within", within != NULL ? json_string(within) : json_null());
}

static json_t *called(struct registration *r, const void *nic, const void *vi)
{
    pthread_mutex_lock(&r->api->lock);
    uint64_t count = ++r->count;
    pthread_mutex_unlock(&r->api->lock);
    json_t *said = json_pack("{s:s, s:I, s:I, s:I}", "what", r->what, "Context", r->context, "registration",
                             (json_int_t)r->number, "count", (json_int_t)count);
    add_where(r->api, said, nic, vi);
    return said;
}

/* The notification goes out after the call that the handler makes, but before what that call causes elsewhere
 * may be told: the client sees both. */
static void tell(struct registration *r, json_t *said)
{
    if (r->then != NULL && !r->api->calls.ending)
        r->api->then(r->api, r->then, said);
    client_notify(&r->api->a->client, "notify", said);
    left(r->api);
}

static void on_descriptor(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
    struct registration *r = known(context);
    if (r == NULL) {
        tell_unknown("notify", "VipRecvNotify");
        return;
    }
    json_t *said = called(r, nic, vi);
    json_object_set_new(said, "DescriptorPtr", api_done_json(r->api, d));
    tell(r, said);
}

static void on_entry(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_BOOLEAN recv)
{
    struct registration *r = known(context);
    if (r == NULL) {
        tell_unknown("notify", "VipCQNotify");
        return;
    }
    json_t *said = called(r, nic, vi);
    json_object_set_new(said, "RecvQueue", json_boolean(recv));
    json_object_set(said, "cq", r->cq);
    tell(r, said);
}

/* A handler that is not wanted is NULL. */
static bool wants_handler(struct params *p)
{
    return json_object_get(p->object, "Handler") == NULL || params_flag(p, "Handler");
}

static json_t *with_number(VIP_RETURN vip, const struct registration *r)
{
    json_t *result = api_result(vip);
    if (vip == VIP_SUCCESS)
        json_object_set_new(result, "registration", json_integer((json_int_t)r->number));
    return result;
}

static json_t *notify_vi(struct api *api, struct params *p, bool recv)
{
    bool wanted = wants_handler(p);
    VIP_RETURN vip;
    VIP_VI_HANDLE vi = api_handle_of(api, p, "vi", KIND_VI);
    struct registration *r = registered(api, recv ? "VipRecvNotify" : "VipSendNotify", p);
    if (r == NULL)
        return NULL;
    if (recv)
        API_CALL(vip, VipRecvNotify, vi, r, wanted ? on_descriptor : NULL);
    else
        API_CALL(vip, VipSendNotify, vi, r, wanted ? on_descriptor : NULL);
    return with_number(vip, r);
}

json_t *api_send_notify(struct api *api, struct params *p)
{
    return notify_vi(api, p, false);
}

json_t *api_recv_notify(struct api *api, struct params *p)
{
    return notify_vi(api, p, true);
}

json_t *api_cq_notify(struct api *api, struct params *p)
{
    bool wanted = wants_handler(p);
    VIP_RETURN vip;
    VIP_CQ_HANDLE cq = api_handle_of(api, p, "cq", KIND_CQ);
    struct registration *r = registered(api, "VipCQNotify", p);
    if (r == NULL)
        return NULL;
    r->cq = json_deep_copy(json_object_get(p->object, "cq"));
    API_CALL(vip, VipCQNotify, cq, r, wanted ? on_entry : NULL);
    return with_number(vip, r);
}

/* ---- asynchronous errors ---- */

static void name_of(char *out, size_t size, long code)
{
    static const struct {
        long code;
        const char *name;
    } names[] = {{VIP_ERROR_POST_DESC, "VIP_ERROR_POST_DESC"},
                 {VIP_ERROR_CONN_LOST, "VIP_ERROR_CONN_LOST"},
                 {VIP_ERROR_RECVQ_EMPTY, "VIP_ERROR_RECVQ_EMPTY"},
                 {VIP_ERROR_VI_OVERRUN, "VIP_ERROR_VI_OVERRUN"},
                 {VIP_ERROR_RDMAW_PROT, "VIP_ERROR_RDMAW_PROT"},
                 {VIP_ERROR_RDMAW_DATA, "VIP_ERROR_RDMAW_DATA"},
                 {VIP_ERROR_RDMAW_ABORT, "VIP_ERROR_RDMAW_ABORT"},
                 {VIP_ERROR_RDMAR_PROT, "VIP_ERROR_RDMAR_PROT"},
                 {VIP_ERROR_COMP_PROT, "VIP_ERROR_COMP_PROT"},
                 {VIP_ERROR_RDMA_TRANSPORT, "VIP_ERROR_RDMA_TRANSPORT"},
                 {VIP_ERROR_CATASTROPHIC, "VIP_ERROR_CATASTROPHIC"}};
    snprintf(out, size, "VIP_CODE_%lu", (unsigned long)code);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code)
            snprintf(out, size, "%s", names[i].name);
}

static json_t *resource_of(long code)
{
    static const struct {
        long code;
        const char *name;
    } names[] = {{VIP_RESOURCE_NIC, "VIP_RESOURCE_NIC"},
                 {VIP_RESOURCE_VI, "VIP_RESOURCE_VI"},
                 {VIP_RESOURCE_CQ, "VIP_RESOURCE_CQ"},
                 {VIP_RESOURCE_DESCRIPTOR, "VIP_RESOURCE_DESCRIPTOR"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code)
            return json_string(names[i].name);
    return json_sprintf("VIP_RESOURCE_%lu", (unsigned long)code);
}

/* A Descriptor of which an error tells is still the provider's: it is named, and not taken back. */
static json_t *named(struct api *api, const VIP_DESCRIPTOR *d)
{
    json_t *number = json_null();
    if (d == NULL)
        return number;
    pthread_mutex_lock(&api->lock);
    for (const struct posted *k = api->latest; k != NULL; k = k->earlier)
        if (k->va == (uintptr_t)d) {
            number = json_integer((json_int_t)k->number);
            break;
        }
    pthread_mutex_unlock(&api->lock);
    return json_pack("{s:o, s:o}", "descriptor", number, "va", api_hex((uintptr_t)d));
}

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *e)
{
    struct registration *r = known(context);
    char name[48];
    if (r == NULL) {
        tell_unknown("error", "VIP_ERROR_CONN_LOST");
        return;
    }
    if (e == NULL) {
        left(r->api);
        return;
    }
    name_of(name, sizeof name, (long)e->ErrorCode);
    json_t *said = json_pack("{s:s, s:I, s:o, s:I, s:o}", "code", name, "OpCode", (json_int_t)e->OpCode,
                             "ResourceCode", resource_of((long)e->ResourceCode), "Context", r->context,
                             "DescriptorPtr", named(r->api, e->DescriptorPtr));
    add_where(r->api, said, e->NicHandle, e->ViHandle);
    pthread_mutex_lock(&r->api->lock);
    json_object_set_new(said, "cq", told_handle(r->api, KIND_CQ, e->CQHandle));
    pthread_mutex_unlock(&r->api->lock);
    if (r->api->control != NULL) { /* section 6 has these alone */
        json_t *vi = json_object_get(said, "vi");
        json_t *plain = json_pack("{s:O, s:s}", "vi", vi, "code", name);
        if (json_integer_value(vi) < 0)
            json_object_set_new(plain, "vi", json_null());
        json_decref(said);
        said = plain;
    }
    client_notify(&r->api->a->client, "error", said);
    left(r->api);
}

json_t *api_error_callback(struct api *api, struct params *p)
{
    bool wanted = wants_handler(p);
    VIP_NIC_HANDLE nic;
    VIP_RETURN vip;
    (void)api_nic_of(api, p, &nic);
    struct registration *r = registered(api, "VipErrorCallback", p);
    if (r == NULL)
        return NULL;
    API_CALL(vip, VipErrorCallback, nic, r, wanted ? on_error : NULL);
    return api_result(vip);
}
