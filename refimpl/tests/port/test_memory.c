/* Registered memory: the calls (VI-DG 3.4), gather and scatter over segments (VI-DG 5.3), and memory that
 * goes away while a Message is under way. */
#include "../rig.h"

enum { ROOM = 4096, PIECE = 224 };

/* ---- the calls ---- */

static uint32_t arena(struct rig *r, uint32_t length, uint64_t *va, int wanted)
{
    uint32_t mem = UINT32_MAX, handle = 0, same = 0;
    ck_assert_int_eq(fcvi_vip_register_mem(r->w.port[0], r->w.now, length, true, true, &mem, va, &handle),
                     wanted);
    if (wanted == VIP_SUCCESS) {
        ck_assert(fcvi_port_region(r->w.port[0], handle, &same));
        ck_assert_uint_eq(same, mem);
    }
    return mem;
}

/* 4096 bytes of the port's own: first fit, no overlap, and gaps are used again. */
START_TEST(own_memory)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->limits.regions = 8;
    rig_start(r);
    ck_assert_int_eq(fcvi_vip_deregister_mem(r->w.port[0], r->w.now, r->mem), VIP_SUCCESS);
    uint64_t a_va = 0, b_va = 0, c_va = 0, va = 0;
    uint32_t a = arena(r, 1000, &a_va, VIP_SUCCESS);
    uint32_t b = arena(r, 1000, &b_va, VIP_SUCCESS);
    uint32_t c = arena(r, 2096, &c_va, VIP_SUCCESS);
    arena(r, 1, &va, VIP_ERROR_RESOURCE);
    ck_assert(b_va >= a_va + 1000 && c_va >= b_va + 1000);
    memset(fcvi_port_memory(r->w.port[0], a, 0, 1000), 1, 1000);
    memset(fcvi_port_memory(r->w.port[0], b, 0, 1000), 2, 1000);
    memset(fcvi_port_memory(r->w.port[0], c, 0, 2096), 3, 2096);
    ck_assert_uint_eq(*fcvi_port_memory(r->w.port[0], a, 999, 1), 1);
    ck_assert_uint_eq(*fcvi_port_memory(r->w.port[0], b, 999, 1), 2);
    ck_assert_int_eq(fcvi_vip_deregister_mem(r->w.port[0], r->w.now, b), VIP_SUCCESS);
    arena(r, 1001, &va, VIP_ERROR_RESOURCE);
    b = arena(r, 400, &va, VIP_SUCCESS);
    ck_assert_uint_eq(va, b_va);
    for (uint32_t k = 0; k < 400; k++) /* and nothing of what was there can be read */
        ck_assert_uint_eq(*fcvi_port_memory(r->w.port[0], b, k, 1), 0);
    arena(r, 600, &va, VIP_SUCCESS);
    ck_assert_uint_eq(va, b_va + 400);
    arena(r, 0, &va, VIP_INVALID_PARAMETER);
    arena(r, ROOM + 1, &va, VIP_ERROR_RESOURCE);
    arena(r, UINT32_MAX, &va, VIP_ERROR_RESOURCE);
    rig_end(r);
}
END_TEST

/* A handle rests: the region that takes the place of another has a new one. The table runs out. */
START_TEST(handles)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    rig_start(r);
    uint32_t mem, handle, again, found;
    uint64_t va;
    struct fcvi_port *p = r->w.port[0];
    ck_assert_int_eq(fcvi_vip_register_mem(p, r->w.now, 4, true, true, &mem, &va, &handle), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_deregister_mem(p, r->w.now, mem), VIP_SUCCESS);
    ck_assert(!fcvi_port_region(p, handle, &found));
    ck_assert_int_eq(fcvi_vip_register_mem(p, r->w.now, 4, true, true, &mem, &va, &again), VIP_SUCCESS);
    ck_assert_uint_ne(handle, again);
    ck_assert(!fcvi_port_region(p, handle, &found));
    for (unsigned k = 2; k < r->limits.regions; k++)
        arena(r, 4, &va, VIP_SUCCESS);
    arena(r, 4, &va, VIP_ERROR_RESOURCE);
    rig_end(r);
}
END_TEST

/* Of all handles one names the region, also while Descriptors are posted and done. */
START_TEST(one_handle)
{
    struct rig *r = rig_begin(FCVI_RELIABLE_DELIVERY);
    struct fcvi_region out;
    uint32_t mem;
    rig_post(r, FCVI_SEND, 4);
    rig_post(r, FCVI_RDMA_READ, 4);
    w_done(&r->w, 0, r->vi, false, 0, 4);
    rig_post(r, FCVI_SEND, 4); /* it has passed the Read, which is not over */
    rig_not_done(r, false);
    for (uint32_t generation = 0; generation < 1 << 12; generation++)
        for (uint32_t index = 0; index < 8; index++) {
            uint32_t change = generation << 20 | index;
            ck_assert(fcvi_port_region(r->w.port[0], r->region ^ change, &mem) == (change == 0));
        }
    for (mem = 1; mem < 8; mem++) /* nor does a number name another */
        ck_assert_int_eq(fcvi_vip_query_mem(r->w.port[0], r->w.now, mem, &out), VIP_INVALID_PARAMETER);
    rig_end(r);
}
END_TEST

START_TEST(attributes_of_a_region)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    rig_start(r);
    struct fcvi_port *p = r->w.port[0];
    struct fcvi_region change = {.ptag = 9, .rdma_read = true}, out;
    ck_assert_int_eq(fcvi_vip_set_mem(p, r->w.now, r->mem, &change), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_query_mem(p, r->w.now, r->mem, &out), VIP_SUCCESS);
    ck_assert_uint_eq(out.ptag, 9);
    ck_assert(out.rdma_read && !out.rdma_write);
    ck_assert_uint_eq(out.va, RIG_VA);
    ck_assert_uint_eq(out.length, RIG_BYTES);
    static const uint32_t unknown[] = {1, 4, UINT32_MAX}; /* not registered; no such number */
    for (unsigned k = 0; k < 3; k++) {
        ck_assert_int_eq(fcvi_vip_set_mem(p, r->w.now, unknown[k], &change), VIP_INVALID_PARAMETER);
        ck_assert_int_eq(fcvi_vip_query_mem(p, r->w.now, unknown[k], &out), VIP_INVALID_PARAMETER);
        ck_assert_int_eq(fcvi_vip_deregister_mem(p, r->w.now, unknown[k]), VIP_INVALID_PARAMETER);
        ck_assert_ptr_null(fcvi_port_memory(p, unknown[k], 0, 1));
    }
    ck_assert_ptr_eq(fcvi_port_memory(p, r->mem, RIG_BYTES, 0), r->bytes + RIG_BYTES);
    ck_assert_ptr_null(fcvi_port_memory(p, r->mem, RIG_BYTES, 1));
    ck_assert_ptr_null(fcvi_port_memory(p, r->mem, RIG_BYTES + 1, 0));
    ck_assert_ptr_null(fcvi_port_memory(p, r->mem, 4, UINT32_MAX)); /* the sum wraps */
    rig_end(r);
}
END_TEST

/* ---- gather and scatter ---- */

/* Segments over two regions, of no bytes and over the edge of a frame: offsets as they are taken. */
static const uint32_t lengths[] = {0, 3, 200, 0, 0, 60, 1, 0};
enum { SEGMENTS = sizeof lengths / sizeof lengths[0], TOTAL = 264 };

static struct fcvi_descriptor scattered(const struct rig *r, enum fcvi_op op, uint32_t other)
{
    struct fcvi_descriptor d = {
        .op = (uint8_t)op, .segments = SEGMENTS, .remote_va = 0x7000, .remote_handle = 0x77};
    for (uint32_t k = 0; k < SEGMENTS; k++)
        d.segment[k] = (struct fcvi_segment){k % 2 ? other : r->mem, 1000 * (SEGMENTS - k), lengths[k]};
    return d;
}

static struct rig *begin(uint8_t level, uint8_t *bytes, uint32_t *other)
{
    struct rig *r = rig_new(level);
    r->config.receive_size = 256;
    rig_connect(r);
    uint32_t handle;
    *other = w_region(&r->w, 0, bytes, 10000, 0x900000, &handle);
    return r;
}

START_TEST(gather)
{
    static uint8_t bytes[10000];
    uint8_t wanted[TOTAL];
    uint32_t other, n = 0;
    struct rig *r = begin(FCVI_RELIABLE_DELIVERY, bytes, &other);
    for (uint32_t k = 0; k < SEGMENTS; k++)
        for (uint32_t i = 0; i < lengths[k]; i++)
            wanted[n] = (k % 2 ? bytes : r->bytes)[1000 * (SEGMENTS - k) + i] = rig_value(7, n), n++;
    struct fcvi_descriptor d = scattered(r, FCVI_RDMA_WRITE, other);
    ck_assert_int_eq(fcvi_vip_post(r->w.port[0], r->w.now, r->vi, &d), VIP_SUCCESS);
    w_quiet(&r->w);
    rig_next_data(r, wanted, PIECE,
                  "01 010200 00 010100 58 200008 .. 02 0000 .... ffff 00000000 "
                  "0000abcd 01 00 0000 00000001 00000000 0000000000007000 00000077 00000108");
    rig_next_data(r, wanted + PIECE, TOTAL - PIECE,
                  "01 010200 00 010100 58 380008 .. 02 0001 .... ffff 000000e0 "
                  "0000abcd 01 00 0000 00000001 00000000 0000000000007000 00000077 00000108");
    w_done(&r->w, 0, r->vi, false, FCVI_STATUS_OP_RDMA_WRITE, TOTAL);
    rig_end(r);
}
END_TEST

static void send_in_two(struct rig *r, void (*between)(struct rig *, uint32_t), uint32_t argument)
{
    for (uint32_t k = 0; k < 2; k++) {
        struct rqst q = {.id = 1,
                         .cnt = k,
                         .offset = 150 * k,
                         .length = k == 0 ? 150 : TOTAL - 150,
                         .total = TOTAL,
                         .last = k == 1};
        if (k == 1 && between != NULL)
            between(r, argument);
        rig_rqst(r, &q);
    }
}

START_TEST(scatter)
{
    static uint8_t bytes[10000];
    uint32_t other, n = 0;
    struct rig *r = begin(FCVI_RELIABLE_DELIVERY, bytes, &other);
    struct fcvi_descriptor d = scattered(r, FCVI_RECV, other);
    ck_assert_int_eq(fcvi_vip_post(r->w.port[0], r->w.now, r->vi, &d), VIP_SUCCESS);
    send_in_two(r, NULL, 0);
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE, TOTAL);
    for (uint32_t k = 0; k < SEGMENTS; k++) {
        const uint8_t *at = (k % 2 ? bytes : r->bytes) + 1000 * (SEGMENTS - k);
        ck_assert_uint_eq(at[-1], 0);
        for (uint32_t i = 0; i < lengths[k]; i++, n++)
            ck_assert_uint_eq(at[i], rig_value(1, n));
        ck_assert_uint_eq(at[lengths[k]], 0);
    }
    rig_end(r);
}
END_TEST

/* ---- memory that goes away (VI-DG 5.2) ---- */

static void deregister(struct rig *r, uint32_t mem)
{
    ck_assert_int_eq(fcvi_vip_deregister_mem(r->w.port[0], r->w.now, mem), VIP_SUCCESS);
}

/* _i: Reliability Level. One of the two regions that data are coming into. */
START_TEST(gone_while_receiving)
{
    static uint8_t bytes[10000];
    memset(bytes, 0, sizeof bytes);
    uint32_t other;
    struct rig *r = begin((uint8_t)_i, bytes, &other);
    struct fcvi_descriptor d = scattered(r, FCVI_RECV, other);
    ck_assert_int_eq(fcvi_vip_post(r->w.port[0], r->w.now, r->vi, &d), VIP_SUCCESS);
    send_in_two(r, deregister, other);
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE | FCVI_STATUS_PROTECTION_ERROR, 0);
    ck_assert_uint_eq(bytes[3000], 0); /* the segment that came after it was gone */
    if (_i == FCVI_RELIABLE_RECEPTION)
        rig_next_resp(r, OP_SEND_RESP, 3, 1);
    rig_silent(r);
    if (_i == FCVI_UNRELIABLE)
        rig_alive(r);
    else
        rig_broken(r, REMOTE_DESCRIPTOR);
    rig_end(r);
}
END_TEST

/* A Send, or an RDMA Read of the other side, waits for credit in class 2 when its memory goes. _i: level */
static struct rig *waiting_for_credit(uint8_t level)
{
    struct rig *r = rig_new(level);
    r->config.service_class = 2;
    r->config.receive_size = 256;
    r->config.end_to_end_credit = 1;
    rig_connect(r);
    return r;
}

static void ack(struct rig *r, unsigned nth)
{
    rig_hear(r, "c0 010100 00 010200 00 %06x %02x 00 %04x %04x 8001 00000001",
             rig_field(r, nth, 9, 3) & 0x800000 ? 0x400000u : 0xC00000u, rig_field(r, nth, 12, 1),
             rig_field(r, nth, 14, 2), rig_ox(r, nth));
}

START_TEST(gone_while_sending)
{
    struct rig *r = waiting_for_credit((uint8_t)_i);
    rig_post(r, FCVI_SEND, 3 * PIECE);
    rig_post(r, FCVI_SEND, 0);
    unsigned nth = r->seen++;
    rig_silent(r);
    deregister(r, r->mem);
    ack(r, nth);
    rig_next(r, "81 010200 00 010100 00 090000 .. 00 0000 %04x 8001 00000000", rig_ox(r, nth));
    w_done(&r->w, 0, r->vi, false, FCVI_STATUS_PROTECTION_ERROR | FCVI_STATUS_PARTIAL_ERROR, 0);
    if (_i == FCVI_UNRELIABLE) {
        w_done(&r->w, 0, r->vi, false, FCVI_STATUS_PROTECTION_ERROR, 0);
        rig_alive(r);
    } else {
        w_done(&r->w, 0, r->vi, false, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
        ck_assert_ptr_nonnull(w_error(&r->w, 0, VIP_ERROR_CONN_LOST));
        rig_broken(r, 0);
    }
    rig_end(r);
}
END_TEST

/* E42: FCVI_READ_RESP with RESP_ERR after some of the data. */
START_TEST(gone_while_read)
{
    struct rig *r = waiting_for_credit((uint8_t)_i);
    rig_message(r, OP_READ, 1, 3 * PIECE, RIG_VA, r->region);
    r->seen++; /* the ACK */
    unsigned nth = r->seen++;
    rig_silent(r);
    deregister(r, r->mem);
    ack(r, nth);
    rig_next(r,
             "01 010200 00 010100 58 980000 .. 02 0001 0701 .... 00000000 "
             "0000abcd 0a 05 0000 00000001 00000000 0000000000010000 %08x 000002a0",
             r->region);
    rig_silent(r);
    ck_assert_ptr_nonnull(w_error(&r->w, 0, VIP_ERROR_RDMAR_PROT));
    rig_broken(r, READ_PROTECTION);
    rig_end(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("memory");
    rig_case(s, "VI-DG 3.4", own_memory, 0, 1);
    rig_case(s, "VI-DG 3.4", handles, 0, 1);
    rig_case(s, "VI-DG 3.4", one_handle, 0, 1);
    rig_case(s, "VI-DG 3.4", attributes_of_a_region, 0, 1);
    rig_case(s, "VI-DG 5.3", gather, 0, 1);
    rig_case(s, "VI-DG 5.3", scatter, 0, 1);
    rig_case(s, "VI-DG 5.2", gone_while_receiving, 1, 4);
    rig_case(s, "VI-DG 5.2", gone_while_sending, 1, 4);
    rig_case(s, "E42", gone_while_read, 2, 4);
    return rig_run(s);
}
