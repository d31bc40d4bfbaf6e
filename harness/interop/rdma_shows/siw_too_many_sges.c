/* siw, VERBS-9.3.1.1-04, VERBS-8.2.1-05 and VERBS-8.2.1-03: the third of five Sends has more SGEs than the
 * QP. It is taken, the caller is told of no error, and those behind it arrive. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;
    connected(&left, &right, argv[1]);
    MUST(ibv_query_qp(left.id->qp, &attr, IBV_QP_CAP, &init) == 0);
    int more = (int)attr.cap.max_send_sge + 1;
    MUST(more <= 16);
    struct ibv_sge sges[16];
    struct ibv_send_wr wrs[5] = {0}, *bad = NULL;
    for (int i = 0; i < 16; i++)
        sges[i] = (struct ibv_sge){(uintptr_t)left.bytes, 1, left.mr->lkey};
    for (int i = 0; i < 5; i++) {
        MUST(post_recv(&right, (uint64_t)i + 1) == 0);
        wrs[i] = (struct ibv_send_wr){.wr_id = (uint64_t)i + 1,
                                      .next = i < 4 ? &wrs[i + 1] : NULL,
                                      .sg_list = sges,
                                      .num_sge = i == 2 ? more : 1,
                                      .opcode = IBV_WR_SEND,
                                      .send_flags = IBV_SEND_SIGNALED};
    }
    int returned = ibv_post_send(left.id->qp, wrs, &bad);
    printf("five Sends, the third with %d SGEs, where the QP has %u: %s\n", more, attr.cap.max_send_sge,
           returned == 0 ? "accepted" : strerror(returned));
    int sent = completions("the send queue", left.scq, 1000), got = completions("the peer", right.rcq, 0);
    return shown("VERBS-9.3.1.1-04 VERBS-8.2.1-05 VERBS-8.2.1-03", returned == 0 && sent > 3 && got > 3);
}
