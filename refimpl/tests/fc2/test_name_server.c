/* GID_IPP at the Name Server (7.6): what it asks, and what becomes of each answer. */
#include "../full.h"

enum { PLOGI = 0x03, FARP_REQ = 0x54, ELS = 0x01, CT = 0x20, FCVI = 0x58 };

/* Addresses that nobody has named yet. */
#define WANTED "fe8000000000000000000000000000c1"
#define OTHER "fe8000000000000000000000000000c2"
#define SERVER_LOGIN "02000000 " SERVICE("80020840", "2000000000fffffc", "1000000000000001", "0840")
#define LOGIN_OF_9 "02000000 " SERVICE("80020840", "10000000c9000009", "20000000c9000009", "0840")

#define SERVER_LOGS_IN                                                                                       \
    ELS_FROM("fffffc") "03000000 " SERVICE("80020840", "2000000000fffffc", "1000000000000001", "0840")

static struct bench *with_server(void)
{
    struct fcvi_port_config c = b_config();
    c.name_server = true;
    return b_begin(&b_limits, &c);
}

/* A request to WANTED, the login with the Name Server behind it. Returns the number of its GID_IPP. */
static unsigned b_query(struct bench *b, uint32_t vi, uint64_t token)
{
    b_request(b, vi, WANTED, FCVI_NEVER, token);
    unsigned last = b->sent - 1;
    if (b->frame[last][24] == PLOGI)
        hear_reply(b, last, "fffffc", SERVER_LOGIN);
    last = b->sent - 1;
    ck_assert_uint_eq(b->frame[last][8], CT);
    return last;
}

/* What the Name Server says to the nth frame. */
static void hear_server(struct bench *b, unsigned nth, const char *ct)
{
    hear(b, "03 010200 00 fffffc 20 990000 01 00 0000 %04x 4001 00000000 %s", ox_of(b, nth), ct);
}

static void expect_unreachable(struct bench *b, uint32_t vi, uint64_t token)
{
    ck_assert_ptr_nonnull(b_return(b, token));
    ck_assert_int_eq(b_return(b, token)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(find(b, 0, FCVI, 0x10), b->sent);
}

/* Frames 24 and 25 of the crafted capture, made by an independent generator. */
START_TEST(gid_ipp_as_captured)
{
    struct fcvi_port_config c = b_config();
    c.name_server = true;
    c.self = (struct fcvi_port_identity){0x10000090fa000001, 0x20000090fa000001, 0x010203, 1, {{0}}};
    from_hex("00*12 c0000201", c.self.host[0]);
    struct bench *b = b_begin(&b_limits, &c);
    struct fcvi_address from = address("00*12 c0000201"), to = address("00*12 c0000202");
    uint32_t vi = b_vi(b);
    ck_assert_int_eq(fcvi_vip_connect_request(b->port, b->now, vi, &from, &to, FCVI_NEVER, 1),
                     FCVI_VIP_PENDING);
    collect(b);
    ck_assert_uint_eq(word_of(b, 0, 1, 3), 0xFFFFFC);
    ck_assert_uint_eq(b->frame[0][24], PLOGI);
    hear(b, "23 010203 00 fffffc 01 990000 01 00 0000 %04x ffff 00000000 " SERVER_LOGIN, ox_of(b, 0));
    ck_assert_uint_eq(b->sent, 2);
    expect(b, 1,
           "02 fffffc 00 010203 20 290000 .. 00 0000 .... ffff 00000000 "
           "01000000 fc020000 01b10000 00000000 00*12 c0000202");
    hear(b,
         "03 010203 00 fffffc 20 990000 31 00 0000 %04x 4001 00000000 "
         "01000000 fc020000 80020000 00000000 80010400",
         ox_of(b, 1));
    ck_assert_uint_eq(b->sent, 3);
    ck_assert_uint_eq(word_of(b, 2, 1, 3), 0x010400);
    ck_assert_uint_eq(b->frame[2][24], PLOGI);
    b_end(b);
}
END_TEST

/* One login serves all; each address is a query of its own. */
START_TEST(one_login_with_the_name_server)
{
    struct bench *b = with_server();
    uint32_t vi[3] = {b_vi(b), b_vi(b), b_vi(b)};
    b_request(b, vi[0], WANTED, FCVI_NEVER, 1);
    b_request(b, vi[1], OTHER, FCVI_NEVER, 2);
    ck_assert_uint_eq(b->sent, 1);
    hear_reply(b, 0, "fffffc", SERVER_LOGIN);
    ck_assert_uint_eq(b->sent, 3);
    hear(b, SERVER_LOGS_IN); /* as FC-FS lets it: what has been asked is not asked again */
    ck_assert_uint_eq(b->sent, 4);
    unsigned third = b_query(b, vi[2], 3);
    ck_assert_uint_eq(third, 4);
    hear_server(b, 2, "01000000 fc020000 80020000 00000000 80010a00");
    ck_assert_uint_eq(word_of(b, 5, 1, 3), 0x010a00);
    hear_server(b, 1, "01000000 fc020000 80020000 00000000 80010900");
    ck_assert_uint_eq(word_of(b, 6, 1, 3), 0x010900);
    ck_assert_uint_eq(b->sent, 7);
    hear_server(b, 4, "01000000 fc020000 80010000 0009 0b 00"); /* the first answer was for it, too */
    hear_reply(b, 6, "010900", LOGIN_OF_9);
    ck_assert_uint_eq(b->sent, 9);
    for (unsigned i = 7; i < 9; i++)
        ck_assert_uint_eq(opcode_at(b, i), 0x10);
    ck_assert_ptr_null(b_return(b, 3));
    b_end(b);
}
END_TEST

static const struct {
    const char *ct;
    uint32_t id; /* 0: not reachable */
} answers[] = {
    {"01000000 fc020000 80020000 00000000 80010900", 0x010900},
    {"01000000 fc020000 80020000 00000000 00010900", 0x010900}, /* FC-GS-2: a single word without Control */
    {"01000000 fc020000 80020000 00000000 00010900 00010a00 80010b00", 0x010900}, /* the first of several */
    {"01000000 fc020000 80020004 00000000 00010900", 0x010900},                   /* more was left out */
    {"01000000 fc020000 80010000 00 09 0b 00", 0}, /* no such address is registered */
    {"01000000 fc020000 80010000 00 05 00 00", 0},
    {"01000000 fc020000 80010000 00 09 0b 00 80010900", 0}, /* a refusal says nothing else */
    {"01000000 fc020000 80020000 00000000", 0},             /* accepted, and no list */
    {"01000000 fc020000 01b10000 00000000 80010900", 0},    /* no answer at all */
    {"01000000 fc020000 80020000 00000000 80000000", 0},    /* identifiers that no N_Port has */
    {"01000000 fc020000 80020000 00000000 80ffffff", 0},
    {"01000000 fc020000 80020000 00000000 80fffffc", 0},
    {"01000000 fc020000 80020000 00000000 80010200", 0}, /* our own */
};

START_TEST(answers_of_the_name_server)
{
    struct bench *b = with_server();
    uint32_t vi = b_vi(b);
    unsigned query = b_query(b, vi, 1);
    hear_server(b, query, answers[_i].ct);
    if (answers[_i].id != 0) {
        ck_assert_uint_eq(b->sent, query + 2);
        ck_assert_uint_eq(b->frame[query + 1][24], PLOGI);
        ck_assert_uint_eq(word_of(b, query + 1, 1, 3), answers[_i].id);
    } else {
        ck_assert_uint_eq(b->sent, query + 1);
        expect_unreachable(b, vi, 1);
    }
    b_end(b);
}
END_TEST

/* What is no answer of the Name Server leaves the query open; 2 x R_A_TOV end it. */
START_TEST(no_answer_of_the_name_server)
{
    static const char *const frames[] = {
        "03 010200 00 fffffc 20 990000 01 00 0000 %04x 4001 00000000 01000000 fc020000 8002",     /* short */
        "02 010200 00 fffffc 20 290000 01 00 0000 %04x ffff 00000000 01000000 fc020000 01b10000", /* asks us
                                                                                                   */
        "02 010200 00 fffffc 20 990000 01 00 0000 %04x ffff 00000000 01000000 fc020000 80020000 00000000 "
        "80010900",
        "03 010200 00 fffffc 20 990000 01 00 0000 1%03x 4001 00000000 01000000 fc020000 80020000 00000000 "
        "80010900",
        "03 010200 00 010100 20 990000 01 00 0000 %04x 4001 00000000 01000000 fc020000 80020000 00000000 "
        "80010900",
        "03 010200 00 010b00 20 990000 01 00 0000 %04x 4001 00000000 01000000 fc020000 80020000 00000000 "
        "80010900",
    };
    struct bench *b = with_server();
    uint32_t vi = b_vi(b);
    unsigned query = b_query(b, vi, 1);
    uint8_t bytes[FRAME];
    char hex[HEX];
    snprintf(hex, sizeof hex, frames[_i], ox_of(b, query) & (_i == 3 ? 0xFFFu : 0xFFFFu));
    hear_bytes(b, bytes, from_hex(hex, bytes));
    advance(b, 2 * R_A_TOV - 1);
    ck_assert_ptr_null(b_return(b, 1));
    advance(b, 1);
    expect_unreachable(b, vi, 1);
    hear_server(b, query, "01000000 fc020000 80020000 00000000 80010900"); /* too late */
    ck_assert_uint_eq(b->sent, query + 1);
    b_end(b);
}
END_TEST

/* A Connection Setup that has its Exchange with the Name Server: another one's answer is not for it. */
START_TEST(a_setup_is_no_query)
{
    struct bench *b = with_server();
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    ck_assert_uint_eq(opcode_at(b, 0), 0x10);
    hear(b, "03 010200 00 010100 20 990000 01 00 0000 %04x 4001 00000000 01000000 fc020000 80010000 00000000",
         ox_of(b, 0));
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_PENDING_CONNECT);
    b_end(b);
}
END_TEST

/* 7.4: FARP has to do when there is no login with the Name Server. */
START_TEST(name_server_that_is_none)
{
    struct bench *b = with_server();
    uint32_t vi = b_vi(b);
    b_request(b, vi, WANTED, FCVI_NEVER, 1);
    if (_i == 0)
        hear_reply(b, 0, "fffffc", "01000000 00 03 0f 00");
    else
        advance(b, 2 * R_A_TOV);
    if (_i == 1) { /* the time of the request is over, too */
        expect_unreachable(b, vi, 1);
    } else {
        ck_assert_uint_eq(b->frame[1][24], FARP_REQ);
        hear(b, ELS_FROM("010900") "55000000 04010200 02010900 10000000c9000002 20000000c9000002 "
                                   "10000000c9000009 20000000c9000009 " OURS " " WANTED);
        ck_assert_uint_eq(word_of(b, find(b, 1, ELS, PLOGI), 1, 3), 0x010900);
    }
    b_end(b);
}
END_TEST

START_TEST(application_gives_up_before_the_answer)
{
    struct bench *b = with_server();
    uint32_t vi = b_vi(b);
    hear(b, SERVER_LOGS_IN);
    b_request(b, vi, WANTED, R_A_TOV, 1);
    ck_assert_uint_eq(b->frame[1][8], CT);
    advance(b, R_A_TOV);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_TIMEOUT);
    hear_server(b, 1, "01000000 fc020000 80020000 00000000 80010900");
    ck_assert_uint_eq(find(b, 0, ELS, PLOGI), b->sent);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    b_end(b);
}
END_TEST

/* ---- no room ---- */

/* One Exchange: the second query waits for its end. */
START_TEST(no_exchange_for_a_query)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.exchanges = 1;
    c.name_server = true;
    struct bench *b = b_begin(&l, &c);
    uint32_t vi[2] = {b_vi(b), b_vi(b)};
    b_request(b, vi[0], WANTED, FCVI_NEVER, 1);
    b_request(b, vi[1], OTHER, FCVI_NEVER, 2);
    hear_reply(b, 0, "fffffc", SERVER_LOGIN);
    ck_assert_uint_eq(b->sent, 2);
    advance(b, 2 * R_A_TOV);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_NOT_REACHABLE);
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_NOT_REACHABLE);
    b_end(b);
}
END_TEST

START_TEST(no_frame_for_a_query)
{
    struct bench *b = with_server();
    struct fcvi_address from = address(OURS), to = address(WANTED);
    uint32_t vi = b_vi(b);
    hear(b, SERVER_LOGS_IN);
    fill_up(b);
    ck_assert_int_eq(fcvi_vip_connect_request(b->port, b->now, vi, &from, &to, FCVI_NEVER, 1),
                     FCVI_VIP_PENDING);
    ck_assert_uint_eq(counts(b).exchanges, 0);
    drain(b);
    advance(b, 2 * R_A_TOV);
    ck_assert_uint_eq(b->sent, 0);
    expect_unreachable(b, vi, 1);
    b_end(b);
}
END_TEST

/* The Name Server has nothing to do with a port that does not answer: the login with it lasts. */
START_TEST(login_outlasts_a_setup)
{
    struct bench *b = with_server();
    hear(b, SERVER_LOGS_IN);
    b_request(b, b_vi(b), THEIRS, FCVI_NEVER, 1);
    ck_assert_uint_eq(opcode_at(b, 1), 0x10);
    advance(b, R_A_TOV);
    ck_assert_uint_eq(b->frame[2][0], 0x81); /* ABTS */
    b_request(b, b_vi(b), WANTED, FCVI_NEVER, 2);
    ck_assert_uint_eq(b->frame[3][8], CT);
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("name server");
    TCase *t = tcase_create("name server");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, gid_ipp_as_captured);
    tcase_add_test(t, one_login_with_the_name_server);
    tcase_add_loop_test(t, answers_of_the_name_server, 0, 13);
    tcase_add_loop_test(t, no_answer_of_the_name_server, 0, 6);
    tcase_add_test(t, a_setup_is_no_query);
    tcase_add_loop_test(t, name_server_that_is_none, 0, 2);
    tcase_add_test(t, application_gives_up_before_the_answer);
    tcase_add_test(t, no_exchange_for_a_query);
    tcase_add_test(t, no_frame_for_a_query);
    tcase_add_test(t, login_outlasts_a_setup);
    suite_add_tcase(s, t);
    return run_suite(s);
}
