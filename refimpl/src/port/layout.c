/* How the arrays of a port lie in its block, and what they hold at first. */
#include "../block/timers.h"
#include "../fcvi/message.h"
#include "../fcvi/setup.h"
#include "../vitcp/stream.h"
#include "port_internal.h"

enum {
    DEFAULT_SETUPS = 4096,
    DEFAULT_REMOTE_PORTS = 16,
    DEFAULT_HELD = 64,
    DEFAULT_RUNS = 256,
    DEFAULT_READS = 4,
    OX_WORDS = 65536 / 64 + 65536 / 64 / 64 /* and a bit for each full word */
};

/* Zeros of the host's limits replaced by the defaults. */
static struct fcvi_port_limits complete(const struct fcvi_port_limits *limits)
{
    struct fcvi_port_limits l = *limits;
    if (l.streams != 0) { /* none of FC is used */
        l.exchanges = l.setups = l.remote_ports = l.runs = l.held_frames = 1;
        if (l.stream_reads == 0)
            l.stream_reads = DEFAULT_READS;
    }
    if (l.setups == 0)
        l.setups = l.vis + l.connectionpoints < DEFAULT_SETUPS ? l.vis + l.connectionpoints : DEFAULT_SETUPS;
    if (l.remote_ports == 0)
        l.remote_ports = DEFAULT_REMOTE_PORTS;
    if (l.entries == 0)
        l.entries = 2 * l.vis * l.descriptors;
    if (l.segments == 0)
        l.segments = 4 * l.entries + FCVI_MAX_SEGMENTS;
    if (l.runs == 0)
        l.runs = l.exchanges + DEFAULT_RUNS;
    if (l.held_frames == 0)
        l.held_frames = DEFAULT_HELD;
    return l;
}

bool fcvi_port_limits_valid(const struct fcvi_port_limits *l)
{
    enum { MANY = 1 << 20, MOST = 1 << 26 };
    return l->vis >= 1 && l->vis <= MANY && l->connectionpoints >= 1 && l->connectionpoints <= MANY &&
           l->exchanges >= 1 && l->exchanges <= 0xFFFF && l->regions >= 1 && l->regions <= MANY &&
           l->descriptors >= 1 && l->descriptors <= 1u << 16 && l->events >= 16 && l->events <= 1u << 24 &&
           l->memory <= 1u << 31 && l->max_transfer_size >= 1 && l->setups <= MANY &&
           l->remote_ports <= 0xFFFF && l->entries <= MOST && l->segments <= MOST && l->runs <= MOST &&
           l->held_frames <= 1u << 16 && l->streams <= MANY && l->stream_reads <= 0xFFFF &&
           (uint64_t)l->streams * l->stream_reads <= MOST &&
           (l->entries != 0 || (uint64_t)l->vis * l->descriptors <= MOST / 8);
}

static size_t lay(size_t *at, size_t count, size_t size)
{
    size_t start = *at;
    *at = (start + count * size + 15) & ~(size_t)15;
    return start;
}

static void lay_table(size_t *at, struct table *t, uint32_t objects)
{
    uint32_t buckets = 16;
    while (buckets < objects)
        buckets *= 2;
    t->mask = buckets - 1;
    t->buckets = lay(at, buckets, sizeof(uint32_t));
    t->links = lay(at, objects, sizeof(uint32_t));
}

static uint32_t control_frames(const struct fcvi_port_limits *l)
{
    return 64 + (l->setups < 2048 ? 2 * l->setups : 4096) + l->remote_ports;
}

/* Offsets of all arrays for p->limits; returns the size of the block. */
static size_t place(struct fcvi_port *p)
{
    const struct fcvi_port_limits *l = &p->limits;
    size_t at = (sizeof(struct fcvi_port) + 15) & ~(size_t)15;
    p->vis = lay(&at, l->vis, sizeof(struct vi));
    p->setups = lay(&at, l->setups, sizeof(struct setup));
    p->points = lay(&at, l->connectionpoints, sizeof(struct point));
    p->exchanges = lay(&at, l->exchanges, sizeof(struct exchange));
    p->messages = lay(&at, l->exchanges, sizeof(struct message));
    p->regions = lay(&at, l->regions, sizeof(struct region));
    p->entries = lay(&at, l->entries, sizeof(struct entry));
    p->segments = lay(&at, l->segments, sizeof(struct segment_node));
    p->runs = lay(&at, l->runs, sizeof(struct run));
    p->held = lay(&at, l->held_frames, sizeof(struct held));
    p->events = lay(&at, l->events, sizeof(struct fcvi_event));
    p->timers = lay(&at, fcvi_timers_needed(l), sizeof(struct timer));
    p->heap = lay(&at, fcvi_timers_needed(l), sizeof(uint32_t));
    p->control = lay(&at, control_frames(l), sizeof(struct control_frame));
    p->remotes = lay(&at, l->remote_ports, sizeof(struct remote_port));
    p->mappings = lay(&at, (size_t)l->remote_ports * FCVI_MAX_HOSTS, sizeof(struct mapping));
    p->ox_bits = lay(&at, OX_WORDS, sizeof(uint64_t));
    p->streams = lay(&at, l->streams, sizeof(struct stream));
    p->reads = lay(&at, (size_t)l->streams * l->stream_reads, sizeof(struct read_job));
    lay_table(&at, &p->by_exchange, l->exchanges);
    lay_table(&at, &p->by_connection_id, l->setups + l->vis);
    lay_table(&at, &p->by_handle, l->setups + l->vis);
    lay_table(&at, &p->by_point, l->connectionpoints + l->vis);
    lay_table(&at, &p->by_port, l->remote_ports);
    lay_table(&at, &p->by_host, l->remote_ports * FCVI_MAX_HOSTS);
    p->memory = lay(&at, l->memory, 1);
    return at;
}

size_t fcvi_port_size(const struct fcvi_port_limits *limits)
{
    struct fcvi_port p;
    if (!fcvi_port_limits_valid(limits))
        return 0;
    p.limits = complete(limits);
    return place(&p);
}

void fcvi_port_layout_place(struct fcvi_port *p)
{
    p->limits = complete(&p->limits);
    place(p);
}

static void clear_table(struct fcvi_port *p, const struct table *t)
{
    memset((uint8_t *)p + t->buckets, 0xFF, ((size_t)t->mask + 1) * sizeof(uint32_t));
}

/* All objects of an array are free: a list through the links that they have `size` bytes from each other. */
static void free_all(uint32_t *link, size_t size, uint32_t objects)
{
    for (uint32_t next = 1; next < objects; next++) {
        *link = next;
        link = (uint32_t *)(void *)((uint8_t *)link + size);
    }
    *link = NONE;
}

void fcvi_port_layout_clear(struct fcvi_port *p)
{
    const struct fcvi_port_limits *l = &p->limits;
    const uint32_t timers = fcvi_timers_needed(l), frames = control_frames(l);
    free_all(&vi_at(p, 0)->next_free, sizeof(struct vi), l->vis);
    free_all(&setup_at(p, 0)->next_free, sizeof(struct setup), l->setups);
    free_all(&point_at(p, 0)->next_free, sizeof(struct point), l->connectionpoints);
    free_all(&exchange_at(p, 0)->next_free, sizeof(struct exchange), l->exchanges);
    free_all(&entry_at(p, 0)->next, sizeof(struct entry), l->entries);
    free_all(&segment_at(p, 0)->next, sizeof(struct segment_node), l->segments);
    free_all(&run_at(p, 0)->next, sizeof(struct run), l->runs);
    free_all(&held_at(p, 0)->next, sizeof(struct held), l->held_frames);
    free_all(&remote_at(p, 0)->next_free, sizeof(struct remote_port), l->remote_ports);
    free_all(&control_at(p, 0)->next, sizeof(struct control_frame), frames);
    p->free_stream = p->talking = NONE;
    if (l->streams != 0) {
        p->free_stream = 0;
        free_all(&stream_at(p, 0)->next_free, sizeof(struct stream), l->streams);
    }
    for (uint32_t i = 0; i < timers; i++)
        ARRAY(p, struct timer, timers, i)->place = NONE;
    p->free_x_tail = l->exchanges - 1;
    p->control_head = p->control_tail = p->abts_due = NONE;
    p->control_count = frames;
    fcvi_fc2_exchange_ids_clear(p);
    p->ready = p->starved = NONE;
    clear_table(p, &p->by_exchange);
    clear_table(p, &p->by_connection_id);
    clear_table(p, &p->by_handle);
    clear_table(p, &p->by_point);
    clear_table(p, &p->by_port);
    clear_table(p, &p->by_host);
}
