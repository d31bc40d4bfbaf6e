/* Blocks of records between a thread that reads and whoever judges. The only place of the harness in C that
 * starts a thread. */
#include "ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCKS = 4,
    MOST = 1024,       /* records of a block */
    ARENA = 1 << 19,   /* bytes of frames that do not lie in the capture's own buffer */
    LONGEST = 1 << 18, /* of a record */
    WHY = 512
};

struct block {
    unsigned count;
    bool decoded;
    int status; /* 1: more blocks follow */
    char why[WHY];
    uint64_t read, size;
    uint8_t *buffer; /* of the capture, in which the frames lie */
    size_t used;     /* of the arena */
    struct judge_entry entry[MOST];
    uint8_t arena[ARENA];
};

struct ahead {
    struct capture *capture;
    const struct fcvi_monitor *monitor;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    unsigned long ready, taken; /* blocks, since the beginning */
    bool stop;
    struct block *block[BLOCKS];
    struct block *current; /* whose records the caller has; NULL: none */
    unsigned next;         /* of it */
};

/* ---- the thread ---- */

/* What lies elsewhere is overwritten with the next record. */
static void keep(struct ahead *a, struct block *b, struct fcvi_input *frame)
{
    if (frame->length == 0 || fcvi_capture_holds(a->capture, frame->bytes))
        return;
    memcpy(b->arena + b->used, frame->bytes, frame->length);
    frame->bytes = b->arena + b->used;
    b->used += frame->length;
}

static void read_block(struct ahead *a, struct block *b)
{
    bool in_place = false;
    b->count = 0;
    b->used = 0;
    b->decoded = false;
    b->status = 1;
    while (b->count < MOST && b->used + LONGEST <= ARENA &&
           (!in_place || fcvi_capture_has_next(a->capture))) {
        struct judge_entry *e = &b->entry[b->count];
        b->status = fcvi_capture_next(a->capture, &e->record, b->why, sizeof b->why);
        if (b->status == 2)
            continue; /* a file is never waited for long */
        if (b->status != 1)
            break;
        size_t used = b->used;
        keep(a, b, &e->record.frame);
        in_place |= used == b->used;
        b->count++;
    }
    b->buffer = fcvi_capture_swap(a->capture, b->buffer);
    fcvi_capture_progress(a->capture, &b->read, &b->size);
}

static void decode(const struct ahead *a, struct judge_entry *e)
{
    fcvi_judge_decode(e);
    if (a->monitor != NULL && e->record.kind == CAPTURE_FRAME)
        e->hint = fcvi_monitor_where(a->monitor, &e->frame, e->record.network);
}

static void decode_block(const struct ahead *a, struct block *b)
{
    for (unsigned i = 0; i < b->count; i++)
        decode(a, &b->entry[i]);
    b->decoded = true;
}

/* NULL: nobody wants more. When all blocks are full the thread sleeps until half of them are empty: to wake
 * it takes the caller as long as some frames. */
static struct block *empty_block(struct ahead *a)
{
    pthread_mutex_lock(&a->lock);
    if (a->ready - a->taken == BLOCKS)
        while (!a->stop && a->ready - a->taken > BLOCKS / 2)
            pthread_cond_wait(&a->emptied, &a->lock);
    struct block *b = a->stop ? NULL : a->block[a->ready % BLOCKS];
    pthread_mutex_unlock(&a->lock);
    return b;
}

/* The caller decodes what it waits for itself: so both have as much to do. */
static bool is_awaited(struct ahead *a)
{
    pthread_mutex_lock(&a->lock);
    bool awaited = a->ready - a->taken <= 1;
    pthread_mutex_unlock(&a->lock);
    return awaited;
}

static void *run(void *context)
{
    struct ahead *a = context;
    for (struct block *b = empty_block(a); b != NULL; b = empty_block(a)) {
        read_block(a, b);
        const bool last = b->status != 1;
        if (!is_awaited(a))
            decode_block(a, b);
        pthread_mutex_lock(&a->lock);
        a->ready++;
        pthread_cond_signal(&a->filled);
        pthread_mutex_unlock(&a->lock);
        if (last)
            return NULL;
    }
    return NULL;
}

/* ---- the caller ---- */

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
    for (unsigned i = 0; i < BLOCKS; i++) {
        if (a->block[i] != NULL)
            free(a->block[i]->buffer);
        free(a->block[i]);
    }
    free(a);
}

static bool allocate(struct ahead *a)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        a->block[i] = malloc(sizeof *a->block[i]);
        if (a->block[i] == NULL)
            return false;
        a->block[i]->buffer = malloc(fcvi_capture_buffer());
        if (a->block[i]->buffer == NULL)
            return false;
    }
    return true;
}

struct ahead *fcvi_ahead_open(struct capture *capture, const struct fcvi_monitor *monitor)
{
    struct ahead *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->capture = capture;
    a->monitor = monitor;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->filled, NULL);
    pthread_cond_init(&a->emptied, NULL);
    if (allocate(a) && start(a))
        return a;
    release(a);
    return NULL;
}

static void take_block(struct ahead *a)
{
    pthread_mutex_lock(&a->lock);
    if (a->current != NULL) {
        a->taken++;
        if (a->ready - a->taken <= BLOCKS / 2)
            pthread_cond_signal(&a->emptied);
    }
    while (a->ready == a->taken)
        pthread_cond_wait(&a->filled, &a->lock);
    a->current = a->block[a->taken % BLOCKS];
    a->next = 0;
    pthread_mutex_unlock(&a->lock);
}

size_t fcvi_ahead_next(struct ahead *a, struct judge_entry **first, size_t most, int *status, char *error,
                       size_t size)
{
    while (a->current == NULL || (a->next == a->current->count && a->current->status == 1))
        take_block(a);
    struct block *b = a->current;
    size_t count = b->count - a->next < most ? b->count - a->next : most;
    *first = &b->entry[a->next];
    if (!b->decoded)
        for (size_t i = 0; i < count; i++)
            decode(a, *first + i);
    a->next += (unsigned)count;
    *status = b->status;
    if (count == 0 && b->status < 0 && size != 0) {
        strncpy(error, b->why, size - 1);
        error[size - 1] = '\0';
    }
    return count;
}

void fcvi_ahead_progress(struct ahead *a, uint64_t *read, uint64_t *size)
{
    *read = a->current == NULL ? 0 : a->current->read;
    *size = a->current == NULL ? 0 : a->current->size;
}

void fcvi_ahead_close(struct ahead *a)
{
    if (a == NULL)
        return;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_signal(&a->emptied);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->filled);
    pthread_cond_destroy(&a->emptied);
    release(a);
}
