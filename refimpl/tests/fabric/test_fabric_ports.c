/* Reference ports on each topology of clause 7.7: logins, address resolution, Connections, Messages. */
#include "fabric_topology.h"

/* ---- from nothing to a Connection and back ---- */

/* 7.4: who is asked for the address, and that each login happens once. */
static void expect_resolution(const struct fworld *w, const struct setting *s)
{
    for (unsigned i = 0; i < 2; i++)
        ck_assert_uint_eq(w->els[i][FLOGI], has_fabric(s));
    ck_assert_uint_eq(w->queries[0], s->name_server);
    ck_assert_uint_eq(w->els[0][FARP_REQ], !s->name_server);
    ck_assert_uint_eq(w->els[1][FARP_REPLY], !s->name_server);
    ck_assert_uint_eq(w->els[0][PLOGI], 1u + s->name_server);
    ck_assert_uint_eq(w->els[1][PLOGI], 0);
}

START_TEST(client_and_server)
{
    const struct setting *s = &settings[_i];
    struct fworld *w = begin(s, 2);
    struct end a = f_end(w, 0, FCVI_RELIABLE_DELIVERY), b = f_end(w, 1, FCVI_RELIABLE_DELIVERY);
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS);
    f_both_are(w, a, b, FCVI_STATE_CONNECTED);
    expect_resolution(w, s);
    f_message(w, a, b);
    f_message(w, b, a);
    f_disconnect(w, b, a);
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS); /* address and login are known by now */
    expect_resolution(w, s);
    f_message(w, b, a);
    finish(w, a, b);
}
END_TEST

START_TEST(peers)
{
    const struct setting *s = &settings[_i];
    struct fworld *w = begin(s, 2);
    struct end a = f_end(w, 0, FCVI_RELIABLE_RECEPTION), b = f_end(w, 1, FCVI_RELIABLE_RECEPTION);
    f_connect_peers(w, a, b);
    f_both_are(w, a, b, FCVI_STATE_CONNECTED);
    f_message(w, b, a);
    f_message(w, a, b);
    finish(w, b, a);
}
END_TEST

/* Nobody has that address: the Name Server says so, FARP brings silence. */
START_TEST(nobody_has_that_address)
{
    const struct setting *s = &settings[_i];
    struct fworld *w = begin(s, 2);
    uint32_t vi = f_vi(w, 0, FCVI_UNRELIABLE);
    struct fcvi_address here = w_address(0, 1), there = w_address(9, 1);
    ck_assert_int_eq(fcvi_vip_connect_request(w->port[0], f_now(w), vi, &here, &there, FCVI_NEVER, 5),
                     FCVI_VIP_PENDING);
    f_settle(w);
    ck_assert_uint_eq(f_return(w, 0, 5) != NULL, s->name_server);
    f_run(w, 2 * (uint64_t)W_R_A_TOV);
    ck_assert_int_eq(f_return(w, 0, 5)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(f_state(w, 0, vi), FCVI_STATE_IDLE);
    f_nothing_left(w);
    f_free(w);
}
END_TEST

/* The Name Server has forgotten the login, and does not answer; the next request logs in again. */
START_TEST(name_server_forgets)
{
    const struct setting *s = &settings[_i];
    struct fworld *w = begin(s, 3);
    struct end a = f_end(w, 0, FCVI_RELIABLE_DELIVERY), b = f_end(w, 1, FCVI_RELIABLE_DELIVERY);
    struct end c = f_end(w, 2, FCVI_RELIABLE_DELIVERY), d = f_end(w, 0, FCVI_RELIABLE_DELIVERY);
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS);
    fcvi_fabric_link(w->fabric, 0, false);
    fcvi_fabric_link(w->fabric, 0, true);
    ck_assert_int_eq(f_connect(w, d, c), VIP_NOT_REACHABLE);
    ck_assert_uint_eq(w->els[0][PLOGI], 2);
    ck_assert_int_eq(f_connect(w, d, c), VIP_SUCCESS);
    ck_assert_uint_eq(w->els[0][PLOGI], 4);
    f_message(w, d, c);
    f_disconnect(w, c, d);
    finish(w, a, b);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_ports");
    TCase *t = tcase_create("ports");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, client_and_server, 0, SETTINGS);
    tcase_add_loop_test(t, peers, 0, SETTINGS);
    tcase_add_loop_test(t, nobody_has_that_address, 0, SETTINGS);
    tcase_add_loop_test(t, name_server_forgets, NAME_SERVERS, NO_NAME_SERVERS);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *r = srunner_create(suite());
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
