/* siw, VERBS-5.3.4-02: a CQ whose destruction is refused has to go on working. libsiw unmaps its ring first:
 * the next poll is a segmentation fault, which is what the status of this program tells (139). */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left;
    struct sockaddr_in at;
    alone(&left, &at, argv[1]);
    printf("ibv_destroy_cq of a CQ in use: %s\n", strerror(ibv_destroy_cq(left.scq)));
    fflush(stdout);
    completions("the CQ", left.scq, 10);
    return shown("VERBS-5.3.4-02", 0);
}
