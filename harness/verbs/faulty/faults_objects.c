/* RNICs, Protection Domains, Completion Queues, Queue Pairs and Shared Receive Queues that are not kept as
 * they have to be. */
#include "faults.h"

#include <errno.h>
#include <stdbool.h>

#define INSTALL(member)                                                                                      \
    static void install_##member(struct layer *layer)                                                        \
    {                                                                                                        \
        layer->member = member;                                                                              \
    }
#define INSTALL_AS(function, member)                                                                         \
    static void install_##function(struct layer *layer)                                                      \
    {                                                                                                        \
        layer->member = function;                                                                            \
    }

/* ---- what is in use ---- */

static int dealloc_pd(struct ibv_pd *pd)
{
    if (layer_plain.dealloc_pd(pd) != 0)
        faults_pretend_pd(pd);
    return 0;
}
INSTALL(dealloc_pd)

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

static void install_destroy_cq(struct layer *layer)
{
    layer->create_qp = count_qp;
    layer->destroy_qp = discount_qp;
    layer->destroy_cq = destroy_cq;
    faults_forget = forget_qps;
}

static int destroy_srq(struct ibv_srq *srq)
{
    if (layer_plain.destroy_srq(srq) != 0)
        faults_pretend_srq(srq);
    return 0;
}
INSTALL(destroy_srq)

static int pd_stays(struct ibv_pd *pd)
{
    (void)pd;
    return EBUSY;
}
INSTALL_AS(pd_stays, dealloc_pd)

static int cq_stays(struct ibv_cq *cq)
{
    (void)cq;
    return EBUSY;
}
INSTALL_AS(cq_stays, destroy_cq)

/* ---- RNIC ---- */

static int query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    int returned = layer_plain.query_device(context, attr);
    attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = 0;
    attr->max_sge = 1;
    return returned;
}
INSTALL(query_device)

static int small_maxima(struct ibv_context *context, struct ibv_device_attr *attr)
{
    int returned = layer_plain.query_device(context, attr);
    attr->max_cqe = 16;
    attr->max_qp_wr = 8;
    return returned;
}
INSTALL_AS(small_maxima, query_device)

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
INSTALL_AS(cut_cq, create_cq)

static struct ibv_cq *small_cq(struct ibv_context *context, int cqe, void *of,
                               struct ibv_comp_channel *channel, int vector)
{
    struct ibv_cq *cq = layer_plain.create_cq(context, cqe, of, channel, vector);
    if (cq != NULL && cqe > 1)
        cq->cqe = cqe - 1;
    return cq;
}
INSTALL_AS(small_cq, create_cq)

static struct ibv_cq *no_vector(struct ibv_context *context, int cqe, void *of,
                                struct ibv_comp_channel *channel, int vector)
{
    (void)channel;
    return layer_plain.create_cq(context, cqe, of, NULL, vector);
}
INSTALL_AS(no_vector, create_cq)

static int resize_nothing(struct ibv_cq *cq, int cqe)
{
    (void)cq, (void)cqe;
    return 0;
}
INSTALL_AS(resize_nothing, resize_cq)

static int resize_forgets(struct ibv_cq *cq, int cqe)
{
    struct ibv_wc wc;
    int returned = layer_plain.resize_cq(cq, cqe);
    (void)layer_plain.poll_cq(cq, 1, &wc);
    return returned;
}
INSTALL_AS(resize_forgets, resize_cq)

static int resize_never_fails(struct ibv_cq *cq, int cqe)
{
    if (layer_plain.resize_cq(cq, cqe) != 0)
        cq->cqe = cqe;
    return 0;
}
INSTALL_AS(resize_never_fails, resize_cq)

/* ---- Queue Pairs ---- */

static struct ibv_qp *small_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    struct ibv_qp *qp = layer_plain.create_qp(pd, init);
    init->cap.max_send_wr /= 2;
    init->cap.max_recv_wr /= 2;
    return qp;
}
INSTALL_AS(small_qp, create_qp)

static struct ibv_qp *one_sge_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    struct ibv_qp *qp = layer_plain.create_qp(pd, init);
    init->cap.max_send_sge = init->cap.max_recv_sge = 1;
    return qp;
}
INSTALL_AS(one_sge_qp, create_qp)

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
INSTALL_AS(cut_sges, create_qp)

static struct ibv_qp *one_cq(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    init->recv_cq = init->send_cq;
    return layer_plain.create_qp(pd, init);
}
INSTALL_AS(one_cq, create_qp)

static struct ibv_qp *never_all(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    init->sq_sig_all = 0;
    return layer_plain.create_qp(pd, init);
}
INSTALL_AS(never_all, create_qp)

static struct ibv_qp *without_srq(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    init->srq = NULL;
    return layer_plain.create_qp(pd, init);
}
INSTALL_AS(without_srq, create_qp)

static int state_is_init(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
    int returned = layer_plain.query_qp(qp, attr, mask, init);
    attr->qp_state = IBV_QPS_INIT;
    return returned;
}
INSTALL_AS(state_is_init, query_qp)

static int no_cap(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
    int returned = layer_plain.query_qp(qp, attr, mask, init);
    memset(&attr->cap, 0, sizeof attr->cap);
    return returned;
}
INSTALL_AS(no_cap, query_qp)

static int never_illegal(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    (void)layer_plain.modify_qp(qp, attr, mask);
    return 0;
}
INSTALL_AS(never_illegal, modify_qp)

static int no_error_state(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    return (mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_ERR
               ? 0
               : layer_plain.modify_qp(qp, attr, mask);
}
INSTALL_AS(no_error_state, modify_qp)

static int error_refused(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    return (mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_ERR
               ? EINVAL
               : layer_plain.modify_qp(qp, attr, mask);
}
INSTALL_AS(error_refused, modify_qp)

static int no_way_back(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    return (mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_RESET
               ? EINVAL
               : layer_plain.modify_qp(qp, attr, mask);
}
INSTALL_AS(no_way_back, modify_qp)

static int no_reset(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    return (mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_RESET
               ? 0
               : layer_plain.modify_qp(qp, attr, mask);
}
INSTALL_AS(no_reset, modify_qp)

static int qp_stays(struct ibv_qp *qp)
{
    (void)qp;
    return EBUSY;
}
INSTALL_AS(qp_stays, destroy_qp)

static int qp_lives_on(struct ibv_qp *qp)
{
    faults_pretend_qp(qp);
    return 0;
}
INSTALL_AS(qp_lives_on, destroy_qp)

/* ---- Shared Receive Queues ---- */

static struct ibv_srq *small_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
    struct ibv_srq *srq = layer_plain.create_srq(pd, init);
    init->attr.max_wr = 1;
    init->attr.max_sge = 0;
    return srq;
}
INSTALL_AS(small_srq, create_srq)

static int query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
    int returned = layer_plain.query_srq(srq, attr);
    memset(attr, 0, sizeof *attr);
    return returned;
}
INSTALL(query_srq)

static int no_limit(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
    (void)srq, (void)attr, (void)mask;
    return 0;
}
INSTALL_AS(no_limit, modify_srq)

static int any_limit(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
    (void)layer_plain.modify_srq(srq, attr, mask);
    return 0;
}
INSTALL_AS(any_limit, modify_srq)

/* ---- connections ---- */

static int disconnect(struct rdma_cm_id *id)
{
    (void)id;
    return 0;
}
INSTALL(disconnect)

static int no_reads(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
    param->initiator_depth = param->responder_resources = 0;
    return layer_plain.connect(id, param);
}
INSTALL_AS(no_reads, connect)

static int not_accepted(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
    (void)param;
    return layer_plain.reject(id, NULL, 0);
}
INSTALL_AS(not_accepted, accept)

const struct fault faults_objects[] = {
    {"pd-in-use-deallocated", "A PD in use is told as deallocated.", install_dealloc_pd},
    {"cq-in-use-destroyed", "A CQ in use is told as destroyed.", install_destroy_cq},
    {"srq-in-use-destroyed", "An SRQ in use is told as destroyed.", install_destroy_srq},
    {"pd-stays", "No PD can be deallocated.", install_pd_stays},
    {"cq-stays", "No CQ can be destroyed.", install_cq_stays},
    {"no-reads-told", "The query tells of no Read, and of one SGE.", install_query_device},
    {"maxima-too-small", "More is given than the query says.", install_small_maxima},
    {"cq-cut", "A CQ that is too large is cut down.", install_cut_cq},
    {"cq-too-small", "A CQ has an entry less than was asked for.", install_small_cq},
    {"cq-without-handler", "The handler of a CQ is forgotten.", install_no_vector},
    {"resize-does-nothing", "A CQ keeps its size.", install_resize_nothing},
    {"resize-loses-wc", "A WC is lost when the CQ is resized.", install_resize_forgets},
    {"resize-never-refused", "A CQ is told as smaller than what is in it.", install_resize_never_fails},
    {"qp-too-small", "Half of the sizes that were asked for is told as granted.", install_small_qp},
    {"qp-of-one-sge", "One SGE is told as granted.", install_one_sge_qp},
    {"sges-cut", "Too many SGEs are cut down.", install_cut_sges},
    {"one-cq-for-both", "Receives complete on the send queue's CQ.", install_one_cq},
    {"signal-all-forgotten", "A QP does not keep that all its WRs are signaled.", install_never_all},
    {"srq-forgotten", "A QP does not keep its SRQ.", install_without_srq},
    {"state-always-init", "The query tells INIT in every state.", install_state_is_init},
    {"query-without-sizes", "The query tells sizes of 0.", install_no_cap},
    {"illegal-move-accepted", "No move is refused.", install_never_illegal},
    {"error-is-not-entered", "The move to Error does nothing.", install_no_error_state},
    {"error-refused", "The move to Error is refused.", install_error_refused},
    {"no-way-back-to-idle", "The move to RESET is refused.", install_no_way_back},
    {"idle-is-not-entered", "The move to RESET does nothing.", install_no_reset},
    {"qp-stays", "No QP can be destroyed.", install_qp_stays},
    {"qp-lives-on", "A QP is told as destroyed and lives on.", install_qp_lives_on},
    {"srq-too-small", "An SRQ is told as smaller than was asked for.", install_small_srq},
    {"srq-query-empty", "The query of an SRQ tells nothing.", install_query_srq},
    {"srq-limit-forgotten", "The limit of an SRQ is not kept.", install_no_limit},
    {"srq-limit-unchecked", "A limit that is too large is accepted.", install_any_limit},
    {"disconnect-does-nothing", "A connection is not ended.", install_disconnect},
    {"reads-never-granted", "ORD and IRD are always 0.", install_no_reads},
    {"never-accepts", "What is accepted is refused.", install_not_accepted},
    {NULL, NULL, NULL}};
