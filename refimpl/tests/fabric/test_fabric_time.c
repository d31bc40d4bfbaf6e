/* When frames arrive, in which order, and how many and how long they may be (3.1.12, 3.1.14). */
#include "fabric_bench.h"

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
    Suite *s = suite_create("fabric_time");
    TCase *t = tcase_create("time");
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
