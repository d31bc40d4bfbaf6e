/* Annex B rule by rule: a tester that speaks raw frames to one port. The frames are put together here from
 * Tables 1 to 6; states, statuses and times are worked out from 8.4 and Annex B. */
#include "../../../codec/tests/golden.h"
#include "../../src/fcvi/message.h"
#include "../world.h"

#include <stdarg.h>

enum { SLOT = 1024, SLOTS = 16, KEPT = 64, PIECE = 4, MTU = 1 << 20, WRAP = 65540 * PIECE };

/* The port is 010100, the tester 010200; its handle is 0000abcdh. */
struct bench {
    struct world w;
    uint8_t level;
    bool out_of_order;
    uint32_t vi, handle, mem, region, slots;
    uint8_t bytes[WRAP];
    uint8_t frame[KEPT][W_FRAME];
    size_t length[KEPT];
    unsigned sent;
};

static struct fcvi_port_limits limits = {.vis = 2,
                                         .connectionpoints = 2,
                                         .exchanges = 32,
                                         .regions = 2,
                                         .descriptors = SLOTS,
                                         .events = 256,
                                         .max_transfer_size = MTU,
                                         .runs = 64,
                                         .held_frames = 8};

static bool keep(struct world *w, unsigned from, const struct fcvi_frame *f)
{
    struct bench *b = (struct bench *)w;
    (void)from;
    ck_assert_uint_lt(b->sent, KEPT);
    memcpy(b->frame[b->sent], f->input.bytes, f->input.length);
    b->length[b->sent++] = f->input.length;
    return false;
}

static void hear_bytes(struct bench *b, const uint8_t *bytes, size_t n)
{
    struct fcvi_input in = {bytes, n, FCVI_SOF_NONE, FCVI_EOF_NONE, FCVI_CRC_OK};
    fcvi_port_receive(b->w.port[0], b->w.now, &in);
    w_quiet(&b->w);
}

__attribute__((format(printf, 2, 3))) static void hear(struct bench *b, const char *format, ...)
{
    char hex[2048];
    uint8_t bytes[W_FRAME];
    va_list args;
    va_start(args, format);
    vsnprintf(hex, sizeof hex, format, args);
    va_end(args);
    hear_bytes(b, bytes, from_hex(hex, bytes));
}

/* The frame that was sent last but `back` is this; "." is half a byte that the port chooses. */
__attribute__((format(printf, 3, 4))) static void expect(struct bench *b, unsigned back, const char *format,
                                                         ...)
{
    char hex[512], value[512], care[512];
    uint8_t wanted[256], mask[256];
    va_list args;
    va_start(args, format);
    vsnprintf(hex, sizeof hex, format, args);
    va_end(args);
    size_t n = 0;
    bool repeat = false;
    for (; hex[n] != '\0'; n++) {
        repeat = hex[n] == '*' || (repeat && hex[n] != ' ');
        value[n] = hex[n] == '.' ? '0' : hex[n];
        care[n] = hex[n] == ' ' || repeat ? hex[n] : (hex[n] == '.' ? '0' : 'f');
    }
    value[n] = care[n] = '\0';
    size_t length = from_hex(value, wanted);
    from_hex(care, mask);
    ck_assert_uint_gt(b->sent, back);
    unsigned nth = b->sent - 1 - back;
    ck_assert_uint_eq(b->length[nth], length);
    for (size_t i = 0; i < length; i++)
        ck_assert_msg((b->frame[nth][i] & mask[i]) == wanted[i], "byte %zu is %02x, not %02x", i,
                      b->frame[nth][i], wanted[i]);
}

/* ---- a connection ---- */

#define HOST(last) "0000 10 10 fe800000000000000000000000 0000" last " dd*16 00*112 "
/* Tables 13 and 16 to 18: revision 0001h, handle 0000abcdh, level, 2^20 bytes, QOS zero */
#define CONNECT_TO(loc, rem) "00000000 0000 0001 0000abcd " HOST(loc) HOST(rem) "0000 %02x 00 00100000 00*24"

static void serve(struct bench *b)
{
    struct world *w = &b->w;
    struct fcvi_address here = w_address(0, 0xDD);
    ck_assert_int_eq(fcvi_vip_connect_wait(w->port[0], w->now, &here, FCVI_NEVER, 1), FCVI_VIP_PENDING);
    hear(b,
         "02 010100 00 010200 58 290008 05 02 0000 1234 ffff 00000000 "
         "ffffffff 10 01 0000 00000000 00000000 00*12 00000042 " CONNECT_TO("a2", "a1"),
         b->level);
    ck_assert_ptr_nonnull(w_return(w, 0, 1));
    ck_assert_int_eq(fcvi_vip_connect_accept(w->port[0], w->now, w_return(w, 0, 1)->conn, b->vi, 2),
                     FCVI_VIP_PENDING);
    w_quiet(w);
    b->handle = (uint32_t)fcvi_load(b->frame[b->sent - 1] + 64, 4);
    hear(b,
         "03 010100 00 010200 58 090000 06 02 0001 1234 ffff 00000000 "
         "%08x 19 00 0000 00000000 00000000 00*12 00000042",
         b->handle);
    ck_assert_uint_eq(w_state(w, 0, b->vi), FCVI_STATE_CONNECTED);
}

/* The port is the client; FCVI_CONNECT_RESP3 is left out. */
static void request(struct bench *b)
{
    struct world *w = &b->w;
    struct fcvi_address here = w_address(0, 0xDD), there = w_address(1, 0xDD);
    ck_assert_int_eq(fcvi_vip_connect_request(w->port[0], w->now, b->vi, &here, &there, FCVI_NEVER, 1),
                     FCVI_VIP_PENDING);
    w_quiet(w);
    b->handle = (uint32_t)fcvi_load(b->frame[0] + 64, 4);
    hear(b,
         "03 010100 00 010200 58 890008 06 02 0000 %04x 8001 00000000 "
         "ffffffff 18 00 0000 00000000 00000000 00*12 %08x " CONNECT_TO("a2", "a1"),
         (unsigned)fcvi_load(b->frame[0] + 16, 2), (unsigned)fcvi_load(b->frame[0] + 52, 4), b->level);
    ck_assert_uint_eq(w_state(w, 0, b->vi), FCVI_STATE_CONNECTED);
}

static void confirm(struct bench *b)
{
    hear(b,
         "03 010100 00 010200 58 980000 06 02 0001 %04x 8001 00000000 "
         "0000abcd 1a 00 0000 00000000 00000000 00*12 %08x",
         (unsigned)fcvi_load(b->frame[0] + 16, 2), (unsigned)fcvi_load(b->frame[0] + 52, 4));
}

static struct bench *fresh(uint8_t level, bool out_of_order, bool annex_f)
{
    struct bench *b = calloc(1, sizeof *b);
    struct fcvi_port_config c = w_config(0);
    c.out_of_order = b->out_of_order = out_of_order;
    c.resp3_is_message_0 = annex_f;
    b->level = level;
    b->w.filter = keep;
    w_add(&b->w, &limits, &c);
    struct fcvi_attributes a = {.reliability = level, .max_transfer_size = MTU};
    b->vi = w_vi(&b->w, 0, &a);
    b->mem = w_region(&b->w, 0, b->bytes, WRAP, 0x10000, &b->region);
    return b;
}

static struct bench *begin(uint8_t level, bool out_of_order)
{
    struct bench *b = fresh(level, out_of_order, false);
    serve(b);
    return b;
}

/* Every test once for each Reliability Level on each Fabric: _i from 0 to 5. */
static struct bench *begin_i(int i)
{
    return begin((uint8_t)(1 + i % 3), i / 3);
}

static void post(struct bench *b, unsigned count)
{
    for (unsigned i = 0; i < count; i++, b->slots++)
        ck_assert_int_eq(w_post(&b->w, 0, b->vi, FCVI_RECV, b->mem, b->slots * SLOT, SLOT, 0, 0),
                         VIP_SUCCESS);
}

static bool reliable_level(const struct bench *b)
{
    return b->level != FCVI_UNRELIABLE;
}

/* The VI goes to Idle, and 10 x R_A_TOV later the port holds nothing. */
static void end(struct bench *b)
{
    struct world *w = &b->w;
    struct fcvi_completion done;
    struct fcvi_port_counts c;
    int code = fcvi_vip_disconnect(w->port[0], w->now, b->vi, 9);
    w_quiet(w);
    unsigned nth = b->sent - 1;
    while (code == FCVI_VIP_PENDING && b->frame[nth][28] != 0x12)
        nth--;
    if (code == FCVI_VIP_PENDING)
        hear(b,
             "03 010100 00 010200 58 980000 06 02 0000 %04x 8001 00000000 "
             "00000000 1b 02 0000 00*8 00*12 00000000",
             (unsigned)fcvi_load(b->frame[nth] + 16, 2));
    ck_assert_uint_eq(w_state(w, 0, b->vi), FCVI_STATE_IDLE);
    for (unsigned recv = 0; recv < 2; recv++)
        while (fcvi_vip_done(w->port[0], w->now, b->vi, recv, &done), done.status != 0)
            ;
    w_run(w, 10 * W_R_A_TOV);
    fcvi_port_count(w->port[0], &c);
    ck_assert_uint_eq(c.exchanges + c.setups + c.timers + c.frames, 0);
    ck_assert_uint_eq(c.held_frames + c.entries + c.segments + c.events_lost, 0);
    uint32_t runs = 0;
    for (uint32_t i = w->port[0]->free_run; i != NONE; i = run_at(w->port[0], i)->next)
        runs++;
    ck_assert_uint_eq(runs, limits.runs);
    ck_assert_int_eq(fcvi_vip_destroy_vi(w->port[0], w->now, b->vi), VIP_SUCCESS);
    w_free(w);
}

/* ---- frames of a Send ---- */

static uint8_t value(uint32_t id, uint32_t k)
{
    return (uint8_t)(id * 37 + k * 11 + k / 256);
}

struct unit {
    uint32_t id, cnt, offset, length, total;
    bool last;
    uint16_t ox; /* 0: as the Message ID says */
    uint8_t opcode;
};

/* R_CTL 01h; First_Sequence in every frame; the last ends the Exchange or passes Sequence Initiative. */
static void say(struct bench *b, const struct unit *u)
{
    char hex[256];
    uint8_t bytes[W_FRAME];
    uint32_t last = b->level == FCVI_RELIABLE_RECEPTION ? 0x090000 : 0x180000;
    uint32_t fill = (4 - u->length % 4) % 4;
    snprintf(hex, sizeof hex,
             "01 010100 00 010200 58 %06x 07 02 %04x %04x ffff %08x %08x %02x 00 0000 %08x 00*16 %08x",
             0x200000 | (u->last ? last : 0) | (u->total > 0 ? 8 : 0) | fill, u->cnt & 0xFFFF,
             u->ox != 0 ? u->ox : 0x700 + (u->id & 0xFF), u->offset, b->handle, u->opcode, u->id, u->total);
    size_t n = from_hex(hex, bytes);
    for (uint32_t k = 0; k < u->length; k++)
        bytes[n++] = value(u->id, u->offset + k);
    memset(bytes + n, 0, fill);
    hear_bytes(b, bytes, n + fill);
}

/* Frame `cnt` of a Message of `frames` frames with four bytes each. */
static void piece(struct bench *b, uint32_t id, uint32_t cnt, uint32_t frames)
{
    struct unit u = {.id = id,
                     .cnt = cnt,
                     .offset = cnt * PIECE,
                     .length = PIECE,
                     .total = frames * PIECE,
                     .last = cnt + 1 == frames};
    say(b, &u);
}

static void pieces(struct bench *b, uint32_t id, uint32_t from, uint32_t to, uint32_t frames)
{
    for (uint32_t k = from; k <= to; k++)
        piece(b, id, k, frames);
}

/* ---- what came of it ---- */

static void got(struct bench *b, unsigned slot, uint32_t id, uint32_t length)
{
    w_done(&b->w, 0, b->vi, true, FCVI_STATUS_OP_RECEIVE, length);
    for (uint32_t k = 0; k < length; k++)
        ck_assert_uint_eq(b->bytes[slot * SLOT + k], value(id, k));
}

static void lost(struct bench *b)
{
    w_done(&b->w, 0, b->vi, true, FCVI_STATUS_OP_RECEIVE | FCVI_STATUS_TRANSPORT_ERROR, 0);
}

static void flushed(struct bench *b)
{
    w_done(&b->w, 0, b->vi, true, FCVI_STATUS_OP_RECEIVE | FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
}

static void nothing(struct bench *b)
{
    struct fcvi_completion c;
    ck_assert_int_eq(fcvi_vip_done(b->w.port[0], b->w.now, b->vi, true, &c), VIP_NOT_DONE);
}

static void connected(struct bench *b)
{
    ck_assert_uint_eq(w_state(&b->w, 0, b->vi), FCVI_STATE_CONNECTED);
    ck_assert_ptr_null(w_error(&b->w, 0, VIP_ERROR_CONN_LOST));
}

/* Herr: the VI is in Error, the application hears of it once, and nothing is delivered any more (rule 1). */
static void broken_connection(struct bench *b, uint32_t next, uint8_t reason)
{
    unsigned calls = 0;
    ck_assert_uint_eq(w_state(&b->w, 0, b->vi), FCVI_STATE_ERROR);
    for (unsigned i = 0; i < b->w.events[0]; i++)
        calls += b->w.event[0][i].kind == FCVI_EVENT_ERROR && b->w.event[0][i].vip == VIP_ERROR_CONN_LOST;
    ck_assert_uint_eq(calls, 1);
    unsigned events = b->w.events[0], sent = b->sent;
    pieces(b, next, 0, 1, 2);
    w_run(&b->w, 2 * W_R_A_TOV); /* E58: as long as the Endpoint is in Error */
    pieces(b, next, 0, 1, 2);
    ck_assert_uint_eq(b->w.events[0], events);
    for (unsigned i = sent; i < b->sent; i++) /* no answer; a frame of an abort may still come */
        ck_assert_uint_ne(b->frame[i][8], FCVI_TYPE);
    fcvi_vip_disconnect(b->w.port[0], b->w.now, b->vi, 8);
    w_quiet(&b->w);
    /* B.3.2.3: CONN_STS and the Reason Code say why; VI_APP_DISCON */
    expect(b, 0,
           "02 010200 00 010100 58 290000 .. 02 0000 .... ffff 00000000 "
           "0000abcd 12 03 0000 ........ 00%02x0000 00*16",
           reason);
    hear(b,
         "03 010100 00 010200 58 980000 06 02 0000 %04x 8001 00000000 "
         "00000000 1b 02 0000 00*8 00*12 00000000",
         (unsigned)fcvi_load(b->frame[b->sent - 1] + 16, 2));
    ck_assert_uint_eq(w_state(&b->w, 0, b->vi), FCVI_STATE_IDLE);
}

enum { TRANSPORT = 0x40, PROTOCOL = 0x48 };

/* FCVI_SEND_RESP: R_CTL 07h, responder, Last, End, 16-byte header, flags zero (6.3) */
static void answered_well(struct bench *b, uint32_t id)
{
    if (b->level == FCVI_RELIABLE_RECEPTION)
        expect(
            b, 0,
            "07 010200 00 010100 58 980000 .. 01 0000 %04x .... 00000000 0000abcd 08 00 0000 %08x 00000000",
            0x700 + (id & 0xFF), id);
}

/* ---- no rule fires (B.2.3) ---- */

START_TEST(messages_in_order)
{
    struct bench *b = begin_i(_i);
    post(b, 4);
    unsigned sent = b->sent;
    pieces(b, 1, 0, 2, 3);
    answered_well(b, 1);
    pieces(b, 2, 0, 0, 1);
    answered_well(b, 2);
    struct unit empty = {.id = 3, .last = true};
    say(b, &empty);
    answered_well(b, 3);
    struct unit odd = {.id = 4, .length = 5, .total = 5, .last = true}; /* three fill bytes */
    say(b, &odd);
    answered_well(b, 4);
    ck_assert_uint_eq(b->sent - sent, b->level == FCVI_RELIABLE_RECEPTION ? 4 : 0);
    got(b, 0, 1, 12);
    got(b, 1, 2, 4);
    got(b, 2, 3, 0);
    got(b, 3, 4, 5);
    connected(b);
    end(b);
}
END_TEST

/* Several Information Units in a Message: SEQ_ID changes, SEQ_CNT and Relative Offset go on (5.2.1). */
START_TEST(message_of_several_ius)
{
    struct bench *b = begin_i(_i);
    post(b, 1);
    uint32_t last = b->level == FCVI_RELIABLE_RECEPTION ? 0x090008 : 0x180008;
    const char *form =
        "01 010100 00 010200 58 %06x %02x 02 %04x 0701 ffff %08x %08x 00 00 0000 00000001 00*16 00000010";
    char hex[256];
    static const uint32_t f_ctl[] = {0x200008, 0x280008, 0x000008};
    for (uint32_t k = 0; k < 4; k++) {
        uint8_t bytes[128];
        snprintf(hex, sizeof hex, form, k < 3 ? f_ctl[k] : last, 7 + k / 2, k, 4 * k, b->handle);
        size_t n = from_hex(hex, bytes);
        for (uint32_t i = 0; i < 4; i++)
            bytes[n++] = value(1, 4 * k + i);
        nothing(b);
        hear_bytes(b, bytes, n);
    }
    answered_well(b, 1);
    got(b, 0, 1, 16);
    end(b);
}
END_TEST

/* ---- Mrcv > Mexp: Messages 1 to 4, Message 5 up to frame 26, then Message 9, frame 192 (Figure B.1) ---- */

static struct bench *figure_b1(uint8_t level, bool out_of_order)
{
    struct bench *b = begin(level, out_of_order);
    post(b, 12);
    for (uint32_t id = 1; id <= 4; id++) {
        piece(b, id, 0, 1);
        got(b, id - 1, id, PIECE);
    }
    pieces(b, 5, 0, 26, 200);
    nothing(b);
    piece(b, 9, 192, 200);
    return b;
}

START_TEST(example_b322)
{
    struct bench *b = figure_b1(FCVI_UNRELIABLE, false);
    lost(b); /* rule 3a: Message 5; Messages 6 to 9 have taken nothing */
    nothing(b);
    pieces(b, 5, 27, 199, 200); /* rule 2 */
    for (uint32_t id = 6; id <= 8; id++)
        piece(b, id, 0, 1);
    pieces(b, 9, 0, 199, 200);
    w_run(&b->w, W_R_A_TOV - 1);
    piece(b, 9, 193, 200);
    nothing(b);
    connected(b);
    pieces(b, 10, 0, 1, 2); /* Mexp is 10, SCexp 0 */
    got(b, 5, 10, 2 * PIECE);
    connected(b);
    end(b);
}
END_TEST

/* The same with Message 5 complete: no Descriptor completes in error. */
START_TEST(example_b322_nothing_open)
{
    struct bench *b = begin(FCVI_UNRELIABLE, false);
    post(b, 6);
    for (uint32_t id = 1; id <= 5; id++)
        piece(b, id, 0, 1);
    for (uint32_t id = 1; id <= 5; id++)
        got(b, id - 1, id, PIECE);
    piece(b, 9, 192, 200);
    nothing(b);
    piece(b, 10, 0, 1);
    got(b, 5, 10, PIECE);
    connected(b);
    end(b);
}
END_TEST

/* Rule 4a c: it is the first frame of Message 9. */
START_TEST(rule_4a_first_frame)
{
    struct bench *b = begin(FCVI_UNRELIABLE, false);
    post(b, 4);
    pieces(b, 1, 0, 1, 3);
    piece(b, 9, 0, 3);
    lost(b);
    nothing(b);
    pieces(b, 9, 1, 2, 3);
    got(b, 1, 9, 3 * PIECE);
    piece(b, 10, 0, 1);
    got(b, 2, 10, PIECE);
    connected(b);
    end(b);
}
END_TEST

START_TEST(example_b323)
{
    struct bench *b = figure_b1((uint8_t)_i, false);
    lost(b); /* VI-DG 5.2: Message 5 had taken it */
    flushed(b);
    broken_connection(b, 10, TRANSPORT);
    end(b);
}
END_TEST

/* B.3.2.4: everything of the epoch comes in time, the last first; each frame is processed (E87, rule 5b). */
START_TEST(example_b324_in_time)
{
    limits.held_frames = 512;
    struct bench *b = figure_b1((uint8_t)_i, true);
    nothing(b);
    w_run(&b->w, W_R_A_TOV - 1);
    for (uint32_t k = 200; k-- > 0;)
        if (k != 192)
            piece(b, 9, k, 200);
    for (uint32_t id = 8; id >= 6; id--)
        piece(b, id, 0, 1);
    nothing(b);
    for (uint32_t k = 200; k-- > 27;)
        piece(b, 5, k, 200);
    got(b, 4, 5, 200 * PIECE);
    for (uint32_t id = 6; id <= 8; id++)
        got(b, id - 1, id, PIECE);
    got(b, 8, 9, 200 * PIECE);
    connected(b);
    w_run(&b->w, 3 * W_R_A_TOV);
    piece(b, 10, 0, 1);
    got(b, 9, 10, PIECE);
    connected(b);
    end(b);
}
END_TEST

/* ... or not. Rules 7a and 3a, then 2: Messages 5 to 9 are lost R_A_TOV after the frame that showed the gap.
 */
START_TEST(example_b324_too_late)
{
    struct bench *b = figure_b1((uint8_t)_i, true);
    w_run(&b->w, W_R_A_TOV - 1);
    nothing(b);
    connected(b);
    w_run(&b->w, 1);
    lost(b);
    if (reliable_level(b)) {
        flushed(b);
        broken_connection(b, 10, TRANSPORT);
        end(b);
        return;
    }
    lost(b); /* Message 9, of which a frame has come, too */
    nothing(b);
    pieces(b, 5, 27, 199, 200);
    for (uint32_t id = 6; id <= 8; id++)
        piece(b, id, 0, 1);
    pieces(b, 9, 0, 199, 200);
    nothing(b);
    piece(b, 10, 0, 1);
    got(b, 6, 10, PIECE);
    connected(b);
    end(b);
}
END_TEST

/* Rules 4c a and 7 (E90): only the Message that is missing is lost. */
START_TEST(message_missing_out_of_order)
{
    struct bench *b = begin((uint8_t)_i, true);
    post(b, 4);
    w_run(&b->w, 1000);
    pieces(b, 2, 0, 1, 2);
    w_run(&b->w, W_R_A_TOV / 2);
    piece(b, 3, 0, 1);
    nothing(b);
    w_run(&b->w, W_R_A_TOV / 2 - 1);
    nothing(b);
    connected(b);
    w_run(&b->w, 1);
    if (reliable_level(b)) {
        flushed(b);
        broken_connection(b, 4, TRANSPORT);
    } else {
        got(b, 0, 2, 2 * PIECE);
        got(b, 1, 3, PIECE);
        piece(b, 1, 0, 1); /* rule 2 */
        nothing(b);
        connected(b);
    }
    end(b);
}
END_TEST

/* ---- rule 5: Mrcv < Mexp ---- */

START_TEST(rule_5)
{
    struct bench *b = begin_i(_i);
    post(b, 3);
    pieces(b, 1, 0, 1, 2);
    got(b, 0, 1, 2 * PIECE);
    memset(b->bytes, 0, SLOT);
    unsigned sent = b->sent;
    piece(b, 1, 0, 2);
    ck_assert_uint_eq(b->sent, sent);
    ck_assert_uint_eq(b->bytes[1], 0); /* at most once, on any level and Fabric */
    if (reliable_level(b) && !b->out_of_order) {
        flushed(b);
        broken_connection(b, 2, PROTOCOL); /* 5a */
    } else {                               /* 5b; on Unreliable Delivery the connection may live on (E94) */
        connected(b);
        nothing(b);
        piece(b, 2, 0, 1);
        got(b, 1, 2, PIECE);
    }
    end(b);
}
END_TEST

/* ---- rule 6: Mrcv = Mexp (Figure B.2: Message 5 up to frame 26, then its frame 192) ---- */

static struct bench *figure_b2(int i)
{
    struct bench *b = begin_i(i);
    post(b, 8);
    for (uint32_t id = 1; id <= 4; id++)
        piece(b, id, 0, 1);
    for (uint32_t id = 1; id <= 4; id++)
        got(b, id - 1, id, PIECE);
    pieces(b, 5, 0, 26, 200);
    piece(b, 5, 192, 200);
    return b;
}

START_TEST(example_b33)
{
    struct bench *b = figure_b2(_i);
    if (b->out_of_order) { /* 6e and 7 */
        nothing(b);
        w_run(&b->w, W_R_A_TOV - 1);
        nothing(b);
        connected(b);
        w_run(&b->w, 1);
    }
    lost(b);
    if (reliable_level(b)) { /* 6d, 7b */
        flushed(b);
        broken_connection(b, 6, TRANSPORT);
    } else { /* 6c or 7a, 3a, then 2 */
        nothing(b);
        pieces(b, 5, 27, 199, 200);
        nothing(b);
        piece(b, 6, 0, 1);
        got(b, 5, 6, PIECE);
        connected(b);
    }
    end(b);
}
END_TEST

START_TEST(example_b333_in_time)
{
    limits.runs = 256;
    struct bench *b = figure_b2(3 + _i);
    w_run(&b->w, W_R_A_TOV - 1);
    pieces(b, 5, 193, 199, 200);
    for (uint32_t k = 27; k < 192; k += 2)
        piece(b, 5, k, 200);
    for (uint32_t k = 28; k < 192; k += 2)
        piece(b, 5, k, 200);
    got(b, 4, 5, 200 * PIECE);
    connected(b);
    end(b);
}
END_TEST

/* E89: the first frame of the Message that is due is missing. It is not delivered; the next one is. */
START_TEST(first_frame_missing)
{
    struct bench *b = begin_i(_i);
    post(b, 3);
    pieces(b, 1, 1, 2, 3);
    if (b->out_of_order) {
        w_run(&b->w, W_R_A_TOV - 1);
        nothing(b);
        w_run(&b->w, 1);
    }
    if (reliable_level(b)) {
        struct fcvi_completion c;
        fcvi_vip_done(b->w.port[0], b->w.now, b->vi, true, &c);
        ck_assert_uint_ne(c.status & FCVI_STATUS_ERROR_MASK, 0);
        broken_connection(b, 2, TRANSPORT);
    } else {
        if (b->out_of_order)
            lost(b);
        nothing(b);
        piece(b, 2, 0, 1);
        got(b, b->out_of_order, 2, PIECE);
        connected(b);
    }
    end(b);
}
END_TEST

/* Rules 6a and 6b. What all frames of a Message have alike is not so, or its data lie outside it. */
static const struct unit odd_ones[] = {
    {.id = 1, .cnt = 1, .offset = 4, .length = 4, .total = 16},                /* FCVI_TOT_LEN */
    {.id = 1, .cnt = 1, .offset = 4, .length = 4, .total = 12, .ox = 0x0999},  /* OX_ID */
    {.id = 1, .cnt = 1, .offset = 4, .length = 12, .total = 12, .last = true}, /* more than FCVI_TOT_LEN */
    {.id = 1, .cnt = 1, .offset = 4, .length = 4, .total = 12, .opcode = 1},   /* an RDMA Write now */
    {.id = 1, .cnt = 1, .offset = 16, .length = 4, .total = 12},               /* behind the end */
    {.id = 1, .cnt = 1, .offset = 0xFFFFFFFC, .length = 8, .total = 12},       /* offset + length wraps */
    {.id = 1, .cnt = 1, .offset = 4, .length = 4, .total = 12, .last = true},  /* it ends before its end */
    {.id = 1, .cnt = 1, .offset = 8, .length = 4, .total = 12, .last = true},  /* Relative Offset jumps */
    {.id = 1, .cnt = 1, .offset = 0, .length = 4, .total = 12},                /* ... and goes back */
    {.id = 1, .cnt = 1, .offset = 8, .length = 1, .total = 12},                /* ... for one byte */
};
enum { ODD_ONES = sizeof odd_ones / sizeof odd_ones[0], DETECTED_AT_ONCE = 7 };

START_TEST(sequence_errors)
{
    struct bench *b = begin_i(_i / ODD_ONES);
    int odd = _i % ODD_ONES;
    post(b, 3);
    piece(b, 1, 0, 3);
    say(b, &odd_ones[odd]);
    if (b->out_of_order && odd >= DETECTED_AT_ONCE) {
        /* offsets may come in any order here: 4 to 7 are missing for R_A_TOV */
        nothing(b);
        w_run(&b->w, W_R_A_TOV);
    }
    lost(b); /* E88 */
    if (reliable_level(b)) {
        flushed(b);
        bool late = odd == 6 && !b->out_of_order;
        broken_connection(b, 2, late || (b->out_of_order && odd >= DETECTED_AT_ONCE) ? TRANSPORT : PROTOCOL);
    } else {
        nothing(b);
        piece(b, 1, 1, 3);
        piece(b, 1, 2, 3);
        nothing(b);
        piece(b, 2, 0, 1);
        got(b, 1, 2, PIECE);
        connected(b);
    }
    end(b);
}
END_TEST

/* FCVI_TOT_LEN bytes have come when there is one more. */
START_TEST(one_byte_too_many)
{
    struct bench *b = begin_i(_i);
    struct unit all = {.id = 1, .length = PIECE, .total = PIECE};
    struct unit more = {.id = 1, .cnt = 1, .offset = PIECE, .length = 1, .total = PIECE, .last = true};
    post(b, 2);
    say(b, &all);
    say(b, &more);
    lost(b);
    ck_assert_uint_eq(b->bytes[PIECE], 0);
    if (reliable_level(b)) {
        flushed(b);
        broken_connection(b, 1, PROTOCOL);
    } else {
        connected(b);
    }
    end(b);
}
END_TEST

/* The last frame has one byte. */
START_TEST(tail_of_one_byte)
{
    struct bench *b = begin_i(_i);
    struct unit head = {.id = 1, .length = PIECE, .total = PIECE + 1};
    struct unit tail = {.id = 1, .cnt = 1, .offset = PIECE, .length = 1, .total = PIECE + 1, .last = true};
    post(b, 1);
    say(b, &head);
    say(b, &tail);
    got(b, 0, 1, PIECE + 1);
    answered_well(b, 1);
    connected(b);
    end(b);
}
END_TEST

/* E88: the first frame of all has more than FCVI_TOT_LEN bytes. Its Descriptor completes in error. */
START_TEST(first_frame_is_odd)
{
    struct bench *b = begin_i(_i);
    struct unit odd = {.id = 1, .length = PIECE, .total = PIECE - 1, .last = true};
    post(b, 2);
    say(b, &odd);
    lost(b);
    if (reliable_level(b)) {
        flushed(b);
        broken_connection(b, 2, PROTOCOL);
    } else {
        piece(b, 2, 0, 1);
        got(b, 1, 2, PIECE);
        connected(b);
    }
    end(b);
}
END_TEST

/* FC-FS: without Relative Offset Present the Parameter field of a frame says nothing. */
START_TEST(empty_message)
{
    struct bench *b = begin_i(_i);
    struct unit u = {.id = 1, .offset = 0x1234, .last = true};
    post(b, 1);
    say(b, &u);
    got(b, 0, 1, 0);
    answered_well(b, 1);
    connected(b);
    end(b);
}
END_TEST

/* ---- rule 7 and Note 1 of 8.4.1: the rest of an open Message does not come ---- */

START_TEST(rest_never_comes)
{
    struct bench *b = begin_i(_i);
    post(b, 3);
    w_run(&b->w, 77);
    piece(b, 1, 0, 3);
    w_run(&b->w, W_R_A_TOV - 1);
    piece(b, 1, 1, 3); /* each frame gives it another R_A_TOV */
    w_run(&b->w, W_R_A_TOV - 1);
    nothing(b);
    connected(b);
    w_run(&b->w, 1);
    lost(b);
    if (reliable_level(b)) {
        flushed(b);
        broken_connection(b, 2, TRANSPORT);
    } else {
        piece(b, 1, 2, 3);
        nothing(b);
        piece(b, 2, 0, 1);
        got(b, 1, 2, PIECE);
        connected(b);
    }
    end(b);
}
END_TEST

/* ---- ABTS ---- */

static void abort_it(struct bench *b, unsigned ox_id)
{
    hear(b, "81 010100 00 010200 00 090000 07 00 0000 %04x ffff 00000000", ox_id);
    /* BA_ACC: the whole Exchange, no SEQ_ID valid, SEQ_CNT 0000h to FFFFh */
    unsigned nth = b->sent - 1;
    while (b->frame[nth][0] != 0x84)
        nth--;
    ck_assert_uint_eq(b->length[nth], 36);
    ck_assert_uint_eq(fcvi_load(b->frame[nth] + 9, 3), 0x990000); /* responder, Last, End, Initiative */
    ck_assert_uint_eq(fcvi_load(b->frame[nth] + 28, 2), ox_id);
    ck_assert_uint_eq(fcvi_load(b->frame[nth] + 30, 2), 0xFFFF);
    ck_assert_uint_eq(fcvi_load(b->frame[nth] + 32, 4), 0x0000FFFF);
}

START_TEST(abts_of_an_open_message)
{
    struct bench *b = begin_i(_i);
    post(b, 3);
    pieces(b, 1, 0, 1, 3);
    abort_it(b, 0x701);
    lost(b);
    if (reliable_level(b)) {
        flushed(b);
        broken_connection(b, 2, TRANSPORT);
    } else {
        piece(b, 1, 2, 3);
        nothing(b);
        piece(b, 2, 0, 1);
        got(b, 1, 2, PIECE);
        connected(b);
    }
    end(b);
}
END_TEST

START_TEST(abts_of_a_message_that_is_over)
{
    struct bench *b = begin_i(_i);
    post(b, 2);
    piece(b, 1, 0, 1);
    got(b, 0, 1, PIECE);
    abort_it(b, 0x701);
    abort_it(b, 0x999); /* one never seen */
    connected(b);
    piece(b, 2, 0, 1);
    got(b, 1, 2, PIECE);
    end(b);
}
END_TEST

/* What waited for the aborted Message is delivered at once. */
START_TEST(abts_lets_the_next_message_through)
{
    struct bench *b = begin(FCVI_UNRELIABLE, true);
    post(b, 3);
    piece(b, 1, 0, 3);
    pieces(b, 2, 0, 1, 2);
    nothing(b);
    abort_it(b, 0x701);
    lost(b);
    got(b, 1, 2, 2 * PIECE);
    connected(b);
    end(b);
}
END_TEST

/* An aborted, or damaged, Message ahead of Mexp takes one Descriptor, whatever still comes of it (rule 2). */
START_TEST(lost_ahead_of_its_turn)
{
    struct bench *b = begin(FCVI_UNRELIABLE, true);
    post(b, 4);
    piece(b, 1, 0, 3);
    piece(b, 2, 0, 4);
    if (_i == 0) {
        abort_it(b, 0x702);
    } else {
        struct unit bad = {.id = 2, .cnt = 1, .offset = 4, .length = 4, .total = 20};
        say(b, &bad);
    }
    piece(b, 2, 2, 4); /* late */
    piece(b, 3, 0, 1);
    nothing(b);
    pieces(b, 1, 1, 2, 3);
    got(b, 0, 1, 3 * PIECE);
    lost(b);
    got(b, 2, 3, PIECE);
    piece(b, 2, 3, 4);
    nothing(b);
    piece(b, 4, 0, 1);
    got(b, 3, 4, PIECE);
    connected(b);
    end(b);
}
END_TEST

/* ... also one whose frames are held because nothing of the Message before it has come */
START_TEST(lost_while_held)
{
    struct bench *b = begin(FCVI_UNRELIABLE, true);
    post(b, 4);
    piece(b, 2, 0, 4);
    abort_it(b, 0x702);
    piece(b, 2, 1, 4);
    piece(b, 1, 0, 1);
    got(b, 0, 1, PIECE);
    lost(b);
    nothing(b);
    piece(b, 3, 0, 1);
    got(b, 2, 3, PIECE);
    connected(b);
    end(b);
}
END_TEST

/* Rule 3a: its Descriptor completes in error when it is known which that is, not at its turn. */
START_TEST(lost_before_the_connection)
{
    struct bench *b = begin(FCVI_UNRELIABLE, true);
    post(b, 2);
    piece(b, 2, 0, 2);
    abort_it(b, 0x702);
    piece(b, 1, 0, 2);
    nothing(b);
    fcvi_vip_disconnect(b->w.port[0], b->w.now, b->vi, 8);
    w_quiet(&b->w);
    flushed(b);
    lost(b);
    hear(b, "03 010100 00 010200 58 980000 06 02 0000 %04x 8001 00000000 00000000 1b 02 0000 00*8 00*16",
         (unsigned)fcvi_load(b->frame[b->sent - 1] + 16, 2));
    end(b);
}
END_TEST

/* ---- Out-of-Order Fabric: duplicates, overtaking, room ---- */

START_TEST(duplicates)
{
    struct bench *b = begin((uint8_t)_i, true);
    post(b, 3);
    piece(b, 1, 1, 3);
    piece(b, 1, 1, 3);
    pieces(b, 2, 0, 1, 2); /* held or not, twice */
    pieces(b, 2, 0, 1, 2);
    piece(b, 1, 2, 3);
    piece(b, 1, 2, 3);
    nothing(b);
    unsigned sent = b->sent;
    piece(b, 1, 0, 3);
    got(b, 0, 1, 3 * PIECE);
    got(b, 1, 2, 2 * PIECE);
    ck_assert_uint_eq(b->sent - sent, b->level == FCVI_RELIABLE_RECEPTION ? 2 : 0);
    piece(b, 1, 0, 3);
    piece(b, 2, 1, 2);
    nothing(b);
    ck_assert_uint_eq(b->sent - sent, b->level == FCVI_RELIABLE_RECEPTION ? 2 : 0);
    connected(b);
    end(b);
}
END_TEST

/* In class 3 a repeated frame on an In-Order Fabric is a frame out of order (8.4.1 b and c). */
START_TEST(duplicate_in_order)
{
    struct bench *b = begin((uint8_t)_i, false);
    post(b, 2);
    piece(b, 1, 0, 3);
    piece(b, 1, 0, 3);
    lost(b);
    if (reliable_level(b))
        broken_connection(b, 2, TRANSPORT);
    else
        connected(b);
    end(b);
}
END_TEST

/* Five Messages open at once, frames by turns, the last Message first: they complete in order. */
START_TEST(several_messages_open)
{
    struct bench *b = begin((uint8_t)_i, true);
    post(b, 5);
    unsigned sent = b->sent;
    for (uint32_t k = 3; k-- > 0;)
        for (uint32_t id = 5; id >= 1; id--) {
            nothing(b);
            piece(b, id, k, 3);
        }
    for (uint32_t id = 1; id <= 5; id++)
        got(b, id - 1, id, 3 * PIECE);
    if (b->level == FCVI_RELIABLE_RECEPTION) /* answered in that order */
        for (uint32_t id = 1; id <= 5; id++)
            ck_assert_uint_eq(fcvi_load(b->frame[sent + id - 1] + 32, 4), id);
    connected(b);
    end(b);
}
END_TEST

/* No room for a frame: it counts as one that never came, and may come again. */
START_TEST(held_frames_run_out)
{
    limits.held_frames = 4;
    struct bench *b = begin((uint8_t)(1 + _i % 3), true);
    struct fcvi_port_counts c;
    post(b, 2);
    pieces(b, 2, 0, 5, 6);
    fcvi_port_count(b->w.port[0], &c);
    ck_assert_uint_eq(c.held_frames, 4);
    piece(b, 1, 0, 1);
    got(b, 0, 1, PIECE);
    nothing(b);
    if (_i < 3) {
        pieces(b, 2, 4, 5, 6);
        got(b, 1, 2, 6 * PIECE);
        connected(b);
    } else {
        w_run(&b->w, W_R_A_TOV);
        lost(b);
        ck_assert_uint_eq(w_state(&b->w, 0, b->vi),
                          reliable_level(b) ? FCVI_STATE_ERROR : FCVI_STATE_CONNECTED);
    }
    end(b);
}
END_TEST

START_TEST(runs_run_out)
{
    limits.runs = 4;
    struct bench *b = begin((uint8_t)_i, true);
    post(b, 1);
    for (uint32_t k = 0; k < 10; k += 2)
        piece(b, 1, k, 10); /* the fifth piece, 8, finds no room */
    for (uint32_t k = 1; k < 10; k += 2)
        piece(b, 1, k, 10);
    nothing(b);
    piece(b, 1, 8, 10);
    got(b, 0, 1, 10 * PIECE);
    connected(b);
    end(b);
}
END_TEST

/* No Exchange left for another Message. */
START_TEST(exchanges_run_out)
{
    limits.exchanges = 4;
    struct bench *b = begin_i(_i);
    post(b, 8);
    struct fcvi_port_counts c;
    if (b->out_of_order) {
        for (uint32_t id = 2; id <= 7; id++)
            piece(b, id, 0, 1);
        fcvi_port_count(b->w.port[0], &c);
        ck_assert_uint_eq(c.exchanges, 4);
        w_run(&b->w, W_R_A_TOV); /* nothing of Message 1 has found room */
        ck_assert_uint_eq(w_state(&b->w, 0, b->vi),
                          reliable_level(b) ? FCVI_STATE_ERROR : FCVI_STATE_CONNECTED);
        if (!reliable_level(b))
            for (uint32_t id = 2; id <= 5; id++)
                got(b, id - 2, id, PIECE);
    } else {
        /* a second VI's unfinished setups hold them all */
        for (unsigned i = 0; i < 4; i++)
            ck_assert_ptr_nonnull(fcvi_fc2_exchange_open(b->w.port[0], X_LATE, NONE, 0x010200));
        piece(b, 1, 0, 1);
        ck_assert_uint_eq(w_state(&b->w, 0, b->vi),
                          reliable_level(b) ? FCVI_STATE_ERROR : FCVI_STATE_CONNECTED);
        for (uint32_t i = 0; i < 4; i++)
            fcvi_fc2_exchange_free(b->w.port[0], i);
        if (!reliable_level(b)) {
            nothing(b);
            piece(b, 2, 0, 1);
            got(b, 0, 2, PIECE);
        }
    }
    end(b);
}
END_TEST

/* ---- wrap ---- */

/* FCVI_MSG_ID goes from FFFFFFFFh to 0 (5.9.6); comparisons are modulo 2^32 (E93). The count is preset. */
START_TEST(message_id_wraps)
{
    struct bench *b = begin_i(_i);
    vi_at(b->w.port[0], b->vi)->rx.expected = 0xFFFFFFFF;
    post(b, 4);
    if (b->out_of_order) {
        piece(b, 1, 0, 1);
        piece(b, 0, 0, 1);
        nothing(b);
        piece(b, 0xFFFFFFFF, 0, 1);
    } else {
        piece(b, 0xFFFFFFFF, 0, 1);
        piece(b, 0, 0, 1);
        piece(b, 1, 0, 1);
    }
    got(b, 0, 0xFFFFFFFF, PIECE);
    got(b, 1, 0, PIECE);
    got(b, 2, 1, PIECE);
    connected(b);
    if (b->level == FCVI_UNRELIABLE && !b->out_of_order) { /* rule 4a over the wrap */
        vi_at(b->w.port[0], b->vi)->rx.expected = 0xFFFFFFFE;
        piece(b, 1, 0, 1);
        got(b, 3, 1, PIECE);
    }
    end(b);
}
END_TEST

/* More than 65536 frames: SEQ_CNT begins again in the second Information Unit, Relative Offset does not. */
START_TEST(sequence_count_wraps)
{
    struct bench *b = begin_i(_i);
    ck_assert_int_eq(w_post(&b->w, 0, b->vi, FCVI_RECV, b->mem, 0, WRAP, 0, 0), VIP_SUCCESS);
    pieces(b, 1, 0, WRAP / PIECE - 1, WRAP / PIECE);
    answered_well(b, 1);
    got(b, 0, 1, WRAP);
    connected(b);
    end(b);
}
END_TEST

/* ---- rule 1 b: the handle rests ---- */

START_TEST(handle_is_not_used_again)
{
    struct bench *b = begin(FCVI_RELIABLE_DELIVERY, false);
    uint32_t old = b->handle;
    piece(b, 3, 0, 1);
    broken_connection(b, 1, TRANSPORT);
    b->w.events[0] = 0;
    serve(b);
    ck_assert_uint_ne(b->handle, old);
    post(b, 1);
    uint32_t now = b->handle;
    b->handle = old;
    piece(b, 1, 0, 1);
    nothing(b);
    b->handle = now;
    piece(b, 1, 0, 1);
    got(b, 0, 1, PIECE);
    end(b);
}
END_TEST

/* ---- rule 9 ---- */

/* _i: Send on Reliable Reception, RDMA Read on both reliable levels */
START_TEST(rule_9)
{
    struct bench *b = begin(_i == 1 ? FCVI_RELIABLE_DELIVERY : FCVI_RELIABLE_RECEPTION, false);
    enum fcvi_op op = _i == 0 ? FCVI_SEND : FCVI_RDMA_READ;
    post(b, 1);
    w_post(&b->w, 0, b->vi, op, b->mem, 0, 4, 0x7000, 0x77);
    w_post(&b->w, 0, b->vi, op, b->mem, 0, 4, 0x7000, 0x77);
    w_quiet(&b->w);
    unsigned request_ox = (unsigned)fcvi_load(b->frame[b->sent - 1] + 16, 2), sent = b->sent;
    w_run(&b->w, W_R_A_TOV - 1);
    connected(b);
    ck_assert_uint_eq(b->sent, sent);
    w_run(&b->w, 1);
    expect(b, 0, "81 010200 00 010100 00 090000 .. 00 0000 %04x ffff 00000000", request_ox);
    uint32_t bits = op == FCVI_SEND ? 0 : FCVI_STATUS_OP_RDMA_READ;
    w_done(&b->w, 0, b->vi, false, bits | FCVI_STATUS_TRANSPORT_ERROR, 0);
    w_done(&b->w, 0, b->vi, false, bits | FCVI_STATUS_DESC_FLUSHED_ERROR, 0);
    flushed(b);
    broken_connection(b, 1, TRANSPORT);
    end(b);
}
END_TEST

/* ---- Annex F, C.5.10: a Message before FCVI_CONNECT_RESP3 ---- */

START_TEST(message_before_resp3)
{
    bool annex_f = _i / 6;
    struct bench *b = fresh((uint8_t)(1 + _i % 3), _i / 3 % 2, annex_f);
    post(b, 2);
    request(b);
    unsigned sent = b->sent;
    piece(b, 1, 0, 1);
    if (annex_f && !b->out_of_order) { /* FCVI_MSG_ID 0 is missing */
        expect(b, 0, "81 010200 00 010100 00 090000 .. 00 0000 %04x .... 00000000",
               (unsigned)fcvi_load(b->frame[0] + 16, 2));
        flushed(b);
        ck_assert_uint_eq(w_state(&b->w, 0, b->vi), FCVI_STATE_ERROR);
        ck_assert_ptr_nonnull(w_error(&b->w, 0, VIP_ERROR_CONN_LOST));
        end(b);
        return;
    }
    got(b, 0, 1, PIECE);
    ck_assert_uint_eq(b->sent, sent); /* no Message Response before RESP3 */
    piece(b, 2, 0, 1);
    got(b, 1, 2, PIECE);
    confirm(b);
    if (b->level == FCVI_RELIABLE_RECEPTION) {
        ck_assert_uint_eq(b->sent, sent + 2);
        ck_assert_uint_eq(fcvi_load(b->frame[sent] + 32, 4), 1);
        answered_well(b, 2);
    }
    connected(b);
    end(b);
}
END_TEST

/* Annex F says nothing of a Message that comes when it may. _i: to a client after RESP3, to a server */
START_TEST(message_after_the_setup)
{
    struct bench *b = fresh(FCVI_RELIABLE_DELIVERY, false, true);
    post(b, 1);
    if (_i == 0) {
        request(b);
        confirm(b);
    } else {
        serve(b);
    }
    piece(b, 1, 0, 1);
    got(b, 0, 1, PIECE);
    connected(b);
    end(b);
}
END_TEST

/* ---- E45: what must not be taken for a Message ---- */

START_TEST(frames_that_fit_nowhere)
{
    struct bench *b = begin_i(_i);
    post(b, 1);
    unsigned sent = b->sent;
    uint32_t handle = b->handle;
    b->handle = handle ^ 0x100;
    piece(b, 1, 0, 1); /* unknown handle */
    b->handle = handle + 1;
    piece(b, 1, 0, 1); /* that of another VI */
    b->handle = 0xFFFFFFFF;
    piece(b, 1, 0, 1);
    b->handle = handle;
    /* the Exchange Context of a response */
    hear(
        b,
        "01 010100 00 010200 58 b80008 07 02 0000 0701 ffff 00000000 %08x 00 00 0000 00000001 00*16 00000004 "
        "01020304",
        handle);
    /* FCVI_SEND_RESP for nothing, and with the Exchange Context of a request */
    hear(b, "07 010100 00 010200 58 980000 02 01 0000 0701 ffff 00000000 %08x 08 00 0000 00000001 00000000",
         handle);
    hear(b, "07 010100 00 010200 58 180000 02 01 0000 0701 ffff 00000000 %08x 08 00 0000 00000001 00000000",
         handle);
    if (!reliable_level(b)) /* RDMA Read is for the reliable levels (6.6.1) */
        hear(b,
             "06 010100 00 010200 58 290000 07 02 0000 0701 ffff 00000000 "
             "%08x 02 00 0000 00000001 00000000 0000000000010000 %08x 00000004",
             handle, b->region);
    nothing(b);
    ck_assert_uint_eq(b->sent, sent);
    connected(b);
    piece(b, 1, 0, 1);
    got(b, 0, 1, PIECE);
    end(b);
}
END_TEST

static void add(Suite *s, const char *name, const TTest *t, int from, int to)
{
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, t, from, to);
    suite_add_tcase(s, tc);
}

int main(void)
{
    Suite *s = suite_create("annex_b");
    add(s, "in order", messages_in_order, 0, 6);
    add(s, "several IUs", message_of_several_ius, 0, 6);
    add(s, "B.3.2.2", example_b322, 0, 1);
    add(s, "B.3.2.2", example_b322_nothing_open, 0, 1);
    add(s, "4a", rule_4a_first_frame, 0, 1);
    add(s, "B.3.2.3", example_b323, 2, 4);
    add(s, "B.3.2.4", example_b324_in_time, 1, 4);
    add(s, "B.3.2.4", example_b324_too_late, 1, 4);
    add(s, "4c", message_missing_out_of_order, 1, 4);
    add(s, "5", rule_5, 0, 6);
    add(s, "B.3.3", example_b33, 0, 6);
    add(s, "B.3.3.3", example_b333_in_time, 0, 3);
    add(s, "E89", first_frame_missing, 0, 6);
    add(s, "6a 6b", sequence_errors, 0, 6 * ODD_ONES);
    add(s, "6a 6b", one_byte_too_many, 0, 6);
    add(s, "6a 6b", first_frame_is_odd, 0, 6);
    add(s, "in order", empty_message, 0, 6);
    add(s, "in order", tail_of_one_byte, 0, 6);
    add(s, "7", rest_never_comes, 0, 6);
    add(s, "ABTS", abts_of_an_open_message, 0, 6);
    add(s, "ABTS", abts_of_a_message_that_is_over, 0, 6);
    add(s, "ABTS", abts_lets_the_next_message_through, 0, 1);
    add(s, "2", lost_ahead_of_its_turn, 0, 2);
    add(s, "2", lost_while_held, 0, 1);
    add(s, "3a", lost_before_the_connection, 0, 1);
    add(s, "duplicates", duplicates, 1, 4);
    add(s, "duplicates", duplicate_in_order, 1, 4);
    add(s, "open", several_messages_open, 1, 4);
    add(s, "room", held_frames_run_out, 0, 6);
    add(s, "room", runs_run_out, 1, 4);
    add(s, "room", exchanges_run_out, 0, 6);
    add(s, "wrap", message_id_wraps, 0, 6);
    add(s, "wrap", sequence_count_wraps, 0, 6);
    add(s, "1", handle_is_not_used_again, 0, 1);
    add(s, "9", rule_9, 0, 3);
    add(s, "Annex F", message_before_resp3, 0, 12);
    add(s, "F", message_after_the_setup, 0, 2);
    add(s, "E45", frames_that_fit_nowhere, 0, 6);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
