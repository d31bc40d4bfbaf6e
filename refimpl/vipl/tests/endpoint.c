#include "endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool endpoint_fail(struct endpoint *e, const char *file, int line, const char *what, int got)
{
    const char *name = strrchr(file, '/');
    if (e->run->failure[0] == '\0')
        snprintf(e->run->failure, sizeof e->run->failure, "%s:%d: %s (%d)", name != NULL ? name + 1 : file,
                 line, what, got);
    return false;
}

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    struct endpoint *e = context;
    if (e->errors < ERRORS)
        e->error[e->errors] = *error;
    e->errors++;
}

static bool open_nic(struct endpoint *e)
{
    EXPECT_VIP(e, VipOpenNic(e->run->device, &e->nic), VIP_SUCCESS);
    EXPECT_VIP(e, VipQueryNic(e->nic, &e->limits), VIP_SUCCESS);
    EXPECT_VIP(e, VipErrorCallback(e->nic, e, on_error), VIP_SUCCESS);
    EXPECT_VIP(e, VipNSInit(e->nic, NULL), VIP_SUCCESS);
    EXPECT_VIP(e, VipCreatePtag(e->nic, &e->ptag), VIP_SUCCESS);
    e->memory = aligned_alloc(VIP_DESCRIPTOR_ALIGNMENT, MEMORY);
    EXPECT(e, e->memory != NULL);
    memset(e->memory, 0, MEMORY);
    VIP_MEM_ATTRIBUTES a = {e->ptag, VIP_TRUE, VIP_TRUE};
    EXPECT_VIP(e, VipRegisterMem(e->nic, e->memory, MEMORY, &a, &e->handle), VIP_SUCCESS);
    return true;
}

void endpoint_run(struct run *run, bool (*body)(struct endpoint *))
{
    struct endpoint e = {.run = run};
    if (open_nic(&e) && body(&e) && VipNSShutdown(e.nic) != VIP_SUCCESS)
        endpoint_fail(&e, __FILE__, __LINE__, "VipNSShutdown", -1);
    if (e.nic != NULL && VipCloseNic(e.nic) != VIP_SUCCESS)
        endpoint_fail(&e, __FILE__, __LINE__, "VipCloseNic", -1);
    free(e.memory);
}

bool endpoint_create(struct endpoint *e, VIP_CQ_HANDLE cq)
{
    bool read = (e->limits.RDMAReadSupport & e->run->level) != 0;
    e->attributes = (VIP_VI_ATTRIBUTES){.ReliabilityLevel = e->run->level,
                                        .MaxTransferSize = 65536,
                                        .Ptag = e->ptag,
                                        .EnableRdmaWrite = VIP_TRUE,
                                        .EnableRdmaRead = read ? VIP_TRUE : VIP_FALSE};
    EXPECT_VIP(e, VipCreateVi(e->nic, &e->attributes, cq, cq, &e->vi), VIP_SUCCESS);
    return endpoint_state(e, VIP_STATE_IDLE);
}

bool endpoint_address(struct endpoint *e, bool other, const char *discriminator, VIP_NET_ADDRESS **out)
{
    const size_t length = strlen(discriminator);
    VIP_NET_ADDRESS *a = calloc(1, sizeof *a + 16 + 128);
    *out = a;
    EXPECT(e, a != NULL);
    a->HostAddressLen = 16;
    if (other)
        EXPECT_VIP(e, VipNSGetHostByName(e->nic, (char *)(size_t)e->run->other, a, 0), VIP_SUCCESS);
    else
        memcpy((char *)a + offsetof(VIP_NET_ADDRESS, HostAddress), e->limits.LocalNicAddress, 16);
    a->DiscriminatorLen = DISCRIMINATOR;
    memcpy((char *)a + offsetof(VIP_NET_ADDRESS, HostAddress) + 16, discriminator, length);
    return true;
}

static bool serve(struct endpoint *e, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote)
{
    VIP_CONN_HANDLE conn;
    EXPECT_VIP(e, VipConnectWait(e->nic, local, VIP_INFINITE, remote, &e->remote, &conn), VIP_SUCCESS);
    EXPECT(e, e->remote.ReliabilityLevel == e->run->level && e->remote.MaxTransferSize == 65536);
    EXPECT(e, remote->HostAddressLen == 16 && remote->DiscriminatorLen == DISCRIMINATOR);
    EXPECT(e, memcmp(remote->HostAddress + 16, "client", 7) == 0);
    EXPECT_VIP(e, VipConnectAccept(conn, e->vi), VIP_SUCCESS);
    EXPECT_VIP(e, VipConnectReject(conn), VIP_INVALID_PARAMETER); /* C17 */
    return endpoint_state(e, VIP_STATE_CONNECTED);
}

bool endpoint_serve(struct endpoint *e)
{
    VIP_NET_ADDRESS *local = NULL, *remote = NULL;
    bool good = endpoint_address(e, false, "server", &local) && endpoint_address(e, false, "", &remote) &&
                serve(e, local, remote);
    free(local);
    free(remote);
    return good;
}

static bool request(struct endpoint *e, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote)
{
    EXPECT_VIP(e, VipConnectRequest(e->vi, local, remote, 30 * SECONDS, &e->remote), VIP_SUCCESS);
    EXPECT(e, e->remote.ReliabilityLevel == e->run->level && e->remote.MaxTransferSize == 65536);
    return endpoint_state(e, VIP_STATE_CONNECTED);
}

bool endpoint_request(struct endpoint *e)
{
    VIP_NET_ADDRESS *local = NULL, *remote = NULL;
    bool good = endpoint_address(e, false, "client", &local) &&
                endpoint_address(e, true, "server", &remote) && request(e, local, remote);
    free(local);
    free(remote);
    return good;
}

bool endpoint_state(struct endpoint *e, VIP_VI_STATE state)
{
    VIP_VI_STATE now;
    VIP_VI_ATTRIBUTES attributes;
    VIP_BOOLEAN send_empty, recv_empty;
    EXPECT_VIP(e, VipQueryVi(e->vi, &now, &attributes, &send_empty, &recv_empty), VIP_SUCCESS);
    if (now != state)
        return endpoint_fail(e, __FILE__, (int)state, "state", (int)now);
    return true;
}

/* A queue that nothing is attached to is a clock that a program can wait for. */
bool endpoint_pause(struct endpoint *e, VIP_ULONG milliseconds)
{
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN recv;
    EXPECT_VIP(e, VipCreateCQ(e->nic, 1, &cq), VIP_SUCCESS);
    EXPECT_VIP(e, VipCQWait(cq, milliseconds, &vi, &recv), VIP_TIMEOUT);
    EXPECT_VIP(e, VipDestroyCQ(cq), VIP_SUCCESS);
    return true;
}

bool endpoint_settle(struct endpoint *e)
{
    return endpoint_pause(e, 10);
}

bool endpoint_end(struct endpoint *e)
{
    VIP_DESCRIPTOR *d = NULL;
    EXPECT(e, endpoint_settle(e));
    EXPECT_VIP(e, VipDisconnect(e->vi), VIP_SUCCESS);
    EXPECT(e, endpoint_state(e, VIP_STATE_IDLE));
    do
        (void)VipSendDone(e->vi, &d);
    while (d != NULL);
    do
        (void)VipRecvDone(e->vi, &d);
    while (d != NULL);
    EXPECT_VIP(e, VipDestroyVi(e->vi), VIP_SUCCESS);
    EXPECT_VIP(e, VipDestroyVi(e->vi), VIP_INVALID_PARAMETER); /* C11 */
    return true;
}

bool endpoint_errors(struct endpoint *e, unsigned count)
{
    for (int i = 0; i < 60 && e->errors < count; i++)
        EXPECT(e, endpoint_pause(e, 1 * SECONDS));
    EXPECT(e, e->errors == count);
    return true;
}

/* ---- Descriptors ---- */

VIP_DESCRIPTOR *slot(struct endpoint *e, unsigned nth, unsigned control)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(void *)(e->memory + (size_t)nth * SLOT);
    memset(d, 0, SLOT);
    d->CS.Control = (VIP_UINT16)control;
    return d;
}

void add_remote(VIP_DESCRIPTOR *d, VIP_UINT64 address, VIP_MEM_HANDLE handle)
{
    VIP_ADDRESS_SEGMENT s = {.Handle = handle};
    s.Data.AddressBits = address;
    memcpy((char *)d + sizeof d->CS + d->CS.SegCount++ * sizeof s, &s, sizeof s);
}

void add(struct endpoint *e, VIP_DESCRIPTOR *d, size_t offset, VIP_UINT32 length)
{
    VIP_DATA_SEGMENT s = {.Handle = e->handle, .Length = length};
    s.Data.AddressBits = (VIP_UINT64)(size_t)data(e, offset);
    memcpy((char *)d + sizeof d->CS + d->CS.SegCount++ * sizeof s, &s, sizeof s);
    d->CS.Length += length;
}

bool post_recv(struct endpoint *e, unsigned nth, size_t offset, VIP_UINT32 length)
{
    VIP_DESCRIPTOR *d = slot(e, nth, VIP_CONTROL_OP_SENDRECV);
    if (length > 1) { /* scattered */
        add(e, d, offset, 1);
        add(e, d, offset + 1, length - 1);
    } else {
        add(e, d, offset, length);
    }
    EXPECT_VIP(e, VipPostRecv(e->vi, d, e->handle), VIP_SUCCESS);
    return true;
}

bool post_send(struct endpoint *e, VIP_DESCRIPTOR *d)
{
    EXPECT_VIP(e, VipPostSend(e->vi, d, e->handle), VIP_SUCCESS);
    return true;
}

static bool completed(struct endpoint *e, int vip, const VIP_DESCRIPTOR *d, unsigned nth, VIP_UINT32 status)
{
    if (d == NULL)
        return endpoint_fail(e, __FILE__, (int)nth, "no Descriptor", vip);
    EXPECT(e, (const void *)d == (const void *)(e->memory + (size_t)nth * SLOT));
    if (d->CS.Status != (status | VIP_STATUS_DONE))
        return endpoint_fail(e, __FILE__, (int)nth, "status", (int)d->CS.Status);
    EXPECT_VIP(e, vip, status & VIP_STATUS_ERROR_MASK ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS);
    return true;
}

bool sent(struct endpoint *e, unsigned nth, VIP_UINT32 status)
{
    VIP_DESCRIPTOR *d;
    int vip = (int)VipSendWait(e->vi, 60 * SECONDS, &d);
    return completed(e, vip, d, nth, status);
}

bool received(struct endpoint *e, unsigned nth, VIP_UINT32 status, VIP_UINT32 length)
{
    VIP_DESCRIPTOR *d;
    int vip = (int)VipRecvWait(e->vi, 60 * SECONDS, &d);
    if (!completed(e, vip, d, nth, status))
        return false;
    EXPECT(e, (status & VIP_STATUS_ERROR_MASK) != 0 || d->CS.Length == length);
    return true;
}

unsigned char *data(struct endpoint *e, size_t offset)
{
    return e->memory + DATA + offset;
}

void fill(struct endpoint *e, size_t offset, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        data(e, offset)[i] = (unsigned char)(seed + i * 7 + i / 251);
}

bool filled(struct endpoint *e, size_t offset, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        if (data(e, offset)[i] != (unsigned char)(seed + i * 7 + i / 251))
            return endpoint_fail(e, __FILE__, (int)i, "data", data(e, offset)[i]);
    return true;
}
