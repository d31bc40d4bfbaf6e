/* What passes an Ethernet interface, written as pcapng: to a pipe, and to a ring of files. */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BUFFER = 32 << 20,
    LONGEST = 65535,
    WAIT_MS = 100,
    FILE_NAME = 4096,
    ASK_EVERY = 256,
    WHY = FILE_NAME + 256
};
enum { SECTION = 0x0A0D0D0A, INTERFACE = 1, PACKET = 6, ORDER = 0x1A2B3C4D, DROPCOUNT = 4 };

struct tap {
    pcap_t *pcap;
    char name[64];
    u_int dropped, told; /* by the kernel; of which the reader has been told */
    unsigned since;      /* packets since the kernel was asked */
    int sink, file;
    const struct tap_ring *ring; /* NULL: none */
    unsigned number;             /* of the file that is written */
    uint64_t written;
    char why[WHY];
    uint8_t block[LONGEST + 256];
};

static int complain(char *error, size_t size, const char *name, const char *words)
{
    snprintf(error, size, "%s: %s", name, words);
    return -1;
}

static int activate(struct tap *tap, char *error, size_t size)
{
    pcap_t *p = tap->pcap;
    if (pcap_set_snaplen(p, LONGEST) != 0 || pcap_set_promisc(p, 1) != 0 ||
        pcap_set_timeout(p, WAIT_MS) != 0 || pcap_set_immediate_mode(p, 1) != 0 ||
        pcap_set_buffer_size(p, BUFFER) != 0)
        return complain(error, size, tap->name, "libpcap refuses the settings");
    int status = pcap_activate(p);
    if (status == PCAP_ERROR_PERM_DENIED || status == PCAP_ERROR_PROMISC_PERM_DENIED)
        return complain(error, size, tap->name,
                        "not permitted: it needs CAP_NET_RAW (run as root, by sudo, or give it with setcap)");
    if (status == PCAP_ERROR_NO_SUCH_DEVICE)
        return complain(error, size, tap->name, "there is no such interface");
    if (status < 0)
        return complain(error, size, tap->name,
                        *pcap_geterr(p) != '\0' ? pcap_geterr(p) : pcap_statustostr(status));
    if (pcap_datalink(p) != DLT_EN10MB)
        return complain(error, size, tap->name, "this is no Ethernet interface");
    return 0;
}

struct tap *fcvi_tap_open(const char *interface, char *error, size_t size)
{
    char reason[PCAP_ERRBUF_SIZE];
    struct tap *tap = calloc(1, sizeof *tap);
    if (tap == NULL) {
        complain(error, size, interface, "out of memory");
        return NULL;
    }
    snprintf(tap->name, sizeof tap->name, "%s", interface);
    tap->file = -1;
    tap->pcap = pcap_create(interface, reason);
    if (tap->pcap == NULL)
        complain(error, size, interface, reason);
    if (tap->pcap != NULL && activate(tap, error, size) == 0)
        return tap;
    fcvi_tap_close(tap);
    return NULL;
}

/* Whole, or not at all: false with errno. */
static bool put(int fd, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        bytes += n;
        length -= (size_t)n;
    }
    return true;
}

/* A Section Header Block of unknown length, and an Interface Description Block of Ethernet whose times count
 * microseconds. */
static bool begin(int fd)
{
    const uint32_t blocks[] = {SECTION, 28,        ORDER, 1,          UINT32_MAX, UINT32_MAX,
                               28,      INTERFACE, 20,    DLT_EN10MB, LONGEST,    20};
    return put(fd, (const uint8_t *)blocks, sizeof blocks);
}

static void name_of(const struct tap *tap, unsigned number, char *name)
{
    snprintf(name, FILE_NAME, "%s/ring-%06u.pcapng", tap->ring->directory, number);
}

/* The next file of the ring, which takes the place of the oldest. */
static int turn(struct tap *tap)
{
    char name[FILE_NAME];
    if (tap->file >= 0)
        close(tap->file);
    tap->number++;
    tap->written = 0;
    name_of(tap, tap->number, name);
    tap->file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (tap->file < 0 || !begin(tap->file))
        return complain(tap->why, sizeof tap->why, name, strerror(errno));
    if (tap->number > tap->ring->files) {
        name_of(tap, tap->number - tap->ring->files, name);
        if (unlink(name) != 0 && errno != ENOENT)
            return complain(tap->why, sizeof tap->why, name, strerror(errno));
    }
    return 0;
}

static void number(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

/* How many packets were dropped. Asking costs more than a packet does, so that it is not done for each. */
static void ask(struct tap *tap)
{
    struct pcap_stat stat;
    tap->since = 0;
    if (pcap_stats(tap->pcap, &stat) == 0)
        tap->dropped = stat.ps_drop;
}

/* An Enhanced Packet Block; gives its length. */
static uint32_t packet(struct tap *tap, const struct pcap_pkthdr *header, const uint8_t *bytes)
{
    uint8_t *b = tap->block;
    const uint32_t padded = (header->caplen + 3) & ~3u;
    const uint64_t us = (uint64_t)header->ts.tv_sec * 1000000u + (uint64_t)header->ts.tv_usec;
    uint32_t length = 28 + padded;
    memcpy(b + 28, bytes, header->caplen);
    memset(b + 28 + header->caplen, 0, padded - header->caplen);
    if (++tap->since >= ASK_EVERY)
        ask(tap);
    if (tap->dropped != tap->told) {
        const uint16_t option[] = {DROPCOUNT, 8};
        memcpy(b + length, option, sizeof option);
        number(b + length + 4, tap->dropped - tap->told);
        memset(b + length + 8, 0, 8); /* the upper half of the number, and the end of the options */
        tap->told = tap->dropped;
        length += 16;
    }
    length += 4;
    const uint32_t fields[] = {PACKET,       length,         0,          (uint32_t)(us >> 32),
                               (uint32_t)us, header->caplen, header->len};
    memcpy(b, fields, sizeof fields);
    number(b + length - 4, length);
    return length;
}

int fcvi_tap_pump(struct tap *tap, int sink, const struct tap_ring *ring)
{
    struct pcap_pkthdr *header;
    const u_char *bytes;
    tap->ring = ring;
    if (ring != NULL && turn(tap) != 0)
        return -1;
    if (!begin(sink))
        return errno == EPIPE ? 0 : complain(tap->why, sizeof tap->why, tap->name, strerror(errno));
    for (;;) {
        int status = pcap_next_ex(tap->pcap, &header, &bytes);
        if (status < 0)
            return complain(tap->why, sizeof tap->why, tap->name, pcap_geterr(tap->pcap));
        if (status == 0)
            ask(tap);
        if (status == 0 || header->caplen > LONGEST)
            continue;
        const uint32_t length = packet(tap, header, bytes);
        if (ring != NULL) { /* first, so that it is there when a finding is made of it */
            if (tap->written >= ring->file_bytes && turn(tap) != 0)
                return -1;
            if (!put(tap->file, tap->block, length))
                return complain(tap->why, sizeof tap->why, ring->directory, strerror(errno));
            tap->written += length;
        }
        if (!put(sink, tap->block, length))
            return errno == EPIPE ? 0 : complain(tap->why, sizeof tap->why, tap->name, strerror(errno));
    }
}

const char *fcvi_tap_why(const struct tap *tap)
{
    return tap->why;
}

void fcvi_tap_close(struct tap *tap)
{
    if (tap->pcap != NULL)
        pcap_close(tap->pcap);
    if (tap->file >= 0)
        close(tap->file);
    free(tap);
}
