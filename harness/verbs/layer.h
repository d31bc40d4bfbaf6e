/* Every call that the agent makes of libibverbs and librdmacm and that a provider answers, in a table: a
 * provider has two data paths, and the agent takes one or the other. */
#ifndef FCVI_VERBS_LAYER_H
#define FCVI_VERBS_LAYER_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer {
    struct ibv_context *(*open_device)(struct ibv_device *device);
    int (*close_device)(struct ibv_context *context);
    int (*query_device)(struct ibv_context *context, struct ibv_device_attr *attr);
    int (*query_port)(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);
    struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
    int (*dealloc_pd)(struct ibv_pd *pd);
    struct ibv_comp_channel *(*create_comp_channel)(struct ibv_context *context);
    int (*destroy_comp_channel)(struct ibv_comp_channel *channel);
    int (*get_cq_event)(struct ibv_comp_channel *channel, struct ibv_cq **cq);
    void (*ack_cq_event)(struct ibv_cq *cq);
    struct ibv_cq *(*create_cq)(struct ibv_context *context, int cqe, void *of,
                                struct ibv_comp_channel *channel, int vector);
    int (*resize_cq)(struct ibv_cq *cq, int cqe);
    int (*destroy_cq)(struct ibv_cq *cq);
    int (*poll_cq)(struct ibv_cq *cq, int count, struct ibv_wc *wc);
    int (*req_notify_cq)(struct ibv_cq *cq, int solicited);
    struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *init);
    int (*query_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init);
    int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
    int (*destroy_qp)(struct ibv_qp *qp);
    int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
    int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
    /** iova NULL: ibv_reg_mr. */
    struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                             unsigned access);
    int (*rereg_mr)(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *address, size_t length,
                    int access);
    int (*dereg_mr)(struct ibv_mr *mr);
    struct ibv_mw *(*alloc_mw)(struct ibv_pd *pd, enum ibv_mw_type type);
    int (*bind_mw)(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
    int (*dealloc_mw)(struct ibv_mw *mw);
    struct ibv_srq *(*create_srq)(struct ibv_pd *pd, struct ibv_srq_init_attr *init);
    int (*query_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr);
    int (*modify_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
    int (*destroy_srq)(struct ibv_srq *srq);
    int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
    int (*get_async_event)(struct ibv_context *context, struct ibv_async_event *event);
    void (*ack_async_event)(struct ibv_async_event *event);
    int (*connect)(struct rdma_cm_id *id, struct rdma_conn_param *param);
    int (*accept)(struct rdma_cm_id *id, struct rdma_conn_param *param);
    int (*reject)(struct rdma_cm_id *id, const void *data, uint8_t length);
    int (*disconnect)(struct rdma_cm_id *id);
};

/** The calls themselves. */
extern const struct layer layer_plain;

/** The calls themselves, but for the data path, which is the second one that libibverbs has: ibv_wr_* and
 * ibv_start_poll. */
const struct layer *layer_extended(void);

#endif
