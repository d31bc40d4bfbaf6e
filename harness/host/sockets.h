/* The wire of a NIC that is TCP: vitcp:ADDR:PORT. Kernel sockets carry the streams of a
 * port of VI/TCP: one that listens at ADDR and PORT, and one for each connection. Connections go out from
 * ADDR to the same PORT of other hosts, which is the port that VI/TCP keeps (2.2.2.2.1).
 *
 * Nothing here blocks. One thread at a time. */
#ifndef FCVI_HOST_SOCKETS_H
#define FCVI_HOST_SOCKETS_H

#include <fcvi/vitcp.h>

#include <stdbool.h>
#include <stddef.h>

enum { SOCKETS_STREAMS = 256 }; /* at once; no port may have more streams */

struct sockets;

/** Listen as spec says: vitcp:ADDR:PORT, an IPv6 address in brackets. NULL with one line in why. */
struct sockets *sockets_open(const char *spec, char *why, size_t size);
void sockets_close(struct sockets *s);
/** Readable when sockets_take has something to do. */
int sockets_fd(const struct sockets *s);
/** ADDR as VI has it: 16 bytes. */
const uint8_t *sockets_host(const struct sockets *s);
/** Take in what has arrived, at most a buffer of each connection. Without a port who connects is refused.
 * True when there was something. */
bool sockets_take(struct sockets *s, struct fcvi_port *port, uint64_t now);
/** Do what the port says. True when it said something. */
bool sockets_send(struct sockets *s, struct fcvi_port *port, uint64_t now);
/** The port has ended: so does every connection. */
void sockets_forget(struct sockets *s);

#endif
