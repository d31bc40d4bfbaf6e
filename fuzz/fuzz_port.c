/* The reference port as a state machine: the input is a program of frames, VIPL calls, link events and time.
 *
 * Frames of the peer are built from the field table; most of them answer or continue what the port has sent,
 * so that they reach the states behind a setup. Oracles: no frame of the port breaks a rule of the codec,
 * Endpoints change their states as they may, every Descriptor completes at most once and in order, and once
 * everything has timed out no timer runs on and no Exchange is left but those of requests that the
 * application has not answered. */
#include "oracle.h"

#ifndef EDITION /* of the port: fuzz_rev1_port.c has the other one */
#define EDITION FCVI_EDITION_2007
#endif

enum { FRAME = 24 + 2112, R_A_TOV = 1000, MOST_STEPS = 200, VIS = 4, MEMORY = 8, SETTINGS = 256 };
enum { OWN_ID = 0x010200, PEER_ID = 0x010100 };
enum { OLD = EDITION == FCVI_EDITION_REV1, SHORTEST = OLD ? 348 : 256 /* Data_Field */ };

static const struct fcvi_port_limits limits = {.vis = VIS,
                                               .connectionpoints = 3,
                                               .exchanges = 16,
                                               .regions = 3,
                                               .descriptors = 3,
                                               .events = 64,
                                               .memory = 8192,
                                               .max_transfer_size = 4096,
                                               .setups = 5,
                                               .remote_ports = 4,
                                               .runs = 8,
                                               .held_frames = 4};

struct program {
    const uint8_t *at, *end;
};

/* What the peer has seen of the port. */
struct peer {
    uint8_t sent[MEMORY][64]; /* the beginnings of its last frames */
    unsigned count;
    uint32_t conn;          /* of the last request handed out */
    uint32_t region_handle; /* of the last region registered */
    uint64_t va;
    uint64_t next_cookie[VIS][2], posted;
    uint8_t state[VIS];
};

static uint8_t take(struct program *p)
{
    return p->at < p->end ? *p->at++ : 0;
}

static void listen_to(struct fcvi_port *port, uint64_t now, struct peer *peer)
{
    uint8_t bytes[FRAME];
    struct fcvi_transmitted meta;
    struct fcvi_frame frame;
    struct fcvi_event event;
    for (size_t n = fcvi_port_transmit(port, now, bytes, FRAME, &meta); n != 0;
         n = fcvi_port_transmit(port, now, bytes, FRAME, &meta)) {
        struct fcvi_input in = {bytes, n, meta.sof, meta.eof, FCVI_CRC_OK};
        demand_clean_edition(&in, EDITION, &frame);
        memset(bytes + n, 0, n < 128 ? 128 - n : 0);
        memcpy(peer->sent[peer->count % MEMORY], bytes, 56);
        /* FCVI_RQST_HANDLE or RESP */
        memcpy(peer->sent[peer->count++ % MEMORY] + 56, bytes + (OLD ? 24 + 16 + 4 : 56 + 8), 8);
    }
    while (fcvi_port_event(port, &event)) {
        if (event.kind == FCVI_EVENT_CALL && event.token == 1)
            peer->conn = event.conn;
        if (event.kind == FCVI_EVENT_STATE)
            demand_step(&peer->state[event.vi], event.state);
        if (event.kind != FCVI_EVENT_COMPLETION)
            continue;
        demand_next(&peer->next_cookie[event.vi][event.recv], event.completion.cookie);
    }
}

/* Fields that answer a frame of the port: its Exchange, its handle, its numbers. */
static void answer(uint8_t *bytes, const uint8_t *seen)
{
    fcvi_set_FC_OX_ID(bytes, fcvi_FC_OX_ID(seen));
    fcvi_set_FC_RX_ID(bytes, fcvi_FC_RX_ID(seen));
    fcvi_set_FC_Exchange_Context(bytes, !fcvi_FC_Exchange_Context(seen));
    fcvi_set_FC_SEQ_ID(bytes, fcvi_FC_SEQ_ID(seen));
    fcvi_set_FC_SEQ_CNT(bytes, fcvi_FC_SEQ_CNT(seen));
}

/* Tables 11 to 14 of the draft, from the peer's address to the port's. */
static size_t connect_of_1999(uint8_t *payload, struct program *p)
{
    fcvi_set_CONN_REV1_VI_REVISION(payload, 1);
    fcvi_set_CONN_REV1_VI_RQST_HANDLE(payload, take(p) % 4);
    for (size_t at = FCVI_CONN_REV1_VI_LOC_ADDR_BYTE; at <= FCVI_CONN_REV1_VI_REM_ADDR_BYTE; at += 148) {
        fcvi_set_ADDR_REV1_HOST_ADDR_LEN(payload + at, 16);
        fcvi_set_ADDR_REV1_DISCRIM_LEN(payload + at, 16);
    }
    payload[FCVI_CONN_REV1_VI_LOC_ADDR_BYTE + 19] = 1;
    payload[FCVI_CONN_REV1_VI_REM_ADDR_BYTE + 19] = 2;
    uint8_t *attributes = payload + FCVI_CONN_REV1_VI_LOC_ATTRS_BYTE;
    fcvi_set_ATTRS_REV1_RELIABILITY_LVL(attributes, 1u << take(p) % 3);
    fcvi_set_ATTRS_REV1_MAX_TRANS_SIZE(attributes, 4096);
    return FCVI_CONN_REV1_LENGTH;
}

static size_t build_iu(uint8_t *bytes, struct program *p, const struct peer *peer)
{
    struct fcvi_iu_info row;
    enum fcvi_iu iu = (enum fcvi_iu)(take(p) % FCVI_IU_COUNT);
    if (fcvi_edition_iu(EDITION, iu) == NULL)
        iu = FCVI_IU_DISCONNECT_RESP;
    const uint8_t *seen = peer->sent[take(p) % MEMORY];
    row = *fcvi_edition_iu(EDITION, iu);
    uint8_t how = take(p), *dh = bytes + 24, *payload = dh + row.dh_size;
    fcvi_set_FC_R_CTL(bytes, row.r_ctl);
    fcvi_set_FC_TYPE(bytes, FCVI_TYPE);
    fcvi_store(bytes + 9, 3, fcvi_load((uint8_t[]){take(p), 0, 0}, 3));
    fcvi_set_FC_Device_Header(bytes, row.dh_size == 16 ? 1 : 2);
    fcvi_set_FC_SEQ_CNT(bytes, take(p) % 4);
    fcvi_set_FC_OX_ID(bytes, take(p) % 16);
    fcvi_set_FC_RX_ID(bytes, FC_X_ID_UNASSIGNED);
    if (how & 1)
        answer(bytes, seen);
    fcvi_set_DH_FCVI_OPCODE(dh, row.opcode);
    fcvi_set_DH_FCVI_FLAGS(dh, take(p));
    fcvi_set_DH_FCVI_HANDLE(dh, how & 2 ? fcvi_load(seen + 56, 4) : 4u * (1 + take(p) % 4) + take(p) % VIS);
    fcvi_set_DH_FCVI_MSG_ID(dh, how & 4 ? fcvi_DH_FCVI_MSG_ID(seen + 24) : take(p) % 8);
    fcvi_set_DH_Reason_Code(dh, FCVI_IUS_STATUS >> iu & 1u ? take(p) : 0);
    size_t length = 24u + row.dh_size;
    if (row.dh_size == 16 && (!OLD || !row.has_payload))
        return length;
    if (row.dh_size == 32) {
        fcvi_set_DH_FCVI_CONNECTION_ID(dh, how & 8 ? fcvi_DH_FCVI_CONNECTION_ID(seen + 24) : take(p) % 16);
        fcvi_set_DH_FCVI_RMT_VA(dh, how & 16 ? peer->va : 0);
        fcvi_set_DH_FCVI_RMT_VA_HANDLE(dh, how & 16 ? peer->region_handle : 0);
    }
    if (!row.has_payload)
        return length;
    if (OLD && (iu == FCVI_IU_CONNECT_RQST || iu == FCVI_IU_CONNECT_RESP1))
        return length + connect_of_1999(payload, p);
    if (iu == FCVI_IU_CONNECT_RQST || iu == FCVI_IU_CONNECT_RESP1) {
        fcvi_set_CONN_FCVI_REVISION(payload, 1);
        fcvi_set_CONN_FCVI_RQST_HANDLE(payload, take(p) % 4);
        for (size_t at = 12; at <= 160; at += 148)
            payload[at + 2] = payload[at + 3] = 16;
        payload[12 + 19] = 1; /* from the peer's address to the port's */
        payload[160 + 19] = 2;
        payload[310] = (uint8_t)(1 + take(p) % 3);
        payload[311] = 3;
        fcvi_store(payload + 312, 4, 4096);
        return length + 340;
    }
    fcvi_set_FC_Relative_Offset_Present(bytes, 1);
    uint32_t offset = how & 32 ? take(p) * 16u : 0;
    fcvi_set_FC_Parameter(bytes,
                          how & 64 ? 0u - offset / 2 : offset); /* or near the end of what 32 bits hold */
    return length + take(p) * 8u;
}

static size_t build_els(uint8_t *bytes, struct program *p, const struct peer *peer)
{
    static const uint8_t commands[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x12,
                                       0x52, 0x54, 0x55, 0x60, 0x61, 0x20};
    bool reply = take(p) & 1;
    fcvi_set_FC_R_CTL(bytes, reply ? 0x23 : 0x22);
    fcvi_set_FC_TYPE(bytes, 0x01);
    if (reply)
        answer(bytes, peer->sent[take(p) % MEMORY]);
    uint8_t *els = bytes + 24;
    els[0] = commands[take(p) % sizeof commands];
    els[8] = take(p);
    els[9] = 2;
    fcvi_store(els + 10, 2, 2112);
    if (els[0] == 0x54 || els[0] == 0x55) {
        els[4] = 4;
        els[8] = 2;
        fcvi_store(els + 9, 3, PEER_ID);
        els[75] = take(p) % 4;
    }
    static const uint8_t lengths[] = {4, 8, 16, 24, 28, 76, 116};
    return 24u + lengths[take(p) % sizeof lengths];
}

static size_t build_link(uint8_t *bytes, struct program *p, const struct peer *peer)
{
    static const uint8_t codes[] = {0x81, 0x84, 0x85, 0xC0, 0xC1, 0xC2, 0xC3, 0xC4, 0xC5};
    fcvi_set_FC_R_CTL(bytes, codes[take(p) % sizeof codes]);
    answer(bytes, peer->sent[take(p) % MEMORY]);
    fcvi_set_FC_Abort_Sequence_Condition(bytes, take(p) % 4);
    return fcvi_FC_R_CTL(bytes) == 0x84 ? 24 + 12 : 24;
}

/* A frame of the peer. */
static void hear(struct fcvi_port *port, uint64_t now, struct program *p, struct peer *peer)
{
    uint8_t bytes[FRAME] = {0};
    uint8_t what = take(p) % 8;
    static const uint8_t sofs[] = {FCVI_SOF_NONE, FCVI_SOF_I2, FCVI_SOF_N3};
    size_t length = what < 6    ? build_iu(bytes, p, peer)
                    : what == 6 ? build_els(bytes, p, peer)
                                : build_link(bytes, p, peer);
    fcvi_set_FC_D_ID(bytes, fcvi_port_id(port));
    fcvi_set_FC_S_ID(bytes, PEER_ID);
    uint8_t odd = take(p);
    if (odd == 255)
        fcvi_set_FC_S_ID(bytes, 0xFFFFFE);
    if (odd == 254)
        fcvi_set_FC_D_ID(bytes, 0xFFFFFF);
    for (uint8_t flips = odd % 32 > 28 ? odd % 4 : 0; flips > 0; flips--)
        bytes[(take(p) * 256u + take(p)) % length] ^= take(p);
    struct fcvi_input in = {bytes, length - (odd % 64 == 7), sofs[odd % 3], 0, 0};
    fcvi_port_receive(port, now, &in);
}

static struct fcvi_address address(uint8_t host, uint8_t discriminator)
{
    struct fcvi_address a = {.discriminator_length = 16};
    a.host[15] = host;
    a.discriminator[0] = discriminator;
    return a;
}

static void post(struct fcvi_port *port, uint64_t now, uint32_t vi, struct program *p, struct peer *peer)
{
    static struct fcvi_descriptor d;
    uint8_t bits = take(p);
    d.op = bits % 4;
    d.fence = bits >> 2 & 1;
    d.has_immediate = bits >> 3 & 1;
    d.format_error = (bits & 0xF0) == 0x10;
    d.length_error = (bits & 0xF0) == 0x20;
    d.segments = 1;
    d.segment[0] = (struct fcvi_segment){take(p) % 4, 0, take(p) * 16u};
    d.remote_va = peer->va;
    d.remote_handle = peer->region_handle;
    d.cookie = peer->posted++;
    fcvi_vip_post(port, now, vi, &d);
}

static void begin(struct peer *peer, uint32_t vi)
{
    peer->next_cookie[vi][0] = peer->next_cookie[vi][1] = 0;
    peer->state[vi] = FCVI_STATE_IDLE;
}

static void call(struct fcvi_port *port, uint64_t now, struct program *p, struct peer *peer)
{
    struct fcvi_address own = address(2, 0), remote = address(take(p) % 4, 0);
    struct fcvi_attributes attributes = {.reliability = 1, .rdma_write = true};
    struct fcvi_completion completion;
    uint32_t vi = take(p) % VIS, number;
    switch (take(p) % 12) {
    case 0:
        attributes.reliability = (uint8_t)(1 + take(p) % 3);
        attributes.rdma_read = attributes.reliability > 1;
        attributes.pipeline_depth = take(p) % 4;
        if (fcvi_vip_create_vi(port, now, &attributes, &number) == VIP_SUCCESS)
            begin(peer, number);
        break;
    case 1:
        fcvi_vip_connect_wait(port, now, &own, take(p) * 20u, 1);
        break;
    case 2:
        fcvi_vip_connect_request(port, now, vi, &own, &remote, take(p) * 20u, 2);
        break;
    case 3:
        fcvi_vip_connect_accept(port, now, peer->conn, vi, 3);
        break;
    case 4:
        fcvi_vip_connect_reject(port, now, peer->conn);
        break;
    case 5:
        fcvi_vip_disconnect(port, now, vi, 4);
        break;
    case 6:
    case 7:
        post(port, now, vi, p, peer);
        break;
    case 8: {
        struct fcvi_region r = {
            .length = take(p) * 17u, .rdma_write = true, .rdma_read = true, .ptag = take(p) % 2};
        uint32_t mem;
        if (fcvi_vip_register_region(port, now, &r, &mem, &peer->region_handle) == VIP_SUCCESS &&
            fcvi_vip_query_mem(port, now, mem, &r) == VIP_SUCCESS)
            peer->va = r.va;
        break;
    }
    case 9:
        fcvi_vip_deregister_mem(port, now, take(p) % 3);
        break;
    case 10:
        fcvi_vip_connect_peer_request(port, now, vi, &own, &remote, take(p) * 20u);
        fcvi_vip_connect_peer_done(port, now, take(p) % VIS, &attributes);
        break;
    default:
        fcvi_vip_done(port, now, vi, take(p) & 1, &completion);
        fcvi_vip_destroy_vi(port, now, vi);
        break;
    }
}

/* ---- what is seldom called, and arguments that are refused ---- */

static struct fcvi_attributes odd_attributes(struct program *p)
{
    uint8_t how = take(p);
    return (struct fcvi_attributes){.reliability = how % 5,
                                    .max_transfer_size = take(p) * 64u,
                                    .rdma_write = how >> 3 & 1,
                                    .rdma_read = how >> 4 & 1,
                                    .preference = how >> 5 & 1,
                                    .pipeline_depth = how >> 6,
                                    .ptag = how >> 7};
}

static struct fcvi_address odd_address(struct program *p)
{
    struct fcvi_address a = address(take(p) % 4, take(p) % 3);
    a.discriminator_length = take(p);
    return a;
}

static struct fcvi_port_identity odd_identity(struct program *p)
{
    static const uint32_t ids[] = {PEER_ID, OWN_ID, 0x010300, 0, 0xFFFFFE, 0x0000EF};
    struct fcvi_port_identity who = {.port_name = take(p) % 4, .node_name = take(p) % 4};
    who.n_port_id = ids[take(p) % (sizeof ids / sizeof ids[0])];
    who.hosts = take(p) % (FCVI_MAX_HOSTS + 2);
    for (uint32_t i = 0; i < FCVI_MAX_HOSTS; i++)
        who.host[i][15] = take(p) % 6;
    return who;
}

static void ask(struct fcvi_port *port, uint64_t now, struct program *p)
{
    struct fcvi_attributes a = odd_attributes(p);
    struct fcvi_vi_info info;
    struct fcvi_region region = {.length = take(p), .ptag = take(p) % 3, .rdma_read = true};
    uint32_t vi = take(p) % (VIS + 2), mem = take(p) % 5, other;
    fcvi_vip_query_vi(port, now, vi, &info);
    fcvi_vip_query_mem(port, now, mem, &region);
    region.ptag = take(p) % 3;
    region.rdma_write = take(p) & 1;
    fcvi_vip_set_mem(port, now, mem, &region);
    fcvi_vip_set_vi(port, now, vi, &a);
    fcvi_vip_connect_peer_wait(port, now, vi, 6, &a);
    fcvi_port_region(port, take(p), &other);
    fcvi_port_memory(port, mem, take(p), take(p) * 4u);
    fcvi_vip_connect_accept(port, now, take(p) % 8, vi, 3);
    fcvi_vip_connect_reject(port, now, take(p) % 8);
    DEMAND(fcvi_vip_name(vi + mem)[0] != 0 && fcvi_vip_error_name((int)vi)[0] != 0);
    DEMAND(fcvi_vi_state_name(info.state) != NULL);
}

static void odd_setup(struct fcvi_port *port, uint64_t now, struct program *p)
{
    struct fcvi_address here = odd_address(p), there = odd_address(p);
    uint32_t vi = take(p) % (VIS + 2);
    uint64_t timeout = take(p) * 20u;
    switch (take(p) % 3) {
    case 0:
        fcvi_vip_connect_wait(port, now, &here, timeout, 1);
        break;
    case 1:
        fcvi_vip_connect_request(port, now, vi, &here, &there, timeout, 2);
        break;
    default:
        fcvi_vip_connect_peer_request(port, now, vi, &here, &there, timeout);
        break;
    }
}

static void odd_post(struct fcvi_port *port, uint64_t now, struct program *p, struct peer *peer)
{
    static struct fcvi_descriptor d;
    uint32_t vi = take(p) % (VIS + 1);
    d.op = take(p) % 5;
    d.segments = take(p) % (FCVI_MAX_SEGMENTS + 3);
    d.has_immediate = take(p) & 1;
    d.fence = d.format_error = d.length_error = false;
    for (unsigned i = 0; i < d.segments && i < FCVI_MAX_SEGMENTS; i++)
        d.segment[i] = i < 6 ? (struct fcvi_segment){take(p) % 4, take(p), take(p) * 9u} : d.segment[0];
    d.remote_va = peer->va + take(p);
    d.remote_handle = peer->region_handle;
    d.cookie = peer->posted++;
    fcvi_vip_post(port, now, vi, &d);
}

/* A block that no port fits in, limits that make no sense: refused, never wrong. */
static void odd_init(struct program *p)
{
    static uint64_t room[4096];
    struct fcvi_port_limits l = limits;
    struct fcvi_port_config c = {.service_class = take(p) % 5,
                                 .topology = take(p) % 5,
                                 .e_d_tov_us = take(p),
                                 .r_a_tov_us = take(p),
                                 .receive_size = take(p) * 16u,
                                 .explicit_login = true};
    uint32_t *const of[] = {&l.vis,
                            &l.connectionpoints,
                            &l.exchanges,
                            &l.regions,
                            &l.descriptors,
                            &l.events,
                            &l.max_transfer_size,
                            &l.setups,
                            &l.remote_ports,
                            &l.entries,
                            &l.segments,
                            &l.runs,
                            &l.held_frames,
                            &l.memory};
    static const uint32_t values[] = {0, 1, 4096, 65535, 65536, 1u << 20, (1u << 20) + 1, UINT32_MAX};
    uint8_t which = take(p);
    if (which < sizeof of / sizeof of[0])
        *of[which] = values[take(p) % 8];
    c.self = odd_identity(p);
    c.peer = odd_identity(p);
    c.iu_size = take(p);
    size_t size = fcvi_port_size(&l), given = take(p) & 1 ? sizeof room : take(p) * 64u;
    struct fcvi_port *port = fcvi_port_init(room, given, &l, &c);
    DEMAND(port == NULL || (size != 0 && size <= given));
}

/* Any frame: a header whose routing the program chooses, and its bytes. */
static void hear_raw(struct fcvi_port *port, uint64_t now, struct program *p, const struct peer *peer)
{
    uint8_t bytes[FRAME] = {0};
    static const uint8_t routes[] = {0x22, 0x23, 0x03, 0x02, 0x00, 0x01, 0x06, 0x84, 0x85, 0x81};
    static const uint8_t types[] = {0x01, 0x01, 0x20, 0x20, 0x58, 0x58, 0x58, 0x00, 0x00, 0x00};
    static const uint32_t sources[] = {PEER_ID, 0xFFFFFE, 0xFFFFFC, 0x010300, 0xFFFFFD, OWN_ID};
    uint8_t route = take(p) % sizeof routes, how = take(p);
    fcvi_set_FC_R_CTL(bytes, routes[route]);
    fcvi_set_FC_TYPE(bytes, types[route]);
    if (how & 1)
        answer(bytes, peer->sent[take(p) % MEMORY]);
    else
        fcvi_set_FC_OX_ID(bytes, take(p) % 16);
    fcvi_set_FC_S_ID(bytes, sources[take(p) % 6]);
    fcvi_set_FC_D_ID(bytes, how & 2 ? 0xFFFFFF : fcvi_port_id(port));
    if (how & 4)
        fcvi_store(bytes + 9, 3, fcvi_load((uint8_t[]){take(p), take(p), take(p)}, 3));
    size_t length = 24u + 4u * (take(p) % 32u);
    for (size_t at = 24; at < length; at++) { /* runs of zeros are one byte each */
        uint8_t byte = take(p);
        if (byte == 0)
            at += take(p) % 64;
        else if (at < length)
            bytes[at] = byte;
    }
    struct fcvi_input in = {bytes, length, how & 8 ? FCVI_SOF_I2 : FCVI_SOF_I3, 0, 0};
    fcvi_port_receive(port, now, &in);
}

static void odd(struct fcvi_port *port, uint64_t now, struct program *p, struct peer *peer)
{
    struct fcvi_attributes a;
    struct fcvi_port_identity who;
    uint32_t vi;
    switch (take(p) % 8) {
    case 0:
        fcvi_port_lip(port, now, take(p) & 1 ? OWN_ID : take(p));
        break;
    case 1:
        who = odd_identity(p);
        fcvi_port_know(port, now, &who);
        break;
    case 2:
        ask(port, now, p);
        break;
    case 3:
        a = odd_attributes(p);
        if (fcvi_vip_create_vi(port, now, &a, &vi) == VIP_SUCCESS)
            begin(peer, vi);
        break;
    case 4:
        odd_setup(port, now, p);
        break;
    case 5:
        odd_post(port, now, p, peer);
        break;
    case 6:
        odd_init(p);
        break;
    default:
        hear_raw(port, now, p, peer);
        break;
    }
}

/* The configurations differ in class, Fabric, topology, login and the optional ways of doing things. */
static struct fcvi_port_config config_of(uint8_t setting)
{
    struct fcvi_port_config c = {.service_class = setting & 1 ? 2 : 3,
                                 .out_of_order = setting >> 1 & 1,
                                 .topology = setting >> 2 & 3,
                                 .e_d_tov_us = 100,
                                 .r_a_tov_us = R_A_TOV,
                                 .revision = EDITION,
                                 .receive_size = setting & 1 ? SHORTEST : 2112,
                                 .explicit_login = setting >> 4 & 1,
                                 .name_server = setting >> 5 & 1,
                                 .ack_0 = setting >> 4 & 1,
                                 .connect_info = !OLD && setting >> 5 & 1,
                                 .resp3_is_message_0 = !OLD && setting >> 5 & 1,
                                 .fabric_login = setting >> 6 & 1,
                                 .end_to_end_credit = setting >> 7 ? 2 : 0,
                                 .iu_size = setting & 2 ? 0 : 512};
    c.self = (struct fcvi_port_identity){2, 2, setting >> 6 == 3 ? 0 : OWN_ID, 1, {{[15] = 2}}};
    c.peer = (struct fcvi_port_identity){setting & 4 ? 1 : 3, 1, PEER_ID, 1, {{[15] = 1}}};
    return c;
}

static void end(struct fcvi_port *port, uint64_t now, struct peer *peer)
{
    for (uint32_t vi = 0; vi < VIS; vi++)
        fcvi_vip_disconnect(port, now, vi, 5);
    listen_to(port, now, peer);
    for (int i = 0; i < 200; i++) { /* every finite timer comes to its end */
        uint64_t due = fcvi_port_deadline(port);
        if (due == FCVI_NEVER)
            break;
        now = due > now ? due : now;
        fcvi_port_run(port, now);
        listen_to(port, now, peer);
    }
    demand_quiet(port);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint64_t *fresh[SETTINGS], *memory; /* the ports as they are after init, and the one that runs */
    size_t bytes = fcvi_port_size(&limits);
    struct program p = {data, data + size};
    uint8_t setting = take(&p) % SETTINGS;
    if (memory == NULL)
        memory = calloc(1, bytes);
    if (fresh[setting] == NULL) {
        struct fcvi_port_config c = config_of(setting);
        fresh[setting] = calloc(1, bytes);
        if (fresh[setting] == NULL || fcvi_port_init(fresh[setting], bytes, &limits, &c) == NULL)
            abort();
    }
    memcpy(memory, fresh[setting], bytes);
    struct fcvi_port *port = (struct fcvi_port *)(void *)memory;
    struct peer peer = {.count = 0};
    uint64_t now = 0;
    for (int steps = 0; p.at < p.end && steps < MOST_STEPS; steps++) {
        uint8_t what = take(&p);
        if (what % 8 == 0)
            now += take(&p) * 16u;
        else if (what % 8 == 1 && what >= 64)
            odd(port, now, &p, &peer);
        else if (what % 8 == 1)
            fcvi_port_link(port, now, (enum fcvi_link)(take(&p) % 5));
        else if (what % 8 < 4)
            call(port, now, &p, &peer);
        else
            hear(port, now, &p, &peer);
        fcvi_port_run(port, now);
        listen_to(port, now, &peer);
    }
    end(port, now, &peer);
    return 0;
}
