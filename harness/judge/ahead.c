/* Two threads that read, watch and judge blocks of records in turn. A block stays with the thread that read
 * it, since what one core has written costs another as much to fetch as all else that is done with it. The
 * only place of the harness in C that starts a thread. */
#include "ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALLER,            /* has the even blocks, */
    HELPER,            /* and the thread the odd ones */
    BUFFERS = 4,       /* of the capture in a block */
    MOST = 1024,       /* records of a block */
    ARENA = 1 << 19,   /* bytes of frames that do not lie in the capture's own buffer */
    LONGEST = 1 << 18, /* of a record */
    SPINS = 4000,      /* looks at the other thread before one sleeps */
    PATIENCE = 64,     /* blocks without anything to show, before the caller hears of it */
    FOUND = 64,        /* of one record that are kept */
    WHY = 512
};

struct block {
    unsigned count, next; /* next: the first that is not judged yet */
    unsigned watched;     /* behind the last that was watched, or that was judged without */
    bool begun;           /* to be watched */
    int status;           /* 1: more blocks follow */
    char why[WHY];
    uint64_t read, size;
    uint8_t *buffer[BUFFERS]; /* of the capture, in which the frames lie */
    size_t used;              /* of the arena */
    struct fcvi_monitor_findings found;
    struct fcvi_monitor_finding list[FOUND];
    struct judge_entry entry[MOST];
    uint8_t arena[ARENA];
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
    atomic_bool last;                   /* none follows those that were read */
    atomic_bool found; /* there is something to show in the thread's block, and the thread waits */
    atomic_bool stop;
    struct block *block[2];
    const struct block *end; /* the last one, when it was judged */
    uint64_t bytes, size;    /* of the file: judged, and all */
};

/* ---- whose turn it is ---- */

typedef bool awaited(const struct ahead *ahead, unsigned long block);

static bool can_read(const struct ahead *a, unsigned long block)
{
    return a->read >= block || a->last || a->stop;
}

static bool can_watch(const struct ahead *a, unsigned long block)
{
    return a->watched == block || a->stop;
}

static bool can_judge(const struct ahead *a, unsigned long block)
{
    return a->judged == block || a->stop;
}

static bool is_handed_over(const struct ahead *a, unsigned long block)
{
    return a->judged > block || a->found;
}

static bool can_watch_next(const struct ahead *a, unsigned long block)
{
    return can_watch(a, block + 1) || is_handed_over(a, block);
}

static bool may_go_on(const struct ahead *a, unsigned long block)
{
    (void)block;
    return !a->found || a->stop;
}

/* The other thread is soon done as a rule: to sleep and to be woken takes as long as many frames. */
static void await(struct ahead *a, awaited *what, unsigned long block)
{
    for (unsigned i = 0; i < SPINS; i++) {
        if (what(a, block))
            return;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    pthread_mutex_lock(&a->lock);
    while (!what(a, block))
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

/* Records as long as their bytes stay where they are. False: the block is full, or nothing follows. */
static bool read_buffer(struct ahead *a, struct block *b)
{
    bool in_place = false;
    while (b->count < MOST && b->used + LONGEST <= ARENA) {
        if (in_place && !fcvi_capture_has_next(a->capture))
            return true;
        struct judge_entry *e = &b->entry[b->count];
        b->status = fcvi_capture_next(a->capture, &e->record, b->why, sizeof b->why);
        if (b->status == 2)
            continue; /* a file is never waited for long */
        if (b->status != 1)
            return false;
        in_place |= is_kept(a, b, &e->record.frame);
        b->count++;
    }
    return false;
}

static void read_block(struct ahead *a, struct block *b)
{
    b->count = b->next = b->watched = 0;
    b->begun = false;
    b->used = 0;
    b->status = 1;
    bool more = true;
    for (unsigned i = 0; i < BUFFERS && more; i++) {
        more = read_buffer(a, b);
        b->buffer[i] = fcvi_capture_swap(a->capture, b->buffer[i]);
    }
    fcvi_capture_progress(a->capture, &b->read, &b->size);
}

static void decode(const struct ahead *a, struct block *b)
{
    for (struct judge_entry *e = b->entry; e < b->entry + b->count; e++) {
        fcvi_judge_decode(e);
        e->watched = JUDGE_UNWATCHED;
        if (a->monitor != NULL && e->record.kind == CAPTURE_FRAME)
            e->hint = fcvi_monitor_where(a->monitor, &e->frame, e->record.network);
    }
}

/* Reads this block when those before it were read. False: there is none. */
static bool read_in_turn(struct ahead *a, unsigned long block)
{
    struct block *b = a->block[block % 2];
    await(a, can_read, block);
    if (a->read > block)
        return true;
    if (a->last || a->stop)
        return false;
    read_block(a, b);
    if (b->status != 1)
        a->last = true;
    a->read = block + 1;
    tell(a);
    decode(a, b);
    return true;
}

/* ---- watching ---- */

/* Goes on to the next record that only `take` can judge, or that breaks something. The turn is the next
 * block's when all of this one was watched. */
static void watch_block(struct ahead *a, struct block *b, unsigned long block)
{
    b->begun = true;
    b->found = (struct fcvi_monitor_findings){b->list, FOUND, 0};
    b->watched += a->watch == NULL ? b->count - b->watched
                                   : (unsigned)a->watch(a->context, &b->entry[b->watched],
                                                        b->count - b->watched, &b->found);
    if (b->watched < b->count)
        return;
    a->watched = block + 1;
    tell(a);
}

/* ---- judging ---- */

/* Whether there is something to show. */
static bool judge(struct ahead *a, struct block *b, unsigned long block)
{
    bool shown = false;
    if (!b->begun)
        watch_block(a, b, block);
    while (b->next < b->count && !shown) {
        const bool watched = b->next < b->watched;
        const unsigned most = watched ? b->watched - b->next : 1;
        b->next += (unsigned)a->take(a->context, &b->entry[b->next], most, &b->found, &shown);
        if (watched)
            continue;
        b->watched = b->next;
        watch_block(a, b, block);
    }
    return shown;
}

static void end_block(struct ahead *a, const struct block *b)
{
    a->bytes = b->read;
    a->size = b->size;
    if (b->status != 1)
        a->end = b;
    a->judged++;
    tell(a);
}

static void *run(void *context)
{
    struct ahead *a = context;
    for (unsigned long block = HELPER; read_in_turn(a, block); block += 2) {
        struct block *b = a->block[HELPER];
        await(a, can_watch, block);
        if (a->stop)
            break;
        watch_block(a, b, block);
        await(a, can_judge, block);
        if (a->stop)
            break;
        while (!a->stop && judge(a, b, block)) {
            a->found = true;
            tell(a);
            await(a, may_go_on, block);
        }
        end_block(a, b);
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

/* The thread judges its block, or goes on with it when the caller comes back, and the caller reads and
 * watches its next one. Whether something is to be shown. */
static bool let_judge(struct ahead *a, unsigned long block)
{
    if (read_in_turn(a, block + 1)) {
        struct block *next = a->block[CALLER];
        if (!next->begun)
            await(a, can_watch_next, block);
        if (!next->begun && can_watch(a, block + 1))
            watch_block(a, next, block + 1);
    }
    await(a, is_handed_over, block);
    return a->found;
}

int fcvi_ahead_next(struct ahead *a, struct judge_entry **shown, char *error, size_t size)
{
    if (a->found) { /* and was shown: what the thread has read, it judges for less */
        a->found = false;
        tell(a);
    }
    for (unsigned blocks = 0;; blocks++) {
        const unsigned long block = a->judged;
        struct block *b = a->block[block % 2];
        if (a->end != NULL)
            return ended(a->end, error, size);
        const bool others = block % 2 == HELPER;
        if (!others && blocks > PATIENCE)
            return 2;
        if (block % 2 == CALLER)
            (void)read_in_turn(a, block); /* where it was not read while the thread judged */
        if (others ? let_judge(a, block) : judge(a, b, block)) {
            *shown = &b->entry[b->next - 1];
            return 1;
        }
        if (!others)
            end_block(a, b);
    }
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

static void release(struct ahead *a)
{
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned n = 0; a->block[i] != NULL && n < BUFFERS; n++)
            free(a->block[i]->buffer[n]);
        free(a->block[i]);
    }
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->changed);
    free(a);
}

static struct block *new_block(void)
{
    struct block *b = malloc(sizeof *b);
    if (b == NULL)
        return NULL;
    b->status = 1;
    bool whole = true;
    for (unsigned n = 0; n < BUFFERS; n++) {
        b->buffer[n] = malloc(fcvi_capture_buffer());
        whole &= b->buffer[n] != NULL;
    }
    if (whole)
        return b;
    for (unsigned n = 0; n < BUFFERS; n++)
        free(b->buffer[n]);
    free(b);
    return NULL;
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
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    a->block[CALLER] = new_block();
    a->block[HELPER] = new_block();
    if (a->block[CALLER] != NULL && a->block[HELPER] != NULL && start(a))
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
