/* Ports that connect, talk and leave at random while the Fabric loses frames and links come and go: no port
 * ever breaks a rule of what it sends, every blocked call returns once, every Descriptor completes once, and
 * in the end nothing is left (7.7, 8.2, 8.5). */
#include "fabric_topology.h"

enum { SEEDS = 5, STEPS = 80, VIS = 3, CALLS = 2 * STEPS, SLICE = 2048 };

struct chaos {
    struct fworld *w;
    const struct setting *s;
    uint64_t random;
    uint32_t vi[F_PORTS][VIS];
    unsigned posted[F_PORTS][VIS][2], done[F_PORTS][VIS][2];
    unsigned calls[F_PORTS]; /* blocked calls: their tokens are 1 to that */
    unsigned seen[F_PORTS];  /* events looked at */
};

static uint32_t roll(struct chaos *c, uint32_t below)
{
    c->random += 0x9E3779B97F4A7C15u; /* SplitMix64 */
    uint64_t z = c->random;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ z >> 31) % below);
}

/* A call that blocks takes the next token. */
static void called(struct chaos *c, uint32_t port, int result)
{
    c->calls[port] += result == FCVI_VIP_PENDING;
}

static uint64_t timeout(struct chaos *c)
{
    return 1 + roll(c, 3 * W_R_A_TOV);
}

/* ---- what the applications do ---- */

static void wait(struct chaos *c, uint32_t port)
{
    struct fcvi_address here = w_address(port, (uint8_t)roll(c, 2));
    called(c, port,
           fcvi_vip_connect_wait(c->w->port[port], f_now(c->w), &here, timeout(c), c->calls[port] + 1));
}

static void request(struct chaos *c, uint32_t port, uint32_t vi)
{
    uint32_t other = (port + 1 + roll(c, c->w->ports - 1)) % c->w->ports;
    struct fcvi_address here = w_address(port, 9), there = w_address(other, (uint8_t)roll(c, 2));
    called(c, port,
           fcvi_vip_connect_request(c->w->port[port], f_now(c->w), vi, &here, &there, timeout(c),
                                    c->calls[port] + 1));
}

static void peer_request(struct chaos *c, uint32_t port, uint32_t vi)
{
    uint32_t other = (port + 1 + roll(c, c->w->ports - 1)) % c->w->ports;
    struct fcvi_address here = w_address(port, 5), there = w_address(other, 5);
    struct fcvi_attributes remote;
    fcvi_vip_connect_peer_request(c->w->port[port], f_now(c->w), vi, &here, &there, timeout(c));
    fcvi_vip_connect_peer_done(c->w->port[port], f_now(c->w), vi, &remote);
}

/* What came to a VipConnectWait is accepted or rejected. */
static void answer(struct chaos *c, uint32_t port)
{
    struct fworld *w = c->w;
    for (; c->seen[port] < w->events[port]; c->seen[port]++) {
        const struct fcvi_event *e = &w->event[port][c->seen[port]];
        uint32_t vi = c->vi[port][roll(c, VIS)];
        if (e->kind != FCVI_EVENT_CALL || e->vip != VIP_SUCCESS ||
            e->remote_address.discriminator_length == 0)
            continue;
        int result = roll(c, 4) == 0
                         ? VIP_REJECT
                         : fcvi_vip_connect_accept(w->port[port], f_now(w), e->conn, vi, c->calls[port] + 1);
        called(c, port, result);
        if (result != FCVI_VIP_PENDING)
            fcvi_vip_connect_reject(w->port[port], f_now(w), e->conn);
    }
}

static void drain(struct chaos *c, uint32_t port, unsigned k)
{
    struct fcvi_completion done;
    for (unsigned recv = 0; recv < 2; recv++)
        while (fcvi_vip_done(c->w->port[port], f_now(c->w), c->vi[port][k], recv, &done) != VIP_NOT_DONE &&
               done.status != 0)
            c->done[port][k][recv]++;
}

static void post(struct chaos *c, uint32_t port, unsigned k)
{
    static struct fcvi_descriptor d;
    memset(&d, 0, offsetof(struct fcvi_descriptor, segment));
    d.op = (uint8_t)(roll(c, 2) ? FCVI_RECV : roll(c, 3));
    d.segments = 1;
    d.segment[0] = (struct fcvi_segment){c->w->mem[port], roll(c, F_ROOM - 3 * SLICE), roll(c, 3 * SLICE)};
    uint32_t other = roll(c, c->w->ports);
    d.remote_va = c->w->va[other];
    d.remote_handle = c->w->handle[other];
    if (fcvi_vip_post(c->w->port[port], f_now(c->w), c->vi[port][k], &d) == VIP_SUCCESS)
        c->posted[port][k][d.op == FCVI_RECV]++;
    drain(c, port, k);
}

/* A few Descriptors at once, mostly to a VI that is connected. */
static void post_some(struct chaos *c, uint32_t port, unsigned k)
{
    for (unsigned i = 0; i < VIS && roll(c, 4) != 0; i++)
        if (f_state(c->w, port, c->vi[port][k]) != FCVI_STATE_CONNECTED)
            k = (k + 1) % VIS;
    for (unsigned count = roll(c, 6); count > 0; count--)
        post(c, port, k);
}

static void leave(struct chaos *c, uint32_t port, uint32_t vi)
{
    called(c, port, fcvi_vip_disconnect(c->w->port[port], f_now(c->w), vi, c->calls[port] + 1));
}

/* ---- what happens to the link ---- */

static void lip(struct chaos *c)
{
    fcvi_fabric_lip(c->w->fabric, f_now(c->w), roll(c, 4));
    for (uint32_t i = 0; i < c->w->ports; i++)
        fcvi_port_lip(c->w->port[i], f_now(c->w), fcvi_fabric_id(c->w->fabric, i));
}

static void interrupt(struct chaos *c, uint32_t port)
{
    struct fworld *w = c->w;
    fcvi_fabric_link(w->fabric, port, false);
    f_run(w, roll(c, 2) ? 1000 : roll(c, W_R_A_TOV));
    if (c->s->topology == FCVI_FABRIC && roll(c, 2))
        fcvi_fabric_set_id(w->fabric, port, 0x020000 + roll(c, 1 << 16));
    fcvi_fabric_link(w->fabric, port, true);
    for (uint32_t i = 0; i < w->ports; i++)
        if (i == port || c->s->topology == FCVI_POINT_TO_POINT)
            fcvi_port_link(w->port[i], f_now(w), FCVI_LINK_NOS);
}

static void disturb(struct chaos *c, uint32_t port)
{
    bool loop = c->s->topology == FCVI_PRIVATE_LOOP || c->s->topology == FCVI_PUBLIC_LOOP;
    switch (roll(c, 4)) {
    case 0:
        fcvi_port_link(c->w->port[port], f_now(c->w), FCVI_LINK_LOGO);
        break;
    case 1:
        fcvi_fabric_rename(c->w->fabric, 0x10000000f0000001 + roll(c, 2), 0x20000000f0000001);
        break;
    default:
        if (loop)
            lip(c);
        else
            interrupt(c, port);
        break;
    }
}

static void step(struct chaos *c)
{
    uint32_t port = roll(c, c->w->ports);
    unsigned k = roll(c, VIS), what = roll(c, 24);
    if (what < 3)
        wait(c, port);
    else if (what < 7)
        request(c, port, c->vi[port][k]);
    else if (what < 10)
        peer_request(c, port, c->vi[port][k]);
    else if (what < 20)
        post_some(c, port, k);
    else if (what < 23)
        leave(c, port, c->vi[port][k]);
    else
        disturb(c, port);
    f_run(c->w, roll(c, 3) ? roll(c, 5000) : roll(c, W_R_A_TOV));
    for (uint32_t i = 0; i < c->w->ports; i++)
        answer(c, i);
}

/* ---- the run ---- */

static struct chaos chaos_begin(uint64_t seed)
{
    struct chaos c = {.random = seed};
    c.s = &settings[roll(&c, SETTINGS)];
    struct fcvi_fabric_config config = f_config(c.s->topology);
    config.seed = seed;
    config.loss = roll(&c, 2) ? 20000 : 0;
    config.duplication = roll(&c, 2) ? 20000 : 0;
    config.corruption = roll(&c, 4) ? 0 : 20000;
    config.jitter_us = roll(&c, 1000);
    config.out_of_order = has_fabric(c.s) && roll(&c, 2);
    c.w = begin_with(c.s, c.s->topology == FCVI_POINT_TO_POINT ? 2 : 3, &config);
    uint8_t level = (uint8_t)(1 + roll(&c, 3));
    for (uint32_t i = 0; i < c.w->ports; i++)
        for (unsigned k = 0; k < VIS; k++)
            c.vi[i][k] = f_vi(c.w, i, level);
    return c;
}

static void calm_down(struct chaos *c)
{
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(FCVI_ACT_DELAY);
    fcvi_fabric_rule_add(c->w->fabric, &rule); /* a rule that acts spares the frame */
    for (unsigned k = 0; k < 2; k++) {
        f_run(c->w, 5 * (uint64_t)W_R_A_TOV); /* no VipConnectWait lasts that long */
        for (uint32_t i = 0; i < c->w->ports; i++)
            answer(c, i);
    }
    for (unsigned round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < c->w->ports; i++)
            for (unsigned k = 0; k < VIS; k++) {
                leave(c, i, c->vi[i][k]); /* an Idle VI, too: that flushes what was posted to it */
                f_run(c->w, 3 * (uint64_t)W_R_A_TOV);
                drain(c, i, k);
            }
        /* One whose LOGO was lost does not answer FCVI_DISCONNECT_RQST, and the VI stays in Error (8.6.3). */
        for (uint32_t i = 0; i < c->w->ports && round == 1; i++)
            fcvi_port_link(c->w->port[i], f_now(c->w), FCVI_LINK_LOGO);
        f_run(c->w, 3 * (uint64_t)W_R_A_TOV);
    }
}

static void expect_returns(const struct chaos *c, uint32_t port)
{
    for (uint64_t token = 1; token <= c->calls[port]; token++) {
        unsigned count = 0;
        for (unsigned k = 0; k < c->w->events[port]; k++)
            count += c->w->event[port][k].kind == FCVI_EVENT_CALL && c->w->event[port][k].token == token;
        ck_assert_msg(count == 1, "call %u of port %u returned %u times", (unsigned)token, port, count);
    }
}

START_TEST(nothing_is_left)
{
    for (unsigned n = 0; n < SEEDS; n++) {
        struct chaos c = chaos_begin((uint64_t)_i * SEEDS + n + 1);
        for (unsigned i = 0; i < STEPS; i++)
            step(&c);
        calm_down(&c);
        for (uint32_t i = 0; i < c.w->ports; i++) {
            expect_returns(&c, i);
            for (unsigned k = 0; k < VIS; k++) {
                ck_assert_uint_eq(f_state(c.w, i, c.vi[i][k]), FCVI_STATE_IDLE);
                ck_assert_uint_eq(c.done[i][k][0], c.posted[i][k][0]);
                ck_assert_uint_eq(c.done[i][k][1], c.posted[i][k][1]);
                ck_assert_int_eq(fcvi_vip_destroy_vi(c.w->port[i], f_now(c.w), c.vi[i][k]), VIP_SUCCESS);
            }
        }
        f_nothing_left(c.w);
        f_free(c.w);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_chaos");
    TCase *t = tcase_create("chaos");
    tcase_set_timeout(t, 60);
    const char *wanted = getenv("FCVI_SEED_TESTS"); /* sanitizers and valgrind take fewer */
    tcase_add_loop_test(t, nothing_is_left, 0, wanted != NULL ? atoi(wanted) : 100);
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
