/* siw, VERBS-6.1.3-02: a change of ORD is accepted and does nothing; the kernel looks at state and rights
 * alone. */
#include "show.h"

static int told(struct end *e)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr now;
    MUST(ibv_query_qp(e->id->qp, &now, IBV_QP_MAX_QP_RD_ATOMIC, &init) == 0);
    return now.max_rd_atomic;
}

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    const int before = told(&left);
    struct ibv_qp_attr less = {.qp_state = IBV_QPS_RTS, .max_rd_atomic = 0};
    int returned = ibv_modify_qp(left.id->qp, &less, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC);
    printf("ORD %d, to 0: %s; then ORD %d\n", before, returned == 0 ? "accepted" : "refused", told(&left));
    int sent = post_send(&left, 1, IBV_WR_RDMA_READ, left.mr->lkey, (uintptr_t)right.bytes, right.mr->rkey);
    struct ibv_wc wc = {.status = IBV_WC_GENERAL_ERR};
    usleep(1000 * 1000);
    int got = sent == 0 ? ibv_poll_cq(left.scq, 1, &wc) : 0;
    printf("Read with ORD 0: %s\n", got == 1 ? ibv_wc_status_str(wc.status) : "no WC");
    return shown("VERBS-6.1.3-02",
                 returned == 0 && told(&left) == before && got == 1 && wc.status == IBV_WC_SUCCESS);
}
