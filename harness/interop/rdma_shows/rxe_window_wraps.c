/* rxe, VERBS-7.10.2-04 and VERBS-8.3.2-09: a bind whose address and length wrap past the end of the addresses
 * lies in no region, and is told as a success. */
#include "window.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    uint32_t rkey;
    connected(&left, &right, argv[1]);
    struct ibv_mr *mr = windowed(right.pd, right.bytes);
    enum ibv_wc_status status = bound(&right, mr, UINT64_MAX - 15, 64, &rkey);
    return shown("VERBS-7.10.2-04 VERBS-8.3.2-09", status == IBV_WC_SUCCESS);
}
