/* Peer-to-Peer Connection Setup of one port against hand-made IUs: 5.3.3, 5.3.4, Table 2, Annex A, Annex C
 * rules 6 and 8 to 11, VI-DG 3.3.6 to 3.3.8 and 6.7. Two ports together: test_peer_pair.c. */
#include "../bench.h"

enum { PEER = 2, CLIENT = 1, PEER_RETRY = 0x12 };
enum { THEIR_OX = 0x1234, THEIR_ID = 0x42, THEIR_HANDLE = 5 };

/* Which of the two ports has the numerically lower Port_Name. */
enum order { WE_ARE_HIGHER, WE_ARE_LOWER, EQUAL };

static struct bench *peers(enum order order)
{
    struct fcvi_port_config c = b_config();
    if (order == WE_ARE_LOWER)
        c.peer.port_name = 0x10000000c9000003;
    if (order == EQUAL)
        c.peer.port_name = c.self.port_name;
    return b_begin(&b_limits, &c);
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

static void hear_their_request(struct bench *b)
{
    hear_rqst(b, PEER, THEIR_OX, THEIR_ID, THEIR_HANDLE);
}

static void hear_their_resp2(struct bench *b, uint32_t our_handle)
{
    hear_resp2(b, 0, 0, THEIR_OX, THEIR_ID, our_handle);
}

/* The nth frame accepts the request of the peer, with the handle of our own request. */
static void expect_accept(struct bench *b, unsigned nth, uint32_t handle)
{
    expect(b, nth,
           "03 010100 00 010200 58 890008 .. 02 0000 1234 .... 00000000 "
           "ffffffff 18 00 0000 00*8 00*12 00000042 00000000 0000 0001 %08x " ADDR_B ADDR_A ATTRS,
           handle);
}

static void expect_refusal(struct bench *b, unsigned nth, unsigned reason)
{
    expect(b, nth,
           "03 010100 00 010200 58 890008 .. 02 0000 1234 .... 00000000 "
           "ffffffff 18 01 0000 00000000 00%02x0000 00*12 00000042 00000000 0000 0001 ........ " ADDR_B ADDR_A
           "........ ........ ........ ........ ........ ........ ........ ........",
           reason);
}

static void expect_resp3(struct bench *b, unsigned nth, uint32_t handle)
{
    expect(b, nth,
           "03 010100 00 010200 58 980000 .. 02 0001 1234 .... 00000000 %08x 1a 00 0000 00*8 00*12 00000042",
           handle);
}

/* ---- 5.3.3: one Peer comes first ---- */

/* _i: 01h or 03h. Neither ends the attempt (E48). */
START_TEST(first_peer_waits_for_the_other)
{
    static const uint8_t reasons[] = {0x01, 0x03};
    struct bench *b = peers(WE_ARE_HIGHER);
    struct fcvi_attributes remote;
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    expect(b, 0,
           "02 010100 00 010200 58 290008 .. 02 0000 .... ffff 00000000 "
           "ffffffff 10 02 0000 00*8 00*12 ........ 00000000 0000 0001 ........ " ADDR_B ADDR_A ATTRS);
    uint32_t handle = own_handle_at(b, 0);
    hear_resp1(b, 0, 1, reasons[_i], FCVI_UNASSIGNED);
    expect(b, 1,
           "03 010100 00 010200 58 090000 .. 02 0001 %04x 8001 00000000 "
           "ffffffff 19 00 0000 00*8 00*12 %08x",
           ox_of(b, 0), id_at(b, 0));
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    ck_assert_int_eq(peer_done(b, vi), VIP_NOT_DONE);
    hear_resp3(b, 0, 0, FCVI_UNASSIGNED);
    ck_assert_uint_eq(counts(b).setups, 0);
    ck_assert_uint_eq(counts(b).exchanges, 0);
    advance(b, 5 * (uint64_t)R_A_TOV);
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    hear_their_request(b); /* Exchange 2 */
    expect_accept(b, 2, handle);
    ck_assert_int_eq(peer_done(b, vi), VIP_NOT_DONE);
    hear_their_resp2(b, handle);
    expect_resp3(b, 3, THEIR_HANDLE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert_int_eq(fcvi_vip_connect_peer_done(b->port, b->now, vi, &remote), VIP_SUCCESS);
    ck_assert_uint_eq(remote.max_transfer_size, 32768);
    ck_assert_uint_eq(remote.reliability, FCVI_UNRELIABLE);
    ck_assert_int_eq(peer_done(b, vi), VIP_INVALID_STATE); /* the result is given once */
    b_end(b);
}
END_TEST

/* Nobody waits here: 03h, and FFFFFFFFh as handle to the end of the Exchange. */
START_TEST(nobody_waits_for_the_peer)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    hear_their_request(b);
    expect_refusal(b, 0, 0x03);
    ck_assert_uint_eq(own_handle_at(b, 0), FCVI_UNASSIGNED);
    hear_their_resp2(b, FCVI_UNASSIGNED);
    expect_resp3(b, 1, FCVI_UNASSIGNED);
    uint32_t vi = b_vi(b); /* now ours, which the peer accepts */
    peer_request(b, vi, FCVI_NEVER);
    hear_resp1(b, 2, 0, 0, 0xabcd);
    expect(b, 3,
           "03 010100 00 010200 58 090000 .. 02 0001 %04x 8001 00000000 "
           "0000abcd 19 00 0000 00*8 00*12 %08x",
           ox_of(b, 2), id_at(b, 2));
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert_int_eq(peer_done(b, vi), VIP_SUCCESS);
    hear_resp3(b, 2, 0, own_handle_at(b, 2));
    b_end(b);
}
END_TEST

/* T1 of a Peer request ends the wait, to the microsecond. _i: before, or after its request was refused. */
START_TEST(peer_gives_up_at_t1)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    uint32_t vi = b_vi(b);
    uint64_t timeout = R_A_TOV / 2 + (uint64_t)_i * 3 * R_A_TOV;
    peer_request(b, vi, timeout);
    if (_i > 0) {
        hear_resp1(b, 0, 1, 0x03, FCVI_UNASSIGNED);
        hear_resp3(b, 0, 0, FCVI_UNASSIGNED);
    }
    advance(b, timeout - 1);
    ck_assert_int_eq(peer_done(b, vi), VIP_NOT_DONE);
    advance(b, 1);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_int_eq(peer_done(b, vi), VIP_TIMEOUT);
    unsigned before = b->sent;
    hear_their_request(b);
    expect_refusal(b, before, 0x03);
    if (_i == 0) { /* the answer comes after all: 02h (C.5.2), and no retry without RESP3 (C rule 2) */
        hear_resp1(b, 0, 0, 0, 0xabcd);
        ck_assert_uint_eq(flags_at(b, before + 1), 1);
        ck_assert_uint_eq(reason_at(b, before + 1), 0x02);
        advance(b, R_A_TOV);
        ck_assert_uint_eq(b->frame[before + 2][0], 0x81);
        hear_ba_acc(b, 0);
        ck_assert_uint_eq(b->sent, before + 3);
    }
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    b_end(b);
}
END_TEST

/* T1 while a request of the other Peer is held back: that one is refused. */
START_TEST(peer_gives_up_with_a_request_held)
{
    struct bench *b = peers(WE_ARE_LOWER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, R_A_TOV / 2);
    hear_their_request(b);
    ck_assert_uint_eq(b->sent, 1);
    advance(b, R_A_TOV / 2);
    ck_assert_int_eq(peer_done(b, vi), VIP_TIMEOUT);
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(opcode_at(b, 1), 0x18);
    ck_assert_uint_eq(flags_at(b, 1), 1);
    hear_resp1(b, 0, 0, 0, 0xabcd);
    ck_assert_uint_eq(reason_at(b, 2), 0x02);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    b_end(b);
}
END_TEST

/* The other Peer repeats the request that was refused then (C rule 8), while the Endpoint accepts another
 * one: that one keeps its FCVI_CONNECTION_ID, by which it can be aborted (6.12.2). */
START_TEST(refused_request_is_repeated)
{
    struct bench *b = peers(WE_ARE_LOWER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, R_A_TOV / 2);
    hear_their_request(b);
    advance(b, R_A_TOV / 2);
    ck_assert_int_eq(peer_done(b, vi), VIP_TIMEOUT);
    expect_refusal(b, 1, 0x03);
    peer_request(b, vi, FCVI_NEVER);
    hear_rqst(b, PEER, 0x1300, 0x50, 6);
    hear_resp1(b, 2, 1, 0x01, FCVI_UNASSIGNED); /* Table 2 case 2 */
    ck_assert_uint_eq(b->sent, 5);
    ck_assert_uint_eq(opcode_at(b, 4), 0x18);
    ck_assert_uint_eq(id_at(b, 4), 0x50);
    ck_assert_uint_eq(flags_at(b, 4), 0);
    hear_rqst(b, PEER_RETRY, 0x1235, 0x43, THEIR_HANDLE);
    ck_assert_uint_eq(id_at(b, 5), 0x43);
    ck_assert_uint_eq(reason_at(b, 5), 0x03);
    hear_disconnect(b, 6, 0x4000, 0x50, FCVI_UNASSIGNED);
    ck_assert_uint_eq(opcode_at(b, 6), 0x1b);
    ck_assert_uint_eq(flags_at(b, 6), 6); /* no status: it was there */
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    b_end(b);
}
END_TEST

/* ---- 5.3.4, Table 2, Annex A: concurrent requests ---- */

static const struct {
    uint8_t from_a; /* Reason Code of Peer A, 0 for an accept */
    uint8_t from_b; /* what Peer B answers then */
    uint8_t state;  /* of Peer B in the end */
    int vip;
} table_2[] = {
    {0x00, 0x05, FCVI_STATE_CONNECTED, VIP_SUCCESS},   /* case 1 */
    {0x01, 0x00, FCVI_STATE_CONNECTED, VIP_SUCCESS},   /* case 2 */
    {0x03, 0x00, FCVI_STATE_CONNECTED, VIP_SUCCESS},   /* case 3 */
    {0x05, 0x21, FCVI_STATE_IDLE, VIP_ERROR_RESOURCE}, /* case 4 (E02); 8.2 b: no error code */
    {0x22, 0x04, FCVI_STATE_ERROR, VIP_NOT_REACHABLE}, /* case 5 */
    {0x21, 0x04, FCVI_STATE_ERROR, VIP_NOT_REACHABLE}, /* case 6 */
    {0x04, 0x04, FCVI_STATE_IDLE, VIP_ERROR_RESOURCE}, /* case 7 and E01 */
    {0x20, 0x04, FCVI_STATE_ERROR, VIP_NOT_REACHABLE}, {0xF0, 0x04, FCVI_STATE_IDLE, VIP_ERROR_RESOURCE},
    {0x60, 0x04, FCVI_STATE_IDLE, VIP_ERROR_RESOURCE},
};
enum { TABLE_2 = sizeof table_2 / sizeof table_2[0] };

START_TEST(we_are_peer_b)
{
    struct bench *b = peers(WE_ARE_LOWER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    uint32_t handle = own_handle_at(b, 0);
    hear_their_request(b);
    ck_assert_uint_eq(b->sent, 1); /* b): wait for FCVI_CONNECT_RESP1 */
    ck_assert_int_eq(peer_done(b, vi), VIP_NOT_DONE);
    bool accepts = table_2[_i].from_a == 0;
    hear_resp1(b, 0, !accepts, table_2[_i].from_a, accepts ? 0xabcd : FCVI_UNASSIGNED);
    ck_assert_uint_eq(b->sent, 3); /* RESP2 on our Exchange, RESP1 on the other, in any order */
    unsigned answer = opcode_at(b, 1) == 0x18 ? 1 : 2;
    ck_assert_uint_eq(opcode_at(b, 3 - answer), 0x19);
    ck_assert_uint_eq(flags_at(b, 3 - answer), 0);
    if (table_2[_i].from_b == 0) {
        expect_accept(b, answer, handle);
        hear_resp3(b, 0, 0, FCVI_UNASSIGNED);
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
        hear_their_resp2(b, handle);
        expect_resp3(b, 3, THEIR_HANDLE);
    } else {
        expect_refusal(b, answer, table_2[_i].from_b);
        hear_their_resp2(b, own_handle_at(b, answer));
        hear_resp3(b, 0, 0, handle);
    }
    ck_assert_uint_eq(state_of(b, vi), table_2[_i].state);
    ck_assert_int_eq(peer_done(b, vi), table_2[_i].vip);
    ck_assert_uint_eq(counts(b).setups, 0);
    b_end(b);
}
END_TEST

/* As Peer A we accept at once and keep what we have, whatever B says to our own request (E50).
 * _i: row of Table 2 as B's answer, and whether it comes before or after FCVI_CONNECT_RESP2. */
START_TEST(we_are_peer_a)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    uint32_t vi = b_vi(b);
    uint8_t answer = table_2[_i / 2].from_a;
    bool early = _i % 2;
    peer_request(b, vi, 3 * (uint64_t)R_A_TOV);
    uint32_t handle = own_handle_at(b, 0);
    hear_their_request(b);
    expect_accept(b, 1, handle);
    if (!early)
        hear_their_resp2(b, handle);
    unsigned before = b->sent;
    hear_resp1(b, 0, answer != 0, answer, answer == 0 ? 0xabcd : FCVI_UNASSIGNED);
    ck_assert_uint_eq(b->sent, before + 1); /* FCVI_CONNECT_RESP2 all the same (6.10.1) */
    ck_assert_uint_eq(opcode_at(b, before), 0x19);
    ck_assert_uint_eq(word_of(b, before, 24, 4), answer == 0 ? 0xabcd : FCVI_UNASSIGNED);
    if (answer == 0)
        ck_assert_uint_eq(flags_at(b, before), 1); /* never two connections */
    if (early) {
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
        hear_their_resp2(b, handle);
    }
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert_int_eq(peer_done(b, vi), VIP_SUCCESS);
    hear_resp3(b, 0, 0, handle);
    ck_assert_uint_eq(counts(b).setups, 0);
    advance(b, 5 * (uint64_t)R_A_TOV); /* neither T1 nor T3 comes */
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    b_end(b);
}
END_TEST

/* c): another port that claims our Port_Name */
START_TEST(equal_port_names)
{
    struct bench *b = peers(EQUAL);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    hear_their_request(b);
    expect_refusal(b, 1, 0x21);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    hear_their_resp2(b, own_handle_at(b, 1));
    hear_resp1(b, 0, 1, 0x21, FCVI_UNASSIGNED);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(peer_done(b, vi), VIP_NOT_REACHABLE);
    b_end(b);
}
END_TEST

/* Our request has not gone out when the other one comes: there is nothing to arbitrate. */
START_TEST(request_still_waits_for_its_login)
{
    struct fcvi_port_config c = b_config();
    c.peer.port_name = 0x10000000c9000003;
    c.explicit_login = true;
    struct bench *b = b_begin(&b_limits, &c);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    ck_assert_uint_eq(b->frame[0][24], 0x03); /* PLOGI, which crosses that of the peer */
    hear(b, "22 010200 00 010100 01 290000 01 00 0000 0aaa ffff 00000000 03000000 20200010 80020840 "
            "00ff00ce 000007d0 10000000c9000003 20000000c9000001 00*80");
    unsigned before = b->sent;
    ck_assert_uint_eq(opcode_at(b, before - 1), 0x10); /* logged in: the request follows */
    hear_their_request(b);
    ck_assert_uint_eq(b->sent, before); /* now it is concurrent, and we are the lower one */
    hear_resp1(b, before - 1, 0, 0, 0xabcd);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

START_TEST(request_still_waits_for_its_address)
{
    struct fcvi_port_config c = b_config();
    c.peer.port_name = 0x10000000c9000003;
    c.peer.hosts = 0;
    struct bench *b = b_begin(&b_limits, &c);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    ck_assert_uint_eq(b->frame[0][24], 0x54); /* FARP-REQ */
    hear_their_request(b);
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(flags_at(b, 1), 0);
    hear_their_resp2(b, own_handle_at(b, 1));
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert_int_eq(peer_done(b, vi), VIP_SUCCESS);
    b_end(b);
}
END_TEST

/* ---- what goes wrong in one of two Exchanges ---- */

/* C.4: Connected through the other Exchange, we never get an answer to our own request (E51). */
START_TEST(own_request_is_lost_but_connected)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    uint32_t handle = own_handle_at(b, 0);
    hear_their_request(b);
    hear_their_resp2(b, handle);
    advance(b, R_A_TOV); /* T3 */
    expect(b, b->sent - 1, "81 010100 00 010200 00 090000 .. 00 0000 %04x ffff 00000000", ox_of(b, 0));
    unsigned before = b->sent;
    if (_i == 0)
        hear_ba_acc(b, 0);
    advance(b, 5 * (uint64_t)R_A_TOV);
    if (_i == 0)
        expect_rrq(b, before++, 0, 0xFFFF);
    ck_assert_uint_eq(b->sent, before); /* no retry */
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    b_end(b);
}
END_TEST

/* C rule 6a: Connected through our own request, the FCVI_CONNECT_RESP2 to our refusal never comes. */
START_TEST(refused_peer_falls_silent)
{
    struct bench *b = peers(WE_ARE_LOWER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    hear_their_request(b);
    hear_resp1(b, 0, 0, 0, 0xabcd);
    hear_resp3(b, 0, 0, own_handle_at(b, 0));
    advance(b, 2 * R_A_TOV);
    ck_assert_uint_eq(counts(b).setups, 0);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    b_end(b);
}
END_TEST

/* C rule 6b for a Peer: Error at T2 and not before. */
START_TEST(accepted_peer_falls_silent)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    hear_resp1(b, 0, 1, 0x03, FCVI_UNASSIGNED);
    hear_resp3(b, 0, 0, FCVI_UNASSIGNED);
    hear_their_request(b);
    advance(b, 2 * R_A_TOV - 1);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    advance(b, 1);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 1);
    ck_assert_int_eq(peer_done(b, vi), VIP_NOT_REACHABLE);
    b_end(b);
}
END_TEST

/* The setup that Peer A accepted fails (8.5.3 d), or its client has given up (C.5.6): what B then says to
 * A's own request changes nothing (8.2 e). _i: which failure, and B's answer. */
START_TEST(answer_after_the_end)
{
    static const uint8_t answers[] = {0x00, 0x05, 0x03, 0x21};
    struct bench *b = peers(WE_ARE_HIGHER);
    uint32_t vi = b_vi(b);
    uint8_t answer = answers[_i % 4];
    peer_request(b, vi, FCVI_NEVER);
    hear_their_request(b);
    uint32_t handle = own_handle_at(b, 1);
    uint8_t state = FCVI_STATE_IDLE;
    if (_i / 4 == 0) { /* SEQ_CNT 5: frames are missing */
        hear(b, "03 010200 00 010100 58 090000 06 02 0005 1234 ffff 00000000 %08x 19 00 0000 00*20 00000042",
             handle);
        state = FCVI_STATE_ERROR;
    } else {
        hear_resp2(b, 1, 0x02, THEIR_OX, THEIR_ID, handle);
    }
    ck_assert_uint_eq(state_of(b, vi), state);
    unsigned before = b->sent;
    hear_resp1(b, 0, answer != 0, answer, answer == 0 ? 0xabcd : FCVI_UNASSIGNED);
    ck_assert_uint_eq(opcode_at(b, before), 0x19);
    if (answer == 0)
        ck_assert_uint_eq(flags_at(b, before), 1);
    ck_assert_uint_eq(state_of(b, vi), state);
    advance(b, R_A_TOV); /* no FCVI_CONNECT_RESP3 either */
    ck_assert_uint_eq(state_of(b, vi), state);
    b_end(b);
}
END_TEST

/* The same when our own request gets no answer at all. */
START_TEST(silence_after_the_end)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    hear_their_request(b);
    hear_resp2(b, 1, 0x02, THEIR_OX, THEIR_ID, own_handle_at(b, 1));
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    advance(b, R_A_TOV);
    ck_assert_uint_eq(b->frame[b->sent - 1][0], 0x81);
    unsigned before = b->sent;
    advance(b, 3 * (uint64_t)R_A_TOV);
    ck_assert_uint_eq(b->sent, before);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    b_end(b);
}
END_TEST

/* The other Peer aborts the request that we hold back; ours goes on. */
START_TEST(held_request_is_aborted)
{
    struct bench *b = peers(WE_ARE_LOWER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    hear_their_request(b);
    if (_i == 0) {
        hear_abts(b, THEIR_OX);
        ck_assert_uint_eq(b->frame[1][0], 0x84);
    } else { /* by FCVI_CONNECTION_ID (6.12.2) */
        hear_disconnect(b, 6, 0x4321, THEIR_ID, FCVI_UNASSIGNED);
        expect(b, 1,
               "03 010100 00 010200 58 980000 .. 02 0000 4321 .... 00000000 "
               "00000005 1b 06 0000 00*8 00*12 00000042");
    }
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    hear_resp1(b, 0, 0, 0, 0xabcd);
    ck_assert_uint_eq(b->sent, 3); /* nothing but FCVI_CONNECT_RESP2 */
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* ---- retry (8.5.4, C rules 3 and 8 to 11) ---- */

START_TEST(our_retry)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    uint32_t handle = own_handle_at(b, 0);
    advance(b, R_A_TOV);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT_RETRY);
    hear_ba_acc(b, 0);
    ck_assert_uint_eq(flags_at(b, 2), PEER_RETRY);
    ck_assert_uint_eq(own_handle_at(b, 2), handle);
    ck_assert_uint_ne(id_at(b, 2), id_at(b, 0));
    ck_assert_uint_ne(ox_of(b, 2), ox_of(b, 0));
    hear_resp1(b, 2, 4, 0, 0xabcd);
    expect(b, 3,
           "03 010100 00 010200 58 090000 .. 02 0001 %04x 8001 00000000 "
           "0000abcd 19 04 0000 00*8 00*12 %08x",
           ox_of(b, 2), id_at(b, 2));
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    hear_resp3(b, 2, 4, handle);
    ck_assert_uint_eq(counts(b).setups, 0);
    b_end(b);
}
END_TEST

/* The retry is refused with 03h: a Peer goes on waiting, now in Pending Connect Retry. */
START_TEST(our_retry_finds_nobody)
{
    struct bench *b = peers(WE_ARE_LOWER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    uint32_t handle = own_handle_at(b, 0);
    advance(b, R_A_TOV);
    hear_ba_acc(b, 0);
    hear_resp1(b, 2, 5, 0x03, FCVI_UNASSIGNED);
    hear_resp3(b, 2, 4, FCVI_UNASSIGNED);
    ck_assert_int_eq(peer_done(b, vi), VIP_NOT_DONE);
    hear_their_request(b);
    expect_accept(b, 4, handle);
    hear_their_resp2(b, handle);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert_int_eq(peer_done(b, vi), VIP_SUCCESS);
    b_end(b);
}
END_TEST

/* E80: the lower Peer holds a request and gets no answer to its own. Both attempts are repeated. */
START_TEST(retry_with_a_request_held)
{
    struct bench *b = peers(WE_ARE_LOWER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    uint32_t handle = own_handle_at(b, 0);
    hear_their_request(b);
    advance(b, R_A_TOV);
    hear_ba_acc(b, 0);
    ck_assert_uint_eq(flags_at(b, 2), PEER_RETRY);
    hear_resp1(b, 2, 4, 0, 0xabcd); /* A has got this one */
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    expect_refusal(b, 4, 0x05);
    hear_their_resp2(b, own_handle_at(b, 4));
    hear_resp3(b, 2, 4, handle);
    ck_assert_int_eq(peer_done(b, vi), VIP_SUCCESS);
    b_end(b);
}
END_TEST

/* Both attempts are lost: C rule 4, and the held request is refused (Table 2, last row). */
START_TEST(both_attempts_are_lost)
{
    struct bench *b = peers(WE_ARE_LOWER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    hear_their_request(b);
    advance(b, R_A_TOV);
    hear_ba_acc(b, 0);
    advance(b, R_A_TOV);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(peer_done(b, vi), VIP_NOT_REACHABLE);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    unsigned refusals = 0;
    for (unsigned i = 0; i < b->sent; i++)
        refusals += b->frame[i][8] == 0x58 && opcode_at(b, i) == 0x18 && reason_at(b, i) == 0x04;
    ck_assert_uint_eq(refusals, 1);
    b_end(b);
}
END_TEST

/* Rule 8: the request is repeated while its setup is open. _i: the Exchange was aborted before, or not. */
START_TEST(their_retry_of_an_open_setup)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    uint32_t handle = own_handle_at(b, 0);
    hear_their_request(b);
    expect_accept(b, 1, handle);
    advance(b, R_A_TOV / 2);
    if (_i == 1)
        hear_abts(b, THEIR_OX);
    unsigned at = b->sent;
    hear_rqst(b, PEER_RETRY, 0x1235, 0x43, THEIR_HANDLE);
    expect(b, at,
           "03 010100 00 010200 58 890008 .. 02 0000 1235 .... 00000000 "
           "ffffffff 18 04 0000 00*8 00*12 00000043 00000000 0000 0001 %08x " ADDR_B ADDR_A ATTRS,
           handle);
    hear_their_resp2(b, handle); /* rule 1: the first FCVI_CONNECTION_ID is dead */
    ck_assert_uint_eq(b->sent, at + 1);
    hear_resp2(b, 4, 0, 0x1235, 0x43, handle);
    expect(b, at + 1,
           "03 010100 00 010200 58 980000 .. 02 0001 1235 .... 00000000 "
           "00000005 1a 04 0000 00*8 00*12 00000043");
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert_int_eq(peer_done(b, vi), VIP_SUCCESS);
    b_end(b);
}
END_TEST

/* Rule 8 for a request that is held back: it is answered once, on the retry (E56). */
START_TEST(their_retry_of_a_held_request)
{
    struct bench *b = peers(WE_ARE_LOWER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    uint32_t handle = own_handle_at(b, 0);
    hear_their_request(b);
    if (_i == 1)
        hear_abts(b, THEIR_OX);
    unsigned at = b->sent;
    hear_rqst(b, PEER_RETRY, 0x1235, 0x43, THEIR_HANDLE);
    ck_assert_uint_eq(b->sent, at);
    hear_resp1(b, 0, 1, 0x03, FCVI_UNASSIGNED); /* Table 2: accept */
    unsigned answer = opcode_at(b, at) == 0x18 ? at : at + 1;
    ck_assert_uint_eq(flags_at(b, answer), 4);
    ck_assert_uint_eq(ox_of(b, answer), 0x1235);
    ck_assert_uint_eq(id_at(b, answer), 0x43);
    ck_assert_uint_eq(own_handle_at(b, answer), handle);
    hear_resp2(b, 4, 0, 0x1235, 0x43, handle);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* Rules 9 and 10: the connection exists already. _i: from their request, or from ours (E65). */
START_TEST(their_retry_when_connected)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    uint32_t handle = own_handle_at(b, 0);
    if (_i == 0) {
        hear_their_request(b);
        hear_their_resp2(b, handle);
        hear_resp1(b, 0, 1, 0x05, FCVI_UNASSIGNED);
    } else {
        hear_resp1(b, 0, 0, 0, THEIR_HANDLE);
    }
    hear_resp3(b, 0, 0, handle);
    ck_assert_uint_eq(counts(b).setups, 0);
    ck_assert_int_eq(peer_done(b, vi), VIP_SUCCESS);
    unsigned at = b->sent, events = b->events;
    hear_rqst(b, PEER_RETRY, 0x1235, 0x43, THEIR_HANDLE);
    expect(b, at,
           "03 010100 00 010200 58 890008 .. 02 0000 1235 .... 00000000 "
           "ffffffff 18 04 0000 00*8 00*12 00000043 00000000 0000 0001 %08x " ADDR_B ADDR_A ATTRS,
           handle);
    hear_resp2(b, 4, 0, 0x1235, 0x43, handle);
    expect(b, at + 1,
           "03 010100 00 010200 58 980000 .. 02 0001 1235 .... 00000000 "
           "00000005 1a 04 0000 00*8 00*12 00000043");
    ck_assert_uint_eq(b->events, events);
    hear_rqst(b, PEER_RETRY, 0x1236, 0x44, THEIR_HANDLE); /* rule 6a when RESP2 stays away */
    advance(b, 2 * R_A_TOV);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(b->events, events);
    b_end(b);
}
END_TEST

/* Rule 11: a retry of something unknown is a new request, answered with RETRY. _i: nobody waits, or a Peer.
 */
START_TEST(their_retry_of_nothing)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    if (_i == 0) {
        hear_rqst(b, PEER_RETRY, THEIR_OX, THEIR_ID, THEIR_HANDLE);
        ck_assert_uint_eq(flags_at(b, 0), 5);
        ck_assert_uint_eq(reason_at(b, 0), 0x03);
        hear_resp2(b, 4, 0, THEIR_OX, THEIR_ID, FCVI_UNASSIGNED);
        ck_assert_uint_eq(flags_at(b, 1), 4);
        b_end(b);
        return;
    }
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    hear_rqst(b, PEER_RETRY, THEIR_OX, THEIR_ID, THEIR_HANDLE);
    ck_assert_uint_eq(flags_at(b, 1), 4);
    hear_resp2(b, 4, 0, THEIR_OX, THEIR_ID, own_handle_at(b, 1));
    ck_assert_uint_eq(flags_at(b, 2), 4);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* ---- attributes (VI-DG 6.7, E77) ---- */

static const struct {
    const char *attributes; /* of the peer: level, MaxTransferSize, QOS with the depth in its last word */
    int vip;
} unequal[] = {
    {"0000 02 00 00008000 00*20 00*4 ", VIP_INVALID_RELIABILITY_LEVEL},
    {"0000 01 00 00004000 00*20 00*4 ", VIP_INVALID_MTU},
    {"0000 01 00 00008000 00*16 00000001 00*4 ", VIP_INVALID_QOS},
    {"0000 04 00 00008000 00*20 00*4 ", VIP_INVALID_RELIABILITY_LEVEL}, /* reserved (E32) */
};

/* _i: row, and whether our own request is under way, held up or done with. */
START_TEST(unequal_attributes_of_a_request)
{
    struct bench *b = peers(WE_ARE_LOWER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    if (_i / 4 == 1) {
        hear_resp1(b, 0, 1, 0x03, FCVI_UNASSIGNED);
        hear_resp3(b, 0, 0, FCVI_UNASSIGNED);
    }
    unsigned at = b->sent;
    hear(b,
         "02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 "
         "ffffffff 10 02 0000 00*8 00*12 00000042 00000000 0000 0001 00000005 " ADDR_A ADDR_B "%s",
         unequal[_i % 4].attributes);
    ck_assert_uint_eq(flags_at(b, at), 1);
    ck_assert_uint_eq(reason_at(b, at), 0x04);
    ck_assert_uint_eq(word_of(b, at, 364, 4), 0x00000100); /* our own, so that the peer learns why */
    ck_assert_uint_eq(word_of(b, at, 368, 4), 0x00008000);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_int_eq(peer_done(b, vi), unequal[_i % 4].vip);
    hear_resp2(b, 0, 0, THEIR_OX, THEIR_ID, own_handle_at(b, at));
    if (_i / 4 == 0) {
        hear_resp1(b, 0, 1, 0x04, FCVI_UNASSIGNED);
        ck_assert_uint_eq(opcode_at(b, b->sent - 1), 0x19);
        hear_resp3(b, 0, 0, FCVI_UNASSIGNED);
    }
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    b_end(b);
}
END_TEST

/* The other side found it: its 04h carries its attributes. _i 4: equal ones, so there was another reason. */
START_TEST(unequal_attributes_of_a_refusal)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    hear(b,
         "03 010200 00 010100 58 890008 06 02 0000 %04x 8001 00000000 "
         "ffffffff 18 01 0000 00000000 00040000 00*12 %08x 00000000 0000 0001 ffffffff " ADDR_A ADDR_B "%s",
         ox_of(b, 0), id_at(b, 0), _i < 4 ? unequal[_i].attributes : ATTRS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_int_eq(peer_done(b, vi), _i < 4 ? unequal[_i].vip : VIP_ERROR_RESOURCE);
    hear_resp3(b, 0, 0, FCVI_UNASSIGNED);
    b_end(b);
}
END_TEST

/* ---- the calls (VI-DG 3.3.6 to 3.3.8) ---- */

START_TEST(codes_of_the_peer_calls)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    struct fcvi_address from = address(OURS), to = address(THEIRS), foreign = address(THEIRS);
    struct fcvi_attributes a;
    uint32_t vi = b_vi(b), other = b_vi(b);
    ck_assert_int_eq(peer_done(b, 7), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(peer_done(b, 1000), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(peer_done(b, vi), VIP_INVALID_STATE);
    ck_assert_int_eq(fcvi_vip_connect_peer_wait(b->port, 0, vi, 5, &a), VIP_INVALID_STATE);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, 0, vi, &from, &to, 0), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, 0, 7, &from, &to, 1), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, 0, vi, &foreign, &to, 1), VIP_INVALID_PARAMETER);
    to.discriminator_length = 15;
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, 0, vi, &from, &to, 1), VIP_INVALID_PARAMETER);
    to.discriminator_length = 129;
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, 0, vi, &from, &to, 1), VIP_INVALID_PARAMETER);
    to.discriminator_length = 16;
    from.discriminator_length = 0;
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, 0, vi, &from, &to, 1), VIP_INVALID_PARAMETER);
    from.discriminator_length = 16;
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    peer_request(b, vi, FCVI_NEVER);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, 0, vi, &from, &to, 1), VIP_INVALID_STATE);
    ck_assert_int_eq(fcvi_vip_connect_request(b->port, 0, vi, &from, &to, 1, 8), VIP_INVALID_STATE);
    ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, vi), VIP_INVALID_STATE);
    ck_assert_int_eq(fcvi_vip_connect_peer_wait(b->port, 0, vi, 5, &a), FCVI_VIP_PENDING);
    ck_assert_int_eq(fcvi_vip_connect_peer_wait(b->port, 0, vi, 6, &a), VIP_ERROR_RESOURCE);
    hear_resp1(b, 0, 0, 0, 0xabcd);
    const struct fcvi_event *e = b_return(b, 5);
    ck_assert_ptr_nonnull(e);
    ck_assert_int_eq(e->vip, VIP_SUCCESS);
    ck_assert_uint_eq(e->remote_attributes.max_transfer_size, 32768);
    ck_assert_int_eq(fcvi_vip_connect_peer_wait(b->port, 0, vi, 6, &a), VIP_INVALID_STATE);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, 0, vi, &from, &to, 1), VIP_INVALID_STATE);
    /* the result that is there already: VipConnectPeerWait gives it at once */
    peer_request(b, other, FCVI_NEVER);
    hear_resp1(b, b->sent - 1, 0, 0, 0xabce);
    ck_assert_int_eq(fcvi_vip_connect_peer_wait(b->port, 0, other, 6, &a), VIP_SUCCESS);
    ck_assert_ptr_null(b_return(b, 6));
    b_end(b);
}
END_TEST

/* A VipConnectPeerWait returns with whatever ends the request. */
START_TEST(wait_returns_at_t1)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    struct fcvi_attributes a;
    uint32_t vi = b_vi(b);
    peer_request(b, vi, R_A_TOV / 4);
    ck_assert_int_eq(fcvi_vip_connect_peer_wait(b->port, b->now, vi, 5, &a), FCVI_VIP_PENDING);
    advance(b, R_A_TOV / 4);
    ck_assert_int_eq(b_return(b, 5)->vip, VIP_TIMEOUT);
    ck_assert_int_eq(peer_done(b, vi), VIP_INVALID_STATE);
    b_end(b);
}
END_TEST

/* VipDisconnect while the setup goes on (E76). _i: nothing answered yet; a request held; accepted and waiting
 * for FCVI_CONNECT_RESP2; refused with 03h. */
START_TEST(disconnect_while_pending)
{
    struct bench *b = peers(_i == 1 ? WE_ARE_LOWER : WE_ARE_HIGHER);
    struct fcvi_attributes a;
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    ck_assert_int_eq(fcvi_vip_connect_peer_wait(b->port, b->now, vi, 5, &a), FCVI_VIP_PENDING);
    if (_i == 1 || _i == 2)
        hear_their_request(b);
    if (_i == 3) {
        hear_resp1(b, 0, 1, 0x03, FCVI_UNASSIGNED);
        hear_resp3(b, 0, 0, FCVI_UNASSIGNED);
    }
    unsigned at = b->sent;
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, vi, 9), FCVI_VIP_PENDING);
    collect(b);
    ck_assert_ptr_nonnull(b_return(b, 5));
    ck_assert_int_eq(b_return(b, 5)->vip, VIP_INVALID_STATE);
    ck_assert_int_eq(peer_done(b, vi),
                     VIP_INVALID_STATE); /* it is in Pending Connect no more (VI-DG 3.3.7) */
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, vi, 10), VIP_ERROR_RESOURCE);
    unsigned request = b->sent, abts = 0, refusals = 0;
    for (unsigned i = at; i < b->sent; i++) {
        abts += b->frame[i][0] == 0x81;
        if (b->frame[i][8] != 0x58)
            continue;
        refusals += opcode_at(b, i) == 0x18;
        if (opcode_at(b, i) == 0x12)
            request = i;
    }
    ck_assert_uint_eq(abts, _i != 3);
    ck_assert_uint_eq(refusals, _i == 1);
    expect(b, request,
           "02 010100 00 010200 58 290000 .. 02 0000 .... ffff 00000000 "
           "%08x 12 06 0000 00*8 00*12 %08x",
           _i == 2 ? THEIR_HANDLE : FCVI_UNASSIGNED, _i == 2 ? THEIR_ID : id_at(b, 0));
    hear_resp1(b, 0, 0, 0, 0xabcd); /* too late */
    if (_i == 2)
        hear_their_resp2(b, own_handle_at(b, 1));
    hear_disconnected(b, request);
    ck_assert_int_eq(b_return(b, 9)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    hear_rqst(b, PEER, 0x1300, 0x50, 6); /* it is no longer to be found */
    ck_assert_uint_eq(reason_at(b, b->sent - 1), 0x03);
    b_end(b);
}
END_TEST

/* The other Peer aborts the setup that we accepted. */
START_TEST(accepted_setup_is_aborted)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    hear_their_request(b);
    unsigned at = b->sent;
    hear_disconnect(b, 6, 0x4321, THEIR_ID, FCVI_UNASSIGNED);
    bool answered = false;
    for (unsigned i = at; i < b->sent; i++)
        answered |= b->frame[i][8] == 0x58 && opcode_at(b, i) == 0x1b && flags_at(b, i) == 6 &&
                    id_at(b, i) == THEIR_ID;
    ck_assert(answered);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR); /* E67 */
    ck_assert_int_ne(peer_done(b, vi), VIP_SUCCESS);
    hear_resp1(b, 0, 0, 0, 0xabcd);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    b_end(b);
}
END_TEST

/* ---- matching (VI-DG 6.7, E78) ---- */

#define OTHER_DISCRIMINATOR "ff0102030405060708090a0b0c0d0e0f "
#define SAME_DISCRIMINATOR "000102030405060708090a0b0c0d0e0f "
#define LONGER "0000 10 11 %s 000102030405060708090a0b0c0d0e0f 00*112 "

static const struct {
    const char *from_host, *from_discriminator; /* LocalAddr of the peer */
    const char *to_host, *to_discriminator;     /* its RemoteAddr */
    unsigned length;                            /* of the latter */
    bool matches;
} matching[] = {
    {THEIRS, SAME_DISCRIMINATOR, OURS, SAME_DISCRIMINATOR, 16, true},
    {THEIRS, OTHER_DISCRIMINATOR, OURS, SAME_DISCRIMINATOR, 16, true}, /* that of LocalAddr does not count */
    {THEIRS, SAME_DISCRIMINATOR, OURS, OTHER_DISCRIMINATOR, 16, false},
    {THEIRS, SAME_DISCRIMINATOR, OURS, SAME_DISCRIMINATOR, 17, false}, /* 17 bytes are others than 16 */
    {OURS, SAME_DISCRIMINATOR, OURS, SAME_DISCRIMINATOR, 16, false},   /* another host than we asked for */
    {THEIRS, SAME_DISCRIMINATOR, THEIRS, SAME_DISCRIMINATOR, 16, false},
};

static void hear_addressed(struct bench *b, unsigned row, unsigned mode)
{
    hear(b,
         "02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 "
         "ffffffff 10 %02x 0000 00*8 00*12 00000042 00000000 0000 0001 00000005 "
         "0000 10 10 %s %s 00*112 0000 10 %02x %s %s 00*112 " ATTRS,
         mode, matching[row].from_host, matching[row].from_discriminator, matching[row].length,
         matching[row].to_host, matching[row].to_discriminator);
}

/* Peer-to-Peer: the hosts crosswise, and the Discriminators of both RemoteAddr */
START_TEST(peer_matching)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    struct fcvi_address from = address(OURS), to = address(THEIRS);
    memset(from.discriminator, 0x77, 16); /* it does not count either */
    uint32_t vi = b_vi(b);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, 0, vi, &from, &to, FCVI_NEVER), VIP_SUCCESS);
    collect(b);
    hear_resp1(b, 0, 1, 0x03, FCVI_UNASSIGNED);
    hear_resp3(b, 0, 0, FCVI_UNASSIGNED);
    unsigned at = b->sent;
    hear_addressed(b, (unsigned)_i, PEER);
    ck_assert_uint_eq(flags_at(b, at), matching[_i].matches ? 0 : 1);
    if (matching[_i].matches)
        hear_their_resp2(b, own_handle_at(b, at));
    else
        ck_assert(reason_at(b, at) == 0x01 || reason_at(b, at) == 0x03);
    ck_assert_uint_eq(state_of(b, vi),
                      matching[_i].matches ? FCVI_STATE_CONNECTED : FCVI_STATE_PENDING_CONNECT);
    b_end(b);
}
END_TEST

/* Client-Server: whoever names our host and the Discriminator that the Server listens on */
START_TEST(server_matching)
{
    static const bool matches[] = {true, true, false, false, true, false};
    struct bench *b = peers(WE_ARE_HIGHER);
    b_wait(b, R_A_TOV, 1);
    hear_addressed(b, (unsigned)_i, CLIENT);
    const struct fcvi_event *e = b_return(b, 1);
    ck_assert(matches[_i] == (e != NULL));
    if (e == NULL) {
        ck_assert(reason_at(b, 0) == 0x01 || reason_at(b, 0) == 0x03);
    } else {
        ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, e->conn), VIP_SUCCESS);
        collect(b);
        ck_assert_uint_eq(reason_at(b, 0), 0x04);
        ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, e->conn), VIP_INVALID_PARAMETER);
    }
    hear_resp2(b, 0, 0, THEIR_OX, THEIR_ID, own_handle_at(b, 0));
    b_end(b);
}
END_TEST

/* A Client never meets a Peer, nor a Peer a Server. */
START_TEST(models_do_not_mix)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    uint32_t vi = b_vi(b);
    b_wait(b, R_A_TOV, 1);
    hear_rqst(b, PEER, 0x1300, 0x50, 6);
    ck_assert_uint_eq(reason_at(b, 0), 0x01);
    ck_assert_ptr_null(b_return(b, 1));
    advance(b, R_A_TOV);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_TIMEOUT); /* T0 */
    peer_request(b, vi, FCVI_NEVER);
    hear_rqst(b, CLIENT, 0x1301, 0x51, 7);
    ck_assert_uint_eq(reason_at(b, 2), 0x01);
    hear_resp1(b, 1, 0, 0, 0xabcd);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* Two Peer requests alike: the oldest is matched first, each once (VI-DG 6.7). */
START_TEST(oldest_request_first)
{
    struct bench *b = peers(WE_ARE_LOWER);
    uint32_t vi[2] = {b_vi(b), b_vi(b)};
    peer_request(b, vi[0], FCVI_NEVER);
    peer_request(b, vi[1], FCVI_NEVER);
    hear_rqst(b, PEER, 0x1300, 0x50, 6); /* held with the first */
    hear_rqst(b, PEER, 0x1301, 0x51, 7); /* held with the second */
    hear_rqst(b, PEER, 0x1302, 0x52, 8); /* nobody is left */
    ck_assert_uint_eq(b->sent, 3);
    ck_assert_uint_eq(ox_of(b, 2), 0x1302);
    ck_assert_uint_eq(flags_at(b, 2), 1);
    hear_resp1(b, 1, 1, 0x01, FCVI_UNASSIGNED);
    unsigned answer = opcode_at(b, 3) == 0x18 ? 3 : 4;
    ck_assert_uint_eq(ox_of(b, answer), 0x1301);
    ck_assert_uint_eq(own_handle_at(b, answer), own_handle_at(b, 1));
    hear_resp2(b, 0, 0, 0x1301, 0x51, own_handle_at(b, 1));
    ck_assert_uint_eq(state_of(b, vi[1]), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(state_of(b, vi[0]), FCVI_STATE_PENDING_CONNECT);
    hear_resp1(b, 0, 0, 0, 0xabcd);
    ck_assert_uint_eq(state_of(b, vi[0]), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* ---- reserved values and damage ---- */

static const char *const nonsense[] = {
    "00000000 0000 0002 00000005 " ADDR_A ADDR_B ATTRS,             /* another FCVI_REVISION (E45) */
    "00000000 0000 0001 ffffffff " ADDR_A ADDR_B ATTRS,             /* FFFFFFFFh as handle (E12) */
    "00000000 0000 0001 00000005 " ADDR_A ADDR_B "0000 01 00 0000", /* too short */
    "00000000 0000 0001 00000005 " ADDR_A "0000 10 0f " OURS " 00*128 " ATTRS, /* DISCRIM_LEN 15 (E30) */
    "00000000 0000 0001 00000005 " ADDR_A "0000 10 81 " OURS " 00*128 " ATTRS, /* 129 */
    "00000000 0000 0001 00000005 " ADDR_A "0000 04 10 " OURS " 00*128 " ATTRS, /* HOST_ADD_LEN 4 */
};

START_TEST(nonsense_connects_nobody)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    uint32_t vi = b_vi(b);
    peer_request(b, vi, FCVI_NEVER);
    hear(b,
         "02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 "
         "ffffffff 10 02 0000 00*8 00*12 00000042 %s",
         nonsense[_i]);
    for (unsigned i = 1; i < b->sent; i++)
        ck_assert_uint_eq(flags_at(b, i), 1);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    /* as an accept it is an error of the Exchange (8.5.2 a): retried */
    hear(b,
         "03 010200 00 010100 58 890008 06 02 0000 %04x 8001 00000000 "
         "ffffffff 18 00 0000 00*8 00*12 %08x %s",
         ox_of(b, 0), id_at(b, 0), nonsense[_i]);
    ck_assert_uint_eq(b->frame[b->sent - 1][0], 0x81);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT_RETRY);
    hear_ba_acc(b, 0);
    hear_resp1(b, b->sent - 1, 4, 0, 0xabcd);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* E47: two ports may use the same numbers at once. */
START_TEST(two_ports_with_the_same_numbers)
{
    struct bench *b = peers(WE_ARE_HIGHER);
    struct fcvi_port_identity third = {0x10000000c9000007, 0x20000000c9000007, 0x010700, 1, {{0}}};
    from_hex("fe8000000000000000000000000000a7", third.host[0]);
    ck_assert(fcvi_port_know(b->port, 0, &third));
    hear_rqst(b, CLIENT, THEIR_OX, THEIR_ID, THEIR_HANDLE);
    ck_assert_uint_eq(word_of(b, 0, 1, 3), 0x010100);
    hear(b, "02 010200 00 010700 58 290008 05 02 0000 1234 ffff 00000000 "
            "ffffffff 10 01 0000 00*8 00*12 00000042 00000000 0000 0001 00000005 " ADDR_A ADDR_B ATTRS);
    ck_assert_uint_eq(word_of(b, 1, 1, 3), 0x010700);
    hear_resp2(b, 0, 0, THEIR_OX, THEIR_ID, FCVI_UNASSIGNED);
    ck_assert_uint_eq(word_of(b, 2, 1, 3), 0x010100);
    ck_assert_uint_eq(counts(b).setups, 1);
    hear(b, "03 010200 00 010700 58 090000 06 02 0001 1234 ffff 00000000 ffffffff 19 00 0000 00*20 00000042");
    ck_assert_uint_eq(word_of(b, 3, 1, 3), 0x010700);
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("peer");
    TCase *t = tcase_create("one port");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, first_peer_waits_for_the_other, 0, 2);
    tcase_add_test(t, nobody_waits_for_the_peer);
    tcase_add_loop_test(t, peer_gives_up_at_t1, 0, 2);
    tcase_add_test(t, peer_gives_up_with_a_request_held);
    tcase_add_test(t, refused_request_is_repeated);
    tcase_add_loop_test(t, we_are_peer_b, 0, TABLE_2);
    tcase_add_loop_test(t, we_are_peer_a, 0, 2 * TABLE_2);
    tcase_add_test(t, equal_port_names);
    tcase_add_test(t, request_still_waits_for_its_login);
    tcase_add_test(t, request_still_waits_for_its_address);
    tcase_add_loop_test(t, own_request_is_lost_but_connected, 0, 2);
    tcase_add_test(t, refused_peer_falls_silent);
    tcase_add_test(t, accepted_peer_falls_silent);
    tcase_add_loop_test(t, answer_after_the_end, 0, 8);
    tcase_add_test(t, silence_after_the_end);
    tcase_add_loop_test(t, held_request_is_aborted, 0, 2);
    tcase_add_test(t, our_retry);
    tcase_add_test(t, our_retry_finds_nobody);
    tcase_add_test(t, retry_with_a_request_held);
    tcase_add_test(t, both_attempts_are_lost);
    tcase_add_loop_test(t, their_retry_of_an_open_setup, 0, 2);
    tcase_add_loop_test(t, their_retry_of_a_held_request, 0, 2);
    tcase_add_loop_test(t, their_retry_when_connected, 0, 2);
    tcase_add_loop_test(t, their_retry_of_nothing, 0, 2);
    tcase_add_loop_test(t, unequal_attributes_of_a_request, 0, 8);
    tcase_add_loop_test(t, unequal_attributes_of_a_refusal, 0, 5);
    tcase_add_test(t, codes_of_the_peer_calls);
    tcase_add_test(t, wait_returns_at_t1);
    tcase_add_loop_test(t, disconnect_while_pending, 0, 4);
    tcase_add_test(t, accepted_setup_is_aborted);
    tcase_add_loop_test(t, peer_matching, 0, 6);
    tcase_add_loop_test(t, server_matching, 0, 6);
    tcase_add_test(t, models_do_not_mix);
    tcase_add_test(t, oldest_request_first);
    tcase_add_loop_test(t, nonsense_connects_nobody, 0, 6);
    tcase_add_test(t, two_ports_with_the_same_numbers);
    suite_add_tcase(s, t);
    return run_suite(s);
}
