/* The monitor over what reference ports say to each other under loss, corruption, duplication and reordering:
 * whatever the Fabric does, the ports break no rule, so nothing is found. Each stream is watched as it is
 * sent, and as captures would have it: with holes, repeated and reordered frames, and from its middle on. */
#include <fcvi/monitor.h>

/* the worlds of the reference port's tests, without their main */
int seeds_main(void);
#define main seeds_main
#include "../../../refimpl/tests/messages/test_seeds.c"
#undef main

#include "views.h"

static void watch_worlds(int number, enum fcvi_edition edition)
{
    chance = (uint64_t)number;
    w_watch = watch;
    for (unsigned k = 0; k < SEEDS; k++) {
        uint64_t seed = (uint64_t)number * SEEDS + k + 1;
        struct run r = begin(seed, edition);
        post_all(&r, 0);
        post_all(&r, 1);
        w_run(r.w, 20 * W_R_A_TOV);
        take(&r, 0);
        take(&r, 1);
        close_both(&r);
        end(&r);
    }
    ck_assert_uint_gt(watched, SEEDS * 50);
    if (getenv("FCVI_SAY_FRAMES") != NULL)
        printf("%llu frames\n", (unsigned long long)watched);
}

START_TEST(ports_break_no_rule)
{
    watch_worlds(_i, FCVI_EDITION_2007);
}
END_TEST

START_TEST(ports_of_rev1_break_no_rule)
{
    watch_worlds(_i, FCVI_EDITION_REV1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("monitor worlds");
    TCase *t = tcase_create("worlds");
    tcase_set_timeout(t, 120);
    const char *wanted = getenv("FCVI_SEED_TESTS");
    int worlds = wanted != NULL ? atoi(wanted) : 160;
    tcase_add_loop_test(t, ports_break_no_rule, 0, worlds);
    tcase_add_loop_test(t, ports_of_rev1_break_no_rule, 0, (worlds + 3) / 4);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
