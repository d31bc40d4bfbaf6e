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
static inline void demand_clean_edition(const struct fcvi_input *in, enum fcvi_edition edition,
                                        struct fcvi_frame *frame)
{
    struct fcvi_finding list[4];
    struct fcvi_findings findings = {list, 4, 0, 0};
    fcvi_decode_edition(in, edition, frame, &findings);
    if (findings.worst > 1 + FCVI_NOTICE)
        fprintf(stderr, "%s: %s\n", list[0].requirement, list[0].message);
    DEMAND(findings.worst <= 1 + FCVI_NOTICE);
}

static inline void demand_clean(const struct fcvi_input *in, struct fcvi_frame *frame)
{
    demand_clean_edition(in, FCVI_EDITION_2007, frame);
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

/* 8.2 and VI-ARCH 5: what an Endpoint's state may become. Only a Disconnect ends Error, and no setup begins
 * but from Idle. A Peer whose own request is being retried may yet accept the other's (5.3.4), which makes it
 * Pending Connect. */
static inline void demand_step(uint8_t *state, uint8_t next)
{
    enum { IDLE = 1, PENDING = 2, RETRY = 4, CONNECTED = 8, ERROR = 16 };
    static const uint8_t after[] = {[FCVI_STATE_IDLE] = PENDING,
                                    [FCVI_STATE_PENDING_CONNECT] = IDLE | RETRY | CONNECTED | ERROR,
                                    [FCVI_STATE_PENDING_CONNECT_RETRY] = PENDING | IDLE | CONNECTED | ERROR,
                                    [FCVI_STATE_CONNECTED] = IDLE | ERROR,
                                    [FCVI_STATE_ERROR] = IDLE};
    if (next > FCVI_STATE_ERROR || (after[*state] >> next & 1u) == 0)
        fprintf(stderr, "from %s to %s\n", fcvi_vi_state_name(*state), fcvi_vi_state_name(next));
    DEMAND(next <= FCVI_STATE_ERROR && (after[*state] >> next & 1u));
    *state = next;
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

/* Of a target whose code allocates memory (options.c). */
extern const char fcvi_fuzz_allocates;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
