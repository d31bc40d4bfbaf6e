/* The reference port as a state machine: the input is a program of frames, VIPL calls and time.
 *
 * Oracles: no frame of the port breaks a rule of the codec, and once everything has timed out no timer runs
 * on. */
#include <fcvi/port.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME = 24 + 2112, R_A_TOV = 1000, MOST_STEPS = 200 };

static const struct fcvi_port_limits limits = {.vis = 3,
                                               .connectionpoints = 3,
                                               .exchanges = 16,
                                               .regions = 2,
                                               .descriptors = 3,
                                               .events = 64,
                                               .memory = 4096,
                                               .max_transfer_size = 2048};

struct program {
    const uint8_t *at, *end;
};

static uint8_t take(struct program *p)
{
    return p->at < p->end ? *p->at++ : 0;
}

static void listen_to(struct fcvi_port *port, uint64_t now)
{
    uint8_t bytes[FRAME];
    struct fcvi_transmitted meta;
    struct fcvi_event event;
    for (size_t n = fcvi_port_transmit(port, now, bytes, FRAME, &meta); n != 0;
         n = fcvi_port_transmit(port, now, bytes, FRAME, &meta)) {
        struct fcvi_finding list[4];
        struct fcvi_findings findings = {list, 4, 0, 0};
        struct fcvi_frame frame;
        struct fcvi_input in = {bytes, n, meta.sof, meta.eof, FCVI_CRC_OK};
        fcvi_decode(&in, &frame, &findings);
        if (findings.worst > 1 + FCVI_NOTICE)
            abort();
    }
    while (fcvi_port_event(port, &event)) {
    }
}

/* A frame of the peer: an IU of Table 1 with plausible fields, some of them taken from the input. */
static void hear(struct fcvi_port *port, uint64_t now, struct program *p)
{
    uint8_t bytes[FRAME] = {0};
    struct fcvi_iu_info row;
    enum fcvi_iu iu = (enum fcvi_iu)(take(p) % FCVI_IU_COUNT);
    fcvi_iu_info(iu, &row);
    uint8_t *dh = bytes + 24;
    size_t length = 24u + row.dh_size;
    fcvi_set_FC_R_CTL(bytes, row.r_ctl);
    fcvi_set_FC_D_ID(bytes, 0x010200);
    fcvi_set_FC_S_ID(bytes, 0x010100);
    fcvi_set_FC_TYPE(bytes, FCVI_TYPE);
    fcvi_store(bytes + 9, 3, fcvi_load((uint8_t[]){take(p), 0, take(p)}, 3));
    fcvi_set_FC_Device_Header(bytes, row.dh_size == 16 ? 1 : 2);
    fcvi_set_FC_SEQ_CNT(bytes, take(p) % 4);
    fcvi_set_FC_OX_ID(bytes, take(p));
    fcvi_set_DH_FCVI_OPCODE(dh, row.opcode);
    fcvi_set_DH_FCVI_FLAGS(dh, take(p));
    fcvi_set_DH_FCVI_HANDLE(dh, (uint64_t)take(p) << 16 | take(p) % 4);
    fcvi_set_DH_FCVI_MSG_ID(dh, take(p));
    fcvi_set_DH_Reason_Code(dh, take(p));
    if (row.dh_size == 32)
        fcvi_set_DH_FCVI_CONNECTION_ID(dh, take(p));
    if (row.has_payload) {
        uint8_t *payload = dh + row.dh_size;
        size_t room = iu == FCVI_IU_CONNECT_RQST || iu == FCVI_IU_CONNECT_RESP1 ? 340 : take(p) * 8u;
        fcvi_set_CONN_FCVI_REVISION(payload, 1);
        fcvi_set_CONN_FCVI_RQST_HANDLE(payload, take(p));
        for (size_t at = 12; at <= 160; at += 148) {
            payload[at + 2] = payload[at + 3] = 16;
            payload[at + 19] = 1; /* the host address ...01h */
        }
        payload[310] = 1;
        fcvi_store(payload + 312, 4, 2048);
        length += room;
    }
    for (uint8_t flips = take(p) % 4; flips > 0; flips--)
        bytes[(take(p) * 256u + take(p)) % length] ^= take(p);
    struct fcvi_input in = {bytes, length - take(p) % 3, 0, 0, 0};
    fcvi_port_receive(port, now, &in);
}

static void call(struct fcvi_port *port, uint64_t now, struct program *p)
{
    struct fcvi_address address = {.host = {[15] = 1}, .discriminator_length = 16};
    struct fcvi_attributes attributes = {.reliability = 1, .max_transfer_size = 2048};
    struct fcvi_descriptor d = {.op = take(p) % 4, .segments = 1};
    struct fcvi_completion completion;
    uint32_t vi = take(p) % 4, number, handle;
    uint64_t va;
    switch (take(p) % 9) {
    case 0:
        fcvi_vip_create_vi(port, now, &attributes, &number);
        break;
    case 1:
        fcvi_vip_connect_wait(port, now, &address, take(p) * 20u, 1);
        break;
    case 2:
        fcvi_vip_connect_request(port, now, vi, &address, &address, take(p) * 20u, 2);
        break;
    case 3:
        fcvi_vip_connect_accept(port, now, take(p) % 8, vi, 3);
        break;
    case 4:
        fcvi_vip_connect_reject(port, now, take(p) % 8);
        break;
    case 5:
        fcvi_vip_disconnect(port, now, vi, 4);
        break;
    case 6:
        d.segment[0] = (struct fcvi_segment){take(p) % 3, 0, take(p) * 8u};
        fcvi_vip_post(port, now, vi, &d);
        break;
    case 7:
        fcvi_vip_register_mem(port, now, take(p) * 9u, false, false, &number, &va, &handle);
        fcvi_vip_deregister_mem(port, now, take(p) % 3);
        break;
    default:
        fcvi_vip_done(port, now, vi, take(p) & 1, &completion);
        fcvi_vip_destroy_vi(port, now, vi);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint64_t *fresh, *memory; /* the port as it is after init, and the one that runs */
    size_t bytes = fcvi_port_size(&limits);
    if (fresh == NULL) {
        struct fcvi_port_config c = {
            .service_class = 3, .e_d_tov_us = 100, .r_a_tov_us = R_A_TOV, .receive_size = 2112};
        c.self = (struct fcvi_port_identity){2, 2, 0x010200, 1, {{[15] = 1}}};
        c.peer = (struct fcvi_port_identity){1, 1, 0x010100, 1, {{[15] = 1}}};
        fresh = calloc(1, bytes);
        memory = calloc(1, bytes);
        if (fresh == NULL || memory == NULL || fcvi_port_init(fresh, bytes, &limits, &c) == NULL)
            abort();
    }
    memcpy(memory, fresh, bytes);
    struct fcvi_port *port = (struct fcvi_port *)(void *)memory;
    struct program p = {data, data + size};
    uint64_t now = 0;
    for (int steps = 0; p.at < p.end && steps < MOST_STEPS; steps++) {
        uint8_t what = take(&p);
        if (what % 4 == 0)
            now += take(&p) * 16u;
        else if (what % 4 == 1)
            call(port, now, &p);
        else
            hear(port, now, &p);
        fcvi_port_run(port, now);
        listen_to(port, now);
    }
    for (int i = 0; i < 8; i++) { /* every finite timer is over after a few R_A_TOV */
        now += 8 * R_A_TOV;
        fcvi_port_run(port, now);
        listen_to(port, now);
    }
    if (fcvi_port_deadline(port) != FCVI_NEVER)
        abort();
    return 0;
}
