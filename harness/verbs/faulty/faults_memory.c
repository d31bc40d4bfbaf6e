/* Regions, windows, and data that are not as they have to be. */
#include "faults.h"

#include <errno.h>
#include <stdbool.h>

#define INSTALL_AS(function, member)                                                                         \
    static void install_##function(struct layer *layer)                                                      \
    {                                                                                                        \
        layer->member = function;                                                                            \
    }

enum { PAGE = 4096, RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

static struct ibv_mr *all_rights(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                 unsigned access)
{
    return layer_plain.reg_mr(pd, address, length, iova, access | RIGHTS);
}
INSTALL_AS(all_rights, reg_mr)

static struct ibv_mr *local_added(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                  unsigned access)
{
    if ((access & IBV_ACCESS_REMOTE_WRITE) != 0)
        access |= IBV_ACCESS_LOCAL_WRITE;
    return layer_plain.reg_mr(pd, address, length, iova, access);
}
INSTALL_AS(local_added, reg_mr)

static struct ibv_mr *write_added(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                  unsigned access)
{
    if ((access & IBV_ACCESS_REMOTE_READ) != 0)
        access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
    return layer_plain.reg_mr(pd, address, length, iova, access);
}
INSTALL_AS(write_added, reg_mr)

static struct ibv_mr *read_added(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                 unsigned access)
{
    return layer_plain.reg_mr(pd, address, length, iova, access | IBV_ACCESS_REMOTE_READ);
}
INSTALL_AS(read_added, reg_mr)

static struct ibv_mr *no_remote(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                unsigned access)
{
    return layer_plain.reg_mr(pd, address, length, iova,
                              access & ~(unsigned)(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE));
}
INSTALL_AS(no_remote, reg_mr)

/* The memory of the agent ends where its last page does: a region may be as long as that. */
static struct ibv_mr *whole_pages(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                  unsigned access)
{
    size_t rest = PAGE - ((uintptr_t)address + length) % PAGE;
    return layer_plain.reg_mr(pd, address, length > 0 && rest < PAGE ? length + rest : length, iova, access);
}
INSTALL_AS(whole_pages, reg_mr)

static struct ibv_mr *short_region(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                   unsigned access)
{
    return layer_plain.reg_mr(pd, address, length > 1 ? length - 1 : length, iova, access);
}
INSTALL_AS(short_region, reg_mr)

static struct ibv_mr *aligned_only(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                   unsigned access)
{
    if ((uintptr_t)address % 8 != 0) {
        errno = EINVAL;
        return NULL;
    }
    return layer_plain.reg_mr(pd, address, length, iova, access);
}
INSTALL_AS(aligned_only, reg_mr)

/* The key that is told is not the one that works. */
static struct ibv_mr *index_zero(struct ibv_pd *pd, void *address, size_t length, const uint64_t *iova,
                                 unsigned access)
{
    struct ibv_mr *mr = layer_plain.reg_mr(pd, address, length, iova, access);
    if (mr != NULL)
        mr->rkey &= 0xff;
    return mr;
}
INSTALL_AS(index_zero, reg_mr)

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

static void install_other_pd(struct layer *layer)
{
    layer->reg_mr = other_pd;
    layer->dealloc_pd = first_pd_goes;
    faults_forget = forget_first_pd;
}

static int lives_on(struct ibv_mr *mr)
{
    faults_pretend_mr(mr);
    return 0;
}
INSTALL_AS(lives_on, dereg_mr)

static int stays(struct ibv_mr *mr)
{
    (void)mr;
    return EBUSY;
}
INSTALL_AS(stays, dereg_mr)

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
    }                                                                                                        \
    static void install_##name(struct layer *layer)                                                          \
    {                                                                                                        \
        layer->post_send = name##_post;                                                                      \
        layer->bind_mw = name##_bind;                                                                        \
    }

BINDS(long_window, b->length += 8)
BINDS(window_rights, b->mw_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)
BINDS(window_beside, b->addr += b->length > 16 ? 8 : 0)

static int window_lives_on(struct ibv_mw *mw)
{
    faults_pretend_mw(mw);
    return 0;
}
INSTALL_AS(window_lives_on, dealloc_mw)

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
INSTALL_AS(not_invalidated, post_send)

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

static void install_flipped(struct layer *layer)
{
    layer->post_recv = remember;
    layer->poll_cq = flipped;
    faults_forget = forget_receives;
}

static void install_overran(struct layer *layer)
{
    layer->post_recv = remember;
    layer->poll_cq = overran;
    faults_forget = forget_receives;
}

const struct fault faults_memory[] = {
    {"region-has-all-rights", "Each region has all rights.", install_all_rights},
    {"remote-write-without-local", "Remote write is granted without local write.", install_local_added},
    {"remote-read-gives-write", "Who may read may write.", install_write_added},
    {"all-may-read", "Each region can be read by the peer.", install_read_added},
    {"remote-rights-lost", "No region has remote rights.", install_no_remote},
    {"region-of-whole-pages", "A region goes on to the end of its page.", install_whole_pages},
    {"region-too-short", "A region lacks its last byte.", install_short_region},
    {"region-aligned-only", "A region that is not aligned is refused.", install_aligned_only},
    {"index-zero", "The STag index that is told is 0.", install_index_zero},
    {"pd-unchecked", "All regions have the PD of the first.", install_other_pd},
    {"region-lives-on", "A deallocated STag gives access.", install_lives_on},
    {"region-stays", "No region can be deallocated.", install_stays},
    {"window-too-long", "A window has eight bytes too many.", install_long_window},
    {"window-has-all-rights", "Each window has both rights.", install_window_rights},
    {"window-beside", "A window begins eight bytes further.", install_window_beside},
    {"window-lives-on", "A deallocated window gives access.", install_window_lives_on},
    {"not-invalidated", "Invalidate Local does nothing.", install_not_invalidated},
    {"data-changed", "The first byte of each Receive is changed.", install_flipped},
    {"receive-overruns", "A byte behind the Receive is changed.", install_overran},
    {NULL, NULL, NULL}};
