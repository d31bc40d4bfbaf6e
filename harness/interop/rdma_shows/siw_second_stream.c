/* siw, VERBS-6.2.5-07 and VERBS-6.2.1.2-05: a QP that was closed in good order takes a second stream, and
 * carries nothing on it. */
#include "again.h"

/* A connection of the QP `number`, whose other end is a new one. */
static struct rdma_cm_id *stream(struct sockaddr_in *at, uint32_t number, struct end *right)
{
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1, .qp_num = number};
    struct rdma_cm_id *id = way_to(at);
    MUST(rdma_connect(id, &p) == 0);
    right->id = event(RDMA_CM_EVENT_CONNECT_REQUEST)->id;
    end_make(right, IBV_ACCESS_LOCAL_WRITE);
    MUST(post_recv(right, 10) == 0 && rdma_accept(right->id, &p) == 0);
    for (int i = 0; i < 2; i++)
        rdma_ack_cm_event(event(RDMA_CM_EVENT_ESTABLISHED));
    return id;
}

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right, other;
    struct sockaddr_in at;
    struct rdma_cm_id *listener;
    alone(&left, &at, argv[1]);
    MUST(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(listener, (struct sockaddr *)&at) == 0 && rdma_listen(listener, 4) == 0);
    struct rdma_cm_id *first = stream(&at, left.id->qp->qp_num, &right);
    MUST(post_send(&left, 1, IBV_WR_SEND, left.mr->lkey, 0, 0) == 0);
    MUST(completions("the Send on the first stream", left.scq, 500) == 1);
    MUST(completions("its Receive", right.rcq, 1) == 1);
    printf("a close by SQD: %s\n", move(&left, IBV_QPS_SQD) == 0 ? "accepted" : "refused");
    for (int i = 0; i < 2; i++)
        rdma_ack_cm_event(any_event("the close"));
    MUST(rdma_destroy_id(first) == 0);
    printf("a move to RESET: %s\n", move(&left, IBV_QPS_RESET) == 0 ? "accepted" : "refused");
    stream(&at, left.id->qp->qp_num, &other);
    int returned = post_send(&left, 2, IBV_WR_SEND, left.mr->lkey, 0, 0);
    printf("the second stream is established; a Send on it: %s\n", returned == 0 ? "accepted" : "refused");
    int sent = completions("the Send on the second stream", left.scq, 3000);
    int got = completions("its Receive", other.rcq, 1);
    return shown("VERBS-6.2.5-07 VERBS-6.2.1.2-05", returned == 0 && sent == 0 && got == 0);
}
