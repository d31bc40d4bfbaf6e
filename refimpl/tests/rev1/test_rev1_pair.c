/* Two ports of Rev 1.0 over a wire that delays, reorders and loses frames: they connect as client and server
 * or as Peers, send, and disconnect. Whatever is lost, every call returns, and in the end nothing is left
 * (the draft's 5.3 and 8, R01). */
#include "../world.h"

enum { SEEDS = 500, LENGTH = 3000, SECOND = 1000000, WAIT = 1, ACCEPT = 2, REQUEST = 3 };

static const struct fcvi_port_limits pair_limits = {.vis = 2,
                                                    .connectionpoints = 2,
                                                    .exchanges = 32,
                                                    .regions = 2,
                                                    .descriptors = 4,
                                                    .events = 256,
                                                    .memory = 4096,
                                                    .max_transfer_size = 4096};

struct pair {
    struct world *w;
    uint32_t vi[2], mem[2], handle[2];
    uint8_t *bytes[2];
    bool peers, lossless, in_order;
};

/* FCVI_CONNECT_RESP1 and RESP2 that accept, and frames that the draft does not have */
static unsigned accepted, confirmed, aborts;

static bool count(struct world *w, unsigned from, const struct fcvi_frame *f)
{
    (void)w;
    (void)from;
    bool error = f->dh != NULL && fcvi_DH_REV1_CONN_ERR(f->dh);
    accepted += f->iu == FCVI_IU_CONNECT_RESP1 && !error;
    confirmed += f->iu == FCVI_IU_CONNECT_RESP2 && !error;
    aborts += fcvi_FC_R_CTL(f->fc) == FCVI_R_CTL_ABTS;
    return true;
}

static struct pair begin(uint64_t seed)
{
    struct pair p = {.w = calloc(1, sizeof *p.w)};
    struct world *w = p.w;
    w->random = seed;
    w->edition = FCVI_EDITION_REV1;
    w->latency = 100;
    w->filter = count;
    accepted = confirmed = aborts = 0;
    bool jitter = w_random(w) % 2, preference = w_random(w) % 2, higher = w_random(w) % 2;
    uint8_t service_class = (uint8_t)(2 + w_random(w) % 2);
    uint8_t level = (uint8_t)(FCVI_UNRELIABLE + w_random(w) % 3);
    p.peers = w_random(w) % 2;
    p.in_order = !jitter;
    w->jitter = jitter ? 500 : 0;
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_port_config c = w_config(i);
        c.seed = seed + i;
        c.out_of_order = jitter;
        c.service_class = service_class;
        c.revision = FCVI_EDITION_REV1;
        if (higher) /* by Port_Name the other one would win (5.3.4) */
            c.self.port_name = 0x10000000c9000009 - i;
        w_add(w, &pair_limits, &c);
        struct fcvi_attributes a = {.reliability = level,
                                    .max_transfer_size = 4096,
                                    .rdma_write = true,
                                    .rdma_read = level != FCVI_UNRELIABLE,
                                    .preference = preference};
        p.vi[i] = w_vi(w, i, &a);
        p.bytes[i] = calloc(2, LENGTH);
        p.mem[i] = w_region(w, i, p.bytes[i], 2 * LENGTH, 0x1000, &p.handle[i]);
    }
    return p;
}

/* Both ask at about the same time, or one after the other. */
static void connect_peers(struct pair *p)
{
    struct world *w = p->w;
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_address here = w_address(i, 0xDD), there = w_address(1 - i, 0xDD);
        ck_assert_int_eq(
            fcvi_vip_connect_peer_request(w->port[i], w->now, p->vi[i], &here, &there, 3 * W_R_A_TOV),
            VIP_SUCCESS);
        w_run(w, w_random(w) % 400);
    }
    w_run(w, 4 * W_R_A_TOV);
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_attributes a;
        ck_assert_int_ne(fcvi_vip_connect_peer_done(w->port[i], w->now, p->vi[i], &a), VIP_NOT_DONE);
    }
}

static void connect_client(struct pair *p)
{
    struct world *w = p->w;
    struct fcvi_address here = w_address(0, 0xDD), there = w_address(1, 0xDD);
    uint64_t late = w_random(w) % 8 == 0 ? 2 * W_R_A_TOV : w_random(w) % 1000;
    ck_assert_int_eq(fcvi_vip_connect_wait(w->port[1], w->now, &there, 2 * W_R_A_TOV, WAIT),
                     FCVI_VIP_PENDING);
    ck_assert_int_eq(
        fcvi_vip_connect_request(w->port[0], w->now, p->vi[0], &here, &there, 3 * W_R_A_TOV, REQUEST),
        FCVI_VIP_PENDING);
    w_run(w, 1000);
    const struct fcvi_event *e = w_return(w, 1, WAIT);
    if (e != NULL) {
        uint32_t conn = e->conn;
        w_run(w, late);
        int code = fcvi_vip_connect_accept(w->port[1], w->now, conn, p->vi[1], ACCEPT);
        ck_assert(code == FCVI_VIP_PENDING || code == VIP_INVALID_PARAMETER);
    }
    w_run(w, 4 * W_R_A_TOV);
    ck_assert_ptr_nonnull(w_return(w, 0, REQUEST));
    ck_assert_ptr_nonnull(w_return(w, 1, WAIT));
}

static void send_both(struct pair *p)
{
    struct world *w = p->w;
    for (unsigned i = 0; i < 2; i++) {
        memset(p->bytes[i], 0x51 + (int)i, LENGTH);
        ck_assert_int_eq(w_post(w, i, p->vi[i], FCVI_RECV, p->mem[i], LENGTH, LENGTH, 0, 0), VIP_SUCCESS);
    }
    for (unsigned i = 0; i < 2; i++) {
        w_post(w, i, p->vi[i], FCVI_SEND, p->mem[i], 0, LENGTH, 0, 0);
        w_post(w, i, p->vi[i], FCVI_RDMA_WRITE, p->mem[i], 0, 100, 0x1000, p->handle[1 - i]);
        w_post(w, i, p->vi[i], FCVI_RDMA_READ, p->mem[i], 0, 100, 0x1000, p->handle[1 - i]);
    }
    w_run(w, 3 * W_R_A_TOV);
}

static void end(struct pair *p)
{
    struct world *w = p->w;
    w->loss = 0;
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < 2; i++) {
            fcvi_vip_disconnect(w->port[i], w->now, p->vi[i], 78);
            w_run(w, 10 * W_R_A_TOV);
        }
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_completion done;
        struct fcvi_port_counts c;
        ck_assert_uint_eq(w_state(w, i, p->vi[i]), FCVI_STATE_IDLE);
        for (unsigned recv = 0; recv < 2; recv++)
            while (fcvi_vip_done(w->port[i], w->now, p->vi[i], recv, &done), done.status != 0)
                ;
        fcvi_port_count(w->port[i], &c);
        ck_assert_uint_eq(c.exchanges + c.setups + c.timers + c.frames + c.points, 0);
        ck_assert_uint_eq(c.held_frames + c.entries + c.segments + c.events_lost, 0);
        free(p->bytes[i]);
    }
    w_free(w);
}

/* Without a loss, and in order, there is one connection, and both calls succeed. */
static void check_connected(struct pair *p)
{
    struct world *w = p->w;
    if (!p->in_order || aborts != 0)
        return;
    for (unsigned i = 0; i < 2; i++)
        ck_assert_uint_eq(w_state(w, i, p->vi[i]), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(accepted, 1);
    ck_assert(confirmed == 1 || p->peers);
}

static void check_data(struct pair *p)
{
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < LENGTH; k++)
            ck_assert_uint_eq(p->bytes[i][LENGTH + k], 0x51 + (1 - i));
}

START_TEST(a_pair_connects_and_goes)
{
    unsigned pairs = 0;
    for (unsigned k = 0; k < SEEDS; k++) {
        struct pair p = begin((uint64_t)_i * SEEDS + k + 1);
        p.lossless = k % 2 == 0;
        p.w->loss = p.lossless ? 0 : 150000;
        p.w->duplication = p.lossless ? 0 : 20000;
        if (p.peers)
            connect_peers(&p);
        else
            connect_client(&p);
        if (p.lossless)
            check_connected(&p);
        bool together = p.lossless && w_state(p.w, 0, p.vi[0]) == FCVI_STATE_CONNECTED &&
                        w_state(p.w, 1, p.vi[1]) == FCVI_STATE_CONNECTED;
        send_both(&p);
        if (together)
            check_data(&p);
        pairs += together;
        end(&p);
    }
    ck_assert_uint_gt(pairs, SEEDS / 3); /* of the half where nothing was lost */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rev1 pair");
    TCase *t = tcase_create("pairs");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_pair_connects_and_goes, 0, 4);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
