/* A long run of random legal VIPL calls: 64 VIs of two NICs in 32 pairs, 8 threads with four pairs each,
 * shared completion queues.
 *
 * vipl_load [SECONDS [SEED [THREADS]]]: exit status 0 when every invariant held, 1 when one was broken (a
 * line says which, and the seed), 2 for a wrong argument. What must hold: a Descriptor that was posted comes
 * back once, in order, with a status that is defined; a message arrives whole, in order and once, and in no
 * other place; an entry of a completion queue finds its Descriptor; after VipDisconnect nothing is left;
 * nothing breaks a connection but a Send that found no receive; memory and threads of the process stay as
 * they are. */
#include "../agent/provider.h"

#include "../lines/clock.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <vipl.h>

enum {
    NICS = 2,
    PAIRS = 32, /* of VIs */
    MOST_THREADS = 16,
    DEPTH = 16, /* Descriptors of a queue */
    ROOM = 128, /* of a Descriptor */
    SLOT = 1024,
    GUARD = 64,
    DATA = SLOT - GUARD,
    BUFFERS = 2 * DEPTH *
              ROOM, /* where they begin: those of the send queue, of the receive queue, and targets of RDMA */
    TARGETS = 4,
    MEMORY = BUFFERS + (2 * DEPTH + TARGETS) * SLOT,
    CQ_ENTRIES = 4 * PAIRS * DEPTH,
    LIMIT_S = 20, /* of what has to come */
    RSS_GROWTH_KB = 16384
};
enum { GUARD_BYTE = 0xA6 };

struct end {
    unsigned nic;
    VIP_VI_HANDLE vi;
    VIP_MEM_HANDLE handle;
    unsigned char *memory;
    bool queued; /* both queues are tied to the completion queue of its thread */
    VIP_DESCRIPTOR *posted[2][DEPTH];
    unsigned count[2], next[2];       /* how many are posted, and the next place */
    uint32_t sent, received;          /* numbers of messages, from 1 */
    atomic_bool notifying;            /* a handler is registered at the receive queue */
    _Atomic(VIP_DESCRIPTOR *) handed; /* what it was called with */
    atomic_bool has_handed;
};

struct pair {
    struct end end[2];
    VIP_RELIABILITY_LEVEL level;
    bool connected, abused;
    unsigned number;
};

struct worker {
    pthread_t thread;
    uint64_t random, calls, messages, bytes, rounds;
    VIP_CQ_HANDLE cq[NICS];
    struct pair *pair;
    unsigned number, pairs;
};

static struct {
    VIP_NIC_HANDLE nic;
    VIP_PROTECTION_HANDLE tag;
    VIP_NIC_ATTRIBUTES attributes;
} nics[NICS];
static struct pair pairs[PAIRS];
static struct worker workers[MOST_THREADS];
static atomic_bool over;
static uint64_t seed = 1;

#define HOLD(condition, ...)                                                                                 \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "vipl_load: %s:%d: broken: %s: ", __FILE__, __LINE__, #condition);               \
            fprintf(stderr, __VA_ARGS__);                                                                    \
            fprintf(stderr, " (seed %" PRIu64 ")\n", seed);                                                  \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

static unsigned chance(struct worker *w, unsigned of)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(w->random >> 33) % of;
}

static void pause_briefly(void)
{
    const struct timespec t = {.tv_nsec = 200000};
    nanosleep(&t, NULL);
}

/* ---- memory ---- */

static unsigned char *slot_of(const struct end *e, unsigned slot)
{
    return e->memory + BUFFERS + (size_t)slot * SLOT;
}

static void check_guard(const struct end *e, unsigned slot)
{
    const unsigned char *guard = slot_of(e, slot) + DATA;
    for (unsigned i = 0; i < GUARD; i++)
        HOLD(guard[i] == GUARD_BYTE, "byte %u behind slot %u is %02x", i, slot, guard[i]);
}

static void fill(unsigned char *at, uint32_t number, uint32_t length)
{
    memcpy(at, &number, sizeof number);
    for (uint32_t i = sizeof number; i < length; i++)
        at[i] = (unsigned char)(number * 7 + i);
}

static void check_filled(const unsigned char *at, uint32_t number, uint32_t length, const char *what)
{
    for (uint32_t i = sizeof number; i < length; i++)
        HOLD(at[i] == (unsigned char)(number * 7 + i), "%s %u: byte %u of %u", what, number, i, length);
}

/* ---- VIs ---- */

static void create(struct worker *w, struct pair *p, unsigned which)
{
    struct end *e = &p->end[which];
    VIP_VI_ATTRIBUTES a = {.ReliabilityLevel = p->level,
                           .MaxTransferSize = 32768,
                           .Ptag = nics[e->nic].tag,
                           .EnableRdmaWrite = VIP_TRUE,
                           .EnableRdmaRead = (nics[e->nic].attributes.RDMAReadSupport & p->level) != 0};
    VIP_CQ_HANDLE cq = e->queued ? w->cq[e->nic] : NULL;
    VIP_RETURN code = VipCreateVi(nics[e->nic].nic, &a, cq, cq, &e->vi);
    HOLD(code == VIP_SUCCESS, "VipCreateVi: %d", (int)code);
    w->calls++;
}

static VIP_NET_ADDRESS *address(const struct pair *p, unsigned which, uint64_t *room)
{
    const VIP_NIC_ATTRIBUTES *n = &nics[p->end[which].nic].attributes;
    VIP_NET_ADDRESS *a = (VIP_NET_ADDRESS *)room;
    a->HostAddressLen = n->NicAddressLen;
    a->DiscriminatorLen = 16;
    memcpy(a->HostAddress, n->LocalNicAddress, n->NicAddressLen);
    memset(a->HostAddress + n->NicAddressLen, (int)p->number + 1, 16);
    return a;
}

static void join(struct worker *w, struct pair *p)
{
    VIP_RETURN code[2] = {VIP_NOT_DONE, VIP_NOT_DONE};
    VIP_VI_ATTRIBUTES remote;
    double limit = clock_seconds() + LIMIT_S;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t mine[16], its[16];
        VIP_RETURN asked =
            VipConnectPeerRequest(p->end[i].vi, address(p, i, mine), address(p, !i, its), LIMIT_S * 1000);
        HOLD(asked == VIP_SUCCESS, "VipConnectPeerRequest: %d", (int)asked);
    }
    while (code[0] == VIP_NOT_DONE || code[1] == VIP_NOT_DONE) {
        for (unsigned i = 0; i < 2; i++)
            if (code[i] == VIP_NOT_DONE)
                code[i] = VipConnectPeerDone(p->end[i].vi, &remote);
        HOLD(clock_seconds() < limit + LIMIT_S, "a connection takes too long");
        w->calls += 2;
        if (code[0] == VIP_NOT_DONE || code[1] == VIP_NOT_DONE)
            pause_briefly();
    }
    HOLD(code[0] == VIP_SUCCESS && code[1] == VIP_SUCCESS, "VipConnectPeerDone: %d and %d", (int)code[0],
         (int)code[1]);
    p->connected = true;
    p->abused = false;
    for (unsigned i = 0; i < 2; i++)
        p->end[i].sent = p->end[i].received = 0;
}

/* ---- completions ---- */

static struct pair *pair_of(struct worker *w, VIP_VI_HANDLE vi, unsigned *which)
{
    for (unsigned i = 0; i < w->pairs; i++)
        for (*which = 0; *which < 2; ++*which)
            if (w->pair[i].end[*which].vi == vi)
                return &w->pair[i];
    return NULL;
}

static void check_message(struct worker *w, const struct pair *p, struct end *e, const VIP_DESCRIPTOR *d)
{
    const unsigned char *at = d->DS[0].Local.Data.Address;
    uint32_t number;
    memcpy(&number, at, sizeof number);
    HOLD(d->CS.Length >= sizeof number && d->CS.Length <= DATA, "a message of %u bytes", d->CS.Length);
    if (p->level == VIP_SERVICE_UNRELIABLE)
        HOLD(number > e->received, "message %u after %u", number, e->received);
    else
        HOLD(number == e->received + 1, "message %u after %u", number, e->received);
    HOLD((d->CS.Status & VIP_STATUS_IMMEDIATE) != 0 && d->CS.ImmediateData == number,
         "Immediate Data %u of message %u", d->CS.ImmediateData, number);
    check_filled(at, number, d->CS.Length, "message");
    e->received = number;
    w->messages++;
    w->bytes += d->CS.Length;
}

/* A Descriptor has come back. */
static void came(struct worker *w, struct pair *p, unsigned which, unsigned recv, VIP_DESCRIPTOR *d,
                 VIP_RETURN code)
{
    struct end *e = &p->end[which];
    VIP_UINT32 status = d->CS.Status;
    HOLD(e->count[recv] > 0, "a Descriptor of a queue that has none");
    HOLD(d == e->posted[recv][0], "another Descriptor than the oldest");
    memmove(e->posted[recv], e->posted[recv] + 1, --e->count[recv] * sizeof(void *));
    HOLD((status & VIP_STATUS_DONE) && (status & VIP_STATUS_RESERVED) == 0, "Status %08x", status);
    bool bad = (status & VIP_STATUS_ERROR_MASK) != 0;
    HOLD(bad == (code == VIP_DESCRIPTOR_ERROR), "Status %08x with code %d", status, (int)code);
    for (unsigned slot = 0; slot < 2 * DEPTH + TARGETS; slot++)
        check_guard(e, slot);
    if (bad) {
        HOLD(!p->connected || p->abused, "pair %u (level %u): Status %08x although nothing was done wrong",
             p->number, p->level, status);
        p->connected = false; /* as far as its messages go */
        return;
    }
    if (recv)
        check_message(w, p, e, d);
    else if ((d->CS.Control & VIP_CONTROL_OP_MASK) == VIP_CONTROL_OP_RDMAREAD)
        HOLD(memcmp(d->DS[1].Local.Data.Address, d->DS[0].Remote.Data.Address, d->CS.Length) == 0,
             "an RDMA Read of %u bytes", d->CS.Length);
    else if ((d->CS.Control & VIP_CONTROL_OP_MASK) == VIP_CONTROL_OP_RDMAWRITE &&
             p->level == VIP_SERVICE_RELIABLE_RECEPTION)
        HOLD(memcmp(d->DS[1].Local.Data.Address, d->DS[0].Remote.Data.Address, d->CS.Length) == 0,
             "an RDMA Write of %u bytes", d->CS.Length);
}

static bool take(struct worker *w, struct pair *p, unsigned which, unsigned recv, bool wait)
{
    struct end *e = &p->end[which];
    VIP_DESCRIPTOR *d = NULL;
    w->calls++;
    VIP_RETURN code = wait ? (recv ? VipRecvWait : VipSendWait)(e->vi, 1, &d)
                           : (recv ? VipRecvDone : VipSendDone)(e->vi, &d);
    if ((code == VIP_SUCCESS || code == VIP_DESCRIPTOR_ERROR) && d != NULL) {
        came(w, p, which, recv, d, code);
        return true;
    }
    HOLD(d == NULL, "code %d with a Descriptor", (int)code);
    HOLD(e->count[recv] > 0 ? code == VIP_NOT_DONE || code == VIP_TIMEOUT : code == VIP_DESCRIPTOR_ERROR,
         "code %d with %u posted", (int)code, e->count[recv]);
    return false;
}

static void on_descriptor(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
    struct end *e = context;
    HOLD(atomic_load(&e->notifying) && !atomic_load(&e->has_handed),
         "a handler is called twice, or after its end");
    HOLD(vi == e->vi && nic == nics[e->nic].nic, "a handler of another VI or NIC");
    atomic_store(&e->handed, d);
    atomic_store(&e->has_handed, true);
}

/* What a handler was called with. */
static bool take_handed(struct worker *w, struct pair *p, unsigned which)
{
    struct end *e = &p->end[which];
    if (!atomic_load(&e->has_handed))
        return false;
    VIP_DESCRIPTOR *d = atomic_load(&e->handed);
    atomic_store(&e->notifying, false);
    atomic_store(&e->has_handed, false);
    HOLD(d != NULL, "a handler is called with NULL though the queue had a Descriptor");
    came(w, p, which, 1, d, (d->CS.Status & VIP_STATUS_ERROR_MASK) != 0 ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS);
    return true;
}

static bool take_entry(struct worker *w, unsigned nic)
{
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN recv;
    w->calls++;
    VIP_RETURN code =
        chance(w, 4) == 0 ? VipCQWait(w->cq[nic], 1, &vi, &recv) : VipCQDone(w->cq[nic], &vi, &recv);
    if (code != VIP_SUCCESS) {
        HOLD(code == VIP_NOT_DONE || code == VIP_TIMEOUT, "VipCQDone: %d", (int)code);
        return false;
    }
    unsigned which;
    struct pair *p = pair_of(w, vi, &which);
    HOLD(p != NULL && p->end[which].queued, "an entry of a VI that has none");
    HOLD(take(w, p, which, recv != VIP_FALSE, false), "an entry without its Descriptor");
    return true;
}

static bool reap(struct worker *w, struct pair *p, unsigned which, unsigned recv)
{
    struct end *e = &p->end[which];
    if (recv && atomic_load(&e->notifying))
        return take_handed(w, p, which);
    return e->queued ? take_entry(w, e->nic) : take(w, p, which, recv, chance(w, 8) == 0);
}

/* ---- steps ---- */

static VIP_DESCRIPTOR *descriptor(struct end *e, unsigned recv, unsigned *slot)
{
    unsigned at = recv * DEPTH + e->next[recv];
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(void *)(e->memory + (size_t)at * ROOM);
    *slot = at;
    e->next[recv] = (e->next[recv] + 1) % DEPTH;
    memset(d, 0, ROOM);
    return d;
}

static void add(const struct end *e, VIP_DESCRIPTOR *d, unsigned slot, uint32_t length)
{
    d->DS[d->CS.SegCount++].Local =
        (VIP_DATA_SEGMENT){.Data.Address = slot_of(e, slot), .Handle = e->handle, .Length = length};
}

static void post(struct worker *w, struct end *e, unsigned recv, VIP_DESCRIPTOR *d)
{
    VIP_RETURN code = (recv ? VipPostRecv : VipPostSend)(e->vi, d, e->handle);
    HOLD(code == VIP_SUCCESS, "a post: %d", (int)code);
    e->posted[recv][e->count[recv]++] = d;
    w->calls++;
}

static void post_receive(struct worker *w, struct end *e)
{
    unsigned slot;
    if (e->count[1] == DEPTH)
        return;
    VIP_DESCRIPTOR *d = descriptor(e, 1, &slot);
    memset(slot_of(e, slot), 0xEE, DATA);
    add(e, d, slot, DATA);
    post(w, e, 1, d);
}

static void post_send(struct worker *w, struct pair *p, unsigned which)
{
    struct end *e = &p->end[which], *other = &p->end[!which];
    bool unheard = other->count[1] <= e->sent - other->received;
    unsigned slot;
    if (e->count[0] == DEPTH || (unheard && chance(w, 2000) != 0))
        return;
    p->abused = p->abused || unheard;
    VIP_DESCRIPTOR *d = descriptor(e, 0, &slot);
    uint32_t length = 4 + chance(w, DATA - 3);
    fill(slot_of(e, slot), ++e->sent, length);
    add(e, d, slot, length);
    d->CS.Control = VIP_CONTROL_OP_SENDRECV | VIP_CONTROL_IMMEDIATE;
    d->CS.ImmediateData = e->sent;
    d->CS.Length = length;
    post(w, e, 0, d);
}

/* An RDMA operation, when none is under way from this end: what it moves is looked at when it is done. */
static void post_rdma(struct worker *w, struct pair *p, unsigned which)
{
    struct end *e = &p->end[which], *other = &p->end[!which];
    bool read = p->level != VIP_SERVICE_UNRELIABLE &&
                (nics[e->nic].attributes.RDMAReadSupport & p->level) != 0 && chance(w, 2) == 0;
    unsigned slot, target = 2 * DEPTH + which; /* each end has its own place at the other */
    for (unsigned i = 0; i < e->count[0]; i++)
        if ((e->posted[0][i]->CS.Control & VIP_CONTROL_OP_MASK) != VIP_CONTROL_OP_SENDRECV)
            return;
    if (e->count[0] == DEPTH)
        return;
    VIP_DESCRIPTOR *d = descriptor(e, 0, &slot);
    uint32_t length = 4 + chance(w, DATA - 3);
    d->DS[d->CS.SegCount++].Remote =
        (VIP_ADDRESS_SEGMENT){.Data.Address = slot_of(other, target), .Handle = other->handle};
    if (!read)
        fill(slot_of(e, slot), chance(w, 1000000), length);
    add(e, d, slot, length);
    d->CS.Control = read ? VIP_CONTROL_OP_RDMAREAD : VIP_CONTROL_OP_RDMAWRITE;
    d->CS.Control |= chance(w, 4) == 0 ? VIP_CONTROL_QFENCE : 0;
    d->CS.Length = length;
    post(w, e, 0, d);
}

static void register_notify(struct worker *w, struct end *e)
{
    if (e->queued || e->count[1] == 0 || atomic_load(&e->notifying))
        return;
    atomic_store(&e->notifying, true);
    VIP_RETURN code = VipRecvNotify(e->vi, e, on_descriptor);
    HOLD(code == VIP_SUCCESS, "VipRecvNotify: %d", (int)code);
    w->calls++;
}

static void drain(struct worker *w, struct pair *p)
{
    double limit = clock_seconds() + LIMIT_S;
    for (unsigned which = 0; which < 2; which++)
        for (unsigned recv = 0; recv < 2; recv++)
            while (p->end[which].count[recv] > 0)
                if (!reap(w, p, which, recv)) {
                    HOLD(clock_seconds() < limit, "%u Descriptors of queue %u of pair %u never come",
                         p->end[which].count[recv], recv, p->number);
                    pause_briefly();
                }
}

static void part(struct worker *w, struct pair *p)
{
    p->connected = false;
    unsigned first = chance(w, 2);
    for (unsigned i = 0; i < 2; i++) {
        VIP_RETURN code = VipDisconnect(p->end[i ^ first].vi);
        HOLD(code == VIP_SUCCESS, "VipDisconnect: %d", (int)code);
        w->calls++;
    }
    drain(w, p);
}

static void replace(struct worker *w, struct pair *p)
{
    for (unsigned i = 0; i < 2; i++) {
        struct end *e = &p->end[i];
        while (e->queued && take_entry(w, e->nic))
            continue;
        HOLD(!atomic_load(&e->notifying), "a handler has not been called though its queue is empty");
        VIP_RETURN code = VipDestroyVi(e->vi);
        HOLD(code == VIP_SUCCESS, "VipDestroyVi: %d", (int)code);
    }
    for (unsigned i = 0; i < 2; i++)
        create(w, p, i);
}

/* All that is under way arrives, as long as the connection holds. */
static void settle(struct worker *w, struct pair *p)
{
    double limit = clock_seconds() + LIMIT_S;
    for (unsigned which = 0; which < 2; which++)
        while (p->connected && !p->abused &&
               (p->end[which].count[0] > 0 || p->end[!which].received < p->end[which].sent)) {
            bool any = p->end[which].count[0] > 0 && reap(w, p, which, 0);
            any = (p->end[!which].count[1] > 0 && reap(w, p, !which, 1)) || any;
            if (!any) {
                HOLD(p->level == VIP_SERVICE_UNRELIABLE || clock_seconds() < limit,
                     "message %u of %u of pair %u never comes", p->end[!which].received + 1,
                     p->end[which].sent, p->number);
                if (p->level == VIP_SERVICE_UNRELIABLE && clock_seconds() > limit - LIMIT_S + 1)
                    break; /* lost, which is right */
                pause_briefly();
            }
        }
}

/* Calls beside the data: each makes what it ends. */
static void things(struct worker *w, struct pair *p)
{
    const struct end *e = &p->end[chance(w, 2)];
    VIP_NIC_HANDLE nic = nics[e->nic].nic;
    VIP_PROTECTION_HANDLE tag;
    VIP_MEM_HANDLE handle;
    VIP_CQ_HANDLE cq;
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES a;
    VIP_NIC_ATTRIBUTES n;
    VIP_BOOLEAN empty[2];
    w->calls += 2;
    switch (chance(w, 5)) {
    case 0:
        HOLD(VipCreatePtag(nic, &tag) == VIP_SUCCESS && VipDestroyPtag(nic, tag) == VIP_SUCCESS,
             "a protection tag");
        break;
    case 1: {
        VIP_MEM_ATTRIBUTES m = {.Ptag = nics[e->nic].tag};
        HOLD(VipRegisterMem(nic, e->memory, 1 + chance(w, MEMORY), &m, &handle) == VIP_SUCCESS,
             "VipRegisterMem");
        HOLD(VipDeregisterMem(nic, e->memory, handle) == VIP_SUCCESS, "VipDeregisterMem");
        break;
    }
    case 2:
        HOLD(VipCreateCQ(nic, 1 + chance(w, 64), &cq) == VIP_SUCCESS && VipResizeCQ(cq, 128) == VIP_SUCCESS &&
                 VipDestroyCQ(cq) == VIP_SUCCESS,
             "a CQ");
        break;
    case 3:
        HOLD(VipQueryVi(e->vi, &state, &a, &empty[0], &empty[1]) == VIP_SUCCESS, "VipQueryVi");
        HOLD(a.ReliabilityLevel == p->level, "level %u", a.ReliabilityLevel);
        if (!e->queued && !atomic_load(&e->notifying))
            HOLD((empty[0] != VIP_FALSE) == (e->count[0] == 0) &&
                     (empty[1] != VIP_FALSE) == (e->count[1] == 0),
                 "ViSendQEmpty or ViRecvQEmpty");
        break;
    default:
        HOLD(VipQueryNic(nic, &n) == VIP_SUCCESS && n.MaxVI == nics[e->nic].attributes.MaxVI, "VipQueryNic");
    }
}

static void step(struct worker *w)
{
    struct pair *p = &w->pair[chance(w, w->pairs)];
    unsigned which = chance(w, 2);
    if (!p->connected) {
        part(w, p);
        if (chance(w, 4) == 0)
            replace(w, p);
        for (unsigned i = 0; i < 2; i++)
            for (unsigned k = chance(w, DEPTH); k > 0; k--)
                post_receive(w, &p->end[i]);
        join(w, p);
        w->rounds++;
        return;
    }
    switch (chance(w, 16)) {
    case 0:
    case 1:
    case 2:
        post_receive(w, &p->end[which]);
        break;
    case 3:
    case 4:
    case 5:
        post_send(w, p, which);
        break;
    case 6:
        post_rdma(w, p, which);
        break;
    case 7:
        things(w, p);
        break;
    case 8:
        register_notify(w, &p->end[which]);
        break;
    case 9:
        if (chance(w, 100) == 0) {
            settle(w, p);
            part(w, p);
        }
        break;
    default:
        for (unsigned i = 0; i < 4; i++)
            (void)reap(w, p, i / 2, i % 2);
    }
}

static void *work(void *context)
{
    struct worker *w = context;
    while (!atomic_load(&over))
        step(w);
    for (unsigned i = 0; i < w->pairs; i++) {
        settle(w, &w->pair[i]);
        part(w, &w->pair[i]);
        for (unsigned k = 0; k < 2; k++)
            while (w->pair[i].end[k].queued && take_entry(w, w->pair[i].end[k].nic))
                continue;
    }
    for (unsigned i = 0; i < w->pairs; i++)
        for (unsigned k = 0; k < 2; k++)
            HOLD(VipDestroyVi(w->pair[i].end[k].vi) == VIP_SUCCESS, "VipDestroyVi at the end");
    for (unsigned i = 0; i < NICS; i++)
        HOLD(VipDestroyCQ(w->cq[i]) == VIP_SUCCESS, "VipDestroyCQ at the end");
    return NULL;
}

/* ---- the process ---- */

static long status_of(const char *name)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    long value = -1;
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtol(line + strlen(name) + 1, NULL, 10);
    if (f != NULL)
        fclose(f);
    return value;
}

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    (void)context;
    HOLD(error->ErrorCode != VIP_ERROR_CATASTROPHIC && error->ErrorCode != VIP_ERROR_POST_DESC &&
             error->ErrorCode != VIP_ERROR_VI_OVERRUN,
         "an asynchronous error %d", (int)error->ErrorCode);
}

static void open_nics(void)
{
    static const char *const devices[NICS] = {"VINIC0", "VINIC1"};
    const char *why = NULL;
    json_t *config =
        json_pack("{s:i}", "r_a_tov_us", 10000000); /* a host that is busy breaks no connection */
    HOLD(provider_start_calls(devices, NICS, config, &why), "%s", why);
    json_decref(config);
    for (unsigned i = 0; i < NICS; i++) {
        HOLD(VipOpenNic(devices[i], &nics[i].nic) == VIP_SUCCESS, "VipOpenNic");
        HOLD(VipErrorCallback(nics[i].nic, NULL, on_error) == VIP_SUCCESS, "VipErrorCallback");
        HOLD(VipCreatePtag(nics[i].nic, &nics[i].tag) == VIP_SUCCESS, "VipCreatePtag");
        HOLD(VipQueryNic(nics[i].nic, &nics[i].attributes) == VIP_SUCCESS, "VipQueryNic");
    }
}

static void make_pairs(void)
{
    static const VIP_RELIABILITY_LEVEL levels[] = {VIP_SERVICE_RELIABLE_DELIVERY,
                                                   VIP_SERVICE_RELIABLE_RECEPTION, VIP_SERVICE_UNRELIABLE};
    for (unsigned i = 0; i < PAIRS; i++) {
        pairs[i].number = i;
        pairs[i].level = levels[i % 3];
        for (unsigned k = 0; k < 2; k++) {
            struct end *e = &pairs[i].end[k];
            e->nic = k;
            e->queued = (i + k) % 2 == 0;
            e->memory = aligned_alloc(4096, (size_t)(MEMORY + 4095) / 4096 * 4096);
            HOLD(e->memory != NULL, "memory");
            memset(e->memory, GUARD_BYTE, MEMORY);
            VIP_MEM_ATTRIBUTES a = {nics[k].tag, VIP_TRUE, nics[k].attributes.RDMAReadSupport != 0};
            HOLD(VipRegisterMem(nics[k].nic, e->memory, MEMORY, &a, &e->handle) == VIP_SUCCESS,
                 "VipRegisterMem");
        }
    }
}

static void start(unsigned threads)
{
    unsigned share = PAIRS / threads;
    for (unsigned i = 0; i < threads; i++) {
        struct worker *w = &workers[i];
        *w = (struct worker){
            .number = i, .random = seed * 1000003 + i, .pair = &pairs[(size_t)i * share], .pairs = share};
        for (unsigned k = 0; k < NICS; k++)
            HOLD(VipCreateCQ(nics[k].nic, CQ_ENTRIES, &w->cq[k]) == VIP_SUCCESS, "VipCreateCQ");
        for (unsigned p = 0; p < share; p++)
            for (unsigned k = 0; k < 2; k++)
                create(w, &w->pair[p], k);
    }
    for (unsigned i = 0; i < threads; i++)
        HOLD(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0, "a thread");
}

static bool number_of(const char *text, unsigned long most, unsigned long *value)
{
    char *end;
    *value = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && *value <= most;
}

int main(int argc, char **argv)
{
    unsigned long duration = 10, given = 1, threads = 8;
    if (argc > 4 || (argc > 1 && (!number_of(argv[1], 1000000, &duration) || duration == 0)) ||
        (argc > 2 && !number_of(argv[2], UINT32_MAX, &given)) ||
        (argc > 3 && (!number_of(argv[3], MOST_THREADS, &threads) || threads == 0 || PAIRS % threads != 0))) {
        fprintf(stderr, "usage: vipl_load [SECONDS [SEED [THREADS]]]: THREADS is 1, 2, 4, 8 or 16\n");
        return 2;
    }
    seed = given;
    open_nics();
    make_pairs();
    start((unsigned)threads);
    double begin = clock_seconds(), warm = (double)duration / 4;
    long rss = 0, tasks = 0, now = 0;
    while (clock_seconds() < begin + (double)duration) {
        usleep(100000);
        if (rss == 0 && clock_seconds() > begin + warm) {
            rss = status_of("VmRSS:");
            tasks = status_of("Threads:");
        }
    }
    now = status_of("VmRSS:");
    HOLD(status_of("Threads:") == tasks, "%ld threads, then %ld", tasks, status_of("Threads:"));
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* these keep what was freed */
    HOLD(now - rss < RSS_GROWTH_KB, "%ld kB of memory, then %ld", rss, now);
#endif
    atomic_store(&over, true);
    uint64_t calls = 0, messages = 0, bytes = 0, rounds = 0;
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        calls += workers[i].calls;
        messages += workers[i].messages;
        bytes += workers[i].bytes;
        rounds += workers[i].rounds;
    }
    for (unsigned i = 0; i < NICS; i++)
        HOLD(VipCloseNic(nics[i].nic) == VIP_SUCCESS, "VipCloseNic");
    provider_stop();
    for (unsigned i = 0; i < PAIRS; i++)
        for (unsigned k = 0; k < 2; k++)
            free(pairs[i].end[k].memory);
    printf("vipl_load: %lu s, %lu threads, %u VIs: %" PRIu64 " calls, %" PRIu64 " messages of %" PRIu64
           " bytes, %" PRIu64 " connections; %ld kB of memory, then %ld; every invariant held\n",
           duration, threads, 2 * PAIRS, calls, messages, bytes, rounds, rss, now);
    return 0;
}
