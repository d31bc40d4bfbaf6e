/* Any stream of frames through the monitor, with every trust and little room: findings are well formed,
 * name frames that were seen and say what stands where they point, and a monitor that was copied to another
 * place in between says the same. */
#include "oracle.h"
#include <fcvi_mutator.h>

#include <fcvi/monitor.h>

const struct fcvi_mutator_format fcvi_fuzz_format = {.frames = true};

enum { LONGEST = 1 << 16, FINDINGS = 8 };

/* What is said to be seen stands where the finding points. */
static void check_place(const struct fcvi_finding *f, const struct fcvi_input *in)
{
    if (f->size == 0) {
        DEMAND(strcmp(f->field, "SOF") == 0 && f->seen == in->sof);
        return;
    }
    if (strcmp(f->field, "Data_Field") == 0) {
        DEMAND(f->byte == 24 && f->seen == in->length - 24);
        return;
    }
    DEMAND(f->size <= 8 && (size_t)f->byte + f->size <= in->length);
    uint64_t there = 0;
    for (unsigned i = 0; i < f->size; i++)
        there = there << 8 | in->bytes[f->byte + i];
    there = there >> f->lo & (UINT64_MAX >> (63 - (f->hi - f->lo)));
    if (there != f->seen)
        fprintf(stderr, "%s: %s in byte %u is %llx, not %llx\n", f->requirement, f->field, f->byte,
                (unsigned long long)there, (unsigned long long)f->seen);
    DEMAND(there == f->seen);
}

static void check(const struct fcvi_monitor_findings *found, uint64_t number, const struct fcvi_input *in)
{
    for (size_t i = 0; i < found->count && i < FINDINGS; i++) {
        const struct fcvi_monitor_finding *f = &found->list[i];
        DEMAND(f->what.requirement != NULL && f->what.field != NULL && f->what.message != NULL);
        DEMAND(f->what.lo <= f->what.hi && f->frame == number && f->other < number);
        check_place(&f->what, in);
    }
}

/* Everything that the monitor says of the stream, as one number. */
static uint64_t follow(const uint8_t *data, size_t size, uint8_t trust, size_t move_after)
{
    static uint64_t memory[2][1 << 14];
    static const struct fcvi_monitor_limits limits = {8, 8, 8, 8, 8};
    struct fcvi_monitor_config config = {
        .limits = limits, .trust = trust, .r_a_tov_us = 1000000, .seed = trust};
    struct fcvi_monitor *m = fcvi_monitor_init(memory[0], sizeof memory[0], &config);
    DEMAND(m != NULL);
    uint64_t number = 0, time = 0, said = 14695981039346656037u;
    for (size_t at = 0; at + FCVI_RECORD_HEAD <= size;) {
        const uint8_t *record = data + at;
        size_t length = (size_t)record[0] << 8 | record[1];
        at += FCVI_RECORD_HEAD + length;
        if (at > size)
            break;
        if (number == move_after) {
            memcpy(memory[1], memory[0], sizeof memory[0]);
            memset(memory[0], 0xA5, sizeof memory[0]);
            m = (struct fcvi_monitor *)(void *)memory[1];
        }
        struct fcvi_monitor_finding list[FINDINGS];
        struct fcvi_monitor_findings found = {list, FINDINGS, 0};
        struct fcvi_findings codec = {NULL, 0, 0, 0};
        struct fcvi_input in = {record + FCVI_RECORD_HEAD, length, record[2], record[3], FCVI_CRC_OK};
        struct fcvi_frame view;
        fcvi_decode(&in, &view, &codec);
        time += 1000 * ((uint64_t)record[4] << 8 | record[5]);
        struct fcvi_monitor_frame shown = {&view, ++number, time, record[4] >> 7,
                                           codec.worst > 1 + FCVI_NOTICE};
        fcvi_monitor_frame(m, &shown, &found);
        check(&found, number, &in);
        for (size_t i = 0; i < found.count && i < FINDINGS; i++)
            said = (said ^ list[i].frame ^ (uintptr_t)list[i].what.requirement) * 1099511628211u;
        if (record[3] == 0xFF)
            fcvi_monitor_gap(m);
        if (record[3] == 0xFE)
            fcvi_monitor_forget(m);
    }
    return said;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t trusts[] = {0, FCVI_TRUST_ORDER,
                                     FCVI_TRUST_ALL | FCVI_TRUST_START | FCVI_TRUST_ORDER,
                                     FCVI_TRUST_ALL | FCVI_TRUST_START | FCVI_TRUST_ORDER | FCVI_TRUST_ONCE};
    if (size > LONGEST)
        return 0;
    for (size_t i = 0; i < sizeof trusts; i++)
        DEMAND(follow(data, size, trusts[i], SIZE_MAX) == follow(data, size, trusts[i], size % 7));
    return 0;
}
