/* Setups that something else meets: a Message, a Disconnect, a timeout or another setup, so that two errors
 * come together (8.2, 8.5.3, C.5, E74, E77). */
#include "../bench.h"

enum { CLIENT = 1, PEER = 2, OX = 0x1234, ID = 0x42, HANDLE = 5 };

static uint32_t reliable_vi(struct bench *b)
{
    struct fcvi_attributes a = {.reliability = FCVI_RELIABLE_DELIVERY, .max_transfer_size = 32768};
    uint32_t vi;
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, 0, &a, &vi), VIP_SUCCESS);
    return vi;
}

static void peer_request(struct bench *b, uint32_t vi, uint64_t timeout)
{
    struct fcvi_address from = address(OURS), to = address(THEIRS);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, b->now, vi, &from, &to, timeout), VIP_SUCCESS);
    collect(b);
}

static int peer_done(struct bench *b, uint32_t vi)
{
    struct fcvi_attributes a;
    return fcvi_vip_connect_peer_done(b->port, b->now, vi, &a);
}

/* FCVI_CONNECT_RQST with other attributes than bench.h has: Table 16 */
static void hear_rqst_with(struct bench *b, unsigned mode, const char *attributes)
{
    hear(b,
         "02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 ffffffff 10 %02x 0000 00*20 00000042 "
         "00000000 0000 0001 00000005 " ADDR_A ADDR_B "%s",
         mode, attributes);
}
#define RELIABLE "0000 02 00 00008000 00*20 00*4 " /* Reliable Delivery */
#define SHORTER "0000 01 00 00004000 00*20 00*4 "  /* another MaxTransferSize */

/* SEQ_CNT 3: frames are missing (8.4.1 c, 8.4.2 e). */
static void hear_faulty_message(struct bench *b, uint32_t handle)
{
    hear(b, "01 010200 00 010100 58 380008 07 02 0003 0700 ffff 00000004 %08x 00 00 0000 00000001 00*16 00*4",
         handle);
}

/* E74: a faulty Message that overtakes FCVI_CONNECT_RESP2 puts a reliable Endpoint into Error. What then
 * comes of the setup ends the Server's call, but only a Disconnect leads out of Error (8.2 e). _i: RESP2;
 * RESP2 with 02h (C.5.6); nothing until T2. */
START_TEST(server_in_error)
{
    struct bench *b = b_new();
    uint32_t vi = reliable_vi(b);
    b_wait(b, FCVI_NEVER, 1);
    hear_rqst_with(b, CLIENT, RELIABLE);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, b_return(b, 1)->conn, vi, 2), FCVI_VIP_PENDING);
    collect(b);
    uint32_t handle = own_handle_at(b, 0);
    hear_faulty_message(b, handle);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_ptr_null(b_return(b, 2));
    if (_i < 2)
        hear_resp2(b, _i == 1, _i == 1 ? 0x02 : 0, OX, ID, handle);
    else
        advance(b, 2 * R_A_TOV);
    ck_assert_int_eq(b_return(b, 2)->vip, _i == 0 ? VIP_SUCCESS : VIP_TIMEOUT);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 1);
    ck_assert_uint_eq(counts(b).setups, 0);
    b_end(b);
}
END_TEST

/* The same for a Peer that has accepted, while its own request is still out: no answer to that leads out of
 * Error either. _i: accept; 05h; 03h; 21h; no answer until T3; no answer, and the ABTS is out already. */
START_TEST(peer_in_error)
{
    static const uint8_t reasons[] = {0, 0x05, 0x03, 0x21};
    struct bench *b = b_new(); /* ours is the higher Port_Name */
    uint32_t vi = reliable_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    if (_i == 5)
        advance(b, R_A_TOV);
    hear_rqst_with(b, PEER, RELIABLE);
    unsigned resp1 = find(b, 0, 0x58, 0x18);
    uint32_t handle = own_handle_at(b, resp1);
    ck_assert_uint_eq(flags_at(b, resp1), 0);
    hear_faulty_message(b, handle);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    unsigned at = b->sent;
    if (_i < 4) {
        hear_resp1(b, 0, _i != 0, reasons[_i], _i == 0 ? 0xabcd : FCVI_UNASSIGNED);
        ck_assert_uint_eq(opcode_at(b, at), 0x19);
        ck_assert_uint_eq(flags_at(b, at), _i == 0);
        hear_resp3(b, 0, 0, handle);
    } else {
        if (_i == 4)
            advance(b, R_A_TOV);
        hear_ba_acc(b, 0);
        ck_assert_uint_eq(find(b, at, 0x58, 0x10), b->sent); /* no retry */
    }
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(peer_done(b, vi), VIP_NOT_DONE);
    hear_resp2(b, 0, 0, OX, ID, handle);
    ck_assert_uint_eq(opcode_at(b, b->sent - 1), 0x1a);
    ck_assert_int_eq(peer_done(b, vi), VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 1);
    ck_assert_uint_eq(counts(b).setups, 0);
    b_end(b);
}
END_TEST

/* C.5.6 after half a Message has come (E74): it takes no Descriptor away from the next connection. */
START_TEST(client_gives_up_in_mid_message)
{
    struct bench *b = b_new();
    struct fcvi_descriptor d = {.op = FCVI_RECV};
    struct fcvi_completion done;
    uint32_t vi = b_vi(b);
    b_wait(b, FCVI_NEVER, 1);
    hear_rqst(b, CLIENT, OX, ID, HANDLE);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, b_return(b, 1)->conn, vi, 2), FCVI_VIP_PENDING);
    collect(b);
    ck_assert_int_eq(fcvi_vip_post(b->port, 0, vi, &d), VIP_SUCCESS);
    hear(b, "01 010200 00 010100 58 200008 07 02 0000 0700 ffff 00000000 %08x 00 00 0000 00000001 00*16 00*4",
         own_handle_at(b, 0));
    hear_resp2(b, 1, 0x02, OX, ID, own_handle_at(b, 0));
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(counts(b).exchanges, 0);
    ck_assert_int_eq(fcvi_vip_done(b->port, 0, vi, true, &done), VIP_DESCRIPTOR_ERROR);
    ck_assert_int_eq(fcvi_vip_post(b->port, 0, vi, &d), VIP_SUCCESS);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    unsigned request = b->sent - 1;
    hear_resp1(b, request, 0, 0, 0xabcd);
    hear_resp3(b, request, 0, own_handle_at(b, request));
    hear(b, "01 010200 00 010100 58 380008 07 02 0000 0700 ffff 00000000 %08x 00 00 0000 00000001 00*16 00*4",
         own_handle_at(b, request));
    ck_assert_int_eq(fcvi_vip_done(b->port, 0, vi, true, &done), VIP_SUCCESS);
    b_end(b);
}
END_TEST

/* T1 belongs to the connect call. A Disconnect ends that, so T1 cannot lead out of Error after it. */
START_TEST(t1_after_disconnect)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    if (_i == 0)
        b_request(b, vi, THEIRS, R_A_TOV / 2, 7);
    else
        peer_request(b, vi, R_A_TOV / 2);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, 0, vi, 9), FCVI_VIP_PENDING);
    advance(b, R_A_TOV / 2);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    advance(b, R_A_TOV / 2 + R_A_TOV); /* tried twice (E59) */
    ck_assert_int_eq(b_return(b, 9)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    b_end(b);
}
END_TEST

/* VI-DG 3.3.5: VipDisconnect completes every Descriptor, whether it is ever answered or not. _i: level. */
START_TEST(disconnect_flushes_all)
{
    struct bench *b = b_new();
    struct fcvi_attributes a = {.reliability = (uint8_t)_i, .max_transfer_size = 32768};
    struct fcvi_descriptor d = {.op = FCVI_RECV};
    struct fcvi_completion done;
    uint32_t vi;
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, 0, &a, &vi), VIP_SUCCESS);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    hear_resp1(b, 0, 0, 0, 0xabcd);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(fcvi_vip_post(b->port, 0, vi, &d), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, 0, vi, 9), FCVI_VIP_PENDING);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(fcvi_vip_done(b->port, 0, vi, true, &done), VIP_DESCRIPTOR_ERROR);
        ck_assert_uint_eq(done.status & FCVI_STATUS_ERROR_MASK, FCVI_STATUS_DESC_FLUSHED_ERROR);
    }
    ck_assert_int_eq(fcvi_vip_post(b->port, 0, vi, &d), VIP_SUCCESS); /* in Error: at once (VI-ARCH 5.4) */
    ck_assert_int_eq(fcvi_vip_done(b->port, 0, vi, true, &done), VIP_DESCRIPTOR_ERROR);
    collect(b);
    hear_disconnected(b, 2);
    ck_assert_int_eq(b_return(b, 9)->vip, VIP_SUCCESS);
    hear_resp3(b, 0, 0, own_handle_at(b, 0));
    b_end(b);
}
END_TEST

/* The attributes of two Peers differ (E77), and the request of our own has not gone out: it never does. */
START_TEST(mismatch_before_our_request)
{
    struct fcvi_port_config c = b_config();
    c.peer.hosts = 0;
    struct bench *b = b_begin(&b_limits, &c);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    ck_assert_uint_eq(b->frame[0][24], 0x54); /* FARP-REQ */
    hear_rqst_with(b, PEER, SHORTER);
    ck_assert_uint_eq(reason_at(b, 1), 0x04);
    ck_assert_int_eq(peer_done(b, vi), VIP_INVALID_MTU);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(counts(b).setups, 1);
    hear_resp2(b, 0, 0, OX, ID, FCVI_UNASSIGNED);
    ck_assert_uint_eq(counts(b).setups, 0);
    ck_assert_uint_eq(b->sent, 3);
    b_end(b);
}
END_TEST

/* The same when it has: its answer finds nobody (02h), nor does anything else that is left of it. */
START_TEST(mismatch_after_our_request)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    peer_request(b, vi, 3 * R_A_TOV);
    hear_rqst_with(b, PEER, SHORTER);
    ck_assert_int_eq(peer_done(b, vi), VIP_INVALID_MTU);
    hear_resp2(b, 0, 0, OX, ID, FCVI_UNASSIGNED);
    hear_disconnect(b, 6, 0x4321, id_at(b, 0), own_handle_at(b, 0));
    ck_assert_uint_eq(reason_at(b, 3), 0x4a);
    hear_resp1(b, 0, 0, 0, 0xabcd);
    ck_assert_uint_eq(flags_at(b, 4), 1);
    ck_assert_uint_eq(reason_at(b, 4), 0x02);
    hear_resp3(b, 0, 0, own_handle_at(b, 0));
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(counts(b).setups, 0);
    ck_assert_uint_eq(counts(b).timers, 0); /* T1 */
    b_end(b);
}
END_TEST

/* The request of the other Peer connects us while ours waits for an address. It is not needed, so that no
 * address will come makes no difference. */
START_TEST(connected_before_our_request)
{
    struct fcvi_port_config c = b_config();
    c.peer.hosts = 0;
    struct bench *b = b_begin(&b_limits, &c);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, R_A_TOV);
    hear_rqst(b, PEER, OX, ID, HANDLE);
    ck_assert_uint_eq(flags_at(b, 1), 0);
    hear_resp2(b, 0, 0, OX, ID, own_handle_at(b, 1));
    ck_assert_uint_eq(counts(b).setups, 0);
    advance(b, 5 * (uint64_t)R_A_TOV);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert_int_eq(peer_done(b, vi), VIP_SUCCESS);
    ck_assert_uint_eq(b->sent, 3);
    b_end(b);
}
END_TEST

/* C rule 8: a refusal is repeated as it was, our attributes in it: they tell the other Peer why (E77). */
START_TEST(retry_of_a_mismatch)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    hear_rqst_with(b, PEER, SHORTER);
    hear(b, "02 010200 00 010100 58 290008 05 02 0000 1235 ffff 00000000 ffffffff 10 12 0000 00*20 00000043 "
            "00000000 0000 0001 00000005 " ADDR_A ADDR_B SHORTER);
    for (unsigned i = 1; i < 3; i++)
        expect(b, i,
               "03 010100 00 010200 58 890008 .. 02 0000 %04x .... 00000000 ffffffff 18 %02x 0000 00000000 "
               "00040000 00*12 %08x 00000000 0000 0001 ........ " ADDR_B ADDR_A ATTRS,
               i == 1 ? OX : 0x1235u, i == 1 ? 1 : 5, i == 1 ? ID : 0x43u);
    hear_resp2(b, 4, 0, 0x1235, 0x43, own_handle_at(b, 2));
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("setup errors");
    TCase *t = tcase_create("one port");
    tcase_add_loop_test(t, server_in_error, 0, 3);
    tcase_add_loop_test(t, peer_in_error, 0, 6);
    tcase_add_test(t, client_gives_up_in_mid_message);
    tcase_add_loop_test(t, t1_after_disconnect, 0, 2);
    tcase_add_loop_test(t, disconnect_flushes_all, FCVI_UNRELIABLE, FCVI_RELIABLE_RECEPTION + 1);
    tcase_add_test(t, mismatch_before_our_request);
    tcase_add_test(t, mismatch_after_our_request);
    tcase_add_test(t, connected_before_our_request);
    tcase_add_test(t, retry_of_a_mismatch);
    suite_add_tcase(s, t);
    return run_suite(s);
}
