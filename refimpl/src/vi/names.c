/* VIPL's names for its codes (VI-DG 4). */
#include <fcvi/port.h>

const char *fcvi_vip_name(int vip)
{
    static const char *const names[] = {"VIP_SUCCESS",
                                        "VIP_NOT_DONE",
                                        "VIP_INVALID_PARAMETER",
                                        "VIP_ERROR_RESOURCE",
                                        "VIP_TIMEOUT",
                                        "VIP_REJECT",
                                        "VIP_INVALID_RELIABILITY_LEVEL",
                                        "VIP_INVALID_MTU",
                                        "VIP_INVALID_QOS",
                                        "VIP_INVALID_PTAG",
                                        "VIP_INVALID_RDMAREAD",
                                        "VIP_DESCRIPTOR_ERROR",
                                        "VIP_INVALID_STATE",
                                        "VIP_ERROR_NAMESERVICE",
                                        "VIP_NO_MATCH",
                                        "VIP_NOT_REACHABLE"};
    return vip >= VIP_SUCCESS && vip <= VIP_NOT_REACHABLE ? names[vip] : "";
}

const char *fcvi_vip_error_name(int code)
{
    static const char *const names[] = {
        "VIP_ERROR_POST_DESC",  "VIP_ERROR_CONN_LOST",      "VIP_ERROR_RECVQ_EMPTY", "VIP_ERROR_VI_OVERRUN",
        "VIP_ERROR_RDMAW_PROT", "VIP_ERROR_RDMAW_DATA",     "VIP_ERROR_RDMAW_ABORT", "VIP_ERROR_RDMAR_PROT",
        "VIP_ERROR_COMP_PROT",  "VIP_ERROR_RDMA_TRANSPORT", "VIP_ERROR_CATASTROPHIC"};
    return code >= VIP_ERROR_POST_DESC && code <= VIP_ERROR_CATASTROPHIC ? names[code] : "";
}

const char *fcvi_vi_state_name(int state)
{
    static const char *const names[] = {"idle", "pending-connect", "pending-connect-retry", "connected",
                                        "error"};
    return state >= FCVI_STATE_IDLE && state <= FCVI_STATE_ERROR ? names[state] : "";
}
