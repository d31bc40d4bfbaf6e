/* SOF, CRC and EOF around an FC-2 frame: ordered sets (linktype 225) and FCoE (FC-BB). */
#include "envelope.h"

#include <string.h>

enum {
    ORDERED_SET = 4,
    CRC = 4,
    DELIMITERS = 2 * ORDERED_SET + CRC,
    FCOE_HEADER = 14,
    FCOE_TRAILER = 8,
    ETHERNET_HEADER = 14,
    VLAN_TAG = 4
};
enum { ETHERTYPE_FCOE = 0x8906, ETHERTYPE_FIP = 0x8914, ETHERTYPE_VLAN = 0x8100, ETHERTYPE_QINQ = 0x88A8 };

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

static enum fcvi_crc check_crc(const uint8_t *frame, size_t length)
{
    const uint8_t *c = frame + length; /* least significant byte first, as an Ethernet FCS */
    uint32_t seen = (uint32_t)c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (uint32_t)c[3] << 24;
    return seen == fcvi_crc32(frame, length) ? FCVI_CRC_OK : FCVI_CRC_BAD;
}

static void malformed(struct capture_record *out, const char *problem)
{
    out->kind = CAPTURE_MALFORMED;
    out->problem = problem;
}

static void frame(struct capture_record *out, const uint8_t *bytes, size_t length)
{
    out->kind = CAPTURE_FRAME;
    out->frame = (struct fcvi_input){.bytes = bytes, .length = length};
}

static void open_delimited(const uint8_t *b, size_t length, struct capture_record *out)
{
    if (length < DELIMITERS) {
        malformed(out, "too short for SOF, CRC and EOF");
        return;
    }
    size_t inside = length - DELIMITERS;
    frame(out, b + ORDERED_SET, inside);
    out->frame.sof = code_of(sofs, sizeof sofs / sizeof *sofs, (uint32_t)fcvi_load(b, 4));
    out->frame.eof = code_of(eofs, sizeof eofs / sizeof *eofs, (uint32_t)fcvi_load(b + length - 4, 4));
    out->frame.crc = (uint8_t)check_crc(b + ORDERED_SET, inside);
}

/* CRC and EOF are counted from the end. Ethernet pads to 60 bytes, which no FCoE frame needs, and some taps
 * leave the four bytes of the FCS: the EOF says which it is. */
static void open_fcoe(const uint8_t *b, size_t length, struct capture_record *out)
{
    if (length < FCOE_HEADER + FCOE_TRAILER) {
        malformed(out, "too short for an FCoE header and trailer");
        return;
    }
    if (b[0] >> 4 != 0) {
        malformed(out, "the FCoE version is not 0");
        return;
    }
    size_t end = length;
    bool plain = b[length - 4] >= FCVI_EOF_N && b[length - 4] <= FCVI_EOF_A && length % 4 == 2;
    bool with_fcs = length >= FCOE_HEADER + FCOE_TRAILER + 4 && b[length - 8] >= FCVI_EOF_N &&
                    b[length - 8] <= FCVI_EOF_A && b[length - 7] == 0 && b[length - 6] == 0 &&
                    b[length - 5] == 0;
    bool clean = b[length - 3] == 0 && b[length - 2] == 0 && b[length - 1] == 0;
    if (!(plain && clean) && with_fcs)
        end = length - 4;
    size_t inside = end - FCOE_HEADER - FCOE_TRAILER;
    frame(out, b + FCOE_HEADER, inside);
    out->frame.sof = b[FCOE_HEADER - 1];
    out->frame.eof = b[end - 4];
    out->frame.crc = (uint8_t)check_crc(b + FCOE_HEADER, inside);
}

static void open_ethernet(const uint8_t *b, size_t length, struct capture_record *out)
{
    size_t at = ETHERNET_HEADER - 2;
    out->kind = CAPTURE_FOREIGN;
    for (unsigned tags = 0; tags < 3 && at + 2 <= length; tags++) {
        uint64_t type = fcvi_load(b + at, 2);
        if (type == ETHERTYPE_FCOE) {
            open_fcoe(b + at + 2, length - at - 2, out);
            return;
        }
        if (type == ETHERTYPE_FIP)
            out->kind = CAPTURE_FIP;
        if (type != ETHERTYPE_VLAN && type != ETHERTYPE_QINQ)
            return;
        if (at + VLAN_TAG <= length)
            out->network = out->network << 12 | (fcvi_load(b + at + 2, 2) & 0xFFF);
        at += VLAN_TAG;
    }
}

void fcvi_envelope_open(int linktype, const uint8_t *bytes, size_t length, bool cut,
                        struct capture_record *out)
{
    out->problem = NULL;
    out->network = 0;
    out->frame = (struct fcvi_input){.bytes = bytes};
    if (linktype == CAPTURE_FC_2)
        frame(out, bytes, length);
    else if (linktype == CAPTURE_FC_2_DELIMS)
        open_delimited(bytes, length, out);
    else
        open_ethernet(bytes, length, out);
    if (cut && (out->kind == CAPTURE_FRAME || out->kind == CAPTURE_MALFORMED))
        out->kind = CAPTURE_CUT;
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
