/* siw, VERBS-6.3.5-02: a Receive counts against its SRQ until its WC was polled. Here there is room as soon
 * as a message came. */
#include "srq.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    uint32_t size;
    struct ibv_srq *srq = connected_srq(&left, &right, argv[1], &size);
    MUST(post_recv(&right, 1) == 0 && post_send(&left, 1, IBV_WR_SEND, left.mr->lkey, 0, 0) == 0);
    MUST(completions("the first message", right.rcq, 500) == 1);
    for (uint64_t id = 0; id < size; id++)
        MUST(post_srq(&left, srq, id) == 0);
    int full = post_srq(&left, srq, 98);
    for (uint64_t id = 0; id < 5; id++)
        MUST(post_send(&right, id, IBV_WR_SEND, right.mr->lkey, 0, 0) == 0);
    MUST(completions("the peer's Sends", right.scq, 1000) == 5);
    int early = post_srq(&left, srq, 99);
    printf("a Receive behind %u: %s; when 5 had messages that nobody polled: %s\n", size,
           full == 0 ? "accepted" : "refused", early == 0 ? "accepted" : "refused");
    return shown("VERBS-6.3.5-02", full != 0 && early == 0);
}
