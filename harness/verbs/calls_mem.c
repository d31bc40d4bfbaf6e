/* Memory, looked at from outside the provider. */
#include "../lines/memory.h"
#include "agent.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, MOST_PATTERN = 4096 };

static const char *const kinds[] = {"read-write", "read-only", NULL};

/* Half of what the machine has, and 1 GiB at most. */
static size_t most_memory(void)
{
    const size_t most = (size_t)1 << 30;
    long pages = sysconf(_SC_PHYS_PAGES);
    size_t half = pages > 0 ? (size_t)pages * PAGE / 2 : most;
    return half < most ? half : most;
}

static bool hold(struct verbs *v, struct params *p, size_t length)
{
    pthread_mutex_lock(&v->lock);
    bool room = length <= most_memory() - v->memory;
    if (room)
        v->memory += length;
    pthread_mutex_unlock(&v->lock);
    if (!room)
        params_no_room(p, "memory");
    return room;
}

static void give_back(struct verbs *v, size_t length)
{
    pthread_mutex_lock(&v->lock);
    v->memory -= length;
    pthread_mutex_unlock(&v->lock);
}

/* A page before and one behind that nobody may touch: what is aimed there hits nobody's memory. */
static bool make(struct thing *t, size_t align, const unsigned char *pattern, size_t period)
{
    size_t inner = (align + t->length + PAGE - 1) / PAGE * PAGE;
    t->pages_length = inner + 2 * (size_t)PAGE;
    t->pages = mmap(NULL, t->pages_length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t->pages == MAP_FAILED) {
        t->pages = NULL;
        return false;
    }
    unsigned char *bytes = t->pages + PAGE + align;
    if (inner > 0 && mprotect(t->pages + PAGE, inner, PROT_READ | PROT_WRITE) != 0)
        return false;
    for (size_t i = 0; i < t->length; i++)
        bytes[i] = pattern[i % period];
    return !t->read_only || inner == 0 || mprotect(t->pages + PAGE, inner, PROT_READ) == 0;
}

json_t *verb_mem_new(struct verbs *v, struct params *p)
{
    struct outcome o;
    unsigned char pattern[MOST_PATTERN] = {0};
    size_t period = 1;
    size_t length = (size_t)params_number(p, "length", (size_t)1 << 30, false, 0);
    size_t align = (size_t)params_number(p, "align", PAGE - 1, true, 0);
    const char *pages = params_has(p, "pages") ? params_choice(p, "pages", kinds) : kinds[0];
    if (params_has(p, "fill"))
        period = params_hex(p, "fill", pattern, 1, sizeof pattern);
    const size_t cost = length + 3 * (size_t)PAGE;
    if (p->why[0] != '\0' || !hold(v, p, cost))
        return NULL;
    struct thing *t = things_new(v, p, KIND_MEM);
    if (t == NULL) {
        give_back(v, cost);
        return NULL;
    }
    t->length = length;
    t->read_only = pages == kinds[1];
    outcome_begin(&o);
    if (!make(t, align, pattern, period)) {
        if (t->pages != NULL)
            munmap(t->pages, t->pages_length);
        things_forget(v, t);
        give_back(v, cost);
        params_no_room(p, "memory");
        return NULL;
    }
    outcome_int(&o, 0);
    json_t *result = outcome_json(&o);
    unsigned char *bytes = t->pages + PAGE + align;
    json_object_set_new(result, "mem", things_publish(v, t, bytes));
    json_object_set_new(result, "va", verbs_hex64((uintptr_t)bytes));
    return result;
}

/* Where a place is, with `length` bytes behind it; NULL with p->why. Memory stays until the reset. */
static unsigned char *range(struct verbs *v, struct params *p, size_t length, bool to_write)
{
    struct thing *t = things_take(v, p, "mem", KIND_MEM);
    uint64_t offset = params_number(p, "offset", UINT32_MAX, true, 0);
    unsigned char *at = NULL;
    if (t != NULL && p->why[0] == '\0' && (offset > t->length || length > t->length - offset))
        params_wrong(p, "the range", "inside the memory");
    if (t != NULL && p->why[0] == '\0' && to_write && t->read_only)
        params_wrong(p, "mem", "memory that can be written to");
    if (t != NULL && p->why[0] == '\0')
        at = t->bytes + offset;
    things_drop(v, t);
    return at;
}

json_t *verb_mem_read(struct verbs *v, struct params *p)
{
    size_t length = (size_t)params_number(p, "length", LINE_MOST_BYTES, false, 0);
    const unsigned char *bytes = p->why[0] == '\0' ? range(v, p, length, false) : NULL;
    return bytes != NULL ? json_pack("{s:o}", "hex", verbs_bytes(bytes, length)) : NULL;
}

json_t *verb_mem_write(struct verbs *v, struct params *p)
{
    unsigned char data[LINE_MOST_BYTES];
    size_t length = params_hex(p, "hex", data, 0, sizeof data);
    unsigned char *bytes = p->why[0] == '\0' ? range(v, p, length, true) : NULL;
    if (bytes == NULL)
        return NULL;
    memcpy(bytes, data, length);
    return json_object();
}

/* ---- what the agents have in common ---- */

static unsigned char *range_of(void *context, struct params *p, size_t length, bool to_write)
{
    return range(context, p, length, to_write);
}

static uint64_t now_us(void *context)
{
    (void)context;
    return verbs_now_us();
}

static bool is_ending(void *context)
{
    return ((const struct verbs *)context)->calls.ending;
}

static struct memory_owner owner_of(struct verbs *v)
{
    return (struct memory_owner){v, range_of, now_us, is_ending};
}

json_t *verb_mem_pattern(struct verbs *v, struct params *p)
{
    const struct memory_owner owner = owner_of(v);
    return memory_pattern(&owner, p);
}

json_t *verb_mem_poll(struct verbs *v, struct params *p)
{
    const struct memory_owner owner = owner_of(v);
    return memory_poll(&owner, p, params_timeout(p, 0));
}
