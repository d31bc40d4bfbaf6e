/* Serves one client after another on a Unix socket or a TCP port, or one on standard input and output. door.h
 * says who may be a client. */
#ifndef FCVI_LINES_SERVE_H
#define FCVI_LINES_SERVE_H

#include "client.h"
#include "door.h"

struct serve {
    const char *program; /* begins each line on standard error */
    const char *address; /* NULL: standard input and output */
    char token[DOOR_TOKEN + 1];
    long idle_ms;
    int signals;       /* readable when the process is to end */
    struct door *door; /* NULL: standard input and output */
    /** A client from here on; NULL: there is no room. */
    struct client *(*begin)(struct serve *s, int sink);
    void (*end)(struct client *c);
    void *context;
};

enum serve_option { SERVE_TAKEN, SERVE_UNKNOWN, SERVE_WRONG };

/** --token or --idle with its value; SERVE_WRONG with one line on standard error. */
enum serve_option serve_option(struct serve *s, const char *name, const char *value);
/** Signals end the process from here on: before there are threads. */
void serve_prepare(struct serve *s);
/** Until the client has gone, or a signal comes. The exit status: 0, 2 no such address, 3 a line too long. */
int serve_run(struct serve *s);

#endif
