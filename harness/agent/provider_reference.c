/* NICs of the reference port, in real time. Frames between the VIs of one (5.3.4) do not leave it; others go
 * over an Ethernet interface or the client's stream when there is one. On TCP the port is one of VI/TCP.
 * Without one a single NIC loses them, and of two each is the other's link: those are the two ends of a run
 * that makes calls alone. */
#include "../host/fcoe.h"
#include "../host/host.h"
#include "../host/sockets.h"

#include "provider.h" /* after port.h, whose return codes vipl.h then takes over */
#include "provider_inject.h"
#include "provider_privileges.h"
#include "provider_stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENDS = HOST_PORTS, INCOMING_TIMEOUT_US = 5000000 };

static struct {
    struct host *host;
    struct sockets *sockets; /* the wire is TCP */
    struct inject inject;    /* between two NICs */
    provider_sink *sink;     /* of the client, when its stream is the wire */
    void *client;
    void (*waits)(void); /* a thread, in a VIPL call */
} nic;

/* ---- wires ---- */

static bool fcoe_next(void *context, struct fcvi_input *frame)
{
    return fcoe_receive(context, frame);
}

static void to_fcoe(void *context, size_t port, uint8_t *bytes, struct fcvi_input *frame)
{
    (void)port, (void)bytes;
    fcoe_send(context, frame);
}

static bool from_client(void *context, struct fcvi_input *frame)
{
    (void)context;
    return stream_receive(frame);
}

static void to_client(void *context, size_t port, uint8_t *bytes, struct fcvi_input *frame)
{
    (void)context, (void)port, (void)bytes;
    if (nic.sink != NULL)
        nic.sink(nic.client,
                 &(struct provider_frame){frame->bytes, frame->length, frame->sof, frame->eof, true});
}

static bool take_sockets(void *context, struct fcvi_port *port, uint64_t now)
{
    return sockets_take(context, port, now);
}

static bool say_sockets(void *context, struct fcvi_port *port, uint64_t now)
{
    return sockets_send(context, port, now);
}

static void forget_sockets(void *context)
{
    sockets_forget(context);
}

/* Of two NICs each is the other's link. */
static void to_the_other(void *context, size_t from, uint8_t *bytes, struct fcvi_input *frame)
{
    struct host *h = context;
    if (host_ports(h) > 1 && inject_passes(&nic.inject, from, bytes, frame))
        fcvi_port_receive(host_port(h, 1 - from), host_now(h), frame);
}

/* NULL: no memory. */
static struct host *host(void)
{
    if (nic.host == NULL && (nic.host = host_new()) != NULL) {
        host_when_waiting(nic.host, nic.waits);
        (void)host_on(nic.host, &(struct host_wire){.context = nic.host, .fd = -1, .transmit = to_the_other});
    }
    return nic.host;
}

void provider_when_waiting(void (*waits)(void))
{
    nic.waits = waits;
}

static bool open_wire(const char *spec, struct host_wire *wire, char *why, size_t size)
{
    if (strncmp(spec, "vitcp:", strlen("vitcp:")) == 0) {
        nic.sockets = sockets_open(spec, why, size);
        *wire = (struct host_wire){.context = nic.sockets,
                                   .fd = nic.sockets != NULL ? sockets_fd(nic.sockets) : -1,
                                   .take = take_sockets,
                                   .say = say_sockets,
                                   .forget = forget_sockets};
        return nic.sockets != NULL;
    }
    if (strcmp(spec, "stream") == 0) {
        bool open = stream_open();
        if (!open)
            snprintf(why, size, "%s", strerror(errno));
        *wire = (struct host_wire){.fd = stream_fd(), .receive = from_client, .transmit = to_client};
        return open;
    }
    struct fcoe *fcoe = fcoe_open(spec, why, size);
    if (fcoe == NULL)
        return false;
    *wire =
        (struct host_wire){.context = fcoe, .fd = fcoe_fd(fcoe), .receive = fcoe_next, .transmit = to_fcoe};
    if (agent_drop_privileges())
        return true;
    snprintf(why, size, "cannot give up privileges: %s", strerror(errno));
    fcoe_close(fcoe);
    return false;
}

bool provider_on(const char *spec, char *why, size_t size)
{
    struct host_wire wire;
    if (!open_wire(spec, &wire, why, size))
        return false;
    if (host() != NULL && host_on(nic.host, &wire))
        return true;
    snprintf(why, size, "no thread to carry frames");
    return false;
}

static int frames_fd(void)
{
    return host() != NULL ? host_fd(nic.host) : -1;
}

bool provider_frames_to(void *context, provider_sink *sink)
{
    if (stream_fd() < 0)
        return false;
    host_lock(nic.host);
    nic.client = context;
    nic.sink = sink;
    host_unlock(nic.host);
    return true;
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
    host_lock(nic.host);
    host_turn(nic.host);
    host_unlock(nic.host);
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

const char *provider_start(const char *device, const json_t *config, const char **why)
{
    const char *wire = json_string_value(json_object_get(config, "wire"));
    bool tcp = wire != NULL && strcmp(wire, "tcp") == 0;
    if (tcp != (nic.sockets != NULL)) {
        *why = tcp ? "its wire is not TCP: start it with --on vitcp:ADDR:PORT" : "its wire is TCP";
        return NULL;
    }
    struct fcvi_port_config c = tcp ? stream_config_of(config) : config_of(config);
    if (tcp && memcmp(c.self.host[0], sockets_host(nic.sockets), sizeof c.self.host[0]) != 0) {
        *why = "its host is not the address of --on";
        return NULL;
    }
    device = device != NULL ? device : "VINIC";
    *why = host() != NULL ? host_attach(nic.host, 0, device, &c, &(struct fcvi_vipl_nic){0}) : "no memory";
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
    memcpy(c.self.host[0], sockets_host(nic.sockets), sizeof c.self.host[0]);
    return host_attach(nic.host, 0, device, &c, &(struct fcvi_vipl_nic){0});
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
    return host_attach(nic.host, number, device, &c, &tables);
}

bool provider_start_calls(const char *const *devices, size_t count, const json_t *config, const char **why)
{
    size_t first = json_integer_value(json_object_get(config, "end")) == 1;
    nic.inject = (struct inject){0};
    *why = host() != NULL ? NULL : "no memory";
    if (*why != NULL)
        return false;
    if (nic.sockets != NULL)
        *why = attach_stream_end(devices[0], config);
    else
        for (size_t i = 0; i < count && i < ENDS && *why == NULL; i++)
            *why = attach_end(i, devices[i], config, first);
    if (*why == NULL && host_run_handlers(nic.host))
        return true;
    if (*why == NULL)
        *why = "no thread for the NICs";
    provider_stop();
    return false;
}

void provider_cut(void)
{
    if (nic.host != NULL)
        host_cut(nic.host);
}

void provider_stop(void)
{
    if (nic.host != NULL)
        host_end(nic.host);
}

void provider_link(const char *event)
{
    static const char *const events[] = {"lip", "nos", "lr", "logo"};
    enum fcvi_link link = FCVI_LINK_LIP;
    while (strcmp(events[link], event) != 0)
        link++;
    host_lock(nic.host);
    if (host_ports(nic.host) > 0)
        fcvi_port_link(host_port(nic.host, 0), host_now(nic.host), link);
    host_used(nic.host);
    host_unlock(nic.host);
}

int provider_inject(const char *fault, size_t from)
{
    enum inject_fault wanted;
    int hits = -1;
    host_lock(nic.host);
    if (host_ports(nic.host) > 1 && inject_named(fault, &wanted)) {
        inject_arm(&nic.inject, wanted, from);
        hits = (int)nic.inject.hits;
        for (size_t i = 0; i < host_ports(nic.host) && wanted == INJECT_LINK_DOWN; i++)
            fcvi_port_link(host_port(nic.host, i), host_now(nic.host),
                           FCVI_LINK_NOS); /* a NIC sees that its link is gone */
        host_used(nic.host);
    }
    host_unlock(nic.host);
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
    return json_loads(nic.sockets != NULL ? pics_of_tcp : pics, 0, NULL);
}
