/* A parser that was taken over: it stands in for the library that puts TCP streams together, is loaded when
 * the first segment of FCIP is read, and does what ATTACK says. What was not prevented is told on standard
 * output. */
#define _GNU_SOURCE
#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *target(void)
{
    return getenv("TARGET");
}

static long connect_to(int family)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    int fd = socket(family, SOCK_STREAM, 0);
    return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof to) == 0 || errno != EPERM ? 0 : -1;
}

static long execute(void)
{
    char *const words[] = {"/bin/true", NULL};
    return execve("/bin/true", words, NULL);
}

static long raw_open(int flags)
{
    return syscall(SYS_openat, AT_FDCWD, target(), flags, 0600);
}

static long new_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
        MAP_FAILED)
        return 0;
    return mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static long spend(void)
{
    for (volatile unsigned long n = 0;; n++)
        ;
    return 0;
}

static long take_memory(void)
{
    for (size_t got = 0; got < (size_t)1 << 32; got += 1 << 20) {
        void *piece = malloc(1 << 20);
        if (piece == NULL)
            return -1;
        memset(piece, 1, 1 << 12);
    }
    return 0;
}

static long read_secret(void)
{
    return open(target(), O_RDONLY) < 0 ? -1 : 0;
}

static long write_inherited(void)
{
    return write((int)strtol(getenv("OPEN"), NULL, 10), "x", 1);
}

static long attack(const char *name)
{
#define IS(words) (strcmp(name, words) == 0)
    if (IS("write"))
        return open(target(), O_WRONLY | O_CREAT, 0600);
    if (IS("append"))
        return raw_open(O_RDWR | O_APPEND);
    if (IS("cut"))
        return raw_open(O_TRUNC);
    if (IS("unnamed"))
        return syscall(SYS_openat, AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, 0600);
    if (IS("creat"))
        return syscall(SYS_creat, target(), 0600);
    if (IS("openat2")) {
        uint64_t how[3] = {O_WRONLY | O_CREAT, 0600, 0};
        return syscall(SYS_openat2, AT_FDCWD, target(), how, sizeof how);
    }
    if (IS("unlink"))
        return unlink(target());
    if (IS("rename"))
        return rename(target(), "/tmp/other");
    if (IS("chmod"))
        return chmod(target(), 0777);
    if (IS("truncate"))
        return truncate(target(), 0);
    if (IS("connect"))
        return connect_to(AF_INET);
    if (IS("unix"))
        return connect_to(AF_UNIX);
    if (IS("execve"))
        return execute();
    if (IS("ptrace"))
        return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
    if (IS("read the parent"))
        return syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
    if (IS("fork"))
        return fork() < 0 ? -1 : 0;
    if (IS("vfork"))
        return syscall(SYS_clone, 0x4100 | SIGCHLD, 0, 0, 0, 0) < 0 ? -1 : 0;
    if (IS("clone3")) {
        uint64_t how[8] = {0, 0, 0, 0, SIGCHLD};
        return syscall(SYS_clone3, how, sizeof how) < 0 ? -1 : 0;
    }
    if (IS("kill"))
        return kill(getppid(), SIGKILL);
    if (IS("tgkill"))
        return syscall(SYS_tgkill, getppid(), getppid(), SIGKILL);
    if (IS("io_uring"))
        return syscall(SYS_io_uring_setup, 1, (struct io_uring_params[1]){{0}});
    if (IS("memfd"))
        return memfd_create("x", 0);
    if (IS("type"))
        return ioctl(0, TIOCSTI, "x");
    if (IS("code"))
        return new_code();
    if (IS("limits")) {
        struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
        return setrlimit(RLIMIT_AS, &all);
    }
    if (IS("i386")) { /* getpid by the other table of system calls */
#ifdef __x86_64__
        long got = 20;
        __asm__ volatile("int $0x80" : "+a"(got)::"memory");
        return got > 0 ? 0 : -1;
#else
        return -1;
#endif
    }
    if (IS("secret"))
        return read_secret();
    if (IS("inherited"))
        return write_inherited();
    if (IS("crash"))
        return *(volatile int *)NULL;
    if (IS("abort"))
        abort();
    if (IS("die")) {
        pause();
        return -1;
    }
    if (IS("spend"))
        return spend();
    if (IS("memory"))
        return take_memory();
    return 0;
}

static struct streams *begin(const struct streams_events *events)
{
    (void)events;
    long done = attack(getenv("ATTACK"));
    if (done >= 0)
        (void)!write(1, "NOT PREVENTED\n", 14);
    return NULL;
}

__attribute__((visibility("default")))
const struct streams_calls fcvi_streams_calls = {begin, NULL, NULL, NULL};
