/* NICs, protection tags, the name service and auto-discovery, as they are. */
#include "api.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What later calls need to know of a NIC. */
static void learn(struct thing *t, VIP_NIC_HANDLE nic)
{
    VIP_NIC_ATTRIBUTES n;
    memset(&n, 0, sizeof n);
    if (VipQueryNic(nic, &n) != VIP_SUCCESS)
        return;
    t->transfer = n.MaxTransferSize;
    t->host = n.NicAddressLen;
    t->discriminator = n.MaxDiscriminatorLen;
}

json_t *api_open_nic(struct api *api, struct params *p)
{
    const json_t *name = json_object_get(p->object, "DeviceName");
    const char *device = json_string_value(name);
    VIP_NIC_HANDLE nic = NULL;
    VIP_RETURN vip;
    if (name == NULL && api->a->device_count > 0)
        device = api->a->devices[0];
    else if (name != NULL && device == NULL && !json_is_null(name))
        params_wrong(p, "DeviceName", "a string or null");
    if (p->why[0] != '\0')
        return NULL;
    API_CALL(vip, VipOpenNic, device, &nic);
    json_t *result = api_result(vip);
    if (vip != VIP_SUCCESS)
        return result;
    struct thing t = {.value = (uintptr_t)nic, .open = true};
    learn(&t, nic);
    api_made(api, p, result, KIND_NIC, t);
    return result;
}

json_t *api_close_nic(struct api *api, struct params *p)
{
    VIP_NIC_HANDLE nic;
    const size_t n = api_nic_of(api, p, &nic);
    VIP_RETURN vip;
    if (p->why[0] != '\0')
        return NULL;
    API_CALL(vip, VipCloseNic, nic);
    if (vip == VIP_SUCCESS && n < API_PLACES) {
        pthread_mutex_lock(&api->lock);
        api->things[KIND_NIC].at[n].open = false;
        pthread_mutex_unlock(&api->lock);
    }
    return api_result(vip);
}

static json_t *nic_attributes_json(const VIP_NIC_ATTRIBUTES *n)
{
    size_t host = n->NicAddressLen <= API_HOST ? n->NicAddressLen : API_HOST;
    json_t *said = json_object();
    json_object_set_new(said, "Name", json_sprintf("%.*s", (int)strnlen(n->Name, sizeof n->Name), n->Name));
    json_object_set_new(said, "LocalNicAddress",
                        n->LocalNicAddress != NULL ? api_bytes(n->LocalNicAddress, host) : json_string(""));
    json_object_set_new(said, "ThreadSafe",
                        n->ThreadSafe == VIP_TRUE || n->ThreadSafe == VIP_FALSE
                            ? json_boolean(n->ThreadSafe)
                            : json_integer((json_int_t)n->ThreadSafe));
    json_object_set_new(said, "ReliabilityLevelSupport", api_levels(n->ReliabilityLevelSupport));
    json_object_set_new(said, "RDMAReadSupport", api_levels(n->RDMAReadSupport));
#define NUMBER(member) json_object_set_new(said, #member, json_integer((json_int_t)n->member))
    NUMBER(HardwareVersion);
    NUMBER(ProviderVersion);
    NUMBER(NicAddressLen);
    NUMBER(MaxDiscriminatorLen);
    NUMBER(MaxRegisterBytes);
    NUMBER(MaxRegisterRegions);
    NUMBER(MaxRegisterBlockBytes);
    NUMBER(MaxVI);
    NUMBER(MaxDescriptorsPerQueue);
    NUMBER(MaxSegmentsPerDesc);
    NUMBER(MaxCQ);
    NUMBER(MaxCQEntries);
    NUMBER(MaxTransferSize);
    NUMBER(NativeMTU);
    NUMBER(MaxPtags);
#undef NUMBER
    return said;
}

json_t *api_query_nic(struct api *api, struct params *p)
{
    VIP_NIC_ATTRIBUTES attributes;
    VIP_NIC_HANDLE nic;
    VIP_RETURN vip;
    (void)api_nic_of(api, p, &nic);
    if (p->why[0] != '\0')
        return NULL;
    memset(&attributes, 0, sizeof attributes);
    API_CALL(vip, VipQueryNic, nic, &attributes);
    json_t *result = api_result(vip);
    if (vip == VIP_SUCCESS)
        json_object_set_new(result, "NicAttribs", nic_attributes_json(&attributes));
    return result;
}

/* ---- protection tags ---- */

json_t *api_create_ptag(struct api *api, struct params *p)
{
    VIP_PROTECTION_HANDLE ptag = NULL;
    VIP_NIC_HANDLE nic;
    const size_t n = api_nic_of(api, p, &nic);
    VIP_RETURN vip;
    if (p->why[0] != '\0')
        return NULL;
    API_CALL(vip, VipCreatePtag, nic, &ptag);
    json_t *result = api_result(vip);
    if (vip == VIP_SUCCESS)
        api_made(api, p, result, KIND_PTAG, (struct thing){.value = (uintptr_t)ptag, .nic = n});
    return result;
}

json_t *api_destroy_ptag(struct api *api, struct params *p)
{
    VIP_NIC_HANDLE nic;
    VIP_RETURN vip;
    (void)api_nic_of(api, p, &nic);
    VIP_PROTECTION_HANDLE ptag = api_handle_of(api, p, "ptag", KIND_PTAG);
    if (p->why[0] != '\0')
        return NULL;
    API_CALL(vip, VipDestroyPtag, nic, ptag);
    return api_result(vip);
}

/* ---- the name service ---- */

json_t *api_ns_init(struct api *api, struct params *p)
{
    const json_t *info = json_object_get(p->object, "NSInitInfo");
    VIP_NIC_HANDLE nic;
    VIP_RETURN vip;
    if (info != NULL && !json_is_null(info) && !json_is_string(info))
        params_wrong(p, "NSInitInfo", "a string or null");
    (void)api_nic_of(api, p, &nic);
    if (p->why[0] != '\0')
        return NULL;
    char *text = json_is_string(info) ? strdup(json_string_value(info)) : NULL;
    API_CALL(vip, VipNSInit, nic, text);
    free(text);
    return api_result(vip);
}

json_t *api_ns_shutdown(struct api *api, struct params *p)
{
    VIP_NIC_HANDLE nic;
    VIP_RETURN vip;
    (void)api_nic_of(api, p, &nic);
    if (p->why[0] != '\0')
        return NULL;
    API_CALL(vip, VipNSShutdown, nic);
    return api_result(vip);
}

enum { LONGEST_NAME = 65536 };

/* As long as the room that is said: what stands behind it is the guard. */
static size_t room_of(struct api *api, struct params *p, size_t nic)
{
    pthread_mutex_lock(&api->lock);
    size_t usual = nic < api->things[KIND_NIC].count ? api->things[KIND_NIC].at[nic].host : 0;
    pthread_mutex_unlock(&api->lock);
    return (size_t)params_number(p, "HostAddressLen", UINT16_MAX, true, usual);
}

json_t *api_ns_by_name(struct api *api, struct params *p)
{
    const json_t *name = json_object_get(p->object, "Name");
    VIP_NIC_HANDLE nic;
    VIP_RETURN vip;
    if (name == NULL || (!json_is_null(name) && !json_is_string(name)))
        params_wrong(p, "Name", "a string or null");
    VIP_ULONG index = (VIP_ULONG)params_number(p, "NameIndex", UINT32_MAX, true, 0);
    const size_t n = api_nic_of(api, p, &nic);
    size_t room = p->why[0] == '\0' ? room_of(api, p, n) : 0;
    size_t size = sizeof(VIP_NET_ADDRESS) + room + API_GUARD;
    VIP_NET_ADDRESS *place = p->why[0] == '\0' ? malloc(size) : NULL;
    char *text = json_is_string(name) ? strdup(json_string_value(name)) : NULL;
    if (place == NULL) {
        free(text);
        return NULL;
    }
    memset(place, API_GUARD_BYTE, size);
    place->HostAddressLen = (VIP_UINT16)room;
    place->DiscriminatorLen = 0;
    API_CALL(vip, VipNSGetHostByName, nic, text, place, index);
    json_t *result = api_result(vip);
    if (vip == VIP_SUCCESS) {
        size_t length = place->HostAddressLen <= room ? place->HostAddressLen : room;
        json_object_set_new(result, "Address",
                            json_pack("{s:o, s:s}", "host",
                                      api_bytes((unsigned char *)place + API_HEAD, length), "discriminator",
                                      ""));
    }
    json_object_set_new(result, "guard",
                        json_boolean(api_guard_stands((unsigned char *)place + API_HEAD + room, API_GUARD)));
    free(text);
    free(place);
    return result;
}

json_t *api_ns_by_addr(struct api *api, struct params *p)
{
    union api_address address;
    VIP_NIC_HANDLE nic;
    VIP_RETURN vip;
    size_t room = (size_t)params_number(p, "NameLen", LONGEST_NAME, false, 0);
    (void)api_nic_of(api, p, &nic);
    if (!api_address(p, "Address", &address))
        return NULL;
    char *name = malloc(room + API_GUARD);
    VIP_ULONG length = (VIP_ULONG)room;
    if (name == NULL)
        return NULL;
    memset(name, API_GUARD_BYTE, room + API_GUARD);
    API_CALL(vip, VipNSGetHostByAddr, nic, &address.net, name, &length);
    json_t *result = api_result(vip);
    if (vip == VIP_SUCCESS) {
        size_t end = strnlen(name, room);
        json_t *said = json_stringn(name, end); /* NULL: it is not UTF-8 */
        json_object_set_new(result, "Name", said != NULL ? said : json_string(""));
        json_object_set_new(result, "terminated", json_boolean(end < room));
    }
    json_object_set_new(result, "NameLen", json_integer((json_int_t)length));
    json_object_set_new(result, "guard",
                        json_boolean(api_guard_stands((unsigned char *)name + room, API_GUARD)));
    free(name);
    return result;
}

/* ---- auto-discovery ---- */

enum { MOST_PLACES = 1024, PLACE = API_HEAD + API_HOST + API_GUARD };

static bool places_stand(const unsigned char *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!api_guard_stands(places + i * PLACE + API_HEAD + API_HOST, API_GUARD))
            return false;
    return true;
}

static json_t *found(const unsigned char *places, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        VIP_UINT16 length;
        memcpy(&length, places + i * PLACE, sizeof length);
        json_array_append_new(
            list, json_pack("{s:o, s:s}", "host",
                            api_bytes(places + i * PLACE + API_HEAD, length <= API_HOST ? length : API_HOST),
                            "discriminator", ""));
    }
    return list;
}

json_t *api_query_smi(struct api *api, struct params *p)
{
    const json_t *type = json_object_get(p->object, "InfoType");
    size_t count = (size_t)params_number(p, "NumAdAddrs", MOST_PLACES, true, 0);
    VIP_UINT16 rubbish = (VIP_UINT16)params_number(p, "DiscriminatorLen", UINT16_MAX, true, 0);
    VIP_AUTODISCOVERY_LIST list;
    VIP_NIC_HANDLE nic;
    VIP_RETURN vip;
    memset(&list, 0, sizeof list);
    VIP_ULONG info = json_is_integer(type) ? (VIP_ULONG)params_number(p, "InfoType", UINT32_MAX, false, 0)
                                           : (VIP_ULONG)VIP_SMI_AUTODISCOVERY;
    list.NumberOfHops = (VIP_ULONG)params_number(p, "NumberOfHops", UINT32_MAX, true, 1);
    list.NumAdAddrs = (VIP_ULONG)count;
    (void)api_nic_of(api, p, &nic);
    unsigned char *places = p->why[0] == '\0' ? malloc((count + 1) * PLACE) : NULL;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    VIP_NET_ADDRESS **array = p->why[0] == '\0' ? calloc(count + 1, sizeof *array) : NULL;
    if (places == NULL || array == NULL) {
        free(places);
        free((void *)array);
        return NULL;
    }
    memcpy(&list.ADAddrArray, &array, sizeof list.ADAddrArray); /* a header may declare it otherwise */
    memset(places, API_GUARD_BYTE, (count + 1) * PLACE);
    for (size_t i = 0; i < count; i++) {
        const VIP_UINT16 lengths[2] = {API_HOST, rubbish};
        memcpy(places + i * PLACE, lengths, sizeof lengths);
        array[i] = (VIP_NET_ADDRESS *)(void *)(places + i * PLACE);
    }
    API_CALL(vip, VipQuerySystemManagementInfo, nic, info, &list);
    json_t *result = api_result(vip);
    size_t given = list.NumAdAddrs <= count ? (size_t)list.NumAdAddrs : count;
    if (vip == VIP_SUCCESS)
        json_object_set_new(result, "Addresses", found(places, given));
    json_object_set_new(result, "NumAdAddrs", json_integer((json_int_t)list.NumAdAddrs));
    json_object_set_new(result, "guard", json_boolean(places_stand(places, count)));
    free(places);
    free((void *)array);
    return result;
}
