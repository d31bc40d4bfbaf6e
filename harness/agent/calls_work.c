/* Descriptors: built in a registered pool, posted, and taken off their queues when they are done. */
#include "agent.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1024, SLOT = 32 + 16 * (AGENT_SEGMENTS + 1), SLOT_SIZE = (SLOT + 63) / 64 * 64 };

struct slot {
    bool used;
};

static bool pool_begin(struct agent *a)
{
    VIP_MEM_ATTRIBUTES attributes = {a->ptag, VIP_FALSE, VIP_FALSE};
    if (a->pool != NULL)
        return true;
    a->pool = aligned_alloc(64, (size_t)SLOTS * SLOT_SIZE);
    a->slots = calloc(SLOTS, sizeof *a->slots);
    if (a->pool != NULL && a->slots != NULL &&
        VipRegisterMem(a->nic, a->pool, (VIP_ULONG)SLOTS * SLOT_SIZE, &attributes, &a->pool_handle) ==
            VIP_SUCCESS) {
        a->slot_count = SLOTS;
        return true;
    }
    free(a->pool);
    free(a->slots);
    a->pool = NULL;
    a->slots = NULL;
    return false;
}

static VIP_DESCRIPTOR *slot_take(struct agent *a)
{
    for (size_t i = 0; i < a->slot_count; i++)
        if (!a->slots[i].used) {
            a->slots[i].used = true;
            return memset(a->pool + i * SLOT_SIZE, 0, SLOT_SIZE);
        }
    return NULL;
}

static void slot_free(struct agent *a, const VIP_DESCRIPTOR *d)
{
    size_t offset = (size_t)((const unsigned char *)d - a->pool);
    if (offset / SLOT_SIZE < a->slot_count)
        a->slots[offset / SLOT_SIZE].used = false;
}

/* A mem that does not exist becomes a handle that VIPL refuses. */
static void add_segment(struct agent *a, VIP_DESCRIPTOR *d, struct params *s)
{
    uint64_t mem = params_number(s, "mem", INT64_MAX, false, 0),
             offset = params_number(s, "offset", UINT32_MAX, true, 0);
    VIP_UINT32 length = (VIP_UINT32)params_number(s, "length", UINT32_MAX, false, 0);
    bool known = mem < AGENT_REGIONS && a->region[mem].bytes != NULL;
    VIP_DATA_SEGMENT *segment = &(&d->DS[0])[d->CS.SegCount++].Local;
    segment->Data.AddressBits = (known ? (uintptr_t)a->region[mem].bytes : 0) + offset;
    segment->Handle = known ? a->region[mem].handle : UINT32_MAX;
    segment->Length = length;
    d->CS.Length += length;
}

static void add_remote(VIP_DESCRIPTOR *d, struct params *p)
{
    unsigned char va[8] = {0};
    VIP_ADDRESS_SEGMENT *segment = &d->DS[d->CS.SegCount++].Remote;
    if (!params_has(p, "remote"))
        return;
    struct params remote = params_table(p, "remote");
    if (p->why[0] == '\0')
        params_hex(&remote, "va", va, 8, 8);
    for (int i = 0; i < 8; i++)
        segment->Data.AddressBits = segment->Data.AddressBits << 8 | va[i];
    segment->Handle = (VIP_MEM_HANDLE)params_number(&remote, "handle", UINT32_MAX, false, 0);
    if (p->why[0] == '\0')
        memcpy(p->why, remote.why, sizeof p->why);
}

static void build(struct agent *a, VIP_DESCRIPTOR *d, struct params *p)
{
    static const char *const ops[] = {"send", "rdma-write", "rdma-read", "recv", NULL};
    const char *op = params_choice(p, "op", ops);
    const json_t *segments = json_object_get(p->object, "segments");
    if (!json_is_array(segments) || json_array_size(segments) > AGENT_SEGMENTS)
        params_wrong(p, "segments", "an array of at most 252 objects");
    if (op == ops[1] || op == ops[2]) {
        d->CS.Control = op == ops[1] ? VIP_CONTROL_OP_RDMAWRITE : VIP_CONTROL_OP_RDMAREAD;
        add_remote(d, p);
    }
    for (size_t i = 0; p->why[0] == '\0' && i < json_array_size(segments); i++) {
        struct params segment = {.object = json_array_get(segments, i)};
        add_segment(a, d, &segment);
        memcpy(p->why, segment.why, sizeof p->why);
    }
    if (params_has(p, "immediate")) {
        d->CS.Control |= VIP_CONTROL_IMMEDIATE;
        d->CS.ImmediateData = (VIP_UINT32)params_number(p, "immediate", UINT32_MAX, false, 0);
    }
}

VIP_RETURN pool_post(struct agent *a, struct vi *vi, bool recv, struct params *p)
{
    VIP_DESCRIPTOR *d = a->done < AGENT_MOST_DONE && pool_begin(a) ? slot_take(a) : NULL;
    if (d == NULL) {
        params_no_room(p, "Descriptors");
        return VIP_ERROR_RESOURCE; /* which nobody is told */
    }
    build(a, d, p);
    VIP_RETURN vip = VIP_INVALID_PARAMETER;
    if (p->why[0] == '\0') {
        vi->queue[recv].posted++;
        vip = recv ? VipPostRecv(vi->handle, d, a->pool_handle) : VipPostSend(vi->handle, d, a->pool_handle);
    }
    if (vip != VIP_SUCCESS) {
        if (p->why[0] == '\0')
            vi->queue[recv].posted--;
        slot_free(a, d);
    }
    return vip;
}

bool pool_take(struct agent *a, struct vi *vi, bool recv, struct done *out)
{
    VIP_DESCRIPTOR *d = NULL;
    VIP_RETURN vip = recv ? VipRecvDone(vi->handle, &d) : VipSendDone(vi->handle, &d);
    if ((vip != VIP_SUCCESS && vip != VIP_DESCRIPTOR_ERROR) || d == NULL)
        return false;
    *out = (struct done){.status = d->CS.Status, .length = d->CS.Length, .immediate = d->CS.ImmediateData};
    slot_free(a, d);
    vi->queue[recv].posted -= vi->queue[recv].posted > 0;
    return true;
}

void done_forget(struct queue *q)
{
    while (q->first != NULL) {
        struct done *d = q->first;
        q->first = d->next;
        free(d);
    }
}

json_t *done_json(const struct done *d)
{
    static const char *const bits[] = {"DONE",
                                       "FORMAT_ERROR",
                                       "PROTECTION_ERROR",
                                       "LENGTH_ERROR",
                                       "PARTIAL_ERROR",
                                       "DESC_FLUSHED_ERROR",
                                       "TRANSPORT_ERROR",
                                       "RDMA_PROT_ERROR",
                                       "REMOTE_DESC_ERROR"};
    static const char *const ops[] = {
        "", "OP_RECEIVE", "OP_RDMA_WRITE", "OP_REMOTE_RDMA_WRITE", "OP_RDMA_READ", "", "", ""};
    json_t *status = json_array();
    for (unsigned i = 0; i < sizeof bits / sizeof *bits; i++)
        if (d->status >> i & 1)
            json_array_append_new(status, json_sprintf("VIP_STATUS_%s", bits[i]));
    if ((d->status & VIP_STATUS_IMMEDIATE) != 0)
        json_array_append_new(status, json_string("VIP_STATUS_IMMEDIATE"));
    if (ops[d->status >> 16 & 7][0] != '\0')
        json_array_append_new(status, json_sprintf("VIP_STATUS_%s", ops[d->status >> 16 & 7]));
    json_t *immediate = (d->status & VIP_STATUS_IMMEDIATE) != 0 ? json_integer(d->immediate) : json_null();
    return json_pack("{s:o, s:I, s:o}", "status", status, "length", (json_int_t)d->length, "immediate",
                     immediate);
}

static json_t *post(struct agent *a, struct params *p, bool recv)
{
    uint64_t n = params_number(p, "vi", INT64_MAX, false, 0);
    struct params descriptor = params_table(p, "descriptor");
    if (p->why[0] != '\0')
        return NULL;
    if (agent_vi(a, n) == NULL)
        return agent_result(VIP_INVALID_PARAMETER);
    VIP_RETURN vip = pool_post(a, &a->vi[n], recv, &descriptor);
    memcpy(p->why, descriptor.why, sizeof p->why);
    return p->why[0] == '\0' ? agent_result(vip) : NULL;
}

json_t *call_post_send(struct agent *a, const json_t *id, struct params *p)
{
    (void)id;
    return post(a, p, false);
}

json_t *call_post_recv(struct agent *a, const json_t *id, struct params *p)
{
    (void)id;
    return post(a, p, true);
}

static json_t *take_done(struct agent *a, struct params *p, bool recv)
{
    uint64_t n = params_number(p, "vi", INT64_MAX, false, 0);
    if (p->why[0] != '\0')
        return NULL;
    if (agent_vi(a, n) == NULL)
        return agent_result(VIP_INVALID_PARAMETER);
    struct queue *q = &a->vi[n].queue[recv];
    struct done *d = q->first;
    json_t *result =
        agent_result(d == NULL && q->posted > 0                              ? VIP_NOT_DONE
                     : d == NULL || (d->status & VIP_STATUS_ERROR_MASK) != 0 ? VIP_DESCRIPTOR_ERROR
                                                                             : VIP_SUCCESS);
    if (d == NULL && q->posted > 0)
        return result;
    json_object_set_new(result, "DescriptorPtr", d != NULL ? done_json(d) : json_null());
    if (d != NULL) {
        q->first = d->next;
        if (q->first == NULL)
            q->last = &q->first;
        free(d);
        a->done--;
    }
    return result;
}

json_t *call_send_done(struct agent *a, const json_t *id, struct params *p)
{
    (void)id;
    return take_done(a, p, false);
}

json_t *call_recv_done(struct agent *a, const json_t *id, struct params *p)
{
    (void)id;
    return take_done(a, p, true);
}
