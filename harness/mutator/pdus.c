/* The format "pdus": a stream of PDUs of VI/TCP, divided by Segment Length, each changed by the field table.
 */
#include "mutator_internal.h"

#include <fcvi/codes.h>
#include <fcvi/pdu.h>

enum { SEG = FCVI_SEG_LENGTH, CE = FCVI_CE_LENGTH, RDMA = FCVI_RDMA_LENGTH, MOST_PDUS = 64, MOST_STEPS = 6 };

/* Where PDUs begin in a stream, and behind them what is none. */
struct division {
    size_t at[MOST_PDUS + 1];
    size_t count;
};

static void divide(const uint8_t *bytes, size_t size, struct division *d)
{
    struct fcvi_pdu pdu;
    size_t at = 0;
    d->count = 0;
    while (d->count < MOST_PDUS && at < size &&
           fcvi_pdu_first(fcvi_profile_t0(), bytes + at, size - at, &pdu, NULL) == FCVI_STREAM_PDU) {
        d->at[d->count++] = at;
        at += pdu.length;
    }
    d->at[d->count] = at;
}

static void fill(uint8_t *bytes, size_t size, uint64_t *random)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)draw(random);
}

/* Open a gap of `more` bytes at `at`, or close one. False when there is no room. */
static bool widen(struct buffer *b, size_t at, size_t more)
{
    if (more > b->room - b->size)
        return false;
    memmove(b->bytes + at + more, b->bytes + at, b->size - at);
    b->size += more;
    return true;
}

static void cut(struct buffer *b, size_t at, size_t less)
{
    memmove(b->bytes + at, b->bytes + at + less, b->size - at - less);
    b->size -= less;
}

/* Numbers that fit together mostly: a peer that believes in the headers goes on. */
static void put_ce(uint8_t *ce, uint64_t *random)
{
    memset(ce, 0, CE);
    fcvi_set_CE_Calling_Attributes(ce, one_in(random, 8) ? draw(random) : below(random, 32));
    fcvi_set_CE_MTU_Size(ce, 1ULL << below(random, 20));
    fcvi_set_CE_Calling_RDMA_Read_Window(ce, below(random, 9));
    size_t length = one_in(random, 8) ? 12 + below(random, 8) : below(random, 4);
    fcvi_set_CE_Calling_Discriminator_Length(ce, length);
    fcvi_set_CE_Called_Discriminator_Length(ce, length);
    memset(ce + FCVI_CE_Calling_Discriminator_BYTE, 'a', length < 16 ? length : 16);
    memset(ce + FCVI_CE_Called_Discriminator_BYTE, 'b', length < 16 ? length : 16);
}

static void insert(struct buffer *b, size_t at, uint64_t *random)
{
    uint8_t type = (uint8_t)(one_in(random, 16) ? below(random, 32) : 1 + below(random, FCVI_PDU_COUNT));
    enum fcvi_pdu_type pdu = fcvi_pdu_of_type(fcvi_profile_t0(), type);
    size_t headers = fcvi_pdu_headers(pdu, UINT16_MAX);
    if (headers == SEG + CE && type >= FCVI_SEGMENT_TYPE_CONNECT_REJECT && one_in(random, 2))
        headers = SEG; /* V08 */
    size_t data = type == FCVI_SEGMENT_TYPE_READ_REQUEST || headers != SEG + RDMA ? 0 : below(random, 9);
    if (type == FCVI_SEGMENT_TYPE_SEND || one_in(random, 16))
        data = below(random, 33);
    if (!widen(b, at, headers + data))
        return;
    uint8_t *bytes = b->bytes + at;
    memset(bytes, 0, headers);
    fill(bytes + headers, data, random);
    fcvi_set_SEG_Version(bytes, 1);
    fcvi_set_SEG_Type(bytes, type);
    fcvi_set_SEG_End_of_Message(bytes, !one_in(random, 4));
    fcvi_set_SEG_Segment_Length(bytes, headers + data);
    fcvi_set_SEG_Message_Number(bytes, below(random, 8));
    fcvi_set_SEG_Message_ACK(bytes, below(random, 8));
    fcvi_set_SEG_Rx_Descriptors_Posted(bytes, below(random, 16));
    if (headers == SEG + CE)
        put_ce(bytes + SEG, random);
    if (headers == SEG + RDMA) {
        fcvi_set_RDMA_RDMA_Address(bytes + SEG, 0x1000 + below(random, 64));
        fcvi_set_RDMA_Registered_Memory_Handle(bytes + SEG, 1 + below(random, 3));
        fcvi_set_RDMA_RDMA_Length(bytes + SEG, data);
    }
}

/* Any field of the PDU that the bytes at `at` are, of `size` bytes. */
static void change_field(uint8_t *bytes, size_t size, uint64_t *random)
{
    size_t count;
    const struct fcvi_field *table = fcvi_field_table(&count);
    const struct fcvi_structure_info *info = fcvi_structure_table(&count);
    unsigned pdu = fcvi_pdu_of_type(fcvi_profile_t0(), fcvi_SEG_Type(bytes));
    size_t headers = fcvi_pdu_headers((enum fcvi_pdu_type)pdu, (uint16_t)size);
    bool second = headers != SEG && one_in(random, 2);
    unsigned s = !second ? FCVI_S_SEG : headers == SEG + CE ? FCVI_S_CE : FCVI_S_RDMA;
    size_t fields = 1;
    while (table[info[s].first + fields].structure == s)
        fields++;
    const struct fcvi_field *f = &table[info[s].first + below(random, fields)];
    uint8_t *container = bytes + (second ? SEG : 0) + f->byte;
    if (f->kind == FCVI_F_BLOB) {
        container[below(random, f->size)] = (uint8_t)draw(random);
        return;
    }
    uint64_t mask = FCVI_MASK(f->hi, f->lo), old = fcvi_load(container, f->size), value = 0;
    switch (below(random, 6)) {
    case 0:
        value = below(random, 3) - 1;
        break;
    case 1:
        value = (old >> f->lo) + below(random, 3) - 1;
        break;
    case 2:
        value = size - headers + below(random, 3) - 1;
        break;
    case 3:
        value = 1ULL << below(random, f->hi - f->lo + 1u);
        break;
    case 4:
        value = below(random, 34);
        break;
    default:
        value = draw(random);
        break;
    }
    fcvi_store(container, f->size, (old & ~mask) | (value << f->lo & mask));
}

/* Data grow or shrink, and Segment Length says so. */
static void change_data(struct buffer *b, size_t at, size_t size, uint64_t *random)
{
    size_t by = 1 + below(random, one_in(random, 4) ? 64 : 4);
    if (one_in(random, 2)) {
        if (size + by > UINT16_MAX || !widen(b, at + size, by))
            return;
        fill(b->bytes + at + size, by, random);
        size += by;
    } else {
        by = by < size - SEG ? by : size - SEG;
        cut(b, at + size - by, by);
        size -= by;
    }
    fcvi_set_SEG_Segment_Length(b->bytes + at, size);
}

static void copy_pdu(struct buffer *b, size_t from, size_t size, size_t to)
{
    if (!widen(b, to, size))
        return;
    memmove(b->bytes + to, b->bytes + from + (from >= to ? size : 0), size);
}

static void step(struct buffer *b, uint64_t *random)
{
    struct division d;
    divide(b->bytes, b->size, &d);
    size_t i = below(random, d.count + 1), at = d.at[i];
    if (i == d.count) { /* behind the last: what is no PDU is dropped mostly */
        if (!one_in(random, 8))
            b->size = at;
        insert(b, at, random);
        return;
    }
    size_t size = d.at[i + 1] - at;
    switch (below(random, 12)) {
    case 0:
        cut(b, at, size);
        break;
    case 1:
        insert(b, at, random);
        break;
    case 2:
        copy_pdu(b, at, size, d.at[below(random, d.count)]);
        break;
    case 3:
        b->bytes[below(random, b->size)] ^= (uint8_t)(1u << below(random, 8));
        break;
    case 4:
        b->size -= below(random, size);
        break;
    case 5:
    case 6:
        change_data(b, at, size, random);
        break;
    default:
        change_field(b->bytes + at, size, random);
        break;
    }
}

void fcvi_mutator_mutate_pdus(struct buffer *b, uint64_t *random)
{
    for (size_t steps = 1 + below(random, one_in(random, 4) ? MOST_STEPS : 2); steps > 0; steps--)
        step(b, random);
    if (b->size == 0)
        insert(b, 0, random);
    if (b->size == 0 && b->room > 0)
        b->bytes[b->size++] = 1;
}

void fcvi_mutator_cross_pdus(struct buffer *b, const uint8_t *from, size_t size, uint64_t *random)
{
    struct division mine, theirs;
    divide(b->bytes, b->size, &mine);
    divide(from, size, &theirs);
    for (size_t n = 1 + below(random, 3); n > 0 && theirs.count > 0; n--) {
        size_t i = below(random, theirs.count), length = theirs.at[i + 1] - theirs.at[i];
        size_t to = mine.at[below(random, mine.count + 1)];
        if (widen(b, to, length))
            memcpy(b->bytes + to, from + theirs.at[i], length);
        divide(b->bytes, b->size, &mine);
    }
}
