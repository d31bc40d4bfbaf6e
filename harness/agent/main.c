/* fcvi-agent: serves one client after another on a Unix socket or a TCP port, or one on standard input and
 * output. */
#include "agent.h"
#include "leave.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char usage[] =
    "usage: fcvi-agent [--device NAME] [--on fcoe:IFACE] [unix:PATH | tcp:HOST:PORT]\n"
    "The upper tester: the control part of the DUT protocol over VIPL, in real time. Without an\n"
    "address it serves standard input and output. NAME is for VipOpenNic (default VINIC).\n"
    "--on puts the reference port on an Ethernet interface; a vendor's NIC is on its own wire.\n"
    "Exit status: 0 the client has gone, 2 wrong usage or no such address, 3 a line too long.\n";

/* Read lines until the client goes. Returns 0, or 3 when a line was too long. */
static int serve(int source, int sink, const char *device)
{
    static char line[AGENT_LONGEST_LINE];
    size_t have = 0;
    int status = 0;
    struct agent *a = agent_new(sink, device);
    if (a == NULL)
        return 3;
    for (bool open = true; open && !a->failed;) {
        ssize_t n = read(source, line + have, sizeof line - have);
        if (n < 0 && errno == EINTR)
            continue;
        have += n > 0 ? (size_t)n : 0;
        open = n > 0;
        for (char *end; open && (end = memchr(line, '\n', have)) != NULL;) {
            size_t length = (size_t)(end - line);
            agent_line(a, line, length);
            have -= length + 1;
            memmove(line, end + 1, have);
        }
        if (have == sizeof line) {
            agent_refuse(a, NULL, AGENT_PARSE, "a line of over 65536 bytes");
            open = false;
            status = 3;
        }
    }
    agent_free(a);
    return status;
}

static int listen_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int s = strlen(path) < sizeof address.sun_path ? socket(AF_UNIX, SOCK_STREAM, 0) : -1;
    if (s < 0)
        return -1;
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (bind(s, (const struct sockaddr *)(const void *)&address, sizeof address) == 0) {
        agent_remove_on_exit(path);
        if (listen(s, 1) == 0)
            return s;
    }
    close(s);
    return -1;
}

static int listen_tcp(char *host)
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
    if (getaddrinfo(host[0] != '\0' ? host : NULL, colon + 1, &hints, &found) != 0)
        return -1;
    s = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    if (s >= 0)
        setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (s >= 0 && (bind(s, found->ai_addr, found->ai_addrlen) != 0 || listen(s, 1) != 0)) {
        close(s);
        s = -1;
    }
    freeaddrinfo(found);
    return s;
}

static int serve_all(char *address, const char *device)
{
    int s = strncmp(address, "unix:", 5) == 0  ? listen_unix(address + 5)
            : strncmp(address, "tcp:", 4) == 0 ? listen_tcp(address + 4)
                                               : -1;
    if (s < 0) {
        fprintf(stderr, "fcvi-agent: %s: cannot listen there\n", address);
        return 2;
    }
    puts("listening");
    fflush(stdout);
    for (;;) {
        int client = accept(s, NULL, NULL);
        if (client < 0)
            continue;
        serve(client, client, device);
        close(client);
    }
}

int main(int argc, char **argv)
{
    const char *device = NULL, *on = NULL;
    char why[512];
    int at = 1;
    if (at < argc && strcmp(argv[at], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (at + 1 < argc && strcmp(argv[at], "--device") == 0) {
        device = argv[at + 1];
        at += 2;
    }
    if (at + 1 < argc && strcmp(argv[at], "--on") == 0) {
        on = argv[at + 1];
        at += 2;
    }
    if (argc - at > 1 || (at < argc && argv[at][0] == '-')) {
        fputs(usage, stderr);
        return 2;
    }
    if (on != NULL && !provider_on(on, why, sizeof why)) {
        fprintf(stderr, "fcvi-agent: --on %s: %s\n", on, why);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    return at < argc ? serve_all(argv[at], device) : serve(STDIN_FILENO, STDOUT_FILENO, device);
}
