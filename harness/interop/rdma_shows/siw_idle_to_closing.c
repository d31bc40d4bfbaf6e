/* siw, VERBS-6.2.1-07: Idle to Closing (SQD) has to be refused. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left;
    struct sockaddr_in at;
    alone(&left, &at, argv[1]);
    int returned = move(&left, IBV_QPS_SQD);
    printf("Idle to SQD: %s\n", returned == 0 ? "accepted" : strerror(returned));
    return shown("VERBS-6.2.1-07", returned == 0);
}
