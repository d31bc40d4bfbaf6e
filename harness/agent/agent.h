/* The upper tester agent: the control part of the DUT protocol over the VIPL entry points.
 *
 * `order` keeps what the client sees in order; it is held in the thread that reads and while a completion is
 * told, never while a call blocks. `client.out` guards the output and the table of VI handles; no VIPL call
 * is made under it, so an error handler may take it in whatever thread the provider runs it. */
#ifndef FCVI_AGENT_H
#define FCVI_AGENT_H

#include "../lines/client.h"
#include "../lines/params.h"
#include "provider.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum {
    AGENT_VIS = 1024,
    AGENT_REGIONS = 1024,
    AGENT_CONNS = 1024,
    AGENT_BLOCKED = 64,
    AGENT_SEGMENTS = 252,
    AGENT_MOST_MEMORY = 1 << 28, /* registered at once */
    AGENT_MOST_DONE = 65536,     /* completions that the client has not taken */
    AGENT_HOST = 64,             /* bytes of a host address, and of a Discriminator */
    AGENT_DISCRIMINATOR = 4096,
    AGENT_DEVICES = 2
};

struct done {
    struct done *next;
    VIP_UINT32 status, length, immediate;
};

struct queue {
    struct done *first, **last;
    unsigned posted;
};

struct vi {
    VIP_VI_HANDLE handle; /* NULL: free */
    bool used;
    struct queue queue[2]; /* send, receive */
};

struct region {
    unsigned char *bytes; /* NULL: free */
    VIP_MEM_HANDLE handle;
    uint32_t length;
};

struct slot;

struct agent {
    struct client client;
    const char *revision; /* of FC-VI: what hello names, and what holds where reset names none */
    const char *device;
    const char *devices[AGENT_DEVICES]; /* of a run of calls alone: one for each end */
    size_t device_count;
    struct api *api; /* of such a run, from reset to reset; else NULL */
    pthread_mutex_t order;
    size_t memory; /* bytes registered */
    unsigned done; /* completions kept */
    bool started, closing;
    bool synchronous; /* blocking calls run in the thread that reads: for tests without threads */
    bool caught;      /* a thread is inside a call that no reset could end */
    VIP_NIC_HANDLE nic;
    VIP_PROTECTION_HANDLE ptag;
    VIP_CQ_HANDLE cq;
    pthread_t reaper;
    struct vi vi[AGENT_VIS];
    struct region region[AGENT_REGIONS];
    VIP_CONN_HANDLE conn[AGENT_CONNS];
    unsigned blocked;
    pthread_mutex_t gate; /* a call that blocks is on its way before the next line is read */
    pthread_cond_t passed;
    unsigned long started_calls, waiting_calls;
    pthread_cond_t unblocked;
    unsigned char *pool; /* descriptors */
    VIP_MEM_HANDLE pool_handle;
    struct slot *slots;
    size_t slot_count;
};

/* ---- agent.c ---- */
struct agent *agent_new(int sink, const char *device);
void agent_free(struct agent *a);
/** reset: false, with *why, when the provider cannot. */
bool agent_start(struct agent *a, const json_t *config, const char **why);
void agent_stop(struct agent *a);
void agent_completed(struct agent *a, VIP_VI_HANDLE handle, bool recv);

/* ---- line.c ---- */
/** The agent whose client this is. */
struct agent *agent_of(struct client *c);
/** One line without its LF. The first has to be a request of the protocol, or the client has failed. */
void agent_line(struct agent *a, const char *line, size_t length);
/** Steals result. */
void agent_answer(struct agent *a, const json_t *id, json_t *result);
void agent_refuse(struct agent *a, const json_t *id, int code, const char *words);
void agent_notify(struct agent *a, const char *method, json_t *params);
json_t *agent_result(VIP_RETURN vip);

/* ---- config.c ---- */
const char *params_check_config(struct params *p);
/** The same for wire "tcp" (docs/dut-protocol-streams.md). */
const char *params_check_stream_config(struct params *p);

/* ---- calls: NULL when the answer comes later, or p->why is set ---- */
typedef json_t *agent_call(struct agent *a, const json_t *id, struct params *p);
agent_call call_create_vi, call_destroy_vi, call_query_vi;
agent_call call_connect_wait, call_connect_accept, call_connect_reject, call_connect_request,
    call_peer_request, call_peer_done, call_peer_wait, call_disconnect;
agent_call call_register_mem, call_deregister_mem, call_mem_read, call_mem_write;
agent_call call_post_send, call_post_recv, call_send_done, call_recv_done;

VIP_VI_HANDLE agent_vi(struct agent *a, uint64_t number);
int agent_vi_number(const struct agent *a, VIP_VI_HANDLE handle);
json_t *attributes_json(const VIP_VI_ATTRIBUTES *v);
void done_forget(struct queue *q);
/** Memory whose address says nothing of where else the process has anything: clients are told it. */
unsigned char *region_new(size_t length);
void region_free(unsigned char *bytes, size_t length);
json_t *done_json(const struct done *d);
VIP_RETURN pool_post(struct agent *a, struct vi *vi, bool recv, struct params *descriptor);
bool pool_take(struct agent *a, struct vi *vi, bool recv, struct done *out);

#endif
