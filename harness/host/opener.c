/* See opener.h. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): secure_getenv */
#include "opener.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST_S = 10, WORDS = 200 };

static const char *program(void)
{
    const char *const places[] = {secure_getenv("VIPL_OPENER"), "/usr/lib/fcvi/build/fcvi-open",
                                  "/usr/local/lib/fcvi/build/fcvi-open"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (places[i] != NULL && access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

/* What it complains of comes the way that the socket would. Nothing of the environment is its own. */
static bool start(const char *path, const char *interface, int its, pid_t *pid)
{
    char *words[] = {strdup(path), strdup(interface), NULL}, *nothing[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, its, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, its, STDERR_FILENO);
    bool good =
        words[0] != NULL && words[1] != NULL && posix_spawn(pid, path, &actions, NULL, words, nothing) == 0;
    posix_spawn_file_actions_destroy(&actions);
    free(words[0]);
    free(words[1]);
    return good;
}

static int receive(int ours, char *words, size_t size)
{
    int fd = -1;
    struct iovec data = {.iov_base = words, .iov_len = size - 1};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(ours, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *rights = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    words[n > 0 ? n : 0] = '\0';
    if (rights != NULL && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    return fd;
}

int opener_take(const char *interface, char *why, size_t size)
{
    const struct timeval longest = {.tv_sec = LONGEST_S};
    const char *path = program();
    char words[WORDS] = "";
    int pair[2], fd = -1;
    pid_t pid;
    if (path == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    (void)setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    bool started = start(path, interface, pair[1], &pid);
    close(pair[1]);
    if (started) {
        fd = receive(pair[0], words, sizeof words);
        while (waitpid(pid, NULL, fd < 0 && words[0] == '\0' ? WNOHANG : 0) < 0 && errno == EINTR)
            continue;
    }
    close(pair[0]);
    words[strcspn(words, "\r\n")] = '\0';
    if (fd < 0)
        snprintf(why, size, "%s", words[0] != '\0' ? words : "fcvi-open hands no socket over");
    return fd;
}
