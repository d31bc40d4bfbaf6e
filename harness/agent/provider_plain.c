/* Any libvipl: the NIC is there, and configured by the vendor's own means before `reset`. */
#include "provider.h"

#include <stdio.h>
#include <string.h>

bool provider_on(const char *spec, char *why, size_t size)
{
    (void)spec;
    snprintf(why, size, "a vendor's NIC has a wire of its own");
    return false;
}

void provider_turn(void) {}

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

const char *provider_pics(void)
{
    return "{}"; /* the lab declares them */
}
