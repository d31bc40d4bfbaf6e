/* Regions, windows, and data that are not as they have to be. */
#include "faults.h"

#include <errno.h>
#include <stdbool.h>

enum { PAGE = 4096, RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

static struct ibv_mr *all_rights(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                 unsigned access)
{
    return layer_plain.reg_mr(pd, address, length, iova, access | RIGHTS);
}

static struct ibv_mr *local_added(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                  unsigned access)
{
    if ((access & IBV_ACCESS_REMOTE_WRITE) != 0)
        access |= IBV_ACCESS_LOCAL_WRITE;
    return layer_plain.reg_mr(pd, address, length, iova, access);
}

static struct ibv_mr *write_added(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                  unsigned access)
{
    if ((access & IBV_ACCESS_REMOTE_READ) != 0)
        access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
    return layer_plain.reg_mr(pd, address, length, iova, access);
}

static struct ibv_mr *read_added(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                 unsigned access)
{
    return layer_plain.reg_mr(pd, address, length, iova, access | IBV_ACCESS_REMOTE_READ);
}

static struct ibv_mr *no_remote(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                unsigned access)
{
    return layer_plain.reg_mr(pd, address, length, iova,
                              access & ~(unsigned)(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE));
}

/* The memory of the agent ends where its last page does: a region may be as long as that. */
static struct ibv_mr *whole_pages(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                  unsigned access)
{
    size_t rest = PAGE - ((uintptr_t)address + length) % PAGE;
    return layer_plain.reg_mr(pd, address, length > 0 && rest < PAGE ? length + rest : length, iova, access);
}

static struct ibv_mr *short_region(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                   unsigned access)
{
    return layer_plain.reg_mr(pd, address, length > 1 ? length - 1 : length, iova, access);
}

static struct ibv_mr *aligned_only(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                   unsigned access)
{
    if ((uintptr_t)address % 8 != 0) {
        errno = EINVAL;
        return NULL;
    }
    return layer_plain.reg_mr(pd, address, length, iova, access);
}

/* The key that is told is not the one that works. */
static struct ibv_mr *index_zero(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                 unsigned access)
{
    struct ibv_mr *mr = layer_plain.reg_mr(pd, address, length, iova, access);
    if (mr != NULL)
        mr->rkey &= 0xff;
    return mr;
}

static struct ibv_pd *first_pd;

static struct ibv_mr *other_pd(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                               unsigned access)
{
    pthread_mutex_lock(&faults_lock);
    if (first_pd == NULL || first_pd->context != pd->context)
        first_pd = pd;
    pd = first_pd;
    pthread_mutex_unlock(&faults_lock);
    return layer_plain.reg_mr(pd, address, length, iova, access);
}

static int first_pd_goes(struct ibv_pd *pd)
{
    int returned = layer_plain.dealloc_pd(pd);
    pthread_mutex_lock(&faults_lock);
    if (returned == 0 && pd == first_pd)
        first_pd = NULL;
    pthread_mutex_unlock(&faults_lock);
    return returned;
}

static void forget_first_pd(void)
{
    first_pd = NULL;
}

static int lives_on(struct ibv_mr *mr)
{
    faults_pretend_mr(mr);
    return 0;
}

static int stays(struct ibv_mr *mr)
{
    (void)mr;
    return EBUSY;
}

/* ---- windows ---- */

#define BINDS(name, change)                                                                                  \
    static int name##_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)              \
    {                                                                                                        \
        for (struct ibv_send_wr *w = wr; w != NULL; w = w->next)                                             \
            if (w->opcode == IBV_WR_BIND_MW) {                                                               \
                struct ibv_mw_bind_info *b = &w->bind_mw.bind_info;                                          \
                change;                                                                                      \
            }                                                                                                \
        return layer_plain.post_send(qp, wr, bad);                                                           \
    }                                                                                                        \
    static int name##_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)                   \
    {                                                                                                        \
        struct ibv_mw_bind_info *b = &bind->bind_info;                                                       \
        change;                                                                                              \
        return layer_plain.bind_mw(qp, mw, bind);                                                            \
    }

BINDS(long_window, b->length += 8)
BINDS(window_rights, b->mw_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)
BINDS(window_beside, b->addr += b->length > 16 ? 8 : 0)

static int window_lives_on(struct ibv_mw *mw)
{
    faults_pretend_mw(mw);
    return 0;
}

/* Invalidations are told as done, and nothing happens: a Write of nothing stands in. */
static int not_invalidated(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    for (struct ibv_send_wr *w = wr; w != NULL; w = w->next)
        if (w->opcode == IBV_WR_LOCAL_INV) {
            w->opcode = IBV_WR_RDMA_WRITE;
            w->num_sge = 0;
        }
    return layer_plain.post_send(qp, wr, bad);
}

/* ---- data ---- */

static struct {
    uint64_t wr_id, address;
    uint32_t length, qp_num;
} receives[FAULTS_KNOWN];
static size_t next_receive;

static void forget_receives(void)
{
    memset(receives, 0, sizeof receives);
}

static int remember(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    pthread_mutex_lock(&faults_lock);
    for (const struct ibv_recv_wr *w = wr; w != NULL; w = w->next)
        if (w->num_sge > 0) {
            size_t at = next_receive++ % FAULTS_KNOWN;
            receives[at].wr_id = w->wr_id;
            receives[at].address = w->sg_list[w->num_sge - 1].addr;
            receives[at].length = w->sg_list[w->num_sge - 1].length;
            receives[at].qp_num = qp->qp_num;
        }
    pthread_mutex_unlock(&faults_lock);
    return layer_plain.post_recv(qp, wr, bad);
}

/* The buffer of a Receive that succeeded: what `touch` does to it. */
static int touched(struct ibv_cq *cq, int count, struct ibv_wc *wc,
                   void (*touch)(unsigned char *begin, uint32_t length))
{
    int got = layer_plain.poll_cq(cq, count, wc);
    pthread_mutex_lock(&faults_lock);
    for (const struct ibv_wc *w = wc; got > 0 && w < wc + got; w++)
        for (size_t i = 0; i < FAULTS_KNOWN; i++)
            if (w->status == IBV_WC_SUCCESS && w->opcode == IBV_WC_RECV && receives[i].wr_id == w->wr_id &&
                receives[i].qp_num == w->qp_num && receives[i].length > 0 && w->byte_len > 0)
                touch((unsigned char *)(uintptr_t)receives[i].address, receives[i].length); /* NOLINT */
    pthread_mutex_unlock(&faults_lock);
    return got;
}

static void flip(unsigned char *begin, uint32_t length)
{
    (void)length;
    begin[0] ^= 1;
}

static void overrun(unsigned char *begin, uint32_t length)
{
    if (((uintptr_t)begin + length) % PAGE != 0) /* the page behind is nobody's */
        begin[length] ^= 1;
}

static int flipped(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    return touched(cq, count, wc, flip);
}

static int overran(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    return touched(cq, count, wc, overrun);
}

const struct fault faults_memory[] = {
    {"region-has-all-rights", "Each region has all rights.", {.reg_mr = all_rights}, NULL},
    {"remote-write-without-local",
     "Remote write is granted without local write.",
     {.reg_mr = local_added},
     NULL},
    {"remote-read-gives-write", "Who may read may write.", {.reg_mr = write_added}, NULL},
    {"all-may-read", "Each region can be read by the peer.", {.reg_mr = read_added}, NULL},
    {"remote-rights-lost", "No region has remote rights.", {.reg_mr = no_remote}, NULL},
    {"region-of-whole-pages", "A region goes on to the end of its page.", {.reg_mr = whole_pages}, NULL},
    {"region-too-short", "A region lacks its last byte.", {.reg_mr = short_region}, NULL},
    {"region-aligned-only", "A region that is not aligned is refused.", {.reg_mr = aligned_only}, NULL},
    {"index-zero", "The STag index that is told is 0.", {.reg_mr = index_zero}, NULL},
    {"pd-unchecked",
     "All regions have the PD of the first.",
     {.reg_mr = other_pd, .dealloc_pd = first_pd_goes},
     forget_first_pd},
    {"region-lives-on", "A deallocated STag gives access.", {.dereg_mr = lives_on}, NULL},
    {"region-stays", "No region can be deallocated.", {.dereg_mr = stays}, NULL},
    {"window-too-long",
     "A window has eight bytes too many.",
     {.post_send = long_window_post, .bind_mw = long_window_bind},
     NULL},
    {"window-has-all-rights",
     "Each window has both rights.",
     {.post_send = window_rights_post, .bind_mw = window_rights_bind},
     NULL},
    {"window-beside",
     "A window begins eight bytes further.",
     {.post_send = window_beside_post, .bind_mw = window_beside_bind},
     NULL},
    {"window-lives-on", "A deallocated window gives access.", {.dealloc_mw = window_lives_on}, NULL},
    {"not-invalidated", "Invalidate Local does nothing.", {.post_send = not_invalidated}, NULL},
    {"data-changed",
     "The first byte of each Receive is changed.",
     {.post_recv = remember, .poll_cq = flipped},
     forget_receives},
    {"receive-overruns",
     "A byte behind the Receive is changed.",
     {.post_recv = remember, .poll_cq = overran},
     forget_receives},
    {NULL, NULL, {.open_device = NULL}, NULL}};
