/* rxe, VERBS-6.1.2-01 and VERBS-8.2.1-09: Query QP tells other sizes than were granted, and the queue takes
 * more than that. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left;
    struct sockaddr_in at;
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;
    int taken = 0;
    alone(&left, &at, argv[1]);
    MUST(ibv_query_qp(left.id->qp, &attr, IBV_QP_CAP, &init) == 0);
    printf("the query tells %u and %u\n", attr.cap.max_send_wr, attr.cap.max_recv_wr);
    while (taken < 100 && post_recv(&left, (uint64_t)taken) == 0)
        taken++;
    printf("%d Receives were taken\n", taken);
    return shown("VERBS-6.1.2-01 VERBS-8.2.1-09", attr.cap.max_recv_wr != SHOW_WRS && taken > SHOW_WRS);
}
