/* SEQ_IDs and OX_IDs when nearly all are in use, and the end of Exchanges that are many (4.1, 5.4, 5.5, 8.4.2
 * a, E82). */
#include "many.h"

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
    w_quiet(&r->w);
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
    ck_assert_uint_eq(requests, 1);
    if (_i == 0)
        ck_assert_uint_eq(aborted, READS);
    else
        ck_assert_uint_lt(aborted, READS); /* the rest was given up: E82 */
    w_run(&r->w, W_R_A_TOV);
    ck_assert_int_eq(w_return(&r->w, 0, 7)->vip, VIP_NOT_REACHABLE);
    rig_end(r);
}
END_TEST

/* More than 65536 Messages while thousands of RDMA Reads are open: no OX_ID is in use twice (5.4). */
START_TEST(ox_ids_come_round)
{
    enum { READS = 4300 };
    static bool open[0x10000];
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->limits.exchanges = READS + 400;
    r->limits.descriptors = READS;
    r->limits.entries = READS + 400;
    r->limits.events = READS + 400;
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
    w_free(&r->w); /* not rig_end: thousands of ABTS */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("identifiers");
    rig_case(s, "5.5", sequence_ids_run_out, 0, 1);
    rig_case(s, "5.5", sequence_is_recovered, 0, 2);
    rig_case(s, "8.4.2", many_aborts, 0, 2);
    rig_case(s, "5.4", ox_ids_come_round, 0, 1);
    return rig_run(s);
}
