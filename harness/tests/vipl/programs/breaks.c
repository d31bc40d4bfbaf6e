/* Eight threads, a VI each, which connect, stream and disconnect at random, from both ends, for so many
 * seconds as BREAK_SECONDS says: breaks breaks DEVICE RANK [DISCRIMINATOR-BYTES]. Half of them are Peers.
 * What came is whole, in order and once; each Receive comes back; each VI is Idle after VipDisconnect. */
#include "program.h"

#include <stdatomic.h>

enum { THREADS = 8, DEPTH = 8, SIZE = 2048, WAIT_MS = 1500, LAST_MS = 6000, SLOTS = 16, SENDS = 10 };

static double stop_at;
static atomic_uint lives, messages;

struct end {
    unsigned number, seed;
    VIP_VI_HANDLE vi;
    unsigned char *room;
    unsigned posted, reaped, came;
};

/* Only a lost Connection is told: what both ends do is right. */
static void lost(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    (void)context;
    NEED(error->ErrorCode == VIP_ERROR_CONN_LOST);
}

static VIP_NET_ADDRESS *place(VIP_UINT64 room[64], const char *host, unsigned tag)
{
    VIP_NET_ADDRESS *a = memset(room, 0, 64 * sizeof *room);
    a->HostAddressLen = attributes.NicAddressLen;
    if (host != NULL)
        OK(VipNSGetHostByName(nic, (char *)host, a, 0));
    else
        memcpy(a->HostAddress, attributes.LocalNicAddress, attributes.NicAddressLen);
    a->DiscriminatorLen = (VIP_UINT16)discriminator;
    memcpy(a->HostAddress + a->HostAddressLen, &tag, sizeof tag);
    return a;
}

static bool as_peer(struct end *e, unsigned tag)
{
    VIP_UINT64 here[64], there[64];
    VIP_VI_ATTRIBUTES remote;
    OK(VipConnectPeerRequest(e->vi, place(here, NULL, tag), place(there, rank ? "nodea" : "nodeb", tag),
                             WAIT_MS));
    VIP_RETURN vip = VipConnectPeerWait(e->vi, &remote);
    NEED(vip == VIP_SUCCESS || vip == VIP_NOT_REACHABLE || vip == VIP_TIMEOUT);
    return vip == VIP_SUCCESS;
}

static bool as_server(struct end *e, unsigned tag)
{
    VIP_UINT64 here[64], there[64];
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE conn;
    VIP_RETURN vip =
        VipConnectWait(nic, place(here, NULL, tag), WAIT_MS, place(there, NULL, 0), &remote, &conn);
    if (vip == VIP_TIMEOUT)
        return false;
    OK(vip);
    if (rand_r(&e->seed) % 5 == 0) {
        OK(VipConnectReject(conn));
        return false;
    }
    vip = VipConnectAccept(conn, e->vi);
    NEED(vip == VIP_SUCCESS || vip == VIP_TIMEOUT || vip == VIP_NOT_REACHABLE);
    return vip == VIP_SUCCESS;
}

/* A server that has ended answers nothing, or has logged out: then the VI may be in Error. */
static bool as_client(struct end *e, unsigned tag)
{
    VIP_UINT64 here[64], there[64];
    VIP_VI_ATTRIBUTES remote;
    VIP_RETURN vip;
    do {
        usleep(3000);
        vip = VipConnectRequest(e->vi, place(here, NULL, tag + 1000), place(there, "nodea", tag), LAST_MS,
                                &remote);
        if (vip == VIP_SUCCESS || vip == VIP_REJECT)
            return vip == VIP_SUCCESS;
        NEED(vip == VIP_NO_MATCH || vip == VIP_NOT_REACHABLE || (vip == VIP_TIMEOUT && now() >= stop_at));
    } while (now() < stop_at && state_of(e->vi) == VIP_STATE_IDLE);
    return false;
}

static VIP_DESCRIPTOR *slot(const struct end *e, unsigned which, unsigned char *bytes, VIP_UINT32 length)
{
    return descriptor(e->number * SLOTS + which, bytes, length);
}

/* False: it was flushed. */
static bool send_one(struct end *e, unsigned n)
{
    unsigned *bytes = (void *)(e->room + DEPTH * SIZE), size = 4 + rand_r(&e->seed) % (SIZE - 4);
    VIP_DESCRIPTOR *d;
    bytes[0] = n;
    memset(bytes + 1, (int)(n + e->number), size - 4);
    OK(VipPostSend(e->vi, slot(e, SENDS, (void *)bytes, size), handle));
    VIP_RETURN vip = VipSendWait(e->vi, PATIENCE_MS, &d);
    NEED(d != NULL && (vip == VIP_SUCCESS || vip == VIP_DESCRIPTOR_ERROR));
    return vip == VIP_SUCCESS;
}

/* False: it was flushed. */
static bool take_one(struct end *e)
{
    VIP_DESCRIPTOR *d;
    VIP_RETURN vip = rand_r(&e->seed) % 2 ? VipRecvDone(e->vi, &d) : VipRecvWait(e->vi, 2, &d);
    if (vip == VIP_NOT_DONE || vip == VIP_TIMEOUT)
        return true;
    NEED(d != NULL);
    e->reaped++;
    if (vip == VIP_DESCRIPTOR_ERROR) {
        NEED((d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR) != 0);
        return false;
    }
    unsigned char *bytes = d->DS[0].Local.Data.Address;
    NEED(vip == VIP_SUCCESS && memcmp(bytes, &e->came, sizeof e->came) == 0);
    for (unsigned k = 4; k < d->CS.Length; k++)
        NEED(bytes[k] == (unsigned char)(e->came + e->number));
    e->came++;
    messages++;
    OK(VipPostRecv(e->vi, slot(e, (unsigned)(bytes - e->room) / SIZE, bytes, SIZE), handle));
    e->posted++;
    return true;
}

/* From any state; what nobody answers is sent again, and then given up. */
static void end_it(struct end *e)
{
    VIP_DESCRIPTOR *d;
    VIP_RETURN vip = VIP_NOT_REACHABLE;
    for (unsigned i = 0; i < 3 && vip == VIP_NOT_REACHABLE; i++)
        vip = VipDisconnect(e->vi);
    OK(vip);
    NEED(state_of(e->vi) == VIP_STATE_IDLE);
    while ((void)VipRecvDone(e->vi, &d), d != NULL)
        e->reaped++;
    NEED(e->reaped == e->posted);
}

static void *live(void *context)
{
    struct end *e = context;
    const unsigned tag = TAG + e->number;
    e->vi = new_vi(NULL, NULL);
    while (now() < stop_at) {
        e->posted = e->reaped = e->came = 0;
        for (; e->posted < DEPTH; e->posted++)
            OK(VipPostRecv(e->vi, slot(e, e->posted, e->room + e->posted * SIZE, SIZE), handle));
        bool up = (e->number % 2 ? as_peer : rank == 0 ? as_server : as_client)(e, tag);
        unsigned sent = 0, turns = rand_r(&e->seed) % 60;
        for (; up && turns > 0; turns--) { /* half of the Receives, and one for each that came */
            if (sent < DEPTH / 2 + e->came)
                up = send_one(e, sent++);
            up = take_one(e) && up;
        }
        end_it(e);
        lives++;
    }
    OK(VipDestroyVi(e->vi));
    return NULL;
}

static void breaks(void)
{
    static struct end ends[THREADS];
    pthread_t thread[THREADS];
    const char *seconds = getenv("BREAK_SECONDS");
    stop_at = now() + (seconds != NULL ? atof(seconds) : 1);
    OK(VipErrorCallback(nic, NULL, lost));
    for (unsigned i = 0; i < THREADS; i++) {
        ends[i] = (struct end){.number = i,
                               .seed = (unsigned)getpid() * 31 + i,
                               .room = memory + 65536 + i * (DEPTH + 1) * SIZE};
        NEED(pthread_create(&thread[i], NULL, live, &ends[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    NEED(lives > THREADS && messages > 0);
    OK(VipErrorCallback(nic, NULL, quiet));
}

static const struct test tests[] = {{"breaks", breaks}};

int main(int argc, char **argv)
{
    return play(argc, argv, tests, sizeof tests / sizeof *tests);
}
