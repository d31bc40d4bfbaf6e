/* More of what programs of VIPL did: peers, Notify handlers of threads, queues that are shared, endings while
 * something is pending, and Descriptors of every shape. As program.c. */
#include "program.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void receive_to(VIP_VI_HANDLE vi, unsigned place, unsigned char *at, VIP_UINT32 length)
{
    OK(VipPostRecv(vi, descriptor(place, at, length), handle));
}

static void send_from(VIP_VI_HANDLE vi, unsigned place, unsigned char *at, VIP_UINT32 length)
{
    OK(VipPostSend(vi, descriptor(place, at, length), handle));
}

static VIP_DESCRIPTOR *await_recv(VIP_VI_HANDLE vi)
{
    VIP_DESCRIPTOR *d;
    OK(VipRecvWait(vi, PATIENCE_MS, &d));
    return d;
}

/* Both send one Message and have one. */
static void greet(VIP_VI_HANDLE vi)
{
    send_from(vi, 50, memory + ROOM - 256, 32);
    await_send(vi);
    NEED(await_recv(vi)->CS.Length == 32);
}

/* From here on both NICs are open. */
static void meet(void)
{
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    receive_to(vi, 63, memory + 40960, 64);
    connect_vi(vi, TAG - 1);
    part(vi);
}

/* VI-DG 3.3.6 to 3.3.8: both ask, and nobody waits. One polls for the end of it, the other blocks. The two
 * Discriminators of the remote addresses are the same (VI-DG 6.7). */
static void peers(void)
{
    meet();
    for (unsigned round = 0; round < 3; round++) {
        VIP_VI_HANDLE vi = new_vi(NULL, NULL);
        VIP_VI_ATTRIBUTES remote = {.MaxTransferSize = 0};
        VIP_RETURN vip = VIP_NOT_DONE;
        receive_to(vi, 0, memory + 65536, 64);
        receive_to(vi, 1, memory + 65536 + 64, 64);
        usleep(rank == (int)round % 2 ? 30000 : 0);
        for (double end = now() + 20; now() < end;) {
            vip = VipConnectPeerRequest(vi, address(NULL, 1000 + (unsigned)rank),
                                        address(rank == 0 ? "nodeb" : "nodea", TAG + round), 5000);
            OK(vip);
            NEED(VipConnectPeerRequest(vi, address(NULL, 1), address("nodea", 2), 1000) == VIP_INVALID_STATE);
            if (rank == 0)
                while ((vip = VipConnectPeerDone(vi, &remote)) == VIP_NOT_DONE)
                    continue;
            else
                vip = VipConnectPeerWait(vi, &remote);
            if (vip != VIP_NO_MATCH && vip != VIP_NOT_REACHABLE)
                break;
        }
        OK(vip);
        NEED(remote.ReliabilityLevel == VIP_SERVICE_RELIABLE_DELIVERY && remote.MaxTransferSize > 0);
        NEED(VipConnectPeerDone(vi, &remote) == VIP_INVALID_STATE);
        greet(vi);
        part(vi);
    }
}

/* Nobody asks: each call says so once, after the Timeout; then the VI is Idle and can be used. */
static void peer_alone(void)
{
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    VIP_VI_ATTRIBUTES remote;
    VIP_RETURN vip;
    receive_to(vi, 0, memory + 65536, 64);
    if (rank == 1) {
        NEED(VipConnectPeerWait(vi, &remote) == VIP_INVALID_STATE);
        NEED(VipConnectPeerRequest(vi, address(NULL, 1), address("nodea", 2), 0) == VIP_INVALID_PARAMETER);
        for (unsigned blocks = 0; blocks < 2; blocks++) {
            double began = now();
            OK(VipConnectPeerRequest(vi, address(NULL, 1), address("nodea", 2), 300));
            while ((vip = (blocks ? VipConnectPeerWait : VipConnectPeerDone)(vi, &remote)) == VIP_NOT_DONE)
                NEED(!blocks && now() < began + 10);
            NEED(vip == VIP_TIMEOUT && now() - began > 0.29);
            NEED(state_of(vi) == VIP_STATE_IDLE);
        }
    }
    connect_vi(vi, TAG);
    part(vi);
}

enum { HANDLED = 6, EACH = 25 };
static VIP_VI_HANDLE vis[HANDLED];
static unsigned heard[HANDLED], told[HANDLED];

static unsigned number_of(VIP_VI_HANDLE vi)
{
    unsigned n = 0;
    while (vis[n] != vi)
        n++;
    return n;
}

static void on_recv(VIP_PVOID context, VIP_NIC_HANDLE of, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
    unsigned n = number_of(vi);
    pthread_mutex_lock(&lock);
    NEED(context == &heard[n] && of == nic && d != NULL);
    if ((d->CS.Status & VIP_STATUS_ERROR_MASK) == 0) {
        heard[n]++;
        if (heard[n] < EACH) {
            d->CS.Length = d->DS[0].Local.Length;
            OK(VipPostRecv(vi, d, handle));
            OK(VipRecvNotify(vi, context, on_recv));
        }
    }
    pthread_mutex_unlock(&lock);
}

static void on_send(VIP_PVOID context, VIP_NIC_HANDLE of, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
    unsigned n = number_of(vi);
    pthread_mutex_lock(&lock);
    NEED(context == &told[n] && of == nic && d != NULL && (d->CS.Status & VIP_STATUS_ERROR_MASK) == 0);
    told[n]++;
    pthread_mutex_unlock(&lock);
}

/* A thread holds a lock of the program's around each call, and the handlers want it (VI-DG 3.5.12: they run
 * in a thread of their own). */
static void *notified(void *context)
{
    unsigned n = (unsigned)(uintptr_t)context;
    for (unsigned i = 0; i < EACH;) {
        pthread_mutex_lock(&lock);
        bool next = told[n] == i && heard[n] >= i;
        if (next) {
            send_from(vis[n], n, memory + 65536 + n * PAGE, 100 + i);
            OK(VipSendNotify(vis[n], &told[n], on_send));
            i++;
        }
        pthread_mutex_unlock(&lock);
        usleep(200);
    }
    return NULL;
}

static bool all(const unsigned *count)
{
    bool enough = true;
    pthread_mutex_lock(&lock);
    for (unsigned n = 0; n < HANDLED; n++)
        enough = enough && count[n] == EACH;
    pthread_mutex_unlock(&lock);
    return enough;
}

/* Each side sends on when it has heard as much: two Receives are enough. */
static void notify(void)
{
    VIP_VI_HANDLE end_of_it = new_vi(NULL, NULL);
    pthread_t thread[HANDLED];
    memset(heard, 0, sizeof heard);
    memset(told, 0, sizeof told);
    receive_to(end_of_it, 60, memory + 40960, 64);
    receive_to(end_of_it, 61, memory + 40960 + 64, 64);
    for (unsigned n = 0; n < HANDLED; n++) {
        vis[n] = new_vi(NULL, NULL);
        NEED(VipRecvNotify(vis[n], &heard[n], on_recv) == VIP_DESCRIPTOR_ERROR); /* nothing is posted */
        for (unsigned i = 0; i < 2; i++) {
            receive_to(vis[n], 20 + n * 2 + i, memory + 131072 + (n * 2 + i) * PAGE, PAGE);
            OK(VipRecvNotify(vis[n], &heard[n], on_recv));
        }
        connect_vi(vis[n], TAG + n);
    }
    connect_vi(end_of_it, TAG + HANDLED);
    for (uintptr_t n = 0; n < HANDLED; n++)
        NEED(pthread_create(&thread[n], NULL, notified, (void *)n) == 0);
    for (unsigned n = 0; n < HANDLED; n++)
        NEED(pthread_join(thread[n], NULL) == 0);
    for (double end = now() + 20; !all(heard) || !all(told); usleep(1000))
        NEED(now() < end);
    greet(end_of_it);
    part(end_of_it);
    for (unsigned n = 0; n < HANDLED; n++)
        (void)VipDisconnect(vis[n]);
}

/* Takes what is in a Completion Queue until so many of each queue were there; polls and waits in turn. */
static void empty(VIP_CQ_HANDLE cq, unsigned sends, unsigned receives)
{
    VIP_DESCRIPTOR *d;
    VIP_VI_HANDLE of;
    VIP_BOOLEAN recv;
    for (unsigned i = 0; sends + receives > 0; i++) {
        VIP_RETURN vip = VIP_NOT_DONE;
        while (i % 2 == 0 && (vip = VipCQDone(cq, &of, &recv)) == VIP_NOT_DONE)
            continue;
        OK(i % 2 == 0 ? vip : VipCQWait(cq, EVENT_MS, &of, &recv));
        OK((recv ? VipRecvDone : VipSendDone)(of, &d));
        NEED((recv ? receives : sends) > 0);
        *(recv ? &receives : &sends) -= 1;
    }
}

/* Many VIs with both queues in one Completion Queue, which is made larger and smaller. */
static void queues(void)
{
    VIP_CQ_HANDLE cq;
    VIP_DESCRIPTOR *d;
    VIP_VI_HANDLE of;
    VIP_BOOLEAN recv;
    OK(VipCreateCQ(nic, 4, &cq));
    NEED(VipCQDone(cq, &of, &recv) == VIP_NOT_DONE && VipCQWait(cq, 0, &of, &recv) == VIP_TIMEOUT);
    OK(VipResizeCQ(cq, 500));
    for (unsigned n = 0; n < HANDLED; n++) {
        vis[n] = new_vi(cq, cq);
        for (unsigned i = 0; i < 9; i++)
            receive_to(vis[n], 64 + n * 16 + i, memory + 131072 + n * PAGE + i * 64, 64);
        NEED(VipRecvWait(vis[n], 10, &d) == VIP_ERROR_RESOURCE && VipRecvDone(vis[n], &d) == VIP_NOT_DONE);
        connect_vi(vis[n], TAG + n);
    }
    NEED(VipDestroyCQ(cq) == VIP_ERROR_RESOURCE);
    for (unsigned i = 0; i < 8 * HANDLED; i++)
        send_from(vis[i % HANDLED], i, memory + 65536, 1 + i);
    empty(cq, 8 * HANDLED, (8 + (unsigned)rank) * HANDLED); /* the last ones of rank 0, too */
    OK(VipResizeCQ(cq, 100));
    for (unsigned n = 0; n < HANDLED && rank == 0; n++)
        send_from(vis[n], n, memory + 65536, 4);
    empty(cq, rank == 0 ? HANDLED : 0, 0);
    for (unsigned n = 0; n < HANDLED; n++) {
        for (double end = now() + 10; rank == 0 && state_of(vis[n]) == VIP_STATE_CONNECTED; usleep(1000))
            NEED(now() < end);
        OK(VipDisconnect(vis[n]));
        while (VipRecvDone(vis[n], &d) != VIP_NOT_DONE && d != NULL)
            continue;
        while (VipCQDone(cq, &of, &recv) == VIP_SUCCESS)
            continue;
        OK(VipDestroyVi(vis[n]));
    }
    OK(VipDestroyCQ(cq));
}

/* Sends are pending that nobody receives, and Receives that nobody sends to: a Disconnect flushes them in
 * their order, and the VI is used again (VI-DG 3.3.5). */
static void pending(void)
{
    enum { POSTED = 12 };
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    VIP_DESCRIPTOR *d;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < POSTED; i++)
            receive_to(vi, i, memory + 131072 + i * 64, 64);
        connect_vi(vi, TAG + round);
        NEED(VipDestroyVi(vi) == VIP_INVALID_STATE);
        if (rank == (int)round % 2) {
            for (unsigned i = 0; i < POSTED; i++)
                send_from(vi, 20 + i, memory + 65536, 64);
        } else {
            NEED(await_recv(vi) == (void *)memory);
        }
        OK(VipDisconnect(vi));
        NEED(state_of(vi) == VIP_STATE_IDLE && VipDestroyVi(vi) == VIP_INVALID_STATE);
        unsigned next = rank == (int)round % 2 ? 0 : 1;
        bool flushed = false;
        for (VIP_RETURN vip; (vip = VipRecvDone(vi, &d)) != VIP_DESCRIPTOR_ERROR || d != NULL; next++) {
            NEED(d == (void *)(memory + (size_t)next * 128) && (d->CS.Status & VIP_STATUS_DONE) != 0);
            flushed = (vip == VIP_DESCRIPTOR_ERROR && (d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR) != 0);
            NEED(flushed || vip == VIP_SUCCESS);
        }
        NEED(next == POSTED);
        for (next = 0; VipSendDone(vi, &d) != VIP_NOT_DONE && d != NULL; next++)
            NEED(d == (void *)(memory + (size_t)(20 + next) * 128));
        NEED(next == (rank == (int)round % 2 ? POSTED : 0));
    }
    meet(); /* nobody leaves while the other waits for its answer */
    OK(VipDestroyVi(vi));
    NEED(VipDestroyVi(vi) == VIP_INVALID_PARAMETER);
}

/* What is in use is not taken away; what is gone is no handle any more. */
static void order(void)
{
    VIP_CQ_HANDLE cq;
    VIP_PROTECTION_HANDLE tag;
    VIP_MEM_ATTRIBUTES m = {.EnableRdmaWrite = VIP_FALSE};
    VIP_MEM_HANDLE region;
    VIP_DESCRIPTOR *d;
    OK(VipCreateCQ(nic, 10, &cq));
    OK(VipCreatePtag(nic, &tag));
    VIP_PROTECTION_HANDLE usual = ptag;
    ptag = tag;
    VIP_VI_HANDLE vi = new_vi(NULL, cq);
    ptag = usual;
    m.Ptag = tag;
    OK(VipRegisterMem(nic, memory + PAGE, PAGE, &m, &region));
    NEED(VipDestroyPtag(nic, tag) != VIP_SUCCESS);
    d = descriptor(32, memory + PAGE, 64);
    d->DS[0].Local.Handle = region;
    OK(VipPostRecv(vi, d, region));
    NEED(VipDestroyVi(vi) == VIP_INVALID_STATE && VipDestroyCQ(cq) == VIP_ERROR_RESOURCE);
    OK(VipDisconnect(vi)); /* in Idle, for the Receives (VI-DG 3.3.5) */
    NEED(VipRecvDone(vi, &d) == VIP_DESCRIPTOR_ERROR && d != NULL);
    NEED((d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR) != 0);
    OK(VipDestroyVi(vi));
    OK(VipDestroyCQ(cq));
    OK(VipDeregisterMem(nic, memory + PAGE, region));
    NEED(VipDeregisterMem(nic, memory + PAGE, region) == VIP_INVALID_PARAMETER);
    OK(VipDestroyPtag(nic, tag));
    NEED(VipRegisterMem(nic, memory, PAGE, &m, &region) == VIP_INVALID_PTAG);
    NEED(VipPostRecv(vi, d, handle) == VIP_INVALID_PARAMETER && VipRecvDone(vi, &d) == VIP_INVALID_PARAMETER);
}

static void swap_places(VIP_VI_HANDLE vi, uint64_t *to, VIP_MEM_HANDLE *there)
{
    struct place {
        uint64_t at;
        VIP_MEM_HANDLE handle;
    } *mine = (void *)(memory + 32768), *theirs = (void *)(memory + 32768 + 64);
    *mine = (struct place){(uintptr_t)memory + 262144, handle};
    receive_to(vi, 48, (unsigned char *)theirs, sizeof *theirs);
    for (unsigned i = 0; i < 4; i++)
        receive_to(vi, i, memory + 131072, 64);
    receive_to(vi, 4, memory + 131072 + 64, 64);
    connect_vi(vi, TAG);
    send_from(vi, 49, (unsigned char *)mine, sizeof *mine);
    await_send(vi);
    NEED(await_recv(vi)->CS.Length == sizeof *theirs);
    *to = theirs->at;
    *there = theirs->handle;
}

/* RDMA Writes with Immediate Data take a Receive and put nothing into it; large ones, none of zero bytes
 * lost, and RDMA Reads (VI-DG 5.2). */
static void rdma(void)
{
    static const VIP_UINT32 lengths[] = {0, 1, 4096, 300000}, places[] = {0, 64, 128, 8192};
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    unsigned char *from = memory + 655360, *in = memory + 262144, untouched[64];
    uint64_t to;
    VIP_MEM_HANDLE there;
    swap_places(vi, &to, &there);
    memset(memory + 131072, 7, 64);
    memset(untouched, 7, sizeof untouched);
    for (unsigned i = 0; i < 4; i++) {
        VIP_DESCRIPTOR *d;
        memset(from, (int)(i + 1), lengths[i]);
        d = write_descriptor(10, from, lengths[i], to + places[i], there);
        d->CS.SegCount = lengths[i] > 0 ? 2 : 1;
        d->CS.Control |= VIP_CONTROL_IMMEDIATE;
        d->CS.ImmediateData = 1000 + i;
        OK(VipPostSend(vi, d, handle));
        await_send(vi);
        NEED((d->CS.Status & VIP_STATUS_OP_MASK) == VIP_STATUS_OP_RDMA_WRITE && d->CS.Length == lengths[i]);
        d = await_recv(vi);
        NEED((d->CS.Status & VIP_STATUS_OP_MASK) == VIP_STATUS_OP_REMOTE_RDMA_WRITE);
        NEED((d->CS.Status & VIP_STATUS_IMMEDIATE) != 0 && d->CS.ImmediateData == 1000 + i);
        NEED(d->CS.Length == lengths[i]);
        for (VIP_UINT32 k = 0; k < lengths[i]; k++)
            NEED(in[places[i] + k] == i + 1);
        NEED(memcmp(memory + 131072, untouched, sizeof untouched) == 0);
    }
    for (unsigned i = 0; i < 3; i++) { /* the last round put there what is read now */
        VIP_DESCRIPTOR *d = write_descriptor(11, from, 200000 + i, to + places[3], there);
        memset(from, 0, 200000 + i);
        d->CS.Control = VIP_CONTROL_OP_RDMAREAD;
        OK(VipPostSend(vi, d, handle));
        await_send(vi);
        NEED(d->CS.Length == 200000 + i && from[0] == 4 && from[200000 + i - 1] == 4);
    }
    part(vi);
}

/* A Descriptor of as many segments as the NIC allows; each lies 700 bytes behind the one before. */
static VIP_DESCRIPTOR *wide(unsigned char *at, bool out)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(void *)(memory + 16384);
    VIP_DATA_SEGMENT *s = (VIP_DATA_SEGMENT *)(void *)d->DS;
    memset(d, 0, sizeof d->CS + attributes.MaxSegmentsPerDesc * sizeof *s);
    d->CS.SegCount = (VIP_UINT16)attributes.MaxSegmentsPerDesc;
    for (unsigned i = 0; i < attributes.MaxSegmentsPerDesc; i++, at += 700) {
        s[i] = (VIP_DATA_SEGMENT){.Data.Address = at, .Handle = handle, .Length = 300};
        if (out)
            s[i].Length = i % 5 == 0 ? 0 : i % 7 * 100;
        d->CS.Length += s[i].Length;
    }
    return d;
}

/* Its bytes are counted; true when what is there is what was put there. */
static bool counted(const VIP_DESCRIPTOR *d, VIP_UINT32 length, bool put)
{
    const VIP_DATA_SEGMENT *s = (const VIP_DATA_SEGMENT *)(const void *)d->DS;
    VIP_UINT32 done = 0;
    bool same = true;
    for (unsigned i = 0; i < d->CS.SegCount; i++)
        for (VIP_UINT32 k = 0; k < s[i].Length && done < length; k++, done++) {
            unsigned char *at = (unsigned char *)s[i].Data.Address + k;
            *at = put ? (unsigned char)(done * 7 + done / 251) : *at;
            same = same && *at == (unsigned char)(done * 7 + done / 251);
        }
    return same && done == length;
}

/* Messages of no bytes, with and without Immediate Data and an empty segment; then one in as many segments as
 * there may be, gathered and scattered. */
static void shapes(void)
{
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    VIP_DESCRIPTOR *d = wide(memory + 262144, rank == 1);
    const VIP_UINT32 total = 60000;
    NEED(attributes.MaxSegmentsPerDesc >= 252); /* VI-DG 5.1 */
    for (unsigned i = 0; i < 4; i++)
        receive_to(vi, i, memory + 131072, i == 3 ? 0 : 64);
    if (rank == 0)
        OK(VipPostRecv(vi, d, handle));
    connect_vi(vi, TAG);
    for (unsigned i = 0; i < 4 && rank == 1; i++) {
        VIP_DESCRIPTOR *empty = descriptor(20, memory + 131072, 0);
        empty->CS.SegCount = i == 2;
        empty->CS.Control = i % 2 == 1 ? VIP_CONTROL_IMMEDIATE : 0;
        empty->CS.ImmediateData = i;
        OK(VipPostSend(vi, empty, handle));
        await_send(vi);
    }
    for (unsigned i = 0; i < 4 && rank == 0; i++) {
        VIP_DESCRIPTOR *empty = await_recv(vi);
        NEED(empty->CS.Length == 0 && ((empty->CS.Status & VIP_STATUS_IMMEDIATE) != 0) == (i % 2 == 1));
        NEED(i % 2 == 0 || empty->CS.ImmediateData == i);
    }
    if (rank == 1) {
        NEED(counted(d, d->CS.Length, true));
        OK(VipPostSend(vi, d, handle));
        await_send(vi);
    } else {
        NEED(await_recv(vi) == d && d->CS.Length > total && counted(d, d->CS.Length, false));
    }
    part(vi);
}

/* The two ends have to have the same MaxTransferSize (VI-DG 3.3.2), which is changed in Idle alone. A Send
 * that is longer completes in error, and both hear of the end. */
static void transfer_sizes(void)
{
    VIP_VI_ATTRIBUTES v = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
                           .MaxTransferSize = 8192,
                           .Ptag = ptag},
                      remote;
    VIP_VI_HANDLE vi;
    VIP_VI_STATE state;
    VIP_BOOLEAN a, b;
    VIP_CONN_HANDLE conn;
    VIP_DESCRIPTOR *d;
    OK(VipCreateVi(nic, &v, NULL, NULL, &vi));
    v.MaxTransferSize = 2048;
    OK(VipSetViAttributes(vi, &v));
    OK(VipQueryVi(vi, &state, &v, &a, &b));
    NEED(v.MaxTransferSize == 2048 && a == VIP_TRUE && b == VIP_TRUE);
    v.MaxTransferSize = attributes.MaxTransferSize + 1;
    NEED(VipSetViAttributes(vi, &v) == VIP_INVALID_MTU);
    v.MaxTransferSize = 2048;
    receive_to(vi, 0, memory + 131072, 4096);
    receive_to(vi, 1, memory + 131072, 4096);
    if (rank == 0) {
        OK(VipConnectWait(nic, address(NULL, TAG), PATIENCE_MS, new_address(), &remote, &conn));
        NEED(remote.MaxTransferSize == 2048);
        OK(VipConnectAccept(conn, vi));
        NEED(VipSetViAttributes(vi, &v) == VIP_INVALID_STATE);
        NEED(await_recv(vi)->CS.Length == 2048);
        NEED(VipRecvWait(vi, EVENT_MS, &d) == VIP_DESCRIPTOR_ERROR && d != NULL);
        NEED((d->CS.Status & VIP_STATUS_ERROR_MASK) != 0 && state_of(vi) == VIP_STATE_ERROR);
    } else {
        ask(vi, TAG);
        send_from(vi, 2, memory + 65536, 2048);
        await_send(vi);
        send_from(vi, 2, memory + 65536, 2049);
        NEED(VipSendWait(vi, EVENT_MS, &d) == VIP_DESCRIPTOR_ERROR);
        NEED((d->CS.Status & VIP_STATUS_LENGTH_ERROR) != 0 && state_of(vi) == VIP_STATE_ERROR);
    }
    OK(VipDisconnect(vi));
    NEED(state_of(vi) == VIP_STATE_IDLE);
}

/* A server that refuses twice, and then takes the client that asks again. */
static void refused(void)
{
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE conn;
    receive_to(vi, 0, memory + 131072, 64);
    for (unsigned refusals = 0; refusals < 2;) {
        if (rank == 0) {
            OK(VipConnectWait(nic, address(NULL, TAG), PATIENCE_MS, new_address(), &remote, &conn));
            OK(VipConnectReject(conn));
            NEED(VipConnectAccept(conn, vi) == VIP_INVALID_PARAMETER);
            refusals++;
            continue;
        }
        VIP_RETURN vip = VipConnectRequest(vi, address(NULL, 7), address("nodea", TAG), PATIENCE_MS, &remote);
        NEED(vip == VIP_REJECT || vip == VIP_NO_MATCH || vip == VIP_NOT_REACHABLE);
        NEED(state_of(vi) == VIP_STATE_IDLE);
        refusals += vip == VIP_REJECT;
    }
    connect_vi(vi, TAG);
    part(vi);
}

static unsigned errors[8];
static VIP_ERROR_DESCRIPTOR last_error;
static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    pthread_mutex_lock(&lock);
    NEED(context == errors && error->NicHandle == nic);
    if (error->ErrorCode < 8)
        errors[error->ErrorCode]++;
    last_error = *error;
    pthread_mutex_unlock(&lock);
}

static bool was_told(VIP_ERROR_CODE code, VIP_VI_HANDLE vi)
{
    bool told_it = false;
    for (double end = now() + 10; !told_it && now() < end; usleep(1000)) {
        pthread_mutex_lock(&lock);
        told_it = errors[code] > 0 && last_error.ErrorCode == code && last_error.ViHandle == vi;
        pthread_mutex_unlock(&lock);
    }
    return told_it;
}

/* A Descriptor that is not aligned, a Message that nobody has posted a Receive for, and a peer that leaves:
 * the handler hears of each (VI-DG 3.8.1), while a thread of the program's has its lock. */
static void errors_told(void)
{
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    VIP_DESCRIPTOR *d;
    memset(errors, 0, sizeof errors);
    OK(VipErrorCallback(nic, errors, on_error));
    pthread_mutex_lock(&lock);
    (void)VipPostRecv(vi, (VIP_DESCRIPTOR *)(void *)(memory + 32), handle);
    pthread_mutex_unlock(&lock);
    NEED(was_told(VIP_ERROR_POST_DESC, vi) && state_of(vi) == VIP_STATE_ERROR);
    OK(VipDisconnect(vi));
    NEED(state_of(vi) == VIP_STATE_IDLE);
    connect_vi(vi, TAG);
    if (rank == 0) {
        NEED(was_told(VIP_ERROR_RECVQ_EMPTY, vi));
    } else {
        send_from(vi, 0, memory + 65536, 64);
        VIP_RETURN vip = VipSendWait(vi, EVENT_MS, &d); /* good when it is out (VI-ARCH 2.5.2) */
        NEED(d != NULL && (vip == VIP_SUCCESS) == ((d->CS.Status & VIP_STATUS_ERROR_MASK) == 0));
    }
    for (double end = now() + 10; state_of(vi) != VIP_STATE_ERROR; usleep(1000))
        NEED(now() < end);
    OK(VipDisconnect(vi));
    memset(errors, 0, sizeof errors);
    connect_vi(vi, TAG + 1);
    if (rank == 0)
        NEED(was_told(VIP_ERROR_CONN_LOST, vi));
    (void)VipDisconnect(vi);
    OK(VipErrorCallback(nic, NULL, quiet));
}

static void *wait_alone(void *context)
{
    VIP_DESCRIPTOR *d = NULL;
    VIP_RETURN *vip = context;
    *vip = VipRecvWait(vis[0], VIP_INFINITE, &d);
    NEED(d != NULL && (*vip == VIP_SUCCESS || (d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR) != 0));
    return NULL;
}

/* Threads wait on one queue, each for a Descriptor; what a Disconnect flushes wakes those that are left. A
 * Wait ends at its time and not before. */
static void waits(void)
{
    enum { WAITING = 6, SENT = 3 };
    pthread_t thread[WAITING];
    VIP_RETURN vip[WAITING];
    VIP_DESCRIPTOR *d;
    unsigned good = 0;
    vis[0] = new_vi(NULL, NULL);
    for (unsigned i = 0; i < WAITING; i++)
        receive_to(vis[0], i, memory + 131072, 64);
    connect_vi(vis[0], TAG);
    if (rank == 0) {
        double began = now();
        NEED(VipRecvWait(vis[0], 0, &d) == VIP_TIMEOUT && VipRecvWait(vis[0], 150, &d) == VIP_TIMEOUT);
        NEED(now() - began > 0.149 && now() - began < 5);
        for (unsigned i = 0; i < WAITING; i++)
            NEED(pthread_create(&thread[i], NULL, wait_alone, &vip[i]) == 0);
        usleep(20000);
        send_from(vis[0], 20, memory + 65536, 4); /* now */
        await_send(vis[0]);
        for (unsigned i = 0; i < WAITING; i++) {
            NEED(pthread_join(thread[i], NULL) == 0);
            good += vip[i] == VIP_SUCCESS;
        }
        NEED(good == SENT);
    } else {
        (void)await_recv(vis[0]);
        for (unsigned i = 0; i < SENT; i++) {
            send_from(vis[0], 20, memory + 65536, 10 + i);
            await_send(vis[0]);
        }
    }
    (void)VipDisconnect(vis[0]);
}

/* Both sides post all they have before they take anything; no byte may be lost, and nobody may stand still.
 */
static void flood(void)
{
    enum { LONG = 60000, AT_ONCE = 12 };
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    unsigned char *bytes = malloc(2 * AT_ONCE * LONG), *in = bytes + AT_ONCE * LONG;
    VIP_MEM_ATTRIBUTES m = {.Ptag = ptag};
    VIP_MEM_HANDLE region, usual = handle;
    NEED(bytes != NULL);
    OK(VipRegisterMem(nic, bytes, 2 * AT_ONCE * LONG, &m, &region));
    handle = region;
    for (unsigned i = 0; i < AT_ONCE; i++) {
        VIP_DESCRIPTOR *d = descriptor(i, in + i * LONG, LONG);
        handle = usual;
        OK(VipPostRecv(vi, d, handle));
        handle = region;
    }
    handle = usual;
    receive_to(vi, 50, memory + 65536, 64);
    receive_to(vi, 51, memory + 65536, 64);
    receive_to(vi, 52, memory + 65536, 64);
    connect_vi(vi, TAG);
    for (unsigned i = 0; i < AT_ONCE; i++) {
        memset(bytes + i * LONG, (int)(i * 16 + (unsigned)rank), LONG);
        VIP_DESCRIPTOR *d = descriptor(20 + i, bytes + i * LONG, LONG - i);
        d->DS[0].Local.Handle = region;
        OK(VipPostSend(vi, d, handle));
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        VIP_DESCRIPTOR *d = await_recv(vi);
        NEED(d == (void *)(memory + (size_t)i * 128) && d->CS.Length == LONG - i);
        for (unsigned k = 0; k < LONG - i; k++)
            NEED(in[i * LONG + k] == (unsigned char)(i * 16 + !rank));
        await_send(vi);
    }
    greet(vi);
    part(vi);
    OK(VipDeregisterMem(nic, bytes, region));
    free(bytes);
}

/* On Unreliable Delivery nobody hears of a Message without a Receive, and the Connection goes on. */
static void unreliable(void)
{
    VIP_VI_ATTRIBUTES v = {.ReliabilityLevel = VIP_SERVICE_UNRELIABLE, .MaxTransferSize = 4096, .Ptag = ptag};
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    OK(VipCreateVi(nic, &v, NULL, NULL, &vi));
    connect_vi(vi, TAG);
    if (rank == 1) {
        for (unsigned i = 0; i < 5; i++) {
            send_from(vi, 0, memory + 65536, 64);
            await_send(vi);
        }
        receive_to(vi, 1, memory + 131072, 64);
        VIP_RETURN vip = VIP_TIMEOUT;
        for (double end = now() + 20; vip == VIP_TIMEOUT && now() < end;) {
            send_from(vi, 0, memory + 65536, 100);
            await_send(vi);
            vip = VipRecvWait(vi, 100, &d);
        }
        OK(vip);
    } else {
        usleep(50000);
        receive_to(vi, 0, memory + 131072, 128);
        while (await_recv(vi)->CS.Length != 100)
            receive_to(vi, 0, memory + 131072, 128);
        send_from(vi, 1, memory + 65536, 64);
        await_send(vi);
        for (double end = now() + 20; state_of(vi) == VIP_STATE_CONNECTED && now() < end; usleep(1000))
            continue;
    }
    (void)VipDisconnect(vi);
}

/* The parent of a fork goes on in the midst of a Connection; what the child does is nothing to it. */
static void forks(void)
{
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    int status = -1;
    for (unsigned i = 0; i < 4; i++)
        receive_to(vi, i, memory + 131072, 64);
    connect_vi(vi, TAG);
    for (unsigned i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            VIP_NIC_HANDLE own;
            VIP_DESCRIPTOR *d;
            NEED(VipRecvDone(vi, &d) == VIP_INVALID_PARAMETER && VipOpenNic(device, &own) != VIP_SUCCESS);
            if (i == 1)
                exit(0);
            _exit(0);
        }
        greet(vi);
        NEED(waitpid(child, &status, 0) == child && status == 0);
    }
    part(vi);
}

static const struct test tests[] = {
    {"peers", peers},          {"peer_alone", peer_alone}, {"notify", notify},      {"queues", queues},
    {"pending", pending},      {"order", order},           {"rdma", rdma},          {"shapes", shapes},
    {"sizes", transfer_sizes}, {"refused", refused},       {"errors", errors_told}, {"waits", waits},
    {"flood", flood},          {"unreliable", unreliable}, {"forks", forks}};

int main(int argc, char **argv)
{
    return play(argc, argv, tests, sizeof tests / sizeof *tests);
}
