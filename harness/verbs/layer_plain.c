/* The data path of old; what is inline or a macro there is a function here. */
#include "layer.h"

static struct ibv_cq *create_cq(struct ibv_context *context, int cqe, void *of,
                                struct ibv_comp_channel *channel, int vector)
{
    return ibv_create_cq(context, cqe, of, channel, vector);
}

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    return ibv_poll_cq(cq, count, wc);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    return ibv_post_send(qp, wr, bad);
}

const struct layer layer_plain = {create_cq, poll_cq, ibv_create_qp, post_send};
