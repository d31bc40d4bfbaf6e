/* What has come of a Message when frames overtake each other: runs of bytes, in order, with the gaps between
 * them. Relative Offset never repeats in an Exchange, so it tells every frame from every other (5.2.1). */
#include "message.h"

static void free_run(struct fcvi_port *p, uint32_t i)
{
    run_at(p, i)->next = p->free_run;
    p->free_run = i;
}

/* Note bytes [start, end). False when some of them were there already, or no run is free: then the frame
 * counts as one that never came. */
bool fcvi_message_run_add(struct fcvi_port *p, struct message *m, uint32_t start, uint32_t end)
{
    FCVI_ASSERT(start <= end && end <= m->total);
    uint32_t *link = &m->runs, before = NONE;
    while (*link != NONE && run_at(p, *link)->end <= start) {
        before = *link;
        link = &run_at(p, *link)->next;
    }
    uint32_t after = *link;
    if (after != NONE && run_at(p, after)->start < end)
        return false;
    bool joins_before = before != NONE && run_at(p, before)->end == start;
    bool joins_after = after != NONE && run_at(p, after)->start == end;
    if (joins_before && joins_after) {
        run_at(p, before)->end = run_at(p, after)->end;
        run_at(p, before)->next = run_at(p, after)->next;
        free_run(p, after);
    } else if (joins_before) {
        run_at(p, before)->end = end;
    } else if (joins_after) {
        run_at(p, after)->start = start;
    } else {
        uint32_t i = p->free_run;
        if (i == NONE)
            return false;
        p->free_run = run_at(p, i)->next;
        *run_at(p, i) = (struct run){start, end, after, p->now};
        *link = i;
    }
    return true;
}

/* The last frame has come, and all bytes before it. */
bool fcvi_message_run_whole(struct fcvi_port *p, const struct message *m)
{
    if (!m->ended || m->total == 0)
        return m->ended;
    const struct run *r = m->runs != NONE ? run_at(p, m->runs) : NULL;
    return r != NULL && r->start == 0 && r->end == m->total;
}

/* Since when bytes before others that have come are missing (rule 6e); FCVI_NEVER when none are. */
uint64_t fcvi_message_run_gap(struct fcvi_port *p, const struct message *m)
{
    uint64_t since = FCVI_NEVER;
    for (uint32_t i = m->runs; i != NONE; i = run_at(p, i)->next)
        if (run_at(p, i)->start != 0 && run_at(p, i)->since < since)
            since = run_at(p, i)->since;
    return since;
}

void fcvi_message_run_drop(struct fcvi_port *p, struct message *m)
{
    while (m->runs != NONE) {
        uint32_t i = m->runs;
        m->runs = run_at(p, i)->next;
        free_run(p, i);
    }
}
