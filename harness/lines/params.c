/* See params.h. */
#include "params.h"

#include <stdio.h>
#include <string.h>

void params_wrong(struct params *p, const char *name, const char *wanted)
{
    if (p->why[0] == '\0')
        snprintf(p->why, sizeof p->why, "%s must be %s", name, wanted);
}

void params_no_room(struct params *p, const char *what)
{
    if (p->why[0] != '\0')
        return;
    snprintf(p->why, sizeof p->why, "the agent itself has no room for more %s", what);
    p->room = true;
}

void params_cannot(struct params *p, const char *why)
{
    if (p->why[0] != '\0')
        return;
    snprintf(p->why, sizeof p->why, "%s", why);
    p->room = true;
}

bool params_has(const struct params *p, const char *name)
{
    const json_t *value = json_object_get(p->object, name);
    return value != NULL && !json_is_null(value);
}

uint64_t params_number(struct params *p, const char *name, uint64_t most, bool optional, uint64_t otherwise)
{
    if (optional && !params_has(p, name))
        return otherwise;
    const json_t *value = json_object_get(p->object, name);
    if (json_is_integer(value) && json_integer_value(value) >= 0 &&
        (uint64_t)json_integer_value(value) <= most)
        return (uint64_t)json_integer_value(value);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "an integer from 0 to %llu", (unsigned long long)most);
    params_wrong(p, name, wanted);
    return 0;
}

bool params_flag(struct params *p, const char *name)
{
    const json_t *value = json_object_get(p->object, name);
    if (value != NULL && !json_is_boolean(value))
        params_wrong(p, name, "true or false");
    return json_is_true(value);
}

const char *params_choice(struct params *p, const char *name, const char *const *names)
{
    const char *value = json_string_value(json_object_get(p->object, name));
    for (; value != NULL && *names != NULL; names++)
        if (strcmp(value, *names) == 0)
            return *names;
    params_wrong(p, name, "one of the names of the DUT protocol");
    return NULL;
}

enum { NO_DIGIT = 16 };

static unsigned digit(char c)
{
    const char *digits = "0123456789abcdef", *found = c != '\0' ? strchr(digits, c) : NULL;
    return found != NULL ? (unsigned)(found - digits) : NO_DIGIT;
}

bool params_is_hex(const json_t *value, size_t least, size_t most)
{
    size_t length = json_string_length(value);
    if (!json_is_string(value) || length % 2 != 0 || length / 2 < least || length / 2 > most)
        return false;
    for (size_t i = 0; i < length; i++)
        if (digit(json_string_value(value)[i]) == NO_DIGIT)
            return false;
    return true;
}

size_t params_hex(struct params *p, const char *name, unsigned char *out, size_t least, size_t most)
{
    const json_t *value = json_object_get(p->object, name);
    if (!params_is_hex(value, least, most)) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "lower-case hexadecimal of %zu to %zu bytes", least, most);
        params_wrong(p, name, wanted);
        return 0;
    }
    const char *text = json_string_value(value);
    size_t length = json_string_length(value) / 2;
    for (size_t i = 0; i < length; i++)
        out[i] = (unsigned char)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
    return length;
}

struct params params_table(struct params *p, const char *name)
{
    struct params inner = {.object = json_object_get(p->object, name)};
    if (!json_is_object(inner.object))
        params_wrong(p, name, "an object");
    return inner;
}
