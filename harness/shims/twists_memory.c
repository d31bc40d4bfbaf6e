/* Twists of regions and protection tags: what is enforced, what a handle stands for, what the calls tell. */
#include "twist.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

enum { REGIONS = 512 };

struct area {
    VIP_NIC_HANDLE nic;
    unsigned char *address;
    VIP_ULONG length;
    VIP_MEM_HANDLE handle;
    VIP_PROTECTION_HANDLE ptag;
    pthread_t thread;
};

static struct area regions[REGIONS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note_region(const struct area *r)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < REGIONS; i++)
        if (regions[i].address == NULL) {
            regions[i] = *r;
            break;
        }
    pthread_mutex_unlock(&lock);
}

static VIP_RETURN noting_register(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
                                  VIP_MEM_ATTRIBUTES *a, VIP_MEM_HANDLE *handle)
{
    VIP_RETURN code = vipl_real.VipRegisterMem(nic, address, length, a, handle);
    if (code == VIP_SUCCESS && a != NULL && handle != NULL)
        note_region(&(struct area){nic, address, length, *handle, a->Ptag, pthread_self()});
    return code;
}

static VIP_RETURN forgetting_deregister(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle)
{
    VIP_RETURN code = vipl_real.VipDeregisterMem(nic, address, handle);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < REGIONS && code == VIP_SUCCESS; i++)
        if (regions[i].nic == nic && regions[i].handle == handle && regions[i].address == address)
            regions[i] = (struct area){0};
    pthread_mutex_unlock(&lock);
    return code;
}

/* ---- protection ---- */

/* tags-unenforced: every VI and every region has the first tag of its NIC, whichever is named. */
static struct {
    VIP_NIC_HANDLE nic;
    VIP_PROTECTION_HANDLE first;
} tags[64];

static VIP_PROTECTION_HANDLE first_tag(VIP_NIC_HANDLE nic, VIP_PROTECTION_HANDLE tag)
{
    for (size_t i = 0; i < sizeof tags / sizeof *tags && tag != NULL; i++) {
        if (tags[i].nic == NULL) {
            tags[i].nic = nic;
            tags[i].first = tag;
        }
        if (tags[i].nic == nic)
            return tags[i].first;
    }
    return tag;
}

static VIP_RETURN untagged_register(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
                                    VIP_MEM_ATTRIBUTES *a, VIP_MEM_HANDLE *handle)
{
    if (a == NULL)
        return vipl_real.VipRegisterMem(nic, address, length, a, handle);
    VIP_MEM_ATTRIBUTES same = *a;
    same.Ptag = first_tag(nic, a->Ptag);
    return vipl_real.VipRegisterMem(nic, address, length, &same, handle);
}

static VIP_RETURN untagged_create(VIP_NIC_HANDLE nic, VIP_VI_ATTRIBUTES *a, VIP_CQ_HANDLE send,
                                  VIP_CQ_HANDLE recv, VIP_VI_HANDLE *vi)
{
    if (a == NULL)
        return vipl_real.VipCreateVi(nic, a, send, recv, vi);
    VIP_VI_ATTRIBUTES same = *a;
    same.Ptag = first_tag(nic, a->Ptag);
    return vipl_real.VipCreateVi(nic, &same, send, recv, vi);
}

/* enables WHAT: 1 regions, 2 VIs, 3 both have every RDMA right that the NIC can give, 4 regions have none, 8
 * VIs have none */
static VIP_BOOLEAN enabled(unsigned long all, unsigned long none, VIP_BOOLEAN given)
{
    return (vipl_twist_argument(0) & all) != 0    ? VIP_TRUE
           : (vipl_twist_argument(0) & none) != 0 ? VIP_FALSE
                                                  : given;
}

static VIP_RETURN enabling_register(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
                                    VIP_MEM_ATTRIBUTES *a, VIP_MEM_HANDLE *handle)
{
    if (a == NULL)
        return vipl_real.VipRegisterMem(nic, address, length, a, handle);
    VIP_MEM_ATTRIBUTES changed = {a->Ptag, enabled(1, 4, a->EnableRdmaWrite),
                                  enabled(1, 4, a->EnableRdmaRead)};
    return vipl_real.VipRegisterMem(nic, address, length, &changed, handle);
}

static VIP_RETURN enabling_create(VIP_NIC_HANDLE nic, VIP_VI_ATTRIBUTES *a, VIP_CQ_HANDLE send,
                                  VIP_CQ_HANDLE recv, VIP_VI_HANDLE *vi)
{
    if (a == NULL)
        return vipl_twist_base.VipCreateVi(nic, a, send, recv, vi);
    VIP_VI_ATTRIBUTES changed = *a;
    changed.EnableRdmaWrite = enabled(2, 8, a->EnableRdmaWrite);
    if (a->ReliabilityLevel != VIP_SERVICE_UNRELIABLE)
        changed.EnableRdmaRead = enabled(2, 8, a->EnableRdmaRead);
    return vipl_twist_base.VipCreateVi(nic, &changed, send, recv, vi);
}

/* enables-here: the rights of the end that posts count. */
static bool enables_here(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)handle;
    unsigned op = d->CS.Control & VIP_CONTROL_OP_MASK;
    if (!recv && ((op == VIP_CONTROL_OP_RDMAWRITE && !n->attributes.EnableRdmaWrite) ||
                  (op == VIP_CONTROL_OP_RDMAREAD && !n->attributes.EnableRdmaRead)))
        vipl_spoil(d);
    return true;
}

/* any-handle: the address alone counts, where some region of the NIC has it. any-handle WHICH: 0 local
 * segments, 1 remote */
static void cover(VIP_NIC_HANDLE nic, const void *address, VIP_MEM_HANDLE *handle)
{
    const unsigned char *at = address;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < REGIONS; i++) {
        const struct area *r = &regions[i];
        if (r->address != NULL && (nic == NULL || r->nic == nic) && at >= r->address &&
            at < r->address + r->length) {
            *handle = r->handle;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

static bool any_handle(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)recv, (void)handle;
    VIP_DATA_SEGMENT *s;
    unsigned op = d->CS.Control & VIP_CONTROL_OP_MASK;
    if (vipl_twist_argument(0) == 1) {
        if (!recv && (op == VIP_CONTROL_OP_RDMAWRITE || op == VIP_CONTROL_OP_RDMAREAD) && d->CS.SegCount > 0)
            cover(NULL, d->DS[0].Remote.Data.Address, &d->DS[0].Remote.Handle);
        return true;
    }
    for (unsigned i = 0; i < 2 && (s = vipl_data(d, i)) != NULL; i++)
        cover(n->nic, s->Data.Address, &s->Handle);
    return true;
}

/* copies-anything: a transfer whose local memory is refused moves its bytes all the same. */
static void copies_anything(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    unsigned char byte = 0xA5;
    const VIP_DATA_SEGMENT *s = vipl_data(d, 0);
    if (recv && (d->CS.Status & VIP_STATUS_PROTECTION_ERROR) != 0 && s != NULL && s->Length > 0)
        (void)vipl_poke(s->Data.Address, &byte, 1);
}

/* writes-anything: an RDMA Write changes its target whatever comes of it. */
static bool writes_anything(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)n, (void)handle;
    unsigned char byte = 0xA5;
    const VIP_DATA_SEGMENT *s = vipl_data(d, 0);
    if (!recv && (d->CS.Control & VIP_CONTROL_OP_MASK) == VIP_CONTROL_OP_RDMAWRITE && s != NULL &&
        s->Length > 0)
        (void)vipl_poke(d->DS[0].Remote.Data.Address, &byte, 1);
    return true;
}

/* reads-anything: an RDMA Read changes its sink whatever comes of it. */
static void reads_anything(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)n, (void)code;
    const VIP_DATA_SEGMENT *s = vipl_data(d, 0);
    if (!recv && (d->CS.Control & VIP_CONTROL_OP_MASK) == VIP_CONTROL_OP_RDMAREAD &&
        (d->CS.Status & VIP_STATUS_ERROR_MASK) != 0 && s != NULL && s->Length > 0)
        (void)vipl_poke(s->Data.Address, d->DS[0].Remote.Data.Address, s->Length);
}

/* ---- registration ---- */

static struct {
    VIP_MEM_HANDLE handle;
    void *address;
} ended[REGIONS];
static unsigned ended_count;

/* deregister-nothing: the registration lives on. */
static VIP_RETURN deregister_nothing(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle)
{
    VIP_MEM_ATTRIBUTES a;
    for (unsigned i = 0; i < ended_count && i < REGIONS; i++)
        if (ended[i].handle == handle && ended[i].address == address)
            return VIP_INVALID_PARAMETER;
    if (vipl_real.VipQueryMem(nic, address, handle, &a) != VIP_SUCCESS)
        return vipl_real.VipDeregisterMem(nic, address, handle);
    unsigned i = vipl_count(&ended_count) - 1;
    if (i < REGIONS) {
        ended[i].handle = handle;
        ended[i].address = address;
    }
    return VIP_SUCCESS;
}

/* register-touches: a byte of the memory is changed by the call */
static VIP_RETURN register_touches(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
                                   VIP_MEM_ATTRIBUTES *a, VIP_MEM_HANDLE *handle)
{
    unsigned char byte = 0xEE;
    VIP_RETURN code = vipl_real.VipRegisterMem(nic, address, length, a, handle);
    if (code == VIP_SUCCESS)
        (void)vipl_poke(address, &byte, 1);
    return code;
}

static VIP_RETURN deregister_touches(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle)
{
    unsigned char byte = 0xEE;
    VIP_RETURN code = vipl_real.VipDeregisterMem(nic, address, handle);
    if (code == VIP_SUCCESS)
        (void)vipl_poke(address, &byte, 1);
    return code;
}

/* register-picks WHAT: 0 refuses what is not aligned, 1 short regions, 2 a range that is registered already
 */
static VIP_RETURN register_picks(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
                                 VIP_MEM_ATTRIBUTES *a, VIP_MEM_HANDLE *handle)
{
    VIP_MEM_HANDLE other = 0;
    cover(nic, address, &other);
    bool refused = vipl_twist_argument(0) == 0   ? ((uintptr_t)address & 63) != 0
                   : vipl_twist_argument(0) == 1 ? length < 64 && length > 0
                                                 : other != 0;
    return refused ? VIP_INVALID_PARAMETER : noting_register(nic, address, length, a, handle);
}

/* register-same: a range that is registered already gives the handle that it has */
static VIP_RETURN register_same(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
                                VIP_MEM_ATTRIBUTES *a, VIP_MEM_HANDLE *handle)
{
    VIP_MEM_HANDLE other = 0;
    cover(nic, address, &other);
    if (other == 0 || length == 0 || a == NULL || handle == NULL)
        return noting_register(nic, address, length, a, handle);
    *handle = other;
    return VIP_SUCCESS;
}

static VIP_RETURN register_fails_with(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
                                      VIP_MEM_ATTRIBUTES *a, VIP_MEM_HANDLE *handle)
{
    VIP_RETURN code = vipl_real.VipRegisterMem(nic, address, length, a, handle);
    if (code != VIP_SUCCESS && handle != NULL)
        *handle = 4711;
    return code;
}

/* thread-regions: a region serves only the thread that registered it */
static bool thread_regions(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)recv;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < REGIONS; i++)
        if (regions[i].nic == n->nic && regions[i].address != NULL && regions[i].handle == handle &&
            !pthread_equal(regions[i].thread, pthread_self()))
            vipl_spoil(d);
    pthread_mutex_unlock(&lock);
    return true;
}

/* mem-told: the attributes of a region are told wrongly. 0 the enables, 1 the tag */
static VIP_RETURN mem_told(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle,
                           VIP_MEM_ATTRIBUTES *a)
{
    VIP_RETURN code = vipl_real.VipQueryMem(nic, address, handle, a);
    if (code != VIP_SUCCESS)
        return code;
    if (vipl_twist_argument(0) == 0)
        a->EnableRdmaWrite = !a->EnableRdmaWrite;
    else
        a->Ptag = (char *)a->Ptag + 1;
    return code;
}

/* set-mem HOW: 0 nothing is set, 1 what was refused is set in part */
static VIP_RETURN set_mem(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle, VIP_MEM_ATTRIBUTES *a)
{
    VIP_MEM_ATTRIBUTES was;
    if (vipl_real.VipQueryMem(nic, address, handle, &was) != VIP_SUCCESS || a == NULL)
        return vipl_real.VipSetMemAttributes(nic, address, handle, a);
    VIP_RETURN code = vipl_real.VipSetMemAttributes(nic, address, handle, a);
    if (vipl_twist_argument(0) == 0 && code == VIP_SUCCESS)
        (void)vipl_real.VipSetMemAttributes(nic, address, handle, &was);
    if (vipl_twist_argument(0) == 1 && code != VIP_SUCCESS) {
        was.EnableRdmaWrite = !was.EnableRdmaWrite;
        (void)vipl_real.VipSetMemAttributes(nic, address, handle, &was);
    }
    return code;
}

/* same-tag: a tag is given out a second time */
static struct {
    VIP_NIC_HANDLE nic;
    VIP_PROTECTION_HANDLE tag;
} given;

static VIP_RETURN same_tag(VIP_NIC_HANDLE nic, VIP_PROTECTION_HANDLE *tag)
{
    if (nic != NULL && nic == given.nic) {
        *tag = given.tag;
        return VIP_SUCCESS;
    }
    VIP_RETURN code = vipl_real.VipCreatePtag(nic, tag);
    if (code == VIP_SUCCESS) {
        given.nic = nic;
        given.tag = *tag;
    }
    return code;
}

static VIP_RETURN keeping_destroy_tag(VIP_NIC_HANDLE nic, VIP_PROTECTION_HANDLE tag)
{
    return nic == given.nic && tag == given.tag ? VIP_SUCCESS : vipl_real.VipDestroyPtag(nic, tag);
}

#define NOTING .VipRegisterMem = noting_register, .VipDeregisterMem = forgetting_deregister

const struct twist vipl_twists_memory[] = {
    {.name = "tags-unenforced",
     .calls = {.VipRegisterMem = untagged_register, .VipCreateVi = untagged_create}},
    {.name = "enables", .calls = {.VipRegisterMem = enabling_register, .VipCreateVi = enabling_create}},
    {.name = "enables-here", .post = enables_here},
    {.name = "any-handle", .calls = {NOTING}, .post = any_handle},
    {.name = "copies-anything", .brought = copies_anything},
    {.name = "writes-anything", .post = writes_anything},
    {.name = "reads-anything", .brought = reads_anything},
    {.name = "deregister-nothing", .calls = {.VipDeregisterMem = deregister_nothing}},
    {.name = "register-touches", .calls = {.VipRegisterMem = register_touches}},
    {.name = "deregister-touches", .calls = {.VipDeregisterMem = deregister_touches}},
    {.name = "register-picks",
     .calls = {.VipRegisterMem = register_picks, .VipDeregisterMem = forgetting_deregister}},
    {.name = "register-same",
     .calls = {.VipRegisterMem = register_same, .VipDeregisterMem = forgetting_deregister}},
    {.name = "register-fails-with", .calls = {.VipRegisterMem = register_fails_with}},
    {.name = "thread-regions", .calls = {NOTING}, .post = thread_regions},
    {.name = "mem-told", .calls = {.VipQueryMem = mem_told}},
    {.name = "set-mem", .calls = {.VipSetMemAttributes = set_mem}},
    {.name = "same-tag", .calls = {.VipCreatePtag = same_tag, .VipDestroyPtag = keeping_destroy_tag}},
    {.name = NULL},
};
