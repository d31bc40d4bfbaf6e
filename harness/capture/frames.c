/* An FC-2 frame out of whatever carried it, and what stands around it where it is written. */
#include "layers.h"

enum fcvi_crc fcvi_envelope_crc(const uint8_t *frame, size_t length)
{
    const uint8_t *c = frame + length; /* least significant byte first, as an Ethernet FCS */
    uint32_t seen = (uint32_t)c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (uint32_t)c[3] << 24;
    return seen == fcvi_crc32(frame, length) ? FCVI_CRC_OK : FCVI_CRC_BAD;
}

void fcvi_envelope_told_crc(struct capture_record *out, enum fcvi_crc crc)
{
    out->frame.crc = (uint8_t)crc;
    if (crc != FCVI_CRC_BAD)
        return;
    out->unusual |= CAPTURE_CRC_WORD;
    out->crc_word = (uint32_t)fcvi_load(out->frame.bytes + out->frame.length, 4);
}

void fcvi_envelope_malformed(struct capture_record *out, const char *problem)
{
    out->kind = CAPTURE_MALFORMED;
    out->problem = problem;
}

void fcvi_envelope_foreign(struct capture_record *out, enum capture_protocol family, uint64_t number)
{
    out->kind = CAPTURE_FOREIGN;
    out->protocol = (uint32_t)family << 16 | (uint32_t)(number & 0xFFFF);
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
    if (f->length == 0 || f->bytes[0] < R_CTL_VFT || f->bytes[0] > R_CTL_LAST_EXTENDED)
        return;
    if (f->length >= EXTENDED || f->bytes[0] > R_CTL_IFR) /* else it is too short for anything */
        fcvi_envelope_foreign(out, CAPTURE_FC_R_CTL, f->bytes[0]);
}

/* ---- writing ---- */

/* FC-2: class 3 data Sequences begin with SOFi3 and end with EOFt. */
uint8_t fcvi_envelope_sof(const struct fcvi_input *f)
{
    if (f->sof != FCVI_SOF_NONE)
        return f->sof;
    return f->length >= 24 && fcvi_FC_SEQ_CNT(f->bytes) != 0 && fcvi_FC_Parameter(f->bytes) != 0
               ? FCVI_SOF_N3
               : FCVI_SOF_I3;
}

uint8_t fcvi_envelope_eof(const struct fcvi_input *f)
{
    if (f->eof != FCVI_EOF_NONE)
        return f->eof;
    return f->length >= 24 && !fcvi_FC_End_Sequence(f->bytes) ? FCVI_EOF_N : FCVI_EOF_T;
}

void fcvi_envelope_put_crc(const struct fcvi_input *f, uint8_t *out)
{
    uint32_t crc = fcvi_crc32(f->bytes, f->length) ^ (f->crc == FCVI_CRC_BAD ? 1u : 0u);
    for (unsigned i = 0; i < 4; i++)
        out[i] = (uint8_t)(crc >> 8 * i);
}
