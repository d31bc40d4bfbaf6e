/* See serve.h. */
#include "serve.h"
#include "clock.h"
#include "leave.h"
#include "reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { FIRST_LINE_MS = 10000, SEND_S = 30, MOST_IDLE_S = 86400 };

enum event { READY, SILENT, ENDED };

/* Waits until the client has said something, and sends others away meanwhile. */
static enum event await(const struct serve *o, int source, int64_t until)
{
    for (;;) {
        struct pollfd fds[] = {{.fd = source, .events = POLLIN},
                               {.fd = o->signals, .events = POLLIN},
                               {.fd = o->door != NULL ? door_fd(o->door) : -1, .events = POLLIN}};
        int64_t left = until - clock_ms();
        int n = poll(fds, 3, left > 0 ? (int)left : 0);
        if (n < 0 && errno != EINTR)
            return ENDED;
        if (n == 0)
            return SILENT;
        if (n > 0 && fds[1].revents != 0)
            return ENDED;
        if (n > 0 && fds[0].revents != 0) /* it may have gone, and who comes next would be sent away for it */
            return READY;
        if (n > 0 && fds[2].revents != 0)
            door_run(o->door, source);
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

/* Read lines until the client goes. What it has said at the door comes first. Returns 0, 3 when a line was
 * too long, or -1 when the process is to end. */
static int serve(struct serve *o, int source, int sink, const char *said, size_t length)
{
    static struct reader reader;
    struct client *c = o->begin(o, sink);
    if (c == NULL)
        return 3;
    bool ended = false;
    size_t room;
    reader_begin(&reader);
    memcpy(reader_room(&reader, &room), said, length);
    for (bool open = length == 0 || reader_took(&reader, c, length); open && !c->failed;) {
        enum event event = await(o, source, clock_ms() + o->idle_ms);
        if (event == ENDED)
            ended = true;
        else if (event == SILENT)
            client_refuse(c, NULL, LINE_NOT_RESET, "silent for too long");
        open = event == READY && take(c, source, &reader);
    }
    o->end(c);
    return ended ? -1 : reader.too_long ? 3 : 0;
}

/* The next client, or -1 when the process is to end. */
static int next_client(const struct serve *o, char *said, size_t *length)
{
    for (;;) {
        struct pollfd fds[] = {{.fd = door_fd(o->door), .events = POLLIN},
                               {.fd = o->signals, .events = POLLIN}};
        int n = poll(fds, 2, -1);
        if ((n < 0 && errno != EINTR) || (n > 0 && fds[1].revents != 0))
            return -1;
        if (n <= 0)
            continue;
        door_run(o->door, -1);
        int client = door_client(o->door, said, length);
        if (client >= 0)
            return client;
    }
}

static int serve_all(struct serve *o)
{
    static char said[DOOR_LONGEST];
    const struct timeval patience = {.tv_sec = SEND_S};
    char why[256];
    size_t length;
    o->door = door_open(o->address, o->token, o->idle_ms < FIRST_LINE_MS ? o->idle_ms : FIRST_LINE_MS, why,
                        sizeof why);
    if (o->door == NULL) {
        fprintf(stderr, "%s: %s: cannot listen there: %s\n", o->program, o->address, why);
        return 2;
    }
    if (strncmp(o->address, "unix:", 5) == 0)
        leave_remove_on_exit(o->address + 5);
    puts("listening");
    fflush(stdout);
    for (int client, status = 0; status >= 0 && (client = next_client(o, said, &length)) >= 0;) {
        setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        status = serve(o, client, client, said, length);
        close(client);
    }
    door_close(o->door);
    return 0;
}

enum serve_option serve_option(struct serve *s, const char *name, const char *value)
{
    char *end = NULL;
    if (strcmp(name, "--token") == 0) {
        if (door_read_token(value, s->token))
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
    int status = serve(s, STDIN_FILENO, STDOUT_FILENO, "", 0);
    return status < 0 ? 0 : status;
}
