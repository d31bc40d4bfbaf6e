/* FCoE (FC-BB): a header with the SOF, the FC-2 frame, its CRC and the EOF. */
#include "layers.h"

#include <string.h>

enum { FCOE_HEADER = 14, FCOE_TRAILER = 8, ETHERNET_HEADER = 14, ETHERTYPE_FCOE = 0x8906 };

static bool is_eof(uint8_t code)
{
    return code >= FCVI_EOF_N && code <= FCVI_EOF_A;
}

/* Where the trailer ends cannot be seen in what is cut off; whether an FCS comes behind it other frames say.
 * A mirror that cut the frame does not say how long it was. */
static void cut_fcoe(const struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    size_t without = FCOE_HEADER + FCOE_TRAILER + (size_t)e->behind;
    bool known = e->is_measured && b.original != ENVELOPE_UNKNOWN && b.original >= without;
    size_t whole = known ? b.original - without : 0;
    if (b.length > FCOE_HEADER)
        fcvi_envelope_cut(out, b.at + FCOE_HEADER, b.length - FCOE_HEADER, whole);
    else
        fcvi_envelope_cut(out, b.at, 0, whole);
    if (b.length >= FCOE_HEADER)
        out->frame.sof = b.at[FCOE_HEADER - 1];
}

/* How many bytes stand behind the trailer where the EOF does not say so: taps and packet brokers append time
 * stamps and what else they like. The CRC tells; without one that is right the frame is taken as it looks. */
enum { MOST_BEHIND = 64 };
__attribute__((noinline, cold)) static size_t behind_trailer(const uint8_t *b, size_t length,
                                                             size_t otherwise)
{
    static const uint8_t reserved[3];
    const size_t least = FCOE_HEADER + FCOE_TRAILER + 24;
    for (size_t behind = 0; behind <= MOST_BEHIND && length >= least + behind; behind++) {
        const size_t end = length - behind, inside = end - FCOE_HEADER - FCOE_TRAILER;
        if (inside % 4 == 0 && is_eof(b[end - 4]) && memcmp(b + end - 3, reserved, sizeof reserved) == 0 &&
            fcvi_envelope_crc(b + FCOE_HEADER, inside) == FCVI_CRC_OK)
            return behind;
    }
    return otherwise;
}

/* CRC and EOF are counted from the end. Ethernet pads to 60 bytes, which no FCoE frame needs, and some taps
 * leave the four bytes of the FCS: the EOF says which it is. */
void fcvi_envelope_fcoe_open(struct envelope *e, struct envelope_bytes all, struct capture_record *out)
{
    const uint8_t *b = all.at;
    size_t length = all.length;
    if (all.original < FCOE_HEADER + FCOE_TRAILER) {
        fcvi_envelope_malformed(out, "too short for an FCoE header and trailer");
        return;
    }
    if (length != 0 && b[0] >> 4 != 0) {
        fcvi_envelope_malformed(out, "the FCoE version is not 0");
        return;
    }
    if (length < all.original) {
        cut_fcoe(e, all, out);
        return;
    }
    size_t end = length;
    bool plain = is_eof(b[length - 4]) && length % 4 == 2;
    bool with_fcs = length >= FCOE_HEADER + FCOE_TRAILER + 4 && is_eof(b[length - 8]) && b[length - 7] == 0 &&
                    b[length - 6] == 0 && b[length - 5] == 0;
    bool clean = b[length - 3] == 0 && b[length - 2] == 0 && b[length - 1] == 0;
    if (!(plain && clean) && with_fcs)
        end = length - 4;
    size_t inside = end - FCOE_HEADER - FCOE_TRAILER;
    enum fcvi_crc crc = fcvi_envelope_crc(b + FCOE_HEADER, inside);
    if (crc == FCVI_CRC_BAD) {
        end = length - behind_trailer(b, length, length - end);
        inside = end - FCOE_HEADER - FCOE_TRAILER;
        crc = fcvi_envelope_crc(b + FCOE_HEADER, inside);
        out->unusual |= crc == FCVI_CRC_OK ? CAPTURE_APPENDED : 0;
    }
    e->is_measured = true;
    e->behind = (uint8_t)(length - end);
    fcvi_envelope_frame(out, b + FCOE_HEADER, inside);
    out->frame.sof = b[FCOE_HEADER - 1];
    out->frame.eof = b[end - 4];
    fcvi_envelope_told_crc(out, crc);
}

/* ---- writing ---- */

static void put_mac(uint8_t *out, uint64_t id)
{
    fcvi_store(out, 3, ENVELOPE_FC_MAP);
    fcvi_store(out + 3, 3, id);
}

size_t fcvi_envelope_fcoe(const struct fcvi_input *f, uint8_t *out, size_t capacity)
{
    size_t length = ETHERNET_HEADER + FCOE_HEADER + f->length + FCOE_TRAILER;
    if (length > capacity || f->length < 24)
        return 0;
    memset(out, 0, length);
    put_mac(out, fcvi_FC_D_ID(f->bytes));
    put_mac(out + 6, fcvi_FC_S_ID(f->bytes));
    fcvi_store(out + 12, 2, ETHERTYPE_FCOE);
    out[ETHERNET_HEADER + FCOE_HEADER - 1] = fcvi_envelope_sof(f);
    memcpy(out + ETHERNET_HEADER + FCOE_HEADER, f->bytes, f->length);
    fcvi_envelope_put_crc(f, out + length - FCOE_TRAILER);
    out[length - 4] = fcvi_envelope_eof(f);
    return length;
}
