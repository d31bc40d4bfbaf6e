/* siw, VERBS-6.2.5-02: what is posted right behind rdma_disconnect is accepted and has no WC, not even after
 * a move to Error. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    int taken = 0;
    connected(&left, &right, argv[1]);
    MUST(rdma_disconnect(left.id) == 0);
    for (uint64_t id = 1; id < 5; id++)
        taken += post_send(&left, id, id % 2 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, left.mr->lkey,
                           (uintptr_t)right.bytes, right.mr->rkey) == 0;
    printf("posted behind rdma_disconnect: %d of 4 accepted\n", taken);
    int count = completions("the send queue", left.scq, 2000);
    printf("a move to Error: %s\n", move(&left, IBV_QPS_ERR) == 0 ? "accepted" : "refused");
    count += completions("the send queue", left.scq, 2000);
    return shown("VERBS-6.2.5-02", count < taken);
}
