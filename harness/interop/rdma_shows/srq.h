/* What the programs share whose active end has an SRQ. */
#ifndef RDMA_SHOW_SRQ_H
#define RDMA_SHOW_SRQ_H

#include "show.h"

/* Two connected QPs; that of the left one has an SRQ of at least 16 Receives, whose size is told. */
static inline struct ibv_srq *connected_srq(struct end *left, struct end *right, const char *address,
                                            uint32_t *size)
{
    struct sockaddr_in at;
    struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 1}};
    alone(left, &at, address);
    struct ibv_srq *srq = ibv_create_srq(left->pd, &init);
    MUST(srq != NULL);
    rdma_destroy_qp(left->id);
    struct ibv_qp_init_attr q = {.send_cq = left->scq,
                                 .recv_cq = left->rcq,
                                 .srq = srq,
                                 .qp_type = IBV_QPT_RC,
                                 .cap = {SHOW_WRS, 0, 2, 0, 0}};
    MUST(rdma_create_qp(left->id, left->pd, &q) == 0);
    join(left, right, &at);
    *size = init.attr.max_wr;
    printf("the SRQ was granted %u Receives\n", *size);
    return srq;
}

static inline int post_srq(struct end *e, struct ibv_srq *srq, uint64_t id)
{
    struct ibv_sge sge = {(uintptr_t)e->bytes + 4096, 64, e->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad = NULL;
    return ibv_post_srq_recv(srq, &wr, &bad);
}

#endif
