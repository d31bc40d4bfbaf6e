/* What only wraps another frame on its way: mirrors, fabric extenders, overlays and access lines. Each is
 * opened as its standard says; what does not fit stays foreign under the name of the wrapping. */
#include "ip.h"
#include "layers.h"

#include <string.h>

enum { MOST_DEPTH = 8 };
enum {
    TYPE_IPV4 = 0x0800,
    TYPE_TEB = 0x6558,  /* transparent Ethernet bridging, in GRE and Geneve */
    TYPE_VLAN = 0x8100, /* below: all that fcvi_envelope_type knows and ours, for guesses about MPLS */
    TYPE_IPV6 = 0x86DD,
    TYPE_MPLS = 0x8847,
    TYPE_MPLS_MULTICAST = 0x8848,
    TYPE_PPPOE = 0x8864,
    TYPE_QINQ = 0x88A8,
    TYPE_BOARDWALK = 0x88AE,
    TYPE_ERSPAN = 0x88BE, /* types I and II */
    TYPE_I_TAG = 0x88E7,  /* IEEE 802.1ah */
    TYPE_FCOE = 0x8906,
    TYPE_CISCO_META = 0x8909,
    TYPE_FIP = 0x8914,
    TYPE_VN_TAG = 0x8926,
    TYPE_HSR = 0x892F,
    TYPE_E_TAG = 0x893F, /* IEEE 802.1BR */
    TYPE_ERSPAN_3 = 0x22EB,
    TYPE_MDS = 0xFCFC
};

static bool deeper(struct envelope *e)
{
    return ++e->depth <= MOST_DEPTH;
}

/* An overlay network is a Fabric of its own; VLANs outside of it say nothing of what is inside. */
static void overlay(struct capture_record *out, uint64_t number)
{
    out->network = (uint32_t)number & 0x3FFFFu;
}

/* A mirror shows a frame as its own link had it. */
static void mirrored(struct capture_record *out)
{
    out->network = 0;
}

static void ethernet_behind(struct envelope *e, struct envelope_bytes b, size_t count,
                            struct capture_record *out)
{
    if (b.length >= count + 14)
        fcvi_envelope_ethernet(e, fcvi_envelope_behind(b, count), out);
}

/* A tag of `count` bytes, the last two of which are the EtherType of what follows. */
static void tag(struct envelope *e, struct envelope_bytes b, size_t count, struct capture_record *out)
{
    if (b.length >= count)
        fcvi_envelope_type(e, fcvi_load(b.at + count - 2, 2), fcvi_envelope_behind(b, count), out);
}

/* ---- MPLS (RFC 3032, RFC 4448) ---- */

static bool is_type(uint64_t type)
{
    static const uint16_t known[] = {TYPE_IPV4,           TYPE_VLAN,       TYPE_IPV6,  TYPE_MPLS,
                                     TYPE_MPLS_MULTICAST, TYPE_PPPOE,      TYPE_QINQ,  TYPE_I_TAG,
                                     TYPE_FCOE,           TYPE_CISCO_META, TYPE_FIP,   TYPE_BOARDWALK,
                                     TYPE_VN_TAG,         TYPE_HSR,        TYPE_E_TAG, TYPE_MDS};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == type)
            return true;
    return false;
}

static bool is_type_at(struct envelope_bytes b, size_t at)
{
    return b.length >= at + 2 && is_type(fcvi_load(b.at + at, 2));
}

/* Nothing says what a label carries. A control word begins with 16 bits that are zero; an Ethernet address of
 * an N_Port begins with 0Eh, which is no control word, and one with 45h no IP packet where an EtherType
 * follows. */
static void open_labelled(struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    enum { WORD = 4, AT_TYPE = 12 };
    if (b.length < WORD)
        return;
    const unsigned version = b.at[0] >> 4;
    const bool plain = is_type_at(b, AT_TYPE), behind = is_type_at(b, AT_TYPE + WORD);
    struct ip_packet packet;
    if ((version == 4 || version == 6) && !plain && fcvi_ip_open(b.at, b.length, b.original, &packet))
        fcvi_envelope_ip(e, b, out);
    else if (fcvi_load(b.at, 2) == 0 && (behind || !plain))
        ethernet_behind(e, b, WORD, out);
    else if (plain || !behind)
        ethernet_behind(e, b, 0, out);
    else
        ethernet_behind(e, b, version == 0 ? WORD : 0, out);
}

static void open_mpls(struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    enum { LABEL = 4, BOTTOM = 0x01 };
    bool last = false;
    while (!last && b.length >= LABEL) {
        last = (b.at[2] & BOTTOM) != 0;
        b = fcvi_envelope_behind(b, LABEL);
    }
    if (last)
        open_labelled(e, b, out);
}

/* ---- PPPoE (RFC 2516), and the bridging of PPP (RFC 3518) ---- */

static void open_pppoe(struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    enum { HEADER = 6, PPP_IPV4 = 0x21, PPP_IPV6 = 0x57, PPP_BRIDGED = 0x31 };
    if (b.length < HEADER + 2 || b.at[0] != 0x11 || b.at[1] != 0)
        return;
    const size_t said = (size_t)fcvi_load(b.at + 4, 2);
    b = fcvi_envelope_behind(b, HEADER);
    b.length = said < b.length ? said : b.length;
    b.original = said < b.original ? said : b.original;
    if (b.length < 2)
        return;
    const bool is_short = (b.at[0] & 1) != 0; /* the protocol may be compressed */
    const uint64_t protocol = fcvi_load(b.at, is_short ? 1 : 2);
    b = fcvi_envelope_behind(b, is_short ? 1 : 2);
    if (protocol == PPP_IPV4 || protocol == PPP_IPV6)
        fcvi_envelope_ip(e, b, out);
    else if (protocol == PPP_BRIDGED && b.length >= 2 && b.at[1] == 1)
        ethernet_behind(e, b, 2, out);
}

/* ---- ERSPAN ---- */

/* T: the mirror cut the frame, and does not say how long it was. Some write version 0 into type II. */
static void open_erspan(struct envelope *e, struct envelope_bytes b, bool third, struct capture_record *out)
{
    enum { TYPE_2 = 8, TYPE_3 = 12, SUBHEADER = 8, CUT = 0x04, MORE = 0x01 };
    if (b.length < TYPE_3 || (third ? b.at[0] >> 4 != 2 : b.at[0] >> 4 > 1))
        return;
    size_t header = third ? TYPE_3 : TYPE_2;
    if (third && (b.at[11] & MORE) != 0)
        header += SUBHEADER;
    if ((b.at[2] & CUT) != 0)
        b.original = ENVELOPE_UNKNOWN;
    mirrored(out);
    ethernet_behind(e, b, header, out);
}

/* ---- GRE (RFC 2784, RFC 2890, RFC 7637) ---- */

static void open_gre(struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    enum { CHECKSUM = 0x80, ROUTING = 0x40, KEY = 0x20, SEQUENCE = 0x10, VERSION = 0x07 };
    if (b.length < 4)
        return;
    const uint8_t flags = b.at[0];
    const uint64_t type = fcvi_load(b.at + 2, 2);
    const size_t key = 4 + ((flags & CHECKSUM) != 0 ? 4u : 0u);
    const size_t header = key + ((flags & KEY) != 0 ? 4u : 0u) + ((flags & SEQUENCE) != 0 ? 4u : 0u);
    if ((flags & ROUTING) != 0 || (b.at[1] & VERSION) != 0 || b.length < header)
        return;
    if (type == TYPE_TEB && (flags & KEY) != 0)
        overlay(out, fcvi_load(b.at + key, 3));
    b = fcvi_envelope_behind(b, header);
    if (type == TYPE_TEB) {
        ethernet_behind(e, b, 0, out);
    } else if (type == TYPE_ERSPAN && (flags & SEQUENCE) == 0) { /* type I has no header of its own */
        mirrored(out);
        ethernet_behind(e, b, 0, out);
    } else if (type == TYPE_ERSPAN || type == TYPE_ERSPAN_3) {
        open_erspan(e, b, type == TYPE_ERSPAN_3, out);
    } else if (is_type(type)) {
        fcvi_envelope_type(e, type, b, out);
    }
}

/* ---- VXLAN (RFC 7348), its generic extension, and Geneve (RFC 8926) ---- */

static void open_vxlan(struct envelope *e, struct envelope_bytes b, bool generic, struct capture_record *out)
{
    enum { HEADER = 8, VALID = 0x08, TYPED = 0x04, IPV4 = 1, IPV6 = 2, ETHERNET = 3 };
    if (b.length < HEADER || (b.at[0] & VALID) == 0)
        return;
    const unsigned next = generic && (b.at[0] & TYPED) != 0 ? b.at[3] : ETHERNET;
    overlay(out, fcvi_load(b.at + 4, 3));
    if (next == ETHERNET)
        ethernet_behind(e, b, HEADER, out);
    else if (next == IPV4 || next == IPV6)
        fcvi_envelope_ip(e, fcvi_envelope_behind(b, HEADER), out);
}

static void open_geneve(struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    enum { HEADER = 8 };
    if (b.length < HEADER || b.at[0] >> 6 != 0)
        return;
    const size_t header = HEADER + (size_t)(b.at[0] & 0x3F) * 4;
    const uint64_t type = fcvi_load(b.at + 2, 2);
    overlay(out, fcvi_load(b.at + 4, 3));
    if (type == TYPE_TEB)
        ethernet_behind(e, b, header, out);
    else if (is_type(type) && b.length >= header)
        fcvi_envelope_type(e, type, fcvi_envelope_behind(b, header), out);
}

static void open_udp(struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    enum { HEADER = 8, VXLAN = 4789, VXLAN_LINUX = 8472, VXLAN_GENERIC = 4790, GENEVE = 6081 };
    if (b.length < HEADER)
        return;
    const uint64_t port = fcvi_load(b.at + 2, 2);
    b = fcvi_envelope_behind(b, HEADER);
    if (port != VXLAN && port != VXLAN_LINUX && port != VXLAN_GENERIC && port != GENEVE)
        return;
    fcvi_envelope_foreign(out, CAPTURE_TUNNEL, port == GENEVE ? TUNNEL_GENEVE : TUNNEL_VXLAN);
    if (port == GENEVE)
        open_geneve(e, b, out);
    else
        open_vxlan(e, b, port == VXLAN_GENERIC, out);
}

/* ---- IEEE 802.3 with LLC and SNAP: a length in place of the EtherType, which stands behind ---- */

static void open_snap(struct envelope *e, uint64_t length, struct envelope_bytes b,
                      struct capture_record *out)
{
    enum { LONGEST = 0x5DC, SNAP = 8 };
    static const uint8_t head[6] = {0xAA, 0xAA, 0x03};
    if (length > LONGEST || b.length < SNAP || memcmp(b.at, head, sizeof head) != 0)
        return;
    b.length = length < b.length ? (size_t)length : b.length;
    b.original = length < b.original ? (size_t)length : b.original;
    tag(e, b, SNAP, out);
}

/* ---- any ---- */

static void open_type(struct envelope *e, uint64_t type, struct envelope_bytes b, struct capture_record *out)
{
    enum { VN_TAG = 6, E_TAG = 8, HSR = 6, META = 8, I_TAG = 4 };
    if (!deeper(e))
        return;
    switch (type) {
    case TYPE_VN_TAG:
        tag(e, b, VN_TAG, out);
        break;
    case TYPE_E_TAG:
        tag(e, b, E_TAG, out);
        break;
    case TYPE_HSR:
        tag(e, b, HSR, out);
        break;
    case TYPE_CISCO_META: /* a version, a length, one option with the group's number */
        if (b.length >= 2 && b.at[0] == 1 && b.at[1] == 1)
            tag(e, b, META, out);
        break;
    case TYPE_I_TAG:
        if (b.length >= I_TAG)
            overlay(out, fcvi_load(b.at + 1, 3));
        ethernet_behind(e, b, I_TAG, out);
        break;
    case TYPE_MPLS:
    case TYPE_MPLS_MULTICAST:
        open_mpls(e, b, out);
        break;
    case TYPE_PPPOE:
        open_pppoe(e, b, out);
        break;
    default:
        open_snap(e, type, b, out);
        break;
    }
}

static void open_ip(struct envelope *e, uint8_t protocol, struct envelope_bytes b, struct capture_record *out)
{
    enum { ETHERIP_VERSION = 3, ETHERIP = 2 };
    if (!deeper(e))
        return;
    switch (protocol) {
    case IP_UDP:
        open_udp(e, b, out);
        break;
    case IP_GRE:
        open_gre(e, b, out);
        break;
    case IP_IN_IP:
    case IP_V6:
        fcvi_envelope_ip(e, b, out);
        break;
    case IP_MPLS:
        open_mpls(e, b, out);
        break;
    case IP_ETHERNET: /* RFC 3378 */
        if (b.length >= ETHERIP && b.at[0] >> 4 == ETHERIP_VERSION)
            ethernet_behind(e, b, ETHERIP, out);
        break;
    default:
        break;
    }
}

const struct envelope_tunnels fcvi_envelope_tunnels = {open_type, open_ip};
