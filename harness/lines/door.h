/* Where clients of the DUT protocol come in: a Unix socket or a TCP port, and the strangers who have not said
 * who they are. Who may be a client: processes of the same user, and whoever knows the token where one is
 * asked for; without a token the address has to be this host's own. A stranger takes no client's place: a few
 * KiB and a few seconds of a place at the door are all that he gets, and where it is full, of the host that
 * has most places the one who came first makes room.
 *
 * Nothing here blocks for longer than a moment. One thread at a time. */
#ifndef FCVI_LINES_DOOR_H
#define FCVI_LINES_DOOR_H

#include <stdbool.h>
#include <stddef.h>

enum {
    DOOR_STRANGERS = 64,  /* at once */
    DOOR_LONGEST = 8192,  /* bytes that a client may have said when it comes in */
    DOOR_TOKEN = 512,     /* characters of a token */
    DOOR_LEAST_TOKEN = 16 /* the same */
};

struct door;

/** Listen at unix:PATH or tcp:HOST:PORT (without HOST at 127.0.0.1). token: what hello has to name; "" for
 * none. first_ms: how long a stranger may take for his first line. NULL with one line in why. */
struct door *door_open(const char *address, const char *token, long first_ms, char *why, size_t size);
void door_close(struct door *d);
/** Readable when door_run has something to do. */
int door_fd(const struct door *d);
/** Hear who is there. served: the connection of who is inside, so that others are told and sent away, unless
 * he has said something that was not read, which may be his end; -1: nobody. */
void door_run(struct door *d, int served);
/** The connection of who may come in, and what has been said on it, up to DOOR_LONGEST bytes; -1: nobody. The
 * connection blocks. */
int door_client(struct door *d, char *said, size_t *length);
/** Where it listens: a path, or HOST:PORT. */
void door_name(const struct door *d, char *name, size_t size);
/** The first line of a file, as a token of DOOR_TOKEN characters at most with a NUL behind them. */
bool door_read_token(const char *path, char *token);

#endif
