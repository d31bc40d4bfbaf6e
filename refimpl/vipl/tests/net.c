/* See net.h. The baton is `turn`: the thread whose turn it is holds `mutex` throughout, so the lock and
 * unlock of the NICs are empty. */
#include "net.h"

#include <fcvi/port.h>
#include <fcvi/vipl_host.h>
#include <fcvi/vitcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOBODY = 2, MILLISECOND = 1000, LINKS = 64, PIECE = 1000, MTU = 65536 };
static const uint32_t nowhere = UINT32_MAX;

const unsigned char net_host[2][16] = {{0xfe, 0x80, [15] = 0xa1}, {0xfe, 0x80, [15] = 0xb2}};

struct side {
    struct hall *hall;
    uint64_t *memory;
    struct fcvi_port *port;
    program *program;
    struct run run;
    pthread_t thread;
    bool waiting, finished, kicked; /* kicked: something happened since it began to wait */
    uint64_t deadline;
};

/* A TCP connection: the stream at each side, NOWHERE where the side has ended. */
struct link {
    uint32_t stream[2];
    bool ended[2];
};

struct hall {
    pthread_mutex_t mutex;
    pthread_cond_t turn_changed;
    int turn;
    uint64_t now;
    const struct net *net;
    uint64_t *memory;
    struct fcvi_fabric *fabric;
    struct link link[LINKS];
    struct side side[2];
};

static int number_of(const struct side *s)
{
    return (int)(s - s->hall->side);
}

/* ---- TCP ---- */

static struct link *link_of(struct hall *h, int side, uint32_t stream)
{
    for (int i = 0; i < LINKS; i++)
        if (h->link[i].stream[side] == stream)
            return &h->link[i];
    return NULL;
}

static void call(struct hall *h, int from, const struct fcvi_stream_out *what)
{
    struct fcvi_endpoint caller = what->local, called = what->remote;
    uint32_t stream;
    struct link *l = link_of(h, 0, nowhere);
    caller.port = (uint16_t)(1000 + (l - h->link));
    bool taken = fcvi_stream_incoming(h->side[!from].port, h->now, &caller, &called, &stream);
    if (taken) {
        l->stream[from] = what->stream;
        l->stream[!from] = stream;
        l->ended[0] = l->ended[1] = false;
    }
    fcvi_stream_opened(h->side[from].port, h->now, what->stream, taken, &caller);
}

static void end(struct hall *h, int from, struct link *l, enum fcvi_close how)
{
    l->ended[from] = true;
    fcvi_stream_closed(h->side[!from].port, h->now, l->stream[!from], how);
    if (how == FCVI_CLOSE_RESET || l->ended[!from])
        l->stream[0] = l->stream[1] = nowhere;
}

/* What one port says arrives at the other, in pieces that cut headers. */
static bool say(struct hall *h, int from)
{
    uint8_t bytes[PIECE];
    struct fcvi_stream_out what;
    size_t n = fcvi_stream_transmit(h->side[from].port, h->now, bytes, sizeof bytes, &what);
    if (what.kind == FCVI_STREAM_NONE)
        return false;
    struct link *l = link_of(h, from, what.stream);
    if (what.kind == FCVI_STREAM_OPEN) {
        call(h, from, &what);
    } else if (what.kind == FCVI_STREAM_DATA) {
        fcvi_stream_receive(h->side[!from].port, h->now, l->stream[!from], bytes, n);
        fcvi_stream_window(h->side[from].port, h->now, what.stream, (int64_t)n);
    } else if (l != NULL) {
        end(h, from, l, what.kind == FCVI_STREAM_FIN ? FCVI_CLOSE_FIN : FCVI_CLOSE_RESET);
    }
    return true;
}

/* ---- frames ---- */

/* What the ports have to send goes out. */
static bool send_all(struct hall *h)
{
    if (h->net->tcp)
        return say(h, 0) | say(h, 1);
    uint8_t frame[FCVI_FABRIC_FRAME];
    struct fcvi_transmitted meta;
    bool any = false;
    for (uint32_t i = 0; i < 2; i++) {
        for (size_t n; (n = fcvi_port_transmit(h->side[i].port, h->now, frame, sizeof frame, &meta)) > 0;
             any = true)
            fcvi_fabric_send(h->fabric, h->now, i, frame, n, &meta);
    }
    return any;
}

/* The next frame that is due arrives. */
static bool deliver(struct hall *h)
{
    uint8_t frame[FCVI_FABRIC_FRAME];
    struct fcvi_input in;
    uint32_t to;
    if (h->net->tcp)
        return false;
    bool any = fcvi_fabric_deliver(h->fabric, h->now, &to, frame, sizeof frame, &in);
    if (any)
        fcvi_port_receive(h->side[to].port, h->now, &in);
    return any;
}

/* Let frames go both ways until a program has something to see or, at this time, no frame is left. Sending
 * may complete a Descriptor too. */
static void exchange(struct hall *h)
{
    bool any = send_all(h);
    any |= deliver(h);
    if (any)
        h->side[0].kicked = h->side[1].kicked = true;
}

static uint64_t next_time(const struct hall *h)
{
    uint64_t next = h->net->tcp ? FCVI_NEVER : fcvi_fabric_deadline(h->fabric);
    for (int i = 0; i < 2; i++) {
        uint64_t timer = fcvi_port_deadline(h->side[i].port);
        next = timer < next ? timer : next;
        if (h->side[i].waiting && !h->side[i].finished && h->side[i].deadline < next)
            next = h->side[i].deadline;
    }
    return next;
}

/* A poll may have taken time up, so that what is next is already due. */
static void advance(struct hall *h, uint64_t to)
{
    h->now = to > h->now ? to : h->now;
    for (int i = 0; i < 2; i++) {
        if (fcvi_port_deadline(h->side[i].port) > h->now)
            continue;
        fcvi_port_run(h->side[i].port, h->now);
        h->side[i].kicked = true;
    }
}

static bool runnable(const struct side *s)
{
    return !s->finished && (!s->waiting || s->kicked || s->deadline <= s->hall->now);
}

static void hand_over(struct hall *h, int to)
{
    h->turn = to;
    pthread_cond_broadcast(&h->turn_changed);
}

static void await_turn(struct side *s)
{
    while (s->hall->turn != number_of(s))
        pthread_cond_wait(&s->hall->turn_changed, &s->hall->mutex);
}

/* ---- what libvipl asks ---- */

static struct fcvi_port *nic_port(void *context)
{
    return ((struct side *)context)->port;
}

static uint64_t nic_now(void *context)
{
    return ((struct side *)context)->hall->now;
}

static int nic_pump(void *context, uint64_t deadline)
{
    struct side *s = context;
    struct hall *h = s->hall;
    struct side *other = &h->side[!number_of(s)];
    if (deadline == 0) {
        exchange(h);
        return 0;
    }
    s->waiting = true;
    s->deadline = deadline <= h->now ? h->now + 1 : deadline; /* a poll takes a microsecond */
    int result = 0;
    for (exchange(h); !runnable(s); exchange(h)) {
        if (runnable(other)) {
            hand_over(h, !number_of(s));
            await_turn(s);
            continue;
        }
        uint64_t next = next_time(h);
        if (next == FCVI_NEVER) {
            result = 1;
            break;
        }
        advance(h, next);
    }
    s->waiting = s->kicked = false;
    return result;
}

static void nothing(void *context)
{
    (void)context;
}

/* ---- life ---- */

static struct fcvi_port_identity identity_of(const struct net *net, int i)
{
    struct fcvi_port_identity self = {.port_name = 0x10000000c9000001 + (uint64_t)i,
                                      .node_name = 0x20000000c9000001 + (uint64_t)i,
                                      .n_port_id = net->n_port_id != 0 ? net->n_port_id + (uint32_t)i : 0,
                                      .hosts = 1};
    memcpy(self.host[0], net_host[i], 16);
    return self;
}

static struct fcvi_port_config config_of(const struct net *net, int i)
{
    struct fcvi_port_config c = {.self = identity_of(net, i),
                                 .topology = net->fabric.topology,
                                 .out_of_order = net->fabric.out_of_order,
                                 .service_class = net->service_class,
                                 .explicit_login = net->strangers,
                                 .e_d_tov_us = 2000 * MILLISECOND,
                                 .r_a_tov_us = 10000 * MILLISECOND,
                                 .receive_size = 2112,
                                 .seed = 1 + (uint64_t)i,
                                 .fabric_login = net->n_port_id == 0,
                                 .name_server = net->name_server};
    if (net->tcp)
        c.wire = FCVI_WIRE_VITCP;
    if (net->rev1)
        c.revision = FCVI_EDITION_REV1;
    if (!net->strangers)
        c.peer = identity_of(net, !i);
    return c;
}

static bool make_fabric(struct hall *h)
{
    const struct fcvi_fabric_limits limits = {.ports = 2, .frames = 512};
    memset(h->link, 0xFF, sizeof h->link); /* nowhere */
    if (h->net->tcp)
        return true;
    size_t size = fcvi_fabric_size(&limits);
    h->memory = calloc(1, size);
    h->fabric = h->memory != NULL ? fcvi_fabric_init(h->memory, size, &limits, &h->net->fabric) : NULL;
    return h->fabric != NULL;
}

static bool attach(struct side *s, const char *device, int i)
{
    const struct fcvi_port_limits limits = {.vis = 8,
                                            .connectionpoints = 8,
                                            .exchanges = 256,
                                            .regions = 16,
                                            .descriptors = 32,
                                            .events = 2048,
                                            .memory = 4096,
                                            .max_transfer_size = MTU,
                                            .streams = s->hall->net->tcp ? LINKS : 0};
    const struct fcvi_vipl_name names[] = {{"alpha", {0xfe, 0x80, [15] = 0xa1}},
                                           {"beta", {0xfe, 0x80, [15] = 0xb2}}};
    struct fcvi_vipl_nic info = {.rdma_read_levels = 6, /* both reliable levels */
                                 .max_vi = 8,
                                 .max_register_regions = 16,
                                 .max_descriptors_per_queue = 32,
                                 .max_transfer_size = 65536,
                                 .names = names,
                                 .name_count = 2};
    const struct fcvi_vipl_nic_ops ops = {
        .port = nic_port, .now = nic_now, .pump = nic_pump, .lock = nothing, .unlock = nothing};
    struct fcvi_port_config config = config_of(s->hall->net, i);
    memcpy(info.host, net_host[i], 16);
    size_t size = fcvi_port_size(&limits);
    s->memory = calloc(1, size);
    s->port = s->memory != NULL ? fcvi_port_init(s->memory, size, &limits, &config) : NULL;
    if (s->hall->net->tcp) {
        info.max_discriminator_length = FCVI_MAX_DISCRIMINATOR_VITCP;
        info.short_discriminators = true;
        return s->port != NULL && fcvi_vipl_attach(device, &ops, s, &info) == 0;
    }
    if (s->port == NULL ||
        fcvi_fabric_attach(s->hall->fabric, &config.self, s->hall->net->place) != (uint32_t)i)
        return false;
    fcvi_port_link(s->port, 0, FCVI_LINK_UP);
    return fcvi_vipl_attach(device, &ops, s, &info) == 0;
}

static void *thread(void *context)
{
    struct side *s = context;
    pthread_mutex_lock(&s->hall->mutex);
    await_turn(s);
    s->program(&s->run);
    s->finished = true;
    hand_over(s->hall, s->hall->side[!number_of(s)].finished ? NOBODY : !number_of(s));
    pthread_mutex_unlock(&s->hall->mutex);
    return NULL;
}

static void run_both(struct hall *h)
{
    for (int i = 0; i < 2; i++)
        if (pthread_create(&h->side[i].thread, NULL, thread, &h->side[i]) != 0)
            abort();
    for (int i = 0; i < 2; i++)
        pthread_join(h->side[i].thread, NULL);
}

const char *net_run(const struct net *net, program *a, program *b, unsigned short level)
{
    static char failure[512];
    const char *device[2] = {"VINIC0", "VINIC1"}, *host[2] = {"alpha", "beta"};
    struct hall h = {
        .net = net, .mutex = PTHREAD_MUTEX_INITIALIZER, .turn_changed = PTHREAD_COND_INITIALIZER};
    failure[0] = '\0';
    if (!make_fabric(&h))
        return "no Fabric";
    for (int i = 0; i < 2; i++) {
        struct side *s = &h.side[i];
        s->hall = &h;
        s->program = i == 0 ? a : b;
        s->run = (struct run){.device = device[i], .other = host[!i], .level = level};
        if (!attach(s, device[i], i))
            snprintf(failure, sizeof failure, "no %s", device[i]);
    }
    if (failure[0] == '\0') {
        run_both(&h);
        if (h.side[0].run.failure[0] != '\0' || h.side[1].run.failure[0] != '\0')
            snprintf(failure, sizeof failure, "%s | %s", h.side[0].run.failure, h.side[1].run.failure);
    }
    for (int i = 0; i < 2; i++)
        if (fcvi_vipl_detach(device[i]) != 0 && failure[0] == '\0')
            snprintf(failure, sizeof failure, "%s is in use", device[i]);
    for (int i = 0; i < 2; i++)
        free(h.side[i].memory);
    free(h.memory);
    return failure[0] != '\0' ? failure : NULL;
}
