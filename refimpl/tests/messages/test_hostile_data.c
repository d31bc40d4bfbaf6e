/* What a hostile or broken port may send on a connection: floods that the host does not keep up with, and
 * Message frames of any content. Nothing but registered memory is touched, what the port says stays right,
 * and in the end it holds nothing (E45). */
#include "../rig.h"

/* The host takes no frames meanwhile. */
static void flood(struct rig *r, const char *format, uint32_t a, unsigned count)
{
    char hex[RIG_HEX];
    uint8_t bytes[W_FRAME];
    for (unsigned k = 0; k < count; k++) {
        snprintf(hex, sizeof hex, format, 0x4000 + k % 0x1000, a, k + 1);
        struct fcvi_input in = {bytes, from_hex(hex, bytes), FCVI_SOF_NONE, FCVI_EOF_NONE, FCVI_CRC_OK};
        fcvi_port_receive(r->w.port[0], r->w.now, &in);
    }
}

static const char abts[] = "81 010100 00 010200 00 090000 07 00 0000 %04x ffff 00000000";

static unsigned answers(struct rig *r, unsigned r_ctl)
{
    unsigned count = 0;
    w_quiet(&r->w);
    for (; r->seen < r->sent; r->seen++)
        count += r->frame[r->seen][0] == r_ctl;
    return count;
}

/* ---- floods: what finds no room is lost as on the wire ---- */

START_TEST(flood_of_abts)
{
    struct rig *r = rig_begin(FCVI_RELIABLE_RECEPTION);
    flood(r, abts, 0, 3000);
    unsigned count = answers(r, 0x84);
    ck_assert(count > 0 && count < 1000);
    rig_hear(r, abts, 0x1234);
    ck_assert_uint_eq(answers(r, 0x84), 1);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* Empty RDMA Writes on Reliable Reception: each is done, and answered while there is room. */
START_TEST(flood_of_messages)
{
    struct rig *r = rig_begin(FCVI_RELIABLE_RECEPTION);
    flood(r,
          "01 010100 00 010200 58 290000 07 02 0000 %04x ffff 00000000 "
          "%08x 01 00 0000 %08x 00*20",
          r->handle, 3000);
    unsigned count = answers(r, 0x07);
    ck_assert(count > 0 && count < 1000);
    rig_message(r, OP_WRITE, 3001, 0, 0, 0);
    ck_assert_uint_eq(answers(r, 0x07), 1);
    rig_alive(r);
    rig_end(r);
}
END_TEST

/* FCVI_DISCONNECT_RQST finds no room: its timer sees to it (8.6.3 a). */
START_TEST(disconnect_in_a_flood)
{
    struct rig *r = rig_begin(FCVI_RELIABLE_DELIVERY);
    flood(r, abts, 0, 3000);
    ck_assert_int_eq(fcvi_vip_disconnect(r->w.port[0], r->w.now, r->vi, 7), FCVI_VIP_PENDING);
    ck_assert_uint_eq(answers(r, 0x02), 0);
    w_run(&r->w, W_R_A_TOV);
    ck_assert_uint_eq(answers(r, 0x02), 1); /* the one that E59 allows */
    w_run(&r->w, W_R_A_TOV);
    ck_assert_int_eq(w_return(&r->w, 0, 7)->vip, VIP_NOT_REACHABLE);
    rig_end(r);
}
END_TEST

/* The ABTS of a setup that has failed finds none: BA_ACC does not come, and the retry follows R_A_TOV later
 * (C rule 3b). */
START_TEST(setup_in_a_flood)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    rig_start(r);
    struct fcvi_address here = w_address(0, 0xDD), there = w_address(1, 0xDD);
    ck_assert_int_eq(fcvi_vip_connect_request(r->w.port[0], r->w.now, r->vi, &here, &there, FCVI_NEVER, 1),
                     FCVI_VIP_PENDING);
    ck_assert_uint_eq(answers(r, 0x02), 1);
    r->w.now += W_R_A_TOV - 1;
    flood(r, abts, 0, 3000);
    fcvi_port_run(r->w.port[0], ++r->w.now);
    ck_assert_uint_eq(w_state(&r->w, 0, r->vi), FCVI_STATE_PENDING_CONNECT_RETRY);
    ck_assert_uint_eq(answers(r, 0x81), 0);
    w_run(&r->w, W_R_A_TOV);
    ck_assert_uint_eq(answers(r, 0x02), 1);
    rig_end(r);
}
END_TEST

/* ---- frames that wait for a port to be validated (7.7.3) ---- */

static unsigned lip_with_a_disconnect(struct rig *r)
{
    r->config.topology = FCVI_PRIVATE_LOOP;
    rig_connect(r);
    ck_assert_int_eq(fcvi_vip_disconnect(r->w.port[0], r->w.now, r->vi, 7), FCVI_VIP_PENDING);
    fcvi_port_link(r->w.port[0], r->w.now, FCVI_LINK_LIP);
    w_quiet(&r->w);
    unsigned adisc = r->seen++;
    ck_assert_uint_eq(rig_field(r, adisc, 24, 1), 0x52); /* it passes FCVI_DISCONNECT_RQST */
    rig_silent(r);
    return adisc;
}

START_TEST(disconnect_waits_for_adisc)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    unsigned adisc = lip_with_a_disconnect(r);
    rig_hear(r, abts, 0x1234); /* what is no FC-VI IU is answered */
    ck_assert_uint_eq(rig_field(r, r->seen++, 0, 1), 0x84);
    rig_silent(r);
    rig_hear(r,
             "23 010100 00 010200 01 990000 01 00 0000 %04x ffff 00000000 "
             "02000000 00000000 10000000c9000002 20000000c9000002 00010200",
             rig_ox(r, adisc));
    ck_assert_uint_eq(rig_field(r, r->seen, 28, 1), 0x12);
    rig_hear(r, "03 010100 00 010200 58 980000 06 02 0000 %04x 8001 00000000 00000000 1b 02 0000 00*8 00*16",
             rig_ox(r, r->seen++));
    rig_silent(r);
    ck_assert_int_eq(w_return(&r->w, 0, 7)->vip, VIP_SUCCESS);
    rig_end(r);
}
END_TEST

/* The Disconnect is given up while it waits: its ABTS does not overtake it. */
START_TEST(abts_waits_for_adisc)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    unsigned adisc = lip_with_a_disconnect(r);
    w_run(&r->w, W_R_A_TOV);
    ck_assert_ptr_null(w_return(&r->w, 0, 7));
    rig_silent(r);
    rig_hear(r,
             "23 010100 00 010200 01 990000 01 00 0000 %04x ffff 00000000 "
             "02000000 00000000 10000000c9000002 20000000c9000002 00010200",
             rig_ox(r, adisc));
    ck_assert_uint_eq(rig_field(r, r->seen, 28, 1), 0x12);
    unsigned ox_id = rig_ox(r, r->seen++);
    ck_assert_uint_eq(rig_field(r, r->seen, 0, 1), 0x81);
    ck_assert_uint_eq(rig_ox(r, r->seen++), ox_id);
    ck_assert_uint_eq(rig_field(r, r->seen, 28, 1), 0x12); /* again, in another Exchange (E59) */
    rig_hear(r, "03 010100 00 010200 58 980000 06 02 0000 %04x 8001 00000000 00000000 1b 02 0000 00*8 00*16",
             rig_ox(r, r->seen++));
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* It is no FC-VI IU: the ABTS of another Exchange, which follows nothing that waits, goes. */
START_TEST(abts_of_another_exchange)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.topology = FCVI_PRIVATE_LOOP;
    rig_connect(r);
    uint32_t other = w_vi(&r->w, 0, &r->attributes);
    rig_serve(r, other, 0xbeef, 0x124);
    rig_post(r, FCVI_RDMA_READ, 4);
    unsigned read = r->seen++;
    fcvi_port_link(r->w.port[0], r->w.now, FCVI_LINK_LIP);
    w_quiet(&r->w);
    unsigned adisc = r->seen++;
    ck_assert_int_eq(fcvi_vip_disconnect(r->w.port[0], r->w.now, other, 7), FCVI_VIP_PENDING);
    w_quiet(&r->w);
    rig_silent(r);
    ck_assert_int_eq(fcvi_vip_disconnect(r->w.port[0], r->w.now, r->vi, 8), FCVI_VIP_PENDING);
    w_quiet(&r->w);
    rig_next(r, "81 010200 00 010100 00 090000 .. 00 0000 %04x .... 00000000", rig_ox(r, read));
    rig_silent(r);
    rig_hear(r,
             "23 010100 00 010200 01 990000 01 00 0000 %04x ffff 00000000 "
             "02000000 00000000 10000000c9000002 20000000c9000002 00010200",
             rig_ox(r, adisc));
    for (unsigned k = 0; k < 2; k++) {
        ck_assert_uint_eq(rig_field(r, r->seen, 28, 1), 0x12);
        rig_hear(r,
                 "03 010100 00 010200 58 980000 06 02 0000 %04x 8001 00000000 00000000 1b 02 0000 00*8 00*16",
                 rig_ox(r, r->seen++));
    }
    rig_silent(r);
    rig_end(r);
}
END_TEST

/* 7.7.1: after a logout no FC-VI IU goes there any more. */
START_TEST(disconnect_dropped_by_logout)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    lip_with_a_disconnect(r);
    rig_hear(
        r, "22 010100 00 010200 01 290000 01 00 0000 0aaa ffff 00000000 05000000 00010200 10000000c9000002");
    w_run(&r->w, W_R_A_TOV);
    for (; r->seen < r->sent; r->seen++)
        ck_assert_uint_ne(r->frame[r->seen][8], FCVI_TYPE);
    ck_assert_int_eq(w_return(&r->w, 0, 7)->vip, VIP_SUCCESS); /* nothing is left to end (E86) */
    rig_end(r);
}
END_TEST

/* ... and the frames before it in the queue stay. */
START_TEST(frames_before_a_dropped_one)
{
    struct rig *r = rig_new(FCVI_RELIABLE_DELIVERY);
    r->config.topology = FCVI_PRIVATE_LOOP;
    rig_connect(r);
    fcvi_port_link(r->w.port[0], r->w.now, FCVI_LINK_LIP);
    flood(r, abts, 0, 1);
    fcvi_vip_disconnect(r->w.port[0], r->w.now, r->vi, 7);
    flood(r, "22 010100 00 010200 01 290000 01 00 0000 %04x ffff 00000000 05000000 00010200 10000000c9000002",
          0, 1);
    w_quiet(&r->w);
    unsigned replies = 0;
    for (; r->seen < r->sent; r->seen++) {
        ck_assert_uint_ne(r->frame[r->seen][8], FCVI_TYPE);
        replies += r->frame[r->seen][0] == 0x84 || r->frame[r->seen][0] == 0x23;
    }
    ck_assert_uint_eq(replies, 2); /* BA_ACC; LS_ACC of LOGO */
    rig_end(r);
}
END_TEST

/* ---- Message frames of any content ---- */

static uint32_t one_of(struct world *w, const uint32_t *values, unsigned count)
{
    return values[w_random(w) % count];
}
#define ONE_OF(w, ...)                                                                                       \
    one_of(w, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void any_frame(struct rig *r, uint32_t target)
{
    struct world *w = &r->w;
    uint8_t bytes[W_FRAME];
    char hex[RIG_HEX];
    uint32_t fill = ONE_OF(w, 0, 0, 0, 1, 2, 3), length = ONE_OF(w, 0, 4, 4, 8, 64, 252);
    uint32_t f_ctl = ONE_OF(w, 0x200000, 0x380000, 0x290000, 0x080000, 0x980000, 0x800000);
    snprintf(
        hex, sizeof hex,
        "%02x 010100 00 010200 58 %06x 07 02 %04x %04x ffff %08x %08x %02x %02x 0000 %08x 00000007 %016llx "
        "%08x %08x",
        ONE_OF(w, 1, 1, 1, 6, 7), f_ctl | ONE_OF(w, 8, 8, 0) | fill, ONE_OF(w, 0, 0, 1, 2, 0xFFFF),
        ONE_OF(w, 0x701, 0x702, 0x703, 0xFFFF), ONE_OF(w, 0, 0, 4, 8, 252, 0xFFFFFFFC), r->handle,
        ONE_OF(w, 0, 0, 1, 1, 2, 8, 9, 10), ONE_OF(w, 0, 0, 1, 0xFF),
        ONE_OF(w, 0, 1, 1, 1, 2, 2, 3, 4, 0x80000000, 0xFFFFFFFF),
        (unsigned long long)(ONE_OF(w, 0, 0, 1, 0xFFFFFFFF) * 0x100000000ull +
                             ONE_OF(w, 0x5000, 0x5000, 0x4FFF, 0x5000 + 255, 0xFFFFFFFF)),
        ONE_OF(w, target, target, r->region, 0, 0xFFFFFFFF), ONE_OF(w, 0, 4, 4, 8, 12, 256, 0xFFFFFFFF));
    size_t n = from_hex(hex, bytes);
    memset(bytes + n, 0xA5, length);
    rig_hear_as(r, bytes, n + length, FCVI_SOF_NONE, FCVI_EOF_NONE);
}

/* _i: level, class, Fabric. A region of 256 bytes between others that nobody may write, and another of the
 * port's that is not enabled for RDMA. The connection is set up again whenever it breaks. */
START_TEST(any_content)
{
    enum { GUARD = 1024, TARGET = 256, CONNECTIONS = 150 };
    static uint8_t memory[GUARD + TARGET + GUARD];
    struct rig *r = rig_new((uint8_t)(1 + _i % 3));
    r->config.service_class = (uint8_t)(2 + _i / 3 % 2);
    r->config.out_of_order = _i / 6;
    r->limits.runs = 4;
    r->limits.held_frames = 3;
    rig_connect(r);
    r->w.random = (uint64_t)_i;
    uint32_t target;
    w_region(&r->w, 0, memory + GUARD, TARGET, 0x5000, &target);
    struct fcvi_region closed = {.ptag = 0};
    fcvi_vip_set_mem(r->w.port[0], r->w.now, r->mem, &closed);
    for (unsigned k = 0; k < CONNECTIONS; k++) {
        for (unsigned slot = 0; slot < 3; slot++, r->slots %= 64)
            rig_receive(r);
        for (unsigned n = 0; n < 40 && w_state(&r->w, 0, r->vi) == FCVI_STATE_CONNECTED; n++) {
            any_frame(r, target);
            if (n % 8 == 7)
                w_run(&r->w, W_R_A_TOV / 2);
            r->sent = r->seen = r->w.events[0] = 0;
        }
        struct fcvi_completion done;
        fcvi_vip_disconnect(r->w.port[0], r->w.now, r->vi, 7);
        w_quiet(&r->w);
        for (unsigned nth = 0, last = r->sent; nth < last; nth++)
            if (r->frame[nth][8] == FCVI_TYPE && r->frame[nth][28] == 0x12)
                rig_hear(r,
                         "03 010100 00 010200 58 980000 06 02 0000 %04x 8001 00000000 00000000 1b 02 0000 "
                         "00*8 00*16",
                         rig_ox(r, nth));
        ck_assert_uint_eq(w_state(&r->w, 0, r->vi), FCVI_STATE_IDLE);
        while (fcvi_vip_done(r->w.port[0], r->w.now, r->vi, true, &done), done.status != 0)
            ck_assert_uint_le(done.length, 256);
        r->handle = rig_serve(r, r->vi, 0xabcd, 0x800 + k);
    }
    for (unsigned k = 0; k < GUARD; k++)
        ck_assert(memory[k] == 0 && memory[GUARD + TARGET + k] == 0);
    for (unsigned k = 0; k < 32768; k++)
        ck_assert_uint_eq(r->bytes[k], 0);
    rig_message(r, OP_WRITE, 1, 4, 0x5000, target); /* it is well */
    ck_assert_uint_eq(memory[GUARD + 3], rig_value(1, 3));
    rig_end(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hostile data");
    rig_case(s, "flood", flood_of_abts, 0, 1);
    rig_case(s, "flood", flood_of_messages, 0, 1);
    rig_case(s, "flood", disconnect_in_a_flood, 0, 1);
    rig_case(s, "flood", setup_in_a_flood, 0, 1);
    rig_case(s, "7.7.3", disconnect_waits_for_adisc, 0, 1);
    rig_case(s, "7.7.3", abts_waits_for_adisc, 0, 1);
    rig_case(s, "7.7.3", abts_of_another_exchange, 0, 1);
    rig_case(s, "7.7.1", disconnect_dropped_by_logout, 0, 1);
    rig_case(s, "7.7.1", frames_before_a_dropped_one, 0, 1);
    rig_case(s, "E45", any_content, 0, 12);
    return rig_run(s);
}
