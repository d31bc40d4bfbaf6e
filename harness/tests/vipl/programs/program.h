/* What programs of VIPL shared when there was hardware for it: a NIC by name, a peer by the name of a host, a
 * client that retries while it is early. */
#ifndef PROGRAM_H
#define PROGRAM_H

#define VIPL095
#include <vipl.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 1 << 20, PATIENCE_MS = 20000, EVENT_MS = 10000, TAG = 0x11223344, PAGE = 4096 };

static int rank;
static const char *device;
static unsigned discriminator = 16;
static VIP_NIC_HANDLE nic;
static VIP_NIC_ATTRIBUTES attributes;
static VIP_PROTECTION_HANDLE ptag;
static unsigned char *memory;
static VIP_MEM_HANDLE handle;

#define NEED(what)                                                                                           \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #what);                                \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
#define OK(call) NEED((call) == VIP_SUCCESS)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Room for an address of any length; the fifth from here takes it again. */
static VIP_NET_ADDRESS *new_address(void)
{
    static VIP_UINT64 rooms[4][64];
    static unsigned next;
    return memset(rooms[next++ % 4], 0, sizeof rooms[0]);
}

static VIP_NET_ADDRESS *address(IN const char *host, IN unsigned tag)
{
    VIP_NET_ADDRESS *a = new_address();
    a->HostAddressLen = attributes.NicAddressLen;
    if (host != NULL)
        OK(VipNSGetHostByName(nic, (char *)host, a, 0));
    else
        memcpy(a->HostAddress, attributes.LocalNicAddress, attributes.NicAddressLen);
    a->DiscriminatorLen = (VIP_UINT16)discriminator;
    memcpy(a->HostAddress + a->HostAddressLen, &tag, discriminator < sizeof tag ? discriminator : sizeof tag);
    return a;
}

static void open_nic(void)
{
    VIP_MEM_ATTRIBUTES m = {.EnableRdmaWrite = VIP_TRUE, .EnableRdmaRead = VIP_TRUE};
    OK(VipOpenNic(device, &nic));
    OK(VipQueryNic(nic, &attributes));
    OK(VipNSInit(nic, NULL));
    OK(VipCreatePtag(nic, &ptag));
    m.Ptag = ptag;
    NEED(posix_memalign((void **)&memory, PAGE, ROOM) == 0);
    memset(memory, 0, ROOM);
    OK(VipRegisterMem(nic, memory, ROOM, &m, &handle));
}

static inline VIP_VI_STATE state_of(VIP_VI_HANDLE vi)
{
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES v;
    VIP_BOOLEAN a, b;
    OK(VipQueryVi(vi, &state, &v, &a, &b));
    return state;
}

static VIP_VI_HANDLE new_vi(VIP_CQ_HANDLE send, VIP_CQ_HANDLE recv)
{
    VIP_VI_ATTRIBUTES v = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
                           .MaxTransferSize = attributes.MaxTransferSize,
                           .Ptag = ptag,
                           .EnableRdmaWrite = VIP_TRUE,
                           .EnableRdmaRead = VIP_TRUE};
    VIP_VI_HANDLE vi;
    OK(VipCreateVi(nic, &v, send, recv, &vi));
    return vi;
}

/* Who is early is told VIP_NO_MATCH, or VIP_NOT_REACHABLE where the other's NIC is not open, and asks again.
 */
static void ask(VIP_VI_HANDLE vi, unsigned tag)
{
    VIP_VI_ATTRIBUTES remote;
    VIP_RETURN vip;
    double end = now() + 20;
    do {
        vip = VipConnectRequest(vi, address(NULL, tag + 1000), address("nodea", tag), PATIENCE_MS, &remote);
        if (vip == VIP_SUCCESS)
            return;
        NEED(vip == VIP_NO_MATCH || vip == VIP_NOT_REACHABLE);
        usleep(20000);
    } while (now() < end);
    OK(vip);
}

static void serve(VIP_VI_HANDLE vi, unsigned tag)
{
    VIP_NET_ADDRESS *from = new_address();
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE conn;
    unsigned shown = tag + 1000;
    OK(VipConnectWait(nic, address(NULL, tag), PATIENCE_MS, from, &remote, &conn));
    NEED(from->DiscriminatorLen == discriminator);
    NEED(memcmp(from->HostAddress + from->HostAddressLen, &shown,
                discriminator < sizeof shown ? discriminator : sizeof shown) == 0);
    OK(VipConnectAccept(conn, vi));
}

static inline void connect_vi(VIP_VI_HANDLE vi, unsigned tag)
{
    (rank == 0 ? serve : ask)(vi, tag);
}

static VIP_DESCRIPTOR *descriptor(unsigned place, unsigned char *bytes, VIP_UINT32 length)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(void *)(memory + place * 128);
    memset(d, 0, sizeof *d);
    d->Control.SegCount = length > 0; /* the names of Giganet's header */
    d->Control.Length = length;
    d->Data[0].Local.Data.Address = bytes;
    d->Data[0].Local.Handle = handle;
    d->Data[0].Local.Length = length;
    return d;
}

static inline VIP_DESCRIPTOR *write_descriptor(unsigned place, unsigned char *bytes, VIP_UINT32 length,
                                               uint64_t to, VIP_MEM_HANDLE there)
{
    VIP_DESCRIPTOR *d = descriptor(place, bytes, length);
    d->DS[1] = d->DS[0];
    d->DS[0].Remote.Data.AddressBits = to;
    d->DS[0].Remote.Handle = there;
    d->DS[0].Remote.Reserved = 0;
    d->CS.Control = VIP_CONTROL_OP_RDMAWRITE;
    d->CS.SegCount = 2;
    return d;
}

static void await_send(VIP_VI_HANDLE vi)
{
    VIP_DESCRIPTOR *d;
    OK(VipSendWait(vi, EVENT_MS, &d));
}

/* The one that is done first says so, and the other leaves first. */
static inline void part(VIP_VI_HANDLE vi)
{
    VIP_DESCRIPTOR *d;
    if (rank == 0) {
        OK(VipPostSend(vi, descriptor(60, memory + ROOM - 64, 4), handle));
        await_send(vi);
        VIP_VI_STATE state = VIP_STATE_CONNECTED;
        VIP_VI_ATTRIBUTES v;
        VIP_BOOLEAN a, b;
        for (double end = now() + 10; state == VIP_STATE_CONNECTED && now() < end; usleep(1000))
            OK(VipQueryVi(vi, &state, &v, &a, &b));
    } else {
        OK(VipRecvWait(vi, PATIENCE_MS, &d));
    }
    (void)VipDisconnect(vi);
}

static void quiet(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    (void)context, (void)error;
}

struct test {
    const char *name;
    void (*run)(void);
};

/* Each test opens the NIC anew. */
static int play(int argc, char **argv, const struct test *tests, size_t count)
{
    char *rest = NULL;
    bool said = false;
    if (argc < 4)
        return 2;
    device = argv[2];
    rank = atoi(argv[3]);
    if (argc > 4)
        discriminator = (unsigned)atoi(argv[4]);
    for (char *name = strtok_r(argv[1], ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        const struct test *test = tests;
        while (test < tests + count && strcmp(test->name, name) != 0)
            test++;
        NEED(test < tests + count);
        open_nic();
        OK(VipErrorCallback(nic, NULL, quiet));
        if (!said)
            said = puts("open") >= 0 && fflush(stdout) == 0;
        test->run();
        OK(VipCloseNic(nic));
        free(memory);
    }
    return 0;
}

#endif
