/* The state of a port in canonical form, for a model checker: what decides how it will behave, nothing else.
 *
 * Records in use are copied whole, so that a member that is added later counts of itself; only times are
 * rewritten. Left out are `now`, the numbering of timers (their order is kept), statistics, and everything
 * free. The free lists decide which record, and with it which RX_ID, conn or place comes next. The port
 * compares these numbers with each other and never by size, so ports that differ in them alone do the same
 * things under other names. */
#include "../block/table.h"
#include "../block/timers.h"
#include "../fcvi/message.h"
#include "../fcvi/setup.h"
#include "../vitcp/stream.h"
#include "port_internal.h"

struct writer {
    struct fcvi_port *p;
    uint64_t now;
    uint8_t *out;
    size_t capacity, length;
};

static void put(struct writer *w, const void *bytes, size_t n)
{
    if (w->length < w->capacity) {
        size_t room = w->capacity - w->length;
        memcpy(w->out + w->length, bytes, n < room ? n : room);
    }
    w->length += n;
}

static void put_number(struct writer *w, uint32_t value)
{
    put(w, &value, sizeof value);
}

/* How long ago that was, or how long it is until then. */
static uint64_t relative(const struct writer *w, uint64_t time)
{
    return time - w->now;
}

/* ---- the port itself ---- */

static void put_port(struct writer *w)
{
    const struct fcvi_port *p = w->p;
    const struct {
        uint64_t fabric_port_name, fabric_node_name, seq_ids[4];
        uint32_t next_connection_id, own_id, lip_id, next_mapping, abts_due, vis, entries;
        uint16_t next_ox_id;
        uint8_t next_seq_id, open_sequences, link, fabric_known, changed, zero;
    } all = {
        .fabric_port_name = p->fabric_port_name,
        .fabric_node_name = p->fabric_node_name,
        .seq_ids = {p->seq_ids[0], p->seq_ids[1], p->seq_ids[2], p->seq_ids[3]},
        .next_connection_id = p->next_connection_id,
        .own_id = p->own_id,
        .lip_id = p->lip_id,
        .next_mapping = p->next_mapping,
        .abts_due = p->abts_due,
        .vis = p->used.vis,
        .entries = p->used.entries,
        .next_ox_id = p->next_ox_id,
        .next_seq_id = p->next_seq_id,
        .open_sequences = p->open_sequences,
        .link = p->link,
        .fabric_known = p->fabric_known,
        .changed = p->changed,
    };
    put(w, &all, sizeof all);
}

static bool sooner(const struct timer *a, const struct timer *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

/* The running timer that expires next after `last`, the first one for NULL; NONE after the latest. */
static uint32_t timer_after(struct fcvi_port *p, const struct timer *last)
{
    uint32_t next = NONE;
    for (uint32_t i = 0; i < p->heap_count; i++) {
        uint32_t id = *ARRAY(p, uint32_t, heap, i);
        const struct timer *t = ARRAY(p, struct timer, timers, id);
        if ((last == NULL || sooner(last, t)) &&
            (next == NONE || sooner(t, ARRAY(p, struct timer, timers, next))))
            next = id;
    }
    return next;
}

/* In the order in which they will expire. */
static void put_timers(struct writer *w)
{
    uint32_t id = timer_after(w->p, NULL);
    while (id != NONE) {
        const struct timer *t = ARRAY(w->p, struct timer, timers, id);
        uint64_t in = relative(w, t->due);
        put_number(w, id);
        put(w, &in, sizeof in);
        id = timer_after(w->p, t);
    }
    put_number(w, NONE);
}

/* Chains: which of equals is found first. */
static void put_table(struct writer *w, const struct table *t)
{
    for (uint32_t bucket = 0; bucket <= t->mask; bucket++) {
        uint32_t i = fcvi_table_first(w->p, t, bucket);
        if (i == NONE)
            continue;
        put_number(w, bucket);
        for (; i != NONE; i = fcvi_table_next(w->p, t, i))
            put_number(w, i);
    }
    put_number(w, NONE);
}

/* ---- records ---- */

static void put_queue(struct writer *w, const struct queue *q)
{
    uint32_t i = q->head;
    for (uint32_t n = 0; n < q->count; n++, i = entry_at(w->p, i)->next) {
        put(w, entry_at(w->p, i), sizeof(struct entry));
        for (uint32_t s = entry_at(w->p, i)->first; s != NONE; s = segment_at(w->p, s)->next)
            put(w, segment_at(w->p, s), sizeof(struct segment_node));
    }
}

static void put_held(struct writer *w, uint32_t first)
{
    for (uint32_t i = first; i != NONE; i = held_at(w->p, i)->next) {
        const struct held *h = held_at(w->p, i);
        uint64_t since = relative(w, h->since);
        put_number(w, i);
        put(w, &since, sizeof since);
        put(w, h->bytes, h->length);
    }
}

/* The count of handles begins anew when its last one was given out long enough ago (8.4.2 f). */
static void put_vi(struct writer *w, uint32_t index)
{
    struct vi copy = *vi_at(w->p, index);
    put_number(w, index);
    if (copy.generation_ended != 0)
        copy.generation_ended = relative(w, copy.generation_ended);
    put(w, &copy, sizeof copy);
    put_queue(w, &copy.send);
    put_queue(w, &copy.recv);
    if (copy.connection.known)
        put_held(w, copy.rx.held);
}

static void put_message(struct writer *w, uint32_t index)
{
    struct message copy = *message_at(w->p, index);
    copy.since = relative(w, copy.since);
    copy.last_frame = relative(w, copy.last_frame);
    put(w, &copy, sizeof copy);
    bool received = copy.phase == RECEIVING || copy.phase == RECEIVED;
    for (uint32_t i = copy.runs; i != NONE; i = run_at(w->p, i)->next) {
        struct run run = *run_at(w->p, i);
        run.since = received ? relative(w, run.since) : 0; /* no timer of a Read goes by it (E96) */
        put(w, &run, sizeof run);
    }
}

static void put_exchanges(struct writer *w)
{
    for (uint32_t i = 0; i < w->p->limits.exchanges; i++) {
        const struct exchange *x = exchange_at(w->p, i);
        if (x->kind == X_FREE)
            continue;
        put_number(w, i);
        put(w, x, sizeof *x);
        if (x->kind == X_MESSAGE)
            put_message(w, i);
    }
    put_number(w, NONE);
}

static void put_setups(struct writer *w)
{
    for (uint32_t i = 0; i < w->p->limits.setups; i++) {
        struct setup copy = *setup_at(w->p, i);
        if (copy.phase == SETUP_FREE)
            continue;
        copy.until =
            copy.phase == SETUP_AWAIT_ADDRESS ? relative(w, copy.until) : 0; /* else its timer says it */
        put_number(w, i);
        put(w, &copy, sizeof copy);
    }
    put_number(w, NONE);
}

static void put_streams(struct writer *w)
{
    for (uint32_t i = 0; i < w->p->limits.streams; i++) {
        const struct stream *s = stream_at(w->p, i);
        if (s->state == STREAM_FREE)
            continue;
        put_number(w, i);
        put(w, s, sizeof *s);
        for (uint32_t k = 0; k < s->tx.jobs; k++)
            put(w, fcvi_vitcp_job(w->p, s, k), sizeof(struct read_job));
    }
}

/* A Connectionpoint in use stands in its table, and the records of it are few. */
static void put_points(struct writer *w)
{
    const struct table *t = &w->p->by_point;
    for (uint32_t bucket = 0; bucket <= t->mask; bucket++)
        for (uint32_t i = fcvi_table_first(w->p, t, bucket); i != NONE; i = fcvi_table_next(w->p, t, i))
            if (i < fcvi_point_count(w->p))
                put(w, point_at(w->p, i), sizeof(struct point));
}

static void put_ports(struct writer *w)
{
    struct fcvi_port *p = w->p;
    for (uint32_t i = 0; i < p->limits.remote_ports; i++)
        if (remote_at(p, i)->used)
            put(w, remote_at(p, i), sizeof(struct remote_port));
    for (uint32_t i = 0; i < p->limits.remote_ports * FCVI_MAX_HOSTS; i++)
        if (mapping_at(p, i)->used)
            put(w, mapping_at(p, i), sizeof(struct mapping));
}

/* Memory that is not registered holds anything; the host's is no part of the port. */
static void put_memory(struct writer *w)
{
    struct fcvi_port *p = w->p;
    for (uint32_t i = 0; i < p->limits.regions; i++) {
        const struct region *r = region_at(p, i);
        if (!r->used)
            continue;
        put(w, r, sizeof *r);
        if (r->spec.bytes == NULL)
            put(w, (uint8_t *)p + p->memory + r->offset, r->spec.length);
    }
}

/* ---- what waits for the host ---- */

static void put_frames(struct writer *w)
{
    for (uint32_t i = w->p->control_head; i != NONE; i = control_at(w->p, i)->next) {
        const struct control_frame *c = control_at(w->p, i);
        put_number(w, (uint32_t)c->sof << 8 | c->eof);
        put(w, c->bytes, c->length);
    }
    put_number(w, NONE);
}

static void put_events(struct writer *w)
{
    for (uint32_t n = 0; n < w->p->events_count; n++) {
        uint32_t at = (w->p->events_head + n) % w->p->limits.events;
        put(w, ARRAY(w->p, struct fcvi_event, events, at), sizeof(struct fcvi_event));
    }
    put_number(w, w->p->ready);
    put_number(w, w->p->starved);
    if (w->p->limits.streams != 0)
        put_number(w, w->p->talking);
}

size_t fcvi_port_canonical(const struct fcvi_port *port, uint64_t now, uint8_t *out, size_t capacity)
{
    /* nothing is written through it: the accessors serve those that do write as well */
    struct fcvi_port *p = (struct fcvi_port *)(uintptr_t)port;
    struct writer w = {p, now, out, capacity, 0};
    const struct table *tables[] = {&p->by_exchange, &p->by_connection_id, &p->by_handle,
                                    &p->by_point,    &p->by_port,          &p->by_host};
    put_port(&w);
    put_timers(&w);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        put_table(&w, tables[i]);
    for (uint32_t i = 0; i < p->limits.vis; i++)
        if (vi_at(p, i)->used)
            put_vi(&w, i);
    put_exchanges(&w);
    put_setups(&w);
    put_streams(&w);
    put_points(&w);
    put_ports(&w);
    put_memory(&w);
    put_frames(&w);
    put_events(&w);
    return w.length;
}
