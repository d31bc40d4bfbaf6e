/* The NIC behind the agent: opened at each reset, watched by one thread that tells what completes. */
#include "agent.h"
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CQ_ENTRIES = 4096, WATCH_MS = 50 };

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
    pthread_mutexattr_t recursive;
    pthread_condattr_t monotonic;
    if (a == NULL)
        return NULL;
    a->revision = "2007";
    client_begin(&a->client, sink, take_line);
    a->device = device;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&a->order, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pthread_mutex_init(&a->gate, NULL);
    pthread_condattr_init(&monotonic); /* somebody may set the other clock */
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&a->passed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&a->unblocked, NULL);
    return a;
}

void agent_free(struct agent *a)
{
    pthread_mutex_lock(&a->order);
    agent_stop(a);
    pthread_mutex_unlock(&a->order);
    pthread_cond_destroy(&a->unblocked);
    pthread_cond_destroy(&a->passed);
    pthread_mutex_destroy(&a->gate);
    client_end(&a->client);
    pthread_mutex_destroy(&a->order);
    free(a);
}

VIP_VI_HANDLE agent_vi(struct agent *a, uint64_t number)
{
    return number < AGENT_VIS && a->vi[number].used ? a->vi[number].handle : NULL;
}

int agent_vi_number(const struct agent *a, VIP_VI_HANDLE handle)
{
    for (int i = 0; i < AGENT_VIS; i++)
        if (a->vi[i].used && a->vi[i].handle == handle)
            return i;
    return -1;
}

/* Runs in whatever thread the provider likes. */
static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *e)
{
    static const char *const names[] = {"POST_DESC",  "CONN_LOST",      "RECVQ_EMPTY", "VI_OVERRUN",
                                        "RDMAW_PROT", "RDMAW_DATA",     "RDMAW_ABORT", "RDMAR_PROT",
                                        "COMP_PROT",  "RDMA_TRANSPORT", "CATASTROPHIC"};
    struct agent *a = context;
    char name[64];
    unsigned code = (unsigned)e->ErrorCode;
    const char *known = code < sizeof names / sizeof *names ? names[code] : "UNKNOWN";
    snprintf(name, sizeof name, "VIP_ERROR_%s", known);
    pthread_mutex_lock(&a->client.out);
    int vi = agent_vi_number(a, e->ViHandle);
    agent_notify(a, "error",
                 json_pack("{s:o, s:s}", "vi", vi >= 0 ? json_integer(vi) : json_null(), "code", name));
    pthread_mutex_unlock(&a->client.out);
}

/* A Descriptor completed: take it off its queue, so that the client hears of it, and keep what it says. */
void agent_completed(struct agent *a, VIP_VI_HANDLE handle, bool recv)
{
    int number = agent_vi_number(a, handle);
    struct done *d = number >= 0 ? calloc(1, sizeof *d) : NULL;
    if (d == NULL)
        return;
    struct vi *vi = &a->vi[number];
    if (!pool_take(a, vi, recv, d)) {
        free(d);
        return;
    }
    *vi->queue[recv].last = d;
    vi->queue[recv].last = &d->next;
    a->done++;
    json_t *said = done_json(d);
    json_object_set_new(said, "vi", json_integer(number));
    json_object_set_new(said, "queue", json_string(recv ? "recv" : "send"));
    agent_notify(a, "completion", said);
}

static void *watch(void *context)
{
    struct agent *a = context;
    VIP_VI_HANDLE handle;
    VIP_BOOLEAN recv;
    const struct timespec pause = {.tv_nsec = WATCH_MS * 1000 * 1000 / 5};
    for (bool go_on = true; go_on;) {
        VIP_RETURN vip = VipCQWait(a->cq, WATCH_MS, &handle, &recv);
        pthread_mutex_lock(&a->order);
        if (vip == VIP_SUCCESS)
            agent_completed(a, handle, recv == VIP_TRUE);
        go_on = !a->closing;
        pthread_mutex_unlock(&a->order);
        if (go_on && vip != VIP_SUCCESS &&
            vip != VIP_TIMEOUT) /* it may pass: completions are still to come */
            nanosleep(&pause, NULL);
    }
    return NULL;
}

static const char *open_nic(struct agent *a, const char *device)
{
    VIP_NIC_ATTRIBUTES attributes;
    VIP_ULONG entries = CQ_ENTRIES;
    memset(&attributes, 0, sizeof attributes);
    if (VipOpenNic(device, &a->nic) != VIP_SUCCESS) {
        a->nic = NULL;
        return "VipOpenNic failed";
    }
    if (VipErrorCallback(a->nic, a, on_error) != VIP_SUCCESS)
        return "VipErrorCallback failed";
    if (VipCreatePtag(a->nic, &a->ptag) != VIP_SUCCESS)
        return "VipCreatePtag failed";
    if (VipQueryNic(a->nic, &attributes) != VIP_SUCCESS)
        return "VipQueryNic failed";
    if (attributes.NicAddressLen > AGENT_HOST || attributes.MaxDiscriminatorLen > AGENT_DISCRIMINATOR)
        return "its addresses are longer than the agent has room for";
    if (attributes.MaxCQEntries > 0 && attributes.MaxCQEntries < entries)
        entries = attributes.MaxCQEntries;
    if (VipCreateCQ(a->nic, entries, &a->cq) != VIP_SUCCESS)
        return "VipCreateCQ failed";
    return NULL;
}

bool agent_start(struct agent *a, const json_t *config, const char **why)
{
    const char *device = provider_start(a->device, config, why);
    if (device == NULL)
        return false;
    a->started = true;
    *why = open_nic(a, device);
    if (*why != NULL)
        return false;
    if (!a->synchronous && pthread_create(&a->reaper, NULL, watch, a) != 0) {
        *why = "no thread to watch completions";
        a->reaper = 0;
        return false;
    }
    return true;
}

static void forget_all(struct agent *a)
{
    pthread_mutex_lock(&a->client.out);
    for (int i = 0; i < AGENT_VIS; i++) {
        done_forget(&a->vi[i].queue[0]);
        done_forget(&a->vi[i].queue[1]);
        a->vi[i] = (struct vi){0};
    }
    pthread_mutex_unlock(&a->client.out);
    for (int i = 0; i < AGENT_REGIONS; i++)
        region_free(a->region[i].bytes, a->region[i].length);
    a->memory = 0;
    a->done = 0;
    memset(a->region, 0, sizeof a->region);
    memset(a->conn, 0, sizeof a->conn);
    free(a->pool);
    free(a->slots);
    a->pool = NULL;
    a->slots = NULL;
    a->slot_count = 0;
}

/* Closing the NIC ends what is blocked in it (VI-DG 3.1.2); its answers are -32001 (closing). Called with
 * order held once. */
void agent_stop(struct agent *a)
{
    if (a->api != NULL)
        (void)api_stop(a);
    if (!a->started)
        return;
    a->closing = true;
    provider_cut();
    pthread_mutex_unlock(&a->order);
    if (a->nic != NULL)
        VipCloseNic(a->nic);
    if (a->reaper != 0)
        pthread_join(a->reaper, NULL);
    pthread_mutex_lock(&a->order);
    while (a->blocked > 0)
        pthread_cond_wait(&a->unblocked, &a->order);
    provider_stop();
    forget_all(a);
    a->nic = NULL;
    a->reaper = 0;
    a->started = a->closing = false;
}
