/* Providers that are odd and conform: no case may fail one. */
#include "../../lines/clock.h"
#include "faults.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

enum { LATE = 512, LATE_US = 15000, SLOW_NS = 2 * 1000 * 1000 };

/* ---- completions ---- */

static int one_a_poll(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    return layer_plain.poll_cq(cq, count > 1 ? 1 : count, wc);
}

static struct {
    struct ibv_cq *cq;
    struct ibv_wc wc;
    uint64_t at_us;
} late[LATE];
static size_t late_count;

static void forget_late(void)
{
    late_count = 0;
}

/* Each WC comes 15 ms late, in its order. Not where an event has to find it. */
static int late_poll(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    struct ibv_wc one;
    int got = 0;
    size_t kept = 0;
    if (cq->channel != NULL)
        return layer_plain.poll_cq(cq, count, wc);
    pthread_mutex_lock(&faults_lock);
    while (late_count < LATE && layer_plain.poll_cq(cq, 1, &one) == 1) {
        late[late_count].cq = cq;
        late[late_count].wc = one;
        late[late_count++].at_us = clock_us();
    }
    for (size_t i = 0; i < late_count; i++) {
        if (late[i].cq == cq && got < count && clock_us() - late[i].at_us >= LATE_US)
            wc[got++] = late[i].wc;
        else
            late[kept++] = late[i];
    }
    late_count = kept;
    pthread_mutex_unlock(&faults_lock);
    return got;
}

static int late_destroy(struct ibv_cq *cq)
{
    int returned = layer_plain.destroy_cq(cq);
    size_t kept = 0;
    pthread_mutex_lock(&faults_lock);
    for (size_t i = 0; i < late_count; i++)
        if (returned != 0 || late[i].cq != cq)
            late[kept++] = late[i];
    late_count = kept;
    pthread_mutex_unlock(&faults_lock);
    return returned;
}

/* Nothing for 4 polls out of 5: what a CQ that is moderated looks like. */
static int moderated(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    static unsigned polls;
    if (cq->channel == NULL && __atomic_add_fetch(&polls, 1, __ATOMIC_RELAXED) % 5 != 0)
        return 0;
    return layer_plain.poll_cq(cq, count, wc);
}

static int noise(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    int got = layer_plain.poll_cq(cq, count, wc);
    for (struct ibv_wc *w = wc; got > 0 && w < wc + got; w++) {
        w->vendor_err = 0xdecade;
        if (w->status != IBV_WC_SUCCESS) {
            w->opcode = (enum ibv_wc_opcode)0x5a;
            w->byte_len = 0x5a5a5a5a;
            w->wc_flags = 0x5a0;
        }
    }
    return got;
}

/* ---- sizes ---- */

static struct ibv_cq *large_cq(struct ibv_context *context, int cqe, void *of,
                               struct ibv_comp_channel *channel, int vector)
{
    struct ibv_device_attr attr;
    bool known = layer_plain.query_device(context, &attr) == 0;
    return layer_plain.create_cq(context, known && cqe > 0 && cqe < attr.max_cqe / 2 ? 2 * cqe : cqe, of,
                                 channel, vector);
}

static struct ibv_qp *large_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    struct ibv_device_attr attr;
    if (layer_plain.query_device(pd->context, &attr) == 0) {
        if (init->cap.max_send_wr > 0 && init->cap.max_send_wr < (uint32_t)attr.max_qp_wr / 2)
            init->cap.max_send_wr = 2 * init->cap.max_send_wr + 1;
        if (init->cap.max_recv_wr > 0 && init->cap.max_recv_wr < (uint32_t)attr.max_qp_wr / 2)
            init->cap.max_recv_wr = 2 * init->cap.max_recv_wr + 1;
        if (init->cap.max_send_sge > 0 && init->cap.max_send_sge < (uint32_t)attr.max_sge)
            init->cap.max_send_sge++;
        if (init->cap.max_recv_sge > 0 && init->cap.max_recv_sge < (uint32_t)attr.max_sge)
            init->cap.max_recv_sge++;
    }
    return layer_plain.create_qp(pd, init);
}

static struct ibv_srq *large_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
    struct ibv_device_attr attr;
    if (layer_plain.query_device(pd->context, &attr) == 0 &&
        init->attr.max_wr < (uint32_t)attr.max_srq_wr / 2)
        init->attr.max_wr *= 2;
    return layer_plain.create_srq(pd, init);
}

/* ---- numbers of errors ---- */

static int negative(int returned)
{
    return returned > 0 ? -returned : returned;
}

static int negative_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    return negative(layer_plain.post_send(qp, wr, bad));
}

static int negative_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    return negative(layer_plain.post_recv(qp, wr, bad));
}

static int negative_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    return negative(layer_plain.modify_qp(qp, attr, mask));
}

static int negative_pd(struct ibv_pd *pd)
{
    return negative(layer_plain.dealloc_pd(pd));
}

static int negative_cq(struct ibv_cq *cq)
{
    return negative(layer_plain.destroy_cq(cq));
}

static int without_reason(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    int returned = layer_plain.post_send(qp, wr, bad);
    errno = 0;
    return returned != 0 ? -1 : 0;
}

/* ---- permissions ---- */

static bool is_in(struct ibv_qp *qp, enum ibv_qp_state state)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;
    return layer_plain.query_qp(qp, &attr, IBV_QP_STATE, &init) == 0 && attr.qp_state == state;
}

static int no_send_in_error(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    if (is_in(qp, IBV_QPS_ERR)) {
        *bad = wr;
        return EINVAL;
    }
    return layer_plain.post_send(qp, wr, bad);
}

static int no_receive_in_error(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    if (is_in(qp, IBV_QPS_ERR)) {
        *bad = wr;
        return EINVAL;
    }
    return layer_plain.post_recv(qp, wr, bad);
}

static int no_send_before_rts(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    if (is_in(qp, IBV_QPS_RESET) || is_in(qp, IBV_QPS_INIT)) {
        *bad = wr;
        return EINVAL;
    }
    return layer_plain.post_send(qp, wr, bad);
}

static int slow_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    const struct timespec pause = {.tv_nsec = SLOW_NS};
    nanosleep(&pause, NULL);
    return layer_plain.post_send(qp, wr, bad);
}

static int slow_poll(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    const struct timespec pause = {.tv_nsec = SLOW_NS};
    nanosleep(&pause, NULL);
    return layer_plain.poll_cq(cq, count, wc);
}

const struct fault faults_odd[] = {
    {"odd-one-wc-a-poll", "A poll gives one WC at most.", {.poll_cq = one_a_poll}, NULL},
    {"odd-late-completions",
     "Each WC comes 15 ms late.",
     {.poll_cq = late_poll, .destroy_cq = late_destroy},
     forget_late},
    {"odd-moderated-cq", "WCs come with each fifth poll.", {.poll_cq = moderated}, NULL},
    {"odd-noise-in-wcs",
     "Members that an error does not have are full of rubbish.",
     {.poll_cq = noise},
     NULL},
    {"odd-large-cq", "CQs are twice as large as was asked for.", {.create_cq = large_cq}, NULL},
    {"odd-large-qp", "Queues and their SGEs are larger than was asked for.", {.create_qp = large_qp}, NULL},
    {"odd-large-srq", "SRQs are twice as large as was asked for.", {.create_srq = large_srq}, NULL},
    {"odd-negative-errno",
     "Failures are told by a negative number.",
     {.post_send = negative_send,
      .post_recv = negative_recv,
      .modify_qp = negative_modify,
      .dealloc_pd = negative_pd,
      .destroy_cq = negative_cq},
     NULL},
    {"odd-without-errno",
     "A refused post returns -1 and leaves no reason.",
     {.post_send = without_reason},
     NULL},
    {"odd-refuses-in-error",
     "Posts in Error are refused at once.",
     {.post_send = no_send_in_error, .post_recv = no_receive_in_error},
     NULL},
    {"odd-refuses-in-idle",
     "Sends in Idle are refused before anything is queued.",
     {.post_send = no_send_before_rts},
     NULL},
    {"odd-slow", "Posts and polls take 2 ms.", {.post_send = slow_send, .poll_cq = slow_poll}, NULL},
    {NULL, NULL, {.open_device = NULL}, NULL}};
