/* Link Reset, events of other topologies, and point-to-point links (7.7.1, 7.7.2). */
#include "link.h"

START_TEST(link_reset_changes_nothing)
{
    struct bench *b = l_begin((enum fcvi_topology)_i);
    uint32_t vi = b_connected(b);
    unsigned at = b->sent;
    fcvi_port_link(b->port, b->now, FCVI_LINK_LR);
    collect(b);
    ck_assert_uint_eq(b->sent, at);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert(l_send(b, vi));
    l_end(b);
}
END_TEST

/* A LIP is an event of loops; UP without Fabric Login is nothing to be done about. */
START_TEST(events_of_other_topologies)
{
    struct bench *b = l_begin(_i < 2 ? FCVI_POINT_TO_POINT : FCVI_FABRIC);
    uint32_t vi = b_connected(b);
    unsigned at = b->sent;
    if (_i % 2 == 0)
        fcvi_port_lip(b->port, b->now, 0x010300);
    else
        fcvi_port_link(b->port, b->now, FCVI_LINK_UP);
    collect(b);
    ck_assert_uint_eq(b->sent, at);
    ck_assert_uint_eq(fcvi_port_id(b->port), 0x010200);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    l_end(b);
}
END_TEST

/* NOS/OLS logs out implicitly: no LOGO, and PLOGI before anything else. */
START_TEST(nos_point_to_point)
{
    struct bench *b = l_begin(FCVI_POINT_TO_POINT);
    uint32_t vi = b_connected(b);
    unsigned at = b->sent;
    fcvi_port_link(b->port, b->now, FCVI_LINK_NOS);
    collect(b);
    ck_assert_uint_eq(b->sent, at);
    l_expect_lost(b, vi);
    hear_rqst(b, 1, 0x1111, 0x42, 5); /* before the login */
    ck_assert_uint_eq(b->sent, at);
    ck_assert_uint_eq(l_begins_with(b, THEIRS), L_PLOGI);
    hear_reply(b, at, "010100",
               "02000000 " SERVICE("80020840", "10000000c9000001", "20000000c9000001", "0840"));
    ck_assert_uint_eq(opcode_at(b, at + 1), 0x10);
    l_end(b);
}
END_TEST

/* The other side may be the one that logs in (E83). */
START_TEST(nos_and_their_login)
{
    struct bench *b = l_begin(FCVI_POINT_TO_POINT);
    uint32_t vi = b_connected(b);
    fcvi_port_link(b->port, b->now, FCVI_LINK_NOS);
    hear(b,
         ELS_FROM("010100") "03000000 " SERVICE("80020840", "10000000c9000001", "20000000c9000001", "0840"));
    l_expect_lost(b, vi);
    ck_assert_uint_eq(b->frame[b->sent - 1][24], 0x02);
    ck_assert_uint_eq(l_begins_with(b, THEIRS), 0x10);
    l_end(b);
}
END_TEST

/* 7.7.1: behind the same N_Port Identifier there is another port now. Nothing is known of its addresses. */
START_TEST(nos_and_another_port)
{
    static const char *const names[][2] = {{"10000000c9000007", "20000000c9000001"},
                                           {"10000000c9000001", "20000000c9000007"}};
    struct bench *b = l_begin(FCVI_POINT_TO_POINT);
    char acc[HEX];
    fcvi_port_link(b->port, b->now, FCVI_LINK_NOS);
    ck_assert_uint_eq(l_begins_with(b, THEIRS), L_PLOGI);
    snprintf(acc, sizeof acc, "02000000 " SERVICE("80020840", "%s", "%s", "0840"), names[_i][0],
             names[_i][1]);
    hear_reply(b, 0, "010100", acc);
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(b->frame[1][24], L_FARP);
    l_end(b);
}
END_TEST

/* ... or nobody any more: the next request asks where the address is. */
START_TEST(nos_and_nobody)
{
    struct bench *b = l_begin(FCVI_POINT_TO_POINT);
    fcvi_port_link(b->port, b->now, FCVI_LINK_NOS);
    ck_assert_uint_eq(l_begins_with(b, THEIRS), L_PLOGI);
    advance(b, 2 * R_A_TOV);
    ck_assert_uint_eq(l_begins_with(b, THEIRS), L_FARP);
    l_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("link");
    TCase *t = tcase_create("link");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, link_reset_changes_nothing, 0, 4);
    tcase_add_loop_test(t, events_of_other_topologies, 0, 4);
    tcase_add_test(t, nos_point_to_point);
    tcase_add_test(t, nos_and_their_login);
    tcase_add_loop_test(t, nos_and_another_port, 0, 2);
    tcase_add_test(t, nos_and_nobody);
    suite_add_tcase(s, t);
    return run_suite(s);
}
