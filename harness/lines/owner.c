/* See owner.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): struct ucred */
#endif
#include "owner.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { OWNER_PATIENCE_S = 1, OWNER_ANSWER = 4096 };

static bool owner_is(uid_t uid)
{
    return uid == geteuid() || uid == 0;
}

/* One side of the connection as the kernel's table has it. */
static bool owner_address(const struct sockaddr_storage *from, __be16 *port, __be32 place[4])
{
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)from;
        *port = four->sin_port;
        memcpy(place, &four->sin_addr, sizeof four->sin_addr);
        return true;
    }
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)from;
    *port = six->sin6_port;
    memcpy(place, &six->sin6_addr, sizeof six->sin6_addr);
    return from->ss_family == AF_INET6;
}

struct owner_question {
    struct nlmsghdr header;
    struct inet_diag_req_v2 about;
};

/* The other end is a socket of this host: its local address is our peer. */
static bool owner_ask(int netlink, const struct owner_question *q, struct inet_diag_msg *found)
{
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    const struct timeval patience = {.tv_sec = OWNER_PATIENCE_S};
    union {
        struct nlmsghdr header;
        char bytes[OWNER_ANSWER];
    } answer;
    (void)setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (sendto(netlink, q, sizeof *q, 0, (const struct sockaddr *)(const void *)&kernel, sizeof kernel) !=
        (ssize_t)sizeof *q)
        return false;
    ssize_t got = recv(netlink, &answer, sizeof answer, 0);
    if (got < (ssize_t)NLMSG_LENGTH(sizeof *found) || answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    memcpy(found, NLMSG_DATA(&answer.header), sizeof *found);
    return true;
}

/* A socket that no process has any more has no owner: the table gives root's number for it, and no inode. */
static bool owner_of_tcp(const struct sockaddr_storage *peer, const struct sockaddr_storage *own)
{
    struct owner_question q = {
        .header = {.nlmsg_len = sizeof q, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .about = {.sdiag_family = (unsigned char)peer->ss_family,
                  .sdiag_protocol = IPPROTO_TCP,
                  .idiag_states = ~0u,
                  .id = {.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
    struct inet_diag_msg found;
    if (!owner_address(peer, &q.about.id.idiag_sport, q.about.id.idiag_src) ||
        !owner_address(own, &q.about.id.idiag_dport, q.about.id.idiag_dst))
        return false;
    int netlink = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    bool known = netlink >= 0 && owner_ask(netlink, &q, &found);
    if (netlink >= 0)
        close(netlink);
    return known && found.idiag_inode != 0 && owner_is(found.idiag_uid);
}

bool owner_is_ours(int client)
{
    struct ucred who;
    struct sockaddr_storage peer, own;
    socklen_t size = sizeof who, peer_size = sizeof peer, own_size = sizeof own;
    memset(&peer, 0, sizeof peer);
    memset(&own, 0, sizeof own);
    if (getsockname(client, (struct sockaddr *)(void *)&own, &own_size) != 0)
        return false;
    if (own.ss_family == AF_UNIX)
        return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && owner_is(who.uid);
    return getpeername(client, (struct sockaddr *)(void *)&peer, &peer_size) == 0 &&
           owner_of_tcp(&peer, &own);
}
