/* pcapng files: blocks of either byte order, with interfaces of several linktypes. */
#ifndef FCVI_PCAPNG_H
#define FCVI_PCAPNG_H

#include "classic.h"

enum { PCAPNG_INTERFACES = 256, PCAPNG_MAGIC = 0x0A0D0D0A };

struct pcapng_interface {
    uint32_t linktype, snaplen;
    uint64_t per_second; /* units of its times */
    int64_t offset;      /* seconds */
};
struct pcapng {
    struct source *source;
    bool swapped;
    uint32_t interfaces;
    struct pcapng_interface list[PCAPNG_INTERFACES];
};

struct pcapng_record {
    struct classic_record record;
    uint32_t linktype;
    bool gap; /* the file says that records are missing before this one */
};
/** As fcvi_classic_next; the first call expects the file to begin with a Section Header Block. */
int fcvi_pcapng_next(struct pcapng *ng, struct pcapng_record *out, char *error, size_t size);

#endif
