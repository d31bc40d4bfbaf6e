/* See devices.h. */
#include "devices.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- addresses ---- */

/* The device that librdmacm binds an address to; NULL: none. */
static struct rdma_cm_id *bound(struct rdma_event_channel *channel, struct sockaddr *address)
{
    struct rdma_cm_id *id = NULL;
    if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) != 0)
        return NULL;
    if (rdma_bind_addr(id, address) == 0 && id->verbs != NULL)
        return id;
    rdma_destroy_id(id);
    return NULL;
}

static void take_address(struct device *d, const struct sockaddr *address)
{
    memset(&d->at, 0, sizeof d->at);
    if (address->sa_family == AF_INET) {
        struct sockaddr_in four = *(const struct sockaddr_in *)(const void *)address;
        four.sin_port = 0;
        memcpy(&d->at, &four, sizeof four);
        inet_ntop(AF_INET, &four.sin_addr, d->address, sizeof d->address);
    } else {
        struct sockaddr_in6 six = *(const struct sockaddr_in6 *)(const void *)address;
        six.sin6_port = 0;
        memcpy(&d->at, &six, sizeof six);
        inet_ntop(AF_INET6, &six.sin6_addr, d->address, sizeof d->address);
    }
}

/* One of the machine's that can name the other end alone: no loopback, no link-local one. */
static bool is_usable(const struct sockaddr *address)
{
    if (address == NULL)
        return false;
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 != 127;
    if (address->sa_family != AF_INET6)
        return false;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return !IN6_IS_ADDR_LOOPBACK(six) && !IN6_IS_ADDR_LINKLOCAL(six);
}

/* An IPv4 address is taken before one of IPv6. */
static bool find_address(struct device *d)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct ifaddrs *all = NULL;
    if (channel == NULL)
        return false;
    if (getifaddrs(&all) != 0)
        all = NULL;
    static const int families[] = {AF_INET, AF_INET6};
    for (size_t family = 0; family < 2 && d->address[0] == '\0'; family++)
        for (const struct ifaddrs *one = all; one != NULL && d->address[0] == '\0'; one = one->ifa_next) {
            if (!is_usable(one->ifa_addr) || one->ifa_addr->sa_family != families[family])
                continue;
            struct rdma_cm_id *id = bound(channel, one->ifa_addr);
            if (id != NULL && strcmp(ibv_get_device_name(id->verbs->device), d->name) == 0)
                take_address(d, one->ifa_addr);
            if (id != NULL)
                rdma_destroy_id(id);
        }
    freeifaddrs(all);
    rdma_destroy_event_channel(channel);
    return true;
}

/* ---- what a device has ---- */

struct scratch {
    struct ibv_context *context;
    struct ibv_pd *pd;
    unsigned char bytes[4096];
};

static bool can_resize_cq(const struct scratch *s)
{
    struct ibv_cq *cq = ibv_create_cq(s->context, 8, NULL, NULL, 0);
    bool can = cq != NULL && ibv_resize_cq(cq, 16) == 0;
    if (cq != NULL)
        ibv_destroy_cq(cq);
    return can;
}

static bool can_reregister(struct scratch *s)
{
    struct ibv_mr *mr = ibv_reg_mr(s->pd, s->bytes, sizeof s->bytes, IBV_ACCESS_LOCAL_WRITE);
    bool can = mr != NULL && ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
                                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ) == 0;
    if (mr != NULL)
        ibv_dereg_mr(mr);
    return can;
}

static bool can_be_zero_based(struct scratch *s)
{
    struct ibv_mr *mr =
        ibv_reg_mr(s->pd, s->bytes, sizeof s->bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
    if (mr == NULL)
        mr = ibv_reg_mr_iova(s->pd, s->bytes, sizeof s->bytes, 0, IBV_ACCESS_LOCAL_WRITE);
    if (mr == NULL)
        return false;
    ibv_dereg_mr(mr);
    return true;
}

static bool can_allocate_window(const struct scratch *s)
{
    static const enum ibv_mw_type types[] = {IBV_MW_TYPE_1, IBV_MW_TYPE_2};
    for (size_t i = 0; i < 2; i++) {
        struct ibv_mw *mw = ibv_alloc_mw(s->pd, types[i]);
        if (mw == NULL)
            continue;
        ibv_dealloc_mw(mw);
        return true;
    }
    return false;
}

/* libibverbs has no word for most of these: what a query does not say is tried, on objects of the agent's
 * own. */
static json_t *pics_of(const struct device *d, bool cm)
{
    struct scratch *s = calloc(1, sizeof *s);
    struct ibv_device_attr attr;
    memset(&attr, 0, sizeof attr);
    bool resize_cq = false, rereg = false, zero = false, mw = false;
    if (s != NULL && (s->context = ibv_open_device(d->device)) != NULL) {
        if (ibv_query_device(s->context, &attr) != 0)
            memset(&attr, 0, sizeof attr);
        s->pd = ibv_alloc_pd(s->context);
        resize_cq = can_resize_cq(s);
        if (s->pd != NULL) {
            rereg = can_reregister(s);
            zero = can_be_zero_based(s);
            mw = attr.max_mw > 0 && can_allocate_window(s);
            ibv_dealloc_pd(s->pd);
        }
        ibv_close_device(s->context);
    }
    free(s);
    bool extensions = (attr.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0;
    return json_pack("{s:s, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:b}", "flavour",
                     d->iwarp ? "iwarp" : "ib", "srq", attr.max_srq > 0, "mw", mw, "local_inv",
                     mw && extensions, "send_with_inv", extensions, "resize_cq", resize_cq, "rereg_mr", rereg,
                     "resize_qp", (attr.device_cap_flags & IBV_DEVICE_RESIZE_MAX_WR) != 0, "zero_based", zero,
                     "cm", cm, "threads", 1);
}

void devices_are_lossy(struct devices *d)
{
    d->lossy = true;
    for (size_t i = 0; i < d->count; i++)
        json_object_set_new(d->at[i].pics, "lossy", json_true());
}

/* ---- which there are ---- */

static struct ibv_device *in_list(struct ibv_device **list, const char *name)
{
    for (; list != NULL && *list != NULL; list++)
        if (name == NULL || strcmp(ibv_get_device_name(*list), name) == 0)
            return *list;
    return NULL;
}

static void describe(struct device *d, struct ibv_device *device)
{
    snprintf(d->name, sizeof d->name, "%s", ibv_get_device_name(device));
    d->device = device;
    d->iwarp = device->transport_type == IBV_TRANSPORT_IWARP;
    bool cm = find_address(d);
    d->pics = pics_of(d, cm && d->address[0] != '\0');
}

bool devices_find(struct devices *d, const char *const *names, size_t count, const char *address, char *why,
                  size_t size)
{
    int found = 0;
    memset(d, 0, sizeof *d);
    d->list = ibv_get_device_list(&found);
    if (d->list == NULL || found == 0) {
        snprintf(why, size, "there is no RDMA device on this machine (ibv_devices lists none)");
        return false;
    }
    for (size_t i = 0; i < (count > 0 ? count : 1); i++) {
        struct ibv_device *device = in_list(d->list, count > 0 ? names[i] : NULL);
        if (device == NULL) {
            snprintf(why, size, "there is no RDMA device %s on this machine", names[i]);
            return false;
        }
        describe(&d->at[d->count++], device);
    }
    if (address != NULL) {
        struct sockaddr_in four = {.sin_family = AF_INET};
        struct sockaddr_in6 six = {.sin6_family = AF_INET6};
        if (inet_pton(AF_INET, address, &four.sin_addr) == 1) {
            take_address(&d->at[0], (const struct sockaddr *)(const void *)&four);
        } else if (inet_pton(AF_INET6, address, &six.sin6_addr) == 1) {
            take_address(&d->at[0], (const struct sockaddr *)(const void *)&six);
        } else {
            snprintf(why, size, "--address %s: no IPv4 or IPv6 address", address);
            return false;
        }
    }
    return true;
}

void devices_free(struct devices *d)
{
    for (size_t i = 0; i < d->count; i++)
        json_decref(d->at[i].pics);
    if (d->list != NULL)
        ibv_free_device_list(d->list);
    memset(d, 0, sizeof *d);
}

const struct device *devices_named(const struct devices *d, const char *name)
{
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->at[i].name, name) == 0)
            return &d->at[i];
    return NULL;
}

json_t *devices_names(const struct devices *d)
{
    json_t *names = json_array();
    for (size_t i = 0; i < d->count; i++)
        json_array_append_new(names, json_string(d->at[i].name));
    return names;
}

json_t *devices_addresses(const struct devices *d)
{
    json_t *addresses = json_array();
    for (size_t i = 0; i < d->count; i++)
        json_array_append_new(addresses, json_string(d->at[i].address));
    return addresses;
}
