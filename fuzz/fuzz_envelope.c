/* Records of captures: FCoE, FIP, Boardwalk and MDS headers in Ethernet with VLAN tags and in tunnels, SOF
 * and EOF ordered sets, bare FC-2, IP. The first byte chooses the linktype and whether the capture cut the
 * record off. */
#include "envelope.h"
#include "oracle.h"

enum { LONGEST = 4096, FINDINGS = 8 };

enum { RAW = 101, ERF = 197, COOKED = 276 };
static const int linktypes[] = {CAPTURE_FC_2, CAPTURE_FC_2_DELIMS, CAPTURE_ETHERNET, ERF, COOKED, RAW};
enum { LINKTYPES = sizeof linktypes / sizeof *linktypes };

/* What was taken out of an envelope, put into a new one, comes out again. */
static void demand_return(const struct fcvi_input *frame)
{
    static uint8_t envelope[LONGEST + 64];
    struct capture_record back;
    struct envelope known = {0};
    struct fcvi_input good = {frame->bytes, frame->length, FCVI_SOF_I3, FCVI_EOF_T, FCVI_CRC_OK};
    size_t n = fcvi_capture_delimited(&good, envelope, sizeof envelope);
    fcvi_envelope_open(&known, CAPTURE_FC_2_DELIMS, (struct envelope_bytes){envelope, n, n}, &back);
    DEMAND(back.kind == CAPTURE_FRAME && back.frame.length == good.length && back.frame.crc == FCVI_CRC_OK);
    DEMAND(memcmp(back.frame.bytes, good.bytes, good.length) == 0);
    n = fcvi_envelope_fcoe(&good, envelope, sizeof envelope);
    if (n == 0 || good.length % 4 != 0)
        return; /* not a frame that FC-2 can send */
    fcvi_envelope_open(&known, CAPTURE_ETHERNET, (struct envelope_bytes){envelope, n, n}, &back);
    DEMAND(back.kind == CAPTURE_FRAME && back.frame.length == good.length && back.frame.crc == FCVI_CRC_OK);
    DEMAND(back.frame.sof == FCVI_SOF_I3 && back.frame.eof == FCVI_EOF_T);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct capture_record record = {0};
    struct fcvi_finding list[FINDINGS];
    struct fcvi_findings findings = {list, FINDINGS, 0, 0};
    struct fcvi_frame frame;
    struct envelope known = {.tunnels = &fcvi_envelope_tunnels};
    if (size < 1 || size > LONGEST)
        return 0;
    bool cut = data[0] >> 7;
    unsigned link = (data[0] & 0x7Fu) < LINKTYPES ? data[0] & 0x7Fu : data[0] % 3u;
    fcvi_envelope_open(&known, linktypes[link],
                       (struct envelope_bytes){data + 1, size - 1, size - 1 + (cut ? 64 : 0)}, &record);
    DEMAND(record.kind != CAPTURE_MALFORMED || record.problem != NULL);
    DEMAND(record.kind != CAPTURE_CUT || record.whole == 0 || record.whole < 1 << 17);
    if (record.kind != CAPTURE_FRAME && record.kind != CAPTURE_CUT)
        return 0;
    DEMAND(record.frame.bytes >= data && record.frame.bytes + record.frame.length <= data + size);
    if (record.kind == CAPTURE_CUT)
        return 0;
    fcvi_decode(&record.frame, &frame, &findings);
    if (record.frame.length >= 1 && record.frame.bytes[0] >> 4 == 5)
        return 0; /* what is behind an extended header that cannot be stepped over */
    demand_return(&record.frame);
    return 0;
}
