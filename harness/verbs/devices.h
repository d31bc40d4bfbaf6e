/* The devices that the agent serves: what they are called, the address of each, and what they have. */
#ifndef FCVI_VERBS_DEVICES_H
#define FCVI_VERBS_DEVICES_H

#include <infiniband/verbs.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

enum { DEVICES = 2, DEVICE_NAME = 64 };

struct device {
    char name[DEVICE_NAME];
    char address[INET6_ADDRSTRLEN]; /* "": none that librdmacm knows */
    struct sockaddr_storage at;     /* the same */
    struct ibv_device *device;      /* NULL: only the name is there */
    bool iwarp;
    json_t *pics;
};

struct devices {
    struct device at[DEVICES];
    size_t count;
    struct ibv_device **list;
    bool lossy; /* the link to the other end loses frames */
};

/** Finds those that are named, or the first of all. False with one line in why. */
bool devices_find(struct devices *d, const char *const *names, size_t count, const char *address, char *why,
                  size_t size);
void devices_free(struct devices *d);
/** The link between the ends loses, doubles, delays and damages frames: hello says so, and connections are
 * made for it. */
void devices_are_lossy(struct devices *d);
/** The device of this name among all of the machine; NULL: none. */
const struct device *devices_named(const struct devices *d, const char *name);
json_t *devices_names(const struct devices *d);
json_t *devices_addresses(const struct devices *d);

#endif
