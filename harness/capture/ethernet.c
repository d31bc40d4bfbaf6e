/* What comes with an EtherType: VLAN tags, FCoE, what Cisco's switches mirror, and IP. */
#include "ip.h"
#include "layers.h"

enum {
    TYPE_IPV4 = 0x0800,
    TYPE_IPV6 = 0x86DD,
    TYPE_VLAN = 0x8100,
    TYPE_QINQ = 0x88A8,
    TYPE_QINQ_OLD = 0x9100, /* of switches before IEEE 802.1ad; some count on to 9300h */
    TYPE_QINQ_OLDEST = 0x9300,
    TYPE_BOARDWALK = 0x88AE,
    TYPE_BOARDWALK_OLD = 0xABCD, /* of adapters before the number was assigned */
    TYPE_FCOE = 0x8906,
    TYPE_FIP = 0x8914,
    TYPE_MDS = 0xFCFC,
    SMALLEST_TYPE = 0x600
};
enum { PORT_FCIP = 3225, VLAN_TAG = 4, MOST_TAGS = 8, ADDRESS = 6 };

/* ---- IP ---- */

void fcvi_envelope_ip(struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    struct ip_packet packet;
    const bool whole = fcvi_ip_open(b.at, b.length, b.original, &packet);
    fcvi_envelope_foreign(out, CAPTURE_IP, packet.protocol);
    if (!whole)
        return;
    /* what stands behind the packet is padding and checks of the link */
    b.length = packet.total < b.length ? packet.total : b.length;
    b.original = packet.total;
    out->frame = (struct fcvi_input){.bytes = b.at, .length = b.length};
    out->whole = (uint32_t)b.original;
    if (packet.fragment) {
        if (e->tunnels != NULL) {
            out->kind = CAPTURE_PART;
            out->unusual |= CAPTURE_FRAGMENT;
        }
    } else if (packet.protocol == IP_TCP) {
        if (b.length < packet.header + 4)
            fcvi_envelope_foreign(out, CAPTURE_IP, IP_NONE);
        else if (fcvi_load(b.at + packet.header, 2) == PORT_FCIP ||
                 fcvi_load(b.at + packet.header + 2, 2) == PORT_FCIP)
            out->kind = CAPTURE_PART;
    } else if (e->tunnels != NULL) {
        e->tunnels->ip(e, packet.protocol, fcvi_envelope_behind(b, packet.header), out);
    }
}

/* ---- EtherTypes ---- */

static bool is_tag(uint64_t type)
{
    return type == TYPE_VLAN || type == TYPE_QINQ ||
           (type >= TYPE_QINQ_OLD && type <= TYPE_QINQ_OLDEST && (type & 0xFF) == 0);
}

/* The frame is what FIP says, from its version on. It is about Ethernet addresses, and bare IP has none. */
static void open_fip(const struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    if (e->source == NULL)
        return;
    out->source = fcvi_load(e->source, ADDRESS);
    out->target = e->is_ethernet ? fcvi_load(e->source - ADDRESS, ADDRESS) : 0;
    out->kind = CAPTURE_FIP;
    out->frame = (struct fcvi_input){.bytes = b.at, .length = b.length};
}

void fcvi_envelope_type(struct envelope *e, uint64_t type, struct envelope_bytes b,
                        struct capture_record *out)
{
    for (unsigned tags = 0; tags < MOST_TAGS && is_tag(type) && b.length >= VLAN_TAG; tags++) {
        out->network = (out->network << 12 | (uint32_t)(fcvi_load(b.at, 2) & 0xFFF)) & 0x3FFFFFFFu;
        type = fcvi_load(b.at + 2, 2);
        b = fcvi_envelope_behind(b, VLAN_TAG);
    }
    if (type < SMALLEST_TYPE)
        fcvi_envelope_foreign(out, CAPTURE_LLC, 0);
    else
        fcvi_envelope_foreign(out, CAPTURE_ETHERTYPE, type);
    if (type == TYPE_FCOE)
        fcvi_envelope_fcoe_open(e, b, out);
    else if (type == TYPE_BOARDWALK || type == TYPE_BOARDWALK_OLD)
        fcvi_envelope_boardwalk(e, b, out);
    else if (type == TYPE_MDS)
        fcvi_envelope_mds(b, out);
    else if (type == TYPE_FIP)
        open_fip(e, b, out);
    else if (type == TYPE_IPV4 || type == TYPE_IPV6)
        fcvi_envelope_ip(e, b, out);
    else if (e->tunnels != NULL)
        e->tunnels->type(e, type, b, out);
}
