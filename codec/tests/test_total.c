/* Every byte string gives a result, and what is taken apart is put together again. */
#include "under_test.h"

START_TEST(truncated_at_every_length)
{
    const struct golden *g = &golden[_i];
    struct test t;
    load_hex(&t, g->hex, g->sof, g->eof);
    memset(t.bytes + t.input.length, 0xa5, sizeof t.bytes - t.input.length);
    for (size_t length = 0; length <= 2148; length++) {
        t.input.length = length;
        exercise(&t);
    }
}
END_TEST

START_TEST(every_bit_flipped)
{
    const struct golden *g = &golden[_i];
    struct test t;
    load_hex(&t, g->hex, g->sof, g->eof);
    for (size_t bit = 0; bit < 8 * t.input.length; bit++) {
        t.bytes[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        exercise(&t);
        t.bytes[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("total");
    TCase *tc = tcase_create("total");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, truncated_at_every_length, 0, GOLDEN_COUNT);
    tcase_add_loop_test(tc, every_bit_flipped, 0, GOLDEN_COUNT);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
