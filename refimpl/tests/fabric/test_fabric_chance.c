/* Frames that are held, what is left to chance, and that the same seed gives the same run. */
#include "fabric_bench.h"

static uint32_t hold(struct net *n, uint32_t seq_cnt)
{
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(FCVI_ACT_HOLD);
    rule.seq_cnt = seq_cnt;
    return fcvi_fabric_rule_add(n->f, &rule);
}

/* ---- held frames ---- */

START_TEST(held_in_order)
{
    struct net *n = n_new();
    uint32_t rule = hold(n, 1);
    for (unsigned i = 0; i < 4; i++)
        say_data(n, 0, 1, i);
    say_data(n, 2, 1, 1);
    say_data(n, 0, 2, 9);
    hear_data(n, 0, 1, 0);
    hear_data(n, 0, 2, 9);
    silence(n);
    ck_assert_uint_eq(counters(n).held, 4);
    ck_assert_uint_eq(counters(n).under_way, 4);
    ck_assert_uint_eq(fcvi_fabric_deadline(n->f), FCVI_NEVER);
    n->now = 7000;
    ck_assert_uint_eq(fcvi_fabric_release(n->f, n->now, rule), 2);
    ck_assert_uint_eq(fcvi_fabric_now(n->f), 7000);
    for (unsigned i = 1; i < 4; i++) {
        hear_data(n, 0, 1, i);
        ck_assert_uint_eq(n->at, 7000 + LATENCY); /* as if sent now */
    }
    hear_data(n, 2, 1, 1);
    say_data(n, 0, 1, 4); /* nothing is in its way any more */
    hear_data(n, 0, 1, 4);
    ck_assert_uint_eq(fcvi_fabric_release(n->f, n->now, rule), 0);
    n_end(n);
}
END_TEST

START_TEST(held_out_of_order)
{
    struct fcvi_fabric_config c = n_config();
    c.out_of_order = true;
    struct net *n = n_begin(&c);
    uint32_t rule = hold(n, 1);
    for (unsigned i = 0; i < 3; i++)
        say_data(n, 0, 1, i);
    hear_data(n, 0, 1, 0);
    hear_data(n, 0, 1, 2);
    silence(n);
    ck_assert_uint_eq(counters(n).held, 1);
    ck_assert(fcvi_fabric_rule_clear(n->f, n->now, rule)); /* releases too */
    hear_data(n, 0, 1, 1);
    n_end(n);
}
END_TEST

/* Two rules hold frames of one pair: the later ones wait for the earlier ones, whichever is released first.
 */
START_TEST(held_by_two_rules)
{
    struct net *n = n_new();
    uint32_t a = hold(n, 1), b = hold(n, 2);
    for (unsigned i = 1; i < 4; i++)
        say_data(n, 0, 1, i);
    if (_i == 0) {
        ck_assert_uint_eq(fcvi_fabric_release(n->f, n->now, a), 1);
        hear_data(n, 0, 1, 1);
        silence(n);
        ck_assert_uint_eq(counters(n).held, 2);
        ck_assert_uint_eq(fcvi_fabric_release(n->f, n->now, b), 1);
    } else {
        ck_assert_uint_eq(fcvi_fabric_release(n->f, n->now, b), 1);
        silence(n);
        ck_assert_uint_eq(counters(n).held, 3);
        ck_assert_uint_eq(fcvi_fabric_release(n->f, n->now, a), 1);
        hear_data(n, 0, 1, 1);
    }
    hear_data(n, 0, 1, 2);
    hear_data(n, 0, 1, 3);
    n_end(n);
}
END_TEST

/* What makes a frame late counts from its release. */
START_TEST(held_and_delayed)
{
    struct net *n = n_new();
    uint32_t rule = hold(n, 1);
    struct fcvi_fabric_rule late = fcvi_fabric_rule_any(FCVI_ACT_DELAY);
    late.delay_us = 500;
    fcvi_fabric_rule_add(n->f, &late);
    say_data(n, 0, 1, 1);
    say_data(n, 0, 1, 2);
    n->now = 5000;
    fcvi_fabric_release(n->f, n->now, rule);
    hear_data(n, 0, 1, 1);
    ck_assert_uint_eq(n->at, 5000 + LATENCY);
    hear_data(n, 0, 1, 2);
    ck_assert_uint_eq(n->at, 5000 + LATENCY + 500);
    n_end(n);
}
END_TEST

/* ---- chance ---- */

struct tally {
    unsigned arrived, bad, flipped, eof_ni, twice;
};

/* 2000 frames from 0 to 1, one at a time. */
static struct tally many(const struct fcvi_fabric_config *c, bool spared)
{
    struct net *n = n_begin(c);
    struct tally t = {0};
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(FCVI_ACT_DELAY);
    if (spared)
        fcvi_fabric_rule_add(n->f, &rule);
    for (unsigned i = 0; i < 2000; i++) {
        say_data(n, 0, 1, i);
        for (unsigned copies = 0; arrives(n); t.arrived++) {
            bool bad = n->in.crc == FCVI_CRC_BAD, eof_ni = n->in.eof == FCVI_EOF_NI;
            bool flipped = fcvi_load(n->bytes + 24, 8) != 0x0011223344556677;
            ck_assert(bad || !(eof_ni || flipped));
            ck_assert(!(eof_ni && flipped));
            ck_assert_uint_eq(fcvi_FC_SEQ_CNT(n->bytes), i);
            t.bad += bad;
            t.flipped += flipped;
            t.eof_ni += eof_ni;
            t.twice += copies++ == 1;
        }
    }
    ck_assert_uint_eq(counters(n).corrupted, t.bad);
    ck_assert_uint_eq(counters(n).duplicated, t.twice);
    n_end(n);
    return t;
}

START_TEST(no_faults)
{
    struct fcvi_fabric_config c = n_config();
    struct tally t = many(&c, false);
    ck_assert_uint_eq(t.arrived, 2000);
    ck_assert_uint_eq(t.bad + t.twice, 0);
}
END_TEST

START_TEST(some_faults)
{
    struct fcvi_fabric_config c = n_config();
    c.loss = c.duplication = c.corruption = 300000;
    c.seed = (uint64_t)_i;
    struct tally t = many(&c, false);
    unsigned lost = 2000 + t.twice - t.arrived; /* of 2000; five standard deviations are 102 */
    ck_assert(lost > 498 && lost < 702);
    ck_assert(t.twice > 315 && t.twice < 525); /* of some 1400 */
    ck_assert(t.bad > 380 && t.bad < 712);     /* of some 1820, in pairs */
    ck_assert(t.flipped > 60 && t.eof_ni > 60 && t.bad > t.flipped + t.eof_ni + 60); /* all three kinds */
}
END_TEST

START_TEST(nothing_but_faults)
{
    struct fcvi_fabric_config c = n_config();
    c.loss = 1000000;
    ck_assert_uint_eq(many(&c, false).arrived, 0);
    ck_assert_uint_eq(many(&c, true).arrived, 2000); /* a rule that acts spares the frame */
    c.loss = 0;
    c.duplication = c.corruption = 1000000;
    struct tally t = many(&c, false);
    ck_assert_uint_eq(t.arrived, 4000);
    ck_assert_uint_eq(t.bad, 4000);
}
END_TEST

/* ---- the same again ---- */

static uint64_t digest(uint64_t h, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        h = (h ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return h;
}

/* Rounds first to last - 1 of a fixed script; everything that arrives. */
static uint64_t script(struct net *n, unsigned first, unsigned last)
{
    uint64_t h = 14695981039346656037u;
    for (unsigned round = first; round < last; round++) {
        for (unsigned i = 0; i < 6; i++)
            say_data(n, i % 3, (i + 1 + round % 2) % 3, round * 6 + i);
        if (round % 5 == 4)
            fcvi_fabric_release(n->f, n->now, 0);
        if (round % 7 == 6)
            fcvi_fabric_set_id(n->f, 2, round % 2 ? 0x010300 : 0x010400);
        for (unsigned i = 0; i < 4 && arrives(n); i++) {
            h = digest(h, &n->at, sizeof n->at);
            h = digest(h, &n->to, sizeof n->to);
            h = digest(digest(h, n->bytes, n->in.length), &n->in.sof, 1);
            h = digest(digest(h, &n->in.eof, 1), &n->in.crc, 1);
        }
    }
    return h;
}

static struct net *busy(uint64_t seed, bool out_of_order)
{
    struct fcvi_fabric_config c = n_config();
    c.seed = seed;
    c.jitter_us = 700;
    c.out_of_order = out_of_order;
    c.loss = c.duplication = c.corruption = 100000;
    struct net *n = n_begin(&c);
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(FCVI_ACT_HOLD);
    rule.every = 9;
    fcvi_fabric_rule_add(n->f, &rule);
    return n;
}

START_TEST(same_seed)
{
    uint64_t h[3];
    for (unsigned i = 0; i < 3; i++) {
        struct net *n = busy(i == 2 ? 43 : 42, _i);
        h[i] = script(n, 0, 200);
        n_free(n);
    }
    ck_assert_uint_eq(h[0], h[1]);
    ck_assert_uint_ne(h[0], h[2]);
}
END_TEST

/* A copy of the block, at another place, goes on as the original does. */
START_TEST(checkpoint)
{
    struct net *n = busy(42, _i);
    script(n, 0, 98);
    struct net copy = *n;
    copy.f = malloc(n->size);
    memcpy(copy.f, n->f, n->size);
    ck_assert_uint_gt(counters(n).held, 0);
    uint64_t h = script(n, 98, 200);
    ck_assert_uint_eq(script(&copy, 98, 200), h);
    ck_assert_mem_eq(n->f, copy.f, n->size);
    free(copy.f);
    n_free(n);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_chance");
    TCase *t = tcase_create("hold");
    tcase_add_test(t, held_in_order);
    tcase_add_test(t, held_out_of_order);
    tcase_add_loop_test(t, held_by_two_rules, 0, 2);
    tcase_add_test(t, held_and_delayed);
    suite_add_tcase(s, t);
    t = tcase_create("chance");
    tcase_add_test(t, no_faults);
    tcase_add_loop_test(t, some_faults, 0, 5);
    tcase_add_test(t, nothing_but_faults);
    suite_add_tcase(s, t);
    t = tcase_create("again");
    tcase_add_loop_test(t, same_seed, 0, 2);
    tcase_add_loop_test(t, checkpoint, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
