/* One port of VI/TCP and a tester that speaks to it byte for byte: what it sends and what it expects is
 * written out by hand from the drawings of the draft (3.1, 3.2, 3.2.1) and the numbers of profile T0.
 *
 *   Type/Flags: 08 Send, 10 RDMA Read Request, 18 RDMA Read Response, 20 RDMA Write, 28 NOP, 30 Connect
 * Request, 38 Connect Accept, 40 Connect Reject, 48 Connect No Match; and 01 Immediate Data Valid, 02 End of
 * Message, 04 Transmit Error.
 *
 * The port has the address ::ffff:10.0.0.1, the tester ::ffff:10.0.0.2 unless a test says otherwise. */
#ifndef FCVI_TEST_VITCP_H
#define FCVI_TEST_VITCP_H

#include "../../../codec/tests/golden.h"
#include "../../../codec/tests/quiet_check.h"
#include <fcvi/vitcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T_MTU = 65536, T_ROOM = 1 << 18, T_HEX = 4096, T_EVENTS = 256, T_MS = 1000 };

/* What the port said on one stream and nobody has looked at yet. */
struct said {
    uint8_t kind; /* of what followed the bytes: OPEN, FIN or RESET; NONE: nothing yet */
    size_t length, seen;
    uint8_t bytes[T_ROOM];
};

struct tcp {
    struct fcvi_port *port;
    size_t size;
    uint64_t now;
    struct fcvi_port_limits limits;
    struct fcvi_port_config config;
    size_t cut;      /* bytes in a piece that the tester sends; 0: all in one */
    size_t capacity; /* bytes that one call of fcvi_stream_transmit may give */
    int64_t window;  /* given at once to each stream; 0: as the port has it */
    struct said said[8];
    struct fcvi_event event[T_EVENTS];
    unsigned events, looked;
    uint32_t mem, handle;
    uint64_t va;
    uint8_t *bytes;
    uint8_t *out; /* of out_size bytes, for fcvi_stream_transmit */
    size_t out_size;
};

#define T_HOST(last)                                                                                         \
    {                                                                                                        \
        [10] = 0xff, [11] = 0xff, [12] = 10, [15] = (last)                                                   \
    }

static const struct fcvi_endpoint t_port = {T_HOST(1), 0x1000}, t_tester = {T_HOST(2), 0x2000};

/* ---- life ---- */

static inline struct tcp *t_new(void)
{
    struct tcp *t = calloc(1, sizeof *t);
    t->limits = (struct fcvi_port_limits){.vis = 8,
                                          .connectionpoints = 4,
                                          .exchanges = 1,
                                          .regions = 8,
                                          .descriptors = 64,
                                          .events = T_EVENTS,
                                          .memory = 1 << 20,
                                          .max_transfer_size = T_MTU,
                                          .streams = 8};
    t->config = (struct fcvi_port_config){
        .wire = FCVI_WIRE_VITCP, .self = {.hosts = 1, .host = {T_HOST(1)}}, .seed = 1};
    t->capacity = T_ROOM;
    return t;
}

static inline void t_make(struct tcp *t)
{
    t->size = fcvi_port_size(&t->limits);
    ck_assert_uint_ne(t->size, 0);
    t->port = fcvi_port_init(malloc(t->size), t->size, &t->limits, &t->config);
    ck_assert_ptr_nonnull(t->port);
}

static inline void t_free(struct tcp *t)
{
    free(t->port);
    free(t->out);
    free(t);
}

/* ---- what the port does ---- */

static inline void t_listen(struct tcp *t)
{
    struct fcvi_stream_out what;
    if (t->out_size != t->capacity) {
        free(t->out);
        t->out = malloc(t->capacity);
        t->out_size = t->capacity;
    }
    for (;;) {
        size_t n = fcvi_stream_transmit(t->port, t->now, t->out, t->capacity, &what);
        if (what.kind == FCVI_STREAM_NONE)
            break;
        ck_assert_uint_lt(what.stream, 8);
        struct said *s = &t->said[what.stream];
        ck_assert_msg((what.kind == FCVI_STREAM_DATA) == (n > 0), "kind %u with %zu bytes", what.kind, n);
        if (what.kind == FCVI_STREAM_DATA) {
            ck_assert_uint_ne(s->kind, FCVI_STREAM_FIN);
            ck_assert_uint_ne(s->kind, FCVI_STREAM_RESET);
            ck_assert_uint_le(s->length + n, T_ROOM);
            memcpy(s->bytes + s->length, t->out, n);
            s->length += n;
        } else {
            s->kind = what.kind;
        }
        if (what.kind == FCVI_STREAM_OPEN) {
            s->length = s->seen = 0;
            ck_assert_mem_eq(what.local.host, t->config.self.host[0], 16);
        }
    }
    while (fcvi_port_event(t->port, &t->event[t->events % T_EVENTS]))
        t->events++;
}

/* Time goes on, from timer to timer. */
static inline void t_pass(struct tcp *t, uint64_t us)
{
    uint64_t end = t->now + us;
    while (fcvi_port_deadline(t->port) <= end) {
        t->now = fcvi_port_deadline(t->port) > t->now ? fcvi_port_deadline(t->port) : t->now;
        fcvi_port_run(t->port, t->now);
        t_listen(t);
    }
    t->now = end;
    t_listen(t);
}

/* ---- what the tester does ---- */

static inline uint32_t t_call(struct tcp *t)
{
    uint32_t stream = UINT32_MAX;
    ck_assert(fcvi_stream_incoming(t->port, t->now, &t_tester, &t_port, &stream));
    t->said[stream].kind = FCVI_STREAM_NONE;
    t->said[stream].length = t->said[stream].seen = 0;
    if (t->window != 0)
        fcvi_stream_window(t->port, t->now, stream, t->window);
    t_listen(t);
    return stream;
}

/* In blocks of their length: ASan sees what reads beyond them. */
static inline void t_send_bytes(struct tcp *t, uint32_t stream, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        size_t n = t->cut == 0 || t->cut > length ? length : t->cut;
        uint8_t *piece = malloc(n);
        fcvi_stream_receive(t->port, t->now, stream, memcpy(piece, bytes, n), n);
        free(piece);
        t_listen(t);
        bytes += n;
        length -= n;
    }
}

__attribute__((format(printf, 3, 4))) static inline void t_send(struct tcp *t, uint32_t stream,
                                                                const char *format, ...)
{
    char hex[T_HEX];
    uint8_t *bytes = malloc(T_HEX);
    va_list args;
    va_start(args, format);
    ck_assert_int_lt(vsnprintf(hex, sizeof hex, format, args), T_HEX);
    va_end(args);
    t_send_bytes(t, stream, bytes, from_hex(hex, bytes));
    free(bytes);
}

static inline void t_end(struct tcp *t, uint32_t stream, enum fcvi_close how)
{
    fcvi_stream_closed(t->port, t->now, stream, how);
    t_listen(t);
}

static inline void t_opened(struct tcp *t, uint32_t stream, bool accepted)
{
    ck_assert_uint_eq(t->said[stream].kind, FCVI_STREAM_OPEN);
    t->said[stream].kind = FCVI_STREAM_NONE;
    fcvi_stream_opened(t->port, t->now, stream, accepted, &t_port);
    if (t->window != 0)
        fcvi_stream_window(t->port, t->now, stream, t->window);
    t_listen(t);
}

/* ---- what the tester expects ---- */

static inline bool t_matches(const char *pattern, const uint8_t *bytes, size_t length, size_t *used)
{
    size_t n = 0;
    for (; *pattern != '\0'; n++) {
        while (*pattern == ' ')
            pattern++;
        if (*pattern == '\0')
            break;
        char pair[3] = {pattern[0], pattern[1], 0};
        pattern += 2;
        if (n >= length || (pair[0] != '.' && bytes[n] != strtoul(pair, NULL, 16)))
            return false;
    }
    *used = n;
    return true;
}

/* The next bytes on the stream are these; ".." is any byte. */
__attribute__((format(printf, 3, 4))) static inline void t_hear(struct tcp *t, uint32_t stream,
                                                                const char *format, ...)
{
    char pattern[T_HEX], seen[T_HEX] = "";
    va_list args;
    va_start(args, format);
    ck_assert_int_lt(vsnprintf(pattern, sizeof pattern, format, args), T_HEX);
    va_end(args);
    struct said *s = &t->said[stream];
    size_t used = 0, left = s->length - s->seen;
    bool good = t_matches(pattern, s->bytes + s->seen, left, &used);
    for (size_t i = 0; !good && i < left && i < 100; i++)
        sprintf(seen + strlen(seen), "%02x%s", s->bytes[s->seen + i], i % 4 == 3 ? " " : "");
    ck_assert_msg(good, "expected\n%s, there are %zu bytes\n%s", pattern, left, seen);
    s->seen += used;
}

/* Nothing more is there than what was heard, and this is how it goes on. */
static inline void t_quiet(struct tcp *t, uint32_t stream, enum fcvi_stream_kind kind)
{
    struct said *s = &t->said[stream];
    ck_assert_msg(s->seen == s->length, "%zu bytes more, from %02x %02x", s->length - s->seen,
                  s->bytes[s->seen], s->bytes[s->seen + 1]);
    ck_assert_uint_eq(s->kind, kind);
}

static inline uint32_t t_number(const struct tcp *t, uint32_t stream, size_t byte)
{
    return (uint32_t)fcvi_load(t->said[stream].bytes + byte, 4);
}

/* ---- events ---- */

static inline const struct fcvi_event *t_event(struct tcp *t, enum fcvi_event_kind kind)
{
    while (t->looked < t->events) {
        const struct fcvi_event *e = &t->event[t->looked++ % T_EVENTS];
        if (e->kind == kind)
            return e;
    }
    return NULL;
}

static inline void t_returns(struct tcp *t, uint64_t token, int vip)
{
    const struct fcvi_event *e = t_event(t, FCVI_EVENT_CALL);
    ck_assert_msg(e != NULL, "no call returned");
    ck_assert_uint_eq(e->token, token);
    ck_assert_str_eq(fcvi_vip_name(e->vip), fcvi_vip_name(vip));
}

static inline void t_error(struct tcp *t, int code)
{
    const struct fcvi_event *e = t_event(t, FCVI_EVENT_ERROR);
    ck_assert_msg(e != NULL, "no error was told");
    ck_assert_str_eq(fcvi_vip_error_name(e->vip), fcvi_vip_error_name(code));
}

static inline void t_no_event(struct tcp *t)
{
    for (; t->looked < t->events; t->looked++)
        ck_assert_msg(t->event[t->looked % T_EVENTS].kind == FCVI_EVENT_STATE, "an event of kind %u",
                      t->event[t->looked % T_EVENTS].kind);
}

/* No call has returned and no error was told. */
static inline void t_no_error(struct tcp *t)
{
    for (; t->looked < t->events; t->looked++)
        ck_assert_uint_ne(t->event[t->looked % T_EVENTS].kind, FCVI_EVENT_ERROR);
}

static inline void t_state(struct tcp *t, uint32_t vi, enum fcvi_vi_state state)
{
    struct fcvi_vi_info info;
    ck_assert_int_eq(fcvi_vip_query_vi(t->port, t->now, vi, &info), VIP_SUCCESS);
    ck_assert_str_eq(fcvi_vi_state_name(info.state), fcvi_vi_state_name(state));
}

static inline uint32_t t_streams(const struct tcp *t)
{
    struct fcvi_port_counts counts;
    fcvi_port_count(t->port, &counts);
    return counts.streams;
}

/* ---- VIPL ---- */

static inline uint32_t t_vi(struct tcp *t, uint8_t level)
{
    const struct fcvi_attributes a = {.reliability = level,
                                      .max_transfer_size = T_MTU,
                                      .rdma_write = true,
                                      .rdma_read = level != FCVI_UNRELIABLE};
    uint32_t vi;
    ck_assert_int_eq(fcvi_vip_create_vi(t->port, t->now, &a, &vi), VIP_SUCCESS);
    return vi;
}

static inline struct fcvi_address t_address(uint8_t host, uint8_t discriminator, uint8_t length)
{
    struct fcvi_address a = {.host = T_HOST(host), .discriminator_length = length};
    memset(a.discriminator, discriminator, length);
    return a;
}

static inline void t_wait(struct tcp *t, uint8_t discriminator, uint64_t token)
{
    struct fcvi_address a = t_address(1, discriminator, 16);
    ck_assert_int_eq(fcvi_vip_connect_wait(t->port, t->now, &a, FCVI_NEVER, token), FCVI_VIP_PENDING);
}

static inline void t_memory(struct tcp *t)
{
    ck_assert_int_eq(fcvi_vip_register_mem(t->port, t->now, 1 << 18, true, true, &t->mem, &t->va, &t->handle),
                     VIP_SUCCESS);
    t->bytes = fcvi_port_memory(t->port, t->mem, 0, 1 << 18);
}

static inline void t_post(struct tcp *t, uint32_t vi, enum fcvi_op op, uint32_t offset, uint32_t length)
{
    struct fcvi_descriptor d = {
        .op = (uint8_t)op, .segments = 1, .cookie = offset, .segment = {{t->mem, offset, length}}};
    ck_assert_int_eq(fcvi_vip_post(t->port, t->now, vi, &d), VIP_SUCCESS);
    t_listen(t);
}

static inline void t_done(struct tcp *t, uint32_t vi, bool recv, uint32_t status, uint32_t length)
{
    struct fcvi_completion c;
    int vip = fcvi_vip_done(t->port, t->now, vi, recv, &c);
    ck_assert_msg(vip == VIP_SUCCESS || vip == VIP_DESCRIPTOR_ERROR, "%s", fcvi_vip_name(vip));
    ck_assert_uint_eq(c.status & FCVI_STATUS_ERROR_MASK, status);
    ck_assert_uint_eq(c.length, length);
}

static inline void t_not_done(struct tcp *t, uint32_t vi, bool recv)
{
    struct fcvi_completion c;
    ck_assert_int_eq(fcvi_vip_done(t->port, t->now, vi, recv, &c), VIP_NOT_DONE);
}

static inline int t_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

/* ---- setups that other tests begin with ---- */

#define T_A "aaaaaaaa aaaaaaaa aaaaaaaa aaaaaaaa"
#define T_B "bbbbbbbb bbbbbbbb bbbbbbbb bbbbbbbb"

/* A Connect Request of the tester: attributes, MTU, window and count are the argument's; it calls itself bb..
 * and the port aa.. */
#define T_REQUEST "01320044 00000000 00000000 00000007 ffffffff %04x0000 %04x0010 %08x " T_B " %04x0010 " T_A

/* A VI of the port on a stream of the tester, which has sent the count `posted` and the attributes. */
static inline uint32_t t_connected(struct tcp *t, uint32_t vi, unsigned attributes, unsigned posted)
{
    t_wait(t, 0xaa, 900);
    uint32_t stream = t_call(t);
    t_send(t, stream, T_REQUEST, posted, attributes, T_MTU, 2);
    const struct fcvi_event *e = t_event(t, FCVI_EVENT_CALL);
    ck_assert_ptr_nonnull(e);
    ck_assert_int_eq(fcvi_vip_connect_accept(t->port, t->now, e->conn, vi, 901), FCVI_VIP_PENDING);
    t_listen(t);
    t_returns(t, 901, VIP_SUCCESS);
    t_state(t, vi, FCVI_STATE_CONNECTED);
    t->said[stream].seen = 68; /* the Connect Accept */
    return stream;
}

#endif
