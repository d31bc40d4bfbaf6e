/* The VIPL calls of the port: what each answers to arguments that do not fit (VI-DG 3.2, 3.3) and in the
 * states in which it is not allowed (VI-ARCH 5.2), and that a refused call changes nothing and sends nothing.
 */
#include "../bench.h"

enum { NO_VI = 1000, UNUSED_VI = 7 };

static struct fcvi_attributes unreliable(void)
{
    return (struct fcvi_attributes){.reliability = FCVI_UNRELIABLE, .max_transfer_size = 32768};
}

/* ---- VIs (VI-DG 3.2.1 to 3.2.4) ---- */

static const struct {
    uint8_t reliability;
    uint32_t max_transfer_size;
    bool rdma_read;
    int vip;
} attributes[] = {
    {1, 32768, false, VIP_SUCCESS},
    {2, 1, true, VIP_SUCCESS},
    {3, 0, true, VIP_SUCCESS},
    {0, 32768, false, VIP_INVALID_RELIABILITY_LEVEL},
    {4, 32768, false, VIP_INVALID_RELIABILITY_LEVEL},
    {1, 32769, false, VIP_INVALID_MTU},
    {1, 32768, true, VIP_INVALID_RDMAREAD}, /* VI-ARCH 2.5.1: never on Unreliable Delivery */
};
enum { ATTRIBUTES = sizeof attributes / sizeof attributes[0] };

START_TEST(attributes_of_a_vi)
{
    struct bench *b = b_new();
    struct fcvi_attributes a = {.reliability = attributes[_i].reliability,
                                .max_transfer_size = attributes[_i].max_transfer_size,
                                .rdma_read = attributes[_i].rdma_read};
    struct fcvi_vi_info info;
    uint32_t vi = NO_VI, other = b_vi(b);
    bool good = attributes[_i].vip == VIP_SUCCESS;
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, 0, &a, &vi), attributes[_i].vip);
    ck_assert_uint_eq(counts(b).vis, good ? 2 : 1);
    ck_assert_int_eq(fcvi_vip_set_vi(b->port, 0, other, &a), attributes[_i].vip);
    for (int i = 0; i < (good ? 2 : 1); i++) {
        ck_assert_int_eq(fcvi_vip_query_vi(b->port, 0, i == 0 ? other : vi, &info), VIP_SUCCESS);
        ck_assert_uint_eq(info.state, FCVI_STATE_IDLE);
        ck_assert(info.send_empty && info.recv_empty);
        ck_assert_uint_eq(info.attributes.reliability, good ? a.reliability : FCVI_UNRELIABLE);
        ck_assert_uint_eq(info.attributes.max_transfer_size, good && a.max_transfer_size == 1 ? 1 : 32768);
        ck_assert(info.attributes.rdma_read == (good && a.rdma_read));
    }
    b_end(b);
}
END_TEST

START_TEST(vis_run_out)
{
    struct bench *b = b_new();
    struct fcvi_attributes a = unreliable();
    uint32_t vi;
    for (uint32_t i = 0; i < b_limits.vis; i++)
        b_vi(b);
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, 0, &a, &vi), VIP_ERROR_RESOURCE);
    ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, 3), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, 3), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, 0, &a, &vi), VIP_SUCCESS);
    ck_assert_uint_eq(vi, 3);
    ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, 2), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, 5), VIP_SUCCESS);
    ck_assert_uint_eq(b_vi(b) + b_vi(b), 7);
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, 0, &a, &vi), VIP_ERROR_RESOURCE);
    ck_assert_uint_eq(counts(b).vis, b_limits.vis);
    b_end(b);
}
END_TEST

START_TEST(numbers_of_no_vi)
{
    static const uint32_t numbers[] = {UNUSED_VI, 8, NO_VI, UINT32_MAX};
    struct bench *b = b_new();
    struct fcvi_attributes a = unreliable();
    struct fcvi_address from = address(OURS), to = address(THEIRS);
    struct fcvi_vi_info info;
    uint32_t vi = numbers[_i];
    ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, vi), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_set_vi(b->port, 0, vi, &a), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_query_vi(b->port, 0, vi, &info), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, 0, vi, 1), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_connect_request(b->port, 0, vi, &from, &to, 1, 1), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_connect_peer_request(b->port, 0, vi, &from, &to, 1), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_connect_peer_wait(b->port, 0, vi, 1, &a), VIP_INVALID_PARAMETER);
    b_wait(b, FCVI_NEVER, 2);
    hear_rqst(b, 1, 0x1234, 0x42, 5);
    uint32_t conn = b_return(b, 2)->conn;
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, conn, vi, 3), VIP_INVALID_PARAMETER);
    ck_assert_uint_eq(b->sent, 0);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, conn), VIP_SUCCESS); /* the request is still there */
    hear_resp2(b, 0, 0, 0x1234, 0x42, FCVI_UNASSIGNED);
    b_end(b);
}
END_TEST

/* ... the number behind the last VI, while a setup waits for Fabric Login. */
START_TEST(number_behind_the_last_vi)
{
    struct fcvi_port_config c = b_config();
    c.fabric_login = true;
    struct bench *b = b_begin(&b_limits, &c);
    struct fcvi_attributes a = unreliable();
    struct fcvi_address from = address(OURS), to = address(THEIRS);
    struct fcvi_descriptor d = {.op = FCVI_SEND};
    struct fcvi_completion done;
    struct fcvi_vi_info info;
    uint32_t vi = b_limits.vis;
    fcvi_vip_connect_request(b->port, 0, b_vi(b), &from, &to, FCVI_NEVER, 1);
    ck_assert_int_eq(fcvi_vip_post(b->port, 0, vi, &d), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_done(b->port, 0, vi, false, &done), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_query_vi(b->port, 0, vi, &info), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_set_vi(b->port, 0, vi, &a), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, 0, vi, 1), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, vi), VIP_INVALID_PARAMETER);
    free(b->memory);
    free(b);
}
END_TEST

/* VI-DG 3.2.2, 3.2.3: a VI goes, and changes, only while it is Idle, and goes only with empty queues. */
START_TEST(vi_that_is_not_idle)
{
    struct bench *b = b_new();
    struct fcvi_attributes a = unreliable();
    struct fcvi_descriptor d = {.op = FCVI_RECV};
    uint32_t vi = b_connected(b), idle = b_vi(b);
    ck_assert_int_eq(fcvi_vip_set_vi(b->port, 0, vi, &a), VIP_INVALID_STATE);
    ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, vi), VIP_INVALID_STATE);
    hear_disconnect(b, 2, 0x4321, 0, own_handle_at(b, 0));
    ck_assert_uint_eq(state_of(b, vi), FCVI_STATE_ERROR);
    ck_assert_int_eq(fcvi_vip_set_vi(b->port, 0, vi, &a), VIP_INVALID_STATE);
    ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, vi), VIP_INVALID_STATE);
    ck_assert_int_eq(fcvi_vip_post(b->port, 0, idle, &d), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, idle), VIP_INVALID_STATE);
    d.op = FCVI_SEND; /* it completes in error at once (VI-ARCH 5.2), and is still in the queue */
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, 0, idle, 1), VIP_SUCCESS); /* flushes what is posted */
    struct fcvi_completion done;
    ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, idle), VIP_INVALID_STATE);
    ck_assert_int_eq(fcvi_vip_done(b->port, 0, idle, true, &done), VIP_DESCRIPTOR_ERROR);
    ck_assert_uint_eq(done.status & FCVI_STATUS_ERROR_MASK, FCVI_STATUS_DESC_FLUSHED_ERROR);
    ck_assert_int_eq(fcvi_vip_post(b->port, 0, idle, &d), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_destroy_vi(b->port, 0, idle), VIP_INVALID_STATE);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, 0, idle, 1), VIP_SUCCESS);
    b_end(b);
}
END_TEST

/* ---- Client-Server (VI-DG 3.3.1 to 3.3.4) ---- */

static const struct {
    const char *host;
    uint8_t length;
    uint64_t timeout;
    int vip;
} waits[] = {
    {OURS, 16, R_A_TOV, FCVI_VIP_PENDING},
    {OURS, 128, R_A_TOV, FCVI_VIP_PENDING},
    {OURS, 15, R_A_TOV, VIP_INVALID_PARAMETER},
    {OURS, 129, R_A_TOV, VIP_INVALID_PARAMETER},
    {OURS, 0, R_A_TOV, VIP_INVALID_PARAMETER},
    {THEIRS, 16, R_A_TOV, VIP_INVALID_PARAMETER},
    {OURS, 16, 0, VIP_TIMEOUT}, /* nobody ever waits for a Connectionpoint: a poll finds none */
};

START_TEST(arguments_of_connect_wait)
{
    struct bench *b = b_new();
    struct fcvi_address local = address(waits[_i].host);
    local.discriminator_length = waits[_i].length;
    ck_assert_int_eq(fcvi_vip_connect_wait(b->port, 0, &local, waits[_i].timeout, 5), waits[_i].vip);
    bool waiting = waits[_i].vip == FCVI_VIP_PENDING;
    ck_assert_uint_eq(counts(b).points, waiting);
    advance(b, R_A_TOV - 1);
    ck_assert_ptr_null(b_return(b, 5));
    advance(b, 1); /* T0 */
    ck_assert(waiting == (b_return(b, 5) != NULL));
    if (waiting)
        ck_assert_int_eq(b_return(b, 5)->vip, VIP_TIMEOUT);
    ck_assert_uint_eq(b->sent, 0);
    b_end(b);
}
END_TEST

/* Every Connectionpoint is taken; one comes free with T0, or with a request. */
START_TEST(connectionpoints_run_out)
{
    struct bench *b = b_new();
    struct fcvi_address local = address(OURS);
    for (uint32_t i = 0; i < b_limits.connectionpoints; i++)
        b_wait(b, R_A_TOV + i, 10 + i);
    ck_assert_int_eq(fcvi_vip_connect_wait(b->port, 0, &local, 1, 20), VIP_ERROR_RESOURCE);
    hear_rqst(b, 1, 0x1234, 0x42, 5);
    ck_assert_int_eq(b_return(b, 10)->vip, VIP_SUCCESS); /* the oldest (VI-DG 6.7) */
    b_wait(b, FCVI_NEVER, 20);
    ck_assert_int_eq(fcvi_vip_connect_wait(b->port, 0, &local, 1, 21), VIP_ERROR_RESOURCE);
    advance(b, R_A_TOV + 1);
    ck_assert_int_eq(b_return(b, 11)->vip, VIP_TIMEOUT);
    ck_assert_ptr_null(b_return(b, 12));
    b_wait(b, R_A_TOV, 21);
    hear_rqst(b, 1, 0x1235, 0x43, 6);
    hear_rqst(b, 1, 0x1236, 0x44, 7);
    hear_rqst(b, 1, 0x1237, 0x45, 8);
    for (uint32_t token = 12; token < 14; token++)
        ck_assert_int_eq(b_return(b, token)->vip, VIP_SUCCESS);
    ck_assert_int_eq(b_return(b, 20)->vip, VIP_SUCCESS);
    ck_assert_ptr_null(b_return(b, 21));
    advance(b, R_A_TOV);
    ck_assert_int_eq(b_return(b, 21)->vip, VIP_TIMEOUT);
    for (uint64_t token = 10; token < 21; token++)
        if (token != 11 && b_return(b, token) != NULL)
            ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, b_return(b, token)->conn), VIP_SUCCESS);
    b_end(b);
}
END_TEST

/* VI-DG 3.3.2, E77: nothing is sent and the request stays, for an Endpoint that fits. */
START_TEST(accept_with_unequal_attributes)
{
    static const struct {
        struct fcvi_attributes a;
        int vip;
    } rows[] = {
        {{.reliability = 2, .max_transfer_size = 32768}, VIP_INVALID_RELIABILITY_LEVEL},
        {{.reliability = 1, .max_transfer_size = 16384}, VIP_INVALID_MTU},
        {{.reliability = 1, .max_transfer_size = 32768, .pipeline_depth = 3}, VIP_INVALID_QOS},
    };
    struct bench *b = b_new();
    uint32_t odd, vi = b_vi(b);
    ck_assert_int_eq(fcvi_vip_create_vi(b->port, 0, &rows[_i].a, &odd), VIP_SUCCESS);
    b_wait(b, FCVI_NEVER, 1);
    hear_rqst(b, 1, 0x1234, 0x42, 5);
    uint32_t conn = b_return(b, 1)->conn;
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, conn, odd, 2), rows[_i].vip);
    collect(b);
    ck_assert_uint_eq(b->sent, 0);
    ck_assert_uint_eq(state_of(b, odd), FCVI_STATE_IDLE);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, conn, vi, 3), FCVI_VIP_PENDING);
    collect(b);
    ck_assert_uint_eq(flags_at(b, 0), 0);
    hear_resp2(b, 0, 0, 0x1234, 0x42, own_handle_at(b, 0));
    ck_assert_int_eq(b_return(b, 3)->vip, VIP_SUCCESS);
    ck_assert_ptr_null(b_return(b, 2));
    b_end(b);
}
END_TEST

/* A request is answered once, with an Idle VI, and under the number it was handed out with. */
START_TEST(accept_and_reject_in_the_wrong_state)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b), busy = b_connected(b);
    unsigned at = b->sent;
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, 0, vi, 2), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, UINT32_MAX, vi, 2), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, 0xFFFFF), VIP_INVALID_PARAMETER);
    b_wait(b, FCVI_NEVER, 1);
    hear_rqst(b, 1, 0x1234, 0x42, 5);
    uint32_t conn = b_return(b, 1)->conn;
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, conn, busy, 2), VIP_INVALID_STATE);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, conn ^ 1u << 20), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, conn, vi, 2), FCVI_VIP_PENDING);
    ck_assert_int_eq(fcvi_vip_connect_accept(b->port, 0, conn, vi, 3), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, conn), VIP_INVALID_PARAMETER);
    collect(b);
    ck_assert_uint_eq(b->sent, at + 1);
    hear_resp2(b, 0, 0, 0x1234, 0x42, own_handle_at(b, at));
    b_wait(b, FCVI_NEVER, 4);
    hear_rqst(b, 1, 0x1235, 0x43, 6); /* the same place in the table, another request */
    ck_assert_uint_ne(b_return(b, 4)->conn, conn);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, conn), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, 0, b_return(b, 4)->conn), VIP_SUCCESS);
    collect(b);
    ck_assert_uint_eq(reason_at(b, b->sent - 1), 0x04);
    hear_resp2(b, 0, 0, 0x1235, 0x43, own_handle_at(b, b->sent - 1));
    b_end(b);
}
END_TEST

/* port.h: a call at `now` first lets every timer due by then expire, whatever else comes of it. */
START_TEST(every_call_runs_the_clock)
{
    struct bench *b = b_new();
    struct fcvi_port *p = b->port;
    struct fcvi_attributes a = {0};
    struct fcvi_address local = address(OURS), none = {0};
    struct fcvi_vi_info info;
    struct fcvi_transmitted meta;
    struct fcvi_input nothing = {0};
    uint32_t vi;
    b_wait(b, R_A_TOV, 5);
    int codes[] = {
        _i == 0 ? fcvi_vip_create_vi(p, R_A_TOV, &a, &vi) : 0,
        _i == 1 ? fcvi_vip_destroy_vi(p, R_A_TOV, NO_VI) : 0,
        _i == 2 ? fcvi_vip_set_vi(p, R_A_TOV, NO_VI, &a) : 0,
        _i == 3 ? fcvi_vip_query_vi(p, R_A_TOV, NO_VI, &info) : 0,
        _i == 4 ? fcvi_vip_connect_wait(p, R_A_TOV, &none, 1, 6) : 0,
        _i == 5 ? fcvi_vip_connect_accept(p, R_A_TOV, 0, NO_VI, 6) : 0,
        _i == 6 ? fcvi_vip_connect_reject(p, R_A_TOV, 0) : 0,
        _i == 7 ? fcvi_vip_connect_request(p, R_A_TOV, NO_VI, &local, &local, 1, 6) : 0,
        _i == 8 ? fcvi_vip_connect_peer_request(p, R_A_TOV, NO_VI, &local, &local, 1) : 0,
        _i == 9 ? fcvi_vip_connect_peer_done(p, R_A_TOV, NO_VI, &a) : 0,
        _i == 10 ? fcvi_vip_disconnect(p, R_A_TOV, NO_VI, 6) : 0,
        _i == 11 ? (int)fcvi_port_transmit(p, R_A_TOV, NULL, 0, &meta) : 0,
    };
    if (_i < 11)
        ck_assert_int_ne(codes[_i], VIP_SUCCESS);
    if (_i == 12)
        fcvi_port_receive(p, R_A_TOV, &nothing);
    struct fcvi_event e;
    ck_assert(fcvi_port_event(p, &e));
    ck_assert_uint_eq(e.token, 5);
    ck_assert_int_eq(e.vip, VIP_TIMEOUT);
    free(b->memory);
    free(b);
}
END_TEST

/* Numbers of requests that VipConnectWait has not handed out. */
START_TEST(requests_that_are_none)
{
    struct bench *b = b_new();
    uint32_t vi = b_vi(b);
    for (uint32_t conn = 0; conn < 64; conn++) {
        ck_assert_int_eq(fcvi_vip_connect_accept(b->port, b->now, conn, vi, 1), VIP_INVALID_PARAMETER);
        ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, conn), VIP_INVALID_PARAMETER);
    }
    b_end(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("calls");
    TCase *t = tcase_create("one port");
    tcase_add_loop_test(t, attributes_of_a_vi, 0, ATTRIBUTES);
    tcase_add_test(t, vis_run_out);
    tcase_add_loop_test(t, numbers_of_no_vi, 0, 4);
    tcase_add_test(t, number_behind_the_last_vi);
    tcase_add_test(t, vi_that_is_not_idle);
    tcase_add_loop_test(t, arguments_of_connect_wait, 0, sizeof waits / sizeof waits[0]);
    tcase_add_test(t, connectionpoints_run_out);
    tcase_add_loop_test(t, accept_with_unequal_attributes, 0, 3);
    tcase_add_test(t, accept_and_reject_in_the_wrong_state);
    tcase_add_loop_test(t, every_call_runs_the_clock, 0, 13);
    tcase_add_test(t, requests_that_are_none);
    suite_add_tcase(s, t);
    return run_suite(s);
}
