/* The devices and the handles of the process: the only state that does not belong to a NIC. VIPL names a NIC
 * by a string and everything else by handles that stand alone, so one table has to know them all. A handle
 * is a slot and a serial number that is never used again, so that a stale one is found out without a look at
 * memory that may be gone. */
#include "internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOT_BITS = 20, SLOT_MASK = (1 << SLOT_BITS) - 1 };

struct slot {
    uintptr_t handle; /* 0: free */
    struct object *object;
    struct device *device; /* as in the object, which may be read under the lock of its device only */
    enum kind kind;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct device *devices;
    struct slot *slots;
    size_t count, used;
    uintptr_t serial;
} registry;

static const struct slot *slot_find(const void *handle, enum kind kind)
{
    size_t at = (uintptr_t)handle & SLOT_MASK; /* slots count from 1: NULL is no handle */
    if (at == 0 || at > registry.count)
        return NULL;
    const struct slot *s = &registry.slots[at - 1];
    return s->handle == (uintptr_t)handle && s->kind == kind ? s : NULL;
}

static bool grow(void)
{
    size_t count = registry.count == 0 ? 64 : 2 * registry.count;
    struct slot *slots = count < SLOT_MASK ? realloc(registry.slots, count * sizeof *slots) : NULL;
    if (slots == NULL)
        return false;
    memset(slots + registry.count, 0, (count - registry.count) * sizeof *slots);
    registry.slots = slots;
    registry.count = count;
    return true;
}

/* Give the object a handle; object->kind and ->device are set. */
bool vipl_registry_add(struct object *object)
{
    pthread_mutex_lock(&mutex);
    bool room = registry.used < registry.count || grow();
    if (room) {
        size_t at = 0;
        while (registry.slots[at].handle != 0)
            at++;
        uintptr_t handle = ++registry.serial << SLOT_BITS | (at + 1);
        registry.slots[at] = (struct slot){handle, object, object->device, object->kind};
        registry.used++;
        object->handle = (void *)handle; /* NOLINT(performance-no-int-to-ptr): VIPL handles are pointers */
    }
    pthread_mutex_unlock(&mutex);
    return room;
}

static void free_unused(void)
{
    if (registry.used > 0 || registry.devices != NULL)
        return;
    free(registry.slots);
    registry.slots = NULL;
    registry.count = 0;
}

void vipl_registry_remove(struct object *object)
{
    pthread_mutex_lock(&mutex);
    size_t at = (uintptr_t)object->handle & SLOT_MASK;
    if (at != 0 && registry.slots[at - 1].handle == (uintptr_t)object->handle) {
        registry.slots[at - 1].handle = 0;
        registry.used--;
    }
    free_unused();
    pthread_mutex_unlock(&mutex);
}

void *vipl_registry_find(const void *handle, enum kind kind, const struct device *device)
{
    pthread_mutex_lock(&mutex);
    const struct slot *s = slot_find(handle, kind);
    void *object = s != NULL && s->device == device ? s->object : NULL;
    pthread_mutex_unlock(&mutex);
    return object;
}

/* The device of a live handle, which stays until registry_unpin. */
struct device *vipl_registry_pin(const void *handle, enum kind kind)
{
    pthread_mutex_lock(&mutex);
    const struct slot *s = slot_find(handle, kind);
    struct device *device = s != NULL ? s->device : NULL;
    if (device != NULL)
        device->pins++;
    pthread_mutex_unlock(&mutex);
    return device;
}

void vipl_registry_unpin(struct device *device)
{
    pthread_mutex_lock(&mutex);
    device->pins--;
    pthread_mutex_unlock(&mutex);
}

static struct device **place_of(const char *name)
{
    struct device **d = &registry.devices;
    while (*d != NULL && strcmp((*d)->name, name) != 0)
        d = &(*d)->next;
    return d;
}

int vipl_registry_add_device(struct device *device)
{
    pthread_mutex_lock(&mutex);
    struct device **place = place_of(device->name);
    int result = *place == NULL ? 0 : -1;
    if (result == 0)
        *place = device;
    pthread_mutex_unlock(&mutex);
    return result;
}

/* With the lock of the device held, or it may go. */
struct device *vipl_registry_find_device(const char *name)
{
    pthread_mutex_lock(&mutex);
    struct device *device = *place_of(name);
    pthread_mutex_unlock(&mutex);
    return device;
}

struct device *vipl_registry_pin_device(const char *name)
{
    pthread_mutex_lock(&mutex);
    struct device *device = *place_of(name);
    if (device != NULL)
        device->pins++;
    pthread_mutex_unlock(&mutex);
    return device;
}

/* Take a device that no call uses out of the registry. */
struct device *vipl_registry_take_device(const char *name)
{
    pthread_mutex_lock(&mutex);
    struct device **place = place_of(name), *device = *place;
    if (device != NULL && device->pins == 0)
        *place = device->next;
    else
        device = NULL;
    free_unused();
    pthread_mutex_unlock(&mutex);
    return device;
}

void fcvi_vipl_fork(enum fcvi_vipl_forking when)
{
    if (when == FCVI_VIPL_BEFORE_FORK)
        pthread_mutex_lock(&mutex);
    else if (when == FCVI_VIPL_PARENT)
        pthread_mutex_unlock(&mutex);
    else {
        pthread_mutex_init(&mutex, NULL);
        for (size_t i = 0; i < registry.count; i++)
            registry.slots[i].handle = 0;
        registry.used = 0;
        registry.devices = NULL;
    }
}
