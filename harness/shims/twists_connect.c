/* Twists of connections and states: what is matched, what the other end is told, when a call returns. */
#include "twist.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { CONNS = 256, HOST = 16 };

static struct {
    VIP_CONN_HANDLE conn;
    VIP_VI_ATTRIBUTES client;
} conns[CONNS];
static unsigned next_conn;

static VIP_UINT8 *discriminator(VIP_NET_ADDRESS *a)
{
    return a->HostAddress + a->HostAddressLen;
}

/* ---- addresses ---- */

/* A copy of an address whose discriminator has only its first byte (HOW 0), or whose host part is that of the
 * NIC (HOW 1). */
static VIP_NET_ADDRESS *altered(VIP_NIC_HANDLE nic, const VIP_NET_ADDRESS *a)
{
    size_t bytes = offsetof(VIP_NET_ADDRESS, HostAddress) +
                   (a != NULL ? (size_t)a->HostAddressLen + a->DiscriminatorLen : 0U);
    VIP_NET_ADDRESS *copy = a != NULL ? malloc(bytes + HOST) : NULL;
    VIP_NIC_ATTRIBUTES own;
    if (copy == NULL)
        return NULL;
    memcpy(copy, a, bytes);
    if (vipl_twist_argument(0) == 0 && a->DiscriminatorLen > 0)
        memset(discriminator(copy), 0, a->DiscriminatorLen);
    if (vipl_twist_argument(0) == 1 && vipl_real.VipQueryNic(nic, &own) == VIP_SUCCESS) {
        copy->HostAddressLen = own.NicAddressLen;
        memcpy(copy->HostAddress, own.LocalNicAddress, own.NicAddressLen);
        memcpy(discriminator(copy), a->HostAddress + a->HostAddressLen, a->DiscriminatorLen);
    }
    return copy;
}

static VIP_NIC_HANDLE nic_of(VIP_VI_HANDLE vi)
{
    const struct vi_note *n = vipl_note(vi);
    return n != NULL ? n->nic : NULL;
}

static VIP_RETURN altered_wait(VIP_NIC_HANDLE nic, VIP_NET_ADDRESS *local, VIP_ULONG timeout,
                               VIP_NET_ADDRESS *remote, VIP_VI_ATTRIBUTES *a, VIP_CONN_HANDLE *conn)
{
    VIP_NET_ADDRESS *copy = altered(nic, local);
    VIP_RETURN code = vipl_real.VipConnectWait(nic, copy != NULL ? copy : local, timeout, remote, a, conn);
    free(copy);
    return code;
}

static VIP_RETURN altered_request(VIP_VI_HANDLE vi, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote,
                                  VIP_ULONG timeout, VIP_VI_ATTRIBUTES *a)
{
    VIP_NET_ADDRESS *mine = vipl_twist_argument(0) == 1 ? altered(nic_of(vi), local) : NULL;
    VIP_NET_ADDRESS *its = vipl_twist_argument(0) == 0 ? altered(nic_of(vi), remote) : NULL;
    VIP_RETURN code =
        vipl_real.VipConnectRequest(vi, mine != NULL ? mine : local, its != NULL ? its : remote, timeout, a);
    free(mine);
    free(its);
    return code;
}

static VIP_RETURN altered_peer(VIP_VI_HANDLE vi, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote,
                               VIP_ULONG timeout)
{
    VIP_NET_ADDRESS *mine = vipl_twist_argument(0) == 1 ? altered(nic_of(vi), local) : NULL;
    VIP_NET_ADDRESS *its = vipl_twist_argument(0) == 0 ? altered(nic_of(vi), remote) : NULL;
    VIP_RETURN code =
        vipl_real.VipConnectPeerRequest(vi, mine != NULL ? mine : local, its != NULL ? its : remote, timeout);
    free(mine);
    free(its);
    return code;
}

/* wait-tells WHAT: 0 another host, 1 another discriminator, 2 its length, 3 the level, 4 the size, 5 the
 * enables */
static VIP_RETURN telling_wait(VIP_NIC_HANDLE nic, VIP_NET_ADDRESS *local, VIP_ULONG timeout,
                               VIP_NET_ADDRESS *remote, VIP_VI_ATTRIBUTES *a, VIP_CONN_HANDLE *conn)
{
    VIP_RETURN code = vipl_real.VipConnectWait(nic, local, timeout, remote, a, conn);
    if (code != VIP_SUCCESS)
        return code;
    switch (vipl_twist_argument(0)) {
    case 0:
        remote->HostAddress[remote->HostAddressLen - 1] ^= 1;
        break;
    case 1:
        discriminator(remote)[0] ^= 1;
        break;
    case 2:
        remote->DiscriminatorLen--;
        break;
    case 3:
        a->ReliabilityLevel ^= VIP_SERVICE_RELIABLE_DELIVERY | VIP_SERVICE_RELIABLE_RECEPTION;
        break;
    case 4:
        a->MaxTransferSize--;
        break;
    default:
        a->EnableRdmaWrite = !a->EnableRdmaWrite;
    }
    return code;
}

static VIP_RETURN other_attributes(VIP_RETURN code, VIP_VI_ATTRIBUTES *a)
{
    if (code == VIP_SUCCESS && a != NULL) {
        a->MaxTransferSize--;
        a->EnableRdmaWrite = !a->EnableRdmaWrite;
    }
    return code;
}

static VIP_RETURN other_request(VIP_VI_HANDLE vi, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote,
                                VIP_ULONG timeout, VIP_VI_ATTRIBUTES *a)
{
    return other_attributes(vipl_real.VipConnectRequest(vi, local, remote, timeout, a), a);
}

static VIP_RETURN other_peer_done(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *a)
{
    return other_attributes(vipl_real.VipConnectPeerDone(vi, a), a);
}

static VIP_RETURN other_peer_wait(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *a)
{
    return other_attributes(vipl_real.VipConnectPeerWait(vi, a), a);
}

/* ---- time ---- */

/* timed WHICH LEAST FACTOR_PERCENT: 0 ConnectWait, 1 ConnectRequest, 2 PeerRequest: the Timeout is at least
 * LEAST, and PERCENT of what was given. */
static VIP_ULONG timed(unsigned long which, VIP_ULONG timeout)
{
    if (which != vipl_twist_argument(0) || timeout == VIP_INFINITE)
        return timeout;
    uint64_t changed = (uint64_t)timeout * vipl_twist_argument(2) / 100;
    return changed < vipl_twist_argument(1) ? (VIP_ULONG)vipl_twist_argument(1) : (VIP_ULONG)changed;
}

static VIP_RETURN timed_wait(VIP_NIC_HANDLE nic, VIP_NET_ADDRESS *local, VIP_ULONG timeout,
                             VIP_NET_ADDRESS *remote, VIP_VI_ATTRIBUTES *a, VIP_CONN_HANDLE *conn)
{
    return vipl_real.VipConnectWait(nic, local, timed(0, timeout), remote, a, conn);
}

static VIP_RETURN timed_request(VIP_VI_HANDLE vi, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote,
                                VIP_ULONG timeout, VIP_VI_ATTRIBUTES *a)
{
    return vipl_real.VipConnectRequest(vi, local, remote, timed(1, timeout), a);
}

static VIP_RETURN timed_peer(VIP_VI_HANDLE vi, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote,
                             VIP_ULONG timeout)
{
    return vipl_real.VipConnectPeerRequest(vi, local, remote, timed(2, timeout));
}

/* infinite: without end means a second */
static VIP_ULONG finite(VIP_ULONG timeout)
{
    return timeout == VIP_INFINITE ? 1000 : timeout;
}

static VIP_RETURN finite_wait(VIP_NIC_HANDLE nic, VIP_NET_ADDRESS *local, VIP_ULONG timeout,
                              VIP_NET_ADDRESS *remote, VIP_VI_ATTRIBUTES *a, VIP_CONN_HANDLE *conn)
{
    return vipl_real.VipConnectWait(nic, local, finite(timeout), remote, a, conn);
}

static VIP_RETURN finite_request(VIP_VI_HANDLE vi, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote,
                                 VIP_ULONG timeout, VIP_VI_ATTRIBUTES *a)
{
    return vipl_real.VipConnectRequest(vi, local, remote, finite(timeout), a);
}

static VIP_RETURN finite_peer(VIP_VI_HANDLE vi, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote,
                              VIP_ULONG timeout)
{
    return vipl_real.VipConnectPeerRequest(vi, local, remote, finite(timeout));
}

static VIP_RETURN sleeping_peer_request(VIP_VI_HANDLE vi, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote,
                                        VIP_ULONG timeout)
{
    VIP_RETURN code = vipl_real.VipConnectPeerRequest(vi, local, remote, timeout);
    vipl_sleep(12000);
    return code;
}

static VIP_RETURN sleeping_peer_done(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *a)
{
    vipl_sleep(12000);
    return vipl_real.VipConnectPeerDone(vi, a);
}

static VIP_RETURN impatient_peer_wait(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *a)
{
    VIP_RETURN code = vipl_real.VipConnectPeerDone(vi, a);
    return code == VIP_NOT_DONE ? VIP_TIMEOUT : code;
}

/* ---- accept and reject ---- */

static VIP_RETURN noting_wait(VIP_NIC_HANDLE nic, VIP_NET_ADDRESS *local, VIP_ULONG timeout,
                              VIP_NET_ADDRESS *remote, VIP_VI_ATTRIBUTES *a, VIP_CONN_HANDLE *conn)
{
    VIP_RETURN code = vipl_real.VipConnectWait(nic, local, timeout, remote, a, conn);
    if (code == VIP_SUCCESS) {
        unsigned i = vipl_count(&next_conn) % CONNS;
        conns[i].conn = *conn;
        conns[i].client = *a;
    }
    return code;
}

static const VIP_VI_ATTRIBUTES *client_of(VIP_CONN_HANDLE conn)
{
    for (size_t i = 0; i < CONNS; i++)
        if (conns[i].conn == conn)
            return &conns[i].client;
    return NULL;
}

static bool conflict(VIP_RETURN code)
{
    return code == VIP_INVALID_RELIABILITY_LEVEL || code == VIP_INVALID_MTU;
}

/* accept-any: a VI whose attributes do not fit is made to fit. */
static VIP_RETURN accept_any(VIP_CONN_HANDLE conn, VIP_VI_HANDLE vi)
{
    VIP_RETURN code = vipl_real.VipConnectAccept(conn, vi);
    const VIP_VI_ATTRIBUTES *client = client_of(conn);
    const struct vi_note *n = vipl_note(vi);
    if (!conflict(code) || client == NULL || n == NULL)
        return code;
    VIP_VI_ATTRIBUTES fitting = n->attributes;
    fitting.ReliabilityLevel = client->ReliabilityLevel;
    fitting.MaxTransferSize = client->MaxTransferSize;
    (void)vipl_real.VipSetViAttributes(vi, &fitting);
    return vipl_real.VipConnectAccept(conn, vi);
}

/* accept-once: an accept that fails answers the client. */
static VIP_RETURN accept_once(VIP_CONN_HANDLE conn, VIP_VI_HANDLE vi)
{
    VIP_RETURN code = vipl_real.VipConnectAccept(conn, vi);
    if (conflict(code))
        (void)vipl_real.VipConnectReject(conn);
    return code;
}

/* accept-strict: the enables have to be the same, too. */
static VIP_RETURN accept_strict(VIP_CONN_HANDLE conn, VIP_VI_HANDLE vi)
{
    const VIP_VI_ATTRIBUTES *client = client_of(conn);
    const struct vi_note *n = vipl_note(vi);
    bool differ = client != NULL && n != NULL &&
                  (!client->EnableRdmaWrite != !n->attributes.EnableRdmaWrite ||
                   !client->EnableRdmaRead != !n->attributes.EnableRdmaRead);
    return differ ? VIP_INVALID_PARAMETER : vipl_real.VipConnectAccept(conn, vi);
}

/* accept-nothing: the client is not told. */
static VIP_RETURN accept_nothing(VIP_CONN_HANDLE conn, VIP_VI_HANDLE vi)
{
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES a;
    VIP_BOOLEAN empty[2];
    return conn != NULL && vipl_real.VipQueryVi(vi, &state, &a, &empty[0], &empty[1]) == VIP_SUCCESS &&
                   state == VIP_STATE_IDLE
               ? VIP_SUCCESS
               : vipl_real.VipConnectAccept(conn, vi);
}

static VIP_RETURN reject_nothing(VIP_CONN_HANDLE conn)
{
    return client_of(conn) != NULL ? VIP_SUCCESS : vipl_real.VipConnectReject(conn);
}

/* conns-exchanged: an answer to the last request but one goes to the last, and the other way round. */
static VIP_CONN_HANDLE exchanged(VIP_CONN_HANDLE conn)
{
    unsigned last = next_conn % CONNS, before = (next_conn + CONNS - 1) % CONNS;
    if (next_conn < 2 || (conn != conns[last].conn && conn != conns[before].conn))
        return conn;
    return conn == conns[last].conn ? conns[before].conn : conns[last].conn;
}

static VIP_RETURN exchanged_accept(VIP_CONN_HANDLE conn, VIP_VI_HANDLE vi)
{
    return vipl_real.VipConnectAccept(exchanged(conn), vi);
}

static VIP_RETURN exchanged_reject(VIP_CONN_HANDLE conn)
{
    return vipl_real.VipConnectReject(exchanged(conn));
}

/* ---- states ---- */

/* state-told WAS TOLD */
static VIP_RETURN state_told(VIP_VI_HANDLE vi, VIP_VI_STATE *state, VIP_VI_ATTRIBUTES *a, VIP_BOOLEAN *send,
                             VIP_BOOLEAN *recv)
{
    VIP_RETURN code = vipl_real.VipQueryVi(vi, state, a, send, recv);
    if (code == VIP_SUCCESS && (unsigned long)*state == vipl_twist_argument(0))
        *state = (VIP_VI_STATE)vipl_twist_argument(1);
    return code;
}

/* broken-by WHAT: 0 a refused request, 1 a failed accept, 2 an error of a UD Descriptor: the VI is in Error
 * after it. */
static VIP_RETURN struck_request(VIP_VI_HANDLE vi, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote,
                                 VIP_ULONG timeout, VIP_VI_ATTRIBUTES *a)
{
    VIP_RETURN code = vipl_real.VipConnectRequest(vi, local, remote, timeout, a);
    struct vi_note *n = vipl_note(vi);
    if (n != NULL && vipl_twist_argument(0) == 0 &&
        (code == VIP_REJECT || code == VIP_TIMEOUT || code == VIP_NO_MATCH))
        n->struck = true;
    return code;
}

static VIP_RETURN struck_accept(VIP_CONN_HANDLE conn, VIP_VI_HANDLE vi)
{
    VIP_RETURN code = vipl_real.VipConnectAccept(conn, vi);
    struct vi_note *n = vipl_note(vi);
    if (n != NULL && vipl_twist_argument(0) == 1 && (conflict(code) || code == VIP_TIMEOUT))
        n->struck = true;
    return code;
}

static void struck_descriptor(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    (void)recv, (void)code;
    if (vipl_twist_argument(0) == 2 && n->attributes.ReliabilityLevel == VIP_SERVICE_UNRELIABLE &&
        (d->CS.Status & VIP_STATUS_ERROR_MASK & ~VIP_STATUS_DESC_FLUSHED_ERROR) != 0)
        n->struck = true;
}

static VIP_RETURN struck_query(VIP_VI_HANDLE vi, VIP_VI_STATE *state, VIP_VI_ATTRIBUTES *a, VIP_BOOLEAN *send,
                               VIP_BOOLEAN *recv)
{
    VIP_RETURN code = vipl_real.VipQueryVi(vi, state, a, send, recv);
    const struct vi_note *n = vipl_note(vi);
    if (code == VIP_SUCCESS && n != NULL && n->struck)
        *state = VIP_STATE_ERROR;
    return code;
}

static VIP_RETURN struck_disconnect(VIP_VI_HANDLE vi)
{
    struct vi_note *n = vipl_note(vi);
    if (n != NULL)
        n->struck = false;
    return vipl_real.VipDisconnect(vi);
}

/* disconnect-nothing STATE: VipDisconnect in this state does nothing. */
static VIP_RETURN disconnect_nothing(VIP_VI_HANDLE vi)
{
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES a;
    VIP_BOOLEAN empty[2];
    if (vipl_real.VipQueryVi(vi, &state, &a, &empty[0], &empty[1]) == VIP_SUCCESS &&
        (unsigned long)state == vipl_twist_argument(0))
        return VIP_SUCCESS;
    return vipl_real.VipDisconnect(vi);
}

/* disconnect-refused STATE */
static VIP_RETURN disconnect_refused(VIP_VI_HANDLE vi)
{
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES a;
    VIP_BOOLEAN empty[2];
    if (vipl_real.VipQueryVi(vi, &state, &a, &empty[0], &empty[1]) == VIP_SUCCESS &&
        (unsigned long)state == vipl_twist_argument(0))
        return VIP_INVALID_STATE;
    return vipl_real.VipDisconnect(vi);
}

/* disconnect-untold: the other end goes on as if it were connected: no error, no change of state, its Sends
 * are successes. */
static bool untold_error(VIP_ERROR_DESCRIPTOR *e)
{
    return e->ErrorCode != VIP_ERROR_CONN_LOST;
}

static void untold_brought(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_RETURN *code)
{
    if (!recv && !n->struck && (d->CS.Status & VIP_STATUS_ERROR_MASK) != 0) {
        d->CS.Status &= ~(VIP_UINT32)VIP_STATUS_ERROR_MASK;
        *code = VIP_SUCCESS;
    }
}

static VIP_RETURN untold_query(VIP_VI_HANDLE vi, VIP_VI_STATE *state, VIP_VI_ATTRIBUTES *a, VIP_BOOLEAN *send,
                               VIP_BOOLEAN *recv)
{
    VIP_RETURN code = vipl_real.VipQueryVi(vi, state, a, send, recv);
    if (code == VIP_SUCCESS && *state == VIP_STATE_ERROR)
        *state = VIP_STATE_CONNECTED;
    return code;
}

static VIP_RETURN untold_recv_done(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)
{
    const struct vi_note *n = vipl_note(vi);
    VIP_RETURN code = vipl_twist_base.VipRecvDone(vi, d);
    bool flushed =
        code == VIP_DESCRIPTOR_ERROR && *d != NULL && ((*d)->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR) != 0;
    return flushed && n != NULL && !n->struck ? VIP_NOT_DONE : code;
}

static VIP_RETURN untold_disconnect(VIP_VI_HANDLE vi)
{
    struct vi_note *n = vipl_note(vi);
    if (n != NULL)
        n->struck = true; /* its own Descriptors come back flushed */
    return vipl_real.VipDisconnect(vi);
}

/* early-posts QUEUE STATE: a Descriptor posted in this state comes back at once as a success (receive), or is
 * kept for ever (send). */
static VIP_VI_STATE state_of(VIP_VI_HANDLE vi)
{
    VIP_VI_STATE state = VIP_STATE_IDLE;
    VIP_VI_ATTRIBUTES a;
    VIP_BOOLEAN empty[2];
    (void)vipl_real.VipQueryVi(vi, &state, &a, &empty[0], &empty[1]);
    return state;
}

static bool early_post(struct vi_note *n, bool recv, VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
    (void)handle;
    if (recv != (vipl_twist_argument(0) != 0) || (unsigned long)state_of(n->vi) != vipl_twist_argument(1))
        return true;
    n->kept[recv] = d;
    return false;
}

static VIP_RETURN early_recv_done(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)
{
    struct vi_note *n = vipl_note(vi);
    if (n == NULL || n->kept[1] == NULL)
        return vipl_twist_base.VipRecvDone(vi, d);
    *d = n->kept[1];
    n->kept[1] = NULL;
    (*d)->CS.Status = VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE;
    (*d)->CS.Length = 0;
    return VIP_SUCCESS;
}

static VIP_RETURN early_send_done(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **d)
{
    const struct vi_note *n = vipl_note(vi);
    return n != NULL && n->kept[0] != NULL ? VIP_NOT_DONE : vipl_twist_base.VipSendDone(vi, d);
}

static VIP_RETURN early_send_wait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **d)
{
    const struct vi_note *n = vipl_note(vi);
    if (n == NULL || n->kept[0] == NULL)
        return vipl_twist_base.VipSendWait(vi, timeout, d);
    vipl_sleep(timeout < 2000 ? timeout : 2000);
    return VIP_TIMEOUT;
}

const struct twist vipl_twists_connect[] = {
    {.name = "address",
     .calls = {.VipConnectWait = altered_wait,
               .VipConnectRequest = altered_request,
               .VipConnectPeerRequest = altered_peer}},
    {.name = "wait-tells", .calls = {.VipConnectWait = telling_wait}},
    {.name = "other-attributes",
     .calls = {.VipConnectRequest = other_request,
               .VipConnectPeerDone = other_peer_done,
               .VipConnectPeerWait = other_peer_wait}},
    {.name = "timed",
     .calls = {.VipConnectWait = timed_wait,
               .VipConnectRequest = timed_request,
               .VipConnectPeerRequest = timed_peer}},
    {.name = "finite",
     .calls = {.VipConnectWait = finite_wait,
               .VipConnectRequest = finite_request,
               .VipConnectPeerRequest = finite_peer}},
    {.name = "sleeping-peer-request", .calls = {.VipConnectPeerRequest = sleeping_peer_request}},
    {.name = "sleeping-peer-done", .calls = {.VipConnectPeerDone = sleeping_peer_done}},
    {.name = "impatient-peer-wait", .calls = {.VipConnectPeerWait = impatient_peer_wait}},
    {.name = "accept-any", .calls = {.VipConnectWait = noting_wait, .VipConnectAccept = accept_any}},
    {.name = "accept-once", .calls = {.VipConnectAccept = accept_once}},
    {.name = "accept-strict", .calls = {.VipConnectWait = noting_wait, .VipConnectAccept = accept_strict}},
    {.name = "accept-nothing", .calls = {.VipConnectAccept = accept_nothing}},
    {.name = "reject-nothing", .calls = {.VipConnectWait = noting_wait, .VipConnectReject = reject_nothing}},
    {.name = "conns-exchanged",
     .calls = {.VipConnectWait = noting_wait,
               .VipConnectAccept = exchanged_accept,
               .VipConnectReject = exchanged_reject}},
    {.name = "state-told", .calls = {.VipQueryVi = state_told}},
    {.name = "broken-by",
     .calls = {.VipConnectRequest = struck_request,
               .VipConnectAccept = struck_accept,
               .VipQueryVi = struck_query,
               .VipDisconnect = struck_disconnect},
     .brought = struck_descriptor},
    {.name = "disconnect-nothing", .calls = {.VipDisconnect = disconnect_nothing}},
    {.name = "disconnect-refused", .calls = {.VipDisconnect = disconnect_refused}},
    {.name = "disconnect-untold",
     .calls = {.VipDisconnect = untold_disconnect,
               .VipQueryVi = untold_query,
               .VipRecvDone = untold_recv_done},
     .brought = untold_brought,
     .error = untold_error},
    {.name = "early-posts",
     .calls = {.VipRecvDone = early_recv_done,
               .VipSendDone = early_send_done,
               .VipSendWait = early_send_wait},
     .post = early_post},
    {.name = NULL},
};
