/* Capture files: any bytes as pcap or pcapng. Each read ends, with a record, the end or one line that says
 * what is broken; every record is counted once. What ends with A1h to A5h comes through a socket, its first 1
 * to 5 bytes alone and all that follow, filled up with zeros, at once. What ends with B0h to BFh comes in
 * pieces too, however many, and its records are those of the whole file: only of a file can be said, by a
 * second look at it, what the capture point made of a frame. What ends with C0h to CFh is read once more in
 * the order of its times, while Connections are followed: the same records come, in some order. */
#define _GNU_SOURCE
#include "editions.h"
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

/* However it was read: the same records, of which each is counted. */
static bool is_same(const struct judge_tally *a, const struct judge_tally *b)
{
    return a->records == b->records && a->frames == b->frames && a->fcvi == b->fcvi &&
           a->gaps.records == b->gaps.records && a->appended.records == b->appended.records &&
           a->fragments == b->fragments && counted(a) == counted(b);
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

static struct capture *opened(const char *path, const struct capture_order *order, char *error)
{
    struct capture *capture = fcvi_capture_open(path, error, ERROR);
    DEMAND(capture != NULL || (error[0] != '\0' && strchr(error, '\n') == NULL));
    if (capture == NULL)
        return NULL;
    fcvi_capture_limit(capture, MOST);
    DEMAND(order == NULL || fcvi_capture_reorder(capture, order) == 0);
    return capture;
}

static struct judge_tally judged(const char *path, const struct capture_order *order, int *end)
{
    char error[ERROR] = "";
    struct capture *capture = opened(path, order, error);
    *end = -2;
    if (capture == NULL)
        return (struct judge_tally){0};
    const struct judge_stream stream = {.monitor = monitor(),
                                        .editions = fcvi_editions_open(EDITIONS_AUTO, 1),
                                        .connects = fcvi_connects_open(),
                                        .flows = order != NULL ? fcvi_flows_open(1) : NULL};
    struct judge *judge = fcvi_judge_open(capture, &stream);
    DEMAND(judge != NULL && stream.connects != NULL && stream.editions != NULL);
    DEMAND(order == NULL || stream.flows != NULL);
    if (stream.flows != NULL)
        fcvi_flows_sample(stream.flows);
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
    fcvi_editions_close(stream.editions);
    if (stream.flows != NULL)
        fcvi_flows_close(stream.flows);
    fcvi_capture_close(capture);
    return tally;
}

/* One clock is put right from some record on, and the window is of any size: 1 us to 18 minutes. */
static void in_order(const char *path, const uint8_t *tail, const struct judge_tally *whole, int whole_end)
{
    const struct capture_shift shift = {CAPTURE_ANYBODY, tail[0] % 8, (int8_t)tail[0] * 1000};
    const struct capture_order order = {1ull << (tail[1] & 0xF) * 2, &shift, 1, true};
    int end;
    const struct judge_tally t = judged(path, &order, &end);
    DEMAND(end == whole_end && is_same(&t, whole));
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
        (void)judged("-", NULL, &end);
        return 0;
    }
    deliver_file(data, size, path);
    struct judge_tally whole = judged(path, NULL, &end);
    if (size >= 2 && data[size - 1] >> 4 == 0xC)
        in_order(path, data + size - 2, &whole, end);
    if (data[size - 1] >> 4 != 0xB || size < 2)
        return 0;
    if (!deliver_pieces(data, size, data[size - 2], data[size - 1] & 0xF))
        return 0;
    struct judge_tally cut = judged("-", NULL, &other);
    DEMAND(other == end && is_same(&cut, &whole));
    return 0;
}
