/* A capture of two reference ports that talk to each other: bench_traffic OUT FRAMES [mixed|small]
 * [LINKTYPE].
 *
 * CONNECTIONS Connections of the three Reliability Levels carry Sends, RDMA Writes and RDMA Reads, several at
 * a time; now and then one is disconnected and set up again. mixed has Messages from nothing to 64 KiB,
 * most of them of less than 8 KiB, small such of at
 * most 64 bytes on Connections that stay. Nothing in it breaks a rule. OUT may be
 * "-". */
#define _POSIX_C_SOURCE 200809L
#include "../../refimpl/bench/pair.h"
#include "capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONNECTIONS = 96,
    BATCH = 6,
    REGION = 1 << 16,
    FRAME_US = 25,  /* between two frames */
    VIS = 2048,     /* handles rest for R_A_TOV after a Disconnect */
    REFRESH = 2000, /* Messages to a Disconnect */
    DAMAGE = 100
};

struct connection {
    uint32_t vi[2]; /* of either port */
    uint8_t level;
};

struct world {
    struct fcvi_port *port[2];
    uint32_t mem[2], handle[2];
    struct connection c[CONNECTIONS];
    struct capture_writer *out;
    uint64_t now, frames, wanted, random;
    uint64_t conn; /* of the last request offered to the server */
    bool small, damaged;
};

static void fail(const char *what)
{
    fprintf(stderr, "bench_traffic: %s\n", what);
    exit(3);
}

static uint32_t draw(struct world *w, uint32_t below)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((w->random >> 32) * below >> 32);
}

static void begin(struct world *w)
{
    const struct fcvi_port_limits l = {.vis = VIS,
                                       .connectionpoints = 4,
                                       .exchanges = 4096,
                                       .regions = 4,
                                       .descriptors = 4 * BATCH,
                                       .events = 4096,
                                       .max_transfer_size = REGION};
    for (unsigned i = 0; i < 2; i++) {
        const struct fcvi_port_config c = pair_config(i);
        size_t size = fcvi_port_size(&l);
        w->port[i] = fcvi_port_init(malloc(size), size, &l, &c);
        if (w->port[i] == NULL)
            fail("no memory");
        uint8_t *bytes = malloc(REGION);
        if (bytes == NULL)
            fail("no memory");
        for (unsigned k = 0; k < REGION; k++)
            bytes[k] = (uint8_t)draw(w, 256);
        struct fcvi_region r = {
            .va = 0x10000, .length = REGION, .rdma_write = true, .rdma_read = true, .bytes = bytes};
        if (fcvi_vip_register_region(w->port[i], 0, &r, &w->mem[i], &w->handle[i]) != VIP_SUCCESS)
            fail("no region");
    }
}

/* ---- the wire ---- */

static void events(struct world *w)
{
    struct fcvi_event e;
    for (unsigned i = 0; i < 2; i++)
        while (fcvi_port_event(w->port[i], &e))
            if (e.kind == FCVI_EVENT_CALL && i == 1 && e.token == 1)
                w->conn = e.conn;
            else if (e.kind == FCVI_EVENT_ERROR && e.vip != VIP_ERROR_CONN_LOST)
                fail("a port has an error");
}

static bool carry(struct world *w, unsigned from)
{
    uint8_t bytes[PAIR_FRAME];
    struct fcvi_transmitted meta;
    size_t n = fcvi_port_transmit(w->port[from], w->now, bytes, sizeof bytes, &meta);
    if (n == 0)
        return false;
    struct fcvi_input in = {bytes, n, meta.sof, meta.eof, FCVI_CRC_OK};
    struct fcvi_input seen = in;
    if (w->damaged && w->frames % DAMAGE == DAMAGE - 1)
        seen.crc = FCVI_CRC_BAD;
    if (w->frames < w->wanted && fcvi_capture_write(w->out, w->now, &seen) != 0)
        fail("a frame could not be written");
    w->frames++;
    w->now += FRAME_US;
    fcvi_port_receive(w->port[1 - from], w->now, &in);
    return true;
}

static void pump(struct world *w)
{
    for (bool any = true; any;) {
        any = false;
        for (unsigned i = 0; i < 2; i++)
            any |= carry(w, i);
        events(w);
    }
}

/* ---- Connections ---- */

static void connect_vis(struct world *w, struct connection *c)
{
    struct fcvi_attributes attributes = {
        .reliability = c->level, .rdma_write = true, .rdma_read = c->level != 1, .pipeline_depth = BATCH};
    struct fcvi_address here = pair_address(0), there = pair_address(1);
    for (unsigned i = 0; i < 2; i++)
        if (fcvi_vip_create_vi(w->port[i], w->now, &attributes, &c->vi[i]) != VIP_SUCCESS)
            fail("no VI");
    fcvi_vip_connect_wait(w->port[1], w->now, &there, FCVI_NEVER, 1);
    fcvi_vip_connect_request(w->port[0], w->now, c->vi[0], &here, &there, FCVI_NEVER, 2);
    pump(w);
    fcvi_vip_connect_accept(w->port[1], w->now, (uint32_t)w->conn, c->vi[1], 3);
    pump(w);
    struct fcvi_vi_info info;
    fcvi_vip_query_vi(w->port[0], w->now, c->vi[0], &info);
    if (info.state != FCVI_STATE_CONNECTED)
        fail("a Connection was not set up");
}

static void renew(struct world *w, struct connection *c)
{
    for (unsigned i = 0; i < 2; i++) {
        fcvi_vip_disconnect(w->port[i], w->now, c->vi[i], 4);
        pump(w);
        fcvi_vip_destroy_vi(w->port[i], w->now, c->vi[i]);
    }
    connect_vis(w, c);
}

/* ---- Messages ---- */

/* As many short as long ones, by powers of two. */
static uint32_t size_of(struct world *w)
{
    if (w->small)
        return draw(w, 17) * 4;
    uint32_t most = 16u << draw(w, draw(w, 64) == 0 ? 13 : 10);
    return draw(w, most);
}

static void post(struct world *w, struct connection *c, unsigned from)
{
    static struct fcvi_descriptor d, r;
    uint32_t size = size_of(w), kinds = c->level == 1 ? 2 : 3;
    d.op = (uint8_t)draw(w, kinds);
    d.segments = 1;
    d.segment[0] = (struct fcvi_segment){w->mem[from], 0, size};
    d.has_immediate = d.op != FCVI_RDMA_READ && draw(w, 8) == 0;
    d.immediate = draw(w, UINT32_MAX);
    d.remote_va = d.op == FCVI_SEND ? 0 : 0x10000;
    d.remote_handle = d.op == FCVI_SEND ? 0 : w->handle[1 - from];
    if (d.op == FCVI_SEND || d.has_immediate) {
        r.op = FCVI_RECV;
        r.segments = 1;
        r.segment[0] = (struct fcvi_segment){w->mem[1 - from], 0, REGION};
        if (fcvi_vip_post(w->port[1 - from], w->now, c->vi[1 - from], &r) != VIP_SUCCESS)
            fail("a Descriptor was not taken");
    }
    if (fcvi_vip_post(w->port[from], w->now, c->vi[from], &d) != VIP_SUCCESS)
        fail("a Descriptor was not taken");
}

static void reap(struct world *w, const struct connection *c)
{
    struct fcvi_completion done;
    for (unsigned i = 0; i < 4; i++) {
        while (fcvi_vip_done(w->port[i / 2], w->now, c->vi[i / 2], i % 2 != 0, &done) == VIP_SUCCESS)
            ;
        if (done.status & FCVI_STATUS_ERROR_MASK)
            fail("a Message failed");
    }
}

static void talk(struct world *w)
{
    struct connection *c[BATCH];
    for (unsigned k = 0; k < BATCH; k++) {
        c[k] = &w->c[draw(w, CONNECTIONS)];
        post(w, c[k], draw(w, 2));
    }
    pump(w);
    for (unsigned k = 0; k < BATCH; k++)
        reap(w, c[k]);
    if (!w->small && draw(w, REFRESH / BATCH) == 0)
        renew(w, c[0]);
}

int main(int argc, char **argv)
{
    static struct world w = {.random = 331};
    char error[512];
    if (argc < 3 || (w.wanted = strtoull(argv[2], NULL, 10)) == 0) {
        fprintf(stderr, "usage: bench_traffic OUT FRAMES [mixed|small|damaged] [224|225|1]\n");
        return 2;
    }
    w.damaged = argc > 3 && strcmp(argv[3], "damaged") == 0;
    w.small = argc > 3 && strcmp(argv[3], "small") == 0;
    w.out = fcvi_capture_create(argv[1], argc > 4 ? atoi(argv[4]) : CAPTURE_FC_2_DELIMS, error, sizeof error);
    if (w.out == NULL)
        fail(error);
    begin(&w);
    for (unsigned k = 0; k < CONNECTIONS; k++) {
        w.c[k].level = (uint8_t)(1 + k % 3);
        connect_vis(&w, &w.c[k]);
    }
    while (w.frames < w.wanted)
        talk(&w);
    if (fcvi_capture_finish(w.out) != 0)
        fail("not everything could be written");
    return 0;
}
