/* Where the Fabric takes a frame, and what it answers when it takes it nowhere (FC-FS). */
#include "fabric_bench.h"

/* R_CTL D_ID CS_CTL S_ID TYPE F_CTL SEQ_ID DF_CTL SEQ_CNT OX_ID RX_ID Parameter */
#define FRAME(d_id, s_id, f_ctl) "01 " d_id " 05 " s_id " 58 " f_ctl " 07 02 0003 1234 8001 00000840 00*40"

static struct net *with(enum fcvi_topology topology, uint32_t ports)
{
    struct fcvi_fabric_config c = n_config();
    c.topology = (uint8_t)topology;
    struct net *n = n_empty(&n_limits, &c);
    for (uint32_t i = 0; i < ports; i++)
        ck_assert_uint_eq(attach(n, n_id[i], (uint8_t)(0xa1 + i)), i);
    return n;
}

/* A frame goes unchanged to the port that its D_ID names, the sender itself included. */
START_TEST(by_d_id)
{
    struct net *n = n_new();
    say(n, 0, I2, FRAME("010300", "010100", "39000a"));
    hear(n, 2, I2, FRAME("010300", "010100", "39000a"));
    say(n, 2, FCVI_SOF_N3, FCVI_EOF_N, FRAME("010100", "010300", "000008"));
    hear(n, 0, FCVI_SOF_N3, FCVI_EOF_N, FRAME("010100", "010300", "000008"));
    say(n, 1, I3, FRAME("010200", "010200", "380008"));
    hear(n, 1, I3, FRAME("010200", "010200", "380008"));
    say(n, 1, FCVI_SOF_NONE, FCVI_EOF_NI, FRAME("010200", "010200", "380008"));
    hear(n, 1, FCVI_SOF_NONE, FCVI_EOF_NI, FRAME("010200", "010200", "380008"));
    n_end(n);
}
END_TEST

/* ---- nobody is there ---- */

/* Class 2: F_RJT 01h, invalid D_ID, not retryable; the answer inverts the contexts, keeps First, Last, End
 * and Sequence Initiative and names the frame. */
START_TEST(nobody_in_class_2)
{
    struct net *n = n_new();
    say(n, 0, I2, FRAME("010900", "010100", "39000a"));
    hear(n, 0, FCVI_SOF_N2, FCVI_EOF_T, "c3 010100 00 010900 00 f90000 07 00 0003 1234 8001 02010000");
    well_formed(n);
    ck_assert_uint_eq(n->at, LATENCY);
    say(n, 1, FCVI_SOF_N2, FCVI_EOF_N, FRAME("FFFFFD", "010200", "800008"));
    hear(n, 1, FCVI_SOF_N2, FCVI_EOF_N, "c3 010200 00 fffffd 00 400000 07 00 0003 1234 8001 02010000");
    say(n, 1, I2, FRAME("000000", "010200", "380008"));
    hear(n, 1, FCVI_SOF_N2, FCVI_EOF_T, "c3 010200 00 000000 00 f80000 07 00 0003 1234 8001 02010000");
    ck_assert_uint_eq(counters(n).dropped, 3);
    ck_assert_uint_eq(counters(n).own, 3);
    n_end(n);
}
END_TEST

/* Down: 03h, not available temporarily, retryable. */
START_TEST(down_in_class_2)
{
    struct net *n = n_new();
    fcvi_fabric_link(n->f, 1, false);
    say(n, 0, I2, FRAME("010200", "010100", "000008"));
    hear(n, 0, FCVI_SOF_N2, FCVI_EOF_N, "c3 010100 00 010200 00 c00000 07 00 0003 1234 8001 01030000");
    well_formed(n);
    n_end(n);
}
END_TEST

START_TEST(nobody_in_class_3)
{
    struct net *n = n_new();
    say(n, 0, I3, FRAME("010900", "010100", "380008"));
    say(n, 0, FCVI_SOF_N3, FCVI_EOF_N, FRAME("010900", "010100", "000008"));
    say(n, 0, FCVI_SOF_F, FCVI_EOF_N, FRAME("010900", "010100", "000008"));
    say(n, 0, FCVI_SOF_NONE, FCVI_EOF_NONE, FRAME("010900", "010100", "000008"));
    fcvi_fabric_link(n->f, 1, false);
    say(n, 0, I3, FRAME("010200", "010100", "380008"));
    silence(n);
    ck_assert_uint_eq(counters(n).dropped, 5);
    ck_assert_uint_eq(counters(n).own, 0);
    n_end(n);
}
END_TEST

/* A Link_Control frame is never rejected: rejects could answer each other for ever. */
START_TEST(link_control_to_nobody)
{
    struct net *n = n_new();
    say(n, 0, FCVI_SOF_N2, FCVI_EOF_T, "c0 010900 00 010100 00 e90000 11 00 0000 1234 8001 00000001");
    say(n, 0, FCVI_SOF_N2, FCVI_EOF_T, "c3 010900 00 010100 00 e90000 11 00 0000 1234 8001 02010000");
    silence(n);
    ck_assert_uint_eq(counters(n).dropped, 2);
    n_end(n);
}
END_TEST

/* Where there is no Fabric nobody answers for it. */
START_TEST(nobody_without_a_fabric)
{
    struct net *n = with(FCVI_PRIVATE_LOOP, 2);
    say(n, 0, I2, FRAME("010900", "010100", "000008"));
    say(n, 0, I2, FRAME("FFFFFE", "010100", "000008"));
    say(n, 0, I2, FRAME("FFFFFC", "010100", "000008"));
    fcvi_fabric_link(n->f, 1, false);
    say(n, 0, I2, FRAME("010200", "010100", "000008"));
    silence(n);
    ck_assert_uint_eq(counters(n).dropped, 4);
    n_end(n);
}
END_TEST

/* ---- point-to-point ---- */

/* The link has one other end, whatever the D_ID is: FLOGI goes there as well. */
START_TEST(point_to_point)
{
    static const char *const d_id[] = {"010200", "000000", "010900", "FFFFFE", "FFFFFC", "FFFFFF"};
    struct net *n = with(FCVI_POINT_TO_POINT, 2);
    for (uint32_t from = 0; from < 2; from++) {
        say(n, from, I3, "22 %s 00 000000 01 290000 00 00 0000 1000 ffff 00000000 04000000",
            from == 1 && _i == 0 ? "010100" : d_id[_i]);
        ck_assert(arrives(n));
        ck_assert_uint_eq(n->to, 1 - from);
    }
    n_end(n);
}
END_TEST

START_TEST(point_to_point_to_oneself)
{
    struct net *n = with(FCVI_POINT_TO_POINT, 2);
    say(n, 1, I3, FRAME("010200", "010200", "380008"));
    hear(n, 1, I3, FRAME("010200", "010200", "380008"));
    n_end(n);
}
END_TEST

START_TEST(point_to_point_alone)
{
    struct net *n = with(FCVI_POINT_TO_POINT, 1);
    say(n, 0, I2, FRAME("010200", "010100", "000008"));
    say(n, 0, I3, FRAME("FFFFFF", "010100", "380008"));
    silence(n);
    ck_assert_uint_eq(counters(n).dropped, 2);
    ck_assert_uint_eq(attach(n, 0x010200, 2), 1);
    fcvi_fabric_link(n->f, 1, false);
    say(n, 0, I2, FRAME("010900", "010100", "000008"));
    silence(n);
    ck_assert_uint_eq(counters(n).dropped, 3);
    n_end(n);
}
END_TEST

/* ---- broadcast ---- */

#define BROADCAST "22 ffffff 00 010100 01 380000 03 00 0000 1001 ffff 00000000 54000000 00*72"

START_TEST(broadcast)
{
    struct net *n = with(FCVI_FABRIC, 3);
    say(n, 0, I3, BROADCAST);
    hear(n, 1, I3, BROADCAST);
    hear(n, 2, I3, BROADCAST);
    silence(n);
    ck_assert_uint_eq(counters(n).copied, 1);
    fcvi_fabric_link(n->f, 1, false);
    say(n, 0, I3, BROADCAST);
    hear(n, 2, I3, BROADCAST);
    silence(n);
    fcvi_fabric_link(n->f, 2, false);
    say(n, 0, I3, BROADCAST); /* to nobody */
    silence(n);
    ck_assert_uint_eq(counters(n).dropped, 1);
    ck_assert_uint_eq(counters(n).copied, 1);
    n_end(n);
}
END_TEST

/* Each copy meets its own fate. */
START_TEST(broadcast_and_rules)
{
    struct net *n = with(FCVI_PUBLIC_LOOP, 3);
    struct fcvi_fabric_rule drop = fcvi_fabric_rule_any(FCVI_ACT_DROP);
    drop.to = 1;
    uint32_t rule = fcvi_fabric_rule_add(n->f, &drop);
    say(n, 0, I3, BROADCAST);
    hear(n, 2, I3, BROADCAST);
    silence(n);
    ck_assert_uint_eq(fcvi_fabric_hits(n->f, rule), 1);
    n_end(n);
}
END_TEST

/* No port could acknowledge it. */
START_TEST(broadcast_in_class_2)
{
    struct net *n = with(FCVI_FABRIC, 3);
    say(n, 0, I2, BROADCAST);
    hear(n, 0, FCVI_SOF_N2, FCVI_EOF_T, "c3 010100 00 ffffff 00 f80000 03 00 0000 1001 ffff 02010000");
    n_end(n);
}
END_TEST

/* ---- rules that reject ---- */

static const struct {
    enum fcvi_fabric_action action;
    uint8_t reason;
    const char *frame, *answer;
} rejects[] = {
    {FCVI_ACT_F_RJT, 0, FRAME("010200", "010100", "39000a"),
     "c3 010100 00 010200 00 f90000 07 00 0003 1234 8001 01030000"},
    {FCVI_ACT_F_RJT, 0x1A, FRAME("010200", "010100", "39000a"),
     "c3 010100 00 010200 00 f90000 07 00 0003 1234 8001 011a0000"},
    {FCVI_ACT_F_RJT, 0, "c0 010200 00 010100 00 e90000 11 00 0000 1234 8001 00000001", NULL},
    {FCVI_ACT_F_BSY, 0, FRAME("010200", "010100", "39000a"),
     "c5 010100 00 010200 10 f90000 07 00 0003 1234 8001 00000000"},
    {FCVI_ACT_F_BSY, 3, FRAME("010200", "010100", "39000a"),
     "c5 010100 00 010200 30 f90000 07 00 0003 1234 8001 00000000"},
    {FCVI_ACT_F_BSY, 0, "c0 010200 00 010100 00 e90000 11 00 0000 1234 8001 00000001",
     "c6 010100 00 010200 10 290000 11 00 0000 1234 8001 00000000"},
    {FCVI_ACT_F_BSY, 3, "c1 010200 00 010100 00 e90000 11 00 0000 1234 8001 00000000",
     "c6 010100 00 010200 31 290000 11 00 0000 1234 8001 00000000"},
};
enum { REJECTS = sizeof rejects / sizeof *rejects };

START_TEST(rejected_by_a_rule)
{
    struct net *n = n_new();
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(rejects[_i].action);
    rule.to = 1;
    rule.reason = rejects[_i].reason;
    fcvi_fabric_rule_add(n->f, &rule);
    say(n, 0, I2, "%s", rejects[_i].frame);
    if (rejects[_i].answer != NULL) {
        hear(n, 0, FCVI_SOF_N2, FCVI_EOF_T, "%s", rejects[_i].answer);
        well_formed(n);
    }
    say(n, 0, I3, "%s", rejects[_i].frame); /* class 3 is not answered */
    silence(n);
    ck_assert_uint_eq(counters(n).dropped, 2);
    n_end(n);
}
END_TEST

/* The Fabric does not answer itself: a rule that rejects its answers ends there. */
START_TEST(answers_are_not_answered)
{
    struct net *n = n_new();
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(_i ? FCVI_ACT_F_RJT : FCVI_ACT_F_BSY);
    uint32_t number = fcvi_fabric_rule_add(n->f, &rule);
    say(n, 0, I2, FRAME("010900", "010100", "000008"));
    silence(n);
    ck_assert_uint_eq(fcvi_fabric_hits(n->f, number), 1);
    ck_assert_uint_eq(counters(n).dropped, 2);
    n_end(n);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_route");
    TCase *t = tcase_create("route");
    tcase_add_test(t, by_d_id);
    tcase_add_test(t, nobody_in_class_2);
    tcase_add_test(t, down_in_class_2);
    tcase_add_test(t, nobody_in_class_3);
    tcase_add_test(t, link_control_to_nobody);
    tcase_add_test(t, nobody_without_a_fabric);
    tcase_add_loop_test(t, point_to_point, 0, 6);
    tcase_add_test(t, point_to_point_to_oneself);
    tcase_add_test(t, point_to_point_alone);
    tcase_add_test(t, broadcast);
    tcase_add_test(t, broadcast_and_rules);
    tcase_add_test(t, broadcast_in_class_2);
    tcase_add_loop_test(t, rejected_by_a_rule, 0, REJECTS);
    tcase_add_loop_test(t, answers_are_not_answered, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
