/* See provider_wire.h. */
#include "provider_wire.h"

#include "live.h"
#include "provider_privileges.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { D_ID = 1, S_ID = 5, ID = 3, ADDRESS = 6 };
static const uint8_t fc_map[] = {0x0E, 0xFC, 0x00};

static struct live *live;
static bool down; /* it was said */

/* The interface, once its carrier is there: the kernel tells of a link that comes up with some delay. */
static struct live *open_with_link(const char *interface, char *why, size_t size)
{
    static const struct timespec pause = {.tv_nsec = 50000000};
    enum { TRIES = 100 };
    for (int i = 0;; i++) {
        struct live *opened = fcvi_live_open(interface, why, size);
        if (opened != NULL || strstr(why, LIVE_NO_LINK) == NULL || i == TRIES)
            return opened;
        nanosleep(&pause, NULL);
    }
}

bool wire_open(const char *spec, char *why, size_t size)
{
    static const char kind[] = "fcoe:";
    if (strncmp(spec, kind, strlen(kind)) != 0) {
        snprintf(why, size, "%s: use fcoe:IFACE", spec);
        return false;
    }
    live = open_with_link(spec + strlen(kind), why, size);
    if (live == NULL)
        return false;
    if (agent_drop_privileges())
        return true;
    snprintf(why, size, "cannot give up privileges: %s", strerror(errno));
    fcvi_live_close(live);
    live = NULL;
    return false;
}

int wire_fd(void)
{
    return live != NULL ? fcvi_live_fd(live) : -1;
}

static void complain(const char *words)
{
    if (!down)
        fprintf(stderr, "fcvi-agent: %s\n", words);
    down = true;
}

bool wire_receive(struct fcvi_input *frame)
{
    struct live_record r;
    char why[256];
    int status;
    if (live == NULL)
        return false;
    while ((status = fcvi_live_receive(live, &r, why, sizeof why)) == 1)
        if (r.record.kind == CAPTURE_FRAME && r.vlan == 0) {
            *frame = r.record.frame;
            return true;
        }
    if (status < 0)
        complain(why);
    return false;
}

static void mapped(const uint8_t *id, uint8_t *out)
{
    memcpy(out, fc_map, ID);
    memcpy(out + ID, id, ID);
}

void wire_send(const struct fcvi_input *frame)
{
    static const uint8_t nobody[ID] = {0};
    uint8_t to[ADDRESS], from[ADDRESS];
    char why[256];
    if (live == NULL)
        return;
    mapped(frame->bytes + D_ID, to);
    mapped(frame->bytes + S_ID, from);
    if (memcmp(frame->bytes + S_ID, nobody, ID) == 0) /* who asks for an N_Port_ID has none yet */
        memcpy(from, fcvi_live_address(live), ADDRESS);
    if (fcvi_live_send(live, to, from, frame, 0, why, sizeof why) == 0)
        down = false;
    else
        complain(why);
}
