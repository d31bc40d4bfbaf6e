/* See provider_stream.h. */
#include "provider_stream.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LONGEST = 24 + 2112, ROOM = 4096 }; /* frames that wait; the suite has one step's under way */

struct waiting {
    struct fcvi_input frame;
    uint8_t bytes[LONGEST];
};

static struct waiting queue[ROOM], taken;
static size_t head, count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ready = -1;

bool stream_open(void)
{
    ready = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return ready >= 0;
}

int stream_fd(void)
{
    return ready;
}

bool stream_put(const struct fcvi_input *frame)
{
    const uint64_t one = 1;
    pthread_mutex_lock(&mutex);
    bool room = ready >= 0 && count < ROOM && frame->length <= LONGEST;
    if (room) {
        struct waiting *w = &queue[(head + count++) % ROOM];
        w->frame = *frame;
        memcpy(w->bytes, frame->bytes, frame->length);
        (void)!write(ready, &one, sizeof one);
    }
    pthread_mutex_unlock(&mutex);
    return room;
}

bool stream_receive(struct fcvi_input *frame)
{
    uint64_t told;
    pthread_mutex_lock(&mutex);
    bool any = count > 0;
    if (any) {
        taken = queue[head];
        head = (head + 1) % ROOM;
        count--;
    } else if (ready >= 0) {
        (void)!read(ready, &told, sizeof told);
    }
    pthread_mutex_unlock(&mutex);
    if (any) {
        *frame = taken.frame;
        frame->bytes = taken.bytes;
    }
    return any;
}
