/* The second data path of libibverbs: Work Requests are built by ibv_wr_*, and CQs are polled by
 * ibv_start_poll. Each WR of a list is committed by itself, so that the ones ahead of a bad one are posted
 * (8.2.1). */
#include "layer.h"

#include <errno.h>
#include <string.h>

enum {
    OPERATIONS = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ,
    MORE = IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW,
};

static struct ibv_cq *create_cq(struct ibv_context *context, int cqe, void *of,
                                struct ibv_comp_channel *channel, int vector)
{
    struct ibv_cq_init_attr_ex wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.cqe = (uint32_t)cqe; /* a negative number is one too large */
    wanted.cq_context = of;
    wanted.channel = channel;
    wanted.comp_vector = (uint32_t)vector;
    wanted.wc_flags = IBV_WC_STANDARD_FLAGS;
    struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &wanted);
    return cq != NULL ? ibv_cq_ex_to_cq(cq) : NULL;
}

static struct ibv_wc entry(struct ibv_cq_ex *cq)
{
    struct ibv_wc wc;
    memset(&wc, 0, sizeof wc);
    wc.wr_id = cq->wr_id;
    wc.status = cq->status;
    wc.vendor_err = ibv_wc_read_vendor_err(cq);
    wc.opcode = ibv_wc_read_opcode(cq);
    wc.byte_len = ibv_wc_read_byte_len(cq);
    wc.qp_num = ibv_wc_read_qp_num(cq);
    wc.wc_flags = ibv_wc_read_wc_flags(cq);
    if (wc.status == IBV_WC_SUCCESS && (wc.wc_flags & IBV_WC_WITH_INV) != 0)
        wc.invalidated_rkey = ibv_wc_read_invalidated_rkey(cq);
    return wc;
}

static int poll_cq(struct ibv_cq *of, int count, struct ibv_wc *wc)
{
    struct ibv_cq_ex *cq = (struct ibv_cq_ex *)of; /* as ibv_cq_ex_to_cq has it */
    struct ibv_poll_cq_attr none = {0};
    int got = 0, status = ibv_start_poll(cq, &none);
    if (status != 0)
        return status == ENOENT ? 0 : -1;
    do
        wc[got++] = entry(cq);
    while (got < count && (status = ibv_next_poll(cq)) == 0);
    ibv_end_poll(cq);
    return status == 0 || status == ENOENT ? got : -1;
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    struct ibv_qp_init_attr_ex wanted;
    const int operations[] = {OPERATIONS | MORE, OPERATIONS};
    struct ibv_qp *qp = NULL;
    for (size_t i = 0; qp == NULL && i < sizeof operations / sizeof *operations; i++) {
        memset(&wanted, 0, sizeof wanted);
        memcpy(&wanted, init, sizeof *init); /* it begins with the members of the other */
        wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        wanted.pd = pd;
        wanted.send_ops_flags = (uint64_t)operations[i];
        qp = ibv_create_qp_ex(pd->context, &wanted);
        if (qp == NULL && errno != EOPNOTSUPP)
            break;
    }
    if (qp != NULL)
        init->cap = wanted.cap;
    return qp;
}

/* 0, or why there is no such operation. */
static int begin(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr)
{
    qp->wr_id = wr->wr_id;
    qp->wr_flags = wr->send_flags & ~(unsigned)IBV_SEND_INLINE;
    switch (wr->opcode) {
    case IBV_WR_SEND:
        ibv_wr_send(qp);
        return 0;
    case IBV_WR_RDMA_WRITE:
        ibv_wr_rdma_write(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
        return 0;
    case IBV_WR_RDMA_READ:
        ibv_wr_rdma_read(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
        return 0;
    case IBV_WR_SEND_WITH_INV:
        if (qp->wr_send_inv == NULL)
            return EOPNOTSUPP;
        ibv_wr_send_inv(qp, wr->invalidate_rkey);
        return 0;
    case IBV_WR_LOCAL_INV:
        if (qp->wr_local_inv == NULL)
            return EOPNOTSUPP;
        ibv_wr_local_inv(qp, wr->invalidate_rkey);
        return 0;
    case IBV_WR_BIND_MW:
        if (qp->wr_bind_mw == NULL)
            return EOPNOTSUPP;
        ibv_wr_bind_mw(qp, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
        return 0;
    default:
        return EINVAL;
    }
}

static bool has_data(enum ibv_wr_opcode opcode)
{
    return opcode != IBV_WR_LOCAL_INV && opcode != IBV_WR_BIND_MW;
}

static void data_of(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr)
{
    if ((wr->send_flags & IBV_SEND_INLINE) == 0) {
        ibv_wr_set_sge_list(qp, (size_t)wr->num_sge, wr->sg_list);
        return;
    }
    struct ibv_data_buf parts[64];
    size_t count = (size_t)wr->num_sge < sizeof parts / sizeof *parts ? (size_t)wr->num_sge
                                                                      : sizeof parts / sizeof *parts;
    for (size_t i = 0; i < count; i++)
        parts[i] = (struct ibv_data_buf){(void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length};
    ibv_wr_set_inline_data_list(qp, count, parts);
}

static int post_send(struct ibv_qp *of, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(of);
    for (; wr != NULL; wr = wr->next) {
        ibv_wr_start(qp);
        int status = begin(qp, wr);
        if (status != 0) {
            ibv_wr_abort(qp);
        } else {
            if (has_data(wr->opcode))
                data_of(qp, wr);
            status = ibv_wr_complete(qp);
        }
        if (status != 0) {
            *bad = wr;
            return status;
        }
    }
    return 0;
}

const struct layer layer_extended = {create_cq, poll_cq, create_qp, post_send};
