/* Class 2 on an Out-of-Order Fabric: frames that found no room are sent again (Annex B rule 8b). */
#include "class2.h"

static void again(struct rig *r, unsigned nth)
{
    unsigned copy = r->seen++;
    ck_assert_uint_lt(copy, r->sent);
    ck_assert_uint_eq(r->length[copy], r->length[nth]);
    ck_assert_mem_eq(r->frame[copy], r->frame[nth], r->length[nth]);
    ck_assert_uint_eq(r->sof[copy], r->sof[nth]);
}

/* Frames that found no room come once more, the same bytes; also the last, and while others still wait. */
START_TEST(busy_frames_come_again)
{
    struct rig *r = rig2(FCVI_RELIABLE_DELIVERY, true, 4);
    enum { LENGTH = 6 * PIECE - 3 };
    rig_post(r, FCVI_SEND, LENGTH);
    unsigned nth = next_piece(r, 0, LENGTH);
    for (uint32_t k = 1; k < 4; k++)
        next_piece(r, k, LENGTH);
    link_control(r, P_BSY, nth + 2, 0, 0x01010000);
    again(r, nth + 2);
    link_control(r, F_BSY, nth, 0, 0);
    again(r, nth);
    ack(r, nth + 1);
    link_control(r, P_BSY, nth + 1, 0, 0x01010000); /* it has been acknowledged */
    rig_silent(r);
    ack(r, nth);
    unsigned four = next_piece(r, 4, LENGTH), five = next_piece(r, 5, LENGTH);
    link_control(r, F_BSY, five, 0, 0);
    again(r, five);
    ack(r, nth + 2);
    ack(r, nth + 3);
    link_control(r, F_BSY, five, 0, 0); /* the copy found no room either */
    again(r, five);
    ack(r, four);
    ack(r, five);
    w_done(&r->w, 0, r->vi, false, 0, LENGTH);
    link_control(r, F_BSY, five, 0, 0);
    rig_silent(r);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* It is acknowledged after all, before the host has asked for the copy. */
START_TEST(busy_and_acknowledged)
{
    struct rig *r = rig2(FCVI_RELIABLE_DELIVERY, true, 4);
    rig_post(r, FCVI_SEND, 3 * PIECE);
    unsigned nth = r->seen;
    r->seen = r->sent;
    static const unsigned r_ctls[] = {F_BSY, ACK_1};
    for (unsigned k = 0; k < 2; k++) {
        char hex[RIG_HEX];
        uint8_t bytes[64];
        snprintf(hex, sizeof hex, "%02x 010100 00 010200 00 c00000 %02x 00 0001 %04x 8001 00000001",
                 r_ctls[k], rig_field(r, nth, 12, 1), rig_ox(r, nth));
        struct fcvi_input in = {bytes, from_hex(hex, bytes), FCVI_SOF_NONE, FCVI_EOF_NONE, FCVI_CRC_OK};
        fcvi_port_receive(r->w.port[0], r->w.now, &in);
    }
    w_quiet(&r->w);
    rig_silent(r);
    ack(r, nth);
    ack(r, nth + 2);
    w_done(&r->w, 0, r->vi, false, 0, 3 * PIECE);
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* Frames before it are acknowledged before the copy goes out: it is still that frame which comes again. */
START_TEST(busy_behind_what_is_acknowledged)
{
    struct rig *r = rig2(FCVI_RELIABLE_DELIVERY, true, 4);
    rig_post(r, FCVI_SEND, 4 * PIECE);
    unsigned nth = r->seen;
    r->seen = r->sent;
    static const struct {
        unsigned r_ctl, count;
    } heard[] = {{F_BSY, 2}, {ACK_1, 0}, {ACK_1, 1}};
    for (unsigned k = 0; k < 3; k++) {
        char hex[RIG_HEX];
        uint8_t bytes[64];
        snprintf(hex, sizeof hex, "%02x 010100 00 010200 00 c00000 %02x 00 %04x %04x 8001 00000001",
                 heard[k].r_ctl, rig_field(r, nth, 12, 1), heard[k].count, rig_ox(r, nth));
        struct fcvi_input in = {bytes, from_hex(hex, bytes), FCVI_SOF_NONE, FCVI_EOF_NONE, FCVI_CRC_OK};
        fcvi_port_receive(r->w.port[0], r->w.now, &in);
    }
    w_quiet(&r->w);
    unsigned copy = r->seen++;
    rig_silent(r);
    ck_assert_uint_eq(rig_field(r, copy, 14, 2), 2);
    ck_assert_uint_eq(rig_field(r, copy, 20, 4), 2 * PIECE);
    ack(r, nth + 2);
    ack(r, nth + 3);
    w_done(&r->w, 0, r->vi, false, 0, 4 * PIECE);
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* _i: an empty Send, FCVI_READ_RQST */
START_TEST(busy_single_frame)
{
    struct rig *r = rig2(FCVI_RELIABLE_DELIVERY, true, 4);
    rig_post(r, _i == 0 ? FCVI_SEND : FCVI_RDMA_READ, _i == 0 ? 0 : 1000);
    unsigned nth = r->seen++;
    link_control(r, P_BSY, nth, 0, 0x01010000);
    again(r, nth);
    ack(r, nth);
    if (_i == 0)
        w_done(&r->w, 0, r->vi, false, 0, 0);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* A frame of FCVI_READ_RESP: the responder's. */
START_TEST(busy_read_response)
{
    struct rig *r = rig2(FCVI_RELIABLE_RECEPTION, true, 2);
    rig_message(r, OP_READ, 1, 3 * PIECE, RIG_VA, r->region);
    r->seen++; /* the ACK of the request */
    unsigned nth = r->seen;
    r->seen += 2;
    rig_silent(r);
    link_control(r, F_BSY, nth + 1, 0, 0);
    again(r, nth + 1);
    ack(r, nth);
    rig_next_data(r, r->bytes + 2 * PIECE, PIECE,
                  "01 010200 00 010100 58 980008 .. 02 0002 0701 .... 000001c0 "
                  "0000abcd 0a 00 0000 00000001 00000000 0000000000010000 %08x 000002a0",
                  r->region);
    link_control(r, ACK_0, r->seen - 1, 0, 0);
    rig_silent(r);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* The memory is gone when the frame is to be built again (VI-DG 5.2). */
START_TEST(busy_and_memory_gone)
{
    struct rig *r = rig2((uint8_t)_i, true, 2);
    rig_post(r, FCVI_SEND, 2 * PIECE);
    unsigned nth = r->seen;
    r->seen = r->sent;
    ck_assert_int_eq(fcvi_vip_deregister_mem(r->w.port[0], r->w.now, r->mem), VIP_SUCCESS);
    link_control(r, P_BSY, nth, 0, 0x01010000);
    next_abts(r, nth);
    w_done(&r->w, 0, r->vi, false, FCVI_STATUS_PROTECTION_ERROR | FCVI_STATUS_PARTIAL_ERROR, 0);
    if (_i == FCVI_UNRELIABLE)
        rig_alive(r);
    else
        rig_broken(r, 0);
    rig_end(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("busy");
    rig_case(s, "8b", busy_frames_come_again, 0, 1);
    rig_case(s, "8b", busy_and_acknowledged, 0, 1);
    rig_case(s, "8b", busy_behind_what_is_acknowledged, 0, 1);
    rig_case(s, "8b", busy_single_frame, 0, 2);
    rig_case(s, "8b", busy_read_response, 0, 1);
    rig_case(s, "8b", busy_and_memory_gone, 1, 4);
    return rig_run(s);
}
