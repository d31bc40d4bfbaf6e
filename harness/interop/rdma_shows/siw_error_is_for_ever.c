/* siw, VERBS-6.2.4-01 and VERBS-6.2.1.2-01: any move out of Error is accepted and does nothing; the QP takes
 * no second stream. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    MUST(move(&left, IBV_QPS_ERR) == 0);
    usleep(100 * 1000);
    int rts = move(&left, IBV_QPS_RTS), reset = move(&left, IBV_QPS_RESET), returned = post_recv(&left, 1);
    printf("Error to RTS: %s; Error to RESET: %s; Receive: %s\n", rts == 0 ? "accepted" : "refused",
           reset == 0 ? "accepted" : "refused", returned == 0 ? "accepted" : "refused");
    int count = completions("the receive queue", left.rcq, 1000);
    return shown("VERBS-6.2.4-01 VERBS-6.2.4-06", rts == 0 && returned == 0 && count == 0);
}
