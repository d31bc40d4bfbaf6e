/* siw, VERBS-8.3.3-03: a Write with an unknown STag has to raise an event at the target. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    MUST(post_send(&left, 1, IBV_WR_RDMA_WRITE, left.mr->lkey, (uintptr_t)right.bytes,
                   right.mr->rkey ^ 0x5500) == 0);
    completions("the initiator", left.scq, 1000);
    return shown("VERBS-8.3.3-03", async_events(&right) == 0);
}
