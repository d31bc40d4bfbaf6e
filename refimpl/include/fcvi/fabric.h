/* A simulated Fabric: a sans-I/O block of memory that carries FC-2 frames between many ports.
 *
 * The host gives it the frames that ports send and takes the frames that arrive. It never reads a clock, a
 * socket or a file and allocates nothing after fcvi_fabric_init. The block holds no pointer: a copy of it is
 * a checkpoint, and a restored copy goes on as the original would have. The same configuration and the same
 * calls give the same frames at the same times.
 *
 * Time is in microseconds from any origin and never goes back, as in port.h. */
#ifndef FCVI_FABRIC_H
#define FCVI_FABRIC_H

#include <fcvi/port.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fcvi_fabric;

/* Numbers that stand where a port's or a rule's number does. */
#define FCVI_FABRIC_ANY UINT32_MAX
#define FCVI_FABRIC_NONE UINT32_MAX
#define FCVI_FABRIC_ITSELF                                                                                   \
    (UINT32_MAX - 1) /* F_Port, FL_Port, Name Server, and what makes F_RJT and F_BSY                         \
                      */

/** The longest time that a frame can be told to take (nearly nine years). */
#define FCVI_FABRIC_LONGEST (UINT64_C(1) << 48)

enum {
    FCVI_FABRIC_FRAME =
        24 + 2112 + 40,          /* longest frame carried, header to Data_Field; longer is legal for none */
    FCVI_FABRIC_ANY_BYTE = 0x100 /* any R_CTL, any FCVI_OPCODE or none */
};

/** Sizes fixed at init. */
struct fcvi_fabric_limits {
    uint32_t ports;  /* 1..256 */
    uint32_t frames; /* in flight or held, 1..2^20; about 2.2 KiB each */
    uint32_t rules;  /* 0..65536 */
    uint32_t names;  /* addresses that RIPP_ID can register, 0..65536 */
};

struct fcvi_fabric_config {
    uint8_t topology;  /* enum fcvi_topology. F_Port and Name Server exist on a public loop and in a Fabric */
    bool out_of_order; /* frames between one pair of ports may overtake each other (3.1.14) */
    uint64_t seed;     /* of everything below that is left to chance */
    uint64_t latency_us; /* of every frame, at most FCVI_FABRIC_LONGEST, as all delays */
    uint64_t jitter_us; /* each frame takes 0..jitter_us longer. Unless out_of_order the frames of one pair of
                           ports keep their order all the same */
    /* random faults, each in parts per million of the frames, 0..1000000 */
    uint32_t loss, duplication, corruption;
    /* what FLOGI announces */
    uint64_t r_a_tov_us, e_d_tov_us; /* carried in 32 bits of milliseconds */
    uint64_t port_name, node_name;   /* of the F_Port or FL_Port; of the Fabric */
    uint64_t fan_delay_us;           /* from a LIP to the FAN, at most 1 s (7.7.4) */
};

/** Where a port sits. On a loop the ports on it see a LIP, those behind the FL_Port do not. */
enum fcvi_fabric_place { FCVI_PLACE_LOOP, FCVI_PLACE_FABRIC };

/* ---- life ---- */

/** Bytes of memory that a Fabric of these limits needs; 0 when a limit is out of range. */
size_t fcvi_fabric_size(const struct fcvi_fabric_limits *limits);

/** Make a Fabric in memory (size bytes, aligned for uint64_t). Returns NULL when size or a value of the
 * configuration is out of range. The caller owns the memory; copying it copies the Fabric. */
struct fcvi_fabric *fcvi_fabric_init(void *memory, size_t size, const struct fcvi_fabric_limits *limits,
                                     const struct fcvi_fabric_config *config);

/** Attach a port whose link is up. n_port_id is the identifier that FLOGI assigns; 0 lets FLOGI choose one.
 * The Host Addresses are registered with the Name Server. Returns its number, counted from 0, or
 * FCVI_FABRIC_NONE when there is no room, the identifier is taken, or a point-to-point link has two ends. */
uint32_t fcvi_fabric_attach(struct fcvi_fabric *fabric, const struct fcvi_port_identity *identity,
                            enum fcvi_fabric_place place);

/** Give a port another N_Port Identifier; frames under way to the old one are lost, and what the Name Server
 * knew of it: its login and what was registered by RIPP_ID. False when there is no such port or the
 * identifier is taken. */
bool fcvi_fabric_set_id(struct fcvi_fabric *fabric, uint32_t port, uint32_t n_port_id);
/** The N_Port Identifier of a port; 0 when it has none or there is no such port. */
uint32_t fcvi_fabric_id(const struct fcvi_fabric *fabric, uint32_t port);
/** The port with that N_Port Identifier, up or down; FCVI_FABRIC_NONE when there is none. */
uint32_t fcvi_fabric_find(const struct fcvi_fabric *fabric, uint32_t n_port_id);

/** Take the link of a port down or up. What is under way to it is lost, the Name Server logs it out and
 * forgets what it registered by RIPP_ID. False when there is no such port. */
bool fcvi_fabric_link(struct fcvi_fabric *fabric, uint32_t port, bool up);

/** Change the names of the F_Port or FL_Port and of the Fabric: from now on FLOGI and FAN carry these. */
void fcvi_fabric_rename(struct fcvi_fabric *fabric, uint64_t port_name, uint64_t node_name);

/* ---- frames ---- */

/** Carry a frame of port `from`. It goes to the port whose identifier is the D_ID (the sender included), or
 * as broadcast FFFFFFh to every other port that is up, or to a well-known address:
 *  - FFFFFEh answers FLOGI and LOGO, and rejects other ELSs;
 *  - FFFFFCh answers PLOGI and LOGO and, for a port that is logged in, GID_IPP and RIPP_ID (7.6).
 * A frame that reaches nobody is lost; in class 2 the Fabric answers F_RJT, reason 01h when nobody has that
 * D_ID, 03h when its link is down. On a point-to-point link every frame reaches the other end but what
 * a port sends to itself.
 * The class is told by the SOF: SOFi2 and SOFn2 are class 2, anything else is class 3. */
void fcvi_fabric_send(struct fcvi_fabric *fabric, uint64_t now, uint32_t from, const uint8_t *bytes,
                      size_t length, const struct fcvi_transmitted *meta);

/** When the next frame is due, absolute; FCVI_NEVER when none is under way. A frame to a well-known address
 * counts too: fcvi_fabric_deliver is to be called then. */
uint64_t fcvi_fabric_deadline(const struct fcvi_fabric *fabric);

/** Take the next frame that is due at or before `now`. The bytes are copied to out (capacity at least
 * FCVI_FABRIC_FRAME), and in->bytes is out. False when none is due, or the next one does not fit. */
bool fcvi_fabric_deliver(struct fcvi_fabric *fabric, uint64_t now, uint32_t *to, uint8_t *out,
                         size_t capacity, struct fcvi_input *in);

/* ---- loop ---- */

enum { FCVI_LIP_NEW_ADDRESSES = 1, FCVI_LIP_NO_FAN = 2 };
/** The loop is initialised. With FCVI_LIP_NEW_ADDRESSES every port on it gets another AL_PA, and frames under
 * way to it are lost. On a public loop the FL_Port then sends a FAN to every port on the loop that has a
 * Domain and Area, unless FCVI_LIP_NO_FAN. The host then tells each port on the loop: fcvi_port_lip(port,
 * now, fcvi_fabric_id(fabric, number)). Returns how many these are; 0 where there is no loop. */
uint32_t fcvi_fabric_lip(struct fcvi_fabric *fabric, uint64_t now, unsigned flags);

/* ---- rules ---- */

enum fcvi_fabric_action {
    FCVI_ACT_PASS,      /* count only; the rules after this one are asked too */
    FCVI_ACT_DROP,      /* the frame is lost */
    FCVI_ACT_DUPLICATE, /* it arrives twice, the second time delay_us later */
    FCVI_ACT_DELAY,     /* it takes delay_us longer */
    FCVI_ACT_CORRUPT,   /* one bit of the Data_Field is turned, and the CRC is bad */
    FCVI_ACT_BAD_CRC,   /* the bytes are right, the CRC is bad */
    FCVI_ACT_EOF_NI,    /* EOFni: an element of the Fabric found the CRC bad */
    FCVI_ACT_HOLD,      /* kept until fcvi_fabric_release */
    FCVI_ACT_F_BSY,     /* lost, and in class 2 answered by F_BSY; reason 0: 1, Fabric busy */
    FCVI_ACT_F_RJT      /* lost, and in class 2 answered by F_RJT; reason 0: 03h, not available temporarily */
};

/** What to do with which frames. A frame is asked about once for each port it goes to; the first rule that
 * acts on it decides, and random faults spare it. Unless out_of_order a frame that is held or delayed holds
 * up the later ones of the same pair of ports. */
struct fcvi_fabric_rule {
    uint32_t from, to; /* ports, FCVI_FABRIC_ITSELF or FCVI_FABRIC_ANY */
    uint16_t r_ctl;    /* or FCVI_FABRIC_ANY_BYTE */
    uint16_t opcode;   /* FCVI_OPCODE; FCVI_FABRIC_ANY_BYTE matches other frames too */
    uint32_t ox_id;    /* 0..FFFFh or FCVI_FABRIC_ANY */
    uint32_t seq_cnt;  /* 0..FFFFh or FCVI_FABRIC_ANY */
    uint32_t skip;     /* leave the first matches alone */
    uint32_t every;    /* of the rest act on each n-th, the first of them included; 0: on all */
    uint32_t count;    /* act at most so many times; 0: no limit */
    uint8_t action;    /* enum fcvi_fabric_action */
    uint8_t reason;    /* of F_BSY and F_RJT */
    uint64_t delay_us; /* of DELAY and DUPLICATE */
    uint32_t tag;      /* the host's */
};

/** A rule that matches every frame and acts on each. */
struct fcvi_fabric_rule fcvi_fabric_rule_any(enum fcvi_fabric_action action);

/** Add a rule. It gets the lowest free number; rules are asked in the order of their numbers. Returns
 * FCVI_FABRIC_NONE when there is no room or the rule is not valid. */
uint32_t fcvi_fabric_rule_add(struct fcvi_fabric *fabric, const struct fcvi_fabric_rule *rule);
/** Remove a rule; frames that it holds are released. False when there is none of that number. */
bool fcvi_fabric_rule_clear(struct fcvi_fabric *fabric, uint64_t now, uint32_t rule);
/** Send the frames that a rule holds on their way, in their order, as if they had been sent now. Returns how
 * many the rule held. */
uint32_t fcvi_fabric_release(struct fcvi_fabric *fabric, uint64_t now, uint32_t rule);
/** How often a rule acted; 0 when there is none of that number. */
uint64_t fcvi_fabric_hits(const struct fcvi_fabric *fabric, uint32_t rule);
/** How often the rules with that tag acted together. */
uint64_t fcvi_fabric_tag_hits(const struct fcvi_fabric *fabric, uint32_t tag);

/* ---- counters ---- */

/** Since init. sent + own + copied + duplicated = delivered + served + dropped + overflow + under_way. */
struct fcvi_fabric_counters {
    uint64_t sent;       /* frames that ports sent */
    uint64_t own;        /* frames that the Fabric made: answers, ACK_1, F_RJT, F_BSY, FAN */
    uint64_t copied;     /* further copies of broadcasts */
    uint64_t duplicated; /* further copies made by a fault */
    uint64_t delivered;  /* frames that ports got, corrupted ones included */
    uint64_t served;     /* frames that arrived at a well-known address */
    uint64_t dropped;    /* lost by a fault, a rule, a link that is down, or for want of a destination */
    uint64_t overflow;   /* lost because limits.frames were under way */
    uint64_t corrupted;  /* of the frames carried */
    uint32_t under_way;  /* now, held ones included */
    uint32_t held;       /* now */
};
/** Write the counters of the Fabric into out. */
void fcvi_fabric_count(const struct fcvi_fabric *fabric, struct fcvi_fabric_counters *out);

/* ---- driver ---- */

/** Functions of the host's that a run calls; each may be NULL. They shall not send or deliver frames. */
struct fcvi_fabric_observer {
    void *context;
    /** A port has sent a frame. */
    void (*sent)(void *context, uint64_t now, uint32_t from, const struct fcvi_input *frame);
    /** A frame arrives at a port, before the port sees it; from may be FCVI_FABRIC_ITSELF. */
    void (*delivered)(void *context, uint64_t now, uint32_t from, uint32_t to,
                      const struct fcvi_input *frame);
    /** A port has an event; without this function a run leaves the events in the ports. */
    void (*event)(void *context, uint64_t now, uint32_t port, const struct fcvi_event *event);
};

/** Let ports[0..count-1], attached as numbers 0..count-1, talk until time until_us, or until no frame and no
 * timer is left. NULL stands for a port that the host plays itself: what arrives there is lost unless
 * `delivered` takes it. Everything that is to be sent is sent before time advances; of a frame and a timer
 * due at once the frame comes first. Returns the time reached, at which all ports are quiet. */
uint64_t fcvi_fabric_run(struct fcvi_fabric *fabric, struct fcvi_port *const *ports, uint32_t count,
                         uint64_t until_us, const struct fcvi_fabric_observer *observer);
/** One step of it: one frame, or the timers of one port. False when none is due by until_us. */
bool fcvi_fabric_step(struct fcvi_fabric *fabric, struct fcvi_port *const *ports, uint32_t count,
                      uint64_t until_us, const struct fcvi_fabric_observer *observer);
/** The latest time that the Fabric has seen. */
uint64_t fcvi_fabric_now(const struct fcvi_fabric *fabric);

#ifdef __cplusplus
}
#endif

#endif
