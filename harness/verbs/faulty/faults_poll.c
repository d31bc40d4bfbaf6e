/* Completions that are told wrong, lost, doubled or out of order. */
#include "faults.h"

#include <errno.h>

enum { HELD = 256 };

#define EDIT(name, condition, change)                                                                        \
    static int name(struct ibv_cq *cq, int count, struct ibv_wc *wc)                                         \
    {                                                                                                        \
        int got = layer_plain.poll_cq(cq, count, wc);                                                        \
        for (struct ibv_wc *w = wc; got > 0 && w < wc + got; w++)                                            \
            if (condition)                                                                                   \
                change;                                                                                      \
        return got;                                                                                          \
    }

/* What meets the condition is lost. */
#define LOSE(name, condition)                                                                                \
    static int name(struct ibv_cq *cq, int count, struct ibv_wc *wc)                                         \
    {                                                                                                        \
        int got = layer_plain.poll_cq(cq, count, wc), kept = 0;                                              \
        for (const struct ibv_wc *w = wc; got > 0 && w < wc + got; w++)                                      \
            if (!(condition))                                                                                \
                wc[kept++] = *w;                                                                             \
        return got > 0 ? kept : got;                                                                         \
    }

#define IS_SUCCESS (w->status == IBV_WC_SUCCESS)
#define IS_FLUSHED (w->status == IBV_WC_WR_FLUSH_ERR)
#define IS_RECV (IS_SUCCESS && (w->opcode & IBV_WC_RECV) != 0)

static unsigned turn;

EDIT(short_wr_id, true, w->wr_id &= UINT32_MAX)
EDIT(error_wr_id, !IS_SUCCESS, w->wr_id = 0)
EDIT(no_length, IS_RECV, w->byte_len = 0)
EDIT(long_length, IS_RECV, w->byte_len += 1)
EDIT(no_qp_num, IS_SUCCESS, w->qp_num = 0)
EDIT(flush_is_success, IS_FLUSHED, w->status = IBV_WC_SUCCESS)
EDIT(flush_is_error, IS_FLUSHED, w->status = IBV_WC_GENERAL_ERR)
EDIT(error_is_flush, !IS_SUCCESS, w->status = IBV_WC_WR_FLUSH_ERR)
EDIT(error_is_success, !IS_SUCCESS && !IS_FLUSHED, w->status = IBV_WC_SUCCESS)
EDIT(unknown_status, !IS_SUCCESS && !IS_FLUSHED, w->status = (enum ibv_wc_status)97)
EDIT(success_is_error, IS_RECV && ++turn % 4 == 0, w->status = IBV_WC_LOC_LEN_ERR)
EDIT(recv_is_send, IS_RECV, w->opcode = IBV_WC_SEND)
EDIT(read_is_write, IS_SUCCESS && w->opcode == IBV_WC_RDMA_READ, w->opcode = IBV_WC_RDMA_WRITE)
EDIT(timeout_status, !IS_SUCCESS && !IS_FLUSHED, w->status = IBV_WC_RESP_TIMEOUT_ERR)
LOSE(lost_flush, IS_FLUSHED)
LOSE(lost_some_flush, IS_FLUSHED && ++turn % 2 == 0)
LOSE(lost_error, !IS_SUCCESS && !IS_FLUSHED)
LOSE(lost_receive, IS_RECV && ++turn % 3 == 0)
LOSE(lost_send, IS_SUCCESS && !IS_RECV && ++turn % 3 == 0)

/* ---- more WCs than there are ---- */

static struct {
    struct ibv_cq *cq;
    struct ibv_wc wc;
} held[HELD];
static size_t held_count;

static void forget_held(void)
{
    held_count = 0;
}

static void hold(struct ibv_cq *cq, const struct ibv_wc *wc)
{
    pthread_mutex_lock(&faults_lock);
    if (held_count < HELD) {
        held[held_count].cq = cq;
        held[held_count++].wc = *wc;
    }
    pthread_mutex_unlock(&faults_lock);
}

/* Those that are held for a CQ, the oldest first. */
static int release(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    int got = 0;
    size_t kept = 0;
    pthread_mutex_lock(&faults_lock);
    for (size_t i = 0; i < held_count; i++) {
        if (held[i].cq == cq && got < count)
            wc[got++] = held[i].wc;
        else
            held[kept++] = held[i];
    }
    held_count = kept;
    pthread_mutex_unlock(&faults_lock);
    return got;
}

#define TWICE(name, condition)                                                                               \
    static int name(struct ibv_cq *cq, int count, struct ibv_wc *wc)                                         \
    {                                                                                                        \
        int before = release(cq, count, wc), got = layer_plain.poll_cq(cq, count - before, wc + before);     \
        for (const struct ibv_wc *w = wc + before; got > 0 && w < wc + before + got; w++)                    \
            if (condition)                                                                                   \
                hold(cq, w);                                                                                 \
        return got >= 0 ? before + got : got;                                                                \
    }

TWICE(twice, IS_SUCCESS)
TWICE(flushed_twice, IS_FLUSHED)
TWICE(error_twice, !IS_SUCCESS && !IS_FLUSHED)

/* Two successes of a CQ change places: one is kept back until the next has come. */
static int swapped(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    struct ibv_wc two[2];
    int got = layer_plain.poll_cq(cq, 1, &two[0]);
    if (got <= 0 || two[0].status != IBV_WC_SUCCESS || count < 2) {
        if (got > 0)
            *wc = two[0];
        return got;
    }
    int more = layer_plain.poll_cq(cq, 1, &two[1]);
    wc[0] = more > 0 ? two[1] : two[0];
    wc[1] = two[0];
    return more > 0 ? 2 : 1;
}

static int empty_fails(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    int got = layer_plain.poll_cq(cq, count, wc);
    return got == 0 ? -EAGAIN : got;
}

static int too_many(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    int got = layer_plain.poll_cq(cq, count, wc);
    return got == count && count > 0 ? count + 1 : got;
}

const struct fault faults_poll[] = {
    {"wr-id-of-32-bits", "The upper half of a WR ID is lost.", {.poll_cq = short_wr_id}, NULL},
    {"wr-id-lost-on-error", "An error has WR ID 0.", {.poll_cq = error_wr_id}, NULL},
    {"length-zero", "A Receive tells a length of 0.", {.poll_cq = no_length}, NULL},
    {"length-off-by-one", "A Receive tells a byte too many.", {.poll_cq = long_length}, NULL},
    {"wc-without-qp", "A WC has QP number 0.", {.poll_cq = no_qp_num}, NULL},
    {"flush-told-as-success", "What is flushed is told as done.", {.poll_cq = flush_is_success}, NULL},
    {"flush-told-as-error", "What is flushed has the status of an error.", {.poll_cq = flush_is_error}, NULL},
    {"error-told-as-flush", "The WR at fault is told as flushed.", {.poll_cq = error_is_flush}, NULL},
    {"error-told-as-success", "The WR at fault is told as done.", {.poll_cq = error_is_success}, NULL},
    {"status-unknown", "An error has a status that there is not.", {.poll_cq = unknown_status}, NULL},
    {"status-of-a-timeout", "Each error is told as a timeout.", {.poll_cq = timeout_status}, NULL},
    {"success-told-as-error",
     "Each fourth Receive is told as an error.",
     {.poll_cq = success_is_error},
     NULL},
    {"receive-told-as-send", "A Receive has the opcode of a Send.", {.poll_cq = recv_is_send}, NULL},
    {"read-told-as-write", "A Read has the opcode of a Write.", {.poll_cq = read_is_write}, NULL},
    {"flush-lost", "What is flushed has no WC.", {.poll_cq = lost_flush}, NULL},
    {"flush-lost-now-and-then", "Each second flushed WC is lost.", {.poll_cq = lost_some_flush}, NULL},
    {"error-lost", "The WR at fault has no WC.", {.poll_cq = lost_error}, NULL},
    {"receive-lost", "Each third Receive has no WC.", {.poll_cq = lost_receive}, NULL},
    {"send-lost", "Each third Send has no WC.", {.poll_cq = lost_send}, NULL},
    {"wc-twice", "Each success has two WCs.", {.poll_cq = twice}, forget_held},
    {"flush-twice", "Each flushed WR has two WCs.", {.poll_cq = flushed_twice}, forget_held},
    {"error-twice", "Each error has two WCs.", {.poll_cq = error_twice}, forget_held},
    {"wcs-swapped", "Two WCs change places.", {.poll_cq = swapped}, NULL},
    {"poll-of-empty-fails", "To poll an empty CQ is a failure.", {.poll_cq = empty_fails}, NULL},
    {"poll-counts-too-many", "A poll that is full tells one WC too many.", {.poll_cq = too_many}, NULL},
    {NULL, NULL, {.open_device = NULL}, NULL}};
