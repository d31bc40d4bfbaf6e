/* rxe, VERBS-9.2.4.2-01 and VERBS-6.3.5-01: Query SRQ tells another size than was granted, and the SRQ takes
 * more than that. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left;
    struct sockaddr_in at;
    struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 1}};
    struct ibv_srq_attr attr;
    alone(&left, &at, argv[1]);
    struct ibv_srq *srq = ibv_create_srq(left.pd, &init);
    MUST(srq != NULL && ibv_query_srq(srq, &attr) == 0);
    printf("granted %u, the query tells %u\n", init.attr.max_wr, attr.max_wr);
    struct ibv_sge sge = {(uintptr_t)left.bytes, 64, left.mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
    unsigned taken = 0;
    while (taken < 100 && ibv_post_srq_recv(srq, &wr, &bad) == 0)
        taken++;
    printf("%u Receives were taken\n", taken);
    return shown("VERBS-9.2.4.2-01 VERBS-6.3.5-01",
                 init.attr.max_wr != attr.max_wr && taken > init.attr.max_wr);
}
