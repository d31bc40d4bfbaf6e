/* Rev 1.0 (1999): Messages (5.2, 5.6, 5.7, 6.1 to 6.6). The clauses are the draft's; V.. are the golden bytes
 * of its tables, R.. its register of errata. */
#include "rev1.h"

enum { VA = 0x12345000, BYTES = 8192, SLOT = 1024, UD = 1, RD = 2, RR = 3 };

/* One VI connected with the peer, and memory that the peer may write and read. */
struct r1 {
    struct bench *b;
    uint32_t vi, handle, mem, region;
    uint8_t level;
    uint8_t bytes[BYTES];
    unsigned slots;
};

static struct r1 *begin_as(uint8_t level, const struct fcvi_port_config *c)
{
    struct r1 *r = calloc(1, sizeof *r);
    r->b = r1_begin(c);
    r->level = level;
    r->vi = r1_vi(r->b, level, false);
    struct fcvi_region region = {
        .va = VA, .length = BYTES, .rdma_write = true, .rdma_read = true, .bytes = r->bytes};
    ck_assert_int_eq(fcvi_vip_register_region(r->b->port, r->b->now, &region, &r->mem, &r->region),
                     VIP_SUCCESS);
    r->handle = r1_connect(r->b, r->vi, level);
    r->b->sent = 0;
    return r;
}

static struct r1 *begin(uint8_t level)
{
    struct fcvi_port_config c = r1_config();
    return begin_as(level, &c);
}

static void end(struct r1 *r)
{
    r1_end(r->b);
    free(r);
}

/* A Descriptor at the first bytes; a RDMA operation goes to V2's place. */
static void post(struct r1 *r, enum fcvi_op op, uint32_t length, bool immediate)
{
    static struct fcvi_descriptor d;
    d = (struct fcvi_descriptor){.op = (uint8_t)op,
                                 .segments = 1,
                                 .has_immediate = immediate,
                                 .immediate = 0xDEADBEEF,
                                 .remote_va = VA,
                                 .remote_handle = 0x77,
                                 .segment = {{r->mem, 0, length}}};
    ck_assert_int_eq(fcvi_vip_post(r->b->port, r->b->now, r->vi, &d), VIP_SUCCESS);
    collect(r->b);
}

/* A receive Descriptor of SLOT bytes behind the first 4096. */
static uint8_t *receive(struct r1 *r)
{
    static struct fcvi_descriptor d;
    uint32_t at = 4096 + SLOT * r->slots++;
    d = (struct fcvi_descriptor){.op = FCVI_RECV, .segments = 1, .segment = {{r->mem, at, SLOT}}};
    ck_assert_int_eq(fcvi_vip_post(r->b->port, r->b->now, r->vi, &d), VIP_SUCCESS);
    return r->bytes + at;
}

static struct fcvi_completion done(struct r1 *r, bool recv)
{
    struct fcvi_completion c;
    fcvi_vip_done(r->b->port, r->b->now, r->vi, recv, &c);
    return c;
}

static void alive(struct r1 *r)
{
    ck_assert_uint_eq(state_of(r->b, r->vi), FCVI_STATE_CONNECTED);
}

/* ---- what it sends ---- */

/* V1: a Send with Immediate Data. The first Message has VI_MSG_ID 0. */
START_TEST(a_send_goes_out)
{
    struct r1 *r = begin(UD);
    from_hex("0102030405", r->bytes);
    post(r, FCVI_SEND, 5, true);
    expect(r->b, 0,
           "01 010100 00 010200 58 38000b .. 01 0000 .... ffff 00000000 0000beef 00800000 00000000 deadbeef "
           "0102030405 000000");
    post(r, FCVI_SEND, 0, false);
    expect(r->b, 1,
           "01 010100 00 010200 58 380000 .. 01 0000 .... ffff 00000000 0000beef 00000000 00000001 00000000");
    ck_assert_uint_eq(done(r, false).status, FCVI_STATUS_DONE);
    end(r);
}
END_TEST

/* V2: word 7 of a FCVI_WRITE_RQST is zero (R09). */
START_TEST(an_rdma_write_goes_out)
{
    struct r1 *r = begin(RD);
    memset(r->bytes, 0xab, 4);
    post(r, FCVI_SEND, 0, false);
    post(r, FCVI_RDMA_WRITE, 4, false);
    expect(r->b, 1,
           "01 010100 00 010200 58 380008 .. 02 0000 .... ffff 00000000 "
           "0000beef 01000000 00000001 00000000 00000000 12345000 00000077 00000000 abababab");
    post(r, FCVI_RDMA_WRITE, 4, true);
    ck_assert_uint_eq(word_of(r->b, 2, 28, 4), 0x01800000);
    ck_assert_uint_eq(word_of(r->b, 2, 36, 4), 0xDEADBEEF);
    end(r);
}
END_TEST

/* R04: the length goes with a FCVI_READ_RQST. The answer has 16 bytes of Device_Header, and may be empty
 * where the other side has taken 6.5 literally. */
START_TEST(an_rdma_read_goes_out)
{
    struct r1 *r = begin(RD);
    post(r, FCVI_RDMA_READ, 6, false);
    expect(r->b, 0,
           "06 010100 00 010200 58 290000 .. 02 0000 .... ffff 00000000 "
           "0000beef 02000000 00000000 00000000 00000000 12345000 00000077 00000006");
    hear(r->b,
         "01 010200 00 010100 58 80000%c 06 01 0000 %04x 8001 00000000 %08x 0a000000 00000000 00000000 "
         "11223344",
         '8', ox_of(r->b, 0), r->handle);
    hear(r->b,
         "01 010200 00 010100 58 98000a 07 01 0001 %04x 8001 %08x %08x 0a000000 00000000 00000000 5566 0000",
         ox_of(r->b, 0), _i == 0 ? 4 : 0, r->handle);
    if (_i == 0) {
        ck_assert_uint_eq(done(r, false).status, FCVI_STATUS_DONE | FCVI_STATUS_OP_RDMA_READ);
        ck_assert_mem_eq(r->bytes, "\x11\x22\x33\x44\x55\x66", 6);
        alive(r);
    } else { /* it begins again within an IU */
        ck_assert(done(r, false).status & FCVI_STATUS_TRANSPORT_ERROR);
    }
    end(r);
}
END_TEST

/* R02: RLTV_OFF goes on in a second IU of the answer, or begins again. */
START_TEST(the_answer_to_an_rdma_read_has_several_ius)
{
    struct r1 *r = begin(RR);
    post(r, FCVI_RDMA_READ, 6, false);
    hear(r->b,
         "01 010200 00 010100 58 880008 06 01 0000 %04x 8001 00000000 %08x 0a000000 00000000 00000000 "
         "11223344",
         ox_of(r->b, 0), r->handle);
    hear(r->b,
         "01 010200 00 010100 58 98000a 07 01 0001 %04x 8001 %08x %08x 0a000000 00000000 00000000 5566 0000",
         ox_of(r->b, 0), _i == 0 ? 4 : 0, r->handle);
    ck_assert_uint_eq(done(r, false).status, FCVI_STATUS_DONE | FCVI_STATUS_OP_RDMA_READ);
    ck_assert_mem_eq(r->bytes, "\x11\x22\x33\x44\x55\x66", 6);
    end(r);
}
END_TEST

/* Empty, too long, elsewhere, not the next frame. */
START_TEST(an_answer_to_an_rdma_read_does_not_fit)
{
    static const char *const answers[] = {
        "01 010200 00 010100 58 980000 06 01 0000 %04x 8001 00000000 %08x 0a000000 00000000 00000000",
        "01 010200 00 010100 58 980008 06 01 0000 %04x 8001 00000000 %08x 0a000000 00000000 00000000 00*8",
        "01 010200 00 010100 58 980008 06 01 0000 %04x 8001 00000004 %08x 0a000000 00000000 00000000 00*4",
        "01 010200 00 010100 58 980008 06 01 0003 %04x 8001 00000000 %08x 0a000000 00000000 00000000 00*4",
    };
    struct r1 *r = begin(RD);
    char hex[512];
    post(r, FCVI_RDMA_READ, 4, false);
    snprintf(hex, sizeof hex, answers[_i], ox_of(r->b, 0), r->handle);
    hear(r->b, "%s", hex);
    ck_assert_uint_eq(state_of(r->b, r->vi), FCVI_STATE_ERROR);
    ck_assert_uint_eq(r->b->frame[1][0], 0x81); /* 8: the Exchange is aborted */
    end(r);
}
END_TEST

/* 6.2 to 6.6, Table 6: what a response tells is the status of the Descriptor. */
START_TEST(a_response_ends_a_message)
{
    static const struct {
        enum fcvi_op op;
        unsigned opcode, flags;
        uint32_t status;
    } all[] = {
        {FCVI_SEND, 0x08, 0, 0},
        {FCVI_RDMA_WRITE, 0x09, 0, FCVI_STATUS_OP_RDMA_WRITE},
        {FCVI_SEND, 0x08, 3, FCVI_STATUS_REMOTE_DESC_ERROR},
        {FCVI_SEND, 0x08, 9, FCVI_STATUS_TRANSPORT_ERROR},
        {FCVI_RDMA_WRITE, 0x09, 5, FCVI_STATUS_OP_RDMA_WRITE | FCVI_STATUS_RDMA_PROT_ERROR},
        {FCVI_RDMA_READ, 0x0a, 5, FCVI_STATUS_OP_RDMA_READ | FCVI_STATUS_RDMA_PROT_ERROR},
    };
    struct r1 *r = begin(RR);
    post(r, all[_i].op, 4, false);
    ck_assert_uint_eq(word_of(r->b, 0, 9, 3) & 0x190000,
                      0x090000); /* Sequence Initiative passes, the Exchange goes on */
    hear(
        r->b,
        "%02x 010200 00 010100 58 980000 06 01 0000 %04x 8001 00000000 %08x %02x %02x 0000 00000000 00000000",
        all[_i].opcode == 0x0a ? 1 : 7, ox_of(r->b, 0), r->handle, all[_i].opcode, all[_i].flags);
    ck_assert_uint_eq(done(r, false).status, all[_i].status | FCVI_STATUS_DONE);
    ck_assert_uint_eq(state_of(r->b, r->vi), all[_i].flags == 0 ? FCVI_STATE_CONNECTED : FCVI_STATE_ERROR);
    end(r);
}
END_TEST

/* 8: no response for FCVI_ULP_TIMEOUT. */
START_TEST(no_response_means_abts)
{
    struct r1 *r = begin(RR);
    post(r, (enum fcvi_op)_i, 4, false);
    advance(r->b, R_A_TOV - 1);
    ck_assert_uint_eq(r->b->sent, 1);
    advance(r->b, 1);
    expect(r->b, 1, "81 010100 00 010200 00 090000 .. 00 0000 %04x ffff 00000000", ox_of(r->b, 0));
    ck_assert(done(r, false).status & FCVI_STATUS_TRANSPORT_ERROR);
    end(r);
}
END_TEST

/* R25: Messages are streamed, whatever the attributes of 2007 say. 5.2.3: no RDMA Read on Unreliable
 * Delivery. */
START_TEST(messages_are_streamed)
{
    struct r1 *r = begin(RR);
    for (unsigned i = 0; i < 4; i++)
        post(r, FCVI_SEND, 4, false);
    ck_assert_uint_eq(r->b->sent, 4);
    ck_assert_uint_eq(word_of(r->b, 3, 32, 4), 3);
    end(r);
    r = begin(UD);
    post(r, FCVI_RDMA_READ, 4, false);
    ck_assert_uint_eq(r->b->sent, 0);
    ck_assert(done(r, false).status & FCVI_STATUS_FORMAT_ERROR);
    end(r);
}
END_TEST

/* 5.6.5, 5.6.6: frames of several IUs; SEQ_CNT and RLTV_OFF go on. */
START_TEST(a_long_send_is_cut)
{
    struct fcvi_port_config c = r1_config();
    c.receive_size = 348;
    c.iu_size = 700;
    struct r1 *r = begin_as(UD, &c);
    uint32_t room = 348 - 32, at = 0;
    post(r, FCVI_SEND, 1500, false);
    ck_assert_uint_eq(r->b->sent, 5);
    for (unsigned i = 0; i < 5; i++) {
        uint32_t piece = i == 4 ? 1500 - at : room;
        ck_assert_uint_eq(r->b->length[i], 24 + 16 + (piece + 3) / 4 * 4);
        ck_assert_uint_eq(word_of(r->b, i, 14, 2), i);
        ck_assert_uint_eq(word_of(r->b, i, 20, 4), at);
        ck_assert_uint_eq((word_of(r->b, i, 9, 3) & 0x080000) != 0, i % 2 == 1 || i == 4); /* End_Sequence */
        at += piece;
    }
    end(r);
}
END_TEST

/* 5.4: SEQ_CNT does not wrap in an IU: the IU ends before it would. */
START_TEST(no_iu_wraps)
{
    enum { LENGTH = 65600 * 16 };
    static uint8_t big[LENGTH];
    static struct fcvi_descriptor d;
    struct fcvi_port_config c = r1_config();
    struct fcvi_port_limits l = b_limits;
    l.max_transfer_size = LENGTH;
    c.explicit_login = false;
    c.receive_size = 348;
    c.iu_size = 3 * 316; /* 65536 is no multiple of 3 */
    struct bench *b = b_begin(&l, &c);
    b->edition = FCVI_EDITION_REV1;
    struct fcvi_attributes a = {.reliability = UD};
    struct fcvi_region region = {.va = VA, .length = LENGTH, .bytes = big};
    uint32_t vi, mem, handle;
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, 0, &a, &vi), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_register_region(b->port, 0, &region, &mem, &handle), VIP_SUCCESS);
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    r1_hear_resp1(b, 0, 0, 0, R1_HANDLE, "01000000 00100400 00*16 00000000");
    d = (struct fcvi_descriptor){.op = FCVI_SEND, .segments = FCVI_MAX_SEGMENTS};
    for (unsigned i = 0; i < FCVI_MAX_SEGMENTS; i++)
        d.segment[i] = (struct fcvi_segment){mem, 0, 4};
    d.segments = 1;
    d.segment[0].length = LENGTH;
    ck_assert_int_eq(fcvi_vip_post(b->port, 0, vi, &d), VIP_SUCCESS);
    static uint8_t out[FRAME];
    struct fcvi_transmitted meta;
    bool ends = true;
    unsigned frames = 0;
    while (fcvi_port_transmit(b->port, 0, out, FRAME, &meta) > 0) {
        ck_assert(ends || fcvi_FC_SEQ_CNT(out) != 0);
        ends = fcvi_FC_End_Sequence(out);
        frames++;
    }
    ck_assert_uint_eq(frames, (LENGTH + 315) / 316);
    collect(b);
    r1_end(b);
}
END_TEST

/* 5.6.2: PREF in every IU of a connection with Priority. */
START_TEST(pref_is_in_every_iu)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, RR, true);
    const char *priority = "04000000 00008000 01 00*15 03000000";
    b_request(b, vi, THEIRS, FCVI_NEVER, 1);
    uint32_t handle = r1_handle_at(b, 0);
    r1_hear_resp1(b, 0, 0, 0, R1_HANDLE, priority);
    static struct fcvi_descriptor d;
    d = (struct fcvi_descriptor){.op = FCVI_SEND};
    ck_assert_int_eq(fcvi_vip_post(b->port, b->now, vi, &d), VIP_SUCCESS);
    d.op = FCVI_RECV;
    ck_assert_int_eq(fcvi_vip_post(b->port, b->now, vi, &d), VIP_SUCCESS);
    hear(b, "01 010200 80 010100 58 290000 07 01 0000 0700 ffff 00000000 %08x 00000000 00000000 00000000",
         handle);
    hear(b, "06 010200 80 010100 58 290000 07 02 0000 0701 ffff 00000000 %08x 02000000 00000001 00*20",
         handle);
    r1_hear_disconnect(b, 5, 0x800, handle, 2);
    ck_assert_uint_eq(b->sent, 7); /* with the ABTS of the Send that is open */
    for (unsigned i = 0; i < b->sent; i++)
        ck_assert_msg(b->frame[i][0] == 0x81 || word_of(b, i, 4, 1) == 0x80, "frame %u, opcode %02x", i,
                      opcode_at(b, i));
    r1_end(b);
}
END_TEST

/* ---- what it receives ---- */

/* A frame of a Send of the peer in Exchange 0700h and id: last ends the Message. */
static void hear_send(struct r1 *r, uint32_t id, unsigned cnt, uint32_t at, unsigned flags, bool ends,
                      bool last, const char *payload)
{
    unsigned f_ctl =
        0x200000 | (ends ? 0x080000 : 0) | (last ? (r->level == RR ? 0x010000 : 0x100000) : 0) | 8;
    hear(r->b, "01 010200 00 010100 58 %06x 07 01 %04x %04x ffff %08x %08x 00 %02x 0000 %08x %08x %s", f_ctl,
         cnt, 0x700 + (id & 0xff), at, r->handle, flags, id, flags ? 0xCAFEu : 0u, payload);
}

static void hear_write(struct r1 *r, uint32_t id, unsigned cnt, uint64_t va, uint32_t at, unsigned flags,
                       bool ends, bool last, const char *payload)
{
    unsigned f_ctl =
        0x200000 | (ends ? 0x080000 : 0) | (last ? (r->level == RR ? 0x010000 : 0x100000) : 0) | 8;
    hear(r->b,
         "01 010200 00 010100 58 %06x 07 02 %04x %04x ffff %08x %08x 01 %02x 0000 %08x %08x %016llx %08x "
         "%08x %s",
         f_ctl, cnt, 0x700 + (id & 0xff), at, r->handle, flags, id, flags ? 0xCAFEu : 0u,
         (unsigned long long)va, r->region, 0u, payload);
}

/* 5.7.5, 6.2, R09: a Send is whole with its last frame; only Reliable Reception has a response, with the
 * VI_MSG_ID. V3's layout without an error. */
START_TEST(a_send_is_received)
{
    struct r1 *r = begin((uint8_t)_i);
    uint8_t *at = receive(r);
    hear_send(r, 0, 0, 0, 0x80, false, false, "11223344");
    hear_send(r, 0, 1, 4, 0x80, true, true, "55667788");
    struct fcvi_completion c = done(r, true);
    ck_assert_uint_eq(c.status, FCVI_STATUS_DONE | FCVI_STATUS_OP_RECEIVE | FCVI_STATUS_IMMEDIATE);
    ck_assert_uint_eq(c.length, 8);
    ck_assert_uint_eq(c.immediate, 0xCAFE);
    ck_assert_mem_eq(at, "\x11\x22\x33\x44\x55\x66\x77\x88\x00", 9);
    ck_assert_uint_eq(r->b->sent, _i == RR);
    if (_i == RR)
        expect(r->b, 0,
               "07 010100 00 010200 58 980000 .. 01 0000 0700 .... 00000000 0000beef 08000000 00000000 "
               "00000000");
    receive(r);
    hear_send(r, 1, 0, 0, 0, true, true, "");
    ck_assert_uint_eq(done(r, true).status, FCVI_STATUS_DONE | FCVI_STATUS_OP_RECEIVE);
    alive(r);
    end(r);
}
END_TEST

/* 5.7.2, 5.7.3: bit 0 means nothing here; VI_RSVD and word 7 of an RDMA Write are ignored. */
START_TEST(what_is_reserved_means_nothing)
{
    struct r1 *r = begin(RD);
    receive(r);
    hear_send(r, 0, 0, 0, 0x01, true, true, "11223344");
    ck_assert_uint_eq(done(r, true).status, FCVI_STATUS_DONE | FCVI_STATUS_OP_RECEIVE);
    receive(r);
    hear(r->b, "01 010200 00 010100 58 390000 07 01 0000 0701 ffff 00000000 %08x 0000ffff 00000001 00000000",
         r->handle);
    ck_assert_uint_eq(done(r, true).status, FCVI_STATUS_DONE | FCVI_STATUS_OP_RECEIVE);
    hear(r->b,
         "01 010200 00 010100 58 390008 07 02 0000 0702 ffff 00000000 %08x 01000000 00000002 00000000 "
         "00000000 12345000 %08x 00000063 a1a2a3a4",
         r->handle, r->region);
    ck_assert_mem_eq(r->bytes, "\xa1\xa2\xa3\xa4", 4);
    alive(r);
    end(r);
}
END_TEST

/* V3: a Descriptor that is too short, none at all, and one that is too short only for what comes last. */
START_TEST(a_send_does_not_fit)
{
    struct r1 *r = begin(RR);
    static struct fcvi_descriptor d;
    d = (struct fcvi_descriptor){.op = FCVI_RECV, .segments = 1, .segment = {{r->mem, 4096, 6}}};
    if (_i != 1)
        ck_assert_int_eq(fcvi_vip_post(r->b->port, r->b->now, r->vi, &d), VIP_SUCCESS);
    if (_i == 2) {
        hear_send(r, 0, 0, 0, 0, false, false, "11223344");
        hear_send(r, 0, 1, 4, 0, true, true, "55667788");
    } else {
        hear_send(r, 0, 0, 0, 0, true, true, "1122334455667788");
    }
    expect(r->b, 0,
           "07 010100 00 010200 58 980000 .. 01 0000 0700 .... 00000000 0000beef 08030000 00000000 00000000");
    ck_assert_uint_eq(r->bytes[4096 + 6], 0);
    if (_i != 1)
        ck_assert(done(r, true).status & FCVI_STATUS_LENGTH_ERROR);
    ck_assert_uint_eq(state_of(r->b, r->vi), FCVI_STATE_ERROR);
    end(r);
}
END_TEST

/* 5.6.6, R02: over several IUs RLTV_OFF goes on or begins again, with VI_RMT_VA where there is one. */
START_TEST(a_message_of_several_ius_is_received)
{
    struct r1 *r = begin(RD);
    uint8_t *at = receive(r);
    hear_send(r, 0, 0, 0, 0, false, false, "11223344");
    hear_send(r, 0, 1, 4, 0, true, false, "55667788");
    hear_send(r, 0, 2, _i ? 0 : 8, 0, false, false, "99aabbcc");
    hear_send(r, 0, 3, _i ? 4 : 12, 0, true, true, "ddeeff00");
    ck_assert_uint_eq(done(r, true).length, 16);
    ck_assert_mem_eq(at, "\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff\x00", 16);
    hear_write(r, 1, 0, VA + 16, 0, 0, true, false, "01020304");
    hear_write(r, 1, 1, VA + (_i ? 20 : 16), _i ? 0 : 4, 0, true, true, "05060708");
    ck_assert_mem_eq(r->bytes + 16, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
    alive(r);
    end(r);
}
END_TEST

/* What does not go on from the frame before is a Sequence error. */
START_TEST(a_message_that_does_not_go_on_is_an_error)
{
    struct r1 *r = begin(RD);
    receive(r);
    switch (_i) {
    case 0: /* begins again within an IU */
        hear_send(r, 0, 0, 0, 0, false, false, "11223344");
        hear_send(r, 0, 1, 0, 0, true, true, "55667788");
        break;
    case 1: /* leaves a gap */
        hear_send(r, 0, 0, 0, 0, true, false, "11223344");
        hear_send(r, 0, 1, 8, 0, true, true, "55667788");
        break;
    case 2: /* the address leaves one */
        hear_write(r, 0, 0, VA, 0, 0, true, false, "11223344");
        hear_write(r, 0, 1, VA + 8, 0, 0, true, true, "55667788");
        break;
    case 3: /* another region */
        hear_write(r, 0, 0, VA, 0, 0, true, false, "11223344");
        r->region++;
        hear_write(r, 0, 1, VA, 4, 0, true, true, "55667788");
        break;
    case 4: /* another IU in the Exchange */
        hear_send(r, 0, 0, 0, 0, true, false, "11223344");
        hear_write(r, 0, 1, VA, 4, 0, true, true, "55667788");
        break;
    case 5: /* a frame is missing */
        hear_send(r, 0, 0, 0, 0, false, false, "11223344");
        hear_send(r, 0, 2, 8, 0, true, true, "55667788");
        break;
    case 6: /* a Message is */
        hear_send(r, 1, 0, 0, 0, true, true, "11223344");
        break;
    case 7: /* a FCVI_READ_RQST with a payload */
        hear(r->b,
             "06 010200 00 010100 58 290008 07 02 0000 0700 ffff 00000000 %08x 02000000 00000000 00*20 "
             "11223344",
             r->handle);
        break;
    default: /* longer than a Message can be */
        hear_send(r, 0, 0, 0, 0, true, false, "");
        hear_send(r, 0, 1, UINT32_MAX, 0, true, true, "55667788");
        break;
    }
    ck_assert_uint_eq(errors(r->b, r->vi, VIP_ERROR_CONN_LOST), 1);
    ck_assert_uint_eq(state_of(r->b, r->vi), FCVI_STATE_ERROR);
    end(r);
}
END_TEST

/* The rest of a Message never comes. */
START_TEST(a_lost_tail_is_given_up)
{
    struct r1 *r = begin((uint8_t)(1 + _i));
    receive(r);
    hear_send(r, 0, 0, 0, 0, true, false, "11223344");
    advance(r->b, R_A_TOV);
    ck_assert(done(r, true).status & FCVI_STATUS_TRANSPORT_ERROR);
    ck_assert_uint_eq(state_of(r->b, r->vi), _i == 0 ? FCVI_STATE_CONNECTED : FCVI_STATE_ERROR);
    end(r);
}
END_TEST

/* No rule of the draft forbids the frames of two Exchanges to take turns (FC-PH): both Messages are whole. */
START_TEST(messages_take_turns)
{
    struct r1 *r = begin((uint8_t)(1 + _i));
    uint8_t *first = receive(r), *third = receive(r);
    hear_send(r, 0, 0, 0, 0, false, false, "11223344");
    hear_write(r, 1, 0, VA, 0, 0, true, false, "01020304");
    hear_send(r, 2, 0, 0, 0, true, true, "99aabbcc");
    ck_assert_uint_eq(done(r, true).status, 0);
    hear_send(r, 0, 1, 4, 0, true, true, "55667788");
    ck_assert_uint_eq(done(r, true).length, 8);
    ck_assert_mem_eq(first, "\x11\x22\x33\x44\x55\x66\x77\x88", 8);
    hear_write(r, 1, 1, VA, 4, 0, true, true, "05060708");
    ck_assert_mem_eq(r->bytes, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
    ck_assert_uint_eq(done(r, true).length, 4);
    ck_assert_mem_eq(third, "\x99\xaa\xbb\xcc", 4);
    alive(r);
    end(r);
}
END_TEST

/* What waited for the rest of a Message that never came is taken where the Connection lives on. */
START_TEST(a_message_that_waited_for_a_lost_one_is_received)
{
    struct r1 *r = begin((uint8_t)(1 + _i));
    receive(r);
    receive(r);
    hear_send(r, 0, 0, 0, 0, true, false, "11223344");
    hear_send(r, 1, 0, 0, 0, true, true, "99aabbcc");
    advance(r->b, R_A_TOV);
    ck_assert(done(r, true).status & FCVI_STATUS_TRANSPORT_ERROR);
    ck_assert_uint_eq(done(r, true).length, _i == 0 ? 4 : 0);
    ck_assert_uint_eq(state_of(r->b, r->vi), _i == 0 ? FCVI_STATE_CONNECTED : FCVI_STATE_ERROR);
    end(r);
}
END_TEST

/* 6.5, 6.6: the data of an RDMA Read come in frames with 16 bytes of Device_Header. R04: without a length it
 * reads nothing. */
START_TEST(an_rdma_read_is_answered)
{
    struct r1 *r = begin(RD);
    from_hex("a1a2a3a4a5a6", r->bytes + 8);
    hear(r->b,
         "06 010200 00 010100 58 290000 07 02 0000 0700 ffff 00000000 %08x 02000000 00000000 00000000 "
         "00000000 12345008 %08x %08x",
         r->handle, r->region, _i == 0 ? 6u : 0u);
    if (_i == 0)
        expect(
            r->b, 0,
            "01 010100 00 010200 58 98000a .. 01 0000 0700 .... 00000000 0000beef 0a000000 00000000 00000000 "
            "a1a2a3a4a5a6 0000");
    else
        expect(r->b, 0,
               "01 010100 00 010200 58 980000 .. 01 0000 0700 .... 00000000 0000beef 0a000000 00000000 "
               "00000000");
    alive(r);
    end(r);
}
END_TEST

/* 6.6: RESP_ERR and PROT_ERR where the region does not allow it. */
START_TEST(an_rdma_read_is_refused)
{
    struct r1 *r = begin(RD);
    hear(r->b,
         "06 010200 00 010100 58 290000 07 02 0000 0700 ffff 00000000 %08x 02000000 00000000 00000000 "
         "00000000 12345008 %08x 00002000",
         r->handle, r->region);
    expect(r->b, 0,
           "01 010100 00 010200 58 980000 .. 01 0000 0700 .... 00000000 0000beef 0a050000 00000000 00000000");
    ck_assert_uint_eq(state_of(r->b, r->vi), FCVI_STATE_ERROR);
    end(r);
}
END_TEST

/* ---- an Out-of-Order Fabric ---- */

static struct r1 *begin_out_of_order(uint8_t level)
{
    struct fcvi_port_config c = r1_config();
    c.out_of_order = true;
    return begin_as(level, &c);
}

/* The last frame comes first, and tells the length; two Messages turn around. */
START_TEST(frames_overtake_each_other)
{
    struct r1 *r = begin_out_of_order(RR);
    uint8_t *first = receive(r), *second = receive(r);
    hear_send(r, 1, 1, 4, 0x80, true, true, "e5e6e7e8");
    hear_send(r, 1, 0, 0, 0x80, false, false, "e1e2e3e4");
    ck_assert_uint_eq(r->b->sent, 0);
    hear_send(r, 0, 2, 8, 0, true, true, "99aabbcc");
    hear_send(r, 0, 0, 0, 0, false, false, "11223344");
    hear_send(r, 0, 0, 0, 0, false, false, "11223344");
    hear_send(r, 0, 1, 4, 0, false, false, "55667788");
    struct fcvi_completion c = done(r, true);
    ck_assert_uint_eq(c.length, 12);
    ck_assert_mem_eq(first, "\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc", 12);
    c = done(r, true);
    ck_assert_uint_eq(c.length, 8);
    ck_assert_uint_eq(c.immediate, 0xCAFE);
    ck_assert_mem_eq(second, "\xe1\xe2\xe3\xe4\xe5\xe6\xe7\xe8", 8);
    ck_assert_uint_eq(r->b->sent, 2); /* in the order of the Messages (5.1) */
    ck_assert_uint_eq(word_of(r->b, 0, 32, 4), 0);
    receive(r);
    hear_write(r, 2, 1, VA, 4, 0x80, true, true, "05060708");
    hear_write(r, 2, 0, VA, 0, 0x80, false, false, "01020304");
    ck_assert_mem_eq(r->bytes, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
    ck_assert(done(r, true).status & FCVI_STATUS_IMMEDIATE);
    end(r);
}
END_TEST

START_TEST(frames_that_cannot_belong_together)
{
    struct r1 *r = begin_out_of_order(RD);
    receive(r);
    switch (_i) {
    case 0: /* beyond the end */
        hear_send(r, 0, 1, 4, 0, true, true, "55667788");
        hear_send(r, 0, 2, 8, 0, false, false, "11223344");
        break;
    case 1: /* an end before what has come */
        hear_send(r, 0, 2, 8, 0, false, false, "55667788");
        hear_send(r, 0, 1, 4, 0, true, true, "11223344");
        break;
    case 2:
        hear_write(r, 0, 0, VA, 0, 0, false, false, "11223344");
        hear_write(r, 0, 1, VA + 4, 0, 0, true, true, "55667788");
        break;
    case 3:
        hear_write(r, 0, 0, VA, 0, 0, false, false, "11223344");
        r->region++;
        hear_write(r, 0, 1, VA, 4, 0, true, true, "55667788");
        break;
    case 4:
        hear_send(r, 0, 0, 0, 0, false, false, "11223344");
        hear_write(r, 0, 1, VA, 4, 0, true, true, "55667788");
        break;
    case 5:
        hear_send(r, 0, 1, UINT32_MAX - 1, 0, true, true, "55667788");
        break;
    default:
        hear(r->b,
             "06 010200 00 010100 58 290008 07 02 0000 0700 ffff 00000000 %08x 02000000 00000000 00*20 "
             "11223344",
             r->handle);
        break;
    }
    ck_assert_uint_eq(state_of(r->b, r->vi), FCVI_STATE_ERROR);
    end(r);
}
END_TEST

/* A Send outgrows its Descriptor after it has got it; an RDMA Read is read and answered here, too. */
START_TEST(a_send_outgrows_its_descriptor)
{
    struct r1 *r = begin_out_of_order(RD);
    static struct fcvi_descriptor d;
    d = (struct fcvi_descriptor){.op = FCVI_RECV, .segments = 1, .segment = {{r->mem, 4096, 6}}};
    hear(r->b,
         "06 010200 00 010100 58 290000 07 02 0000 0700 ffff 00000000 %08x 02000000 00000000 00000000 "
         "00000000 12345008 %08x 00000004",
         r->handle, r->region);
    ck_assert_uint_eq(r->b->length[0], 24 + 16 + 4);
    post(r, FCVI_RDMA_READ, 4, false);
    hear(r->b,
         "01 010200 00 010100 58 980008 06 01 0000 %04x 8001 00000000 %08x 0a000000 00000000 00000000 "
         "11223344",
         ox_of(r->b, 1), r->handle);
    ck_assert_uint_eq(done(r, false).status, FCVI_STATUS_DONE | FCVI_STATUS_OP_RDMA_READ);
    ck_assert_int_eq(fcvi_vip_post(r->b->port, r->b->now, r->vi, &d), VIP_SUCCESS);
    hear_send(r, 1, 0, 0, 0, false, false, "11223344");
    hear_send(r, 1, 1, 4, 0, true, true, "55667788");
    ck_assert(done(r, true).status & FCVI_STATUS_LENGTH_ERROR);
    ck_assert_uint_eq(r->bytes[4096 + 6], 0);
    end(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rev1 messages");
    TCase *t = tcase_create("originator");
    tcase_add_test(t, a_send_goes_out);
    tcase_add_test(t, an_rdma_write_goes_out);
    tcase_add_loop_test(t, an_rdma_read_goes_out, 0, 2);
    tcase_add_loop_test(t, the_answer_to_an_rdma_read_has_several_ius, 0, 2);
    tcase_add_loop_test(t, an_answer_to_an_rdma_read_does_not_fit, 0, 4);
    tcase_add_loop_test(t, a_response_ends_a_message, 0, 6);
    tcase_add_loop_test(t, no_response_means_abts, 0, 3);
    tcase_add_test(t, messages_are_streamed);
    tcase_add_test(t, a_long_send_is_cut);
    tcase_add_test(t, no_iu_wraps);
    tcase_add_test(t, pref_is_in_every_iu);
    suite_add_tcase(s, t);
    t = tcase_create("responder");
    tcase_add_loop_test(t, a_send_is_received, UD, RR + 1);
    tcase_add_test(t, what_is_reserved_means_nothing);
    tcase_add_loop_test(t, a_send_does_not_fit, 0, 3);
    tcase_add_loop_test(t, a_message_of_several_ius_is_received, 0, 2);
    tcase_add_loop_test(t, a_message_that_does_not_go_on_is_an_error, 0, 9);
    tcase_add_loop_test(t, a_lost_tail_is_given_up, 0, 2);
    tcase_add_loop_test(t, messages_take_turns, 0, 2);
    tcase_add_loop_test(t, a_message_that_waited_for_a_lost_one_is_received, 0, 2);
    tcase_add_loop_test(t, an_rdma_read_is_answered, 0, 2);
    tcase_add_test(t, an_rdma_read_is_refused);
    suite_add_tcase(s, t);
    t = tcase_create("out of order");
    tcase_add_test(t, frames_overtake_each_other);
    tcase_add_loop_test(t, frames_that_cannot_belong_together, 0, 7);
    tcase_add_test(t, a_send_outgrows_its_descriptor);
    suite_add_tcase(s, t);
    return run_suite(s);
}
