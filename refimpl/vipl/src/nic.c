/* NICs (VI-DG 3.1, 3.7.1). */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum fcvi_vipl_opened (*opener)(const char *device);

void fcvi_vipl_open_by(enum fcvi_vipl_opened (*open)(const char *device))
{
    opener = open;
}

VIP_RETURN VipOpenNic(const VIP_CHAR *DeviceName, VIP_NIC_HANDLE *NicHandle)
{
    if (DeviceName == NULL || NicHandle == NULL)
        return VIP_INVALID_PARAMETER;
    const char *name = strcmp(DeviceName, "VINIC") == 0 ? "VINIC0" : DeviceName;
    struct device *d = vipl_registry_pin_device(name);
    if (d == NULL && opener != NULL && name[0] != '\0') {
        if (opener(name) == FCVI_VIPL_CANNOT)
            return VIP_ERROR_RESOURCE;
        d = vipl_registry_pin_device(name);
    }
    if (d == NULL)
        return VIP_INVALID_PARAMETER;
    vipl_device_lock(d);
    struct nic *nic = calloc(1, sizeof *nic);
    if (nic != NULL) {
        nic->object = (struct object){.kind = KIND_NIC, .device = d, .nic = nic};
        if (!vipl_registry_add(&nic->object)) {
            free(nic);
            nic = NULL;
        }
    }
    if (nic == NULL)
        return vipl_leave(d, VIP_ERROR_RESOURCE);
    nic->next = d->nics;
    d->nics = nic;
    *NicHandle = nic->object.handle;
    return vipl_leave(d, VIP_SUCCESS);
}

/* Nothing of the NIC can be named any more, so calls that wait for it in other threads return. */
static void remove_handles(struct nic *nic)
{
    vipl_registry_remove(&nic->object);
    for (struct vi *vi = nic->vis; vi != NULL; vi = vi->next) {
        vipl_callbacks_cancel(nic->object.device, vi->object.handle, NULL);
        vipl_registry_remove(&vi->object);
    }
    for (struct conn *c = nic->conns; c != NULL; c = c->next)
        vipl_registry_remove(&c->object);
    for (struct cq *cq = nic->cqs; cq != NULL; cq = cq->next) {
        vipl_callbacks_cancel(nic->object.device, NULL, cq->object.handle);
        vipl_registry_remove(&cq->object);
    }
    for (struct ptag *t = nic->ptags; t != NULL; t = t->next)
        vipl_registry_remove(&t->object);
}

static void disconnect_begin(struct vi *vi)
{
    struct device *d = vi->object.device;
    while (vi->teardown != 0 && vipl_wait_step(d, FCVI_NEVER))
        continue;
    uint64_t token = vipl_call_begin(d, &vi->closing, false);
    vi->closing_vip = vi->unanswered
                          ? VIP_SUCCESS
                          : fcvi_vip_disconnect(vipl_device_port(d), vipl_device_now(d), vi->number, token);
}

/* All at once: where nobody answers, each takes its time. */
static void disconnect_all(struct nic *nic)
{
    for (struct vi *vi = nic->vis; vi != NULL; vi = vi->next)
        disconnect_begin(vi);
    for (struct vi *vi = nic->vis; vi != NULL; vi = vi->next) {
        (void)vipl_call_await(vi->object.device, &vi->closing, vi->closing_vip, NULL, VIP_NOT_REACHABLE);
        vipl_queue_collect(vi);
    }
}

/* VI-DG 3.1.2: the provider cleans up. The order is that of the references: VIs before the memory, the
 * protection tags and the Completion Queues that they use. */
void vipl_nic_close(struct nic *nic)
{
    struct device *d = nic->object.device;
    remove_handles(nic);
    disconnect_all(nic);
    while (nic->vis != NULL) {
        (void)fcvi_vip_destroy_vi(vipl_device_port(d), vipl_device_now(d), nic->vis->number);
        vipl_vi_free(nic->vis);
    }
    while (nic->conns != NULL) {
        (void)fcvi_vip_connect_reject(vipl_device_port(d), vipl_device_now(d), nic->conns->number);
        vipl_conn_free(nic->conns);
    }
    for (unsigned i = 0; i < BUCKETS; i++)
        while (nic->bucket[i] != NULL) {
            (void)fcvi_vip_deregister_mem(vipl_device_port(d), vipl_device_now(d), nic->bucket[i]->mem);
            vipl_region_free(nic, nic->bucket[i]);
        }
    while (nic->cqs != NULL)
        vipl_cq_free(nic->cqs);
    while (nic->ptags != NULL)
        vipl_ptag_free(nic->ptags);
    vipl_names_free(nic);
    struct nic **place = &d->nics;
    while (*place != nic)
        place = &(*place)->next;
    *place = nic->next;
    const void *handle = nic->object.handle;
    free(nic);
    vipl_callbacks_await(d, handle);
}

VIP_RETURN VipCloseNic(VIP_NIC_HANDLE NicHandle)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = nic->object.device;
    vipl_nic_close(nic);
    return vipl_leave(d, VIP_SUCCESS);
}

VIP_RETURN VipQueryNic(VIP_NIC_HANDLE NicHandle, VIP_NIC_ATTRIBUTES *NicAttribs)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = nic->object.device;
    if (NicAttribs == NULL)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    const struct fcvi_vipl_nic *i = &d->info;
    memset(NicAttribs, 0, sizeof *NicAttribs);
    snprintf(NicAttribs->Name, sizeof NicAttribs->Name, "%s", d->name);
    NicAttribs->HardwareVersion = i->hardware_version;
    NicAttribs->ProviderVersion = 1;
    NicAttribs->NicAddressLen = HOST_LENGTH;
    NicAttribs->LocalNicAddress = i->host;
    NicAttribs->ThreadSafe = d->ops.lock != NULL ? VIP_TRUE : VIP_FALSE;
    NicAttribs->MaxDiscriminatorLen = i->max_discriminator_length;
    NicAttribs->MaxRegisterBytes = i->max_register_bytes;
    NicAttribs->MaxRegisterRegions = i->max_register_regions;
    NicAttribs->MaxRegisterBlockBytes = i->max_register_block_bytes;
    NicAttribs->MaxVI = i->max_vi;
    NicAttribs->MaxDescriptorsPerQueue = i->max_descriptors_per_queue;
    NicAttribs->MaxSegmentsPerDesc = MAX_SEGMENTS;
    NicAttribs->MaxCQ = i->max_cq;
    NicAttribs->MaxCQEntries = i->max_cq_entries;
    NicAttribs->MaxTransferSize = i->max_transfer_size;
    NicAttribs->NativeMTU = i->native_mtu;
    NicAttribs->MaxPtags = i->max_ptags;
    NicAttribs->ReliabilityLevelSupport = i->reliability_levels;
    NicAttribs->RDMAReadSupport = i->rdma_read_levels;
    return vipl_leave(d, VIP_SUCCESS);
}
