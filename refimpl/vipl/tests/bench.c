#include "bench.h"

#include <stdlib.h>
#include <string.h>

struct bench bench;
const uint8_t own_host[16] = {0xfe, 0x80, [15] = 0xa1}, other_host[16] = {0xfe, 0x80, [15] = 0xb2};

static struct fcvi_port *get_port(void *context)
{
    return ((struct bench *)context)->port;
}

static uint64_t get_now(void *context)
{
    return ((struct bench *)context)->now;
}

static int pump(void *context, uint64_t deadline)
{
    struct bench *b = context;
    uint8_t frame[24 + 2112];
    struct fcvi_transmitted meta;
    while (fcvi_port_transmit(b->port, b->now, frame, sizeof frame, &meta) > 0)
        continue;
    if (deadline == 0)
        return 0;
    uint64_t timer = fcvi_port_deadline(b->port);
    deadline = timer < deadline ? timer : deadline;
    if (deadline == FCVI_NEVER)
        return 1;
    b->now = deadline > b->now ? deadline : b->now + 1;
    return 0;
}

const struct fcvi_vipl_nic_ops bench_ops = {.port = get_port, .now = get_now, .pump = pump};

struct fcvi_vipl_nic bench_info(void)
{
    static const struct fcvi_vipl_name names[] = {{"Alpha", {0xfe, 0x80, [15] = 0xa1}},
                                                  {"beta", {0xfe, 0x80, [15] = 0xb2}},
                                                  {"beta", {0xfe, 0x80, [15] = 0xb3}}};
    static const struct fcvi_vipl_neighbour neighbours[] = {{{0xfe, 0x80, [15] = 0xb2}, 1},
                                                            {{0xfe, 0x80, [15] = 0xb3}, 2}};
    struct fcvi_vipl_nic info = {.hardware_version = 7,
                                 .rdma_read_levels = VIP_SERVICE_RELIABLE_DELIVERY,
                                 .max_register_bytes = 4 * BENCH_MEMORY,
                                 .max_register_block_bytes = 2 * BENCH_MEMORY,
                                 .max_register_regions = MAX_REGIONS,
                                 .max_vi = MAX_VI,
                                 .max_descriptors_per_queue = MAX_DESCRIPTORS,
                                 .max_cq = MAX_CQ,
                                 .max_cq_entries = 1024,
                                 .max_transfer_size = 32768,
                                 .max_ptags = MAX_PTAGS,
                                 .names = names,
                                 .name_count = 3,
                                 .neighbours = neighbours,
                                 .neighbour_count = 2};
    memcpy(info.host, own_host, sizeof info.host);
    return info;
}

static void make_port(void)
{
    const struct fcvi_port_limits limits = {.vis = MAX_VI,
                                            .connectionpoints = 4,
                                            .exchanges = 64,
                                            .regions = MAX_REGIONS,
                                            .descriptors = MAX_DESCRIPTORS,
                                            .events = 256,
                                            .memory = 4096,
                                            .max_transfer_size = 32768};
    struct fcvi_port_config c = {
        .service_class = 3, .e_d_tov_us = 2000000, .r_a_tov_us = 10000000, .receive_size = 2112, .seed = 1};
    c.self = (struct fcvi_port_identity){0x10000000c9000001, 0x20000000c9000001, 0x010100, 1, {{0}}};
    c.peer = (struct fcvi_port_identity){0x10000000c9000002, 0x20000000c9000002, 0x010200, 1, {{0}}};
    memcpy(c.self.host[0], own_host, 16);
    memcpy(c.peer.host[0], other_host, 16);
    size_t size = fcvi_port_size(&limits);
    bench.block = calloc(1, size);
    bench.port = fcvi_port_init(bench.block, size, &limits, &c);
    ck_assert_ptr_nonnull(bench.port);
}

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    struct bench *b = context;
    if (b->errors < 8)
        b->error[b->errors++] = *error;
}

void bench_begin(void)
{
    memset(&bench, 0, sizeof bench);
    make_port();
    struct fcvi_vipl_nic info = bench_info();
    ck_assert_int_eq(fcvi_vipl_attach("VINIC", &bench_ops, &bench, &info), 0);
    ck_assert_int_eq(VipOpenNic("VINIC", &bench.nic), VIP_SUCCESS);
    ck_assert_int_eq(VipErrorCallback(bench.nic, &bench, on_error), VIP_SUCCESS);
    ck_assert_int_eq(VipCreatePtag(bench.nic, &bench.ptag), VIP_SUCCESS);
    bench.memory = aligned_alloc(64, BENCH_MEMORY);
    VIP_MEM_ATTRIBUTES a = {bench.ptag, VIP_TRUE, VIP_TRUE};
    ck_assert_int_eq(VipRegisterMem(bench.nic, bench.memory, BENCH_MEMORY, &a, &bench.handle), VIP_SUCCESS);
}

void bench_end(void)
{
    VIP_RETURN vip = VipCloseNic(bench.nic); /* a test may have closed it */
    ck_assert(vip == VIP_SUCCESS || vip == VIP_INVALID_PARAMETER);
    ck_assert_int_eq(fcvi_vipl_detach("VINIC0"), 0);
    free(bench.memory);
    free(bench.block);
}

VIP_VI_ATTRIBUTES attributes_of(unsigned level)
{
    return (VIP_VI_ATTRIBUTES){
        .ReliabilityLevel = (VIP_RELIABILITY_LEVEL)level, .MaxTransferSize = 32768, .Ptag = bench.ptag};
}

VIP_VI_HANDLE create_vi(unsigned level, VIP_CQ_HANDLE send, VIP_CQ_HANDLE recv)
{
    VIP_VI_ATTRIBUTES a = attributes_of(level);
    VIP_VI_HANDLE vi;
    ck_assert_int_eq(VipCreateVi(bench.nic, &a, send, recv, &vi), VIP_SUCCESS);
    return vi;
}

VIP_VI_STATE state_of(VIP_VI_HANDLE vi)
{
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES a;
    VIP_BOOLEAN send, recv;
    ck_assert_int_eq(VipQueryVi(vi, &state, &a, &send, &recv), VIP_SUCCESS);
    return state;
}

void end_vi(VIP_VI_HANDLE vi)
{
    VIP_DESCRIPTOR *d;
    ck_assert_int_eq(VipDisconnect(vi), VIP_SUCCESS);
    do
        ck_assert_int_ne(VipSendDone(vi, &d), VIP_NOT_DONE);
    while (d != NULL);
    do
        ck_assert_int_ne(VipRecvDone(vi, &d), VIP_NOT_DONE);
    while (d != NULL);
    ck_assert_int_eq(VipDestroyVi(vi), VIP_SUCCESS);
}

VIP_NET_ADDRESS *address(const uint8_t host[16], const char *discriminator)
{
    static struct {
        VIP_NET_ADDRESS a;
        uint8_t rest[256];
    } place[4];
    static unsigned next;
    VIP_NET_ADDRESS *a = &place[next++ % 4].a;
    uint8_t *bytes = (uint8_t *)a + 4;
    memset(a, 0, sizeof place[0]);
    a->HostAddressLen = 16;
    a->DiscriminatorLen = 16;
    memcpy(bytes, host, 16);
    memcpy(bytes + 16, discriminator, strlen(discriminator));
    return a;
}

VIP_DESCRIPTOR *descriptor(unsigned nth, unsigned control, VIP_UINT32 length)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(void *)(bench.memory + (size_t)nth * 128);
    memset(d, 0, 128);
    d->CS.Control = (VIP_UINT16)control;
    d->CS.SegCount = 1;
    d->CS.Length = length;
    d->DS[0].Local.Data.Address = bench.memory + BENCH_MEMORY / 2;
    d->DS[0].Local.Handle = bench.handle;
    d->DS[0].Local.Length = length;
    return d;
}
