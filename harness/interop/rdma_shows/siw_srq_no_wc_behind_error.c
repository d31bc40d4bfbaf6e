/* siw, VERBS-6.3-07: the send queue of a QP with an SRQ has to behave like any other, and a Send behind a
 * failing one to be flushed. It has no WC, though the stream is closed at both ends, until the consumer asks
 * for Error. */
#include "srq.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    uint32_t size;
    connected_srq(&left, &right, argv[1], &size);
    MUST(post_send(&left, 1, IBV_WR_SEND, left.mr->lkey ^ 0x5500, 0, 0) == 0);
    MUST(post_send(&left, 2, IBV_WR_SEND, left.mr->lkey, 0, 0) == 0);
    for (int i = 0; i < 2; i++)
        rdma_ack_cm_event(event(RDMA_CM_EVENT_DISCONNECTED));
    int count = completions("the stream is closed at both ends: send", left.scq, 3000);
    printf("a move to Error: %s\n", move(&left, IBV_QPS_ERR) == 0 ? "accepted" : "refused");
    completions("send", left.scq, 500);
    return shown("VERBS-6.3-07", count == 1);
}
