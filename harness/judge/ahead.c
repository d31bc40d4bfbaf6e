/* Two threads that read, watch and judge blocks of records in turn. A block stays with the thread that read
 * it, since what one core has written costs another as much to fetch as all else that is done with it. Who
 * has nothing else to do reads the next one. The only place of the harness in C that starts a thread. */
#include "ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALLER,
    HELPER,
    NOBODY,
    OWN = 16,          /* blocks of a thread: one that is faster for a while takes more of them, and goes on
                        * with them while the caller is away */
    MOST = 1024,       /* records of a block */
    SLICE = 64,        /* records between two looks at the other thread */
    ARENA = 1 << 19,   /* bytes of frames that do not lie in the capture's own buffer */
    LONGEST = 1 << 18, /* of a record */
    SPINS = 4000,      /* looks at the other thread before one sleeps */
    PATIENCE = 64,     /* blocks without anything to show, before the caller hears of it */
    FOUND = 64,        /* of one record that are kept */
    WHY = 512
};

struct block {
    unsigned long number; /* of the blocks since the beginning */
    unsigned count, next; /* next: the first that is not judged yet */
    unsigned decoded;     /* behind the last that was */
    unsigned watched;     /* behind the last that was watched, or that was judged without */
    bool stopped;         /* before one that is judged without, or behind one that breaks something */
    int status;           /* 1: more blocks follow */
    char why[WHY];
    uint64_t read, size;
    uint8_t *buffer; /* of the capture, in which the frames lie */
    size_t used;     /* of the arena */
    struct fcvi_monitor_findings found;
    struct fcvi_monitor_finding list[FOUND];
    struct judge_entry entry[MOST];
    uint8_t arena[ARENA];
};

/* What only one of the threads looks at. */
struct own {
    struct block *block[OWN]; /* in the order of their numbers */
    unsigned pending;         /* that are read, or being read, and not judged */
};

struct ahead {
    struct capture *capture;
    const struct fcvi_monitor *monitor;
    fcvi_ahead_watch *watch;
    fcvi_ahead_take *take;
    void *context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_ulong read, watched, judged; /* blocks, since the beginning */
    atomic_uint reader;                 /* who reads the next one */
    atomic_bool last;                   /* none follows those that were read */
    atomic_bool found; /* there is something to show in the helper's block, of which it judges no more */
    atomic_bool away;  /* the caller: fcvi_ahead_next has returned */
    atomic_bool stop;
    struct own own[2];
    struct judge_entry *shown; /* what was found */
    const struct block *end;   /* the last one, when it was judged */
    uint64_t bytes, size;      /* of the file: judged, and all */
};

/* ---- whose turn it is ---- */

static bool is_ready(const struct ahead *a, const struct block *b)
{
    return b->decoded == b->count && (a->watched > b->number || b->stopped);
}

/* Of its own blocks, the one whose turn it is to be judged. */
static struct block *in_turn(const struct ahead *a, unsigned who)
{
    struct block *b = a->own[who].block[0];
    if (a->own[who].pending == 0 || b->number != a->judged || a->read <= b->number)
        return NULL;
    return is_ready(a, b) ? b : NULL;
}

static bool can_prepare(const struct ahead *a, unsigned who)
{
    const struct own *own = &a->own[who];
    if (a->reader == who)
        return true;
    for (unsigned i = 0; i < own->pending; i++)
        if (own->block[i]->decoded < own->block[i]->count ||
            (a->watched == own->block[i]->number && !own->block[i]->stopped))
            return true;
    return own->pending < OWN && a->reader == NOBODY && !a->last;
}

static bool is_over(const struct ahead *a)
{
    return a->last && a->judged == a->read;
}

/* Whether a thread has something to do. */
static bool is_wanted(const struct ahead *a, unsigned who)
{
    const bool judges = a->found ? who == CALLER : in_turn(a, who) != NULL;
    return judges || can_prepare(a, who) || is_over(a) || a->stop;
}

/* The other thread is soon done as a rule: to sleep and to be woken takes as long as many frames. */
static void await(struct ahead *a, unsigned who)
{
    for (unsigned i = 0; i < SPINS; i++) {
        if (is_wanted(a, who))
            return;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    pthread_mutex_lock(&a->lock);
    while (!is_wanted(a, who))
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
}

/* Whoever is about to sleep holds the lock from its last look on. */
static void tell(struct ahead *a)
{
    pthread_mutex_lock(&a->lock);
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

/* ---- reading ---- */

/* What lies elsewhere is overwritten with the next record. */
static bool is_kept(const struct ahead *a, struct block *b, struct fcvi_input *frame)
{
    if (frame->length == 0)
        return false;
    if (fcvi_capture_holds(a->capture, frame->bytes))
        return true;
    memcpy(b->arena + b->used, frame->bytes, frame->length);
    frame->bytes = b->arena + b->used;
    b->used += frame->length;
    return false;
}

/* Records as long as their bytes stay where they are. */
static void read_records(struct ahead *a, struct block *b)
{
    bool in_place = false;
    while (b->count < MOST && b->used + LONGEST <= ARENA) {
        if (in_place && !fcvi_capture_has_next(a->capture))
            return;
        struct judge_entry *e = &b->entry[b->count];
        b->status = fcvi_capture_next(a->capture, &e->record, b->why, sizeof b->why);
        if (b->status == 2)
            continue; /* a file is never waited for long */
        if (b->status != 1)
            return;
        in_place |= is_kept(a, b, &e->record.frame);
        b->count++;
    }
}

static void begin(struct ahead *a, struct block *b)
{
    b->number = a->read;
    b->count = b->next = b->decoded = b->watched = 0;
    b->stopped = false;
    b->found = (struct fcvi_monitor_findings){b->list, FOUND, 0};
    b->used = 0;
    b->status = 1;
}

/* The block whose turn it is. */
static void read_block(struct ahead *a, struct block *b)
{
    read_records(a, b);
    b->buffer = fcvi_capture_swap(a->capture, b->buffer);
    fcvi_capture_progress(a->capture, &b->read, &b->size);
    a->read = b->number + 1;
    if (b->status != 1)
        a->last = true;
    a->reader = NOBODY; /* not before it is said that none follows */
    tell(a);
}

static void decode_some(const struct ahead *a, struct block *b)
{
    const unsigned end = b->count - b->decoded > SLICE ? b->decoded + SLICE : b->count;
    for (; b->decoded < end; b->decoded++) {
        struct judge_entry *e = &b->entry[b->decoded];
        fcvi_judge_decode(e);
        e->watched = JUDGE_UNWATCHED;
        e->rev1 = false;
        if (a->monitor != NULL && e->record.kind == CAPTURE_FRAME)
            e->hint = fcvi_monitor_where(a->monitor, &e->frame, e->record.network);
    }
}

/* ---- watching ---- */

/* Goes on until the next record that only `take` can judge, or that breaks something. The turn is the next
 * block's when all of this one was watched. */
static void watch_some(struct ahead *a, struct block *b)
{
    const unsigned left = b->count - b->watched, some = left > SLICE ? SLICE : left;
    const unsigned done =
        a->watch == NULL ? left : (unsigned)a->watch(a->context, &b->entry[b->watched], some, &b->found);
    b->watched += done;
    b->stopped = done < some || b->found.count != 0;
    if (b->watched < b->count)
        return;
    a->watched = b->number + 1;
    tell(a);
}

/* Goes on again behind what stopped it. */
static void watch_on(struct ahead *a, struct block *b)
{
    b->found.count = 0;
    b->stopped = false;
    while (a->watched == b->number && !b->stopped)
        watch_some(a, b);
}

/* ---- before a block is judged ---- */

/* Whether the thread reads the next block from now on. */
static bool claim(struct ahead *a, unsigned who)
{
    struct own *own = &a->own[who];
    unsigned nobody = NOBODY;
    if (own->pending >= OWN || a->last || !atomic_compare_exchange_strong(&a->reader, &nobody, who))
        return false;
    if (a->last) { /* since the look at it */
        a->reader = NOBODY;
        return false;
    }
    begin(a, own->block[own->pending++]);
    return true;
}

/* Watches a slice of a thread's own block whose turn it is. Of all that is done in order this takes longest,
 * so it comes before all else, and before the caller goes away with a record. False: it is no block's turn.
 */
static bool watch_own(struct ahead *a, unsigned who)
{
    struct own *own = &a->own[who];
    const bool reads = a->reader == who;
    for (unsigned i = 0; i + reads < own->pending; i++) {
        struct block *b = own->block[i];
        if (b->number == a->watched && b->decoded == b->count && !b->stopped) {
            watch_some(a, b);
            return true;
        }
    }
    return false;
}

/* A slice of what is done with a thread's own blocks before they are watched: what was read is decoded, then
 * more is read. False: none can be done now. */
static bool prepare_some(struct ahead *a, unsigned who)
{
    struct own *own = &a->own[who];
    const bool reads = a->reader == who;
    for (unsigned i = 0; i + reads < own->pending; i++) {
        struct block *b = own->block[i];
        if (b->decoded < b->count) {
            decode_some(a, b);
            return true;
        }
    }
    if (!reads && !claim(a, who))
        return false;
    read_block(a, own->block[own->pending - 1]);
    return true;
}

/* ---- judging ---- */

/* Whether there is something to show. */
static bool judge(struct ahead *a, struct block *b)
{
    bool shown = false;
    while (b->next < b->count && !shown) {
        const bool watched = b->next < b->watched;
        const unsigned most = watched ? b->watched - b->next : 1;
        b->next += (unsigned)a->take(a->context, &b->entry[b->next], most, &b->found, &shown);
        if (!watched)
            b->watched = b->next;
        if (b->stopped && b->next == b->watched)
            watch_on(a, b);
    }
    return shown;
}

static void end_block(struct ahead *a, unsigned who, struct block *b)
{
    struct own *own = &a->own[who];
    a->bytes = b->read;
    a->size = b->size;
    if (b->status != 1)
        a->end = b;
    own->pending--;
    for (unsigned i = 1; i < OWN; i++)
        own->block[i - 1] = own->block[i];
    own->block[OWN - 1] = b;
    a->judged++;
    tell(a);
}

static void *run(void *context)
{
    struct ahead *a = context;
    while (!a->stop && !is_over(a)) {
        if (watch_own(a, HELPER))
            continue;
        struct block *b = a->found ? NULL : in_turn(a, HELPER);
        if (b == NULL && !prepare_some(a, HELPER))
            await(a, HELPER);
        if (b == NULL)
            continue;
        if (judge(a, b)) {
            a->shown = &b->entry[b->next - 1];
            a->found = true;
            tell(a);
        } else
            end_block(a, HELPER, b);
    }
    return NULL;
}

static int ended(const struct block *b, char *error, size_t size)
{
    if (b->status < 0 && size != 0) {
        strncpy(error, b->why, size - 1);
        error[size - 1] = '\0';
    }
    return b->status;
}

/* It returns only where the helper judges nothing: it has found something, or the turn is the caller's. */
static int next_found(struct ahead *a, struct judge_entry **shown, char *error, size_t size)
{
    if (a->found) { /* and was shown */
        a->found = false;
        tell(a);
    }
    unsigned blocks = 0;
    while (!is_over(a)) {
        if (a->found) {
            *shown = a->shown;
            return 1;
        }
        if (watch_own(a, CALLER))
            continue;
        struct block *b = in_turn(a, CALLER);
        if (b == NULL && !prepare_some(a, CALLER))
            await(a, CALLER);
        if (b == NULL)
            continue;
        if (blocks++ > PATIENCE)
            return 2;
        if (judge(a, b)) {
            *shown = &b->entry[b->next - 1];
            return 1;
        }
        end_block(a, CALLER, b);
    }
    return ended(a->end, error, size);
}

int fcvi_ahead_next(struct ahead *a, struct judge_entry **shown, char *error, size_t size)
{
    a->away = false;
    const int status = next_found(a, shown, error, size);
    a->away = true;
    return status;
}

void fcvi_ahead_progress(const struct ahead *a, uint64_t *read, uint64_t *size)
{
    *read = a->bytes;
    *size = a->size;
}

/* ---- beginning and end ---- */

static bool start(struct ahead *a)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the caller's */
    bool started = pthread_create(&a->thread, NULL, run, a) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void free_block(struct block *b)
{
    if (b != NULL)
        free(b->buffer);
    free(b);
}

static void release(struct ahead *a)
{
    for (unsigned i = 0; i < OWN; i++) {
        free_block(a->own[CALLER].block[i]);
        free_block(a->own[HELPER].block[i]);
    }
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->changed);
    free(a);
}

static struct block *new_block(void)
{
    struct block *b = calloc(1, sizeof *b);
    if (b != NULL && (b->buffer = malloc(fcvi_capture_buffer())) != NULL)
        return b;
    free(b);
    return NULL;
}

static bool has_blocks(struct ahead *a)
{
    bool whole = true;
    for (unsigned i = 0; i < OWN; i++) {
        a->own[CALLER].block[i] = new_block();
        a->own[HELPER].block[i] = new_block();
        whole &= a->own[CALLER].block[i] != NULL && a->own[HELPER].block[i] != NULL;
    }
    return whole;
}

struct ahead *fcvi_ahead_open(struct capture *capture, const struct fcvi_monitor *monitor,
                              fcvi_ahead_watch *watch, fcvi_ahead_take *take, void *context)
{
    struct ahead *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->capture = capture;
    a->monitor = monitor;
    a->watch = watch;
    a->take = take;
    a->context = context;
    a->reader = NOBODY;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    if (has_blocks(a) && claim(a, CALLER) && start(a)) /* what is judged first waits for the caller to ask */
        return a;
    release(a);
    return NULL;
}

void fcvi_ahead_close(struct ahead *a)
{
    if (a == NULL)
        return;
    a->stop = true;
    tell(a);
    pthread_join(a->thread, NULL);
    release(a);
}
