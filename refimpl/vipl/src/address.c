/* VIP_NET_ADDRESS (VI-DG 4.9) as the port has it, and back. */
#include "internal.h"

#include <stddef.h>
#include <string.h>

/* The bytes after the two lengths, as many as the lengths say. */
uint8_t *vipl_address_host(VIP_NET_ADDRESS *a)
{
    return (uint8_t *)a + offsetof(VIP_NET_ADDRESS, HostAddress);
}

bool vipl_address_in(const struct nic *nic, const VIP_NET_ADDRESS *in, struct fcvi_address *out)
{
    if (in == NULL || in->HostAddressLen != HOST_LENGTH ||
        (in->DiscriminatorLen < FCVI_MIN_DISCRIMINATOR && /* 7.2: no shorter one fits the wire of FC */
         !nic->object.device->info.short_discriminators && !nic->object.device->info.padded_discriminators) ||
        in->DiscriminatorLen > nic->object.device->info.max_discriminator_length)
        return false;
    const uint8_t *bytes = (const uint8_t *)in + offsetof(VIP_NET_ADDRESS, HostAddress);
    *out = (struct fcvi_address){.discriminator_length = (uint8_t)in->DiscriminatorLen};
    memcpy(out->host, bytes, HOST_LENGTH);
    memcpy(out->discriminator, bytes + HOST_LENGTH, in->DiscriminatorLen);
    if (nic->object.device->info.padded_discriminators && out->discriminator_length < FCVI_MIN_DISCRIMINATOR)
        out->discriminator_length = FCVI_MIN_DISCRIMINATOR; /* zeros behind it */
    return true;
}

/* VI-DG 3.3: the host portion of a LocalAddr has to be that of the NIC. An FC-VI port may have several (4.2).
 */
bool vipl_address_is_own(const struct nic *nic, const struct fcvi_address *a)
{
    const struct fcvi_vipl_nic *info = &nic->object.device->info;
    bool own = memcmp(a->host, info->host, HOST_LENGTH) == 0;
    for (uint32_t i = 0; i < info->more_host_count; i++)
        own |= memcmp(a->host, info->more_hosts[i], HOST_LENGTH) == 0;
    return own;
}

/* Both ends of a program have Discriminators of one length: what the wire has behind that of its own address
 * is the padding of 7.2, if it is zeros, and is not shown. */
static uint8_t shown_length(const struct fcvi_address *in, uint16_t own)
{
    uint8_t length = in->discriminator_length;
    if (length != FCVI_MIN_DISCRIMINATOR || own >= length)
        return length;
    while (length > own && in->discriminator[length - 1] == 0)
        length--;
    return length == own ? length : in->discriminator_length;
}

void vipl_address_out(const struct fcvi_address *in, uint16_t own, VIP_NET_ADDRESS *out)
{
    const uint8_t length = shown_length(in, own);
    out->HostAddressLen = HOST_LENGTH;
    out->DiscriminatorLen = length;
    memcpy(vipl_address_host(out), in->host, HOST_LENGTH);
    memcpy(vipl_address_host(out) + HOST_LENGTH, in->discriminator, length);
}
