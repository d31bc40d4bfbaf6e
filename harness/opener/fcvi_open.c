/* fcvi-open INTERFACE: opens an Ethernet interface for a process that may not, and hands the socket over.
 *
 * The suite starts it with one end of a pair of sockets as standard input. An administrator gives this small
 * program CAP_NET_RAW (setcap cap_net_raw=ep), and execution to whom it may serve; the suite itself then
 * needs no capability. The socket that goes out takes in FCoE, FIP and LLDP of this interface only, and its
 * filter is locked. It cannot be bound anew. What it sends the kernel does not bind: whoever has the socket
 * can send any frame on any interface of the network namespace, and make any of them promiscuous while the
 * socket is open. Nothing of the environment is read. */
#include <errno.h>
#include <linux/filter.h>

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { WRONG_USAGE = 2, FAILED = 3, WHOLE = 0x40000 };
#ifndef PACKET_IGNORE_OUTGOING
enum { PACKET_IGNORE_OUTGOING = 23 };
#endif
/* PACKET_FANOUT_FLAG_UNIQUEID and PACKET_FANOUT_FLAG_IGNORE_OUTGOING, which older headers lack. */
enum { FANOUT_UNIQUE = 0x2000, FANOUT_IGNORE_OUTGOING = 0x4000 };

static int complain(const char *name, const char *words)
{
    fprintf(stderr, "fcvi-open: %.15s: %s\n", name, words);
    return FAILED;
}

static bool is_pair(int fd)
{
    int domain = 0;
    socklen_t size = sizeof domain;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

static bool set(int s, int level, int option, const void *value, socklen_t size)
{
    return setsockopt(s, level, option, value, size) == 0;
}

/* EtherTypes 8906h, 8914h and 88CCh of this interface, also before the socket is bound. The kernel has
 * taken tags of VLANs off. */
static bool narrow(int s, int index)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_IFINDEX)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)index, 0, 5),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x8906, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x8914, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x88CC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, WHOLE),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    const int yes = 1;
    return set(s, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) &&
           set(s, SOL_SOCKET, SO_LOCK_FILTER, &yes, sizeof yes);
}

static bool join(int s, int index)
{
    const int yes = 1;
    const struct packet_mreq everything = {.mr_ifindex = index, .mr_type = PACKET_MR_PROMISC};
    const struct sockaddr_ll where = {
        .sll_family = AF_PACKET, .sll_protocol = __builtin_bswap16(ETH_P_ALL), .sll_ifindex = index};
    (void)set(s, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes,
              sizeof yes); /* a receiver looks for itself as well */
    return set(s, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &everything, sizeof everything) &&
           bind(s, (const struct sockaddr *)&where, sizeof where) == 0;
}

/* Into a fanout group of its own. A socket leaves no group, and while it is in one the kernel binds it to
 * nothing else: it can neither move nor take frames away from another program's group. */
static bool settle(int s)
{
    const uint32_t alone = (PACKET_FANOUT_HASH | FANOUT_UNIQUE | FANOUT_IGNORE_OUTGOING) << 16;
    return set(s, SOL_PACKET, PACKET_FANOUT, &alone, sizeof alone);
}

static bool hand_over(int s)
{
    char byte = 0;
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof s);
    memcpy(CMSG_DATA(rights), &s, sizeof s);
    return sendmsg(STDIN_FILENO, &message, MSG_NOSIGNAL) == 1;
}

int main(int argc, char **argv)
{
    struct ifreq r = {0};
    if (argc != 2 || strlen(argv[1]) >= sizeof r.ifr_name || !is_pair(STDIN_FILENO)) {
        fputs("fcvi-open: `fcvi` starts this program; see fcvi-open(8)\n", stderr);
        return WRONG_USAGE;
    }
    memcpy(r.ifr_name, argv[1], strlen(argv[1]));
    int s = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (s < 0)
        return complain(argv[1], errno == EPERM ? "fcvi-open has no CAP_NET_RAW (setcap cap_net_raw=ep)"
                                                : strerror(errno));
    if (ioctl(s, SIOCGIFHWADDR, &r) != 0)
        return complain(argv[1], errno == ENODEV ? "there is no such interface" : strerror(errno));
    if (r.ifr_hwaddr.sa_family != ARPHRD_ETHER)
        return complain(argv[1], "this is no Ethernet interface");
    if (ioctl(s, SIOCGIFINDEX, &r) != 0 || !narrow(s, r.ifr_ifindex) || !join(s, r.ifr_ifindex) ||
        !settle(s) || !hand_over(s))
        return complain(argv[1], strerror(errno));
    return 0;
}
