/* A LIP on a private loop: every port is validated by ADISC (7.7.3). */
#include "link.h"

#define OTHER "fe8000000000000000000000000000a7"

/* Connected with the peer and with 010700. */
struct loop {
    struct bench *b;
    uint32_t vi, other;
    unsigned at; /* frames before the event */
};

static struct loop loop_of_three(void)
{
    struct loop l = {.b = l_begin(FCVI_PRIVATE_LOOP)};
    l_know(l.b, 0x010700, 0xa7);
    l.vi = l_connected(l.b, THEIRS, 0x010100);
    l.other = l_connected(l.b, OTHER, 0x010700);
    l.at = l.b->sent;
    return l;
}

static struct loop after_lip(void)
{
    struct loop l = loop_of_three();
    fcvi_port_link(l.b->port, l.b->now, FCVI_LINK_LIP);
    collect(l.b);
    return l;
}

#define ADISC_OF_7 "00010700 10000000c9010700 20000000c9010700 00010700"

START_TEST(adisc_byte_for_byte)
{
    struct loop l = after_lip();
    l_only(l.b, l.at, L_ADISC, 2);
    for (unsigned i = 0; i < 2; i++)
        expect(l.b, l_to(l.b, l.at, i == 0 ? 0x010100 : 0x010700),
               "22 %06x 00 010200 01 290000 .. 00 0000 .... ffff 00000000 "
               "52000000 00000000 10000000c9000002 20000000c9000002 00010200",
               i == 0 ? 0x010100 : 0x010700);
    fcvi_port_link(l.b->port, l.b->now, FCVI_LINK_LIP); /* the first one is still under way */
    collect(l.b);
    ck_assert_uint_eq(l.b->sent, l.at + 2);
    l_end(l.b);
}
END_TEST

/* Nothing goes to a port that has not been validated; what the LIP interrupted goes on after it. */
START_TEST(validated_and_not)
{
    struct loop l = after_lip();
    ck_assert(!l_send(l.b, l.vi));
    ck_assert(!l_send(l.b, l.other));
    b_request(l.b, b_vi(l.b), THEIRS, FCVI_NEVER, 1);
    ck_assert_uint_eq(l.b->sent, l.at + 2);
    if (_i == 0) /* their ACC, or ours */
        hear_reply(l.b, l_to(l.b, l.at, 0x010100), "010100", "02000000 " L_PEER);
    else
        hear(l.b, ELS_FROM("010100") "52000000 " L_PEER);
    unsigned reply = find(l.b, l.at + 2, L_ELS, 0x02);
    ck_assert_uint_eq(reply < l.b->sent, _i == 1);
    if (_i == 1)
        expect(l.b, reply,
               "23 010100 00 010200 01 990000 .. 00 0000 0aaa .... 00000000 "
               "02000000 00000000 10000000c9000002 20000000c9000002 00010200");
    ck_assert_uint_eq(l.b->sent, l.at + 4 + (unsigned)_i); /* the Message and the request */
    for (unsigned i = l.at + 2; i < l.b->sent; i++)
        ck_assert_uint_eq(word_of(l.b, i, 1, 3), 0x010100);
    ck_assert_uint_eq(find(l.b, l.at, L_FCVI, 0x00) < l.b->sent, 1);
    ck_assert_uint_eq(find(l.b, l.at, L_FCVI, 0x10) < l.b->sent, 1);
    ck_assert(l_send(l.b, l.vi));
    ck_assert(!l_send(l.b, l.other));
    /* when only our ACC has validated it, the answer to our own question does not matter any more */
    hear_reply(l.b, l_to(l.b, l.at, 0x010700), "010700", "02000000 " ADISC_OF_7);
    advance(l.b, 2 * R_A_TOV);
    ck_assert_uint_eq(find(l.b, l.at, L_ELS, L_LOGO), l.b->sent);
    ck_assert_uint_eq(state_of(l.b, l.other), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(errors(l.b, l.vi, VIP_ERROR_CONN_LOST), 0);
    l_end(l.b);
}
END_TEST

/* The three addresses in the ACC, each of them changed; then answers that are none. */
static const char *const invalid[] = {
    "02000000 00010100 10000000c9000009 20000000c9000001 00010100",
    "02000000 00010100 10000000c9000001 20000000c9000009 00010100",
    "02000000 00010100 10000000c9000001 20000000c9000001 00010900",
    "02000000 00010100 10000000c9000001 20000000c9000001",
    "02000000",
    "01000000 00 03 1e 00",
    NULL,
};

START_TEST(not_validated)
{
    struct loop l = after_lip();
    hear_reply(l.b, l_to(l.b, l.at, 0x010700), "010700", "02000000 " ADISC_OF_7);
    if (invalid[_i] != NULL)
        hear_reply(l.b, l_to(l.b, l.at, 0x010100), "010100", invalid[_i]);
    else
        advance(l.b, 2 * R_A_TOV);
    ck_assert_uint_eq(l.b->sent, l.at + 3);
    l_expect_logo(l.b, l.at + 2, 0x010100, 0x010200);
    l_expect_lost(l.b, l.vi);
    ck_assert_uint_eq(state_of(l.b, l.other), FCVI_STATE_CONNECTED);
    ck_assert(l_send(l.b, l.other));
    ck_assert_uint_eq(l_begins_with(l.b, THEIRS), L_FARP); /* 7.7.1: where is it now? */
    l_end(l.b);
}
END_TEST

/* The same in their own ADISC: it is answered, and then they are logged out. */
START_TEST(not_validated_by_their_adisc)
{
    struct loop l = after_lip();
    hear(l.b, ELS_FROM("010100") "52000000 %s", invalid[_i] + 9);
    ck_assert_uint_eq(l.b->sent, l.at + 4);
    ck_assert_uint_eq(l.b->frame[l.at + 2][24], 0x02);
    l_expect_logo(l.b, l.at + 3, 0x010100, 0x010200);
    l_expect_lost(l.b, l.vi);
    l_end(l.b);
}
END_TEST

/* Cut short it says nothing (FC-FS: protocol error, invalid payload length). */
START_TEST(their_adisc_cut_short)
{
    struct loop l = after_lip();
    hear(l.b, ELS_FROM("010100") "52000000 00010100 10000000c9000001 20000000c9000001");
    expect(l.b, l.at + 2, "23 010100 00 010200 01 990000 .. 00 0000 0aaa .... 00000000 01000000 00 07 2d 00");
    ck_assert(!l_send(l.b, l.vi));
    ck_assert_uint_eq(state_of(l.b, l.vi), FCVI_STATE_CONNECTED);
    l_end(l.b);
}
END_TEST

/* A LOGO while the ADISC is under way: it is over, whatever the answer says. */
START_TEST(logout_before_the_answer)
{
    struct loop l = after_lip();
    hear(l.b, ELS_FROM("010100") "05000000 00010100 10000000c9000001");
    l_expect_lost(l.b, l.vi);
    hear_reply(l.b, l_to(l.b, l.at, 0x010100), "010100", "02000000 " L_PEER);
    ck_assert_uint_eq(l.b->sent, l.at + 3);
    ck_assert_uint_eq(l_begins_with(l.b, THEIRS), L_PLOGI);
    l_end(l.b);
}
END_TEST

/* The next request does not wait for the answer: it logs in at once. */
START_TEST(login_before_the_answer)
{
    struct loop l = after_lip();
    hear(l.b, ELS_FROM("010100") "05000000 00010100 10000000c9000001");
    l_expect_lost(l.b, l.vi);
    ck_assert_uint_eq(l_begins_with(l.b, THEIRS), L_PLOGI);
    unsigned sent = l.b->sent;
    hear_reply(l.b, l_to(l.b, l.at, 0x010100), "010100", "01000000 00 03 1e 00");
    ck_assert_uint_eq(l.b->sent, sent);
    l_end(l.b);
}
END_TEST

/* A LIP while our PLOGI is under way and theirs is done: the answer to ours decides. */
START_TEST(lip_during_a_login)
{
    struct fcvi_port_config c = b_config();
    c.topology = FCVI_PRIVATE_LOOP;
    c.explicit_login = true;
    struct bench *b = b_begin(&b_limits, &c);
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    hear(b,
         ELS_FROM("010100") "03000000 " SERVICE("80020840", "10000000c9000001", "20000000c9000001", "0840"));
    ck_assert_uint_eq(opcode_at(b, 2), 0x10);
    fcvi_port_link(b->port, b->now, FCVI_LINK_LIP);
    collect(b);
    ck_assert_uint_eq(b->sent, 3);
    if (_i == 0) {
        hear_reply(b, 0, "010100",
                   "02000000 " SERVICE("80020840", "10000000c9000001", "20000000c9000001", "0840"));
        hear_resp1(b, 2, 0, 0, 0xabcd);
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
        ck_assert(l_send(b, vi));
    } else {
        hear_reply(b, 0, "010100", "01000000 00 03 1e 00");
        ck_assert_int_eq(b_return(b, 1)->vip, VIP_NOT_REACHABLE);
        ck_assert_uint_eq(b->sent, 3);
    }
    l_end(b);
}
END_TEST

/* Our own identifier has changed: every port is logged out, and every mapping forgotten. */
START_TEST(lip_changes_our_identifier)
{
    struct loop l = loop_of_three();
    uint32_t self = b_vi(l.b);
    b_wait(l.b, FCVI_NEVER, 50);
    b_request(l.b, self, OURS, FCVI_NEVER, 51); /* a connection with ourselves: it does not survive either */
    uint32_t server = b_vi(l.b);
    ck_assert_int_eq(fcvi_vip_connect_accept(l.b->port, l.b->now, b_return(l.b, 50)->conn, server, 52),
                     FCVI_VIP_PENDING);
    collect(l.b);
    ck_assert_uint_eq(state_of(l.b, self), FCVI_STATE_CONNECTED);
    fcvi_port_lip(l.b->port, l.b->now, 0x010300);
    collect(l.b);
    ck_assert_uint_eq(fcvi_port_id(l.b->port), 0x010300);
    l_only(l.b, l.at, L_LOGO, 2);
    l_expect_logo(l.b, l.at, 0x010100, 0x010300);
    l_expect_logo(l.b, l.at, 0x010700, 0x010300);
    const uint32_t lost[] = {l.vi, l.other, self, server};
    for (unsigned i = 0; i < 4; i++)
        l_expect_lost(l.b, lost[i]);
    ck_assert_uint_eq(l_begins_with(l.b, THEIRS), L_FARP);
    ck_assert_uint_eq(word_of(l.b, l.at + 2, 5, 3), 0x010300);
    ck_assert_uint_eq(word_of(l.b, l.at + 2, 29, 3), 0x010300); /* Requesting N_Port Identifier */
    hear(l.b, ELS_FROM("010100") "12000000 00010100 1234ffff"); /* to our old identifier */
    ck_assert_uint_eq(l.b->sent, l.at + 3);
    l_end(l.b);
}
END_TEST

/* ... to that of a port that we were connected with, and that we are just asking who it is. */
START_TEST(lip_gives_us_the_identifier_of_another)
{
    struct loop l = loop_of_three();
    if (_i == 1) {
        fcvi_port_link(l.b->port, l.b->now, FCVI_LINK_LIP);
        collect(l.b);
        l.at = l.b->sent;
    }
    fcvi_port_lip(l.b->port, l.b->now, 0x010100);
    collect(l.b);
    l_only(l.b, l.at, L_LOGO, 1);
    l_expect_logo(l.b, l.at, 0x010700, 0x010100);
    l_expect_lost(l.b, l.vi);
    l_expect_lost(l.b, l.other);
    advance(l.b, 2 * R_A_TOV);
    ck_assert_uint_eq(l.b->sent, l.at + 1);
    ck_assert_uint_eq(l_begins_with(l.b, THEIRS), L_FARP);
    l_end(l.b);
}
END_TEST

START_TEST(lip_with_an_identifier_that_is_none)
{
    static const uint32_t ids[] = {0, 0xFFFFFC, 0xFFFFFF, 0x1010200};
    struct loop l = loop_of_three();
    fcvi_port_lip(l.b->port, l.b->now, ids[_i]);
    collect(l.b);
    ck_assert_uint_eq(l.b->sent, l.at);
    ck_assert_uint_eq(fcvi_port_id(l.b->port), 0x010200);
    l_end(l.b);
}
END_TEST

/* No room to ask who is there: that counts as no answer. _i: no frame, no Exchange. */
START_TEST(no_room_for_adisc)
{
    struct fcvi_port_limits limits = b_limits;
    struct fcvi_port_config c = b_config();
    c.topology = FCVI_PRIVATE_LOOP;
    limits.exchanges = _i == 0 ? 64 : 1;
    struct bench *b = b_begin(&limits, &c);
    uint32_t vi = b_connected(b);
    if (_i == 0)
        fill_up(b);
    else
        b_request(b, b_vi(b), THEIRS, FCVI_NEVER, 1);
    unsigned at = b->sent;
    fcvi_port_link(b->port, b->now, FCVI_LINK_LIP);
    if (_i == 0)
        drain(b);
    collect(b);
    l_expect_lost(b, vi);
    ck_assert_uint_eq(b->sent, _i == 0 ? 0 : at);
    l_end(b);
}
END_TEST

/* A logout ends the wait for the reply, and its time says nothing of the port that has logged in since. */
START_TEST(time_of_an_adisc_before_the_logout)
{
    struct loop l = after_lip();
    hear(l.b, ELS_FROM("010100") "05000000 00010100 10000000c9000001");
    hear(l.b,
         ELS_FROM("010100") "03000000 " SERVICE("80020840", "10000000c9000001", "20000000c9000001", "0840"));
    advance(l.b, R_A_TOV);
    unsigned at = l.b->sent;
    fcvi_port_link(l.b->port, l.b->now, FCVI_LINK_LIP);
    collect(l.b);
    l_only(l.b, at, L_ADISC, 1);
    advance(l.b, R_A_TOV); /* the first two ADISC are 2 x R_A_TOV old, this one is not */
    l_only(l.b, at + 1, L_LOGO, 1);
    l_expect_logo(l.b, at + 1, 0x010700, 0x010200);
    hear_reply(l.b, at, "010100", "02000000 " L_PEER);
    ck_assert_uint_eq(l_begins_with(l.b, THEIRS), 0x10);
    l_end(l.b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("private loop");
    TCase *t = tcase_create("private loop");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, adisc_byte_for_byte);
    tcase_add_loop_test(t, validated_and_not, 0, 2);
    tcase_add_loop_test(t, not_validated, 0, 7);
    tcase_add_loop_test(t, not_validated_by_their_adisc, 0, 3);
    tcase_add_test(t, their_adisc_cut_short);
    tcase_add_test(t, logout_before_the_answer);
    tcase_add_test(t, login_before_the_answer);
    tcase_add_loop_test(t, lip_during_a_login, 0, 2);
    tcase_add_test(t, lip_changes_our_identifier);
    tcase_add_loop_test(t, lip_gives_us_the_identifier_of_another, 0, 2);
    tcase_add_loop_test(t, lip_with_an_identifier_that_is_none, 0, 4);
    tcase_add_loop_test(t, no_room_for_adisc, 0, 2);
    tcase_add_test(t, time_of_an_adisc_before_the_logout);
    suite_add_tcase(s, t);
    return run_suite(s);
}
