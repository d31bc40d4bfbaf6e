/* What `fcvi lint` does with a capture, without Python: bench_lint FILE [view|decode|monitor]. Prints the
 * frames. */
#include "capture.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    char error[512];
    struct fcvi_finding list[16];
    struct fcvi_findings findings = {list, 16, 0, 0};
    struct fcvi_monitor_finding breach[16];
    struct fcvi_monitor_findings breaches = {breach, 16, 0};
    struct fcvi_monitor_config config = {
        .limits = {.exchanges = 16384, .endpoints = 8192, .setups = 4096, .sequences = 4096, .pairs = 4096}};
    struct capture_record record;
    struct fcvi_frame frame;
    struct capture_tally tally = {0};
    if (argc < 2)
        return 2;
    struct capture *c = capture_open(argv[1], error, sizeof error);
    size_t size = fcvi_monitor_size(&config.limits);
    struct fcvi_monitor *m = argc > 2 ? NULL : fcvi_monitor_init(malloc(size), size, &config);
    if (c == NULL) {
        fprintf(stderr, "bench_lint: %s\n", error);
        return 2;
    }
    uint64_t found = 0;
    int status;
    while ((status = capture_next_finding(c, &record, &frame, &findings, m, &breaches, &tally, error,
                                          sizeof error)) > 0)
        found += status == 1;
    printf("%llu %llu\n", (unsigned long long)tally.records, (unsigned long long)found);
    capture_close(c);
    return 0;
}
