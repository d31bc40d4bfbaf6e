/* Any libvipl: the NIC is there, and configured by the vendor's own means before `reset`. */
#include "provider.h"

#include <stdio.h>
#include <string.h>

/* No call tells what the wire is: whoever starts the agent does. */
static bool of_tcp;

bool provider_on(const char *spec, char *why, size_t size)
{
    of_tcp = strcmp(spec, "vitcp") == 0;
    if (!of_tcp)
        snprintf(why, size, "a vendor's NIC has a wire of its own; --on vitcp says that it is VI/TCP");
    return of_tcp;
}

bool provider_frames_to(void *context, provider_sink *sink)
{
    (void)context, (void)sink;
    return false;
}

bool provider_frame(const struct provider_frame *frame)
{
    (void)frame;
    return false;
}

void provider_turn(void) {}

void provider_when_waiting(void (*waits)(void))
{
    (void)waits;
}

const char *provider_start(const char *device, const json_t *config, const char **why)
{
    (void)config, (void)why;
    return device != NULL ? device : "VINIC";
}

size_t provider_devices(const char **names, size_t room)
{
    if (room > 0)
        names[0] = "VINIC";
    return 1;
}

bool provider_start_calls(const char *const *devices, size_t count, const json_t *config, const char **why)
{
    (void)devices, (void)count, (void)config, (void)why;
    return true;
}

void provider_cut(void) {}

void provider_stop(void) {}

void provider_link(const char *event)
{
    (void)event; /* VIPL has no call for it */
}

int provider_inject(const char *fault, size_t from)
{
    (void)fault, (void)from; /* what is below a vendor's NIC is the lab's */
    return -1;
}

/* What VIP_QOS points to is the vendor's own (VI-DG 4.6): only the default can be asked for. */
bool provider_qos(struct provider_qos *room, bool preference, uint32_t depth, VIP_QOS *qos)
{
    memset(room, 0, sizeof *room);
    *qos = NULL;
    return !preference && depth == 0;
}

void provider_read_qos(VIP_QOS qos, bool *preference, uint32_t *depth)
{
    (void)qos;
    *preference = false;
    *depth = 0;
}

/* What VipQueryNic tells. The rest (class of service, topology) no call tells: the lab declares it. A NIC
 * that cannot be opened now claims nothing. */
json_t *provider_pics(const char *device)
{
    VIP_NIC_ATTRIBUTES n;
    VIP_NIC_HANDLE nic = NULL;
    json_t *pics = json_object();
    memset(&n, 0, sizeof n);
    if (VipOpenNic(device, &nic) != VIP_SUCCESS)
        return pics;
    if (VipQueryNic(nic, &n) == VIP_SUCCESS) {
        const struct {
            const char *item;
            bool claimed;
        } items[] = {
            {"client", true},
            {"server", true},
            {"peer_to_peer", strstr(VIPL_MISSING_CALLS, "VipConnectPeerRequest ") == NULL},
            {"send", true},
            {"rdma_write", true},
            {"immediate_data", true},
            {"rdma_read", n.RDMAReadSupport != 0},
            {"unreliable_delivery", (n.ReliabilityLevelSupport & VIP_SERVICE_UNRELIABLE) != 0},
            {"reliable_delivery", (n.ReliabilityLevelSupport & VIP_SERVICE_RELIABLE_DELIVERY) != 0},
            {"reliable_reception", (n.ReliabilityLevelSupport & VIP_SERVICE_RELIABLE_RECEPTION) != 0}};
        for (size_t i = 0; i < sizeof items / sizeof *items; i++)
            json_object_set_new(pics, items[i].item, json_boolean(items[i].claimed));
        if (of_tcp)
            json_object_set_new(pics, "tcp", json_true());
        json_object_set_new(pics, "max_transfer_size",
                            json_integer((json_int_t)(n.MaxTransferSize & UINT32_MAX)));
        json_object_set_new(pics, "max_vis", json_integer((json_int_t)(n.MaxVI & UINT32_MAX)));
    }
    (void)VipCloseNic(nic);
    return pics;
}
