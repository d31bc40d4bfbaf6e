/* A program of VIPL beside bare sockets, two processes in one run: Messages of 64 bytes there and back,
 * waiting and polling, and Messages of 1 MB one way. VI/TCP and TCP sockets over loopback, or with two
 * interfaces that are joined FCoE and packet sockets. One line of JSON.
 *
 * Usage: bench_vipl ROUND-TRIPS MESSAGES [INTERFACE INTERFACE] */
#include "../lines/clock.h"

#include <vipl.h>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
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
/* of packet sockets: the data of a frame of FC; how many frames until the receiver says that it has them, and
 * how many at most before it does; an EtherType for experiments (IEEE 802) */
enum { FRAME = 2112, TOLD = 128, WINDOW = 2 * TOLD, ETHERTYPE = 0x88B5, ADDRESS = 16 };

static const char *const *interfaces; /* NULL: VI/TCP */
static unsigned char hosts[2][ADDRESS];
static int between; /* of a pair of sockets: the other process */
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

static VIP_NET_ADDRESS *address(const unsigned char host[ADDRESS])
{
    VIP_NET_ADDRESS *a = calloc(1, 64);
    need(a != NULL, "memory");
    a->HostAddressLen = ADDRESS;
    a->DiscriminatorLen = 1;
    memcpy(a->HostAddress, host, ADDRESS);
    a->HostAddress[ADDRESS] = TAG;
    return a;
}

static void connect_vi(void)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE conn;
    VIP_RETURN vip = VIP_NO_MATCH;
    if (rank == 0) {
        need(VipConnectWait(nic, address(hosts[0]), PATIENCE_MS, address(hosts[1]), &remote, &conn) ==
                     VIP_SUCCESS &&
                 VipConnectAccept(conn, vi) == VIP_SUCCESS,
             "VipConnectWait");
        return;
    }
    for (int i = 0; i < 1000 && vip == VIP_NO_MATCH; i++) {
        vip = VipConnectRequest(vi, address(hosts[1]), address(hosts[0]), PATIENCE_MS, &remote);
        nanosleep(&pause, NULL);
    }
    need(vip == VIP_SUCCESS, "VipConnectRequest");
}

static void open_nic(void)
{
    VIP_MEM_ATTRIBUTES m = {.EnableRdmaWrite = VIP_FALSE};
    VIP_VI_ATTRIBUTES v = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY, .MaxTransferSize = LARGE};
    const size_t size = PAGE + (size_t)DEPTH * LARGE;
    char device[64];
    if (interfaces == NULL)
        snprintf(device, sizeof device, "vitcp:127.0.0.%d:29473", 1 + rank);
    else
        snprintf(device, sizeof device, "fcoe:%s", interfaces[rank]);
    need(VipOpenNic(device, &nic) == VIP_SUCCESS && VipQueryNic(nic, &attributes) == VIP_SUCCESS &&
             VipCreatePtag(nic, &m.Ptag) == VIP_SUCCESS,
         "VipOpenNic");
    memcpy(hosts[rank], attributes.LocalNicAddress, ADDRESS);
    need(attributes.NicAddressLen == ADDRESS && write(between, hosts[rank], ADDRESS) == ADDRESS &&
             read(between, hosts[!rank], ADDRESS) == ADDRESS,
         "addresses");
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
    const double begin = clock_seconds();
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
    return clock_seconds() - begin;
}

static double there_and_back(int trips, bool polling)
{
    polls = polling;
    const double begin = clock_seconds();
    for (int i = 0; i < trips; i++) {
        if (rank == 1)
            say(SMALL);
        hear(i);
        if (rank == 0)
            say(SMALL);
    }
    polls = false;
    return clock_seconds() - begin;
}

/* ---- bare sockets ---- */

static int tcp_socket(void)
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

/* To every station: there is one. */
static int packet_socket(void)
{
    const int room = 4 << 20;
    const struct sockaddr_ll a = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ETHERTYPE),
                                  .sll_ifindex = (int)if_nametoindex(interfaces[rank])};
    int fd = socket(AF_PACKET, SOCK_RAW, htons(ETHERTYPE));
    char other_is_there;
    need(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) == 0 &&
             bind(fd, (const struct sockaddr *)&a, sizeof a) == 0 && write(between, "", 1) == 1 &&
             read(between, &other_is_there, 1) == 1,
         "a packet socket");
    return fd;
}

static size_t carry_frame(int fd, bool out, unsigned char *at, size_t length)
{
    unsigned char header[ETH_HLEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,           2,
                                      0,    0,    0,    0,    1,    ETHERTYPE >> 8, ETHERTYPE & 0xff};
    struct iovec parts[] = {{header, sizeof header}, {at, length < FRAME ? length : FRAME}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t n = out ? sendmsg(fd, &message, 0) : recvmsg(fd, &message, 0);
    need(n == (ssize_t)(sizeof header + parts[1].iov_len), "a packet socket");
    return parts[1].iov_len;
}

/* To and from the same places as the Messages of VIPL. */
static void carry(int fd, bool out, int place, size_t length)
{
    static int frames;
    for (size_t done = 0; done < length;) {
        unsigned char *at = memory + PAGE + (size_t)place * LARGE + done;
        if (interfaces == NULL) {
            ssize_t n = out ? send(fd, at, length - done, 0) : recv(fd, at, length - done, 0);
            need(n > 0, "a bare socket");
            done += (size_t)n;
            continue;
        }
        done += carry_frame(fd, out, at, length - done);
        if (length == LARGE && ++frames % TOLD == 0 && (!out || frames >= WINDOW))
            (void)carry_frame(fd, !out, at, 1); /* no frame may be lost */
    }
}

static double bare_trips(int fd, int trips)
{
    const double begin = clock_seconds();
    for (int i = 0; i < trips; i++) {
        carry(fd, rank == 1, 0, SMALL);
        carry(fd, rank == 0, i % DEPTH, SMALL);
    }
    return clock_seconds() - begin;
}

static double bare_bulk(int fd, int messages)
{
    const double begin = clock_seconds();
    for (int i = 0; i < messages; i++)
        carry(fd, rank == 1, i % DEPTH, LARGE);
    carry(fd, rank == 0, 0, 1);
    if (interfaces != NULL && rank == 1)
        carry(fd, false, 0, 1); /* the last word but one */
    return clock_seconds() - begin;
}

int main(int argc, char **argv)
{
    const int trips = argc > 1 ? atoi(argv[1]) : 4000, messages = argc > 2 ? atoi(argv[2]) : 400;
    int status = 0, pair[2];
    interfaces = argc > 4 ? (const char *const *)argv + 3 : NULL;
    need(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "a pair of sockets");
    other = fork();
    need(other >= 0 && trips > 0 && messages >= DEPTH && messages % (DEPTH / 2) == 0, "usage");
    rank = other > 0;
    between = pair[rank];
    open_nic();
    int fd = interfaces == NULL ? tcp_socket() : packet_socket();
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
