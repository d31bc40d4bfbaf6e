/* fcvi-verbs-agent: the wire "verbs" of the DUT protocol over libibverbs and librdmacm.
 *
 * `lock` guards the table of things and the events of connections; no call of a provider is made under it. A
 * thing is held while a call uses it, and is destroyed only when nobody holds it. */
#ifndef FCVI_VERBS_AGENT_H
#define FCVI_VERBS_AGENT_H

#include "../lines/calls.h"
#include "../lines/params.h"
#include "devices.h"
#include "layer.h"

enum {
    VERBS_THREADS = 16,         /* numbers of `thread` */
    VERBS_OPEN_CALLS = 256,     /* that have not returned */
    VERBS_NUMBERS = 1 << 20,    /* given since the reset */
    VERBS_WRS = 4096,           /* in one list of a post, as it is written */
    VERBS_ALL_WRS = 1 << 16,    /* with those that `times` makes */
    VERBS_WCS = 128,            /* in one answer: it has to fit into a line */
    VERBS_SGES = 1024,          /* of a WR */
    VERBS_PRIVATE = 255,        /* bytes that rdma_conn_param has room for */
    VERBS_CONNECTIONS = 4096,   /* that stand, begin or are asked for */
    VERBS_CLEAN_MS = 10 * 1000, /* for a reset to end calls, and as long again to destroy what is left */
};

enum kind {
    KIND_RNIC,
    KIND_PD,
    KIND_HANDLER,
    KIND_CQ,
    KIND_QP,
    KIND_SRQ,
    KIND_MR,
    KIND_MW,
    KIND_MEM,
    KIND_LISTENER,
    KIND_REQUEST,
    KIND_LOOP,
    KINDS
};

struct connection;
struct loop;

/** Something that has a number. */
struct thing {
    uint64_t number;
    enum kind kind;
    unsigned users;    /* calls that use it now */
    atomic_bool going; /* is being destroyed, or not there yet */
    union {
        void *any;
        struct ibv_context *context;
        struct ibv_pd *pd;
        struct ibv_comp_channel *channel;
        struct ibv_cq *cq;
        struct ibv_qp *qp;
        struct ibv_srq *srq;
        struct ibv_mr *mr;
        struct ibv_mw *mw;
        struct connection *connection; /* of a listener or a request */
        struct loop *loop;
        unsigned char *bytes; /* of memory */
    };
    const struct device *device; /* of an RNIC and of a QP; NULL: none that the agent serves */
    struct connection *to;       /* of a QP; NULL: none */
    bool moved;                  /* QP: out of RESET, as far as the agent knows; RNIC: its events ended */
    bool read_only;              /* memory */
    bool init_by_agent;          /* QP: the agent chose the rights of its INIT */
    uint64_t bind;               /* of a window: the wr_id of the last bind that was posted */
    uint32_t bind_rkey;          /* and its rkey, which is that of the window once its WC says success */
    unsigned char *pages;        /* of memory, with a page before and behind */
    size_t pages_length, length;
};

struct cleaning;

struct verbs {
    struct client client;
    const struct layer *layer;
    const struct devices *devices;
    bool started;
    struct calls calls;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct thing **things; /* by number */
    size_t count, room;
    size_t memory;
    size_t connections;
    bool hold_async;
    struct rdma_event_channel *events; /* NULL until a connection is asked for */
    pthread_t watcher;
    bool watched;
    atomic_bool watch_ends;
    int wake;                  /* makes the watcher look again */
    struct cleaning *cleaning; /* on its way; NULL: none */
    char left[64];             /* what could not be destroyed */
};

/** What a call of the provider came to. */
struct outcome {
    int error; /* 0: success; else an errno, positive */
    uint64_t began_ns, us, at_us;
};

/* ---- outcome.c ---- */
uint64_t verbs_now_us(void);
void outcome_begin(struct outcome *o);
/** The call returned an int of libibverbs. */
void outcome_int(struct outcome *o, int returned);
/** The call returned a pointer, or whether it was good; the reason is in errno. */
void outcome_good(struct outcome *o, bool good);
json_t *outcome_json(const struct outcome *o);
json_t *verbs_hex64(uint64_t value);
json_t *verbs_bytes(const unsigned char *bytes, size_t length);
/** 16 hexadecimal digits. */
uint64_t params_hex64(struct params *p, const char *name, bool optional, uint64_t otherwise);
/** A number that may be negative. */
int params_int(struct params *p, const char *name);
/** A member `Timeout`, in us. */
uint64_t params_timeout(struct params *p, uint64_t otherwise);

/* ---- things.c ---- */
/** The thread of watch.c looks anew at what there is. */
void verbs_wake(struct verbs *v);
/** The thing of this number, held; NULL with p->why. */
struct thing *things_take(struct verbs *v, struct params *p, const char *name, enum kind kind);
/** The same, and null or nothing is no thing. */
struct thing *things_take_or_none(struct verbs *v, struct params *p, const char *name, enum kind kind);
/** NULL is nothing. */
void things_drop(struct verbs *v, struct thing *t);
/** For its destruction: nobody else uses it. NULL with p->why. */
struct thing *things_take_out(struct verbs *v, struct params *p, const char *name, enum kind kind);
/** It is destroyed, or else it stays. */
void things_put_out(struct verbs *v, struct thing *t, bool destroyed);
/** A new thing; NULL with p->why. It has no number that anybody knows before things_publish(). */
struct thing *things_new(struct verbs *v, struct params *p, enum kind kind);
json_t *things_publish(struct verbs *v, struct thing *t, void *native);
/** A number was not needed after all. */
void things_forget(struct verbs *v, struct thing *t);
/** The number of what the provider named, or null. */
json_t *things_number(struct verbs *v, enum kind kind, const void *native);
json_t *things_number_of_qp(struct verbs *v, const struct ibv_context *context, uint32_t qp_num);
/** A program tells a window of type 2 its rkey when the bind is done: libibverbs does so for type 1 alone,
 * and a provider may compare it at the next bind. */
void things_post_bind(struct verbs *v, const struct ibv_send_wr *wr);
void things_end_bind(struct verbs *v, uint64_t wr_id);
/** The next of a kind from `from` on, under the lock; NULL: none. */
struct thing *things_next(struct verbs *v, enum kind kind, size_t *from);
extern const char *const kind_names[KINDS];

/* ---- dispatch.c ---- */
struct verbs *verbs_new(int sink, const struct layer *layer, const struct devices *devices);
void verbs_free(struct verbs *v);
struct verbs *verbs_of(struct client *c);

/* ---- leftovers.c ---- */
/** Destroys all that is left; NULL, or what could not be destroyed in time. */
const char *verbs_destroy_all(struct verbs *v);

/* ---- watch.c ---- */
/** The thread that reads events. False: there is none. */
bool verbs_watch(struct verbs *v);
void verbs_unwatch(struct verbs *v);

/* ---- connections.c ---- */
/** An event of librdmacm, which the caller acknowledges; then it destroys what is returned, if it is
 * something. */
struct rdma_cm_id *connection_event(struct verbs *v, const struct rdma_cm_event *event);
/** What a QP had is let go. NULL is nothing. */
void connection_end(struct verbs *v, struct connection *c);
/** Moves a QP of an InfiniBand flavour to INIT where it has never been moved, so that it can take Receives.
 */
void connection_may_receive(struct thing *qp);

/* ---- loop.c ---- */
void loop_end(struct verbs *v, struct loop *l);

/* ---- work.c ---- */
struct send_list {
    struct ibv_send_wr *wrs;
    struct ibv_sge *sges;
    struct thing **held;
    size_t count, held_count;
};
/** WRs of the send queue, as `wrs` has them; held until work_free_sends(). False with p->why. */
bool work_sends(struct verbs *v, struct params *p, const json_t *wrs, struct send_list *out);
void work_free_sends(struct verbs *v, struct send_list *list);

/* A call that destroys an object; t: its thing. */
#define VERB_GIVES_BACK(function, name, kind, call)                                                          \
    json_t *function(struct verbs *v, struct params *p)                                                      \
    {                                                                                                        \
        struct outcome o;                                                                                    \
        struct thing *t = things_take_out(v, p, name, kind);                                                 \
        if (t == NULL)                                                                                       \
            return NULL;                                                                                     \
        outcome_begin(&o);                                                                                   \
        outcome_int(&o, call);                                                                               \
        things_put_out(v, t, o.error == 0);                                                                  \
        return outcome_json(&o);                                                                             \
    }

/* ---- calls: NULL when p->why is set ---- */
typedef json_t *verbs_call(struct verbs *v, struct params *p);
verbs_call verb_open_rnic, verb_query_rnic, verb_close_rnic, verb_allocate_pd, verb_deallocate_pd;
verbs_call verb_set_handler, verb_clear_handler, verb_get_event;
verbs_call verb_create_cq, verb_query_cq, verb_resize_cq, verb_destroy_cq, verb_poll_cq,
    verb_request_notification;
verbs_call verb_create_qp, verb_query_qp, verb_modify_qp, verb_destroy_qp;
verbs_call verb_mem_new, verb_mem_read, verb_mem_write, verb_mem_pattern, verb_mem_poll;
verbs_call verb_register_mr, verb_reregister_mr, verb_deregister_mr;
verbs_call verb_allocate_mw, verb_bind_mw, verb_deallocate_mw;
verbs_call verb_create_srq, verb_query_srq, verb_modify_srq, verb_destroy_srq;
verbs_call verb_post_sq, verb_post_rq, verb_post_srq;
verbs_call verb_listen, verb_unlisten, verb_connect, verb_accept, verb_reject, verb_disconnect;
verbs_call verb_devices, verb_loop, verb_stop, verb_state, verb_hold, verb_exit;

#endif
