/* PDUs of VI/TCP: bytes written from the figures of clause 3 of draft-dicecco-vitcp-00, with the numbers of
 * profile T0 (conformance/vitcp/errata.md, V02 to V06). */
#include "quiet_check.h"

#include <fcvi/pdu.h>
#include <fcvi/table.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16, ROOM = 70000 };

/* 3.1: Version, Type/Flags, Segment Length, Data Offset, Immediate Data, Message Number, Message ACK, Rx
 * Descriptors Posted, Remote Error Code. 3.2.1: RDMA Address, Registered Memory Handle, RDMA Length. 3.2:
 * Calling Attributes, Calling Discriminator Length, MTU Size, Calling Discriminator, Calling RDMA Read
 * Window, Called Discriminator Length, Called Discriminator. */
#define SEND "01 0b 001d 00000000 deadbeef 00000007 00000006 000c 0000 48656c6c6f"
#define READ_REQUEST                                                                                         \
    "01 12 0028 00000000 00000000 00000008 00000006 000c 0000 0000000100000200 0000002a 00001000"
#define READ_RESPONSE                                                                                        \
    "01 1a 002a 00000ffe 00000000 00000008 00000006 000c 0000 0000000100000200 0000002a 00001000 a1a2"
#define WRITE                                                                                                \
    "01 22 002b 00000000 00000000 00000009 ffffffff ffff 0000 fedcba9876543210 0000002b 00000003 010203"
#define NOP "01 28 0018 00000000 00000000 00000000 00000009 000d 0205"
#define CONNECT_REQUEST                                                                                      \
    "01 30 0048 00000000 00000000 00000000 00000000 0004 0000 "                                              \
    "000b 0003 00010000 63616c00000000000000000000000000 0008 0010 30313233343536373839616263646566 "        \
    "5ec05ec0"
#define CONNECT_ACCEPT                                                                                       \
    "01 38 0044 00000000 00000000 00000000 00000000 0005 0000 "                                              \
    "0016 0000 00008000 00000000000000000000000000000000 0000 0000 00000000000000000000000000000000"
#define CONNECT_REJECT "01 40 0018 00000000 00000000 00000000 00000000 0000 0000"
#define CONNECT_NO_MATCH "01 48 0018 00000000 00000000 00000000 00000000 0000 0000"

static const struct {
    const char *hex;
    uint8_t pdu, headers;
    uint16_t length;
} golden[] = {
    {SEND, FCVI_PDU_SEND, 24, 29},
    {READ_REQUEST, FCVI_PDU_READ_REQUEST, 40, 40},
    {READ_RESPONSE, FCVI_PDU_READ_RESPONSE, 40, 42},
    {WRITE, FCVI_PDU_WRITE, 40, 43},
    {NOP, FCVI_PDU_NOP, 24, 24},
    {CONNECT_REQUEST, FCVI_PDU_CONNECT_REQUEST, 68, 72},
    {CONNECT_ACCEPT, FCVI_PDU_CONNECT_ACCEPT, 68, 68},
    {CONNECT_REJECT, FCVI_PDU_CONNECT_REJECT, 24, 24},
    {CONNECT_NO_MATCH, FCVI_PDU_CONNECT_NO_MATCH, 24, 24},
};
enum { GOLDEN = sizeof golden / sizeof golden[0] };

/* A stream under test. */
struct test {
    uint8_t bytes[ROOM], out[ROOM];
    size_t length;
    struct fcvi_pdu pdu;
    struct fcvi_finding list[MOST];
    struct fcvi_findings findings;
    char text[4 * ROOM];
};

static struct test t;

static size_t from_hex(const char *hex, uint8_t *out)
{
    size_t n = 0;
    for (; *hex != '\0'; hex++) {
        char pair[3] = {hex[0], hex[1], 0};
        if (*hex == ' ')
            continue;
        out[n++] = (uint8_t)strtoul(pair, NULL, 16);
        hex++;
    }
    return n;
}

static void load(const char *hex)
{
    t.length = from_hex(hex, t.bytes);
}

static enum fcvi_stream_step take_by(const struct fcvi_profile *profile)
{
    t.findings = (struct fcvi_findings){t.list, MOST, 0, 0};
    return fcvi_pdu_first(profile, t.bytes, t.length, &t.pdu, &t.findings);
}

static enum fcvi_stream_step take(void)
{
    return take_by(fcvi_profile_t0());
}

/* The only finding there is. */
static const struct fcvi_finding *only(void)
{
    ck_assert_int_eq(take(), FCVI_STREAM_PDU);
    ck_assert_uint_eq(t.findings.count, 1);
    return t.list;
}

#define FOUND(id, CLASS, erratum_, byte_, hi_, lo_)                                                          \
    do {                                                                                                     \
        const struct fcvi_finding *f = only();                                                               \
        ck_assert_str_eq(f->requirement, id);                                                                \
        ck_assert_uint_eq(f->cls, CLASS);                                                                    \
        ck_assert_pstr_eq(f->erratum, erratum_);                                                             \
        ck_assert_uint_eq(f->byte, byte_);                                                                   \
        ck_assert_uint_eq(f->hi, hi_);                                                                       \
        ck_assert_uint_eq(f->lo, lo_);                                                                       \
        ck_assert_ptr_ne(f->field, NULL);                                                                    \
    } while (0)

static uint64_t value(const char *ident, const struct fcvi_values *values)
{
    size_t count;
    const struct fcvi_field *table = fcvi_field_table(&count);
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(table[values->list[i].field].ident, ident) == 0)
            return values->list[i].u;
    ck_abort_msg("no %s", ident);
    return 0;
}

static void round_trip(const struct fcvi_profile *profile)
{
    struct fcvi_values values;
    if (fcvi_pdu_values_of(&t.pdu, &values) != 0)
        return;
    memset(t.out, 0xA5, t.pdu.length);
    ck_assert_uint_eq(fcvi_pdu_encode(profile, &values, t.out, sizeof t.out), t.pdu.length);
    ck_assert_mem_eq(t.out, t.bytes, t.pdu.length);
    ck_assert_uint_eq(fcvi_pdu_encode(profile, &values, t.out, t.pdu.length - 1u), 0);
}

/* ---- the nine PDUs ---- */

START_TEST(golden_pdus)
{
    load(golden[_i].hex);
    ck_assert_uint_eq(t.length, golden[_i].length);
    ck_assert_int_eq(take(), FCVI_STREAM_PDU);
    ck_assert_uint_eq(t.findings.count, 0);
    ck_assert_uint_eq(t.pdu.pdu, golden[_i].pdu);
    ck_assert_uint_eq(t.pdu.headers, golden[_i].headers);
    ck_assert_uint_eq(t.pdu.length, golden[_i].length);
    ck_assert_uint_eq(t.pdu.there, golden[_i].length);
    ck_assert_uint_eq(t.pdu.data_length, golden[_i].length - golden[_i].headers);
    ck_assert_ptr_eq(t.pdu.data, t.bytes + golden[_i].headers);
    ck_assert_ptr_eq(t.pdu.ce, golden[_i].headers == 68 ? t.bytes + 24 : NULL);
    ck_assert_ptr_eq(t.pdu.rdma, golden[_i].headers == 40 ? t.bytes + 24 : NULL);
    round_trip(fcvi_profile_t0());
}
END_TEST

/* every field of the three figures, in the bytes that were written from them */
START_TEST(values_of_the_figures)
{
    struct fcvi_values v;
    load(SEND);
    take();
    ck_assert_int_eq(fcvi_pdu_values_of(&t.pdu, &v), 0);
    ck_assert_uint_eq(v.count, 13);
    ck_assert_uint_eq(value("Version", &v), 1);
    ck_assert_uint_eq(value("Type", &v), 1);
    ck_assert_uint_eq(value("Immediate_Data_Valid", &v), 1);
    ck_assert_uint_eq(value("End_of_Message", &v), 1);
    ck_assert_uint_eq(value("Transmit_Error", &v), 0);
    ck_assert_uint_eq(value("Segment_Length", &v), 29);
    ck_assert_uint_eq(value("Data_Offset", &v), 0);
    ck_assert_uint_eq(value("Immediate_Data", &v), 0xDEADBEEF);
    ck_assert_uint_eq(value("Message_Number", &v), 7);
    ck_assert_uint_eq(value("Message_ACK", &v), 6);
    ck_assert_uint_eq(value("Rx_Descriptors_Posted", &v), 12);
    ck_assert_uint_eq(v.rest_offset, 24);
    ck_assert_mem_eq(v.rest, "Hello", 5);
    load(NOP);
    take();
    fcvi_pdu_values_of(&t.pdu, &v);
    ck_assert_uint_eq(value("VI_Error_Type", &v), 2);
    ck_assert_uint_eq(value("IS_Error_Code", &v), 5);
    load(WRITE);
    take();
    fcvi_pdu_values_of(&t.pdu, &v);
    ck_assert_uint_eq(v.count, 16);
    ck_assert_uint_eq(value("RDMA_Address", &v), 0xFEDCBA9876543210);
    ck_assert_uint_eq(value("Registered_Memory_Handle", &v), 0x2B);
    ck_assert_uint_eq(value("RDMA_Length", &v), 3);
    ck_assert_uint_eq(v.rest_offset, 40);
    load(CONNECT_REQUEST);
    take();
    fcvi_pdu_values_of(&t.pdu, &v);
    ck_assert_uint_eq(v.count, 25);
    ck_assert_uint_eq(value("Reliable", &v), 1);
    ck_assert_uint_eq(value("RDMA_Write_Enable", &v), 1);
    ck_assert_uint_eq(value("RDMA_Read_Enable", &v), 0);
    ck_assert_uint_eq(value("Flow_Control", &v), 1);
    ck_assert_uint_eq(value("Peer_to_Peer", &v), 0);
    ck_assert_uint_eq(value("Attributes_15_5", &v), 0);
    ck_assert_uint_eq(value("Calling_Discriminator_Length", &v), 3);
    ck_assert_uint_eq(value("MTU_Size", &v), 65536);
    ck_assert_uint_eq(value("Calling_RDMA_Read_Window", &v), 8);
    ck_assert_uint_eq(value("Called_Discriminator_Length", &v), 16);
    ck_assert_uint_eq(v.rest_length, 4);
    load(CONNECT_ACCEPT);
    take();
    fcvi_pdu_values_of(&t.pdu, &v);
    ck_assert_uint_eq(value("Peer_to_Peer", &v), 1);
    ck_assert_uint_eq(value("RDMA_Read_Enable", &v), 1);
    ck_assert_uint_eq(value("Reliable", &v), 0);
    ck_assert_uint_eq(value("MTU_Size", &v), 32768);
}
END_TEST

/* ---- the stream ---- */

START_TEST(a_pdu_that_comes_byte_by_byte)
{
    size_t whole = from_hex(golden[_i].hex, t.bytes);
    for (size_t n = 0; n < whole; n++) {
        t.length = n;
        ck_assert_int_eq(take(), FCVI_STREAM_MORE);
        ck_assert_uint_eq(t.findings.count, 0);
        ck_assert_uint_eq(t.pdu.there, n);
        ck_assert_uint_eq(t.pdu.length, n < 4 ? 4 : whole);
        ck_assert_uint_eq(t.pdu.pdu, n < 2 ? FCVI_PDU_NONE : golden[_i].pdu);
        ck_assert_uint_eq(t.pdu.headers, n < golden[_i].headers ? 0 : golden[_i].headers);
        ck_assert_uint_eq(t.pdu.data_length, n < golden[_i].headers ? 0 : n - golden[_i].headers);
        ck_assert_ptr_eq(t.pdu.data, n < golden[_i].headers ? NULL : t.bytes + golden[_i].headers);
        struct fcvi_values values;
        ck_assert_int_eq(fcvi_pdu_values_of(&t.pdu, &values), -1);
    }
}
END_TEST

START_TEST(pdus_in_one_piece)
{
    load(SEND);
    size_t first = t.length;
    t.length += from_hex(NOP, t.bytes + first);
    ck_assert_int_eq(take(), FCVI_STREAM_PDU);
    ck_assert_uint_eq(t.pdu.there, first);
    ck_assert_uint_eq(t.pdu.data_length, 5);
    ck_assert_int_eq(fcvi_pdu_first(fcvi_profile_t0(), t.bytes + first, t.length - first, &t.pdu, NULL),
                     FCVI_STREAM_PDU);
    ck_assert_uint_eq(t.pdu.pdu, FCVI_PDU_NOP);
    ck_assert_int_eq(fcvi_pdu_first(fcvi_profile_t0(), NULL, 0, &t.pdu, NULL), FCVI_STREAM_MORE);
}
END_TEST

/* V39: nothing behind such a header can be parsed */
START_TEST(a_segment_length_below_its_header)
{
    for (unsigned length = 0; length < 24; length++) {
        load(SEND);
        t.bytes[3] = (uint8_t)length;
        for (t.length = 4; t.length <= 29; t.length++) {
            ck_assert_int_eq(take(), FCVI_STREAM_BROKEN);
            ck_assert_uint_eq(t.pdu.length, length);
            ck_assert_uint_eq(t.pdu.there, t.length < 24 ? t.length : 24);
            ck_assert_uint_eq(t.findings.count, 1);
            ck_assert_str_eq(t.list[0].requirement, "VITCP-3-02");
            ck_assert_uint_eq(t.list[0].cls, FCVI_MALFORMED);
            ck_assert_uint_eq(t.list[0].byte, 2);
            ck_assert_uint_eq(t.list[0].seen, length);
            struct fcvi_values values;
            ck_assert_int_eq(fcvi_pdu_values_of(&t.pdu, &values), -1);
        }
        ck_assert_int_eq(fcvi_pdu_first(fcvi_profile_t0(), t.bytes, 29, &t.pdu, NULL), FCVI_STREAM_BROKEN);
    }
}
END_TEST

START_TEST(the_longest_segment)
{
    load(SEND);
    t.bytes[2] = t.bytes[3] = 0xFF;
    t.length = 65534;
    ck_assert_int_eq(take(), FCVI_STREAM_MORE);
    ck_assert_uint_eq(t.pdu.length, 65535);
    t.length = 65536;
    ck_assert_int_eq(take(), FCVI_STREAM_PDU);
    ck_assert_uint_eq(t.pdu.data_length, 65535 - 24);
    round_trip(fcvi_profile_t0());
}
END_TEST

/* ---- what one PDU shows ---- */

START_TEST(headers_that_are_missing)
{
    load(READ_REQUEST);
    t.bytes[3] = 39;
    FOUND("VITCP-3-05", FCVI_MALFORMED, NULL, 2, 15, 0);
    ck_assert_ptr_eq(t.pdu.rdma, NULL);
    load(WRITE);
    t.bytes[3] = 24;
    FOUND("VITCP-3-05", FCVI_MALFORMED, NULL, 2, 15, 0);
    t.bytes[7] = 8; /* V10: a segment behind the first may leave its header out */
    FOUND("VITCP-3-05", FCVI_NOTICE, "V10", 2, 15, 0);
    load(CONNECT_REQUEST);
    t.bytes[3] = 67;
    FOUND("VITCP-3-06", FCVI_MALFORMED, NULL, 2, 15, 0);
    ck_assert_ptr_eq(t.pdu.ce, NULL);
    load(CONNECT_ACCEPT);
    t.bytes[3] = 24;
    FOUND("VITCP-3-06", FCVI_MALFORMED, NULL, 2, 15, 0);
}
END_TEST

/* V08: 24 and 68 bytes are right in a refusal */
START_TEST(refusals_with_a_ce_header)
{
    load(CONNECT_ACCEPT);
    t.bytes[1] = _i == 0 ? 0x40 : 0x48;
    ck_assert_int_eq(take(), FCVI_STREAM_PDU);
    ck_assert_uint_eq(t.findings.count, 0);
    ck_assert_ptr_eq(t.pdu.ce, t.bytes + 24);
    round_trip(fcvi_profile_t0());
    t.bytes[3] = 67;
    FOUND("VITCP-3-06", FCVI_NOTICE, "V08", 2, 15, 0);
    ck_assert_uint_eq(t.pdu.headers, 24);
    round_trip(fcvi_profile_t0());
}
END_TEST

/* numbers that the draft never assigned are no breach of it */
START_TEST(numbers_that_are_not_the_profile)
{
    load(SEND);
    t.bytes[0] = 2;
    FOUND("VITCP-3.1-02", FCVI_NOTICE, "V02", 0, 7, 0);
    ck_assert_uint_eq(t.list[0].required_value, 1);
    for (unsigned type = 0; type < 32; type += type == 0 ? 10 : 1) {
        load(NOP);
        t.bytes[1] = (uint8_t)(type << 3 | 7);
        FOUND("VITCP-3.1-04", FCVI_NOTICE, "V03", 1, 7, 3);
        ck_assert_uint_eq(t.list[0].seen, type);
        ck_assert_uint_eq(t.pdu.pdu, FCVI_PDU_NONE);
        ck_assert_uint_eq(t.pdu.headers, 24);
        round_trip(fcvi_profile_t0());
    }
    load(NOP);
    t.bytes[22] = 3;
    FOUND("VITCP-3.1-52", FCVI_NOTICE, "V06", 22, 15, 8);
    load(CONNECT_ACCEPT);
    t.bytes[24] = 0x80;
    FOUND("VITCP-3.2-01", FCVI_NOTICE, "V05", 24, 15, 5);
    ck_assert_uint_eq(t.list[0].seen, 0x400);
    round_trip(fcvi_profile_t0());
}
END_TEST

/* V19: on Send and RDMA Write alone */
START_TEST(immediate_data_where_there_are_none)
{
    load(golden[_i].hex);
    t.bytes[1] |= 1;
    if (_i == 0 || _i == 3) {
        ck_assert_int_eq(take(), FCVI_STREAM_PDU);
        ck_assert_uint_eq(t.findings.count, 0);
    } else {
        FOUND("VITCP-3.1-06", FCVI_VIOLATION, NULL, 1, 0, 0);
    }
}
END_TEST

/* V12: the draft does not say that a Read Request is one segment without data */
START_TEST(a_read_request_of_another_shape)
{
    load(READ_REQUEST);
    t.bytes[7] = 1;
    FOUND("VITCP-3.1-13", FCVI_NOTICE, "V12", 4, 31, 0);
    load(READ_REQUEST " ff");
    t.bytes[3] = 41;
    FOUND("VITCP-3.1-11", FCVI_NOTICE, "V12", 2, 15, 0);
    load(READ_REQUEST);
    t.bytes[1] = 0x10;
    FOUND("VITCP-3.1-07", FCVI_NOTICE, "V12", 1, 1, 1);
}
END_TEST

START_TEST(an_rdma_length_that_the_data_contradict)
{
    load(WRITE);
    t.bytes[39] = 2;
    FOUND("VITCP-3.2.1-04", FCVI_VIOLATION, NULL, 36, 31, 0);
    ck_assert_uint_eq(t.list[0].required_value, 3);
    load(WRITE);
    t.bytes[39] = 4;
    FOUND("VITCP-3.2.1-04", FCVI_VIOLATION, NULL, 36, 31, 0);
    t.bytes[1] = 0x20; /* not its last segment */
    ck_assert_int_eq(take(), FCVI_STREAM_PDU);
    ck_assert_uint_eq(t.findings.count, 0);
    t.bytes[1] = 0x26; /* Transmit Error: it may end early */
    take();
    ck_assert_uint_eq(t.findings.count, 0);
    t.bytes[1] = 0x22;
    t.bytes[7] = 8; /* V10: behind the first segment these may be data */
    t.bytes[39] = 0;
    take();
    ck_assert_uint_eq(t.findings.count, 0);
}
END_TEST

/* 3.2, V46: in a Connect Request the Discriminators decide; V08, V47: elsewhere they do not */
START_TEST(discriminators)
{
    load(CONNECT_REQUEST);
    t.bytes[27] = 17;
    FOUND("VITCP-3.2-07", FCVI_VIOLATION, "V46", 26, 15, 0);
    t.bytes[26] = t.bytes[27] = 0xFF;
    FOUND("VITCP-3.2-07", FCVI_VIOLATION, "V46", 26, 15, 0);
    load(CONNECT_REQUEST);
    t.bytes[51] = 17;
    FOUND("VITCP-3.2-08", FCVI_VIOLATION, "V46", 50, 15, 0);
    load(CONNECT_ACCEPT);
    t.bytes[27] = 17;
    FOUND("VITCP-3.2-07", FCVI_NOTICE, "V47", 26, 15, 0);
    load(CONNECT_REQUEST);
    t.bytes[27] = 2;
    FOUND("VITCP-3.2-07", FCVI_NOTICE, "V46", 34, 7, 0);
    ck_assert_uint_eq(t.list[0].seen, 'l');
    load(CONNECT_REQUEST);
    t.bytes[51] = 15;
    FOUND("VITCP-3.2-08", FCVI_NOTICE, "V46", 67, 7, 0);
}
END_TEST

/* ---- totality ---- */

static void exercise(void)
{
    take();
    fcvi_pdu_print_json(&t.pdu, t.text, sizeof t.text);
    fcvi_pdu_print_text(&t.pdu, t.text, sizeof t.text);
    fcvi_pdu_print_summary(&t.pdu, t.text, sizeof t.text);
    round_trip(fcvi_profile_t0());
}

START_TEST(every_bit_flipped)
{
    load(golden[_i].hex);
    for (size_t bit = 0; bit < 8 * t.length; bit++) {
        t.bytes[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        exercise();
        t.bytes[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
    }
}
END_TEST

/* ---- profiles ---- */

START_TEST(t0)
{
    const struct fcvi_profile *p = fcvi_profile_t0();
    ck_assert_str_eq(p->name, "T0");
    ck_assert_pstr_eq(fcvi_profile_problem(p), NULL);
    ck_assert_uint_eq(p->version, 1);
    for (unsigned i = 0; i < FCVI_PDU_COUNT; i++)
        ck_assert_uint_eq(p->types[i], i + 1);
    ck_assert_str_eq(fcvi_pdu_name(FCVI_PDU_CONNECT_NO_MATCH), "Connect No Match");
    ck_assert_str_eq(fcvi_pdu_name(FCVI_PDU_NONE), "");
    ck_assert_str_eq(fcvi_vi_error_name(FCVI_VI_ERROR_DESCRIPTOR), "VI Descriptor Error");
    ck_assert_str_eq(fcvi_vi_error_name(FCVI_VI_ERROR_COUNT), "");
    ck_assert_str_eq(fcvi_profile_field_name(FCVI_P_CE_Flow_Control), "CE_Flow_Control");
    ck_assert_str_eq(fcvi_profile_field_name(FCVI_P_COUNT), "");
    ck_assert_int_eq(FCVI_SEGMENT_TYPE_CONNECT_NO_MATCH, 9);
    ck_assert_int_eq(FCVI_VI_ERROR_TYPE_DESCRIPTOR, 2);
}
END_TEST

/* Type in the low five bits, the flags above it; other numbers; attributes apart from each other. */
static struct fcvi_profile other(void)
{
    struct fcvi_profile p = {.name = "lab-1.x_Y", .version = 9, .errors = {5, 0, 7}};
    for (unsigned i = 0; i < FCVI_PDU_COUNT; i++)
        p.types[i] = (uint8_t)(31 - i);
    p.bits[FCVI_P_SEG_Type] = 0x1F;
    p.bits[FCVI_P_SEG_Transmit_Error] = 0x20;
    p.bits[FCVI_P_SEG_End_of_Message] = 0x40;
    p.bits[FCVI_P_SEG_Immediate_Data_Valid] = 0x80;
    p.bits[FCVI_P_SEG_VI_Error_Type] = 0x0007;
    p.bits[FCVI_P_SEG_IS_Error_Code] = 0xFFF8;
    p.bits[FCVI_P_CE_Reliable] = 0x8000;
    p.bits[FCVI_P_CE_RDMA_Write_Enable] = 0x2000;
    p.bits[FCVI_P_CE_RDMA_Read_Enable] = 0x0800;
    p.bits[FCVI_P_CE_Flow_Control] = 0x0200;
    p.bits[FCVI_P_CE_Peer_to_Peer] = 0x0080;
    return p;
}

START_TEST(another_profile)
{
    struct fcvi_profile p = other();
    struct fcvi_values v;
    ck_assert_pstr_eq(fcvi_profile_problem(&p), NULL);
    /* Send is 31 with Immediate Data and End of Message; No Error is 5; Connect Request is 26, Reliable and
     * Peer */
    load("09 df 0018 00000000 00000000 00000000 00000000 0000 ffe5");
    ck_assert_int_eq(take_by(&p), FCVI_STREAM_PDU);
    ck_assert_uint_eq(t.findings.count, 0);
    ck_assert_uint_eq(t.pdu.pdu, FCVI_PDU_SEND);
    ck_assert_int_eq(fcvi_pdu_values_of(&t.pdu, &v), 0);
    ck_assert_uint_eq(value("Type", &v), 31);
    ck_assert_uint_eq(value("Immediate_Data_Valid", &v), 1);
    ck_assert_uint_eq(value("End_of_Message", &v), 1);
    ck_assert_uint_eq(value("Transmit_Error", &v), 0);
    ck_assert_uint_eq(value("VI_Error_Type", &v), 5);
    ck_assert_uint_eq(value("IS_Error_Code", &v), 0x1FFC);
    round_trip(&p);
    load("09 1a 0044 00000000 00000000 00000000 00000000 0000 0005 "
         "d082 0000 00008000 00000000000000000000000000000000 0000 0000 00000000000000000000000000000000");
    ck_assert_int_eq(take_by(&p), FCVI_STREAM_PDU);
    ck_assert_uint_eq(t.pdu.pdu, FCVI_PDU_CONNECT_REQUEST);
    fcvi_pdu_values_of(&t.pdu, &v);
    ck_assert_uint_eq(value("Reliable", &v), 1);
    ck_assert_uint_eq(value("Peer_to_Peer", &v), 1);
    ck_assert_uint_eq(value("RDMA_Write_Enable", &v), 0);
    ck_assert_uint_eq(value("Attributes_15_5", &v), 0x5002); /* what is left over: 557Fh holds 5002h */
    ck_assert_uint_eq(t.findings.count, 1);
    ck_assert_str_eq(t.list[0].erratum, "V05");
    ck_assert_uint_eq(t.list[0].hi, 14);
    ck_assert_uint_eq(t.list[0].lo, 0);
    round_trip(&p);
    fcvi_profile_put(&p, FCVI_P_CE_Reliable, t.bytes + 24, 0);
    fcvi_profile_put(&p, FCVI_P_CE_Flow_Control, t.bytes + 24, 3); /* cut to its one bit */
    ck_assert_uint_eq(t.bytes[24], 0x52);
    ck_assert_uint_eq(t.bytes[25], 0x82);
    ck_assert_uint_eq(fcvi_profile_get(&p, FCVI_P_CE_Flow_Control, t.bytes + 24), 1);
    fcvi_profile_put(fcvi_profile_t0(), FCVI_P_SEG_VI_Error_Type, t.bytes, 2);
    ck_assert_uint_eq(t.bytes[22], 2);
    ck_assert_uint_eq(t.bytes[23], 5);
}
END_TEST

#define PROBLEM(words, change)                                                                               \
    do {                                                                                                     \
        struct fcvi_profile p = other();                                                                     \
        change;                                                                                              \
        const char *problem = fcvi_profile_problem(&p);                                                      \
        ck_assert_ptr_ne(problem, NULL);                                                                     \
        ck_assert_msg(strstr(problem, words) != NULL, "%s", problem);                                        \
    } while (0)

START_TEST(profiles_that_cannot_be)
{
    PROBLEM("name", p.name[0] = '\0');
    PROBLEM("name", memset(p.name, 'x', sizeof p.name));
    for (const char *c = " \"/:@[`{\x7f,"; *c != '\0'; c++)
        PROBLEM("name", p.name[3] = *c);
    PROBLEM("Type needs five", p.bits[FCVI_P_SEG_Type] = 0);
    PROBLEM("Type needs five", p.bits[FCVI_P_SEG_Type] = 0x0F);
    PROBLEM("Type needs five", p.bits[FCVI_P_SEG_Type] = 0x2F);
    PROBLEM("three flags", p.bits[FCVI_P_SEG_Type] = 0x3E);
    PROBLEM("three flags", p.bits[FCVI_P_SEG_Transmit_Error] = 0);
    PROBLEM("three flags", p.bits[FCVI_P_SEG_Type] = 0x1F0);
    PROBLEM("three flags", (p.bits[FCVI_P_SEG_Transmit_Error] = 0x60, p.bits[FCVI_P_SEG_End_of_Message] = 0));
    PROBLEM("three flags",
            (p.bits[FCVI_P_SEG_End_of_Message] = 0xC0, p.bits[FCVI_P_SEG_Immediate_Data_Valid] = 0));
    PROBLEM("Remote Error Code", p.bits[FCVI_P_SEG_VI_Error_Type] = 0x0005);
    PROBLEM("Remote Error Code", p.bits[FCVI_P_SEG_IS_Error_Code] = 0xFFD8);
    PROBLEM("Remote Error Code", p.bits[FCVI_P_SEG_IS_Error_Code] = 0x7FF8);
    PROBLEM("needs one bit", p.bits[FCVI_P_CE_Reliable] = 0);
    PROBLEM("needs one bit", p.bits[FCVI_P_CE_Peer_to_Peer] = 3);
    PROBLEM("bit of its own", p.bits[FCVI_P_CE_Peer_to_Peer] = 0x8000);
    PROBLEM("each PDU", p.types[8] = 32);
    PROBLEM("each PDU", p.types[8] = 31);
    PROBLEM("do not hold", p.errors[2] = 8);
    PROBLEM("each VI Error Type", p.errors[2] = 5);
}
END_TEST

/* ---- words ---- */

static const char *text(void)
{
    take();
    size_t length = fcvi_pdu_print_text(&t.pdu, t.text, sizeof t.text);
    ck_assert_uint_eq(length, strlen(t.text));
    return t.text;
}

#define HEADER(type, name, error, transmit, end, immediate, length)                                          \
    " Segment Header (3.1)\n"                                                                                \
    "     0       Version                      1\n"                                                          \
    "     1.7-3   Type                         " type "  " name "\n"                                         \
    "     1.2     Transmit Error               " transmit "\n"                                               \
    "     1.1     End of Message               " end "\n"                                                    \
    "     1.0     Immediate Data Valid         " immediate "\n"                                              \
    "     2       Segment Length               " length "\n"

START_TEST(pdus_in_words)
{
    load(SEND);
    ck_assert_str_eq(text(), "Send, 29 bytes, profile T0\n" HEADER(
                                 "01h", "Send", "", "0", "1", "1",
                                 "29") "     4       Data Offset                  0\n"
                                       "     8       Immediate Data               DEADBEEFh\n"
                                       "    12       Message Number               7\n"
                                       "    16       Message ACK                  6\n"
                                       "    20       Rx Descriptors Posted        12\n"
                                       "    22.15-8  VI Error Type                00h  No Error\n"
                                       "    22.7-0   IS Error Code                00h\n"
                                       " 5 bytes of data\n"
                                       "    24       data                         48656c6c6f\n");
    load(CONNECT_REQUEST);
    t.bytes[24] = 0x80;
    ck_assert_ptr_ne(strstr(text(), " CE Header (3.2)\n"
                                    "    24.15-5  Reserved                     400h\n"
                                    "    24.4     Peer-to-peer Connection Establishment 0\n"
                                    "    24.3     Descriptor Flow Control Enabled 1\n"
                                    "    24.2     RDMA Read Enable             0\n"
                                    "    24.1     RDMA Write Enable            1\n"
                                    "    24.0     Reliable                     1\n"
                                    "    26       Calling Discriminator Length 3\n"
                                    "    28       MTU Size                     65536\n"
                                    "    32       Calling Discriminator        "
                                    "63616c00000000000000000000000000  \"cal\"\n"
                                    "    48       Calling RDMA Read Window     8\n"
                                    "    50       Called Discriminator Length  16\n"
                                    "    52       Called Discriminator         "
                                    "30313233343536373839616263646566  \"0123456789abcdef\"\n"
                                    " 4 bytes of Security Information\n"
                                    "    68       data                         5ec05ec0\n"),
                     NULL);
    load(NOP);
    t.bytes[1] = 0x50;
    t.bytes[22] = 9;
    ck_assert_ptr_ne(strstr(text(), "VI/TCP, unknown Type, 24 bytes, profile T0\n"), NULL);
    ck_assert_ptr_ne(strstr(t.text, "Type                         0Ah\n"), NULL);
    ck_assert_ptr_ne(strstr(t.text, "VI Error Type                09h\n"), NULL);
    load(READ_REQUEST);
    ck_assert_ptr_ne(strstr(text(), " RDMA Header (3.2.1)\n"
                                    "    24       RDMA Address                 0000000100000200h\n"
                                    "    32       Registered Memory Handle     0000002Ah\n"
                                    "    36       RDMA Length                  4096\n"),
                     NULL);
}
END_TEST

START_TEST(what_is_no_whole_pdu_in_words)
{
    load("01 0b 00");
    ck_assert_str_eq(text(), "part of a PDU, 3 bytes (not whole), profile T0\n"
                             "     0       bytes                        010b00\n");
    load("01 0b 001d");
    ck_assert_ptr_ne(strstr(text(), "part of a PDU, 4 bytes (not whole)"), NULL);
    load("01 0b 0017");
    ck_assert_ptr_ne(strstr(text(), "not a PDU, 4 bytes (not whole)"), NULL);
    fcvi_pdu_print_summary(&t.pdu, t.text, sizeof t.text);
    ck_assert_str_eq(t.text, "not a PDU, 4 bytes");
    fcvi_pdu_print_json(&t.pdu, t.text, sizeof t.text);
    ck_assert_str_eq(
        t.text, "{\"pdu\":\"Send\",\"title\":\"not a PDU\",\"profile\":\"T0\",\"length\":4,\"whole\":false,"
                "\"fields\":[],\"data\":{\"byte\":0,\"length\":0},"
                "\"rest\":{\"byte\":0,\"hex\":\"010b0017\"}}");
    load(SEND);
    t.length = 26;
    ck_assert_ptr_ne(strstr(text(), "Send, 26 bytes (not whole)"), NULL);
}
END_TEST

START_TEST(pdus_as_json)
{
    load(WRITE);
    take();
    fcvi_pdu_print_json(&t.pdu, t.text, sizeof t.text);
    ck_assert_ptr_eq(
        strstr(t.text, "{\"pdu\":\"RDMA Write\",\"title\":\"RDMA Write\",\"profile\":\"T0\",\"length\":43,"
                       "\"whole\":true,\"fields\":[{\"name\":\"Version\",\"structure\":\"Segment Header\","
                       "\"within\":null,\"byte\":0,\"size\":1,\"bits\":\"7-0\",\"value\":1,\"text\":null,"
                       "\"clause\":\"3.1\"},{\"name\":\"Type\",\"structure\":\"Segment Header\","
                       "\"within\":null,\"byte\":1,\"size\":1,\"bits\":\"7-3\",\"value\":4,"
                       "\"text\":\"RDMA Write\",\"clause\":\"3.1\"},"),
        t.text);
    ck_assert_ptr_ne(
        strstr(t.text, "{\"name\":\"RDMA Address\",\"structure\":\"RDMA Header\",\"within\":null,\"byte\":24,"
                       "\"size\":8,\"bits\":\"63-0\",\"value\":\"fedcba9876543210\",\"text\":null,"
                       "\"clause\":\"3.2.1\"}"),
        NULL);
    ck_assert_ptr_ne(
        strstr(t.text, "],\"data\":{\"byte\":40,\"length\":3},\"rest\":{\"byte\":40,\"hex\":\"010203\"}}"),
        NULL);
    load(CONNECT_REQUEST);
    memcpy(t.bytes + 32, "\"\\x", 3);
    take();
    fcvi_pdu_print_json(&t.pdu, t.text, sizeof t.text);
    ck_assert_ptr_ne(
        strstr(t.text, "\"bits\":null,\"value\":\"225c7800000000000000000000000000\",\"text\":\"\\\"\\\\x\""),
        NULL);
    t.bytes[32] = 0x1F;
    t.bytes[52] = 0x7F;
    take();
    fcvi_pdu_print_json(&t.pdu, t.text, sizeof t.text);
    ck_assert_ptr_ne(strstr(t.text, "\"value\":\"1f5c7800000000000000000000000000\",\"text\":null"), NULL);
    ck_assert_ptr_ne(strstr(t.text, "\"value\":\"7f313233343536373839616263646566\",\"text\":null"), NULL);
    t.bytes[27] = 17;
    t.bytes[50] = 1;
    take();
    fcvi_pdu_print_json(&t.pdu, t.text, sizeof t.text);
    load(NOP);
    t.bytes[1] = 0xF8;
    take();
    fcvi_pdu_print_json(&t.pdu, t.text, sizeof t.text);
    ck_assert_ptr_eq(strstr(t.text, "{\"pdu\":null,\"title\":\"VI/TCP, unknown Type\","), t.text);
}
END_TEST

START_TEST(summaries)
{
    static const char *const lines[] = {
        "Send MSG 7 OFFSET 0 DATA 5 ACK 6 RX 12 IMMEDIATE END",
        "RDMA Read Request MSG 8 OFFSET 0 DATA 0 ADDRESS 0000000100000200 HANDLE 0000002A LEN 4096 ACK 6 RX "
        "12 END",
        "RDMA Read Response MSG 8 OFFSET 4094 DATA 2 ADDRESS 0000000100000200 HANDLE 0000002A LEN 4096 ACK 6 "
        "RX 12 END",
        "RDMA Write MSG 9 OFFSET 0 DATA 3 ADDRESS FEDCBA9876543210 HANDLE 0000002B LEN 3 ACK 4294967295 RX "
        "65535 END",
        "NOP ACK 9 RX 13 ERROR 2 CODE 5",
        "Connect Request MTU 65536 WINDOW 8 RELIABLE WRITE FLOW-CONTROL ACK 0 RX 4",
        "Connect Accept MTU 32768 WINDOW 0 WRITE READ PEER ACK 0 RX 5",
        "Connect Reject ACK 0 RX 0",
        "Connect No Match ACK 0 RX 0",
    };
    load(golden[_i].hex);
    take();
    size_t length = fcvi_pdu_print_summary(&t.pdu, t.text, sizeof t.text);
    ck_assert_str_eq(t.text, lines[_i]);
    ck_assert_uint_eq(length, strlen(lines[_i]));
    for (size_t room = 0; room <= length; room++) {
        memset(t.text, '~', length + 2);
        ck_assert_uint_eq(fcvi_pdu_print_summary(&t.pdu, t.text, room), length);
        ck_assert_int_eq(t.text[room], '~');
    }
    t.bytes[1] |= 4;
    t.bytes[22] = 0;
    t.bytes[23] = 1;
    take();
    fcvi_pdu_print_summary(&t.pdu, t.text, sizeof t.text);
    ck_assert_ptr_ne(strstr(t.text, " TRANSMIT-ERROR ERROR 0 CODE 1"), NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pdu");
    TCase *tc = tcase_create("pdu");
    tcase_add_loop_test(tc, golden_pdus, 0, GOLDEN);
    tcase_add_test(tc, values_of_the_figures);
    tcase_add_loop_test(tc, a_pdu_that_comes_byte_by_byte, 0, GOLDEN);
    tcase_add_test(tc, pdus_in_one_piece);
    tcase_add_test(tc, a_segment_length_below_its_header);
    tcase_add_test(tc, the_longest_segment);
    tcase_add_test(tc, headers_that_are_missing);
    tcase_add_loop_test(tc, refusals_with_a_ce_header, 0, 2);
    tcase_add_test(tc, numbers_that_are_not_the_profile);
    tcase_add_loop_test(tc, immediate_data_where_there_are_none, 0, GOLDEN);
    tcase_add_test(tc, a_read_request_of_another_shape);
    tcase_add_test(tc, an_rdma_length_that_the_data_contradict);
    tcase_add_test(tc, discriminators);
    tcase_add_loop_test(tc, every_bit_flipped, 0, GOLDEN);
    tcase_add_test(tc, t0);
    tcase_add_test(tc, another_profile);
    tcase_add_test(tc, profiles_that_cannot_be);
    tcase_add_test(tc, pdus_in_words);
    tcase_add_test(tc, what_is_no_whole_pdu_in_words);
    tcase_add_test(tc, pdus_as_json);
    tcase_add_loop_test(tc, summaries, 0, GOLDEN);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
