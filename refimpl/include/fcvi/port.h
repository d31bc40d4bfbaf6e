/* The reference FC-VI port: a sans-I/O endpoint in one block of memory.
 *
 * The host gives it frames and the time and takes frames and events from it. A port of the wire VI/TCP has
 * streams of bytes in their place (vitcp.h). The port never reads a clock, a
 * socket or a file and allocates nothing after fcvi_port_init. The block holds no pointer into itself: a copy
 * of the block is a checkpoint, and a copy that the same process restores goes on as the original would have.
 *
 * Time is in microseconds from any origin and never goes back. A call at `now` first lets every timer due at
 * or before `now` expire, in deadline order, then does its own work. After any call the host takes frames
 * with fcvi_port_transmit and events with fcvi_port_event until both are empty. */
#ifndef FCVI_PORT_H
#define FCVI_PORT_H

#include <fcvi/codec.h>
#include <fcvi/profile.h>
#include <fcvi/vip_codes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fcvi_port;

#define FCVI_NEVER UINT64_MAX
enum {
    FCVI_MAX_HOSTS = 4,
    FCVI_MAX_SEGMENTS =
        253, /* VI-ARCH 6.1.1.1 asks for 252 beside the address segment, which VI-DG 4.5 counts */
    FCVI_MAX_DISCRIMINATOR = 128,
    FCVI_MIN_DISCRIMINATOR = 16,      /* of 2007; Rev 1.0 has 0 (7.1) */
    FCVI_MAX_DISCRIMINATOR_VITCP = 16 /* VI/TCP: 0 to 16 (3.2) */
};

/** Sizes fixed at init. */
struct fcvi_port_limits {
    uint32_t vis;               /* endpoints, 1..2^20 */
    uint32_t connectionpoints;  /* outstanding VipConnectWait calls and unanswered requests handed out, 1.. */
    uint32_t exchanges;         /* open at once, 1..65535 */
    uint32_t regions;           /* registered memory regions */
    uint32_t descriptors;       /* posted per work queue of a VI */
    uint32_t events;            /* event ring; 4 per VI and queue entry is plenty */
    uint32_t memory;            /* bytes for registered regions */
    uint32_t max_transfer_size; /* MaxTransferSize of the NIC, bytes */
    /* zero takes the default */
    uint32_t setups;       /* Connection Setups under way at once; vis + connectionpoints, at most 4096 */
    uint32_t remote_ports; /* ports known at once; 16 */
    uint32_t entries;      /* Descriptors posted on all VIs together; 2 * vis * descriptors */
    uint32_t segments;     /* data segments of all of them; 4 * entries, at least 253 */
    uint32_t runs; /* Out-of-Order Fabric: pieces of Messages with gaps between them; exchanges + 256 */
    uint32_t held_frames; /* Out-of-Order Fabric: frames kept while an earlier Message is missing; 64 */
    /* VI/TCP: with them the limits of FC (exchanges, setups, remote_ports, runs, held_frames) mean nothing */
    uint32_t streams;      /* TCP connections at once, 1..2^20; 0 for a port of FC */
    uint32_t stream_reads; /* RDMA Reads of the other side under way on one stream, which is the RDMA Read
                              Window (3.2), at most 65535; 4 */
};

/** What carries the Messages. */
enum fcvi_wire { FCVI_WIRE_FC, FCVI_WIRE_VITCP };

enum fcvi_topology { FCVI_POINT_TO_POINT, FCVI_PRIVATE_LOOP, FCVI_PUBLIC_LOOP, FCVI_FABRIC };

struct fcvi_port_identity {
    uint64_t port_name, node_name;
    uint32_t n_port_id;
    uint32_t hosts;
    uint8_t host[FCVI_MAX_HOSTS][16]; /* IPv6 addresses (RFC 2373) */
};

/** What VI/TCP leaves to a provider. Zero takes the default. */
struct fcvi_vitcp_config {
    struct fcvi_profile profile; /* the numbers that the draft does not have; without a name: T0 */
    bool flow_control;           /* offer Descriptor Flow Control (3.2) */
    bool answers_always;   /* take callers before the first VI, too (4.3, V35): they are told No Match */
    uint32_t segment_size; /* longest Segment Length of what is sent, 128..65535; 65535 */
    uint64_t incoming_timeout_us; /* for the Connect Request of the other side (4.3); 10 s */
    uint64_t retry_us;            /* from one attempt to set up TCP to the next (4.2); 100 ms */
    uint64_t linger_us;           /* for the other side to take what is left and to close; 5 s */
};

struct fcvi_port_config {
    struct fcvi_port_identity self;
    struct fcvi_port_identity
        peer;              /* the port whose addresses are known; implicit login counts it as logged in */
    uint8_t topology;      /* enum fcvi_topology */
    bool out_of_order;     /* what the Fabric guarantees (3.1.12, 3.1.14) */
    uint8_t service_class; /* 2 or 3 */
    bool explicit_login;
    uint8_t wire;     /* enum fcvi_wire */
    uint8_t revision; /* enum fcvi_edition: the edition of FC-VI that it speaks; it takes no other */
    uint64_t e_d_tov_us, r_a_tov_us; /* FCVI_ULP_TIMEOUT is R_A_TOV (8.3) */
    uint32_t receive_size; /* largest Data_Field, Device_Header included: 256..2112; 348.. for Rev 1.0 */
    uint64_t seed;         /* choices that the standard leaves open: handles, ids */
    bool fabric_login;     /* FLOGI comes first and may assign the N_Port Identifier */
    bool name_server;      /* unknown Host Addresses are resolved by GID_IPP (7.6), otherwise by FARP (7.5) */
    bool ack_0;            /* class 2: one ACK_0 for a Sequence instead of an ACK_1 for each frame */
    bool connect_info;     /* send the 256 bytes of FCVI_CONNECT_INFO (6.8.3); not of Rev 1.0 */
    bool logs_out_strangers; /* an IU of a port that was never heard of is answered with LOGO, once (7.7.1) */
    bool resp3_is_message_0; /* Annex F: an In-Order Fabric shows a lost FCVI_CONNECT_RESP3 at once; 2007 */
    uint8_t end_to_end_credit; /* class 2: frames of an Exchange that may wait for their ACK; 0: 16 */
    uint32_t iu_size; /* payload bytes in one Message IU (5.2.1); 0: as many as one Sequence can hold */
    struct fcvi_vitcp_config vitcp; /* VI/TCP; of the rest it takes wire, self.hosts, self.host and seed */
};

enum fcvi_vi_state { /* 8.2 */
                     FCVI_STATE_IDLE,
                     FCVI_STATE_PENDING_CONNECT,
                     FCVI_STATE_PENDING_CONNECT_RETRY,
                     FCVI_STATE_CONNECTED,
                     FCVI_STATE_ERROR
};

enum fcvi_reliability {
    FCVI_UNRELIABLE = 1,
    FCVI_RELIABLE_DELIVERY = 2,
    FCVI_RELIABLE_RECEPTION = 3
}; /* 7.3 */

struct fcvi_attributes {
    uint8_t reliability;        /* enum fcvi_reliability */
    uint32_t max_transfer_size; /* 0: the NIC's maximum */
    bool rdma_write, rdma_read;
    bool preference;
    uint32_t pipeline_depth;
    uint32_t ptag; /* protection tag: a number that the host gives out (VI-ARCH 3.2.2.1) */
};

struct fcvi_address {
    uint8_t host[16];
    uint8_t discriminator_length;
    uint8_t discriminator[FCVI_MAX_DISCRIMINATOR];
};

enum fcvi_op { FCVI_SEND, FCVI_RDMA_WRITE, FCVI_RDMA_READ, FCVI_RECV };

/** A piece of a registered region. An unknown region, or a range outside it, is a protection error. */
struct fcvi_segment {
    uint32_t mem, offset, length;
};

struct fcvi_descriptor {
    uint8_t op; /* enum fcvi_op */
    uint8_t segments;
    bool has_immediate;
    bool fence;        /* VIP_CONTROL_QFENCE: wait for the RDMA Reads before it */
    bool format_error; /* the host found the Descriptor malformed: it completes with FORMAT_ERROR */
    bool length_error; /* the Length field is not the sum of the segments: LENGTH_ERROR */
    uint32_t immediate;
    uint64_t remote_va;
    uint32_t remote_handle;
    uint64_t cookie; /* comes back with the completion */
    struct fcvi_segment segment[FCVI_MAX_SEGMENTS];
};

/* Status bits of a descriptor, by VIPL's values (VI-DG 5.2). */
enum {
    FCVI_STATUS_DONE = 1u << 0,
    FCVI_STATUS_FORMAT_ERROR = 1u << 1,
    FCVI_STATUS_PROTECTION_ERROR = 1u << 2,
    FCVI_STATUS_LENGTH_ERROR = 1u << 3,
    FCVI_STATUS_PARTIAL_ERROR = 1u << 4,
    FCVI_STATUS_DESC_FLUSHED_ERROR = 1u << 5,
    FCVI_STATUS_TRANSPORT_ERROR = 1u << 6,
    FCVI_STATUS_RDMA_PROT_ERROR = 1u << 7,
    FCVI_STATUS_REMOTE_DESC_ERROR = 1u << 8,
    FCVI_STATUS_ERROR_MASK = 0x1FEu,
    FCVI_STATUS_OP_RECEIVE = 1u << 16,
    FCVI_STATUS_OP_RDMA_WRITE = 2u << 16,
    FCVI_STATUS_OP_REMOTE_RDMA_WRITE = 3u << 16,
    FCVI_STATUS_OP_RDMA_READ = 4u << 16,
    FCVI_STATUS_IMMEDIATE = 1u << 19
};

struct fcvi_completion {
    uint32_t status; /* bits above */
    uint32_t length;
    uint32_t immediate; /* valid with FCVI_STATUS_IMMEDIATE */
    uint64_t cookie;    /* of the Descriptor */
};

enum fcvi_event_kind {
    FCVI_EVENT_CALL,       /* a blocked call returned: token, vip, and what it returns */
    FCVI_EVENT_COMPLETION, /* a descriptor completed, in completion order */
    FCVI_EVENT_ERROR,      /* VipErrorCallback */
    FCVI_EVENT_STATE       /* an endpoint changed its state */
};

struct fcvi_event {
    uint8_t kind;
    uint8_t state; /* STATE: enum fcvi_vi_state */
    bool recv;     /* COMPLETION: which work queue */
    uint32_t vi;
    uint64_t token;                           /* CALL */
    int vip;                                  /* CALL: enum fcvi_vip; ERROR: enum fcvi_vip_error */
    uint32_t conn;                            /* CALL of VipConnectWait */
    struct fcvi_address remote_address;       /* CALL of VipConnectWait */
    struct fcvi_attributes remote_attributes; /* CALL of VipConnectWait and VipConnectRequest */
    struct fcvi_completion completion;
};

/* ---- life ---- */

/** Bytes of memory that a port of these limits needs; 0 when a limit is out of range. */
size_t fcvi_port_size(const struct fcvi_port_limits *limits);

/** Make a port in memory (size bytes, aligned for uint64_t). Returns memory as a port, or NULL when size or a
 * value of the configuration is out of range. The caller owns the memory; copying it copies the port. */
struct fcvi_port *fcvi_port_init(void *memory, size_t size, const struct fcvi_port_limits *limits,
                                 const struct fcvi_port_config *config);

/* ---- wire and time ---- */

/** Hand the port a frame that arrived at now (microseconds). The frame is not needed after the call. */
void fcvi_port_receive(struct fcvi_port *port, uint64_t now, const struct fcvi_input *frame);
/** Let every timer fire that is due at now (microseconds). */
void fcvi_port_run(struct fcvi_port *port, uint64_t now);
/** When the next timer fires, absolute; FCVI_NEVER when none runs. */
uint64_t fcvi_port_deadline(const struct fcvi_port *port);

struct fcvi_transmitted {
    uint8_t sof, eof;
};
/** Build the next frame to send in out (capacity at least 24 + 2112). Returns its length, 0 when there is
 * none. */
size_t fcvi_port_transmit(struct fcvi_port *port, uint64_t now, uint8_t *out, size_t capacity,
                          struct fcvi_transmitted *meta);
/** Take the oldest event. */
bool fcvi_port_event(struct fcvi_port *port, struct fcvi_event *out);

/** Link events of clause 7.7. LOGO makes the port log out of every port; UP is the first start of the link.
 */
enum fcvi_link { FCVI_LINK_LIP, FCVI_LINK_NOS, FCVI_LINK_LR, FCVI_LINK_LOGO, FCVI_LINK_UP };
/** Tell the port of a link event at now. */
void fcvi_port_link(struct fcvi_port *port, uint64_t now, enum fcvi_link event);
/** A LIP after which the port has the N_Port Identifier n_port_id (7.7.3, 7.7.4). */
void fcvi_port_lip(struct fcvi_port *port, uint64_t now, uint32_t n_port_id);
/** The port's own N_Port Identifier; 0 before FLOGI has assigned one. */
uint32_t fcvi_port_id(const struct fcvi_port *port);

/** Make a further port known: its addresses need no resolution, and with implicit login it counts as logged
 * in. Returns false when there is no room. */
bool fcvi_port_know(struct fcvi_port *port, uint64_t now, const struct fcvi_port_identity *peer);

/** What is in use. With all connections gone and every timer expired each is zero but `vis`. */
struct fcvi_port_counts {
    uint32_t vis, setups, points, exchanges, entries, segments, held_frames, timers, frames;
    uint32_t events_lost; /* events that did not fit into the ring, since init */
    uint32_t streams;     /* VI/TCP */
};
/** Write into out what is in use. */
void fcvi_port_count(const struct fcvi_port *port, struct fcvi_port_counts *out);

/** The state of the port in canonical form: equal bytes mean that the port will behave the same from `now`
 * on. Times are relative to now. Left out: statistics, memory of the host's, what free records hold and the
 * order in which they come back into use, which decides what RX_ID or conn comes next, never what happens.
 * Writes at most capacity bytes and returns how many there are. The bytes hold within one build only. */
size_t fcvi_port_canonical(const struct fcvi_port *port, uint64_t now, uint8_t *out, size_t capacity);

/* ---- VIPL: each returns an enum fcvi_vip. timeout_us: FCVI_NEVER is VIP_INFINITE. vi, mem and conn are the
 * port's own numbers; an unknown one gives VIP_INVALID_PARAMETER. ---- */

/** VipCreateVi: on success vi is the number of the new VI. */
int fcvi_vip_create_vi(struct fcvi_port *, uint64_t now, const struct fcvi_attributes *, uint32_t *vi);
/** VipDestroyVi: the VI has to be idle, with empty queues. */
int fcvi_vip_destroy_vi(struct fcvi_port *, uint64_t now, uint32_t vi);
struct fcvi_vi_info {
    uint8_t state; /* enum fcvi_vi_state */
    bool send_empty, recv_empty;
    struct fcvi_attributes attributes;
};
/** VipQueryVi: on success out has the state, the queues and the attributes. The MaxTransferSize of a VI that
 * is connected over VI/TCP is the one that both ends agreed on (VI/TCP 3.2). */
int fcvi_vip_query_vi(struct fcvi_port *, uint64_t now, uint32_t vi, struct fcvi_vi_info *out);

/** VipConnectWait: FCVI_VIP_PENDING, and later a CALL event with token. */
int fcvi_vip_connect_wait(struct fcvi_port *, uint64_t now, const struct fcvi_address *local,
                          uint64_t timeout_us, uint64_t token);
/** That call is over, and has no event: whoever asks finds nobody. It may have had its event already. */
void fcvi_vip_connect_unwait(struct fcvi_port *, uint64_t now, const struct fcvi_address *local,
                             uint64_t token);
/** VipConnectAccept of the request conn for vi: FCVI_VIP_PENDING, and later a CALL event with token. */
int fcvi_vip_connect_accept(struct fcvi_port *, uint64_t now, uint32_t conn, uint32_t vi, uint64_t token);
/** VipConnectReject of the request conn. */
int fcvi_vip_connect_reject(struct fcvi_port *, uint64_t now, uint32_t conn);
/** VipConnectRequest: FCVI_VIP_PENDING, and later a CALL event with token. */
int fcvi_vip_connect_request(struct fcvi_port *, uint64_t now, uint32_t vi, const struct fcvi_address *local,
                             const struct fcvi_address *remote, uint64_t timeout_us, uint64_t token);
/** VipConnectPeerRequest: returns at once; 0 is no valid timeout. */
int fcvi_vip_connect_peer_request(struct fcvi_port *, uint64_t now, uint32_t vi,
                                  const struct fcvi_address *local, const struct fcvi_address *remote,
                                  uint64_t timeout_us);
/** VipConnectPeerDone: VIP_NOT_DONE while the request is under way. The first call after its end gets the
 * result and, with VIP_SUCCESS, the remote attributes. */
int fcvi_vip_connect_peer_done(struct fcvi_port *, uint64_t now, uint32_t vi, struct fcvi_attributes *out);
/** VipConnectPeerWait: the result as above, or FCVI_VIP_PENDING and later a CALL event. */
int fcvi_vip_connect_peer_wait(struct fcvi_port *, uint64_t now, uint32_t vi, uint64_t token,
                               struct fcvi_attributes *out);
/** That call is over, and has no event: the result stays for another one. */
void fcvi_vip_connect_peer_unwait(struct fcvi_port *, uint32_t vi, uint64_t token);
/** VipSetViAttributes. */
int fcvi_vip_set_vi(struct fcvi_port *, uint64_t now, uint32_t vi, const struct fcvi_attributes *);
/** VipDisconnect: a result, or FCVI_VIP_PENDING and later a CALL event with token. */
int fcvi_vip_disconnect(struct fcvi_port *, uint64_t now, uint32_t vi, uint64_t token);

/** VipRegisterMem of length bytes inside the port's block: on success mem, va and handle name the region. */
int fcvi_vip_register_mem(struct fcvi_port *, uint64_t now, uint32_t length, bool rdma_write, bool rdma_read,
                          uint32_t *mem, uint64_t *va, uint32_t *handle);

/** A region with everything VIPL says of it. */
struct fcvi_region {
    uint64_t va; /* address of its first byte, as remote ports name it */
    uint32_t length, ptag;
    bool rdma_write, rdma_read;
    uint8_t *bytes;  /* memory of the host's; NULL: the port takes room in its own block and chooses va.
                        A checkpoint of the block does not hold memory of the host's. */
    uint32_t behind; /* bytes of the host's behind it that Descriptors of this port may use: the rest of its
                        last page (VI-ARCH 3.2.1) */
};
/** VipRegisterMem of a region as it is described: on success mem and handle name it. */
int fcvi_vip_register_region(struct fcvi_port *, uint64_t now, const struct fcvi_region *, uint32_t *mem,
                             uint32_t *handle);
/** VipSetMemAttributes: ptag, rdma_write and rdma_read are taken from the argument. */
int fcvi_vip_set_mem(struct fcvi_port *, uint64_t now, uint32_t mem, const struct fcvi_region *);
/** VipQueryMem: on success out describes the region. */
int fcvi_vip_query_mem(struct fcvi_port *, uint64_t now, uint32_t mem, struct fcvi_region *out);
/** The region that a memory handle names; false when there is none. */
bool fcvi_port_region(const struct fcvi_port *, uint32_t handle, uint32_t *mem);
/** VipDeregisterMem. */
int fcvi_vip_deregister_mem(struct fcvi_port *, uint64_t now, uint32_t mem);
/** The bytes of a region, for the host to read and write; NULL when offset and length do not lie inside.
 * Valid until the region is deregistered or the block is moved. */
uint8_t *fcvi_port_memory(struct fcvi_port *, uint32_t mem, uint32_t offset, uint32_t length);

/** VipPostSend or VipPostRecv, as the descriptor says. */
int fcvi_vip_post(struct fcvi_port *, uint64_t now, uint32_t vi, const struct fcvi_descriptor *);
/** VipSendDone (recv false) or VipRecvDone: VIP_SUCCESS, VIP_DESCRIPTOR_ERROR (out filled in both),
 * VIP_NOT_DONE. */
int fcvi_vip_done(struct fcvi_port *, uint64_t now, uint32_t vi, bool recv, struct fcvi_completion *out);

const char *fcvi_vip_name(int vip);        /* "VIP_SUCCESS" ... */
const char *fcvi_vip_error_name(int code); /* "VIP_ERROR_CONN_LOST" ... */
const char *fcvi_vi_state_name(int state); /* "idle", "pending-connect", ... as the DUT protocol has them */

#ifdef __cplusplus
}
#endif

#endif
