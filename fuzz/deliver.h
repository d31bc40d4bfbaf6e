/* Bytes as files and streams have them: at once, or cut into pieces of which each read gives one. */
#ifndef FCVI_FUZZ_DELIVER_H
#define FCVI_FUZZ_DELIVER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DELIVER_NAME = 64, DELIVER_PIECES = 96, DELIVER_PIECE = 1 << 16, DELIVER_ROOM = 1 << 20 };

/** As a file; its name. */
static inline void deliver_file(const uint8_t *data, size_t size, char *name)
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("capture", 0);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(name, DELIVER_NAME, "/proc/self/fd/%d", fd);
}

static inline bool deliver_send(int to, const uint8_t *data, size_t size)
{
    return send(to, data, size, MSG_DONTWAIT) == (ssize_t)size;
}

/** On standard input, in pieces of 1 to 1 << scale bytes; the last may be longer. False: it is too much for
 * that.
 */
static inline bool deliver_pieces(const uint8_t *data, size_t size, uint32_t seed, unsigned scale)
{
    int ends[2], room = DELIVER_ROOM;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        abort();
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    bool sent = true;
    for (unsigned count = 1; size > 0 && sent; count++) {
        seed = seed * 1664525u + 1013904223u;
        size_t piece = 1 + (seed >> 8) % (1u << scale);
        if (count >= DELIVER_PIECES)
            piece = DELIVER_PIECE;
        piece = piece < size ? piece : size;
        sent = deliver_send(ends[0], data, piece);
        data += piece;
        size -= piece;
    }
    if (dup2(ends[1], STDIN_FILENO) < 0)
        abort();
    close(ends[0]);
    close(ends[1]);
    return sent;
}

#endif
