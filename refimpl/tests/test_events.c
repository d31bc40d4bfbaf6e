/* What the host is told of an Endpoint's state (8.2). */
#include "bench.h"

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

int main(void)
{
    Suite *s = suite_create("events");
    TCase *t = tcase_create("one port");
    tcase_add_test(t, changes_of_state);
    suite_add_tcase(s, t);
    return run_suite(s);
}
