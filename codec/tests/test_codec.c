/* The codec against frames written out from the standard's tables. */
#include "under_test.h"

#include "../src/core/table.h"
#include "../src/core/version.h"
#include "../src/fc/fc.h"

#include <glob.h>
#include <stdio.h>

/* ---- what is right gives no finding ---- */

START_TEST(golden_frames_are_clean)
{
    struct test t;
    const struct golden *g = &golden[_i];
    load_hex(&t, g->hex, g->sof, g->eof);
    decode(&t);
    ck_assert_msg(t.findings.count == 0, "%s: %s %s", g->name, t.findings.count ? t.list[0].requirement : "",
                  t.findings.count ? t.list[0].message : "");
    ck_assert_int_eq(t.frame.kind, FCVI_KIND_IU);
    ck_assert_int_eq(t.frame.iu, g->iu);
}
END_TEST

START_TEST(views_point_where_the_tables_say)
{
    struct test t;
    load(&t, "send_rqst");
    decode(&t);
    ck_assert_ptr_eq(t.frame.fc, t.bytes);
    ck_assert_ptr_eq(t.frame.dh, t.bytes + 24);
    ck_assert_ptr_eq(t.frame.payload, t.bytes + 56);
    ck_assert_uint_eq(t.frame.payload_length, 6);
    ck_assert_uint_eq(t.frame.fill, 2);
    ck_assert_uint_eq(fcvi_DH_FCVI_HANDLE(t.frame.dh), 0xabcd);
    ck_assert_uint_eq(fcvi_DH_FCVI_TOT_LEN(t.frame.dh), 6);
    ck_assert_uint_eq(fcvi_FC_OX_ID(t.frame.fc), 0x1234);
    load(&t, "send_resp");
    decode(&t);
    ck_assert_uint_eq(t.frame.dh_length, 16);
}
END_TEST

START_TEST(optional_headers_are_stepped_over)
{
    struct test t;
    load(&t, "connect_resp3");
    memmove(t.bytes + 24 + 48, t.bytes + 24, 32);
    memset(t.bytes + 24, 0x5a, 48);
    t.bytes[13] = 0x32; /* Network_Header, Association_Header, 32-byte Device_Header */
    t.input.length += 48;
    decode(&t);
    ck_assert_ptr_eq(t.frame.network, t.bytes + 24);
    ck_assert_ptr_eq(t.frame.association, t.bytes + 40);
    ck_assert_ptr_eq(t.frame.dh, t.bytes + 72);
    ck_assert_uint_eq(t.findings.count, 0);
    struct fcvi_values v;
    uint8_t out[GOLDEN_MAX];
    ck_assert_int_eq(fcvi_values_of(&t.frame, &v), 0);
    ck_assert_uint_eq(fcvi_encode(&v, out, sizeof out), t.input.length);
    ck_assert_mem_eq(out, t.bytes, t.input.length);
}
END_TEST

/* ---- each rule, by what breaks it ---- */

struct rule {
    const char *frame, *requirement;
    uint16_t byte; /* to change */
    uint8_t value;
    enum fcvi_class cls;
    const char *erratum;
    uint16_t at; /* where the finding is */
    uint8_t hi, lo;
    const char *required; /* in words, or NULL: the value */
    uint64_t wanted;
};

static const struct rule rules[] = {
    /* Table 1: R_CTL, DF_CTL, opcode */
    {"send_rqst", "FCVI-T01-SEND_RQST-enc", 0, 0x04, FCVI_VIOLATION, NULL, 0, 7, 0, NULL, 1},
    {"read_resp", "FCVI-T01-READ_RESP-enc", 0, 0x07, FCVI_VIOLATION, NULL, 0, 7, 0, NULL, 1},
    {"connect_rqst", "FCVI-T01-CONNECT_RQST-enc", 0, 0x06, FCVI_VIOLATION, NULL, 0, 7, 0, NULL, 2},
    {"connect_resp3", "FCVI-5.8.5-01", 13, 0x01, FCVI_VIOLATION, NULL, 13, 1, 0, NULL, 2},
    {"connect_resp3", "FCVI-5.9.1-01", 13, 0x00, FCVI_VIOLATION, NULL, 13, 1, 0, "1 or 2", 0},
    {"connect_resp3", "FCVI-5.9.1-01", 13, 0x03, FCVI_MALFORMED, NULL, 24, 0, 0, "16 or 32 bytes", 0},
    {"connect_resp3", "FCVI-5.9.3-01", 28, 0x11, FCVI_VIOLATION, NULL, 28, 7, 0, "an opcode of Table 1", 0},
    /* 5.8.2: PREF */
    {"connect_rqst", "FCVI-5.8.2-06", 4, 0x80, FCVI_VIOLATION, NULL, 4, 7, 7, NULL, 0},
    /* F_CTL */
    {"connect_rqst", "FCVI-5.8.1-01", 9, 0xa9, FCVI_VIOLATION, NULL, 9, 23, 23, NULL, 0},
    {"connect_resp3", "FCVI-5.8.1-01", 9, 0xd8, FCVI_VIOLATION, NULL, 9, 22, 22, NULL, 0},
    {"connect_rqst", "FCVI-T01-CONNECT_RQST-pos", 9, 0x09, FCVI_VIOLATION, NULL, 9, 21, 21, NULL, 1},
    {"connect_resp2", "FCVI-T01-CONNECT_RESP2-pos", 9, 0x29, FCVI_VIOLATION, NULL, 9, 21, 21, NULL, 0},
    {"connect_rqst", "FCVI-T01-CONNECT_RQST-pos", 9, 0x39, FCVI_VIOLATION, NULL, 9, 20, 20, NULL, 0},
    {"connect_resp3", "FCVI-5.8.4-05", 9, 0x88, FCVI_VIOLATION, NULL, 9, 20, 20, NULL, 1},
    {"disconnect_resp", "FCVI-5.8.4-07", 9, 0x88, FCVI_VIOLATION, NULL, 9, 20, 20, NULL, 1},
    {"send_resp", "FCVI-6.3.1-06", 9, 0x88, FCVI_VIOLATION, NULL, 9, 20, 20, NULL, 1},
    {"connect_resp2", "FCVI-6.10.1-04", 9, 0x01, FCVI_VIOLATION, NULL, 9, 19, 19, NULL, 1},
    {"connect_rqst", "FCVI-5.8.4-04", 9, 0x28, FCVI_VIOLATION, NULL, 9, 16, 16, NULL, 1},
    {"disconnect_rqst", "FCVI-5.8.4-06", 9, 0x28, FCVI_VIOLATION, NULL, 9, 16, 16, NULL, 1},
    {"read_rqst", "FCVI-6.6.1-05", 9, 0x28, FCVI_VIOLATION, NULL, 9, 16, 16, NULL, 1},
    {"connect_resp3", "FCVI-5.3.1-04", 9, 0x99, FCVI_NOTICE, "E16", 9, 16, 16, NULL, 0},
    /* 5.8.7: Relative Offset */
    {"send_rqst", "FCVI-5.8.7-01", 11, 0x02, FCVI_VIOLATION, NULL, 9, 3, 3, NULL, 1},
    {"send_rqst", "FCVI-5.8.7-01", 23, 0x20, FCVI_VIOLATION, NULL, 20, 31, 0, NULL, 0},
    /* fill bytes */
    {"send_rqst", "FCVI-5.8.1-01", 9, 0x30, FCVI_VIOLATION, NULL, 9, 1, 0, NULL, 0},
    {"connect_resp3", "FCVI-5.8.1-01", 11, 0x03, FCVI_MALFORMED, NULL, 9, 1, 0,
     "at most the payload's length", 0},
    /* 5.9.2: FCVI_HANDLE */
    {"connect_rqst", "FCVI-5.3.2-04", 24, 0x00, FCVI_VIOLATION, NULL, 24, 31, 0, NULL, 0xffffffff},
    {"connect_resp1", "FCVI-5.3.2-07", 27, 0xfe, FCVI_VIOLATION, NULL, 24, 31, 0, NULL, 0xffffffff},
    /* reserved bits of Tables 5, 6, 7, 9, 10 and of Word 1 */
    {"send_rqst", "FCVI-T05-7..1", 29, 0x02, FCVI_NOTICE, NULL, 29, 7, 1, NULL, 0},
    {"send_resp", "FCVI-T06-7..4", 29, 0x80, FCVI_NOTICE, NULL, 29, 7, 4, NULL, 0},
    {"connect_rqst", "FCVI-T07-7..5", 29, 0x21, FCVI_NOTICE, NULL, 29, 7, 5, NULL, 0},
    {"connect_resp3", "FCVI-T09-7..3", 29, 0x08, FCVI_NOTICE, NULL, 29, 7, 3, NULL, 0},
    {"disconnect_rqst", "FCVI-T10-7..3", 29, 0x0b, FCVI_NOTICE, NULL, 29, 7, 3, NULL, 0},
    {"connect_resp3", "FCVI-5.9.5-01", 31, 0x01, FCVI_NOTICE, NULL, 30, 15, 0, NULL, 0},
    /* flags with meaning */
    {"read_rqst", "FCVI-6.6.2-04", 29, 0x01, FCVI_VIOLATION, NULL, 29, 0, 0, NULL, 0},
    {"send_resp", "FCVI-T06-0", 29, 0x02, FCVI_VIOLATION, NULL, 29, 0, 0, NULL, 1},
    {"send_resp", "FCVI-T06-0", 29, 0x04, FCVI_VIOLATION, NULL, 29, 0, 0, NULL, 1},
    {"send_resp", "FCVI-T06-0", 29, 0x08, FCVI_VIOLATION, NULL, 29, 0, 0, NULL, 1},
    {"send_resp", "FCVI-T06-0", 29, 0x01, FCVI_NOTICE, "E22", 29, 7, 0,
     "TRANS_ERR, PROT_ERR or DESC_ERR as well", 0},
    {"connect_rqst", "FCVI-T08-rsvd", 29, 0x03, FCVI_VIOLATION, NULL, 29, 2, 0, "001b or 010b", 0},
    {"connect_resp3", "FCVI-T09-1", 29, 0x02, FCVI_VIOLATION, NULL, 29, 1, 1, NULL, 0},
    {"connect_resp2", "FCVI-T09-1", 29, 0x03, FCVI_VIOLATION, NULL, 29, 1, 1, NULL, 0},
    /* FCVI_PARAMETER */
    {"send_rqst", "FCVI-5.9.7.1-02", 39, 0x01, FCVI_VIOLATION, NULL, 36, 31, 0, NULL, 0},
    {"read_rqst", "FCVI-6.6.2-05", 36, 0x01, FCVI_VIOLATION, NULL, 36, 31, 0, NULL, 0},
    {"send_resp", "FCVI-6.3.2-04", 36, 0x01, FCVI_VIOLATION, NULL, 36, 31, 0, NULL, 0},
    {"connect_rqst", "FCVI-6.8.2-05", 36, 0x01, FCVI_VIOLATION, NULL, 36, 31, 0, NULL, 0},
    {"connect_resp3", "FCVI-6.11.2-05", 37, 0x01, FCVI_VIOLATION, NULL, 36, 31, 0, NULL, 0},
    {"connect_resp2", "FCVI-6.10.2-05", 29, 0x00, FCVI_VIOLATION, NULL, 36, 31, 0, NULL, 0},
    {"disconnect_rqst", "FCVI-6.12.2-05", 29, 0x02, FCVI_VIOLATION, NULL, 36, 31, 0, NULL, 0},
    /* Table 12 */
    {"connect_resp2", "FCVI-T12-00h", 37, 0x00, FCVI_NOTICE, "E40", 36, 23, 16,
     "01h to 05h, 20h to 22h or F0h to FFh", 0},
    {"connect_resp2", "FCVI-T12-06h", 37, 0x06, FCVI_NOTICE, "E40", 36, 23, 16,
     "01h to 05h, 20h to 22h or F0h to FFh", 0},
    {"connect_resp2", "FCVI-T12-06h", 37, 0x1f, FCVI_NOTICE, "E40", 36, 23, 16,
     "01h to 05h, 20h to 22h or F0h to FFh", 0},
    {"connect_resp2", "FCVI-T12-23h", 37, 0x23, FCVI_NOTICE, "E40", 36, 23, 16,
     "01h to 05h, 20h to 22h or F0h to FFh", 0},
    {"connect_resp2", "FCVI-T12-23h", 37, 0x3f, FCVI_NOTICE, "E40", 36, 23, 16,
     "01h to 05h, 20h to 22h or F0h to FFh", 0},
    {"connect_resp2", "FCVI-5.9.7.1-06", 37, 0x40, FCVI_NOTICE, "E40", 36, 23, 16,
     "01h to 05h, 20h to 22h or F0h to FFh", 0},
    {"connect_resp2", "FCVI-5.9.7.1-06", 37, 0x4b, FCVI_NOTICE, "E40", 36, 23, 16,
     "01h to 05h, 20h to 22h or F0h to FFh", 0},
    {"connect_resp1_refusal", "FCVI-T12-00h", 37, 0x00, FCVI_VIOLATION, NULL, 36, 23, 16,
     "01h to 05h, 20h to 22h or F0h to FFh", 0},
    {"connect_resp1_refusal", "FCVI-T12-06h", 37, 0x06, FCVI_VIOLATION, NULL, 36, 23, 16,
     "01h to 05h, 20h to 22h or F0h to FFh", 0},
    {"connect_resp1_refusal", "FCVI-T12-06h", 37, 0x1f, FCVI_VIOLATION, NULL, 36, 23, 16,
     "01h to 05h, 20h to 22h or F0h to FFh", 0},
    {"connect_resp1_refusal", "FCVI-T12-23h", 37, 0x23, FCVI_VIOLATION, NULL, 36, 23, 16,
     "01h to 05h, 20h to 22h or F0h to FFh", 0},
    {"connect_resp1_refusal", "FCVI-T12-23h", 37, 0x3f, FCVI_VIOLATION, NULL, 36, 23, 16,
     "01h to 05h, 20h to 22h or F0h to FFh", 0},
    {"connect_resp1_refusal", "FCVI-5.9.7.1-06", 37, 0x40, FCVI_VIOLATION, NULL, 36, 23, 16,
     "01h to 05h, 20h to 22h or F0h to FFh", 0},
    {"connect_resp1_refusal", "FCVI-5.9.7.1-06", 37, 0x4b, FCVI_VIOLATION, NULL, 36, 23, 16,
     "01h to 05h, 20h to 22h or F0h to FFh", 0},
    {"disconnect_rqst", "FCVI-T12-4Ch", 37, 0x4c, FCVI_VIOLATION, NULL, 36, 23, 16,
     "40h to 4Bh or F0h to FFh", 0},
    {"disconnect_rqst", "FCVI-T12-4Ch", 37, 0x5f, FCVI_VIOLATION, NULL, 36, 23, 16,
     "40h to 4Bh or F0h to FFh", 0},
    {"disconnect_rqst", "FCVI-T12-60h", 37, 0x60, FCVI_NOTICE, "E11", 36, 23, 16, "40h to 4Bh or F0h to FFh",
     0},
    {"disconnect_rqst", "FCVI-T12-60h", 37, 0x6f, FCVI_NOTICE, "E11", 36, 23, 16, "40h to 4Bh or F0h to FFh",
     0},
    {"disconnect_rqst", "FCVI-T12-60h", 37, 0x70, FCVI_VIOLATION, NULL, 36, 23, 16,
     "40h to 4Bh or F0h to FFh", 0},
    {"disconnect_rqst", "FCVI-T12-60h", 37, 0xef, FCVI_VIOLATION, NULL, 36, 23, 16,
     "40h to 4Bh or F0h to FFh", 0},
    {"disconnect_rqst", "FCVI-5.9.7.1-07", 37, 0x01, FCVI_VIOLATION, NULL, 36, 23, 16,
     "40h to 4Bh or F0h to FFh", 0},
    {"disconnect_rqst", "FCVI-5.9.7.1-07", 37, 0x22, FCVI_VIOLATION, NULL, 36, 23, 16,
     "40h to 4Bh or F0h to FFh", 0},
    {"disconnect_rqst", "FCVI-T11-b0", 36, 0x01, FCVI_NOTICE, NULL, 36, 31, 24, NULL, 0},
    {"disconnect_rqst", "FCVI-T11-b2", 38, 0x01, FCVI_NOTICE, NULL, 36, 15, 8, NULL, 0},
    /* Words 2 and 4 to 7 */
    {"connect_rqst", "FCVI-6.8.2-04", 35, 0x01, FCVI_VIOLATION, NULL, 32, 31, 0, NULL, 0},
    {"disconnect_resp", "FCVI-6.13.2-07", 35, 0x01, FCVI_VIOLATION, NULL, 32, 31, 0, NULL, 0},
    {"send_rqst", "FCVI-6.2.2-09", 47, 0x01, FCVI_VIOLATION, NULL, 40, 63, 0, NULL, 0},
    {"connect_resp1", "FCVI-6.9.2-07", 40, 0x01, FCVI_VIOLATION, NULL, 40, 63, 0, NULL, 0},
    {"connect_resp2", "FCVI-6.10.2-08", 51, 0x01, FCVI_VIOLATION, NULL, 48, 31, 0, NULL, 0},
    {"disconnect_rqst", "FCVI-6.12.2-15", 55, 0x01, FCVI_VIOLATION, NULL, 52, 31, 0, NULL, 0},
    {"send_rqst", "FCVI-5.9.10-01", 55, 0x05, FCVI_VIOLATION, NULL, 52, 31, 0,
     "at least Relative Offset plus payload", 0},
    /* connect payload */
    {"connect_rqst", "FCVI-6.8.3-01", 63, 0x02, FCVI_VIOLATION, NULL, 62, 15, 0, NULL, 1},
    {"connect_resp1", "FCVI-6.9.3-01", 63, 0x00, FCVI_VIOLATION, NULL, 62, 15, 0, NULL, 1},
    {"connect_rqst", "FCVI-5.9.5-01", 56, 0x80, FCVI_NOTICE, NULL, 56, 31, 0, NULL, 0},
    {"connect_rqst", "FCVI-5.9.5-01", 61, 0x01, FCVI_NOTICE, NULL, 60, 15, 0, NULL, 0},
    {"connect_rqst", "FCVI-5.9.5-01", 68, 0x01, FCVI_NOTICE, NULL, 68, 15, 0, NULL, 0},
    {"connect_rqst", "FCVI-7.2-13", 70, 0x04, FCVI_VIOLATION, NULL, 70, 7, 0, NULL, 0x10},
    {"connect_rqst", "FCVI-7.2-15", 71, 0x0f, FCVI_VIOLATION, NULL, 71, 7, 0, "10h to 80h", 0},
    {"connect_rqst", "FCVI-7.2-15", 219, 0x81, FCVI_VIOLATION, NULL, 219, 7, 0, "10h to 80h", 0},
    {"connect_rqst", "FCVI-7.2-16", 215, 0x01, FCVI_NOTICE, "E31", 215, 7, 0, "zeros after DISCRIM_LEN bytes",
     0},
    {"connect_rqst", "FCVI-7.3-02", 366, 0x04, FCVI_VIOLATION, NULL, 366, 7, 0, "01h, 02h or 03h", 0},
    {"connect_rqst", "FCVI-7.3-02", 366, 0x00, FCVI_VIOLATION, NULL, 366, 7, 0, "01h, 02h or 03h", 0},
    {"connect_rqst", "FCVI-T17-7..2", 367, 0x04, FCVI_NOTICE, NULL, 367, 7, 2, NULL, 0},
    {"connect_rqst", "FCVI-7.3-06", 372, 0x40, FCVI_VIOLATION, NULL, 372, 7, 0, "00h or 80h", 0},
    {"connect_rqst", "FCVI-5.9.5-01", 373, 0x01, FCVI_NOTICE, NULL, 373, 23, 0, NULL, 0},
    {"connect_rqst", "FCVI-7.3-10", 379, 0x01, FCVI_VIOLATION, NULL, 376, 31, 0, NULL, 0},
    {"connect_rqst", "FCVI-7.3-12", 383, 0x01, FCVI_VIOLATION, NULL, 380, 31, 0, NULL, 0},
    {"connect_rqst", "FCVI-7.3-13", 387, 0x01, FCVI_VIOLATION, NULL, 384, 31, 0, NULL, 0},
    {"connect_rqst", "FCVI-T13-w77", 395, 0x01, FCVI_NOTICE, "E10", 392, 31, 0, NULL, 0},
    {"connect_rqst", "FCVI-6.8.1-04", 29, 0x09, FCVI_VIOLATION, NULL, 56, 0, 0, NULL, 0x254},
    {"connect_resp1_info", "FCVI-6.9.1-04", 29, 0x00, FCVI_VIOLATION, NULL, 56, 0, 0, NULL, 0x154},
    {"connect_resp1_refusal", "FCVI-5.9.5-01", 59, 0x01, FCVI_NOTICE, NULL, 56, 31, 0, NULL, 0},
    {"connect_resp1_refusal", "FCVI-T14-w77", 395, 0x01, FCVI_NOTICE, "E10", 392, 31, 0, NULL, 0},
};

/* What stands in the bits that a finding names; for a part of the frame its length. */
static uint64_t seen_at(const struct test *t, const struct fcvi_finding *f)
{
    uint64_t v = 0;
    if (f->size > 8)
        return t->input.length - f->byte;
    for (unsigned i = 0; i < f->size; i++)
        v = v << 8 | t->bytes[f->byte + i];
    unsigned above = 63u - f->hi;
    return v << above >> (above + f->lo);
}

START_TEST(each_rule_is_reported_where_it_is_broken)
{
    struct test t;
    const struct rule *r = &rules[_i];
    load(&t, r->frame);
    t.bytes[r->byte] = r->value;
    t.input.eof = FCVI_EOF_NONE; /* so that an edited End_Sequence does not disagree with it */
    decode(&t);
    const struct fcvi_finding *f = NULL;
    for (size_t i = 0; i < t.findings.count; i++)
        if (strcmp(t.list[i].requirement, r->requirement) == 0 && t.list[i].byte == r->at)
            f = &t.list[i];
    ck_assert_msg(f != NULL, "%s byte %u = %02x: no %s", r->frame, r->byte, r->value, r->requirement);
    ck_assert_int_eq(f->cls, r->cls);
    ck_assert_pstr_eq(f->erratum, r->erratum);
    ck_assert_uint_eq(f->hi, r->hi);
    ck_assert_uint_eq(f->lo, r->lo);
    ck_assert_pstr_eq(f->required, r->required);
    ck_assert_uint_eq(f->required_value, r->wanted);
    if (strcmp(f->field, "DISCRIM") != 0)
        ck_assert_uint_eq(f->seen, seen_at(&t, f));
}
END_TEST

START_TEST(rules_with_more_than_one_byte)
{
    struct test t;
    load(&t, "send_rqst"); /* a Message has an Endpoint's handle */
    memset(t.bytes + 24, 0xff, 4);
    decode(&t);
    ck_assert_ptr_nonnull(find(&t, "FCVI-5.9.2-03"));
    load(&t, "connect_rqst"); /* E12: FFFFFFFFh is no handle */
    memset(t.bytes + 64, 0xff, 4);
    decode(&t);
    ck_assert_uint_eq(find(&t, "FCVI-5.9.2-03")->byte, 64);
    load(&t, "connect_resp1");
    memset(t.bytes + 64, 0xff, 4);
    decode(&t);
    ck_assert_str_eq(find(&t, "FCVI-5.9.2-03")->field, "FCVI_RESP_HANDLE");
    load(&t, "connect_rqst");
    memset(t.bytes + 52, 0xff, 4);
    decode(&t);
    ck_assert_ptr_nonnull(find(&t, "FCVI-5.9.10-07"));
    memset(t.bytes + 52, 0, 4); /* E47 */
    decode(&t);
    ck_assert_str_eq(find(&t, "FCVI-6.8.2-08")->erratum, "E47");
    ck_assert_str_eq(find(&t, "FCVI-6.8.2-08")->required, "a value other than zero");
    ck_assert_uint_eq(find(&t, "FCVI-6.8.2-08")->required_value, 0);
    load(&t, "disconnect_rqst"); /* E03 */
    memset(t.bytes + 52, 0xff, 4);
    decode(&t);
    ck_assert_str_eq(find(&t, "FCVI-6.12.2-15")->erratum, "E03");
    ck_assert_int_eq(find(&t, "FCVI-6.12.2-15")->cls, FCVI_NOTICE);
    ck_assert_uint_eq(find(&t, "FCVI-6.12.2-15")->required_value, 0);
    load(&t, "disconnect_resp");
    t.bytes[29] = 3; /* established, yet with an id: it may repeat what it was sent */
    decode(&t);
    ck_assert_str_eq(find(&t, "FCVI-6.13.2-12")->erratum, "E03");
    ck_assert_uint_eq(find(&t, "FCVI-6.13.2-12")->required_value, 0);
    load(&t, "send_resp"); /* 5.9.1: SEND_RESP has the 16-byte form */
    t.bytes[13] = 2;
    memset(t.bytes + 40, 0, 16);
    t.input.length += 16;
    decode(&t);
    ck_assert_uint_eq(find(&t, "FCVI-5.8.5-01")->required_value, 1);
    load(&t, "connect_resp2"); /* Priority Enable: the byte is no CS_CTL */
    t.bytes[4] = 0x80;
    t.bytes[9] |= 2;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
}
END_TEST

START_TEST(payload_where_none_belongs)
{
    struct test t;
    load(&t, "connect_resp3");
    t.input.length += 4;
    memset(t.bytes + 56, 0, 4);
    decode(&t);
    ck_assert_uint_eq(find(&t, "FCVI-6.11.1-02")->seen, 4);
    load(&t, "connect_rqst");
    t.input.length = 56 + 336; /* E10 */
    decode(&t);
    ck_assert_int_eq(find(&t, "FCVI-6.8.1-04")->cls, FCVI_MALFORMED);
    load(&t, "read_resp"); /* E20: FCVI_TOT_LEN of a response is not checked against its data */
    t.bytes[55] = 0;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
    load(&t, "send_rqst"); /* an empty Message has no data that could go beyond it */
    t.input.length = 56;
    t.bytes[11] = 0x08;
    t.bytes[55] = 0;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
}
END_TEST

START_TEST(parts_of_a_connect_iu_are_left_alone)
{
    struct test t;
    load(&t, "connect_rqst"); /* E44: the first of several frames */
    t.input.length = 56 + 100;
    t.bytes[9] = 0x20;
    t.input.eof = FCVI_EOF_N;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
    t.bytes[9] = 0x29; /* the last of them: SOFn3, Relative Offset 64h, SEQ_CNT 1 */
    t.bytes[15] = 1;
    t.bytes[23] = 0x64;
    t.input.sof = FCVI_SOF_N3;
    t.input.eof = FCVI_EOF_T;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
    t.input.sof = FCVI_SOF_NONE;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
}
END_TEST

START_TEST(frames_of_fc_2)
{
    struct test t;
    load(&t, "connect_resp3");
    t.input.crc = FCVI_CRC_BAD;
    decode(&t);
    ck_assert_int_eq(find(&t, "FCVI-5.8.1-01")->cls, FCVI_MALFORMED);
    t.input.crc = FCVI_CRC_OK;
    struct {
        uint8_t eof;
        const char *text;
    } invalid[] = {
        {FCVI_EOF_NI, "EOFni"}, {FCVI_EOF_DTI, "EOFdti"}, {FCVI_EOF_RTI, "EOFrti"}, {FCVI_EOF_A, "EOFa"}};
    for (int i = 0; i < 4; i++) {
        char out[16384];
        t.input.eof = invalid[i].eof;
        decode(&t);
        ck_assert_str_eq(find(&t, "FCVI-5.8.1-01")->field, "EOF");
        fcvi_print_text(&t.frame, out, sizeof out);
        ck_assert_ptr_nonnull(strstr(out, invalid[i].text));
    }
    t.input.eof = FCVI_EOF_N; /* class 3: the Sequence ends, the EOF says it does not */
    decode(&t);
    ck_assert_uint_eq(find(&t, "FCVI-5.8.1-01")->required_value, FCVI_EOF_T);
    t.input.sof = FCVI_SOF_I2; /* class 2 ends with EOFn; EOFt is on the last ACK */
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
    t.input.sof = FCVI_SOF_N2;
    decode(&t);
    ck_assert_ptr_nonnull(find(&t, "FCVI-6.11.1-04"));
    t.input.sof = FCVI_SOF_N3;
    t.input.eof = FCVI_EOF_T;
    decode(&t);
    ck_assert_ptr_nonnull(find(&t, "FCVI-6.11.1-04"));
    t.input.sof = FCVI_SOF_F;
    decode(&t);
    ck_assert_ptr_nonnull(find(&t, "FCVI-4.2-17"));
    load(&t, "send_rqst");
    t.bytes[9] = 0x20; /* not the end of its Sequence, but EOFt */
    t.bytes[11] = 0x08;
    decode(&t);
    ck_assert_uint_eq(find(&t, "FCVI-5.8.1-01")->required_value, FCVI_EOF_N);
    load(&t, "send_rqst");
    t.input.length -= 1;
    decode(&t);
    ck_assert_ptr_nonnull(find(&t, "FCVI-5.8.1-01"));
    load(&t, "send_rqst");
    t.input.length = 24 + 2112 + 4;
    memset(t.bytes + 56, 0, t.input.length - 56);
    decode(&t);
    ck_assert_uint_eq(find(&t, "FCVI-5.8.1-01")->seen, 2116);
    static uint8_t huge[70000];
    struct fcvi_input in = {huge, sizeof huge, 0, 0, 0};
    memcpy(huge, t.bytes, 56);
    t.findings = (struct fcvi_findings){t.list, MOST, 0, 0};
    fcvi_decode(&in, &t.frame, &t.findings);
    ck_assert_uint_eq(t.list[0].size, 0xFFFF);
}
END_TEST

START_TEST(kinds_of_frames)
{
    static const struct {
        const char *hex, *title;
        enum fcvi_kind kind;
        size_t findings;
    } frames[] = {
        {"81 010400 00 010203 00 090000 12 00 0002 1002 ffff 00000000", "ABTS", FCVI_KIND_BLS, 0},
        {"84 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 80 12 0000 1002 8001 0000 0002",
         "BA_ACC", FCVI_KIND_BLS, 0},
        {"84 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 8012 0000", "BA_ACC", FCVI_KIND_BLS, 1},
        {"85 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 00 09 03 00", "BA_RJT", FCVI_KIND_BLS,
         0},
        {"85 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000", "BA_RJT", FCVI_KIND_BLS, 1},
        {"8f 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000", "link service", FCVI_KIND_BLS, 0},
        {"c0 010203 00 010400 00 e90000 11 00 0000 1001 2001 00000001", "ACK_1", FCVI_KIND_LINK_CONTROL, 0},
        {"c2 010203 00 010400 00 e90003 11 00 0000 1001 2001 01010000", "P_RJT", FCVI_KIND_LINK_CONTROL, 0},
        {"22 fffffe 00 000000 01 290000 00 00 0000 1001 ffff 00000000 05000000 00*12", "LOGO", FCVI_KIND_ELS,
         0},
        {"22 fffffe 00 000000 01 290000 00 00 0000 1001 ffff 00000000 7f000000", "ELS", FCVI_KIND_ELS, 0},
        {"22 fffffe 00 000000 01 290000 00 00 0000 1001 ffff 00000000", "ELS", FCVI_KIND_ELS, 1},
        {"22 fffffe 00 000000 01 290000 00 00 0001 1001 ffff 00000000", "ELS", FCVI_KIND_ELS, 0},
        {"22 fffffe 00 000000 01 290000 00 00 0000 1001 ffff 00000000 03000000 00*108", "PLOGI",
         FCVI_KIND_ELS, 1},
        {"22 fffffe 00 000000 01 290000 00 00 0000 1001 ffff 00000000 03000000 00*252", "PLOGI",
         FCVI_KIND_ELS, 0},
        {"23 fffffe 00 000000 01 290000 00 00 0000 1001 ffff 00000000 01000000", "LS_RJT", FCVI_KIND_ELS, 1},
        {"22 fffffe 00 000000 01 290000 00 40 0000 1001 ffff 00000000 03000000", "PLOGI", FCVI_KIND_ELS, 0},
        {"81 010400 00 010203 00 090000 12 00 0002 1002 ffff 00000000 00000000", "ABTS", FCVI_KIND_BLS, 1},
        {"84 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 80 12 0000 1002 8001 0000 0002 00*4",
         "BA_ACC", FCVI_KIND_BLS, 1},
        {"c0 010203 00 010400 00 e90000 11 00 0000 1001 2001 00000001 00*4", "ACK_1", FCVI_KIND_LINK_CONTROL,
         1},
        {"22 fffffe 00 000000 01 290000 00 00 0000 1001 ffff 00000000 03000000 00*112", "PLOGI",
         FCVI_KIND_ELS, 0},
        {"23 fffffe 00 000000 01 290000 00 00 0000 1001 ffff 00000000 02000000", "LS_ACC", FCVI_KIND_ELS, 0},
        {"22 fffffe 00 000000 22 290000 00 00 0000 1001 ffff 00000000", "SW_ILS", FCVI_KIND_OTHER, 0},
        {"06 010203 00 010400 08 290000 00 00 0000 1001 ffff 00000000 00*32", "FCP", FCVI_KIND_OTHER, 0},
        {"01 010203 00 010400 77 290000 00 00 0000 1001 ffff 00000000", "other", FCVI_KIND_OTHER, 0},
        {"50 010203 00 010400 58 290000 00 33 0000 1001 ffff 00000000", "FC-VI", FCVI_KIND_OTHER, 0},
        {"01 010203 00 010400 58 380000 00 42 0000 1001 ffff 00000000 00*32", "FC-VI", FCVI_KIND_OTHER, 0},
        {"01 010203 00 010400 58 380000 00 22 0000 1001 ffff 00000000 00*8", "FC-VI, unknown IU",
         FCVI_KIND_IU, 1},
        {"01 010203 00 010400 58 380000 00 12 0000 1001 ffff 00000000 00*8", "FC-VI, unknown IU",
         FCVI_KIND_IU, 1},
        {"010203", "not a frame", FCVI_KIND_MALFORMED, 1},
    };
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        struct test t;
        char line[256];
        load_hex(&t, frames[i].hex, 0, 0);
        decode(&t);
        fcvi_print_summary(&t.frame, line, sizeof line);
        ck_assert_msg(t.frame.kind == frames[i].kind, "%s: kind %d", frames[i].title, t.frame.kind);
        ck_assert_msg(t.findings.count == frames[i].findings, "%s: %zu findings", frames[i].title,
                      t.findings.count);
        ck_assert_msg(strncmp(line, frames[i].title, strlen(frames[i].title)) == 0, "%s", line);
        exercise(&t);
        fcvi_decode(&t.input, &t.frame, NULL); /* the receive path wants no findings */
        ck_assert_int_eq(t.frame.kind, frames[i].kind);
    }
}
END_TEST

/* ---- the table ---- */

/* For every IU the leaves of each structure lie side by side, every bit in one of them and none in two. */
START_TEST(fields_tile_their_structures)
{
    size_t count, structures;
    const struct fcvi_field *table = fcvi_field_table(&count);
    const struct fcvi_structure_info *info = fcvi_structure_table(&structures);
    for (unsigned iu = 0; iu < FCVI_IU_COUNT; iu++) {
        for (size_t s = 0; s < structures; s++) {
            uint8_t seen[340] = {0};
            bool connect_field =
                s == FCVI_S_CONN && iu != FCVI_IU_CONNECT_RQST && iu != FCVI_IU_CONNECT_RESP1;
            if (connect_field)
                continue;
            for (size_t i = info[s].first; i < count && table[i].structure == s; i++) {
                const struct fcvi_field *f = &table[i];
                if (f->kind == FCVI_F_GROUP || !(f->ius >> iu & 1u))
                    continue;
                bool bytes = f->kind == FCVI_F_BLOB || f->kind == FCVI_F_NEST;
                unsigned bits = 8u * f->size;
                for (unsigned b = 0; b < bits; b++) {
                    bool inside = bytes || (b >= f->lo && b <= f->hi);
                    unsigned at = f->byte * 8u + (bits - 1 - b);
                    if (!inside)
                        continue;
                    ck_assert_msg(!(seen[at / 8] & 0x80 >> at % 8), "%s.%s overlaps", info[s].ident,
                                  f->ident);
                    seen[at / 8] |= (uint8_t)(0x80 >> at % 8);
                }
            }
            bool dh16 = (s == FCVI_S_DH && (FCVI_IUS_DH16 >> iu & 1u)) ||
                        (s == FCVI_S_DH_REV1 && !(FCVI_IUS_REV1_DH32 >> iu & 1u));
            for (unsigned i = 0; i < (dh16 ? 16u : info[s].length); i++)
                ck_assert_msg(seen[i] == 0xff, "%s byte %u of IU %u has a gap", info[s].ident, i, iu);
        }
    }
}
END_TEST

/* The requirements of every standard, one after the other. */
static char *catalogues(void)
{
    enum { ROOM = 1 << 20 };
    char pattern[512], *text = calloc(1, ROOM);
    const char *root = getenv("FCVI_SRCDIR");
    snprintf(pattern, sizeof pattern, "%s/conformance/*/requirements.tsv", root != NULL ? root : ".");
    glob_t found;
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    size_t length = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *file = fopen(found.gl_pathv[i], "rb");
        ck_assert_ptr_nonnull(file);
        length += fread(text + length, 1, ROOM - 1 - length, file);
        fclose(file);
    }
    globfree(&found);
    ck_assert_uint_gt(length, 0);
    return text;
}

START_TEST(requirements_exist)
{
    char *text = catalogues();
    size_t count;
    const struct fcvi_field *table = fcvi_field_table(&count);
    for (size_t i = 0; i < count + sizeof rules / sizeof rules[0]; i++) {
        const char *id = i < count ? table[i].requirement : rules[i - count].requirement;
        char line[128];
        snprintf(line, sizeof line, "\n%s\t", id);
        ck_assert_msg(*id == '\0' || strstr(text, line) != NULL, "%s is not in the catalogue", id);
    }
    free(text);
}
END_TEST

START_TEST(names)
{
    struct fcvi_iu_info info;
    fcvi_iu_info(FCVI_IU_READ_RESP, &info);
    ck_assert_uint_eq(info.opcode, 0x0a);
    ck_assert_str_eq(fcvi_iu_name(FCVI_IU_CONNECT_RESP1), "FCVI_CONNECT_RESP1");
    ck_assert_str_eq(fcvi_iu_name(99), "");
    ck_assert_str_eq(fcvi_kind_name(FCVI_KIND_ELS), "els");
    ck_assert_str_eq(fcvi_kind_name(FCVI_KIND_OTHER), "other");
    ck_assert_str_eq(fcvi_kind_name(99), "");
    ck_assert_str_eq(fcvi_class_name(FCVI_VIOLATION), "violation");
    ck_assert_str_eq(fcvi_class_name(FCVI_MALFORMED), "malformed");
    ck_assert_str_eq(fcvi_class_name(99), "");
    ck_assert_str_eq(fcvi_reason_name(0x4a), "Connection Does Not Exist");
    ck_assert_str_eq(fcvi_reason_name(0x4c), "Reserved");
    ck_assert_str_eq(fcvi_reason_name(0xf0), "Vendor Unique Error");
    ck_assert_str_eq(fcvi_version(), "0.2.0");
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        enum fcvi_iu iu = fcvi_iu_of_opcode((uint8_t)opcode);
        if (iu != FCVI_IU_NONE) {
            fcvi_iu_info(iu, &info);
            ck_assert_uint_eq(info.opcode, opcode);
        }
    }
}
END_TEST

/* Worked values: zlib's check value, and a PLOGI's ABTS computed bit by bit elsewhere */
START_TEST(crc)
{
    uint8_t abts[24];
    ck_assert_uint_eq(fcvi_crc32((const uint8_t *)"123456789", 9), 0xCBF43926);
    from_hex("81010400 00010203 00090000 12000002 1002ffff 00000000", abts);
    ck_assert_uint_eq(fcvi_crc32(abts, 24), 0x5400932E);
}
END_TEST

START_TEST(findings_beyond_capacity_are_counted)
{
    struct test t;
    load(&t, "connect_rqst");
    memset(t.bytes + 24, 0x5a, 372);
    t.bytes[28] = 0x10;
    t.findings = (struct fcvi_findings){t.list, 2, 0, 0};
    fcvi_decode(&t.input, &t.frame, &t.findings);
    ck_assert_uint_gt(t.findings.count, 10);
    ck_assert_uint_ge(t.findings.worst, 1 + FCVI_VIOLATION);
}
END_TEST

/* ---- text and JSON ---- */

START_TEST(text_says_what_the_tables_say)
{
    struct test t;
    char out[16384];
    load(&t, "disconnect_resp");
    decode(&t);
    fcvi_print_text(&t.frame, out, sizeof out);
    ck_assert_ptr_nonnull(strstr(out, "FCVI_DISCONNECT_RESP, 56 bytes, SOFi3, EOFt, CRC ok"));
    ck_assert_ptr_nonnull(strstr(out, "4Ah  Connection Does Not Exist"));
    ck_assert_ptr_nonnull(strstr(out, "    52       FCVI_CONNECTION_ID           00000043h"));
    fcvi_print_summary(&t.frame, out, sizeof out);
    ck_assert_str_eq(out, "FCVI_DISCONNECT_RESP 010200>010100 OX 1240 RX 8001 CNT 0 H 0000BEEF ID 00000043 "
                          "CONN_SETUP_ABORT 4Ah Connection Does Not Exist");
    load(&t, "connect_resp1");
    decode(&t);
    fcvi_print_summary(&t.frame, out, sizeof out);
    ck_assert_ptr_nonnull(strstr(out, " RETRY"));
    load(&t, "connect_rqst");
    t.bytes[29] |= 0x10;
    decode(&t);
    fcvi_print_summary(&t.frame, out, sizeof out);
    ck_assert_ptr_nonnull(strstr(out, " RETRY"));
    load(&t, "connect_resp2");
    t.bytes[37] = 0xf1;
    decode(&t);
    fcvi_print_summary(&t.frame, out, sizeof out);
    ck_assert_ptr_nonnull(strstr(out, "F1h Vendor Unique Error"));
    fcvi_print_text(&t.frame, out, sizeof out);
    ck_assert_ptr_nonnull(strstr(out, "Vendor Unique Error"));
    load(&t, "send_rqst");
    decode(&t);
    fcvi_print_summary(&t.frame, out, sizeof out);
    ck_assert_ptr_nonnull(strstr(out, " MSG 1 LEN 6/6"));
    load(&t, "connect_resp3"); /* the opcode of a 32-byte header in 16 bytes */
    t.bytes[13] = 1;
    decode(&t);
    fcvi_print_summary(&t.frame, out, sizeof out);
}
END_TEST

START_TEST(printing_is_bounded)
{
    struct test t;
    char whole[32768], part[64];
    load(&t, "connect_rqst_info");
    t.bytes[40] = 0xff; /* a number that JSON readers would round */
    for (int delimiters = 0; delimiters < 6; delimiters++) {
        static const uint8_t sofs[] = {FCVI_SOF_I2, FCVI_SOF_N2, FCVI_SOF_N3,
                                       FCVI_SOF_F,  0x99,        FCVI_SOF_NONE};
        static const uint8_t eofs[] = {FCVI_EOF_N, FCVI_EOF_NI, FCVI_EOF_A, 0x99, FCVI_EOF_T, FCVI_EOF_NONE};
        t.input.sof = sofs[delimiters];
        t.input.eof = eofs[delimiters];
        t.input.crc = delimiters < 4 ? (uint8_t)delimiters : FCVI_CRC_ABSENT;
        decode(&t);
        size_t length = fcvi_print_json(&t.frame, whole, sizeof whole);
        ck_assert_uint_lt(length, sizeof whole);
        ck_assert_int_eq(whole[length - 1], '}');
        ck_assert_uint_eq(fcvi_print_json(&t.frame, part, sizeof part), length);
        ck_assert_mem_eq(part, whole, sizeof part - 1);
        ck_assert_uint_eq(fcvi_print_json(&t.frame, NULL, 0), length);
        fcvi_print_text(&t.frame, whole, sizeof whole);
    }
}
END_TEST

/* ---- what is not an IU ---- */

/* Of Messages, but for ends of frames that nobody knows and responses that report an error. */
static bool usual(const struct fcvi_frame *f)
{
    if (f->kind != FCVI_KIND_IU || f->iu > FCVI_IU_READ_RESP)
        return false;
    bool reports = f->iu >= FCVI_IU_SEND_RESP && fcvi_DH_FCVI_FLAGS(f->dh) != 0;
    return !reports &&
           (f->input.eof == FCVI_EOF_NONE || f->input.eof == FCVI_EOF_N || f->input.eof == FCVI_EOF_T);
}

/* What the quick look passes goes through every other check as well, and nothing usual that does is kept
 * back: each golden frame with any one or two bits of its headers turned, at every length, behind every
 * delimiter. */
static void compare_quick_look(const uint8_t *bytes, size_t length, uint8_t sof, uint8_t eof,
                               unsigned *passed)
{
    struct fcvi_input in = {bytes, length, sof, eof, FCVI_CRC_OK};
    struct fcvi_findings findings = {NULL, 0, 0, 0};
    struct fcvi_frame frame;
    fcvi_decode(&in, &frame, NULL);
    bool good = fcvi_is_good_message(&frame);
    if (!good && !usual(&frame))
        return;
    fcvi_check_frame(&frame, &findings);
    if (good != (findings.count == 0))
        ck_abort_msg("%zu findings in what is %s", findings.count, good ? "passed" : "kept back");
    if (!good)
        return;
    frame.input.crc = FCVI_CRC_BAD;
    ck_assert(!fcvi_is_good_message(&frame));
    ++*passed;
}

START_TEST(the_quick_look_passes_nothing_bad)
{
    static const uint8_t delimiters[] = {0x00, 0x28, 0x2D, 0x2E, 0x35, 0x36, 0x41, 0x42, 0x49, 0x50, 0x99};
    const struct golden *g = &golden[_i];
    uint8_t bytes[GOLDEN_MAX] = {0};
    size_t length = from_hex(g->hex, bytes), bits = 8 * (length < 56 ? length : 56);
    unsigned passed = 0, good = 0;
    compare_quick_look(bytes, length, g->sof, g->eof, &good);
    bool failed = g->iu == FCVI_IU_WRITE_RESP; /* a response with RESP_ERR is for the other checks */
    ck_assert_uint_eq(good, g->iu <= FCVI_IU_READ_RESP && !failed);
    for (size_t a = 0; a < bits; a++)
        for (size_t b = a; b < bits; b++) {
            bytes[a / 8] ^= (uint8_t)(0x80 >> a % 8);
            if (a != b)
                bytes[b / 8] ^= (uint8_t)(0x80 >> b % 8);
            compare_quick_look(bytes, length, g->sof, g->eof, &passed);
            bytes[a / 8] ^= (uint8_t)(0x80 >> a % 8);
            if (a != b)
                bytes[b / 8] ^= (uint8_t)(0x80 >> b % 8);
        }
    for (size_t n = 0; n <= length; n++)
        for (size_t a = 0; a < sizeof delimiters; a++)
            for (size_t b = 0; b < sizeof delimiters; b++)
                compare_quick_look(bytes, n, delimiters[a], delimiters[b], &passed);
    ck_assert(passed > 0 || good == 0);
}
END_TEST

/* A frame from the middle of a Sequence, of the largest size (FC-FS: a Data_Field of 2,112 bytes). */
START_TEST(the_quick_look_passes_the_largest)
{
    struct test t;
    unsigned passed = 0;
    load_hex(&t,
             "01 010200 00 010100 58 200008 07 02 0000 1234 ffff 00000000 0000abcd 00 00 0000 00000001 00*16 "
             "00001000 11*2080",
             FCVI_SOF_I3, FCVI_EOF_N);
    ck_assert_uint_eq(t.input.length, 24 + 2112);
    compare_quick_look(t.bytes, t.input.length, FCVI_SOF_I3, FCVI_EOF_N, &passed);
    ck_assert_uint_eq(passed, 1);
    compare_quick_look(t.bytes, t.input.length + 4, FCVI_SOF_I3, FCVI_EOF_N, &passed);
    ck_assert_uint_eq(passed, 1);
}
END_TEST

START_TEST(other_frames_encode_to_themselves)
{
    static const char *const frames[] = {
        "84 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 80 12 0000 1002 8001 0000 0002 aabbccdd",
        "85 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 00 09 03 00",
        "22 fffffe 00 000000 01 290000 00 00 0000 1001 ffff 00000000 03000000 2020000a 80020840 00*104",
        "22 fffffe 00 000000 01 290000 00 01 0000 1001 ffff 00000000 03000000 2020000a 80020840 00*104",
        "22 fffffe 00 000000 01 290000 00 00 0000 1001 ffff 00000000 05000000 00*12",
        "23 fffffe 00 000000 01 990000 00 00 0000 1001 ffff 00000000 01000000 00030000",
        /* found by fuzzing: a Device_Header that is announced and cut off in a Basic Link Service */
        "85 858585 85 0a0000 00 00ffff ff 0a 0000 0000 0000 ffffffff ffffffff",
        "22 fffffe 00 000000 01 290000 00 00 0000 1001 ffff 00000000 02000000",
    };
    struct test t;
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        load_hex(&t, frames[i], 0, 0);
        exercise(&t);
    }
    struct fcvi_values values;
    uint8_t small[8];
    fcvi_values_of(&t.frame, &values);
    ck_assert_uint_eq(fcvi_encode(&values, small, sizeof small), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codec");
    TCase *tc = tcase_create("frames");
    tcase_add_loop_test(tc, golden_frames_are_clean, 0, GOLDEN_COUNT);
    tcase_add_test(tc, views_point_where_the_tables_say);
    tcase_add_test(tc, optional_headers_are_stepped_over);
    tcase_add_loop_test(tc, each_rule_is_reported_where_it_is_broken, 0, sizeof rules / sizeof rules[0]);
    tcase_add_test(tc, rules_with_more_than_one_byte);
    tcase_add_test(tc, payload_where_none_belongs);
    tcase_add_test(tc, parts_of_a_connect_iu_are_left_alone);
    tcase_add_test(tc, frames_of_fc_2);
    tcase_add_test(tc, kinds_of_frames);
    tcase_add_test(tc, fields_tile_their_structures);
    tcase_add_test(tc, requirements_exist);
    tcase_add_test(tc, names);
    tcase_add_test(tc, crc);
    tcase_add_test(tc, findings_beyond_capacity_are_counted);
    tcase_add_test(tc, text_says_what_the_tables_say);
    tcase_add_test(tc, printing_is_bounded);
    tcase_add_loop_test(tc, the_quick_look_passes_nothing_bad, 0, GOLDEN_COUNT);
    tcase_add_test(tc, the_quick_look_passes_the_largest);
    tcase_add_test(tc, other_frames_encode_to_themselves);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
