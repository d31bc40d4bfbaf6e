/* Every VIPL call as it is (wire "api" of the DUT protocol, dut-protocol-calls.md), in the thread that the
 * client names. Nothing is answered for the provider, and `lock` is not held inside a call of it. Of the
 * other wires control.c makes the same calls.
 *
 * One struct api lives from one reset to the next. A call that never returns keeps it alive. */
#ifndef FCVI_AGENT_API_H
#define FCVI_AGENT_API_H

#include "../lines/calls.h"
#include "agent.h"

enum {
    API_PLACES = 65536, /* numbers of one kind */
    API_GUARD = 64,     /* bytes behind what the provider writes to */
    API_HOST = 64,
    API_DISCRIMINATOR = 4096,
    API_SEGMENTS = 1024,
    API_CALLS = 256, /* that have not returned */
    API_LONGEST_CLOSE_MS = 10000,
    API_GUARD_BYTE = 0xa7
};

enum kind { KIND_NIC, KIND_PTAG, KIND_CQ, KIND_VI, KIND_CONN, KIND_MEM, KINDS };

/* What a number names, also when it is gone. */
struct thing {
    uintptr_t value;                /* the handle; of memory the VIP_MEM_HANDLE */
    size_t nic;                     /* where it was made */
    VIP_ULONG transfer;             /* of a NIC: its MaxTransferSize */
    VIP_UINT16 host, discriminator; /* of a NIC: lengths of its addresses */
    bool open;                      /* a NIC that is not closed, a VI, conn or mem that the provider holds */
    uintptr_t ptag;                 /* of a VI */
    unsigned char *bytes;           /* of memory: what is registered */
    size_t length;
    unsigned char *pages; /* of memory: the mapping, NULL for a range of another */
    size_t pages_length;
    bool readable;
};

struct things {
    struct thing *at;
    size_t count, room;
};

/* A Descriptor that was posted. */
struct posted {
    uint64_t number;
    uintptr_t va;
    size_t bytes; /* that may be read; 0: none */
    bool back;
    int slot; /* of a pool, or -1 */
    struct pool *pool;
    struct posted *earlier, *next_out, *previous_out;
};

struct pool {
    struct pool *next;
    size_t nic;
    uintptr_t ptag;
    unsigned char *bytes;
    VIP_MEM_HANDLE handle;
    bool used[64];
};

struct control;

/* What a client makes the agent hold until the next reset: memory that it registers, Descriptors, what
 * handlers are to do. */
enum { API_MOST_HELD = 1 << 30, CONTROL_MOST_HELD = 1 << 28 };

struct api {
    struct agent *a;
    /** A call from inside a handler: "result" or "error" into `into`. */
    void (*then)(struct api *api, const json_t *then, json_t *into);
    struct calls calls;
    struct control *control; /* NULL: calls alone */
    pthread_mutex_t lock;    /* of all that follows */
    struct things things[KINDS];
    struct posted *latest, *out;
    uint64_t descriptors, outstanding;
    struct pool *pools;
    struct registration *registrations;
    unsigned handlers_running; /* guarded by lock */
    uint64_t registration_count;
    size_t held, most_held; /* bytes */
    uint64_t since_ns;
};

typedef json_t *api_function(struct api *api, struct params *p);

/* ---- api_methods.c ---- */
/** reset: false with *why. */
bool api_start(struct agent *a, const json_t *config, const char **why);
/** Close every NIC and let go; the agent's order is held once. False: a thread is still caught in the
 * provider. */
bool api_stop(struct agent *a);
/** A request; it is answered now or later. False when there is no such method. */
bool api_request(struct agent *a, const json_t *id, const char *method, struct params *p);
/** Whether there is such a method. */
bool api_has(const char *method);

/* ---- api.c ---- */
uint64_t api_now_us(const struct api *api);
/** The number of this thread: they count as they are first seen. */
int api_thread(void);
/** The VIPL call that this thread is in; NULL: none of the agent's. */
const char *api_within(void);
const char *api_enter(const char *call);
void api_leave(const char *before);
/** How long the latest VIPL call of this thread took, and when it returned; 0: not yet. */
struct api_span {
    uint64_t inside_ns, returned_ns;
};
struct api_span *api_span(void);

/* ---- api_layout.c ---- */
/** NULL when the provider said something that has no name. */
json_t *api_result(VIP_RETURN vip);

/* ---- control.c ---- */
struct control_method;
/** Opens the NIC and watches what completes. False with *why. */
bool control_start(struct api *api, const char *device, const char **why);
void control_free(struct control *c);
const struct control_method *control_find(const char *name);
bool control_waits(const struct control_method *m);
json_t *control_perform(void *context, const void *method, struct params *p);

/* A call of the provider's: its time and its name are kept for the answer and for handlers. */
#define API_CALL(vip, name, ...)                                                                             \
    do {                                                                                                     \
        const char *before_ = api_enter(#name);                                                              \
        (vip) = name(__VA_ARGS__);                                                                           \
        api_leave(before_);                                                                                  \
    } while (0)

/* One with a handle alone. kind: what the provider holds no longer when it succeeds. */
#define API_GIVES_BACK(function, call, name, kind)                                                           \
    json_t *function(struct api *api, struct params *p)                                                      \
    {                                                                                                        \
        void *handle = api_handle_of(api, p, name, kind);                                                    \
        if (p->why[0] != '\0')                                                                               \
            return NULL;                                                                                     \
        const char *before_ = api_enter(#call);                                                              \
        const VIP_RETURN vip = call(handle);                                                                 \
        api_leave(before_);                                                                                  \
        return api_given_back(api, p, name, kind, vip);                                                      \
    }

/* ---- api_things.c: numbers and what they name. With the lock held. ---- */
/** The thing of a parameter: NULL for null, or with p->why set. */
struct thing *api_thing(struct api *api, struct params *p, const char *name, enum kind kind);
/** The handle of a parameter, with the default of dut-protocol-calls.md, section 1, when it is missing. */
void *api_handle(struct api *api, struct params *p, const char *name, enum kind kind);
/** The same without the lock held. */
void *api_handle_of(struct api *api, struct params *p, const char *name, enum kind kind);
/** The NIC of a call: its thing (NULL for null), and its handle. */
struct thing *api_nic(struct api *api, struct params *p, void **handle);
/** The same without the lock held: the NIC's number, API_PLACES for null. */
size_t api_nic_of(struct api *api, struct params *p, void **handle);
/** The result of the call that made it names it, and has its value. The lock is not held. */
void api_made(struct api *api, struct params *p, json_t *result, enum kind kind, struct thing thing);
/** The result of a call that gives it back: on success the provider holds it no longer. The lock is not held.
 */
json_t *api_given_back(struct api *api, struct params *p, const char *name, enum kind kind, VIP_RETURN vip);
/** A new number, or -1 with p->why. */
long api_add(struct api *api, struct params *p, enum kind kind, struct thing thing);
/** Count bytes as held. False with p->why: they are too many. Under the lock. */
bool api_hold(struct api *api, struct params *p, size_t bytes, const char *what);
json_t *api_number_of(const struct api *api, enum kind kind, uintptr_t value);
json_t *api_hex(uint64_t value);
json_t *api_bytes(const unsigned char *bytes, size_t length);
uint64_t api_hex64(struct params *p, const char *name);
/** The newest tag of the NIC; 0: none. */
uintptr_t api_newest_ptag(const struct api *api, size_t nic);
VIP_ULONG api_timeout(struct params *p);
void api_free_things(struct api *api);

/* ---- api_memory.c ---- */
/** Memory whose address says nothing of where else the process has anything: clients are told it. */
unsigned char *region_new(size_t length);
void region_free(unsigned char *bytes, size_t length);
/** Its pages go before the reset: nobody uses them any more. */
void api_release(struct api *api, size_t mem);

/* ---- api_attributes.c ---- */
VIP_VI_ATTRIBUTES api_attributes(struct api *api, struct params *p, size_t nic, struct provider_qos *room);
json_t *api_attributes_json(struct api *api, const VIP_VI_ATTRIBUTES *v);
json_t *api_levels(unsigned bits);
VIP_MEM_ATTRIBUTES api_mem_attributes(struct api *api, struct params *p, size_t nic);
json_t *api_mem_attributes_json(struct api *api, const VIP_MEM_ATTRIBUTES *m);
/** The address of params into room of API_ADDRESS bytes; false with p->why. */
enum {
    API_HEAD = offsetof(VIP_NET_ADDRESS, HostAddress),
    API_ADDRESS = API_HEAD + API_HOST + API_DISCRIMINATOR + API_GUARD
};
union api_address {
    VIP_NET_ADDRESS net;
    unsigned char bytes[API_ADDRESS + 12];
};
bool api_address(struct params *p, const char *name, union api_address *out);
json_t *api_address_json(const union api_address *u);
bool api_guard_stands(const unsigned char *at, size_t length);

/* ---- api_work.c ---- */
json_t *api_done_json(struct api *api, const VIP_DESCRIPTOR *d);
void api_free_work(struct api *api);

/* ---- api_handlers.c ---- */
void api_free_handlers(struct api *api);

api_function api_open_nic, api_close_nic, api_query_nic, api_error_callback, api_create_ptag,
    api_destroy_ptag, api_ns_init, api_ns_by_name, api_ns_by_addr, api_ns_shutdown, api_query_smi;
api_function api_create_vi, api_destroy_vi, api_query_vi, api_set_vi;
api_function api_connect_wait, api_connect_accept, api_connect_reject, api_connect_request, api_peer_request,
    api_peer_done, api_peer_wait, api_disconnect;
api_function api_register_mem, api_deregister_mem, api_query_mem, api_set_mem, api_mem_read, api_mem_write,
    api_mem_pattern, api_mem_poll;
api_function api_create_cq, api_destroy_cq, api_resize_cq, api_cq_done, api_cq_wait, api_cq_notify;
api_function api_post_send, api_post_recv, api_post_send_raw, api_post_recv_raw, api_send_done, api_recv_done,
    api_send_wait, api_recv_wait, api_send_notify, api_recv_notify;
api_function api_layout, api_state, api_devices, api_inject;

#endif
