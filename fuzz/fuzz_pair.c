/* Two reference ports over a faulty Fabric: the input is a program of VIPL calls on both, faults and time.
 *
 * Demands: every frame is clean, and the monitor finds nothing in all of them; Endpoints change their states
 * as they may; Descriptors complete once each and in order; a Message Request is out before its Descriptor
 * completes well; a Descriptor that completes well at the receiver has the bytes that were sent, and none
 * before it is missing on a reliable Connection; faults over, both ports come to rest and the Fabric has lost
 * nothing that it cannot account for. */
#include "application.h"
#include "watch.h"

#include <fcvi/fabric.h>

#ifndef EDITION /* of the ports: fuzz_rev1_pair.c has the other one */
#define EDITION FCVI_EDITION_2007
#endif

enum {
    R_A_TOV = 1000,
    MOST_STEPS = 250,
    SHORTEST = EDITION == FCVI_EDITION_2007 ? 256 : 348, /* Data_Field */
    SETTINGS = 256
};

static const struct fcvi_port_limits port_limits = {.vis = VIS,
                                                    .connectionpoints = 3,
                                                    .exchanges = 24,
                                                    .regions = 2,
                                                    .descriptors = 4,
                                                    .events = 128,
                                                    .memory = REGION,
                                                    .max_transfer_size = 2048,
                                                    .setups = 6,
                                                    .remote_ports = 6,
                                                    .runs = 16,
                                                    .held_frames = 8};
static const struct fcvi_fabric_limits fabric_limits = {
    .ports = PORTS, .frames = 128, .rules = 8, .names = 4};

struct pair {
    struct fcvi_fabric *fabric;
    struct watch watch;
    struct side side[PORTS];
    struct requests requests[PORTS];
    struct program program;
};

/* The blocks as they are before the program, one of each setting, and the ones that run. */
struct blocks {
    uint64_t *fabric, *port[PORTS], *monitor;
    struct watch watch;
    struct side side[PORTS];
};

static struct fcvi_port_identity identity(unsigned i, uint8_t setting)
{
    bool flogi = setting >> 3 & 1;
    return (struct fcvi_port_identity){
        1 + i, 1 + i, flogi ? 0 : 0x010100 + i, 1, {{[15] = (uint8_t)(1 + i)}}};
}

static struct fcvi_port_config port_config(unsigned i, uint8_t setting)
{
    struct fcvi_port_config c = {.self = identity(i, setting),
                                 .topology = FCVI_FABRIC,
                                 .out_of_order = setting & 1,
                                 .service_class = setting >> 1 & 1 ? 2 : 3,
                                 .ack_0 = setting >> 2 & 1,
                                 .revision = EDITION,
                                 .resp3_is_message_0 = EDITION == FCVI_EDITION_2007 && setting >> 2 & 1,
                                 .fabric_login = setting >> 3 & 1,
                                 .explicit_login = setting >> 3 & 1,
                                 .name_server = setting >> 4 & 1,
                                 .connect_info = EDITION == FCVI_EDITION_2007 && setting >> 4 & 1,
                                 .e_d_tov_us = R_A_TOV / 5,
                                 .r_a_tov_us = R_A_TOV,
                                 .receive_size = setting >> 5 & 1 ? SHORTEST : 2112,
                                 .iu_size = setting >> 5 & 1 ? 600 : 0,
                                 .end_to_end_credit = setting >> 5 & 1 ? 1 : 0,
                                 .seed = 7 + i};
    if (!c.explicit_login)
        c.peer = identity(!i, setting);
    return c;
}

static struct fcvi_fabric_config fabric_config(uint8_t setting)
{
    return (struct fcvi_fabric_config){.topology = FCVI_FABRIC,
                                       .out_of_order = setting & 1,
                                       .latency_us = 10,
                                       .jitter_us = 40,
                                       .r_a_tov_us = R_A_TOV,
                                       .e_d_tov_us = R_A_TOV,
                                       .port_name = 9,
                                       .node_name = 9};
}

/* ---- what the ports say ---- */

static void on_sent(void *context, uint64_t now, uint32_t from, const struct fcvi_input *in)
{
    struct pair *p = context;
    struct fcvi_frame frame;
    demand_clean_edition(in, EDITION, &frame);
    demand_unbroken(&p->watch, &frame, now);
    note_request(&p->requests[from], &frame);
}

/* The monitor sees what the Fabric says, too. */
static void on_delivered(void *context, uint64_t now, uint32_t from, uint32_t to, const struct fcvi_input *in)
{
    struct fcvi_frame frame;
    (void)to;
    if (from != FCVI_FABRIC_ITSELF)
        return;
    fcvi_decode_edition(in, EDITION, &frame, NULL);
    demand_unbroken(&((struct pair *)context)->watch, &frame, now);
}

static void on_event(void *context, uint64_t now, uint32_t port, const struct fcvi_event *e)
{
    struct pair *p = context;
    struct side *s = &p->side[port];
    (void)now;
    if (e->kind == FCVI_EVENT_CALL && e->token == 1)
        s->conn = e->conn;
    if (e->kind == FCVI_EVENT_STATE)
        demand_state(s, e);
    if (e->kind != FCVI_EVENT_COMPLETION)
        return;
    demand_next(&s->next[e->vi][e->recv], e->completion.cookie);
    bool good = (e->completion.status & FCVI_STATUS_ERROR_MASK) == 0;
    if (good && !e->recv)
        demand_sent(&p->requests[port]);
    if (good && e->recv)
        demand_received(s, e);
}

static void run(struct pair *p, uint64_t us)
{
    struct fcvi_fabric_observer observer = {p, on_sent, on_delivered, on_event};
    struct fcvi_port *ports[PORTS] = {p->side[0].port, p->side[1].port};
    uint64_t now = fcvi_fabric_now(p->fabric);
    fcvi_fabric_run(p->fabric, ports, PORTS, us == FCVI_NEVER ? us : now + us, &observer);
}

/* ---- what the program does ---- */

static struct fcvi_address address(unsigned i)
{
    return (struct fcvi_address){.host = {[15] = (uint8_t)(1 + i)}, .discriminator_length = 16};
}

static void post(struct pair *p, struct side *s, uint32_t vi, uint8_t how, uint8_t length)
{
    side_post(p->side, fcvi_fabric_now(p->fabric), s, vi, how, how % 4 == FCVI_RECV ? 0 : length);
}

/* Messages one after the other, each with its number, and as many Descriptors to receive them. */
static void exchange(struct pair *p, struct side *s, uint32_t vi)
{
    uint8_t how = next_byte(&p->program), length = next_byte(&p->program);
    for (unsigned i = 0; i <= (how >> 1 & 3u); i++) {
        post(p, &p->side[s == &p->side[0]], vi, FCVI_RECV, 0);
        post(p, s, vi, IMMEDIATE | (how & 1 ? FCVI_RDMA_WRITE : FCVI_SEND), length);
    }
}

static void create(struct pair *p, struct side *s, uint64_t now)
{
    uint8_t how = next_byte(&p->program);
    struct fcvi_attributes a = {.reliability = (uint8_t)(1 + how % 3), .pipeline_depth = how >> 2 & 3};
    side_create_vi(s, now, &a);
}

static void call(struct pair *p, struct side *s, uint64_t now)
{
    unsigned own = (unsigned)(s - p->side);
    struct fcvi_address here = address(own), there = address(!own);
    struct fcvi_attributes a;
    struct fcvi_completion c;
    uint8_t how = next_byte(&p->program);
    uint32_t vi = how >> 4 & 3;
    switch (how % 16) {
    case 0:
        create(p, s, now);
        break;
    case 1:
        fcvi_vip_connect_wait(s->port, now, &here, FCVI_NEVER, 1);
        break;
    case 2:
        fcvi_vip_connect_request(s->port, now, vi, &here, &there, next_byte(&p->program) * 64u, 2);
        break;
    case 3:
        fcvi_vip_connect_accept(s->port, now, s->conn, vi, 3);
        break;
    case 4:
        fcvi_vip_connect_reject(s->port, now, s->conn);
        break;
    case 5:
        fcvi_vip_disconnect(s->port, now, vi, 4);
        break;
    case 6:
        fcvi_vip_connect_peer_request(s->port, now, vi, &here, &there, 1 + next_byte(&p->program) * 64u);
        break;
    case 7:
        fcvi_vip_connect_peer_done(s->port, now, vi, &a);
        break;
    case 8:
        fcvi_vip_done(s->port, now, vi, how >> 6 & 1, &c);
        break;
    case 9: /* ends logins without a frame that the monitor would see */
        fcvi_monitor_forget(p->watch.monitor);
        fcvi_port_link(s->port, now, (enum fcvi_link)(next_byte(&p->program) % 5));
        break;
    case 10:
        exchange(p, s, vi);
        break;
    default: {
        uint8_t bits = next_byte(&p->program);
        post(p, s, vi, bits, next_byte(&p->program));
        break;
    }
    }
}

/* Two VIs of the same number are connected, which the rest of the program can then use: the server accepts as
 * soon as it is asked, if that is before the client gives up. */
static void meet(struct pair *p)
{
    uint32_t vi = next_byte(&p->program) % VIS;
    unsigned client = next_byte(&p->program) & 1;
    struct side *c = &p->side[client], *s = &p->side[!client];
    struct fcvi_address here = address(client), there = address(!client);
    uint64_t now = fcvi_fabric_now(p->fabric);
    fcvi_vip_connect_wait(s->port, now, &there, R_A_TOV, 1);
    fcvi_vip_connect_request(c->port, now, vi, &here, &there, 8 * R_A_TOV, 2);
    s->conn = UINT32_MAX;
    for (unsigned i = 0; i < 20 && s->conn == UINT32_MAX; i++)
        run(p, R_A_TOV / 20);
    fcvi_vip_connect_accept(s->port, fcvi_fabric_now(p->fabric), s->conn, vi, 3);
    run(p, 200);
}

static void disturb(struct pair *p)
{
    uint8_t how = next_byte(&p->program), which = next_byte(&p->program);
    if (how >= 240) {
        fcvi_fabric_rule_clear(p->fabric, fcvi_fabric_now(p->fabric), which % 8);
        return;
    }
    struct fcvi_fabric_rule rule = fcvi_fabric_rule_any((enum fcvi_fabric_action)(1 + how % 9));
    rule.from = how >> 4 & 1;
    rule.opcode = which & 0x80 ? which & 0x1F : FCVI_FABRIC_ANY_BYTE;
    rule.skip = which & 3;
    rule.count = 1 + (which >> 2 & 3);
    rule.delay_us = (uint64_t)next_byte(&p->program) * 16;
    p->watch.outlived |= rule.action == FCVI_ACT_HOLD || rule.delay_us >= R_A_TOV / 2;
    fcvi_fabric_rule_add(p->fabric, &rule);
}

/* Faults over: everybody disconnects, and everything comes to its end. */
static void end(struct pair *p)
{
    struct fcvi_fabric_counters c;
    for (uint32_t rule = 0; rule < 8; rule++)
        fcvi_fabric_rule_clear(p->fabric, fcvi_fabric_now(p->fabric), rule);
    for (unsigned i = 0; i < PORTS; i++)
        for (uint32_t vi = 0; vi < VIS; vi++)
            fcvi_vip_disconnect(p->side[i].port, fcvi_fabric_now(p->fabric), vi, 5);
    run(p, 1000 * R_A_TOV);
    for (unsigned i = 0; i < PORTS; i++)
        demand_quiet(p->side[i].port);
    fcvi_fabric_count(p->fabric, &c);
    DEMAND(c.under_way == 0 && c.held == 0);
    DEMAND(c.sent + c.own + c.copied + c.duplicated == c.delivered + c.served + c.dropped + c.overflow);
}

static void make(struct blocks *b, uint8_t setting)
{
    struct fcvi_fabric_config fc = fabric_config(setting);
    size_t size = fcvi_fabric_size(&fabric_limits), port_size = fcvi_port_size(&port_limits);
    b->fabric = zeroed(size);
    struct fcvi_fabric *fabric = fcvi_fabric_init(b->fabric, size, &fabric_limits, &fc);
    DEMAND(fabric != NULL);
    for (unsigned i = 0; i < PORTS; i++) {
        struct fcvi_port_config c = port_config(i, setting);
        b->port[i] = zeroed(port_size);
        struct fcvi_port *port = fcvi_port_init(b->port[i], port_size, &port_limits, &c);
        DEMAND(port != NULL && fcvi_fabric_attach(fabric, &c.self, FCVI_PLACE_FABRIC) == i);
        fcvi_port_link(port, 0, FCVI_LINK_UP);
    }
    b->monitor = zeroed(fcvi_monitor_size(&watch_limits));
    watch_begin(&b->watch, b->monitor, R_A_TOV);
}

static struct pair pair_of(struct blocks *b)
{
    struct pair p = {.fabric = (struct fcvi_fabric *)(void *)b->fabric, .watch = b->watch};
    p.watch.monitor = (struct fcvi_monitor *)(void *)b->monitor;
    for (unsigned i = 0; i < PORTS; i++) {
        p.side[i] = b->side[i];
        p.side[i].port = (struct fcvi_port *)(void *)b->port[i];
    }
    return p;
}

/* Memory full of Messages, and two VIs; the first of each port connected when the setting has a level for it.
 */
static void furnish(struct blocks *b, uint8_t level)
{
    struct pair p = pair_of(b);
    struct fcvi_attributes a = {
        .reliability = level != 0 ? level : 1, .rdma_write = true, .max_transfer_size = 2048};
    a.rdma_read = a.reliability > 1;
    for (unsigned i = 0; i < PORTS; i++)
        side_furnish(&p.side[i], i, &a);
    if (level != 0)
        meet(&p);
    for (unsigned i = 0; i < PORTS; i++)
        b->side[i] = p.side[i];
    b->watch = p.watch;
}

static void copy(struct blocks *to, const struct blocks *from)
{
    memcpy(to->fabric, from->fabric, fcvi_fabric_size(&fabric_limits));
    memcpy(to->monitor, from->monitor, fcvi_monitor_size(&watch_limits));
    to->watch = from->watch;
    for (unsigned i = 0; i < PORTS; i++) {
        memcpy(to->port[i], from->port[i], fcvi_port_size(&port_limits));
        to->side[i] = from->side[i];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct blocks fresh[SETTINGS], running;
    struct program program = {data, data + size};
    uint8_t setting = next_byte(&program);
    if (running.fabric == NULL)
        make(&running, 0);
    if (fresh[setting].fabric == NULL) {
        make(&fresh[setting], setting);
        furnish(&fresh[setting], setting >> 6);
    }
    copy(&running, &fresh[setting]);
    struct pair p = pair_of(&running);
    p.program = program;
    for (int steps = 0; p.program.at < p.program.end && steps < MOST_STEPS; steps++) {
        uint8_t what = next_byte(&p.program);
        if (what < 64)
            run(&p, (uint64_t)what * what);
        else if (what < 80)
            disturb(&p);
        else if (what < 96)
            meet(&p);
        else
            call(&p, &p.side[what & 1], fcvi_fabric_now(p.fabric));
    }
    end(&p);
    return 0;
}
