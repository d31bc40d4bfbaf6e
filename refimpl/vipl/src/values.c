/* The values and layouts of the guide, held at compile time. vipl.h takes VIP_RETURN and VIP_ERROR_CODE from
 * port.h here; a program gets them from vipl.h itself, and the tests hold those. */
#include "internal.h"

#include <assert.h>
#include <stddef.h>

/* VI-DG 4.2 */
static_assert(VIP_SUCCESS == 0 && VIP_NOT_DONE == 1 && VIP_INVALID_PARAMETER == 2, "VIP_RETURN");
static_assert(VIP_ERROR_RESOURCE == 3 && VIP_TIMEOUT == 4 && VIP_REJECT == 5, "VIP_RETURN");
static_assert(VIP_INVALID_RELIABILITY_LEVEL == 6 && VIP_INVALID_MTU == 7 && VIP_INVALID_QOS == 8,
              "VIP_RETURN");
static_assert(VIP_INVALID_PTAG == 9 && VIP_INVALID_RDMAREAD == 10 && VIP_DESCRIPTOR_ERROR == 11,
              "VIP_RETURN");
static_assert(VIP_INVALID_STATE == 12 && VIP_ERROR_NAMESERVICE == 13 && VIP_NO_MATCH == 14, "VIP_RETURN");
static_assert(VIP_NOT_REACHABLE == 15, "VIP_RETURN");

/* VI-DG 4.4 */
static_assert(VIP_ERROR_POST_DESC == 0 && VIP_ERROR_CONN_LOST == 1 && VIP_ERROR_RECVQ_EMPTY == 2,
              "VIP_ERROR_CODE");
static_assert(VIP_ERROR_VI_OVERRUN == 3 && VIP_ERROR_RDMAW_PROT == 4 && VIP_ERROR_RDMAW_DATA == 5,
              "VIP_ERROR_CODE");
static_assert(VIP_ERROR_RDMAW_ABORT == 6 && VIP_ERROR_RDMAR_PROT == 7 && VIP_ERROR_COMP_PROT == 8,
              "VIP_ERROR_CODE");
static_assert(VIP_ERROR_RDMA_TRANSPORT == 9 && VIP_ERROR_CATASTROPHIC == 10, "VIP_ERROR_CODE");

/* VI-DG 4.3: the port completes with VIPL's own status bits */
static_assert((unsigned)FCVI_STATUS_DONE == VIP_STATUS_DONE &&
                  (unsigned)FCVI_STATUS_FORMAT_ERROR == VIP_STATUS_FORMAT_ERROR &&
                  (unsigned)FCVI_STATUS_PROTECTION_ERROR == VIP_STATUS_PROTECTION_ERROR &&
                  (unsigned)FCVI_STATUS_LENGTH_ERROR == VIP_STATUS_LENGTH_ERROR &&
                  (unsigned)FCVI_STATUS_PARTIAL_ERROR == VIP_STATUS_PARTIAL_ERROR &&
                  (unsigned)FCVI_STATUS_DESC_FLUSHED_ERROR == VIP_STATUS_DESC_FLUSHED_ERROR &&
                  (unsigned)FCVI_STATUS_TRANSPORT_ERROR == VIP_STATUS_TRANSPORT_ERROR &&
                  (unsigned)FCVI_STATUS_RDMA_PROT_ERROR == VIP_STATUS_RDMA_PROT_ERROR &&
                  (unsigned)FCVI_STATUS_REMOTE_DESC_ERROR == VIP_STATUS_REMOTE_DESC_ERROR &&
                  (unsigned)FCVI_STATUS_ERROR_MASK == VIP_STATUS_ERROR_MASK,
              "status");
static_assert((unsigned)FCVI_STATUS_OP_RECEIVE == VIP_STATUS_OP_RECEIVE &&
                  (unsigned)FCVI_STATUS_OP_RDMA_WRITE == VIP_STATUS_OP_RDMA_WRITE &&
                  (unsigned)FCVI_STATUS_OP_REMOTE_RDMA_WRITE == VIP_STATUS_OP_REMOTE_RDMA_WRITE &&
                  (unsigned)FCVI_STATUS_OP_RDMA_READ == VIP_STATUS_OP_RDMA_READ &&
                  (unsigned)FCVI_STATUS_IMMEDIATE == VIP_STATUS_IMMEDIATE,
              "status");

/* VI-DG 5.1: Descriptors are little-endian, and the structures are used in place */
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a little-endian host");
static_assert(sizeof(VIP_CONTROL_SEGMENT) == 32 && sizeof(VIP_ADDRESS_SEGMENT) == 16 &&
                  sizeof(VIP_DATA_SEGMENT) == 16 && sizeof(VIP_DESCRIPTOR) == 64,
              "segments");
static_assert(offsetof(VIP_CONTROL_SEGMENT, Next) == 0 && offsetof(VIP_CONTROL_SEGMENT, NextHandle) == 8 &&
                  offsetof(VIP_CONTROL_SEGMENT, SegCount) == 12 &&
                  offsetof(VIP_CONTROL_SEGMENT, Control) == 14 &&
                  offsetof(VIP_CONTROL_SEGMENT, Reserved) == 16 &&
                  offsetof(VIP_CONTROL_SEGMENT, ImmediateData) == 20 &&
                  offsetof(VIP_CONTROL_SEGMENT, Length) == 24 && offsetof(VIP_CONTROL_SEGMENT, Status) == 28,
              "control segment");
static_assert(offsetof(VIP_ADDRESS_SEGMENT, Handle) == 8 && offsetof(VIP_ADDRESS_SEGMENT, Reserved) == 12 &&
                  offsetof(VIP_DATA_SEGMENT, Handle) == 8 && offsetof(VIP_DATA_SEGMENT, Length) == 12,
              "address and data segment");
static_assert(offsetof(VIP_NET_ADDRESS, HostAddress) == 4, "VI-DG 4.9");
