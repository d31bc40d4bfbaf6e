/* Public and private ports on one loop, and ports behind its FL_Port (7.7.3, 7.7.4); a Host Address that two
 * ports have (7.5, 7.6). */
#include "fabric_world.h"

enum { FLOGI = 0x04, LOGO = 0x05, ADISC = 0x52, FARP_REQ = 0x54, FARP_REPLY = 0x55 };
enum { PUBLIC = 0, PRIVATE = 1, BEHIND = 2, NEIGHBOUR = 3 };

static void add(struct fworld *w, uint32_t id, enum fcvi_topology topology, bool name_server, unsigned host)
{
    struct fcvi_port_config c = w_config(w->ports);
    c.topology = (uint8_t)topology;
    c.explicit_login = true;
    c.fabric_login = topology != FCVI_PRIVATE_LOOP;
    c.name_server = name_server;
    c.self.n_port_id = id;
    memcpy(c.self.host[0], w_identity(host).host[0], 16);
    c.peer = c.self;
    f_add(w, &f_port_limits, &c, id, topology == FCVI_FABRIC ? FCVI_PLACE_FABRIC : FCVI_PLACE_LOOP);
    fcvi_port_link(w->port[w->ports - 1], 0, FCVI_LINK_UP);
}

/* A public port, a private one that knows of no Fabric, one behind the FL_Port, and another public one. */
static struct fworld *begin(void)
{
    struct fcvi_fabric_config config = f_config(FCVI_PUBLIC_LOOP);
    struct fworld *w = f_begin(&f_limits, &config);
    add(w, 0x0101EF, FCVI_PUBLIC_LOOP, false, 0);
    add(w, 0x0000E8, FCVI_PRIVATE_LOOP, false, 1);
    add(w, 0x020300, FCVI_FABRIC, false, 2);
    add(w, 0x0101E4, FCVI_PUBLIC_LOOP, false, 3);
    f_settle(w);
    ck_assert_uint_eq(w->els[PRIVATE][FLOGI], 0);
    return w;
}

static void lip(struct fworld *w, unsigned flags)
{
    ck_assert_uint_eq(fcvi_fabric_lip(w->fabric, f_now(w), flags), 3);
    for (uint32_t i = 0; i < w->ports; i++)
        if (i != BEHIND)
            fcvi_port_lip(w->port[i], f_now(w), fcvi_fabric_id(w->fabric, i));
    f_settle(w);
}

/* After a LIP the FAN is enough for a port of the Fabric; a private one wants ADISC. */
START_TEST(validation)
{
    struct fworld *w = begin();
    struct end a[3], b[3];
    for (unsigned i = 0; i < 3; i++) {
        a[i] = f_end(w, PUBLIC, FCVI_RELIABLE_RECEPTION);
        b[i] = f_end(w, PUBLIC + 1 + i, FCVI_RELIABLE_RECEPTION);
        if (_i == 0)
            ck_assert_int_eq(f_connect(w, a[i], b[i]), VIP_SUCCESS);
        else
            ck_assert_int_eq(f_connect(w, b[i], a[i]), VIP_SUCCESS);
    }
    lip(w, 0);
    ck_assert_uint_eq(w->els[PUBLIC][ADISC], 1);
    ck_assert_uint_eq(w->els[PRIVATE][ADISC], 1);
    ck_assert_uint_eq(w->els[NEIGHBOUR][ADISC] + w->els[BEHIND][ADISC], 0);
    for (unsigned i = 0; i < 3; i++) {
        f_message(w, a[i], b[i]);
        f_message(w, b[i], a[i]);
        ck_assert_uint_eq(w->els[i][LOGO], 0);
        f_disconnect(w, a[i], b[i]);
    }
    f_nothing_left(w);
    f_free(w);
}
END_TEST

/* With other addresses no mapping holds. The port behind the FL_Port saw no LIP, but gets a LOGO: its sender
 * has another N_Port Identifier by then, and is known by its Port_Name. */
START_TEST(other_addresses)
{
    struct fworld *w = begin();
    struct end a[3], b[3];
    for (unsigned i = 0; i < 3; i++) {
        a[i] = f_end(w, PUBLIC, FCVI_RELIABLE_RECEPTION);
        b[i] = f_end(w, PUBLIC + 1 + i, FCVI_RELIABLE_RECEPTION);
        ck_assert_int_eq(f_connect(w, a[i], b[i]), VIP_SUCCESS);
    }
    lip(w, FCVI_LIP_NEW_ADDRESSES);
    ck_assert_uint_eq(w->els[PUBLIC][FLOGI], 2);
    for (unsigned i = 0; i < 3; i++)
        f_both_are(w, a[i], b[i], FCVI_STATE_ERROR);
    for (unsigned i = 0; i < 3; i++) {
        f_disconnect(w, a[i], b[i]);
        ck_assert_int_eq(f_connect(w, a[i], b[i]), VIP_SUCCESS);
        f_message(w, a[i], b[i]);
        f_message(w, b[i], a[i]);
        f_disconnect(w, a[i], b[i]);
    }
    f_nothing_left(w);
    f_free(w);
}
END_TEST

/* Both answer a FARP, the Name Server names both: the first one is connected with. */
START_TEST(two_with_one_address)
{
    struct fcvi_fabric_config config = f_config(FCVI_FABRIC);
    struct fworld *w = f_begin(&f_limits, &config);
    for (uint32_t i = 0; i < 3; i++)
        add(w, 0x010100 + i * 0x100, FCVI_FABRIC, _i, i == 0 ? 0 : 1);
    f_settle(w);
    struct end a = f_end(w, 0, FCVI_RELIABLE_DELIVERY), b = f_end(w, 1, FCVI_RELIABLE_DELIVERY);
    ck_assert_int_eq(f_connect(w, a, b), VIP_SUCCESS);
    ck_assert_uint_eq(w->els[1][FARP_REPLY], !_i);
    ck_assert_uint_eq(w->els[2][FARP_REPLY], !_i);
    f_message(w, a, b);
    f_disconnect(w, a, b);
    f_nothing_left(w);
    f_free(w);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_mixed");
    TCase *t = tcase_create("mixed");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, validation, 0, 2);
    tcase_add_test(t, other_addresses);
    tcase_add_loop_test(t, two_with_one_address, 0, 2);
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
