/* How a host gives libvipl a NIC: a reference port, the time, and a way to let the world go on.
 *
 * libvipl makes every VIPL call a call of the port (fcvi/port.h) and takes the port's events. It sends and
 * receives no frame: that is the host's, in `pump`, in a thread of its own, or both. */
#ifndef FCVI_VIPL_HOST_H
#define FCVI_VIPL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fcvi_port;

/** What libvipl needs of the host. Each gets the context given to fcvi_vipl_attach. All but lock and unlock
 * are called with the lock held; kick, due, lock and unlock may be NULL. */
struct fcvi_vipl_nic_ops {
    /** The port. It stays the same until fcvi_vipl_detach. libvipl alone takes its events. */
    struct fcvi_port *(*port)(void *context);
    /** The time in microseconds, on the clock of the port's calls. */
    uint64_t (*now)(void *context);
    /** Let the world go on until something happened on the port (a frame came in or went out, a timer fired,
     * kick was called), or until deadline_us, an absolute time; FCVI_NEVER (UINT64_MAX) is none. First of
     * all take the frames that the port has to send. It may return early for no reason. It may release the
     * lock while it waits and holds it again when it returns. A host that uses the port in another thread
     * wakes the pumps after each such use. Returns 0, or nonzero when nothing can ever happen: the blocked
     * call then returns its time-out code.
     *
     * A deadline that has passed is a poll: do what can be done without waiting. A host with virtual time
     * lets a poll take some of it, or a program that polls for a time-out waits for ever. Deadline 0 is a
     * look: only carry the frames that can be carried at once; no time passes. */
    int (*pump)(void *context, uint64_t deadline_us);
    /** A call has ended: the port may have frames to send, and pumps of other threads have to look again.
     * soon: what is to be sent may wait for the program's next call for a moment. Programs answer what they
     * receive, most often, and the answer then takes the acknowledgement along. */
    void (*kick)(void *context, bool soon);
    /** Handlers of the program are due. True: a thread of the host runs them, by fcvi_vipl_turn. On false,
     * and when this is NULL, they run inside the call that goes on. */
    bool (*due)(void *context);
    /** Guard the port. Both or neither; with both, threads may use the NIC freely (ThreadSafe). The lock need
     * not be recursive: no handler of the program's runs under it. */
    void (*lock)(void *context);
    void (*unlock)(void *context);
};

/** What VIP_VI_ATTRIBUTES.QoS may point to; NULL is the same as all zeros. FCVI_QOS, 7.3. */
struct fcvi_vipl_qos {
    uint32_t size;           /* sizeof(struct fcvi_vipl_qos); anything else is VIP_INVALID_QOS */
    uint32_t preference;     /* FCVI_PREF: 0 or 1 */
    uint32_t pipeline_depth; /* FCVI_PIPELINE_DEPTH; both ends of a connection have to have the same. Rev 1.0
                                has none */
};

struct fcvi_vipl_name {
    const char *name;
    uint8_t host[16];
};

/** A NIC that auto-discovery finds, `hops` links away (1: directly attached). */
struct fcvi_vipl_neighbour {
    uint8_t host[16];
    uint32_t hops;
};

enum { FCVI_VIPL_MORE_HOSTS = 7 };

/** What VipQueryNic says, and the tables of the name service and of auto-discovery. 0 takes the default. */
struct fcvi_vipl_nic {
    uint8_t host[16];                             /* IPv6, one of the port's own Host Addresses */
    uint8_t more_hosts[FCVI_VIPL_MORE_HOSTS][16]; /* others of them, for the LocalAddr of connections only */
    uint32_t more_host_count;
    uint32_t hardware_version;
    uint16_t max_discriminator_length;  /* 16..128; 128 */
    bool short_discriminators;          /* an application may give less than the 16 bytes of 7.2 */
    bool padded_discriminators;         /* such a one has zeros behind it on the wire */
    uint16_t reliability_levels;        /* VIP_SERVICE_ bits; all three */
    uint16_t rdma_read_levels;          /* VIP_SERVICE_ bits; none. Never Unreliable Delivery */
    uint32_t max_register_bytes;        /* 2^31 */
    uint32_t max_register_regions;      /* 1024. These four: no more than the port's limits */
    uint32_t max_vi;                    /* 1024 */
    uint32_t max_descriptors_per_queue; /* 1024 */
    uint32_t max_register_block_bytes;  /* max_register_bytes */
    uint32_t max_cq;                    /* 1024 */
    uint32_t max_cq_entries;            /* 65536 */
    uint32_t max_transfer_size;         /* 32768. The port's own */
    uint32_t native_mtu;                /* 2048: the Data_Field of one frame, without the Device_Header */
    uint32_t max_ptags;                 /* max_vi */
    const struct fcvi_vipl_name *names; /* copied by fcvi_vipl_attach */
    size_t name_count;
    const struct fcvi_vipl_neighbour *neighbours; /* copied */
    size_t neighbour_count;
    /** Names that are in no table, e.g. those of the system: the address with this index. In the thread of
     * the call, not under the lock, with the context of fcvi_vipl_attach. NULL: none. */
    bool (*resolve)(void *context, const char *name, uint32_t index, uint8_t host[16]);
};

/** Give `device` ("VINIC" and "VINIC0" are the same, VI-DG 6.5; at most 63 bytes) to VipOpenNic. Returns 0;
 * -1 when the name is taken, a value is out of range, or memory ran out. ops and info are copied. */
int fcvi_vipl_attach(const char *device, const struct fcvi_vipl_nic_ops *ops, void *context,
                     const struct fcvi_vipl_nic *info);

/** Close what is still open on the device (this may pump) and forget it; after that libvipl does not use the
 * port or the context. Returns 0; -1 when there is no such device or a VIPL call on it is under way. */
int fcvi_vipl_detach(const char *device);

/** Let the NIC act without a call of the program's: what is due happens, and the Notify and error handlers
 * that have become due run in this thread (VI-DG 3.5.9, 3.8.1 leave the thread open). For a thread of the
 * host that calls it after the port has moved. Not under the lock. Returns 0; -1 when there is no such
 * device. */
int fcvi_vipl_turn(const char *device);

/** What the port has told so far is seen by the program: Descriptors have their status. For a host that takes
 * frames in and sends others in one go: between the two, with the lock held, because a frame may tell the
 * other side of what is done (VI-ARCH 6.3.1.2). No handler runs: a turn is due afterwards. Returns 0; -1 when
 * there is no such device. */
int fcvi_vipl_settle(const char *device);

/** A file, to be read in a call of the program's, or NULL and errno. What may keep its reader waiting, as a
 * FIFO or a terminal, is none: then errno is 0. /dev/null is an empty one. */
FILE *fcvi_vipl_file(const char *path);

enum fcvi_vipl_opened {
    FCVI_VIPL_IS_THERE, /* it was given to fcvi_vipl_attach */
    FCVI_VIPL_UNKNOWN,  /* VIP_INVALID_PARAMETER */
    FCVI_VIPL_CANNOT    /* VIP_ERROR_RESOURCE */
};
/** Who is asked for a NIC that VipOpenNic does not know; NULL: nobody. */
void fcvi_vipl_open_by(enum fcvi_vipl_opened (*open)(const char *device));

enum fcvi_vipl_forking { FCVI_VIPL_BEFORE_FORK, FCVI_VIPL_PARENT, FCVI_VIPL_CHILD };
/** A host whose process forks says so before, and after in both. The child has no device and no handle; what
 * they used stays allocated. */
void fcvi_vipl_fork(enum fcvi_vipl_forking when);

#ifdef __cplusplus
}
#endif

#endif
