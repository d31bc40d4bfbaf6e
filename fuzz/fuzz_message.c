/* Frames of Messages at the responder: any stream of them, for an Endpoint that is connected and has
 * Descriptors posted. What names the Connection is made right, so that every frame gets as far as the rules
 * for Messages.
 *
 * Demands: what the port sends is clean; Descriptors complete once each and in order; a Message completes
 * well only when its bytes have come and no frame of it lay outside of it (5.2.1, Annex B rules 6); in the
 * end no timer runs on. */
#include "oracle.h"
#include <fcvi_mutator.h>

const struct fcvi_mutator_format fcvi_fuzz_format = {.frames = true};

enum { FRAME = 24 + 2112, LONGEST = 1 << 13, R_A_TOV = 1000, DESCRIPTORS = 12, SLOT = 2048, MESSAGES = 64 };
enum { OWN_ID = 0x010200, PEER_ID = 0x010100, OX_ID = 0x7000, PEER_HANDLE = 0x100, CONNECTION = 7 };
enum { LEVELS = 3, SETTINGS = LEVELS * 4 };

static const struct fcvi_port_limits limits = {.vis = 1,
                                               .connectionpoints = 1,
                                               .exchanges = 64,
                                               .regions = 1,
                                               .descriptors = DESCRIPTORS,
                                               .events = 128,
                                               .memory = (DESCRIPTORS + 1) * SLOT,
                                               .max_transfer_size = SLOT,
                                               .setups = 2,
                                               .remote_ports = 3,
                                               .runs = 32,
                                               .held_frames = 8};

/* What has come of a Message, by its FCVI_MSG_ID. */
struct message {
    bool outside;
    uint8_t bytes[SLOT / 8];
};

struct receiver {
    struct fcvi_port *port;
    uint64_t now, va, next;
    uint32_t mem, region, handle, conn;
    uint8_t state;
    struct message message[MESSAGES];
};

/* ---- the Connection, as it is before the input ---- */

static void hear(struct receiver *r, const uint8_t *bytes, size_t length, uint8_t sof)
{
    struct fcvi_input in = {bytes, length, sof, FCVI_EOF_T, FCVI_CRC_OK};
    fcvi_port_receive(r->port, r->now, &in);
}

static void demand_whole(const struct receiver *r, const struct fcvi_completion *c)
{
    const struct message *m = &r->message[c->immediate];
    if ((c->status & FCVI_STATUS_IMMEDIATE) == 0)
        return;
    DEMAND(!m->outside);
    for (uint32_t i = 0; i < c->length; i++)
        DEMAND(m->bytes[i / 8] >> i % 8 & 1u);
}

static void listen_to(struct receiver *r)
{
    uint8_t bytes[FRAME];
    struct fcvi_transmitted meta;
    struct fcvi_frame frame;
    struct fcvi_event e;
    for (size_t n; (n = fcvi_port_transmit(r->port, r->now, bytes, FRAME, &meta)) != 0;) {
        struct fcvi_input in = {bytes, n, meta.sof, meta.eof, FCVI_CRC_OK};
        demand_clean(&in, &frame);
        if (frame.iu == FCVI_IU_CONNECT_RESP1 && r->handle == 0)
            r->handle = (uint32_t)fcvi_CONN_FCVI_RESP_HANDLE(frame.payload);
    }
    while (fcvi_port_event(r->port, &e)) {
        if (e.kind == FCVI_EVENT_STATE)
            demand_step(&r->state, e.state);
        if (e.kind == FCVI_EVENT_CALL && e.token == 1)
            r->conn = e.conn;
        if (e.kind != FCVI_EVENT_COMPLETION)
            continue;
        demand_next(&r->next, e.completion.cookie);
        if ((e.completion.status & FCVI_STATUS_ERROR_MASK) == 0)
            demand_whole(r, &e.completion);
    }
}

static struct fcvi_address address(uint8_t host)
{
    return (struct fcvi_address){.host = {[15] = host}, .discriminator_length = FCVI_MIN_DISCRIMINATOR};
}

/* The one frame of an IU of the originator that passes Sequence Initiative (5.8.4). */
static void put_header(uint8_t *bytes, enum fcvi_iu iu)
{
    struct fcvi_iu_info info;
    fcvi_iu_info(iu, &info);
    memset(bytes, 0, FRAME);
    fcvi_set_FC_R_CTL(bytes, info.r_ctl);
    fcvi_set_FC_D_ID(bytes, OWN_ID);
    fcvi_set_FC_S_ID(bytes, PEER_ID);
    fcvi_set_FC_TYPE(bytes, FCVI_TYPE);
    fcvi_set_FC_First_Sequence(bytes, iu == FCVI_IU_CONNECT_RQST);
    fcvi_set_FC_End_Sequence(bytes, 1);
    fcvi_set_FC_Sequence_Initiative(bytes, 1);
    fcvi_set_FC_Relative_Offset_Present(bytes, info.has_payload);
    fcvi_set_FC_Device_Header(bytes, 2);
    fcvi_set_FC_OX_ID(bytes, OX_ID);
    fcvi_set_FC_RX_ID(bytes, FC_X_ID_UNASSIGNED);
    fcvi_set_DH_FCVI_OPCODE(bytes + 24, info.opcode);
    fcvi_set_DH_FCVI_CONNECTION_ID(bytes + 24, CONNECTION);
}

static void put_address(uint8_t *at, uint8_t host)
{
    const struct fcvi_address a = address(host);
    fcvi_set_ADDR_HOST_ADD_LEN(at, sizeof a.host);
    fcvi_set_ADDR_DISCRIM_LEN(at, a.discriminator_length);
    memcpy(at + FCVI_ADDR_HOST_ADD_BYTE, a.host, sizeof a.host);
}

/* The setup of 5.3.2 with the port as responder. */
static void connect(struct receiver *r, uint8_t level)
{
    uint8_t bytes[FRAME], *payload = bytes + 24 + 32;
    uint8_t *attributes = payload + FCVI_CONN_FCVI_LOC_ATTRS_BYTE;
    struct fcvi_address own = address(2);
    fcvi_vip_connect_wait(r->port, r->now, &own, FCVI_NEVER, 1);
    put_header(bytes, FCVI_IU_CONNECT_RQST);
    fcvi_set_DH_FCVI_HANDLE(bytes + 24, FCVI_UNASSIGNED);
    fcvi_set_DH_CONN_MODE(bytes + 24, 1); /* client-server */
    fcvi_set_CONN_FCVI_REVISION(payload, 1);
    fcvi_set_CONN_FCVI_RQST_HANDLE(payload, PEER_HANDLE);
    put_address(payload + FCVI_CONN_FCVI_LOC_ADDR_BYTE, 1);
    put_address(payload + FCVI_CONN_FCVI_REM_ADDR_BYTE, 2);
    fcvi_set_ATTRS_FCVI_RELIABILITY_LVL(attributes, level);
    fcvi_set_ATTRS_EnRdmaWr(attributes, 1);
    fcvi_set_ATTRS_EnRdmaRd(attributes, level > 1);
    fcvi_set_ATTRS_FCVI_MAX_TRANS_SIZE(attributes, SLOT);
    hear(r, bytes, 24 + 32 + FCVI_CONN_LENGTH, FCVI_SOF_I3);
    listen_to(r);
    fcvi_vip_connect_accept(r->port, r->now, r->conn, 0, 2);
    listen_to(r);
    put_header(bytes, FCVI_IU_CONNECT_RESP2);
    fcvi_set_FC_SEQ_CNT(bytes, 1);
    fcvi_set_DH_FCVI_HANDLE(bytes + 24, r->handle);
    hear(r, bytes, 24 + 32, FCVI_SOF_I3);
    listen_to(r);
    DEMAND(r->state == FCVI_STATE_CONNECTED);
}

static void make(struct receiver *r, uint8_t setting)
{
    size_t size = fcvi_port_size(&limits);
    uint8_t level = (uint8_t)(1 + setting % LEVELS);
    struct fcvi_port_config c = {.self = {2, 2, OWN_ID, 1, {{[15] = 2}}},
                                 .peer = {1, 1, PEER_ID, 1, {{[15] = 1}}},
                                 .topology = FCVI_FABRIC,
                                 .service_class = setting / LEVELS & 1 ? 2 : 3,
                                 .out_of_order = setting / LEVELS >> 1 & 1,
                                 .e_d_tov_us = R_A_TOV / 5,
                                 .r_a_tov_us = R_A_TOV,
                                 .receive_size = 2112};
    struct fcvi_attributes a = {.reliability = level, .rdma_write = true, .rdma_read = level > 1};
    uint32_t vi;
    r->port = fcvi_port_init(calloc(1, size), size, &limits, &c);
    DEMAND(r->port != NULL && fcvi_vip_create_vi(r->port, 0, &a, &vi) == VIP_SUCCESS);
    fcvi_vip_register_mem(r->port, 0, limits.memory, true, true, &r->mem, &r->va, &r->region);
    for (uint32_t i = 0; i < DESCRIPTORS; i++) {
        static struct fcvi_descriptor d = {.op = FCVI_RECV, .segments = 2};
        d.segment[0] =
            (struct fcvi_segment){r->mem, i * SLOT, SLOT / 4}; /* data that cross from one to the other */
        d.segment[1] = (struct fcvi_segment){r->mem, i * SLOT + SLOT / 4, SLOT - SLOT / 4};
        d.cookie = i;
        fcvi_vip_post(r->port, 0, vi, &d);
    }
    connect(r, level);
}

/* ---- the input ---- */

/* The frame is one of this Connection, and Immediate Data say which Message. */
static void direct(const struct receiver *r, uint8_t *bytes, const struct fcvi_frame *f)
{
    uint8_t *fc = bytes + (f->fc - bytes), *dh = bytes + (f->dh - bytes);
    fcvi_set_FC_D_ID(fc, OWN_ID);
    fcvi_set_FC_S_ID(fc, PEER_ID);
    fcvi_set_DH_FCVI_HANDLE(dh, r->handle);
    fcvi_set_DH_FCVI_MSG_ID(dh, fcvi_DH_FCVI_MSG_ID(dh) % MESSAGES); /* none comes twice */
    if (f->iu == FCVI_IU_READ_RQST || f->iu == FCVI_IU_WRITE_RQST) { /* near the end of the region, too */
        fcvi_set_DH_FCVI_RMT_VA(dh, r->va + fcvi_DH_FCVI_RMT_VA(dh) % ((uint64_t)limits.memory + SLOT));
        fcvi_set_DH_FCVI_RMT_VA_HANDLE(dh, r->region);
    }
    if (f->iu == FCVI_IU_READ_RQST)
        return;
    fcvi_set_DH_IMM_DATA(dh, 1);
    fcvi_set_DH_MSG_PARAMETER(dh, fcvi_DH_FCVI_MSG_ID(dh));
}

static void note(struct receiver *r, const struct fcvi_frame *f)
{
    uint64_t id = fcvi_DH_FCVI_MSG_ID(f->dh), offset = fcvi_FC_Parameter(f->fc);
    if (f->iu == FCVI_IU_READ_RQST || f->payload_length == 0 || r->state != FCVI_STATE_CONNECTED ||
        fcvi_FC_Exchange_Context(f->fc))
        return;
    struct message *m = &r->message[id];
    m->outside |= offset + f->payload_length > fcvi_DH_FCVI_TOT_LEN(f->dh);
    for (uint64_t i = offset; i < offset + f->payload_length && i < SLOT; i++)
        m->bytes[i / 8] |= (uint8_t)(1u << i % 8);
}

static void take_frame(struct receiver *r, const uint8_t *data, size_t length, uint8_t sof)
{
    const unsigned requests = 1u << FCVI_IU_SEND_RQST | 1u << FCVI_IU_WRITE_RQST | 1u << FCVI_IU_READ_RQST;
    uint8_t bytes[FRAME];
    struct fcvi_input in = {bytes, length, sof, FCVI_EOF_T, FCVI_CRC_OK};
    struct fcvi_frame f;
    if (length > FRAME)
        return;
    memcpy(bytes, data, length);
    fcvi_decode(&in, &f, NULL);
    if (f.kind == FCVI_KIND_IU && (requests >> f.iu & 1u) && f.dh_length == 32) {
        direct(r, bytes, &f);
        fcvi_decode(&in, &f, NULL);
        note(r, &f);
    }
    fcvi_port_receive(r->port, r->now, &in);
    listen_to(r);
}

static void end(struct receiver *r)
{
    fcvi_vip_disconnect(r->port, r->now, 0, 5);
    listen_to(r);
    for (int i = 0; i < 300 && fcvi_port_deadline(r->port) != FCVI_NEVER; i++) {
        uint64_t due = fcvi_port_deadline(r->port);
        r->now = due > r->now ? due : r->now;
        fcvi_port_run(r->port, r->now);
        listen_to(r);
    }
    demand_quiet(r->port);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct receiver fresh[SETTINGS];
    static uint64_t *memory;
    uint8_t setting = size > 4 ? data[4] % SETTINGS : 0; /* where the delay before the first frame stands */
    if (size > LONGEST)
        return 0;
    if (memory == NULL)
        memory = calloc(1, fcvi_port_size(&limits));
    if (fresh[setting].port == NULL)
        make(&fresh[setting], setting);
    struct receiver r = fresh[setting];
    memcpy(memory, fresh[setting].port, fcvi_port_size(&limits));
    r.port = (struct fcvi_port *)(void *)memory;
    for (size_t at = 0, length; at + FCVI_RECORD_HEAD <= size; at += length) {
        const uint8_t *record = data + at;
        length = FCVI_RECORD_HEAD + ((size_t)record[0] << 8 | record[1]);
        if (length > size - at)
            break;
        r.now += at == 0 ? 0 : record[5] * 16u;
        fcvi_port_run(r.port, r.now);
        listen_to(&r);
        take_frame(&r, record + FCVI_RECORD_HEAD, length - FCVI_RECORD_HEAD, record[2]);
    }
    end(&r);
    return 0;
}
