/* Three ports in a ring over a Fabric that loses, corrupts, repeats and reorders frames by a seed: whatever
 * happens, every Descriptor completes once, in order, with a status that its Reliability Level allows, no
 * wrong byte is delivered as good, and in the end nothing is left (4.2, 8.4, VI-ARCH 2.5 and 6.3). */
#include "fabric_ring.h"

enum { SEEDS = 10 };

/* ---- what has to hold ---- */

static bool good(const struct fcvi_completion *c)
{
    return (c->status & FCVI_STATUS_ERROR_MASK) == 0;
}

/* Each Descriptor once, in the order in which they were posted. */
static void take(struct run *r, unsigned side)
{
    struct side *s = &r->side[side];
    for (unsigned recv = 0; recv < 2; recv++) {
        struct fcvi_completion c;
        struct completions *list = recv ? &s->received : &s->sent;
        while (fcvi_vip_done(r->w->port[s->end.port], f_now(r->w), s->end.vi, recv, &c) != VIP_NOT_DONE) {
            if (c.status == 0)
                break;
            ck_assert_uint_lt(list->count, POSTS);
            ck_assert_uint_eq(c.cookie, list->count);
            ck_assert(c.status & FCVI_STATUS_DONE);
            list->completion[list->count++] = c;
        }
    }
}

static bool takes_descriptor(const struct plan *m)
{
    return m->op == FCVI_SEND || (m->op == FCVI_RDMA_WRITE && m->immediate);
}

/* Message n of the other side is what this receive Descriptor tells of. */
static bool is_message(const struct run *r, unsigned side, unsigned nth, unsigned n)
{
    const struct plan *m = &r->side[side ^ 1].plan[n];
    const struct fcvi_completion *c = &r->side[side].received.completion[nth];
    const uint8_t *at = m->op == FCVI_SEND ? bytes(r, side, IN, nth) : bytes(r, side, REMOTE, n);
    bool same = m->length == c->length && m->immediate == ((c->status & FCVI_STATUS_IMMEDIATE) != 0) &&
                (!m->immediate || c->immediate == 0x1000 + n);
    for (uint32_t k = 0; k < m->length && same; k++)
        same = at[k] == pattern(side ^ 1, n, k);
    return same;
}

/* A receive Descriptor that succeeded holds a Message of the other side, later than the one before; on a
 * reliable VI the very next one. Returns how many Messages of the other side that accounts for. */
static unsigned check_receives(const struct run *r, unsigned side)
{
    const struct side *s = &r->side[side];
    unsigned next = 0;
    for (unsigned nth = 0; nth < s->received.count; nth++) {
        bool found = !good(&s->received.completion[nth]);
        for (; next < POSTS && !found; next++) {
            bool takes = takes_descriptor(&r->side[side ^ 1].plan[next]);
            found = takes && is_message(r, side, nth, next);
            ck_assert(found || !takes || r->level == FCVI_UNRELIABLE);
        }
        ck_assert_msg(found, "receive Descriptor %u holds no Message that was sent", nth);
    }
    return next;
}

/* VI-ARCH 2.5: on Reliable Reception a Descriptor succeeds only when the other side has the Message; an RDMA
 * Read only with the right bytes. */
static void check_sends(const struct run *r, unsigned side, unsigned arrived)
{
    const struct side *s = &r->side[side];
    for (unsigned n = 0; n < s->sent.count; n++) {
        const struct plan *m = &s->plan[n];
        if (!good(&s->sent.completion[n]))
            continue;
        ck_assert_uint_eq(s->sent.completion[n].length, m->length);
        if (r->level == FCVI_RELIABLE_RECEPTION && takes_descriptor(m))
            ck_assert_uint_lt(n, arrived);
        const uint8_t *at = bytes(r, side, OUT, n);
        bool right = true;
        for (uint32_t k = 0; k < m->length; k++) /* what was sent is as it was; what was read is right */
            right &= at[k] == pattern(side, n, k);
        ck_assert(right);
    }
}

/* After an error on a reliable VI nothing succeeds any more (VI-ARCH 2.5.2, Annex E). */
static void check_prefix(const struct completions *list)
{
    bool failed = false;
    for (unsigned n = 0; n < POSTS; n++) {
        ck_assert(!failed || !good(&list->completion[n]));
        failed |= !good(&list->completion[n]);
    }
}

/* What lost, corrupted and repeated frames may lead to (VI-DG 5.2); an error after part of the Message was
 * sent is never told alone. A Send or RDMA Write of Unreliable Delivery cannot fail in class 3; in class 2 it
 * may be aborted for want of an ACK before all of it was sent. */
static uint32_t allowed(const struct run *r, const struct plan *m)
{
    bool detects = m == NULL || m->op == FCVI_RDMA_READ || r->level == FCVI_RELIABLE_RECEPTION ||
                   (r->level == FCVI_UNRELIABLE && r->service_class == 2);
    return detects ? FCVI_STATUS_TRANSPORT_ERROR | FCVI_STATUS_PARTIAL_ERROR : 0;
}

static void check_status(const struct run *r, const struct completions *list, const struct plan *plan)
{
    static const uint32_t sent[] = {0, FCVI_STATUS_OP_RDMA_WRITE, FCVI_STATUS_OP_RDMA_READ};
    for (unsigned n = 0; n < POSTS; n++) {
        const struct plan *m = plan != NULL ? &plan[n] : NULL;
        uint32_t status = list->completion[n].status, errors = status & FCVI_STATUS_ERROR_MASK;
        uint32_t rest = status & ~(uint32_t)(FCVI_STATUS_ERROR_MASK | FCVI_STATUS_DONE);
        if (m != NULL)
            ck_assert_uint_eq(rest, sent[m->op]);
        else if (rest != FCVI_STATUS_OP_RECEIVE && errors == 0)
            ck_assert(rest == (FCVI_STATUS_OP_RECEIVE | FCVI_STATUS_IMMEDIATE) ||
                      rest == (FCVI_STATUS_OP_REMOTE_RDMA_WRITE | FCVI_STATUS_IMMEDIATE));
        ck_assert_msg(errors == FCVI_STATUS_DESC_FLUSHED_ERROR || (errors & ~allowed(r, m)) == 0, "%08x",
                      status);
        ck_assert(m == NULL || errors != FCVI_STATUS_PARTIAL_ERROR);
    }
}

/* With nothing lost any more every end becomes Idle, and what was left of its Descriptors is flushed. */
static void close_all(struct run *r)
{
    spare(r, true);
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < ENDS; i++) {
            fcvi_vip_disconnect(r->w->port[r->side[i].end.port], f_now(r->w), r->side[i].end.vi, 77);
            f_run(r->w, 10 * (uint64_t)W_R_A_TOV);
            take(r, i);
        }
    for (unsigned i = 0; i < ENDS; i++) {
        ck_assert_uint_eq(f_state(r->w, r->side[i].end.port, r->side[i].end.vi), FCVI_STATE_IDLE);
        ck_assert_uint_eq(r->side[i].sent.count, POSTS);
        ck_assert_uint_eq(r->side[i].received.count, POSTS);
    }
    struct fcvi_fabric_counters c;
    fcvi_fabric_count(r->w->fabric, &c);
    ck_assert_uint_eq(c.overflow, 0);
    f_nothing_left(r->w);
}

/* A thousand seeds in a hundred tests. */
START_TEST(every_descriptor_completes)
{
    for (unsigned k = 0; k < SEEDS; k++) {
        struct run r = ring_begin((uint64_t)_i * SEEDS + k + 1);
        post_all(&r);
        f_run(r.w, 20 * (uint64_t)W_R_A_TOV);
        for (unsigned i = 0; i < ENDS; i++)
            take(&r, i);
        close_all(&r);
        for (unsigned i = 0; i < ENDS; i++) {
            check_sends(&r, i, check_receives(&r, i ^ 1));
            check_status(&r, &r.side[i].sent, r.side[i].plan);
            check_status(&r, &r.side[i].received, NULL);
            if (r.level == FCVI_UNRELIABLE)
                continue;
            check_prefix(&r.side[i].sent);
            check_prefix(&r.side[i].received);
        }
        f_free(r.w);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fabric_seeds");
    TCase *t = tcase_create("faults");
    tcase_set_timeout(t, 60);
    const char *wanted = getenv("FCVI_SEED_TESTS"); /* sanitizers and valgrind take fewer */
    tcase_add_loop_test(t, every_descriptor_completes, 0, wanted != NULL ? atoi(wanted) : 100);
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
