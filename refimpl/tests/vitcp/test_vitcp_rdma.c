/* VI/TCP: RDMA Write and RDMA Read (2.2.2.2.6, 3.1, 3.2.1), byte for byte. */
#include "vitcp.h"

enum { REL = 0x0007, UNREL = 0x0002 };

#define SEGMENT "01%02x%04x %08x %08x %08x %08x %04x%04x"
/* RDMA Address, Registered Memory Handle, RDMA Length. */
#define RDMA "%016llx %08x %08x"
#define NOP "012a0018 00000000 00000000 ........ %08x %04x%04x"

typedef unsigned long long wide;

static struct tcp *make(void)
{
    struct tcp *t = t_new();
    t->window = FCVI_STREAM_UNLIMITED;
    t->config.vitcp.segment_size = 128;
    t_make(t);
    t_memory(t);
    memset(t->bytes, 0xee, 1 << 18);
    return t;
}

/* ---- the tester writes ---- */

START_TEST(write)
{
    static const size_t cuts[] = {0, 1, 39, 41};
    struct tcp *t = make();
    t->cut = cuts[_i];
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    t_post(t, vi, FCVI_RECV, 0, 0);
    uint32_t stream = t_connected(t, vi, REL, 0);
    /* the target is RDMA Address + Data Offset (V10) */
    t_send(t, stream, SEGMENT RDMA "c1c2", 0x20, 42, 0, 0, 1, 0, 0, 0, (wide)t->va + 0x100, t->handle, 3);
    t_send(t, stream, SEGMENT RDMA "c3", 0x22, 41, 2, 0, 1, 0, 0, 0, (wide)t->va + 0x100, t->handle, 3);
    ck_assert_mem_eq(t->bytes + 0xff, "\xee\xc1\xc2\xc3\xee", 5);
    t_not_done(t, vi, true); /* it consumes no receive Descriptor */
    t_hear(t, stream, NOP, 1, 1, 0);
    t_send(t, stream, SEGMENT RDMA "d1", 0x23, 41, 0, 0xabcd, 2, 0, 0, 0, (wide)t->va, t->handle, 1);
    struct fcvi_completion c; /* but with Immediate Data it does */
    ck_assert_int_eq(fcvi_vip_done(t->port, t->now, vi, true, &c), VIP_SUCCESS);
    ck_assert_uint_eq(c.status, FCVI_STATUS_DONE | FCVI_STATUS_OP_REMOTE_RDMA_WRITE | FCVI_STATUS_IMMEDIATE);
    ck_assert_uint_eq(c.immediate, 0xabcd);
    ck_assert_uint_eq(c.length, 1);
    ck_assert_mem_eq(t->bytes, "\xd1\xee", 2);
    t_hear(t, stream, NOP, 2, 1, 0);
    t_send(t, stream, SEGMENT RDMA, 0x22, 40, 0, 0, 3, 0, 0, 0, 0ull, 0, 0); /* nothing needs no right */
    t_hear(t, stream, NOP, 3, 1, 0);
    t_state(t, vi, FCVI_STATE_CONNECTED);
    t_free(t);
}
END_TEST

/* Where it may not write: not a byte moves (2.2.2.2.2). */
enum { BAD_HANDLE, BEFORE, BEHIND, ACROSS, WRAP, DISABLED, OTHER_TAG, VI_DISABLED, STALE, WRITE_FAULTS };

static void forbid(struct tcp *t, int how, wide *va, uint32_t *handle)
{
    struct fcvi_region r = {
        .rdma_write = how != DISABLED, .rdma_read = how != DISABLED, .ptag = how == OTHER_TAG};
    *va = how == BEFORE   ? t->va - 1
          : how == BEHIND ? t->va + (1 << 18)
          : how == ACROSS ? t->va + (1 << 18) - 2
          : how == WRAP   ? UINT64_MAX - 1
                          : t->va;
    *handle = how == BAD_HANDLE ? t->handle + 1 : t->handle;
    if (how == DISABLED || how == OTHER_TAG)
        ck_assert_int_eq(fcvi_vip_set_mem(t->port, t->now, t->mem, &r), VIP_SUCCESS);
    if (how == STALE)
        ck_assert_int_eq(fcvi_vip_deregister_mem(t->port, t->now, t->mem), VIP_SUCCESS);
}

START_TEST(write_forbidden)
{
    for (unsigned level = FCVI_UNRELIABLE; level <= FCVI_RELIABLE_RECEPTION; level += 2)
        for (unsigned immediate = 0; immediate < 2; immediate++) {
            struct tcp *t = make();
            const struct fcvi_attributes a = {.reliability = (uint8_t)level, .rdma_write = _i != VI_DISABLED};
            wide va;
            uint32_t handle, vi;
            bool is_reliable = level != FCVI_UNRELIABLE;
            ck_assert_int_eq(fcvi_vip_create_vi(t->port, t->now, &a, &vi), VIP_SUCCESS);
            t_post(t, vi, FCVI_RECV, 0, 0);
            uint32_t stream = t_connected(t, vi, is_reliable ? REL : UNREL, 0);
            forbid(t, _i, &va, &handle);
            t_send(t, stream, SEGMENT RDMA "c1c2", 0x20 | immediate, 42, 0, 0, 7, 0, 0, 0, va, handle, 3);
            t_send(t, stream, SEGMENT RDMA "c3", 0x22 | immediate, 41, 2, 0, 7, 0, 0, 0, va, handle, 3);
            for (unsigned i = 0; i < 1 << 18; i++)
                ck_assert_uint_eq(t->bytes[i], 0xee);
            if (immediate)
                t_done(t, vi, true, FCVI_STATUS_PROTECTION_ERROR, 0);
            if (is_reliable) {
                t_error(t, immediate ? VIP_ERROR_CONN_LOST : VIP_ERROR_RDMAW_PROT);
                t_hear(t, stream, NOP, 7, 1, 0x0100);
                t_quiet(t, stream, FCVI_STREAM_FIN);
                t_state(t, vi, FCVI_STATE_ERROR);
            } else {
                t_no_error(t);
                t_state(t, vi, FCVI_STATE_CONNECTED);
            }
            t_free(t);
        }
}
END_TEST

/* RDMA Length against the data (3.2.1): more, less, or another one than before. */
START_TEST(write_length)
{
    struct tcp *t = make();
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, REL, 0);
    if (_i == 0)
        t_send(t, stream, SEGMENT RDMA "c1c2", 0x22, 42, 0, 0, 1, 0, 0, 0, (wide)t->va, t->handle, 1);
    else if (_i == 1)
        t_send(t, stream, SEGMENT RDMA "c1", 0x22, 41, 0, 0, 1, 0, 0, 0, (wide)t->va, t->handle, 2);
    else
        t_send(t, stream, SEGMENT RDMA "c1" SEGMENT RDMA "c2", 0x20, 41, 0, 0, 1, 0, 0, 0, (wide)t->va,
               t->handle, 2, 0x22, 41, 1, 0, 1, 0, 0, 0, (wide)t->va, t->handle, 3);
    ck_assert_uint_eq(t->bytes[1], 0xee);
    t_state(t, vi, FCVI_STATE_ERROR);
    t_quiet(t, stream, FCVI_STREAM_FIN);
    t_free(t);
}
END_TEST

/* The region goes away in the middle of a message. */
START_TEST(write_deregistered)
{
    struct tcp *t = make();
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, REL, 0);
    t_send(t, stream, SEGMENT RDMA "c1", 0x20, 41, 0, 0, 1, 0, 0, 0, (wide)t->va, t->handle, 2);
    fcvi_vip_deregister_mem(t->port, t->now, t->mem);
    t_send(t, stream, SEGMENT RDMA "c2", 0x22, 41, 1, 0, 1, 0, 0, 0, (wide)t->va, t->handle, 2);
    t_hear(t, stream, NOP, 1, 0, 0x0100);
    t_error(t, VIP_ERROR_RDMAW_PROT);
    t_free(t);
}
END_TEST

/* ---- the tester reads ---- */

START_TEST(read)
{
    struct tcp *t = make();
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, REL, 0);
    memset(t->bytes, 0x11, 88);
    memset(t->bytes + 88, 0x22, 88);
    char one[200] = "", two[200] = "";
    for (int i = 0; i < 88; i++) {
        strcat(one, "11");
        strcat(two, "22");
    }
    /* two at once, with numbers that are not the port's; the second of nothing */
    t_send(t, stream, SEGMENT RDMA SEGMENT RDMA, 0x12, 40, 0, 0, 0x70, 0, 0, 0, (wide)t->va, t->handle, 177,
           0x10, 40, 0, 0, 0x71, 0, 0, 0, 0ull, 0, 0);
    t_hear(t, stream, "01180080 00000000 00000000 00000070 ffffffff 00000000 " RDMA " %s", (wide)t->va,
           t->handle, 177, one);
    t_hear(t, stream, "01180080 00000058 00000000 00000070 ffffffff 00000000 " RDMA " %s", (wide)t->va,
           t->handle, 177, two);
    t_hear(t, stream, "011a0029 000000b0 00000000 00000070 ffffffff 00000000 " RDMA " ee", (wide)t->va,
           t->handle, 177);
    t_hear(t, stream, "011a0028 00000000 00000000 00000071 ffffffff 00000000 " RDMA, 0ull, 0, 0);
    t_hear(t, stream, NOP, 0x71, 0, 0); /* at Reliable Reception behind the data (V64) */
    t_quiet(t, stream, FCVI_STREAM_NONE);
    t_state(t, vi, FCVI_STATE_CONNECTED);
    t_free(t);
}
END_TEST

START_TEST(read_forbidden)
{
    struct tcp *t = make();
    const struct fcvi_attributes a = {.reliability = FCVI_RELIABLE_DELIVERY, .rdma_read = _i != VI_DISABLED};
    wide va;
    uint32_t handle, vi;
    ck_assert_int_eq(fcvi_vip_create_vi(t->port, t->now, &a, &vi), VIP_SUCCESS);
    uint32_t stream = t_connected(t, vi, REL, 0);
    forbid(t, _i, &va, &handle);
    t_send(t, stream, SEGMENT RDMA, 0x12, 40, 0, 0, 7, 0, 0, 0, va, handle, 3);
    t_error(t, VIP_ERROR_RDMAR_PROT);
    t_hear(t, stream, NOP, 7, 0, 0x0100);
    t_quiet(t, stream, FCVI_STREAM_FIN);
    t_state(t, vi, FCVI_STATE_ERROR);
    t_free(t);
}
END_TEST

/* Unreliable Delivery has no RDMA Read (V51). */
START_TEST(read_unreliable)
{
    struct tcp *t = make();
    uint32_t vi = t_vi(t, FCVI_UNRELIABLE);
    uint32_t stream = t_connected(t, vi, UNREL, 0);
    t_send(t, stream, SEGMENT RDMA, 0x12, 40, 0, 0, 7, 0, 0, 0, (wide)t->va, t->handle, 3);
    t_quiet(t, stream, FCVI_STREAM_FIN);
    t_state(t, vi, FCVI_STATE_ERROR);
    t_free(t);
}
END_TEST

/* A window of two, whatever the limits of the port: the third is too many while nothing is taken (V24). */
START_TEST(window)
{
    struct tcp *t = t_new();
    t->limits.stream_reads = 2;
    t_make(t);
    t_memory(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, REL, 0);
    ck_assert_uint_eq(t->said[stream].bytes[49], 2);
    uint8_t bytes[3 * 40];
    char hex[400];
    for (unsigned i = 0; i < 3; i++) {
        snprintf(hex, sizeof hex, SEGMENT RDMA, 0x12, 40, 0, 0, 7 + i, 0, 0, 0, (wide)t->va, t->handle, 3);
        from_hex(hex, bytes + 40 * i);
    }
    fcvi_stream_receive(t->port, t->now, stream, bytes, 80);
    if (_i == 0)
        t_listen(t);
    fcvi_stream_receive(t->port, t->now, stream, bytes + 80, 40);
    t_listen(t);
    t_state(t, vi, _i == 0 ? FCVI_STATE_CONNECTED : FCVI_STATE_ERROR);
    t->said[stream].seen = t->said[stream].length;
    t_quiet(t, stream, _i == 0 ? FCVI_STREAM_NONE : FCVI_STREAM_FIN);
    t_free(t);
}
END_TEST

/* The region goes away while a response is stopped: an end, never wrong bytes (2.2.2.2.6). */
START_TEST(read_deregistered)
{
    struct tcp *t = t_new();
    struct fcvi_stream_out what;
    uint8_t out[60];
    t_make(t);
    t_memory(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, REL, 0);
    uint8_t bytes[40];
    char hex[200];
    snprintf(hex, sizeof hex, SEGMENT RDMA, 0x12, 40, 0, 0, 7, 0, 0, 0, (wide)t->va, t->handle, 100);
    from_hex(hex, bytes);
    fcvi_stream_receive(t->port, t->now, stream, bytes, 40);
    ck_assert_uint_eq(fcvi_stream_transmit(t->port, t->now, out, sizeof out, &what), 60);
    fcvi_vip_deregister_mem(t->port, t->now, t->mem);
    t_listen(t);
    t_quiet(t, stream, FCVI_STREAM_RESET);
    t_state(t, vi, FCVI_STATE_ERROR);
    t_error(t, VIP_ERROR_CONN_LOST);
    t_free(t);
}
END_TEST

/* ---- the port writes and reads ---- */

static void post(struct tcp *t, uint32_t vi, enum fcvi_op op, uint32_t offset, uint32_t length, bool fence)
{
    struct fcvi_descriptor d = {.op = (uint8_t)op,
                                .segments = 1,
                                .fence = fence,
                                .remote_va = 0x0102030405060708,
                                .remote_handle = 0x99aabbcc,
                                .segment = {{t->mem, offset, length}}};
    ck_assert_int_eq(fcvi_vip_post(t->port, t->now, vi, &d), VIP_SUCCESS);
    t_listen(t);
}

START_TEST(own_write)
{
    struct tcp *t = make();
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, REL, 0);
    char data[200] = "";
    for (int i = 0; i < 88; i++)
        strcat(data, "ee");
    post(t, vi, FCVI_RDMA_WRITE, 0, 89, false);
    t_hear(t, stream,
           "01200080 00000000 00000000 ........ ffffffff 00000000 01020304 05060708 99aabbcc 00000059 %s",
           data);
    uint32_t number = t_number(t, stream, 68 + 12);
    t_hear(t, stream,
           "01220029 00000058 00000000 %08x ffffffff 00000000 01020304 05060708 99aabbcc 00000059 ee",
           number);
    t_not_done(t, vi, false);
    t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 1, number, 0, 0);
    t_done(t, vi, false, 0, 89);
    t_free(t);
}
END_TEST

#define REQUEST "01120028 00000000 00000000 %08x ffffffff 00010000 01020304 05060708 99aabbcc 000000%02x"

/* Reads complete with their data and not with an ACK; the window of the other side is two; the data of a
 * response stand between the segments of a Send (2.2.2.2.3). */
START_TEST(own_read)
{
    static const size_t cuts[] = {0, 1, 13};
    struct tcp *t = make();
    t->cut = cuts[_i];
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    t_post(t, vi, FCVI_RECV, 0x1000, 16);
    uint32_t stream = t_connected(t, vi, REL, 0);
    post(t, vi, FCVI_RDMA_READ, 0, 3, false);
    uint32_t n = t_number(t, stream, 68 + 12);
    post(t, vi, FCVI_RDMA_READ, 0x10, 2, false);
    post(t, vi, FCVI_RDMA_READ, 0x20, 1, false);
    post(t, vi, FCVI_SEND, 0, 1, false);
    t->said[stream].seen = 68;
    t_hear(t, stream, REQUEST, n, 3);
    t_hear(t, stream, REQUEST, n + 1, 2);
    t_quiet(t, stream, FCVI_STREAM_NONE);
    t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 1, n + 1, 0, 0);
    t_not_done(t, vi, false);
    t_send(t, stream, SEGMENT "51", 0x08, 25, 0, 0, n, 0, 0, 0); /* of the same number, another type */
    t_send(t, stream, SEGMENT RDMA "c1", 0x18, 41, 0, 0, n, 0, 0, 0, 0ull, 0, 0);
    t_send(t, stream, SEGMENT "52", 0x0a, 25, 1, 0, n, 0, 0, 0);
    t_done(t, vi, true, 0, 2);
    ck_assert_mem_eq(t->bytes + 0x1000, "\x51\x52\xee", 3);
    t_send(t, stream, SEGMENT RDMA "c2c3", 0x1a, 42, 1, 0, n, 0, 0, 0, 0ull, 0, 3);
    t_done(t, vi, false, 0, 3);
    ck_assert_mem_eq(t->bytes, "\xc1\xc2\xc3\xee", 4);
    struct said *s = &t->said[stream];
    /* the third request, as one has its answer; and the Send behind it, which may pass Reads (VI-ARCH 6.3.1)
     */
    ck_assert_uint_eq(s->bytes[s->length - 25 - 39], 0x12);
    ck_assert_uint_eq(s->bytes[s->length - 25 + 1], 0x0a);
    ck_assert_uint_eq(t_number(t, stream, s->length - 25 + 12), n + 3);
    t_send(t, stream, SEGMENT RDMA "d1d2", 0x1a, 42, 0, 0, n + 1, 0, 0, 0, 0ull, 0, 2);
    t_done(t, vi, false, 0, 2);
    t_not_done(t, vi, false);
    t_send(t, stream, SEGMENT RDMA "e1", 0x1a, 41, 0, 0, n + 2, 0, 0, 0, 0ull, 0, 1);
    t_done(t, vi, false, 0, 1);
    t_not_done(t, vi, false);
    t_free(t);
}
END_TEST

/* Answers that are not right end the connection (V11, V41). */
START_TEST(wrong_answer)
{
    struct tcp *t = make();
    uint32_t vi = t_vi(t, FCVI_RELIABLE_DELIVERY);
    uint32_t stream = t_connected(t, vi, REL, 0);
    post(t, vi, FCVI_RDMA_READ, 0, 3, false);
    post(t, vi, FCVI_RDMA_READ, 0x10, 3, false);
    uint32_t n = t_number(t, stream, 68 + 12);
    uint32_t status = FCVI_STATUS_DESC_FLUSHED_ERROR;
    t->said[stream].seen = t->said[stream].length;
    if (_i == 0) /* longer than asked for */
        t_send(t, stream, SEGMENT RDMA "c1c2c3c4", 0x1a, 44, 0, 0, n, 0, 0, 0, 0ull, 0, 0);
    else if (_i == 1) /* another length */
        t_send(t, stream, SEGMENT RDMA "c1c2c3", 0x1a, 43, 0, 0, n, 0, 0, 0, 0ull, 0, 4);
    else if (_i == 2) /* of a number that asked nothing */
        t_send(t, stream, SEGMENT RDMA "c1c2c3", 0x1a, 43, 0, 0, n + 2, 0, 0, 0, 0ull, 0, 3);
    else if (_i == 3) /* with a gap */
        t_send(t, stream, SEGMENT RDMA "c1c2", 0x1a, 42, 1, 0, n, 0, 0, 0, 0ull, 0, 3);
    else if (_i == 4) /* two at once (2.2.2.2.3) */
        t_send(t, stream, SEGMENT RDMA "c1" SEGMENT RDMA "c1", 0x18, 41, 0, 0, n, 0, 0, 0, 0ull, 0, 3, 0x18,
               41, 0, 0, n + 1, 0, 0, 0, 0ull, 0, 3);
    else if (_i == 5) /* shorter */
        t_send(t, stream, SEGMENT RDMA "c1c2", 0x1a, 42, 0, 0, n, 0, 0, 0, 0ull, 0, 3);
    else if (_i == 6) /* Transmit Error */
        t_send(t, stream, SEGMENT RDMA "c1c2c3", 0x1e, 43, 0, 0, n, 0, 0, 0, 0ull, 0, 3);
    else { /* the memory that it is for is gone */
        fcvi_vip_deregister_mem(t->port, t->now, t->mem);
        t_send(t, stream, SEGMENT RDMA "c1c2c3", 0x1a, 43, 0, 0, n, 0, 0, 0, 0ull, 0, 3);
    }
    if (_i >= 5)
        status = _i == 7 ? FCVI_STATUS_PROTECTION_ERROR : FCVI_STATUS_TRANSPORT_ERROR;
    t_state(t, vi, FCVI_STATE_ERROR);
    t_quiet(t, stream, FCVI_STREAM_FIN);
    t_done(t, vi, false, status, 0);
    t_done(t, vi, false, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    ck_assert_uint_eq(t->bytes[3], 0xee);
    t_free(t);
}
END_TEST

/* What the other side says of a Read: an error (3.1). And what never goes out. */
START_TEST(read_fails)
{
    struct tcp *t = make();
    uint32_t vi = t_vi(t, _i == 1 ? FCVI_UNRELIABLE : FCVI_RELIABLE_DELIVERY);
    t_wait(t, 0xaa, 1);
    uint32_t stream = t_call(t);
    t_send(t, stream,
           "01320044 00000000 00000000 00000007 ffffffff 00000000 %04x0010 00001000 " T_B " %04x0010 " T_A,
           _i == 1 ? UNREL : REL, _i == 2 ? 0 : 2); /* a window of 0 (V69) */
    fcvi_vip_connect_accept(t->port, t->now, t_event(t, FCVI_EVENT_CALL)->conn, vi, 2);
    t_listen(t);
    t->said[stream].seen = 68;
    post(t, vi, FCVI_RDMA_READ, 0, 3, false);
    if (_i == 0) {
        t->said[stream].seen += 40;
        t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 1, t_number(t, stream, 68 + 12), 0, 0x0100);
    }
    static const uint32_t status[] = {FCVI_STATUS_RDMA_PROT_ERROR, FCVI_STATUS_FORMAT_ERROR,
                                      FCVI_STATUS_RDMA_PROT_ERROR};
    t_done(t, vi, false, status[_i], 0);
    t_quiet(t, stream, _i == 1 ? FCVI_STREAM_NONE : FCVI_STREAM_FIN);
    t_state(t, vi, _i == 1 ? FCVI_STATE_CONNECTED : FCVI_STATE_ERROR);
    t_free(t);
}
END_TEST

/* A Send passes a Read, and so does an RDMA Write on Reliable Delivery; not what is fenced, and on Reliable
 * Reception no RDMA Write (VI-ARCH 6.3.1). */
START_TEST(fence)
{
    static const struct {
        uint8_t level;
        enum fcvi_op op;
        bool fence, passes;
        const char *bytes;
    } cases[] = {
        {FCVI_RELIABLE_DELIVERY, FCVI_SEND, false, true, "010a0018"},
        {FCVI_RELIABLE_DELIVERY, FCVI_SEND, true, false, "010a0018"},
        {FCVI_RELIABLE_DELIVERY, FCVI_RDMA_WRITE, false, true, "01220028"},
        {FCVI_RELIABLE_RECEPTION, FCVI_SEND, false, true, "010a0018"},
        {FCVI_RELIABLE_RECEPTION, FCVI_RDMA_WRITE, false, false, "01220028"},
    };
    struct tcp *t = make();
    uint32_t vi = t_vi(t, cases[_i].level);
    uint32_t stream = t_connected(t, vi, REL, 0);
    post(t, vi, FCVI_RDMA_READ, 0, 3, false);
    uint32_t n = t_number(t, stream, 68 + 12);
    t->said[stream].seen = t->said[stream].length;
    post(t, vi, cases[_i].op, 0, 0, cases[_i].fence);
    if (cases[_i].passes)
        t_hear(t, stream, "%s 00000000 00000000 %08x", cases[_i].bytes, n + 1);
    else
        t_quiet(t, stream, FCVI_STREAM_NONE);
    t_send(t, stream, SEGMENT RDMA "c1c2c3", 0x1a, 43, 0, 0, n, 0, 0, 0, 0ull, 0, 3);
    if (!cases[_i].passes)
        t_hear(t, stream, "%s 00000000 00000000 %08x", cases[_i].bytes, n + 1);
    t_free(t);
}
END_TEST

/* On Reliable Reception what came behind a Read is received when the data of the Read are out
 * (VI-ARCH 6.3.1): its completion and its ACK wait as long as the other side takes nothing. */
START_TEST(behind_a_read)
{
    struct tcp *t = t_new();
    struct fcvi_stream_out what;
    uint8_t out[4096];
    t_make(t);
    t_memory(t);
    uint32_t vi = t_vi(t, _i == 0 ? FCVI_RELIABLE_RECEPTION : FCVI_RELIABLE_DELIVERY);
    t_post(t, vi, FCVI_RECV, 0, 8);
    uint32_t stream = t_connected(t, vi, REL, 0);
    char text[200];
    snprintf(text, sizeof text, SEGMENT RDMA SEGMENT, 0x12, 40, 0, 0, 7, 0, 0, 0, (wide)t->va, t->handle, 100,
             0x0a, 24, 0, 0, 8, 0, 0, 0);
    uint8_t bytes[64];
    ck_assert_uint_eq(from_hex(text, bytes), 64);
    fcvi_stream_receive(t->port, t->now, stream, bytes, 64);
    ck_assert_uint_eq(fcvi_stream_transmit(t->port, t->now, out, 41, &what), 41);
    if (_i == 0)
        t_not_done(t, vi, true);
    else
        t_done(t, vi, true, 0, 0);
    ck_assert_uint_eq(fcvi_stream_transmit(t->port, t->now, out, sizeof out, &what), 99);
    if (_i == 0)
        t_done(t, vi, true, 0, 0);
    t->capacity = T_ROOM;
    t_listen(t);
    if (_i == 0)
        t_hear(t, stream, NOP, 8, 1, 0);
    t_quiet(t, stream, FCVI_STREAM_NONE);
    t_free(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vitcp rdma");
    TCase *c = tcase_create("all");
    tcase_add_loop_test(c, write, 0, 4);
    tcase_add_loop_test(c, write_forbidden, 0, WRITE_FAULTS);
    tcase_add_loop_test(c, write_length, 0, 3);
    tcase_add_test(c, write_deregistered);
    tcase_add_test(c, read);
    tcase_add_loop_test(c, read_forbidden, 0, WRITE_FAULTS);
    tcase_add_test(c, read_unreliable);
    tcase_add_loop_test(c, window, 0, 2);
    tcase_add_test(c, read_deregistered);
    tcase_add_test(c, own_write);
    tcase_add_loop_test(c, own_read, 0, 3);
    tcase_add_loop_test(c, wrong_answer, 0, 8);
    tcase_add_loop_test(c, read_fails, 0, 3);
    tcase_add_loop_test(c, fence, 0, 5);
    tcase_add_loop_test(c, behind_a_read, 0, 2);
    suite_add_tcase(suite, c);
    return t_run(suite);
}
