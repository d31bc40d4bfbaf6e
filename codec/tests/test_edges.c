/* Where findings lie, what decides at the edges of a rule, and what F_CTL has to say of every IU. */
#include "golden.h"

#include <check.h>
#include <fcvi/table.h>

enum { MOST = 16 };
struct test {
    uint8_t bytes[GOLDEN_MAX];
    struct fcvi_input input;
    struct fcvi_frame frame;
    struct fcvi_finding list[MOST];
    struct fcvi_findings findings;
};

static void decode(struct test *t)
{
    t->findings = (struct fcvi_findings){t->list, MOST, 0, 0};
    fcvi_decode(&t->input, &t->frame, &t->findings);
}

static void load_hex(struct test *t, const char *hex)
{
    t->input = (struct fcvi_input){t->bytes, from_hex(hex, t->bytes), 0, 0, 0};
}

static void load(struct test *t, enum fcvi_iu iu)
{
    for (size_t i = 0; i < GOLDEN_COUNT; i++)
        if (golden[i].iu == iu) {
            load_hex(t, golden[i].hex);
            return;
        }
}

static const struct fcvi_finding *find(const struct test *t, const char *id)
{
    for (size_t i = 0; i < t->findings.count && i < MOST; i++)
        if (strcmp(t->list[i].requirement, id) == 0)
            return &t->list[i];
    return NULL;
}

/* ---- F_CTL (Table 1, 5.8.4): one bit after the other is turned over ---- */

enum { EXCHANGE = 23, SEQUENCE = 22, FIRST = 21, LAST = 20, END = 19, INITIATIVE = 16 };
#define T01(iu) "FCVI-T01-" iu "-pos"
#define SENDER "FCVI-5.8.1-01"
static const struct f_ctl {
    enum fcvi_iu iu;
    const char *first, *last, *end, *initiative; /* requirement that is broken; NULL: none */
} f_ctl[] = {
    {FCVI_IU_SEND_RQST, NULL, NULL, NULL, NULL},
    {FCVI_IU_WRITE_RQST, NULL, NULL, NULL, NULL},
    {FCVI_IU_READ_RQST, T01("READ_RQST"), T01("READ_RQST"), "FCVI-6.6.1-04", "FCVI-6.6.1-05"},
    {FCVI_IU_SEND_RESP, T01("SEND_RESP"), "FCVI-6.3.1-06", "FCVI-6.3.1-05", NULL},
    {FCVI_IU_WRITE_RESP, T01("WRITE_RESP"), "FCVI-6.5.1-06", "FCVI-6.5.1-05", NULL},
    {FCVI_IU_READ_RESP, T01("READ_RESP"), NULL, NULL, NULL},
    {FCVI_IU_CONNECT_RQST, T01("CONNECT_RQST"), T01("CONNECT_RQST"), NULL, "FCVI-5.8.4-04"},
    {FCVI_IU_CONNECT_RESP1, T01("CONNECT_RESP1"), T01("CONNECT_RESP1"), NULL, "FCVI-5.8.4-04"},
    {FCVI_IU_CONNECT_RESP2, T01("CONNECT_RESP2"), T01("CONNECT_RESP2"), "FCVI-6.10.1-04", "FCVI-5.8.4-04"},
    {FCVI_IU_CONNECT_RESP3, T01("CONNECT_RESP3"), "FCVI-5.8.4-05", "FCVI-6.11.1-04", "FCVI-5.3.1-04"},
    {FCVI_IU_DISCONNECT_RQST, T01("DISCONNECT_RQST"), T01("DISCONNECT_RQST"), "FCVI-6.12.1-04",
     "FCVI-5.8.4-06"},
    {FCVI_IU_DISCONNECT_RESP, T01("DISCONNECT_RESP"), "FCVI-5.8.4-07", "FCVI-6.13.1-03", "FCVI-5.3.1-04"},
};

static void turn(struct test *t, unsigned bit)
{
    t->bytes[11 - bit / 8] ^= (uint8_t)(1u << bit % 8);
}

static void expect(struct test *t, unsigned bit, const char *id)
{
    turn(t, bit);
    decode(t);
    turn(t, bit);
    const struct fcvi_finding *f = NULL;
    for (size_t i = 0; i < t->findings.count; i++)
        if (t->list[i].byte == 9 && t->list[i].hi == bit)
            f = &t->list[i];
    if (id == NULL) {
        ck_assert_msg(f == NULL, "IU %d bit %u: %s", t->frame.iu, bit, f != NULL ? f->requirement : "");
        return;
    }
    ck_assert_msg(f != NULL, "IU %d bit %u: no %s", t->frame.iu, bit, id);
    ck_assert_str_eq(f->requirement, id);
    ck_assert_uint_eq(f->seen, f->required_value == 0);
}

START_TEST(each_bit_of_f_ctl)
{
    struct test t;
    const struct f_ctl *r = &f_ctl[_i];
    load(&t, r->iu);
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
    expect(&t, EXCHANGE, SENDER);
    expect(&t, SEQUENCE, SENDER);
    expect(&t, FIRST, r->first);
    expect(&t, LAST, r->last);
    expect(&t, END, r->end);
    expect(&t, INITIATIVE, r->initiative);
    bool zero_last = r->iu == FCVI_IU_READ_RQST || r->iu == FCVI_IU_CONNECT_RQST ||
                     r->iu == FCVI_IU_CONNECT_RESP1 || r->iu == FCVI_IU_CONNECT_RESP2 ||
                     r->iu == FCVI_IU_DISCONNECT_RQST;
    turn(&t, END); /* where the Sequence goes on, Initiative says nothing, and Last_Sequence may come later */
    expect(&t, INITIATIVE, NULL);
    expect(&t, LAST, zero_last ? r->last : NULL);
}
END_TEST

/* The only frame of an IU starts its Sequence. */
START_TEST(an_iu_of_one_frame_starts_with_sofi)
{
    struct test t;
    load(&t, f_ctl[_i].iu);
    for (int class = 2; class <= 3; class ++) {
        t.input.sof = class == 2 ? FCVI_SOF_N2 : FCVI_SOF_N3;
        decode(&t);
        bool one = f_ctl[_i].end != NULL;
        ck_assert_uint_eq(t.findings.count, one ? 1 : 0);
        if (!one)
            continue;
        ck_assert_str_eq(t.list[0].requirement, f_ctl[_i].end);
        ck_assert_str_eq(t.list[0].required, "SOFi2 or SOFi3");
        ck_assert_uint_eq(t.list[0].seen, t.input.sof);
    }
}
END_TEST

/* ---- where a finding lies that is about no field ---- */

static void lies(const struct fcvi_finding *f, const char *field, unsigned byte, unsigned size, uint64_t seen)
{
    ck_assert_ptr_nonnull(f);
    ck_assert_str_eq(f->field, field);
    ck_assert_uint_eq(f->byte, byte);
    ck_assert_uint_eq(f->size, size);
    ck_assert_uint_eq(f->hi, 0);
    ck_assert_uint_eq(f->lo, 0);
    ck_assert_uint_eq(f->seen, seen);
}

START_TEST(parts_of_a_frame)
{
    struct test t;
    load(&t, FCVI_IU_CONNECT_RESP3);
    t.input.crc = FCVI_CRC_BAD;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    lies(&t.list[0], "CRC", 0, 56, FCVI_CRC_BAD);
    t.input.crc = FCVI_CRC_OK;
    t.input.eof = FCVI_EOF_A;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    lies(&t.list[0], "EOF", 0, 56, FCVI_EOF_A);
    t.input.sof = FCVI_SOF_I3;
    t.input.eof = FCVI_EOF_N;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    lies(&t.list[0], "EOF", 56, 0, FCVI_EOF_N);
    t.input.eof = FCVI_EOF_NONE;
    t.input.sof = FCVI_SOF_F;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    lies(&t.list[0], "SOF", 0, 0, FCVI_SOF_F);
    t.input.sof = FCVI_SOF_NONE;
    t.input.length += 4;
    memset(t.bytes + 56, 0, 4);
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    lies(&t.list[0], "Payload", 56, 4, 4);
    load(&t, FCVI_IU_SEND_RQST);
    t.input.length -= 1;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    lies(&t.list[0], "Data_Field", 0, 63, 39);
    t.bytes[11] = 8; /* no fill bytes; 2,112 bytes are as many as there may be */
    memset(t.bytes + 56, 0, sizeof t.bytes - 56);
    t.bytes[54] = 0x10;
    t.input.length = 24 + 2112;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
    t.input.length += 4;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    lies(&t.list[0], "Data_Field", 0, 2140, 2116);
    load_hex(&t, "010203");
    decode(&t);
    lies(&t.list[0], "Frame_Header", 0, 3, 3);
    load_hex(&t, "84 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 8012 0000 1002 8001");
    decode(&t);
    lies(&t.list[0], "Data_Field", 24, 8, 8);
    ck_assert_str_eq(t.list[0].required, "12 bytes");
}
END_TEST

/* A Basic Link Service with fill bytes has that much less of a payload. */
START_TEST(least_payloads_of_basic_link_services)
{
    struct test t;
    load_hex(&t, "85 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 00090300");
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
    t.bytes[11] = 1;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    lies(&t.list[0], "Data_Field", 24, 3, 3);
    ck_assert_str_eq(t.list[0].required, "4 bytes");
}
END_TEST

/* ---- the connect payload ---- */

enum { LOC_ADDR = 56 + 12, REM_ADDR = LOC_ADDR + 148, DISCRIM = 20, DISCRIM_SIZE = 128 };

START_TEST(discriminators)
{
    struct test t;
    load(&t, FCVI_IU_CONNECT_RQST);
    t.bytes[LOC_ADDR + 3] = 0x80; /* E30: all of it may be used */
    memset(t.bytes + LOC_ADDR + DISCRIM, 0x5a, DISCRIM_SIZE);
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
    load(&t, FCVI_IU_CONNECT_RQST);
    t.bytes[REM_ADDR] = 0x80; /* reserved, beside a Discriminator that is well padded */
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    ck_assert_str_eq(t.list[0].requirement, "FCVI-5.9.5-01");
    ck_assert_uint_eq(t.list[0].byte, REM_ADDR);
    load(&t, FCVI_IU_CONNECT_RQST);
    t.bytes[LOC_ADDR + DISCRIM + 16] = 4; /* the first byte of the padding, and the last */
    t.bytes[LOC_ADDR + DISCRIM + DISCRIM_SIZE - 1] = 1;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    lies(find(&t, "FCVI-7.2-16"), "DISCRIM", LOC_ADDR + DISCRIM, DISCRIM_SIZE, 5);
    ck_assert_uint_eq(t.list[0].required_value, 0);
}
END_TEST

/* What is behind the list's capacity is the caller's. */
START_TEST(a_full_list_is_left_alone)
{
    struct test t;
    struct fcvi_finding list[8];
    load(&t, FCVI_IU_CONNECT_RQST);
    t.bytes[392] = 1; /* Word 84: E10 */
    t.bytes[56] = 1;
    for (size_t capacity = 0; capacity < 3; capacity++) {
        memset(list, 0, sizeof list);
        for (int i = 0; i < 8; i++)
            list[i].byte = 392;
        t.findings = (struct fcvi_findings){list, capacity, 0, 0};
        fcvi_decode(&t.input, &t.frame, &t.findings);
        ck_assert_uint_eq(t.findings.count, 2);
        for (size_t i = 0; i < 8; i++)
            ck_assert_int_eq(list[i].erratum != NULL, i == 1 && capacity == 2);
    }
}
END_TEST

START_TEST(a_device_header_that_is_too_short)
{
    struct test t;
    load(&t, FCVI_IU_CONNECT_RESP3);
    t.bytes[13] = 1; /* words 4 to 7 are not there, and nothing is said of them */
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    load(&t, FCVI_IU_SEND_RQST);
    t.bytes[55] = 0; /* FCVI_TOT_LEN 0, and one byte of data */
    t.bytes[11] = 0x0b;
    t.input.length = 60;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    ck_assert_str_eq(t.list[0].requirement, "FCVI-5.9.10-01");
    t.bytes[55] = 1;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
}
END_TEST

/* ---- the view ---- */

START_TEST(where_the_payload_begins)
{
    struct test t;
    load_hex(&t, "c0 010203 00 010400 00 e90003 11 33 0000 1001 2001 00000001 00*96"); /* ACK_1 */
    decode(&t);
    ck_assert_ptr_eq(t.frame.payload, t.bytes + 24);
    ck_assert_uint_eq(t.frame.payload_length, 96);
    ck_assert_uint_eq(t.frame.fill, 0);
    ck_assert_ptr_null(t.frame.dh);
    ck_assert_ptr_null(t.frame.network);
    load_hex(&t, "50 010203 00 010400 58 290000 00 33 0000 1001 ffff 00000000 00*96"); /* extended header */
    decode(&t);
    ck_assert_ptr_eq(t.frame.payload, t.bytes + 24);
    ck_assert_ptr_null(t.frame.dh);
    load_hex(&t, "60 010203 00 010400 58 290000 00 11 0000 1001 ffff 00000000 00*96");
    decode(&t);
    ck_assert_ptr_eq(t.frame.association, t.bytes + 24);
    ck_assert_ptr_eq(t.frame.dh, t.bytes + 56);
    ck_assert_ptr_eq(t.frame.payload, t.bytes + 72);
    load_hex(&t, "06 010203 00 010400 08 290003 00 00 0000 1001 ffff 00000000 aabbcc"); /* only fill bytes */
    decode(&t);
    ck_assert_ptr_null(t.frame.dh);
    ck_assert_uint_eq(t.frame.fill, 3);
    ck_assert_uint_eq(t.frame.payload_length, 0);
    load_hex(&t, "01 010203 00 010400 58 380000 00 02 0000 1001 ffff 00000000 00*31");
    decode(&t);
    ck_assert_ptr_null(t.frame.dh);
    ck_assert_uint_eq(t.frame.dh_length, 0);
    lies(find(&t, "FCVI-5.9.1-01"), "Device_Header", 24, 31, 31);
    load_hex(&t, "01 010203 00 010400 58 380000 00 02 0000 1001 ffff 00000000 00*32");
    decode(&t);
    ck_assert_ptr_eq(t.frame.dh, t.bytes + 24);
    ck_assert_uint_eq(t.frame.payload_length, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("edges");
    TCase *tc = tcase_create("edges");
    tcase_add_loop_test(tc, each_bit_of_f_ctl, 0, sizeof f_ctl / sizeof f_ctl[0]);
    tcase_add_loop_test(tc, an_iu_of_one_frame_starts_with_sofi, 0, sizeof f_ctl / sizeof f_ctl[0]);
    tcase_add_test(tc, parts_of_a_frame);
    tcase_add_test(tc, least_payloads_of_basic_link_services);
    tcase_add_test(tc, discriminators);
    tcase_add_test(tc, a_full_list_is_left_alone);
    tcase_add_test(tc, a_device_header_that_is_too_short);
    tcase_add_test(tc, where_the_payload_begins);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
