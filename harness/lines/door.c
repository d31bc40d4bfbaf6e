/* See door.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): accept4 */
#endif
#include "door.h"
#include "clock.h"
#include "first.h"
#include "owner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { DOOR_PAUSE_NS = 20 * 1000 * 1000, DOOR_AT_ONCE = 64, DOOR_ADDRESS = 16 };
enum { DOOR_LISTENER = DOOR_STRANGERS, DOOR_TIMER, DOOR_EVENTS };
enum { DOOR_BUSY = -32000 };

/* A connection that has not said who it is. */
struct stranger {
    int fd; /* -1: free */
    int64_t until_ms;
    uint64_t number;            /* who came earlier has a smaller one: many come in one millisecond */
    uint8_t from[DOOR_ADDRESS]; /* of whose host */
    size_t have;
    char said[DOOR_LONGEST];
};

struct door {
    int events, timer, listening;
    char token[DOOR_TOKEN + 1];
    long first_ms;
    char path[sizeof((struct sockaddr_un *)0)->sun_path]; /* of a Unix socket; else "" */
    struct stat ours;
    uint64_t came;
    int ready; /* the stranger who may come in; -1: none */
    struct stranger strangers[DOOR_STRANGERS];
};

/* ---- strangers ---- */

static void door_watch_time(struct door *d)
{
    struct itimerspec when = {{0, 0}, {0, 0}};
    int64_t first = INT64_MAX;
    for (int i = 0; i < DOOR_STRANGERS; i++)
        if (d->strangers[i].fd >= 0 && i != d->ready && d->strangers[i].until_ms < first)
            first = d->strangers[i].until_ms;
    if (first != INT64_MAX) {
        when.it_value.tv_sec = (time_t)(first / 1000);
        when.it_value.tv_nsec = (long)(first % 1000) * 1000000 + 1;
    }
    (void)timerfd_settime(d->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* What does not fit into the kernel's buffer is lost: nobody waits for a stranger. */
static void door_tell(int fd, const char *words)
{
    if (words[0] != '\0' && send(fd, words, strlen(words), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        (void)shutdown(fd, SHUT_WR);
}

static void door_dismiss(struct stranger *s, const char *words)
{
    door_tell(s->fd, words);
    close(s->fd);
    s->fd = -1;
}

static void door_refuse(struct stranger *s, const char *why)
{
    char words[FIRST_ANSWER];
    first_refusal(DOOR_BUSY, why, words);
    door_dismiss(s, words);
}

static void door_from(struct stranger *s)
{
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof peer;
    memset(s->from, 0, sizeof s->from);
    (void)getpeername(s->fd, (struct sockaddr *)(void *)&peer, &size);
    if (peer.ss_family == AF_INET)
        memcpy(s->from, &((struct sockaddr_in *)(void *)&peer)->sin_addr, sizeof(struct in_addr));
    else if (peer.ss_family == AF_INET6)
        memcpy(s->from, &((struct sockaddr_in6 *)(void *)&peer)->sin6_addr, sizeof(struct in6_addr));
}

static unsigned door_neighbours(const struct door *d, const struct stranger *of)
{
    unsigned count = 0;
    for (int i = 0; i < DOOR_STRANGERS; i++)
        count += d->strangers[i].fd >= 0 && memcmp(d->strangers[i].from, of->from, sizeof of->from) == 0;
    return count;
}

/* Who makes room: of the host that has most places, the one who came first. NULL: nobody is there. */
static struct stranger *door_first(struct door *d)
{
    struct stranger *first = NULL;
    unsigned most = 0;
    for (int i = 0; i < DOOR_STRANGERS; i++) {
        struct stranger *s = &d->strangers[i];
        unsigned count = s->fd >= 0 && i != d->ready ? door_neighbours(d, s) : 0;
        if (count > most || (first != NULL && count == most && s->number < first->number)) {
            first = s;
            most = count;
        }
    }
    return first;
}

/* A place for one more. */
static struct stranger *door_place(struct door *d)
{
    for (int i = 0; i < DOOR_STRANGERS; i++)
        if (d->strangers[i].fd < 0)
            return &d->strangers[i];
    struct stranger *first = door_first(d);
    if (first != NULL)
        door_refuse(first, "too many at the door");
    return first;
}

/* Whether somebody is inside who has not gone: who comes after his end finds it here. */
static bool door_is_busy(int served)
{
    struct pollfd inside = {.fd = served, .events = POLLIN};
    return served >= 0 && poll(&inside, 1, 0) == 0;
}

/* False: nobody is there, or nobody can be taken. Where the process has no descriptors left, a stranger gives
 * his up; without one a moment passes, for epoll would say so again at once. */
static bool door_accept(struct door *d, int served)
{
    const struct timespec moment = {.tv_nsec = DOOR_PAUSE_NS};
    int fd = accept4(d->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno == EINTR || errno == ECONNABORTED)
            return true;
        if (errno == EAGAIN)
            return false;
        struct stranger *first = door_first(d);
        if (first != NULL) {
            door_dismiss(first, "");
            return true;
        }
        (void)nanosleep(&moment, NULL);
        return false;
    }
    const bool busy = d->ready >= 0 || door_is_busy(served);
    struct stranger *s = !busy && (d->token[0] != '\0' || owner_is_ours(fd)) ? door_place(d) : NULL;
    if (s == NULL) {
        char words[FIRST_ANSWER];
        first_refusal(DOOR_BUSY,
                      busy ? "another client is being served" : "a process of another user: give --token",
                      words);
        door_tell(fd, words);
        close(fd);
        return true;
    }
    struct epoll_event e = {.events = EPOLLIN, .data = {.u32 = (uint32_t)(s - d->strangers)}};
    s->fd = fd;
    s->have = 0;
    s->until_ms = clock_ms() + d->first_ms;
    s->number = d->came++;
    door_from(s);
    if (epoll_ctl(d->events, EPOLL_CTL_ADD, fd, &e) != 0)
        door_dismiss(s, "");
    return true;
}

static void door_hear(struct door *d, int number, int served)
{
    struct stranger *s = &d->strangers[number];
    char answer[FIRST_ANSWER];
    if (s->fd < 0 || number == d->ready)
        return;
    ssize_t n = recv(s->fd, s->said + s->have, sizeof s->said - s->have, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        door_dismiss(s, "");
        return;
    }
    s->have += (size_t)n;
    enum first first = first_line(s->said, s->have, d->token, answer);
    if (first == FIRST_OUT)
        door_dismiss(s, answer);
    else if (first == FIRST_IN && (d->ready >= 0 || door_is_busy(served)))
        door_refuse(s, "another client is being served");
    else if (first == FIRST_IN) {
        d->ready = number;
        (void)epoll_ctl(d->events, EPOLL_CTL_DEL, s->fd, NULL);
    }
}

void door_run(struct door *d, int served)
{
    struct epoll_event list[DOOR_EVENTS];
    int count = epoll_wait(d->events, list, DOOR_EVENTS, 0);
    bool newcomers = false;
    if (d->ready >= 0 && door_is_busy(served)) { /* who is inside had something else to say */
        struct stranger *s = &d->strangers[d->ready];
        d->ready = -1;
        door_refuse(s, "another client is being served");
    }
    for (int i = 0; i < count; i++) /* who is there already comes before who comes */
        if (list[i].data.u32 < DOOR_STRANGERS)
            door_hear(d, (int)list[i].data.u32, served);
        else if (list[i].data.u32 == DOOR_LISTENER)
            newcomers = true;
    for (int i = 0; newcomers && i < DOOR_AT_ONCE && door_accept(d, served); i++)
        ;
    const int64_t now = clock_ms();
    for (int i = 0; i < DOOR_STRANGERS; i++)
        if (d->strangers[i].fd >= 0 && i != d->ready && d->strangers[i].until_ms <= now)
            door_refuse(&d->strangers[i], "silent for too long");
    door_watch_time(d);
}

int door_client(struct door *d, char *said, size_t *length)
{
    if (d->ready < 0)
        return -1;
    struct stranger *s = &d->strangers[d->ready];
    int fd = s->fd;
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    memcpy(said, s->said, s->have);
    *length = s->have;
    s->fd = d->ready = -1;
    return fd;
}

/* ---- addresses ---- */

/* A socket that nobody serves any more may go. */
static void door_remove_stale(const struct sockaddr_un *address)
{
    struct stat status;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe >= 0 && lstat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode) &&
        connect(probe, (const struct sockaddr *)(const void *)address, sizeof *address) != 0 &&
        errno == ECONNREFUSED)
        unlink(address->sun_path);
    if (probe >= 0)
        close(probe);
}

static bool door_listen_unix(struct door *d, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path[0] == '\0' || strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    d->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(address.sun_path, path, strlen(path) + 1);
    door_remove_stale(&address);
    mode_t mask = umask(077);
    bool good = d->listening >= 0 &&
                bind(d->listening, (const struct sockaddr *)(const void *)&address, sizeof address) == 0 &&
                listen(d->listening, SOMAXCONN) == 0;
    umask(mask);
    if (good && lstat(path, &d->ours) == 0)
        memcpy(d->path, path, strlen(path) + 1);
    return good;
}

static bool door_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* "" or why it cannot be. */
static const char *door_listen_tcp(struct door *d, char *host)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char *colon = strrchr(host, ':'), *end = NULL;
    const int on = 1;
    if (colon == NULL || colon[1] < '0' || colon[1] > '9' || strtoul(colon + 1, &end, 10) > 65535 ||
        *end != '\0')
        return "use tcp:HOST:PORT with a port from 0 to 65535";
    *colon = '\0';
    if (host[0] == '[' && colon[-1] == ']') {
        colon[-1] = '\0';
        host++;
    }
    if (getaddrinfo(host[0] != '\0' ? host : "127.0.0.1", colon + 1, &hints, &found) != 0)
        return "no such address";
    const char *why = "";
    if (d->token[0] == '\0' && !door_is_loopback(found->ai_addr))
        why = "not of this host alone: give --token FILE";
    else if ((d->listening = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                    found->ai_protocol)) < 0 ||
             setsockopt(d->listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
             bind(d->listening, found->ai_addr, found->ai_addrlen) != 0 ||
             listen(d->listening, SOMAXCONN) != 0)
        why = strerror(errno);
    freeaddrinfo(found);
    return why;
}

static const char *door_listen(struct door *d, const char *address)
{
    if (strncmp(address, "unix:", 5) == 0 && address[5] != '\0')
        return door_listen_unix(d, address + 5) ? "" : strerror(errno);
    if (strncmp(address, "tcp:", 4) != 0)
        return "use unix:PATH or tcp:HOST:PORT";
    char *host = strdup(address + 4);
    const char *why = host != NULL ? door_listen_tcp(d, host) : strerror(ENOMEM);
    free(host);
    return why;
}

struct door *door_open(const char *address, const char *token, long first_ms, char *why, size_t size)
{
    struct door *d = calloc(1, sizeof *d);
    if (d == NULL || strlen(token) > DOOR_TOKEN) {
        snprintf(why, size, "no room");
        free(d);
        return NULL;
    }
    for (int i = 0; i < DOOR_STRANGERS; i++)
        d->strangers[i].fd = -1;
    d->ready = d->listening = -1;
    d->first_ms = first_ms;
    memcpy(d->token, token, strlen(token));
    d->events = epoll_create1(EPOLL_CLOEXEC);
    d->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event time = {.events = EPOLLIN, .data = {.u32 = DOOR_TIMER}},
                       comes = {.events = EPOLLIN, .data = {.u32 = DOOR_LISTENER}};
    const char *wrong = d->events < 0 || d->timer < 0 ? strerror(errno) : door_listen(d, address);
    if (wrong[0] == '\0' && (epoll_ctl(d->events, EPOLL_CTL_ADD, d->listening, &comes) != 0 ||
                             epoll_ctl(d->events, EPOLL_CTL_ADD, d->timer, &time) != 0))
        wrong = strerror(errno);
    if (wrong[0] == '\0')
        return d;
    snprintf(why, size, "%s", wrong);
    door_close(d);
    return NULL;
}

void door_close(struct door *d)
{
    struct stat there;
    for (int i = 0; i < DOOR_STRANGERS; i++)
        if (d->strangers[i].fd >= 0)
            close(d->strangers[i].fd);
    if (d->path[0] != '\0' && lstat(d->path, &there) == 0 && there.st_ino == d->ours.st_ino &&
        there.st_dev == d->ours.st_dev)
        unlink(d->path);
    if (d->listening >= 0)
        close(d->listening);
    if (d->timer >= 0)
        close(d->timer);
    if (d->events >= 0)
        close(d->events);
    free(d);
}

int door_fd(const struct door *d)
{
    return d->events;
}

void door_name(const struct door *d, char *name, size_t size)
{
    struct sockaddr_storage own;
    socklen_t room = sizeof own;
    char host[INET6_ADDRSTRLEN] = "";
    if (d->path[0] != '\0') {
        snprintf(name, size, "%s", d->path);
        return;
    }
    memset(&own, 0, sizeof own);
    (void)getsockname(d->listening, (struct sockaddr *)(void *)&own, &room);
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)&own;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)&own;
    const bool is_four = own.ss_family == AF_INET;
    (void)inet_ntop(own.ss_family, is_four ? (const void *)&four->sin_addr : (const void *)&six->sin6_addr,
                    host, sizeof host);
    snprintf(name, size, is_four ? "%s:%u" : "[%s]:%u", host,
             (unsigned)ntohs(is_four ? four->sin_port : six->sin6_port));
}

/* A longer line is no token: a client that names all of it would be refused. */
/* A pipe that nobody writes to would be waited for. */
static FILE *regular(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    FILE *file = NULL;
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
        file = fdopen(descriptor, "r");
    if (file == NULL && descriptor >= 0)
        close(descriptor);
    return file;
}

bool door_read_token(const char *path, char *token)
{
    FILE *file = regular(path);
    size_t length = 0;
    int behind = EOF;
    if (file != NULL && fgets(token, DOOR_TOKEN + 1, file) != NULL)
        length = strcspn(token, "\r\n");
    if (length == DOOR_TOKEN)
        behind = fgetc(file);
    if (file != NULL)
        fclose(file);
    token[length] = '\0';
    return length >= DOOR_LEAST_TOKEN && (behind == EOF || behind == '\r' || behind == '\n');
}
