/* Capture files: any bytes as pcap or pcapng. Each read ends, with a record, the end or one line that says
 * what is broken; every record is counted once. What ends with A1h to A5h comes through a socket, its first 1
 * to 5 bytes alone and all that follow, filled up with zeros, at once. What ends with B0h to BFh comes in
 * pieces too, however many, and is counted as the whole file is. */
#define _GNU_SOURCE
#include "judge.h"

#include "deliver.h"
#include "oracle.h"

enum { LONGEST = 1 << 20, ERROR = 256, PIECE = 1 << 17, EXCHANGES = 64, MOST = 4 << 20 };

const char fcvi_fuzz_allocates = 1;

/* On standard input: two messages, of which each read gives one. */
static void in_two(const uint8_t *data, size_t size, size_t first)
{
    static uint8_t rest[PIECE];
    int ends[2], room = 4 * PIECE;
    memset(rest, 0, sizeof rest);
    memcpy(rest, data + first, size - first);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0 ||
        setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room) != 0 ||
        send(ends[0], data, first, 0) != (ssize_t)first || send(ends[0], rest, PIECE, 0) != PIECE ||
        dup2(ends[1], STDIN_FILENO) < 0)
        abort();
    close(ends[0]);
    close(ends[1]);
}

static uint64_t counted(const struct judge_tally *t)
{
    uint64_t sum = t->judged.records + t->others.records;
    for (unsigned i = 0; i < JUDGE_REASONS; i++)
        sum += t->unjudged[i].records;
    for (unsigned i = 0; i < t->protocols; i++)
        sum += t->foreign[i].count.records;
    return sum;
}

static struct fcvi_monitor *monitor(void)
{
    static uint64_t memory[1 << 17];
    struct fcvi_monitor_config config = {.limits = {EXCHANGES, EXCHANGES, EXCHANGES, EXCHANGES, EXCHANGES}};
    struct fcvi_monitor *m = fcvi_monitor_init(memory, sizeof memory, &config);
    if (m == NULL)
        abort();
    return m;
}

static struct judge_tally judged(const char *path, int *end)
{
    char error[ERROR] = "";
    struct capture *capture = fcvi_capture_open(path, error, sizeof error);
    *end = -2;
    if (capture == NULL) {
        DEMAND(error[0] != '\0' && strchr(error, '\n') == NULL);
        return (struct judge_tally){0};
    }
    fcvi_capture_limit(capture, MOST);
    const struct judge_stream stream = {.monitor = monitor(), .connects = fcvi_connects_open()};
    struct judge *judge = fcvi_judge_open(capture, &stream);
    DEMAND(judge != NULL && stream.connects != NULL);
    uint64_t last = 0;
    while ((*end = fcvi_judge_next(judge, error, sizeof error)) > 0) {
        const uint64_t number = fcvi_judge_seen(judge)->record.number;
        DEMAND(*end != 1 || number >= last);
        last = *end == 1 ? number : last;
    }
    const struct judge_tally tally = *fcvi_judge_tally(judge);
    DEMAND(*end == 0 || (error[0] != '\0' && strchr(error, '\n') == NULL));
    DEMAND(counted(&tally) <= tally.records);
    fcvi_judge_close(judge);
    fcvi_connects_close(stream.connects);
    fcvi_capture_close(capture);
    return tally;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[DELIVER_NAME];
    int end, other;
    if (size == 0 || size > LONGEST)
        return 0;
    size_t first = data[size - 1] - 0xA0u;
    if (first >= 1 && first <= 5 && first < size && size - first <= PIECE) {
        in_two(data, size, first);
        (void)judged("-", &end);
        return 0;
    }
    deliver_file(data, size, path);
    struct judge_tally whole = judged(path, &end);
    if (data[size - 1] >> 4 != 0xB || size < 2)
        return 0;
    if (!deliver_pieces(data, size, data[size - 2], data[size - 1] & 0xF))
        return 0;
    struct judge_tally cut = judged("-", &other);
    DEMAND(other == end && memcmp(&cut, &whole, sizeof cut) == 0);
    return 0;
}
