/* rxe, VERBS-6.2.4-06: a Receive that is accepted in Error has to be flushed. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    MUST(move(&left, IBV_QPS_ERR) == 0);
    usleep(100 * 1000);
    int returned = post_recv(&left, 1);
    printf("Receive posted in Error: %s\n", returned == 0 ? "accepted" : strerror(returned));
    int count = completions("the receive queue", left.rcq, 2000);
    return shown("VERBS-6.2.4-06", returned == 0 && count == 0);
}
