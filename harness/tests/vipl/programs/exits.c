/* How a process may end or make another while a NIC is open: exits HOW DEVICE RANK. Rank 0 does it, Connected
 * with rank 1. Rank 1 has to hear of the loss, and to come back to Idle. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vipl.h>

enum { PATIENCE_MS = 10000, ROOM = 65536 };

static int rank;
static VIP_NIC_HANDLE nic;
static VIP_NIC_ATTRIBUTES about;
static VIP_PROTECTION_HANDLE ptag;
static VIP_MEM_HANDLE handle;
static unsigned char *memory;
static atomic_int lost;

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "rank %d: %s\n", rank, what);
    _exit(1);
}

static VIP_NET_ADDRESS *address(const char *host)
{
    VIP_NET_ADDRESS *a = calloc(1, 512);
    a->HostAddressLen = about.NicAddressLen;
    if (host == NULL)
        memcpy(a->HostAddress, about.LocalNicAddress, about.NicAddressLen);
    else
        need(VipNSGetHostByName(nic, (VIP_CHAR *)host, a, 0) == VIP_SUCCESS, host);
    a->DiscriminatorLen = 4;
    memcpy(a->HostAddress + a->HostAddressLen, "exit", 4);
    return a;
}

static VIP_DESCRIPTOR *descriptor(unsigned place)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(void *)(memory + place * 256);
    memset(d, 0, sizeof *d);
    d->CS.SegCount = 1;
    d->CS.Length = d->DS[0].Local.Length = 64;
    d->DS[0].Local.Data.Address = memory + 8192 + place * 64;
    d->DS[0].Local.Handle = handle;
    return d;
}

static void told(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *e)
{
    (void)context;
    if (e->ErrorCode == VIP_ERROR_CONN_LOST)
        lost++;
}

static void on_recv(VIP_PVOID context, VIP_NIC_HANDLE n, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
    (void)context, (void)n, (void)vi, (void)d;
    exit(7);
}

static void *wait_for_ever(void *vi)
{
    VIP_DESCRIPTOR *d;
    (void)VipRecvWait(vi, VIP_INFINITE, &d);
    return NULL;
}

static VIP_VI_HANDLE connected(void)
{
    VIP_VI_ATTRIBUTES v = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
                           .MaxTransferSize = 4096,
                           .Ptag = ptag},
                      other;
    VIP_VI_HANDLE vi;
    VIP_CONN_HANDLE conn;
    VIP_RETURN vip;
    need(VipCreateVi(nic, &v, NULL, NULL, &vi) == VIP_SUCCESS, "VipCreateVi");
    for (unsigned i = 0; i < 4; i++)
        need(VipPostRecv(vi, descriptor(i), handle) == VIP_SUCCESS, "VipPostRecv");
    if (rank == 0) {
        vip = VipConnectWait(nic, address(NULL), PATIENCE_MS, address(NULL), &other, &conn);
        need(vip == VIP_SUCCESS && VipConnectAccept(conn, vi) == VIP_SUCCESS, "VipConnectAccept");
        return vi;
    }
    while ((vip = VipConnectRequest(vi, address(NULL), address("nodea"), PATIENCE_MS, &other)) ==
           VIP_NO_MATCH)
        usleep(20000);
    need(vip == VIP_SUCCESS, "VipConnectRequest");
    return vi;
}

static void say(VIP_VI_HANDLE vi)
{
    VIP_DESCRIPTOR *d;
    need(VipPostSend(vi, descriptor(8), handle) == VIP_SUCCESS &&
             VipSendWait(vi, PATIENCE_MS, &d) == VIP_SUCCESS,
         "VipSendWait");
}

/* Another program that the process starts has no socket of the library's: it would keep the wire when the
 * process is gone. */
static const char look[] = "for f in /proc/$$/fd/*; do n=${f##*/}; case $n-$(readlink $f) in [012]-*) ;; "
                           "*socket:*) exit 1;; esac; done";

static void has_none(int status)
{
    need(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the other program has a socket of the library's");
}

static void run_others(VIP_VI_HANDLE vi)
{
    VIP_DESCRIPTOR *d;
    int status;
    has_none(system(look));
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", look, (char *)NULL);
        _exit(9);
    }
    need(waitpid(child, &status, 0) == child, "waitpid");
    has_none(status);
    child = fork(); /* one that goes on by itself, and outlives its parent */
    if (child == 0) {
        need(VipPostSend(vi, descriptor(9), handle) == VIP_INVALID_PARAMETER,
             "the child has the parent's VI");
        usleep(500000);
        exit(0);
    }
    need(VipRecvWait(vi, PATIENCE_MS, &d) == VIP_SUCCESS, "VipRecvWait after the forks");
    say(vi);
}

static void end(const char *how, VIP_VI_HANDLE vi)
{
    pthread_t other;
    VIP_DESCRIPTOR *d;
    if (strcmp(how, "handler") == 0) {
        need(VipRecvNotify(vi, NULL, on_recv) == VIP_SUCCESS, "VipRecvNotify");
        say(vi);
        for (;;)
            pause();
    }
    if (strcmp(how, "waiter") == 0)
        need(pthread_create(&other, NULL, wait_for_ever, vi) == 0, "a thread");
    else if (strcmp(how, "others") == 0)
        run_others(vi);
    else
        need(VipRecvWait(vi, PATIENCE_MS, &d) == VIP_SUCCESS, "VipRecvWait");
    if (strcmp(how, "waiter") == 0)
        usleep(100000);
    if (strcmp(how, "midway") == 0)
        for (unsigned i = 16; i < 20; i++)
            need(VipPostSend(vi, descriptor(i), handle) == VIP_SUCCESS, "VipPostSend");
    if (strcmp(how, "kill") == 0)
        abort();
    exit(7);
}

static void watch(const char *how, VIP_VI_HANDLE vi)
{
    VIP_DESCRIPTOR *d;
    VIP_RETURN vip;
    const bool silent = strcmp(how, "kill") == 0;
    if (strcmp(how, "handler") == 0)
        need(VipRecvWait(vi, PATIENCE_MS, &d) == VIP_SUCCESS, "VipRecvWait");
    if (silent) /* the answer to it may not come */
        need(VipPostSend(vi, descriptor(8), handle) == VIP_SUCCESS, "VipPostSend");
    else
        say(vi);
    for (int i = 0; i < PATIENCE_MS / 10 && lost == 0 && !silent; i++)
        usleep(10000);
    need(silent || lost == 1, "the loss is not told");
    if (silent)
        (void)VipSendWait(vi, PATIENCE_MS, &d);
    while ((vip = VipDisconnect(vi)) == VIP_NOT_REACHABLE)
        continue;
    need(vip == VIP_SUCCESS, "VipDisconnect");
    while (VipRecvDone(vi, &d) == VIP_SUCCESS || d != NULL || VipSendDone(vi, &d) == VIP_SUCCESS || d != NULL)
        continue;
    need(VipDestroyVi(vi) == VIP_SUCCESS, "VipDestroyVi");
    need(VipCloseNic(nic) == VIP_SUCCESS, "VipCloseNic");
}

int main(int argc, char **argv)
{
    VIP_MEM_ATTRIBUTES m = {0};
    if (argc != 4)
        return 2;
    rank = atoi(argv[3]);
    need(VipOpenNic(argv[2], &nic) == VIP_SUCCESS, "VipOpenNic");
    need(VipQueryNic(nic, &about) == VIP_SUCCESS && VipNSInit(nic, NULL) == VIP_SUCCESS, "VipNSInit");
    need(VipErrorCallback(nic, NULL, told) == VIP_SUCCESS, "VipErrorCallback");
    need(VipCreatePtag(nic, &ptag) == VIP_SUCCESS, "VipCreatePtag");
    m.Ptag = ptag;
    need(posix_memalign((void **)&memory, 4096, ROOM) == 0, "memory");
    memset(memory, 0, ROOM);
    need(VipRegisterMem(nic, memory, ROOM, &m, &handle) == VIP_SUCCESS, "VipRegisterMem");
    puts("open");
    fflush(stdout);
    VIP_VI_HANDLE vi = connected();
    if (rank == 0)
        end(argv[1], vi);
    watch(argv[1], vi);
    return 0;
}
