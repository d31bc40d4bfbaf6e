/* The VIPL calls of NICs, VIs, connections, information and names, where no other port is needed. Expected
 * values from VI-DG 3 and 4; C numbers are rows of its calls and conditions. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IS(call, vip) ck_assert_int_eq((call), (vip))

START_TEST(test_open) /* C1, C2, VI-DG 6.5 */
{
    VIP_NIC_HANDLE second;
    IS(VipOpenNic("VINIC1", &second), VIP_INVALID_PARAMETER);
    IS(VipOpenNic(NULL, &second), VIP_INVALID_PARAMETER);
    IS(VipOpenNic("VINIC0", NULL), VIP_INVALID_PARAMETER);
    IS(VipOpenNic("VINIC0", &second), VIP_SUCCESS);
    ck_assert_ptr_ne(second, bench.nic);
    IS(VipCloseNic(second), VIP_SUCCESS);
    IS(VipCloseNic(second), VIP_INVALID_PARAMETER);
    IS(VipCloseNic(NULL), VIP_INVALID_PARAMETER);
    IS(VipCloseNic(&second), VIP_INVALID_PARAMETER);
    IS(VipCloseNic(bench.ptag), VIP_INVALID_PARAMETER); /* a handle of another kind */
}
END_TEST

START_TEST(test_attach)
{
    struct fcvi_vipl_nic info = bench_info();
    struct fcvi_vipl_nic_ops half = bench_ops;
    char name[80];
    memset(name, 'x', sizeof name);
    name[79] = '\0';
    ck_assert_int_eq(fcvi_vipl_attach("VINIC0", &bench_ops, &bench, &info), -1); /* is VINIC */
    ck_assert_int_eq(fcvi_vipl_attach(name, &bench_ops, &bench, &info), -1);
    ck_assert_int_eq(fcvi_vipl_attach("", &bench_ops, &bench, &info), -1);
    half.now = NULL;
    ck_assert_int_eq(fcvi_vipl_attach("VINIC1", &half, &bench, &info), -1);
    info.rdma_read_levels = VIP_SERVICE_UNRELIABLE;
    ck_assert_int_eq(fcvi_vipl_attach("VINIC1", &bench_ops, &bench, &info), -1);
    info.rdma_read_levels = 0;
    info.max_discriminator_length = 15;
    ck_assert_int_eq(fcvi_vipl_attach("VINIC1", &bench_ops, &bench, &info), -1);
    ck_assert_int_eq(fcvi_vipl_detach("VINIC1"), -1);
}
END_TEST

START_TEST(test_close_ends_everything)
{
    VIP_CQ_HANDLE cq;
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES a;
    VIP_BOOLEAN empty;
    IS(VipCreateCQ(bench.nic, 4, &cq), VIP_SUCCESS);
    VIP_VI_HANDLE vi = create_vi(VIP_SERVICE_UNRELIABLE, NULL, cq);
    IS(VipPostRecv(vi, descriptor(0, 0, 64), bench.handle), VIP_SUCCESS);
    IS(VipCloseNic(bench.nic), VIP_SUCCESS);
    IS(VipQueryVi(vi, &state, &a, &empty, &empty), VIP_INVALID_PARAMETER);
    IS(VipDestroyCQ(cq), VIP_INVALID_PARAMETER);
    IS(VipPostRecv(vi, descriptor(0, 0, 64), bench.handle), VIP_INVALID_PARAMETER); /* C35 */
    struct fcvi_port_counts counts;
    fcvi_port_count(bench.port, &counts);
    ck_assert_uint_eq(counts.entries, 0);
    ck_assert_uint_eq(counts.vis, 0);
}
END_TEST

START_TEST(test_query_nic)
{
    VIP_NIC_ATTRIBUTES a;
    IS(VipQueryNic(bench.nic, NULL), VIP_INVALID_PARAMETER);
    IS(VipQueryNic(NULL, &a), VIP_INVALID_PARAMETER);
    IS(VipQueryNic(bench.nic, &a), VIP_SUCCESS);
    ck_assert_str_eq(a.Name, "VINIC0");
    ck_assert_uint_eq(a.HardwareVersion, 7);
    ck_assert_uint_eq(a.NicAddressLen, 16);
    ck_assert_mem_eq(a.LocalNicAddress, own_host, 16);
    ck_assert_int_eq(a.ThreadSafe, VIP_FALSE);
    ck_assert_uint_eq(a.MaxDiscriminatorLen, 128); /* clause 7.2 */
    ck_assert_uint_eq(a.MaxVI, MAX_VI);
    ck_assert_uint_eq(a.MaxDescriptorsPerQueue, MAX_DESCRIPTORS);
    ck_assert_uint_ge(a.MaxSegmentsPerDesc, 252); /* VI-DG 5.4 */
    ck_assert_uint_ge(a.MaxPtags, a.MaxVI);
    ck_assert_uint_eq(a.ReliabilityLevelSupport, 7);
    ck_assert_uint_eq(a.RDMAReadSupport, VIP_SERVICE_RELIABLE_DELIVERY);
}
END_TEST

/* ---- VIs ---- */

START_TEST(test_create_vi_parameters) /* C3 to C8, C44; VipSetViAttributes has the same rules */
{
    struct fcvi_vipl_qos qos = {sizeof qos, 1, 3};
    VIP_VI_HANDLE vi = create_vi(VIP_SERVICE_UNRELIABLE, NULL, NULL), other;
    VIP_VI_ATTRIBUTES good = attributes_of(VIP_SERVICE_RELIABLE_DELIVERY), a;
    VIP_PROTECTION_HANDLE gone;
    IS(VipCreatePtag(bench.nic, &gone), VIP_SUCCESS);
    IS(VipDestroyPtag(bench.nic, gone), VIP_SUCCESS);
    const struct {
        VIP_RETURN vip;
        VIP_RELIABILITY_LEVEL level;
        VIP_ULONG size;
        uint32_t preference;
        VIP_PROTECTION_HANDLE ptag;
        VIP_BOOLEAN read;
    } row[] = {
        {VIP_INVALID_RELIABILITY_LEVEL, 0, 32768, 1, bench.ptag, VIP_FALSE},
        {VIP_INVALID_RELIABILITY_LEVEL, 3, 32768, 1, bench.ptag, VIP_FALSE},
        {VIP_INVALID_RELIABILITY_LEVEL, 8, 32768, 1, bench.ptag, VIP_FALSE},
        {VIP_INVALID_MTU, 2, 0, 1, bench.ptag, VIP_FALSE},
        {VIP_INVALID_MTU, 2, 32769, 1, bench.ptag, VIP_FALSE},
        {VIP_INVALID_QOS, 2, 32768, 2, bench.ptag, VIP_FALSE},
        {VIP_INVALID_PTAG, 2, 32768, 1, gone, VIP_FALSE},
        {VIP_INVALID_PTAG, 2, 32768, 1, NULL, VIP_FALSE},
        {VIP_INVALID_RDMAREAD, 1, 32768, 1, bench.ptag, VIP_TRUE}, /* offered at level 2 only */
    };
    for (unsigned i = 0; i < sizeof row / sizeof row[0]; i++) {
        qos.preference = row[i].preference;
        a = (VIP_VI_ATTRIBUTES){row[i].level, row[i].size, &qos, row[i].ptag, VIP_FALSE, row[i].read};
        IS(VipCreateVi(bench.nic, &a, NULL, NULL, &other), row[i].vip);
        IS(VipSetViAttributes(vi, &a), row[i].vip);
    }
    IS(VipCreateVi(bench.nic, NULL, NULL, NULL, &other), VIP_INVALID_PARAMETER);
    IS(VipCreateVi(bench.nic, &good, NULL, NULL, NULL), VIP_INVALID_PARAMETER);
    IS(VipCreateVi(bench.nic, &good, bench.nic, NULL, &other), VIP_INVALID_PARAMETER); /* C8 */
    VIP_VI_STATE state;
    VIP_BOOLEAN send, recv;
    IS(VipQueryVi(vi, &state, &a, &send, &recv), VIP_SUCCESS);
    ck_assert_uint_eq(a.ReliabilityLevel, VIP_SERVICE_UNRELIABLE); /* nothing has changed */
    ck_assert_ptr_null(a.QoS);
    qos.preference = 1;
    good.QoS = &qos;
    good.EnableRdmaRead = VIP_TRUE;
    IS(VipSetViAttributes(vi, &good), VIP_SUCCESS);
    IS(VipQueryVi(vi, &state, &a, &send, &recv), VIP_SUCCESS);
    const struct fcvi_vipl_qos *got = a.QoS;
    ck_assert_uint_eq(a.ReliabilityLevel, VIP_SERVICE_RELIABLE_DELIVERY);
    ck_assert_uint_eq(got->preference, 1);
    ck_assert_uint_eq(got->pipeline_depth, 3);
    ck_assert_ptr_eq(a.Ptag, bench.ptag);
    ck_assert_int_eq(a.EnableRdmaRead, VIP_TRUE);
    ck_assert(state == VIP_STATE_IDLE && send == VIP_TRUE && recv == VIP_TRUE);
}
END_TEST

START_TEST(test_cq_of_another_nic) /* C8 */
{
    VIP_NIC_HANDLE second;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi;
    VIP_VI_ATTRIBUTES a = attributes_of(VIP_SERVICE_UNRELIABLE);
    IS(VipOpenNic("VINIC", &second), VIP_SUCCESS);
    IS(VipCreateCQ(second, 4, &cq), VIP_SUCCESS);
    IS(VipCreateVi(bench.nic, &a, cq, NULL, &vi), VIP_INVALID_PARAMETER);
    IS(VipCreateVi(second, &a, NULL, NULL, &vi), VIP_INVALID_PTAG);
    IS(VipDestroyPtag(second, bench.ptag), VIP_INVALID_PARAMETER);
    IS(VipCloseNic(second), VIP_SUCCESS);
}
END_TEST

START_TEST(test_vi_life) /* C9 to C11 */
{
    VIP_VI_HANDLE vi[MAX_VI], more;
    VIP_VI_ATTRIBUTES a = attributes_of(VIP_SERVICE_UNRELIABLE);
    VIP_DESCRIPTOR *d;
    for (unsigned i = 0; i < MAX_VI; i++)
        vi[i] = create_vi(VIP_SERVICE_UNRELIABLE, NULL, NULL);
    IS(VipCreateVi(bench.nic, &a, NULL, NULL, &more), VIP_ERROR_RESOURCE);
    IS(VipDestroyPtag(bench.nic, bench.ptag), VIP_ERROR_RESOURCE); /* C30 */
    IS(VipPostRecv(vi[0], descriptor(0, 0, 64), bench.handle), VIP_SUCCESS);
    IS(VipDestroyVi(vi[0]), VIP_INVALID_STATE);
    IS(VipDisconnect(vi[0]), VIP_SUCCESS);      /* C29, Idle */
    IS(VipDestroyVi(vi[0]), VIP_INVALID_STATE); /* flushed, but not taken off the queue */
    IS(VipRecvDone(vi[0], &d), VIP_DESCRIPTOR_ERROR);
    ck_assert_uint_eq(d->CS.Status, VIP_STATUS_DONE | VIP_STATUS_DESC_FLUSHED_ERROR | VIP_STATUS_OP_RECEIVE);
    for (unsigned i = 0; i < MAX_VI; i++)
        IS(VipDestroyVi(vi[i]), VIP_SUCCESS);
    IS(VipDestroyVi(vi[0]), VIP_INVALID_PARAMETER);
    more = create_vi(VIP_SERVICE_UNRELIABLE, NULL, NULL);
    ck_assert_ptr_ne(more, vi[MAX_VI - 1]); /* no handle is given out twice */
    IS(VipDisconnect(vi[0]), VIP_INVALID_PARAMETER);
    end_vi(more);
}
END_TEST

/* ---- connections that need no other side ---- */

START_TEST(test_connect_parameters) /* C12, C13, C19, C25, C27 */
{
    struct {
        VIP_NET_ADDRESS a;
        uint8_t rest[256];
    } remote;
    VIP_VI_ATTRIBUTES a;
    VIP_CONN_HANDLE conn;
    VIP_VI_HANDLE vi = create_vi(VIP_SERVICE_UNRELIABLE, NULL, NULL);
    VIP_NET_ADDRESS *own = address(own_host, "here"), *other = address(other_host, "there");
    VIP_NET_ADDRESS *brief = address(own_host, "x");
    brief->DiscriminatorLen = 15; /* clause 7.2 has 16 to 128 */
    IS(VipConnectWait(bench.nic, other, 0, &remote.a, &a, &conn), VIP_INVALID_PARAMETER);
    IS(VipConnectWait(bench.nic, NULL, 0, &remote.a, &a, &conn), VIP_INVALID_PARAMETER);
    IS(VipConnectWait(bench.nic, brief, 0, &remote.a, &a, &conn), VIP_INVALID_PARAMETER);
    IS(VipConnectWait(bench.nic, own, 0, NULL, &a, &conn), VIP_INVALID_PARAMETER);
    IS(VipConnectWait(bench.nic, own, 0, &remote.a, &a, &conn), VIP_TIMEOUT);
    uint64_t before = bench.now;
    IS(VipConnectWait(bench.nic, own, 250, &remote.a, &a, &conn), VIP_TIMEOUT);
    ck_assert_uint_eq(bench.now - before, 250000);
    IS(VipConnectRequest(vi, own, other, 0, &a), VIP_INVALID_PARAMETER);
    IS(VipConnectRequest(vi, other, other, 100, &a), VIP_INVALID_PARAMETER);
    IS(VipConnectRequest(vi, own, other, 100, NULL), VIP_INVALID_PARAMETER);
    IS(VipConnectPeerRequest(vi, own, other, 0), VIP_INVALID_PARAMETER);
    IS(VipConnectPeerRequest(vi, other, other, 100), VIP_INVALID_PARAMETER);
    IS(VipConnectPeerDone(vi, &a), VIP_INVALID_STATE);
    IS(VipConnectPeerWait(vi, &a), VIP_INVALID_STATE);
    IS(VipConnectPeerDone(vi, NULL), VIP_INVALID_PARAMETER);
    IS(VipConnectAccept(vi, vi), VIP_INVALID_PARAMETER);
    IS(VipConnectReject(NULL), VIP_INVALID_PARAMETER);
    end_vi(vi);
}
END_TEST

START_TEST(test_connect_unanswered) /* C22, and VI-DG 3.3.6: the request goes on behind the call */
{
    VIP_VI_ATTRIBUTES a;
    VIP_VI_HANDLE vi = create_vi(VIP_SERVICE_UNRELIABLE, NULL, NULL);
    VIP_NET_ADDRESS *own = address(own_host, "here"), *other = address(other_host, "there");
    uint64_t before = bench.now;
    IS(VipConnectRequest(vi, own, other, 500, &a), VIP_TIMEOUT);
    ck_assert_uint_ge(bench.now - before, 500000);
    ck_assert_int_eq(state_of(vi), VIP_STATE_IDLE);
    IS(VipConnectPeerRequest(vi, own, other, 500), VIP_SUCCESS);
    ck_assert_int_eq(state_of(vi), VIP_STATE_CONNECT_PENDING);
    IS(VipConnectPeerDone(vi, &a), VIP_NOT_DONE);                      /* C26 */
    IS(VipConnectRequest(vi, own, other, 500, &a), VIP_INVALID_STATE); /* C23 */
    IS(VipConnectPeerRequest(vi, own, other, 500), VIP_INVALID_STATE);
    IS(VipSetViAttributes(vi, &(VIP_VI_ATTRIBUTES){.ReliabilityLevel = 1}), VIP_INVALID_STATE); /* C43 */
    IS(VipConnectPeerWait(vi, &a), VIP_TIMEOUT);
    IS(VipConnectPeerWait(vi, &a), VIP_INVALID_STATE); /* the result is delivered once */
    end_vi(vi);
}
END_TEST

START_TEST(test_connect_unreachable) /* C24: the host address belongs to no port that can be found */
{
    static const uint8_t nobody[16] = {0xfe, 0x80, [15] = 0xee};
    VIP_VI_ATTRIBUTES a;
    VIP_VI_HANDLE vi = create_vi(VIP_SERVICE_UNRELIABLE, NULL, NULL);
    VIP_RETURN vip = VipConnectRequest(vi, address(own_host, "here"), address(nobody, "there"), 60000, &a);
    ck_assert(vip == VIP_NOT_REACHABLE || vip == VIP_TIMEOUT);
    end_vi(vi);
}
END_TEST

/* ---- information and names ---- */

START_TEST(test_autodiscovery) /* C48 */
{
    VIP_NET_ADDRESS *place[2] = {address(own_host, ""), address(own_host, "")};
    VIP_AUTODISCOVERY_LIST list = {.NumberOfHops = 2, .ADAddrArray = place, .NumAdAddrs = 1};
    IS(VipQuerySystemManagementInfo(bench.nic, VIP_SMI_AUTODISCOVERY, &list), VIP_ERROR_RESOURCE);
    ck_assert_uint_eq(list.NumAdAddrs, 2);
    IS(VipQuerySystemManagementInfo(bench.nic, VIP_SMI_AUTODISCOVERY, &list), VIP_SUCCESS);
    ck_assert_mem_eq((uint8_t *)place[0] + 4, other_host, 16);
    ck_assert_uint_eq(((uint8_t *)place[1])[4 + 15], 0xb3);
    list.NumberOfHops = 1;
    IS(VipQuerySystemManagementInfo(bench.nic, VIP_SMI_AUTODISCOVERY, &list), VIP_SUCCESS);
    ck_assert_uint_eq(list.NumAdAddrs, 1);
    place[0]->HostAddressLen = 15;
    IS(VipQuerySystemManagementInfo(bench.nic, VIP_SMI_AUTODISCOVERY, &list), VIP_INVALID_PARAMETER);
    IS(VipQuerySystemManagementInfo(bench.nic, 2, &list), VIP_INVALID_PARAMETER);
    IS(VipQuerySystemManagementInfo(bench.nic, VIP_SMI_AUTODISCOVERY, NULL), VIP_INVALID_PARAMETER);
}
END_TEST

START_TEST(test_names) /* C45 to C47, VI-DG 3.9 */
{
    VIP_NET_ADDRESS *a = address(own_host, "");
    char name[16];
    VIP_ULONG length = 4;
    IS(VipNSGetHostByName(bench.nic, "beta", a, 0), VIP_ERROR_NAMESERVICE);
    IS(VipNSShutdown(bench.nic), VIP_ERROR_NAMESERVICE);
    IS(VipNSInit(bench.nic, NULL), VIP_SUCCESS);
    IS(VipNSInit(bench.nic, NULL), VIP_ERROR_NAMESERVICE);
    IS(VipNSGetHostByName(bench.nic, "BETA", a, 0), VIP_SUCCESS);
    ck_assert_mem_eq((uint8_t *)a + 4, other_host, 16);
    ck_assert_uint_eq(a->HostAddressLen, 16);
    IS(VipNSGetHostByName(bench.nic, "Beta", a, 1), VIP_SUCCESS);
    ck_assert_uint_eq(((uint8_t *)a)[4 + 15], 0xb3);
    IS(VipNSGetHostByName(bench.nic, "beta", a, 2), VIP_ERROR_NAMESERVICE);
    IS(VipNSGetHostByName(bench.nic, "gamma", a, 0), VIP_ERROR_NAMESERVICE);
    IS(VipNSGetHostByAddr(bench.nic, address(own_host, ""), name, &length), VIP_INVALID_PARAMETER);
    ck_assert_uint_eq(length, 6); /* "Alpha" and the NUL */
    IS(VipNSGetHostByAddr(bench.nic, address(own_host, ""), name, &length), VIP_SUCCESS);
    ck_assert_str_eq(name, "Alpha");
    ck_assert_uint_eq(length, 5);
    a->HostAddressLen = 8;
    IS(VipNSGetHostByName(bench.nic, "beta", a, 0), VIP_INVALID_PARAMETER);
    a->HostAddressLen = 0; /* A113: there is room enough */
    IS(VipNSGetHostByName(bench.nic, "beta", a, 0), VIP_SUCCESS);
    ck_assert_uint_eq(a->HostAddressLen, 16);
    IS(VipNSShutdown(bench.nic), VIP_SUCCESS);
    IS(VipNSShutdown(bench.nic), VIP_ERROR_NAMESERVICE);
}
END_TEST

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

START_TEST(test_names_of_a_file)
{
    char path[] = "/tmp/test_vipl_XXXXXX";
    int fd = mkstemp(path);
    VIP_NET_ADDRESS *a = address(own_host, "");
    ck_assert_int_ge(fd, 0);
    close(fd);
    write_file(path, "# the SAN\n\n fe80::b2\tserver echo # two names\n::13.1.68.3 old\n");
    IS(VipNSInit(bench.nic, path), VIP_SUCCESS);
    IS(VipNSGetHostByName(bench.nic, "Echo", a, 0), VIP_SUCCESS);
    ck_assert_mem_eq((uint8_t *)a + 4, other_host, 16);
    IS(VipNSGetHostByName(bench.nic, "old", a, 0), VIP_SUCCESS);
    ck_assert_uint_eq(((uint8_t *)a)[4 + 12], 13);
    IS(VipNSGetHostByName(bench.nic, "beta", a, 0), VIP_ERROR_NAMESERVICE);
    IS(VipNSShutdown(bench.nic), VIP_SUCCESS);
    write_file(path, "fe80::b2 server\nnonsense here\n");
    IS(VipNSInit(bench.nic, path), VIP_INVALID_PARAMETER);
    unlink(path);
    IS(VipNSInit(bench.nic, (VIP_PVOID) "/dev/zero"), VIP_INVALID_PARAMETER);
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* nobody writes there */
    IS(VipNSInit(bench.nic, path), VIP_INVALID_PARAMETER);
    unlink(path);
    IS(VipNSInit(bench.nic, path), VIP_INVALID_PARAMETER);
    IS(VipNSInit(bench.nic, NULL), VIP_SUCCESS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vipl");
    TCase *tc = tcase_create("calls");
    tcase_add_checked_fixture(tc, bench_begin, bench_end);
    tcase_add_test(tc, test_open);
    tcase_add_test(tc, test_attach);
    tcase_add_test(tc, test_close_ends_everything);
    tcase_add_test(tc, test_query_nic);
    tcase_add_test(tc, test_create_vi_parameters);
    tcase_add_test(tc, test_cq_of_another_nic);
    tcase_add_test(tc, test_vi_life);
    tcase_add_test(tc, test_connect_parameters);
    tcase_add_test(tc, test_connect_unanswered);
    tcase_add_test(tc, test_connect_unreachable);
    tcase_add_test(tc, test_autodiscovery);
    tcase_add_test(tc, test_names);
    tcase_add_test(tc, test_names_of_a_file);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
