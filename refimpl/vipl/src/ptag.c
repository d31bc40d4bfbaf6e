/* Protection tags (VI-DG 3.4.1, 3.4.2). */
#include "internal.h"

#include <stdlib.h>

struct ptag *vipl_ptag_find(struct nic *nic, const void *handle)
{
    struct ptag *t = vipl_registry_find(handle, KIND_PTAG, nic->object.device);
    return t != NULL && t->object.nic == nic ? t : NULL;
}

void vipl_ptag_free(struct ptag *t)
{
    struct ptag **place = &t->object.nic->ptags;
    while (*place != t)
        place = &(*place)->next;
    *place = t->next;
    t->object.device->ptags--;
    free(t);
}

VIP_RETURN VipCreatePtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE *Ptag)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = nic->object.device;
    if (Ptag == NULL)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    struct ptag *t = d->ptags < d->info.max_ptags ? calloc(1, sizeof *t) : NULL;
    if (t == NULL)
        return vipl_leave(d, VIP_ERROR_RESOURCE);
    t->object = (struct object){.kind = KIND_PTAG, .device = d, .nic = nic};
    if (!vipl_registry_add(&t->object)) {
        free(t);
        return vipl_leave(d, VIP_ERROR_RESOURCE);
    }
    t->number = ++d->next_ptag;
    t->next = nic->ptags;
    nic->ptags = t;
    d->ptags++;
    *Ptag = t->object.handle;
    return vipl_leave(d, VIP_SUCCESS);
}

VIP_RETURN VipDestroyPtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE Ptag)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = nic->object.device;
    struct ptag *t = vipl_ptag_find(nic, Ptag);
    if (t == NULL)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    if (t->users > 0)
        return vipl_leave(d, VIP_ERROR_RESOURCE);
    vipl_registry_remove(&t->object);
    vipl_ptag_free(t);
    return vipl_leave(d, VIP_SUCCESS);
}
