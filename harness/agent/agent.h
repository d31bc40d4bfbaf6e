/* The upper tester agent: the control part of the DUT protocol over the VIPL entry points.
 *
 * `order` keeps what the client sees in order; it is held in the thread that reads and while a completion is
 * told, never while a call blocks. */
#ifndef FCVI_AGENT_H
#define FCVI_AGENT_H

#include "../lines/client.h"
#include "../lines/params.h"
#include "provider.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { AGENT_DEVICES = 2 };

struct agent {
    struct client client;
    const char *revision; /* of FC-VI: what hello names, and what holds where reset names none */
    const char *device;
    const char *devices[AGENT_DEVICES]; /* of a run of calls alone: one for each end */
    size_t device_count;
    struct api *api; /* from reset to reset; else NULL */
    pthread_mutex_t order;
    bool caught; /* a thread is inside a call that no reset could end */
};

/* ---- begin.c ---- */
struct agent *agent_new(int sink, const char *device);
void agent_free(struct agent *a);
/** The agent whose client this is. */
struct agent *agent_of(struct client *c);

/* ---- line.c ---- */
/** One line without its LF. The first has to be a request of the protocol, or the client has failed. */
void agent_line(struct agent *a, const char *line, size_t length);

/* ---- frames.c ---- */
/** A provider_sink: tell the agent's client. */
provider_sink agent_send_frame;
/** Those of the client's. A frame that is none, or that comes too fast, is lost, as on any wire. */
void agent_take_frame(struct params *p);

/* ---- config.c ---- */
const char *params_check_config(struct params *p);
/** The same for wire "tcp" (docs/dut-protocol-streams.md). */
const char *params_check_stream_config(struct params *p);

#endif
