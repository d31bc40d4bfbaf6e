/* One fault of the Fabric at one IU: what the ports make of it (Annex B rule 8, Annex C). */
#include "fabric_topology.h"

enum { LENGTH = 5000 };

/* FCVI_OPCODE (Table 1) */
static const uint8_t opcodes[] = {0x10, 0x18, 0x19, 0x1A, 0x00, 0x01, 0x02, 0x08, 0x09, 0x0A, 0x12, 0x1B};
enum { OPCODES = sizeof opcodes };

struct pair {
    struct fworld *w;
    struct end a, b;
    uint32_t rule;
};

/* Two ports in a Fabric, and a rule for the first frame with that FCVI_OPCODE. */
static struct pair pair_begin(uint8_t service_class, bool out_of_order, uint8_t level, uint8_t opcode,
                              enum fcvi_fabric_action action)
{
    struct fcvi_fabric_config config = f_config(FCVI_FABRIC);
    config.out_of_order = out_of_order;
    struct pair p = {.w = begin_with(&settings[service_class == 2 ? FABRICS + 1 : FABRICS], 2, &config)};
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(action);
    rule.opcode = opcode;
    rule.count = 1;
    rule.delay_us = 5000;
    p.rule = fcvi_fabric_rule_add(p.w->fabric, &rule);
    p.a = f_end(p.w, 0, level);
    p.b = f_end(p.w, 1, level);
    return p;
}

static void pair_end(struct pair *p)
{
    f_disconnect(p->w, p->a, p->b);
    f_nothing_left(p->w);
    f_free(p->w);
}

/* An RDMA operation of a: what b has in the upper half of its memory is written or read. */
static void rdma(struct pair *p, enum fcvi_op op)
{
    struct fworld *w = p->w;
    uint8_t *here = fcvi_port_memory(w->port[0], w->mem[0], 0, LENGTH);
    uint8_t *there = fcvi_port_memory(w->port[1], w->mem[1], F_ROOM / 2, LENGTH);
    for (unsigned k = 0; k < LENGTH; k++) {
        here[k] = (uint8_t)(k * 11 + k / 256);
        there[k] = (uint8_t)~here[k];
    }
    f_post(w, p->a, op, (struct fcvi_segment){w->mem[0], 0, LENGTH}, w->va[1] + F_ROOM / 2, w->handle[1]);
    f_settle(w);
    f_done(w, p->a, false, op == FCVI_RDMA_READ ? FCVI_STATUS_OP_RDMA_READ : FCVI_STATUS_OP_RDMA_WRITE,
           LENGTH);
    ck_assert_mem_eq(here, there, LENGTH);
    ck_assert_uint_eq(here[0], op == FCVI_RDMA_READ ? 0xFF : 0);
}

/* Everything once: Connection, each operation, Disconnect. */
static void everything(struct pair *p, uint8_t level)
{
    ck_assert_int_eq(f_connect(p->w, p->a, p->b), VIP_SUCCESS);
    f_message(p->w, p->a, p->b);
    f_message(p->w, p->b, p->a);
    rdma(p, FCVI_RDMA_WRITE);
    if (level != FCVI_UNRELIABLE)
        rdma(p, FCVI_RDMA_READ);
    f_both_are(p->w, p->a, p->b, FCVI_STATE_CONNECTED);
}

/* Does anything of that level carry the FCVI_OPCODE? */
static bool occurs(uint8_t opcode, uint8_t level)
{
    if (opcode == 0x08 || opcode == 0x09)
        return level == FCVI_RELIABLE_RECEPTION;
    return level != FCVI_UNRELIABLE || (opcode != 0x02 && opcode != 0x0A);
}

/* A frame that comes late, but before any timer, does no harm. _i: IU, level, class, kind of Fabric */
START_TEST(delayed)
{
    uint8_t opcode = opcodes[_i % OPCODES], level = (uint8_t)(1 + _i / OPCODES % 3);
    uint8_t service_class = (uint8_t)(2 + _i / OPCODES / 3 % 2);
    struct pair p = pair_begin(service_class, _i / OPCODES / 6, level, opcode, FCVI_ACT_DELAY);
    everything(&p, level);
    ck_assert_uint_eq(f_errors(p.w, 0, p.a.vi, VIP_ERROR_CONN_LOST), 0);
    f_disconnect(p.w, p.a, p.b);
    ck_assert_uint_eq(fcvi_fabric_hits(p.w->fabric, p.rule), occurs(opcode, level));
    pair_end(&p);
}
END_TEST

/* ---- setups ---- */

/* VipConnectRequest, accepted whenever it comes; both results. */
static void connect_anyhow(struct pair *p, int result[2])
{
    struct fworld *w = p->w;
    struct fcvi_address here = w_address(0, 0xDD), there = w_address(1, 0xDD);
    unsigned accepted = 0;
    ck_assert_int_eq(fcvi_vip_connect_wait(w->port[1], f_now(w), &there, 9 * (uint64_t)W_R_A_TOV, 1),
                     FCVI_VIP_PENDING);
    ck_assert_int_eq(fcvi_vip_connect_request(w->port[0], f_now(w), p->a.vi, &here, &there, FCVI_NEVER, 2),
                     FCVI_VIP_PENDING);
    for (unsigned k = 0; k < 1000; k++) {
        f_run(w, W_R_A_TOV / 100);
        const struct fcvi_event *e = f_return(w, 1, 1);
        if (e != NULL && e->vip == VIP_SUCCESS && accepted++ == 0)
            ck_assert_int_eq(fcvi_vip_connect_accept(w->port[1], f_now(w), e->conn, p->b.vi, 3),
                             FCVI_VIP_PENDING);
    }
    ck_assert_ptr_nonnull(f_return(w, 0, 2));
    result[0] = f_return(w, 0, 2)->vip;
    result[1] = f_return(w, 1, 3) != NULL ? f_return(w, 1, 3)->vip : -1;
}

static const enum fcvi_fabric_action losses[] = {FCVI_ACT_DROP, FCVI_ACT_CORRUPT, FCVI_ACT_EOF_NI,
                                                 FCVI_ACT_F_BSY, FCVI_ACT_F_RJT};
enum { REJECTED = 4, LOSSES = sizeof losses / sizeof *losses };
enum { RQST = 0x10, RESP1 = 0x18, RESP2 = 0x19, RESP3 = 0x1A };

/* i: how it is lost, class */
static struct pair setup_with_loss(int i, uint8_t opcode, int result[2])
{
    struct pair p =
        pair_begin((uint8_t)(2 + i / LOSSES), false, FCVI_RELIABLE_DELIVERY, opcode, losses[i % LOSSES]);
    connect_anyhow(&p, result);
    ck_assert_uint_eq(fcvi_fabric_hits(p.w->fabric, p.rule), 1);
    return p;
}

static void expect_second_try(int i, uint8_t opcode)
{
    int result[2];
    struct pair p = setup_with_loss(i, opcode, result);
    ck_assert_int_eq(result[0], VIP_SUCCESS);
    ck_assert_int_eq(result[1], VIP_SUCCESS);
    f_both_are(p.w, p.a, p.b, FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(p.w->iu[0][FCVI_IU_CONNECT_RQST], 2);
    f_message(p.w, p.a, p.b);
    f_message(p.w, p.b, p.a);
    pair_end(&p);
}

/* C.5.7, C.5.8: the request is made again, and the Connection with it. */
START_TEST(lost_rqst)
{
    expect_second_try(_i, RQST);
}
END_TEST

START_TEST(lost_resp1)
{
    expect_second_try(_i, RESP1);
}
END_TEST

/* In class 2 the server learns at once that its answer was rejected, and its setup is over before the client
 * asks again. */
START_TEST(rejected_resp1)
{
    int result[2];
    struct pair p = setup_with_loss(REJECTED, RESP1, result);
    ck_assert_int_eq(result[0], VIP_NO_MATCH);
    ck_assert_int_eq(result[1], VIP_TIMEOUT);
    ck_assert_uint_eq(f_state(p.w, 0, p.a.vi), FCVI_STATE_IDLE);
    ck_assert_uint_eq(f_state(p.w, 1, p.b.vi), FCVI_STATE_ERROR);
    pair_end(&p);
}
END_TEST

/* C.5.9: the client had its result before, and loses the Connection; the server does not get one. */
START_TEST(lost_resp2)
{
    int result[2];
    struct pair p = setup_with_loss(_i, RESP2, result);
    ck_assert_int_eq(result[0], VIP_SUCCESS);
    ck_assert_int_eq(result[1], VIP_TIMEOUT);
    f_both_are(p.w, p.a, p.b, FCVI_STATE_ERROR);
    ck_assert_uint_eq(f_errors(p.w, 0, p.a.vi, VIP_ERROR_CONN_LOST), 1);
    pair_end(&p);
}
END_TEST

/* C.5.10: the server holds the Connection until the client disconnects. */
START_TEST(lost_resp3)
{
    int result[2];
    struct pair p = setup_with_loss(_i, RESP3, result);
    ck_assert_int_eq(result[0], VIP_SUCCESS);
    ck_assert_int_eq(result[1], VIP_SUCCESS);
    ck_assert_uint_eq(f_state(p.w, 0, p.a.vi), FCVI_STATE_ERROR);
    ck_assert_uint_eq(f_errors(p.w, 0, p.a.vi, VIP_ERROR_CONN_LOST), 1);
    ck_assert_uint_eq(f_state(p.w, 1, p.b.vi), FCVI_STATE_CONNECTED);
    ck_assert_int_eq(fcvi_vip_disconnect(p.w->port[0], f_now(p.w), p.a.vi, 9), FCVI_VIP_PENDING);
    f_settle(p.w);
    ck_assert_uint_eq(f_state(p.w, 1, p.b.vi), FCVI_STATE_ERROR);
    ck_assert_uint_eq(f_errors(p.w, 1, p.b.vi, VIP_ERROR_CONN_LOST), 1);
    pair_end(&p);
}
END_TEST

/* ---- Messages in class 2 (rule 8) ---- */

/* A Send of three frames, the second of which suffers that. */
static struct pair faulty_send(uint8_t level, bool out_of_order, enum fcvi_fabric_action action)
{
    struct pair p = pair_begin(2, out_of_order, level, 0xFF, FCVI_ACT_PASS);
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any(action);
    rule.opcode = 0;
    rule.skip = rule.count = 1;
    p.rule = fcvi_fabric_rule_add(p.w->fabric, &rule);
    ck_assert_int_eq(f_connect(p.w, p.a, p.b), VIP_SUCCESS);
    return p;
}

/* 8b: what was busy is sent again. */
START_TEST(busy_out_of_order)
{
    struct pair p = faulty_send((uint8_t)(1 + _i), true, FCVI_ACT_F_BSY);
    f_message(p.w, p.a, p.b);
    ck_assert_uint_eq(fcvi_fabric_hits(p.w->fabric, p.rule), 1);
    f_message(p.w, p.a, p.b);
    pair_end(&p);
}
END_TEST

static void take_all(struct pair *p)
{
    const struct end end[] = {p->a, p->b};
    struct fcvi_completion done;
    for (unsigned i = 0; i < 4; i++)
        while (fcvi_vip_done(p->w->port[i / 2], f_now(p->w), end[i / 2].vi, i % 2, &done) != VIP_NOT_DONE &&
               done.status != 0)
            continue;
}

/* 8a, 8c, 8e: the Exchange is aborted. Of Unreliable Delivery the Message is lost and no more; a reliable VI
 * goes to Error, and so does the other one. _i: level, what happens, In-Order or Out-of-Order Fabric. */
START_TEST(aborted)
{
    static const enum fcvi_fabric_action actions[] = {FCVI_ACT_F_RJT, FCVI_ACT_DROP, FCVI_ACT_F_BSY};
    static const uint32_t status[] = {0, FCVI_STATUS_DESC_FLUSHED_ERROR, FCVI_STATUS_TRANSPORT_ERROR};
    bool reliable = _i % 3 != 0;
    struct pair p = faulty_send((uint8_t)(1 + _i % 3), _i >= 9, actions[_i / 3 % 3]);
    struct fworld *w = p.w;
    struct fcvi_completion done;
    f_post(w, p.b, FCVI_RECV, (struct fcvi_segment){w->mem[1], 0, LENGTH}, 0, 0);
    f_post(w, p.a, FCVI_SEND, (struct fcvi_segment){w->mem[0], 0, LENGTH}, 0, 0);
    f_run(w, 5 * (uint64_t)W_R_A_TOV);
    ck_assert_uint_eq(fcvi_fabric_hits(w->fabric, p.rule), 1);
    fcvi_vip_done(w->port[0], f_now(w), p.a.vi, false, &done);
    ck_assert_uint_eq(done.status, status[_i % 3] | FCVI_STATUS_DONE);
    ck_assert_int_ne(fcvi_vip_done(w->port[1], f_now(w), p.b.vi, true, &done), VIP_SUCCESS);
    f_both_are(w, p.a, p.b, reliable ? FCVI_STATE_ERROR : FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(f_errors(w, 0, p.a.vi, VIP_ERROR_CONN_LOST), reliable);
    ck_assert_uint_eq(f_errors(w, 1, p.b.vi, VIP_ERROR_CONN_LOST), reliable);
    f_disconnect(w, p.a, p.b);
    take_all(&p);
    pair_end(&p);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_faults");
    TCase *t = tcase_create("faults");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, delayed, 0, OPCODES * 12);
    tcase_add_loop_test(t, lost_rqst, 0, 2 * LOSSES);
    tcase_add_loop_test(t, lost_resp1, 0, REJECTED);
    tcase_add_loop_test(t, lost_resp1, LOSSES, 2 * LOSSES);
    tcase_add_test(t, rejected_resp1);
    tcase_add_loop_test(t, lost_resp2, 0, 2 * LOSSES);
    tcase_add_loop_test(t, lost_resp3, 0, 2 * LOSSES);
    tcase_add_loop_test(t, busy_out_of_order, 0, 3);
    tcase_add_loop_test(t, aborted, 0, 15); /* busy and out of order is 8b */
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
