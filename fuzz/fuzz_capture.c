/* Capture files, by way of libpcap: any bytes as pcap or pcapng. Each read ends, with a record, the end or
 * one line that says what is broken. */
#define _GNU_SOURCE
#include "judge.h"
#include "oracle.h"

#include <sys/mman.h>
#include <unistd.h>

enum { LONGEST = 1 << 16, FINDINGS = 8, ERROR = 256 };

const char fcvi_fuzz_allocates = 1;

static int in_memory(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("capture", 0);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], error[ERROR] = "";
    struct capture_record record;
    struct fcvi_frame frame;
    struct fcvi_finding list[FINDINGS];
    struct fcvi_findings findings = {list, FINDINGS, 0, 0};
    struct judge_tally tally = {0};
    if (size == 0 || size > LONGEST)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", in_memory(data, size));
    struct capture *capture = fcvi_capture_open(path, error, sizeof error);
    if (capture == NULL) {
        DEMAND(error[0] != '\0' && strchr(error, '\n') == NULL);
        return 0;
    }
    struct judge *judge = fcvi_judge_open(capture, 0);
    DEMAND(judge != NULL);
    int status = 1;
    for (uint64_t last = 0; status == 1; last = record.number) {
        status = fcvi_judge_next(judge, &record, &frame, &findings, NULL, NULL, &tally, error, sizeof error);
        DEMAND(status != 1 || record.number > last);
    }
    DEMAND(status == 0 || (error[0] != '\0' && strchr(error, '\n') == NULL));
    DEMAND(tally.frames + tally.skipped <= tally.records);
    fcvi_judge_close(judge);
    fcvi_capture_close(capture);
    return 0;
}
