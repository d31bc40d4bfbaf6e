/* The monitor over what reference ports say to each other under loss, corruption, duplication and reordering:
 * whatever the Fabric does, the ports break no rule, so nothing is found. Each stream is watched as it is
 * sent, and as captures would have it: with holes, repeated and reordered frames, and from its middle on. */
#include <fcvi/monitor.h>

/* the worlds of the reference port's tests, without their main */
int seeds_main(void);
#define main seeds_main
#include "../../../refimpl/tests/test_seeds.c"
#undef main

enum { VIEWS = 4, LATE = 16, CAPTURE = 4000000 };

struct late {
    bool used;
    uint64_t time;
    size_t length;
    uint8_t sof, eof;
    uint8_t bytes[W_FRAME];
};

/* What one observer sees. */
struct view {
    struct fcvi_monitor *monitor;
    uint8_t trust;
    uint32_t loss, duplication; /* of the capture, in parts per million */
    bool reorder;
    uint64_t skip, number;
    struct late late[LATE];
};

static struct view views[VIEWS];
static uint64_t watched, chance;

static uint32_t dice(void)
{
    chance = chance * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(chance >> 33);
}

static void show(struct view *v, uint64_t time, const struct fcvi_input *in)
{
    struct fcvi_frame frame;
    struct fcvi_monitor_finding list[4];
    struct fcvi_monitor_findings found = {list, 4, 0};
    fcvi_decode(in, &frame, NULL);
    struct fcvi_monitor_frame shown = {&frame, ++v->number, time, 0, false};
    fcvi_monitor_frame(v->monitor, &shown, &found);
    if (found.count != 0) {
        char text[512];
        fcvi_print_summary(&frame, text, sizeof text);
        ck_abort_msg("view %u, frame %llu (see %llu), %s: %s %s (seen %llx, required %llx)",
                     (unsigned)(v - views), (unsigned long long)v->number, (unsigned long long)list[0].other,
                     text, list[0].what.requirement, list[0].what.message,
                     (unsigned long long)list[0].what.seen, (unsigned long long)list[0].what.required_value);
    }
}

/* In the end every frame held back comes, but not necessarily in order. */
static void show_late(struct view *v, uint64_t time, const struct fcvi_input *in)
{
    struct late *l = &v->late[dice() % LATE];
    if (l->used) {
        struct fcvi_input old = {l->bytes, l->length, l->sof, l->eof, FCVI_CRC_OK};
        show(v, time, &old);
    }
    l->used = true;
    l->length = in->length;
    l->sof = in->sof;
    l->eof = in->eof;
    memcpy(l->bytes, in->bytes, in->length);
}

static void watch(struct world *w, const struct fcvi_frame *f)
{
    watched++;
    for (unsigned i = 0; i < VIEWS; i++) {
        struct view *v = &views[i];
        if (v->skip > 0) {
            v->skip--;
            continue;
        }
        for (unsigned copies = 1 + (dice() % 1000000 < v->duplication); copies > 0; copies--) {
            if (dice() % 1000000 < v->loss)
                continue;
            if (v->reorder)
                show_late(v, w->now, &f->input);
            else
                show(v, w->now, &f->input);
        }
    }
}

/* Each world is new: its ports know nothing of the one before. */
static void open_views(uint64_t seed)
{
    static const struct view kinds[VIEWS] = {
        {.trust = FCVI_TRUST_ALL | FCVI_TRUST_START | FCVI_TRUST_ORDER},
        {.loss = 100000, .duplication = 20000},
        {.loss = 300000, .duplication = 20000, .reorder = true},
        {.trust = FCVI_TRUST_ALL | FCVI_TRUST_ORDER, .skip = 1},
    };
    static const struct fcvi_monitor_limits sizes = {256, 64, 64, 256, 16};
    for (unsigned i = 0; i < VIEWS; i++) {
        void *memory = views[i].monitor;
        struct fcvi_monitor_config config = {
            .limits = sizes, .trust = kinds[i].trust, .r_a_tov_us = W_R_A_TOV};
        size_t size = fcvi_monitor_size(&sizes);
        views[i] = kinds[i];
        if (kinds[i].skip != 0)
            views[i].skip = seed % 40;
        views[i].monitor = fcvi_monitor_init(memory != NULL ? memory : malloc(size), size, &config);
    }
}

static void close_views(void)
{
    for (unsigned i = 0; i < VIEWS; i++) {
        free(views[i].monitor);
        views[i].monitor = NULL;
    }
}

START_TEST(ports_break_no_rule)
{
    chance = (uint64_t)_i;
    w_watch = watch;
    for (unsigned k = 0; k < SEEDS; k++) {
        uint64_t seed = (uint64_t)_i * SEEDS + k + 1;
        open_views(seed);
        struct run r = begin(seed);
        post_all(&r, 0);
        post_all(&r, 1);
        w_run(r.w, 20 * W_R_A_TOV);
        take(&r, 0);
        take(&r, 1);
        close_both(&r);
        end(&r);
    }
    close_views();
    ck_assert_uint_gt(watched, SEEDS * 50);
    if (getenv("FCVI_SAY_FRAMES") != NULL)
        printf("%llu frames\n", (unsigned long long)watched);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("monitor worlds");
    TCase *t = tcase_create("worlds");
    tcase_set_timeout(t, 120);
    const char *wanted = getenv("FCVI_SEED_TESTS");
    tcase_add_loop_test(t, ports_break_no_rule, 0, wanted != NULL ? atoi(wanted) : 160);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
