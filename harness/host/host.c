/* See host.h.
 *
 * Who waits or polls in a call drives the ports himself: a Message wakes its reader, and no thread between.
 * The host's own thread leaves the wire to such callers, and takes it again when none has come for a nap. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): ppoll */
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
enum { LONGEST_NAP_US = 2000, NAP_STEP_US = 50, LINK_PAUSE_US = 100000 };
enum { SPIN_US = 5, SPIN_GAP_US = 5, LONGEST_REST_US = 1000 };

struct end {
    struct host *host;
    uint64_t *memory;
    struct fcvi_port *port;
    char device[LONGEST_NAME + 1]; /* empty: libvipl does not have it */
};

struct host {
    pthread_mutex_t mutex;
    uint64_t since;
    struct host_wire wire;
    bool cut;
    size_t ports;
    struct end end[HOST_PORTS];
    void (*waits)(void);
    /* calls that wait: one drives, asleep at the wire, and the others for what it finds */
    pthread_cond_t changed;
    uint64_t changes;
    unsigned waiting; /* for `changed` */
    bool driving;
    int call;             /* eventfd that wakes who drives; -1: there is no wire */
    bool called;          /* it is written */
    uint64_t drove_at;    /* when a call last looked at the wire, of clock_us */
    uint64_t spins_since; /* polls that follow one another, and find nothing */
    /* the thread that carries when no call drives */
    int wake;             /* eventfd that wakes it; -1: there is none */
    uint64_t sleeps_till; /* on the ports' clock */
    uint64_t nap;         /* how long it leaves the wire to calls; short where they leave it to it */
    bool naps;            /* it looks again after a nap */
    bool away;            /* a call drives and has done so for a nap: that call wakes it */
    /* the thread that runs handlers */
    pthread_t mover;
    pthread_cond_t moved;
    uint64_t moves; /* of a port, by no call */
    bool moving;    /* until it is to end */
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
    pthread_cond_init(&h->moved, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

struct host *host_new(void)
{
    struct host *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    begin_locks(h);
    h->wake = h->call = h->wire.fd = -1;
    h->since = clock_us();
    h->nap = LONGEST_NAP_US;
    return h;
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

static void ring(int fd)
{
    const uint64_t one = 1;
    (void)!write(fd, &one, sizeof one);
}

static void silence(int fd)
{
    uint64_t count;
    (void)!read(fd, &count, sizeof count);
}

/* Calls that wait look again. */
static void tell(struct host *h)
{
    h->changes++;
    if (h->waiting > 0)
        pthread_cond_broadcast(&h->changed);
    if (h->driving && !h->called)
        ring(h->call);
    h->called = h->driving;
}

/* Handlers may have become due, and nobody is in a call. */
static void tell_mover(struct host *h)
{
    h->moves++;
    pthread_cond_signal(&h->moved);
}

/* What goes out next may tell the other side of what the program has to see first. */
static void settle(struct host *h)
{
    for (size_t i = 0; i < h->ports; i++)
        if (h->end[i].device[0] != '\0')
            (void)fcvi_vipl_settle(h->end[i].device);
}

/* What arrives for no port is forgotten. */
static bool take_in(struct host *h)
{
    struct fcvi_input in;
    bool any = false;
    if (h->wire.take != NULL) {
        bool there = h->ports > 0 && !h->cut;
        any = h->wire.take(h->wire.context, there ? h->end[0].port : NULL, there ? host_now(h) : 0);
    }
    for (int i = 0; h->wire.receive != NULL && i < FRAMES_A_TURN && h->wire.receive(h->wire.context, &in);
         i++) {
        if (h->ports == 0)
            continue;
        fcvi_port_receive(h->end[0].port, host_now(h), &in);
        settle(h);
        send_all(h);
        any = true;
    }
    return any;
}

static bool take_time(struct host *h)
{
    if (h->ports == 0 || next_deadline(h) > host_now(h))
        return false;
    for (size_t i = 0; i < h->ports; i++)
        fcvi_port_run(h->end[i].port, host_now(h));
    return true;
}

void host_turn(struct host *h)
{
    bool any = take_in(h);
    any |= take_time(h);
    if (any)
        settle(h);
    if (send_all(h) || any)
        tell(h);
}

/* ---- the thread that carries ---- */

/* How long nobody has anything to do, unless something comes or the timers change. */
static uint64_t idle_us(struct host *h)
{
    uint64_t now = h->ports > 0 ? host_now(h) : 0;
    uint64_t due = h->ports > 0 ? next_deadline(h) : FCVI_NEVER;
    uint64_t idle = due <= now ? 0 : due - now;
    return idle < LONGEST_SLEEP_US ? idle : LONGEST_SLEEP_US;
}

/* One look; how long to sleep, and whether at the wire. What it finds to do calls have left to it, and it
 * naps less. */
static uint64_t look(struct host *h, bool *at_wire)
{
    const bool left = clock_us() - h->drove_at >= h->nap;
    *at_wire = left && !h->driving;
    h->away = left && h->driving;
    h->naps = !left;
    bool any = *at_wire && take_in(h);
    const bool due = take_time(h);
    if (any || due)
        settle(h);
    if (due || *at_wire)
        any |= send_all(h);
    if (any)
        h->nap /= 2;
    if (any || due) {
        tell(h);
        tell_mover(h);
    }
    uint64_t idle = idle_us(h);
    if (h->naps && idle > h->nap)
        idle = h->nap;
    h->sleeps_till = h->ports > 0 ? host_now(h) + idle : 0;
    return idle;
}

/* Until a descriptor can be read, or for that long. False: the interface is down, and may come back. */
static bool watch(int wire, int own, uint64_t us)
{
    struct pollfd on[2] = {{.fd = wire, .events = POLLIN}, {.fd = own, .events = POLLIN}};
    const struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    if (ppoll(on, 2, &t, NULL) > 0 && (on[1].revents & POLLIN) != 0)
        silence(own);
    return (on[0].revents & (POLLERR | POLLHUP)) == 0;
}

/* Carries between the wire and the ports for as long as the program runs. */
static void *carry(void *context)
{
    struct host *h = context;
    bool at_wire;
    for (;;) {
        host_lock(h);
        uint64_t idle = look(h, &at_wire);
        host_unlock(h);
        if (!watch(at_wire ? h->wire.fd : -1, h->wake, idle))
            usleep(LINK_PAUSE_US);
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
    h->call = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (h->wake < 0 || h->call < 0 || !spawn(&thread, carry, h))
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

static void await(struct host *h, pthread_cond_t *what, const uint64_t *counter, uint64_t until)
{
    uint64_t before = *counter, at = h->since + until;
    struct timespec t = {(time_t)(at / 1000000), (long)(at % 1000000) * 1000};
    while (*counter == before)
        if (pthread_cond_timedwait(what, &h->mutex, &t) != 0)
            return;
}

static void await_change(struct host *h, uint64_t until)
{
    h->waiting++;
    await(h, &h->changed, &h->changes, until);
    h->waiting--;
}

/* A call looks at the wire. Where calls find what comes, the other thread may nap. */
static bool drive(struct host *h)
{
    bool any = take_in(h);
    h->drove_at = clock_us();
    if (any && h->nap < LONGEST_NAP_US)
        h->nap += NAP_STEP_US;
    if (take_time(h) || any)
        tell(h);
    return any;
}

/* The other thread looks now, and again after a nap. */
static void call_carrier(struct host *h)
{
    if (!h->naps)
        ring(h->wake);
    h->naps = true;
    h->away = false;
}

/* A call sleeps at the wire, for all that wait; another one takes its place when it leaves. */
static void sleep_at_wire(struct host *h, uint64_t us)
{
    h->driving = true;
    h->drove_at = clock_us();
    host_unlock(h);
    const bool up = watch(h->wire.fd, h->call, us);
    host_lock(h);
    h->driving = h->called = false;
    if (h->away)
        call_carrier(h);
    (void)drive(h);
    if (!up)
        await_change(h, host_now(h) + (us < LINK_PAUSE_US ? us : LINK_PAUSE_US));
}

/* A program that does nothing but poll would keep its core from those that it waits for. After some looks it
 * sleeps at the wire, as long as it has polled in vain and until something comes. One that works between two
 * looks does not. */
static void poll_wire(struct host *h)
{
    const uint64_t before = h->drove_at, began = clock_us();
    const bool any = drive(h);
    if (any || began - before > SPIN_GAP_US)
        h->spins_since = h->drove_at;
    const uint64_t vain = h->drove_at - h->spins_since;
    if (vain > SPIN_US && h->wire.fd >= 0 && !h->driving)
        sleep_at_wire(h, vain < LONGEST_REST_US ? vain : LONGEST_REST_US);
}

static int nic_pump(void *context, uint64_t deadline)
{
    struct host *h = ((struct end *)context)->host;
    const uint64_t now = host_now(h),
                   longest = now + LONGEST_SLEEP_US; /* looks again, whatever it was told */
    const uint64_t until = deadline < longest ? deadline : longest;
    bool any =
        send_all(h) && h->ports > 1; /* then the other NIC has something to see, and may have answered */
    if (any)
        tell(h);
    if (h->cut)
        return 1;
    if (deadline <= now && deadline > 0) {
        poll_wire(h);
    } else if (!any && deadline > now) {
        if (h->waits != NULL)
            h->waits();
        if (h->wire.fd >= 0 && !h->driving)
            sleep_at_wire(h, until - now);
        else
            await_change(h, until);
    }
    return 0;
}

static _Thread_local bool is_mover;

void host_used(struct host *h)
{
    bool any = false;
    if (h->wire.fd >= 0 || h->ports > 1) {
        any = send_all(h);
        if (h->wake >= 0 && next_deadline(h) < h->sleeps_till)
            ring(h->wake);
    }
    if (is_mover && !any && h->wire.fd < 0)
        return; /* it looked, and that is no news to itself */
    tell(h);
    if (h->wire.fd < 0)
        tell_mover(h);
}

/* Over TCP an acknowledgement goes out with what the program says next, or else after a nap. */
static void nic_kick(void *context, bool soon)
{
    struct host *h = ((struct end *)context)->host;
    if (!soon || h->wire.say == NULL || is_mover) {
        host_used(h);
        return;
    }
    tell(h);
    call_carrier(h);
}

static bool nic_due(void *context)
{
    struct host *h = ((struct end *)context)->host;
    if (h->moving)
        tell_mover(h);
    return h->moving;
}

/* A thread that was cancelled in the middle of a call would leave the port locked, or the wire to nobody. */
static _Thread_local int cancelled_before;

static void nic_lock(void *context)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    host_lock(((struct end *)context)->host);
    cancelled_before = before;
}

static void nic_unlock(void *context)
{
    const int before = cancelled_before;
    host_unlock(((struct end *)context)->host);
    pthread_setcancelstate(before, NULL);
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
    const struct fcvi_vipl_nic_ops ops = {nic_port, nic_now,  nic_pump,  nic_kick,
                                          nic_due,  nic_lock, nic_unlock};
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
    host_lock(h);
    memcpy(h->end[number].device, device, strlen(device) + 1);
    host_unlock(h);
    return NULL;
}

/* Handlers are due when the wire or time have moved a port and the program makes no call. Without a wire it
 * is this thread that lets time move the ports. */
static void *move(void *context)
{
    struct host *h = context;
    uint64_t seen = 0;
    is_mover = true;
    for (bool go_on = true; go_on;) {
        host_lock(h);
        uint64_t due = FCVI_NEVER, longest = host_now(h) + LONGEST_SLEEP_US;
        if (h->wire.fd < 0) {
            host_turn(h);
            due = next_deadline(h);
        }
        if (seen == h->moves && h->moving)
            await(h, &h->moved, &h->moves, due < longest ? due : longest);
        seen = h->moves;
        go_on = h->moving;
        host_unlock(h);
        for (size_t i = 0; i < HOST_PORTS && go_on; i++)
            if (h->end[i].device[0] != '\0')
                (void)fcvi_vipl_turn(h->end[i].device);
    }
    return NULL;
}

bool host_run_handlers(struct host *h)
{
    h->moving = true; /* it ends when this is not so */
    if (!spawn(&h->mover, move, h))
        h->moving = false;
    return h->moving;
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
    if (h->moving) {
        host_lock(h);
        h->moving = false;
        tell_mover(h);
        host_unlock(h);
        pthread_join(h->mover, NULL);
    }
    for (size_t i = 0; i < HOST_PORTS; i++)
        if (h->end[i].device[0] != '\0') {
            (void)fcvi_vipl_detach(h->end[i].device);
            host_lock(h);
            h->end[i].device[0] = '\0';
            host_unlock(h);
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
    h->driving = h->called = false;
    h->waiting = 0;
    if (h->wake >= 0)
        close(h->wake);
    if (h->call >= 0)
        close(h->call);
    if (h->wire.close != NULL)
        h->wire.close(h->wire.context);
    h->wire = (struct host_wire){.fd = -1};
    h->wake = h->call = -1;
    h->ports = 0;
}
