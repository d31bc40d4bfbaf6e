/* rxe, VERBS-6.2.3-05: a Receive that is accepted after a WR failed, without a move by the consumer, has to
 * be flushed as well. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    MUST(post_recv(&left, 1) == 0);
    MUST(post_send(&left, 2, IBV_WR_SEND, left.mr->lkey ^ 0x5500, 0, 0) == 0);
    MUST(completions("the send queue", left.scq, 500) == 1);
    MUST(completions("the Receive from before", left.rcq, 500) == 1);
    int returned = post_recv(&left, 3);
    printf("Receive posted after the error: %s\n", returned == 0 ? "accepted" : strerror(returned));
    int count = completions("the receive queue", left.rcq, 2000);
    return shown("VERBS-6.2.3-05", returned == 0 && count == 0);
}
