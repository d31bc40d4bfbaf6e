/* Who lets reference ports act in real time for libvipl: they share a wire and a lock, one thread carries
 * what the wire brings, and another runs the handlers of programs that make no call. */
#ifndef FCVI_HOST_H
#define FCVI_HOST_H

#include <fcvi/port.h>
#include <fcvi/vipl_host.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOST_PORTS = 2, HOST_VIS = 64, HOST_REGIONS = 512, HOST_TRANSFER = 1 << 20 };

/** What carries the frames of a port, or its streams. Each is called with the lock held. */
struct host_wire {
    void *context;
    int fd; /* readable when something may have come; -1: nothing comes from outside */
    /** The next frame, good until the next call; NULL: none ever. */
    bool (*receive)(void *context, struct fcvi_input *frame);
    /** A frame that this port sends. It may be changed. */
    void (*transmit)(void *context, size_t port, uint8_t *bytes, struct fcvi_input *frame);
    /** Of streams, in place of both: take in what has come (port NULL: nobody is there), and do what the port
     * says. True when there was something. */
    bool (*take)(void *context, struct fcvi_port *port, uint64_t now);
    bool (*say)(void *context, struct fcvi_port *port, uint64_t now);
    /** The ports have ended; may be NULL. */
    void (*forget)(void *context);
    /** Nothing is used any more; may be NULL. */
    void (*close)(void *context);
};

struct host;

/** NULL: no memory. */
struct host *host_new(void);
/** Before the first port. A wire with a descriptor gets its thread, which runs as long as the host. */
bool host_on(struct host *h, const struct host_wire *wire);
int host_fd(const struct host *h);
/** This is called, NULL is nothing, when a thread begins to wait in a VIPL call. */
void host_when_waiting(struct host *h, void (*waits)(void));
/** Make a port and give it to libvipl. What tables leaves open is filled in. NULL, or why it cannot be. */
const char *host_attach(struct host *h, size_t number, const char *device,
                        const struct fcvi_port_config *config, const struct fcvi_vipl_nic *tables);
/** The device that VipOpenNic calls so; what follows of a port is under the lock. */
struct fcvi_port *host_port(struct host *h, size_t number);
size_t host_ports(const struct host *h);
uint64_t host_now(const struct host *h);
void host_lock(struct host *h);
void host_unlock(struct host *h);
/** The host has used a port: what it says goes out, and who waits looks again. */
void host_used(struct host *h);
/** Take in what has come and what is due. Under the lock. */
void host_turn(struct host *h);
/** Run the handlers of programs that make no call, in a thread. False: there is none. */
bool host_run_handlers(struct host *h);
/** From here on nothing goes out and no call waits. */
void host_cut(struct host *h);
/** Ends the ports; no handle of a NIC is used any more. */
void host_end(struct host *h);
/** The process ends: what the ports have said goes out as far as it goes at once, and those that are logged
 * in are told (LOGO), so that their connections end as those of a TCP do. */
void host_leave(struct host *h);
/** In the child of a fork: the descriptors are closed, and no thread is there. */
void host_forked(struct host *h);

#endif
