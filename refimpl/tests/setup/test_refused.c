/* What a client hears and keeps of a setup that ends without a connection, and what T1 may still do after
 * that (5.9.7.2, Table 12, 6.9, 6.10, 8.2, C.5.2, C.5.5). */
#include "../bench.h"

enum { NOTHING = 0x4a, SETUP_ABORT = 6, T1 = 3 * R_A_TOV };

/* An Endpoint that is Idle has no connection left that another side could name (D rule 3); one in Error has.
 */
static void expect_names(struct bench *b, uint32_t handle, uint32_t id, bool known)
{
    unsigned at = b->sent;
    hear_disconnect(b, SETUP_ABORT, 0x4321, id, handle);
    ck_assert_uint_eq(opcode_at(b, at), 0x1b);
    ck_assert_uint_eq(reason_at(b, at), known ? 0 : NOTHING);
}

/* ---- Table 12: 01h to 1Fh are no errors, 20h to 3Fh are; the rest has no place here (E11, E27) ---- */

static const struct {
    uint8_t reason, state;
    int vip;
} reasons[] = {
    {0x00, FCVI_STATE_IDLE, VIP_REJECT},         {0x01, FCVI_STATE_IDLE, VIP_NO_MATCH},
    {0x02, FCVI_STATE_IDLE, VIP_REJECT},         {0x03, FCVI_STATE_IDLE, VIP_NO_MATCH},
    {0x04, FCVI_STATE_IDLE, VIP_REJECT},         {0x05, FCVI_STATE_IDLE, VIP_REJECT},
    {0x1f, FCVI_STATE_IDLE, VIP_REJECT},         {0x20, FCVI_STATE_ERROR, VIP_NOT_REACHABLE},
    {0x21, FCVI_STATE_ERROR, VIP_NOT_REACHABLE}, {0x22, FCVI_STATE_ERROR, VIP_NOT_REACHABLE},
    {0x3f, FCVI_STATE_ERROR, VIP_NOT_REACHABLE}, {0x40, FCVI_STATE_IDLE, VIP_REJECT},
    {0x4a, FCVI_STATE_IDLE, VIP_REJECT},         {0x60, FCVI_STATE_IDLE, VIP_REJECT},
    {0xff, FCVI_STATE_IDLE, VIP_REJECT},
};
enum { REASONS = sizeof reasons / sizeof reasons[0] };

START_TEST(reason_by_reason)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, T1, 7);
    uint32_t handle = own_handle_at(b, 0), id = id_at(b, 0);
    hear_resp1(b, 0, 1, reasons[_i].reason, FCVI_UNASSIGNED);
    expect(b, 1, "03 010100 00 010200 58 090000 .. 02 0001 %04x 8001 00000000 ffffffff 19 00 0000 00*20 %08x",
           ox_of(b, 0), id);
    ck_assert_int_eq(b_return(b, 7)->vip, reasons[_i].vip);
    ck_assert_uint_eq(state_of(b, vi), reasons[_i].state);
    hear_resp3(b, 0, 0, FCVI_UNASSIGNED);
    ck_assert_uint_eq(counts(b).setups, 0);
    ck_assert_uint_eq(counts(b).timers, 0); /* T1 and T3 */
    expect_names(b, handle, id, reasons[_i].state == FCVI_STATE_ERROR);
    ck_assert_uint_eq(state_of(b, vi), reasons[_i].state);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    b_end(b);
}
END_TEST

/* E40: the payload of a refusal is there, but says nothing. _i: zeros; another revision; with
 * FCVI_CONNECT_INFO that FCVI_FLAGS does not tell of. Less than 340 bytes are an error of the Exchange. */
static const char *const payloads[] = {
    "00000000 0000 0001 ffffffff 00*148 00*148 00*32",
    "00000000 0000 0002 00000005 " ADDR_A ADDR_B ATTRS,
    "00000000 0000 0001 ffffffff 00*148 00*148 00*32 00*256",
    "00000000 0000 0001 ffffffff 00*148 00*148 00*28",
};

START_TEST(payload_of_a_refusal)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    hear(b,
         "03 010200 00 010100 58 890008 06 02 0000 %04x 8001 00000000 "
         "ffffffff 18 01 0000 00000000 00040000 00*12 %08x %s",
         ox_of(b, 0), id_at(b, 0), payloads[_i]);
    if (_i < 3) {
        ck_assert_int_eq(b_return(b, 7)->vip, VIP_REJECT);
        ck_assert_uint_eq(opcode_at(b, 1), 0x19);
        hear_resp3(b, 0, 0, own_handle_at(b, 0));
    } else {
        ck_assert_ptr_null(b_return(b, 7));
        ck_assert_uint_eq(b->frame[1][0], 0x81);
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT_RETRY);
        hear_ba_acc(b, 0);
    }
    b_end(b);
}
END_TEST

/* The result of a Peer request that nobody has fetched is gone with the next request of the VI. */
START_TEST(result_not_fetched)
{
    struct bench *b = b_new();
    struct fcvi_address from = address(OURS), to = address(THEIRS);
    struct fcvi_attributes a;
    uint32_t vi = b_vi(b);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, 0, vi, &from, &to, FCVI_NEVER), VIP_SUCCESS);
    collect(b);
    hear_resp1(b, 0, 1, 0x04, FCVI_UNASSIGNED);
    hear_resp3(b, 0, 0, FCVI_UNASSIGNED);
    if (_i == 0) {
        b_request(b, vi, THEIRS, FCVI_NEVER, 7);
        ck_assert_int_eq(fcvi_vip_connect_peer_done(b->port, 0, vi, &a), VIP_INVALID_STATE);
    } else {
        ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, 0, vi, &from, &to, FCVI_NEVER), VIP_SUCCESS);
        collect(b);
        ck_assert_int_eq(fcvi_vip_connect_peer_done(b->port, 0, vi, &a), VIP_NOT_DONE);
    }
    hear_resp1(b, 2, 0, 0, 0xabcd);
    hear_resp3(b, 2, 0, own_handle_at(b, 2));
    ck_assert_int_eq(fcvi_vip_connect_peer_done(b->port, 0, vi, &a),
                     _i == 0 ? VIP_INVALID_STATE : VIP_SUCCESS);
    b_end(b);
}
END_TEST

/* ---- T1 ---- */

/* It ends a call that waits; what is posted stays so (E62); what comes later is of nobody's concern. */
START_TEST(t1_of_a_pending_client)
{
    struct bench *b = b_new();
    struct fcvi_descriptor d = {.op = FCVI_RECV};
    struct fcvi_completion done;
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, R_A_TOV / 2, 7);
    uint32_t handle = own_handle_at(b, 0), id = id_at(b, 0);
    ck_assert_int_eq(fcvi_vip_post(b->port, 0, vi, &d), VIP_SUCCESS);
    advance(b, R_A_TOV / 2 - 1);
    ck_assert_ptr_null(b_return(b, 7));
    advance(b, 1);
    ck_assert_int_eq(b_return(b, 7)->vip, VIP_TIMEOUT);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_int_eq(fcvi_vip_done(b->port, b->now, vi, true, &done), VIP_NOT_DONE);
    expect_names(b, handle, id, false);
    b_request(b, vi, THEIRS, FCVI_NEVER, 8); /* the VI can be used while the first Exchange ends */
    unsigned again = b->sent - 1;
    hear_resp1(b, again, 0, 0, 0xabce);
    hear_resp1(b, 0, 0, 0, 0xabcd); /* too late: 02h, whatever the VI does now */
    ck_assert_uint_eq(reason_at(b, b->sent - 1), 0x02);
    ck_assert_uint_eq(word_of(b, b->sent - 1, 24, 4), 0xabcd);
    hear_resp3(b, 0, 0, handle);
    hear_resp3(b, again, 0, own_handle_at(b, again));
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert_int_eq(b_return(b, 8)->vip, VIP_SUCCESS);
    b_end(b);
}
END_TEST

/* It has ended with the call. _i: Connected; the setup was lost; no Exchange was left for the request. */
START_TEST(t1_after_the_return)
{
    static const uint8_t states[] = {FCVI_STATE_CONNECTED, FCVI_STATE_ERROR, FCVI_STATE_IDLE};
    static const int codes[] = {VIP_SUCCESS, VIP_NOT_REACHABLE, VIP_ERROR_RESOURCE};
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    if (_i == 2)
        l.exchanges = 1;
    struct bench *b = b_begin(&l, &c);
    uint32_t vi = b_vi(b), first = b_vi(b);
    if (_i == 2)
        b_request(b, first, THEIRS, FCVI_NEVER, 6);
    b_request(b, vi, THEIRS, T1, 7);
    if (_i == 0) {
        hear_resp1(b, 0, 0, 0, 0xabcd);
        hear_resp3(b, 0, 0, own_handle_at(b, 0));
    } else if (_i == 1) {
        advance(b, R_A_TOV);
        hear_ba_acc(b, 0);
        advance(b, R_A_TOV);
        hear_ba_acc(b, 2);
    }
    ck_assert_int_eq(b_return(b, 7)->vip, codes[_i]);
    ck_assert_uint_eq(state_of(b, vi), states[_i]);
    if (_i == 2)
        ck_assert_uint_eq(counts(b).timers, 1); /* T3 of the other */
    advance(b, 2 * (uint64_t)T1);
    ck_assert_uint_eq(state_of(b, vi), states[_i]);
    ck_assert_int_eq(b_return(b, 7)->vip, codes[_i]);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    b_end(b);
}
END_TEST

/* An address that cannot be read is answered without one, whichever of the two it is (Table 15). */
START_TEST(addresses_that_are_none)
{
#define NO_ADDRESS "0000 10 00 00*16 00*128 "
#define FOUR_BYTES "0000 04 10 fe80000000000000 00000000000000a1 000102030405060708090a0b0c0d0e0f 00*112 "
#define TOO_LONG "0000 10 81 fe80000000000000 00000000000000b2 000102030405060708090a0b0c0d0e0f 00*112 "
    static const struct {
        const char *loc, *rem, *answer_loc, *answer_rem;
    } rows[] = {
        {FOUR_BYTES, ADDR_B, ADDR_B, NO_ADDRESS},
        {ADDR_A, TOO_LONG, NO_ADDRESS, ADDR_A},
        {TOO_LONG, FOUR_BYTES, NO_ADDRESS, NO_ADDRESS},
    };
    struct bench *b = b_new();
    hear(
        b,
        "02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 ffffffff 10 01 0000 00*8 00*12 00000042 "
        "00000000 0000 0001 00000005 %s%s" ATTRS,
        rows[_i].loc, rows[_i].rem);
    expect(b, 0,
           "03 010100 00 010200 58 890008 .. 02 0000 1234 .... 00000000 "
           "ffffffff 18 01 0000 00000000 00210000 00*12 00000042 00000000 0000 0001 ffffffff %s%s"
           "0000 01 00 ........ 00*20 00*4",
           rows[_i].answer_loc, rows[_i].answer_rem);
    hear_resp2(b, 0, 0, 0x1234, 0x42, FCVI_UNASSIGNED);
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("refused");
    TCase *t = tcase_create("client");
    tcase_add_loop_test(t, reason_by_reason, 0, REASONS);
    tcase_add_loop_test(t, payload_of_a_refusal, 0, 4);
    tcase_add_loop_test(t, result_not_fetched, 0, 2);
    tcase_add_test(t, t1_of_a_pending_client);
    tcase_add_loop_test(t, t1_after_the_return, 0, 3);
    tcase_add_loop_test(t, addresses_that_are_none, 0, 3);
    suite_add_tcase(s, t);
    return run_suite(s);
}
