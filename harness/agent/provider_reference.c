/* NICs of the reference port, in real time. Frames between the VIs of one (5.3.4) do not leave it; others go
 * over an Ethernet interface or the client's stream when there is one. On TCP the port is one of VI/TCP.
 * Without one a single NIC loses them, and of two each is the other's link: those are the two ends of a run
 * that makes calls alone. */
#include <fcvi/port.h>
#include <fcvi/vipl_host.h>

#include "provider.h" /* after port.h, whose return codes vipl.h then takes over */
#include "provider_inject.h"
#include "provider_sockets.h"
#include "provider_stream.h"
#include "provider_wire.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
    FRAMES_A_TURN = 256,
    LONGEST_SLEEP_US = 1000000,
    ENDS = 2,
    FRAMES_AT_ONCE = 100000,
    INCOMING_TIMEOUT_US = 5000000
};

static struct nic {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t changes, since;
    int wake;             /* eventfd of the thread that carries frames */
    uint64_t sleeps_till; /* that thread, on the port's clock */
    bool cut;             /* nothing goes out, and nothing is waited for */
    size_t ports;
    uint64_t *memory[ENDS];
    struct fcvi_port *port[ENDS];
    char device[ENDS][64];
    pthread_t mover;      /* runs the handlers of programs that make no call; 0: none */
    bool moves;           /* until it is to end */
    struct inject inject; /* between two NICs */
    provider_sink *sink;  /* of the client, when its stream is the wire */
    void *client;
} nic = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static uint64_t clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* The context of a NIC is its place. */
static struct fcvi_port *nic_port(void *context)
{
    return *(struct fcvi_port **)context;
}

static uint64_t nic_now(void *context)
{
    (void)context;
    return clock_us() - nic.since;
}

static void send_one(size_t from, uint8_t *bytes, struct fcvi_input *out)
{
    if (nic.cut)
        return;
    if (nic.ports > 1) {
        if (inject_passes(&nic.inject, from, bytes, out))
            fcvi_port_receive(nic.port[1 - from], nic_now(NULL), out);
    } else if (stream_fd() < 0) {
        wire_send(out);
    } else if (nic.sink != NULL) {
        nic.sink(nic.client, &(struct provider_frame){out->bytes, out->length, out->sof, out->eof, true});
    }
}

/* Readable when a frame may have come; -1 without a wire. */
static int frames_fd(void)
{
    if (sockets_fd() >= 0)
        return sockets_fd();
    return stream_fd() >= 0 ? stream_fd() : wire_fd();
}

/* True when there was a frame. What a NIC says to the other may be answered at once. */
static bool send_all(void)
{
    uint8_t frame[24 + 2112];
    struct fcvi_transmitted meta;
    size_t length;
    bool any = false, more = true;
    if (sockets_fd() >= 0)
        return nic.ports > 0 && !nic.cut && sockets_send(nic.port[0], nic_now(NULL));
    for (int sent = 0; more && sent < FRAMES_AT_ONCE;) {
        more = false;
        for (size_t i = 0; i < nic.ports; i++)
            while ((length = fcvi_port_transmit(nic.port[i], nic_now(NULL), frame, sizeof frame, &meta)) >
                   0) {
                send_one(i, frame, &(struct fcvi_input){frame, length, meta.sof, meta.eof, FCVI_CRC_OK});
                any = more = true;
                sent++;
            }
    }
    return any;
}

static uint64_t next_deadline(void)
{
    uint64_t first = FCVI_NEVER;
    for (size_t i = 0; i < nic.ports; i++) {
        uint64_t due = fcvi_port_deadline(nic.port[i]);
        first = due < first ? due : first;
    }
    return first;
}

/* Take in what has arrived and what is due; what arrives for no port is forgotten. Called with the lock held.
 */
static void turn(void)
{
    struct fcvi_input in;
    bool any = false;
    if (sockets_fd() >= 0) {
        bool there = nic.ports > 0 && !nic.cut;
        any = sockets_take(there ? nic.port[0] : NULL, there ? nic_now(NULL) : 0);
        any |= send_all();
    }
    for (int i = 0; sockets_fd() < 0 && i < FRAMES_A_TURN &&
                    (stream_fd() >= 0 ? stream_receive(&in) : wire_receive(&in));
         i++) {
        if (nic.ports == 0)
            continue;
        fcvi_port_receive(nic.port[0], nic_now(NULL), &in);
        send_all();
        any = true;
    }
    if (nic.ports > 0 && next_deadline() <= nic_now(NULL)) {
        for (size_t i = 0; i < nic.ports; i++)
            fcvi_port_run(nic.port[i], nic_now(NULL));
        send_all();
        any = true;
    }
    if (any) {
        nic.changes++;
        pthread_cond_broadcast(&nic.changed);
    }
}

/* How long nobody has anything to do, unless a frame comes or the port's timers change. */
static uint64_t idle_us(void)
{
    uint64_t now = nic.ports > 0 ? nic_now(NULL) : 0;
    uint64_t due = nic.ports > 0 ? next_deadline() : FCVI_NEVER;
    uint64_t idle = due <= now ? 0 : due - now;
    idle = idle < LONGEST_SLEEP_US ? idle : LONGEST_SLEEP_US;
    nic.sleeps_till = now + idle;
    return idle;
}

/* Carries frames between the wire and the port for as long as the program runs. */
static void *carry(void *context)
{
    struct pollfd on[2] = {{.fd = frames_fd(), .events = POLLIN}, {.fd = nic.wake, .events = POLLIN}};
    uint64_t count;
    (void)context;
    for (;;) {
        pthread_mutex_lock(&nic.mutex);
        turn();
        uint64_t idle = idle_us();
        pthread_mutex_unlock(&nic.mutex);
        if (poll(on, 2, (int)((idle + 999) / 1000)) > 0 && (on[1].revents & POLLIN) != 0)
            (void)!read(nic.wake, &count, sizeof count);
        if ((on[0].revents & (POLLERR | POLLHUP)) != 0) /* the interface is down: it may come back */
            usleep(LONGEST_SLEEP_US / 10);
    }
    return NULL;
}

static bool open_wire(const char *spec, char *why, size_t size)
{
    if (strncmp(spec, "vitcp:", strlen("vitcp:")) == 0)
        return sockets_open(spec, why, size);
    if (strcmp(spec, "stream") != 0)
        return wire_open(spec, why, size);
    bool open = stream_open();
    if (!open)
        snprintf(why, size, "%s", strerror(errno));
    return open;
}

bool provider_on(const char *spec, char *why, size_t size)
{
    pthread_t thread;
    if (!open_wire(spec, why, size))
        return false;
    nic.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (nic.wake >= 0 && pthread_create(&thread, NULL, carry, NULL) == 0) {
        pthread_detach(thread);
        return true;
    }
    snprintf(why, size, "no thread to carry frames");
    return false;
}

bool provider_frames_to(void *context, provider_sink *sink)
{
    pthread_mutex_lock(&nic.mutex);
    nic.client = context;
    nic.sink = sink;
    pthread_mutex_unlock(&nic.mutex);
    return stream_fd() >= 0;
}

bool provider_frame(const struct provider_frame *frame)
{
    return stream_put(&(struct fcvi_input){frame->bytes, frame->length, frame->sof, frame->eof,
                                           frame->crc_ok ? FCVI_CRC_OK : FCVI_CRC_BAD});
}

void provider_turn(void)
{
    if (frames_fd() < 0)
        return;
    pthread_mutex_lock(&nic.mutex);
    turn();
    pthread_mutex_unlock(&nic.mutex);
}

static void await_change(uint64_t until)
{
    uint64_t before = nic.changes, at = nic.since + until;
    struct timespec t = {(time_t)(at / 1000000), (long)(at % 1000000) * 1000};
    while (nic.changes == before)
        if (pthread_cond_timedwait(&nic.changed, &nic.mutex, &t) != 0)
            return;
}

static int nic_pump(void *context, uint64_t deadline)
{
    const uint64_t longest =
        nic_now(context) + 1000000; /* looks again after a second, whatever it was told */
    bool any =
        send_all() && nic.ports > 1; /* then the other NIC has something to see, and may have answered */
    if (any) {
        nic.changes++;
        pthread_cond_broadcast(&nic.changed);
    }
    if (nic.cut)
        return 1;
    if (!any && deadline > nic_now(context)) {
        agent_waits();
        await_change(deadline < longest ? deadline : longest);
    }
    return 0;
}

static _Thread_local bool is_mover;

static void nic_kick(void *context)
{
    const uint64_t one = 1;
    (void)context;
    bool any = false;
    if (frames_fd() >= 0 || nic.ports > 1) {
        any = send_all();
        if (frames_fd() >= 0 && next_deadline() < nic.sleeps_till)
            (void)!write(nic.wake, &one, sizeof one);
    }
    if (is_mover && !any)
        return; /* it looked, and that is no news to itself */
    nic.changes++;
    pthread_cond_broadcast(&nic.changed);
}

static void nic_lock(void *context)
{
    (void)context;
    pthread_mutex_lock(&nic.mutex);
}

static void nic_unlock(void *context)
{
    (void)context;
    pthread_mutex_unlock(&nic.mutex);
}

/* ---- the configuration ---- */

static void bytes_of(const char *text, uint8_t *out, size_t length)
{
    const char *digits = "0123456789abcdef";
    for (size_t i = 0; i < length; i++)
        out[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 |
                           (strchr(digits, text[2 * i + 1]) - digits));
}

static uint64_t number_of(const json_t *table, const char *name)
{
    return strtoull(json_string_value(json_object_get(table, name)), NULL, 16);
}

static struct fcvi_port_identity identity_of(const json_t *table)
{
    const json_t *hosts = json_object_get(table, "host");
    struct fcvi_port_identity i = {.port_name = number_of(table, "port_name"),
                                   .node_name = number_of(table, "node_name"),
                                   .n_port_id = (uint32_t)number_of(table, "n_port_id"),
                                   .hosts = (uint32_t)json_array_size(hosts)};
    for (uint32_t n = 0; n < i.hosts && n < FCVI_MAX_HOSTS; n++)
        bytes_of(json_string_value(json_array_get(hosts, n)), i.host[n], 16);
    return i;
}

static uint64_t integer_of(const json_t *table, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(table, name));
}

static bool is(const json_t *table, const char *name, const char *word)
{
    return strcmp(json_string_value(json_object_get(table, name)), word) == 0;
}

/* A library that is loaded before any reset has no configuration. */
static uint8_t revision_of(const json_t *c)
{
    const char *word = json_string_value(json_object_get(c, "revision"));
    return word != NULL && strcmp(word, "rev1") == 0 ? FCVI_EDITION_REV1 : FCVI_EDITION_2007;
}

static struct fcvi_port_config config_of(const json_t *c)
{
    static const char *const topologies[] = {"point-to-point", "private-loop", "public-loop", "fabric"};
    struct fcvi_port_config config = {.self = identity_of(c),
                                      .peer = identity_of(json_object_get(c, "peer")),
                                      .out_of_order = is(c, "fabric", "out-of-order"),
                                      .service_class = (uint8_t)integer_of(c, "class"),
                                      .explicit_login = is(c, "login", "explicit"),
                                      .e_d_tov_us = integer_of(c, "e_d_tov_us"),
                                      .r_a_tov_us = integer_of(c, "r_a_tov_us"),
                                      .receive_size = (uint32_t)integer_of(c, "receive_size"),
                                      .seed = integer_of(c, "seed")};
    while (!is(c, "topology", topologies[config.topology]))
        config.topology++;
    config.name_server = config.topology >= 2; /* 7.4 */
    config.revision = revision_of(c);
    return config;
}

/* Of wire "tcp", which the agent has checked. */
static struct fcvi_port_config stream_config_of(const json_t *c)
{
    const json_t *hosts = json_object_get(c, "host");
    struct fcvi_port_config config = {
        .wire = FCVI_WIRE_VITCP,
        .self = {.hosts = (uint32_t)json_array_size(hosts)},
        .seed = integer_of(c, "seed"),
        .vitcp = {.flow_control = true, .incoming_timeout_us = integer_of(c, "incoming_timeout_us")},
    };
    for (uint32_t n = 0; n < config.self.hosts && n < FCVI_MAX_HOSTS; n++)
        bytes_of(json_string_value(json_array_get(hosts, n)), config.self.host[n], 16);
    return config;
}

static const char *make_port(size_t number, const struct fcvi_port_config *config)
{
    const bool tcp = config->wire == FCVI_WIRE_VITCP;
    const struct fcvi_port_limits limits = {.vis = 64,
                                            .connectionpoints = 64,
                                            .exchanges = 1024,
                                            .regions = 512,
                                            .descriptors = 64,
                                            .events = 4096,
                                            .memory = 4096,
                                            .max_transfer_size = 1 << 20,
                                            .streams = tcp ? SOCKETS_STREAMS : 0};
    size_t size = fcvi_port_size(&limits);
    pthread_mutex_lock(&nic.mutex);
    turn(); /* frames of what was before this reset */
    nic.cut = false;
    if (number == 0)
        nic.since = clock_us();
    nic.memory[number] = calloc(1, size);
    nic.port[number] =
        nic.memory[number] != NULL ? fcvi_port_init(nic.memory[number], size, &limits, config) : NULL;
    if (nic.port[number] != NULL)
        nic.ports = number + 1;
    pthread_mutex_unlock(&nic.mutex);
    if (nic.port[number] == NULL && config->revision == FCVI_EDITION_REV1)
        return "the port takes no such configuration; receive_size is at least 348 in Rev 1.0";
    return nic.port[number] != NULL ? NULL : "the port takes no such configuration";
}

static void forget_port(void)
{
    pthread_mutex_lock(&nic.mutex);
    nic.ports = 0;
    sockets_forget();
    for (size_t i = 0; i < ENDS; i++) {
        free(nic.memory[i]);
        nic.memory[i] = NULL;
        nic.port[i] = NULL;
    }
    pthread_mutex_unlock(&nic.mutex);
}

static void begin(void)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&nic.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Give a port to libvipl. Returns NULL, or why it cannot be. */
static const char *attach(size_t number, const char *device, const struct fcvi_port_config *config,
                          const struct fcvi_vipl_nic *tables)
{
    const struct fcvi_vipl_nic_ops ops = {nic_port, nic_now, nic_pump, nic_kick, nic_lock, nic_unlock};
    struct fcvi_vipl_nic info = *tables;
    info.rdma_read_levels = VIP_SERVICE_RELIABLE_DELIVERY | VIP_SERVICE_RELIABLE_RECEPTION;
    info.max_vi = 64;
    info.max_register_regions = 512;
    info.max_descriptors_per_queue = 64;
    info.max_transfer_size = 1 << 20;
    if (config->wire == FCVI_WIRE_VITCP) {
        info.max_discriminator_length = FCVI_MAX_DISCRIMINATOR_VITCP;
        info.short_discriminators = true;
    }
    if (config->revision == FCVI_EDITION_REV1)
        info.short_discriminators = true; /* 7.1 of the draft: 0 to 128 bytes */
    const char *why =
        strlen(device) < sizeof nic.device[0] ? make_port(number, config) : "its name is too long";
    if (why != NULL)
        return why;
    memcpy(info.host, config->self.host[0], sizeof info.host);
    _Static_assert(FCVI_MAX_HOSTS - 1 <= FCVI_VIPL_MORE_HOSTS, "the NIC tells every address of the port");
    for (uint32_t i = 1; i < config->self.hosts && i < FCVI_MAX_HOSTS; i++)
        memcpy(info.more_hosts[info.more_host_count++], config->self.host[i], sizeof info.host);
    if (fcvi_vipl_attach(device, &ops, &nic.port[number], &info) != 0)
        return "libvipl does not take the NIC";
    memcpy(nic.device[number], device, strlen(device) + 1);
    return NULL;
}

const char *provider_start(const char *device, const json_t *config, const char **why)
{
    const char *wire = json_string_value(json_object_get(config, "wire"));
    bool tcp = wire != NULL && strcmp(wire, "tcp") == 0;
    if (tcp != (sockets_fd() >= 0)) {
        *why = tcp ? "its wire is not TCP: start it with --on vitcp:ADDR:PORT" : "its wire is TCP";
        return NULL;
    }
    struct fcvi_port_config c = tcp ? stream_config_of(config) : config_of(config);
    if (tcp && memcmp(c.self.host[0], sockets_host(), sizeof c.self.host[0]) != 0) {
        *why = "its host is not the address of --on";
        return NULL;
    }
    device = device != NULL ? device : "VINIC";
    begin();
    *why = attach(0, device, &c, &(struct fcvi_vipl_nic){0});
    if (*why == NULL)
        return device;
    provider_stop();
    return NULL;
}

/* ---- calls alone ---- */

size_t provider_devices(const char **names, size_t room)
{
    static const char *const ends[ENDS] = {"VINIC0", "VINIC1"};
    size_t count = frames_fd() >= 0 ? 1 : ENDS;
    for (size_t i = 0; i < count && i < room; i++)
        names[i] = ends[i];
    return count;
}

/* Handlers are due when frames or time have moved a port and the program makes no call. */
static void *move(void *context)
{
    (void)context;
    is_mover = true;
    for (bool go_on = true; go_on;) {
        pthread_mutex_lock(&nic.mutex);
        turn();
        uint64_t due = next_deadline(), longest = nic_now(NULL) + LONGEST_SLEEP_US;
        static uint64_t seen;
        if (seen == nic.changes && nic.moves)
            await_change(due < longest ? due : longest);
        seen = nic.changes;
        go_on = nic.moves;
        pthread_mutex_unlock(&nic.mutex);
        for (size_t i = 0; i < ENDS && go_on; i++)
            if (nic.device[i][0] != '\0')
                (void)fcvi_vipl_turn(nic.device[i]);
    }
    return NULL;
}

static struct fcvi_port_identity end_identity(size_t number)
{
    struct fcvi_port_identity i = {.port_name = 0x10000000c9000001u + number,
                                   .node_name = 0x20000000c9000001u + number,
                                   .n_port_id = 0x010100u + 0x100u * (uint32_t)number,
                                   .hosts = 1};
    i.host[0][0] = 0xfe;
    i.host[0][1] = 0x80;
    i.host[0][15] = number == 0 ? 0xa1 : 0xb2;
    return i;
}

/* The other end is another process: its address is all that anybody has to know of it. */
static const char *attach_stream_end(const char *device, const json_t *config)
{
    struct fcvi_port_config c = {
        .wire = FCVI_WIRE_VITCP,
        .self = {.hosts = 1},
        .seed = (uint64_t)json_integer_value(json_object_get(config, "seed")),
        .vitcp = {.incoming_timeout_us = INCOMING_TIMEOUT_US},
    };
    memcpy(c.self.host[0], sockets_host(), sizeof c.self.host[0]);
    return attach(0, device, &c, &(struct fcvi_vipl_nic){0});
}

static const char *attach_end(size_t number, const char *device, const json_t *config, size_t first)
{
    const json_t *time = json_object_get(config, "r_a_tov_us");
    uint64_t r_a_tov =
        json_is_integer(time) && json_integer_value(time) > 0 ? (uint64_t)json_integer_value(time) : 500000;
    size_t self = first ^ number;
    const struct fcvi_port_config c = {.self = end_identity(self),
                                       .peer = end_identity(1 - self),
                                       .service_class = 3,
                                       .e_d_tov_us = r_a_tov / 5 + 1,
                                       .r_a_tov_us = r_a_tov,
                                       .receive_size = 2112,
                                       .revision = revision_of(config),
                                       .seed = (uint64_t)json_integer_value(json_object_get(config, "seed"))};
    struct fcvi_vipl_name names[ENDS] = {{.name = "fcvi-end-a"}, {.name = "fcvi-end-b"}};
    struct fcvi_vipl_neighbour other = {.hops = 1};
    for (size_t i = 0; i < ENDS; i++)
        memcpy(names[i].host, end_identity(i).host[0], sizeof names[i].host);
    memcpy(other.host, c.peer.host[0], sizeof other.host);
    const struct fcvi_vipl_nic tables = {
        .names = names, .name_count = ENDS, .neighbours = &other, .neighbour_count = 1};
    return attach(number, device, &c, &tables);
}

bool provider_start_calls(const char *const *devices, size_t count, const json_t *config, const char **why)
{
    size_t first = json_integer_value(json_object_get(config, "end")) == 1;
    begin();
    nic.inject = (struct inject){0};
    *why = NULL;
    if (sockets_fd() >= 0)
        *why = attach_stream_end(devices[0], config);
    else
        for (size_t i = 0; i < count && i < ENDS && *why == NULL; i++)
            *why = attach_end(i, devices[i], config, first);
    if (*why == NULL) {
        nic.moves = true;
        if (pthread_create(&nic.mover, NULL, move, NULL) == 0)
            return true;
        nic.mover = 0;
        *why = "no thread for the NICs";
    }
    provider_stop();
    return false;
}

void provider_cut(void)
{
    nic_lock(NULL);
    nic.cut = true;
    if (nic.ports > 0)
        nic_kick(NULL);
    nic_unlock(NULL);
}

void provider_stop(void)
{
    if (nic.mover != 0) {
        nic_lock(NULL);
        nic.moves = false;
        nic.changes++;
        pthread_cond_broadcast(&nic.changed);
        nic_unlock(NULL);
        pthread_join(nic.mover, NULL);
        nic.mover = 0;
    }
    for (size_t i = 0; i < ENDS; i++)
        if (nic.device[i][0] != '\0') {
            (void)fcvi_vipl_detach(nic.device[i]);
            nic.device[i][0] = '\0';
        }
    forget_port();
}

void provider_link(const char *event)
{
    static const char *const events[] = {"lip", "nos", "lr", "logo"};
    enum fcvi_link link = FCVI_LINK_LIP;
    while (strcmp(events[link], event) != 0)
        link++;
    nic_lock(NULL);
    if (nic.ports > 0)
        fcvi_port_link(nic.port[0], nic_now(NULL), link);
    nic_kick(NULL);
    nic_unlock(NULL);
}

int provider_inject(const char *fault, size_t from)
{
    enum inject_fault wanted;
    int hits = -1;
    nic_lock(NULL);
    if (nic.ports > 1 && inject_named(fault, &wanted)) {
        inject_arm(&nic.inject, wanted, from);
        hits = (int)nic.inject.hits;
        for (size_t i = 0; i < nic.ports && wanted == INJECT_LINK_DOWN; i++)
            fcvi_port_link(nic.port[i], nic_now(NULL), FCVI_LINK_NOS); /* a NIC sees that its link is gone */
        nic_kick(NULL);
    }
    nic_unlock(NULL);
    return hits;
}

bool provider_qos(struct provider_qos *room, bool preference, uint32_t depth, VIP_QOS *qos)
{
    struct fcvi_vipl_qos q = {sizeof q, preference, depth};
    _Static_assert(sizeof q <= sizeof *room, "room for the QoS");
    memcpy(room, &q, sizeof q);
    *qos = room;
    return true;
}

void provider_read_qos(VIP_QOS qos, bool *preference, uint32_t *depth)
{
    struct fcvi_vipl_qos q = {0};
    if (qos != NULL)
        memcpy(&q, qos, sizeof q);
    *preference = q.preference != 0;
    *depth = q.pipeline_depth;
}

json_t *provider_pics(const char *device)
{
    static const char pics[] =
        "{\"client\":true,\"server\":true,\"peer_to_peer\":true,\"loopback\":true,\"unreliable_delivery\":"
        "true,"
        "\"reliable_delivery\":true,\"reliable_reception\":true,\"send\":true,\"rdma_write\":true,\"rdma_"
        "read\":true,"
        "\"immediate_data\":true,\"class2\":true,\"class3\":true,\"out_of_order_fabric\":true,"
        "\"preference\":true,"
        "\"explicit_login\":true,\"farp\":true,\"name_server\":true,\"loop\":true,\"retry_waits_for_ba_"
        "acc\":true,"
        "\"pipeline_depth\":4294967295,\"max_transfer_size\":1048576,\"max_vis\":64,\"revision\":"
        "\"2007\"}";
    static const char pics_of_tcp[] =
        "{\"client\":true,\"server\":true,\"peer_to_peer\":true,\"unreliable_delivery\":true,"
        "\"reliable_delivery\":true,\"reliable_reception\":true,\"send\":true,\"rdma_write\":true,"
        "\"rdma_read\":true,\"immediate_data\":true,\"tcp\":true,\"ipv6\":true,\"flow_control\":true,"
        "\"max_transfer_size\":1048576,\"max_vis\":64}";
    (void)device;
    return json_loads(sockets_fd() >= 0 ? pics_of_tcp : pics, 0, NULL);
}
