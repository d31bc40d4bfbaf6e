/* See serve.h. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): struct ucred */
#include "serve.h"
#include "leave.h"
#include "reader.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_LINE_MS = 10000, SEND_S = 30, LEAST_TOKEN = 16, MOST_IDLE_S = 86400, PAUSE_MS = 20 };

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A client that comes, or -1. Where the process has no descriptors left it goes on waiting at the door, so
 * that poll would return at once and again. */
static int take_client(int listening, int flags)
{
    int client = accept4(listening, NULL, NULL, SOCK_CLOEXEC | flags);
    if (client < 0 && errno != EINTR && errno != EAGAIN && errno != ECONNABORTED)
        (void)poll(NULL, 0, PAUSE_MS);
    return client;
}

/* Another client came while one is served. */
static void send_away(int listening)
{
    static const char words[] = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":"
                                "\"another client is being served\"}}\n";
    int client = take_client(listening, SOCK_NONBLOCK);
    if (client < 0)
        return;
    if (send(client, words, sizeof words - 1, MSG_NOSIGNAL) > 0)
        shutdown(client, SHUT_WR);
    close(client);
}

enum event { READY, SILENT, ENDED };

/* Waits until the client has said something, and sends others away meanwhile. Without a client it waits for
 * one. */
static enum event await(const struct serve *o, int source, int64_t until)
{
    bool served = o->listening >= 0 && source != o->listening;
    for (;;) {
        struct pollfd fds[] = {{.fd = source, .events = POLLIN},
                               {.fd = o->signals, .events = POLLIN},
                               {.fd = served ? o->listening : -1, .events = POLLIN}};
        int64_t left = until - now_ms();
        int n = poll(fds, 3, !served ? -1 : left > 0 ? (int)left : 0);
        if (n < 0 && errno != EINTR)
            return ENDED;
        if (n == 0)
            return SILENT;
        if (n > 0 && fds[1].revents != 0)
            return ENDED;
        if (n > 0 && fds[2].revents != 0)
            send_away(o->listening);
        if (n > 0 && fds[0].revents != 0)
            return READY;
    }
}

/* Take in what there is. False when the client has gone or is to go. */
static bool take(struct client *c, int source, struct reader *r)
{
    size_t room;
    char *place = reader_room(r, &room);
    ssize_t n = read(source, place, room);
    if (n < 0 && errno == EINTR)
        return true;
    return n > 0 && reader_took(r, c, (size_t)n);
}

/* Read lines until the client goes. Returns 0, 3 when a line was too long, or -1 when the process is to end.
 */
static int serve(struct serve *o, int source, int sink)
{
    static struct reader reader;
    struct client *c = o->begin(o, sink);
    if (c == NULL)
        return 3;
    bool ended = false;
    reader_begin(&reader);
    c->spoken = o->listening < 0;
    c->token = o->token[0] != '\0' ? o->token : NULL;
    c->closed = c->token != NULL;
    int64_t began = now_ms(), first_ms = o->idle_ms < FIRST_LINE_MS ? o->idle_ms : FIRST_LINE_MS;
    for (bool open = true; open && !c->failed;) {
        bool known = c->spoken && !c->closed;
        enum event event = await(o, source, known ? now_ms() + o->idle_ms : began + first_ms);
        if (event == ENDED)
            ended = true;
        else if (event == SILENT)
            client_refuse(c, NULL, LINE_NOT_RESET, "silent for too long");
        open = event == READY && take(c, source, &reader);
    }
    o->end(c);
    return ended ? -1 : reader.too_long ? 3 : 0;
}

/* A socket that nobody serves any more may go. */
static void remove_stale(const struct sockaddr_un *address)
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

static int listen_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int s = strlen(path) < sizeof address.sun_path ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (s < 0)
        return -1;
    memcpy(address.sun_path, path, strlen(path) + 1);
    remove_stale(&address);
    mode_t mask = umask(077);
    bool good =
        bind(s, (const struct sockaddr *)(const void *)&address, sizeof address) == 0 && listen(s, 8) == 0;
    umask(mask);
    if (good) {
        leave_remove_on_exit(path);
        return s;
    }
    close(s);
    return -1;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static int listen_tcp(char *host, bool token)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char *colon = strrchr(host, ':');
    int s = -1, on = 1;
    if (colon == NULL)
        return -1;
    *colon = '\0';
    if (host[0] == '[' && colon[-1] == ']') {
        colon[-1] = '\0';
        host++;
    }
    if (getaddrinfo(host[0] != '\0' ? host : "127.0.0.1", colon + 1, &hints, &found) != 0)
        return -1;
    if (!token && !is_loopback(found->ai_addr)) {
        freeaddrinfo(found);
        return -2;
    }
    s = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol);
    if (s >= 0)
        setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (s >= 0 && (bind(s, found->ai_addr, found->ai_addrlen) != 0 || listen(s, 8) != 0)) {
        close(s);
        s = -1;
    }
    freeaddrinfo(found);
    return s;
}

/* Who comes through a Unix socket is of our user, or root, unless a token says who may. */
static bool is_welcome(int client, bool token)
{
    struct ucred peer;
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof peer, room = sizeof address;
    if (token || getsockname(client, (struct sockaddr *)(void *)&address, &room) != 0 ||
        address.ss_family != AF_UNIX)
        return true;
    return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static int serve_all(struct serve *o)
{
    const struct timeval patience = {.tv_sec = SEND_S};
    bool is_unix = strncmp(o->address, "unix:", 5) == 0;
    char *address = strdup(o->address);
    struct stat ours = {0}, there;
    int status = 0, s = address == NULL                       ? -1
                        : is_unix                             ? listen_unix(address + 5)
                        : strncmp(o->address, "tcp:", 4) == 0 ? listen_tcp(address + 4, o->token[0] != '\0')
                                                              : -1;
    free(address);
    if (s < 0) {
        fprintf(stderr, "%s: %s: %s\n", o->program, o->address,
                s == -2 ? "not of this host alone: give --token FILE" : "cannot listen there");
        return 2;
    }
    if (is_unix)
        lstat(o->address + 5, &ours);
    o->listening = s;
    puts("listening");
    fflush(stdout);
    while (status >= 0) {
        enum event event = await(o, s, INT64_MAX);
        if (event == ENDED)
            break;
        int client = take_client(s, 0);
        if (client < 0)
            continue;
        setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (is_welcome(client, o->token[0] != '\0'))
            status = serve(o, client, client);
        close(client);
    }
    if (is_unix && lstat(o->address + 5, &there) == 0 && there.st_ino == ours.st_ino &&
        there.st_dev == ours.st_dev)
        unlink(o->address + 5);
    close(s);
    return 0;
}

/* A longer line is no token: a client that names all of it would be refused. */
static bool read_token(const char *path, char *token)
{
    FILE *file = fopen(path, "re");
    size_t length = 0;
    int behind = EOF;
    if (file != NULL && fgets(token, SERVE_MOST_TOKEN + 1, file) != NULL)
        length = strcspn(token, "\r\n");
    if (length == SERVE_MOST_TOKEN)
        behind = fgetc(file);
    if (file != NULL)
        fclose(file);
    token[length] = '\0';
    return length >= LEAST_TOKEN && (behind == EOF || behind == '\r' || behind == '\n');
}

enum serve_option serve_option(struct serve *s, const char *name, const char *value)
{
    char *end = NULL;
    if (strcmp(name, "--token") == 0) {
        if (read_token(value, s->token))
            return SERVE_TAKEN;
        fprintf(stderr, "%s: --token %s: its first line must have 16 to 512 characters\n", s->program, value);
        return SERVE_WRONG;
    }
    if (strcmp(name, "--idle") == 0) {
        long seconds = strtol(value, &end, 10);
        s->idle_ms = seconds > 0 && seconds <= MOST_IDLE_S ? seconds * 1000 : 0;
        if (*end == '\0' && s->idle_ms > 0)
            return SERVE_TAKEN;
        fprintf(stderr, "%s: --idle must be 1 to %d seconds\n", s->program, MOST_IDLE_S);
        return SERVE_WRONG;
    }
    return SERVE_UNKNOWN;
}

void serve_prepare(struct serve *s)
{
    sigset_t ends;
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    s->signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

int serve_run(struct serve *s)
{
    if (s->address != NULL)
        return serve_all(s);
    int status = serve(s, STDIN_FILENO, STDOUT_FILENO);
    return status < 0 ? 0 : status;
}
