/* FC-VI Rev 1.0: frames written by hand from the draft's tables, and frames of the other edition, which are
 * never re-read. */
#include "under_test.h"

#include <stdio.h>
#include <stdlib.h>

/* R_CTL of Table 1, then DF_CTL 01h for 16 bytes of Device_Header or 02h for 32 */
#define FRAME(r_ctl, f_ctl, df_ctl)                                                                          \
    r_ctl " 010200 00 010100 58 " f_ctl " 07 " df_ctl " 0000 1234 ffff 00000000 "
/* F_CTL of a request: First, End, Sequence Initiative */
#define HEADER(r_ctl, df_ctl) FRAME(r_ctl, "290000", df_ctl)
/* and of a response: responder, Last, End */
#define RESPONSE(r_ctl) FRAME(r_ctl, "980000", "01")
/* 5.3: the first Sequence of a setup, the middle one and the last; the first two with a payload */
#define RQST FRAME("02", "290008", "01") "ffffffff "
#define RESP1 FRAME("03", "890008", "01") "ffffffff "
#define RESP2 FRAME("03", "180000", "01")
/* Table 13 with 0010h and the Discriminator's 4 bytes; Tables 14 and 15 and Annex B: Reliable Reception, 64
 * KB, Priority */
#define ADDRESS "0010 0004 00000000 00000000 00000000 0a000001 61626364 00*124 "
#define V9 "04000000 00010000 01000000 00000000 00000000 00000000 03000000"
#define REV1_CONNECT "00000001 0000beef " ADDRESS ADDRESS V9

static const struct {
    const char *name, *hex;
    enum fcvi_iu iu;
} vectors[] = {
    {"V1", HEADER("01", "01") "00000005 00800000 00000000 deadbeef", FCVI_IU_SEND_RQST},
    {"V2", HEADER("01", "02") "00000005 01000000 00000001 00000000 00000000 12345000 00000077 00000000",
     FCVI_IU_WRITE_RQST},
    {"V3", RESPONSE("07") "00000005 08030000 00000001 00000000", FCVI_IU_SEND_RESP},
    {"V4, V9", RQST "10010000 00000000 00000000 " REV1_CONNECT, FCVI_IU_CONNECT_RQST},
    {"V5", RQST "10020000 00000000 00000000 " REV1_CONNECT, FCVI_IU_CONNECT_RQST},
    {"V6", RESP1 "18000000 00000000 00000000 " REV1_CONNECT, FCVI_IU_CONNECT_RESP1},
    {"V6, refused", RESP1 "18010000 00000000 00040000 " REV1_CONNECT, FCVI_IU_CONNECT_RESP1},
    {"V7", RESP2 "0000beef 19000000 00000000 00000000", FCVI_IU_CONNECT_RESP2},
    {"V7, timeout", RESP2 "0000beef 19010000 00000000 00030000", FCVI_IU_CONNECT_RESP2},
    {"V8", HEADER("02", "01") "0000beef 12050000 00000003 00000000", FCVI_IU_DISCONNECT_RQST},
    {"V8, response", RESPONSE("03") "0000beef 1a000000 00000003 00000000", FCVI_IU_DISCONNECT_RESP},
};

static void decode_rev1(struct test *t, const char *hex)
{
    load_hex(t, hex, 0, 0);
    t->findings = (struct fcvi_findings){t->list, MOST, 0, 0};
    fcvi_decode_edition(&t->input, FCVI_EDITION_REV1, &t->frame, &t->findings);
}

START_TEST(the_golden_bytes_are_read_without_a_finding_and_written_again)
{
    struct test t;
    struct fcvi_values values;
    uint8_t out[GOLDEN_MAX];
    decode_rev1(&t, vectors[_i].hex);
    ck_assert_msg(t.frame.iu == vectors[_i].iu, "%s: IU %u", vectors[_i].name, t.frame.iu);
    ck_assert_msg(t.findings.count == 0, "%s: %s", vectors[_i].name,
                  t.findings.count ? t.list[0].message : "");
    ck_assert_uint_eq(t.frame.edition, FCVI_EDITION_REV1);
    ck_assert_int_eq(fcvi_values_of(&t.frame, &values), 0);
    ck_assert_uint_eq(values.rest_length, 0);
    ck_assert_uint_eq(fcvi_encode(&values, out, sizeof out), t.input.length);
    ck_assert_mem_eq(out, t.bytes, t.input.length);
}
END_TEST

/* The other edition's Device_Header has the other size, so its IU is no IU here (R20). */
START_TEST(frames_of_2007_are_not_read_as_rev1)
{
    struct test t;
    const struct golden *g = &golden[_i];
    decode_rev1(&t, g->hex);
    bool alike = g->iu == FCVI_IU_WRITE_RQST || g->iu == FCVI_IU_READ_RQST || g->iu == FCVI_IU_SEND_RESP ||
                 g->iu == FCVI_IU_WRITE_RESP;
    ck_assert_msg((t.frame.iu == FCVI_IU_NONE) == !alike, "%s: IU %u", g->name, t.frame.iu);
    if (!alike)
        ck_assert_uint_eq(t.findings.worst, 1 + FCVI_MALFORMED);
}
END_TEST

START_TEST(the_words_are_those_of_the_draft)
{
    struct test t;
    char text[16384];
    decode_rev1(&t, vectors[10].hex);
    fcvi_print_summary(&t.frame, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "FCVI_DISCONNECT_RESP 010100>010200"));
    ck_assert_ptr_nonnull(strstr(text, "MSG 3 rev1"));
    decode_rev1(&t, vectors[3].hex);
    fcvi_print_text(&t.frame, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "Reliable Reception"));
    ck_assert_ptr_nonnull(strstr(text, "\"abcd\""));
    fcvi_print_json(&t.frame, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\"edition\":\"rev1\""));
}
END_TEST

START_TEST(bits_that_have_moved_are_not_taken_for_each_other)
{
    struct test t;
    decode_rev1(&t, HEADER("01", "01") "00000005 00010000 00000000 00000000");
    ck_assert_ptr_nonnull(find(&t, "REV1-5.7.2-01"));
    ck_assert_uint_eq(fcvi_DH_REV1_IMM_DATA(t.frame.dh), 0);
    decode_rev1(&t, HEADER("02", "01") "0000beef 12010000 00000003 00000000");
    ck_assert_ptr_nonnull(find(&t, "REV1-5.7.2-05"));
    decode_rev1(&t, HEADER("03", "01") "0000beef 1b000000 00000003 00000000");
    ck_assert_ptr_nonnull(find(&t, "REV1-5.1-09"));
    decode_rev1(&t, RESP1 "18010000 00000000 00060000 " REV1_CONNECT);
    ck_assert_str_eq(find(&t, "REV1-5.3.4-03")->erratum, "R05");
}
END_TEST

/* Table 1: R_CTL breaks the row that speaks of it. R08: RESP2 may repeat the reason of a refusal, whatever it
 * is.
 */
START_TEST(r_ctl_and_reserved_reasons_break_their_rows)
{
    struct test t;
    decode_rev1(&t,
                HEADER("06", "02") "00000005 01000000 00000001 00000000 00000000 12345000 00000077 00000000");
    ck_assert_ptr_nonnull(find(&t, "FCVI-T01-WRITE_RQST-enc"));
    decode_rev1(&t, RESPONSE("03") "00000005 09000000 00000001 00000000");
    ck_assert_ptr_nonnull(find(&t, "FCVI-T01-WRITE_RESP-enc"));
    decode_rev1(&t, RESPONSE("02") "0000beef 1a000000 00000003 00000000");
    ck_assert_ptr_nonnull(find(&t, "REV1-5.1-08"));
    decode_rev1(&t, RESP1 "18010000 00000000 00200000 " REV1_CONNECT);
    ck_assert_ptr_null(find(&t, "REV1-5.7.2-09")->erratum);
    decode_rev1(&t, RESP2 "0000beef 19010000 00000000 00200000");
    ck_assert_str_eq(find(&t, "REV1-5.7.2-09")->erratum, "R08");
    decode_rev1(&t, RESP2 "0000beef 19010000 00000000 00000000");
    ck_assert_ptr_null(find(&t, "REV1-5.7.2-09")->erratum);
}
END_TEST

/* What the other tables say of the frame, and that it is put together again as it was. */
static void take_apart(struct test *t)
{
    struct fcvi_values values;
    uint8_t out[GOLDEN_MAX];
    char text[16384];
    t->findings = (struct fcvi_findings){t->list, MOST, 0, 0};
    fcvi_decode_edition(&t->input, FCVI_EDITION_REV1, &t->frame, &t->findings);
    fcvi_print_json(&t->frame, text, sizeof text);
    fcvi_print_text(&t->frame, text, sizeof text);
    fcvi_print_summary(&t->frame, text, sizeof text);
    if (fcvi_values_of(&t->frame, &values) != 0)
        return;
    ck_assert_uint_eq(fcvi_encode(&values, out, sizeof out), t->input.length);
    ck_assert_mem_eq(out, t->bytes, t->input.length);
}

/* The bytes of a frame: R_CTL, DF_CTL, then the Device_Header and the payload. */
enum { AT_R_CTL = 0, AT_DF_CTL = 13, AT_DH = 24, AT_OPCODE = 28, AT_FLAGS = 29 };

START_TEST(every_length_and_every_bit)
{
    struct test t;
    load_hex(&t, vectors[_i].hex, 0, 0);
    const size_t whole = t.input.length;
    for (size_t bit = 0; bit < 8 * whole; bit += bit < 8 * 56 ? 1 : 11) {
        t.bytes[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        take_apart(&t);
        t.bytes[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
    }
    memset(t.bytes + whole, 0xa5, sizeof t.bytes - whole);
    for (t.input.length = 0; t.input.length <= whole + 8; t.input.length += t.input.length < 64 ? 1 : 4)
        take_apart(&t);
}
END_TEST

START_TEST(every_opcode_flag_and_reason)
{
    struct test t;
    for (unsigned opcode = 0; opcode < 256; opcode += opcode < 0x20 ? 1 : 0x31)
        for (unsigned k = 0; k < 20; k++) {
            const unsigned flags = k < 10 ? k : 0x80u >> (k - 10);
            load_hex(&t, vectors[_i].hex, 0, 0);
            t.bytes[AT_OPCODE] = (uint8_t)opcode;
            t.bytes[AT_FLAGS] = (uint8_t)flags;
            t.bytes[AT_DH + 13] = (uint8_t)(k / 2); /* the Reason Code of VI_PARAMETER */
            take_apart(&t);
        }
}
END_TEST

START_TEST(the_connect_payload_is_judged_field_by_field)
{
    static const struct {
        size_t at; /* in the payload */
        uint8_t byte;
        const char *requirement;
    } wrong[] = {
        {3, 2, "REV1-6.7-05"}, {9, 17, "REV1-7.1-02"},     {11, 129, "REV1-7.1-03"},
        {157 + 8, 1, NULL},    {304, 0x03, "REV1-7.2-01"}, {304, 0x02, NULL},
        {304, 0x01, NULL},     {312, 0x07, "REV1-B-01"},
    };
    struct test t;
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        load_hex(&t, vectors[3].hex, 0, 0);
        t.bytes[AT_DH + 16 + wrong[k].at] = wrong[k].byte;
        take_apart(&t);
        if (wrong[k].requirement != NULL)
            ck_assert_msg(find(&t, wrong[k].requirement) != NULL, "byte %zu: no %s", wrong[k].at,
                          wrong[k].requirement);
    }
}
END_TEST

/* 5.3, 5.4, 5.6.6 and clause 6: where the IU stands in its Exchange, what each frame says of it, and the one
 * requirement that is broken. A SOF and an EOF of 0 were not captured. */
static const struct {
    const char *header, *rest;
    uint8_t sof, eof;
    const char *requirement; /* NULL: nothing is wrong */
} placed[] = {
    {RQST, "10010000 00000000 00000000 " REV1_CONNECT, FCVI_SOF_I3, FCVI_EOF_T, NULL},
    {RQST, "10010000 00000000 00000000 " REV1_CONNECT, FCVI_SOF_I2, FCVI_EOF_N, NULL},
    /* the setup: First, Initiative, one frame */
    {FRAME("02", "090008", "01") "ffffffff ", "10010000 00000000 00000000 " REV1_CONNECT, 0, 0,
     "FCVI-T01-CONNECT_RQST-pos"},
    {FRAME("02", "390008", "01") "ffffffff ", "10010000 00000000 00000000 " REV1_CONNECT, 0, 0,
     "FCVI-T01-CONNECT_RQST-pos"},
    {FRAME("02", "280008", "01") "ffffffff ", "10010000 00000000 00000000 " REV1_CONNECT, 0, 0,
     "REV1-5.3-01"},
    {FRAME("02", "210008", "01") "ffffffff ", "10010000 00000000 00000000 " REV1_CONNECT, 0, 0,
     "REV1-6.7-01"},
    {FRAME("02", "a90008", "01") "ffffffff ", "10010000 00000000 00000000 " REV1_CONNECT, 0, 0,
     "FCVI-5.8.1-01"},
    {FRAME("02", "690008", "01") "ffffffff ", "10010000 00000000 00000000 " REV1_CONNECT, 0, 0,
     "FCVI-5.8.1-01"},
    {RQST, "10010000 00000000 00000000 " REV1_CONNECT, FCVI_SOF_N3, FCVI_EOF_T, "REV1-6.7-01"},
    {RQST, "10010000 00000000 00000000 " REV1_CONNECT, FCVI_SOF_I3, FCVI_EOF_N, "FCVI-5.8.1-01"},
    {RQST, "10010000 00000000 00000000 " REV1_CONNECT, FCVI_SOF_F, FCVI_EOF_T, "FCVI-4.2-17"},
    {FRAME("03", "a90008", "01") "ffffffff ", "18000000 00000000 00000000 " REV1_CONNECT, 0, 0,
     "FCVI-T01-CONNECT_RESP1-pos"},
    {FRAME("03", "990008", "01") "ffffffff ", "18000000 00000000 00000000 " REV1_CONNECT, 0, 0,
     "FCVI-T01-CONNECT_RESP1-pos"},
    {FRAME("03", "880008", "01") "ffffffff ", "18000000 00000000 00000000 " REV1_CONNECT, 0, 0,
     "REV1-5.3-02"},
    {FRAME("03", "810008", "01") "ffffffff ", "18000000 00000000 00000000 " REV1_CONNECT, 0, 0,
     "REV1-6.8-01"},
    /* RESP2 is the last Sequence; in 2007 it passes the Initiative for RESP3 */
    {FRAME("03", "080000", "01"), "0000beef 19000000 00000000 00000000", 0, 0, "REV1-5.3-03"},
    {FRAME("03", "380000", "01"), "0000beef 19000000 00000000 00000000", 0, 0, "REV1-5.3-03"},
    {FRAME("03", "100000", "01"), "0000beef 19000000 00000000 00000000", 0, 0, "REV1-6.9-01"},
    /* a Disconnect; whether it is the first of its Exchange is not said (R23) */
    {FRAME("02", "090000", "01"), "0000beef 12050000 00000003 00000000", 0, 0, NULL},
    {FRAME("02", "280000", "01"), "0000beef 12050000 00000003 00000000", 0, 0, "REV1-6.10-02"},
    {FRAME("02", "390000", "01"), "0000beef 12050000 00000003 00000000", 0, 0, "REV1-6.10-02"},
    {FRAME("03", "880000", "01"), "0000beef 1a000000 00000003 00000000", 0, 0, "REV1-6.11-01"},
    {FRAME("03", "b80000", "01"), "0000beef 1a000000 00000003 00000000", 0, 0,
     "FCVI-T01-DISCONNECT_RESP-pos"},
    /* Messages */
    {FRAME("06", "280000", "02"), "00000005 02000000 00000001 00000000 00*12 00000040", 0, 0, "REV1-6.5-02"},
    {FRAME("06", "290000", "02"), "00000005 02000000 00000001 00000000 00*12 00000040", 0, 0, NULL},
    {FRAME("07", "880000", "01"), "00000005 08000000 00000001 00000000", 0, 0, "FCVI-6.3.1-06"},
    {FRAME("07", "900000", "01"), "00000005 08000000 00000001 00000000", 0, 0, "FCVI-6.3.1-05"},
    {FRAME("07", "880000", "01"), "00000005 09000000 00000001 00000000", 0, 0, "FCVI-6.5.1-06"},
    {FRAME("01", "a80008", "01"), "00000005 0a000000 00000001 00000000 11223344", 0, 0,
     "FCVI-T01-READ_RESP-pos"},
    {FRAME("01", "980008", "01"), "00000005 0a000000 00000001 00000000 11223344", 0, 0, NULL},
    /* no frame of a Send says where its Exchange ends, so that only its context is fixed */
    {FRAME("01", "200008", "01"), "00000005 00000000 00000000 00000000 11223344", FCVI_SOF_I3, FCVI_EOF_N,
     NULL},
    {FRAME("01", "a00008", "01"), "00000005 00000000 00000000 00000000 11223344", FCVI_SOF_N3, FCVI_EOF_N,
     "FCVI-5.8.1-01"},
    {FRAME("01", "200008", "01"), "00000005 00000000 00000000 00000000 11223344", FCVI_SOF_I3, FCVI_EOF_T,
     "FCVI-5.8.1-01"},
};

START_TEST(the_place_in_the_exchange_is_that_of_the_draft)
{
    struct test t;
    char hex[2048];
    snprintf(hex, sizeof hex, "%s%s", placed[_i].header, placed[_i].rest);
    load_hex(&t, hex, placed[_i].sof, placed[_i].eof);
    take_apart(&t);
    const char *seen = t.findings.count > 0 ? t.list[0].requirement : NULL;
    const char *wanted = placed[_i].requirement;
    const bool same = wanted == NULL ? seen == NULL : seen != NULL && strcmp(seen, wanted) == 0;
    ck_assert_msg(same && t.findings.count <= 1, "row %d: %zu findings, the first is %s", _i,
                  t.findings.count, seen != NULL ? seen : "none");
}
END_TEST

enum { AT_SEQ_CNT = 15, AT_F_CTL_LOW = 11, AT_RLTV_OFF_LOW = 23 };

/* 5.4: zero at the start; 5.6.6: from zero. The draft is silent on Relative Offset Present (R22). */
START_TEST(the_counts_begin_with_zero)
{
    static const uint8_t starts[] = {FCVI_SOF_I2, FCVI_SOF_I3};
    struct test t;
    for (size_t i = 0; i < sizeof starts; i++) {
        load_hex(&t, FRAME("01", "280008", "01") "00000005 00000000 00000000 00000000 11223344", starts[i],
                 0);
        t.bytes[AT_SEQ_CNT] = 1;
        take_apart(&t);
        ck_assert_ptr_nonnull(find(&t, "REV1-5.4-02"));
        t.input.sof = starts[i] == FCVI_SOF_I2 ? FCVI_SOF_N2 : FCVI_SOF_N3;
        take_apart(&t);
        ck_assert_uint_eq(t.findings.count, 0);
        t.input.sof = FCVI_SOF_NONE; /* it may be a later frame */
        take_apart(&t);
        ck_assert_uint_eq(t.findings.count, 0);
    }
    load_hex(&t, RQST "10010000 00000000 00000000 " REV1_CONNECT, 0, 0); /* this one is the only frame */
    t.bytes[AT_SEQ_CNT] = 1;
    take_apart(&t);
    ck_assert_ptr_nonnull(find(&t, "REV1-5.4-02"));
    t.input.length -= 4; /* the rest of a request that was cut in two: its first frame had the zero */
    take_apart(&t);
    ck_assert_ptr_null(find(&t, "REV1-5.4-02"));
    ck_assert_ptr_nonnull(find(&t, "REV1-6.7-04"));
    load_hex(&t, FRAME("02", "290000", "01") "00000005 12050000 00000001 00000000", 0, 0);
    t.bytes[AT_SEQ_CNT] = 1;
    take_apart(&t);
    ck_assert_ptr_nonnull(find(&t, "REV1-5.4-02"));
    /* a later Sequence goes on */
    load_hex(&t, FRAME("01", "080008", "01") "00000005 00000000 00000000 00000000 11223344", FCVI_SOF_I3, 0);
    t.bytes[AT_SEQ_CNT] = 1;
    take_apart(&t);
    ck_assert_uint_eq(t.findings.count, 0);

    load_hex(&t, FRAME("01", "280008", "01") "00000005 00000000 00000000 00000000 11223344", FCVI_SOF_I3, 0);
    t.bytes[AT_RLTV_OFF_LOW] = 4;
    take_apart(&t);
    ck_assert_uint_eq(find(&t, "REV1-5.6.6-01")->cls, FCVI_VIOLATION);
    t.bytes[AT_F_CTL_LOW] = 0;
    take_apart(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    ck_assert_str_eq(find(&t, "REV1-5.6.6-01")->erratum, "R22");
    ck_assert_uint_eq(find(&t, "REV1-5.6.6-01")->cls, FCVI_NOTICE);
}
END_TEST

/* R04, R09, R13: what may be read in two ways is a notice under its erratum, and fails nobody. */
START_TEST(what_may_be_read_in_two_ways_is_a_notice)
{
    static const uint8_t priorities[] = {0x01, 0x20, 0x80, 0xE0};
    struct test t;
    decode_rev1(&t, FRAME("01", "290000", "02") "00000005 01000000 00000001 00000000 00*12 00000040");
    ck_assert_uint_eq(t.findings.count, 1);
    ck_assert_str_eq(find(&t, "REV1-6.3-01")->erratum, "R09");
    ck_assert_uint_eq(t.list[0].cls, FCVI_NOTICE);
    decode_rev1(&t, FRAME("06", "290000", "02") "00000005 02000000 00000001 00000000 00*12 00000000");
    ck_assert_uint_eq(t.findings.count, 1);
    ck_assert_str_eq(find(&t, "REV1-5.7.9-01")->erratum, "R04");
    ck_assert_uint_eq(t.list[0].cls, FCVI_NOTICE);
    for (size_t i = 0; i < sizeof priorities; i++) {
        load_hex(&t, vectors[3].hex, 0, 0);
        t.bytes[AT_DH + 16 + 312] = priorities[i];
        take_apart(&t);
        ck_assert_uint_eq(t.findings.count, i > 0);
        const struct fcvi_finding *found = find(&t, "REV1-B-01");
        ck_assert((found != NULL) == (i > 0) && (found == NULL || found->cls == FCVI_NOTICE));
        ck_assert(found == NULL || (found->erratum != NULL) == (i < 3)); /* E0h is no order of anything */
    }
    load_hex(&t, vectors[3].hex, 0, 0);
    t.bytes[AT_DH + 16 + 312] = 0x20;
    t.bytes[AT_DH + 16 + 313] = 1; /* what is reserved elsewhere is not Priority */
    take_apart(&t);
    ck_assert_str_eq(find(&t, "REV1-B-01")->erratum, "R13");
    ck_assert_ptr_null(find(&t, "REV1-B-02")->erratum);
    t.findings = (struct fcvi_findings){t.list, 1, 0, 0}; /* with room for one of the two */
    fcvi_decode_edition(&t.input, FCVI_EDITION_REV1, &t.frame, &t.findings);
    ck_assert_uint_eq(t.findings.count, 2);
    ck_assert_str_eq(t.list[0].erratum, "R13");
}
END_TEST

START_TEST(what_is_no_edition)
{
    struct test t;
    ck_assert_str_eq(fcvi_edition_name(FCVI_EDITION_COUNT), "");
    ck_assert_ptr_null(fcvi_edition_iu(FCVI_EDITION_REV1, FCVI_IU_CONNECT_RESP3));
    ck_assert_ptr_eq(fcvi_edition_iu(FCVI_EDITION_2007, FCVI_IU_SEND_RQST), fcvi_iu_row(FCVI_IU_SEND_RQST));
    load_hex(&t, golden[0].hex, golden[0].sof, golden[0].eof);
    t.findings = (struct fcvi_findings){t.list, MOST, 0, 0};
    fcvi_decode_edition(&t.input, FCVI_EDITION_2007, &t.frame, &t.findings);
    ck_assert_uint_eq(t.frame.iu, golden[0].iu);
    load_hex(&t, vectors[0].hex, 0, 0);
    fcvi_decode_edition(&t.input, FCVI_EDITION_REV1, &t.frame, NULL);
    ck_assert_uint_eq(t.frame.iu, FCVI_IU_SEND_RQST);
}
END_TEST

static enum fcvi_edition shown(const char *hex)
{
    struct test t;
    load_hex(&t, hex, 0, 0);
    fcvi_decode(&t.input, &t.frame, NULL);
    return fcvi_edition_shown(&t.frame);
}

/* Writes and the responses without data have the same size in both tables. */
START_TEST(a_frame_of_the_draft_is_never_shown_as_one_of_2007)
{
    const enum fcvi_iu iu = vectors[_i].iu;
    const bool both = iu == FCVI_IU_WRITE_RQST || iu == FCVI_IU_SEND_RESP;
    ck_assert_msg(shown(vectors[_i].hex) == (both ? FCVI_EDITION_COUNT : FCVI_EDITION_REV1), "%s",
                  vectors[_i].name);
}
END_TEST

START_TEST(a_frame_of_2007_is_never_shown_as_one_of_the_draft)
{
    const struct golden *g = &golden[_i];
    const bool both = g->iu == FCVI_IU_WRITE_RQST || g->iu == FCVI_IU_READ_RQST ||
                      g->iu == FCVI_IU_SEND_RESP || g->iu == FCVI_IU_WRITE_RESP;
    ck_assert_msg(shown(g->hex) == (both ? FCVI_EDITION_COUNT : FCVI_EDITION_2007), "%s", g->name);
}
END_TEST

START_TEST(what_shows_no_edition)
{
    static const char *const frames[] = {
        "21 010200 00 010100 08 290000 07 00 0000 1234 ffff 00000000",              /* another FC-4 */
        HEADER("01", "00"),                                                         /* no Device_Header */
        HEADER("01", "01") "00000005 1c000000 00000000 00000000",                   /* an opcode of neither */
        HEADER("01", "01") "00000005 40000000 00000000 00000000",                   /* beyond all of them */
        HEADER("01", "03") "00000005 00 00*59",                                     /* 64 bytes */
        HEADER("02", "01") "ffffffff 10010000 00000000 00000000 00000001 0000beef", /* too short */
        HEADER("02", "01") "ffffffff 10010000 00000000 00000000 00000002 00*328",   /* VI_REVISION 2 */
        HEADER("03", "01") "ffffffff 18000000 00000000 00000000 00*340",            /* a payload of 2007 */
        HEADER("03", "01") "ffffffff 1b000000 00000000 00000000",                   /* an IU of 2007 alone */
    };
    ck_assert_uint_eq(shown(frames[_i]), FCVI_EDITION_COUNT);
}
END_TEST

/* Table 1 of either edition: R_CTL, opcode, the size of the Device_Header. */
static const struct row {
    uint8_t r_ctl, opcode, size;
} table_1[2][12] = {
    {{0x01, 0x00, 32},
     {0x01, 0x01, 32},
     {0x06, 0x02, 32},
     {0x07, 0x08, 16},
     {0x07, 0x09, 16},
     {0x01, 0x0A, 32},
     {0x02, 0x10, 32},
     {0x02, 0x12, 32},
     {0x03, 0x18, 32},
     {0x03, 0x19, 32},
     {0x03, 0x1A, 32},
     {0x03, 0x1B, 32}},
    {{0x01, 0x00, 16},
     {0x01, 0x01, 32},
     {0x06, 0x02, 32},
     {0x07, 0x08, 16},
     {0x07, 0x09, 16},
     {0x01, 0x0A, 16},
     {0x02, 0x10, 16},
     {0x02, 0x12, 16},
     {0x03, 0x18, 16},
     {0x03, 0x19, 16},
     {0x03, 0x1A, 16}},
};

static uint32_t draw(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 8;
}

/* A frame of an edition with any handle, VI_MSG_ID and parameter, the flags that its tables give the IU, and
 * a payload of the lengths that it has. Gives its length. */
static size_t build(uint8_t *out, const struct row *row, bool rev1, uint32_t *random)
{
    static const uint8_t flags[2][4][2] = {
        /* Message requests, responses, connection requests, connection responses */
        {{0x00, 0x01}, {0x00, 0x03}, {0x01, 0x02}, {0x00, 0x01}},
        {{0x00, 0x80}, {0x00, 0x03}, {0x01, 0x02}, {0x00, 0x01}},
    };
    const bool connects = row->opcode == 0x10 || row->opcode == 0x18;
    const size_t data = row->opcode < 2 || row->opcode == 0x0A ? draw(random) % 3 * 64 : 0;
    const size_t payload = !connects ? data : rev1 ? 332 : draw(random) % 2 ? 340 : 596;
    const size_t length = 24u + row->size + payload;
    for (size_t i = 0; i < length; i++)
        out[i] = (uint8_t)draw(random);
    out[0] = row->r_ctl;
    out[8] = 0x58;
    out[9] = 0x28;
    out[10] = out[11] = 0;
    out[13] = row->size == 16 ? 1 : 2;
    out[28] = row->opcode;
    out[29] = flags[rev1][row->opcode >> 3][draw(random) % 2];
    if (row->opcode == 0x12) /* by the kernel or the application; 2007: without and with VI_APP_DISCON */
        out[29] = rev1 ? (uint8_t)(4 + draw(random) % 2) : (uint8_t)(draw(random) % 8);
    out[30] = out[31] = 0;
    if (connects && rev1)
        memcpy(out + 40, "\0\0\0\1", 4);
    return length;
}

/* 1Ah, 80h and 01h, 03h and 04h, 04h and 05h: what means something else in the other edition is none of its
 * IUs there, or is found. FCVI_CROSSED=N takes so many frames. */
START_TEST(what_has_swapped_its_meaning_is_never_read_silently)
{
    const char *said = getenv("FCVI_CROSSED");
    const unsigned long frames = said != NULL ? strtoul(said, NULL, 10) : 200000;
    uint32_t random = 1999;
    struct test t;
    memset(&t.input, 0, sizeof t.input);
    t.input.bytes = t.bytes;
    t.input.crc = FCVI_CRC_ABSENT;
    for (unsigned long i = 0; i < frames; i++) {
        const bool rev1 = draw(&random) % 2;
        const struct row *row = &table_1[rev1][draw(&random) % (rev1 ? 11 : 12)];
        const enum fcvi_edition own = rev1 ? FCVI_EDITION_REV1 : FCVI_EDITION_2007;
        const enum fcvi_edition other = rev1 ? FCVI_EDITION_2007 : FCVI_EDITION_REV1;
        t.input.length = build(t.bytes, row, rev1, &random);
        const bool alike = row->opcode == 1 || row->opcode == 2 || row->opcode == 8 || row->opcode == 9;
        fcvi_decode(&t.input, &t.frame, NULL);
        ck_assert_int_eq(fcvi_edition_shown(&t.frame), alike ? FCVI_EDITION_COUNT : own);
        t.findings = (struct fcvi_findings){t.list, MOST, 0, 0};
        fcvi_decode_edition(&t.input, other, &t.frame, &t.findings);
        if (!alike) {
            ck_assert_msg(t.findings.worst > 1 + FCVI_NOTICE, "%02X of %u is read without a violation",
                          row->opcode, own);
            ck_assert(rev1 || t.frame.iu == FCVI_IU_NONE);
        } else if (row->opcode < 8) { /* Immediate Data: bit 7 and bit 0 */
            const bool immediate = rev1 ? fcvi_DH_IMM_DATA(t.frame.dh) : fcvi_DH_REV1_IMM_DATA(t.frame.dh);
            ck_assert(!immediate);
            ck_assert(t.bytes[29] == 0 || t.findings.count > 0);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rev1");
    TCase *tc = tcase_create("frames");
    tcase_add_loop_test(tc, the_golden_bytes_are_read_without_a_finding_and_written_again, 0,
                        (int)(sizeof vectors / sizeof vectors[0]));
    tcase_add_loop_test(tc, frames_of_2007_are_not_read_as_rev1, 0, GOLDEN_COUNT);
    tcase_add_test(tc, the_words_are_those_of_the_draft);
    tcase_add_test(tc, bits_that_have_moved_are_not_taken_for_each_other);
    tcase_add_test(tc, the_connect_payload_is_judged_field_by_field);
    tcase_add_loop_test(tc, the_place_in_the_exchange_is_that_of_the_draft, 0,
                        (int)(sizeof placed / sizeof placed[0]));
    tcase_add_test(tc, the_counts_begin_with_zero);
    tcase_add_test(tc, what_may_be_read_in_two_ways_is_a_notice);
    tcase_add_test(tc, what_is_no_edition);
    tcase_add_loop_test(tc, a_frame_of_the_draft_is_never_shown_as_one_of_2007, 0,
                        (int)(sizeof vectors / sizeof vectors[0]));
    tcase_add_loop_test(tc, a_frame_of_2007_is_never_shown_as_one_of_the_draft, 0, GOLDEN_COUNT);
    tcase_add_loop_test(tc, what_shows_no_edition, 0, 9);
    suite_add_tcase(suite, tc);
    TCase *total = tcase_create("total");
    tcase_set_timeout(total, 120);
    tcase_add_test(total, r_ctl_and_reserved_reasons_break_their_rows);
    tcase_add_loop_test(total, every_length_and_every_bit, 0, (int)(sizeof vectors / sizeof vectors[0]));
    tcase_add_test(total, what_has_swapped_its_meaning_is_never_read_silently);
    tcase_add_loop_test(total, every_opcode_flag_and_reason, 0, (int)(sizeof vectors / sizeof vectors[0]));
    suite_add_tcase(suite, total);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
