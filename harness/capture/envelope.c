/* Records by their linktype: Fibre Channel itself, Ethernet, Linux's cooked captures, bare IP, and ERF
 * records of Ethernet. */
#include "envelope.h"

enum {
    LINK_RAW = 101,
    LINK_SLL = 113,
    LINK_ERF = 197,
    LINK_IPV4 = 228,
    LINK_IPV6 = 229,
    LINK_SLL2 = 276,
    EXTENDED_HEADER = 5 /* the high half of R_CTL */
};

/* A header that tells who sent the record, and an EtherType. */
struct link {
    uint8_t length, source, type;
};
static const struct link ethernet = {14, 6, 12}, cooked = {16, 6, 14}, cooked2 = {20, 12, 0};

static void open_behind(struct envelope *e, const struct link *link, struct envelope_bytes b,
                        struct capture_record *out)
{
    e->source = b.at + link->source;
    e->is_ethernet = link == &ethernet;
    fcvi_envelope_type(e, fcvi_load(b.at + link->type, 2), fcvi_envelope_behind(b, link->length), out);
}

void fcvi_envelope_ethernet(struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    if (b.length >= ethernet.length)
        open_behind(e, &ethernet, b, out);
    else
        fcvi_envelope_foreign(out, CAPTURE_ETHERTYPE, 0);
}

/* ---- ERF: a header of 16 bytes, headers that extend it, two bytes and an Ethernet frame ---- */

enum { ERF_HEADER = 16, ERF_ETH = 2, ERF_COLOR_ETH = 11, ERF_DSM_ETH = 16, ERF_HASH_ETH = 20 };

static void open_erf(struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    if (b.length < ERF_HEADER) {
        fcvi_envelope_foreign(out, CAPTURE_ERF, 0);
        return;
    }
    uint8_t type = b.at[8] & 0x7F;
    /* of a coloured record the loss counter holds the colour */
    uint64_t lost = type == ERF_ETH ? fcvi_load(b.at + 12, 2) : 0, wire = fcvi_load(b.at + 14, 2);
    bool more = b.at[8] >> 7;
    b = fcvi_envelope_behind(b, ERF_HEADER);
    while (more && b.length >= 8) {
        more = b.at[0] >> 7;
        b = fcvi_envelope_behind(b, 8);
    }
    fcvi_envelope_foreign(out, CAPTURE_ERF, type);
    if (type != ERF_ETH && type != ERF_COLOR_ETH && type != ERF_DSM_ETH && type != ERF_HASH_ETH)
        return;
    if (more || b.length < 2)
        return;
    b = fcvi_envelope_behind(b, 2);
    /* the wire length counts the FCS; the record is padded to eight bytes */
    if (wire < b.length)
        b.length = (size_t)wire;
    b.original = (size_t)wire;
    fcvi_envelope_ethernet(e, b, out);
    if (lost != 0)
        out->unusual |= CAPTURE_GAP;
}

/* ---- any ---- */

static void open_link(struct envelope *e, int linktype, struct envelope_bytes b, struct capture_record *out)
{
    e->depth = 0;
    e->source = NULL;
    if (linktype == CAPTURE_ETHERNET)
        fcvi_envelope_ethernet(e, b, out);
    else if (linktype == LINK_RAW || linktype == LINK_IPV4 || linktype == LINK_IPV6)
        fcvi_envelope_ip(e, b, out);
    else if (linktype == LINK_SLL && b.length >= cooked.length)
        open_behind(e, &cooked, b, out);
    else if (linktype == LINK_SLL2 && b.length >= cooked2.length)
        open_behind(e, &cooked2, b, out);
    else if (linktype == LINK_ERF)
        open_erf(e, b, out);
    else
        fcvi_envelope_foreign(out, CAPTURE_LINKTYPE, (uint64_t)linktype);
}

/* A file may have been given the wrong linktype. */
__attribute__((noinline, cold)) static bool is_bare(struct envelope_bytes b)
{
    enum {
        HEADER = 24,
        SOF = 0xBCB5,
        TYPE_ELS = 0x01,
        TYPE_FC_VI = 0x58,
        ELS = 0x22,
        ELS_REPLY = 0x23,
        DATA = 0x07
    };
    if (b.length >= HEADER + 4 && fcvi_load(b.at, 2) == SOF)
        b = fcvi_envelope_behind(b, 4);
    if (b.length < HEADER)
        return false;
    const uint8_t r_ctl = b.at[0], type = b.at[8];
    return (type == TYPE_FC_VI && r_ctl <= DATA) ||
           (type == TYPE_ELS && (r_ctl == ELS || r_ctl == ELS_REPLY));
}

static void step_over_tags(struct capture_record *out)
{
    if (out->kind <= CAPTURE_CUT && out->frame.length != 0 && out->frame.bytes[0] >> 4 == EXTENDED_HEADER)
        fcvi_envelope_tags(out);
}

void fcvi_envelope_datagram(struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    fcvi_envelope_ip(e, b, out);
    step_over_tags(out);
}

void fcvi_envelope_open(struct envelope *e, int linktype, struct envelope_bytes b, struct capture_record *out)
{
    out->problem = NULL;
    out->network = 0;
    out->unusual = 0;
    out->frame = (struct fcvi_input){.bytes = b.at};
    if (b.original < b.length)
        b.original = b.length;
    if (b.original == 0)
        fcvi_envelope_foreign(out, CAPTURE_EMPTY, 0);
    else if (linktype == CAPTURE_FC_2_DELIMS)
        fcvi_envelope_delimited(b, out);
    else if (linktype != CAPTURE_FC_2)
        open_link(e, linktype, b, out);
    else if (b.length == b.original)
        fcvi_envelope_frame(out, b.at, b.length);
    else
        fcvi_envelope_cut(out, b.at, b.length, b.original);
    if (out->kind == CAPTURE_FOREIGN && is_bare(b))
        out->unusual |= CAPTURE_BARE;
    step_over_tags(out);
}
