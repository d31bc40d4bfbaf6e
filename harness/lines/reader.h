/* The bytes that a client sends, cut into lines. */
#ifndef FCVI_LINES_READER_H
#define FCVI_LINES_READER_H

#include "client.h"

struct reader {
    char text[LINE_LONGEST]; /* what has come of a line that has not ended */
    size_t have;
    bool too_long;
};

/** A new client. */
void reader_begin(struct reader *r);
/** Where the next bytes go, and how many there may be: at least one. */
char *reader_room(struct reader *r, size_t *size);
/** So many came there. False when the client is to go: it has failed, or a line was too long. */
bool reader_took(struct reader *r, struct client *c, size_t length);

#endif
