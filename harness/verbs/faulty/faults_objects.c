/* RNICs, Protection Domains, Completion Queues, Queue Pairs and Shared Receive Queues that are not kept as
 * they have to be. */
#include "faults.h"

#include <errno.h>

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
    (void)layer_plain.dealloc_pd(pd);
    return 0;
}
INSTALL(dealloc_pd)

static int destroy_cq(struct ibv_cq *cq)
{
    (void)layer_plain.destroy_cq(cq);
    return 0;
}
INSTALL(destroy_cq)

static int destroy_srq(struct ibv_srq *srq)
{
    (void)layer_plain.destroy_srq(srq);
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
    (void)qp;
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
    {"pd-in-use-deallocated", "VERBS-5.2.2-01", "A PD in use is told as deallocated.", install_dealloc_pd},
    {"cq-in-use-destroyed", "VERBS-5.3.4-01", "A CQ in use is told as destroyed.", install_destroy_cq},
    {"srq-in-use-destroyed", "VERBS-6.3.3-01", "An SRQ in use is told as destroyed.", install_destroy_srq},
    {"pd-stays", "VERBS-5.2.2-06", "No PD can be deallocated.", install_pd_stays},
    {"cq-stays", "VERBS-5.3.4-03", "No CQ can be destroyed.", install_cq_stays},
    {"no-reads-told", "VERBS-8.1.3.2-10", "The query tells of no Read, and of one SGE.",
     install_query_device},
    {"maxima-too-small", "VERBS-5.1.3-02", "More is given than the query says.", install_small_maxima},
    {"cq-cut", "VERBS-5.3.1-04", "A CQ that is too large is cut down.", install_cut_cq},
    {"cq-too-small", "VERBS-5.3.1-03", "A CQ has an entry less than was asked for.", install_small_cq},
    {"cq-without-handler", "VERBS-8.2.5-02", "The handler of a CQ is forgotten.", install_no_vector},
    {"resize-does-nothing", "VERBS-5.3.3-01", "A CQ keeps its size.", install_resize_nothing},
    {"resize-loses-wc", "VERBS-5.3.3-02", "A WC is lost when the CQ is resized.", install_resize_forgets},
    {"resize-never-refused", "VERBS-5.3.3-05", "A CQ is told as smaller than what is in it.",
     install_resize_never_fails},
    {"qp-too-small", "VERBS-6.1.1-03", "Half of the sizes that were asked for is told as granted.",
     install_small_qp},
    {"qp-of-one-sge", "VERBS-9.2.5.1-02", "One SGE is told as granted.", install_one_sge_qp},
    {"sges-cut", "VERBS-8.1.3.2-09", "Too many SGEs are cut down.", install_cut_sges},
    {"one-cq-for-both", "VERBS-6.1.1-05", "Receives complete on the send queue's CQ.", install_one_cq},
    {"signal-all-forgotten", "VERBS-8.2.4-05", "A QP does not keep that all its WRs are signaled.",
     install_never_all},
    {"srq-forgotten", "VERBS-6.3-11", "A QP does not keep its SRQ.", install_without_srq},
    {"state-always-init", "VERBS-9.2.5.2-01", "The query tells INIT in every state.", install_state_is_init},
    {"query-without-sizes", "VERBS-6.1.2-01", "The query tells sizes of 0.", install_no_cap},
    {"illegal-move-accepted", "VERBS-6.2-01", "No move is refused.", install_never_illegal},
    {"error-is-not-entered", "VERBS-6.2.2.4-06", "The move to Error does nothing.", install_no_error_state},
    {"error-refused", "VERBS-6.2.2.4-01", "The move to Error is refused.", install_error_refused},
    {"no-way-back-to-idle", "VERBS-6.2.4-08", "The move to RESET is refused.", install_no_way_back},
    {"idle-is-not-entered", "VERBS-6.2.4-09", "The move to RESET does nothing.", install_no_reset},
    {"qp-stays", "VERBS-6.1.4-07", "No QP can be destroyed.", install_qp_stays},
    {"qp-lives-on", "VERBS-6.1.4-02", "A QP is told as destroyed and lives on.", install_qp_lives_on},
    {"srq-too-small", "VERBS-9.2.4.1-02", "An SRQ is told as smaller than was asked for.", install_small_srq},
    {"srq-query-empty", "VERBS-9.2.4.2-01", "The query of an SRQ tells nothing.", install_query_srq},
    {"srq-limit-forgotten", "VERBS-6.3.8-03", "The limit of an SRQ is not kept.", install_no_limit},
    {"srq-limit-unchecked", "VERBS-6.3.8-07", "A limit that is too large is accepted.", install_any_limit},
    {"disconnect-does-nothing", "VERBS-6.2.5-06", "A connection is not ended.", install_disconnect},
    {"reads-never-granted", "VERBS-9.2.5.1-03", "ORD and IRD are always 0.", install_no_reads},
    {"never-accepts", "VERBS-6.2.1.2-01", "What is accepted is refused.", install_not_accepted},
    {NULL, NULL, NULL, NULL}};
