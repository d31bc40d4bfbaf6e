/* Rev 1.0 (1999): Disconnect (5.3.5, 5.7.2, 6.10, 6.11, 8), and that no port re-reads a frame of the other
 * edition. The clauses are the draft's; V8 are the golden bytes of its tables, R.. its register of errata. */
#include "rev1.h"

enum { LEVEL = FCVI_RELIABLE_DELIVERY };

static void disconnect(struct bench *b, uint32_t vi, uint64_t token)
{
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, vi, token), FCVI_VIP_PENDING);
    collect(b);
}

static void send_empty(struct bench *b, uint32_t vi)
{
    static struct fcvi_descriptor d;
    d = (struct fcvi_descriptor){.op = FCVI_SEND};
    ck_assert_int_eq(fcvi_vip_post(b->port, b->now, vi, &d), VIP_SUCCESS);
    collect(b);
}

/* V8, R12: VI_MSG_ID is the number of Messages that were sent. */
START_TEST(an_application_disconnects)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    r1_connect(b, vi, LEVEL);
    for (int i = 0; i < _i; i++)
        send_empty(b, vi);
    b->sent = 0;
    disconnect(b, vi, 8);
    expect(b, 0,
           "02 010100 00 010200 58 290000 .. 01 0000 .... ffff 00000000 0000beef 12050000 %08x 00000000", _i);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    if (_i == 3) /* Table 8 lets the answer have CONN_ERR: the connection is gone either way (R07) */
        hear(
            b,
            "03 010200 00 010100 58 980000 06 01 0000 %04x 8001 00000000 ffffffff 1a010000 00000003 00010000",
            ox_of(b, 0));
    else
        r1_hear_disconnected(b, 0);
    ck_assert_int_eq(b_return(b, 8)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(b->sent, 1);
    r1_end(b);
}
END_TEST

/* V8: the answer has the VI_MSG_ID of the request and our peer's handle; 04h is the kernel's Disconnect. */
START_TEST(the_peer_disconnects)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false), handle = r1_connect(b, vi, LEVEL);
    b->sent = 0;
    r1_hear_disconnect(b, _i == 0 ? 5 : 4, 0x800, handle, 3);
    expect(b, 0,
           "03 010100 00 010200 58 980000 .. 01 0000 0800 .... 00000000 0000beef 1a000000 00000003 00000000");
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 1);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    r1_hear_disconnect(b, 5, 0x801, handle, 3); /* again: it is answered, and told once */
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 1);
    r1_end(b);
}
END_TEST

/* Both at once: both are answered. */
START_TEST(disconnects_cross)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false), handle = r1_connect(b, vi, LEVEL);
    b->sent = 0;
    disconnect(b, vi, 8);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, vi, 9), VIP_ERROR_RESOURCE);
    r1_hear_disconnect(b, 5, 0x800, handle, 0);
    ck_assert_uint_eq(opcode_at(b, 1), 0x1a);
    r1_hear_disconnected(b, 0);
    ck_assert_int_eq(b_return(b, 8)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(errors(b, vi, VIP_ERROR_CONN_LOST), 0);
    r1_end(b);
}
END_TEST

/* R07: nobody knows that handle: it is answered without flags, for there is no code for it. */
START_TEST(an_unknown_handle_is_answered)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false), handle = r1_connect(b, vi, LEVEL);
    b->sent = 0;
    r1_hear_disconnect(b, 5, 0x800, handle ^ 0x100, 7);
    expect(b, 0,
           "03 010100 00 010200 58 980000 .. 01 0000 0800 .... 00000000 ffffffff 1a000000 00000007 00000000");
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    r1_end(b);
}
END_TEST

/* Reserved modes, and what is not one whole frame of an originator (6.10) */
START_TEST(a_disconnect_that_is_none_is_ignored)
{
    static const char *const all[] = {
        "02 010200 00 010100 58 290000 09 01 0000 0800 ffff 00000000 %08x 12000000 00000000 00000000",
        "02 010200 00 010100 58 290000 09 01 0000 0800 ffff 00000000 %08x 12010000 00000000 00000000",
        "02 010200 00 010100 58 290000 09 01 0000 0800 ffff 00000000 %08x 12060000 00000000 00000000",
        "02 010200 00 010100 58 290000 09 01 0001 0800 ffff 00000000 %08x 12050000 00000000 00000000",
        "02 010200 00 010100 58 210000 09 01 0000 0800 ffff 00000000 %08x 12050000 00000000 00000000",
        "02 010200 00 010100 58 a90000 09 01 0000 0800 ffff 00000000 %08x 12050000 00000000 00000000",
        "02 010200 00 010100 58 290000 09 01 0000 0800 ffff 00000000 %08x 12050000 00000000 00000000 "
        "00000000",
    };
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false), handle = r1_connect(b, vi, LEVEL);
    char hex[512];
    b->sent = 0;
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        snprintf(hex, sizeof hex, all[i], handle);
        hear(b, "%s", hex);
    }
    ck_assert_uint_eq(b->sent, 0);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    r1_end(b);
}
END_TEST

/* 8: ABTS after FCVI_ULP_TIMEOUT, and no second attempt of our own. */
START_TEST(no_answer_means_abts)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    r1_connect(b, vi, LEVEL);
    b->sent = 0;
    disconnect(b, vi, 8);
    if (_i == 0) {
        advance(b, R_A_TOV - 1);
        ck_assert_uint_eq(b->sent, 1);
        advance(b, 1);
    } else { /* an answer that is not the frame that is due */
        hear(
            b,
            "03 010200 00 010100 58 980000 06 01 0007 %04x 8001 00000000 00000000 1a000000 00000000 00000000",
            ox_of(b, 0));
    }
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(b->frame[1][0], 0x81);
    ck_assert_int_eq(b_return(b, 8)->vip, VIP_NOT_REACHABLE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    advance(b, R_A_TOV);
    ck_assert_uint_eq(b->sent, 2);
    r1_end(b);
}
END_TEST

/* A setup is not disconnected: its Exchange is aborted, at either side, and the call is over at once. */
START_TEST(a_setup_is_aborted)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    if (_i == 0) {
        b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    } else {
        b_wait(b, FCVI_NEVER, 1);
        r1_hear_rqst(b, 1, R1_OX, R1_HANDLE, r1_attributes(LEVEL));
        ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, b_return(b, 1)->conn, vi, 7),
                         FCVI_VIP_PENDING);
        collect(b);
    }
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, vi, 8), VIP_SUCCESS);
    collect(b);
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_uint_eq(b->frame[1][0], 0x81);
    ck_assert_uint_eq(word_of(b, 1, 9, 3) >> 23, _i == 0 ? 0 : 1); /* Exchange Context */
    ck_assert_int_eq(b_return(b, 7)->vip, VIP_ERROR_RESOURCE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(counts(b).setups, 0);
    r1_end(b);
}
END_TEST

/* The client is connected and goes again, and its RESP2 was lost (R01). */
START_TEST(a_disconnect_comes_in_place_of_resp2)
{
    struct bench *b = r1_new();
    uint32_t vi = r1_vi(b, LEVEL, false);
    b_wait(b, FCVI_NEVER, 1);
    r1_hear_rqst(b, 1, R1_OX, R1_HANDLE, r1_attributes(LEVEL));
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, b_return(b, 1)->conn, vi, 7), FCVI_VIP_PENDING);
    collect(b);
    r1_hear_disconnect(b, 5, 0x800, r1_handle_at(b, 0), 0);
    ck_assert_uint_eq(b->sent, 3);
    ck_assert_uint_eq(b->frame[1][0], 0x81);
    ck_assert_uint_eq(opcode_at(b, 2), 0x1a);
    ck_assert_int_eq(b_return(b, 7)->vip, VIP_TIMEOUT);
    r1_end(b);
}
END_TEST

/* ---- the other edition ---- */

enum { FRAMES = 170000, MOST = 1 << 20 };

/* A port in which every answer of a connection is due: a connection, a request of its own, one that waits for
 * the application, one that waits for RESP2, and a Disconnect. */
struct busy {
    struct bench *b;
    uint32_t handle[2];
    uint16_t ox_id[4]; /* the peer's two, its own two */
};

static struct busy busy(enum fcvi_edition edition)
{
    struct fcvi_port_config c = b_config();
    c.revision = (uint8_t)edition;
    struct busy s = {.b = b_begin(&b_limits, &c)};
    struct bench *b = s.b;
    bool old = edition == FCVI_EDITION_REV1;
    b->edition = edition;
    for (unsigned i = 0; i < 4; i++)
        old ? r1_vi(b, FCVI_UNRELIABLE, false) : b_vi(b);
    for (unsigned i = 0; i < 2; i++) {
        b_request(b, i, THEIRS, FCVI_NEVER, i);
        unsigned nth = b->sent - 1;
        s.handle[i] = old ? r1_handle_at(b, nth) : own_handle_at(b, nth);
        if (old) {
            r1_hear_resp1(b, nth, 0, 0, R1_HANDLE, R1_UD);
        } else {
            hear_resp1(b, nth, 0, 0, R1_HANDLE);
            hear_resp3(b, nth, 0, s.handle[i]);
        }
        ck_assert_uint_eq(state_of(b, i), FCVI_STATE_CONNECTED);
    }
    b_request(b, 2, THEIRS, FCVI_NEVER, 2);
    s.ox_id[2] = (uint16_t)ox_of(b, b->sent - 1);
    for (unsigned i = 0; i < 2; i++) {
        s.ox_id[i] = (uint16_t)(0x500 + i);
        b_wait(b, FCVI_NEVER, 10 + i);
        if (old)
            r1_hear_rqst(b, 1, s.ox_id[i], 77 + i, R1_UD);
        else
            hear_rqst(b, 1, s.ox_id[i], 77 + i, 77 + i);
        ck_assert_int_eq(b_return(b, 10 + i)->vip, VIP_SUCCESS);
    }
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, b_return(b, 10)->conn, 3, 20),
                     FCVI_VIP_PENDING);
    collect(b);
    disconnect(b, 1, 30);
    s.ox_id[3] = (uint16_t)ox_of(b, b->sent - 1);
    return s;
}

static uint32_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* A frame of an IU that the two editions give a Device_Header of another size, as the other edition sends it.
 * Its Exchange, handle and payload are such that it would be taken, if it were read. */
static size_t foreign(const struct busy *s, enum fcvi_edition own, uint64_t *seed, uint8_t *out)
{
    static const uint8_t opcodes[] = {0x00, 0x0A, 0x10, 0x12, 0x18, 0x19, 0x1A, 0x1B};
    static const uint8_t r_ctl[] = {0x01, 0x01, 0x02, 0x02, 0x03, 0x03, 0x03, 0x03};
    static const char *const payloads[] = {"", "00000000 0000 0001 0000abcd " ADDR_A ADDR_B ATTRS,
                                           "00000001 0000abcd " R1_ADDR(THEIRS) R1_ADDR(OURS) R1_UD,
                                           "01020304"};
    bool to_old = own == FCVI_EDITION_REV1;
    unsigned which = next(seed) % (to_old ? 8 : 7); /* 1999 has no 1Bh */
    unsigned ox = next(seed) % 4, dh = to_old ? 32 : 16;
    bool responds = opcodes[which] == 0x0A || opcodes[which] == 0x18 || opcodes[which] > 0x19;
    uint32_t handles[] = {s->handle[0], s->handle[1], FCVI_UNASSIGNED, 0};
    const char *payload = payloads[next(seed) % 4];
    memset(out, 0, FRAME);
    fcvi_set_FC_R_CTL(out, r_ctl[which]);
    fcvi_set_FC_D_ID(out, 0x010200);
    fcvi_set_FC_S_ID(out, 0x010100);
    fcvi_set_FC_TYPE(out, FCVI_TYPE);
    fcvi_set_FC_Exchange_Context(out, responds);
    fcvi_set_FC_First_Sequence(out, which == 0 || which == 2 || which == 3);
    fcvi_set_FC_Last_Sequence(out, next(seed) % 2);
    fcvi_set_FC_End_Sequence(out, 1);
    fcvi_set_FC_Relative_Offset_Present(out, payload[0] != '\0');
    fcvi_set_FC_Device_Header(out, dh / 16);
    fcvi_set_FC_OX_ID(out, next(seed) % 4 == 0 ? 0x900 : s->ox_id[ox]);
    fcvi_set_FC_RX_ID(out, 0xFFFF);
    fcvi_set_FC_SEQ_CNT(out, which == 5 ? 1 : 0);
    uint8_t *h = out + 24;
    fcvi_set_DH_FCVI_HANDLE(h, handles[next(seed) % 4]);
    fcvi_set_DH_FCVI_OPCODE(h, opcodes[which]);
    fcvi_set_DH_FCVI_FLAGS(h, next(seed) % 3 == 0 ? next(seed) : next(seed) % 6);
    fcvi_set_DH_FCVI_MSG_ID(h, next(seed) % 2);
    size_t length = from_hex(payload, out + 24 + dh);
    return 24 + dh + length;
}

static size_t state(const struct bench *b, uint8_t *out)
{
    size_t length = fcvi_port_canonical(b->port, b->now, out, MOST);
    ck_assert_uint_le(length, MOST);
    return length;
}

/* 1Ah, 80h and 01h, 03h and 04h, 04h and 05h: nothing of the other edition has an effect, and nothing is
 * answered. */
START_TEST(no_frame_of_the_other_edition_is_read)
{
    enum fcvi_edition own = (enum fcvi_edition)(_i % 2);
    struct busy s = busy(own);
    uint8_t *before = malloc(MOST), *after = malloc(MOST), frame[FRAME];
    uint64_t seed = (uint64_t)_i + 1;
    unsigned sent = s.b->sent, events = s.b->events;
    size_t length = state(s.b, before);
    for (unsigned i = 0; i < FRAMES; i++) {
        hear_bytes(s.b, frame, foreign(&s, own, &seed, frame));
        if (i % 16 != 0 && s.b->sent == sent && s.b->events == events)
            continue;
        ck_assert_uint_eq(s.b->sent, sent);
        ck_assert_uint_eq(s.b->events, events);
        ck_assert_uint_eq(state(s.b, after), length);
        ck_assert_mem_eq(after, before, length);
    }
    free(before);
    free(after);
    free(s.b->memory);
    free(s.b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rev1 disconnect");
    TCase *t = tcase_create("disconnect");
    tcase_add_loop_test(t, an_application_disconnects, 0, 4);
    tcase_add_loop_test(t, the_peer_disconnects, 0, 2);
    tcase_add_test(t, disconnects_cross);
    tcase_add_test(t, an_unknown_handle_is_answered);
    tcase_add_test(t, a_disconnect_that_is_none_is_ignored);
    tcase_add_loop_test(t, no_answer_means_abts, 0, 2);
    tcase_add_loop_test(t, a_setup_is_aborted, 0, 2);
    tcase_add_test(t, a_disconnect_comes_in_place_of_resp2);
    suite_add_tcase(s, t);
    t = tcase_create("editions");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, no_frame_of_the_other_edition_is_read, 0, 6);
    suite_add_tcase(s, t);
    return run_suite(s);
}
