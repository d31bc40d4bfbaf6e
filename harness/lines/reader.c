/* Bytes of a client, in whatever pieces they come, to lines. */
#include "reader.h"

#include <string.h>

void reader_begin(struct reader *r)
{
    r->have = 0;
    r->too_long = false;
}

char *reader_room(struct reader *r, size_t *size)
{
    *size = sizeof r->text - r->have;
    return r->text + r->have;
}

bool reader_took(struct reader *r, struct client *c, size_t length)
{
    r->have += length;
    size_t at = 0;
    for (const char *end; !c->failed && (end = memchr(r->text + at, '\n', r->have - at)) != NULL;) {
        size_t line = (size_t)(end - r->text) - at;
        c->take(c, r->text + at, line);
        at += line + 1;
    }
    r->have -= at;
    memmove(r->text, r->text + at, r->have);
    if (r->have == sizeof r->text) {
        client_refuse(c, NULL, LINE_PARSE, "a line of over 65536 bytes");
        r->too_long = true;
    }
    return !c->failed && !r->too_long;
}
