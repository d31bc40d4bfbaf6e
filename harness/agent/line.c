/* Lines: JSON-RPC 2.0 requests in, answers and notifications out. */
#include "agent.h"
#include "api.h"

#include <stdio.h>
#include <string.h>

/* ---- out ---- */

void agent_answer(struct agent *a, const json_t *id, json_t *result)
{
    client_answer(&a->client, id, result);
}

void agent_refuse(struct agent *a, const json_t *id, int code, const char *words)
{
    client_refuse(&a->client, id, code, words);
}

void agent_notify(struct agent *a, const char *method, json_t *params)
{
    client_notify(&a->client, method, params);
}

/* ---- in ---- */

/* ---- frames, when the client's stream is the wire ---- */

static const char *const sof_names[] = {"i2", "n2", "i3", "n3", NULL};
static const uint8_t sof_codes[] = {0x2D, 0x35, 0x2E, 0x36};
static const char *const eof_names[] = {"n", "t", "ni", "a", NULL};
static const uint8_t eof_codes[] = {0x41, 0x42, 0x49, 0x50};
enum { LONGEST_FRAME = 24 + 2112, F_CTL = 9, SEQ_CNT = 14, END_SEQUENCE = 0x08 };

static const char *word_of(uint8_t code, const char *const *names, const uint8_t *codes)
{
    size_t i = 0;
    while (names[i + 1] != NULL && codes[i] != code)
        i++;
    return names[i];
}

static uint8_t code_of_word(const char *name, const char *const *names, const uint8_t *codes)
{
    size_t i = 0;
    while (names[i + 1] != NULL && strcmp(names[i], name) != 0)
        i++;
    return codes[i];
}

static void send_frame(void *context, const struct provider_frame *frame)
{
    static const char digits[] = "0123456789abcdef";
    char hex[2 * LONGEST_FRAME + 1];
    size_t length = frame->length <= LONGEST_FRAME ? frame->length : LONGEST_FRAME;
    for (size_t i = 0; i < length; i++) {
        hex[2 * i] = digits[frame->bytes[i] >> 4];
        hex[2 * i + 1] = digits[frame->bytes[i] & 15];
    }
    hex[2 * length] = '\0';
    agent_notify(context, "frame",
                 json_pack("{s:s, s:s, s:s, s:s}", "hex", hex, "sof",
                           word_of(frame->sof, sof_names, sof_codes), "eof",
                           word_of(frame->eof, eof_names, eof_codes), "crc", frame->crc_ok ? "ok" : "bad"));
}

/* A frame that is none, or that comes too fast, is lost, as on any wire. */
static void take_frame(struct params *p)
{
    static const char *const states[] = {"ok", "bad", NULL};
    unsigned char bytes[LONGEST_FRAME];
    size_t length = params_hex(p, "hex", bytes, 0, sizeof bytes);
    const char *sof = params_has(p, "sof") ? params_choice(p, "sof", sof_names) : NULL;
    const char *eof = params_has(p, "eof") ? params_choice(p, "eof", eof_names) : NULL;
    const char *crc = params_has(p, "crc") ? params_choice(p, "crc", states) : states[0];
    if (p->why[0] != '\0')
        return;
    bool later = length > SEQ_CNT + 1 && (bytes[SEQ_CNT] | bytes[SEQ_CNT + 1]) != 0;
    bool ends = length <= F_CTL || (bytes[F_CTL] & END_SEQUENCE) != 0;
    const struct provider_frame frame = {bytes, length,
                                         code_of_word(sof != NULL ? sof
                                                      : later     ? "n3"
                                                                  : "i3",
                                                      sof_names, sof_codes),
                                         code_of_word(eof != NULL ? eof
                                                      : ends      ? "t"
                                                                  : "n",
                                                      eof_names, eof_codes),
                                         strcmp(crc, "ok") == 0};
    (void)provider_frame(&frame);
}

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
    if (version == 2 && provider_frames_to(a, send_frame))
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
        agent_refuse(a, id, known ? LINE_NOT_RESET : LINE_METHOD,
                     known ? "before the first reset" : "no such method");
    } else if (!is_hello && !is_reset) {
        if (!api_request(a, id, method, p))
            agent_refuse(a, id, LINE_METHOD, "no such method");
    } else {
        json_t *result = is_hello ? hello(a, p) : reset(a, p);
        if (result != NULL)
            agent_answer(a, id, result);
        else
            agent_refuse(a, id, p->room ? LINE_ROOM : LINE_PARAMS, p->why);
    }
}

static void notification(struct agent *a, const char *method, struct params *p)
{
    static const char *const events[] = {"lip", "nos", "lr", "logo", NULL};
    const char *event = strcmp(method, "link") == 0 ? params_choice(p, "event", events) : NULL;
    if (event != NULL && a->api != NULL)
        provider_link(event);
    if (a->api != NULL && strcmp(method, "frame") == 0)
        take_frame(p);
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
        agent_refuse(a, NULL, LINE_REQUEST, "not a request");
    else if (id == NULL)
        notification(a, method, &p);
    else if (!json_is_object(p.object))
        agent_refuse(a, id, LINE_PARAMS, "params must be an object");
    else
        request(a, id, method, &p);
    pthread_mutex_unlock(&a->order);
    json_decref(none);
    json_decref(message);
}
