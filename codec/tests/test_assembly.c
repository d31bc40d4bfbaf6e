/* A FCVI_CONNECT_RQST that comes in several frames (E44), put together again: what it says of the whole. */
#include "under_test.h"

#include <fcvi/assembly.h>
#include <stdio.h>

enum { WHOLE = 396, BEFORE = 56, PAYLOAD = WHOLE - BEFORE, END_SEQUENCE = 0x08 };

/* The bytes of a good FCVI_CONNECT_RQST in one frame. */
static void whole_request(uint8_t *bytes)
{
    for (size_t i = 0; i < GOLDEN_COUNT; i++) {
        if (golden[i].iu == FCVI_IU_CONNECT_RQST && from_hex(golden[i].hex, bytes) == WHOLE)
            return;
    }
    ck_abort_msg("no golden request of one frame");
}

/* The part [from, to) of the payload as a frame of its own. */
static struct fcvi_frame part(struct test *t, const uint8_t *whole, uint32_t from, uint32_t to)
{
    memcpy(t->bytes, whole, BEFORE);
    memcpy(t->bytes + BEFORE, whole + BEFORE + from, to - from);
    t->bytes[9] = (uint8_t)(to == PAYLOAD ? t->bytes[9] | END_SEQUENCE : t->bytes[9] & ~END_SEQUENCE);
    for (int i = 0; i < 4; i++)
        t->bytes[20 + i] = (uint8_t)(from >> 8 * (3 - i)); /* Relative Offset */
    t->input = (struct fcvi_input){t->bytes, BEFORE + to - from, 0, 0, FCVI_CRC_OK};
    decode(t);
    return t->frame;
}

/* What is found in the request that was put together of parts that end at `cuts`. */
static struct fcvi_findings found(const uint8_t *whole, const uint32_t *cuts, size_t count,
                                  struct fcvi_finding *list, struct fcvi_assembly *a)
{
    struct fcvi_findings findings = {list, MOST, 0, 0};
    static struct test t;
    uint32_t from = 0;
    memset(a, 0, sizeof *a);
    for (size_t i = 0; i < count; i++) {
        struct fcvi_frame frame = part(&t, whole, from, cuts[i]);
        ck_assert_int_eq(fcvi_assembly_add(a, &frame), cuts[i] == PAYLOAD);
        from = cuts[i];
    }
    fcvi_assembly_check(a, &findings);
    return findings;
}

START_TEST(any_cut_of_a_good_request_is_good)
{
    uint8_t whole[GOLDEN_MAX];
    whole_request(whole);
    struct fcvi_finding list[MOST];
    struct fcvi_assembly a;
    for (uint32_t cut = 1; cut < PAYLOAD; cut++) {
        uint32_t cuts[] = {cut, PAYLOAD};
        ck_assert_uint_eq(found(whole, cuts, 2, list, &a).count, 0);
        ck_assert_uint_eq(a.length, PAYLOAD);
        ck_assert_mem_eq(a.payload, whole + BEFORE, PAYLOAD);
    }
}
END_TEST

START_TEST(a_wrong_field_is_found_whatever_the_cut)
{
    uint8_t whole[GOLDEN_MAX];
    whole_request(whole);
    whole[BEFORE + 7] = 9; /* FCVI_REVISION (6.8.3) */
    struct fcvi_finding list[MOST];
    struct fcvi_assembly a;
    uint32_t cuts[] = {5, 100, 101, PAYLOAD};
    struct fcvi_findings findings = found(whole, cuts, 4, list, &a);
    ck_assert_uint_eq(findings.count, 1);
    ck_assert_uint_eq(list[0].byte, BEFORE + 6);
}
END_TEST

START_TEST(a_missing_part_is_not_judged)
{
    uint8_t whole[GOLDEN_MAX];
    whole_request(whole);
    whole[BEFORE + 7] = 9;
    struct test t;
    struct fcvi_assembly a = {0};
    struct fcvi_finding list[MOST];
    struct fcvi_findings findings = {list, MOST, 0, 0};
    struct fcvi_frame frame = part(&t, whole, 0, 40);
    ck_assert(!fcvi_assembly_add(&a, &frame));
    frame = part(&t, whole, 80, PAYLOAD);
    ck_assert(fcvi_assembly_add(&a, &frame));
    ck_assert(a.missing);
    fcvi_assembly_check(&a, &findings);
    ck_assert_uint_eq(findings.count, 0);
}
END_TEST

START_TEST(parts_before_the_first_say_nothing)
{
    uint8_t whole[GOLDEN_MAX];
    whole_request(whole);
    struct test t;
    struct fcvi_assembly a = {0};
    struct fcvi_frame frame = part(&t, whole, 80, PAYLOAD);
    ck_assert(fcvi_assembly_add(&a, &frame));
    ck_assert_uint_eq(a.parts, 0);
}
END_TEST

START_TEST(a_payload_longer_than_any_keeps_its_length_only)
{
    uint8_t whole[GOLDEN_MAX];
    whole_request(whole);
    memset(whole + BEFORE, 0xA5, PAYLOAD);
    struct test t;
    struct {
        struct fcvi_assembly it;
        uint8_t behind[300];
    } a = {0};
    struct fcvi_finding list[MOST];
    struct fcvi_findings findings = {list, MOST, 0, 0};
    for (uint32_t i = 0; i < 4; i++) {
        struct fcvi_frame frame = part(&t, whole, 0, 300);
        for (int k = 0; k < 4; k++)
            t.bytes[20 + k] = (uint8_t)(i * 300 >> 8 * (3 - k));
        fcvi_assembly_add(&a.it, &frame);
    }
    ck_assert_uint_eq(a.it.length, 1200);
    fcvi_assembly_check(&a.it, &findings);
    ck_assert_uint_gt(findings.count, 0); /* no connect payload is that long (6.8.3) */
    for (size_t i = 0; i < sizeof a.behind; i++)
        ck_assert_uint_eq(a.behind[i], 0);
}
END_TEST

START_TEST(a_request_of_one_frame_is_judged_once)
{
    uint8_t whole[GOLDEN_MAX];
    whole_request(whole);
    whole[BEFORE + 7] = 9;
    struct fcvi_finding list[MOST];
    struct fcvi_assembly a;
    uint32_t cuts[] = {PAYLOAD}; /* fcvi_decode has judged it */
    ck_assert_uint_eq(found(whole, cuts, 1, list, &a).count, 0);
}
END_TEST

START_TEST(bytes_of_a_field_in_a_part)
{
    uint8_t whole[GOLDEN_MAX];
    whole_request(whole);
    struct test t;
    struct fcvi_frame frame = part(&t, whole, 100, 200);
    ck_assert_ptr_eq(fcvi_assembly_part(&frame, 100, 100, 4), frame.payload);
    ck_assert_ptr_eq(fcvi_assembly_part(&frame, 100, 196, 4), frame.payload + 96);
    ck_assert_ptr_null(fcvi_assembly_part(&frame, 100, 99, 4));
    ck_assert_ptr_null(fcvi_assembly_part(&frame, 100, 197, 4));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("assembly");
    TCase *tc = tcase_create("assembly");
    tcase_add_test(tc, any_cut_of_a_good_request_is_good);
    tcase_add_test(tc, a_wrong_field_is_found_whatever_the_cut);
    tcase_add_test(tc, a_missing_part_is_not_judged);
    tcase_add_test(tc, parts_before_the_first_say_nothing);
    tcase_add_test(tc, a_payload_longer_than_any_keeps_its_length_only);
    tcase_add_test(tc, a_request_of_one_frame_is_judged_once);
    tcase_add_test(tc, bytes_of_a_field_in_a_part);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
