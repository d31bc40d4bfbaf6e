/* What comes with an EtherType: VLAN tags, FCoE, what Cisco's switches mirror, and IP. */
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
enum { PORT_FCIP = 3225, IP_TCP = 6, VLAN_TAG = 4, MOST_TAGS = 8 };

/* ---- IP ---- */

/* Protocol and header length; false when it is none, or only a later fragment of a datagram. */
static bool ip_header(struct envelope_bytes b, uint8_t *protocol, size_t *header)
{
    if (b.length >= 20 && b.at[0] >> 4 == 4) {
        *header = (size_t)(b.at[0] & 0xF) * 4;
        *protocol = b.at[9];
        return *header >= 20 && (fcvi_load(b.at + 6, 2) & 0x1FFF) == 0;
    }
    *header = 40;
    *protocol = b.length >= 40 && b.at[0] >> 4 == 6 ? b.at[6] : 0xFF;
    return b.length >= 40 && b.at[0] >> 4 == 6;
}

void fcvi_envelope_ip(struct envelope_bytes b, struct capture_record *out)
{
    uint8_t protocol = 0xFF;
    size_t header = 0;
    bool first = ip_header(b, &protocol, &header);
    fcvi_envelope_foreign(out, CAPTURE_IP, protocol);
    if (!first || protocol != IP_TCP || b.length < header + 4)
        return;
    out->frame = (struct fcvi_input){.bytes = b.at, .length = b.length};
    out->whole = (uint32_t)b.original;
    if (fcvi_load(b.at + header, 2) != PORT_FCIP && fcvi_load(b.at + header + 2, 2) != PORT_FCIP)
        return;
    out->kind = CAPTURE_PART;
}

/* ---- EtherTypes ---- */

static bool is_tag(uint64_t type)
{
    return type == TYPE_VLAN || type == TYPE_QINQ ||
           (type >= TYPE_QINQ_OLD && type <= TYPE_QINQ_OLDEST && (type & 0xFF) == 0);
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
        out->kind = CAPTURE_FIP;
    else if (type == TYPE_IPV4 || type == TYPE_IPV6)
        fcvi_envelope_ip(b, out);
}
