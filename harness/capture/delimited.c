/* SOF, CRC and EOF around an FC-2 frame as ordered sets: linktype 225. */
#include "layers.h"

#include <string.h>

enum { ORDERED_SET = 4, CRC = 4, DELIMITERS = 2 * ORDERED_SET + CRC };

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

static void open_whole(struct envelope_bytes b, struct capture_record *out)
{
    const size_t inside = b.length - DELIMITERS;
    fcvi_envelope_frame(out, b.at + ORDERED_SET, inside);
    out->frame.sof = code_of(sofs, sizeof sofs / sizeof *sofs, (uint32_t)fcvi_load(b.at, 4));
    out->frame.eof =
        code_of(eofs, sizeof eofs / sizeof *eofs, (uint32_t)fcvi_load(b.at + b.length - ORDERED_SET, 4));
    fcvi_envelope_told_crc(out, fcvi_envelope_crc(b.at + ORDERED_SET, inside));
}

void fcvi_envelope_delimited(struct envelope_bytes b, struct capture_record *out)
{
    if (b.length >= b.original && b.length >= DELIMITERS) {
        open_whole(b, out);
        return;
    }
    if (b.original < DELIMITERS) {
        fcvi_envelope_malformed(out, "too short for SOF, CRC and EOF");
        return;
    }
    const size_t there = b.length > ORDERED_SET ? b.length - ORDERED_SET : 0;
    fcvi_envelope_cut(out, there != 0 ? b.at + ORDERED_SET : b.at, there, b.original - DELIMITERS);
    if (b.length >= ORDERED_SET)
        out->frame.sof = code_of(sofs, sizeof sofs / sizeof *sofs, (uint32_t)fcvi_load(b.at, 4));
}

size_t fcvi_capture_delimited(const struct fcvi_input *f, uint8_t *out, size_t capacity)
{
    size_t length = f->length + DELIMITERS;
    if (length > capacity)
        return 0;
    fcvi_store(out, 4, set_of(sofs, sizeof sofs / sizeof *sofs, fcvi_envelope_sof(f)));
    memcpy(out + ORDERED_SET, f->bytes, f->length);
    fcvi_envelope_put_crc(f, out + ORDERED_SET + f->length);
    fcvi_store(out + length - 4, 4, set_of(eofs, sizeof eofs / sizeof *eofs, fcvi_envelope_eof(f)));
    return length;
}
