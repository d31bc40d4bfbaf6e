/* The block of a port: scalars, and where its arrays lie. The rooms know what is in the arrays.
 * Indices instead of pointers to what it holds: a copy of the block is a checkpoint. */
#ifndef FCVI_BLOCK_BLOCK_H
#define FCVI_BLOCK_BLOCK_H

#include "assert.h"
#include <fcvi/port.h>
#include <string.h>

enum { NONE = UINT32_MAX };

/** A hash table: buckets of chained indices. */
struct table {
    size_t buckets, links; /* offsets of uint32_t arrays */
    uint32_t mask;
};

struct fcvi_port {
    /* what the rooms below call of those above; fcvi_port_init sets it, and it is no part of the state */
    const struct wire *wire; /* what the VI asks (vi/wire.h) */
    const struct fc4 *fc4;   /* whom FC-2 tells (fc2/fc2.h) */
    void (*expire)(struct fcvi_port *p, unsigned timer_kind, uint32_t index); /* a timer (timers.h) */
    struct fcvi_port_limits limits;
    struct fcvi_port_config config;
    uint64_t now;
    uint64_t timer_order;
    uint32_t heap_count;
    uint32_t next_connection_id;
    uint16_t next_ox_id, rx_id_base;
    uint8_t next_seq_id, open_sequences; /* class 2: of Messages */
    uint8_t handle_bits;                 /* of a FCVI_HANDLE that number the VI */
    uint8_t link;                        /* enum link_state, of FC-2 */
    uint8_t flogi_repeats;               /* how often this FLOGI has been repeated */
    bool fabric_known;
    bool changed;    /* since the last FLOGI: the identifier by a LIP, or the Fabric by its FAN (7.7.4) */
    uint32_t lip_id; /* the identifier that the last LIP gave */
    uint64_t fabric_port_name, fabric_node_name; /* from FLOGI, to be compared later (7.7.4, 7.7.5) */
    uint32_t own_id;
    uint64_t seq_ids[4]; /* class 2: SEQ_IDs of Sequences that are open (5.5) */
    uint32_t events_head, events_count;
    uint32_t control_head, control_tail, control_free, control_count;
    uint32_t abts_due; /* aborted Exchanges whose ABTS has found no room yet */
    uint32_t ready;    /* ring of VIs that have something to send */
    uint32_t starved;  /* VIs that wait for an Exchange */
    uint32_t talking;  /* VI/TCP: ring of streams that have something to send */
    uint32_t free_vi, free_setup, free_point, free_entry, free_segment, free_held, free_run, free_remote,
        free_stream;
    uint32_t free_x_head, free_x_tail; /* Exchange records, longest unused first */
    struct fcvi_port_counts used;
    struct table by_exchange, by_connection_id, by_handle, by_point, by_port, by_host;
    uint32_t next_mapping; /* the Host Address that makes room next */
    /* offsets of the arrays behind this structure */
    size_t vis, setups, points, exchanges, messages, regions, entries, segments, runs, held, events, timers,
        heap, control, remotes, mappings, ox_bits, streams, reads, memory;
};

#define ARRAY(port, type, member, index) (((type *)(void *)((uint8_t *)(port) + (port)->member)) + (index))
/* Behind each array lies another one of the same block, where the sanitizers see nothing wrong. */
#define FCVI_BLOCK_ARRAY(name, type, array, count)                                                           \
    static inline type *name(struct fcvi_port *p, uint32_t i)                                                \
    {                                                                                                        \
        FCVI_ASSERT(i < p->limits.count);                                                                    \
        return ARRAY(p, type, array, i);                                                                     \
    }

#endif
