/* A simulated Fabric alone: the test plays every port on it, with frames written out in hex. */
#ifndef FCVI_TEST_FABRIC_BENCH_H
#define FCVI_TEST_FABRIC_BENCH_H

#include "../../../codec/tests/golden.h"

#include "../../../codec/tests/quiet_check.h"
#include <fcvi/fabric.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEX = 8192, LATENCY = 100 };

#define I2 FCVI_SOF_I2, FCVI_EOF_N
#define I3 FCVI_SOF_I3, FCVI_EOF_T

/* A Fabric with three ports 010100, 010200 and 010300, and Host Addresses ...a1, ...b2 and ...c3. */
struct net {
    struct fcvi_fabric *f;
    size_t size;
    uint64_t now;
    /* the frame that arrived last */
    uint32_t to;
    uint64_t at;
    struct fcvi_input in;
    uint8_t bytes[FCVI_FABRIC_FRAME];
};

static const struct fcvi_fabric_limits n_limits = {.ports = 4, .frames = 16, .rules = 4, .names = 2};

static inline struct fcvi_fabric_config n_config(void)
{
    return (struct fcvi_fabric_config){.topology = FCVI_FABRIC,
                                       .seed = 1,
                                       .latency_us = LATENCY,
                                       .r_a_tov_us = 10000000,
                                       .e_d_tov_us = 2000000,
                                       .port_name = 0x10000000f0000001,
                                       .node_name = 0x20000000f0000001,
                                       .fan_delay_us = 1000};
}

static inline struct fcvi_port_identity n_identity(uint32_t id, uint8_t host)
{
    struct fcvi_port_identity identity = {0x10000000c9000000 + id, 0x20000000c9000000 + id, id, 1, {{0}}};
    identity.host[0][0] = 0xfe;
    identity.host[0][1] = 0x80;
    identity.host[0][15] = host;
    return identity;
}

static inline struct net *n_empty(const struct fcvi_fabric_limits *l, const struct fcvi_fabric_config *c)
{
    struct net *n = calloc(1, sizeof *n);
    n->size = fcvi_fabric_size(l);
    ck_assert_uint_ne(n->size, 0);
    void *memory = malloc(n->size);
    memset(memory, 0xA5, n->size);
    n->f = fcvi_fabric_init(memory, n->size, l, c);
    ck_assert_ptr_nonnull(n->f);
    return n;
}

static inline uint32_t attach(struct net *n, uint32_t id, uint8_t host)
{
    struct fcvi_port_identity identity = n_identity(id, host);
    return fcvi_fabric_attach(n->f, &identity, FCVI_PLACE_LOOP);
}

static inline struct net *n_begin(const struct fcvi_fabric_config *c)
{
    struct net *n = n_empty(&n_limits, c);
    ck_assert_uint_eq(attach(n, 0x010100, 0xa1), 0);
    ck_assert_uint_eq(attach(n, 0x010200, 0xb2), 1);
    ck_assert_uint_eq(attach(n, 0x010300, 0xc3), 2);
    return n;
}

static inline struct net *n_new(void)
{
    struct fcvi_fabric_config c = n_config();
    return n_begin(&c);
}

/* ---- frames ---- */

static inline void say_bytes(struct net *n, uint32_t from, uint8_t sof, uint8_t eof, const uint8_t *bytes,
                             size_t length)
{
    struct fcvi_transmitted meta = {sof, eof};
    fcvi_fabric_send(n->f, n->now, from, bytes, length, &meta);
}

/* A port sends a frame, given in hex with printf conversions. */
__attribute__((format(printf, 5, 6))) static inline void say(struct net *n, uint32_t from, uint8_t sof,
                                                             uint8_t eof, const char *format, ...)
{
    char hex[HEX];
    uint8_t bytes[FCVI_FABRIC_FRAME];
    va_list args;
    va_start(args, format);
    vsnprintf(hex, sizeof hex, format, args);
    va_end(args);
    say_bytes(n, from, sof, eof, bytes, from_hex(hex, bytes));
}

/* The next frame that arrives, and the time goes to it. False when none is under way. */
static inline bool arrives(struct net *n)
{
    for (uint64_t due; (due = fcvi_fabric_deadline(n->f)) != FCVI_NEVER;) {
        n->at = n->now = due > n->now ? due : n->now;
        if (fcvi_fabric_deliver(n->f, n->now, &n->to, n->bytes, sizeof n->bytes, &n->in))
            return true;
    }
    return false;
}

/* The bytes are these; "." stands for half a byte that the Fabric chooses. */
static inline void same_bytes(const uint8_t *bytes, size_t length, const char *hex)
{
    uint8_t wanted[FCVI_FABRIC_FRAME], mask[FCVI_FABRIC_FRAME];
    char value[HEX], care[HEX]; /* the literal with zeros for dots, and with ones for digits */
    size_t n = 0;
    bool count = false; /* in the number after an asterisk */
    for (; hex[n] != '\0'; n++) {
        count = hex[n] == '*' || (count && hex[n] != ' ');
        value[n] = hex[n] == '.' ? '0' : hex[n];
        care[n] = count || hex[n] == ' ' || hex[n] == '.' ? value[n] : 'f';
    }
    value[n] = care[n] = '\0';
    ck_assert_uint_eq(length, from_hex(value, wanted));
    from_hex(care, mask);
    for (size_t i = 0; i < length; i++)
        ck_assert_msg((bytes[i] & mask[i]) == wanted[i], "byte %zu is %02x, not %02x", i, bytes[i],
                      wanted[i]);
}

/* The next frame arrives at that port, sound, between these delimiters, with these bytes. */
__attribute__((format(printf, 5, 6))) static inline void hear(struct net *n, uint32_t to, uint8_t sof,
                                                              uint8_t eof, const char *format, ...)
{
    char hex[HEX];
    va_list args;
    va_start(args, format);
    vsnprintf(hex, sizeof hex, format, args);
    va_end(args);
    ck_assert_msg(arrives(n), "no frame arrives");
    ck_assert_uint_eq(n->to, to);
    ck_assert_ptr_eq(n->in.bytes, n->bytes);
    same_bytes(n->bytes, n->in.length, hex);
    ck_assert_uint_eq(n->in.sof, sof);
    ck_assert_uint_eq(n->in.eof, eof);
    ck_assert_int_eq(n->in.crc, FCVI_CRC_OK);
}

/* No frame of the Fabric's own breaks a rule that the decoder knows. */
static inline void well_formed(const struct net *n)
{
    struct fcvi_finding list[8];
    struct fcvi_findings findings = {list, 8, 0, 0};
    struct fcvi_frame view;
    fcvi_decode(&n->in, &view, &findings);
    ck_assert_msg(findings.worst <= 1 + FCVI_NOTICE, "%s %s", list[0].requirement, list[0].message);
}

/* A frame of an FC-4 with a SEQ_CNT that tells one from the other, and eight bytes of data. */
#define DATA "01 %06x 00 %06x 08 000000 01 00 %04x 1234 ffff 00000000 0011223344556677"

static const uint32_t n_id[] = {0x010100, 0x010200, 0x010300};

static inline void say_data(struct net *n, uint32_t from, uint32_t to, unsigned seq_cnt)
{
    say(n, from, FCVI_SOF_N3, FCVI_EOF_N, DATA, n_id[to], n_id[from], seq_cnt);
}
static inline void hear_data(struct net *n, uint32_t from, uint32_t to, unsigned seq_cnt)
{
    hear(n, to, FCVI_SOF_N3, FCVI_EOF_N, DATA, n_id[to], n_id[from], seq_cnt);
}
static inline void silence(struct net *n)
{
    ck_assert_msg(!arrives(n), "a frame arrives at port %u", n->to);
}

/* ---- the end ---- */

static inline struct fcvi_fabric_counters counters(const struct net *n)
{
    struct fcvi_fabric_counters c;
    fcvi_fabric_count(n->f, &c);
    ck_assert_uint_eq(c.sent + c.own + c.copied + c.duplicated,
                      c.delivered + c.served + c.dropped + c.overflow + c.under_way);
    return c;
}

static inline void n_free(struct net *n)
{
    counters(n);
    free(n->f);
    free(n);
}

/* Nothing is left under way. */
static inline void n_end(struct net *n)
{
    silence(n);
    ck_assert_uint_eq(counters(n).under_way, 0);
    ck_assert_uint_eq(counters(n).held, 0);
    n_free(n);
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
