/* By which FCVI_CONNECTION_ID and which handle a setup that was repeated is known afterwards (Annex C rules 8
 * and 9, 6.12.2), and what its Server says when it disconnects. */
#include "../bench.h"

enum { CLIENT = 1, CLIENT_RETRY = 0x11, RETRY = 4, SETUP_ABORT = 6 };
enum { OX = 0x1234, ID = 0x42, HANDLE = 5, RETRY_OX = 0x1235, RETRY_ID = 0x43 };

enum state { OFFERED, REFUSED, ACCEPTED, CONNECTED, STATES };

/* A request in that state, and its retry. The answer to the retry is the last frame sent. */
static uint32_t repeated(struct bench *b, enum state state)
{
    uint32_t vi = b_vi(b);
    b_wait(b, FCVI_NEVER, 1);
    hear_rqst(b, CLIENT, OX, ID, HANDLE);
    if (state == REFUSED)
        ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, b_return(b, 1)->conn), VIP_SUCCESS);
    if (state >= ACCEPTED)
        fcvi_vip_connect_accept(b->port, 0, b_return(b, 1)->conn, vi, 2);
    collect(b);
    if (state == CONNECTED)
        hear_resp2(b, 0, 0, OX, ID, own_handle_at(b, 0));
    hear_rqst(b, CLIENT_RETRY, RETRY_OX, RETRY_ID, HANDLE);
    return vi;
}

/* The new FCVI_CONNECTION_ID names it, the old one nothing any more (rule 8 a 5). */
START_TEST(abort_after_a_retry)
{
    struct bench *b = b_new();
    enum state state = (enum state)_i;
    uint32_t vi = repeated(b, state);
    unsigned at = b->sent;
    hear_disconnect(b, SETUP_ABORT, 0x4321, ID, FCVI_UNASSIGNED);
    expect(
        b, at,
        "03 010100 00 010200 58 980000 .. 02 0000 4321 .... 00000000 ffffffff 1b 07 0000 00000000 004a0000 "
        "00*12 00000042");
    ck_assert_uint_eq(state_of(b, vi), state == CONNECTED  ? FCVI_STATE_CONNECTED
                                       : state == ACCEPTED ? FCVI_STATE_PENDING_CONNECT
                                                           : FCVI_STATE_IDLE);
    hear_disconnect(b, SETUP_ABORT, 0x4322, RETRY_ID, FCVI_UNASSIGNED);
    unsigned answer = find(b, at + 1, 0x58, 0x1b);
    expect(
        b, answer,
        "03 010100 00 010200 58 980000 .. 02 0000 4322 .... 00000000 00000005 1b 06 0000 00000000 00000000 "
        "00*12 00000043");
    ck_assert_uint_eq(state_of(b, vi), state >= ACCEPTED ? FCVI_STATE_ERROR : FCVI_STATE_IDLE);
    if (state != CONNECTED) /* there the Exchange of the retry waits for RESP2 */
        ck_assert_uint_eq(counts(b).setups, 0);
    b_end(b);
}
END_TEST

/* Rule 9 is about the connection that lives: another one, of another VI, that had the same FCVI_RQST_HANDLE
 * is over, whichever came first. */
START_TEST(handle_of_two_connections)
{
    struct bench *b = b_new();
    uint32_t vi[3], handle[3];
    for (unsigned i = 0; i < 3; i++) {
        unsigned at = b->sent;
        vi[i] = b_vi(b);
        b_wait(b, FCVI_NEVER, 10 + i);
        hear_rqst(b, CLIENT, OX + i, ID + i, HANDLE);
        fcvi_vip_connect_accept(b->port, 0, b_return(b, 10 + i)->conn, vi[i], 20 + i);
        collect(b);
        handle[i] = own_handle_at(b, at);
        hear_resp2(b, 0, 0, OX + i, ID + i, handle[i]);
        if (i != (unsigned)_i)
            hear_disconnect(b, 2, 0x4321, 0, handle[i]);
    }
    unsigned at = b->sent;
    hear_rqst(b, CLIENT_RETRY, 0x1300, 0x50, HANDLE);
    ck_assert_uint_eq(flags_at(b, at), RETRY);
    ck_assert_uint_eq(own_handle_at(b, at), handle[_i]);
    hear_resp2(b, RETRY, 0, 0x1300, 0x50, handle[_i]);
    ck_assert_uint_eq(state_of(b, vi[_i]), FCVI_STATE_CONNECTED);
    hear_disconnect(b, SETUP_ABORT, 0x4321, 0x50, FCVI_UNASSIGNED);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(state_of(b, vi[i]), FCVI_STATE_ERROR);
    ck_assert_uint_eq(errors(b, vi[_i], VIP_ERROR_CONN_LOST), 1);
    b_end(b);
}
END_TEST

/* After T2 the Server disconnects: its setup, by the FCVI_CONNECTION_ID it has now, with a reason of Table 12
 * for a Disconnect (D rules 1 and 2). _i: with a retry before. */
START_TEST(disconnect_after_t2)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_wait(b, FCVI_NEVER, 1);
    hear_rqst(b, CLIENT, OX, ID, HANDLE);
    fcvi_vip_connect_accept(b->port, 0, b_return(b, 1)->conn, vi, 2);
    collect(b);
    if (_i == 1)
        hear_rqst(b, CLIENT_RETRY, RETRY_OX, RETRY_ID, HANDLE);
    unsigned at = b->sent;
    advance(b, 2 * R_A_TOV);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, vi, 3), FCVI_VIP_PENDING);
    collect(b);
    expect(
        b, at,
        "02 010100 00 010200 58 290000 .. 02 0000 .... ffff 00000000 00000005 12 07 0000 00000000 004.0000 "
        "00*12 %08x",
        ID + _i);
    ck_assert(reason_at(b, at) == 0x40 || reason_at(b, at) == 0x49);
    hear_disconnected(b, at);
    b_end(b);
}
END_TEST

/* Connections come and go, all of one port, each with a handle and a FCVI_CONNECTION_ID that others had
 * before. Those that live are found by what they are called now, those that are over by nothing. */
START_TEST(connections_come_and_go)
{
    enum { VIS = 6, ROUNDS = 400 };
    struct bench *b = b_new();
    uint32_t seed = (uint32_t)_i + 1, id = 0x100, live[VIS] = {0}, ours[VIS];
    for (int i = 0; i < VIS; i++)
        b_vi(b);
    for (int round = 0; round < ROUNDS; round++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t vi = (seed >> 16) % VIS, handle = 0x100 + vi * 16 + (seed >> 24) % 16;
        b->sent = b->events = 0;
        if (live[vi] == 0) { /* a retry of nothing: rule 11 */
            b_wait(b, FCVI_NEVER, 1);
            hear_rqst(b, CLIENT_RETRY, OX, ++id, handle);
            ck_assert_ptr_nonnull(b_return(b, 1));
            fcvi_vip_connect_accept(b->port, 0, b_return(b, 1)->conn, vi, 2);
            collect(b);
            live[vi] = handle;
            ours[vi] = own_handle_at(b, 0);
        } else if (seed >> 12 & 1) { /* a retry of what is connected: rule 9 */
            hear_rqst(b, CLIENT_RETRY, OX, ++id, live[vi]);
            ck_assert_uint_eq(own_handle_at(b, 0), ours[vi]);
        } else { /* its end, by its own handle or by its number */
            hear_rqst(b, CLIENT_RETRY, OX, ++id, live[vi]);
            hear_resp2(b, RETRY, 0, OX, id, ours[vi]);
            bool by_id = seed >> 13 & 1;
            hear_disconnect(b, by_id ? SETUP_ABORT : 2, 0x4321, by_id ? id : 0,
                            by_id ? FCVI_UNASSIGNED : ours[vi]);
            ck_assert_uint_eq(reason_at(b, b->sent - 1), 0);
            ck_assert_uint_eq(word_of(b, b->sent - 1, 24, 4), live[vi]);
            ck_assert_int_eq(fcvi_vip_disconnect(b->port, 0, vi, 3), FCVI_VIP_PENDING);
            collect(b);
            hear_disconnected(b, b->sent - 1);
            live[vi] = 0;
            ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
            if (seed >> 14 & 1) { /* the VI goes and another takes its place */
                ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, vi), VIP_SUCCESS);
                ck_assert_uint_eq(b_vi(b), vi);
            }
            continue;
        }
        hear_resp2(b, RETRY, 0, OX, id, ours[vi]);
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
        ck_assert_uint_eq(opcode_at(b, b->sent - 1), 0x1a);
    }
    b->events = 0;
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("retry, names");
    TCase *t = tcase_create("one port");
    tcase_add_loop_test(t, abort_after_a_retry, 0, STATES);
    tcase_add_loop_test(t, handle_of_two_connections, 0, 3);
    tcase_add_loop_test(t, disconnect_after_t2, 0, 2);
    tcase_add_loop_test(t, connections_come_and_go, 0, 4);
    suite_add_tcase(s, t);
    return run_suite(s);
}
