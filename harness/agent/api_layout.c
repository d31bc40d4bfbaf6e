/* What the agent's vipl.h declares (VI-DG 4), and how the agent is. */
#include "api.h"
#include "vipl_has.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void add_sizes(json_t *o)
{
#define SIZE(type) json_object_set_new(o, #type, json_integer((json_int_t)sizeof(type)))
    SIZE(VIP_PVOID);
    SIZE(VIP_BOOLEAN);
    SIZE(VIP_CHAR);
    SIZE(VIP_UCHAR);
    SIZE(VIP_USHORT);
    SIZE(VIP_ULONG);
    SIZE(VIP_UINT64);
    SIZE(VIP_UINT32);
    SIZE(VIP_UINT16);
    SIZE(VIP_UINT8);
    SIZE(VIP_MEM_HANDLE);
    SIZE(VIP_PVOID64);
    SIZE(VIP_CONTROL_SEGMENT);
    SIZE(VIP_ADDRESS_SEGMENT);
    SIZE(VIP_DATA_SEGMENT);
    SIZE(VIP_DESCRIPTOR_SEGMENT);
    SIZE(VIP_DESCRIPTOR);
    SIZE(VIP_ERROR_DESCRIPTOR);
    SIZE(VIP_NIC_ATTRIBUTES);
    SIZE(VIP_VI_ATTRIBUTES);
    SIZE(VIP_MEM_ATTRIBUTES);
    SIZE(VIP_NET_ADDRESS);
    SIZE(VIP_AUTODISCOVERY_LIST);
    SIZE(VIP_RELIABILITY_LEVEL);
#undef SIZE
}

#define PLACE(type, member)                                                                                  \
    json_pack("[I, I]", (json_int_t)offsetof(type, member), (json_int_t)sizeof(((type *)0)->member))
#define MEMBER(type, member) json_object_set_new(o, #type "." #member, PLACE(type, member))

static void add_descriptors(json_t *o)
{
    MEMBER(VIP_CONTROL_SEGMENT, Next);
    MEMBER(VIP_CONTROL_SEGMENT, NextHandle);
    MEMBER(VIP_CONTROL_SEGMENT, SegCount);
    MEMBER(VIP_CONTROL_SEGMENT, Control);
    MEMBER(VIP_CONTROL_SEGMENT, Reserved);
    MEMBER(VIP_CONTROL_SEGMENT, ImmediateData);
    MEMBER(VIP_CONTROL_SEGMENT, Length);
    MEMBER(VIP_CONTROL_SEGMENT, Status);
    MEMBER(VIP_ADDRESS_SEGMENT, Data);
    MEMBER(VIP_ADDRESS_SEGMENT, Handle);
    MEMBER(VIP_ADDRESS_SEGMENT, Reserved);
    MEMBER(VIP_DATA_SEGMENT, Data);
    MEMBER(VIP_DATA_SEGMENT, Handle);
    MEMBER(VIP_DATA_SEGMENT, Length);
    json_object_set_new(o, "VIP_DESCRIPTOR.CS", PLACE(VIP_DESCRIPTOR, VIPL_CS));
    json_object_set_new(o, "VIP_DESCRIPTOR.DS", PLACE(VIP_DESCRIPTOR, VIPL_DS));
    MEMBER(VIP_ERROR_DESCRIPTOR, NicHandle);
    MEMBER(VIP_ERROR_DESCRIPTOR, ViHandle);
    MEMBER(VIP_ERROR_DESCRIPTOR, CQHandle);
    MEMBER(VIP_ERROR_DESCRIPTOR, DescriptorPtr); /* NOLINT(bugprone-sizeof-expression): of the pointer */
    MEMBER(VIP_ERROR_DESCRIPTOR, OpCode);
    MEMBER(VIP_ERROR_DESCRIPTOR, ResourceCode);
    MEMBER(VIP_ERROR_DESCRIPTOR, ErrorCode);
    MEMBER(VIP_NET_ADDRESS, HostAddressLen);
    MEMBER(VIP_NET_ADDRESS, DiscriminatorLen);
    MEMBER(VIP_NET_ADDRESS, HostAddress);
}

static void add_attributes(json_t *o)
{
    MEMBER(VIP_VI_ATTRIBUTES, ReliabilityLevel);
    MEMBER(VIP_VI_ATTRIBUTES, MaxTransferSize);
    MEMBER(VIP_VI_ATTRIBUTES, QoS);
    MEMBER(VIP_VI_ATTRIBUTES, Ptag);
    MEMBER(VIP_VI_ATTRIBUTES, EnableRdmaWrite);
    MEMBER(VIP_VI_ATTRIBUTES, EnableRdmaRead);
    MEMBER(VIP_MEM_ATTRIBUTES, Ptag);
    MEMBER(VIP_MEM_ATTRIBUTES, EnableRdmaWrite);
    MEMBER(VIP_MEM_ATTRIBUTES, EnableRdmaRead);
    MEMBER(VIP_NIC_ATTRIBUTES, Name);
    MEMBER(VIP_NIC_ATTRIBUTES, HardwareVersion);
    MEMBER(VIP_NIC_ATTRIBUTES, ProviderVersion);
    MEMBER(VIP_NIC_ATTRIBUTES, NicAddressLen);
    MEMBER(VIP_NIC_ATTRIBUTES, LocalNicAddress);
    MEMBER(VIP_NIC_ATTRIBUTES, ThreadSafe);
    MEMBER(VIP_NIC_ATTRIBUTES, MaxDiscriminatorLen);
    MEMBER(VIP_NIC_ATTRIBUTES, MaxRegisterBytes);
    MEMBER(VIP_NIC_ATTRIBUTES, MaxRegisterRegions);
    MEMBER(VIP_NIC_ATTRIBUTES, MaxRegisterBlockBytes);
    MEMBER(VIP_NIC_ATTRIBUTES, MaxVI);
    MEMBER(VIP_NIC_ATTRIBUTES, MaxDescriptorsPerQueue);
    MEMBER(VIP_NIC_ATTRIBUTES, MaxSegmentsPerDesc);
    MEMBER(VIP_NIC_ATTRIBUTES, MaxCQ);
    MEMBER(VIP_NIC_ATTRIBUTES, MaxCQEntries);
    MEMBER(VIP_NIC_ATTRIBUTES, MaxTransferSize);
    MEMBER(VIP_NIC_ATTRIBUTES, NativeMTU);
    MEMBER(VIP_NIC_ATTRIBUTES, MaxPtags);
    MEMBER(VIP_NIC_ATTRIBUTES, ReliabilityLevelSupport);
    MEMBER(VIP_NIC_ATTRIBUTES, RDMAReadSupport);
}

static void add_constants(json_t *o, json_t *missing)
{
#define NAME(name) json_object_set_new(o, #name, json_integer((json_int_t)(name)));
#define LACKS(name) json_array_append_new(missing, json_string(#name));
    (void)missing;
    VIPL_CONSTANTS
#undef NAME
#undef LACKS
}

json_t *api_layout(struct api *api, struct params *p)
{
    (void)api, (void)p;
    json_t *sizes = json_object(), *members = json_object(), *constants = json_object(),
           *missing = json_array();
    add_sizes(sizes);
    add_descriptors(members);
    add_attributes(members);
    add_constants(constants, missing);
    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I}", "sizes", sizes, "members", members, "constants",
                     constants, "missing", missing, "pagesize", (json_int_t)sysconf(_SC_PAGESIZE),
                     "processors", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
}

/* NULL when the provider said something that has no name here. */
json_t *api_result(VIP_RETURN vip)
{
#define NAME(name)                                                                                           \
    if ((long)vip == (long)(name))                                                                           \
        return json_pack("{s:s}", "return", #name);
#define LACKS(name)
    VIPL_RETURNS
#undef NAME
#undef LACKS
    char words[32];
    snprintf(words, sizeof words, "VIP_CODE_%lu", (unsigned long)vip);
    return json_pack("{s:s}", "return", words);
}

/* A line of /proc/self/status; 0 when there is none. */
static json_int_t status_of(const char *name)
{
    char line[256];
    long long value = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            (void)sscanf(line + strlen(name), "%lld", &value); /* NOLINT(cert-err34-c) */
    if (file != NULL)
        fclose(file);
    return value;
}

json_t *api_state(struct api *api, struct params *p)
{
    (void)p;
    pthread_mutex_lock(&api->lock);
    json_int_t posted = (json_int_t)api->outstanding;
    pthread_mutex_unlock(&api->lock);
    return json_pack("{s:I, s:I, s:I}", "threads", status_of("Threads:"), "memory",
                     status_of("VmRSS:") * 1024, "posted", posted);
}

json_t *api_devices(struct api *api, struct params *p)
{
    json_t *devices = json_array();
    (void)p;
    for (size_t i = 0; i < api->a->device_count; i++)
        json_array_append_new(devices, json_string(api->a->devices[i]));
    return json_pack("{s:o}", "devices", devices);
}

/* What is below the NICs is the provider's or the lab's. */
json_t *api_inject(struct api *api, struct params *p)
{
    static const char *const faults[] = {"nothing", "lose", "corrupt", "cut", "link-down", "link-up", NULL};
    (void)api;
    const char *fault = params_choice(p, "fault", faults);
    uint64_t from = params_number(p, "from", 1, true, 0);
    if (fault == NULL || p->why[0] != '\0')
        return NULL;
    int hits = provider_inject(fault, from);
    return json_pack("{s:b, s:o}", "done", hits >= 0, "hits", hits >= 0 ? json_integer(hits) : json_null());
}
