/* Exchanges: identifiers, the table of open ones, and their end (5.4, FC-FS). */
#include "../block/table.h"
#include "../block/timers.h"
#include "fc2.h"

static uint32_t hash_of(bool originator, uint32_t peer, uint16_t ox_id)
{
    return fcvi_table_hash((uint64_t)peer << 17 | (uint64_t)originator << 16 | ox_id, 1);
}

static struct exchange *record(struct fcvi_port *p, enum exchange_kind kind, uint32_t owner, uint32_t peer)
{
    uint32_t index = p->free_x_head;
    if (index == NONE)
        return NULL;
    struct exchange *x = exchange_at(p, index);
    FCVI_ASSERT(x->kind == X_FREE);
    p->free_x_head = x->next_free;
    if (p->free_x_head == NONE)
        p->free_x_tail = NONE;
    *x = (struct exchange){.kind = (uint8_t)kind, .owner = owner, .peer = peer, .rx_id = FC_X_ID_UNASSIGNED};
    p->used.exchanges++;
    return x;
}

/* ---- OX_IDs: one bit for each that is in use, and one for each full word of them ---- */

enum { WORDS = 1024 };

static uint64_t *id_word(struct fcvi_port *p, uint32_t word)
{
    return ARRAY(p, uint64_t, ox_bits, word);
}

static void id_mark(struct fcvi_port *p, uint16_t id, bool used)
{
    FCVI_ASSERT(used || id != FC_X_ID_UNASSIGNED);
    uint64_t *word = id_word(p, id / 64u), *full = id_word(p, WORDS + id / 4096u);
    uint64_t bit = 1ULL << id % 64, summary = 1ULL << id / 64 % 64;
    *word = used ? *word | bit : *word & ~bit;
    *full = *word == ~0ULL ? *full | summary : *full & ~summary;
}

/* The first clear bit of the map from `at` on, cyclically; there is one. `words` is a power of two. */
static uint32_t first_clear(const uint64_t *map, uint32_t words, uint32_t at)
{
    uint32_t word = at / 64;
    uint64_t bits = ~map[word] & (~0ULL << at % 64);
    while (bits == 0) {
        word = (word + 1) & (words - 1);
        bits = ~map[word];
    }
    return word * 64 + (uint32_t)__builtin_ctzll(bits);
}

/* The next one after the last, so that an identifier rests as long as can be. There are fewer records than
 * identifiers, so one is always free; FFFFh is marked for ever. */
static uint16_t new_ox_id(struct fcvi_port *p)
{
    uint16_t start = (uint16_t)(p->next_ox_id + 1);
    uint64_t rest = ~*id_word(p, start / 64u) & (~0ULL << start % 64);
    uint32_t word = start / 64u;
    if (rest == 0) {
        word = first_clear(id_word(p, WORDS), WORDS / 64, (word + 1) % WORDS);
        rest = ~*id_word(p, word);
    }
    p->next_ox_id = (uint16_t)(word * 64 + (uint32_t)__builtin_ctzll(rest));
    id_mark(p, p->next_ox_id, true);
    return p->next_ox_id;
}

void fcvi_fc2_exchange_ids_clear(struct fcvi_port *p)
{
    id_mark(p, FC_X_ID_UNASSIGNED, true);
}

/* For a Message of our own: some are left for those of the other side and for the management of connections
 * (4.1). */
bool fcvi_fc2_exchanges_left(const struct fcvi_port *p)
{
    return p->limits.exchanges - p->used.exchanges > (p->limits.exchanges + 12) / 16;
}

struct exchange *fcvi_fc2_exchange_open(struct fcvi_port *p, enum exchange_kind kind, uint32_t owner,
                                        uint32_t peer)
{
    struct exchange *x = record(p, kind, owner, peer);
    if (x == NULL)
        return NULL;
    x->originator = true;
    x->ox_id = new_ox_id(p);
    fcvi_table_add(p, &p->by_exchange, hash_of(true, peer, x->ox_id), exchange_index(p, x));
    return x;
}

/* The other side opened it with frame f. RX_IDs number the records: no two open Exchanges share one. */
struct exchange *fcvi_fc2_exchange_accept(struct fcvi_port *p, enum exchange_kind kind, uint32_t owner,
                                          const struct fcvi_frame *f)
{
    struct exchange *x = record(p, kind, owner, (uint32_t)fcvi_FC_S_ID(f->fc));
    if (x == NULL)
        return NULL;
    x->ox_id = (uint16_t)fcvi_FC_OX_ID(f->fc);
    x->rx_id = (uint16_t)((exchange_index(p, x) + p->rx_id_base) % 0xFFFF);
    fcvi_table_add(p, &p->by_exchange, hash_of(false, x->peer, x->ox_id), exchange_index(p, x));
    return x;
}

/* RX_ID for an Exchange that ends with the frame that answers. */
uint16_t fcvi_fc2_transient_rx_id(struct fcvi_port *p)
{
    uint32_t index = p->free_x_head != NONE ? p->free_x_head : 0xFFFE;
    return (uint16_t)((index + p->rx_id_base) % 0xFFFF);
}

/* Two remote ports may use the same numbers at once: the key has the S_ID in it (E47). Of two with one OX_ID
 * the later counts: the earlier one is over for its originator (5.4). */
static struct exchange *find(struct fcvi_port *p, bool originator, uint32_t peer, uint16_t ox_id)
{
    struct exchange *found = NULL;
    const struct table *t = &p->by_exchange;
    for (uint32_t i = fcvi_table_first(p, t, hash_of(originator, peer, ox_id)); i != NONE;
         i = fcvi_table_next(p, t, i)) {
        struct exchange *x = exchange_at(p, i);
        if (x->originator == originator && x->peer == peer && x->ox_id == ox_id)
            found = x;
    }
    return found;
}

struct exchange *fcvi_fc2_exchange_of(struct fcvi_port *p, const struct fcvi_frame *f)
{
    return find(p, fcvi_FC_Exchange_Context(f->fc), (uint32_t)fcvi_FC_S_ID(f->fc),
                (uint16_t)fcvi_FC_OX_ID(f->fc));
}

/* A connection may have had any number of Messages open: their ABTS leave room for other frames. */
enum { ROOM_FOR_OTHERS = 32 };

/* Queue the ABTS that found no room before. */
void fcvi_fc2_exchange_abts_due(struct fcvi_port *p)
{
    while (p->abts_due != NONE && p->used.frames + ROOM_FOR_OTHERS < p->control_count) {
        struct exchange *x = exchange_at(p, p->abts_due);
        p->abts_due = x->next_free;
        x->abts_due = false;
        fcvi_fc2_send_abts(p, x);
    }
}

static void abts_forget(struct fcvi_port *p, uint32_t index)
{
    uint32_t *link = &p->abts_due;
    while (*link != index)
        link = &exchange_at(p, *link)->next_free;
    *link = exchange_at(p, index)->next_free;
}

void fcvi_fc2_exchange_free(struct fcvi_port *p, uint32_t index)
{
    struct exchange *x = exchange_at(p, index);
    FCVI_ASSERT(x->kind != X_FREE && p->used.exchanges > 0);
    fcvi_timer_stop(p, TIMER_EXCHANGE, index);
    if (x->abts_due)
        abts_forget(p, index);
    fcvi_fc2_sequence_close(p, x); /* and whoever waits for an Exchange is woken */
    fcvi_table_remove(p, &p->by_exchange, hash_of(x->originator, x->peer, x->ox_id), index);
    if (x->originator)
        id_mark(p, x->ox_id, false);
    x->kind = X_FREE;
    x->next_free = NONE;
    if (p->free_x_tail != NONE)
        exchange_at(p, p->free_x_tail)->next_free = index;
    else
        p->free_x_head = index;
    p->free_x_tail = index;
    p->used.exchanges--;
}

/* ABTS; the record lives on until the answer has come. */
void fcvi_fc2_exchange_abort(struct fcvi_port *p, uint32_t index)
{
    struct exchange *x = exchange_at(p, index);
    FCVI_ASSERT(x->kind != X_FREE && !x->abts_due);
    x->kind = X_ABORTED;
    x->abts_due = true;
    x->next_free = p->abts_due;
    p->abts_due = index;
    fcvi_fc2_exchange_abts_due(p);
    fcvi_timer_start(p, TIMER_EXCHANGE, index, p->config.r_a_tov_us);
}

/* One that we aborted is answered or given up. Frames of it may be under way for R_A_TOV, so its OX_ID rests
 * (E82); that of the other side is for it to choose. */
void fcvi_fc2_exchange_late(struct fcvi_port *p, uint32_t index)
{
    struct exchange *x = exchange_at(p, index);
    FCVI_ASSERT(x->kind != X_FREE);
    fcvi_fc2_sequence_close(p, x);
    x->kind = X_LATE;
    fcvi_timer_start(p, TIMER_EXCHANGE, index, p->config.r_a_tov_us);
}

/* FC-FS: a range of SEQ_CNT in BA_ACC is a Recovery_Qualifier, which the sender of ABTS ends by RRQ, one
 * R_A_TOV later. The other side may have given its RX_ID only now. */
void fcvi_fc2_exchange_qualify(struct exchange *x, const struct fcvi_frame *ba_acc)
{
    const uint8_t *body = ba_acc->payload;
    if (ba_acc->payload_length < FCVI_BA_ACC_LENGTH)
        return;
    x->qualified = fcvi_BA_ACC_Low_SEQ_CNT(body) != fcvi_BA_ACC_High_SEQ_CNT(body);
    if (x->rx_id == FC_X_ID_UNASSIGNED)
        x->rx_id = (uint16_t)fcvi_BA_ACC_BA_RX_ID(body);
}

/* Within an Exchange SEQ_CNT of the other side goes on without a break. */
bool fcvi_fc2_count_ok(struct exchange *x, const struct fcvi_frame *f)
{
    uint16_t count = (uint16_t)fcvi_FC_SEQ_CNT(f->fc);
    /* E18: a responder may go on from our own count */
    bool starts = !x->rx_started && (count == 0 || (x->originator && count == x->tx_cnt));
    if (!starts && (!x->rx_started || count != x->rx_cnt))
        return false;
    x->rx_started = true;
    x->rx_cnt = (uint16_t)(count + 1);
    if (x->originator && x->rx_id == FC_X_ID_UNASSIGNED)
        x->rx_id = (uint16_t)fcvi_FC_RX_ID(f->fc);
    return true;
}

/* 8.5.2 a: within an Exchange SEQ_CNT and Relative Offset of the other side go on without a break. */
bool fcvi_fc2_sequence_ok(struct exchange *x, const struct fcvi_frame *f)
{
    if (!fcvi_fc2_count_ok(x, f))
        return false;
    if (f->payload_length > 0 && fcvi_FC_Relative_Offset_Present(f->fc)) {
        if (fcvi_FC_Parameter(f->fc) != x->rx_offset)
            return false;
        x->rx_offset += f->payload_length;
    }
    return true;
}
