/* The simulated Fabric: its life, its ports, where frames go and when they arrive. */
#include "fabric_bench.h"

/* ---- sizes and configuration ---- */

START_TEST(limits_out_of_range)
{
    static const struct fcvi_fabric_limits bad[] = {
        {0, 1, 0, 0},     {257, 1, 0, 0},   {1, 0, 0, 0}, {1, (1 << 20) + 1, 0, 0},
        {1, 1, 65537, 0}, {1, 1, 0, 65537},
    };
    struct fcvi_fabric_config c = n_config();
    uint64_t memory[64] = {0};
    ck_assert_uint_eq(fcvi_fabric_size(&bad[_i]), 0);
    ck_assert_ptr_null(fcvi_fabric_init(memory, SIZE_MAX, &bad[_i], &c));
}
END_TEST

START_TEST(limits_in_range)
{
    const struct fcvi_fabric_limits small = {1, 1, 0, 0}, large = {256, 1 << 20, 65536, 65536};
    struct fcvi_fabric_config c = n_config();
    ck_assert_uint_gt(fcvi_fabric_size(&large), (size_t)FCVI_FABRIC_FRAME << 20);
    size_t size = fcvi_fabric_size(&small);
    ck_assert_uint_lt(size, 8192);
    void *memory = malloc(size);
    ck_assert_ptr_null(fcvi_fabric_init(memory, size - 1, &small, &c));
    ck_assert_ptr_eq(fcvi_fabric_init(memory, size, &small, &c), memory);
    free(memory);
}
END_TEST

static void one_wrong(struct fcvi_fabric_config *c, int which)
{
    switch (which) {
    case 0:
        c->topology = FCVI_FABRIC + 1;
        break;
    case 1:
        c->loss = 1000001;
        break;
    case 2:
        c->duplication = 1000001;
        break;
    case 3:
        c->corruption = 1000001;
        break;
    case 4:
        c->fan_delay_us = 1000001;
        break;
    case 5:
        c->latency_us = FCVI_FABRIC_LONGEST + 1;
        break;
    case 6:
        c->jitter_us = UINT64_MAX;
        break;
    case 7: /* FLOGI has 32 bits for milliseconds */
        c->r_a_tov_us = (UINT64_C(1) << 32) * 1000;
        break;
    default:
        c->e_d_tov_us = (UINT64_C(1) << 32) * 1000;
        break;
    }
}

START_TEST(configuration_out_of_range)
{
    struct fcvi_fabric_config c = n_config();
    size_t size = fcvi_fabric_size(&n_limits);
    void *memory = malloc(size);
    one_wrong(&c, _i);
    ck_assert_ptr_null(fcvi_fabric_init(memory, size, &n_limits, &c));
    free(memory);
}
END_TEST

START_TEST(configuration_at_the_limit)
{
    struct fcvi_fabric_config c = {.topology = FCVI_POINT_TO_POINT,
                                   .loss = 1000000,
                                   .duplication = 1000000,
                                   .corruption = 1000000,
                                   .latency_us = FCVI_FABRIC_LONGEST,
                                   .jitter_us = FCVI_FABRIC_LONGEST,
                                   .fan_delay_us = 1000000,
                                   .r_a_tov_us = UINT64_C(0xFFFFFFFF) * 1000,
                                   .e_d_tov_us = UINT64_C(0xFFFFFFFF) * 1000};
    n_end(n_empty(&n_limits, &c));
}
END_TEST

/* ---- ports ---- */

START_TEST(attaching)
{
    struct net *n = n_new();
    struct fcvi_port_identity crowd = n_identity(0x010500, 1);
    crowd.hosts = FCVI_MAX_HOSTS + 1;
    ck_assert_uint_eq(fcvi_fabric_attach(n->f, &crowd, FCVI_PLACE_FABRIC), FCVI_FABRIC_NONE);
    ck_assert_uint_eq(attach(n, 0x010200, 1), FCVI_FABRIC_NONE); /* taken */
    ck_assert_uint_eq(attach(n, 0xFFFC00, 1), FCVI_FABRIC_NONE); /* well-known addresses and above */
    ck_assert_uint_eq(attach(n, 0xFFFFFC, 1), FCVI_FABRIC_NONE);
    ck_assert_uint_eq(attach(n, 0x1000000, 1), FCVI_FABRIC_NONE);
    ck_assert_uint_eq(attach(n, 0xFFFBFF, 1), 3);
    ck_assert_uint_eq(attach(n, 0x010500, 1), FCVI_FABRIC_NONE); /* no room */
    ck_assert_uint_eq(fcvi_fabric_id(n->f, 1), 0x010200);
    ck_assert_uint_eq(fcvi_fabric_id(n->f, 3), 0xFFFBFF);
    ck_assert_uint_eq(fcvi_fabric_id(n->f, 4), 0);
    ck_assert_uint_eq(fcvi_fabric_id(n->f, FCVI_FABRIC_ANY), 0);
    ck_assert_uint_eq(fcvi_fabric_find(n->f, 0x010300), 2);
    ck_assert_uint_eq(fcvi_fabric_find(n->f, 0x010400), FCVI_FABRIC_NONE);
    ck_assert_uint_eq(fcvi_fabric_find(n->f, 0), FCVI_FABRIC_NONE);
    n_end(n);
}
END_TEST

/* Ports before FLOGI have no identifier, and several of them may be so. */
START_TEST(without_an_identifier)
{
    struct fcvi_fabric_config c = n_config();
    struct net *n = n_empty(&n_limits, &c);
    ck_assert_uint_eq(attach(n, 0, 1), 0);
    ck_assert_uint_eq(attach(n, 0, 2), 1);
    ck_assert_uint_eq(fcvi_fabric_id(n->f, 0), 0);
    n_end(n);
}
END_TEST

START_TEST(a_link_has_two_ends)
{
    struct fcvi_fabric_config c = n_config();
    c.topology = FCVI_POINT_TO_POINT;
    struct net *n = n_empty(&n_limits, &c);
    ck_assert_uint_eq(attach(n, 0x010100, 1), 0);
    ck_assert_uint_eq(attach(n, 0x010200, 2), 1);
    ck_assert_uint_eq(attach(n, 0x010300, 3), FCVI_FABRIC_NONE);
    n_end(n);
}
END_TEST

START_TEST(another_identifier)
{
    struct net *n = n_new();
    ck_assert(!fcvi_fabric_set_id(n->f, 3, 0x010900));
    ck_assert(!fcvi_fabric_set_id(n->f, 0, 0x010200));
    ck_assert(!fcvi_fabric_set_id(n->f, 0, 0xFFFFFE));
    say_data(n, 1, 0, 1);
    ck_assert(fcvi_fabric_set_id(n->f, 0, 0x010100)); /* the same: nothing happens */
    hear_data(n, 1, 0, 1);
    say_data(n, 1, 0, 2); /* lost under way */
    ck_assert(fcvi_fabric_set_id(n->f, 0, 0x010900));
    say_data(n, 1, 0, 3); /* nobody has that identifier any more */
    silence(n);
    ck_assert_uint_eq(counters(n).dropped, 2);
    ck_assert_uint_eq(fcvi_fabric_find(n->f, 0x010900), 0);
    ck_assert_uint_eq(fcvi_fabric_find(n->f, 0x010100), FCVI_FABRIC_NONE);
    n_end(n);
}
END_TEST

START_TEST(link_down_and_up)
{
    struct net *n = n_new();
    ck_assert(!fcvi_fabric_link(n->f, 3, false));
    say_data(n, 1, 0, 1); /* lost under way */
    ck_assert(fcvi_fabric_link(n->f, 0, false));
    ck_assert(fcvi_fabric_link(n->f, 0, false));
    ck_assert_uint_eq(fcvi_fabric_find(n->f, 0x010100), 0); /* down or not */
    say_data(n, 0, 1, 2);                                   /* cannot be sent */
    say_data(n, 1, 0, 3);                                   /* cannot arrive */
    ck_assert(fcvi_fabric_link(n->f, 0, true));
    silence(n);
    ck_assert_uint_eq(counters(n).dropped, 3);
    ck_assert(fcvi_fabric_link(n->f, 0, true)); /* up already: nothing is lost */
    say_data(n, 1, 0, 4);
    say_data(n, 0, 1, 5);
    ck_assert(fcvi_fabric_link(n->f, 1, true));
    hear_data(n, 1, 0, 4);
    hear_data(n, 0, 1, 5);
    n_end(n);
}
END_TEST

/* ---- when frames arrive ---- */

START_TEST(latency)
{
    struct net *n = n_new();
    ck_assert_uint_eq(fcvi_fabric_deadline(n->f), FCVI_NEVER);
    n->now = 1000;
    say_data(n, 0, 1, 1);
    ck_assert_uint_eq(fcvi_fabric_deadline(n->f), 1000 + LATENCY);
    ck_assert(!fcvi_fabric_deliver(n->f, 1000 + LATENCY - 1, &n->to, n->bytes, sizeof n->bytes, &n->in));
    ck_assert_uint_eq(fcvi_fabric_now(n->f), 1000 + LATENCY - 1);
    hear_data(n, 0, 1, 1);
    ck_assert_uint_eq(n->at, 1000 + LATENCY);
    ck_assert_uint_eq(fcvi_fabric_now(n->f), 1000 + LATENCY);
    n_end(n);
}
END_TEST

/* Frames due at the same time arrive in the order in which they were sent, whoever sent them. */
START_TEST(same_time)
{
    struct net *n = n_new();
    for (unsigned i = 0; i < 15; i++)
        say_data(n, i % 3, (i + 1 + i / 3 % 2) % 3, i);
    for (unsigned i = 0; i < 15; i++) {
        hear_data(n, i % 3, (i + 1 + i / 3 % 2) % 3, i);
        ck_assert_uint_eq(n->at, LATENCY);
    }
    n_end(n);
}
END_TEST

/* 3.1.12: an In-Order Fabric keeps the order of the frames between two ports. 3.1.14: another does not. */
START_TEST(order)
{
    struct fcvi_fabric_config c = n_config();
    c.jitter_us = 1000;
    c.out_of_order = _i;
    struct net *n = n_begin(&c);
    unsigned overtaken = 0, next = 0;
    uint64_t last = 0;
    for (unsigned round = 0; round < 20; round++) {
        uint64_t sent = n->now;
        for (unsigned i = 0; i < 16; i++)
            say_data(n, 0, 1, round * 16 + i);
        for (; arrives(n); next++) {
            overtaken += fcvi_FC_SEQ_CNT(n->bytes) != next;
            ck_assert_uint_ge(n->at, sent + LATENCY);
            ck_assert_uint_le(n->at, sent + LATENCY + 1000);
            ck_assert_uint_ge(n->at, last);
            last = n->at;
        }
    }
    ck_assert_uint_eq(next, 320);
    if (c.out_of_order)
        ck_assert_uint_gt(overtaken, 100);
    else
        ck_assert_uint_eq(overtaken, 0);
    n_end(n);
}
END_TEST

/* Order is kept pair by pair: another sender's frame, or one to another port, may come first. */
START_TEST(pairs_do_not_wait_for_each_other)
{
    struct net *n = n_new();
    struct fcvi_fabric_rule slow = fcvi_fabric_rule_any(FCVI_ACT_DELAY);
    slow.seq_cnt = 1;
    slow.delay_us = 5000;
    fcvi_fabric_rule_add(n->f, &slow);
    say_data(n, 0, 1, 1);
    say_data(n, 0, 1, 2);
    say_data(n, 0, 2, 3);
    say_data(n, 2, 1, 4);
    say_data(n, 1, 0, 5);
    hear_data(n, 0, 2, 3);
    hear_data(n, 2, 1, 4);
    hear_data(n, 1, 0, 5);
    hear_data(n, 0, 1, 1);
    ck_assert_uint_eq(n->at, LATENCY + 5000);
    hear_data(n, 0, 1, 2);
    ck_assert_uint_eq(n->at, LATENCY + 5000);
    n_end(n);
}
END_TEST

/* What went down with the link holds up nothing that is sent after it. */
START_TEST(order_starts_anew_with_the_link)
{
    struct net *n = n_new();
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(_i ? FCVI_ACT_HOLD : FCVI_ACT_DELAY);
    rule.count = 1;
    rule.delay_us = 1000000;
    uint32_t number = fcvi_fabric_rule_add(n->f, &rule);
    say_data(n, 0, 1, 1);
    say_data(n, 2, 1, 2);
    say_data(n, 0, 2, 3);
    fcvi_fabric_link(n->f, 1, false);
    fcvi_fabric_link(n->f, 1, true);
    say_data(n, 0, 1, 4);
    hear_data(n, 0, 2, 3);
    hear_data(n, 0, 1, 4);
    ck_assert_uint_eq(n->at, LATENCY);
    ck_assert_uint_eq(fcvi_fabric_release(n->f, n->now, number), 0);
    n_end(n);
}
END_TEST

/* ---- how many, and how long ---- */

START_TEST(too_many_frames)
{
    struct net *n = n_new();
    for (unsigned i = 0; i < 20; i++)
        say_data(n, 0, 1, i);
    ck_assert_uint_eq(counters(n).under_way, 16);
    ck_assert_uint_eq(counters(n).overflow, 4);
    for (unsigned i = 0; i < 16; i++)
        hear_data(n, 0, 1, i);
    say_data(n, 0, 1, 20); /* there is room again */
    hear_data(n, 0, 1, 20);
    ck_assert_uint_eq(counters(n).delivered, 17);
    n_end(n);
}
END_TEST

START_TEST(frame_lengths)
{
    static const size_t length[] = {0, 1, 23, 24, 25, 2136, FCVI_FABRIC_FRAME, FCVI_FABRIC_FRAME + 1};
    struct net *n = n_new();
    uint8_t frame[FCVI_FABRIC_FRAME + 1];
    memset(frame, 0x5A, sizeof frame);
    from_hex("01 010200 00 010100 08 000000 01 00 0000 1234 ffff 00000000", frame);
    bool carried = length[_i] >= 24 && length[_i] <= FCVI_FABRIC_FRAME;
    say_bytes(n, 0, I3, frame, length[_i]);
    ck_assert_uint_eq(arrives(n), carried);
    ck_assert_uint_eq(counters(n).dropped, !carried);
    if (carried) {
        ck_assert_uint_eq(n->in.length, length[_i]);
        ck_assert_mem_eq(n->bytes, frame, length[_i]);
    }
    n_end(n);
}
END_TEST

/* A frame that does not fit stays until there is room for it. */
START_TEST(no_room_to_deliver)
{
    struct net *n = n_new();
    say_data(n, 0, 1, 1);
    ck_assert(!fcvi_fabric_deliver(n->f, LATENCY, &n->to, n->bytes, 31, &n->in));
    ck_assert(fcvi_fabric_deliver(n->f, LATENCY, &n->to, n->bytes, 32, &n->in));
    n_end(n);
}
END_TEST

START_TEST(unknown_sender)
{
    struct net *n = n_new();
    say(n, 3, I3, DATA, 0x010200u, 0x010100u, 1u);
    say(n, FCVI_FABRIC_ITSELF, I3, DATA, 0x010200u, 0x010100u, 2u);
    silence(n);
    ck_assert_uint_eq(counters(n).dropped, 2);
    n_end(n);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric");
    TCase *t = tcase_create("life");
    tcase_add_loop_test(t, limits_out_of_range, 0, 6);
    tcase_add_test(t, limits_in_range);
    tcase_add_loop_test(t, configuration_out_of_range, 0, 9);
    tcase_add_test(t, configuration_at_the_limit);
    suite_add_tcase(s, t);
    t = tcase_create("ports");
    tcase_add_test(t, attaching);
    tcase_add_test(t, without_an_identifier);
    tcase_add_test(t, a_link_has_two_ends);
    tcase_add_test(t, another_identifier);
    tcase_add_test(t, link_down_and_up);
    suite_add_tcase(s, t);
    t = tcase_create("time");
    tcase_add_test(t, latency);
    tcase_add_test(t, same_time);
    tcase_add_loop_test(t, order, 0, 2);
    tcase_add_test(t, pairs_do_not_wait_for_each_other);
    tcase_add_loop_test(t, order_starts_anew_with_the_link, 0, 2);
    suite_add_tcase(s, t);
    t = tcase_create("frames");
    tcase_add_test(t, too_many_frames);
    tcase_add_loop_test(t, frame_lengths, 0, 8);
    tcase_add_test(t, no_room_to_deliver);
    tcase_add_test(t, unknown_sender);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
