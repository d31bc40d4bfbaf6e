/* Memory, work queues, Completion Queues, Notify and asynchronous errors, where no other port is needed.
 * Expected values from VI-DG 3 to 6. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IS(call, vip) ck_assert_int_eq((call), (vip))

enum {
    DONE = VIP_STATUS_DONE,
    FLUSHED = VIP_STATUS_DONE | VIP_STATUS_DESC_FLUSHED_ERROR,
    UD = VIP_SERVICE_UNRELIABLE
};

/* ---- memory ---- */

START_TEST(test_memory) /* C30 to C34, C44 */
{
    unsigned char *at = bench.memory;
    VIP_MEM_ATTRIBUTES a = {bench.ptag, VIP_FALSE, VIP_FALSE}, wrong = {NULL, VIP_TRUE, VIP_TRUE}, got;
    VIP_MEM_HANDLE handle = 1, second;
    IS(VipRegisterMem(bench.nic, at, 0, &a, &handle), VIP_INVALID_PARAMETER);
    ck_assert_uint_eq(handle, 0);
    IS(VipRegisterMem(bench.nic, NULL, 64, &a, &handle), VIP_INVALID_PARAMETER);
    IS(VipRegisterMem(bench.nic, at, 64, NULL, &handle), VIP_INVALID_PARAMETER);
    IS(VipRegisterMem(bench.nic, at, 64, &wrong, &handle), VIP_INVALID_PTAG);
    IS(VipRegisterMem(bench.nic, at, 2 * BENCH_MEMORY + 1, &a, &handle), VIP_ERROR_RESOURCE);
    IS(VipRegisterMem(bench.nic, at + 3, 61, &a, &handle), VIP_SUCCESS);
    IS(VipRegisterMem(bench.nic, at + 3, 61, &a, &second), VIP_SUCCESS);
    ck_assert_uint_ne(handle, second);
    IS(VipQueryMem(bench.nic, at, handle, &got), VIP_INVALID_PARAMETER);
    IS(VipQueryMem(bench.nic, at + 3, handle, &got), VIP_SUCCESS);
    ck_assert(got.Ptag == bench.ptag && got.EnableRdmaWrite == VIP_FALSE);
    IS(VipSetMemAttributes(bench.nic, at + 3, handle, &wrong), VIP_INVALID_PTAG);
    IS(VipSetMemAttributes(bench.nic, at, handle, &a), VIP_INVALID_PARAMETER);
    IS(VipQueryMem(bench.nic, at + 3, handle, &got), VIP_SUCCESS);
    ck_assert(got.Ptag == bench.ptag && got.EnableRdmaWrite == VIP_FALSE);
    a.EnableRdmaWrite = VIP_TRUE;
    IS(VipCreatePtag(bench.nic, &a.Ptag), VIP_SUCCESS);
    IS(VipSetMemAttributes(bench.nic, at + 3, handle, &a), VIP_SUCCESS);
    IS(VipQueryMem(bench.nic, at + 3, handle, &got), VIP_SUCCESS);
    ck_assert(got.Ptag == a.Ptag && got.EnableRdmaWrite == VIP_TRUE && got.EnableRdmaRead == VIP_FALSE);
    IS(VipDestroyPtag(bench.nic, a.Ptag), VIP_ERROR_RESOURCE); /* C30 */
    IS(VipDeregisterMem(bench.nic, at, handle), VIP_INVALID_PARAMETER);
    IS(VipDeregisterMem(bench.nic, at + 3, handle), VIP_SUCCESS);
    IS(VipDeregisterMem(bench.nic, at + 3, handle), VIP_INVALID_PARAMETER);
    IS(VipDestroyPtag(bench.nic, a.Ptag), VIP_SUCCESS);
    IS(VipDestroyPtag(bench.nic, a.Ptag), VIP_INVALID_PARAMETER);
}
END_TEST

START_TEST(test_memory_limits) /* C33; MaxPtags */
{
    VIP_MEM_ATTRIBUTES a = {bench.ptag, VIP_FALSE, VIP_FALSE};
    VIP_MEM_HANDLE handle;
    VIP_PROTECTION_HANDLE ptag;
    unsigned regions = 1, ptags = 1; /* those of the bench */
    while (VipRegisterMem(bench.nic, bench.memory, 64, &a, &handle) == VIP_SUCCESS)
        regions++;
    ck_assert_uint_eq(regions, MAX_REGIONS);
    IS(VipRegisterMem(bench.nic, bench.memory, 64, &a, &handle), VIP_ERROR_RESOURCE);
    while (VipCreatePtag(bench.nic, &ptag) == VIP_SUCCESS)
        ptags++;
    ck_assert_uint_eq(ptags, MAX_PTAGS);
    IS(VipCreatePtag(bench.nic, &ptag), VIP_ERROR_RESOURCE);
}
END_TEST

/* ---- work queues ---- */

START_TEST(test_queue) /* C35 to C39; VI-DG 3.5 */
{
    VIP_VI_HANDLE vi = create_vi(UD, NULL, NULL);
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)&d;
    VIP_DESCRIPTOR *send = descriptor(0, 0, 64), *recv = descriptor(1, 0, 64);
    IS(VipPostSend(NULL, send, bench.handle), VIP_INVALID_PARAMETER);
    IS(VipSendDone(vi, NULL), VIP_INVALID_PARAMETER);
    IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    ck_assert_ptr_null(d);
    IS(VipRecvWait(vi, VIP_INFINITE, &d), VIP_DESCRIPTOR_ERROR);
    ck_assert_ptr_null(d);
    send->CS.Status = recv->CS.Status = 0xFFFFFFFF;
    IS(VipPostSend(vi, send, bench.handle), VIP_SUCCESS); /* not Connected: flushed */
    ck_assert_uint_eq(send->CS.Status, FLUSHED);
    IS(VipSendWait(vi, 0, &d), VIP_DESCRIPTOR_ERROR);
    ck_assert_ptr_eq(d, send);
    IS(VipPostRecv(vi, recv, bench.handle), VIP_SUCCESS);
    ck_assert_uint_eq(recv->CS.Status, 0);
    IS(VipRecvDone(vi, &d), VIP_NOT_DONE);
    uint64_t before = bench.now;
    IS(VipRecvWait(vi, 100, &d), VIP_TIMEOUT);
    ck_assert_uint_eq(bench.now - before, 100000);
    IS(VipRecvWait(vi, 0, &d), VIP_TIMEOUT);
    IS(VipRecvWait(vi, VIP_INFINITE, &d), VIP_TIMEOUT); /* nothing can ever happen here */
    end_vi(vi);
}
END_TEST

START_TEST(test_flush_in_order)
{
    VIP_VI_HANDLE vi = create_vi(UD, NULL, NULL);
    VIP_DESCRIPTOR *d;
    for (unsigned i = 0; i < MAX_DESCRIPTORS; i++)
        IS(VipPostRecv(vi, descriptor(i, 0, 64), bench.handle), VIP_SUCCESS);
    IS(VipDisconnect(vi), VIP_SUCCESS);
    for (unsigned i = 0; i < MAX_DESCRIPTORS; i++) {
        IS(VipRecvDone(vi, &d), VIP_DESCRIPTOR_ERROR);
        ck_assert_ptr_eq(d, bench.memory + i * 128);
        ck_assert_uint_eq(d->CS.Status, FLUSHED | VIP_STATUS_OP_RECEIVE);
    }
    IS(VipDestroyVi(vi), VIP_SUCCESS);
}
END_TEST

static VIP_UINT32 status_of_recv(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
    VIP_DESCRIPTOR *done;
    IS(VipPostRecv(vi, d, bench.handle), VIP_SUCCESS);
    IS(VipDisconnect(vi), VIP_SUCCESS);
    IS(VipRecvDone(vi, &done), VIP_DESCRIPTOR_ERROR);
    ck_assert_ptr_eq(done, d);
    return d->CS.Status;
}

START_TEST(
    test_segments) /* 252 data segments (VI-DG 5.4) are no error of length; the memory has to hold them */
{
    VIP_VI_HANDLE vi = create_vi(UD, NULL, NULL);
    VIP_DESCRIPTOR *d = descriptor(0, 0, 0);
    for (unsigned i = 0; i < 254; i++)
        memset((char *)d + 32 + i * 16, 0, 16);
    d->CS.SegCount = 252;
    ck_assert_uint_eq(status_of_recv(vi, d) & VIP_STATUS_LENGTH_ERROR, 0);
    d->CS.Control = VIP_CONTROL_IMMEDIATE | VIP_CONTROL_QFENCE; /* ignored in a receive Descriptor */
    ck_assert_uint_eq(status_of_recv(vi, d) & VIP_STATUS_FORMAT_ERROR, 0);
    d = (VIP_DESCRIPTOR *)(void *)(bench.memory + BENCH_MEMORY - 64);
    memset(d, 0, 64);
    d->CS.SegCount = 3;
    IS(VipPostRecv(vi, d, bench.handle), VIP_SUCCESS);
    ck_assert_uint_eq(bench.errors, 1);
    ck_assert_int_eq(bench.error[0].ErrorCode, VIP_ERROR_POST_DESC);
    end_vi(vi);
}
END_TEST

/* ---- catastrophic errors (VI-DG 3.8.1, 6.3.1) ---- */

static void is_broken(VIP_VI_HANDLE vi, VIP_ERROR_CODE code, const void *at)
{
    VIP_VI_ATTRIBUTES a;
    ck_assert_uint_eq(bench.errors, 1);
    ck_assert_int_eq(bench.error[0].ErrorCode, code);
    ck_assert_ptr_eq(bench.error[0].NicHandle, bench.nic);
    ck_assert_ptr_eq(bench.error[0].ViHandle, vi);
    ck_assert_ptr_eq(bench.error[0].DescriptorPtr, at);
    ck_assert_int_eq(state_of(vi), VIP_STATE_ERROR);
    IS(VipConnectRequest(vi, address(own_host, "a"), address(other_host, "b"), 1000, &a), VIP_INVALID_STATE);
    IS(VipDestroyVi(vi), VIP_INVALID_STATE);
    bench.errors = 0;
}

START_TEST(test_post_desc) /* table 11.2 X22 */
{
    VIP_VI_HANDLE vi = create_vi(UD, NULL, NULL);
    VIP_DESCRIPTOR *d, *good = descriptor(0, 0, 64);
    VIP_MEM_HANDLE other;
    VIP_MEM_ATTRIBUTES a = {NULL, VIP_FALSE, VIP_FALSE};
    static const char outside[64];
    IS(VipCreatePtag(bench.nic, &a.Ptag), VIP_SUCCESS);
    IS(VipRegisterMem(bench.nic, bench.memory, BENCH_MEMORY, &a, &other), VIP_SUCCESS);
    const struct {
        const void *at;
        VIP_MEM_HANDLE handle;
    } row[] = {
        {bench.memory + 16, bench.handle}, /* not aligned */
        {bench.memory, bench.handle + 99}, /* no region */
        {outside, bench.handle},           /* not in the region */
        {bench.memory, other},             /* another protection tag */
        {NULL, bench.handle},
    };
    for (unsigned i = 0; i < sizeof row / sizeof row[0]; i++) {
        IS(VipPostRecv(vi, good, bench.handle), VIP_SUCCESS);
        IS(VipPostSend(vi, (VIP_DESCRIPTOR *)(uintptr_t)row[i].at, row[i].handle), VIP_SUCCESS);
        is_broken(vi, VIP_ERROR_POST_DESC, row[i].at);
        IS(VipRecvDone(vi, &d), VIP_DESCRIPTOR_ERROR);
        ck_assert_uint_eq(good->CS.Status, FLUSHED | VIP_STATUS_OP_RECEIVE);
        IS(VipPostRecv(vi, good, bench.handle), VIP_SUCCESS); /* X21 */
        IS(VipRecvDone(vi, &d), VIP_DESCRIPTOR_ERROR);
        ck_assert_uint_eq(good->CS.Status, FLUSHED | VIP_STATUS_OP_RECEIVE);
        IS(VipDisconnect(vi), VIP_SUCCESS);
        ck_assert_int_eq(state_of(vi), VIP_STATE_IDLE);
    }
    end_vi(vi);
}
END_TEST

START_TEST(test_overrun) /* table 11.2 X23 */
{
    VIP_VI_HANDLE vi = create_vi(UD, NULL, NULL);
    for (unsigned i = 0; i < MAX_DESCRIPTORS; i++)
        IS(VipPostRecv(vi, descriptor(i, 0, 64), bench.handle), VIP_SUCCESS);
    ck_assert_uint_eq(bench.errors, 0);
    IS(VipPostRecv(vi, descriptor(MAX_DESCRIPTORS, 0, 64), bench.handle), VIP_SUCCESS);
    is_broken(vi, VIP_ERROR_VI_OVERRUN, bench.memory + MAX_DESCRIPTORS * 128);
    end_vi(vi);
}
END_TEST

START_TEST(test_comp_prot) /* table 11.2 X24 */
{
    unsigned char *memory = aligned_alloc(64, 4096);
    VIP_MEM_ATTRIBUTES a = {bench.ptag, VIP_FALSE, VIP_FALSE};
    VIP_MEM_HANDLE handle;
    VIP_VI_HANDLE vi = create_vi(UD, NULL, NULL);
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(void *)memory, *done;
    memset(d, 0, sizeof *d);
    IS(VipRegisterMem(bench.nic, memory, 4096, &a, &handle), VIP_SUCCESS);
    IS(VipPostRecv(vi, d, handle), VIP_SUCCESS);
    IS(VipDeregisterMem(bench.nic, memory, handle), VIP_SUCCESS);
    free(memory);
    IS(VipDisconnect(vi), VIP_SUCCESS);
    ck_assert_uint_eq(bench.errors, 1);
    ck_assert_int_eq(bench.error[0].ErrorCode, VIP_ERROR_COMP_PROT);
    ck_assert_int_eq(bench.error[0].ResourceCode, VIP_RESOURCE_DESCRIPTOR);
    IS(VipRecvDone(vi, &done), VIP_DESCRIPTOR_ERROR);
    IS(VipDestroyVi(vi), VIP_SUCCESS);
}
END_TEST

START_TEST(test_default_error_handler) /* VI-DG 3.8.1: it logs */
{
    VIP_VI_HANDLE vi = create_vi(UD, NULL, NULL);
    char text[256] = "";
    int saved = dup(2), end[2];
    ck_assert_int_eq(pipe(end), 0);
    IS(VipErrorCallback(bench.nic, NULL, NULL), VIP_SUCCESS);
    IS(VipErrorCallback(vi, NULL, NULL), VIP_INVALID_PARAMETER);
    dup2(end[1], 2);
    IS(VipPostSend(vi, NULL, bench.handle), VIP_SUCCESS);
    dup2(saved, 2);
    close(saved);
    close(end[1]);
    ck_assert_int_gt((int)read(end[0], text, sizeof text - 1), 0);
    close(end[0]);
    ck_assert_ptr_nonnull(strstr(text, "VINIC0: VIP_ERROR_POST_DESC"));
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    ck_assert_uint_eq(bench.errors, 0);
    end_vi(vi);
}
END_TEST

/* ---- Completion Queues ---- */

START_TEST(test_cq) /* C40 to C42; VI-DG 6.2: flushed Descriptors have entries */
{
    VIP_CQ_HANDLE cq, second, third;
    VIP_VI_HANDLE which;
    VIP_BOOLEAN recv;
    VIP_DESCRIPTOR *d;
    IS(VipCreateCQ(bench.nic, 1025, &cq), VIP_ERROR_RESOURCE);
    IS(VipCreateCQ(bench.nic, 4, NULL), VIP_INVALID_PARAMETER);
    IS(VipCreateCQ(bench.nic, 4, &cq), VIP_SUCCESS);
    IS(VipCreateCQ(bench.nic, 0, &second), VIP_SUCCESS);
    IS(VipCreateCQ(bench.nic, 4, &third), VIP_ERROR_RESOURCE);
    IS(VipDestroyCQ(second), VIP_SUCCESS);
    IS(VipDestroyCQ(second), VIP_INVALID_PARAMETER);
    VIP_VI_HANDLE vi = create_vi(UD, NULL, cq);
    IS(VipDestroyCQ(cq), VIP_ERROR_RESOURCE);
    IS(VipCQDone(cq, &which, &recv), VIP_NOT_DONE);
    uint64_t before = bench.now;
    IS(VipCQWait(cq, 50, &which, &recv), VIP_TIMEOUT);
    ck_assert_uint_eq(bench.now - before, 50000);
    for (unsigned i = 0; i < 2; i++)
        IS(VipPostRecv(vi, descriptor(i, 0, 64), bench.handle), VIP_SUCCESS);
    IS(VipRecvWait(vi, 0, &d), VIP_ERROR_RESOURCE);
    IS(VipSendWait(vi, 0, &d), VIP_DESCRIPTOR_ERROR); /* the send queue has no Completion Queue */
    IS(VipDisconnect(vi), VIP_SUCCESS);
    IS(VipResizeCQ(cq, 1), VIP_ERROR_RESOURCE);
    IS(VipResizeCQ(cq, 1025), VIP_ERROR_RESOURCE);
    IS(VipResizeCQ(cq, 2), VIP_SUCCESS);
    IS(VipResizeCQ(vi, 2), VIP_INVALID_PARAMETER);
    IS(VipCQDone(cq, &which, &recv), VIP_SUCCESS);
    ck_assert(which == vi && recv == VIP_TRUE);
    IS(VipRecvDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    IS(VipRecvDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    IS(VipDestroyVi(vi), VIP_SUCCESS);
    IS(VipCQDone(cq, &which, &recv), VIP_NOT_DONE); /* entries of a VI that is gone are gone */
    IS(VipDestroyCQ(cq), VIP_SUCCESS);
}
END_TEST

/* ---- Notify ---- */

static struct {
    unsigned count;
    VIP_DESCRIPTOR *descriptor[4];
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN recv;
    VIP_RETURN inside;
} told;

static void on_descriptor(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
    ck_assert_ptr_eq(context, &told);
    ck_assert_ptr_eq(nic, bench.nic);
    told.vi = vi;
    told.descriptor[told.count++ % 4] = d;
    told.inside = VipPostSend(vi, descriptor(3, 0, 64), bench.handle); /* a handler may call */
}

static void on_entry(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_BOOLEAN recv)
{
    (void)context;
    (void)nic;
    told.count++;
    told.vi = vi;
    told.recv = recv;
}

START_TEST(test_notify) /* VI-DG 3.5.10: one Descriptor each, and NULL when the queue becomes empty */
{
    memset(&told, 0, sizeof told);
    VIP_VI_HANDLE vi = create_vi(UD, NULL, NULL);
    VIP_DESCRIPTOR *d = descriptor(0, 0, 64);
    IS(VipRecvNotify(vi, &told, on_descriptor), VIP_DESCRIPTOR_ERROR); /* empty */
    IS(VipPostRecv(vi, d, bench.handle), VIP_SUCCESS);
    IS(VipRecvNotify(vi, &told, NULL), VIP_INVALID_PARAMETER);
    IS(VipRecvNotify(NULL, &told, on_descriptor), VIP_INVALID_PARAMETER);
    IS(VipRecvNotify(vi, &told, on_descriptor), VIP_SUCCESS);
    IS(VipRecvNotify(vi, &told, on_descriptor), VIP_SUCCESS);
    ck_assert_uint_eq(told.count, 0);
    IS(VipDisconnect(vi), VIP_SUCCESS);
    ck_assert_uint_eq(told.count, 2);
    ck_assert_ptr_eq(told.descriptor[0], d);
    ck_assert_ptr_null(told.descriptor[1]);
    ck_assert_ptr_eq(told.vi, vi);
    IS(told.inside, VIP_SUCCESS);
    ck_assert_uint_eq(d->CS.Status, FLUSHED | VIP_STATUS_OP_RECEIVE);
    IS(VipSendNotify(vi, &told, on_descriptor), VIP_SUCCESS); /* completed already */
    ck_assert_uint_eq(told.count, 3);
    ck_assert_ptr_eq(told.descriptor[2], bench.memory + 3 * 128);
    end_vi(vi);
}
END_TEST

START_TEST(test_cq_notify)
{
    memset(&told, 0, sizeof told);
    VIP_CQ_HANDLE cq;
    IS(VipCreateCQ(bench.nic, 4, &cq), VIP_SUCCESS);
    VIP_VI_HANDLE vi = create_vi(UD, cq, NULL);
    IS(VipCQNotify(cq, NULL, NULL), VIP_INVALID_PARAMETER);
    IS(VipCQNotify(cq, NULL, on_entry), VIP_SUCCESS);
    IS(VipSendNotify(vi, &told, on_descriptor), VIP_ERROR_RESOURCE); /* C40 */
    for (unsigned i = 0; i < 2; i++)
        IS(VipPostSend(vi, descriptor(i, 0, 64), bench.handle), VIP_SUCCESS);
    ck_assert_uint_eq(told.count, 1); /* one-shot */
    ck_assert(told.vi == vi && told.recv == VIP_FALSE);
    IS(VipCQNotify(cq, NULL, on_entry), VIP_SUCCESS); /* the second entry is there */
    ck_assert_uint_eq(told.count, 2);
    IS(VipCQNotify(cq, NULL, on_entry), VIP_SUCCESS);
    end_vi(vi);
    IS(VipDestroyCQ(cq), VIP_SUCCESS); /* and the request with it */
    ck_assert_uint_eq(told.count, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vipl queues");
    TCase *tc = tcase_create("calls");
    tcase_add_checked_fixture(tc, bench_begin, bench_end);
    tcase_add_test(tc, test_memory);
    tcase_add_test(tc, test_memory_limits);
    tcase_add_test(tc, test_queue);
    tcase_add_test(tc, test_flush_in_order);
    tcase_add_test(tc, test_segments);
    tcase_add_test(tc, test_post_desc);
    tcase_add_test(tc, test_overrun);
    tcase_add_test(tc, test_comp_prot);
    tcase_add_test(tc, test_default_error_handler);
    tcase_add_test(tc, test_cq);
    tcase_add_test(tc, test_notify);
    tcase_add_test(tc, test_cq_notify);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
