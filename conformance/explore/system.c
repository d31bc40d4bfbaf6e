/* The beginning: two ports that know each other, memory, an Endpoint each; and the state as bytes. */
#include "explore.h"

#include <stdlib.h>
#include <string.h>

static const struct fcvi_port_limits limits = {
    .vis = 1,
    .connectionpoints = 1,
    .exchanges = 24,
    .regions = 1,
    .descriptors = 8,
    .events = 32,
    .memory = MEMORY,
    .max_transfer_size = SLOT,
    .setups = 6,
    .remote_ports = 2,
    .runs = 16,
    .held_frames = 4,
};
static const struct fcvi_port_limits stream_limits = {
    .vis = 1,
    .connectionpoints = 1,
    .exchanges = 1,
    .regions = 1,
    .descriptors = 8,
    .events = 32,
    .memory = MEMORY,
    .max_transfer_size = SLOT,
    .streams = LINKS,
};
static const struct fcvi_monitor_limits monitor_limits = {
    .exchanges = 32, .endpoints = 8, .setups = 16, .sequences = 32, .pairs = 2};

static struct fcvi_port_identity identity(unsigned i)
{
    return (struct fcvi_port_identity){.port_name = 0x10000000c9000001u + i,
                                       .node_name = 0x20000000c9000001u + i,
                                       .n_port_id = 0x010100u * (i + 1),
                                       .hosts = 1,
                                       .host = {{0xfe, 0x80, [15] = (uint8_t)(0xa1 + i)}}};
}

static struct fcvi_port_config config(const struct system *s, unsigned i)
{
    if (s->scenario->streams)
        return (struct fcvi_port_config){.wire = FCVI_WIRE_VITCP,
                                         .self = identity(i),
                                         .seed = i + 1,
                                         .vitcp = {.flow_control = s->scenario->flow_control,
                                                   .segment_size = SEGMENT,
                                                   .incoming_timeout_us = R_A_TOV,
                                                   .retry_us = R_A_TOV / 2,
                                                   .linger_us = R_A_TOV}};
    return (struct fcvi_port_config){.self = identity(i),
                                     .peer = identity(!i),
                                     .topology = FCVI_FABRIC,
                                     .out_of_order = s->options->out_of_order,
                                     .service_class = s->options->service_class,
                                     .e_d_tov_us = E_D_TOV,
                                     .r_a_tov_us = R_A_TOV,
                                     .receive_size = s->scenario->small_frames ? 256 : 512,
                                     .seed = i + 1};
}

static const struct fcvi_port_limits *limits_of(const struct scenario *scenario)
{
    return scenario->streams ? &stream_limits : &limits;
}

static size_t aligned(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static bool make_port(struct system *s, unsigned i)
{
    const struct fcvi_port_config c = config(s, i);
    const struct fcvi_attributes a = {.reliability = s->scenario->level,
                                      .max_transfer_size = SLOT,
                                      .rdma_write = true,
                                      .rdma_read = s->scenario->level != FCVI_UNRELIABLE,
                                      .pipeline_depth = 2};
    struct fcvi_port *p = fcvi_port_init(s->base + s->port_at[i], s->port_size, limits_of(s->scenario), &c);
    if (p == NULL || fcvi_vip_create_vi(p, 0, &a, &s->vi[i]) != VIP_SUCCESS)
        return false;
    return fcvi_vip_register_mem(p, 0, MEMORY, true, true, &s->mem[i], &s->va[i], &s->handle[i]) ==
           VIP_SUCCESS;
}

/* Frames in order and calls as they become possible, until nothing is left but timers; the server is first.
 */
static void settle(struct system *s, struct breach *b)
{
    struct choice list[CHOICES];
    for (;;) {
        unsigned n = fcvi_explore_choices(s, s->base, list);
        if (n == 0 || list[n - 1].kind == EXPIRE || b->rule != NULL)
            return;
        fcvi_explore_apply(s, s->base, &list[n - 1], b);
    }
}

/* The setup without any fault; then the script of the scenario itself. */
static bool connect(struct system *s)
{
    const struct scenario *own = s->scenario;
    const struct scenario setup = {
        .script = {{OP_REQUEST}, {OP_WAIT, OP_ACCEPT}}, .streams = own->streams, .timeout = FCVI_NEVER};
    struct breach b = {0};
    struct world *w = world_of(s->base);
    s->scenario = &setup;
    settle(s, &b);
    s->scenario = own;
    for (unsigned i = 0; i < PORTS; i++)
        w->app[i].step = 0;
    return b.rule == NULL && w->app[0].joined && w->app[1].joined;
}

/* How much memory the monitor takes: one for FC, one for each TCP connection. */
static size_t monitors(struct system *s)
{
    if (!s->options->monitor)
        return s->monitor_size = 0;
    if (!s->scenario->streams)
        return s->monitor_size = aligned(fcvi_monitor_size(&monitor_limits));
    s->monitor_size = aligned(fcvi_vitcp_monitor_size());
    return LINKS * s->monitor_size;
}

bool fcvi_explore_system_make(struct system *s, const struct scenario *scenario,
                              const struct options *options)
{
    const struct fcvi_monitor_config mc = {.limits = monitor_limits,
                                           .trust = FCVI_TRUST_ALL | FCVI_TRUST_START | FCVI_TRUST_ORDER,
                                           .r_a_tov_us = R_A_TOV};
    *s = (struct system){.scenario = scenario, .options = options};
    s->port_size = fcvi_port_size(limits_of(scenario));
    s->port_at[0] = aligned(sizeof(struct world));
    s->port_at[1] = s->port_at[0] + aligned(s->port_size);
    s->monitor_at = s->port_at[1] + aligned(s->port_size);
    s->size = s->monitor_at + monitors(s);
    s->base = calloc(1, s->size);
    if (s->base == NULL || !make_port(s, 0) || !make_port(s, 1))
        return false;
    if (options->monitor && !scenario->streams &&
        fcvi_monitor_init(s->base + s->monitor_at, s->monitor_size, &mc) == NULL)
        return false;
    struct world *w = world_of(s->base);
    /* receive Descriptors lie ready before the setup, as an application would have it (VI-ARCH 2.4.1) */
    for (unsigned i = 0; i < PORTS; i++) {
        fcvi_explore_app_target(s, s->base, i);
        for (unsigned n = 0; n < 2; n++)
            if (!fcvi_explore_app_post(s, s->base, i, OP_END))
                return false;
    }
    if (scenario->connected && !connect(s))
        return false;
    memcpy(w->left, options->budget, sizeof w->left);
    return true;
}

void fcvi_explore_system_free(struct system *s)
{
    free(s->base);
    s->base = NULL;
}

/* ---- the state as bytes ---- */

struct pen {
    uint8_t *out;
    size_t capacity, length;
};

static void put(struct pen *p, const void *bytes, size_t n)
{
    if (p->length + n <= p->capacity)
        memcpy(p->out + p->length, bytes, n);
    p->length += n;
}

/* Frames count by their age. */
static void put_channel(struct pen *p, const struct channel *c, uint64_t now)
{
    put(p, &c->count, sizeof c->count);
    for (uint32_t i = 0; i < c->count; i++) {
        const struct flying *f = &c->frame[i];
        uint64_t age = now - f->sent;
        uint16_t what[2] = {f->length, (uint16_t)(f->sof << 8 | f->eof)};
        put(p, &age, sizeof age);
        put(p, what, sizeof what);
        put(p, f->bytes, f->length);
    }
}

static void put_link(struct pen *p, const struct link *l)
{
    const bool what[] = {l->used, l->gone, l->accepted};
    put(p, what, sizeof what);
    put(p, &l->opener, sizeof l->opener);
    for (unsigned i = 0; i < PORTS; i++) {
        const struct end *e = &l->end[i];
        const bool end[] = {e->known, e->open, e->over, e->fin_sent, e->fin_seen};
        put(p, end, sizeof end);
        put(p, &e->stream, sizeof e->stream);
        put(p, &l->to[i].count, sizeof l->to[i].count);
        for (uint32_t n = 0; n < l->to[i].count; n++) {
            const struct unit *u = &l->to[i].unit[n];
            put(p, &u->kind, sizeof u->kind);
            put(p, &u->length, sizeof u->length);
            put(p, &u->taken, sizeof u->taken);
            put(p, u->bytes, u->length);
        }
    }
}

/* Equal bytes, equal futures: the ports (fcvi_port_canonical), what is under way, applications, what is left
 * to go wrong, and what the rules remember. The monitor is left out: it follows every path that is taken, but
 * two paths into one state are not told apart for its sake. */
size_t fcvi_explore_system_canonical(const struct system *s, uint8_t *block, uint8_t *out, size_t capacity)
{
    const struct world *w = world_of(block);
    struct pen p = {out, capacity, 0};
    put(&p, w->left, sizeof w->left);
    for (unsigned i = 0; s->scenario->streams && i < LINKS; i++)
        put_link(&p, &w->link[i]);
    for (unsigned i = 0; i < PORTS; i++) {
        if (!s->scenario->streams)
            put_channel(&p, &w->to[i], w->now);
        put(&p, &w->app[i], sizeof w->app[i]);
        put(&p, &w->past[i], sizeof w->past[i]);
        size_t room = p.length < capacity ? capacity - p.length : 0;
        p.length += fcvi_port_canonical(port_of(s, block, i), w->now, out + p.length, room);
    }
    return p.length;
}
