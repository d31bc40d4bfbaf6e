/* VI/TCP over loopback, between two processes: Messages of 64 KiB beside bare send and recv of the same
 * bytes, and Connection Setups beside bare connect and accept. One line of JSON.
 *
 * Usage: bench_sockets [MESSAGES [SETUPS]] */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): accept4 */
#include "../host/sockets.h"
#include "../lines/clock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 65536, DEPTH = 16, PORT = 29471, BARE_PORT = 29472, MICRO = 1000000, OFFER = 77 };

static pid_t child; /* ends with this process */
static struct sockets *wire;

static void need(bool good, const char *what)
{
    if (good)
        return;
    if (child > 0)
        kill(child, SIGTERM);
    fprintf(stderr, "bench_sockets: %s\n", what);
    exit(3);
}

/* ---- one end ---- */

struct end {
    struct fcvi_port *port;
    uint32_t mem, vi;
    struct fcvi_event call, offer; /* the last that returned; the last request of the other side */
    unsigned calls, offers, errors;
};

static uint64_t now_us(void)
{
    return (uint64_t)(clock_seconds() * MICRO);
}

static void host_of(uint8_t out[16], unsigned last)
{
    memset(out, 0, 16);
    out[10] = out[11] = 0xff;
    out[12] = 127;
    out[15] = (uint8_t)last;
}

static struct end begin(unsigned number)
{
    const struct fcvi_port_limits limits = {.vis = 4,
                                            .connectionpoints = 4,
                                            .exchanges = 1,
                                            .regions = 2,
                                            .descriptors = 2 * DEPTH,
                                            .events = 1024,
                                            .memory = DEPTH * SIZE,
                                            .max_transfer_size = SIZE,
                                            .streams = SOCKETS_STREAMS};
    const struct fcvi_attributes a = {.reliability = FCVI_RELIABLE_RECEPTION, .max_transfer_size = SIZE};
    struct fcvi_port_config c = {
        .wire = FCVI_WIRE_VITCP, .self = {.hosts = 1}, .seed = number, .vitcp = {.flow_control = true}};
    char spec[64], why[256];
    uint64_t va;
    uint32_t handle;
    struct end e = {0};
    host_of(c.self.host[0], number);
    snprintf(spec, sizeof spec, "vitcp:127.0.0.%u:%d", number, PORT);
    wire = sockets_open(spec, why, sizeof why);
    need(wire != NULL, why);
    size_t size = fcvi_port_size(&limits);
    e.port = fcvi_port_init(malloc(size), size, &limits, &c);
    need(e.port != NULL && fcvi_vip_create_vi(e.port, now_us(), &a, &e.vi) == VIP_SUCCESS, "no VI");
    need(fcvi_vip_register_mem(e.port, now_us(), DEPTH * SIZE, false, false, &e.mem, &va, &handle) ==
             VIP_SUCCESS,
         "no memory");
    return e;
}

/* Until something has happened. */
static void turn(struct end *e)
{
    struct pollfd p = {.fd = sockets_fd(wire), .events = POLLIN};
    struct fcvi_event event;
    bool any = sockets_send(wire, e->port, now_us());
    any |= sockets_take(wire, e->port, now_us());
    any |= sockets_send(wire, e->port, now_us());
    while (fcvi_port_event(e->port, &event)) {
        any = true;
        if (event.kind == FCVI_EVENT_CALL && event.token == OFFER) {
            e->offer = event;
            e->offers++;
        } else if (event.kind == FCVI_EVENT_CALL) {
            e->call = event;
            e->calls++;
        }
        e->errors += event.kind == FCVI_EVENT_ERROR;
    }
    if (!any)
        (void)poll(&p, 1, 100);
}

static void post(struct end *e, enum fcvi_op op, unsigned slot)
{
    struct fcvi_descriptor d = {
        .op = (uint8_t)op, .segments = 1, .segment = {{e->mem, slot % DEPTH * SIZE, SIZE}}};
    need(fcvi_vip_post(e->port, now_us(), e->vi, &d) == VIP_SUCCESS, "no room for a Descriptor");
}

static void wait_calls(struct end *e, unsigned calls)
{
    while (e->calls < calls)
        turn(e);
    need(e->call.vip == VIP_SUCCESS, fcvi_vip_name(e->call.vip));
}

static void connect_to(struct end *e)
{
    struct fcvi_address a = {.discriminator_length = 1}, b = a;
    host_of(a.host, 1);
    host_of(b.host, 2);
    int code = fcvi_vip_connect_request(e->port, now_us(), e->vi, &a, &b, FCVI_NEVER, 1);
    need(code == FCVI_VIP_PENDING, fcvi_vip_name(code));
    wait_calls(e, e->calls + 1);
}

/* The next request finds somebody who waits, whenever it comes. */
static void await_request(struct end *e)
{
    struct fcvi_address b = {.discriminator_length = 1};
    host_of(b.host, 2);
    int code = fcvi_vip_connect_wait(e->port, now_us(), &b, FCVI_NEVER, OFFER);
    need(code == FCVI_VIP_PENDING, fcvi_vip_name(code));
}

static void serve_one(struct end *e, unsigned number)
{
    while (e->offers < number)
        turn(e);
    await_request(e);
    need(fcvi_vip_connect_accept(e->port, now_us(), e->offer.conn, e->vi, 2) == FCVI_VIP_PENDING,
         "VipConnectAccept");
    wait_calls(e, e->calls + 1);
}

static void drain(struct end *e, bool recv)
{
    struct fcvi_completion c;
    while (fcvi_vip_done(e->port, now_us(), e->vi, recv, &c) != VIP_DESCRIPTOR_ERROR || c.status != 0)
        ;
}

/* The other process: takes the Messages, then one connection after the other. */
static void server(unsigned messages, unsigned setups)
{
    struct end e = begin(2);
    struct fcvi_completion c;
    unsigned posted = 0;
    for (; posted < DEPTH; posted++)
        post(&e, FCVI_RECV, posted);
    await_request(&e);
    serve_one(&e, 1);
    for (unsigned got = 0; got < messages; turn(&e))
        while (fcvi_vip_done(e.port, now_us(), e.vi, true, &c) == VIP_SUCCESS) {
            need(c.length == SIZE, "a Message of another length");
            got++;
            post(&e, FCVI_RECV, posted++);
        }
    for (unsigned i = 0; i <= setups; i++) {
        unsigned errors = i + 1;
        while (e.errors < errors) /* the client has gone */
            turn(&e);
        (void)fcvi_vip_disconnect(e.port, now_us(), e.vi, 1);
        drain(&e, true);
        if (i < setups)
            serve_one(&e, i + 2);
    }
    for (int i = 0; i < 5; i++)
        turn(&e);
    exit(0);
}

/* ---- bare sockets ---- */

static struct sockaddr_in bare_address(void)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(BARE_PORT), .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static void bare_server(int listening, unsigned messages, unsigned setups)
{
    static uint8_t buffer[SIZE];
    for (unsigned i = 0; i <= setups; i++) {
        int fd = accept(listening, NULL, NULL);
        uint64_t left = i == 0 ? (uint64_t)messages * SIZE : 1;
        while (left > 0) {
            ssize_t n = recv(fd, buffer, sizeof buffer, 0);
            need(n > 0, "bare recv");
            left -= (uint64_t)n < left ? (uint64_t)n : left;
        }
        need(send(fd, buffer, 1, 0) == 1, "bare send"); /* as Connect Accept, or the last ACK */
        (void)recv(fd, buffer, 1, 0);
        close(fd);
    }
    exit(0);
}

static int bare_connect(void)
{
    const int on = 1;
    struct sockaddr_in a = bare_address();
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    need(connect(fd, (struct sockaddr *)&a, sizeof a) == 0, "bare connect");
    return fd;
}

static void bare(unsigned messages, unsigned setups, double *transfer, double *setup)
{
    static uint8_t buffer[SIZE];
    const int on = 1;
    struct sockaddr_in a = bare_address();
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    (void)setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    need(bind(listening, (struct sockaddr *)&a, sizeof a) == 0 && listen(listening, 16) == 0, "bare listen");
    child = fork();
    if (child == 0)
        bare_server(listening, messages, setups);
    int fd = bare_connect();
    double start = clock_seconds();
    for (uint64_t sent = 0, all = (uint64_t)messages * SIZE; sent < all;) {
        ssize_t n = send(fd, buffer, sizeof buffer, 0);
        need(n > 0, "bare send");
        sent += (uint64_t)n;
    }
    need(recv(fd, buffer, 1, 0) == 1, "bare recv");
    *transfer = clock_seconds() - start;
    close(fd);
    start = clock_seconds();
    for (unsigned i = 0; i < setups; i++) {
        fd = bare_connect();
        need(send(fd, buffer, 1, 0) == 1 && recv(fd, buffer, 1, 0) == 1, "bare setup");
        close(fd);
    }
    *setup = clock_seconds() - start;
    close(listening);
    (void)waitpid(child, NULL, 0);
    child = 0;
}

int main(int argc, char **argv)
{
    unsigned messages = argc > 1 ? (unsigned)atoi(argv[1]) : 20000,
             setups = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
    double bare_transfer, bare_setup;
    signal(SIGPIPE, SIG_IGN);
    bare(messages, setups, &bare_transfer, &bare_setup);
    child = fork();
    if (child == 0)
        server(messages, setups);
    usleep(200000); /* until it listens */
    struct end e = begin(1);
    struct fcvi_completion c;
    connect_to(&e);
    double start = clock_seconds();
    for (unsigned sent = 0, done = 0; done < messages; turn(&e)) {
        for (; sent < messages && sent - done < DEPTH; sent++)
            post(&e, FCVI_SEND, sent);
        while (fcvi_vip_done(e.port, now_us(), e.vi, false, &c) == VIP_SUCCESS)
            done++;
    }
    double transfer = clock_seconds() - start;
    (void)fcvi_vip_disconnect(e.port, now_us(), e.vi, 1);
    start = clock_seconds();
    for (unsigned i = 0; i < setups; i++) {
        connect_to(&e);
        (void)fcvi_vip_disconnect(e.port, now_us(), e.vi, 1);
    }
    double setup = clock_seconds() - start;
    for (int i = 0; i < 5; i++)
        turn(&e);
    (void)waitpid(child, NULL, 0);
    printf("{\"messages\": %u, \"message_bytes\": %d, \"transfer_s\": %.3f, \"bare_transfer_s\": %.3f, "
           "\"setups\": %u, "
           "\"setup_s\": %.3f, \"bare_setup_s\": %.3f}\n",
           messages, SIZE, transfer, bare_transfer, setups, setup, bare_setup);
    return 0;
}
