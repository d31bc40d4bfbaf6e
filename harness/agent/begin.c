/* What serves one client. */
#include "agent.h"
#include "api.h"

#include <stddef.h>
#include <stdlib.h>

struct agent *agent_of(struct client *c)
{
    return (struct agent *)(void *)((char *)c - offsetof(struct agent, client));
}

static void take_line(struct client *c, const char *line, size_t length)
{
    agent_line(agent_of(c), line, length);
}

struct agent *agent_new(int sink, const char *device)
{
    struct agent *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->revision = "2007";
    client_begin(&a->client, sink, take_line);
    a->device = device;
    pthread_mutex_init(&a->order, NULL);
    return a;
}

void agent_free(struct agent *a)
{
    pthread_mutex_lock(&a->order);
    bool ended = api_stop(a);
    pthread_mutex_unlock(&a->order);
    a->client.failed = true; /* the next client may get the same descriptor */
    if (!ended)
        return; /* a thread is caught: it keeps what it uses */
    client_end(&a->client);
    pthread_mutex_destroy(&a->order);
    free(a);
}
