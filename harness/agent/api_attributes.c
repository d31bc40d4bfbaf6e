/* Attributes and addresses as the protocol has them, and back. */
#include "api.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned value;
} levels[] = {{"VIP_SERVICE_UNRELIABLE", VIP_SERVICE_UNRELIABLE},
              {"VIP_SERVICE_RELIABLE_DELIVERY", VIP_SERVICE_RELIABLE_DELIVERY},
              {"VIP_SERVICE_RELIABLE_RECEPTION", VIP_SERVICE_RELIABLE_RECEPTION}};
enum { LEVELS = sizeof levels / sizeof *levels };

static json_t *level_json(unsigned value)
{
    for (size_t i = 0; i < LEVELS; i++)
        if (levels[i].value == value)
            return json_string(levels[i].name);
    return json_sprintf("VIP_SERVICE_%u", value);
}

json_t *api_levels(unsigned bits)
{
    json_t *list = json_array();
    for (unsigned bit = 1; bit != 0 && bit <= 1u << 15; bit <<= 1)
        if ((bits & bit) != 0)
            json_array_append_new(list, level_json(bit));
    return list;
}

static VIP_RELIABILITY_LEVEL level_of(struct params *p)
{
    const json_t *value = json_object_get(p->object, "ReliabilityLevel");
    if (value == NULL || json_is_null(value))
        return VIP_SERVICE_UNRELIABLE;
    if (json_is_integer(value))
        return (VIP_RELIABILITY_LEVEL)params_number(p, "ReliabilityLevel", UINT16_MAX, false, 0);
    for (size_t i = 0; i < LEVELS && json_is_string(value); i++)
        if (strcmp(levels[i].name, json_string_value(value)) == 0)
            return (VIP_RELIABILITY_LEVEL)levels[i].value;
    params_wrong(p, "ReliabilityLevel", "a VIP_SERVICE_ name or a number");
    return 0;
}

static VIP_PROTECTION_HANDLE ptag_of(struct api *api, struct params *p, size_t nic)
{
    if (json_object_get(p->object, "Ptag") != NULL)
        return api_handle(api, p, "Ptag", KIND_PTAG);
    return (void *)api_newest_ptag(api, nic); /* NOLINT(performance-no-int-to-ptr) */
}

VIP_VI_ATTRIBUTES api_attributes(struct api *api, struct params *p, size_t nic, struct provider_qos *room)
{
    VIP_VI_ATTRIBUTES v;
    bool preference = false;
    uint32_t depth = 0;
    memset(&v, 0, sizeof v);
    v.ReliabilityLevel = level_of(p);
    v.Ptag = ptag_of(api, p, nic);
    v.MaxTransferSize = nic < api->things[KIND_NIC].count ? api->things[KIND_NIC].at[nic].transfer : 0;
    if (params_has(p, "MaxTransferSize"))
        v.MaxTransferSize = (VIP_ULONG)params_number(p, "MaxTransferSize", INT64_MAX, false, 0);
    v.EnableRdmaWrite = params_flag(p, "EnableRdmaWrite") ? VIP_TRUE : VIP_FALSE;
    v.EnableRdmaRead = params_flag(p, "EnableRdmaRead") ? VIP_TRUE : VIP_FALSE;
    if (params_has(p, "QoS")) {
        struct params qos = params_table(p, "QoS");
        preference = params_flag(&qos, "Preference");
        depth = (uint32_t)params_number(&qos, "PipelineDepth", UINT32_MAX, true, 0);
        if (qos.why[0] != '\0' && p->why[0] == '\0')
            memcpy(p->why, qos.why, sizeof p->why);
        if (!provider_qos(room, preference, depth, &v.QoS))
            params_wrong(p, "QoS", "null: the meaning of this provider's QoS is not known to the agent");
    }
    return v;
}

json_t *api_attributes_json(struct api *api, const VIP_VI_ATTRIBUTES *v)
{
    bool preference = false;
    uint32_t depth = 0;
    json_t *qos = json_null();
    if (v->QoS != NULL) {
        provider_read_qos(v->QoS, &preference, &depth);
        qos = json_pack("{s:I, s:b}", "PipelineDepth", (json_int_t)depth, "Preference", (int)preference);
    }
    return json_pack("{s:o, s:I, s:b, s:b, s:o, s:o}", "ReliabilityLevel", level_json(v->ReliabilityLevel),
                     "MaxTransferSize", (json_int_t)v->MaxTransferSize, "EnableRdmaWrite",
                     (int)(v->EnableRdmaWrite != 0), "EnableRdmaRead", (int)(v->EnableRdmaRead != 0), "QoS",
                     qos, "Ptag", api_number_of(api, KIND_PTAG, (uintptr_t)v->Ptag));
}

VIP_MEM_ATTRIBUTES api_mem_attributes(struct api *api, struct params *p, size_t nic)
{
    VIP_MEM_ATTRIBUTES m;
    memset(&m, 0, sizeof m);
    m.Ptag = ptag_of(api, p, nic);
    m.EnableRdmaWrite = params_flag(p, "EnableRdmaWrite") ? VIP_TRUE : VIP_FALSE;
    m.EnableRdmaRead = params_flag(p, "EnableRdmaRead") ? VIP_TRUE : VIP_FALSE;
    return m;
}

json_t *api_mem_attributes_json(struct api *api, const VIP_MEM_ATTRIBUTES *m)
{
    return json_pack("{s:o, s:b, s:b}", "Ptag", api_number_of(api, KIND_PTAG, (uintptr_t)m->Ptag),
                     "EnableRdmaWrite", (int)(m->EnableRdmaWrite != 0), "EnableRdmaRead",
                     (int)(m->EnableRdmaRead != 0));
}

bool api_address(struct params *p, const char *name, union api_address *out)
{
    unsigned char host[API_HOST], discriminator[API_DISCRIMINATOR];
    struct params table = params_table(p, name);
    memset(out, 0, sizeof *out);
    if (p->why[0] != '\0')
        return false;
    size_t hosts = params_hex(&table, "host", host, 0, sizeof host);
    size_t length = params_hex(&table, "discriminator", discriminator, 0, sizeof discriminator);
    memcpy(p->why, table.why, sizeof p->why);
    if (p->why[0] != '\0')
        return false;
    out->net.HostAddressLen = (VIP_UINT16)hosts;
    out->net.DiscriminatorLen = (VIP_UINT16)length;
    memcpy(out->bytes + API_HEAD, host, hosts);
    memcpy(out->bytes + API_HEAD + hosts, discriminator, length);
    return true;
}

json_t *api_address_json(const union api_address *u)
{
    size_t host = u->net.HostAddressLen <= API_HOST ? u->net.HostAddressLen : API_HOST;
    size_t length =
        u->net.DiscriminatorLen <= API_DISCRIMINATOR ? u->net.DiscriminatorLen : API_DISCRIMINATOR;
    return json_pack("{s:o, s:o}", "host", api_bytes(u->bytes + API_HEAD, host), "discriminator",
                     api_bytes(u->bytes + API_HEAD + host, length));
}

bool api_guard_stands(const unsigned char *at, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (at[i] != API_GUARD_BYTE)
            return false;
    return true;
}
