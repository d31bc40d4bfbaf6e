/* From Host Address to N_Port Identifier by FARP (7.5), and what may become a mapping (7.7.1). */
#include "../full.h"

enum { E_D_TOV = 2000000 };
enum { PLOGI = 0x03, FARP_REQ = 0x54, ELS = 0x01, FCVI = 0x58 };

/* An address that nobody has named yet, and another one. */
#define WANTED "fe8000000000000000000000000000c1"
#define OTHER "fe8000000000000000000000000000c2"
#define FARP_REPLY(id, host)                                                                                 \
    "22 010200 00 " id " 01 290000 01 00 0000 0aaa ffff 00000000 55000000 04010200 02" id                    \
    " 10000000c9000002 20000000c9000002 10000000c9000009 20000000c9000009 " OURS " " host
#define LOGIN_OF_9 "02000000 " SERVICE("80020840", "10000000c9000009", "20000000c9000009", "0840")

static void expect_unreachable(struct bench *b, uint32_t vi, uint64_t token)
{
    ck_assert_ptr_nonnull(b_return(b, token));
    ck_assert_int_eq(b_return(b, token)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(find(b, 0, FCVI, 0x10), b->sent);
}

/* ---- two ports of an independent generator (frames 16, 17, 24 and 25 of the crafted capture) ---- */

#define CAPTURED_REQ                                                                                         \
    "54000000 04010203 02000000 10000090fa000001 20000090fa000001 00*16 00*12 c0000201 00*12 c0000202"
#define CAPTURED_REPLY                                                                                       \
    "55000000 04010203 02010400 10000090fa000001 20000090fa000001 10000090fa000002 20000090fa000002 "        \
    "00*12 c0000201 00*12 c0000202"

static struct fcvi_port_config captured(unsigned n)
{
    struct fcvi_port_config c = b_config();
    c.self = (struct fcvi_port_identity){
        0x10000090fa000001u + n, 0x20000090fa000001u + n, n == 0 ? 0x010203 : 0x010400, 1, {{0}}};
    from_hex(n == 0 ? "00*12 c0000201" : "00*12 c0000202", c.self.host[0]);
    return c;
}

static void captured_request(struct bench *b)
{
    struct fcvi_address from = address("00*12 c0000201"), to = address("00*12 c0000202");
    uint32_t vi = b_vi(b);
    ck_assert_int_eq(fcvi_vip_connect_request(b->port, b->now, vi, &from, &to, FCVI_NEVER, 1),
                     FCVI_VIP_PENDING);
    collect(b);
}

START_TEST(farp_request_as_captured)
{
    struct fcvi_port_config c = captured(0);
    struct bench *b = b_begin(&b_limits, &c);
    captured_request(b);
    ck_assert_uint_eq(b->sent, 1);
    expect(b, 0, "22 ffffff 00 010203 01 380000 .. 00 0000 .... ffff 00000000 " CAPTURED_REQ);
    hear(b, "22 010203 00 010400 01 290000 22 00 0000 3001 ffff 00000000 " CAPTURED_REPLY);
    ck_assert_uint_eq(b->sent, 3);
    expect(b, 1, "23 010400 00 010203 01 990000 .. 00 0000 3001 .... 00000000 02000000");
    ck_assert_uint_eq(word_of(b, 2, 1, 3), 0x010400);
    ck_assert_uint_eq(b->frame[2][24], PLOGI);
    b_end(b);
}
END_TEST

START_TEST(farp_reply_as_captured)
{
    struct fcvi_port_config c = captured(1);
    struct bench *b = b_begin(&b_limits, &c);
    hear(b, "22 ffffff 00 010203 01 380000 14 00 0000 1004 ffff 00000000 " CAPTURED_REQ);
    ck_assert_uint_eq(b->sent, 1); /* no LS_ACC to a FARP-REQ */
    expect(b, 0, "22 010203 00 010400 01 290000 .. 00 0000 .... ffff 00000000 " CAPTURED_REPLY);
    hear_reply(b, 0, "010203", "02000000"); /* nobody waits for it */
    hear(b, "23 010400 00 010203 01 990000 01 00 0000 %04x ffff 00000000 02000000", ox_of(b, 0));
    ck_assert_uint_eq(b->sent, 1);
    b_end(b);
}
END_TEST

/* ---- FARP: who answers (7.5 steps 11 to 13, E36) ---- */

static const struct {
    const char *d_id, *farp; /* code points, requester, action; the address asked for */
    const char *host;
    bool answered;
} questions[] = {
    {"ffffff", "04010100 02000000", OURS, true},
    {"010200", "04010100 02000000", OURS, true},    /* nothing says that it has to be broadcast */
    {"ffffff", "04010100 02000000", OTHER, true},   /* each address of ours (E36) */
    {"ffffff", "04010100 02000000", THEIRS, false}, /* step 11 */
    {"ffffff", "04010100 02000000", "00*16", false},
    {"ffffff", "01010100 02000000", OURS, false}, /* step 12 */
    {"ffffff", "02010100 02000000", OURS, false},
    {"ffffff", "03010100 02000000", OURS, false},
    {"ffffff", "00010100 02000000", OURS, false},
    {"ffffff", "04010100 00000000", OURS, false}, /* step 13 */
    {"ffffff", "04010100 01000000", OURS, false},
};

START_TEST(farp_tests_of_the_responder)
{
    struct fcvi_port_config c = b_config();
    c.self.hosts = 2;
    from_hex(OTHER, c.self.host[1]);
    struct bench *b = b_begin(&b_limits, &c);
    hear(b,
         "22 %s 00 010100 01 380000 01 00 0000 0aaa ffff 00000000 54000000 %s "
         "10000000c9000001 20000000c9000001 00*16 " THEIRS " %s",
         questions[_i].d_id, questions[_i].farp, questions[_i].host);
    ck_assert_uint_eq(b->sent, questions[_i].answered);
    if (questions[_i].answered)
        expect(b, 0,
               "22 010100 00 010200 01 290000 .. 00 0000 .... ffff 00000000 55000000 04010100 02010200 "
               "10000000c9000001 20000000c9000001 10000000c9000002 20000000c9000002 " THEIRS " %s",
               questions[_i].host);
    b_end(b);
}
END_TEST

START_TEST(farp_request_cut_short)
{
    struct bench *b = b_new();
    hear(b, "22 ffffff 00 010100 01 380000 01 00 0000 0aaa ffff 00000000 54000000 04010100 02000000 "
            "10000000c9000001 20000000c9000001 00*16 " THEIRS " fe800000000000000000000000000000");
    hear(b, "22 ffffff 00 010100 01 380000 01 00 0000 0aaa ffff 00000000 54000000 04010100 02000000 "
            "10000000c9000001 20000000c9000001 00*16 " THEIRS " fe8000000000000000000000");
    ck_assert_uint_eq(b->sent, 0);
    b_end(b);
}
END_TEST

/* ---- FARP: the answers to our own ---- */

START_TEST(farp_leads_to_a_connection)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, WANTED, FCVI_NEVER, 1);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    hear(b, FARP_REPLY("010900", WANTED));
    unsigned plogi = find(b, 0, ELS, PLOGI);
    ck_assert_uint_eq(word_of(b, plogi, 1, 3), 0x010900);
    hear(b, FARP_REPLY("010a00", WANTED)); /* a second port claims it: too late */
    ck_assert_uint_eq(find(b, plogi + 1, ELS, PLOGI), b->sent);
    hear_reply(b, plogi, "010900", LOGIN_OF_9);
    unsigned rqst = find(b, 0, FCVI, 0x10);
    ck_assert_uint_eq(word_of(b, rqst, 1, 3), 0x010900);
    /* FCVI_REM_ADDR of Table 14: 2 reserved bytes, HOST_ADD_LEN, DISCRIM_LEN, and the address */
    uint8_t host[16];
    from_hex(WANTED, host);
    ck_assert_mem_eq(b->frame[rqst] + 56 + 12 + 148 + 4, host, 16);
    /* the mapping serves the next one, too */
    uint32_t next = b_vi(b);
    unsigned at = b->sent;
    b_request(b, next, WANTED, FCVI_NEVER, 2);
    ck_assert_uint_eq(b->sent, at + 1);
    ck_assert_uint_eq(opcode_at(b, at), 0x10);
    b_end(b);
}
END_TEST

START_TEST(one_reply_for_all_that_wait)
{
    struct bench *b = b_new();
    uint32_t vi[3] = {b_vi(b), b_vi(b), b_vi(b)};
    b_request(b, vi[0], WANTED, FCVI_NEVER, 1);
    b_request(b, vi[1], OTHER, FCVI_NEVER, 2);
    b_request(b, vi[2], WANTED, FCVI_NEVER, 3);
    ck_assert_uint_eq(b->sent, 3);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(b->frame[i][24], FARP_REQ);
    ck_assert_uint_ne(ox_of(b, 0), ox_of(b, 1)); /* E82: none again within R_A_TOV */
    hear(b, FARP_REPLY("010900", WANTED));
    hear_reply(b, find(b, 0, ELS, PLOGI), "010900", LOGIN_OF_9);
    unsigned first = find(b, 0, FCVI, 0x10), second = find(b, first + 1, FCVI, 0x10);
    ck_assert_uint_eq(second + 1, b->sent);
    ck_assert_uint_eq(word_of(b, second, 1, 3), 0x010900);
    ck_assert_uint_eq(find(b, 3, ELS, FARP_REQ), b->sent);
    advance(b, 2 * R_A_TOV);
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_NOT_REACHABLE);
    b_end(b);
}
END_TEST

/* _i: nothing; an answer about another address; one that is cut short; identifiers that no N_Port has (FC-FS:
 * zero, well-known addresses) or that are our own. None becomes a mapping (7.7.1). */
START_TEST(farp_without_a_use)
{
    static const struct {
        const char *frame, *reply;
    } no[] = {
        {NULL, NULL},
        {FARP_REPLY("010900", OTHER), "02000000"},
        {ELS_FROM("010900") "55000000 04010200 02010900 10000000c9000002", "01000000 00 07 2d 00"},
        {ELS_FROM("010900") "55000000 04010200 02000000 00*32 " OURS " " WANTED, "02000000"},
        {ELS_FROM("010900") "55000000 04010200 02ffffff 00*32 " OURS " " WANTED, "02000000"},
        {ELS_FROM("010900") "55000000 04010200 02fffffc 00*32 " OURS " " WANTED, "02000000"},
        {ELS_FROM("010900") "55000000 04010200 02010200 00*32 " OURS " " WANTED, "02000000"},
    };
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, WANTED, FCVI_NEVER, 1);
    if (no[_i].frame != NULL) {
        hear(b, "%s", no[_i].frame);
        ck_assert_uint_eq(b->sent, 2);
        expect(b, 1, "23 010900 00 010200 01 990000 .. 00 0000 0aaa .... 00000000 %s", no[_i].reply);
    }
    advance(b, 2 * R_A_TOV - 1);
    ck_assert_ptr_null(b_return(b, 1));
    advance(b, 1);
    expect_unreachable(b, vi, 1);
    hear(b, FARP_REPLY("010900", WANTED)); /* unasked for */
    unsigned at = b->sent;
    b_request(b, vi, WANTED, FCVI_NEVER, 2);
    ck_assert_uint_eq(b->sent, at + 1);
    ck_assert_uint_eq(b->frame[at][24], FARP_REQ);
    b_end(b);
}
END_TEST

START_TEST(application_gives_up_before_the_reply)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, WANTED, R_A_TOV, 1);
    advance(b, R_A_TOV);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_TIMEOUT);
    hear(b, FARP_REPLY("010900", WANTED));
    ck_assert_uint_eq(find(b, 0, ELS, PLOGI), b->sent);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    b_end(b);
}
END_TEST

/* ---- no room ---- */

#define ASKED_FOR_OURS                                                                                       \
    "22 ffffff 00 010100 01 380000 01 00 0000 0aaa ffff 00000000 54000000 04010100 02000000 "                \
    "10000000c9000001 20000000c9000001 00*16 " THEIRS " " OURS

/* No OX_ID that a FARP-REQ or FARP-REPLY could carry: it is not sent. */
START_TEST(no_exchange_for_farp)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.exchanges = 1;
    struct bench *b = b_begin(&l, &c);
    uint32_t vi[2] = {b_vi(b), b_vi(b)};
    b_request(b, vi[0], THEIRS, FCVI_NEVER, 1);
    b_request(b, vi[1], WANTED, FCVI_NEVER, 2);
    hear(b, ASKED_FOR_OURS);
    ck_assert_uint_eq(b->sent, 1);
    advance(b, 2 * R_A_TOV);
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_NOT_REACHABLE);
    advance(b, 4 * (uint64_t)R_A_TOV); /* the Exchange is needed for the end */
    b_end(b);
}
END_TEST

START_TEST(no_frame_for_a_request)
{
    struct bench *b = b_new();
    struct fcvi_address from = address(OURS), to = address(WANTED);
    uint32_t vi = b_vi(b);
    fill_up(b);
    ck_assert_int_eq(fcvi_vip_connect_request(b->port, b->now, vi, &from, &to, FCVI_NEVER, 1),
                     FCVI_VIP_PENDING);
    ck_assert_uint_eq(counts(b).exchanges, 0);
    drain(b);
    advance(b, E_D_TOV - 1);
    ck_assert_uint_eq(b->sent, 0);
    advance(b, 1); /* then there is room */
    ck_assert_uint_eq(b->sent, 1);
    advance(b, 2 * R_A_TOV - E_D_TOV);
    expect_unreachable(b, vi, 1);
    b_end(b);
}
END_TEST

/* Nobody acknowledges a broadcast: it is sent again each E_D_TOV, until an answer or the end of the wait. _i:
 * which of them is answered, the last that is not. */
START_TEST(farp_is_asked_again)
{
    enum { LAST = 2 * R_A_TOV / E_D_TOV };
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    b_request(b, vi, WANTED, FCVI_NEVER, 1);
    for (unsigned k = 1; k < (unsigned)_i; k++) {
        ck_assert_uint_eq(b->sent, k);
        advance(b, E_D_TOV - 1);
        ck_assert_uint_eq(b->sent, k);
        advance(b, 1);
        if (k < LAST)
            ck_assert_uint_eq(b->frame[k][24], FARP_REQ);
    }
    if (_i <= LAST) {
        hear(b, FARP_REPLY("010900", WANTED));
        ck_assert_uint_lt(find(b, 0, ELS, PLOGI), b->sent);
        unsigned sent = b->sent;
        advance(b, E_D_TOV);
        ck_assert_uint_eq(b->sent, sent);
    } else {
        ck_assert_uint_eq(b->sent, LAST);
        expect_unreachable(b, vi, 1);
    }
    b_end(b);
}
END_TEST

/* A Peer stays in the pool until its Timeout (VI-DG 6.7): it rests, and asks again. Another one that comes
 * meanwhile finds it. _i: it comes, or does not. */
START_TEST(peer_of_nobody_stays)
{
    struct bench *b = b_new();
    struct fcvi_address from = address(OURS), to = address(WANTED);
    struct fcvi_attributes a;
    uint32_t vi = b_vi(b);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, b->now, vi, &from, &to, 7 * (uint64_t)R_A_TOV),
                     VIP_SUCCESS);
    collect(b);
    advance(b, 2 * R_A_TOV);
    unsigned asked = b->sent;
    ck_assert_uint_eq(asked, 2 * R_A_TOV / E_D_TOV);
    advance(b, 2 * R_A_TOV - 1);
    ck_assert_uint_eq(b->sent, asked);
    ck_assert_int_eq(fcvi_vip_connect_peer_done(b->port, b->now, vi, &a), VIP_NOT_DONE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    if (_i == 0) {
        advance(b, 1);
        ck_assert_uint_eq(b->frame[asked][24], FARP_REQ);
        hear(b, FARP_REPLY("010900", WANTED));
        ck_assert_uint_lt(find(b, asked, ELS, PLOGI), b->sent);
    } else {
        advance(b, 3 * (uint64_t)R_A_TOV + 1);
        ck_assert_int_eq(fcvi_vip_connect_peer_done(b->port, b->now, vi, &a), VIP_TIMEOUT);
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
        ck_assert_uint_eq(counts(b).setups, 0);
    }
    b_end(b);
}
END_TEST

START_TEST(no_frame_for_a_reply)
{
    struct bench *b = b_new();
    fill_up(b);
    hear_in_silence(b, ASKED_FOR_OURS);
    ck_assert_uint_eq(counts(b).exchanges, 0);
    drain(b);
    ck_assert_uint_eq(b->sent, 0);
    hear(b, ASKED_FOR_OURS); /* asked again */
    ck_assert_uint_eq(b->sent, 1);
    ck_assert_uint_eq(b->frame[0][24], 0x55);
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("resolve");
    TCase *t = tcase_create("resolve");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, farp_request_as_captured);
    tcase_add_test(t, farp_reply_as_captured);
    tcase_add_loop_test(t, farp_tests_of_the_responder, 0, 11);
    tcase_add_test(t, farp_request_cut_short);
    tcase_add_test(t, farp_leads_to_a_connection);
    tcase_add_test(t, one_reply_for_all_that_wait);
    tcase_add_loop_test(t, farp_without_a_use, 0, 7);
    tcase_add_test(t, application_gives_up_before_the_reply);
    tcase_add_test(t, no_exchange_for_farp);
    tcase_add_test(t, no_frame_for_a_request);
    tcase_add_loop_test(t, farp_is_asked_again, 1, 2 * R_A_TOV / E_D_TOV + 2);
    tcase_add_loop_test(t, peer_of_nobody_stays, 0, 2);
    tcase_add_test(t, no_frame_for_a_reply);
    suite_add_tcase(s, t);
    return run_suite(s);
}
