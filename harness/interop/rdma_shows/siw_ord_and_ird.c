/* siw, VERBS-9.2.5.1-03: the ORD granted may not be above what was asked for. ESTABLISHED tells the active
 * end its ORD and IRD the other way round. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    struct sockaddr_in at;
    struct rdma_conn_param ask = {.initiator_depth = 2, .responder_resources = 4}, answer = {0};
    struct rdma_cm_id *listener;
    struct rdma_cm_event *e;
    alone(&left, &at, argv[1]);
    MUST(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(listener, (struct sockaddr *)&at) == 0 && rdma_listen(listener, 4) == 0);
    MUST(rdma_connect(left.id, &ask) == 0);
    e = event(RDMA_CM_EVENT_CONNECT_REQUEST);
    right.id = e->id;
    answer.initiator_depth = e->param.conn.initiator_depth;
    answer.responder_resources = e->param.conn.responder_resources;
    end_make(&right, IBV_ACCESS_LOCAL_WRITE);
    MUST(rdma_accept(right.id, &answer) == 0);
    printf("the active end asks for ORD %d and IRD %d\n", ask.initiator_depth, ask.responder_resources);
    printf("the passive end is asked for ORD %d and IRD %d, and accepts both\n", answer.initiator_depth,
           answer.responder_resources);
    do
        e = event(RDMA_CM_EVENT_ESTABLISHED);
    while (e->id != left.id);
    int ord = e->param.conn.initiator_depth, ird = e->param.conn.responder_resources;
    printf("ESTABLISHED tells the active end ORD %d and IRD %d\n", ord, ird);
    return shown("VERBS-9.2.5.1-03", ord > ask.initiator_depth);
}
