/* Frames of every kind of nonsense: the Fabric carries or discards them, counts each, and what it answers is
 * well formed itself. */
#include "fabric_bench.h"

enum { FRAMES = 3000 };

static uint64_t state;

static uint32_t roll(uint32_t below)
{
    state += 0x9E3779B97F4A7C15u; /* SplitMix64 */
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ z >> 31) % below);
}

/* Mostly a request to a service, with some bytes of it wrong. */
static size_t nonsense(uint8_t *frame)
{
    static const char *const requests[] = {
        "22 fffffe 00 000000 01 290000 00 00 0000 1000 ffff 00000000 04000000 00*112",
        "22 fffffc 00 010100 01 290000 00 00 0000 1000 ffff 00000000 03000000 00*4 00000840 00*104",
        "22 fffffe 00 010100 01 290000 00 00 0000 1000 ffff 00000000 05000000 00*12",
        "02 fffffc 00 010100 20 290000 00 00 0000 1000 ffff 00000000 01000000 fc020000 01b1 0000 00000000 "
        "fe800000 00*11 b2",
        "02 fffffc 00 010100 20 290000 00 00 0000 1000 ffff 00000000 01000000 fc020000 021b 0000 00000000 "
        "00 010200 fe800000 00*11 d4",
        "81 fffffc 00 010100 00 090000 05 00 0000 1234 ffff 00000000",
        "01 010200 00 010100 58 38000a 07 02 0000 1234 ffff 00000000 0000abcd 00 00 0000 00*32",
        "01 ffffff 00 010100 58 38000a 07 02 0000 1234 ffff 00000000 0000abcd 00 00 0000 00*32",
        "c0 fffffe 00 010100 00 e90000 11 00 0000 1234 8001 00000001",
    };
    size_t length = from_hex(requests[roll(9)], frame);
    for (uint32_t count = roll(4); count > 0; count--)
        frame[roll((uint32_t)length)] = (uint8_t)roll(256);
    if (roll(4) == 0) /* another DF_CTL: optional headers that may not be there */
        frame[13] = (uint8_t)roll(256);
    if (roll(4) == 0)
        length = roll((uint32_t)length + 1);
    else if (roll(8) == 0)
        length += 4 * roll(64);
    return length;
}

/* What the Fabric itself sends breaks no rule that the decoder knows. */
static void delivered(void *context, uint64_t now, uint32_t from, uint32_t to, const struct fcvi_input *in)
{
    struct fcvi_finding list[8];
    struct fcvi_findings findings = {list, 8, 0, 0};
    struct fcvi_frame view;
    (void)now;
    if (from != FCVI_FABRIC_ITSELF)
        return;
    ++*(unsigned *)context;
    fcvi_decode(in, &view, &findings);
    if (findings.worst > 1 + FCVI_NOTICE || view.kind == FCVI_KIND_MALFORMED || to > 2)
        ck_abort_msg("to %u: %s %s", to, list[0].requirement, list[0].message);
}

/* _i: topology, kind of Fabric, seed */
START_TEST(whatever_comes)
{
    static const uint8_t sofs[] = {FCVI_SOF_I2, FCVI_SOF_N2, FCVI_SOF_I3, FCVI_SOF_N3, FCVI_SOF_NONE, 0xFF};
    static const uint8_t eofs[] = {FCVI_EOF_N, FCVI_EOF_T, FCVI_EOF_NI, FCVI_EOF_A, FCVI_EOF_NONE, 0};
    struct fcvi_fabric_config c = n_config();
    c.topology = (uint8_t)(_i % 4);
    c.out_of_order = _i / 4 % 2;
    c.jitter_us = 100;
    c.seed = state = (uint64_t)_i;
    struct net *n = n_empty(&n_limits, &c);
    unsigned own = 0;
    const struct fcvi_fabric_observer o = {&own, NULL, delivered, NULL};
    for (uint32_t i = 0; i < 3; i++)
        attach(n, n_id[i], (uint8_t)(0xa1 + i));
    for (unsigned i = 0; i < FRAMES; i++) {
        uint8_t frame[FCVI_FABRIC_FRAME] = {0};
        size_t length = nonsense(frame);
        say_bytes(n, roll(4), sofs[roll(6)], eofs[roll(6)], frame, length);
        while (roll(3) != 0 && fcvi_fabric_step(n->f, NULL, 0, FCVI_NEVER, &o))
            n->now = fcvi_fabric_now(n->f);
        if (i % 100 == 0)
            counters(n);
    }
    fcvi_fabric_run(n->f, NULL, 0, FCVI_NEVER, &o);
    ck_assert_uint_eq(counters(n).sent, FRAMES);
    ck_assert_uint_eq(own > 100, c.topology >= FCVI_PUBLIC_LOOP);
    n_end(n);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_nonsense");
    TCase *t = tcase_create("nonsense");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, whatever_comes, 0, 40);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
