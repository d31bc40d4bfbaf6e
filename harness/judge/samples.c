#include "samples.h"

#include <stdlib.h>

static struct fcvi_flow_sample longer(struct fcvi_flow_sample a, struct fcvi_flow_sample b)
{
    return a.latency_us >= b.latency_us ? a : b;
}

static void thin_out(struct fcvi_flow_samples *s)
{
    for (size_t i = 0; i < FCVI_FLOW_SAMPLES / 2; i++)
        s->list[i] = longer(s->list[2 * i], s->list[2 * i + 1]);
    s->count = FCVI_FLOW_SAMPLES / 2;
    s->each *= 2;
    s->last = s->each;
}

void fcvi_flow_sample_add(struct fcvi_flow_samples **samples, uint64_t time_us, uint64_t latency_us)
{
    const struct fcvi_flow_sample one = {time_us, latency_us};
    struct fcvi_flow_samples *s = *samples;
    if (s == NULL && (s = *samples = calloc(1, sizeof *s)) == NULL)
        return;
    if (s->each == 0)
        s->each = 1;
    if (s->count == FCVI_FLOW_SAMPLES && s->last == s->each)
        thin_out(s);
    if (s->count != 0 && s->last < s->each) {
        s->list[s->count - 1] = longer(s->list[s->count - 1], one);
        s->last++;
        return;
    }
    s->list[s->count++] = one;
    s->last = 1;
}
