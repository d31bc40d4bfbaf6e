/* rxe, VERBS-8.2.5-07: a CQ that is armed for solicited makes no event of a Send that completes in error. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    struct sockaddr_in at;
    alone(&left, &at, argv[1]);
    struct ibv_comp_channel *made;
    MUST((made = ibv_create_comp_channel(left.id->verbs)) != NULL);
    fcntl(made->fd, F_SETFL, O_NONBLOCK);
    rdma_destroy_qp(left.id);
    MUST((left.scq = ibv_create_cq(left.id->verbs, 64, NULL, made, 0)) != NULL);
    struct ibv_qp_init_attr q = {.send_cq = left.scq,
                                 .recv_cq = left.rcq,
                                 .qp_type = IBV_QPT_RC,
                                 .cap = {SHOW_WRS, SHOW_WRS, 2, 2, 0}};
    MUST(rdma_create_qp(left.id, left.pd, &q) == 0);
    join(&left, &right, &at);
    MUST(ibv_req_notify_cq(left.scq, 0) == 0 && post_recv(&right, 1) == 0);
    MUST(post_send(&left, 2, IBV_WR_SEND, left.mr->lkey, 0, 0) == 0);
    int next = heard_on(made, "armed for the next, a Send");
    completions("the Send", left.scq, 1);
    MUST(ibv_req_notify_cq(left.scq, 1) == 0);
    MUST(post_send(&left, 3, IBV_WR_SEND, left.mr->lkey ^ 0x5a5a5a, 0, 0) == 0);
    int error = heard_on(made, "armed for solicited, a Send in error");
    int wcs = completions("the Send", left.scq, 1);
    return shown("VERBS-8.2.5-07", next && !error && wcs == 1);
}
