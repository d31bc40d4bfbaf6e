/* The wire of the reference NIC that is TCP: `--on vitcp:ADDR:PORT`. Kernel sockets carry the streams of a
 * port of VI/TCP: one that listens at ADDR and PORT, and one for each connection. Connections go out from
 * ADDR to the same PORT of other hosts, which is the port that VI/TCP keeps (2.2.2.2.1).
 *
 * Nothing here blocks. One thread at a time. */
#ifndef FCVI_AGENT_PROVIDER_SOCKETS_H
#define FCVI_AGENT_PROVIDER_SOCKETS_H

#include <fcvi/vitcp.h>

#include <stdbool.h>
#include <stddef.h>

enum { SOCKETS_STREAMS = 256 }; /* at once; no port may have more streams */

/** Listen as spec says: vitcp:ADDR:PORT, an IPv6 address in brackets. False with one line in why. */
bool sockets_open(const char *spec, char *why, size_t size);
/** Readable when sockets_take has something to do; -1 without this wire. */
int sockets_fd(void);
/** ADDR as VI has it: 16 bytes. */
const uint8_t *sockets_host(void);
/** Take in what has arrived, at most a buffer of each connection. Without a port who connects is refused.
 * True when there was something. */
bool sockets_take(struct fcvi_port *port, uint64_t now);
/** Do what the port says. True when it said something. */
bool sockets_send(struct fcvi_port *port, uint64_t now);
/** The port has ended: so does every connection. */
void sockets_forget(void);

#endif
