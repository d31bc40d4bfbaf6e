/* Memory: registered as the client says, also wrongly, and looked at from outside the provider. */
#include "../lines/memory.h"
#include "api.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

enum { PAGE = 4096, MOST_PATTERN = 4096 };

enum { TRIES = 64 };

static size_t whole_pages(size_t length)
{
    return (length / PAGE + 1) * PAGE;
}

/* A place of our own choosing, far from where the system puts programs, heaps and stacks. */
unsigned char *region_new(size_t length)
{
    const uintptr_t first = 0x520000000000u, pages = (uintptr_t)1 << 28;
    for (int i = 0; i < TRIES; i++) {
        uintptr_t place;
        if (getrandom(&place, sizeof place, 0) != sizeof place)
            return NULL;
        place = first + place % pages * PAGE;
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

struct wanted {
    size_t length, align;
    const char *pages;
    unsigned char pattern[MOST_PATTERN];
    size_t period;
};

static const char *const kinds[] = {"read-write", "read-only", "unmapped", NULL};

/* New memory with a page of its own before and behind, so that what is aimed beyond it hits nobody's. */
static bool make(const struct wanted *w, struct thing *t)
{
    t->length = w->length;
    t->pages_length = (w->align + w->length + PAGE - 1) / PAGE * PAGE + 2 * (size_t)PAGE;
    t->pages = region_new(t->pages_length);
    if (t->pages == NULL)
        return false;
    t->pages_length = (t->pages_length / PAGE + 1) * PAGE; /* as region_new makes it */
    t->bytes = t->pages + PAGE + w->align;
    t->readable = true;
    for (size_t i = 0; w->period > 0 && i < t->pages_length; i++)
        t->pages[i] = w->pattern[(i + w->period - (PAGE + w->align) % w->period) % w->period];
    if (w->pages == kinds[1])
        mprotect(t->pages, t->pages_length, PROT_READ);
    if (w->pages == kinds[2]) {
        mprotect(t->pages, t->pages_length, PROT_NONE);
        munmap(t->pages, t->pages_length);
        t->pages = NULL;
        t->readable = false;
    }
    return true;
}

/* Where `name` (a place: mem and offset) is, with `length` bytes behind it; NULL with p->why. Under the lock.
 */
static unsigned char *range(struct api *api, struct params *p, size_t length)
{
    const struct thing *t = api_thing(api, p, "mem", KIND_MEM);
    uint64_t offset = params_number(p, "offset", UINT32_MAX, true, 0);
    if (p->why[0] == '\0' && (t == NULL || !t->readable || offset > t->length || length > t->length - offset))
        params_wrong(p, "the range", "inside memory that can be read");
    return p->why[0] == '\0' && t != NULL ? t->bytes + offset : NULL;
}

static bool choose(struct api *api, struct params *p, struct thing *t)
{
    static const size_t most = (size_t)1 << 31;
    struct wanted w = {.pages = kinds[0]};
    w.length = (size_t)params_number(p, "length", most, params_has(p, "of"), 0);
    w.align = (size_t)params_number(p, "align", PAGE - 1, true, 0);
    if (params_has(p, "pages"))
        w.pages = params_choice(p, "pages", kinds);
    if (params_has(p, "fill"))
        w.period = params_hex(p, "fill", w.pattern, 1, sizeof w.pattern);
    if (params_has(p, "of")) {
        struct params of = params_table(p, "of");
        pthread_mutex_lock(&api->lock);
        t->bytes = p->why[0] == '\0' ? range(api, &of, w.length) : NULL;
        pthread_mutex_unlock(&api->lock);
        memcpy(p->why, of.why, sizeof p->why);
        t->length = w.length;
        t->readable = true;
        return p->why[0] == '\0';
    }
    if (p->why[0] != '\0')
        return false;
    pthread_mutex_lock(&api->lock);
    const bool room = api_hold(api, p, w.length, "memory");
    pthread_mutex_unlock(&api->lock);
    if (room && !make(&w, t)) {
        params_no_room(p, "memory");
        pthread_mutex_lock(&api->lock);
        api->held -= w.length;
        pthread_mutex_unlock(&api->lock);
    }
    return p->why[0] == '\0';
}

static VIP_MEM_ATTRIBUTES memory_attributes(struct api *api, struct params *p, size_t nic)
{
    VIP_MEM_ATTRIBUTES m;
    if (params_has(p, "MemAttribs")) {
        struct params table = params_table(p, "MemAttribs");
        memset(&m, 0, sizeof m);
        if (p->why[0] == '\0') {
            m = api_mem_attributes(api, &table, nic);
            memcpy(p->why, table.why, sizeof p->why);
        }
        return m;
    }
    m = api_mem_attributes(api, p, nic);
    if (params_flag(p, "rdma_write"))
        m.EnableRdmaWrite = VIP_TRUE;
    if (params_flag(p, "rdma_read"))
        m.EnableRdmaRead = VIP_TRUE;
    return m;
}

json_t *api_register_mem(struct api *api, struct params *p)
{
    struct thing t = {0};
    VIP_MEM_HANDLE handle;
    VIP_NIC_HANDLE nic;
    VIP_RETURN vip;
    t.nic = api_nic_of(api, p, &nic);
    pthread_mutex_lock(&api->lock);
    VIP_MEM_ATTRIBUTES attributes = memory_attributes(api, p, t.nic);
    pthread_mutex_unlock(&api->lock);
    if (p->why[0] != '\0' || !choose(api, p, &t))
        return NULL;
    memset(&handle, 0xff, sizeof handle);
    API_CALL(vip, VipRegisterMem, nic, t.bytes, (VIP_ULONG)t.length, &attributes, &handle);
    json_t *result = api_result(vip);
    uint64_t value = 0;
    memcpy(&value, &handle, sizeof handle < sizeof value ? sizeof handle : sizeof value);
    t.value = (uintptr_t)value;
    t.open = vip == VIP_SUCCESS;
    pthread_mutex_lock(&api->lock);
    long n = api_add(api, p, KIND_MEM, t); /* also when it failed: its pages go with the reset */
    pthread_mutex_unlock(&api->lock);
    json_object_set_new(result, "handle", json_integer((json_int_t)(value & UINT32_MAX)));
    json_object_set_new(result, "va", api_hex((uintptr_t)t.bytes));
    if (vip == VIP_SUCCESS)
        json_object_set_new(result, "mem", json_integer(n));
    return result;
}

struct named {
    VIP_NIC_HANDLE nic;
    size_t number;
    VIP_PVOID address;
    VIP_MEM_HANDLE handle;
};

/* mem, and in its place or beside it va and handle. */
static bool memory_named(struct api *api, struct params *p, struct named *out)
{
    memset(out, 0, sizeof *out);
    out->number = api_nic_of(api, p, &out->nic);
    pthread_mutex_lock(&api->lock);
    if (json_object_get(p->object, "mem") != NULL) {
        const struct thing *t = api_thing(api, p, "mem", KIND_MEM);
        out->address = t != NULL ? t->bytes : NULL;
        out->handle = (VIP_MEM_HANDLE)(t != NULL ? t->value : 0);
        if (t != NULL && json_object_get(p->object, "nic") == NULL && t->nic < api->things[KIND_NIC].count) {
            out->number = t->nic;
            out->nic = (void *)api->things[KIND_NIC].at[t->nic].value; /* NOLINT(performance-no-int-to-ptr) */
        }
    } else if (!params_has(p, "va") || !params_has(p, "handle")) {
        params_wrong(p, "mem", "given, or va and handle");
    }
    if (params_has(p, "va"))
        out->address = (void *)(uintptr_t)api_hex64(p, "va"); /* NOLINT(performance-no-int-to-ptr) */
    if (params_has(p, "handle"))
        out->handle = (VIP_MEM_HANDLE)params_number(p, "handle", UINT32_MAX, false, 0);
    pthread_mutex_unlock(&api->lock);
    return p->why[0] == '\0';
}

json_t *api_deregister_mem(struct api *api, struct params *p)
{
    struct named n;
    VIP_RETURN vip;
    if (!memory_named(api, p, &n))
        return NULL;
    API_CALL(vip, VipDeregisterMem, n.nic, n.address, n.handle);
    return api_result(vip);
}

json_t *api_query_mem(struct api *api, struct params *p)
{
    VIP_MEM_ATTRIBUTES attributes;
    struct named n;
    VIP_RETURN vip;
    if (!memory_named(api, p, &n))
        return NULL;
    memset(&attributes, 0, sizeof attributes);
    API_CALL(vip, VipQueryMem, n.nic, n.address, n.handle, &attributes);
    json_t *result = api_result(vip);
    if (vip == VIP_SUCCESS) {
        pthread_mutex_lock(&api->lock);
        json_object_set_new(result, "MemAttribs", api_mem_attributes_json(api, &attributes));
        pthread_mutex_unlock(&api->lock);
    }
    return result;
}

json_t *api_set_mem(struct api *api, struct params *p)
{
    struct named n;
    VIP_RETURN vip;
    if (!params_has(p, "MemAttribs"))
        params_wrong(p, "MemAttribs", "an object");
    if (!memory_named(api, p, &n))
        return NULL;
    pthread_mutex_lock(&api->lock);
    VIP_MEM_ATTRIBUTES attributes = memory_attributes(api, p, n.number);
    pthread_mutex_unlock(&api->lock);
    if (p->why[0] != '\0')
        return NULL;
    API_CALL(vip, VipSetMemAttributes, n.nic, n.address, n.handle, &attributes);
    return api_result(vip);
}

void api_release(struct api *api, size_t mem)
{
    pthread_mutex_lock(&api->lock);
    struct thing *t = &api->things[KIND_MEM].at[mem];
    if (t->pages != NULL) {
        munmap(t->pages, t->pages_length);
        api->held -= t->length;
    }
    t->pages = NULL;
    t->readable = t->open = false;
    pthread_mutex_unlock(&api->lock);
}

/* ---- looked at from outside ---- */

json_t *api_mem_read(struct api *api, struct params *p)
{
    size_t length = (size_t)params_number(p, "length", LINE_MOST_BYTES, false, 0);
    pthread_mutex_lock(&api->lock);
    const unsigned char *bytes = range(api, p, length);
    pthread_mutex_unlock(&api->lock);
    return bytes != NULL ? json_pack("{s:o}", "hex", api_bytes(bytes, length)) : NULL;
}

json_t *api_mem_write(struct api *api, struct params *p)
{
    unsigned char data[LINE_MOST_BYTES];
    size_t length = params_hex(p, "hex", data, 0, sizeof data);
    pthread_mutex_lock(&api->lock);
    unsigned char *bytes = range(api, p, length);
    pthread_mutex_unlock(&api->lock);
    if (bytes == NULL)
        return NULL;
    memcpy(bytes, data, length);
    return json_object();
}

/* ---- what the agents have in common ---- */

static unsigned char *range_of(void *context, struct params *p, size_t length, bool to_write)
{
    struct api *api = context;
    (void)to_write;
    pthread_mutex_lock(&api->lock);
    unsigned char *bytes = range(api, p, length);
    pthread_mutex_unlock(&api->lock);
    return bytes;
}

static uint64_t now_us(void *context)
{
    return api_now_us(context);
}

static bool is_ending(void *context)
{
    return ((struct api *)context)->calls.ending;
}

static struct memory_owner owner_of(struct api *api)
{
    return (struct memory_owner){api, range_of, now_us, is_ending};
}

json_t *api_mem_pattern(struct api *api, struct params *p)
{
    const struct memory_owner owner = owner_of(api);
    return memory_pattern(&owner, p);
}

json_t *api_mem_poll(struct api *api, struct params *p)
{
    const struct memory_owner owner = owner_of(api);
    return memory_poll(&owner, p, params_number(p, "Timeout", (1ull << 53) - 1, true, UINT64_MAX / 2));
}
