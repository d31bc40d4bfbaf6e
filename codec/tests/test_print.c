/* Frames in words and as JSON: every character of it, and never more than there is room for. */
#include "golden.h"

#include "quiet_check.h"

#include <stdio.h>

struct test {
    uint8_t bytes[GOLDEN_MAX];
    struct fcvi_frame frame;
    char out[32768];
};

static void load(struct test *t, const char *hex, uint8_t sof, uint8_t eof, uint8_t crc)
{
    struct fcvi_input in = {t->bytes, from_hex(hex, t->bytes), sof, eof, crc};
    fcvi_decode(&in, &t->frame, NULL);
}

/* Table 1, Table 12: a FCVI_CONNECT_RESP2 that reports Connect Timeout, with a reserved bit of word 1 set */
#define RESP2                                                                                                \
    "03 010200 00 010100 58 090000 06 02 0001 1234 8001 00000000 "                                           \
    "0000abcd 19 01 0001 00000000 00020000 00*12 00000042"

#define F_CTL(first, last, initiative, offset, fill)                                                         \
    "     9.23    Exchange Context             0\n"                                                          \
    "     9.22    Sequence Context             0\n"                                                          \
    "     9.21    First_Sequence               " first "\n"                                                  \
    "     9.20    Last_Sequence                " last "\n"                                                   \
    "     9.19    End_Sequence                 1\n"                                                          \
    "     9.18    End_Connection               0\n"                                                          \
    "     9.17    CS_CTL/Priority Enable       0\n"                                                          \
    "     9.16    Sequence Initiative          " initiative "\n"                                             \
    "     9.15    X_ID Reassigned              0\n"                                                          \
    "     9.14    Invalidate X_ID              0\n"                                                          \
    "     9.13-12 ACK_Form                     0  No assistance\n"                                           \
    "     9.11    Data Compression             0\n"                                                          \
    "     9.10    Data Encryption              0\n"                                                          \
    "     9.9     Retransmitted Sequence       0\n"                                                          \
    "     9.8     Unidirectional Transmit      0\n"                                                          \
    "     9.7-6   Continue Sequence Condition  0  No information\n"                                          \
    "     9.5-4   Abort Sequence Condition     0\n"                                                          \
    "     9.3     Relative Offset Present      " offset "\n"                                                 \
    "     9.2     Exchange Reassembly          0\n"                                                          \
    "     9.1-0   Fill Bytes                   " fill "\n"

START_TEST(text_of_a_frame)
{
    struct test t;
    load(&t, RESP2, FCVI_SOF_I3, FCVI_EOF_T, FCVI_CRC_OK);
    fcvi_print_text(&t.frame, t.out, sizeof t.out);
    ck_assert_str_eq(t.out, "FCVI_CONNECT_RESP2, 56 bytes, SOFi3, EOFt, CRC ok\n"
                            " Frame_Header (5.8.1)\n"
                            "     0       R_CTL                        03h  Solicited Control\n"
                            "     1       D_ID                         010200h\n"
                            "     4.7     PREF                         0\n"
                            "     4.6-0   CS_CTL bits 6-0              00h\n"
                            "     5       S_ID                         010100h\n"
                            "     8       TYPE                         58h  FC-VI\n" F_CTL(
                                "0", "0", "1", "0",
                                "0") "    12       SEQ_ID                       06h\n"
                                     "    13.6     ESP_Header                   0\n"
                                     "    13.5     Network_Header               0\n"
                                     "    13.4     Association_Header           0\n"
                                     "    13.1-0   Device_Header                2  32 bytes\n"
                                     "    14       SEQ_CNT                      1\n"
                                     "    16       OX_ID                        1234h\n"
                                     "    18       RX_ID                        8001h\n"
                                     "    20       Parameter                    00000000h\n"
                                     " Device_Header (5.9.1)\n"
                                     "    24       FCVI_HANDLE                  0000ABCDh\n"
                                     "    28       FCVI_OPCODE                  19h  FCVI_CONNECT_RESP2\n"
                                     "    29.2     RETRY                        0\n"
                                     "    29.1     FCVI_CONN_INFO               0\n"
                                     "    29.0     CONN_STS                     1\n"
                                     "    30       Reserved                     0001h\n"
                                     "    32       FCVI_MSG_ID                  00000000h\n"
                                     "    36.23-16 Reason Code                  02h  Connect Timeout\n"
                                     "    36.15-8  Reason Explanation           00h\n"
                                     "    36.7-0   Vendor Unique                00h\n"
                                     "    40       FCVI_RMT_VA                  0000000000000000h\n"
                                     "    48       FCVI_RMT_VA_HANDLE           00000000h\n"
                                     "    52       FCVI_CONNECTION_ID           00000042h\n");
}
END_TEST

START_TEST(text_of_what_no_table_describes)
{
    struct test t;
    load(&t, "06 010203 00 010400 08 290000 00 00 0000 1001 ffff 00000000 aabb0010", 0, 0, 0);
    fcvi_print_text(&t.frame, t.out, sizeof t.out);
    ck_assert_str_eq(t.out,
                     "FCP, 28 bytes\n"
                     " Frame_Header (5.8.1)\n"
                     "     0       R_CTL                        06h  Unsolicited Command\n"
                     "     1       D_ID                         010203h\n"
                     "     4.7     PREF                         0\n"
                     "     4.6-0   CS_CTL bits 6-0              00h\n"
                     "     5       S_ID                         010400h\n"
                     "     8       TYPE                         08h  FCP\n" F_CTL(
                         "1", "0", "1", "0", "0") "    12       SEQ_ID                       00h\n"
                                                  "    13.6     ESP_Header                   0\n"
                                                  "    13.5     Network_Header               0\n"
                                                  "    13.4     Association_Header           0\n"
                                                  "    13.1-0   Device_Header                0  None\n"
                                                  "    14       SEQ_CNT                      0\n"
                                                  "    16       OX_ID                        1001h\n"
                                                  "    18       RX_ID                        FFFFh\n"
                                                  "    20       Parameter                    00000000h\n"
                                                  " 4 further bytes\n"
                                                  "    24       data                         aabb0010\n");
    load(&t, "0102f3", 0, 0, 0);
    fcvi_print_text(&t.frame, t.out, sizeof t.out);
    ck_assert_str_eq(t.out, "not a frame, 3 bytes\n"
                            "     0       bytes                        0102f3\n");
    fcvi_print_summary(&t.frame, t.out, sizeof t.out);
    ck_assert_str_eq(t.out, "not a frame");
    fcvi_print_json(&t.frame, t.out, sizeof t.out);
    ck_assert_str_eq(
        t.out, "{\"kind\":\"malformed\",\"iu\":null,\"title\":\"not a frame\",\"length\":3,\"sof\":\"\","
               "\"eof\":\"\",\"crc\":\"absent\",\"fields\":[],\"payload\":{\"byte\":0,\"length\":0},"
               "\"rest\":{\"byte\":0,\"hex\":\"0102f3\"}}");
}
END_TEST

/* A structure has its heading where it begins, also a second one of the same kind. */
START_TEST(text_has_a_heading_for_each_structure)
{
    struct test t;
    size_t headings = 0;
    load(&t,
         "02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 ffffffff 10 01 0000 00000000 00000000 "
         "00*12 00000042 " CONNECT("00000005", ADDR_A, ADDR_B),
         FCVI_SOF_I3, FCVI_EOF_T, FCVI_CRC_OK);
    fcvi_print_text(&t.frame, t.out, sizeof t.out);
    for (const char *at = t.out; (at = strstr(at, "\n ")) != NULL; at++)
        headings += at[2] != ' ';
    ck_assert_uint_eq(headings, 8);
    ck_assert_ptr_nonnull(strstr(t.out, "000102030405060708090a0b0c0d0e0f (112 bytes 00h follow)\n"));
    ck_assert_ptr_null(strstr(t.out, "further"));
}
END_TEST

/* Reserved bits are shown when one of them is set; four bits are a hexadecimal digit. */
START_TEST(text_of_reserved_bits_and_of_one_byte)
{
    struct test t;
    load(&t,
         "07 010100 00 010200 58 980000 02 01 0000 1234 8001 00000000 0000beef 08 80 0000 00000001 00000000",
         0, 0, 0);
    fcvi_print_text(&t.frame, t.out, sizeof t.out);
    ck_assert_ptr_nonnull(strstr(t.out, "\n    29.7-4   Reserved                     8h\n"));
    ck_assert_ptr_null(strstr(t.out, "\n    30       Reserved"));
    load(&t, "03 010100 00 010200 58 980000 06 02 0001 1234 8001 00000000 00000005 1a 00 0000 00*20 00000042",
         0, 0, 0);
    fcvi_print_text(&t.frame, t.out, sizeof t.out); /* without CONN_STS there is no reason to name */
    ck_assert_ptr_nonnull(strstr(t.out, "\n    36.23-16 Reason Code                  00h\n"));
    load(&t, "06 010203 00 010400 08 290000 00 00 0000 1001 ffff 00000000 ab", 0, 0, 0);
    fcvi_print_text(&t.frame, t.out, sizeof t.out);
    ck_assert_ptr_nonnull(strstr(t.out, " 1 further bytes\n    24       data                         ab\n"));
}
END_TEST

/* A PLOGI (FC-FS) with Continuously Increasing Relative Offset, and all other bits of that half word
 * zero */
START_TEST(names_beyond_their_column_are_whole)
{
    struct test t;
    load(&t,
         "22 010200 00 010100 01 290000 00 00 0000 1234 ffff 00000000 "
         "03000000 20200003 80000800 00ff0001 000007d0 00*96",
         0, 0, 0);
    fcvi_print_text(&t.frame, t.out, sizeof t.out);
    ck_assert_ptr_nonnull(strstr(t.out, "\n    32.31    Continuously Increasing Relative Offset (C) 1\n"));
    ck_assert_ptr_nonnull(strstr(
        t.out, "\n    36       Total Concurrent Sequences and Relative Offset, or R_A_TOV 00FF0001h\n"));
    ck_assert_ptr_nonnull(strstr(t.out, "\n    32.27    Alternate BB_Credit Management 0\n"));
}
END_TEST

START_TEST(json_of_a_frame)
{
    struct test t;
    size_t fields = 0;
    load(&t, RESP2, FCVI_SOF_I3, FCVI_EOF_T, FCVI_CRC_OK);
    fcvi_print_json(&t.frame, t.out, sizeof t.out);
    const char *begins =
        "{\"kind\":\"iu\",\"iu\":\"FCVI_CONNECT_RESP2\",\"title\":\"FCVI_CONNECT_RESP2\","
        "\"length\":56,\"sof\":\"i3\",\"eof\":\"t\",\"crc\":\"ok\",\"fields\":["
        "{\"name\":\"R_CTL\",\"structure\":\"Frame_Header\",\"within\":null,\"byte\":0,\"size\":1,"
        "\"bits\":\"7-0\",\"value\":3,\"text\":\"Solicited Control\",\"clause\":\"5.1\"},"
        "{\"name\":\"D_ID\",\"structure\":\"Frame_Header\",\"within\":null,\"byte\":1,\"size\":3,"
        "\"bits\":\"23-0\",\"value\":66048,\"text\":null,\"clause\":\"5.8.1\"},";
    const char *ends =
        "{\"name\":\"FCVI_CONNECTION_ID\",\"structure\":\"Device_Header\",\"within\":null,\"byte\":52,"
        "\"size\":4,\"bits\":\"31-0\",\"value\":66,\"text\":null,\"clause\":\"5.9.10\"}],"
        "\"payload\":{\"byte\":56,\"length\":0},\"rest\":{\"byte\":56,\"hex\":\"\"}}";
    ck_assert_int_eq(strncmp(t.out, begins, strlen(begins)), 0);
    ck_assert_str_eq(t.out + strlen(t.out) - strlen(ends), ends);
    for (const char *at = t.out; (at = strstr(at, "},{\"name\"")) != NULL; at++)
        fields++;
    ck_assert_uint_eq(fields, 51);
}
END_TEST

/* Numbers of a field that a JSON reader may round stand as text, small ones too: a reader meets one type. */
START_TEST(json_of_large_numbers_and_bytes)
{
    struct test t;
    load(&t,
         "06 010200 00 010100 58 290000 07 02 0000 1234 ffff 00000000 0000abcd 02 00 0000 00000003 00000000 "
         "001fffffffffffff 00000077 00000040",
         0, 0, 0);
    fcvi_print_json(&t.frame, t.out, sizeof t.out);
    ck_assert_ptr_nonnull(strstr(t.out, "\"bits\":\"63-0\",\"value\":\"001fffffffffffff\","));
    load(&t,
         "06 010200 00 010100 58 290000 07 02 0000 1234 ffff 00000000 0000abcd 02 00 0000 00000003 00000000 "
         "0020000000000000 00000077 00000040",
         0, 0, 0);
    fcvi_print_json(&t.frame, t.out, sizeof t.out);
    ck_assert_ptr_nonnull(strstr(t.out, "\"bits\":\"63-0\",\"value\":\"0020000000000000\","));
    load(&t, RESP2, 0, 0, 0);
    fcvi_print_json(&t.frame, t.out, sizeof t.out);
    ck_assert_ptr_nonnull(strstr(t.out, "\"bits\":\"63-0\",\"value\":\"0000000000000000\","));
    load(&t,
         "02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 ffffffff 10 01 0000 00000000 00000000 "
         "00*12 00000042 " CONNECT("00000005", ADDR_A, ADDR_B) "11223344",
         0, 0, 0);
    fcvi_print_json(&t.frame, t.out, sizeof t.out);
    ck_assert_ptr_nonnull(strstr(t.out,
                                 "\"size\":16,\"bits\":null,\"value\":\"fe8000000000000000000000000000a1\","
                                 "\"text\":\"fe80::a1\",\"clause\""));
    ck_assert_ptr_nonnull(strstr(t.out, "\"payload\":{\"byte\":56,\"length\":344},\"rest\":{\"byte\":396,"
                                        "\"hex\":\"11223344\"}}"));
}
END_TEST

/* Table 15: reserved, HOST_ADD_LEN, DISCRIM_LEN, HOST_ADD, DISCRIM; addresses in words are those of RFC 5952
 */
START_TEST(addresses_in_words)
{
    static const struct {
        const char *address, *text, *json;
    } known[] = {
        {"0000 10 04 20010db8000000000000000000000001 61622263 00*124", "  2001:db8::1\n",
         "\"text\":\"2001:db8::1\""},
        {"0000 10 04 20010db8000000000000000000000001 61622263 00*124",
         "61622263 (124 bytes 00h follow)  \"ab\"c\"\n", "\"text\":\"ab\\\"c\""},
        {"0000 10 03 00000000000000000000ffffc0000201 5c2000 00*125", "  ::ffff:192.0.2.1\n",
         "\"text\":\"\\\\ \""},
        /* of another length than an address of IPv6 has; a byte that is no character */
        {"0000 04 02 c0000201 00*12 617f 00*126", "c0000201000000000000000000000000\n", "00\",\"text\":null"},
        {"0000 10 02 fe8000000000000000000000000000a1 617f 00*126", "617f (126 bytes 00h follow)\n",
         "00\",\"text\":null"},
        {"0000 10 02 fe8000000000000000000000000000a1 1f61 00*126", "1f61 (126 bytes 00h follow)\n",
         "00\",\"text\":null"},
        /* no Discriminator; more than there is room for */
        {"0000 10 00 fe8000000000000000000000000000a1 00*128", "  128 bytes 00h\n", "00\",\"text\":null"},
        {"0000 10 81 fe8000000000000000000000000000a1 61 00*127", "61 (127 bytes 00h follow)\n",
         "00\",\"text\":null"},
        {"0000 10 80 fe8000000000000000000000000000a1 61*128", "aa\"\n", "aa\""},
        {"0000 10 02 fe8000000000000000000000000000a1 617e 00*126", "  \"a~\"\n", "\"text\":\"a~\""},
    };
    struct test t;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char hex[2048];
        snprintf(hex, sizeof hex, "%s%s %s",
                 "02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 ffffffff 10 01 0000 00000000 "
                 "00000000 "
                 "00*12 00000042 00000000 0000 0001 00000005 ",
                 known[i].address, ADDR_B ATTRS);
        load(&t, hex, FCVI_SOF_I3, FCVI_EOF_T, FCVI_CRC_OK);
        ck_assert_uint_eq(t.frame.input.length, 396);
        fcvi_print_text(&t.frame, t.out, sizeof t.out);
        char *local = strstr(t.out, "\n FCVI_LOC_ADDR: FCVI_NET_ADDRESS (7.2)\n");
        char *remote = strstr(t.out, "\n FCVI_REM_ADDR: FCVI_NET_ADDRESS (7.2)\n");
        ck_assert(local != NULL && remote != NULL && local < remote);
        char *found = strstr(local, known[i].text);
        ck_assert_msg(found != NULL && found < remote, "%s: %s", known[i].text, t.out);
        fcvi_print_json(&t.frame, t.out, sizeof t.out);
        ck_assert_msg(strstr(t.out, known[i].json) != NULL, "%s: %s", known[i].json, t.out);
        ck_assert_ptr_nonnull(
            strstr(t.out, "\"name\":\"DISCRIM\",\"structure\":\"FCVI_NET_ADDRESS\",\"within\":\"FCVI_"
                          "LOC_ADDR\",\"byte\":88,"));
        ck_assert_ptr_nonnull(
            strstr(t.out, "\"name\":\"DISCRIM\",\"structure\":\"FCVI_NET_ADDRESS\",\"within\":\"FCVI_"
                          "REM_ADDR\",\"byte\":236,"));
    }
}
END_TEST

START_TEST(names_of_delimiters)
{
    static const struct {
        uint8_t sof, eof, crc;
        const char *text, *json;
    } known[] = {
        {0, 0, FCVI_CRC_ABSENT, "\n", "\"sof\":\"\",\"eof\":\"\",\"crc\":\"absent\""},
        {0x2D, 0x41, FCVI_CRC_OK, ", SOFi2, EOFn, CRC ok\n", "\"sof\":\"i2\",\"eof\":\"n\",\"crc\":\"ok\""},
        {0x35, 0x42, FCVI_CRC_BAD, ", SOFn2, EOFt, CRC bad\n",
         "\"sof\":\"n2\",\"eof\":\"t\",\"crc\":\"bad\""},
        {0x2E, 0x49, 3, ", SOFi3, EOFni, CRC absent\n", "\"sof\":\"i3\",\"eof\":\"ni\",\"crc\":\"absent\""},
        {0x36, 0x50, 0, ", SOFn3, EOFa\n", "\"sof\":\"n3\",\"eof\":\"a\",\"crc\":\"absent\""},
        {0x28, 0x99, 0, ", SOFf, EOFother\n", "\"sof\":\"f\",\"eof\":\"other\",\"crc\":\"absent\""},
        {0x99, 0, 0, ", SOFother\n", "\"sof\":\"other\",\"eof\":\"\",\"crc\":\"absent\""},
    };
    struct test t;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        load(&t, RESP2, known[i].sof, known[i].eof, known[i].crc);
        fcvi_print_text(&t.frame, t.out, sizeof t.out);
        const char *head = "FCVI_CONNECT_RESP2, 56 bytes";
        ck_assert_msg(strncmp(t.out + strlen(head), known[i].text, strlen(known[i].text)) == 0, "%s", t.out);
        fcvi_print_json(&t.frame, t.out, sizeof t.out);
        ck_assert_msg(strstr(t.out, known[i].json) != NULL, "%s", t.out);
    }
}
END_TEST

#define MESSAGE(r_ctl, f_ctl, df_ctl, words)                                                                 \
    r_ctl " 010200 00 010100 58 " f_ctl " 07 " df_ctl " 0003 1234 ffff 00000000 " words
START_TEST(summaries)
{
    static const struct {
        const char *hex, *line;
    } frames[] = {
        {MESSAGE("01", "380002", "02",
                 "0000abcd 00 00 0000 0000000c 00000000 00*12 00000006 112233445566 0000"),
         "FCVI_SEND_RQST 010100>010200 OX 1234 RX FFFF CNT 3 H 0000ABCD MSG 12 LEN 6/6"},
        {MESSAGE("07", "980000", "01", "0000beef 08 00 0000 0000000c 00000000"),
         "FCVI_SEND_RESP 010100>010200 OX 1234 RX FFFF CNT 3 H 0000BEEF MSG 12"},
        {MESSAGE("03", "980000", "01", "0000beef 1a 01 0000 00000000 00000000"),
         "FCVI_CONNECT_RESP3 010100>010200 OX 1234 RX FFFF CNT 3 H 0000BEEF"},
        {MESSAGE("03", "980000", "02", "0000beef 1a 00 0000 00000000 00000000 00*12 00000042"),
         "FCVI_CONNECT_RESP3 010100>010200 OX 1234 RX FFFF CNT 3 H 0000BEEF ID 00000042"},
        {MESSAGE("03", "980000", "02", "0000beef 1a 05 0000 00000000 004a0000 00*12 00000042"),
         "FCVI_CONNECT_RESP3 010100>010200 OX 1234 RX FFFF CNT 3 H 0000BEEF ID 00000042 RETRY 4Ah Connection "
         "Does Not Exist"},
        {MESSAGE("02", "290000", "02", "ffffffff 10 11 0000 00000000 00000000 00*12 00000042"),
         "FCVI_CONNECT_RQST 010100>010200 OX 1234 RX FFFF CNT 3 H FFFFFFFF ID 00000042 RETRY"},
        {MESSAGE("02", "290000", "02", "ffffffff 10 0f 0000 00000000 00000000 00*12 00000042"),
         "FCVI_CONNECT_RQST 010100>010200 OX 1234 RX FFFF CNT 3 H FFFFFFFF ID 00000042"},
        {MESSAGE("02", "290000", "02", "0000beef 12 04 0000 00000000 00000000 00*12 00000043"),
         "FCVI_DISCONNECT_RQST 010100>010200 OX 1234 RX FFFF CNT 3 H 0000BEEF ID 00000043 CONN_SETUP_ABORT"},
        {MESSAGE("02", "290000", "02", "0000beef 12 02 0000 00000000 00000000 00*12 00000043"),
         "FCVI_DISCONNECT_RQST 010100>010200 OX 1234 RX FFFF CNT 3 H 0000BEEF ID 00000043"},
        {MESSAGE("02", "290000", "02", "0000beef 12 01 0000 00000000 00410000 00*12 00000043"),
         "FCVI_DISCONNECT_RQST 010100>010200 OX 1234 RX FFFF CNT 3 H 0000BEEF ID 00000043 41h RDMA "
         "Protection Error"},
        /* flags of other IUs than these: reserved */
        {MESSAGE("02", "290000", "02", "0000beef 12 fa 0000 00000000 00000000 00*12 00000043"),
         "FCVI_DISCONNECT_RQST 010100>010200 OX 1234 RX FFFF CNT 3 H 0000BEEF ID 00000043"},
        {MESSAGE("03", "980000", "02", "0000beef 1a fa 0000 00000000 00000000 00*12 00000042"),
         "FCVI_CONNECT_RESP3 010100>010200 OX 1234 RX FFFF CNT 3 H 0000BEEF ID 00000042"},
        {MESSAGE("02", "290000", "02", "ffffffff 10 ef 0000 00000000 00000000 00*12 00000042"),
         "FCVI_CONNECT_RQST 010100>010200 OX 1234 RX FFFF CNT 3 H FFFFFFFF ID 00000042"},
        {MESSAGE("01", "380000", "02", "0000abcd 01 ff 0000 0000000c 00000000 00*12 00000006"),
         "FCVI_WRITE_RQST 010100>010200 OX 1234 RX FFFF CNT 3 H 0000ABCD MSG 12 LEN 0/6"},
    };
    struct test t;
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        load(&t, frames[i].hex, 0, 0, 0);
        fcvi_print_summary(&t.frame, t.out, sizeof t.out);
        ck_assert_str_eq(t.out, frames[i].line);
    }
}
END_TEST

START_TEST(no_more_than_there_is_room_for)
{
    struct test t;
    static char part[1024], whole[1024], untouched[1024];
    memset(untouched, '#', sizeof untouched);
    load(&t, "010203", 0, 0, 0);
    size_t (*const print[])(const struct fcvi_frame *, char *, size_t) = {fcvi_print_text, fcvi_print_json,
                                                                          fcvi_print_summary};
    for (int i = 0; i < 3; i++) {
        size_t length = print[i](&t.frame, whole, sizeof whole);
        ck_assert_uint_eq(strlen(whole), length);
        for (size_t room = 0; room <= length + 2; room++) {
            memset(part, '#', sizeof part);
            ck_assert_uint_eq(print[i](&t.frame, part, room), length);
            size_t kept = room == 0 ? 0 : room - 1 < length ? room - 1 : length;
            ck_assert_mem_eq(part, whole, kept);
            if (room > 0)
                ck_assert_int_eq(part[kept], '\0');
            ck_assert_mem_eq(part + room, untouched, sizeof part - room);
        }
        ck_assert_uint_eq(print[i](&t.frame, NULL, 0), length);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("print");
    TCase *tc = tcase_create("print");
    tcase_add_test(tc, text_of_a_frame);
    tcase_add_test(tc, text_of_what_no_table_describes);
    tcase_add_test(tc, text_has_a_heading_for_each_structure);
    tcase_add_test(tc, text_of_reserved_bits_and_of_one_byte);
    tcase_add_test(tc, names_beyond_their_column_are_whole);
    tcase_add_test(tc, json_of_a_frame);
    tcase_add_test(tc, json_of_large_numbers_and_bytes);
    tcase_add_test(tc, addresses_in_words);
    tcase_add_test(tc, names_of_delimiters);
    tcase_add_test(tc, summaries);
    tcase_add_test(tc, no_more_than_there_is_room_for);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
