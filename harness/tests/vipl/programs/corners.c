/* Parts of VIPL that few programs use: threads that share a VI, leave it or are cancelled, a server that
 * polls, Descriptors, Discriminators and regions at their bounds, a NIC that connects to itself, processes
 * that fork. As program.c. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): pthread_timedjoin_np */
#include "program.h"

#include <sys/time.h>

static void post(VIP_VI_HANDLE vi, unsigned place, unsigned char *at, VIP_UINT32 length)
{
    OK(VipPostRecv(vi, descriptor(place, at, length), handle));
}

static void say(VIP_VI_HANDLE vi, unsigned place, unsigned char *at, VIP_UINT32 length)
{
    OK(VipPostSend(vi, descriptor(place, at, length), handle));
    await_send(vi);
}

static VIP_DESCRIPTOR *hear(VIP_VI_HANDLE vi)
{
    VIP_DESCRIPTOR *d;
    OK(VipRecvWait(vi, PATIENCE_MS, &d));
    return d;
}

static void await_end(VIP_VI_HANDLE vi)
{
    for (double end = now() + 10; state_of(vi) == VIP_STATE_CONNECTED; usleep(1000))
        NEED(now() < end);
    OK(VipDisconnect(vi));
}

/* ---- threads ---- */

static void *wait_on_vi(void *vi)
{
    VIP_DESCRIPTOR *d = NULL;
    VIP_RETURN vip = VipRecvWait(vi, VIP_INFINITE, &d);
    return vip == VIP_DESCRIPTOR_ERROR && d != NULL && d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR ? vi
                                                                                                    : NULL;
}

static void *wait_on_cq(void *cq)
{
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN recv;
    return VipCQWait(cq, VIP_INFINITE, &vi, &recv) == VIP_SUCCESS ? vi : NULL;
}

static void *wait_for_clients(void *context)
{
    VIP_NET_ADDRESS *from = calloc(1, 512), *mine = calloc(1, 512);
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE conn;
    mine->HostAddressLen = attributes.NicAddressLen;
    mine->DiscriminatorLen = 7;
    memcpy(mine->HostAddress, attributes.LocalNicAddress, attributes.NicAddressLen);
    bool closed = VipConnectWait(nic, mine, VIP_INFINITE, from, &remote, &conn) == VIP_INVALID_PARAMETER;
    free(from);
    free(mine);
    return closed ? context : NULL;
}

static void *wait_on_tag(void *context)
{
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE conn;
    (void)VipConnectWait(nic, context, VIP_INFINITE, new_address(), &remote, &conn);
    return NULL;
}

static void *wait_for_peer(void *vi)
{
    VIP_VI_ATTRIBUTES remote;
    return VipConnectPeerWait(vi, &remote) == VIP_SUCCESS ? vi : NULL;
}

static void *joined(pthread_t thread)
{
    struct timespec limit;
    void *result;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 10;
    NEED(pthread_timedjoin_np(thread, &result, &limit) == 0);
    return result;
}

/* A thread that waits on a queue is cancelled, and the others go on (VI-DG has no word on it, and POSIX
 * leaves it to the library). */
static void cancelled(void)
{
    VIP_CQ_HANDLE cq;
    pthread_t one, other;
    VIP_VI_HANDLE vi = new_vi(NULL, NULL), talk = new_vi(NULL, NULL);
    OK(VipCreateCQ(nic, 8, &cq));
    post(vi, 0, memory + 65536, 64);
    for (unsigned i = 1; i < 3; i++)
        post(talk, i, memory + 65536, 64);
    connect_vi(vi, TAG);
    connect_vi(talk, TAG + 1);
    for (unsigned round = 0; round < 2; round++) {
        NEED(pthread_create(&one, NULL, wait_on_vi, vi) == 0 &&
             pthread_create(&other, NULL, wait_on_cq, cq) == 0);
        usleep(30000);
        NEED(pthread_cancel(one) == 0 && pthread_cancel(other) == 0);
        NEED(joined(one) == PTHREAD_CANCELED && joined(other) == PTHREAD_CANCELED);
    }
    say(talk, 3, memory + 70000, 64); /* nothing comes on the other VI before both are here */
    (void)hear(talk);
    part(vi);
    part(talk);
    OK(VipDestroyCQ(cq));
}

static void *ask_nodea(void *vi)
{
    VIP_VI_ATTRIBUTES remote;
    while (VipConnectRequest(vi, address(NULL, 1), address("nodea", TAG + 2), 60000, &remote) == VIP_NO_MATCH)
        usleep(1000);
    return NULL;
}

/* A request waits for a server that does not answer, and its thread is cancelled: the VI can be used again.
 */
static void given_up(VIP_VI_HANDLE vi)
{
    pthread_t client;
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE conn;
    if (rank == 0) {
        OK(VipConnectWait(nic, address(NULL, TAG + 2), PATIENCE_MS, new_address(), &remote, &conn));
        usleep(3000000); /* longer than until the client has let go of its NIC */
        OK(VipConnectReject(conn));
        return;
    }
    NEED(pthread_create(&client, NULL, ask_nodea, vi) == 0);
    usleep(1300000);
    NEED(pthread_cancel(client) == 0 && joined(client) == PTHREAD_CANCELED);
    for (unsigned i = 0; i < 200 && state_of(vi) != VIP_STATE_IDLE; i++)
        usleep(10000); /* on FC-VI the other end answers the Disconnect first (8.6.3) */
    NEED(state_of(vi) == VIP_STATE_IDLE);
}

/* A server's thread waits for clients, and another one for its Peer: both are cancelled. Then nobody waits
 * there, until somebody does; the Peer request goes on, and another thread has its result. */
static void dismissed(void)
{
    pthread_t server, waiter;
    VIP_VI_ATTRIBUTES remote;
    VIP_VI_HANDLE talk = new_vi(NULL, NULL), vi = new_vi(NULL, NULL), peer = new_vi(NULL, NULL);
    const char *other = rank == 0 ? "nodeb" : "nodea";
    for (unsigned i = 1; i < 4; i++)
        post(talk, i, memory + 65536, 64);
    connect_vi(talk, TAG);
    if (rank == 0) {
        OK(VipConnectPeerRequest(peer, address(NULL, TAG + 8), address(other, TAG + 9), PATIENCE_MS));
        NEED(pthread_create(&server, NULL, wait_on_tag, address(NULL, TAG + 1)) == 0);
        NEED(pthread_create(&waiter, NULL, wait_for_peer, peer) == 0);
        usleep(1200000); /* each has let go of the NIC once */
        NEED(pthread_cancel(server) == 0 && joined(server) == PTHREAD_CANCELED);
        NEED(pthread_cancel(waiter) == 0 && joined(waiter) == PTHREAD_CANCELED);
        NEED(VipConnectPeerDone(peer, &remote) == VIP_NOT_DONE);
    }
    say(talk, 5, memory + 70000, 64);
    (void)hear(talk);
    if (rank == 1)
        NEED(VipConnectRequest(vi, address(NULL, 1), address("nodea", TAG + 1), PATIENCE_MS, &remote) ==
             VIP_NO_MATCH);
    say(talk, 5, memory + 70000, 64);
    (void)hear(talk);
    given_up(vi);
    connect_vi(vi, TAG + 1);
    if (rank == 1)
        OK(VipConnectPeerRequest(peer, address(NULL, TAG + 8), address(other, TAG + 9), PATIENCE_MS));
    NEED(pthread_create(&waiter, NULL, wait_for_peer, peer) == 0 && joined(waiter) == peer);
    part(talk);
    (void)VipDisconnect(vi);
    (void)VipDisconnect(peer);
}

/* Others disconnect and close under threads that wait: each comes back with what the guide has for it. */
static void left(void)
{
    VIP_CQ_HANDLE cq;
    pthread_t thread[3];
    OK(VipCreateCQ(nic, 8, &cq));
    VIP_VI_HANDLE vi = new_vi(NULL, NULL), queued = new_vi(NULL, cq);
    post(vi, 0, memory + 65536, 64);
    post(queued, 1, memory + 65536, 64);
    connect_vi(vi, TAG);
    connect_vi(queued, TAG + 1);
    NEED(pthread_create(&thread[0], NULL, wait_on_vi, vi) == 0);
    NEED(pthread_create(&thread[1], NULL, wait_on_cq, cq) == 0);
    NEED(pthread_create(&thread[2], NULL, wait_for_clients, vi) == 0);
    usleep(100000);
    if (rank == 0) {
        OK(VipDisconnect(vi));
        OK(VipDisconnect(queued));
    }
    NEED(joined(thread[0]) == vi && joined(thread[1]) == queued);
    if (rank == 1) {
        await_end(vi);
        await_end(queued);
    }
    OK(VipCloseNic(nic));
    NEED(joined(thread[2]) == vi);
    free(memory);
    open_nic();
    OK(VipErrorCallback(nic, NULL, quiet));
    vi = new_vi(NULL, NULL);
    post(vi, 0, memory + 65536, 64);
    connect_vi(vi, TAG + 2); /* both are here again */
    part(vi);
    const unsigned before = discriminator;
    discriminator = 7;
    vi = new_vi(NULL, NULL);
    post(vi, 1, memory + 65536, 64);
    connect_vi(vi, 0); /* who waits now has the request, and not who waited before */
    discriminator = before;
    part(vi);
}

enum { CROWD = 4, HEARD = 200, IN_FLIGHT = 16 };
static VIP_VI_HANDLE shared;
static unsigned count, sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *take_some(void *polls)
{
    VIP_DESCRIPTOR *d;
    for (;;) {
        VIP_RETURN vip = polls != NULL ? VipRecvDone(shared, &d) : VipRecvWait(shared, VIP_INFINITE, &d);
        if (vip == VIP_NOT_DONE)
            continue;
        if (vip != VIP_SUCCESS)
            return NULL;
        pthread_mutex_lock(&lock);
        count++;
        sum += d->CS.ImmediateData;
        post(shared, (unsigned)((unsigned char *)d - memory) / 128, d->DS[0].Local.Data.Address, 64);
        pthread_mutex_unlock(&lock);
    }
}

/* Some wait and one polls, all on one VI: each Message is had once. */
static void crowd(void)
{
    pthread_t thread[CROWD + 1];
    VIP_VI_HANDLE credits = new_vi(NULL, NULL);
    shared = new_vi(NULL, NULL);
    for (unsigned i = 0; i < 2 * IN_FLIGHT; i++)
        post(rank == 0 ? shared : credits, 10 + i, memory + 65536 + i * 64, 64);
    post(rank == 0 ? credits : shared, 9, memory + 61440, 64);
    connect_vi(shared, TAG);
    connect_vi(credits, TAG + 1);
    for (uintptr_t i = 0; i <= CROWD && rank == 0; i++)
        NEED(pthread_create(&thread[i], NULL, take_some, i < CROWD ? NULL : thread) == 0);
    for (unsigned n = 0; n < HEARD; n++) {
        if (rank == 1) {
            VIP_DESCRIPTOR *d = descriptor(80, memory + 131072, 4);
            d->CS.Control = VIP_CONTROL_IMMEDIATE;
            d->CS.ImmediateData = n;
            OK(VipPostSend(shared, d, handle));
            await_send(shared);
        }
        if ((n + 1) % IN_FLIGHT != 0)
            continue;
        for (double end = now() + 20; rank == 0 && *(volatile unsigned *)&count <= n; usleep(200))
            NEED(now() < end);
        if (rank == 0)
            say(credits, 81, memory + 131072, 4);
        else
            post(credits, (unsigned)((unsigned char *)hear(credits) - memory) / 128, memory + 65536, 64);
    }
    if (rank == 0) {
        for (double end = now() + 20; *(volatile unsigned *)&count < HEARD; usleep(200))
            NEED(now() < end);
        OK(VipDisconnect(shared));
        for (unsigned i = 0; i <= CROWD; i++)
            (void)joined(thread[i]);
        NEED(count == HEARD && sum == HEARD * (HEARD - 1) / 2);
    } else {
        await_end(shared);
    }
    part(credits);
}

static volatile sig_atomic_t ticks;

static void tick(int number)
{
    (void)number;
    ticks++;
}

/* A timer's signal each millisecond ends no call and shortens no Timeout. */
static void signals(void)
{
    const struct sigaction action = {.sa_handler = tick};
    const struct itimerval each = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
    VIP_DESCRIPTOR *d;
    NEED(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &each, NULL) == 0);
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    post(vi, 0, memory + 65536, 64);
    post(vi, 1, memory + 65536, 64);
    connect_vi(vi, TAG);
    if (rank == 1)
        (void)hear(vi);
    double began = now();
    NEED(VipRecvWait(vi, 100, &d) == VIP_TIMEOUT && now() - began > 0.099);
    say(vi, 2, memory + 70000, 64);
    if (rank == 0)
        (void)hear(vi);
    NEED(setitimer(ITIMER_REAL, &none, NULL) == 0 && ticks > 10);
    part(vi);
}

/* ---- Connections ---- */

/* A server that looks for requests with a Timeout of zero, between other work. */
static void polling(void)
{
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE conn;
    VIP_RETURN vip = VIP_TIMEOUT;
    post(vi, 0, memory + 65536, 64);
    if (rank == 1)
        ask(vi, TAG);
    for (double end = now() + 20; rank == 0 && vip == VIP_TIMEOUT && now() < end; usleep(500)) {
        double began = now();
        vip = VipConnectWait(nic, address(NULL, TAG), 0, new_address(), &remote, &conn);
        NEED(now() - began < 5);
    }
    if (rank == 0) {
        OK(vip);
        OK(VipConnectAccept(conn, vi));
    }
    part(vi);
}

/* The client has given up before it is accepted, and before it is refused (VI-DG 3.3.2, 6.7). */
static void late(void)
{
    VIP_VI_HANDLE vi = new_vi(NULL, NULL), talk = new_vi(NULL, NULL);
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE conn;
    VIP_RETURN vip;
    for (unsigned i = 1; i < 4; i++)
        post(talk, i, memory + 65536, 64);
    connect_vi(talk, TAG);
    for (unsigned turn = 1; turn < 3; turn++) {
        if (rank == 0) {
            OK(VipConnectWait(nic, address(NULL, TAG + turn), PATIENCE_MS, new_address(), &remote, &conn));
        } else {
            do
                vip = VipConnectRequest(vi, address(NULL, 1), address("nodea", TAG + turn), 400, &remote);
            while (vip == VIP_NO_MATCH);
            NEED(vip == VIP_TIMEOUT && state_of(vi) == VIP_STATE_IDLE);
        }
        say(talk, 5, memory + 70000, 64);
        (void)hear(talk);
        if (rank == 0 && turn == 1)
            NEED(VipConnectAccept(conn, vi) == VIP_TIMEOUT &&
                 VipConnectReject(conn) == VIP_INVALID_PARAMETER);
        else if (rank == 0)
            OK(VipConnectReject(conn));
        NEED(state_of(vi) == VIP_STATE_IDLE);
    }
    connect_vi(vi, TAG + 1);
    part(talk);
    (void)VipDisconnect(vi);
}

/* A Peer waits while another process of the other side comes and goes: the next one is its Peer. */
static void patient(void)
{
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    VIP_VI_ATTRIBUTES remote;
    OK(VipConnectPeerRequest(vi, address(NULL, 1), address(rank == 0 ? "nodeb" : "nodea", TAG),
                             VIP_INFINITE));
    OK(VipConnectPeerWait(vi, &remote));
    if (rank == 0)
        await_end(vi);
    else
        OK(VipDisconnect(vi));
}

static void visits(void)
{
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    VIP_VI_ATTRIBUTES remote;
    NEED(VipConnectRequest(vi, address(NULL, 1), address("nodea", TAG + 7), PATIENCE_MS, &remote) ==
         VIP_NO_MATCH);
    usleep(1500000); /* the other's request is here by then, and is told that nobody waits */
}

/* Discriminators of each length, with zeros in the middle; what is shown is what was given. */
static void discriminators(void)
{
    static const unsigned lengths[] = {0, 1, 3, 15, 16, 17, 64, 127, 128};
    const unsigned before = discriminator;
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths && lengths[i] <= attributes.MaxDiscriminatorLen;
         i++) {
        VIP_VI_HANDLE vi = new_vi(NULL, NULL);
        discriminator = lengths[i];
        post(vi, i, memory + 65536, 64);
        connect_vi(vi, i << 24 | 1); /* its last byte is the first that differs */
        part(vi);
    }
    discriminator = before;
}

static void *serve_self(void *vi)
{
    VIP_NET_ADDRESS *from = calloc(1, 512), *mine = calloc(1, 512);
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE conn;
    mine->HostAddressLen = attributes.NicAddressLen;
    memcpy(mine->HostAddress, attributes.LocalNicAddress, attributes.NicAddressLen);
    OK(VipConnectWait(nic, mine, PATIENCE_MS, from, &remote, &conn));
    OK(VipConnectAccept(conn, vi));
    free(from);
    free(mine);
    return NULL;
}

/* Both ends are VIs of one NIC. */
static void itself(void)
{
    pthread_t thread;
    VIP_VI_ATTRIBUTES remote;
    VIP_VI_HANDLE one = new_vi(NULL, NULL), other = new_vi(NULL, NULL);
    VIP_RETURN vip = VIP_NO_MATCH;
    discriminator = 0;
    post(one, 0, memory + 65536, 64);
    post(other, 1, memory + 65600, 64);
    NEED(pthread_create(&thread, NULL, serve_self, other) == 0);
    for (double end = now() + 10; vip == VIP_NO_MATCH && now() < end; usleep(1000))
        vip = VipConnectRequest(one, address(NULL, 0), address(NULL, 0), PATIENCE_MS, &remote);
    OK(vip);
    (void)joined(thread);
    memory[70000] = 'a';
    say(one, 2, memory + 70000, 1);
    NEED(hear(other)->CS.Length == 1 && memory[65600] == 'a');
    say(other, 2, memory + 70000, 9);
    NEED(hear(one)->CS.Length == 9);
    memset(memory + 70000, 'b', 5000);
    OK(VipPostSend(one, write_descriptor(3, memory + 70000, 5000, (uintptr_t)memory + 80000, handle),
                   handle));
    await_send(one);
    for (double end = now() + 10; *(volatile unsigned char *)(memory + 84999) != 'b';)
        NEED(now() < end);
    OK(VipDisconnect(one));
    OK(VipDisconnect(other));
    discriminator = 16;
}

/* ---- Descriptors and regions ---- */

/* Segments of no bytes between others, with a handle that is none; the longest transfer, and one byte more.
 */
static void bounds(void)
{
    static const VIP_UINT32 in[] = {0, 10, 0, 3, 2000}, out[] = {1, 0, 500, 500},
                            at[] = {0, 0, 777, 2000, 3000};
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    VIP_DESCRIPTOR *d = descriptor(1, memory, 0);
    const VIP_UINT32 longest = attributes.MaxTransferSize;
    VIP_MEM_ATTRIBUTES m = {.Ptag = ptag};
    VIP_MEM_HANDLE region;
    unsigned char *large = malloc(longest + 2); /* of an odd address */
    NEED(large != NULL);
    OK(VipRegisterMem(nic, large + 1, longest + 1, &m, &region));
    NEED(VipRegisterMem(nic, large, 0, &m, &(VIP_MEM_HANDLE){0}) == VIP_INVALID_PARAMETER);
    d->CS.SegCount = 5;
    d->CS.Length = 2013;
    for (unsigned i = 0; i < 5; i++)
        d->DS[i].Local =
            (VIP_DATA_SEGMENT){{.Address = memory + 65536 + at[i]}, in[i] > 0 ? handle : 0xDEAD, in[i]};
    OK(VipPostRecv(vi, d, handle));
    d = descriptor(4, large + 1, longest);
    d->DS[0].Local.Handle = region;
    OK(VipPostRecv(vi, d, handle));
    connect_vi(vi, TAG);
    for (unsigned i = 0; i < 1001; i++)
        memory[200000 + i] = (unsigned char)(i * 3);
    d = descriptor(8, memory, 0);
    d->CS.SegCount = 4;
    d->CS.Length = 1001;
    VIP_UINT32 done = 0;
    for (unsigned i = 0; i < 4; done += out[i], i++)
        d->DS[i].Local = (VIP_DATA_SEGMENT){{.Address = memory + 200000 + done}, handle, out[i]};
    OK(VipPostSend(vi, d, handle));
    await_send(vi);
    NEED(hear(vi)->CS.Length == 1001);
    for (unsigned i = 0; i < 1001; i++)
        NEED(memory[65536 + (i < 10 ? i : i < 13 ? 2000 + i - 10 : 3000 + i - 13)] == (unsigned char)(i * 3));
    if (rank == 0) {
        NEED(hear(vi)->CS.Length == longest && large[1] == 1 && large[longest] == (unsigned char)longest);
        await_end(vi);
    } else {
        for (VIP_UINT32 i = 1; i <= longest; i++)
            large[i] = (unsigned char)i;
        for (VIP_UINT32 more = 0; more < 2; more++) {
            d = descriptor(12, large + 1, longest + more);
            d->DS[0].Local.Handle = region;
            OK(VipPostSend(vi, d, handle));
            NEED(VipSendWait(vi, EVENT_MS, &d) == (more ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS));
        }
        NEED((d->CS.Status & (VIP_STATUS_LENGTH_ERROR | VIP_STATUS_FORMAT_ERROR)) != 0);
        OK(VipDisconnect(vi));
    }
    OK(VipDeregisterMem(nic, large + 1, region));
    free(large);
}

/* What the NIC says of itself is so: as many VIs, and as many Descriptors on each queue of one. */
static void limits(void)
{
    VIP_VI_HANDLE *all = calloc(attributes.MaxVI, sizeof *all), vi;
    VIP_UINT32 each = attributes.MaxDescriptorsPerQueue < 256 ? attributes.MaxDescriptorsPerQueue : 256;
    NEED(all != NULL);
    for (VIP_UINT32 i = 0; i < attributes.MaxVI; i++)
        all[i] = new_vi(NULL, NULL);
    for (VIP_UINT32 i = 0; i < attributes.MaxVI; i++)
        OK(VipDestroyVi(all[i]));
    free(all);
    vi = new_vi(NULL, NULL);
    for (VIP_UINT32 i = 0; i < each; i++)
        post(vi, 100 + i, memory + 131072, 64);
    connect_vi(vi, TAG);
    for (VIP_UINT32 i = 0; i + 1 < each && rank == 1; i++)
        OK(VipPostSend(vi, descriptor(400 + i, memory + 131072, i % 64), handle));
    for (VIP_UINT32 i = 0; i + 1 < each; i++)
        if (rank == 1)
            await_send(vi);
        else
            NEED(hear(vi)->CS.Length == i % 64);
    part(vi);
}

/* ---- processes ---- */

/* The child of a process with a NIC opens one of its own, and connects to its parent. Rank 1 alone has both.
 */
static void families(void)
{
    int status = -1;
    if (rank == 1)
        return;
    pid_t child = fork();
    if (child == 0) {
        rank = 1;
        device = "nic2";
        free(memory);
        open_nic();
    }
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    post(vi, 0, memory + 65536, 64);
    post(vi, 1, memory + 65536, 64);
    connect_vi(vi, TAG);
    say(vi, 2, memory + 70000, 9);
    NEED(hear(vi)->CS.Length == 9);
    part(vi);
    if (child == 0)
        exit(VipCloseNic(nic) != VIP_SUCCESS);
    NEED(waitpid(child, &status, 0) == child && status == 0);
}

static const struct test tests[] = {
    {"cancelled", cancelled}, {"dismissed", dismissed}, {"left", left},
    {"crowd", crowd},         {"signals", signals},     {"polling", polling},
    {"late", late},           {"patient", patient},     {"visits", visits},
    {"itself", itself},       {"bounds", bounds},       {"discriminators", discriminators},
    {"limits", limits},       {"families", families}};

int main(int argc, char **argv)
{
    return play(argc, argv, tests, sizeof tests / sizeof *tests);
}
