/* Numbers and the handles that they name. A number is never given twice, so that a stale handle can be tried.
 */
#include "api.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char *const words[KINDS] = {"nic", "ptag", "cq", "vi", "conn", "mem"};

struct thing *api_thing(struct api *api, struct params *p, const char *name, enum kind kind)
{
    const json_t *value = json_object_get(p->object, name);
    if (json_is_null(value))
        return NULL;
    const struct things *t = &api->things[kind];
    if (json_is_integer(value) && json_integer_value(value) >= 0 &&
        (uint64_t)json_integer_value(value) < t->count)
        return &t->at[json_integer_value(value)];
    char wanted[64];
    snprintf(wanted, sizeof wanted, "the number of a %s that was given, or null", words[kind]);
    params_wrong(p, name, wanted);
    return NULL;
}

/* VIPL handles are pointers, whatever a provider keeps in them. */
static void *pointer(uintptr_t value)
{
    return (void *)value; /* NOLINT(performance-no-int-to-ptr) */
}

void *api_handle(struct api *api, struct params *p, const char *name, enum kind kind)
{
    const struct thing *t = api_thing(api, p, name, kind);
    return t != NULL ? pointer(t->value) : NULL;
}

void *api_handle_of(struct api *api, struct params *p, const char *name, enum kind kind)
{
    pthread_mutex_lock(&api->lock);
    void *handle = api_handle(api, p, name, kind);
    pthread_mutex_unlock(&api->lock);
    return handle;
}

struct thing *api_nic(struct api *api, struct params *p, void **handle)
{
    const struct things *nics = &api->things[KIND_NIC];
    struct thing *t = NULL;
    if (json_object_get(p->object, "nic") != NULL)
        t = api_thing(api, p, "nic", KIND_NIC);
    else if (nics->count > 0)
        t = &nics->at[nics->count - 1];
    else
        params_wrong(p, "nic", "given: none has been opened");
    *handle = t != NULL ? pointer(t->value) : NULL;
    return t;
}

size_t api_nic_of(struct api *api, struct params *p, void **handle)
{
    pthread_mutex_lock(&api->lock);
    const struct thing *t = api_nic(api, p, handle);
    const size_t number = t != NULL ? t->nic : API_PLACES;
    pthread_mutex_unlock(&api->lock);
    return number;
}

void api_made(struct api *api, struct params *p, json_t *result, enum kind kind, struct thing thing)
{
    pthread_mutex_lock(&api->lock);
    const long number = api_add(api, p, kind, thing);
    pthread_mutex_unlock(&api->lock);
    json_object_set_new(result, words[kind], json_integer(number));
    json_object_set_new(result, "value", api_hex(thing.value));
}

json_t *api_given_back(struct api *api, struct params *p, const char *name, enum kind kind, VIP_RETURN vip)
{
    pthread_mutex_lock(&api->lock);
    struct thing *t = vip == VIP_SUCCESS ? api_thing(api, p, name, kind) : NULL;
    if (t != NULL)
        t->open = false;
    pthread_mutex_unlock(&api->lock);
    return api_result(vip);
}

long api_add(struct api *api, struct params *p, enum kind kind, struct thing thing)
{
    struct things *t = &api->things[kind];
    if (t->count == t->room) {
        size_t room = t->room == 0 ? 64 : 2 * t->room;
        struct thing *more = room <= API_PLACES ? realloc(t->at, room * sizeof *more) : NULL;
        if (more == NULL) {
            params_no_room(p, words[kind]);
            return -1;
        }
        t->at = more;
        t->room = room;
    }
    t->at[t->count] = thing;
    if (kind == KIND_NIC)
        t->at[t->count].nic = t->count;
    return (long)t->count++;
}

bool api_hold(struct api *api, struct params *p, size_t bytes, const char *what)
{
    if (bytes > api->most_held - api->held) {
        params_no_room(p, what);
        return false;
    }
    api->held += bytes;
    return true;
}

json_t *api_number_of(const struct api *api, enum kind kind, uintptr_t value)
{
    const struct things *t = &api->things[kind];
    for (size_t i = t->count; value != 0 && i > 0; i--)
        if (t->at[i - 1].value == value)
            return json_integer((json_int_t)(i - 1));
    return json_null();
}

uintptr_t api_newest_ptag(const struct api *api, size_t nic)
{
    const struct things *t = &api->things[KIND_PTAG];
    for (size_t i = t->count; i > 0; i--)
        if (t->at[i - 1].nic == nic)
            return t->at[i - 1].value;
    return 0;
}

json_t *api_hex(uint64_t value)
{
    return json_sprintf("%016llx", (unsigned long long)value);
}

json_t *api_bytes(const unsigned char *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    char *text = malloc(2 * length + 1);
    for (size_t i = 0; text != NULL && i < length; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    json_t *said = text != NULL ? json_stringn(text, 2 * length) : json_null();
    free(text);
    return said;
}

uint64_t api_hex64(struct params *p, const char *name)
{
    unsigned char bytes[8] = {0};
    uint64_t value = 0;
    params_hex(p, name, bytes, sizeof bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* Milliseconds; what is not whole is rounded up, so that no call returns early. */
VIP_ULONG api_timeout(struct params *p)
{
    uint64_t us = params_number(p, "Timeout", (1ull << 53) - 1, true, UINT64_MAX);
    return us / 1000 >= VIP_INFINITE ? (VIP_ULONG)VIP_INFINITE : (VIP_ULONG)((us + 999) / 1000);
}

void api_free_things(struct api *api)
{
    struct things *memory = &api->things[KIND_MEM];
    for (size_t i = 0; i < memory->count; i++)
        if (memory->at[i].pages != NULL)
            munmap(memory->at[i].pages, memory->at[i].pages_length);
    for (int kind = 0; kind < KINDS; kind++)
        free(api->things[kind].at);
}
