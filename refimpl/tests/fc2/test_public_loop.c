/* A LIP on a public loop: FAN, and FLOGI when it does not match (7.7.4). */
#include "attached.h"

#define LOCAL "fe8000000000000000000000000000a8"

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
    l_know(a.b, 0x0001B2, 0xa9); /* of another area: it is not asked */
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
    advance(a.b, 3 * (uint64_t)R_A_TOV);                          /* nor is another one */
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
        ck_assert_uint_eq(a.b->sent, a.at + 2);
        expect_flogi(a.b, a.at + 1, "0000ef"); /* repeated */
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

int main(void)
{
    Suite *s = suite_create("public loop");
    TCase *t = tcase_create("public loop");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, fan_of_the_same_fabric);
    tcase_add_loop_test(t, fan_of_another_fabric, 0, 2);
    tcase_add_test(t, lip_with_another_al_pa);
    tcase_add_loop_test(t, no_fan, 0, 2);
    tcase_add_loop_test(t, lip_during_flogi, 0, 2);
    suite_add_tcase(s, t);
    return run_suite(s);
}
