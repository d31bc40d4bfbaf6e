/* What comes with an EtherType: Ethernet itself, Linux's cooked captures, bare IP and ERF records of
 * Ethernet. */
#include "envelope.h"

#include <stdio.h>

enum {
    LINK_ETHERNET = 1,
    LINK_RAW = 101,
    LINK_SLL = 113,
    LINK_ERF = 197,
    LINK_IPV4 = 228,
    LINK_IPV6 = 229,
    LINK_SLL2 = 276
};
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

static void foreign(struct capture_record *out, enum capture_protocol family, uint64_t number)
{
    out->kind = CAPTURE_FOREIGN;
    out->protocol = (uint32_t)family << 16 | (uint32_t)(number & 0xFFFF);
}

static struct envelope_bytes behind(struct envelope_bytes b, size_t count)
{
    return (struct envelope_bytes){b.at + count, b.length - count, b.original - count};
}

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

static void open_ip(struct envelope_bytes b, struct capture_record *out)
{
    uint8_t protocol = 0xFF;
    size_t header = 0;
    bool first = ip_header(b, &protocol, &header);
    foreign(out, CAPTURE_IP, protocol);
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

static void open_type(struct envelope *e, uint64_t source, uint64_t type, struct envelope_bytes b,
                      struct capture_record *out)
{
    for (unsigned tags = 0; tags < MOST_TAGS && is_tag(type) && b.length >= VLAN_TAG; tags++) {
        out->network = (out->network << 12 | (uint32_t)(fcvi_load(b.at, 2) & 0xFFF)) & 0x3FFFFFFFu;
        type = fcvi_load(b.at + 2, 2);
        b = behind(b, VLAN_TAG);
    }
    foreign(out, type < SMALLEST_TYPE ? CAPTURE_LLC : CAPTURE_ETHERTYPE, type < SMALLEST_TYPE ? 0 : type);
    if (type == TYPE_FCOE)
        fcvi_envelope_fcoe_read(e, b, out);
    else if (type == TYPE_BOARDWALK || type == TYPE_BOARDWALK_OLD)
        fcvi_envelope_boardwalk(e, source, b, out);
    else if (type == TYPE_MDS)
        fcvi_envelope_mds(b, out);
    else if (type == TYPE_FIP)
        out->kind = CAPTURE_FIP;
    else if (type == TYPE_IPV4 || type == TYPE_IPV6)
        open_ip(b, out);
}

static void open_ethernet(struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    if (b.length >= 14)
        open_type(e, fcvi_load(b.at + 6, 6), fcvi_load(b.at + 12, 2), behind(b, 14), out);
    else
        foreign(out, CAPTURE_ETHERTYPE, 0);
}

/* ---- ERF: a header of 16 bytes, headers that extend it, two bytes and an Ethernet frame ---- */

enum { ERF_HEADER = 16, ERF_ETH = 2, ERF_COLOR_ETH = 11, ERF_DSM_ETH = 16, ERF_HASH_ETH = 20 };

static void open_erf(struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    if (b.length < ERF_HEADER) {
        foreign(out, CAPTURE_ERF, 0);
        return;
    }
    uint8_t type = b.at[8] & 0x7F;
    /* of a coloured record the loss counter holds the colour */
    uint64_t lost = type == ERF_ETH ? fcvi_load(b.at + 12, 2) : 0, wire = fcvi_load(b.at + 14, 2);
    bool more = b.at[8] >> 7;
    b = behind(b, ERF_HEADER);
    while (more && b.length >= 8) {
        more = b.at[0] >> 7;
        b = behind(b, 8);
    }
    foreign(out, CAPTURE_ERF, type);
    if (type != ERF_ETH && type != ERF_COLOR_ETH && type != ERF_DSM_ETH && type != ERF_HASH_ETH)
        return;
    if (more || b.length < 2)
        return;
    b = behind(b, 2);
    /* the wire length counts the FCS; the record is padded to eight bytes */
    if (wire < b.length)
        b.length = (size_t)wire;
    b.original = (size_t)wire;
    open_ethernet(e, b, out);
    if (lost != 0)
        out->unusual |= CAPTURE_GAP;
}

/* ---- any ---- */

bool fcvi_envelope_knows(uint32_t linktype)
{
    static const uint16_t known[] = {CAPTURE_FC_2, CAPTURE_FC_2_DELIMS, LINK_ETHERNET, LINK_RAW, LINK_SLL,
                                     LINK_ERF,     LINK_IPV4,           LINK_IPV6,     LINK_SLL2};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == linktype)
            return true;
    return false;
}

void fcvi_envelope_link(struct envelope *e, int linktype, struct envelope_bytes b, struct capture_record *out)
{
    if (linktype == LINK_ETHERNET)
        open_ethernet(e, b, out);
    else if (linktype == LINK_RAW || linktype == LINK_IPV4 || linktype == LINK_IPV6)
        open_ip(b, out);
    else if (linktype == LINK_SLL && b.length >= 16)
        open_type(e, fcvi_load(b.at + 6, 6), fcvi_load(b.at + 14, 2), behind(b, 16), out);
    else if (linktype == LINK_SLL2 && b.length >= 20)
        open_type(e, fcvi_load(b.at + 12, 6), fcvi_load(b.at, 2), behind(b, 20), out);
    else if (linktype == LINK_ERF)
        open_erf(e, b, out);
    else
        foreign(out, CAPTURE_LINKTYPE, (uint64_t)linktype);
}

/* ---- in words ---- */

static const char *name_of(enum capture_protocol family, unsigned number)
{
    static const struct {
        uint8_t family;
        uint16_t number;
        const char *name;
    } names[] = {
        {CAPTURE_ETHERTYPE, 0, "Ethernet, too short"},
        {CAPTURE_ETHERTYPE, 0x0806, "ARP"},
        {CAPTURE_ETHERTYPE, 0x88CC, "LLDP"},
        {CAPTURE_ETHERTYPE, 0x88E5, "MACsec"},
        {CAPTURE_ETHERTYPE, 0x8100, "VLAN tags alone"},
        {CAPTURE_ETHERTYPE, 0x88A8, "VLAN tags alone"},
        {CAPTURE_ETHERTYPE, 0x8808, "Ethernet flow control"},
        {CAPTURE_ETHERTYPE, 0x8809, "slow protocols (LACP)"},
        {CAPTURE_ETHERTYPE, 0x8847, "MPLS"},
        {CAPTURE_LLC, 0, "IEEE 802.3 with LLC"},
        {CAPTURE_IP, 1, "ICMP"},
        {CAPTURE_IP, 2, "IGMP"},
        {CAPTURE_IP, IP_TCP, "TCP"},
        {CAPTURE_IP, 17, "UDP"},
        {CAPTURE_IP, 58, "ICMPv6"},
        {CAPTURE_IP, 132, "SCTP"},
        {CAPTURE_IP, 0xFF, "IP, cut off or damaged"},
        {CAPTURE_FCIP, 0, "TCP without data (FCIP)"},
        {CAPTURE_FCIP, 1, "FCIP special frame"},
        {CAPTURE_FCIP, 2, "TCP port 3225, no FCIP"},
        {CAPTURE_FC_TYPE, 0x08, "FC TYPE 08h (SCSI-FCP)"},
        {CAPTURE_FC_TYPE, 0x05, "FC TYPE 05h (IP)"},
        {CAPTURE_FC_TYPE, 0x20, "FC TYPE 20h (FC-CT)"},
        {CAPTURE_FC_TYPE, 0x22, "FC TYPE 22h (SW_ILS)"},
        {CAPTURE_FC_TYPE, 0x28, "FC TYPE 28h (FC-NVMe)"},
        {CAPTURE_FC_TYPE, 0x58, "FC-VI behind an ESP_Header"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].family == family && names[i].number == number)
            return names[i].name;
    return NULL;
}

int fcvi_capture_protocol(uint32_t protocol, char *out, size_t size)
{
    unsigned family = protocol >> 16, number = protocol & 0xFFFF;
    const char *name = name_of((enum capture_protocol)family, number);
    if (name != NULL)
        return snprintf(out, size, "%s", name);
    switch (family) {
    case CAPTURE_ETHERTYPE:
        return snprintf(out, size, "EtherType %04Xh", number);
    case CAPTURE_FC_TYPE:
        return snprintf(out, size, "FC TYPE %02Xh", number);
    case CAPTURE_FC_R_CTL:
        return snprintf(out, size, "FC extended header %02Xh", number);
    case CAPTURE_IP:
        return snprintf(out, size, "IP protocol %u", number);
    case CAPTURE_ERF:
        return snprintf(out, size, "ERF type %u", number);
    case CAPTURE_LINKTYPE:
        return snprintf(out, size, "linktype %u", number);
    default:
        return snprintf(out, size, "other protocols");
    }
}
