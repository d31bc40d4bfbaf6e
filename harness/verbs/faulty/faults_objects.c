/* RNICs, Protection Domains, Completion Queues, Queue Pairs and Shared Receive Queues that are not kept as
 * they have to be. */
#include "faults.h"

#include <errno.h>
#include <stdbool.h>

/* ---- what is in use ---- */

static int dealloc_pd(struct ibv_pd *pd)
{
    if (layer_plain.dealloc_pd(pd) != 0)
        faults_pretend_pd(pd);
    return 0;
}

/* The QPs that are there. libsiw unmaps a CQ before the kernel refuses to destroy it, so that the provider is
 * not asked to destroy one in use. */
static struct {
    const struct ibv_qp *qp;
    const struct ibv_cq *send, *receive;
} qps[FAULTS_KNOWN];
static size_t qp_count;

static struct ibv_qp *count_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    struct ibv_qp *qp = layer_plain.create_qp(pd, init);
    pthread_mutex_lock(&faults_lock);
    if (qp != NULL && qp_count < FAULTS_KNOWN) {
        qps[qp_count].qp = qp;
        qps[qp_count].send = qp->send_cq;
        qps[qp_count++].receive = qp->recv_cq;
    }
    pthread_mutex_unlock(&faults_lock);
    return qp;
}

static int discount_qp(struct ibv_qp *qp)
{
    int returned = layer_plain.destroy_qp(qp);
    pthread_mutex_lock(&faults_lock);
    for (size_t i = 0; returned == 0 && i < qp_count; i++)
        if (qps[i].qp == qp)
            qps[i--] = qps[--qp_count];
    pthread_mutex_unlock(&faults_lock);
    return returned;
}

static void forget_qps(void)
{
    qp_count = 0;
}

static bool is_in_use(const struct ibv_cq *cq)
{
    bool found = false;
    pthread_mutex_lock(&faults_lock);
    for (size_t i = 0; i < qp_count; i++)
        found = found || qps[i].send == cq || qps[i].receive == cq;
    pthread_mutex_unlock(&faults_lock);
    return found;
}

static int destroy_cq(struct ibv_cq *cq)
{
    if (is_in_use(cq) || layer_plain.destroy_cq(cq) != 0)
        faults_pretend_cq(cq);
    return 0;
}

static int destroy_srq(struct ibv_srq *srq)
{
    if (layer_plain.destroy_srq(srq) != 0)
        faults_pretend_srq(srq);
    return 0;
}

static int pd_stays(struct ibv_pd *pd)
{
    (void)pd;
    return EBUSY;
}

static int cq_stays(struct ibv_cq *cq)
{
    (void)cq;
    return EBUSY;
}

/* ---- RNIC ---- */

static int query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    int returned = layer_plain.query_device(context, attr);
    attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = 0;
    attr->max_sge = 1;
    return returned;
}

static int small_maxima(struct ibv_context *context, struct ibv_device_attr *attr)
{
    int returned = layer_plain.query_device(context, attr);
    attr->max_cqe = 16;
    attr->max_qp_wr = 8;
    return returned;
}

/* ---- Completion Queues ---- */

static struct ibv_cq *cut_cq(struct ibv_context *context, int cqe, void *of, struct ibv_comp_channel *channel,
                             int vector)
{
    struct ibv_device_attr attr;
    memset(&attr, 0, sizeof attr);
    if (layer_plain.query_device(context, &attr) == 0 && attr.max_cqe > 0 && cqe > attr.max_cqe)
        cqe = attr.max_cqe;
    return layer_plain.create_cq(context, cqe, of, channel, vector);
}

static struct ibv_cq *small_cq(struct ibv_context *context, int cqe, void *of,
                               struct ibv_comp_channel *channel, int vector)
{
    struct ibv_cq *cq = layer_plain.create_cq(context, cqe, of, channel, vector);
    if (cq != NULL && cqe > 1)
        cq->cqe = cqe - 1;
    return cq;
}

static struct ibv_cq *no_vector(struct ibv_context *context, int cqe, void *of,
                                struct ibv_comp_channel *channel, int vector)
{
    (void)channel;
    return layer_plain.create_cq(context, cqe, of, NULL, vector);
}

static int resize_nothing(struct ibv_cq *cq, int cqe)
{
    (void)cq, (void)cqe;
    return 0;
}

static int resize_forgets(struct ibv_cq *cq, int cqe)
{
    struct ibv_wc wc;
    int returned = layer_plain.resize_cq(cq, cqe);
    (void)layer_plain.poll_cq(cq, 1, &wc);
    return returned;
}

static int resize_never_fails(struct ibv_cq *cq, int cqe)
{
    if (layer_plain.resize_cq(cq, cqe) != 0)
        cq->cqe = cqe;
    return 0;
}

/* ---- Queue Pairs ---- */

static struct ibv_qp *small_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    struct ibv_qp *qp = layer_plain.create_qp(pd, init);
    init->cap.max_send_wr /= 2;
    init->cap.max_recv_wr /= 2;
    return qp;
}

static struct ibv_qp *one_sge_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    struct ibv_qp *qp = layer_plain.create_qp(pd, init);
    init->cap.max_send_sge = init->cap.max_recv_sge = 1;
    return qp;
}

static struct ibv_qp *cut_sges(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    struct ibv_device_attr attr;
    memset(&attr, 0, sizeof attr);
    if (layer_plain.query_device(pd->context, &attr) == 0) {
        uint32_t most = (uint32_t)attr.max_sge;
        init->cap.max_send_sge = init->cap.max_send_sge > most ? most : init->cap.max_send_sge;
        init->cap.max_recv_sge = init->cap.max_recv_sge > most ? most : init->cap.max_recv_sge;
    }
    return layer_plain.create_qp(pd, init);
}

static struct ibv_qp *one_cq(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    init->recv_cq = init->send_cq;
    return layer_plain.create_qp(pd, init);
}

static struct ibv_qp *never_all(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    init->sq_sig_all = 0;
    return layer_plain.create_qp(pd, init);
}

static struct ibv_qp *without_srq(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    init->srq = NULL;
    return layer_plain.create_qp(pd, init);
}

static int state_is_init(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
    int returned = layer_plain.query_qp(qp, attr, mask, init);
    attr->qp_state = IBV_QPS_INIT;
    return returned;
}

static int no_cap(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
    int returned = layer_plain.query_qp(qp, attr, mask, init);
    memset(&attr->cap, 0, sizeof attr->cap);
    return returned;
}

static int never_illegal(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    (void)layer_plain.modify_qp(qp, attr, mask);
    return 0;
}

static int no_error_state(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    return (mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_ERR
               ? 0
               : layer_plain.modify_qp(qp, attr, mask);
}

static int error_refused(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    return (mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_ERR
               ? EINVAL
               : layer_plain.modify_qp(qp, attr, mask);
}

static int no_way_back(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    return (mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_RESET
               ? EINVAL
               : layer_plain.modify_qp(qp, attr, mask);
}

static int no_reset(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    return (mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_RESET
               ? 0
               : layer_plain.modify_qp(qp, attr, mask);
}

static int qp_stays(struct ibv_qp *qp)
{
    (void)qp;
    return EBUSY;
}

static int qp_lives_on(struct ibv_qp *qp)
{
    faults_pretend_qp(qp);
    return 0;
}

/* ---- Shared Receive Queues ---- */

static struct ibv_srq *small_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
    struct ibv_srq *srq = layer_plain.create_srq(pd, init);
    init->attr.max_wr = 1;
    init->attr.max_sge = 0;
    return srq;
}

static int query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
    int returned = layer_plain.query_srq(srq, attr);
    memset(attr, 0, sizeof *attr);
    return returned;
}

static int no_limit(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
    (void)srq, (void)attr, (void)mask;
    return 0;
}

static int any_limit(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
    (void)layer_plain.modify_srq(srq, attr, mask);
    return 0;
}

/* ---- connections ---- */

static int disconnect(struct rdma_cm_id *id)
{
    (void)id;
    return 0;
}

static int no_reads(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
    param->initiator_depth = param->responder_resources = 0;
    return layer_plain.connect(id, param);
}

static int not_accepted(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
    (void)param;
    return layer_plain.reject(id, NULL, 0);
}

const struct fault faults_objects[] = {
    {"pd-in-use-deallocated", "A PD in use is told as deallocated.", {.dealloc_pd = dealloc_pd}, NULL},
    {"cq-in-use-destroyed",
     "A CQ in use is told as destroyed.",
     {.create_qp = count_qp, .destroy_qp = discount_qp, .destroy_cq = destroy_cq},
     forget_qps},
    {"srq-in-use-destroyed", "An SRQ in use is told as destroyed.", {.destroy_srq = destroy_srq}, NULL},
    {"pd-stays", "No PD can be deallocated.", {.dealloc_pd = pd_stays}, NULL},
    {"cq-stays", "No CQ can be destroyed.", {.destroy_cq = cq_stays}, NULL},
    {"no-reads-told", "The query tells of no Read, and of one SGE.", {.query_device = query_device}, NULL},
    {"maxima-too-small", "More is given than the query says.", {.query_device = small_maxima}, NULL},
    {"cq-cut", "A CQ that is too large is cut down.", {.create_cq = cut_cq}, NULL},
    {"cq-too-small", "A CQ has an entry less than was asked for.", {.create_cq = small_cq}, NULL},
    {"cq-without-handler", "The handler of a CQ is forgotten.", {.create_cq = no_vector}, NULL},
    {"resize-does-nothing", "A CQ keeps its size.", {.resize_cq = resize_nothing}, NULL},
    {"resize-loses-wc", "A WC is lost when the CQ is resized.", {.resize_cq = resize_forgets}, NULL},
    {"resize-never-refused",
     "A CQ is told as smaller than what is in it.",
     {.resize_cq = resize_never_fails},
     NULL},
    {"qp-too-small",
     "Half of the sizes that were asked for is told as granted.",
     {.create_qp = small_qp},
     NULL},
    {"qp-of-one-sge", "One SGE is told as granted.", {.create_qp = one_sge_qp}, NULL},
    {"sges-cut", "Too many SGEs are cut down.", {.create_qp = cut_sges}, NULL},
    {"one-cq-for-both", "Receives complete on the send queue's CQ.", {.create_qp = one_cq}, NULL},
    {"signal-all-forgotten",
     "A QP does not keep that all its WRs are signaled.",
     {.create_qp = never_all},
     NULL},
    {"srq-forgotten", "A QP does not keep its SRQ.", {.create_qp = without_srq}, NULL},
    {"state-always-init", "The query tells INIT in every state.", {.query_qp = state_is_init}, NULL},
    {"query-without-sizes", "The query tells sizes of 0.", {.query_qp = no_cap}, NULL},
    {"illegal-move-accepted", "No move is refused.", {.modify_qp = never_illegal}, NULL},
    {"error-is-not-entered", "The move to Error does nothing.", {.modify_qp = no_error_state}, NULL},
    {"error-refused", "The move to Error is refused.", {.modify_qp = error_refused}, NULL},
    {"no-way-back-to-idle", "The move to RESET is refused.", {.modify_qp = no_way_back}, NULL},
    {"idle-is-not-entered", "The move to RESET does nothing.", {.modify_qp = no_reset}, NULL},
    {"qp-stays", "No QP can be destroyed.", {.destroy_qp = qp_stays}, NULL},
    {"qp-lives-on", "A QP is told as destroyed and lives on.", {.destroy_qp = qp_lives_on}, NULL},
    {"srq-too-small", "An SRQ is told as smaller than was asked for.", {.create_srq = small_srq}, NULL},
    {"srq-query-empty", "The query of an SRQ tells nothing.", {.query_srq = query_srq}, NULL},
    {"srq-limit-forgotten", "The limit of an SRQ is not kept.", {.modify_srq = no_limit}, NULL},
    {"srq-limit-unchecked", "A limit that is too large is accepted.", {.modify_srq = any_limit}, NULL},
    {"disconnect-does-nothing", "A connection is not ended.", {.disconnect = disconnect}, NULL},
    {"reads-never-granted", "ORD and IRD are always 0.", {.connect = no_reads}, NULL},
    {"never-accepts", "What is accepted is refused.", {.accept = not_accepted}, NULL},
    {NULL, NULL, {.open_device = NULL}, NULL}};
