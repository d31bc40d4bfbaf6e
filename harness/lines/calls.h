/* Requests of an agent: each is carried out where its line is read or in a thread, and a reset ends what has
 * not returned. No lock of this part is held while a call is made. */
#ifndef FCVI_LINES_CALLS_H
#define FCVI_LINES_CALLS_H

#include "client.h"
#include "params.h"

enum { CALLS_THREADS = 64 }; /* that a client may number */

struct open_call;
struct numbered_thread;

struct calls {
    struct client *client;
    /** Carries a request out; NULL with p->why. */
    json_t *(*perform)(void *context, const void *method, struct params *p);
    void *context;
    size_t most;     /* that have not returned, in threads of their own or numbered ones */
    size_t numbered; /* threads that a client may number, CALLS_THREADS at most; 0: `thread` has no meaning */
    /** How long a line waits until the call before it waits in the provider, or has returned; 0: not at all.
     */
    long moment_ns;
    atomic_bool ending; /* a reset, or the end: what waits gives up */

    /* what follows is of calls.c */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct open_call *open;
    size_t open_count;
    unsigned busy;          /* threads that have not left */
    uint64_t begun, passed; /* calls in threads of their own; the newest that waits or has returned */
    struct numbered_thread *thread[CALLS_THREADS];
};

void calls_begin(struct calls *c);
/** Nobody is inside. */
void calls_free(struct calls *c);
/** A request: it is answered now, or when it returns. `waits`: it may block in the provider. */
void calls_request(struct calls *c, const json_t *id, const void *method, struct params *p, bool waits);
/** Answers, or refuses for what p says. Steals result. */
void calls_answer(struct calls *c, const json_t *id, json_t *result, const struct params *p);
/** The calling thread begins to wait in the provider. */
void calls_wait_begins(void);
/** A thread of the agent's own, which a reset waits for; it leaves by calls_left(). */
bool calls_spawn(struct calls *c, void *(*body)(void *), void *context);
void calls_left(struct calls *c);
/** From here on nothing is begun, and what waits is to give up. */
void calls_stop(struct calls *c);
/** Refuses what has not returned in so many ms. False: a thread is still inside. */
bool calls_ended(struct calls *c, unsigned ms);

#endif
