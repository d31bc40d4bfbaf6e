/* Writes the seccomp filter of the reader as C, by libseccomp: what a reader needs is allowed, what an
 * attacker would want ends the process, and all else is a call that the kernel does not have, so that the C
 * library does without it. Runs when the suite is built: a reader starts without libseccomp, and in a tenth
 * of the time. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): O_TMPFILE, CLONE_THREAD */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static scmp_filter_ctx ctx;

static void check(int status, const char *what)
{
    if (status == 0)
        return;
    fprintf(stderr, "make_filter: %s: error %d\n", what, -status);
    exit(3);
}

static const char *const needed[] = {
    /* files that are open, and names */
    "read",
    "readv",
    "pread64",
    "preadv",
    "write",
    "writev",
    "close",
    "lseek",
    "_llseek",
    "fstat",
    "fstat64",
    "stat",
    "stat64",
    "lstat",
    "lstat64",
    "newfstatat",
    "fstatat64",
    "statx",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
    "getdents64",
    "getcwd",
    "dup",
    "dup2",
    "dup3",
    "fadvise64",
    "fadvise64_64",
    "readahead",
    /* waiting */
    "poll",
    "ppoll",
    "ppoll_time64",
    "select",
    "_newselect",
    "pselect6",
    "pselect6_time64",
    "nanosleep",
    "clock_nanosleep",
    "clock_nanosleep_time64",
    "restart_syscall",
    /* memory and threads of its own */
    "munmap",
    "mremap",
    "brk",
    "madvise",
    "futex",
    "futex_time64",
    "set_robust_list",
    "rseq",
    "set_tid_address",
    "sched_yield",
    "sched_getaffinity",
    "membarrier",
    /* signals that come */
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sigreturn",
    "sigaltstack",
    "setitimer", /* an interrupt that Python swallows comes again */
    /* what it is told */
    "getpid",
    "gettid",
    "getppid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getuid32",
    "geteuid32",
    "getgid32",
    "getegid32",
    "getrandom",
    "clock_gettime",
    "clock_gettime64",
    "clock_getres",
    "gettimeofday",
    "time",
    "times",
    "getrusage",
    "sysinfo",
    "uname",
    "getrlimit",
    "ugetrlimit",
    /* the end */
    "exit",
    "exit_group",
};

static const char *const hostile[] = {
    /* programs and processes */
    "execve",
    "execveat",
    "fork",
    "vfork",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "pidfd_open",
    "pidfd_getfd",
    "pidfd_send_signal",
    "kill",
    "tkill",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "setpriority",
    /* connections */
    "socket",
    "socketpair",
    "connect",
    "bind",
    "listen",
    "accept",
    "accept4",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "socketcall",
    /* files */
    "creat",
    "truncate",
    "truncate64",
    "ftruncate",
    "ftruncate64",
    "fallocate",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "mkdir",
    "mkdirat",
    "mknod",
    "mknodat",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "utime",
    "utimes",
    "utimensat",
    "futimesat",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "copy_file_range",
    "memfd_create",
    "memfd_secret",
    /* the host, and what filters do not see */
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "mount",
    "umount2",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsmount",
    "pivot_root",
    "chroot",
    "setns",
    "unshare",
    "keyctl",
    "add_key",
    "request_key",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "open_by_handle_at",
    "shmget",
    "msgget",
    "semget",
    "mq_open",
    "setrlimit",
    "setuid",
    "setgid",
};

static void rules(uint32_t action, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int number = seccomp_syscall_resolve_name(names[i]);
        if (number >= 0) /* else this machine has none of the name */
            check(seccomp_rule_add(ctx, action, number, 0), names[i]);
    }
}

#define SIZE(list) (sizeof(list) / sizeof *(list))
#define RULE(action, name, ...)                                                                              \
    do {                                                                                                     \
        int number_ = seccomp_syscall_resolve_name(name);                                                    \
        const struct scmp_arg_cmp if_[] = {__VA_ARGS__};                                                     \
        if (number_ >= 0)                                                                                    \
            check(seccomp_rule_add_array(ctx, action, number_, SIZE(if_), if_), name);                       \
    } while (0)

/* One of these bits is what makes a file written, made or cut. */
static void opening(void)
{
    static const uint64_t writing[] = {O_WRONLY, O_RDWR,   O_CREAT,
                                       O_TRUNC,  O_APPEND, O_TMPFILE & ~O_DIRECTORY};
    uint64_t all = 0;
    for (size_t i = 0; i < SIZE(writing); i++) {
        all |= writing[i];
        RULE(SCMP_ACT_KILL_PROCESS, "open", SCMP_A1_64(SCMP_CMP_MASKED_EQ, writing[i], writing[i]));
        RULE(SCMP_ACT_KILL_PROCESS, "openat", SCMP_A2_64(SCMP_CMP_MASKED_EQ, writing[i], writing[i]));
    }
    RULE(SCMP_ACT_ALLOW, "open", SCMP_A1_64(SCMP_CMP_MASKED_EQ, all, 0));
    RULE(SCMP_ACT_ALLOW, "openat", SCMP_A2_64(SCMP_CMP_MASKED_EQ, all, 0));
}

/* Code comes out of files alone: libarchive and libtins are loaded when they are needed. */
static void memory(void)
{
    static const char *const maps[] = {"mmap", "mmap2"};
    for (size_t i = 0; i < SIZE(maps); i++) {
        RULE(SCMP_ACT_ALLOW, maps[i], SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
        RULE(SCMP_ACT_ALLOW, maps[i], SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC | PROT_WRITE, PROT_EXEC),
             SCMP_A3_64(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, 0));
    }
    RULE(SCMP_ACT_ALLOW, "mprotect", SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
#ifdef __aarch64__ /* the loader marks code of libraries for branch targets so */
    RULE(SCMP_ACT_ALLOW, "mprotect", SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC | PROT_WRITE, PROT_EXEC));
#endif
}

/* Of terminals only their size and that they are some: TIOCSTI would type for the user. */
static void streams(void)
{
    static const uint64_t questions[] = {TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX, FIONCLEX, TIOCGPGRP};
    static const uint64_t commands[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL};
    static const uint64_t typing[] = {TIOCSTI, 0x541C /* TIOCLINUX */};
    for (size_t i = 0; i < SIZE(questions); i++)
        RULE(SCMP_ACT_ALLOW, "ioctl", SCMP_A1_32(SCMP_CMP_EQ, (uint32_t)questions[i]));
    for (size_t i = 0; i < SIZE(typing); i++)
        RULE(SCMP_ACT_KILL_PROCESS, "ioctl", SCMP_A1_32(SCMP_CMP_EQ, (uint32_t)typing[i]));
    for (size_t i = 0; i < SIZE(commands); i++) {
        RULE(SCMP_ACT_ALLOW, "fcntl", SCMP_A1_32(SCMP_CMP_EQ, (uint32_t)commands[i]));
        RULE(SCMP_ACT_ALLOW, "fcntl64", SCMP_A1_32(SCMP_CMP_EQ, (uint32_t)commands[i]));
    }
}

/* A thread (the bar of progress has one) is no process. clone3 has its flags where no filter sees them:
 * without it the C library takes clone. */
static void threads(void)
{
    RULE(SCMP_ACT_ALLOW, "clone", SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
    RULE(SCMP_ACT_KILL_PROCESS, "clone", SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    RULE(SCMP_ACT_ALLOW, "prlimit64", SCMP_A0_64(SCMP_CMP_EQ, 0), SCMP_A2_64(SCMP_CMP_EQ, 0));
}

static void print(void)
{
    FILE *file = tmpfile();
    struct sock_filter one;
    unsigned count = 0;
    if (file == NULL)
        check(-errno, "a temporary file");
    check(seccomp_export_bpf(ctx, fileno(file)), "export");
    rewind(file);
    puts("#include \"filter.h\"\nconst struct sock_filter fcvi_sandbox_filter[] = {");
    for (; fread(&one, sizeof one, 1, file) == 1; count++)
        printf("    {0x%04x, %u, %u, 0x%08x},\n", one.code, one.jt, one.jf, one.k);
    printf("};\nconst unsigned short fcvi_sandbox_filter_length = %u;\n", count);
    fclose(file);
}

int main(void)
{
    ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    if (ctx == NULL)
        check(-ENOMEM, "init");
    check(seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), "architecture");
    check(seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2), "a tree");
    rules(SCMP_ACT_ALLOW, needed, SIZE(needed));
    rules(SCMP_ACT_KILL_PROCESS, hostile, SIZE(hostile));
    opening();
    memory();
    streams();
    threads();
    print();
    seccomp_release(ctx);
    return fflush(stdout) == 0 ? 0 : 3;
}
