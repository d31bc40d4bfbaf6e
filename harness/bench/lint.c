/* What `fcvi lint` does with a capture, without Python: bench_lint FILE decode|lint [PASSES|cold [FILE...]].
 * Prints the frames and the CPU time of one in ns, over all files and passes. decode: strict decoding and
 * CRC, no monitor. cold: before each file, apart from its time, the caches of the processor are filled with
 * other things. */
#include "judge.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE = 512, SWEPT = 1 << 28, CACHE_LINE = 64 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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

/* What was in the caches is there no more. */
static void sweep(void)
{
    static volatile uint8_t swept[SWEPT];
    for (size_t at = 0; at < SWEPT; at += CACHE_LINE)
        swept[at]++;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: bench_lint FILE decode|lint [PASSES|cold [FILE...]]\n");
        return 2;
    }
    size_t size = fcvi_monitor_size(&config.limits);
    void *memory = strcmp(argv[2], "lint") == 0 ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
    bool cold = argc > 3 && strcmp(argv[3], "cold") == 0;
    uint64_t frames = 0, passes = argc > 3 && !cold ? strtoull(argv[3], NULL, 10) : 1;
    if (cold && memory != NULL) /* what the kernel does for its pages is start-up */
        memset(memory, 0, size);
    double spent = 0;
    for (uint64_t i = 0; i < passes; i++)
        for (int file = 1; file < argc; file += file == 1 ? 3 : 1) {
            if (cold)
                sweep();
            double start = seconds();
            frames += pass(argv[file], memory, size);
            spent += seconds() - start;
        }
    printf("%llu %.2f\n", (unsigned long long)frames, spent * 1e9 / (double)frames);
    free(memory);
    return 0;
}
