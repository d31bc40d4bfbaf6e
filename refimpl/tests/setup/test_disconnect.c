/* Disconnect: 5.3.5, 6.12, 6.13, 8.6 and Annex D, by either side and in every state of the Endpoint. */
#include "../bench.h"

enum { CLIENT = 1, OX = 0x1234, ID = 0x42, HANDLE = 5 };
enum { APPLICATION = 2, SETUP_ABORT = 6 }; /* VI_APP_DISCON, with and without CONN_SETUP_ABORT (Table 10) */

static void disconnect(struct bench *b, uint32_t vi, uint64_t token)
{
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, vi, token), FCVI_VIP_PENDING);
    collect(b);
}

/* FCVI_DISCONNECT_RQST: FCVI_HANDLE, FCVI_FLAGS, FCVI_MSG_ID, Reason Code, FCVI_CONNECTION_ID */
static void expect_rqst(struct bench *b, unsigned nth, uint32_t handle, unsigned flags, uint32_t msg_id,
                        unsigned reason, uint32_t id)
{
    expect(b, nth,
           "02 010100 00 010200 58 290000 .. 02 0000 .... ffff 00000000 %08x 12 %02x 0000 %08x 00%02x0000 "
           "00*12 %08x",
           handle, flags, msg_id, reason, id);
}

/* FCVI_DISCONNECT_RESP in the Exchange 4321h */
static void expect_resp(struct bench *b, unsigned nth, uint32_t handle, unsigned flags, uint32_t msg_id,
                        unsigned reason, uint32_t id)
{
    expect(b, nth,
           "03 010100 00 010200 58 980000 .. 02 0000 4321 .... 00000000 %08x 1b %02x 0000 %08x 00%02x0000 "
           "00*12 %08x",
           handle, flags, msg_id, reason, id);
}

/* A Server that has accepted a request of the peer, and not heard FCVI_CONNECT_RESP2; its FCVI_RESP_HANDLE.
 */
static uint32_t accepted(struct bench *b, uint32_t vi)
{
    b_wait(b, FCVI_NEVER, 1);
    hear_rqst(b, CLIENT, OX, ID, HANDLE);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, b_return(b, 1)->conn, vi, 2), FCVI_VIP_PENDING);
    collect(b);
    return own_handle_at(b, b->sent - 1);
}

/* ---- the side that disconnects ---- */

/* D rule 1: Connected. 6.12.2: the last Message completed here; _i of them have come (E28). */
START_TEST(connected)
{
    struct bench *b = b_new();
    struct fcvi_descriptor d = {.op = FCVI_RECV};
    uint32_t vi = b_connected(b);
    for (int i = 1; i <= _i; i++) {
        ck_assert_int_eq(fcvi_vip_post(b->port, 0, vi, &d), VIP_SUCCESS);
        hear(b, "01 010200 00 010100 58 380008 07 02 0000 %04x ffff 00000000 %08x 00 00 0000 %08x 00*16 00*4",
             0x700 + i, own_handle_at(b, 0), i);
    }
    ck_assert_int_eq(fcvi_vip_post(b->port, 0, vi, &d), VIP_SUCCESS);
    disconnect(b, vi, 9);
    expect_rqst(b, 2, 0xabcd, APPLICATION, (uint32_t)_i, 0, 0);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR); /* until it is answered */
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, 0, vi, 10), VIP_ERROR_RESOURCE);
    hear(b, "01 010200 00 010100 58 380008 07 02 0000 0700 ffff 00000000 %08x 00 00 0000 %08x 00*16 00*4",
         own_handle_at(b, 0), _i + 1); /* no Message is delivered any more (8.4.2 f) */
    ck_assert_uint_eq(b->sent, 3);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_RECVQ_EMPTY), 0);
    struct fcvi_completion done;
    for (int i = 0; i < _i; i++)
        ck_assert_int_eq(fcvi_vip_done(b->port, 0, vi, true, &done), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_done(b->port, 0, vi, true, &done), VIP_DESCRIPTOR_ERROR);
    ck_assert_uint_eq(done.status & FCVI_STATUS_ERROR_MASK, FCVI_STATUS_DESC_FLUSHED_ERROR);
    hear_disconnected(b, 2);
    ck_assert_int_eq(b_return(b, 9)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0); /* VI-DG 3.3.5: not at the side that called */
    ck_assert_int_eq(fcvi_vip_post(b->port, 0, vi, &d), VIP_SUCCESS);
    hear(b, "01 010200 00 010100 58 380008 07 02 0000 0700 ffff 00000000 %08x 00 00 0000 %08x 00*16 00*4",
         own_handle_at(b, 0), _i + 1); /* nor is it in Idle */
    ck_assert_int_eq(fcvi_vip_done(b->port, 0, vi, true, &done), VIP_NOT_DONE);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, 0, vi, 11), VIP_SUCCESS);
    b_end(b);
}
END_TEST

/* ... a Message sent, when none was received. */
START_TEST(connected_and_sent)
{
    struct bench *b = b_new();
    struct fcvi_descriptor d = {.op = FCVI_SEND};
    uint32_t vi = b_connected(b);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(fcvi_vip_post(b->port, 0, vi, &d), VIP_SUCCESS);
    collect(b);
    ck_assert_uint_eq(b->sent, 4);
    disconnect(b, vi, 9);
    expect_rqst(b, 4, 0xabcd, APPLICATION, 2, 0, 0);
    hear_disconnected(b, 4);
    b_end(b);
}
END_TEST

/* Connected, but FCVI_CONNECT_RESP3 has not come. _i: it comes now, or T3 does. */
START_TEST(before_resp3)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    hear_resp1(b, 0, 0, 0, 0xabcd);
    disconnect(b, vi, 9);
    expect_rqst(b, 2, 0xabcd, APPLICATION, 0, 0, 0);
    hear_disconnected(b, 2);
    ck_assert_int_eq(b_return(b, 9)->vip, VIP_SUCCESS);
    if (_i == 0)
        hear_resp3(b, 0, 0, own_handle_at(b, 0));
    else
        advance(b, R_A_TOV);
    ck_assert_uint_eq(b->sent, _i == 0 ? 3 : 4);
    if (_i == 1)
        ck_assert_uint_eq(b->frame[3][0], 0x81);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    b_end(b);
}
END_TEST

/* Pending Connect and Pending Connect Retry of a client: the setup is aborted (E76, E115), its call returns.
 * _i: the request is out; its ABTS is out; the retry is out. */
START_TEST(pending_client)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    if (_i > 0)
        advance(b, R_A_TOV);
    if (_i > 1)
        hear_ba_acc(b, 0);
    unsigned request = _i > 1 ? 2 : 0, at = b->sent;
    disconnect(b, vi, 9);
    ck_assert_int_ne(b_return(b, 7)->vip, VIP_SUCCESS);
    unsigned abts = at;
    while (abts < b->sent && b->frame[abts][0] != 0x81)
        abts++;
    ck_assert((abts == b->sent) == (_i == 1)); /* it is out already */
    unsigned rqst = find(b, at, 0x58, 0x12);
    expect_rqst(b, rqst, FCVI_UNASSIGNED, SETUP_ABORT, 0, 0, id_at(b, request));
    ck_assert_uint_eq(b->sent, at + (_i == 1 ? 1 : 2));
    hear_ba_acc(b, request);
    hear_resp1(b, request, 0, 0, 0xabcd); /* C rule 1 */
    ck_assert_uint_eq(b->sent, at + (_i == 1 ? 1 : 2));
    hear_disconnected(b, rqst);
    ck_assert_int_eq(b_return(b, 9)->vip, VIP_SUCCESS);
    at = b->sent;
    advance(b, 3 * (uint64_t)R_A_TOV);
    for (int i = 0; i < (_i == 2 ? 2 : 1); i++) /* of each Exchange that was aborted */
        expect_rrq(b, at++, _i == 2 && i == 0 ? 0 : request, 0xFFFF);
    ck_assert_uint_eq(b->sent, at);
    b_end(b);
}
END_TEST

/* The request has not gone out: there is nobody to tell, not even whom the VI was connected with before.
 * _i: its address, or its login, is waited for; its address, after another connection. */
START_TEST(before_the_request)
{
    struct fcvi_port_config c = b_config();
    if (_i == 0)
        c.peer.hosts = 0;
    c.explicit_login = _i == 1;
    struct bench *b = b_begin(&b_limits, &c);
    uint32_t vi = _i < 2 ? b_vi(b) : b_connected(b);
    if (_i == 2) {
        disconnect(b, vi, 8);
        hear_disconnected(b, 2);
    }
    unsigned at = b->sent;
    b_request(b, vi, _i < 2 ? THEIRS : "fe8000000000000000000000000000a7", FCVI_NEVER, 7);
    ck_assert_uint_eq(b->frame[at][24], _i == 1 ? 0x03 : 0x54); /* PLOGI, FARP-REQ */
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, 0, vi, 9), VIP_SUCCESS);
    collect(b);
    ck_assert_int_eq(b_return(b, 7)->vip, VIP_ERROR_RESOURCE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(counts(b).setups, 0);
    ck_assert_uint_eq(b->sent, at + 1);
    b_end(b);
}
END_TEST

/* A Server that has accepted: it knows the handle of the other side. Its RESP2 comes too late. */
START_TEST(pending_server)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b), handle = accepted(b, vi);
    disconnect(b, vi, 9);
    expect_rqst(b, 1, HANDLE, SETUP_ABORT, 0, 0, ID);
    ck_assert_int_ne(b_return(b, 2)->vip, VIP_SUCCESS);
    hear_resp2(b, 0, 0, OX, ID, handle);
    ck_assert_uint_eq(b->sent, 2);
    advance(b, R_A_TOV - 1);
    hear_disconnected(b, 1);
    ck_assert_int_eq(b_return(b, 9)->vip, VIP_SUCCESS);
    advance(b, 2 * R_A_TOV); /* T2 is gone */
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    b_end(b);
}
END_TEST

/* ---- the answer ---- */

/* E05, E06, E41: the Exchange tells what a FCVI_DISCONNECT_RESP answers, and any status means success. */
static const struct {
    uint32_t handle;
    unsigned flags, reason;
    uint32_t id;
} answers[] = {
    {0, 2, 0, 0},
    {FCVI_UNASSIGNED, 3, 0x4a, 0},
    {FCVI_UNASSIGNED, 3, 0x4a, FCVI_UNASSIGNED},
    {0x1111, 3, 0x4b, 0},
    {0, 3, 0x48, 0},
    {0, 3, 0xf0, 0x77},
    {0, 0, 0, 0},
};
enum { ANSWERS = sizeof answers / sizeof answers[0] };
#define RESP(seq_cnt)                                                                                        \
    "03 010200 00 010100 58 980000 06 02 " seq_cnt                                                           \
    " %04x 8001 00000000 %08x 1b %02x 0000 00000000 00%02x0000 00*12 %08x"

START_TEST(any_answer)
{
    struct bench *b = b_new();
    uint32_t vi = b_connected(b);
    disconnect(b, vi, 9);
    hear(b, RESP("0000"), ox_of(b, 2), answers[_i].handle, answers[_i].flags, answers[_i].reason,
         answers[_i].id);
    ck_assert_int_eq(b_return(b, 9)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(counts(b).exchanges, 0);
    ck_assert_uint_eq(counts(b).timers, 0);
    b_end(b);
}
END_TEST

/* 8.6.2, 8.6.3 a: no answer for FCVI_ULP_TIMEOUT, or one with a gap before it: ABTS, and one more request in
 * another Exchange (E59); then Error and VIP_NOT_REACHABLE, and the call can be made again. _i: which, and
 * whether the ABTS is answered. */
START_TEST(no_answer_at_all)
{
    struct bench *b = b_new();
    uint32_t vi = b_connected(b);
    disconnect(b, vi, 9);
    hear(b, "81 010200 00 010100 00 890000 07 00 0000 %04x 8001 00000000", ox_of(b, 2));
    ck_assert_uint_eq(b->frame[3][0], 0x84); /* an ABTS of theirs is answered and changes nothing */
    hear_ba_acc(b, 2);                       /* nor does an answer to an ABTS that we did not send */
    hear(b, RESP("0000"), ox_of(b, 0), 0u, 2u, 0u, 0u); /* in an Exchange that is over */
    ck_assert_ptr_null(b_return(b, 9));
    if (_i / 2 == 0) {
        advance(b, R_A_TOV - 1);
        ck_assert_uint_eq(b->sent, 4);
        advance(b, 1);
    } else {
        hear(b, RESP("0003"), ox_of(b, 2), 0u, 2u, 0u, 0u);
    }
    unsigned abts = find(b, 4, 0, 0), again = find(b, 4, 0x58, 0x12);
    ck_assert_uint_eq(b->sent, 6);
    expect(b, abts, "81 010100 00 010200 00 090000 .. 00 0000 %04x .... 00000000", ox_of(b, 2));
    expect_rqst(b, again, 0xabcd, APPLICATION, 0, 0, 0);
    ck_assert_uint_ne(ox_of(b, again), ox_of(b, 2)); /* E82 */
    ck_assert_ptr_null(b_return(b, 9));
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    hear(b, RESP("0000"), ox_of(b, 2), 0u, 2u, 0u, 0u); /* too late */
    ck_assert_ptr_null(b_return(b, 9));
    if (_i % 2 == 0)
        hear_ba_acc(b, 2);
    if (_i / 2 == 0)
        advance(b, R_A_TOV);
    else
        hear(b, RESP("0003"), ox_of(b, again), 0u, 2u, 0u, 0u);
    ck_assert_int_eq(b_return(b, 9)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    unsigned at = find(b, 6, 0, 0); /* an RRQ may go before it */
    expect(b, at, "81 010100 00 010200 00 090000 .. 00 0000 %04x .... 00000000", ox_of(b, again));
    if (_i % 2 == 0)
        hear_ba_acc(b, again);
    unsigned third = b->sent;
    disconnect(b, vi, 10);
    expect_rqst(b, third, 0xabcd, APPLICATION, 0, 0, 0);
    hear_disconnected(b, third);
    ck_assert_int_eq(b_return(b, 10)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    /* E82: R_A_TOV from the BA_ACC on, or from when it is given up; after a BA_ACC RRQ ends it */
    advance(b, (_i % 2 == 0 ? 1 : 2) * (uint64_t)R_A_TOV - 1);
    ck_assert_uint_ge(counts(b).exchanges, 1);
    ck_assert_uint_eq(find(b, third, 0x01, 0x12), b->sent);
    advance(b, 1);
    if (_i % 2 == 0)
        expect_rrq(b, b->sent - 1, again, 0xFFFF);
    for (unsigned i = 6; i < b->sent; i++)
        if (b->frame[i][8] == 0x01)
            hear_rrq_accepted(b, i);
    ck_assert_uint_eq(counts(b).exchanges, 0);
    b_end(b);
}
END_TEST

static void unanswered(struct bench *b, uint32_t vi, uint64_t token)
{
    disconnect(b, vi, token);
    for (int asked = 0; asked < 2; asked++)
        advance(b, R_A_TOV);
    ck_assert_int_eq(b_return(b, token)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
}

/* VI-DG 3.3.5 leads from every state to Idle. What two of them do not end a logout does (Annex B rule 1c),
 * and the third has nothing to wait for. The other connections with that port are lost. */
START_TEST(no_answer_again)
{
    struct bench *b = b_new();
    uint32_t vi = b_connected(b), other = b_connected(b);
    unsigned from = b->sent;
    unanswered(b, vi, 9);
    ck_assert_uint_eq(find(b, from, 0x01, 0x05), b->sent);
    ck_assert_uint_eq(state_of(b, other), FCVI_STATE_CONNECTED);
    unanswered(b, vi, 10);
    ck_assert_uint_lt(find(b, from, 0x01, 0x05), b->sent);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    ck_assert_uint_eq(errors(b, other, VIP_ERROR_CONN_LOST), 1);
    from = b->sent;
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, vi, 11), VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, b->now, vi), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, other, 12), VIP_SUCCESS);
    collect(b);
    ck_assert_uint_eq(b->sent, from);
    b_end(b);
}
END_TEST

/* D.2: both at once. Each is answered, nobody is called back. _i: whose answer comes first. */
START_TEST(both_at_once)
{
    struct bench *b = b_new();
    uint32_t vi = b_connected(b), handle = own_handle_at(b, 0);
    disconnect(b, vi, 9);
    if (_i == 0)
        hear_disconnected(b, 2);
    hear_disconnect(b, APPLICATION, 0x4321, 0, handle);
    expect_resp(b, 3, 0xabcd, APPLICATION, 0, 0, 0);
    ck_assert_uint_eq(state_of(b, vi), _i == 0 ? FCVI_STATE_IDLE : FCVI_STATE_ERROR);
    if (_i == 1)
        hear_disconnected(b, 2);
    ck_assert_int_eq(b_return(b, 9)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("disconnect");
    TCase *t = tcase_create("originator");
    tcase_add_loop_test(t, connected, 0, 3);
    tcase_add_test(t, connected_and_sent);
    tcase_add_loop_test(t, before_resp3, 0, 2);
    tcase_add_loop_test(t, pending_client, 0, 3);
    tcase_add_loop_test(t, before_the_request, 0, 3);
    tcase_add_test(t, pending_server);
    tcase_add_loop_test(t, any_answer, 0, ANSWERS);
    tcase_add_loop_test(t, no_answer_at_all, 0, 4);
    tcase_add_test(t, no_answer_again);
    tcase_add_loop_test(t, both_at_once, 0, 2);
    suite_add_tcase(s, t);
    return run_suite(s);
}
