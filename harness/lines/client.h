/* A client of an agent, and the lines that it is sent. Any thread may send it a line. */
#ifndef FCVI_LINES_CLIENT_H
#define FCVI_LINES_CLIENT_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    LINE_LONGEST = 64 * 1024,
    LINE_MOST_BYTES = 30000, /* in one call that reads or writes memory */
};

/* JSON-RPC errors of the DUT protocol */
enum {
    LINE_PARSE = -32700,
    LINE_REQUEST = -32600,
    LINE_METHOD = -32601,
    LINE_PARAMS = -32602,
    LINE_NOT_RESET = -32000,
    LINE_RESET = -32001,
    LINE_ROOM = -32002 /* the agent's own lack of room: nothing that the provider said */
};

struct client {
    int sink;            /* file descriptor that lines are written to */
    pthread_mutex_t out; /* guards the output; recursive, so that what is said may be put together under it */
    atomic_bool failed;  /* it cannot be written to, or is not to be */
    /** One line without its LF. */
    void (*take)(struct client *c, const char *line, size_t length);
};

void client_begin(struct client *c, int sink, void (*take)(struct client *, const char *, size_t));
void client_end(struct client *c);
/** Steals result. */
void client_answer(struct client *c, const json_t *id, json_t *result);
void client_refuse(struct client *c, const json_t *id, int code, const char *words);
/** Steals params. */
void client_notify(struct client *c, const char *method, json_t *params);
/** The message of a line; NULL when it is none, and the client has been told. */
json_t *client_message(struct client *c, const char *line, size_t length);

#endif
