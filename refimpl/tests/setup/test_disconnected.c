/* FCVI_DISCONNECT_RQST from the other side, in every state of the Endpoint and of a setup: 6.12.2, 6.13,
 * 8.6.3 b, Annex D rules 3 and 6, C.5.9.2. */
#include "../bench.h"

enum { CLIENT = 1, OX = 0x1234, ID = 0x42, HANDLE = 5 };
enum { APPLICATION = 2, SETUP_ABORT = 6 }; /* VI_APP_DISCON, with and without CONN_SETUP_ABORT (Table 10) */

/* FCVI_DISCONNECT_RESP in the Exchange 4321h: FCVI_HANDLE, FCVI_FLAGS, FCVI_MSG_ID, Reason Code,
 * FCVI_CONNECTION_ID */
static void expect_resp(struct bench *b, unsigned nth, uint32_t handle, unsigned flags, uint32_t msg_id,
                        unsigned reason, uint32_t id)
{
    expect(b, nth,
           "03 010100 00 010200 58 980000 .. 02 0000 4321 .... 00000000 %08x 1b %02x 0000 %08x 00%02x0000 "
           "00*12 %08x",
           handle, flags, msg_id, reason, id);
}

static uint32_t offered(struct bench *b)
{
    b_wait(b, FCVI_NEVER, 1);
    hear_rqst(b, CLIENT, OX, ID, HANDLE);
    return b_return(b, 1)->conn;
}

static uint32_t accepted(struct bench *b, uint32_t vi)
{
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, offered(b), vi, 2), FCVI_VIP_PENDING);
    collect(b);
    return own_handle_at(b, b->sent - 1);
}

/* ---- a connection ---- */

/* Error, one callback, Descriptors flushed; the answer tells the last Message completed (6.13.2).
 * _i: FCVI_CONNECTION_ID as 6.12.2 has it, or as D rule 1a has it (E03): it is repeated. */
START_TEST(connected)
{
    uint32_t id = _i == 0 ? 0 : FCVI_UNASSIGNED;
    struct bench *b = b_new();
    struct fcvi_descriptor d = {.op = FCVI_RECV};
    struct fcvi_completion done;
    uint32_t vi = b_connected(b), handle = own_handle_at(b, 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(fcvi_vip_post(b->port, 0, vi, &d), VIP_SUCCESS);
    hear(b, "01 010200 00 010100 58 380008 07 02 0000 0700 ffff 00000000 %08x 00 00 0000 00000001 00*16 00*4",
         handle);
    hear_disconnect(b, APPLICATION, 0x4321, id, handle);
    expect_resp(b, 2, 0xabcd, APPLICATION, 1, 0, id);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 1);
    ck_assert_int_eq(fcvi_vip_done(b->port, 0, vi, true, &done), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_done(b->port, 0, vi, true, &done), VIP_DESCRIPTOR_ERROR);
    ck_assert_uint_eq(done.status & FCVI_STATUS_ERROR_MASK, FCVI_STATUS_DESC_FLUSHED_ERROR);
    hear_disconnect(b, APPLICATION, 0x4321, id, handle); /* repeated: answered, no second callback (E59) */
    expect_resp(b, 3, 0xabcd, APPLICATION, 1, 0, id);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 1);
    b_end(b);
}
END_TEST

/* 8.6.3 b, E60: a request that is not one frame as Table 1 has it is ignored. */
static const char *const damaged[] = {
    "02 010200 00 010100 58 290000 09 02 0001 4321 ffff 00000000 %08x 12 02 0000 00*24",      /* SEQ_CNT */
    "02 010200 00 010100 58 090000 09 02 0000 4321 ffff 00000000 %08x 12 02 0000 00*24",      /* not First */
    "02 010200 00 010100 58 200000 09 02 0000 4321 ffff 00000000 %08x 12 02 0000 00*24",      /* not End */
    "02 010200 00 010100 58 a90000 09 02 0000 4321 ffff 00000000 %08x 12 02 0000 00*24",      /* responder */
    "02 010200 00 010100 58 290000 09 02 0000 4321 ffff 00000000 %08x 12 02 0000 00*24 00*4", /* payload */
    "02 010200 00 010100 58 290000 09 01 0000 4321 ffff 00000000 %08x 12 02 0000 00*8",       /* header */
    "02 010200 00 010300 58 290000 09 02 0000 4321 ffff 00000000 %08x 12 02 0000 00*24",      /* a stranger */
    "02 010201 00 010100 58 290000 09 02 0000 4321 ffff 00000000 %08x 12 02 0000 00*24",      /* not for us */
};
enum { DAMAGED = sizeof damaged / sizeof damaged[0] };

START_TEST(not_a_request)
{
    struct bench *b = b_new();
    uint32_t vi = b_connected(b);
    unsigned events = b->events;
    hear(b, damaged[_i], own_handle_at(b, 0));
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(b->events, events);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* D rule 3: handles that name no connection, or that of another port. */
START_TEST(handles_of_nothing)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.vis = 6;
    struct bench *b = b_begin(&l, &c);
    struct fcvi_port_identity third = {0x10000000c9000007, 0x20000000c9000007, 0x010700, 1, {{0}}};
    from_hex("fe8000000000000000000000000000a7", third.host[0]);
    ck_assert(fcvi_port_know(b->port, 0, &third));
    uint32_t idle = b_vi(b), vi = b_connected(b), handle = own_handle_at(b, 0);
    uint32_t wrong[] = {FCVI_UNASSIGNED,   0, handle ^ 1u << 31, (handle & ~7u) | idle, (handle & ~7u) | 6,
                        (handle & ~7u) | 7};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        hear_disconnect(b, APPLICATION, 0x4321, 0, wrong[i]);
        expect_resp(b, 2 + i, FCVI_UNASSIGNED, APPLICATION + 1, 0, 0x4a, 0);
    }
    unsigned at = b->sent;
    hear(b, "02 010200 00 010700 58 290000 09 02 0000 4321 ffff 00000000 %08x 12 02 0000 00*24", handle);
    ck_assert_uint_eq(reason_at(b, at), 0x4a); /* E68: nobody but the other end of the connection */
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    hear_disconnect(b, APPLICATION, 0x4321, 0, handle);
    hear_disconnect(b, SETUP_ABORT, 0x4321, 0x99, handle); /* D rule 6 */
    expect_resp(b, at + 2, 0xabcd, SETUP_ABORT + 1, 0, 0x48, 0x99);
    b_end(b);
}
END_TEST

/* After our own Disconnect the other side makes its own: answered, no callback, still Idle (D.2, E68). Once a
 * new connection has begun, or the VI is gone, that handle names nothing. */
START_TEST(after_our_own)
{
    struct bench *b = b_new();
    uint32_t vi = b_connected(b), handle = own_handle_at(b, 0);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, 0, vi, 9), FCVI_VIP_PENDING);
    collect(b);
    hear_disconnected(b, 2);
    hear_disconnect(b, APPLICATION, 0x4321, 0, handle);
    expect_resp(b, 3, 0xabcd, APPLICATION, 0, 0, 0);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    if (_i == 0) {
        b_request(b, vi, THEIRS, FCVI_NEVER, 7);
        ck_assert_uint_ne(own_handle_at(b, 4), handle); /* 8.4.2 f */
        hear_resp1(b, 4, 0, 0, 0xabce);
        hear_resp3(b, 4, 0, own_handle_at(b, 4));
    } else {
        ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, vi), VIP_SUCCESS);
    }
    unsigned at = b->sent;
    hear_disconnect(b, APPLICATION, 0x4321, 0, handle);
    expect_resp(b, at, FCVI_UNASSIGNED, APPLICATION + 1, 0, 0x4a, 0);
    if (_i == 0)
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* C.5.6: the client has given up, nothing is left of the setup. */
START_TEST(after_the_client_gave_up)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b), handle = accepted(b, vi);
    hear_resp2(b, 1, 0x02, OX, ID, handle);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    hear_disconnect(b, SETUP_ABORT, 0x4321, ID, _i == 0 ? FCVI_UNASSIGNED : handle);
    expect_resp(b, 2, FCVI_UNASSIGNED, SETUP_ABORT + 1, 0, 0x4a, ID);
    b_end(b);
}
END_TEST

/* ---- a setup: by its FCVI_CONNECTION_ID (6.12.2), whatever the handle is (E04) ---- */

/* _i: FFFFFFFFh; the originator's own; ours, which it has learned. */
START_TEST(accepted_setup)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b), handle = accepted(b, vi);
    hear_disconnect(b, SETUP_ABORT, 0x4321, ID, _i == 0 ? FCVI_UNASSIGNED : _i == 1 ? HANDLE : handle);
    expect_resp(b, 1, HANDLE, SETUP_ABORT, 0, 0, ID);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR); /* E67 */
    ck_assert_int_ne(b_return(b, 2)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 1);
    hear_resp2(b, 0, 0, OX, ID, handle);
    ck_assert_uint_eq(b->sent, 2);
    hear_disconnect(b, SETUP_ABORT, 0x4321, ID, FCVI_UNASSIGNED); /* again */
    expect_resp(b, 2, HANDLE, SETUP_ABORT, 0, 0, ID);
    hear_disconnect(b, SETUP_ABORT, 0x4321, ID + 1, FCVI_UNASSIGNED); /* another */
    expect_resp(b, 3, FCVI_UNASSIGNED, SETUP_ABORT + 1, 0, 0x4a, ID + 1);
    advance(b, 2 * R_A_TOV); /* T2 is cleared (C.5.9.2) */
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 1);
    b_end(b);
}
END_TEST

/* C.5.9.2: the client was Connected, RESP2 was lost: our handle, and CONN_SETUP_ABORT is clear. */
START_TEST(accepted_setup_whose_client_was_connected)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b), handle = accepted(b, vi);
    hear(
        b,
        "02 010200 00 010100 58 290000 09 02 0000 4321 ffff 00000000 %08x 12 03 0000 00000000 00400000 00*16",
        handle);
    expect_resp(b, 1, HANDLE, APPLICATION, 0, 0, 0);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_TIMEOUT);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 1);
    ck_assert_uint_eq(counts(b).setups, 0);
    ck_assert_uint_eq(counts(b).timers, 0);
    b_end(b);
}
END_TEST

/* A request that the Server has not answered, or that was refused. */
START_TEST(setup_without_endpoint)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b), conn = 0;
    if (_i == 0)
        conn = offered(b);
    else
        hear_rqst(b, CLIENT, OX, ID, HANDLE);
    unsigned at = b->sent;
    hear_disconnect(b, SETUP_ABORT, 0x4321, ID, FCVI_UNASSIGNED);
    expect_resp(b, at, HANDLE, SETUP_ABORT, 0, 0, ID);
    ck_assert_uint_eq(counts(b).setups, 0);
    if (_i == 0)
        ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, conn, vi, 2), VIP_INVALID_PARAMETER);
    hear_disconnect(b, SETUP_ABORT, 0x4321, ID, FCVI_UNASSIGNED);
    expect_resp(b, at + 1, FCVI_UNASSIGNED, SETUP_ABORT + 1, 0, 0x4a, ID);
    b_end(b);
}
END_TEST

/* The Server aborts the setup that our client waits for: it knows our handle from the request. */
START_TEST(setup_of_our_own)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    uint32_t handle = own_handle_at(b, 0), id = id_at(b, 0);
    hear_disconnect(b, SETUP_ABORT, 0x4321, id, FCVI_UNASSIGNED); /* our own FCVI_CONNECTION_ID alone: E47 */
    expect_resp(b, 1, FCVI_UNASSIGNED, SETUP_ABORT + 1, 0, 0x4a, id);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    hear_disconnect(b, SETUP_ABORT, 0x4321, id, handle);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_int_ne(b_return(b, 7)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(b->sent, 4);
    ck_assert(b->frame[2][0] == 0x81 || b->frame[3][0] == 0x81); /* E115 */
    expect_resp(b, b->frame[2][0] == 0x81 ? 3 : 2, FCVI_UNASSIGNED, SETUP_ABORT, 0, 0, id);
    hear_resp1(b, 0, 0, 0, 0xabcd);
    hear_ba_acc(b, 0);
    ck_assert_uint_eq(b->sent, 4);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    b_end(b);
}
END_TEST

/* Many setups at once, among them some with one FCVI_CONNECTION_ID and one handle from two ports (E47). Each
 * is aborted by its own number, the last first. */
START_TEST(many_setups)
{
    enum { MANY = 60 };
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    struct fcvi_port_identity third = {0x10000000c9000007, 0x20000000c9000007, 0x010700, 1, {{0}}};
    from_hex("fe8000000000000000000000000000a7", third.host[0]);
    l.setups = l.connectionpoints = l.exchanges = MANY;
    struct bench *b = b_begin(&l, &c);
    ck_assert(fcvi_port_know(b->port, 0, &third));
    for (unsigned i = 0; i < MANY; i++) {
        b_wait(b, FCVI_NEVER, 100 + i);
        hear(b,
             "02 010200 00 %06x 58 290008 05 02 0000 %04x ffff 00000000 ffffffff 10 01 0000 00*20 %08x "
             "00000000 0000 0001 %08x " ADDR_A ADDR_B ATTRS,
             i % 2 == 0 ? 0x010100u : 0x010700u, 0x2000 + i / 2, 0x300 + i / 2, 0x400 + i / 2);
    }
    ck_assert_uint_eq(counts(b).setups, MANY);
    ck_assert_uint_eq(b->sent, 0);
    for (unsigned i = MANY; i-- > 0;) {
        hear(b, "02 010200 00 %06x 58 290000 09 02 0000 4321 ffff 00000000 ffffffff 12 06 0000 00*20 %08x",
             i % 2 == 0 ? 0x010100u : 0x010700u, 0x300 + i / 2);
        unsigned at = b->sent - 1;
        ck_assert_uint_eq(word_of(b, at, 1, 3), i % 2 == 0 ? 0x010100u : 0x010700u);
        ck_assert_uint_eq(word_of(b, at, 24, 4), 0x400 + i / 2);
        ck_assert_uint_eq(flags_at(b, at), SETUP_ABORT);
        ck_assert_uint_eq(counts(b).setups, i);
        int code = fcvi_vip_connect_reject(b->port, 0, b_return(b, 100 + i)->conn);
        ck_assert_int_eq(code, VIP_INVALID_PARAMETER);
    }
    b_end(b);
}
END_TEST

/* An aborted setup that names the handle of one Endpoint of several (6.12.2): it is that one. */
START_TEST(aborted_by_handle_among_others)
{
    struct bench *b = b_new();
    uint32_t first = b_vi(b), second = b_vi(b), vi = b_vi(b);
    uint32_t handle = accepted(b, vi);
    hear_disconnect(b, SETUP_ABORT, 0x4321, ID, handle);
    expect_resp(b, b->sent - 1, HANDLE, SETUP_ABORT, 0, 0, ID);
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_TIMEOUT);
    ck_assert_uint_eq(state_of(b, first), FCVI_STATE_IDLE);
    ck_assert_uint_eq(state_of(b, second), FCVI_STATE_IDLE);
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("disconnected");
    TCase *t = tcase_create("responder");
    tcase_add_loop_test(t, connected, 0, 2);
    tcase_add_loop_test(t, not_a_request, 0, DAMAGED);
    tcase_add_test(t, handles_of_nothing);
    tcase_add_loop_test(t, after_our_own, 0, 2);
    tcase_add_loop_test(t, after_the_client_gave_up, 0, 2);
    tcase_add_loop_test(t, accepted_setup, 0, 3);
    tcase_add_test(t, accepted_setup_whose_client_was_connected);
    tcase_add_loop_test(t, setup_without_endpoint, 0, 2);
    tcase_add_test(t, setup_of_our_own);
    tcase_add_test(t, many_setups);
    tcase_add_test(t, aborted_by_handle_among_others);
    suite_add_tcase(s, t);
    return run_suite(s);
}
