/* See sockets.h. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): accept4 */
#include "sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ROOM = 16 * FCVI_STREAM_WINDOW, LISTENER = SOCKETS_STREAMS, EVENTS = 64, BACKLOG = 128, HOST = 16 };
enum { BATCH = 16, HEADER = 24, FIRST_LOOK = 4096, TAKEN_AT_ONCE = 32 };

/* The connection of a stream. What the port has said goes to the kernel from where it lies. What the kernel
 * does not take waits in a ring, and the port says no more until that is empty, so that little is copied. */
struct connection {
    int fd; /* -1: free */
    bool opening, ended, end, end_sent;
    uint32_t watched;          /* what epoll is asked for */
    size_t first, count, owed; /* owed: bytes of the window that have gone out */
    uint8_t *out; /* of ROOM bytes; NULL until it is needed, and then the next connection has it too */
};

/* Consecutive segments of one stream. */
struct batch {
    uint32_t stream;
    size_t count, pieces;
    struct fcvi_stream_bytes segment[BATCH + 1]; /* the last is of the next batch */
    struct iovec piece[BATCH * (1 + FCVI_STREAM_PIECES)];
};

struct sockets {
    int events_fd, listening;
    struct sockaddr_in6 own;
    struct connection connections[SOCKETS_STREAMS]; /* by the number of the stream */
    struct batch batch;
    uint8_t buffer[FCVI_STREAM_WINDOW];
};

/* ---- addresses ---- */

/* Every socket is of IPv6 and takes IPv4 as ::ffff:a.b.c.d, which is how VI has it (V45). */
static bool parse(const char *spec, struct sockaddr_in6 *out)
{
    char host[INET6_ADDRSTRLEN + 2], whole[sizeof host + 8], *rest;
    const char *colon = strrchr(spec, ':');
    size_t length = colon != NULL ? (size_t)(colon - spec) : 0;
    if (length == 0 || length >= sizeof host || colon[1] < '0' || colon[1] > '9')
        return false;
    memcpy(host, spec, length);
    host[length] = '\0';
    unsigned long port = strtoul(colon + 1, &rest, 10);
    if (host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = '\0';
        snprintf(whole, sizeof whole, "%s", host + 1);
    } else {
        snprintf(whole, sizeof whole, "::ffff:%s", host);
    }
    *out = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    return *rest == '\0' && port >= 1 && port <= 65535 && inet_pton(AF_INET6, whole, &out->sin6_addr) == 1;
}

static struct fcvi_endpoint endpoint_of(const struct sockaddr_in6 *a)
{
    struct fcvi_endpoint e = {.port = ntohs(a->sin6_port)};
    memcpy(e.host, &a->sin6_addr, HOST);
    return e;
}

static struct sockaddr_in6 address_of(const uint8_t *host, uint16_t port)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    memcpy(&a.sin6_addr, host, HOST);
    return a;
}

const uint8_t *sockets_host(const struct sockets *s)
{
    return s->own.sin6_addr.s6_addr;
}

int sockets_fd(const struct sockets *s)
{
    return s->events_fd;
}

/* ---- sockets ---- */

static int new_socket(void)
{
    const int off = 0, on = 1;
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    return fd;
}

/* With a RST. */
static void cut_off(int fd)
{
    const struct linger now = {.l_onoff = 1};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

static bool watch(struct sockets *s, int operation, int fd, uint32_t stream, uint32_t events)
{
    struct epoll_event e = {.events = events, .data = {.u32 = stream}};
    return epoll_ctl(s->events_fd, operation, fd, &e) == 0;
}

static bool listen_at(struct sockets *s)
{
    const int on = 1;
    s->listening = new_socket();
    return s->listening >= 0 && setsockopt(s->listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
           bind(s->listening, (const struct sockaddr *)&s->own, sizeof s->own) == 0 &&
           listen(s->listening, BACKLOG) == 0;
}

struct sockets *sockets_open(const char *spec, char *why, size_t size)
{
    static const char kind[] = "vitcp:";
    struct sockets *s = calloc(1, sizeof *s);
    if (s == NULL || strncmp(spec, kind, strlen(kind)) != 0 || !parse(spec + strlen(kind), &s->own)) {
        snprintf(why, size, "%s: use vitcp:ADDR:PORT with an IP address", spec);
        free(s);
        return NULL;
    }
    for (size_t i = 0; i < SOCKETS_STREAMS; i++)
        s->connections[i].fd = -1;
    s->listening = -1;
    s->events_fd = epoll_create1(EPOLL_CLOEXEC);
    if (s->events_fd >= 0 && listen_at(s) && watch(s, EPOLL_CTL_ADD, s->listening, LISTENER, EPOLLIN))
        return s;
    snprintf(why, size, "%s: %s", spec, strerror(errno));
    sockets_close(s);
    return NULL;
}

void sockets_close(struct sockets *s)
{
    for (size_t i = 0; i < SOCKETS_STREAMS; i++) {
        if (s->connections[i].fd >= 0)
            close(s->connections[i].fd);
        free(s->connections[i].out);
    }
    if (s->listening >= 0)
        close(s->listening);
    if (s->events_fd >= 0)
        close(s->events_fd);
    free(s);
}

/* ---- s->connections ---- */

static void forget(struct connection *c)
{
    close(c->fd);
    c->fd = -1;
}

static void watch_again(struct sockets *s, struct connection *c)
{
    uint32_t wanted = (c->ended || c->opening ? 0 : (uint32_t)EPOLLIN) |
                      (c->opening || c->count > 0 ? (uint32_t)EPOLLOUT : 0);
    if (wanted != c->watched)
        (void)watch(s, EPOLL_CTL_MOD, c->fd, (uint32_t)(c - s->connections), wanted);
    c->watched = wanted;
}

static bool begin(struct sockets *s, uint32_t stream, int fd, bool opening)
{
    struct connection *c = &s->connections[stream];
    c->fd = fd;
    c->opening = opening;
    c->ended = c->end = c->end_sent = false;
    c->first = c->count = 0;
    c->owed = ROOM - FCVI_STREAM_WINDOW; /* what the ring has room for beyond the first window */
    c->watched = opening ? (uint32_t)EPOLLOUT : (uint32_t)EPOLLIN;
    return watch(s, EPOLL_CTL_ADD, fd, stream, c->watched);
}

/* answered: by a RST. */
static void gone(struct sockets *s, struct fcvi_port *port, uint64_t now, struct connection *c, bool answered)
{
    uint32_t stream = (uint32_t)(c - s->connections);
    bool opening = c->opening;
    forget(c);
    if (opening && !answered)
        fcvi_stream_opened(port, now, stream, false, NULL);
    else
        fcvi_stream_closed(port, now, stream, FCVI_CLOSE_RESET);
}

/* The port may say as much again as has gone out. */
static void pay(const struct sockets *s, struct fcvi_port *port, uint64_t now, struct connection *c)
{
    if (c->owed > 0 && c->count == 0)
        fcvi_stream_window(port, now, (uint32_t)(c - s->connections), (int64_t)c->owed);
    c->owed = c->count == 0 ? 0 : c->owed;
}

/* What waits goes out, as much as the kernel takes; then the end, if the port has said so. */
static void flush(struct sockets *s, struct fcvi_port *port, uint64_t now, struct connection *c)
{
    while (c->count > 0) {
        size_t piece = c->count < ROOM - c->first ? c->count : ROOM - c->first;
        ssize_t n = send(c->fd, c->out + c->first, piece, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) {
            gone(s, port, now, c, true);
            return;
        }
        if (n < 0)
            break;
        c->first = (c->first + (size_t)n) % ROOM;
        c->count -= (size_t)n;
        c->owed += (size_t)n;
    }
    pay(s, port, now, c);
    if (c->end && c->count == 0 && !c->end_sent) {
        c->end_sent = true;
        (void)shutdown(c->fd, SHUT_WR);
    }
    if (c->end && c->ended)
        forget(c); /* the port needs it no longer; the kernel sends what it has taken */
    else
        watch_again(s, c);
}

/* False: no memory. */
static bool put(struct connection *c, const uint8_t *bytes, size_t length)
{
    if (length > 0 && c->out == NULL)
        c->out = malloc(ROOM);
    if (length == 0 || c->out == NULL)
        return length == 0;
    size_t at = (c->first + c->count) % ROOM, piece = length < ROOM - at ? length : ROOM - at;
    memcpy(c->out + at, bytes, piece);
    memcpy(c->out, bytes + piece, length - piece);
    c->count += length;
    return true;
}

/* ---- what the port says ---- */

static void add(struct batch *b, void *bytes, size_t length)
{
    if (length > 0)
        b->piece[b->pieces++] = (struct iovec){bytes, length};
}

/* The segment that was gathered behind those of the batch. */
static void take_segment(struct batch *b, uint32_t stream)
{
    struct fcvi_stream_bytes *segment = &b->segment[b->count++];
    b->stream = stream;
    add(b, segment->head, segment->head_length);
    for (size_t i = 0; i < segment->pieces; i++)
        add(b, segment->piece[i].bytes, segment->piece[i].length);
}

/* All of the batch in one call; what the kernel does not take waits. */
static void send_batch(struct sockets *s, struct fcvi_port *port, uint64_t now)
{
    struct batch *b = &s->batch;
    struct connection *c = &s->connections[b->stream];
    const struct msghdr message = {.msg_iov = b->piece, .msg_iovlen = b->pieces};
    const size_t pieces = b->pieces;
    const bool any = b->count > 0 && c->fd >= 0;
    ssize_t n = any && c->count == 0 ? sendmsg(c->fd, &message, MSG_NOSIGNAL) : 0;
    b->count = b->pieces = 0;
    bool good = n >= 0 || errno == EAGAIN || errno == EINTR;
    size_t out = n > 0 ? (size_t)n : 0;
    c->owed += out;
    for (size_t i = 0; any && good && i < pieces; i++) {
        size_t skipped = out < b->piece[i].iov_len ? out : b->piece[i].iov_len;
        good = put(c, (const uint8_t *)b->piece[i].iov_base + skipped, b->piece[i].iov_len - skipped);
        out -= skipped;
    }
    if (any && !good)
        gone(s, port, now, c, true);
    if (!any || !good)
        return;
    pay(s, port, now, c);
    watch_again(s, c);
}

static void call(struct sockets *s, struct fcvi_port *port, uint64_t now, const struct fcvi_stream_out *what)
{
    struct sockaddr_in6 local = address_of(what->local.host, 0);
    struct sockaddr_in6 remote = address_of(what->remote.host, ntohs(s->own.sin6_port));
    const int on = 1;
    int fd = new_socket();
    if (fd >= 0) /* a local port that only this peer's s->connections may not have */
        (void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    errno = 0;
    bool asked = fd >= 0 && bind(fd, (struct sockaddr *)&local, sizeof local) == 0 &&
                 (connect(fd, (struct sockaddr *)&remote, sizeof remote) == 0 || errno == EINPROGRESS) &&
                 begin(s, what->stream, fd, true);
    if (asked)
        return;
    const bool answered = errno == ECONNREFUSED; /* of an own address the answer is here at once */
    if (fd >= 0)
        close(fd);
    s->connections[what->stream].fd = -1;
    if (answered)
        fcvi_stream_closed(port, now, what->stream, FCVI_CLOSE_RESET);
    else
        fcvi_stream_opened(port, now, what->stream, false, NULL);
}

bool sockets_send(struct sockets *s, struct fcvi_port *port, uint64_t now)
{
    struct fcvi_stream_out what;
    struct batch *b = &s->batch;
    bool any = false;
    for (;; any = true) {
        struct fcvi_stream_bytes *segment = &b->segment[b->count];
        (void)fcvi_stream_gather(port, now, ROOM, segment, &what);
        struct connection *c = &s->connections[what.stream];
        const bool data = what.kind == FCVI_STREAM_DATA;
        if (what.kind == FCVI_STREAM_NONE && b->count == 0)
            return any;
        if (b->count == BATCH || (b->count > 0 && (!data || what.stream != b->stream))) {
            send_batch(s, port, now);
            b->segment[0] = *segment;
        }
        if (data) {
            take_segment(b, what.stream);
        } else if (what.kind == FCVI_STREAM_OPEN) {
            call(s, port, now, &what);
        } else if (what.kind == FCVI_STREAM_FIN && c->fd >= 0) {
            c->end = true;
            flush(s, port, now, c);
        } else if (what.kind == FCVI_STREAM_RESET && c->fd >= 0) {
            cut_off(c->fd);
            c->fd = -1;
        }
    }
}

/* ---- what arrives ---- */

static void take_calls(struct sockets *s, struct fcvi_port *port, uint64_t now)
{
    struct sockaddr_in6 from = {0}, to = {0};
    for (;;) {
        const int on = 1;
        socklen_t from_size = sizeof from, to_size = sizeof to;
        uint32_t stream;
        int fd = accept4(s->listening, (struct sockaddr *)&from, &from_size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        bool known = port != NULL && getsockname(fd, (struct sockaddr *)&to, &to_size) == 0;
        const struct fcvi_endpoint remote = endpoint_of(&from), local = known ? endpoint_of(&to) : remote;
        if (!known || !fcvi_stream_incoming(port, now, &remote, &local, &stream))
            cut_off(fd);
        else if (!begin(s, stream, fd, false))
            gone(s, port, now, &s->connections[stream], true);
    }
}

static void connected(struct sockets *s, struct fcvi_port *port, uint64_t now, struct connection *c)
{
    struct sockaddr_in6 local = {0}, remote = {0};
    socklen_t size = sizeof remote, local_size = sizeof local;
    int error = 0;
    socklen_t error_size = sizeof error;
    (void)getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &error_size);
    bool there = getpeername(c->fd, (struct sockaddr *)&remote, &size) == 0;
    if (error != 0) {
        gone(s, port, now, c, error == ECONNREFUSED || error == ECONNRESET);
        return;
    }
    if (!there)
        return; /* what epoll said was of an earlier socket */
    c->opening = false;
    watch_again(s, c);
    bool known = getsockname(c->fd, (struct sockaddr *)&local, &local_size) == 0;
    struct fcvi_endpoint here = known ? endpoint_of(&local) : (struct fcvi_endpoint){.port = 0};
    fcvi_stream_opened(port, now, (uint32_t)(c - s->connections), true, known ? &here : NULL);
}

/* Data of a Send go to where they belong, with the header behind them to the buffer; all else to the buffer,
 * of which only `room` is used. How much was wanted, and what recvmsg says. */
static ssize_t receive(struct sockets *s, struct fcvi_port *port, uint64_t now, const struct connection *c,
                       size_t room, size_t *wanted)
{
    const uint32_t stream = (uint32_t)(c - s->connections);
    struct fcvi_stream_piece piece[FCVI_STREAM_PIECES];
    struct iovec to[FCVI_STREAM_PIECES + 1];
    const size_t pieces = fcvi_stream_place(port, stream, piece);
    struct msghdr message = {.msg_iov = to, .msg_iovlen = pieces + 1};
    size_t placed = 0;
    for (size_t i = 0; i < pieces; i++) {
        to[i] = (struct iovec){piece[i].bytes, piece[i].length};
        placed += piece[i].length;
    }
    to[pieces] = (struct iovec){s->buffer, pieces > 0 ? HEADER : room};
    *wanted = placed + to[pieces].iov_len;
    const ssize_t n = recvmsg(c->fd, &message, 0);
    if (n <= 0)
        return n;
    placed = placed < (size_t)n ? placed : (size_t)n;
    if (placed > 0)
        fcvi_stream_placed(port, now, stream, placed);
    if ((size_t)n > placed)
        fcvi_stream_receive(port, now, stream, s->buffer, (size_t)n - placed);
    return n;
}

/* The first look is a short one: what begins may be a large Send. */
static void take_bytes(struct sockets *s, struct fcvi_port *port, uint64_t now, struct connection *c)
{
    uint32_t stream = (uint32_t)(c - s->connections);
    ssize_t n = 1;
    size_t wanted = 1;
    for (int i = 0; n > 0 && (size_t)n >= wanted && i < TAKEN_AT_ONCE; i++)
        n = receive(s, port, now, c, i == 0 ? FIRST_LOOK : sizeof s->buffer, &wanted);
    if (n > 0)
        return;
    if (n == 0) {
        c->ended = true;
        fcvi_stream_closed(port, now, stream, FCVI_CLOSE_FIN);
        if (c->end)
            forget(c);
        else if (c->fd >= 0)
            watch_again(s, c);
    } else if (errno != EAGAIN && errno != EINTR) {
        gone(s, port, now, c, true);
    }
}

static void happened(struct sockets *s, struct fcvi_port *port, uint64_t now, const struct epoll_event *e)
{
    struct connection *c = &s->connections[e->data.u32];
    if (c->fd >= 0 && c->opening) {
        connected(s, port, now, c);
        return;
    }
    if (c->fd >= 0 && e->events & EPOLLOUT)
        flush(s, port, now, c);
    if (c->fd >= 0 && !c->ended && e->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        take_bytes(s, port, now, c);
    else if (c->fd >= 0 && e->events & (EPOLLHUP | EPOLLERR))
        gone(s, port, now, c, true);
}

bool sockets_take(struct sockets *s, struct fcvi_port *port, uint64_t now)
{
    struct epoll_event list[EVENTS];
    int count = epoll_wait(s->events_fd, list, EVENTS, 0);
    for (int i = 0; i < count; i++)
        if (list[i].data.u32 == LISTENER)
            take_calls(s, port, now);
        else if (port != NULL)
            happened(s, port, now, &list[i]);
    return count > 0;
}

void sockets_forget(struct sockets *s)
{
    for (size_t i = 0; i < SOCKETS_STREAMS; i++)
        if (s->connections[i].fd >= 0) {
            cut_off(s->connections[i].fd);
            s->connections[i].fd = -1;
        }
}
