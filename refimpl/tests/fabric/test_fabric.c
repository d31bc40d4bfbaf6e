/* The simulated Fabric: its life and its ports. */
#include "fabric_bench.h"

/* ---- sizes and configuration ---- */

START_TEST(limits_out_of_range)
{
    static const struct fcvi_fabric_limits bad[] = {
        {0, 1, 0, 0},     {257, 1, 0, 0},   {1, 0, 0, 0}, {1, (1 << 20) + 1, 0, 0},
        {1, 1, 65537, 0}, {1, 1, 0, 65537},
    };
    struct fcvi_fabric_config c = n_config();
    uint64_t memory[64] = {0};
    ck_assert_uint_eq(fcvi_fabric_size(&bad[_i]), 0);
    ck_assert_ptr_null(fcvi_fabric_init(memory, SIZE_MAX, &bad[_i], &c));
}
END_TEST

START_TEST(limits_in_range)
{
    const struct fcvi_fabric_limits small = {1, 1, 0, 0}, large = {256, 1 << 20, 65536, 65536};
    struct fcvi_fabric_config c = n_config();
    ck_assert_uint_gt(fcvi_fabric_size(&large), (size_t)FCVI_FABRIC_FRAME << 20);
    size_t size = fcvi_fabric_size(&small);
    ck_assert_uint_lt(size, 8192);
    void *memory = malloc(size);
    ck_assert_ptr_null(fcvi_fabric_init(memory, size - 1, &small, &c));
    ck_assert_ptr_eq(fcvi_fabric_init(memory, size, &small, &c), memory);
    free(memory);
}
END_TEST

static void one_wrong(struct fcvi_fabric_config *c, int which)
{
    switch (which) {
    case 0:
        c->topology = FCVI_FABRIC + 1;
        break;
    case 1:
        c->loss = 1000001;
        break;
    case 2:
        c->duplication = 1000001;
        break;
    case 3:
        c->corruption = 1000001;
        break;
    case 4:
        c->fan_delay_us = 1000001;
        break;
    case 5:
        c->latency_us = FCVI_FABRIC_LONGEST + 1;
        break;
    case 6:
        c->jitter_us = UINT64_MAX;
        break;
    case 7: /* FLOGI has 32 bits for milliseconds */
        c->r_a_tov_us = (UINT64_C(1) << 32) * 1000;
        break;
    default:
        c->e_d_tov_us = (UINT64_C(1) << 32) * 1000;
        break;
    }
}

START_TEST(configuration_out_of_range)
{
    struct fcvi_fabric_config c = n_config();
    size_t size = fcvi_fabric_size(&n_limits);
    void *memory = malloc(size);
    one_wrong(&c, _i);
    ck_assert_ptr_null(fcvi_fabric_init(memory, size, &n_limits, &c));
    free(memory);
}
END_TEST

START_TEST(configuration_at_the_limit)
{
    struct fcvi_fabric_config c = {.topology = FCVI_POINT_TO_POINT,
                                   .loss = 1000000,
                                   .duplication = 1000000,
                                   .corruption = 1000000,
                                   .latency_us = FCVI_FABRIC_LONGEST,
                                   .jitter_us = FCVI_FABRIC_LONGEST,
                                   .fan_delay_us = 1000000,
                                   .r_a_tov_us = UINT64_C(0xFFFFFFFF) * 1000,
                                   .e_d_tov_us = UINT64_C(0xFFFFFFFF) * 1000};
    n_end(n_empty(&n_limits, &c));
}
END_TEST

/* ---- ports ---- */

START_TEST(attaching)
{
    struct net *n = n_new();
    struct fcvi_port_identity crowd = n_identity(0x010500, 1);
    crowd.hosts = FCVI_MAX_HOSTS + 1;
    ck_assert_uint_eq(fcvi_fabric_attach(n->f, &crowd, FCVI_PLACE_FABRIC), FCVI_FABRIC_NONE);
    ck_assert_uint_eq(attach(n, 0x010200, 1), FCVI_FABRIC_NONE); /* taken */
    ck_assert_uint_eq(attach(n, 0xFFFC00, 1), FCVI_FABRIC_NONE); /* well-known addresses and above */
    ck_assert_uint_eq(attach(n, 0xFFFFFC, 1), FCVI_FABRIC_NONE);
    ck_assert_uint_eq(attach(n, 0x1000000, 1), FCVI_FABRIC_NONE);
    ck_assert_uint_eq(attach(n, 0xFFFBFF, 1), 3);
    ck_assert_uint_eq(attach(n, 0x010500, 1), FCVI_FABRIC_NONE); /* no room */
    ck_assert_uint_eq(fcvi_fabric_id(n->f, 1), 0x010200);
    ck_assert_uint_eq(fcvi_fabric_id(n->f, 3), 0xFFFBFF);
    ck_assert_uint_eq(fcvi_fabric_id(n->f, 4), 0);
    ck_assert_uint_eq(fcvi_fabric_id(n->f, FCVI_FABRIC_ANY), 0);
    ck_assert_uint_eq(fcvi_fabric_find(n->f, 0x010300), 2);
    ck_assert_uint_eq(fcvi_fabric_find(n->f, 0x010400), FCVI_FABRIC_NONE);
    ck_assert_uint_eq(fcvi_fabric_find(n->f, 0), FCVI_FABRIC_NONE);
    n_end(n);
}
END_TEST

/* Ports before FLOGI have no identifier, and several of them may be so. */
START_TEST(without_an_identifier)
{
    struct fcvi_fabric_config c = n_config();
    struct net *n = n_empty(&n_limits, &c);
    ck_assert_uint_eq(attach(n, 0, 1), 0);
    ck_assert_uint_eq(attach(n, 0, 2), 1);
    ck_assert_uint_eq(fcvi_fabric_id(n->f, 0), 0);
    n_end(n);
}
END_TEST

START_TEST(a_link_has_two_ends)
{
    struct fcvi_fabric_config c = n_config();
    c.topology = FCVI_POINT_TO_POINT;
    struct net *n = n_empty(&n_limits, &c);
    ck_assert_uint_eq(attach(n, 0x010100, 1), 0);
    ck_assert_uint_eq(attach(n, 0x010200, 2), 1);
    ck_assert_uint_eq(attach(n, 0x010300, 3), FCVI_FABRIC_NONE);
    n_end(n);
}
END_TEST

START_TEST(another_identifier)
{
    struct net *n = n_new();
    ck_assert(!fcvi_fabric_set_id(n->f, 3, 0x010900));
    ck_assert(!fcvi_fabric_set_id(n->f, 0, 0x010200));
    ck_assert(!fcvi_fabric_set_id(n->f, 0, 0xFFFFFE));
    say_data(n, 1, 0, 1);
    ck_assert(fcvi_fabric_set_id(n->f, 0, 0x010100)); /* the same: nothing happens */
    hear_data(n, 1, 0, 1);
    say_data(n, 1, 0, 2); /* lost under way */
    ck_assert(fcvi_fabric_set_id(n->f, 0, 0x010900));
    say_data(n, 1, 0, 3); /* nobody has that identifier any more */
    silence(n);
    ck_assert_uint_eq(counters(n).dropped, 2);
    ck_assert_uint_eq(fcvi_fabric_find(n->f, 0x010900), 0);
    ck_assert_uint_eq(fcvi_fabric_find(n->f, 0x010100), FCVI_FABRIC_NONE);
    n_end(n);
}
END_TEST

START_TEST(link_down_and_up)
{
    struct net *n = n_new();
    ck_assert(!fcvi_fabric_link(n->f, 3, false));
    say_data(n, 1, 0, 1); /* lost under way */
    ck_assert(fcvi_fabric_link(n->f, 0, false));
    ck_assert(fcvi_fabric_link(n->f, 0, false));
    ck_assert_uint_eq(fcvi_fabric_find(n->f, 0x010100), 0); /* down or not */
    say_data(n, 0, 1, 2);                                   /* cannot be sent */
    say_data(n, 1, 0, 3);                                   /* cannot arrive */
    ck_assert(fcvi_fabric_link(n->f, 0, true));
    silence(n);
    ck_assert_uint_eq(counters(n).dropped, 3);
    ck_assert(fcvi_fabric_link(n->f, 0, true)); /* up already: nothing is lost */
    say_data(n, 1, 0, 4);
    say_data(n, 0, 1, 5);
    ck_assert(fcvi_fabric_link(n->f, 1, true));
    hear_data(n, 1, 0, 4);
    hear_data(n, 0, 1, 5);
    n_end(n);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric");
    TCase *t = tcase_create("life");
    tcase_add_loop_test(t, limits_out_of_range, 0, 6);
    tcase_add_test(t, limits_in_range);
    tcase_add_loop_test(t, configuration_out_of_range, 0, 9);
    tcase_add_test(t, configuration_at_the_limit);
    suite_add_tcase(s, t);
    t = tcase_create("ports");
    tcase_add_test(t, attaching);
    tcase_add_test(t, without_an_identifier);
    tcase_add_test(t, a_link_has_two_ends);
    tcase_add_test(t, another_identifier);
    tcase_add_test(t, link_down_and_up);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
