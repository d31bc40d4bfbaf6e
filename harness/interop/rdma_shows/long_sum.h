/* A Send from two elements of 2^31 and 2^31 + 8 bytes, both within one region. The region is 16 MiB of memory
 * that are mapped again and again, so that a small guest has it. */
#ifndef RDMA_SHOW_LONG_SUM_H
#define RDMA_SHOW_LONG_SUM_H

#include "show.h"
#include <sys/mman.h>
#include <sys/resource.h>

/* Whether the Send is a success and arrives as one of 8 bytes. */
static inline int long_sum(const char *address)
{
    const size_t half = (size_t)1 << 31, piece = 1 << 24;
    struct end left, right;
    connected(&left, &right, address);
    MUST(setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}) == 0);
    char *base = mmap(NULL, half + piece, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    FILE *memory = tmpfile();
    MUST(base != MAP_FAILED && memory != NULL && ftruncate(fileno(memory), (off_t)piece) == 0);
    for (size_t at = 0; at < half + piece; at += piece)
        MUST(mmap(base + at, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fileno(memory), 0) ==
             base + at);
    struct ibv_mr *mr = ibv_reg_mr(left.pd, base, half + 8, IBV_ACCESS_LOCAL_WRITE);
    MUST(mr != NULL && post_recv(&right, 2) == 0);
    struct ibv_sge sges[2] = {{(uintptr_t)base, 1U << 31, mr->lkey},
                              {(uintptr_t)base, (1U << 31) + 8, mr->lkey}};
    struct ibv_send_wr wr = {
        .wr_id = 1, .sg_list = sges, .num_sge = 2, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad;
    int returned = ibv_post_send(left.id->qp, &wr, &bad);
    printf("Send of %llu bytes: %s\n", (1ULL << 32) + 8, returned == 0 ? "accepted" : strerror(returned));
    struct ibv_wc sent = {.status = IBV_WC_GENERAL_ERR}, got = {.status = IBV_WC_GENERAL_ERR};
    usleep(2000 * 1000);
    int count = ibv_poll_cq(left.scq, 1, &sent) + ibv_poll_cq(right.rcq, 1, &got);
    printf("the Send: %s; the Receive: %s, %u bytes\n", ibv_wc_status_str(sent.status),
           ibv_wc_status_str(got.status), got.byte_len);
    return count == 2 && sent.status == IBV_WC_SUCCESS && got.status == IBV_WC_SUCCESS && got.byte_len == 8;
}

#endif
