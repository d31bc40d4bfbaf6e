/* siw, VERBS-8.3.1-01: a Send that is refused in Idle is queued all the same: it has a WC when the QP is
 * flushed. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    struct sockaddr_in at;
    alone(&left, &at, argv[1]);
    int returned = post_send(&left, 1, IBV_WR_SEND, left.mr->lkey, 0, 0);
    printf("Send in Idle: %s\n", returned == 0 ? "accepted" : "refused");
    join(&left, &right, &at);
    MUST(move(&left, IBV_QPS_ERR) == 0);
    int count = completions("the send queue", left.scq, 500);
    return shown("VERBS-8.3.1-01", returned != 0 && count > 0);
}
