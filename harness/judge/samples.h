/* Latencies over time, in a room that does not grow: when it is full two neighbours become the longer one. */
#ifndef FCVI_JUDGE_SAMPLES_H
#define FCVI_JUDGE_SAMPLES_H

#include <stdint.h>

enum { FCVI_FLOW_SAMPLES = 128 };

/** The longest latency of some Messages one after the other, and when it was answered. */
struct fcvi_flow_sample {
    uint64_t time_us, latency_us;
};
struct fcvi_flow_samples {
    uint32_t count, each, last; /* each: latencies that one stands for; the last one: so many */
    struct fcvi_flow_sample list[FCVI_FLOW_SAMPLES];
};

/** Add one to *samples, which is NULL before the first. Without memory it is left out. */
void fcvi_flow_sample_add(struct fcvi_flow_samples **samples, uint64_t time_us, uint64_t latency_us);

#endif
