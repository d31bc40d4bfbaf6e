/* siw, VERBS-8.1.3.1-04: a Send that was accepted behind a failing WR has to be flushed. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    MUST(post_recv(&right, 10) == 0 && post_recv(&right, 11) == 0);
    int first = post_send(&left, 1, IBV_WR_SEND, left.mr->lkey ^ 0x5500, 0, 0);
    int second = post_send(&left, 2, IBV_WR_SEND, left.mr->lkey, 0, 0);
    printf("posted: %d %d\n", first, second);
    int count = completions("the send queue", left.scq, 2000);
    return shown("VERBS-8.1.3.1-04", second == 0 && count < 2);
}
