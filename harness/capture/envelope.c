/* SOF, CRC and EOF around an FC-2 frame: ordered sets (linktype 225) and FCoE (FC-BB). */
#include "envelope.h"

#include <string.h>

enum {
    ORDERED_SET = 4,
    CRC = 4,
    DELIMITERS = 2 * ORDERED_SET + CRC,
    FCOE_HEADER = 14,
    FCOE_TRAILER = 8,
    ETHERNET_HEADER = 14
};
enum { ETHERTYPE_FCOE = 0x8906 };

struct delimiter {
    uint8_t code;
    uint32_t set, other; /* ordered set; EOFs have two spellings, by running disparity */
};
static const struct delimiter sofs[] = {
    /* those of class 3 first: they come most often */
    {FCVI_SOF_I3, 0xBCB55656, 0}, {FCVI_SOF_N3, 0xBCB53636, 0}, {FCVI_SOF_I2, 0xBCB55555, 0},
    {FCVI_SOF_N2, 0xBCB53535, 0}, {FCVI_SOF_F, 0xBCB55858, 0},  {0x29, 0xBCB55959, 0},
    {0x31, 0xBCB53939, 0},        {0x39, 0xBCB51919, 0},
};
static const struct delimiter eofs[] = {
    {FCVI_EOF_N, 0xBC95D5D5, 0xBCB5D5D5},  {FCVI_EOF_T, 0xBC957575, 0xBCB57575},
    {FCVI_EOF_NI, 0xBC8AD5D5, 0xBCAAD5D5}, {FCVI_EOF_A, 0xBC95F5F5, 0xBCB5F5F5},
    {0x46, 0xBC959595, 0xBCB59595},        {0x4E, 0xBC8A9595, 0xBCAA9595},
    {0x44, 0xBC959999, 0xBCB59999},        {0x4F, 0xBC8A9999, 0xBCAA9999},
};

static uint8_t code_of(const struct delimiter *list, size_t count, uint32_t set)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].set == set || list[i].other == set)
            return list[i].code;
    return 0xFF; /* seen, but no delimiter of FC-2 */
}

static uint32_t set_of(const struct delimiter *list, size_t count, uint8_t code)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].code == code)
            return list[i].set;
    return 0;
}

enum fcvi_crc fcvi_envelope_crc(const uint8_t *frame, size_t length)
{
    const uint8_t *c = frame + length; /* least significant byte first, as an Ethernet FCS */
    uint32_t seen = (uint32_t)c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (uint32_t)c[3] << 24;
    return seen == fcvi_crc32(frame, length) ? FCVI_CRC_OK : FCVI_CRC_BAD;
}

void fcvi_envelope_malformed(struct capture_record *out, const char *problem)
{
    out->kind = CAPTURE_MALFORMED;
    out->problem = problem;
}

void fcvi_envelope_frame(struct capture_record *out, const uint8_t *bytes, size_t length)
{
    out->kind = CAPTURE_FRAME;
    out->frame = (struct fcvi_input){.bytes = bytes, .length = length};
}

void fcvi_envelope_cut(struct capture_record *out, const uint8_t *bytes, size_t length, size_t whole)
{
    fcvi_envelope_frame(out, bytes, whole != 0 && whole < length ? whole : length);
    out->kind = CAPTURE_CUT;
    out->whole = (uint32_t)whole;
}

/* ---- extended headers (FC-FS) ---- */

enum { R_CTL_VFT = 0x50, R_CTL_IFR = 0x51, R_CTL_LAST_EXTENDED = 0x5F, EXTENDED = 8 };

/* A VSAN or virtual Fabric is a Fabric of its own, and its number never one of a VLAN. */
void fcvi_envelope_vsan(struct capture_record *out, unsigned vsan)
{
    out->network = (out->network & ~0xFFFu) | 1u << 31 | (vsan & 0xFFFu);
}

void fcvi_envelope_tags(struct capture_record *out)
{
    struct fcvi_input *f = &out->frame;
    while (f->length >= EXTENDED && (f->bytes[0] == R_CTL_VFT || f->bytes[0] == R_CTL_IFR)) {
        if (f->bytes[0] == R_CTL_VFT)
            fcvi_envelope_vsan(out, (unsigned)fcvi_load(f->bytes + 2, 2) >> 1);
        f->bytes += EXTENDED;
        f->length -= EXTENDED;
        if (out->kind == CAPTURE_CUT)
            out->whole -= out->whole >= EXTENDED ? EXTENDED : out->whole;
    }
    if (f->length != 0 && f->bytes[0] >= R_CTL_VFT && f->bytes[0] <= R_CTL_LAST_EXTENDED) {
        if (f->length < EXTENDED && f->bytes[0] <= R_CTL_IFR)
            return; /* too short for anything */
        out->kind = CAPTURE_FOREIGN;
        out->protocol = (uint32_t)CAPTURE_FC_R_CTL << 16 | f->bytes[0];
    }
}

/* ---- linktype 225 ---- */

static void whole_delimited(const uint8_t *b, size_t length, struct capture_record *out)
{
    size_t inside = length - DELIMITERS;
    fcvi_envelope_frame(out, b + ORDERED_SET, inside);
    out->frame.sof = code_of(sofs, sizeof sofs / sizeof *sofs, (uint32_t)fcvi_load(b, 4));
    out->frame.eof = code_of(eofs, sizeof eofs / sizeof *eofs, (uint32_t)fcvi_load(b + length - 4, 4));
    out->frame.crc = (uint8_t)fcvi_envelope_crc(b + ORDERED_SET, inside);
    if (b[ORDERED_SET] >> 4 == R_CTL_VFT >> 4 && inside != 0)
        fcvi_envelope_tags(out);
}

/* One that is too short, or cut off. */
static void open_delimited(const uint8_t *b, size_t length, size_t original, struct capture_record *out)
{
    if (original < DELIMITERS) {
        fcvi_envelope_malformed(out, "too short for SOF, CRC and EOF");
        return;
    }
    size_t there = length > ORDERED_SET ? length - ORDERED_SET : 0;
    fcvi_envelope_cut(out, there != 0 ? b + ORDERED_SET : b, there, original - DELIMITERS);
    if (length >= ORDERED_SET)
        out->frame.sof = code_of(sofs, sizeof sofs / sizeof *sofs, (uint32_t)fcvi_load(b, 4));
}

/* ---- FCoE ---- */

static bool is_eof(uint8_t code)
{
    return code >= FCVI_EOF_N && code <= FCVI_EOF_A;
}

/* Where the trailer ends cannot be seen in what is cut off; whether an FCS comes behind it other frames say.
 */
static void cut_fcoe(const struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    size_t without = FCOE_HEADER + FCOE_TRAILER + (size_t)e->behind;
    size_t whole = !e->is_measured || b.original < without ? 0 : b.original - without;
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
void fcvi_envelope_fcoe_read(struct envelope *e, struct envelope_bytes all, struct capture_record *out)
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
    out->frame.crc = (uint8_t)crc;
}

/* ---- any ---- */

static void open_any(struct envelope *e, int linktype, const uint8_t *bytes, size_t length, size_t original,
                     struct capture_record *out)
{
    out->frame = (struct fcvi_input){.bytes = bytes};
    if (linktype == CAPTURE_FC_2 && length == original)
        fcvi_envelope_frame(out, bytes, length);
    else if (linktype == CAPTURE_FC_2)
        fcvi_envelope_cut(out, bytes, length, original);
    else if (linktype == CAPTURE_FC_2_DELIMS)
        open_delimited(bytes, length, original, out);
    else
        fcvi_envelope_link(e, linktype, (struct envelope_bytes){bytes, length, original}, out);
    if (out->kind <= CAPTURE_CUT && out->frame.length != 0 && out->frame.bytes[0] >> 4 == R_CTL_VFT >> 4)
        fcvi_envelope_tags(out);
}

void fcvi_envelope_open(struct envelope *e, int linktype, const uint8_t *bytes, size_t length,
                        size_t original, struct capture_record *out)
{
    out->problem = NULL;
    out->network = 0;
    out->unusual = 0;
    if (linktype == CAPTURE_FC_2_DELIMS && length >= original && length >= DELIMITERS)
        whole_delimited(bytes, length, out);
    else
        open_any(e, linktype, bytes, length, original < length ? length : original, out);
}

/* ---- writing ---- */

/* FC-2: class 3 data Sequences begin with SOFi3 and end with EOFt. */
static uint8_t sof_of(const struct fcvi_input *f)
{
    if (f->sof != FCVI_SOF_NONE)
        return f->sof;
    return f->length >= 24 && fcvi_FC_SEQ_CNT(f->bytes) != 0 && fcvi_FC_Parameter(f->bytes) != 0
               ? FCVI_SOF_N3
               : FCVI_SOF_I3;
}

static uint8_t eof_of(const struct fcvi_input *f)
{
    if (f->eof != FCVI_EOF_NONE)
        return f->eof;
    return f->length >= 24 && !fcvi_FC_End_Sequence(f->bytes) ? FCVI_EOF_N : FCVI_EOF_T;
}

static void put_crc(const struct fcvi_input *f, uint8_t *out)
{
    uint32_t crc = fcvi_crc32(f->bytes, f->length) ^ (f->crc == FCVI_CRC_BAD ? 1u : 0u);
    for (unsigned i = 0; i < 4; i++)
        out[i] = (uint8_t)(crc >> 8 * i);
}

size_t fcvi_capture_delimited(const struct fcvi_input *f, uint8_t *out, size_t capacity)
{
    size_t length = f->length + DELIMITERS;
    if (length > capacity)
        return 0;
    fcvi_store(out, 4, set_of(sofs, sizeof sofs / sizeof *sofs, sof_of(f)));
    memcpy(out + ORDERED_SET, f->bytes, f->length);
    put_crc(f, out + ORDERED_SET + f->length);
    fcvi_store(out + length - 4, 4, set_of(eofs, sizeof eofs / sizeof *eofs, eof_of(f)));
    return length;
}

/* FPMA addresses: 0E:FC:00 and the N_Port Identifier (FC-BB). */
static void put_mac(uint8_t *out, uint64_t id)
{
    fcvi_store(out, 3, 0x0EFC00);
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
    out[ETHERNET_HEADER + FCOE_HEADER - 1] = sof_of(f);
    memcpy(out + ETHERNET_HEADER + FCOE_HEADER, f->bytes, f->length);
    put_crc(f, out + length - FCOE_TRAILER);
    out[length - 4] = eof_of(f);
    return length;
}
