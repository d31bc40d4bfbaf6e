/* Decode with every check, and CRC, against a memory copy of the same bytes: ratios of one run, alternating.
 * Prints one JSON object per row; medians of the rounds, with the fastest and slowest. */
#define _POSIX_C_SOURCE 200809L
#include <fcvi/codec.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FRAMES = 2000, ROUNDS = 31, LONGEST = 24 + 2112 };

static uint8_t frames[FRAMES][LONGEST], copy[LONGEST];
static volatile uint64_t sink;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void decode_all(size_t length)
{
    struct fcvi_finding list[8];
    for (int i = 0; i < FRAMES; i++) {
        struct fcvi_findings findings = {list, 8, 0, 0};
        struct fcvi_input in = {frames[i], length, FCVI_SOF_I3, FCVI_EOF_T, FCVI_CRC_OK};
        struct fcvi_frame frame;
        fcvi_decode(&in, &frame, &findings);
        sink += findings.count + frame.payload_length;
    }
}

static void view_all(size_t length)
{
    for (int i = 0; i < FRAMES; i++) {
        struct fcvi_input in = {frames[i], length, FCVI_SOF_I3, FCVI_EOF_T, FCVI_CRC_OK};
        struct fcvi_frame frame;
        fcvi_decode(&in, &frame, NULL);
        sink += frame.payload_length;
    }
}

static void crc_all(size_t length)
{
    for (int i = 0; i < FRAMES; i++)
        sink += fcvi_crc32(frames[i], length);
}

static void copy_all(size_t length)
{
    for (int i = 0; i < FRAMES; i++) {
        memcpy(copy, frames[i], length);
        sink += copy[length - 1];
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double once(void (*work)(size_t), size_t length)
{
    double start = seconds();
    work(length);
    return (seconds() - start) / FRAMES * 1e9;
}

static void row(const char *name, void (*work)(size_t), size_t length)
{
    double ours[ROUNDS], base[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        ours[i] = once(work, length);
        base[i] = once(copy_all, length);
    }
    qsort(ours, ROUNDS, sizeof *ours, compare);
    qsort(base, ROUNDS, sizeof *base, compare);
    printf("{\"name\":\"%s\",\"bytes\":%zu,\"ns\":%.1f,\"ns_fastest\":%.1f,\"ns_slowest\":%.1f,\"memcpy_ns\":"
           "%.1f,"
           "\"ratio\":%.2f}\n",
           name, length, ours[ROUNDS / 2], ours[0], ours[ROUNDS - 1], base[ROUNDS / 2],
           ours[ROUNDS / 2] / base[ROUNDS / 2]);
}

int main(void)
{
    static const uint8_t head[] = {0x01, 1, 2, 0, 0, 1, 1, 0, 0x58, 0x38, 0, 8, 7, 2, 0, 0, 0x12, 0x34, 0xff,
                                   0xff, 0, 0, 0, 0, 0, 0, 1, 0,    0,    0, 0, 0, 0, 0, 0, 1,    0,    0,
                                   0,    0, 0, 0, 0, 0, 0, 0, 0,    0,    0, 0, 0, 0, 0, 0, 8,    0x20};
    for (int i = 0; i < FRAMES; i++)
        memcpy(frames[i], head, sizeof head);
    row("decode and check", decode_all, LONGEST);
    row("view only", view_all, LONGEST);
    row("crc", crc_all, LONGEST);
    return 0;
}
