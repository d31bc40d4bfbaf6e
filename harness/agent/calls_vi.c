/* Endpoints and memory. */
#include "agent.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

static const char *const levels[] = {"VIP_SERVICE_UNRELIABLE", "VIP_SERVICE_RELIABLE_DELIVERY",
                                     "VIP_SERVICE_RELIABLE_RECEPTION", NULL};

json_t *attributes_json(const VIP_VI_ATTRIBUTES *v)
{
    bool preference = false;
    uint32_t depth = 0;
    unsigned level = v->ReliabilityLevel == VIP_SERVICE_RELIABLE_RECEPTION ? 2 : v->ReliabilityLevel == 2;
    provider_read_qos(v->QoS, &preference, &depth);
    return json_pack("{s:s, s:I, s:b, s:b, s:{s:I, s:b}}", "ReliabilityLevel", levels[level],
                     "MaxTransferSize", (json_int_t)v->MaxTransferSize, "EnableRdmaWrite", v->EnableRdmaWrite,
                     "EnableRdmaRead", v->EnableRdmaRead, "QoS", "PipelineDepth", (json_int_t)depth,
                     "Preference", (int)preference);
}

static VIP_VI_ATTRIBUTES attributes_of(struct agent *a, struct params *p, bool *preference, uint32_t *depth)
{
    VIP_VI_ATTRIBUTES v = {.Ptag = a->ptag, .ReliabilityLevel = VIP_SERVICE_UNRELIABLE};
    VIP_NIC_ATTRIBUTES nic;
    if (params_has(p, "ReliabilityLevel")) {
        const char *level = params_choice(p, "ReliabilityLevel", levels);
        v.ReliabilityLevel = (VIP_RELIABILITY_LEVEL)(level == levels[2] ? 4 : level == levels[1] ? 2 : 1);
    }
    if (params_has(p, "QoS")) {
        struct params qos = params_table(p, "QoS");
        *preference = params_flag(&qos, "Preference");
        *depth = (uint32_t)params_number(&qos, "PipelineDepth", UINT32_MAX, true, 0);
        if (qos.why[0] != '\0' && p->why[0] == '\0')
            memcpy(p->why, qos.why, sizeof p->why);
    }
    v.MaxTransferSize = (VIP_ULONG)params_number(p, "MaxTransferSize", UINT32_MAX, true, 0);
    if (v.MaxTransferSize == 0 && VipQueryNic(a->nic, &nic) == VIP_SUCCESS)
        v.MaxTransferSize = nic.MaxTransferSize;
    v.EnableRdmaWrite = params_flag(p, "EnableRdmaWrite");
    v.EnableRdmaRead = params_flag(p, "EnableRdmaRead");
    return v;
}

static json_t *created(struct agent *a, struct params *p, VIP_VI_ATTRIBUTES *v)
{
    int n = 0;
    while (n < AGENT_VIS && a->vi[n].used)
        n++;
    if (n == AGENT_VIS) {
        params_no_room(p, "VIs");
        return NULL;
    }
    VIP_VI_HANDLE handle = NULL;
    json_t *result = agent_result(VipCreateVi(a->nic, v, a->cq, a->cq, &handle));
    if (handle == NULL)
        return result;
    pthread_mutex_lock(&a->client.out);
    struct vi *vi = &a->vi[n];
    *vi = (struct vi){.handle = handle, .used = true};
    vi->queue[0].last = &vi->queue[0].first;
    vi->queue[1].last = &vi->queue[1].first;
    pthread_mutex_unlock(&a->client.out);
    json_object_set_new(result, "vi", json_integer(n));
    return result;
}

json_t *call_create_vi(struct agent *a, const json_t *id, struct params *p)
{
    struct provider_qos room;
    struct params table = params_table(p, "ViAttribs");
    bool preference = false;
    uint32_t depth = 0;
    (void)id;
    if (p->why[0] != '\0')
        return NULL;
    VIP_VI_ATTRIBUTES v = attributes_of(a, &table, &preference, &depth);
    memcpy(p->why, table.why, sizeof p->why);
    if (p->why[0] != '\0')
        return NULL;
    if (!provider_qos(&room, preference, depth, &v.QoS))
        return agent_result(VIP_INVALID_QOS);
    return created(a, p, &v);
}

static bool is_empty(const struct vi *vi, bool recv)
{
    return vi->queue[recv].posted == 0 && vi->queue[recv].first == NULL;
}

json_t *call_destroy_vi(struct agent *a, const json_t *id, struct params *p)
{
    (void)id;
    uint64_t n = params_number(p, "vi", INT64_MAX, false, 0);
    if (p->why[0] != '\0')
        return NULL;
    VIP_VI_HANDLE handle = agent_vi(a, n);
    if (handle == NULL)
        return agent_result(VIP_INVALID_PARAMETER);
    if (!is_empty(&a->vi[n], false) || !is_empty(&a->vi[n], true)) /* done, yet not taken by the client */
        return agent_result(VIP_INVALID_STATE);
    VIP_RETURN vip = VipDestroyVi(handle);
    if (vip == VIP_SUCCESS) {
        pthread_mutex_lock(&a->client.out);
        a->vi[n] = (struct vi){0};
        pthread_mutex_unlock(&a->client.out);
    }
    return agent_result(vip);
}

json_t *call_query_vi(struct agent *a, const json_t *id, struct params *p)
{
    static const char *const states[][2] = {{"idle", "VIP_STATE_IDLE"},
                                            {"connected", "VIP_STATE_CONNECTED"},
                                            {"pending-connect", "VIP_STATE_CONNECT_PENDING"},
                                            {"error", "VIP_STATE_ERROR"}};
    (void)id;
    uint64_t n = params_number(p, "vi", INT64_MAX, false, 0);
    VIP_VI_HANDLE handle = agent_vi(a, n);
    VIP_VI_STATE state = VIP_STATE_IDLE;
    VIP_VI_ATTRIBUTES v;
    VIP_BOOLEAN send, recv;
    memset(&v, 0, sizeof v);
    VIP_RETURN vip = handle == NULL ? VIP_INVALID_PARAMETER : VipQueryVi(handle, &state, &v, &send, &recv);
    json_t *result = agent_result(vip);
    if (vip != VIP_SUCCESS || (unsigned)state > VIP_STATE_ERROR)
        return result;
    json_object_set_new(result, "state", json_string(states[state][0]));
    json_object_set_new(result, "State", json_string(states[state][1]));
    json_object_set_new(result, "ViAttribs", attributes_json(&v));
    json_object_set_new(result, "ViSendQEmpty", json_boolean(is_empty(&a->vi[n], false)));
    json_object_set_new(result, "ViRecvQEmpty", json_boolean(is_empty(&a->vi[n], true)));
    return result;
}

/* ---- memory ---- */

enum { ALIGNMENT = 4096, TRIES = 64 };

static size_t whole_pages(size_t length)
{
    return (length / ALIGNMENT + 1) * ALIGNMENT;
}

/* A place of our own choosing, far from where the system puts programs, heaps and stacks. */
unsigned char *region_new(size_t length)
{
    const uintptr_t first = 0x520000000000u, pages = (uintptr_t)1 << 28;
    for (int i = 0; i < TRIES; i++) {
        uintptr_t place;
        if (getrandom(&place, sizeof place, 0) != sizeof place)
            return NULL;
        place = first + place % pages * ALIGNMENT;
        void *got = mmap((void *)place, whole_pages(length),
                         PROT_READ | PROT_WRITE, /* NOLINT: an address by number */
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == (void *)place) /* NOLINT */
            return got;
        if (got != MAP_FAILED)
            munmap(got, whole_pages(length));
    }
    return NULL;
}

void region_free(unsigned char *bytes, size_t length)
{
    if (bytes != NULL)
        munmap(bytes, whole_pages(length));
}

static void fill(unsigned char *bytes, size_t length, const unsigned char *pattern, size_t period)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = pattern[i % period];
}

json_t *call_register_mem(struct agent *a, const json_t *id, struct params *p)
{
    unsigned char pattern[4096];
    int n = 0;
    (void)id;
    size_t length = (size_t)params_number(p, "length", UINT32_MAX, false, 0);
    VIP_MEM_ATTRIBUTES attributes = {a->ptag, params_flag(p, "rdma_write"), params_flag(p, "rdma_read")};
    size_t period = params_has(p, "fill") ? params_hex(p, "fill", pattern, 1, sizeof pattern) : 0;
    if (p->why[0] != '\0')
        return NULL;
    while (n < AGENT_REGIONS && a->region[n].bytes != NULL)
        n++;
    struct region *r = &a->region[n];
    bool fits = n < AGENT_REGIONS && length <= AGENT_MOST_MEMORY - a->memory;
    unsigned char *bytes = fits ? region_new(length) : NULL;
    if (bytes == NULL) {
        params_no_room(p, "registered memory");
        return NULL;
    }
    if (period > 0)
        fill(bytes, whole_pages(length), pattern, period);
    VIP_MEM_HANDLE handle = 0;
    VIP_RETURN vip = VipRegisterMem(a->nic, bytes, (VIP_ULONG)length, &attributes, &handle);
    json_t *result = agent_result(vip);
    if (vip != VIP_SUCCESS) {
        region_free(bytes, length);
        return result;
    }
    *r = (struct region){bytes, handle, (uint32_t)length};
    a->memory += length;
    json_object_set_new(result, "mem", json_integer(n));
    json_object_set_new(result, "va", json_sprintf("%016llx", (unsigned long long)(uintptr_t)bytes));
    json_object_set_new(result, "handle", json_integer(handle));
    return result;
}

json_t *call_deregister_mem(struct agent *a, const json_t *id, struct params *p)
{
    (void)id;
    uint64_t n = params_number(p, "mem", INT64_MAX, false, 0);
    if (p->why[0] != '\0')
        return NULL;
    if (n >= AGENT_REGIONS || a->region[n].bytes == NULL)
        return agent_result(VIP_INVALID_PARAMETER);
    VIP_RETURN vip = VipDeregisterMem(a->nic, a->region[n].bytes, a->region[n].handle);
    if (vip == VIP_SUCCESS) {
        region_free(a->region[n].bytes, a->region[n].length);
        a->memory -= a->region[n].length;
        a->region[n] = (struct region){0};
    }
    return agent_result(vip);
}

static unsigned char *range(struct agent *a, struct params *p, size_t length)
{
    uint64_t n = params_number(p, "mem", INT64_MAX, false, 0),
             offset = params_number(p, "offset", UINT32_MAX, true, 0);
    if (n >= AGENT_REGIONS || a->region[n].bytes == NULL || offset + length > a->region[n].length)
        params_wrong(p, "the range", "inside a region");
    return p->why[0] == '\0' ? a->region[n].bytes + offset : NULL;
}

json_t *call_mem_read(struct agent *a, const json_t *id, struct params *p)
{
    static const char digits[] = "0123456789abcdef";
    (void)id;
    size_t length = (size_t)params_number(p, "length", LINE_MOST_BYTES, false, 0);
    const unsigned char *bytes = range(a, p, length);
    char *text = bytes != NULL ? malloc(2 * length + 1) : NULL;
    if (text == NULL)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    json_t *result = json_pack("{s:s%}", "hex", text, 2 * length);
    free(text);
    return result;
}

json_t *call_mem_write(struct agent *a, const json_t *id, struct params *p)
{
    unsigned char data[LINE_MOST_BYTES];
    (void)id;
    size_t length = params_hex(p, "hex", data, 0, sizeof data);
    unsigned char *bytes = range(a, p, length);
    if (bytes == NULL)
        return NULL;
    memcpy(bytes, data, length);
    return json_object();
}
