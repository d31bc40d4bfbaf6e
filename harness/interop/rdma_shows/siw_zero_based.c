/* siw, VERBS-7.3.1.1-02: a region that was registered with offsets from zero has its virtual address as its
 * base: that is served, and offset zero is refused. */
#include "access.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ, wrong = 0;
    for (int way = 0; way < 2; way++) {
        struct end left, right;
        connected(&left, &right, argv[1]);
        struct ibv_mr *mr =
            way == 0 ? ibv_reg_mr_iova(right.pd, right.bytes, SHOW_BYTES, 0, (unsigned)rights)
                     : ibv_reg_mr(right.pd, right.bytes, SHOW_BYTES, rights | IBV_ACCESS_ZERO_BASED);
        printf("%s: %s\n", way == 0 ? "ibv_reg_mr_iova with 0" : "IBV_ACCESS_ZERO_BASED",
               mr != NULL ? "accepted" : "refused");
        MUST(mr != NULL);
        printf("by its address:\n");
        struct outcome address = access_of(&left, &right, IBV_WR_RDMA_READ, (uintptr_t)right.bytes, mr->rkey);
        printf("by offset zero:\n");
        struct outcome zero = access_of(&left, &right, IBV_WR_RDMA_READ, 0, mr->rkey);
        wrong += address.moved && zero.status != IBV_WC_SUCCESS && !zero.moved;
    }
    return shown("VERBS-7.3.1.1-02", wrong == 2);
}
