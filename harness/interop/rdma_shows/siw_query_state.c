/* siw, VERBS-9.2.5.2-01: Query QP has to tell the state. */
#include "show.h"

int main(int argc, char **argv)
{
    MUST(argc == 2);
    struct end left, right;
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_UNKNOWN};
    connected(&left, &right, argv[1]);
    MUST(ibv_query_qp(left.id->qp, &attr, IBV_QP_STATE, &init) == 0);
    printf("the state of a connected QP: %d (RTS is %d, RESET is %d)\n", (int)attr.qp_state, IBV_QPS_RTS,
           IBV_QPS_RESET);
    return shown("VERBS-9.2.5.2-01", attr.qp_state != IBV_QPS_RTS);
}
