/* What `fcvi lint` does with a capture, without Python: bench_lint FILE decode|lint. Prints the frames.
 * decode: strict decoding and CRC, no monitor. */
#include "judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 512 };

/* As `fcvi lint` has them. */
static const struct fcvi_monitor_config config = {
    .limits = {.exchanges = 16384, .endpoints = 8192, .setups = 4096, .sequences = 4096, .pairs = 4096}};

static uint64_t pass(const char *path, void *memory, size_t size)
{
    char error[LINE] = "out of memory";
    struct judge_stream stream = {0};
    struct capture *c = fcvi_capture_open(path, error, sizeof error);
    if (memory != NULL) {
        stream.monitor = fcvi_monitor_init(memory, size, &config);
        stream.editions = fcvi_editions_open(EDITIONS_AUTO, 0);
    }
    struct judge *j = c != NULL ? fcvi_judge_open(c, &stream) : NULL;
    int status = j == NULL ? -1 : 1;
    while (status > 0)
        status = fcvi_judge_next(j, error, sizeof error);
    if (status < 0) {
        fprintf(stderr, "bench_lint: %s\n", error);
        exit(2);
    }
    const uint64_t records = fcvi_judge_tally(j)->records;
    fcvi_judge_close(j);
    fcvi_editions_close(stream.editions);
    fcvi_capture_close(c);
    return records;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: bench_lint FILE decode|lint\n");
        return 2;
    }
    size_t size = fcvi_monitor_size(&config.limits);
    void *memory = strcmp(argv[2], "lint") == 0 ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
    printf("%llu\n", (unsigned long long)pass(argv[1], memory, size));
    free(memory);
    return 0;
}
