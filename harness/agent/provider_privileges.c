/* See provider_privileges.h. */
#include "provider_privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool become_caller(void)
{
    const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
    if (geteuid() != 0 || uid == NULL || gid == NULL)
        return true;
    uid_t user = (uid_t)strtoul(uid, NULL, 10);
    gid_t group = (gid_t)strtoul(gid, NULL, 10);
    return user == 0 || (setgroups(1, &group) == 0 && setgid(group) == 0 && setuid(user) == 0);
}

/* What a program that root starts could get back. Only CAP_SETPCAP may do this; no_new_privs closes the same
 * way for all. */
static bool drop_bounding(void)
{
    bool done = true;
    for (unsigned long c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0 && done; c++)
        done = prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == 0 || errno == EPERM;
    return done &&
           (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0) == 0 || errno == EPERM);
}

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 || errno == EINVAL) &&
           syscall(SYS_capset, &header, none) == 0;
}

bool agent_drop_privileges(void)
{
    return drop_bounding() && become_caller() && drop_capabilities() &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}
