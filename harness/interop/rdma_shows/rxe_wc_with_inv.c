/* rxe, VERBS-9.3.2.1-05: the WC of a Send with Invalidate does not have IBV_WC_WITH_INV. The kernel's bit for
 * it is IBV_WC_IP_CSUM_OK in libibverbs. */
#include "window.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    uint32_t rkey;
    connected(&left, &right, argv[1]);
    struct ibv_mr *mr = windowed(right.pd, right.bytes);
    MUST(bound(&right, mr, (uintptr_t)right.bytes, SHOW_BYTES, &rkey) == IBV_WC_SUCCESS);
    MUST(post_recv(&right, 9) == 0);
    struct ibv_sge sge = {(uintptr_t)left.bytes, 16, left.mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND_WITH_INV,
                             .send_flags = IBV_SEND_SIGNALED,
                             .invalidate_rkey = rkey},
                       *bad;
    MUST(ibv_post_send(left.id->qp, &wr, &bad) == 0);
    usleep(1000 * 1000);
    struct ibv_wc wc;
    MUST(ibv_poll_cq(right.rcq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
    printf("wc_flags %x (WITH_INV is %x, IP_CSUM_OK is %x), invalidated_rkey %x, sent %x\n", wc.wc_flags,
           IBV_WC_WITH_INV, IBV_WC_IP_CSUM_OK, wc.invalidated_rkey, rkey);
    return shown("VERBS-9.3.2.1-05", (wc.wc_flags & IBV_WC_WITH_INV) == 0);
}
