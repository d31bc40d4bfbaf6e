/* The canonical form of a state: the same for a copy, for a later time, and for ports that differ in what the
 * form leaves out; another one as soon as anything differs that the port goes by. */
#include "../world.h"
#include <stdio.h>

enum { ROOM = 1 << 20 };

static const struct fcvi_port_limits limits = {.vis = 2,
                                               .connectionpoints = 2,
                                               .exchanges = 16,
                                               .regions = 2,
                                               .descriptors = 4,
                                               .events = 64,
                                               .memory = 4096,
                                               .max_transfer_size = 2048,
                                               .held_frames = 4};

struct form {
    uint8_t *bytes;
    size_t length;
};

static struct form form_of(const struct world *w, unsigned i)
{
    struct form f = {calloc(1, ROOM), 0};
    f.length = fcvi_port_canonical(w->port[i], w->now, f.bytes, ROOM);
    ck_assert_uint_lt(f.length, ROOM);
    return f;
}

static bool equal(struct form a, struct form b)
{
    bool same = a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
    free(a.bytes);
    free(b.bytes);
    return same;
}

static struct world *pair(bool out_of_order)
{
    struct world *w = calloc(1, sizeof *w);
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_port_config c = w_config(i);
        c.out_of_order = out_of_order;
        c.receive_size = 256;
        w_add(w, &limits, &c);
    }
    return w;
}

static struct world *connected(bool out_of_order, uint32_t *a, uint32_t *b)
{
    const struct fcvi_attributes reliable = {.reliability = FCVI_RELIABLE_RECEPTION,
                                             .max_transfer_size = 2048,
                                             .rdma_read = true,
                                             .pipeline_depth = 4};
    struct world *w = pair(out_of_order);
    *a = w_vi(w, 0, &reliable);
    *b = w_vi(w, 1, &reliable);
    w_connect(w, *a, *b);
    return w;
}

/* Timers run, and the form says how long still: not when. */
START_TEST(time_is_relative)
{
    struct fcvi_attributes a = {.reliability = FCVI_UNRELIABLE, .max_transfer_size = 2048};
    struct world *w[2];
    for (unsigned k = 0; k < 2; k++) {
        struct fcvi_address here = w_address(0, 0xDD), there = w_address(1, 0xDD);
        w[k] = pair(false);
        w[k]->now = 1000 + 77777 * k;
        uint32_t vi = w_vi(w[k], 0, &a);
        fcvi_vip_connect_request(w[k]->port[0], w[k]->now, vi, &here, &there, 5000, 1);
        fcvi_vip_connect_wait(w[k]->port[0], w[k]->now, &there, 5000, 2);
    }
    ck_assert(equal(form_of(w[0], 0), form_of(w[1], 0)));
    w[0]->now += 10; /* 10 us nearer to the timeout */
    ck_assert(!equal(form_of(w[0], 0), form_of(w[1], 0)));
    w[1]->now += 10;
    ck_assert(equal(form_of(w[0], 0), form_of(w[1], 0)));
    w_free(w[0]);
    w_free(w[1]);
}
END_TEST

/* Frames, Messages, Descriptors, memory and events count. */
START_TEST(everything_counts)
{
    uint32_t a, b, mem, handle, vi[2];
    uint64_t va;
    struct world *w = connected(false, &a, &b);
    struct form before = form_of(w, 0), again = form_of(w, 0);
    ck_assert(equal(before, again));
    uint8_t outside[16] = {0};
    uint32_t region = w_region(w, 0, outside, sizeof outside, 0x1000, &handle);
    before = form_of(w, 0);
    outside[3] = 1; /* memory of the host's is no part of the port */
    ck_assert(equal(before, form_of(w, 0)));
    ck_assert_int_eq(fcvi_vip_deregister_mem(w->port[0], w->now, region), VIP_SUCCESS);
    ck_assert_int_eq(fcvi_vip_register_mem(w->port[0], w->now, 1024, true, true, &mem, &va, &handle),
                     VIP_SUCCESS);
    before = form_of(w, 0);
    fcvi_port_memory(w->port[0], mem, 0, 1024)[1023] ^= 1;
    ck_assert(!equal(before, form_of(w, 0)));
    before = form_of(w, 0);
    w_post(w, 0, a, FCVI_RECV, mem, 0, 512, 0, 0);
    ck_assert(!equal(before, form_of(w, 0)));
    before = form_of(w, 0);
    w_post(w, 0, a, FCVI_SEND, mem, 0, 600, 0, 0);
    ck_assert(!equal(before, form_of(w, 0)));
    before = form_of(w, 0);
    fcvi_vip_disconnect(w->port[0], w->now, a, 7); /* a frame and events wait for the host */
    ck_assert(!equal(before, form_of(w, 0)));
    before = form_of(w, 0);
    w_quiet(w);
    ck_assert(!equal(before, form_of(w, 0)));
    before = form_of(w, 1);
    vi[0] = w_vi(w, 1, &(struct fcvi_attributes){.reliability = FCVI_UNRELIABLE});
    ck_assert(!equal(before, form_of(w, 1)));
    fcvi_vip_destroy_vi(w->port[1], w->now, vi[0]);
    w_free(w);
}
END_TEST

/* Out of order: pieces of a Message, and the frames that are held for one that is missing. */
static bool lose_first(struct world *w, unsigned from, const struct fcvi_frame *f)
{
    (void)from;
    return f->iu != FCVI_IU_SEND_RQST || w->sequences++ != 0;
}

START_TEST(pieces_count)
{
    uint32_t a, b, mem[2], handle;
    uint64_t va;
    struct world *w = connected(true, &a, &b);
    for (unsigned i = 0; i < 2; i++)
        fcvi_vip_register_mem(w->port[i], w->now, 2048, true, true, &mem[i], &va, &handle);
    w_post(w, 1, b, FCVI_RECV, mem[1], 0, 1024, 0, 0);
    w_post(w, 1, b, FCVI_RECV, mem[1], 1024, 1024, 0, 0);
    w->filter = lose_first;
    w_post(w, 0, a, FCVI_SEND, mem[0], 0, 600, 0, 0);
    w_post(w, 0, a, FCVI_SEND, mem[0], 0, 100, 0, 0);
    w_quiet(w);
    struct form before = form_of(w, 1);
    struct fcvi_port_counts c;
    do {
        ck_assert(w_step(w, W_R_A_TOV / 2));
        ck_assert(!equal(before, form_of(w, 1)));
        before = form_of(w, 1);
        fcvi_port_count(w->port[1], &c);
    } while (w->flying > 0);
    ck_assert(equal(before, form_of(w, 1)));
    before = form_of(w, 1);
    w->now += 1; /* what is missing has been so for longer */
    ck_assert(!equal(before, form_of(w, 1)));
    w_free(w);
}
END_TEST

/* ... and pieces of the answer to an RDMA Read: another one of the three is missing. */
static bool lose_response(struct world *w, unsigned from, const struct fcvi_frame *f)
{
    (void)from;
    return f->iu != FCVI_IU_READ_RESP || w->sequences-- != 0;
}

START_TEST(pieces_of_a_read_count)
{
    uint32_t a, b, mem, handle[2];
    uint64_t va[2];
    struct world *w[2];
    for (unsigned k = 0; k < 2; k++) {
        w[k] = connected(true, &a, &b);
        for (unsigned i = 0; i < 2; i++)
            fcvi_vip_register_mem(w[k]->port[i], 0, 2048, true, true, &mem, &va[i], &handle[i]);
        w[k]->filter = lose_response;
        w[k]->sequences = k;
        w_post(w[k], 0, a, FCVI_RDMA_READ, mem, 0, 600, va[1], handle[1]);
        w_settle(w[k]);
    }
    ck_assert(!equal(form_of(w[0], 0), form_of(w[1], 0)));
    w_free(w[0]);
    w_free(w[1]);
}
END_TEST

/* What does not fit is counted, not written. */
START_TEST(capacity)
{
    uint32_t a, b;
    struct world *w = connected(false, &a, &b);
    struct form whole = form_of(w, 0);
    for (size_t room = 0; room < whole.length; room += 97) {
        uint8_t *out = malloc(room + 1);
        out[room] = 0x5A;
        ck_assert_uint_eq(fcvi_port_canonical(w->port[0], w->now, out, room), whole.length);
        ck_assert_int_eq(memcmp(out, whole.bytes, room), 0);
        ck_assert_uint_eq(out[room], 0x5A);
        free(out);
    }
    free(whole.bytes);
    w_free(w);
}
END_TEST

/* The program itself, in another process, which lies elsewhere in memory. */
static char program[4096];

static int tell_form(void)
{
    uint32_t a, b;
    struct world *w = connected(false, &a, &b);
    struct form f = form_of(w, 0);
    size_t written = fwrite(f.bytes, 1, f.length, stdout);
    free(f.bytes);
    w_free(w);
    return written != f.length;
}

/* No address is in the form. */
START_TEST(another_process)
{
    uint32_t a, b;
    char command[sizeof program + 8];
    struct form there = {calloc(1, ROOM), 0};
    struct world *w = connected(false, &a, &b);
    snprintf(command, sizeof command, "'%s' form", program);
    FILE *other = popen(command, "r");
    ck_assert_ptr_nonnull(other);
    there.length = fread(there.bytes, 1, ROOM, other);
    ck_assert_int_eq(pclose(other), 0);
    ck_assert(equal(form_of(w, 0), there));
    w_free(w);
}
END_TEST

int main(int arguments, char **argument)
{
    if (arguments > 1)
        return tell_form();
    snprintf(program, sizeof program, "%s", argument[0]);
    Suite *s = suite_create("canonical");
    TCase *c = tcase_create("form");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, time_is_relative);
    tcase_add_test(c, everything_counts);
    tcase_add_test(c, pieces_count);
    tcase_add_test(c, pieces_of_a_read_count);
    tcase_add_test(c, capacity);
    tcase_add_test(c, another_process);
    suite_add_tcase(s, c);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
