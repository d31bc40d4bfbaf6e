/* siw, VERBS-5.3.3-01, VERBS-9.2.4.2-01 and VERBS-7.3.2.3-01: libsiw can neither resize a CQ, nor query an
 * SRQ, nor reregister a region. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left;
    struct sockaddr_in at;
    struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 1}};
    struct ibv_srq_attr attr;
    const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
    alone(&left, &at, argv[1]);
    struct ibv_srq *srq = ibv_create_srq(left.pd, &init);
    struct ibv_pd *pd = ibv_alloc_pd(left.id->verbs);
    MUST(srq != NULL && pd != NULL);
    int resized = ibv_resize_cq(left.rcq, 2 * left.rcq->cqe), queried = ibv_query_srq(srq, &attr);
    printf("ibv_resize_cq: %s\nibv_query_srq: %s\n", strerror(abs(resized)), strerror(abs(queried)));
    errno = 0;
    int moved = ibv_rereg_mr(left.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, left.bytes, 4096, 0);
    printf("ibv_rereg_mr with another length: %d, %s\n", moved, strerror(errno));
    int access = ibv_rereg_mr(left.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, rights);
    printf("ibv_rereg_mr with other rights: %d, %s\n", access, strerror(errno));
    int domain = ibv_rereg_mr(left.mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0);
    printf("ibv_rereg_mr with another PD: %d, %s\n", domain, strerror(errno));
    return shown("VERBS-5.3.3-01 VERBS-9.2.4.2-01 VERBS-7.3.2.3-01",
                 resized != 0 && queried != 0 && moved != 0 && access != 0 && domain != 0);
}
