/* RDMA at the responder: FCVI_WRITE_RQST and FCVI_READ_RQST, what they may touch and what is answered (5.2.3,
 * 5.2.4, 6.4 to 6.7, 5.9.7.3, VI-ARCH 3.2, VI-DG 3.8.1). */
#define _GNU_SOURCE
#include "../rig.h"

#include <sys/mman.h>

enum { TARGET = 600, TARGET_VA = 0x5000 };

/* A region of 600 bytes at 5000h. */
struct target {
    uint8_t bytes[TARGET];
    uint32_t mem, key;
};

static void target_in(struct rig *r, struct target *t, uint64_t va)
{
    for (uint32_t k = 0; k < TARGET; k++)
        t->bytes[k] = (uint8_t)(k * 5 + k / 256 + 1);
    t->mem = w_region(&r->w, 0, t->bytes, TARGET, va, &t->key);
}

/* _i: Reliability Level and Fabric */
static struct rig *begin_i(int i)
{
    struct rig *r = rig_new((uint8_t)(1 + i % 3));
    r->config.out_of_order = i / 3 % 2;
    r->config.receive_size = 256; /* 224 bytes of data in a frame */
    rig_connect(r);
    return r;
}

static bool answers(const struct rig *r)
{
    return r->attributes.reliability == FCVI_RELIABLE_RECEPTION;
}
static bool reliable_level(const struct rig *r)
{
    return r->attributes.reliability != FCVI_UNRELIABLE;
}

/* ---- RDMA Write ---- */

/* Data go to FCVI_RMT_VA + Relative Offset and nowhere else; no Descriptor is taken (6.4.1). */
START_TEST(write_lands)
{
    struct rig *r = begin_i(_i);
    struct target t;
    target_in(r, &t, TARGET_VA);
    uint8_t *slot = rig_receive(r);
    for (uint32_t k = 0; k < 3; k++) {
        struct rqst q = {.opcode = OP_WRITE,
                         .id = 1,
                         .cnt = k,
                         .offset = 100 * k,
                         .length = 100,
                         .total = 300,
                         .last = k == 2,
                         .va = TARGET_VA + 7,
                         .key = t.key};
        rig_rqst(r, &q);
    }
    if (answers(r))
        rig_next_resp(r, OP_WRITE_RESP, 0, 1);
    rig_silent(r);
    for (uint32_t k = 0; k < TARGET; k++)
        ck_assert_uint_eq(t.bytes[k],
                          k >= 7 && k < 307 ? rig_value(1, k - 7) : (uint8_t)(k * 5 + k / 256 + 1));
    rig_not_done(r, true);
    rig_message(r, OP_WRITE, 2, TARGET, TARGET_VA, t.key); /* all of the region */
    ck_assert_uint_eq(t.bytes[TARGET - 1], rig_value(2, TARGET - 1));
    rig_message(r, OP_WRITE, 3, 0, 0, 0); /* of no data: it touches nothing */
    rig_message(r, OP_SEND, 4, 4, 0, 0);
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE, 4);
    ck_assert_uint_eq(slot[3], rig_value(4, 3));
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* Immediate Data take a receive Descriptor (VI-DG 5.2); E43: in the last frame at least. */
START_TEST(write_with_immediate_data)
{
    struct rig *r = begin_i(_i);
    struct target t;
    target_in(r, &t, TARGET_VA);
    rig_receive(r);
    for (uint32_t k = 0; k < 2; k++) {
        struct rqst q = {.opcode = OP_WRITE,
                         .flags = k == 1,
                         .immediate = k == 1 ? 0x01020304 : 0,
                         .id = 1,
                         .cnt = k,
                         .offset = 4 * k,
                         .length = 4,
                         .total = 8,
                         .last = k == 1,
                         .va = TARGET_VA,
                         .key = t.key};
        rig_rqst(r, &q);
    }
    struct fcvi_completion c;
    ck_assert_int_eq(fcvi_vip_done(r->w.port[0], r->w.now, r->vi, true, &c), VIP_SUCCESS);
    ck_assert_uint_eq(c.status, FCVI_STATUS_DONE | FCVI_STATUS_OP_REMOTE_RDMA_WRITE | FCVI_STATUS_IMMEDIATE);
    ck_assert_uint_eq(c.immediate, 0x01020304);
    ck_assert_uint_eq(c.length, 8);
    ck_assert_uint_eq(t.bytes[7], rig_value(1, 7));
    if (answers(r))
        rig_next_resp(r, OP_WRITE_RESP, 0, 1);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* ... and without one the Message fails: Remote Descriptor Error (Table 6, Table 12). Also a Send. */
START_TEST(no_descriptor_posted)
{
    struct rig *r = begin_i(_i / 2);
    struct target t;
    target_in(r, &t, TARGET_VA);
    struct rqst q = {
        .opcode = _i % 2 != 0 ? OP_WRITE : OP_SEND, .id = 1, .length = 4, .total = 4, .last = true};
    if (q.opcode == OP_WRITE) {
        q.flags = 1;
        q.immediate = 5;
        q.va = TARGET_VA;
        q.key = t.key;
    }
    rig_rqst(r, &q);
    /* VI-ARCH 7.1: on Unreliable Delivery the application hears of broken hardware only */
    ck_assert_int_eq(w_error(&r->w, 0, VIP_ERROR_RECVQ_EMPTY) != NULL, reliable_level(r));
    ck_assert_ptr_null(w_error(&r->w, 0, VIP_ERROR_RDMAW_PROT));
    if (answers(r))
        rig_next_resp(r, q.opcode == OP_WRITE ? OP_WRITE_RESP : OP_SEND_RESP, 3, 1);
    rig_silent(r);
    if (reliable_level(r)) {
        rig_broken(r, REMOTE_DESCRIPTOR);
    } else {
        rig_alive(r);
        rig_receive(r);
        rig_message(r, OP_SEND, 2, 4, 0, 0);
        w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE, 4);
    }
    rig_end(r);
}
END_TEST

/* ---- protection (VI-ARCH 3.2.2) ---- */

struct forbidden {
    uint64_t va;
    uint32_t length, handle_change;
    bool vi_disabled, region_disabled, other_tag, deregistered;
};
static const struct forbidden forbidden[] = {
    {.va = TARGET_VA, .length = 4, .vi_disabled = true},
    {.va = TARGET_VA, .length = 4, .region_disabled = true},
    {.va = TARGET_VA, .length = 4, .other_tag = true},
    {.va = TARGET_VA, .length = 4, .deregistered = true},
    {.va = TARGET_VA, .length = 4, .handle_change = 1u << 20}, /* another generation of the region */
    {.va = TARGET_VA, .length = 4, .handle_change = 1},        /* that of another region */
    {.va = TARGET_VA, .length = 4, .handle_change = 2},        /* none */
    {.va = TARGET_VA, .length = 4, .handle_change = 0xFFFFF},
    {.va = TARGET_VA - 1, .length = 4},
    {.va = TARGET_VA + TARGET - 3, .length = 4},
    {.va = TARGET_VA + TARGET, .length = 1},
    {.va = TARGET_VA + TARGET + 1, .length = 1},
    {.va = UINT64_MAX, .length = 4}, /* the range wraps */
    {.va = UINT64_MAX - 3, .length = 8},
};
enum { FORBIDDEN = sizeof forbidden / sizeof forbidden[0] };

static struct rig *begin_forbidden(int i, const struct forbidden *f, struct target *t)
{
    struct rig *r = rig_new((uint8_t)(1 + i % 3));
    r->config.out_of_order = i / 3 % 2;
    r->attributes.rdma_write = r->attributes.rdma_read = !f->vi_disabled;
    if (r->attributes.reliability == FCVI_UNRELIABLE)
        r->attributes.rdma_read = false;
    rig_connect(r);
    target_in(r, t, TARGET_VA);
    struct fcvi_region change = {
        .ptag = f->other_tag, .rdma_write = !f->region_disabled, .rdma_read = !f->region_disabled};
    ck_assert_int_eq(fcvi_vip_set_mem(r->w.port[0], r->w.now, t->mem, &change), VIP_SUCCESS);
    if (f->deregistered)
        ck_assert_int_eq(fcvi_vip_deregister_mem(r->w.port[0], r->w.now, t->mem), VIP_SUCCESS);
    return r;
}

/* Nothing is written. Reliable: WRITE_RESP with RESP_ERR and PROT_ERR, VIP_ERROR_RDMAW_PROT, Error. */
START_TEST(write_is_forbidden)
{
    const struct forbidden *f = &forbidden[_i % FORBIDDEN];
    struct target t;
    struct rig *r = begin_forbidden(_i / FORBIDDEN, f, &t);
    rig_message(r, OP_WRITE, 1, f->length, f->va, t.key ^ f->handle_change);
    for (uint32_t k = 0; k < TARGET; k++)
        ck_assert_uint_eq(t.bytes[k], (uint8_t)(k * 5 + k / 256 + 1));
    if (answers(r))
        rig_next_resp(r, OP_WRITE_RESP, 5, 1);
    rig_silent(r);
    if (reliable_level(r)) {
        ck_assert_ptr_nonnull(w_error(&r->w, 0, VIP_ERROR_RDMAW_PROT));
        rig_broken(r, WRITE_PROTECTION);
    } else {
        rig_receive(r);
        rig_message(r, OP_SEND, 2, 4, 0, 0);
        w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_RECEIVE, 4);
        rig_alive(r);
    }
    rig_end(r);
}
END_TEST

/* With Immediate Data the receive Descriptor says so (VI-DG 5.2). */
START_TEST(forbidden_with_immediate_data)
{
    struct rig *r = begin_i(_i);
    rig_receive(r);
    struct rqst q = {.opcode = OP_WRITE,
                     .flags = 1,
                     .immediate = 9,
                     .id = 1,
                     .length = 4,
                     .total = 4,
                     .last = true,
                     .va = RIG_VA + RIG_BYTES,
                     .key = r->region};
    rig_rqst(r, &q);
    w_done(&r->w, 0, r->vi, true, FCVI_STATUS_OP_REMOTE_RDMA_WRITE | FCVI_STATUS_PROTECTION_ERROR, 0);
    ck_assert_ptr_null(w_error(&r->w, 0, VIP_ERROR_RDMAW_PROT)); /* VI-DG 3.8.1: the Descriptor says it */
    if (answers(r))
        rig_next_resp(r, OP_WRITE_RESP, 5, 1);
    if (reliable_level(r))
        rig_broken(r, WRITE_PROTECTION);
    else
        rig_alive(r);
    rig_end(r);
}
END_TEST

/* Out of order: the second frame of a Message that is too long for the region comes first. */
START_TEST(frame_behind_the_region)
{
    struct rig *r = begin_i(3 + _i);
    struct target t;
    target_in(r, &t, TARGET_VA);
    for (uint32_t k = 2; k-- > 0;) {
        struct rqst q = {.opcode = OP_WRITE,
                         .id = 1,
                         .cnt = k,
                         .offset = 4 * k,
                         .length = 4,
                         .total = 8,
                         .last = k == 1,
                         .va = TARGET_VA + TARGET - 2,
                         .key = t.key};
        rig_rqst(r, &q);
    }
    ck_assert_uint_eq(t.bytes[TARGET - 1], (uint8_t)((TARGET - 1) * 5 + (TARGET - 1) / 256 + 1));
    if (answers(r))
        rig_next_resp(r, OP_WRITE_RESP, 5, 1);
    if (reliable_level(r))
        rig_broken(r, WRITE_PROTECTION);
    else
        rig_alive(r);
    rig_end(r);
}
END_TEST

/* ... or one whose address and Relative Offset together are above 2^32, which would be in the region again.
 */
START_TEST(offset_that_wraps)
{
    struct rig *r = begin_i(3 + _i);
    struct target t;
    target_in(r, &t, TARGET_VA);
    struct rqst q = {.opcode = OP_WRITE,
                     .id = 1,
                     .cnt = 7,
                     .offset = 0xFFFFFF00,
                     .length = 4,
                     .total = UINT32_MAX,
                     .va = TARGET_VA + 512,
                     .key = t.key};
    rig_rqst(r, &q);
    for (uint32_t k = 0; k < TARGET; k++)
        ck_assert_uint_eq(t.bytes[k], (uint8_t)(k * 5 + k / 256 + 1));
    rig_end(r);
}
END_TEST

/* ... also in a region that is larger than what is left behind its end. */
START_TEST(offset_that_wraps_in_a_large_region)
{
    enum { LARGE = 0x60000000 };
    struct rig *r = begin_i(3 + _i);
    uint32_t key;
    uint8_t *bytes =
        mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(bytes, MAP_FAILED);
    w_region(&r->w, 0, bytes, LARGE, TARGET_VA, &key);
    struct rqst q = {.opcode = OP_WRITE,
                     .id = 1,
                     .cnt = 7,
                     .offset = 0xA0000000,
                     .length = 4,
                     .total = UINT32_MAX,
                     .va = TARGET_VA + LARGE,
                     .key = key};
    rig_rqst(r, &q);
    for (uint32_t k = 0; k < 4; k++)
        ck_assert_uint_eq(bytes[k], 0);
    rig_end(r);
    munmap(bytes, LARGE);
}
END_TEST

/* E43, Annex B rule 6: all frames name the same place. _i: level and Fabric; the address, or the handle */
START_TEST(place_that_changes)
{
    struct rig *r = begin_i(_i % 6);
    struct target t, other, before;
    target_in(r, &t, TARGET_VA);
    target_in(r, &other, TARGET_VA);
    struct rqst q = {.opcode = OP_WRITE, .id = 1, .length = 4, .total = 8, .va = TARGET_VA, .key = t.key};
    rig_rqst(r, &q);
    before = t;
    q.cnt = 1;
    q.offset = 4;
    q.last = true;
    if (_i < 6)
        q.va += 8;
    else
        q.key = other.key;
    rig_rqst(r, &q);
    ck_assert_mem_eq(t.bytes, before.bytes, TARGET);
    rig_silent(r);
    if (reliable_level(r)) {
        rig_broken(r, PROTOCOL);
    } else {
        rig_message(r, OP_WRITE, 2, 4, TARGET_VA, t.key);
        ck_assert_uint_eq(t.bytes[3], rig_value(2, 3));
        rig_alive(r);
    }
    rig_end(r);
}
END_TEST

/* ---- RDMA Read: _i is a reliable level and the Fabric ---- */

static struct rig *begin_read(int i)
{
    return begin_i(1 + i % 2 + 3 * (i / 2));
}

/* Three frames, Relative Offset from 0 and added to FCVI_RMT_VA; Device_Header echoed (6.7.2, 5.8.7). */
START_TEST(read_is_answered)
{
    struct rig *r = begin_read(_i);
    struct target t;
    target_in(r, &t, TARGET_VA);
    rig_message(r, OP_READ, 1, TARGET - 1, TARGET_VA + 1, t.key);
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t length = k < 2 ? 224 : TARGET - 1 - 448;
        rig_next_data(r, t.bytes + 1 + 224 * k, length,
                      "01 010200 00 010100 58 %06x .. 02 %04x 0701 .... %08x "
                      "0000abcd 0a 00 0000 00000001 00000000 0000000000005001 %08x %08x",
                      k < 2 ? 0x800008u : 0x980009u, k, 224 * k, t.key, (unsigned)TARGET - 1);
    }
    rig_message(r, OP_READ, 2, 0, 0, 0); /* of no data: one empty frame */
    rig_next(r, "01 010200 00 010100 58 980000 .. 02 0000 0702 .... 00000000 "
                "0000abcd 0a 00 0000 00000002 00000000 00*8 00*4 00000000");
    rig_silent(r);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* READ_RESP with RESP_ERR and PROT_ERR, no data, the rest echoed (E42); then VIP_ERROR_RDMAR_PROT and Error.
 */
START_TEST(read_is_forbidden)
{
    static const int levels[] = {1, 2, 4, 5};
    const struct forbidden *f = &forbidden[_i % FORBIDDEN];
    struct target t;
    struct rig *r = begin_forbidden(levels[_i / FORBIDDEN], f, &t);
    rig_message(r, OP_READ, 1, f->length, f->va, t.key ^ f->handle_change);
    rig_next(r,
             "01 010200 00 010100 58 980000 .. 02 0000 0701 .... 00000000 "
             "0000abcd 0a 05 0000 00000001 00000000 %016llx %08x %08x",
             (unsigned long long)f->va, t.key ^ f->handle_change, f->length);
    rig_silent(r);
    ck_assert_ptr_nonnull(w_error(&r->w, 0, VIP_ERROR_RDMAR_PROT));
    ck_assert_ptr_null(w_error(&r->w, 0, VIP_ERROR_CONN_LOST)); /* one call for one error (VI-DG 3.8.1) */
    rig_broken(r, READ_PROTECTION);
    rig_end(r);
}
END_TEST

/* Those before it are answered first. */
START_TEST(read_is_forbidden_later)
{
    struct rig *r = begin_read(_i);
    struct target t;
    char hex[RIG_HEX];
    uint8_t bytes[128];
    target_in(r, &t, TARGET_VA);
    for (unsigned id = 1; id <= 2; id++) { /* the host takes no frame in between */
        snprintf(hex, sizeof hex,
                 "06 010100 00 010200 58 290000 07 02 0000 %04x ffff 00000000 "
                 "%08x 02 00 0000 %08x 00000000 %016llx %08x 00000001",
                 0x700 + id, r->handle, id, (unsigned long long)TARGET_VA + (id == 1 ? 0 : TARGET), t.key);
        struct fcvi_input in = {bytes, from_hex(hex, bytes), FCVI_SOF_NONE, FCVI_EOF_NONE, FCVI_CRC_OK};
        fcvi_port_receive(r->w.port[0], r->w.now, &in);
    }
    w_quiet(&r->w);
    rig_next_data(r, t.bytes, 1,
                  "01 010200 00 010100 58 98000b .. 02 0000 0701 .... 00000000 "
                  "0000abcd 0a 00 0000 00000001 00000000 %016llx %08x 00000001",
                  (unsigned long long)TARGET_VA, t.key);
    rig_next(r,
             "01 010200 00 010100 58 980000 .. 02 0000 0702 .... 00000000 "
             "0000abcd 0a 05 0000 00000002 00000000 %016llx %08x 00000001",
             (unsigned long long)TARGET_VA + TARGET, t.key);
    rig_silent(r);
    rig_broken(r, READ_PROTECTION);
    rig_end(r);
}
END_TEST

/* 6.6.1: the IU has no payload, and Unreliable Delivery knows no RDMA Read. */
START_TEST(read_with_payload)
{
    struct rig *r = begin_read(_i);
    struct rqst q = {
        .opcode = OP_READ, .id = 1, .length = 4, .total = 4, .last = true, .va = RIG_VA, .key = r->region};
    rig_rqst(r, &q);
    rig_silent(r);
    rig_broken(r, PROTOCOL);
    rig_end(r);
}
END_TEST

/* Annex B rule 1: nothing is received any more once the application has disconnected, answered or not. */
START_TEST(write_after_the_disconnect)
{
    struct rig *r = begin_i(_i);
    struct target t, before;
    target_in(r, &t, TARGET_VA);
    before = t;
    unsigned nth = r->sent;
    ck_assert_int_eq(fcvi_vip_disconnect(r->w.port[0], r->w.now, r->vi, 8), FCVI_VIP_PENDING);
    w_quiet(&r->w);
    rig_message(r, OP_WRITE, 1, 8, TARGET_VA, t.key);
    ck_assert_uint_eq(r->sent, nth + 1);
    ck_assert_mem_eq(t.bytes, before.bytes, TARGET);
    rig_hear(r, "03 010100 00 010200 58 980000 06 02 0000 %04x 8001 00000000 00000000 1b 02 0000 00*8 00*16",
             rig_ox(r, nth));
    r->seen = r->sent;
    rig_end(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rdma");
    rig_case(s, "6.4", write_lands, 0, 6);
    rig_case(s, "6.4.2", write_with_immediate_data, 0, 6);
    rig_case(s, "5.9.7.3", no_descriptor_posted, 0, 12);
    rig_case(s, "VI-ARCH 3.2.2", write_is_forbidden, 0, 6 * FORBIDDEN);
    rig_case(s, "VI-DG 5.2", forbidden_with_immediate_data, 0, 6);
    rig_case(s, "VI-ARCH 3.2.2", frame_behind_the_region, 0, 3);
    rig_case(s, "VI-ARCH 3.2.2", offset_that_wraps, 0, 3);
    rig_case(s, "VI-ARCH 3.2.2", offset_that_wraps_in_a_large_region, 0, 3);
    rig_case(s, "E43", place_that_changes, 0, 12);
    rig_case(s, "6.7", read_is_answered, 0, 4);
    rig_case(s, "E42", read_is_forbidden, 0, 4 * FORBIDDEN);
    rig_case(s, "E42", read_is_forbidden_later, 0, 4);
    rig_case(s, "6.6.1", read_with_payload, 0, 4);
    rig_case(s, "Annex B", write_after_the_disconnect, 0, 6);
    return rig_run(s);
}
