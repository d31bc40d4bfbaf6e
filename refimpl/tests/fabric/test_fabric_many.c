/* Five ports, each connected with each other, all talking at once; that the same seed gives the same run, and
 * that a checkpoint of Fabric and ports goes on as the original does. */
#include "fabric_world.h"

enum { PORTS = 5, PIECE = 1900, MESSAGES = 3 };

struct mesh {
    struct fworld *w;
    uint32_t vi[PORTS][PORTS]; /* of port i, connected with port k */
};

static struct mesh begin(uint64_t seed, uint32_t loss, bool name_server, bool out_of_order)
{
    struct fcvi_fabric_config config = f_config(FCVI_FABRIC);
    config.seed = seed;
    config.loss = config.duplication = loss;
    config.jitter_us = 200;
    config.out_of_order = out_of_order;
    struct mesh m = {.w = f_begin(&f_limits, &config)};
    m.w->digesting = true;
    /* while Connections are set up nothing is lost: a rule that acts spares the frame */
    struct fcvi_fabric_rule spare = fcvi_fabric_rule_any(FCVI_ACT_DELAY);
    ck_assert_uint_eq(fcvi_fabric_rule_add(m.w->fabric, &spare), 0);
    for (uint32_t i = 0; i < PORTS; i++) {
        struct fcvi_port_config c = w_config(i);
        c.peer = c.self;
        c.service_class = 3;
        c.out_of_order = out_of_order;
        c.name_server = name_server;
        c.explicit_login = c.fabric_login = true;
        f_add(m.w, &f_port_limits, &c, c.self.n_port_id, FCVI_PLACE_FABRIC);
        fcvi_port_link(m.w->port[i], 0, FCVI_LINK_UP);
    }
    f_settle(m.w);
    return m;
}

/* The lower port number is the client, or both are Peers. Peers are logged in before: where frames overtake
 * each other, the second PLOGI of two that cross may end what the first one made possible. */
static void connect_all(struct mesh *m, uint8_t level)
{
    for (uint32_t i = 0; i < PORTS; i++)
        for (uint32_t k = i + 1; k < PORTS; k++) {
            struct end a = f_end(m->w, i, level), b = f_end(m->w, k, level);
            m->vi[i][k] = a.vi;
            m->vi[k][i] = b.vi;
            ck_assert_int_eq(f_connect(m->w, a, b), VIP_SUCCESS);
            if ((i + k) % 2)
                continue;
            f_disconnect(m->w, a, b);
            f_connect_peers(m->w, a, b);
        }
}

/* Each port has a piece of memory for what it sends to and what it gets from each other one. */
static uint8_t *piece(struct mesh *m, uint32_t port, uint32_t with, bool in, struct fcvi_segment *s)
{
    uint32_t slot = with - (with > port);
    *s = (struct fcvi_segment){m->w->mem[port], (2 * slot + in) * PIECE, PIECE};
    return fcvi_port_memory(m->w->port[port], s->mem, s->offset, s->length);
}

static uint8_t pattern(uint32_t from, uint32_t to, unsigned round, uint32_t at)
{
    return (uint8_t)(from * 17 + to * 59 + round * 101 + at * 7 + at / 256);
}

static void post_all(struct mesh *m, unsigned round)
{
    struct fcvi_segment s;
    for (uint32_t i = 0; i < PORTS; i++)
        for (uint32_t k = 0; k < PORTS; k++) {
            if (i == k)
                continue;
            memset(piece(m, i, k, true, &s), 0, PIECE);
            f_post(m->w, (struct end){i, m->vi[i][k]}, FCVI_RECV, s, 0, 0);
        }
    for (uint32_t i = 0; i < PORTS; i++)
        for (uint32_t k = 0; k < PORTS; k++) {
            uint8_t *out = i == k ? NULL : piece(m, i, k, false, &s);
            for (uint32_t at = 0; out != NULL && at < PIECE; at++)
                out[at] = pattern(i, k, round, at);
            if (out != NULL)
                f_post(m->w, (struct end){i, m->vi[i][k]}, FCVI_SEND, s, 0, 0);
        }
}

static void expect_all(struct mesh *m, unsigned round)
{
    struct fcvi_segment s;
    for (uint32_t i = 0; i < PORTS; i++)
        for (uint32_t k = 0; k < PORTS; k++) {
            if (i == k)
                continue;
            f_done(m->w, (struct end){i, m->vi[i][k]}, false, 0, PIECE);
            f_done(m->w, (struct end){i, m->vi[i][k]}, true, FCVI_STATUS_OP_RECEIVE, PIECE);
            const uint8_t *in = piece(m, i, k, true, &s);
            bool right = true;
            for (uint32_t at = 0; at < PIECE; at++)
                right &= in[at] == pattern(k, i, round, at);
            ck_assert(right);
        }
}

static void disconnect_all(struct mesh *m)
{
    for (uint32_t i = 0; i < PORTS; i++)
        for (uint32_t k = i + 1; k < PORTS; k++)
            f_disconnect(m->w, (struct end){k, m->vi[k][i]}, (struct end){i, m->vi[i][k]});
    f_nothing_left(m->w);
}

/* _i: address resolution, Reliability Level, kind of Fabric */
START_TEST(each_with_each)
{
    struct mesh m = begin((uint64_t)_i + 1, 0, _i % 2, _i / 6);
    connect_all(&m, (uint8_t)(FCVI_UNRELIABLE + _i % 3));
    for (uint32_t i = 0; i < PORTS; i++)
        ck_assert_uint_eq(m.w->queries[i] != 0, (unsigned)_i % 2);
    for (unsigned round = 0; round < MESSAGES; round++) {
        post_all(&m, round);
        f_settle(m.w);
        expect_all(&m, round);
    }
    disconnect_all(&m);
    f_free(m.w);
}
END_TEST

/* One port goes away: the others do not notice. */
START_TEST(one_leaves)
{
    struct mesh m = begin(7, 0, true, false);
    connect_all(&m, FCVI_RELIABLE_RECEPTION);
    fcvi_fabric_link(m.w->fabric, 4, false);
    post_all(&m, 0);
    f_run(m.w, 5 * (uint64_t)W_R_A_TOV);
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t k = 0; k < 4; k++)
            if (i != k) {
                f_done(m.w, (struct end){i, m.vi[i][k]}, true, FCVI_STATUS_OP_RECEIVE, PIECE);
                ck_assert_uint_eq(f_state(m.w, i, m.vi[i][k]), FCVI_STATE_CONNECTED);
            }
    for (uint32_t i = 0; i < 4; i++) { /* a reliable Send to it gets no response */
        ck_assert_uint_eq(f_state(m.w, i, m.vi[i][4]), FCVI_STATE_ERROR);
        ck_assert_uint_eq(f_errors(m.w, i, m.vi[i][4], VIP_ERROR_CONN_LOST), 1);
    }
    f_free(m.w);
}
END_TEST

/* ---- the same again ---- */

/* Everything under loss and duplication, up to some point of time after the Messages were posted. */
static struct mesh faulty(uint64_t seed, bool out_of_order)
{
    struct mesh m = begin(seed, 10000, true, out_of_order);
    connect_all(&m, FCVI_RELIABLE_RECEPTION);
    fcvi_fabric_rule_clear(m.w->fabric, f_now(m.w), 0);
    post_all(&m, 0);
    return m;
}

START_TEST(same_seed)
{
    uint64_t digest[3];
    for (unsigned i = 0; i < 3; i++) {
        struct mesh m = faulty(i < 2 ? 5 : 6, _i);
        f_run(m.w, 10 * (uint64_t)W_R_A_TOV);
        digest[i] = m.w->digest;
        f_free(m.w);
    }
    ck_assert_uint_eq(digest[0], digest[1]);
    ck_assert_uint_ne(digest[0], digest[2]);
}
END_TEST

/* Checkpoints before the Connections, and at several points of the transfer: all of them end alike. */
START_TEST(checkpoint)
{
    struct mesh m = faulty(5, _i);
    struct fcvi_fabric_observer o;
    struct fworld *copy[4];
    unsigned copies = 0;
    for (unsigned step = 0; step < 40; step++) {
        if (step % 10 == 0)
            copy[copies++] = f_copy(m.w);
        o = f_observer(m.w);
        ck_assert(fcvi_fabric_step(m.w->fabric, m.w->port, m.w->ports, FCVI_NEVER, &o));
    }
    f_run(m.w, 10 * (uint64_t)W_R_A_TOV);
    for (unsigned i = 0; i < copies; i++) {
        uint64_t rest = f_now(m.w) - f_now(copy[i]);
        f_run(copy[i], rest);
        f_same(m.w, copy[i]);
        f_free(copy[i]);
    }
    f_free(m.w);
}
END_TEST

START_TEST(checkpoint_before_everything)
{
    struct mesh m = begin(3, 20000, true, _i), n = m;
    n.w = f_copy(m.w);
    for (unsigned i = 0; i < 2; i++) {
        struct mesh *one = i ? &n : &m;
        connect_all(one, FCVI_RELIABLE_DELIVERY);
        fcvi_fabric_rule_clear(one->w->fabric, f_now(one->w), 0);
        post_all(one, 0);
        f_run(one->w, 10 * (uint64_t)W_R_A_TOV);
    }
    f_same(m.w, n.w);
    f_free(m.w);
    f_free(n.w);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_many");
    TCase *t = tcase_create("many");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, each_with_each, 0, 12);
    tcase_add_test(t, one_leaves);
    tcase_add_loop_test(t, same_seed, 0, 2);
    tcase_add_loop_test(t, checkpoint, 0, 2);
    tcase_add_loop_test(t, checkpoint_before_everything, 0, 2);
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
