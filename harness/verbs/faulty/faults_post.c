/* Posts that are not what they were asked to be. */
#include "faults.h"

#include <errno.h>
#include <stdbool.h>

/* Each WR of a list is changed before it is posted, and stays so: agent.loop, which posts one WR again and
 * again, changes it each time. */
#define CHANGE(name, condition, change)                                                                      \
    static int name(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)                     \
    {                                                                                                        \
        for (struct ibv_send_wr *w = wr; w != NULL; w = w->next)                                             \
            if (condition)                                                                                   \
                change;                                                                                      \
        return layer_plain.post_send(qp, wr, bad);                                                           \
    }

#define REFUSE(name, condition)                                                                              \
    static int name(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)                     \
    {                                                                                                        \
        for (const struct ibv_send_wr *w = wr; w != NULL; w = w->next)                                       \
            if (condition) {                                                                                 \
                *bad = wr;                                                                                   \
                return EINVAL;                                                                               \
            }                                                                                                \
        return layer_plain.post_send(qp, wr, bad);                                                           \
    }

#define HAS_DATA (w->num_sge > 0 && w->sg_list[0].length > 1)

CHANGE(all_signaled, true, w->send_flags |= IBV_SEND_SIGNALED)
CHANGE(none_signaled, true, w->send_flags &= ~(unsigned)IBV_SEND_SIGNALED)
CHANGE(none_solicited, true, w->send_flags &= ~(unsigned)IBV_SEND_SOLICITED)
CHANGE(all_solicited, true, w->send_flags |= IBV_SEND_SOLICITED)
CHANGE(one_sge, w->num_sge > 1, w->num_sge = 1)
CHANGE(short_by_one, HAS_DATA && w->opcode == IBV_WR_SEND, w->sg_list[0].length--)
CHANGE(write_beside, HAS_DATA && w->opcode == IBV_WR_RDMA_WRITE, w->wr.rdma.remote_addr++)
CHANGE(read_beside, HAS_DATA && w->opcode == IBV_WR_RDMA_READ, w->wr.rdma.remote_addr++)
CHANGE(send_beside, HAS_DATA && w->opcode == IBV_WR_SEND, (w->sg_list[0].addr++, w->sg_list[0].length--))
CHANGE(sent_without_inv, w->opcode == IBV_WR_SEND_WITH_INV, w->opcode = IBV_WR_SEND)
CHANGE(read_not_written, w->opcode == IBV_WR_RDMA_READ, (w->opcode = IBV_WR_SEND, w->num_sge = 0))
CHANGE(write_with_imm, w->opcode == IBV_WR_RDMA_WRITE, w->opcode = IBV_WR_RDMA_WRITE_WITH_IMM)
REFUSE(no_empty_message, w->num_sge == 1 && w->sg_list[0].length == 0)
REFUSE(no_lists, w->next != NULL)
REFUSE(no_gather, w->num_sge > 3)

/* ---- lists ---- */

static int only_first(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct ibv_send_wr *rest = wr->next;
    wr->next = NULL;
    int returned = layer_plain.post_send(qp, wr, bad);
    wr->next = rest;
    return returned;
}

static int backwards(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct ibv_send_wr *turned = NULL;
    while (wr != NULL) {
        struct ibv_send_wr *next = wr->next;
        wr->next = turned;
        turned = wr;
        wr = next;
    }
    return layer_plain.post_send(qp, turned, bad);
}

static int receives_backwards(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct ibv_recv_wr *turned = NULL;
    while (wr != NULL) {
        struct ibv_recv_wr *next = wr->next;
        wr->next = turned;
        turned = wr;
        wr = next;
    }
    return layer_plain.post_recv(qp, turned, bad);
}

/* The last of a list is forgotten. */
static int receive_forgotten(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct ibv_recv_wr *last = wr;
    while (last->next != NULL && last->next->next != NULL)
        last = last->next;
    last->next = NULL;
    return layer_plain.post_recv(qp, wr, bad);
}

static int srq_receive_forgotten(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    wr->next = NULL;
    return layer_plain.post_srq_recv(srq, wr, bad);
}

/* ---- refusals ---- */

static int never_refused(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)layer_plain.post_send(qp, wr, bad);
    return 0;
}

static int receive_never_refused(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    (void)layer_plain.post_recv(qp, wr, bad);
    return 0;
}

/* The first WR of the list is named, whichever was refused. */
static int bad_is_first(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    int returned = layer_plain.post_send(qp, wr, bad);
    if (returned != 0)
        *bad = wr;
    return returned;
}

/* A queue that takes four WRs, whatever was granted: they are counted by QP number, until a WC of the QP is
 * polled. */
static unsigned counted[FAULTS_KNOWN];

static void forget_counted(void)
{
    memset(counted, 0, sizeof counted);
}

static int small_queue(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    unsigned *posted = &counted[qp->qp_num % FAULTS_KNOWN];
    for (; wr != NULL; wr = wr->next) {
        struct ibv_send_wr one = *wr, *ignored = NULL;
        one.next = NULL;
        int returned = *posted >= 4 ? ENOMEM : layer_plain.post_send(qp, &one, &ignored);
        if (returned != 0) {
            *bad = wr;
            return returned;
        }
        ++*posted;
    }
    return 0;
}

static int small_queue_poll(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    int got = layer_plain.poll_cq(cq, count, wc);
    for (int i = 0; i < got; i++)
        counted[wc[i].qp_num % FAULTS_KNOWN] = 0;
    return got;
}

/* ---- keys ---- */

/* The key of a region that an address lies in, whatever key was given. */
static bool key_of(uint64_t address, uint32_t *lkey, uint32_t *rkey)
{
    bool found = false;
    pthread_mutex_lock(&faults_lock);
    for (size_t i = 0; i < faults_mr_count && !found; i++)
        if (address >= faults_mrs[i].begin && address < faults_mrs[i].end) {
            *lkey = faults_mrs[i].mr->lkey;
            *rkey = faults_mrs[i].mr->rkey;
            found = true;
        }
    pthread_mutex_unlock(&faults_lock);
    return found;
}

static int local_keys(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    uint32_t ignored;
    for (const struct ibv_send_wr *w = wr; w != NULL; w = w->next)
        for (int i = 0; i < w->num_sge; i++)
            (void)key_of(w->sg_list[i].addr, &w->sg_list[i].lkey, &ignored);
    return layer_plain.post_send(qp, wr, bad);
}

static struct ibv_mr *remember(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                               unsigned access)
{
    struct ibv_mr *mr = layer_plain.reg_mr(pd, address, length, iova, access);
    pthread_mutex_lock(&faults_lock);
    if (mr != NULL && faults_mr_count < FAULTS_KNOWN)
        faults_mrs[faults_mr_count++] =
            (struct known_mr){mr, (uintptr_t)address, (uintptr_t)address + length};
    pthread_mutex_unlock(&faults_lock);
    return mr;
}

static int forget(struct ibv_mr *mr)
{
    pthread_mutex_lock(&faults_lock);
    for (size_t i = 0; i < faults_mr_count; i++)
        if (faults_mrs[i].mr == mr)
            faults_mrs[i] = faults_mrs[--faults_mr_count];
    pthread_mutex_unlock(&faults_lock);
    return layer_plain.dereg_mr(mr);
}

struct known_mr faults_mrs[FAULTS_KNOWN];
size_t faults_mr_count;

static void forget_all(void)
{
    faults_mr_count = 0;
}

static int receive_keys(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    uint32_t ignored;
    for (const struct ibv_recv_wr *w = wr; w != NULL; w = w->next)
        for (int i = 0; i < w->num_sge; i++)
            (void)key_of(w->sg_list[i].addr, &w->sg_list[i].lkey, &ignored);
    return layer_plain.post_recv(qp, wr, bad);
}

static int remote_keys(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    uint32_t ignored;
    for (struct ibv_send_wr *w = wr; w != NULL; w = w->next)
        if (w->opcode == IBV_WR_RDMA_WRITE || w->opcode == IBV_WR_RDMA_READ)
            (void)key_of(w->wr.rdma.remote_addr, &ignored, &w->wr.rdma.rkey);
    return layer_plain.post_send(qp, wr, bad);
}

const struct fault faults_post[] = {
    {"unsignaled-has-wc", "Each send WR is signaled.", {.post_send = all_signaled}, NULL},
    {"signaled-has-no-wc", "No send WR is signaled.", {.post_send = none_signaled}, NULL},
    {"solicited-lost", "No Send is solicited.", {.post_send = none_solicited}, NULL},
    {"odd-all-solicited", "Each Send is solicited.", {.post_send = all_solicited}, NULL},
    {"one-sge-used", "Only the first SGE is sent.", {.post_send = one_sge}, NULL},
    {"send-short-by-one", "A Send lacks its last byte.", {.post_send = short_by_one}, NULL},
    {"send-begins-late", "A Send lacks its first byte.", {.post_send = send_beside}, NULL},
    {"write-beside", "A Write lands a byte further.", {.post_send = write_beside}, NULL},
    {"read-beside", "A Read takes what lies a byte further.", {.post_send = read_beside}, NULL},
    {"write-uses-receive", "A Write takes a Receive of the peer.", {.post_send = write_with_imm}, NULL},
    {"read-is-a-send", "A Read sends an empty message.", {.post_send = read_not_written}, NULL},
    {"invalidate-not-sent", "A Send with Invalidate is a plain Send.", {.post_send = sent_without_inv}, NULL},
    {"empty-message-refused", "A message of length 0 is refused.", {.post_send = no_empty_message}, NULL},
    {"lists-refused", "A list of WRs is refused.", {.post_send = no_lists}, NULL},
    {"four-sges-refused", "More than three SGEs are refused.", {.post_send = no_gather}, NULL},
    {"list-cut", "Only the first WR of a list is posted.", {.post_send = only_first}, NULL},
    {"list-backwards", "The WRs of a list are posted from behind.", {.post_send = backwards}, NULL},
    {"receives-backwards",
     "The Receives of a list are posted from behind.",
     {.post_recv = receives_backwards},
     NULL},
    {"receive-forgotten", "The last Receive of a list is forgotten.", {.post_recv = receive_forgotten}, NULL},
    {"srq-list-cut",
     "Only the first Receive of a list reaches an SRQ.",
     {.post_srq_recv = srq_receive_forgotten},
     NULL},
    {"refused-send-accepted", "A refused send WR is told as accepted.", {.post_send = never_refused}, NULL},
    {"refused-receive-accepted",
     "A refused Receive is told as accepted.",
     {.post_recv = receive_never_refused},
     NULL},
    {"bad-wr-is-first", "The first WR of a list is named as the bad one.", {.post_send = bad_is_first}, NULL},
    {"queue-of-four",
     "The send queue takes four WRs, whatever was granted.",
     {.post_send = small_queue, .poll_cq = small_queue_poll},
     forget_counted},
    {"local-key-unchecked",
     "A Send with an unknown STag is sent.",
     {.reg_mr = remember, .dereg_mr = forget, .post_send = local_keys},
     forget_all},
    {"receive-key-unchecked",
     "A Receive with an unknown STag is filled.",
     {.reg_mr = remember, .dereg_mr = forget, .post_recv = receive_keys},
     forget_all},
    {"remote-key-unchecked",
     "A Write or Read with an unknown STag is carried out.",
     {.reg_mr = remember, .dereg_mr = forget, .post_send = remote_keys},
     forget_all},
    {NULL, NULL, {.open_device = NULL}, NULL}};
