/* Raw Descriptors (VI-DG 5) through libvipl: two NICs whose ports are joined to each other without loss.
 *
 * The first byte chooses the level, rights and completion queues; what follows is a program of posts with the
 * Descriptor's bytes as they are, of looks, time, deregistration and disconnection. An address is taken as it
 * is or, as a rule, as a place in the memory of the program, and a handle as one that was given out. Demands:
 * what is posted comes back once, in order, with a status as VI-DG 5.2 has it; after VipDisconnect nothing is
 * left; no byte changes outside of the memory that was registered with the tag of the VI, nor in a region
 * that nobody may write to; a completion queue tells of each completion and of no other. */
#include "oracle.h"

#include <fcvi/vipl_host.h>
#include <vipl.h>

enum {
    SIDES = 2,
    GUARD = 512,
    AREA = 8192,
    WHOLE = AREA + 2 * GUARD,
    MOST_POSTS = 32,
    DEPTH = 16,
    R_A_TOV = 10000,
    PATTERN = 0xA6
};
enum { QUEUED = 1, WRITABLE = 2 };

struct queue {
    VIP_DESCRIPTOR *posted[DEPTH + 1];
    unsigned count, told; /* told: entries of the completion queue that no completion was taken for */
};

/* One end: area[0] may be written to by the other end, area[1] by nobody but this VI's own Descriptors,
 * area[2] has another tag. */
struct side {
    const char *device;
    uint64_t *block;
    struct fcvi_port *port;
    VIP_NIC_HANDLE nic;
    VIP_PROTECTION_HANDLE tag, other_tag;
    VIP_VI_HANDLE vi;
    VIP_CQ_HANDLE cq;
    unsigned char *memory[3];
    VIP_MEM_HANDLE handle[3];
    struct queue queue[2];
};

static struct side sides[SIDES];
static uint64_t now;

struct program {
    const uint8_t *at, *end;
};

const char fcvi_fuzz_allocates = 1;

static uint8_t take(struct program *p)
{
    return p->at < p->end ? *p->at++ : 0;
}

/* ---- the wire ---- */

static bool carry(void)
{
    uint8_t frame[24 + 2112];
    struct fcvi_transmitted meta;
    bool any = false;
    for (unsigned i = 0; i < SIDES; i++)
        for (size_t n; (n = fcvi_port_transmit(sides[i].port, now, frame, sizeof frame, &meta)) > 0;
             any = true) {
            struct fcvi_input in = {frame, n, meta.sof, meta.eof, FCVI_CRC_OK};
            fcvi_port_receive(sides[!i].port, now, &in);
        }
    return any;
}

static struct fcvi_port *port_of(void *context)
{
    return ((struct side *)context)->port;
}

static uint64_t time_of(void *context)
{
    (void)context;
    return now;
}

static int pump(void *context, uint64_t deadline)
{
    (void)context;
    bool any = carry();
    if (deadline == 0 || any)
        return 0;
    uint64_t next = deadline;
    for (unsigned i = 0; i < SIDES; i++) {
        uint64_t timer = fcvi_port_deadline(sides[i].port);
        next = timer < next ? timer : next;
    }
    if (next == FCVI_NEVER)
        return 1;
    now = next > now ? next : now + 1;
    for (unsigned i = 0; i < SIDES; i++)
        fcvi_port_run(sides[i].port, now);
    return 0;
}

static void settle(void)
{
    do
        for (unsigned i = 0; i < SIDES; i++)
            fcvi_vipl_turn(sides[i].device);
    while (carry());
}

/* ---- life ---- */

static struct fcvi_port_identity identity(unsigned i)
{
    return (struct fcvi_port_identity){1 + i, 1 + i, 0x010100 + i, 1, {{[15] = (uint8_t)(1 + i)}}};
}

static void begin_port(unsigned i)
{
    static const struct fcvi_port_limits limits = {.vis = 2,
                                                   .connectionpoints = 2,
                                                   .exchanges = 64,
                                                   .regions = 4,
                                                   .descriptors = DEPTH,
                                                   .events = 256,
                                                   .memory = WHOLE,
                                                   .max_transfer_size = 4096};
    struct fcvi_port_config c = {.self = identity(i),
                                 .peer = identity(!i),
                                 .service_class = 3,
                                 .e_d_tov_us = R_A_TOV / 5,
                                 .r_a_tov_us = R_A_TOV,
                                 .receive_size = 2112,
                                 .seed = 1 + i};
    size_t size = fcvi_port_size(&limits);
    sides[i].block = calloc(1, size);
    sides[i].port = fcvi_port_init(sides[i].block, size, &limits, &c);
    DEMAND(sides[i].port != NULL);
}

static void ignore_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    (void)context;
    DEMAND(error->ErrorCode <= VIP_ERROR_RDMA_TRANSPORT);
}

static void begin_side(unsigned i, uint8_t setting)
{
    static const VIP_RELIABILITY_LEVEL levels[] = {1, 2, 4};
    const struct fcvi_vipl_nic_ops ops = {.port = port_of, .now = time_of, .pump = pump};
    struct side *s = &sides[i];
    struct fcvi_vipl_nic info = {.rdma_read_levels = 6,
                                 .max_register_regions = 4,
                                 .max_vi = 2,
                                 .max_descriptors_per_queue = DEPTH,
                                 .max_transfer_size = 4096};
    info.host[15] = (uint8_t)(1 + i);
    s->device = i == 0 ? "VINIC0" : "VINIC1";
    DEMAND(fcvi_vipl_attach(s->device, &ops, s, &info) == 0);
    DEMAND(VipOpenNic(s->device, &s->nic) == VIP_SUCCESS);
    DEMAND(VipErrorCallback(s->nic, s, ignore_error) == VIP_SUCCESS);
    DEMAND(VipCreatePtag(s->nic, &s->tag) == VIP_SUCCESS &&
           VipCreatePtag(s->nic, &s->other_tag) == VIP_SUCCESS);
    for (unsigned m = 0; m < 3; m++) {
        s->memory[m] = aligned_alloc(64, WHOLE);
        memset(s->memory[m], PATTERN, WHOLE);
        VIP_MEM_ATTRIBUTES a = {m < 2 ? s->tag : s->other_tag, m != 1, m != 1};
        DEMAND(VipRegisterMem(s->nic, s->memory[m] + GUARD, AREA, &a, &s->handle[m]) == VIP_SUCCESS);
    }
    if (setting & 0x20)
        DEMAND(VipCreateCQ(s->nic, 4 * DEPTH, &s->cq) == VIP_SUCCESS);
    VIP_VI_ATTRIBUTES a = {.ReliabilityLevel = levels[setting % 3],
                           .MaxTransferSize = 4096,
                           .Ptag = s->tag,
                           .EnableRdmaWrite = (setting & 0x40) == 0,
                           .EnableRdmaRead = (setting & 0x80) == 0 && setting % 3 != 0};
    DEMAND(VipCreateVi(s->nic, &a, s->cq, s->cq, &s->vi) == VIP_SUCCESS);
}

static VIP_NET_ADDRESS *address(unsigned i)
{
    static uint64_t room[SIDES][8];
    VIP_NET_ADDRESS *a = (VIP_NET_ADDRESS *)room[i];
    memset(a, 0, sizeof room[i]);
    a->HostAddressLen = a->DiscriminatorLen = 16;
    a->HostAddress[15] = (uint8_t)(1 + i);
    return a;
}

static void join(void)
{
    VIP_VI_ATTRIBUTES remote;
    VIP_RETURN vip[SIDES] = {VIP_NOT_DONE, VIP_NOT_DONE};
    for (unsigned i = 0; i < SIDES; i++)
        DEMAND(VipConnectPeerRequest(sides[i].vi, address(i), address(!i), 1000) == VIP_SUCCESS);
    while (vip[0] == VIP_NOT_DONE || vip[1] == VIP_NOT_DONE)
        for (unsigned i = 0; i < SIDES; i++)
            if (vip[i] == VIP_NOT_DONE)
                vip[i] = VipConnectPeerDone(sides[i].vi, &remote);
    DEMAND(vip[0] == VIP_SUCCESS && vip[1] == VIP_SUCCESS);
}

/* ---- posting ---- */

/* Where an address of the input points: into one of the areas, its own end's or the other's, a little outside
 * of it, or anywhere. */
static uint64_t place(const struct side *s, uint64_t raw)
{
    if (raw >> 56 == 0xFF)
        return raw;
    return (uint64_t)(uintptr_t)s->memory[(raw >> 16) % 3] + raw % (WHOLE + 64);
}

static VIP_MEM_HANDLE handle_of(const struct side *s, VIP_MEM_HANDLE raw)
{
    return raw >> 24 == 0xFF ? raw : s->handle[raw % 3];
}

static void relocate(const struct side *s, bool recv, unsigned char *d)
{
    VIP_CONTROL_SEGMENT c;
    memcpy(&c, d, sizeof c);
    unsigned op = c.Control & VIP_CONTROL_OP_MASK;
    bool remote = !recv && (op == VIP_CONTROL_OP_RDMAWRITE || op == VIP_CONTROL_OP_RDMAREAD);
    for (unsigned i = 0; i < c.SegCount && i < 8; i++) {
        const struct side *of = remote && i == 0 ? &sides[s == &sides[0]] : s;
        VIP_DATA_SEGMENT segment;
        memcpy(&segment, d + sizeof c + i * sizeof segment, sizeof segment);
        segment.Data.AddressBits = place(of, segment.Data.AddressBits);
        segment.Handle = handle_of(of, segment.Handle);
        memcpy(d + sizeof c + i * sizeof segment, &segment, sizeof segment);
    }
}

/* A Descriptor of the input, at a place of the first two areas that no posted one has; at times there is
 * none, or not quite there. */
static void post(struct side *s, bool recv, struct program *p)
{
    unsigned char bytes[32 + 8 * 16] = {0};
    struct queue *q = &s->queue[recv];
    uint8_t where = take(p), odd = take(p);
    size_t length = 32 + take(p) % 9 * 16u;
    for (size_t i = 0; i < length; i++)
        bytes[i] = take(p);
    relocate(s, recv, bytes);
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(void *)(s->memory[odd % 16 == 1] + GUARD + (recv ? AREA / 2 : 0) +
                                                   where % (AREA / 512) * 256u);
    for (unsigned i = 0; i < 2 * DEPTH; i++)
        if (i % DEPTH < s->queue[i / DEPTH].count && s->queue[i / DEPTH].posted[i % DEPTH] == d)
            return; /* the application's duty */
    VIP_MEM_HANDLE handle = odd % 16 == 2 ? s->handle[2] : s->handle[odd % 16 == 1];
    if (odd % 64 == 3)
        d = (VIP_DESCRIPTOR *)(void *)((char *)d + 8);
    else
        memcpy(d, bytes, length);
    if (q->count >= DEPTH)
        return;
    VIP_BOOLEAN empty[2];
    VIP_VI_ATTRIBUTES a;
    VIP_VI_STATE state;
    DEMAND((recv ? VipPostRecv : VipPostSend)(s->vi, d, handle) == VIP_SUCCESS);
    DEMAND(VipQueryVi(s->vi, &state, &a, &empty[0], &empty[1]) == VIP_SUCCESS);
    /* what cannot be read is told by POST_DESC and is on no queue: so the queue that was empty tells, and one
     * that was not, by its turn */
    bool readable = odd % 64 != 3 && odd % 16 != 2;
    VIP_UINT16 segments;
    memcpy(&segments, bytes + 12, sizeof segments);
    const unsigned char *end = s->memory[odd % 16 == 1] + GUARD + AREA;
    readable =
        readable && (const unsigned char *)d + 32 + 16u * segments <= end && s->handle[odd % 16 == 1] != 0;
    if (readable)
        q->posted[q->count++] = d;
    DEMAND(q->count == 0 || !empty[recv]);
}

/* ---- looking ---- */

static void check_status(bool recv, const VIP_DESCRIPTOR *d, VIP_RETURN vip)
{
    VIP_UINT32 status = d->CS.Status;
    DEMAND(status & VIP_STATUS_DONE);
    DEMAND((status & VIP_STATUS_RESERVED) == 0);
    DEMAND(((status & VIP_STATUS_ERROR_MASK) != 0) == (vip == VIP_DESCRIPTOR_ERROR));
    DEMAND((status & VIP_STATUS_OP_MASK) <= VIP_STATUS_OP_RDMA_READ);
    DEMAND(((status >> 16 & 1) != 0) == recv);
    DEMAND(recv || (status & VIP_STATUS_IMMEDIATE) == 0);
}

/* registered: whether the memory of the Descriptors is there still, so that the status is. */
static bool look(struct side *s, bool recv, bool registered)
{
    struct queue *q = &s->queue[recv];
    VIP_DESCRIPTOR *d = NULL;
    VIP_RETURN vip = (recv ? VipRecvDone : VipSendDone)(s->vi, &d);
    if (vip == VIP_NOT_DONE || (vip == VIP_DESCRIPTOR_ERROR && d == NULL)) {
        DEMAND(d == NULL && (vip == VIP_NOT_DONE) == (q->count > 0));
        return false;
    }
    DEMAND(vip == VIP_SUCCESS || vip == VIP_DESCRIPTOR_ERROR);
    DEMAND(q->count > 0 && d == q->posted[0]);
    memmove(q->posted, q->posted + 1, --q->count * sizeof *q->posted);
    q->told++; /* an entry is owed for it */
    if (registered)
        check_status(recv, d, vip);
    return true;
}

static void drain_cq(struct side *s)
{
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN recv;
    while (s->cq != NULL && VipCQDone(s->cq, &vi, &recv) == VIP_SUCCESS) {
        DEMAND(vi == s->vi);
        s->queue[recv != VIP_FALSE].told--; /* before or after its Descriptor: the sum is zero at the end */
    }
}

static void check_memory(const struct side *s)
{
    for (unsigned m = 0; m < 3; m++)
        for (unsigned i = 0; i < WHOLE; i++)
            if (m == 2 || i < GUARD || i >= GUARD + AREA)
                DEMAND(s->memory[m][i] == PATTERN);
}

static void end(struct side *s, bool registered)
{
    DEMAND(VipDisconnect(s->vi) == VIP_SUCCESS);
    for (unsigned recv = 0; recv < 2; recv++) {
        while (look(s, recv, registered))
            continue;
        DEMAND(s->queue[recv].count == 0);
    }
    drain_cq(s);
    DEMAND(s->cq == NULL || (s->queue[0].told == 0 && s->queue[1].told == 0));
    check_memory(s);
    DEMAND(VipDestroyVi(s->vi) == VIP_SUCCESS);
    DEMAND(VipCloseNic(s->nic) == VIP_SUCCESS);
    DEMAND(fcvi_vipl_detach(s->device) == 0);
    for (unsigned m = 0; m < 3; m++)
        free(s->memory[m]);
}

static void step(struct program *p, bool registered[SIDES])
{
    uint8_t what = take(p);
    struct side *s = &sides[what >> 7];
    switch (what % 8) {
    case 0:
    case 1:
        post(s, true, p);
        break;
    case 2:
    case 3:
    case 4:
        post(s, false, p);
        break;
    case 5:
        settle();
        (void)look(s, what >> 6 & 1, registered[s - sides]);
        break;
    case 6:
        now += take(p) * 100u;
        settle();
        break;
    default:
        if ((what & 0x38) ==
            0x38) { /* the memory of the Descriptors goes while they are posted (VI-DG 3.8.1) */
            registered[s - sides] = false;
            if (VipDeregisterMem(s->nic, s->memory[0] + GUARD, s->handle[0]) == VIP_SUCCESS)
                s->handle[0] = 0;
        } else if ((what & 0x38) == 0x30)
            DEMAND(VipDisconnect(s->vi) == VIP_SUCCESS);
        else
            (void)look(s, what >> 6 & 1, registered[s - sides]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct program p = {data, data + size};
    uint8_t setting = take(&p);
    bool registered[SIDES] = {true, true};
    memset(sides, 0, sizeof sides);
    now = 1000;
    for (unsigned i = 0; i < SIDES; i++)
        begin_port(i);
    for (unsigned i = 0; i < SIDES; i++)
        begin_side(i, setting);
    join();
    for (unsigned i = 0; i < MOST_POSTS && p.at < p.end; i++)
        step(&p, registered);
    settle();
    for (unsigned i = 0; i < SIDES; i++)
        end(&sides[i], registered[i]);
    for (unsigned i = 0; i < SIDES; i++)
        free(sides[i].block);
    return 0;
}
