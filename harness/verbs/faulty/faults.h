/* Faulty providers at the agent's layer of calls: each breaks one row of the book of verbs, or none and is
 * only odd. */
#ifndef FCVI_VERBS_FAULTS_H
#define FCVI_VERBS_FAULTS_H

#include "../layer.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

struct fault {
    const char *name;
    const char *row; /* NULL: it conforms, and no case may fail */
    const char *text;
    void (*install)(struct layer *layer);
};

extern const struct fault faults_poll[], faults_post[], faults_objects[], faults_memory[], faults_events[],
    faults_odd[];

enum { FAULTS_KNOWN = 1024 };

/** Guards what a fault remembers. */
extern pthread_mutex_t faults_lock;
/** Regions that were registered and are there, newest last. Under the lock. */
struct known_mr {
    struct ibv_mr *mr;
    uint64_t begin, end;
};
extern struct known_mr faults_mrs[FAULTS_KNOWN];
extern size_t faults_mr_count;

#endif
