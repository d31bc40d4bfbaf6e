/* Faulty providers at the agent's layer of calls. rows.tsv has the rows of the book of verbs that each
 * breaks; one whose name begins with "odd-" breaks none. */
#ifndef FCVI_VERBS_FAULTS_H
#define FCVI_VERBS_FAULTS_H

#include "../layer.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

struct fault {
    const char *name;
    const char *text;
    struct layer calls;   /* that it makes in its own way; NULL: as the provider does */
    void (*forget)(void); /* what it remembers of the objects of before; NULL: nothing */
};

extern const struct fault faults_poll[], faults_post[], faults_objects[], faults_memory[], faults_events[],
    faults_odd[];

enum { FAULTS_KNOWN = 1024 };

/** Objects that were told as destroyed and are there. Each is destroyed by the next reset at the latest, in
 * an order that works. */
void faults_pretend_qp(struct ibv_qp *qp);
void faults_pretend_mw(struct ibv_mw *mw);
void faults_pretend_mr(struct ibv_mr *mr);
void faults_pretend_srq(struct ibv_srq *srq);
void faults_pretend_cq(struct ibv_cq *cq);
void faults_pretend_pd(struct ibv_pd *pd);
/** For layer.destroy_pretended; what a fault remembers of the objects of before is forgotten, too. */
void faults_destroy_pretended(void);
/** Forgets that; NULL: the fault remembers nothing. Numbers and addresses of objects come again. */
extern void (*faults_forget)(void);

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
