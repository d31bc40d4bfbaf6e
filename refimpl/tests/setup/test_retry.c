/* What fails in a Client-Server Connection Setup and how its originator mends it: 8.5.2 to 8.5.4 and Annex C
 * rules 1 to 5. The responder's side: test_retry_responder.c. */
#include "../bench.h"

enum { RETRY = 4 }; /* Table 9: another bit than in the request (E23) */

static void expect_abts(struct bench *b, unsigned nth, unsigned request)
{
    expect(b, nth, "81 010100 00 010200 00 090000 .. 00 0000 %04x .... 00000000", ox_of(b, request));
}

/* FCVI_CONNECT_RESP2, with which RETRY, Reason Code and FCVI_HANDLE */
static void expect_resp2(struct bench *b, unsigned nth, unsigned request, unsigned flags, unsigned reason,
                         uint32_t handle)
{
    expect(b, nth,
           "03 010100 00 010200 58 090000 .. 02 0001 %04x 8001 00000000 "
           "%08x 19 %02x 0000 00000000 00%02x0000 00*12 %08x",
           ox_of(b, request), handle, flags, reason, id_at(b, request));
}

/* A retry of the request in frame `first`: 8.5.4 a, E37. */
static void expect_retry(struct bench *b, unsigned nth, unsigned first)
{
    expect(b, nth,
           "02 010100 00 010200 58 290008 .. 02 0000 .... ffff 00000000 ffffffff 10 11 0000 00*8 00*12 "
           "........ 00000000 0000 0001 %08x " ADDR_B ADDR_A ATTRS,
           own_handle_at(b, first));
    ck_assert_uint_ne(ox_of(b, nth), ox_of(b, first));
    ck_assert_uint_ne(id_at(b, nth), id_at(b, first));
}

/* A request and its retry: frames 0 and 2. */
static uint32_t retried(struct bench *b, uint64_t timeout)
{
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, timeout, 7);
    advance(b, R_A_TOV);
    hear_ba_acc(b, 0);
    expect_retry(b, 2, 0);
    return vi;
}

static void post_receive(struct bench *b, uint32_t vi)
{
    struct fcvi_descriptor d = {.op = FCVI_RECV};
    ck_assert_int_eq(fcvi_vip_post(b->port, b->now, vi, &d), VIP_SUCCESS);
}

static void expect_flushed(struct bench *b, uint32_t vi)
{
    struct fcvi_completion done;
    ck_assert_int_eq(fcvi_vip_done(b->port, b->now, vi, true, &done), VIP_DESCRIPTOR_ERROR);
    ck_assert_uint_eq(done.status & FCVI_STATUS_ERROR_MASK, FCVI_STATUS_DESC_FLUSHED_ERROR);
}

/* ---- the originator ---- */

/* Rule 2: RESP3 stays away after a refusal, or after T1: ABTS and nothing else. _i: 01h, 03h, 04h, T1. */
START_TEST(idle_at_t3)
{
    static const uint8_t reasons[] = {0x01, 0x03, 0x04};
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, R_A_TOV / 2, 7);
    if (_i < 3)
        hear_resp1(b, 0, 1, reasons[_i], FCVI_UNASSIGNED);
    else
        advance(b, R_A_TOV / 2);
    ck_assert_int_eq(b_return(b, 7)->vip, _i < 2 ? VIP_NO_MATCH : _i == 2 ? VIP_REJECT : VIP_TIMEOUT);
    unsigned at = b->sent;
    advance(b, R_A_TOV - b->now - 1);
    ck_assert_uint_eq(b->sent, at);
    advance(b, 1);
    expect_abts(b, at, 0);
    hear_ba_acc(b, 0);
    advance(b, R_A_TOV - 1);
    ck_assert_uint_eq(b->sent, at + 1);
    advance(b, 1);
    expect_rrq(b, at + 1, 0, _i < 3 ? 0x8001 : 0xFFFF);
    advance(b, 3 * (uint64_t)R_A_TOV); /* it is not repeated, and its OX_ID rests as well */
    ck_assert_uint_eq(b->sent, at + 2);
    ck_assert_uint_eq(counts(b).exchanges, 0);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    b_end(b);
}
END_TEST

/* Rule 3: what lets the retry go out. _i: BA_ACC, BA_RJT, R_A_TOV without either. */
START_TEST(retry_after_the_abort)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    hear_ba_acc(b, 0); /* of nothing */
    ck_assert_uint_eq(b->sent, 1);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    advance(b, R_A_TOV);
    expect_abts(b, 1, 0);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT_RETRY);
    hear_resp1(b, 0, 0, 0, 0xabcd); /* rule 1: that FCVI_CONNECTION_ID is dead */
    hear_resp3(b, 0, 0, own_handle_at(b, 0));
    hear_abts(b, 0x7777); /* of another Exchange */
    ck_assert_uint_eq(b->sent, 3);
    ck_assert_uint_eq(b->frame[2][0], 0x84);
    if (_i == 0)
        hear_ba_acc(b, 0);
    else if (_i == 1)
        hear(b, "85 010200 00 010100 00 990000 00 00 0000 %04x ffff 00000000 00 03 00 00", ox_of(b, 0));
    else
        advance(b, R_A_TOV);
    expect_retry(b, 3, 0);
    hear_resp1(b, 0, 0, 0, 0xabcd);
    ck_assert_uint_eq(b->sent, 4);
    hear_resp1(b, 3, RETRY, 0, 0xabcd);
    expect_resp2(b, 4, 3, RETRY, 0, 0xabcd);
    ck_assert_int_eq(b_return(b, 7)->vip, VIP_SUCCESS);
    hear_resp3(b, 3, RETRY, own_handle_at(b, 3));
    b_end(b);
}
END_TEST

/* 8.5.2 a, 8.5.3 a: frames of the Exchange that are missing, or too many, do what T3 does, at once. */
static const char *const faults[] = {
    "03 010200 00 010100 58 890008 06 02 0003 %04x 8001 00000000 ffffffff 18 00 0000 00*20 %08x 00*340",
    "03 010200 00 010100 58 890008 06 02 0000 %04x 8001 00000004 ffffffff 18 00 0000 00*20 %08x 00*340",
    "03 010200 00 010100 58 890008 06 02 0000 %04x 8001 00000000 ffffffff 18 00 0000 00*20 %08x 00*600",
    "03 010200 00 010100 58 890008 06 02 0000 %04x 8001 00000000 ffffffff 18 00 0000 00*20 %08x 00*336",
    "03 010200 00 010100 58 980000 06 02 0002 %04x 8001 00000000 00000005 1a 00 0000 00*20 %08x",
};
enum { FAULTS = sizeof faults / sizeof faults[0] };

START_TEST(sequence_error_at_the_originator)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    hear(b, faults[_i], ox_of(b, 0), id_at(b, 0));
    expect_abts(b, 1, 0);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT_RETRY);
    hear_ba_acc(b, 0);
    expect_retry(b, 2, 0);
    post_receive(b, vi);
    hear(b, faults[_i], ox_of(b, 2), id_at(b, 2)); /* a single retry */
    expect_abts(b, 3, 2);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(b_return(b, 7)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    expect_flushed(b, vi);
    b_end(b);
}
END_TEST

/* The responder aborts our Exchange: that fails the setup as a Sequence error would. */
START_TEST(responder_aborts_the_exchange)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    hear(b, "81 010200 00 010100 00 890000 07 00 0000 %04x 8001 00000000", ox_of(b, 0));
    unsigned abts = b->frame[1][0] == 0x81 ? 1 : 2;
    expect_abts(b, abts, 0);
    ck_assert_uint_eq(b->frame[3 - abts][0], 0x84);
    hear(b, "81 010200 00 010100 00 890000 07 00 0000 %04x 8001 00000000", ox_of(b, 0));
    ck_assert_uint_eq(b->sent, 4); /* BA_ACC, no second ABTS */
    ck_assert_uint_eq(b->frame[3][0], 0x84);
    hear_ba_acc(b, 0);
    expect_retry(b, 4, 0);
    hear_resp1(b, 4, RETRY, 0, 0xabcd);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    hear_resp3(b, 4, RETRY, own_handle_at(b, 4));
    b_end(b);
}
END_TEST

/* Rules 4 and 5: no RESP3 to the retry, or none although we are Connected. Then a Disconnect: D rules 1 and
 * 2, E03, E04, E116. _i: what has come before. */
START_TEST(error_at_t3)
{
    struct bench *b = b_new();
    uint32_t vi = retried(b, FCVI_NEVER);
    post_receive(b, vi);
    if (_i == 1)
        hear_resp1(b, 2, RETRY, 0, 0xabcd);
    unsigned at = b->sent;
    advance(b, R_A_TOV);
    expect_rrq(b, at++, 0, 0xFFFF); /* BA_ACC came R_A_TOV ago */
    expect_abts(b, at, 2);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(b_return(b, 7)->vip, _i == 0 ? VIP_NOT_REACHABLE : VIP_SUCCESS);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), _i == 1);
    expect_flushed(b, vi);
    hear_resp3(b, 2, RETRY, own_handle_at(b, 2)); /* rule 1 */
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, vi, 9), FCVI_VIP_PENDING);
    collect(b);
    expect(b, at + 1,
           "02 010100 00 010200 58 290000 .. 02 0000 .... ffff 00000000 "
           "%08x 12 %02x 0000 00000000 00%02x0000 00*12 %08x",
           _i == 0 ? FCVI_UNASSIGNED : 0xabcd, _i == 0 ? 7 : 3, _i == 0 ? 0x49 : 0x40,
           _i == 0 ? id_at(b, 2) : 0);
    hear_disconnected(b, at + 1);
    ck_assert_int_eq(b_return(b, 9)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    b_end(b);
}
END_TEST

/* T1 ends the wait while the ABTS is unanswered, or after the retry: Idle, and 02h if it is answered. */
START_TEST(t1_and_the_retry)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, R_A_TOV + R_A_TOV / 2, 7);
    advance(b, R_A_TOV);
    if (_i == 1)
        hear_ba_acc(b, 0);
    unsigned at = b->sent;
    advance(b, R_A_TOV / 2);
    ck_assert_int_eq(b_return(b, 7)->vip, VIP_TIMEOUT);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    if (_i == 0) {
        hear_ba_acc(b, 0);
        ck_assert_uint_eq(b->sent, at); /* no retry */
    } else {
        hear_resp1(b, 2, RETRY, 0, 0xabcd);
        expect_resp2(b, at, 2, RETRY + 1, 0x02, 0xabcd); /* 5.9.4.5: in all IUs of the retry */
        hear_resp3(b, 2, RETRY, own_handle_at(b, 2));
    }
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    b_end(b);
}
END_TEST

/* 8.2 c, E52: the retry is answered with a refusal. */
START_TEST(retry_refused)
{
    static const struct {
        uint8_t reason, state;
        int vip;
    } rows[] = {{0x01, FCVI_STATE_IDLE, VIP_NO_MATCH},       {0x03, FCVI_STATE_IDLE, VIP_NO_MATCH},
                {0x04, FCVI_STATE_IDLE, VIP_REJECT},         {0x20, FCVI_STATE_ERROR, VIP_NOT_REACHABLE},
                {0x21, FCVI_STATE_ERROR, VIP_NOT_REACHABLE}, {0x22, FCVI_STATE_ERROR, VIP_NOT_REACHABLE},
                {0xF7, FCVI_STATE_IDLE, VIP_REJECT}};
    struct bench *b = b_new();
    uint32_t vi = retried(b, FCVI_NEVER);
    hear_resp1(b, 2, RETRY + 1, rows[_i].reason, FCVI_UNASSIGNED);
    expect_resp2(b, 3, 2, RETRY, 0, FCVI_UNASSIGNED);
    ck_assert_int_eq(b_return(b, 7)->vip, rows[_i].vip);
    ck_assert_uint_eq(state_of(b, vi), rows[_i].state);
    hear_resp3(b, 2, RETRY, _i % 2 == 0 ? FCVI_UNASSIGNED : own_handle_at(b, 2)); /* E14 */
    ck_assert_uint_eq(counts(b).setups, 0);
    b_end(b);
}
END_TEST

/* No Exchange is left for the retry: it has failed (8.5.4, rule 4). */
START_TEST(no_room_for_the_retry)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.exchanges = 1;
    struct bench *b = b_begin(&l, &c);
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    advance(b, R_A_TOV);
    hear_ba_acc(b, 0); /* its OX_ID rests for R_A_TOV (E82) */
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(b_return(b, 7)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(counts(b).setups, 0);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, vi, 9), VIP_ERROR_RESOURCE);
    advance(b, R_A_TOV);
    hear_rrq_accepted(b, 2);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, vi, 9), FCVI_VIP_PENDING);
    collect(b);
    hear_disconnected(b, 3);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    b_end(b);
}
END_TEST

/* C.5.1: each setup has a FCVI_CONNECT_RESP3 of its own. That of a request which the application has given up
 * confirms nothing of the next one. */
START_TEST(resp3_of_another_setup)
{
    static const struct fcvi_descriptor d = {.op = FCVI_SEND, .has_immediate = true, .immediate = 7};
    struct fcvi_completion done;
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, R_A_TOV / 2, 1);
    advance(b, R_A_TOV / 2);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_TIMEOUT);
    hear_resp1(b, 0, 0, 0, 0xabcd);
    expect_resp2(b, 1, 0, 1, 0x02, 0xabcd);
    b_request(b, vi, THEIRS, FCVI_NEVER, 2);
    hear_resp1(b, 2, 0, 0, 0xabce);
    ck_assert_int_eq(fcvi_vip_post(b->port, b->now, vi, &d), VIP_SUCCESS);
    collect(b);
    hear_resp3(b, 0, 0, own_handle_at(b, 0));
    ck_assert_int_eq(fcvi_vip_done(b->port, b->now, vi, false, &done), VIP_NOT_DONE);
    hear_resp3(b, 2, 0, own_handle_at(b, 2));
    ck_assert_int_eq(fcvi_vip_done(b->port, b->now, vi, false, &done), VIP_SUCCESS);
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("retry");
    TCase *t = tcase_create("originator");
    tcase_add_loop_test(t, idle_at_t3, 0, 4);
    tcase_add_loop_test(t, retry_after_the_abort, 0, 3);
    tcase_add_loop_test(t, sequence_error_at_the_originator, 0, FAULTS);
    tcase_add_test(t, responder_aborts_the_exchange);
    tcase_add_loop_test(t, error_at_t3, 0, 2);
    tcase_add_loop_test(t, t1_and_the_retry, 0, 2);
    tcase_add_loop_test(t, retry_refused, 0, 7);
    tcase_add_test(t, no_room_for_the_retry);
    tcase_add_test(t, resp3_of_another_setup);
    suite_add_tcase(s, t);
    return run_suite(s);
}
