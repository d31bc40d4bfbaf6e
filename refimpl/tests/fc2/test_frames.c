/* Frames that the port drops, and copies of the port made in the middle of a setup: the way in and out of a
 * port (FC-FS, 5.8, E45). */
#include "../bench.h"

enum { CLIENT = 1, OX = 0x1234, ID = 0x42, HANDLE = 5 };

static void hear_as(struct bench *b, const char *hex, uint8_t eof, uint8_t crc)
{
    uint8_t bytes[FRAME];
    size_t n = from_hex(hex, bytes);
    struct fcvi_input in = {bytes, n, FCVI_SOF_I3, eof, crc};
    fcvi_port_receive(b->port, b->now, &in);
    collect(b);
}

/* ---- what is dropped without a word ---- */

#define RQST(before, opcode, payload)                                                                        \
    before " 05 02 0000 1234 ffff 00000000 ffffffff " opcode " 01 0000 00*8 00*12 00000042 " payload
#define GOOD "00000000 0000 0001 00000005 " ADDR_A ADDR_B ATTRS
#define FROM_PEER "02 010200 00 010100 58 290008"

static const struct {
    const char *hex;
    uint8_t eof, crc;
    bool taken;
} frames[] = {
    {RQST(FROM_PEER, "10", GOOD), FCVI_EOF_T, FCVI_CRC_OK, true},
    {RQST(FROM_PEER, "10", GOOD), FCVI_EOF_N, FCVI_CRC_ABSENT, true},
    {RQST(FROM_PEER, "10", GOOD), FCVI_EOF_NONE, FCVI_CRC_ABSENT, true},
    {RQST(FROM_PEER, "10", GOOD), FCVI_EOF_T, FCVI_CRC_BAD, false},
    {RQST(FROM_PEER, "10", GOOD), FCVI_EOF_A, FCVI_CRC_OK, false},
    {RQST(FROM_PEER, "10", GOOD), FCVI_EOF_NI, FCVI_CRC_OK, false},
    {"02 010200 00 010100 58 290008 05 02 0000", FCVI_EOF_T, FCVI_CRC_OK, false}, /* less than a header */
    {"02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 ffffffff", FCVI_EOF_T, FCVI_CRC_OK, false},
    {RQST("02 010300 00 010100 58 290008", "10", GOOD), FCVI_EOF_T, FCVI_CRC_OK, false}, /* another D_ID */
    {RQST("02 ffffff 00 010100 58 290008", "10", GOOD), FCVI_EOF_T, FCVI_CRC_OK, false}, /* broadcast */
    {RQST("02 010200 00 010300 58 290008", "10", GOOD), FCVI_EOF_T, FCVI_CRC_OK, false}, /* not logged in */
    {RQST("02 010200 00 010200 58 290008", "10", GOOD), FCVI_EOF_T, FCVI_CRC_OK, false}, /* in our name */
    {RQST("02 010200 00 010100 08 290008", "10", GOOD), FCVI_EOF_T, FCVI_CRC_OK, false}, /* TYPE of FCP */
    {RQST(FROM_PEER, "13", GOOD), FCVI_EOF_T, FCVI_CRC_OK, false},                       /* no opcode */
    {RQST(FROM_PEER, "ff", GOOD), FCVI_EOF_T, FCVI_CRC_OK, false},
    /* a Device_Header of 16 bytes, or none (Table 4 has 32 for this IU) */
    {"02 010200 00 010100 58 290008 05 01 0000 1234 ffff 00000000 ffffffff 10 01 0000 00*8 " GOOD, FCVI_EOF_T,
     FCVI_CRC_OK, false},
    {"02 010200 00 010100 58 290008 05 00 0000 1234 ffff 00000000 " GOOD, FCVI_EOF_T, FCVI_CRC_OK, false},
    {"82 010200 00 010100 00 290000 05 00 0000 1234 ffff 00000000", FCVI_EOF_T, FCVI_CRC_OK, false}, /* BLS */
};
enum { FRAMES = sizeof frames / sizeof frames[0] };

START_TEST(frame_by_frame)
{
    struct bench *b = b_new();
    b_wait(b, FCVI_NEVER, 1);
    hear_as(b, frames[_i].hex, frames[_i].eof, frames[_i].crc);
    ck_assert_uint_eq(b->sent, 0);
    ck_assert(frames[_i].taken == (b_return(b, 1) != NULL));
    if (!frames[_i].taken) {
        ck_assert_uint_eq(counts(b).setups, 0);
        hear_rqst(b, CLIENT, OX, ID, HANDLE); /* the port is as usable as before */
    }
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, b_return(b, 1)->conn), VIP_SUCCESS);
    collect(b);
    ck_assert_uint_eq(reason_at(b, 0), 0x04);
    b_end(b);
}
END_TEST

/* Less room than the longest frame takes: it stays until there is room (port.h). */
START_TEST(no_room_to_transmit)
{
    struct bench *b = b_new();
    struct fcvi_transmitted meta;
    struct fcvi_address from = address(OURS), to = address(THEIRS);
    uint8_t out[FRAME];
    uint32_t vi = b_vi(b);
    fcvi_vip_connect_request(b->port, 0, vi, &from, &to, FCVI_NEVER, 7);
    ck_assert_uint_eq(fcvi_port_transmit(b->port, 0, out, FRAME - 1, &meta), 0);
    ck_assert_uint_eq(fcvi_port_transmit(b->port, 0, out, FRAME, &meta), 24 + 32 + 340);
    ck_assert_uint_eq(meta.sof, FCVI_SOF_I3);
    ck_assert_uint_eq(meta.eof, FCVI_EOF_T);
    ck_assert_uint_eq(fcvi_port_transmit(b->port, 0, out, FRAME, &meta), 0);
    free(b->memory);
    free(b);
}
END_TEST

/* Table 1: FCVI_CONNECT_RQST begins an Exchange. In one that is open it is out of place, whatever that is
 * for; but an OX_ID that the other side uses anew for something that is over for it counts (5.4). */
START_TEST(request_in_an_open_exchange)
{
    struct bench *b = b_new();
    b_wait(b, FCVI_NEVER, 1);
    b_wait(b, R_A_TOV, 2);
    if (_i == 0) {
        hear_rqst(b, CLIENT, OX, ID, HANDLE);
        hear_rqst(b, CLIENT, OX, ID + 1, HANDLE + 1);
        ck_assert_ptr_null(b_return(b, 2));
    } else { /* the first frame of a Message of two, which then goes no further */
        uint32_t vi = b_connected(b);
        hear(b,
             "01 010200 00 010100 58 200008 07 02 0000 1234 ffff 00000000 %08x 00 00 0000 00000001 "
             "00*16 00000008 00*4",
             own_handle_at(b, 0));
        hear_rqst(b, CLIENT, OX, ID, HANDLE);
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    }
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, b_return(b, 1)->conn), VIP_SUCCESS);
    collect(b);
    ck_assert_uint_eq(id_at(b, b->sent - 1), ID);
    hear_resp2(b, 0, 0, OX, ID, FCVI_UNASSIGNED);
    ck_assert_uint_eq(opcode_at(b, b->sent - 1), 0x1a);
    advance(b, R_A_TOV);
    b_end(b);
}
END_TEST

/* ---- snapshots ---- */

/* The nth thing that happens to a port with a Server, a client and a Peer whose setups all fail once. */
static bool happens(struct bench *b, unsigned n)
{
    struct fcvi_address from = address(OURS), to = address(THEIRS);
    const struct fcvi_event *e = b_return(b, 1);
    to.discriminator[0] = 1;
    switch (n) {
    case 0:
        b_wait(b, FCVI_NEVER, 1);
        return true;
    case 1:
        hear_rqst(b, CLIENT, OX, ID, HANDLE);
        return true;
    case 2:
        b_request(b, b_vi(b), THEIRS, FCVI_NEVER, 2);
        return true;
    case 3:
        fcvi_vip_connect_peer_request(b->port, b->now, b_vi(b), &from, &to, FCVI_NEVER);
        break;
    case 4:
        fcvi_vip_connect_accept(b->port, b->now, e != NULL ? e->conn : 0, b_vi(b), 3);
        break;
    case 5:
    case 8:
        advance(b, R_A_TOV); /* T3, and no answer to the ABTS; T2 in step 9 */
        return true;
    case 6:
        hear_rqst(b, CLIENT | 0x10, OX + 1, ID + 1, HANDLE);
        return true;
    case 7:
        hear_abts(b, OX + 1);
        return true;
    case 9:
        advance(b, 10 * (uint64_t)R_A_TOV);
        return true;
    case 10:
        fcvi_vip_disconnect(b->port, b->now, 0, 4);
        break;
    default:
        return false;
    }
    collect(b);
    return true;
}

/* port.h: a copy of the block goes on as the original would have. _i: how much had happened before it. */
START_TEST(snapshot_of_a_setup)
{
    struct bench *b = b_new(), *copy = b_new();
    unsigned n = 0;
    while (n < (unsigned)_i && happens(b, n))
        n++;
    void *block = copy->memory;
    memcpy(block, b->memory, b->size);
    struct fcvi_port *port = copy->port;
    *copy = *b;
    copy->memory = block;
    copy->port = port;
    for (; happens(b, n); n++) {
        happens(copy, n);
        ck_assert_uint_eq(copy->sent, b->sent);
        ck_assert_uint_eq(copy->events, b->events);
        ck_assert_mem_eq(copy->frame, b->frame, sizeof b->frame);
        ck_assert_uint_eq(fcvi_port_deadline(copy->port), fcvi_port_deadline(b->port));
    }
    ck_assert_mem_eq(copy->memory, b->memory, b->size);
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_NOT_REACHABLE);
    ck_assert_int_eq(b_return(b, 3)->vip, VIP_TIMEOUT);
    free(copy->memory);
    free(copy);
    free(b->memory);
    free(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("frames");
    TCase *t = tcase_create("one port");
    tcase_add_loop_test(t, frame_by_frame, 0, FRAMES);
    tcase_add_test(t, no_room_to_transmit);
    tcase_add_loop_test(t, request_in_an_open_exchange, 0, 2);
    tcase_add_loop_test(t, snapshot_of_a_setup, 0, 11);
    suite_add_tcase(s, t);
    return run_suite(s);
}
