/* What the programs have in common: a NIC, a VI, registered memory, and Descriptors in it. */
#ifndef FCVI_VIPL_TEST_ENDPOINT_H
#define FCVI_VIPL_TEST_ENDPOINT_H

#include "programs.h"

#include <stdbool.h>
#include <stddef.h>
#include <vipl.h>

enum {
    SLOTS = 32, /* Descriptors at the start of the memory, of SLOT bytes each */
    SLOT = 128,
    DATA = SLOTS * SLOT, /* what comes after them is for data */
    MEMORY = DATA + 4 * 65536,
    ERRORS = 8,
    SECONDS = 1000,
    DISCRIMINATOR = 16 /* the shortest that FC-VI has (7.2) */
};

struct endpoint {
    struct run *run;
    VIP_NIC_HANDLE nic;
    VIP_NIC_ATTRIBUTES limits;
    VIP_PROTECTION_HANDLE ptag;
    VIP_VI_HANDLE vi;
    VIP_VI_ATTRIBUTES attributes, remote; /* of the VI, and of the one it is connected to */
    VIP_MEM_HANDLE handle;
    unsigned char *memory;
    VIP_ERROR_DESCRIPTOR error[ERRORS]; /* what VipErrorCallback told */
    unsigned errors;
};

/* The program is over where something is not as it should be. */
#define EXPECT(e, condition)                                                                                 \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            return endpoint_fail(e, __FILE__, __LINE__, #condition, -1);                                     \
    } while (0)
#define EXPECT_VIP(e, call, vip)                                                                             \
    do {                                                                                                     \
        int got_ = (int)(call);                                                                              \
        if (got_ != (int)(vip))                                                                              \
            return endpoint_fail(e, __FILE__, __LINE__, #call " is not " #vip, got_);                        \
    } while (0)

bool endpoint_fail(struct endpoint *e, const char *file, int line, const char *what, int got);
/** Open the NIC, run the body, close the NIC. */
void endpoint_run(struct run *run, bool (*body)(struct endpoint *));

bool endpoint_create(struct endpoint *e, VIP_CQ_HANDLE cq);
/** Own (other false) or other host's address with this discriminator, made DISCRIMINATOR bytes long. */
bool endpoint_address(struct endpoint *e, bool other, const char *discriminator, VIP_NET_ADDRESS **out);
bool endpoint_serve(struct endpoint *e);
bool endpoint_request(struct endpoint *e);
bool endpoint_state(struct endpoint *e, VIP_VI_STATE state);
/** Let time go on. The first is long enough for what is under way to arrive, in any order. */
bool endpoint_settle(struct endpoint *e);
bool endpoint_pause(struct endpoint *e, VIP_ULONG milliseconds);
/** Settle, disconnect, take every Descriptor off both queues, destroy the VI. */
bool endpoint_end(struct endpoint *e);
/** Let time go on until the error handler has run `count` times. */
bool endpoint_errors(struct endpoint *e, unsigned count);

/** The Descriptor of a slot, without segments. */
VIP_DESCRIPTOR *slot(struct endpoint *e, unsigned nth, unsigned control);
void add_remote(VIP_DESCRIPTOR *d, VIP_UINT64 address, VIP_MEM_HANDLE handle);
/** A data segment: `length` bytes at `offset` behind DATA. */
void add(struct endpoint *e, VIP_DESCRIPTOR *d, size_t offset, VIP_UINT32 length);
bool post_recv(struct endpoint *e, unsigned nth, size_t offset, VIP_UINT32 length);
bool post_send(struct endpoint *e, VIP_DESCRIPTOR *d);
/** Wait for the next Descriptor of the queue, which has to be the one of the slot, and its status. */
bool sent(struct endpoint *e, unsigned nth, VIP_UINT32 status);
bool received(struct endpoint *e, unsigned nth, VIP_UINT32 status, VIP_UINT32 length);
unsigned char *data(struct endpoint *e, size_t offset);
void fill(struct endpoint *e, size_t offset, size_t length, unsigned seed);
bool filled(struct endpoint *e, size_t offset, size_t length, unsigned seed);

#endif
