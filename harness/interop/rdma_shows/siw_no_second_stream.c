/* siw, VERBS-6.2.4-09 and VERBS-6.2.3-09: a QP that was in Error, by a move or by a failing WR, has to take
 * another stream when it was reset. The reset is accepted, and the next connection does not come about, as
 * that of a new QP does. */
#include "show.h"
#include <poll.h>
#include <sys/wait.h>

/* Whether a connection of this QP comes about, by another id and the listener that is still there. */
static int connects(struct ibv_qp *qp, struct sockaddr_in *at)
{
    struct rdma_conn_param p = {
        .responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .qp_num = qp->qp_num};
    struct rdma_cm_id *id;
    struct rdma_cm_event *e;
    struct end right;
    struct pollfd ready = {.fd = channel->fd, .events = POLLIN};
    int established = 0;
    MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)at, 2000) == 0);
    while (established < 2 && poll(&ready, 1, 3000) > 0 && rdma_get_cm_event(channel, &e) == 0) {
        enum rdma_cm_event_type type = e->event;
        printf("    %s: %d\n", rdma_event_str(type), e->status);
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
            right.id = e->id;
        established += type == RDMA_CM_EVENT_ESTABLISHED;
        rdma_ack_cm_event(e);
        if (type == RDMA_CM_EVENT_ADDR_RESOLVED)
            MUST(rdma_resolve_route(id, 2000) == 0);
        if (type == RDMA_CM_EVENT_ROUTE_RESOLVED && rdma_connect(id, &p) != 0)
            printf("rdma_connect: %s\n", strerror(errno));
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
            end_make(&right, IBV_ACCESS_LOCAL_WRITE);
            p.qp_num = 0;
            MUST(rdma_accept(right.id, &p) == 0);
        }
    }
    printf("ESTABLISHED at %d ends\n", established);
    return established == 2;
}

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    struct sockaddr_in at;
    int other = 0, child = fork();
    MUST(child >= 0);
    if (child > 0)
        MUST(waitpid(child, &other, 0) == child);
    alone(&left, &at, argv[1]);
    join(&left, &right, &at);
    struct ibv_qp_init_attr q = {.send_cq = left.scq,
                                 .recv_cq = left.rcq,
                                 .qp_type = IBV_QPT_RC,
                                 .cap = {SHOW_WRS, SHOW_WRS, 2, 2, 0}};
    struct ibv_qp *new = ibv_create_qp(left.pd, &q);
    printf("a new QP:\n");
    MUST(new != NULL);
    MUST(connects(new, &at));
    if (child > 0)
        MUST(move(&left, IBV_QPS_ERR) == 0);
    else
        MUST(post_send(&left, 1, IBV_WR_SEND, left.mr->lkey ^ 0x5500, 0, 0) == 0);
    for (int i = 0; i < 2; i++)
        rdma_ack_cm_event(event(RDMA_CM_EVENT_DISCONNECTED));
    int reset = move(&left, IBV_QPS_RESET);
    printf("Error by a %s to RESET: %s\n", child > 0 ? "move" : "failing WR",
           reset == 0 ? "accepted" : "refused");
    int none = !connects(left.id->qp, &at);
    return child > 0 ? shown("VERBS-6.2.4-09", none && other == 0) : shown("VERBS-6.2.3-09", none);
}
