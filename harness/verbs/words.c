/* See words.h. */
#include "words.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <string.h>

/* clang-format off */
#define WORD(prefix, name) {#name, prefix##name}

const struct word words_access[] = {
    WORD(IBV_ACCESS_, LOCAL_WRITE), WORD(IBV_ACCESS_, REMOTE_WRITE), WORD(IBV_ACCESS_, REMOTE_READ),
    WORD(IBV_ACCESS_, REMOTE_ATOMIC), WORD(IBV_ACCESS_, MW_BIND), WORD(IBV_ACCESS_, ZERO_BASED),
    WORD(IBV_ACCESS_, ON_DEMAND), WORD(IBV_ACCESS_, HUGETLB), WORD(IBV_ACCESS_, RELAXED_ORDERING), {NULL, 0}};

const struct word words_opcode[] = {
    WORD(IBV_WR_, RDMA_WRITE), WORD(IBV_WR_, RDMA_WRITE_WITH_IMM), WORD(IBV_WR_, SEND), WORD(IBV_WR_, SEND_WITH_IMM),
    WORD(IBV_WR_, RDMA_READ), WORD(IBV_WR_, ATOMIC_CMP_AND_SWP), WORD(IBV_WR_, ATOMIC_FETCH_AND_ADD),
    WORD(IBV_WR_, LOCAL_INV), WORD(IBV_WR_, BIND_MW), WORD(IBV_WR_, SEND_WITH_INV), WORD(IBV_WR_, TSO),
    WORD(IBV_WR_, DRIVER1), {NULL, 0}};

const struct word words_send_flags[] = {
    WORD(IBV_SEND_, FENCE), WORD(IBV_SEND_, SIGNALED), WORD(IBV_SEND_, SOLICITED), WORD(IBV_SEND_, INLINE),
    WORD(IBV_SEND_, IP_CSUM), {NULL, 0}};

const struct word words_wc_status[] = {
    WORD(IBV_WC_, SUCCESS), WORD(IBV_WC_, LOC_LEN_ERR), WORD(IBV_WC_, LOC_QP_OP_ERR), WORD(IBV_WC_, LOC_EEC_OP_ERR),
    WORD(IBV_WC_, LOC_PROT_ERR), WORD(IBV_WC_, WR_FLUSH_ERR), WORD(IBV_WC_, MW_BIND_ERR), WORD(IBV_WC_, BAD_RESP_ERR),
    WORD(IBV_WC_, LOC_ACCESS_ERR), WORD(IBV_WC_, REM_INV_REQ_ERR), WORD(IBV_WC_, REM_ACCESS_ERR), WORD(IBV_WC_, REM_OP_ERR),
    WORD(IBV_WC_, RETRY_EXC_ERR), WORD(IBV_WC_, RNR_RETRY_EXC_ERR), WORD(IBV_WC_, LOC_RDD_VIOL_ERR),
    WORD(IBV_WC_, REM_INV_RD_REQ_ERR), WORD(IBV_WC_, REM_ABORT_ERR), WORD(IBV_WC_, INV_EECN_ERR),
    WORD(IBV_WC_, INV_EEC_STATE_ERR), WORD(IBV_WC_, FATAL_ERR), WORD(IBV_WC_, RESP_TIMEOUT_ERR), WORD(IBV_WC_, GENERAL_ERR),
    WORD(IBV_WC_, TM_ERR), WORD(IBV_WC_, TM_RNDV_INCOMPLETE), {NULL, 0}};

const struct word words_wc_opcode[] = {
    WORD(IBV_WC_, SEND), WORD(IBV_WC_, RDMA_WRITE), WORD(IBV_WC_, RDMA_READ), WORD(IBV_WC_, COMP_SWAP),
    WORD(IBV_WC_, FETCH_ADD), WORD(IBV_WC_, BIND_MW), WORD(IBV_WC_, LOCAL_INV), WORD(IBV_WC_, TSO), WORD(IBV_WC_, RECV),
    WORD(IBV_WC_, RECV_RDMA_WITH_IMM), {NULL, 0}};

const struct word words_wc_flags[] = {
    WORD(IBV_WC_, GRH), WORD(IBV_WC_, WITH_IMM), WORD(IBV_WC_, IP_CSUM_OK), WORD(IBV_WC_, WITH_INV), {NULL, 0}};

const struct word words_state[] = {
    WORD(IBV_QPS_, RESET), WORD(IBV_QPS_, INIT), WORD(IBV_QPS_, RTR), WORD(IBV_QPS_, RTS), WORD(IBV_QPS_, SQD),
    WORD(IBV_QPS_, SQE), WORD(IBV_QPS_, ERR), WORD(IBV_QPS_, UNKNOWN), {NULL, 0}};

const struct word words_qp_type[] = {
    WORD(IBV_QPT_, RC), WORD(IBV_QPT_, UC), WORD(IBV_QPT_, UD), WORD(IBV_QPT_, RAW_PACKET), {NULL, 0}};

const struct word words_event[] = {
    WORD(IBV_EVENT_, CQ_ERR), WORD(IBV_EVENT_, QP_FATAL), WORD(IBV_EVENT_, QP_REQ_ERR), WORD(IBV_EVENT_, QP_ACCESS_ERR),
    WORD(IBV_EVENT_, COMM_EST), WORD(IBV_EVENT_, SQ_DRAINED), WORD(IBV_EVENT_, PATH_MIG), WORD(IBV_EVENT_, PATH_MIG_ERR),
    WORD(IBV_EVENT_, DEVICE_FATAL), WORD(IBV_EVENT_, PORT_ACTIVE), WORD(IBV_EVENT_, PORT_ERR), WORD(IBV_EVENT_, LID_CHANGE),
    WORD(IBV_EVENT_, PKEY_CHANGE), WORD(IBV_EVENT_, SM_CHANGE), WORD(IBV_EVENT_, SRQ_ERR),
    WORD(IBV_EVENT_, SRQ_LIMIT_REACHED), WORD(IBV_EVENT_, QP_LAST_WQE_REACHED), WORD(IBV_EVENT_, CLIENT_REREGISTER),
    WORD(IBV_EVENT_, GID_CHANGE), WORD(IBV_EVENT_, WQ_FATAL), {NULL, 0}};

const struct word words_cm_event[] = {
    WORD(RDMA_CM_EVENT_, ADDR_RESOLVED), WORD(RDMA_CM_EVENT_, ADDR_ERROR), WORD(RDMA_CM_EVENT_, ROUTE_RESOLVED),
    WORD(RDMA_CM_EVENT_, ROUTE_ERROR), WORD(RDMA_CM_EVENT_, CONNECT_REQUEST), WORD(RDMA_CM_EVENT_, CONNECT_RESPONSE),
    WORD(RDMA_CM_EVENT_, CONNECT_ERROR), WORD(RDMA_CM_EVENT_, UNREACHABLE), WORD(RDMA_CM_EVENT_, REJECTED),
    WORD(RDMA_CM_EVENT_, ESTABLISHED), WORD(RDMA_CM_EVENT_, DISCONNECTED), WORD(RDMA_CM_EVENT_, DEVICE_REMOVAL),
    WORD(RDMA_CM_EVENT_, MULTICAST_JOIN), WORD(RDMA_CM_EVENT_, MULTICAST_ERROR), WORD(RDMA_CM_EVENT_, ADDR_CHANGE),
    WORD(RDMA_CM_EVENT_, TIMEWAIT_EXIT), {NULL, 0}};

const struct word words_port_state[] = {
    WORD(IBV_PORT_, NOP), WORD(IBV_PORT_, DOWN), WORD(IBV_PORT_, INIT), WORD(IBV_PORT_, ARMED), WORD(IBV_PORT_, ACTIVE),
    WORD(IBV_PORT_, ACTIVE_DEFER), {NULL, 0}};

const struct word words_rereg[] = {
    {"TRANSLATION", IBV_REREG_MR_CHANGE_TRANSLATION}, {"PD", IBV_REREG_MR_CHANGE_PD},
    {"ACCESS", IBV_REREG_MR_CHANGE_ACCESS}, {NULL, 0}};

const struct word words_transport[] = {{"iwarp", IBV_TRANSPORT_IWARP}, {"ib", IBV_TRANSPORT_IB}, {NULL, 0}};
/* clang-format on */

/* False: it is neither a number nor one of the words. */
static bool value_of(const json_t *given, const struct word *words, uint32_t *out)
{
    const char *text = json_string_value(given);
    if (json_is_integer(given) && json_integer_value(given) >= 0 && json_integer_value(given) <= UINT32_MAX) {
        *out = (uint32_t)json_integer_value(given);
        return true;
    }
    for (; text != NULL && words->name != NULL; words++)
        if (strcmp(words->name, text) == 0) {
            *out = words->value;
            return true;
        }
    return false;
}

uint32_t words_value(struct params *p, const char *name, const struct word *words, bool optional,
                     uint32_t otherwise)
{
    uint32_t value = otherwise;
    if (optional && !params_has(p, name))
        return otherwise;
    if (!value_of(json_object_get(p->object, name), words, &value))
        params_wrong(p, name, "a word of libibverbs without its prefix, or a number");
    return value;
}

uint32_t words_flags(struct params *p, const char *name, const struct word *words, uint32_t otherwise)
{
    const json_t *list = json_object_get(p->object, name);
    uint32_t all = 0, one = 0;
    if (list == NULL || json_is_null(list))
        return otherwise;
    bool good = json_is_array(list);
    for (size_t i = 0; good && i < json_array_size(list); i++) {
        good = value_of(json_array_get(list, i), words, &one);
        all |= one;
    }
    if (!good)
        params_wrong(p, name, "a list of words of libibverbs without their prefix, or numbers");
    return all;
}

json_t *words_name(const struct word *words, uint32_t value)
{
    for (; words->name != NULL; words++)
        if (words->value == value)
            return json_string(words->name);
    return json_integer(value);
}

json_t *words_list(const struct word *words, uint32_t value)
{
    json_t *list = json_array();
    for (; words->name != NULL; words++)
        if ((value & words->value) != 0) {
            json_array_append_new(list, json_string(words->name));
            value &= ~words->value;
        }
    if (value != 0)
        json_array_append_new(list, json_integer(value));
    return list;
}
