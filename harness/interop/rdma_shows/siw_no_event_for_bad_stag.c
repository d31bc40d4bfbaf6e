/* siw, VERBS-8.3.3-03: a Write with an unknown STag has to raise an event at the target. VERBS-8.3.3-01: so
 * of two Queue Pairs with a protection error, one of them by a Write out of bounds, only that one has an
 * event. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left[2], right[2];
    int told[2] = {0};
    for (int i = 0; i < 2; i++)
        connected(&left[i], &right[i], argv[1]);
    MUST(post_send(&left[0], 1, IBV_WR_RDMA_WRITE, left[0].mr->lkey, (uintptr_t)right[0].bytes,
                   right[0].mr->rkey ^ 0x5500) == 0);
    MUST(post_send(&left[1], 2, IBV_WR_RDMA_WRITE, left[1].mr->lkey, (uintptr_t)right[1].bytes + SHOW_BYTES,
                   right[1].mr->rkey) == 0);
    completions("unknown STag", left[0].scq, 1000);
    completions("out of bounds", left[1].scq, 1);
    struct ibv_async_event a;
    while (ibv_get_async_event(left[0].id->verbs, &a) == 0) { /* one device: those of all ends */
        for (int i = 0; i < 2; i++)
            told[i] += a.element.qp == right[i].id->qp;
        printf("%s\n", ibv_event_type_str(a.event_type));
        ibv_ack_async_event(&a);
    }
    printf("events at the targets: %d and %d\n", told[0], told[1]);
    return shown("VERBS-8.3.3-03 VERBS-8.3.3-01", told[0] == 0 && told[1] > 0);
}
