/* rxe, VERBS-7.10.2-09: an access through a window is held to the bounds of the region, not to those of the
 * window. VERBS-8.3.2-02: what stands behind that access is not flushed, as no error was found. */
#include "window.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    uint32_t rkey;
    connected(&left, &right, argv[1]);
    struct ibv_mr *mr = windowed(right.pd, right.bytes);
    MUST(bound(&right, mr, (uintptr_t)right.bytes + 1001, 100, &rkey) == IBV_WC_SUCCESS);
    MUST(post_recv(&right, 9) == 0);
    memset(left.bytes, 0x77, 16);
    MUST(post_send(&left, 1, IBV_WR_RDMA_WRITE, left.mr->lkey, (uintptr_t)right.bytes, rkey) == 0);
    MUST(post_send(&left, 2, IBV_WR_SEND, left.mr->lkey, 0, 0) == 0);
    struct ibv_wc wc[2] = {{.status = IBV_WC_GENERAL_ERR}, {.status = IBV_WC_GENERAL_ERR}};
    usleep(1000 * 1000);
    int count = ibv_poll_cq(left.scq, 2, wc);
    int changed = right.bytes[0] == 0x77 && right.bytes[15] == 0x77;
    printf("Write 1001 bytes in front of the window: %s, bytes %s; Send behind it: %s\n",
           ibv_wc_status_str(wc[0].status), changed ? "changed" : "as they were",
           ibv_wc_status_str(wc[1].status));
    return shown("VERBS-7.10.2-09 VERBS-8.3.2-02",
                 count == 2 && changed && wc[0].status == IBV_WC_SUCCESS && wc[1].status == IBV_WC_SUCCESS);
}
