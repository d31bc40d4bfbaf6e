/* What programs of VIPL did when there was hardware for it, in one program: RANK 0 waits, RANK 1 asks. A
 * program of this kind knows its NIC by name, its peer by the name of a host, and retries while it is early.
 *
 * program TEST[,TEST...] DEVICE RANK [DISCRIMINATOR-BYTES]. It says "open" when its NIC is, and ends with 0
 * when all is as it should be. */
#include "program.h"

enum { MESSAGES = 100, CREDITS = 8 };

static VIP_DESCRIPTOR *poll_recv(VIP_VI_HANDLE vi)
{
    VIP_DESCRIPTOR *d = NULL;
    double end = now() + 20;
    while (VipRecvDone(vi, &d) == VIP_NOT_DONE)
        NEED(now() < end);
    NEED(d != NULL && (d->CS.Status & VIP_STATUS_ERROR_MASK) == 0);
    return d;
}

/* Messages with a credit for each in Immediate Data; the last Receive is for the end. */
static void credits(void)
{
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    unsigned char *in = memory + 65536, *out = memory + 131072;
    for (unsigned i = 0; i <= CREDITS; i++)
        OK(VipPostRecv(vi, descriptor(i, in + i * PAGE, PAGE), handle));
    connect_vi(vi, TAG);
    for (unsigned n = 0; n < MESSAGES; n++) {
        if (rank == (int)(n % 2)) {
            VIP_DESCRIPTOR *d = descriptor(20, out, 1 + n % PAGE);
            memset(out, (int)n, 1 + n % PAGE);
            d->CS.Control |= VIP_CONTROL_IMMEDIATE;
            d->CS.ImmediateData = n;
            OK(VipPostSend(vi, d, handle));
            await_send(vi);
        } else {
            VIP_DESCRIPTOR *d = poll_recv(vi);
            unsigned char *bytes = d->DS[0].Local.Data.Address;
            NEED((d->CS.Status & VIP_STATUS_IMMEDIATE) != 0 && d->CS.ImmediateData == n);
            NEED(d->CS.Length == 1 + n % PAGE && bytes[0] == (unsigned char)n &&
                 bytes[n % PAGE] == (unsigned char)n);
            OK(VipPostRecv(vi, descriptor((unsigned)((unsigned char *)d - memory) / 128, bytes, PAGE),
                           handle));
        }
    }
    part(vi);
}

/* RDMA Writes with a flag in their last word, which the other side polls: all that is before it is there. */
static void flags(void)
{
    enum { SIZE = 1928, ROUNDS = 100 };
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    unsigned char *data = memory + 65536;
    struct {
        uint64_t to;
        VIP_MEM_HANDLE there;
    } *info = (void *)(memory + 32768);
    volatile int64_t *word = (volatile int64_t *)(void *)data, *flag = word + SIZE / 8 - 1;
    for (unsigned i = 0; i < 2; i++)
        OK(VipPostRecv(vi, descriptor(i, memory + 40960 + i * 64, 64), handle));
    connect_vi(vi, TAG);
    if (rank == 1) {
        info->to = (uintptr_t)data;
        info->there = handle;
        OK(VipPostSend(vi, descriptor(2, (unsigned char *)info, 64), handle));
        await_send(vi);
    } else {
        memcpy(info, poll_recv(vi)->DS[0].Local.Data.Address, sizeof *info);
    }
    for (int64_t n = 1; n <= ROUNDS; n++) {
        if (rank == 0) {
            for (unsigned i = 0; i < SIZE / 8; i++)
                word[i] = n;
            OK(VipPostSend(vi, write_descriptor(3, data, SIZE, info->to, info->there), handle));
            await_send(vi);
            OK(VipPostRecv(vi, descriptor(4, memory + 40960, 64), handle));
            (void)poll_recv(vi);
            continue;
        }
        for (double end = now() + 20; *flag != n;)
            NEED(now() < end);
        for (unsigned i = 0; i < SIZE / 8; i++)
            NEED(word[i] == n);
        OK(VipPostSend(vi, descriptor(3, memory + 49152, 4), handle));
        await_send(vi);
    }
    part(vi);
}

/* A Receive has a segment that goes on behind its region, farther than the Message does. */
static void segment(void)
{
    VIP_MEM_ATTRIBUTES m = {.Ptag = ptag};
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    unsigned char *region = memory + 65536;
    VIP_MEM_HANDLE other;
    VIP_DESCRIPTOR *d;
    OK(VipRegisterMem(nic, region, 2 * PAGE - 192, &m, &other));
    static const VIP_UINT32 beyond[] = {100, 9000};
    for (unsigned i = 0; i < 2; i++) {
        d = descriptor(i, region + 4000, 4192 - 192 + beyond[i]);
        d->DS[0].Local.Handle = other;
        OK(VipPostRecv(vi, d, handle));
    }
    OK(VipPostRecv(vi, descriptor(2, memory + PAGE * 8, 64), handle));
    connect_vi(vi, TAG);
    for (unsigned i = 0; i < 2; i++)
        if (rank == 1) {
            OK(VipPostSend(vi, descriptor(3, memory + PAGE * 9, 16), handle));
            await_send(vi);
        } else {
            NEED(poll_recv(vi)->CS.Length == 16);
        }
    part(vi);
}

enum { VIS = 8, LOADED = 16 };
static VIP_VI_HANDLE many[LOADED];

static void *send_alone(void *context)
{
    unsigned n = (unsigned)(uintptr_t)context;
    for (unsigned i = 0; i < 20; i++) {
        VIP_DESCRIPTOR *d;
        OK(VipPostSend(many[n], descriptor(n, memory + 65536 + n * PAGE, 100 + n), handle));
        OK(VipSendWait(many[n], EVENT_MS, &d));
    }
    return NULL;
}

/* One Completion Queue for the Receives of many VIs; a thread sends on each. */
static void queue(void)
{
    VIP_CQ_HANDLE cq;
    pthread_t thread[VIS];
    unsigned count[VIS] = {0};
    OK(VipCreateCQ(nic, 1000, &cq));
    for (unsigned n = 0; n < VIS; n++) {
        many[n] = new_vi(NULL, rank == 0 ? cq : NULL);
        for (unsigned i = 0; i < 20 && rank == 0; i++)
            OK(VipPostRecv(many[n], descriptor(100 + n * 20 + i, memory + 131072 + n * PAGE, PAGE), handle));
        if (rank == 1)
            OK(VipPostRecv(many[n], descriptor(100 + n, memory + 131072, 64), handle));
        connect_vi(many[n], TAG + n);
    }
    for (uintptr_t n = 0; n < VIS && rank == 1; n++)
        NEED(pthread_create(&thread[n], NULL, send_alone, (void *)n) == 0);
    for (unsigned n = 0; n < VIS && rank == 1; n++)
        NEED(pthread_join(thread[n], NULL) == 0);
    for (unsigned got = 0; got < VIS * 20 && rank == 0; got++) {
        VIP_VI_HANDLE vi;
        VIP_BOOLEAN recv;
        VIP_DESCRIPTOR *d;
        unsigned n = 0;
        OK(VipCQWait(cq, EVENT_MS, &vi, &recv));
        while (many[n] != vi)
            n++;
        OK(VipRecvDone(vi, &d));
        NEED(d->CS.Length == 100 + n && ++count[n] <= 20);
    }
    for (unsigned n = 0; n < VIS; n++)
        part(many[n]);
}

/* Threads that send on VIs of their own to and fro, each for so many seconds as LOAD_SECONDS says; then all
 * is taken down and begun anew, once. What is in use does not grow. */
static void *ping(void *context)
{
    unsigned n = (unsigned)(uintptr_t)context;
    unsigned char *in = memory + 65536 + n * PAGE * 2, *out = in + PAGE;
    const char *limit = getenv("LOAD_SECONDS");
    const double end = now() + (limit != NULL ? atof(limit) : 1);
    bool last = false;
    for (unsigned i = 0; !last; i++) {
        const VIP_UINT32 length = 2 + (i * 37 + n) % (PAGE - 2);
        VIP_DESCRIPTOR *d;
        if (rank == 1) {
            memset(out, (int)(i + n), length);
            out[0] = now() >= end;
            OK(VipPostSend(many[n], descriptor(n * 4, out, length), handle));
            OK(VipSendWait(many[n], PATIENCE_MS, &d));
        }
        OK(VipRecvWait(many[n], PATIENCE_MS, &d));
        NEED(d->CS.Length == length && in[1] == (unsigned char)(i + n) &&
             in[length - 1] == (unsigned char)(i + n));
        last = in[0] != 0;
        memcpy(out, in, length);
        OK(VipPostRecv(many[n], descriptor(n * 4 + 1, in, PAGE), handle));
        if (rank == 0) {
            OK(VipPostSend(many[n], descriptor(n * 4, out, length), handle));
            OK(VipSendWait(many[n], PATIENCE_MS, &d));
        }
    }
    return NULL;
}

static long resident_kb(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    NEED(file != NULL && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void load(void)
{
    long before = 0;
    for (int round = 0; round < 2; round++) {
        pthread_t thread[LOADED];
        for (unsigned n = 0; n < LOADED; n++) {
            many[n] = new_vi(NULL, NULL);
            OK(VipPostRecv(many[n], descriptor(n * 4 + 1, memory + 65536 + n * PAGE * 2, PAGE), handle));
            connect_vi(many[n], TAG + n);
        }
        for (uintptr_t n = 0; n < LOADED; n++)
            NEED(pthread_create(&thread[n], NULL, ping, (void *)n) == 0);
        for (unsigned n = 0; n < LOADED; n++)
            NEED(pthread_join(thread[n], NULL) == 0);
        for (unsigned n = 0; n < LOADED; n++) {
            VIP_DESCRIPTOR *d;
            part(many[n]);
            while (VipRecvDone(many[n], &d) != VIP_NOT_DONE && d != NULL)
                continue;
            OK(VipDestroyVi(many[n]));
        }
        if (round == 0)
            before = resident_kb();
    }
    NEED(resident_kb() < before + 4096);
}

/* Two opens of one NIC are two handles of it; after a fork the child has neither, and the parent both. */
static void opens(void)
{
    VIP_NIC_HANDLE again;
    VIP_NIC_ATTRIBUTES same;
    int status = -1;
    OK(VipOpenNic(device, &again));
    NEED(again != nic);
    OK(VipQueryNic(again, &same));
    NEED(memcmp(same.LocalNicAddress, attributes.LocalNicAddress, attributes.NicAddressLen) == 0);
    pid_t child = fork();
    if (child == 0) {
        NEED(VipQueryNic(nic, &same) == VIP_INVALID_PARAMETER && VipCloseNic(again) == VIP_INVALID_PARAMETER);
        _exit(0);
    }
    NEED(waitpid(child, &status, 0) == child && status == 0);
    OK(VipQueryNic(nic, &same));
    OK(VipCloseNic(again));
    NEED(VipQueryNic(again, &same) == VIP_INVALID_PARAMETER);
    OK(VipCloseNic(nic));
    OK(VipOpenNic(device, &nic));
}

/* Nobody waits for that: the answer is VIP_NO_MATCH, long before the Timeout, and the VI is Idle and can be
 * connected. The other's NIC is open: see both() in test_programs.py. */
static void early(void)
{
    VIP_VI_ATTRIBUTES v;
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    OK(VipPostRecv(vi, descriptor(0, memory + 65536, 64), handle));
    double began = now();
    if (rank == 1)
        NEED(VipConnectRequest(vi, address(NULL, 5), address("nodea", 6), PATIENCE_MS, &v) == VIP_NO_MATCH);
    NEED(now() - began < PATIENCE_MS / 2000);
    connect_vi(vi, TAG);
    part(vi);
}

static void names(void)
{
    VIP_NET_ADDRESS *a = address("NodeB", 1);
    VIP_NET_ADDRESS *none = new_address();
    char name[64];
    VIP_ULONG length = sizeof name;
    a->DiscriminatorLen = 0;
    OK(VipNSGetHostByAddr(nic, a, name, &length));
    NEED(strcmp(name, "nodeb") == 0);
    none->HostAddressLen = 16;
    NEED(VipNSGetHostByName(nic, "no.such.host.invalid", none, 0) == VIP_ERROR_NAMESERVICE);
    NEED(VipNSGetHostByName(nic, "nodea", none, 1) == VIP_ERROR_NAMESERVICE || none->HostAddressLen == 16);
}

static const struct test tests[] = {{"credits", credits}, {"flags", flags}, {"segment", segment},
                                    {"queue", queue},     {"early", early}, {"names", names},
                                    {"load", load},       {"opens", opens}};

int main(int argc, char **argv)
{
    return play(argc, argv, tests, sizeof tests / sizeof *tests);
}
