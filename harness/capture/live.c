/* A live Ethernet interface, through libpcap or a socket that was handed over. */
#include "live.h"

#include "adopted.h"
#include "envelope.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BUFFER = 8 << 20,
    ADDRESS = 6,
    ADDRESSES = 2 * ADDRESS,
    WHY = 512,
    TPID_HIGH = 0x81,  /* 8100h, of a tag of IEEE 802.1Q */
    PRIORITY = 3 << 5, /* the usual one of FCoE */
    VLAN_HIGH = 0x0F   /* the VLAN is the low 12 bits of the two bytes behind */
};
static const char filter[] = "ether proto 0x8906 or ether proto 0x8914 or ether proto 0x88cc";

struct live {
    pcap_t *pcap;            /* or */
    struct adopted *adopted; /* the other is NULL */
    uint64_t number;
    int netlink;
    uint32_t index;   /* of the interface */
    uint32_t changes; /* how often its carrier had come or gone when we last looked */
    char name[IFNAMSIZ];
    uint8_t address[ADDRESS];
    char why[WHY];
    uint8_t untagged[LIVE_LONGEST]; /* the frame that came last, if it had a tag */
};

static int complain(char *error, size_t size, const char *name, const char *words)
{
    snprintf(error, size, "%s: %s", name, words);
    return -1;
}

/* One question to the kernel about an interface. */
static int ask(const char *name, unsigned long request, struct ifreq *answer)
{
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s < 0)
        return -1;
    memset(answer, 0, sizeof *answer);
    snprintf(answer->ifr_name, sizeof answer->ifr_name, "%s", name);
    int status = ioctl(s, request, answer);
    int reason = errno;
    close(s);
    errno = reason;
    return status;
}

static int check_up(const char *name, char *error, size_t size)
{
    struct ifreq r;
    if (ask(name, SIOCGIFFLAGS, &r) != 0)
        return complain(error, size, name, errno == ENODEV ? "there is no such interface" : strerror(errno));
    if ((r.ifr_flags & IFF_UP) == 0)
        return complain(error, size, name, "the interface is down");
    if ((r.ifr_flags & IFF_LOOPBACK) != 0)
        return complain(error, size, name, "the loopback interface is no wire");
    if ((r.ifr_flags & IFF_RUNNING) == 0)
        return complain(error, size, name, LIVE_NO_LINK);
    return 0;
}

/* How often the carrier has come or gone since the interface exists; false when the kernel does not tell. */
static bool carrier_changes(const struct live *live, uint32_t *changes)
{
    struct {
        struct nlmsghdr header;
        struct ifinfomsg info;
    } ask = {.header = {.nlmsg_len = sizeof ask, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
             .info = {.ifi_index = (int)live->index}};
    union {
        struct nlmsghdr header;
        char bytes[16384];
    } answer;
    if (send(live->netlink, &ask, sizeof ask, 0) != (ssize_t)sizeof ask)
        return false;
    ssize_t n = recv(live->netlink, &answer, sizeof answer, 0);
    if (n < (ssize_t)(NLMSG_HDRLEN + sizeof(struct ifinfomsg)) || answer.header.nlmsg_type != RTM_NEWLINK)
        return false;
    struct rtattr a;
    for (size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct ifinfomsg)); at + sizeof a <= (size_t)n;
         at += RTA_ALIGN(a.rta_len)) {
        memcpy(&a, answer.bytes + at, sizeof a);
        if (a.rta_len < sizeof a)
            break;
        if (a.rta_type == IFLA_CARRIER_CHANGES && at + sizeof a + sizeof *changes <= (size_t)n) {
            memcpy(changes, answer.bytes + at + sizeof a, sizeof *changes);
            return true;
        }
    }
    return false;
}

static bool watch_carrier(struct live *live)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    live->index = if_nametoindex(live->name);
    live->netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    return live->netlink >= 0 && connect(live->netlink, (struct sockaddr *)&kernel, sizeof kernel) == 0;
}

static int check_interface(struct live *live, char *error, size_t size)
{
    struct ifreq r;
    if (check_up(live->name, error, size) != 0)
        return -1;
    if (ask(live->name, SIOCGIFMTU, &r) != 0)
        return complain(error, size, live->name, strerror(errno));
    if (r.ifr_mtu < LIVE_MTU) {
        snprintf(error, size, "%s: the MTU is %d; FCoE needs %d, set 2500 (ip link set %s mtu 2500)",
                 live->name, r.ifr_mtu, LIVE_MTU, live->name);
        return -1;
    }
    if (ask(live->name, SIOCGIFHWADDR, &r) != 0)
        return complain(error, size, live->name, strerror(errno));
    memcpy(live->address, r.ifr_hwaddr.sa_data, ADDRESS);
    if (!watch_carrier(live))
        return complain(error, size, live->name, strerror(errno));
    fcvi_live_forget(live);
    return 0;
}

static int configure(pcap_t *p)
{
    return pcap_set_snaplen(p, LIVE_LONGEST) != 0 || pcap_set_promisc(p, 1) != 0 ||
           pcap_set_immediate_mode(p, 1) != 0 || pcap_set_buffer_size(p, BUFFER) != 0;
}

static int activate(struct live *live, char *error, size_t size)
{
    char reason[PCAP_ERRBUF_SIZE];
    struct bpf_program program;
    pcap_t *p = live->pcap;
    if (configure(p) != 0)
        return complain(error, size, live->name, "libpcap refuses the settings");
    int status = pcap_activate(p);
    if (status == PCAP_ERROR_PERM_DENIED || status == PCAP_ERROR_PROMISC_PERM_DENIED)
        return complain(error, size, live->name,
                        LIVE_NOT_PERMITTED
                        ": it needs CAP_NET_RAW (run as root, by sudo, or give it to fcvi-open with setcap)");
    if (status < 0)
        return complain(error, size, live->name,
                        *pcap_geterr(p) != '\0' ? pcap_geterr(p) : pcap_statustostr(status));
    /* a program that the process starts would go on taking frames from the wire */
    if (fcntl(pcap_fileno(p), F_SETFD, FD_CLOEXEC) != 0)
        return complain(error, size, live->name, strerror(errno));
    if (pcap_datalink(p) != DLT_EN10MB)
        return complain(error, size, live->name, "this is no Ethernet interface");
    if (pcap_compile(p, &program, filter, 1, PCAP_NETMASK_UNKNOWN) != 0)
        return complain(error, size, live->name, pcap_geterr(p));
    status = pcap_setfilter(p, &program);
    pcap_freecode(&program);
    if (status != 0 || pcap_setdirection(p, PCAP_D_IN) != 0 || pcap_setnonblock(p, 1, reason) != 0)
        return complain(error, size, live->name, pcap_geterr(p));
    return 0;
}

static struct live *make(const char *interface, char *error, size_t size)
{
    struct live *live = calloc(1, sizeof *live);
    if (live == NULL) {
        complain(error, size, interface, "out of memory");
        return NULL;
    }
    live->netlink = -1;
    if (strlen(interface) < sizeof live->name) {
        snprintf(live->name, sizeof live->name, "%s", interface);
        return live;
    }
    complain(error, size, interface, "there is no such interface");
    free(live);
    return NULL;
}

struct live *fcvi_live_open(const char *interface, char *error, size_t size)
{
    char reason[PCAP_ERRBUF_SIZE];
    struct live *live = make(interface, error, size);
    if (live == NULL)
        return NULL;
    live->pcap = pcap_create(interface, reason);
    if (live->pcap == NULL)
        complain(error, size, interface, reason);
    if (live->pcap != NULL && check_interface(live, error, size) == 0 && activate(live, error, size) == 0)
        return live;
    fcvi_live_close(live);
    return NULL;
}

struct live *fcvi_live_adopt(const char *interface, int fd, char *error, size_t size)
{
    struct live *live = make(interface, error, size);
    if (live == NULL || check_interface(live, error, size) != 0) {
        close(fd);
    } else {
        live->adopted = fcvi_adopted_open(fd, live->index);
        if (live->adopted != NULL)
            return live;
        complain(error, size, interface, strerror(errno));
    }
    if (live != NULL)
        fcvi_live_close(live);
    return NULL;
}

const uint8_t *fcvi_live_address(const struct live *live)
{
    return live->address;
}

int fcvi_live_fd(const struct live *live)
{
    return live->adopted != NULL ? fcvi_adopted_fd(live->adopted) : pcap_get_selectable_fd(live->pcap);
}

const char *fcvi_live_why(const struct live *live)
{
    return live->why;
}

void fcvi_live_forget(struct live *live)
{
    (void)carrier_changes(live, &live->changes);
}

int fcvi_live_ready(struct live *live)
{
    uint32_t before = live->changes;
    fcvi_live_forget(live);
    if (check_up(live->name, live->why, sizeof live->why) != 0)
        return -1;
    if (live->changes != before)
        return complain(live->why, sizeof live->why, live->name, "the link went down for a moment");
    return 0;
}

static bool is_lldp(const uint8_t *bytes)
{
    return bytes[ADDRESSES] == 0x88 && bytes[ADDRESSES + 1] == 0xCC;
}

/* The kernel's filter sees no tag, and libpcap puts it back: frames of every VLAN come here. */
static void take_tag(struct live *live, struct live_record *out)
{
    const uint8_t *b = out->bytes;
    if (out->length < LIVE_ETHERNET + LIVE_TAG || out->length > sizeof live->untagged ||
        b[ADDRESSES] != TPID_HIGH || b[ADDRESSES + 1] != 0)
        return;
    out->vlan = (uint16_t)((b[ADDRESSES + 2] & VLAN_HIGH) << 8 | b[ADDRESSES + 3]);
    memcpy(live->untagged, b, ADDRESSES);
    memcpy(live->untagged + ADDRESSES, b + ADDRESSES + LIVE_TAG, out->length - ADDRESSES - LIVE_TAG);
    out->bytes = live->untagged;
    out->length -= LIVE_TAG;
}

/* The next frame of whatever EtherType: 1, 0 for none now, -1. */
static int next(struct live *live, struct adopted_frame *out)
{
    struct pcap_pkthdr *header;
    const u_char *bytes;
    if (live->adopted != NULL)
        return fcvi_adopted_next(live->adopted, out) ? 1 : 0;
    int status = pcap_next_ex(live->pcap, &header, &bytes);
    if (status == 0)
        return 0;
    if (status < 0)
        return check_up(live->name, live->why, sizeof live->why) != 0
                   ? -1
                   : complain(live->why, sizeof live->why, live->name, pcap_geterr(live->pcap));
    const uint64_t time_us = (uint64_t)header->ts.tv_sec * 1000000u + (uint64_t)header->ts.tv_usec;
    *out = (struct adopted_frame){bytes, header->caplen, header->len, time_us, 0};
    return 1;
}

int fcvi_live_receive(struct live *live, struct live_record *out)
{
    struct adopted_frame f;
    for (;;) {
        int status = next(live, &f);
        if (status != 1)
            return status;
        memset(out, 0, sizeof *out);
        struct envelope envelope = {0};
        fcvi_envelope_open(&envelope, CAPTURE_ETHERNET, (struct envelope_bytes){f.bytes, f.length, f.length},
                           &out->record);
        if (f.length < LIVE_ETHERNET || (out->record.kind == CAPTURE_FOREIGN && !is_lldp(f.bytes)))
            continue;
        if (f.length < f.whole) {
            out->record.kind = CAPTURE_MALFORMED;
            out->record.problem = "longer than FCoE allows";
        }
        out->record.number = ++live->number;
        out->record.time_us = f.time_us;
        out->bytes = f.bytes;
        out->length = f.length;
        out->vlan = f.vlan;
        take_tag(live, out);
        return 1;
    }
}

int fcvi_live_send_raw(struct live *live, const uint8_t *bytes, size_t length, uint16_t vlan)
{
    uint8_t tagged[LIVE_LONGEST];
    if (vlan != 0) {
        if (length < LIVE_ETHERNET || length > sizeof tagged - LIVE_TAG)
            return complain(live->why, sizeof live->why, live->name, "longer than FCoE allows");
        const uint8_t tag[LIVE_TAG] = {TPID_HIGH, 0, (uint8_t)(PRIORITY | vlan >> 8), (uint8_t)vlan};
        memcpy(tagged, bytes, ADDRESSES);
        memcpy(tagged + ADDRESSES, tag, sizeof tag);
        memcpy(tagged + ADDRESSES + LIVE_TAG, bytes + ADDRESSES, length - ADDRESSES);
        bytes = tagged;
        length += LIVE_TAG;
    }
    if (live->adopted != NULL ? fcvi_adopted_send(live->adopted, bytes, length) == 0
                              : pcap_inject(live->pcap, bytes, length) == (int)length)
        return 0;
    const int reason = errno;
    if (check_up(live->name, live->why, sizeof live->why) != 0)
        return -1;
    return complain(live->why, sizeof live->why, live->name,
                    live->adopted != NULL ? strerror(reason) : pcap_geterr(live->pcap));
}

int fcvi_live_send(struct live *live, const struct live_way *way, const struct fcvi_input *frame)
{
    uint8_t bytes[LIVE_ETHERNET + LIVE_MTU];
    size_t length = fcvi_envelope_fcoe(frame, bytes, sizeof bytes);
    if (length == 0) {
        complain(live->why, sizeof live->why, live->name, "FCoE carries frames of 24 to 2136 bytes only");
        return -2;
    }
    memcpy(bytes, way->to, ADDRESS);
    memcpy(bytes + ADDRESS, way->from, ADDRESS);
    return fcvi_live_send_raw(live, bytes, length, way->vlan);
}

uint64_t fcvi_live_lost(struct live *live)
{
    struct pcap_stat counts;
    if (live->adopted != NULL)
        return fcvi_adopted_lost(live->adopted);
    return pcap_stats(live->pcap, &counts) == 0 ? counts.ps_drop : 0;
}

void fcvi_live_close(struct live *live)
{
    if (live->pcap != NULL)
        pcap_close(live->pcap);
    fcvi_adopted_close(live->adopted);
    if (live->netlink >= 0)
        close(live->netlink);
    free(live);
}
