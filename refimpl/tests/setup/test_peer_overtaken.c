/* Two Peers whose first requests are lost retry at the same time. The one with the higher Port_Name accepts;
 * its answer overtakes its own retried request, which reaches a Peer that is connected already through the
 * request of its own. That request has to be refused (5.3.4 b)2), E117): one Connection, not two. */
#include "../world.h"

static const struct fcvi_port_limits limits = {.vis = 1,
                                               .connectionpoints = 1,
                                               .exchanges = 16,
                                               .regions = 1,
                                               .descriptors = 1,
                                               .events = 64,
                                               .memory = 64,
                                               .max_transfer_size = 64};

static struct flying late;      /* the retried request of port 1 */
static uint8_t answer[W_FRAME]; /* FCVI_CONNECT_RESP1 of port 0 to it */
static unsigned answers;

static bool hold(struct world *w, unsigned from, const struct fcvi_frame *f)
{
    (void)w;
    bool rqst = f->iu == FCVI_IU_CONNECT_RQST, retried = rqst && (f->dh[5] & 0x10) != 0; /* Table 8 */
    if (retried && from == 1) {
        late.length = f->input.length;
        memcpy(late.bytes, f->input.bytes, f->input.length);
    }
    if (f->iu == FCVI_IU_CONNECT_RESP1 && from == 0) {
        memcpy(answer, f->input.bytes, f->input.length);
        answers++;
    }
    return !rqst || (retried && from == 0);
}

START_TEST(retry_of_a_concurrent_peer_is_refused)
{
    struct world *w = calloc(1, sizeof *w);
    uint32_t vi[2];
    late.length = answers = 0;
    w->filter = hold;
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_port_config c = w_config(i);
        struct fcvi_attributes a = {.reliability = FCVI_UNRELIABLE, .max_transfer_size = 64};
        struct fcvi_address here = w_address(i, 0xDD), there = w_address(!i, 0xDD);
        c.out_of_order = true;
        w_add(w, &limits, &c);
        vi[i] = w_vi(w, i, &a);
        ck_assert_int_eq(fcvi_vip_connect_peer_request(w->port[i], w->now, vi[i], &here, &there, FCVI_NEVER),
                         VIP_SUCCESS);
    }
    w_run(w, W_R_A_TOV + 1); /* T3: both retry */
    for (unsigned i = 0; i < 2; i++)
        ck_assert_uint_eq(w_state(w, i, vi[i]), FCVI_STATE_CONNECTED);
    ck_assert_uint_ne(late.length, 0);
    ck_assert_uint_eq(answers, 0);

    struct fcvi_input in = {late.bytes, late.length, FCVI_SOF_I3, FCVI_EOF_T, FCVI_CRC_OK};
    fcvi_port_receive(w->port[0], w->now, &in);
    w_settle(w);
    ck_assert_uint_eq(answers, 1);
    ck_assert_uint_eq(answer[24 + 5] & 5u, 5); /* Table 9: RETRY and CONN_STS */
    ck_assert_uint_eq(answer[24 + 13], 0x05);  /* Table 12: Concurrent Matching Peer Requests */
    for (unsigned i = 0; i < 2; i++)
        ck_assert_uint_eq(w_state(w, i, vi[i]), FCVI_STATE_CONNECTED);
    w_run(w, 10 * W_R_A_TOV);
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_port_counts c;
        fcvi_port_count(w->port[i], &c);
        ck_assert_uint_eq(w_state(w, i, vi[i]), FCVI_STATE_CONNECTED);
        ck_assert_uint_eq(c.exchanges + c.setups + c.timers + c.frames, 0);
    }
    w_free(w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("peer overtaken");
    TCase *c = tcase_create("retry");
    tcase_add_test(c, retry_of_a_concurrent_peer_is_refused);
    suite_add_tcase(s, c);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
