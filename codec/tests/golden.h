/* Frames written out by hand from the standard's tables; no byte here comes from our encoder.
 *
 * "00*N" in a literal stands for N times that byte. The frame header (FC-FS) is R_CTL D_ID CS_CTL S_ID TYPE
 * F_CTL SEQ_ID DF_CTL SEQ_CNT OX_ID RX_ID Parameter; the Device_Header is Table 4 (Table 3 for its first 16
 * bytes).
 */
#ifndef FCVI_GOLDEN_H
#define FCVI_GOLDEN_H

#include <fcvi/codec.h>
#include <stdlib.h>
#include <string.h>

enum { GOLDEN_MAX = 24 + 2112 + 64 };

struct golden {
    const char *name;
    enum fcvi_iu iu;
    const char *hex;
    uint8_t sof, eof;
};

/* Table 15: 2 reserved, HOST_ADD_LEN 10h, DISCRIM_LEN 10h, an IPv6 address, 16 of 128 Discriminator bytes */
#define ADDR_A "0000 10 10 fe80000000000000 00000000000000a1 000102030405060708090a0b0c0d0e0f 00*112 "
#define ADDR_B "0000 10 10 fe80000000000000 00000000000000b2 000102030405060708090a0b0c0d0e0f 00*112 "
/* Tables 16 to 18: Unreliable Delivery, 32768 bytes, QOS all zero; then Word 84 (E10) */
#define ATTRS "0000 01 00 00008000 00*20 00*4 "
/* Tables 13 and 14: Words 0 and 1 with revision 0001h, Word 2 the handle */
#define CONNECT(handle, loc, rem) "00000000 0000 0001 " handle " " loc rem ATTRS

static const struct golden golden[] = {
    /* Table 1: R_CTL 01h, F_CTL First, Last, End, Relative Offset; Table 5 flags 0; FCVI_TOT_LEN 6, two fill
       bytes */
    {"send_rqst", FCVI_IU_SEND_RQST,
     "01 010200 00 010100 58 38000a 07 02 0000 1234 ffff 00000000 "
     "0000abcd 00 00 0000 00000001 00000000 0000000000000000 00000000 00000006 112233445566 0000",
     FCVI_SOF_I3, FCVI_EOF_T},
    {"write_rqst", FCVI_IU_WRITE_RQST,
     "01 010200 00 010100 58 380008 07 02 0000 1234 ffff 00000000 "
     "0000abcd 01 01 0000 00000002 01020304 00000001000002a0 00000077 00000004 aabbccdd",
     FCVI_SOF_I3, FCVI_EOF_T},
    /* R_CTL 06h, First, End, Sequence Initiative */
    {"read_rqst", FCVI_IU_READ_RQST,
     "06 010200 00 010100 58 290000 07 02 0000 1234 ffff 00000000 "
     "0000abcd 02 00 0000 00000003 00000000 0000000100000200 00000077 00000040",
     FCVI_SOF_I3, FCVI_EOF_T},
    /* R_CTL 07h, responder, Last, End; 16-byte header (DF_CTL 01h) */
    {"send_resp", FCVI_IU_SEND_RESP,
     "07 010100 00 010200 58 980000 02 01 0000 1234 8001 00000000 0000beef 08 00 0000 00000001 00000000",
     FCVI_SOF_I3, FCVI_EOF_T},
    {"write_resp", FCVI_IU_WRITE_RESP,
     "07 010100 00 010200 58 980000 02 01 0000 1234 8001 00000000 0000beef 09 05 0000 00000002 00000000",
     FCVI_SOF_I3, FCVI_EOF_T},
    {"read_resp", FCVI_IU_READ_RESP,
     "01 010100 00 010200 58 980008 02 02 0000 1234 8001 00000000 "
     "0000beef 0a 00 0000 00000003 00000000 0000000100000200 00000077 00000004 01020304",
     FCVI_SOF_I3, FCVI_EOF_T},
    /* R_CTL 02h, First, End, Sequence Initiative, Relative Offset; handle FFFFFFFFh; Table 7: Client-Server
     */
    {"connect_rqst", FCVI_IU_CONNECT_RQST,
     "02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 "
     "ffffffff 10 01 0000 00000000 00000000 00*12 00000042 " CONNECT("00000005", ADDR_A, ADDR_B),
     FCVI_SOF_I3, FCVI_EOF_T},
    {"disconnect_rqst", FCVI_IU_DISCONNECT_RQST,
     "02 010200 00 010100 58 290000 09 02 0000 1240 ffff 00000000 "
     "0000abcd 12 03 0000 00000007 00400000 00*12 00000000",
     FCVI_SOF_I3, FCVI_EOF_T},
    /* R_CTL 03h, responder, End, Sequence Initiative */
    {"connect_resp1", FCVI_IU_CONNECT_RESP1,
     "03 010100 00 010200 58 890008 06 02 0000 1234 8001 00000000 "
     "ffffffff 18 04 0000 00000000 00000000 00*12 00000042 " CONNECT("0000abcd", ADDR_B, ADDR_A),
     FCVI_SOF_I3, FCVI_EOF_T},
    {"connect_resp2", FCVI_IU_CONNECT_RESP2,
     "03 010200 00 010100 58 090000 06 02 0001 1234 8001 00000000 "
     "0000abcd 19 01 0000 00000000 00020000 00*12 00000042",
     FCVI_SOF_I3, FCVI_EOF_T},
    {"connect_resp3", FCVI_IU_CONNECT_RESP3,
     "03 010100 00 010200 58 980000 06 02 0001 1234 8001 00000000 "
     "00000005 1a 00 0000 00000000 00000000 00*12 00000042",
     FCVI_SOF_I3, FCVI_EOF_T},
    {"disconnect_resp", FCVI_IU_DISCONNECT_RESP,
     "03 010100 00 010200 58 980000 06 02 0000 1240 8001 00000000 "
     "0000beef 1b 07 0000 00000000 004a0000 00*12 00000043",
     FCVI_SOF_I3, FCVI_EOF_T},
    /* both connect IUs with 256 bytes of provider information: 596 bytes (6.8.1, 6.9.1) */
    {"connect_rqst_info", FCVI_IU_CONNECT_RQST,
     "02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 "
     "ffffffff 10 09 0000 00000000 00000000 00*12 00000042 " CONNECT("00000005", ADDR_A, ADDR_B) "00*256",
     FCVI_SOF_I3, FCVI_EOF_T},
    {"connect_resp1_info", FCVI_IU_CONNECT_RESP1,
     "03 010100 00 010200 58 890008 06 02 0000 1234 8001 00000000 "
     "ffffffff 18 02 0000 00000000 00000000 00*12 00000042 " CONNECT("0000abcd", ADDR_B, ADDR_A) "00*256",
     FCVI_SOF_I3, FCVI_EOF_T},
    /* a refusal keeps its payload; handle, addresses and attributes say nothing (E40) */
    {"connect_resp1_refusal", FCVI_IU_CONNECT_RESP1,
     "03 010100 00 010200 58 890008 06 02 0000 1234 8001 00000000 "
     "ffffffff 18 01 0000 00000000 00030000 00*12 00000042 00000000 0000 0001 ffffffff 00*148 00*148 00*32",
     FCVI_SOF_I3, FCVI_EOF_T},
};
enum { GOLDEN_COUNT = sizeof golden / sizeof golden[0] };

static inline size_t from_hex(const char *hex, uint8_t *out)
{
    size_t n = 0;
    while (*hex != '\0') {
        char pair[3] = {hex[0], hex[1], 0};
        if (*hex == ' ') {
            hex++;
        } else if (hex[2] == '*') {
            char *end;
            unsigned long count = strtoul(hex + 3, &end, 10);
            memset(out + n, (int)strtoul(pair, NULL, 16), count);
            n += count;
            hex = end;
        } else {
            out[n++] = (uint8_t)strtoul(pair, NULL, 16);
            hex += 2;
        }
    }
    return n;
}

#endif
