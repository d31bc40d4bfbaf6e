/* What the other end has not acknowledged yet. */
#include "connection.h"

void fcvi_vitcp_monitor_mark(struct vitcp_marks *marks, struct vitcp_mark mark, struct vitcp_mark *out)
{
    *out = (struct vitcp_mark){0};
    if (marks->count == VITCP_RING) {
        *out = marks->mark[marks->first];
        marks->first = (marks->first + 1) % VITCP_RING;
        marks->count--;
    }
    marks->mark[(marks->first + marks->count) % VITCP_RING] = mark;
    marks->count++;
}
