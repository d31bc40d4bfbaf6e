/* rxe, VERBS-5.2-05, VERBS-5.2-06 and VERBS-8.3.2-09: a bind to a region of another PD than that of QP and
 * window is carried out and told as a success; the peer writes through it. */
#include "window.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    uint32_t rkey;
    connected(&left, &right, argv[1]);
    struct ibv_pd *other = ibv_alloc_pd(right.id->verbs);
    MUST(other != NULL);
    struct ibv_mr *mr = windowed(other, right.bytes);
    enum ibv_wc_status status = bound(&right, mr, (uintptr_t)right.bytes, SHOW_BYTES, &rkey);
    memset(left.bytes, 0x77, 16);
    MUST(post_send(&left, 2, IBV_WR_RDMA_WRITE, left.mr->lkey, (uintptr_t)right.bytes, rkey) == 0);
    completions("the Write through the window", left.scq, 1000);
    printf("the bytes of the region: %s\n", right.bytes[0] == 0x77 ? "changed" : "as they were");
    return shown("VERBS-5.2-05 VERBS-5.2-06 VERBS-8.3.2-09",
                 status == IBV_WC_SUCCESS && right.bytes[0] == 0x77);
}
