/* The table of Connections, and the frames that fill it. */
#include "flows.h"

#include <stdlib.h>
#include <string.h>

enum {
    RING = 16, /* Messages under way on one way at first, and at most */
    MOST = 4096,
    PAGE = 1024, /* Connections in one piece of memory: a pointer to one stays good */
    PAGES = 1 << 14
};

struct place {
    struct fcvi_flow_end end;
    uint32_t flow; /* flow + 1 and the side in the top bit; 0: free */
};

struct fcvi_flows {
    uint64_t seed;
    struct fcvi_flow *page[PAGES];
    uint32_t count;
    struct place *place;
    uint32_t places, used; /* places: a power of two */
    struct fcvi_flow_tally tally;
    bool sampling;
};

static const uint32_t SIDE = 0x80000000u;

struct fcvi_flows *fcvi_flows_open(uint64_t seed)
{
    struct fcvi_flows *f = calloc(1, sizeof *f);
    if (f == NULL)
        return NULL;
    f->seed = seed;
    f->places = 1024;
    f->place = calloc(f->places, sizeof *f->place);
    if (f->place == NULL) {
        free(f);
        return NULL;
    }
    return f;
}

struct fcvi_flow *fcvi_flows_at(struct fcvi_flows *flows, uint32_t flow)
{
    return &flows->page[flow / PAGE][flow % PAGE];
}

static const struct fcvi_flow *at(const struct fcvi_flows *flows, uint32_t flow)
{
    return &flows->page[flow / PAGE][flow % PAGE];
}

uint32_t fcvi_flows_count(const struct fcvi_flows *flows)
{
    return flows->count;
}

const struct fcvi_flow_tally *fcvi_flows_tally(const struct fcvi_flows *flows)
{
    return &flows->tally;
}

static bool is_open(const struct fcvi_flow_slot *s)
{
    return s->state == FCVI_FLOW_PART || s->state == FCVI_FLOW_SENT;
}

void fcvi_flows_end(struct fcvi_flows *flows, uint32_t flow)
{
    struct fcvi_flow *c = fcvi_flows_at(flows, flow);
    for (unsigned side = 0; side < 2; side++) {
        struct fcvi_flow_way *w = &c->way[side];
        for (uint32_t i = 0; i < w->size; i++)
            w->waited |= is_open(&w->ring[i]);
        w->over = true;
        free(w->ring);
        w->ring = NULL;
        w->size = 0;
    }
}

static void free_latencies(struct fcvi_flow_way *w)
{
    free(w->histogram);
    free(w->samples);
}

void fcvi_flows_sample(struct fcvi_flows *flows)
{
    flows->sampling = true;
}

void fcvi_flows_close(struct fcvi_flows *flows)
{
    for (uint32_t i = 0; i < flows->count; i++) {
        fcvi_flows_end(flows, i);
        for (unsigned side = 0; side < 2; side++)
            free_latencies(&fcvi_flows_at(flows, i)->way[side]);
    }
    for (uint32_t p = 0; p < PAGES && flows->page[p] != NULL; p++)
        free(flows->page[p]);
    free(flows->place);
    free(flows);
}

/* ---- where the Connection of a frame is ---- */

static uint32_t hash_of(uint64_t seed, const struct fcvi_flow_end *end)
{
    uint64_t h =
        (((uint64_t)end->port << 32 | end->handle) ^ seed) + (uint64_t)end->network * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
    return (uint32_t)h;
}

static struct place *place_of(const struct fcvi_flows *f, const struct fcvi_flow_end *end)
{
    for (uint32_t i = hash_of(f->seed, end);; i++) {
        struct place *p = &f->place[i & (f->places - 1)];
        if (p->flow == 0 ||
            (p->end.handle == end->handle && p->end.port == end->port && p->end.network == end->network))
            return p;
    }
}

static bool grow(struct fcvi_flows *f)
{
    struct place *old = f->place;
    const uint32_t size = f->places;
    struct place *wider = calloc((size_t)size * 2, sizeof *wider);
    if (wider == NULL)
        return false;
    f->place = wider;
    f->places = size * 2;
    for (uint32_t i = 0; i < size; i++)
        if (old[i].flow != 0)
            *place_of(f, &old[i].end) = old[i];
    free(old);
    return true;
}

void fcvi_flows_bind(struct fcvi_flows *f, uint32_t flow, unsigned side, uint32_t handle)
{
    struct fcvi_flow *c = fcvi_flows_at(f, flow);
    const struct fcvi_flow_end end = {c->network, c->id[side], handle};
    struct place *p = place_of(f, &end);
    if (p->flow == 0) {
        if (f->used * 2 >= f->places) {
            if (f->used + 1 >= f->places && !grow(f))
                return;
            if (f->used * 2 >= f->places)
                (void)grow(f);
            p = place_of(f, &end);
        }
        f->used++;
    }
    c->handle[side] = handle;
    *p = (struct place){end, (flow + 1) | (side != 0 ? SIDE : 0)};
}

uint32_t fcvi_flows_find(const struct fcvi_flows *flows, const struct fcvi_flow_end *end, uint8_t *side)
{
    const struct place *p = place_of(flows, end);
    *side = (p->flow & SIDE) != 0;
    return p->flow == 0 ? FCVI_FLOW_NONE : (p->flow & ~SIDE) - 1;
}

uint32_t fcvi_flows_add(struct fcvi_flows *flows, uint32_t network, uint32_t from, uint32_t to)
{
    const uint32_t page = flows->count / PAGE;
    if (page >= PAGES)
        return FCVI_FLOW_NONE;
    if (flows->page[page] == NULL) {
        flows->page[page] = calloc(PAGE, sizeof **flows->page);
        if (flows->page[page] == NULL)
            return FCVI_FLOW_NONE;
    }
    struct fcvi_flow *c = &flows->page[page][flows->count % PAGE];
    c->network = network;
    c->id[0] = from;
    c->id[1] = to;
    c->handle[0] = c->handle[1] = FCVI_UNASSIGNED;
    return flows->count++;
}

/* ---- Messages under way ---- */

static bool widen(struct fcvi_flow_way *w)
{
    const uint32_t size = w->size == 0 ? RING : w->size * 2;
    if (size > MOST)
        return false;
    struct fcvi_flow_slot *ring = calloc(size, sizeof *ring);
    if (ring == NULL)
        return false;
    for (uint32_t i = 0; i < w->size; i++)
        if (w->ring[i].state != FCVI_FLOW_FREE)
            ring[w->ring[i].id & (size - 1)] = w->ring[i];
    free(w->ring);
    w->ring = ring;
    w->size = size;
    return true;
}

/* The slot of a Message: it has the Message already, or may be taken. NULL without memory. */
static struct fcvi_flow_slot *slot_of(struct fcvi_flow_way *w, uint32_t id)
{
    if (w->size == 0 && !widen(w))
        return NULL;
    for (;;) {
        struct fcvi_flow_slot *s = &w->ring[id & (w->size - 1)];
        if (s->id == id || !is_open(s) || !widen(w))
            return s;
    }
}

static struct fcvi_flow_slot *known(const struct fcvi_flow_way *w, uint32_t id)
{
    if (w->size == 0)
        return NULL;
    struct fcvi_flow_slot *s = &w->ring[id & (w->size - 1)];
    return s->id == id && s->state != FCVI_FLOW_FREE ? s : NULL;
}

static unsigned step_of(uint64_t us)
{
    if (us < FCVI_FLOW_FINE)
        return (unsigned)us;
    const unsigned top = 63u - (unsigned)__builtin_clzll(us); /* at least 4 */
    const unsigned step = (top - 3) * FCVI_FLOW_FINE + (unsigned)(us >> (top - 4) & (FCVI_FLOW_FINE - 1));
    return step < FCVI_FLOW_STEPS ? step : FCVI_FLOW_STEPS - 1;
}

static uint64_t end_of_step(unsigned step)
{
    if (step < FCVI_FLOW_FINE)
        return step;
    const unsigned top = step / FCVI_FLOW_FINE + 3;
    return (((uint64_t)FCVI_FLOW_FINE + step % FCVI_FLOW_FINE + 1) << (top - 4)) - 1;
}

static void answered(struct fcvi_flow_way *w, struct fcvi_flow_slot *s, uint64_t time_us, uint64_t number)
{
    const uint64_t us = time_us > s->time_us ? time_us - s->time_us : 0;
    if (w->histogram == NULL)
        w->histogram = calloc(FCVI_FLOW_STEPS, sizeof *w->histogram);
    if (w->histogram != NULL)
        w->histogram[step_of(us)]++;
    if (w->latencies == 0 || us < w->fastest_us)
        w->fastest_us = us;
    w->latencies++;
    if (s->number > w->last_answered)
        w->last_answered = s->number;
    if (us >= w->slowest_us) {
        w->slowest_us = us;
        w->slowest_frame = number;
    }
    s->state = FCVI_FLOW_ANSWERED;
}

uint64_t fcvi_flows_quantile(const struct fcvi_flows *flows, uint32_t flow, unsigned side, double share)
{
    const struct fcvi_flow *c = at(flows, flow);
    uint64_t all = 0, slowest = 0, seen = 0;
    for (unsigned i = 0; i < 2; i++)
        if (side == 2 || side == i) {
            all += c->way[i].histogram != NULL ? c->way[i].latencies : 0;
            slowest = c->way[i].slowest_us > slowest ? c->way[i].slowest_us : slowest;
        }
    if (all == 0)
        return 0;
    for (unsigned step = 0; step < FCVI_FLOW_STEPS; step++) {
        for (unsigned i = 0; i < 2; i++)
            if ((side == 2 || side == i) && c->way[i].histogram != NULL)
                seen += c->way[i].histogram[step];
        if ((double)seen >= share * (double)all)
            return end_of_step(step) < slowest ? end_of_step(step) : slowest;
    }
    return slowest;
}

static int by_number(const void *a, const void *b)
{
    const struct fcvi_flow_slot *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

size_t fcvi_flows_unanswered(const struct fcvi_flows *flows, uint32_t flow, unsigned side,
                             struct fcvi_flow_slot out[FCVI_FLOW_UNANSWERED])
{
    const struct fcvi_flow_way *w = &at(flows, flow)->way[side];
    size_t count = 0, stored = 0;
    for (uint32_t i = 0; i < w->size; i++)
        if (is_open(&w->ring[i])) {
            if (stored < FCVI_FLOW_UNANSWERED)
                out[stored++] = w->ring[i];
            count++;
        }
    qsort(out, stored, sizeof *out, by_number);
    return count;
}

const struct fcvi_flow_slot *fcvi_flows_exchange(const struct fcvi_flows *flows, uint32_t flow, unsigned side,
                                                 uint32_t ox_id)
{
    const struct fcvi_flow_way *w = &at(flows, flow)->way[side];
    const struct fcvi_flow_slot *found = NULL;
    for (const struct fcvi_flow_slot *s = w->ring; s < w->ring + w->size; s++)
        if (s->state != FCVI_FLOW_FREE && s->ox_id == ox_id && (found == NULL || s->number > found->number))
            found = s;
    return found;
}

/* ---- one Message frame ---- */

struct message {
    const struct fcvi_frame *f;
    uint32_t id, offset;
    uint64_t time_us, number;
    bool sampled; /* its latency is kept, if it is a Response */
    bool rev1;
};

static void waits(struct fcvi_flow_way *w, struct fcvi_flow_slot *s, const struct message *m)
{
    if (m->time_us > s->last_us && m->time_us - s->last_us > w->stall_us) {
        w->stall_us = m->time_us - s->last_us;
        w->stall_frame = m->number;
    }
    s->last_us = m->time_us;
}

/* Bytes of a Message at a Relative Offset, where next is what should come. */
static void piece(struct fcvi_flow_way *w, struct fcvi_flow_slot *s, uint32_t *next, const struct message *m,
                  struct fcvi_flow_seen *seen)
{
    const uint32_t end = m->offset + m->f->payload_length;
    if (m->offset > *next) {
        seen->why |= FCVI_FLOW_GAP;
        seen->missing = m->offset - *next;
        s->hole_from = s->hole_to == 0 ? *next : s->hole_from;
        s->hole_to = m->offset;
        w->gaps++;
    } else if (m->offset < *next) {
        seen->why |= FCVI_FLOW_LATE;
        w->late++;
    }
    if (end > *next)
        *next = end;
}

/* Whether the Message is new: its FCVI_MSG_ID beside that which should follow. */
static void follows(struct fcvi_flow_way *w, const struct message *m, struct fcvi_flow_seen *seen)
{
    const uint32_t ahead = m->id - w->next_id;
    w->messages++;
    if (w->has_next && ahead != 0 && ahead < SIDE) {
        seen->why |= FCVI_FLOW_SKIP;
        seen->missing = ahead;
        w->gaps++;
    } else if (w->has_next && ahead != 0) {
        seen->why |= FCVI_FLOW_LATE_MSG;
        w->late++;
        return;
    }
    w->next_id = m->id + 1;
    w->has_next = true;
}

/* What lies before next and in no hole is there a second time: FC-VI sends nothing twice on one Exchange, yet
 * a capture holds every frame twice that was taken at two places. */
static bool was_there(const struct fcvi_flow_slot *s, const struct message *m, uint32_t next, uint32_t got)
{
    const uint32_t length = m->f->payload_length;
    if (length == 0 || m->offset >= next || length > next - m->offset)
        return false;
    return got >= next || m->offset >= s->hole_to || m->offset + length <= s->hole_from;
}

/* A Message from before the end of its Connection, which was forgotten then. A capture that holds each frame
 * twice has the second ones behind the end, and they prove nothing. */
static bool is_past(const struct fcvi_flow_way *w, uint32_t id)
{
    return w->over && w->has_next && id - w->next_id >= SIDE && known(w, id) == NULL;
}

/* All of the request was seen, which of one that is answered need not be so. */
static bool is_whole(const struct fcvi_flow_slot *s)
{
    return s->state != FCVI_FLOW_PART && s->got >= s->total;
}

/* A frame without payload says where it belongs only by a Relative Offset that is present (5.8.5), and is
 * late behind nothing. */
static bool has_place(const struct message *m, uint32_t next)
{
    return m->f->payload_length != 0 || (fcvi_FC_Relative_Offset_Present(m->f->fc) && m->offset > next);
}

static void note_place(struct fcvi_flow_slot *s, const struct fcvi_frame *f)
{
    s->seq_id = (uint8_t)fcvi_FC_SEQ_ID(f->fc);
    s->seq_cnt = (uint16_t)fcvi_FC_SEQ_CNT(f->fc);
}

/* An empty frame behind the others of its Message: its bytes do not tell whether it was there before, but its
 * place does. */
static bool goes_on(const struct fcvi_flow_slot *s, const struct fcvi_frame *f)
{
    return f->payload_length == 0 &&
           (s->seq_id != fcvi_FC_SEQ_ID(f->fc) || s->seq_cnt != fcvi_FC_SEQ_CNT(f->fc));
}

/* Rev 1.0 tells no length but of what is to be read (5.7.9): where a Message ends, F_CTL says. */
static uint32_t total_of(const struct message *m)
{
    if (m->f->iu == FCVI_IU_READ_RQST)
        return 0;
    return m->rev1 ? UINT32_MAX : (uint32_t)fcvi_DH_FCVI_TOT_LEN(m->f->dh);
}

static bool is_last_of_message(const struct fcvi_frame *f)
{
    return fcvi_FC_End_Sequence(f->fc) &&
           (fcvi_FC_Last_Sequence(f->fc) || fcvi_FC_Sequence_Initiative(f->fc));
}

/* A further IU of a Message of Rev 1.0, whose displacement may count from its own first byte (5.6.6). */
static bool begins_anew(const struct fcvi_flow_slot *s, const struct message *m)
{
    return m->rev1 && m->offset == 0 && s->next != 0 && s->state == FCVI_FLOW_PART &&
           s->seq_id != fcvi_FC_SEQ_ID(m->f->fc) && fcvi_FC_SEQ_CNT(m->f->fc) > s->seq_cnt;
}

static void request(struct fcvi_flow_way *w, const struct message *m, struct fcvi_flow_seen *seen)
{
    const struct fcvi_frame *f = m->f;
    if (is_past(w, m->id)) {
        seen->why |= FCVI_FLOW_AGAIN;
        w->again++;
        return;
    }
    struct fcvi_flow_slot *s = slot_of(w, m->id);
    if (s == NULL)
        return;
    const uint16_t ox_id = (uint16_t)fcvi_FC_OX_ID(f->fc);
    if (s->state == FCVI_FLOW_FREE || s->id != m->id) {
        const bool whole = m->offset == 0;
        follows(w, m, seen);
        *s = (struct fcvi_flow_slot){.id = m->id,
                                     .number = m->number,
                                     .ox_id = ox_id,
                                     .iu = f->iu,
                                     .state = FCVI_FLOW_PART,
                                     .last_us = m->time_us};
        s->total = total_of(m);
        if (f->iu == FCVI_IU_READ_RQST)
            s->answer_total = (uint32_t)fcvi_DH_FCVI_TOT_LEN(f->dh);
        if (!whole && w->messages == 1 && (seen->why & FCVI_FLOW_NEW) != 0)
            s->next = s->got = m->offset; /* the capture begins in the middle of it */
    } else if (s->ox_id == ox_id && begins_anew(s, m)) {
        s->next = s->got = s->hole_from = s->hole_to = 0;
        waits(w, s, m);
    } else if (s->ox_id == ox_id && (is_whole(s) || was_there(s, m, s->next, s->got)) &&
               (s->state == FCVI_FLOW_ANSWERED || !goes_on(s, f))) {
        seen->why |= FCVI_FLOW_AGAIN;
        w->again++;
        seen->earlier = s->number;
        return;
    } else {
        waits(w, s, m);
    }
    s->time_us = m->time_us;
    note_place(s, f);
    if (has_place(m, s->next))
        piece(w, s, &s->next, m, seen);
    s->got += f->payload_length;
    if (m->rev1 && s->total == UINT32_MAX && is_last_of_message(f))
        s->total = s->next;
    seen->earlier = s->number;
    if (fcvi_FC_Last_Sequence(f->fc) && f->iu != FCVI_IU_READ_RQST)
        s->ends =
            true; /* who wants a Response passes Sequence Initiative, who wants none ends the Exchange */
    if (s->got >= s->total && s->state != FCVI_FLOW_ANSWERED)
        s->state = s->ends ? FCVI_FLOW_ANSWERED : FCVI_FLOW_SENT;
}

enum { TABLE_6 = 0x0F };

static void response(struct fcvi_flow_way *mine, struct fcvi_flow_way *asked, const struct message *m,
                     struct fcvi_flow_seen *seen)
{
    const struct fcvi_frame *f = m->f;
    struct fcvi_flow_slot *s = known(asked, m->id);
    if ((f->dh[5] & TABLE_6) != 0)
        seen->why |= FCVI_FLOW_FAILED;
    if (s == NULL && !asked->waited && is_past(asked, m->id)) {
        seen->why = (seen->why | FCVI_FLOW_AGAIN) & ~(uint32_t)FCVI_FLOW_FAILED;
        mine->again++;
        return;
    }
    if (s == NULL) {
        seen->why |= FCVI_FLOW_UNASKED;
        mine->responses += m->offset == 0;
        return;
    }
    seen->earlier = s->number;
    if (is_open(s)) {
        if (m->sampled && m->time_us >= s->time_us)
            fcvi_flow_sample_add(&asked->samples, m->time_us, m->time_us - s->time_us);
        answered(asked, s, m->time_us, m->number);
        mine->responses++;
        s->last_us = m->time_us;
    } else if (f->iu == FCVI_IU_READ_RESP &&
               (f->payload_length != 0 ? !was_there(s, m, s->answer_next, s->answer_got) : goes_on(s, f))) {
        waits(mine, s, m);
    } else {
        seen->why = (seen->why | FCVI_FLOW_AGAIN) & ~(uint32_t)FCVI_FLOW_FAILED;
        mine->again++;
        return;
    }
    note_place(s, f);
    if (f->iu == FCVI_IU_READ_RESP && has_place(m, s->answer_next)) {
        piece(mine, s, &s->answer_next, m, seen);
        s->answer_got += f->payload_length;
    }
}

/* A Response came to an endpoint whose own requests were not known to be of this Connection: the half that
 * has the request is looked for among Connections of the two ports whose FCVI_HANDLE of that side is not
 * known. */
static uint32_t half_of(struct fcvi_flows *f, const struct fcvi_frame *v, uint32_t network)
{
    const uint32_t asker = (uint32_t)fcvi_FC_D_ID(v->fc), other = (uint32_t)fcvi_FC_S_ID(v->fc);
    const uint32_t oldest = f->count > 4096 ? f->count - 4096 : 0;
    for (uint32_t i = f->count; i-- > oldest;) {
        const struct fcvi_flow *c = at(f, i);
        if (c->gone || c->network != network)
            continue;
        for (unsigned side = 0; side < 2; side++) {
            if (c->id[side] != asker || c->id[!side] != other || c->handle[side] != FCVI_UNASSIGNED)
                continue;
            const struct fcvi_flow_slot *s = known(&c->way[side], (uint32_t)fcvi_DH_FCVI_MSG_ID(v->dh));
            if (s != NULL && s->ox_id == fcvi_FC_OX_ID(v->fc))
                return i;
        }
    }
    return FCVI_FLOW_NONE;
}

/* The half that a Response belongs to takes over what was seen of the other half. */
static void merge(struct fcvi_flows *f, uint32_t into, uint32_t from, const struct fcvi_flow_end *asker,
                  struct fcvi_flow_seen *seen)
{
    struct fcvi_flow *c = fcvi_flows_at(f, into);
    const unsigned side = c->id[0] == asker->port && c->handle[0] == FCVI_UNASSIGNED ? 0 : 1;
    fcvi_flows_bind(f, into, side, asker->handle);
    if (from == FCVI_FLOW_NONE)
        return;
    struct fcvi_flow *gone = fcvi_flows_at(f, from);
    const unsigned theirs = gone->handle[0] == asker->handle ? 1 : 0; /* the side that sends to the handle */
    struct fcvi_flow_way *w = &c->way[!side];
    free(w->ring);
    free_latencies(w);
    *w = gone->way[theirs];
    gone->way[theirs] = (struct fcvi_flow_way){0};
    gone->gone = true;
    if (gone->first < c->first) {
        c->first = gone->first;
        c->first_us = gone->first_us;
    }
    seen->why |= FCVI_FLOW_MERGED;
    seen->other = from;
}

static bool is_half(const struct fcvi_flow *c)
{
    return c->handle[0] == FCVI_UNASSIGNED || c->handle[1] == FCVI_UNASSIGNED;
}

static void take_message(struct fcvi_flows *f, const struct flows_unit *u, struct fcvi_flow_seen *seen)
{
    const struct fcvi_frame *v = u->frame;
    const struct fcvi_flow_end end = {u->record->network, (uint32_t)fcvi_FC_D_ID(v->fc),
                                      (uint32_t)fcvi_DH_FCVI_HANDLE(v->dh)};
    const bool asks = v->iu <= FCVI_IU_READ_RQST;
    uint8_t to = 1;
    uint32_t flow = fcvi_flows_find(f, &end, &to);
    const struct fcvi_flow *old = flow == FCVI_FLOW_NONE ? NULL : at(f, flow);
    if (!asks && (old == NULL ||
                  (is_half(old) && known(&old->way[to], (uint32_t)fcvi_DH_FCVI_MSG_ID(v->dh)) == NULL))) {
        const uint32_t half = half_of(f, v, end.network);
        if (half != FCVI_FLOW_NONE && half != flow) {
            merge(f, half, flow, &end, seen);
            flow = fcvi_flows_find(f, &end, &to);
        }
    }
    if (flow == FCVI_FLOW_NONE) {
        flow = fcvi_flows_add(f, end.network, (uint32_t)fcvi_FC_S_ID(v->fc), end.port);
        if (flow == FCVI_FLOW_NONE)
            return;
        fcvi_flows_bind(f, flow, 1, end.handle);
        to = 1;
        seen->why |= FCVI_FLOW_NEW;
    }
    struct fcvi_flow *c = fcvi_flows_at(f, flow);
    const struct message m = {v,
                              (uint32_t)fcvi_DH_FCVI_MSG_ID(v->dh),
                              (uint32_t)fcvi_FC_Parameter(v->fc),
                              u->record->time_us,
                              u->number,
                              f->sampling,
                              u->rev1};
    struct fcvi_flow_way *mine = &c->way[!to];
    seen->flow = flow;
    seen->side = !to;
    if (c->first == 0) {
        c->first = m.number;
        c->first_us = m.time_us;
    }
    mine->last = m.number;
    mine->last_us = m.time_us;
    if (asks)
        request(mine, &m, seen);
    else
        response(mine, &c->way[to], &m, seen);
    if ((seen->why & FCVI_FLOW_AGAIN) == 0) {
        mine->failed += (seen->why & FCVI_FLOW_FAILED) != 0;
        mine->frames++;
        mine->bytes += v->payload_length;
    }
}

/* ---- any record ---- */

static uint32_t header_of(const struct fcvi_frame *v, bool rev1)
{
    if (rev1)
        return v->iu == FCVI_IU_WRITE_RQST || v->iu == FCVI_IU_READ_RQST ? 32 : 16;
    return v->iu == FCVI_IU_SEND_RESP || v->iu == FCVI_IU_WRITE_RESP ? 16 : 32;
}

/* A Device_Header of another size than Table 1 of its edition has is shown as it is. */
static bool is_message(const struct fcvi_frame *v, bool rev1)
{
    if (v->kind != FCVI_KIND_IU || v->iu >= FCVI_IU_CONNECT_RQST || v->dh == NULL)
        return false;
    return v->dh_length == header_of(v, rev1);
}

static bool is_ack(const struct fcvi_frame *v)
{
    if (v->kind != FCVI_KIND_LINK_CONTROL)
        return false;
    const unsigned r_ctl = (unsigned)fcvi_FC_R_CTL(v->fc);
    return (r_ctl == 0xC0 || r_ctl == 0xC1) && fcvi_FC_Abort_Sequence_Condition(v->fc) == 0;
}

static bool is_control(const struct fcvi_frame *v)
{
    switch (v->kind) {
    case FCVI_KIND_IU: /* an opcode that Table 1 does not have is shown too */
    case FCVI_KIND_BLS:
    case FCVI_KIND_ELS:
        return true;
    case FCVI_KIND_LINK_CONTROL:
        return !is_ack(v);
    default:
        return false;
    }
}

static void count(struct fcvi_flows *f, const struct fcvi_frame *v)
{
    f->tally.frames++;
    f->tally.fcvi += v->kind == FCVI_KIND_IU;
    f->tally.acks += is_ack(v);
    if (v->fc != NULL)
        f->tally.type[fcvi_FC_TYPE(v->fc)]++;
}

/* How much of a Message a cut frame carried is not known: what is there of it is taken to be in order. */
static void take_unmeasured(struct fcvi_flows *f, const struct flows_unit *u, struct fcvi_flow_seen *seen)
{
    struct fcvi_frame *v = u->frame;
    const uint32_t offset = (uint32_t)fcvi_FC_Parameter(v->fc), total = (uint32_t)fcvi_DH_FCVI_TOT_LEN(v->dh);
    const struct fcvi_flow_end end = {u->record->network, (uint32_t)fcvi_FC_D_ID(v->fc),
                                      (uint32_t)fcvi_DH_FCVI_HANDLE(v->dh)};
    uint8_t to = 1;
    const uint32_t flow = fcvi_flows_find(f, &end, &to);
    const bool asks = v->iu <= FCVI_IU_READ_RQST;
    if (flow != FCVI_FLOW_NONE) {
        struct fcvi_flow *c = fcvi_flows_at(f, flow);
        struct fcvi_flow_slot *s = known(&c->way[asks ? !to : to], (uint32_t)fcvi_DH_FCVI_MSG_ID(v->dh));
        if (s != NULL && asks && s->next < offset)
            s->next = s->got = offset;
        else if (s != NULL && !asks && s->answer_next < offset)
            s->answer_next = offset;
    }
    v->payload_length = asks && fcvi_FC_End_Sequence(v->fc) && total > offset ? total - offset : 0;
    take_message(f, u, seen);
}

/* A link service that is cut off says at least who sent it to whom, and which it is. */
static bool is_cut_service(const struct flows_unit *u)
{
    const struct fcvi_input *f = &u->record->frame;
    return u->record->kind == CAPTURE_CUT && u->extent == JUDGE_CUT_NOTHING && f->length >= 28 &&
           (f->bytes[0] == 0x22 || f->bytes[0] == 0x23) && f->bytes[8] == 0x01;
}

/* Whether the frame says anything of Connections. */
static bool count_record(struct fcvi_flows *f, const struct flows_unit *u)
{
    const struct capture_record *r = u->record;
    f->tally.records += (r->unusual & (CAPTURE_FURTHER | CAPTURE_LATE)) == 0;
    f->tally.gaps += (r->unusual & CAPTURE_GAP) != 0;
    f->tally.kind[r->kind % FCVI_FLOW_KINDS]++;
    const bool cut = r->kind == CAPTURE_CUT;
    if (r->kind > CAPTURE_CUT || (cut && u->extent == JUDGE_CUT_NOTHING))
        return false;
    f->tally.part += cut;
    count(f, u->frame);
    return !cut || u->extent != JUDGE_CUT_FOREIGN;
}

bool fcvi_flows_take(struct fcvi_flows *f, const struct flows_unit *u, struct fcvi_flow_seen *seen)
{
    const struct fcvi_frame *v = u->frame;
    *seen = (struct fcvi_flow_seen){0, FCVI_FLOW_NONE, FCVI_FLOW_NONE, 0, 0, 0};
    if (!count_record(f, u)) {
        seen->why |= u->record->kind == CAPTURE_FIP ? FCVI_FLOW_FIP : 0u;
        seen->why |= is_cut_service(u) ? FCVI_FLOW_CONTROL : 0u;
        return seen->why != 0;
    }
    seen->why |= u->found ? FCVI_FLOW_FOUND : 0u;
    seen->why |= u->rev1 ? FCVI_FLOW_REV1 : 0u;
    f->tally.rev1 += u->rev1;
    const bool alone = u->record->kind == CAPTURE_CUT && u->extent == JUDGE_CUT_ALONE;
    if (v->fc != NULL && u->damaged) {
        f->tally.damaged++;
        seen->why |= FCVI_FLOW_DAMAGED; /* nothing that it says is believed */
    } else if (v->fc != NULL && is_message(v, u->rev1)) {
        if (!alone)
            take_message(f, u, seen);
        else if (!u->rev1) /* where a Message of Rev 1.0 ends, its length says no more */
            take_unmeasured(f, u, seen);
    } else if (v->fc != NULL && is_control(v)) {
        seen->why |= FCVI_FLOW_CONTROL;
    }
    return (seen->why & ~(uint32_t)(FCVI_FLOW_AGAIN | FCVI_FLOW_REV1)) != 0;
}
