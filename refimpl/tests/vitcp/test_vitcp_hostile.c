/* VI/TCP: a port that is told nonsense, in any order, by its host and by the other side. It has asserts in
 * this build and AddressSanitizer in another; what is seen here is that nothing is left behind, that a
 * new connection works, and that memory which nobody may write stays as it is. */
#include "vitcp.h"

enum { SEEDS = 1500, STEPS = 120, FENCE = 4096 };

struct hostile {
    struct tcp *t;
    uint64_t random;
    uint32_t vi[4], stream[4], number[4];
    uint32_t guard; /* a region that allows nothing */
    uint8_t *fence;
};

static uint32_t chance(struct hostile *h, uint32_t n)
{
    h->random = h->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(h->random >> 33) % n;
}

/* Mostly what would be right, now and then anything. */
static uint32_t near(struct hostile *h, uint32_t right)
{
    uint32_t how = chance(h, 12);
    return how < 8     ? right
           : how == 8  ? right + 1
           : how == 9  ? right - 1
           : how == 10 ? 0
                       : (uint32_t)h->random;
}

static void segment(struct hostile *h, unsigned i)
{
    static const uint8_t types[] = {0x08, 0x08, 0x20, 0x20, 0x10, 0x18, 0x28,
                                    0x28, 0x30, 0x38, 0x40, 0x48, 0x00, 0xf8};
    uint8_t b[512] = {1, types[chance(h, 9) == 0 ? chance(h, sizeof types) : chance(h, 8)]};
    bool rdma = (b[1] == 0x20 || b[1] == 0x10 || b[1] == 0x18) && chance(h, 20) != 0;
    uint32_t headers = rdma ? 40 : 24, data = b[1] == 0x10 || chance(h, 3) == 0 ? 0 : chance(h, 200);
    uint32_t length = headers + data;
    b[0] = chance(h, 60) == 0 ? (uint8_t)h->random : 1;
    b[1] = (uint8_t)(b[1] | (chance(h, 4) == 0 ? chance(h, 8) : 2));
    fcvi_store(b + 2, 2, chance(h, 40) == 0 ? near(h, length) : length);
    fcvi_store(b + 4, 4, chance(h, 10) == 0 ? near(h, data) : 0);
    fcvi_store(b + 12, 4, near(h, h->number[i]));
    fcvi_store(b + 16, 4, near(h, (uint32_t)h->random & 0x3fffffff));
    fcvi_store(b + 20, 2, near(h, 20 + chance(h, 9)));
    fcvi_store(b + 22, 2, chance(h, 30) == 0 ? chance(h, 65536) : 0);
    if (rdma) {
        fcvi_store(b + 24, 8, chance(h, 4) == 0 ? h->random << chance(h, 40) : h->t->va + chance(h, 1 << 18));
        fcvi_store(b + 32, 4, near(h, h->t->handle));
        fcvi_store(b + 36, 4, near(h, b[1] >> 3 == 2 ? chance(h, 3000) : data));
    }
    memset(b + headers, 0xdd, data);
    if ((b[1] >> 3) != 5 && (b[1] >> 3) != 3 && b[1] & 2)
        h->number[i]++;
    h->t->cut = chance(h, 5) == 0 ? 1 + chance(h, 50) : 0;
    t_send_bytes(h->t, h->stream[i], b, length);
}

static void post(struct hostile *h, unsigned i)
{
    struct fcvi_descriptor d = {.op = (uint8_t)chance(h, 4),
                                .segments = (uint8_t)chance(h, 3),
                                .has_immediate = chance(h, 4) == 0,
                                .fence = chance(h, 4) == 0,
                                .format_error = chance(h, 60) == 0,
                                .remote_va = h->random,
                                .segment = {{h->t->mem, chance(h, 1000), chance(h, 400)},
                                            {near(h, h->t->mem), chance(h, 1000), chance(h, 400)}}};
    (void)fcvi_vip_post(h->t->port, h->t->now, h->vi[i], &d);
}

static void drain(struct hostile *h, unsigned i)
{
    struct fcvi_completion c;
    for (int recv = 0; recv < 2; recv++)
        while (fcvi_vip_done(h->t->port, h->t->now, h->vi[i], recv, &c) != VIP_NOT_DONE && c.status != 0)
            ;
}

/* A VI in any state becomes Connected again, by a call of the tester. */
static void again(struct hostile *h, unsigned i)
{
    struct fcvi_vi_info info;
    struct tcp *t = h->t;
    fcvi_vip_query_vi(t->port, t->now, h->vi[i], &info);
    if (info.state == FCVI_STATE_CONNECTED && chance(h, 3) != 0)
        return;
    (void)fcvi_vip_disconnect(t->port, t->now, h->vi[i], 1);
    drain(h, i);
    t->cut = 0;
    t_listen(t);
    t_wait(t, 0xaa, 900);
    uint32_t stream = UINT32_MAX;
    if (!fcvi_stream_incoming(t->port, t->now, &t_tester, &t_port, &stream)) {
        t_pass(t, 20000 * T_MS); /* the table is full of streams that linger */
        stream = t_call(t);
    }
    h->stream[i] = stream;
    t->said[stream].kind = FCVI_STREAM_NONE;
    t->looked = t->events;
    t_send(t, stream, T_REQUEST, 10u, info.attributes.reliability == 1 ? 2u : 7u, 300u, 2u);
    const struct fcvi_event *e = t_event(t, FCVI_EVENT_CALL);
    ck_assert_ptr_nonnull(e);
    ck_assert_int_eq(fcvi_vip_connect_accept(t->port, t->now, e->conn, h->vi[i], 2), FCVI_VIP_PENDING);
}

static void step(struct hostile *h)
{
    struct tcp *t = h->t;
    struct fcvi_stream_out what;
    static uint8_t out[4096];
    unsigned i = chance(h, 3);
    switch (chance(h, 16)) {
    case 0:
        again(h, i);
        break;
    case 1:
        fcvi_stream_closed(t->port, t->now, chance(h, 10), (enum fcvi_close)chance(h, 2));
        break;
    case 2:
        fcvi_stream_window(t->port, t->now, chance(h, 10), (int64_t)chance(h, 3000) - 1);
        break;
    case 3:
        fcvi_stream_opened(t->port, t->now, chance(h, 10), chance(h, 2) != 0, &t_port);
        break;
    case 4:
        t_pass(t, chance(h, 100 * T_MS));
        break;
    case 5:
        drain(h, i);
        break;
    case 6: {
        const struct fcvi_region r = {.rdma_write = chance(h, 4) != 0, .rdma_read = chance(h, 4) != 0};
        (void)fcvi_vip_set_mem(t->port, t->now, t->mem, &r);
        break;
    }
    case 7:
    case 8:
    case 9:
        post(h, i);
        break;
    case 10: /* bytes stay with the port */
        (void)fcvi_stream_transmit(t->port, t->now, out, chance(h, 60), &what);
        if (what.kind == FCVI_STREAM_FIN || what.kind == FCVI_STREAM_RESET)
            t->said[what.stream].kind = what.kind;
        break;
    default:
        segment(h, i);
        break;
    }
    for (unsigned k = 0; k < 8; k++) { /* what was said is of no interest, nor is its order */
        t->said[k].length = t->said[k].seen = 0;
        t->said[k].kind = FCVI_STREAM_NONE;
    }
}

/* A new connection works, whatever there was before. */
static void works(struct hostile *h)
{
    struct tcp *t = h->t;
    struct fcvi_region r = {.rdma_write = true, .rdma_read = true};
    t->cut = 0;
    t->capacity = T_ROOM;
    fcvi_vip_set_mem(t->port, t->now, t->mem, &r);
    t_listen(t);
    t_state(t, h->vi[3], FCVI_STATE_CONNECTED);
    t_post(t, h->vi[3], FCVI_RECV, 0, 8);
    t_send(t, h->stream[3], "010a001c 00000000 00000000 %08x 00000000 00000000 01020304", h->number[3]++);
    t_done(t, h->vi[3], true, 0, 4);
}

/* A new port in the block of the one before, and nothing is remembered: new blocks are what this would spend
 * most of its time on. */
static void begin(struct tcp *t, uint64_t seed)
{
    t->now = 0;
    t->events = t->looked = 0;
    t->cut = 0;
    for (unsigned k = 0; k < 8; k++) {
        t->said[k].kind = FCVI_STREAM_NONE;
        t->said[k].length = t->said[k].seen = 0;
    }
    t->config.vitcp.flow_control = seed % 2 != 0;
    t->config.vitcp.segment_size = seed % 3 == 0 ? 128 : 0;
    t->limits.stream_reads = 2;
    if (t->port == NULL)
        t_make(t);
    else
        ck_assert_ptr_nonnull(fcvi_port_init(t->port, t->size, &t->limits, &t->config));
    t_memory(t);
}

START_TEST(nonsense)
{
    struct tcp *t = t_new();
    for (uint64_t seed = (uint64_t)_i * SEEDS / 4; seed < (uint64_t)(_i + 1) * SEEDS / 4; seed++) {
        struct hostile h = {.t = t, .random = seed};
        uint32_t handle;
        begin(t, seed);
        const struct fcvi_region guard = {.length = FENCE,
                                          .ptag = 9}; /* of nobody here, and without rights */
        ck_assert_int_eq(fcvi_vip_register_region(t->port, 0, &guard, &h.guard, &handle), VIP_SUCCESS);
        h.fence = fcvi_port_memory(t->port, h.guard, 0, FENCE);
        memset(h.fence, 0xf5, FENCE);
        for (unsigned i = 0; i < 4; i++) {
            h.vi[i] = t_vi(t, (uint8_t)(i == 3 ? 3 : 1 + i));
            again(&h, i);
        }
        for (unsigned i = 0; i < STEPS; i++)
            step(&h);
        for (uint32_t i = 0; i < FENCE; i++)
            ck_assert_uint_eq(h.fence[i], 0xf5);
        again(&h, 3);
        h.number[3] = 1;
        works(&h);
        for (unsigned i = 0; i < 4; i++) {
            (void)fcvi_vip_disconnect(t->port, t->now, h.vi[i], 1);
            drain(&h, i);
            ck_assert_int_eq(fcvi_vip_destroy_vi(t->port, t->now, h.vi[i]), VIP_SUCCESS);
        }
        for (unsigned k = 0; k < 8; k++)
            t->said[k].kind = FCVI_STREAM_NONE;
        t_pass(t, 60000 * T_MS); /* nobody closes: the port does */
        struct fcvi_port_counts counts;
        fcvi_port_count(t->port, &counts);
        ck_assert_uint_eq(counts.streams, 0);
        ck_assert_uint_eq(counts.entries, 0);
        ck_assert_uint_eq(counts.segments, 0);
        ck_assert_uint_eq(counts.timers, 0);
    }
    t_free(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vitcp hostile");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, nonsense, 0, 4);
    suite_add_tcase(suite, c);
    return t_run(suite);
}
