/* The entry points that libFuzzer and AFL++ look for. This file alone keeps state: AFL++'s buffer and seed.
 */
#include "fcvi_mutator.h"

#include <stdlib.h>
#include <string.h>

#pragma weak fcvi_fuzz_format

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max_size, unsigned int seed);
void *afl_custom_init(void *afl, unsigned int seed);
size_t afl_custom_fuzz(void *mutator, uint8_t *data, size_t size, uint8_t **out, uint8_t *other,
                       size_t other_size, size_t max_size);
void afl_custom_deinit(void *mutator);

#pragma weak LLVMFuzzerMutate
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static struct fcvi_mutator_format from_environment(void)
{
    struct fcvi_mutator_format format = {0};
    const char *text = getenv("FCVI_MUTATOR");
    if (text == NULL)
        return format;
    const char *trailer = strstr(text, "trailer=");
    format.frames = strncmp(text, "frames", 6) == 0;
    format.pdus = strncmp(text, "pdus", 4) == 0;
    format.crc = strstr(text, "crc") != NULL;
    format.rev1 = strstr(text, "edition=rev1") != NULL;
    format.trailer = trailer != NULL ? (uint8_t)strtoul(trailer + 8, NULL, 10) : 0;
    return format;
}

static struct fcvi_mutator_format format_of_target(void)
{
    return &fcvi_fuzz_format != NULL ? fcvi_fuzz_format : from_environment();
}

/* ---- libFuzzer ---- */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    struct fcvi_mutator_format format = format_of_target();
    if (seed % 8 == 0 && LLVMFuzzerMutate != NULL) /* its own: dictionary, table of recent comparisons */
        return LLVMFuzzerMutate(data, size, max_size);
    return fcvi_mutate(data, size, max_size, seed, &format);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max_size, unsigned int seed)
{
    struct fcvi_mutator_format format = format_of_target();
    return fcvi_crossover(a, a_size, b, b_size, out, max_size, seed, &format);
}

/* ---- AFL++ ---- */

struct afl {
    uint64_t seed;
    struct fcvi_mutator_format format;
    size_t room;
    uint8_t *out;
};

void *afl_custom_init(void *afl, unsigned int seed)
{
    (void)afl;
    struct afl *m = calloc(1, sizeof *m);
    if (m != NULL)
        *m = (struct afl){.seed = seed, .format = from_environment()};
    return m;
}

static bool grow(struct afl *m, size_t room)
{
    if (m->room >= room)
        return true;
    uint8_t *out = realloc(m->out, room);
    if (out == NULL)
        return false;
    m->out = out;
    m->room = room;
    return true;
}

size_t afl_custom_fuzz(void *mutator, uint8_t *data, size_t size, uint8_t **out, uint8_t *other,
                       size_t other_size, size_t max_size)
{
    struct afl *m = mutator;
    size_t made = 0;
    m->seed++;
    *out = data;
    if (!grow(m, max_size))
        return 0; /* skip this one */
    if (other != NULL && m->seed % 4 == 0)
        made = fcvi_crossover(data, size, other, other_size, m->out, max_size, m->seed, &m->format);
    if (made == 0) {
        made = size < max_size ? size : max_size;
        memcpy(m->out, data, made);
    }
    *out = m->out;
    return fcvi_mutate(m->out, made, max_size, m->seed * 0x9E3779B97F4A7C15u, &m->format);
}

void afl_custom_deinit(void *mutator)
{
    struct afl *m = mutator;
    free(m->out);
    free(m);
}
