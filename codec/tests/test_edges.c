/* Where findings lie, what decides at the edges of a rule, and what F_CTL has to say of every IU. */
#include "under_test.h"

#include <fcvi/table.h>
#include <stdio.h>

static void load_iu(struct test *t, enum fcvi_iu iu)
{
    for (size_t i = 0; i < GOLDEN_COUNT; i++)
        if (golden[i].iu == iu) {
            load_hex(t, golden[i].hex, 0, 0);
            return;
        }
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
    load_iu(&t, r->iu);
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
    load_iu(&t, f_ctl[_i].iu);
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
    load_iu(&t, FCVI_IU_CONNECT_RESP3);
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
    load_iu(&t, FCVI_IU_SEND_RQST);
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
    load_hex(&t, "010203", 0, 0);
    decode(&t);
    lies(&t.list[0], "Frame_Header", 0, 3, 3);
    load_hex(&t, "84 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 8012 0000 1002 8001", 0, 0);
    decode(&t);
    lies(&t.list[0], "Data_Field", 24, 8, 8);
    ck_assert_str_eq(t.list[0].required, "12 bytes");
}
END_TEST

/* A Basic Link Service with fill bytes has that much less of a payload. */
START_TEST(least_payloads_of_basic_link_services)
{
    struct test t;
    load_hex(&t, "85 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 00090300", 0, 0);
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
    t.bytes[11] = 1;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    lies(&t.list[0], "Data_Field", 24, 3, 3);
    ck_assert_str_eq(t.list[0].required, "4 bytes");
}
END_TEST

/* FC-FS: what rejects and busies say stands in the Frame_Header. FC-VI does not use NOP, so its length is not
 * judged. */
START_TEST(payloads_of_link_services_that_have_none)
{
    static const char *const r_ctls[] = {"c0", "c2", "c3", "c4", "c5", "c6"};
    struct test t;
    char hex[128];
    snprintf(hex, sizeof hex, "%s 010203 00 010400 00 d90000 01 00 0000 1002 8001 02070000", r_ctls[_i]);
    load_hex(&t, hex, FCVI_SOF_N2, 0);
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
    snprintf(hex, sizeof hex, "%s 010203 00 010400 00 d90000 01 00 0000 1002 8001 02070000 00000000",
             r_ctls[_i]);
    load_hex(&t, hex, FCVI_SOF_N2, 0);
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    lies(&t.list[0], "Data_Field", 24, 4, 4);
}
END_TEST

/* FC-LS: PRLI and PRLO have a page of 16 bytes at least, RSCN one of 4; and as many as they say. */
START_TEST(pages_of_link_services)
{
    static const struct {
        const char *payload, *f_ctl;
        bool good;
    } frames[] = {
        {"20100014 58002000 00000000 00000000 00000000", "290000", true},
        {"21100014 58000000 00000000 00000000 00000000", "290000", true},
        {"61040008 00010200", "290000", true},
        {"6104000c 00010200 00010300", "290000", true},
        {"6104000c 00010200", "200000", true}, /* the Sequence goes on in another frame */
        {"20100014", "290000", false},
        {"20100014 58002000 00000000 00000000", "290000", false},
        {"21100014", "290000", false},
        {"61040008", "290000", false},
        {"6104000c 00010200", "290000", false}, /* a page less than it says */
        {"20100024 58002000 00000000 00000000 00000000", "290000", false},
    };
    struct test t;
    char hex[256];
    snprintf(hex, sizeof hex, "22 010203 00 010400 01 %s 01 00 0000 1002 ffff 00000000 %s", frames[_i].f_ctl,
             frames[_i].payload);
    load_hex(&t, hex, FCVI_SOF_I3, 0);
    decode(&t);
    ck_assert_uint_eq(t.findings.count, !frames[_i].good);
}
END_TEST

/* ---- the connect payload ---- */

enum { LOC_ADDR = 56 + 12, REM_ADDR = LOC_ADDR + 148, DISCRIM = 20, DISCRIM_SIZE = 128 };

START_TEST(discriminators)
{
    struct test t;
    load_iu(&t, FCVI_IU_CONNECT_RQST);
    t.bytes[LOC_ADDR + 3] = 0x80; /* E30: all of it may be used */
    memset(t.bytes + LOC_ADDR + DISCRIM, 0x5a, DISCRIM_SIZE);
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 0);
    load_iu(&t, FCVI_IU_CONNECT_RQST);
    t.bytes[REM_ADDR] = 0x80; /* reserved, beside a Discriminator that is well padded */
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    ck_assert_str_eq(t.list[0].requirement, "FCVI-5.9.5-01");
    ck_assert_uint_eq(t.list[0].byte, REM_ADDR);
    load_iu(&t, FCVI_IU_CONNECT_RQST);
    t.bytes[LOC_ADDR + DISCRIM + 16] = 4; /* the first byte of the padding, and the last */
    t.bytes[LOC_ADDR + DISCRIM + DISCRIM_SIZE - 1] = 1;
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    ck_assert_str_eq(t.list[0].requirement, "FCVI-7.2-16");
    ck_assert_uint_eq(t.list[0].byte, LOC_ADDR + DISCRIM + 16); /* the first byte that is not zero */
    ck_assert_uint_eq(t.list[0].size, 1);
    ck_assert_uint_eq(t.list[0].seen, 4);
    ck_assert_uint_eq(t.list[0].required_value, 0);
}
END_TEST

/* What is behind the list's capacity is the caller's. */
START_TEST(a_full_list_is_left_alone)
{
    struct test t;
    struct fcvi_finding list[8];
    load_iu(&t, FCVI_IU_CONNECT_RQST);
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
    load_iu(&t, FCVI_IU_CONNECT_RESP3);
    t.bytes[13] = 1; /* words 4 to 7 are not there, and nothing is said of them */
    decode(&t);
    ck_assert_uint_eq(t.findings.count, 1);
    load_iu(&t, FCVI_IU_SEND_RQST);
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
    load_hex(&t, "c0 010203 00 010400 00 e90003 11 33 0000 1001 2001 00000001 00*96", 0, 0); /* ACK_1 */
    decode(&t);
    ck_assert_ptr_eq(t.frame.payload, t.bytes + 24);
    ck_assert_uint_eq(t.frame.payload_length, 96);
    ck_assert_uint_eq(t.frame.fill, 0);
    ck_assert_ptr_null(t.frame.dh);
    ck_assert_ptr_null(t.frame.network);
    load_hex(&t, "50 010203 00 010400 58 290000 00 33 0000 1001 ffff 00000000 00*96", 0,
             0); /* extended header */
    decode(&t);
    ck_assert_ptr_eq(t.frame.payload, t.bytes + 24);
    ck_assert_ptr_null(t.frame.dh);
    load_hex(&t, "60 010203 00 010400 58 290000 00 11 0000 1001 ffff 00000000 00*96", 0, 0);
    decode(&t);
    ck_assert_ptr_eq(t.frame.association, t.bytes + 24);
    ck_assert_ptr_eq(t.frame.dh, t.bytes + 56);
    ck_assert_ptr_eq(t.frame.payload, t.bytes + 72);
    load_hex(&t, "06 010203 00 010400 08 290003 00 00 0000 1001 ffff 00000000 aabbcc", 0,
             0); /* only fill bytes */
    decode(&t);
    ck_assert_ptr_null(t.frame.dh);
    ck_assert_uint_eq(t.frame.fill, 3);
    ck_assert_uint_eq(t.frame.payload_length, 0);
    load_hex(&t, "01 010203 00 010400 58 380000 00 02 0000 1001 ffff 00000000 00*31", 0, 0);
    decode(&t);
    ck_assert_ptr_null(t.frame.dh);
    ck_assert_uint_eq(t.frame.dh_length, 0);
    lies(find(&t, "FCVI-5.9.1-01"), "Device_Header", 24, 31, 31);
    load_hex(&t, "01 010203 00 010400 58 380000 00 02 0000 1001 ffff 00000000 00*32", 0, 0);
    decode(&t);
    ck_assert_ptr_eq(t.frame.dh, t.bytes + 24);
    ck_assert_uint_eq(t.frame.payload_length, 0);
}
END_TEST

/* ---- names of values: FC-FS, Tables 1, 8, 12, 16 and 18 ---- */

static const struct {
    enum fcvi_structure structure;
    const char *field, *names[27]; /* each after its value in hexadecimal */
} values[] = {
    {FCVI_S_FC,
     "R_CTL",
     {"00 Uncategorized",
      "01 Solicited Data",
      "02 Unsolicited Control",
      "03 Solicited Control",
      "04 Unsolicited Data",
      "05 Data Descriptor",
      "06 Unsolicited Command",
      "07 Command Status",
      "22 ELS Request",
      "23 ELS Reply",
      "32 FC-4 LS Request",
      "33 FC-4 LS Reply",
      "80 NOP",
      "81 ABTS",
      "82 RMC",
      "84 BA_ACC",
      "85 BA_RJT",
      "86 PRMT",
      "C0 ACK_1",
      "C1 ACK_0",
      "C2 P_RJT",
      "C3 F_RJT",
      "C4 P_BSY",
      "C5 F_BSY to data",
      "C6 F_BSY to link control",
      "C7 LCR"}},
    {FCVI_S_FC,
     "TYPE",
     {"00 Basic Link Service", "01 Extended Link Service", "05 IP over FC", "08 FCP", "20 FC-CT", "22 SW_ILS",
      "28 FC-NVMe", "58 FC-VI"}},
    {FCVI_S_FC, "ACK_Form", {"00 No assistance", "01 ACK_1 required", "02 Reserved", "03 ACK_0 required"}},
    {FCVI_S_FC,
     "Continue Sequence Condition",
     {"00 No information", "01 Immediately", "02 Soon", "03 Delayed"}},
    {FCVI_S_FC, "Device_Header", {"00 None", "01 16 bytes", "02 32 bytes", "03 64 bytes"}},
    {FCVI_S_DH,
     "FCVI_OPCODE",
     {"00 FCVI_SEND_RQST", "01 FCVI_WRITE_RQST", "02 FCVI_READ_RQST", "08 FCVI_SEND_RESP",
      "09 FCVI_WRITE_RESP", "0A FCVI_READ_RESP", "10 FCVI_CONNECT_RQST", "12 FCVI_DISCONNECT_RQST",
      "18 FCVI_CONNECT_RESP1", "19 FCVI_CONNECT_RESP2", "1A FCVI_CONNECT_RESP3", "1B FCVI_DISCONNECT_RESP"}},
    {FCVI_S_DH, "CONN_MODE", {"01 Client-Server Connect Request", "02 Peer-to-Peer Connect Request"}},
    {FCVI_S_DH,
     "Reason Code",
     {"01 No Discriminator Match",
      "02 Connect Timeout",
      "03 No Waiting Remote Connectionpoint",
      "04 Connect Reject",
      "05 Connect Reject - Concurrent Matching Peer Requests",
      "20 Connect Reject - Invalid Service Parm",
      "21 Connect Reject - Protocol Error",
      "22 Connect Reject - Transport Error",
      "40 Transport Error",
      "41 RDMA Protection Error",
      "42 Remote Descriptor Error",
      "43 Remote RDMA Write Protection Error",
      "44 Remote RDMA Write Data Error",
      "45 Remote RDMA Write Packet Abort",
      "46 Remote RDMA Transport Error",
      "47 Remote RDMA Read Protection Error",
      "48 Protocol Error",
      "49 Connection Setup Timeout",
      "4A Connection Does Not Exist",
      "4B Disconnect Accept"}},
    {FCVI_S_ATTRS,
     "FCVI_RELIABILITY_LVL",
     {"01 Unreliable Delivery", "02 Reliable Delivery", "03 Reliable Reception"}},
    {FCVI_S_QOS, "FCVI_PREF", {"00 Preference not used", "80 Preference used"}},
    {FCVI_S_BA_RJT,
     "Reason Code",
     {"01 Invalid command code", "03 Logical error", "05 Logical busy", "07 Protocol error",
      "09 Unable to perform", "FF Vendor unique"}},
    {FCVI_S_BA_RJT,
     "Reason Explanation",
     {"00 No additional explanation", "03 Invalid OX_ID/RX_ID combination",
      "05 Sequence aborted, no Sequence information"}},
};

START_TEST(names_of_values)
{
    size_t count, named = 0;
    const struct fcvi_field *field = fcvi_field_table(&count);
    while (field->structure != values[_i].structure || strcmp(field->name, values[_i].field) != 0)
        ck_assert_ptr_ne(++field, fcvi_field_table(&count) + count);
    for (unsigned v = 0; v < 256; v++) {
        char text[80];
        const char *name = NULL;
        for (const struct fcvi_code *code = field->codes; code->name != NULL && name == NULL; code++)
            name = code->value == v ? code->name : NULL;
        if (name == NULL)
            continue;
        snprintf(text, sizeof text, "%02X %s", v, name);
        ck_assert_pstr_eq(text, values[_i].names[named++]);
    }
    ck_assert_ptr_null(values[_i].names[named]);
}
END_TEST

/* ---- values ---- */

#define ELS "22 fffffe 00 000000 01 290000 00 00 0000 1001 ffff 00000000 "
#define CT "02 010203 00 fffffc 20 290000 31 00 0000 100a ffff 00000000 01000000 fc020000 "

/* Where what the table describes ends; encoding writes as many bytes as the frame has, whatever stood there.
 */
START_TEST(values_end_where_they_should)
{
    static const struct {
        const char *hex;
        size_t rest;
    } frames[] = {
        {"02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 ffffffff 10 01 0000 00*8 00*12 "
         "00000042 " CONNECT("00000005", ADDR_A, ADDR_B),
         396},
        {"02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 ffffffff 10 09 0000 00*8 00*12 "
         "00000042 " CONNECT("00000005", ADDR_A, ADDR_B) "00*256",
         652},
        {"02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 ffffffff 10 09 0000 00*8 00*12 "
         "00000042 " CONNECT("00000005", ADDR_A, ADDR_B) "00*260",
         652},
        {"02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 ffffffff 10 09 0000 00*8 00*12 "
         "00000042 " CONNECT("00000005", ADDR_A, ADDR_B) "00*252",
         396},
        {"84 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 80120000 10028001 00000002", 36},
        {"84 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 80120000 10028001 00000002 00*4", 36},
        {"84 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 80120000 10028001", 24},
        {"85 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 00090300", 28},
        {"85 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 00090300 00*8", 28},
        {"81 010203 00 010400 00 990000 00 00 0000 1002 8001 00000000 00090300 00*8", 24},
        {"c0 010203 00 010400 00 e90000 11 00 0000 1001 2001 00000001 00090300", 24},
        {"01 010200 00 010100 58 380008 07 12 0000 1234 ffff 00000000 00*32 00*32", 24},
        {"01 010200 00 010100 58 380008 07 22 0000 1234 ffff 00000000 00*16 00*32", 24},
        {"85 010203 00 010400 00 990000 00 10 0000 1002 8001 00000000 00*32 00090300", 24},
        {"85 010203 00 010400 00 990000 00 02 0000 1002 8001 00000000 00*32 00090300", 24},
        {"22 fffffe 00 000000 01 290000 00 20 0000 1001 ffff 00000000 05000000 00*4", 24}, /* cut off */
        {"22 fffffe 00 000000 01 290000 00 10 0000 1001 ffff 00000000 05000000 00*4", 24},
        {ELS "05000000 00*12", 40},
        {ELS "05000000 00*12 00*4", 40},
        {ELS "05000000 00*8", 28},
        {ELS "05", 24},
        {ELS "61040008 00010203", 32},
        {ELS "61040008 00010203 00010203", 32}, /* it says itself how long it is */
        {ELS "61040010 00010203 00010203 00010203 00010203", 40},
        {ELS "61040010 00010203 0001", 32},
        {ELS "61080010 00010203 00010203 00010203", 28}, /* pages of another length */
        {CT "01b10000 00000000 00*16", 56},
        {CT "01b10000 00000000 00*16 00*4", 56},
        {CT "01b10000 00000000 00*12", 40},
    };
    struct test t;
    struct fcvi_values v;
    uint8_t out[GOLDEN_MAX];
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        load_hex(&t, frames[i].hex, 0, 0);
        decode(&t);
        ck_assert_int_eq(fcvi_values_of(&t.frame, &v), 0);
        ck_assert_msg(v.rest_offset == frames[i].rest, "%zu: %zu", i, v.rest_offset);
        ck_assert_uint_eq(v.rest_length, t.input.length - frames[i].rest);
        ck_assert_ptr_eq(v.rest, t.bytes + frames[i].rest);
        for (size_t k = 0; k < v.count; k++)
            ck_assert(v.list[k].u == 0 || v.list[k].bytes == NULL);
        memset(out, 0xee, sizeof out);
        ck_assert_uint_eq(fcvi_encode(&v, out, t.input.length), t.input.length);
        ck_assert_mem_eq(out, t.bytes, t.input.length);
        ck_assert_uint_eq(out[t.input.length], 0xee);
        ck_assert_uint_eq(fcvi_encode(&v, out, t.input.length - 1), 0);
    }
}
END_TEST

/* Lengths of what follows the command word (FC-FS, RFC 2625); `accept`: what an LS_ACC of it has. */
START_TEST(bodies_of_link_services)
{
    static const struct {
        uint8_t command, request, accept;
    } bodies[] = {{0x01, 4, 0},  {0x03, 112, 112}, {0x04, 112, 112}, {0x50, 112, 112}, {0x51, 112, 112},
                  {0x05, 12, 0}, {0x12, 8, 0},     {0x13, 8, 0},     {0x52, 24, 24},   {0x54, 72, 0},
                  {0x55, 72, 0}, {0x60, 20, 0},    {0x62, 4, 0},     {0x7f, 0, 0},     {0x00, 0, 0}};
    struct test t;
    struct fcvi_values v;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        load_hex(&t, ELS "00*4 00*104", 0, 0); /* longer than all but Service Parameters */
        if (bodies[i].request == 112 || bodies[i].accept == 112)
            t.input.length += 8;
        memset(t.bytes + t.input.length - 8, 0, 8);
        t.bytes[24] = bodies[i].command;
        decode(&t);
        ck_assert_int_eq(fcvi_values_of(&t.frame, &v), 0);
        ck_assert_msg(v.rest_offset == 28u + bodies[i].request, "%02x: %zu", bodies[i].command,
                      v.rest_offset);
        t.bytes[24] = 0x02;
        decode(&t);
        t.frame.answers = bodies[i].command;
        ck_assert_int_eq(fcvi_values_of(&t.frame, &v), 0);
        ck_assert_msg(bodies[i].command == 0 || v.rest_offset == 28u + bodies[i].accept, "%02x accepted: %zu",
                      bodies[i].command, v.rest_offset);
    }
    load_hex(&t, ELS "02000000 00*112", 0, 0); /* whatever it answers: Service Parameters have that length */
    decode(&t);
    ck_assert_int_eq(fcvi_values_of(&t.frame, &v), 0);
    ck_assert_uint_eq(v.rest_offset, 140);
    t.input.length -= 4;
    decode(&t);
    ck_assert_int_eq(fcvi_values_of(&t.frame, &v), 0);
    ck_assert_uint_eq(v.rest_offset, 28);
}
END_TEST

/* The last entry of a list may end the frame without saying that it is the last. */
START_TEST(a_list_to_the_end_of_the_frame)
{
    struct test t;
    struct fcvi_values v;
    load_hex(
        &t,
        "03 010203 00 fffffc 20 990000 31 00 0000 100a 4001 00000000 01000000 fc020000 80020000 00000000 "
        "00010203 00010204",
        0, 0);
    decode(&t);
    t.frame.answers = 0x01b1;
    ck_assert_int_eq(fcvi_values_of(&t.frame, &v), 0);
    ck_assert_uint_eq(v.rest_offset, 48);
    t.bytes[40] = 0x80;
    ck_assert_int_eq(fcvi_values_of(&t.frame, &v), 0);
    ck_assert_uint_eq(v.rest_offset, 44);
}
END_TEST

/* The command of an ELS is its first byte, if it has one. */
START_TEST(an_els_without_a_command)
{
    struct test t;
    char line[160];
    load_hex(&t, ELS "05", 0, 0);
    decode(&t);
    fcvi_print_summary(&t.frame, line, sizeof line);
    ck_assert_int_eq(strncmp(line, "LOGO ", 5), 0);
    t.input.length--; /* what stands behind the frame is not part of it */
    decode(&t);
    fcvi_print_summary(&t.frame, line, sizeof line);
    ck_assert_int_eq(strncmp(line, "ELS ", 4), 0);
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
    tcase_add_loop_test(tc, payloads_of_link_services_that_have_none, 0, 6);
    tcase_add_loop_test(tc, pages_of_link_services, 0, 11);
    tcase_add_test(tc, discriminators);
    tcase_add_test(tc, a_full_list_is_left_alone);
    tcase_add_test(tc, a_device_header_that_is_too_short);
    tcase_add_test(tc, where_the_payload_begins);
    tcase_add_loop_test(tc, names_of_values, 0, sizeof values / sizeof values[0]);
    tcase_add_test(tc, values_end_where_they_should);
    tcase_add_test(tc, bodies_of_link_services);
    tcase_add_test(tc, a_list_to_the_end_of_the_frame);
    tcase_add_test(tc, an_els_without_a_command);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
