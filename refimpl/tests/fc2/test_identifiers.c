/* SEQ_IDs and OX_IDs when nearly all are in use, and the end of Exchanges that are many (4.1, 5.4, 5.5, 8.4.2
 * a, E82). */
#include "many.h"

enum { NONE_OPEN = RIG_FRAMES };

static bool open_id(const struct many *m, const unsigned *nth, unsigned count, uint32_t id)
{
    for (unsigned k = 0; k < count; k++)
        if (nth[k] != NONE_OPEN && rig_field(m->r, nth[k], 12, 1) == id)
            return true;
    return false;
}

/* Class 2, where nothing is aborted for want of an ACK and there is room for all. */
static struct many class_2(void)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.service_class = 2;
    r->config.e_d_tov_us = 1000 * (uint64_t)W_R_A_TOV;
    r->limits.exchanges = 400;
    r->limits.descriptors = 300;
    r->attributes.pipeline_depth = 400;
    return begin(r);
}

/* Class 2: 255 Sequences are open (4.1). What needs another waits; frames that are no Messages do not, and no
 * SEQ_ID is used twice (5.5). */
START_TEST(sequence_ids_run_out)
{
    struct many m = class_2();
    struct rig *r = m.r;
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

/* 5.5: all SEQ_IDs but one are in use. Each Sequence is closed in its turn, and the SEQ_ID of the next is
 * none of those that are still open. */
START_TEST(sequence_ids_come_round)
{
    enum { OPEN = 255 };
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.service_class = 2;
    r->config.e_d_tov_us = 1000 * (uint64_t)W_R_A_TOV;
    r->limits.exchanges = 400;
    r->limits.descriptors = 300;
    r->limits.events = 1024;
    r->attributes.pipeline_depth = 400;
    struct many m = begin(r);
    unsigned open[OPEN];
    for (unsigned k = 0; k < OPEN; k++)
        post(&m, 0, FCVI_SEND, 4);
    w_quiet(&r->w);
    for (unsigned k = 0; k < OPEN; k++)
        open[k] = r->seen++;
    for (unsigned k = 0; k < 2 * OPEN; k++) {
        struct fcvi_completion c;
        acknowledge(&m, open[k % OPEN]);
        ck_assert_int_eq(fcvi_vip_done(r->w.port[0], r->w.now, m.vi[0], false, &c), VIP_SUCCESS);
        post(&m, 0, FCVI_SEND, 4);
        w_quiet(&r->w);
        open[k % OPEN] = NONE_OPEN;
        ck_assert(!open_id(&m, open, OPEN, rig_field(r, r->seen, 12, 1)));
        open[k % OPEN] = r->seen++;
    }
    w_free(&r->w); /* not rig_end: hundreds of ABTS */
}
END_TEST

/* 5.5: FCVI_READ_RQST is acknowledged, so its SEQ_ID may be used again, though the data have not come. */
START_TEST(reads_keep_no_sequence_id)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.service_class = 2;
    r->limits.exchanges = r->limits.descriptors = 400;
    r->limits.events = 1024;
    r->attributes.pipeline_depth = 400;
    struct many m = begin(r);
    for (unsigned k = 0; k < 300; k++) {
        post(&m, 0, FCVI_RDMA_READ, 4);
        w_quiet(&r->w);
        acknowledge(&m, r->seen++);
        rig_silent(r);
    }
    post(&m, 1, FCVI_SEND, 4);
    w_quiet(&r->w);
    ck_assert_uint_eq(from(&m, r->seen++), 1);
    w_free(&r->w); /* not rig_end: hundreds of ABTS */
}
END_TEST

/* 4.1: 255 Sequences are open. Two VIs have a FCVI_READ_RESP to send, of _i bytes, and wait for a SEQ_ID. */
START_TEST(responses_wait_for_a_sequence_id)
{
    struct many m = class_2();
    struct rig *r = m.r;
    for (unsigned k = 0; k < 255; k++)
        post(&m, 0, FCVI_SEND, 4);
    w_quiet(&r->w);
    unsigned open = r->seen;
    r->seen += 255;
    for (unsigned vi = 1; vi < 3; vi++) {
        rig_hear(r,
                 "06 010100 00 010200 58 290000 07 02 0000 %04x ffff 00000000 "
                 "%08x 02 00 0000 00000001 00000000 0000000000010000 %08x %08x",
                 0x700 + vi, m.handle[vi], r->region, _i);
        ck_assert_uint_eq(rig_field(r, r->seen++, 0, 1), 0xC0);
        rig_silent(r);
    }
    unsigned gone[VIS] = {0};
    for (unsigned k = 0; k < 2; k++) {
        acknowledge(&m, open + k);
        ck_assert_uint_eq(rig_field(r, r->seen, 28, 1), OP_READ_RESP);
        gone[from(&m, r->seen++)]++;
        rig_silent(r);
    }
    ck_assert(gone[1] == 1 && gone[2] == 1);
    rig_end(r);
}
END_TEST

/* Four of the eight bytes of an RDMA Write: Message `id` of VI 0. */
static void half(struct many *m, uint32_t id, bool second)
{
    rig_hear(m->r,
             "01 010100 00 010200 58 %06x 07 02 %04x %04x ffff %08x %08x 01 00 0000 %08x 00000000 "
             "0000000000010000 %08x 00000008 11223344",
             second ? 0x290008 : 0x200008, second, 0x700 + id, 4 * second, m->handle[0], id, m->r->region);
}

/* 5.4: the RX_ID of a FCVI_DISCONNECT_RESP is not that of a Message which is still open. */
START_TEST(rx_ids_differ)
{
    struct rig *r = rig_new(FCVI_RELIABLE_RECEPTION);
    r->config.seed = 1 << 15; /* RX_IDs begin in the middle of all */
    r->config.out_of_order = true;
    struct many m = begin(r);
    for (uint32_t id = 1; id <= 3; id++)
        half(&m, id, false);
    rig_hear(r, "02 010100 00 010200 58 290000 07 02 0000 0888 ffff 00000000 %08x 12 02 0000 00*8 00*16",
             m.handle[1]);
    ck_assert_uint_eq(rig_field(r, r->seen, 28, 1), 0x1b);
    uint32_t rx_id = rig_field(r, r->seen++, 18, 2);
    for (uint32_t id = 1; id <= 3; id++) {
        half(&m, id, true);
        ck_assert_uint_eq(rig_field(r, r->seen, 28, 1), OP_WRITE_RESP);
        ck_assert_uint_ne(rig_field(r, r->seen++, 18, 2), rx_id);
    }
    rig_silent(r);
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

/* 8.4.2 a, 8.6: a Disconnect with 300 Messages open. Each Exchange has its ABTS, and the frames that the port
 * has no room for at first do not take the place of FCVI_DISCONNECT_RQST. _i: the host does not ask for them
 * in time */
START_TEST(many_aborts)
{
    enum { READS = 300 };
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->limits.exchanges = r->limits.descriptors = READS + 40;
    r->limits.events = 1024;
    r->attributes.pipeline_depth = READS;
    struct many m = begin(r);
    for (unsigned k = 0; k < READS; k++)
        post(&m, 0, FCVI_RDMA_READ, 4);
    w_quiet(&r->w);
    unsigned first = r->seen, aborted = 0, requests = 0;
    r->seen = r->sent;
    ck_assert_int_eq(fcvi_vip_disconnect(r->w.port[0], r->w.now, m.vi[0], 7), FCVI_VIP_PENDING);
    for (unsigned k = 0; k < 3 && _i == 1; k++)
        fcvi_port_run(r->w.port[0], r->w.now += W_R_A_TOV);
    struct fcvi_port_counts c;
    fcvi_port_count(r->w.port[0], &c);
    w_quiet(&r->w);
    if (_i ==
        1) /* no ABTS for those that were given up; that of the second Disconnect found no room before */
        ck_assert_uint_eq(r->sent - r->seen, c.frames + 1);
    bool abts[READS] = {0};
    for (; r->seen < r->sent; r->seen++) {
        bool is_abts = r->frame[r->seen][0] == 0x81;
        requests += r->frame[r->seen][0] == 0x02;
        for (unsigned k = 0; is_abts && k < READS; k++)
            if (rig_ox(r, first + k) == rig_ox(r, r->seen)) {
                ck_assert(!abts[k]);
                abts[k] = true;
                aborted++;
            }
    }
    ck_assert_uint_eq(requests, _i == 0 ? 1 : 2); /* E59 */
    if (_i == 0)
        ck_assert_uint_eq(aborted, READS);
    else
        ck_assert_uint_lt(aborted, READS); /* the rest was given up: E82 */
    w_run(&r->w, W_R_A_TOV);
    w_run(&r->w, W_R_A_TOV);
    ck_assert_int_eq(w_return(&r->w, 0, 7)->vip, VIP_NOT_REACHABLE);
    rig_end(r);
}
END_TEST

/* Exchanges that are open are found among many that come and go. */
START_TEST(open_among_many)
{
    enum { READS = 6 };
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->limits.exchanges = 16;
    struct many m = begin(r);
    struct fcvi_completion c;
    for (unsigned k = 0; k < READS; k++)
        post(&m, 0, FCVI_RDMA_READ, 0);
    w_quiet(&r->w);
    unsigned first = r->seen, sent = r->sent;
    for (unsigned k = 0; k < 1000; k++) {
        post(&m, 1, FCVI_SEND, 0);
        w_quiet(&r->w);
        ck_assert_uint_eq(r->sent, sent + 1);
        r->sent = sent;
        r->w.events[0] = 0;
        ck_assert_int_eq(fcvi_vip_done(r->w.port[0], r->w.now, m.vi[1], false, &c), VIP_SUCCESS);
    }
    for (unsigned k = 0; k < READS; k++) {
        answer_read(&m, first + k);
        w_done(&r->w, 0, m.vi[0], false, FCVI_STATUS_OP_RDMA_READ, 0);
    }
    r->seen = r->sent;
    rig_end(r);
}
END_TEST

/* The OX_ID that has rested longest: the next free one after the last. FFFFh is none (FC-FS). */
static uint32_t next_free(const bool *open, uint32_t last)
{
    do
        last = (last + 1) % 0xFFFF;
    while (open[last]);
    return last;
}

/* More than 65536 Messages while thousands of RDMA Reads are open: no OX_ID is in use twice (5.4), and each
 * rests as long as can be (E82). */
START_TEST(ox_ids_come_round)
{
    enum { READS = 4300 };
    static bool open[0x10000];
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.seed = 39759; /* the first is 8187 */
    r->limits.exchanges = READS + 400;
    r->limits.descriptors = READS;
    r->limits.entries = READS + 400;
    r->limits.events = READS + 400;
    r->attributes.pipeline_depth = READS;
    struct many m = begin(r);
    memset(open, 0, sizeof open);
    uint32_t last = 0;
    for (unsigned k = 0; k < READS; k++) {
        post(&m, 0, FCVI_RDMA_READ, 0);
        r->sent = 0;
        w_quiet(&r->w);
        ck_assert(k == 0 || rig_ox(r, 0) == next_free(open, last));
        last = rig_ox(r, 0);
        open[last] = true;
        ck_assert(k > 0 || last == 8187);
        if (last == 8188 || last == 12298 ||
            last == 12308) { /* gaps before and behind 4,096 that are in use */
            answer_read(&m, 0);
            open[last] = false;
        }
    }
    for (uint32_t k = 0; k < 0x10000; k++) {
        struct fcvi_completion c;
        post(&m, 1, FCVI_SEND, 0);
        r->sent = r->w.events[0] = 0;
        w_quiet(&r->w);
        uint32_t ox_id = rig_ox(r, 0);
        ck_assert_uint_eq(ox_id, next_free(open, last));
        ck_assert_int_eq(fcvi_vip_done(r->w.port[0], r->w.now, m.vi[1], false, &c), VIP_SUCCESS);
        last = ox_id;
    }
    w_free(&r->w); /* not rig_end: thousands of ABTS */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("identifiers");
    rig_case(s, "5.5", sequence_ids_run_out, 0, 1);
    rig_case(s, "5.5", sequence_ids_come_round, 0, 1);
    rig_case(s, "5.5", sequence_is_recovered, 0, 2);
    rig_case(s, "5.5", reads_keep_no_sequence_id, 0, 1);
    rig_case(s, "4.1", responses_wait_for_a_sequence_id, 0, 2);
    rig_case(s, "5.4", rx_ids_differ, 0, 1);
    rig_case(s, "8.4.2", many_aborts, 0, 2);
    rig_case(s, "5.4", open_among_many, 0, 1);
    rig_case(s, "5.4", ox_ids_come_round, 0, 1);
    return rig_run(s);
}
