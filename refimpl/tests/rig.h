/* One reference port and a tester that sends it the frames of one connection, put together from Tables 1
 * to 6. The port is 010100, the tester 010200; the tester's FCVI_HANDLE is 0000abcdh. What the port sends is
 * looked at frame by frame, in order. */
#ifndef FCVI_TEST_RIG_H
#define FCVI_TEST_RIG_H

#include "../../codec/tests/golden.h"
#include "world.h"

#include <stdarg.h>

enum { RIG_BYTES = 1 << 16, RIG_VA = 0x10000, RIG_FRAMES = 1024, RIG_HEX = 2048 };
enum { OP_SEND = 0, OP_WRITE = 1, OP_READ = 2, OP_SEND_RESP = 8, OP_WRITE_RESP = 9, OP_READ_RESP = 10 };
enum {
    TRANSPORT = 0x40,
    REMOTE_DESCRIPTOR = 0x42,
    WRITE_PROTECTION = 0x43,
    READ_PROTECTION = 0x47,
    PROTOCOL = 0x48
};

struct rig {
    struct world w; /* first: the wire knows nothing but it */
    struct fcvi_port_limits limits;
    struct fcvi_port_config config;
    struct fcvi_attributes attributes;
    uint32_t vi, handle, mem, region; /* region: FCVI_RMT_VA_HANDLE of bytes, which begin at RIG_VA */
    uint8_t bytes[RIG_BYTES];
    uint8_t frame[RIG_FRAMES][W_FRAME];
    size_t length[RIG_FRAMES];
    uint8_t sof[RIG_FRAMES], eof[RIG_FRAMES];
    unsigned sent, seen; /* frames; those that the test has looked at */
    unsigned slots;      /* receive Descriptors posted, 256 bytes each */
};

static inline bool rig_keep(struct world *w, unsigned from, const struct fcvi_frame *f)
{
    struct rig *r = (struct rig *)w;
    (void)from;
    ck_assert_uint_lt(r->sent, RIG_FRAMES);
    if (r->config.service_class == 3 && f->kind != FCVI_KIND_LINK_CONTROL) /* FC-FS */
        ck_assert_uint_eq(f->input.eof, fcvi_FC_End_Sequence(f->fc) ? FCVI_EOF_T : FCVI_EOF_N);
    memcpy(r->frame[r->sent], f->input.bytes, f->input.length);
    r->sof[r->sent] = f->input.sof;
    r->eof[r->sent] = f->input.eof;
    r->length[r->sent++] = f->input.length;
    return false;
}

/* The test may change limits, config and attributes before rig_connect. */
static inline struct rig *rig_new(uint8_t level)
{
    struct rig *r = calloc(1, sizeof *r);
    r->limits = (struct fcvi_port_limits){.vis = 4,
                                          .connectionpoints = 4,
                                          .exchanges = 64,
                                          .regions = 4,
                                          .descriptors = 16,
                                          .events = 256,
                                          .memory = 4096,
                                          .max_transfer_size = RIG_BYTES};
    r->config = w_config(0);
    r->attributes = (struct fcvi_attributes){.reliability = level,
                                             .max_transfer_size = RIG_BYTES,
                                             .rdma_write = true,
                                             .rdma_read = level != FCVI_UNRELIABLE,
                                             .pipeline_depth = 7};
    r->w.filter = rig_keep;
    return r;
}

/* ---- what the tester says ---- */

/* In a block of its length: ASan sees what reads beyond it. */
static inline void rig_hear_as(struct rig *r, const uint8_t *bytes, size_t n, uint8_t sof, uint8_t eof)
{
    uint8_t *block = malloc(n);
    struct fcvi_input in = {memcpy(block, bytes, n), n, sof, eof, FCVI_CRC_OK};
    fcvi_port_receive(r->w.port[0], r->w.now, &in);
    free(block);
    w_quiet(&r->w);
}

__attribute__((format(printf, 2, 3))) static inline void rig_hear(struct rig *r, const char *format, ...)
{
    char hex[RIG_HEX];
    uint8_t bytes[W_FRAME];
    va_list args;
    va_start(args, format);
    ck_assert_int_lt(vsnprintf(hex, sizeof hex, format, args), RIG_HEX);
    va_end(args);
    rig_hear_as(r, bytes, from_hex(hex, bytes), FCVI_SOF_NONE, FCVI_EOF_NONE);
}

static inline uint8_t rig_value(uint32_t id, uint32_t k)
{
    return (uint8_t)(id * 37 + k * 11 + k / 256);
}

/* A frame of a Message Request of the tester. */
struct rqst {
    uint8_t opcode, flags;
    uint16_t ox_id; /* 0: 0700h and the Message ID */
    uint32_t id, cnt, offset, length, total;
    bool last;
    uint64_t va;
    uint32_t key; /* FCVI_RMT_VA_HANDLE */
    uint32_t immediate;
};

static inline void rig_rqst(struct rig *r, const struct rqst *q)
{
    char hex[RIG_HEX];
    uint8_t bytes[W_FRAME];
    bool read = q->opcode == OP_READ, answered = read || r->attributes.reliability == FCVI_RELIABLE_RECEPTION;
    uint32_t fill = (4 - q->length % 4) % 4;
    /* First_Sequence; the last frame ends the Exchange or passes Sequence Initiative (5.8.4) */
    uint32_t f_ctl =
        0x200000 | (q->last ? (answered ? 0x090000 : 0x180000) : 0) | (q->length > 0 ? 8 : 0) | fill;
    snprintf(hex, sizeof hex,
             "%02x 010100 00 010200 58 %06x 07 02 %04x %04x ffff %08x "
             "%08x %02x %02x 0000 %08x %08x %016llx %08x %08x",
             read ? 0x06 : 0x01, f_ctl, q->cnt & 0xFFFF, q->ox_id != 0 ? q->ox_id : 0x700 + (q->id & 0xFF),
             q->offset, r->handle, q->opcode, q->flags, q->id, q->immediate, (unsigned long long)q->va,
             q->key, q->total);
    size_t n = from_hex(hex, bytes);
    for (uint32_t k = 0; k < q->length; k++)
        bytes[n++] = rig_value(q->id, q->offset + k);
    memset(bytes + n, 0, fill);
    rig_hear_as(r, bytes, n + fill, FCVI_SOF_NONE, FCVI_EOF_NONE);
}

/* A Message in one frame. */
static inline void rig_message(struct rig *r, uint8_t opcode, uint32_t id, uint32_t length, uint64_t va,
                               uint32_t key)
{
    struct rqst q = {.opcode = opcode, .id = id, .total = length, .last = true, .va = va, .key = key};
    q.length = opcode == OP_READ ? 0 : length;
    rig_rqst(r, &q);
}

/* ---- what the port says ---- */

static inline uint32_t rig_field(const struct rig *r, unsigned nth, unsigned byte, unsigned size)
{
    ck_assert_msg(nth < r->sent, "only %u frames were sent", r->sent);
    return (uint32_t)fcvi_load(r->frame[nth] + byte, size);
}
static inline uint32_t rig_ox(const struct rig *r, unsigned nth)
{
    return rig_field(r, nth, 16, 2);
}

/* The next frame that it sent is this, then the bytes of data and their fill. "." is half a byte that the
 * port chooses. Returns its number. */
static inline unsigned rig_compare(struct rig *r, const uint8_t *data, uint32_t n_data, const char *format,
                                   va_list args)
{
    char hex[RIG_HEX], value[RIG_HEX], care[RIG_HEX];
    uint8_t wanted[W_FRAME], mask[W_FRAME];
    ck_assert_int_lt(vsnprintf(hex, sizeof hex, format, args), RIG_HEX);
    size_t n = 0;
    bool repeat = false;
    for (; hex[n] != '\0'; n++) {
        repeat = hex[n] == '*' || (repeat && hex[n] != ' ');
        value[n] = hex[n] == '.' ? '0' : hex[n];
        care[n] = hex[n] == ' ' || repeat ? hex[n] : (hex[n] == '.' ? '0' : 'f');
    }
    value[n] = care[n] = '\0';
    size_t header = from_hex(value, wanted), length = header;
    from_hex(care, mask);
    for (uint32_t k = 0; k < (n_data + 3) / 4 * 4; k++, length++) {
        wanted[length] = k < n_data ? data[k] : 0;
        mask[length] = 0xFF;
    }
    unsigned nth = r->seen++;
    ck_assert_msg(nth < r->sent, "only %u frames were sent", r->sent);
    ck_assert_msg(r->length[nth] == length, "frame %u has %zu bytes, not %zu", nth, r->length[nth], length);
    for (size_t i = 0; i < length; i++)
        ck_assert_msg((r->frame[nth][i] & mask[i]) == wanted[i], "frame %u byte %zu is %02x, not %02x", nth,
                      i, r->frame[nth][i], wanted[i]);
    return nth;
}

__attribute__((format(printf, 2, 3))) static inline unsigned rig_next(struct rig *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    unsigned nth = rig_compare(r, NULL, 0, format, args);
    va_end(args);
    return nth;
}

__attribute__((format(printf, 4, 5))) static inline unsigned
rig_next_data(struct rig *r, const uint8_t *data, uint32_t n, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    unsigned nth = rig_compare(r, data, n, format, args);
    va_end(args);
    return nth;
}

/* It has sent nothing that the test has not looked at. */
static inline void rig_silent(const struct rig *r)
{
    ck_assert_msg(r->seen == r->sent, "frame %u, R_CTL %02x, was not to be sent", r->seen,
                  r->frame[r->seen][0]);
}

/* FCVI_SEND_RESP, FCVI_WRITE_RESP: R_CTL 07h, responder, Last, End, a 16-byte header (6.3, 6.5) */
static inline void rig_next_resp(struct rig *r, uint8_t opcode, uint8_t flags, uint32_t id)
{
    rig_next(
        r,
        "07 010200 00 010100 58 980000 .. 01 0000 %04x .... 00000000 0000abcd %02x %02x 0000 %08x 00000000",
        0x700 + (id & 0xFF), opcode, flags, id);
}

/* ---- the connection ---- */

#define RIG_HOST(last) "0000 10 10 fe800000000000000000000000 0000" last " dd*16 00*112 "

/* The port is the server: its Descriptors complete from the beginning (C.5.1). Tables 13 and 16 to 18. */
static inline uint32_t rig_serve(struct rig *r, uint32_t vi, uint32_t remote_handle, unsigned ox_id)
{
    struct world *w = &r->w;
    struct fcvi_address here = w_address(0, 0xDD);
    uint64_t token = 1000 + 2 * ox_id;
    ck_assert_int_eq(fcvi_vip_connect_wait(w->port[0], w->now, &here, FCVI_NEVER, token), FCVI_VIP_PENDING);
    rig_hear(r,
             "02 010100 00 010200 58 290008 05 02 0000 %04x ffff 00000000 "
             "ffffffff 10 01 0000 00000000 00000000 00*12 %08x 00000000 0000 0001 %08x " RIG_HOST("a2")
                 RIG_HOST("a1") "0000 %02x %02x %08x 00*16 %08x 00*4",
             ox_id, ox_id, remote_handle, r->attributes.reliability,
             r->attributes.rdma_write * 2 + r->attributes.rdma_read, r->attributes.max_transfer_size,
             r->attributes.pipeline_depth);
    ck_assert_ptr_nonnull(w_return(w, 0, token));
    ck_assert_int_eq(fcvi_vip_connect_accept(w->port[0], w->now, w_return(w, 0, token)->conn, vi, token + 1),
                     FCVI_VIP_PENDING);
    w_quiet(w);
    unsigned resp1 = r->sent - 1; /* its first frame: FCVI_CONNECT_RESP1 may take several (E44) */
    while (rig_field(r, resp1, 28, 1) != 0x18 || rig_field(r, resp1, 14, 2) != 0)
        resp1--;
    uint32_t handle = rig_field(r, resp1, 64, 4);
    rig_hear(r,
             "03 010100 00 010200 58 090000 06 02 0001 %04x ffff 00000000 "
             "%08x 19 00 0000 00000000 00000000 00*12 %08x",
             ox_id, handle, ox_id);
    ck_assert_uint_eq(w_state(w, 0, vi), FCVI_STATE_CONNECTED);
    r->seen = r->sent;
    return handle;
}

static inline void rig_start(struct rig *r)
{
    w_add(&r->w, &r->limits, &r->config);
    r->vi = w_vi(&r->w, 0, &r->attributes);
    r->mem = w_region(&r->w, 0, r->bytes, RIG_BYTES, RIG_VA, &r->region);
}

static inline void rig_connect(struct rig *r)
{
    rig_start(r);
    r->handle = rig_serve(r, r->vi, 0xabcd, 0x123);
}

static inline struct rig *rig_begin(uint8_t level)
{
    struct rig *r = rig_new(level);
    rig_connect(r);
    return r;
}

/* A receive Descriptor of 256 bytes: slot n is at byte 32768 + 256 n. */
static inline uint8_t *rig_receive(struct rig *r)
{
    uint32_t at = 32768 + 256 * r->slots++;
    ck_assert_int_eq(w_post(&r->w, 0, r->vi, FCVI_RECV, r->mem, at, 256, 0, 0), VIP_SUCCESS);
    return r->bytes + at;
}

/* A Message of the port, its data from the first bytes on; an RDMA operation on the tester's memory. */
static inline void rig_post(struct rig *r, enum fcvi_op op, uint32_t length)
{
    ck_assert_int_eq(w_post(&r->w, 0, r->vi, op, r->mem, 0, length, 0x7000, 0x77), VIP_SUCCESS);
    w_quiet(&r->w);
}

static inline void rig_not_done(struct rig *r, bool recv)
{
    struct fcvi_completion c;
    ck_assert_int_eq(fcvi_vip_done(r->w.port[0], r->w.now, r->vi, recv, &c), VIP_NOT_DONE);
}

static inline void rig_alive(struct rig *r)
{
    ck_assert_uint_eq(w_state(&r->w, 0, r->vi), FCVI_STATE_CONNECTED);
    ck_assert_ptr_null(w_error(&r->w, 0, VIP_ERROR_CONN_LOST));
}

/* The VI is in Error; a Disconnect gives that Reason Code (B.3.2.3, Table 12), 0 for none. */
static inline void rig_broken(struct rig *r, uint8_t reason)
{
    ck_assert_uint_eq(w_state(&r->w, 0, r->vi), FCVI_STATE_ERROR);
    r->seen = r->sent;
    fcvi_vip_disconnect(r->w.port[0], r->w.now, r->vi, 8);
    w_quiet(&r->w);
    unsigned nth = rig_next(r,
                            "02 010200 00 010100 58 290000 .. 02 0000 .... ffff 00000000 "
                            "0000abcd 12 %02x 0000 ........ 00%02x0000 00*16",
                            reason != 0 ? 3 : 2, reason);
    rig_hear(r, "03 010100 00 010200 58 980000 06 02 0000 %04x 8001 00000000 00000000 1b 02 0000 00*8 00*16",
             rig_ox(r, nth));
}

/* Everything is given back; 10 x R_A_TOV later the port holds nothing. */
static inline void rig_end(struct rig *r)
{
    struct world *w = &r->w;
    struct fcvi_completion done;
    struct fcvi_port_counts c;
    for (uint32_t vi = 0; vi < r->limits.vis; vi++) {
        struct fcvi_vi_info info;
        if (fcvi_vip_query_vi(w->port[0], w->now, vi, &info) != VIP_SUCCESS)
            continue;
        unsigned nth = r->sent;
        fcvi_vip_disconnect(w->port[0], w->now, vi, 9);
        w_quiet(w);
        for (unsigned last = r->sent; nth < last; nth++)
            if (r->frame[nth][8] == FCVI_TYPE && r->frame[nth][28] == 0x12)
                rig_hear(r,
                         "03 010100 00 010200 58 980000 06 02 0000 %04x 8001 00000000 "
                         "00000000 1b 02 0000 00*8 00*16",
                         rig_ox(r, nth));
        ck_assert_uint_eq(w_state(w, 0, vi), FCVI_STATE_IDLE);
        for (unsigned recv = 0; recv < 2; recv++)
            while (fcvi_vip_done(w->port[0], w->now, vi, recv, &done), done.status != 0)
                ;
    }
    w_run(w, 10 * W_R_A_TOV);
    fcvi_port_count(w->port[0], &c);
    ck_assert_uint_eq(c.exchanges + c.setups + c.timers + c.frames, 0);
    ck_assert_uint_eq(c.held_frames + c.entries + c.segments + c.events_lost, 0);
    for (uint32_t vi = 0; vi < r->limits.vis; vi++)
        fcvi_vip_destroy_vi(w->port[0], w->now, vi);
    fcvi_port_count(w->port[0], &c);
    ck_assert_uint_eq(c.vis, 0);
    w_free(w);
}

static inline void rig_case(Suite *s, const char *name, const TTest *t, int from, int to)
{
    TCase *c = tcase_create(name);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, t, from, to);
    suite_add_tcase(s, c);
}

static inline int rig_run(Suite *s)
{
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

#endif
