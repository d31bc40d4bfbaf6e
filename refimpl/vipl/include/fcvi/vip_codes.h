/* The return codes (VI-DG 4.2) and error codes (VI-DG 4.4) of VIPL, in VIPL's order and by its names: once,
 * for vipl.h and for the port, so that a program may include both in either order. */
#ifndef FCVI_VIP_CODES_H
#define FCVI_VIP_CODES_H

/** VIP_RETURN (see fcvi_vip_name). The last two are no VIPL codes: no call of VIPL returns them.
 * FCVI_VIP_PENDING: the call of the port blocks and completes later with an FCVI_EVENT_CALL that carries its
 * token. */
enum fcvi_vip {
    VIP_SUCCESS = 0,
    VIP_NOT_DONE = 1,
    VIP_INVALID_PARAMETER = 2,
    VIP_ERROR_RESOURCE = 3,
    VIP_TIMEOUT = 4,
    VIP_REJECT = 5,
    VIP_INVALID_RELIABILITY_LEVEL = 6,
    VIP_INVALID_MTU = 7,
    VIP_INVALID_QOS = 8,
    VIP_INVALID_PTAG = 9,
    VIP_INVALID_RDMAREAD = 10,
    VIP_DESCRIPTOR_ERROR = 11,
    VIP_INVALID_STATE = 12,
    VIP_ERROR_NAMESERVICE = 13,
    VIP_NO_MATCH = 14,
    VIP_NOT_REACHABLE = 15,
    FCVI_VIP_PENDING = 100,
    FCVI_VIP_UNSUPPORTED = 101
};

/** VIP_ERROR_CODE: what a VipErrorCallback is told. */
enum fcvi_vip_error {
    VIP_ERROR_POST_DESC = 0,
    VIP_ERROR_CONN_LOST = 1,
    VIP_ERROR_RECVQ_EMPTY = 2,
    VIP_ERROR_VI_OVERRUN = 3,
    VIP_ERROR_RDMAW_PROT = 4,
    VIP_ERROR_RDMAW_DATA = 5,
    VIP_ERROR_RDMAW_ABORT = 6,
    VIP_ERROR_RDMAR_PROT = 7,
    VIP_ERROR_COMP_PROT = 8,
    VIP_ERROR_RDMA_TRANSPORT = 9,
    VIP_ERROR_CATASTROPHIC = 10
};

#endif
