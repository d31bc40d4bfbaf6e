/* What has more than 32 bits in a program whose VIP_ULONG is `unsigned long`: nothing of it is cut off. */
#include "program.h"

static const unsigned long beyond = 1ul << 32;

static void ended(int signal)
{
    (void)signal;
    _exit(0); /* it was infinite */
}

int main(int argc, char **argv)
{
    VIP_MEM_ATTRIBUTES m = {0};
    VIP_VI_ATTRIBUTES v = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY}, remote;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi;
    VIP_MEM_HANDLE region;
    VIP_CONN_HANDLE conn;
    unsigned long length = beyond + 64; /* the guide's type itself, without a cast */
    char name[64];
    VIP_ULONG *of_the_guide = &length;
    if (argc < 2)
        return 2;
    device = argv[1];
    open_nic();
    m.Ptag = v.Ptag = ptag;
    NEED(VipRegisterMem(nic, memory, length, &m, &region) == VIP_ERROR_RESOURCE);
    OK(VipRegisterMem(nic, memory, ROOM, &m, &region));
    v.MaxTransferSize = beyond + 4096;
    NEED(VipCreateVi(nic, &v, NULL, NULL, &vi) == VIP_INVALID_MTU);
    NEED(VipCreateCQ(nic, beyond + 1, &cq) == VIP_ERROR_RESOURCE);
    OK(VipCreateCQ(nic, 1, &cq));
    NEED(VipResizeCQ(cq, beyond + 1) == VIP_ERROR_RESOURCE);
    NEED(VipNSGetHostByName(nic, (char *)"nodea", address(NULL, 1), beyond) == VIP_ERROR_NAMESERVICE);
    NEED(VipQuerySystemManagementInfo(nic, beyond + VIP_SMI_AUTODISCOVERY, &v) == VIP_INVALID_PARAMETER);
    *of_the_guide = sizeof name;
    OK(VipNSGetHostByAddr(nic, address("nodea", 1), name, &length));
    NEED(length == strlen("nodea"));
    NEED(VipConnectWait(nic, address(NULL, 1), 20ul, new_address(), &remote, &conn) == VIP_TIMEOUT);
    signal(SIGALRM, ended);
    alarm(1);
    (void)VipConnectWait(nic, address(NULL, 1), (VIP_ULONG)-1, new_address(), &remote, &conn);
    return 1;
}
