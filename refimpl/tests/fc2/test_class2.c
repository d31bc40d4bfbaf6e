/* Class 2 at the sender: credit, acknowledgement, busy, reject, and what becomes of the Message (5.5, 8.4.2
 * b, Annex B rules 8a, 8c, 8d, 8e and 9, FC-FS Link_Control frames). */
#include "class2.h"

/* ---- credit ---- */

/* Two frames may wait for their ACK; the Message is over with the last one. */
START_TEST(credit)
{
    struct rig *r = rig2(FCVI_RELIABLE_DELIVERY, false, 2);
    rig_post(r, FCVI_SEND, 5 * PIECE - 1);
    unsigned first = next_piece(r, 0, 5 * PIECE - 1);
    next_piece(r, 1, 5 * PIECE - 1);
    rig_silent(r);
    ack(r, first);
    next_piece(r, 2, 5 * PIECE - 1);
    rig_silent(r);
    ack(r, first + 2); /* ACKs may overtake each other: frame 1 still waits, and no more goes out */
    rig_silent(r);
    ack(r, first + 2); /* twice */
    rig_silent(r);
    ack(r, first + 1);
    next_piece(r, 3, 5 * PIECE - 1);
    next_piece(r, 4, 5 * PIECE - 1);
    ack(r, first + 3);
    rig_not_done(r, false);
    ack(r, first + 4);
    w_done(&r->w, 0, r->vi, false, 0, 5 * PIECE - 1);
    rig_silent(r);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* FC-FS: the frames of a Sequence have one SEQ_ID, also when none of them waits for its ACK in between. */
START_TEST(one_sequence_id)
{
    struct rig *r = rig2(FCVI_RELIABLE_DELIVERY, false, 1);
    rig_post(r, FCVI_SEND, 3 * PIECE);
    unsigned first = r->seen;
    for (uint32_t k = 0; k < 3; k++) {
        unsigned nth = next_piece(r, k, 3 * PIECE);
        ck_assert_uint_eq(rig_field(r, nth, 12, 1), rig_field(r, first, 12, 1));
        rig_silent(r);
        ack(r, nth);
    }
    w_done(&r->w, 0, r->vi, false, 0, 3 * PIECE);
    rig_end(r);
}
END_TEST

/* One ACK_0 for all frames up to its SEQ_CNT. */
START_TEST(ack_0)
{
    struct rig *r = rig2(FCVI_RELIABLE_DELIVERY, false, 0);
    rig_post(r, FCVI_SEND, 20 * PIECE);
    for (uint32_t k = 0; k < 16; k++) /* the default credit */
        next_piece(r, k, 20 * PIECE);
    rig_silent(r);
    link_control(r, ACK_0, r->seen - 1, 0, 0);
    for (uint32_t k = 16; k < 20; k++)
        next_piece(r, k, 20 * PIECE);
    link_control(r, ACK_0, r->seen - 1, 0, 0);
    w_done(&r->w, 0, r->vi, false, 0, 20 * PIECE);
    rig_end(r);
}
END_TEST

/* FC-FS: the first answer in an Exchange tells its RX_ID; later ones do not change it. */
START_TEST(rx_id_stays)
{
    struct rig *r = rig2(FCVI_RELIABLE_DELIVERY, false, 1);
    rig_post(r, FCVI_SEND, 3 * PIECE);
    for (uint32_t k = 0; k < 3; k++) {
        unsigned nth = next_piece(r, k, 3 * PIECE);
        ck_assert_uint_eq(rig_field(r, nth, 18, 2), k == 0 ? 0xFFFF : 0x8001);
        rig_hear(r, "c0 010100 00 010200 00 c00000 %02x 00 %04x %04x %04x 00000001", rig_field(r, nth, 12, 1),
                 k, rig_ox(r, nth), 0x8001 + k);
    }
    w_done(&r->w, 0, r->vi, false, 0, 3 * PIECE);
    rig_end(r);
}
END_TEST

/* No more than 64 frames are remembered. */
START_TEST(large_credit)
{
    struct rig *r = rig2(FCVI_RELIABLE_DELIVERY, false, 255);
    rig_post(r, FCVI_SEND, 70 * PIECE);
    for (uint32_t k = 0; k < 64; k++)
        next_piece(r, k, 70 * PIECE);
    rig_silent(r);
    link_control(r, ACK_0, r->seen - 1, 0, 0);
    for (uint32_t k = 64; k < 70; k++)
        next_piece(r, k, 70 * PIECE);
    link_control(r, ACK_0, r->seen - 1, 0, 0);
    w_done(&r->w, 0, r->vi, false, 0, 70 * PIECE);
    rig_end(r);
}
END_TEST

/* 5.5: the next Sequence of the Message begins once all of the one before is acknowledged. */
START_TEST(next_sequence_waits)
{
    struct rig *r = rig_new(FCVI_RELIABLE_RECEPTION);
    r->config.service_class = 2;
    r->config.receive_size = 256;
    r->config.iu_size = 300; /* one frame */
    rig_connect(r);
    rig_post(r, FCVI_RDMA_WRITE, 2 * PIECE);
    unsigned nth = rig_next_data(r, r->bytes, PIECE,
                                 "01 010200 00 010100 58 280008 .. 02 0000 .... ffff 00000000 "
                                 "0000abcd 01 00 0000 00000001 00000000 0000000000007000 00000077 000001c0");
    rig_silent(r);
    ack(r, nth);
    unsigned last = rig_next_data(r, r->bytes + PIECE, PIECE,
                                  "01 010200 00 010100 58 090008 .. 02 0001 .... 8001 000000e0 "
                                  "0000abcd 01 00 0000 00000001 00000000 0000000000007000 00000077 000001c0");
    ck_assert_uint_ne(rig_field(r, nth, 12, 1), rig_field(r, last, 12, 1));
    /* the response may overtake the ACK of the request */
    rig_hear(r,
             "07 010100 00 010200 58 980000 09 01 0000 %04x 8001 00000000 %08x 09 00 0000 00000001 00000000",
             rig_ox(r, last), r->handle);
    w_done(&r->w, 0, r->vi, false, FCVI_STATUS_OP_RDMA_WRITE, 2 * PIECE);
    r->seen = r->sent;
    ack(r, last);
    rig_silent(r);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* 4.1, 5.5: a SEQ_ID may be used again once its Sequence is acknowledged, within the same Message too. */
START_TEST(more_sequences_than_seq_ids)
{
    struct rig *r = rig_new(FCVI_UNRELIABLE);
    r->config.service_class = 2;
    r->config.receive_size = 256;
    r->config.iu_size = 300; /* one frame */
    rig_connect(r);
    enum { SEQUENCES = 290 };
    rig_post(r, FCVI_RDMA_WRITE, SEQUENCES * PIECE);
    for (unsigned k = 0; k < SEQUENCES; k++) {
        unsigned nth = r->seen++;
        ck_assert_uint_eq(r->sent, r->seen);
        ck_assert_uint_eq(rig_field(r, nth, 20, 4), k * PIECE);
        ack(r, nth);
    }
    w_done(&r->w, 0, r->vi, false, FCVI_STATUS_OP_RDMA_WRITE, SEQUENCES * PIECE);
    rig_silent(r);
    w_run(&r->w, 2 * W_E_D_TOV); /* nothing is left that waits for an ACK */
    rig_silent(r);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* ---- rules 8a, 8c, 8d and 8e ---- */

/* _i: Reliability Level; P_BSY, F_BSY, P_RJT, F_RJT, an ACK with Abort Sequence Condition, none for E_D_TOV;
 * for the first frame of several, or for the only one */
START_TEST(message_fails)
{
    uint8_t level = (uint8_t)(1 + _i % 3);
    static const unsigned r_ctl[] = {P_BSY, F_BSY, P_RJT, F_RJT, ACK_1};
    int how = _i / 3 % 6;
    bool whole = _i / 18;
    uint32_t length = whole ? 4 : 4 * PIECE;
    struct rig *r = rig2(level, false, 2);
    rig_post(r, FCVI_SEND, length);
    rig_post(r, FCVI_SEND, length);
    unsigned nth = r->seen;
    rig_alive(r);
    r->seen = r->sent;
    if (how < 5) {
        link_control(r, r_ctl[how], nth, how == 4 ? PERFORM_ABTS : 0, how == 4 ? 1 : 0x010d0000);
    } else {
        w_run(&r->w, W_E_D_TOV - 1);
        rig_silent(r);
        w_run(&r->w, 1);
    }
    next_abts(r, nth);
    if (level == FCVI_UNRELIABLE) {
        /* what is in flight is all that this level promises; VI-DG 5.2: a part of it is a partial packet */
        w_done(&r->w, 0, r->vi, false, whole ? 0 : FCVI_STATUS_TRANSPORT_ERROR | FCVI_STATUS_PARTIAL_ERROR,
               whole ? length : 0);
        rig_alive(r);
        if (!whole) /* the next Message goes out */
            next_piece(r, 0, length);
    } else {
        /* VI-DG 5.2: a Send's Transport Error is for Reliable Reception */
        uint32_t status =
            level == FCVI_RELIABLE_RECEPTION ? FCVI_STATUS_TRANSPORT_ERROR : FCVI_STATUS_DESC_FLUSHED_ERROR;
        w_done(&r->w, 0, r->vi, false, status, 0);
        w_done(&r->w, 0, r->vi, false, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
        ck_assert_ptr_nonnull(w_error(&r->w, 0, VIP_ERROR_CONN_LOST));
        rig_broken(r, TRANSPORT);
    }
    rig_end(r);
}
END_TEST

/* Each ACK gives the others another E_D_TOV; one that comes twice does not end the wait for the response
 * (8.3, rule 9). */
START_TEST(time_for_acks)
{
    struct rig *r = rig2(FCVI_RELIABLE_RECEPTION, false, 2);
    rig_post(r, FCVI_SEND, 2 * PIECE);
    unsigned nth = r->seen;
    r->seen = r->sent;
    w_run(&r->w, W_E_D_TOV - 1);
    ack(r, nth);
    w_run(&r->w, W_E_D_TOV - 1);
    rig_alive(r);
    ack(r, nth + 1);
    w_run(&r->w, W_R_A_TOV - 1);
    ack(r, nth + 1);
    rig_alive(r);
    rig_silent(r);
    w_run(&r->w, 1);
    next_abts(r, nth);
    w_done(&r->w, 0, r->vi, false, FCVI_STATUS_TRANSPORT_ERROR, 0);
    rig_broken(r, TRANSPORT);
    rig_end(r);
}
END_TEST

/* ---- what means nothing ---- */

/* Nothing waits for its ACK while the host does not ask for the next frame: E_D_TOV does not matter (8e). */
START_TEST(slow_host)
{
    struct rig *r = rig2((uint8_t)_i, false, 1);
    rig_post(r, FCVI_SEND, 2 * PIECE);
    unsigned nth = next_piece(r, 0, 2 * PIECE);
    char hex[RIG_HEX];
    uint8_t bytes[64];
    snprintf(hex, sizeof hex, "c0 010100 00 010200 00 c00000 %02x 00 0000 %04x 8001 00000001",
             rig_field(r, nth, 12, 1), rig_ox(r, nth));
    struct fcvi_input in = {bytes, from_hex(hex, bytes), FCVI_SOF_NONE, FCVI_EOF_NONE, FCVI_CRC_OK};
    fcvi_port_receive(r->w.port[0], r->w.now, &in);
    fcvi_port_run(r->w.port[0], r->w.now += 2 * W_E_D_TOV);
    w_quiet(&r->w);
    next_piece(r, 1, 2 * PIECE);
    rig_silent(r);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* A Message that is acknowledged and waits for its response: busy, or a reject, comes too late. */
START_TEST(busy_after_the_ack)
{
    struct rig *r = rig2(FCVI_RELIABLE_RECEPTION, false, 2);
    rig_post(r, FCVI_SEND, 4);
    unsigned nth = next_piece(r, 0, 4);
    ack(r, nth);
    link_control(r, P_BSY, nth, 0, 0x01010000);
    link_control(r, F_BSY, nth, 0, 0);
    link_control(r, P_RJT, nth, 0, 0x010d0000);
    link_control(r, F_RJT, nth, 0, 0x010d0000);
    rig_silent(r);
    rig_alive(r);
    rig_hear(r,
             "07 010100 00 010200 58 980000 09 01 0000 %04x 8001 00000000 %08x 08 00 0000 00000001 00000000",
             rig_ox(r, nth), r->handle);
    w_done(&r->w, 0, r->vi, false, 0, 4);
    rig_end(r);
}
END_TEST

START_TEST(hostile_link_control)
{
    struct rig *r = rig2(FCVI_RELIABLE_DELIVERY, _i, 2);
    rig_post(r, FCVI_SEND, 4 * PIECE);
    unsigned nth = next_piece(r, 0, 4 * PIECE);
    next_piece(r, 1, 4 * PIECE);
    static const unsigned r_ctls[] = {ACK_1, ACK_0, P_RJT, F_RJT, P_BSY, F_BSY, 0xC6, 0xCF};
    for (unsigned k = 0; k < 8; k++) /* an Exchange that is not open */
        rig_hear(r, "%02x 010100 00 010200 00 c00000 00 00 0000 4444 8001 00000000", r_ctls[k]);
    unsigned ox_id = rig_ox(r, nth);
    for (unsigned k = 0; k < 2; k++) { /* frames that were never sent */
        rig_hear(r, "%02x 010100 00 010200 00 c00000 00 00 0040 %04x 8001 00000001", r_ctls[k], ox_id);
        rig_hear(r, "%02x 010100 00 010200 00 c00000 00 00 ffff %04x 8001 00000001", r_ctls[k], ox_id);
    }
    for (unsigned k = 0; k < 2 && _i == 1; k++)
        rig_hear(r, "c4 010100 00 010200 00 c00000 00 00 %04x %04x 8001 00000000", k == 0 ? 0x40 : 0x8000,
                 ox_id);
    rig_hear(r, "c6 010100 00 010200 00 c00000 00 00 0000 %04x 8001 00000000", ox_id);
    rig_silent(r);
    rig_alive(r);
    ack(r, nth);
    next_piece(r, 2, 4 * PIECE);
    rig_end(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("class2");
    rig_case(s, "credit", credit, 0, 1);
    rig_case(s, "FC-FS", one_sequence_id, 0, 1);
    rig_case(s, "FC-FS", rx_id_stays, 0, 1);
    rig_case(s, "ACK_0", ack_0, 0, 1);
    rig_case(s, "credit", large_credit, 0, 1);
    rig_case(s, "5.5", next_sequence_waits, 0, 1);
    rig_case(s, "5.5", more_sequences_than_seq_ids, 0, 1);
    rig_case(s, "8a 8c 8d 8e", message_fails, 0, 36);
    rig_case(s, "9", time_for_acks, 0, 1);
    rig_case(s, "8e", slow_host, 1, 4);
    rig_case(s, "8a", busy_after_the_ack, 0, 1);
    rig_case(s, "hostile", hostile_link_control, 0, 2);
    return rig_run(s);
}
