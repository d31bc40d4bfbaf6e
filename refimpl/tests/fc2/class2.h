/* The rig in class 2: the tester acknowledges, or does something else, with Link_Control frames (FC-FS). */
#ifndef FCVI_TEST_CLASS2_H
#define FCVI_TEST_CLASS2_H

#include "../rig.h"

enum { ACK_1 = 0xC0, ACK_0 = 0xC1, P_RJT = 0xC2, F_RJT = 0xC3, P_BSY = 0xC4, F_BSY = 0xC5, PIECE = 224 };
enum { PERFORM_ABTS = 0x10 }; /* Abort Sequence Condition 01b */

static inline struct rig *rig2(uint8_t level, bool out_of_order, uint8_t credit)
{
    struct rig *r = rig_new(level);
    r->config.service_class = 2;
    r->config.out_of_order = out_of_order;
    r->config.end_to_end_credit = credit;
    r->config.receive_size = 256; /* 224 bytes of data in a frame */
    rig_connect(r);
    for (uint32_t k = 0; k < RIG_BYTES; k++)
        r->bytes[k] = rig_value(5, k);
    return r;
}

/* A Link_Control frame for the nth frame: Exchange Context of the other side, Sequence Context recipient. */
static inline void link_control(struct rig *r, unsigned r_ctl, unsigned nth, unsigned f_ctl,
                                unsigned parameter)
{
    rig_hear(r, "%02x 010100 00 %06x 00 %06x %02x 00 %04x %04x 8001 %08x", r_ctl, rig_field(r, nth, 1, 3),
             (rig_field(r, nth, 9, 3) & 0x800000 ? 0x400000u : 0xC00000u) | f_ctl, rig_field(r, nth, 12, 1),
             rig_field(r, nth, 14, 2), rig_ox(r, nth), parameter);
}

static inline void ack(struct rig *r, unsigned nth)
{
    link_control(r, ACK_1, nth, 0, 1);
}

/* Frame `cnt` of a Send of `total` bytes. SOFi2 for the first; the last ACK ends the Sequence, not EOFt. */
static inline unsigned next_piece(struct rig *r, uint32_t cnt, uint32_t total)
{
    uint32_t left = total - cnt * PIECE, length = left < PIECE ? left : PIECE;
    bool last = length == left;
    uint32_t end = r->attributes.reliability == FCVI_RELIABLE_RECEPTION ? 0x090000 : 0x180000;
    unsigned nth = rig_next_data(r, r->bytes + cnt * PIECE, length,
                                 "01 010200 00 010100 58 %06x .. 02 %04x .... .... %08x "
                                 "0000abcd 00 00 0000 ........ 00*16 %08x",
                                 0x200008 | (last ? end : 0) | (4 - length % 4) % 4, cnt, cnt * PIECE, total);
    ck_assert_uint_eq(r->sof[nth], cnt == 0 ? FCVI_SOF_I2 : FCVI_SOF_N2);
    ck_assert_uint_eq(r->eof[nth], FCVI_EOF_N);
    return nth;
}

static inline void next_abts(struct rig *r, unsigned nth)
{
    rig_next(r, "81 010200 00 010100 00 090000 .. 00 0000 %04x .... 00000000", rig_ox(r, nth));
}

#endif
