/* See client.h. */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void client_begin(struct client *c, int sink, void (*take)(struct client *, const char *, size_t))
{
    pthread_mutexattr_t recursive;
    c->sink = sink;
    c->take = take;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&c->out, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

void client_end(struct client *c)
{
    pthread_mutex_destroy(&c->out);
}

static void put(struct client *c, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    pthread_mutex_lock(&c->out);
    size_t length = text != NULL ? strlen(text) : 0;
    if (text != NULL)
        text[length++] = '\n'; /* in place of the NUL */
    for (size_t sent = 0; sent < length && !c->failed;) {
        ssize_t n = write(c->sink, text + sent, length - sent);
        if (n < 0 && errno != EINTR)
            c->failed = true;
        sent += n > 0 ? (size_t)n : 0;
    }
    if (text == NULL)
        c->failed = true;
    pthread_mutex_unlock(&c->out);
    free(text);
}

void client_answer(struct client *c, const json_t *id, json_t *result)
{
    put(c, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result));
}

void client_refuse(struct client *c, const json_t *id, int code, const char *words)
{
    json_t *error = json_pack("{s:i, s:s}", "code", code, "message", words), *nobody = json_null();
    put(c, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id != NULL ? id : nobody, "error", error));
}

void client_notify(struct client *c, const char *method, json_t *params)
{
    put(c, json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params));
}

json_t *client_message(struct client *c, const char *line, size_t length)
{
    json_error_t error;
    /* without JSON_ALLOW_NUL: a text that goes on behind a NUL would be taken for its beginning */
    json_t *message = json_loadb(line, length, JSON_DECODE_ANY, &error);
    if (message == NULL) {
        char words[128];
        snprintf(words, sizeof words, "not JSON at byte %d", error.position);
        client_refuse(c, NULL, LINE_PARSE, words);
    }
    return message;
}
