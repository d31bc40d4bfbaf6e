/* VipQuerySystemManagementInfo: auto-discovery (VI-DG 3.7.6). */
#include "internal.h"

#include <string.h>

static uint32_t within(const struct fcvi_vipl_nic *info, VIP_ULONG hops)
{
    uint32_t count = 0;
    for (size_t i = 0; i < info->neighbour_count; i++)
        count += info->neighbours[i].hops <= hops;
    return count;
}

static bool room_for(const VIP_AUTODISCOVERY_LIST *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (list->ADAddrArray == NULL || list->ADAddrArray[i] == NULL ||
            list->ADAddrArray[i]->HostAddressLen < HOST_LENGTH)
            return false;
    return true;
}

static int discover(const struct fcvi_vipl_nic *info, VIP_AUTODISCOVERY_LIST *list)
{
    uint32_t count = within(info, list->NumberOfHops);
    if (list->NumAdAddrs < count) {
        list->NumAdAddrs = count;
        return VIP_ERROR_RESOURCE;
    }
    if (!room_for(list, count))
        return VIP_INVALID_PARAMETER;
    VIP_NET_ADDRESS **next = list->ADAddrArray;
    for (size_t i = 0; i < info->neighbour_count; i++) {
        if (info->neighbours[i].hops > list->NumberOfHops)
            continue;
        (*next)->HostAddressLen = HOST_LENGTH;
        memcpy(vipl_address_host(*next), info->neighbours[i].host, HOST_LENGTH);
        next++;
    }
    list->NumAdAddrs = count;
    return VIP_SUCCESS;
}

VIP_RETURN VipQuerySystemManagementInfo(VIP_NIC_HANDLE NicHandle, VIP_ULONG InfoType, VIP_PVOID SysManInfo)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = nic->object.device;
    if (InfoType != VIP_SMI_AUTODISCOVERY || SysManInfo == NULL)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    return vipl_leave(d, discover(&d->info, SysManInfo));
}
