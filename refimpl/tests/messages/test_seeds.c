/* Two ports under seeded loss, corruption, duplication and reordering: whatever happens, every Descriptor
 * completes once, in order, with a status that its Reliability Level allows, no wrong byte is ever delivered
 * as good, and in the end nothing is left (4.2, 8.4, VI-ARCH 2.5 and 6.3). And: a checkpoint put back goes on
 * as the original did. */
#include "../world.h"

enum { SEEDS = 100, POSTS = 8, SLOT = 8192, ROUNDS = 3 };

static const struct fcvi_port_limits limits = {.vis = 2,
                                               .connectionpoints = 2,
                                               .exchanges = 64,
                                               .regions = 4,
                                               .descriptors = POSTS,
                                               .events = 512,
                                               .max_transfer_size = SLOT,
                                               .held_frames = 16,
                                               .runs = 64};

struct message_plan {
    uint8_t op;
    bool immediate;
    uint32_t length;
};

struct side {
    uint32_t vi, mem, handle, target, target_handle;
    uint8_t *out, *in, *remote; /* what it sends, where it receives, what the other side may write and read */
    struct message_plan plan[POSTS];
    struct fcvi_completion sent[POSTS], received[POSTS];
    unsigned sends, receives;
};

struct run {
    struct world *w;
    struct side side[2];
    uint8_t level;
};

/* A byte of Message n of side s. */
static uint8_t pattern(unsigned s, unsigned n, uint32_t at)
{
    return (uint8_t)(s * 101 + n * 37 + at * 13 + (at >> 8));
}

static void make_side(struct run *r, unsigned i)
{
    struct side *s = &r->side[i];
    s->out = malloc((size_t)POSTS * SLOT);
    s->in = calloc(POSTS, SLOT);
    s->remote = calloc(POSTS, SLOT);
    s->mem = w_region(r->w, i, s->out, POSTS * SLOT, 0x100000, &s->handle);
    uint32_t receive = w_region(r->w, i, s->in, POSTS * SLOT, 0x300000, &s->target_handle);
    s->target = w_region(r->w, i, s->remote, POSTS * SLOT, 0x200000, &s->target_handle);
    (void)receive;
    for (unsigned n = 0; n < POSTS; n++) {
        struct message_plan *m = &s->plan[n];
        m->op = (uint8_t)(w_random(r->w) % (r->level == FCVI_UNRELIABLE ? 2 : 3));
        m->immediate = m->op != FCVI_RDMA_READ && w_random(r->w) % 3 == 0;
        m->length = (uint32_t)(w_random(r->w) % 4 == 0 ? w_random(r->w) % 3 : w_random(r->w) % SLOT);
        for (uint32_t k = 0; k < m->length; k++)
            s->out[n * SLOT + k] = m->op == FCVI_RDMA_READ ? 0 : pattern(i, n, k);
    }
}

static void post_all(struct run *r, unsigned i)
{
    struct side *s = &r->side[i], *other = &r->side[1 - i];
    static struct fcvi_descriptor d;
    for (unsigned n = 0; n < POSTS; n++) {
        memset(&d, 0, offsetof(struct fcvi_descriptor, segment));
        d.op = FCVI_RECV;
        d.segments = 1;
        d.cookie = n;
        d.segment[0] = (struct fcvi_segment){1, n * SLOT, SLOT}; /* region 1 is `in` on both sides */
        ck_assert_int_eq(fcvi_vip_post(r->w->port[i], r->w->now, s->vi, &d), VIP_SUCCESS);
    }
    for (unsigned n = 0; n < POSTS; n++) {
        memset(&d, 0, offsetof(struct fcvi_descriptor, segment));
        d.op = s->plan[n].op;
        d.segments = 1;
        d.cookie = n;
        d.has_immediate = s->plan[n].immediate;
        d.immediate = 0x1000 + n;
        d.segment[0] = (struct fcvi_segment){s->mem, n * SLOT, s->plan[n].length};
        d.remote_va = 0x200000 + n * SLOT;
        d.remote_handle = other->target_handle;
        ck_assert_int_eq(fcvi_vip_post(r->w->port[i], r->w->now, s->vi, &d), VIP_SUCCESS);
        if (d.op == FCVI_RDMA_READ)
            for (uint32_t k = 0; k < s->plan[n].length; k++)
                other->remote[n * SLOT + k] = pattern(i, n, k);
    }
}

/* ---- what has to hold ---- */

static bool good(const struct fcvi_completion *c)
{
    return (c->status & FCVI_STATUS_ERROR_MASK) == 0;
}

static void take(struct run *r, unsigned i)
{
    struct side *s = &r->side[i];
    struct fcvi_completion c;
    int code;
    while ((code = fcvi_vip_done(r->w->port[i], r->w->now, s->vi, false, &c)) == VIP_SUCCESS ||
           (code == VIP_DESCRIPTOR_ERROR && c.status != 0)) {
        ck_assert_uint_lt(s->sends, POSTS);
        ck_assert_uint_eq(c.cookie, s->sends);
        s->sent[s->sends++] = c;
    }
    while ((code = fcvi_vip_done(r->w->port[i], r->w->now, s->vi, true, &c)) == VIP_SUCCESS ||
           (code == VIP_DESCRIPTOR_ERROR && c.status != 0)) {
        ck_assert_uint_lt(s->receives, POSTS);
        ck_assert_uint_eq(c.cookie, s->receives);
        s->received[s->receives++] = c;
    }
}

/* After an error on a reliable VI nothing succeeds any more (VI-ARCH 2.5.2, Annex E). */
static void check_prefix(const struct fcvi_completion *list, unsigned count)
{
    bool failed = false;
    for (unsigned n = 0; n < count; n++) {
        ck_assert(!failed || !good(&list[n]));
        failed |= !good(&list[n]);
    }
}

/* A receive Descriptor that succeeded holds one Message that the other side sent, later than the one before;
 * on a reliable VI the very next one. Returns how many Messages of the other side that accounts for. */
static unsigned check_receives(const struct run *r, unsigned i)
{
    const struct side *s = &r->side[i], *other = &r->side[1 - i];
    unsigned next = 0;
    for (unsigned n = 0; n < s->receives; n++) {
        const struct fcvi_completion *c = &s->received[n];
        if (!good(c))
            continue;
        bool found = false;
        for (; next < POSTS && !found; next++) {
            const struct message_plan *m = &other->plan[next];
            bool takes = m->op == FCVI_SEND || (m->op == FCVI_RDMA_WRITE && m->immediate);
            if (!takes)
                continue;
            bool same = m->length == c->length &&
                        m->immediate == ((c->status & FCVI_STATUS_IMMEDIATE) != 0) &&
                        (!m->immediate || c->immediate == 0x1000 + next);
            const uint8_t *at = m->op == FCVI_SEND ? s->in + n * SLOT : s->remote + next * SLOT;
            for (uint32_t k = 0; k < m->length && same; k++)
                same = at[k] == pattern(1 - i, next, k);
            ck_assert(same || r->level == FCVI_UNRELIABLE);
            found = same;
        }
        ck_assert_msg(found, "receive Descriptor %u holds no Message that was sent", n);
    }
    return next;
}

/* VI-ARCH 2.5: on Reliable Reception a Descriptor succeeds only when the other side has the Message; an RDMA
 * Read only with the right bytes. */
static void check_sends(const struct run *r, unsigned i, unsigned arrived)
{
    const struct side *s = &r->side[i];
    for (unsigned n = 0; n < s->sends; n++) {
        const struct message_plan *m = &s->plan[n];
        if (!good(&s->sent[n]))
            continue;
        ck_assert_uint_eq(s->sent[n].length, m->length);
        bool takes = m->op == FCVI_SEND || (m->op == FCVI_RDMA_WRITE && m->immediate);
        if (r->level == FCVI_RELIABLE_RECEPTION && takes)
            ck_assert_uint_lt(n, arrived);
        if (m->op == FCVI_RDMA_READ)
            for (uint32_t k = 0; k < m->length; k++)
                ck_assert_uint_eq(s->out[n * SLOT + k], pattern(i, n, k));
    }
}

static void close_both(struct run *r)
{
    struct world *w = r->w;
    w->loss = w->duplication = w->corruption = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < 2; i++) {
            fcvi_vip_disconnect(w->port[i], w->now, r->side[i].vi, 77);
            w_run(w, 10 * W_R_A_TOV);
            take(r, i);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_port_counts c;
        fcvi_port_count(w->port[i], &c);
        ck_assert_uint_eq(w_state(w, i, r->side[i].vi), FCVI_STATE_IDLE);
        ck_assert_uint_eq(r->side[i].sends, POSTS);
        ck_assert_uint_eq(r->side[i].receives, POSTS);
        ck_assert_uint_eq(
            c.exchanges + c.setups + c.timers + c.frames + c.held_frames + c.entries + c.segments, 0);
        ck_assert_uint_eq(c.events_lost, 0);
    }
}

static struct run begin(uint64_t seed, enum fcvi_edition edition)
{
    struct run r = {.w = calloc(1, sizeof *r.w)};
    r.w->random = seed;
    r.w->edition = edition;
    r.level = (uint8_t)(1 + w_random(r.w) % 3);
    bool out_of_order = w_random(r.w) % 2;
    uint8_t service_class = (uint8_t)(2 + w_random(r.w) % 2);
    uint32_t iu_size = w_random(r.w) % 2 ? 2080 : 0, depth = (uint32_t)(w_random(r.w) % 4);
    bool ack_0 = w_random(r.w) % 2;
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_port_config c = w_config(i);
        c.out_of_order = out_of_order;
        c.service_class = service_class;
        c.iu_size = iu_size;
        c.ack_0 = ack_0;
        c.revision = (uint8_t)edition;
        w_add(r.w, &limits, &c);
        struct fcvi_attributes a = {.reliability = r.level,
                                    .rdma_write = true,
                                    .rdma_read = r.level != FCVI_UNRELIABLE,
                                    .pipeline_depth = depth};
        r.side[i].vi = w_vi(r.w, i, &a);
        make_side(&r, i);
    }
    w_connect(r.w, r.side[0].vi, r.side[1].vi);
    r.w->latency = 50;
    r.w->jitter = out_of_order ? 1 + w_random(r.w) % 2000 : 0;
    r.w->loss = w_random(r.w) % 2 ? 20000 : 0;
    r.w->corruption = w_random(r.w) % 4 == 0 ? 10000 : 0;
    r.w->duplication = w_random(r.w) % 2 ? 20000 : 0;
    return r;
}

static void end(struct run *r)
{
    for (unsigned i = 0; i < 2; i++) {
        free(r->side[i].out);
        free(r->side[i].in);
        free(r->side[i].remote);
    }
    w_free(r->w);
}

static void descriptors_complete(uint64_t first, enum fcvi_edition edition)
{
    for (unsigned k = 0; k < SEEDS; k++) {
        struct run r = begin(first + k, edition);
        post_all(&r, 0);
        post_all(&r, 1);
        w_run(r.w, 20 * W_R_A_TOV);
        take(&r, 0);
        take(&r, 1);
        close_both(&r);
        for (unsigned i = 0; i < 2; i++) {
            unsigned arrived = check_receives(&r, 1 - i);
            check_sends(&r, i, arrived);
            if (r.level != FCVI_UNRELIABLE) {
                check_prefix(r.side[i].sent, POSTS);
                check_prefix(r.side[i].received, POSTS);
            }
        }
        end(&r);
    }
}

/* Ten thousand seeds in a hundred tests. */
START_TEST(every_descriptor_completes)
{
    descriptors_complete((uint64_t)_i * SEEDS + 1, FCVI_EDITION_2007);
}
END_TEST

START_TEST(every_descriptor_completes_in_rev1)
{
    descriptors_complete((uint64_t)_i * SEEDS + 1, FCVI_EDITION_REV1);
}
END_TEST

/* Without a fault everything succeeds. */
static void goes_well(uint64_t seed, enum fcvi_edition edition)
{
    struct run r = begin(seed, edition);
    r.w->loss = r.w->corruption = r.w->duplication = 0;
    post_all(&r, 0);
    post_all(&r, 1);
    w_run(r.w, W_R_A_TOV / 2);
    take(&r, 0);
    take(&r, 1);
    for (unsigned i = 0; i < 2; i++) {
        unsigned takes = 0;
        for (unsigned n = 0; n < POSTS; n++)
            takes += r.side[i].plan[n].op == FCVI_SEND ||
                     (r.side[i].plan[n].op == FCVI_RDMA_WRITE && r.side[i].plan[n].immediate);
        ck_assert_uint_eq(r.side[i].sends, POSTS);
        ck_assert_uint_eq(r.side[1 - i].receives, takes);
        for (unsigned n = 0; n < POSTS; n++)
            ck_assert_msg(good(&r.side[i].sent[n]), "side %u, Message %u: %08x", i, n,
                          r.side[i].sent[n].status);
    }
    close_both(&r);
    check_receives(&r, 0);
    check_receives(&r, 1);
    end(&r);
}

START_TEST(all_goes_well)
{
    goes_well((uint64_t)_i + 1000000, FCVI_EDITION_2007);
}
END_TEST

START_TEST(all_goes_well_in_rev1)
{
    goes_well((uint64_t)_i + 1000000, FCVI_EDITION_REV1);
}
END_TEST

/* ---- checkpoints ---- */

static uint64_t digest(uint64_t h, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return h;
}

/* Everything that port 1 says to a fixed script of frames and times. */
static uint64_t play(struct fcvi_port *port, struct flying *const *script, size_t count)
{
    uint64_t h = 14695981039346656037u;
    uint8_t out[W_FRAME];
    struct fcvi_transmitted meta;
    struct fcvi_event e;
    for (size_t i = 0; i < count; i++) {
        struct fcvi_input in = {script[i]->bytes, script[i]->length, script[i]->sof, script[i]->eof,
                                script[i]->crc};
        fcvi_port_receive(port, script[i]->due, &in);
        for (size_t n; (n = fcvi_port_transmit(port, script[i]->due, out, sizeof out, &meta)) > 0;)
            h = digest(digest(h, out, n), &meta, sizeof meta);
        while (fcvi_port_event(port, &e))
            h = digest(h, &e, sizeof e);
        uint64_t deadline = fcvi_port_deadline(port);
        h = digest(h, &deadline, sizeof deadline);
    }
    return h;
}

/* The frames that reach port 1 are recorded; then it hears them again from a checkpoint, twice, one of them
 * interrupted by a copy to another place in the middle. */
static void checkpoint(uint64_t seed, enum fcvi_edition edition)
{
    struct run r = begin(seed, edition);
    struct world *w = r.w;
    post_all(&r, 0);
    post_all(&r, 1);
    w_quiet(w);
    size_t size = w->size[1], count = 0, room = 4096;
    void *saved = malloc(size), *copy = malloc(size), *moved = malloc(size);
    memcpy(saved, w->port[1], size);
    struct flying **script = malloc(room * sizeof *script);
    while (count < room) {
        if (w->flying > 0 && w->heap[0]->to == 1) {
            script[count] = malloc(sizeof **script);
            *script[count++] = *w->heap[0];
        }
        if (!w_step(w, w->now + W_R_A_TOV))
            break;
    }
    memcpy(copy, saved, size);
    uint64_t straight = play(copy, script, count);
    memcpy(copy, saved, size);
    uint64_t first = play(copy, script, count / 2);
    memcpy(moved, copy, size);
    memset(copy, 0xA5, size);
    uint64_t second = play(moved, script + count / 2, count - count / 2);
    memcpy(copy, saved, size);
    ck_assert_uint_eq(play(copy, script, count / 2), first);
    ck_assert_uint_eq(play(copy, script + count / 2, count - count / 2), second);
    memcpy(copy, saved, size);
    ck_assert_uint_eq(play(copy, script, count), straight);
    ck_assert_mem_eq(copy, moved, size);
    for (size_t i = 0; i < count; i++)
        free(script[i]);
    free(script);
    free(saved);
    free(copy);
    free(moved);
    end(&r);
}

START_TEST(a_checkpoint_goes_on)
{
    checkpoint((uint64_t)_i + 5000, FCVI_EDITION_2007);
}
END_TEST

START_TEST(a_checkpoint_goes_on_in_rev1)
{
    checkpoint((uint64_t)_i + 5000, FCVI_EDITION_REV1);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("seeds");
    TCase *t = tcase_create("faults");
    tcase_set_timeout(t, 120);
    const char *wanted = getenv("FCVI_SEED_TESTS"); /* sanitizers and valgrind take fewer */
    int tests = wanted != NULL ? atoi(wanted) : 100;
    tcase_add_loop_test(t, every_descriptor_completes, 0, tests);
    tcase_add_loop_test(t, all_goes_well, 0, tests);
    tcase_add_loop_test(t, every_descriptor_completes_in_rev1, 0, (tests + 4) / 5);
    tcase_add_loop_test(t, all_goes_well_in_rev1, 0, tests);
    suite_add_tcase(s, t);
    t = tcase_create("checkpoint");
    tcase_add_loop_test(t, a_checkpoint_goes_on, 0, (tests + 1) / 2);
    tcase_add_loop_test(t, a_checkpoint_goes_on_in_rev1, 0, (tests + 1) / 2);
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
