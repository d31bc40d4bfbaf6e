/* See fcoe.h. */
#include "fcoe.h"

#include "live.h"
#include "opener.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { D_ID = 1, S_ID = 5, ID = 3, ADDRESS = 6 };
static const uint8_t fc_map[] = {0x0E, 0xFC, 0x00};

struct fcoe {
    struct live *live;
    int claim; /* nobody else of the network namespace has the interface; -1: none */
    bool down; /* it was said */
};

/* Two ports of one interface would have one name and one N_Port_ID. A socket of this name lives as long as
 * the process, and in its network namespace alone. */
static int claim(const char *interface)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int length = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "fcvi/fcoe/%s", interface);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&a,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* By this process, or by fcvi-open where the process has no capability. */
static struct live *open_interface(const char *interface, char *why, size_t size)
{
    struct live *opened = fcvi_live_open(interface, why, size);
    if (opened != NULL || strstr(why, LIVE_NOT_PERMITTED) == NULL)
        return opened;
    const int fd = opener_take(interface, why, size);
    return fd >= 0 ? fcvi_live_adopt(interface, fd, why, size) : NULL;
}

/* The interface, once its carrier is there: the kernel tells of a link that comes up with some delay. */
static struct live *open_with_link(const char *interface, char *why, size_t size)
{
    static const struct timespec pause = {.tv_nsec = 50000000};
    enum { TRIES = 100 };
    for (int i = 0;; i++) {
        struct live *opened = open_interface(interface, why, size);
        if (opened != NULL || strstr(why, LIVE_NO_LINK) == NULL || i == TRIES)
            return opened;
        nanosleep(&pause, NULL);
    }
}

struct fcoe *fcoe_open(const char *spec, char *why, size_t size)
{
    static const char kind[] = "fcoe:";
    enum { LONGEST = 64 };
    struct fcoe *f = calloc(1, sizeof *f);
    if (f == NULL || strncmp(spec, kind, strlen(kind)) != 0 || strlen(spec) > LONGEST) {
        snprintf(why, size, "%s: use fcoe:IFACE", spec);
        free(f);
        return NULL;
    }
    const char *interface = spec + strlen(kind);
    f->claim = claim(interface);
    if (f->claim < 0)
        snprintf(why, size, "%s: another NIC has this interface", spec);
    else if ((f->live = open_with_link(interface, why, size)) != NULL)
        return f;
    if (f->claim >= 0)
        close(f->claim);
    free(f);
    return NULL;
}

void fcoe_close(struct fcoe *f)
{
    fcvi_live_close(f->live);
    close(f->claim);
    free(f);
}

int fcoe_fd(const struct fcoe *f)
{
    return fcvi_live_fd(f->live);
}

const uint8_t *fcoe_address(const struct fcoe *f)
{
    return fcvi_live_address(f->live);
}

static void complain(struct fcoe *f, const char *words)
{
    if (!f->down)
        fprintf(stderr, "fcoe: %s\n", words);
    f->down = true;
}

bool fcoe_receive(struct fcoe *f, struct fcvi_input *frame)
{
    struct live_record r;
    int status;
    while ((status = fcvi_live_receive(f->live, &r)) == 1)
        if (r.record.kind == CAPTURE_FRAME && r.vlan == 0) {
            *frame = r.record.frame;
            return true;
        }
    if (status < 0)
        complain(f, fcvi_live_why(f->live));
    return false;
}

static void mapped(const uint8_t *id, uint8_t *out)
{
    memcpy(out, fc_map, ID);
    memcpy(out + ID, id, ID);
}

void fcoe_send(struct fcoe *f, const struct fcvi_input *frame)
{
    static const uint8_t nobody[ID] = {0};
    struct live_way way = {.vlan = 0};
    mapped(frame->bytes + D_ID, way.to);
    mapped(frame->bytes + S_ID, way.from);
    if (memcmp(frame->bytes + S_ID, nobody, ID) == 0) /* who asks for an N_Port_ID has none yet */
        memcpy(way.from, fcvi_live_address(f->live), ADDRESS);
    if (fcvi_live_send(f->live, &way, frame) == 0)
        f->down = false;
    else
        complain(f, fcvi_live_why(f->live));
}
