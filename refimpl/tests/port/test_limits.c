/* What a port is made of: limits and configuration that do not fit, and tables that are full. */
#include "../bench.h"

/* ---- limits ---- */

enum { MANY = 1 << 20, MOST = 1 << 26 };
#define LIMIT(member, value) offsetof(struct fcvi_port_limits, member), value

static const struct {
    size_t member;
    uint32_t value;
    bool good;
} limits[] = {
    {LIMIT(vis, 0), false},
    {LIMIT(vis, MANY + 1), false},
    {LIMIT(connectionpoints, 0), false},
    {LIMIT(connectionpoints, MANY + 1), false},
    {LIMIT(connectionpoints, 5000), true},
    {LIMIT(exchanges, 0), false},
    {LIMIT(exchanges, 0x10000), false}, /* FFFFh is no OX_ID */
    {LIMIT(exchanges, 0xFFFF), true},
    {LIMIT(regions, 0), false},
    {LIMIT(regions, MANY + 1), false},
    {LIMIT(descriptors, 0), false},
    {LIMIT(descriptors, (1 << 16) + 1), false},
    {LIMIT(descriptors, 1 << 16), true},
    {LIMIT(events, 15), false},
    {LIMIT(events, 16), true},
    {LIMIT(events, (1 << 24) + 1), false},
    {LIMIT(memory, (1u << 31) + 1), false},
    {LIMIT(memory, 0), true},
    {LIMIT(max_transfer_size, 0), false},
    {LIMIT(setups, MANY + 1), false},
    {LIMIT(setups, 3000), true},
    {LIMIT(remote_ports, 0x10000), false},
    {LIMIT(entries, MOST + 1), false},
    {LIMIT(segments, MOST + 1), false},
    {LIMIT(held_frames, (1 << 16) + 1), false},
    {LIMIT(runs, MOST + 1), false},
    {LIMIT(runs, 1), true},
};
enum { LIMITS = sizeof limits / sizeof limits[0] };

START_TEST(limit_by_limit)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    memcpy((uint8_t *)&l + limits[_i].member, &limits[_i].value, sizeof limits[_i].value);
    size_t size = fcvi_port_size(&l);
    ck_assert(limits[_i].good == (size > 0));
    void *block = calloc(1, size > 0 ? size : 1);
    struct fcvi_port *port = fcvi_port_init(block, size, &l, &c);
    ck_assert(limits[_i].good == (port != NULL));
    if (port != NULL)
        ck_assert_ptr_null(fcvi_port_init(block, size - 1, &l, &c)); /* too little room */
    free(block);
}
END_TEST

/* Descriptors of all VIs together, when `entries` does not say how many that is. */
START_TEST(too_many_entries)
{
    struct fcvi_port_limits l = b_limits;
    l.vis = 1 << 10;
    l.descriptors = 1 << 14;
    ck_assert_uint_eq(fcvi_port_size(&l), 0);
    l.entries = 64;
    ck_assert_uint_ne(fcvi_port_size(&l), 0);
}
END_TEST

/* The defaults that port.h gives for zeros. */
START_TEST(defaults)
{
    struct fcvi_port_limits l = b_limits;
    size_t size = fcvi_port_size(&l);
    l.setups = l.vis + l.connectionpoints;
    l.remote_ports = 16;
    l.entries = 2 * l.vis * l.descriptors;
    l.segments = 4 * l.entries + 253;
    l.runs = l.exchanges + 256;
    l.held_frames = 64;
    ck_assert_uint_eq(fcvi_port_size(&l), size);
    l.vis = 4096;
    l.setups = 0;
    size = fcvi_port_size(&l);
    l.setups = 4096;
    ck_assert_uint_eq(fcvi_port_size(&l), size);
}
END_TEST

/* ---- configuration ---- */

START_TEST(configuration)
{
    struct fcvi_port_config c[] = {b_config(), b_config(), b_config(), b_config(), b_config(), b_config(),
                                   b_config(), b_config(), b_config(), b_config(), b_config()};
    size_t size = fcvi_port_size(&b_limits);
    void *block = calloc(1, size);
    c[1].self.n_port_id = 0x1000000; /* 24 bits (FC-FS) */
    c[2].peer.n_port_id = 0x1000000;
    c[3].self.hosts = 0;
    c[4].self.hosts = FCVI_MAX_HOSTS + 1;
    c[5].peer.hosts = FCVI_MAX_HOSTS + 1;
    c[6].topology = FCVI_FABRIC + 1;
    c[7].service_class = 1; /* 5.5: class 2 or 3 */
    c[8].r_a_tov_us = 0;
    c[9].receive_size = 255; /* FC-FS: 256 to 2112 */
    c[10].receive_size = 2113;
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++)
        ck_assert_msg((fcvi_port_init(block, size, &b_limits, &c[i]) != NULL) == (i == 0), "row %zu", i);
    struct fcvi_port_config most = b_config();
    most.self.n_port_id = most.peer.n_port_id = 0xFFFFFF;
    most.self.hosts = most.peer.hosts = FCVI_MAX_HOSTS;
    most.service_class = 2;
    most.r_a_tov_us = 1;
    most.receive_size = 256;
    ck_assert_ptr_nonnull(fcvi_port_init(block, size, &b_limits, &most));
    free(block);
}
END_TEST

/* ---- tables ---- */

/* Setups have run out: VIP_ERROR_RESOURCE, and the Endpoint stays Idle. */
START_TEST(setups_run_out)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.setups = 1;
    struct bench *b = b_begin(&l, &c);
    struct fcvi_address from = address(OURS), to = address(THEIRS);
    uint32_t vi = b_vi(b), other = b_vi(b);
    b_wait(b, R_A_TOV, 1);
    b_request(b, vi, THEIRS, FCVI_NEVER, 2);
    ck_assert_int_eq(fcvi_vip_connect_request(b->port, 0, other, &from, &to, 1, 3), VIP_ERROR_RESOURCE);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, 0, other, &from, &to, 1), VIP_ERROR_RESOURCE);
    ck_assert_uint_eq(state_of(b, other), FCVI_STATE_IDLE);
    hear_rqst(b, 1, 0x1234, 0x42, 5); /* from the wire: no answer, its originator will retry (8.5.4) */
    ck_assert_uint_eq(b->sent, 1);
    ck_assert_ptr_null(b_return(b, 1));
    hear_resp1(b, 0, 0, 0, 0xabcd);
    hear_resp3(b, 0, 0, own_handle_at(b, 0));
    ck_assert_int_eq(b_return(b, 2)->vip, VIP_SUCCESS);
    hear_rqst(b, 0x11, 0x1235, 0x43, 5); /* the retry finds room */
    ck_assert_int_eq(b_return(b, 1)->vip, VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, b_return(b, 1)->conn, other, 4), FCVI_VIP_PENDING);
    collect(b);
    ck_assert_uint_eq(flags_at(b, 2), 4);
    hear_resp2(b, 4, 0, 0x1235, 0x43, own_handle_at(b, 2));
    ck_assert_uint_eq(state_of(b, other), FCVI_STATE_CONNECTED);
    b_end(b);
}
END_TEST

/* The one Exchange is taken: requests in both directions and a Disconnect find none. */
START_TEST(exchanges_run_out)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.exchanges = 1;
    struct bench *b = b_begin(&l, &c);
    uint32_t vi = b_vi(b), other = b_vi(b);
    b_wait(b, FCVI_NEVER, 1);
    b_request(b, vi, THEIRS, FCVI_NEVER, 2);
    hear_resp1(b, 0, 0, 0, 0xabcd); /* Connected; the Exchange lasts until FCVI_CONNECT_RESP3 */
    b_request(b, other, THEIRS, FCVI_NEVER, 3);
    ck_assert_int_eq(b_return(b, 3)->vip, VIP_ERROR_RESOURCE);
    ck_assert_uint_eq(state_of(b, other), FCVI_STATE_IDLE);
    hear_rqst(b, 1, 0x1234, 0x42, 5);
    ck_assert_uint_eq(b->sent, 2);
    ck_assert_ptr_null(b_return(b, 1));
    ck_assert_uint_eq(counts(b).setups, 1);
    struct fcvi_descriptor d = {.op = FCVI_RECV};
    struct fcvi_completion done;
    ck_assert_int_eq(fcvi_vip_post(b->port, 0, vi, &d), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, 0, vi, 4), VIP_ERROR_RESOURCE);
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_CONNECTED); /* the call has done nothing */
    ck_assert_int_eq(fcvi_vip_done(b->port, 0, vi, true, &done), VIP_NOT_DONE);
    hear_resp3(b, 0, 0, own_handle_at(b, 0));
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, 0, vi, 5), FCVI_VIP_PENDING);
    collect(b);
    ck_assert_uint_eq(opcode_at(b, 2), 0x12);
    hear_disconnected(b, 2);
    ck_assert_int_eq(b_return(b, 5)->vip, VIP_SUCCESS);
    hear_rqst(b, 0x11, 0x1235, 0x43, 5);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, b_return(b, 1)->conn), VIP_SUCCESS);
    collect(b);
    hear_resp2(b, 4, 0, 0x1235, 0x43, own_handle_at(b, 3));
    b_end(b);
}
END_TEST

/* The ring of events is full: the newest stay and the loss is counted. */
START_TEST(events_run_out)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    struct fcvi_event e;
    l.events = 16;
    l.connectionpoints = 20;
    struct bench *b = b_begin(&l, &c);
    for (uint64_t i = 0; i < 20; i++)
        b_wait(b, R_A_TOV + i, 100 + i);
    fcvi_port_run(b->port, 2 * R_A_TOV);
    ck_assert_uint_eq(counts(b).events_lost, 4);
    for (uint64_t i = 4; i < 20; i++) {
        ck_assert(fcvi_port_event(b->port, &e));
        ck_assert_uint_eq(e.token, 100 + i);
        ck_assert_int_eq(e.vip, VIP_TIMEOUT);
    }
    ck_assert(!fcvi_port_event(b->port, &e));
    free(b->memory);
    free(b);
}
END_TEST

/* ---- numbers ---- */

/* 5.9.10, E47: neither FFFFFFFFh nor zero is the FCVI_CONNECTION_ID of a request. _i: the one it starts with.
 */
START_TEST(connection_ids_that_do_not_count)
{
    static const struct {
        uint64_t seed;
        uint32_t first, second;
    } rows[] = {{0xF174D0AF, 1, 2}, {0xD45E720D, 0xFFFFFFFD, 0xFFFFFFFE}};
    struct fcvi_port_config c = b_config();
    c.seed = rows[_i].seed;
    struct bench *b = b_begin(&b_limits, &c);
    for (int i = 0; i < 3; i++)
        b_request(b, b_vi(b), THEIRS, FCVI_NEVER, 1);
    ck_assert_uint_eq(id_at(b, 0), rows[_i].first);
    ck_assert_uint_eq(id_at(b, 1), rows[_i].second);
    ck_assert_uint_eq(id_at(b, 2), _i == 0 ? 3 : 1);
    b_end(b);
}
END_TEST

/* 8.4.2 f, 5.9.2: with 2^16 VIs a handle has 16 bits left to number the connections of a VI. When they are
 * used up none comes back before R_A_TOV has passed since the last, and FFFFFFFFh never comes. */
START_TEST(handles_run_out)
{
    enum { VIS = 1 << 16, HANDLES = VIS - 1 };
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.vis = VIS;
    l.setups = l.entries = 1;
    c.seed = 0;
    struct bench *b = b_begin(&l, &c);
    struct fcvi_address from = address(OURS), to = address(THEIRS);
    struct fcvi_attributes a = {.reliability = FCVI_UNRELIABLE, .max_transfer_size = 32768};
    uint32_t vi, other = 0;
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, 0, &a, &vi), VIP_SUCCESS);
    while (other < VIS - 1) /* the last, whose number is FFFFh */
        ck_assert_int_eq(fcvi_vip_create_vi(b->port, 0, &a, &other), VIP_SUCCESS);
    b_request(b, vi, THEIRS, 1, 1); /* no room for a second setup: each call uses a handle up and fails */
    for (uint32_t i = 0; i < HANDLES - 1; i++) {
        int code = fcvi_vip_connect_request(b->port, b->now, other, &from, &to, 1, 2);
        ck_assert_int_eq(code, VIP_ERROR_RESOURCE);
    }
    hear_resp1(b, 0, 1, 0x04, FCVI_UNASSIGNED);
    hear_resp3(b, 0, 0, own_handle_at(b, 0));
    ck_assert_uint_eq(counts(b).setups, 0);
    /* the next would be FFFFFFFFh, and then the first again */
    static const uint64_t times[] = {3 * R_A_TOV, 4 * R_A_TOV - 1};
    for (int i = 0; i < 2; i++) {
        b->now = times[i];
        int code = fcvi_vip_connect_request(b->port, b->now, other, &from, &to, 1, 3);
        ck_assert_int_eq(code, VIP_ERROR_RESOURCE);
    }
    b->now = 4 * R_A_TOV;
    b_request(b, other, THEIRS, R_A_TOV, 4);
    ck_assert_uint_eq(own_handle_at(b, b->sent - 1), 0x0001ffff);
    free(b->memory);
    free(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("limits");
    TCase *t = tcase_create("one port");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, limit_by_limit, 0, LIMITS);
    tcase_add_test(t, too_many_entries);
    tcase_add_test(t, defaults);
    tcase_add_test(t, configuration);
    tcase_add_test(t, setups_run_out);
    tcase_add_test(t, exchanges_run_out);
    tcase_add_test(t, events_run_out);
    tcase_add_loop_test(t, connection_ids_that_do_not_count, 0, 2);
    tcase_add_test(t, handles_run_out);
    suite_add_tcase(s, t);
    return run_suite(s);
}
