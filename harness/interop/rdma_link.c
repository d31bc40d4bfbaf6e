/* rdma_link KIND INTERFACE: an RDMA device of rxe or siw on an interface, named KIND0: what `rdma link add`
 * of iproute2 does. */
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct request {
    struct nlmsghdr header;
    char attributes[256];
};

static void put(struct request *r, unsigned short type, const char *text)
{
    size_t length = strlen(text) + 1;
    struct nlattr *a = (void *)((char *)r + r->header.nlmsg_len);
    a->nla_type = type;
    a->nla_len = (unsigned short)(NLA_HDRLEN + length);
    memcpy((char *)a + NLA_HDRLEN, text, length);
    r->header.nlmsg_len += (unsigned)NLA_ALIGN(a->nla_len);
}

int main(int argc, char **argv)
{
    struct request r = {.header = {.nlmsg_len = NLMSG_HDRLEN,
                                   .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK),
                                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK}};
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
        char rest[512];
    } answer;
    char name[32];
    int s = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
    if (argc != 3 || strlen(argv[1]) > 8 || strlen(argv[2]) > 15 || s < 0)
        return 2;
    snprintf(name, sizeof name, "%s0", argv[1]);
    put(&r, RDMA_NLDEV_ATTR_DEV_NAME, name);
    put(&r, RDMA_NLDEV_ATTR_LINK_TYPE, argv[1]);
    put(&r, RDMA_NLDEV_ATTR_NDEV_NAME, argv[2]);
    if (send(s, &r, r.header.nlmsg_len, 0) < 0 ||
        recv(s, &answer, sizeof answer, 0) < (ssize_t)sizeof answer.header)
        return 1;
    close(s);
    printf("rdma_link: %s: %s\n", name, strerror(-answer.error.error));
    return answer.error.error == 0 ? 0 : 1;
}
