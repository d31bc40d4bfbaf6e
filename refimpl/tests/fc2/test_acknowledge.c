/* Class 2 at the recipient: what is acknowledged and how, when an ABTS is asked for (8.4.2 h, Annex B rules
 * 1a and 2a, FC-FS), and connection IUs that come back rejected (8.5.2 a, 8.6.2 a). */
#include "../rig.h"

enum { P_RJT = 0xC2, P_BSY = 0xC4, ABTS_WANTED = 0x10 };

static struct rig *rig2(uint8_t level, bool out_of_order, bool ack_0)
{
    struct rig *r = rig_new(level);
    r->config.service_class = 2;
    r->config.out_of_order = out_of_order;
    r->config.ack_0 = ack_0;
    rig_connect(r);
    return r;
}

/* The acknowledgement of a frame of the tester: contexts turned round, SEQ_ID, SEQ_CNT and OX_ID as they
 * were; EOFt with the end of the Sequence. f_ctl: the bits taken over and the Abort Sequence Condition. */
static void next_ack(struct rig *r, unsigned r_ctl, unsigned f_ctl, unsigned cnt, unsigned ox_id)
{
    unsigned nth = rig_next(r, "%02x 010200 00 010100 00 %06x 07 00 %04x %04x .... %08x", r_ctl,
                            0xC00000 | f_ctl, cnt, ox_id, r_ctl == 0xC0);
    ck_assert_uint_eq(r->sof[nth], FCVI_SOF_N2);
    ck_assert_uint_eq(r->eof[nth], f_ctl & 0x080000 ? FCVI_EOF_T : FCVI_EOF_N);
}

/* Frame cnt of a Send of three frames with four bytes each. */
static void piece(struct rig *r, uint32_t id, uint32_t cnt)
{
    struct rqst q = {.id = id, .cnt = cnt, .offset = 4 * cnt, .length = 4, .total = 12, .last = cnt == 2};
    rig_rqst(r, &q);
}

static uint32_t last_bits(const struct rig *r)
{
    return r->attributes.reliability == FCVI_RELIABLE_RECEPTION ? 0x290000 : 0x380000;
}

/* ---- each frame ---- */

/* _i: level; ACK_0; Fabric. On an Out-of-Order Fabric the last frame may not be the last to come. */
START_TEST(frames_are_acknowledged)
{
    struct rig *r = rig2((uint8_t)(1 + _i % 3), _i / 6, _i / 3 % 2);
    bool whole = _i / 3 % 2 && !r->config.out_of_order;
    rig_receive(r);
    for (uint32_t k = 0; k < 3; k++) {
        piece(r, 1, k);
        if (!whole || k == 2)
            next_ack(r, whole ? 0xC1 : 0xC0, k == 2 ? last_bits(r) : 0x200000, k, 0x701);
    }
    if (r->attributes.reliability == FCVI_RELIABLE_RECEPTION)
        rig_next_resp(r, OP_SEND_RESP, 0, 1);
    rig_silent(r);
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE, 12);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* The class is that of the frame: none for class 3, whatever the port itself sends in. */
START_TEST(class_of_the_frame)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.service_class = _i == 0 ? 2 : 3;
    rig_connect(r);
    rig_receive(r);
    uint8_t bytes[128];
    char hex[RIG_HEX];
    static const uint8_t sofs[][2] = {{FCVI_SOF_I3, FCVI_SOF_N3}, {FCVI_SOF_I2, FCVI_SOF_N2}};
    for (unsigned k = 0; k < 2; k++) {
        snprintf(
            hex, sizeof hex,
            "01 010100 00 010200 58 %06x 07 02 %04x 0701 ffff %08x %08x 00 00 0000 00000001 00*16 00000008 "
            "11223344",
            k == 0 ? 0x200008u : 0x380008u, k, 4 * k, r->handle);
        rig_hear_as(r, bytes, from_hex(hex, bytes), sofs[_i][k], _i == 0 && k == 1 ? FCVI_EOF_T : FCVI_EOF_N);
        if (_i == 1)
            next_ack(r, 0xC0, k == 0 ? 0x200000 : 0x380000, k, 0x701);
    }
    rig_silent(r);
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE, 8);
    rig_end(r);
}
END_TEST

/* ---- 8.4.2 h ---- */

/* Rules 6c and 6d: the frame that shows the error; then rules 1a and 2a. */
START_TEST(abort_sequence_condition)
{
    struct rig *r = rig2((uint8_t)(1 + _i), false, false);
    rig_receive(r);
    rig_receive(r);
    piece(r, 1, 0);
    next_ack(r, 0xC0, 0x200000, 0, 0x701);
    piece(r, 1, 2);
    next_ack(r, 0xC0, last_bits(r) | ABTS_WANTED, 2, 0x701);
    piece(r, 1, 1); /* late */
    next_ack(r, 0xC0, 0x200000 | ABTS_WANTED, 1, 0x701);
    piece(r, 2, 0);
    next_ack(r, 0xC0, r->attributes.reliability == FCVI_UNRELIABLE ? 0x200000 : 0x200000 | ABTS_WANTED, 0,
             0x702);
    rig_silent(r);
    if (r->attributes.reliability == FCVI_UNRELIABLE)
        rig_alive(r);
    else { /* a response is acknowledged as ever: the originator of the Message aborts by itself (rule 1a) */
        rig_hear(
            r,
            "07 010100 00 010200 58 980000 07 01 0000 8888 8001 00000000 %08x 08 00 0000 00000001 00000000",
            r->handle);
        rig_next(r, "c0 010200 00 010100 00 580000 07 00 0000 8888 8001 00000001");
        r->seen = r->sent;
        ck_assert_uint_eq(w_state(&r->w, 0, r->vi), FCVI_STATE_ERROR);
    }
    rig_end(r);
}
END_TEST

/* Out-of-Order Fabric: an error that shows at once (rules 6a and 6b), and a Message known to be lost (2a). */
START_TEST(abort_out_of_order)
{
    struct rig *r = rig2((uint8_t)(1 + _i), true, false);
    struct rqst bad = {.id = 2, .cnt = 1, .offset = 4, .length = 4, .total = 99};
    piece(r, 2, 0);
    next_ack(r, 0xC0, 0x200000, 0, 0x702);
    rig_rqst(r, &bad);
    next_ack(r, 0xC0, 0x200000 | ABTS_WANTED, 1, 0x702);
    piece(r, 2, 2);
    next_ack(r, 0xC0, last_bits(r) | ABTS_WANTED, 2, 0x702);
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* No room for a Message counts as if it had not come, which is no error yet: R_A_TOV is left for it to come
 * again. */
START_TEST(no_room_for_a_message)
{
    enum { ROOM = 4 };
    struct rig *r = rig_new((uint8_t)_i);
    r->config.service_class = 2;
    r->config.out_of_order = true;
    r->limits.exchanges = ROOM;
    rig_connect(r);
    for (uint32_t id = 2; id <= 2 + ROOM; id++) {
        piece(r, id, 0);
        next_ack(r, 0xC0, 0x200000, 0, 0x700 + id);
    }
    struct fcvi_port_counts c;
    fcvi_port_count(r->w.port[0], &c);
    ck_assert_uint_eq(c.exchanges, ROOM);
    rig_silent(r);
    rig_alive(r);
    w_free(&r->w); /* not rig_end: no Exchange is left for a Disconnect */
}
END_TEST

/* E45: a Message Request with the Exchange Context of a response is discarded. */
START_TEST(request_of_a_responder)
{
    struct rig *r = rig2((uint8_t)_i, false, false);
    rig_hear(
        r,
        "01 010100 00 010200 58 b80008 07 02 0000 0701 ffff 00000000 %08x 00 00 0000 00000001 00*16 00000004 "
        "01020304",
        r->handle);
    rig_next(r, "c0 010200 00 010100 00 %06x 07 00 0000 0701 .... 00000001", 0x780000 | ABTS_WANTED);
    rig_silent(r);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* No room for an ACK: it is lost as on the wire, and so is the ABTS that it would have asked for. */
START_TEST(no_room_for_an_ack)
{
    struct rig *r = rig2(FCVI_UNRELIABLE, false, false);
    uint8_t bytes[128];
    char hex[RIG_HEX];
    snprintf(
        hex, sizeof hex,
        "01 010100 00 010200 58 380008 07 02 0005 0701 ffff 00000014 %08x 00 00 0000 00000001 00*16 00000018 "
        "11223344",
        r->handle);
    size_t n = from_hex(hex, bytes);
    struct fcvi_input in = {bytes, n, FCVI_SOF_N2, FCVI_EOF_N, FCVI_CRC_OK};
    for (unsigned k = 0; k < 5000; k++) /* each breaks a rule, and nothing takes the ACKs */
        fcvi_port_receive(r->w.port[0], r->w.now, &in);
    struct fcvi_port_counts c;
    fcvi_port_count(r->w.port[0], &c);
    ck_assert_uint_lt(c.frames, 1000);
    w_quiet(&r->w);
    ck_assert_uint_gt(r->sent - r->seen, 0);
    for (; r->seen < r->sent; r->seen++)
        ck_assert_uint_eq(r->frame[r->seen][0], 0xC0);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* FC-FS: CS_CTL, ACK_Form, the conditions, Relative Offset Present and Fill Bytes are the acknowledgement's
 * own. */
START_TEST(bits_of_its_own)
{
    struct rig *r = rig2(FCVI_RELIABLE_DELIVERY, false, false);
    rig_receive(r);
    rig_hear(
        r,
        "01 010100 80 010200 58 3830f9 07 02 0000 0701 ffff 00000000 %08x 00 00 0000 00000001 00*16 00000003 "
        "11223300",
        r->handle);
    next_ack(r, 0xC0, 0x380000, 0, 0x701);
    rig_silent(r);
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE, 3);
    rig_end(r);
}
END_TEST

/* Rule 2: what comes again of a Message that is over is no error. */
START_TEST(duplicate_is_acknowledged)
{
    struct rig *r = rig2((uint8_t)_i, true, false);
    rig_receive(r);
    for (unsigned k = 0; k < 2; k++) {
        rig_message(r, OP_SEND, 1, 4, 0, 0);
        next_ack(r, 0xC0, last_bits(r), 0, 0x701);
        if (_i == FCVI_RELIABLE_RECEPTION && k == 0)
            rig_next_resp(r, OP_SEND_RESP, 0, 1);
        rig_silent(r);
    }
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* So is ABTS, which has no more than its header. */
START_TEST(abts_is_acknowledged)
{
    struct rig *r = rig2(FCVI_RELIABLE_DELIVERY, false, false);
    rig_hear(r, "81 010100 00 010200 00 090000 07 00 0000 0701 ffff 00000000");
    next_ack(r, 0xC0, 0x090000, 0, 0x701);
    rig_next(r, "84 010200 00 010100 00 990000 .. 00 0000 0701 ffff 00000000 00000000 0701 ffff 0000 ffff");
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* A Message Response is acknowledged without an ABTS being asked for. */
START_TEST(response_is_acknowledged)
{
    struct rig *r = rig2(FCVI_RELIABLE_RECEPTION, false, false);
    rig_post(r, FCVI_SEND, 4);
    unsigned nth = r->seen++;
    rig_hear(r, "c0 010100 00 010200 00 c00000 %02x 00 0000 %04x 8001 00000001", rig_field(r, nth, 12, 1),
             rig_ox(r, nth));
    rig_hear(r,
             "07 010100 00 010200 58 980000 07 01 0000 %04x 8001 00000000 %08x 08 00 0000 00000001 00000000",
             rig_ox(r, nth), r->handle);
    rig_next(r, "c0 010200 00 010100 00 580000 07 00 0000 %04x 8001 00000001", rig_ox(r, nth));
    rig_silent(r);
    w_done(&r->w, 0, r->vi, false, 0, 4);
    rig_end(r);
}
END_TEST

/* 6.6.1: Unreliable Delivery knows no RDMA Read. */
START_TEST(read_is_discarded)
{
    struct rig *r = rig2(FCVI_UNRELIABLE, false, false);
    rig_message(r, OP_READ, 1, 4, RIG_VA, r->region);
    next_ack(r, 0xC0, 0x290000 | ABTS_WANTED, 0, 0x701);
    rig_silent(r);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* Annex F: a Message shows that FCVI_CONNECT_RESP3 is lost. It is discarded. */
START_TEST(message_instead_of_resp3)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.service_class = 2;
    r->config.resp3_is_message_0 = true;
    rig_start(r);
    struct fcvi_address here = w_address(0, 0xDD), there = w_address(1, 0xDD);
    ck_assert_int_eq(fcvi_vip_connect_request(r->w.port[0], r->w.now, r->vi, &here, &there, FCVI_NEVER, 1),
                     FCVI_VIP_PENDING);
    w_quiet(&r->w);
    r->handle = rig_field(r, 0, 64, 4);
    rig_hear(r,
             "03 010100 00 010200 58 890008 06 02 0000 %04x 8001 00000000 "
             "ffffffff 18 00 0000 00*8 00*12 %08x 00000000 0000 0001 0000abcd " RIG_HOST("a2")
                 RIG_HOST("a1") "0000 02 03 %08x 00*16 00000007 00*4",
             rig_ox(r, 0), rig_field(r, 0, 52, 4), (unsigned)RIG_BYTES);
    ck_assert_uint_eq(w_state(&r->w, 0, r->vi), FCVI_STATE_CONNECTED);
    r->seen = r->sent;
    rig_message(r, OP_SEND, 1, 4, 0, 0);
    next_ack(r, 0xC0, 0x380000 | ABTS_WANTED, 0, 0x701);
    rig_next(r, "81 010200 00 010100 00 090000 .. 00 0000 %04x .... 00000000", rig_ox(r, 0));
    rig_silent(r);
    ck_assert_uint_eq(w_state(&r->w, 0, r->vi), FCVI_STATE_ERROR);
    rig_end(r);
}
END_TEST

/* ---- connection IUs that come back ---- */

static void come_back(struct rig *r, unsigned r_ctl, unsigned nth)
{
    rig_hear(r, "%02x 010100 00 010200 00 %06x %02x 00 %04x %04x %04x 010d0000", r_ctl,
             rig_field(r, nth, 9, 3) & 0x800000 ? 0x400000u : 0xC00000u, rig_field(r, nth, 12, 1),
             rig_field(r, nth, 14, 2), rig_ox(r, nth), rig_field(r, nth, 18, 2));
}

static struct rig *unconnected(void)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.service_class = 2;
    rig_start(r);
    return r;
}

/* FCVI_CONNECT_RQST busy: the timers see to it. Rejected: a Sequence error, ABTS, and one retry (8.5.3 a). */
START_TEST(request_rejected)
{
    struct rig *r = unconnected();
    struct fcvi_address here = w_address(0, 0xDD), there = w_address(1, 0xDD);
    ck_assert_int_eq(fcvi_vip_connect_request(r->w.port[0], r->w.now, r->vi, &here, &there, FCVI_NEVER, 1),
                     FCVI_VIP_PENDING);
    w_quiet(&r->w);
    for (unsigned try = 0; try < 2; try++) {
        unsigned nth = r->seen++;
        ck_assert_uint_eq(rig_field(r, nth, 28, 1), 0x10);
        ck_assert_uint_eq(rig_field(r, nth, 29, 1) >> 4 & 1, try); /* RETRY, Table 7 */
        come_back(r, P_BSY, nth);
        rig_silent(r);
        come_back(r, P_RJT, nth);
        rig_next(r, "81 010200 00 010100 00 090000 .. 00 0000 %04x ffff 00000000", rig_ox(r, nth));
        rig_silent(r);
        ck_assert_uint_eq(w_state(&r->w, 0, r->vi),
                          try == 0 ? FCVI_STATE_PENDING_CONNECT_RETRY : FCVI_STATE_ERROR);
        come_back(r, P_RJT, nth); /* once more: it has been aborted */
        rig_hear(r,
                 "84 010100 00 010200 00 990000 00 00 0000 %04x ffff 00000000 0000 0000 %04x ffff 0000 ffff",
                 rig_ox(r, nth), rig_ox(r, nth));
        r->seen++; /* the ACK of BA_ACC */
        come_back(r, P_RJT, nth);
    }
    rig_silent(r);
    ck_assert_int_eq(w_return(&r->w, 0, 1)->vip, VIP_NOT_REACHABLE);
    rig_end(r);
}
END_TEST

/* FCVI_CONNECT_RESP1: the responder's Endpoint goes to Error (8.5.3 d). */
START_TEST(response_rejected)
{
    struct rig *r = unconnected();
    struct fcvi_address here = w_address(0, 0xDD);
    ck_assert_int_eq(fcvi_vip_connect_wait(r->w.port[0], r->w.now, &here, FCVI_NEVER, 1), FCVI_VIP_PENDING);
    rig_hear(r,
             "02 010100 00 010200 58 290008 05 02 0000 0123 ffff 00000000 "
             "ffffffff 10 01 0000 00000000 00000000 00*12 00000042 00000000 0000 0001 0000abcd " RIG_HOST(
                 "a2") RIG_HOST("a1") "0000 02 03 %08x 00*16 00000007 00*4",
             (unsigned)RIG_BYTES);
    ck_assert_int_eq(fcvi_vip_connect_accept(r->w.port[0], r->w.now, w_return(&r->w, 0, 1)->conn, r->vi, 2),
                     FCVI_VIP_PENDING);
    w_quiet(&r->w);
    ck_assert_uint_eq(rig_field(r, r->sent - 1, 28, 1), 0x18);
    come_back(r, P_RJT, r->sent - 1);
    ck_assert_int_eq(w_return(&r->w, 0, 2)->vip, VIP_TIMEOUT);
    ck_assert_uint_eq(w_state(&r->w, 0, r->vi), FCVI_STATE_ERROR);
    rig_end(r);
}
END_TEST

/* FCVI_DISCONNECT_RQST: ABTS, VIP_NOT_REACHABLE and Error (8.6.3 a). */
START_TEST(disconnect_rejected)
{
    struct rig *r = rig2(FCVI_RELIABLE_DELIVERY, false, false);
    ck_assert_int_eq(fcvi_vip_disconnect(r->w.port[0], r->w.now, r->vi, 7), FCVI_VIP_PENDING);
    w_quiet(&r->w);
    unsigned nth = r->seen++;
    ck_assert_uint_eq(rig_field(r, nth, 28, 1), 0x12);
    come_back(r, P_RJT, nth);
    rig_next(r, "81 010200 00 010100 00 090000 .. 00 0000 %04x ffff 00000000", rig_ox(r, nth));
    ck_assert_int_eq(w_return(&r->w, 0, 7)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(w_state(&r->w, 0, r->vi), FCVI_STATE_ERROR);
    rig_end(r);
}
END_TEST

/* PLOGI: the login has failed, as it would when R_A_TOV runs out without a reply. */
START_TEST(login_rejected)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.service_class = 2;
    r->config.explicit_login = true;
    rig_start(r);
    struct fcvi_address here = w_address(0, 0xDD), there = w_address(1, 0xDD);
    ck_assert_int_eq(fcvi_vip_connect_request(r->w.port[0], r->w.now, r->vi, &here, &there, FCVI_NEVER, 1),
                     FCVI_VIP_PENDING);
    w_quiet(&r->w);
    ck_assert_uint_eq(rig_field(r, 0, 24, 1), 0x03);
    come_back(r, P_RJT, 0);
    ck_assert_ptr_nonnull(w_return(&r->w, 0, 1));
    ck_assert_int_ne(w_return(&r->w, 0, 1)->vip, VIP_SUCCESS);
    rig_end(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("acknowledge");
    rig_case(s, "ACK", frames_are_acknowledged, 0, 12);
    rig_case(s, "class", class_of_the_frame, 0, 2);
    rig_case(s, "8.4.2 h", abort_sequence_condition, 0, 3);
    rig_case(s, "8.4.2 h", abort_out_of_order, 0, 3);
    rig_case(s, "ACK", bits_of_its_own, 0, 1);
    rig_case(s, "2", duplicate_is_acknowledged, 1, 4);
    rig_case(s, "ACK", abts_is_acknowledged, 0, 1);
    rig_case(s, "ACK", response_is_acknowledged, 0, 1);
    rig_case(s, "6.6.1", read_is_discarded, 0, 1);
    rig_case(s, "Annex F", message_instead_of_resp3, 0, 1);
    rig_case(s, "8.4.2 h", request_of_a_responder, 1, 4);
    rig_case(s, "room", no_room_for_a_message, 1, 4);
    rig_case(s, "room", no_room_for_an_ack, 0, 1);
    rig_case(s, "8.5.3", request_rejected, 0, 1);
    rig_case(s, "8.5.3", response_rejected, 0, 1);
    rig_case(s, "8.6.3", disconnect_rejected, 0, 1);
    rig_case(s, "5.6", login_rejected, 0, 1);
    return rig_run(s);
}
