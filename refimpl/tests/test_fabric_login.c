/* Fabric Login, and link events of a port that is attached to a Fabric: 7.7.5, and on a public loop 7.7.4. */
#include "link.h"

#define OTHER "fe8000000000000000000000000000a7"
#define LOCAL "fe8000000000000000000000000000a8"

/* The Fabric of a capture of another implementation: its names, and its LS_ACC to FLOGI (FC-FS; Word 2 is
 * R_A_TOV). */
#define FABRIC_NAMES "2000525400fc00fe 1000525400fc00fe"
#define ACCEPT(word1, r_a_tov, e_d_tov, names)                                                               \
    "02000000 2020000a " word1 " " r_a_tov " " e_d_tov " " names                                             \
    " 00*16 00*16 8800 0000 0000 0840 00ff0000 0001 0000 00*16 00*16"
#define CAPTURED ACCEPT("10000840", "00002710", "000007d0", FABRIC_NAMES)

static struct bench *with_login(enum fcvi_topology topology)
{
    struct fcvi_port_config c = b_config();
    c.topology = (uint8_t)topology;
    c.fabric_login = true;
    c.self.n_port_id = topology == FCVI_PUBLIC_LOOP ? 0x0102EF : 0x010200;
    return b_begin(&b_limits, &c);
}

/* The Fabric's reply to the nth frame, with the identifier that it assigns. */
static void hear_fabric(struct bench *b, unsigned nth, uint32_t id, const char *rest)
{
    hear(b, "23 %06x 00 fffffe 01 990000 00 00 0000 %04x 3000 00000000 %s", id, ox_of(b, nth), rest);
}

static void hear_fan(struct bench *b, uint32_t id, const char *names)
{
    hear(b, "22 %06x 00 fffffe 01 290000 01 00 0000 0bbb ffff 00000000 60000000 00fffffe %s", id, names);
}

static void expect_flogi(struct bench *b, unsigned nth, const char *s_id)
{
    expect(b, nth,
           "22 fffffe 00 %s 01 290000 .. 00 0000 .... ffff 00000000 04000000 "
           "2020.... 00000840 00000000 00000000 10000000c9000002 20000000c9000002 00*16 00*16 "
           "8800 00*14 00*16 00*16",
           s_id);
}

/* Logged in with the Fabric and connected with the peer. */
struct attached {
    struct bench *b;
    uint32_t vi;
    unsigned at; /* frames before the event */
};

static struct attached attached_to(enum fcvi_topology topology)
{
    struct attached a = {.b = with_login(topology)};
    fcvi_port_link(a.b->port, a.b->now, FCVI_LINK_UP);
    collect(a.b);
    hear_fabric(a.b, 0, fcvi_port_id(a.b->port), CAPTURED);
    a.vi = l_connected(a.b, THEIRS, 0x010100);
    a.at = a.b->sent;
    return a;
}

static void expect_everything_over(struct attached *a, unsigned at, uint32_t id)
{
    l_only(a->b, at, L_LOGO, 1);
    l_expect_logo(a->b, at, 0x010100, id);
    l_expect_lost(a->b, a->vi);
    ck_assert_uint_eq(fcvi_port_id(a->b->port), id);
    ck_assert_uint_eq(l_begins_with(a->b, THEIRS), L_FARP);
}

static void expect_resumed(struct attached *a, unsigned at)
{
    ck_assert_uint_eq(a->b->sent, at);
    ck_assert_uint_eq(state_of(a->b, a->vi), FCVI_STATE_CONNECTED);
    ck_assert(l_send(a->b, a->vi));
    ck_assert_uint_eq(l_begins_with(a->b, THEIRS), 0x10);
}

/* ---- the first FLOGI ---- */

START_TEST(flogi_byte_for_byte)
{
    struct bench *b = with_login(_i == 0 ? FCVI_FABRIC : FCVI_PUBLIC_LOOP);
    hear(b, ELS_FROM("010100") "12000000 00010100 1234ffff"); /* nobody is there yet */
    fcvi_port_link(b->port, b->now, FCVI_LINK_UP);
    collect(b);
    ck_assert_uint_eq(b->sent, 1);
    expect_flogi(b, 0, _i == 0 ? "000000" : "0000ef");
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
    ck_assert_uint_eq(b->sent, 1);
    b_request(b, vi, THEIRS, FCVI_NEVER, 2); /* it tries again */
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
    ck_assert_uint_eq(a.b->sent, a.at + 1);
    b_request(a.b, b_vi(a.b), THEIRS, FCVI_NEVER, 1);
    expect_flogi(a.b, a.at + 1, "000000");
    hear_fabric(a.b, a.at + 1, 0x010200, CAPTURED);
    ck_assert_uint_eq(a.b->frame[a.at + 2][24], L_PLOGI);
    b_end(a.b);
}
END_TEST

/* ---- public loop (7.7.4) ---- */

/* After a LIP with that identifier, the connection with a port of the loop itself in *local. */
static struct attached after_lip(uint32_t id, uint32_t *local)
{
    struct attached a = attached_to(FCVI_PUBLIC_LOOP);
    if (local != NULL) {
        l_know(a.b, 0x0000B1, 0xa8);
        *local = l_connected(a.b, LOCAL, 0x0000B1);
        a.at = a.b->sent;
    }
    fcvi_port_lip(a.b->port, a.b->now, id);
    collect(a.b);
    ck_assert_uint_eq(a.b->sent, a.at); /* FAN is awaited */
    return a;
}

/* All Exchanges resume; a port of the loop, Domain and Area 00-00, has to be asked first. */
START_TEST(fan_of_the_same_fabric)
{
    uint32_t local;
    struct attached a = after_lip(0x0102EF, &local);
    ck_assert(!l_send(a.b, a.vi));
    ck_assert(!l_send(a.b, local));
    hear_fan(a.b, 0x0102EF, "2000525400fc00fe 1000525400fc"); /* cut short: no FAN */
    ck_assert_uint_eq(a.b->sent, a.at);
    hear_fan(a.b, 0x0102EF, FABRIC_NAMES);
    ck_assert_uint_eq(a.b->sent, a.at + 2);
    expect(a.b, l_to(a.b, a.at, 0x0000B1),
           "22 0000b1 00 0102ef 01 290000 .. 00 0000 .... ffff 00000000 "
           "52000000 00000000 10000000c9000002 20000000c9000002 000102ef");
    ck_assert_uint_eq(a.b->frame[l_to(a.b, a.at, 0x010100)][8], L_FCVI);
    ck_assert(!l_send(a.b, local));
    hear(a.b,
         "23 0102ef 00 0000b1 01 990000 01 00 0000 %04x ffff 00000000 "
         "02000000 000000b1 10000000c90000b1 20000000c90000b1 000000b1",
         ox_of(a.b, l_to(a.b, a.at, 0x0000B1)));
    ck_assert(l_send(a.b, local));
    expect_resumed(&a, a.b->sent);
    hear_fan(a.b, 0x0102EF, "2000525400fc00ff 1000525400fc00ff"); /* not awaited */
    ck_assert_uint_eq(state_of(a.b, a.vi), FCVI_STATE_CONNECTED);
    b_end(a.b);
}
END_TEST

/* Another Fabric says FAN: FLOGI, and all are logged out whatever its LS_ACC says. */
START_TEST(fan_of_another_fabric)
{
    static const char *const names[] = {"2000525400fc00ff 1000525400fc00fe",
                                        "2000525400fc00fe 1000525400fc00ff"};
    struct attached a = after_lip(0x0102EF, NULL);
    hear_fan(a.b, 0x0102EF, names[_i]);
    ck_assert_uint_eq(a.b->sent, a.at + 1);
    expect_flogi(a.b, a.at, "0000ef");
    hear_fabric(a.b, a.at, 0x0102EF, CAPTURED);
    expect_everything_over(&a, a.at + 1, 0x0102EF);
    b_end(a.b);
}
END_TEST

/* Another AL_PA: the FAN comes to it, and FLOGI comes from it. */
START_TEST(lip_with_another_al_pa)
{
    struct attached a = after_lip(0x0102E8, NULL);
    hear_fan(a.b, 0x0102E8, FABRIC_NAMES);
    ck_assert_uint_eq(a.b->sent, a.at + 1);
    expect_flogi(a.b, a.at, "0000e8");
    hear_fabric(a.b, a.at, 0x0102E8, CAPTURED);
    expect_everything_over(&a, a.at + 1, 0x0102E8);
    fcvi_port_lip(a.b->port, a.b->now, 0x0102E8); /* that is now the one from before */
    hear_fan(a.b, 0x0102E8, FABRIC_NAMES);
    ck_assert_uint_eq(find(a.b, a.at + 1, L_ELS, L_FLOGI), a.b->sent);
    b_end(a.b);
}
END_TEST

/* No FAN within 2 x R_A_TOV: FLOGI says which Fabric this is (E83). */
START_TEST(no_fan)
{
    struct attached a = after_lip(0x0102EF, NULL);
    advance(a.b, 2 * R_A_TOV - 1);
    ck_assert_uint_eq(a.b->sent, a.at);
    advance(a.b, 1);
    expect_flogi(a.b, a.at, "0000ef");
    if (_i == 0) {
        hear_fabric(a.b, a.at, 0x0102EF, CAPTURED);
        expect_resumed(&a, a.at + 1);
    } else {
        advance(a.b, 2 * R_A_TOV);
        l_expect_lost(a.b, a.vi);
        ck_assert_uint_eq(a.b->sent, a.at + 1);
    }
    b_end(a.b);
}
END_TEST

/* A LIP during FLOGI: the FLOGI under way is answered, or is not and comes again. */
START_TEST(lip_during_flogi)
{
    struct bench *b = with_login(FCVI_PUBLIC_LOOP);
    fcvi_port_link(b->port, b->now, FCVI_LINK_UP);
    fcvi_port_link(b->port, b->now, FCVI_LINK_LIP);
    collect(b);
    expect_flogi(b, 0, "0000ef");
    if (_i == 0) {
        hear_fan(b, 0x0102EF, FABRIC_NAMES);
        ck_assert_uint_eq(b->sent, 1);
        hear_fabric(b, 0, 0x0102EF, CAPTURED);
        ck_assert_uint_eq(l_begins_with(b, THEIRS), 0x10);
    } else {
        advance(b, 2 * R_A_TOV);
        ck_assert_uint_eq(b->sent, 2);
        expect_flogi(b, 1, "0000ef");
    }
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
    tcase_add_loop_test(t, flogi_byte_for_byte, 0, 2);
    tcase_add_test(t, flogi_in_class_2);
    tcase_add_test(t, first_identifier);
    tcase_add_loop_test(t, timeouts_of_the_fabric, 0, 4);
    tcase_add_loop_test(t, first_login_refused, 0, 5);
    tcase_add_test(t, nos_and_the_same_fabric);
    tcase_add_loop_test(t, nos_and_another_fabric, 0, 3);
    tcase_add_loop_test(t, nos_and_no_fabric, 0, 5);
    tcase_add_test(t, fan_of_the_same_fabric);
    tcase_add_loop_test(t, fan_of_another_fabric, 0, 2);
    tcase_add_test(t, lip_with_another_al_pa);
    tcase_add_loop_test(t, no_fan, 0, 2);
    tcase_add_loop_test(t, lip_during_flogi, 0, 2);
    tcase_add_loop_test(t, no_room_for_flogi, 0, 3);
    suite_add_tcase(s, t);
    return run_suite(s);
}
