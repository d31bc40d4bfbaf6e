/* Streams of frames put together byte by byte from the tables of the standard: a header field stands where
 * FC-FS has it, a Device_Header field where Table 3 or 4 has it. */
#ifndef FCVI_TEST_STREAM_H
#define FCVI_TEST_STREAM_H

#include "../../../codec/tests/quiet_check.h"
#include <fcvi/monitor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A = 0x010100, B = 0x010200, C = 0x010300, HA = 0x11, HB = 0x22, FRAMES = 64, LONGEST = 24 + 32 + 596 };

/* F_CTL bits, FC-FS */
enum {
    CONTEXT = 0x800000,
    FIRST = 0x200000,
    LAST = 0x100000,
    END = 0x080000,
    INITIATIVE = 0x010000,
    OFFSET = 0x000008
};
/* bytes of the frame */
enum {
    AT_R_CTL = 0,
    AT_CS_CTL = 4,
    AT_F_CTL = 9,
    AT_SEQ_ID = 12,
    AT_SEQ_CNT = 14,
    AT_OX_ID = 16,
    AT_RX_ID = 18,
    AT_PARAMETER = 20,
    AT_HANDLE = 24,
    AT_OPCODE = 28,
    AT_FLAGS = 29,
    AT_MSG_ID = 32,
    AT_FCVI_PARAMETER = 36,
    AT_VA = 40,
    AT_VA_HANDLE = 48,
    AT_WORD_7 = 52,
    AT_PAYLOAD = 56,
    AT_CONN_HANDLE = 56 + 8, /* Tables 13 and 14, Word 2 */
    AT_LEVEL = 56 + 77 * 4 + 2,
    AT_PREF = 56 + 79 * 4
};

struct made {
    uint8_t bytes[LONGEST];
    size_t length;
    uint64_t time;
    uint32_t network;
    uint8_t sof, eof, crc;
};

struct stream {
    struct made frame[FRAMES];
    unsigned count;
    uint8_t sof_i, sof_n;
    uint64_t r_a_tov_us, name_a, name_b; /* what the monitor is told beside the frames; 0: nothing */
    struct fcvi_monitor_limits room;     /* that it has; 0: as usual */
    bool answered;                       /* it has seen before how fast ports answer: in 1,000 us */
};

static inline void put(uint8_t *bytes, unsigned at, unsigned size, uint64_t value)
{
    while (size-- > 0) {
        bytes[at + size] = (uint8_t)value;
        value >>= 8;
    }
}

static inline uint64_t get(const uint8_t *bytes, unsigned at, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value = value << 8 | bytes[at + i];
    return value;
}

/* A bare frame: header and Data_Field of zeros. */
static inline struct made *frame(struct stream *s, uint8_t r_ctl, uint32_t from, uint32_t to, uint8_t type,
                                 uint32_t f_ctl, uint16_t ox_id, size_t length)
{
    ck_assert_uint_lt(s->count, FRAMES);
    struct made *f = &s->frame[s->count++];
    memset(f, 0, sizeof *f);
    f->length = 24 + length;
    f->time = 1000 * s->count;
    f->sof = s->sof_i;
    f->eof = f_ctl & END ? FCVI_EOF_T : FCVI_EOF_N;
    f->crc = FCVI_CRC_OK;
    put(f->bytes, AT_R_CTL, 1, r_ctl);
    put(f->bytes, 1, 3, to);
    put(f->bytes, 5, 3, from);
    put(f->bytes, 8, 1, type);
    put(f->bytes, AT_F_CTL, 3, f_ctl);
    put(f->bytes, AT_OX_ID, 2, ox_id);
    put(f->bytes, AT_RX_ID, 2, 0xFFFF);
    return f;
}

/* An FC-VI frame with a Device_Header of 16 or 32 bytes. */
/* PLOGI (03h), LOGO (05h), or the LS_ACC (02h) to one. */
static inline struct made *login_els(struct stream *s, uint8_t command, uint32_t from, uint32_t to,
                                     bool reply, uint16_t ox_id)
{
    struct made *f = frame(s, reply ? 0x23 : 0x22, from, to, 0x01,
                           reply ? CONTEXT | LAST | END : FIRST | END | INITIATIVE, ox_id, 116);
    f->bytes[24] = command;
    put(f->bytes, 24 + 4 + 4, 4, 0x80020000); /* C and S */
    return f;
}

static inline struct made *iu(struct stream *s, uint8_t opcode, uint8_t r_ctl, uint32_t from, uint32_t to,
                              uint32_t f_ctl, uint16_t ox_id, uint32_t handle, size_t payload)
{
    unsigned header = opcode == 0x08 || opcode == 0x09 ? 16 : 32;
    struct made *f = frame(s, r_ctl, from, to, 0x58, f_ctl, ox_id, header + payload);
    put(f->bytes, AT_SEQ_ID, 1, s->count);
    put(f->bytes, 13, 1, header == 16 ? 1 : 2);
    put(f->bytes, AT_HANDLE, 4, handle);
    put(f->bytes, AT_OPCODE, 1, opcode);
    return f;
}

static inline void counts(struct made *f, uint16_t cnt, uint32_t offset)
{
    put(f->bytes, AT_SEQ_CNT, 2, cnt);
    put(f->bytes, AT_PARAMETER, 4, offset);
}

static inline void message(struct made *f, uint32_t id, uint32_t total)
{
    put(f->bytes, AT_MSG_ID, 4, id);
    if (f->length >= AT_PAYLOAD)
        put(f->bytes, AT_WORD_7, 4, total);
}

static inline void region(struct made *f, uint64_t va, uint32_t handle)
{
    put(f->bytes, AT_VA, 8, va);
    put(f->bytes, AT_VA_HANDLE, 4, handle);
}

/* Table 13 and 14: revision, handle, two addresses with 16-byte Discriminators, attributes. */
static inline void connect_payload(struct made *f, uint32_t handle, uint8_t level)
{
    uint8_t *p = f->bytes + AT_PAYLOAD;
    put(p, 6, 2, 1);
    put(p, 8, 4, handle);
    for (unsigned at = 12; at <= 160; at += 148) {
        p[at + 2] = 16;
        p[at + 3] = 16;
    }
    p[308 + 2] = level;
    p[308 + 3] = 3; /* Table 17: enabled for RDMA Write and Read */
    put(p, 308 + 4, 4, 65536);
}

/* A Client-Server setup of A with B in its own Exchange. */
static inline void setup(struct stream *s, uint16_t ox_id, uint32_t id, uint32_t ha, uint32_t hb,
                         uint8_t level)
{
    struct made *f = iu(s, 0x10, 0x02, A, B, FIRST | END | INITIATIVE | OFFSET, ox_id, 0xFFFFFFFF, 340);
    put(f->bytes, AT_FLAGS, 1, 1);
    put(f->bytes, AT_WORD_7, 4, id);
    connect_payload(f, ha, level);
    f = iu(s, 0x18, 0x03, B, A, CONTEXT | END | INITIATIVE | OFFSET, ox_id, 0xFFFFFFFF, 340);
    put(f->bytes, AT_RX_ID, 2, 0x8001);
    put(f->bytes, AT_WORD_7, 4, id);
    connect_payload(f, hb, level);
    f = iu(s, 0x19, 0x03, A, B, END | INITIATIVE, ox_id, hb, 0);
    put(f->bytes, AT_RX_ID, 2, 0x8001);
    put(f->bytes, AT_WORD_7, 4, id);
    counts(f, 1, 0);
    f = iu(s, 0x1A, 0x03, B, A, CONTEXT | LAST | END, ox_id, ha, 0);
    put(f->bytes, AT_RX_ID, 2, 0x8001);
    put(f->bytes, AT_WORD_7, 4, id);
    counts(f, 1, 0);
}

static inline struct made *send_one(struct stream *s, uint32_t from, uint16_t ox_id, uint32_t handle,
                                    uint32_t id, uint32_t f_ctl)
{
    struct made *f =
        iu(s, 0x00, 0x01, from, from == A ? B : A, FIRST | END | OFFSET | f_ctl, ox_id, handle, 8);
    message(f, id, 8);
    return f;
}

static inline struct made *disconnect(struct stream *s, uint32_t from, uint16_t ox_id, uint32_t handle,
                                      bool response)
{
    struct made *f = iu(s, response ? 0x1B : 0x12, response ? 0x03 : 0x02, from, from == A ? B : A,
                        response ? CONTEXT | LAST | END : FIRST | END | INITIATIVE, ox_id, handle, 0);
    put(f->bytes, AT_FLAGS, 1, 2);
    return f;
}

/* ---- what the monitor says ---- */

struct verdict {
    struct fcvi_monitor_finding list[16];
    struct fcvi_monitor_findings found;
    struct fcvi_monitor *monitor;
};

enum { ANSWERED = 4 }; /* frames that show how fast ports answer */

/* ADISC and its LS_ACC, twice, between other ports. */
static inline void show_answers(struct fcvi_monitor *monitor)
{
    for (unsigned i = 0; i < ANSWERED; i++) {
        uint8_t bytes[24 + 28] = {i % 2 ? 0x23 : 0x22};
        put(bytes, 1, 3, i % 2 ? C : C + 1);
        put(bytes, 5, 3, i % 2 ? C + 1 : C);
        put(bytes, 8, 1, 1);
        put(bytes, AT_F_CTL, 3, FIRST | END | (i % 2 ? CONTEXT | LAST : INITIATIVE));
        put(bytes, 24, 1, i % 2 ? 0x02 : 0x52);
        struct fcvi_input in = {bytes, sizeof bytes, FCVI_SOF_I3, FCVI_EOF_T, FCVI_CRC_OK};
        struct fcvi_frame view;
        fcvi_decode(&in, &view, NULL);
        struct fcvi_monitor_frame shown = {&view, i + 1, 1000 * (i % 2), 0, false};
        fcvi_monitor_frame(monitor, &shown, NULL);
    }
}

static inline void judge(struct verdict *v, const struct stream *s, const struct fcvi_monitor_config *config)
{
    size_t size = fcvi_monitor_size(&config->limits);
    v->monitor = fcvi_monitor_init(malloc(size), size, config);
    ck_assert_ptr_nonnull(v->monitor);
    if (s->name_a != 0) {
        fcvi_monitor_name(v->monitor, 0, A, B, s->name_a);
        fcvi_monitor_name(v->monitor, 0, B, A, s->name_b);
    }
    v->found = (struct fcvi_monitor_findings){v->list, 16, 0};
    unsigned before = s->answered ? ANSWERED : 0;
    if (s->answered)
        show_answers(v->monitor);
    for (unsigned i = 0; i < s->count; i++) {
        const struct made *m = &s->frame[i];
        struct fcvi_input in = {m->bytes, m->length, m->sof, m->eof, m->crc};
        struct fcvi_frame view;
        struct fcvi_finding list[8];
        struct fcvi_findings codec = {list, 8, 0, 0};
        fcvi_decode(&in, &view, &codec);
        struct fcvi_monitor_frame shown = {&view, before + i + 1, m->time, m->network,
                                           codec.worst > 1 + FCVI_NOTICE};
        fcvi_monitor_frame(v->monitor, &shown, &v->found);
    }
    for (unsigned i = 0; i < v->found.count && i < 16; i++) {
        v->list[i].frame -= before;
        v->list[i].other -= v->list[i].other != 0 ? before : 0;
    }
}

/* A finding says who sent the frame, and what stands in it where it points. */
static inline void check_place(const struct stream *s, const struct fcvi_monitor_finding *f)
{
    const struct made *m = &s->frame[f->frame - 1];
    const struct fcvi_finding *w = &f->what;
    ck_assert_uint_eq(f->sender, get(m->bytes, 5, 3));
    ck_assert_msg(f->other < f->frame, "%s: frame %llu contradicts %llu", w->requirement,
                  (unsigned long long)f->frame, (unsigned long long)f->other);
    if (w->size == 0) {
        ck_assert_str_eq(w->field, "SOF");
        ck_assert_uint_eq(w->seen, m->sof);
    } else if (strcmp(w->field, "Data_Field") == 0) {
        ck_assert_uint_eq(w->byte, 24);
        ck_assert_uint_eq(w->seen, m->length - 24);
    } else {
        ck_assert_uint_le(w->byte + w->size, m->length);
        uint64_t there = get(m->bytes, w->byte, w->size) >> w->lo;
        if (w->hi - w->lo < 63)
            there &= (UINT64_C(1) << (w->hi - w->lo + 1)) - 1;
        ck_assert_msg(w->seen == there, "%s: %s is said to be %llx, but bytes %u to %u hold %llx",
                      w->requirement, w->field, (unsigned long long)w->seen, w->byte, w->byte + w->size - 1,
                      (unsigned long long)there);
    }
}

static inline void free_verdict(struct verdict *v)
{
    free(v->monitor);
}

/* The stream breaks exactly this rule, in this frame (counted from 1); NULL: none. */
static inline void expect(const struct stream *s, uint8_t trust, const char *requirement, unsigned number,
                          const char *what)
{
    struct verdict v;
    struct fcvi_monitor_config config = {.limits = s->room, .trust = trust, .r_a_tov_us = s->r_a_tov_us};
    judge(&v, s, &config);
    const struct fcvi_monitor_finding *f = &v.list[0];
    for (unsigned i = 0; i < v.found.count && i < 16; i++)
        check_place(s, &v.list[i]);
    if (requirement == NULL)
        ck_assert_msg(v.found.count == 0, "%s, trust %u: %s in frame %llu: %s", what, trust,
                      f->what.requirement, (unsigned long long)f->frame, f->what.message);
    else {
        ck_assert_msg(v.found.count >= 1, "%s, trust %u: nothing found, not %s", what, trust, requirement);
        ck_assert_msg(v.found.count == 1, "%s, trust %u: %u findings, %s in frame %llu and %s in frame %llu",
                      what, trust, (unsigned)v.found.count, f->what.requirement, (unsigned long long)f->frame,
                      v.list[1].what.requirement, (unsigned long long)v.list[1].frame);
        ck_assert_msg(strcmp(f->what.requirement, requirement) == 0 && f->frame == number,
                      "%s, trust %u: %s in frame %llu, not %s in %u: %s", what, trust, f->what.requirement,
                      (unsigned long long)f->frame, requirement, number, f->what.message);
    }
    free_verdict(&v);
}

static inline void remove_frame(struct stream *s, unsigned number)
{
    memmove(&s->frame[number - 1], &s->frame[number], (s->count - number) * sizeof s->frame[0]);
    s->count--;
}

static inline void insert_copy(struct stream *s, unsigned number, unsigned before)
{
    struct made copy = s->frame[number - 1];
    ck_assert_uint_lt(s->count, FRAMES);
    memmove(&s->frame[before], &s->frame[before - 1], (s->count - (before - 1)) * sizeof s->frame[0]);
    s->frame[before - 1] = copy;
    s->count++;
}

enum { WHOLE = FCVI_TRUST_ALL | FCVI_TRUST_START | FCVI_TRUST_ORDER | FCVI_TRUST_ONCE };

#endif
