/* Fabric Login, and NOS/OLS at a Fabric (7.7.5). */
#include "attached.h"

static const struct {
    enum fcvi_topology topology;
    const char *s_id; /* FC-FS, FC-AL */
} topologies[] = {{FCVI_FABRIC, "000000"}, {FCVI_PUBLIC_LOOP, "0000ef"}, {FCVI_POINT_TO_POINT, "010200"}};

START_TEST(flogi_byte_for_byte)
{
    struct bench *b = with_login(topologies[_i].topology);
    hear(b, ELS_FROM("010100") "12000000 00010100 1234ffff"); /* nobody is there yet */
    fcvi_port_link(b->port, b->now, FCVI_LINK_UP);
    collect(b);
    ck_assert_uint_eq(b->sent, 1);
    expect_flogi(b, 0, topologies[_i].s_id);
    fcvi_port_link(b->port, b->now, _i == 0 ? FCVI_LINK_NOS : FCVI_LINK_UP);
    collect(b);
    ck_assert_uint_eq(b->sent, 1); /* it is under way */
    b_end(b);
}
END_TEST

/* Class 2: its Service Parameters are the valid ones. */
START_TEST(flogi_in_class_2)
{
    struct fcvi_port_config c = b_config();
    c.fabric_login = true;
    c.service_class = 2;
    struct bench *b = b_begin(&b_limits, &c);
    fcvi_port_link(b->port, b->now, FCVI_LINK_UP);
    collect(b);
    expect(b, 0,
           "22 fffffe 00 000000 01 290000 .. 00 0000 .... ffff 00000000 04000000 "
           "2020.... 00000840 00000000 00000000 10000000c9000002 20000000c9000002 00*16 "
           "8800 00*14 00*16 00*16 00*16");
    b_end(b);
}
END_TEST

/* The Fabric assigns the identifier. What is known of other ports stays: nothing was said to them before. */
START_TEST(first_identifier)
{
    struct fcvi_port_config c = b_config();
    c.fabric_login = true;
    c.self.n_port_id = 0;
    struct bench *b = b_begin(&b_limits, &c);
    b_request(b, b_vi(b), THEIRS, FCVI_NEVER, 1);
    ck_assert_uint_eq(b->sent, 1);
    expect_flogi(b, 0, "000000");
    hear_fabric(b, 0, 0x010101, CAPTURED);
    ck_assert_uint_eq(fcvi_port_id(b->port), 0x010101);
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(opcode_at(b, 1), 0x10);
    ck_assert_uint_eq(word_of(b, 1, 5, 3), 0x010101);
    b_end(b);
}
END_TEST

/* Not the one that the host had in mind: what was known of other ports may be wrong (7.7.5). */
START_TEST(first_identifier_is_another)
{
    struct bench *b = with_login(FCVI_FABRIC);
    fcvi_port_link(b->port, b->now, FCVI_LINK_UP);
    collect(b);
    hear_fabric(b, 0, 0x010300, CAPTURED);
    ck_assert_uint_eq(fcvi_port_id(b->port), 0x010300);
    l_only(b, 1, L_LOGO, 1);
    ck_assert_uint_eq(l_begins_with(b, THEIRS), L_FARP);
    b_end(b);
}
END_TEST

static const struct {
    const char *accept;
    uint32_t e_d_tov; /* ms, as our PLOGI says then */
    uint64_t r_a_tov; /* us */
} timeouts[] = {
    {ACCEPT("10000840", "00004e20", "00000fa0", FABRIC_NAMES), 4000, 20000000},
    {ACCEPT("14000840", "00004e20", "3b9aca00", FABRIC_NAMES), 1000, 20000000}, /* bit 26: nanoseconds */
    {ACCEPT("10000840", "00000000", "00000000", FABRIC_NAMES), 2000, 10000000}, /* nothing is said */
    {ACCEPT("14000840", "00000000", "000003e7", FABRIC_NAMES), 2000, 10000000}, /* less than we can count */
};

START_TEST(timeouts_of_the_fabric)
{
    struct fcvi_port_config c = b_config();
    c.fabric_login = c.explicit_login = true;
    struct bench *b = b_begin(&b_limits, &c);
    b_request(b, b_vi(b), THEIRS, FCVI_NEVER, 1);
    hear_fabric(b, 0, 0x010200, timeouts[_i].accept);
    ck_assert_uint_eq(b->frame[1][24], L_PLOGI);
    ck_assert_uint_eq(word_of(b, 1, 40, 4), timeouts[_i].e_d_tov);
    advance(b, 2 * timeouts[_i].r_a_tov - 1);
    ck_assert_ptr_null(b_return(b, 1));
    advance(b, 1);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_NOT_REACHABLE);
    advance(b, 10 * timeouts[_i].r_a_tov);
    b_end(b);
}
END_TEST

/* Answers that are no login, and none at all. */
static const struct {
    uint32_t id;
    const char *reply;
} refusals[] = {
    {0x010200, "01000000 00 05 00 00"},
    {0x010200, "02000000 2020000a 10000840"},
    {0x000000, CAPTURED},
    {0xFFFFFC, CAPTURED},
    {0, NULL},
};

START_TEST(first_login_refused)
{
    struct bench *b = with_login(FCVI_FABRIC);
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    if (refusals[_i].reply != NULL)
        hear_fabric(b, 0, refusals[_i].id, refusals[_i].reply);
    advance(b, 2 * R_A_TOV);
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(b->sent, refusals[_i].reply != NULL ? 1 : 2); /* it is repeated when nobody answers */
    b_request(b, vi, THEIRS, FCVI_NEVER, 2);                        /* it tries again */
    expect_flogi(b, 1, "000000");
    hear_fabric(b, 1, 0x010200, CAPTURED);
    ck_assert_uint_eq(fcvi_port_id(b->port), 0x010200);
    ck_assert_uint_eq(b->sent, 3);
    b_end(b);
}
END_TEST

/* ---- Fabric (7.7.5) ---- */

START_TEST(nos_and_the_same_fabric)
{
    struct attached a = attached_to(FCVI_FABRIC);
    fcvi_port_link(a.b->port, a.b->now, FCVI_LINK_NOS);
    collect(a.b);
    expect_flogi(a.b, a.at, "000000");
    ck_assert(!l_send(a.b, a.vi));
    b_request(a.b, b_vi(a.b), THEIRS, FCVI_NEVER, 1);
    ck_assert_uint_eq(a.b->sent, a.at + 1); /* 7.7.1: not before it is known who is where */
    hear_fabric(a.b, a.at, 0x010200, CAPTURED);
    ck_assert_uint_eq(a.b->sent, a.at + 3);
    ck_assert_uint_lt(find(a.b, a.at, L_FCVI, 0x00), a.b->sent);
    ck_assert_uint_lt(find(a.b, a.at, L_FCVI, 0x10), a.b->sent);
    expect_resumed(&a, a.at + 3);
    b_end(a.b);
}
END_TEST

static const struct {
    uint32_t id;
    const char *accept;
} changes[] = {
    {0x010300, CAPTURED},
    {0x010200, ACCEPT("10000840", "00002710", "000007d0", "2000525400fc00ff 1000525400fc00fe")},
    {0x010200, ACCEPT("10000840", "00002710", "000007d0", "2000525400fc00fe 1000525400fc00ff")},
};

START_TEST(nos_and_another_fabric)
{
    struct attached a = attached_to(FCVI_FABRIC);
    fcvi_port_link(a.b->port, a.b->now, FCVI_LINK_NOS);
    collect(a.b);
    hear_fabric(a.b, a.at, changes[_i].id, changes[_i].accept);
    expect_everything_over(&a, a.at + 1, changes[_i].id);
    b_end(a.b);
}
END_TEST

/* No Fabric any more: an implicit logout of all, and silence. */
START_TEST(nos_and_no_fabric)
{
    struct attached a = attached_to(FCVI_FABRIC);
    fcvi_port_link(a.b->port, a.b->now, FCVI_LINK_NOS);
    collect(a.b);
    if (refusals[_i].reply != NULL)
        hear_fabric(a.b, a.at, refusals[_i].id, refusals[_i].reply);
    else
        advance(a.b, 2 * R_A_TOV);
    l_expect_lost(a.b, a.vi);
    hear(a.b, ELS_FROM("010100") "12000000 00010100 1234ffff");
    ck_assert_uint_eq(a.b->sent, a.at + (refusals[_i].reply != NULL ? 1 : 2));
    b_request(a.b, b_vi(a.b), THEIRS, FCVI_NEVER, 1);
    expect_flogi(a.b, a.at + 1, "000000");
    hear_fabric(a.b, a.at + 1, 0x010200, CAPTURED);
    ck_assert_uint_eq(a.b->frame[a.at + 2][24], L_PLOGI);
    b_end(a.b);
}
END_TEST

/* A port that nobody asks to connect: FLOGI is repeated, three times, in Exchanges of their own; then only an
 * event or a request for a connection begins anew. _i: how many are lost before one is answered. */
START_TEST(flogi_is_repeated)
{
    struct bench *b = with_login(FCVI_FABRIC);
    fcvi_port_link(b->port, b->now, FCVI_LINK_UP);
    collect(b);
    for (unsigned n = 0; n < 4; n++) {
        expect_flogi(b, n, "000000");
        ck_assert_uint_eq(b->sent, n + 1);
        for (unsigned k = 0; k < n; k++)
            ck_assert_uint_ne(ox_of(b, n), ox_of(b, k));
        if ((int)n == _i) {
            hear_fabric(b, n, 0x010200, CAPTURED);
            ck_assert_uint_eq(fcvi_port_id(b->port), 0x010200);
            advance(b, 10 * (uint64_t)R_A_TOV);
            ck_assert_uint_eq(b->sent, n + 1);
            break;
        }
        advance(b, 2 * (uint64_t)R_A_TOV - 1);
        ck_assert_uint_eq(b->sent, n + 1);
        advance(b, 1);
    }
    advance(b, 10 * (uint64_t)R_A_TOV);
    ck_assert_uint_eq(b->sent, _i < 4 ? (unsigned)_i + 1 : 4);
    fcvi_port_link(b->port, b->now, FCVI_LINK_UP); /* and so does each event */
    collect(b);
    ck_assert_uint_eq(b->sent, _i < 4 ? (unsigned)_i + 2 : 5);
    b_end(b);
}
END_TEST

/* ---- no room ---- */

/* _i: no place in the table of ports, no Exchange, no frame. Nobody can be asked: no Fabric. */
START_TEST(no_room_for_flogi)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.remote_ports = _i == 0 ? 2 : 16;
    l.exchanges = _i == 1 ? 1 : 64;
    struct bench *b = b_begin(&l, &c);
    uint32_t vi = b_connected(b);
    if (_i == 1)
        b_request(b, b_vi(b), THEIRS, FCVI_NEVER, 1);
    if (_i == 2)
        fill_up(b);
    unsigned at = b->sent;
    fcvi_port_link(b->port, b->now, FCVI_LINK_NOS);
    if (_i == 2)
        drain(b);
    collect(b);
    ck_assert_uint_eq(find(b, _i == 2 ? 0 : at, L_ELS, L_FLOGI), b->sent);
    l_expect_lost(b, vi);
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fabric login");
    TCase *t = tcase_create("fabric login");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, flogi_byte_for_byte, 0, 3);
    tcase_add_test(t, flogi_in_class_2);
    tcase_add_test(t, first_identifier);
    tcase_add_test(t, first_identifier_is_another);
    tcase_add_loop_test(t, timeouts_of_the_fabric, 0, 4);
    tcase_add_loop_test(t, first_login_refused, 0, 5);
    tcase_add_test(t, nos_and_the_same_fabric);
    tcase_add_loop_test(t, nos_and_another_fabric, 0, 3);
    tcase_add_loop_test(t, nos_and_no_fabric, 0, 5);
    tcase_add_loop_test(t, flogi_is_repeated, 0, 5);
    tcase_add_loop_test(t, no_room_for_flogi, 0, 3);
    suite_add_tcase(s, t);
    return run_suite(s);
}
