/* VI/TCP: Sends, credits, Message ACK, NOP and errors (3.1), byte for byte. */
#include "vitcp.h"

static const size_t cuts[] = {0, 1, 7, 24};
enum { CUTS = 4, REL = 0x0007, UNREL = 0x0002, FLOW = 0x0008 };

/* Headers of the tester: type and flags, length, offset, immediate, number, ACK, count, error. */
#define SEGMENT "01%02x%04x %08x %08x %08x %08x %04x%04x"
/* A NOP of the port: ACK, count, error. */
#define NOP "012a0018 00000000 00000000 ........ %08x %04x%04x"

/* At Unreliable Delivery Message ACK is undefined. */
#define COUNT "012a0018 00000000 00000000 ........ ........ %04x%04x"

static struct tcp *make(unsigned cut)
{
    struct tcp *t = t_new();
    t->cut = cuts[cut];
    t->window = FCVI_STREAM_UNLIMITED;
    t_make(t);
    t_memory(t);
    for (unsigned i = 0; i < 1 << 18; i++)
        t->bytes[i] = (uint8_t)(i * 7 + i / 256);
    return t;
}

/* ---- messages of the tester ---- */

/* One segment, or three; Immediate Data in all or in the last only (V19). The receive completes, then it is
 * acknowledged. */
START_TEST(receive)
{
    for (unsigned cut = 0; cut < CUTS; cut++) {
        struct tcp *t = make(cut);
        uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
        t_post(t, vi, FCVI_RECV, 0x100, 16);
        uint32_t stream = t_connected(t, vi, REL, 0);
        if (_i == 0) {
            t_send(t, stream, SEGMENT "c1c2c3c4 c5c6", 0x0a, 30, 0, 0, 0xffffffff, 0, 0, 0);
        } else {
            t_send(t, stream, SEGMENT "c1", 0x08 | (_i == 2), 25, 0, 0xdeadbeef, 0xffffffff, 0, 0, 0);
            t_send(t, stream, SEGMENT "c2c3c4c5", 0x08 | (_i == 2), 28, 1, 0xdeadbeef, 0xffffffff, 0, 0, 0);
            t_no_event(t);
            t_quiet(t, stream, FCVI_STREAM_NONE);
            t_send(t, stream, SEGMENT "c6", 0x0b, 25, 5, 0xdeadbeef, 0xffffffff, 0, 0, 0);
        }
        const struct fcvi_event *e = t_event(t, FCVI_EVENT_COMPLETION);
        ck_assert_ptr_nonnull(e);
        ck_assert(e->recv);
        ck_assert_uint_eq(e->completion.length, 6);
        ck_assert_uint_eq(e->completion.status & FCVI_STATUS_IMMEDIATE, _i == 0 ? 0 : FCVI_STATUS_IMMEDIATE);
        ck_assert_uint_eq(e->completion.immediate, _i == 0 ? 0 : 0xdeadbeef);
        ck_assert_mem_eq(t->bytes + 0x100, "\xc1\xc2\xc3\xc4\xc5\xc6", 6);
        ck_assert_uint_eq(t->bytes[0x106], (uint8_t)(0x106 * 7 + 1));
        t_hear(t, stream, NOP, 0xffffffff, 1, 0);
        t_quiet(t, stream, FCVI_STREAM_NONE);
        t_free(t);
    }
}
END_TEST

/* Numbers go on after FFFFFFFFh; several segments in one piece. */
START_TEST(several)
{
    struct tcp *t = make((unsigned)_i);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    for (int i = 0; i < 4; i++)
        t_post(t, vi, FCVI_RECV, 0x100, 16);
    uint32_t stream = t_connected(t, vi, REL, 0);
    t_send(t, stream, SEGMENT "c1" SEGMENT SEGMENT SEGMENT, 0x0a, 25, 0, 0, 0xfffffffe, 0, 0, 0, 0x0a, 24, 0,
           0, 0xffffffff, 0, 0, 0, 0x28, 24, 0, 0, 77, 0, 0, 0, 0x2a, 24, 0, 0, 77, 0, 0, 0);
    t_done(t, vi, true, 0, 1);
    t_done(t, vi, true, 0, 0);
    t_not_done(t, vi, true);
    t_send(t, stream, SEGMENT "c1", 0x0a, 25, 0, 0, 0, 0, 0, 0);
    t_done(t, vi, true, 0, 1);
    struct said *s = &t->said[stream];
    s->seen = s->length - 24; /* pieces decide how many NOPs there were; the last one says it */
    t_hear(t, stream, NOP, 0, 4, 0);
    t_state(t, vi, FCVI_STATE_CONNECTED);
    t_free(t);
}
END_TEST

/* What breaks a rule ends the connection, and nothing counts as received (V37 to V41, V58, V67). */
static const struct {
    uint8_t type;
    unsigned length;
    uint32_t offset, number;
    bool unreliable_too;
} breaches[] = {
    {0x0a, 25, 1, 11, true},                           /* a first segment with an offset */
    {0x0a, 25, 0, 12, false},                          /* a number left out */
    {0x0a, 25, 0, 10, false},                          /* or repeated */
    {0x32, 24, 0, 11, true},                           /* CE PDUs of a connected stream */
    {0x4a, 24, 0, 11, true},  {0x02, 24, 0, 11, true}, /* no type */
    {0xfa, 24, 0, 11, true},  {0x0a, 23, 0, 11, true},
    {0x22, 24, 0, 11, true}, /* an RDMA Write without its header */
    {0x1a, 24, 0, 11, true},
};

START_TEST(breach)
{
    for (unsigned level = FCVI_UNRELIABLE; level <= FCVI_RELIABLE_RECEPTION; level++) {
        struct tcp *t = make(0);
        uint32_t vi = t_vi(t, (uint8_t)level);
        t_post(t, vi, FCVI_RECV, 0x100, 16);
        t_post(t, vi, FCVI_RECV, 0x200, 16);
        uint32_t stream = t_connected(t, vi, level == FCVI_UNRELIABLE ? UNREL : REL, 0);
        t_send(t, stream, SEGMENT "c1", 0x0a, 25, 0, 0, 10, 0, 0, 0);
        t_done(t, vi, true, 0, 1);
        t->said[stream].seen = t->said[stream].length;
        t_send(t, stream, SEGMENT "c1c2c3", breaches[_i].type, breaches[_i].length, breaches[_i].offset, 0,
               breaches[_i].number, 0, 0, 0);
        if (level != FCVI_UNRELIABLE || breaches[_i].unreliable_too) {
            t_quiet(t, stream, FCVI_STREAM_FIN);
            t_error(t, VIP_ERROR_CONN_LOST);
            t_state(t, vi, FCVI_STATE_ERROR);
            t_done(t, vi, true, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
        } else {
            t_state(t, vi, FCVI_STATE_CONNECTED);
        }
        t_free(t);
    }
}
END_TEST

/* The second segment: a gap, an overlap, another number, another type before the end of the first message. */
START_TEST(broken_message)
{
    static const struct {
        uint8_t type;
        uint32_t offset, number;
    } second[] = {{0x0a, 2, 1}, {0x0a, 0, 1}, {0x0a, 1, 2}, {0x22, 1, 1}, {0x12, 0, 2}};
    struct tcp *t = make(0);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    t_post(t, vi, FCVI_RECV, 0x100, 64);
    uint32_t stream = t_connected(t, vi, REL, 0);
    t_send(t, stream, SEGMENT "c1", 0x08, 25, 0, 0, 1, 0, 0, 0);
    t_send(t, stream, SEGMENT "00000000 00000000 00000000 00000001 dd", second[_i].type, 41,
           second[_i].offset, 0, second[_i].number, 0, 0, 0);
    t_quiet(t, stream, FCVI_STREAM_FIN);
    t_error(t, VIP_ERROR_CONN_LOST);
    t_done(t, vi, true, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    t_free(t);
}
END_TEST

/* A message that fails. Reliable: the report names it, and the connection ends. Unreliable: the receive
 * Descriptor says it and the connection goes on. */
static const struct {
    int receives;
    uint32_t room; /* of each */
    uint8_t type;
    unsigned data;
    uint32_t status;
    int error;
    unsigned report; /* VI Error Type */
} failures[] = {
    {1, 4, 0x0a, 5, FCVI_STATUS_LENGTH_ERROR, VIP_ERROR_CONN_LOST, 2},
    {0, 0, 0x0a, 5, 0, VIP_ERROR_RECVQ_EMPTY, 2},
    {0, 0, 0x0a, 0, 0, VIP_ERROR_RECVQ_EMPTY, 2},
    {1, 16, 0x0e, 5, FCVI_STATUS_TRANSPORT_ERROR, VIP_ERROR_CONN_LOST, 0}, /* Transmit Error (V42) */
};

START_TEST(failure)
{
    for (unsigned level = FCVI_UNRELIABLE; level <= FCVI_RELIABLE_RECEPTION; level += 2) {
        struct tcp *t = make(0);
        bool is_reliable = level != FCVI_UNRELIABLE;
        uint32_t vi = t_vi(t, (uint8_t)level);
        t_post(t, vi, FCVI_RECV, 0x80, 8);
        for (int i = 0; i < failures[_i].receives; i++)
            t_post(t, vi, FCVI_RECV, 0x100, failures[_i].room);
        uint32_t stream = t_connected(t, vi, is_reliable ? REL : UNREL, 0);
        t->cut = 0; /* both in one piece: the first is acknowledged before the error of the second is told */
        t_send(t, stream, SEGMENT "c1" SEGMENT "%s", 0x0a, 25, 0, 0, 8, 0, 0, 0, failures[_i].type,
               24 + failures[_i].data, 0, 0, 9, 0, 0, 0, failures[_i].data ? "d1d2d3d4d5" : "");
        t_done(t, vi, true, 0, 1);
        if (failures[_i].receives > 0)
            t_done(t, vi, true, failures[_i].status, 0);
        if (_i == 0) /* behind a short Descriptor */
            ck_assert_uint_eq(t->bytes[0x104], (uint8_t)(0x104 * 7 + 1));
        if (is_reliable) {
            t_error(t, failures[_i].error);
            t_hear(t, stream, NOP, 8, 1 + failures[_i].receives, 0);
            if (failures[_i].report != 0)
                t_hear(t, stream, NOP, 9, 1 + failures[_i].receives, failures[_i].report << 8);
            t_quiet(t, stream, FCVI_STREAM_FIN);
            t_state(t, vi, FCVI_STATE_ERROR);
        } else {
            t_no_error(t);
            t->said[stream].seen = t->said[stream].length;
            t_post(t, vi, FCVI_RECV, 0x200, 16);
            t_send(t, stream, SEGMENT "e1", 0x0a, 25, 0, 0, 10, 0, 0, 0);
            t_done(t, vi, true, 0, 1);
            t_state(t, vi, FCVI_STATE_CONNECTED);
        }
        t_free(t);
    }
}
END_TEST

/* More than the agreed MTU (3.2). */
START_TEST(longer_than_agreed)
{
    struct tcp *t = make(0);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    t_post(t, vi, FCVI_RECV, 0, 64);
    t_wait(t, 0xaa, 1);
    uint32_t stream = t_call(t);
    t_send(t, stream, T_REQUEST, 9, 0x0003, 4, 0);
    fcvi_vip_connect_accept(t->port, t->now, t_event(t, FCVI_EVENT_CALL)->conn, vi, 2);
    t_post(t, vi, FCVI_SEND, 0, 4);
    t->said[stream].seen = 68;
    t_hear(t, stream, "010a001c 00000000");
    t->said[stream].seen = 68 + 28;
    if (_i == 0) {
        t_send(t, stream, SEGMENT "c1c2c3c4", 0x0a, 28, 0, 0, 9, 0, 0, 0);
        t_done(t, vi, true, 0, 4);
    } else if (_i == 1) {
        t_send(t, stream, SEGMENT "c1c2c3c4 c5", 0x0a, 29, 0, 0, 9, 0, 0, 0);
        t_done(t, vi, true, FCVI_STATUS_LENGTH_ERROR, 0);
    } else { /* the own Descriptor: nothing of it goes out, and what is before it comes to its end first */
        t_post(t, vi, FCVI_SEND, 0, 5);
        t_quiet(t, stream, FCVI_STREAM_NONE);
        t_not_done(t, vi, false);
        t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 9, t_number(t, stream, 68 + 12), 9, 0);
        t_done(t, vi, false, 0, 4);
        t_done(t, vi, false, FCVI_STATUS_LENGTH_ERROR, 0);
        t_state(t, vi, FCVI_STATE_ERROR);
        t_quiet(t, stream, FCVI_STREAM_FIN);
    }
    t_free(t);
}
END_TEST

/* Unreliable: an earlier number is not delivered again, in whatever segments it comes; a gap is no error. */
START_TEST(unreliable_numbers)
{
    struct tcp *t = make((unsigned)_i);
    uint32_t vi = t_vi(t, FCVI_UNRELIABLE);
    for (int i = 0; i < 4; i++)
        t_post(t, vi, FCVI_RECV, 0x100, 16);
    uint32_t stream = t_connected(t, vi, UNREL, 0);
    t_send(t, stream, SEGMENT "c1", 0x0a, 25, 0, 0, 5, 0, 0, 0);
    t_send(t, stream, SEGMENT "c1" SEGMENT "c2", 0x08, 25, 0, 0, 5, 0, 0, 0, 0x0a, 25, 1, 0, 5, 0, 0, 0);
    t_done(t, vi, true, 0, 1);
    t_not_done(t, vi, true);
    t_send(t, stream, SEGMENT "c1c2", 0x0a, 26, 0, 0, 8, 0, 0, 0);
    t_done(t, vi, true, 0, 2);
    t_not_done(t, vi, true);
    t_state(t, vi, FCVI_STATE_CONNECTED);
    t_quiet(t, stream, FCVI_STREAM_NONE); /* no ACK; the count has not changed */
    t_free(t);
}
END_TEST

/* ---- messages of the port ---- */

/* A Send completes with the ACK of its number or of a later one, not before (3.1). */
START_TEST(send)
{
    struct tcp *t = make((unsigned)_i);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, REL, 0);
    struct said *s = &t->said[stream];
    t_post(t, vi, FCVI_SEND, 0x10, 3);
    t_hear(t, stream, "010a001b 00000000 00000000 ........ ffffffff 00000000 7077 7e");
    uint32_t first = t_number(t, stream, s->seen - 15);
    t_post(t, vi, FCVI_SEND, 0, 0);
    t_hear(t, stream, "010a0018 00000000 00000000 %08x ffffffff 00000000", first + 1);
    struct fcvi_descriptor d = {.op = FCVI_SEND,
                                .segments = 2,
                                .has_immediate = true,
                                .immediate = 0x01020304,
                                .segment = {{t->mem, 1, 1}, {t->mem, 5, 1}}};
    ck_assert_int_eq(fcvi_vip_post(t->port, t->now, vi, &d), VIP_SUCCESS);
    t_listen(t);
    t_hear(t, stream, "010b001a 00000000 01020304 %08x ffffffff 00000000 0723", first + 2);
    t_quiet(t, stream, FCVI_STREAM_NONE);
    const uint32_t nothing[] = {first - 1, first + 3, 0xffffffff, first + 0x40000000};
    for (size_t i = 0; i < 4; i++)
        t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 1, nothing[i], 0, 0);
    t_not_done(t, vi, false);
    t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 1, first, 0, 0x0033); /* IS Error Code is nobody's (V49) */
    t_done(t, vi, false, 0, 3);
    t_not_done(t, vi, false);
    t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 1, first + 2, 0, 0);
    t_done(t, vi, false, 0, 0);
    t_done(t, vi, false, 0, 2);
    t_state(t, vi, FCVI_STATE_CONNECTED);
    t_free(t);
}
END_TEST

/* Unreliable: it is complete when it is out; ACK and errors of the other side are nobody's (3.1). */
START_TEST(send_unreliable)
{
    struct tcp *t = make(0);
    uint32_t vi = t_vi(t, FCVI_UNRELIABLE);
    uint32_t stream = t_connected(t, vi, UNREL, 0);
    t_post(t, vi, FCVI_SEND, 0, 1);
    t_done(t, vi, false, 0, 1);
    uint32_t number = t_number(t, stream, 68 + 12);
    t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 1, number, 0, 0x0200);
    t_no_error(t);
    t_state(t, vi, FCVI_STATE_CONNECTED);
    /* its memory is gone before it goes: the Descriptor fails alone */
    struct fcvi_descriptor d = {.op = FCVI_SEND, .segments = 1, .segment = {{77, 0, 1}}};
    t->said[stream].seen = t->said[stream].length;
    fcvi_vip_post(t->port, t->now, vi, &d);
    t_listen(t);
    t_done(t, vi, false, FCVI_STATUS_PROTECTION_ERROR, 0);
    t_quiet(t, stream, FCVI_STREAM_NONE);
    t_state(t, vi, FCVI_STATE_CONNECTED);
    t_free(t);
}
END_TEST

/* Segments of at most 128 bytes: offsets count data, only the last ends the message. */
START_TEST(segments)
{
    struct tcp *t = t_new();
    t->config.vitcp.segment_size = 128;
    t->capacity = _i == 0 ? T_ROOM : _i == 1 ? 1 : 50;
    t->window = FCVI_STREAM_UNLIMITED;
    t_make(t);
    t_memory(t);
    memset(t->bytes, 0x5a, 300);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_DELIVERY);
    uint32_t stream = t_connected(t, vi, REL, 0);
    struct fcvi_descriptor d = {
        .op = FCVI_SEND, .segments = 1, .has_immediate = true, .immediate = 9, .segment = {{t->mem, 0, 209}}};
    fcvi_vip_post(t->port, t->now, vi, &d);
    t_listen(t);
    char data[256];
    memset(data, 0, sizeof data);
    for (int i = 0; i < 104; i++)
        memcpy(data + 2 * i, "5a", 2);
    t_hear(t, stream, "01090080 00000000 00000009 ........ ffffffff 00000000 %s", data);
    t_hear(t, stream, "01090080 00000068 00000009 ........ ffffffff 00000000 %s", data);
    t_hear(t, stream, "010b0019 000000d0 00000009 ........ ffffffff 00000000 5a");
    t_quiet(t, stream, FCVI_STREAM_NONE);
    t_free(t);
}
END_TEST

/* The other side reports an error (3.1): what was before it is good, what is behind it is flushed. */
START_TEST(reported)
{
    static const uint32_t status[] = {FCVI_STATUS_RDMA_PROT_ERROR, FCVI_STATUS_REMOTE_DESC_ERROR,
                                      FCVI_STATUS_TRANSPORT_ERROR};
    struct tcp *t = make(0);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, REL, 0);
    for (int i = 0; i < 3; i++)
        t_post(t, vi, FCVI_SEND, 0, 1);
    uint32_t first = t_number(t, stream, 68 + 12);
    t_send(t, stream, SEGMENT SEGMENT, 0x2a, 24, 0, 0, 1, first + 1, 0, ((unsigned)_i + 1) << 8, /* V48 */
           0x2a, 24, 0, 0, 1, first + 2, 0, 0);
    t_done(t, vi, false, 0, 1);
    t_done(t, vi, false, status[_i], 0);
    t_done(t, vi, false, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    t_error(t, VIP_ERROR_CONN_LOST);
    t_state(t, vi, FCVI_STATE_ERROR);
    ck_assert_uint_eq(t->said[stream].kind, FCVI_STREAM_FIN);
    t_free(t);
}
END_TEST

/* At Reliable Delivery the bits of the other end are not valid in Sends and Writes (VI-DG 5.2). */
START_TEST(reported_at_delivery)
{
    struct tcp *t = make(0);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_DELIVERY);
    uint32_t stream = t_connected(t, vi, REL, 0);
    t_post(t, vi, FCVI_SEND, 0, 1);
    uint32_t first = t_number(t, stream, 68 + 12);
    t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 1, first, 0, ((unsigned)_i + 1) << 8);
    t_done(t, vi, false, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    t_error(t, VIP_ERROR_CONN_LOST);
    t_state(t, vi, FCVI_STATE_ERROR);
    t_free(t);
}
END_TEST

/* A report of what is not outstanding says nothing. */
START_TEST(reported_of_nothing)
{
    struct tcp *t = make(0);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, REL, 0);
    t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 1, 5, 0, 0x0200);
    t_state(t, vi, FCVI_STATE_CONNECTED);
    t_free(t);
}
END_TEST

/* ---- credits ---- */

/* Exactly as many consumers go out as the other side has receives (3.1); a count across 65535; what goes
 * backwards is no credit. */
START_TEST(credits)
{
    struct tcp *t = t_new();
    t->config.vitcp.flow_control = true;
    t->window = FCVI_STREAM_UNLIMITED;
    t_make(t);
    t_memory(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, REL | FLOW, 2);
    ck_assert_uint_eq(t->said[stream].bytes[25], REL | FLOW); /* agreed (V22) */
    struct said *s = &t->said[stream];
    for (int i = 0; i < 6; i++)
        t_post(t, vi, FCVI_SEND, 0, 1);
    ck_assert_uint_eq(s->length, 68 + 2 * 25);
    t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 1, 0, 3, 0);
    ck_assert_uint_eq(s->length, 68 + 3 * 25);
    t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 1, 0, 1, 0);
    ck_assert_uint_eq(s->length, 68 + 3 * 25);
    t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 1, 0, 3, 0);
    ck_assert_uint_eq(s->length, 68 + 3 * 25);
    /* what consumes nothing is not delayed, but for the order of the queue (3.1) */
    t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 1, 0, 9, 0);
    ck_assert_uint_eq(s->length, 68 + 6 * 25);
    t_free(t);
}
END_TEST

START_TEST(no_credit_needed)
{
    struct tcp *t = t_new();
    t->config.vitcp.flow_control = true;
    t->window = FCVI_STREAM_UNLIMITED;
    t_make(t);
    t_memory(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, REL | FLOW, 0);
    t_post(t, vi, FCVI_RDMA_WRITE, 0, 1);
    t_post(t, vi, FCVI_RDMA_READ, 0, 1);
    ck_assert_uint_eq(t->said[stream].length, 68 + 41 + 40);
    struct fcvi_descriptor d = {
        .op = FCVI_RDMA_WRITE, .segments = 1, .has_immediate = true, .segment = {{t->mem, 0, 1}}};
    uint32_t other = t_vi(t, FCVI_RELIABLE_DELIVERY);
    stream = t_connected(t, other, REL | FLOW, 0);
    fcvi_vip_post(t->port, t->now, other, &d);
    t_listen(t);
    t_quiet(t, stream, FCVI_STREAM_NONE);
    t_send(t, stream, SEGMENT, 0x2a, 24, 0, 0, 1, 0, 1, 0);
    ck_assert_uint_eq(t->said[stream].length, 68 + 41);
    t_free(t);
}
END_TEST

/* One side alone: off (V22). */
START_TEST(flow_control_of_one_side)
{
    struct tcp *t = t_new();
    t->config.vitcp.flow_control = _i == 0;
    t_make(t);
    t_memory(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, _i == 0 ? REL : REL | FLOW, 0);
    ck_assert_uint_eq(t->said[stream].bytes[25], REL);
    t_post(t, vi, FCVI_SEND, 0, 1);
    ck_assert_uint_eq(t->said[stream].length, 68 + 25);
    t_free(t);
}
END_TEST

/* The count is conveyed before the other side is at its end (V20, V21): two were posted, so the threshold is
 * one. Across 65535 it goes on (3.1). */
START_TEST(count)
{
    struct tcp *t = make(0);
    uint32_t vi = t_vi(t, FCVI_UNRELIABLE);
    t_post(t, vi, FCVI_RECV, 0, 8);
    t_post(t, vi, FCVI_RECV, 0, 8);
    uint32_t stream = t_connected(t, vi, UNREL, 0);
    t_post(t, vi, FCVI_RECV, 0, 8);
    t_quiet(t, stream, FCVI_STREAM_NONE); /* it knows of two */
    for (uint32_t n = 0; n < 2; n++)
        t_send(t, stream, SEGMENT, 0x0a, 24, 0, 0, n, 0, 0, 0);
    t_hear(t, stream, COUNT, 3, 0);
    t_send(t, stream, SEGMENT, 0x0a, 24, 0, 0, 2, 0, 0, 0);
    t_quiet(t, stream, FCVI_STREAM_NONE);
    for (uint32_t n = 3; n < 65540; n++) {
        struct fcvi_completion c;
        t->said[stream].length = t->said[stream].seen = 0;
        t->looked = t->events;
        t_post(t, vi, FCVI_RECV, 0, 8);
        t_hear(t, stream, COUNT, (n + 1) & 0xffff, 0);
        t_send(t, stream, SEGMENT, 0x0a, 24, 0, 0, n, 0, 0, 0);
        ck_assert_int_eq(fcvi_vip_done(t->port, t->now, vi, true, &c), VIP_SUCCESS);
    }
    t_free(t);
}
END_TEST

/* ---- the end ---- */

/* TCP ends in the middle of a message: nothing is good that is not whole. */
START_TEST(lost)
{
    struct tcp *t = make(0);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    t_post(t, vi, FCVI_RECV, 0x100, 16);
    t_post(t, vi, FCVI_RECV, 0x100, 16);
    uint32_t stream = t_connected(t, vi, REL, 0);
    t_post(t, vi, FCVI_SEND, 0, 1);
    t_send(t, stream, SEGMENT "c1c2", 0x08, 28, 0, 0, 1, 0, 0, 0);
    t_end(t, stream, _i == 0 ? FCVI_CLOSE_FIN : FCVI_CLOSE_RESET);
    t_error(t, VIP_ERROR_CONN_LOST);
    t_state(t, vi, FCVI_STATE_ERROR);
    t_done(t, vi, true, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    t_done(t, vi, true, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    t_done(t, vi, false, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    ck_assert_uint_eq(t->said[stream].kind, _i == 0 ? FCVI_STREAM_FIN : FCVI_STREAM_NONE);
    ck_assert_uint_eq(t_streams(t), 0);
    ck_assert_int_eq(fcvi_vip_disconnect(t->port, t->now, vi, 6), VIP_SUCCESS);
    t_state(t, vi, FCVI_STATE_IDLE);
    t_free(t);
}
END_TEST

/* The application lets go while a message is half out: FIN, and no byte of its memory after that. */
START_TEST(disconnect_in_the_middle)
{
    struct tcp *t = t_new();
    struct fcvi_stream_out what;
    uint8_t out[64];
    t_make(t);
    t_memory(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, REL, 0);
    struct fcvi_descriptor d = {.op = FCVI_SEND, .segments = 1, .segment = {{t->mem, 0, 100}}};
    fcvi_vip_post(t->port, t->now, vi, &d);
    ck_assert_uint_eq(fcvi_stream_transmit(t->port, t->now, out, 40, &what), 40);
    if (_i == 0) {
        ck_assert_int_eq(fcvi_vip_disconnect(t->port, t->now, vi, 6), VIP_SUCCESS);
        t_listen(t);
        t_state(t, vi, FCVI_STATE_IDLE);
        t_quiet(t, stream, FCVI_STREAM_NONE + FCVI_STREAM_FIN);
        t_done(t, vi, false, FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    } else { /* the memory is gone in the middle of a segment: wrong bytes never go out (2.2.2.2.5) */
        ck_assert_int_eq(fcvi_vip_deregister_mem(t->port, t->now, t->mem), VIP_SUCCESS);
        t_listen(t);
        t_quiet(t, stream, FCVI_STREAM_RESET);
        t_state(t, vi, FCVI_STATE_ERROR);
        t_done(t, vi, false, FCVI_STATUS_PROTECTION_ERROR, 0);
        ck_assert_uint_eq(t_streams(t), 0);
    }
    t_free(t);
}
END_TEST

/* The memory is gone between two segments: the message says Transmit Error (2.2.2.2.5). */
START_TEST(transmit_error)
{
    struct tcp *t = t_new();
    struct fcvi_stream_out what;
    uint8_t out[256];
    t->config.vitcp.segment_size = 128;
    t_make(t);
    t_memory(t);
    uint32_t vi = t_vi(t, _i == 0 ? FCVI_UNRELIABLE : FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, _i == 0 ? UNREL : REL, 0);
    struct fcvi_descriptor d = {.op = FCVI_SEND, .segments = 1, .segment = {{t->mem, 0, 200}}};
    fcvi_vip_post(t->port, t->now, vi, &d);
    ck_assert_uint_eq(fcvi_stream_transmit(t->port, t->now, out, sizeof out, &what), 128);
    ck_assert_int_eq(fcvi_vip_deregister_mem(t->port, t->now, t->mem), VIP_SUCCESS);
    t_listen(t);
    t_hear(t, stream, "010e0018 00000068 00000000 ........ ffffffff 00000000");
    t_done(t, vi, false, FCVI_STATUS_PROTECTION_ERROR, 0);
    t_state(t, vi, _i == 0 ? FCVI_STATE_CONNECTED : FCVI_STATE_ERROR);
    t_quiet(t, stream, _i == 0 ? FCVI_STREAM_NONE : FCVI_STREAM_FIN);
    t_free(t);
}
END_TEST

/* A reader that has stopped: what is due waits for the window, then FIN; and no longer than the port lingers.
 */
START_TEST(stopped)
{
    struct tcp *t = t_new();
    t->config.vitcp.linger_us = 900 * T_MS;
    t_make(t);
    t_memory(t);
    uint32_t vi = t_vi(t, FCVI_RELIABLE_RECEPTION);
    uint32_t stream = t_connected(t, vi, REL, 0);
    for (int i = 0; i < 2; i++)
        t_post(t, vi, FCVI_SEND, 0, 32768 - 24 - 34);
    ck_assert_uint_eq(t->said[stream].length, 65536); /* the window, with the Accept */
    t->said[stream].seen = t->said[stream].length;
    t_send(t, stream, SEGMENT, 0x0a, 24, 0, 0, 1, 0, 0, 0); /* an empty queue */
    t_state(t, vi, FCVI_STATE_ERROR);
    t_quiet(t, stream, FCVI_STREAM_NONE);
    if (_i == 0) {
        fcvi_stream_window(t->port, t->now, stream, 23);
        t_listen(t);
        fcvi_stream_window(t->port, t->now, stream, 1000);
        t_listen(t);
        t_hear(t, stream, NOP, 1, 0, 0x0200);
        t_quiet(t, stream, FCVI_STREAM_FIN);
    } else {
        t_pass(t, 900 * T_MS);
        t_quiet(t, stream, FCVI_STREAM_RESET);
        ck_assert_uint_eq(t_streams(t), 0);
    }
    t_free(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vitcp messages");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, receive, 0, 3);
    tcase_add_loop_test(c, several, 0, CUTS);
    tcase_add_loop_test(c, breach, 0, sizeof breaches / sizeof breaches[0]);
    tcase_add_loop_test(c, broken_message, 0, 5);
    tcase_add_loop_test(c, failure, 0, sizeof failures / sizeof failures[0]);
    tcase_add_loop_test(c, longer_than_agreed, 0, 3);
    tcase_add_loop_test(c, unreliable_numbers, 0, CUTS);
    tcase_add_loop_test(c, send, 0, CUTS);
    tcase_add_test(c, send_unreliable);
    tcase_add_loop_test(c, segments, 0, 3);
    tcase_add_loop_test(c, reported, 0, 3);
    tcase_add_loop_test(c, reported_at_delivery, 0, 3);
    tcase_add_test(c, reported_of_nothing);
    tcase_add_test(c, credits);
    tcase_add_test(c, no_credit_needed);
    tcase_add_loop_test(c, flow_control_of_one_side, 0, 2);
    tcase_add_test(c, count);
    tcase_add_loop_test(c, lost, 0, 2);
    tcase_add_loop_test(c, disconnect_in_the_middle, 0, 2);
    tcase_add_loop_test(c, transmit_error, 0, 2);
    tcase_add_loop_test(c, stopped, 0, 2);
    suite_add_tcase(suite, c);
    return t_run(suite);
}
