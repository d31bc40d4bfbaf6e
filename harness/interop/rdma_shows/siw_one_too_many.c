/* siw, VERBS-6.2.2-04: of Writes in a list that is one longer than the granted size, each that is accepted
 * has to be done. The last one is not, not even when another is posted behind it. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    struct ibv_send_wr wrs[SHOW_WRS + 1], *bad = NULL;
    connected(&left, &right, argv[1]);
    struct ibv_sge sge = {(uintptr_t)left.bytes, 64, left.mr->lkey};
    memset(left.bytes, 0x11, 64);
    for (int i = 0; i <= SHOW_WRS; i++) {
        wrs[i] = (struct ibv_send_wr){.wr_id = (uint64_t)i + 1,
                                      .next = i < SHOW_WRS ? &wrs[i + 1] : NULL,
                                      .sg_list = &sge,
                                      .num_sge = 1,
                                      .opcode = IBV_WR_RDMA_WRITE,
                                      .send_flags = IBV_SEND_SIGNALED};
        wrs[i].wr.rdma.remote_addr = (uintptr_t)right.bytes + 64 * (unsigned)i;
        wrs[i].wr.rdma.rkey = right.mr->rkey;
    }
    int returned = ibv_post_send(left.id->qp, wrs, &bad), landed = 0;
    int accepted = returned == 0 ? SHOW_WRS + 1 : (int)(bad - wrs);
    int count = completions("the send queue", left.scq, 5000);
    while (landed <= SHOW_WRS && right.bytes[64 * landed] == 0x11)
        landed++;
    printf("posted: %s; accepted: %d; done: %d; in the memory: %d\n", strerror(returned), accepted, count,
           landed);
    printf("one more: %s\n",
           post_send(&left, 18, IBV_WR_RDMA_WRITE, left.mr->lkey, (uintptr_t)right.bytes, right.mr->rkey) == 0
               ? "accepted"
               : "refused");
    completions("the send queue", left.scq, 2000);
    return shown("VERBS-6.2.2-04", count < accepted && landed < accepted);
}
