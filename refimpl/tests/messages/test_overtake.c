/* On an Out-of-Order Fabric a Message may overtake the FCVI_CONNECT_RESP2 that allowed it (C.5.5, E74), or
 * the FCVI_CONNECT_RESP3 before it (C.5.10). */
#include "../world.h"

enum { LENGTH = 64, SERVER = 1 };

static struct flying kept; /* the RESP2 that has been overtaken */
static bool confirmed;     /* the server has answered it */

static bool keep_resp2(struct world *w, unsigned from, const struct fcvi_frame *f)
{
    (void)w;
    (void)from;
    confirmed |= f->iu == FCVI_IU_CONNECT_RESP3;
    if (f->iu != FCVI_IU_CONNECT_RESP2)
        return true;
    kept = (struct flying){.length = f->input.length, .sof = f->input.sof, .eof = f->input.eof};
    memcpy(kept.bytes, f->input.bytes, f->input.length);
    return false;
}

static unsigned answers; /* FCVI_SEND_RESP */

static bool keep_resp3(struct world *w, unsigned from, const struct fcvi_frame *f)
{
    (void)w;
    (void)from;
    answers += f->iu == FCVI_IU_SEND_RESP;
    if (f->iu != FCVI_IU_CONNECT_RESP3)
        return true;
    kept = (struct flying){.length = f->input.length, .sof = f->input.sof, .eof = f->input.eof};
    memcpy(kept.bytes, f->input.bytes, f->input.length);
    return false;
}

struct scene {
    struct world *w;
    uint32_t vi[2], mem[2];
    uint8_t bytes[2][LENGTH];
};

/* The client is connected; the filter keeps what comes then. */
static struct scene *begin_at(uint8_t level,
                              bool (*filter)(struct world *, unsigned, const struct fcvi_frame *))
{
    const struct fcvi_port_limits limits = {.vis = 2,
                                            .connectionpoints = 2,
                                            .exchanges = 32,
                                            .regions = 2,
                                            .descriptors = 2,
                                            .events = 256,
                                            .memory = 4096,
                                            .max_transfer_size = 4096};
    struct fcvi_attributes a = {.reliability = level, .max_transfer_size = 4096};
    struct scene *s = calloc(1, sizeof *s);
    s->w = calloc(1, sizeof *s->w);
    s->w->filter = filter;
    confirmed = false;
    answers = 0;
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_port_config c = w_config(i);
        uint32_t handle;
        c.out_of_order = true;
        w_add(s->w, &limits, &c);
        s->vi[i] = w_vi(s->w, i, &a);
        memset(s->bytes[i], 0x11 + (int)i, LENGTH);
        s->mem[i] = w_region(s->w, i, s->bytes[i], LENGTH, 0x1000, &handle);
    }
    struct fcvi_address here = w_address(0, 0xDD), there = w_address(1, 0xDD);
    fcvi_vip_connect_wait(s->w->port[1], 0, &there, FCVI_NEVER, 1);
    fcvi_vip_connect_request(s->w->port[0], 0, s->vi[0], &here, &there, FCVI_NEVER, 2);
    w_settle(s->w);
    fcvi_vip_connect_accept(s->w->port[1], 0, w_return(s->w, 1, 1)->conn, s->vi[1], 3);
    w_settle(s->w);
    ck_assert_int_eq(w_return(s->w, 0, 2)->vip, VIP_SUCCESS);
    return s;
}

/* It has sent, and the server waits for its FCVI_CONNECT_RESP2. */
static struct scene *begin(bool posted)
{
    struct scene *s = begin_at(FCVI_RELIABLE_DELIVERY, keep_resp2);
    if (posted)
        ck_assert_int_eq(w_post(s->w, 1, s->vi[1], FCVI_RECV, s->mem[1], 0, LENGTH, 0, 0), VIP_SUCCESS);
    ck_assert_int_eq(w_post(s->w, 0, s->vi[0], FCVI_SEND, s->mem[0], 0, LENGTH, 0, 0), VIP_SUCCESS);
    w_settle(s->w);
    ck_assert_ptr_null(w_return(s->w, 1, 3));
    return s;
}

static void arrive(struct scene *s, unsigned to)
{
    w_fly(s->w, to, kept.bytes, kept.length, kept.sof, kept.eof);
    w_settle(s->w);
}

static void end(struct scene *s)
{
    w_free(s->w);
    free(s);
}

START_TEST(test_good_message)
{
    struct scene *s = begin(true);
    ck_assert_mem_eq(s->bytes[1], s->bytes[0], LENGTH);
    ck_assert_uint_eq(w_state(s->w, 1, s->vi[1]), FCVI_STATE_PENDING_CONNECT);
    arrive(s, SERVER);
    ck_assert(confirmed);
    ck_assert_int_eq(w_return(s->w, 1, 3)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(w_state(s->w, 1, s->vi[1]), FCVI_STATE_CONNECTED);
    w_done(s->w, 1, s->vi[1], true, FCVI_STATUS_OP_RECEIVE, LENGTH);
    end(s);
}
END_TEST

/* 5.9.7.3, VI-DG 3.8.1: no Descriptor for it. The accept succeeds when RESP2 comes, on a VI in Error, and the
 * Disconnect that follows is one of an established connection: it names the handle, not the setup (6.12.2).
 */
static bool plain_disconnect;

static bool look_for_disconnect(struct world *w, unsigned from, const struct fcvi_frame *f)
{
    (void)w;
    if (f->iu == FCVI_IU_DISCONNECT_RQST && from == SERVER)
        plain_disconnect = !fcvi_DH_CONN_SETUP_ABORT(f->dh) && fcvi_DH_FCVI_CONNECTION_ID(f->dh) == 0;
    return true;
}

START_TEST(test_faulty_message)
{
    struct scene *s = begin(false);
    ck_assert_ptr_nonnull(w_error(s->w, 1, VIP_ERROR_RECVQ_EMPTY));
    ck_assert_uint_eq(w_state(s->w, 1, s->vi[1]), FCVI_STATE_ERROR);
    arrive(s, SERVER);
    ck_assert(confirmed);
    ck_assert_int_eq(w_return(s->w, 1, 3)->vip, VIP_SUCCESS);
    ck_assert_uint_eq(w_state(s->w, 1, s->vi[1]), FCVI_STATE_ERROR);
    s->w->filter = look_for_disconnect;
    plain_disconnect = false;
    ck_assert_int_eq(fcvi_vip_disconnect(s->w->port[1], s->w->now, s->vi[1], 4), FCVI_VIP_PENDING);
    w_settle(s->w);
    ck_assert(plain_disconnect);
    ck_assert_int_eq(w_return(s->w, 1, 4)->vip, VIP_SUCCESS);
    ck_assert_ptr_nonnull(w_error(s->w, 0, VIP_ERROR_CONN_LOST));
    end(s);
}
END_TEST

/* C.5.2: the accept does not wait longer than twice FCVI_ULP_TIMEOUT, whatever the Message was. */
START_TEST(test_resp2_never_comes)
{
    struct scene *s = begin(_i == 1);
    w_run(s->w, 2 * W_R_A_TOV);
    ck_assert_ptr_nonnull(w_return(s->w, 1, 3));
    ck_assert_int_eq(w_return(s->w, 1, 3)->vip, VIP_TIMEOUT);
    ck_assert_uint_eq(w_state(s->w, 1, s->vi[1]), FCVI_STATE_ERROR);
    ck_assert(!confirmed);
    end(s);
}
END_TEST

/* Reliable Reception: the data are there, and the client says so once its setup is confirmed. */
START_TEST(test_answer_waits_for_resp3)
{
    struct scene *s = begin_at(FCVI_RELIABLE_RECEPTION, keep_resp3);
    ck_assert_int_eq(w_post(s->w, 0, s->vi[0], FCVI_RECV, s->mem[0], 0, LENGTH, 0, 0), VIP_SUCCESS);
    ck_assert_int_eq(w_post(s->w, 1, s->vi[1], FCVI_SEND, s->mem[1], 0, LENGTH, 0, 0), VIP_SUCCESS);
    w_settle(s->w);
    ck_assert_mem_eq(s->bytes[0], s->bytes[1], LENGTH);
    ck_assert_uint_eq(answers, 0);
    arrive(s, 0);
    ck_assert_uint_eq(answers, 1);
    w_done(s->w, 1, s->vi[1], false, 0, LENGTH);
    end(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("overtaken setup");
    TCase *tc = tcase_create("RESP2");
    tcase_add_test(tc, test_good_message);
    tcase_add_test(tc, test_faulty_message);
    tcase_add_loop_test(tc, test_resp2_never_comes, 0, 2);
    tcase_add_test(tc, test_answer_waits_for_resp3);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
