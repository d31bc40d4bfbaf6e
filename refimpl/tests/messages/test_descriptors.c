/* Descriptors: how a malformed one completes on each Reliability Level, in which order they run, how many may
 * be open, and what they put into the frames (5.8.2, 5.9.4.2, 7.3, Annex E, VI-ARCH 5 and 6.3.1, VI-DG 5.2).
 */
#include "../rig.h"

static struct fcvi_descriptor send_of(const struct rig *r, uint32_t length)
{
    struct fcvi_descriptor d = {.op = FCVI_SEND, .segments = 1, .segment = {{r->mem, 0, length}}};
    return d;
}

static int post(struct rig *r, const struct fcvi_descriptor *d)
{
    return fcvi_vip_post(r->w.port[0], r->w.now, r->vi, d);
}

/* The tester answers the nth frame: FCVI_SEND_RESP or FCVI_READ_RESP of no data. */
static void answer(struct rig *r, unsigned nth)
{
    if (rig_field(r, nth, 28, 1) == OP_READ)
        rig_hear(r,
                 "01 010100 00 010200 58 980000 09 02 0000 %04x 8001 00000000 "
                 "%08x 0a 00 0000 %08x 00000000 0000000000007000 00000077 00000000",
                 rig_ox(r, nth), r->handle, rig_field(r, nth, 32, 4));
    else
        rig_hear(r,
                 "07 010100 00 010200 58 980000 09 01 0000 %04x 8001 00000000 %08x 08 00 0000 %08x 00000000",
                 rig_ox(r, nth), r->handle, rig_field(r, nth, 32, 4));
}

/* ---- faults (VI-DG 5.2): nothing of the Message is sent ---- */

enum {
    BAD_FORMAT,
    BAD_LENGTH,
    TOO_LONG,
    SUM_WRAPS,
    NO_REGION,
    BEHIND_REGION,
    OTHER_TAG,
    READ_UNRELIABLE,
    FAULTS
};
static const uint32_t fault_status[] = {FCVI_STATUS_FORMAT_ERROR,     FCVI_STATUS_LENGTH_ERROR,
                                        FCVI_STATUS_LENGTH_ERROR,     FCVI_STATUS_LENGTH_ERROR,
                                        FCVI_STATUS_PROTECTION_ERROR, FCVI_STATUS_PROTECTION_ERROR,
                                        FCVI_STATUS_PROTECTION_ERROR, FCVI_STATUS_FORMAT_ERROR};

static struct fcvi_descriptor faulty(struct rig *r, int fault)
{
    struct fcvi_descriptor d = send_of(r, 4);
    struct fcvi_region tag = {.ptag = 5};
    switch (fault) {
    case BAD_FORMAT:
        d.format_error = true;
        break;
    case BAD_LENGTH:
        d.length_error = true;
        break;
    case TOO_LONG:
        d.segments = 2;
        d.segment[0].length = RIG_BYTES;
        d.segment[1] = (struct fcvi_segment){r->mem, 0, 1};
        break;
    case SUM_WRAPS:
        d.segments = 2;
        d.segment[0].length = d.segment[1].length = 0x80000000;
        break;
    case NO_REGION:
        d.segment[0].mem = 3;
        break;
    case BEHIND_REGION:
        d.segment[0].offset = RIG_BYTES - 3;
        break;
    case OTHER_TAG:
        ck_assert_int_eq(fcvi_vip_set_mem(r->w.port[0], r->w.now, r->mem, &tag), VIP_SUCCESS);
        break;
    default:
        d.op = FCVI_RDMA_READ; /* 5.2.4: not on Unreliable Delivery */
        break;
    }
    return d;
}

START_TEST(faulty_descriptor)
{
    uint8_t level = (uint8_t)(1 + _i / FAULTS);
    int fault = _i % FAULTS;
    if (fault == READ_UNRELIABLE && level != FCVI_UNRELIABLE)
        return;
    struct rig *r = rig_begin(level);
    struct fcvi_descriptor d = faulty(r, fault), good = {.op = FCVI_SEND};
    ck_assert_int_eq(post(r, &d), VIP_SUCCESS);
    ck_assert_int_eq(post(r, &good), VIP_SUCCESS);
    w_quiet(&r->w);
    uint32_t operation = d.op == FCVI_RDMA_READ ? FCVI_STATUS_OP_RDMA_READ : 0;
    w_done(&r->w, 0, r->vi, false, operation | fault_status[fault], 0);
    if (level == FCVI_UNRELIABLE) { /* the next one goes out, and no FCVI_MSG_ID is left out */
        rig_next(
            r,
            "01 010200 00 010100 58 380000 .. 02 0000 .... ffff 00000000 0000abcd 00 00 0000 00000001 00*20");
        w_done(&r->w, 0, r->vi, false, 0, 0);
        rig_alive(r);
    } else { /* VI-ARCH 2.5.2: the connection is over */
        w_done(&r->w, 0, r->vi, false, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
        rig_silent(r);
        ck_assert_ptr_nonnull(w_error(&r->w, 0, VIP_ERROR_CONN_LOST));
        rig_broken(r, 0);
    }
    rig_end(r);
}
END_TEST

/* Those before it come to their end first (VI-ARCH 6.4: Descriptors complete in order). */
START_TEST(fault_behind_an_open_message)
{
    struct rig *r = rig_begin(FCVI_RELIABLE_RECEPTION);
    struct fcvi_descriptor good = send_of(r, 4), d = faulty(r, BAD_FORMAT);
    ck_assert_int_eq(post(r, &good), VIP_SUCCESS);
    ck_assert_int_eq(post(r, &d), VIP_SUCCESS);
    w_quiet(&r->w);
    rig_not_done(r, false);
    rig_alive(r);
    answer(r, r->sent - 1);
    w_done(&r->w, 0, r->vi, false, 0, 4);
    w_done(&r->w, 0, r->vi, false, FCVI_STATUS_FORMAT_ERROR, 0);
    rig_broken(r, 0);
    rig_end(r);
}
END_TEST

/* A receive Descriptor is looked at when a Message takes it. */
START_TEST(faulty_receive_descriptor)
{
    static const uint32_t status[] = {FCVI_STATUS_FORMAT_ERROR, FCVI_STATUS_LENGTH_ERROR,
                                      FCVI_STATUS_LENGTH_ERROR, FCVI_STATUS_PROTECTION_ERROR,
                                      FCVI_STATUS_LENGTH_ERROR, FCVI_STATUS_PROTECTION_ERROR};
    enum { CASES = sizeof status / sizeof status[0] };
    int k = _i % CASES;
    struct rig *r = rig_new((uint8_t)(1 + _i / CASES));
    r->attributes.max_transfer_size = 100;
    rig_connect(r);
    struct fcvi_descriptor d = send_of(r, k == 2 ? 3 : k == 5 ? 100 : 200);
    d.op = FCVI_RECV;
    d.format_error = k == 0;
    d.length_error = k == 1;
    if (k == 3 || k == 5)
        d.segment[0].offset = RIG_BYTES - 1;
    ck_assert_int_eq(post(r, &d), VIP_SUCCESS);
    rig_message(r, OP_SEND, 1, k == 4 ? 101 : k == 5 ? 100 : 4, 0, 0); /* MaxTransferSize, and more */
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE | status[k], 0);
    ck_assert_uint_eq(r->bytes[1], 0);
    if (r->attributes.reliability == FCVI_RELIABLE_RECEPTION)
        rig_next_resp(r, OP_SEND_RESP, 3, 1); /* RESP_ERR, DESC_ERR */
    rig_silent(r);
    if (r->attributes.reliability == FCVI_UNRELIABLE)
        rig_alive(r);
    else
        rig_broken(r, REMOTE_DESCRIPTOR);
    rig_end(r);
}
END_TEST

/* A Descriptor has room for 2^32 - 1 bytes and no more: its Length field has 32 bits (VI-DG 5.2). _i: bytes
 * more
 */
START_TEST(longest_receive_descriptor)
{
    struct rig *r = rig_begin(FCVI_UNRELIABLE);
    struct fcvi_region all = {.va = 0, .length = UINT32_MAX, .bytes = r->bytes};
    uint32_t mem, handle;
    ck_assert_int_eq(fcvi_vip_register_region(r->w.port[0], r->w.now, &all, &mem, &handle), VIP_SUCCESS);
    struct fcvi_descriptor d = {.op = FCVI_RECV, .segments = 2};
    d.segment[0] = (struct fcvi_segment){mem, 0, UINT32_MAX - 1};
    d.segment[1] = (struct fcvi_segment){mem, 0, 1 + (uint32_t)_i};
    ck_assert_int_eq(post(r, &d), VIP_SUCCESS);
    rig_message(r, OP_SEND, 1, 4, 0, 0);
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE | (_i == 0 ? 0 : FCVI_STATUS_LENGTH_ERROR),
           _i == 0 ? 4 : 0);
    rig_end(r);
}
END_TEST

/* An RDMA Write with Immediate Data takes a malformed one, too. */
START_TEST(faulty_for_immediate_data)
{
    struct rig *r = rig_begin((uint8_t)(1 + _i));
    struct fcvi_descriptor d = send_of(r, 0);
    d.op = FCVI_RECV;
    d.format_error = true;
    ck_assert_int_eq(post(r, &d), VIP_SUCCESS);
    struct rqst q = {.opcode = OP_WRITE,
                     .flags = 1,
                     .id = 1,
                     .length = 4,
                     .total = 4,
                     .last = true,
                     .va = RIG_VA,
                     .key = r->region};
    rig_rqst(r, &q);
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_REMOTE_RDMA_WRITE | FCVI_STATUS_FORMAT_ERROR, 0);
    rig_end(r);
}
END_TEST

/* ---- order ---- */

/* VI-ARCH 6.3.1.1: on Reliable Delivery a Send may pass an RDMA Read, unless it is fenced; on Reliable
 * Reception it may not. A Read passes a Read, as long as FCVI_PIPELINE_DEPTH allows. _i: level, fence */
START_TEST(passing_a_read)
{
    struct rig *r = rig_begin(_i < 2 ? FCVI_RELIABLE_DELIVERY : FCVI_RELIABLE_RECEPTION);
    struct fcvi_descriptor d = send_of(r, 4);
    d.fence = _i % 2;
    rig_post(r, FCVI_RDMA_READ, 0);
    rig_post(r, FCVI_RDMA_READ, 0);
    ck_assert_int_eq(post(r, &d), VIP_SUCCESS);
    w_quiet(&r->w);
    bool passes = _i == 0;
    ck_assert_uint_eq(r->sent - r->seen, passes ? 3 : 2);
    unsigned first = r->seen;
    answer(r, first + 1);
    rig_not_done(r, false); /* 6.4: in the order of the queue */
    ck_assert_uint_eq(r->sent - first, passes ? 3 : 2);
    answer(r, first);
    ck_assert_uint_eq(r->sent - first, 3);
    w_done(&r->w, 0, r->vi, false, FCVI_STATUS_OP_RDMA_READ, 0);
    w_done(&r->w, 0, r->vi, false, FCVI_STATUS_OP_RDMA_READ, 0);
    if (_i >= 2)
        answer(r, first + 2);
    w_done(&r->w, 0, r->vi, false, 0, 4);
    rig_end(r);
}
END_TEST

/* 7.3, E33: FCVI_PIPELINE_DEPTH N allows N + 1 open Messages. _i: N */
START_TEST(pipeline_depth)
{
    struct rig *r = rig_new(FCVI_RELIABLE_RECEPTION);
    r->attributes.pipeline_depth = (uint32_t)_i;
    rig_connect(r);
    unsigned first = r->sent, depth = (unsigned)_i;
    for (unsigned k = 0; k < 5; k++)
        rig_post(r, FCVI_SEND, 4);
    for (unsigned k = 0; k < 5; k++) {
        unsigned open = k + depth + 1 < 5 ? k + depth + 1 : 5;
        ck_assert_uint_eq(r->sent - first, open);
        ck_assert_uint_eq(rig_field(r, first + k, 32, 4), k + 1);
        answer(r, first + k);
        w_done(&r->w, 0, r->vi, false, 0, 4);
    }
    rig_end(r);
}
END_TEST

/* C.5.1: a client's Send does not complete before FCVI_CONNECT_RESP3, and so counts as open until then. _i: a
 * Message whose answer waits for RESP3 goes with the connection (C.5.10) */
START_TEST(client_before_resp3)
{
    struct rig *r = rig_new(_i == 0 ? FCVI_RELIABLE_DELIVERY : FCVI_RELIABLE_RECEPTION);
    r->attributes.pipeline_depth = 0;
    rig_start(r);
    struct fcvi_address here = w_address(0, 0xDD), there = w_address(1, 0xDD);
    ck_assert_int_eq(fcvi_vip_connect_request(r->w.port[0], r->w.now, r->vi, &here, &there, FCVI_NEVER, 1),
                     FCVI_VIP_PENDING);
    w_quiet(&r->w);
    uint32_t id = rig_field(r, 0, 52, 4);
    rig_hear(r,
             "03 010100 00 010200 58 890008 06 02 0000 %04x 8001 00000000 "
             "ffffffff 18 00 0000 00000000 00000000 00*12 %08x 00000000 0000 0001 0000abcd " RIG_HOST("a2")
                 RIG_HOST("a1") "0000 %02x 03 %08x 00*24",
             rig_ox(r, 0), id, r->attributes.reliability, (unsigned)RIG_BYTES);
    r->seen = r->sent;
    r->handle = rig_field(r, 0, 64, 4);
    if (_i == 1) {
        rig_message(r, OP_WRITE, 1, 4, RIG_VA, r->region);
        ck_assert_uint_eq(r->bytes[3], rig_value(1, 3));
        rig_silent(r);
        rig_end(r);
        return;
    }
    rig_post(r, FCVI_SEND, 0);
    rig_post(r, FCVI_SEND, 0);
    ck_assert_uint_eq(rig_field(r, r->seen++, 32, 4), 1);
    rig_silent(r);
    rig_not_done(r, false);
    rig_hear(r, "03 010100 00 010200 58 980000 06 02 0001 %04x 8001 00000000 %08x 1a 00 0000 00*8 00*12 %08x",
             rig_ox(r, 0), rig_field(r, 0, 64, 4), id);
    w_done(&r->w, 0, r->vi, false, 0, 0);
    ck_assert_uint_eq(rig_field(r, r->seen++, 32, 4), 2);
    w_done(&r->w, 0, r->vi, false, 0, 0);
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* VI-ARCH 6.3.1.1: a fenced Send goes out when the Read before it is answered, also one that does not
 * complete yet (C.5.1). */
START_TEST(fence_before_resp3)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    rig_start(r);
    struct fcvi_address here = w_address(0, 0xDD), there = w_address(1, 0xDD);
    ck_assert_int_eq(fcvi_vip_connect_request(r->w.port[0], r->w.now, r->vi, &here, &there, FCVI_NEVER, 1),
                     FCVI_VIP_PENDING);
    w_quiet(&r->w);
    r->handle = rig_field(r, 0, 64, 4);
    rig_hear(r,
             "03 010100 00 010200 58 890008 06 02 0000 %04x 8001 00000000 "
             "ffffffff 18 00 0000 00000000 00000000 00*12 %08x 00000000 0000 0001 0000abcd " RIG_HOST("a2")
                 RIG_HOST("a1") "0000 02 03 %08x 00*16 00000007 00*4",
             rig_ox(r, 0), rig_field(r, 0, 52, 4), (unsigned)RIG_BYTES);
    r->seen = r->sent;
    struct fcvi_descriptor d = send_of(r, 4);
    d.fence = true;
    rig_post(r, FCVI_RDMA_READ, 0);
    ck_assert_int_eq(post(r, &d), VIP_SUCCESS);
    w_quiet(&r->w);
    unsigned read = r->seen++;
    rig_silent(r);
    answer(r, read);
    ck_assert_uint_eq(rig_field(r, r->seen++, 28, 1), OP_SEND);
    rig_not_done(r, false);
    rig_end(r);
}
END_TEST

/* ---- states (VI-ARCH 5) and room ---- */

START_TEST(states)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    rig_start(r);
    rig_post(r, FCVI_SEND, 4); /* Idle: nothing goes out */
    w_done(&r->w, 0, r->vi, false, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    rig_receive(r);
    rig_not_done(r, true); /* but receive Descriptors wait for the connection */
    r->handle = rig_serve(r, r->vi, 0xabcd, 0x123);
    rig_message(r, OP_SEND, 1, 4, 0, 0);
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE, 4);
    rig_post(r, FCVI_SEND, 8);
    w_done(&r->w, 0, r->vi, false, 0, 8);
    rig_message(r, OP_SEND, 9, 4, 0, 0); /* rule 4b: Error */
    for (int recv = 0; recv < 2; recv++) {
        if (recv)
            rig_receive(r);
        else
            rig_post(r, FCVI_RDMA_WRITE, 4);
        w_done(&r->w, 0, r->vi, recv,
               FCVI_STATUS_DESC_FLUSHED_ERROR | (recv ? FCVI_STATUS_OP_RECEIVE : FCVI_STATUS_OP_RDMA_WRITE),
               0);
    }
    rig_end(r);
}
END_TEST

START_TEST(room_for_descriptors)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->limits.descriptors = 4;
    r->limits.entries = 5;
    r->limits.segments = 252;
    rig_connect(r);
    struct fcvi_descriptor d = send_of(r, 0);
    struct fcvi_completion c;
    d.op = FCVI_RECV;
    d.segments = 252;
    for (unsigned k = 0; k < 252; k++)
        d.segment[k] = (struct fcvi_segment){r->mem, 0, 1};
    ck_assert_int_eq(post(r, &d), VIP_SUCCESS);
    d.segments = 1;
    ck_assert_int_eq(post(r, &d), VIP_ERROR_RESOURCE); /* no segment is left */
    d.segments = 0;
    for (unsigned k = 1; k < 4; k++)
        ck_assert_int_eq(post(r, &d), VIP_SUCCESS);
    ck_assert_int_eq(post(r, &d), VIP_ERROR_RESOURCE); /* the queue is full */
    d.op = FCVI_SEND;
    ck_assert_int_eq(post(r, &d), VIP_SUCCESS);
    ck_assert_int_eq(post(r, &d), VIP_ERROR_RESOURCE); /* no entry is left */
    w_quiet(&r->w);
    w_done(&r->w, 0, r->vi, false, 0, 0);
    ck_assert_int_eq(post(r, &d), VIP_SUCCESS);
    /* hostile values */
    d.segments = FCVI_MAX_SEGMENTS + 1;
    ck_assert_int_eq(post(r, &d), VIP_INVALID_PARAMETER);
    d.segments = 0;
    d.op = 4;
    ck_assert_int_eq(post(r, &d), VIP_INVALID_PARAMETER);
    d.op = FCVI_SEND;
    static const uint32_t numbers[] = {1, 4, UINT32_MAX};
    for (unsigned k = 0; k < 3; k++) {
        ck_assert_int_eq(fcvi_vip_post(r->w.port[0], r->w.now, numbers[k], &d), VIP_INVALID_PARAMETER);
        ck_assert_int_eq(fcvi_vip_done(r->w.port[0], r->w.now, numbers[k], false, &c), VIP_INVALID_PARAMETER);
    }
    rig_end(r);
}
END_TEST

/* What a Descriptor has taken is free with it. */
START_TEST(segments_are_used_again)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->limits.segments = 2;
    rig_connect(r);
    struct fcvi_descriptor d = send_of(r, 4);
    d.segments = 2;
    d.segment[1] = (struct fcvi_segment){r->mem, 100, 8};
    for (unsigned k = 0; k < 3; k++) {
        ck_assert_int_eq(post(r, &d), VIP_SUCCESS);
        ck_assert_int_eq(post(r, &d), VIP_ERROR_RESOURCE);
        w_quiet(&r->w);
        ck_assert_uint_eq(r->length[r->seen++], 24 + 32 + 12);
        w_done(&r->w, 0, r->vi, false, 0, 12);
    }
    rig_end(r);
}
END_TEST

/* ---- what stands in the frames ---- */

/* Immediate Data in every frame (E43), the Preference bit in each frame of a Message (5.8.2), three fill
 * bytes. */
START_TEST(headers_of_the_frames)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.receive_size = 256;
    r->attributes.preference = true;
    rig_connect(r);
    for (uint32_t k = 0; k < 240; k++)
        r->bytes[k] = rig_value(3, k);
    struct fcvi_descriptor d = send_of(r, 224 + 13);
    d.has_immediate = true;
    d.immediate = 0xcafe0123;
    ck_assert_int_eq(post(r, &d), VIP_SUCCESS);
    d.op = FCVI_RDMA_READ; /* 6.6.2: it has none */
    ck_assert_int_eq(post(r, &d), VIP_SUCCESS);
    w_quiet(&r->w);
    rig_next_data(r, r->bytes, 224,
                  "01 010200 80 010100 58 200008 .. 02 0000 .... ffff 00000000 "
                  "0000abcd 00 01 0000 00000001 cafe0123 00*12 000000ed");
    rig_next_data(r, r->bytes + 224, 13,
                  "01 010200 80 010100 58 38000b .. 02 0001 .... ffff 000000e0 "
                  "0000abcd 00 01 0000 00000001 cafe0123 00*12 000000ed");
    rig_next(r, "06 010200 80 010100 58 290000 .. 02 0000 .... ffff 00000000 "
                "0000abcd 02 00 0000 00000002 00000000 00*12 000000ed");
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* ---- gather and scatter (VI-DG 5.3) ---- */

/* Data that end inside a segment leave the rest of it alone; a frame that ends there has no byte more. */
START_TEST(data_end_inside_a_segment)
{
    struct rig *r = rig_new(FCVI_UNRELIABLE);
    struct fcvi_transmitted meta;
    uint8_t frame[W_FRAME];
    r->config.receive_size = 256; /* 224 bytes of data in a frame */
    rig_connect(r);
    struct fcvi_descriptor recv = {
        .op = FCVI_RECV, .segments = 2, .segment = {{r->mem, 0, 10}, {r->mem, 200, 100}}};
    memset(r->bytes, 0xEE, 400);
    ck_assert_int_eq(post(r, &recv), VIP_SUCCESS);
    rig_message(r, OP_SEND, 1, 20, 0, 0);
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE, 20);
    for (uint32_t k = 0; k < 400; k++) {
        uint8_t wanted = k < 10 ? rig_value(1, k) : k >= 200 && k < 210 ? rig_value(1, k - 190) : 0xEE;
        ck_assert_uint_eq(r->bytes[k], wanted);
    }
    struct fcvi_descriptor send = {
        .op = FCVI_SEND, .segments = 2, .segment = {{r->mem, 0, 100}, {r->mem, 500, 300}}};
    memset(r->bytes + 500, 0x77, 300);
    memset(frame, 0xEE, sizeof frame);
    ck_assert_int_eq(post(r, &send), VIP_SUCCESS);
    ck_assert_uint_eq(fcvi_port_transmit(r->w.port[0], r->w.now, frame, sizeof frame, &meta), 24 + 32 + 224);
    ck_assert_uint_eq(frame[24 + 32 + 223], 0x77);
    for (size_t k = 24 + 32 + 224; k < sizeof frame; k++)
        ck_assert_uint_eq(frame[k], 0xEE);
    w_quiet(&r->w);
    r->seen = r->sent;
    w_done(&r->w, 0, r->vi, false, 0, 400);
    rig_end(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("descriptors");
    rig_case(s, "VI-DG 5.2", faulty_descriptor, 0, 3 * FAULTS);
    rig_case(s, "VI-ARCH 6.4", fault_behind_an_open_message, 0, 1);
    rig_case(s, "VI-DG 5.2", faulty_receive_descriptor, 0, 18);
    rig_case(s, "VI-DG 5.2", longest_receive_descriptor, 0, 2);
    rig_case(s, "VI-DG 5.2", faulty_for_immediate_data, 0, 3);
    rig_case(s, "VI-ARCH 6.3.1", passing_a_read, 0, 4);
    rig_case(s, "7.3", pipeline_depth, 0, 5);
    rig_case(s, "C.5.1", client_before_resp3, 0, 2);
    rig_case(s, "C.5.1", fence_before_resp3, 0, 1);
    rig_case(s, "VI-ARCH 5", states, 0, 1);
    rig_case(s, "room", segments_are_used_again, 0, 1);
    rig_case(s, "room", room_for_descriptors, 0, 1);
    rig_case(s, "5.8.2", headers_of_the_frames, 0, 1);
    rig_case(s, "VI-DG 5.3", data_end_inside_a_segment, 0, 1);
    return rig_run(s);
}
