/* A NIC of the reference port, in real time. Frames between its own VIs (5.3.4) do not leave it; others go
 * over an Ethernet interface when there is one, and are lost when there is none. */
#include <fcvi/port.h>
#include <fcvi/vipl_host.h>

#include "provider.h" /* after port.h, whose return codes vipl.h then takes over */
#include "provider_wire.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { FRAMES_A_TURN = 256, LONGEST_SLEEP_US = 1000000 };

static struct nic {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t changes, since;
    int wake;             /* eventfd of the thread that carries frames */
    uint64_t sleeps_till; /* that thread, on the port's clock */
    bool cut;             /* nothing goes out, and nothing is waited for */
    uint64_t *memory;
    struct fcvi_port *port;
} nic = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static uint64_t clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static struct fcvi_port *nic_port(void *context)
{
    (void)context;
    return nic.port;
}

static uint64_t nic_now(void *context)
{
    (void)context;
    return clock_us() - nic.since;
}

static void send_all(void)
{
    uint8_t frame[24 + 2112];
    struct fcvi_transmitted meta;
    size_t length;
    while ((length = fcvi_port_transmit(nic.port, nic_now(NULL), frame, sizeof frame, &meta)) > 0) {
        const struct fcvi_input out = {frame, length, meta.sof, meta.eof, FCVI_CRC_OK};
        if (!nic.cut)
            wire_send(&out);
    }
}

/* Take in what has arrived and what is due; what arrives for no port is forgotten. Called with the lock held.
 */
static void turn(void)
{
    struct fcvi_input in;
    bool any = false;
    for (int i = 0; i < FRAMES_A_TURN && wire_receive(&in); i++) {
        if (nic.port == NULL)
            continue;
        fcvi_port_receive(nic.port, nic_now(NULL), &in);
        send_all();
        any = true;
    }
    if (nic.port != NULL && fcvi_port_deadline(nic.port) <= nic_now(NULL)) {
        fcvi_port_run(nic.port, nic_now(NULL));
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
    uint64_t now = nic.port != NULL ? nic_now(NULL) : 0;
    uint64_t due = nic.port != NULL ? fcvi_port_deadline(nic.port) : FCVI_NEVER;
    uint64_t idle = due <= now ? 0 : due - now;
    idle = idle < LONGEST_SLEEP_US ? idle : LONGEST_SLEEP_US;
    nic.sleeps_till = now + idle;
    return idle;
}

/* Carries frames between the wire and the port for as long as the program runs. */
static void *carry(void *context)
{
    struct pollfd on[2] = {{.fd = wire_fd(), .events = POLLIN}, {.fd = nic.wake, .events = POLLIN}};
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

bool provider_on(const char *spec, char *why, size_t size)
{
    pthread_t thread;
    if (!wire_open(spec, why, size))
        return false;
    nic.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (nic.wake >= 0 && pthread_create(&thread, NULL, carry, NULL) == 0) {
        pthread_detach(thread);
        return true;
    }
    snprintf(why, size, "no thread to carry frames");
    return false;
}

void provider_turn(void)
{
    if (wire_fd() < 0)
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
    send_all();
    if (nic.cut)
        return 1;
    if (deadline > nic_now(context)) {
        agent_waits();
        await_change(deadline < longest ? deadline : longest);
    }
    return 0;
}

static void nic_kick(void *context)
{
    const uint64_t one = 1;
    (void)context;
    if (wire_fd() >= 0) {
        send_all();
        if (fcvi_port_deadline(nic.port) < nic.sleeps_till)
            (void)!write(nic.wake, &one, sizeof one);
    }
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
    return config;
}

static const char *make_port(const json_t *c)
{
    const struct fcvi_port_limits limits = {.vis = 64,
                                            .connectionpoints = 64,
                                            .exchanges = 1024,
                                            .regions = 512,
                                            .descriptors = 64,
                                            .events = 4096,
                                            .memory = 4096,
                                            .max_transfer_size = 1 << 20};
    struct fcvi_port_config config = config_of(c);
    size_t size = fcvi_port_size(&limits);
    pthread_mutex_lock(&nic.mutex);
    turn(); /* frames of what was before this reset */
    nic.memory = calloc(1, size);
    nic.cut = false;
    nic.since = clock_us();
    nic.port = nic.memory != NULL ? fcvi_port_init(nic.memory, size, &limits, &config) : NULL;
    pthread_mutex_unlock(&nic.mutex);
    return nic.port != NULL ? NULL : "the port takes no such configuration";
}

static void forget_port(void)
{
    pthread_mutex_lock(&nic.mutex);
    free(nic.memory);
    nic.memory = NULL;
    nic.port = NULL;
    pthread_mutex_unlock(&nic.mutex);
}

const char *provider_start(const char *device, const json_t *config, const char **why)
{
    const struct fcvi_vipl_nic_ops ops = {nic_port, nic_now, nic_pump, nic_kick, nic_lock, nic_unlock};
    struct fcvi_vipl_nic info = {.rdma_read_levels =
                                     VIP_SERVICE_RELIABLE_DELIVERY | VIP_SERVICE_RELIABLE_RECEPTION,
                                 .max_vi = 64,
                                 .max_register_regions = 512,
                                 .max_descriptors_per_queue = 64,
                                 .max_transfer_size = 1 << 20};
    pthread_condattr_t monotonic;
    device = device != NULL ? device : "VINIC";
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&nic.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *why = make_port(config);
    const json_t *hosts = json_object_get(config, "host");
    bytes_of(json_string_value(json_array_get(hosts, 0)), info.host, 16);
    for (uint32_t i = 1; i < json_array_size(hosts) && i <= FCVI_VIPL_MORE_HOSTS; i++)
        bytes_of(json_string_value(json_array_get(hosts, i)), info.more_hosts[info.more_host_count++], 16);
    if (*why == NULL && fcvi_vipl_attach(device, &ops, NULL, &info) != 0)
        *why = "libvipl does not take the NIC";
    if (*why == NULL)
        return device;
    forget_port();
    return NULL;
}

void provider_cut(void)
{
    nic_lock(NULL);
    nic.cut = true;
    nic_kick(NULL);
    nic_unlock(NULL);
}

void provider_stop(void)
{
    (void)fcvi_vipl_detach("VINIC");
    forget_port();
}

void provider_link(const char *event)
{
    static const char *const events[] = {"lip", "nos", "lr", "logo"};
    enum fcvi_link link = FCVI_LINK_LIP;
    while (strcmp(events[link], event) != 0)
        link++;
    nic_lock(NULL);
    fcvi_port_link(nic.port, nic_now(NULL), link);
    nic_kick(NULL);
    nic_unlock(NULL);
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

const char *provider_pics(void)
{
    return "{\"client\":true,\"server\":true,\"peer_to_peer\":true,\"loopback\":true,\"unreliable_delivery\":"
           "true,"
           "\"reliable_delivery\":true,\"reliable_reception\":true,\"send\":true,\"rdma_write\":true,\"rdma_"
           "read\":true,"
           "\"immediate_data\":true,\"class2\":true,\"class3\":true,\"out_of_order_fabric\":true,"
           "\"preference\":true,"
           "\"explicit_login\":true,\"farp\":true,\"name_server\":true,\"loop\":true,\"retry_waits_for_ba_"
           "acc\":true,"
           "\"pipeline_depth\":4294967295,\"max_transfer_size\":1048576,\"max_vis\":64,\"revision\":"
           "\"2007\"}";
}
