/* Messages between two reference ports: every operation, Reliability Level, class, Fabric and length
 * (5.2, 6.2 to 6.7), and what goes wrong (8.4, Annex B). */
#define _GNU_SOURCE
#include "../world.h"

#include <sys/mman.h>
#include <unistd.h>

enum { ROOM = 2112 - 32, BIG = 16 << 20, SEVERAL = 5 * ROOM + 7 };

static const struct fcvi_port_limits limits = {.vis = 4,
                                               .connectionpoints = 4,
                                               .exchanges = 64,
                                               .regions = 8,
                                               .descriptors = 8,
                                               .events = 1024,
                                               .max_transfer_size = BIG,
                                               .runs = 8192,
                                               .held_frames = 64};

struct pair {
    struct world *w;
    uint32_t vi[2], mem[2], handle[2];
    uint8_t *bytes[2];
    uint32_t length;
};

struct setting {
    uint8_t level, service_class;
    bool out_of_order, ack_0;
    uint32_t iu_size, depth;
};

static struct pair begin(const struct setting *s, uint32_t length)
{
    struct pair p = {.w = calloc(1, sizeof *p.w), .length = length};
    p.w->random = 1;
    p.w->latency = 100;
    p.w->jitter = s->out_of_order ? 300 : 0;
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_port_config c = w_config(i);
        c.service_class = s->service_class;
        c.out_of_order = s->out_of_order;
        c.iu_size = s->iu_size;
        c.ack_0 = s->ack_0;
        w_add(p.w, &limits, &c);
        struct fcvi_attributes a = {.reliability = s->level,
                                    .max_transfer_size = BIG,
                                    .rdma_write = true,
                                    .rdma_read = s->level != FCVI_UNRELIABLE,
                                    .pipeline_depth = s->depth};
        p.vi[i] = w_vi(p.w, i, &a);
        p.bytes[i] = malloc(length + 1);
        p.mem[i] = w_region(p.w, i, p.bytes[i], length + 1, 0x1000 + i, &p.handle[i]);
    }
    for (uint32_t k = 0; k < length; k++) {
        p.bytes[0][k] = (uint8_t)(k * 31 + k / 251);
        p.bytes[1][k] = (uint8_t)~p.bytes[0][k];
    }
    w_connect(p.w, p.vi[0], p.vi[1]);
    return p;
}

static void end(struct pair *p)
{
    for (unsigned i = 0; i < 2; i++)
        free(p->bytes[i]);
    w_free(p->w);
}

/* After everything has come to its end nothing is held any more. */
static void nothing_left(struct pair *p)
{
    w_run(p->w, 10 * W_R_A_TOV);
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_port_counts c;
        fcvi_port_count(p->w->port[i], &c);
        ck_assert_uint_eq(c.exchanges, 0);
        ck_assert_uint_eq(c.setups, 0);
        ck_assert_uint_eq(c.timers, 0);
        ck_assert_uint_eq(c.frames, 0);
        ck_assert_uint_eq(c.held_frames, 0);
        ck_assert_uint_eq(c.events_lost, 0);
    }
}

/* One Message of that operation and length from port 0; the bytes are compared. */
static void transfer(const struct setting *s, enum fcvi_op op, uint32_t length)
{
    struct pair p = begin(s, length);
    struct world *w = p.w;
    bool read = op == FCVI_RDMA_READ;
    if (op == FCVI_SEND)
        ck_assert_int_eq(w_post(w, 1, p.vi[1], FCVI_RECV, p.mem[1], 0, length, 0, 0), VIP_SUCCESS);
    uint8_t *wanted = malloc(length + 1);
    memcpy(wanted, p.bytes[read], length);
    ck_assert_int_eq(w_post(w, 0, p.vi[0], op, p.mem[0], 0, length, 0x1001, p.handle[1]), VIP_SUCCESS);
    w_settle(w);
    static const uint32_t operation[] = {0, FCVI_STATUS_OP_RDMA_WRITE, FCVI_STATUS_OP_RDMA_READ};
    w_done(w, 0, p.vi[0], false, operation[op], length);
    if (op == FCVI_SEND)
        w_done(w, 1, p.vi[1], true, FCVI_STATUS_OP_RECEIVE, length);
    ck_assert_mem_eq(p.bytes[!read], wanted, length);
    ck_assert_uint_eq(w_state(w, 0, p.vi[0]), FCVI_STATE_CONNECTED);
    ck_assert_uint_eq(w_state(w, 1, p.vi[1]), FCVI_STATE_CONNECTED);
    nothing_left(&p);
    free(wanted);
    end(&p);
}

static const uint32_t lengths[] = {0, 1, ROOM - 1, ROOM, ROOM + 1, SEVERAL, BIG};

/* _i: operation, level, class, Fabric */
START_TEST(every_combination)
{
    struct setting s = {.level = (uint8_t)(1 + _i / 3 % 3),
                        .service_class = (uint8_t)(2 + _i / 9 % 2),
                        .out_of_order = _i / 18 % 2};
    enum fcvi_op op = (enum fcvi_op)(_i % 3);
    if (op == FCVI_RDMA_READ && s.level == FCVI_UNRELIABLE)
        return;
    bool quick = getenv("FCVI_QUICK") != NULL; /* valgrind: all but the longest */
    for (unsigned k = 0; k < sizeof lengths / sizeof *lengths - quick; k++) {
        s.iu_size = lengths[k] == SEVERAL ? 2 * ROOM : 0;
        transfer(&s, op, lengths[k]);
    }
}
END_TEST

/* ---- the longest Message (5.7) ---- */

enum { PIECE = 2 << 20 };

/* 4 GiB of addresses over 2 MiB of memory. */
static uint8_t *long_memory(void)
{
    int fd = memfd_create("long", 0);
    ck_assert_int_eq(ftruncate(fd, PIECE), 0);
    uint8_t *base = mmap(NULL, 1ULL << 32, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(base, MAP_FAILED);
    for (uint64_t at = 0; at < 1ULL << 32; at += PIECE)
        ck_assert_ptr_ne(mmap(base + at, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
                         MAP_FAILED);
    close(fd);
    return base;
}

static bool count_sequences(struct world *w, unsigned from, const struct fcvi_frame *f)
{
    (void)from;
    w->sequences += f->iu == FCVI_IU_WRITE_RQST && fcvi_FC_End_Sequence(f->fc);
    if (f->iu == FCVI_IU_WRITE_RQST && fcvi_FC_SEQ_CNT(f->fc) == 0xFFFF && !fcvi_FC_End_Sequence(f->fc))
        ck_abort_msg("SEQ_CNT begins again in a Sequence");
    return true;
}

/* 2^32 - 1 bytes: SEQ_CNT wraps 31 times, so there are 32 Sequences (5.6), and Relative Offset never repeats.
 */
START_TEST(longest)
{
    struct fcvi_port_limits l = limits;
    l.max_transfer_size = UINT32_MAX;
    struct world *w = calloc(1, sizeof *w);
    struct fcvi_attributes a = {.reliability = FCVI_RELIABLE_DELIVERY, .rdma_write = true};
    uint32_t vi[2], mem[2], handle[2];
    uint8_t *memory[2];
    for (unsigned i = 0; i < 2; i++) {
        struct fcvi_port_config c = w_config(i);
        w_add(w, &l, &c);
        vi[i] = w_vi(w, i, &a);
        memory[i] = long_memory();
        mem[i] = w_region(w, i, memory[i], UINT32_MAX, 0x7FFFFFFF00000000u, &handle[i]);
    }
    w->filter = count_sequences;
    for (uint32_t k = 0; k < PIECE; k++)
        memory[0][k] = (uint8_t)(k * 7 + k / 300);
    w_connect(w, vi[0], vi[1]);
    ck_assert_int_eq(
        w_post(w, 0, vi[0], FCVI_RDMA_WRITE, mem[0], 0, UINT32_MAX, 0x7FFFFFFF00000000u, handle[1]),
        VIP_SUCCESS);
    uint8_t out[W_FRAME]; /* frame by frame: all of them at once would not fit into memory */
    struct fcvi_transmitted meta;
    for (size_t n; (n = fcvi_port_transmit(w->port[0], w->now, out, sizeof out, &meta)) > 0;) {
        struct fcvi_input in = {out, n, meta.sof, meta.eof, FCVI_CRC_OK};
        struct fcvi_frame f;
        w_check(&in, &f);
        count_sequences(w, 0, &f);
        fcvi_port_receive(w->port[1], w->now, &in);
    }
    w_done(w, 0, vi[0], false, FCVI_STATUS_OP_RDMA_WRITE, UINT32_MAX);
    ck_assert_uint_eq(w->sequences, 32);
    ck_assert_uint_eq(w_state(w, 1, vi[1]), FCVI_STATE_CONNECTED);
    ck_assert_mem_eq(memory[0], memory[1], PIECE - 1); /* the last byte of all is not part of the Message */
    munmap(memory[0], 1ULL << 32);
    munmap(memory[1], 1ULL << 32);
    w_free(w);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("messages");
    TCase *t = tcase_create("transfer");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, every_combination, 0, 36);
    if (getenv("FCVI_SEED_TESTS") == NULL) /* too long for sanitizers and valgrind */
        tcase_add_test(t, longest);
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
