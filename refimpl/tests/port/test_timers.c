/* Timers fire in the order in which they are due, and those that are due at once in the order of their start.
 */
#include "../bench.h"

enum { MANY = 200 };

/* _i: how many different times; 1: all at once */
START_TEST(in_the_order_of_their_times)
{
    static const unsigned times[] = {1, 2, 7, 50, 1000};
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.connectionpoints = MANY;
    struct bench *b = b_begin(&l, &c);
    struct fcvi_event e, before = {0};
    uint32_t random = 1;
    uint64_t timeout[MANY + 1];
    for (uint64_t token = 1; token <= MANY; token++) {
        random = random * 1664525u + 1013904223u;
        timeout[token] = 1000 + (random >> 16) % times[_i];
        b_wait(b, timeout[token], token);
    }
    fcvi_port_run(b->port, 999);
    ck_assert(!fcvi_port_event(b->port, &e));
    ck_assert_uint_ge(fcvi_port_deadline(b->port), 1000);
    fcvi_port_run(b->port, 2000);
    for (unsigned n = 0; n < MANY; n++, before = e) {
        ck_assert(fcvi_port_event(b->port, &e));
        ck_assert_int_eq(e.vip, VIP_TIMEOUT);
        if (n == 0)
            continue;
        ck_assert_uint_ge(timeout[e.token], timeout[before.token]);
        if (timeout[e.token] == timeout[before.token])
            ck_assert_uint_gt(e.token, before.token);
    }
    ck_assert(!fcvi_port_event(b->port, &e));
    b->now = 2000;
    ck_assert_uint_eq(counts(b).timers, 0);
    b_end(b);
}
END_TEST

/* Some are stopped meanwhile: a connect request that is answered takes its timer out of the middle. */
START_TEST(stopped_in_between)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.connectionpoints = MANY;
    struct bench *b = b_begin(&l, &c);
    struct fcvi_event e;
    uint32_t random = 7;
    uint64_t timeout[MANY + 1], last = 0;
    unsigned fired = 0;
    for (uint64_t token = 1; token <= MANY; token++) {
        random = random * 1664525u + 1013904223u;
        timeout[token] = 1000 + (random >> 16) % 500;
        struct fcvi_address local = address(OURS);
        local.discriminator[0] = (uint8_t)token; /* each waits for its own */
        ck_assert_int_eq(fcvi_vip_connect_wait(b->port, 0, &local, timeout[token], token), FCVI_VIP_PENDING);
    }
    uint8_t frame[FRAME];
    size_t n =
        from_hex("02 010200 00 010100 58 290008 05 02 0000 1234 ffff 00000000 ffffffff 10 01 0000 00*20 "
                 "00000042 00000000 0000 0001 00000005 " ADDR_A ADDR_B ATTRS,
                 frame);
    for (unsigned token = 3; token <= MANY; token += 7) {
        frame[17] = frame[55] = frame[67] = (uint8_t)token; /* OX_ID, FCVI_CONNECTION_ID, FCVI_RQST_HANDLE */
        frame[56 + 12 + 148 + 20] = (uint8_t)token;
        hear_bytes(b, frame, n);
        const struct fcvi_event *offered = b_return(b, token);
        ck_assert_ptr_nonnull(offered);
        ck_assert_int_eq(offered->vip, VIP_SUCCESS);
        ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, offered->conn), VIP_SUCCESS);
        collect(b);
    }
    for (uint64_t now = 1000; now < 1500; now++) {
        fcvi_port_run(b->port, now);
        while (fcvi_port_event(b->port, &e)) {
            ck_assert_uint_eq(timeout[e.token], now);
            ck_assert_uint_ne(e.token % 7, 3);
            last = now;
            fired++;
        }
    }
    ck_assert_uint_eq(fired, MANY - 29);
    ck_assert_uint_gt(last, 1000);
    b->now = 1500;
    advance(b, 2 * R_A_TOV);
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("timers");
    TCase *t = tcase_create("one port");
    tcase_add_loop_test(t, in_the_order_of_their_times, 0, 5);
    tcase_add_test(t, stopped_in_between);
    suite_add_tcase(s, t);
    return run_suite(s);
}
