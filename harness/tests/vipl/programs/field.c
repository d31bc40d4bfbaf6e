/* Programs as the field wrote them for NICs of VI, from the guide alone: field NAME DEVICE RANK. Rank 0
 * serves, and rank 1 calls it by the name "nodea". Each name is one program; it ends with 0 when all that it
 * compared was right. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <vipl.h>

enum { ARENA = 8 << 20, TEN_S = 10000 };

static int rank, on_tcp;
static VIP_NIC_HANDLE nic;
static VIP_NIC_ATTRIBUTES about;
static VIP_PROTECTION_HANDLE tag;
static VIP_MEM_HANDLE mem;
static unsigned char *arena; /* all registered: first Descriptors of 4096 bytes each, then data */

static void wrong(int line, const char *what, long got)
{
    fprintf(stderr, "rank %d, line %d: %s: %ld\n", rank, line, what, got);
    exit(1);
}
#define IS(call, want)                                                                                       \
    do {                                                                                                     \
        long got_ = (long)(call);                                                                            \
        if (got_ != (long)(want))                                                                            \
            wrong(__LINE__, #call " is not " #want, got_);                                                   \
    } while (0)
#define OK(call) IS(call, VIP_SUCCESS)
#define HOLDS(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            wrong(__LINE__, #condition, 0);                                                                  \
    } while (0)

/* ---- what every program of the time had ---- */

static VIP_NET_ADDRESS *address(const char *host, const void *discriminator, unsigned length)
{
    VIP_NET_ADDRESS *a = calloc(1, sizeof *a + about.NicAddressLen + about.MaxDiscriminatorLen);
    a->HostAddressLen = about.NicAddressLen;
    if (host)
        OK(VipNSGetHostByName(nic, (VIP_CHAR *)host, a, 0));
    else
        memcpy(a->HostAddress, about.LocalNicAddress, about.NicAddressLen);
    a->DiscriminatorLen = (VIP_UINT16)length;
    memcpy(a->HostAddress + a->HostAddressLen, discriminator, length);
    return a;
}

static VIP_DESCRIPTOR *slot(unsigned i)
{
    return (VIP_DESCRIPTOR *)(arena + (size_t)i * 4096);
}

static unsigned char *data(unsigned long at)
{
    return arena + (1 << 20) + at;
}

/* a Descriptor of one segment, or of none */
static VIP_DESCRIPTOR *one(unsigned i, void *at, unsigned length)
{
    VIP_DESCRIPTOR *d = slot(i);
    memset(d, 0, sizeof *d);
    d->CS.SegCount = length ? 1 : 0;
    d->CS.Length = length;
    d->DS[0].Local.Data.Address = at;
    d->DS[0].Local.Handle = mem;
    d->DS[0].Local.Length = length;
    return d;
}

static VIP_DESCRIPTOR *rdma(unsigned i, void *at, unsigned length, VIP_UINT64 there, VIP_MEM_HANDLE handle)
{
    VIP_DESCRIPTOR *d = one(i, at, length);
    d->CS.Control = VIP_CONTROL_OP_RDMAWRITE;
    d->CS.SegCount = length ? 2 : 1;
    d->DS[1] = d->DS[0];
    memset(&d->DS[0], 0, sizeof d->DS[0]);
    d->DS[0].Remote.Data.AddressBits = there;
    d->DS[0].Remote.Handle = handle;
    return d;
}

static VIP_VI_HANDLE new_vi(VIP_RELIABILITY_LEVEL level, VIP_ULONG size, VIP_CQ_HANDLE send,
                            VIP_CQ_HANDLE recv)
{
    VIP_VI_ATTRIBUTES a = {
        .ReliabilityLevel = level, .MaxTransferSize = size, .Ptag = tag, .EnableRdmaWrite = 1};
    VIP_VI_HANDLE vi = NULL;
    OK(VipCreateVi(nic, &a, send, recv, &vi));
    return vi;
}

static VIP_VI_STATE state(VIP_VI_HANDLE vi)
{
    VIP_VI_STATE s;
    VIP_VI_ATTRIBUTES a;
    VIP_BOOLEAN send, recv;
    OK(VipQueryVi(vi, &s, &a, &send, &recv));
    return s;
}

/* the server waits, the client asks until the server waits */
static VIP_RETURN try_connect(VIP_VI_HANDLE vi, const char *name, int serves, VIP_VI_ATTRIBUTES *other)
{
    VIP_NET_ADDRESS *mine = address(NULL, name, (unsigned)strlen(name)), *theirs;
    VIP_RETURN r;
    if (serves) {
        VIP_CONN_HANDLE c;
        theirs = address(NULL, "", 0);
        r = VipConnectWait(nic, mine, TEN_S, theirs, other, &c);
        if (r == VIP_SUCCESS)
            r = VipConnectAccept(c, vi);
    } else {
        theirs = address(rank ? "nodea" : "nodeb", name, (unsigned)strlen(name));
        for (int i = 0; i < 200; i++) {
            r = VipConnectRequest(vi, mine, theirs, TEN_S, other);
            if (r != VIP_NO_MATCH && r != VIP_NOT_REACHABLE)
                break;
            usleep(50000);
        }
    }
    free(mine);
    free(theirs);
    return r;
}

static void join(VIP_VI_HANDLE vi, const char *name, int serves)
{
    VIP_VI_ATTRIBUTES other;
    OK(try_connect(vi, name, serves, &other));
}

static void drain(VIP_VI_HANDLE vi)
{
    VIP_DESCRIPTOR *d = NULL;
    VIP_RETURN r;
    while ((r = VipSendDone(vi, &d)) == VIP_SUCCESS || (r == VIP_DESCRIPTOR_ERROR && d))
        ;
    IS(r, VIP_DESCRIPTOR_ERROR);
    while ((r = VipRecvDone(vi, &d)) == VIP_SUCCESS || (r == VIP_DESCRIPTOR_ERROR && d))
        ;
    IS(r, VIP_DESCRIPTOR_ERROR);
}

static void leave(VIP_VI_HANDLE vi)
{
    OK(VipDisconnect(vi));
    IS(state(vi), VIP_STATE_IDLE);
    drain(vi);
    OK(VipDestroyVi(vi));
}

/* a message of 64 bytes each way on a VI without a CQ: both are there. Slots 250 and 251 receive, since the
 * other may be one message ahead; 252 sends. */
static void arm(VIP_VI_HANDLE vi)
{
    OK(VipPostRecv(vi, one(250, data(0), 64), mem));
    OK(VipPostRecv(vi, one(251, data(64), 64), mem));
}

static void meet(VIP_VI_HANDLE vi, const void *say, void *hear)
{
    VIP_DESCRIPTOR *d;
    memcpy(data(128), say, 64);
    OK(VipPostSend(vi, one(252, data(128), 64), mem));
    OK(VipSendWait(vi, TEN_S, &d));
    HOLDS(d == slot(252));
    OK(VipRecvWait(vi, TEN_S, &d));
    IS(d->CS.Length, 64);
    memcpy(hear, d->DS[0].Local.Data.Address, 64);
    OK(VipPostRecv(vi, one(d == slot(250) ? 250 : 251, d->DS[0].Local.Data.Address, 64), mem));
}

static VIP_VI_HANDLE control(const char *name)
{
    VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY, 4096, NULL, NULL);
    arm(vi);
    join(vi, name, rank == 0);
    return vi;
}

static void hush(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *e)
{
    int *n = context;
    __atomic_add_fetch(&n[e->ErrorCode], 1, __ATOMIC_SEQ_CST);
}
static int errors_seen[16];

static void soon(int *counter, int want)
{
    for (int i = 0; i < 500 && __atomic_load_n(counter, __ATOMIC_SEQ_CST) < want; i++)
        usleep(10000);
    IS(__atomic_load_n(counter, __ATOMIC_SEQ_CST), want);
}

/* ---- 1: ping-pong by RDMA Write with Immediate Data, both queues on one CQ ---- */

struct window {
    VIP_UINT64 address;
    VIP_MEM_HANDLE handle;
    char rest[52];
};

static void pingpong_at(VIP_RELIABILITY_LEVEL level)
{
    static const unsigned sizes[] = {0, 1, 3, 64, 1500, 2112, 4096, 65535, 262144, 1048576};
    char name[16];
    VIP_CQ_HANDLE cq;
    snprintf(name, sizeof name, "ping-pong %u", level);
    VIP_VI_HANDLE side = control("ping-pong side");
    struct window mine = {(uintptr_t)data(4096), mem, ""}, theirs;
    meet(side, &mine, &theirs);
    OK(VipCreateCQ(nic, 64, &cq));
    VIP_VI_HANDLE vi = new_vi(level, about.MaxTransferSize, cq, cq);
    for (unsigned i = 0; i < 8; i++)
        OK(VipPostRecv(vi, one(i, NULL, 0), mem));
    join(vi, name, rank == 0);
    unsigned count = 0, sends = 0, posted = 0;
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes && sizes[s] <= about.MaxTransferSize; s++)
        for (unsigned round = 0; round < 20; round++, count++) {
            int mine_now = rank == 1;
            for (int half = 0; half < 2; half++, mine_now = !mine_now) {
                if (mine_now) {
                    memset(data(2 << 20), (int)(count * 2 + (unsigned)rank), sizes[s]);
                    VIP_DESCRIPTOR *d = rdma(16, data(2 << 20), sizes[s], theirs.address, theirs.handle);
                    d->CS.Control |= VIP_CONTROL_IMMEDIATE;
                    d->CS.ImmediateData = count;
                    OK(VipPostSend(vi, d, mem));
                    posted++;
                }
                int heard = mine_now;
                while (!heard || sends < posted) {
                    VIP_VI_HANDLE which;
                    VIP_BOOLEAN recv;
                    VIP_DESCRIPTOR *d;
                    OK(VipCQWait(cq, TEN_S, &which, &recv));
                    HOLDS(which == vi);
                    if (!recv) {
                        OK(VipSendDone(vi, &d));
                        HOLDS(d == slot(16) &&
                              (d->CS.Status & VIP_STATUS_OP_MASK) == VIP_STATUS_OP_RDMA_WRITE);
                        sends++;
                        continue;
                    }
                    OK(VipRecvDone(vi, &d));
                    IS(d->CS.Status & VIP_STATUS_OP_MASK, VIP_STATUS_OP_REMOTE_RDMA_WRITE);
                    HOLDS(d->CS.Status & VIP_STATUS_IMMEDIATE);
                    IS(d->CS.ImmediateData, count);
                    IS(d->CS.Length, sizes[s]);
                    for (unsigned i = 0; i < sizes[s]; i++)
                        if (data(4096)[i] != (unsigned char)(count * 2 + !rank))
                            wrong(__LINE__, "a byte that was written", i);
                    memset(d, 0, sizeof *d);
                    OK(VipPostRecv(vi, d, mem));
                    heard = 1;
                }
            }
        }
    meet(side, &mine, &theirs);
    if (rank == 1) {
        leave(vi);
    } else {
        for (int i = 0; i < 500 && state(vi) != VIP_STATE_ERROR; i++)
            usleep(10000);
        IS(state(vi), VIP_STATE_ERROR);
        leave(vi);
    }
    VIP_VI_HANDLE which;
    VIP_BOOLEAN recv;
    while (VipCQDone(cq, &which, &recv) == VIP_SUCCESS)
        ;
    OK(VipDestroyCQ(cq));
    meet(side, &mine, &theirs);
    leave(side);
}

static void pingpong(void)
{
    OK(VipErrorCallback(nic, errors_seen, hush));
    for (VIP_RELIABILITY_LEVEL level = 1; level <= 4; level <<= 1)
        if (about.ReliabilityLevelSupport & level)
            pingpong_at(level);
}

/* ---- 2: a server of many VIs on one CQ with threads that wait, and clients in threads; two generations ----
 */

enum { VIS = 24, WORKERS = 4, ROUNDS = 40, DEPTH = 3 };
static VIP_CQ_HANDLE farm_cq;
static VIP_VI_HANDLE farm_vi[VIS];
static pthread_mutex_t farm_lock[VIS];
static int farm_done, farm_served, farm_flushed;

static void *worker(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&farm_done, __ATOMIC_SEQ_CST)) {
        VIP_VI_HANDLE vi;
        VIP_BOOLEAN recv;
        VIP_DESCRIPTOR *d = NULL;
        VIP_RETURN r = VipCQWait(farm_cq, 200, &vi, &recv);
        if (r == VIP_TIMEOUT)
            continue;
        OK(r);
        unsigned n = 0;
        while (farm_vi[n] != vi)
            n++;
        pthread_mutex_lock(&farm_lock[n]);
        if (!recv) {
            r = VipSendDone(vi, &d);
            if (r != VIP_DESCRIPTOR_ERROR)
                OK(r);
        } else if ((r = VipRecvDone(vi, &d)) == VIP_DESCRIPTOR_ERROR) {
            HOLDS(d && d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR);
            __atomic_add_fetch(&farm_flushed, 1, __ATOMIC_SEQ_CST);
        } else {
            OK(r);
            unsigned char *at = d->DS[0].Local.Data.Address;
            unsigned length = d->CS.Length, k = (unsigned)(d - slot(0)) / (4096 / sizeof *d);
            for (unsigned i = 0; i < length; i++)
                at[i] ^= 0xFF;
            VIP_DESCRIPTOR *answer = one(k + 100, at + 2048, length);
            memcpy(at + 2048, at, length);
            OK(VipPostRecv(vi, one(k, at, 2048), mem));
            OK(VipPostSend(vi, answer, mem));
            __atomic_add_fetch(&farm_served, 1, __ATOMIC_SEQ_CST);
        }
        pthread_mutex_unlock(&farm_lock[n]);
    }
    return NULL;
}

static void farm_name(char *name, unsigned n)
{
    snprintf(name, 16, "farm %u", n);
}

static void *client(void *number)
{
    unsigned n = (unsigned)(uintptr_t)number;
    char name[16];
    VIP_DESCRIPTOR *d;
    VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY, 4096, NULL, NULL);
    unsigned char *in = data((unsigned long)n * 65536), *out = in + 8192;
    farm_name(name, n);
    OK(VipPostRecv(vi, one(n * 2, in, 2048), mem));
    join(vi, name, 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned length = 1 + (round * 97 + n * 13) % 2000;
        memset(out, (int)(round + n), length);
        OK(VipPostSend(vi, one(n * 2 + 1, out, length), mem));
        OK(VipRecvWait(vi, TEN_S, &d));
        IS(d->CS.Length, length);
        for (unsigned i = 0; i < length; i++)
            HOLDS(in[i] == (unsigned char)~(round + n));
        OK(VipPostRecv(vi, one(n * 2, in, 2048), mem));
        OK(VipSendWait(vi, TEN_S, &d));
    }
    leave(vi);
    return NULL;
}

static void farm(void)
{
    pthread_t threads[VIS];
    OK(VipErrorCallback(nic, errors_seen, hush));
    if (rank == 1) {
        for (int generation = 0; generation < 2; generation++) {
            for (uintptr_t i = 0; i < VIS; i++)
                HOLDS(!pthread_create(&threads[i], NULL, client, (void *)i));
            for (int i = 0; i < VIS; i++)
                pthread_join(threads[i], NULL);
        }
        leave(control("farm's end"));
        return;
    }
    OK(VipCreateCQ(nic, VIS * DEPTH, &farm_cq));
    OK(VipResizeCQ(farm_cq, VIS * DEPTH * 2));
    for (unsigned n = 0; n < VIS; n++) {
        pthread_mutex_init(&farm_lock[n], NULL);
        farm_vi[n] = new_vi(VIP_SERVICE_RELIABLE_DELIVERY, 4096, farm_cq, farm_cq);
    }
    for (int i = 0; i < WORKERS; i++)
        HOLDS(!pthread_create(&threads[i], NULL, worker, NULL));
    for (int generation = 0; generation < 2; generation++) {
        for (unsigned n = 0; n < VIS; n++) {
            char name[16];
            farm_name(name, n);
            pthread_mutex_lock(&farm_lock[n]);
            OK(VipPostRecv(farm_vi[n], one(n, data((unsigned long)n * 65536), 2048), mem));
            pthread_mutex_unlock(&farm_lock[n]);
            join(farm_vi[n], name, 1);
        }
        soon(&errors_seen[VIP_ERROR_CONN_LOST], VIS * (generation + 1));
        soon(&farm_flushed, VIS * (generation + 1));
        for (unsigned n = 0; n < VIS; n++) {
            pthread_mutex_lock(&farm_lock[n]);
            IS(state(farm_vi[n]), VIP_STATE_ERROR);
            OK(VipDisconnect(farm_vi[n]));
            drain(farm_vi[n]);
            pthread_mutex_unlock(&farm_lock[n]);
        }
    }
    farm_done = 1;
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    IS(farm_served, VIS * ROUNDS * 2);
    IS(VipDestroyCQ(farm_cq), VIP_ERROR_RESOURCE);
    for (unsigned n = 0; n < VIS; n++)
        OK(VipDestroyVi(farm_vi[n]));
    OK(VipDestroyCQ(farm_cq));
    VIP_VI_HANDLE end = control("farm's end");
    for (int i = 0; i < 500 && state(end) != VIP_STATE_ERROR; i++)
        usleep(10000);
    leave(end);
}

/* ---- 3: Notify handlers that ask for the next one themselves, and the end of a Connection seen by them ----
 */

static struct {
    int received, sent, empty, flushed;
    VIP_VI_HANDLE vi;
} notes;

static void on_recv(VIP_PVOID context, VIP_NIC_HANDLE n, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
    HOLDS(context == &notes && n == nic && vi == notes.vi);
    if (d == NULL) {
        __atomic_add_fetch(&notes.empty, 1, __ATOMIC_SEQ_CST);
        return;
    }
    if (d->CS.Status & VIP_STATUS_ERROR_MASK) {
        HOLDS(d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR);
        __atomic_add_fetch(&notes.flushed, 1, __ATOMIC_SEQ_CST);
        VipRecvNotify(vi, context, on_recv);
        return;
    }
    int k = __atomic_load_n(&notes.received, __ATOMIC_SEQ_CST);
    IS(d->CS.ImmediateData, k);
    d->CS.Status = 0;
    d->CS.Control = 0;
    OK(VipPostRecv(vi, d, mem));
    OK(VipRecvNotify(vi, context, on_recv));
    __atomic_add_fetch(&notes.received, 1, __ATOMIC_SEQ_CST);
}

static void on_send(VIP_PVOID context, VIP_NIC_HANDLE n, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
    HOLDS(context == &notes && n == nic && vi == notes.vi);
    if (d)
        __atomic_add_fetch(&notes.sent, 1, __ATOMIC_SEQ_CST);
}

static void notify(void)
{
    enum { MESSAGES = 300, POSTED = 10 };
    OK(VipErrorCallback(nic, errors_seen, hush));
    VIP_VI_HANDLE side = control("notify side"),
                  vi = notes.vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY, 4096, NULL, NULL);
    char nothing[64] = "";
    IS(VipSendNotify(vi, &notes, on_send), VIP_DESCRIPTOR_ERROR);
    IS(VipRecvNotify(vi, &notes, on_recv), VIP_DESCRIPTOR_ERROR);
    for (unsigned i = 0; i < POSTED; i++)
        OK(VipPostRecv(vi, one(i, data(4096 + i * 4096), 1024), mem));
    OK(VipRecvNotify(vi, &notes, on_recv));
    join(vi, "notify", rank == 0);
    meet(side, nothing, nothing);
    for (int i = 0; i < MESSAGES; i++) {
        if (i % POSTED == 0) {
            soon(&notes.received, i);
            meet(side, nothing, nothing);
        }
        VIP_DESCRIPTOR *d = one(20 + (unsigned)i % POSTED, data(100000), 1 + (unsigned)i);
        d->CS.Control = VIP_CONTROL_IMMEDIATE;
        d->CS.ImmediateData = (VIP_UINT32)i;
        OK(VipPostSend(vi, d, mem));
        OK(VipSendNotify(vi, &notes, on_send));
        if (i % POSTED == POSTED - 1)
            soon(&notes.sent, i + 1);
    }
    soon(&notes.received, MESSAGES);
    meet(side, nothing, nothing);
    if (rank == 1)
        OK(VipDisconnect(vi));
    soon(&notes.flushed, POSTED);
    if (rank == 0) {
        soon(&errors_seen[VIP_ERROR_CONN_LOST], 1);
        IS(state(vi), VIP_STATE_ERROR);
        IS(VipDestroyVi(vi), VIP_INVALID_STATE);
    } else {
        IS(errors_seen[VIP_ERROR_CONN_LOST], 0);
    }
    leave(vi);
    meet(side, nothing, nothing);
    leave(side);
}

/* ---- 4: large Messages in many odd segments, credits that run out, and what does not fit ---- */

static VIP_DESCRIPTOR *many(unsigned i, unsigned char *at, unsigned length, unsigned pieces)
{
    VIP_DESCRIPTOR *d = slot(i);
    memset(d, 0, 4096);
    d->CS.SegCount = (VIP_UINT16)pieces;
    d->CS.Length = length;
    unsigned done = 0;
    for (unsigned k = 0; k < pieces; k++) {
        unsigned piece = k + 1 == pieces ? length - done : length / pieces - (k % 2 ? 1 : 0);
        if (k == 3)
            piece = 0;
        d->DS[k].Local.Data.Address = at + done;
        d->DS[k].Local.Handle = mem;
        d->DS[k].Local.Length = piece;
        done += piece;
    }
    return d;
}

static void bulk(void)
{
    OK(VipErrorCallback(nic, errors_seen, hush));
    VIP_VI_HANDLE side = control("bulk side");
    char nothing[64] = "";
    unsigned most = about.MaxTransferSize < (1 << 20) ? about.MaxTransferSize : 1 << 20;
    HOLDS(about.MaxSegmentsPerDesc >= 252);
    for (VIP_RELIABILITY_LEVEL level = 2; level <= 4; level <<= 1) {
        VIP_VI_HANDLE vi = new_vi(level, most, NULL, NULL);
        VIP_DESCRIPTOR *d;
        /* slots of 250 and more are of the other VI */
        if (rank == 0)
            OK(VipPostRecv(vi, many(0, data(4096), most, 251), mem));
        join(vi, "bulk", rank == 0);
        for (unsigned round = 0; round < 8; round++) {
            unsigned length = round == 7 ? most : most / 8 * round + round;
            if (rank == 1) {
                for (unsigned i = 0; i < length; i++)
                    data(4096)[i] = (unsigned char)(i * 7 + (i >> 9) + round);
                meet(side, nothing, nothing); /* a credit */
                OK(VipPostSend(vi, many(1, data(4096), length, length > 1000 ? 250 - round : 1), mem));
                OK(VipSendWait(vi, TEN_S, &d));
                IS(d->CS.Length, length);
            } else {
                meet(side, nothing, nothing);
                OK(VipRecvWait(vi, TEN_S, &d));
                IS(d->CS.Length, length);
                for (unsigned i = 0; i < length; i++)
                    if (data(4096)[i] != (unsigned char)(i * 7 + (i >> 9) + round))
                        wrong(__LINE__, "a byte of a large Message", i);
                OK(VipPostRecv(vi, many(0, data(4096), most, 200 + round), mem));
            }
        }
        meet(side, nothing, nothing);
        /* a stall: the sender posts 16, the receiver gives one receive at a time by its own credits */
        if (rank == 1) {
            int credits = 1, sent = 0, got = 0;
            while (got < 16) {
                while (credits && sent < 16) {
                    OK(VipPostSend(vi, one(10 + (unsigned)sent, data(4096), 1000), mem));
                    sent++;
                    credits--;
                }
                char credit[64];
                if (sent < 16) {
                    meet(side, nothing, credit);
                    credits += credit[0];
                }
                while (got < sent) {
                    OK(VipSendWait(vi, TEN_S, &d));
                    got++;
                }
            }
        } else {
            for (int got = 0; got < 16; got++) {
                OK(VipRecvWait(vi, TEN_S, &d));
                IS(d->CS.Length, 1000);
                usleep(20000);
                OK(VipPostRecv(vi, one((unsigned)got % 3, data(4096), 1000), mem));
                char credit[64] = {1};
                if (got < 15)
                    meet(side, credit, nothing);
            }
        }
        meet(side, nothing, nothing);
        /* too long for what waits there: both ends learn it, the Connection is gone */
        if (rank == 1) {
            OK(VipPostSend(vi, one(10, data(4096), 1001), mem));
            VIP_RETURN r = VipSendWait(vi, TEN_S, &d);
            if (level == VIP_SERVICE_RELIABLE_RECEPTION)
                HOLDS(r == VIP_DESCRIPTOR_ERROR &&
                      d->CS.Status & (VIP_STATUS_REMOTE_DESC_ERROR | VIP_STATUS_TRANSPORT_ERROR));
        } else {
            IS(VipRecvWait(vi, TEN_S, &d), VIP_DESCRIPTOR_ERROR);
            HOLDS(d->CS.Status & VIP_STATUS_LENGTH_ERROR);
            IS(state(vi), VIP_STATE_ERROR);
            OK(VipPostSend(vi, one(10, data(4096), 10), mem));
            IS(VipSendWait(vi, TEN_S, &d), VIP_DESCRIPTOR_ERROR);
            HOLDS(d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR);
            leave(vi);
            meet(side, nothing, nothing);
            meet(side, nothing, nothing);
            continue;
        }
        for (int i = 0; i < 500 && state(vi) != VIP_STATE_ERROR; i++)
            usleep(10000);
        IS(state(vi), VIP_STATE_ERROR);
        /* what is posted in the Error state comes back flushed */
        OK(VipPostSend(vi, one(10, data(4096), 10), mem));
        IS(VipSendWait(vi, TEN_S, &d), VIP_DESCRIPTOR_ERROR);
        HOLDS(d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR);
        meet(side, nothing, nothing);
        leave(vi);
        meet(side, nothing, nothing);
    }
    leave(side);
}

/* ---- 5: errors of posting, each on a VI of its own ---- */

static void post_errors(void)
{
    OK(VipErrorCallback(nic, errors_seen, hush));
    VIP_VI_HANDLE side = control("errors side");
    char nothing[64] = "", name[16];
    for (int kind = 0; kind < 9; kind++) {
        VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY, 4096, NULL, NULL);
        snprintf(name, sizeof name, "error %d", kind);
        for (unsigned i = 0; i < 4; i++)
            OK(VipPostRecv(vi, one(i, data(4096 + i * 4096), 4096), mem));
        join(vi, name, rank == 0);
        meet(side, nothing, nothing);
        if (rank == 1) {
            VIP_DESCRIPTOR *d = one(10, data(100000), 100), *done;
            VIP_UINT32 want = 0;
            if (kind == 0) {
                d->CS.Length = 99;
                want = VIP_STATUS_LENGTH_ERROR;
            } else if (kind == 1) {
                d = one(10, data(100000), 4097);
                want = VIP_STATUS_LENGTH_ERROR;
            } else if (kind == 2) {
                d->DS[0].Local.Handle = mem + 77;
                want = VIP_STATUS_PROTECTION_ERROR;
            } else if (kind == 3) {
                d->DS[0].Local.Data.Address = arena - 8192;
                want = VIP_STATUS_PROTECTION_ERROR;
            } else if (kind == 4) {
                d->CS.Control = VIP_CONTROL_OP_RESERVED;
                want = VIP_STATUS_FORMAT_ERROR;
            } else if (kind == 5) {
                d->CS.Reserved = 1;
                want = VIP_STATUS_FORMAT_ERROR;
            } else if (kind == 6) {
                d->CS.Control = 0x4000;
                want = VIP_STATUS_FORMAT_ERROR;
            } else if (kind == 7) {
                d->CS.SegCount = (VIP_UINT16)(about.MaxSegmentsPerDesc + 1);
                want = VIP_STATUS_LENGTH_ERROR;
            } else {
                d = (VIP_DESCRIPTOR *)((char *)d + 8); /* no multiple of 64 */
                memmove(d, slot(10), sizeof *d);
            }
            VIP_RETURN r = VipPostSend(vi, d, mem);
            if (want) {
                OK(r);
                IS(VipSendWait(vi, TEN_S, &done), VIP_DESCRIPTOR_ERROR);
                HOLDS(done == d);
                if (!(done->CS.Status & want))
                    wrong(__LINE__, name, done->CS.Status);
            } else {
                soon(&errors_seen[VIP_ERROR_POST_DESC], 1);
            }
            IS(state(vi), VIP_STATE_ERROR);
            leave(vi);
            meet(side, nothing, nothing);
            continue;
        }
        for (int i = 0; i < 500 && state(vi) != VIP_STATE_ERROR; i++)
            usleep(10000);
        IS(state(vi), VIP_STATE_ERROR);
        leave(vi);
        meet(side, nothing, nothing);
    }
    meet(side, nothing, nothing);
    leave(side);
    /* a queue has an end */
    VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY, 4096, NULL, NULL);
    unsigned long posts = about.MaxDescriptorsPerQueue;
    if (posts < 3000) {
        int before = errors_seen[VIP_ERROR_VI_OVERRUN];
        for (unsigned long i = 0; i < posts; i++) {
            VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(data(0) + i * 64);
            memset(d, 0, sizeof *d);
            OK(VipPostRecv(vi, d, mem));
        }
        IS(state(vi), VIP_STATE_IDLE);
        VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(data(0) + posts * 64);
        memset(d, 0, sizeof *d);
        VipPostRecv(vi, d, mem);
        soon(&errors_seen[VIP_ERROR_VI_OVERRUN], before + 1);
    }
    OK(VipDisconnect(vi));
    drain(vi);
    OK(VipDestroyVi(vi));
}

/* ---- 6: one VI is used again and again: roles change, attributes change, and some ends come in the middle
 * ---- */

static void reuse(void)
{
    OK(VipErrorCallback(nic, errors_seen, hush));
    VIP_VI_HANDLE side = control("reuse side"), vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY, 65536, NULL, NULL);
    char nothing[64] = "", name[16];
    VIP_DESCRIPTOR *d;
    VIP_VI_ATTRIBUTES other, a = {.Ptag = tag, .EnableRdmaWrite = 1};
    for (int k = 0; k < 12; k++) {
        int serves = (k + rank) % 2 == 0;
        snprintf(name, sizeof name, "again %d", k);
        a.ReliabilityLevel = (VIP_RELIABILITY_LEVEL)(k % 3 == 0 ? 2 : k % 3 == 1 ? 4 : 1);
        a.MaxTransferSize = 65536 - (VIP_ULONG)k * 1000;
        OK(VipSetViAttributes(vi, &a));
        for (unsigned i = 0; i < 20; i++)
            OK(VipPostRecv(vi, one(i, data(4096 + i * 65536), 50000), mem));
        OK(try_connect(vi, name, serves, &other));
        HOLDS(other.ReliabilityLevel == a.ReliabilityLevel ||
              (on_tcp && other.ReliabilityLevel != 1 && a.ReliabilityLevel != 1));
        IS(other.MaxTransferSize, a.MaxTransferSize);
        IS(other.EnableRdmaWrite, 1);
        HOLDS(other.Ptag == NULL);
        IS(VipSetViAttributes(vi, &a), VIP_INVALID_STATE);
        VIP_NET_ADDRESS *l = address(NULL, "x", 1), *r = address(rank ? "nodea" : "nodeb", "x", 1);
        IS(VipConnectRequest(vi, l, r, 1000, &other), VIP_INVALID_STATE);
        IS(VipConnectPeerRequest(vi, l, r, 1000), VIP_INVALID_STATE);
        free(l);
        free(r);
        IS(VipDestroyVi(vi), VIP_INVALID_STATE);
        meet(side, nothing, nothing);
        /* one sends 20, and one of the two disconnects in their midst */
        if (serves)
            for (unsigned i = 0; i < 20; i++)
                OK(VipPostSend(vi, one(30 + i, data(2 << 20), 40000), mem));
        if (k % 4 == 0 || !serves) {
            if (k % 2)
                OK(VipRecvWait(vi, TEN_S, &d));
            OK(VipDisconnect(vi));
            IS(state(vi), VIP_STATE_IDLE);
        } else {
            for (int i = 0; i < 500 && state(vi) != VIP_STATE_ERROR; i++)
                usleep(10000);
            IS(state(vi), VIP_STATE_ERROR);
            OK(VipDisconnect(vi));
        }
        int sends = 0, recvs = k % 2 && !serves;
        while (VipSendDone(vi, &d) == VIP_SUCCESS || d)
            sends++;
        while (VipRecvDone(vi, &d) == VIP_SUCCESS || d)
            recvs++;
        IS(sends, serves ? 20 : 0);
        IS(recvs, 20);
        meet(side, nothing, nothing);
    }
    /* attributes that differ: the server may try again with what fits, and the client sees no refusal before
     */
    a.ReliabilityLevel = 2;
    a.MaxTransferSize = 10000;
    OK(VipSetViAttributes(vi, &a));
    if (rank == 0) {
        VIP_CONN_HANDLE c;
        VIP_NET_ADDRESS *mine = address(NULL, "fits", 4), *theirs = address(NULL, "", 0);
        meet(side, nothing, nothing);
        OK(VipConnectWait(nic, mine, TEN_S, theirs, &other, &c));
        IS(theirs->DiscriminatorLen >= 4 && !memcmp(theirs->HostAddress + theirs->HostAddressLen, "fits", 4),
           1);
        VIP_VI_HANDLE wrong_level = new_vi(4, 10000, NULL, NULL), wrong_size = new_vi(2, 9999, NULL, NULL);
        if (!on_tcp) /* VI/TCP tells reliable from unreliable only */
            IS(VipConnectAccept(c, wrong_level), VIP_INVALID_RELIABILITY_LEVEL);
        if (!on_tcp) /* and takes the smaller size */
            IS(VipConnectAccept(c, wrong_size), VIP_INVALID_MTU);
        IS(state(wrong_size), VIP_STATE_IDLE);
        OK(VipConnectAccept(c, vi));
        IS(VipConnectReject(c), VIP_INVALID_PARAMETER);
        OK(VipDestroyVi(wrong_level));
        OK(VipDestroyVi(wrong_size));
        /* and one that is refused */
        meet(side, nothing, nothing);
        OK(VipConnectWait(nic, mine, TEN_S, theirs, &other, &c));
        OK(VipConnectReject(c));
    } else {
        VIP_VI_HANDLE second = new_vi(2, 10000, NULL, NULL);
        meet(side, nothing, nothing);
        OK(try_connect(vi, "fits", 0, &other));
        meet(side, nothing, nothing);
        IS(try_connect(second, "fits", 0, &other), VIP_REJECT);
        IS(state(second), VIP_STATE_IDLE);
        OK(VipDestroyVi(second));
    }
    meet(side, nothing, nothing);
    leave(vi);
    meet(side, nothing, nothing);
    leave(side);
}

/* ---- 7: names, what the NIC says, and Discriminators of every length ---- */

static void names(void)
{
    char file[] = "/tmp/vipl-names-XXXXXX", text[200], found[80];
    VIP_ULONG length = sizeof found;
    int fd = mkstemp(file);
    HOLDS(fd >= 0);
    OK(VipNSShutdown(nic));
    IS(VipNSShutdown(nic), VIP_ERROR_NAMESERVICE);
    VIP_NET_ADDRESS *a = calloc(1, 256);
    a->HostAddressLen = about.NicAddressLen;
    IS(VipNSGetHostByName(nic, "nodea", a, 0), VIP_ERROR_NAMESERVICE);
    int n = snprintf(
        text, sizeof text,
        "# names\n10.1.2.3 Alpha alpha.example\n\n10.1.2.4 alpha\nfe80::1:2 Beta # six\n10.9.9.9\tgamma\n");
    HOLDS(write(fd, text, (size_t)n) == n);
    close(fd);
    OK(VipNSInit(nic, file));
    IS(VipNSInit(nic, file), VIP_ERROR_NAMESERVICE);
    OK(VipNSGetHostByName(nic, "ALPHA", a, 0));
    IS(a->HostAddressLen, about.NicAddressLen);
    OK(VipNSGetHostByAddr(nic, a, found, &length));
    IS(strcmp(found, "Alpha"), 0);
    IS(length, 5);
    a->HostAddressLen = about.NicAddressLen;
    OK(VipNSGetHostByName(nic, "alpha", a, 1));
    IS(VipNSGetHostByName(nic, "alpha", a, 2), VIP_ERROR_NAMESERVICE);
    OK(VipNSGetHostByName(nic, "beta", a, 0));
    length = 2;
    IS(VipNSGetHostByAddr(nic, a, found, &length), VIP_INVALID_PARAMETER);
    IS(length, 5);
    OK(VipNSGetHostByAddr(nic, a, found, &length));
    IS(strcmp(found, "Beta"), 0);
    IS(VipNSGetHostByName(nic, "delta", a, 0), VIP_ERROR_NAMESERVICE);
    OK(VipNSShutdown(nic));
    IS(VipNSInit(nic, "/nowhere/at/all"), VIP_INVALID_PARAMETER);
    OK(VipNSInit(nic, NULL));
    unlink(file);
    free(a);
    HOLDS(about.MaxDiscriminatorLen >= 16 && about.MaxPtags >= about.MaxVI && about.MaxVI > 0 &&
          about.MaxCQ > 0);
    HOLDS(about.ReliabilityLevelSupport & VIP_SERVICE_UNRELIABLE && about.MaxTransferSize >= 32 * 1024 &&
          about.NativeMTU > 0);
    VIP_VI_HANDLE side = control("names side"), vi = new_vi(2, 4096, NULL, NULL);
    char nothing[64] = "";
    for (unsigned l = 1; l <= about.MaxDiscriminatorLen; l += l < 20 ? 1 : 97) {
        char disc[256];
        VIP_VI_ATTRIBUTES other;
        memset(disc, 'a' + (int)(l % 26), sizeof disc);
        VIP_NET_ADDRESS *mine = address(NULL, disc, l), *theirs = address(rank ? "nodea" : "nodeb", disc, l);
        if (rank == 0) {
            VIP_CONN_HANDLE c;
            meet(side, nothing, nothing);
            OK(VipConnectWait(nic, mine, TEN_S, theirs, &other, &c));
            IS(theirs->DiscriminatorLen, l);
            IS(memcmp(theirs->HostAddress + theirs->HostAddressLen, disc, l), 0);
            OK(VipConnectAccept(c, vi));
        } else {
            VIP_RETURN r;
            meet(side, nothing, nothing);
            while ((r = VipConnectRequest(vi, mine, theirs, TEN_S, &other)) == VIP_NO_MATCH)
                usleep(20000);
            OK(r);
        }
        free(mine);
        free(theirs);
        meet(side, nothing, nothing);
        OK(VipDisconnect(vi));
        meet(side, nothing, nothing);
    }
    OK(VipDestroyVi(vi));
    leave(side);
}

static const struct {
    const char *name;
    void (*run)(void);
} programs[] = {{"pingpong", pingpong},       {"farm", farm},   {"notify", notify}, {"bulk", bulk},
                {"post_errors", post_errors}, {"reuse", reuse}, {"names", names}};

int main(int argc, char **argv)
{
    HOLDS(argc > 3);
    rank = atoi(argv[3]);
    OK(VipOpenNic(argv[2], &nic));
    OK(VipQueryNic(nic, &about));
    on_tcp = argc > 4 && !strcmp(argv[4], "tcp");
    OK(VipNSInit(nic, NULL));
    OK(VipCreatePtag(nic, &tag));
    VIP_MEM_ATTRIBUTES a = {.Ptag = tag, .EnableRdmaWrite = 1};
    arena = aligned_alloc(4096, ARENA);
    memset(arena, 0, ARENA);
    OK(VipRegisterMem(nic, arena, ARENA, &a, &mem));
    printf("open\n");
    fflush(stdout);
    for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++)
        if (!strcmp(programs[i].name, argv[1])) {
            programs[i].run();
            OK(VipDeregisterMem(nic, arena, mem));
            OK(VipDestroyPtag(nic, tag));
            OK(VipNSShutdown(nic));
            OK(VipCloseNic(nic));
            return 0;
        }
    fprintf(stderr, "no program %s\n", argv[1]);
    return 2;
}
