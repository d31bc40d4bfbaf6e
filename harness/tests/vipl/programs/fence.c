/* A fenced Send says that the RDMA Read before it is done (VI-ARCH 6.3.1.2). The Descriptor of the Read lies
 * in memory that the receiver of the Send sees as well, and its owner makes no call meanwhile. */
#include "program.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { ROUNDS = 150, READ = 8192 };

static void *shared(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.shared", getenv("VIPL_CONF"));
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    NEED(fd >= 0 && ftruncate(fd, PAGE) == 0);
    void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    NEED(at != MAP_FAILED);
    return at;
}

static void again(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d, VIP_UINT32 length)
{
    d->CS.Length = length;
    d->CS.Status = 0;
    OK(VipPostRecv(vi, d, handle));
}

static void fence(void)
{
    VIP_VI_HANDLE vi = new_vi(NULL, NULL);
    VIP_MEM_ATTRIBUTES m = {.Ptag = ptag};
    VIP_DESCRIPTOR *d, *read = shared();
    VIP_MEM_HANDLE there;
    struct place {
        uint64_t at;
        VIP_MEM_HANDLE handle;
    } *place = (void *)(memory + 32768);
    OK(VipRegisterMem(nic, read, PAGE, &m, &there));
    *place = (struct place){(uintptr_t)memory + 65536, handle};
    for (unsigned i = 0; i < 4; i++)
        OK(VipPostRecv(vi, descriptor(i, (unsigned char *)(rank == 1 ? place : place + 1), sizeof *place),
                       handle));
    connect_vi(vi, TAG);
    if (rank == 0) {
        OK(VipPostSend(vi, descriptor(10, (unsigned char *)place, sizeof *place), handle));
        await_send(vi);
    } else {
        OK(VipRecvWait(vi, PATIENCE_MS, &d));
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (rank == 1) {
            *read = *write_descriptor(11, memory + 131072, READ, place->at, place->handle);
            read->CS.Control = VIP_CONTROL_OP_RDMAREAD;
            OK(VipPostSend(vi, read, there));
            d = descriptor(12, NULL, 0);
            d->CS.Control = VIP_CONTROL_QFENCE;
            OK(VipPostSend(vi, d, handle));
            usleep(3000);
            await_send(vi);
            await_send(vi);
            OK(VipRecvWait(vi, PATIENCE_MS, &d));
            again(vi, d, sizeof *place);
        } else {
            OK(VipRecvWait(vi, PATIENCE_MS, &d));
            NEED((*(volatile VIP_UINT32 *)&read->CS.Status & VIP_STATUS_DONE) != 0);
            again(vi, d, sizeof *place);
            OK(VipPostSend(vi, descriptor(10, NULL, 0), handle));
            await_send(vi);
        }
    }
    OK(VipDeregisterMem(nic, read, there));
    part(vi);
}

static const struct test tests[] = {{"fence", fence}};

int main(int argc, char **argv)
{
    return play(argc, argv, tests, sizeof tests / sizeof *tests);
}
