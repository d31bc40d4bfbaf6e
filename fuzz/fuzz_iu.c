/* The payload of every IU, whole or in pieces: the first byte chooses the IU, the next ten are what its
 * Device_Header says that a payload is judged by, and the rest is the payload. */
#include "oracle.h"

enum { HEAD = 11, FINDINGS = 32, ROOM = 4096 };

static size_t build(uint8_t *out, const uint8_t *data, size_t size, const struct fcvi_iu_info *row)
{
    size_t payload = size - HEAD;
    memset(out, 0, 56);
    fcvi_set_FC_R_CTL(out, row->r_ctl);
    fcvi_set_FC_TYPE(out, FCVI_TYPE);
    fcvi_set_FC_Device_Header(out, row->dh_size == 16 ? 1 : 2);
    fcvi_set_FC_End_Sequence(out, data[1] & 1);
    fcvi_set_FC_Relative_Offset_Present(out, data[1] >> 1 & 1);
    fcvi_set_FC_Fill_Bytes(out, data[1] >> 2 & 3);
    fcvi_set_FC_Parameter(out, data[1] >> 4 & 1 ? fcvi_load(data + 6, 4) : 0);
    uint8_t *dh = out + 24;
    fcvi_set_DH_FCVI_OPCODE(dh, row->opcode);
    fcvi_set_DH_FCVI_FLAGS(dh, data[10]);
    if (row->dh_size == 32)
        fcvi_store(dh + 28, 4, fcvi_load(data + 2, 4)); /* FCVI_TOT_LEN or FCVI_CONNECTION_ID */
    memcpy(dh + row->dh_size, data + HEAD, payload);
    return 24u + row->dh_size + payload;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t frame[ROOM], out[ROOM];
    struct fcvi_finding list[FINDINGS];
    struct fcvi_findings findings = {list, FINDINGS, 0, 0};
    struct fcvi_iu_info row;
    struct fcvi_frame view;
    if (size < HEAD || size > ROOM - 56)
        return 0;
    enum fcvi_iu iu = (enum fcvi_iu)(data[0] % FCVI_IU_COUNT);
    fcvi_iu_info(iu, &row);
    struct fcvi_input in = {frame, build(frame, data, size, &row), data[0] & 0x80 ? FCVI_SOF_N3 : FCVI_SOF_I3,
                            0, 0};
    fcvi_decode(&in, &view, &findings);
    DEMAND(view.iu == (uint8_t)iu);
    demand_same_view(&view);
    demand_round_trip(&view, out, sizeof out);
    if (iu == FCVI_IU_CONNECT_RQST || iu == FCVI_IU_CONNECT_RESP1)
        fcvi_check_connect(iu, frame + 24, data + HEAD, size - HEAD, 56, &findings);
    return 0;
}
