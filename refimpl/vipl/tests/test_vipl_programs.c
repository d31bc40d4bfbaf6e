/* VIPL programs against each other, at every reliability level that they are for. */
#include "wire.h"

#include <check.h>
#include <vipl.h>

static const struct {
    const char *name;
    program *first, *second;
    unsigned levels;
} pair[] = {
    {"echo", echo_server, echo_client, 7},
    {"lost", lost_server, lost_client, 7},
    {"completion queue", cq_server, cq_client, 7},
    {"refused requests", refuse_server, refuse_client, 7},
    {"RDMA Write", write_server, write_client, 7},
    {"malformed", format_server, format_client, 7},
    {"peers", peer_one, peer_two, 7},
    {"peers that differ", mismatch_one, mismatch_two, 7},
    {"RDMA Read", read_server, read_client, 6}, /* VI-ARCH 2.5: never on Unreliable Delivery */
    {"nothing posted", empty_server, empty_client, 6},
    {"RDMA protection", protect_server, protect_client, 6},
};

START_TEST(test_pair)
{
    for (unsigned short level = 1; level <= VIP_SERVICE_RELIABLE_RECEPTION; level *= 2) {
        if ((pair[_i].levels & level) == 0)
            continue;
        const char *failure = wire_run(pair[_i].first, pair[_i].second, level);
        ck_assert_msg(failure == NULL, "%s, level %u: %s", pair[_i].name, level, failure);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vipl programs");
    TCase *tc = tcase_create("pairs");
    tcase_add_loop_test(tc, test_pair, 0, (int)(sizeof pair / sizeof pair[0]));
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
