/* Extended Link Services cut short, and more of them than there is room for. */
#include "link.h"

#define STRANGER "fe8000000000000000000000000000c9"

static const struct {
    const char *payload;
    unsigned needed; /* below this length it is refused, or says nothing */
    bool refused;
} whole[] = {
    {"03000000 " SERVICE("80020840", "10000000c9000001", "20000000c9000001", "0840"), 116, true},
    {"52000000 " L_PEER, 28, true},
    {"55000000 04010200 02010900 10000000c9000002 20000000c9000002 10000000c9000009 20000000c9000009 " OURS
     " " STRANGER,
     76, true},
    {"54000000 04010100 02000000 10000000c9000001 20000000c9000001 00*16 " THEIRS " " OURS, 76, false},
    {"60000000 00010200 2000525400fc00fe 1000525400fc00fe", 24, false},
    {"12000000 00010100 1234ffff", 4, false},
    {"20100014 58*16", 4, false},
};

/* Cut after every byte: a request of at least a command word that is too short is refused, and nothing else
 * happens. */
START_TEST(requests_cut_short)
{
    struct bench *b = b_new();
    uint32_t vi = b_connected(b);
    uint8_t bytes[FRAME];
    char hex[HEX];
    snprintf(hex, sizeof hex, ELS_FROM("010100") "%s", whole[_i].payload);
    from_hex(hex, bytes);
    for (unsigned n = 0; n < whole[_i].needed; n++) {
        /* exactly as many bytes as there are: a reader beyond them is caught */
        uint8_t *cut = malloc(24 + n);
        memcpy(cut, bytes, 24 + n);
        b->sent = 0;
        hear_bytes(b, cut, 24 + n);
        free(cut);
        ck_assert_uint_eq(b->sent, n >= 4 && whole[_i].refused);
        if (b->sent > 0)
            expect(b, 0, "23 010100 00 010200 01 990000 .. 00 0000 0aaa .... 00000000 01000000 00 07 2d 00");
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    }
    b_end(b);
}
END_TEST

/* The same of replies to our PLOGI: an LS_ACC that is too short is none. */
START_TEST(replies_cut_short)
{
    uint8_t acc[FRAME];
    for (unsigned n = 0; n <= 116; n++) {
        struct fcvi_port_config c = b_config();
        c.explicit_login = true;
        struct bench *b = b_begin(&b_limits, &c);
        uint32_t vi = b_vi(b);
        b_request(b, vi, THEIRS, FCVI_NEVER, 1);
        from_hex("23 010200 00 010100 01 990000 01 00 0000 0000 ffff 00000000 02000000 " SERVICE(
                     "80020840", "10000000c9000001", "20000000c9000001", "0840"),
                 acc);
        memcpy(acc + 16, b->frame[0] + 16, 2);
        uint8_t *cut = malloc(24 + n);
        memcpy(cut, acc, 24 + n);
        hear_bytes(b, cut, 24 + n);
        free(cut);
        ck_assert_uint_eq(b->sent, n == 116 ? 2 : 1);
        ck_assert_uint_eq(b_return(b, 1) != NULL, n >= 4 && n < 116);
        ck_assert_uint_eq(state_of(b, vi), n >= 4 && n < 116 ? FCVI_STATE_IDLE : FCVI_STATE_PENDING_CONNECT);
        b_end(b);
    }
}
END_TEST

/* ---- no room ---- */

/* Requests that cannot be answered: the other side asks again. PLOGI has logged out all the same (E86). */
START_TEST(no_frame_for_an_answer)
{
    static const char *const requests[] = {
        ELS_FROM("010100") "03000000 " SERVICE("80020840", "10000000c9000001", "20000000c9000001", "0840"),
        ELS_FROM("010100") "52000000 " L_PEER,
        ELS_FROM("010100") "52000000",
        ELS_FROM("010100") "20100014 58*16",
    };
    static const unsigned replies[] = {0x02, 0x02, 0x01, 0x01};
    struct bench *b = b_new();
    uint32_t vi = b_connected(b);
    fill_up(b);
    hear_in_silence(b, requests[_i]);
    drain(b);
    collect(b);
    ck_assert_uint_eq(b->sent, 0);
    if (_i == 0)
        l_expect_lost(b, vi);
    else
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    hear(b, "%s", requests[_i]);
    ck_assert_uint_eq(b->sent, 1);
    ck_assert_uint_eq(b->frame[0][24], replies[_i]);
    b_end(b);
}
END_TEST

START_TEST(no_frame_for_a_request)
{
    struct fcvi_port_config c = b_config();
    c.explicit_login = true;
    struct bench *b = b_begin(&b_limits, &c);
    struct fcvi_address from = address(OURS), to = address(THEIRS);
    uint32_t vi = b_vi(b);
    fill_up(b);
    ck_assert_int_eq(fcvi_vip_connect_request(b->port, b->now, vi, &from, &to, FCVI_NEVER, 1),
                     FCVI_VIP_PENDING);
    ck_assert_uint_eq(counts(b).exchanges, 0);
    drain(b);
    advance(b, 2 * R_A_TOV);
    ck_assert_uint_eq(b->sent, 0);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_NOT_REACHABLE);
    b_end(b);
}
END_TEST

/* 7.7.1: without a frame for LOGO the connections end all the same. */
START_TEST(no_frame_for_logo)
{
    struct bench *b = b_new();
    uint32_t vi = b_connected(b);
    fill_up(b);
    fcvi_port_link(b->port, b->now, FCVI_LINK_LOGO);
    drain(b);
    collect(b);
    ck_assert_uint_eq(b->sent, 0);
    l_expect_lost(b, vi);
    b_end(b);
}
END_TEST

/* A port that we are logging in to keeps its place in the table. */
START_TEST(login_under_way_keeps_its_place)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.remote_ports = 2;
    c.explicit_login = true;
    struct bench *b = b_begin(&l, &c);
    b_request(b, b_vi(b), THEIRS, FCVI_NEVER, 1);
    hear(b,
         ELS_FROM("010900") "03000000 " SERVICE("80020840", "10000000c9000009", "20000000c9000009", "0840"));
    expect(b, 1, "23 010900 00 010200 01 990000 .. 00 0000 0aaa .... 00000000 01000000 00 09 29 00");
    hear_reply(b, 0, "010100",
               "02000000 " SERVICE("80020840", "10000000c9000001", "20000000c9000001", "0840"));
    ck_assert_uint_eq(opcode_at(b, 2), 0x10);
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hostile els");
    TCase *t = tcase_create("hostile els");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, requests_cut_short, 0, 7);
    tcase_add_test(t, replies_cut_short);
    tcase_add_loop_test(t, no_frame_for_an_answer, 0, 4);
    tcase_add_test(t, no_frame_for_a_request);
    tcase_add_test(t, no_frame_for_logo);
    tcase_add_test(t, login_under_way_keeps_its_place);
    suite_add_tcase(s, t);
    return run_suite(s);
}
