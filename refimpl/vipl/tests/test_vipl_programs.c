/* VIPL programs against each other over the simulated Fabric: every pair of them at every reliability level
 * that it is for, in the four topologies of 7.7, on In-Order and Out-of-Order Fabrics, in class 2 and 3, and
 * over VI/TCP; some of them in the edition of 1999. */
#include "net.h"

#include "../../../codec/tests/quiet_check.h"
#include <stdlib.h>
#include <vipl.h>

static const struct {
    const char *name;
    program *first, *second;
    unsigned levels;
    bool agreed_mtu; /* they differ in MaxTransferSize, which VI/TCP negotiates (2.2.1) */
} pair[] = {
    {"echo", echo_server, echo_client, 7, false},
    {"lost", lost_server, lost_client, 7, false},
    {"completion queue", cq_server, cq_client, 7, false},
    {"refused requests", refuse_server, refuse_client, 7, true},
    {"RDMA Write", write_server, write_client, 7, false},
    {"malformed", format_server, format_client, 7, false},
    {"peers", peer_one, peer_two, 7, false},
    {"peers that differ", mismatch_one, mismatch_two, 7, true},
    {"RDMA Read", read_server, read_client, 6, false}, /* VI-ARCH 2.5: never on Unreliable Delivery */
    {"nothing posted", empty_server, empty_client, 6, false},
    {"RDMA protection", protect_server, protect_client, 6, false},
};

enum { LATENCY = 100, JITTER = 400, E_D_TOV = 2000000, R_A_TOV = 10000000 };
#define SERVICES(kind)                                                                                       \
    .topology = (kind), .latency_us = LATENCY, .e_d_tov_us = E_D_TOV, .r_a_tov_us = R_A_TOV,                 \
    .port_name = 0x2f00000000000001, .node_name = 0x2e00000000000001

static const struct net nets[] = {
    {"point-to-point",
     {.topology = FCVI_POINT_TO_POINT, .latency_us = LATENCY},
     .service_class = 3,
     .n_port_id = 0x010100},
    {"point-to-point in class 2, PLOGI and FARP",
     {.topology = FCVI_POINT_TO_POINT, .latency_us = LATENCY},
     .service_class = 2,
     .strangers = true,
     .n_port_id = 0x010100},
    {"private loop, PLOGI and FARP",
     {.topology = FCVI_PRIVATE_LOOP, .latency_us = LATENCY},
     .service_class = 3,
     .strangers = true,
     .n_port_id = 0x0000E1,
     .place = FCVI_PLACE_LOOP},
    {"public loop, FLOGI, PLOGI and Name Server",
     {SERVICES(FCVI_PUBLIC_LOOP)},
     .service_class = 3,
     .strangers = true,
     .name_server = true,
     .place = FCVI_PLACE_LOOP},
    {"Fabric, FLOGI, PLOGI and Name Server",
     {SERVICES(FCVI_FABRIC), .jitter_us = JITTER, .seed = 1},
     .service_class = 3,
     .strangers = true,
     .name_server = true,
     .place = FCVI_PLACE_FABRIC},
    {"Fabric in class 2, FLOGI, PLOGI and FARP",
     {SERVICES(FCVI_FABRIC), .jitter_us = JITTER, .seed = 2},
     .service_class = 2,
     .strangers = true,
     .place = FCVI_PLACE_FABRIC},
    {"Out-of-Order Fabric",
     {SERVICES(FCVI_FABRIC), .out_of_order = true, .jitter_us = JITTER, .seed = 3},
     .service_class = 3,
     .n_port_id = 0x010100,
     .place = FCVI_PLACE_FABRIC},
    {"Out-of-Order Fabric in class 2, FLOGI, PLOGI and Name Server",
     {SERVICES(FCVI_FABRIC), .out_of_order = true, .jitter_us = JITTER, .seed = 4},
     .service_class = 2,
     .strangers = true,
     .name_server = true,
     .place = FCVI_PLACE_FABRIC},
    {"VI/TCP", .tcp = true, .n_port_id = 0x010100},
    {"point-to-point of 1999",
     {.topology = FCVI_POINT_TO_POINT, .latency_us = LATENCY},
     .service_class = 3,
     .n_port_id = 0x010100,
     .rev1 = true},
    {"Fabric of 1999, FLOGI, PLOGI and Name Server",
     {SERVICES(FCVI_FABRIC), .jitter_us = JITTER, .seed = 1},
     .service_class = 3,
     .strangers = true,
     .name_server = true,
     .place = FCVI_PLACE_FABRIC,
     .rev1 = true},
    {"Out-of-Order Fabric of 1999 in class 2, PLOGI and FARP",
     {SERVICES(FCVI_FABRIC), .out_of_order = true, .jitter_us = JITTER, .seed = 4},
     .service_class = 2,
     .strangers = true,
     .place = FCVI_PLACE_FABRIC,
     .rev1 = true},
};
enum { PAIRS = sizeof pair / sizeof pair[0], NETS = sizeof nets / sizeof nets[0] };

START_TEST(test_pair)
{
    for (unsigned short level = 1; level <= VIP_SERVICE_RELIABLE_RECEPTION; level *= 2) {
        if (getenv("ONLY") && atoi(getenv("ONLY")) != _i)
            return;
        const int p = _i / NETS, n = _i % NETS;
        if ((pair[p].levels & level) == 0)
            continue;
        if (nets[n].tcp && (level == VIP_SERVICE_RELIABLE_DELIVERY || pair[p].agreed_mtu))
            continue; /* the other side does not see which of the two reliable levels a VI has (V15) */
        const char *failure = net_run(&nets[n], pair[p].first, pair[p].second, level);
        ck_assert_msg(failure == NULL, "%s, %s, level %u: %s", nets[n].name, pair[p].name, level, failure);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vipl programs");
    TCase *tc = tcase_create("pairs");
    tcase_add_loop_test(tc, test_pair, 0, PAIRS * NETS);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
