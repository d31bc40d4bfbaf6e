/* siw, VERBS-8.2.1-07: a WR counts until its WC was polled. Here there is room in both queues as soon as WRs
 * are done. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;
    connected(&left, &right, argv[1]);
    MUST(ibv_query_qp(left.id->qp, &attr, IBV_QP_CAP, &init) == 0);
    for (uint64_t id = 0; id < attr.cap.max_send_wr; id++)
        MUST(post_send(&left, id, IBV_WR_RDMA_WRITE, left.mr->lkey, (uintptr_t)right.bytes, right.mr->rkey) ==
             0);
    usleep(1000 * 1000);
    int send = post_send(&left, 99, IBV_WR_RDMA_WRITE, left.mr->lkey, (uintptr_t)right.bytes, right.mr->rkey);
    printf("a Write behind %u that nobody polled: %s\n", attr.cap.max_send_wr,
           send == 0 ? "accepted" : "refused");
    completions("the send queue", left.scq, 500);
    for (uint64_t id = 0; id < attr.cap.max_recv_wr; id++)
        MUST(post_recv(&right, id) == 0);
    int full = post_recv(&right, 98);
    for (uint64_t id = 0; id < 4; id++)
        MUST(post_send(&left, id, IBV_WR_SEND, left.mr->lkey, 0, 0) == 0);
    MUST(completions("the send queue", left.scq, 1000) == 4);
    int recv = post_recv(&right, 99);
    printf("a Receive behind %u: %s; when 4 had messages that nobody polled: %s\n", attr.cap.max_recv_wr,
           full == 0 ? "accepted" : "refused", recv == 0 ? "accepted" : "refused");
    return shown("VERBS-8.2.1-07", send == 0 && full != 0 && recv == 0);
}
