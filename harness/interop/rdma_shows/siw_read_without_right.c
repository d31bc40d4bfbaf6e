/* siw, VERBS-7.4.2-05, VERBS-7.4.2-06, VERBS-7.3.2.2-01 and VERBS-8.1.2.2-06: a Read of a region with local
 * write alone is served, makes no event at the source, and the stream goes on. VERBS-6.2.3-02,
 * VERBS-6.2.2.3-04 and VERBS-6.2.2.3-05: so the initiator is not told of the error, by a Terminate Message or
 * otherwise. */
#include "access.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    struct ibv_mr *source = ibv_reg_mr(right.pd, right.bytes, SHOW_BYTES, IBV_ACCESS_LOCAL_WRITE);
    MUST(source != NULL);
    struct outcome o = access_of(&left, &right, IBV_WR_RDMA_READ, (uintptr_t)right.bytes, source->rkey);
    int served = o.status == IBV_WC_SUCCESS && o.moved && o.told_him == 0;
    int untold = o.mine == 0 && o.theirs == 0 && o.told_me == 0 && o.left_me == 0;
    return shown(
        "VERBS-7.4.2-05 VERBS-7.4.2-06 VERBS-7.3.2.2-01 VERBS-8.1.2.2-06 VERBS-6.2.3-02 VERBS-6.2.2.3-04 "
        "VERBS-6.2.2.3-05",
        served && untold && goes_on(&left, &right));
}
