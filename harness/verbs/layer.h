/* The data path of a provider. It has two, the calls of old and ibv_wr_* with ibv_start_poll, and the agent
 * takes one of them. */
#ifndef FCVI_VERBS_LAYER_H
#define FCVI_VERBS_LAYER_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer {
    struct ibv_cq *(*create_cq)(struct ibv_context *context, int cqe, void *of,
                                struct ibv_comp_channel *channel, int vector);
    int (*poll_cq)(struct ibv_cq *cq, int count, struct ibv_wc *wc);
    struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *init);
    int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
};

extern const struct layer layer_plain, layer_extended;

#endif
