/* Out-of-Order Fabric: frames that overlap, frames held for their turn, and since when something is missing
 * (Annex B rules 4c, 5b and 7; 5.2.1). */
#include "../rig.h"

static struct rig *begin(uint8_t level)
{
    struct rig *r = rig_new(level);
    r->config.out_of_order = true;
    r->limits.held_frames = 4;
    rig_connect(r);
    return r;
}

/* `length` bytes at `offset` of a Send of 12; a wrong one brings other bytes. last: it is the last frame. */
static void frame(struct rig *r, uint32_t id, uint32_t offset, uint32_t length, bool wrong, bool last)
{
    uint8_t bytes[128];
    char hex[RIG_HEX];
    uint32_t end = r->attributes.reliability == FCVI_RELIABLE_RECEPTION ? 0x090000 : 0x180000;
    snprintf(hex, sizeof hex,
             "01 010100 00 010200 58 %06x 07 02 %04x %04x ffff %08x %08x 00 00 0000 %08x 00*16 0000000c",
             0x200008 | (last ? end : 0), offset / 4, 0x700 + id, offset, r->handle, id);
    size_t n = from_hex(hex, bytes);
    for (uint32_t k = 0; k < length; k++)
        bytes[n++] = wrong ? 0xEE : rig_value(id, offset + k);
    rig_hear_as(r, bytes, n, FCVI_SOF_NONE, FCVI_EOF_NONE);
}

static void piece(struct rig *r, uint32_t id, uint32_t offset, uint32_t length, bool wrong)
{
    frame(r, id, offset, length, wrong, offset + length == 12);
}

static void arrived(struct rig *r, const uint8_t *slot, uint32_t id)
{
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE, 12);
    for (uint32_t k = 0; k < 12; k++)
        ck_assert_uint_eq(slot[k], rig_value(id, k));
}

/* A byte is taken once: what comes again, in whole or in part, changes nothing of it. _i: level */
START_TEST(overlapping_frames)
{
    struct rig *r = begin((uint8_t)_i);
    const uint8_t *slot = rig_receive(r);
    piece(r, 1, 4, 4, false);
    piece(r, 1, 4, 4, true);
    piece(r, 1, 0, 8, true); /* in part: as if it had not come */
    piece(r, 1, 4, 8, true);
    piece(r, 1, 0, 12, true);
    rig_not_done(r, true);
    piece(r, 1, 8, 4, false);
    rig_not_done(r, true);
    piece(r, 1, 0, 4, false);
    arrived(r, slot, 1);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* The last frame of a Message may be empty, and come before those with its bytes. */
START_TEST(an_empty_last_frame_comes_first)
{
    struct rig *r = begin((uint8_t)_i);
    const uint8_t *slot = rig_receive(r);
    frame(r, 1, 12, 0, false, true);
    rig_not_done(r, true);
    frame(r, 1, 8, 4, false, false);
    frame(r, 1, 0, 4, false, false);
    rig_not_done(r, true);
    frame(r, 1, 4, 4, false, false);
    arrived(r, slot, 1);
    slot = rig_receive(r);
    frame(r, 2, 0, 12, false, false);
    frame(r, 2, 12, 0, false, true);
    arrived(r, slot, 2);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* Frames that were held make room for others, again and again. */
START_TEST(held_frames_make_room)
{
    struct rig *r = begin((uint8_t)_i);
    for (uint32_t id = 1; id <= 9; id += 2) {
        const uint8_t *first = rig_receive(r), *second = rig_receive(r);
        for (uint32_t k = 0; k < 3; k++)
            piece(r, id + 1, 4 * k, 4, false);
        struct fcvi_port_counts c;
        fcvi_port_count(r->w.port[0], &c);
        ck_assert_uint_eq(c.held_frames, 3);
        rig_not_done(r, true);
        for (uint32_t k = 0; k < 3; k++)
            piece(r, id, 4 * k, 4, false);
        arrived(r, first, id);
        arrived(r, second, id + 1);
    }
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* Rule 4c b: when a later Message shows, the rest of the one before it has R_A_TOV from then on, and no frame
 * of it gives it more. */
START_TEST(later_message_starts_the_timer)
{
    struct rig *r = begin((uint8_t)_i);
    const uint8_t *slot;
    rig_receive(r);
    slot = rig_receive(r);
    piece(r, 1, 0, 4, false);
    w_run(&r->w, 1000);
    for (uint32_t k = 0; k < 3; k++)
        piece(r, 2, 4 * k, 4, false);
    w_run(&r->w, W_R_A_TOV / 2);
    piece(r, 1, 4, 4, false);
    w_run(&r->w, W_R_A_TOV / 2 - 1);
    rig_not_done(r, true);
    rig_alive(r);
    w_run(&r->w, 1);
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE | FCVI_STATUS_TRANSPORT_ERROR, 0);
    if (_i == FCVI_UNRELIABLE) {
        arrived(r, slot, 2);
        rig_alive(r);
    } else {
        w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE | FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
        rig_broken(r, TRANSPORT);
    }
    rig_end(r);
}
END_TEST

/* Rule 4c a: a Message has been missing since the first frame of any later one came. What comes in between
 * gives it no more time. */
START_TEST(no_frame_gives_more_time)
{
    struct rig *r = begin((uint8_t)_i);
    const uint8_t *slots[] = {rig_receive(r), rig_receive(r)};
    w_run(&r->w, 1000);
    for (uint32_t id = 3; id >= 2; id--) {
        piece(r, id, 0, 12, false);
        w_run(&r->w, W_R_A_TOV / 2);
        if (id == 3)
            rig_not_done(r, true);
    }
    if (_i == FCVI_UNRELIABLE) {
        arrived(r, slots[0], 2);
        arrived(r, slots[1], 3);
        rig_alive(r);
    } else {
        w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE | FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
        rig_broken(r, TRANSPORT);
    }
    rig_end(r);
}
END_TEST

/* The piece between two others makes one of them. */
START_TEST(pieces_that_join)
{
    struct rig *r = rig_new((uint8_t)_i);
    r->config.out_of_order = true;
    r->limits.runs = 2;
    rig_connect(r);
    for (uint32_t id = 1; id <= 3; id++) {
        const uint8_t *slot = rig_receive(r);
        piece(r, id, 8, 4, false);
        piece(r, id, 0, 4, false);
        piece(r, id, 4, 4, false);
        arrived(r, slot, id);
    }
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* The data of an RDMA Write that was held go to their place with the end of the one before it. */
START_TEST(write_behind_a_write)
{
    struct rig *r = begin((uint8_t)_i);
    rig_message(r, OP_WRITE, 2, 4, RIG_VA, r->region);
    ck_assert_uint_eq(r->bytes[0], 0);
    rig_message(r, OP_WRITE, 1, 4, RIG_VA + 4, r->region);
    for (uint32_t k = 0; k < 8; k++)
        ck_assert_uint_eq(r->bytes[k], rig_value(k < 4 ? 2 : 1, k % 4));
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* No room for a piece: it counts as one that never came, so nothing of it is kept. */
START_TEST(piece_without_room)
{
    struct rig *r = rig_new((uint8_t)_i);
    r->config.out_of_order = true;
    r->limits.runs = 1;
    rig_connect(r);
    const uint8_t *slot = rig_receive(r);
    piece(r, 1, 4, 4, false);
    piece(r, 1, 0, 2, true); /* it joins nothing */
    for (uint32_t k = 0; k < 2; k++)
        ck_assert_uint_eq(slot[k], 0);
    piece(r, 1, 0, 4, false);
    piece(r, 1, 8, 4, false);
    arrived(r, slot, 1);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* Rule 6a: a frame that does not belong to its Message says nothing of it, so that it takes no Descriptor. */
START_TEST(immediate_data_of_an_odd_frame)
{
    struct rig *r = begin(FCVI_UNRELIABLE);
    const uint8_t *slot = rig_receive(r);
    struct rqst q = {.opcode = OP_WRITE, .id = 1, .length = 4, .total = 8, .va = RIG_VA, .key = r->region};
    rig_rqst(r, &q);
    struct rqst odd = q;
    odd.cnt = 1;
    odd.offset = 4;
    odd.total = 99;
    odd.flags = 1;
    odd.immediate = 0x01020304;
    rig_rqst(r, &odd);
    rig_not_done(r, true);
    piece(r, 2, 0, 12, false);
    arrived(r, slot, 2);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* A Message of no data needs no room for pieces. */
START_TEST(empty_behind_a_piece)
{
    struct rig *r = rig_new((uint8_t)_i);
    r->config.out_of_order = true;
    r->limits.runs = 1;
    rig_connect(r);
    const uint8_t *slot = rig_receive(r);
    rig_receive(r);
    piece(r, 1, 4, 4, false);
    rig_message(r, OP_SEND, 2, 0, 0, 0);
    piece(r, 1, 0, 4, false);
    piece(r, 1, 8, 4, false);
    arrived(r, slot, 1);
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE, 0);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* The longest frame can be held. */
START_TEST(longest_frame_is_held)
{
    enum { MOST = 2112 - 32 };
    struct rig *r = begin((uint8_t)_i);
    for (unsigned k = 0; k < 2; k++)
        ck_assert_int_eq(w_post(&r->w, 0, r->vi, FCVI_RECV, r->mem, 32768 + 4096 * k, MOST, 0, 0),
                         VIP_SUCCESS);
    rig_message(r, OP_SEND, 2, MOST, 0, 0);
    rig_message(r, OP_SEND, 1, MOST, 0, 0);
    for (uint32_t id = 1; id <= 2; id++) {
        w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE, MOST);
        for (uint32_t k = 0; k < MOST; k++)
            ck_assert_uint_eq(r->bytes[32768 + 4096 * (id - 1) + k], rig_value(id, k));
    }
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* Rule 4c c: what a held frame shows to be missing has been missing since it came. */
START_TEST(held_frame_starts_the_timer)
{
    struct rig *r = begin((uint8_t)_i);
    const uint8_t *slot = rig_receive(r);
    rig_receive(r);
    w_run(&r->w, 1000);
    piece(r, 2, 8, 4, false);
    w_run(&r->w, W_R_A_TOV / 2);
    for (uint32_t k = 0; k < 3; k++)
        piece(r, 1, 4 * k, 4, false);
    arrived(r, slot, 1);
    piece(r, 2, 0, 4, false);
    w_run(&r->w, W_R_A_TOV / 2 - 1);
    rig_not_done(r, true);
    rig_alive(r);
    w_run(&r->w, 1);
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE | FCVI_STATUS_TRANSPORT_ERROR, 0);
    rig_end(r);
}
END_TEST

/* One run is all there is for pieces of Messages. The Message that has it is lost, or its connection is (_i):
 * then others have it. */
START_TEST(pieces_are_forgotten)
{
    struct rig *r = rig_new(FCVI_UNRELIABLE);
    r->config.out_of_order = true;
    r->limits.runs = 1;
    rig_connect(r);
    rig_receive(r);
    piece(r, 1, 4, 4, false);
    if (_i == 0) {
        rig_hear(r, "81 010100 00 010200 00 090000 07 00 0000 0701 ffff 00000000");
        w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE | FCVI_STATUS_TRANSPORT_ERROR, 0);
    } else {
        rig_hear(r, "02 010100 00 010200 58 290000 07 02 0000 0888 ffff 00000000 %08x 12 02 0000 00*8 00*16",
                 r->handle);
        w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE | FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
        r->w.events[0] = 0;
        r->vi = w_vi(&r->w, 0, &r->attributes);
        r->handle = rig_serve(r, r->vi, 0xbeef, 0x124);
    }
    for (uint32_t id = _i == 0 ? 2 : 1, last = id + 2; id <= last; id++) {
        const uint8_t *slot = rig_receive(r);
        piece(r, id, 4, 8, false);
        piece(r, id, 0, 4, false);
        arrived(r, slot, id);
    }
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* A Message that was held finds no Descriptor when its turn comes: what is aborted then has R_A_TOV from then
 * on (8.4.2 a). */
START_TEST(time_of_what_was_held)
{
    struct rig *r = begin(FCVI_RELIABLE_DELIVERY);
    const uint8_t *slot = rig_receive(r);
    rig_post(r, FCVI_RDMA_READ, 4);
    w_run(&r->w, 1000);
    piece(r, 2, 0, 12, false);
    w_run(&r->w, W_R_A_TOV / 2);
    piece(r, 1, 0, 12, false);
    arrived(r, slot, 1);
    ck_assert_ptr_nonnull(w_error(&r->w, 0, VIP_ERROR_RECVQ_EMPTY));
    ck_assert_uint_eq(r->frame[r->sent - 1][0], 0x81);
    ck_assert_uint_eq(fcvi_port_deadline(r->w.port[0]), r->w.now + W_R_A_TOV);
    rig_end(r);
}
END_TEST

/* port.h: the host need not come back when nothing is waited for any more. _i: the Fabric */
START_TEST(no_timer_is_left)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.out_of_order = _i;
    rig_connect(r);
    rig_receive(r);
    piece(r, 1, 0, 4, false);
    ck_assert_uint_eq(fcvi_port_deadline(r->w.port[0]), r->w.now + W_R_A_TOV);
    piece(r, 1, 4, 4, false);
    piece(r, 1, 8, 4, false);
    ck_assert_uint_eq(fcvi_port_deadline(r->w.port[0]), FCVI_NEVER);
    piece(r, 2, 0, 4, false);
    ck_assert_uint_eq(fcvi_port_deadline(r->w.port[0]), r->w.now + W_R_A_TOV);
    rig_hear(r, "02 010100 00 010200 58 290000 07 02 0000 0888 ffff 00000000 %08x 12 02 0000 00*8 00*16",
             r->handle);
    ck_assert_uint_eq(w_state(&r->w, 0, r->vi), FCVI_STATE_ERROR);
    ck_assert_uint_eq(fcvi_port_deadline(r->w.port[0]), FCVI_NEVER);
    rig_end(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("order");
    rig_case(s, "5.2.1", overlapping_frames, 1, 4);
    rig_case(s, "5.2.1", an_empty_last_frame_comes_first, 1, 4);
    rig_case(s, "held", held_frames_make_room, 1, 4);
    rig_case(s, "4c", later_message_starts_the_timer, 1, 4);
    rig_case(s, "4c", held_frame_starts_the_timer, 1, 4);
    rig_case(s, "4c", no_frame_gives_more_time, 1, 4);
    rig_case(s, "5.2.1", pieces_that_join, 1, 4);
    rig_case(s, "held", write_behind_a_write, 1, 4);
    rig_case(s, "5.2.1", empty_behind_a_piece, 1, 4);
    rig_case(s, "5.2.1", piece_without_room, 1, 4);
    rig_case(s, "6a", immediate_data_of_an_odd_frame, 0, 1);
    rig_case(s, "held", longest_frame_is_held, 1, 4);
    rig_case(s, "5.2.1", pieces_are_forgotten, 0, 2);
    rig_case(s, "8.4.2", time_of_what_was_held, 0, 1);
    rig_case(s, "8.4.1", no_timer_is_left, 0, 2);
    return rig_run(s);
}
