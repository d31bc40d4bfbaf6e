/* The header of an IP packet. */
#include "ip.h"

#include <fcvi/access.h>

enum {
    V4 = 20,
    V6 = 40,
    FRAGMENT = 8,
    ROUTING = 43,
    AUTHENTICATION = 51,
    OPTIONS = 60,
    MOBILITY = 135,
    HIP = 139,
    SHIM6 = 140
};

/* How long an extension header is; 0: it is none that is stepped over. */
static size_t extension(uint8_t protocol, const uint8_t *at)
{
    switch (protocol) {
    case IP_HOP_BY_HOP:
    case ROUTING:
    case OPTIONS:
    case MOBILITY:
    case HIP:
    case SHIM6:
        return ((size_t)at[1] + 1) * 8;
    case AUTHENTICATION:
        return ((size_t)at[1] + 2) * 4;
    case IP_FRAGMENT:
        return FRAGMENT;
    default:
        return 0;
    }
}

/* How long a packet is that does not say it: what the network adapter fills in is 0 where its host captures.
 */
static size_t unsaid(size_t length, size_t original)
{
    return original == SIZE_MAX ? length : original;
}

/* A datagram that is whole in one fragment is a packet like others (RFC 6946). */
static void note_fragment(struct ip_packet *p, const uint8_t *at)
{
    const uint32_t said = (uint32_t)fcvi_load(at + 2, 2);
    p->more = (said & 1) != 0;
    p->offset = said & ~7u;
    p->id = (uint32_t)fcvi_load(at + 4, 4);
    p->fragment = p->more || p->offset != 0;
}

static bool open_six(const uint8_t *b, size_t length, size_t original, struct ip_packet *p)
{
    uint8_t next = b[6];
    p->address_size = IP_ADDRESS;
    p->header = V6;
    p->from = b + 8;
    p->to = b + 24;
    p->total = (size_t)fcvi_load(b + 4, 2) + V6;
    if (p->total == V6 || p->total > original) /* left to the network adapter to fill in, or a jumbogram */
        p->total = unsaid(length, original);
    /* what stands behind the packet is none of its headers */
    const size_t end = p->total < length ? p->total : length;
    while (!p->fragment && end >= p->header + 8) {
        const uint8_t *at = b + p->header;
        const size_t size = extension(next, at);
        if (size == 0)
            break;
        if (next == IP_FRAGMENT)
            note_fragment(p, at);
        next = at[0];
        p->header += size;
    }
    static const uint8_t none[2];
    if (p->header > end || (!p->fragment && extension(next, none) != 0))
        return false;
    p->protocol = next;
    return true;
}

bool fcvi_ip_open(const uint8_t *b, size_t length, size_t original, struct ip_packet *p)
{
    *p = (struct ip_packet){.protocol = IP_NONE};
    if (length >= V6 && b[0] >> 4 == 6)
        return open_six(b, length, original, p);
    if (length < V4 || b[0] >> 4 != 4)
        return false;
    const uint32_t said = (uint32_t)fcvi_load(b + 6, 2);
    p->protocol = b[9];
    p->address_size = 4;
    p->header = (size_t)(b[0] & 0xF) * 4;
    p->from = b + 12;
    p->to = b + 16;
    p->total = (size_t)fcvi_load(b + 2, 2);
    if (p->total < p->header || p->total > original)
        p->total = unsaid(length, original);
    p->more = (said & 0x2000) != 0;
    p->offset = (said & 0x1FFF) * 8;
    p->fragment = p->more || p->offset != 0;
    p->id = (uint32_t)fcvi_load(b + 4, 2);
    return p->header >= V4 && p->header <= length;
}
