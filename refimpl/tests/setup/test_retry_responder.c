/* What fails in a Connection Setup and what its responder does: 8.5.2, 8.5.3 d and Annex C rules 1, 6 and 8
 * to 12, where Client-Server differs from Peer-to-Peer (test_peer.c). */
#include "../bench.h"

enum { CLIENT = 1, PEER = 2, CLIENT_RETRY = 0x11, RETRY = 4 }; /* Tables 7 and 9 (E23) */
enum { OX = 0x1234, ID = 0x42, HANDLE = 5 };
enum { RETRY_OX = 0x1235, RETRY_ID = 0x43 };

/* FCVI_CONNECT_RESP1 in which Exchange, with which flags, Reason Code and FCVI_RESP_HANDLE */
static void expect_resp1(struct bench *b, unsigned nth, unsigned ox_id, uint32_t id, unsigned flags,
                         unsigned reason, uint32_t handle)
{
    expect(b, nth,
           "03 010100 00 010200 58 890008 .. 02 0000 %04x .... 00000000 "
           "ffffffff 18 %02x 0000 00000000 00%02x0000 00*12 %08x 00000000 0000 0001 %08x " ADDR_B ADDR_A
           "0000 01 00 ........ 00*20 00*4",
           ox_id, flags, reason, id, handle);
}

static void expect_resp3(struct bench *b, unsigned nth, unsigned ox_id, uint32_t id, unsigned flags)
{
    expect(
        b, nth,
        "03 010100 00 010200 58 980000 .. 02 0001 %04x .... 00000000 00000005 1a %02x 0000 00*8 00*12 %08x",
        ox_id, flags, id);
}

static void expect_ba_acc(struct bench *b, unsigned nth, unsigned ox_id)
{
    expect(b, nth, "84 010100 00 010200 00 990000 .. 00 0000 %04x .... 00000000 00*4 %04x .... 0000 ffff",
           ox_id, ox_id);
}

/* A request that a Server has been handed; the number of it. */
static uint32_t offered(struct bench *b)
{
    b_wait(b, FCVI_NEVER, 1);
    hear_rqst(b, CLIENT, OX, ID, HANDLE);
    ck_assert_uint_eq(b->sent, 0);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_SUCCESS);
    return b_return(b, 1)->conn;
}

static void accept(struct bench *b, uint32_t conn, uint32_t vi)
{
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, conn, vi, 2), FCVI_VIP_PENDING);
    collect(b);
}

/* ---- rule 8: the setup is open ---- */

/* E56: the Server has not decided. It is asked once, and answers in the Exchange of the retry.
 * _i: the first Exchange was aborted, or not; accepted, or refused. */
START_TEST(retry_before_the_decision)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b), conn = offered(b);
    b_wait(b, FCVI_NEVER, 3);
    if (_i % 2 == 1) {
        hear_abts(b, OX);
        expect_ba_acc(b, 0, OX);
    }
    unsigned at = b->sent;
    hear_rqst(b, CLIENT_RETRY, RETRY_OX, RETRY_ID, HANDLE);
    ck_assert_uint_eq(b->sent, at);
    ck_assert_ptr_null(b_return(b, 3));
    if (_i / 2 == 0) {
        accept(b, conn, vi);
        uint32_t handle = own_handle_at(b, at);
        expect_resp1(b, at, RETRY_OX, RETRY_ID, RETRY, 0, handle);
        hear_resp2(b, RETRY, 0, RETRY_OX, RETRY_ID, handle);
        ck_assert_int_eq(b_return(b, 2)->vip, VIP_SUCCESS);
    } else {
        ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, conn), VIP_SUCCESS);
        collect(b);
        expect_resp1(b, at, RETRY_OX, RETRY_ID, RETRY + 1, 0x04, FCVI_UNASSIGNED);
        hear_resp2(b, RETRY, 0, RETRY_OX, RETRY_ID, FCVI_UNASSIGNED);
    }
    expect_resp3(b, at + 1, RETRY_OX, RETRY_ID, RETRY);
    hear_rqst(b, CLIENT, 0x1300, 0x50, 6); /* the other VipConnectWait is for another request */
    ck_assert_int_eq(b_return(b, 3)->vip, VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, b_return(b, 3)->conn), VIP_SUCCESS);
    collect(b);
    if (_i / 2 == 1) { /* nothing is left that another retry could repeat: it is a request (C rule 11) */
        at = b->sent;
        hear_rqst(b, CLIENT_RETRY, 0x1301, 0x51, HANDLE);
        ck_assert_uint_eq(b->sent, at + 1);
        ck_assert_uint_eq(id_at(b, at), 0x51);
        ck_assert_uint_eq(reason_at(b, at), 0x03);
    }
    b_end(b);
}
END_TEST

/* The first FCVI_CONNECTION_ID of a setup that is retried is free for another one, which is found by it when
 * it is aborted (6.12.2), whatever becomes of the first. */
START_TEST(id_from_before_the_retry)
{
    struct bench *b = b_new();
    uint32_t conn = offered(b);
    hear_rqst(b, CLIENT_RETRY, RETRY_OX, RETRY_ID, HANDLE);
    b_wait(b, FCVI_NEVER, 3);
    hear_rqst(b, CLIENT, 0x1300, ID, 6);
    ck_assert_int_eq(b_return(b, 3)->vip, VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, conn), VIP_SUCCESS);
    collect(b);
    hear_resp2(b, RETRY, 0, RETRY_OX, RETRY_ID, FCVI_UNASSIGNED);
    b_wait(b, FCVI_NEVER, 4);
    hear_rqst(b, CLIENT, 0x1301, 0x51, 7);
    unsigned at = b->sent;
    hear_disconnect(b, 6, 0x4000, ID, FCVI_UNASSIGNED);
    expect(b, at,
           "03 010100 00 010200 58 980000 .. 02 0000 4000 .... 00000000 00000006 1b 06 0000 00*8 00*12 %08x",
           ID);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, b_return(b, 4)->conn), VIP_SUCCESS);
    collect(b);
    advance(b, 2 * (uint64_t)R_A_TOV);
    b_end(b);
}
END_TEST

/* The answer is repeated with the changes of rule 8, and those of the first Exchange are discarded (rule 1).
 * _i: aborted or not; accepted, or refused with 04h or 03h. */
START_TEST(retry_after_the_answer)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b), handle = FCVI_UNASSIGNED;
    unsigned reason = _i / 2 == 0 ? 0 : _i / 2 == 1 ? 0x04 : 0x03;
    if (reason == 0x03) {
        hear_rqst(b, CLIENT, OX, ID, HANDLE);
    } else {
        uint32_t conn = offered(b);
        if (reason == 0)
            accept(b, conn, vi);
        else
            ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, conn), VIP_SUCCESS);
        collect(b);
        handle = own_handle_at(b, 0);
    }
    expect_resp1(b, 0, OX, ID, reason != 0, reason, handle);
    advance(b, R_A_TOV + R_A_TOV / 2);
    if (_i % 2 == 1)
        hear_abts(b, OX);
    unsigned at = b->sent;
    hear_rqst(b, CLIENT_RETRY, RETRY_OX, RETRY_ID, HANDLE);
    expect_resp1(b, at, RETRY_OX, RETRY_ID, RETRY + (reason != 0), reason, handle);
    hear_resp2(b, 0, 0, OX, ID, handle);
    ck_assert_uint_eq(b->sent, at + 1);
    advance(b, 2 * R_A_TOV - 1); /* T2 runs from the RESP1 of the retry (8.5.2 c) */
    hear_resp2(b, RETRY, 0, RETRY_OX, RETRY_ID, handle);
    expect_resp3(b, at + 1, RETRY_OX, RETRY_ID, RETRY);
    ck_assert_uint_eq(state_of(b, vi), reason == 0 ? FCVI_STATE_CONNECTED : FCVI_STATE_IDLE);
    ck_assert_uint_eq(counts(b).setups, 0);
    b_end(b);
}
END_TEST

/* ---- rules 9 to 12 ---- */

/* E65: a retry of what is connected. A Disconnect later still finds the connection. */
START_TEST(retry_when_connected)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b), conn = offered(b);
    accept(b, conn, vi);
    uint32_t handle = own_handle_at(b, 0);
    hear_resp2(b, 0, 0, OX, ID, handle);
    unsigned events = b->events;
    hear_rqst(b, CLIENT_RETRY, RETRY_OX, RETRY_ID, HANDLE);
    expect_resp1(b, 2, RETRY_OX, RETRY_ID, RETRY, 0, handle);
    if (_i == 0) {
        hear_resp2(b, RETRY, 0, RETRY_OX, RETRY_ID, handle);
        expect_resp3(b, 3, RETRY_OX, RETRY_ID, RETRY);
    } else {
        advance(b, 2 * R_A_TOV); /* no RESP2: the connection does not depend on it */
    }
    ck_assert_uint_eq(b->events, events);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    hear_disconnect(b, 2, 0x4321, 0, handle);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    b_end(b);
}
END_TEST

/* Rule 11: the connection of that handle is over, or belongs to another port: a new request. */
START_TEST(retry_of_a_connection_that_is_over)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b), conn = offered(b);
    accept(b, conn, vi);
    hear_resp2(b, 0, 0, OX, ID, own_handle_at(b, 0));
    hear_disconnect(b, 2, 0x4321, 0, own_handle_at(b, 0));
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    b_wait(b, FCVI_NEVER, 3);
    unsigned at = b->sent;
    hear_rqst(b, CLIENT_RETRY, RETRY_OX, RETRY_ID, HANDLE);
    ck_assert_int_eq(b_return(b, 3)->vip, VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, b_return(b, 3)->conn), VIP_SUCCESS);
    collect(b);
    expect_resp1(b, at, RETRY_OX, RETRY_ID, RETRY + 1, 0x04, FCVI_UNASSIGNED);
    hear_resp2(b, RETRY, 0, RETRY_OX, RETRY_ID, FCVI_UNASSIGNED);
    expect_resp3(b, at + 1, RETRY_OX, RETRY_ID, RETRY);
    b_end(b);
}
END_TEST

/* Rule 12: RESP2 with the FCVI_HANDLE or FCVI_CONNECTION_ID of something else is not the one. */
START_TEST(resp2_of_something_else)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b), conn = offered(b);
    accept(b, conn, vi);
    uint32_t handle = own_handle_at(b, 0);
    hear_resp2(b, 0, 0, OX, ID + 1, handle);
    hear_resp2(b, 0, 0, OX + 1, ID, handle);
    hear_resp2(b, 0, 0, OX, ID, handle ^ 1u << 8);
    ck_assert_uint_eq(b->sent, 1);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    hear(b, "03 010200 00 010100 58 090000 06 02 0002 1234 ffff 00000000 %08x 19 00 0000 00*20 00000042",
         handle);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* ---- 8.5.3 d, rule 6b ---- */

/* _i: RESP2 never comes; comes with a gap before it; after an ABTS without a retry. */
START_TEST(accepted_and_no_resp2)
{
    struct bench *b = b_new();
    struct fcvi_descriptor d = {.op = FCVI_RECV};
    struct fcvi_completion done;
    uint32_t vi = b_vi(b), conn = offered(b);
    ck_assert_int_eq(fcvi_vip_post(b->port, b->now, vi, &d), VIP_SUCCESS);
    accept(b, conn, vi);
    uint32_t handle = own_handle_at(b, 0);
    if (_i == 2)
        hear_abts(b, OX);
    unsigned at = b->sent;
    if (_i == 1) {
        hear(b, "03 010200 00 010100 58 090000 06 02 0004 1234 ffff 00000000 %08x 19 00 0000 00*20 00000042",
             handle);
    } else {
        advance(b, 2 * R_A_TOV - 1);
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
        advance(b, 1);
    }
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_TIMEOUT);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 1);
    ck_assert_int_eq(fcvi_vip_done(b->port, b->now, vi, true, &done), VIP_DESCRIPTOR_ERROR);
    ck_assert_uint_eq(done.status & FCVI_STATUS_ERROR_MASK, FCVI_STATUS_DESC_FLUSHED_ERROR);
    hear_resp2(b, 0, 0, OX, ID, handle); /* rule 1 */
    ck_assert_uint_eq(b->sent, at);
    b_end(b);
}
END_TEST

/* An ABTS before the Server has decided, and no retry: its answer goes nowhere. */
START_TEST(decision_after_the_abort)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b), conn = offered(b);
    hear_abts(b, OX);
    accept(b, conn, vi);
    ck_assert_uint_eq(b->sent, 1); /* BA_ACC */
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    advance(b, 2 * R_A_TOV);
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_TIMEOUT);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    b_end(b);
}
END_TEST

/* The same with a gap in the Exchange: the request is gone, and the Server's call says so. */
START_TEST(decision_after_a_gap)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b), conn = offered(b);
    hear(b, "03 010200 00 010100 58 090000 06 02 0004 1234 ffff 00000000 ffffffff 19 00 0000 00*20 00000042");
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, conn, vi, 2), VIP_INVALID_PARAMETER);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(counts(b).setups, 0);
    b_end(b);
}
END_TEST

/* A gap in the Exchange of a request that a Peer holds back concerns that request only: the Peer's own goes
 * on, and nothing has been answered that could leave the Endpoint in Error (8.5.3 d). */
START_TEST(gap_in_a_held_request)
{
    struct fcvi_port_config c = b_config();
    c.peer.port_name = 0x10000000c9000003; /* ours is the lower one */
    struct bench *b = b_begin(&b_limits, &c);
    struct fcvi_address from = address(OURS), to = address(THEIRS);
    struct fcvi_attributes remote;
    uint32_t vi = b_vi(b);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, 0, vi, &from, &to, FCVI_NEVER), VIP_SUCCESS);
    collect(b);
    hear_rqst(b, PEER, OX, ID, HANDLE);
    hear(b, "03 010200 00 010100 58 090000 06 02 0004 1234 ffff 00000000 ffffffff 19 00 0000 00*20 00000042");
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    ck_assert_int_eq(fcvi_vip_connect_peer_done(b->port, 0, vi, &remote), VIP_NOT_DONE);
    hear_resp1(b, 0, 0, 0, 0xabcd);
    ck_assert_uint_eq(b->sent, 2); /* RESP2, and no answer to the other */
    ck_assert_uint_eq(opcode_at(b, 1), 0x19);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert_int_eq(fcvi_vip_connect_peer_done(b->port, 0, vi, &remote), VIP_SUCCESS);
    hear_resp3(b, 0, 0, own_handle_at(b, 0));
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("retry, responder");
    TCase *t = tcase_create("one port");
    tcase_add_loop_test(t, retry_before_the_decision, 0, 4);
    tcase_add_test(t, id_from_before_the_retry);
    tcase_add_loop_test(t, retry_after_the_answer, 0, 6);
    tcase_add_loop_test(t, retry_when_connected, 0, 2);
    tcase_add_test(t, retry_of_a_connection_that_is_over);
    tcase_add_test(t, resp2_of_something_else);
    tcase_add_loop_test(t, accepted_and_no_resp2, 0, 3);
    tcase_add_test(t, decision_after_the_abort);
    tcase_add_test(t, decision_after_a_gap);
    tcase_add_test(t, gap_in_a_held_request);
    suite_add_tcase(s, t);
    return run_suite(s);
}
