/* A port that has no room for a further frame to send. */
#ifndef FCVI_TEST_FULL_H
#define FCVI_TEST_FULL_H

#include "bench.h"

static inline void hear_in_silence(struct bench *b, const char *hex)
{
    uint8_t bytes[FRAME];
    struct fcvi_input in = {bytes, from_hex(hex, bytes), FCVI_SOF_NONE, FCVI_EOF_NONE, FCVI_CRC_ABSENT};
    fcvi_port_receive(b->port, b->now, &in);
}

/* Replies that are never fetched, until there is no room for another. */
static inline void fill_up(struct bench *b)
{
    for (uint32_t before = UINT32_MAX; before != counts(b).frames;) {
        before = counts(b).frames;
        hear_in_silence(b, ELS_FROM("010100") "12000000 00010100 1234ffff");
    }
}

/* Everything that waits is fetched; what is no LS_ACC stays in b->frame. */
static inline void drain(struct bench *b)
{
    struct fcvi_transmitted meta;
    for (b->sent = 0; b->sent < SENT;) {
        size_t n = fcvi_port_transmit(b->port, b->now, b->frame[b->sent], FRAME, &meta);
        if (n == 0)
            return;
        b->length[b->sent] = n;
        b->sent += b->frame[b->sent][0] != 0x23;
    }
}

#endif
