/* Many VIs on one port: whose turn it is, and what happens when Exchanges, SEQ_IDs or OX_IDs run out
 * (4.1, 5.4, 5.5, E82). */
#include "rig.h"

enum { VIS = 4, PIECE = 224 };

struct many {
    struct rig *r;
    uint32_t vi[VIS], handle[VIS]; /* the tester's handles are 0000a000h and on */
};

static struct many begin(struct rig *r)
{
    struct many m = {.r = r};
    r->limits.vis = VIS;
    rig_start(r);
    m.vi[0] = r->vi;
    for (unsigned i = 0; i < VIS; i++) {
        if (i > 0)
            m.vi[i] = w_vi(&r->w, 0, &r->attributes);
        m.handle[i] = rig_serve(r, m.vi[i], 0xa000 + i, 0x200 + i);
    }
    return m;
}

/* Not yet: the frames wait until the host asks for them. */
static void post(struct many *m, unsigned i, enum fcvi_op op, uint32_t length)
{
    ck_assert_int_eq(w_post(&m->r->w, 0, m->vi[i], op, m->r->mem, 0, length, 0x7000, 0x77), VIP_SUCCESS);
}

/* Which VI the nth frame is from: its FCVI_HANDLE. */
static unsigned from(const struct many *m, unsigned nth)
{
    ck_assert_uint_eq(rig_field(m->r, nth, 8, 1), FCVI_TYPE);
    return rig_field(m->r, nth, 24, 4) - 0xa000;
}

/* FCVI_READ_RESP of no data to the nth frame. */
static void answer_read(struct many *m, unsigned nth)
{
    rig_hear(m->r,
             "01 010100 00 010200 58 980000 09 02 0000 %04x 8001 00000000 "
             "%08x 0a 00 0000 %08x 00000000 0000000000007000 00000077 00000000",
             rig_ox(m->r, nth), m->handle[from(m, nth)], rig_field(m->r, nth, 32, 4));
}

static void acknowledge(struct many *m, unsigned nth)
{
    rig_hear(m->r, "c0 010100 00 010200 00 c00000 %02x 00 %04x %04x 8001 00000001",
             rig_field(m->r, nth, 12, 1), rig_field(m->r, nth, 14, 2), rig_ox(m->r, nth));
}

/* ---- turns ---- */

/* One Sequence each: nobody goes twice while another waits. */
START_TEST(turns)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.receive_size = 256;
    r->config.iu_size = PIECE;
    struct many m = begin(r);
    static const uint32_t sequences[VIS] = {1, 3, 3, 2};
    unsigned gone[VIS] = {0};
    for (unsigned i = 0; i < VIS; i++)
        post(&m, i, FCVI_SEND, sequences[i] * PIECE);
    w_quiet(&r->w);
    for (unsigned round = 1; round <= 3; round++) {
        unsigned waiting = 0;
        for (unsigned i = 0; i < VIS; i++)
            waiting += sequences[i] >= round;
        for (; waiting > 0; waiting--)
            gone[from(&m, r->seen++)]++;
        for (unsigned i = 0; i < VIS; i++)
            ck_assert_uint_eq(gone[i], round < sequences[i] ? round : sequences[i]);
    }
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* _i: which of them goes away while all have something to send */
START_TEST(vi_goes_away)
{
    struct many m = begin(rig_new(FCVI_RELIABLE_DELIVERY));
    struct rig *r = m.r;
    uint8_t out[W_FRAME], bytes[128];
    struct fcvi_transmitted meta;
    char hex[RIG_HEX];
    for (unsigned i = 0; i < VIS; i++)
        post(&m, i, FCVI_SEND, 4);
    ck_assert_int_eq(fcvi_vip_disconnect(r->w.port[0], r->w.now, m.vi[_i], 7), FCVI_VIP_PENDING);
    ck_assert_uint_gt(fcvi_port_transmit(r->w.port[0], r->w.now, out, sizeof out, &meta), 0);
    ck_assert_uint_eq(out[28], 0x12); /* FCVI_DISCONNECT_RQST goes first */
    snprintf(hex, sizeof hex,
             "03 010100 00 010200 58 980000 06 02 0000 %04x 8001 00000000 00000000 1b 02 0000 00*8 00*16",
             (unsigned)fcvi_load(out + 16, 2));
    struct fcvi_input in = {bytes, from_hex(hex, bytes), FCVI_SOF_I3, FCVI_EOF_T, FCVI_CRC_OK};
    fcvi_port_receive(r->w.port[0], r->w.now, &in);
    struct fcvi_completion c;
    ck_assert_int_eq(fcvi_vip_done(r->w.port[0], r->w.now, m.vi[_i], false, &c), VIP_DESCRIPTOR_ERROR);
    ck_assert_uint_eq(c.status, FCVI_STATUS_DONE | FCVI_STATUS_DESC_FLUSHED_ERROR);
    ck_assert_int_eq(fcvi_vip_destroy_vi(r->w.port[0], r->w.now, m.vi[_i]), VIP_SUCCESS);
    w_quiet(&r->w);
    bool gone[VIS] = {0};
    for (unsigned i = 0; i < VIS - 1; i++)
        gone[from(&m, r->seen++)] = true;
    rig_silent(r);
    for (unsigned i = 0; i < VIS; i++)
        ck_assert_int_eq(gone[i], i != (unsigned)_i);
    rig_end(r);
}
END_TEST

/* 7.7.3: after a LIP nothing is sent to a port that has not been validated. */
START_TEST(port_to_be_validated)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.topology = FCVI_PRIVATE_LOOP;
    struct many m = begin(r);
    fcvi_port_link(r->w.port[0], r->w.now, FCVI_LINK_LIP);
    post(&m, 1, FCVI_SEND, 4);
    w_quiet(&r->w);
    unsigned adisc = r->seen++;
    ck_assert_uint_eq(rig_field(r, adisc, 24, 1), 0x52);
    rig_silent(r);
    rig_hear(r,
             "23 010100 00 010200 01 990000 01 00 0000 %04x ffff 00000000 "
             "02000000 00000000 10000000c9000002 20000000c9000002 00010200",
             rig_ox(r, adisc));
    ck_assert_uint_eq(from(&m, r->seen++), 1);
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* ---- what runs out ---- */

/* All Exchanges are open for RDMA Reads of VI 0; the others wait until one is over. */
START_TEST(exchanges_run_out)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->limits.exchanges = 4;
    struct many m = begin(r);
    unsigned first = r->seen;
    for (unsigned k = 0; k < 4; k++)
        post(&m, 0, FCVI_RDMA_READ, 0);
    w_quiet(&r->w);
    r->seen += 4;
    for (unsigned i = 1; i < VIS; i++)
        post(&m, i, FCVI_SEND, 0);
    w_quiet(&r->w);
    rig_silent(r);
    post(&m, 1, FCVI_SEND, 0); /* it waits already */
    if (_i == 1) {             /* the other side disconnects VI 2, which then goes away */
        rig_hear(r, "02 010100 00 010200 58 290000 09 02 0000 0999 ffff 00000000 %08x 12 02 0000 00*8 00*16",
                 m.handle[2]);
        ck_assert_uint_eq(rig_field(r, r->seen++, 28, 1), 0x1b);
        ck_assert_int_eq(fcvi_vip_disconnect(r->w.port[0], r->w.now, m.vi[2], 7), VIP_ERROR_RESOURCE);
    }
    rig_silent(r);
    answer_read(&m, first);
    unsigned gone[VIS] = {0};
    while (r->seen < r->sent)
        gone[from(&m, r->seen++)]++;
    ck_assert_uint_eq(gone[0], 0);
    ck_assert_uint_eq(gone[1], 2);
    ck_assert_uint_eq(gone[2], _i == 0);
    ck_assert_uint_eq(gone[3], 1);
    rig_end(r);
}
END_TEST

static bool open_id(const struct many *m, const unsigned *nth, unsigned count, uint32_t id)
{
    for (unsigned k = 0; k < count; k++)
        if (rig_field(m->r, nth[k], 12, 1) == id)
            return true;
    return false;
}

/* Class 2: 255 Sequences are open (4.1). What needs another waits; frames that are no Messages do not, and no
 * SEQ_ID is used twice (5.5). */
START_TEST(sequence_ids_run_out)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.service_class = 2;
    r->config.e_d_tov_us = 1000 * (uint64_t)W_R_A_TOV;
    r->limits.exchanges = 400;
    r->limits.descriptors = 300;
    r->limits.setups = 256;
    r->attributes.pipeline_depth = 400;
    struct many m = begin(r);
    unsigned open[255];
    for (unsigned k = 0; k < 255; k++)
        post(&m, 0, FCVI_SEND, 4);
    w_quiet(&r->w);
    for (unsigned k = 0; k < 255; k++) {
        ck_assert(!open_id(&m, open, k, rig_field(r, r->seen, 12, 1)));
        open[k] = r->seen++;
    }
    post(&m, 1, FCVI_SEND, 4);
    w_quiet(&r->w);
    rig_silent(r);
    /* the other side reads from VI 2: the ACK goes out, the data wait */
    rig_hear(r,
             "06 010100 00 010200 58 290000 07 02 0000 0701 ffff 00000000 "
             "%08x 02 00 0000 00000001 00000000 0000000000010000 %08x 00000004",
             m.handle[2], r->region);
    ck_assert_uint_eq(rig_field(r, r->seen++, 0, 1), 0xC0);
    rig_silent(r);
    fcvi_vip_disconnect(r->w.port[0], r->w.now, m.vi[3], 7);
    w_quiet(&r->w);
    ck_assert_uint_eq(rig_field(r, r->seen, 28, 1), 0x12);
    ck_assert(!open_id(&m, open, 255, rig_field(r, r->seen, 12, 1)));
    rig_hear(r, "03 010100 00 010200 58 980000 06 02 0000 %04x 8001 00000000 00000000 1b 02 0000 00*8 00*16",
             rig_ox(r, r->seen++));
    ck_assert_uint_eq(rig_field(r, r->seen++, 0, 1), 0xC0);
    rig_silent(r);
    for (unsigned k = 0; k < 2; k++) {
        acknowledge(&m, open[k]);
        ck_assert_uint_eq(rig_field(r, r->seen, 8, 1), FCVI_TYPE);
        ck_assert(!open_id(&m, open + k + 1, 254 - k, rig_field(r, r->seen, 12, 1)));
        open[k] = r->seen++;
        rig_silent(r);
        if (k == 0)
            ck_assert(!open_id(&m, open + 1, 254, rig_field(r, open[0], 12, 1)));
    }
    ck_assert_uint_ne(rig_field(r, open[0], 12, 1), rig_field(r, open[1], 12, 1));
    ck_assert_uint_eq(from(&m, open[0]) + from(&m, open[1]), 1 + 2);
    rig_end(r);
}
END_TEST

/* 5.5: a SEQ_ID of an aborted Sequence rests until BA_ACC has come. _i: or none for R_A_TOV */
START_TEST(sequence_is_recovered)
{
    struct rig *r = rig_new(FCVI_UNRELIABLE);
    r->config.service_class = 2;
    r->limits.events = 1024;
    struct many m = begin(r);
    post(&m, 0, FCVI_SEND, 4);
    w_quiet(&r->w);
    unsigned nth = r->seen++, used[256] = {0};
    rig_hear(r, "c2 010100 00 010200 00 c00000 00 00 0000 %04x 8001 010d0000", rig_ox(r, nth));
    ck_assert_uint_eq(rig_field(r, r->seen++, 0, 1), 0x81);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned k = 0; k < 300; k++) {
            struct fcvi_completion c;
            post(&m, 1, FCVI_SEND, 4);
            w_quiet(&r->w);
            used[rig_field(r, r->seen, 12, 1)]++;
            acknowledge(&m, r->seen++);
            ck_assert_int_eq(fcvi_vip_done(r->w.port[0], r->w.now, m.vi[1], false, &c), VIP_SUCCESS);
        }
        ck_assert_int_eq(used[rig_field(r, nth, 12, 1)] > 0, round == 1);
        if (_i == 0)
            rig_hear(
                r,
                "84 010100 00 010200 00 990000 00 00 0000 %04x ffff 00000000 0000 0000 %04x ffff 0000 ffff",
                rig_ox(r, nth), rig_ox(r, nth));
        else
            w_run(&r->w, W_R_A_TOV);
        r->seen = r->sent;
    }
    rig_end(r);
}
END_TEST

/* More than 65536 Messages while thousands of RDMA Reads are open: no OX_ID is in use twice (5.4). */
START_TEST(ox_ids_come_round)
{
    enum { READS = 4300 };
    static bool open[0x10000];
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->limits.exchanges = READS + 100;
    r->limits.descriptors = READS;
    r->limits.entries = READS + 100;
    r->limits.events = READS + 100;
    r->attributes.pipeline_depth = READS;
    struct many m = begin(r);
    memset(open, 0, sizeof open);
    for (unsigned k = 0; k < READS; k++) {
        post(&m, 0, FCVI_RDMA_READ, 0);
        r->sent = 0;
        w_quiet(&r->w);
        ck_assert(!open[rig_ox(r, 0)]);
        open[rig_ox(r, 0)] = true;
    }
    unsigned rounds = 0;
    for (uint32_t k = 0, last = 0; rounds < 3; k++) {
        struct fcvi_completion c;
        post(&m, 1, FCVI_SEND, 0);
        r->sent = r->w.events[0] = 0;
        w_quiet(&r->w);
        uint32_t ox_id = rig_ox(r, 0);
        ck_assert(!open[ox_id] && ox_id != 0xFFFF);
        ck_assert_int_eq(fcvi_vip_done(r->w.port[0], r->w.now, m.vi[1], false, &c), VIP_SUCCESS);
        rounds += k > 0 && ox_id < last;
        last = ox_id;
    }
    free(r); /* not rig_end: thousands of ABTS */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("scheduler");
    rig_case(s, "turns", turns, 0, 1);
    rig_case(s, "turns", vi_goes_away, 0, VIS);
    rig_case(s, "7.7.3", port_to_be_validated, 0, 1);
    rig_case(s, "Exchanges", exchanges_run_out, 0, 2);
    rig_case(s, "5.5", sequence_ids_run_out, 0, 1);
    rig_case(s, "5.5", sequence_is_recovered, 0, 2);
    rig_case(s, "5.4", ox_ids_come_round, 0, 1);
    return rig_run(s);
}
