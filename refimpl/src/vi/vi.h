/* The VI: endpoints, work queues, Descriptors, registered memory and Connectionpoints (VI-ARCH, VI-DG). */
#ifndef FCVI_VI_VI_H
#define FCVI_VI_VI_H

#include "../block/block.h"
#include "wire_state.h"

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

/** A Connectionpoint: one VipConnectWait that has not returned. */
struct point {
    uint64_t token;
    uint32_t next_free;
    struct fcvi_address local;
};

enum entry_state { ENTRY_POSTED, ENTRY_FINISHED, ENTRY_DONE };

/** A posted Descriptor. */
struct entry {
    uint8_t state, op; /* enum entry_state, enum fcvi_op */
    uint8_t segments;
    bool has_immediate, fence;
    bool begun;    /* its Message counts among the open ones (7.3) */
    uint8_t fault; /* status bit with which it will complete: malformed, or a wrong length */
    uint32_t immediate;
    uint32_t length; /* sum of the segments */
    uint32_t first;  /* segment node */
    uint32_t next;
    uint32_t remote_handle, msg_id;
    uint64_t remote_va;
    struct fcvi_completion completion;
};

struct segment_node {
    struct fcvi_segment segment;
    uint32_t next;
};

/** A work queue: entries in posting order. */
struct queue {
    uint32_t head, tail, count;
    uint32_t fresh;   /* the first that nothing has taken */
    uint32_t pending; /* the first that has not completed */
};

enum disconnect_phase { DISCONNECT_NONE, DISCONNECT_AWAIT_RESP };

enum peer_phase { PEER_NONE, PEER_PENDING, PEER_DONE };

struct peer_call {
    uint8_t phase; /* enum peer_phase; while PEER_PENDING it stands in the table of Connectionpoints */
    bool waiting;  /* a VipConnectPeerWait has not returned */
    int vip;
    uint64_t token;
    struct fcvi_attributes remote_attributes;
};

struct vi {
    bool used;
    uint8_t state;         /* enum fcvi_vi_state */
    uint8_t disconnect;    /* enum disconnect_phase */
    bool disconnect_again; /* its FCVI_DISCONNECT_RQST has been sent a second time (E59) */
    bool blocked;          /* a VipConnectRequest or VipConnectAccept has not returned */
    bool ready;            /* it stands in the ring of VIs that have something to send */
    bool starved;          /* it stands in the list of those that wait for an Exchange */
    uint32_t next_free, ring_next, ring_previous, starved_next;
    uint32_t local_handle; /* FCVI_HANDLE of its own request for a connection */
    uint32_t generation;
    uint64_t generation_ended; /* when the last handle of the count was given out */
    uint64_t token;            /* of the blocked connect call */
    uint64_t disconnect_token; /* of VipDisconnect */
    uint32_t setup;            /* own request in progress, NONE */
    uint32_t inbound;          /* request of the other side that this VI accepted or holds, NONE */
    uint32_t disconnect_exchange;
    uint32_t stream; /* VI/TCP: of its connection or of its request for one, NONE */
    struct fcvi_attributes attributes;
    struct connection connection;
    struct peer_call peer;
    struct queue send, recv;
    struct sender tx;
    struct receiver rx;
    struct fcvi_address local, remote; /* of a Peer request */
};

struct region {
    bool used;
    uint32_t generation;
    size_t offset; /* in the memory arena; of the host's memory: 0 */
    struct fcvi_region spec;
};

FCVI_BLOCK_ARRAY(vi_at, struct vi, vis, vis)
FCVI_BLOCK_ARRAY(point_at, struct point, points, connectionpoints)
FCVI_BLOCK_ARRAY(region_at, struct region, regions, regions)
FCVI_BLOCK_ARRAY(entry_at, struct entry, entries, entries)
FCVI_BLOCK_ARRAY(segment_at, struct segment_node, segments, segments)

static inline uint32_t vi_index(struct fcvi_port *p, const struct vi *vi)
{
    return (uint32_t)(vi - vi_at(p, 0));
}

static inline bool reliable(const struct vi *vi)
{
    return vi->attributes.reliability != FCVI_UNRELIABLE;
}

/* connectionpoints.c: Connectionpoints and how a request finds its own (4.2, VI-DG 6.7) */
uint32_t fcvi_point_count(const struct fcvi_port *p);
void fcvi_point_list(struct fcvi_port *p, uint32_t index, const struct fcvi_address *a);
void fcvi_point_unlist(struct fcvi_port *p, uint32_t index, const struct fcvi_address *a);
void fcvi_point_free(struct fcvi_port *p, uint32_t index);
void fcvi_point_timeout(struct fcvi_port *p, uint32_t index);
struct point *fcvi_point_match(struct fcvi_port *p, const struct fcvi_address *a);
uint32_t fcvi_point_hash(const struct fcvi_address *a);
bool fcvi_point_same_discriminator(const struct fcvi_address *a, const struct fcvi_address *b);
bool fcvi_vi_address_valid(const struct fcvi_port *p, const struct fcvi_address *a);
bool fcvi_vi_address_is_own(const struct fcvi_port *p, const struct fcvi_address *a);

/* vipl.c */
int fcvi_vi_attributes_match(const struct fcvi_attributes *a, const struct fcvi_attributes *b);

/* queues.c */
struct entry *fcvi_vi_queue_head(struct fcvi_port *p, const struct queue *q);
struct entry *fcvi_vi_queue_take(struct fcvi_port *p, struct queue *q);
void fcvi_vi_entry_finish(struct fcvi_port *p, struct vi *vi, bool recv, struct entry *e, uint32_t status,
                          uint32_t length);
void fcvi_vi_release(struct fcvi_port *p, struct vi *vi, bool recv);
void fcvi_vi_flush(struct fcvi_port *p, struct vi *vi);

/* descriptor.c: the memory that a Descriptor names */
/* UINT32_MAX: all of it, segments without data too. */
bool fcvi_vi_descriptor_in_memory(struct fcvi_port *p, const struct vi *vi, const struct entry *e,
                                  uint32_t length);
uint8_t *fcvi_vi_local_memory(struct fcvi_port *p, uint32_t mem, uint32_t offset, uint32_t length);
void fcvi_vi_place_ascending(uint8_t *at, const uint8_t *bytes, uint32_t length);
void fcvi_vi_descriptor_place(struct fcvi_port *p, const struct entry *e, uint32_t offset,
                              const uint8_t *bytes, uint32_t length);
uint8_t *fcvi_vi_descriptor_piece(struct fcvi_port *p, const struct entry *e, uint32_t offset,
                                  uint32_t length, uint32_t *piece);
void fcvi_vi_descriptor_fetch(struct fcvi_port *p, const struct entry *e, uint32_t offset, uint8_t *bytes,
                              uint32_t length);

/* memory.c */
/** What the other side names in an RDMA operation. */
struct remote_range {
    uint64_t va;
    uint32_t handle;
    bool write; /* RDMA Write; otherwise RDMA Read */
};
uint8_t *fcvi_vi_remote_memory(struct fcvi_port *p, const struct vi *vi, const struct remote_range *range,
                               uint32_t offset, uint32_t length);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
