/* NICs that VipOpenNic brings up by itself: the name says the wire, or a file does (conf.h). A NIC that is
 * there stays until the process ends, and every open of it shares it. The child of a fork has none of them.
 */
#include "conf.h"
#include "fcoe.h"
#include "host.h"
#include "sockets.h"

#include <fcvi/codec.h>

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { INCOMING_US = 5000000, RECEIVE_SIZE = 2112, A_MS_US = 1000 };

struct opened {
    struct opened *next;
    struct host *host;
};

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static struct opened *all, *of_parents; /* those of before a fork stay allocated */

static void complain(const char *device, const char *why)
{
    const char *wanted = getenv("VIPL_DEBUG");
    if (wanted != NULL && wanted[0] != '\0')
        fprintf(stderr, "libvipl: VipOpenNic %s: %s\n", device, why);
}

/* ---- wires ---- */

static bool next_frame(void *context, struct fcvi_input *frame)
{
    return fcoe_receive(context, frame);
}

static void send_frame(void *context, size_t port, uint8_t *bytes, struct fcvi_input *frame)
{
    (void)port, (void)bytes;
    fcoe_send(context, frame);
}

static void close_fcoe(void *context)
{
    fcoe_close(context);
}

static bool take(void *context, struct fcvi_port *port, uint64_t now)
{
    return sockets_take(context, port, now);
}

static bool say(void *context, struct fcvi_port *port, uint64_t now)
{
    return sockets_send(context, port, now);
}

static void forget(void *context)
{
    sockets_forget(context);
}

static void close_sockets(void *context)
{
    sockets_close(context);
}

/* ---- what a port is without a file ---- */

static void take_default(uint64_t *value, uint64_t otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

static uint64_t random_seed(void)
{
    return (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)&all;
}

/* Names and addresses come from the address of the interface, as a VN_Port of FC-BB has its own: the
 * N_Port_ID is its last three bytes, the Host Address its link-local one (RFC 4291, Appendix A). */
static void complete_fc(struct conf_nic *nic, const uint8_t mac[6])
{
    struct fcvi_port_config *c = &nic->config;
    uint64_t address = 0;
    for (int i = 0; i < 6; i++)
        address = address << 8 | mac[i];
    take_default(&c->self.port_name, 0x1000ull << 48 | address);
    take_default(&c->self.node_name, 0x2000ull << 48 | address);
    if (c->self.n_port_id == 0)
        c->self.n_port_id = (uint32_t)(address & 0xFFFFFF) % 0xEFFFFF + 1;
    if (c->self.hosts == 0) {
        const uint8_t host[16] = {0xfe,       0x80,   0,      0,    0,    0,      0,      0,
                                  mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
        memcpy(c->self.host[c->self.hosts++], host, sizeof host);
    }
    take_default(&c->r_a_tov_us, CONF_R_A_TOV_US);
    /* the ratio that FC-FS has by default: an address is asked for again each E_D_TOV, long before the search
     * ends */
    take_default(&c->e_d_tov_us, c->r_a_tov_us / 5 > A_MS_US ? c->r_a_tov_us / 5 : A_MS_US);
    if (c->service_class == 0)
        c->service_class = 3;
    c->receive_size = RECEIVE_SIZE;
    c->explicit_login = true; /* the other port's addresses are asked for by FARP */
    c->seed = random_seed();
}

static void complete_tcp(struct conf_nic *nic, const struct sockets *s)
{
    struct fcvi_port_config *c = &nic->config;
    c->wire = FCVI_WIRE_VITCP;
    c->self.hosts = 1;
    memcpy(c->self.host[0], sockets_host(s), sizeof c->self.host[0]);
    c->seed = random_seed();
    take_default(&c->vitcp.incoming_timeout_us, INCOMING_US);
    /* a RST behind an accepted SYN would be no answer: the caller would ask again until its Timeout (V32) */
    c->vitcp.answers_always = true;
}

/* ---- names ---- */

static bool is_wire(const char *text)
{
    return strncmp(text, "vitcp:", 6) == 0 || strncmp(text, "fcoe:", 5) == 0;
}

/* On FC-VI the system knows nobody, but an address is its own name. */
static bool resolve_address(void *context, const char *name, uint32_t index, uint8_t host[16])
{
    (void)context;
    return index == 0 && conf_host(name, host);
}

static bool resolve(void *context, const char *name, uint32_t index, uint8_t host[16])
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    bool there = false;
    int before;
    (void)context;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); /* the call has its NIC pinned */
    const int failed = getaddrinfo(name, NULL, &hints, &found);
    pthread_setcancelstate(before, NULL);
    if (failed != 0)
        return false;
    for (const struct addrinfo *a = found; a != NULL && !there; a = a->ai_next) {
        if ((a->ai_family != AF_INET && a->ai_family != AF_INET6) || index-- > 0)
            continue;
        there = true;
        if (a->ai_family == AF_INET6) {
            memcpy(host, &((const struct sockaddr_in6 *)(const void *)a->ai_addr)->sin6_addr, 16);
            continue;
        }
        memset(host, 0, 10);
        memset(host + 10, 0xff, 2);
        memcpy(host + 12, &((const struct sockaddr_in *)(const void *)a->ai_addr)->sin_addr, 4);
    }
    freeaddrinfo(found);
    return there;
}

/* ---- opening ---- */

static struct host *open_host(struct conf_nic *nic, char *why, size_t size)
{
    const bool tcp = strncmp(nic->wire, "vitcp:", strlen("vitcp:")) == 0;
    struct sockets *sockets = tcp ? sockets_open(nic->wire, why, size) : NULL;
    struct fcoe *fcoe = tcp ? NULL : fcoe_open(nic->wire, why, size);
    struct host_wire wire = {.fd = -1};
    if (sockets != NULL) {
        complete_tcp(nic, sockets);
        wire = (struct host_wire){.context = sockets,
                                  .fd = sockets_fd(sockets),
                                  .take = take,
                                  .say = say,
                                  .forget = forget,
                                  .close = close_sockets};
    } else if (fcoe != NULL) {
        complete_fc(nic, fcoe_address(fcoe));
        wire = (struct host_wire){.context = fcoe,
                                  .fd = fcoe_fd(fcoe),
                                  .receive = next_frame,
                                  .transmit = send_frame,
                                  .close = close_fcoe};
    } else {
        return NULL;
    }
    struct host *h = host_new();
    if (h == NULL || !host_on(h, &wire)) {
        snprintf(why, size, "no memory, or no thread");
        wire.close(wire.context);
        return NULL;
    }
    return h;
}

/* NULL: it is there. */
static const char *bring_up(const char *device, struct conf_nic *nic, const struct conf *conf, char *why,
                            size_t size)
{
    struct opened *o = calloc(1, sizeof *o);
    struct host *h = o != NULL ? open_host(nic, why, size) : NULL;
    if (h == NULL) {
        free(o);
        return why;
    }
    const struct fcvi_vipl_nic tables = {
        .names = conf->names,
        .name_count = conf->name_count,
        .resolve = nic->config.wire == FCVI_WIRE_VITCP ? resolve : resolve_address,
        .padded_discriminators = nic->config.wire == FCVI_WIRE_FC &&
                                 nic->config.revision == FCVI_EDITION_2007 && !nic->strict_discriminators};
    *o = (struct opened){all, h};
    all = o; /* its thread runs: it stays, whatever comes of it */
    struct fcvi_port_config config = nic->config;
    config.logs_out_strangers = true; /* a process before may have had the interface, and been killed */
    const char *wrong = host_attach(h, 0, device, &config, &tables);
    if (wrong == NULL && !host_run_handlers(h))
        wrong = "no thread for handlers";
    return wrong;
}

/* fcoe:IFACE,key=value,... and vitcp:ADDR:PORT,key=value,... have their members in the name. */
static bool from_name(const char *device, struct conf_nic *nic, char why[CONF_WHY])
{
    char text[CONF_NAME + 8];
    snprintf(text, sizeof text, "wire=%s", device);
    for (char *at = text; *at != '\0'; at++)
        if (*at == ',')
            *at = ' ';
    return conf_members(text, nic, why);
}

static enum fcvi_vipl_opened find_and_bring_up(const char *device)
{
    struct conf conf = {0};
    struct conf_nic nic = {0};
    char why[CONF_WHY] = "";
    enum fcvi_vipl_opened end = FCVI_VIPL_IS_THERE;
    if (strlen(device) >= CONF_NAME) {
        complain(device, "its name is too long");
        return FCVI_VIPL_UNKNOWN;
    }
    bool known = conf_read(device, &conf, &nic, why);
    const bool wrong = why[0] != '\0';
    if (!known && !wrong && is_wire(device))
        known = from_name(device, &nic, why);
    if (!known) {
        end = wrong ? FCVI_VIPL_CANNOT : FCVI_VIPL_UNKNOWN;
        complain(device, why[0] != '\0' ? why : "it is no wire, and no file defines it");
    } else if (!is_wire(nic.wire)) {
        end = FCVI_VIPL_CANNOT;
        complain(device, "its wire is neither vitcp:ADDR:PORT nor fcoe:IFACE");
    } else {
        const char *said = bring_up(device, &nic, &conf, why, sizeof why);
        if (said != NULL) {
            end = FCVI_VIPL_CANNOT;
            complain(device, said);
        }
    }
    conf_free(&conf);
    return end;
}

static enum fcvi_vipl_opened open_device(const char *device)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_mutex_lock(&opening);
    const bool there = fcvi_vipl_turn(device) == 0; /* another thread was quicker */
    const enum fcvi_vipl_opened end = there ? FCVI_VIPL_IS_THERE : find_and_bring_up(device);
    pthread_mutex_unlock(&opening);
    pthread_setcancelstate(before, NULL);
    return end;
}

/* ---- the process ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&opening);
    for (const struct opened *o = all; o != NULL; o = o->next)
        host_lock(o->host);
    fcvi_vipl_fork(FCVI_VIPL_BEFORE_FORK);
}

static void after_fork(void)
{
    fcvi_vipl_fork(FCVI_VIPL_PARENT);
    for (const struct opened *o = all; o != NULL; o = o->next)
        host_unlock(o->host);
    pthread_mutex_unlock(&opening);
}

static void in_child(void)
{
    fcvi_vipl_fork(FCVI_VIPL_CHILD);
    for (const struct opened *o = all; o != NULL; o = o->next)
        host_forked(o->host);
    while (all != NULL) {
        struct opened *o = all;
        all = o->next;
        o->next = of_parents;
        of_parents = o;
    }
    pthread_mutex_init(&opening, NULL);
}

static void at_exit(void)
{
    for (const struct opened *o = all; o != NULL; o = o->next)
        host_leave(o->host);
}

__attribute__((constructor)) static void load(void)
{
    (void)pthread_atfork(before_fork, after_fork, in_child);
    (void)atexit(at_exit);
    fcvi_vipl_open_by(open_device);
}
