/* Connections. A call that blocks has a thread of its own; what it gave is told when it returns. */
#include "agent.h"
#include "api.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLACE = 4 + AGENT_HOST + AGENT_DISCRIMINATOR };

enum { MOMENT_NS = 50 * 1000 * 1000 };

enum blocking { WAIT, ACCEPT, REQUEST, PEER_WAIT, DISCONNECT };

union address {
    VIP_NET_ADDRESS net;
    unsigned char bytes[PLACE + 12];
};

struct blocked {
    struct agent *a;
    json_t *id;
    enum blocking kind;
    VIP_VI_HANDLE vi;
    VIP_CONN_HANDLE conn;
    VIP_NIC_HANDLE nic;
    VIP_ULONG timeout;
    union address local, remote;
    VIP_VI_ATTRIBUTES attributes;
    VIP_RETURN vip;
    unsigned long number;
};

static _Thread_local struct blocked *current;

void agent_waits(void)
{
    api_waits();
    if (current == NULL)
        return;
    struct agent *a = current->a;
    pthread_mutex_lock(&a->gate);
    if (a->waiting_calls < current->number)
        a->waiting_calls = current->number;
    pthread_cond_signal(&a->passed);
    pthread_mutex_unlock(&a->gate);
}

/* Until the call waits or has returned. */
static void await_waiting(struct agent *a, unsigned long number)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    moment.tv_nsec += MOMENT_NS;
    moment.tv_sec += moment.tv_nsec / 1000000000;
    moment.tv_nsec %= 1000000000;
    pthread_mutex_lock(&a->gate);
    while (a->waiting_calls < number)
        if (pthread_cond_timedwait(&a->passed, &a->gate, &moment) != 0)
            break;
    pthread_mutex_unlock(&a->gate);
}

/* Milliseconds; what is not whole is rounded up, so that no call returns early. */
static VIP_ULONG timeout_of(struct params *p)
{
    uint64_t us = params_number(p, "Timeout", (1ull << 53) - 1, true, UINT64_MAX);
    return us / 1000 >= VIP_INFINITE ? VIP_INFINITE : (VIP_ULONG)((us + 999) / 1000);
}

/* Any length that there is room for: which ones are right is for the provider to say. */
static bool address_of(struct params *p, const char *name, union address *out)
{
    unsigned char discriminator[AGENT_DISCRIMINATOR], host[AGENT_HOST];
    struct params table = params_table(p, name);
    memset(out, 0, sizeof *out);
    if (p->why[0] != '\0')
        return false;
    size_t hosts = params_hex(&table, "host", host, 1, sizeof host);
    size_t length = params_hex(&table, "discriminator", discriminator, 0, sizeof discriminator);
    memcpy(p->why, table.why, sizeof p->why);
    if (p->why[0] != '\0')
        return false;
    out->net.HostAddressLen = (VIP_UINT16)hosts;
    out->net.DiscriminatorLen = (VIP_UINT16)length;
    memcpy(out->bytes + 4, host, hosts);
    memcpy(out->bytes + 4 + hosts, discriminator, length);
    return true;
}

static json_t *hex_json(const unsigned char *bytes, size_t length)
{
    char text[2 * PLACE + 1];
    for (size_t i = 0; i < length; i++)
        for (unsigned half = 0; half < 2; half++)
            text[2 * i + half] = "0123456789abcdef"[bytes[i] >> (half == 0 ? 4 : 0) & 15];
    return json_stringn(text, 2 * length);
}

static json_t *address_json(const union address *u)
{
    size_t host = u->net.HostAddressLen <= AGENT_HOST ? u->net.HostAddressLen : AGENT_HOST;
    size_t length =
        u->net.DiscriminatorLen <= AGENT_DISCRIMINATOR ? u->net.DiscriminatorLen : AGENT_DISCRIMINATOR;
    return json_pack("{s:o, s:o}", "host", hex_json(u->bytes + 4, host), "discriminator",
                     hex_json(u->bytes + 4 + host, length));
}

static void block(struct blocked *b)
{
    switch (b->kind) {
    case WAIT:
        b->vip = VipConnectWait(b->nic, &b->local.net, b->timeout, &b->remote.net, &b->attributes, &b->conn);
        break;
    case ACCEPT:
        b->vip = VipConnectAccept(b->conn, b->vi);
        break;
    case REQUEST:
        b->vip = VipConnectRequest(b->vi, &b->local.net, &b->remote.net, b->timeout, &b->attributes);
        break;
    case PEER_WAIT:
        b->vip = VipConnectPeerWait(b->vi, &b->attributes);
        break;
    default:
        b->vip = VipDisconnect(b->vi);
    }
}

static void add_connection(struct blocked *b, json_t *result)
{
    struct agent *a = b->a;
    int n = 0;
    while (n < AGENT_CONNS - 1 && a->conn[n] != NULL)
        n++;
    a->conn[n] = b->conn;
    json_object_set_new(result, "conn", json_integer(n));
    json_object_set_new(result, "RemoteAddr", address_json(&b->remote));
}

static void conclude(struct blocked *b)
{
    json_t *result = agent_result(b->vip);
    if (b->vip == VIP_SUCCESS && b->kind == WAIT)
        add_connection(b, result);
    if (b->vip == VIP_SUCCESS && (b->kind == WAIT || b->kind == REQUEST || b->kind == PEER_WAIT))
        json_object_set_new(result, "RemoteViAttribs", attributes_json(&b->attributes));
    if (b->kind == ACCEPT && b->vip == VIP_SUCCESS)
        for (int i = 0; i < AGENT_CONNS; i++)
            if (b->a->conn[i] == b->conn)
                b->a->conn[i] = NULL;
    if (b->a->closing) {
        json_decref(result);
        agent_refuse(b->a, b->id, LINE_RESET, "reset");
    } else {
        agent_answer(b->a, b->id, result);
    }
}

static void *run(void *context)
{
    struct blocked *b = context;
    struct agent *a = b->a;
    current = b;
    block(b);
    agent_waits();
    current = NULL;
    pthread_mutex_lock(&a->order);
    conclude(b);
    a->blocked--;
    json_decref(b->id);
    free(b);
    pthread_cond_broadcast(&a->unblocked);
    pthread_mutex_unlock(&a->order);
    return NULL;
}

/* Start the call; NULL, for the answer comes when it returns. */
static json_t *start(struct agent *a, const json_t *id, const struct blocked *template)
{
    struct blocked *b = a->blocked < AGENT_BLOCKED ? malloc(sizeof *b) : NULL;
    pthread_t thread;
    if (b == NULL) {
        agent_refuse(a, id, LINE_ROOM, "the agent itself has no room for more calls that block");
        return NULL;
    }
    *b = *template;
    b->a = a;
    b->nic = a->nic;
    b->id = json_deep_copy(id);
    a->blocked++;
    unsigned long number = b->number = ++a->started_calls;
    if (a->synchronous) {
        run(b);
        return NULL;
    }
    if (pthread_create(&thread, NULL, run, b) == 0) {
        pthread_detach(thread);
        await_waiting(a, number);
        return NULL;
    }
    a->blocked--;
    json_decref(b->id);
    free(b);
    agent_refuse(a, id, LINE_ROOM, "the agent itself has no thread for another call that blocks");
    return NULL;
}

static VIP_VI_HANDLE vi_of(struct agent *a, struct params *p)
{
    uint64_t n = params_number(p, "vi", INT64_MAX, false, 0);
    return p->why[0] == '\0' ? agent_vi(a, n) : NULL;
}

static VIP_CONN_HANDLE conn_of(struct agent *a, struct params *p)
{
    uint64_t n = params_number(p, "conn", INT64_MAX, false, 0);
    return p->why[0] == '\0' && n < AGENT_CONNS ? a->conn[n] : NULL;
}

static json_t *refused(const struct params *p)
{
    return p->why[0] == '\0' ? agent_result(VIP_INVALID_PARAMETER) : NULL;
}

json_t *call_connect_wait(struct agent *a, const json_t *id, struct params *p)
{
    struct blocked b = {.kind = WAIT, .timeout = timeout_of(p)};
    return address_of(p, "LocalAddr", &b.local) ? start(a, id, &b) : refused(p);
}

json_t *call_connect_accept(struct agent *a, const json_t *id, struct params *p)
{
    struct blocked b = {.kind = ACCEPT, .conn = conn_of(a, p), .vi = vi_of(a, p)};
    return b.conn != NULL && b.vi != NULL ? start(a, id, &b) : refused(p);
}

json_t *call_connect_reject(struct agent *a, const json_t *id, struct params *p)
{
    (void)id;
    uint64_t n = params_number(p, "conn", INT64_MAX, false, 0);
    VIP_CONN_HANDLE conn = conn_of(a, p);
    if (conn == NULL)
        return refused(p);
    VIP_RETURN vip = VipConnectReject(conn);
    if (vip == VIP_SUCCESS)
        a->conn[n] = NULL;
    return agent_result(vip);
}

/* False with *answer, which is NULL when the parameters are wrong. */
static bool ends_of(struct agent *a, struct params *p, struct blocked *b, json_t **answer)
{
    b->vi = vi_of(a, p);
    b->timeout = timeout_of(p);
    bool good = address_of(p, "LocalAddr", &b->local);
    good = address_of(p, "RemoteAddr", &b->remote) && good && b->vi != NULL && p->why[0] == '\0';
    *answer = good ? NULL : refused(p);
    return good;
}

json_t *call_connect_request(struct agent *a, const json_t *id, struct params *p)
{
    struct blocked b = {.kind = REQUEST};
    json_t *answer;
    return ends_of(a, p, &b, &answer) ? start(a, id, &b) : answer;
}

json_t *call_peer_request(struct agent *a, const json_t *id, struct params *p)
{
    struct blocked b = {.kind = REQUEST};
    json_t *answer;
    (void)id;
    if (!ends_of(a, p, &b, &answer))
        return answer;
    return agent_result(VipConnectPeerRequest(b.vi, &b.local.net, &b.remote.net, b.timeout));
}

json_t *call_peer_done(struct agent *a, const json_t *id, struct params *p)
{
    VIP_VI_ATTRIBUTES attributes;
    VIP_VI_HANDLE vi = vi_of(a, p);
    (void)id;
    if (vi == NULL)
        return refused(p);
    memset(&attributes, 0, sizeof attributes);
    VIP_RETURN vip = VipConnectPeerDone(vi, &attributes);
    json_t *result = agent_result(vip);
    if (vip == VIP_SUCCESS)
        json_object_set_new(result, "RemoteViAttribs", attributes_json(&attributes));
    return result;
}

json_t *call_peer_wait(struct agent *a, const json_t *id, struct params *p)
{
    struct blocked b = {.kind = PEER_WAIT, .vi = vi_of(a, p)};
    return b.vi != NULL ? start(a, id, &b) : refused(p);
}

json_t *call_disconnect(struct agent *a, const json_t *id, struct params *p)
{
    struct blocked b = {.kind = DISCONNECT, .vi = vi_of(a, p)};
    return b.vi != NULL ? start(a, id, &b) : refused(p);
}
