/* What was told as destroyed and is there: a provider that only pretends would leave behind what no reset can
 * free, and every case after it would have no verdict. */
#include "faults.h"

enum what { QP, MW, MR, SRQ, CQ, PD, NOTHING };

static struct {
    enum what what;
    void *native;
} pretended[FAULTS_KNOWN];
static size_t count;
pthread_mutex_t faults_lock = PTHREAD_MUTEX_INITIALIZER;
void (*faults_forget)(void);

static void pretend(enum what what, void *native)
{
    pthread_mutex_lock(&faults_lock);
    if (count < FAULTS_KNOWN) {
        pretended[count].what = what;
        pretended[count++].native = native;
    }
    pthread_mutex_unlock(&faults_lock);
}

void faults_pretend_qp(struct ibv_qp *qp)
{
    pretend(QP, qp);
}

void faults_pretend_mw(struct ibv_mw *mw)
{
    pretend(MW, mw);
}

void faults_pretend_mr(struct ibv_mr *mr)
{
    pretend(MR, mr);
}

void faults_pretend_srq(struct ibv_srq *srq)
{
    pretend(SRQ, srq);
}

void faults_pretend_cq(struct ibv_cq *cq)
{
    pretend(CQ, cq);
}

void faults_pretend_pd(struct ibv_pd *pd)
{
    pretend(PD, pd);
}

static int destroy(enum what what, void *native)
{
    switch (what) {
    case QP:
        return layer_plain.destroy_qp(native);
    case MW:
        return layer_plain.dealloc_mw(native);
    case MR:
        return layer_plain.dereg_mr(native);
    case SRQ:
        return layer_plain.destroy_srq(native);
    case CQ:
        return layer_plain.destroy_cq(native);
    case PD:
        return layer_plain.dealloc_pd(native);
    case NOTHING:
        break;
    }
    return 0;
}

/* Windows before QPs, for which rxe waits, and what an object is made of after it. */
void faults_destroy_pretended(void)
{
    static const enum what order[] = {MW, QP, MR, SRQ, CQ, PD};
    size_t left = 0;
    pthread_mutex_lock(&faults_lock);
    if (faults_forget != NULL)
        faults_forget();
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        for (size_t at = 0; at < count; at++)
            if (pretended[at].what == order[i] && destroy(order[i], pretended[at].native) == 0)
                pretended[at].what = NOTHING;
    for (size_t at = 0; at < count; at++)
        if (pretended[at].what != NOTHING)
            pretended[left++] = pretended[at];
    count = left;
    pthread_mutex_unlock(&faults_lock);
}
