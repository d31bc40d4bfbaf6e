/* siw, VERBS-8.1.3.2.1-01 and VERBS-8.1.3.2.1-02: a Write to STag zero has to be an error at the poster, and
 * one that arrives an event at the target. It is sent, and makes none. */
#include "access.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    struct outcome o = access_of(&left, &right, IBV_WR_RDMA_WRITE, (uintptr_t)right.bytes, 0);
    return shown("VERBS-8.1.3.2.1-01 VERBS-8.1.3.2.1-02", o.status == IBV_WC_SUCCESS && o.told_him == 0);
}
