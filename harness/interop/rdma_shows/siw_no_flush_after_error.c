/* siw, VERBS-6.2.2.3-02, VERBS-6.2.3-08, VERBS-6.2.3-05 and VERBS-6.2.4-02: after a Send failed, neither what
 * was outstanding nor what is posted later is flushed, though the stream is closed at both ends, so that the
 * QP has to be in Error. All of it is flushed only when the consumer asks for Error, which he need not. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    for (uint64_t id = 1; id < 5; id++)
        MUST(post_recv(&left, id) == 0);
    MUST(post_send(&left, 10, IBV_WR_SEND, left.mr->lkey ^ 0x5500, 0, 0) == 0);
    MUST(post_send(&left, 11, IBV_WR_SEND, left.mr->lkey, 0, 0) == 0);
    for (int i = 0; i < 2; i++)
        rdma_ack_cm_event(event(RDMA_CM_EVENT_DISCONNECTED));
    int failed = completions("the stream is closed at both ends: send", left.scq, 500);
    int recv = post_recv(&left, 20), send = post_send(&left, 21, IBV_WR_SEND, left.mr->lkey, 0, 0);
    printf("posted now: Receive 20 %s, Send 21 %s\n", recv == 0 ? "accepted" : "refused",
           send == 0 ? "accepted" : "refused");
    int flushed = completions("receive", left.rcq, 3000) + completions("send", left.scq, 0);
    printf("a move to Error: %s\n", move(&left, IBV_QPS_ERR) == 0 ? "accepted" : "refused");
    completions("receive", left.rcq, 500);
    completions("send", left.scq, 0);
    return shown("VERBS-6.2.2.3-02 VERBS-6.2.3-08 VERBS-6.2.3-05 VERBS-6.2.4-02",
                 failed == 1 && flushed == 0 && recv == 0 && send == 0);
}
