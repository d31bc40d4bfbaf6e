/* What the host is told of an Endpoint's state (8.2). */
#include "../bench.h"

static const struct fcvi_event *state_event(const struct bench *b, uint32_t vi, enum fcvi_vi_state state)
{
    for (unsigned i = 0; i < b->events; i++)
        if (b->event[i].kind == FCVI_EVENT_STATE && b->event[i].vi == vi && b->event[i].state == state)
            return &b->event[i];
    return NULL;
}

/* Each change of state is told of the Endpoint that changed, and nothing else stands in the event. */
START_TEST(changes_of_state)
{
    struct bench *b = b_new();
    uint32_t first = b_vi(b), vi = b_vi(b);
    b_request(b, vi, THEIRS, FCVI_NEVER, 7);
    ck_assert_ptr_nonnull(state_event(b, vi, FCVI_STATE_PENDING_CONNECT));
    hear_resp1(b, 0, 0, 0, 0xabcd);
    const struct fcvi_event *connected = state_event(b, vi, FCVI_STATE_CONNECTED);
    ck_assert_ptr_nonnull(connected);
    ck_assert_ptr_nonnull(b_return(b, 7));
    ck_assert_uint_eq(b_return(b, 7)->vi, vi);
    for (unsigned i = 0; i < b->events; i++) {
        const struct fcvi_event *e = &b->event[i];
        ck_assert_uint_ne(e->vi, first);
        ck_assert(!e->recv);
        ck_assert_uint_eq(e->conn, 0);
        ck_assert_uint_eq(e->remote_address.discriminator_length, 0);
        if (e->kind == FCVI_EVENT_STATE) {
            ck_assert_uint_eq(e->token, 0);
            ck_assert_int_eq(e->vip, 0);
            ck_assert_uint_eq(e->remote_attributes.max_transfer_size, 0);
        } else {
            ck_assert_uint_eq(e->state, 0);
        }
    }
    hear_resp3(b, 0, 0, 0xabcd);
    ck_assert_int_eq(fcvi_vip_disconnect(b->port, b->now, vi, 8), FCVI_VIP_PENDING);
    collect(b);
    ck_assert_ptr_nonnull(state_event(b, vi, FCVI_STATE_ERROR));
    hear_disconnected(b, 2);
    ck_assert_ptr_nonnull(state_event(b, vi, FCVI_STATE_IDLE));
    b_end(b);
}
END_TEST

/* An event in a place of the ring that was used before holds nothing of what was there. */
START_TEST(places_are_used_again)
{
    struct fcvi_port_limits l = b_limits;
    struct fcvi_port_config c = b_config();
    l.events = 16;
    struct bench *b = b_begin(&l, &c);
    b_wait(b, FCVI_NEVER, 1);
    hear_rqst(b, 1, 0x1234, 0x42, 5);
    ck_assert_uint_ne(b_return(b, 1)->remote_address.discriminator_length, 0);
    ck_assert_int_eq(fcvi_vip_connect_reject(b->port, b->now, b_return(b, 1)->conn), VIP_SUCCESS);
    collect(b);
    for (uint64_t token = 2; token < 40; token++) {
        b_wait(b, 10, token);
        advance(b, 10);
        const struct fcvi_event *e = b_return(b, token);
        ck_assert_int_eq(e->vip, VIP_TIMEOUT);
        ck_assert_uint_eq(e->conn, 0);
        ck_assert_uint_eq(e->remote_address.discriminator_length, 0);
        ck_assert_uint_eq(e->remote_attributes.max_transfer_size, 0);
    }
    advance(b, 2 * R_A_TOV);
    b_end(b);
}
END_TEST

/* ---- time passes before anything else happens in a call ---- */

enum {
    CREATE_VI,
    DESTROY_VI,
    QUERY_VI,
    CONNECT_WAIT,
    CONNECT_ACCEPT,
    CONNECT_REJECT,
    CONNECT_REQUEST,
    PEER_REQUEST,
    PEER_DONE,
    PEER_WAIT,
    SET_VI,
    DISCONNECT,
    REGISTER_MEM,
    REGISTER_REGION,
    SET_MEM,
    QUERY_MEM,
    DEREGISTER_MEM,
    POST,
    DONE,
    KNOW,
    LINK,
    LIP,
    TRANSMIT,
    RECEIVE,
    CALLS
};

/* A call that changes nothing that matters here; most name what does not exist. */
static void call(struct fcvi_port *p, uint64_t now, int which, uint32_t vi)
{
    enum { NOTHING = 999 };
    struct fcvi_attributes a = {.reliability = FCVI_UNRELIABLE, .max_transfer_size = 1};
    struct fcvi_address from = address(OURS), to = address(THEIRS);
    struct fcvi_vi_info info;
    struct fcvi_region region = {.length = 1};
    struct fcvi_descriptor d = {.op = FCVI_RECV};
    struct fcvi_completion done;
    struct fcvi_port_identity peer = {0x10000000c9000009, 0x20000000c9000009, 0x010900, 0, {{0}}};
    struct fcvi_transmitted meta;
    struct fcvi_input in = {(const uint8_t *)"", 0, 0, 0, 0};
    uint8_t frame[FRAME];
    uint32_t n, handle;
    uint64_t va;
    switch (which) {
    case CREATE_VI:
        fcvi_vip_create_vi(p, now, &a, &n);
        fcvi_vip_destroy_vi(p, now, n);
        break;
    case DESTROY_VI:
        fcvi_vip_destroy_vi(p, now, NOTHING);
        break;
    case QUERY_VI:
        fcvi_vip_query_vi(p, now, vi, &info);
        break;
    case CONNECT_WAIT:
        fcvi_vip_connect_wait(p, now, &from, 1, 99);
        break;
    case CONNECT_ACCEPT:
        fcvi_vip_connect_accept(p, now, NOTHING, vi, 99);
        break;
    case CONNECT_REJECT:
        fcvi_vip_connect_reject(p, now, NOTHING);
        break;
    case CONNECT_REQUEST:
        fcvi_vip_connect_request(p, now, NOTHING, &from, &to, 1, 99);
        break;
    case PEER_REQUEST:
        fcvi_vip_connect_peer_request(p, now, NOTHING, &from, &to, 1);
        break;
    case PEER_DONE:
        fcvi_vip_connect_peer_done(p, now, vi, &a);
        break;
    case PEER_WAIT:
        fcvi_vip_connect_peer_wait(p, now, vi, 99, &a);
        break;
    case SET_VI:
        fcvi_vip_set_vi(p, now, NOTHING, &a);
        break;
    case DISCONNECT:
        fcvi_vip_disconnect(p, now, NOTHING, 99);
        break;
    case REGISTER_MEM:
        fcvi_vip_register_mem(p, now, 16, false, false, &n, &va, &handle);
        break;
    case REGISTER_REGION:
        fcvi_vip_register_region(p, now, &region, &n, &handle);
        break;
    case SET_MEM:
        fcvi_vip_set_mem(p, now, NOTHING, &region);
        break;
    case QUERY_MEM:
        fcvi_vip_query_mem(p, now, NOTHING, &region);
        break;
    case DEREGISTER_MEM:
        fcvi_vip_deregister_mem(p, now, NOTHING);
        break;
    case POST:
        fcvi_vip_post(p, now, NOTHING, &d);
        break;
    case DONE:
        fcvi_vip_done(p, now, vi, true, &done);
        break;
    case KNOW:
        fcvi_port_know(p, now, &peer);
        break;
    case LINK:
        fcvi_port_link(p, now, FCVI_LINK_LR);
        break;
    case LIP:
        fcvi_port_lip(p, now, 0x010200);
        break;
    case TRANSMIT:
        fcvi_port_transmit(p, now, frame, sizeof frame, &meta);
        break;
    default:
        fcvi_port_receive(p, now, &in);
        break;
    }
}

START_TEST(time_passes_in_every_call)
{
    struct bench *b = b_new();
    struct fcvi_event e = {0};
    uint32_t vi = b_vi(b);
    b_wait(b, 1000, 1);
    call(b->port, 999, _i, vi);
    while (fcvi_port_event(b->port, &e))
        ck_assert_uint_ne(e.token, 1);
    call(b->port, 1000, _i, vi);
    ck_assert(fcvi_port_event(b->port, &e));
    ck_assert_uint_eq(e.token, 1);
    ck_assert_int_eq(e.vip, VIP_TIMEOUT);
    b->now = 1001;
    advance(b, 2 * R_A_TOV);
    free(b->memory);
    free(b);
}
END_TEST

START_TEST(names_of_what_calls_return)
{
    static const char *const states[] = {"idle", "pending-connect", "pending-connect-retry", "connected",
                                         "error"};
    for (int i = -1; i <= 5; i++)
        ck_assert_str_eq(fcvi_vi_state_name(i), i < 0 || i > 4 ? "" : states[i]);
    ck_assert_str_eq(fcvi_vip_name(VIP_SUCCESS), "VIP_SUCCESS");
    ck_assert_str_eq(fcvi_vip_name(VIP_NOT_REACHABLE), "VIP_NOT_REACHABLE");
    ck_assert_str_eq(fcvi_vip_name(VIP_NOT_REACHABLE + 1), "");
    ck_assert_str_eq(fcvi_vip_name(-1), "");
    ck_assert_str_eq(fcvi_vip_error_name(VIP_ERROR_POST_DESC), "VIP_ERROR_POST_DESC");
    ck_assert_str_eq(fcvi_vip_error_name(VIP_ERROR_CATASTROPHIC), "VIP_ERROR_CATASTROPHIC");
    ck_assert_str_eq(fcvi_vip_error_name(VIP_ERROR_CATASTROPHIC + 1), "");
    ck_assert_str_eq(fcvi_vip_error_name(-1), "");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("events");
    TCase *t = tcase_create("one port");
    tcase_add_test(t, changes_of_state);
    tcase_add_test(t, places_are_used_again);
    tcase_add_loop_test(t, time_passes_in_every_call, 0, CALLS);
    tcase_add_test(t, names_of_what_calls_return);
    suite_add_tcase(s, t);
    return run_suite(s);
}
