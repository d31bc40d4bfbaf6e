/* Twists of what the provider tells of itself, of its VIs and of names. */
#include "twist.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static unsigned counter;

/* nic-told FIELD VALUE */
static VIP_RETURN nic_told(VIP_NIC_HANDLE nic, VIP_NIC_ATTRIBUTES *a)
{
    VIP_RETURN code = vipl_real.VipQueryNic(nic, a);
    unsigned long value = vipl_twist_argument(1);
    if (code != VIP_SUCCESS)
        return code;
    switch (vipl_twist_argument(0)) {
    case 0:
        memset(a->Name, 'x', sizeof a->Name);
        break;
    case 1:
        a->NicAddressLen = (VIP_UINT16)value;
        break;
    case 2:
        a->ThreadSafe = (VIP_BOOLEAN)value;
        break;
    case 3:
        a->MaxDiscriminatorLen = (VIP_UINT16)value;
        break;
    case 4:
        a->MaxSegmentsPerDesc = (VIP_ULONG)value;
        break;
    case 5:
        a->MaxCQEntries = (VIP_ULONG)value;
        break;
    case 6:
        a->MaxTransferSize = (VIP_ULONG)value;
        break;
    case 7:
        a->MaxPtags = (VIP_ULONG)value;
        break;
    case 8:
        a->ReliabilityLevelSupport = (VIP_RELIABILITY_LEVEL)value;
        break;
    case 9:
        a->RDMAReadSupport = (VIP_RELIABILITY_LEVEL)value;
        break;
    case 10:
        a->MaxVI -= vipl_count(&counter);
        break;
    case 11:
        a->MaxDescriptorsPerQueue = (VIP_ULONG)value;
        break;
    default:
        a->LocalNicAddress = NULL;
    }
    return code;
}

/* vi-told WHAT: 0 the size, 1 the enables, 2 that both queues are empty, 3 that both are not, 4 the level */
static VIP_RETURN vi_told(VIP_VI_HANDLE vi, VIP_VI_STATE *state, VIP_VI_ATTRIBUTES *a, VIP_BOOLEAN *send,
                          VIP_BOOLEAN *recv)
{
    VIP_RETURN code = vipl_real.VipQueryVi(vi, state, a, send, recv);
    if (code != VIP_SUCCESS)
        return code;
    switch (vipl_twist_argument(0)) {
    case 0:
        a->MaxTransferSize++;
        break;
    case 1:
        a->EnableRdmaWrite = !a->EnableRdmaWrite;
        break;
    case 2:
        *send = *recv = VIP_TRUE;
        break;
    case 3:
        *send = *recv = VIP_FALSE;
        break;
    default:
        a->ReliabilityLevel ^= VIP_SERVICE_RELIABLE_DELIVERY | VIP_SERVICE_RELIABLE_RECEPTION;
    }
    return code;
}

/* set-vi HOW: 0 nothing is set, 1 what was refused is set in part */
static VIP_RETURN set_vi(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *a)
{
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES was;
    VIP_BOOLEAN empty[2];
    if (vipl_real.VipQueryVi(vi, &state, &was, &empty[0], &empty[1]) != VIP_SUCCESS)
        return vipl_real.VipSetViAttributes(vi, a);
    VIP_RETURN code = vipl_real.VipSetViAttributes(vi, a);
    if (vipl_twist_argument(0) == 0 && code == VIP_SUCCESS)
        (void)vipl_real.VipSetViAttributes(vi, &was);
    if (vipl_twist_argument(0) == 1 && code != VIP_SUCCESS) {
        was.EnableRdmaWrite = !was.EnableRdmaWrite;
        (void)vipl_real.VipSetViAttributes(vi, &was);
    }
    return code;
}

/* open-same: a NIC that is open gives the handle that it has. close-nothing: it stays open. */
static VIP_NIC_HANDLE open_one;
static VIP_CHAR open_name[64];

static VIP_RETURN open_same(const VIP_CHAR *name, VIP_NIC_HANDLE *nic)
{
    if (open_one != NULL && name != NULL && strcmp(name, open_name) == 0) {
        *nic = open_one;
        return VIP_SUCCESS;
    }
    VIP_RETURN code = vipl_real.VipOpenNic(name, nic);
    if (code == VIP_SUCCESS && name != NULL && strlen(name) < sizeof open_name) {
        open_one = *nic;
        memcpy(open_name, name, strlen(name) + 1);
    }
    return code;
}

static VIP_RETURN close_nothing(VIP_NIC_HANDLE nic)
{
    VIP_NIC_ATTRIBUTES a;
    return vipl_real.VipQueryNic(nic, &a) == VIP_SUCCESS ? VIP_SUCCESS : vipl_real.VipCloseNic(nic);
}

/* destroy-nothing: the VI lives on. */
static VIP_RETURN destroy_nothing(VIP_VI_HANDLE vi)
{
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES a;
    VIP_BOOLEAN empty[2];
    bool ready = vipl_real.VipQueryVi(vi, &state, &a, &empty[0], &empty[1]) == VIP_SUCCESS &&
                 state == VIP_STATE_IDLE && empty[0] && empty[1];
    return ready ? VIP_SUCCESS : vipl_twist_base.VipDestroyVi(vi);
}

/* ---- names ---- */

static VIP_RETURN exact_name(VIP_NIC_HANDLE nic, VIP_CHAR *name, VIP_NET_ADDRESS *address, VIP_ULONG index)
{
    for (const VIP_CHAR *c = name; c != NULL && *c != 0; c++)
        if (isupper((unsigned char)*c))
            return VIP_ERROR_NAMESERVICE;
    return vipl_real.VipNSGetHostByName(nic, name, address, index);
}

static VIP_RETURN first_index(VIP_NIC_HANDLE nic, VIP_CHAR *name, VIP_NET_ADDRESS *address, VIP_ULONG index)
{
    (void)index;
    return vipl_real.VipNSGetHostByName(nic, name, address, 0);
}

static VIP_RETURN other_address(VIP_NIC_HANDLE nic, VIP_CHAR *name, VIP_NET_ADDRESS *address, VIP_ULONG index)
{
    VIP_RETURN code = vipl_real.VipNSGetHostByName(nic, name, address, index);
    if (code == VIP_SUCCESS && address->HostAddressLen > 0)
        address->HostAddress[0] ^= 0xFF;
    return code;
}

static VIP_RETURN long_address(VIP_NIC_HANDLE nic, VIP_CHAR *name, VIP_NET_ADDRESS *address, VIP_ULONG index)
{
    VIP_RETURN code = vipl_real.VipNSGetHostByName(nic, name, address, index);
    VIP_NIC_ATTRIBUTES own;
    if (code == VIP_SUCCESS && vipl_real.VipQueryNic(nic, &own) == VIP_SUCCESS)
        (void)vipl_poke(address->HostAddress + own.NicAddressLen, "\xCC", 1);
    return code;
}

/* name-told HOW: 0 another name, 1 a length with the NUL, 2 no NUL, 3 a name that has no room is cut */
static VIP_RETURN name_told(VIP_NIC_HANDLE nic, VIP_NET_ADDRESS *address, VIP_CHAR *name, VIP_ULONG *length)
{
    VIP_CHAR whole[256];
    VIP_ULONG room = sizeof whole;
    VIP_RETURN code = vipl_real.VipNSGetHostByAddr(nic, address, name, length);
    if (vipl_twist_argument(0) == 3 && code == VIP_INVALID_PARAMETER &&
        vipl_real.VipNSGetHostByAddr(nic, address, whole, &room) == VIP_SUCCESS) {
        memcpy(name, whole, room + 1);
        *length = room;
        return VIP_SUCCESS;
    }
    if (vipl_twist_argument(0) == 4 && code == VIP_INVALID_PARAMETER && length != NULL)
        *length = 1;
    if (code != VIP_SUCCESS)
        return code;
    if (vipl_twist_argument(0) == 0 && *length > 0)
        name[0] ^= 1;
    if (vipl_twist_argument(0) == 1)
        *length += 3;
    if (vipl_twist_argument(0) == 2)
        name[*length] = 'x';
    return code;
}

/* found HOW: 0 nobody, 1 too many are told to be needed, 2 an address that has a discriminator is refused, 3
 * other addresses */
static VIP_RETURN found(VIP_NIC_HANDLE nic, VIP_ULONG type, VIP_PVOID info)
{
    VIP_AUTODISCOVERY_LIST *list = info;
    if (type != VIP_SMI_AUTODISCOVERY || list == NULL)
        return vipl_real.VipQuerySystemManagementInfo(nic, type, info);
    if (vipl_twist_argument(0) == 2)
        for (VIP_ULONG i = 0; i < list->NumAdAddrs && list->ADAddrArray != NULL; i++)
            if (list->ADAddrArray[i]->DiscriminatorLen != 0)
                return VIP_INVALID_PARAMETER;
    VIP_RETURN code = vipl_real.VipQuerySystemManagementInfo(nic, type, info);
    if (vipl_twist_argument(0) == 0 && code == VIP_SUCCESS)
        list->NumAdAddrs = 0;
    if (vipl_twist_argument(0) == 1 && code == VIP_ERROR_RESOURCE)
        list->NumAdAddrs = 0;
    if (vipl_twist_argument(0) == 3 && code == VIP_SUCCESS)
        for (VIP_ULONG i = 0; i < list->NumAdAddrs; i++)
            list->ADAddrArray[i]->HostAddress[0] ^= 0xFF;
    return code;
}

const struct twist vipl_twists_nic[] = {
    {.name = "nic-told", .calls = {.VipQueryNic = nic_told}},
    {.name = "vi-told", .calls = {.VipQueryVi = vi_told}},
    {.name = "set-vi", .calls = {.VipSetViAttributes = set_vi}},
    {.name = "open-same", .calls = {.VipOpenNic = open_same}},
    {.name = "close-nothing", .calls = {.VipCloseNic = close_nothing}},
    {.name = "destroy-nothing", .calls = {.VipDestroyVi = destroy_nothing}},
    {.name = "exact-name", .calls = {.VipNSGetHostByName = exact_name}},
    {.name = "first-index", .calls = {.VipNSGetHostByName = first_index}},
    {.name = "other-address", .calls = {.VipNSGetHostByName = other_address}},
    {.name = "long-address", .calls = {.VipNSGetHostByName = long_address}},
    {.name = "name-told", .calls = {.VipNSGetHostByAddr = name_told}},
    {.name = "found", .calls = {.VipQuerySystemManagementInfo = found}},
    {.name = NULL},
};
