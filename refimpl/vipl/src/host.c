/* The host's side: devices come and go (fcvi/vipl_host.h). */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* VI-DG 6.5: VINIC is VINIC0. */
static bool canonical(const char *device, char name[DEVICE_NAME])
{
    if (device == NULL || device[0] == '\0' || strlen(device) >= DEVICE_NAME)
        return false;
    snprintf(name, DEVICE_NAME, "%s", strcmp(device, "VINIC") == 0 ? "VINIC0" : device);
    return true;
}

static void take_default(uint32_t *value, uint32_t otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

static bool complete_info(struct fcvi_vipl_nic *i)
{
    if (i->max_discriminator_length == 0)
        i->max_discriminator_length = FCVI_MAX_DISCRIMINATOR;
    if (i->reliability_levels == 0)
        i->reliability_levels =
            VIP_SERVICE_UNRELIABLE | VIP_SERVICE_RELIABLE_DELIVERY | VIP_SERVICE_RELIABLE_RECEPTION;
    take_default(&i->max_register_bytes, 1u << 31);
    take_default(&i->max_register_regions, 1024);
    take_default(&i->max_register_block_bytes, i->max_register_bytes);
    take_default(&i->max_vi, 1024);
    take_default(&i->max_descriptors_per_queue, 1024);
    take_default(&i->max_cq, 1024);
    take_default(&i->max_cq_entries, 65536);
    take_default(&i->max_transfer_size, 32768);
    take_default(&i->native_mtu, 2048);
    take_default(&i->max_ptags, i->max_vi);
    return i->more_host_count <= FCVI_VIPL_MORE_HOSTS &&
           i->max_discriminator_length >= FCVI_MIN_DISCRIMINATOR &&
           i->max_discriminator_length <= FCVI_MAX_DISCRIMINATOR && i->reliability_levels <= 7 &&
           (i->rdma_read_levels & ~i->reliability_levels) == 0 &&
           (i->rdma_read_levels & VIP_SERVICE_UNRELIABLE) == 0; /* VI-ARCH 2.5.1 */
}

static bool copy_names(struct device *d, const struct fcvi_vipl_nic *info)
{
    if (info->name_count == 0)
        return true;
    struct fcvi_vipl_name *names = calloc(info->name_count, sizeof *names);
    d->info.names = names;
    for (size_t i = 0; names != NULL && i < info->name_count; i++) {
        names[i] = info->names[i];
        names[i].name = strdup(info->names[i].name);
        d->info.name_count++;
        if (names[i].name == NULL)
            return false;
    }
    return names != NULL;
}

static bool copy_neighbours(struct device *d, const struct fcvi_vipl_nic *info)
{
    if (info->neighbour_count == 0)
        return true;
    struct fcvi_vipl_neighbour *copy = calloc(info->neighbour_count, sizeof *copy);
    if (copy == NULL)
        return false;
    memcpy(copy, info->neighbours, info->neighbour_count * sizeof *copy);
    d->info.neighbours = copy;
    d->info.neighbour_count = info->neighbour_count;
    return true;
}

static void device_free(struct device *d)
{
    for (size_t i = 0; i < d->info.name_count; i++)
        free((void *)(uintptr_t)d->info.names[i].name);
    free((void *)(uintptr_t)d->info.names);
    free((void *)(uintptr_t)d->info.neighbours);
    vipl_callbacks_free(&d->ready);
    free(d);
}

int fcvi_vipl_attach(const char *device, const struct fcvi_vipl_nic_ops *ops, void *context,
                     const struct fcvi_vipl_nic *info)
{
    char name[DEVICE_NAME];
    if (!canonical(device, name) || ops == NULL || info == NULL || ops->port == NULL || ops->now == NULL ||
        ops->pump == NULL || (ops->lock == NULL) != (ops->unlock == NULL))
        return -1;
    struct device *d = calloc(1, sizeof *d);
    if (d == NULL)
        return -1;
    memcpy(d->name, name, sizeof name);
    d->ops = *ops;
    d->context = context;
    d->info = *info;
    d->info.names = NULL;
    d->info.neighbours = NULL;
    d->info.name_count = d->info.neighbour_count = 0;
    if (!copy_names(d, info) || !copy_neighbours(d, info) || !complete_info(&d->info) ||
        vipl_registry_add_device(d) != 0) {
        device_free(d);
        return -1;
    }
    return 0;
}

int fcvi_vipl_detach(const char *device)
{
    char name[DEVICE_NAME];
    struct device *d = canonical(device, name) ? vipl_registry_take_device(name) : NULL;
    if (d == NULL)
        return -1;
    vipl_device_lock(d);
    while (d->nics != NULL)
        vipl_nic_close(d->nics);
    vipl_device_unlock(d);
    device_free(d);
    return 0;
}

int fcvi_vipl_settle(const char *device)
{
    char name[DEVICE_NAME];
    struct device *d = canonical(device, name) ? vipl_registry_find_device(name) : NULL;
    if (d == NULL)
        return -1;
    d->settled |= vipl_drain(d);
    return 0;
}

int fcvi_vipl_turn(const char *device)
{
    char name[DEVICE_NAME];
    struct device *d = canonical(device, name) ? vipl_registry_pin_device(name) : NULL;
    if (d == NULL)
        return -1;
    vipl_device_lock(d);
    fcvi_port_run(vipl_device_port(d), vipl_device_now(d));
    (void)vipl_drain(d);
    vipl_run_handlers(d);
    (void)vipl_leave(d, 0);
    return 0;
}
