/* Two ports over the Fabric move data: every operation, Reliability Level, class, kind of Fabric and length
 * (5.2, 6.2 to 6.7, 3.1.12, 3.1.14). */
#include "fabric_world.h"

enum { FRAME_PAYLOAD = 2112 - 32, BIG = 16 << 20, SEVERAL = 5 * FRAME_PAYLOAD + 7 };

/* Twice the longest Message may be under way: 8066 frames each. */
static const struct fcvi_fabric_limits wide = {.ports = 2, .frames = 9000};
static const struct fcvi_port_limits large = {.vis = 2,
                                              .connectionpoints = 2,
                                              .exchanges = 64,
                                              .regions = 2,
                                              .descriptors = 4,
                                              .events = 256,
                                              .max_transfer_size = BIG,
                                              .runs = 8192,
                                              .held_frames = 64};

struct combination {
    enum fcvi_op op;
    uint8_t level, service_class;
    bool out_of_order;
};

struct transfer {
    struct fworld *w;
    struct end end[2];
    uint32_t mem[2], handle[2];
    uint8_t *bytes[2], *wanted; /* what the one that is written to shall hold in the end */
};

static uint8_t pattern(uint32_t side, uint32_t at)
{
    return (uint8_t)(at * 31 + at / 251 + side * 101);
}

static struct transfer begin(const struct combination *c, uint32_t length)
{
    struct fcvi_fabric_config config = f_config(FCVI_FABRIC);
    config.out_of_order = c->out_of_order;
    config.jitter_us = c->out_of_order ? 300 : 0;
    struct transfer t = {.w = f_begin(&wide, &config), .wanted = malloc(length)};
    for (uint32_t i = 0; i < 2; i++) {
        struct fcvi_port_config p = w_config(i);
        p.service_class = c->service_class;
        p.out_of_order = c->out_of_order;
        p.explicit_login = p.fabric_login = true;
        p.iu_size = length == SEVERAL ? 2 * FRAME_PAYLOAD : 0;
        f_add(t.w, &large, &p, p.self.n_port_id, FCVI_PLACE_FABRIC);
        fcvi_port_link(t.w->port[i], 0, FCVI_LINK_UP);
        t.bytes[i] = malloc(length);
        for (uint32_t k = 0; k < length; k++)
            t.bytes[i][k] = pattern(i, k);
        struct fcvi_region r = {
            .va = 0x7000 + i, .length = length, .rdma_write = true, .rdma_read = true, .bytes = t.bytes[i]};
        ck_assert_int_eq(fcvi_vip_register_region(t.w->port[i], 0, &r, &t.mem[i], &t.handle[i]), VIP_SUCCESS);
        t.end[i] = f_end(t.w, i, c->level);
    }
    f_settle(t.w);
    ck_assert_int_eq(f_connect(t.w, t.end[0], t.end[1]), VIP_SUCCESS);
    return t;
}

/* The bytes that arrive are those of the other side, and these are as they were. */
static void finish(struct transfer *t, enum fcvi_op op, uint32_t length)
{
    unsigned to = op == FCVI_RDMA_READ ? 0 : 1;
    for (uint32_t k = 0; k < length; k++)
        t->wanted[k] = pattern(1 - to, k);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_mem_eq(t->bytes[i], t->wanted, length);
    f_both_are(t->w, t->end[0], t->end[1], FCVI_STATE_CONNECTED);
    struct fcvi_fabric_counters c;
    fcvi_fabric_count(t->w->fabric, &c);
    ck_assert_uint_eq(c.overflow + c.dropped, 0);
    f_disconnect(t->w, t->end[0], t->end[1]);
    f_nothing_left(t->w);
    for (unsigned i = 0; i < 2; i++)
        free(t->bytes[i]);
    free(t->wanted);
    f_free(t->w);
}

static void transfer(const struct combination *c, uint32_t length)
{
    static const uint32_t status[] = {0, FCVI_STATUS_OP_RDMA_WRITE, FCVI_STATUS_OP_RDMA_READ};
    struct transfer t = begin(c, length);
    if (c->op == FCVI_SEND)
        f_post(t.w, t.end[1], FCVI_RECV, (struct fcvi_segment){t.mem[1], 0, length}, 0, 0);
    f_post(t.w, t.end[0], c->op, (struct fcvi_segment){t.mem[0], 0, length}, 0x7001, t.handle[1]);
    f_settle(t.w);
    f_done(t.w, t.end[0], false, status[c->op], length);
    if (c->op == FCVI_SEND)
        f_done(t.w, t.end[1], true, FCVI_STATUS_OP_RECEIVE, length);
    finish(&t, c->op, length);
}

static const uint32_t lengths[] = {1, FRAME_PAYLOAD - 1, FRAME_PAYLOAD, FRAME_PAYLOAD + 1, SEVERAL, BIG};

/* Unreliable Delivery has no RDMA Read (VI-ARCH 2.5). */
static const struct {
    enum fcvi_op op;
    uint8_t level;
} allowed[] = {
    {FCVI_SEND, FCVI_UNRELIABLE},
    {FCVI_SEND, FCVI_RELIABLE_DELIVERY},
    {FCVI_SEND, FCVI_RELIABLE_RECEPTION},
    {FCVI_RDMA_WRITE, FCVI_UNRELIABLE},
    {FCVI_RDMA_WRITE, FCVI_RELIABLE_DELIVERY},
    {FCVI_RDMA_WRITE, FCVI_RELIABLE_RECEPTION},
    {FCVI_RDMA_READ, FCVI_RELIABLE_DELIVERY},
    {FCVI_RDMA_READ, FCVI_RELIABLE_RECEPTION},
};
enum { ALLOWED = sizeof allowed / sizeof *allowed };

/* _i: operation and level, class, Fabric */
START_TEST(every_combination)
{
    const struct combination c = {allowed[_i % ALLOWED].op, allowed[_i % ALLOWED].level,
                                  (uint8_t)(2 + _i / ALLOWED % 2), _i / ALLOWED / 2};
    bool quick = getenv("FCVI_QUICK") != NULL; /* valgrind: all but the longest */
    for (unsigned k = 0; k < sizeof lengths / sizeof *lengths - quick; k++)
        transfer(&c, lengths[k]);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_data");
    TCase *t = tcase_create("data");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, every_combination, 0, 4 * ALLOWED);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *r = srunner_create(suite());
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
