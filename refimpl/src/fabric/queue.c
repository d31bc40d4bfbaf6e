/* Frames under way: a pool of entries, a heap of those that fly, a list of those that are held. */
#include "internal.h"

/* ---- pool ---- */

void fcvi_fabric_queue_clear(struct fcvi_fabric *f)
{
    for (uint32_t i = 0; i < f->limits.frames; i++)
        fabric_entry_at(f, i)->next = i + 1 < f->limits.frames ? i + 1 : FABRIC_NONE;
    f->held_head = f->held_tail = FABRIC_NONE;
}

static struct fabric_pair *pair_of(struct fcvi_fabric *f, const struct fabric_entry *e)
{
    size_t last = f->limits.ports;
    size_t from = e->from == FCVI_FABRIC_ITSELF ? last : e->from;
    size_t to = e->to == FCVI_FABRIC_ITSELF ? last : e->to;
    return fabric_pair_at(f, from * (last + 1) + to);
}

static uint32_t entry_new(struct fcvi_fabric *f)
{
    uint32_t at = f->free_entry;
    if (at == FABRIC_NONE) {
        f->counters.overflow++;
        return at;
    }
    f->free_entry = fabric_entry_at(f, at)->next;
    f->counters.under_way++;
    return at;
}

static void entry_free(struct fcvi_fabric *f, uint32_t at)
{
    fabric_entry_at(f, at)->next = f->free_entry;
    f->free_entry = at;
    f->counters.under_way--;
}

/* ---- heap, by the time and then by the order of sending ---- */

static bool sooner(const struct fcvi_fabric *f, uint32_t a, uint32_t b)
{
    const struct fabric_entry *x = fabric_entry_at_c(f, a), *y = fabric_entry_at_c(f, b);
    return x->due != y->due ? x->due < y->due : x->serial < y->serial;
}

static void sift_up(struct fcvi_fabric *f, uint32_t entry)
{
    uint32_t at = f->heap_count++;
    for (; at > 0 && sooner(f, entry, *fabric_heap_at(f, (at - 1) / 2)); at = (at - 1) / 2)
        *fabric_heap_at(f, at) = *fabric_heap_at(f, (at - 1) / 2);
    *fabric_heap_at(f, at) = entry;
}

static void remove_top(struct fcvi_fabric *f)
{
    uint32_t last = *fabric_heap_at(f, --f->heap_count), at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= f->heap_count)
            break;
        if (child + 1 < f->heap_count && sooner(f, *fabric_heap_at(f, child + 1), *fabric_heap_at(f, child)))
            child++;
        if (!sooner(f, *fabric_heap_at(f, child), last))
            break;
        *fabric_heap_at(f, at) = *fabric_heap_at(f, child);
        at = child;
    }
    *fabric_heap_at(f, at) = last;
}

/* ---- flying and holding ---- */

static uint64_t random_delay(struct fcvi_fabric *f)
{
    return f->config.latency_us +
           (f->config.jitter_us != 0 ? fcvi_fabric_random(f, f->config.jitter_us + 1) : 0);
}

/* An In-Order Fabric lets no frame arrive before an earlier one of the same pair (3.1.12). */
static void launch(struct fcvi_fabric *f, uint32_t at, uint64_t due)
{
    struct fabric_entry *e = fabric_entry_at(f, at);
    struct fabric_pair *pair = pair_of(f, e);
    if (!f->config.out_of_order) {
        if (due < pair->last_due)
            due = pair->last_due;
        pair->last_due = due;
    }
    e->due = due;
    e->serial = f->serial++;
    sift_up(f, at);
}

static void hold(struct fcvi_fabric *f, uint32_t at)
{
    if (f->held_tail != FABRIC_NONE)
        fabric_entry_at(f, f->held_tail)->next = at;
    else
        f->held_head = at;
    f->held_tail = at;
    f->counters.held++;
    pair_of(f, fabric_entry_at(f, at))->blocked = !f->config.out_of_order;
}

static void corrupt(struct fcvi_fabric *f, struct fabric_entry *e, uint8_t corruption)
{
    if (corruption == FABRIC_INTACT)
        return;
    e->crc = FCVI_CRC_BAD;
    f->counters.corrupted++;
    if (corruption == FABRIC_EOF_NI)
        e->eof = FCVI_EOF_NI;
    if (corruption == FABRIC_FLIPPED && e->length > 24) {
        uint64_t bit = fcvi_fabric_random(f, 8 * ((uint64_t)e->length - 24));
        e->bytes[24 + bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

void fcvi_fabric_fly(struct fcvi_fabric *f, const struct fabric_parcel *p, uint32_t to,
                     const struct fabric_verdict *v, uint64_t extra)
{
    uint32_t at = entry_new(f);
    if (at == FABRIC_NONE)
        return;
    struct fabric_entry *e = fabric_entry_at(f, at);
    e->from = p->from;
    e->to = to;
    e->epoch = to == FCVI_FABRIC_ITSELF ? 0 : fabric_port_at(f, to)->epoch;
    e->next = FABRIC_NONE;
    e->held_by = v->hold;
    e->length = p->length;
    e->sof = p->sof;
    e->eof = p->eof;
    e->crc = FCVI_CRC_OK;
    memcpy(e->bytes, p->bytes, p->length);
    corrupt(f, e, v->corruption);
    e->due = extra;
    if (v->hold != FABRIC_NONE || pair_of(f, e)->blocked)
        hold(f, at);
    else
        launch(f, at, p->at + random_delay(f) + extra);
}

/* What is held of the frames to a port is lost now, what flies when it is due: nothing else waits for it. */
void fcvi_fabric_lose(struct fcvi_fabric *f, uint32_t to)
{
    uint32_t at = f->held_head, next;
    f->held_head = f->held_tail = FABRIC_NONE;
    f->counters.held = 0;
    for (size_t from = 0; from <= f->limits.ports; from++)
        *fabric_pair_at(f, from * ((size_t)f->limits.ports + 1) + to) = (struct fabric_pair){0};
    for (; at != FABRIC_NONE; at = next) {
        struct fabric_entry *e = fabric_entry_at(f, at);
        next = e->next;
        e->next = FABRIC_NONE;
        if (e->to != to) {
            hold(f, at);
            continue;
        }
        entry_free(f, at);
        f->counters.dropped++;
    }
}

/* Let all held frames fly that no rule holds and, on an In-Order Fabric, no earlier frame of their pair. */
static void let_go(struct fcvi_fabric *f, uint64_t now)
{
    uint32_t at = f->held_head;
    f->held_head = f->held_tail = FABRIC_NONE;
    f->counters.held = 0;
    for (uint32_t i = at; i != FABRIC_NONE; i = fabric_entry_at(f, i)->next)
        pair_of(f, fabric_entry_at(f, i))->blocked = false;
    while (at != FABRIC_NONE) {
        struct fabric_entry *e = fabric_entry_at(f, at);
        uint32_t next = e->next;
        e->next = FABRIC_NONE;
        if (e->held_by != FABRIC_NONE || pair_of(f, e)->blocked)
            hold(f, at);
        else
            launch(f, at, now + random_delay(f) + e->due);
        at = next;
    }
}

uint32_t fcvi_fabric_unhold(struct fcvi_fabric *f, uint64_t now, uint32_t rule)
{
    uint32_t count = 0;
    for (uint32_t i = f->held_head; i != FABRIC_NONE; i = fabric_entry_at(f, i)->next) {
        struct fabric_entry *e = fabric_entry_at(f, i);
        if (e->held_by != rule)
            continue;
        e->held_by = FABRIC_NONE;
        count++;
    }
    let_go(f, now);
    return count;
}

/* ---- the first that is due ---- */

uint64_t fcvi_fabric_deadline(const struct fcvi_fabric *fabric)
{
    return fabric->heap_count > 0 ? fabric_entry_at_c(fabric, *fabric_heap_at_c(fabric, 0))->due : FCVI_NEVER;
}

void fcvi_fabric_queue_pop(struct fcvi_fabric *f)
{
    uint32_t at = *fabric_heap_at(f, 0);
    remove_top(f);
    entry_free(f, at);
}
