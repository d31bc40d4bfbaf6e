/* siw, VERBS-6.2.2.3-02 and VERBS-6.2.3-08: when a Read is refused the Receives of the target have to be
 * flushed. They are not before the consumer asks for Error, though both ends are told that the stream has
 * ended; what is posted there has no WC before that either. */
#include "access.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    struct outcome o =
        access_of(&left, &right, IBV_WR_RDMA_READ, (uintptr_t)right.bytes, right.mr->rkey ^ 0x5500);
    memset(left.bytes, 0x11, 16);
    memset(right.bytes, 0x33, 16);
    int back = post_send(&right, 2, IBV_WR_RDMA_WRITE, right.mr->lkey, (uintptr_t)left.bytes, left.mr->rkey);
    printf("a Write of the target: %s\n", back == 0 ? "accepted" : "refused");
    completions("the target's Write", right.scq, 1000);
    printf("the target's Write: %s\n", left.bytes[0] == 0x33 ? "arrived" : "no byte of it arrived");
    int late = completions("target's Receives", right.rcq, 4000);
    printf("target to Error: %s\n", move(&right, IBV_QPS_ERR) == 0 ? "accepted" : "refused");
    completions("target's Receives", right.rcq, 1000);
    completions("the target's Write", right.scq, 1);
    return shown("VERBS-6.2.2.3-02 VERBS-6.2.3-08", o.status != IBV_WC_SUCCESS && o.theirs + late == 0);
}
