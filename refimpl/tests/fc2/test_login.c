/* N_Port Login as FC-VI needs it (5.6), logout (7.7.1), and the Extended Link Services that a port answers.
 */
#include "../bench.h"

enum { PLOGI = 0x03, LOGO = 0x05, ELS = 0x01, FCVI = 0x58 };

#define GOOD "02000000 " SERVICE("80020840", "10000000c9000001", "20000000c9000001", "0840")

static struct bench *explicit_bench(void)
{
    struct fcvi_port_config c = b_config();
    c.explicit_login = true;
    return b_begin(&b_limits, &c);
}

/* ---- our PLOGI ---- */

START_TEST(plogi_byte_for_byte)
{
    struct bench *b = explicit_bench();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    ck_assert_uint_eq(b->sent, 1);
    expect(b, 0,
           "22 010100 00 010200 01 290000 .. 00 0000 .... ffff 00000000 03000000 "
           "........ 80020840 00ff.... 000007d0 10000000c9000002 20000000c9000002 00*16 00*16 "
           "8800 0000 0000 0840 .... 0000 0001 0000 00*16 00*16");
    ck_assert_uint_ge(word_of(b, 0, 28, 2), 0x2020); /* FC-FS: the version, and room for a frame at least */
    ck_assert_uint_ne(word_of(b, 0, 30, 2), 0);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    hear_reply(b, 0, "010100", GOOD);
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(opcode_at(b, 1), 0x10);
    hear_resp1(b, 1, 0, 0, 0xabcd);
    hear_resp3(b, 1, 0, own_handle_at(b, 1));
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_SUCCESS);
    b_end(b);
}
END_TEST

/* FC-FS: one frame, which begins its Exchange; in class 2 the ACK ends the Sequence. */
START_TEST(delimiters_of_plogi)
{
    struct fcvi_port_config c = b_config();
    struct fcvi_address from = address(OURS), to = address(THEIRS);
    struct fcvi_transmitted meta;
    c.explicit_login = true;
    c.service_class = (uint8_t)_i;
    struct bench *b = b_begin(&b_limits, &c);
    ck_assert_int_eq(fcvi_vip_connect_request(b->port, 0, b_vi(b), &from, &to, FCVI_NEVER, 1),
                     FCVI_VIP_PENDING);
    ck_assert_uint_ne(fcvi_port_transmit(b->port, 0, b->frame[0], FRAME, &meta), 0);
    ck_assert_uint_eq(b->frame[0][24], PLOGI);
    ck_assert_uint_eq(meta.sof, _i == 2 ? FCVI_SOF_I2 : FCVI_SOF_I3);
    ck_assert_uint_eq(meta.eof, _i == 2 ? FCVI_EOF_N : FCVI_EOF_T);
    advance(b, 4 * (uint64_t)R_A_TOV);
    b_end(b);
}
END_TEST

/* Class 2 (FC-FS): a link service is acknowledged as any frame, and then answered. */
START_TEST(link_service_in_class_2)
{
    struct fcvi_port_config c = b_config();
    uint8_t bytes[FRAME];
    c.service_class = 2;
    struct bench *b = b_begin(&b_limits, &c);
    struct fcvi_input in = {bytes, from_hex(ELS_FROM("010100") "12000000 00010100 1234ffff", bytes),
                            FCVI_SOF_I2, FCVI_EOF_N, FCVI_CRC_OK};
    fcvi_port_receive(b->port, b->now, &in);
    collect(b);
    ck_assert_uint_eq(b->sent, 2);
    expect(b, 0, "c0 010100 00 010200 00 e9.... 01 00 0000 0aaa .... 00000001");
    expect(b, 1, "23 010100 00 010200 01 990000 .. 00 0000 0aaa .... 00000000 02000000");
    b_end(b);
}
END_TEST

/* One login for all that wait; another port's is another matter. */
START_TEST(several_requests_wait_for_one_login)
{
    struct bench *b = explicit_bench();
    uint32_t vi[2] = {b_vi(b), b_vi(b)};
    b_request(b, vi[0], THEIRS, FCVI_NEVER, 1);
    b_request(b, vi[1], THEIRS, R_A_TOV, 2);
    ck_assert_uint_eq(b->sent, 1);
    hear_reply(b, 0, "010100", GOOD);
    ck_assert_uint_eq(b->sent, 3);
    hear_resp1(b, 1, 0, 0, 1);
    hear_resp1(b, 2, 1, 0x04, FCVI_UNASSIGNED);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_SUCCESS);
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_REJECT);
    b_end(b);
}
END_TEST

static const struct {
    const char *word1;
    bool usable;
} features[] = {
    {"80020840", true},  {"c0020840", true}, /* E17: the second reading of C as well */
    {"80000840", false},                     /* no S */
    {"00020840", false},                     /* no C by either reading */
    {"00000840", false},
};

static void expect_unusable(struct bench *b, uint32_t vi)
{
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(find(b, 0, FCVI, 0x10), b->sent); /* 5.6: no setup is originated */
}

/* ... and a request of that port is refused with 20h (5.6). */
static void expect_20h(struct bench *b)
{
    unsigned at = b->sent;
    b_wait(b, R_A_TOV, 2);
    hear_rqst(b, 1, 0x1234, 0x42, 5);
    ck_assert_uint_eq(opcode_at(b, at), 0x18);
    ck_assert_uint_eq(flags_at(b, at), 1);
    ck_assert_uint_eq(reason_at(b, at), 0x20);
    hear_resp2(b, 0, 0, 0x1234, 0x42, own_handle_at(b, at));
    ck_assert_uint_eq(opcode_at(b, at + 1), 0x1a);
    ck_assert_ptr_null(b_return(b, 2));
}

START_TEST(features_of_the_ls_acc)
{
    struct bench *b = explicit_bench();
    char acc[HEX];
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    snprintf(acc, sizeof acc, "02000000 " SERVICE("%s", "10000000c9000001", "20000000c9000001", "0840"),
             features[_i].word1);
    hear_reply(b, 0, "010100", acc);
    if (features[_i].usable) {
        ck_assert_uint_eq(find(b, 0, FCVI, 0x10), 1);
        hear_resp1(b, 1, 0, 0, 0xabcd);
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    } else {
        expect_unusable(b, vi);
        expect_20h(b);
    }
    b_end(b);
}
END_TEST

START_TEST(features_of_their_plogi)
{
    struct bench *b = explicit_bench();
    uint32_t vi = b_vi(b);
    hear(b, ELS_FROM("010100") "03000000 " SERVICE("%s", "10000000c9000001", "20000000c9000001", "0840"),
         features[_i].word1);
    expect(b, 0,
           "23 010100 00 010200 01 990000 .. 00 0000 0aaa .... 00000000 02000000 "
           "........ 80020840 00ff.... 000007d0 10000000c9000002 20000000c9000002 00*16 00*16 "
           "8800 0000 0000 0840 .... 0000 0001 0000 00*16 00*16");
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    ck_assert_uint_eq(find(b, 1, ELS, PLOGI), b->sent); /* they have logged in: so are we */
    if (features[_i].usable) {
        ck_assert_uint_eq(opcode_at(b, 1), 0x10);
        hear_resp1(b, 1, 0, 0, 0xabcd);
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    } else {
        expect_unusable(b, vi);
        expect_20h(b);
    }
    b_end(b);
}
END_TEST

/* What they can receive bounds the Data_Field, Device_Header included: 596 bytes of payload go in pieces. */
START_TEST(receive_size_is_respected)
{
    static const struct {
        const char *common, *class_3;
        unsigned frames, first; /* payload of all but the last */
    } sizes[] = {{"80020840", "0840", 1, 596}, {"80020100", "0100", 3, 224}, {"80020840", "0200", 2, 480},
                 {"80020200", "0840", 2, 480}, {"80020840", "0000", 1, 596}, /* not given for the class */
                 {"80020840", "0100", 3, 224}, {"80020840", "00ff", 1, 596}, /* FC-FS: 256 at least, */
                 {"80020080", "0840", 3, 224},  /* and so much may be relied on; */
                 {"80020841", "0000", 3, 224}}; /* 2112 at most */
    struct fcvi_port_config c = b_config();
    c.explicit_login = c.connect_info = true;
    struct bench *b = b_begin(&b_limits, &c);
    char acc[HEX];
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    snprintf(acc, sizeof acc, "02000000 " SERVICE("%s", "10000000c9000001", "20000000c9000001", "%s"),
             sizes[_i].common, sizes[_i].class_3);
    hear_reply(b, 0, "010100", acc);
    ck_assert_uint_eq(b->sent, 1 + sizes[_i].frames);
    unsigned offset = 0;
    for (unsigned i = 0; i < sizes[_i].frames; i++) {
        bool end = i + 1 == sizes[_i].frames;
        unsigned piece = end ? 596 - offset : sizes[_i].first;
        ck_assert_uint_eq(b->length[1 + i], 24 + 32 + piece);
        ck_assert_uint_eq(word_of(b, 1 + i, 14, 2), i);      /* SEQ_CNT */
        ck_assert_uint_eq(word_of(b, 1 + i, 20, 4), offset); /* Relative Offset */
        ck_assert_uint_eq(word_of(b, 1 + i, 9, 3), end ? 0x290008 : 0x200008);
        ck_assert_uint_eq(flags_at(b, 1 + i), 0x09); /* FCVI_CONN_INFO, Client-Server */
        offset += piece;
    }
    hear_resp1(b, 1, 0, 0, 0xabcd);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* LS_RJT ends the attempt; the next one asks again. */
START_TEST(login_refused)
{
    struct bench *b = explicit_bench();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    hear_reply(b, 0, "010100", "01000000 00 03 0f 00");
    expect_unusable(b, vi);
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    ck_assert_uint_eq(b->frame[1][24], PLOGI);
    hear_reply(b, 1, "010100", "02000000 20200010"); /* too short for an accept */
    expect_unusable(b, vi);
    b_end(b);
}
END_TEST

START_TEST(login_unanswered)
{
    struct bench *b = explicit_bench();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    advance(b, 2 * R_A_TOV - 1);
    ck_assert_ptr_null(b_return(b, 1));
    advance(b, 1);
    expect_unusable(b, vi);
    hear_reply(b, 0, "010100", GOOD); /* too late */
    ck_assert_uint_eq(find(b, 0, FCVI, 0x10), b->sent);
    b_end(b);
}
END_TEST

START_TEST(t1_ends_before_the_login)
{
    struct bench *b = explicit_bench();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, R_A_TOV, 1);
    advance(b, R_A_TOV);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_TIMEOUT);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    hear_reply(b, 0, "010100", GOOD);
    ck_assert_uint_eq(b->sent, 1);
    b_end(b);
}
END_TEST

/* VipDisconnect before anything has been said to the peer: Idle at once (E76). */
START_TEST(disconnect_before_the_login)
{
    struct bench *b = explicit_bench();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, vi, 2), VIP_SUCCESS);
    collect(b);
    ck_assert_int_ne(b_return(b, 1)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    hear_reply(b, 0, "010100", GOOD);
    ck_assert_uint_eq(b->sent, 1);
    b_end(b);
}
END_TEST

/* Both PLOGI at once: theirs is answered, ours may be answered or refused. */
START_TEST(logins_cross)
{
    struct bench *b = explicit_bench();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    hear(b,
         ELS_FROM("010100") "03000000 " SERVICE("80020840", "10000000c9000001", "20000000c9000001", "0840"));
    ck_assert_uint_eq(b->frame[1][24], 0x02);
    ck_assert_uint_eq(opcode_at(b, 2), 0x10);
    if (_i == 0)
        hear_reply(b, 0, "010100", GOOD);
    else if (_i == 1)
        hear_reply(b, 0, "010100", "01000000 00 03 19 00");
    hear_resp1(b, 2, 0, 0, 0xabcd);
    hear_resp3(b, 2, 0, own_handle_at(b, 2));
    advance(b, 3 * (uint64_t)R_A_TOV);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* What is told of a port that is logged in takes no login away. */
START_TEST(known_again)
{
    struct bench *b = explicit_bench();
    struct fcvi_port_config c = b_config();
    hear(b,
         ELS_FROM("010100") "03000000 " SERVICE("80020840", "10000000c9000001", "20000000c9000001", "0840"));
    ck_assert(fcvi_port_know(b->port, b->now, &c.peer));
    b_request(b, b_vi(b), THEIRS, FCVI_NEVER, 1);
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(opcode_at(b, 1), 0x10);
    b_end(b);
}
END_TEST

/* ---- logout (7.7.1, E86) ---- */

#define LOGO_FROM_PEER ELS_FROM("010100") "05000000 00010100 10000000c9000001"

/* One VI in every state that a connection can be in. */
struct states {
    uint32_t connected, client, retrying, server, held, leaving, other;
    unsigned client_rqst;
};

static struct states every_state(struct bench *b)
{
    struct states s;
    struct fcvi_address here = address(OURS), there = address(THEIRS);
    struct fcvi_port_identity third = {0x10000000c9000007, 0x20000000c9000007, 0x010700, 1, {{0}}};
    from_hex("fe8000000000000000000000000000a7", third.host[0]);
    ck_assert(fcvi_port_know(b->port, b->now, &third));
    s.other = b_vi(b);
    there.host[15] = 0xa7;
    ck_assert_int_eq(fcvi_vip_connect_request(b->port, b->now, s.other, &here, &there, FCVI_NEVER, 11),
                     FCVI_VIP_PENDING);
    collect(b);
    s.retrying = b_vi(b);
    b_request(b, s.retrying, THEIRS, FCVI_NEVER, 13);
    hear(b,
         "03 010200 00 010700 58 890008 06 02 0000 %04x 8001 00000000 "
         "ffffffff 18 00 0000 00*8 00*12 %08x 00000000 0000 0001 00000777 " ADDR_A ADDR_B ATTRS,
         ox_of(b, 0), id_at(b, 0));
    hear(b, "03 010200 00 010700 58 980000 06 02 0001 %04x 8001 00000000 %08x 1a 00 0000 00*20 %08x",
         ox_of(b, 0), own_handle_at(b, 0), id_at(b, 0));
    advance(b, R_A_TOV); /* ABTS for the one that retries */
    s.connected = b_connected(b);
    s.leaving = b_connected(b);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, s.leaving, 14), FCVI_VIP_PENDING);
    s.client_rqst = b->sent + 1;
    s.client = b_vi(b);
    b_request(b, s.client, THEIRS, FCVI_NEVER, 12);
    b_wait(b, R_A_TOV, 15);
    hear_rqst(b, 1, 0x2000, 0x42, 5);
    s.server = b_vi(b);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, b_return(b, 15)->conn, s.server, 16),
                     FCVI_VIP_PENDING);
    b_wait(b, R_A_TOV, 17);
    hear_rqst(b, 1, 0x2001, 0x43, 6); /* offered, and never answered */
    ck_assert_ptr_nonnull(b_return(b, 17));
    s.held = b_vi(b);
    there.host[15] = 0xa1;
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, b->now, s.held, &here, &there, FCVI_NEVER),
                     VIP_SUCCESS);
    collect(b);
    hear_rqst(b, 2, 0x2002, 0x44, 7);
    return s;
}

static void expect_all_gone(struct bench *b, const struct states *s)
{
    struct fcvi_attributes a;
    const uint32_t lost[] = {s->connected, s->client, s->retrying, s->server, s->held};
    for (unsigned i = 0; i < 5; i++)
        ck_assert_uint_eq(state_of(b, lost[i]), FCVI_STATE_ERROR);
    ck_assert_uint_eq(errors(b, s->connected, VIP_ERROR_CONN_LOST), 1);
    ck_assert_int_eq(b_return(b, 12)->vip, VIP_NOT_REACHABLE);
    ck_assert_int_eq(b_return(b, 13)->vip, VIP_NOT_REACHABLE);
    ck_assert_int_eq(b_return(b, 14)->vip, VIP_SUCCESS); /* nothing is left to end (E86) */
    ck_assert_uint_eq(state_of(b, s->leaving), FCVI_STATE_IDLE);
    ck_assert_ptr_nonnull(b_return(b, 16));
    ck_assert_int_ne(b_return(b, 16)->vip, VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_peer_done(b->port, b->now, s->held, &a), VIP_NOT_REACHABLE);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, b_return(b, 17)->conn, s->client, 18),
                     VIP_INVALID_PARAMETER);
    ck_assert_uint_eq(state_of(b, s->other), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(errors(b, s->other, VIP_ERROR_CONN_LOST), 0);
    ck_assert_uint_eq(counts(b).setups, 0);
}

/* A port that has a login with who was here before us, and a connection: one logout tells it that both are
 * gone. */
START_TEST(stranger_is_told_once)
{
    struct fcvi_port_config c = b_config();
    c.logs_out_strangers = true;
    struct bench *b = b_begin(&b_limits, &c);
    for (unsigned k = 0; k < 3; k++) {
        hear(b,
             "02 010200 00 010a00 58 290000 01 02 0000 %04x ffff 00000000 00000777 12 02 0000 00000000 "
             "00000000 00*12 00000000",
             0x4321 + k);
        ck_assert_uint_eq(b->sent, 1);
    }
    expect(b, 0,
           "22 010a00 00 010200 01 290000 .. 00 0000 .... ffff 00000000 05000000 00010200 "
           "10000000c9000002");
    hear(b, "22 010200 00 010b00 01 290000 01 00 0000 0aaa ffff 00000000 52000000 00010b00 00*16 00010b00");
    for (unsigned i = 1; i < b->sent; i++)
        ck_assert_uint_ne(b->frame[i][24], 0x05); /* an ELS is no sign of a login */
    b_end(b);
}
END_TEST

/* _i: LOGO received, sent, or PLOGI again, which logs out first. */
START_TEST(logout_ends_every_connection)
{
    struct fcvi_port_config c = b_config();
    c.peer.port_name = 0x10000000c9000003; /* higher than ours: a request can be held back */
    struct bench *b = b_begin(&b_limits, &c);
    struct states s = every_state(b);
    unsigned at = b->sent;
    if (_i == 0) {
        hear(b, LOGO_FROM_PEER);
        expect(b, at, "23 010100 00 010200 01 990000 .. 00 0000 0aaa .... 00000000 02000000");
        ck_assert_uint_eq(b->sent, at + 1); /* no Disconnect (E86) */
    } else {
        hear(b, ELS_FROM("010100") "03000000 " SERVICE("80020840", "10000000c9000003", "20000000c9000001",
                                                       "0840"));
        ck_assert_uint_eq(b->frame[at][24], 0x02);
        ck_assert_uint_eq(b->sent, at + 1);
    }
    expect_all_gone(b, &s);
    at = b->sent;
    hear_resp1(b, s.client_rqst, 0, 0, 0x999); /* of what is over */
    hear_disconnect(b, 2, 0x4000, 0, own_handle_at(b, s.client_rqst));
    ck_assert_uint_eq(state_of(b, s.client), FCVI_STATE_ERROR);
    for (unsigned i = at; i < b->sent; i++) /* 4Ah at most, and only to a port that is logged in */
        ck_assert(_i == 1 && opcode_at(b, i) == 0x1b && reason_at(b, i) == 0x4a);
    at = b->sent;
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, s.client, 20), VIP_SUCCESS);
    collect(b);
    ck_assert_uint_eq(b->sent, at); /* nobody to tell */
    b_request(b, s.client, THEIRS, FCVI_NEVER, 21);
    ck_assert_uint_eq(b->frame[at][_i == 0 ? 24 : 28], _i == 0 ? PLOGI : 0x10);
    b_end(b);
}
END_TEST

START_TEST(logout_of_our_own)
{
    struct fcvi_port_config c = b_config();
    c.peer.port_name = 0x10000000c9000003;
    struct bench *b = b_begin(&b_limits, &c);
    struct states s = every_state(b);
    unsigned at = b->sent;
    fcvi_port_link(b->port, b->now, FCVI_LINK_LOGO);
    collect(b);
    ck_assert_uint_eq(b->sent, at + 2);
    for (unsigned i = at; i < at + 2; i++)
        expect(b, i,
               "22 %s 00 010200 01 290000 .. 00 0000 .... ffff 00000000 05000000 00010200 10000000c9000002",
               word_of(b, i, 1, 3) == 0x010100 ? "010100" : "010700");
    ck_assert_uint_ne(word_of(b, at, 1, 3), word_of(b, at + 1, 1, 3));
    ck_assert_uint_eq(state_of(b, s.other), FCVI_STATE_ERROR);
    ck_assert_uint_eq(state_of(b, s.connected), FCVI_STATE_ERROR);
    ck_assert_uint_eq(counts(b).setups, 0);
    hear_reply(b, at, "010100", "02000000"); /* the other LOGO is never answered */
    advance(b, 5 * (uint64_t)R_A_TOV);
    ck_assert_uint_eq(b->sent, at + 2);
    fcvi_port_link(b->port, b->now, FCVI_LINK_LOGO); /* nobody is left */
    collect(b);
    ck_assert_uint_eq(b->sent, at + 2);
    b_end(b);
}
END_TEST

/* ---- what is answered, and how ---- */

static const struct {
    const char *request; /* the payload, and its sender: the peer, or 010900 whom nobody knows */
    bool stranger;
    const char *reply;
} services[] = {
    {"52000000 00010100 10000000c9000001 20000000c9000001 00010100", false,
     "02000000 00000000 10000000c9000002 20000000c9000002 00010200"}, /* ADISC */
    {"52000000 00010900 10000000c9000009 20000000c9000009 00010900", true,
     "01000000 00 03 1e 00"},                                 /* login! */
    {"12000000 00010100 1234ffff", false, "02000000"},        /* RRQ */
    {"20100014 58*16", false, "01000000 00 0b .. 00"},        /* PRLI */
    {"0f000000", false, "01000000 00 0b .. 00"},              /* RTV */
    {"03000000 20200010", false, "01000000 00 07 2d 00"},     /* short PLOGI */
    {"55000000 04010200", false, "01000000 00 07 2d 00"},     /* FARP-REPLY */
    {"05000000 00010900 10000000c9000009", true, "02000000"}, /* LOGO */
};

START_TEST(other_services)
{
    struct bench *b = b_new();
    uint32_t vi = b_connected(b);
    unsigned at = b->sent;
    hear(b, "22 010200 00 %s 01 290000 01 00 0000 0aaa ffff 00000000 %s",
         services[_i].stranger ? "010900" : "010100", services[_i].request);
    ck_assert_uint_eq(b->sent, at + 1);
    expect(b, at, "23 %s 00 010200 01 990000 .. 00 0000 0aaa .... 00000000 %s",
           services[_i].stranger ? "010900" : "010100", services[_i].reply);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* What needs no answer, or fits nothing, gets none. */
START_TEST(no_answer)
{
    static const char *const frames[] = {
        "22 ffffff 00 010100 01 380000 01 00 0000 0aaa ffff 00000000 12000000 00010100 1234ffff", /* broadcast
                                                                                                   */
        "22 010200 00 010100 01 290000 01 00 0000 0aaa ffff 00000000",                            /* empty */
        "23 010200 00 010100 01 990000 01 00 0000 7777 ffff 00000000 02000000", /* reply to nothing */
        "22 010300 00 010100 01 290000 01 00 0000 0aaa ffff 00000000 05000000 00010100 10000000c9000001",
        "22 010200 00 fffffe 01 290000 01 00 0000 0aaa ffff 00000000 60000000 00010200 00*16", /* FAN, no LIP
                                                                                                */
        "22 010300 00 fffffe 01 290000 01 00 0000 0aaa ffff 00000000 05000000 00fffffe 2000000000fffffe",
        "84 010200 00 010100 00 990000 00 00 0000 7777 ffff 00000000 0000 0000 7777 ffff 0000 ffff",
        "85 010200 00 010100 00 990000 00 00 0000 7777 ffff 00000000 00030000",
    };
    struct bench *b = b_new();
    uint32_t vi = b_connected(b);
    unsigned at = b->sent;
    hear(b, "%s", frames[_i]);
    ck_assert_uint_eq(b->sent, at);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* ---- the table of ports ---- */

static struct fcvi_port_identity neighbour(unsigned n)
{
    struct fcvi_port_identity i = {0x10000000c9000100u + n, 0x20000000c9000100u + n, 0x020000u + n, 1, {{0}}};
    from_hex("fe8000000000000000000000000000c0", i.host[0]);
    i.host[0][15] = (uint8_t)n;
    return i;
}

START_TEST(table_of_ports_is_full)
{
    struct fcvi_port_limits l = b_limits;
    l.remote_ports = 3; /* ourselves and two others */
    struct fcvi_port_config c = b_config();
    struct bench *b = b_begin(&l, &c);
    struct fcvi_port_identity one = neighbour(1), two = neighbour(2), bad = neighbour(3);
    bad.n_port_id = 0x1000000;
    ck_assert(!fcvi_port_know(b->port, 0, &bad));
    bad = neighbour(3);
    bad.hosts = 5;
    ck_assert(!fcvi_port_know(b->port, 0, &bad));
    ck_assert(fcvi_port_know(b->port, 0, &one));
    ck_assert(!fcvi_port_know(b->port, 0, &two));
    ck_assert(fcvi_port_know(b->port, 0, &one)); /* again */
    uint32_t vi = b_connected(b);
    unsigned at = b->sent;
    hear(b,
         ELS_FROM("010900") "03000000 " SERVICE("80020840", "10000000c9000009", "20000000c9000009", "0840"));
    expect(b, at, "23 010900 00 010200 01 990000 .. 00 0000 0aaa .... 00000000 01000000 00 09 29 00");
    hear(b, "22 010200 00 020001 01 290000 01 00 0000 0aaa ffff 00000000 05000000 00020001 10000000c9000101");
    hear(b,
         ELS_FROM("010900") "03000000 " SERVICE("80020840", "10000000c9000009", "20000000c9000009", "0840"));
    ck_assert_uint_eq(b->frame[at + 2][24], 0x02); /* the port that has logged out made room */
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* No room for the port that we want to log in to: the setup gives up by its own timer. */
START_TEST(no_room_for_a_login)
{
    struct fcvi_port_limits l = b_limits;
    l.remote_ports = 2;
    struct fcvi_port_config c = b_config();
    struct bench *b = b_begin(&l, &c);
    uint32_t vi = b_vi(b);
    b_request(b, vi, "fe8000000000000000000000000000c1", FCVI_NEVER, 1);
    unsigned at = b->sent; /* FARP found it */
    hear(b, ELS_FROM("010900") "55000000 04010200 02010900 10000000c9000002 10000000c9000009 00*16 " OURS
                               " fe8000000000000000000000000000c1");
    ck_assert_uint_eq(find(b, at, ELS, PLOGI), b->sent);
    advance(b, 2 * R_A_TOV);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_NOT_REACHABLE);
    b_end(b);
}
END_TEST

/* More Host Addresses than the table has room for come and go: the newest is kept. */
START_TEST(table_of_hosts_is_full)
{
    struct fcvi_port_limits l = b_limits;
    l.remote_ports = 2; /* eight Host Addresses */
    struct fcvi_port_config c = b_config();
    c.peer.hosts = 0;
    c.explicit_login = true;
    struct bench *b = b_begin(&l, &c);
    uint32_t vi = b_vi(b);
    for (unsigned n = 1; n <= 20; n++) {
        struct fcvi_address from = address(OURS), to = address(OURS);
        memcpy(to.host, neighbour(n).host[0], 16);
        ck_assert_int_eq(fcvi_vip_connect_request(b->port, b->now, vi, &from, &to, FCVI_NEVER, n),
                         FCVI_VIP_PENDING);
        collect(b);
        unsigned at = b->sent;
        ck_assert_uint_eq(b->frame[at - 1][24], 0x54);
        hear(b,
             "22 010200 00 %06x 01 290000 01 00 0000 0aaa ffff 00000000 55000000 04010200 02%06x "
             "10000000c9000002 10000000c9000009 00*16 " OURS " fe8000000000000000000000000000%02x",
             0x020000 + n, 0x020000 + n, n);
        unsigned plogi = find(b, at, ELS, PLOGI);
        ck_assert_uint_eq(find(b, at, ELS, 0x54), b->sent); /* not asked again */
        char id[8];
        snprintf(id, sizeof id, "%06x", 0x020000 + n);
        ck_assert_uint_eq(word_of(b, plogi, 1, 3), 0x020000 + n);
        hear_reply(b, plogi, id, "01000000 00 03 0f 00");
        ck_assert_int_eq(b_return(b, n)->vip, VIP_NOT_REACHABLE);
    }
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("login");
    TCase *t = tcase_create("login");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, plogi_byte_for_byte);
    tcase_add_loop_test(t, delimiters_of_plogi, 2, 4);
    tcase_add_test(t, link_service_in_class_2);
    tcase_add_test(t, several_requests_wait_for_one_login);
    tcase_add_loop_test(t, features_of_the_ls_acc, 0, 5);
    tcase_add_loop_test(t, features_of_their_plogi, 0, 5);
    tcase_add_loop_test(t, receive_size_is_respected, 0, 9);
    tcase_add_test(t, known_again);
    tcase_add_test(t, login_refused);
    tcase_add_test(t, login_unanswered);
    tcase_add_test(t, t1_ends_before_the_login);
    tcase_add_test(t, disconnect_before_the_login);
    tcase_add_loop_test(t, logins_cross, 0, 3);
    tcase_add_loop_test(t, logout_ends_every_connection, 0, 2);
    tcase_add_test(t, stranger_is_told_once);
    tcase_add_test(t, logout_of_our_own);
    tcase_add_loop_test(t, other_services, 0, 8);
    tcase_add_loop_test(t, no_answer, 0, 8);
    tcase_add_test(t, table_of_ports_is_full);
    tcase_add_test(t, no_room_for_a_login);
    tcase_add_test(t, table_of_hosts_is_full);
    suite_add_tcase(s, t);
    return run_suite(s);
}
