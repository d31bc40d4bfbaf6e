/* See leave.h. */
#include "leave.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

static char left[sizeof((struct sockaddr_un *)0)->sun_path];

static void remove_it(void)
{
    unlink(left);
}

/* The process ends by the signal itself, so that whoever waits for it sees why. */
static void on_signal(int number)
{
    unlink(left);
    signal(number, SIG_DFL);
    raise(number);
}

void leave_remove_on_exit(const char *path)
{
    static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    if (strlen(path) >= sizeof left)
        return;
    memcpy(left, path, strlen(path) + 1);
    atexit(remove_it);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        sigaction(ends[i], &action, NULL);
}
