/* siw, VERBS-6.2.1-07 and VERBS-6.2.1-06: Idle to Closing (SQD) and to Terminate (SQE) have to be refused. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left;
    struct sockaddr_in at;
    alone(&left, &at, argv[1]);
    int sqd = move(&left, IBV_QPS_SQD), sqe = move(&left, IBV_QPS_SQE);
    printf("Idle to SQD: %s; Idle to SQE: %s\n", sqd == 0 ? "accepted" : strerror(sqd),
           sqe == 0 ? "accepted" : strerror(sqe));
    return shown("VERBS-6.2.1-07 VERBS-6.2.1-06", sqd == 0 && sqe == 0);
}
