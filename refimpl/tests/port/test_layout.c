/* What a host may ask for in struct fcvi_port_limits, and what zero stands for, and the bounds of the
 * configuration (port.h). */
#include "../../../codec/tests/quiet_check.h"
#include <fcvi/port.h>
#include <stddef.h>
#include <stdlib.h>

static const struct fcvi_port_limits least = {.vis = 1,
                                              .connectionpoints = 1,
                                              .exchanges = 1,
                                              .regions = 1,
                                              .descriptors = 1,
                                              .events = 16,
                                              .max_transfer_size = 1};

#define LIMIT(name) offsetof(struct fcvi_port_limits, name)
static const struct {
    size_t at;
    uint32_t least, most;
} bounds[] = {
    {LIMIT(vis), 1, 1u << 20},         {LIMIT(connectionpoints), 1, 1u << 20},
    {LIMIT(exchanges), 1, 0xFFFF},     {LIMIT(regions), 1, 1u << 20},
    {LIMIT(descriptors), 1, 1u << 16}, {LIMIT(events), 16, 1u << 24},
    {LIMIT(memory), 0, 1u << 31},      {LIMIT(max_transfer_size), 1, UINT32_MAX},
    {LIMIT(setups), 0, 1u << 20},      {LIMIT(remote_ports), 0, 0xFFFF},
    {LIMIT(entries), 0, 1u << 26},     {LIMIT(segments), 0, 1u << 26},
    {LIMIT(runs), 0, 1u << 26},        {LIMIT(held_frames), 0, 1u << 16},
};

static size_t size_with(size_t at, uint32_t value)
{
    struct fcvi_port_limits l = least;
    *(uint32_t *)(void *)((uint8_t *)&l + at) = value;
    return fcvi_port_size(&l);
}

START_TEST(bounds_of_each_limit)
{
    ck_assert_uint_ne(size_with(bounds[_i].at, bounds[_i].least), 0);
    ck_assert_uint_ne(size_with(bounds[_i].at, bounds[_i].most), 0);
    if (bounds[_i].least > 0)
        ck_assert_uint_eq(size_with(bounds[_i].at, bounds[_i].least - 1), 0);
    if (bounds[_i].most < UINT32_MAX)
        ck_assert_uint_eq(size_with(bounds[_i].at, bounds[_i].most + 1), 0);
}
END_TEST

/* All Descriptors of all VIs: 2^23, unless the host says how many are posted together. */
START_TEST(bound_of_all_descriptors)
{
    struct fcvi_port_limits l = least;
    l.vis = 1 << 20;
    l.descriptors = 8;
    ck_assert_uint_ne(fcvi_port_size(&l), 0);
    l.descriptors = 9;
    ck_assert_uint_eq(fcvi_port_size(&l), 0);
    l.entries = 1;
    ck_assert_uint_ne(fcvi_port_size(&l), 0);
}
END_TEST

/* Zero and what port.h says that it stands for take the same room; one more takes more. */
START_TEST(defaults)
{
    static const struct {
        uint32_t vis, connectionpoints, setups;
    } setups[] = {{10, 6, 16}, {2048, 2047, 4095}, {2048, 2048, 4096}, {3000, 1, 3001}, {3000, 3000, 4096}};
    for (size_t i = 0; i < sizeof setups / sizeof setups[0]; i++) {
        struct fcvi_port_limits l = least;
        l.vis = setups[i].vis;
        l.connectionpoints = setups[i].connectionpoints;
        l.descriptors = 3;
        l.exchanges = 100;
        size_t size = fcvi_port_size(&l);
        struct fcvi_port_limits said = l;
        said.setups = setups[i].setups;
        said.remote_ports = 16;
        said.entries = 2 * l.vis * l.descriptors;
        said.segments = 4 * said.entries + 253;
        said.runs = l.exchanges + 256;
        said.held_frames = 64;
        ck_assert_uint_eq(fcvi_port_size(&said), size);
        uint32_t *const each[] = {&said.setups,   &said.remote_ports, &said.entries,
                                  &said.segments, &said.runs,         &said.held_frames};
        for (size_t k = 0; k < sizeof each / sizeof each[0]; k++) {
            *each[k] += 8;
            ck_assert_uint_gt(fcvi_port_size(&said), size);
            *each[k] -= 8;
        }
    }
}
END_TEST

/* ---- the configuration ---- */

static struct fcvi_port_config good(void)
{
    return (struct fcvi_port_config){.topology = FCVI_POINT_TO_POINT,
                                     .service_class = 3,
                                     .e_d_tov_us = 1,
                                     .r_a_tov_us = 1,
                                     .receive_size = 256,
                                     .self = {.n_port_id = 1, .hosts = 1},
                                     .peer = {.n_port_id = 2}};
}

static bool works(const struct fcvi_port_config *c)
{
    size_t size = fcvi_port_size(&least);
    void *block = malloc(size);
    bool made = fcvi_port_init(block, size, &least, c) != NULL;
    ck_assert_ptr_null(fcvi_port_init(block, size - 1, &least, c));
    free(block);
    return made;
}

#define WORKS(wanted, change)                                                                                \
    do {                                                                                                     \
        struct fcvi_port_config c = good();                                                                  \
        c.change;                                                                                            \
        ck_assert_msg(works(&c) == (wanted), "%s", #change);                                                 \
    } while (0)

START_TEST(bounds_of_the_configuration)
{
    WORKS(true, seed = 7);
    WORKS(true, self.n_port_id = 0xFFFFFF);
    WORKS(false, self.n_port_id = 0x1000000);
    WORKS(true, peer.n_port_id = 0xFFFFFF);
    WORKS(false, peer.n_port_id = 0x1000000);
    WORKS(true, self.hosts = FCVI_MAX_HOSTS);
    WORKS(false, self.hosts = FCVI_MAX_HOSTS + 1);
    WORKS(false, self.hosts = 0);
    WORKS(true, peer.hosts = FCVI_MAX_HOSTS);
    WORKS(false, peer.hosts = FCVI_MAX_HOSTS + 1);
    WORKS(true, topology = FCVI_FABRIC);
    WORKS(false, topology = FCVI_FABRIC + 1);
    WORKS(true, service_class = 2);
    WORKS(false, service_class = 1);
    WORKS(false, service_class = 4);
    WORKS(false, r_a_tov_us = 0);
    WORKS(false, receive_size = 255);
    WORKS(true, receive_size = 2112);
    WORKS(false, receive_size = 2113);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layout");
    TCase *tc = tcase_create("layout");
    tcase_add_loop_test(tc, bounds_of_each_limit, 0, sizeof bounds / sizeof bounds[0]);
    tcase_add_test(tc, bound_of_all_descriptors);
    tcase_add_test(tc, defaults);
    tcase_add_test(tc, bounds_of_the_configuration);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
