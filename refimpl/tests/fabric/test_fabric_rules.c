/* Rules: which frames they match, which of these they act on, and what each action does. */
#include "fabric_bench.h"

static uint32_t add(struct net *n, struct fcvi_fabric_rule rule)
{
    uint32_t number = fcvi_fabric_rule_add(n->f, &rule);
    ck_assert_uint_ne(number, FCVI_FABRIC_NONE);
    return number;
}

static struct fcvi_fabric_rule seq_cnt(enum fcvi_fabric_action action, uint32_t value)
{
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(action);
    rule.seq_cnt = value;
    return rule;
}

/* ---- the table of rules ---- */

START_TEST(numbers)
{
    struct net *n = n_new();
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(FCVI_ACT_PASS);
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_uint_eq(add(n, rule), i);
    ck_assert_uint_eq(fcvi_fabric_rule_add(n->f, &rule), FCVI_FABRIC_NONE); /* no room */
    ck_assert(fcvi_fabric_rule_clear(n->f, n->now, 2));
    ck_assert(!fcvi_fabric_rule_clear(n->f, n->now, 2));
    ck_assert(!fcvi_fabric_rule_clear(n->f, n->now, 4));
    ck_assert_uint_eq(fcvi_fabric_release(n->f, n->now, 2), 0);
    ck_assert_uint_eq(fcvi_fabric_release(n->f, n->now, FCVI_FABRIC_NONE), 0);
    ck_assert_uint_eq(fcvi_fabric_hits(n->f, 4), 0);
    say_data(n, 0, 1, 0);
    ck_assert_uint_eq(fcvi_fabric_hits(n->f, 1), 1);
    ck_assert_uint_eq(fcvi_fabric_hits(n->f, 2), 0);
    ck_assert_uint_eq(add(n, rule), 2); /* the lowest that is free, and counted from nothing */
    ck_assert_uint_eq(fcvi_fabric_hits(n->f, 2), 0);
    hear_data(n, 0, 1, 0);
    n_end(n);
}
END_TEST

START_TEST(not_valid)
{
    struct net *n = n_new();
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(FCVI_ACT_F_RJT);
    rule.action++;
    ck_assert_uint_eq(fcvi_fabric_rule_add(n->f, &rule), FCVI_FABRIC_NONE);
    rule = fcvi_fabric_rule_any(FCVI_ACT_F_BSY);
    rule.reason = 0x10; /* four bits in TYPE */
    ck_assert_uint_eq(fcvi_fabric_rule_add(n->f, &rule), FCVI_FABRIC_NONE);
    rule.reason = 0xF;
    ck_assert_uint_eq(add(n, rule), 0);
    rule = fcvi_fabric_rule_any(FCVI_ACT_DELAY);
    rule.delay_us = FCVI_FABRIC_LONGEST + 1;
    ck_assert_uint_eq(fcvi_fabric_rule_add(n->f, &rule), FCVI_FABRIC_NONE);
    rule.delay_us--;
    ck_assert_uint_eq(add(n, rule), 1);
    n_end(n);
}
END_TEST

/* ---- what matches ---- */

static const struct {
    uint32_t from;
    const char *hex;
} frames[] = {
    /* FCVI_SEND_RQST and FCVI_READ_RQST (Tables 1 and 3) */
    {0, "01 010200 00 010100 58 38000a 07 02 0000 1234 ffff 00000000 "
        "0000abcd 00 00 0000 00000001 00000000 0000000000000000 00000000 00000006 112233445566 0000"},
    {0, "06 010200 00 010100 58 290000 07 02 0000 1235 ffff 00000000 "
        "0000abcd 02 00 0000 00000003 00000000 0000000100000200 00000077 00000040"},
    /* not FC-VI, the other way, and to another port; FFFFh is a value, not any */
    {1, "01 010100 00 010200 08 000000 01 00 0007 1234 ffff 00000000 00*32"},
    {0, "01 010300 00 010100 08 000000 01 00 ffff ffff ffff 00000000 00*32"},
    /* FC-VI, but its Device_Header is cut off; and one of 16 bytes (FCVI_SEND_RESP) */
    {0, "01 010200 00 010100 58 380000 07 02 0000 1234 ffff 00000000 0000abcd 00 00 0000"},
    {1, "07 010100 00 010200 58 980000 02 01 0000 1234 8001 00000000 0000beef 08 00 0000 00000001 00000000"},
};
enum { FRAMES = sizeof frames / sizeof *frames };

#define ANY FCVI_FABRIC_ANY
#define BYTE FCVI_FABRIC_ANY_BYTE
static const struct {
    uint32_t from, to;
    uint16_t r_ctl, opcode;
    uint32_t ox_id, seq_cnt;
    unsigned matches; /* bit n: frame n */
} matching[] = {
    {ANY, ANY, BYTE, BYTE, ANY, ANY, 0x3F},
    {0, ANY, BYTE, BYTE, ANY, ANY, 0x1B},
    {2, ANY, BYTE, BYTE, ANY, ANY, 0},
    {ANY, 1, BYTE, BYTE, ANY, ANY, 0x13},
    {ANY, 0, BYTE, BYTE, ANY, ANY, 0x24},
    {FCVI_FABRIC_ITSELF, ANY, BYTE, BYTE, ANY, ANY, 0},
    {ANY, FCVI_FABRIC_ITSELF, BYTE, BYTE, ANY, ANY, 0},
    {ANY, ANY, 0x06, BYTE, ANY, ANY, 0x02},
    {ANY, ANY, 0x01, BYTE, ANY, ANY, 0x1D},
    {ANY, ANY, BYTE, 0x00, ANY, ANY, 0x01},
    {ANY, ANY, BYTE, 0x02, ANY, ANY, 0x02},
    {ANY, ANY, BYTE, 0x08, ANY, ANY, 0x20},
    {ANY, ANY, BYTE, 0x10, ANY, ANY, 0},
    {ANY, ANY, BYTE, BYTE, 0x1234, ANY, 0x35},
    {ANY, ANY, BYTE, BYTE, 0xFFFF, ANY, 0x08},
    {ANY, ANY, BYTE, BYTE, ANY, 0, 0x33},
    {ANY, ANY, BYTE, BYTE, ANY, 0xFFFF, 0x08},
    {ANY, ANY, BYTE, BYTE, ANY, 7, 0x04},
    {0, 1, 0x01, BYTE, 0x1234, 0, 0x11},
    {0, 1, 0x01, 0x00, 0x1234, 0, 0x01},
};
enum { MATCHING = sizeof matching / sizeof *matching };

START_TEST(what_matches)
{
    struct net *n = n_new();
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(FCVI_ACT_DROP);
    rule.from = matching[_i].from;
    rule.to = matching[_i].to;
    rule.r_ctl = matching[_i].r_ctl;
    rule.opcode = matching[_i].opcode;
    rule.ox_id = matching[_i].ox_id;
    rule.seq_cnt = matching[_i].seq_cnt;
    uint32_t number = add(n, rule);
    unsigned matched = 0;
    for (unsigned i = 0; i < FRAMES; i++) {
        say(n, frames[i].from, I3, "%s", frames[i].hex);
        matched |= (unsigned)!arrives(n) << i;
    }
    ck_assert_uint_eq(matched, matching[_i].matches);
    ck_assert_uint_eq(fcvi_fabric_hits(n->f, number), (unsigned)__builtin_popcount(matched));
    n_end(n);
}
END_TEST

/* ---- which of them ---- */

static const struct {
    uint32_t skip, every, count;
    unsigned acts; /* bit n: frame n of 12 */
} choices[] = {
    {0, 0, 0, 0xFFF}, {0, 1, 0, 0xFFF}, {3, 0, 0, 0xFF8},  {0, 2, 0, 0x555},
    {0, 5, 0, 0x421}, {1, 4, 0, 0x222}, {0, 0, 1, 0x001},  {2, 0, 3, 0x01C},
    {2, 3, 2, 0x024}, {12, 0, 0, 0},    {11, 7, 9, 0x800},
};
enum { CHOICES = sizeof choices / sizeof *choices };

START_TEST(which_of_them)
{
    struct net *n = n_new();
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(FCVI_ACT_DROP);
    rule.from = 0;
    rule.skip = choices[_i].skip;
    rule.every = choices[_i].every;
    rule.count = choices[_i].count;
    uint32_t number = add(n, rule);
    unsigned acted = 0;
    for (unsigned i = 0; i < 12; i++) {
        say_data(n, 1, 0, i); /* not counted */
        hear_data(n, 1, 0, i);
        say_data(n, 0, 1, i);
        acted |= (unsigned)!arrives(n) << i;
    }
    ck_assert_uint_eq(acted, choices[_i].acts);
    ck_assert_uint_eq(fcvi_fabric_hits(n->f, number), (unsigned)__builtin_popcount(acted));
    n_end(n);
}
END_TEST

/* PASS counts and asks on; the first that acts decides, and those after it are not asked. */
START_TEST(several_rules)
{
    struct net *n = n_new();
    struct fcvi_fabric_rule pass = fcvi_fabric_rule_any(FCVI_ACT_PASS), drop = pass, bad = pass;
    drop.action = FCVI_ACT_DROP;
    drop.count = 1;
    bad.action = FCVI_ACT_BAD_CRC;
    pass.tag = bad.tag = 7;
    uint32_t a = add(n, pass), b = add(n, drop), c = add(n, bad);
    for (unsigned i = 0; i < 3; i++)
        say_data(n, 0, 1, i);
    for (unsigned i = 1; i < 3; i++) {
        ck_assert(arrives(n));
        ck_assert_uint_eq(fcvi_FC_SEQ_CNT(n->bytes), i);
        ck_assert_int_eq(n->in.crc, FCVI_CRC_BAD);
    }
    ck_assert_uint_eq(fcvi_fabric_hits(n->f, a), 3);
    ck_assert_uint_eq(fcvi_fabric_hits(n->f, b), 1);
    ck_assert_uint_eq(fcvi_fabric_hits(n->f, c), 2);
    ck_assert_uint_eq(fcvi_fabric_tag_hits(n->f, 7), 5);
    ck_assert_uint_eq(fcvi_fabric_tag_hits(n->f, 0), 1);
    ck_assert_uint_eq(fcvi_fabric_tag_hits(n->f, 8), 0);
    fcvi_fabric_rule_clear(n->f, n->now, a);
    ck_assert_uint_eq(fcvi_fabric_tag_hits(n->f, 7), 2);
    n_end(n);
}
END_TEST

/* ---- what is done ---- */

START_TEST(duplicate)
{
    struct net *n = n_new();
    struct fcvi_fabric_rule rule = seq_cnt(FCVI_ACT_DUPLICATE, 1);
    rule.delay_us = 50;
    add(n, rule);
    say_data(n, 0, 1, 1);
    say_data(n, 0, 1, 2);
    hear_data(n, 0, 1, 1);
    ck_assert_uint_eq(n->at, LATENCY);
    hear_data(n, 0, 1, 1);
    ck_assert_uint_eq(n->at, LATENCY + 50);
    hear_data(n, 0, 1, 2); /* in order: not before the second copy */
    ck_assert_uint_eq(n->at, LATENCY + 50);
    ck_assert_uint_eq(counters(n).duplicated, 1);
    n_end(n);
}
END_TEST

START_TEST(delay)
{
    struct fcvi_fabric_config c = n_config();
    c.out_of_order = _i;
    struct net *n = n_begin(&c);
    struct fcvi_fabric_rule rule = seq_cnt(FCVI_ACT_DELAY, 1);
    rule.delay_us = 50;
    add(n, rule);
    say_data(n, 0, 1, 1);
    say_data(n, 0, 1, 2);
    hear_data(n, 0, 1, _i ? 2 : 1);
    hear_data(n, 0, 1, _i ? 1 : 2);
    ck_assert_uint_eq(n->at, LATENCY + 50);
    n_end(n);
}
END_TEST

START_TEST(corrupt)
{
    struct net *n = n_new();
    uint8_t sent[64], bits = 0;
    const char *hex = _i == 0 ? "01 010200 00 010100 08 000000 01 00 0000 1234 ffff 00000000 ff*40"
                              : "c0 010200 00 010100 00 e90000 11 00 0000 1234 8001 00000001";
    size_t length = from_hex(hex, sent);
    add(n, fcvi_fabric_rule_any(FCVI_ACT_CORRUPT));
    for (unsigned i = 0; i < 32; i++) {
        say(n, 0, I3, "%s", hex);
        ck_assert(arrives(n));
        ck_assert_uint_eq(n->in.length, length);
        ck_assert_int_eq(n->in.crc, FCVI_CRC_BAD);
        ck_assert_uint_eq(n->in.eof, FCVI_EOF_T);
        ck_assert_mem_eq(n->bytes, sent, 24);
        int turned = 0;
        for (size_t k = 24; k < length; k++) {
            turned += __builtin_popcount(n->bytes[k] ^ sent[k]);
            bits |= n->bytes[k] ^ sent[k];
        }
        ck_assert_int_eq(turned, _i == 0 ? 1 : 0); /* a Link_Control frame has no Data_Field */
    }
    if (_i == 0)
        ck_assert_uint_eq(bits, 0xFF); /* any of the eight */
    ck_assert_uint_eq(counters(n).corrupted, 32);
    n_end(n);
}
END_TEST

START_TEST(bad_crc_and_eof_ni)
{
    struct net *n = n_new();
    add(n, fcvi_fabric_rule_any(_i ? FCVI_ACT_EOF_NI : FCVI_ACT_BAD_CRC));
    say(n, 0, I3, "%s", frames[0].hex);
    ck_assert(arrives(n));
    same_bytes(n->bytes, n->in.length, frames[0].hex);
    ck_assert_int_eq(n->in.crc, FCVI_CRC_BAD);
    ck_assert_uint_eq(n->in.eof, _i ? FCVI_EOF_NI : FCVI_EOF_T);
    ck_assert_uint_eq(counters(n).corrupted, 1);
    n_end(n);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_rules");
    TCase *t = tcase_create("rules");
    tcase_add_test(t, numbers);
    tcase_add_test(t, not_valid);
    tcase_add_loop_test(t, what_matches, 0, MATCHING);
    tcase_add_loop_test(t, which_of_them, 0, CHOICES);
    tcase_add_test(t, several_rules);
    tcase_add_test(t, duplicate);
    tcase_add_loop_test(t, delay, 0, 2);
    tcase_add_loop_test(t, corrupt, 0, 2);
    tcase_add_loop_test(t, bad_crc_and_eof_ni, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
