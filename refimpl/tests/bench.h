/* One reference port alone: the test plays the other ports, with frames written out in hex. */
#ifndef FCVI_TEST_BENCH_H
#define FCVI_TEST_BENCH_H

#include "../../codec/tests/golden.h"

#include "../../codec/tests/quiet_check.h"
#include <fcvi/port.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { R_A_TOV = 10000000, FRAME = 24 + 2112, SENT = 256, EVENTS = 512, HEX = 8192 };

/* The port has N_Port Identifier 010200 and the address ...b2, its peer 010100 and ...a1. */
#define OURS "fe8000000000000000000000000000b2"
#define THEIRS "fe8000000000000000000000000000a1"

struct bench {
    uint64_t *memory;
    size_t size;
    struct fcvi_port *port;
    uint64_t now;
    uint8_t frame[SENT][FRAME];
    size_t length[SENT];
    unsigned sent;
    struct fcvi_event event[EVENTS];
    unsigned events;
    unsigned vis;              /* made by b_vi */
    enum fcvi_edition edition; /* by whose tables its frames are checked */
};

static const struct fcvi_port_limits b_limits = {.vis = 8,
                                                 .connectionpoints = 4,
                                                 .exchanges = 64,
                                                 .regions = 4,
                                                 .descriptors = 4,
                                                 .events = 256,
                                                 .memory = 1 << 12,
                                                 .max_transfer_size = 32768};

static inline struct fcvi_port_config b_config(void)
{
    struct fcvi_port_config c = {.topology = FCVI_FABRIC,
                                 .service_class = 3,
                                 .e_d_tov_us = 2000000,
                                 .r_a_tov_us = R_A_TOV,
                                 .receive_size = 2112,
                                 .seed = 1};
    c.self = (struct fcvi_port_identity){0x10000000c9000002, 0x20000000c9000002, 0x010200, 1, {{0}}};
    c.peer = (struct fcvi_port_identity){0x10000000c9000001, 0x20000000c9000001, 0x010100, 1, {{0}}};
    from_hex(OURS, c.self.host[0]);
    from_hex(THEIRS, c.peer.host[0]);
    return c;
}

static inline struct bench *b_begin(const struct fcvi_port_limits *l, const struct fcvi_port_config *c)
{
    struct bench *b = calloc(1, sizeof *b);
    b->size = fcvi_port_size(l);
    b->memory = calloc(1, b->size);
    b->port = fcvi_port_init(b->memory, b->size, l, c);
    ck_assert_ptr_nonnull(b->port);
    return b;
}

static inline struct bench *b_new(void)
{
    struct fcvi_port_config c = b_config();
    return b_begin(&b_limits, &c);
}

/* ---- what it says ---- */

/* Take all frames and events. No frame of the port breaks a rule; it may repeat an id that it was sent. */
static inline void collect(struct bench *b)
{
    struct fcvi_transmitted meta;
    while (b->events < EVENTS && fcvi_port_event(b->port, &b->event[b->events]))
        b->events++;
    for (;;) {
        ck_assert_uint_lt(b->sent, SENT);
        size_t n = fcvi_port_transmit(b->port, b->now, b->frame[b->sent], FRAME, &meta);
        if (n == 0)
            break;
        struct fcvi_finding list[8];
        struct fcvi_findings findings = {list, 8, 0, 0};
        struct fcvi_frame view;
        struct fcvi_input in = {b->frame[b->sent], n, meta.sof, meta.eof, FCVI_CRC_OK};
        fcvi_decode_edition(&in, b->edition, &view, &findings);
        ck_assert_msg(findings.worst <= 1 + FCVI_NOTICE, "%s %s", list[0].requirement, list[0].message);
        b->length[b->sent++] = n;
    }
    while (b->events < EVENTS && fcvi_port_event(b->port, &b->event[b->events]))
        b->events++;
}

static inline void advance(struct bench *b, uint64_t us)
{
    b->now += us;
    fcvi_port_run(b->port, b->now);
    collect(b);
}

static inline void hear_bytes(struct bench *b, const uint8_t *bytes, size_t n)
{
    struct fcvi_input in = {bytes, n, FCVI_SOF_NONE, FCVI_EOF_NONE, FCVI_CRC_ABSENT};
    fcvi_port_receive(b->port, b->now, &in);
    collect(b);
}

/* A frame in hex with printf conversions. */
__attribute__((format(printf, 2, 3))) static inline void hear(struct bench *b, const char *format, ...)
{
    char hex[HEX];
    uint8_t bytes[FRAME];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(hex, sizeof hex, format, args);
    va_end(args);
    ck_assert_int_lt(n, HEX);
    hear_bytes(b, bytes, from_hex(hex, bytes));
}

/* The nth frame sent is this; "." stands for half a byte that the port chooses. */
__attribute__((format(printf, 3, 4))) static inline void expect(struct bench *b, unsigned nth,
                                                                const char *format, ...)
{
    uint8_t wanted[FRAME], mask[FRAME];
    char hex[HEX], value[HEX], care[HEX]; /* the literal with zeros for dots, and with ones for digits */
    va_list args;
    va_start(args, format);
    vsnprintf(hex, sizeof hex, format, args);
    va_end(args);
    size_t n = 0;
    bool repeat = false;
    for (; hex[n] != '\0'; n++) {
        repeat = hex[n] == '*' || (repeat && hex[n] != ' ');
        bool digit = hex[n] != ' ' && !repeat && hex[n] != '.';
        value[n] = hex[n] == '.' ? '0' : hex[n];
        care[n] = digit ? 'f' : value[n];
    }
    value[n] = care[n] = '\0';
    size_t length = from_hex(value, wanted);
    from_hex(care, mask);
    ck_assert_msg(nth < b->sent, "only %u frames were sent", b->sent);
    ck_assert_uint_eq(b->length[nth], length);
    for (size_t i = 0; i < length; i++)
        ck_assert_msg((b->frame[nth][i] & mask[i]) == wanted[i], "frame %u byte %zu is %02x, not %02x", nth,
                      i, b->frame[nth][i], wanted[i]);
}

static inline uint32_t word_of(const struct bench *b, unsigned nth, unsigned byte, unsigned size)
{
    ck_assert_msg(nth < b->sent, "only %u frames were sent", b->sent);
    return (uint32_t)fcvi_load(b->frame[nth] + byte, size);
}
static inline uint32_t ox_of(const struct bench *b, unsigned nth)
{
    return word_of(b, nth, 16, 2);
}
static inline uint32_t opcode_at(const struct bench *b, unsigned nth)
{
    return word_of(b, nth, 28, 1);
}
static inline uint32_t flags_at(const struct bench *b, unsigned nth)
{
    return word_of(b, nth, 29, 1);
}
static inline uint32_t reason_at(const struct bench *b, unsigned nth)
{
    return word_of(b, nth, 37, 1);
}
static inline uint32_t id_at(const struct bench *b, unsigned nth)
{
    return word_of(b, nth, 52, 4);
}
/* FCVI_RQST_HANDLE or FCVI_RESP_HANDLE: Word 2 of the payload */
static inline uint32_t own_handle_at(const struct bench *b, unsigned nth)
{
    return word_of(b, nth, 64, 4);
}

static inline const struct fcvi_event *b_return(const struct bench *b, uint64_t token)
{
    for (unsigned i = b->events; i-- > 0;)
        if (b->event[i].kind == FCVI_EVENT_CALL && b->event[i].token == token)
            return &b->event[i];
    return NULL;
}

static inline unsigned errors(const struct bench *b, uint32_t vi, int code)
{
    unsigned n = 0;
    for (unsigned i = 0; i < b->events; i++)
        n += b->event[i].kind == FCVI_EVENT_ERROR && b->event[i].vi == vi && b->event[i].vip == code;
    return n;
}

static inline uint8_t state_of(struct bench *b, uint32_t vi)
{
    struct fcvi_vi_info info;
    ck_assert_int_eq(fcvi_vip_query_vi(b->port, b->now, vi, &info), VIP_SUCCESS);
    return info.state;
}

static inline struct fcvi_port_counts counts(const struct bench *b)
{
    struct fcvi_port_counts c;
    fcvi_port_count(b->port, &c);
    return c;
}

/* ---- what it is asked to do ---- */

static inline struct fcvi_address address(const char *host)
{
    struct fcvi_address a = {.discriminator_length = 16};
    from_hex(host, a.host);
    memset(a.discriminator + 16, 0xEE,
           sizeof a.discriminator - 16); /* it counts no further than its length */
    from_hex("000102030405060708090a0b0c0d0e0f", a.discriminator);
    return a;
}

/* The attributes of golden.h's ATTRS. */
static inline uint32_t b_vi(struct bench *b)
{
    struct fcvi_attributes a = {.reliability = FCVI_UNRELIABLE, .max_transfer_size = 32768};
    uint32_t vi;
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, b->now, &a, &vi), VIP_SUCCESS);
    b->vis++;
    return vi;
}

static inline void b_request(struct bench *b, uint32_t vi, const char *remote, uint64_t timeout,
                             uint64_t token)
{
    struct fcvi_address from = address(OURS), to = address(remote);
    ck_assert_int_eq(fcvi_vip_connect_request(b->port, b->now, vi, &from, &to, timeout, token),
                     FCVI_VIP_PENDING);
    collect(b);
}

static inline void b_wait(struct bench *b, uint64_t timeout, uint64_t token)
{
    struct fcvi_address local = address(OURS);
    ck_assert_int_eq(fcvi_vip_connect_wait(b->port, b->now, &local, timeout, token), FCVI_VIP_PENDING);
}

/* ---- IUs of the peer 010100 ---- */

/* FCVI_CONNECT_RQST: FCVI_FLAGS, OX_ID, FCVI_CONNECTION_ID, FCVI_RQST_HANDLE */
static inline void hear_rqst(struct bench *b, unsigned flags, unsigned ox_id, uint32_t id, uint32_t handle)
{
    char h[16];
    snprintf(h, sizeof h, "%08x", handle);
    hear(b,
         "02 010200 00 010100 58 290008 05 02 0000 %04x ffff 00000000 "
         "ffffffff 10 %02x 0000 00*8 00*12 %08x 00000000 0000 0001 %s " ADDR_A ADDR_B ATTRS,
         ox_id, flags, id, h);
}

/* FCVI_CONNECT_RESP1 to the nth frame that was sent */
static inline void hear_resp1(struct bench *b, unsigned nth, unsigned flags, unsigned reason, uint32_t handle)
{
    hear(b,
         "03 010200 00 010100 58 890008 06 02 0000 %04x 8001 00000000 "
         "ffffffff 18 %02x 0000 00000000 00%02x0000 00*12 %08x 00000000 0000 0001 %08x " ADDR_A ADDR_B ATTRS,
         ox_of(b, nth), flags, reason, id_at(b, nth), handle);
}

/* FCVI_CONNECT_RESP2 in our peer's Exchange */
static inline void hear_resp2(struct bench *b, unsigned flags, unsigned reason, unsigned ox_id, uint32_t id,
                              uint32_t handle)
{
    hear(b,
         "03 010200 00 010100 58 090000 06 02 0001 %04x ffff 00000000 "
         "%08x 19 %02x 0000 00000000 00%02x0000 00*12 %08x",
         ox_id, handle, flags, reason, id);
}

/* FCVI_CONNECT_RESP3 to the nth frame, our request */
static inline void hear_resp3(struct bench *b, unsigned nth, unsigned flags, uint32_t handle)
{
    hear(b, "03 010200 00 010100 58 980000 06 02 0001 %04x 8001 00000000 %08x 1a %02x 0000 00*8 00*12 %08x",
         ox_of(b, nth), handle, flags, id_at(b, nth));
}

static inline void hear_ba_acc(struct bench *b, unsigned nth)
{
    hear(b, "84 010200 00 010100 00 990000 00 00 0000 %04x ffff 00000000 0000 0000 %04x ffff 0000 ffff",
         ox_of(b, nth), ox_of(b, nth));
}

/* RRQ, for the aborted Exchange of the port's frame `request`, whose RX_ID is or is not known (FC-FS) */
static inline void expect_rrq(struct bench *b, unsigned nth, unsigned request, unsigned rx_id)
{
    expect(b, nth, "22 010100 00 010200 01 290000 .. 00 0000 .... ffff 00000000 12000000 00 010200 %04x %04x",
           ox_of(b, request), rx_id);
    ck_assert_uint_ne(ox_of(b, nth), ox_of(b, request));
}

static inline void hear_rrq_accepted(struct bench *b, unsigned nth)
{
    hear(b, "23 010200 00 010100 01 990000 00 00 0000 %04x ffff 00000000 02000000", ox_of(b, nth));
}

static inline void hear_abts(struct bench *b, unsigned ox_id)
{
    hear(b, "81 010200 00 010100 00 090000 07 00 0000 %04x ffff 00000000", ox_id);
}

/* FCVI_DISCONNECT_RQST */
static inline void hear_disconnect(struct bench *b, unsigned flags, unsigned ox_id, uint32_t id,
                                   uint32_t handle)
{
    hear(b, "02 010200 00 010100 58 290000 09 02 0000 %04x ffff 00000000 %08x 12 %02x 0000 00*8 00*12 %08x",
         ox_id, handle, flags, id);
}

/* FCVI_DISCONNECT_RESP to the nth frame */
static inline void hear_disconnected(struct bench *b, unsigned nth)
{
    hear(b, "03 %06x 00 %06x 58 980000 06 02 0000 %04x 8001 00000000 %08x 1b %02x 0000 00*8 00*12 %08x",
         word_of(b, nth, 5, 3), word_of(b, nth, 1, 3), ox_of(b, nth), 0u, flags_at(b, nth) & 6u,
         id_at(b, nth));
}

/* A VI connected with the peer, whose handle is 0000abcd. */
static inline uint32_t b_connected(struct bench *b)
{
    uint32_t vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 900 + vi);
    unsigned request = b->sent - 1;
    hear_resp1(b, request, 0, 0, 0xabcd);
    hear_resp3(b, request, 0, own_handle_at(b, request));
    ck_assert_int_eq(b_return(b, 900 + vi)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED);
    return vi;
}

/* ---- Extended Link Services of other ports ---- */

#define ELS_FROM(s_id) "22 010200 00 " s_id " 01 290000 01 00 0000 0aaa ffff 00000000 "
/* Common Service Parameters: Word 1 as given, names, and class 3 with a size of its own (FC-FS) */
#define SERVICE(word1, port, node, size)                                                                     \
    "20200010 " word1 " 00ff00ce 000007d0 " port " " node " 00*32 8800 0000 0000 " size                      \
    " 00ff 0000 0001 0000 00*32"
#define PEER_NAMES "10000000c9000001", "20000000c9000001"

/* The reply of s_id to the nth frame: LS_ACC and the rest of it, or LS_RJT. */
static inline void hear_reply(struct bench *b, unsigned nth, const char *s_id, const char *rest)
{
    hear(b, "23 010200 00 %s 01 990000 01 00 0000 %04x ffff 00000000 %s", s_id, ox_of(b, nth), rest);
}

/* Which of the frames from `from` on is the first of that TYPE and first byte after the header; b->sent when
 * there is none. An FC-VI IU is told by its opcode instead. */
static inline unsigned find(const struct bench *b, unsigned from, unsigned type, unsigned what)
{
    while (from < b->sent && (b->frame[from][8] != type || b->frame[from][type == 0x58 ? 28 : 24] != what))
        from++;
    return from;
}

/* ---- the end ---- */

/* Every VI goes back to Idle and away. 10 x R_A_TOV later the port holds nothing. */
static inline void b_end(struct bench *b)
{
    struct fcvi_vi_info info;
    struct fcvi_completion done;
    b->sent = 0;
    for (uint32_t vi = 0; vi < b_limits.vis; vi++) {
        if (fcvi_vip_query_vi(b->port, b->now, vi, &info) != VIP_SUCCESS)
            continue;
        unsigned first = b->sent;
        if (info.state != FCVI_STATE_IDLE)
            fcvi_vip_disconnect(b->port, b->now, vi, 0xE0D + vi);
        collect(b);
        for (unsigned i = first, last = b->sent; i < last; i++)
            if (b->frame[i][0] == 0x02 && b->frame[i][8] == 0x58 && opcode_at(b, i) == 0x12)
                hear_disconnected(b, i);
        ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_IDLE);
        for (int recv = 0; recv < 2; recv++)
            do
                fcvi_vip_done(b->port, b->now, vi, recv, &done);
            while (done.status != 0);
        ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, b->now, vi), VIP_SUCCESS);
    }
    advance(b, 10 * (uint64_t)R_A_TOV);
    struct fcvi_port_counts c = counts(b);
    ck_assert_uint_eq(c.vis, 0);
    ck_assert_uint_eq(c.setups, 0);
    ck_assert_uint_eq(c.points, 0);
    ck_assert_uint_eq(c.exchanges, 0);
    ck_assert_uint_eq(c.timers, 0);
    ck_assert_uint_eq(c.frames, 0);
    ck_assert_uint_eq(c.entries, 0);
    ck_assert_uint_eq(c.events_lost, 0);
    free(b->memory);
    free(b);
}

/* ---- the run ---- */

static inline int run_suite(Suite *s)
{
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

#endif
