/* Two NICs that are joined to each other, for a libvipl of their own: libvipl-pair.so is a provider as a
 * vendor's is, with devices VINIC0 and VINIC1 from the moment it is loaded. The plain agent, and programs of
 * one's own, are tried with it where there is no hardware.
 *
 * With FCVI_PAIR_INJECT=PATH it listens at a Unix socket of that name for faults between the two
 * (harness/shims/inject_pair.py). A client sends one line, "FAULT [FROM]". The answer is the number of
 * messages that faults have met so far, or -1 when there is no such fault. */
#include "provider.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAUSE_MS = 20 };

static void serve(int client)
{
    const struct timeval patience = {.tv_sec = 5}; /* a client that says nothing keeps no other one away */
    char line[64], fault[16];
    unsigned from = 0;
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ssize_t n = recv(client, line, sizeof line - 1, 0);
    line[n > 0 ? n : 0] = '\0';
    int hits = sscanf(line, "%15s %u", fault, &from) >= 1 && from < 2 ? provider_inject(fault, from) : -1;
    int length = snprintf(line, sizeof line, "%d\n", hits);
    (void)send(client, line, (size_t)length, MSG_NOSIGNAL);
    close(client);
}

static void *listen_for_faults(void *context)
{
    int listener = (int)(intptr_t)context;
    for (;;) {
        int client = accept(listener, NULL, NULL);
        if (client >= 0)
            serve(client);
        else
            (void)poll(NULL, 0, PAUSE_MS); /* no descriptor is left, and the client waits */
    }
    return NULL;
}

/* A socket that an earlier process left there may go; any other file is somebody's. */
static void remove_old(const char *path)
{
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode))
        (void)unlink(path);
}

static void take_faults(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pthread_t thread;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (strlen(path) < sizeof address.sun_path)
        memcpy(address.sun_path, path, strlen(path));
    remove_old(path);
    if (listener < 0 || address.sun_path[0] == '\0' ||
        bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4) != 0 ||
        pthread_create(&thread, NULL, listen_for_faults, (void *)(intptr_t)listener) != 0) {
        perror("libvipl-pair: FCVI_PAIR_INJECT");
        return;
    }
    pthread_detach(thread);
}

__attribute__((constructor)) static void load(void)
{
    static const char *const devices[] = {"VINIC0", "VINIC1"};
    const char *why = NULL, *faults = getenv("FCVI_PAIR_INJECT");
    if (!provider_start_calls(devices, 2, NULL, &why))
        fprintf(stderr, "libvipl-pair: there are no NICs: %s\n", why);
    else if (faults != NULL)
        take_faults(faults);
}
