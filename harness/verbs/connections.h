/* A connection of librdmacm, from its first call to the end of its rdma_cm_id. */
#ifndef FCVI_VERBS_CONNECTIONS_H
#define FCVI_VERBS_CONNECTIONS_H

#include "agent.h"

enum { CONNECTION_SAID = 8 }; /* events of one attempt that nobody has taken */

struct said {
    enum rdma_cm_event_type event;
    int status;
    unsigned ord, ird;
    unsigned char data[VERBS_PRIVATE];
    size_t length;
};

struct connection {
    struct verbs *v;
    struct rdma_cm_id *id;
    unsigned users;    /* calls that use it now */
    uint64_t qp;       /* number; 0: none yet */
    uint64_t listener; /* number, when it is one */
    bool attempting;   /* a call waits for what is said */
    bool over;         /* it has been disconnected */
    struct said said[CONNECTION_SAID];
    size_t count;
};

/** A new one; NULL with p->why. */
struct connection *connection_new(struct verbs *v, struct params *p);
/** The channel of all; NULL: the machine has none. */
struct rdma_event_channel *connection_channel(struct verbs *v);
/** The next that is said of it. False: the time is up, or the agent ends. */
bool connection_wait(struct connection *c, const struct thing *qp, uint64_t until, struct said *out);
/** The notification `cm`. */
void connection_tell(struct verbs *v, uint64_t qp, const struct said *s);
/** The connection that a QP has, for a call; NULL: none. */
struct connection *connection_hold(struct verbs *v, const struct thing *qp);
void connection_drop(struct verbs *v, struct connection *c);
/** A connection that is over is let go, as the QP is to have another; one that is not, too, when the QP was
 * moved to RESET. */
void connection_forget_old(struct verbs *v, struct thing *qp, bool reset);
bool connection_is_iwarp(const struct thing *qp);
/** ibv_modify_qp by the agent itself. A QP that gets rights gets the one to bind windows besides, unless the
 * provider refuses it: some heed IBV_ACCESS_MW_BIND there, and some do not know it (B62). 0, or an errno. */
int connection_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
/** A QP of InfiniBand to a state, with what librdmacm has for it. 0, or an errno. */
int connection_move(struct thing *qp, struct rdma_cm_id *id, enum ibv_qp_state to, const unsigned *access,
                    const struct rdma_conn_param *param);
/** Where the link loses frames, a QP of InfiniBand sends again after 0.3 s, and not after librdmacm's 2 s. */
void connection_is_lossy(const struct verbs *v, struct rdma_cm_id *id);
bool connection_is_init(const struct thing *qp);

#endif
