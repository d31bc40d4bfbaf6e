/* A twist is a provider that does something wrong (or odd, but right) and not only returns a wrong code:
 * FCVI_VIPL_FAULT="twist NAME [ARGUMENT...]". */
#ifndef FCVI_SHIMS_TWIST_H
#define FCVI_SHIMS_TWIST_H

#include "shim.h"

#include <stddef.h>
#include <stdint.h>

/* What the shim remembers of a VI. */
struct vi_note {
    VIP_VI_HANDLE vi;
    VIP_NIC_HANDLE nic;
    VIP_VI_ATTRIBUTES attributes;
    VIP_CQ_HANDLE cq[2];     /* [1]: of the receive queue */
    unsigned posts[2];       /* since the VI was made */
    VIP_DESCRIPTOR *kept[2]; /* a Descriptor that a twist keeps back */
    VIP_MEM_HANDLE kept_handle[2];
    VIP_RETURN kept_code[2];
    bool struck; /* whatever the twist means by it */
};

struct twist {
    const char *name;
    struct vipl_calls calls;
    /* Before a Descriptor is posted, which may be changed: what it was comes back with it. False: the post is
     * swallowed and called a success. */
    bool (*post)(struct vi_note *, bool recv, VIP_DESCRIPTOR *, VIP_MEM_HANDLE);
    /* A Descriptor has been taken off its queue, by Done, Wait or Notify. */
    void (*brought)(struct vi_note *, bool recv, VIP_DESCRIPTOR *, VIP_RETURN *);
    /* An asynchronous error. False: the program is not told. */
    bool (*error)(VIP_ERROR_DESCRIPTOR *);
    /* A Notify handler is due: how often it is called. */
    int (*notify)(VIP_DESCRIPTOR **);
};

extern const struct twist vipl_twists_data[], vipl_twists_descriptor[], vipl_twists_queue[],
    vipl_twists_callback[], vipl_twists_connect[], vipl_twists_memory[], vipl_twists_nic[], vipl_twists_odd[];

/* VipSendDone and VipRecvDone by one function, which is told whether it is the receive queue. */
#define DONE_OF_BOTH(send, recv, done)                                                                       \
    static VIP_RETURN send(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)                                             \
    {                                                                                                        \
        return done(false, vi, d);                                                                           \
    }                                                                                                        \
    static VIP_RETURN recv(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)                                             \
    {                                                                                                        \
        return done(true, vi, d);                                                                            \
    }

/* The calls that every twist goes through, if it has none of its own: they keep the notes and ask the hooks.
 */
extern const struct vipl_calls vipl_twist_base;
extern const struct twist *vipl_twist; /* the one in force, NULL: none */

/* NULL when there are too many VIs. */
struct vi_note *vipl_note(VIP_VI_HANDLE);
/* The ARGUMENT as a number, 0 when there is none. */
unsigned long vipl_twist_argument(int index);
/* One more call of this place: 1 for the first. */
unsigned vipl_count(unsigned *counter);

/* Write at an address of this process; false, and nothing, where nothing can be written. */
bool vipl_poke(void *address, const void *bytes, size_t length);
/* The same after a time, by another thread. length: at most 64. */
void vipl_poke_later(unsigned milliseconds, void *address, const void *bytes, size_t length);
void vipl_sleep(unsigned milliseconds);

/* Make a Descriptor one that ends in a format error. */
void vipl_spoil(VIP_DESCRIPTOR *);
/* A Descriptor of the shim's own that moves what the given one moves, posted on the same queue; the program
 * never sees it. */
void vipl_post_copy(struct vi_note *, bool recv, const VIP_DESCRIPTOR *);
/* A Send of the shim's own with these bytes; at most 2048. */
void vipl_post_bytes(struct vi_note *, const void *bytes, size_t length);
/* What the message of a Descriptor has: its first data segment, or NULL. */
VIP_DATA_SEGMENT *vipl_data(VIP_DESCRIPTOR *, unsigned index);

#endif
