/* Rev 1.0 (1999): a Connection Setup of three IUs, and what ends one (5.3, 5.7, 6.7 to 6.9, 7.1, 7.2, 8). The
 * clauses are the draft's; V.. are the golden bytes of its tables, R.. its register of errata. */
#include "rev1.h"

enum { LEVEL = FCVI_RELIABLE_DELIVERY };

static void make_v9(struct bench *b)
{
    const struct fcvi_attributes a = {.reliability = FCVI_RELIABLE_RECEPTION,
                                      .max_transfer_size = 0x10000,
                                      .rdma_write = true,
                                      .rdma_read = true,
                                      .preference = true};
    uint32_t vi;
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, b->now, &a, &vi), VIP_SUCCESS);
}

static struct bench *v9_bench(void)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = r1_config();
    l.max_transfer_size = 0x10000;
    struct bench *b = b_begin(&l, &c);
    b->edition = FCVI_EDITION_REV1;
    make_v9(b);
    return b;
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

#define RQST_HEADER(mode)                                                                                    \
    "02 010100 80 010200 58 290008 .. 01 0000 .... ffff 00000000 ffffffff 10" mode "0000 00000000 00000000 " \
    "00000001 ........ " R1_ADDR(OURS) R1_ADDR(THEIRS) R1_V9

/* ---- the client ---- */

/* V4, V6, V7, V9 */
START_TEST(a_client_connects_with_three_ius)
{
    struct bench *b = v9_bench();
    b_request(b, 0, THEIRS, FCVI_NEVER, 7);
    expect(b, 0, RQST_HEADER("01"));
    ck_assert_uint_eq(state_of(b, 0), FCVI_STATE_PENDING_CONNECT);
    r1_hear_resp1(b, 0, 0, 0, R1_HANDLE, R1_V9);
    expect(b, 1,
           "03 010100 80 010200 58 180000 .. 01 0001 %04x 8001 00000000 0000beef 19000000 00000000 00000000",
           ox_of(b, 0));
    ck_assert_uint_eq(b->sent, 2);
    const struct fcvi_event *e = b_return(b, 7);
    ck_assert_int_eq(e->vip, VIP_SUCCESS);
    ck_assert_uint_eq(e->remote_attributes.reliability, FCVI_RELIABLE_RECEPTION);
    ck_assert_uint_eq(e->remote_attributes.max_transfer_size, 0x10000);
    ck_assert(e->remote_attributes.preference && e->remote_attributes.rdma_write &&
              e->remote_attributes.rdma_read);
    ck_assert_uint_eq(state_of(b, 0), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(counts(b).setups, 0);
    r1_end(b);
}
END_TEST

/* V5 */
START_TEST(a_peer_asks_as_a_peer)
{
    struct bench *b = v9_bench();
    peer_request(b, 0, FCVI_NEVER);
    expect(b, 0, RQST_HEADER("02"));
    r1_hear_resp1(b, 0, 0, 0, R1_HANDLE, R1_V9);
    ck_assert_int_eq(peer_done(b, 0), VIP_SUCCESS);
    r1_end(b);
}
END_TEST

/* R30, R03: VI_REVISION of an answer and its handle decide nothing; 5.7.5: VI_MSG_ID comes back. */
START_TEST(an_answer_is_taken_by_its_exchange)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    hear(b,
         "03 010200 00 010100 58 890008 06 01 0001 %04x 8001 00000000 00000077 18 00 0000 00000009 00000000 "
         "00000002 0000beef " R1_ADDR(THEIRS) R1_ADDR(OURS) "%s",
         ox_of(b, 0), r1_attributes(LEVEL)); /* R06: its SEQ_CNT goes on from ours */
    ck_assert_int_eq(b_return(b, 7)->vip, VIP_SUCCESS);
    expect(b, 1,
           "03 010100 00 010200 58 180000 .. 01 0001 %04x 8001 00000000 0000beef 19000000 00000009 00000000",
           ox_of(b, 0));
    r1_end(b);
}
END_TEST

static const struct {
    uint8_t code;
    int vip, peer_vip;
} refusals[] = {
    {0x00, VIP_REJECT, VIP_ERROR_RESOURCE}, {0x01, VIP_REJECT, VIP_ERROR_RESOURCE},
    {0x02, VIP_NO_MATCH, VIP_NOT_DONE},     {0x03, VIP_TIMEOUT, VIP_TIMEOUT},
    {0x04, VIP_NO_MATCH, VIP_NOT_DONE},     {0x05, VIP_REJECT, VIP_NOT_DONE},
    {0x06, VIP_REJECT, VIP_ERROR_RESOURCE}, {0x07, VIP_REJECT, VIP_ERROR_RESOURCE},
    {0x08, VIP_REJECT, VIP_ERROR_RESOURCE}, {0x20, VIP_REJECT, VIP_ERROR_RESOURCE},
    {0xFF, VIP_REJECT, VIP_ERROR_RESOURCE},
};
enum { REFUSALS = sizeof refusals / sizeof refusals[0] };

/* Table 10; R08: RESP2 with flags 0 follows; R11: what else a refusal holds means nothing. */
START_TEST(a_refusal_ends_the_request)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    hear(b,
         "03 010200 00 010100 58 890008 06 01 0000 %04x 8001 00000000 ffffffff 18 01 0000 00000000 "
         "00%02x0000 ee*%u",
         ox_of(b, 0), refusals[_i].code, _i % 2 ? 332u : 4u);
    expect(b, 1,
           "03 010100 00 010200 58 180000 .. 01 0001 %04x 8001 00000000 ........ 19000000 00000000 00000000",
           ox_of(b, 0));
    ck_assert_int_eq(b_return(b, 7)->vip, refusals[_i].vip);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(counts(b).setups + counts(b).exchanges, 0);
    r1_end(b);
}
END_TEST

/* 5.3.3, R24: a Peer that found nobody waits for the other one's request. */
START_TEST(a_refused_peer_may_wait)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    peer_request(b, vi, R_A_TOV / 2);
    r1_hear_resp1(b, 0, 1, refusals[_i].code, FCVI_UNASSIGNED, r1_attributes(LEVEL));
    expect(b, 1,
           "03 010100 00 010200 58 180000 .. 01 0001 %04x 8001 00000000 ffffffff 19000000 00000000 00000000",
           ox_of(b, 0));
    ck_assert_int_eq(peer_done(b, vi), refusals[_i].peer_vip);
    if (refusals[_i].peer_vip == VIP_NOT_DONE) {
        r1_hear_rqst(b, 2, R1_OX, R1_HANDLE, r1_attributes(LEVEL));
        r1_hear_resp2(b, 0, 0, R1_OX);
        ck_assert_int_eq(peer_done(b, vi), VIP_SUCCESS);
    }
    r1_end(b);
}
END_TEST

/* V7: the application gave up before RESP1 came (5.7.6). */
START_TEST(a_late_answer_finds_nobody)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    b_request(b, vi, THEIRS, 1000, 7);
    advance(b, 1000);
    ck_assert_int_eq(b_return(b, 7)->vip, VIP_TIMEOUT);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    r1_hear_resp1(b, 0, 0, 0, R1_HANDLE, r1_attributes(LEVEL));
    expect(b, 1,
           "03 010100 00 010200 58 180000 .. 01 0001 %04x 8001 00000000 0000beef 19010000 00000000 00030000",
           ox_of(b, 0));
    ck_assert_uint_eq(counts(b).setups + counts(b).exchanges, 0);
    r1_end(b);
}
END_TEST

/* 8: ABTS after FCVI_ULP_TIMEOUT, and no second attempt. */
START_TEST(no_answer_means_abts)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    advance(b, R_A_TOV - 1);
    ck_assert_uint_eq(b->sent, 1);
    advance(b, 1);
    expect(b, 1, "81 010100 00 010200 00 090000 .. 00 0000 %04x ffff 00000000", ox_of(b, 0));
    ck_assert_int_eq(b_return(b, 7)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    r1_hear_resp1(b, 0, 0, 0, R1_HANDLE, r1_attributes(LEVEL)); /* too late */
    hear_ba_acc(b, 0);
    advance(b, R_A_TOV - 1);
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    r1_end(b);
}
END_TEST

/* ABTS for a request that nobody waits for any more, and for one of a Peer that has another connection */
START_TEST(no_answer_to_a_request_that_is_not_needed)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false), peer = r1_vi(b, LEVEL, false);
    b_request(b, vi, THEIRS, 1000, 7);
    peer_request(b, peer, FCVI_NEVER);
    r1_hear_rqst(b, 2, R1_OX, R1_HANDLE, r1_attributes(LEVEL)); /* ours is the higher Host Address */
    r1_hear_resp2(b, 0, 0, R1_OX);
    ck_assert_int_eq(peer_done(b, peer), VIP_SUCCESS);
    unsigned sent = b->sent;
    advance(b, R_A_TOV);
    ck_assert_uint_eq(b->sent, sent + 2);
    ck_assert_uint_eq(b->frame[sent][0], 0x81);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(state_of(b, peer), FCVI_STATE_CONNECTED);
    r1_end(b);
}
END_TEST

/* Not in one frame, another length, a handle that is none, an accept of another revision's layout, a lost
 * frame before it */
static const char *const damaged[] = {
    "03 010200 00 010100 58 800008 06 01 0000 %04x 8001 00000000 ffffffff 18 00 0000 00*8 00000001 0000beef "
    "00*324",
    "03 010200 00 010100 58 890008 06 01 0000 %04x 8001 00000000 ffffffff 18 00 0000 00*8 00000001 0000beef "
    "00*323 00",
    "03 010200 00 010100 58 890008 06 01 0000 %04x 8001 00000000 ffffffff 18 00 0000 00*8 00000001 0000beef "
    "00*328",
    "03 010200 00 010100 58 890008 06 01 0000 %04x 8001 00000000 ffffffff 18 00 0000 00*8 00000001 0000beef "
    "00*640",
    "03 010200 00 010100 58 890008 06 01 0000 %04x 8001 00000000 ffffffff 18 00 0000 00*8 00000001 "
    "ffffffff " R1_ADDR(THEIRS) R1_ADDR(OURS) R1_UD,
    "03 010200 00 010100 58 890008 06 01 0002 %04x 8001 00000000 ffffffff 18 00 0000 00*8 00000001 "
    "0000beef " R1_ADDR(THEIRS) R1_ADDR(OURS) R1_UD,
};
enum { DAMAGED = sizeof damaged / sizeof damaged[0] };

START_TEST(an_answer_that_cannot_be_read_means_abts)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, FCVI_UNRELIABLE, false);
    char hex[2048];
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    snprintf(hex, sizeof hex, damaged[_i], ox_of(b, 0));
    hear(b, "%s", hex);
    expect(b, 1, "81 010100 00 010200 00 090000 .. 00 0000 %04x .... 00000000", ox_of(b, 0));
    ck_assert_int_eq(b_return(b, 7)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    r1_end(b);
}
END_TEST

/* R01: the Server has not got RESP2 and aborts the Exchange: the Client has no connection. */
START_TEST(a_client_learns_that_resp2_was_lost)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    r1_connect(b, vi, LEVEL);
    hear(b, "81 010200 00 010100 00 890000 07 00 0000 %04x 8001 00000000", ox_of(b, 0));
    expect(b, 2, "84 010100 00 010200 00 190000 .. 00 0000 %04x 8001 00000000 00000000 %04x 8001 0000 ffff",
           ox_of(b, 0), ox_of(b, 0));
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 1);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    r1_end(b);
}
END_TEST

/* In class 2 it comes back. */
START_TEST(a_client_learns_that_resp2_was_rejected)
{
    struct fcvi_port_config c = r1_config();
    c.service_class = 2;
    struct bench *b = r1_begin(&c);
    uint32_t vi = r1_vi(b, LEVEL, false);
    r1_connect(b, vi, LEVEL);
    unsigned resp2 = b->sent - 1;
    ck_assert_uint_eq(opcode_at(b, resp2), 0x19);
    hear(b, "c2 010200 00 010100 00 d00000 %02x 00 0001 %04x 8001 02070000", word_of(b, resp2, 12, 1),
         ox_of(b, resp2));
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 1);
    r1_end(b);
}
END_TEST

/* Twice FCVI_ULP_TIMEOUT later no such ABTS can come; one that does names nothing. Nor does one for the setup
 * of another connection than the present one. */
START_TEST(a_late_abort_touches_no_connection)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    r1_connect(b, vi, LEVEL);
    unsigned ox_id = ox_of(b, 0);
    if (_i == 0) {
        advance(b, 2 * R_A_TOV);
    } else {
        fcvi_vip_disconnect(b->port, b->now, vi, 8);
        collect(b);
        r1_hear_disconnected(b, b->sent - 1);
        if (_i == 1)
            r1_connect(b, vi, LEVEL);
    }
    uint8_t state = state_of(b, vi);
    hear(b, "81 010200 00 010100 00 890000 07 00 0000 %04x 8001 00000000", ox_id);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    ck_assert_uint_eq(state_of(b, vi), state);
    r1_end(b);
}
END_TEST

/* Where Exchanges are short none is kept for it. */
START_TEST(few_exchanges_are_not_kept_for_a_lost_resp2)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = r1_config();
    l.exchanges = 1;
    struct bench *b = b_begin(&l, &c);
    b->edition = FCVI_EDITION_REV1;
    uint32_t vi = r1_vi(b, LEVEL, false);
    r1_connect(b, vi, LEVEL);
    ck_assert_uint_eq(counts(b).exchanges, 0);
    r1_end(b);
}
END_TEST

/* ---- the server ---- */

/* V6, V7 */
START_TEST(a_server_accepts)
{
    struct bench *b = v9_bench();
    b_wait(b, FCVI_NEVER, 1);
    hear(b,
         "02 010200 80 010100 58 290008 05 01 0000 0123 ffff 00000000 ffffffff 10010000 00000000 "
         "00000000 " R1_CONNECT R1_V9,
         R1_HANDLE);
    const struct fcvi_event *e = b_return(b, 1);
    ck_assert_int_eq(e->vip, VIP_SUCCESS);
    ck_assert_uint_eq(e->remote_attributes.reliability, FCVI_RELIABLE_RECEPTION);
    ck_assert_uint_eq(e->remote_address.discriminator_length, 16);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, e->conn, 0, 2), FCVI_VIP_PENDING);
    collect(b);
    expect(b, 0,
           "03 010100 80 010200 58 890008 .. 01 0000 0123 .... 00000000 ffffffff 18000000 00000000 00000000 "
           "00000001 ........ " R1_ADDR(OURS) R1_ADDR(THEIRS) R1_V9);
    ck_assert_ptr_null(b_return(b, 2));
    r1_hear_resp2(b, 0, 0, R1_OX);
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, 0), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(b->sent, 1); /* there is no fourth IU */
    ck_assert_uint_eq(counts(b).setups + counts(b).exchanges, 0);
    r1_end(b);
}
END_TEST

static uint32_t serve(struct bench *b, uint32_t vi)
{
    b_wait(b, FCVI_NEVER, 1);
    r1_hear_rqst(b, 1, R1_OX, R1_HANDLE, r1_attributes(LEVEL));
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, b_return(b, 1)->conn, vi, 2), FCVI_VIP_PENDING);
    collect(b);
    return r1_handle_at(b, b->sent - 1);
}

/* R06: a Client that counts the frames of both sides. */
START_TEST(resp2_may_count_both_sides)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    serve(b, vi);
    hear(b, "03 010200 00 010100 58 180000 06 01 0002 0123 ffff 00000000 ffffffff 19000000 00*8");
    ck_assert_uint_eq(b->sent, 1);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    r1_end(b);
}
END_TEST

/* V6; VipConnectReject is 01h, no Server 02h, no Peer 04h (Table 10, 5.3.3). RESP2 of any kind ends it. */
START_TEST(a_request_is_refused)
{
    static const uint8_t reasons[] = {0x01, 0x02, 0x04};
    struct bench *b = r1_new();
    if (_i == 0)
        b_wait(b, FCVI_NEVER, 1);
    r1_hear_rqst(b, _i == 2 ? 2 : 1, R1_OX, R1_HANDLE, R1_UD);
    if (_i == 0)
        ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, b_return(b, 1)->conn), VIP_SUCCESS);
    collect(b);
    expect(
        b, 0,
        "03 010100 00 010200 58 890008 .. 01 0000 0123 .... 00000000 ffffffff 18010000 00000000 00%02x0000 "
        "00000001 ........ " R1_ADDR(OURS) R1_ADDR(THEIRS) "01000000 00*24",
        reasons[_i]);
    r1_hear_resp2(b, (unsigned)_i % 2, reasons[_i], R1_OX);
    ck_assert_uint_eq(b->sent, 1);
    ck_assert_uint_eq(counts(b).setups + counts(b).exchanges, 0);
    r1_end(b);
}
END_TEST

/* 8: who waits for RESP2 in vain aborts the Exchange. */
START_TEST(no_resp2_means_abts)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    if (_i == 0)
        serve(b, vi);
    else
        r1_hear_rqst(b, 1, R1_OX, R1_HANDLE, R1_UD);
    advance(b, R_A_TOV - 1);
    ck_assert_uint_eq(b->sent, 1);
    advance(b, 1);
    expect(b, 1, "81 010100 00 010200 00 890000 .. 00 0000 0123 %04x 00000000", word_of(b, 0, 18, 2));
    if (_i == 0)
        ck_assert_int_eq(b_return(b, 2)->vip, VIP_TIMEOUT);
    ck_assert_uint_eq(state_of(b, vi), _i == 0 ? FCVI_STATE_ERROR : FCVI_STATE_IDLE);
    r1_hear_resp2(b, 0, 0, R1_OX); /* too late */
    ck_assert_uint_ne(state_of(b, vi), FCVI_STATE_CONNECTED);
    hear(b, "84 010200 00 010100 00 190000 07 00 0000 0123 %04x 00000000 0000 0000 0123 %04x 0000 ffff",
         word_of(b, 0, 18, 2), word_of(b, 0, 18, 2));
    advance(b, R_A_TOV); /* the Recovery_Qualifier of the BA_ACC ends with RRQ (FC-FS) */
    expect(b, 2, "22 010100 00 010200 01 290000 .. 00 0000 .... ffff 00000000 12000000 00 010100 0123 %04x",
           word_of(b, 0, 18, 2));
    r1_end(b);
}
END_TEST

/* The client has given up (5.7.6), or RESP2 is not the frame that is due. */
START_TEST(resp2_ends_a_setup_without_a_connection)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    serve(b, vi);
    if (_i == 0) {
        r1_hear_resp2(b, 1, 3, R1_OX);
        ck_assert_uint_eq(b->sent, 1);
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    } else {
        hear(b, "03 010200 00 010100 58 180000 06 01 0005 0123 ffff 00000000 ffffffff 19000000 00*8");
        ck_assert_uint_eq(b->frame[1][0], 0x81);
    }
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_TIMEOUT);
    r1_end(b);
}
END_TEST

/* ABTS of the client, before and after the application has answered: nobody is connected. */
START_TEST(a_request_is_aborted)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    if (_i == 0) {
        serve(b, vi);
        hear_abts(b, R1_OX);
        ck_assert_uint_eq(b->sent, 2);
        ck_assert_uint_eq(b->frame[1][0], 0x84);
    } else {
        b_wait(b, FCVI_NEVER, 1);
        r1_hear_rqst(b, 1, R1_OX, R1_HANDLE, r1_attributes(LEVEL));
        hear_abts(b, R1_OX);
        ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, b_return(b, 1)->conn, vi, 2),
                         FCVI_VIP_PENDING);
        advance(b, R_A_TOV);
        ck_assert_uint_eq(b->sent, 1);
    }
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_TIMEOUT);
    ck_assert_uint_ne(state_of(b, vi), FCVI_STATE_CONNECTED);
    r1_end(b);
}
END_TEST

/* The responder aborts the Exchange of our request. */
START_TEST(our_request_is_aborted)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    hear(b, "81 010200 00 010100 00 890000 07 00 0000 %04x ffff 00000000", ox_of(b, 0));
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(b->frame[1][0], 0x84);
    ck_assert_int_eq(b_return(b, 7)->vip, VIP_NOT_REACHABLE);
    r1_end(b);
}
END_TEST

/* R27: payloads of another length or revision, addresses that cannot be, reserved modes, no handle. */
static const struct {
    unsigned mode;
    const char *payload;
} requests[] = {
    {1, "00000001 0000beef " R1_ADDR(THEIRS) R1_ADDR(OURS) "01000000 00008000 00*16 000000"},
    {1, "00000001 0000beef " R1_ADDR(THEIRS) R1_ADDR(OURS) R1_UD "00"},
    {1, "00000001 0000beef " R1_ADDR(THEIRS) R1_ADDR(OURS) R1_UD "00*8"},
    {1, "00000001 0000beef " R1_ADDR(THEIRS) R1_ADDR(OURS) R1_UD "00*1600"},
    {1, ""},
    {1, "00000000 0000beef " R1_ADDR(THEIRS) R1_ADDR(OURS) R1_UD},
    {1, "00000002 0000beef " R1_ADDR(THEIRS) R1_ADDR(OURS) R1_UD},
    {1, "00000001 ffffffff " R1_ADDR(THEIRS) R1_ADDR(OURS) R1_UD},
    {1, "00000001 0000beef 00040010 00*144 " R1_ADDR(OURS) R1_UD},
    {1, "00000001 0000beef " R1_ADDR(THEIRS) "00100081 00*144 " R1_UD},
    {1, "00000001 0000beef 0010ffff 00*144 " R1_ADDR(OURS) R1_UD},
    {0, "00000001 0000beef " R1_ADDR(THEIRS) R1_ADDR(OURS) R1_UD},
    {3, "00000001 0000beef " R1_ADDR(THEIRS) R1_ADDR(OURS) R1_UD},
    {4, "00000001 0000beef " R1_ADDR(THEIRS) R1_ADDR(OURS) R1_UD},
    {7, "00000001 0000beef " R1_ADDR(THEIRS) R1_ADDR(OURS) R1_UD},
};
enum { REQUESTS = sizeof requests / sizeof requests[0] };

START_TEST(a_request_that_is_none_is_refused)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, FCVI_UNRELIABLE, false);
    b_wait(b, FCVI_NEVER, 1);
    hear(b,
         "02 010200 00 010100 58 290008 05 01 0000 0123 ffff 00000000 ffffffff 10 %02x 0000 00000007 "
         "00000000 %s",
         requests[_i].mode, requests[_i].payload);
    ck_assert_ptr_null(b_return(b, 1));
    ck_assert_uint_eq(b->sent, 1);
    ck_assert_uint_eq(b->length[0], 24 + 16 + 332);
    ck_assert_uint_eq(word_of(b, 0, 28, 4), 0x18010000);
    ck_assert_uint_eq(word_of(b, 0, 32, 4), 7); /* 6.8: the VI_MSG_ID of the request */
    ck_assert_uint_eq(word_of(b, 0, 36, 4), 0x00010000);
    r1_hear_resp2(b, 0, 0, R1_OX);
    r1_hear_rqst(b, 1, R1_OX + 1, R1_HANDLE, R1_UD); /* the next one is served */
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, b_return(b, 1)->conn, vi, 2), FCVI_VIP_PENDING);
    collect(b);
    r1_hear_resp2(b, 0, 0, R1_OX + 1);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    r1_end(b);
}
END_TEST

/* 5.3, 6.7: one frame, the first of its Exchange, of the originator; and one request in an Exchange. */
START_TEST(a_request_that_is_not_one_frame_is_discarded)
{
    static const char *const starts[] = {
        "02 010200 00 010100 58 200008 05 01 0000 0124 ffff 00000000 ", /* it does not end */
        "02 010200 00 010100 58 090008 05 01 0000 0124 ffff 00000000 ", /* nor begin */
        "02 010200 00 010100 58 290008 05 01 0001 0124 ffff 00000000 ",
        "02 010200 00 010100 58 290008 05 01 0000 0124 ffff 00000004 ",
        "02 010200 00 010100 58 a90008 05 01 0000 0124 ffff 00000000 ",
        "02 010200 00 010100 58 290008 05 01 0000 0123 ffff 00000000 ", /* the Exchange is open */
    };
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    b_wait(b, FCVI_NEVER, 1);
    b_wait(b, R_A_TOV, 3);
    r1_hear_rqst(b, 1, R1_OX, R1_HANDLE, r1_attributes(LEVEL));
    for (unsigned i = 0; i < sizeof starts / sizeof starts[0]; i++)
        hear(b,
             "%s ffffffff 10010000 00000000 00000000 00000001 0000beef " R1_ADDR(THEIRS) R1_ADDR(OURS) "%s",
             starts[i], r1_attributes(LEVEL));
    ck_assert_uint_eq(b->sent, 0);
    ck_assert_ptr_null(b_return(b, 3));
    ck_assert_uint_eq(counts(b).setups, 1);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, b_return(b, 1)->conn, vi, 2), FCVI_VIP_PENDING);
    collect(b);
    r1_hear_resp1(b, 0, 0, 0, R1_HANDLE, r1_attributes(LEVEL)); /* it is no answer to this */
    r1_hear_resp2(b, 0, 0, R1_OX + 9);                          /* nor that */
    r1_hear_resp2(b, 0, 0, R1_OX);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    r1_end(b);
}
END_TEST

/* No setup and no Exchange is free: the request is one that never came. */
START_TEST(a_request_finds_no_room)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = r1_config();
    if (_i == 0)
        l.setups = 1;
    else
        l.exchanges = 1;
    struct bench *b = b_begin(&l, &c);
    b->edition = FCVI_EDITION_REV1;
    b_wait(b, R_A_TOV, 1);
    b_wait(b, R_A_TOV, 2);
    r1_hear_rqst(b, 1, R1_OX, R1_HANDLE, R1_UD);
    r1_hear_rqst(b, 1, R1_OX + 1, R1_HANDLE + 1, R1_UD);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_SUCCESS);
    ck_assert_ptr_null(b_return(b, 2));
    ck_assert_uint_eq(b->sent, 0);
    ck_assert_uint_eq(counts(b).setups, 1);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, b_return(b, 1)->conn), VIP_SUCCESS);
    collect(b);
    r1_hear_resp2(b, 0, 0, R1_OX);
    r1_end(b);
}
END_TEST

/* An Exchange of another kind is no setup: a request there is a new one, and an answer there answers nothing.
 */
START_TEST(an_exchange_of_a_message_is_no_setup)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false), handle = r1_connect(b, vi, LEVEL);
    static struct fcvi_descriptor d;
    d = (struct fcvi_descriptor){.op = FCVI_RDMA_READ};
    ck_assert_int_eq(fcvi_vip_post(b->port, b->now, vi, &d), VIP_SUCCESS);
    collect(b);
    hear(b, "01 010200 00 010100 58 200000 07 01 0000 0123 ffff 00000000 %08x 00000000 00000000 00000000",
         handle);
    unsigned sent = b->sent;
    r1_hear_resp1(b, sent - 1, 0, 0, R1_HANDLE, r1_attributes(LEVEL));
    ck_assert_uint_eq(b->sent, sent);
    r1_hear_rqst(b, 1, R1_OX, R1_HANDLE, R1_UD); /* the OX_ID of the open Send */
    ck_assert_uint_eq(b->sent, sent + 1);
    ck_assert_uint_eq(word_of(b, sent, 28, 4), 0x18010000);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    r1_hear_resp2(b, 0, 0, R1_OX);
    r1_end(b);
}
END_TEST

/* 4.2, R16, R29: what differs is told to the application; the request stays. */
START_TEST(attributes_have_to_match)
{
    static const struct {
        const char *attributes;
        int vip;
    } other[] = {
        {"01000000 00008000 00*16 02000000", VIP_INVALID_RELIABILITY_LEVEL},
        {"04000000 00008000 00*16 03000000", VIP_INVALID_RELIABILITY_LEVEL},
        {"03000000 00008000 00*16 03000000", VIP_INVALID_RELIABILITY_LEVEL},
        {"00000000 00008000 00*16 03000000", VIP_INVALID_RELIABILITY_LEVEL},
        {"02000000 00007fff 00*16 03000000", VIP_INVALID_MTU},
        {"02000000 00008000 01 00*15 03000000", VIP_INVALID_QOS},
    };
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    b_wait(b, FCVI_NEVER, 1);
    r1_hear_rqst(b, 1, R1_OX, R1_HANDLE, other[_i].attributes);
    uint32_t conn = b_return(b, 1)->conn;
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, conn, vi, 2), other[_i].vip);
    ck_assert_uint_eq(b->sent, 0);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, conn), VIP_SUCCESS);
    collect(b);
    r1_hear_resp2(b, 0, 0, R1_OX);
    r1_end(b);
}
END_TEST

/* R29, R13: RDMA rights may differ, and Priority in another order of bits is Routine. */
START_TEST(some_attributes_may_differ)
{
    static const char *const other[] = {"02000000 00008000 00*16 00000000",
                                        "02000000 00008000 20 00*15 03000000",
                                        "02ffffff 00008000 80 00*15 ffffffff"};
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    b_wait(b, FCVI_NEVER, 1);
    r1_hear_rqst(b, 1, R1_OX, R1_HANDLE, other[_i]);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, b_return(b, 1)->conn, vi, 2), FCVI_VIP_PENDING);
    collect(b);
    r1_hear_resp2(b, 0, 0, R1_OX);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    r1_end(b);
}
END_TEST

/* 7.1: a Discriminator of 0 to 128 bytes. */
START_TEST(discriminators_of_any_length_are_matched)
{
    static const struct {
        uint8_t length;
        const char *address, *other;
    } all[] = {
        {0, "00100000 " OURS " 00*128 ", "00100001 " OURS " 00*128 "},
        {1, "00100001 " OURS " 5a 00*127 ", "00100002 " OURS " 5a 00*127 "},
        {15, "0010000f " OURS " 5a*15 00*113 ", "0010000f " OURS " 5a*14 00*114 "},
        {16, "00100010 " OURS " 5a*16 00*112 ", "00100010 " THEIRS " 5a*16 00*112 "},
        {128, "00100080 " OURS " 5a*128 ", "0010007f " OURS " 5a*128 "},
    };
    struct bench *b = r1_new();
    struct fcvi_address a = {.discriminator_length = all[_i].length};
    from_hex(OURS, a.host);
    memset(a.discriminator, 0x5a, a.discriminator_length);
    ck_assert_int_eq(fcvi_vip_connect_wait(b->port, b->now, &a, FCVI_NEVER, 1), FCVI_VIP_PENDING);
    for (unsigned k = 0; k < 2; k++)
        hear(
            b,
            "02 010200 00 010100 58 290008 05 01 0000 %04x ffff 00000000 ffffffff 10010000 00000000 00000000 "
            "00000001 0000beef " R1_ADDR(THEIRS) "%s" R1_UD,
            R1_OX + k, k == 0 ? all[_i].other : all[_i].address);
    ck_assert_uint_eq(b->sent, 1); /* the first is refused */
    ck_assert_uint_eq(reason_at(b, 0), 2);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, b_return(b, 1)->conn), VIP_SUCCESS);
    collect(b);
    r1_hear_resp2(b, 0, 0, R1_OX);
    r1_hear_resp2(b, 0, 0, R1_OX + 1);
    a.discriminator_length = 129;
    ck_assert_int_eq(fcvi_vip_connect_wait(b->port, b->now, &a, FCVI_NEVER, 1), VIP_INVALID_PARAMETER);
    r1_end(b);
}
END_TEST

/* ---- concurrent Peers (5.3.4) ---- */

/* Ours is the numerically higher and the lower Host Address, as 128 bits without a sign. */
static const struct {
    const char *ours, *theirs;
    uint8_t reason; /* 0: accept */
} hosts[] = {
    {OURS, THEIRS, 0},
    {THEIRS, OURS, 5},
    {"80000000000000000000000000000001", "7fffffffffffffffffffffffffffffff", 0},
    {"00000000000000000000000000000001", "80000000000000000000000000000000", 5},
    {"0000000000000000000000000a000002", "0000000000000000000000000a0000ff", 5},
};
enum { HOSTS = sizeof hosts / sizeof hosts[0] };

static struct bench *peers(const char *ours, const char *theirs)
{
    struct fcvi_port_config c = r1_config();
    from_hex(ours, c.self.host[0]);
    from_hex(theirs, c.peer.host[0]);
    c.self.port_name = 0x10000000c9000000 + (memcmp(c.self.host[0], c.peer.host[0], 16) < 0 ? 9 : 0);
    return r1_begin(&c); /* by Port_Name it would go the other way */
}

static void hear_peer(struct bench *b, const char *ours, const char *theirs)
{
    hear(b,
         "02 010200 00 010100 58 290008 05 01 0000 0123 ffff 00000000 ffffffff 10020000 00000000 00000000 "
         "00000001 0000beef 0010 0010 %s 000102030405060708090a0b0c0d0e0f 00*112 "
         "0010 0010 %s 000102030405060708090a0b0c0d0e0f 00*112 %s",
         theirs, ours, r1_attributes(LEVEL));
}

START_TEST(concurrent_peers_go_by_their_host_addresses)
{
    const char *ours = hosts[_i].ours, *theirs = hosts[_i].theirs;
    struct bench *b = peers(ours, theirs);
    uint32_t vi = r1_vi(b, LEVEL, false);
    struct fcvi_address from = address(ours), to = address(theirs);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, b->now, vi, &from, &to, FCVI_NEVER), VIP_SUCCESS);
    collect(b);
    hear_peer(b, ours, theirs);
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(opcode_at(b, 1), 0x18);
    ck_assert_uint_eq(flags_at(b, 1), hosts[_i].reason != 0);
    ck_assert_uint_eq(reason_at(b, 1), hosts[_i].reason);
    r1_hear_resp2(b, 0, 0, R1_OX);
    if (hosts[_i].reason == 0)
        r1_hear_resp1(b, 0, 1, 5, FCVI_UNASSIGNED, r1_attributes(LEVEL));
    else
        r1_hear_resp1(b, 0, 0, 0, R1_HANDLE, r1_attributes(LEVEL));
    ck_assert_uint_eq(word_of(b, 2, 28, 4), 0x19000000);
    ck_assert_int_eq(peer_done(b, vi), VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(counts(b).setups, 0);
    r1_end(b);
}
END_TEST

/* Never two connections: a Peer that has accepted takes no acceptance of its own request. */
START_TEST(a_peer_that_is_taken_refuses_an_acceptance)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    peer_request(b, vi, FCVI_NEVER);
    r1_hear_rqst(b, 2, R1_OX, R1_HANDLE, r1_attributes(LEVEL));
    r1_hear_resp1(b, 0, 0, 0, R1_HANDLE + 1, r1_attributes(LEVEL));
    ck_assert_uint_eq(word_of(b, 2, 28, 4), 0x19010000);
    ck_assert_uint_eq(word_of(b, 2, 36, 4), 0x00050000);
    r1_hear_resp2(b, 0, 0, R1_OX);
    ck_assert_int_eq(peer_done(b, vi), VIP_SUCCESS);
    r1_end(b);
}
END_TEST

/* Two Peers of one port have one Host Address. */
START_TEST(peers_of_one_port_refuse_each_other_as_duplicates)
{
    struct bench *b = r1_new();
    uint32_t one = r1_vi(b, LEVEL, false), two = r1_vi(b, LEVEL, false);
    struct fcvi_address own = address(OURS);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, b->now, one, &own, &own, FCVI_NEVER),
                     VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, b->now, two, &own, &own, FCVI_NEVER),
                     VIP_SUCCESS);
    collect(b);
    ck_assert_int_eq(peer_done(b, one), VIP_ERROR_RESOURCE);
    ck_assert_int_eq(peer_done(b, two), VIP_ERROR_RESOURCE);
    ck_assert_uint_eq(b->sent, 0);
    r1_end(b);
}
END_TEST

/* One after the other they meet. */
START_TEST(peers_of_one_port_meet)
{
    struct bench *b = r1_new();
    uint32_t one = r1_vi(b, LEVEL, false), two = r1_vi(b, LEVEL, false);
    struct fcvi_address own = address(OURS);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, b->now, one, &own, &own, FCVI_NEVER),
                     VIP_SUCCESS);
    collect(b);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, b->now, two, &own, &own, FCVI_NEVER),
                     VIP_SUCCESS);
    collect(b);
    ck_assert_int_eq(peer_done(b, one), VIP_SUCCESS);
    ck_assert_int_eq(peer_done(b, two), VIP_SUCCESS);
    ck_assert_uint_eq(b->sent, 0);
    free(b->memory);
    free(b);
}
END_TEST

START_TEST(peers_with_other_attributes_both_give_up)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    peer_request(b, vi, FCVI_NEVER);
    if (_i == 0) {
        r1_hear_rqst(b, 2, R1_OX, R1_HANDLE, r1_attributes(FCVI_UNRELIABLE));
        ck_assert_uint_eq(word_of(b, 1, 36, 4), 0x00010000);
    } else {
        r1_hear_resp1(b, 0, 1, 1, FCVI_UNASSIGNED, r1_attributes(FCVI_UNRELIABLE));
    }
    ck_assert_int_eq(peer_done(b, vi), VIP_INVALID_RELIABILITY_LEVEL);
    r1_hear_resp2(b, 0, 0, R1_OX);
    r1_end(b);
}
END_TEST

/* ---- the configuration ---- */

START_TEST(what_rev1_has_not_is_refused)
{
    static uint64_t memory[1 << 16];
    struct fcvi_port_config good = r1_config(), c = good;
    size_t size = fcvi_port_size(&b_limits);
    ck_assert_uint_le(size, sizeof memory * 8);
    c.receive_size = 348;
    ck_assert_ptr_nonnull(fcvi_port_init(memory, size, &b_limits, &c));
    c.receive_size = 347;
    ck_assert_ptr_null(fcvi_port_init(memory, size, &b_limits, &c));
    c = good;
    c.connect_info = true;
    ck_assert_ptr_null(fcvi_port_init(memory, size, &b_limits, &c));
    c = good;
    c.resp3_is_message_0 = true;
    ck_assert_ptr_null(fcvi_port_init(memory, size, &b_limits, &c));
    c = good;
    c.revision = FCVI_EDITION_COUNT;
    ck_assert_ptr_null(fcvi_port_init(memory, size, &b_limits, &c));
}
END_TEST

/* The one frame of a connection IU fits into 348 bytes (6.7). A login of less than that is of no use; one
 * without the bits that 2007 asks for is. */
START_TEST(a_login_needs_room_for_one_frame)
{
    struct fcvi_port_config c = r1_config();
    c.explicit_login = true;
    struct bench *b = r1_begin(&c);
    uint32_t vi = r1_vi(b, LEVEL, false);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    ck_assert_uint_eq(b->frame[0][8], 0x01); /* PLOGI */
    hear_reply(b, 0, "010100",
               _i == 0 ? "02000000 " SERVICE("0000015c", "10000000c9000001", "20000000c9000001", "015c")
                       : "02000000 " SERVICE("0000015b", "10000000c9000001", "20000000c9000001", "015b"));
    if (_i == 0) {
        ck_assert_uint_eq(b->sent, 2);
        ck_assert_uint_eq(b->length[1], 24 + 16 + 332);
        r1_hear_resp1(b, 1, 0, 0, R1_HANDLE, r1_attributes(LEVEL));
        ck_assert_int_eq(b_return(b, 7)->vip, VIP_SUCCESS);
    } else {
        ck_assert_int_eq(b_return(b, 7)->vip, VIP_NOT_REACHABLE);
        r1_hear_rqst(b, 1, R1_OX, R1_HANDLE, R1_UD); /* no answer fits into its frames */
        ck_assert_uint_eq(b->sent, 1);
        ck_assert_uint_eq(counts(b).setups + counts(b).exchanges, 0);
    }
    r1_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rev1 setup");
    TCase *t = tcase_create("client");
    tcase_add_test(t, a_client_connects_with_three_ius);
    tcase_add_test(t, a_peer_asks_as_a_peer);
    tcase_add_test(t, an_answer_is_taken_by_its_exchange);
    tcase_add_loop_test(t, a_refusal_ends_the_request, 0, REFUSALS);
    tcase_add_loop_test(t, a_refused_peer_may_wait, 0, REFUSALS);
    tcase_add_test(t, a_late_answer_finds_nobody);
    tcase_add_test(t, no_answer_means_abts);
    tcase_add_test(t, no_answer_to_a_request_that_is_not_needed);
    tcase_add_loop_test(t, an_answer_that_cannot_be_read_means_abts, 0, DAMAGED);
    tcase_add_test(t, a_client_learns_that_resp2_was_lost);
    tcase_add_test(t, a_client_learns_that_resp2_was_rejected);
    tcase_add_loop_test(t, a_late_abort_touches_no_connection, 0, 3);
    tcase_add_test(t, few_exchanges_are_not_kept_for_a_lost_resp2);
    suite_add_tcase(s, t);
    t = tcase_create("server");
    tcase_add_test(t, a_server_accepts);
    tcase_add_test(t, resp2_may_count_both_sides);
    tcase_add_loop_test(t, a_request_is_refused, 0, 3);
    tcase_add_loop_test(t, no_resp2_means_abts, 0, 2);
    tcase_add_loop_test(t, resp2_ends_a_setup_without_a_connection, 0, 2);
    tcase_add_loop_test(t, a_request_is_aborted, 0, 2);
    tcase_add_test(t, our_request_is_aborted);
    tcase_add_loop_test(t, a_request_that_is_none_is_refused, 0, REQUESTS);
    tcase_add_test(t, a_request_that_is_not_one_frame_is_discarded);
    tcase_add_loop_test(t, a_request_finds_no_room, 0, 2);
    tcase_add_test(t, an_exchange_of_a_message_is_no_setup);
    tcase_add_loop_test(t, attributes_have_to_match, 0, 6);
    tcase_add_loop_test(t, some_attributes_may_differ, 0, 3);
    tcase_add_loop_test(t, discriminators_of_any_length_are_matched, 0, 5);
    suite_add_tcase(s, t);
    t = tcase_create("peers");
    tcase_add_loop_test(t, concurrent_peers_go_by_their_host_addresses, 0, HOSTS);
    tcase_add_test(t, a_peer_that_is_taken_refuses_an_acceptance);
    tcase_add_test(t, peers_of_one_port_refuse_each_other_as_duplicates);
    tcase_add_test(t, peers_of_one_port_meet);
    tcase_add_loop_test(t, peers_with_other_attributes_both_give_up, 0, 2);
    suite_add_tcase(s, t);
    t = tcase_create("configuration");
    tcase_add_test(t, what_rev1_has_not_is_refused);
    tcase_add_loop_test(t, a_login_needs_room_for_one_frame, 0, 2);
    suite_add_tcase(s, t);
    return run_suite(s);
}
