/* The calls of libibverbs and librdmacm as they are; what is inline or a macro there is a function here. */
#include "layer.h"

static struct ibv_cq *create_cq(struct ibv_context *context, int cqe, void *of,
                                struct ibv_comp_channel *channel, int vector)
{
    return ibv_create_cq(context, cqe, of, channel, vector);
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
    return ibv_query_port(context, port, attr);
}

static int get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq)
{
    void *of = NULL;
    return ibv_get_cq_event(channel, cq, &of);
}

static void ack_cq_event(struct ibv_cq *cq)
{
    ibv_ack_cq_events(cq, 1);
}

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    return ibv_poll_cq(cq, count, wc);
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
    return ibv_req_notify_cq(cq, solicited);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    return ibv_post_send(qp, wr, bad);
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    return ibv_post_recv(qp, wr, bad);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    return ibv_post_srq_recv(srq, wr, bad);
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                             unsigned access)
{
    if (iova != NULL)
        return ibv_reg_mr_iova(pd, address, length, *iova, access);
    return ibv_reg_mr(pd, address, length, access);
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    return ibv_alloc_mw(pd, type);
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    return ibv_bind_mw(qp, mw, bind);
}

static int dealloc_mw(struct ibv_mw *mw)
{
    return ibv_dealloc_mw(mw);
}

const struct layer layer_plain = {
    .open_device = ibv_open_device,
    .close_device = ibv_close_device,
    .query_device = ibv_query_device,
    .query_port = query_port,
    .alloc_pd = ibv_alloc_pd,
    .dealloc_pd = ibv_dealloc_pd,
    .create_comp_channel = ibv_create_comp_channel,
    .destroy_comp_channel = ibv_destroy_comp_channel,
    .get_cq_event = get_cq_event,
    .ack_cq_event = ack_cq_event,
    .create_cq = create_cq,
    .resize_cq = ibv_resize_cq,
    .destroy_cq = ibv_destroy_cq,
    .poll_cq = poll_cq,
    .req_notify_cq = req_notify_cq,
    .create_qp = ibv_create_qp,
    .query_qp = ibv_query_qp,
    .modify_qp = ibv_modify_qp,
    .destroy_qp = ibv_destroy_qp,
    .post_send = post_send,
    .post_recv = post_recv,
    .reg_mr = reg_mr,
    .rereg_mr = ibv_rereg_mr,
    .dereg_mr = ibv_dereg_mr,
    .alloc_mw = alloc_mw,
    .bind_mw = bind_mw,
    .dealloc_mw = dealloc_mw,
    .create_srq = ibv_create_srq,
    .query_srq = ibv_query_srq,
    .modify_srq = ibv_modify_srq,
    .destroy_srq = ibv_destroy_srq,
    .post_srq_recv = post_srq_recv,
    .get_async_event = ibv_get_async_event,
    .ack_async_event = ibv_ack_async_event,
    .connect = rdma_connect,
    .accept = rdma_accept,
    .reject = rdma_reject,
    .disconnect = rdma_disconnect,
};
