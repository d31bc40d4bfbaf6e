/* The thread that makes a call of the provider's, which call it is, and how long it took. */
#include "api.h"
#include "../lines/clock.h"

static atomic_int threads_seen;
static _Thread_local int own_number;
static _Thread_local const char *within;
static _Thread_local struct api_span latest;

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

uint64_t api_now_us(const struct api *api)
{
    return (clock_ns() - api->since_ns) / 1000;
}

struct api_span *api_span(void)
{
    return &latest;
}

const char *api_enter(const char *call)
{
    const char *before = within;
    within = call;
    latest.inside_ns = clock_ns();
    return before;
}

void api_leave(const char *before)
{
    within = before;
    latest.returned_ns = clock_ns();
    latest.inside_ns = latest.returned_ns - latest.inside_ns;
}
