/* VI/TCP: setup and end of connections, active and passive (4.2, 4.3), byte for byte. */
#include "vitcp.h"

static const size_t cuts[] = {0, 1, 5, 24};
enum { CUTS = 4 };

/* ---- passive ---- */

START_TEST(nothing_listens_before_the_first_vi)
{
    struct tcp *t = t_new();
    uint32_t stream;
    t_make(t);
    ck_assert(!fcvi_stream_incoming(t->port, t->now, &t_tester, &t_port, &stream));
    t_vi(t, FCVI_RELIABLE_RECEPTION);
    ck_assert(fcvi_stream_incoming(t->port, t->now, &t_tester, &t_port, &stream));
    t_free(t);
}
END_TEST

START_TEST(accepted_request)
{
    struct tcp *t = t_new();
    t->cut = cuts[_i];
    t_make(t);
    t_memory(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    t_post(t, vi, FCVI_RECV, 0, 100);
    t_post(t, vi, FCVI_RECV, 100, 100);
    t_wait(t, 0xaa, 1);
    uint32_t stream = t_call(t);
    t_send(t, stream, T_REQUEST, 3, 0x0003, 0x8000, 5);
    t_quiet(t, stream, FCVI_STREAM_NONE); /* no answer before the application has said it (4.1) */
    const struct fcvi_event *e = t_event(t, FCVI_EVENT_CALL);
    ck_assert_ptr_nonnull(e);
    ck_assert_uint_eq(e->token, 1);
    ck_assert_int_eq(e->vip, VIP_SUCCESS);
    struct fcvi_address tester = t_address(2, 0xbb, 16);
    ck_assert_mem_eq(&e->remote_address, &tester, sizeof tester);
    ck_assert_uint_eq(e->remote_attributes.reliability, FCVI_RELIABLE_RECEPTION);
    ck_assert_uint_eq(e->remote_attributes.max_transfer_size, 0x8000);
    ck_assert(e->remote_attributes.rdma_write && !e->remote_attributes.rdma_read);
    ck_assert_int_eq(fcvi_vip_connect_accept(t->port, t->now, e->conn, vi, 2), FCVI_VIP_PENDING);
    t_listen(t);
    /* two receives were posted; the lesser MTU; the acceptor's attributes and window (V47) */
    t_hear(t, stream,
           "013a0044 00000000 00000000 ........ ffffffff 00020000 00070010 00008000 " T_B " 00040010 " T_A);
    t_quiet(t, stream, FCVI_STREAM_NONE);
    t_returns(t, 2, VIP_SUCCESS);
    t_state(t, vi, FCVI_STATE_CONNECTED);
    ck_assert_int_eq(fcvi_vip_disconnect(t->port, t->now, vi, 3), VIP_SUCCESS);
    t_listen(t);
    t_state(t, vi, FCVI_STATE_IDLE);
    t_quiet(t, stream, FCVI_STREAM_FIN);
    ck_assert_uint_eq(t_streams(t), 1);
    t_end(t, stream, FCVI_CLOSE_FIN);
    ck_assert_uint_eq(t_streams(t), 0);
    t_done(t, vi, true, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    t_free(t);
}
END_TEST

static const struct {
    const char *called; /* Called Discriminator Length and Called Discriminator */
    uint8_t length;
    bool match;
} discriminators[] = {
    {"0010 " T_A, 16, true},
    {"000f aaaaaaaa aaaaaaaa aaaaaaaa aaaaaa00", 15, true},
    {"000f aaaaaaaa aaaaaaaa aaaaaaaa aaaaaa99", 15, true}, /* what stands behind decides nothing (V46) */
    {"0001 aa000000 00000000 00000000 00000000", 1, true},
    {"0000 00000000 00000000 00000000 00000000", 0, true},
    {"0000 aaaaaaaa 00000000 00000000 00000000", 0, true},
    {"000f aaaaaaaa aaaaaaaa aaaaaaaa aaaaaa00", 16, false},
    {"0010 aaaaaaaa aaaaaaaa aaaaaaaa aaaaaaab", 16, false},
    {"0011 " T_A, 16, false},
    {"ffff " T_A, 16, false},
};

START_TEST(matching)
{
    struct tcp *t = t_new();
    struct fcvi_address a = t_address(1, 0xaa, discriminators[_i].length);
    t_make(t);
    t_vi(t, FCVI_UNRELIABLE);
    ck_assert_int_eq(fcvi_vip_connect_wait(t->port, t->now, &a, FCVI_NEVER, 1), FCVI_VIP_PENDING);
    uint32_t stream = t_call(t);
    t_send(t, stream,
           "01320044 00000000 00000000 00000007 ffffffff 00000000 00000010 00001000 " T_B " 0000 %s",
           discriminators[_i].called);
    if (discriminators[_i].match) {
        t_returns(t, 1, VIP_SUCCESS);
        t_quiet(t, stream, FCVI_STREAM_NONE);
    } else {
        t_no_event(t);
        t_hear(t, stream, "014a0044 00000000 00000000 ........ ffffffff 00000000 0000");
        t->said[stream].seen = 68;
        t_quiet(t, stream, FCVI_STREAM_FIN);
        t_end(t, stream, FCVI_CLOSE_FIN);
        ck_assert_uint_eq(t_streams(t), 0);
    }
    t_free(t);
}
END_TEST

START_TEST(reject)
{
    struct tcp *t = t_new();
    t->cut = cuts[_i];
    t_make(t);
    t_vi(t, FCVI_RELIABLE_DELIVERY);
    t_wait(t, 0xaa, 1);
    uint32_t stream = t_call(t);
    t_send(t, stream, T_REQUEST, 0, 0x0001, 0x8000, 0);
    const struct fcvi_event *e = t_event(t, FCVI_EVENT_CALL);
    ck_assert_int_eq(fcvi_vip_connect_reject(t->port, t->now, e->conn), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_reject(t->port, t->now, e->conn), VIP_INVALID_PARAMETER);
    t_listen(t);
    t_hear(t, stream,
           "01420044 00000000 00000000 ........ ffffffff 00000000 00010010 00008000 " T_B " 00040010 " T_A);
    t_quiet(t, stream, FCVI_STREAM_FIN);
    t_end(t, stream, FCVI_CLOSE_RESET);
    ck_assert_uint_eq(t_streams(t), 0);
    t_free(t);
}
END_TEST

/* Security Information decides nothing, however long it is (V07). */
START_TEST(security)
{
    static const unsigned lengths[] = {1, 4, 65467};
    struct tcp *t = t_new();
    uint8_t *more = calloc(1, lengths[_i]);
    t_make(t);
    t_vi(t, FCVI_RELIABLE_DELIVERY);
    t_wait(t, 0xaa, 1);
    uint32_t stream = t_call(t);
    t_send(t, stream,
           "0132%04x 00000000 00000000 00000007 ffffffff 00000000 00010010 00001000 " T_B " 00000010 " T_A,
           68 + lengths[_i]);
    t_no_event(t);
    t_send_bytes(t, stream, more, lengths[_i] - 1);
    t_no_event(t);
    t_send_bytes(t, stream, more, 1);
    t_returns(t, 1, VIP_SUCCESS);
    free(more);
    t_free(t);
}
END_TEST

/* The levels differ: the server is told, nothing is sent, the request stays (V36). */
START_TEST(levels_differ)
{
    struct tcp *t = t_new();
    t_make(t);
    uint32_t vi = t_vi(t, FCVI_UNRELIABLE), right = t_vi(t, FCVI_RELIABLE_DELIVERY);
    t_wait(t, 0xaa, 1);
    uint32_t stream = t_call(t);
    t_send(t, stream, T_REQUEST, 0, 0x0001, 0x8000, 0);
    const struct fcvi_event *e = t_event(t, FCVI_EVENT_CALL);
    ck_assert_int_eq(fcvi_vip_connect_accept(t->port, t->now, e->conn, vi, 2), VIP_INVALID_RELIABILITY_LEVEL);
    t_listen(t);
    t_quiet(t, stream, FCVI_STREAM_NONE);
    t_state(t, vi, FCVI_STATE_IDLE);
    ck_assert_int_eq(fcvi_vip_connect_accept(t->port, t->now, e->conn, right, 3), FCVI_VIP_PENDING);
    t_listen(t);
    t_returns(t, 3, VIP_SUCCESS);
    t_free(t);
}
END_TEST

/* No Connect Request in time: nothing, half a header, all but the last byte (4.3). */
START_TEST(incoming_timeout)
{
    static const char *const parts[] = {
        "", "01320044 00000000 000000",
        "01320044 00000000 00000000 00000007 ffffffff 00000000 00010010 00001000 " T_B
        " 00000010 aaaaaaaa aaaaaaaa aaaaaaaa aaaaaa"};
    struct tcp *t = t_new();
    t->config.vitcp.incoming_timeout_us = 700 * T_MS;
    t_make(t);
    t_vi(t, FCVI_RELIABLE_DELIVERY);
    t_wait(t, 0xaa, 1);
    uint32_t stream = t_call(t);
    t_send(t, stream, "%s", parts[_i]);
    t_pass(t, 699 * T_MS);
    t_quiet(t, stream, FCVI_STREAM_NONE);
    t_pass(t, 1 * T_MS);
    t_quiet(t, stream, FCVI_STREAM_FIN);
    t_no_event(t);
    t_end(t, stream, FCVI_CLOSE_FIN);
    ck_assert_uint_eq(t_streams(t), 0);
    t_free(t);
}
END_TEST

static const char *const strange[] = {
    "010a0018 00000000 00000000 00000007 ffffffff 00000000", /* Send (V37) */
    "012a0018 00000000 00000000 00000007 ffffffff 00000000", /* NOP */
    "013a0044 00000000 00000000 00000007 ffffffff 00000000", /* the beginning of an Accept */
    "01320018 00000000 00000000 00000007 ffffffff 00000000", /* a request without CE Header */
    "01320043 00000000 00000000 00000007 ffffffff 00000000", /* or with a part of it */
    "01320017",                                              /* less than a header (V39) */
    "01320000",                                              /* */
    "01000018 00000000 00000000 00000007 ffffffff 00000000", /* no type (V40) */
    "01f80018 00000000 00000000 00000007 ffffffff 00000000", /* */
    "02320044 00000000 00000000 00000007 ffffffff 00000000 00010010 00001000 " T_B " 00000010 " T_A, /* V02 */
};

START_TEST(strange_beginning)
{
    struct tcp *t = t_new();
    t_make(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_DELIVERY);
    t_wait(t, 0xaa, 1);
    uint32_t stream = t_call(t);
    t_send(t, stream, "%s", strange[_i]);
    if (_i == 2) /* what it is shows when its headers are there */
        t_send(t, stream, "00010010 00001000 " T_B " 00000010 " T_A);
    t_quiet(t, stream, FCVI_STREAM_FIN);
    t_no_event(t);
    t_state(t, vi, FCVI_STATE_IDLE);
    t_send(t, stream, T_REQUEST, 0, 0x0001, 0x8000, 0); /* nothing behind it counts */
    t_no_event(t);
    t_end(t, stream, FCVI_CLOSE_FIN);
    ck_assert_uint_eq(t_streams(t), 0);
    t_free(t);
}
END_TEST

/* TCP ends in Pending Accept: VipConnectAccept fails at once, VipConnectReject has what it wanted (V59). */
START_TEST(gone_before_the_answer)
{
    struct tcp *t = t_new();
    t_make(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_DELIVERY);
    for (int accepted = 0; accepted < 2; accepted++) {
        t_wait(t, 0xaa, 1);
        uint32_t stream = t_call(t);
        t_send(t, stream, T_REQUEST, 0, 0x0001, 0x8000, 0);
        const struct fcvi_event *e = t_event(t, FCVI_EVENT_CALL);
        if (_i == 0)
            t_end(t, stream, FCVI_CLOSE_FIN);
        else if (_i == 1)
            t_end(t, stream, FCVI_CLOSE_RESET);
        else /* a PDU too many (V72) */
            t_send(t, stream, "012a0018 00000000 00000000 00000007 ffffffff 00000000");
        t_quiet(t, stream, _i == 1 ? FCVI_STREAM_NONE : FCVI_STREAM_FIN);
        if (accepted)
            ck_assert_int_eq(fcvi_vip_connect_accept(t->port, t->now, e->conn, vi, 2), VIP_TIMEOUT);
        else
            ck_assert_int_eq(fcvi_vip_connect_reject(t->port, t->now, e->conn), VIP_SUCCESS);
        t_listen(t);
        if (_i == 2)
            t_end(t, stream, FCVI_CLOSE_FIN);
        t_state(t, vi, FCVI_STATE_IDLE);
        ck_assert_uint_eq(t_streams(t), 0);
    }
    t_free(t);
}
END_TEST

START_TEST(table_of_streams)
{
    struct tcp *t = t_new();
    uint32_t stream, first = 0;
    t_make(t);
    t_vi(t, FCVI_RELIABLE_DELIVERY);
    for (int round = 0; round < 1000; round++) {
        first = t_call(t);
        t_end(t, first, round % 2 ? FCVI_CLOSE_FIN : FCVI_CLOSE_RESET);
        ck_assert_uint_eq(t_streams(t), 0);
    }
    for (int i = 0; i < 8; i++)
        t_call(t);
    ck_assert(!fcvi_stream_incoming(t->port, t->now, &t_tester, &t_port, &stream));
    t_end(t, 3, FCVI_CLOSE_RESET);
    ck_assert_uint_eq(t_call(t), 3);
    t_end(t, 99, FCVI_CLOSE_RESET); /* a number that stands for nothing */
    fcvi_stream_window(t->port, t->now, UINT32_MAX, 5);
    t_free(t);
}
END_TEST

/* ---- active ---- */

static void ask(struct tcp *t, uint32_t vi, uint64_t timeout)
{
    struct fcvi_address local = t_address(1, 0xaa, 16), remote = t_address(2, 0xbb, 16);
    ck_assert_int_eq(fcvi_vip_connect_request(t->port, t->now, vi, &local, &remote, timeout, 5),
                     FCVI_VIP_PENDING);
    t_listen(t);
    t_state(t, vi, FCVI_STATE_PENDING_CONNECT);
    ck_assert_uint_eq(t->said[0].kind, FCVI_STREAM_OPEN);
}

#define OUR_REQUEST                                                                                          \
    "01320044 00000000 00000000 ........ ffffffff 00000000 00070010 00010000 " T_A " 00040010 " T_B
#define THEIR(type) "01" type "0044 00000000 00000000 00000033 ffffffff 00050000 "

static const struct {
    const char *answer;
    int vip;
} answers[] = {
    {THEIR("3a") "00030010 00004000 " T_A " 00060010 " T_B, VIP_SUCCESS},
    {THEIR("38") "00030000 00fe4000 " T_B " 00060000 " T_B, VIP_SUCCESS},
    {THEIR("42") "00030010 00004000 " T_A " 00060010 " T_B, VIP_REJECT},
    {"01420018 00000000 00000000 00000033 ffffffff 00050000", VIP_REJECT}, /* no CE Header (V08) */
    {THEIR("4a") "00030010 00004000 " T_A " 00060010 " T_B, VIP_NO_MATCH},
    {"01480018 00000000 00000000 00000033 ffffffff 00050000", VIP_NO_MATCH},
    {THEIR("3a") "00020010 00004000 " T_A " 00060010 " T_B, VIP_INVALID_RELIABILITY_LEVEL},
    {"013a0018 00000000 00000000 00000033 ffffffff 00050000", VIP_NOT_REACHABLE}, /* Accept of nothing */
    {"010a0018 00000000 00000000 00000033 ffffffff 00050000", VIP_NOT_REACHABLE},
    {"01420000", VIP_NOT_REACHABLE},
};

START_TEST(answer)
{
    for (unsigned cut = 0; cut < CUTS; cut++) {
        struct tcp *t = t_new();
        t->cut = cuts[cut];
        t_make(t);
        uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
        ask(t, vi, FCVI_NEVER);
        t_opened(t, 0, true);
        t_hear(t, 0, OUR_REQUEST);
        t_quiet(t, 0, FCVI_STREAM_NONE);
        t_send(t, 0, "%s", answers[_i].answer);
        const struct fcvi_event *e = t_event(t, FCVI_EVENT_CALL);
        ck_assert_ptr_nonnull(e);
        ck_assert_str_eq(fcvi_vip_name(e->vip), fcvi_vip_name(answers[_i].vip));
        bool good = answers[_i].vip == VIP_SUCCESS;
        t_state(t, vi, good ? FCVI_STATE_CONNECTED : FCVI_STATE_IDLE);
        t_quiet(t, 0, good ? FCVI_STREAM_NONE : FCVI_STREAM_FIN);
        if (_i == 0)
            ck_assert_uint_eq(e->remote_attributes.max_transfer_size, 0x4000);
        t_pass(t, 1000 * T_MS); /* no further attempt (4.2) */
        t_end(t, 0, FCVI_CLOSE_FIN);
        if (good) {
            t_error(t, VIP_ERROR_CONN_LOST);
            t_state(t, vi, FCVI_STATE_ERROR);
            t_quiet(t, 0, FCVI_STREAM_FIN);
        }
        ck_assert_uint_eq(t_streams(t), 0);
        t_free(t);
    }
}
END_TEST

START_TEST(tcp_setup_fails)
{
    struct tcp *t = t_new();
    t_make(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    ask(t, vi, FCVI_NEVER);
    if (_i == 0)
        t_opened(t, 0, false);
    else
        t_end(t, 0, FCVI_CLOSE_RESET);
    t_returns(t, 5, _i == 0 ? VIP_NOT_REACHABLE : VIP_NO_MATCH); /* a RST is an answer (VI-DG 3.3.4) */
    t_state(t, vi, FCVI_STATE_IDLE);
    ck_assert_uint_eq(t_streams(t), 0);
    t_free(t);
}
END_TEST

/* TCP closes in Pending Accept: it is established again, with a new request (4.2). */
START_TEST(again)
{
    struct tcp *t = t_new();
    t->config.vitcp.retry_us = 50 * T_MS;
    t_make(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    ask(t, vi, 300 * T_MS);
    for (int round = 0; round < 3; round++) {
        t_opened(t, 0, true);
        t_hear(t, 0, OUR_REQUEST);
        t_end(t, 0, _i == 0 ? FCVI_CLOSE_FIN : FCVI_CLOSE_RESET);
        t_quiet(t, 0, _i == 0 ? FCVI_STREAM_FIN : FCVI_STREAM_NONE);
        t_pass(t, 49 * T_MS);
        t_no_event(t);
        t_quiet(t, 0, _i == 0 ? FCVI_STREAM_FIN : FCVI_STREAM_NONE);
        t_pass(t, 1 * T_MS);
        ck_assert_uint_eq(t->said[0].kind, FCVI_STREAM_OPEN);
    }
    t_opened(t, 0, true);
    t_hear(t, 0, OUR_REQUEST);
    t_send(t, 0, "%s", answers[0].answer);
    t_returns(t, 5, VIP_SUCCESS);
    t_state(t, vi, FCVI_STATE_CONNECTED);
    t_pass(t, 1000 * T_MS);
    t_no_event(t);
    t_free(t);
}
END_TEST

/* The time of VipConnectRequest is over: while TCP is being set up, and in Pending Accept. */
START_TEST(timeout)
{
    struct tcp *t = t_new();
    t_make(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    ask(t, vi, 300 * T_MS);
    if (_i == 1)
        t_opened(t, 0, true);
    t_pass(t, 299 * T_MS);
    t_no_event(t);
    t_pass(t, 1 * T_MS);
    t_returns(t, 5, VIP_TIMEOUT);
    t_state(t, vi, FCVI_STATE_IDLE);
    ck_assert_uint_eq(t->said[0].kind, _i == 1 ? FCVI_STREAM_FIN : FCVI_STREAM_RESET);
    ck_assert_uint_eq(t_streams(t), _i == 1);
    t_pass(t, 5000 * T_MS); /* the other side does not close: the port ends it */
    ck_assert_uint_eq(t->said[0].kind, FCVI_STREAM_RESET);
    ck_assert_uint_eq(t_streams(t), 0);
    t_free(t);
}
END_TEST

START_TEST(disconnect_while_connecting)
{
    struct tcp *t = t_new();
    t_make(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    ask(t, vi, FCVI_NEVER);
    ck_assert_int_eq(fcvi_vip_disconnect(t->port, t->now, vi, 6), VIP_SUCCESS);
    if (_i == 0) { /* TCP is established before the RESET is taken */
        t->said[0].kind = FCVI_STREAM_NONE;
        fcvi_stream_opened(t->port, t->now, 0, true, NULL);
    } else if (_i == 1) {
        fcvi_stream_opened(t->port, t->now, 0, false, NULL);
    }
    t_listen(t);
    t_returns(t, 5, VIP_ERROR_RESOURCE);
    t_state(t, vi, FCVI_STATE_IDLE);
    ck_assert_uint_eq(t->said[0].kind, _i == 1 ? FCVI_STREAM_OPEN : FCVI_STREAM_RESET);
    ck_assert_uint_eq(t->said[0].length, 0);
    ck_assert_uint_eq(t_streams(t), 0);
    ck_assert_int_eq(fcvi_vip_destroy_vi(t->port, t->now, vi), VIP_SUCCESS);
    t_free(t);
}
END_TEST

/* Discriminators of 0 to 16 bytes can be called, longer ones cannot be carried (V46). */
START_TEST(lengths_of_discriminators)
{
    struct tcp *t = t_new();
    t_make(t);
    for (uint8_t length = 0; length <= 17; length++) {
        uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
        struct fcvi_address local = t_address(1, 0xaa, length), remote = t_address(2, 0xbb, length);
        int vip = fcvi_vip_connect_request(t->port, t->now, vi, &local, &remote, FCVI_NEVER, 5);
        ck_assert_int_eq(vip, length <= 16 ? FCVI_VIP_PENDING : VIP_INVALID_PARAMETER);
        if (length <= 16) {
            char called[64] = "";
            for (int i = 0; i < 16; i++)
                strcat(called, i < length ? "bb" : "00");
            t_listen(t);
            t_opened(t, 0, true);
            t->said[0].seen = 50;
            t_hear(t, 0, "%04x %s", length, called);
            fcvi_vip_disconnect(t->port, t->now, vi, 6);
            t_listen(t);
            t_end(t, 0, FCVI_CLOSE_FIN);
            t->said[0].kind = FCVI_STREAM_NONE;
        }
        fcvi_vip_destroy_vi(t->port, t->now, vi);
    }
    t_free(t);
}
END_TEST

/* Bytes go out as the window opens, however little at a time, and FIN after the last of them. */
START_TEST(window)
{
    struct tcp *t = t_new();
    t_make(t);
    t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_call(t);
    struct fcvi_stream_out what;
    uint8_t out[256], all[68];
    t_send(t, stream, "0132"); /* the No Match is to come out byte by byte */
    fcvi_stream_receive(t->port, t->now, stream, (const uint8_t[]){0, 0x44}, 2);
    size_t n =
        from_hex("00000000 00000000 00000007 ffffffff 00000000 00010010 00001000 " T_B " 00000010 " T_A, out);
    fcvi_stream_receive(t->port, t->now, stream, out, n);
    for (size_t i = 0; i < 68; i++) {
        ck_assert_uint_eq(fcvi_stream_transmit(t->port, t->now, all + i, 1, &what), 1);
        ck_assert_uint_eq(what.kind, FCVI_STREAM_DATA);
    }
    ck_assert_uint_eq(fcvi_stream_transmit(t->port, t->now, out, 1, &what), 0);
    ck_assert_uint_eq(what.kind, FCVI_STREAM_FIN);
    ck_assert_uint_eq(all[1], 0x4a);
    ck_assert_uint_eq(all[3], 68);
    t_free(t);
}
END_TEST

/* The application lets go before its Connect Request or Accept has gone out: it never does. */
START_TEST(let_go_at_once)
{
    struct tcp *t = t_new();
    struct fcvi_stream_out what;
    uint8_t out[256];
    t_make(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = 0;
    if (_i == 0) {
        ask(t, vi, FCVI_NEVER);
        t->said[0].kind = FCVI_STREAM_NONE;
        fcvi_stream_opened(t->port, t->now, 0, true, NULL);
    } else {
        t_wait(t, 0xaa, 1);
        stream = t_call(t);
        t_send(t, stream, T_REQUEST, 0, 0x0001, 0x8000, 0);
        ck_assert_int_eq(fcvi_vip_connect_accept(t->port, t->now, t_event(t, FCVI_EVENT_CALL)->conn, vi, 2),
                         FCVI_VIP_PENDING);
    }
    ck_assert_int_eq(fcvi_vip_disconnect(t->port, t->now, vi, 3), VIP_SUCCESS);
    ck_assert_uint_eq(fcvi_stream_transmit(t->port, t->now, out, sizeof out, &what), 0);
    ck_assert_uint_eq(what.kind, FCVI_STREAM_FIN);
    ck_assert_uint_eq(what.stream, stream);
    t_state(t, vi, FCVI_STATE_IDLE);
    t_free(t);
}
END_TEST

/* ---- the port as a whole ---- */

START_TEST(configuration)
{
    struct tcp *t = t_new();
    t_make(t);
    struct fcvi_port_config c = t->config;
    struct fcvi_port_limits l = t->limits;
    ck_assert_ptr_nonnull(fcvi_port_init(t->port, t->size, &l, &c));
    c.vitcp.segment_size = 127;
    ck_assert_ptr_null(fcvi_port_init(t->port, t->size, &l, &c));
    c.vitcp.segment_size = 65536;
    ck_assert_ptr_null(fcvi_port_init(t->port, t->size, &l, &c));
    c.vitcp.segment_size = 128;
    ck_assert_ptr_nonnull(fcvi_port_init(t->port, t->size, &l, &c));
    strcpy(c.vitcp.profile.name, "empty"); /* a profile with no bits for anything */
    ck_assert_ptr_null(fcvi_port_init(t->port, t->size, &l, &c));
    c = t->config;
    c.self.hosts = 0;
    ck_assert_ptr_null(fcvi_port_init(t->port, t->size, &l, &c));
    c = t->config;
    l.streams = 0;
    ck_assert_ptr_null(fcvi_port_init(t->port, t->size, &l, &c));
    c.wire = FCVI_WIRE_FC; /* streams are for the other wire */
    ck_assert_ptr_null(fcvi_port_init(t->port, t->size, &t->limits, &c));
    t_free(t);
}
END_TEST

START_TEST(limits)
{
    struct tcp *t = t_new();
    struct fcvi_port_limits l = t->limits;
    size_t size = fcvi_port_size(&l);
    l.exchanges = 0xFFFF; /* those of FC mean nothing */
    l.setups = l.remote_ports = l.runs = l.held_frames = 1000;
    ck_assert_uint_eq(fcvi_port_size(&l), size);
    l.stream_reads = 4; /* what 0 stands for */
    ck_assert_uint_eq(fcvi_port_size(&l), size);
    l.stream_reads = 6;
    ck_assert_uint_gt(fcvi_port_size(&l), size);
    l.stream_reads = 0xFFFF;
    ck_assert_uint_ne(fcvi_port_size(&l), 0);
    l.stream_reads = 0x10000;
    ck_assert_uint_eq(fcvi_port_size(&l), 0);
    l.stream_reads = 64;
    l.streams = 1 << 20;
    ck_assert_uint_ne(fcvi_port_size(&l), 0);
    l.stream_reads = 65; /* 2^26 together */
    ck_assert_uint_eq(fcvi_port_size(&l), 0);
    l.stream_reads = 1;
    l.streams++;
    ck_assert_uint_eq(fcvi_port_size(&l), 0);
    t_free(t);
}
END_TEST

/* Frames and links are of FC: a port of VI/TCP takes none of them, and a port of FC no stream. */
START_TEST(other_wire)
{
    struct tcp *t = t_new();
    struct fcvi_transmitted meta;
    uint8_t frame[24 + 2112] = {0x22, 0, 0, 0};
    const struct fcvi_input in = {frame, sizeof frame, FCVI_SOF_NONE, FCVI_EOF_NONE, FCVI_CRC_OK};
    t_make(t);
    t_vi(t, FCVI_UNRELIABLE);
    fcvi_port_receive(t->port, 0, &in);
    for (int event = FCVI_LINK_LIP; event <= FCVI_LINK_UP; event++)
        fcvi_port_link(t->port, 0, (enum fcvi_link)event);
    fcvi_port_lip(t->port, 0, 0x010203);
    ck_assert(!fcvi_port_know(t->port, 0, &t->config.self));
    ck_assert_uint_eq(fcvi_port_transmit(t->port, 0, frame, sizeof frame, &meta), 0);
    ck_assert_uint_eq(fcvi_port_deadline(t->port), FCVI_NEVER);
    t_free(t);
}
END_TEST

/* A copy of the block goes on as the original does. */
START_TEST(checkpoint)
{
    struct tcp *t = t_new();
    t_make(t);
    t_vi(t, FCVI_RELIABLE_RECEPTION);
    t_wait(t, 0xaa, 1);
    uint32_t stream = t_call(t);
    t_send(t, stream, "01320044 00000000 00000000 00000007 ffffffff 0000");
    struct tcp *u = malloc(sizeof *u);
    *u = *t;
    u->port = memcpy(malloc(t->size), t->port, t->size);
    u->out = NULL;
    u->out_size = 0;
    struct tcp *both[] = {t, u};
    uint8_t state[2][4096];
    size_t length[2];
    for (int i = 0; i < 2; i++) {
        t_send(both[i], stream, "0000 00010010 00001000 " T_B " 00000010 " T_A);
        t_returns(both[i], 1, VIP_SUCCESS);
        length[i] = fcvi_port_canonical(both[i]->port, t->now, state[i], sizeof state[i]);
        ck_assert_uint_le(length[i], sizeof state[i]);
    }
    ck_assert_uint_eq(length[0], length[1]);
    ck_assert_mem_eq(state[0], state[1], length[0]);
    t_end(t, stream, FCVI_CLOSE_RESET);
    length[0] = fcvi_port_canonical(t->port, t->now, state[0], sizeof state[0]);
    ck_assert(length[0] != length[1] || memcmp(state[0], state[1], length[0]) != 0);
    t_free(u);
    t_free(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vitcp setup");
    TCase *c = tcase_create("all");
    tcase_add_test(c, nothing_listens_before_the_first_vi);
    tcase_add_loop_test(c, accepted_request, 0, CUTS);
    tcase_add_loop_test(c, matching, 0, sizeof discriminators / sizeof discriminators[0]);
    tcase_add_loop_test(c, reject, 0, CUTS);
    tcase_add_loop_test(c, security, 0, 3);
    tcase_add_test(c, levels_differ);
    tcase_add_loop_test(c, incoming_timeout, 0, 3);
    tcase_add_loop_test(c, strange_beginning, 0, sizeof strange / sizeof strange[0]);
    tcase_add_loop_test(c, gone_before_the_answer, 0, 3);
    tcase_add_test(c, table_of_streams);
    tcase_add_loop_test(c, answer, 0, sizeof answers / sizeof answers[0]);
    tcase_add_loop_test(c, tcp_setup_fails, 0, 2);
    tcase_add_loop_test(c, again, 0, 2);
    tcase_add_loop_test(c, timeout, 0, 2);
    tcase_add_loop_test(c, disconnect_while_connecting, 0, 3);
    tcase_add_test(c, lengths_of_discriminators);
    tcase_add_test(c, window);
    tcase_add_loop_test(c, let_go_at_once, 0, 2);
    tcase_add_test(c, configuration);
    tcase_add_test(c, limits);
    tcase_add_test(c, other_wire);
    tcase_add_test(c, checkpoint);
    suite_add_tcase(suite, c);
    return t_run(suite);
}
