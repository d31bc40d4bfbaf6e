/* siw, VERBS-7.4.2-08: the sink of a Read needs remote write. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    connected(&left, &right, argv[1]);
    struct ibv_mr *sink = ibv_reg_mr(left.pd, left.bytes, SHOW_BYTES, IBV_ACCESS_LOCAL_WRITE);
    MUST(sink != NULL &&
         post_send(&left, 1, IBV_WR_RDMA_READ, sink->lkey, (uintptr_t)right.bytes, right.mr->rkey) == 0);
    struct ibv_wc wc = {.status = IBV_WC_GENERAL_ERR};
    usleep(1000 * 1000);
    int got = ibv_poll_cq(left.scq, 1, &wc);
    printf("Read into a region with local write alone: %s\n",
           got == 1 ? ibv_wc_status_str(wc.status) : "no WC");
    return shown("VERBS-7.4.2-08", got == 1 && wc.status == IBV_WC_SUCCESS);
}
