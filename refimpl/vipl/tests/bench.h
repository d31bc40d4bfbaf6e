/* One NIC, VINIC0, on a port whose frames nobody takes up: a pump only lets time go on. */
#ifndef FCVI_VIPL_TEST_BENCH_H
#define FCVI_VIPL_TEST_BENCH_H

#include "../../../codec/tests/quiet_check.h"
#include <fcvi/port.h>
#include <fcvi/vipl_host.h>
#include <vipl.h>

enum { BENCH_MEMORY = 65536, MAX_VI = 4, MAX_DESCRIPTORS = 4, MAX_CQ = 2, MAX_PTAGS = 5, MAX_REGIONS = 4 };

extern struct bench {
    uint64_t *block;
    struct fcvi_port *port;
    uint64_t now;
    VIP_NIC_HANDLE nic;
    VIP_PROTECTION_HANDLE ptag;
    unsigned char *memory; /* registered with ptag and both RDMA rights */
    VIP_MEM_HANDLE handle;
    VIP_ERROR_DESCRIPTOR error[8];
    unsigned errors;
} bench;

extern const struct fcvi_vipl_nic_ops bench_ops;
extern const uint8_t own_host[16], other_host[16];
struct fcvi_vipl_nic bench_info(void);

void bench_begin(void);
void bench_end(void);

VIP_VI_ATTRIBUTES attributes_of(unsigned level);
VIP_VI_HANDLE create_vi(unsigned level, VIP_CQ_HANDLE send, VIP_CQ_HANDLE recv);
VIP_VI_STATE state_of(VIP_VI_HANDLE vi);
/** Disconnect, empty both queues, destroy. */
void end_vi(VIP_VI_HANDLE vi);
/** An address in one of a few static places: host and a discriminator of 16 bytes. */
VIP_NET_ADDRESS *address(const uint8_t host[16], const char *discriminator);
/** The Descriptor at memory + 128 * nth with one data segment of `length` bytes in the upper half. */
VIP_DESCRIPTOR *descriptor(unsigned nth, unsigned control, VIP_UINT32 length);

#endif
