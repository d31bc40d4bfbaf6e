/* The driver: what comes first, how far a run goes, what the observer sees, and ports that the host plays. */
#include "fabric_world.h"

enum { LOG = 64 };

/* What the observer sees, in its order. */
struct log {
    struct {
        char what; /* s(ent), d(elivered), e(vent) */
        uint64_t at;
        uint32_t from, to;
    } entry[LOG];
    unsigned count;
};

static void note(void *context, char what, uint64_t at, uint32_t from, uint32_t to)
{
    struct log *log = context;
    ck_assert_uint_lt(log->count, LOG);
    log->entry[log->count].what = what;
    log->entry[log->count].at = at;
    log->entry[log->count].from = from;
    log->entry[log->count++].to = to;
}

static void sent(void *context, uint64_t now, uint32_t from, const struct fcvi_input *in)
{
    (void)in;
    note(context, 's', now, from, 0);
}

static void delivered(void *context, uint64_t now, uint32_t from, uint32_t to, const struct fcvi_input *in)
{
    ck_assert_uint_ge(in->length, 24);
    note(context, 'd', now, from, to);
}

static void event(void *context, uint64_t now, uint32_t port, const struct fcvi_event *e)
{
    (void)e;
    note(context, 'e', now, port, 0);
}

static void expect(const struct log *log, unsigned nth, char what, uint64_t at, uint32_t from, uint32_t to)
{
    ck_assert_uint_lt(nth, log->count);
    ck_assert_int_eq(log->entry[nth].what, what);
    ck_assert_uint_eq(log->entry[nth].at, at);
    ck_assert_uint_eq(log->entry[nth].from, from);
    ck_assert_uint_eq(log->entry[nth].to, to);
}

/* Two ports that know each other. */
static struct fworld *begin(void)
{
    struct fcvi_fabric_config config = f_config(FCVI_FABRIC);
    struct fworld *w = f_begin(&f_limits, &config);
    for (uint32_t i = 0; i < 2; i++) {
        struct fcvi_port_config c = w_config(i);
        f_add(w, &f_port_limits, &c, c.self.n_port_id, FCVI_PLACE_FABRIC);
    }
    return w;
}

static void wait_until(struct fworld *w, uint32_t port, uint64_t timeout)
{
    struct fcvi_address here = w_address(port, 1);
    ck_assert_int_eq(fcvi_vip_connect_wait(w->port[port], f_now(w), &here, timeout, 1), FCVI_VIP_PENDING);
}

static void request(struct fworld *w, uint32_t from, uint32_t to)
{
    struct fcvi_address here = w_address(from, 1), there = w_address(to, 1);
    uint32_t vi = f_vi(w, from, FCVI_UNRELIABLE);
    ck_assert_int_eq(fcvi_vip_connect_request(w->port[from], f_now(w), vi, &here, &there, FCVI_NEVER, 2),
                     FCVI_VIP_PENDING);
}

/* ---- how far ---- */

START_TEST(nothing_to_do)
{
    struct fworld *w = begin();
    ck_assert_uint_eq(fcvi_fabric_run(w->fabric, w->port, 2, 5000, NULL), 0);
    ck_assert_uint_eq(fcvi_fabric_run(w->fabric, w->port, 0, FCVI_NEVER, NULL), 0);
    ck_assert(!fcvi_fabric_step(w->fabric, w->port, 2, FCVI_NEVER, NULL));
    f_free(w);
}
END_TEST

/* To the time asked for, or to the last thing that happens before it. */
START_TEST(until)
{
    struct fworld *w = begin();
    wait_until(w, 0, 3000);
    ck_assert(!fcvi_fabric_step(w->fabric, w->port, 2, 2999, NULL));
    ck_assert_uint_eq(f_now(w), 0);
    ck_assert_uint_eq(fcvi_fabric_run(w->fabric, w->port, 2, 1000, NULL), 1000);
    ck_assert_uint_eq(f_now(w), 1000);
    ck_assert_uint_eq(fcvi_fabric_run(w->fabric, w->port, 2, 500, NULL), 1000); /* it never goes back */
    ck_assert(fcvi_fabric_step(w->fabric, w->port, 2, 3000, NULL));
    ck_assert_uint_eq(f_now(w), 3000);
    ck_assert_uint_eq(fcvi_fabric_run(w->fabric, w->port, 2, 9000, NULL), 3000);
    f_free(w);
}
END_TEST

/* A frame to the Fabric itself is due as any other. */
START_TEST(frames_to_the_fabric)
{
    struct fcvi_fabric_config config = f_config(FCVI_FABRIC);
    struct fworld *w = f_begin(&f_limits, &config);
    struct fcvi_port_config c = w_config(0);
    c.fabric_login = true;
    f_add(w, &f_port_limits, &c, c.self.n_port_id, FCVI_PLACE_FABRIC);
    fcvi_port_link(w->port[0], 0, FCVI_LINK_UP);
    ck_assert(fcvi_fabric_step(w->fabric, w->port, 1, FCVI_NEVER, NULL));
    ck_assert_uint_eq(f_now(w), 100);
    ck_assert(fcvi_fabric_step(w->fabric, w->port, 1, FCVI_NEVER, NULL));
    ck_assert_uint_eq(f_now(w), 200);
    f_free(w);
}
END_TEST

/* ---- what comes first ---- */

/* Of a frame and another port's timer due at once the frame; of two timers that of the lower number. */
START_TEST(at_the_same_time)
{
    struct fworld *w = begin();
    struct log log = {.count = 0};
    const struct fcvi_fabric_observer o = {&log, NULL, delivered, event};
    struct fcvi_port *const played[] = {w->port[0], w->port[1], NULL};
    struct fcvi_port_identity third = w_identity(2);
    ck_assert_uint_eq(fcvi_fabric_attach(w->fabric, &third, FCVI_PLACE_FABRIC), 2);
    uint8_t frame[24] = {0};
    struct fcvi_transmitted meta = {FCVI_SOF_I3, FCVI_EOF_T};
    fcvi_set_FC_D_ID(frame, third.n_port_id);
    fcvi_fabric_send(w->fabric, 0, 2, frame, sizeof frame, &meta);
    wait_until(w, 1, 100);
    wait_until(w, 0, 100);
    ck_assert_uint_eq(fcvi_fabric_run(w->fabric, played, 3, 1000, &o), 100);
    ck_assert_uint_eq(log.count, 3);
    expect(&log, 0, 'd', 100, 2, 2);
    expect(&log, 1, 'e', 100, 0, 0);
    expect(&log, 2, 'e', 100, 1, 0);
    f_free(w);
}
END_TEST

/* Everything is sent before time goes on, and seen before it arrives. */
START_TEST(order_of_observation)
{
    struct fworld *w = begin();
    struct log log = {.count = 0};
    const struct fcvi_fabric_observer o = {&log, sent, delivered, event};
    wait_until(w, 1, FCVI_NEVER);
    request(w, 0, 1);
    ck_assert_uint_eq(fcvi_fabric_run(w->fabric, w->port, 2, 0, &o), 0);
    expect(&log, 0, 'e', 0, 0, 0); /* Pending Connect */
    expect(&log, 1, 's', 0, 0, 0); /* FCVI_CONNECT_RQST */
    ck_assert_uint_eq(log.count, 2);
    ck_assert_uint_eq(fcvi_fabric_run(w->fabric, w->port, 2, 150, &o), 150);
    expect(&log, 2, 'd', 100, 0, 1);
    expect(&log, 3, 'e', 100, 1, 0); /* VipConnectWait returns */
    ck_assert_uint_eq(log.count, 4);
    f_free(w);
}
END_TEST

/* ---- observers and the host's own ports ---- */

/* Without an observer, or with an empty one, the events stay in the ports. */
START_TEST(no_observer)
{
    const struct fcvi_fabric_observer empty = {NULL, NULL, NULL, NULL};
    struct fworld *w = begin();
    struct fcvi_event e;
    wait_until(w, 0, 10);
    wait_until(w, 1, 20);
    fcvi_fabric_run(w->fabric, w->port, 2, 1000, _i ? &empty : NULL);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert(fcvi_port_event(w->port[i], &e));
        ck_assert_int_eq(e.vip, VIP_TIMEOUT);
    }
    f_free(w);
}
END_TEST

/* A port that the host plays, or one that is not in the list: `delivered` is all that there is of it. */
START_TEST(played_by_the_host)
{
    struct fworld *w = begin();
    struct log log = {.count = 0};
    const struct fcvi_fabric_observer o = {&log, sent, delivered, NULL};
    struct fcvi_port *const played[] = {w->port[0], NULL};
    request(w, 0, 1);
    fcvi_fabric_run(w->fabric, played, _i ? 1 : 2, 5000, &o);
    ck_assert_uint_eq(log.count, 2);
    expect(&log, 0, 's', 0, 0, 0);
    expect(&log, 1, 'd', 100, 0, 1);
    struct fcvi_fabric_counters c;
    fcvi_fabric_count(w->fabric, &c);
    ck_assert_uint_eq(c.delivered, 1);
    f_free(w);
}
END_TEST

/* A port that is not attached sends to nobody. */
START_TEST(not_attached)
{
    struct fworld *w = begin();
    struct fcvi_fabric_config config = f_config(FCVI_FABRIC);
    struct fworld *empty = f_begin(&f_limits, &config);
    struct fcvi_fabric_counters c;
    request(w, 0, 1);
    fcvi_fabric_run(empty->fabric, w->port, 2, 0, NULL);
    fcvi_fabric_count(empty->fabric, &c);
    ck_assert_uint_eq(c.sent, 1);
    ck_assert_uint_eq(c.dropped, 1);
    f_free(empty);
    f_free(w);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_run");
    TCase *t = tcase_create("run");
    tcase_add_test(t, nothing_to_do);
    tcase_add_test(t, until);
    tcase_add_test(t, frames_to_the_fabric);
    tcase_add_test(t, at_the_same_time);
    tcase_add_test(t, order_of_observation);
    tcase_add_loop_test(t, no_observer, 0, 2);
    tcase_add_loop_test(t, played_by_the_host, 0, 2);
    tcase_add_test(t, not_attached);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *r = srunner_create(suite());
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
