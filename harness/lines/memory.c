/* See memory.h. */
#include "memory.h"

#include <sched.h>
#include <string.h>
#include <time.h>

enum { MOST_POLLED = 64, NAP_NS = 20000, ROUNDS_AWAKE = 1000 };

json_t *memory_pattern(const struct memory_owner *owner, struct params *p)
{
    size_t length = (size_t)params_number(p, "length", UINT32_MAX, false, 0), wrong = 0, first = 0;
    uint32_t seed = (uint32_t)params_number(p, "seed", UINT32_MAX, false, 0);
    bool check = params_flag(p, "check");
    unsigned char *bytes = p->why[0] == '\0' ? owner->range(owner->context, p, length, !check) : NULL;
    if (bytes == NULL)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)(((uint32_t)i + seed) * 2654435761u >> 24);
        if (!check)
            bytes[i] = byte;
        else if (bytes[i] != byte && wrong++ == 0)
            first = i;
    }
    if (!check)
        return json_object();
    return json_pack("{s:I, s:o}", "wrong", (json_int_t)wrong, "first",
                     wrong > 0 ? json_integer((json_int_t)first) : json_null());
}

struct polled_words {
    const uint32_t *at[MOST_POLLED];
    bool met[MOST_POLLED];
    size_t count, left;
    uint32_t mask, value;
};

/* One look at every word, the last first. */
static void look(const struct memory_owner *owner, struct polled_words *w, uint64_t round, json_t *said)
{
    for (size_t i = w->count; i > 0; i--) {
        if (w->met[i - 1] || (__atomic_load_n(w->at[i - 1], __ATOMIC_ACQUIRE) & w->mask) != w->value)
            continue;
        w->met[i - 1] = true;
        w->left--;
        json_t *met = json_pack("{s:I, s:I, s:I}", "place", (json_int_t)(i - 1), "round", (json_int_t)round,
                                "us", (json_int_t)owner->now_us(owner->context));
        json_array_append_new(said, met);
    }
}

static void places_of(const struct memory_owner *owner, struct params *p, struct polled_words *w)
{
    const json_t *places = json_object_get(p->object, "places");
    w->count = w->left = json_array_size(places);
    if (w->count < 1 || w->count > MOST_POLLED) {
        w->count = 0;
        params_wrong(p, "places", "1 to 64 places");
    }
    for (size_t i = 0; p->why[0] == '\0' && i < w->count; i++) {
        struct params place = {.object = json_array_get(places, i)};
        const unsigned char *at = owner->range(owner->context, &place, sizeof(uint32_t), false);
        memcpy(p->why, place.why, sizeof p->why);
        if (at != NULL && (uintptr_t)at % sizeof(uint32_t) != 0)
            params_wrong(p, "places", "at multiples of 4");
        w->at[i] = (const uint32_t *)(const void *)at;
    }
}

json_t *memory_poll(const struct memory_owner *owner, struct params *p, uint64_t timeout_us)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    struct polled_words w = {.count = 0};
    w.mask = (uint32_t)params_number(p, "mask", UINT32_MAX, false, 0);
    w.value = (uint32_t)params_number(p, "value", UINT32_MAX, false, 0);
    places_of(owner, p, &w);
    if (p->why[0] != '\0')
        return NULL;
    json_t *said = json_array();
    const uint64_t until = owner->now_us(owner->context) + timeout_us;
    for (uint64_t round = 0;; round++) {
        look(owner, &w, round, said);
        if (w.left == 0 || owner->is_ending(owner->context) || owner->now_us(owner->context) >= until)
            break;
        if (round > ROUNDS_AWAKE)
            nanosleep(&nap, NULL);
        else
            sched_yield();
    }
    return json_pack("{s:o}", "met", said);
}
