/* What a program is told when a Connection is not to be had, or is lost: RANK 0 is the other side, which does
 * what CASE says, RANK 1 asks and prints each outcome as a word.
 *
 * errors CASE DEVICE RANK HOST [TIMEOUT-MS]. */
#include <vipl.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 65536, PATIENCE_MS = 10000, LOSS_MS = 500, TAG = 7, END = 'q' };

static const char *const codes[] = {"VIP_SUCCESS",
                                    "VIP_NOT_DONE",
                                    "VIP_INVALID_PARAMETER",
                                    "VIP_ERROR_RESOURCE",
                                    "VIP_TIMEOUT",
                                    "VIP_REJECT",
                                    "VIP_INVALID_RELIABILITY_LEVEL",
                                    "VIP_INVALID_MTU",
                                    "VIP_INVALID_QOS",
                                    "VIP_INVALID_PTAG",
                                    "VIP_INVALID_RDMAREAD",
                                    "VIP_DESCRIPTOR_ERROR",
                                    "VIP_INVALID_STATE",
                                    "VIP_ERROR_NAMESERVICE",
                                    "VIP_NO_MATCH",
                                    "VIP_NOT_REACHABLE"};
static const char *const states[] = {"Idle", "Connected", "Pending", "Error"};

static VIP_NIC_HANDLE nic;
static VIP_NIC_ATTRIBUTES attributes;
static VIP_PROTECTION_HANDLE ptag;
static unsigned char *memory;
static VIP_MEM_HANDLE handle;
static volatile sig_atomic_t lost;

static void need(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "errors: %s\n", what);
    exit(1);
}

static void told(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    (void)context;
    lost = error->ErrorCode == VIP_ERROR_CONN_LOST ? 1 : 2;
}

static void open_nic(const char *device)
{
    VIP_MEM_ATTRIBUTES m = {.EnableRdmaWrite = VIP_FALSE};
    need(VipOpenNic(device, &nic) == VIP_SUCCESS, "VipOpenNic");
    need(VipQueryNic(nic, &attributes) == VIP_SUCCESS && VipNSInit(nic, NULL) == VIP_SUCCESS, "VipNSInit");
    need(VipErrorCallback(nic, NULL, told) == VIP_SUCCESS, "VipErrorCallback");
    need(VipCreatePtag(nic, &ptag) == VIP_SUCCESS, "VipCreatePtag");
    m.Ptag = ptag;
    need(posix_memalign((void **)&memory, 4096, ROOM) == 0, "memory");
    memset(memory, 0, ROOM);
    need(VipRegisterMem(nic, memory, ROOM, &m, &handle) == VIP_SUCCESS, "VipRegisterMem");
}

static VIP_VI_HANDLE new_vi(VIP_RELIABILITY_LEVEL level)
{
    VIP_VI_ATTRIBUTES v = {
        .ReliabilityLevel = level, .MaxTransferSize = attributes.MaxTransferSize, .Ptag = ptag};
    VIP_VI_HANDLE vi;
    need(VipCreateVi(nic, &v, NULL, NULL, &vi) == VIP_SUCCESS, "VipCreateVi");
    return vi;
}

static VIP_NET_ADDRESS *address(const char *host, unsigned tag)
{
    VIP_NET_ADDRESS *a = calloc(1, 512);
    a->HostAddressLen = attributes.NicAddressLen;
    if (host != NULL)
        need(VipNSGetHostByName(nic, (char *)host, a, 0) == VIP_SUCCESS, host);
    else
        memcpy(a->HostAddress, attributes.LocalNicAddress, attributes.NicAddressLen);
    a->DiscriminatorLen = sizeof tag;
    memcpy(a->HostAddress + a->HostAddressLen, &tag, sizeof tag);
    return a;
}

static VIP_DESCRIPTOR *descriptor(unsigned place, unsigned length)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(void *)(memory + place * 128);
    memset(d, 0, sizeof *d);
    d->CS.SegCount = 1;
    d->CS.Length = d->DS[0].Local.Length = length;
    d->DS[0].Local.Data.Address = memory + 8192 + place * 1024;
    d->DS[0].Local.Handle = handle;
    return d;
}

static void say_state(VIP_VI_HANDLE vi)
{
    VIP_VI_ATTRIBUTES v;
    VIP_VI_STATE state;
    VIP_BOOLEAN a, b;
    need(VipQueryVi(vi, &state, &v, &a, &b) == VIP_SUCCESS, "VipQueryVi");
    printf(" %s", states[state]);
}

/* ---- the other side ---- */

/* Whoever comes is taken, whatever becomes of it, until one says that it is the last. */
static void stay(void)
{
    VIP_NET_ADDRESS *from = calloc(1, 512);
    VIP_CONN_HANDLE conn;
    VIP_VI_ATTRIBUTES remote;
    VIP_DESCRIPTOR *d;
    for (bool end = false; !end;) {
        VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY);
        memory[8192] = 0;
        need(VipPostRecv(vi, descriptor(0, 64), handle) == VIP_SUCCESS, "VipPostRecv");
        need(VipConnectWait(nic, address(NULL, TAG), VIP_INFINITE, from, &remote, &conn) == VIP_SUCCESS,
             "VipConnectWait");
        if (VipConnectAccept(conn, vi) == VIP_SUCCESS && VipRecvWait(vi, LOSS_MS, &d) == VIP_SUCCESS)
            end = memory[8192] == END;
        while (VipDisconnect(vi) == VIP_NOT_REACHABLE)
            continue;
        while (VipRecvDone(vi, &d) == VIP_DESCRIPTOR_ERROR && d != NULL)
            continue; /* of an empty queue it is NULL (VI-DG 3.4.2) */
        need(VipDestroyVi(vi) == VIP_SUCCESS, "VipDestroyVi");
    }
}

static void wait_for(unsigned tag, VIP_CONN_HANDLE *conn)
{
    VIP_NET_ADDRESS *from = calloc(1, 512);
    VIP_VI_ATTRIBUTES remote;
    need(VipConnectWait(nic, address(NULL, tag), PATIENCE_MS, from, &remote, conn) == VIP_SUCCESS,
         "VipConnectWait");
}

static void serve(const char *what)
{
    VIP_CONN_HANDLE conn;
    VIP_DESCRIPTOR *d;
    VIP_VI_HANDLE vi = strcmp(what, "no-vi") == 0 ? NULL : new_vi(VIP_SERVICE_RELIABLE_DELIVERY);
    puts("ready");
    fflush(stdout);
    if (strcmp(what, "no-vi") == 0 || strcmp(what, "no-wait") == 0) {
        pause();
        return;
    }
    if (strcmp(what, "stays") == 0) {
        stay();
        return;
    }
    wait_for(strcmp(what, "another") == 0 ? TAG + 1 : TAG, &conn);
    if (strcmp(what, "silent") == 0)
        pause();
    if (strcmp(what, "differs") == 0)
        need(VipConnectAccept(conn, new_vi(VIP_SERVICE_UNRELIABLE)) == VIP_INVALID_RELIABILITY_LEVEL,
             "VipConnectAccept of another level");
    if (strcmp(what, "refuses") == 0 || strcmp(what, "differs") == 0) {
        need(VipConnectReject(conn) == VIP_SUCCESS, "VipConnectReject");
        pause();
    }
    need(VipPostRecv(vi, descriptor(0, 64), handle) == VIP_SUCCESS, "VipPostRecv");
    need(VipConnectAccept(conn, vi) == VIP_SUCCESS, "VipConnectAccept");
    need(VipRecvWait(vi, PATIENCE_MS, &d) == VIP_SUCCESS, "VipRecvWait"); /* both are Connected */
    if (strcmp(what, "dies") == 0)
        raise(SIGKILL);
    if (strcmp(what, "leaves") == 0) {
        need(VipDisconnect(vi) == VIP_SUCCESS, "VipDisconnect");
        pause();
    }
    exit(0); /* ends */
}

/* ---- the side that asks ---- */

/* It sends on, until the loss shows. */
static void await_loss(VIP_VI_HANDLE vi)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    VIP_DESCRIPTOR *d;
    for (int i = 0; i < LOSS_MS / 10 && lost == 0; i++) {
        VIP_RETURN vip = VipSendDone(vi, &d);
        if (vip == VIP_SUCCESS)
            (void)VipPostSend(vi, descriptor(2, 4), handle);
        nanosleep(&pause, NULL);
    }
}

static void ask(const char *what, const char *host, VIP_ULONG timeout)
{
    VIP_VI_ATTRIBUTES remote;
    VIP_DESCRIPTOR *d = NULL;
    VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY);
    need(VipPostRecv(vi, descriptor(1, 64), handle) == VIP_SUCCESS, "VipPostRecv");
    if (strcmp(what, "last") == 0)
        memory[8192 + 2048] = END;
    VIP_RETURN vip = VipConnectRequest(vi, address(NULL, 99), address(host, TAG), timeout, &remote);
    /* a server that is ready need not wait yet */
    for (int i = 0;
         i < 20 && vip == VIP_NO_MATCH && strcmp(what, "another") != 0 && strncmp(what, "nobody", 6) != 0;
         i++) {
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        vip = VipConnectRequest(vi, address(NULL, 99), address(host, TAG), timeout, &remote);
    }
    printf("%s", codes[vip]);
    if (vip == VIP_SUCCESS) {
        need(VipPostSend(vi, descriptor(2, 4), handle) == VIP_SUCCESS, "VipPostSend");
        await_loss(vi);
        printf(" %s", lost == 1 ? "CONN_LOST" : lost == 2 ? "another-error" : "silence");
        vip = VipRecvWait(vi, LOSS_MS, &d);
        printf(" %s", vip == VIP_DESCRIPTOR_ERROR && d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR
                          ? "flushed"
                          : codes[vip]);
    }
    say_state(vi);
    for (vip = VIP_NOT_REACHABLE; vip == VIP_NOT_REACHABLE;) {
        vip = VipDisconnect(vi);
        printf(" %s", codes[vip]);
        say_state(vi);
    }
    while (VipSendDone(vi, &d) == VIP_SUCCESS || d != NULL || VipRecvDone(vi, &d) == VIP_SUCCESS || d != NULL)
        continue;
    need(VipDestroyVi(vi) == VIP_SUCCESS, "VipDestroyVi");
    printf("\n");
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    open_nic(argv[2]);
    if (argv[3][0] == '0')
        serve(argv[1]);
    else
        ask(argv[1], argv[4], argc > 5 ? (VIP_ULONG)atoi(argv[5]) : PATIENCE_MS);
    return 0;
}
