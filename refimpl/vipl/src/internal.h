/* What the files of libvipl share. port.h comes before vipl.h: both name VIP_SUCCESS and its like. */
#ifndef FCVI_VIPL_INTERNAL_H
#define FCVI_VIPL_INTERNAL_H

#include <fcvi/port.h>
#include <fcvi/vipl_host.h>
#include <pthread.h>
#include <vipl.h>

enum { HOST_LENGTH = 16, DEVICE_NAME = 64, BUCKETS = 256, MAX_SEGMENTS = FCVI_MAX_SEGMENTS };

enum kind { KIND_NONE, KIND_NIC, KIND_VI, KIND_CQ, KIND_CONN, KIND_PTAG };

/* What a handle names. */
struct object {
    enum kind kind;
    struct device *device;
    struct nic *nic;
    void *handle;
};

/* A handler to run, and until then a Notify request that waits for its Descriptor or entry. */
struct callback {
    struct callback *next;
    void *nic, *vi, *cq; /* handles; for a Notify of a work queue cq is NULL, of a Completion Queue not */
    void *context;
    void (*on_descriptor)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_DESCRIPTOR *);
    void (*on_entry)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_BOOLEAN);
    VIP_DESCRIPTOR *descriptor;
    VIP_BOOLEAN recv;
    VIP_ERROR_DESCRIPTOR error; /* when both handlers are NULL: an asynchronous error of the NIC */
};

struct callbacks {
    struct callback *first, *last;
};

/* A call that waits for its FCVI_EVENT_CALL; lives on the stack of the waiting thread. */
struct call {
    struct call *next;
    uint64_t token;
    bool done;
    struct fcvi_event event;
};

/* A call whose thread may be cancelled: what is to be undone then, with the device locked. */
struct undo {
    void (*end)(void *context, const struct call *);
    void *context;
};

/* How long a call waits on a queue. */
struct patience {
    VIP_ULONG timeout;
    bool begun, over;
    uint64_t until, rest;
};

struct device {
    struct device *next;
    char name[DEVICE_NAME];
    struct fcvi_vipl_nic_ops ops;
    void *context;
    struct fcvi_vipl_nic info; /* names and neighbours are its own copies */
    unsigned pins;             /* calls under way; guarded by the registry */
    struct nic *nics;
    struct vi *bucket[BUCKETS]; /* by the port's number of the VI */
    struct call *calls;
    struct callbacks ready;
    bool settled; /* by the host, since a call looked: the port had something to say */
    bool dispatching;
    pthread_t dispatcher;       /* while dispatching: the thread that runs handlers */
    const void *dispatched_nic; /* of the handler that runs, NULL: none */
    uint64_t serial;            /* of tokens and cookies */
    uint32_t next_ptag, vis, cqs, ptags, regions, region_bytes, events_lost;
};

struct nic {
    struct object object;
    struct nic *next;
    struct vi *vis;
    struct cq *cqs;
    struct conn *conns;
    struct ptag *ptags;
    struct region *bucket[BUCKETS]; /* by memory handle */
    void (*on_error)(VIP_PVOID, VIP_ERROR_DESCRIPTOR *);
    void *error_context;
    bool names_open;
    struct fcvi_vipl_name *names; /* read from a file; NULL: the device's */
    size_t name_count;
};

struct ptag {
    struct object object;
    struct ptag *next;
    uint32_t number, users; /* number: the port's */
};

struct region {
    struct region *next;
    uint8_t *address;
    uint32_t length, handle, mem;
    struct ptag *ptag;
    bool rdma_write, rdma_read;
};

struct entry {
    struct entry *next;
    VIP_DESCRIPTOR *descriptor;
    VIP_MEM_HANDLE handle;
    uint64_t cookie;
    uint32_t status;
    bool done, listed; /* listed: the Completion Queue has it */
};

struct work_queue {
    bool recv;
    struct entry *first, *last;
    uint32_t count;
    struct cq *cq;
    struct callbacks notify;
};

struct vi {
    struct object object;
    struct vi *next, *in_bucket;
    uint32_t number; /* the port's */
    struct ptag *ptag;
    struct fcvi_attributes attributes;
    struct fcvi_vipl_qos qos, remote_qos;
    struct work_queue send, recv;
    bool broken;         /* a catastrophic error: Error for the program, whatever the port has */
    bool unanswered;     /* the last VipDisconnect was; nobody is asked again when the NIC is closed */
    uint64_t teardown;   /* token of the disconnect that follows from it; 0: none under way */
    struct call closing; /* the disconnect of VipCloseNic */
    int closing_vip;
};

struct cq_entry {
    void *vi;
    VIP_BOOLEAN recv;
};

struct cq {
    struct object object;
    struct cq *next;
    struct cq_entry *ring;
    uint32_t capacity, head, count;
    uint32_t attached; /* work queues */
    struct callbacks notify;
};

struct conn {
    struct object object;
    struct conn *next;
    uint32_t number; /* the port's */
    bool busy;       /* VipConnectAccept is under way */
    struct fcvi_vipl_qos remote_qos;
};

/* registry.c: devices and handles of the process */
int vipl_registry_add_device(struct device *);
struct device *vipl_registry_take_device(const char *name);
struct device *vipl_registry_find_device(const char *name);
struct device *vipl_registry_pin_device(const char *name);
struct device *vipl_registry_pin(const void *handle, enum kind);
void vipl_registry_unpin(struct device *);
bool vipl_registry_add(struct object *);
void vipl_registry_remove(struct object *);
void *vipl_registry_find(const void *handle, enum kind, const struct device *);

/* device.c: the lock and the clock of a device, its VIs and its calls */
void vipl_device_lock(struct device *);
void vipl_device_unlock(struct device *);
struct fcvi_port *vipl_device_port(struct device *);
uint64_t vipl_device_now(struct device *);
struct vi *vipl_vi_of_number(struct device *, uint32_t number);
uint64_t vipl_call_begin(struct device *, struct call *, bool waits_for_connection);
bool vipl_token_is_connect_wait(uint64_t token);

/* call.c: the frame of every call, and waiting */
void *vipl_enter(const void *handle, enum kind);
VIP_RETURN vipl_leave(struct device *, int vip);
VIP_RETURN vipl_leave_soon(struct device *, int vip);
bool vipl_wait_step(struct device *, uint64_t deadline);
uint64_t vipl_microseconds(VIP_ULONG timeout);
void vipl_patience_begin(struct device *, struct patience *);
bool vipl_patience_step(struct device *, struct patience *);
bool vipl_patience_rest(const struct patience *);
int vipl_call_await(struct device *, struct call *, int vip, const struct object *, int when_dead);
int vipl_call_await_or_undo(struct device *, struct call *, int vip, const struct object *,
                            const struct undo *);

/* events.c: what the port has to say */
bool vipl_drain(struct device *);

/* callback.c */
void vipl_callbacks_append(struct callbacks *, struct callback *);
struct callback *vipl_callbacks_pop(struct callbacks *);
void vipl_callbacks_free(struct callbacks *);
void vipl_callbacks_cancel(struct device *, const void *vi, const void *cq);
void vipl_dispatch(struct device *);
void vipl_run_handlers(struct device *);
/* Until no other thread is in a handler of this NIC. */
void vipl_callbacks_await(struct device *, const void *nic);

/* errors.c */
struct error_source {
    struct vi *vi;
    VIP_DESCRIPTOR *descriptor;
    uint32_t op;
    VIP_RESOURCE_CODE resource;
    enum fcvi_vip_error code;
};
void vipl_raise_port_error(struct device *, uint32_t vi, enum fcvi_vip_error);
void vipl_raise_on_descriptor(struct vi *, enum fcvi_vip_error, VIP_DESCRIPTOR *, uint32_t op);
void vipl_vi_break(struct vi *);

/* nic.c */
void vipl_nic_close(struct nic *);

/* attributes.c */
int vipl_attributes_in(struct nic *, const VIP_VI_ATTRIBUTES *, struct fcvi_attributes *, struct ptag **);
void vipl_attributes_out(const struct fcvi_attributes *, struct fcvi_vipl_qos *, VIP_VI_ATTRIBUTES *);

/* address.c */
bool vipl_address_in(const struct nic *, const VIP_NET_ADDRESS *, struct fcvi_address *);
bool vipl_address_is_own(const struct nic *, const struct fcvi_address *);
void vipl_address_out(const struct fcvi_address *, uint16_t own_length, VIP_NET_ADDRESS *);
uint8_t *vipl_address_host(VIP_NET_ADDRESS *);

/* vi.c */
void vipl_vi_free(struct vi *);
int vipl_vi_state(struct vi *, VIP_VI_STATE *);

/* connect.c */
void vipl_conn_free(struct conn *);

/* ptag.c */
struct ptag *vipl_ptag_find(struct nic *, const void *handle);
void vipl_ptag_free(struct ptag *);

/* regions.c */
struct region *vipl_region_find(struct nic *, uint32_t handle);
bool vipl_region_covers(const struct region *, const void *address, uint64_t length);
void vipl_region_free(struct nic *, struct region *);

/* pages.c */
/* Whether all of these bytes are there, to be read and written. Where the system cannot say (no /proc), they
 * are. */
bool vipl_pages_usable(const void *address, size_t length);
/* How many bytes of its last page are behind it. */
uint32_t vipl_page_rest(const void *address, size_t length);

/* descriptor.c */
bool vipl_descriptor_readable(struct vi *, const VIP_DESCRIPTOR *, VIP_MEM_HANDLE);
uint32_t vipl_descriptor_op(const VIP_DESCRIPTOR *, bool recv);
void vipl_descriptor_translate(struct vi *, bool recv, const VIP_DESCRIPTOR *, struct fcvi_descriptor *);
void vipl_descriptor_write_back(VIP_DESCRIPTOR *, const struct fcvi_completion *);

/* work_queue.c */
void vipl_queue_complete(struct vi *, struct work_queue *, const struct fcvi_completion *);
void vipl_queue_collect(struct vi *);
void vipl_queue_post(struct vi *, struct work_queue *, VIP_DESCRIPTOR *, VIP_MEM_HANDLE);
void vipl_queue_serve(struct vi *, struct work_queue *);
int vipl_queue_take(struct work_queue *, VIP_DESCRIPTOR **);
void vipl_queue_free(struct work_queue *, const void *vi);

/* cq_entries.c */
void vipl_cq_push(struct cq *, void *vi, VIP_BOOLEAN recv);
bool vipl_cq_pop(struct cq *, struct cq_entry *);
void vipl_cq_tell(struct cq *, const struct cq_entry *);
void vipl_cq_forget(struct cq *, const void *vi);

/* cq.c */
void vipl_cq_free(struct cq *);

/* names.c */
void vipl_names_free(struct nic *);

#endif
