/* See wire.h. The baton is `turn`: the thread whose turn it is holds `mutex` throughout, so the lock and
 * unlock of the NICs are empty. */
#include "wire.h"

#include <fcvi/port.h>
#include <fcvi/vipl_host.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOBODY = 2, FRAME = 24 + 2112 };

const unsigned char wire_host[2][16] = {{0xfe, 0x80, [15] = 0xa1}, {0xfe, 0x80, [15] = 0xb2}};

struct side {
    struct wire *wire;
    uint64_t *memory;
    struct fcvi_port *port;
    program *program;
    struct run run;
    pthread_t thread;
    bool waiting, finished, kicked; /* kicked: something happened since it began to wait */
    uint64_t deadline;
};

struct wire {
    pthread_mutex_t mutex;
    pthread_cond_t turn_changed;
    int turn;
    uint64_t now;
    struct side side[2];
};

static int number_of(const struct side *s)
{
    return (int)(s - s->wire->side);
}

/* Carry frames both ways until neither port has one. */
static void exchange(struct wire *w)
{
    uint8_t frame[FRAME];
    struct fcvi_transmitted meta;
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < 2; i++) {
            size_t n = fcvi_port_transmit(w->side[i].port, w->now, frame, sizeof frame, &meta);
            if (n == 0)
                continue;
            struct fcvi_input in = {frame, n, meta.sof, meta.eof, FCVI_CRC_OK};
            fcvi_port_receive(w->side[!i].port, w->now, &in);
            w->side[0].kicked = w->side[1].kicked = true; /* what is sent may complete a Descriptor */
            more = true;
        }
    }
}

static uint64_t next_time(const struct wire *w)
{
    uint64_t next = FCVI_NEVER;
    for (int i = 0; i < 2; i++) {
        uint64_t timer = fcvi_port_deadline(w->side[i].port);
        next = timer < next ? timer : next;
        if (w->side[i].waiting && !w->side[i].finished && w->side[i].deadline < next)
            next = w->side[i].deadline;
    }
    return next;
}

static void advance(struct wire *w, uint64_t to)
{
    w->now = to > w->now ? to : w->now;
    for (int i = 0; i < 2; i++) {
        if (fcvi_port_deadline(w->side[i].port) > w->now)
            continue;
        fcvi_port_run(w->side[i].port, w->now);
        w->side[i].kicked = true;
    }
}

static bool runnable(const struct side *s)
{
    return !s->finished && (!s->waiting || s->kicked || s->deadline <= s->wire->now);
}

static void hand_over(struct wire *w, int to)
{
    w->turn = to;
    pthread_cond_broadcast(&w->turn_changed);
}

static void await_turn(struct side *s)
{
    while (s->wire->turn != number_of(s))
        pthread_cond_wait(&s->wire->turn_changed, &s->wire->mutex);
}

/* ---- what libvipl asks ---- */

static struct fcvi_port *nic_port(void *context)
{
    return ((struct side *)context)->port;
}

static uint64_t nic_now(void *context)
{
    return ((struct side *)context)->wire->now;
}

static int nic_pump(void *context, uint64_t deadline)
{
    struct side *s = context;
    struct wire *w = s->wire;
    struct side *other = &w->side[!number_of(s)];
    if (deadline == 0) {
        exchange(w);
        return 0;
    }
    s->waiting = true;
    s->deadline = deadline <= w->now ? w->now + 1 : deadline; /* a poll takes a microsecond */
    int result = 0;
    for (exchange(w); !runnable(s); exchange(w)) {
        if (runnable(other)) {
            hand_over(w, !number_of(s));
            await_turn(s);
            continue;
        }
        uint64_t next = next_time(w);
        if (next == FCVI_NEVER) {
            result = 1;
            break;
        }
        advance(w, next);
    }
    s->waiting = s->kicked = false;
    return result;
}

static void nothing(void *context)
{
    (void)context;
}

/* ---- life ---- */

static struct fcvi_port_config config_of(int i)
{
    struct fcvi_port_config c = {.service_class = 3,
                                 .e_d_tov_us = 2000000,
                                 .r_a_tov_us = 10000000,
                                 .receive_size = 2112,
                                 .seed = 1 + (uint64_t)i};
    c.self = (struct fcvi_port_identity){0x10000000c9000001 + (uint64_t)i,
                                         0x20000000c9000001 + (uint64_t)i,
                                         0x010100u + (uint32_t)i,
                                         1,
                                         {{0}}};
    memcpy(c.self.host[0], wire_host[i], 16);
    return c;
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
                                            .max_transfer_size = 65536};
    const struct fcvi_vipl_name names[] = {{"alpha", {0xfe, 0x80, [15] = 0xa1}},
                                           {"beta", {0xfe, 0x80, [15] = 0xb2}}};
    struct fcvi_vipl_nic info = {.rdma_read_levels = 6, /* both reliable levels */
                                 .max_vi = 8,
                                 .max_register_regions = 16,
                                 .max_descriptors_per_queue = 32,
                                 .max_transfer_size = 65536,
                                 .names = names,
                                 .name_count = 2};
    const struct fcvi_vipl_nic_ops ops = {nic_port, nic_now, nic_pump, NULL, nothing, nothing};
    struct fcvi_port_config config = config_of(i);
    config.peer = config_of(!i).self;
    memcpy(info.host, wire_host[i], 16);
    size_t size = fcvi_port_size(&limits);
    s->memory = calloc(1, size);
    s->port = s->memory != NULL ? fcvi_port_init(s->memory, size, &limits, &config) : NULL;
    return s->port != NULL && fcvi_vipl_attach(device, &ops, s, &info) == 0;
}

static void *thread(void *context)
{
    struct side *s = context;
    pthread_mutex_lock(&s->wire->mutex);
    await_turn(s);
    s->program(&s->run);
    s->finished = true;
    hand_over(s->wire, s->wire->side[!number_of(s)].finished ? NOBODY : !number_of(s));
    pthread_mutex_unlock(&s->wire->mutex);
    return NULL;
}

static void run_both(struct wire *w)
{
    for (int i = 0; i < 2; i++)
        if (pthread_create(&w->side[i].thread, NULL, thread, &w->side[i]) != 0)
            abort();
    for (int i = 0; i < 2; i++)
        pthread_join(w->side[i].thread, NULL);
}

const char *wire_run(program *a, program *b, unsigned short level)
{
    static char failure[512];
    const char *device[2] = {"VINIC0", "VINIC1"}, *host[2] = {"alpha", "beta"};
    struct wire w = {.mutex = PTHREAD_MUTEX_INITIALIZER, .turn_changed = PTHREAD_COND_INITIALIZER};
    failure[0] = '\0';
    for (int i = 0; i < 2; i++) {
        struct side *s = &w.side[i];
        s->wire = &w;
        s->program = i == 0 ? a : b;
        s->run = (struct run){.device = device[i], .other = host[!i], .level = level};
        if (!attach(s, device[i], i))
            snprintf(failure, sizeof failure, "no %s", device[i]);
    }
    if (failure[0] == '\0') {
        run_both(&w);
        if (w.side[0].run.failure[0] != '\0' || w.side[1].run.failure[0] != '\0')
            snprintf(failure, sizeof failure, "%s | %s", w.side[0].run.failure, w.side[1].run.failure);
    }
    for (int i = 0; i < 2; i++)
        if (fcvi_vipl_detach(device[i]) != 0 && failure[0] == '\0')
            snprintf(failure, sizeof failure, "%s is in use", device[i]);
    for (int i = 0; i < 2; i++)
        free(w.side[i].memory);
    return failure[0] != '\0' ? failure : NULL;
}
