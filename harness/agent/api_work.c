/* Descriptors: built as the client says or raw, posted, and told as they come back. */
#include "api.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 64, SLOT = 4096, CONTROL = 32, SEGMENT = 16 };

/* ---- places for those that name none ---- */

/* Memory of the agent's own on the NIC and under the tag of the VI. With the lock held but for the call. */
static struct pool *pool_new(struct api *api, const struct thing *vi)
{
    struct pool *pool = calloc(1, sizeof *pool);
    VIP_MEM_ATTRIBUTES attributes;
    if (pool == NULL)
        return NULL;
    memset(&attributes, 0, sizeof attributes);
    attributes.Ptag = (void *)vi->ptag;                          /* NOLINT(performance-no-int-to-ptr) */
    void *nic = (void *)api->things[KIND_NIC].at[vi->nic].value; /* NOLINT(performance-no-int-to-ptr) */
    pool->nic = vi->nic;
    pool->ptag = vi->ptag;
    pool->bytes = region_new((size_t)SLOTS * SLOT);
    pthread_mutex_unlock(&api->lock);
    bool good = pool->bytes != NULL && VipRegisterMem(nic, pool->bytes, (VIP_ULONG)SLOTS * SLOT, &attributes,
                                                      &pool->handle) == VIP_SUCCESS;
    pthread_mutex_lock(&api->lock);
    if (good) {
        pool->next = api->pools;
        api->pools = pool;
        return pool;
    }
    region_free(pool->bytes, (size_t)SLOTS * SLOT);
    free(pool);
    return NULL;
}

static struct pool *slot_take(struct api *api, const struct thing *vi, int *slot)
{
    for (struct pool *pool = api->pools; pool != NULL; pool = pool->next)
        for (int i = 0; pool->nic == vi->nic && pool->ptag == vi->ptag && i < SLOTS; i++)
            if (!pool->used[i]) {
                pool->used[i] = true;
                *slot = i;
                return pool;
            }
    struct pool *pool = vi->nic < api->things[KIND_NIC].count ? pool_new(api, vi) : NULL;
    if (pool != NULL)
        pool->used[ *slot = 0] = true;
    return pool;
}

/* ---- building ---- */

static void segment_of(struct api *api, struct params *s, VIP_DESCRIPTOR_SEGMENT *out)
{
    memset(out, 0, sizeof *out);
    uint64_t offset = params_number(s, "offset", UINT32_MAX, true, 0);
    if (params_has(s, "mem")) {
        const struct thing *t = api_thing(api, s, "mem", KIND_MEM);
        if (t != NULL) {
            out->Local.Data.AddressBits = (uintptr_t)t->bytes + offset;
            out->Local.Handle = (VIP_MEM_HANDLE)t->value;
        }
    } else if (!params_has(s, "va")) {
        params_wrong(s, "a segment", "an object with mem, or with va and handle");
    }
    if (params_has(s, "va"))
        out->Local.Data.AddressBits = api_hex64(s, "va");
    if (params_has(s, "handle"))
        out->Local.Handle = (VIP_MEM_HANDLE)params_number(s, "handle", UINT32_MAX, false, 0);
    out->Local.Length = (VIP_UINT32)params_number(s, "length", UINT32_MAX, false, 0);
}

struct built {
    VIP_CONTROL_SEGMENT control;
    VIP_DESCRIPTOR_SEGMENT segment[API_SEGMENTS + 1];
    size_t segments;
};

static void remote_of(struct params *p, VIP_DESCRIPTOR_SEGMENT *out)
{
    memset(out, 0, sizeof *out);
    if (!params_has(p, "remote"))
        return;
    struct params remote = params_table(p, "remote");
    if (p->why[0] != '\0')
        return;
    out->Remote.Data.AddressBits = api_hex64(&remote, "va");
    out->Remote.Handle = (VIP_MEM_HANDLE)params_number(&remote, "handle", UINT32_MAX, false, 0);
    memcpy(p->why, remote.why, sizeof p->why);
}

/* What the case says the fields hold, whatever would follow from the rest. */
static void overrides(struct params *p, VIP_CONTROL_SEGMENT *c)
{
#define FIELD(name, type, most)                                                                              \
    if (params_has(p, #name))                                                                                \
    c->name = (type)params_number(p, #name, most, false, 0)
    FIELD(Control, VIP_UINT16, UINT16_MAX);
    FIELD(SegCount, VIP_UINT16, UINT16_MAX);
    FIELD(Length, VIP_UINT32, UINT32_MAX);
    FIELD(Status, VIP_UINT32, UINT32_MAX);
    FIELD(Reserved, VIP_UINT32, UINT32_MAX);
    FIELD(ImmediateData, VIP_UINT32, UINT32_MAX);
    FIELD(NextHandle, VIP_MEM_HANDLE, UINT32_MAX);
#undef FIELD
    if (params_has(p, "Next"))
        c->Next.AddressBits = api_hex64(p, "Next");
}

static void build(struct api *api, struct params *p, struct built *b)
{
    static const char *const ops[] = {"send", "rdma-write", "rdma-read", "recv", NULL};
    const char *op = params_choice(p, "op", ops);
    const json_t *segments = json_object_get(p->object, "segments");
    memset(&b->control, 0, sizeof b->control);
    b->segments = 0;
    if (!json_is_array(segments) || json_array_size(segments) > API_SEGMENTS)
        params_wrong(p, "segments", "an array of at most 1024 objects");
    if (op == ops[1] || op == ops[2]) {
        b->control.Control = op == ops[1] ? VIP_CONTROL_OP_RDMAWRITE : VIP_CONTROL_OP_RDMAREAD;
        remote_of(p, &b->segment[b->segments++]);
    }
    for (size_t i = 0; p->why[0] == '\0' && i < json_array_size(segments); i++) {
        struct params segment = {.object = json_array_get(segments, i)};
        segment_of(api, &segment, &b->segment[b->segments]);
        b->control.Length += b->segment[b->segments++].Local.Length;
        memcpy(p->why, segment.why, sizeof p->why);
    }
    if (params_has(p, "immediate")) {
        b->control.Control |= VIP_CONTROL_IMMEDIATE;
        b->control.ImmediateData = (VIP_UINT32)params_number(p, "immediate", UINT32_MAX, false, 0);
    }
    if (params_flag(p, "fence"))
        b->control.Control |= VIP_CONTROL_QFENCE;
    b->control.SegCount = (VIP_UINT16)b->segments;
    overrides(p, &b->control);
}

/* ---- what is under way ---- */

static struct posted *remember(struct api *api, struct params *p, const void *va, size_t bytes)
{
    struct posted *d = api_hold(api, p, sizeof *d, "Descriptors") ? calloc(1, sizeof *d) : NULL;
    if (d == NULL)
        return NULL;
    *d = (struct posted){.number = api->descriptors++, .va = (uintptr_t)va, .bytes = bytes, .slot = -1};
    d->earlier = api->latest;
    api->latest = d;
    d->next_out = api->out;
    if (api->out != NULL)
        api->out->previous_out = d;
    api->out = d;
    api->outstanding++;
    return d;
}

static void take_out(struct api *api, struct posted *d)
{
    if (d->back)
        return;
    d->back = true;
    if (d->previous_out != NULL)
        d->previous_out->next_out = d->next_out;
    else
        api->out = d->next_out;
    if (d->next_out != NULL)
        d->next_out->previous_out = d->previous_out;
    api->outstanding--;
    if (d->slot >= 0)
        d->pool->used[d->slot] = false;
    if (api->control == NULL)
        return;
    struct posted **place = &api->latest; /* nobody asks for it again */
    while (*place != d)
        place = &(*place)->earlier;
    *place = d->earlier;
    api->held -= sizeof *d;
    free(d);
}

/* The oldest that is under way at this address; else the newest that ever was, with *again. */
static struct posted *recall(struct api *api, const void *va, bool *again)
{
    struct posted *found = NULL;
    for (struct posted *d = api->out; d != NULL; d = d->next_out)
        if (d->va == (uintptr_t)va)
            found = d;
    *again = found == NULL;
    for (struct posted *d = api->latest; found == NULL && d != NULL; d = d->earlier)
        if (d->va == (uintptr_t)va)
            found = d;
    return found;
}

static json_t *status_json(VIP_UINT32 status)
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
        "", "OP_RECEIVE", "OP_RDMA_WRITE", "OP_REMOTE_RDMA_WRITE", "OP_RDMA_READ", "OP_5", "OP_6", "OP_7"};
    json_t *list = json_array();
    for (unsigned i = 0; i < sizeof bits / sizeof *bits; i++)
        if (status >> i & 1)
            json_array_append_new(list, json_sprintf("VIP_STATUS_%s", bits[i]));
    if ((status & VIP_STATUS_IMMEDIATE) != 0)
        json_array_append_new(list, json_string("VIP_STATUS_IMMEDIATE"));
    if (ops[status >> 16 & 7][0] != '\0')
        json_array_append_new(list, json_sprintf("VIP_STATUS_%s", ops[status >> 16 & 7]));
    return list;
}

json_t *api_done_json(struct api *api, const VIP_DESCRIPTOR *d)
{
    VIP_CONTROL_SEGMENT control;
    bool again = false;
    if (d == NULL)
        return json_null();
    pthread_mutex_lock(&api->lock);
    struct posted *known = recall(api, d, &again);
    size_t bytes = known != NULL ? known->bytes : 0;
    json_t *said = json_pack("{s:o, s:o}", "descriptor",
                             known != NULL ? json_integer((json_int_t)known->number) : json_null(), "va",
                             api_hex((uintptr_t)d));
    if (known != NULL && again)
        json_object_set_new(said, "again", json_true());
    if (bytes >= sizeof control) {
        memcpy(&control, d, sizeof control);
        json_object_set_new(said, "status", status_json(control.Status));
        json_object_set_new(said, "Status", json_integer((json_int_t)control.Status));
        json_object_set_new(said, "length", json_integer((json_int_t)control.Length));
        json_object_set_new(said, "immediate",
                            (control.Status & VIP_STATUS_IMMEDIATE) != 0
                                ? json_integer((json_int_t)control.ImmediateData)
                                : json_null());
        json_object_set_new(said, "hex", api_bytes((const unsigned char *)d, bytes));
    }
    if (known != NULL && !again)
        take_out(api, known);
    pthread_mutex_unlock(&api->lock);
    return said;
}

/* ---- posting ---- */

static json_t *hand_over(struct api *api, VIP_VI_HANDLE vi, bool recv, struct posted *d,
                         VIP_MEM_HANDLE memory)
{
    VIP_DESCRIPTOR *at = (VIP_DESCRIPTOR *)d->va; /* NOLINT(performance-no-int-to-ptr) */
    uint64_t number = d->number;
    VIP_RETURN vip;
    if (recv)
        API_CALL(vip, VipPostRecv, vi, at, memory);
    else
        API_CALL(vip, VipPostSend, vi, at, memory);
    json_t *result = api_result(vip);
    if (vip == VIP_SUCCESS) {
        json_object_set_new(result, "descriptor", json_integer((json_int_t)number));
        return result;
    }
    pthread_mutex_lock(&api->lock);
    take_out(api, d);
    pthread_mutex_unlock(&api->lock);
    return result;
}

/* Where the Descriptor goes: a place of the case's, or one of a pool. With the lock held. */
static unsigned char *place_of(struct api *api, struct params *p, const struct thing *vi, size_t size,
                               VIP_MEM_HANDLE *memory, struct pool **pool, int *slot)
{
    *pool = NULL;
    *slot = -1;
    if (params_has(p, "at")) {
        struct params at = params_table(p, "at");
        const struct thing *t = p->why[0] == '\0' ? api_thing(api, &at, "mem", KIND_MEM) : NULL;
        uint64_t offset = params_number(&at, "offset", UINT32_MAX, true, 0);
        memcpy(p->why, at.why, sizeof p->why);
        if (p->why[0] == '\0' && (t == NULL || !t->readable || offset + size > t->length))
            params_wrong(p, "at", "room for the Descriptor");
        *memory = t != NULL ? (VIP_MEM_HANDLE)t->value : 0;
        return p->why[0] == '\0' && t != NULL ? t->bytes + offset : NULL;
    }
    if (size > SLOT) {
        params_wrong(p, "at", "given for a Descriptor of so many segments");
        return NULL;
    }
    const struct thing copy = *vi;
    *pool = slot_take(api, &copy, slot);
    if (*pool == NULL) {
        params_no_room(p, "Descriptors");
        return NULL;
    }
    *memory = (*pool)->handle;
    return (*pool)->bytes + (size_t)*slot * SLOT;
}

static json_t *post(struct api *api, struct params *p, bool recv)
{
    struct params table = params_table(p, "descriptor");
    VIP_MEM_HANDLE memory = 0;
    struct pool *pool = NULL;
    struct posted *d = NULL;
    int slot = -1;
    struct built *b = p->why[0] == '\0' ? malloc(sizeof *b) : NULL;
    if (b == NULL)
        return NULL;
    pthread_mutex_lock(&api->lock);
    const struct thing *t = api_thing(api, p, "vi", KIND_VI);
    const struct thing vi = t != NULL ? *t : (struct thing){.ptag = api_newest_ptag(api, 0)};
    build(api, &table, b);
    size_t size = CONTROL + b->segments * SEGMENT;
    unsigned char *at = NULL;
    if (p->why[0] == '\0' && table.why[0] == '\0')
        at = place_of(api, &table, &vi, size, &memory, &pool, &slot);
    if (at != NULL) {
        memcpy(at, &b->control, CONTROL);
        memcpy(at + CONTROL, b->segment, b->segments * SEGMENT);
        d = remember(api, &table, at, size);
        if (d != NULL) {
            d->pool = pool;
            d->slot = slot;
        } else if (pool != NULL) {
            pool->used[slot] = false;
        }
    }
    pthread_mutex_unlock(&api->lock);
    free(b);
    if (p->why[0] == '\0') {
        memcpy(p->why, table.why, sizeof p->why);
        p->room = table.room;
    }
    if (d == NULL)
        return NULL;
    return hand_over(api, (void *)vi.value, recv, d, memory); /* NOLINT(performance-no-int-to-ptr) */
}

json_t *api_post_send(struct api *api, struct params *p)
{
    return post(api, p, false);
}

json_t *api_post_recv(struct api *api, struct params *p)
{
    return post(api, p, true);
}

/* The bytes that the client put there are the Descriptor, whatever they are. */
static json_t *post_raw(struct api *api, struct params *p, bool recv)
{
    VIP_MEM_HANDLE memory = 0;
    uintptr_t va = 0;
    size_t bytes = 0;
    struct posted *d = NULL;
    pthread_mutex_lock(&api->lock);
    VIP_VI_HANDLE vi = api_handle(api, p, "vi", KIND_VI);
    if (params_has(p, "mem")) {
        const struct thing *t = api_thing(api, p, "mem", KIND_MEM);
        uint64_t offset = params_number(p, "offset", UINT32_MAX, true, 0);
        if (t != NULL) {
            va = (uintptr_t)t->bytes + offset;
            memory = (VIP_MEM_HANDLE)t->value;
            bytes = t->readable && offset < t->length ? t->length - offset : 0;
        }
    } else if (!params_has(p, "va")) {
        params_wrong(p, "mem", "given, or va and handle");
    }
    if (params_has(p, "va")) {
        va = (uintptr_t)api_hex64(p, "va");
        bytes = 0;
    }
    if (params_has(p, "handle"))
        memory = (VIP_MEM_HANDLE)params_number(p, "handle", UINT32_MAX, false, 0);
    if (p->why[0] == '\0') {
        if (bytes >= CONTROL) { /* as many segments as there are, where they are there */
            VIP_UINT16 count;
            memcpy(&count, (const unsigned char *)va + offsetof(VIP_CONTROL_SEGMENT, SegCount), /* NOLINT */
                   sizeof count);
            size_t size = CONTROL + (size_t)count * SEGMENT;
            bytes = size <= bytes && count <= API_SEGMENTS ? size : CONTROL;
        } else {
            bytes = 0;
        }
        d = remember(api, p, (const void *)va, bytes); /* NOLINT(performance-no-int-to-ptr) */
    }
    pthread_mutex_unlock(&api->lock);
    return d != NULL ? hand_over(api, vi, recv, d, memory) : NULL;
}

json_t *api_post_send_raw(struct api *api, struct params *p)
{
    return post_raw(api, p, false);
}

json_t *api_post_recv_raw(struct api *api, struct params *p)
{
    return post_raw(api, p, true);
}

/* ---- taking ---- */

static json_t *taken(struct api *api, struct params *p, bool recv, bool waits)
{
    VIP_VI_HANDLE vi = api_handle_of(api, p, "vi", KIND_VI);
    VIP_ULONG timeout = waits ? api_timeout(p) : 0;
    VIP_DESCRIPTOR *d = NULL;
    VIP_RETURN vip;
    if (p->why[0] != '\0')
        return NULL;
    if (waits && recv)
        API_CALL(vip, VipRecvWait, vi, timeout, &d);
    else if (waits)
        API_CALL(vip, VipSendWait, vi, timeout, &d);
    else if (recv)
        API_CALL(vip, VipRecvDone, vi, &d);
    else
        API_CALL(vip, VipSendDone, vi, &d);
    json_t *result = api_result(vip);
    if (vip == VIP_SUCCESS || vip == VIP_DESCRIPTOR_ERROR)
        json_object_set_new(result, "DescriptorPtr", api_done_json(api, d));
    return result;
}

json_t *api_send_done(struct api *api, struct params *p)
{
    return taken(api, p, false, false);
}

json_t *api_recv_done(struct api *api, struct params *p)
{
    return taken(api, p, true, false);
}

json_t *api_send_wait(struct api *api, struct params *p)
{
    return taken(api, p, false, true);
}

json_t *api_recv_wait(struct api *api, struct params *p)
{
    return taken(api, p, true, true);
}

void api_free_work(struct api *api)
{
    while (api->latest != NULL) {
        struct posted *d = api->latest;
        api->latest = d->earlier;
        free(d);
    }
    while (api->pools != NULL) {
        struct pool *pool = api->pools;
        api->pools = pool->next;
        region_free(pool->bytes, (size_t)SLOTS * SLOT);
        free(pool);
    }
}
