/* What the targets demand, beyond that no sanitizer complains. A broken demand aborts. */
#ifndef FCVI_FUZZ_ORACLE_H
#define FCVI_FUZZ_ORACLE_H

#include <fcvi/port.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEMAND(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: broken demand: %s\n", __FILE__, __LINE__, #condition);                   \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* A frame that the reference port sends breaks no rule of the codec. */
static inline void demand_clean(const uint8_t *bytes, size_t n, const struct fcvi_transmitted *meta)
{
    struct fcvi_finding list[4];
    struct fcvi_findings findings = {list, 4, 0, 0};
    struct fcvi_frame frame;
    struct fcvi_input in = {bytes, n, meta->sof, meta->eof, FCVI_CRC_OK};
    fcvi_decode(&in, &frame, &findings);
    if (findings.worst > 1 + FCVI_NOTICE)
        fprintf(stderr, "%s: %s\n", list[0].requirement, list[0].message);
    DEMAND(findings.worst <= 1 + FCVI_NOTICE);
}

/* What a frame's values encode to is the frame, and its text is whole. */
static inline void demand_round_trip(const struct fcvi_frame *frame, uint8_t *out, size_t room)
{
    struct fcvi_values values;
    if (fcvi_values_of(frame, &values) != 0)
        return;
    DEMAND(fcvi_encode(&values, out, room) == frame->input.length);
    DEMAND(memcmp(out, frame->input.bytes, frame->input.length) == 0);
    DEMAND(fcvi_encode(&values, out, frame->input.length - 1) == 0);
}

/* Strict and lenient see the same frame. */
static inline void demand_same_view(const struct fcvi_frame *strict)
{
    struct fcvi_frame lenient;
    fcvi_decode(&strict->input, &lenient, NULL);
    DEMAND(lenient.kind == strict->kind && lenient.iu == strict->iu && lenient.fc == strict->fc &&
           lenient.dh == strict->dh && lenient.payload == strict->payload &&
           lenient.payload_length == strict->payload_length && lenient.fill == strict->fill);
}

/* Completions of one work queue come once each and in the order in which the Descriptors were posted: the
 * host numbers them by cookie. */
static inline void demand_next(uint64_t *next, uint64_t cookie)
{
    DEMAND(cookie >= *next);
    *next = cookie + 1;
}

/* All has timed out: no timer runs on, and no Exchange is left but those of setups that the application has
 * not answered. */
static inline void demand_quiet(const struct fcvi_port *port)
{
    struct fcvi_port_counts c;
    fcvi_port_count(port, &c);
    DEMAND(fcvi_port_deadline(port) == FCVI_NEVER);
    DEMAND(c.exchanges <= c.setups);
    DEMAND(c.held_frames == 0 && c.frames == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
