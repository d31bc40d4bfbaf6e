/* What a LIP, NOS or LR leaves of Connections that are open (7.7). */
#include "fabric_topology.h"

/* ---- loops: LIP (7.7.3, 7.7.4) ---- */

static void lip(struct fworld *w, unsigned flags)
{
    ck_assert_uint_eq(fcvi_fabric_lip(w->fabric, f_now(w), flags), w->ports);
    for (uint32_t i = 0; i < w->ports; i++)
        fcvi_port_lip(w->port[i], f_now(w), fcvi_fabric_id(w->fabric, i));
    f_settle(w);
}

/* Everything is as it was: the Connection goes on, validated by ADISC or by FAN. */
START_TEST(lip_changes_nothing)
{
    const struct setting *s = &settings[_i];
    struct fworld *w = begin(s, 2);
    struct end a = f_end(w, 0, FCVI_RELIABLE_DELIVERY), b = f_end(w, 1, FCVI_RELIABLE_DELIVERY);
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS);
    for (unsigned round = 1; round < 4; round++) {
        lip(w, 0);
        ck_assert_uint_eq(w->els[0][ADISC] != 0, s->topology == FCVI_PRIVATE_LOOP);
        f_message(w, a, b);
        f_message(w, b, a);
    }
    ck_assert_uint_eq(w->els[0][FLOGI], has_fabric(s));
    ck_assert_uint_eq(w->els[0][LOGO], 0);
    finish(w, a, b);
}
END_TEST

/* A Message that a LIP interrupts goes on after it. */
START_TEST(lip_in_a_message)
{
    const struct setting *s = &settings[_i];
    struct fworld *w = begin(s, 2);
    struct fcvi_fabric_observer o = f_observer(w);
    struct end a = f_end(w, 0, FCVI_RELIABLE_RECEPTION), b = f_end(w, 1, FCVI_RELIABLE_RECEPTION);
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS);
    memset(fcvi_port_memory(w->port[0], w->mem[0], 0, F_ROOM), 0x77, F_ROOM);
    f_post(w, b, FCVI_RECV, (struct fcvi_segment){w->mem[1], 0, F_ROOM}, 0, 0);
    f_post(w, a, FCVI_SEND, (struct fcvi_segment){w->mem[0], 0, F_ROOM}, 0, 0);
    for (unsigned k = 0; k < 3; k++)
        ck_assert(fcvi_fabric_step(w->fabric, w->port, w->ports, FCVI_NEVER, &o));
    lip(w, 0);
    f_done(w, a, false, 0, F_ROOM);
    f_done(w, b, true, FCVI_STATUS_OP_RECEIVE, F_ROOM);
    ck_assert_mem_eq(fcvi_port_memory(w->port[1], w->mem[1], 0, F_ROOM),
                     fcvi_port_memory(w->port[0], w->mem[0], 0, F_ROOM), F_ROOM);
    finish(w, a, b);
}
END_TEST

/* The Connection is lost; it can be made anew, with new addresses where there are new ones. */
static void lost_and_made_anew(struct fworld *w, const struct setting *s, struct end a, struct end b)
{
    f_both_are(w, a, b, FCVI_STATE_ERROR);
    ck_assert_uint_eq(f_errors(w, 0, a.vi, VIP_ERROR_CONN_LOST), 1);
    ck_assert_uint_eq(f_errors(w, 1, b.vi, VIP_ERROR_CONN_LOST), 1);
    ck_assert_uint_eq(w->iu[0][FCVI_IU_DISCONNECT_RQST] + w->iu[1][FCVI_IU_DISCONNECT_RQST], 0); /* E86 */
    f_disconnect(w, a, b);
    unsigned queries = w->queries[0], farps = w->els[0][FARP_REQ];
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS);
    ck_assert_uint_eq(w->queries[0] - queries, s->name_server);
    if (!s->name_server && s->topology != FCVI_POINT_TO_POINT)
        ck_assert_uint_gt(w->els[0][FARP_REQ], farps);
    f_message(w, a, b);
    f_message(w, b, a);
    finish(w, a, b);
}

START_TEST(lip_with_new_addresses)
{
    const struct setting *s = &settings[_i];
    struct fworld *w = begin(s, 2);
    struct end a = f_end(w, 0, FCVI_RELIABLE_DELIVERY), b = f_end(w, 1, FCVI_RELIABLE_DELIVERY);
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS);
    lip(w, FCVI_LIP_NEW_ADDRESSES);
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert_uint_ne(fcvi_port_id(w->port[i]), id_of(s, i));
        ck_assert_uint_eq(fcvi_port_id(w->port[i]), fcvi_fabric_id(w->fabric, i));
    }
    lost_and_made_anew(w, s, a, b);
}
END_TEST

/* No FAN comes: FLOGI shows the same (E83). */
START_TEST(lip_without_fan)
{
    const struct setting *s = &settings[_i];
    struct fworld *w = begin(s, 2);
    struct end a = f_end(w, 0, FCVI_RELIABLE_DELIVERY), b = f_end(w, 1, FCVI_RELIABLE_DELIVERY);
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS);
    lip(w, FCVI_LIP_NO_FAN);
    f_run(w, 2 * (uint64_t)W_R_A_TOV + 1000);
    ck_assert_uint_eq(w->els[0][FLOGI], 2);
    f_message(w, a, b);
    f_disconnect(w, a, b);
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS);
    finish(w, a, b);
}
END_TEST

START_TEST(lip_on_another_fabric)
{
    const struct setting *s = &settings[_i];
    struct fworld *w = begin(s, 2);
    struct end a = f_end(w, 0, FCVI_RELIABLE_DELIVERY), b = f_end(w, 1, FCVI_RELIABLE_DELIVERY);
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS);
    fcvi_fabric_rename(w->fabric, 0x10000000f0000001, 0x20000000f0000002);
    lip(w, 0);
    ck_assert_uint_eq(w->els[0][FLOGI], 2);
    lost_and_made_anew(w, s, a, b);
}
END_TEST

/* ---- links: NOS (7.7.2, 7.7.5) ---- */

static void nos(struct fworld *w, uint32_t port)
{
    ck_assert(fcvi_fabric_link(w->fabric, port, false));
    f_run(w, 1000);
    ck_assert(fcvi_fabric_link(w->fabric, port, true));
    fcvi_port_link(w->port[port], f_now(w), FCVI_LINK_NOS);
    f_settle(w);
}

/* In a Fabric FLOGI shows that all is as it was; the other port has seen nothing. */
START_TEST(nos_changes_nothing)
{
    const struct setting *s = &settings[_i];
    struct fworld *w = begin(s, 3);
    struct end a = f_end(w, 0, FCVI_RELIABLE_DELIVERY), b = f_end(w, 1, FCVI_RELIABLE_DELIVERY);
    struct end c = f_end(w, 0, FCVI_RELIABLE_DELIVERY), d = f_end(w, 2, FCVI_RELIABLE_DELIVERY);
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS);
    nos(w, 0);
    ck_assert_uint_eq(w->els[0][FLOGI], 2);
    f_message(w, a, b);
    f_message(w, b, a);
    ck_assert_int_eq(f_connect(w, c, d), VIP_SUCCESS); /* the Name Server wants a new login */
    f_message(w, c, d);
    f_disconnect(w, c, d);
    finish(w, a, b);
}
END_TEST

/* _i: another N_Port Identifier, another Fabric */
static void nos_changes(const struct setting *s, bool id)
{
    struct fworld *w = begin(s, 2);
    struct end a = f_end(w, 0, FCVI_RELIABLE_DELIVERY), b = f_end(w, 1, FCVI_RELIABLE_DELIVERY);
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS);
    if (id)
        ck_assert(fcvi_fabric_set_id(w->fabric, 0, 0x020900));
    else
        fcvi_fabric_rename(w->fabric, 0x10000000f0000002, 0x20000000f0000001);
    nos(w, 0);
    ck_assert_uint_eq(fcvi_port_id(w->port[0]), id ? 0x020900 : 0x010100);
    ck_assert_uint_eq(f_state(w, 0, a.vi), FCVI_STATE_ERROR);
    lost_and_made_anew(w, s, a, b);
}

START_TEST(nos_changes_the_identifier)
{
    nos_changes(&settings[_i], true);
}
END_TEST

START_TEST(nos_changes_the_fabric)
{
    nos_changes(&settings[_i], false);
}
END_TEST

/* Point-to-point, NOS logs both out. */
START_TEST(nos_point_to_point)
{
    const struct setting *s = &settings[_i];
    struct fworld *w = begin(s, 2);
    struct end a = f_end(w, 0, FCVI_RELIABLE_DELIVERY), b = f_end(w, 1, FCVI_RELIABLE_DELIVERY);
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS);
    nos(w, 0);
    nos(w, 1);
    ck_assert_uint_eq(w->els[0][PLOGI], 1);
    lost_and_made_anew(w, s, a, b);
}
END_TEST

/* LR changes no identifier (7.7.1). */
START_TEST(link_reset)
{
    struct fworld *w = begin(&settings[_i], 2);
    struct end a = f_end(w, 0, FCVI_RELIABLE_DELIVERY), b = f_end(w, 1, FCVI_RELIABLE_DELIVERY);
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS);
    fcvi_port_link(w->port[0], f_now(w), FCVI_LINK_LR);
    fcvi_port_link(w->port[1], f_now(w), FCVI_LINK_LR);
    f_message(w, a, b);
    finish(w, a, b);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_links");
    TCase *t = tcase_create("links");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, lip_changes_nothing, LOOPS, FABRICS);
    tcase_add_loop_test(t, lip_in_a_message, LOOPS, FABRICS);
    tcase_add_loop_test(t, lip_with_new_addresses, LOOPS, FABRICS);
    tcase_add_loop_test(t, lip_without_fan, PUBLIC_LOOPS, FABRICS);
    tcase_add_loop_test(t, lip_on_another_fabric, PUBLIC_LOOPS, FABRICS);
    tcase_add_loop_test(t, nos_changes_nothing, FABRICS, SETTINGS);
    tcase_add_loop_test(t, nos_changes_the_identifier, FABRICS, SETTINGS);
    tcase_add_loop_test(t, nos_changes_the_fabric, FABRICS, SETTINGS);
    tcase_add_loop_test(t, nos_point_to_point, 0, LOOPS);
    tcase_add_loop_test(t, link_reset, 0, SETTINGS);
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
