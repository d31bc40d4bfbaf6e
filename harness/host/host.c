/* See host.h. */
#include "host.h"

#include <vipl.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { FRAMES_A_TURN = 256, LONGEST_SLEEP_US = 1000000, FRAMES_AT_ONCE = 100000, LONGEST_NAME = 63 };

struct end {
    struct host *host;
    uint64_t *memory;
    struct fcvi_port *port;
    char device[LONGEST_NAME + 1]; /* empty: libvipl does not have it */
};

struct host {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t changes, since;
    struct host_wire wire;
    int wake;             /* eventfd of the thread that carries; -1: there is none */
    uint64_t sleeps_till; /* that thread, on the ports' clock */
    bool cut;
    size_t ports;
    struct end end[HOST_PORTS];
    pthread_t mover; /* runs handlers */
    bool moves;      /* until it is to end */
    void (*waits)(void);
};

static uint64_t clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void begin_locks(struct host *h)
{
    pthread_condattr_t monotonic;
    pthread_mutex_init(&h->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&h->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

struct host *host_new(void)
{
    struct host *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    begin_locks(h);
    h->wake = h->wire.fd = -1;
    h->since = clock_us();
    return h;
}

void host_free(struct host *h)
{
    if (h->wire.close != NULL)
        h->wire.close(h->wire.context);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->mutex);
    free(h);
}

uint64_t host_now(const struct host *h)
{
    return clock_us() - h->since;
}

void host_lock(struct host *h)
{
    pthread_mutex_lock(&h->mutex);
}

void host_unlock(struct host *h)
{
    pthread_mutex_unlock(&h->mutex);
}

struct fcvi_port *host_port(struct host *h, size_t number)
{
    return h->end[number].port;
}

size_t host_ports(const struct host *h)
{
    return h->ports;
}

int host_fd(const struct host *h)
{
    return h->wire.fd;
}

void host_when_waiting(struct host *h, void (*waits)(void))
{
    h->waits = waits;
}

/* ---- what goes out and comes in ---- */

/* True when there was a frame. What a port says to another may be answered at once. */
static bool send_all(struct host *h)
{
    uint8_t frame[24 + 2112];
    struct fcvi_transmitted meta;
    size_t length;
    bool any = false, more = true;
    if (h->wire.say != NULL)
        return h->ports > 0 && !h->cut && h->wire.say(h->wire.context, h->end[0].port, host_now(h));
    for (int sent = 0; more && sent < FRAMES_AT_ONCE;) {
        more = false;
        for (size_t i = 0; i < h->ports; i++)
            while ((length = fcvi_port_transmit(h->end[i].port, host_now(h), frame, sizeof frame, &meta)) >
                   0) {
                struct fcvi_input out = {frame, length, meta.sof, meta.eof, FCVI_CRC_OK};
                if (!h->cut && h->wire.transmit != NULL)
                    h->wire.transmit(h->wire.context, i, frame, &out);
                any = more = true;
                sent++;
            }
    }
    return any;
}

static uint64_t next_deadline(const struct host *h)
{
    uint64_t first = FCVI_NEVER;
    for (size_t i = 0; i < h->ports; i++) {
        uint64_t due = fcvi_port_deadline(h->end[i].port);
        first = due < first ? due : first;
    }
    return first;
}

static void tell(struct host *h)
{
    h->changes++;
    pthread_cond_broadcast(&h->changed);
}

/* What arrives for no port is forgotten. */
void host_turn(struct host *h)
{
    struct fcvi_input in;
    bool any = false;
    if (h->wire.take != NULL) {
        bool there = h->ports > 0 && !h->cut;
        any = h->wire.take(h->wire.context, there ? h->end[0].port : NULL, there ? host_now(h) : 0);
        any |= send_all(h);
    }
    for (int i = 0; h->wire.receive != NULL && i < FRAMES_A_TURN && h->wire.receive(h->wire.context, &in);
         i++) {
        if (h->ports == 0)
            continue;
        fcvi_port_receive(h->end[0].port, host_now(h), &in);
        send_all(h);
        any = true;
    }
    if (h->ports > 0 && next_deadline(h) <= host_now(h)) {
        for (size_t i = 0; i < h->ports; i++)
            fcvi_port_run(h->end[i].port, host_now(h));
        send_all(h);
        any = true;
    }
    if (any)
        tell(h);
}

/* How long nobody has anything to do, unless something comes or the timers change. */
static uint64_t idle_us(struct host *h)
{
    uint64_t now = h->ports > 0 ? host_now(h) : 0;
    uint64_t due = h->ports > 0 ? next_deadline(h) : FCVI_NEVER;
    uint64_t idle = due <= now ? 0 : due - now;
    idle = idle < LONGEST_SLEEP_US ? idle : LONGEST_SLEEP_US;
    h->sleeps_till = now + idle;
    return idle;
}

/* Carries between the wire and the ports for as long as the program runs. */
static void *carry(void *context)
{
    struct host *h = context;
    struct pollfd on[2] = {{.fd = h->wire.fd, .events = POLLIN}, {.fd = h->wake, .events = POLLIN}};
    uint64_t count;
    for (;;) {
        host_lock(h);
        host_turn(h);
        uint64_t idle = idle_us(h);
        host_unlock(h);
        if (poll(on, 2, (int)((idle + 999) / 1000)) > 0 && (on[1].revents & POLLIN) != 0)
            (void)!read(h->wake, &count, sizeof count);
        if ((on[0].revents & (POLLERR | POLLHUP)) != 0) /* the interface is down: it may come back */
            usleep(LONGEST_SLEEP_US / 10);
    }
    return NULL;
}

/* A thread that takes no signal of the program's. */
static bool spawn(pthread_t *thread, void *(*body)(void *), struct host *h)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool good = pthread_create(thread, NULL, body, h) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return good;
}

bool host_on(struct host *h, const struct host_wire *wire)
{
    pthread_t thread;
    h->wire = *wire;
    if (wire->fd < 0)
        return true;
    h->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (h->wake < 0 || !spawn(&thread, carry, h))
        return false;
    pthread_detach(thread);
    return true;
}

/* ---- what libvipl asks ---- */

static struct fcvi_port *nic_port(void *context)
{
    return ((struct end *)context)->port;
}

static uint64_t nic_now(void *context)
{
    return host_now(((struct end *)context)->host);
}

static void await_change(struct host *h, uint64_t until)
{
    uint64_t before = h->changes, at = h->since + until;
    struct timespec t = {(time_t)(at / 1000000), (long)(at % 1000000) * 1000};
    while (h->changes == before)
        if (pthread_cond_timedwait(&h->changed, &h->mutex, &t) != 0)
            return;
}

static int nic_pump(void *context, uint64_t deadline)
{
    struct host *h = ((struct end *)context)->host;
    const uint64_t now = host_now(h),
                   longest = now + LONGEST_SLEEP_US; /* looks again, whatever it was told */
    bool any =
        send_all(h) && h->ports > 1; /* then the other NIC has something to see, and may have answered */
    if (any)
        tell(h);
    if (h->cut)
        return 1;
    if (deadline <= now && deadline > 0) {
        host_turn(h); /* who polls drives the port */
    } else if (!any && deadline > now) {
        if (h->waits != NULL)
            h->waits();
        await_change(h, deadline < longest ? deadline : longest);
    }
    return 0;
}

static _Thread_local bool is_mover;

void host_used(struct host *h)
{
    const uint64_t one = 1;
    bool any = false;
    if (h->wire.fd >= 0 || h->ports > 1) {
        any = send_all(h);
        if (h->wake >= 0 && next_deadline(h) < h->sleeps_till)
            (void)!write(h->wake, &one, sizeof one);
    }
    if (is_mover && !any)
        return; /* it looked, and that is no news to itself */
    tell(h);
}

static void nic_kick(void *context)
{
    host_used(((struct end *)context)->host);
}

static void nic_lock(void *context)
{
    host_lock(((struct end *)context)->host);
}

static void nic_unlock(void *context)
{
    host_unlock(((struct end *)context)->host);
}

/* ---- ports ---- */

static const char *make_port(struct host *h, size_t number, const struct fcvi_port_config *config)
{
    const bool tcp = config->wire == FCVI_WIRE_VITCP;
    const struct fcvi_port_limits limits = {.vis = HOST_VIS,
                                            .connectionpoints = 64,
                                            .exchanges = 1024,
                                            .regions = HOST_REGIONS,
                                            .descriptors = 64,
                                            .events = 4096,
                                            .memory = 4096,
                                            .max_transfer_size = HOST_TRANSFER,
                                            .streams = tcp ? 256 : 0};
    struct end *e = &h->end[number];
    size_t size = fcvi_port_size(&limits);
    host_lock(h);
    host_turn(h); /* what was before this port */
    h->cut = false;
    if (number == 0)
        h->since = clock_us();
    e->host = h;
    e->memory = calloc(1, size);
    e->port = e->memory != NULL ? fcvi_port_init(e->memory, size, &limits, config) : NULL;
    if (e->port != NULL)
        h->ports = number + 1;
    host_unlock(h);
    if (e->port == NULL && config->revision == FCVI_EDITION_REV1)
        return "the port takes no such configuration; receive_size is at least 348 in Rev 1.0";
    return e->port != NULL ? NULL : "the port takes no such configuration";
}

const char *host_attach(struct host *h, size_t number, const char *device,
                        const struct fcvi_port_config *config, const struct fcvi_vipl_nic *tables)
{
    const struct fcvi_vipl_nic_ops ops = {nic_port, nic_now, nic_pump, nic_kick, nic_lock, nic_unlock};
    struct fcvi_vipl_nic info = *tables;
    info.rdma_read_levels = VIP_SERVICE_RELIABLE_DELIVERY | VIP_SERVICE_RELIABLE_RECEPTION;
    info.max_vi = HOST_VIS;
    info.max_register_regions = HOST_REGIONS;
    info.max_descriptors_per_queue = 64;
    info.max_transfer_size = HOST_TRANSFER;
    if (config->wire == FCVI_WIRE_VITCP) {
        info.max_discriminator_length = FCVI_MAX_DISCRIMINATOR_VITCP;
        info.short_discriminators = true;
    }
    if (config->revision == FCVI_EDITION_REV1)
        info.short_discriminators = true; /* 7.1 of the draft: 0 to 128 bytes */
    const char *why = strlen(device) <= LONGEST_NAME ? make_port(h, number, config) : "its name is too long";
    if (why != NULL)
        return why;
    memcpy(info.host, config->self.host[0], sizeof info.host);
    _Static_assert(FCVI_MAX_HOSTS - 1 <= FCVI_VIPL_MORE_HOSTS, "the NIC tells every address of the port");
    for (uint32_t i = 1; i < config->self.hosts && i < FCVI_MAX_HOSTS; i++)
        memcpy(info.more_hosts[info.more_host_count++], config->self.host[i], sizeof info.host);
    if (fcvi_vipl_attach(device, &ops, &h->end[number], &info) != 0)
        return "libvipl does not take the NIC";
    memcpy(h->end[number].device, device, strlen(device) + 1);
    return NULL;
}

/* Handlers are due when the wire or time have moved a port and the program makes no call. */
static void *move(void *context)
{
    struct host *h = context;
    uint64_t seen = 0;
    is_mover = true;
    for (bool go_on = true; go_on;) {
        host_lock(h);
        host_turn(h);
        uint64_t due = next_deadline(h), longest = host_now(h) + LONGEST_SLEEP_US;
        if (seen == h->changes && h->moves)
            await_change(h, due < longest ? due : longest);
        seen = h->changes;
        go_on = h->moves;
        host_unlock(h);
        for (size_t i = 0; i < HOST_PORTS && go_on; i++)
            if (h->end[i].device[0] != '\0')
                (void)fcvi_vipl_turn(h->end[i].device);
    }
    return NULL;
}

bool host_run_handlers(struct host *h)
{
    h->moves = true; /* it ends when this is not so */
    if (!spawn(&h->mover, move, h))
        h->moves = false;
    return h->moves;
}

void host_cut(struct host *h)
{
    host_lock(h);
    h->cut = true;
    if (h->ports > 0)
        host_used(h);
    host_unlock(h);
}

void host_end(struct host *h)
{
    if (h->moves) {
        host_lock(h);
        h->moves = false;
        tell(h);
        host_unlock(h);
        pthread_join(h->mover, NULL);
    }
    for (size_t i = 0; i < HOST_PORTS; i++)
        if (h->end[i].device[0] != '\0') {
            (void)fcvi_vipl_detach(h->end[i].device);
            h->end[i].device[0] = '\0';
        }
    host_lock(h);
    h->ports = 0;
    if (h->wire.forget != NULL)
        h->wire.forget(h->wire.context);
    for (size_t i = 0; i < HOST_PORTS; i++) {
        free(h->end[i].memory);
        h->end[i].memory = NULL;
        h->end[i].port = NULL;
    }
    host_unlock(h);
}

void host_leave(struct host *h)
{
    host_lock(h);
    host_turn(h);
    for (size_t i = 0; i < h->ports; i++)
        fcvi_port_link(h->end[i].port, host_now(h), FCVI_LINK_LOGO); /* nothing where the wire is VI/TCP */
    (void)send_all(h);
    host_unlock(h);
}

/* The memory stays: a thread that the fork did not copy may have been inside it. */
void host_forked(struct host *h)
{
    begin_locks(h);
    if (h->wake >= 0)
        close(h->wake);
    if (h->wire.close != NULL)
        h->wire.close(h->wire.context);
    h->wire = (struct host_wire){.fd = -1};
    h->wake = -1;
    h->ports = 0;
}
