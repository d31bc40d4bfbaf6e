/* siw, VERBS-6.2.1.2-02: a QP whose connection the peer rejects has to stay in Idle. It is in Error: a
 * Receive of before is flushed. A move to Idle is accepted and does nothing: a second connection fails. */
#include "again.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    struct sockaddr_in at;
    struct rdma_cm_id *listener;
    struct ibv_qp *qp;
    alone(&left, &at, argv[1]);
    apart(&left, &qp);
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1, .qp_num = qp->qp_num};
    struct ibv_sge sge = {(uintptr_t)left.bytes, 64, left.mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1}, *bad;
    struct ibv_qp_attr idle = {.qp_state = IBV_QPS_RESET};
    MUST(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(listener, (struct sockaddr *)&at) == 0 && rdma_listen(listener, 4) == 0);
    MUST(ibv_post_recv(qp, &wr, &bad) == 0);
    struct rdma_cm_id *first = way_to(&at), *second = way_to(&at);
    MUST(rdma_connect(first, &p) == 0);
    MUST(rdma_reject(event(RDMA_CM_EVENT_CONNECT_REQUEST)->id, NULL, 0) == 0);
    any_event("the first connection");
    int flushed = completions("the Receive of before", left.rcq, 1000);
    printf("a move to RESET: %s\n", ibv_modify_qp(qp, &idle, IBV_QP_STATE) == 0 ? "accepted" : "refused");
    int returned = rdma_connect(second, &p);
    printf("the second connection: %s\n", returned == 0 ? "begun" : strerror(errno));
    if (returned == 0) {
        right.id = event(RDMA_CM_EVENT_CONNECT_REQUEST)->id;
        end_make(&right, IBV_ACCESS_LOCAL_WRITE);
        MUST(post_recv(&right, 2) == 0 && rdma_accept(right.id, &p) == 0);
        any_event("the second connection");
        usleep(1000 * 1000);
        fcntl(channel->fd, F_SETFL, O_NONBLOCK);
        struct rdma_cm_event *e;
        while (rdma_get_cm_event(channel, &e) == 0)
            printf("the second connection, %s end: %s (%d)\n", e->id == second ? "active" : "passive",
                   rdma_event_str(e->event), e->status);
    }
    return shown("VERBS-6.2.1.2-02", flushed > 0);
}
