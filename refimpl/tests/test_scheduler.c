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

/* All Exchanges are open for RDMA Reads of VI 0; the others wait until one is over. */
START_TEST(exchanges_run_out)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->limits.exchanges = 4;
    struct many m = begin(r);
    unsigned first = r->seen;
    for (unsigned k = 0; k < 4; k++)
        post(&m, 0, FCVI_RDMA_READ, 0);
    w_quiet(&r->w);
    r->seen += 4;
    for (unsigned i = 1; i < VIS; i++)
        post(&m, i, FCVI_SEND, 0);
    w_quiet(&r->w);
    rig_silent(r);
    post(&m, 1, FCVI_SEND, 0); /* it waits already */
    if (_i == 1) {             /* the other side disconnects VI 2, which then goes away */
        rig_hear(r, "02 010100 00 010200 58 290000 09 02 0000 0999 ffff 00000000 %08x 12 02 0000 00*8 00*16",
                 m.handle[2]);
        ck_assert_uint_eq(rig_field(r, r->seen++, 28, 1), 0x1b);
        ck_assert_int_eq(fcvi_vip_disconnect(r->w.port[0], r->w.now, m.vi[2], 7), VIP_ERROR_RESOURCE);
    }
    rig_silent(r);
    answer_read(&m, first);
    unsigned gone[VIS] = {0};
    while (r->seen < r->sent)
        gone[from(&m, r->seen++)]++;
    ck_assert_uint_eq(gone[0], 0);
    ck_assert_uint_eq(gone[1], 2);
    ck_assert_uint_eq(gone[2], _i == 0);
    ck_assert_uint_eq(gone[3], 1);
    rig_end(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("scheduler");
    rig_case(s, "turns", turns, 0, 1);
    rig_case(s, "turns", vi_goes_away, 0, VIS);
    rig_case(s, "7.7.3", port_to_be_validated, 0, 1);
    rig_case(s, "Exchanges", exchanges_run_out, 0, 2);
    return rig_run(s);
}
