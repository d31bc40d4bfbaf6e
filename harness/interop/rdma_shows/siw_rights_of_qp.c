/* siw, VERBS-7.6.3-01, VERBS-8.1.2.2-05, VERBS-8.1.2.2-06, VERBS-8.3.3-12 and VERBS-8.3.3-13: a QP without
 * remote read and write serves the Reads and Writes of its peer, without an event, and the stream goes on.
 * VERBS-6.2.3-02, VERBS-6.2.2.3-04 and VERBS-6.2.2.3-05: so the initiator is not told of the error. */
#include "access.h"

static int served(struct end *left, struct end *right, enum ibv_wr_opcode opcode)
{
    struct outcome o = access_of(left, right, opcode, (uintptr_t)right->bytes, right->mr->rkey);
    int untold = o.mine == 0 && o.theirs == 0 && o.told_me == 0 && o.left_me == 0;
    return o.status == IBV_WC_SUCCESS && o.moved && o.told_him == 0 && o.left_him == 0 && untold &&
           goes_on(left, right);
}

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    struct ibv_qp_attr none = {.qp_access_flags = IBV_ACCESS_LOCAL_WRITE};
    int returned = ibv_modify_qp(right.id->qp, &none, IBV_QP_ACCESS_FLAGS);
    printf("taking the rights of the QP away: %s\n", returned == 0 ? "accepted" : "refused");
    int writes = served(&left, &right, IBV_WR_RDMA_WRITE), reads = served(&left, &right, IBV_WR_RDMA_READ);
    return shown(
        "VERBS-7.6.3-01 VERBS-8.1.2.2-05 VERBS-8.1.2.2-06 VERBS-8.3.3-12 VERBS-8.3.3-13 VERBS-6.2.3-02 "
        "VERBS-6.2.2.3-04 VERBS-6.2.2.3-05",
        returned == 0 && writes && reads);
}
