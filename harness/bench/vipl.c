/* A program of VIPL beside bare sockets, two processes over loopback in one run: Messages of 64 bytes there
 * and back, waiting and polling, and Messages of 1 MB one way. One line of JSON.
 *
 * Usage: bench_vipl [ROUND-TRIPS [MESSAGES]] */
#include <vipl.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SMALL = 64, LARGE = 1 << 20, DEPTH = 8, PAGE = 4096, TAG = 9, PATIENCE_MS = 20000, BARE_PORT = 29474 };

static int rank;
static pid_t other;
static VIP_NIC_HANDLE nic;
static VIP_NIC_ATTRIBUTES attributes;
static VIP_VI_HANDLE vi;
static VIP_MEM_HANDLE handle;
static unsigned char *memory; /* Descriptors, then DEPTH places of LARGE */
static bool polls;

static void need(bool good, const char *what)
{
    if (good)
        return;
    if (other > 0)
        kill(other, SIGTERM);
    fprintf(stderr, "bench_vipl: %s\n", what);
    exit(3);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- VIPL ---- */

static void post(bool recv, int place, VIP_UINT32 length)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(void *)(memory + (place + (recv ? 0 : DEPTH)) * 128);
    memset(d, 0, sizeof *d);
    d->CS.SegCount = 1;
    d->CS.Length = d->DS[0].Local.Length = length;
    d->DS[0].Local.Data.Address = memory + PAGE + (size_t)place * LARGE;
    d->DS[0].Local.Handle = handle;
    need((recv ? VipPostRecv : VipPostSend)(vi, d, handle) == VIP_SUCCESS, "post");
}

static void finish(bool recv)
{
    VIP_DESCRIPTOR *d;
    VIP_RETURN vip;
    if (polls)
        while ((vip = (recv ? VipRecvDone : VipSendDone)(vi, &d)) == VIP_NOT_DONE)
            continue;
    else
        vip = (recv ? VipRecvWait : VipSendWait)(vi, PATIENCE_MS, &d);
    need(vip == VIP_SUCCESS, "a Message failed");
}

static VIP_NET_ADDRESS *address(const char *ip)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    VIP_NET_ADDRESS *a = calloc(1, 64);
    need(a != NULL, "memory");
    a->HostAddressLen = attributes.NicAddressLen;
    a->DiscriminatorLen = 1;
    memcpy(a->HostAddress, mapped, sizeof mapped);
    need(inet_pton(AF_INET, ip, a->HostAddress + sizeof mapped) == 1, ip);
    a->HostAddress[a->HostAddressLen] = TAG;
    return a;
}

static void connect_vi(void)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE conn;
    VIP_RETURN vip = VIP_NO_MATCH;
    if (rank == 0) {
        need(VipConnectWait(nic, address("127.0.0.1"), PATIENCE_MS, address("127.0.0.2"), &remote, &conn) ==
                     VIP_SUCCESS &&
                 VipConnectAccept(conn, vi) == VIP_SUCCESS,
             "VipConnectWait");
        return;
    }
    for (int i = 0; i < 1000 && vip == VIP_NO_MATCH; i++) {
        vip = VipConnectRequest(vi, address("127.0.0.2"), address("127.0.0.1"), PATIENCE_MS, &remote);
        nanosleep(&pause, NULL);
    }
    need(vip == VIP_SUCCESS, "VipConnectRequest");
}

static void open_nic(void)
{
    VIP_MEM_ATTRIBUTES m = {.EnableRdmaWrite = VIP_FALSE};
    VIP_VI_ATTRIBUTES v = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY, .MaxTransferSize = LARGE};
    const size_t size = PAGE + (size_t)DEPTH * LARGE;
    need(VipOpenNic(rank == 0 ? "vitcp:127.0.0.1:29473" : "vitcp:127.0.0.2:29473", &nic) == VIP_SUCCESS &&
             VipQueryNic(nic, &attributes) == VIP_SUCCESS && VipCreatePtag(nic, &m.Ptag) == VIP_SUCCESS,
         "VipOpenNic");
    v.Ptag = m.Ptag;
    need(posix_memalign((void **)&memory, PAGE, size) == 0, "memory");
    memset(memory, 1, size);
    need(VipRegisterMem(nic, memory, (VIP_ULONG)size, &m, &handle) == VIP_SUCCESS &&
             VipCreateVi(nic, &v, NULL, NULL, &vi) == VIP_SUCCESS,
         "VipCreateVi");
    for (int i = 0; i < DEPTH; i++)
        post(true, i, LARGE);
    connect_vi();
}

static void say(VIP_UINT32 length)
{
    post(false, 0, length);
    finish(false);
}

static void hear(int n)
{
    finish(true);
    post(true, n % DEPTH, LARGE);
}

/* Two Sends are under way at a time. A credit for half of the Receives comes back as a Message of its own. */
static double bulk(int messages)
{
    const double begin = seconds();
    for (int i = 0, credits = 0; i < messages; i++) {
        if (rank == 0) {
            hear(i);
            if (i % (DEPTH / 2) == DEPTH / 2 - 1)
                say(1);
            continue;
        }
        if (i >= DEPTH && i % (DEPTH / 2) == 0)
            hear(credits++);
        post(false, i % DEPTH, LARGE);
        if (i > 0)
            finish(false);
    }
    if (rank == 1) {
        finish(false);
        hear(0);
        hear(1);
    }
    return seconds() - begin;
}

static double there_and_back(int trips, bool polling)
{
    polls = polling;
    const double begin = seconds();
    for (int i = 0; i < trips; i++) {
        if (rank == 1)
            say(SMALL);
        hear(i);
        if (rank == 0)
            say(SMALL);
    }
    polls = false;
    return seconds() - begin;
}

/* ---- bare sockets ---- */

static int bare_socket(void)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    const int on = 1;
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(BARE_PORT), .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), got = -1;
    need(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0, "socket");
    if (rank == 0) {
        need(bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 1) == 0, "listen");
        got = accept(fd, NULL, NULL);
    }
    for (int i = 0; i < 1000 && rank == 1 && got < 0; i++) {
        got = connect(fd, (struct sockaddr *)&a, sizeof a) == 0 ? fd : -1;
        nanosleep(&pause, NULL);
    }
    need(got >= 0 && setsockopt(got, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "connect");
    return got;
}

/* To and from the same places as the Messages of VIPL. */
static void carry(int fd, bool out, int place, size_t length)
{
    for (size_t done = 0; done < length;) {
        unsigned char *at = memory + PAGE + (size_t)place * LARGE + done;
        ssize_t n = out ? send(fd, at, length - done, 0) : recv(fd, at, length - done, 0);
        need(n > 0, "a bare socket");
        done += (size_t)n;
    }
}

static double bare_trips(int fd, int trips)
{
    const double begin = seconds();
    for (int i = 0; i < trips; i++) {
        carry(fd, rank == 1, 0, SMALL);
        carry(fd, rank == 0, i % DEPTH, SMALL);
    }
    return seconds() - begin;
}

static double bare_bulk(int fd, int messages)
{
    const double begin = seconds();
    for (int i = 0; i < messages; i++)
        carry(fd, rank == 1, i % DEPTH, LARGE);
    carry(fd, rank == 0, 0, 1);
    return seconds() - begin;
}

int main(int argc, char **argv)
{
    const int trips = argc > 1 ? atoi(argv[1]) : 4000, messages = argc > 2 ? atoi(argv[2]) : 400;
    int status = 0;
    other = fork();
    need(other >= 0 && trips > 0 && messages >= DEPTH && messages % (DEPTH / 2) == 0, "usage");
    rank = other > 0;
    open_nic();
    int fd = bare_socket();
    double wait_s = there_and_back(trips, false), bare_s = bare_trips(fd, trips);
    double poll_s = there_and_back(trips, true), bulk_s = bulk(messages),
           bare_bulk_s = bare_bulk(fd, messages);
    if (rank == 0)
        _exit(0);
    need(waitpid(other, &status, 0) == other && status == 0, "the other side failed");
    printf("{\"trips\": %d, \"wait_s\": %.6f, \"poll_s\": %.6f, \"bare_s\": %.6f, \"messages\": %d, "
           "\"message_bytes\": %d, \"bulk_s\": %.6f, \"bare_bulk_s\": %.6f}\n",
           trips, wait_s, poll_s, bare_s, messages, LARGE, bulk_s, bare_bulk_s);
    return 0;
}
