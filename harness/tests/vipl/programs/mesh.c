/* As many processes as are wanted, each connected with each other by peer requests: mesh DEVICE RANK COUNT.
 * Node k is the host "node" and its letter. Each then sends to all and hears from all. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vipl.h>

enum { MOST = 8, PATIENCE_MS = 30000, ROOM = 4096 };

static unsigned rank;
static VIP_NIC_HANDLE nic;
static VIP_NIC_ATTRIBUTES about;
static VIP_PROTECTION_HANDLE ptag;
static VIP_MEM_HANDLE handle;
static unsigned char *memory; /* for each of the others two Descriptors and what they receive and send */

static void need(bool good, const char *what, unsigned with)
{
    if (good)
        return;
    fprintf(stderr, "%u with %u: %s\n", rank, with, what);
    exit(1);
}

static VIP_NET_ADDRESS *address(int node)
{
    const char name[] = {'n', 'o', 'd', 'e', (char)('a' + node), '\0'};
    VIP_NET_ADDRESS *a = calloc(1, 512);
    a->HostAddressLen = about.NicAddressLen;
    if (node < 0)
        memcpy(a->HostAddress, about.LocalNicAddress, about.NicAddressLen);
    else
        need(VipNSGetHostByName(nic, (VIP_CHAR *)name, a, 0) == VIP_SUCCESS, name, (unsigned)node);
    a->DiscriminatorLen = 4;
    memcpy(a->HostAddress + a->HostAddressLen, "mesh", 4);
    return a;
}

static VIP_DESCRIPTOR *descriptor(unsigned with, bool recv)
{
    unsigned char *room = memory + (size_t)with * ROOM + (recv ? 0 : ROOM / 2);
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(void *)room;
    memset(d, 0, sizeof *d);
    d->CS.SegCount = 1;
    d->CS.Length = d->DS[0].Local.Length = 64;
    d->DS[0].Local.Data.Address = room + 1024;
    d->DS[0].Local.Handle = handle;
    if (!recv)
        memset(room + 1024, (int)(rank * MOST + with), 64);
    return d;
}

static void begin(const char *device)
{
    VIP_MEM_ATTRIBUTES m = {0};
    need(VipOpenNic(device, &nic) == VIP_SUCCESS, "VipOpenNic", rank);
    need(VipQueryNic(nic, &about) == VIP_SUCCESS && VipNSInit(nic, NULL) == VIP_SUCCESS, "VipNSInit", rank);
    need(VipCreatePtag(nic, &ptag) == VIP_SUCCESS, "VipCreatePtag", rank);
    m.Ptag = ptag;
    need(posix_memalign((void **)&memory, 4096, MOST * ROOM) == 0, "memory", rank);
    memset(memory, 0, MOST * ROOM);
    need(VipRegisterMem(nic, memory, MOST * ROOM, &m, &handle) == VIP_SUCCESS, "VipRegisterMem", rank);
    puts("open");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    VIP_VI_HANDLE vi[MOST];
    VIP_VI_ATTRIBUTES v = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY, .MaxTransferSize = 4096},
                      remote;
    VIP_DESCRIPTOR *d;
    if (argc != 4)
        return 2;
    rank = (unsigned)atoi(argv[2]);
    const unsigned count = (unsigned)atoi(argv[3]);
    begin(argv[1]);
    v.Ptag = ptag;
    for (unsigned k = 0; k < count; k++) {
        if (k == rank)
            continue;
        need(VipCreateVi(nic, &v, NULL, NULL, &vi[k]) == VIP_SUCCESS, "VipCreateVi", k);
        need(VipPostRecv(vi[k], descriptor(k, true), handle) == VIP_SUCCESS, "VipPostRecv", k);
        need(VipConnectPeerRequest(vi[k], address(-1), address((int)k), PATIENCE_MS) == VIP_SUCCESS,
             "VipConnectPeerRequest", k);
    }
    for (unsigned k = 0; k < count; k++)
        need(k == rank || VipConnectPeerWait(vi[k], &remote) == VIP_SUCCESS, "VipConnectPeerWait", k);
    for (unsigned k = 0; k < count; k++)
        need(k == rank || (VipPostSend(vi[k], descriptor(k, false), handle) == VIP_SUCCESS &&
                           VipSendWait(vi[k], PATIENCE_MS, &d) == VIP_SUCCESS),
             "VipSendWait", k);
    for (unsigned k = 0; k < count; k++)
        need(k == rank || (VipRecvWait(vi[k], PATIENCE_MS, &d) == VIP_SUCCESS && d->CS.Length == 64 &&
                           memory[k * ROOM + 1024 + 63] == k * MOST + rank),
             "VipRecvWait", k);
    for (unsigned k = 0; k < count; k++)
        need(k == rank || (VipDisconnect(vi[k]) == VIP_SUCCESS && VipDestroyVi(vi[k]) == VIP_SUCCESS),
             "VipDestroyVi", k);
    need(VipCloseNic(nic) == VIP_SUCCESS, "VipCloseNic", rank);
    return 0;
}
