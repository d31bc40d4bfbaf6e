/* Completion Queues, as they are. */
#include "api.h"

json_t *api_create_cq(struct api *api, struct params *p)
{
    VIP_ULONG entries = (VIP_ULONG)params_number(p, "EntryCount", UINT32_MAX, false, 0);
    VIP_CQ_HANDLE cq = NULL;
    VIP_NIC_HANDLE nic;
    VIP_RETURN vip;
    const size_t n = api_nic_of(api, p, &nic);
    if (p->why[0] != '\0')
        return NULL;
    API_CALL(vip, VipCreateCQ, nic, entries, &cq);
    json_t *result = api_result(vip);
    if (vip == VIP_SUCCESS)
        api_made(api, p, result, KIND_CQ, (struct thing){.value = (uintptr_t)cq, .nic = n});
    return result;
}

API_GIVES_BACK(api_destroy_cq, VipDestroyCQ, "cq", KIND_CQ)

json_t *api_resize_cq(struct api *api, struct params *p)
{
    VIP_CQ_HANDLE cq = api_handle_of(api, p, "cq", KIND_CQ);
    VIP_ULONG entries = (VIP_ULONG)params_number(p, "EntryCount", UINT32_MAX, false, 0);
    VIP_RETURN vip;
    if (p->why[0] != '\0')
        return NULL;
    API_CALL(vip, VipResizeCQ, cq, entries);
    return api_result(vip);
}

static json_t *entry(struct api *api, VIP_RETURN vip, VIP_VI_HANDLE vi, VIP_BOOLEAN recv)
{
    json_t *result = api_result(vip);
    if (vip == VIP_SUCCESS) {
        pthread_mutex_lock(&api->lock);
        json_object_set_new(result, "vi", api_number_of(api, KIND_VI, (uintptr_t)vi));
        pthread_mutex_unlock(&api->lock);
        json_object_set_new(result, "RecvQueue", json_boolean(recv));
    }
    return result;
}

json_t *api_cq_done(struct api *api, struct params *p)
{
    VIP_CQ_HANDLE cq = api_handle_of(api, p, "cq", KIND_CQ);
    VIP_BOOLEAN recv = VIP_FALSE;
    VIP_VI_HANDLE vi = NULL;
    VIP_RETURN vip;
    if (p->why[0] != '\0')
        return NULL;
    API_CALL(vip, VipCQDone, cq, &vi, &recv);
    return entry(api, vip, vi, recv);
}

json_t *api_cq_wait(struct api *api, struct params *p)
{
    VIP_CQ_HANDLE cq = api_handle_of(api, p, "cq", KIND_CQ);
    VIP_ULONG timeout = api_timeout(p);
    VIP_BOOLEAN recv = VIP_FALSE;
    VIP_VI_HANDLE vi = NULL;
    VIP_RETURN vip;
    if (p->why[0] != '\0')
        return NULL;
    API_CALL(vip, VipCQWait, cq, timeout, &vi, &recv);
    return entry(api, vip, vi, recv);
}
