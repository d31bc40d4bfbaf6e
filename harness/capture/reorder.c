/* A heap of records by their time, and by their place in the file where times are equal. */
#include "reorder.h"
#include "ip.h"
#include "layers.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RECORDS = 1 << 18, MOST_BYTES = 1 << 28, FIRST = 64 };

struct kept {
    struct capture_record record;
    uint64_t place;
    uint8_t *bytes;
};

struct reorder {
    struct capture_order order;
    struct capture_shift *shift;
    struct kept *heap;
    size_t count, room, bytes;
    uint64_t place, newest_us;
    uint64_t *number; /* with renumber: in the file, of each that was taken */
    size_t numbers, number_room;
    uint8_t *given; /* of the record that was taken last */
};

struct reorder *fcvi_reorder_open(const struct capture_order *order)
{
    struct reorder *q = calloc(1, sizeof *q);
    if (q == NULL)
        return NULL;
    q->order = *order;
    q->shift = calloc(order->shifts + 1, sizeof *q->shift);
    if (q->shift == NULL) {
        free(q);
        return NULL;
    }
    if (order->shifts != 0)
        memcpy(q->shift, order->shift, order->shifts * sizeof *q->shift);
    return q;
}

void fcvi_reorder_close(struct reorder *q)
{
    if (q == NULL)
        return;
    for (size_t i = 0; i < q->count; i++)
        free(q->heap[i].bytes);
    free(q->given);
    free(q->heap);
    free(q->number);
    free(q->shift);
    free(q);
}

/* ---- the clock ---- */

enum { FIP_FRAME = 14, FIP_LINK_SERVICE = 2 };

/* Of FIP: the N_Port_ID that the Fabric made the address of (FC-BB), or that of the link service in it. */
static uint32_t sender_of_fip(const struct capture_record *r)
{
    if (r->source >> 24 == ENVELOPE_FC_MAP)
        return (uint32_t)(r->source & 0xFFFFFF);
    if (r->frame.length < FIP_FRAME + 24 || fcvi_load(r->frame.bytes + 2, 2) != FIP_LINK_SERVICE)
        return CAPTURE_ANYBODY;
    const uint32_t s_id = (uint32_t)fcvi_FC_S_ID(r->frame.bytes + FIP_FRAME);
    return s_id != 0 ? s_id : CAPTURE_ANYBODY;
}

/* A hash (FNV-1a), above all N_Port_IDs. */
uint32_t fcvi_capture_tcp_sender(const uint8_t *address, size_t length)
{
    uint32_t hash = 0x811C9DC5u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ address[i]) * 0x01000193u;
    return hash | 0x80000000u;
}

static uint32_t sender_of_tcp(const struct capture_record *r)
{
    struct ip_packet packet;
    if (!fcvi_ip_open(r->frame.bytes, r->frame.length, r->whole, &packet))
        return CAPTURE_ANYBODY;
    return fcvi_capture_tcp_sender(packet.from, packet.address_size);
}

static uint32_t sender_of(const struct capture_record *r)
{
    if (r->kind == CAPTURE_FIP)
        return sender_of_fip(r);
    if (r->kind == CAPTURE_FOREIGN && r->protocol == CAPTURE_TCP)
        return sender_of_tcp(r);
    return r->kind <= CAPTURE_CUT && r->frame.length >= 8 ? (uint32_t)fcvi_FC_S_ID(r->frame.bytes)
                                                          : CAPTURE_ANYBODY;
}

/* A file may give any time. */
static int64_t sum(int64_t a, int64_t b)
{
    int64_t both;
    return !__builtin_add_overflow(a, b, &both) ? both : b > 0 ? INT64_MAX : INT64_MIN;
}

static uint64_t corrected(const struct reorder *q, const struct capture_record *r)
{
    int64_t us = (int64_t)r->time_us;
    for (size_t i = 0; i < q->order.shifts; i++) {
        const struct capture_shift *s = &q->shift[i];
        if (r->number >= s->from && (s->s_id == CAPTURE_ANYBODY || s->s_id == sender_of(r)))
            us = sum(us, s->us);
    }
    return us > 0 ? (uint64_t)us : 0;
}

/* ---- the heap ---- */

static bool is_before(const struct kept *a, const struct kept *b)
{
    return a->record.time_us != b->record.time_us ? a->record.time_us < b->record.time_us
                                                  : a->place < b->place;
}

static void swap(struct kept *a, struct kept *b)
{
    const struct kept c = *a;
    *a = *b;
    *b = c;
}

static void rise(struct kept *heap, size_t at)
{
    for (; at != 0 && is_before(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&heap[at], &heap[(at - 1) / 2]);
}

static void sink(struct kept *heap, size_t count)
{
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            least = is_before(&heap[child], &heap[least]) ? child : least;
        if (least == at)
            return;
        swap(&heap[at], &heap[least]);
        at = least;
    }
}

static bool has_room(const struct reorder *q)
{
    return q->count < MOST_RECORDS && q->bytes < MOST_BYTES;
}

static bool widen(struct reorder *q)
{
    const size_t room = q->room == 0 ? FIRST : q->room * 2;
    struct kept *heap = realloc(q->heap, room * sizeof *heap);
    if (heap == NULL)
        return false;
    q->heap = heap;
    q->room = room;
    return true;
}

bool fcvi_reorder_put(struct reorder *q, const struct capture_record *record)
{
    if (q->count == q->room && !widen(q))
        return false;
    struct kept *k = &q->heap[q->count];
    *k = (struct kept){*record, q->place++, malloc(record->frame.length + 1)};
    if (k->bytes == NULL)
        return false;
    if (record->frame.length != 0)
        memcpy(k->bytes, record->frame.bytes, record->frame.length);
    k->record.frame.bytes = k->bytes;
    k->record.time_us = corrected(q, record);
    q->newest_us = k->record.time_us > q->newest_us ? k->record.time_us : q->newest_us;
    q->bytes += record->frame.length;
    q->count++;
    rise(q->heap, q->count - 1);
    return true;
}

/* ---- their numbers ---- */

const uint64_t *fcvi_reorder_numbers(const struct reorder *q, size_t *count)
{
    *count = q->numbers;
    return q->number;
}

/* Frames of one record keep one number. Without memory it is that in the file. */
static void renumber(struct reorder *q, struct capture_record *r)
{
    if (q->numbers != 0 && q->number[q->numbers - 1] == r->number) {
        r->number = q->numbers;
        return;
    }
    if (q->numbers == q->number_room) {
        const size_t room = q->number_room == 0 ? FIRST : q->number_room * 2;
        uint64_t *wider = realloc(q->number, room * sizeof *wider);
        if (wider == NULL)
            return;
        q->number = wider;
        q->number_room = room;
    }
    q->number[q->numbers++] = r->number;
    r->number = q->numbers;
}

bool fcvi_reorder_take(struct reorder *q, bool is_over, struct capture_record *out)
{
    if (q->count == 0)
        return false;
    const bool full = !has_room(q);
    if (!is_over && !full && q->newest_us - q->heap[0].record.time_us < q->order.window_us)
        return false;
    free(q->given);
    q->given = q->heap[0].bytes;
    *out = q->heap[0].record;
    q->bytes -= out->frame.length;
    q->heap[0] = q->heap[--q->count];
    sink(q->heap, q->count);
    if (q->order.renumber)
        renumber(q, out);
    return true;
}
