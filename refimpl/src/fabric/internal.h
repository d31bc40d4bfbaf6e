/* The Fabric's state and what its files share. One block, offsets instead of pointers (snapshots). */
#ifndef FCVI_FABRIC_INTERNAL_H
#define FCVI_FABRIC_INTERNAL_H

#include <fcvi/fabric.h>
#include <string.h>

#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

#define FABRIC_NONE FCVI_FABRIC_NONE

/* Well-known addresses (FC-FS) */
enum { FABRIC_BROADCAST = 0xFFFFFF, FABRIC_F_PORT = 0xFFFFFE, FABRIC_NAME_SERVER = 0xFFFFFC };

enum fabric_corruption { FABRIC_INTACT, FABRIC_FLIPPED, FABRIC_BAD_CRC, FABRIC_EOF_NI };

struct fabric_port {
    uint64_t port_name;
    uint32_t id;
    uint32_t epoch; /* frames sent to an earlier one are lost: the link was down, the identifier another */
    uint32_t hosts;
    uint16_t names_size; /* Data_Field that the port takes from the Name Server; 0: not logged in */
    bool up, on_loop;
    uint8_t host[FCVI_MAX_HOSTS][16];
};

/** What is to be remembered of the frames from one port to another. */
struct fabric_pair {
    uint64_t last_due; /* in-order: none may arrive before */
    bool blocked;      /* in-order: one is held, the later ones wait behind it */
};

struct fabric_entry {
    uint64_t due, serial; /* of a held frame due is only how much longer it takes */
    uint32_t from, to, epoch;
    uint32_t next;    /* free list, or list of held frames */
    uint32_t held_by; /* rule; FABRIC_NONE: waits behind a frame that is held */
    uint32_t length;
    uint8_t sof, eof, crc;
    uint8_t bytes[FCVI_FABRIC_FRAME];
};

struct fabric_rule {
    bool used;
    struct fcvi_fabric_rule spec;
    uint64_t seen, hits;
};

/** A registration by RIPP_ID. */
struct fabric_name {
    bool used;
    uint32_t port;
    uint8_t host[16];
};

struct fcvi_fabric {
    struct fcvi_fabric_limits limits;
    struct fcvi_fabric_config config;
    struct fcvi_fabric_counters counters;
    uint64_t now, serial, random;
    uint32_t ports; /* attached */
    uint32_t heap_count, free_entry, held_head, held_tail;
    uint16_t ox_id;
    uint8_t seq_id;
    size_t port_offset, pair_offset, entry_offset, heap_offset, rule_offset, name_offset;
};

/** A frame on its way in: who sent it, and when. */
struct fabric_parcel {
    uint64_t at;
    uint32_t from;
    uint32_t length;
    const uint8_t *bytes;
    uint8_t sof, eof;
};

/** What becomes of a parcel on its way to one port. */
struct fabric_verdict {
    bool drop, duplicate;
    uint8_t corruption; /* enum fabric_corruption */
    uint8_t answer;     /* R_CTL of the answer in class 2; 0: none */
    uint8_t reason;
    uint32_t hold; /* rule that holds it, FABRIC_NONE */
    uint64_t delay, second_delay;
};

#define FABRIC_AT(name, type, offset)                                                                        \
    static inline type *name(struct fcvi_fabric *f, size_t i)                                                \
    {                                                                                                        \
        return (type *)(void *)((uint8_t *)f + f->offset) + i;                                               \
    }                                                                                                        \
    static inline const type *name##_c(const struct fcvi_fabric *f, size_t i)                                \
    {                                                                                                        \
        return (const type *)(const void *)((const uint8_t *)f + f->offset) + i;                             \
    }
FABRIC_AT(fabric_port_at, struct fabric_port, port_offset)
FABRIC_AT(fabric_pair_at, struct fabric_pair, pair_offset)
FABRIC_AT(fabric_entry_at, struct fabric_entry, entry_offset)
FABRIC_AT(fabric_heap_at, uint32_t, heap_offset)
FABRIC_AT(fabric_rule_at, struct fabric_rule, rule_offset)
FABRIC_AT(fabric_name_at, struct fabric_name, name_offset)
#undef FABRIC_AT

static inline bool fabric_class2(uint8_t sof)
{
    return sof == FCVI_SOF_I2 || sof == FCVI_SOF_N2;
}

/* A Fabric, and with it F_Port and Name Server, is behind a public loop and a Fabric port only. */
static inline bool fabric_present(const struct fcvi_fabric *f)
{
    return f->config.topology == FCVI_PUBLIC_LOOP || f->config.topology == FCVI_FABRIC;
}

static inline void fabric_advance(struct fcvi_fabric *f, uint64_t now)
{
    if (now > f->now)
        f->now = now;
}

/* queue.c */
void fcvi_fabric_queue_clear(struct fcvi_fabric *f);
void fcvi_fabric_fly(struct fcvi_fabric *f, const struct fabric_parcel *p, uint32_t to,
                     const struct fabric_verdict *v, uint64_t extra);
void fcvi_fabric_lose(struct fcvi_fabric *f, uint32_t to);
uint32_t fcvi_fabric_unhold(struct fcvi_fabric *f, uint64_t now, uint32_t rule);
/* Forget the first that is due. */
void fcvi_fabric_queue_pop(struct fcvi_fabric *f);

/* arrival.c */
bool fcvi_fabric_take(struct fcvi_fabric *f, uint64_t now, uint32_t *from, uint32_t *to, uint8_t *out,
                      size_t capacity, struct fcvi_input *in);

/* route.c */
void fcvi_fabric_emit(struct fcvi_fabric *f, uint64_t at, uint32_t to, const uint8_t *bytes, uint32_t length,
                      uint8_t sof, uint8_t eof);
void fcvi_fabric_link_control(struct fcvi_fabric *f, uint64_t at, uint32_t to, const uint8_t *fc,
                              uint8_t r_ctl, uint8_t type, uint32_t parameter);
void fcvi_fabric_reply(struct fcvi_fabric *f, uint64_t at, uint32_t port, const struct fcvi_frame *request,
                       uint8_t *out, uint32_t payload);

/* chance.c */
uint64_t fcvi_fabric_random(struct fcvi_fabric *f, uint64_t below);

/* faults.c */
struct fabric_verdict fcvi_fabric_judge(struct fcvi_fabric *f, const struct fabric_parcel *p, uint32_t to);

/* services.c */
void fcvi_fabric_serve(struct fcvi_fabric *f, uint64_t at, uint32_t port, const struct fcvi_input *in);

/* loop.c */
void fcvi_fabric_loop_address(struct fcvi_fabric *f, uint32_t port, uint32_t id);

/* names.c */
void fcvi_fabric_names_serve(struct fcvi_fabric *f, uint64_t at, uint32_t port,
                             const struct fcvi_frame *request);
void fcvi_fabric_names_forget(struct fcvi_fabric *f, uint32_t port);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
