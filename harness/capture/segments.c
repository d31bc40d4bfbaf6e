/* TCP segments out of IP packets, and the library that puts them in order. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): dladdr */
#include "segments.h"

#include "ip.h"

#include <dlfcn.h>
#include <fcvi/access.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TCP = 20 };

bool fcvi_segment_of(const uint8_t *ip, size_t length, size_t original, struct streams_segment *s)
{
    struct ip_packet packet;
    if (!fcvi_ip_open(ip, length, original, &packet) || packet.protocol != IP_TCP || packet.fragment ||
        length < packet.header + TCP)
        return false;
    const size_t header = packet.header;
    /* a length without room for TCP is left to the network adapter to fill in */
    const size_t total = packet.total < header + TCP ? original : packet.total;
    const uint8_t *tcp = ip + header;
    const size_t at = header + (size_t)(tcp[12] >> 4) * 4;
    if (at < header + TCP || at > total)
        return false;
    *s = (struct streams_segment){.from_port = (uint16_t)fcvi_load(tcp, 2),
                                  .to_port = (uint16_t)fcvi_load(tcp + 2, 2)};
    memcpy(s->from, packet.from, packet.address_size);
    memcpy(s->to, packet.to, packet.address_size);
    s->sequence = (uint32_t)fcvi_load(tcp + 4, 4);
    s->acknowledged = (uint32_t)fcvi_load(tcp + 8, 4);
    s->flags = tcp[13];
    s->window = (uint16_t)fcvi_load(tcp + 14, 2);
    size_t end = length < total ? length : total;
    s->data = ip + (at < end ? at : end);
    s->length = at < end ? end - at : 0;
    s->missing = total - at - s->length;
    return true;
}

/* ---- the library ---- */

static bool load_from(struct segments *f, const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s", directory, *directory != '\0' ? "/" : "", SEGMENTS_LIBRARY);
    f->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return f->library != NULL;
}

/* The directory of this code; false where nobody can say. The loader knows a program that a shell found by
 * its PATH by its bare name: it is looked up as the kernel has it, never in the working directory. */
static bool own_directory(char *at, size_t size)
{
    static const char here = 0;
    Dl_info info;
    ssize_t length = -1;
    if (dladdr(&here, &info) != 0 && info.dli_fname != NULL && strchr(info.dli_fname, '/') != NULL) {
        length = snprintf(at, size, "%s", info.dli_fname);
    } else if ((length = readlink("/proc/self/exe", at, size - 1)) > 0) {
        at[length] = '\0';
    }
    char *end = length > 0 && (size_t)length < size ? strrchr(at, '/') : NULL;
    if (end != NULL)
        *end = '\0';
    return end != NULL;
}

/* It lies beside the extension module, or in python/ of the build's directory. */
const struct streams_calls *fcvi_segments_load(struct segments *f)
{
    char at[4000], other[4060];
    if (!own_directory(at, sizeof at))
        return NULL;
    bool found = load_from(f, at);
    static const char *const places[] = {"python", "../python"};
    for (unsigned i = 0; i < 2 && !found; i++) {
        snprintf(other, sizeof other, "%s/%s", at, places[i]);
        found = load_from(f, other);
    }
    return found ? dlsym(f->library, "fcvi_streams_calls") : NULL;
}

void fcvi_segments_unload(struct segments *f)
{
    if (f->library != NULL)
        dlclose(f->library);
}
