/* The ring of a packet socket (packet(7), PACKET_RX_RING of version 2). */
#include "adopted.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK = 1 << 16, BLOCKS = 128, SLOT = 1 << 12, SLOTS = BLOCK / SLOT * BLOCKS, VLAN = 0x0FFF };

struct adopted {
    int fd;
    uint8_t *ring;
    unsigned next;
    bool held; /* the slot before next is the caller's */
    uint64_t lost;
};

static bool is_bound(int fd, uint32_t index)
{
    struct sockaddr_ll where;
    socklen_t size = sizeof where;
    memset(&where, 0, sizeof where);
    if (getsockname(fd, (struct sockaddr *)&where, &size) != 0)
        return false;
    if (where.sll_family == AF_PACKET && (uint32_t)where.sll_ifindex == index)
        return true;
    errno = EBADF;
    return false;
}

static bool make_ring(struct adopted *a)
{
    const int version = TPACKET_V2;
    struct tpacket_req want = {
        .tp_block_size = BLOCK, .tp_block_nr = BLOCKS, .tp_frame_size = SLOT, .tp_frame_nr = SLOTS};
    if (setsockopt(a->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
        setsockopt(a->fd, SOL_PACKET, PACKET_RX_RING, &want, sizeof want) != 0)
        return false;
    void *ring = mmap(NULL, (size_t)BLOCK * BLOCKS, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
    if (ring == MAP_FAILED)
        return false;
    a->ring = ring;
    return true;
}

struct adopted *fcvi_adopted_open(int fd, uint32_t index)
{
    struct adopted *a = calloc(1, sizeof *a);
    if (a == NULL) {
        close(fd);
        return NULL;
    }
    a->fd = fd;
    if (is_bound(fd, index) && make_ring(a))
        return a;
    int reason = errno;
    fcvi_adopted_close(a);
    errno = reason;
    return NULL;
}

int fcvi_adopted_fd(const struct adopted *adopted)
{
    return adopted->fd;
}

static struct tpacket2_hdr *slot(const struct adopted *a, unsigned number)
{
    return (struct tpacket2_hdr *)(void *)(a->ring + (size_t)(number % SLOTS) * SLOT);
}

static void give_back(struct tpacket2_hdr *h)
{
    atomic_store_explicit((_Atomic(uint32_t) *)&h->tp_status, TP_STATUS_KERNEL, memory_order_release);
}

static bool is_outgoing(const struct tpacket2_hdr *h)
{
    struct sockaddr_ll from;
    memcpy(&from, (const uint8_t *)h + (size_t)TPACKET_ALIGN((int)sizeof *h), sizeof from);
    return from.sll_pkttype == PACKET_OUTGOING;
}

bool fcvi_adopted_next(struct adopted *a, struct adopted_frame *out)
{
    if (a->held)
        give_back(slot(a, a->next - 1));
    a->held = false;
    for (;;) {
        struct tpacket2_hdr *h = slot(a, a->next);
        uint32_t status = atomic_load_explicit((_Atomic(uint32_t) *)&h->tp_status, memory_order_acquire);
        if ((status & TP_STATUS_USER) == 0)
            return false;
        a->next++;
        if (is_outgoing(h) || h->tp_mac > SLOT || h->tp_snaplen > SLOT - (uint32_t)h->tp_mac) {
            give_back(h);
            continue;
        }
        a->held = true;
        out->bytes = (const uint8_t *)h + h->tp_mac;
        out->length = h->tp_snaplen;
        out->whole = h->tp_len;
        out->time_us = (uint64_t)h->tp_sec * 1000000u + h->tp_nsec / 1000u;
        out->vlan = (status & TP_STATUS_VLAN_VALID) != 0 ? (uint16_t)(h->tp_vlan_tci & VLAN) : 0;
        return true;
    }
}

int fcvi_adopted_send(struct adopted *adopted, const uint8_t *bytes, size_t length)
{
    return send(adopted->fd, bytes, length, MSG_DONTWAIT) == (ssize_t)length ? 0 : -1;
}

uint64_t fcvi_adopted_lost(struct adopted *adopted)
{
    struct tpacket_stats counts; /* since it was last asked */
    socklen_t size = sizeof counts;
    if (getsockopt(adopted->fd, SOL_PACKET, PACKET_STATISTICS, &counts, &size) == 0)
        adopted->lost += counts.tp_drops;
    return adopted->lost;
}

void fcvi_adopted_close(struct adopted *adopted)
{
    if (adopted == NULL)
        return;
    if (adopted->ring != NULL)
        munmap(adopted->ring, (size_t)BLOCK * BLOCKS);
    close(adopted->fd);
    free(adopted);
}
