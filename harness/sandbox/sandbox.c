/* Confinement of this process: no_new_privs, limits, Landlock where the kernel has it, and a seccomp filter.
 */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): O_PATH, syscall */
#include "sandbox.h"

#include "filter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Landlock ---- */

/* The headers of Debian 12 know the second version; what later ones added has these numbers. */
enum { TRUNCATE_SINCE = 3, NETWORK_SINCE = 4, DEVICES_SINCE = 5, SCOPES_SINCE = 6, REFER_SINCE = 2 };
#define FILES_AND_FOLDERS ((1ull << 13) - 1)
#define REFER (1ull << 13)
#define TRUNCATE (1ull << 14)
#define DEVICES (1ull << 15)
#define TCP 3ull    /* bind and connect */
#define SCOPES 3ull /* abstract Unix sockets, signals */
#define READ_FILE ((uint64_t)LANDLOCK_ACCESS_FS_READ_FILE)
#define READ_FOLDER ((uint64_t)LANDLOCK_ACCESS_FS_READ_DIR)

struct ruleset { /* struct landlock_ruleset_attr of version 6 */
    uint64_t files, network, scopes;
};

int fcvi_sandbox_landlock(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version > 0 ? (int)version : 0;
}

static struct ruleset everything(int version)
{
    struct ruleset r = {FILES_AND_FOLDERS, 0, 0};
    r.files |= version >= REFER_SINCE ? REFER : 0;
    r.files |= version >= TRUNCATE_SINCE ? TRUNCATE : 0;
    r.files |= version >= DEVICES_SINCE ? DEVICES : 0;
    r.network = version >= NETWORK_SINCE ? TCP : 0;
    r.scopes = version >= SCOPES_SINCE ? SCOPES : 0;
    return r;
}

static int allow_reading(int ruleset, const char *path)
{
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    struct landlock_path_beneath_attr rule = {READ_FILE | (S_ISDIR(st.st_mode) ? READ_FOLDER : 0), fd};
    long status = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    int failed = status != 0 && errno != EBADFD; /* EBADFD: a pipe, which Landlock does not look at */
    close(fd);
    return failed ? -1 : 0;
}

static int landlock(char *const *readable, size_t count)
{
    int version = fcvi_sandbox_landlock();
    if (version == 0)
        return 0;
    struct ruleset r = everything(version);
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &r, sizeof r, 0);
    if (ruleset < 0)
        return -1;
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = allow_reading(ruleset, readable[i]);
    if (status == 0)
        status = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
    close(ruleset);
    return status;
}

/* ---- what it was started with ---- */

static bool can_write(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_RDONLY;
}

/* Of a file for reading that the caller opened (a shell's <(...)) the name may be that of a capture. */
static int close_writable(int keep)
{
    DIR *open_ones = opendir("/proc/self/fd");
    if (open_ones == NULL)
        return -1;
    for (struct dirent *e; (e = readdir(open_ones)) != NULL;) {
        int fd = (int)strtol(e->d_name, NULL, 10);
        if (fd > STDERR_FILENO && fd != keep && fd != dirfd(open_ones) && can_write(fd))
            close(fd);
    }
    closedir(open_ones);
    return 0;
}

/* ---- limits ---- */

enum { GRACE_S = 5 }; /* between the signal that can be told and the one that nothing outlives */

static int limit(__rlimit_resource_t what, uint64_t most, uint64_t grace)
{
    struct rlimit now;
    if (most == 0)
        return 0;
    if (getrlimit(what, &now) != 0)
        return -1;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most + grace)
        most = now.rlim_max > grace ? now.rlim_max - grace : now.rlim_max;
    struct rlimit wanted = {most, most + grace < now.rlim_max ? most + grace : now.rlim_max};
    return setrlimit(what, &wanted);
}

static int limit_all(const struct fcvi_sandbox_limits *limits)
{
    return limit(RLIMIT_AS, limits->memory, 0) != 0 || limit(RLIMIT_CPU, limits->cpu_s, GRACE_S) != 0 ||
                   limit(RLIMIT_FSIZE, limits->output, 0) != 0
               ? -1
               : 0;
}

/* ---- seccomp ---- */

int fcvi_sandbox_seccomp(void)
{
    uint32_t action = SECCOMP_RET_KILL_PROCESS;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* SPEC_ALLOW: older kernels would slow the whole process down, for secrets that a reader does not have. */
static int filter(void)
{
    struct sock_fprog program = {fcvi_sandbox_filter_length,
                                 (struct sock_filter *)(uintptr_t)fcvi_sandbox_filter};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0)
        return 0;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static int refuse(const char *what, char *error, size_t size)
{
    int number = errno;
    snprintf(error, size, "%s: %s", what, strerror(number));
    return -1;
}

int fcvi_sandbox_enter(int parent, int keep, const struct fcvi_sandbox_limits *limits, char *const *readable,
                       size_t count, char *error, size_t size)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return refuse("the signal of the parent's end", error, size);
    if (getppid() != parent) /* it has ended already */
        _exit(1);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return refuse("no_new_privs", error, size);
    if (close_writable(keep) != 0)
        return refuse("open streams", error, size);
    if (landlock(readable, count) != 0)
        return refuse("Landlock", error, size);
    if (limit_all(limits) != 0)
        return refuse("limits", error, size);
    return filter() == 0 ? 0 : refuse("seccomp", error, size);
}
