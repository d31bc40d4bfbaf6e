/* siw, VERBS-6.2.2-06 and -07: RTS to Idle, as INIT or as RESET, has to be refused. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    int init = move(&left, IBV_QPS_INIT), reset = move(&left, IBV_QPS_RESET);
    printf("RTS to INIT: %s; RTS to RESET: %s\n", init == 0 ? "accepted" : "refused",
           reset == 0 ? "accepted" : "refused");
    return shown("VERBS-6.2.2-06 VERBS-6.2.2-07", init == 0 && reset == 0);
}
