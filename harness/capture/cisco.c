/* FC-2 frames as Cisco's switches mirror them: the port analyzer adapter's header ("Boardwalk") and the MDS
 * header. Both name SOF and EOF by numbers of four bits and carry the VSAN. */
#include "layers.h"

#include <string.h>

/* SOFc1, SOFi1, SOFn1 and those of class 4 are codes that FC-VI does not have: as RFC 3643 numbers them. */
static const uint8_t sofs[16] = {
    [0x4] = FCVI_SOF_I2, [0x5] = FCVI_SOF_N2, [0x6] = FCVI_SOF_I3, [0x7] = FCVI_SOF_N3,
    [0x8] = FCVI_SOF_F,  [0x9] = 0x39,        [0xA] = 0x29,        [0xB] = 0x31,
    [0x1] = 0xFF,        [0x2] = 0xFF,        [0x3] = 0xFF,
};
static const uint8_t eofs[16] = {
    [0x1] = FCVI_EOF_T, [0x2] = 0x46, [0x3] = FCVI_EOF_N, [0x4] = FCVI_EOF_A,
    [0x6] = 0x4E,       [0xA] = 0x44, [0xE] = 0x4F,       [0x7] = FCVI_EOF_NI,
};

/* ---- Boardwalk: SOF and VSAN; the frame; a length, sometimes; count, flags and EOF ---- */

enum { HEADER = 2, TRAILER = 4, WORD = 4, CRC = 4, NO_EOF = 0xF0 };
enum { HAS_LENGTH = 0x01, TRUNCATED = 0x08, BAD_CRC = 0x10 };

/* Every frame that the adapter sends is counted, with those that it had no room for. */
static bool dropped(struct envelope *e, uint16_t count)
{
    const uint64_t source = e->source != NULL ? fcvi_load(e->source, 6) : 0;
    unsigned i = 0;
    while (i < e->counters && e->counter[i].source != source)
        i++;
    if (i == ENVELOPE_COUNTERS)
        return false;
    bool lost = i < e->counters && count != (uint16_t)(e->counter[i].last + 1u);
    if (i == e->counters)
        e->counters++;
    e->counter[i] = (struct envelope_counter){source, count};
    return lost;
}

/* The adapter says whether it cut the frame and whether its CRC was right. A CRC that is not there is not
 * bad. */
static void open_body(const uint8_t *frame, size_t length, uint8_t flags, size_t said,
                      struct capture_record *out)
{
    size_t inside = length - CRC;
    bool whole = (flags & TRUNCATED) == 0 && (said == 0 || said == length);
    enum fcvi_crc crc = fcvi_envelope_crc(frame, inside);
    if (whole && (crc == FCVI_CRC_OK || (flags & BAD_CRC) != 0)) {
        fcvi_envelope_frame(out, frame, inside);
        out->frame.crc = (flags & BAD_CRC) != 0 ? FCVI_CRC_BAD : (uint8_t)crc;
    } else if (said == length + CRC && (flags & TRUNCATED) == 0) {
        fcvi_envelope_frame(out, frame, length); /* the CRC was left out */
        out->frame.crc = (flags & BAD_CRC) != 0 ? FCVI_CRC_BAD : FCVI_CRC_ABSENT;
    } else {
        fcvi_envelope_cut(out, frame, (flags & TRUNCATED) != 0 ? length : inside,
                          said > CRC ? said - CRC : 0);
        out->frame.crc = (flags & BAD_CRC) != 0 ? FCVI_CRC_BAD : FCVI_CRC_ABSENT;
    }
}

void fcvi_envelope_boardwalk(struct envelope *e, struct envelope_bytes b, struct capture_record *out)
{
    if (b.original < HEADER + TRAILER + CRC || b.length < HEADER) {
        fcvi_envelope_malformed(out, "too short for a Boardwalk header and trailer");
        if (b.length < b.original)
            fcvi_envelope_cut(out, b.at, 0, 0);
        return;
    }
    uint8_t sof = sofs[b.at[0] >> 4];
    fcvi_envelope_vsan(out, (unsigned)fcvi_load(b.at, 2));
    if (b.length < b.original) { /* whether a length follows the frame is said behind it */
        fcvi_envelope_cut(out, b.at + HEADER, b.length - HEADER, 0);
        out->frame.sof = sof;
        return;
    }
    const uint8_t *trailer = b.at + b.length - TRAILER;
    size_t length = b.length - HEADER - TRAILER, said = 0;
    uint8_t flags = trailer[2];
    if (dropped(e, (uint16_t)fcvi_load(trailer, 2)))
        out->unusual |= CAPTURE_GAP;
    if ((flags & HAS_LENGTH) != 0 && length >= WORD + CRC) {
        length -= WORD;
        said = (size_t)fcvi_load(trailer - WORD, 4) * 4;
        said = said > (size_t)CAPTURE_LONGEST * 2 ? 0 : said;
    }
    open_body(b.at + HEADER, length, flags, said, out);
    out->frame.sof = sof;
    out->frame.eof = trailer[3] >= NO_EOF ? FCVI_EOF_NONE : eofs[trailer[3] & 0xF];
}

/* ---- MDS header: 16 bytes, the frame, EOF in a trailer of 6 with the CRC ---- */

enum { MDS_HEADER = 16, MDS_TRAILER = 6, MDS_SOF = 1, MDS_LENGTH = 2, MDS_VSAN = 13 };

void fcvi_envelope_mds(struct envelope_bytes b, struct capture_record *out)
{
    if (b.length < MDS_HEADER) {
        fcvi_envelope_malformed(out, "too short for an MDS header");
        if (b.length < b.original)
            fcvi_envelope_cut(out, b.at, 0, 0);
        return;
    }
    size_t said = (size_t)fcvi_load(b.at + MDS_LENGTH, 2) & 0x1FFF, there = b.length - MDS_HEADER;
    fcvi_envelope_vsan(out, (unsigned)fcvi_load(b.at + MDS_VSAN, 2));
    if (said < MDS_TRAILER) {
        fcvi_envelope_malformed(out, "the MDS header gives a length that has no room for its trailer");
        return;
    }
    size_t inside = said - MDS_TRAILER;
    if (there < said) {
        fcvi_envelope_cut(out, b.at + MDS_HEADER, there, inside);
        out->frame.crc = FCVI_CRC_ABSENT;
    } else {
        const uint8_t *trailer = b.at + MDS_HEADER + inside;
        fcvi_envelope_frame(out, b.at + MDS_HEADER, inside);
        out->frame.eof = eofs[trailer[0] & 0xF];
        uint32_t seen = (uint32_t)fcvi_load(trailer + 2, 4), crc = fcvi_crc32(b.at + MDS_HEADER, inside);
        /* a mirror that does not fill it in leaves zeros */
        out->frame.crc = seen == 0                                       ? FCVI_CRC_ABSENT
                         : seen == crc || seen == __builtin_bswap32(crc) ? FCVI_CRC_OK
                                                                         : FCVI_CRC_BAD;
    }
    out->frame.sof = sofs[b.at[MDS_SOF] & 0xF];
}
