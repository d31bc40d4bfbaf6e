/* Many VIs on one port: whose turn it is, and what happens when there are no Exchanges left (4.1). */
#include "many.h"

enum { PIECE = 224 };

/* ---- turns ---- */

/* One Sequence each: nobody goes twice while another waits. */
START_TEST(turns)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.receive_size = 256;
    r->config.iu_size = PIECE;
    struct many m = begin(r);
    static const uint32_t sequences[VIS] = {1, 3, 3, 2};
    unsigned gone[VIS] = {0};
    for (unsigned i = 0; i < VIS; i++)
        post(&m, i, FCVI_SEND, sequences[i] * PIECE);
    w_quiet(&r->w);
    for (unsigned round = 1; round <= 3; round++) {
        unsigned waiting = 0;
        for (unsigned i = 0; i < VIS; i++)
            waiting += sequences[i] >= round;
        for (; waiting > 0; waiting--)
            gone[from(&m, r->seen++)]++;
        for (unsigned i = 0; i < VIS; i++)
            ck_assert_uint_eq(gone[i], round < sequences[i] ? round : sequences[i]);
    }
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* 4.1: a VI that sends and answers RDMA Reads does so in turn, one Sequence each. */
START_TEST(turns_of_one_vi)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.receive_size = 256;
    r->config.iu_size = 2 * PIECE;
    struct many m = begin(r);
    uint8_t bytes[128];
    char hex[RIG_HEX];
    snprintf(hex, sizeof hex,
             "06 010100 00 010200 58 290000 07 02 0000 0701 ffff 00000000 "
             "%08x 02 00 0000 00000001 00000000 0000000000010000 %08x %08x",
             m.handle[0], r->region, 6 * PIECE);
    struct fcvi_input in = {bytes, from_hex(hex, bytes), FCVI_SOF_I3, FCVI_EOF_T, FCVI_CRC_OK};
    post(&m, 0, FCVI_SEND, 6 * PIECE);
    fcvi_port_receive(r->w.port[0], r->w.now, &in);
    w_quiet(&r->w);
    unsigned first = rig_field(r, r->seen, 28, 1);
    for (unsigned k = 0; k < 12; k++) {
        unsigned nth = r->seen++, seq_id = rig_field(r, nth, 12, 1);
        ck_assert_uint_eq(rig_field(r, nth, 28, 1), k % 4 < 2 ? first : OP_READ_RESP - first);
        if (k % 2 == 1) /* FC-FS: one SEQ_ID for a Sequence, another one for the next of the Exchange */
            ck_assert_uint_eq(seq_id, rig_field(r, nth - 1, 12, 1));
        else if (k >= 4)
            ck_assert_uint_ne(seq_id, rig_field(r, nth - 4, 12, 1));
    }
    ck_assert(first == OP_SEND || first == OP_READ_RESP);
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* _i: which of them goes away while all have something to send */
START_TEST(vi_goes_away)
{
    struct many m = begin(rig_new(FCVI_RELIABLE_DELIVERY));
    struct rig *r = m.r;
    uint8_t out[W_FRAME], bytes[128];
    struct fcvi_transmitted meta;
    char hex[RIG_HEX];
    for (unsigned i = 0; i < VIS; i++)
        post(&m, i, FCVI_SEND, 4);
    ck_assert_int_eq(fcvi_vip_disconnect(r->w.port[0], r->w.now, m.vi[_i], 7), FCVI_VIP_PENDING);
    ck_assert_uint_gt(fcvi_port_transmit(r->w.port[0], r->w.now, out, sizeof out, &meta), 0);
    ck_assert_uint_eq(out[28], 0x12); /* FCVI_DISCONNECT_RQST goes first */
    snprintf(hex, sizeof hex,
             "03 010100 00 010200 58 980000 06 02 0000 %04x 8001 00000000 00000000 1b 02 0000 00*8 00*16",
             (unsigned)fcvi_load(out + 16, 2));
    struct fcvi_input in = {bytes, from_hex(hex, bytes), FCVI_SOF_I3, FCVI_EOF_T, FCVI_CRC_OK};
    fcvi_port_receive(r->w.port[0], r->w.now, &in);
    struct fcvi_completion c;
    ck_assert_int_eq(fcvi_vip_done(r->w.port[0], r->w.now, m.vi[_i], false, &c), VIP_DESCRIPTOR_ERROR);
    ck_assert_uint_eq(c.status, FCVI_STATUS_DONE | FCVI_STATUS_DESC_FLUSHED_ERROR);
    ck_assert_int_eq(fcvi_vip_destroy_vi(r->w.port[0], r->w.now, m.vi[_i]), VIP_SUCCESS);
    if (_i % 2) /* another takes its place */
        w_vi(&r->w, 0, &r->attributes);
    w_quiet(&r->w);
    bool gone[VIS] = {0};
    for (unsigned i = 0; i < VIS - 1; i++)
        gone[from(&m, r->seen++)] = true;
    rig_silent(r);
    for (unsigned i = 0; i < VIS; i++)
        ck_assert_int_eq(gone[i], i != (unsigned)_i);
    rig_end(r);
}
END_TEST

/* 7.7.3: after a LIP nothing is sent to a port that has not been validated. */
START_TEST(port_to_be_validated)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.topology = FCVI_PRIVATE_LOOP;
    struct many m = begin(r);
    fcvi_port_link(r->w.port[0], r->w.now, FCVI_LINK_LIP);
    post(&m, 1, FCVI_SEND, 4);
    w_quiet(&r->w);
    unsigned adisc = r->seen++;
    ck_assert_uint_eq(rig_field(r, adisc, 24, 1), 0x52);
    rig_silent(r);
    rig_hear(r,
             "23 010100 00 010200 01 990000 01 00 0000 %04x ffff 00000000 "
             "02000000 00000000 10000000c9000002 20000000c9000002 00010200",
             rig_ox(r, adisc));
    ck_assert_uint_eq(from(&m, r->seen++), 1);
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* ---- what runs out ---- */

/* All Exchanges but one, which 4.1 wants kept back, are open for RDMA Reads of VI 0. The others wait until
 * one is over. _i: one of them is disconnected meanwhile, and goes away */
START_TEST(exchanges_run_out)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->limits.exchanges = 4;
    struct many m = begin(r);
    unsigned first = r->seen, gone[VIS] = {0};
    for (unsigned k = 0; k < 3; k++)
        post(&m, 0, FCVI_RDMA_READ, 0);
    w_quiet(&r->w);
    r->seen += 3;
    for (unsigned i = 0; i < VIS; i++)
        post(&m, i, FCVI_SEND, 0);
    w_quiet(&r->w);
    rig_silent(r);
    post(&m, 1, FCVI_SEND, 0); /* it waits already */
    if (_i == 1) {             /* there is an Exchange for a Disconnect */
        ck_assert_int_eq(fcvi_vip_disconnect(r->w.port[0], r->w.now, m.vi[2], 7), FCVI_VIP_PENDING);
        w_quiet(&r->w);
        rig_hear(r,
                 "03 010100 00 010200 58 980000 06 02 0000 %04x 8001 00000000 00000000 1b 02 0000 00*8 00*16",
                 rig_ox(r, r->seen++));
        w_done(&r->w, 0, m.vi[2], false, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
        ck_assert_int_eq(fcvi_vip_destroy_vi(r->w.port[0], r->w.now, m.vi[2]), VIP_SUCCESS);
    }
    rig_silent(r);
    answer_read(&m, first);
    while (r->seen < r->sent)
        gone[from(&m, r->seen++)]++;
    ck_assert_uint_eq(gone[0], 1);
    ck_assert_uint_eq(gone[1], 2);
    ck_assert_uint_eq(gone[2], _i == 0);
    ck_assert_uint_eq(gone[3], 1);
    rig_end(r);
}
END_TEST

/* A VI with a Send that waits for an Exchange answers RDMA Reads: the other side may be waiting for just
 * that. */
START_TEST(read_is_answered_meanwhile)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->limits.exchanges = 4;
    r->config.receive_size = 256;
    struct many m = begin(r);
    for (unsigned k = 0; k < 3; k++)
        post(&m, 0, FCVI_RDMA_READ, 0);
    post(&m, 0, FCVI_SEND, 4);
    w_quiet(&r->w);
    r->seen += 3;
    rig_silent(r);
    rig_hear(r,
             "06 010100 00 010200 58 290000 07 02 0000 0701 ffff 00000000 "
             "%08x 02 00 0000 00000001 00000000 0000000000010000 %08x %08x",
             m.handle[0], r->region, 2 * PIECE);
    ck_assert_uint_eq(rig_field(r, r->seen++, 28, 1), OP_READ_RESP);
    ck_assert_uint_eq(rig_field(r, r->seen++, 28, 1), OP_READ_RESP);
    /* their Exchange is over, but it is the one to be kept back */
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* Rule 8b: it also sends a busy frame again. */
START_TEST(busy_frame_comes_again_meanwhile)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->limits.exchanges = 4;
    r->config.service_class = 2;
    r->config.out_of_order = true;
    struct many m = begin(r);
    for (unsigned k = 0; k < 4; k++)
        post(&m, 0, FCVI_SEND, 4);
    w_quiet(&r->w);
    unsigned nth = r->seen;
    r->seen += 3;
    rig_silent(r);
    rig_hear(r, "c4 010100 00 010200 00 c00000 %02x 00 0000 %04x 8001 01010000", rig_field(r, nth, 12, 1),
             rig_ox(r, nth));
    ck_assert_mem_eq(r->frame[r->seen], r->frame[nth], r->length[nth]);
    r->seen++;
    rig_silent(r);
    rig_end(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("scheduler");
    rig_case(s, "turns", turns, 0, 1);
    rig_case(s, "turns", turns_of_one_vi, 0, 1);
    rig_case(s, "turns", vi_goes_away, 0, VIS);
    rig_case(s, "7.7.3", port_to_be_validated, 0, 1);
    rig_case(s, "Exchanges", exchanges_run_out, 0, 2);
    rig_case(s, "Exchanges", read_is_answered_meanwhile, 0, 1);
    rig_case(s, "8b", busy_frame_comes_again_meanwhile, 0, 1);
    return rig_run(s);
}
