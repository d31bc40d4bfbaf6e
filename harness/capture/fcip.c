/* FCIP: each FC-2 frame comes behind an encapsulation header that says its length twice, the second time
 * inverted (RFC 3643 and 3821). One segment may hold several frames, and a frame may be cut by the borders of
 * segments. */
#include "fcip.h"

#include "layers.h"
#include "segments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 28, DELIMITER = 4, CRC = 4, SHORTEST = HEADER + 2 * DELIMITER + CRC + 24, ROOM = 4096 };
enum { SPECIAL = 0x01 /* of pFlags */, PROTOCOL_FCIP = 1, PROTOCOL_IFCP = 2 };

/* One direction of a connection. */
struct side {
    size_t have;
    uint32_t parts;   /* records that only held a part of the frame that is awaited, */
    uint32_t waiting; /* and those that wait for what comes before them */
    uint32_t link;
    bool lost; /* bytes are missing before what comes */
    uint8_t bytes[ROOM];
};

struct ready {
    size_t at; /* in the store */
    struct capture_record record;
};

struct fcip {
    struct segments library;
    const struct streams_calls *calls;
    struct streams *streams;
    struct side *sides[STREAMS_MOST];
    uint8_t *store;
    struct ready *ready;
    size_t stored, store_room, count, room, next;
    bool special, delivered, no_memory;
};

/* ---- frames of a direction ---- */

static bool fits_as(const uint8_t *h, uint8_t protocol)
{
    for (unsigned i = 0; i < 16; i += i == 0 ? 8 : 4) /* words 0, 2 and 3: two bytes, and the same inverted */
        if ((h[i] ^ h[i + 2]) != 0xFF || (h[i + 1] ^ h[i + 3]) != 0xFF)
            return false;
    return h[0] == protocol && h[1] == 1;
}

static bool fits(const uint8_t *h)
{
    return fits_as(h, PROTOCOL_FCIP) && memcmp(h, h + 4, 4) == 0; /* word 1 repeats word 0 */
}

static size_t length_of(const uint8_t *h)
{
    return (size_t)(fcvi_load(h + 12, 2) & 0x3FF) * 4;
}

/* A delimiter's code comes twice, and twice inverted; 0xFF when it does not. */
static uint8_t delimiter(const uint8_t *p)
{
    return p[0] == p[1] && (p[0] ^ p[2]) == 0xFF && p[2] == p[3] ? p[0] : 0xFF;
}

static struct capture_record *add(struct fcip *f, const uint8_t *bytes, size_t length)
{
    if (f->count == f->room) {
        size_t room = f->room == 0 ? 16 : f->room * 2;
        struct ready *more = realloc(f->ready, room * sizeof *more);
        f->no_memory |= more == NULL;
        if (more == NULL)
            return NULL;
        f->ready = more;
        f->room = room;
    }
    if (f->store_room - f->stored < length) {
        size_t room = (f->store_room + length) * 2;
        uint8_t *more = realloc(f->store, room);
        f->no_memory |= more == NULL;
        if (more == NULL)
            return NULL;
        f->store = more;
        f->store_room = room;
    }
    struct ready *r = &f->ready[f->count++];
    *r = (struct ready){.at = f->stored};
    memcpy(f->store + f->stored, bytes, length);
    f->stored += length;
    return &r->record;
}

/* have bytes of the length bytes of an encapsulated frame. */
static void emit(struct fcip *f, struct side *s, size_t have, size_t length)
{
    const uint8_t *b = s->bytes, *fc = b + HEADER + DELIMITER;
    size_t inside = length - HEADER - 2 * (size_t)DELIMITER - CRC;
    size_t there = have - HEADER - DELIMITER < inside ? have - HEADER - DELIMITER : inside;
    struct capture_record *r = add(f, fc, there);
    if (r == NULL)
        return;
    r->network = 1u << 30 | (s->link & 0x3FFFF) << 12;
    if (have == length) {
        fcvi_envelope_frame(r, fc, inside);
        r->frame.eof = delimiter(b + length - DELIMITER);
        r->frame.crc = (uint8_t)fcvi_envelope_crc(fc, inside);
    } else {
        fcvi_envelope_cut(r, fc, there, inside);
    }
    r->frame.sof = delimiter(b + HEADER);
    r->parts = s->parts;
    r->unusual = (uint8_t)((s->lost ? CAPTURE_GAP : 0) | (s->parts != 0 ? CAPTURE_PARTS : 0));
    s->parts = 0;
    s->lost = false;
}

static void drop(struct side *s, size_t count)
{
    s->have -= count;
    memmove(s->bytes, s->bytes + count, s->have);
}

/* Where no header stands the next one is looked for. */
static void resume(struct side *s)
{
    const uint8_t *found = memchr(s->bytes + 1, PROTOCOL_FCIP, s->have - 1);
    s->lost = true;
    drop(s, found != NULL ? (size_t)(found - s->bytes) : s->have);
}

static void take_frames(struct fcip *f, struct side *s)
{
    while (s->have >= HEADER) {
        size_t length = length_of(s->bytes);
        bool special = (s->bytes[8] & SPECIAL) != 0;
        if (!fits(s->bytes) || length < (special ? (size_t)HEADER : (size_t)SHORTEST)) {
            resume(s);
            continue;
        }
        if (s->have < length)
            return;
        if (special)
            f->special = true;
        else if (delimiter(s->bytes + HEADER) == 0xFF || delimiter(s->bytes + length - DELIMITER) == 0xFF) {
            resume(s);
            continue;
        } else
            emit(f, s, length, length);
        drop(s, length);
    }
}

static void on_data(void *context, uint32_t stream, const struct streams_piece *piece)
{
    const uint8_t *bytes = piece->bytes;
    size_t length = piece->length;
    struct fcip *f = context;
    struct side *s = f->sides[stream];
    if (s == NULL)
        return;
    s->link = piece->link;
    s->parts += s->waiting;
    s->waiting = 0;
    f->delivered = true;
    while (length > 0) {
        size_t step = ROOM - s->have < length ? ROOM - s->have : length;
        memcpy(s->bytes + s->have, bytes, step);
        s->have += step;
        bytes += step;
        length -= step;
        take_frames(f, s);
    }
}

/* Of the frame that does not go on its headers may be there. */
static void on_begin(void *context, uint32_t stream, int lost)
{
    struct fcip *f = context;
    if (f->sides[stream] == NULL)
        f->sides[stream] = calloc(1, sizeof *f->sides[stream]);
    struct side *s = f->sides[stream];
    f->no_memory |= s == NULL;
    if (s == NULL)
        return;
    if (s->have > HEADER + DELIMITER && fits(s->bytes) && (s->bytes[8] & SPECIAL) == 0 &&
        length_of(s->bytes) >= SHORTEST && delimiter(s->bytes + HEADER) != 0xFF)
        emit(f, s, s->have, length_of(s->bytes));
    s->have = 0;
    s->parts = 0;
    s->waiting = lost != 0 ? s->waiting : 0;
    s->lost = lost != 0;
}

/* ---- segments ---- */

static int failed(const struct fcip *f, int status, char *error, size_t size)
{
    if (status == 0 && !f->no_memory)
        return 0;
    snprintf(error, size, "out of memory for the TCP streams of FCIP");
    return -1;
}

static bool carries(const struct streams_segment *s, uint8_t protocol)
{
    return s->length >= HEADER && length_of(s->data) >= HEADER &&
           (protocol == PROTOCOL_FCIP ? fits(s->data) : fits_as(s->data, protocol));
}

void fcvi_fcip_recognise(struct fcip_ports *ports, struct capture_record *out)
{
    struct streams_segment s;
    if (!fcvi_segment_of(out->frame.bytes, out->frame.length, out->whole, &s))
        return;
    const bool up = s.from_port < s.to_port;
    const struct fcip_pair mine = {up ? s.from_port : s.to_port, up ? s.to_port : s.from_port,
                                   carries(&s, PROTOCOL_IFCP)};
    unsigned i = 0;
    while (i < ports->count && (ports->pair[i].low != mine.low || ports->pair[i].high != mine.high))
        i++;
    if (i == ports->count && (i == FCIP_PORTS || (!mine.ifcp && !carries(&s, PROTOCOL_FCIP))))
        return;
    if (i == ports->count)
        ports->pair[ports->count++] = mine;
    if (ports->pair[i].ifcp)
        out->protocol = (uint32_t)CAPTURE_FCIP << 16 | 3;
    else
        out->kind = CAPTURE_PART;
}

int fcvi_fcip_take(struct fcip *f, struct capture_record *out, char *error, size_t size)
{
    struct streams_segment segment;
    const size_t original = out->whole;
    const uint32_t fragments = (out->unusual & CAPTURE_PARTS) != 0 ? out->parts : 0;
    out->whole = 0;
    f->count = f->next = f->stored = 0;
    f->special = f->delivered = false;
    if (!fcvi_segment_of(out->frame.bytes, out->frame.length, original, &segment)) {
        out->kind = CAPTURE_FOREIGN;
        out->protocol = (uint32_t)CAPTURE_FCIP << 16 | 2;
        return 0;
    }
    segment.network = out->network;
    int status = f->calls->take(f->streams, &segment);
    if (failed(f, status, error, size) != 0)
        return -1;
    if (f->count != 0) {
        f->ready[0].record.parts += fragments;
        f->ready[0].record.unusual |= fragments != 0 ? CAPTURE_PARTS : 0;
        fcvi_fcip_next(f, out);
        return 0;
    }
    out->kind = CAPTURE_PART;
    if (segment.length + segment.missing == 0 || f->special) {
        out->kind = CAPTURE_FOREIGN;
        out->protocol = (uint32_t)CAPTURE_FCIP << 16 | (f->special ? 1 : 0);
    } else if (segment.stream < STREAMS_MOST && f->sides[segment.stream] != NULL) {
        struct side *s = f->sides[segment.stream];
        *(f->delivered ? &s->parts : &s->waiting) += 1 + fragments;
    }
    return 0;
}

bool fcvi_fcip_more(const struct fcip *f)
{
    return f->next < f->count;
}

void fcvi_fcip_next(struct fcip *f, struct capture_record *out)
{
    struct ready *r = &f->ready[f->next];
    uint64_t number = out->number, time_us = out->time_us;
    *out = r->record;
    out->number = number;
    out->time_us = time_us;
    out->frame.bytes = f->store + r->at;
    out->unusual |= f->next++ > 0 ? CAPTURE_FURTHER : 0;
    if (out->frame.length != 0)
        fcvi_envelope_tags(out);
}

int fcvi_fcip_flush(struct fcip *f, char *error, size_t size)
{
    f->count = f->next = f->stored = 0;
    int status = f->calls->flush(f->streams);
    return failed(f, status, error, size);
}

struct fcip *fcvi_fcip_open(char *error, size_t size)
{
    struct fcip *f = calloc(1, sizeof *f);
    if (f == NULL) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    struct streams_events events = {f, STREAMS_MOST, on_data, on_begin, NULL, NULL};
    f->calls = fcvi_segments_load(&f->library);
    if (f->calls == NULL)
        snprintf(error, size, "has FCIP; to read it install libtins4.0 (%s)", SEGMENTS_LIBRARY);
    else if ((f->streams = f->calls->open(&events)) == NULL)
        snprintf(error, size, "out of memory");
    else
        return f;
    fcvi_fcip_close(f);
    return NULL;
}

void fcvi_fcip_close(struct fcip *f)
{
    if (f == NULL)
        return;
    if (f->calls != NULL && f->streams != NULL)
        f->calls->close(f->streams);
    for (unsigned i = 0; i < STREAMS_MOST; i++)
        free(f->sides[i]);
    free(f->store);
    free(f->ready);
    fcvi_segments_unload(&f->library);
    free(f);
}
