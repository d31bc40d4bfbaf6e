/* Two Peers, each a reference port, over a wire that delays, reorders and loses frames: in the end they are
 * connected with each other or not at all (5.3.4, 8.5.3, E80). And two VIs of one port (loopback, 5.3.4). */
#include "../bench.h"
#include "../world.h"

enum { SEEDS = 2000, LENGTH = 100, SECOND = 1000000 };

static const struct fcvi_port_limits pair_limits = {.vis = 2,
                                                    .connectionpoints = 2,
                                                    .exchanges = 32,
                                                    .regions = 2,
                                                    .descriptors = 2,
                                                    .events = 256,
                                                    .memory = 4096,
                                                    .max_transfer_size = 4096};

struct pair {
    struct world *w;
    uint32_t vi[2], mem[2];
    uint8_t *bytes[2];
    int result[2]; /* of VipConnectPeerDone */
};

static unsigned confirmed; /* FCVI_CONNECT_RESP2 that make a connection */

static bool count_confirmed(struct world *w, unsigned from, const struct fcvi_frame *f)
{
    (void)w;
    (void)from;
    confirmed += f->iu == FCVI_IU_CONNECT_RESP2 && !fcvi_DH_CONN_STS(f->dh) &&
                 fcvi_DH_FCVI_HANDLE(f->dh) != FCVI_UNASSIGNED;
    return true;
}

static void peer_request(struct pair *p, unsigned i, uint64_t timeout)
{
    struct fcvi_address here = w_address(i, 0xDD), there = w_address(1 - i, 0xDD);
    ck_assert_int_eq(
        fcvi_vip_connect_peer_request(p->w->port[i], p->w->now, p->vi[i], &here, &there, timeout),
        VIP_SUCCESS);
    p->result[i] = VIP_NOT_DONE;
}

static void look(struct pair *p)
{
    struct fcvi_attributes a;
    for (unsigned i = 0; i < 2; i++)
        if (p->result[i] == VIP_NOT_DONE)
            p->result[i] = fcvi_vip_connect_peer_done(p->w->port[i], p->w->now, p->vi[i], &a);
}

static struct pair pair_begin(uint64_t seed, bool jitter)
{
    struct pair p = {.w = calloc(1, sizeof *p.w)};
    p.w->random = seed;
    p.w->latency = 100;
    p.w->jitter = jitter ? 500 : 0;
    p.w->filter = count_confirmed;
    confirmed = 0;
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_port_config c = w_config(i);
        c.seed = seed + i;
        c.out_of_order = jitter;
        w_add(p.w, &pair_limits, &c);
        struct fcvi_attributes a = {.reliability = FCVI_UNRELIABLE, .max_transfer_size = 4096};
        uint32_t handle;
        p.vi[i] = w_vi(p.w, i, &a);
        p.bytes[i] = calloc(1, LENGTH);
        p.mem[i] = w_region(p.w, i, p.bytes[i], LENGTH, 0x1000, &handle);
    }
    return p;
}

/* Application: what is in Error is disconnected. */
static void tidy(struct pair *p)
{
    p->w->loss = 0;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 2; i++)
            if (w_state(p->w, i, p->vi[i]) == FCVI_STATE_ERROR)
                fcvi_vip_disconnect(p->w->port[i], p->w->now, p->vi[i], 77);
        w_run(p->w, 2 * W_R_A_TOV);
    }
}

/* A Message from port i arrives at the VI of the other port. */
static void send_one(struct pair *p, unsigned i)
{
    struct world *w = p->w;
    memset(p->bytes[i], 0x51 + (int)i, LENGTH);
    memset(p->bytes[1 - i], 0, LENGTH);
    ck_assert_int_eq(w_post(w, 1 - i, p->vi[1 - i], FCVI_RECV, p->mem[1 - i], 0, LENGTH, 0, 0), VIP_SUCCESS);
    ck_assert_int_eq(w_post(w, i, p->vi[i], FCVI_SEND, p->mem[i], 0, LENGTH, 0, 0), VIP_SUCCESS);
    w_settle(w);
    w_done(w, 1 - i, p->vi[1 - i], true, FCVI_STATUS_OP_RECEIVE, LENGTH);
    w_done(w, i, p->vi[i], false, 0, LENGTH);
    ck_assert_mem_eq(p->bytes[0], p->bytes[1], LENGTH);
}

static void pair_end(struct pair *p)
{
    struct world *w = p->w;
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < 2; i++) {
            if (w_state(w, i, p->vi[i]) != FCVI_STATE_IDLE)
                fcvi_vip_disconnect(w->port[i], w->now, p->vi[i], 78);
            w_settle(w);
        }
    w_run(w, 10 * W_R_A_TOV);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_uint_eq(w_state(w, i, p->vi[i]), FCVI_STATE_IDLE);
        struct fcvi_port_counts c;
        fcvi_port_count(w->port[i], &c);
        ck_assert_uint_eq(c.setups + c.points + c.exchanges + c.timers + c.frames + c.entries, 0);
        ck_assert_uint_eq(c.events_lost, 0);
        free(p->bytes[i]);
    }
    w_free(w);
}

/* 500 seeds a time: _i is the kind of wire. */
START_TEST(both_or_neither)
{
    static const struct {
        uint32_t loss;
        bool jitter;
    } wires[] = {{0, false}, {0, true}, {100000, false}, {200000, true}};
    unsigned connected = 0;
    for (uint64_t seed = 1; seed <= SEEDS / 4; seed++) {
        struct pair p = pair_begin(seed + (uint64_t)_i * SEEDS, wires[_i].jitter);
        struct world *w = p.w;
        unsigned first = (unsigned)(w_random(w) % 2);
        w->loss = wires[_i].loss;
        peer_request(&p, first, FCVI_NEVER);
        w_run(w, w_random(w) % (seed % 4 == 0 ? 20 * SECOND : 800));
        if (w_state(w, first, p.vi[first]) != FCVI_STATE_ERROR)
            ck_assert_int_eq(
                fcvi_vip_connect_peer_done(w->port[first], w->now, p.vi[first], &(struct fcvi_attributes){0}),
                VIP_NOT_DONE);
        peer_request(&p, 1 - first, FCVI_NEVER);
        w_run(w, wires[_i].loss == 0 ? 10000 : 100 * SECOND);
        look(&p);
        bool both =
            w_state(w, 0, p.vi[0]) == FCVI_STATE_CONNECTED && w_state(w, 1, p.vi[1]) == FCVI_STATE_CONNECTED;
        if (wires[_i].loss == 0) { /* nothing is lost: one of the two requests succeeds, and one only */
            ck_assert_msg(both, "seed %u", (unsigned)seed);
            ck_assert_uint_eq(confirmed, 1);
            ck_assert_int_eq(p.result[0], VIP_SUCCESS);
            ck_assert_int_eq(p.result[1], VIP_SUCCESS);
            w_run(w, 40 * SECOND);
            ck_assert_ptr_null(w_last(w, 0, FCVI_EVENT_ERROR));
            ck_assert_ptr_null(w_last(w, 1, FCVI_EVENT_ERROR));
        }
        tidy(&p);
        both = w_state(w, 0, p.vi[0]) == FCVI_STATE_CONNECTED;
        ck_assert_msg(both == (w_state(w, 1, p.vi[1]) == FCVI_STATE_CONNECTED), "seed %u: %u %u",
                      (unsigned)seed, w_state(w, 0, p.vi[0]), w_state(w, 1, p.vi[1]));
        connected += both;
        if (both) {
            send_one(&p, 0);
            send_one(&p, 1);
        }
        pair_end(&p);
    }
    ck_assert_uint_gt(connected, SEEDS / 4 / 3);
}
END_TEST

/* The request of Peer i is lost, and of its counterpart nothing: the retry or the other request does it. */
START_TEST(one_loss_is_repaired)
{
    struct pair p = pair_begin((uint64_t)_i + 1, false);
    struct world *w = p.w;
    unsigned loser = (unsigned)_i % 2;
    w->loss = 1000000;
    peer_request(&p, loser, FCVI_NEVER);
    w_quiet(w);
    w->loss = 0;
    if (_i / 2 == 1)
        w_run(w, 3 * SECOND);
    peer_request(&p, 1 - loser, FCVI_NEVER);
    w_run(w, 50 * SECOND);
    look(&p);
    ck_assert_int_eq(p.result[0], VIP_SUCCESS);
    ck_assert_int_eq(p.result[1], VIP_SUCCESS);
    ck_assert_ptr_null(w_last(w, 0, FCVI_EVENT_ERROR));
    ck_assert_ptr_null(w_last(w, 1, FCVI_EVENT_ERROR));
    send_one(&p, 0);
    send_one(&p, 1);
    pair_end(&p);
}
END_TEST

/* ---- two VIs of one port ---- */

struct loop {
    struct bench *b;
    uint32_t vi[2], mem[2];
};

static struct loop loop_begin(void)
{
    struct loop l = {.b = b_new()};
    uint64_t va;
    uint32_t handle;
    for (unsigned i = 0; i < 2; i++) {
        l.vi[i] = b_vi(l.b);
        ck_assert_int_eq(fcvi_vip_register_mem(l.b->port, 0, LENGTH, false, false, &l.mem[i], &va, &handle),
                         VIP_SUCCESS);
    }
    return l;
}

static void loop_send(struct loop *l, unsigned from)
{
    struct bench *b = l->b;
    struct fcvi_completion c;
    struct fcvi_descriptor d = {.op = FCVI_RECV, .segments = 1};
    memset(fcvi_port_memory(b->port, l->mem[from], 0, LENGTH), 0x30 + (int)from, LENGTH);
    d.segment[0] = (struct fcvi_segment){l->mem[1 - from], 0, LENGTH};
    ck_assert_int_eq(fcvi_vip_post(b->port, b->now, l->vi[1 - from], &d), VIP_SUCCESS);
    d.op = FCVI_SEND;
    d.segment[0] = (struct fcvi_segment){l->mem[from], 0, LENGTH};
    ck_assert_int_eq(fcvi_vip_post(b->port, b->now, l->vi[from], &d), VIP_SUCCESS);
    collect(b);
    ck_assert_int_eq(fcvi_vip_done(b->port, b->now, l->vi[1 - from], true, &c), VIP_SUCCESS);
    ck_assert_uint_eq(c.length, LENGTH);
    ck_assert_int_eq(fcvi_vip_done(b->port, b->now, l->vi[from], false, &c), VIP_SUCCESS);
    ck_assert_mem_eq(fcvi_port_memory(b->port, l->mem[0], 0, LENGTH),
                     fcvi_port_memory(b->port, l->mem[1], 0, LENGTH), LENGTH);
}

static void loop_end(struct loop *l)
{
    struct bench *b = l->b;
    ck_assert_uint_eq(b->sent, 0); /* nothing of it is seen outside */
    ck_assert_uint_eq(state_of(b, l->vi[0]), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(state_of(b, l->vi[1]), FCVI_STATE_CONNECTED);
    loop_send(l, 0);
    loop_send(l, 1);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, l->vi[1], 9), FCVI_VIP_PENDING);
    collect(b);
    ck_assert_int_eq(b_return(b, 9)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, l->vi[0]), FCVI_STATE_ERROR);
    ck_assert_uint_eq(errors(b, l->vi[0], VIP_ERROR_CONN_LOST), 1);
    ck_assert_uint_eq(b->sent, 0);
    b_end(b);
}

START_TEST(loopback_client_and_server)
{
    struct loop l = loop_begin();
    struct bench *b = l.b;
    b_wait(b, R_A_TOV, 1);
    b_request(b, l.vi[0], OURS, FCVI_NEVER, 2);
    ck_assert_ptr_nonnull(b_return(b, 1));
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, b_return(b, 1)->conn, l.vi[1], 3),
                     FCVI_VIP_PENDING);
    collect(b);
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_SUCCESS);
    ck_assert_int_eq(b_return(b, 3)->vip, VIP_SUCCESS);
    loop_end(&l);
}
END_TEST

/* _i: one after the other, or both at once, so that there is something to arbitrate. */
START_TEST(loopback_peers)
{
    struct loop l = loop_begin();
    struct bench *b = l.b;
    struct fcvi_address here = address(OURS);
    struct fcvi_attributes a;
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, b->now, l.vi[i], &here, &here, FCVI_NEVER),
                         VIP_SUCCESS);
        if (_i == 0)
            collect(b);
        if (_i == 0 && i == 0)
            ck_assert_int_eq(fcvi_vip_connect_peer_done(b->port, b->now, l.vi[0], &a), VIP_NOT_DONE);
    }
    collect(b);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(fcvi_vip_connect_peer_done(b->port, b->now, l.vi[i], &a), VIP_SUCCESS);
    loop_end(&l);
}
END_TEST

/* A Peer alone does not connect with itself. */
START_TEST(loopback_of_one)
{
    struct loop l = loop_begin();
    struct bench *b = l.b;
    struct fcvi_address here = address(OURS);
    struct fcvi_attributes a;
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, b->now, l.vi[0], &here, &here, R_A_TOV),
                     VIP_SUCCESS);
    advance(b, R_A_TOV);
    ck_assert_int_eq(fcvi_vip_connect_peer_done(b->port, b->now, l.vi[0], &a), VIP_TIMEOUT);
    ck_assert_uint_eq(b->sent, 0);
    b_end(b);
}
END_TEST

/* A Client without a Server: refused at once. */
START_TEST(loopback_without_server)
{
    struct loop l = loop_begin();
    b_request(l.b, l.vi[0], OURS, FCVI_NEVER, 2);
    ck_assert_int_eq(b_return(l.b, 2)->vip, VIP_NO_MATCH);
    ck_assert_uint_eq(state_of(l.b, l.vi[0]), FCVI_STATE_IDLE);
    b_end(l.b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("peer pair");
    TCase *t = tcase_create("two ports");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, both_or_neither, 0, 4);
    tcase_add_loop_test(t, one_loss_is_repaired, 0, 4);
    tcase_add_test(t, loopback_client_and_server);
    tcase_add_loop_test(t, loopback_peers, 0, 2);
    tcase_add_test(t, loopback_of_one);
    tcase_add_test(t, loopback_without_server);
    suite_add_tcase(s, t);
    return run_suite(s);
}
