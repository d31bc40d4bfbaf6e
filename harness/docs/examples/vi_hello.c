/* Two terminals: vi_hello NIC, and vi_hello NIC HOST. The second sends one Message to the first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vipl.h>

static void need(VIP_RETURN vip, const char *call)
{
    if (vip == VIP_SUCCESS)
        return;
    printf("failed with VIP_RETURN %d: %s\n", (int)vip, call);
    exit(1);
}
#define OK(call) need(call, #call)

static VIP_NET_ADDRESS *address(VIP_NIC_HANDLE nic, const VIP_NIC_ATTRIBUTES *n, char *host)
{
    VIP_NET_ADDRESS *a = calloc(1, 64);
    a->HostAddressLen = n->NicAddressLen;
    if (host == NULL)
        memcpy(a->HostAddress, n->LocalNicAddress, n->NicAddressLen);
    else
        OK(VipNSGetHostByName(nic, host, a, 0));
    a->DiscriminatorLen = 4;
    memcpy(a->HostAddress + a->HostAddressLen, "demo", 4);
    return a;
}

int main(int argc, char **argv)
{
    static _Alignas(4096) struct {
        VIP_DESCRIPTOR descriptor;
        char text[64];
    } mine;
    VIP_NIC_HANDLE nic;
    VIP_NIC_ATTRIBUTES n;
    VIP_MEM_ATTRIBUTES m = {0};
    VIP_VI_ATTRIBUTES v = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY, .MaxTransferSize = 4096},
                      remote;
    VIP_MEM_HANDLE handle;
    VIP_VI_HANDLE vi;
    VIP_CONN_HANDLE conn;
    VIP_DESCRIPTOR *d = &mine.descriptor, *done;
    if (argc < 2)
        return 2;
    OK(VipOpenNic(argv[1], &nic));
    OK(VipQueryNic(nic, &n));
    OK(VipNSInit(nic, NULL));
    OK(VipCreatePtag(nic, &v.Ptag));
    m.Ptag = v.Ptag;
    OK(VipRegisterMem(nic, &mine, sizeof mine, &m, &handle));
    OK(VipCreateVi(nic, &v, NULL, NULL, &vi));
    d->CS.SegCount = 1;
    d->CS.Length = d->DS[0].Local.Length = sizeof mine.text;
    d->DS[0].Local.Data.Address = mine.text;
    d->DS[0].Local.Handle = handle;
    if (argc > 2) {
        VIP_RETURN vip;
        do {
            vip = VipConnectRequest(vi, address(nic, &n, NULL), address(nic, &n, argv[2]), 10000, &remote);
            if (vip == VIP_NO_MATCH || vip == VIP_NOT_REACHABLE)
                usleep(100000); /* the other one is not there yet */
        } while (vip == VIP_NO_MATCH || vip == VIP_NOT_REACHABLE);
        need(vip, "VipConnectRequest");
        strcpy(mine.text, "hello over VI");
        OK(VipPostSend(vi, d, handle));
        OK(VipSendWait(vi, 10000, &done));
        OK(VipDisconnect(vi));
    } else {
        VIP_NET_ADDRESS *from = calloc(1, 64);
        OK(VipPostRecv(vi, d, handle));
        OK(VipConnectWait(nic, address(nic, &n, NULL), VIP_INFINITE, from, &remote, &conn));
        OK(VipConnectAccept(conn, vi));
        OK(VipRecvWait(vi, 10000, &done));
        printf("%u bytes: %s\n", (unsigned)done->CS.Length, mine.text);
        (void)VipDisconnect(vi);
    }
    return VipCloseNic(nic) != VIP_SUCCESS;
}
