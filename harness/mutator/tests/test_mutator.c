/* The mutator: bounded, repeatable, and what it makes still reaches the depths of a parser. */
#include "../fcvi_mutator.h"

#include "../../../codec/tests/quiet_check.h"
#include <fcvi/codec.h>
#include <fcvi/pdu.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 2200, RUNS = 20000 };

static const struct fcvi_mutator_format formats[] = {{.trailer = 2},
                                                     {.trailer = 0},
                                                     {.crc = true},
                                                     {.frames = true},
                                                     {.pdus = true, .trailer = 1},
                                                     {.rev1 = true},
                                                     {.frames = true, .rev1 = true}};

static uint64_t next(uint64_t *random)
{
    return *random = *random * 6364136223846793005u + 1442695040888963407u;
}

/* A guard behind the room shows what is written beyond it; ASan does so for the heap block. */
START_TEST(test_stays_inside)
{
    const struct fcvi_mutator_format *format = &formats[_i];
    uint64_t random = 1;
    for (int i = 0; i < RUNS; i++) {
        size_t room = 64 + next(&random) % 600, size = next(&random) % (room + 1);
        uint8_t *data = malloc(room);
        for (size_t k = 0; k < size; k++)
            data[k] = (uint8_t)(next(&random) >> 32);
        size_t made = fcvi_mutate(data, size, room, next(&random), format);
        ck_assert_uint_ge(made, 1);
        ck_assert_uint_le(made, room);
        free(data);
    }
}
END_TEST

START_TEST(test_equal_arguments_give_equal_bytes)
{
    uint8_t a[ROOM], b[ROOM];
    for (uint64_t seed = 0; seed < 500; seed++) {
        memset(a, 0x5A, sizeof a);
        memset(b, 0x5A, sizeof b);
        size_t x = fcvi_mutate(a, 80, ROOM, seed, &formats[_i]),
               y = fcvi_mutate(b, 80, ROOM, seed, &formats[_i]);
        ck_assert_uint_eq(x, y);
        ck_assert_mem_eq(a, b, x);
    }
}
END_TEST

static void look(const uint8_t *bytes, size_t length, unsigned *kinds, unsigned *ius)
{
    struct fcvi_frame frame;
    struct fcvi_input in = {bytes, length, 0, 0, 0};
    fcvi_decode(&in, &frame, NULL);
    *kinds |= 1u << frame.kind;
    *ius |= 1u << frame.iu;
}

/* From nothing, in a few thousand steps: every kind of frame and every IU of Table 1. */
START_TEST(test_reaches_every_iu)
{
    uint8_t data[ROOM] = {0};
    size_t size = 0;
    unsigned kinds = 0, ius = 0;
    for (uint64_t seed = 0; seed < 5000; seed++) {
        size = fcvi_mutate(data, size, ROOM, seed, &formats[0]);
        look(data, size - 2, &kinds, &ius);
    }
    ck_assert_uint_eq(kinds | 1u << FCVI_KIND_MALFORMED, (1u << (FCVI_KIND_OTHER + 1)) - 1);
    ck_assert_uint_eq(ius & ((1u << FCVI_IU_COUNT) - 1), (1u << FCVI_IU_COUNT) - 1);
}
END_TEST

/* From nothing: every PDU of the draft with its headers, refusals without one, and streams of several PDUs;
 * mostly they can be divided to their end. */
/* By the tables of 1999 each of its IUs, most of them without a finding that says it is none. */
START_TEST(test_reaches_every_iu_of_1999)
{
    uint8_t data[ROOM] = {0};
    size_t size = 1;
    unsigned ius = 0, good = 0;
    const struct fcvi_mutator_format rev1 = {.rev1 = true};
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        size = fcvi_mutate(data, seed % 16 == 0 ? 1 : size, 600, seed, &rev1);
        struct fcvi_frame frame;
        struct fcvi_input in = {data, size, 0, 0, 0};
        fcvi_decode_edition(&in, FCVI_EDITION_REV1, &frame, NULL);
        ius |= 1u << frame.iu;
        good += frame.kind == FCVI_KIND_IU && frame.iu != FCVI_IU_NONE;
    }
    ck_assert_uint_eq(ius | 1u << FCVI_IU_CONNECT_RESP3, (1u << (FCVI_IU_COUNT + 1)) - 1);
    ck_assert_uint_eq(ius >> FCVI_IU_CONNECT_RESP3 & 1u, 0);
    ck_assert_uint_gt(good, RUNS / 4);
}
END_TEST

/* RELIABILITY_LVL is the first byte of the attributes in Rev 1.0 (its Table 14), the third in 2007. */
START_TEST(test_a_frame_of_1999_is_changed_by_its_own_fields)
{
    enum { FRAME = 24 + 16 + 332, LEVEL = 24 + 16 + 304 };
    static const struct fcvi_mutator_format plain = {0};
    unsigned named = 0, kept = 0;
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        uint8_t data[ROOM] = {0x02}, before[FRAME];
        data[8] = 0x58;
        data[9] = 0x29;
        data[13] = 1;
        data[28] = 0x10;
        data[24 + 16 + 3] = 1; /* VI_REVISION */
        data[LEVEL] = 1;
        memcpy(before, data, FRAME);
        const size_t size = fcvi_mutate(data, FRAME, 600, seed, &plain);
        if (size != FRAME)
            continue;
        kept++;
        unsigned differ = 0;
        for (size_t i = 0; i < FRAME; i++)
            differ += data[i] != before[i];
        named += differ == 1 && data[LEVEL] == 4; /* Reliable Reception */
    }
    ck_assert_uint_gt(kept, RUNS / 4);
    ck_assert_uint_gt(named, 1); /* of some 200 places and values */
}
END_TEST

START_TEST(test_reaches_every_pdu)
{
    uint8_t data[ROOM] = {0};
    size_t size = 0, most = 0, whole = 0;
    unsigned pdus = 0, headers = 0;
    for (uint64_t seed = 0; seed < 5000; seed++) {
        struct fcvi_pdu pdu;
        size_t at = 0, count = 0;
        size = fcvi_mutate(data, size, 400, seed, &formats[4]);
        while (at < size - 1 &&
               fcvi_pdu_first(fcvi_profile_t0(), data + at, size - 1 - at, &pdu, NULL) == FCVI_STREAM_PDU) {
            pdus |= 1u << pdu.pdu;
            headers |= 1u << pdu.headers / 16;
            at += pdu.length;
            count++;
        }
        whole += at + 1 == size;
        most = count > most ? count : most;
    }
    ck_assert_uint_eq(pdus, (1u << (FCVI_PDU_COUNT + 1)) - 1);
    ck_assert_uint_eq(headers, 1u << 24 / 16 | 1u << 40 / 16 | 1u << 68 / 16);
    ck_assert_uint_gt(most, 4);
    ck_assert_uint_gt(whole, 2500);
}
END_TEST

static bool crc_right(const uint8_t *data, size_t size)
{
    uint32_t crc = fcvi_crc32(data, size - 4);
    const uint8_t *c = data + size - 4;
    return crc == ((uint32_t)c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (uint32_t)c[3] << 24);
}

/* Mostly right, so that the parser behind the CRC is reached; sometimes wrong, so that the check is. */
START_TEST(test_crc)
{
    uint8_t data[ROOM] = {0};
    unsigned right = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        size_t size = fcvi_mutate(data, 60, ROOM, seed, &formats[2]);
        right += crc_right(data, size);
    }
    ck_assert_uint_gt(right, 850);
    ck_assert_uint_lt(right, 1000);
}
END_TEST

/* Records fill the input without a remainder, whatever it was. */
START_TEST(test_records_stay_records)
{
    uint8_t data[ROOM];
    memset(data, 0x33, sizeof data);
    size_t size = 100, most = 0;
    for (uint64_t seed = 0; seed < 5000; seed++) {
        size_t at = 0, count = 0;
        size = fcvi_mutate(data, size, ROOM, seed, &formats[3]);
        for (; at + FCVI_RECORD_HEAD <= size; count++)
            at += FCVI_RECORD_HEAD + ((size_t)data[at] << 8 | data[at + 1]);
        ck_assert_uint_eq(at, size);
        most = count > most ? count : most;
    }
    ck_assert_uint_gt(most, 4);
}
END_TEST

START_TEST(test_crossover)
{
    uint8_t a[ROOM] = {0}, b[ROOM] = {0}, out[300];
    unsigned different = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        size_t x = fcvi_mutate(a, 0, 200, seed, &formats[_i]),
               y = fcvi_mutate(b, 0, 200, ~seed, &formats[_i]);
        size_t n = fcvi_crossover(a, x, b, y, out, sizeof out, seed, &formats[_i]);
        ck_assert_uint_le(n, sizeof out);
        different += n != x || memcmp(a, out, n) != 0;
    }
    ck_assert_uint_gt(different, 500);
}
END_TEST

START_TEST(test_no_room)
{
    uint8_t data[8] = {0};
    for (size_t room = 0; room <= sizeof data; room++)
        ck_assert_uint_le(fcvi_mutate(data, room / 2, room, room, &formats[_i]), room);
}
END_TEST

int main(void)
{
    enum { FORMATS = sizeof formats / sizeof formats[0] };
    Suite *suite = suite_create("mutator");
    TCase *tc = tcase_create("mutator");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, test_stays_inside, 0, FORMATS);
    tcase_add_loop_test(tc, test_equal_arguments_give_equal_bytes, 0, FORMATS);
    tcase_add_test(tc, test_reaches_every_iu);
    tcase_add_test(tc, test_reaches_every_iu_of_1999);
    tcase_add_test(tc, test_a_frame_of_1999_is_changed_by_its_own_fields);
    tcase_add_test(tc, test_reaches_every_pdu);
    tcase_add_test(tc, test_crc);
    tcase_add_test(tc, test_records_stay_records);
    tcase_add_loop_test(tc, test_crossover, 0, FORMATS);
    tcase_add_loop_test(tc, test_no_room, 0, FORMATS);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
