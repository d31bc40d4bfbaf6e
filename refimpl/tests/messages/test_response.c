/* Message Responses at the originator of Messages: FCVI_SEND_RESP, FCVI_WRITE_RESP and FCVI_READ_RESP, right
 * and wrong, and what the Descriptor says of it (6.3, 6.5, 6.7, Table 6, 8.4.1, VI-DG 5.2). */
#include "../rig.h"

enum { READ_BITS = FCVI_STATUS_OP_RDMA_READ };

/* One frame of FCVI_READ_RESP to a read of `total` bytes. */
struct read_resp {
    uint32_t cnt, offset, length, total;
    bool last, end; /* of the Message; of a Sequence before */
    uint8_t flags;
    uint32_t other_va, other_key, other_id, other_ox;
};

static void respond(struct rig *r, unsigned nth, const struct read_resp *q)
{
    char hex[RIG_HEX];
    uint8_t bytes[W_FRAME];
    uint32_t fill = (4 - q->length % 4) % 4, id = rig_field(r, nth, 32, 4);
    snprintf(hex, sizeof hex,
             "01 010100 00 010200 58 %06x 09 02 %04x %04x 8001 %08x "
             "%08x 0a %02x 0000 %08x 00000000 %016llx %08x %08x",
             0x800000 | (q->last ? 0x180000 : 0) | (q->end ? 0x080000 : 0) | (q->length > 0 ? 8 : 0) | fill,
             q->cnt & 0xFFFF, rig_ox(r, nth) ^ q->other_ox, q->offset, r->handle, q->flags, id ^ q->other_id,
             0x7000ull ^ q->other_va, 0x77 ^ q->other_key, q->total);
    size_t n = from_hex(hex, bytes);
    for (uint32_t k = 0; k < q->length; k++)
        bytes[n++] = rig_value(id, q->offset + k);
    memset(bytes + n, 0, fill);
    rig_hear_as(r, bytes, n + fill, FCVI_SOF_NONE, FCVI_EOF_NONE);
}

static unsigned next_read(struct rig *r, uint32_t id, uint32_t length)
{
    return rig_next(r,
                    "06 010200 00 010100 58 290000 .. 02 0000 .... ffff 00000000 "
                    "0000abcd 02 00 0000 %08x 00000000 0000000000007000 00000077 %08x",
                    id, length);
}

static void read_arrived(struct rig *r, uint32_t id, uint32_t length)
{
    w_done(&r->w, 0, r->vi, false, READ_BITS, length);
    for (uint32_t k = 0; k < length; k++)
        ck_assert_uint_eq(r->bytes[k], rig_value(id, k));
    rig_alive(r);
}

/* ABTS of the Exchange of frame nth (8.4.2 a); the Descriptor fails and the VI is in Error. */
static void read_failed(struct rig *r, unsigned nth, uint8_t reason)
{
    rig_next(r, "81 010200 00 010100 00 090000 .. 00 0000 %04x .... 00000000", rig_ox(r, nth));
    rig_silent(r);
    w_done(&r->w, 0, r->vi, false, READ_BITS | FCVI_STATUS_TRANSPORT_ERROR, 0);
    ck_assert_ptr_nonnull(w_error(&r->w, 0, VIP_ERROR_CONN_LOST));
    rig_broken(r, reason);
    rig_end(r);
}

/* _i: a reliable level, the Fabric */
static struct rig *begin_i(int i)
{
    struct rig *r = rig_new((uint8_t)(FCVI_RELIABLE_DELIVERY + i % 2));
    r->config.out_of_order = i / 2 % 2;
    rig_connect(r);
    return r;
}

/* ---- good ones ---- */

START_TEST(read_in_order)
{
    struct rig *r = begin_i(_i % 4);
    uint32_t from = (uint32_t)_i / 4; /* E18: it may go on from our own count, which is 1 after the request */
    rig_post(r, FCVI_RDMA_READ, 11);
    unsigned nth = next_read(r, 1, 11);
    for (uint32_t k = 0; k < 3; k++) {
        rig_not_done(r, false);
        struct read_resp q = {
            .cnt = from + k, .offset = 4 * k, .length = k < 2 ? 4 : 3, .total = 11, .last = k == 2};
        respond(r, nth, &q);
    }
    read_arrived(r, 1, 11);
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* 5.2.1: several Information Units, a Sequence each. */
START_TEST(read_in_two_sequences)
{
    struct rig *r = begin_i(_i);
    rig_post(r, FCVI_RDMA_READ, 8);
    unsigned nth = next_read(r, 1, 8);
    struct read_resp first = {.length = 4, .total = 8, .end = true};
    struct read_resp second = {.cnt = 1, .offset = 4, .length = 4, .total = 8, .last = true};
    respond(r, nth, &first);
    rig_not_done(r, false);
    rig_alive(r);
    respond(r, nth, &second);
    read_arrived(r, 1, 8);
    rig_end(r);
}
END_TEST

/* The last frame has one byte. */
START_TEST(read_of_five_bytes)
{
    struct rig *r = begin_i(_i);
    rig_post(r, FCVI_RDMA_READ, 5);
    unsigned nth = next_read(r, 1, 5);
    struct read_resp first = {.length = 4, .total = 5};
    struct read_resp second = {.cnt = 1, .offset = 4, .length = 1, .total = 5, .last = true};
    respond(r, nth, &first);
    respond(r, nth, &second);
    read_arrived(r, 1, 5);
    rig_end(r);
}
END_TEST

/* A Read of no data needs no room for pieces. */
START_TEST(read_of_nothing_behind_a_piece)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.out_of_order = true;
    r->limits.runs = 1;
    rig_connect(r);
    rig_post(r, FCVI_RDMA_READ, 8);
    rig_post(r, FCVI_RDMA_READ, 0);
    unsigned one = next_read(r, 1, 8), two = next_read(r, 2, 0);
    struct read_resp second = {.cnt = 1, .offset = 4, .length = 4, .total = 8, .last = true};
    struct read_resp first = {.length = 4, .total = 8}, nothing = {.last = true};
    respond(r, one, &second);
    respond(r, two, &nothing);
    respond(r, one, &first);
    read_arrived(r, 1, 8);
    w_done(&r->w, 0, r->vi, false, READ_BITS, 0);
    rig_end(r);
}
END_TEST

/* E19: the Parameter field of an empty frame says nothing. */
START_TEST(read_of_nothing)
{
    struct rig *r = begin_i(_i);
    rig_post(r, FCVI_RDMA_READ, 0);
    unsigned nth = next_read(r, 1, 0);
    struct read_resp q = {.offset = 0x1234, .last = true};
    respond(r, nth, &q);
    read_arrived(r, 1, 0);
    rig_end(r);
}
END_TEST

/* Out-of-Order Fabric: any order, frames twice; E20: FCVI_TOT_LEN is not relied on. */
START_TEST(read_out_of_order)
{
    struct rig *r = begin_i(2 + _i);
    static const uint32_t order[] = {3, 1, 1, 0, 3, 2};
    rig_post(r, FCVI_RDMA_READ, 16);
    unsigned nth = next_read(r, 1, 16);
    for (unsigned k = 0; k < 6; k++) {
        rig_not_done(r, false);
        struct read_resp q = {.cnt = order[k], .offset = 4 * order[k], .length = 4, .last = order[k] == 3};
        respond(r, nth, &q);
    }
    read_arrived(r, 1, 16);
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* What was kept about the pieces of one Read serves the next. There is one run of them for all. */
START_TEST(read_after_read)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.out_of_order = true;
    r->limits.runs = 1;
    rig_connect(r);
    for (uint32_t id = 1; id <= 3; id++) {
        rig_post(r, FCVI_RDMA_READ, 8);
        unsigned nth = next_read(r, id, 8);
        struct read_resp second = {.cnt = 1, .offset = 4, .length = 4, .total = 8, .last = true};
        struct read_resp first = {.length = 4, .total = 8};
        respond(r, nth, &second);
        respond(r, nth, &first);
        read_arrived(r, id, 8);
    }
    rig_end(r);
}
END_TEST

/* ... and that of a Read that is not answered in full before its connection ends. */
START_TEST(read_after_a_disconnect)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.out_of_order = true;
    r->limits.runs = 1;
    rig_connect(r);
    for (uint32_t k = 0; k < 2; k++) {
        rig_post(r, FCVI_RDMA_READ, 8);
        unsigned nth = next_read(r, 1, 8);
        struct read_resp second = {.cnt = 1, .offset = 4, .length = 4, .total = 8, .last = true};
        struct read_resp first = {.length = 4, .total = 8};
        respond(r, nth, &second);
        if (k == 0) {
            rig_hear(r,
                     "02 010100 00 010200 58 290000 07 02 0000 0888 ffff 00000000 %08x 12 02 0000 00*8 00*16",
                     r->handle);
            ck_assert_uint_eq(w_state(&r->w, 0, r->vi), FCVI_STATE_ERROR);
            r->w.events[0] = 0;
            r->vi = w_vi(&r->w, 0, &r->attributes);
            r->handle = rig_serve(r, r->vi, 0xabcd, 0x124);
        } else {
            respond(r, nth, &first);
            read_arrived(r, 1, 8);
        }
    }
    rig_end(r);
}
END_TEST

/* E96, 8.4.1 Note 1: each frame gives the rest another R_A_TOV; then rule 9. */
START_TEST(rest_of_the_data_is_missing)
{
    struct rig *r = begin_i(_i);
    rig_post(r, FCVI_RDMA_READ, 12);
    unsigned nth = next_read(r, 1, 12);
    for (uint32_t k = 0; k < 2; k++) {
        w_run(&r->w, W_R_A_TOV - 1);
        rig_alive(r);
        struct read_resp q = {.cnt = k, .offset = 4 * k, .length = 4, .total = 12};
        respond(r, nth, &q);
    }
    w_run(&r->w, W_R_A_TOV - 1);
    rig_alive(r);
    rig_silent(r);
    w_run(&r->w, 1);
    read_failed(r, nth, TRANSPORT);
}
END_TEST

/* ---- wrong ones: after the first 4 of 12 bytes ---- */

static const struct {
    struct read_resp q;
    uint8_t reason;
    bool in_order_only; /* on an Out-of-Order Fabric the rest may still come */
} wrong[] = {
    {{.cnt = 1, .offset = 4, .length = 4, .total = 12, .other_va = 1}, PROTOCOL, false},
    {{.cnt = 1, .offset = 4, .length = 4, .total = 12, .other_key = 1}, PROTOCOL, false},
    {{.cnt = 1, .offset = 16, .length = 4, .total = 12}, PROTOCOL, false},
    {{.cnt = 1, .offset = 4, .length = 12, .total = 12, .last = true}, PROTOCOL, false},
    {{.cnt = 1, .offset = 0xFFFFFFFC, .length = 8, .total = 12}, PROTOCOL, false},
    {{.cnt = 2, .offset = 8, .length = 4, .total = 12, .last = true},
     PROTOCOL,
     true},                                                              /* a frame is missing */
    {{.cnt = 0, .offset = 0, .length = 4, .total = 12}, PROTOCOL, true}, /* twice */
    {{.cnt = 1, .offset = 8, .length = 4, .total = 12, .last = true}, PROTOCOL, true},  /* the offset jumps */
    {{.cnt = 1, .offset = 4, .length = 4, .total = 12, .last = true}, TRANSPORT, true}, /* an early end */
    {{.cnt = 1, .total = 12, .last = true}, TRANSPORT, true},
};
enum { WRONG = sizeof wrong / sizeof wrong[0] };

START_TEST(wrong_data)
{
    struct rig *r = begin_i(_i / WRONG);
    int k = _i % WRONG;
    rig_post(r, FCVI_RDMA_READ, 12);
    unsigned nth = next_read(r, 1, 12);
    struct read_resp first = {.length = 4, .total = 12};
    respond(r, nth, &first);
    respond(r, nth, &wrong[k].q);
    bool waits = wrong[k].in_order_only && r->config.out_of_order;
    if (waits) {
        rig_alive(r);
        rig_silent(r);
        w_run(&r->w, W_R_A_TOV);
    }
    read_failed(r, nth, waits ? TRANSPORT : wrong[k].reason);
}
END_TEST

/* The first frame of all is not the first of the Exchange. */
START_TEST(first_frame_missing)
{
    struct rig *r = begin_i(_i);
    rig_post(r, FCVI_RDMA_READ, 12);
    unsigned nth = next_read(r, 1, 12);
    struct read_resp q = {.cnt = 2, .offset = 8, .length = 4, .total = 12, .last = true};
    respond(r, nth, &q);
    read_failed(r, nth, PROTOCOL);
}
END_TEST

/* ---- Table 6 ---- */

/* _i: three operations times the combinations of RESP_ERR with DESC_ERR, PROT_ERR and TRANS_ERR */
START_TEST(error_response)
{
    static const struct {
        enum fcvi_op op;
        uint8_t opcode;
        uint32_t bits;
    } ops[] = {{FCVI_SEND, OP_SEND_RESP, 0},
               {FCVI_RDMA_WRITE, OP_WRITE_RESP, FCVI_STATUS_OP_RDMA_WRITE},
               {FCVI_RDMA_READ, OP_READ_RESP, READ_BITS}};
    unsigned op = (unsigned)_i / 8, cause = (unsigned)_i % 8;
    uint32_t status = 0;
    struct rig *r = rig_begin(FCVI_RELIABLE_RECEPTION);
    rig_post(r, ops[op].op, 8);
    rig_post(r, ops[op].op, 8); /* flushed after the error (VI-ARCH 2.5) */
    r->seen = r->sent;
    if (ops[op].op == FCVI_RDMA_READ) { /* E42: whatever data came before */
        struct read_resp first = {.length = 4, .total = 8};
        respond(r, r->sent - 2, &first);
        struct read_resp q = {.cnt = 1, .total = 8, .last = true, .flags = (uint8_t)(1 | cause << 1)};
        respond(r, r->sent - 2, &q);
    } else {
        rig_hear(r,
                 "07 010100 00 010200 58 980000 09 01 0000 %04x 8001 00000000 "
                 "%08x %02x %02x 0000 00000001 00000000",
                 rig_ox(r, r->sent - 2), r->handle, ops[op].opcode, 1 | cause << 1);
    }
    if (cause & 1)
        status |= FCVI_STATUS_REMOTE_DESC_ERROR;
    if (cause & 2)
        status |= FCVI_STATUS_RDMA_PROT_ERROR;
    if (cause & 4 || cause == 0) /* E22: no cause named */
        status |= FCVI_STATUS_TRANSPORT_ERROR;
    w_done(&r->w, 0, r->vi, false, ops[op].bits | status, 0);
    w_done(&r->w, 0, r->vi, false, ops[op].bits | FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    ck_assert_ptr_nonnull(w_error(&r->w, 0, VIP_ERROR_CONN_LOST));
    rig_broken(r, 0);
    rig_end(r);
}
END_TEST

/* VI-ARCH 2.5.2, Annex E: on Reliable Delivery a Send passes a Read. When the Read then fails, the Send does
 * not complete well. */
START_TEST(read_fails_behind_a_send)
{
    struct rig *r = rig_begin(FCVI_RELIABLE_DELIVERY);
    rig_post(r, FCVI_SEND, 0);
    w_done(&r->w, 0, r->vi, false, 0, 0);
    r->w.events[0] = 0;
    rig_post(r, FCVI_RDMA_READ, 8);
    rig_post(r, FCVI_SEND, 8);
    rig_not_done(r, false);
    struct read_resp q = {.total = 8, .last = true, .flags = 5};
    respond(r, r->sent - 2, &q);
    w_done(&r->w, 0, r->vi, false, READ_BITS | FCVI_STATUS_RDMA_PROT_ERROR, 0);
    w_done(&r->w, 0, r->vi, false, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    for (unsigned k = 0, completions = 0; k < r->w.events[0]; k++) /* and nobody has heard that it did */
        if (r->w.event[0][k].kind == FCVI_EVENT_COMPLETION)
            ck_assert_uint_eq((r->w.event[0][k].completion.status & FCVI_STATUS_DESC_FLUSHED_ERROR) != 0,
                              completions++ > 0);
    rig_broken(r, 0);
    ck_assert_uint_eq(rig_field(r, r->seen - 1, 32, 4), 1); /* the last Message completed here (6.12.2) */
    rig_end(r);
}
END_TEST

/* ---- E45: responses to nothing ---- */

static void send_resp(struct rig *r, unsigned nth, uint32_t handle, uint8_t opcode, uint32_t id,
                      uint32_t other_ox)
{
    rig_hear(r, "07 010100 00 010200 58 980000 09 01 0000 %04x 8001 00000000 %08x %02x 00 0000 %08x 00000000",
             rig_ox(r, nth) ^ other_ox, handle, opcode, id);
}

START_TEST(response_to_nothing)
{
    struct rig *r = rig_begin(FCVI_RELIABLE_RECEPTION);
    uint32_t other = w_vi(&r->w, 0, &r->attributes), handle = rig_serve(r, other, 0xbeef, 0x124);
    rig_post(r, FCVI_SEND, 8);
    unsigned nth = r->sent - 1;
    send_resp(r, nth, r->handle, OP_SEND_RESP, 2, 0);      /* another Message */
    send_resp(r, nth, r->handle, OP_WRITE_RESP, 1, 0);     /* another operation */
    send_resp(r, nth, r->handle, OP_SEND_RESP, 1, 0x4000); /* an Exchange never opened */
    send_resp(r, nth, handle, OP_SEND_RESP, 1, 0);         /* another connection */
    struct read_resp q = {.last = true};
    respond(r, nth, &q);
    rig_not_done(r, false);
    send_resp(r, nth, r->handle, OP_SEND_RESP, 1, 0);
    w_done(&r->w, 0, r->vi, false, 0, 8);
    send_resp(r, nth, r->handle, OP_SEND_RESP, 1, 0); /* once more: the Exchange is over */
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* 6.3.1: none on Reliable Delivery, where the Exchange is over anyway; a Read's is not taken for a Send's. */
START_TEST(response_not_allowed)
{
    struct rig *r = rig_begin(FCVI_RELIABLE_DELIVERY);
    rig_post(r, FCVI_SEND, 8);
    w_done(&r->w, 0, r->vi, false, 0, 8);
    send_resp(r, r->sent - 1, r->handle, OP_SEND_RESP, 1, 0);
    rig_post(r, FCVI_RDMA_READ, 4);
    unsigned nth = r->sent - 1;
    send_resp(r, nth, r->handle, OP_SEND_RESP, 2, 0);
    rig_not_done(r, false);
    struct read_resp q = {.length = 4, .total = 4, .last = true};
    respond(r, nth, &q);
    read_arrived(r, 2, 4);
    rig_end(r);
}
END_TEST

/* The other side gives up our Exchange (F_CTL bit 23: it comes from its responder): there will be no
 * response. */
START_TEST(exchange_is_aborted)
{
    struct rig *r = begin_i(_i);
    rig_post(r, FCVI_RDMA_READ, 4);
    unsigned nth = r->sent - 1;
    r->seen = r->sent;
    rig_hear(r, "81 010100 00 010200 00 890000 07 00 0000 %04x ffff 00000000", rig_ox(r, nth));
    rig_next(r, "84 010200 00 010100 00 190000 .. 00 0000 %04x .... 00000000 00*4 %04x .... 0000 ffff",
             rig_ox(r, nth), rig_ox(r, nth));
    read_failed(r, nth, TRANSPORT);
}
END_TEST

/* VI-DG 5.2: the memory read into was deregistered meanwhile. */
START_TEST(memory_gone_while_reading)
{
    struct rig *r = begin_i(_i);
    rig_post(r, FCVI_RDMA_READ, 4);
    ck_assert_int_eq(fcvi_vip_deregister_mem(r->w.port[0], r->w.now, r->mem), VIP_SUCCESS);
    struct read_resp q = {.length = 4, .total = 4, .last = true};
    respond(r, r->sent - 1, &q);
    w_done(&r->w, 0, r->vi, false, READ_BITS | FCVI_STATUS_PROTECTION_ERROR, 0);
    ck_assert_uint_eq(r->bytes[1], 0);
    rig_broken(r, 0);
    rig_end(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("response");
    rig_case(s, "6.7", read_in_order, 0, 8);
    rig_case(s, "6.7", read_in_two_sequences, 0, 4);
    rig_case(s, "6.7", read_of_nothing, 0, 4);
    rig_case(s, "6.7", read_of_five_bytes, 0, 4);
    rig_case(s, "6.7", read_of_nothing_behind_a_piece, 0, 1);
    rig_case(s, "6.7", read_out_of_order, 0, 2);
    rig_case(s, "6.7", read_after_read, 0, 1);
    rig_case(s, "6.7", read_after_a_disconnect, 0, 1);
    rig_case(s, "E96", rest_of_the_data_is_missing, 0, 4);
    rig_case(s, "8.4.1", wrong_data, 0, 4 * WRONG);
    rig_case(s, "8.4.1", first_frame_missing, 0, 2);
    rig_case(s, "Table 6", error_response, 0, 24);
    rig_case(s, "VI-ARCH 2.5.2", read_fails_behind_a_send, 0, 1);
    rig_case(s, "E45", response_to_nothing, 0, 1);
    rig_case(s, "E45", response_not_allowed, 0, 1);
    rig_case(s, "8.4.2", exchange_is_aborted, 0, 4);
    rig_case(s, "VI-DG 5.2", memory_gone_while_reading, 0, 4);
    return rig_run(s);
}
