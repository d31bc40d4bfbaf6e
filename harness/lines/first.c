/* See first.h. */
#include "first.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NO_JSON = -32700, NO_REQUEST = -32600, WRONG_PARAMS = -32602, NOT_YET = -32000 };

/* Steals nothing. An answer that has no room is left out. */
static void first_refuse(const json_t *id, int code, const char *words, char *answer)
{
    json_t *nobody = json_null();
    json_t *message = json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id != NULL ? id : nobody,
                                "error", "code", code, "message", words);
    size_t length = json_dumpb(message, answer, FIRST_ANSWER - 2, JSON_COMPACT);
    length = length <= FIRST_ANSWER - 2 ? length : 0;
    json_decref(message);
    if (length > 0)
        answer[length++] = '\n';
    answer[length] = '\0';
}

void first_refusal(int code, const char *words, char *answer)
{
    first_refuse(NULL, code, words, answer);
}

/* Takes the same time wherever the two differ. */
static bool first_is_token(const char *token, const json_t *given)
{
    const char *text = json_string_value(given);
    size_t length = strlen(token);
    if (text == NULL || json_string_length(given) != length)
        return false;
    unsigned char different = 0;
    for (size_t i = 0; i < length; i++)
        different |= (unsigned char)(text[i] ^ token[i]);
    return different == 0;
}

/* Whether the request is that of a client; the answer says why not. */
static bool first_is_client(const json_t *message, const char *token, char *answer)
{
    const json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
    const char *method = json_string_value(json_object_get(message, "method"));
    if (method == NULL || (id != NULL && !json_is_integer(id) && !json_is_string(id) && !json_is_null(id)))
        first_refuse(NULL, NO_REQUEST, "not a request", answer);
    else if (token[0] != '\0' && strcmp(method, "hello") != 0)
        first_refuse(id, NOT_YET, "hello has to name the token first", answer);
    else if (token[0] != '\0' && !first_is_token(token, json_object_get(params, "token")))
        first_refuse(id, WRONG_PARAMS, "token must be the one that the agent was started with", answer);
    else
        return true;
    return false;
}

enum first first_line(const char *said, size_t length, const char *token, char *answer)
{
    const char *end = memchr(said, '\n', length);
    json_error_t error;
    answer[0] = '\0';
    if (length > 0 && said[0] != '{') /* a browser, or something else that is lost */
        return FIRST_OUT;
    if (end == NULL && length < FIRST_LONGEST)
        return FIRST_MORE;
    if (end == NULL || end - said >= FIRST_LONGEST) {
        first_refusal(NO_JSON, "a first line of over 4096 bytes", answer);
        return FIRST_OUT;
    }
    /* without JSON_ALLOW_NUL: a text that goes on behind a NUL would be taken for its beginning */
    json_t *message = json_loadb(said, (size_t)(end - said), 0, &error);
    if (message == NULL) {
        char words[128];
        snprintf(words, sizeof words, "not JSON at byte %d", error.position);
        first_refusal(NO_JSON, words, answer);
        return FIRST_OUT;
    }
    bool in = first_is_client(message, token, answer);
    json_decref(message);
    return in ? FIRST_IN : FIRST_OUT;
}
