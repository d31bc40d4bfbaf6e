/* How the port scales: connections set up and Messages answered with few and with many of them open, as
 * ratios of one run. The wire is a loop that carries each frame at once. */
#include "pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    FEW = 100,
    MANY = 100000,
    EXCHANGES = 0xFFFF,
    OPEN = 61000,
    /* the port keeps some back */ ROUNDS = 5,
    PROBES = 1000
};

struct pair {
    struct fcvi_port *port[2];
    size_t size;
    uint64_t frames;
    uint64_t conn; /* of the last request offered to the server */
    bool deaf;     /* Message Responses are lost */
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_port: %s\n", what);
    exit(3);
}

static struct pair begin(uint32_t vis, uint32_t exchanges)
{
    struct pair p = {.conn = 0};
    struct fcvi_port_limits l = {.vis = vis,
                                 .connectionpoints = 16,
                                 .exchanges = exchanges,
                                 .regions = 16,
                                 .descriptors = 4,
                                 .events = 1024,
                                 .max_transfer_size = 1 << 20,
                                 .setups = 64,
                                 .entries = 4 * vis};
    p.size = fcvi_port_size(&l);
    for (unsigned i = 0; i < 2; i++) {
        const struct fcvi_port_config c = pair_config(i);
        p.port[i] = fcvi_port_init(malloc(p.size), p.size, &l, &c);
        if (p.port[i] == NULL)
            fail("no memory");
    }
    return p;
}

static void end(struct pair *p)
{
    free(p->port[0]);
    free(p->port[1]);
}

static void events(struct pair *p)
{
    struct fcvi_event e;
    for (unsigned i = 0; i < 2; i++)
        while (fcvi_port_event(p->port[i], &e))
            if (e.kind == FCVI_EVENT_CALL && i == 1 && e.token == 1)
                p->conn = e.conn;
}

static void pump(struct pair *p)
{
    uint8_t out[PAIR_FRAME];
    struct fcvi_transmitted meta;
    size_t n;
    for (bool any = true; any;) {
        any = false;
        for (unsigned i = 0; i < 2; i++)
            while ((n = fcvi_port_transmit(p->port[i], 0, out, sizeof out, &meta)) > 0) {
                struct fcvi_input in = {out, n, meta.sof, meta.eof, FCVI_CRC_OK};
                any = true;
                p->frames++;
                if (!(p->deaf && fcvi_FC_R_CTL(out) == 0x07))
                    fcvi_port_receive(p->port[1 - i], 0, &in);
            }
        events(p);
    }
}

static const struct fcvi_attributes attributes = {
    .reliability = FCVI_RELIABLE_RECEPTION, .rdma_write = true, .pipeline_depth = 0};

/* One more connection, client to server. Returns the VI at port 0; that of port 1 has the same number. */
static uint32_t connect_one(struct pair *p)
{
    uint32_t vi[2];
    struct fcvi_address here = pair_address(0), there = pair_address(1);
    for (unsigned i = 0; i < 2; i++)
        if (fcvi_vip_create_vi(p->port[i], 0, &attributes, &vi[i]) != VIP_SUCCESS)
            fail("no VI");
    fcvi_vip_connect_wait(p->port[1], 0, &there, FCVI_NEVER, 1);
    fcvi_vip_connect_request(p->port[0], 0, vi[0], &here, &there, FCVI_NEVER, 2);
    pump(p);
    fcvi_vip_connect_accept(p->port[1], 0, (uint32_t)p->conn, vi[1], 3);
    pump(p);
    struct fcvi_vi_info info;
    fcvi_vip_query_vi(p->port[0], 0, vi[0], &info);
    if (info.state != FCVI_STATE_CONNECTED)
        fail("a connection was not set up");
    return vi[0];
}

static void disconnect_one(struct pair *p, uint32_t vi)
{
    for (unsigned i = 0; i < 2; i++) {
        fcvi_vip_disconnect(p->port[i], 0, vi, 4);
        pump(p);
        fcvi_vip_destroy_vi(p->port[i], 0, vi);
    }
}

static void write_one(struct pair *p, uint32_t vi, uint32_t mem, uint64_t va, uint32_t handle)
{
    static struct fcvi_descriptor d;
    d.op = FCVI_RDMA_WRITE;
    d.segments = 1;
    d.segment[0] = (struct fcvi_segment){mem, 0, 64};
    d.remote_va = va;
    d.remote_handle = handle;
    if (fcvi_vip_post(p->port[0], 0, vi, &d) != VIP_SUCCESS)
        fail("a Descriptor was not taken");
}

/* ---- connections ---- */

static double setup_rate(struct pair *p)
{
    static uint32_t vi[PROBES];
    double start = seconds();
    for (unsigned k = 0; k < PROBES; k++)
        vi[k] = connect_one(p);
    double took = seconds() - start;
    for (unsigned k = 0; k < PROBES; k++)
        disconnect_one(p, vi[k]);
    return PROBES / took;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *list)
{
    qsort(list, ROUNDS, sizeof *list, ascending);
    return list[ROUNDS / 2];
}

static void connections(void)
{
    struct pair few = begin(MANY + PROBES, 1024), many = begin(MANY + PROBES, 1024);
    for (unsigned k = 0; k < FEW; k++)
        connect_one(&few);
    double start = seconds();
    for (unsigned k = 0; k < MANY; k++)
        connect_one(&many);
    double all = MANY / (seconds() - start), rate[2][ROUNDS];
    for (unsigned k = 0; k < ROUNDS; k++) { /* alternating, so that both see the same machine */
        rate[0][k] = setup_rate(&few);
        rate[1][k] = setup_rate(&many);
    }
    double a = median(rate[0]), b = median(rate[1]);
    printf("memory of the port           %8.1f MB, %.0f bytes a connection\n", (double)many.size / 1e6,
           (double)many.size / (MANY + PROBES));
    printf("setups with %6d open      %8.0f /s\n", FEW, a);
    printf("setups with %6d open      %8.0f /s (%.0f /s while they were opened)\n", MANY, b, all);
    printf("ratio                        %8.2f\n", a / b);
    end(&few);
    end(&many);
}

/* ---- Exchanges ---- */

/* An RDMA Write and its response, with `open` other Exchanges that wait for theirs. */
static double message_rate(struct pair *p, uint32_t mem, uint64_t va, uint32_t handle, uint32_t vi)
{
    struct fcvi_completion c;
    double start = seconds();
    for (unsigned k = 0; k < PROBES; k++) {
        write_one(p, vi, mem, va, handle);
        pump(p);
        if (fcvi_vip_done(p->port[0], 0, vi, false, &c) != VIP_SUCCESS)
            fail("a Message was not answered");
    }
    return PROBES / (seconds() - start);
}

static void exchanges(void)
{
    struct pair p[2];
    uint32_t mem[2], there[2], handle[2], handles, probe[2];
    uint64_t va[2];
    const unsigned open[2] = {FEW, OPEN};
    for (unsigned i = 0; i < 2; i++) {
        p[i] = begin(EXCHANGES + 2, EXCHANGES);
        struct fcvi_region r = {.va = 0, .length = 4096, .bytes = calloc(1, 4096)};
        fcvi_vip_register_region(p[i].port[0], 0, &r, &mem[i], &handles);
        r.rdma_write = true;
        va[i] = r.va = 0x1000;
        fcvi_vip_register_region(p[i].port[1], 0, &r, &there[i], &handle[i]);
        probe[i] = connect_one(&p[i]);
        for (unsigned k = 0; k < open[i]; k++) {
            uint32_t vi = connect_one(&p[i]);
            p[i].deaf = true;
            write_one(&p[i], vi, mem[i], va[i], handle[i]);
            pump(&p[i]);
            p[i].deaf = false;
        }
        struct fcvi_port_counts c;
        fcvi_port_count(p[i].port[0], &c);
        if (c.exchanges != open[i])
            fail("the Exchanges are not open");
    }
    double rate[2][ROUNDS];
    for (unsigned k = 0; k < ROUNDS; k++)
        for (unsigned i = 0; i < 2; i++)
            rate[i][k] = message_rate(&p[i], mem[i], va[i], handle[i], probe[i]);
    double a = median(rate[0]), b = median(rate[1]);
    printf("Messages with %6u Exchanges open %8.0f /s\n", open[0], a);
    printf("Messages with %6u Exchanges open %8.0f /s\n", open[1], b);
    printf("ratio                              %8.2f\n", a / b);
    end(&p[0]);
    end(&p[1]);
}

int main(void)
{
    connections();
    exchanges();
    return 0;
}
