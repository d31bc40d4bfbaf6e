/* A frame under test: its bytes to change, its decoding and what was found. */
#ifndef FCVI_TESTS_UNDER_TEST_H
#define FCVI_TESTS_UNDER_TEST_H

#include "golden.h"

#include "quiet_check.h"

enum { MOST = 64 };

/* A frame under test, its findings, and a scratch copy to change. */
struct test {
    uint8_t bytes[GOLDEN_MAX];
    struct fcvi_input input;
    struct fcvi_frame frame;
    struct fcvi_finding list[MOST];
    struct fcvi_findings findings;
};

static inline void decode(struct test *t)
{
    t->findings = (struct fcvi_findings){t->list, MOST, 0, 0};
    fcvi_decode(&t->input, &t->frame, &t->findings);
}

static inline void load_hex(struct test *t, const char *hex, uint8_t sof, uint8_t eof)
{
    size_t length = from_hex(hex, t->bytes);
    t->input = (struct fcvi_input){t->bytes, length, sof, eof, FCVI_CRC_OK};
}

static inline const struct golden *named(const char *name)
{
    for (size_t i = 0; i < GOLDEN_COUNT; i++)
        if (strcmp(golden[i].name, name) == 0)
            return &golden[i];
    abort();
}

static inline void load(struct test *t, const char *name)
{
    const struct golden *g = named(name);
    load_hex(t, g->hex, g->sof, g->eof);
}

static inline const struct fcvi_finding *find(const struct test *t, const char *id)
{
    for (size_t i = 0; i < t->findings.count; i++)
        if (strcmp(t->list[i].requirement, id) == 0)
            return &t->list[i];
    return NULL;
}

static inline void exercise(struct test *t)
{
    struct fcvi_values values;
    uint8_t out[GOLDEN_MAX];
    char text[16384];
    decode(t);
    if (getenv("FCVI_QUICK") == NULL) {
        fcvi_print_json(&t->frame, text, sizeof text);
        fcvi_print_text(&t->frame, text, sizeof text);
    }
    fcvi_print_summary(&t->frame, text, sizeof text);
    if (fcvi_values_of(&t->frame, &values) != 0)
        return;
    ck_assert_uint_eq(fcvi_encode(&values, out, sizeof out), t->input.length);
    ck_assert_mem_eq(out, t->bytes, t->input.length); /* not only for what is free of violations */
}

#endif
