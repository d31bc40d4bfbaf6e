/* Bytes of a hostile client for the upper tester agent, over a libvipl that agrees to everything: the agent's
 * own files, as one. They come in one piece and then in small ones; both have to end alike.
 *
 * A first byte below 9 says who the client is and how small the pieces are; without one it is a client that
 * has reset the agent. */
#define _GNU_SOURCE
#include "oracle.h"

#include <pthread.h>

/* A thread runs to its end where it is begun; the one that watches completions does not begin (agent_line).
 */
static int run_at_once(pthread_t *thread, const void *attributes, void *(*body)(void *), void *context);
#define pthread_create run_at_once
#define pthread_detach(thread) (void)(thread)

#include "../harness/lines/calls.c"
#include "../harness/lines/client.c"
#include "../harness/lines/first.c"
#include "../harness/lines/memory.c"
#include "../harness/lines/params.c"
#include "../harness/lines/reader.c"

#include "../harness/agent/api.c"
#include "../harness/agent/api_attributes.c"
#include "../harness/agent/api_cq.c"
#include "../harness/agent/api_handlers.c"
#include "../harness/agent/api_layout.c"
#include "../harness/agent/api_memory.c"
#include "../harness/agent/api_methods.c"
#include "../harness/agent/api_nic.c"
#include "../harness/agent/api_things.c"
#include "../harness/agent/api_vi.c"
#include "../harness/agent/api_work.c"
#include "../harness/agent/begin.c"
#include "../harness/agent/config.c"
#include "../harness/agent/control.c"
#include "../harness/agent/frames.c"
#define agent_line line_alone
void agent_line(struct agent *a, const char *line, size_t length);
#include "../harness/agent/line.c"
#undef agent_line
#define provider_start_calls start_calls /* handles are not looked at there: see below */
#include "../harness/agent/provider_plain.c"
#undef provider_start_calls

#include <fcntl.h>
#include <sys/mman.h>

static int run_at_once(pthread_t *thread, const void *attributes, void *(*body)(void *), void *context)
{
    (void)attributes;
    *thread = pthread_self();
    if (body == watch)
        calls_left(&((struct api *)context)->calls);
    else
        body(context);
    return 0;
}

/* Calls alone (wire "api") read and write where the client says: such a reset is refused here. */
bool provider_start_calls(const char *const *devices, size_t count, const json_t *config, const char **why)
{
    (void)devices, (void)count, (void)config;
    *why = "no calls alone";
    return false;
}

enum { HANDLES = 1 << 20 };

const char fcvi_fuzz_allocates = 1;

static unsigned handles;
static VIP_DESCRIPTOR *posted[2];

static VIP_PVOID next_handle(void)
{
    static char place[HANDLES];
    return &place[++handles % HANDLES];
}

/* The provider looks at what it is given. */
static VIP_RETURN look_at(const VIP_NET_ADDRESS *a)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < (unsigned)a->HostAddressLen + a->DiscriminatorLen; i++)
        sum += a->HostAddress[i];
    return sum % 7 == 6 ? VIP_NO_MATCH : VIP_SUCCESS;
}

static VIP_RETURN give(void **out)
{
    *out = next_handle();
    return VIP_SUCCESS;
}

static VIP_RETURN some_attributes(VIP_VI_ATTRIBUTES *a)
{
    memset(a, 0, sizeof *a);
    a->ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
    return VIP_SUCCESS;
}

static VIP_RETURN come_back(VIP_DESCRIPTOR **out, bool recv)
{
    *out = posted[recv];
    posted[recv] = NULL;
    if (*out == NULL)
        return VIP_DESCRIPTOR_ERROR;
    for (unsigned i = 0; i < (*out)->CS.SegCount; i++)
        (*out)->CS.Status |= (&(*out)->DS[0])[i].Local.Length & 0xF01FF;
    return VIP_SUCCESS;
}

/* ---- the entry points that the agent uses ---- */

VIP_RETURN VipOpenNic(const VIP_CHAR *DeviceName, VIP_NIC_HANDLE *NicHandle)
{
    return DeviceName[0] == 'V' ? give(NicHandle) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipCloseNic(VIP_NIC_HANDLE NicHandle)
{
    posted[0] = posted[1] = NULL;
    return NicHandle != NULL ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipQueryNic(VIP_NIC_HANDLE NicHandle, VIP_NIC_ATTRIBUTES *NicAttribs)
{
    memset(NicAttribs, 0, sizeof *NicAttribs);
    return NicHandle != NULL ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipErrorCallback(VIP_NIC_HANDLE NicHandle, VIP_PVOID Context,
                            void (*Handler)(VIP_PVOID Context, VIP_ERROR_DESCRIPTOR *ErrorDesc))
{
    VIP_ERROR_DESCRIPTOR lost = {.NicHandle = NicHandle, .ErrorCode = VIP_ERROR_CONN_LOST};
    Handler(Context, &lost);
    return VIP_SUCCESS;
}

VIP_RETURN VipCreatePtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE *Ptag)
{
    return NicHandle != NULL ? give(Ptag) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipCreateCQ(VIP_NIC_HANDLE NicHandle, VIP_ULONG EntryCount, VIP_CQ_HANDLE *CQHandle)
{
    return NicHandle != NULL && EntryCount > 0 ? give(CQHandle) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipCQWait(VIP_CQ_HANDLE CQHandle, VIP_ULONG Timeout, VIP_VI_HANDLE *ViHandle,
                     VIP_BOOLEAN *RecvQueue)
{
    (void)CQHandle, (void)Timeout, (void)ViHandle, (void)RecvQueue;
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipCreateVi(VIP_NIC_HANDLE NicHandle, VIP_VI_ATTRIBUTES *ViAttribs, VIP_CQ_HANDLE SendCQHandle,
                       VIP_CQ_HANDLE RecvCQHandle, VIP_VI_HANDLE *ViHandle)
{
    bool known = NicHandle != NULL && SendCQHandle != NULL && RecvCQHandle != NULL;
    return known && ViAttribs->MaxTransferSize < 1 << 30 ? give(ViHandle) : VIP_INVALID_MTU;
}

VIP_RETURN VipDestroyVi(VIP_VI_HANDLE ViHandle)
{
    return ViHandle != NULL ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipQueryVi(VIP_VI_HANDLE ViHandle, VIP_VI_STATE *State, VIP_VI_ATTRIBUTES *ViAttribs,
                      VIP_BOOLEAN *ViSendQEmpty, VIP_BOOLEAN *ViRecvQEmpty)
{
    *State = VIP_STATE_CONNECTED;
    *ViSendQEmpty = *ViRecvQEmpty = ViHandle != NULL;
    return some_attributes(ViAttribs);
}

VIP_RETURN VipConnectWait(VIP_NIC_HANDLE NicHandle, VIP_NET_ADDRESS *LocalAddr, VIP_ULONG Timeout,
                          VIP_NET_ADDRESS *RemoteAddr, VIP_VI_ATTRIBUTES *RemoteViAttribs,
                          VIP_CONN_HANDLE *ConnHandle)
{
    if (NicHandle == NULL || look_at(LocalAddr) != VIP_SUCCESS || Timeout == 0)
        return VIP_TIMEOUT;
    memcpy(RemoteAddr, LocalAddr, 4u + LocalAddr->HostAddressLen + LocalAddr->DiscriminatorLen);
    (void)give(ConnHandle);
    return some_attributes(RemoteViAttribs);
}

VIP_RETURN VipConnectAccept(VIP_CONN_HANDLE ConnHandle, VIP_VI_HANDLE ViHandle)
{
    return ConnHandle != NULL && ViHandle != NULL ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipConnectReject(VIP_CONN_HANDLE ConnHandle)
{
    return ConnHandle != NULL ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipConnectRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS *LocalAddr, VIP_NET_ADDRESS *RemoteAddr,
                             VIP_ULONG Timeout, VIP_VI_ATTRIBUTES *RemoteViAttribs)
{
    if (ViHandle == NULL || Timeout == 0 || look_at(LocalAddr) != VIP_SUCCESS)
        return VIP_INVALID_PARAMETER;
    return look_at(RemoteAddr) == VIP_SUCCESS ? some_attributes(RemoteViAttribs) : VIP_NO_MATCH;
}

VIP_RETURN VipDisconnect(VIP_VI_HANDLE ViHandle)
{
    return VipDestroyVi(ViHandle);
}

VIP_RETURN VipConnectPeerRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS *LocalAddr,
                                 VIP_NET_ADDRESS *RemoteAddr, VIP_ULONG Timeout)
{
    VIP_VI_ATTRIBUTES a;
    return VipConnectRequest(ViHandle, LocalAddr, RemoteAddr, Timeout, &a);
}

VIP_RETURN VipConnectPeerDone(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES *RemoteViAttribs)
{
    return ViHandle != NULL ? some_attributes(RemoteViAttribs) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipConnectPeerWait(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES *RemoteViAttribs)
{
    return VipConnectPeerDone(ViHandle, RemoteViAttribs);
}

VIP_RETURN VipRegisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress, VIP_ULONG Length,
                          VIP_MEM_ATTRIBUTES *MemAttribs, VIP_MEM_HANDLE *MemoryHandle)
{
    if (NicHandle == NULL || Length == 0 || MemAttribs->Ptag == NULL)
        return VIP_INVALID_PARAMETER;
    *MemoryHandle = ((const unsigned char *)VirtualAddress)[Length - 1];
    return VIP_SUCCESS;
}

VIP_RETURN VipDeregisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress, VIP_MEM_HANDLE MemoryHandle)
{
    (void)MemoryHandle;
    return NicHandle != NULL && VirtualAddress != NULL ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipPostSend(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr, VIP_MEM_HANDLE MemoryHandle)
{
    (void)ViHandle, (void)MemoryHandle;
    posted[0] = DescriptorPtr;
    return VIP_SUCCESS;
}

VIP_RETURN VipPostRecv(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr, VIP_MEM_HANDLE MemoryHandle)
{
    (void)ViHandle, (void)MemoryHandle;
    posted[1] = DescriptorPtr;
    return VIP_SUCCESS;
}

VIP_RETURN VipSendDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr)
{
    (void)ViHandle;
    return come_back(DescriptorPtr, false);
}

VIP_RETURN VipRecvDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr)
{
    (void)ViHandle;
    return come_back(DescriptorPtr, true);
}

/* ---- those of calls alone ---- */

#define NEVER(name, ...)                                                                                     \
    VIP_RETURN name(__VA_ARGS__)                                                                             \
    {                                                                                                        \
        abort();                                                                                             \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
NEVER(VipDestroyPtag, VIP_NIC_HANDLE n, VIP_PROTECTION_HANDLE p)
NEVER(VipSetViAttributes, VIP_VI_HANDLE v, VIP_VI_ATTRIBUTES *a)
NEVER(VipQueryMem, VIP_NIC_HANDLE n, VIP_PVOID p, VIP_MEM_HANDLE m, VIP_MEM_ATTRIBUTES *a)
NEVER(VipSetMemAttributes, VIP_NIC_HANDLE n, VIP_PVOID p, VIP_MEM_HANDLE m, VIP_MEM_ATTRIBUTES *a)
NEVER(VipDestroyCQ, VIP_CQ_HANDLE c)
NEVER(VipResizeCQ, VIP_CQ_HANDLE c, VIP_ULONG n)
NEVER(VipCQDone, VIP_CQ_HANDLE c, VIP_VI_HANDLE *v, VIP_BOOLEAN *r)
NEVER(VipCQNotify, VIP_CQ_HANDLE c, VIP_PVOID p,
      void (*h)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_BOOLEAN))
NEVER(VipSendWait, VIP_VI_HANDLE v, VIP_ULONG t, VIP_DESCRIPTOR **d)
NEVER(VipRecvWait, VIP_VI_HANDLE v, VIP_ULONG t, VIP_DESCRIPTOR **d)
NEVER(VipSendNotify, VIP_VI_HANDLE v, VIP_PVOID p,
      void (*h)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_DESCRIPTOR *))
NEVER(VipRecvNotify, VIP_VI_HANDLE v, VIP_PVOID p,
      void (*h)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_DESCRIPTOR *))
NEVER(VipNSInit, VIP_NIC_HANDLE n, VIP_PVOID i)
NEVER(VipNSGetHostByName, VIP_NIC_HANDLE n, VIP_CHAR *c, VIP_NET_ADDRESS *a, VIP_ULONG i)
NEVER(VipNSGetHostByAddr, VIP_NIC_HANDLE n, VIP_NET_ADDRESS *a, VIP_CHAR *c, VIP_ULONG *l)
NEVER(VipNSShutdown, VIP_NIC_HANDLE n)
NEVER(VipQuerySystemManagementInfo, VIP_NIC_HANDLE n, VIP_ULONG t, VIP_PVOID i)
#pragma GCC diagnostic pop

/* ---- the target ---- */

/* What was posted completes after each line. */
void agent_line(struct agent *a, const char *line, size_t length)
{
    line_alone(a, line, length);
    for (int i = 0; i < 2 && a->api != NULL; i++) {
        json_t *entry = json_pack("{s:i, s:b}", "vi", 0, "RecvQueue", i);
        completed(a->api, entry);
        json_decref(entry);
    }
}

static const char reset_line[] =
    "{\"id\":0,\"method\":\"reset\",\"params\":{\"port_name\":\"10000000c9000002\",\"node_name\":"
    "\"20000000c9000002\",\"n_port_id\":\"010200\",\"host\":[\"fe8000000000000000000000000000b2\"],\"peer\":{"
    "\"port_name\":\"10000000c9000001\",\"node_name\":\"20000000c9000001\",\"n_port_id\":\"010100\",\"host\":"
    "["
    "\"fe8000000000000000000000000000a1\"]},\"topology\":\"fabric\",\"fabric\":\"in-order\",\"class\":3,"
    "\"login\":\"implicit\",\"e_d_tov_us\":200000,\"r_a_tov_us\":600000,\"receive_size\":2112,\"seed\":1}}";

enum { STRANGER = 1, TOKEN = 2, BYTE_BY_BYTE = 4, HEADERS = 8 };

static const char token[] = "a token of sixteen";

/* What is left of a client. */
struct outcome {
    bool in, started, failed, too_long;
    size_t memory, done;
    unsigned messages;
};

/* Every message that went out is one JSON object in a line. */
static unsigned said(int sink)
{
    static char text[1 << 20];
    unsigned messages = 0;
    ssize_t n = pread(sink, text, sizeof text, 0);
    DEMAND(n >= 0);
    for (char *at = text, *end; (end = memchr(at, '\n', (size_t)(text + n - at))) != NULL; at = end + 1) {
        json_error_t error;
        json_t *message = json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
        DEMAND(json_is_object(message));
        json_decref(message);
        messages++;
    }
    DEMAND(n == sizeof text || n == 0 || text[n - 1] == '\n');
    return messages;
}

static size_t piece(unsigned header, size_t at, size_t room)
{
    size_t length = header & BYTE_BY_BYTE ? 1 : 1 + at * 7 % 61;
    return length < room ? length : room;
}

static void play(struct agent *a, struct reader *r, const uint8_t *data, size_t size, unsigned header,
                 bool whole)
{
    for (bool open = true; open && size > 0 && !a->client.failed;) {
        size_t room;
        char *place = reader_room(r, &room);
        DEMAND(room > 0);
        size_t length = whole ? room : piece(header, size, room);
        if (length > size)
            length = size;
        memcpy(place, data, length);
        open = reader_took(r, &a->client, length);
        data += length;
        size -= length;
    }
}

/* What a stranger says at the door, in pieces. True: he came in, and his first `*at` bytes are the reader's.
 */
static bool comes_in(const uint8_t *data, size_t size, unsigned header, bool whole, size_t *at)
{
    static char said[2 * FIRST_LONGEST], answer[FIRST_ANSWER];
    enum first first = FIRST_MORE;
    size_t have = 0;
    while (first == FIRST_MORE && have < size) {
        size_t length = whole ? sizeof said - have : piece(header, size - have, sizeof said - have);
        if (length > size - have)
            length = size - have;
        DEMAND(length > 0);
        memcpy(said + have, data + have, length);
        have += length;
        first = first_line(said, have, header & TOKEN ? token : "", answer);
        DEMAND(strlen(answer) < FIRST_ANSWER && (first == FIRST_OUT || answer[0] == '\0'));
        const char *end = strchr(answer, '\n');
        DEMAND(answer[0] == '\0' || (end != NULL && end[1] == '\0'));
    }
    *at = have;
    return first == FIRST_IN;
}

static struct outcome of_client(const uint8_t *data, size_t size, unsigned header, bool whole)
{
    static struct reader reader;
    static int sink = -1;
    if (sink < 0)
        sink = memfd_create("sink", 0);
    DEMAND(sink >= 0 && ftruncate(sink, 0) == 0 && lseek(sink, 0, SEEK_SET) == 0);
    struct agent *a = agent_new(sink, NULL);
    DEMAND(a != NULL);
    a->device_count = provider_devices(a->devices, AGENT_DEVICES); /* as main.c does */
    if ((header & (STRANGER | TOKEN)) == 0) {
        agent_line(a, reset_line, sizeof reset_line - 1);
        DEMAND((a->api != NULL));
    }
    size_t at = 0, room;
    bool in = (header & (STRANGER | TOKEN)) == 0 || comes_in(data, size, header, whole, &at);
    reader_begin(&reader);
    memcpy(reader_room(&reader, &room), data, in ? at : 0);
    if (in && (at == 0 || reader_took(&reader, &a->client, at)))
        play(a, &reader, data + at, size - at, header, whole);
    const size_t held = a->api != NULL ? a->api->held : 0, done = a->api != NULL ? a->api->control->done : 0;
    DEMAND(a->api == NULL ||
           (a->api->calls.open_count == 0 && held <= CONTROL_MOST_HELD && done <= MOST_DONE));
    struct outcome o = {in, (a->api != NULL), a->client.failed, reader.too_long, held, done, said(sink)};
    agent_free(a);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned header = 0;
    if (size > 0 && data[0] < HEADERS) {
        header = *data++;
        size--;
    }
    struct outcome whole = of_client(data, size, header, true), parts = of_client(data, size, header, false);
    DEMAND(whole.in == parts.in && whole.started == parts.started && whole.failed == parts.failed &&
           whole.too_long == parts.too_long && whole.memory == parts.memory && whole.done == parts.done &&
           whole.messages == parts.messages);
    return 0;
}
