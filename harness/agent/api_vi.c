/* VIs and connections, as they are. */
#include "api.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A CQ that is not mentioned is none. */
static VIP_CQ_HANDLE cq_or_none(struct api *api, struct params *p, const char *name)
{
    return json_object_get(p->object, name) != NULL ? api_handle(api, p, name, KIND_CQ) : NULL;
}

static VIP_VI_ATTRIBUTES vi_attributes(struct api *api, struct params *p, size_t nic,
                                       struct provider_qos *room)
{
    struct params table = params_table(p, "ViAttribs");
    VIP_VI_ATTRIBUTES v;
    memset(&v, 0, sizeof v);
    if (p->why[0] != '\0')
        return v;
    v = api_attributes(api, &table, nic, room);
    memcpy(p->why, table.why, sizeof p->why);
    return v;
}

json_t *api_create_vi(struct api *api, struct params *p)
{
    struct provider_qos room;
    VIP_VI_HANDLE vi = NULL;
    VIP_NIC_HANDLE nic;
    VIP_RETURN vip;
    const size_t n = api_nic_of(api, p, &nic);
    pthread_mutex_lock(&api->lock);
    VIP_CQ_HANDLE send = cq_or_none(api, p, "SendCQHandle"), recv = cq_or_none(api, p, "RecvCQHandle");
    VIP_VI_ATTRIBUTES v = vi_attributes(api, p, n, &room);
    pthread_mutex_unlock(&api->lock);
    if (p->why[0] != '\0')
        return NULL;
    API_CALL(vip, VipCreateVi, nic, &v, send, recv, &vi);
    json_t *result = api_result(vip);
    if (vip == VIP_SUCCESS)
        api_made(api, p, result, KIND_VI,
                 (struct thing){.value = (uintptr_t)vi, .nic = n, .ptag = (uintptr_t)v.Ptag, .open = true});
    return result;
}

API_GIVES_BACK(api_destroy_vi, VipDestroyVi, "vi", KIND_VI)

static void add_state(json_t *result, VIP_VI_STATE state)
{
    static const struct {
        VIP_VI_STATE state;
        const char *word, *name;
    } states[] = {{VIP_STATE_IDLE, "idle", "VIP_STATE_IDLE"},
                  {VIP_STATE_CONNECTED, "connected", "VIP_STATE_CONNECTED"},
                  {VIP_STATE_CONNECT_PENDING, "pending-connect", "VIP_STATE_CONNECT_PENDING"},
                  {VIP_STATE_ERROR, "error", "VIP_STATE_ERROR"}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (states[i].state == state) {
            json_object_set_new(result, "state", json_string(states[i].word));
            json_object_set_new(result, "State", json_string(states[i].name));
        }
}

json_t *api_query_vi(struct api *api, struct params *p)
{
    VIP_VI_HANDLE vi = api_handle_of(api, p, "vi", KIND_VI);
    VIP_BOOLEAN send = VIP_FALSE, recv = VIP_FALSE;
    VIP_VI_STATE state = VIP_STATE_IDLE;
    VIP_VI_ATTRIBUTES v;
    VIP_RETURN vip;
    if (p->why[0] != '\0')
        return NULL;
    memset(&v, 0, sizeof v);
    API_CALL(vip, VipQueryVi, vi, &state, &v, &send, &recv);
    json_t *result = api_result(vip);
    if (vip != VIP_SUCCESS)
        return result;
    add_state(result, state);
    pthread_mutex_lock(&api->lock);
    json_object_set_new(result, "ViAttribs", api_attributes_json(api, &v));
    pthread_mutex_unlock(&api->lock);
#ifndef VIPL_QUERY_VI_OF_THREE
    json_object_set_new(result, "ViSendQEmpty", json_boolean(send));
    json_object_set_new(result, "ViRecvQEmpty", json_boolean(recv));
#endif
    return result;
}

json_t *api_set_vi(struct api *api, struct params *p)
{
    struct provider_qos room;
    VIP_RETURN vip;
    pthread_mutex_lock(&api->lock);
    const struct thing *t = api_thing(api, p, "vi", KIND_VI);
    size_t n = t != NULL ? (size_t)(t - api->things[KIND_VI].at) : API_PLACES;
    VIP_VI_HANDLE vi = t != NULL ? (void *)t->value : NULL; /* NOLINT(performance-no-int-to-ptr) */
    size_t nics = api->things[KIND_NIC].count;
    VIP_VI_ATTRIBUTES v = vi_attributes(api, p, t != NULL ? t->nic : nics > 0 ? nics - 1 : 0, &room);
    pthread_mutex_unlock(&api->lock);
    if (p->why[0] != '\0')
        return NULL;
    API_CALL(vip, VipSetViAttributes, vi, &v);
    if (vip == VIP_SUCCESS && n < API_PLACES) {
        pthread_mutex_lock(&api->lock);
        api->things[KIND_VI].at[n].ptag = (uintptr_t)v.Ptag;
        pthread_mutex_unlock(&api->lock);
    }
    return api_result(vip);
}

/* ---- connections ---- */

/* RemoteAddr has the room that VI-DG 3.3.1 asks for, of this NIC, and a guard behind it. */
json_t *api_connect_wait(struct api *api, struct params *p)
{
    union api_address local;
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE conn = NULL;
    VIP_NIC_HANDLE nic;
    VIP_RETURN vip;
    VIP_ULONG timeout = api_timeout(p);
    pthread_mutex_lock(&api->lock);
    const struct thing *t = api_nic(api, p, &nic);
    size_t n = t != NULL ? t->nic : API_PLACES, host = t != NULL ? t->host : API_HOST,
           room = t != NULL ? t->discriminator : API_DISCRIMINATOR;
    pthread_mutex_unlock(&api->lock);
    room = (size_t)params_number(p, "RemoteAddrLen", UINT16_MAX, true, room);
    if (!api_address(p, "LocalAddr", &local))
        return NULL;
    union api_address *from = malloc(sizeof *from + host + room);
    if (from == NULL)
        return NULL;
    memset(from, API_GUARD_BYTE, sizeof *from + host + room);
    from->net.HostAddressLen = (VIP_UINT16)host;
    from->net.DiscriminatorLen = (VIP_UINT16)room;
    memset(&remote, 0, sizeof remote);
    API_CALL(vip, VipConnectWait, nic, &local.net, timeout, &from->net, &remote, &conn);
    json_t *result = api_result(vip);
    json_object_set_new(
        result, "guard",
        json_boolean(api_guard_stands((unsigned char *)from + API_HEAD + host + room, API_GUARD)));
    if (vip == VIP_SUCCESS) {
        pthread_mutex_lock(&api->lock);
        json_object_set_new(result, "RemoteViAttribs", api_attributes_json(api, &remote));
        pthread_mutex_unlock(&api->lock);
        api_made(api, p, result, KIND_CONN, (struct thing){.value = (uintptr_t)conn, .nic = n, .open = true});
        json_object_set_new(result, "RemoteAddr", api_address_json(from));
    }
    free(from);
    return result;
}

json_t *api_connect_accept(struct api *api, struct params *p)
{
    VIP_CONN_HANDLE conn = api_handle_of(api, p, "conn", KIND_CONN);
    VIP_VI_HANDLE vi = api_handle_of(api, p, "vi", KIND_VI);
    VIP_RETURN vip;
    if (p->why[0] != '\0')
        return NULL;
    API_CALL(vip, VipConnectAccept, conn, vi);
    return api_given_back(api, p, "conn", KIND_CONN, vip);
}

API_GIVES_BACK(api_connect_reject, VipConnectReject, "conn", KIND_CONN)

struct ends {
    VIP_VI_HANDLE vi;
    VIP_ULONG timeout;
    union api_address local, remote;
};

static bool ends_of(struct api *api, struct params *p, struct ends *e)
{
    e->vi = api_handle_of(api, p, "vi", KIND_VI);
    e->timeout = api_timeout(p);
    return api_address(p, "LocalAddr", &e->local) && api_address(p, "RemoteAddr", &e->remote) &&
           p->why[0] == '\0';
}

static json_t *with_remote(struct api *api, VIP_RETURN vip, const VIP_VI_ATTRIBUTES *remote)
{
    json_t *result = api_result(vip);
    if (vip == VIP_SUCCESS) {
        pthread_mutex_lock(&api->lock);
        json_object_set_new(result, "RemoteViAttribs", api_attributes_json(api, remote));
        pthread_mutex_unlock(&api->lock);
    }
    return result;
}

json_t *api_connect_request(struct api *api, struct params *p)
{
    VIP_VI_ATTRIBUTES remote;
    struct ends e;
    VIP_RETURN vip;
    if (!ends_of(api, p, &e))
        return NULL;
    memset(&remote, 0, sizeof remote);
    API_CALL(vip, VipConnectRequest, e.vi, &e.local.net, &e.remote.net, e.timeout, &remote);
    return with_remote(api, vip, &remote);
}

json_t *api_peer_request(struct api *api, struct params *p)
{
    struct ends e;
    VIP_RETURN vip;
    if (!ends_of(api, p, &e))
        return NULL;
    API_CALL(vip, VipConnectPeerRequest, e.vi, &e.local.net, &e.remote.net, e.timeout);
    return api_result(vip);
}

static json_t *peer_result(struct api *api, struct params *p, bool waits)
{
    VIP_VI_HANDLE vi = api_handle_of(api, p, "vi", KIND_VI);
    VIP_VI_ATTRIBUTES remote;
    VIP_RETURN vip;
    if (p->why[0] != '\0')
        return NULL;
    memset(&remote, 0, sizeof remote);
    if (waits)
        API_CALL(vip, VipConnectPeerWait, vi, &remote);
    else
        API_CALL(vip, VipConnectPeerDone, vi, &remote);
    return with_remote(api, vip, &remote);
}

json_t *api_peer_done(struct api *api, struct params *p)
{
    return peer_result(api, p, false);
}

json_t *api_peer_wait(struct api *api, struct params *p)
{
    return peer_result(api, p, true);
}

json_t *api_disconnect(struct api *api, struct params *p)
{
    VIP_VI_HANDLE vi = api_handle_of(api, p, "vi", KIND_VI);
    VIP_RETURN vip;
    if (p->why[0] != '\0')
        return NULL;
    API_CALL(vip, VipDisconnect, vi);
    return api_result(vip);
}
