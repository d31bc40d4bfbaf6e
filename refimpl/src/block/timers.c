/* Timers in a binary heap of indices: the next deadline is at its top. */
#include "timers.h"

static struct timer *timer_at(struct fcvi_port *p, uint32_t id)
{
    return ARRAY(p, struct timer, timers, id);
}
static uint32_t *heap_at(struct fcvi_port *p, uint32_t place)
{
    return ARRAY(p, uint32_t, heap, place);
}

/* Each object owns its timers; they are numbered kind by kind. */
static uint32_t timer_id(const struct fcvi_port_limits *l, enum timer_kind kind, uint32_t index)
{
    const uint32_t objects[TIMER_LINK] = {
        l->connectionpoints, l->setups, l->vis, l->vis, l->vis, l->exchanges, l->streams,
    };
    for (unsigned k = 0; k < (unsigned)kind; k++)
        index += objects[k];
    return index;
}

uint32_t fcvi_timers_needed(const struct fcvi_port_limits *limits)
{
    return timer_id(limits, TIMER_LINK, 1);
}

static bool sooner(struct fcvi_port *p, uint32_t a, uint32_t b)
{
    const struct timer *x = timer_at(p, a), *y = timer_at(p, b);
    return x->due != y->due ? x->due < y->due : x->order < y->order;
}

static void place(struct fcvi_port *p, uint32_t at, uint32_t id)
{
    FCVI_ASSERT(at < p->heap_count);
    *heap_at(p, at) = id;
    timer_at(p, id)->place = at;
}

static void sift(struct fcvi_port *p, uint32_t at)
{
    uint32_t id = *heap_at(p, at);
    while (at > 0 && sooner(p, id, *heap_at(p, (at - 1) / 2))) {
        place(p, at, *heap_at(p, (at - 1) / 2));
        at = (at - 1) / 2;
    }
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= p->heap_count)
            break;
        if (child + 1 < p->heap_count && sooner(p, *heap_at(p, child + 1), *heap_at(p, child)))
            child++;
        if (!sooner(p, *heap_at(p, child), id))
            break;
        place(p, at, *heap_at(p, child));
        at = child;
    }
    place(p, at, id);
}

void fcvi_timer_stop(struct fcvi_port *p, enum timer_kind kind, uint32_t index)
{
    struct timer *t = timer_at(p, timer_id(&p->limits, kind, index));
    uint32_t at = t->place;
    if (at == NONE)
        return;
    FCVI_ASSERT(at < p->heap_count && *heap_at(p, at) == timer_id(&p->limits, kind, index));
    t->place = NONE;
    uint32_t last = *heap_at(p, --p->heap_count);
    if (at < p->heap_count) {
        place(p, at, last);
        sift(p, at);
    }
}

void fcvi_timer_start(struct fcvi_port *p, enum timer_kind kind, uint32_t index, uint64_t us)
{
    fcvi_timer_stop(p, kind, index);
    uint32_t id = timer_id(&p->limits, kind, index);
    FCVI_ASSERT(p->heap_count < fcvi_timers_needed(&p->limits));
    struct timer *t = timer_at(p, id);
    t->due = us >= FCVI_NEVER - p->now ? FCVI_NEVER : p->now + us;
    if (t->due == FCVI_NEVER)
        return;
    t->order = p->timer_order++;
    place(p, p->heap_count++, id);
    sift(p, t->place);
}

uint64_t fcvi_port_deadline(const struct fcvi_port *port)
{
    const uint8_t *base = (const uint8_t *)port;
    if (port->heap_count == 0)
        return FCVI_NEVER;
    const uint32_t *heap = (const uint32_t *)(const void *)(base + port->heap);
    const struct timer *timers = (const struct timer *)(const void *)(base + port->timers);
    return timers[heap[0]].due;
}

/* Take the timer that expires next, at `now` at the latest; false when there is none. */
static bool take(struct fcvi_port *p, uint64_t now, enum timer_kind *kind, uint32_t *index)
{
    if (fcvi_port_deadline(p) > now)
        return false;
    uint32_t id = *heap_at(p, 0);
    for (unsigned k = 0; k < TIMER_KINDS; k++)
        if (id >= timer_id(&p->limits, (enum timer_kind)k, 0)) {
            *kind = (enum timer_kind)k;
            *index = id - timer_id(&p->limits, (enum timer_kind)k, 0);
        }
    p->now = timer_at(p, id)->due > p->now ? timer_at(p, id)->due : p->now;
    fcvi_timer_stop(p, *kind, *index);
    return true;
}

void fcvi_port_run(struct fcvi_port *port, uint64_t now)
{
    enum timer_kind kind = TIMER_T0;
    uint32_t index = 0;
    FCVI_ASSERT(port->heap_count <= fcvi_timers_needed(&port->limits));
    while (take(port, now, &kind, &index))
        port->expire(port, kind, index);
    if (now > port->now)
        port->now = now;
}
