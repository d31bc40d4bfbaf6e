/* Observers of what reference ports send each other: of everything, and as captures would have it, with
 * holes, told or not, with repeated and reordered frames, and from the middle on. Whatever the Fabric does,
 * the ports break no rule, so nobody finds anything. A test includes one of the reference port's tests,
 * without its main, and then sets w_watch. */
#ifndef FCVI_TEST_VIEWS_H
#define FCVI_TEST_VIEWS_H

#include <fcvi/monitor.h>

enum { VIEWS = 7, LATE = 16 };

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
    bool tells; /* where a frame is missing */
    uint64_t skip, number;
    struct late late[LATE];
};

static struct view views[VIEWS];
static uint64_t watched, latest, chance;
static enum fcvi_edition watched_edition; /* of the ports */

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
    fcvi_decode_edition(in, watched_edition, &frame, NULL);
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

/* Each world is new: its ports know nothing of the one before, and its time begins again. */
static void open_views(uint64_t seed)
{
    static const struct view kinds[VIEWS] = {
        {.trust = FCVI_TRUST_ALL | FCVI_TRUST_START | FCVI_TRUST_ORDER},
        {.loss = 100000, .duplication = 20000},
        {.loss = 300000, .duplication = 20000, .reorder = true},
        {.trust = FCVI_TRUST_ALL | FCVI_TRUST_ORDER, .skip = 1},
        {.trust = FCVI_TRUST_ALL | FCVI_TRUST_START | FCVI_TRUST_ORDER, .loss = 5000, .tells = true},
        {.trust = FCVI_TRUST_ORDER, .loss = 100000},
        {.trust = FCVI_TRUST_ALL | FCVI_TRUST_START, .reorder = true},
    };
    static const struct fcvi_monitor_limits most = {256, 64, 64, 256, 16};
    /* every other world has less room than goes on in it, so that much is forgotten */
    unsigned less = seed % 2 == 0 ? 0 : (unsigned)(seed / 2);
    struct fcvi_monitor_limits sizes = {
        less ? 2 + less % 31 : most.exchanges, less ? 2 + less % 11 : most.endpoints,
        less ? 2 + less % 5 : most.setups, less ? 2 + less % 7 : most.sequences,
        less ? 2 + less % 3 : most.pairs};
    for (unsigned i = 0; i < VIEWS; i++) {
        void *memory = views[i].monitor;
        struct fcvi_monitor_config config = {
            .limits = sizes, .trust = kinds[i].trust, .r_a_tov_us = W_R_A_TOV};
        size_t size = fcvi_monitor_size(&most);
        views[i] = kinds[i];
        if (kinds[i].skip != 0)
            views[i].skip = seed % 40;
        views[i].monitor = fcvi_monitor_init(memory != NULL ? memory : malloc(size), size, &config);
    }
}

static void watch(uint64_t now, const struct fcvi_frame *f)
{
    if (now < latest || watched == 0)
        open_views(watched);
    latest = now;
    watched++;
    watched_edition = (enum fcvi_edition)f->edition;
    for (unsigned i = 0; i < VIEWS; i++) {
        struct view *v = &views[i];
        if (v->skip > 0) {
            v->skip--;
            continue;
        }
        for (unsigned copies = 1 + (dice() % 1000000 < v->duplication); copies > 0; copies--) {
            bool lost = dice() % 1000000 < v->loss;
            if (lost && v->tells)
                fcvi_monitor_gap(v->monitor);
            else if (!lost && v->reorder)
                show_late(v, now, &f->input);
            else if (!lost)
                show(v, now, &f->input);
        }
    }
}

#endif
