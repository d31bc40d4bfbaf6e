/* siw, VERBS-8.3.3-06: a Write that wraps past the end of the addresses has to raise an event at the target.
 */
#include "access.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    struct outcome o = access_of(&left, &right, IBV_WR_RDMA_WRITE, UINT64_MAX - 7, right.mr->rkey);
    return shown("VERBS-8.3.3-06", o.status == IBV_WC_SUCCESS && o.told_him == 0);
}
