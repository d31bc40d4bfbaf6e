/* IP datagrams out of their fragments. Few are under way at once: where there is no room the one that was
 * begun longest ago is given up, so that nobody can make a capture that takes much memory. */
#include "fragments.h"

#include "ip.h"

#include <fcvi/access.h>
#include <stdlib.h>
#include <string.h>

enum {
    DATAGRAMS = 64,
    PIECES = 1400, /* of the longest datagram where a link takes 68 bytes, which every one does (RFC 791) */
    HEADER = 60
};

struct piece {
    uint32_t begin, end;
};

struct datagram {
    bool used;
    uint8_t protocol, address_size;
    uint8_t ends[2 * IP_ADDRESS];
    uint32_t id, network, records;
    uint32_t total; /* bytes of its data; 0: not known */
    uint64_t begun;
    uint32_t count, have;
    struct piece piece[PIECES];
    size_t header; /* of its first fragment */
    uint8_t first[HEADER];
    uint8_t *data; /* IP_LONGEST bytes */
};

struct fragments {
    uint64_t taken;
    uint8_t packet[HEADER + IP_LONGEST];
    struct datagram datagram[DATAGRAMS];
};

struct fragments *fcvi_fragments_open(void)
{
    return calloc(1, sizeof(struct fragments));
}

void fcvi_fragments_close(struct fragments *f)
{
    if (f == NULL)
        return;
    for (unsigned i = 0; i < DATAGRAMS; i++)
        free(f->datagram[i].data);
    free(f);
}

/* ---- which datagram ---- */

static bool is_of(const struct datagram *d, const struct ip_packet *p, uint32_t network)
{
    const size_t size = p->address_size;
    return d->used && d->id == p->id && d->address_size == size && d->network == network &&
           (size == IP_ADDRESS || d->protocol == p->protocol) && memcmp(d->ends, p->from, size) == 0 &&
           memcmp(d->ends + IP_ADDRESS, p->to, size) == 0;
}

static struct datagram *begin(struct fragments *f, const struct ip_packet *p, uint32_t network)
{
    struct datagram *d = &f->datagram[0];
    for (unsigned i = 0; i < DATAGRAMS && d->used; i++)
        if (!f->datagram[i].used || f->datagram[i].begun < d->begun)
            d = &f->datagram[i];
    uint8_t *data = d->data != NULL ? d->data : malloc(IP_LONGEST);
    if (data == NULL)
        return NULL;
    *d = (struct datagram){.used = true,
                           .protocol = p->protocol,
                           .address_size = p->address_size,
                           .id = p->id,
                           .network = network,
                           .begun = f->taken,
                           .data = data};
    memcpy(d->ends, p->from, p->address_size);
    memcpy(d->ends + IP_ADDRESS, p->to, p->address_size);
    return d;
}

static struct datagram *find(struct fragments *f, const struct ip_packet *p, uint32_t network)
{
    for (unsigned i = 0; i < DATAGRAMS; i++)
        if (is_of(&f->datagram[i], p, network))
            return &f->datagram[i];
    return begin(f, p, network);
}

/* ---- its pieces ---- */

/* A piece that came before, in a frame captured twice. */
static bool is_there(const struct datagram *d, uint32_t begin, uint32_t end)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (d->piece[i].begin == begin && d->piece[i].end == end)
            return true;
    return false;
}

static bool overlaps(const struct datagram *d, uint32_t begin, uint32_t end)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (begin < d->piece[i].end && d->piece[i].begin < end)
            return true;
    return false;
}

/* The last piece says how long the datagram is: nothing lies behind its end, and no other piece is the last.
 */
static bool is_beyond(const struct datagram *d, const struct ip_packet *p, uint32_t end)
{
    if (d->total != 0)
        return !p->more || end > d->total;
    for (uint32_t i = 0; i < d->count; i++)
        if (!p->more && d->piece[i].end > end)
            return true;
    return false;
}

/* False: the datagram can no more become whole. */
static bool add(struct datagram *d, const struct ip_packet *p, const uint8_t *bytes, size_t length)
{
    const uint32_t begin = p->offset, end = begin + (uint32_t)length;
    if (is_there(d, begin, end))
        return true;
    if (d->count == PIECES || end > IP_LONGEST || overlaps(d, begin, end) || is_beyond(d, p, end))
        return false;
    if (!p->more)
        d->total = end;
    d->piece[d->count++] = (struct piece){begin, end};
    d->have += (uint32_t)length;
    memcpy(d->data + begin, bytes, length);
    return true;
}

/* ---- the whole ---- */

static void whole(struct fragments *f, const struct datagram *d, struct capture_record *out)
{
    memcpy(f->packet, d->first, d->header);
    memcpy(f->packet + d->header, d->data, d->total);
    if (d->address_size == IP_ADDRESS) {
        fcvi_store(f->packet + 4, 2, d->total);
        f->packet[6] = d->protocol;
    } else {
        const size_t length = d->header + d->total;
        fcvi_store(f->packet + 2, 2, length < IP_LONGEST ? length : 0);
        fcvi_store(f->packet + 6, 2, 0);
    }
    out->frame = (struct fcvi_input){.bytes = f->packet, .length = d->header + d->total};
    out->whole = (uint32_t)out->frame.length;
    out->parts = d->records - 1;
}

bool fcvi_fragments_take(struct fragments *f, struct capture_record *record)
{
    enum { V6 = 40 };
    const struct fcvi_input *in = &record->frame;
    struct ip_packet p;
    f->taken++;
    if (!fcvi_ip_open(in->bytes, in->length, record->whole, &p) || in->length < p.total)
        return false;
    struct datagram *d = find(f, &p, record->network);
    if (d == NULL)
        return false;
    d->records += 1 + record->parts;
    if (p.offset == 0) { /* of IPv6 the extension headers before the fragments are left out */
        d->header = p.address_size == IP_ADDRESS ? V6 : p.header;
        d->protocol = p.protocol;
        memcpy(d->first, in->bytes, d->header);
    }
    if (!add(d, &p, in->bytes + p.header, in->length - p.header)) {
        d->used = false;
        return false;
    }
    if (d->total == 0 || d->have != d->total || d->header == 0)
        return false;
    whole(f, d, record);
    d->used = false;
    return true;
}
