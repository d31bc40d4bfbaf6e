/* Lines: JSON-RPC 2.0 requests in, answers and notifications out. */
#include "agent.h"
#include "api.h"

#include <stdio.h>
#include <string.h>

/* Rev 1.0 has neither a second attempt nor a pipeline depth, so nothing is claimed of them. */
static json_t *pics_of(const struct agent *a)
{
    json_t *pics = provider_pics(a->devices[0]);
    if (strcmp(a->revision, "2007") == 0 || pics == NULL)
        return pics;
    json_object_del(pics, "retry_waits_for_ba_acc");
    json_object_del(pics, "pipeline_depth");
    json_object_set_new(pics, "revision", json_string(a->revision));
    return pics;
}

static json_t *hello(struct agent *a, struct params *p)
{
    const uint64_t version = params_number(p, "protocol", 2, false, 0);
    if (version == 0)
        params_wrong(p, "protocol", "1 or 2");
    if (p->why[0] != '\0')
        return NULL;
    json_t *answer = json_pack("{s:s, s:s, s:s, s:o}", "implementation", "libvipl behind fcvi-agent",
                               "version", "1", "clock", "real", "pics", pics_of(a));
    json_t *devices = json_array();
    for (size_t i = 0; i < a->device_count; i++)
        json_array_append_new(devices, json_string(a->devices[i]));
    if (version == 2) /* calls alone: the frames, if there are any, are on a wire of their own */
        json_object_update_new(
            answer, json_pack("{s:i, s:[s], s:s}", "protocol", 2, "wires", "api", "revision", a->revision));
    json_object_set_new(answer, "devices", devices);
    if (version == 2 && provider_frames_to(a, agent_send_frame))
        json_object_set_new(answer, "wires", json_pack("[s]", "fc"));
    return answer;
}

static json_t *reset(struct agent *a, struct params *p)
{
    const char *why = NULL;
    const json_t *wire = json_object_get(p->object, "wire");
    bool is_api = json_is_string(wire) && strcmp(json_string_value(wire), "api") == 0;
    bool is_tcp = json_is_string(wire) && strcmp(json_string_value(wire), "tcp") == 0;
    if (!is_api && (is_tcp ? params_check_stream_config(p) : params_check_config(p)) != NULL)
        return NULL;
    if (a->caught) {
        params_no_room(p, "resets: a call of the provider's has not returned");
        return NULL;
    }
    (void)api_stop(a);
    json_t *config = json_copy((json_t *)(uintptr_t)p->object);
    if (!json_is_string(json_object_get(config, "revision")))
        json_object_set_new(config, "revision", json_string(a->revision));
    bool started = api_start(a, config, &why);
    json_decref(config);
    if (started)
        return json_object();
    (void)api_stop(a);
    snprintf(p->why, sizeof p->why, "the NIC cannot be configured so: %s", why != NULL ? why : "unknown");
    return NULL;
}

static void request(struct agent *a, const json_t *id, const char *method, struct params *p)
{
    const bool is_hello = strcmp(method, "hello") == 0, is_reset = strcmp(method, "reset") == 0;
    if (!is_hello && !is_reset && a->api == NULL) {
        const bool known = api_has(method);
        client_refuse(&a->client, id, known ? LINE_NOT_RESET : LINE_METHOD,
                      known ? "before the first reset" : "no such method");
    } else if (!is_hello && !is_reset) {
        if (!api_request(a, id, method, p))
            client_refuse(&a->client, id, LINE_METHOD, "no such method");
    } else {
        json_t *result = is_hello ? hello(a, p) : reset(a, p);
        if (result != NULL)
            client_answer(&a->client, id, result);
        else
            client_refuse(&a->client, id, p->room ? LINE_ROOM : LINE_PARAMS, p->why);
    }
}

static void notification(struct agent *a, const char *method, struct params *p)
{
    static const char *const events[] = {"lip", "nos", "lr", "logo", NULL};
    const char *event = strcmp(method, "link") == 0 ? params_choice(p, "event", events) : NULL;
    if (event != NULL && a->api != NULL)
        provider_link(event);
    if (a->api != NULL && strcmp(method, "frame") == 0)
        agent_take_frame(p);
}

void agent_line(struct agent *a, const char *line, size_t length)
{
    json_t *message = client_message(&a->client, line, length);
    if (message == NULL)
        return;
    const json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
    const char *method = json_string_value(json_object_get(message, "method"));
    struct params p = {.object = params};
    json_t *none = json_object();
    if (params == NULL || json_is_null(params))
        p.object = none;
    provider_turn();
    pthread_mutex_lock(&a->order);
    if (method == NULL || (id != NULL && !json_is_integer(id) && !json_is_string(id) && !json_is_null(id)))
        client_refuse(&a->client, NULL, LINE_REQUEST, "not a request");
    else if (id == NULL)
        notification(a, method, &p);
    else if (!json_is_object(p.object))
        client_refuse(&a->client, id, LINE_PARAMS, "params must be an object");
    else
        request(a, id, method, &p);
    pthread_mutex_unlock(&a->order);
    json_decref(none);
    json_decref(message);
}
