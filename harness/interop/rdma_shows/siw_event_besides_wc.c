/* siw, VERBS-6.2.3-07: an error that a WC tells raises an asynchronous event as well. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    MUST(post_send(&left, 1, IBV_WR_SEND, left.mr->lkey ^ 0x5500, 0, 0) == 0);
    int count = completions("the send queue", left.scq, 1000);
    return shown("VERBS-6.2.3-07", count == 1 && async_events(&left) > 0);
}
