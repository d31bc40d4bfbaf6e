/* What a logout (7.7.1, E86) leaves as it is: Endpoints without a connection, and ports that it does not
 * name. */
#include "link.h"

#define LOGO "05000000 00010100 10000000c9000001"

/* Idle after a Disconnect, and in Error after the other side's: they have no connection left to lose. */
START_TEST(ended_connections)
{
    struct bench *b = b_new();
    uint32_t idle = b_connected(b), broken = b_connected(b);
    unsigned request = b->sent - 2;
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, idle, 1), FCVI_VIP_PENDING);
    collect(b);
    hear_disconnected(b, b->sent - 1);
    hear_disconnect(b, 2, 0x4000, 0, own_handle_at(b, request));
    ck_assert_uint_eq(errors(b, broken, VIP_ERROR_CONN_LOST), 1);
    hear(b, ELS_FROM("010100") LOGO);
    ck_assert_uint_eq(state_of(b, idle), FCVI_STATE_IDLE);
    ck_assert_uint_eq(errors(b, idle, VIP_ERROR_CONN_LOST), 0);
    ck_assert_uint_eq(state_of(b, broken), FCVI_STATE_ERROR);
    ck_assert_uint_eq(errors(b, broken, VIP_ERROR_CONN_LOST), 1);
    b_end(b);
}
END_TEST

/* T1 has nothing to end any more: Error lasts until a Disconnect. */
START_TEST(t1_ends_with_it)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, R_A_TOV / 2, 1);
    hear(b, ELS_FROM("010100") LOGO);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_NOT_REACHABLE);
    advance(b, 3 * (uint64_t)R_A_TOV);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    b_end(b);
}
END_TEST

/* A LOGO without its Port_Name is not about those whose name the host did not know. */
START_TEST(nameless_ports)
{
    static const char *const logos[] = {"05000000", "05000000 00010900 00*8"};
    struct fcvi_port_config c = b_config();
    c.peer.port_name = 0;
    struct bench *b = b_begin(&b_limits, &c);
    uint32_t vi = b_connected(b);
    unsigned at = b->sent;
    hear(b, ELS_FROM("010900") "%s", logos[_i]);
    expect(b, at, "23 010900 00 010200 01 990000 .. 00 0000 0aaa .... 00000000 02000000");
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* No Fabric Login, and with it no login at all, while a retry waits for it: the retry is over, too, and only
 * a Disconnect ends Error (8.2). */
START_TEST(retry_ends_with_it)
{
    struct bench *b = l_begin(FCVI_FABRIC);
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    advance(b, R_A_TOV / 2);
    fcvi_port_link(b->port, b->now, FCVI_LINK_NOS);
    advance(b, 2 * R_A_TOV - R_A_TOV / 4);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT_RETRY);
    advance(b, R_A_TOV / 2);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_NOT_REACHABLE);
    unsigned at = b->sent - 1; /* FLOGI has been repeated */
    fcvi_port_link(b->port, b->now, FCVI_LINK_NOS);
    collect(b);
    ck_assert_uint_eq(b->sent, at + 1);
    ck_assert_uint_eq(b->frame[at][24], L_FLOGI);
    hear_reply(b, at, "fffffe",
               "02000000 " SERVICE("80020840", "20000000c9000009", "10000000c9000009", "0840"));
    advance(b, 3 * (uint64_t)R_A_TOV);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_uint_eq(find(b, at, L_FCVI, 0x10), b->sent);
    b_end(b);
}
END_TEST

/* Of Messages that were under way in both directions no Exchange is left. */
START_TEST(messages_end_with_it)
{
    struct bench *b = b_new();
    uint32_t vi = b_connected(b), handle = own_handle_at(b, 0);
    hear(b,
         "01 010200 00 010100 58 200008 07 02 0000 0701 ffff 00000000 %08x 00 00 0000 00000001 00*16 "
         "00000008 11*4",
         handle);
    ck_assert_uint_eq(counts(b).exchanges, 1);
    hear(b, ELS_FROM("010100") LOGO);
    ck_assert_uint_eq(counts(b).exchanges, 0);
    l_expect_lost(b, vi);
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("logout");
    TCase *t = tcase_create("logout");
    tcase_add_test(t, ended_connections);
    tcase_add_test(t, t1_ends_with_it);
    tcase_add_test(t, messages_end_with_it);
    tcase_add_loop_test(t, nameless_ports, 0, 2);
    tcase_add_test(t, retry_ends_with_it);
    suite_add_tcase(s, t);
    return run_suite(s);
}
